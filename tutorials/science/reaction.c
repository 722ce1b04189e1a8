static char help[] = "A DeepONet learns the solution of a diffusion-reaction equation from its source, by Muon, by TAO on the same weights, or by both.\n\n"
                     "  ./reaction -muon_max_steps 2000\n"
                     "  mpiexec -n 2 ./reaction -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "u_t = 0.01 u_xx + 0.01 u^2 + f(x) on the unit square, zero at t = 0 and at both ends, is solved by TS on a DMDA for random f.\n"
                     "studies/antiderivative.py runs the study: functions, sensors, network and error are those of a published program, arXiv:2103.10974.\n\n";

#include "reaction.h"
#include "operatorsolve.h"

/* The errors of the data: the same solutions with half of the time step, and with half of both steps */
static PetscErrorCode CheckData(const Data *data)
{
  double error[2] = {0, 0};
  Solver s;

  PetscFunctionBeginUser;
  for (PetscInt finer = 0; finer < 2; finer++) {
    PetscCall(CreateSolver(FINER + finer * FINER, 2, &s));
    for (PetscInt j = 0; j < data->tests; j += TOGETHER) {
      const PetscInt n = PetscMin(TOGETHER, data->tests - j);

      PetscCall(Solve(&s, n, data->test_c + j * (TERMS + 1)));
      for (PetscInt k = 0; k < n; k++) {
        const double *u = s.image + k * GRID, *coarse = data->test_s + (j + k) * GRID;
        double        above = 0, below = 0;

        for (PetscInt i = 0; i < GRID; i++) {
          above += (u[i] - coarse[i]) * (u[i] - coarse[i]);
          below += u[i] * u[i];
        }
        error[finer] += sqrt(above / below) / (double)data->tests;
      }
    }
    PetscCall(DestroySolver(&s));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solutions differ by %.1e from those with half of the time step, by %.1e with half of both steps\n", error[0], error[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(Run(CheckData));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    args: -reaction_functions 200 -reaction_tests 20 -reaction_batch 10
    # roundings grow on the way
    tolerance: 0.5
    table: suffix | nsize | args
      muon  | 1 | -muon_max_steps 1000 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -reaction_check
      adamw | 1 | -muon_max_steps 1000 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003
      qsgd  | 2 | -muon_max_steps 1000 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd
      lmvm  | 1 | -muon_max_steps 0 -tao_type lmvm -tao_max_funcs 200 -reaction_subset 50
      last  | 1 | -muon_max_steps 1000 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003 -reaction_subset 50 -reaction_last 50
  testset:
    args: -reaction_functions 4 -reaction_tests 1 -muon_max_steps 1
    table: suffix | nsize | args | error
      batch  | 1 | -reaction_batch 5  | -reaction_batch
      ranks  | 2 | -reaction_batch 3  | 2 ranks
      subset | 1 | -reaction_subset 5 | greater than allowed bound 4

TEST*/
