#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <petscmuon/private/muonwire.h>

/*
   Messages know shards and blocks by the hashes of their names, which are sorted here: behind a hash stands
   its number in the order of the shards, each before its blocks, in as many bits as the largest needs
*/
static PetscErrorCode MuonCheckHashes_Private(Muon muon)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)muon);
  PetscInt64 *hash;
  PetscInt    count = 0, all = 0, bits = 0;
  PetscMPIInt finder       = muon->size;
  char        same[2][512] = {"", ""};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks);

    all += 1 + (blocks > 1 ? blocks : 0);
  }
  while (all >> bits > 0) bits++;
  PetscCheck(bits <= 31, comm, PETSC_ERR_SUP, "%" PetscInt_FMT " layers and blocks, expected less than 2^31", all);
  PetscCall(PetscMalloc1(all, &hash));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks);

    for (PetscInt b = -1; b < (blocks > 1 ? blocks : 0); b++) {
      char         name[512];
      unsigned int one;

      if (b < 0) PetscCall(PetscStrncpy(name, muon->shard[p].name, sizeof(name)));
      else PetscCall(MuonBlockName_Private(muon->shard[p].name, b, sizeof(name), name));
      PetscCall(MuonNameHash_Private(name, &one));
      hash[count] = (PetscInt64)one << bits | count;
      count++;
    }
  }
  PetscCall(PetscSortInt64(all, hash));
  for (PetscInt k = 1; k < all && finder == muon->size; k++) {
    PetscInt first = 0;

    if (hash[k - 1] >> bits != hash[k] >> bits) continue;
    finder = muon->rank;
    for (PetscInt p = 0; p < muon->nshards; p++) {
      const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks), behind = first + 1 + (blocks > 1 ? blocks : 0);

      for (PetscInt j = 0; j < 2; j++) {
        const PetscInt number = (PetscInt)(hash[k - 1 + j] & (((PetscInt64)1 << bits) - 1));

        if (number == first) PetscCall(PetscStrncpy(same[j], muon->shard[p].name, sizeof(same[j])));
        else if (number > first && number < behind) PetscCall(MuonBlockName_Private(muon->shard[p].name, number - first - 1, sizeof(same[j]), same[j]));
      }
      first = behind;
    }
  }
  PetscCall(PetscFree(hash));
  /*
     Shards have other names at other positions in their workers: the first rank that found a pair tells all
  */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finder, 1, MPI_INT, MPI_MIN, comm));
  if (finder == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(same, (PetscMPIInt)sizeof(same), MPI_CHAR, finder, comm));
  SETERRQ(comm, PETSC_ERR_ARG_WRONG, "Layers or blocks of layers \"%s\" and \"%s\": their names have the same hash, by which messages know them; change the name of a layer", same[0], same[1]);
}

/*
   Longest-job-first needs one number a shard: its flops and, at so many flops a byte, its memory traffic,
   which is all that an elementwise norm costs
*/
static const PetscLogDouble MUON_FLOPS_PER_BYTE = 4.0;

PetscErrorCode MuonShardGetStateShape(Muon muon, const MuonShard *shard, MuonArray *shape)
{
  MuonArray whole;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetShape(shard->layer, &whole));
  *shape = MuonShardPart(shard, &whole);
  *shape = MuonArrayLike(shape, muon->state_precision == MUON_STATE_PRECISION_SINGLE ? MUON_SINGLE : whole.precision, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardFind(Muon muon, MuonLayer layer, MuonShard **shard)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonSetUp() first");
  *shard = NULL;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (muon->shard[p].layer == layer) *shard = &muon->shard[p];
  }
  PetscCheck(*shard != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\" is frozen or of another optimizer", ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreateIdentity_Private(Muon muon, MuonShard *shard, PetscInt sender, PetscInt direction, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscCall(MuonCompressorSetStream(*c, muon->seed, shard->name, sender, direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGetBlocks(const MuonShard *shard, PetscInt *nrows, PetscInt **cut, PetscInt *ncolumns, const PetscInt *columns[])
{
  MuonLayer       layer = shard->layer;
  const PetscInt *sizes;
  MuonBlock       block;
  PetscInt        count;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlocks(layer, &count, &sizes, ncolumns, columns));
  PetscCall(PetscMalloc1(count, cut));
  *nrows = 0;
  for (PetscInt i = 0; i < count; i++) {
    PetscInt rows;

    PetscCall(MuonLayerGetBlock_Private(layer, i * *ncolumns, &block));
    rows = PetscMin(block.row + block.m, shard->row + shard->rows) - PetscMax(block.row, shard->row);
    if (rows > 0) (*cut)[(*nrows)++] = rows;
  }
  if (*nrows <= 1) {
    PetscCall(PetscFree(*cut)); /* nothing is cut here */
    *nrows = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a layer that this rank's position in a worker has */
static PetscErrorCode MuonSetUpShard_Private(Muon muon, MuonShard *shard, MuonGroup group, PetscInt item, MuonLayer layer)
{
  const MuonWorkerGrid grid = group->grid;
  char                 name[192];

  PetscFunctionBegin;
  shard->muon    = muon;
  shard->layer   = layer;
  shard->group   = group;
  shard->item    = item;
  shard->rows    = layer->rows;
  shard->row     = layer->first;
  shard->summing = MPI_REQUEST_NULL;
  PetscCall(PetscStrncpy(name, ((PetscObject)layer)->name, sizeof(name)));
  if (grid->size > 1) {
    PetscCall(PetscMalloc1(grid->size + 1, &shard->ranges));
    shard->cut = layer->ranks == 1 ? PETSC_TRUE : PETSC_FALSE;
    if (shard->cut) {
      for (PetscMPIInt r = 0; r <= grid->size; r++) shard->ranges[r] = r * (layer->m / grid->size) + PetscMin((PetscInt)r, layer->m % grid->size);
    } else PetscCall(PetscArraycpy(shard->ranges, layer->ranges, grid->size + 1));
    shard->row  = shard->ranges[grid->position];
    shard->rows = shard->ranges[grid->position + 1] - shard->row;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%" PetscInt_FMT, ((PetscObject)layer)->name, shard->row));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) shard->keep_sum = PETSC_TRUE;
  }
  PetscCall(PetscStrallocpy(name, &shard->name));
  PetscCall(MuonCreateIdentity_Private(muon, shard, grid->worker, 0, &shard->up));
  /* One stream a shard, whoever owns it: the weights do not depend on the owners */
  PetscCall(MuonCreateIdentity_Private(muon, shard, 0, 1, &shard->down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The optimizer's choices among the ranks of a position; beside votes, where they are for votes alone, those
   of means. One worker has nobody to exchange with: it owns itself
*/
static PetscErrorCode MuonCreateExchange_Private(Muon muon, MuonWorkerGrid grid, PetscBool votes, MuonExchange *exchange)
{
  const PetscBool alone = grid->size > 1 && grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonExchange    all;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &all));
  PetscCall(MuonExchangeCreate(grid->size > 1 ? grid->across : PetscObjectComm((PetscObject)muon), exchange));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*exchange, (PetscObject)muon, 1));
  PetscCall(MuonExchangeSetOptionsPrefix(*exchange, ((PetscObject)muon)->prefix));
  PetscCall(MuonExchangeSetVotes(*exchange, votes));
  if (alone) PetscCall(MuonExchangeSetType(*exchange, MUONEXCHANGEREPLICATED));
  else if (all->typeset && (votes || all->ownership != MUON_EXCHANGE_OWNERSHIP_RANGES)) PetscCall(MuonExchangeSetType(*exchange, ((PetscObject)all)->type_name));
  if (all->modeset && alone == PETSC_FALSE) PetscCall(MuonExchangeSetMode(*exchange, all->mode));
  PetscCall(MuonParametersAssign((PetscObject)*exchange, "assignment", (double)all->assignment));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Layers of the same workers are a group, or two: those that vote, and those of which a mean is formed,
   behind the shards that there are. Where every rank is a worker the optimizer's own exchange is that of the
   first one. Messages are the matrices themselves until a type chooses other compressors
*/
static PetscErrorCode MuonCreateGroup_Private(Muon muon, PetscInt p, PetscBool votes)
{
  MuonWorkerGrid grid = muon->grid[p];
  MuonExchange   all;
  MuonGroup      group;
  PetscBool      free = grid->size == 1 ? PETSC_TRUE : PETSC_FALSE; /* nobody has the optimizer's exchange */

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &all));
  PetscCall(PetscNew(&group));
  group->grid  = grid;
  group->shard = muon->shard + muon->nshards;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscBool does = PETSC_FALSE;

    if (muon->grid_of[l] != p || muon->layer[l]->frozen) continue;
    PetscTryTypeMethod(muon, votes, muon->layer[l], &does);
    if (does != votes) continue;
    muon->nshards++;
    PetscCall(MuonSetUpShard_Private(muon, &group->shard[group->nshards], group, group->nshards, muon->layer[l]));
    group->nshards++;
  }
  if (group->nshards == 0 && (votes || muon->ngroups > 0)) {
    PetscCall(PetscFree(group));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) free = muon->group[g]->exchange == all ? PETSC_FALSE : free;
  if (free) {
    PetscCall(MuonExchangeSetVotes(all, votes));
    PetscCall(PetscObjectReference((PetscObject)all));
    group->exchange = all;
  } else PetscCall(MuonCreateExchange_Private(muon, grid, votes, &group->exchange));
  if (votes) PetscCall(MuonVotesCreate_Private(group));
  muon->group[muon->ngroups++] = group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreateShards_Private(Muon muon)
{
  PetscBool    carries = PETSC_FALSE;
  MuonExchange exchange;

  PetscFunctionBegin;
  PetscCall(MuonResetShards_Private(muon));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonFindWorkerGrids_Private(muon, exchange->rowwise));
  PetscCall(MuonSetUpWeights_Private(muon));
  PetscCall(PetscCalloc1(muon->nactive, &muon->shard));
  PetscCall(PetscMalloc1(2 * muon->ngrids, &muon->group));
  for (PetscInt p = 0; p < muon->ngrids; p++) {
    PetscCall(MuonCreateGroup_Private(muon, p, PETSC_TRUE));
    PetscCall(MuonCreateGroup_Private(muon, p, PETSC_FALSE));
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    if (muon->group[g]->exchange == exchange) carries = PETSC_TRUE;
  }
  if (carries == PETSC_FALSE) {
    PetscCall(MuonExchangeSetVotes(exchange, PETSC_FALSE));
    PetscCall(MuonExchangeSetItems(exchange, 0, NULL, NULL, NULL)); /* the agreement alone */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonResetShards_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonDropSums_Private(muon));
  PetscTryTypeMethod(muon, reset);
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    shard->layer->server          = NULL;
    shard->layer->serverisweights = PETSC_FALSE;
    shard->layer->ready           = NULL;
    shard->layer->readyctx        = NULL;
    shard->layer->watched         = PETSC_FALSE;
    PetscCall(MuonCompressorDestroy(&shard->up));
    PetscCall(MuonCompressorDestroy(&shard->down));
    PetscCall(MuonValidatedDestroy(&shard->up_own));
    PetscCall(MuonValidatedDestroy(&shard->down_got));
    PetscCall(MuonArrayDestroy(&shard->M));
    PetscCall(MuonArrayDestroy(&shard->Mnew));
    PetscCall(MuonArrayDestroy(&shard->Tnew));
    PetscCall(MuonArrayDestroy(&shard->sum));
    PetscCall(MuonArrayDestroy(&shard->X));
    PetscCall(MuonArrayDestroy(&shard->Xnew));
    PetscCall(MuonArrayDestroy(&shard->mean));
    PetscCall(MuonArrayDestroy(&shard->packed));
    PetscCall(MuonArrayDestroy(&shard->weighted));
    PetscCall(PetscFree(shard->ranges));
    PetscCall(PetscFree(shard->name));
    PetscCall(PetscFree(shard->up_type));
    PetscCall(PetscFree(shard->down_type));
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscCall(MuonVotesDestroy_Private(&muon->group[g]->votes));
    PetscCall(MuonExchangeDestroy(&muon->group[g]->exchange));
    PetscCall(MuonAssemblyDestroy(&muon->group[g]->assembly));
    PetscCall(PetscFree(muon->group[g]->item));
    PetscCall(PetscFree(muon->group[g]));
  }
  PetscCall(PetscFree(muon->group));
  PetscCall(PetscFree(muon->shard));
  muon->ngroups = muon->nshards = 0;
  PetscCall(MuonResetWorkerGrids_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What only a step would refuse is refused here, on every rank alike */
static PetscErrorCode MuonSetUpObjects_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    MuonArray  state;

    PetscCall(MuonShardGetStateShape(muon, shard, &state));
    if (muon->setfromoptionscalled) PetscCall(MuonReadLayerAssembly_Private(muon, shard->layer));
    shard->layer->state = state.precision; /* of the messages of its steps */
    PetscCall(MuonLayerSetUp(shard->layer));
    PetscCall(MuonCompressorSetUp(shard->up));
    PetscCall(MuonCompressorSetUp(shard->down));
    PetscCall(MuonCompressorIsAssignment(shard->down, &shard->down_assigns));
    PetscCall(PetscStrallocpy(((PetscObject)shard->up)->type_name, &shard->up_type));
    PetscCall(PetscStrallocpy(((PetscObject)shard->down)->type_name, &shard->down_type));
  }
  PetscCall(MuonCheckShards_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A receiver believes no size beyond what a message can have; the first one of a shard may be sent by another
   compressor than those that follow, whole
*/
static PetscErrorCode MuonSetUpMaxBytes_Private(Muon muon, MuonGroup group)
{
  size_t *up, *down;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(group->nshards, &up, group->nshards, &down));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];
    MuonArray  state, whole, weights;

    PetscCall(MuonShardGetStateShape(muon, shard, &state));
    PetscCall(MuonLayerGetShape(shard->layer, &whole));
    weights = MuonShardPart(shard, &whole);
    PetscCall(MuonCompressorGetMaxBytesOf(shard->up, &state, &up[k]));
    up[k] = PetscMax(up[k], sizeof(double) * MuonArrayEntries(&state) + MUON_WIRE_MESSAGE_HEADER_MOST);
    if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &down[k]));
    else PetscCall(MuonCompressorGetMaxBytesOf(shard->down, &weights, &down[k]));
  }
  PetscCall(MuonExchangeSetMaxBytes(group->exchange, up, down));
  PetscCall(PetscFree2(up, down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Owners, and how contributions and weights go */
static PetscErrorCode MuonSetUpGroup_Private(Muon muon, MuonGroup group)
{
  const char    **names;
  PetscLogDouble *cost, *bytes;
  PetscInt       *rows, *columns;
  PetscBool       summable     = PETSC_TRUE, assigns;
  char            culprit[256] = "";
  MuonArray       shape;

  PetscFunctionBegin;
  if (group->votes != NULL) {
    PetscCall(MuonVotesSetUp_Private(muon, group));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc5(group->nshards, &names, group->nshards, &cost, group->nshards, &bytes, group->nshards, &rows, group->nshards, &columns));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    PetscCall(MuonShardGetStateShape(muon, shard, &shape));
    /* Of the layer, not of the shard: all positions of a worker find the same owners */
    names[k]   = ((PetscObject)shard->layer)->name;
    rows[k]    = shard->layer->m;
    columns[k] = shard->layer->n;
    bytes[k]   = (PetscLogDouble)shard->layer->m * (PetscLogDouble)shard->layer->n * (PetscLogDouble)MuonArrayEntryBytes(&shape);
    PetscCall(MuonLayerGetFlops(shard->layer, &cost[k]));
    cost[k] += MUON_FLOPS_PER_BYTE * bytes[k];
    PetscCall(MuonCompressorIsAssignment(shard->up, &assigns));
    if (assigns == PETSC_FALSE && summable) PetscCall(PetscSNPrintf(culprit, sizeof(culprit), "compressor %s of layer \"%s\"", shard->up_type, names[k]));
    if (assigns == PETSC_FALSE) summable = PETSC_FALSE;
  }
  PetscCall(MuonExchangeSetItems(group->exchange, group->nshards, names, cost, bytes));
  PetscCall(MuonExchangeSetItemShapes(group->exchange, rows, columns));
  PetscCall(MuonExchangeSetUp(group->exchange));
  PetscCall(MuonSetUpMaxBytes_Private(muon, group));
  PetscCall(MuonExchangeResolveMode(group->exchange, summable, culprit, &group->mode));
  if (summable == PETSC_FALSE && group->grid->size > 1 && group->grid->nworkers == 1)
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: %s sends messages from the one worker that all ranks are to itself, which saves nothing\n", culprit));
  group->direct = PETSC_TRUE;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    PetscCall(MuonExchangeGetOwner(group->exchange, shard->item, &shard->layer->owner));
    PetscCall(MuonExchangeOwns(group->exchange, shard->item, &shard->owns));
    if (shard->layer->owner >= 0 || (shard->downlink == MUON_DOWNLINK_WEIGHTS && shard->down_assigns == PETSC_FALSE)) group->direct = PETSC_FALSE;
  }
  PetscCall(PetscFree5(names, cost, bytes, rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the next step replaces is kept until then; what it only passes on lives in shared scratch */
static PetscErrorCode MuonSetUpState_Private(Muon muon, MuonShard *shard)
{
  const PetscBool at_server = muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
  MuonLayer       layer     = shard->layer;
  MuonArray       state, whole, W;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  if (shard->cut || (shard->ranges != NULL && layer->wholegradient)) {
    PetscCall(MuonLayerGetShape(layer, &whole));
    W = MuonShardPart(shard, &whole);
    PetscCall(MuonArrayCreate(&W, W.precision, &shard->mean));
  }
  /*
     A sum of gradients as they are begins when one is ready: of the ranks of a worker, or of the workers
     where nothing comes before
  */
  if (shard->mean.data != NULL || (at_server && shard->group->votes == NULL && shard->group->mode != MUON_EXCHANGE_MODE_GATHER && (shard->ranges == NULL || shard->group->grid->nworkers > 1))) {
    layer->ready    = MuonShardReady_Private;
    layer->readyctx = shard;
  }
  layer->keepsmomentum = MuonNeedsMomentum_Private(muon, layer) && shard->no_momentum == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  if (layer->keepsmomentum && (at_server == PETSC_FALSE || shard->owns)) PetscCall(MuonArrayCreate(&state, state.precision, &shard->M));
  if ((shard->group->votes == NULL && shard->group->mode == MUON_EXCHANGE_MODE_ALLREDUCE) || (shard->owns && (shard->keep_sum || shard->group->mode != MUON_EXCHANGE_MODE_GATHER))) PetscCall(MuonArrayCreate(&state, state.precision, &shard->sum));
  if (shard->owns == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->keepsmomentum && at_server) PetscCall(MuonArrayCreate(&state, state.precision, &shard->Mnew));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  if (shard->down_assigns == PETSC_FALSE && shard->downlink == MUON_DOWNLINK_WEIGHTS) {
    PetscCall(MuonArrayCreate(&W, W.precision, &shard->X));
    MuonArrayAxpby(1, &W, 0, &shard->X);
    layer->watched = muon->check_weights;
  }
  if (shard->X.data != NULL || shard->group->direct) PetscCall(MuonArrayCreate(&W, W.precision, &shard->Xnew));
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  if (layer->watched) PetscCall(MuonLayerNoteWeights(layer));
  layer->server          = &shard->X;
  layer->serverisweights = shard->X.data == NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetUp - Makes an optimizer ready for its first step: layers are fixed, owners are assigned, state is
  allocated

  Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Note:
  Names, shapes, blocks, options and weights are compared between the ranks; a difference is an error on all
  of them. `MuonStep()` calls this routine. The checkpoint of `MuonSetRestart()` is loaded at the end.

.seealso: `Muon`, `MuonSetRestart()`, `MuonStep()`, `MuonSolve()`, `MuonReset()`
@*/
PetscErrorCode MuonSetUp(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->setupcalled) {
    PetscCheck(muon->exchange->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "The exchange was changed after MuonSetUp(), where state has its owners already; call MuonReset() before");
    PetscCall(MuonRestart_Private(muon, PETSC_FALSE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MUON_SetUpEvent, muon, 0, 0, 0));
  if (((PetscObject)muon)->type_name == NULL) PetscCall(MuonSetType(muon, MUONEF21));
  if (muon->momentum_at == PETSC_DETERMINE) muon->momentum_at = (int)muon->momentum_default;
  PetscCall(MuonCheckMomentum_Private(muon, muon->momentum_at, muon->momentum_style, muon->nesterov));
  PetscCall(PetscFree(muon->active));
  PetscCall(PetscMalloc1(muon->nlayers, &muon->active));
  muon->nactive       = 0;
  muon->traffic.dense = 0;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer layer = muon->layer[l];

    PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work)); /* a reset drops it */
    PetscCall(MuonInheritChoices_Private(muon, layer));
    if (layer->frozen == PETSC_FALSE) {
      muon->active[muon->nactive++] = layer;
      muon->traffic.dense += 32.0 * (PetscLogDouble)layer->rows * (PetscLogDouble)layer->N;
    }
  }
  muon->nsums = muon->nactive;
  PetscCall(MuonCreateShards_Private(muon));
  PetscTryTypeMethod(muon, configure);
  PetscCall(MuonSetUpObjects_Private(muon));
  PetscCall(MuonCheckRanksAgree_Private(muon));
  PetscCall(MuonCheckpointSetUp_Private(muon));
  PetscCall(MuonCheckDevice_Private(muon));
  PetscCall(MuonCheckRuleMatch_Private(muon));
  PetscCall(MuonCheckRateIsRead_Private(muon));
  PetscCall(MuonClipSetUp_Private(muon));
  PetscCall(MuonCheckHashes_Private(muon));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscCall(MuonSetUpGroup_Private(muon, muon->group[g]));
    PetscCall(MuonSetUpAssembly_Private(muon, muon->group[g]));
  }
  PetscCall(MuonExchangeSetUp(muon->exchange));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    PetscCall(MuonSetUpState_Private(muon, &muon->shard[p]));
    PetscTryTypeMethod(muon, setup, &muon->shard[p]);
  }
  PetscCall(MuonVotesCheck_Private(muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->fixed = PETSC_TRUE;
  muon->setupcalled = muon->parameters.fixed = PETSC_TRUE;
  PetscCall(MuonInfoSetUp_Private(muon));
  PetscCall(PetscLogEventEnd(MUON_SetUpEvent, muon, 0, 0, 0));
  PetscCall(PetscTime(&muon->checkpointed));
  PetscCall(MuonRestart_Private(muon, PETSC_TRUE));
  PetscCall(MuonViewCostFromOptions_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
