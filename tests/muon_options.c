static char help[] = "Options of an optimizer: monitors, prefixes, compressors of layers, what is shown and misspelt; -what chooses the part. muon_setters has each key.\n\n";

#include "problem.h"
#include "parameters.h"

/*
   Monitors of the library against a monitor of our own: step, loss, rate, dual norm, bits up and down as
   means over the ranks, parts of 32 bits an entry
*/
#define MAXROWS 16
typedef struct {
  PetscInt n;
  double   row[MAXROWS][8];
} Rows;

static PetscErrorCode MonitorRows(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  Rows       *rows = (Rows *)ctx;
  double     *row  = rows->row[rows->n++];
  PetscReal   rate, dual;
  PetscInt    most;
  char        schedule[16];
  double      fp32[2] = {0, 0};
  PetscMPIInt size, owner;

  PetscFunctionBegin;
  /* The step is counted: MuonGetRate() is of the next one */
  PetscCall(MuonGetLearningRate(muon, &rate));
  PetscCall(MuonGetParameter(muon, "muon_schedule", schedule, sizeof(schedule)));
  PetscCall(MuonGetMaxSteps(muon, &most));
  if (strcmp(schedule, "linear") == 0) rate *= (PetscReal)(most - step) / (PetscReal)most;
  PetscCall(MuonGetGradientDualNorm(muon, &dual));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  row[0] = (double)step;
  row[1] = (double)loss;
  row[2] = (double)rate;
  row[3] = (double)dual;
  /* Sums up, and weights down where there is an owner, but for what it has of its own */
  row[4] = row[5] = 0;
  for (PetscInt l = 0; l < 6; l++) {
    const double entries = (double)(ProblemShapes[l].m * ProblemShapes[l].n), others = (size - 1.) / size;
    MuonLayer    layer;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetOwner(layer, &owner));
    row[4] += 8 * (owner < 0 ? 1 : others) * (double)sizeof(PetscScalar) * entries;
    if (owner >= 0) row[5] += 8 * others * (double)sizeof(PetscScalar) * entries;
    fp32[0] += 32 * (owner < 0 ? 1 : others) * entries;
    fp32[1] += 32 * others * entries;
  }
  for (int k = 0; k < 2; k++) row[6 + k] = row[4 + k] / PetscMax(fp32[k], 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMonitors(PetscInt interval)
{
  const double digits[] = {0, 1e-12, 1e-6, 1e-6, 0.5, 0.5, 5e-5, 5e-5}; /* of what -muon_monitor prints: relative to column 3, then absolute */
  double       a[8];
  char         line[512], *at, *end;
  PetscInt     lines = 0;
  Rows         rows;
  Problem      p;
  FILE        *file;

  PetscFunctionBegin;
  rows.n = 0;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonMonitorSet(p.muon, MonitorRows, &rows, NULL));
  PetscCall(MuonMonitorSet(p.muon, MonitorRows, &rows, NULL));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonSolve(p.muon));
  PetscCheck(rows.n == 6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A monitor was called %" PetscInt_FMT " times in 6 steps", rows.n);
  PetscCall(MuonMonitorCancel(p.muon));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (p.rank == 0) {
    file = fopen("run.csv", "r");
    PetscCheck(file != NULL && fgets(line, sizeof(line), file) != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No file run.csv");
    PetscCheck(strcmp(line, "step,loss,rate,dual_norm,bits_up,bits_down,relative_up,relative_down,reason,validation\n") == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Columns are %s", line);
    for (PetscInt s = 0; s < 6; s++) {
      if (s % interval != 0 && s != 5) continue;
      PetscCheck(fgets(line, sizeof(line), file) != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row of step %" PetscInt_FMT, s);
      at = line;
      for (int k = 0; k < 8; k++) {
        a[k] = strtod(at, &end);
        PetscCheck(*end == ',', PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %s", line);
        at = end + 1;
        /*
           The mean over ranks is rounded twice here and once there, the part once more, in the precision of
           PetscReal
        */
        PetscCheck(PetscAbs(a[k] - rows.row[s][k]) <= (k < 4 ? 0 : 8 * (double)PETSC_MACHINE_EPSILON * PetscAbs(a[k])), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", column %d: %.17g in the file, expected %.17g", s, k, a[k],
                   rows.row[s][k]);
      }
      PetscCheck(strcmp(at, "CONVERGED_ITERATING,\n") == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %s", line);
    }
    PetscCheck(fgets(line, sizeof(line), file) == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "One row too many: %s", line);
    fclose(file);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (p.rank == 0) {
    file = fopen("run.txt", "r");
    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No file run.txt");
    for (PetscInt s = 0; s < 6; s++) {
      if (s % interval != 0 && s != 5) continue;
      lines++;
      PetscCheck(fgets(line, sizeof(line), file) != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No line of step %" PetscInt_FMT, s);
      PetscCheck(sscanf(line, "%lf Muon loss %lf rate %lf dual norm %lf bits up %lf down %lf of fp32 up %lf down %lf", &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7]) == 8, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Line %" PetscInt_FMT " of -muon_monitor: %s", lines, line);
      for (int k = 0; k < 8; k++) {
        PetscCheck(PetscAbs(a[k] - rows.row[s][k]) <= digits[k] * (k < 4 ? PetscAbs(a[k]) : 1.0001), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", number %d: %.17g is printed, expected %.17g", s, k, a[k], rows.row[s][k]);
      }
    }
    PetscCheck(fgets(line, sizeof(line), file) == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "One line too many: %s", line);
    fclose(file);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The layers' compressors are what the one for all layers is when they are made: options, setters after the
   options, and last the layer's own keys
*/
static PetscErrorCode CheckCompressors(void)
{
  MuonCompressor     c;
  MuonCompressorType type;
  MuonTraffic        traffic;
  PetscInt           kept = 0;
  Problem            p;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-problem_setup 0 -muon_layer_types wide:frozen -ef21_compressor_layers all -ef21_compressor topk -ef21_compressor_ratio 0.5 -ef21_compressor_values bf16 -ef21_compressor_paper_index_bits 3 "
                                           "-muon_layer_tall_ef21_compressor_ratio 0.25"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonGetLayerCompressors(p.muon, NULL, &c, NULL));
  PetscCall(MuonCompressorSetRatio(c, (PetscReal)0.75));
  PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < p.n; l++) {
    const ProblemShape *shape    = p.layer[l].shape;
    const PetscReal     expected = l == 1 ? (PetscReal)0.25 : (PetscReal)0.75;

    if (l == 2) continue;
    PetscCall(MuonGetLayerCompressors(p.muon, p.layer[l].layer, &c, NULL));
    PetscCall(MuonCompressorGetType(c, &type));
    PetscCall(CheckParameter((PetscObject)c, "compressor_ratio", l == 1 ? "0.25" : "0.75"));
    PetscCall(CheckParameter((PetscObject)c, "compressor_values", "bf16"));
    PetscCheck(strcmp(type, MUONCOMPRESSORTOPK) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is compressed by %s", shape->name, type);
    kept += (PetscInt)(expected * (PetscReal)(shape->m * shape->n));
  }
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCheck(traffic.up[0] == (16. + 3.) * (double)kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The paper's price is %g, expected %g", traffic.up[0], (16. + 3.) * (double)kept);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two optimizers that read their keys behind a_ and b_ */
static PetscErrorCode CheckPrefixes(void)
{
  const char *const prefixes[] = {"a_", "b_"};
  const char       *prefix;
  Problem           p[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(ProblemCreate(&p[k], 0, 0));
    PetscCall(MuonSetOptionsPrefix(p[k].muon, k == 0 ? "a" : "b"));
    PetscCall(MuonAppendOptionsPrefix(p[k].muon, "_"));
    PetscCall(MuonGetOptionsPrefix(p[k].muon, &prefix));
    PetscCheck(strcmp(prefix, prefixes[k]) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The prefix is %s", prefix);
  }
  for (int k = 0; k < 2; k++) PetscCall(MuonSetFromOptions(p[k].muon));
  for (PetscInt s = 0; s < 2; s++) {
    for (int k = 0; k < 2; k++) PetscCall(MuonStep(p[k].muon));
  }
  for (int k = 0; k < 2; k++) {
    PetscReal      rate;
    char           scale[2][16];
    MuonCompressor c;

    PetscCall(MuonGetLearningRate(p[k].muon, &rate));
    PetscCall(MuonGetParameter(p[k].muon, "muon_layer_square_scale", scale[0], sizeof(scale[0])));
    PetscCall(MuonGetParameter(p[k].muon, "muon_layer_tall_scale", scale[1], sizeof(scale[1])));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: learning rate %g, scales %s %s\n", prefixes[k], (double)rate, scale[0], scale[1]));
    PetscCall(MuonGetLayerCompressors(p[k].muon, p[k].layer[0].layer, &c, NULL));
    if (p[k].rank == 0) {
      PetscCall(MuonLayerView(p[k].layer[0].layer, PETSC_VIEWER_STDOUT_SELF));
      PetscCall(MuonCompressorView(c, PETSC_VIEWER_STDOUT_SELF));
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(ProblemDestroy(&p[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer with a type of its own has the choices of that type which were made for all layers, and above them its own */
static PetscErrorCode CheckTypes(void)
{
  Problem        p;
  MuonCompressor up;
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MuonGetLayerCompressors(p.muon, p.layer[l].layer, &up, NULL));
    PetscCall(CheckParameter((PetscObject)up, "compressor_line_norm", l == 0 ? "1" : "4"));
    PetscCall(MuonLayerGetLMO(p.layer[l].layer, &lmo));
    PetscCall(CheckParameter((PetscObject)lmo, "lmo_schatten_exponent", l == 0 ? "3" : "5"));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type that code chooses reads its keys too, and a value that code chooses stays */
static PetscErrorCode CheckSolver(void)
{
  Problem        p;
  MuonCompressor up;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonGetLayerCompressors(p.muon, NULL, &up, NULL));
  PetscCall(MuonCompressorSetType(up, MUONCOMPRESSORRANKK));
  PetscCall(MuonCompressorSetRatio(up, 0.5));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetLayerCompressors(p.muon, p.layer[1].layer, &up, NULL));
  PetscCall(CheckParameter((PetscObject)up, "compressor_ratio", "0.5"));
  if (p.rank == 0) PetscCall(MuonCompressorView(up, PETSC_VIEWER_STDOUT_SELF));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      what[32] = "compressors";
  PetscInt  interval = 1;
  PetscBool quiet    = PETSC_FALSE;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quiet", &quiet, NULL));
  PetscCall(PetscMuonSetQuiet(quiet));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-what", what, sizeof(what), NULL));
  if (strcmp(what, "compressors") == 0) PetscCall(CheckCompressors());
  if (strcmp(what, "monitors") == 0) {
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-muon_monitor_interval", &interval, NULL));
    PetscCall(CheckMonitors(interval));
  }
  if (strcmp(what, "prefixes") == 0) PetscCall(CheckPrefixes());
  if (strcmp(what, "types") == 0) PetscCall(CheckTypes());
  if (strcmp(what, "solver") == 0) PetscCall(CheckSolver());
  if (strcmp(what, "solve") == 0) {
    PetscBool steps;

    PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_max_steps", &steps));
    PetscCall(ProblemCreate(&p, 0, 0));
    if (steps == PETSC_FALSE) PetscCall(MuonSetMaxSteps(p.muon, 3));
    PetscCall(MuonSolve(p.muon));
    PetscCall(ProblemDestroy(&p));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: compressors
    nsize: 2

  test:
    suffix: types
    nsize: 2
    args: -what types -problem_layers square,tall -ef21_compressor topk -ef21_compressor_line_norm 1 -lmo_type frobenius -lmo_schatten_exponent 3
    args: -muon_layer_square_ef21_compressor columntopk -muon_layer_square_lmo_type schatten
    args: -muon_layer_tall_ef21_compressor columntopk -muon_layer_tall_lmo_type schatten -muon_layer_tall_ef21_compressor_line_norm 4 -muon_layer_tall_lmo_schatten_exponent 5

  test:
    suffix: solver
    nsize: 2
    args: -what solver -problem_setup 0 -ef21_compressor topk -ef21_compressor_ratio 0.1 -ef21_compressor_svd_type cross
    filter: grep -o "last solver.*"

  # The same twice, the keys of the objects of a layer behind its name
  testset:
    nsize: 2
    args: -what prefixes -problem_setup 0 -a_muon_learning_rate 0.5 -a_muon_layer_tall_scale 3 -a_lmo_polar_type svd -a_lmo_polar_svd_type lapack -a_ef21_compressor rankk -a_ef21_compressor_svd_type cross
    filter: grep -v 'scratch\|precision:'
    test:
      suffix: prefixes
      args: -b_muon_learning_rate 0.25 -b_muon_layer_square_scale 5 -b_muon_layer_square_lmo_polar_type svd -b_muon_layer_square_lmo_polar_svd_type cross -b_ef21_compressor topk -b_muon_layer_square_ef21_compressor_ratio 0.5

  testset:
    nsize: 2
    args: -what monitors -muon_monitor ascii:run.txt -muon_monitor_csv run.csv -muon_max_steps 6 -muon_schedule linear
    table: suffix | args
      monitors | -muon_exchange_type {{star layerwise replicated}}
      interval | -muon_monitor_interval 4

  test:
    suffix: stdout
    nsize: 2
    # Of a step of many equal entries topk sends others in single precision, in messages of other lengths
    args: -what solve -muon_max_steps 1 -muon_monitor -ef21_compressor topk -ef21_server_compressor bf16 -muon_converged_reason
    tolerance: 1e-5
    requires: double

  # Where nothing goes by Muon's rate the line has that of the layers, and no dual norm; the layer that moves most is named
  testset:
    args: -what solve -muon_max_steps 1 -muon_monitor -muon_measure_update_rms
    tolerance: 1e-5
    requires: double
    table: suffix | nsize | args
      stdout_adamw |   | -muon_layer_types *:adamw -muon_schedule linear
      stdout_sign  | 2 | -muon_type sign -lmo_type spectral

  # Ties that are a drift are said once, and of an odd number of workers there are none
  testset:
    args: -what solve -muon_max_steps 1 -muon_type sign -lmo_type spectral -sign_tie
    filter: grep PetscMuon || echo nothing
    table: suffix | nsize | args | output_file
      tie_plus  | 2 | plus   |
      tie_odd   | 3 | minus  | output/muon_options_tie_none.out
      tie_drawn | 2 | random | output/muon_options_tie_none.out
      tie_quiet | 2 | plus -quiet | output/muon_options_tie_none.out

  testset:
    nsize: 2
    args: -what solve -muon_view -problem_layers square,tall,wide,row,gain,bias -muon_layer_types wide:frozen
    filter: grep -v "memory\|buffers\|load\|PetscMuon Rel" | sed "s/rank [0-9]/a rank/"
    table: suffix | args
      view_ef21    | -muon_layer_tall_ef21_compressor topk -ef21_server_compressor natural -muon_exchange_type layerwise
      view_dense   | -lmo_polar_type newtonschulz -muon_type dense -muon_exchange_type star -muon_nesterov ema -muon_learning_rate 0.5 -muon_layer_row_scale 2

  # What is said of compressors
  test:
    suffix: view_lowrank
    nsize: 2
    args: -what solve -muon_view -problem_layers square,tall,wide,row,gain,bias -muon_layer_types wide:frozen
    args: -ef21_compressor powersgd -ef21_compressor_powersgd_sweeps 2 -muon_layer_tall_ef21_compressor_powersgd_oversampling 4 -ef21_server_compressor topsvd -ef21_server_compressor_rank 2
    filter: grep ": compressed\|, up " | sed "s/, [0-9]* x .* rank [0-9],/:/"

  test:
    suffix: view_nodes
    nsize: 4
    requires: double
    args: -what solve -muon_view -muon_node_size 2 -muon_type ef21 -ef21_compressor topk -muon_layer_types gain:adamw
    filter: grep -E -e node -e "^    (square|tall|wide|row|gain|embed)"

  # A step late: what is shown, and what it does not go with
  testset:
    args: -what solve -muon_delay
    table: suffix | nsize | args | filter | error
      delay            | 2 | 1 -muon_delay_correction -muon_view                          | grep -o -E "delay.*|type: layer.*|load: the busiest worker" |
      delay_two        |   | 2                                                            |                                                             | -muon_delay 2. must be in [0.,1.]
      delay_correction |   | 0 -muon_delay_correction                                     |                                                             | -muon_delay_correction: nothing is late with -muon_delay 0, expected 1
      delay_local      |   | 1 -muon_type local                                           |                                                             | -muon_delay 1: with -muon_type local rounds are late, not steps; expected -outer_muon_delay 1
      delay_theory     |   | 1 -muon_type ef21 -muon_theory smooth -muon_theory_L0 1      |                                                             | -muon_delay 1: step sizes follow from a theorem
      delay_clip       |   | 1 -muon_type dense -muon_clip 1                              |                                                             | -muon_delay 1: with -muon_clip 1. the mean gradient
      delay_tree       | 2 | 1 -muon_type sign -problem_layers square,tall,wide -muon_exchange_type star -muon_exchange_mode reduce |                                                             | -muon_exchange_mode reduce: its tree of votes waits
      delay_votes      |   | 1 -muon_type sign -problem_layers square,tall,wide -muon_delay_correction |                                                             | -muon_delay_correction: layer "square" is moved by votes

  # Misspelt keys are named once, with the nearest one that exists, whatever the number of ranks, layers and steps
  testset:
    nsize: 2
    args: -what solve
    test:
      suffix: misspelt
      args: -ef21_compresor topk -lmo_typ max -muon_layer_tall_lmo_tpe max -muon_lerning_rate 1
      unused: -ef21_compresor -lmo_typ -muon_layer_tall_lmo_tpe -muon_lerning_rate
    # What people try first: a word too much or too little, an abbreviation; never one that a layer has not
    test:
      suffix: tried
      args: -muon_rule adamw -muon_lr 1 -muon_steps 2 -ef21_compressor_type topk -muon_layer_gain_lr 1 -muon_layer_gain_rule_match sgd -muon_layer_gain_seed 1 -lmo_polar svd -muon_tie plus
      unused: -muon_rule -muon_lr -muon_steps -ef21_compressor_type -muon_layer_gain_lr -muon_layer_gain_rule_match -muon_layer_gain_seed -lmo_polar -muon_tie
    table: suffix | args | unused
      misspelt_prefix | -problem_prefix a_ -a_ef21_server_compresor topk -muon_lerning_rate 1 | -a_ef21_server_compresor -muon_lerning_rate
      idle            | -muon_type dense -ef21_compressor topk -lmo_polar_type svd -lmo_polar_steps 3 -muon_layer_tall_lmo_type max -muon_layer_tall_lmo_polar_type svd | -ef21_compressor -lmo_polar_steps -muon_layer_tall_lmo_polar_type
      idle_compressor | -ef21_compressor topk -ef21_compressor_line_norm 1 -muon_compressor topk | -ef21_compressor_line_norm -muon_compressor
    test:
      suffix: others
      args: -muon_exchange_type star -ksp_typ cg -a_muon_lerning_rate 1 -muonx 1 -lmo_polar_type svd -lmo_polar_svd_type lapack -ef21_compressor rankk -ef21_compressor_svd_type cross -muon_layer_wide_lmo_polar_svd_tol 1e-10
      unused: -ksp_typ -a_muon_lerning_rate -muonx
      filter: grep -c . || true

  # Each key once, however many layers and compressors read it; those of viewers PETSc explains in several lines
  test:
    suffix: help
    nsize: 2
    args: -what solve -help -lmo_polar_type newtonschulz
    filter: grep -v "lmo_polar_monitor\|ef21_monitor_compression\|muon_monitor \|muon_monitor:\|muon_monitor$\|muon_view\|muon_converged_reason" | grep -o "^  -\(muon\|lmo\|ef21\|compressor\)[a-z0-9_]*" | sort | uniq -c | awk '{print ($1 == 1 ? "" : $1 " times ") substr($2, 2)}' | fmt -w 140

  # One event a phase; what counts no operations is the gradient, which is the program's own, and the exchange, which moves bytes
  test:
    suffix: log
    nsize: 2
    args: -what solve -muon_layer_types wide:frozen,gain:adamw -log_view -muon_exchange_type star -ef21_compressor topk -ef21_server_compressor topk
    requires: defined(PETSC_USE_LOG)
    filter: awk '/^Muon[A-Z]/ {print $1, $2, ($6 + 0 > 0) ? "flops" : "none"}' | sort

  # One solver of singular values serves layers of the same two sides, both ways and all steps, and its results are those of a new one each time (step_oracle)
  test:
    suffix: log_svd
    nsize: 2
    args: -what solve -problem_layers tall,wide -lmo_polar_type newtonschulz -log_view -ef21_compressor rankk -ef21_server_compressor rankk
    requires: defined(PETSC_USE_LOG)
    filter: awk '/^ *SVD Solver/ {print "SVD objects", $3, $4}'

  # The events of servers are not the same number on all ranks
  test:
    suffix: log_layerwise
    nsize: 3
    args: -what solve -log_view -muon_exchange_type layerwise -ef21_compressor {{identity topk}} -muon_type {{ef21 dense}}
    requires: defined(PETSC_USE_LOG)
    unused: -ef21_compressor
    filter: grep -c "^MuonAggregate "

TEST*/
