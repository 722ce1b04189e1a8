#include "muonstep.h" /*I "petscmuon.h" I*/
#include <math.h>

/*
   Clips gradients whose norm, of all layers together, is above a bound: the mean gradient if the momentum is at the server,
   otherwise each worker's. Norms are added by hypot(), which does not overflow or underflow.
*/

static double MuonClipNorm_Private(const MuonArray *G)
{
  int          exponent;
  const double norm = MuonArrayKernels(G)->Norm(G->len, G->count, G->data, G->ld, &exponent);

  return ldexp(norm, exponent);
}

/* A norm that is not finite clips nothing: the error is found in the gradient itself */
static void MuonClipSetFactor_Private(Muon muon, double norm)
{
  muon->clipfactor = norm > (double)muon->clip && norm <= PETSC_MAX_REAL ? (double)muon->clip / norm : 1;
}

PetscErrorCode MuonClipSetUp_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCheck(muon->clip == 0 || muon->ngrids == 1 || muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_clip %g: layers are of workers of several sizes, which have no gradient in common; expected 0, or -%smuon_momentum_at server", MuonPrefix(muon), (double)muon->clip, MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonClipWorker_Private(Muon muon)
{
  double norm = 0, *all;

  PetscFunctionBegin;
  muon->clipfactor = 1;
  if (muon->clip == 0 || muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];
    MuonArray        whole, G, mended;
    PetscBool        ours;
    double           one;

    if (MuonClipsLayer_Private(muon, shard->layer) == PETSC_FALSE || MuonGroupSkips(shard->group)) continue;
    PetscCall(MuonLayerGetGradientMemory(shard->layer, &whole, &ours));
    G = MuonShardGradient(shard, &whole);
    if (G.data != NULL) {
      one = MuonClipNorm_Private(&G);
      if (muon->nan == MUON_NAN_ZERO && !(one <= PETSC_MAX_REAL)) {
        MuonMark mark;

        PetscCall(MuonWorkspaceMark(muon->work, &mark));
        PetscCall(MuonWorkspaceGetArray(muon->work, &G, G.precision, &mended));
        MuonArrayAxpby(1, &G, 0, &mended);
        (void)MuonArrayKernels(&mended)->MomentumReplace(mended.len, mended.count, 0, NULL, 1, mended.data, mended.ld);
        one = MuonClipNorm_Private(&mended);
        PetscCall(MuonWorkspaceRelease(muon->work, &mark));
      }
      norm = hypot(norm, one);
    }
    PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &whole));
  }
  if (muon->grid[0]->size > 1) { /* the ranks of a worker have rows of its gradient */
    PetscCall(PetscMalloc1(muon->grid[0]->size, &all));
    PetscCallMPI(MPI_Allgather(&norm, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, muon->grid[0]->inside));
    muon->bytes[0] += sizeof(norm);
    norm = 0;
    for (PetscMPIInt r = 0; r < muon->grid[0]->size; r++) norm = hypot(norm, all[r]);
    PetscCall(PetscFree(all));
  }
  MuonClipSetFactor_Private(muon, norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All servers take part, with or without layers that are clipped: MuonSetClip() is refused after MuonSetUp()
   where it would change that
*/
PetscErrorCode MuonClipServers_Private(Muon muon, MuonStatus *status)
{
  double norm = 0, *all;

  PetscFunctionBegin;
  if (muon->clip == 0 || muon->momentum_at != (int)MUON_MOMENTUM_AT_SERVER) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard        *shard    = &muon->shard[p];
    const MuonArray   state    = MuonShardStateShape(shard);
    const PetscMPIInt nworkers = shard->group->exchange->nworkers;

    if (MuonShardOwns(shard) == PETSC_FALSE || MuonGroupRests(shard->group) || MuonClipsLayer_Private(muon, shard->layer) == PETSC_FALSE) continue;
    if (shard->sum.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &shard->sum));
    PetscCall(MuonServerSum_Private(shard, &shard->sum, status));
    if (MuonShardCounts(shard)) norm = hypot(norm, MuonClipNorm_Private(&shard->sum) / nworkers);
  }
  PetscCall(PetscMalloc1(muon->size, &all));
  PetscCall(MuonExchangeGatherRecords(muon->exchange, 1, &norm, all));
  norm = 0;
  for (PetscMPIInt r = 0; r < muon->size; r++) norm = hypot(norm, all[r]);
  PetscCall(PetscFree(all));
  MuonClipSetFactor_Private(muon, norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}
