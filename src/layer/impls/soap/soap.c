#include "../../muoneigenbasis.h" /*I "petscmuonlayer.h" I*/

/* The state of each block: moments in the bases of both sides, covariances, bases, and the number of steps */
enum {
  MEAN,
  SQUARE,
  ROWS,
  COLUMNS = ROWS + MUON_EIGENBASIS_STATES,
  STEPS   = COLUMNS + MUON_EIGENBASIS_STATES,
  STATES
};
static const char *const Names[STATES] = {"mean", "square", "rows.covariance", "rows.basis", "columns.covariance", "columns.basis", "steps"};

typedef struct {
  PetscReal beta1, beta2, epsilon;
  PetscInt  interval;
  int       basis;
} MuonLayer_SOAP;

#define ROW(kind, field, value, least, most, names, flags, help) \
  { \
    "soap_" #field, MUON_PARAMETER_##kind, offsetof(MuonLayer_SOAP, field), value, least, most, names, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | (flags), help \
  }

const MuonParameter MuonLayerParameters_SOAP[] = {ROW(REAL, beta1, 0.95, 0, 1, NULL, MUON_PARAMETER_BELOW, "Decay of the mean of gradients"),
                                                  ROW(REAL, beta2, MUON_EIGENBASIS_BETA, 0, 1, NULL, MUON_PARAMETER_BELOW, "Decay of the mean of squares and of the covariances"),
                                                  ROW(REAL, epsilon, 1e-8, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_ABOVE, "Added to the root of the mean of squares"),
                                                  ROW(INT, interval, MUON_EIGENBASIS_INTERVAL, 1, MUON_UNBOUNDED, NULL, 0, "Steps from one basis to the next"),
                                                  ROW(ENUM, basis, 0, 0, 0, MuonEigenbasisKinds, 0, "How a basis is computed from the one before"),
                                                  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscErrorCode MuonLayerSetUp_SOAP(MuonLayer layer)
{
  MuonSlots      kept   = layer->slots;
  const PetscInt blocks = MuonBlocksCount_Private(&layer->blocks);
  MuonBlock      block;

  PetscFunctionBegin;
  PetscCall(MuonSlotsReset(layer));
  for (PetscInt b = 0; b < blocks; b++) {
    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    MuonLayerCheck(layer, block.m > 1 && block.n > 1, PETSC_ERR_SUP, "type soap: it is a vector, or has blocks that are, of %" PetscInt_FMT " x %" PetscInt_FMT " entries; expected adamw, or a matrix", block.m, block.n);
  }
  kept->nstates = STATES * blocks;
  PetscCall(PetscCalloc1(kept->nstates, &kept->state));
  for (PetscInt n = 0; n < kept->nstates; n++) {
    kept->state[n].kind = n % STATES > SQUARE || blocks > 1 ? MUON_SLOT_ALIKE : MUON_SLOT_ENTRYWISE;
    PetscCall(PetscSNPrintf(kept->state[n].name, sizeof(kept->state[n].name), blocks > 1 ? "soap.%s[%" PetscInt_FMT "]" : "soap.%s", Names[n % STATES], n / STATES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = A in the bases of both sides, or back from them */
static PetscErrorCode MuonLayerTurn_SOAP(MuonLayer layer, const MuonArray *A, const MuonArray *rows, const MuonArray *columns, PetscBool back, const MuonArray *B)
{
  MuonMatrix matrix = MuonMatrixOfArray(A);
  MuonMark   mark;
  MuonArray  half;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  PetscCall(MuonWorkspaceGetArray(layer->work, A, A->precision, &half));
  PetscCall(MuonEigenbasisTurn(layer, PETSC_TRUE, &matrix, rows, back, &half));
  matrix.here = half;
  PetscCall(MuonEigenbasisTurn(layer, PETSC_FALSE, &matrix, columns, back, B));
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The moments from the bases of this step to those of the next one */
static PetscErrorCode MuonLayerRebase_SOAP(MuonLayer layer, MuonSlotState state[], PetscInt *const order[2])
{
  const MuonSlotState *rows = &state[ROWS + MUON_EIGENBASIS_VECTORS], *columns = &state[COLUMNS + MUON_EIGENBASIS_VECTORS];
  MuonMatrix           square = MuonMatrixOfArray(&state[SQUARE].next);
  MuonArray            mean;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetArray(layer->work, &state[MEAN].next, state[MEAN].next.precision, &mean));
  PetscCall(MuonLayerTurn_SOAP(layer, &state[MEAN].next, &rows->now, &columns->now, PETSC_TRUE, &mean));
  PetscCall(MuonLayerTurn_SOAP(layer, &mean, &rows->next, &columns->next, PETSC_FALSE, &state[MEAN].next));
  for (int side = 0; side < 2; side++) {
    if (order[side] != NULL) PetscCall(MuonEigenbasisSort(layer, side == 0 ? PETSC_TRUE : PETSC_FALSE, &square, order[side]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerStepBlock_SOAP(MuonLayer layer, MuonLayerStepInfo *info, MuonSlotState state[], const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  const MuonLayer_SOAP *soap = (const MuonLayer_SOAP *)layer->data;
  const MuonArray      *rows = &state[ROWS + MUON_EIGENBASIS_VECTORS].now, *columns = &state[COLUMNS + MUON_EIGENBASIS_VECTORS].now;
  const MuonMatrix      matrix  = MuonMatrixOfArray(G);
  const MuonArray       shape   = MuonArrayLike(G, G->precision, NULL);
  const double          beta[2] = {(double)soap->beta1, (double)soap->beta2};
  MuonEigenbasis        basis   = {PETSC_TRUE, beta[1], soap->interval, soap->basis};
  MuonArray             turned, scaled;
  PetscInt             *order[2];
  double                steps;

  PetscFunctionBegin;
  PetscCall(MuonSlotMakeState(1, &state[STEPS]));
  steps                             = *(double *)state[STEPS].now.data;
  *(double *)state[STEPS].next.data = steps + 1;
  PetscCall(MuonEigenbasisUpdate(layer, &basis, &matrix, steps, state + ROWS, &order[0], status));
  basis.rows = PETSC_FALSE;
  PetscCall(MuonEigenbasisUpdate(layer, &basis, &matrix, steps, state + COLUMNS, &order[1], status));
  if (steps == 0) { /* there is no basis yet */
    MuonArrayAxpby(1, X, 0, Xnew);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = MEAN; k <= SQUARE; k++) PetscCall(MuonSlotMakeArray(&shape, &state[k]));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &turned));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &scaled));
  PetscCall(MuonLayerTurn_SOAP(layer, G, rows, columns, PETSC_FALSE, &turned));
  if (!MuonArrayKernels(G)->AdamW(turned.len, turned.count, turned.data, turned.ld, beta[0], beta[1], (double)soap->epsilon, 0, 1 - pow(beta[0], steps), 1 - pow(beta[1], steps), -1, 0, state[MEAN].now.data, state[SQUARE].now.data, turned.data,
                                  turned.ld, state[MEAN].next.data, state[SQUARE].next.data, scaled.data, scaled.ld))
    *status = MUON_STATUS_NANORINF;
  PetscCall(MuonLayerTurn_SOAP(layer, &scaled, rows, columns, PETSC_TRUE, &turned));
  if (fmod(steps, (double)basis.interval) == 0) PetscCall(MuonLayerRebase_SOAP(layer, state, order));
  if (info->measure) info->squares += MuonLayerSumSquares(&turned);
  if (*status == MUON_STATUS_OK) *status = MuonLayerUpdate(info, X, -info->rate, &turned, Xnew);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerStep_SOAP(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  MuonSlotState *state = layer->slots->state;
  MuonArray      whole[3], part[3];
  MuonMark       mark;

  PetscFunctionBegin;
  PetscCall(MuonArrayOnHost(G, PETSC_TRUE, &whole[0]));
  PetscCall(MuonArrayOnHost(X, PETSC_TRUE, &whole[1]));
  PetscCall(MuonArrayOnHost(Xnew, PETSC_FALSE, &whole[2]));
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    for (int k = 0; k < 3; k++) PetscCall(MuonLayerGetBlockArray(layer, b, &whole[k], &part[k]));
    PetscCall(MuonLayerStepBlock_SOAP(layer, info, state + b * STATES, &part[0], &part[1], &part[2], status));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  PetscCall(MuonArrayOffHost(Xnew, PETSC_TRUE, &whole[2]));
  PetscCall(MuonArrayOffHost(X, PETSC_FALSE, &whole[1]));
  PetscCall(MuonArrayOffHost(G, PETSC_FALSE, &whole[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two covariances, two rotations each to the bases and back, and two bases in each interval */
static PetscErrorCode MuonLayerGetFlops_SOAP(MuonLayer layer, PetscLogDouble *flops)
{
  const PetscLogDouble interval = (PetscLogDouble)((MuonLayer_SOAP *)layer->data)->interval;
  MuonBlock            block;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    const PetscLogDouble m = (PetscLogDouble)block.m, n = (PetscLogDouble)block.n;

    *flops += 5 * m * n * (m + n) + 9 * (m * m * m + n * n * n) / interval;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERSOAP - Updates a matrix by Adam in the eigenbases of the covariances of both sides

  Options Database Keys:
+ -muon_layer_soap_beta1 beta1    - decay of the mean of gradients, 0.95 by default, of all layers
. -muon_layer_soap_beta2 beta2    - decay of the mean of squares and of the covariances, 0.95 by default
. -muon_layer_soap_epsilon eps    - added to the root of the mean of squares, 1e-8 by default
. -muon_layer_soap_interval steps - number of steps between two bases, 10 by default
. -muon_layer_soap_basis kind     - (eigen|qr) method that computes a new basis from the old one
- -muon_layer_NAME_soap_KEY value - sets one of these for the layer called NAME

  Level: intermediate

  Notes:
  With $L \leftarrow \beta_2 L + (1 - \beta_2) G G^T$ and $R \leftarrow \beta_2 R + (1 - \beta_2) G^T G$ from 0, and their eigenvectors $Q_L$ and $Q_R$, the gradient in these
  bases is $P = Q_L^T G Q_R$. $M \leftarrow \beta_1 M + (1 - \beta_1) P$, $V \leftarrow \beta_2 V + (1 - \beta_2) P^2$ entry by entry, and with the rate $t$ and
  the decay $d$ $X$ becomes $(1 - t d) X - t Q_L ((M / (1 - \beta_1^k)) / (\sqrt{V / (1 - \beta_2^k)} + \epsilon)) Q_R^T$.

  The first step only computes the first bases. It does not change the weights, not even by decay. Step $k + 1$ uses the powers $k$. New bases are
  computed at the end of the first step and then at the end of every `interval` steps. The columns of $Q$, and $V$ with them, are then sorted by the
  diagonal of $Q^T L Q$. The new basis is that of LAPACK's `syevd`. With qr it is $L Q$, orthonormalized. $M$ is transformed from the old basis to the
  new one.

  The learning rate and the weight decay are those of `-muon_adamw_learning_rate` and `-muon_adamw_weight_decay`. Scale and shape factor of the layer
  are not used. Blocks of a layer (`MuonLayerSetBlocks()`) have their own bases.

  The layer's owner keeps this state, in the precision of the optimizer's state, on the host. It has two matrices of the layer's shape, two of
  $m \times m$ and two of $n \times n$ numbers. A vector, and a matrix with rows on several ranks, are errors. Parameters take effect at the next step.

  The state is `soap.mean`, `soap.square`, `soap.rows.covariance`, `soap.rows.basis`, `soap.columns.covariance`, `soap.columns.basis` and `soap.steps`
  in `MuonGetLayerState()`. With blocks, `[b]` follows these names for block b.

  References:
. * - SOAP, https://arxiv.org/abs/2409.11321

.seealso: `MuonLayer`, `MuonLayerSetType()`, `MuonLayerType`, `MUONLAYERADAMW`, `MUONLAYERBEFORE`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate_SOAP(MuonLayer layer)
{
  MuonLayer_SOAP *soap;

  PetscFunctionBegin;
  PetscCall(PetscNew(&soap));
  layer->flops              = 16;
  layer->data               = soap;
  layer->parameters.variant = "adamw_";
  layer->onpairs            = PETSC_FALSE;
  layer->onrows             = PETSC_FALSE; /* both sides are turned */
  layer->ops->step          = MuonLayerStep_SOAP;
  layer->ops->setup         = MuonLayerSetUp_SOAP;
  layer->ops->commit        = MuonSlotsCommit;
  layer->ops->visitstate    = MuonSlotsVisitState;
  layer->ops->getflops      = MuonLayerGetFlops_SOAP;
  layer->ops->reset         = MuonSlotsReset;
  PetscFunctionReturn(PETSC_SUCCESS);
}
