/*
   The kernels of a device beside those of the host. Both columns get the same arrays on the host, of which a
   device makes copies.
*/
#include "muondevicecheck.h"
#include "../codec/muonkernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sides of the arrays are cut to this, so that a large layer is checked in a moment */
#define MOST 512
/* Kernels that differ at most by so many units of the last place of a sum, for each of its terms */
#define ULPS 2.0

typedef struct {
  const MuonKernels *column[2]; /* host, device */
  MuonPrecision      precision;
  size_t             m, n, ld, bytes; /* of an array with its gaps */
  char              *T, *R, *B;       /* of that precision */
  char              *other;           /* the numbers of T in the other one */
  char              *out[2], *more[2], *third[2];
  double            *slice, *sum;
  int64_t           *place;
  unsigned char     *bits, *codes;
  const char        *bad;
} Check;

static uint64_t Next(uint64_t *state)
{
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Zeros of both signs, ties, powers of two and what lies between, over a few binades */
static double Number(uint64_t *state)
{
  const uint64_t bits  = Next(state);
  const double   sign  = (bits & 1u) != 0 ? -1 : 1;
  const double   grain = (double)(1 + (bits >> 8 & 15u)) / 8, fine = (double)(bits >> 11) / 9007199254740992.0;

  switch (bits >> 1 & 7u) {
  case 0:
    return 0 * sign;
  case 1:
    return sign * grain;
  case 2:
    return sign * ldexp(fine + 0.5, (int)(bits >> 4 & 31u) - 24);
  default:
    return sign * fine;
  }
}

static void Put(MuonPrecision precision, char *to, size_t k, double x)
{
  if (precision == MUON_SINGLE) ((float *)to)[k] = (float)x;
  else ((double *)to)[k] = x;
}

static double Get(MuonPrecision precision, const char *from, size_t k)
{
  return precision == MUON_SINGLE ? (double)((const float *)from)[k] : ((const double *)from)[k];
}

/* Both results of a number */
static int Near(double a, double b, double bound)
{
  return memcmp(&a, &b, sizeof(a)) == 0 || fabs(a - b) <= bound;
}

/*
   Runs statements for both columns, k being the table, c its number, o its output and r a number, and
   compares bytes of the outputs and the numbers
*/
#define SAME(name, some, ...) \
  do { \
    double number[2] = {0, 0}; \
    for (int c = 0; c < 2 && s->bad == NULL; c++) { \
      const MuonKernels *k = s->column[c]; \
      char              *o = s->out[c]; \
      double             r = 0; \
      (void)k; \
      memcpy(o, s->B, s->bytes); \
      memset(s->more[c], 0, s->bytes); \
      memset(s->third[c], 0, s->bytes); \
      __VA_ARGS__; \
      number[c] = r; \
    } \
    if (s->bad == NULL && (!Near(number[0], number[1], 0) || memcmp(s->out[0], s->out[1], some) != 0 || memcmp(s->more[0], s->more[1], s->bytes) != 0 || memcmp(s->third[0], s->third[1], s->bytes) != 0)) s->bad = name; \
  } while (0)

/* Likewise with a bound for the number */
#define CLOSE(name, bound, ...) \
  do { \
    double number[2] = {0, 0}; \
    for (int c = 0; c < 2 && s->bad == NULL; c++) { \
      const MuonKernels *k = s->column[c]; \
      double             r = 0; \
      __VA_ARGS__; \
      number[c] = r; \
    } \
    if (s->bad == NULL && !Near(number[0], number[1], bound)) s->bad = name; \
  } while (0)

static void CheckPasses(Check *s)
{
  const size_t m = s->m, n = s->n, ld = s->ld, flat = m * n;
  const double ulps = ULPS * (double)flat / 9007199254740992.0, coefficients[4][2] = {{1, 0}, {0.3, 0}, {-0.7, 1}, {0.25, 0.9}};
  double       norm, other;
  int          exponent = 0;

  for (int i = 0; i < 4; i++) {
    SAME("Axpby", s->bytes, k->Axpby(m, n, coefficients[i][0], s->T, ld, coefficients[i][1], o, ld));
    SAME("AxpbyOther", s->bytes, k->AxpbyOther(m, n, coefficients[i][0], s->other, ld, coefficients[i][1], o, ld));
  }
  for (int i = 0; i < 2; i++) {
    SAME("Momentum", s->bytes, r = k->Momentum(m, n, i * 0.9, s->R, ld, 0.1, s->T, ld, o, ld));
    SAME("MomentumOther", s->bytes, r = k->MomentumOther(m, n, i * 0.9, s->R, ld, 0.1, s->other, ld, o, ld));
    SAME("IsBelow", 0, r = k->IsBelow(m, n, s->T, ld, i == 0 ? HUGE_VAL : 0.5));
  }
  SAME("MomentumMend", s->bytes, {
    Put(s->precision, o, 0, (double)NAN);
    r = (double)k->MomentumMend(m, n, 0.9, s->R, ld, o, ld);
  });
  SAME("Cautious", s->bytes, r = k->Cautious(m, n, 0.95, s->T, ld, -0.02, s->R, ld, o, ld));
  SAME("SumSquares", 0, r = k->SumSquares(m, n, s->T, ld));
  SAME("SumAbs", 0, r = k->SumAbs(m, n, s->T, ld));
  SAME("MaxAbs", 0, r = k->MaxAbs(m, n, s->T, ld));
  SAME("Divide", s->bytes, k->Divide(m, n, s->T, ld, 0.7, 3, o, ld));
  SAME("Sign", s->bytes, k->Sign(m, n, -0.01, s->T, ld, o, ld));
  SAME("AdamW", s->bytes, r = k->AdamW(m, n, s->T, ld, 0.9, 0.99, 1e-8, c & 0, 0.1, 0.01, 0.02, 0.999, s->third[c], s->third[c], s->R, ld, s->more[c], s->third[c], o, ld));
  SAME("Largest", 0, r = k->Largest(m, s->T));
  SAME("Euclidean", 0, r = k->Euclidean(m, s->T));
  norm  = sqrt(s->column[0]->SumSquares(m, n, s->T, ld));
  other = sqrt(s->column[0]->SumSquares(m, n, s->R, ld));
  CLOSE("Norm", ulps * norm, {
    r = k->Norm(m, n, s->T, ld, &exponent);
    r = ldexp(r, exponent);
  });
  CLOSE("Dot", ulps * norm * other, r = k->Dot(m, n, s->T, ld, s->R, ld));
  CLOSE("IsOrdinary", 0, r = k->IsOrdinary(m, n, s->T, ld));
}

static void CheckSlices(Check *s)
{
  const size_t m = s->m, n = s->n, ld = s->ld;

  for (int across = 0; across < 2; across++) {
    const size_t slices = across ? m : n, length = across ? n : m, most = slices * sizeof(double) < s->bytes ? slices : s->bytes / sizeof(double);
    const double ulps = 64 * ULPS * (double)length / 9007199254740992.0;

    s->column[0]->SliceArgMax(m, n, s->T, ld, across, s->slice, s->place);
    for (size_t i = 0; i < slices; i++) s->sum[i] = (double)i / 7 - 1;
    SAME("SliceScale", s->bytes, k->SliceScale(m, n, s->T, ld, across, s->slice, s->sum, o, ld));
    SAME("SliceSign", s->bytes, k->SliceSign(m, n, s->T, ld, across, s->sum, o, ld));
    SAME("SlicePick", s->bytes, k->SlicePick(m, n, s->T, ld, across, s->place, s->sum, o, ld));
    SAME("SlicePower", s->bytes, k->SlicePower(m, n, s->T, ld, across, 1.0, s->slice, s->sum, o, ld));
    for (int power = 1; power <= 2; power++)
      SAME("SliceSums", 0, {
        double *sum = c == 0 ? s->sum : s->slice;

        k->SliceSums(m, n, s->T, ld, across, power, sum);
        memcpy(s->more[c], sum, most * sizeof(double));
      });
    SAME("SliceArgMax", 0, {
      k->SliceArgMax(m, n, s->T, ld, across, s->slice, s->place);
      memcpy(s->more[c], s->slice, most * sizeof(double));
      memcpy(s->third[c], s->place, most * sizeof(double));
    });
    CLOSE("SlicePowers", ulps * (double)length, {
      k->SlicePowers(m, n, s->T, ld, across, 2.5, s->slice, s->sum);
      r = s->sum[slices / 2];
    });
  }
  for (size_t i = 0; i < (m > n ? m : n); i++) s->slice[i] = s->sum[i] = (double)i / 9 - 2;
  SAME("RankOne", s->bytes, k->RankOne(m, n, -0.3, s->slice, s->sum, o, ld));
}

static void CheckMessages(Check *s)
{
  const size_t           m = s->m, n = s->n, ld = s->ld, d = m * n, size = s->column[0]->size, part = d / 3;
  const MuonKernelStream stream = {123, 4, 5, 6, 1};
  unsigned char         *bits   = s->bits;

  for (int i = 0; i < 2; i++) {
    const void *R = i == 0 ? NULL : s->R;

    SAME("Residual", s->bytes, k->Residual(m, n, s->T, ld, R, ld, part, d - part, o));
    SAME("ResidualAcross", s->bytes, k->ResidualAcross(n, s->T, ld, R, ld, m / 2, m - m / 2, o));
    for (int j = 0; j < 3; j++) {
      const size_t count = j == 0 ? 1 : j == 1 ? d / 10 + 1 : d;

      SAME("Top", count * size, {
        r = k->Top(m, n, s->T, ld, R, ld, count, bits, o, s->codes);
        memcpy(s->more[c], bits, (d + 63) / 64 * 8);
      });
      SAME("TopRounded", count * sizeof(float), {
        r = k->TopRounded(m, n, s->T, ld, R, ld, count, bits, (float *)o, s->codes);
        memcpy(s->more[c], bits, (d + 63) / 64 * 8);
      });
    }
    SAME("Signs", (d + 7) / 8, k->Signs(m, n, s->T, ld, R, ld, (unsigned char *)o, &r));
  }
  (void)s->column[0]->Top(m, n, s->T, ld, s->R, ld, d / 5 + 1, bits, s->out[0], s->codes);
  SAME("Gather", (d / 5 + 1) * size, r = k->Gather(m, n, s->T, ld, s->R, ld, 1e3, bits, o));
  for (int add = 0; add < 2; add++) {
    SAME("Scatter", s->bytes, k->Scatter(m, n, bits, 0, d, s->R, add, 0.3, o, ld));
    SAME("Spread", s->bytes, k->Spread(m, n, part, d - part, s->R, add, 0.3, o, ld));
    SAME("SignsAxpby", s->bytes, k->SignsAxpby(m, n, bits, add, -0.02, o, ld));
    SAME("SignsMove", s->bytes, k->SignsMove(m, n, bits, add ? bits : NULL, add ? 1 : 0.99, s->T, ld, 0.02, o, ld));
  }
  for (int i = 0; i < 2; i++) SAME("Natural", 2 * (d / (1 + 2 * (size_t)i)), r = k->Natural(d / (1 + 2 * (size_t)i), s->T, &stream, 7, 1 + 2 * (uint64_t)i, (uint16_t *)o));
  SAME("Powers", 2 * d, r = k->Powers(d, s->T, MUON_KERNEL_HALF, (uint16_t *)o));
  (void)s->column[0]->Powers(d, s->T, 0, (uint16_t *)s->codes);
  SAME("NaturalValues", d * size, k->NaturalValues(d, (uint16_t *)s->codes, o));
  SAME("ToSingle", d * sizeof(float), r = k->ToSingle(d, s->T, (float *)o));
  SAME("ToBF16", d * sizeof(float), r = k->ToBF16(d, s->T, (float *)o));
  for (size_t b = 0; b <= d / 64; b++) s->slice[b % (MOST * 2)] = 32;
  if (d / 64 < 2 * MOST) {
    SAME("Quantize", d, k->Quantize(d, s->T, 6, s->slice, 7, &stream, 0, (unsigned char *)o));
    s->column[0]->Quantize(d, s->T, 6, s->slice, 7, &stream, 0, s->codes);
    SAME("Dequantize", d * size, k->Dequantize(d, s->codes, 0.013, o));
  }
  for (int p = 1; p <= 4; p++)
    CLOSE("LineLength", p < 3 ? 0 : ULPS * (double)(m + 8) / 9007199254740992.0 * s->column[0]->SumAbs(m, 1, s->T, m), {
      MuonKernelLength length = {0, 0};

      r = k->LineLength(m, s->T, p < 4 ? p : HUGE_VAL, &length);
      r += ldexp(length.fraction, length.exponent);
    });
}

/* The Frobenius norm of Q^T Q - D, D having the squares of sizes on its diagonal, or ones */
static double OffDiagonal(const Check *s, size_t m, size_t l, const char *Q, const char *sizes, char *G)
{
  s->column[0]->Multiply(1, 0, l, l, m, 1, Q, m, Q, m, 0, G, l);
  for (size_t j = 0; j < l; j++) {
    const double size = sizes == NULL ? 1 : Get(s->precision, sizes, j);

    Put(s->precision, G, j * (l + 1), Get(s->precision, G, j * (l + 1)) - size * size);
  }
  return sqrt(s->column[0]->SumSquares(l, l, G, l));
}

/*
   Products and factors are the vendor's. Products of both columns are compared; factors of each are held
   against what defines them, since two methods may well differ where a matrix has not as many directions as
   columns. Bounds are so many roundings of sums of m terms in l columns
*/
static void CheckFactors(Check *s)
{
  static const int   trans[3][2] = {{1, 0}, {0, 1}, {0, 0}};
  const MuonKernels *host        = s->column[0];
  const size_t       m = s->m, q = m < s->n ? m : s->n, l = q < 8 ? q : 8, size = host->size;
  const double       unit = ULPS * host->unit, norm = sqrt(host->SumSquares(m, l, s->T, m));
  char              *WT = s->third[0], *S = s->third[1];

  for (int t = 0; t < 3; t++) {
    const size_t inner = trans[t][0] ? m : trans[t][1] ? s->n : q;

    for (int c = 0; c < 2; c++) s->column[c]->Multiply(trans[t][0], trans[t][1], q, q, inner, 0.7, s->T, s->ld, s->R, s->ld, 0, s->out[c], q);
    host->Axpby(q, q, -1, s->out[0], q, 1, s->out[1], q);
    if (!(sqrt(host->SumSquares(q, q, s->out[1], q)) <= unit * (double)(inner + 2) * sqrt(host->SumSquares(m, s->n, s->T, s->ld) * host->SumSquares(m, s->n, s->R, s->ld)))) s->bad = "Multiply";
  }
  for (int c = 0; c < 2 && s->bad == NULL; c++) {
    const MuonKernels *k = s->column[c];
    char              *Q = s->out[0], *rest = s->out[1], *G = s->more[0];
    size_t             entries[2] = {0, 0};
    void              *work;

    (void)k->Orthonormalize(m, l, Q, &entries[0], NULL);
    (void)k->Rotation(m, l, Q, NULL, NULL, &entries[1], NULL);
    work = malloc((entries[0] > entries[1] ? entries[0] : entries[1]) * size + 1);
    if (work == NULL) return;
    memcpy(Q, s->T, m * l * size);
    memcpy(rest, s->T, m * l * size);
    if (k->Orthonormalize(m, l, Q, &entries[0], work) != 0 || !(OffDiagonal(s, m, l, Q, NULL, G) <= 4 * unit * (double)(m * l))) s->bad = "Orthonormalize";
    host->Multiply(1, 0, l, l, m, 1, Q, m, s->T, m, 0, G, l);
    host->Multiply(0, 0, m, l, l, -1, Q, m, G, l, 1, rest, m);
    if (!(sqrt(host->SumSquares(m, l, rest, m)) <= 4 * unit * (double)(m * l) * norm)) s->bad = "Orthonormalize";
    memcpy(Q, s->T, m * l * size);
    if (k->Rotation(m, l, Q, WT, S, &entries[1], work) != 0 || !(OffDiagonal(s, l, l, WT, NULL, G) <= 4 * unit * (double)(m * l))) s->bad = "Rotation";
    host->Multiply(0, 1, m, l, l, 1, s->T, m, WT, l, 0, rest, m);
    if (!(OffDiagonal(s, m, l, rest, S, G) <= 8 * unit * (double)(m * l) * norm * norm)) s->bad = "Rotation";
    free(work);
  }
}

int MuonKernelDeviceCheck(MuonPrecision precision, size_t m, size_t n, size_t length, char what[])
{
  const MuonDevice   *device = MuonDeviceGet();
  const MuonPrecision other  = precision == MUON_SINGLE ? MUON_DOUBLE : MUON_SINGLE;
  uint64_t            state  = 99;
  Check check, *const s = &check;
  char  *memory;
  size_t slices;

  m = m < MOST ? m : MOST;
  n = n < MOST ? n : MOST;
  memset(s, 0, sizeof(*s));
  if (length > 0) what[0] = '\0';
  if (device == NULL || device->start() != NULL) return 0;
  if (m * n == 0) return 1;
  s->precision = precision;
  s->column[0] = MuonKernelsGet(precision, MUON_HOST);
  s->column[1] = MuonKernelsGet(precision, MUON_DEVICE);
  s->m         = m;
  s->n         = n;
  slices       = 2 * MOST;
  device->stage(1);
  /* Without gaps and with some */
  for (int gaps = 0; gaps < 2 && s->bad == NULL; gaps++) {
    size_t entries;

    s->ld    = m + 3 * (size_t)gaps;
    entries  = s->ld * n + MuonKernelTopRoom(m * n, m * n) + 64;
    s->bytes = (s->ld * n + 64) * sizeof(double);
    memory   = (char *)malloc(14 * entries * sizeof(double) + 3 * slices * sizeof(double) + MuonKernelTopScratch(m * n, sizeof(double)));
    if (memory == NULL) break;
    s->T     = memory;
    s->R     = s->T + entries * sizeof(double);
    s->B     = s->R + entries * sizeof(double);
    s->other = s->B + entries * sizeof(double);
    for (int c = 0; c < 2; c++) {
      s->out[c]   = s->other + (1 + 3 * (size_t)c) * entries * sizeof(double);
      s->more[c]  = s->out[c] + entries * sizeof(double);
      s->third[c] = s->more[c] + entries * sizeof(double);
    }
    s->bits  = (unsigned char *)s->third[1] + entries * sizeof(double);
    s->slice = (double *)(s->bits + entries * sizeof(double));
    s->sum   = s->slice + slices;
    s->place = (int64_t *)(s->sum + slices);
    s->codes = (unsigned char *)(s->place + slices);
    memset(memory, 0, 11 * entries * sizeof(double));
    for (size_t k = 0; k < s->ld * n + 64; k++) {
      Put(precision, s->T, k, Number(&state));
      Put(precision, s->R, k, Number(&state));
      Put(precision, s->B, k, Number(&state));
      Put(other, s->other, k, Get(precision, s->T, k));
    }
    CheckPasses(s);
    CheckSlices(s);
    CheckMessages(s);
    if (s->bad == NULL) CheckFactors(s);
    free(memory);
  }
  device->stage(0);
  if (s->bad != NULL) snprintf(what, length, "kernel %s in %s precision on %s", s->bad, s->column[0]->name, device->name);
  return s->bad == NULL;
}
