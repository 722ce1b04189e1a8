#include <petscmuon/private/muonlayerimpl.h>
#include "../../../kernels/muonkernels.h"

static PetscErrorCode MuonLayerStep_SGD(MuonLayer layer, MuonLayerStepInfo *info, Mat G, Mat X, Mat Xnew, MuonStatus *status)
{
  const size_t       m = (size_t)layer->m, n = (size_t)layer->n;
  const PetscScalar *g, *x;
  PetscScalar       *y;
  PetscInt           ldg, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Xnew, &ldy));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayWrite(Xnew, &y));
  MuonKernelAxpby(m, n, -info->rate * layer->scale, g, (size_t)ldg, 0, y, (size_t)ldy);
  MuonKernelAxpby(m, n, 1 - info->rate * layer->weight_decay, x, (size_t)ldx, 1, y, (size_t)ldy);
  *status = MuonKernelIsFinite(m, n, y, (size_t)ldy) != 0 ? MUON_STATUS_OK : MUON_STATUS_NANORINF;
  PetscCall(MatDenseRestoreArrayWrite(Xnew, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(PetscLogFlops(4.0 * (PetscLogDouble)m * (PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetFlops_SGD(MuonLayer layer, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 4.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERSGD - Moves a layer along its gradient: X becomes (1 - rate decay) X - rate scale G, without momentum

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_SGD(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->ops->step     = MuonLayerStep_SGD;
  layer->ops->getflops = MuonLayerGetFlops_SGD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
