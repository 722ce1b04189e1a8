#include "muoncheckpoint.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonwire.h>
#include <string.h>

/*
   What was chosen, compared between the ranks: at set-up in words, layer by layer, for an error that names what differs; in each step as one hash, which rides on the agreement at its end.
*/

PetscErrorCode MuonInheritChoices_Private(Muon muon, MuonLayer layer)
{
  PetscReal rate, decay;

  PetscFunctionBegin;
  if (layer->momentumset == PETSC_FALSE) layer->momentum = MuonGetMomentumNow_Private(muon);
  PetscCall(MuonGetLayerRates_Private(muon, layer, &rate, &decay));
  layer->learning_rate = rate;
  layer->weight_decay  = decay;
  PetscCall(MuonLayerAdamWInherit_Private(layer, muon->adamw_beta1, muon->adamw_beta2, muon->adamw_epsilon));
  if (layer->shapefactorset == PETSC_FALSE) layer->shapefactor = muon->shape_factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything about a layer that is not a number of its own: rule, norm and polar factor, compressors, downlink */
static PetscErrorCode MuonLayerHashText_Private(Muon muon, MuonLayer layer, unsigned int *hash)
{
  char     text[4096];
  size_t   length;
  PetscInt kind;

  PetscFunctionBegin;
  PetscCall(MuonLayerChoices(layer, sizeof(text), text));
  PetscCall(MuonGetLayerAssemblyKind(muon, layer, &kind));
  PetscCall(PetscStrlen(text, &length));
  PetscCall(PetscSNPrintf(text + length, sizeof(text) - length, " assembly %" PetscInt_FMT, kind));
  for (PetscInt p = 0; p < muon->npieces; p++) {
    MuonPiece *piece = &muon->piece[p];

    if (piece->layer != layer) continue;
    PetscCall(PetscStrlcat(text, " up ", sizeof(text)));
    PetscCall(PetscStrlen(text, &length));
    PetscCall(MuonCompressorChoices_Private(piece->up, sizeof(text) - length, text + length));
    PetscCall(PetscStrlcat(text, piece->downlink == MUON_DOWNLINK_STEP ? " down step " : " down ", sizeof(text)));
    PetscCall(PetscStrlen(text, &length));
    PetscCall(MuonCompressorChoices_Private(piece->down, sizeof(text) - length, text + length));
  }
  PetscCall(PetscStrlen(text, &length));
  *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)text, length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonHashText_Private(Muon muon, unsigned int *hash)
{
  MuonExchange exchange;
  MuonAssembly assembly;
  char         text[1024], own[512] = "";
  size_t       length;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscTryTypeMethod(muon, choices, sizeof(own), own);
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s %s %s ", ((PetscObject)muon)->type_name, own, ((PetscObject)exchange)->type_name ? ((PetscObject)exchange)->type_name : ""));
  PetscCall(PetscStrlen(text, &length));
  PetscCall(PetscSNPrintf(text + length, sizeof(text) - length, "%d %d ", exchange->modeset ? (int)exchange->mode : -1, (int)exchange->assignment));
  PetscCall(MuonGetAssembly(muon, &assembly));
  PetscCall(PetscStrlen(text, &length));
  PetscCall(MuonAssemblyChoices_Private(assembly, sizeof(text) - length, text + length));
  PetscCall(PetscStrlen(text, &length));
  *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)text, length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonHashNumbers_Private(size_t count, const double numbers[], unsigned int *hash)
{
  *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)numbers, count * sizeof(*numbers));
}

static void MuonHashOwnNumbers_Private(Muon muon, unsigned int *hash)
{
  const double numbers[] = {(double)muon->learning_rate, (double)muon->dampening,      (double)muon->schedule_constant, (double)muon->schedule,        (double)muon->schedule_warmup,
                            (double)muon->max_steps,     (double)muon->momentum_style, (double)muon->nesterov,          (double)muon->momentum_at,     (double)muon->nan,
                            (double)muon->seed,          (double)muon->step,           (double)muon->state_precision,   (double)muon->monitorinterval, (double)muon->error_if_not_converged,
                            (double)muon->count_entropy};
  const double more[]    = {(double)muon->schedule_minimum,   (double)muon->momentum_warmup, (double)muon->momentum_warmup_start, (double)muon->weight_decay_style, (double)muon->clip,          (double)muon->clip_layers,
                            (double)muon->measure_update_rms, (double)muon->test_gradient,   (double)(muon->validation != NULL),  (double)muon->validationinterval, (double)muon->check_weights, (double)muon->device_batch};
  const double saves[]   = {(double)muon->checkpoint_interval, (double)muon->checkpoint_keep, (double)muon->checkpoint_seconds, (double)muon->restart_if_present, (double)muon->restart_state, (double)muon->restart_convert};
  const char  *folder[]  = {muon->checkpoint, muon->checkpoint_weights, muon->restart};
  const double given[]   = {(double)muon->scheduled.factor, (double)muon->scheduled.momentum, (double)muon->scheduled.decay};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(folder); k++) *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)(folder[k] != NULL ? folder[k] : ""), folder[k] != NULL ? strlen(folder[k]) + 1 : 1);
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)muon->programs->program[k].name, strlen(muon->programs->program[k].name) + 1);
  MuonHashNumbers_Private(PETSC_STATIC_ARRAY_LENGTH(saves), saves, hash);
  MuonHashNumbers_Private(PETSC_STATIC_ARRAY_LENGTH(more), more, hash);
  if (muon->schedulefn != NULL && muon->scheduled.valid) MuonHashNumbers_Private(PETSC_STATIC_ARRAY_LENGTH(given), given, hash);
  MuonHashNumbers_Private(PETSC_STATIC_ARRAY_LENGTH(numbers), numbers, hash);
}

static void MuonLayerHashNumbers_Private(MuonLayer layer, unsigned int *hash)
{
  const double numbers[] = {(double)layer->scale, (double)layer->learning_rate, (double)layer->momentum, (double)layer->weight_decay, (double)layer->shapefactor, (double)layer->wholegradient};

  MuonHashNumbers_Private(PETSC_STATIC_ARRAY_LENGTH(numbers), numbers, hash);
}

/* Changes whenever a setter of something that has choices was called */
static PetscErrorCode MuonGetChosen_Private(Muon muon, PetscObjectState *chosen)
{
  PetscFunctionBegin;
  *chosen = ((PetscObject)muon)->state + ((PetscObject)muon->exchange)->state;
  for (PetscInt p = 0; p < muon->npieces; p++) {
    const MuonPiece *piece = &muon->piece[p];

    *chosen += ((PetscObject)piece->layer)->state + ((PetscObject)piece->up)->state + ((PetscObject)piece->down)->state;
    if (piece->layer->lmo == NULL) continue;
    *chosen += ((PetscObject)piece->layer->lmo)->state;
    if (piece->layer->lmo->polar != NULL) *chosen += ((PetscObject)piece->layer->lmo->polar)->state;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashChoices_Private(Muon muon, unsigned int *hash)
{
  PetscObjectState chosen;

  PetscFunctionBegin;
  PetscCall(MuonGetChosen_Private(muon, &chosen));
  if (chosen != muon->chosen) {
    muon->chosen  = chosen;
    muon->choices = 0;
    PetscCall(MuonHashText_Private(muon, &muon->choices));
    for (PetscInt l = 0; l < muon->nactive; l++) PetscCall(MuonLayerHashText_Private(muon, muon->active[l], &muon->choices));
  }
  *hash = muon->choices;
  MuonHashOwnNumbers_Private(muon, hash);
  for (PetscInt l = 0; l < muon->nactive; l++) MuonLayerHashNumbers_Private(muon->active[l], hash);
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

/* The weights of layers whose rows are spread over ranks are those of the first rank of the same position in its worker */
static PetscErrorCode MuonCompareRows_Private(Muon muon, PetscInt stride, PetscInt weights, const unsigned int mine[], unsigned int first[])
{
  unsigned int *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->nlayers, &rows));
  for (PetscInt p = 0; p < muon->npartitions; p++) {
    if (muon->partition[p]->size == 1) continue;
    for (PetscInt l = 0; l < muon->nlayers; l++) rows[l] = mine[stride * l + weights];
    PetscCallMPI(MPI_Bcast(rows, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, muon->partition[p]->across));
    for (PetscInt l = 0; l < muon->nlayers; l++) {
      if (muon->partition_of[l] == p && muon->layer[l]->ranks > 1) first[stride * l + weights] = rows[l];
    }
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ranks that disagree on the layers would wait for each other or, worse, train different models: all ranks raise the same error that names the layer. Each layer has seven numbers, the optimizer's own choices are one more; rank 0's
   are compared with.
*/
PetscErrorCode MuonCheckRanksAgree_Private(Muon muon)
{
  const char *const what[] = {"name", "shape", "precision or order in memory", "cut into blocks", "options", "rows on the ranks of a worker", "weights"};
  enum {
    WHATS = PETSC_STATIC_ARRAY_LENGTH(what)
  };
  char          here[128];
  unsigned int *mine, *first;
  PetscInt      n    = WHATS * muon->nlayers + 1, differs, least;
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(n, &mine, n, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer     layer = muon->layer[l];
    unsigned int *own   = mine + WHATS * l;
    MuonArray     shape;

    PetscCall(MuonLayerGetShape(layer, &shape));
    own[0] = layer->hash;
    own[1] = (unsigned int)layer->m * 2654435761u + (unsigned int)layer->n;
    own[2] = 2 * (unsigned int)shape.precision + (unsigned int)layer->rowmajor;
    PetscCall(MuonLayerHashBlocks_Private(layer, &own[3]));
    PetscCall(MuonLayerHashText_Private(muon, layer, &own[4]));
    MuonLayerHashNumbers_Private(layer, &own[4]);
    own[5] = layer->ranges == NULL ? 0 : (unsigned int)MuonWireCRC32C(0, (const unsigned char *)layer->ranges, (size_t)(layer->ranks + 1) * sizeof(*layer->ranges));
    PetscCall(MuonLayerHashWeights(layer, -1, &own[6]));
  }
  PetscCall(MuonHashText_Private(muon, &mine[n - 1]));
  MuonHashOwnNumbers_Private(muon, &mine[n - 1]);
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, WHATS, WHATS - 1, mine, first));
  for (differs = 0; differs < n && mine[differs] == first[differs]; differs++) {}
  if (differs < n && differs % WHATS == 4 && mine[n - 1] != first[n - 1]) differs = n - 1; /* layers take over numbers of the optimizer's */
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  PetscCheck(least != n - 1, comm, PETSC_ERR_ARG_INCOMP, "The options of the optimizer differ between the ranks");
  if (least < n) {
    MuonLayer layer = muon->layer[least / WHATS];

    PetscCall(PetscSNPrintf(here, sizeof(here), "%" PetscInt_FMT " x %" PetscInt_FMT, layer->m, layer->n));
    if (least % WHATS == 3) PetscCall(PetscSNPrintf(here, sizeof(here), "%" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its %s differs between the ranks (here %s), expected the same on each", ((PetscObject)layer)->name, what[least % WHATS], here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindDrifted_Private(Muon muon, PetscInt slice, MuonLayer *layer)
{
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);
  unsigned int *mine, *first;
  PetscInt      differs = 0, least;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(muon->nlayers, &mine, muon->nlayers, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    if (muon->layer[l]->frozen == PETSC_FALSE) PetscCall(MuonLayerHashWeights(muon->layer[l], slice, &mine[l]));
  }
  PetscCall(PetscArraycpy(first, mine, muon->nlayers));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, 1, 0, mine, first));
  while (differs < muon->nlayers && mine[differs] == first[differs]) differs++;
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  muon->group[0]->bytes += (PetscLogDouble)(sizeof(differs) + (muon->rank == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0));
  for (PetscInt p = 0; p < muon->npartitions; p++) muon->group[0]->bytes += (PetscLogDouble)(muon->partition[p]->size > 1 && muon->partition[p]->worker == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0);
  *layer = least < muon->nlayers ? muon->layer[least] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
