#include "../../muonslot.h" /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <math.h>
#include <string.h>

/*
   Scales the LMO's point: a list of methods, one after the other.
*/
typedef enum {
  NORMUON_LONG,
  NORMUON_ROW,
  NORMUON_COLUMN,
  LINES_ROWS,
  LINES_COLUMNS,
  FROBENIUS,
  WAYS
} Way;
static const char *const Names[WAYS] = {"normuon_long", "normuon_row", "normuon_column", "lines_rows", "lines_columns", "frobenius"};
#define EXPECTED "none or some of: normuon_long, normuon_row, normuon_column, lines_rows, lines_columns, frobenius"

/* Below this a mean square counts as this */
static const double EPSILON = 1e-10;

typedef struct {
  char     *list;
  PetscReal beta;
} After;

static const MuonParameter Rows[] = {{"after", MUON_PARAMETER_TEXT, offsetof(After, list), 0, 0, 0, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_HIDDEN, "How the point of the norm ball is scaled"},
                                     {"after_beta", MUON_PARAMETER_REAL, offsetof(After, beta), 0.95, 0, 1, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_BELOW | MUON_PARAMETER_HIDDEN,
                                      "Weight of the mean squares of the steps before in NorMuon"},
                                     {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscBool Chosen(const void *data)
{
  const char *list = ((const After *)data)->list;

  return list != NULL && list[0] != '\0' && strcmp(list, "none") != 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* The next method of a list, WAYS at its end; moves *list behind it; an unknown word is -1 */
static int Next(const char **list)
{
  const char *const word   = *list + strspn(*list, ", ");
  const size_t      length = strcspn(word, ", ");

  *list = word + length;
  if (length == 0) return WAYS;
  for (int way = 0; way < WAYS; way++) {
    if (strlen(Names[way]) == length && strncmp(word, Names[way], length) == 0) return way;
  }
  return -1;
}

static PetscErrorCode SetUp(MuonLayer layer, void *data, PetscInt *nstates, MuonSlotKind kind[2])
{
  const After *after = (const After *)data;
  const char  *list  = after->list;

  PetscFunctionBegin;
  kind[0] = kind[1] = MUON_SLOT_OWN;
  for (int way = Next(&list); way != WAYS; way = Next(&list)) {
    MuonLayerCheck(layer, way >= 0, PETSC_ERR_ARG_OUTOFRANGE, "after %s: expected " EXPECTED, after->list);
    if (way <= NORMUON_COLUMN) ++*nstates;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Divides by the roots of the mean squares v, and restores the Frobenius norm */
static PetscErrorCode NorMuon(MuonLayer layer, double beta, MuonSlotState *state, const MuonMatrix *A, MuonSlotVectors *vectors)
{
  double *const square = vectors->f0, sum[2] = {0, 0}, factor;

  PetscFunctionBegin;
  for (size_t k = 0; k < vectors->count; k++) square[k] = ldexp(vectors->size[k] * vectors->size[k], 2 * vectors->exponent[k]);
  PetscCall(MuonSlotAverage(vectors, beta, (double)vectors->length, state));
  for (size_t k = 0; k < vectors->count; k++) {
    const double v = fmax(((double *)state->next.data)[k], EPSILON);

    vectors->size[k] = frexp(sqrt(v), &vectors->exponent[k]);
    sum[0] += square[k];
    sum[1] += square[k] / v;
  }
  if (vectors->rows) PetscCall(MuonLMOSum(layer->lmo, A, 2, sum)); /* of columns every rank has all */
  factor = sum[1] > 0 ? sqrt(sum[0] / sum[1]) : 0;
  for (size_t k = 0; k < vectors->count; k++) vectors->weight[k] = factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the Frobenius norm of a polar factor of full rank */
static PetscErrorCode Frobenius(MuonLayer layer, const MuonMatrix *A, const MuonArray *B)
{
  double sum = MuonLayerSumSquares(&A->here);

  PetscFunctionBegin;
  PetscCall(MuonLMOSum(layer->lmo, A, 1, &sum));
  MuonArrayAxpby(sqrt((double)PetscMin(A->rows, A->columns)) / fmax(sqrt(sum), 1e-6), &A->here, 0, B);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(B)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(MuonLayer layer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *step, const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const After *after = (const After *)data;
  const char  *list  = after->list;

  PetscFunctionBegin;
  for (int way = Next(&list); way != WAYS; way = Next(&list)) {
    /* The vectors that a method scales; those of the longer side for normuon_long */
    const PetscBool rows = way == NORMUON_ROW || way == LINES_ROWS || (way == NORMUON_LONG && A->rows >= A->columns) ? PETSC_TRUE : PETSC_FALSE;
    MuonSlotVectors vectors;

    if (way == FROBENIUS) {
      PetscCall(Frobenius(layer, A, B));
      continue;
    }
    PetscCall(MuonSlotGetNorms(layer, A, rows, &vectors, status));
    if (way <= NORMUON_COLUMN) PetscCall(NorMuon(layer, (double)after->beta, state++, A, &vectors));
    PetscCall(MuonSlotDivide(A, &vectors, B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines of the short side of an exact polar factor of full rank are orthonormal, so that all have one norm */
static PetscErrorCode View(MuonLayer layer, void *data, const MuonSlotState state[], PetscViewer viewer)
{
  const After *after = (const After *)data;
  const char  *list  = after->list;
  MuonBlock    block;
  PetscBool    spectral;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "after the LMO: %s, beta %g\n", after->list, (double)after->beta));
  PetscCall(PetscObjectTypeCompare((PetscObject)layer->lmo, MUONLMOSPECTRAL, &spectral));
  if (!spectral) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetBlock_Private(layer, 0, &block));
  for (int way = Next(&list); way != WAYS; way = Next(&list)) {
    const PetscBool columns = way == NORMUON_COLUMN || way == LINES_COLUMNS ? PETSC_TRUE : PETSC_FALSE;

    if (way == FROBENIUS || block.m == block.n || (columns ? block.n < block.m : way != NORMUON_LONG && block.m < block.n))
      PetscCall(PetscViewerASCIIPrintf(viewer, "  %s changes nothing in an exact polar factor of %" PetscInt_FMT " x %" PetscInt_FMT "\n", Names[way], block.m, block.n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERAFTER - Scaling of the point that a layer's LMO returns

  Options Database Keys:
+ -muon_layer_after list           - for all layers none, or some of normuon_long, normuon_row, normuon_column, lines_rows, lines_columns, frobenius, in the order of application
. -muon_layer_after_beta beta      - weight of the mean squares of earlier steps in NorMuon, 0.95 by default
. -muon_layer_NAME_after list      - the same for the layer called NAME
- -muon_layer_NAME_after_beta beta - the same for the layer called NAME

  Level: intermediate

  Notes:
  NorMuon keeps $v \leftarrow \beta v + (1 - \beta) s$ from 0, with $s_i$ the mean square of row or column $i$, divides that by
  $\sqrt{\max(v_i, 10^{-10})}$, and restores the Frobenius norm of the matrix. normuon_row uses rows, normuon_column columns, normuon_long those of
  the longer side. lines_rows and lines_columns divide each row or column by its norm and change the Frobenius norm (Muon+). frobenius sets that
  norm to $\sqrt{\min(m, n)}$.

  An exact polar factor of full rank has orthonormal rows or columns along its short side. On that side these choices
  change nothing but the error of an inexact iteration. `-muon_view` names such choices.

  A step may be longer than the radius in the norm of the LMO. With one side scaled it is still a descent direction.
  `-ef21_downlink step` and `-ef14_downlink step` are errors. Each block of a layer is scaled separately.

  If the rows of a layer are distributed, the norms of columns and the Frobenius norm are summed over the ranks. The
  mean squares of a distributed layer can be restarted only on the same number of ranks.

  The state is `after.kept[k]` in `MuonGetLayerState()`, by blocks and then by the NorMuons of the list.

  References:
+ * - NorMuon, https://arxiv.org/abs/2510.05491
- * - Muon+, https://arxiv.org/abs/2602.21545

.seealso: `MuonLayer`, `MUONLAYERLMO`, `MUONLAYERBEFORE`, `MuonLayerSetBlocks()`
M*/
const MuonSlotOps MuonSlotAfter = {"after", MUON_SLOT_AFTER, Rows, sizeof(After), Chosen, SetUp, Apply, View, NULL};
