#include "signvotes.h"
#include "../../../kernels/codec/muonkernels.h"

/*
   The operations of a group that votes.
*/

/* Items are known by what is in the whole row, and by where in it they begin */
static PetscErrorCode MuonVotesSetItems_Private(MuonGroup group)
{
  MuonVotes         votes  = MuonVotesOf(group);
  size_t            length = 6, one, *up, *down;
  char             *text, name[64];
  MuonExchangeItem *item;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCutEntries(group->exchange, group->nshards, votes->start, &votes->nitems, &votes->cut));
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(PetscStrlen(group->shard[k].name, &one));
    length += one + 1;
  }
  length += sizeof(name);
  PetscCall(PetscMalloc1(length, &text));
  PetscCall(PetscStrncpy(text, "votes", length));
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(PetscStrlcat(text, "@", length));
    PetscCall(PetscStrlcat(text, group->shard[k].name, length));
  }
  PetscCall(PetscStrlen(text, &one));
  PetscCall(PetscMalloc1(votes->nitems, &votes->hash));
  PetscCall(PetscMalloc3(votes->nitems, &item, votes->nitems, &up, votes->nitems, &down));
  for (PetscInt i = 0; i < votes->nitems; i++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "[%" PetscInt64_FMT "]", votes->cut[i]));
    PetscCall(PetscStrncpy(text + one, name, length - one));
    PetscCall(MuonNameHash_Private(text, &votes->hash[i]));
    PetscCall(PetscSNPrintf(name, sizeof(name), "votes %" PetscInt_FMT " from [%" PetscInt64_FMT "]", i, votes->cut[i]));
    PetscCall(PetscStrallocpy(name, (char **)&item[i].name));
    item[i].rows    = (PetscInt)(votes->cut[i + 1] - votes->cut[i]);
    item[i].columns = 1;
    item[i].cost = item[i].bytes = (PetscLogDouble)(votes->cut[i + 1] - votes->cut[i]) / 8;
    up[i]                        = MuonVotesMessageBytes(votes, i, 1);
    down[i]                      = MuonVotesMessageBytes(votes, i, votes->planes);
  }
  PetscCall(MuonExchangeSetItems(group->exchange, votes->nitems, item));
  PetscCall(MuonExchangeSetUp(group->exchange));
  PetscCall(MuonExchangeSetMaxBytes(group->exchange, up, down));
  for (PetscInt i = 0; i < votes->nitems; i++) PetscCall(PetscFree(item[i].name));
  PetscCall(PetscFree3(item, up, down));
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreate_Votes(Muon muon, MuonGroup group)
{
  MuonVotes votes;

  PetscFunctionBegin;
  PetscCall(PetscNew(&votes));
  group->data = votes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesSetRule(MuonGroup group, const MuonVotesRule *rule)
{
  PetscFunctionBegin;
  MuonVotesOf(group)->rule = *rule;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool MuonIsRowwise_Votes(const MuonGroup group)
{
  const MuonVotesRule *rule = &MuonVotesOf(group)->rule;

  return rule->direction == NULL && rule->whole == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonSend_Votes(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  MuonVotesToss_Private(muon, group);
  if (group->server != NULL && MuonVotesOf(group)->rule.direction != NULL) PetscCall(MuonVoteAssembled_Private(muon, group, status));
  else PetscCall(MuonVotesFillAll_Private(muon, group, status));
  if (MuonVotesAlone(group) == PETSC_FALSE) PetscCall(MuonVotesUp_Private(muon, group, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMove_Votes(Muon muon, MuonShard *shard, const MuonLayerStepInfo *info, const MuonArray *W)
{
  PetscFunctionBegin;
  if (shard->Xnew.data != NULL) MuonArrayAxpby(1, &shard->Xnew, 0, W);
  else {
    for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
      const MuonVotesBlock *one  = MuonVotesBlockOf(shard, b);
      const MuonArray       part = MuonVotesPart(one, W);

      PetscCall(MuonVotesMove_Private(muon, MuonVotesOf(shard->group), one, 1 - info->rate * info->decay, &part, one->scale, &part));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonUpOps   MuonUpVotes   = {PETSC_FALSE, PETSC_FALSE, MuonSend_Votes, NULL};
static const MuonDownOps MuonDownVotes = {PETSC_FALSE, PETSC_FALSE, MuonTell_Replicas, MuonMove_Votes};

static PetscErrorCode MuonSetUp_Votes(Muon muon, MuonGroup group)
{
  MuonVotes        votes = MuonVotesOf(group);
  size_t           tossed;
  MuonExchangeMode mode;

  PetscFunctionBegin;
  PetscCall(MuonVotesLayOut_Private(muon, group));
  votes->workers = group->exchange->nworkers;
  votes->planes  = votes->rule.tie == MUON_SIGN_TIE_ZERO && votes->workers % 2 == 0 ? 2 : 1;
  tossed         = votes->rule.tie == MUON_SIGN_TIE_RANDOM && votes->workers % 2 == 0 ? 1 : 0;
  PetscCall(MuonVotesSetItems_Private(group));
  PetscCall(MuonExchangeResolveMode(group->exchange, PETSC_TRUE, NULL, &mode));
  if (MuonVotesAlone(group)) PetscCall(MuonParametersPut((PetscObject)group->exchange, "mode", MUON_EXCHANGE_MODE_GATHER)); /* of its own votes, which are there */
  mode = group->exchange->mode;
  PetscCheck(group->depth == 1 || mode != MUON_EXCHANGE_MODE_REDUCE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_exchange_mode reduce: its tree of votes waits at each rank on the way, which -%smuon_delay 1 does not; expected gather or allreduce", MuonPrefix(muon), MuonPrefix(muon));
  if (mode == MUON_EXCHANGE_MODE_ALLREDUCE) {
    PetscCheck(votes->workers <= 32767, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_exchange_mode allreduce sums the votes of at most 32767 workers, got %d; gather has no limit", MuonPrefix(muon), votes->workers);
    votes->size = votes->workers > 127 ? 2 : 1;
    votes->room = votes->bits * votes->size;
  } else if (mode == MUON_EXCHANGE_MODE_REDUCE) votes->room = MuonKernelVotePlanes((size_t)votes->workers + tossed) * votes->bytes;
  PetscCall(PetscCalloc7(votes->bytes, &votes->own, tossed * votes->bytes, &votes->coin, votes->bytes, &votes->majority[0], (votes->planes - 1) * votes->bytes, &votes->majority[1], votes->room, &votes->counts[0], votes->room, &votes->counts[1],
                         (size_t)votes->workers + tossed, &votes->plane));
  if (tossed == 0) votes->coin = NULL;
  group->up   = &MuonUpVotes;
  group->down = &MuonDownVotes; /* every rank makes new weights of the majority */
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    if (votes->rule.steps && MuonPortServes(shard->port)) {
      const MuonArray part = MuonShardWeightsShape(shard);

      PetscCall(MuonArrayCreate(&part, part.precision, &shard->Xnew));
    }
    /* There are no other weights than the workers' */
    shard->layer->driver->server = &shard->X;
  }
  PetscCall(MuonGroupSetUpAssembly_Private(muon, group, NULL, votes->rule.whole)); /* each worker has a vote of its own, and all have the same majority */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_Votes(MuonGroup group)
{
  MuonVotes votes = MuonVotesOf(group);

  PetscFunctionBegin;
  PetscCall(PetscFree(votes->start));
  PetscCall(PetscFree2(votes->first, votes->block));
  PetscCall(PetscFree7(votes->own, votes->coin, votes->majority[0], votes->majority[1], votes->counts[0], votes->counts[1], votes->plane));
  PetscCall(PetscFree(votes->cut));
  PetscCall(PetscFree(votes->hash));
  PetscCall(PetscFree(group->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonGetMemory_Votes(MuonGroup group, PetscLogDouble *bytes)
{
  const MuonVotes votes = MuonVotesOf(group);

  PetscFunctionBegin;
  *bytes = (1.0 + votes->planes + (votes->coin != NULL)) * (PetscLogDouble)votes->bytes + 2.0 * (PetscLogDouble)votes->room;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheck_Votes(Muon muon, MuonGroup group)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];

    PetscCheck(muon->weight_decay_style != MUON_WEIGHT_DECAY_CAUTIOUS || shard->Xnew.data != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "-%smuon_weight_decay_style cautious: layer \"%s\" is moved by the signs of a vote as they come, expected decoupled or coupled", MuonPrefix(muon), ((PetscObject)shard->layer)->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonServers_Votes(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  PetscFunctionBegin;
  if (group->exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE) PetscCall(MuonExchangeReduceEnd(group->exchange));
  PetscCall(MuonVotesDown_Private(muon, group, record, status));
  if (group->server != NULL && MuonVotesOf(group)->rule.whole) PetscCall(MuonMajorityAssembled_Private(muon, group, status));
  for (PetscInt k = 0; k < group->nshards && *status == MUON_STATUS_OK; k++) {
    if (group->server == NULL || group->shard[k].Xnew.data == NULL) PetscCall(MuonVotesPrepare_Private(muon, &group->shard[k], status));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonGroupOps MuonGroupVotes = {"votes", MuonCreate_Votes, MuonSetUp_Votes, MuonCheck_Votes, MuonIsRowwise_Votes, MuonServers_Votes, MuonGetMemory_Votes, MuonDestroy_Votes, "agreement"};
