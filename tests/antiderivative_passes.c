static char help[] = "The passes of tutorials/science/antiderivative against plain loops of one function after the other: predictions, Jacobian and its transpose, errors, single and double precision.\n\n";

#include <petscmuon.h>
#include "../tutorials/science/antiderivative.h"

/* A number, its derivative along the direction, and the sum of the sizes of all terms of both */
typedef struct {
  double x, dx, size;
} Dual;

static Dual Add(Dual a, Dual b)
{
  const Dual c = {a.x + b.x, a.dx + b.dx, a.size + b.size};

  return c;
}

static Dual Multiply(Dual a, Dual b)
{
  const Dual c = {a.x * b.x, a.x * b.dx + a.dx * b.x, 2 * a.size * b.size};

  return c;
}

/* W relu(V in) of a network whose weights begin at first, [V a] and then [W b] by columns */
static void Layers(const double w[], const double t[], PetscInt inputs, const Dual in[], Dual out[WIDTH])
{
  Dual hidden[WIDTH + 1] = {{0, 0, 0}};

  for (PetscInt l = 0, first = 0; l < 2; l++) {
    const PetscInt n = l == 0 ? inputs : WIDTH;

    for (PetscInt i = 0; i < WIDTH; i++) {
      Dual sum = {0, 0, 0};

      for (PetscInt j = 0; j <= n; j++) {
        const PetscInt e      = first + i + j * WIDTH;
        const Dual     weight = {w[e], t[e], fabs(w[e]) + fabs(t[e])}, one = {1, 0, 1};

        sum = Add(sum, Multiply(weight, j == n ? one : l == 0 ? in[j] : hidden[j]));
      }
      out[i] = sum;
    }
    for (PetscInt i = 0; i < WIDTH; i++) {
      hidden[i] = out[i];
      if (out[i].x <= 0) hidden[i].x = hidden[i].dx = 0;
    }
    first += WIDTH * (n + 1);
  }
}

static Dual Predict(const double w[], const double t[], const double c[], double x)
{
  Dual u[SENSORS], place = {x, 0, fabs(x)}, b[WIDTH], trunk[WIDTH], sum = {0, 0, 0};

  for (PetscInt i = 0; i < SENSORS; i++) {
    double unused;

    u[i].x    = Sum(c, (double)i / (SENSORS - 1), &unused);
    u[i].dx   = 0;
    u[i].size = 0;
    for (PetscInt k = 0; k < TERMS; k++) u[i].size += fabs(c[k]);
  }
  Layers(w, t, SENSORS, u, b);
  Layers(w + TRUNK0, t + TRUNK0, 1, &place, trunk);
  for (PetscInt i = 0; i < WIDTH; i++) sum = Add(sum, Multiply(b[i], trunk[i]));
  return sum;
}

int main(int argc, char **argv)
{
  const PetscInt first[] = {0, WIDTH * SENSORS, BRANCH1, BRANCH1 + WIDTH * WIDTH, TRUNK0, TRUNK0 + WIDTH, TRUNK1, TRUNK1 + WIDTH * WIDTH, ENTRIES};
  const PetscInt n = BLOCK + 12, tests = BLOCK + 1; /* a block and a rest */
  /* Every number is the result of four sums one inside of the other, of at most 101, 101, 101 and 34 terms */
  const double eps = 340 * PETSC_MACHINE_EPSILON, eps_single = 340 * 1.2e-7;
  double      *w, *t, *g, *r, *r2;
  float       *ws, *gs, *rs;
  PetscReal   *errors;
  PetscRandom  random;
  Data         data;
  NetDouble   *net;
  NetSingle   *single;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(CreateData(random, n, tests, &data));
  PetscCall(CreateDouble(&data, &net));
  PetscCall(CreateSingle(&data, &single));
  PetscCall(PetscMalloc6(ENTRIES, &w, ENTRIES, &t, ENTRIES, &g, n, &r, n, &r2, tests, &errors));
  PetscCall(PetscMalloc3(ENTRIES, &ws, ENTRIES, &gs, n, &rs));
  for (PetscInt e = 0; e < ENTRIES; e++) {
    PetscCall(Normal(random, &w[e]));
    w[e] *= 0.1;
    ws[e] = (float)w[e];
    w[e]  = (double)ws[e];
  }
  PetscCall(PassDouble(net, w, NULL, PETSC_TRUE, r, g));
  PetscCall(PassSingle(single, ws, NULL, PETSC_TRUE, rs, gs));
  /* A direction in each layer alone: the derivative, and <J t, r> = <t, J^T r> */
  for (PetscInt l = 0; l < 8; l++) {
    double forward = 0, backward = 0, size = 0, sum = 0;

    PetscCall(PetscArrayzero(t, ENTRIES));
    for (PetscInt e = first[l]; e < first[l + 1]; e++) {
      PetscCall(Normal(random, &t[e]));
      backward += t[e] * g[e];
    }
    PetscCall(PassDouble(net, w, t, PETSC_FALSE, r2, NULL));
    for (PetscInt j = 0; j < n; j += l == 0 ? 1 : 50) {
      const Dual p = Predict(w, t, data.c + j * (TERMS + 1), Place(data.place[j]));

      PetscCheck(fabs(p.x - data.s[j] - r[j]) <= eps * p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Function %d: residual %g, expected %g", (int)j, r[j], p.x - data.s[j]);
      PetscCheck(fabs((double)rs[j] - r[j]) <= eps_single * p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Function %d: residual %g in single precision, expected %g", (int)j, (double)rs[j], r[j]);
      PetscCheck(fabs(p.dx - r2[j]) <= eps * p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Function %d: derivative %g along layer %d, expected %g", (int)j, r2[j], (int)l, p.dx);
      size = PetscMax(size, p.size);
    }
    for (PetscInt j = 0; j < n; j++) {
      forward += r2[j] * r[j];
      sum += fabs(r[j]);
    }
    PetscCheck(fabs(forward - backward) <= eps * size * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d: gradient %g along a direction, expected %g", (int)l, backward, forward);
    PetscCheck(fabs(forward) > 1e3 * eps * size * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d: %g along a direction says nothing", (int)l, forward);
  }
  for (PetscInt e = 0; e < ENTRIES; e++) PetscCheck(fabs((double)gs[e] - g[e]) <= 1e-3 * (fabs(g[e]) + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Gradient %g of weight %d in single precision, expected %g", (double)gs[e], (int)e, g[e]);
  /* A residual that is given is taken */
  for (PetscInt j = 0; j < n; j++) r2[j] = 2 * r[j];
  PetscCall(PetscArraycpy(t, g, ENTRIES));
  PetscCall(PassDouble(net, w, NULL, PETSC_FALSE, r2, g));
  for (PetscInt e = 0; e < ENTRIES; e++) PetscCheck(g[e] == 2 * t[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Weight %d: %g for twice the residual, expected %g", (int)e, g[e], 2 * t[e]);

  PetscCall(TestDouble(net, w, errors));
  for (PetscInt j = 0; j < tests; j += BLOCK) {
    double above = 0, below = 0;

    PetscCall(PetscArrayzero(t, ENTRIES));
    for (PetscInt i = 0; i < GRID; i++) {
      double s;

      (void)Sum(data.test_c + j * (TERMS + 1), (double)i / (GRID - 1), &s);
      above += PetscSqr(Predict(w, t, data.test_c + j * (TERMS + 1), (double)i / (GRID - 1)).x - s);
      below += s * s;
    }
    PetscCheck(fabs((double)errors[j] - sqrt(above / below)) <= 1e-9 * sqrt(above / below), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %g of function %d, expected %g", (double)errors[j], (int)j, sqrt(above / below));
  }

  PetscCall(PetscFree6(w, t, g, r, r2, errors));
  PetscCall(PetscFree3(ws, gs, rs));
  PetscCall(DestroyDouble(&net));
  PetscCall(DestroySingle(&single));
  PetscCall(DestroyData(&data));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
