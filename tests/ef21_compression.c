static char help[] = "Contraction and lag of every layer: written beside the matrices that they are of, for tests/oracle/ef21_compression.py to compute them again.\n";

#include "parameters.h"
#include "problem.h"
#include <stdio.h>

/* What the layer's worker and server hold before or after a step: M, G_j, X and W, those that are there; a momentum that is not stored is the gradient */
static PetscErrorCode WriteState(const Problem *p, PetscInt l, PetscInt step, FILE *file)
{
  static const char *const names[] = {"momentum", "estimate", "served", NULL};
  const ProblemShape      *shape   = p->layer[l].shape;
  const size_t             d       = (size_t)(shape->m * shape->n);
  double                   here    = 0, rows[4][64];
  PetscBool                kept[4];

  PetscFunctionBegin;
  PetscCheck(d <= 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is too large", shape->name);
  for (int k = 0; k < 4; k++) PetscCall(ProblemGetRows(p, l, names[k], rows[k], &kept[k]));
  for (size_t e = 0; e < d && kept[0] == PETSC_FALSE && step > 0; e++) rows[0][e] = (double)(PetscReal)ProblemFormula(p, l, (PetscInt)e / shape->n, (PetscInt)e % shape->n, step - 1, ((const double(*)[64])p->data)[l][e]);
  kept[0] = PETSC_TRUE;
  for (int k = 0; k < 3; k++) here += kept[k] ? 1 << k : 0; /* which tells them by a bit each */
  PetscCheck(fwrite(&here, sizeof(here), 1, file) == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write");
  for (int k = 0; k < 4; k++) PetscCheck(kept[k] == PETSC_FALSE || fwrite(rows[k], sizeof(*rows[k]), d, file) == d, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write");
  memcpy(((double(*)[64])p->data)[l], rows[3], d * sizeof(double));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The figures of a layer, which all ranks have and which name the constants of its compressors */
static PetscErrorCode WriteFigures(const Problem *p, PetscInt l, PetscInt step, FILE *file)
{
  const MPI_Comm      comm = PetscObjectComm((PetscObject)p->muon);
  MuonEF21Compression c, first;
  MuonCompressor      up, down;
  PetscReal           alpha[2];
  double              p2 = 2, interval = 1;
  MuonCompressorType  type;
  PetscBool           topsvd;
  PetscInt            measured = 1;
  MuonLayerType       which;
  MuonLMO             lmo;
  MuonLMOType         norm;
  char                init[32];
  PetscBool           equal;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCall(MuonEF21GetLayerCompression(p->muon, p->layer[l].layer, &c));
  first = c;
  PetscCallMPI(MPI_Bcast(&first, (PetscMPIInt)sizeof(first), MPI_BYTE, 0, comm));
  PetscCall(PetscMemcmp(&first, &c, sizeof(c), &equal));
  PetscCheck(equal == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": the ranks have different figures", l);
  PetscCall(GetNumber((PetscObject)p->muon, "muon_monitor_interval", NULL, &interval));
  measured = step == 5 ? 5 : step - step % (PetscInt)interval;
  PetscCheck(c.step == measured, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": figures of step %" PetscInt_FMT " after step %" PetscInt_FMT, l, c.step, step);
  PetscCall(MuonGetLayerCompressors(p->muon, p->layer[l].layer, &up, &down));
  PetscCall(MuonCompressorGetAlpha(up, p->layer[l].shape->m, p->layer[l].shape->n, &alpha[0]));
  PetscCall(MuonCompressorGetAlpha(down, p->layer[l].shape->m, p->layer[l].shape->n, &alpha[1]));
  PetscCall(MuonGetParameter(p->muon, "ef21_init", init, sizeof(init)));
  if (init[0] == 'g' && c.step == 0) alpha[0] = PetscDefined(USE_REAL_SINGLE) ? 1 : (PetscReal)1 - (PetscReal)1 / 281474976710656; /* rounded to single precision by u = 2^-24 at most */
  /* What is beside the Frobenius norm is of that norm */
  PetscCall(MuonCompressorGetType(up, &type));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORTOPSVD, &topsvd));
  if (topsvd == PETSC_TRUE) {
    PetscCall(GetNumber((PetscObject)up, "compressor_topsvd_schatten", NULL, &p2));
    if (p2 != 2) {
      PetscCheck(alpha[0] > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": alpha %g in the norm that was chosen", l, (double)alpha[0]);
      alpha[0] = -1;
    }
  }
  PetscCheck(c.bound[0] == (alpha[0] < 0 ? -1 : 1 - alpha[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": bound %g, alpha %g", l, (double)c.bound[0], (double)alpha[0]);
  PetscCheck(c.bound[1] == (alpha[1] < 0 ? -1 : 1 - alpha[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": bound %g, alpha %g", l, (double)c.bound[1], (double)alpha[1]);
  PetscCall(MuonLayerGetType(p->layer[l].layer, &which));
  PetscCall(MuonLayerGetLMO(p->layer[l].layer, &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  if (p->rank > 0 || c.step != step) PetscFunctionReturn(PETSC_SUCCESS);
  fprintf(file, "%d %d %d %d %s %s", (int)step, (int)l, (int)p->layer[l].shape->m, (int)p->layer[l].shape->n, which, norm);
  for (int k = 0; k < 2; k++) {
    fprintf(file, " %.17g %.17g %.17g %.17g %.17g %.17g", (double)c.mean[0][k], (double)c.worst[0][k], (double)c.lag_mean[0][k], (double)c.lag_worst[0][k], (double)c.mean[1][k], (double)c.lag_mean[1][k]);
  }
  fprintf(file, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ten numbers of a layer that takes part are shared in a step that is measured, and nothing in others
*/
static PetscErrorCode CheckTraffic(const Problem *p, const Problem *plain, PetscInt step)
{
  MuonTraffic traffic[2];
  double      extra = 0, interval = 1;

  PetscFunctionBegin;
  PetscCall(GetNumber((PetscObject)p->muon, "muon_monitor_interval", NULL, &interval));
  for (PetscInt l = 0; l < p->n && (step % (PetscInt)interval == 0 || step == 5); l++) {
    MuonLayerType type;
    PetscBool     frozen;

    PetscCall(MuonLayerGetType(p->layer[l].layer, &type));
    PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
    if (frozen == PETSC_FALSE) extra += 10 * sizeof(double);
  }
  PetscCall(MuonGetTraffic(p->muon, &traffic[0]));
  PetscCall(MuonGetTraffic(plain->muon, &traffic[1]));
  PetscCheck(traffic[0].mpi - traffic[1].mpi == extra, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": %g bytes more than without figures, expected %g", step, traffic[0].mpi - traffic[1].mpi, extra);
  for (int k = 0; k < 3; k++) PetscCheck(traffic[0].up[k] == traffic[1].up[k] && traffic[0].down[k] == traffic[1].down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": other bits are counted", step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char                dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  const PetscInt      steps                   = 6;
  FILE               *figures                 = NULL, *file;
  Problem             p, plain;
  MuonEF21Compression c;
  double              weights[6][64] = {{0}};
  PetscBool           on;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsInsertString(NULL, "-problem_setup 0 -muon_count_entropy -muon_max_steps 6"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(ProblemCreate(&plain, 0, 0));
  p.data = weights;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ef21_monitor_compression", &on));
  if (on == PETSC_FALSE) PetscCall(MuonEF21SetMonitorCompression(p.muon, PETSC_TRUE));
  else PetscCall(MuonMonitorCancel(plain.muon));
  PetscCall(MuonEF21SetMonitorCompression(plain.muon, PETSC_FALSE));
  PetscCall(MuonSetUp(p.muon));
  if (p.rank == 0) {
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/figures", dir));
    figures = fopen(path, "w");
    PetscCheck(figures != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
    fprintf(figures, "%s %d\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", p.size);
  }
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%d.states", dir, p.rank));
  file = fopen(path, "wb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  for (PetscInt s = 0; s <= steps; s++) {
    for (PetscInt l = 0; l < p.n; l++) {
      MuonLayerType type;
      PetscBool     frozen;

      PetscCall(MuonLayerGetType(p.layer[l].layer, &type));
      PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
      if (frozen == PETSC_TRUE) continue;
      PetscCall(WriteState(&p, l, s, file));
      if (s > 0) PetscCall(WriteFigures(&p, l, s - 1, figures));
      else {
        PetscCall(MuonEF21GetLayerCompression(p.muon, p.layer[l].layer, &c));
        PetscCheck(c.step == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Figures of step %" PetscInt_FMT " before the first", c.step);
      }
    }
    if (s == steps) break;
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(plain.muon));
    PetscCall(CheckTraffic(&p, &plain, s));
  }
  PetscCheck(fclose(file) == 0 && (figures == NULL || fclose(figures) == 0), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);

  /* Who looks changes nothing, and who does not look has no figures */
  PetscCall(ProblemCheckSame(&p, &plain, "measuring", "a run without"));
  PetscCall(MuonEF21GetLayerCompression(plain.muon, plain.layer[0].layer, &c));
  PetscCheck(c.step == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Figures of step %" PetscInt_FMT " that nobody asked for", c.step);
  /* The monitor of the option, which another type has no figures for */
  PetscCall(MuonSetType(p.muon, MUONDENSE));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemDestroy(&plain));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: numpy
    oracle: ef21_compression.py lossy
    test:
      suffix: topk
      nsize: {{1 2 3 4}}
      args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.2 -ef21_server_compressor_values natural -muon_exchange_type {{star layerwise replicated}}
    # Other norms, a type without a norm, a layer that is frozen, a first gradient that is sent whole
    test:
      suffix: norms
      nsize: 3
      args: -ef21_compressor_layers all -ef21_init gradient -ef21_compressor natural -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.5 -muon_layer_square_lmo_type nuclear -muon_layer_tall_lmo_type rowsum -muon_layer_wide_lmo_type l1
      args: -muon_layer_row_type frozen -muon_layer_gain_type adamw -muon_weight_decay 0.1
    table: suffix | nsize | args
      schatten | 2 | -ef21_compressor topsvd -ef21_compressor_ratio 0.5 -ef21_compressor_topsvd_schatten {{1 2}} -ef21_server_compressor topk
      interval | 2 | -ef21_compressor topk -ef21_server_compressor topk -muon_monitor_interval 2

  testset:
    requires: numpy
    nsize: 2
    # Both directions, or one, are exact, by either of the two types that are
    table: suffix | args | oracle
      identity | -muon_exchange_mode {{reduce gather}}                      | ef21_compression.py
      up       | -ef21_compressor natural                                   | ef21_compression.py up
      down     | -ef21_server_compressor topk                               | ef21_compression.py down
      downlink | -ef21_compressor topk -ef21_downlink step -lmo_type rowsum | ef21_compression.py up

  # Layers whose home is another rank of the node say what that one sent: nothing is left out of a first gradient
  test:
    suffix: nodes
    nsize: 4
    args: -ef21_monitor_compression -muon_node_size 2 -ef21_init gradient -ef21_compressor topk -ef21_server_compressor natural -muon_monitor_interval 4
    filter: sed -E 's/[0-9.]+e[+-][0-9]+/N/g' | grep " up " | awk '{step = $1; $1 = ""; at[$0] = at[$0] " " step} END {for (line in at) print at[line] ":" line}' | sort

  # The lines of the option, of the steps that monitors speak of; the figures themselves are compared above
  test:
    suffix: monitor
    nsize: 2
    args: -ef21_monitor_compression -muon_monitor_interval 4 -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor natural -muon_layer_gain_ef21_compressor identity
    filter: sed -E 's/[0-9.]+e[+-][0-9]+/N/g' | awk '{step = $1; $1 = ""; at[$0] = at[$0] " " step} END {for (line in at) print at[line] ":" line}' | sort

TEST*/
