#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarkernels.h"

/*
   In the memory of a device, whose library decomposes tall matrices: a wide one is transposed by a
   product with the identity, which changes no bit. Division by the Frobenius norm keeps squares in range.
   Only singular values come to the host
*/
static PetscErrorCode MuonPolarExactDevice_Private(MuonPolar polar, MuonPolarTask *task)
{
  const MuonKernelReal *real    = MuonKernelRealOfDevice(MUON_PETSCSCALAR == MUON_SINGLE ? "single" : "double");
  const MuonKernels    *kernels = real->arrays;
  const double          eps     = 2.0 * PetscMax(real->unit, MuonArrayKernels(&task->G.here)->unit);
  MuonPolarPanel        p;
  PetscReal            *sigma;
  void                 *X, *S, *U, *V;
  size_t                s, l, rank = 0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelLoad(polar, real, 1, &task, &p));
  s = p.s;
  l = p.l;
  PetscCall(MuonWorkspaceGet(polar->work, s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * s * real->size, &V));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * real->size, &S));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, l * s * real->size, &U));
  X = p.Y;
  if (p.left) {
    PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, l * s * real->size, &X));
    real->identity(s, 1.0, V);
    kernels->Multiply(1, 0, l, s, s, 1.0, p.Y, s, V, s, 0.0, X, l);
  }
  if (real->decompose(l, s, X, S, U, V) != 0) {
    task->status = MUON_STATUS_LMO;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MuonDeviceGet()->copy(s * real->size, S, sigma);
  while (rank < s && sigma[rank] > l * eps * sigma[0]) rank++;
  if (p.left) kernels->Multiply(0, 1, s, l, rank, 1.0, V, s, U, l, 0.0, p.Y, s);
  else kernels->Multiply(0, 1, l, s, rank, 1.0, U, l, V, s, 0.0, p.Y, l);
  PetscCall(MuonPolarPanelStore(&p, 0, 1.0, &task->Q));
  PetscCall(PetscLogFlops(22.0 * s * s * s + 2.0 * l * s * rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in the memory of the devices of many ranks come to the host */
PetscErrorCode MuonPolarExact_Private(MuonPolar polar, PetscInt n, MuonPolarTask *const tasks[])
{
  MuonPolarTask *task = tasks[0], host = *task;
  const size_t   s = (size_t)PetscMin(task->G.rows, task->G.columns);
  PetscReal     *sigma;
  PetscReal     *U, *V;
  PetscInt       rank;

  PetscFunctionBegin;
  if (task->G.here.memory == MUON_DEVICE && task->G.size == 1) {
    PetscCall(MuonPolarExactDevice_Private(polar, task));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (polar->svd == NULL) PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &polar->svd));
  PetscCall(MuonWorkspaceGet(polar->work, s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGet(polar->work, (MuonArrayRows(&task->G.here) << task->G.here.pairs) * s * sizeof(PetscReal), &U));
  PetscCall(MuonWorkspaceGet(polar->work, ((size_t)task->G.columns << task->G.here.pairs) * s * sizeof(PetscReal), &V));
  PetscCall(MuonArrayOnHost(&task->G.here, PETSC_TRUE, &host.G.here));
  PetscCall(MuonArrayOnHost(&task->Q.here, PETSC_FALSE, &host.Q.here));
  PetscCall(MuonSVDSetWorkspace(polar->svd, polar->work));
  PetscCall(MuonSVDCompute(polar->svd, &host.G, (PetscInt)s, sigma, U, V, &rank, &task->status));
  if (task->status == MUON_STATUS_OK) PetscCall(MuonSVDMultiply(polar->work, task->scale, rank, U, V, &host.Q.here));
  PetscCall(MuonArrayOffHost(&task->Q.here, task->status == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE, &host.Q.here));
  PetscCall(MuonArrayOffHost(&task->G.here, PETSC_FALSE, &host.G.here));
  PetscFunctionReturn(PETSC_SUCCESS);
}
