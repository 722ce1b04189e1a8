#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <petscmuon/private/muonwire.h>

/*
   Messages know pieces and blocks by the hashes of their names, which are sorted here: behind a hash stands
   its number in the order of the pieces, each before its blocks, in as many bits as the largest needs
*/
static PetscErrorCode MuonCheckHashes_Private(Muon muon)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)muon);
  PetscInt64 *hash;
  PetscInt    count = 0, all = 0, bits = 0;
  PetscMPIInt finder       = muon->size;
  char        same[2][512] = {"", ""};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->npieces; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->piece[p].layer->blocks);

    all += 1 + (blocks > 1 ? blocks : 0);
  }
  while (all >> bits > 0) bits++;
  PetscCheck(bits <= 31, comm, PETSC_ERR_SUP, "%" PetscInt_FMT " layers and blocks, expected less than 2^31", all);
  PetscCall(PetscMalloc1(all, &hash));
  for (PetscInt p = 0; p < muon->npieces; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->piece[p].layer->blocks);

    for (PetscInt b = -1; b < (blocks > 1 ? blocks : 0); b++) {
      char         name[512];
      unsigned int one;

      if (b < 0) PetscCall(PetscStrncpy(name, muon->piece[p].name, sizeof(name)));
      else PetscCall(MuonBlockName_Private(muon->piece[p].name, b, sizeof(name), name));
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
    for (PetscInt p = 0; p < muon->npieces; p++) {
      const PetscInt blocks = MuonBlocksCount_Private(&muon->piece[p].layer->blocks), behind = first + 1 + (blocks > 1 ? blocks : 0);

      for (PetscInt j = 0; j < 2; j++) {
        const PetscInt number = (PetscInt)(hash[k - 1 + j] & (((PetscInt64)1 << bits) - 1));

        if (number == first) PetscCall(PetscStrncpy(same[j], muon->piece[p].name, sizeof(same[j])));
        else if (number > first && number < behind) PetscCall(MuonBlockName_Private(muon->piece[p].name, number - first - 1, sizeof(same[j]), same[j]));
      }
      first = behind;
    }
  }
  PetscCall(PetscFree(hash));
  /*
     Pieces have other names at other positions in their workers: the first rank that found a pair tells all
  */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finder, 1, MPI_INT, MPI_MIN, comm));
  if (finder == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(same, (PetscMPIInt)sizeof(same), MPI_CHAR, finder, comm));
  SETERRQ(comm, PETSC_ERR_ARG_WRONG, "Layers or blocks of layers \"%s\" and \"%s\": their names have the same hash, by which messages know them; change the name of a layer", same[0], same[1]);
}

/*
   Longest-job-first needs one number a piece: its flops and, at so many flops a byte, its memory traffic,
   which is all that an elementwise norm costs
*/
static const PetscLogDouble MUON_FLOPS_PER_BYTE = 4.0;

PetscErrorCode MuonPieceGetStateShape(Muon muon, const MuonPiece *piece, MuonArray *shape)
{
  MuonArray whole;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetShape(piece->layer, &whole));
  *shape = MuonPiecePart(piece, &whole);
  *shape = MuonArrayLike(shape, muon->state_precision == MUON_STATE_PRECISION_SINGLE ? MUON_SINGLE : whole.precision, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPieceFind(Muon muon, MuonLayer layer, MuonPiece **piece)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonSetUp() first");
  *piece = NULL;
  for (PetscInt p = 0; p < muon->npieces; p++) {
    if (muon->piece[p].layer == layer) *piece = &muon->piece[p];
  }
  PetscCheck(*piece != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\" is frozen or of another optimizer", ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreateIdentity_Private(Muon muon, MuonPiece *piece, PetscInt sender, PetscInt direction, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscCall(MuonCompressorSetStream(*c, muon->seed, piece->name, sender, direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPieceGetBlocks(const MuonPiece *piece, PetscInt *nrows, PetscInt **cut, PetscInt *ncolumns, const PetscInt *columns[])
{
  MuonLayer       layer = piece->layer;
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
    rows = PetscMin(block.row + block.m, piece->row + piece->rows) - PetscMax(block.row, piece->row);
    if (rows > 0) (*cut)[(*nrows)++] = rows;
  }
  if (*nrows <= 1) {
    PetscCall(PetscFree(*cut)); /* nothing is cut here */
    *nrows = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a layer that this rank's position in a worker has */
static PetscErrorCode MuonSetUpPiece_Private(Muon muon, MuonPiece *piece, MuonGroup group, PetscInt item, MuonLayer layer)
{
  const MuonPartition partition = group->partition;
  char                name[192];

  PetscFunctionBegin;
  piece->muon    = muon;
  piece->layer   = layer;
  piece->group   = group;
  piece->item    = item;
  piece->rows    = layer->rows;
  piece->row     = layer->first;
  piece->summing = MPI_REQUEST_NULL;
  PetscCall(PetscStrncpy(name, ((PetscObject)layer)->name, sizeof(name)));
  if (partition->size > 1) {
    PetscCall(PetscMalloc1(partition->size + 1, &piece->ranges));
    piece->cut = layer->ranks == 1 ? PETSC_TRUE : PETSC_FALSE;
    if (piece->cut) {
      for (PetscMPIInt r = 0; r <= partition->size; r++) piece->ranges[r] = r * (layer->m / partition->size) + PetscMin((PetscInt)r, layer->m % partition->size);
    } else PetscCall(PetscArraycpy(piece->ranges, layer->ranges, partition->size + 1));
    piece->row  = piece->ranges[partition->position];
    piece->rows = piece->ranges[partition->position + 1] - piece->row;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%" PetscInt_FMT, ((PetscObject)layer)->name, piece->row));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) piece->keep_sum = PETSC_TRUE;
  }
  PetscCall(PetscStrallocpy(name, &piece->name));
  PetscCall(MuonCreateIdentity_Private(muon, piece, partition->worker, 0, &piece->up));
  /* One stream a piece, whoever serves it: the weights do not depend on the owners */
  PetscCall(MuonCreateIdentity_Private(muon, piece, 0, 1, &piece->down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The optimizer's choices among the ranks of a position; beside votes, where they are for votes alone, those
   of means. One worker has nobody to exchange with: it serves itself
*/
static PetscErrorCode MuonCreateExchange_Private(Muon muon, MuonPartition partition, PetscBool votes, MuonExchange *exchange)
{
  const PetscBool alone = partition->size > 1 && partition->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonExchange    all;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &all));
  PetscCall(MuonExchangeCreate(partition->size > 1 ? partition->across : PetscObjectComm((PetscObject)muon), exchange));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*exchange, (PetscObject)muon, 1));
  PetscCall(MuonExchangeSetOptionsPrefix(*exchange, ((PetscObject)muon)->prefix));
  PetscCall(MuonExchangeSetVotes(*exchange, votes));
  if (alone) PetscCall(MuonExchangeSetType(*exchange, MUONEXCHANGEREPLICATED));
  else if (all->typeset && (votes || all->partition != MUON_EXCHANGE_PARTITION_RANGES)) PetscCall(MuonExchangeSetType(*exchange, ((PetscObject)all)->type_name));
  if (all->modeset && alone == PETSC_FALSE) PetscCall(MuonExchangeSetMode(*exchange, all->mode));
  PetscCall(MuonExchangeSetAssignment(*exchange, all->assignment));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Layers of the same workers are a group, or two: those that vote, and those of which a mean is formed,
   behind the pieces that there are. Where every rank is a worker the optimizer's own exchange is that of the
   first one. Messages are the matrices themselves until a type chooses other compressors
*/
static PetscErrorCode MuonCreateGroup_Private(Muon muon, PetscInt p, PetscBool votes)
{
  MuonPartition partition = muon->partition[p];
  MuonExchange  all;
  MuonGroup     group;
  PetscBool     free = partition->size == 1 ? PETSC_TRUE : PETSC_FALSE; /* nobody has the optimizer's exchange */

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &all));
  PetscCall(PetscNew(&group));
  group->partition = partition;
  group->piece     = muon->piece + muon->npieces;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscBool does = PETSC_FALSE;

    if (muon->partition_of[l] != p || muon->layer[l]->frozen) continue;
    PetscTryTypeMethod(muon, votes, muon->layer[l], &does);
    if (does != votes) continue;
    muon->npieces++;
    PetscCall(MuonSetUpPiece_Private(muon, &group->piece[group->npieces], group, group->npieces, muon->layer[l]));
    group->npieces++;
  }
  if (group->npieces == 0 && (votes || muon->ngroups > 0)) {
    PetscCall(PetscFree(group));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) free = muon->group[g]->exchange == all ? PETSC_FALSE : free;
  if (free) {
    PetscCall(MuonExchangeSetVotes(all, votes));
    PetscCall(PetscObjectReference((PetscObject)all));
    group->exchange = all;
  } else PetscCall(MuonCreateExchange_Private(muon, partition, votes, &group->exchange));
  if (votes) PetscCall(MuonVotesCreate_Private(group));
  muon->group[muon->ngroups++] = group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreatePieces_Private(Muon muon)
{
  PetscBool    carries = PETSC_FALSE;
  MuonExchange exchange;

  PetscFunctionBegin;
  PetscCall(MuonResetPieces_Private(muon));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonFindPartitions_Private(muon, exchange->rowwise));
  PetscCall(MuonSetUpWeights_Private(muon));
  PetscCall(PetscCalloc1(muon->nactive, &muon->piece));
  PetscCall(PetscMalloc1(2 * muon->npartitions, &muon->group));
  for (PetscInt p = 0; p < muon->npartitions; p++) {
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

PetscErrorCode MuonResetPieces_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(muon, reset);
  for (PetscInt p = 0; p < muon->npieces; p++) {
    MuonPiece *piece = &muon->piece[p];

    piece->layer->server          = NULL;
    piece->layer->serverisweights = PETSC_FALSE;
    piece->layer->ready           = NULL;
    piece->layer->watched         = PETSC_FALSE;
    PetscCall(MuonPieceDropSum_Private(piece));
    PetscCall(MuonCompressorDestroy(&piece->up));
    PetscCall(MuonCompressorDestroy(&piece->down));
    PetscCall(MuonOpenedDestroy(&piece->up_own));
    PetscCall(MuonOpenedDestroy(&piece->down_got));
    PetscCall(MuonArrayDestroy(&piece->M));
    PetscCall(MuonArrayDestroy(&piece->Mnew));
    PetscCall(MuonArrayDestroy(&piece->Tnew));
    PetscCall(MuonArrayDestroy(&piece->sum));
    PetscCall(MuonArrayDestroy(&piece->X));
    PetscCall(MuonArrayDestroy(&piece->Xnew));
    PetscCall(MuonArrayDestroy(&piece->mean));
    PetscCall(MuonArrayDestroy(&piece->packed));
    PetscCall(MuonArrayDestroy(&piece->weighted));
    PetscCall(PetscFree(piece->ranges));
    PetscCall(PetscFree(piece->name));
    PetscCall(PetscFree(piece->up_type));
    PetscCall(PetscFree(piece->down_type));
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscCall(MuonVotesDestroy_Private(&muon->group[g]->votes));
    PetscCall(MuonExchangeDestroy(&muon->group[g]->exchange));
    PetscCall(MuonAssemblyDestroy(&muon->group[g]->assembly));
    PetscCall(PetscFree(muon->group[g]->item));
    PetscCall(PetscFree(muon->group[g]));
  }
  PetscCall(PetscFree(muon->group));
  PetscCall(PetscFree(muon->piece));
  muon->ngroups = muon->npieces = 0;
  PetscCall(MuonResetPartitions_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What only a step would refuse is refused here, on every rank alike */
static PetscErrorCode MuonSetUpObjects_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->npieces; p++) {
    MuonPiece *piece = &muon->piece[p];
    MuonArray  state;

    PetscCall(MuonPieceGetStateShape(muon, piece, &state));
    if (muon->setfromoptionscalled) PetscCall(MuonReadLayerAssembly_Private(muon, piece->layer));
    piece->layer->state = state.precision; /* of the messages of its steps */
    PetscCall(MuonLayerSetUp(piece->layer));
    PetscCall(MuonCompressorSetUp(piece->up));
    PetscCall(MuonCompressorSetUp(piece->down));
    PetscCall(MuonCompressorIsAssignment(piece->down, &piece->down_assigns));
    PetscCall(PetscStrallocpy(((PetscObject)piece->up)->type_name, &piece->up_type));
    PetscCall(PetscStrallocpy(((PetscObject)piece->down)->type_name, &piece->down_type));
  }
  PetscCall(MuonCheckPieces_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A receiver believes no size beyond what a message can have; the first one of a piece may be sent by another
   compressor than those that follow, whole
*/
static PetscErrorCode MuonSetUpMaxBytes_Private(Muon muon, MuonGroup group)
{
  size_t *up, *down;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(group->npieces, &up, group->npieces, &down));
  for (PetscInt k = 0; k < group->npieces; k++) {
    MuonPiece *piece = &group->piece[k];
    MuonArray  state, whole, weights;

    PetscCall(MuonPieceGetStateShape(muon, piece, &state));
    PetscCall(MuonLayerGetShape(piece->layer, &whole));
    weights = MuonPiecePart(piece, &whole);
    PetscCall(MuonCompressorGetMaxBytesOf(piece->up, &state, &up[k]));
    up[k] = PetscMax(up[k], sizeof(double) * MuonArrayEntries(&state) + MUON_WIRE_MESSAGE_HEADER_MOST);
    if (piece->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerGetMaxStepBytes(piece->layer, &down[k]));
    else PetscCall(MuonCompressorGetMaxBytesOf(piece->down, &weights, &down[k]));
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
  PetscCall(PetscMalloc5(group->npieces, &names, group->npieces, &cost, group->npieces, &bytes, group->npieces, &rows, group->npieces, &columns));
  for (PetscInt k = 0; k < group->npieces; k++) {
    MuonPiece *piece = &group->piece[k];

    PetscCall(MuonPieceGetStateShape(muon, piece, &shape));
    /* Of the layer, not of the piece: all positions of a worker find the same owners */
    names[k]   = ((PetscObject)piece->layer)->name;
    rows[k]    = piece->layer->m;
    columns[k] = piece->layer->n;
    bytes[k]   = (PetscLogDouble)piece->layer->m * (PetscLogDouble)piece->layer->n * (PetscLogDouble)MuonArrayEntryBytes(&shape);
    PetscCall(MuonLayerGetFlops(piece->layer, &cost[k]));
    cost[k] += MUON_FLOPS_PER_BYTE * bytes[k];
    PetscCall(MuonCompressorIsAssignment(piece->up, &assigns));
    if (assigns == PETSC_FALSE && summable) PetscCall(PetscSNPrintf(culprit, sizeof(culprit), "compressor %s of layer \"%s\"", piece->up_type, names[k]));
    if (assigns == PETSC_FALSE) summable = PETSC_FALSE;
  }
  PetscCall(MuonExchangeSetItems(group->exchange, group->npieces, names, cost, bytes));
  PetscCall(MuonExchangeSetItemShapes(group->exchange, rows, columns));
  PetscCall(MuonExchangeSetUp(group->exchange));
  PetscCall(MuonSetUpMaxBytes_Private(muon, group));
  PetscCall(MuonExchangeResolveMode(group->exchange, summable, culprit, &group->mode));
  if (summable == PETSC_FALSE && group->partition->size > 1 && group->partition->nworkers == 1)
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: %s sends messages from the one worker that all ranks are to itself, which saves nothing\n", culprit));
  group->direct = PETSC_TRUE;
  for (PetscInt k = 0; k < group->npieces; k++) {
    MuonPiece *piece = &group->piece[k];

    PetscCall(MuonExchangeGetOwner(group->exchange, piece->item, &piece->layer->owner));
    PetscCall(MuonExchangeServes(group->exchange, piece->item, &piece->serves));
    if (piece->layer->owner >= 0 || (piece->downlink == MUON_DOWNLINK_WEIGHTS && piece->down_assigns == PETSC_FALSE)) group->direct = PETSC_FALSE;
  }
  PetscCall(PetscFree5(names, cost, bytes, rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the next step replaces is kept until then; what it only passes on lives in shared scratch */
static PetscErrorCode MuonSetUpState_Private(Muon muon, MuonPiece *piece)
{
  const PetscBool at_server = muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
  MuonLayer       layer     = piece->layer;
  MuonArray       state, whole, W;

  PetscFunctionBegin;
  PetscCall(MuonPieceGetStateShape(muon, piece, &state));
  if (piece->cut || (piece->ranges != NULL && layer->wholegradient)) {
    PetscCall(MuonLayerGetShape(layer, &whole));
    W = MuonPiecePart(piece, &whole);
    PetscCall(MuonArrayCreate(&W, W.precision, &piece->mean));
  }
  /*
     A sum of gradients as they are begins when one is ready: of the ranks of a worker, or of the workers
     where nothing comes before
  */
  if (piece->mean.data != NULL || (at_server && piece->group->mode != MUON_EXCHANGE_MODE_GATHER && (piece->ranges == NULL || piece->group->partition->nworkers > 1))) {
    layer->ready    = MuonPieceReady_Private;
    layer->readyctx = piece;
  }
  layer->keepsmomentum = MuonNeedsMomentum_Private(muon, layer) && piece->no_momentum == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  if (layer->keepsmomentum && (at_server == PETSC_FALSE || piece->serves)) PetscCall(MuonArrayCreate(&state, state.precision, &piece->M));
  if ((piece->group->votes == NULL && piece->group->mode == MUON_EXCHANGE_MODE_ALLREDUCE) || (piece->serves && (piece->keep_sum || piece->group->mode != MUON_EXCHANGE_MODE_GATHER))) PetscCall(MuonArrayCreate(&state, state.precision, &piece->sum));
  if (piece->serves == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->keepsmomentum && at_server) PetscCall(MuonArrayCreate(&state, state.precision, &piece->Mnew));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  W = MuonPiecePart(piece, &whole);
  if (piece->down_assigns == PETSC_FALSE && piece->downlink == MUON_DOWNLINK_WEIGHTS) {
    PetscCall(MuonArrayCreate(&W, W.precision, &piece->X));
    MuonArrayAxpby(1, &W, 0, &piece->X);
    layer->watched = muon->check_weights;
  }
  if (piece->X.data != NULL || piece->group->direct) PetscCall(MuonArrayCreate(&W, W.precision, &piece->Xnew));
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  if (layer->watched) PetscCall(MuonLayerNoteWeights(layer));
  layer->server          = &piece->X;
  layer->serverisweights = piece->X.data == NULL ? PETSC_TRUE : PETSC_FALSE;
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
  PetscBool fixed;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->setupcalled) {
    PetscCheck(muon->exchange->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "The exchange was changed after MuonSetUp(), where state has its owners already; call MuonReset() before");
    PetscCall(MuonAssemblyIsFixed_Private(muon->assembly, &fixed));
    PetscCheck(fixed, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "The assembly was changed after MuonSetUp(), where each group of layers got its own; call MuonReset() before");
    PetscCall(MuonRestart_Private(muon, PETSC_FALSE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MUON_SetUpEvent, muon, 0, 0, 0));
  if (((PetscObject)muon)->type_name == NULL) PetscCall(MuonSetType(muon, MUONEF21));
  if (muon->momentum_at == PETSC_DETERMINE) muon->momentum_at = (PetscInt)muon->momentum_default;
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
  PetscCall(MuonCreatePieces_Private(muon));
  PetscTryTypeMethod(muon, configure);
  PetscCall(MuonSetUpObjects_Private(muon));
  PetscCall(MuonCheckRanksAgree_Private(muon));
  muon->checkpoint_agreed = PETSC_TRUE;
  if (muon->checkpoint_weights != NULL) PetscCall(MuonSaveWeights_Private(muon, muon->checkpoint_weights, PETSC_TRUE)); /* what cannot be written is an error before the run, not behind it */
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
  for (PetscInt p = 0; p < muon->npieces; p++) {
    PetscCall(MuonSetUpState_Private(muon, &muon->piece[p]));
    PetscTryTypeMethod(muon, setup, &muon->piece[p]);
  }
  PetscCall(MuonVotesCheck_Private(muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->fixed = PETSC_TRUE;
  PetscCall(MuonAssemblyFix_Private(muon->assembly));
  muon->setupcalled = PETSC_TRUE;
  PetscCall(MuonInfoSetUp_Private(muon));
  PetscCall(PetscLogEventEnd(MUON_SetUpEvent, muon, 0, 0, 0));
  PetscCall(PetscTime(&muon->checkpointed));
  PetscCall(MuonRestart_Private(muon, PETSC_TRUE));
  PetscCall(MuonViewCostFromOptions_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
