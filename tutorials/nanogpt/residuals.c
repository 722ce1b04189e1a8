#include "residuals.h"

struct _n_Residuals {
  PetscViewer viewer; /* NULL off rank 0 */
  PetscInt    nsteps, nlayers;
  PetscInt   *steps;
  MuonLayer  *layers;
  Mat        *Gj, *W; /* before the step that is under way, on rank 0; NULL where there is none */
  PetscMPIInt rank;
};

static PetscErrorCode IsFrozen(MuonLayer layer, PetscBool *frozen)
{
  MuonLayerRule rule;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetRule(layer, &rule));
  PetscCall(PetscStrcmp(rule, MUONLAYERFROZEN, frozen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Wanted(Residuals r, PetscInt step)
{
  for (PetscInt s = 0; s < r->nsteps; s++) {
    if (r->steps[s] == step) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

PetscErrorCode ResidualsCreate(const char file[], PetscInt nsteps, const PetscInt steps[], PetscInt nlayers, const MuonLayer layers[], Residuals *residuals)
{
  Residuals r;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&r));
  r->nsteps  = nsteps;
  r->nlayers = nlayers;
  PetscCall(PetscMalloc1(nsteps, &r->steps));
  PetscCall(PetscArraycpy(r->steps, steps, nsteps));
  PetscCall(PetscMalloc1(nlayers, &r->layers));
  PetscCall(PetscArraycpy(r->layers, layers, nlayers));
  PetscCall(PetscCalloc2(nlayers, &r->Gj, nlayers, &r->W));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &r->rank));
  if (r->rank == 0) {
    PetscCall(PetscViewerCreate(PETSC_COMM_SELF, &r->viewer));
    PetscCall(PetscViewerSetType(r->viewer, PETSCVIEWERBINARY));
    PetscCall(PetscViewerBinarySetSkipInfo(r->viewer, PETSC_TRUE));
    PetscCall(PetscViewerFileSetMode(r->viewer, FILE_MODE_WRITE));
    PetscCall(PetscViewerFileSetName(r->viewer, file));
    /* Dense matrices as they are, not as sparse ones without zeros */
    PetscCall(PetscViewerPushFormat(r->viewer, PETSC_VIEWER_NATIVE));
  }
  *residuals = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualsBefore(Residuals r, Muon muon)
{
  PetscInt step;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (Wanted(r, step) == PETSC_FALSE || r->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < r->nlayers; i++) {
    Mat       W, Gj;
    PetscBool frozen;

    PetscCall(MatDestroy(&r->Gj[i]));
    PetscCall(MatDestroy(&r->W[i]));
    PetscCall(IsFrozen(r->layers[i], &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(MuonEF21GetLayerState(muon, r->layers[i], NULL, &Gj, NULL));
    if (Gj != NULL) PetscCall(MatDuplicate(Gj, MAT_COPY_VALUES, &r->Gj[i]));
    PetscCall(MuonLayerGetWeights(r->layers[i], &W));
    PetscCall(MatDuplicate(W, MAT_COPY_VALUES, &r->W[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The server's weights of a layer, on rank 0: they come from the rank that serves it */
static PetscErrorCode GetServerWeights(Residuals r, MuonLayer layer, Mat *X)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           m, n, lda;
  PetscMPIInt        owner, count;
  Mat                W, theirs;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetOwner(layer, &owner));
  PetscCall(MuonLayerGetWeights(layer, &W));
  PetscCall(MatGetSize(W, &m, &n));
  PetscCall(PetscMPIIntCast(m * n, &count));
  if (owner < 0) owner = 0;
  if (r->rank == owner || r->rank == 0) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, X));
  if (r->rank == owner) {
    PetscCall(MuonLayerGetServerWeights(layer, &theirs));
    PetscCall(MatDenseGetLDA(theirs, &lda));
    PetscCall(MatDenseGetArrayRead(theirs, &from));
    PetscCall(MatDenseGetArrayWrite(*X, &to));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(to + (size_t)j * (size_t)m, from + (size_t)j * (size_t)lda, m));
    PetscCall(MatDenseRestoreArrayWrite(*X, &to));
    PetscCall(MatDenseRestoreArrayRead(theirs, &from));
    if (owner > 0) {
      PetscCall(MatDenseGetArrayRead(*X, &from));
      PetscCallMPI(MPI_Send(from, count, MPIU_SCALAR, 0, 0, PETSC_COMM_WORLD));
      PetscCall(MatDenseRestoreArrayRead(*X, &from));
      PetscCall(MatDestroy(X));
    }
  } else if (r->rank == 0) {
    PetscCall(MatDenseGetArrayWrite(*X, &to));
    PetscCallMPI(MPI_Recv(to, count, MPIU_SCALAR, owner, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    PetscCall(MatDenseRestoreArrayWrite(*X, &to));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualsAfter(Residuals r, Muon muon, PetscInt step)
{
  MuonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MuonGetConvergedReason(muon, &reason));
  if (Wanted(r, step) == PETSC_FALSE || reason < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < r->nlayers; i++) {
    Mat       M, X = NULL, up;
    PetscBool frozen;

    PetscCall(IsFrozen(r->layers[i], &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(GetServerWeights(r, r->layers[i], &X));
    if (r->rank > 0) continue;
    /* A momentum of weight 0 is not stored: it is the gradient */
    PetscCall(MuonEF21GetLayerState(muon, r->layers[i], &M, NULL, NULL));
    if (M == NULL) PetscCall(MuonLayerGetGradient(r->layers[i], &M));
    PetscCall(MatDuplicate(M, MAT_COPY_VALUES, &up));
    if (r->Gj[i] != NULL) PetscCall(MatAXPY(up, -1, r->Gj[i], SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(X, -1, r->W[i], SAME_NONZERO_PATTERN));
    PetscCall(MatView(up, r->viewer));
    PetscCall(MatView(X, r->viewer));
    PetscCall(MatDestroy(&up));
    PetscCall(MatDestroy(&X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualsDestroy(Residuals *residuals)
{
  Residuals r = *residuals;

  PetscFunctionBeginUser;
  if (r == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < r->nlayers; i++) {
    PetscCall(MatDestroy(&r->Gj[i]));
    PetscCall(MatDestroy(&r->W[i]));
  }
  if (r->viewer != NULL) PetscCall(PetscViewerPopFormat(r->viewer));
  PetscCall(PetscViewerDestroy(&r->viewer));
  PetscCall(PetscFree2(r->Gj, r->W));
  PetscCall(PetscFree(r->layers));
  PetscCall(PetscFree(r->steps));
  PetscCall(PetscFree(r));
  *residuals = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
