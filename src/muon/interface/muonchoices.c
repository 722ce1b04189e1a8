#include "muoninterface.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonwire.h>
#include <string.h>

/*
   What was chosen, compared between the ranks: at set-up in words, layer by layer, for an error that names
   what differs; in each step as one hash, which rides on the agreement at its end.
*/

PetscErrorCode MuonInheritChoices_Private(Muon muon, MuonLayer layer)
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
  if (MuonLayerIsSet(layer, "shape_factor") == PETSC_FALSE) layer->shape_factor = muon->shape_factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MUON_CHOICES_LENGTH 8192

/*
   What is compared: the hash of all values, and where there is a text, they in words. Choices that are one of
   a few have names
*/
typedef struct {
  unsigned int hash;
  char        *text; /* MUON_CHOICES_LENGTH, or NULL */
} MuonChoices;

static PetscErrorCode MuonChoicesAddWord_Private(MuonChoices *choices, const char name[], const char word[])
{
  size_t used;

  PetscFunctionBegin;
  choices->hash = (unsigned int)MuonWireCRC32C((uint32_t)choices->hash, (const unsigned char *)word, strlen(word) + 1);
  if (choices->text == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  used = strlen(choices->text);
  PetscCall(PetscSNPrintf(choices->text + used, MUON_CHOICES_LENGTH - used, "%s %s ", name, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonChoicesAdd_Private(MuonChoices *choices, const char name[], double value, const char *const names[])
{
  const unsigned int hash = (unsigned int)MuonWireCRC32C((uint32_t)choices->hash, (const unsigned char *)&value, sizeof(value));
  char               number[32];

  PetscFunctionBegin;
  if (choices->text != NULL) {
    PetscCall(PetscSNPrintf(number, sizeof(number), sizeof(PetscReal) == sizeof(float) ? "%.7g" : "%.15g", value));
    PetscCall(MuonChoicesAddWord_Private(choices, name, names == NULL ? number : value < 0 ? "default" : names[(int)value]));
  }
  choices->hash = hash;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Everything about a layer that is not a number of its own: rule, norm and polar factor, compressors,
   downlink
*/
static PetscErrorCode MuonLayerWords_Private(Muon muon, MuonLayer layer, MuonChoices *choices)
{
  char     text[4096];
  PetscInt kind;

  PetscFunctionBegin;
  PetscCall(MuonLayerChoices(layer, sizeof(text), text));
  PetscCall(MuonChoicesAddWord_Private(choices, "", text));
  PetscCall(MuonGetLayerAssemblyKind(muon, layer, &kind));
  PetscCall(MuonChoicesAdd_Private(choices, "assembly", (double)kind, MuonAssemblyKinds));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    if (shard->layer != layer) continue;
    PetscCall(MuonCompressorChoices_Private(shard->up, sizeof(text), text));
    PetscCall(MuonChoicesAddWord_Private(choices, "ef21_compressor", text));
    PetscCall(MuonCompressorChoices_Private(shard->down, sizeof(text), text));
    PetscCall(MuonChoicesAddWord_Private(choices, "ef21_server_compressor", text));
    PetscCall(MuonChoicesAdd_Private(choices, "ef21_downlink", (double)shard->downlink, MuonDownlinks));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonOwnWords_Private(Muon muon, MuonChoices *choices)
{
  MuonExchange exchange;
  char         text[1024] = "";

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscTryTypeMethod(muon, choices, sizeof(text), text);
  PetscCall(MuonChoicesAddWord_Private(choices, "-muon_type", ((PetscObject)muon)->type_name));
  PetscCall(MuonChoicesAddWord_Private(choices, ((PetscObject)muon)->type_name, text));
  PetscCall(MuonChoicesAddWord_Private(choices, "-muon_exchange_type", ((PetscObject)exchange)->type_name ? ((PetscObject)exchange)->type_name : "default"));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_exchange_mode", exchange->modeset ? (double)exchange->mode : -1, MuonExchangeModes));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_exchange_assignment", (double)exchange->assignment, MuonExchangeAssignments));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_assembly_precision", (double)muon->assembly.precision, MuonAssemblyPrecisions));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_assembly_assignment", (double)muon->assembly.assignment, MuonExchangeAssignments));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_assembly_chunk", (double)(muon->assembly.chunk == PETSC_DETERMINE ? muon->size : muon->assembly.chunk), NULL));
  PetscCall(MuonChoicesAdd_Private(choices, "-muon_assembly_warmup", (double)muon->assembly.warmup, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of the optimizer and of its type */
static PetscErrorCode MuonOwnRows_Private(Muon muon, MuonChoices *choices)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = muon->parameters.rows[k]; row != NULL && row->key != NULL; row++) {
      char  name[PETSC_MAX_OPTION_NAME];
      void *field;

      if (row->flags & MUON_PARAMETER_LOCAL) continue;
      (void)MuonParametersFind((PetscObject)muon, row->key, &field);
      if (choices->text != NULL) PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", row->flags & MUON_PARAMETER_BARE ? "" : "muon_", row->key));
      if (row->kind == MUON_PARAMETER_TEXT) PetscCall(MuonChoicesAddWord_Private(choices, name, *(char **)field != NULL ? *(char **)field : ""));
      else PetscCall(MuonChoicesAdd_Private(choices, name, MuonParameterGet_Private(row, field), row->kind == MUON_PARAMETER_BOOL ? PetscBools : row->kind == MUON_PARAMETER_ENUM ? row->names : NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no parameter beside them */
static PetscErrorCode MuonOwnNumbers_Private(Muon muon, MuonChoices *choices)
{
  const struct {
    const char        *name;
    double             value;
    const char *const *names;
  } numbers[] = {{"step", (double)muon->step, NULL}, {"validation", (double)(muon->validation != NULL), PetscBools}, {"validation interval", (double)muon->validationinterval, NULL}};

  PetscFunctionBegin;
  PetscCall(MuonOwnRows_Private(muon, choices));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(numbers); k++) PetscCall(MuonChoicesAdd_Private(choices, numbers[k].name, numbers[k].value, numbers[k].names));
  if (muon->schedulefn != NULL && muon->scheduled.valid) {
    PetscCall(MuonChoicesAdd_Private(choices, "scheduled factor", (double)muon->scheduled.factor, NULL));
    PetscCall(MuonChoicesAdd_Private(choices, "scheduled momentum", (double)muon->scheduled.momentum, NULL));
    PetscCall(MuonChoicesAdd_Private(choices, "scheduled decay", (double)muon->scheduled.decay, NULL));
  }
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) PetscCall(MuonChoicesAddWord_Private(choices, "program", muon->programs->program[k].name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerNumbers_Private(MuonLayer layer, MuonChoices *choices)
{
  PetscFunctionBegin;
  PetscCall(MuonChoicesAdd_Private(choices, "scale", (double)layer->scale, NULL));
  PetscCall(MuonChoicesAdd_Private(choices, "learning_rate", (double)layer->learning_rate, NULL));
  PetscCall(MuonChoicesAdd_Private(choices, "momentum", (double)layer->momentum, NULL));
  PetscCall(MuonChoicesAdd_Private(choices, "weight_decay", (double)layer->weight_decay, NULL));
  PetscCall(MuonChoicesAdd_Private(choices, "shape_factor", (double)layer->shape_factor, MuonShapeFactors));
  PetscCall(MuonChoicesAdd_Private(choices, "whole_gradient", (double)layer->wholegradient, PetscBools));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All of a layer's, or where that is NULL of the optimizer's own, in words: the first that differs, and
   where; "" where none does
*/
static PetscErrorCode MuonCompareChoices_Private(Muon muon, MuonLayer layer, size_t length, char text[])
{
  MPI_Comm    comm    = PetscObjectComm((PetscObject)muon);
  MuonChoices choices = {0, NULL};
  char       *first;
  size_t      at, name = 0, before = 0;
  PetscMPIInt differs, least;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(MUON_CHOICES_LENGTH, &choices.text, MUON_CHOICES_LENGTH, &first));
  if (layer == NULL) {
    PetscCall(MuonOwnWords_Private(muon, &choices));
    PetscCall(MuonOwnNumbers_Private(muon, &choices));
  } else {
    PetscCall(MuonLayerWords_Private(muon, layer, &choices));
    PetscCall(MuonLayerNumbers_Private(layer, &choices));
  }
  PetscCall(PetscMemcpy(first, choices.text, MUON_CHOICES_LENGTH));
  PetscCallMPI(MPI_Bcast(first, MUON_CHOICES_LENGTH, MPI_CHAR, 0, comm));
  /* With the word before the one that differs */
  for (at = 0; first[at] != '\0' && first[at] == choices.text[at]; at++) {
    if (first[at] != ' ') continue;
    name   = before;
    before = at + 1;
  }
  differs = first[at] == choices.text[at] ? muon->size : muon->rank;
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPI_INT, MPI_MIN, comm));
  text[0] = '\0';
  if (least < muon->size) {
    PetscCall(PetscSNPrintf(text, length, "%.*s on rank 0 and %.*s on rank %d", (int)(before - name + strcspn(first + before, " ")), first + name, (int)strcspn(choices.text + before, " "), choices.text + before, least));
    PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)length, MPI_CHAR, least, comm));
  }
  PetscCall(PetscFree2(choices.text, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindChoice_Private(Muon muon, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(MuonCompareChoices_Private(muon, NULL, length, text));
  for (PetscInt l = 0; l < muon->nactive && text[0] == '\0'; l++) {
    char name[128];

    PetscCall(MuonCompareChoices_Private(muon, muon->active[l], length, text));
    if (text[0] == '\0') continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), ", of layer \"%s\"", ((PetscObject)muon->active[l])->name));
    PetscCall(PetscStrlcat(text, name, length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes whenever a setter of something that has choices was called */
static PetscErrorCode MuonGetChosen_Private(Muon muon, PetscObjectState *chosen)
{
  PetscFunctionBegin;
  *chosen = ((PetscObject)muon)->state + ((PetscObject)muon->exchange)->state;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];

    *chosen += ((PetscObject)shard->layer)->state + ((PetscObject)shard->up)->state + ((PetscObject)shard->down)->state;
    if (shard->layer->lmo == NULL) continue;
    *chosen += ((PetscObject)shard->layer->lmo)->state;
    if (shard->layer->lmo->polar != NULL) *chosen += ((PetscObject)shard->layer->lmo->polar)->state;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashChoices_Private(Muon muon, unsigned int *hash)
{
  PetscObjectState chosen;
  MuonChoices      choices = {0, NULL};

  PetscFunctionBegin;
  PetscCall(MuonGetChosen_Private(muon, &chosen));
  if (chosen != muon->chosen) {
    PetscCall(MuonOwnWords_Private(muon, &choices));
    for (PetscInt l = 0; l < muon->nactive; l++) PetscCall(MuonLayerWords_Private(muon, muon->active[l], &choices));
    muon->chosen  = chosen;
    muon->choices = choices.hash;
  }
  choices.hash = muon->choices;
  PetscCall(MuonOwnNumbers_Private(muon, &choices));
  for (PetscInt l = 0; l < muon->nactive; l++) PetscCall(MuonLayerNumbers_Private(muon->active[l], &choices));
  *hash = choices.hash;
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
   raise the same error that names the layer. Each layer has seven numbers, the optimizer's own choices are
   one more; rank 0's are compared with.
*/
PetscErrorCode MuonCheckRanksAgree_Private(Muon muon)
{
  const char *const what[] = {"name differs", "shape differs", "precision, memory or order in it differs", "cut into blocks differs", "options differ", "rows on the ranks of a worker differ", "weights differ"};
  enum {
    OPTIONS = 4,
    WHATS   = PETSC_STATIC_ARRAY_LENGTH(what)
  };
  char          here[512];
  unsigned int *mine, *first;
  MuonChoices   choices = {0, NULL};
  PetscInt      n       = WHATS * muon->nlayers + 1, differs, least;
  MPI_Comm      comm    = PetscObjectComm((PetscObject)muon);

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
    choices.hash = 0;
    PetscCall(MuonLayerWords_Private(muon, layer, &choices));
    PetscCall(MuonLayerNumbers_Private(layer, &choices));
    own[OPTIONS] = choices.hash;
    own[5]       = layer->ranges == NULL ? 0 : (unsigned int)MuonWireCRC32C(0, (const unsigned char *)layer->ranges, (size_t)(layer->ranks + 1) * sizeof(*layer->ranges));
    PetscCall(MuonLayerHashWeights(layer, -1, &own[6]));
  }
  choices.hash = 0;
  PetscCall(MuonOwnWords_Private(muon, &choices));
  PetscCall(MuonOwnNumbers_Private(muon, &choices));
  mine[n - 1] = choices.hash;
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, WHATS, WHATS - 1, mine, first));
  for (differs = 0; differs < n && mine[differs] == first[differs]; differs++) {}
  if (differs < n && differs % WHATS == OPTIONS && mine[n - 1] != first[n - 1]) differs = n - 1; /* layers take over numbers of the optimizer's */
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  if (least == n - 1) {
    PetscCall(MuonCompareChoices_Private(muon, NULL, sizeof(here), here));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "The options of the optimizer differ between the ranks: %s", here);
  }
  if (least < n) {
    MuonLayer layer = muon->layer[least / WHATS];

    PetscCall(PetscSNPrintf(here, sizeof(here), "here %" PetscInt_FMT " x %" PetscInt_FMT, layer->m, layer->n));
    if (least % WHATS == 3) PetscCall(PetscSNPrintf(here, sizeof(here), "here %" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    if (least % WHATS == OPTIONS) PetscCall(MuonCompareChoices_Private(muon, layer, sizeof(here), here));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its %s between the ranks (%s), expected the same on each", ((PetscObject)layer)->name, what[least % WHATS], here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
