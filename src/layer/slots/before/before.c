#include "../../muoneigenbasis.h" /*I "petscmuonlayer.h" I*/

/*
   Scales rows, columns or entries before the LMO. One side alone: <G, polar(diag(d) G)> is never negative, while factors on
   both sides may make the step ascend. SOAP scales entries in the basis of the short side's eigenvectors.
*/
enum {
  NONE,
  ROWS,
  COLUMNS,
  ENTRIES,
  SOAP
};
static const char *const Kinds[] = {"none", "rows", "columns", "entries", "soap", "MuonLayerBefore", "MUON_LAYER_BEFORE_", NULL};

typedef struct {
  int       kind, basis;
  PetscReal beta;
  PetscInt  interval;
} Before;

/* The states of SOAP, for each block */
enum {
  SQUARES,
  SIDE,
  STEPS = SIDE + MUON_EIGENBASIS_STATES,
  STATES
};

#define FLAGS (MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_HIDDEN)

static const MuonParameter Rows[] = {
  {"before", MUON_PARAMETER_ENUM, offsetof(Before, kind), NONE, 0, 0, Kinds, FLAGS, "What is divided by its norm before the LMO"},
  {"before_beta", MUON_PARAMETER_REAL, offsetof(Before, beta), PETSC_DETERMINE, 0, 1, NULL, FLAGS | MUON_PARAMETER_BELOW | MUON_PARAMETER_AUTO, "Weight of the squares of the steps before in that norm, 0 where not set, and 0.95 for soap"},
  {"before_soap_interval", MUON_PARAMETER_INT, offsetof(Before, interval), MUON_EIGENBASIS_INTERVAL, 1, MUON_UNBOUNDED, NULL, FLAGS, "Steps from one basis of soap to the next"},
  {"before_soap_basis", MUON_PARAMETER_ENUM, offsetof(Before, basis), 0, 0, 0, MuonEigenbasisKinds, FLAGS, "How soap computes a basis from the one before"},
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static double Beta(const Before *before)
{
  return before->beta >= 0 ? (double)before->beta : before->kind == SOAP ? MUON_EIGENBASIS_BETA : 0;
}

static PetscBool Chosen(const void *data)
{
  return ((const Before *)data)->kind != NONE ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool Gradient(const void *data)
{
  return ((const Before *)data)->kind == SOAP ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode SetUp(MuonLayer layer, void *data, PetscInt *nstates, MuonSlotKind kind[2])
{
  const Before *before = (const Before *)data;

  PetscFunctionBegin;
  MuonLayerCheck(layer, before->kind != SOAP || layer->n > 1, PETSC_ERR_SUP, "before soap: the layer is a vector, which has no short side; expected none, rows, columns or entries, or a layer with columns");
  kind[0]  = before->kind >= ENTRIES ? MUON_SLOT_ENTRYWISE : before->kind == ROWS ? MUON_SLOT_OWN : MUON_SLOT_ALIKE;
  kind[1]  = MUON_SLOT_ALIKE;
  *nstates = before->kind == SOAP ? STATES : before->kind == ENTRIES || Beta(before) > 0 ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step of Adam from zero, without a mean of gradients, for which any finite numbers do: entries over the roots of their mean squares */
static PetscErrorCode ApplyEntries(MuonLayer layer, const Before *before, MuonSlotState *state, const MuonArray *A, const MuonArray *B, MuonStatus *status)
{
  const double    beta = Beta(before);
  const PetscBool gaps = A->ld > A->len && A->count > 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       mean;

  PetscFunctionBegin;
  PetscCall(MuonSlotMakeArray(A, state));
  PetscCall(MuonWorkspaceGetArray(layer->work, A, A->precision, &mean));
  if (gaps) PetscCall(MuonArrayZero(&mean));
  if (!MuonArrayKernels(A)->AdamW(A->len, A->count, A->data, A->ld, 0, beta, MUON_ADAMW_EPSILON, 0, 1, 1, -1, 0, gaps ? mean.data : A->data, state->now.data, A->data, A->ld, mean.data, state->next.data, B->data, B->ld))
    *status = MUON_STATUS_NANORINF;
  PetscCall(PetscLogFlops(8.0 * (PetscLogDouble)MuonArrayEntries(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first step has no basis yet, and changes nothing; B begins as the gradient */
static PetscErrorCode ApplySOAP(MuonLayer layer, const Before *before, MuonSlotState state[], const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const MuonEigenbasis side   = {A->rows <= A->columns ? PETSC_TRUE : PETSC_FALSE, Beta(before), before->interval, before->basis};
  const MuonArray     *Q      = &state[SIDE + MUON_EIGENBASIS_VECTORS].now;
  MuonMatrix           matrix = *A;
  MuonArray            turned, scaled;
  double               steps;
  PetscInt            *order;

  PetscFunctionBegin;
  PetscCall(MuonSlotMakeState(1, &state[STEPS]));
  steps                             = *(double *)state[STEPS].now.data;
  *(double *)state[STEPS].next.data = steps + 1;
  matrix.here                       = *B;
  PetscCall(MuonEigenbasisUpdate(layer, &side, &matrix, steps, state + SIDE, &order, status));
  if (steps == 0) {
    MuonArrayAxpby(1, &A->here, 0, B);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceGetArray(layer->work, B, B->precision, &turned));
  PetscCall(MuonWorkspaceGetArray(layer->work, B, B->precision, &scaled));
  PetscCall(MuonEigenbasisTurn(layer, side.rows, A, Q, PETSC_FALSE, &turned));
  PetscCall(ApplyEntries(layer, before, &state[SQUARES], &turned, &scaled, status));
  matrix.here = scaled;
  PetscCall(MuonEigenbasisTurn(layer, side.rows, &matrix, Q, PETSC_TRUE, B));
  matrix.here = state[SQUARES].next;
  if (order != NULL) PetscCall(MuonEigenbasisSort(layer, side.rows, &matrix, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(MuonLayer layer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *step, const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const Before   *before = (const Before *)data;
  MuonSlotVectors vectors;
  MuonMatrix      host = *A;
  MuonArray       to;

  PetscFunctionBegin;
  if (before->kind == SOAP) {
    PetscCall(MuonArrayOnHost(&A->here, PETSC_TRUE, &host.here));
    PetscCall(MuonArrayOnHost(B, PETSC_TRUE, &to));
    PetscCall(ApplySOAP(layer, before, state, &host, &to, status));
    PetscCall(MuonArrayOffHost(B, PETSC_TRUE, &to));
    PetscCall(MuonArrayOffHost(&A->here, PETSC_FALSE, &host.here));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (before->kind == ENTRIES) {
    PetscCall(ApplyEntries(layer, before, state, &A->here, B, status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonSlotGetNorms(layer, A, before->kind == ROWS ? PETSC_TRUE : PETSC_FALSE, &vectors, status));
  if (Beta(before) > 0) PetscCall(MuonSlotAverage(&vectors, Beta(before), 1, state));
  PetscCall(MuonSlotDivide(A, &vectors, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(MuonLayer layer, void *data, const MuonSlotState state[], PetscViewer viewer)
{
  const Before *before = (const Before *)data;

  PetscFunctionBegin;
  if (before->kind == SOAP) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "before the LMO: SOAP of the short side, beta %g, a basis by %s every %" PetscInt_FMT " steps\n", Beta(before), MuonEigenbasisKinds[before->basis], before->interval));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "before the LMO: %s divided by their norms, beta %g\n", Kinds[before->kind], Beta(before)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERBEFORE - Scaling of a layer's matrix before its LMO

  Options Database Keys:
+ -muon_layer_before kind                - parts that are divided by their norms (none|rows|columns|entries|soap), for all layers
. -muon_layer_before_beta beta           - weight of the squares of earlier steps, 0 by default, which uses this step only; 0.95 for soap
. -muon_layer_before_soap_interval steps - number of steps between two bases of soap, 10 by default
. -muon_layer_before_soap_basis kind     - method of soap that computes a new basis from the old one (eigen|qr)
. -muon_layer_NAME_before kind           - the same for the layer called NAME
- -muon_layer_NAME_before_beta beta      - and so on, for the layer called NAME

  Level: intermediate

  Notes:
  With rows, row $i$ of the LMO's input $U$ is divided by $\sqrt{v_i}$, where
  $v \leftarrow \beta v + (1 - \beta) \|U_{i:}\|_2^2$ from 0; columns likewise. With entries each entry is divided by the root
  of its own mean square, plus 1e-10. Rows and columns of zeros stay zeros.

  rows with beta 0 is MuonEq, and the scaling before nanochat's polar factor. rows with a beta is a one-sided form of
  Muon2, entries is Muon2 itself. No choice scales both sides, because such a step may be an ascent direction.

  With soap the entries are divided in the basis of the short side. $C \leftarrow \beta C + (1 - \beta) G G^T$, or $G^T G$, is the
  covariance of that side, and $Q$ has its eigenvectors. $V \leftarrow \beta V + (1 - \beta) P^2$ entry by entry with $P = Q^T U$, and the LMO gets
  $Q (P / (\sqrt{V} + 10^{-10}))$; for the columns $P = U Q$ likewise. $G$ is the gradient that enters the server's momentum; with
  `-muon_momentum_at worker` and with `MUONEF21` it is $U$. A step uses the $Q$ of earlier steps, so that the first step is one without soap. A basis
  is computed at the first step, and then every `-muon_layer_before_soap_interval` steps. The columns of $Q$, and $V$ with them, are sorted by the
  diagonal of $Q^T C Q$. The new basis is that of LAPACK's `syevd`, or with qr $C Q$ orthonormalized. With equal eigenvalues, as those of the null
  space of $G^T G$ at first, basis and step are not unique. A layer with one column is an error.

  The mean squares are those of the server's matrix: of the mean gradient with `-muon_momentum_at server` and no momentum, of
  estimates with `MUONEF21`, otherwise of momenta. Blocks of a layer (`MuonLayerSetBlocks()`) have their own norms. Monitors show
  the dual norm of the scaled matrix.

  If the rows of a layer are distributed, the norms of columns are summed over the ranks once a step. soap gathers the rows three times a step if
  there are fewer rows than columns, otherwise it sums the covariance. The first rank computes the basis for all. The mean squares of distributed
  rows, and those of entries with blocks, can be restarted only on the same number of ranks.

  The state is `before.kept[b]` of block b in `MuonGetLayerState()`; of soap it is `before.kept[4b]`, V, and then covariance, basis, number of steps.

  References:
+ * - MuonEq, https://arxiv.org/abs/2603.28254
. * - Muon2, https://arxiv.org/abs/2604.09967
- * - SOAP, https://arxiv.org/abs/2409.11321

.seealso: `MuonLayer`, `MUONLAYERLMO`, `MUONLAYERAFTER`, `MUONLAYERSOAP`, `MuonLayerSetBlocks()`
M*/
const MuonSlotOps MuonSlotBefore = {"before", MUON_SLOT_BEFORE, Rows, sizeof(Before), Chosen, SetUp, Apply, View, Gradient};
