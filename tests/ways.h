/*
   Every way to take a step of the problem, whose third layer is frozen and whose fifth is AdamW's: ef21 with each compression, dense with
   the momentum at server and worker, each over all exchanges, with sums where they are legal and with gather; then these with the sums
   of layers with owners going to all.
*/
#pragma once

#include "problem.h"

#define WAYS_FROZEN 2
#define WAYS_RATIO  "0.25"
#define WAYS_STEP   "step" /* down: the servers send the steps themselves */

/* What is compressed how; the sum over ranks needs identity up */
typedef struct {
  const char *up, *down, *upvalues, *downvalues, *init;
} Compression;

static const Compression Compressions[] = {{"identity", "identity", "native", "native", "zero"}, {"topk", "topk", "natural", "single", "zero"},     {"topk", "natural", "bf16", "single", "gradient"},  {"identity", "topk", "native", "native", "zero"},
                                           {"rankk", "identity", "single", "native", "zero"},    {"natural", "rankk", "single", "natural", "zero"}, {"identity", WAYS_STEP, "native", "native", "zero"}};

enum {
  COMPRESSIONS = PETSC_STATIC_ARRAY_LENGTH(Compressions)
};

typedef struct {
  const Compression *compression; /* NULL for dense */
  const char        *exchange;
  MuonExchangeMode   mode;
  PetscBool          atworker, star, replicated, steps, lossy[2]; /* lossy: up, down */
  char               options[768];
} Way;

/* Numbers from 0 on until *last; not all are legal */
static inline PetscErrorCode WayGet(PetscInt number, Way *way, PetscBool *legal, PetscBool *last)
{
  static const char *const exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const PetscInt           behind = number - 6 * (COMPRESSIONS + 2), e = behind >= 0 ? 1 : number % 3, sum = behind >= 0 ? 1 : (number / 3) % 2, what = behind == 0 ? 0 : behind > 0 ? COMPRESSIONS + behind - 1 : number / 6;
  const Compression *const c = what < COMPRESSIONS ? &Compressions[what] : NULL;
  char                     text[512];

  PetscFunctionBegin;
  way->compression = c;
  way->exchange    = exchanges[e];
  way->mode        = sum == 0 ? MUON_EXCHANGE_MODE_GATHER : e == 2 || behind >= 0 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE;
  way->atworker    = what == COMPRESSIONS ? PETSC_FALSE : PETSC_TRUE;
  way->star        = e == 0 ? PETSC_TRUE : PETSC_FALSE;
  way->replicated  = e == 2 ? PETSC_TRUE : PETSC_FALSE;
  way->steps       = c != NULL && strcmp(c->down, WAYS_STEP) == 0 ? PETSC_TRUE : PETSC_FALSE;
  way->lossy[0]    = c != NULL && strcmp(c->up, MUONCOMPRESSORIDENTITY) != 0 ? PETSC_TRUE : PETSC_FALSE;
  way->lossy[1]    = c != NULL && strcmp(c->down, MUONCOMPRESSORIDENTITY) != 0 && way->steps == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  *legal           = sum == 0 || way->lossy[0] == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  *last            = behind == 2 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscSNPrintf(way->options, sizeof(way->options), "-muon_exchange_type %s -muon_exchange_mode %s -muon_layer_types %s", way->exchange, MuonExchangeModes[way->mode], way->steps ? "wide:frozen" : "wide:frozen,gain:adamw"));
  if (c == NULL) PetscCall(PetscSNPrintf(text, sizeof(text), " -muon_type dense -muon_momentum_at %s -muon_nesterov %s", way->atworker ? "worker" : "server", way->atworker ? "none" : "ema"));
  else PetscCall(PetscSNPrintf(text, sizeof(text), " -muon_type ef21 -ef21_init %s -ef21_compressor_layers all -ef21_compressor %s -ef21_compressor_ratio " WAYS_RATIO, c->init, c->up));
  PetscCall(PetscStrlcat(way->options, text, sizeof(way->options)));
  if (way->lossy[0]) {
    PetscCall(PetscSNPrintf(text, sizeof(text), " -ef21_compressor_values %s", c->upvalues));
    PetscCall(PetscStrlcat(way->options, text, sizeof(way->options)));
  }
  if (way->lossy[1]) {
    PetscCall(PetscSNPrintf(text, sizeof(text), " -ef21_server_compressor %s -ef21_server_compressor_values %s -ef21_server_compressor_ratio " WAYS_RATIO, c->down, c->downvalues));
    PetscCall(PetscStrlcat(way->options, text, sizeof(way->options)));
  }
  if (way->steps) {
    PetscCall(PetscStrlcat(way->options, " -ef21_downlink step -muon_layer_square_lmo_type rowsum -muon_layer_tall_lmo_type nuclear -muon_layer_row_lmo_type l21 -muon_layer_gain_lmo_type colsum -muon_layer_embed_lmo_type l1", sizeof(way->options)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the ranks those that serve a layer */
static inline PetscErrorCode WayCountServers(const Problem *p, PetscInt *servers)
{
  PetscBool serves[8] = {PETSC_FALSE};

  PetscFunctionBegin;
  *servers = 0;
  for (PetscInt l = 0; l < p->n; l++) {
    PetscMPIInt owner;

    PetscCall(MuonLayerGetOwner(p->layer[l].layer, &owner));
    if (l == WAYS_FROZEN || owner < 0 || serves[owner]) continue;
    serves[owner] = PETSC_TRUE;
    ++*servers;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
