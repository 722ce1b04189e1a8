#include "muoninterface.h"

/*
   Ranks compare their options: one hash before a call that communicates, so that an error of one rank's checks is an error of all, and
   one at the end of a step, in the status reduction, for changes by the program's routine. If a hash differs, the error names
   the first option that differs, with both values.
*/

/* What is not in the rows: the numbers of the optimizer, then one a layer */
static const char *const MuonNumbers[] = {"step", "scheduled factor", "scheduled momentum", "scheduled decay", "routines that were registered", "function of the schedule", "exchange is set up"};
enum {
  BESIDES = PETSC_STATIC_ARRAY_LENGTH(MuonNumbers)
};

static PetscErrorCode MuonGetNumbers_Private(Muon muon, double **numbers)
{
  const PetscBool scheduled = muon->rates->fn != NULL && muon->rates->scheduled.valid ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       planned   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(BESIDES + muon->nlayers, numbers));
  (*numbers)[0] = (double)muon->step;
  (*numbers)[1] = scheduled ? (double)muon->rates->scheduled.factor : 0;
  (*numbers)[2] = scheduled ? (double)muon->rates->scheduled.momentum : 0;
  (*numbers)[3] = scheduled ? (double)muon->rates->scheduled.decay : 0;
  (*numbers)[4] = (double)muon->registered;
  (*numbers)[5] = muon->rates->fn != NULL ? 1 : 0;
  if (muon->setupcalled) PetscCall(MuonExchangeIsSetUp(muon->exchange, &planned));
  (*numbers)[6] = planned ? 1 : 0;
  for (PetscInt l = 0; l < muon->nlayers; l++) (*numbers)[BESIDES + l] = muon->layer[l]->wholegradient ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the optimizer, its compressors and those of the shards: their hash, or where that is NULL their text */
static PetscErrorCode MuonAddObjects_Private(Muon muon, unsigned int *hash, char **text)
{
  const PetscInt n = 3 + 2 * muon->nshards;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const MuonShard *shard  = k < 3 ? NULL : &muon->shard[(k - 3) / 2];
    PetscObject      object = k == 0 ? (PetscObject)muon : (PetscObject)(k < 3 ? muon->compressor[k - 1] : k % 2 ? shard->up : shard->down);

    if (object == NULL) continue;
    if (hash != NULL) PetscCall(MuonParametersHash(object, hash));
    else PetscCall(MuonParametersWrite(object, text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashOptions_Private(Muon muon, unsigned int *hash)
{
  double *numbers;

  PetscFunctionBegin;
  *hash = 0;
  if (muon->size == 1) PetscFunctionReturn(PETSC_SUCCESS); /* there is nothing to compare it with */
  if (muon->nested != NULL) PetscCall(MuonHashOptions_Private(muon->nested, hash));
  PetscCall(MuonGetNumbers_Private(muon, &numbers));
  *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)numbers, sizeof(*numbers) * (size_t)(BESIDES + muon->nlayers));
  PetscCall(PetscFree(numbers));
  PetscCall(MuonAddObjects_Private(muon, hash, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as text, a line each */
static PetscErrorCode MuonWriteOptions_Private(Muon muon, char **text)
{
  size_t  used, size;
  double *numbers;

  PetscFunctionBegin;
  PetscCall(MuonAddObjects_Private(muon, NULL, text));
  if (muon->nested != NULL) PetscCall(MuonWriteOptions_Private(muon->nested, text));
  PetscCall(MuonGetNumbers_Private(muon, &numbers));
  used = strlen(*text);
  size = used + (size_t)(BESIDES + muon->nlayers) * (PETSC_MAX_OPTION_NAME + 64);
  PetscCall(PetscRealloc(size, text));
  for (PetscInt k = 0; k < BESIDES + muon->nlayers; k++, used += strlen(*text + used)) {
    if (k < BESIDES) PetscCall(PetscSNPrintf(*text + used, size - used, "%s %.15g\n", MuonNumbers[k], numbers[k]));
    else PetscCall(PetscSNPrintf(*text + used, size - used, "layer %s: gradient %s\n", ((PetscObject)muon->layer[k - BESIDES])->name, numbers[k] > 0 ? "whole" : "rows"));
  }
  PetscCall(PetscFree(numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonFindDifference_Private(Muon muon, size_t length, char text[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);
  char          *here = NULL, *first;
  PetscMPIInt    size, rank, least;
  size_t         at, line = 0, word = 0;

  PetscFunctionBegin;
  PetscCall(MuonWriteOptions_Private(muon, &here));
  size = (PetscMPIInt)strlen(here) + 1;
  PetscCallMPI(MPI_Bcast(&size, 1, MPI_INT, 0, comm));
  PetscCall(PetscMalloc1(size, &first));
  if (muon->rank == 0) PetscCall(PetscArraycpy(first, here, size));
  PetscCallMPI(MPI_Bcast(first, size, MPI_CHAR, 0, comm));
  for (at = 0; first[at] != '\0' && first[at] == here[at]; at++) {
    if (first[at] == '\n') line = at + 1;
    if (first[at] == '\n' || first[at] == ' ') word = at + 1;
  }
  rank = first[at] == here[at] ? muon->size : muon->rank;
  PetscCallMPI(MPI_Allreduce(&rank, &least, 1, MPI_INT, MPI_MIN, comm));
  if (least == muon->size) PetscCall(PetscStrncpy(text, "what they are is the same, the order in which they were made, or whether there is a routine of MuonSetPostStep(), is not", length));
  else if (least == muon->rank) PetscCall(PetscSNPrintf(text, length, "%.*s%.*s on rank 0 and %.*s on rank %d", (int)(word - line), first + line, (int)strcspn(first + word, "\n"), first + word, (int)strcspn(here + word, "\n"), here + word, least));
  if (least < muon->size) PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)length, MPI_CHAR, least, comm));
  PetscCall(PetscFree(first));
  PetscCall(PetscFree(here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRaiseDifference_Private(Muon muon)
{
  PetscInt step = muon->step; /* which may be what differs */
  char     what[512];

  PetscFunctionBegin;
  PetscCall(MuonFindDifference_Private(muon, sizeof(what), what));
  PetscCallMPI(MPI_Bcast(&step, 1, MPIU_INT, 0, PetscObjectComm((PetscObject)muon)));
  SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
          "Step %" PetscInt_FMT ": an option of the optimizer, a layer, an LMO or a compressor differs between the ranks since the last step: %s; each setter must be called with the same values on every rank", step, what);
}

PetscErrorCode MuonAgree_Private(Muon muon, MuonCall call)
{
  const PetscBool scheduled = muon->rates->scheduled.valid;
  unsigned int    hash;
  PetscBool       same;

  PetscFunctionBegin;
  muon->rates->scheduled.valid = PETSC_FALSE; /* of a step that was taken: MuonSetStepNumber() may have dropped it here alone */
  PetscCall(MuonHashOptions_Private(muon, &hash));
  PetscCall(MuonMeet_Private(muon, call, hash, &same, NULL));
  if (same == PETSC_FALSE && muon->setupcalled) {
    /* Layers may have numbers of a schedule whose step was refused */
    PetscCall(MuonFollowSchedule_Private(muon));
    PetscCall(MuonHashOptions_Private(muon, &hash));
    PetscCall(MuonMeet_Private(muon, call, hash, &same, NULL));
    if (same == PETSC_FALSE) PetscCall(MuonRaiseDifference_Private(muon));
  }
  muon->rates->scheduled.valid = scheduled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights of layers whose rows are spread over ranks are those of the first rank of the same position in
   its worker
*/
PetscErrorCode MuonCompareRows_Private(Muon muon, PetscInt stride, PetscInt weights, const unsigned int mine[], unsigned int first[])
{
  unsigned int *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->nlayers, &rows));
  for (PetscInt p = 0; p < muon->ngrids; p++) {
    if (muon->grid[p]->size == 1) continue;
    for (PetscInt l = 0; l < muon->nlayers; l++) rows[l] = mine[stride * l + weights];
    PetscCallMPI(MPI_Bcast(rows, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, muon->grid[p]->across));
    for (PetscInt l = 0; l < muon->nlayers; l++) {
      if (muon->place[l][MUON_PLACE_GRID] == p && muon->layer[l]->ranks > 1) first[stride * l + weights] = rows[l];
    }
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerHashBlocks_Private(MuonLayer layer, unsigned int *hash)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);

  PetscFunctionBegin;
  *hash = 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock block;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)&block, sizeof(block));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ranks with different layers would wait for each other or, worse, train different models. Therefore all ranks raise the same
   error, which names the layer. Each layer has six numbers, the options are one more; they are compared with those of rank 0.
   Before workers are known the last two numbers are left out.
*/
PetscErrorCode MuonCheckRanksAgree_Private(Muon muon, PetscBool workers)
{
  const char *const what[] = {"name differs", "shape differs", "field, precision, memory or order in it differs", "cut into blocks differs", "rows on the ranks of a worker differ", "weights differ"};
  enum {
    WHATS = PETSC_STATIC_ARRAY_LENGTH(what)
  };
  char          here[512];
  unsigned int *mine, *first;
  PetscInt      n    = WHATS * muon->nlayers + 1, differs, least; /* there are as many layers on each rank */
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(n, &mine, n, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer     layer = muon->layer[l];
    unsigned int *own   = mine + WHATS * l;
    MuonArray     shape;

    shape  = layer->shape;
    own[0] = layer->hash;
    own[1] = (unsigned int)layer->m * 2654435761u + (unsigned int)layer->n;
    own[2] = 8 * (unsigned int)shape.pairs + 4 * (unsigned int)shape.memory + 2 * (unsigned int)shape.precision + (unsigned int)layer->rowmajor;
    PetscCall(MuonLayerHashBlocks_Private(layer, &own[3]));
    if (workers == PETSC_FALSE) continue;
    own[4] = layer->ranges == NULL ? 0 : (unsigned int)MuonWireCRC32C(0, (const unsigned char *)layer->ranges, (size_t)(layer->ranks + 1) * sizeof(*layer->ranges));
    PetscCall(MuonLayerHashWeights(layer, -1, &own[5]));
  }
  PetscCall(MuonHashOptions_Private(muon, &mine[n - 1]));
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_UNSIGNED, 0, comm));
  if (workers) PetscCall(MuonCompareRows_Private(muon, WHATS, WHATS - 1, mine, first));
  for (differs = 0; differs < n && mine[differs] == first[differs]; differs++) {}
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  if (least == n - 1) {
    PetscCall(MuonFindDifference_Private(muon, sizeof(here), here));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "The options of the optimizer differ between the ranks: %s", here);
  }
  if (least < n) {
    MuonLayer layer = muon->layer[least / WHATS];

    PetscCall(PetscSNPrintf(here, sizeof(here), "here %" PetscInt_FMT " x %" PetscInt_FMT, layer->m, layer->n));
    if (least % WHATS == 2) PetscCall(PetscSNPrintf(here, sizeof(here), "here %s %s, %s-major", MuonFields[layer->shape.pairs], MuonArrayKernels(&layer->shape)->name, layer->rowmajor ? "row" : "column"));
    if (least % WHATS == 3) PetscCall(PetscSNPrintf(here, sizeof(here), "here %" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its %s between the ranks (%s), expected the same on each", ((PetscObject)layer)->name, what[least % WHATS], here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
