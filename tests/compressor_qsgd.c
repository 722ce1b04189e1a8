static char help[] = "Block quantization: a message by hand, no bias, the variance of each entry, constants that worst cases come close to, scales that are rounded up, and what is not sent.\n";

#include "compressor_common.h"
#include "parameters.h"

typedef struct {
  PetscInt                bits, length;
  MuonCompressorBlockNorm norm;
  MuonCompressorValues    values;
} Choice;

static PetscErrorCode Create(const Choice *choice, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORQSGD));
  PetscCall(SetNumber((PetscObject)(*c), "compressor_bits", choice->bits));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", MuonCompressorValuesTypes[choice->values]));
  PetscCall(SetNumber((PetscObject)(*c), "compressor_qsgd_block_length", choice->length));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_qsgd_block_norm", MuonCompressorBlockNorms[choice->norm]));
  PetscCall(MuonCompressorSetStream(*c, 3, "w", 1, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With integers for |x| s / scale nothing is left to chance: 3 bits, the largest is 3, so that x itself is
   its level
*/
static PetscErrorCode CheckExample(void)
{
  const PetscScalar   x[]       = {3, -3, 1, -2, 0, -0.0};
  const unsigned char message[] = {11, 1, 0x53, 6, 7, 0xBE, 0x0A, 0x00, 0x00, 0x00, 0x40, 0x40};
  const Choice        choice    = {3, 512, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_SINGLE};
  MuonCompressor      c;
  MuonCompressorCost  cost;
  Mat                 X, Y;
  PetscScalar        *y;
  unsigned char      *buf;
  size_t              bytes;
  PetscBool           same;

  PetscFunctionBegin;
  PetscCall(Create(&choice, &c));
  PetscCall(TestMatCreate(2, 3, 1, &X));
  PetscCall(TestMatCreate(2, 3, 2, &Y));
  for (PetscInt e = 0; e < 6; e++) PetscCall(TestMatSetEntry(X, e, x[e]));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(PetscMemcmp(buf + 4, message, sizeof(message), &same));
  TestCheck(bytes == 4 + sizeof(message) && same, "The message of %zu bytes", bytes);
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
  for (PetscInt e = 0; e < 6; e++) TestCheck(y[e] == x[e], "Entry %" PetscInt_FMT " is %g, expected %g", e, (double)y[e], (double)x[e]);
  PetscCall(PetscFree(y));
  PetscCall(TestCost(c, 2, 3, bytes, buf, &cost));
  /* Four codes once, one twice, and the scale */
  TestCheck(cost.paper == 6 * 3 + 32 && cost.encoded == 8.0 * bytes && PetscAbs(cost.entropy - (4 * log2(6.0) + 2 * log2(3.0) + 32)) < 1e-12, "Costs %g, %g, %g", cost.paper, cost.encoded, cost.entropy);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Means and variances of all entries over many steps, within six standard deviations: of an entry y levels
   large, with the rest f, the variance is f (1 - f) in squares of a level, which is the scale of its block
   over s, and the fourth moment of the error is less than that. What binary32 and random numbers of 24 bits
   lose is 2^-16 of a level and less. total is the mean of ||C(X) - X||^2
*/
static PetscErrorCode CheckMoments(const Choice *choice, Mat X, PetscInt draws, double *total)
{
  const PetscInt s = ((PetscInt)1 << (choice->bits - 1)) - 1;
  MuonCompressor c;
  Mat            Y;
  PetscScalar   *x, *y;
  double        *sum, *squares;
  PetscInt       m, n, d;

  PetscFunctionBegin;
  PetscCall(Create(choice, &c));
  PetscCall(MatGetSize(X, &m, &n));
  d = m * n;
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  PetscCall(PetscCalloc2(d, &sum, d, &squares));
  *total = 0;
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
    for (PetscInt e = 0; e < d; e++) {
      sum[e] += (double)(y[e] - x[e]);
      squares[e] += PetscSqr((double)(y[e] - x[e]));
    }
    PetscCall(PetscFree(y));
  }
  for (PetscInt e = 0; e < d; e++) {
    const PetscInt begin = e / choice->length * choice->length, end = PetscMin(begin + choice->length, d);
    double         norm = 0, level, rest, variance;

    for (PetscInt k = begin; k < end; k++) norm = choice->norm == MUON_COMPRESSOR_BLOCK_NORM_MAX ? PetscMax(norm, (double)PetscAbsScalar(x[k])) : norm + PetscSqr((double)x[k]);
    if (choice->norm == MUON_COMPRESSOR_BLOCK_NORM_L2) norm = sqrt(norm);
    level    = norm / s;
    rest     = norm > 0 ? (double)PetscAbsScalar(x[e]) / level : 0;
    rest     = rest - floor(rest);
    variance = rest * (1 - rest);
    *total += squares[e] / draws;
    TestCheck(fabs(sum[e]) / draws <= level * (6 * sqrt(variance / draws) + 3e-5), "Entry %" PetscInt_FMT ", %g: the mean is off by %g levels", e, (double)x[e], sum[e] / draws / level);
    TestCheck(fabs(squares[e] / draws - level * level * variance) <= level * level * (6 * sqrt(variance / draws) + 3e-5), "Entry %" PetscInt_FMT ", %g: the variance is %g, expected %g squares of a level", e, (double)x[e],
              squares[e] / draws / level / level, variance);
  }
  PetscCall(PetscFree(x));
  PetscCall(PetscFree2(sum, squares));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The sum of the products of the errors of two objects over all entries and steps: where they draw
   independently it has the mean 0 and the variance of its terms, the squares of f (1 - f) in fourth powers of
   a level; the same numbers make it a sum of squares instead, tens of its standard deviations
*/
static PetscErrorCode CheckIndependence(Mat X)
{
  const struct {
    const char *what, *layer;
    PetscInt64  seed;
    PetscInt    sender, direction, later;
    PetscBool   same;
  } cases[]             = {{"the same stream", "w", 3, 1, 0, 0, PETSC_TRUE}, {"another sender", "w", 3, 2, 0, 0, PETSC_FALSE}, {"the other direction", "w", 3, 1, 1, 0, PETSC_FALSE},
                           {"another layer", "v", 3, 1, 0, 0, PETSC_FALSE},  {"another seed", "w", 4, 1, 0, 0, PETSC_FALSE},   {"the next step", "w", 3, 1, 0, 1, PETSC_FALSE}};
  const Choice   choice = {4, 16, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_DOUBLE};
  const PetscInt draws  = 60;
  MuonCompressor a, b;
  Mat            Y, Z;
  PetscScalar   *x, *y, *z;
  PetscInt       m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatCreate(m, n, 0, &Z));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  PetscCall(Create(&choice, &a));
  PetscCall(Create(&choice, &b));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    double sum = 0, squares = 0;

    PetscCall(MuonCompressorSetStream(b, cases[k].seed, cases[k].layer, cases[k].sender, cases[k].direction));
    for (PetscInt step = 0; step < draws; step++) {
      PetscCall(MuonCompressorSetStep(a, step));
      PetscCall(MuonCompressorSetStep(b, step + cases[k].later));
      PetscCall(MuonCompressorApply(a, X, Y));
      PetscCall(MuonCompressorApply(b, X, Z));
      PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
      PetscCall(TestMatGet(Z, PETSC_FALSE, &z));
      for (PetscInt e = 0; e < m * n; e++) {
        const double product = (double)(y[e] - x[e]) * (double)(z[e] - x[e]);

        sum += product;
        squares += product * product;
      }
      PetscCall(PetscFree(y));
      PetscCall(PetscFree(z));
    }
    if (cases[k].same) TestCheck(sum > 20 * sqrt(squares), "%s: errors differ (%g)", cases[k].what, sum / sqrt(squares));
    else TestCheck(fabs(sum) <= 6 * sqrt(squares), "%s: errors depend on each other (%g)", cases[k].what, sum / sqrt(squares));
  }
  PetscCall(PetscFree(x));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(MuonCompressorDestroy(&a));
  PetscCall(MuonCompressorDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUnbiased(unsigned long long *state)
{
  Mat    X;
  double total;

  PetscFunctionBegin;
  /* 7 x 13: the last block is shorter, and blocks end within columns, one of them of zeros */
  PetscCall(TestMatCreate(7, 13, 1, &X));
  PetscCall(TestMatNormal(X, 1.0, state));
  for (PetscInt e = 14; e < 35; e++) PetscCall(TestMatSetEntry(X, e, 0.0));
  for (PetscInt bits = 2; bits <= 8; bits += 3) {
    for (int norm = 0; norm < 2; norm++) {
      const Choice choice = {bits, norm == 0 ? 16 : 32, (MuonCompressorBlockNorm)norm, MUON_COMPRESSOR_VALUES_DOUBLE};

      PetscCall(CheckMoments(&choice, X, 600, &total));
    }
  }
  PetscCall(CheckIndependence(X));
  PetscCall(TestMatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The constant against matrices made for the worst: with the norm max one entry of each block at the last
   level and the others at y = s / (s + sqrt(s^2 + B - 1)), with l2 all at 1/2 and so many at 3/2 that the
   squares add up. There is a constant where the variance stays below the square, and nowhere else
*/
static PetscErrorCode CheckConstant(const Choice *choice, PetscInt blocks, PetscReal reached)
{
  const PetscInt B = choice->length, s = ((PetscInt)1 << (choice->bits - 1)) - 1, draws = 60;
  MuonCompressor c;
  Mat            X, Y;
  PetscScalar    x;
  PetscReal      alpha, squares = 0, error = 0;
  double         total = 0, omega;

  PetscFunctionBegin;
  PetscCall(Create(choice, &c));
  PetscCall(TestMatCreate(B, blocks, 0, &X));
  PetscCall(TestMatCreate(B, blocks, 0, &Y));
  for (PetscInt e = 0; e < blocks * B; e++) {
    if (choice->norm == MUON_COMPRESSOR_BLOCK_NORM_MAX) x = e % B == B / 3 ? (PetscReal)1 : 1 / (s + PetscSqrtReal((PetscReal)(s * s + B - 1)));
    else x = e % B < (4 * s * s - B) / 8 ? 1.5 : 0.5;
    PetscCall(TestMatSetEntry(X, e, e % 2 == 0 ? x : -x));
  }
  PetscCall(TestMatSquares(X, &squares));
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatAxpby(-1.0, X, 1.0, Y));
    PetscCall(TestMatSquares(Y, &error));
    total += (double)error / draws;
  }
  omega = total / (double)squares;
  PetscCall(MuonCompressorGetAlpha(c, B, blocks, &alpha));
  if (reached > 0) {
    /*
       draws B blocks errors, each of which deviates by less than half the square of a level: far less than a
       percent of all
    */
    TestCheck(alpha > 0 && omega <= 1.01 * (1 - (double)alpha), "%" PetscInt_FMT " bits, %s: the variance is %g, alpha %g", choice->bits, MuonCompressorBlockNorms[choice->norm], omega, (double)alpha);
    TestCheck(omega >= (double)reached * (1 - (double)alpha), "%" PetscInt_FMT " bits, %s: the variance is only %g, alpha %g", choice->bits, MuonCompressorBlockNorms[choice->norm], omega, (double)alpha);
  } else TestCheck(alpha == -1.0 && omega > 1, "%" PetscInt_FMT " bits, %s: the variance is %g, alpha %g", choice->bits, MuonCompressorBlockNorms[choice->norm], omega, (double)alpha);
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckConstants(void)
{
  const struct {
    PetscInt                bits, length;
    MuonCompressorBlockNorm norm;
    PetscReal               reached;
  } table[] = {{3, 64, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0.97},   {4, 256, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0.97}, {5, 512, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0.97},
               {8, 1024, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0.97}, {4, 512, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0},    {2, 64, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0},
               {4, 128, MUON_COMPRESSOR_BLOCK_NORM_L2, 0.9},    {5, 512, MUON_COMPRESSOR_BLOCK_NORM_L2, 0.97},  {5, 256, MUON_COMPRESSOR_BLOCK_NORM_L2, 0.9}};
  /* Blocks of up to so many entries have a constant: the table of the man page */
  const PetscInt longest[2][6] = {{64, 256, 1024, 4096, 16384, 65536}, {32, 128, 512, 2048, 8192, 32768}};
  MuonCompressor c;
  PetscReal      alpha;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    const Choice choice = {table[k].bits, table[k].length, table[k].norm, MUON_COMPRESSOR_VALUES_SINGLE};

    PetscCall(CheckConstant(&choice, 4096 / table[k].length, table[k].reached));
  }
  for (PetscInt bits = 2; bits <= 8; bits++) {
    for (int norm = 0; norm < 2; norm++) {
      for (PetscInt length = 16; length <= 65536; length *= 2) {
        for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
          const Choice    choice = {bits, length, (MuonCompressorBlockNorm)norm, (MuonCompressorValues)values};
          const PetscBool known  = bits > 2 && length <= longest[norm][bits - 3] ? PETSC_TRUE : PETSC_FALSE;

          PetscCall(Create(&choice, &c));
          PetscCall(MuonCompressorGetAlpha(c, 300, 300, &alpha));
          if (values != MUON_COMPRESSOR_VALUES_NATURAL)
            TestCheck((alpha > 0) == known && alpha < 1 && (alpha > 0 || alpha == -1), "%" PetscInt_FMT " bits, blocks of %" PetscInt_FMT ", %s: alpha is %g", bits, length, MuonCompressorBlockNorms[norm], (double)alpha);
          else TestCheck(known || alpha == -1, "%" PetscInt_FMT " bits, blocks of %" PetscInt_FMT ", %s, natural scales: alpha is %g", bits, length, MuonCompressorBlockNorms[norm], (double)alpha);
          /* A layer shorter than a block */
          PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
          if (norm == 0 && values != MUON_COMPRESSOR_VALUES_NATURAL) TestCheck(alpha > (PetscReal)0.98, "One entry: alpha is %g", (double)alpha);
          PetscCall(MuonCompressorGetAlpha(c, 0, 4, &alpha));
          TestCheck(alpha == 1, "No entry: alpha is %g", (double)alpha);
          PetscCall(MuonCompressorDestroy(&c));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A scale is the norm rounded up: never below it, and the largest entry within its rounding */
static PetscErrorCode CheckScales(MuonCompressorValues values, MuonCompressorBlockNorm norm, unsigned long long *state)
{
  const PetscReal units[] = {PETSC_MACHINE_EPSILON, PETSC_MACHINE_EPSILON, PETSC_MACHINE_EPSILON + (PetscReal)1.2e-7, 1.0 / 128, 1.0};
  const Choice    choice  = {8, 16, norm, values};
  MuonCompressor  c;
  Mat             X, Y;
  PetscScalar    *y, x;

  PetscFunctionBegin;
  PetscCall(Create(&choice, &c));
  PetscCall(TestMatCreate(1, 16, 0, &X));
  PetscCall(TestMatCreate(1, 16, 0, &Y));
  for (PetscInt k = 0; k < 500; k++) {
    x = PetscPowRealInt(2.0, (int)(TestBits(state) % 100) - 50) * (1 + TestUniform(state));
    PetscCall(TestMatSet(X, 0, k % 16, x));
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
    /*
       Of 127 levels the one that is x is a whole number only where the scale is x; else it may be the next
       one on either side
    */
    TestCheck(PetscAbsScalar(y[k % 16] - x) <= x * (1 + units[values]) / 127, "%g became %g with scales as %s", (double)x, (double)y[k % 16], MuonCompressorValuesTypes[values]);
    if (values <= MUON_COMPRESSOR_VALUES_DOUBLE) TestCheck(PetscAbsScalar(y[k % 16] - x) <= 4 * PETSC_MACHINE_EPSILON * x, "%g alone became %g", (double)x, (double)y[k % 16]);
    PetscCall(PetscFree(y));
    PetscCall(TestMatSet(X, 0, k % 16, 0.0));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of sixteen entries with x in it, and then one of ones: what becomes of x, or the status */
static PetscErrorCode CheckEdge(const Choice *choice, PetscScalar x, MuonStatus expected, PetscScalar becomes)
{
  MuonCompressor c;
  MuonStatus     status;
  Mat            X, Y;
  PetscScalar   *y;
  unsigned char *buf;
  size_t         bytes;
  PetscBool      valid;

  PetscFunctionBegin;
  PetscCall(Create(choice, &c));
  PetscCall(TestMatCreate(8, 5, 1, &X));
  PetscCall(TestMatCreate(8, 5, 1, &Y));
  PetscCall(TestMatSetEntry(X, 7, x));
  for (PetscInt e = 16; e < 40; e++) PetscCall(TestMatSetEntry(X, e, 1.0));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == expected && (bytes > 0) == (status == MUON_STATUS_OK), "%g: status %s, %zu bytes", (double)x, MuonStatuses[status], bytes);
  if (status == MUON_STATUS_OK) {
    PetscCall(MuonCompressorValidate(c, 8, 5, bytes, buf, &valid));
    TestCheck(valid, "%g: a good message is refused", (double)x);
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
    PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
    for (PetscInt e = 0; e < 16; e++) TestCheck(e == 7 ? PetscAbsScalar(y[e] - becomes) <= PetscAbsScalar(becomes) * (PetscReal)1e-6 : y[e] == 0, "%g: entry %" PetscInt_FMT " became %g", (double)x, e, (double)y[e]);
    /* The last block has eight entries */
    for (PetscInt e = 16; e < 40 && choice->norm == MUON_COMPRESSOR_BLOCK_NORM_MAX; e++) TestCheck(PetscAbsScalar(y[e] - 1) < (PetscReal)1e-6, "%g: entry %" PetscInt_FMT " became %g", (double)x, e, (double)y[e]);
    PetscCall(PetscFree(y));
  }
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEdges(void)
{
  PetscFunctionBegin;
  for (int norm = 0; norm < 2; norm++) {
    Choice choice = {4, 16, (MuonCompressorBlockNorm)norm, MUON_COMPRESSOR_VALUES_SINGLE};

    PetscCall(CheckEdge(&choice, NAN, MUON_STATUS_NANORINF, 0));
    PetscCall(CheckEdge(&choice, INFINITY, MUON_STATUS_NANORINF, 0));
    PetscCall(CheckEdge(&choice, -INFINITY, MUON_STATUS_NANORINF, 0));
    PetscCall(CheckEdge(&choice, 0, MUON_STATUS_OK, 0));
    PetscCall(CheckEdge(&choice, (PetscScalar)-3e38, MUON_STATUS_OK, (PetscScalar)-3e38));
    PetscCall(CheckEdge(&choice, (PetscScalar)1.2e-38, MUON_STATUS_OK, (PetscScalar)1.2e-38));
    /* Subnormal in binary32 */
    PetscCall(CheckEdge(&choice, (PetscScalar)-1.1e-38, MUON_STATUS_OK, 0));
    choice.values = MUON_COMPRESSOR_VALUES_BF16;
    PetscCall(CheckEdge(&choice, (PetscScalar)3.4e38, MUON_STATUS_NANORINF, 0));
    choice.values = MUON_COMPRESSOR_VALUES_NATURAL;
    PetscCall(CheckEdge(&choice, (PetscScalar)1.8e38, MUON_STATUS_NANORINF, 0));
    PetscCall(CheckEdge(&choice, PetscPowRealInt(2.0, 127), MUON_STATUS_OK, PetscPowRealInt(2.0, 127)));
    if (!PetscDefined(USE_REAL_SINGLE)) {
      choice.values = MUON_COMPRESSOR_VALUES_SINGLE;
      PetscCall(CheckEdge(&choice, (PetscScalar)3.5e38, MUON_STATUS_NANORINF, 0));
      choice.values = MUON_COMPRESSOR_VALUES_DOUBLE;
      PetscCall(CheckEdge(&choice, (PetscScalar)3.5e300, MUON_STATUS_OK, (PetscScalar)3.5e300));
      PetscCall(CheckEdge(&choice, (PetscScalar)-2e-300, MUON_STATUS_OK, (PetscScalar)-2e-300));
      PetscCall(CheckEdge(&choice, (PetscScalar)5e-301, MUON_STATUS_OK, 0));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is set is what one gets, other types have none of it, and a receiver with other choices refuses */
static PetscErrorCode CheckChoices(void)
{
  const Choice   choices[] = {{4, 256, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_SINGLE}, {5, 256, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_SINGLE}, {4, 512, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_SINGLE}};
  MuonCompressor c;
  MuonCompressorBlockNorm norm;
  PetscInt                length;
  Mat                     X;
  unsigned char          *buf;
  size_t                  bytes;
  PetscBool               valid;
  unsigned long long      state = 4;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_qsgd_block_length", "512"));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORQSGD));
  PetscCall(GetInt((PetscObject)c, "compressor_qsgd_block_length", &length));
  PetscCall(GetEnum((PetscObject)c, "compressor_qsgd_block_norm", MuonCompressorBlockNorms, (int *)&norm));
  TestCheck(length == 512 && norm == MUON_COMPRESSOR_BLOCK_NORM_MAX, "Defaults");
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_qsgd_block_length", "65536"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_qsgd_block_norm", "l2"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(GetInt((PetscObject)c, "compressor_qsgd_block_length", &length));
  PetscCall(GetEnum((PetscObject)c, "compressor_qsgd_block_norm", MuonCompressorBlockNorms, (int *)&norm));
  TestCheck(length == 65536 && norm == MUON_COMPRESSOR_BLOCK_NORM_L2, "Setters");
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORNATURAL));
  PetscCall(MuonCompressorDestroy(&c));

  PetscCall(TestMatCreate(11, 12, 0, &X));
  PetscCall(TestMatNormal(X, 1.0, &state));
  for (int k = 0; k < 3; k++) {
    PetscCall(Create(&choices[k], &c));
    if (k == 0) PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    PetscCall(MuonCompressorValidate(c, 11, 12, bytes, buf, &valid));
    TestCheck(valid == (k == 0 ? PETSC_TRUE : PETSC_FALSE), "Choice %d", k);
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The number of an entry does not depend on how many columns are looked at together: the entries as one row
   have the same message, and it decodes to the same numbers
*/
static PetscErrorCode CheckStrips(PetscInt m, PetscInt n, PetscInt length, unsigned long long *state)
{
  const Choice   choice = {5, length, MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_VALUES_BF16};
  MuonCompressor c;
  Mat            X, row;
  PetscScalar   *x, *y;
  unsigned char *buf, *other;
  size_t         bytes, others;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(Create(&choice, &c));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(1, m * n, 0, &row));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  for (PetscInt e = 0; e < m * n; e++) PetscCall(TestMatSet(row, 0, e, x[e]));
  PetscCall(PetscFree(x));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(TestEncode(c, row, NULL, &other, &others));
  PetscCall(PetscMemcmp(buf, other, bytes, &same));
  TestCheck(bytes == others && same, "%" PetscInt_FMT " x %" PetscInt_FMT " in blocks of %" PetscInt_FMT, m, n, length);
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, X));
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, others, other, row));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  PetscCall(TestMatGet(row, PETSC_FALSE, &y));
  PetscCall(PetscArraycmp(x, y, m * n, &same));
  TestCheck(same, "%" PetscInt_FMT " x %" PetscInt_FMT " in blocks of %" PetscInt_FMT " decodes to other numbers", m, n, length);
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(other));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&row));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonCompressor     c;
  size_t             most;
  PetscBool          large;
  unsigned long long state = 12;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  /* What the options say */
  PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, &c));
  PetscCall(MuonCompressorSetOptionsPrefix(c, "ef21_"));
  PetscCall(MuonCompressorSetStream(c, 42, "w", 2, 0));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORQSGD));
  PetscCall(MuonCompressorSetFromOptions(c));
  PetscCall(MuonCompressorView(c, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-large", &large));
  if (large) PetscCall(MuonCompressorGetMaxBytes(c, 1048576, 8193, &most));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(CheckExample());
  PetscCall(CheckUnbiased(&state));
  PetscCall(CheckConstants());
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    for (int norm = 0; norm < 2; norm++) PetscCall(CheckScales((MuonCompressorValues)values, (MuonCompressorBlockNorm)norm, &state));
  }
  PetscCall(CheckEdges());
  PetscCall(CheckChoices());
  for (PetscInt length = 16; length <= 1024; length *= 8) {
    PetscCall(CheckStrips(40, 3, length, &state));
    PetscCall(CheckStrips(33, 17, length, &state));
    PetscCall(CheckStrips(9, 129, length, &state));
    PetscCall(CheckStrips(300, 7, length, &state));
  }
  /* More entries than are looked at together, with a block that ends in between */
  PetscCall(CheckStrips(129, 1021, 1024, &state));
  PetscCall(CheckStrips(75, 1001, 65536, &state));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | args
    default |
    options | -ef21_compressor_bits 6 -ef21_compressor_qsgd_block_length 2048 -ef21_compressor_qsgd_block_norm l2 -ef21_compressor_values bf16

  testset:
    nsize: 2
    table: suffix | args | error
      badlength    | -ef21_compressor_qsgd_block_length 48 | expected a power of two from 16 to 65536
      badlengthkey | -ef21_compressor_qsgd_block_length 0  | Layer "w": -ef21_compressor_qsgd_block_length 0. must be in [16.,65536.]
      badnorm      | -ef21_compressor_qsgd_block_norm l1   | -ef21_compressor_qsgd_block_norm
      large        | -large                                | -ef21_compressor of layer w: a layer of 1048576 x 8193, expected at most 2^33 entries

TEST*/
