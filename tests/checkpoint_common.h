/*
   Runs that are saved and loaded, and all state of one as bytes.
*/
#pragma once

#include "parameter_common.h"
#include "ef21_common.h"
#include "fails.h"
#include <petscmuon/private/muonimpl.h>

#define STEPS 4

typedef struct {
  MuonType         type;
  MuonExchangeType exchange;
  const char      *up, *down;
  PetscReal        momentum;
  MuonMomentumAt   at;
  MuonEF21Init     init;
  PetscBool        single, slots;
} Case;

static const Case Cases[] = {{MUONEF21, MUONEXCHANGESTAR, MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORNATURAL, MUONCOMPRESSORRANDK, 0.5, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_GRADIENT, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGEREPLICATED, MUONCOMPRESSORTOPK, MUONCOMPRESSORIDENTITY, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_TRUE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORPOWERSGD, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORTOPK, TEST_STEP, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGESTAR, MUONCOMPRESSORIDENTITY, MUONCOMPRESSORIDENTITY, 0, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF14, MUONEXCHANGELAYERWISE, MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORTOPK, 0.9, MUON_MOMENTUM_AT_SERVER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGESTAR, MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, 0.9, MUON_MOMENTUM_AT_SERVER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONDENSE, MUONEXCHANGELAYERWISE, NULL, NULL, 0.9, MUON_MOMENTUM_AT_SERVER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONDENSE, MUONEXCHANGEREPLICATED, NULL, NULL, 0.9, MUON_MOMENTUM_AT_SERVER, MUON_EF21_INIT_ZERO, PETSC_TRUE, PETSC_FALSE},
                             {MUONDENSE, MUONEXCHANGESTAR, NULL, NULL, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_FALSE},
                             {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, 0.9, MUON_MOMENTUM_AT_SERVER, MUON_EF21_INIT_ZERO, PETSC_FALSE, PETSC_TRUE}};
#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(Cases))

static const TestShape Other[1] = {{"other", MUONLMOFROBENIUS, 3, 2, 0, PETSC_FALSE}};

/*
   change is 0, or the number of something that the optimizer has another way than the case says. Weights do
   not begin where those of the run that was saved did
*/
static inline PetscErrorCode Create(MPI_Comm comm, const Case *c, PetscInt change, TestProblem *p)
{
  MuonExchange   exchange;
  MuonCompressor compressor;

  PetscFunctionBegin;
  PetscCall(TestCreate(comm, change == 1 ? (c->type[0] == 'e' ? MUONDENSE : MUONEF21) : c->type, change == 2 ? TEST_LAYERS - 1 : change == 3 ? 1 : TEST_LAYERS, change == 3 ? Other : TestShapes, -1, p));
  p->noise = 4;
  PetscCall(MuonSetLearningRate(p->muon, 0.125));
  PetscCall(MuonSetMomentum(p->muon, change == 4 ? (c->momentum == 0 ? 0.5 : 0) : c->momentum, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  if (change != 1) PetscCall(MuonSetParameter(p->muon, "muon_momentum_at", MuonMomentumAts[c->at]));
  if (change == 5 || c->single) PetscCall(MuonSetParameter(p->muon, "muon_state_precision", MuonStatePrecisions[change == 5 && c->single ? MUON_STATE_PRECISION_NATIVE : MUON_STATE_PRECISION_SINGLE]));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, c->exchange));
  if (strcmp(c->type, MUONEF14) == 0 && change != 1) {
    PetscCall(MuonSetParameter(p->muon, "ef14_compressor", c->up));
    PetscCall(MuonSetParameter(p->muon, "ef14_compressor_ratio", "0.3"));
    PetscCall(MuonSetParameter(p->muon, "ef14_server_compressor", c->down));
    PetscCall(MuonSetParameter(p->muon, "ef14_server_compressor_ratio", "0.3"));
  } else if (c->up != NULL && change != 1) {
    PetscCall(MuonEF21GetCompressor(p->muon, &compressor));
    PetscCall(MuonCompressorSetType(compressor, change == 6 ? MUONCOMPRESSORRANKK : c->up));
    PetscCall(MuonCompressorSetRatio(compressor, 0.3));
    PetscCall(TestSetDown(p->muon, c->down, &compressor));
    PetscCall(MuonCompressorSetRatio(compressor, 0.3));
    PetscCall(TestSetOfMuonType(p->muon, MUONEF21, "ef21_init", MuonEF21Inits[c->init]));
    /* Of few norms a step is a message */
    for (PetscInt l = 0; l < p->n && TestIsStep(c->down); l++) {
      MuonLMO lmo;

      PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
      PetscCall(MuonLMOSetType(lmo, MUONLMOL1));
      if (l == 4) PetscCall(MuonParametersAssign((PetscObject)p->layer[l], "ef21_downlink", (double)MUON_DOWNLINK_WEIGHTS));
    }
  }
  for (PetscInt l = 0; l < p->n && c->slots; l++) {
    PetscCall(MuonParametersAssign((PetscObject)p->layer[l], "before", (double)(1 + l % 3))); /* rows, columns, entries */
    PetscCall(MuonParametersAssign((PetscObject)p->layer[l], "before_beta", 0.5));
    PetscCall(MuonParametersAssignText((PetscObject)p->layer[l], "after", "normuon_long,normuon_row"));
  }
  if (p->n > 4) PetscCall(MuonLayerSetType(p->layer[4], change == 7 ? MUONLAYERLMO : MUONLAYERADAMW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All state of a rank behind one another, with the names, and the weights */
typedef struct {
  size_t         bytes, room;
  unsigned char *data;
} Image;

static inline PetscErrorCode ImageAdd(Image *image, size_t bytes, const void *data)
{
  PetscFunctionBegin;
  if (image->bytes + bytes > image->room) {
    image->room = 2 * (image->bytes + bytes);
    PetscCall(PetscRealloc(image->room, &image->data));
  }
  PetscCall(PetscMemcpy(image->data + image->bytes, data, bytes));
  image->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ImageVisit(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  if (state->scratch) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ImageAdd((Image *)visitor->ctx, strlen(state->name), state->name));
  PetscCall(ImageAdd((Image *)visitor->ctx, state->bytes, state->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ImageCreate(TestProblem *p, Image *image)
{
  const PetscInt   d = TestTotal(p);
  MuonStateVisitor visitor;
  PetscReal       *weights;
  PetscInt         step;
  MuonTraffic      traffic;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(image, sizeof(*image)));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit = ImageVisit;
  visitor.ctx   = image;
  PetscCall(MuonVisitState(p->muon, &visitor));
  PetscCall(PetscMalloc1(d, &weights));
  PetscCall(TestGetAllWeights(p, weights));
  PetscCall(ImageAdd(image, (size_t)d * sizeof(*weights), weights));
  PetscCall(PetscFree(weights));
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCall(ImageAdd(image, sizeof(step), &step));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  PetscCall(ImageAdd(image, sizeof(traffic.total_up), traffic.total_up));
  PetscCall(ImageAdd(image, sizeof(traffic.total_down), traffic.total_down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CheckSame(TestProblem *p, TestProblem *q, PetscInt which, const char what[])
{
  Image a, b;

  PetscFunctionBegin;
  PetscCall(ImageCreate(p, &a));
  PetscCall(ImageCreate(q, &b));
  PetscCheck(a.bytes == b.bytes && memcmp(a.data, b.data, a.bytes) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %" PetscInt_FMT ": state of rank %d %s is not what it was (%d and %d bytes)", which, p->rank, what, (int)a.bytes, (int)b.bytes);
  PetscCall(PetscFree(a.data));
  PetscCall(PetscFree(b.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Steps(TestProblem *p, PetscInt steps)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Something else to begin with: other weights, the same on all ranks */
static inline PetscErrorCode Move(TestProblem *p)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = TestEntries(&p->shape[l]);
    PetscReal     *rows;

    PetscCall(PetscMalloc1(d, &rows));
    for (PetscInt e = 0; e < d; e++) rows[e] = TestNumber(l, e, 5, 5);
    PetscCall(TestSetWeights(p, l, rows));
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
