static char help[] = "The passes of tutorials/science/reaction against plain loops, its tanh, and its data against steps of Runge and Kutta.\n\n";

#include "../tutorials/science/reaction.h"
#include "operatorpasses.h"

#define INSIDE ((SIDE - 1) * FINER) /* intervals of the DMDA */

static void RightHandSide(const double u[], const double f[], double v[])
{
  for (PetscInt i = 0; i <= INSIDE; i++) v[i] = i == 0 || i == INSIDE ? 0 : 0.01 * (u[i - 1] - 2 * u[i] + u[i + 1]) * INSIDE * INSIDE + 0.01 * u[i] * u[i] + f[i];
}

/* u on the grid by so many steps from one of its times to the next, which are stable and err by less than 1e-9 */
static void RungeKutta(const double c[], PetscInt steps, double image[])
{
  const double h = 1 / (double)((SIDE - 1) * steps), weight[] = {1. / 6, 1. / 3, 1. / 3, 1. / 6}, ahead[] = {0, 0.5, 0.5, 1};
  double       u[INSIDE + 1], v[INSIDE + 1], k[INSIDE + 1], sum[INSIDE + 1], f[INSIDE + 1], unused;

  for (PetscInt i = 0; i <= INSIDE; i++) {
    u[i] = k[i] = 0;
    f[i]        = Sum(c, (double)i / INSIDE, &unused);
  }
  for (PetscInt step = 0; step <= (SIDE - 1) * steps; step++) {
    for (PetscInt i = 0; i < SIDE && step % steps == 0; i++) image[step / steps * SIDE + i] = u[i * FINER];
    for (PetscInt i = 0; i <= INSIDE; i++) sum[i] = u[i];
    for (PetscInt l = 0; l < 4; l++) {
      for (PetscInt i = 0; i <= INSIDE; i++) v[i] = u[i] + ahead[l] * h * k[i];
      RightHandSide(v, f, k);
      for (PetscInt i = 0; i <= INSIDE; i++) sum[i] += weight[l] * h * k[i];
    }
    for (PetscInt i = 0; i <= INSIDE; i++) u[i] = sum[i];
  }
}

/* Second order: with half of the step the largest difference is a quarter, but for terms of higher order. An image of training is one of these numbers, to the tolerance of 100 systems of SNES */
static PetscErrorCode CheckData(void)
{
  const PetscInt functions = TOGETHER + 2, last = functions - 1; /* the second one in a system that is not full */
  PetscRandom    random;
  Data           data;
  Solver         s;
  double        *exact, worst[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(CreateData(random, functions, functions, &data));
  PetscCall(PetscArraycpy(data.c + last * (TERMS + 1), data.test_c + last * (TERMS + 1), TERMS + 1)); /* the same function twice */
  PetscCall(CreateImages(&data));
  PetscCall(PetscMalloc1(GRID, &exact));
  RungeKutta(data.test_c + last * (TERMS + 1), 20, exact);
  PetscCall(CreateSolver(FINER, 2, &s));
  PetscCall(Solve(&s, 1, data.test_c + last * (TERMS + 1)));
  for (PetscInt i = 0; i < GRID; i++) {
    worst[0] = PetscMax(worst[0], fabs(data.test_s[last * GRID + i] - exact[i]));
    worst[1] = PetscMax(worst[1], fabs(s.image[i] - exact[i]));
  }
  PetscCheck(worst[0] < 1e-3 && worst[0] > 3 * worst[1] && worst[0] < 5 * worst[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Solutions differ by %g, and by %g with half of the time step", worst[0], worst[1]);
  for (PetscInt i = last * POINTS; i < functions * POINTS; i++)
    PetscCheck(fabs(data.s[i] - data.test_s[last * GRID + data.place[i]]) < 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Image %g of training, expected %g", data.s[i], data.test_s[last * GRID + data.place[i]]);
  PetscCall(PetscFree(exact));
  PetscCall(DestroySolver(&s));
  PetscCall(DestroyData(&data));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckTanh(void)
{
  const double special[] = {0, 1e-30, 1000, -1000, INFINITY, -INFINITY};

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 4000; i++) {
    const double x = i < 6 ? special[i] : pow(10, (double)(i % 1000) / 125 - 6) * (i % 2 ? 1 : -1), exact[2] = {tanh(x), tanh((double)(float)x)};
    double       z[LANES]  = {x};
    float        zs[LANES] = {(float)x};

    TanhDouble(1, z);
    TanhSingle(1, zs);
    PetscCheck(fabs(z[0] - exact[0]) <= 4 * PETSC_MACHINE_EPSILON * fabs(exact[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh %g is %.16g, expected %.16g", x, z[0], exact[0]);
    PetscCheck(fabs((double)zs[0] - exact[1]) <= 4 * 1.2e-7 * fabs(exact[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh %g is %.8g in single precision, expected %.8g", x, (double)zs[0], exact[1]);
    z[0] = NAN;
    TanhDouble(1, z);
    PetscCheck(isnan(z[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "tanh of NaN is %g", z[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckTanh());
  PetscCall(CheckData());
  PetscCall(CheckPasses());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
