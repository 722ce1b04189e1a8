static char help[] = "The pass of tutorials/science/convection: tanh, the network and its derivative against a plain loop, residuals of the solution, the gradient against differences of losses, single and double precision.\n\n";

#include <petscmuon.h>
#include "../tutorials/science/convection.h"

/* u(x, t) of the weights, one point after the other */
static double Predict(const double w[], double x, double t)
{
  double h[WIDTH + 1] = {x, t, 1}, z[WIDTH];

  for (PetscInt l = 0; l < LINEAR; l++) {
    for (PetscInt i = 0; i < Layers[l].rows; i++) {
      z[i] = 0;
      for (PetscInt j = 0; j < Layers[l].columns; j++) z[i] += w[Layers[l].first + i + j * Layers[l].rows] * h[j];
    }
    for (PetscInt i = 0; i < Layers[l].rows; i++) h[i] = tanh(z[i]);
    h[Layers[l].rows] = 1;
  }
  return z[0];
}

/* The derivative at 0 from values at -2 h, -h, h, 2 h; its error is h^4 / 30 times the fifth derivative */
static double Difference(const double f[4], double h)
{
  return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
}

int main(int argc, char **argv)
{
  const double speed = 40, at[] = {-2, -1, 1, 2}, h = 1e-3, eps = PETSC_MACHINE_EPSILON;
  double       w[ENTRIES], v[ENTRIES], moved[ENTRIES], g[ENTRIES], unused[ENTRIES], loss, sum, norm, away = 0, expected = 0, Y[2 * BLOCK], D[2 * BLOCK];
  float        ws[ENTRIES], gs[ENTRIES];
  PetscRandom  random;
  Points       points;
  NetDouble   *net;
  NetSingle   *single;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(CreatePoints(random, 40, 300, &points));
  PetscCall(PetscNew(&net));
  PetscCall(PetscNew(&single));
  for (PetscInt e = 0; e < ENTRIES; e++) {
    PetscCall(Normal(random, &w[e]));
    ws[e] = (float)(0.2 * w[e]);
    w[e]  = (double)ws[e];
  }

  /* The quotient loses one unit, the product e two and what exp(g) has lost */
  for (PetscInt i = -2000; i <= 2000; i++) {
    const double z = (double)i / 100;

    PetscCheck(fabs(TanhDouble(z) - tanh(z)) <= 4 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh(%g) is %.17g, expected %.17g", z, TanhDouble(z), tanh(z));
    PetscCheck(fabs((double)TanhSingle((float)z) - tanh((double)(float)z)) <= 4 * 1.2e-7, PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh(%g) is %.9g in single precision, expected %.9g", z, (double)TanhSingle((float)z), tanh(z));
  }
  PetscCheck(isnan(TanhDouble((double)NAN)) && isnan(TanhSingle(NAN)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh of NaN is a number");

  /* No point is there twice; values and derivatives */
  for (PetscInt first = 0; first < points.end[INTERIOR]; first += BLOCK) {
    const PetscInt n = PetscMin(BLOCK, points.end[INTERIOR] - first);

    PetscCall(ForwardDouble(net, w, points.speed, n, points.x + first, points.t + first));
    for (PetscInt i = 0; i < n; i++) {
      const double x = points.x[first + i], t = points.t[first + i], u = Predict(w, x, t);
      double       f[4];

      for (PetscInt k = 0; k < 4; k++) f[k] = Predict(w, x + at[k] * h * speed / 10, t + at[k] * h / 10);
      PetscCheck(fabs(net->H[LINEAR][i] - u) <= 1e3 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "u(%g, %g) is %.17g, expected %.17g", x, t, net->H[LINEAR][i], u);
      PetscCheck(fabs(net->H[LINEAR][n + i] - Difference(f, h / 10)) <= 1e-6 * speed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "u_t + %g u_x at (%g, %g) is %.17g, expected %.17g", speed, x, t, net->H[LINEAR][n + i], Difference(f, h / 10));
      for (PetscInt p = points.end[INITIAL]; p < first + i && first + i >= points.end[INITIAL]; p++) PetscCheck(points.x[p] != x || points.t[p] != t, PETSC_COMM_SELF, PETSC_ERR_PLIB, "(%g, %g) is there twice", x, t);
      Y[i]     = Solution(points.speed, x, t);
      Y[n + i] = -speed * cos(x - speed * t) + speed * cos(x - speed * t);
    }
    /* The solution has no residual. With x more, and the derivative of sin(x), boundary, start and equation have one */
    loss = 0;
    ResidualDouble(&points, first, n, Y, &loss, D);
    PetscCheck(loss <= 1e5 * eps * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The solution has the loss %g", loss);
    for (PetscInt i = 0; i < n; i++) {
      Y[i] += points.x[first + i];
      Y[n + i] = speed * cos(points.x[first + i]);
      if (first + i >= points.end[INITIAL]) expected += PetscSqr(Y[n + i]) / (double)points.all[INTERIOR];
    }
    ResidualDouble(&points, first, n, Y, &away, D);
  }
  expected += 4 * PETSC_PI * PETSC_PI * (1 + (2 * GRID_X - 1) / (6. * (GRID_X - 1))); /* (2 pi)^2, and the mean of squares of x */
  PetscCheck(fabs(away - expected) <= 1e3 * eps * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Loss %.17g, expected %.17g", away, expected);

  PetscCall(PassDouble(net, &points, w, &loss, g));
  PetscCall(PassSingle(single, &points, ws, &sum, gs));
  PetscCheck(fabs(sum - loss) <= 1e-5 * loss, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Loss %g in single precision, expected %g", sum, loss);
  for (PetscInt l = 0; l < LINEAR; l++) {
    const PetscInt first = Layers[l].first, entries = Layers[l].rows * Layers[l].columns, bias = first + entries - Layers[l].rows;

    norm = away = 0;
    for (PetscInt e = first; e < first + entries; e++) {
      norm += g[e] * g[e];
      away += PetscSqr(g[e] - (double)gs[e]);
    }
    PetscCheck(away <= 1e-10 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d: the gradient differs by %g in single precision", (int)l, sqrt(away / norm));
    for (PetscInt biases = 0; biases < 2; biases++) { /* along a direction of the matrix, and of the bias */
      double f[4], exact = 0, size = 0;

      for (PetscInt e = biases ? bias : first; e < (biases ? first + entries : bias); e++) {
        PetscCall(Normal(random, &v[e]));
        exact += g[e] * v[e];
        size += fabs(g[e] * v[e]);
      }
      for (PetscInt k = 0; k < 4; k++) {
        PetscCall(PetscArraycpy(moved, w, ENTRIES));
        for (PetscInt e = biases ? bias : first; e < (biases ? first + entries : bias); e++) moved[e] += at[k] * h * v[e];
        PetscCall(PassDouble(net, &points, moved, &f[k], unused));
      }
      PetscCheck(fabs(exact - Difference(f, h)) <= 1e-6 * size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d%s: gradient %.10g along a direction, expected %.10g", (int)l, biases ? ", bias" : "", exact, Difference(f, h));
    }
  }

  PetscCall(DestroyPoints(&points));
  PetscCall(PetscFree(net));
  PetscCall(PetscFree(single));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
