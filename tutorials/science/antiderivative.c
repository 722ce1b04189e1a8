static char help[] = "A DeepONet learns the antiderivative of a Gaussian process, by Muon, by TAO on the same weights, or by both.\n\n"
                     "  ./antiderivative -muon_max_steps 2000\n"
                     "  ./antiderivative -muon_max_steps 1000 -tao_type lmvm -tao_max_funcs 1000\n"
                     "  mpiexec -n 2 ./antiderivative -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "studies/antiderivative.py runs the study: functions, sensors, network and error are those of a published program, arXiv:2103.10974.\n\n";

#include <petscmuon.h>
#include "antiderivative.h"
#include "operatorsolve.h"

/* The data: integrals from 0 to 1 against Simpson's rule of two steps, and the covariance against that of the process */
static PetscErrorCode CheckData(const Data *data)
{
  double worst[3] = {0, 0, 0}, unused;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < data->tests; j++) {
    const double *c = data->test_c + j * (TERMS + 1);

    for (PetscInt half = 0; half < 2; half++) {
      const PetscInt n   = half ? 64 : 32;
      double         sum = 0;

      for (PetscInt i = 0; i <= n; i++) sum += Sum(c, (double)i / (double)n, &unused) * (i == 0 || i == n ? 1 : 2 + 2 * (i % 2)) / (3 * (double)n);
      worst[half] = PetscMax(worst[half], fabs(sum - data->test_s[j * GRID + GRID - 1]));
    }
  }
  for (PetscInt i = 0; i <= 64; i++) {
    const double x   = (double)i / 64;
    double       sum = 0;

    for (PetscInt k = 0; k < TERMS; k++) sum += Term(k, 0.5, NULL) * Term(k, x, NULL);
    worst[2] = PetscMax(worst[2], fabs(sum - exp(-(x - 0.5) * (x - 0.5) / (2 * SCALE * SCALE))));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "integrals differ from Simpson's rule by %.1e, with half of the step by %.1e; covariances are %s\n", worst[0], worst[1], worst[2] < 1e-11 ? "those of the process" : "others"));
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
    args: -antiderivative_functions 500 -antiderivative_tests 50
    # roundings grow on the way
    tolerance: 0.1
    table: suffix | nsize | args
      muon  | 1 | -muon_max_steps 200 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -antiderivative_check
      adamw | 1 | -muon_max_steps 200 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003
      qsgd  | 2 | -muon_max_steps 200 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd
      lmvm  | 1 | -muon_max_steps 0 -tao_type lmvm -tao_max_funcs 200
      then  | 1 | -muon_max_steps 100 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -tao_type lmvm -tao_max_funcs 100
      brgn  | 1 | -muon_max_steps 0 -tao_type brgn -tao_max_it 4 -tao_brgn_subsolver_tao_bnk_ksp_max_it 20
      last  | 1 | -muon_max_steps 200 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003 -antiderivative_last 50
  # the data, the published schedule, and costs, which differ in every run but for the passes
  test:
    suffix: history
    requires: double
    args: -antiderivative_functions 20 -antiderivative_tests 5 -muon_max_steps 5 -tao_type lmvm -tao_max_it 2 -antiderivative_decay 0.9 -antiderivative_history 2
    filter: awk '/^passes/ {print $1, ($2 >= 8), NF} /^history/ {print $1, ($2 ~ /^2:/), ($3 ~ /^4:/), (NF > 3)}'
  testset:
    args: -antiderivative_functions 20 -antiderivative_tests 5 -muon_max_steps 1
    table: suffix | nsize | args | error
      decay | 1 | -antiderivative_decay 0     | -antiderivative_decay
      ranks | 2 | -antiderivative_last 1      | one rank
      few   | 2 | -antiderivative_functions 1 | less than allowed bound 2

TEST*/
