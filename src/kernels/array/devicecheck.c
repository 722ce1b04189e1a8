/*
   Compares the kernels of a device with those of the host. Both run the same calls with the same arrays. The arrays are on
   the host, and a device copies them. The results of the host are stored as hashes and numbers.
*/
#include "muondevicecheck.h"
#include "../codec/muonkernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest side of an array. A large layer is cut to it, which makes the check short */
#define MOST 256
/* More than the calls of kernels */
#define RESULTS 128
/* The arrays. Each has room for the longest result of a kernel */
enum {
  T,
  R,
  B,
  OTHER,
  OUT,
  MORE,
  THIRD,
  BITS,
  CODES,
  KEPT,
  ARRAYS
};

typedef struct {
  const MuonKernels *kernels;
  const MuonKernels *host;
  size_t             m, n, ld, bytes; /* bytes of an array with its gaps */
  char              *array[ARRAYS];
  double             f0[2 * MOST], f1[2 * MOST];
  int64_t            place[2 * MOST];
  size_t             calls;
  struct {
    uint64_t hash;
    double   number;
  } result[RESULTS]; /* the results of the host */
  const char *bad;
} Check;

static uint64_t Hash(const char *data, size_t bytes)
{
  uint64_t hash = bytes;

  for (size_t k = 0; k < bytes; k += 8) {
    uint64_t word = 0;

    memcpy(&word, data + k, bytes - k < 8 ? bytes - k : 8);
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* After a call: output and other arrays must be those of the host, and the number within bound of the host's. The outputs are then set back */
static void Compare(Check *s, const char *name, size_t bytes, double number, double bound)
{
  char          *out  = s->array[OUT];
  const uint64_t hash = Hash(out, bytes) + 3 * Hash(s->array[MORE], s->bytes) + 5 * Hash(s->array[THIRD], s->bytes);
  const size_t   call = s->calls++ % RESULTS;

  if (s->kernels == s->host) {
    s->result[call].hash   = hash;
    s->result[call].number = number;
  } else if (s->bad == NULL && (hash != s->result[call].hash || !(number == s->result[call].number || fabs(number - s->result[call].number) <= bound))) s->bad = name;
  memcpy(out, s->array[B], s->bytes);
  memset(s->array[MORE], 0, s->bytes);
  memset(s->array[THIRD], 0, s->bytes);
}

#define RUN(name, bytes, arguments) \
  do { \
    k->name arguments; \
    Compare(s, #name, bytes, 0, 0); \
  } while (0)

static void CheckPasses(Check *s)
{
  static const double coefficients[4][2] = {{1, 0}, {0.3, 0}, {-0.7, 1}, {0.25, 0.9}};
  const MuonKernels  *k                  = s->kernels;
  const size_t        m = s->m, n = s->n, ld = s->ld, all = s->bytes;
  const char         *X = s->array[T], *Y = s->array[R], *other = s->array[OTHER];
  char               *o = s->array[OUT], *more = s->array[MORE], *third = s->array[THIRD];
  const double        ulps = 2 * (double)(m * n) / 9007199254740992.0 * s->host->SumSquares(m, n, X, ld);
  MuonKernelLength    length;
  double              number;
  int                 exponent;

  for (int i = 0; i < 4; i++) {
    RUN(Axpby, all, (m, n, coefficients[i][0], X, ld, coefficients[i][1], o, ld));
    RUN(AxpbyOther, all, (m, n, coefficients[i][0], other, ld, coefficients[i][1], o, ld));
  }
  for (int i = 0; i < 2; i++) {
    Compare(s, "Momentum", all, k->Momentum(m, n, i * 0.9, Y, ld, 0.1, X, ld, o, ld), 0);
    Compare(s, "MomentumOther", all, k->MomentumOther(m, n, i * 0.9, Y, ld, 0.1, other, ld, o, ld), 0);
    Compare(s, "IsBelow", 0, k->IsBelow(m, n, X, ld, i == 0 ? HUGE_VAL : 0.5), 0);
    Compare(s, "AdamW", all, k->AdamW(m, n, X, ld, 0.9, 0.99, 1e-8, i, 0.1, 0.01, 0.02, 0.999, third, third, Y, ld, more, third, o, ld), 0);
  }
  memset(o, 255, s->host->size);
  Compare(s, "MomentumReplace", all, (double)k->MomentumReplace(m, n, 0.9, Y, ld, o, ld), 0);
  Compare(s, "Cautious", all, k->Cautious(m, n, 0.95, X, ld, -0.02, Y, ld, o, ld), 0);
  Compare(s, "SumSquares", 0, k->SumSquares(m, n, X, ld), 0);
  Compare(s, "SumAbs", 0, k->SumAbs(m, n, X, ld), 0);
  Compare(s, "MaxAbs", 0, k->MaxAbs(m, n, X, ld), 0);
  RUN(Divide, all, (m, n, X, ld, 0.7, 3, o, ld));
  Compare(s, "Euclidean", 0, k->Euclidean(m, X), 0);
  number = k->Norm(m, n, X, ld, &exponent);
  number = ldexp(number, exponent);
  Compare(s, "Norm", 0, number * number, 2 * ulps);
  Compare(s, "Dot", 0, k->Dot(m, n, X, ld, X, ld), ulps);
  for (int p = 1; p <= 4; p++) {
    number = k->VectorLength(m, X, p < 4 ? p : HUGE_VAL, &length);
    Compare(s, "VectorLength", 0, number + ldexp(length.fraction, length.exponent), p < 3 ? 0 : 2 * (double)(m + 8) / 9007199254740992.0 * s->host->SumAbs(m, 1, X, m));
  }
}

static void CheckVectors(Check *s)
{
  const MuonKernels *k = s->kernels;
  const size_t       m = s->m, n = s->n, ld = s->ld, all = s->bytes;
  const char        *X       = s->array[T];
  char              *o       = s->array[OUT];
  double            *numbers = (double *)s->array[MORE];

  for (int strided = 0; strided < 2; strided++) {
    const size_t vectors = strided ? m : n, length = strided ? n : m;

    s->host->VectorArgMax(m, n, X, ld, strided, s->f0, s->place);
    for (size_t i = 0; i < vectors; i++) s->f1[i] = (double)i / 7 - 1;
    RUN(VectorScale, all, (m, n, X, ld, strided, s->f0, s->f1, o, ld));
    RUN(VectorSign, all, (m, n, X, ld, strided, s->f1, o, ld));
    RUN(VectorPick, all, (m, n, X, ld, strided, s->place, s->f1, o, ld));
    RUN(VectorPower, all, (m, n, X, ld, strided, 1.0, s->f0, s->f1, o, ld));
    for (int power = 1; power <= 2; power++) RUN(VectorSums, 0, (m, n, X, ld, strided, power, numbers));
    RUN(VectorArgMax, 0, (m, n, X, ld, strided, numbers, (int64_t *)s->array[THIRD]));
    k->VectorPowers(m, n, X, ld, strided, 2.5, s->f0, s->f1);
    Compare(s, "VectorPowers", 0, s->f1[vectors / 2], 128 * (double)(length * length) / 9007199254740992.0);
  }
  for (size_t i = 0; i < MOST; i++) s->f0[i] = s->f1[i] = (double)i / 9 - 2;
  RUN(RankOne, all, (m, n, -0.3, s->f0, s->f1, o, ld));
}

static void CheckMessages(Check *s)
{
  const MuonKernels     *k = s->kernels, *host = s->host;
  const size_t           m = s->m, n = s->n, ld = s->ld, all = s->bytes, d = m * n, size = host->size, part = d / 3, counts[3] = {1, d / 10 + 1, d};
  const MuonKernelStream stream = {123, 4, 5, 6, 1};
  const char            *X      = s->array[T];
  char                  *o      = s->array[OUT];
  unsigned char         *bits = (unsigned char *)s->array[BITS], *codes = (unsigned char *)s->array[CODES], *mask = (unsigned char *)s->array[MORE];
  double                 number;

  for (int i = 0; i < 2; i++) {
    const char *Y = i == 0 ? NULL : s->array[R];

    RUN(Residual, all, (m, n, X, ld, Y, ld, part, d - part, o));
    RUN(ResidualStrided, all, (n, X, ld, Y, ld, m / 2, m - m / 2, o));
    for (int j = 0; j < 3; j++) {
      number = k->Top(m, n, X, ld, Y, ld, counts[j], mask, o, codes);
      Compare(s, "Top", counts[j] * size, number, 0);
      number = k->TopRounded(m, n, X, ld, Y, ld, counts[j], mask, (float *)o, codes);
      Compare(s, "TopRounded", counts[j] * sizeof(float), number, 0);
    }
    (void)k->Signs(m, n, X, ld, Y, ld, (unsigned char *)o, (unsigned char *)o + (d + 7) / 8, &number);
    Compare(s, "Signs", 2 * ((d + 7) / 8), number, 0);
    Compare(s, "Natural", 2 * (d / (1 + 2 * (size_t)i)), k->Natural(d / (1 + 2 * (size_t)i), X, &stream, 7, 1 + 2 * (uint64_t)i, (uint16_t *)o), 0);
    Compare(s, "ToSingle", d * sizeof(float), k->ToSingle(d, X, i, (float *)o), 0);
  }
  (void)host->Top(m, n, X, ld, s->array[R], ld, d / 5 + 1, bits, s->array[KEPT], codes);
  Compare(s, "Gather", (d / 5 + 1) * size, k->Gather(m, n, X, ld, s->array[R], ld, 1e3, bits, o), 0);
  for (int add = 0; add < 2; add++) {
    RUN(Scatter, all, (m, n, bits, 0, d, s->array[R], add, 0.3, o, ld));
    RUN(Spread, all, (m, n, part, d - part, s->array[R], add, 0.3, o, ld));
    for (int i = 0; i < 3; i++) RUN(SignsAxpby, all, (m, n, bits, add ? bits : NULL, i * 0.5, X, ld, 0.02, o, ld));
  }
  Compare(s, "Powers", 2 * d, k->Powers(d, X, MUON_KERNEL_HALF, (uint16_t *)o), 0);
  (void)host->Powers(d, X, 0, (uint16_t *)codes);
  RUN(NaturalValues, d * size, (d, (uint16_t *)codes, o));
  for (size_t b = 0; b < 2 * MOST; b++) s->f0[b] = 32;
  RUN(Quantize, d, (d, X, 8, s->f0, 7, &stream, 0, (unsigned char *)o));
  host->Quantize(d, X, 8, s->f0, 7, &stream, 0, codes);
  RUN(Dequantize, d * size, (d, codes, 0.013, o));
}

/* Products agree within the rounding of their sums. Orthonormal factors are not compared: they are not unique for a matrix of lower rank */
static void CheckProducts(Check *s)
{
  const MuonKernels *k = s->kernels, *host = s->host;
  const size_t       m = s->m, n = s->n, q = m < n ? m : n;
  const char        *X = s->array[T], *Y = s->array[R];
  const double       size = sqrt(host->SumSquares(m, n, X, s->ld) * host->SumSquares(m, n, Y, s->ld));

  for (int t = 0; t < 3; t++) {
    const int    transa = t == 0, transb = t == 1;
    const size_t inner = transa ? m : transb ? n : q;

    k->Multiply(transa, transb, q, q, inner, 0.7, X, s->ld, Y, s->ld, 0, s->array[KEPT], q);
    Compare(s, "Multiply", 0, host->Dot(q, q, s->array[KEPT], q, s->array[B], q), 2 * host->unit * (double)(inner + 2) * (double)(q * q) * size);
  }
}

int MuonKernelDeviceCheck(MuonPrecision precision, size_t m, size_t n, size_t length, char what[])
{
  const MuonDevice      *device = MuonDeviceGet();
  const MuonPrecision    other  = precision == MUON_SINGLE ? MUON_DOUBLE : MUON_SINGLE;
  const MuonKernelStream stream = {99, 1, 2, 3, 0};
  Check                 *s      = (Check *)calloc(1, sizeof(*s));
  char                  *memory = NULL;
  int                    same;

  if (length > 0) what[0] = '\0';
  if (s == NULL || device == NULL || device->start() != NULL) {
    free(s);
    return 0;
  }
  m       = m < MOST ? m : MOST;
  n       = n < MOST ? n : MOST;
  s->host = MuonKernelsGet(precision, MUON_HOST);
  s->m    = m;
  s->n    = n;
  device->stage(1);
  /* Without and with gaps */
  for (size_t gaps = 0; gaps < 2 && m * n > 0 && s->bad == NULL; gaps++) {
    const size_t entries = (m + 3 * gaps) * n + 64, room = (entries + MuonKernelTopRoom(m * n, m * n)) * sizeof(double) + MuonKernelTopScratch(m * n, sizeof(double));

    s->ld    = m + 3 * gaps;
    s->bytes = entries * sizeof(double);
    memory   = (char *)calloc(ARRAYS, room);
    if (memory == NULL) break;
    for (size_t a = 0; a < ARRAYS; a++) s->array[a] = memory + a * room;
    for (int a = T; a <= B; a++) {
      MuonKernelStreamWords(&stream, (uint64_t)a << 32, entries, (uint32_t *)s->array[CODES]);
      for (size_t k = 0; k < entries; k++) {
        /* Zeros of both signs, ties, powers of two and other numbers, over many binades */
        const uint32_t word = ((const uint32_t *)s->array[CODES])[k];
        const double   x    = ((word & 32u) != 0 ? -1.0 : 1.0) * (double)(word >> 6 >> word % 27) / 4194304.0;

        if (precision == MUON_SINGLE) ((float *)s->array[a])[k] = (float)x;
        else ((double *)s->array[a])[k] = x;
      }
    }
    MuonKernelsGet(other, MUON_HOST)->AxpbyOther(entries, 1, 1, s->array[T], entries, 0, s->array[OTHER], entries);
    for (int memories = 0; memories < 2; memories++) {
      s->kernels = memories == 0 ? s->host : MuonKernelsGet(precision, MUON_DEVICE);
      s->calls   = 0;
      memcpy(s->array[OUT], s->array[B], s->bytes);
      CheckPasses(s);
      CheckVectors(s);
      CheckMessages(s);
      CheckProducts(s);
    }
    free(memory);
  }
  device->stage(0);
  same = (m * n == 0 || memory != NULL) && s->bad == NULL;
  if (s->bad != NULL) snprintf(what, length, "kernel %s in %s precision on %s", s->bad, s->host->name, device->name);
  free(s);
  return same;
}
