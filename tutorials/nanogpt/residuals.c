#include "residuals.h"

struct _n_Residuals {
  PetscViewer viewer; /* NULL off rank 0 */
  PetscInt    nsteps, nlayers;
  PetscInt   *steps;
  MuonLayer  *layers;
  Mat        *Gj, *W; /* before the step that is under way, on rank 0; NULL where there is none */
  Mat        *g;      /* its gradient, where no momentum is kept that would tell afterwards what was sent */
  PetscInt64  left;   /* steps that NaN or Inf left out, before the step that is under way */
  PetscMPIInt rank;
};

static PetscErrorCode IsFrozen(MuonLayer layer, PetscBool *frozen)
{
  MuonLayerType type;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetType(layer, &type));
  PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, frozen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Wanted(Residuals r, PetscInt step)
{
  for (PetscInt s = 0; s < r->nsteps; s++) {
    if (r->steps[s] == step) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Steps that were left out; under another policy what the optimizer counts are entries */
static PetscErrorCode GetLeftOut(Muon muon, PetscInt64 *count)
{
  char      policy[16];
  PetscBool skip;

  PetscFunctionBeginUser;
  *count = 0;
  PetscCall(MuonGetParameter(muon, "muon_nan", policy, sizeof(policy)));
  PetscCall(PetscStrcmp(policy, "skip", &skip));
  if (skip) PetscCall(MuonGetNaNCount(muon, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualsCreate(const char file[], PetscInt nsteps, const PetscInt steps[], Muon muon, Residuals *residuals)
{
  Residuals   r;
  MuonType    type;
  PetscBool   ef21;
  PetscMPIInt failed = 0;
  FILE       *opened;

  PetscFunctionBeginUser;
  PetscCall(MuonGetType(muon, &type));
  PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
  PetscCheck(ef21 == PETSC_TRUE, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-nanogpt_residuals %s: an optimizer of type %s has no residuals, expected %s", file, type, MUONEF21);
  PetscCall(PetscNew(&r));
  r->nsteps = nsteps;
  PetscCall(MuonGetNumLayers(muon, &r->nlayers));
  PetscCall(PetscMalloc1(nsteps, &r->steps));
  PetscCall(PetscArraycpy(r->steps, steps, nsteps));
  PetscCall(PetscMalloc1(r->nlayers, &r->layers));
  for (PetscInt i = 0; i < r->nlayers; i++) PetscCall(MuonGetLayer(muon, i, &r->layers[i]));
  PetscCall(PetscCalloc3(r->nlayers, &r->Gj, r->nlayers, &r->W, r->nlayers, &r->g));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &r->rank));
  /*
     A viewer would open the file when it writes, after hours perhaps, and its error would be that of this
     process alone
  */
  if (r->rank == 0) {
    opened = fopen(file, "wb");
    if (opened == NULL || fclose(opened) != 0) failed = 1;
  }
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(failed == 0, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-nanogpt_residuals %s: the file cannot be opened for writing", file);
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
  PetscCall(GetLeftOut(muon, &r->left));
  if (Wanted(r, step) == PETSC_FALSE || r->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < r->nlayers; i++) {
    PetscInt  m, n;
    PetscBool frozen, kept;

    PetscCall(MatDestroy(&r->Gj[i]));
    PetscCall(MatDestroy(&r->W[i]));
    PetscCall(IsFrozen(r->layers[i], &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(MuonLayerGetSize(r->layers[i], &m, &n));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &r->W[i]));
    PetscCall(MuonLayerGetFullWeights(r->layers[i], r->W[i]));
    PetscCall(MatDuplicate(r->W[i], MAT_DO_NOT_COPY_VALUES, &r->Gj[i]));
    PetscCall(MuonGetLayerState(muon, r->layers[i], "estimate", r->Gj[i], &kept));
    if (kept == PETSC_FALSE) PetscCall(MatDestroy(&r->Gj[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyGradient(MuonLayer layer, Mat *copy)
{
  MuonLayerStorage storage;
  MuonLayerArray   gradient;
  Mat              G;
  PetscScalar     *g;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetStorage(layer, &storage));
  if (storage == MUON_LAYER_MAT) {
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(MatDuplicate(G, MAT_COPY_VALUES, copy));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* single precision, by columns without gaps */
  PetscCall(MuonLayerGetGradientArray(layer, &gradient));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, gradient.M, gradient.N, NULL, copy));
  PetscCall(MatDenseGetArrayWrite(*copy, &g));
  for (PetscInt e = 0; e < gradient.M * gradient.N; e++) g[e] = ((const float *)gradient.g)[e];
  PetscCall(MatDenseRestoreArrayWrite(*copy, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidualsGradient(Residuals r, Muon muon)
{
  char      dampening[32], style[16];
  PetscBool ema, none;
  PetscInt  step;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (Wanted(r, step) == PETSC_FALSE || r->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetParameter(muon, "muon_momentum_style", style, sizeof(style)));
  PetscCall(MuonGetParameter(muon, "muon_dampening", dampening, sizeof(dampening)));
  PetscCall(PetscStrcmp(style, "ema", &ema));
  PetscCall(PetscStrcmp(dampening, "0", &none));
  for (PetscInt i = 0; i < r->nlayers; i++) {
    PetscBool frozen, kept;

    PetscCall(MatDestroy(&r->g[i]));
    PetscCall(IsFrozen(r->layers[i], &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(MuonGetLayerState(muon, r->layers[i], "momentum", NULL, &kept));
    if (kept == PETSC_TRUE) continue;
    PetscCheck(ema || none, PETSC_COMM_SELF, PETSC_ERR_SUP, "-nanogpt_residuals: a gradient that is damped by -muon_dampening %s is not kept, expected 0 or a momentum", dampening);
    PetscCall(CopyGradient(r->layers[i], &r->g[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The server's weights of a layer, on rank 0: they come from the rank that serves it */
static PetscErrorCode GetServerWeights(Residuals r, MuonLayer layer, Mat *X)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           m, n;
  PetscInt64         entries;
  PetscMPIInt        owner, count;
  PetscBool          serves;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetOwner(layer, &owner));
  PetscCall(MuonLayerGetSize(layer, &m, &n));
  entries = (PetscInt64)m * n;
  PetscCheck(entries <= PETSC_MPI_INT_MAX, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_residuals: a layer of %" PetscInt_FMT " x %" PetscInt_FMT " is larger than a message of MPI", m, n);
  count = (PetscMPIInt)entries;
  if (owner < 0) owner = 0;
  if (r->rank == owner || r->rank == 0) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, X));
  if (r->rank == owner) {
    PetscCall(MuonLayerGetServerWeights(layer, *X, &serves));
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
  PetscInt64          left;

  PetscFunctionBeginUser;
  PetscCall(MuonGetConvergedReason(muon, &reason));
  if (Wanted(r, step) == PETSC_FALSE || reason < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetLeftOut(muon, &left));
  if (left != r->left) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %" PetscInt_FMT " was left out because of NaN or Inf: it has no residuals\n", step));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 0; i < r->nlayers; i++) {
    Mat       X = NULL, up;
    PetscBool frozen, kept;

    PetscCall(IsFrozen(r->layers[i], &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(GetServerWeights(r, r->layers[i], &X));
    if (r->rank > 0) continue;
    PetscCall(MatDuplicate(r->g[i] != NULL ? r->g[i] : r->W[i], MAT_COPY_VALUES, &up));
    PetscCall(MuonGetLayerState(muon, r->layers[i], "momentum", up, &kept));
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
    PetscCall(MatDestroy(&r->g[i]));
  }
  if (r->viewer != NULL) PetscCall(PetscViewerPopFormat(r->viewer));
  PetscCall(PetscViewerDestroy(&r->viewer));
  PetscCall(PetscFree3(r->Gj, r->W, r->g));
  PetscCall(PetscFree(r->layers));
  PetscCall(PetscFree(r->steps));
  PetscCall(PetscFree(r));
  *residuals = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
