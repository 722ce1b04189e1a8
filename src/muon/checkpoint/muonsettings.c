#include "muoncheckpoint.h"
#include <petscmuon/private/muonparameter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
   What may be set at any time, as text, a line each: a checkpoint has it, so that a run that goes on with
   other options says which.
*/

#define MUON_SETTINGS_SHOWN 16 /* lines at most */

typedef struct {
  char  *text;
  size_t length, room;
} MuonText;

PETSC_ATTRIBUTE_FORMAT(2, 3) static PetscErrorCode MuonTextAdd_Private(MuonText *text, const char format[], ...)
{
  va_list arguments;
  size_t  length;

  PetscFunctionBegin;
  if (text->length + 4096 > text->room) {
    text->room = 2 * text->room + 8192;
    PetscCall(PetscRealloc(text->room, &text->text));
  }
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(text->text + text->length, 4096, format, NULL, arguments));
  va_end(arguments);
  PetscCall(PetscStrlen(text->text + text->length, &length));
  text->length += length;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTextAddReal_Private(MuonText *text, const char key[], PetscReal value)
{
  char number[32];

  PetscFunctionBegin;
  PetscCall(MuonNumberWrite((double)value, sizeof(number), number));
  PetscCall(MuonTextAdd_Private(text, "%s %s\n", key, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that a layer has of its own, and how it is moved */
static PetscErrorCode MuonSettingsAddLayer_Private(Muon muon, MuonLayer layer, MuonText *text)
{
  const struct {
    const char *what;
    PetscReal   value;
    PetscBool   set;
  } number[]       = {{"learning_rate", layer->learning_rate, layer->learning_rateset}, {"momentum", layer->momentum, layer->momentumset}, {"weight_decay", layer->weight_decay, layer->weight_decayset}};
  const char *name = ((PetscObject)layer)->name;
  char        key[512], choices[3072];

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(number); k++) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "-muon_layer_%s_%s", name, number[k].what));
    if (number[k].set) PetscCall(MuonTextAddReal_Private(text, key, number[k].value));
    else PetscCall(MuonTextAdd_Private(text, "%s inherited\n", key));
  }
  PetscCall(MuonLayerChoices(layer, sizeof(choices), choices));
  PetscCall(MuonTextAdd_Private(text, "layer-%s %s\n", name, choices));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];

    if (shard->layer != layer) continue;
    PetscCall(MuonCompressorChoices_Private(shard->up, sizeof(choices), choices));
    PetscCall(MuonTextAdd_Private(text, "up-%s %s\n", shard->name, choices));
    PetscCall(MuonCompressorChoices_Private(shard->down, sizeof(choices), choices));
    PetscCall(MuonTextAdd_Private(text, "down-%s %s\n", shard->name, choices));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSettingsGet_Private(Muon muon, char **settings)
{
  const struct {
    const char *key;
    PetscReal   value;
  } number[] = {{"-muon_learning_rate", muon->learning_rate},
                {"-muon_schedule_warmup", (PetscReal)muon->schedule_warmup},
                {"-muon_schedule_constant", muon->schedule_constant},
                {"-muon_schedule_minimum", muon->schedule_minimum},
                {"-muon_max_steps", (PetscReal)muon->max_steps},
                {"-muon_momentum", muon->momentum},
                {"-muon_momentum_warmup", (PetscReal)muon->momentum_warmup},
                {"-muon_momentum_warmup_start", muon->momentum_warmup_start},
                {"-muon_dampening", muon->dampening},
                {"-muon_weight_decay", muon->weight_decay},
                {"-muon_clip", muon->clip},
                {"-muon_adamw_learning_rate", muon->adamw_learning_rate},
                {"-muon_adamw_weight_decay", muon->adamw_weight_decay},
                {"-muon_adamw_beta1", muon->adamw_beta1},
                {"-muon_adamw_beta2", muon->adamw_beta2},
                {"-muon_adamw_epsilon", muon->adamw_epsilon},
                {"-muon_sgd_learning_rate", muon->sgd_learning_rate},
                {"-muon_sgd_weight_decay", muon->sgd_weight_decay}};
  const struct {
    const char *key, *value;
  } name[]      = {{"-muon_schedule", MuonScheduleTypes[muon->schedule]},
                   {"-muon_momentum_style", MuonMomentumStyles[muon->momentum_style]},
                   {"-muon_nesterov", MuonNesterovTypes[muon->nesterov]},
                   {"-muon_weight_decay_style", MuonWeightDecayStyles[muon->weight_decay_style]},
                   {"-muon_clip_layers", MuonClipLayersTypes[muon->clip_layers]},
                   {"-muon_shape_factor", MuonShapeFactors[muon->shape_factor]},
                   {"-muon_state_precision", MuonStatePrecisions[muon->state_precision]},
                   {"-muon_nan", MuonNaNPolicies[muon->nan]},
                   {"-muon_exchange_type", ((PetscObject)muon->exchange)->type_name}};
  MuonText   text = {NULL, 0, 0};
  MuonLocale locale;

  PetscFunctionBegin;
  PetscCall(MuonLocaleBegin(&locale));
  PetscCall(MuonTextAdd_Private(&text, "ranks %d\n-muon_seed %" PetscInt64_FMT "\n", muon->size, muon->seed));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(number); k++) PetscCall(MuonTextAddReal_Private(&text, number[k].key, number[k].value));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(name); k++) PetscCall(MuonTextAdd_Private(&text, "%s %s\n", name[k].key, name[k].value));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonSettingsAddLayer_Private(muon, muon->layer[l], &text));
  PetscCall(MuonLocaleEnd(&locale));
  *settings = text.text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The value of a key in a text, up to the end of its line; NULL where there is none */
static const char *MuonSettingsFind_Private(const char text[], const char key[], size_t length)
{
  for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, length) == 0) return line + length;
  }
  return NULL;
}

/*
   Of a value, up to the end of its line: the word that begins at or before some place and the one before it.
   What a file has may be no text
*/
static void MuonSettingsShow_Private(const char value[], size_t place, char shown[], size_t room)
{
  const size_t end   = place + strcspn(value + place, " \n");
  size_t       words = 0, i = 0;

  while (place > 0 && (value[place - 1] != ' ' || ++words < 2)) place--;
  for (; place < end && i + 1 < room; i++, place++) shown[i] = (char)(value[place] >= ' ' && value[place] <= '~' ? value[place] : '?');
  shown[i] = '\0';
}

PetscErrorCode MuonSettingsCompare_Private(Muon muon, const char there[])
{
  char    *here;
  PetscInt others = 0;

  PetscFunctionBegin;
  PetscCall(MuonSettingsGet_Private(muon, &here));
  /* Rank 0 has the text of the file, and prints */
  for (const char *line = here; there != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
    const size_t key = strcspn(line, " ") + 1, length = strcspn(line, "\n") - key;
    const char  *was = MuonSettingsFind_Private(there, line, key), *is = line + key;
    size_t       same = 0;
    char         then[256], now[256];

    if (was == NULL) continue;
    while (same < length && was[same] == is[same]) same++;
    if (same == length && (was[length] == '\n' || was[length] == '\0')) continue;
    if (++others > MUON_SETTINGS_SHOWN) continue;
    MuonSettingsShow_Private(was, same, then, sizeof(then));
    MuonSettingsShow_Private(is, same, now, sizeof(now));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Checkpoint: %.*s was %s, now %s\n", (int)key - 1, line, then, now));
  }
  if (others > MUON_SETTINGS_SHOWN) PetscCall(PetscPrintf(PETSC_COMM_SELF, "Checkpoint: %" PetscInt_FMT " more options are others now\n", others - MUON_SETTINGS_SHOWN));
  PetscCall(PetscFree(here));
  PetscFunctionReturn(PETSC_SUCCESS);
}
