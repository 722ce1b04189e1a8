#include "../../muonslot.h" /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <math.h>

/*
   Keeps the Frobenius norm of the weights: W+ = R N(W + rate R N(D)), N(x) = x / ||x||. With a = rate R / ||D|| that is
   keep (W + a D), keep = R / ||W + a D||, of which three sums say all.
*/
typedef struct {
  PetscBool on;
} Hyperball;

static const MuonParameter Rows[] = {
  {"hyperball", MUON_PARAMETER_BOOL, offsetof(Hyperball, on), 0, 0, 0, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED | MUON_PARAMETER_FIXED | MUON_PARAMETER_HIDDEN, "Whether the weights keep the Frobenius norm that they began with"},
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscBool Chosen(const void *data)
{
  return ((const Hyperball *)data)->on;
}

static PetscErrorCode SetUp(MuonLayer layer, void *data, PetscInt *nstates, MuonSlotKind kind[2])
{
  PetscFunctionBegin;
  *nstates = 1;
  kind[0]  = MUON_SLOT_ALIKE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(MuonLayer layer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *step, const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const MuonKernels *kernels = MuonArrayKernels(B);
  MuonArray          D       = A->here;
  double             sum[3], R, a, after;

  PetscFunctionBegin;
  step->held = PETSC_TRUE;
  step->keep = 1;
  step->by   = 0;
  PetscCall(MuonSlotMakeState(1, state));
  if (D.precision != B->precision) {
    PetscCall(MuonWorkspaceGetArray(layer->work, B, B->precision, &D));
    MuonArrayAxpby(1, &A->here, 0, &D);
  }
  sum[0] = MuonLayerSumSquares(B);
  sum[1] = MuonLayerSumSquares(&D);
  sum[2] = kernels->Dot(B->len, B->count, B->data, B->ld, D.data, D.ld);
  PetscCall(PetscLogFlops(6.0 * (PetscLogDouble)MuonArrayEntries(B)));
  PetscCall(MuonLMOSum(layer->lmo, A, 3, sum));
  R = *(double *)state->now.data;
  if (R == 0) R = sqrt(sum[0]);
  *(double *)state->next.data = R;
  if (sum[1] == 0 && R > 0) PetscFunctionReturn(PETSC_SUCCESS); /* no direction: the weights stay */
  a     = info->rate * R / sqrt(sum[1]);
  after = sum[0] + 2 * a * sum[2] + a * a * sum[1];
  if (!(R > 0 && after > 0 && after < HUGE_VAL)) {
    *status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  step->keep = R / sqrt(after);
  step->by   = step->keep * a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Under compression the workers' weights are not where the server's are */
static PetscErrorCode View(MuonLayer layer, void *data, const MuonSlotState state[], PetscViewer viewer)
{
  MuonArray whole, W;

  PetscFunctionBegin;
  if (state == NULL || state[0].now.data == NULL) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "hyperball: the weights keep the Frobenius norm of the first step\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (MuonLayerRows(layer) < layer->M) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "hyperball: radius %g\n", *(double *)state[0].now.data));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    const double R = *(double *)state[b].now.data;

    PetscCall(MuonLayerGetBlockArray(layer, b, &whole, &W));
    PetscCall(PetscViewerASCIIPrintf(viewer, "hyperball: radius %g, the norm of the weights is off by %g\n", R, fabs(sqrt(MuonLayerSumSquares(&W)) - R)));
  }
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERHYPERBALL - Keeps the Frobenius norm of the weights of a layer, in place of weight decay

  Options Database Keys:
+ -muon_layer_hyperball      - keeps the norm of all layers with an LMO
- -muon_layer_NAME_hyperball - keeps the norm of the layer called NAME

  Level: intermediate

  Notes:
  With $N(x) = x / \|x\|_F$, $D$ the point of the norm ball and $\eta$ the learning rate times the schedule,
  $W^+ = R\,N(W + \eta R\,N(D))$. $R$ is the norm of the weights before the first step, kept as one number for each block. The rate is an angle\: a
  direction at a right angle to the weights rotates them by $\arctan \eta$. Scale and shape factor are not used.

  Weight decay together with it is an error, because both set the rate of rotation. Zero weights, which have no direction, step sizes by
  theorems, and `-ef21_downlink step` are errors, too. If the rows of a layer are distributed, three numbers are summed over the ranks.

  The owner's weights are on the sphere. With compressed messages down those of the workers are not\: `-muon_view` prints the error of
  their norm.

  A run with the decay $\lambda$ at the rate $\eta$ rotates its weights by about $\sqrt{2 \eta \lambda}$ a step. Start with this value.

  The state is `hyperball.kept[b]` of block b in `MuonGetLayerState()`.

  References:
. * - Hyperball, https://arxiv.org/abs/2606.16899

.seealso: `MuonLayer`, `MUONLAYERLMO`, `MuonWeightDecayStyle`, `MuonSetWeightDecay()`
M*/
const MuonSlotOps MuonSlotHyperball = {"hyperball", MUON_SLOT_MOVE, Rows, sizeof(Hyperball), Chosen, SetUp, Apply, View, NULL};
