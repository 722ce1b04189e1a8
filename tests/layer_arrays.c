static char help[] = "Types on arrays of both precisions and orders, with weights and state of the same precision and of different ones.\n";

#include <petscmuon.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <float.h>
#include "parameters.h"

#define Check(condition, ...)        PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)
#define LayerSet(layer, what, value) MuonParametersAssign((PetscObject)(layer), what, (double)(value))

#define TALL  7
#define WIDE  5
#define GAP   3 /* between lines, filled with what must stay */
#define STEPS 6
#define ROOM  ((TALL + GAP) * (WIDE + GAP))
#define KEPT  (-77.0)

/* All of these are numbers of either precision, so that the only errors are those of arithmetic */
static const double Rate = 0.03125, Scale = 1.5, Decay = 0.25, Beta[2] = {0.75, 0.875};

/* The grid of blocks of every second case */
static const PetscInt Rows[2] = {3, 4}, Columns[2] = {2, 3};

typedef struct {
  MuonArray array;
  double    memory[ROOM];
} Block;

static double Get(const MuonArray *A, size_t i, size_t j)
{
  const void *at = MuonArrayAt(A, i, j);

  return A->precision == MUON_SINGLE ? (double)*(const float *)at : *(const double *)at;
}

static void Set(const MuonArray *A, size_t i, size_t j, double x)
{
  void *at = MuonArrayAt(A, i, j);

  if (A->precision == MUON_SINGLE) *(float *)at = (float)x;
  else *(double *)at = x;
}

/* TALL x WIDE with gaps between the lines */
static void Make(MuonPrecision precision, int rowmajor, Block *block)
{
  MuonArray *A = &block->array;

  A->data      = block->memory;
  A->len       = rowmajor ? WIDE : TALL;
  A->count     = rowmajor ? TALL : WIDE;
  A->ld        = A->len + GAP;
  A->precision = precision;
  A->memory    = MUON_HOST;
  A->rowmajor  = rowmajor;
  A->pairs     = 0;
  for (size_t e = 0; e < A->ld * A->count; e++) {
    if (precision == MUON_SINGLE) ((float *)A->data)[e] = (float)KEPT;
    else ((double *)A->data)[e] = KEPT;
  }
}

static PetscErrorCode CheckGaps(const MuonArray *A)
{
  PetscFunctionBegin;
  for (size_t j = 0; j < A->count; j++) {
    for (size_t i = A->len; i < A->ld; i++) Check((A->precision == MUON_SINGLE ? (double)((float *)A->data)[j * A->ld + i] : ((double *)A->data)[j * A->ld + i]) == KEPT, "A gap was written to");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between 1/2 and 3/2 in size, of one sign for each entry: nothing cancels in the moments. Numbers of both precisions */
static double Gradient(size_t i, size_t j, PetscInt step)
{
  const unsigned int mix = (unsigned int)(i * 2654435761u + j * 40503u + (unsigned int)step * 97u) >> 5;

  return ((i + j) % 2 == 0 ? 1 : -1) * (0.5 + (mix % 4096) / 4096.0);
}

static double Weight(size_t i, size_t j)
{
  return ((double)(i * WIDE + j) - 17) / 16;
}

static double Epsilon(MuonPrecision precision)
{
  return precision == MUON_SINGLE ? FLT_EPSILON : DBL_EPSILON;
}

static PetscErrorCode CreateLayer(const Block *W, MuonLayerType type, MuonLMOType norm, PetscBool blocks, MuonLayer *layer)
{
  MuonLayerArray array;
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type     = W->array.precision == MUON_SINGLE ? PETSC_FLOAT : PETSC_DOUBLE;
  array.rowmajor = W->array.rowmajor ? PETSC_TRUE : PETSC_FALSE;
  array.M        = TALL;
  array.N        = WIDE;
  array.ld       = (PetscInt)W->array.ld;
  array.w        = W->array.data;
  PetscCall(MuonLayerCreateFromArray("w", &array, layer));
  PetscCall(MuonLayerSetType(*layer, type));
  if (strstr(type, "adamw") != NULL) {
    PetscCall(LayerSet(*layer, "adamw_beta1", (PetscReal)Beta[0]));
    PetscCall(LayerSet(*layer, "adamw_beta2", (PetscReal)Beta[1]));
  }
  PetscCall(MuonLayerSetScale(*layer, (PetscReal)Scale));
  PetscCall(MuonObjectSetParameter((PetscObject)*layer, "muon_layer_w_shape_factor", "scion"));
  if (blocks) PetscCall(MuonLayerSetBlocks(*layer, 2, Rows, 2, Columns));
  if (norm != NULL) {
    PetscCall(MuonLayerGetLMO(*layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, norm));
  }
  PetscTryTypeMethod(*layer, setup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is too long for a number is no step, whichever of rate and decay is; only a norm ball has a scale */
static PetscErrorCode CheckLong(MuonLayer layer, const Block *G, const Block *other)
{
  PetscFunctionBegin;
  for (PetscInt k = strcmp(((PetscObject)layer)->type_name, MUONLAYERLMO) == 0 ? 0 : 1; k < 2; k++) {
    MuonLayerStepInfo info = {STEPS, k == 0 ? 1e308 : 1e200, k == 0 ? 0 : 1e200, 0, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0};
    MuonStatus        status;
    MuonArray         X;

    PetscCall(MuonLayerSetScale(layer, k == 0 ? (PetscReal)64 : (PetscReal)Scale));
    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &X));
    PetscCall(MuonLayerStep(layer, &info, &G->array, &X, &other->array, &status));
    Check(status == MUON_STATUS_NANORINF, "%s: status %d of a step without bounds", ((PetscObject)layer)->type_name, (int)status);
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One layer for some steps: every entry against its formula; x gets the last weights. Norm balls are those of lmo_ball, and their steps those of step_oracle */
static PetscErrorCode Run(MuonLayerType type, PetscBool blocks, MuonPrecision weights, MuonPrecision state, int rowmajor, double x[])
{
  const double es = Epsilon(state), ew = Epsilon(weights);
  double       mean[TALL][WIDE] = {{0}}, square[TALL][WIDE] = {{0}}, power[2] = {1, 1};
  Block        W, G, other;
  MuonLayer    layer;
  double       epsilon = 0;

  PetscFunctionBegin;
  Make(weights, rowmajor, &W);
  for (size_t i = 0; i < TALL; i++) {
    for (size_t j = 0; j < WIDE; j++) Set(&W.array, i, j, Weight(i, j));
  }
  PetscCall(CreateLayer(&W, type, NULL, blocks, &layer));
  if (strcmp(type, MUONLAYERADAMW) == 0 || strcmp(type, MUONLAYERNADAMW) == 0) PetscCall(GetNumber((PetscObject)layer, "muon_layer_w_adamw_epsilon", NULL, &epsilon));
  for (PetscInt s = 0; s < STEPS; s++) {
    MuonLayerStepInfo info = {s, Rate, Decay, 0, 0, 0, -1, PETSC_FALSE, PETSC_FALSE, 0};
    MuonStatus        status;
    MuonArray         X;

    Make(state, rowmajor, &G);
    Make(weights, rowmajor, &other);
    /* A step that is not committed leaves nothing behind */
    for (PetscInt k = 0; k < 2; k++) {
      for (size_t i = 0; i < TALL; i++) {
        for (size_t j = 0; j < WIDE; j++) Set(&G.array, i, j, k == 0 ? 3 : Gradient(i, j, s));
      }
      PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &X));
      PetscCall(MuonLayerStep(layer, &info, &G.array, &X, &other.array, &status));
      Check(status == MUON_STATUS_OK, "%s: status %d", type, (int)status);
      PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &X));
    }
    PetscCall(CheckGaps(&G.array));
    PetscCall(CheckGaps(&other.array));
    power[0] *= Beta[0];
    power[1] *= Beta[1];
    for (size_t i = 0; i < TALL; i++) {
      for (size_t j = 0; j < WIDE; j++) {
        const double g = Gradient(i, j, s), old = Get(&W.array, i, j), got = Get(&other.array, i, j);
        double       move, keep = 1 - Rate * Decay, allowed;

        if (strcmp(type, MUONLAYERSGD) == 0) {
          move    = -Rate * g; /* the scale is that of a norm ball */
          allowed = 0;
        } else {
          double top;

          mean[i][j]   = Beta[0] * mean[i][j] + (1 - Beta[0]) * g;
          square[i][j] = Beta[1] * square[i][j] + (1 - Beta[1]) * g * g;
          top          = strcmp(type, MUONLAYERNADAMW) == 0 ? Beta[0] * mean[i][j] + (1 - Beta[0]) * g : mean[i][j];
          move         = -Rate * (top / (1 - power[0])) / (sqrt(square[i][j] / (1 - power[1])) + (double)epsilon);
          /* At most four roundings a step in each moment, none of which cancels, and ten in what is made of them */
          allowed = (8.0 * (double)(s + 1) + 10) * es * fabs(move);
        }
        allowed += 3 * ew * (fabs(keep * old) + fabs(move));
        Check(fabs(got - (keep * old + move)) <= allowed, "%s, weights %d, state %d, rowmajor %d, step %" PetscInt_FMT ", entry (%zu,%zu): %.17g, expected %.17g", type, (int)weights, (int)state, rowmajor, s, i, j, got, keep * old + move);
      }
    }
    Check(info.dual == 0, "%s: dual norm %g", type, info.dual);
    PetscTryTypeMethod(layer, commit);
    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, &X));
    MuonArrayAxpby(1, &other.array, 0, &X);
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_TRUE, &X));
  }
  PetscCall(CheckGaps(&W.array));
  for (size_t i = 0; i < TALL; i++) {
    for (size_t j = 0; j < WIDE; j++) x[i * WIDE + j] = Get(&W.array, i, j);
  }
  PetscCall(CheckLong(layer, &G, &other));
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRules(void)
{
  const char *const types[] = {MUONLAYERSGD, MUONLAYERADAMW, MUONLAYERNADAMW};

  PetscFunctionBegin;
  for (int c = 0; c < 3; c++) {
    for (int blocks = 0; blocks < 2; blocks++) {
      for (int weights = 0; weights < 2; weights++) {
        for (int state = 0; state < 2; state++) {
          double x[2][TALL * WIDE];

          for (int rowmajor = 0; rowmajor < 2; rowmajor++) PetscCall(Run(types[c], blocks ? PETSC_TRUE : PETSC_FALSE, (MuonPrecision)weights, (MuonPrecision)state, rowmajor, x[rowmajor]));
          /* No sum goes over entries: the order of memory changes no bit */
          Check(memcmp(x[0], x[1], sizeof(x[0])) == 0, "%s: row-major weights are others", types[c]);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step as a message is the step to the last bit, whatever the order of memory and the precisions */
static PetscErrorCode CheckMessages(MuonLMOType norm, PetscBool blocks, MuonPrecision weights, MuonPrecision state, int rowmajor)
{
  MuonLayerStepInfo  info = {0, Rate, Decay, 0, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0}, sent = info;
  MuonCompressorCost cost, none;
  MuonStatus         status;
  MuonLayer          layer;
  Block              W, G, X;
  size_t             most, bytes, again;
  unsigned char     *message;
  PetscBool          valid;
  char               reason[256];

  PetscFunctionBegin;
  Make(weights, rowmajor, &W);
  Make(weights, rowmajor, &X);
  Make(state, rowmajor, &G);
  for (size_t i = 0; i < TALL; i++) {
    for (size_t j = 0; j < WIDE; j++) {
      Set(&W.array, i, j, Weight(i, j));
      Set(&G.array, i, j, Gradient(i, j, 0));
    }
  }
  PetscCall(CreateLayer(&W, MUONLAYERLMO, norm, blocks, &layer));
  layer->state.precision = layer->state.kept = state;
  PetscCall(MuonLayerCanEncode_Private(layer, sizeof(reason), reason));
  Check(reason[0] == '\0', "%s", reason);
  PetscCall(MuonLayerStep(layer, &info, &G.array, &W.array, &X.array, &status));
  Check(status == MUON_STATUS_OK, "%s: status %d", norm, (int)status);
  PetscCall(MuonLayerGetMaxStepBytes(layer, &most));
  PetscCall(PetscMalloc1(most, &message));
  PetscCall(MuonLayerEncodeStep(layer, &sent, &G.array, most, message, &again, &status));
  PetscCall(MuonLayerEncodeStep(layer, &sent, &G.array, most, message, &bytes, &status));
  Check(status == MUON_STATUS_OK && bytes > 0 && bytes <= most && bytes == again && sent.dual == info.dual, "%s: %zu bytes of %zu, dual norm %g, expected %g", norm, bytes, most, sent.dual, info.dual);
  PetscCall(MuonLayerValidateStep(layer, bytes, message, PETSC_FALSE, &none, &valid));
  Check(valid, "%s: a message is not valid", norm);
  PetscCall(MuonLayerValidateStep(layer, bytes, message, PETSC_TRUE, &cost, &valid));
  Check(cost.encoded == 8.0 * (double)bytes && cost.paper > 0 && cost.entropy > 0 && cost.entropy < cost.encoded && none.paper == cost.paper && none.encoded == cost.encoded && none.entropy == -1, "%s: costs %g, %g, %g and %g", norm, cost.paper,
        cost.encoded, cost.entropy, none.entropy);
  PetscCall(MuonLayerDecodeStep(layer, &sent, bytes, message, &W.array));
  for (size_t i = 0; i < TALL; i++) {
    for (size_t j = 0; j < WIDE; j++)
      Check(Get(&W.array, i, j) == Get(&X.array, i, j), "%s, weights %d, state %d, rowmajor %d: entry (%zu,%zu) is %.17g, not %.17g", norm, (int)weights, (int)state, rowmajor, i, j, Get(&W.array, i, j), Get(&X.array, i, j));
  }
  PetscCall(CheckGaps(&W.array));
  PetscCall(CheckLong(layer, &G, &X));
  PetscCall(MuonLayerValidateStep(layer, bytes - 1, message, PETSC_FALSE, NULL, &valid));
  Check(valid == PETSC_FALSE, "%s: a message that is cut off is valid", norm);
  message[bytes / 2] ^= 0xFF;
  message[0] ^= 0x10;
  PetscCall(MuonLayerValidateStep(layer, bytes, message, PETSC_FALSE, NULL, &valid));
  Check(valid == PETSC_FALSE, "%s: another message is valid", norm);
  /* What cannot be sent is no message */
  Set(&G.array, 6, 4, (double)NAN);
  PetscCall(MuonLayerEncodeStep(layer, &sent, &G.array, most, message, &bytes, &status));
  Check(status == MUON_STATUS_NANORINF && bytes == 0, "%s: status %d of a gradient that is no number", norm, (int)status);
  PetscCall(MuonLayerSetType(layer, MUONLAYERSGD));
  PetscCall(MuonLayerCanEncode_Private(layer, sizeof(reason), reason));
  Check(strcmp(reason, "its type is sgd, expected lmo") == 0, "%s", reason);
  PetscCall(PetscFree(message));
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  size_t          bytes, scratch;
  int             count;
  MuonStateHolder holder;
  char            names[256];
} Seen;

static PetscErrorCode See(MuonStateVisitor *visitor, const MuonState *state)
{
  Seen *seen = (Seen *)visitor->ctx;

  PetscFunctionBegin;
  Check(strcmp(state->layer, "w") == 0, "State of layer %s", state->layer);
  seen->count++;
  seen->holder = state->holder;
  *(state->scratch ? &seen->scratch : &seen->bytes) += state->bytes;
  PetscCall(PetscStrlcat(seen->names, state->name, sizeof(seen->names)));
  PetscCall(PetscStrlcat(seen->names, " ", sizeof(seen->names)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State in the state's precision, each piece named once, and gone after a reset */
static PetscErrorCode CheckState(void)
{
  MuonLayerStepInfo info = {0, Rate, Decay, 0, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0};
  Seen              seen;
  MuonStateVisitor  visitor = {See, NULL, MUON_STATE_WORKER, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, &seen, NULL, NULL, NULL};
  MuonStatus        status;
  MuonLayerArray    gradient;
  MuonLayer         layer;
  Block             W, G, X;

  PetscFunctionBegin;
  Make(MUON_DOUBLE, 1, &W);
  Make(MUON_DOUBLE, 1, &X);
  Make(MUON_SINGLE, 1, &G);
  PetscCall(CreateLayer(&W, MUONLAYERADAMW, NULL, PETSC_FALSE, &layer));
  PetscCall(MuonLayerStep(layer, &info, &G.array, &W.array, &X.array, &status));
  PetscCall(PetscMemzero(&seen, sizeof(seen)));
  PetscCall(MuonLayerVisitState(layer, &visitor));
  Check(strcmp(seen.names, "adamw.mean adamw.square adamw.newmean adamw.newsquare adamw.steps ") == 0 && seen.bytes == 2 * TALL * WIDE * sizeof(float) + 8 && seen.scratch == 2 * TALL * WIDE * sizeof(float) && seen.holder == MUON_STATE_EVERYONE,
        "%zu bytes of state, %zu of scratch: %s", seen.bytes, seen.scratch, seen.names);
  PetscCall(MuonLayerReset(layer));
  PetscCall(MuonLayerGetGradientArray(layer, &gradient));
  PetscCall(PetscMemzero(&seen, sizeof(seen)));
  PetscCall(MuonLayerVisitState(layer, &visitor));
  Check(strcmp(seen.names, "gradient ") == 0 && seen.scratch == TALL * WIDE * sizeof(double) && seen.holder == MUON_STATE_WORKER, "State after a reset: %s", seen.names);
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each option changes what ranks compare */
static PetscErrorCode CheckHash(void)
{
  unsigned int hash[7] = {0};
  MuonLayer    layer;
  MuonLMO      lmo;
  Block        W;

  PetscFunctionBegin;
  Make(MUON_SINGLE, 0, &W);
  PetscCall(CreateLayer(&W, MUONLAYERLMO, MUONLMOMAX, PETSC_FALSE, &layer));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  for (int k = 0; k < 7; k++) {
    if (k == 1) PetscCall(MuonLMOSetType(lmo, MUONLMOROW));
    if (k == 2) PetscCall(MuonLayerSetScale(layer, (PetscReal)(1 + PETSC_MACHINE_EPSILON)));
    if (k == 3) PetscCall(MuonObjectSetParameter((PetscObject)layer, "muon_layer_w_shape_factor", "kj"));
    if (k == 4) PetscCall(MuonLayerSetType(layer, MUONLAYERADAMW));
    if (k == 5) PetscCall(LayerSet(layer, "adamw_beta2", (PetscReal)(0.95 + PETSC_MACHINE_EPSILON)));
    if (k == 6) PetscCall(LayerSet(layer, "adamw_epsilon", (PetscReal)1e-9));
    PetscCall(MuonParametersHash((PetscObject)layer, &hash[k]));
    Check(k == 0 || hash[k] != hash[k - 1], "Option %d does not change the hash", k);
  }
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A norm that one layer alone has: its keys for all layers hold for it, its own ones come after them */
static PetscErrorCode CheckKeys(void)
{
  MuonLayer layer;
  MuonLMO   lmo;
  Block     W;

  PetscFunctionBegin;
  Make(MUON_DOUBLE, 0, &W);
  PetscCall(PetscOptionsInsertString(NULL, "-keys_lmo_mixed_exponent_p 3 -keys_lmo_mixed_exponent_q 4 -keys_muon_layer_w_lmo_type mixed -keys_muon_layer_w_lmo_mixed_exponent_q 5"));
  PetscCall(CreateLayer(&W, MUONLAYERLMO, MUONLMOMAX, PETSC_FALSE, &layer));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, "keys_"));
  PetscCall(MuonLayerSetFromOptions((PetscObject)layer));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(CheckParameter((PetscObject)lmo, "lmo_mixed_exponent_p", "3"));
  PetscCall(CheckParameter((PetscObject)lmo, "lmo_mixed_exponent_q", "5"));
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const norms[5] = {MUONLMONUCLEAR, MUONLMOL1, MUONLMOROWSUM, MUONLMOCOLSUM, MUONLMOL21};

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckRules());
  for (int c = 0; c < 5 * 16; c++) PetscCall(CheckMessages(norms[c / 16], c & 1 ? PETSC_TRUE : PETSC_FALSE, c & 2 ? MUON_SINGLE : MUON_DOUBLE, c & 4 ? MUON_SINGLE : MUON_DOUBLE, c & 8 ? 1 : 0));
  PetscCall(CheckState());
  PetscCall(CheckHash());
  PetscCall(CheckKeys());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:

TEST*/
