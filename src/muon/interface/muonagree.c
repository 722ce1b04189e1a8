#include "muoninterface.h"
#include <petscmuon/private/muonwire.h>
#include <string.h>

/*
   What ranks must agree on: one hash at set-up and in each step, which rides on the status reduction at its end,
   and where it differs the first option that does, with both values.
*/

PetscErrorCode MuonInheritOptions_Private(Muon muon, MuonLayer layer)
{
  PetscReal rate, decay;

  PetscFunctionBegin;
  PetscCall(MuonGetLayerRates_Private(muon, layer, &rate, &decay));
  PetscCall(MuonLayerInherit_Private(layer, "learning_rate", rate));
  PetscCall(MuonLayerInherit_Private(layer, "weight_decay", decay));
  PetscCall(MuonLayerInherit_Private(layer, "momentum", MuonGetMomentumNow_Private(muon)));
  PetscCall(MuonLayerInherit_Private(layer, "adamw_beta1", muon->adamw_beta1));
  PetscCall(MuonLayerInherit_Private(layer, "adamw_beta2", muon->adamw_beta2));
  PetscCall(MuonLayerInherit_Private(layer, "adamw_epsilon", muon->adamw_epsilon));
  if (!MuonLayerIsSet(layer, "shape_factor")) layer->shape_factor = muon->shape_factor;
  if (!MuonLayerIsSet(layer, "step")) layer->step = muon->step_type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not in the rows: the numbers of the optimizer, then one a layer */
static const char *const MuonNumbers[] = {"step", "validation", "validation interval", "scheduled factor", "scheduled momentum", "scheduled decay", "programs of checkpoints"};
enum {
  BESIDES = PETSC_STATIC_ARRAY_LENGTH(MuonNumbers)
};

static PetscErrorCode MuonGetNumbers_Private(Muon muon, double **numbers)
{
  const PetscBool scheduled = muon->schedulefn != NULL && muon->scheduled.valid ? PETSC_TRUE : PETSC_FALSE;
  uint32_t        programs  = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) programs = MuonWireCRC32C(programs, (const unsigned char *)muon->programs->program[k].name, strlen(muon->programs->program[k].name) + 1);
  PetscCall(PetscMalloc1(BESIDES + muon->nlayers, numbers));
  (*numbers)[0] = (double)muon->step;
  (*numbers)[1] = muon->validation != NULL ? 1 : 0;
  (*numbers)[2] = (double)muon->validationinterval;
  (*numbers)[3] = scheduled ? (double)muon->scheduled.factor : 0;
  (*numbers)[4] = scheduled ? (double)muon->scheduled.momentum : 0;
  (*numbers)[5] = scheduled ? (double)muon->scheduled.decay : 0;
  (*numbers)[6] = (double)programs;
  for (PetscInt l = 0; l < muon->nlayers; l++) (*numbers)[BESIDES + l] = muon->layer[l]->wholegradient ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashOptions_Private(Muon muon, unsigned int *hash)
{
  double *numbers;

  PetscFunctionBegin;
  PetscCall(MuonGetNumbers_Private(muon, &numbers));
  *hash = (unsigned int)MuonWireCRC32C(0, (const unsigned char *)numbers, sizeof(*numbers) * (size_t)(BESIDES + muon->nlayers));
  PetscCall(PetscFree(numbers));
  PetscCall(MuonParametersHash((PetscObject)muon, hash));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    PetscCall(MuonParametersHash((PetscObject)muon->shard[p].up, hash));
    PetscCall(MuonParametersHash((PetscObject)muon->shard[p].down, hash));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as text, a line each */
static PetscErrorCode MuonWriteOptions_Private(Muon muon, char **text)
{
  const size_t size = (size_t)(BESIDES + muon->nlayers) * (PETSC_MAX_OPTION_NAME + 64);
  double      *numbers;

  PetscFunctionBegin;
  PetscCall(MuonGetNumbers_Private(muon, &numbers));
  PetscCall(PetscCalloc1(size, text));
  for (PetscInt k = 0; k < BESIDES + muon->nlayers; k++) {
    const size_t used = strlen(*text);

    if (k < BESIDES) PetscCall(PetscSNPrintf(*text + used, size - used, "%s %.15g\n", MuonNumbers[k], numbers[k]));
    else PetscCall(PetscSNPrintf(*text + used, size - used, "layer %s: gradient %s\n", ((PetscObject)muon->layer[k - BESIDES])->name, numbers[k] > 0 ? "whole" : "rows"));
  }
  PetscCall(PetscFree(numbers));
  PetscCall(MuonParametersWrite((PetscObject)muon, text));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    PetscCall(MuonParametersWrite((PetscObject)muon->shard[p].up, text));
    PetscCall(MuonParametersWrite((PetscObject)muon->shard[p].down, text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindDifference_Private(Muon muon, size_t length, char text[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);
  char          *here, *first;
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
  if (least == muon->size) PetscCall(PetscStrncpy(text, "what they are is the same, the order in which they were made is not", length));
  else if (least == muon->rank) PetscCall(PetscSNPrintf(text, length, "%.*s%.*s on rank 0 and %.*s on rank %d", (int)(word - line), first + line, (int)strcspn(first + word, "\n"), first + word, (int)strcspn(here + word, "\n"), here + word, least));
  if (least < muon->size) PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)length, MPI_CHAR, least, comm));
  PetscCall(PetscFree(first));
  PetscCall(PetscFree(here));
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
   Ranks that disagree on the layers would wait for each other or, worse, train different models: all ranks
   raise the same error that names the layer. Each layer has six numbers, the options are one more; rank 0's are
   compared with.
*/
PetscErrorCode MuonCheckRanksAgree_Private(Muon muon)
{
  const char *const what[] = {"name differs", "shape differs", "precision, memory or order in it differs", "cut into blocks differs", "rows on the ranks of a worker differ", "weights differ"};
  enum {
    WHATS = PETSC_STATIC_ARRAY_LENGTH(what)
  };
  char          here[512];
  unsigned int *mine, *first;
  PetscInt      n    = WHATS * muon->nlayers + 1, differs, least;
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
    own[2] = 4 * (unsigned int)shape.memory + 2 * (unsigned int)shape.precision + (unsigned int)layer->rowmajor;
    PetscCall(MuonLayerHashBlocks_Private(layer, &own[3]));
    own[4] = layer->ranges == NULL ? 0 : (unsigned int)MuonWireCRC32C(0, (const unsigned char *)layer->ranges, (size_t)(layer->ranks + 1) * sizeof(*layer->ranges));
    PetscCall(MuonLayerHashWeights(layer, -1, &own[5]));
  }
  PetscCall(MuonHashOptions_Private(muon, &mine[n - 1]));
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, WHATS, WHATS - 1, mine, first));
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
    if (least % WHATS == 3) PetscCall(PetscSNPrintf(here, sizeof(here), "here %" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its %s between the ranks (%s), expected the same on each", ((PetscObject)layer)->name, what[least % WHATS], here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
