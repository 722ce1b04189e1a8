static char help[] = "Hashes of the weights behind some steps, for all types, delays, nodes, phases and storages: config/same-weights compares those of two builds.\n\n";

#include <petscmuon.h>
#include <math.h>
#include <string.h>

enum {
  LAYERS = 5,
  STEPS  = 12
};
/* Tall, wide, in the precision and the order of other programs, a vector, one that is not the LMO's */
static const struct {
  const char *name, *type;
  PetscInt    m, n;
  PetscBool   single, rowmajor;
} Shapes[LAYERS] = {{"up", MUONLAYERLMO, 9, 4, PETSC_FALSE, PETSC_FALSE},
                    {"down", MUONLAYERLMO, 4, 10, PETSC_FALSE, PETSC_TRUE},
                    {"out", MUONLAYERLMO, 6, 6, PETSC_TRUE, PETSC_TRUE},
                    {"bias", MUONLAYERLMO, 7, 1, PETSC_FALSE, PETSC_FALSE},
                    {"gain", MUONLAYERADAMW, 5, 1, PETSC_FALSE, PETSC_FALSE}};

#define TOPK "-muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 "
#define SIGN "-muon_type sign -lmo_type spectral -sign_tie random "
static const char *const Types[] = {
  "-muon_type dense -muon_nesterov ema -muon_exchange_mode reduce",
  "-muon_type dense -muon_momentum_at worker -muon_clip 2 -muon_weight_decay 0.1 -muon_weight_decay_style coupled -muon_state_precision single",
  "-muon_type dense -muon_exchange_mode allreduce",
  TOPK "-ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -ef21_compressor_values natural -ef21_aggregate_error_interval 3",
  TOPK "-ef21_init gradient -ef21_compressor_layers all -muon_check_weights false",
  TOPK "-muon_momentum_at server -ef21_server_compressor natural",
  "-muon_type ef21 -ef21_compressor qsgd -ef21_compressor_bits 4 -ef21_server_compressor qsgd",
  "-muon_type ef21 -ef21_compressor natural -muon_momentum_warmup 5",
  "-muon_type ef21 -ef21_compressor natural -ef21_downlink step -muon_layer_gain_ef21_downlink weights -lmo_type nuclear",
  "-muon_type ef14 -ef14_compressor rankk -ef14_compressor_rank 1 -ef14_feedback 0.9 -ef14_server_compressor topk",
  SIGN,
  SIGN "-sign_update polar -sign_direction momentum",
  "-muon_preset kj",
  "-muon_preset sparseloco -local_steps 3 -outer_ef14_compressor_ratio 0.3",
  "-muon_type local -local_steps 3 -outer_muon_momentum 0.6 -outer_muon_nesterov sgd",
  "-muon_type local -local_steps 4 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_layers all",
};
static const char *const Delays[]    = {"", "-muon_delay 1", "-muon_delay 1 -muon_delay_correction", "-outer_muon_delay 1", "-local_stagger"};
static const char *const Nodes[]     = {"", "-muon_node_size 2"};
static const char *const Exchanges[] = {"", "-muon_exchange_type star", "-muon_exchange_type layerwise", "-muon_exchange_type replicated", "-muon_exchange_type rows"};
static const char *const Storages[]  = {"sequential", "rows", "whole", "skip", "ready"}; /* rows of all ranks; of pairs, with whole gradients; a step with a NaN is left out; early sums */

typedef struct {
  const char *storage;
  Muon        muon;
  MPI_Comm    comm;
  PetscMPIInt rank, worker;
  MuonLayer   layer[LAYERS];
  PetscInt    first[LAYERS], rows[LAYERS];
  double      w[LAYERS][64]; /* or floats */
  PetscBool   bad;
} Problem;

static double Number(PetscInt l, PetscInt i, PetscInt j, PetscInt of)
{
  return sin((double)(1 + 31 * l + 7 * i + 13 * j + 101 * of));
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem           *p    = (Problem *)ctx;
  volatile PetscReal zero = 0;
  PetscInt           step;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = LAYERS - 1; l >= 0; l--) {
    const PetscBool whole = strcmp(p->storage, "whole") == 0 ? PETSC_TRUE : PETSC_FALSE;
    MuonLayerArray  g;

    PetscCall(MuonLayerGetGradientArray(p->layer[l], &g));
    for (PetscInt i = 0; i < (whole ? Shapes[l].m : p->rows[l]); i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const PetscInt at = Shapes[l].rowmajor ? i * Shapes[l].n + j : i + j * p->rows[l], to = Shapes[l].rowmajor ? i * g.ld + j : i + j * g.ld, row = i + (whole ? 0 : p->first[l]);
        const double   w = whole ? 0 : Shapes[l].single ? ((float *)p->w[l])[at] : p->w[l][at], one = w - Number(l, row, j, p->worker) + Number(l, row, j, 100 + step + p->worker) / 4;

        if (Shapes[l].single) ((float *)g.w)[to] = (float)one;
        else ((double *)g.w)[to] = one;
        *loss += (PetscReal)(one * one);
      }
    }
    if (l == 1 && step == 4 && p->rank == 0 && p->bad) {
      ((double *)g.w)[0] = 0 / zero;
      p->bad             = PETSC_FALSE;
    }
    PetscCall(MuonProgress(muon));
    if (strcmp(p->storage, "ready") == 0) PetscCall(MuonLayerGradientReady(p->layer[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Problem *p)
{
  const PetscBool rows = strcmp(p->storage, "rows") == 0 ? PETSC_TRUE : PETSC_FALSE, whole = strcmp(p->storage, "whole") == 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt     position, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  p->worker = p->rank / (rows || (whole && size % 2) ? size : whole ? 2 : 1);
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, p->worker, p->rank, &p->comm));
  PetscCallMPI(MPI_Comm_rank(p->comm, &position));
  PetscCallMPI(MPI_Comm_size(p->comm, &size));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &p->muon));
  p->bad = strcmp(p->storage, "skip") == 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt l = 0; l < LAYERS; l++) {
    MuonLayerArray array;

    p->first[l] = Shapes[l].m * position / size;
    p->rows[l]  = Shapes[l].m * (position + 1) / size - p->first[l];
    PetscCall(MuonLayerArrayInitialize(&array));
    array.comm     = p->comm;
    array.type     = Shapes[l].single ? PETSC_FLOAT : PETSC_DOUBLE;
    array.rowmajor = Shapes[l].rowmajor;
    array.M        = Shapes[l].m;
    array.N        = Shapes[l].n;
    array.first    = p->first[l];
    array.rows     = p->rows[l];
    array.w        = p->w[l];
    for (PetscInt i = 0; i < p->rows[l]; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const PetscInt at = Shapes[l].rowmajor ? i * Shapes[l].n + j : i + j * p->rows[l];

        if (Shapes[l].single) ((float *)p->w[l])[at] = (float)Number(l, p->first[l] + i, j, 50);
        else p->w[l][at] = Number(l, p->first[l] + i, j, 50);
      }
    }
    PetscCall(MuonAddLayerArray(p->muon, Shapes[l].name, &array, &p->layer[l]));
    PetscCall(MuonLayerSetType(p->layer[l], Shapes[l].type));
    if (whole) PetscCall(MuonLayerSetWholeGradient(p->layer[l], PETSC_TRUE));
  }
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode ierr, PetscErrorType kind, const char *text, void *why)
{
  PetscFunctionBeginUser;
  if (kind == PETSC_ERROR_INITIAL) PetscCall(PetscStrncpy((char *)why, text, 128));
  PetscFunctionReturn(ierr);
}

/* What a run ends with on each rank: bits sent up and down, the loss, hashes of the rows that are here */
static PetscErrorCode Case(const char options[], const char storage[])
{
  static Problem p;
  MuonTraffic    traffic;
  PetscErrorCode ierr;
  PetscReal      loss;
  char           why[128] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&p, sizeof(p)));
  p.storage = storage;
  PetscCall(Create(&p));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscPushErrorHandler(Keep, why));
  ierr = MuonSetFromOptions(p.muon);
  if (ierr == PETSC_SUCCESS) ierr = MuonSetUp(p.muon);
  for (PetscInt s = 0; s < STEPS && ierr == PETSC_SUCCESS; s++) ierr = MuonStep(p.muon);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s%s%s\n", storage, options, why[0] == '\0' ? "" : " refused: ", why));
  if (ierr == PETSC_SUCCESS) {
    PetscCall(MuonGetTraffic(p.muon, &traffic));
    PetscCall(MuonGetLoss(p.muon, &loss));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "  %.17g %.17g %.17g", traffic.total_up[1], traffic.total_down[1], (double)loss));
    for (PetscInt l = 0; l < LAYERS; l++) {
      unsigned long long hash = 14695981039346656037ull;

      for (size_t k = 0; k < sizeof(p.w[l]); k++) hash = (hash ^ ((const unsigned char *)p.w[l])[k]) * 1099511628211ull;
      PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, " %016llx", hash));
    }
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscCall(MuonDestroy(&p.muon));
  PetscCallMPI(MPI_Comm_free(&p.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    every = 1, number = 0;
  PetscMPIInt size;
  char        options[1024];

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-every", &every, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(Types); t++) {
    for (size_t d = 0; d < PETSC_STATIC_ARRAY_LENGTH(Delays); d++) {
      for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(Nodes); n++) {
        for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(Exchanges); e++) {
          for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(Storages); s++) {
            const PetscBool local = strstr(Types[t], "loc") != NULL ? PETSC_TRUE : PETSC_FALSE;

            if ((d > 0 && local != (d > 2)) || (n > 0 && size % 2 > 0)) continue;
            PetscCall(PetscSNPrintf(options, sizeof(options), "-muon_max_steps %d -muon_nan skip -muon_schedule linear %s %s %s %s", STEPS, Types[t], Delays[d], Nodes[n], Exchanges[e]));
            if (number++ % every == 0) PetscCall(Case(options, Storages[s]));
          }
        }
      }
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}
    args: -every 61

TEST*/
