static char help[] = "Norm balls, polar factors and compressors of complex arrays, for tests/oracle/complex.py to do them again.\n";

#include <petscmuon.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "check_common.h"
#include <math.h>

/* What the objects of a kind are called, and what they are given */
typedef struct {
  const char *kind, *type, *keys[3][2]; /* lmo, polar or compressor */
} Case;

#define KEY(a, b) \
  { \
    a, b \
  }
static const Case Cases[] = {
  {"lmo", MUONLMOFROBENIUS, {{NULL}}},
  {"lmo", MUONLMOMAX, {{NULL}}},
  {"lmo", MUONLMOL1, {{NULL}}},
  {"lmo", MUONLMOCOLUMN, {{NULL}}},
  {"lmo", MUONLMOROW, {{NULL}}},
  {"lmo", MUONLMOCOLSUM, {{NULL}}},
  {"lmo", MUONLMOROWSUM, {{NULL}}},
  {"lmo", MUONLMOL21, {{NULL}}},
  {"lmo", MUONLMOMIXED, {KEY("lmo_mixed_exponent_p", "3"), KEY("lmo_mixed_exponent_q", "1.5")}},
  {"lmo", MUONLMONUCLEAR, {{NULL}}},
  {"lmo", MUONLMOSCHATTEN, {KEY("lmo_schatten_exponent", "3")}},
  {"lmo", MUONLMOSPECTRAL, {KEY("lmo_polar_type", "svd")}},
  {"polar", MUONPOLARSVD, {{NULL}}},
  {"polar", MUONPOLARNEWTONSCHULZ, {KEY("lmo_polar_precision", "double")}},
  {"polar", MUONPOLARNEWTONSCHULZ, {KEY("lmo_polar_precision", "single")}},
  {"polar", MUONPOLARNEWTONSCHULZ, {KEY("lmo_polar_precision", "double"), KEY("lmo_polar_normalization", "spectral")}},
  {"polar", MUONPOLARNEWTONSCHULZ, {KEY("lmo_polar_precision", "double"), KEY("lmo_polar_coefficients", "aol")}},
  {"polar", MUONPOLARGRAM, {KEY("lmo_polar_precision", "double")}},
  {"polar", MUONPOLARQDWH, {{NULL}}},
  {"polar", MUONPOLARZOLOTAREV, {{NULL}}},
  {"polar", MUONPOLARZOLOTAREV, {KEY("lmo_polar_precision", "double"), KEY("lmo_polar_zolotarev_poles", "8")}},
  {"compressor", MUONCOMPRESSORIDENTITY, {{NULL}}},
  {"compressor", MUONCOMPRESSORTOPK, {KEY("compressor_ratio", "0.3")}},
  {"compressor", MUONCOMPRESSORTOPK, {KEY("compressor_ratio", "0.3"), KEY("compressor_values", "double")}},
  {"compressor", MUONCOMPRESSORTOPK, {KEY("compressor_ratio", "0.3"), KEY("compressor_values", "natural")}},
  {"compressor", MUONCOMPRESSORRANDK, {KEY("compressor_ratio", "0.3"), KEY("compressor_values", "double")}},
  {"compressor", MUONCOMPRESSORNATURAL, {{NULL}}},
  {"compressor", MUONCOMPRESSORRANKK, {KEY("compressor_rank", "2"), KEY("compressor_values", "double")}},
  {"compressor", MUONCOMPRESSORRANKK, {KEY("compressor_rank", "2")}},
  {"compressor", MUONCOMPRESSORTOPSVD, {KEY("compressor_rank", "2"), KEY("compressor_values", "double")}},
  {"compressor", MUONCOMPRESSORQSGD, {KEY("compressor_bits", "4"), KEY("compressor_qsgd_block_length", "16"), KEY("compressor_values", "double")}},
};
static const size_t Shapes[][2] = {{1, 1}, {5, 3}, {3, 5}, {8, 8}, {70, 40}, {3, 100}, {40, 70}, {30, 32}};
enum {
  DRAWS = 400 /* messages of a compressor that draws, of small arrays */
};

static uint64_t seed = 37;

static double Gaussian(void)
{
  const double u = ((double)(NextBits(&seed) >> 11) + 1.0) / 9007199254740993.0, v = (double)(NextBits(&seed) >> 11) / 9007199254740992.0;

  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static double *At(const MuonArray *A, size_t i, size_t j, double both[2])
{
  const void *at = MuonArrayAt(A, i, j);

  for (int k = 0; k < 2; k++) both[k] = A->precision == MUON_SINGLE ? (double)((const float *)at)[k] : ((const double *)at)[k];
  return both;
}

/* By rows, as pairs of doubles */
static void Write(FILE *file, const MuonArray *A)
{
  double both[2];

  for (size_t i = 0; i < MuonArrayRows(A); i++) {
    for (size_t j = 0; j < MuonArrayColumns(A); j++) (void)fwrite(At(A, i, j, both), sizeof(both), 1, file);
  }
}

static PetscErrorCode Make(size_t m, size_t n, MuonPrecision precision, int rowmajor, MuonArray *A)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->len       = 2 * (rowmajor ? n : m);
  A->count     = rowmajor ? m : n;
  A->ld        = A->len + 6;
  A->precision = precision;
  A->rowmajor  = rowmajor;
  A->pairs     = 1;
  PetscCall(PetscCalloc1(A->ld * A->count * sizeof(double), (char **)&A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Fill(const MuonArray *A)
{
  for (size_t k = 0; k < A->ld * A->count; k++) {
    if (A->precision == MUON_SINGLE) ((float *)A->data)[k] = (float)Gaussian();
    else ((double *)A->data)[k] = Gaussian();
  }
}

static PetscErrorCode Set(PetscObject object, const Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3 && c->keys[k][0] != NULL; k++) PetscCall(MuonObjectSetParameter(object, c->keys[k][0], c->keys[k][1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunLMO(const Case *c, const MuonArray *G, const MuonArray *D, double numbers[3])
{
  const MuonMatrix from = MuonMatrixOfArray(G), to = MuonMatrixOfArray(D);
  MuonPolar        polar;
  MuonLMO          lmo;
  MuonStatus       status;
  PetscReal        norm;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetType(lmo, c->type));
  if (c->keys[0][0] != NULL && strcmp(c->keys[0][0], "lmo_polar_type") == 0) {
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, c->keys[0][1]));
  } else PetscCall(Set((PetscObject)lmo, c));
  lmo->pairs = 1;
  PetscCall(MuonLMOSetUp(lmo));
  PetscCall(MuonLMOApplyMatrix(lmo, &from, &to, &numbers[0], &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", c->type, MuonStatuses[status]);
  PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_FALSE, &from, &norm, NULL));
  numbers[1] = (double)norm;
  PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_TRUE, &from, &norm, NULL));
  numbers[2] = (double)norm;
  PetscCall(MuonLMODestroy(&lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Several factors at once have the bits of each alone: of G, whose factor alone is D, of another matrix, and of a real one of the same shape.
   Small ones take the flops of one pass: a factor that is wrong would be seen by its norm and computed again
*/
static PetscErrorCode CheckTogether(const Case *c, const MuonArray *G, const MuonArray *D)
{
  enum {
    MANY = 11,
    REAL = 5
  };
  const size_t   m = MuonArrayRows(G), n = MuonArrayColumns(G), bytes = D->ld * D->count * (D->precision == MUON_SINGLE ? sizeof(float) : sizeof(double));
  MuonArray      from[2] = {*G, *G}, alone[3] = {*D, *D, *D}, to[MANY];
  MuonMatrix     in[MANY], out[MANY];
  MuonPolar      polar[MANY];
  MuonStatus     status[MANY];
  PetscLogDouble before, after, flops;

  PetscFunctionBegin;
  PetscCall(Make(m, n, G->precision, G->rowmajor, &from[1]));
  Fill(&from[1]);
  for (int k = 0; k < 2; k++) {
    PetscCall(Make(m, n, G->precision, G->rowmajor, &alone[k + 1]));
    PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar[k]));
    PetscCall(MuonPolarSetType(polar[k], c->type));
    PetscCall(Set((PetscObject)polar[k], c));
  }
  polar[REAL] = polar[1];
  for (int k = 0; k < MANY; k++) {
    const int which = k == REAL ? 2 : k % 3 == 1;

    PetscCall(Make(m, n, G->precision, G->rowmajor, &to[k]));
    in[k]  = MuonMatrixOfArray(&from[which % 2]);
    out[k] = MuonMatrixOfArray(&to[k]);
    if (k != REAL) polar[k] = polar[0];
    if (k == REAL) {
      in[k].here.pairs = out[k].here.pairs = 0;
      in[k].here.len = out[k].here.len = G->len / 2;
    }
    if (k != REAL && k != 1) continue;
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar[k], &in[k], &out[k], status));
    PetscCall(PetscMemcpy(alone[which].data, to[k].data, bytes));
  }
  PetscCall(MuonPolarGetFlops(polar[0], (PetscInt)m, (PetscInt)n, &flops));
  PetscCall(PetscGetFlops(&before));
  PetscCall(MuonPolarApplyMatrices(1.0, MANY - 1 - REAL, polar + REAL + 1, in + REAL + 1, out + REAL + 1, status));
  PetscCall(PetscGetFlops(&after));
  PetscCheck(PetscMin(m, n) < 2 || PetscMax(m, n) > 32 || strcmp(c->type, MUONPOLARZOLOTAREV) || c->keys[0][0] || fabs(after - before - 4 * (MANY - 1 - REAL) * flops * (PetscDefined(USE_COMPLEX) ? 4 : 1)) < 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %d of %zu x %zu take %g flops, expected %g", c->type, MANY - 1 - REAL, m, n, after - before, 4 * (MANY - 1 - REAL) * flops * (PetscDefined(USE_COMPLEX) ? 4 : 1));
  PetscCall(MuonPolarApplyMatrices(1.0, MANY, polar, in, out, status));
  for (int k = 0; k < MANY; k++) {
    PetscBool same;

    PetscCall(PetscMemcmp(to[k].data, alone[k == REAL ? 2 : k % 3 == 1].data, bytes, &same));
    PetscCheck(status[k] == MUON_STATUS_OK && same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: matrix %d of several has another factor than alone", c->type, k);
    PetscCall(PetscFree(to[k].data));
  }
  PetscCall(MuonPolarDestroy(&polar[REAL]));
  PetscCall(MuonPolarDestroy(&polar[0]));
  for (int k = 1; k < 3; k++) PetscCall(PetscFree(alone[k].data));
  PetscCall(PetscFree(from[1].data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunPolar(const Case *c, const MuonArray *G, const MuonArray *D)
{
  const MuonMatrix from = MuonMatrixOfArray(G), to = MuonMatrixOfArray(D);
  MuonPolar        polar;
  MuonStatus       status;

  PetscFunctionBegin;
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, c->type));
  PetscCall(Set((PetscObject)polar, c));
  polar->pairs = 1;
  PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &from, &to, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", c->type, MuonStatuses[status]);
  PetscCall(CheckTogether(c, G, D));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of G - D / 4, then of G alone in other steps, of which their mean is in D; numbers: entries that were sent */
static PetscErrorCode RunCompressor(const Case *c, const MuonArray *G, const MuonArray *D, double numbers[3], FILE *file)
{
  MuonCompressor compressor;
  MuonArray      copy = *D;
  unsigned char *buf;
  size_t         max, bytes, entries = D->ld * D->count;
  PetscBool      valid;
  PetscReal      alpha = -1;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &compressor));
  PetscCall(MuonCompressorSetType(compressor, c->type));
  PetscCall(Set((PetscObject)compressor, c));
  PetscCheck(compressor->onpairs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes no complex arrays", c->type);
  PetscCall(MuonCompressorSetUp(compressor));
  PetscCall(MuonCompressorSetStream(compressor, 5, "layer", 0, 0));
  PetscCall(MuonCompressorGetMaxBytesOf(compressor, G, &max));
  PetscTryTypeMethod(compressor, alpha, G, &alpha);
  PetscCall(PetscMalloc1(max, &buf));
  copy.data = NULL;
  PetscCall(PetscCalloc1(entries * sizeof(double), (char **)&copy.data));
  for (PetscInt64 k = 0, draws = entries > 1000 ? 1 : DRAWS; k < draws; k++) {
    PetscCall(MuonCompressorSetStep(compressor, (PetscInt)k));
    PetscCall(MuonCompressorEncodeArray(compressor, G, NULL, max, buf, &bytes, PETSC_FALSE, NULL, NULL));
    PetscCall(MuonCompressorDecodeArray(compressor, PETSC_FALSE, 1.0, bytes, buf, &copy, &valid));
    PetscCheck(valid && compressor->status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a message is not valid", c->type);
    if (k == 0) Write(file, &copy);
    MuonArrayAxpby(1.0 / (double)draws, &copy, k == 0 ? 0.0 : 1.0, D);
  }
  numbers[0] = (double)bytes;
  numbers[1] = (double)alpha;
  /* What is added is the same, and R is taken off before numbers are chosen */
  PetscCall(MuonCompressorSetStep(compressor, 0));
  PetscCall(MuonCompressorEncodeArray(compressor, G, &copy, max, buf, &bytes, PETSC_FALSE, NULL, NULL));
  PetscCall(MuonCompressorDecodeArray(compressor, compressor->assignment ? PETSC_FALSE : PETSC_TRUE, 1.0, bytes, buf, &copy, &valid));
  PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a message is not valid", c->type);
  Write(file, &copy);
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(copy.data));
  PetscCall(MuonCompressorDestroy(&compressor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  MuonArray G, D;
  FILE     *index, *file;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/index", dir));
  index = fopen(path, "w");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/data", dir));
  file = fopen(path, "wb");
  PetscCheck(index != NULL && file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", path);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Cases); k++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(Shapes); s++) {
      for (int variant = 0; variant < 4; variant++) {
        const Case *c          = &Cases[k];
        double      numbers[3] = {0, 0, 0};

        PetscCall(Make(Shapes[s][0], Shapes[s][1], variant / 2 ? MUON_DOUBLE : MUON_SINGLE, variant % 2, &G));
        PetscCall(Make(Shapes[s][0], Shapes[s][1], variant / 2 ? MUON_DOUBLE : MUON_SINGLE, variant % 2, &D));
        Fill(&G);
        Write(file, &G);
        if (strcmp(c->kind, "lmo") == 0) PetscCall(RunLMO(c, &G, &D, numbers));
        else if (strcmp(c->kind, "polar") == 0) PetscCall(RunPolar(c, &G, &D));
        else PetscCall(RunCompressor(c, &G, &D, numbers, file));
        Write(file, &D);
        (void)fprintf(index, "%s %s %zu %zu %d %.17g %.17g %.17g", c->kind, c->type, Shapes[s][0], Shapes[s][1], variant, numbers[0], numbers[1], numbers[2]);
        for (int i = 0; i < 3 && c->keys[i][0] != NULL; i++) (void)fprintf(index, " %s=%s", c->keys[i][0], c->keys[i][1]);
        (void)fprintf(index, "\n");
        PetscCall(PetscFree(G.data));
        PetscCall(PetscFree(D.data));
      }
    }
  }
  (void)fclose(index);
  (void)fclose(file);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  build:
    requires: double

  test:
    requires: numpy
    oracle: complex.py

TEST*/
