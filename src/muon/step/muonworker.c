#include "muonstep.h"

/*
   The worker's half of a step: gradient -> momentum -> message or sum.
*/

/* Z = beta M + gradient_weight G, for any precision of G; without data M and G are zero */
PetscErrorCode MuonMixMomentum_Private(double beta, const MuonArray *M, double gradient_weight, const MuonArray *G, const MuonArray *Z, int *finite)
{
  const MuonKernels *kernels = MuonArrayKernels(Z);

  PetscFunctionBegin;
  *finite = 1;
  if (M->data == NULL) beta = 0;
  if (G->data != NULL) *finite = (G->precision == Z->precision ? kernels->Momentum : kernels->MomentumOther)(Z->len, Z->count, beta, M->data, M->ld, gradient_weight, G->data, G->ld, Z->data, Z->ld);
  else if (beta == 0) PetscCall(MuonArrayZero(Z));
  else MuonArrayAxpby(beta, M, 0, Z);
  PetscCall(PetscLogFlops((beta != 0 ? 3.0 : 1.0) * (PetscLogDouble)MuonArrayEntries(Z)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes A + decay W, for coupled decay */
PetscErrorCode MuonAddWeights_Private(const MuonShard *shard, double decay, const MuonArray *A)
{
  MuonArray whole, W;

  PetscFunctionBegin;
  if (decay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  MuonArrayAxpby(decay, &W, 1, A);
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Worker: the step sends T of the next round. A new momentum replaces the gradient in the layer's own memory. If the gradient is
   in the caller's memory, or has another precision, the momentum goes to Mnew. Without a momentum T is the gradient itself; the
   compressor or the server, which reads it next, checks whether it is finite
*/
PetscErrorCode MuonWorkerMomentum_Private(Muon muon, MuonShard *shard, MuonRecord *record, MuonStatus *status)
{
  const PetscBool at_worker = muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER ? PETSC_TRUE : PETSC_FALSE;
  MuonLayer       layer     = shard->layer;
  MuonRound      *round     = MuonShardNext(shard);
  const MuonArray state     = MuonShardStateShape(shard);
  MuonArray       G, M;
  PetscBool       ours, usable;
  double          beta, weight, decay;
  int             finite;
  MuonMark        mark;

  PetscFunctionBegin;
  if (shard->port->begun) PetscFunctionReturn(PETSC_SUCCESS);
  if (shard->port->mean.data != NULL) {
    ours = PETSC_FALSE;
    G    = shard->port->mean;
  } else {
    PetscCall(MuonLayerGetGradientMemory(layer, &round->gradient, &ours));
    G = MuonShardPart(shard, &round->gradient);
  }
  M      = shard->M;
  beta   = at_worker ? round->info.beta : 0;
  weight = at_worker ? round->info.gradient_weight * (MuonClipsLayer_Private(muon, layer) ? muon->clipfactor : 1) : 1;
  decay  = at_worker ? round->info.gradient_weight * MuonCoupledDecay_Private(muon, layer) : 0;
  /* Entries that are replaced are those that are not finite in the precision of the state */
  usable   = G.precision == state.precision && (G.ld == G.len || shard->group->up->sums == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  usable   = G.data != NULL && (usable || (at_worker == PETSC_FALSE && muon->nan != MUON_NAN_ZERO && MuonShardIsDirect(shard))) ? PETSC_TRUE : PETSC_FALSE;
  usable   = usable && shard->group->depth == 1 ? PETSC_TRUE : PETSC_FALSE; /* the program writes the next gradient while T is on its way */
  round->T = G;
  if (at_worker == PETSC_FALSE) M.data = NULL;
  if (usable && M.data == NULL && weight == 1 && decay == 0 && (muon->nan != MUON_NAN_ZERO || MuonArrayIsFinite(&G))) PetscFunctionReturn(PETSC_SUCCESS);
  if (usable == PETSC_FALSE || ours == PETSC_FALSE) {
    if (round->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &round->Tnew));
    round->T = round->Tnew;
  }
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  if (M.data != NULL && MuonArrayIsPacked(&M)) {
    PetscCall(MuonWorkspaceGetArray(muon->work, &state, state.precision, &M));
    MuonPackedGet(&shard->M, 0, 0, &M);
  }
  PetscCall(MuonMixMomentum_Private(beta, &M, weight, &G, &round->T, &finite));
  if (finite == 0) {
    PetscCall(PetscInfo(muon, "Layer \"%s\": the gradient of rank %d has NaN or Inf in step %" PetscInt_FMT "\n", shard->name, muon->rank, muon->step));
    if (muon->nan == MUON_NAN_ZERO) record->nans += (double)MuonArrayKernels(&round->T)->MomentumReplace(round->T.len, round->T.count, M.data != NULL ? beta : 0, M.data, M.ld, round->T.data, round->T.ld);
    else MuonStatusMerge(MUON_STATUS_NANORINF, status);
  }
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(MuonAddWeights_Private(shard, decay, &round->T));
  if (M.data == NULL || layer->state.kept <= MUON_DOUBLE) PetscFunctionReturn(PETSC_SUCCESS);
  finite = MuonArrayKernels(&round->T)->IsBelow(round->T.len, round->T.count, round->T.data, round->T.ld, MUON_BF16_MAX);
  if (finite == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status); /* the commit, which rounds it, cannot fail */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkerBeginSum_Private(Muon muon, MuonShard *shard)
{
  const MuonArray state = MuonShardStateShape(shard);
  MuonArray       G, M;
  PetscBool       ours;
  int             finite; /* the sum is checked by the rank that computes it */

  PetscFunctionBegin;
  if (muon->nan == MUON_NAN_ZERO) PetscFunctionReturn(PETSC_SUCCESS); /* entries that are not finite are replaced before it is sent */
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &G, &ours));
  M               = MuonArrayLike(&state, state.precision, NULL);
  shard->round->T = G;
  if (G.data == NULL || G.precision != state.precision || G.ld != G.len) {
    if (shard->round->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &shard->round->Tnew));
    shard->round->T = shard->round->Tnew;
    PetscCall(MuonMixMomentum_Private(0, &M, 1, &G, &shard->round->T, &finite));
  }
  PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &G));
  PetscCall(MuonShardReduceBegin_Private(shard, &shard->round->T, &shard->sum));
  shard->port->begun = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
