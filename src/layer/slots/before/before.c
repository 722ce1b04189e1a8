#include "../../muonslot.h" /*I "petscmuonlayer.h" I*/

/*
   Scales rows, columns or entries before the LMO. One side alone: <G, polar(diag(d) G)> is never negative, while factors on
   both sides may make the step ascend.
*/
enum {
  NONE,
  ROWS,
  COLUMNS,
  ENTRIES
};
static const char *const Kinds[] = {"none", "rows", "columns", "entries", "MuonLayerBefore", "MUON_LAYER_BEFORE_", NULL};

typedef struct {
  int       kind;
  PetscReal beta;
} Before;

static const MuonParameter Rows[] = {{"before", MUON_PARAMETER_ENUM, offsetof(Before, kind), NONE, 0, 0, Kinds, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_HIDDEN, "What is divided by its norm before the LMO"},
                                     {"before_beta", MUON_PARAMETER_REAL, offsetof(Before, beta), 0, 0, 1, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_BELOW | MUON_PARAMETER_HIDDEN,
                                      "Weight of the squares of the steps before in that norm"},
                                     {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscBool Chosen(const void *data)
{
  return ((const Before *)data)->kind != NONE ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode SetUp(MuonLayer layer, void *data, PetscInt *nstates, PetscBool *entrywise)
{
  const Before *before = (const Before *)data;

  PetscFunctionBegin;
  (void)layer;
  *entrywise = before->kind == ENTRIES ? PETSC_TRUE : PETSC_FALSE;
  *nstates   = before->beta > 0 || *entrywise ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step of Adam from zero, without a mean of gradients: entries over the roots of their mean squares */
static PetscErrorCode ApplyEntries(MuonLayer layer, const Before *before, MuonSlotState *state, const MuonArray *A, const MuonArray *B, MuonStatus *status)
{
  MuonArray mean;

  PetscFunctionBegin;
  if (state->now.data == NULL) PetscCall(MuonArrayCreate(A, A->precision, &state->now));
  if (state->next.data == NULL) PetscCall(MuonArrayCreate(A, A->precision, &state->next));
  PetscCall(MuonWorkspaceGetArray(layer->work, A, A->precision, &mean));
  PetscCall(MuonArrayZero(&mean));
  if (!MuonArrayKernels(A)->AdamW(A->len, A->count, A->data, A->ld, 0, before->beta, MUON_ADAMW_EPSILON, 0, 1, 1, -1, 0, mean.data, state->now.data, A->data, A->ld, mean.data, state->next.data, B->data, B->ld)) *status = MUON_STATUS_NANORINF;
  PetscCall(PetscLogFlops(8.0 * (PetscLogDouble)MuonArrayEntries(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(MuonLayer layer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *step, const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const Before   *before = (const Before *)data;
  MuonSlotVectors vectors;

  PetscFunctionBegin;
  (void)info;
  (void)step;
  if (before->kind == ENTRIES) {
    PetscCall(ApplyEntries(layer, before, state, &A->here, B, status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonSlotGetNorms(layer, A, before->kind == ROWS ? PETSC_TRUE : PETSC_FALSE, &vectors, status));
  if (before->beta > 0) PetscCall(MuonSlotAverage(&vectors, before->beta, 1, state));
  PetscCall(MuonSlotDivide(A, &vectors, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(MuonLayer layer, void *data, const MuonSlotState state[], PetscViewer viewer)
{
  const Before *before = (const Before *)data;

  PetscFunctionBegin;
  (void)layer;
  (void)state;
  PetscCall(PetscViewerASCIIPrintf(viewer, "before the LMO: %s divided by their norms, beta %g\n", Kinds[before->kind], (double)before->beta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERBEFORE - What is done to the matrix of a layer before its LMO

  Options Database Keys:
+ -muon_layer_before kind           - (none|rows|columns|entries) what is divided by its norm, of all layers
. -muon_layer_before_beta beta      - weight of the squares of the steps before, 0 by default: the norms of this step alone
. -muon_layer_NAME_before kind      - the same of the layer called NAME
- -muon_layer_NAME_before_beta beta - the same of the layer called NAME

  Level: intermediate

  Notes:
  With rows, row $i$ of the matrix $U$ that the LMO is about to get is divided by $\sqrt{v_i}$, where
  $v \leftarrow \beta v + (1 - \beta) \|U_{i:}\|_2^2$ from 0; columns likewise. With entries each entry is divided by the root
  of its own mean square, plus 1e-10. Rows and columns of zeros stay zeros.

  Static rows are MuonEq, rows before the polar factor of nanochat, and rows with a beta are a one-sided form of Muon2;
  entries are Muon2 itself. No choice scales both sides\: such a step may ascend.

  The mean squares are of what the server has: the mean of gradients with `-muon_momentum_at server` and no momentum, else
  momenta, and of estimates with `MUONEF21`. Blocks of a layer (`MuonLayerSetBlocks()`) have norms of their own. The dual norm that
  monitors show is that of the scaled matrix.

  Where the rows of a layer are spread over ranks, the norms of columns are summed over these, once a step. The mean squares of a layer
  that is spread can be restarted on as many ranks as saved them.

  The state is `before.kept[b]` of block b in `MuonGetLayerState()`.

  References:
+ * - MuonEq, https://arxiv.org/abs/2603.28254
- * - Muon2, https://arxiv.org/abs/2604.09967

.seealso: `MuonLayer`, `MUONLAYERLMO`, `MUONLAYERAFTER`, `MuonLayerSetBlocks()`
M*/
const MuonSlotOps MuonSlotBefore = {"before", MUON_SLOT_BEFORE, Rows, sizeof(Before), Chosen, SetUp, Apply, View};
