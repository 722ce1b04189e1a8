/*
   Types that send factors: common functions, and the types of truncated singular value decompositions.
*/
#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include <petscblaslapack.h>
#include <float.h>
#include <math.h>

/* The number of singular values */
static PetscInt MaxRank(const MuonArray *shape)
{
  return (PetscInt)PetscMin(shape->len >> shape->pairs, shape->count);
}

PetscInt MuonCompressorRank_Private(MuonCompressor c, const MuonArray *shape)
{
  const PetscInt max = MaxRank(shape);

  return c->rank == PETSC_DETERMINE ? (PetscInt)MuonCompressorKept_Private(c->ratio, max) : PetscMin(c->rank, max);
}

PetscErrorCode MuonCompressorLayout_Factors(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscBLASInt size;
  PetscBool    triples;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast((PetscInt)PetscMax(shape->len, shape->count), &size));
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORTOPSVD, &triples));
  layout->header.kind   = triples ? MUON_WIRE_TRIPLES : MUON_WIRE_LOWRANK;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = (uint64_t)MuonCompressorRank_Private(c, shape);
  layout->rows <<= shape->pairs; /* either factor is complex */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The constant of contraction if fraction of the square is kept. Rounding to nearest has at most the relative error error, of
   which mixed is not orthogonal to the rest. Random rounding adds the expectation drawn. -1 if there is no constant
*/
static PetscReal FactorsAlpha(double part, double drawn, double error, double mixed)
{
  const PetscReal alpha = MuonCompressorRoundDown_Private(part * (1.0 - drawn - error * error) - mixed);

  return alpha > 0.0 ? alpha : -1.0;
}

PetscErrorCode MuonCompressorResidual_Private(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonArray *X)
{
  const MuonKernels *kernels = MuonArrayKernels(T);

  PetscFunctionBegin;
  *X = *T;
  if (R != NULL) {
    PetscCall(MuonWorkspaceGetArray(c->work, T, T->precision, X));
    kernels->Residual(T->len, T->count, T->data, T->ld, R->data, R->ld, 0, MuonArrayEntries(T), X->data);
    PetscCall(PetscLogFlops((PetscLogDouble)MuonArrayEntries(T)));
  }
  X->rowmajor = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The leading triples of T - R, with at most rank singular values, in decreasing order. values has found magnitudes, then
   found columns of P and found columns of Q, in the precision of T. Sets the status if the decomposition fails
*/
static PetscErrorCode MuonCompressorTriples_Private(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscReal **sigma, void **values, PetscInt *found)
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const size_t       m = T->len, n = T->count << T->pairs, rank = (size_t)MuonCompressorRank_Private(c, T);
  PetscReal         *U, *V, *block;
  MuonArray          X;
  MuonMatrix         matrix;
  double             nearest, variance;
  size_t             count;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, rank * (1 + n + m) * sizeof(PetscReal), &block));
  PetscCall(MuonWorkspaceGet(c->work, rank * sizeof(PetscReal), sigma));
  V = block + rank;
  U = V + rank * n;
  PetscCall(MuonCompressorResidual_Private(c, T, R, &X));
  PetscCall(MuonSVDSetWorkspace(c->svd, c->work));
  matrix = MuonMatrixOfArray(&X);
  /* Numbers that are rounded coarsely need not be computed to the last digit */
  MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c, T), T->precision, &nearest, &variance);
  PetscCall(MuonSVDSetTolerance(c->svd, nearest > 0 ? (PetscReal)(nearest / 8) : PETSC_DETERMINE));
  PetscCall(MuonSVDCompute(c->svd, &matrix, (PetscInt)rank, *sigma, U, V, found, &c->status));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* The factors are at their places if all triples are found, otherwise they move up */
  count = (size_t)*found;
  if (count < rank) {
    PetscCall(PetscArraymove(block + count, V, count * n));
    PetscCall(PetscArraymove(block + count + count * n, U, count * m));
  }
  *values = block;
  if (T->precision != MUON_PETSCSCALAR) {
    /* Only numbers that the array can hold are written */
    const size_t all = count * (1 + n + m);

    PetscCall(PetscArrayzero(block, count));
    PetscCall(MuonWorkspaceGet(c->work, PetscMax(all, 1) * MuonArrayEntryBytes(T), values));
    kernels->AxpbyOther(all, 1, 1.0, block, all, 0.0, *values, all);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Magnitudes, P and Q of a message, one behind the other in scratch of a memory, after the number of magnitudes */
static PetscErrorCode FactorsRead_Private(MuonCompressor c, MuonMemory memory, const MuonArray *shape, const MuonCompressorLayout *layout, const unsigned char payload[], char **s, char **P, char **Q)
{
  const size_t size = MuonArrayEntryBytes(shape);
  char        *x;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (size_t)layout->section.values * size, s));
  x = *s;
  for (unsigned i = 0; i < layout->section.sections; i++) {
    PetscCall(MuonCompressorValuesDecode_Private(c, (MuonWireValues)layout->header.values, memory, shape->precision, (size_t)layout->section.section[i], payload + layout->section.sectionat[i], 0, x));
    x += layout->section.section[i] * size;
  }
  *P = *s + layout->section.magnitudes * size;
  *Q = *P + (size_t)layout->header.count * (shape->count << shape->pairs) * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sets the status if a sum of the product could overflow. An entry of the product is a sum of count terms. Each term is at most
   the product of the largest entries, and the columns of P are first multiplied by their magnitudes. Half of the range is left
   for roundings. This fails only for codecs with the range of the entries: the product of three binary32 numbers is far below
   the largest binary64
*/
static PetscErrorCode FactorsFit_Private(MuonCompressor c, const MuonArray *shape, const MuonCompressorLayout *layout, const unsigned char payload[])
{
  const MuonKernels *kernels = MuonKernelsGet(shape->precision, MUON_HOST);
  const size_t       count = (size_t)layout->header.count, np = count * (shape->count << shape->pairs), nq = count * shape->len;
  const size_t       magnitudes = (size_t)layout->section.magnitudes;
  char              *s, *P, *Q;
  double             s0, p, q;

  PetscFunctionBegin;
  if (count == 0 || (shape->precision == MUON_DOUBLE && layout->header.values != MUON_WIRE_VALUES_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FactorsRead_Private(c, MUON_HOST, shape, layout, payload, &s, &P, &Q));
  s0 = magnitudes > 0 ? kernels->MaxAbs(magnitudes, 1, s, magnitudes) : 1.0;
  p  = kernels->MaxAbs(np, 1, P, np);
  q  = kernels->MaxAbs(nq, 1, Q, nq);
  if (!((double)(count << shape->pairs) * PetscMax(q, 1.0) * (s0 * p) <= (shape->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX) / 2)) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor c, const MuonArray *shape, PetscInt found, void *values, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonWireValues codec = (MuonWireValues)layout->header.values;
  const size_t         size = MuonArrayEntryBytes(shape), np = (shape->count << shape->pairs) * size, nq = shape->len * size;
  char                *x    = (char *)values;
  size_t               kept = (size_t)found, all;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  do {
    uint64_t first = 0;

    PetscCall(MuonCompressorSetCount(c, layout, kept));
    for (unsigned s = 0; s < layout->section.sections; s++) {
      PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, shape->memory, shape->precision, (size_t)layout->section.section[s], x + (size_t)first * size, first, payload + layout->section.sectionat[s]));
      first += layout->section.section[s];
    }
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    /*
       A magnitude below the range of the codec becomes zero. So do all later ones, because magnitudes decrease. The message is
       written again without them
    */
    all = kept;
    while (kept > 0 && layout->section.magnitudes == all && MuonWireValuesAreMagnitudes(codec, 0, kept, payload) != MUON_WIRE_OK) kept--;
    if (kept < all) {
      PetscCall(PetscMemmove(x + kept * size, x + all * size, kept * np));
      PetscCall(PetscMemmove(x + kept * (size + np), x + all * (size + np), kept * nq));
    }
  } while (kept < all);
  PetscCall(FactorsFit_Private(c, shape, layout, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       count = (size_t)layout->header.count, magnitudes = (size_t)layout->section.magnitudes, n = Y->count << Y->pairs;
  PetscBLASInt       ld;
  char              *s, *P, *Q;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast((PetscInt)Y->ld, &ld));
  PetscCall(FactorsRead_Private(c, Y->memory, Y, layout, payload, &s, &P, &Q));
  for (size_t k = 0; k < magnitudes; k++) {
    char        *column = P + k * n * kernels->size;
    const double factor = Y->precision == MUON_SINGLE ? (double)((float *)s)[k] : ((double *)s)[k];

    kernels->Axpby(n, 1, factor, column, n, 0.0, column, n);
  }
  if (Y->pairs) MuonKernelPairMultiply(Y->precision, 0, 1, Y->len / 2, Y->count, count, add ? scale : 1.0, Q, Y->len / 2, P, Y->count, add ? 1.0 : 0.0, Y->data, PetscMax(Y->ld, Y->len) / 2);
  else kernels->Multiply(0, 1, Y->len, Y->count, count, add ? scale : 1.0, Q, Y->len, P, Y->count, add ? 1.0 : 0.0, Y->data, PetscMax(Y->ld, Y->len));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)count * (PetscLogDouble)MuonArrayEntries(Y) + (PetscLogDouble)magnitudes * (PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  METHOD_EXACT,
  METHOD_RANGE
} Method;

typedef struct {
  PetscReal p;      /* topsvd: the exponent of the norm in which it contracts, PETSC_INFINITY for the spectral norm */
  Method    method; /* rankk */
} MuonCompressor_SVD;

/* rankk: each factor is multiplied by the root of the singular value; topsvd: the singular values are sent */
static PetscErrorCode MuonCompressorEncode_SVD(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const PetscBool    triples = layout->header.kind == MUON_WIRE_TRIPLES ? PETSC_TRUE : PETSC_FALSE;
  const size_t       n       = T->count << T->pairs;
  void              *values;
  char              *s, *p, *q;
  PetscReal         *sigma;
  PetscInt           found;

  PetscFunctionBegin;
  if (((MuonCompressor_SVD *)c->data)->method == METHOD_RANGE) {
    PetscCall(MuonCompressorEncode_Range(c, T, R, layout, payload));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorTriples_Private(c, T, R, &sigma, &values, &found));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  s = (char *)values;
  p = s + (size_t)found * kernels->size;
  q = p + (size_t)found * n * kernels->size;
  for (PetscInt k = 0; k < found; k++, p += n * kernels->size, q += T->len * kernels->size) {
    const double root = (double)PetscSqrtReal(sigma[k]);

    if (triples && T->precision == MUON_SINGLE) ((float *)s)[k] = (float)sigma[k];
    else if (triples) ((double *)s)[k] = (double)sigma[k];
    else {
      kernels->Axpby(n, 1, root, p, n, 0.0, p, n);
      kernels->Axpby(T->len, 1, root, q, T->len, 0.0, q, T->len);
    }
  }
  if (!triples) PetscCall(PetscLogFlops((PetscLogDouble)found * ((PetscLogDouble)T->len + (PetscLogDouble)n)));
  PetscCall(MuonCompressorFactorsEncode_Private(c, T, found, triples ? s : s + (size_t)found * kernels->size, layout, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With rounding to nearest, of relative error u, the error of the product is at most e = 2 u + u^2 sqrt(K) of
   the kept part, of which only u^2 sqrt(K) is not orthogonal to the tail. What is drawn from there, of
   variance omega, is drawn for both factors independently: the cross terms vanish, and what is left is ((1 +
   omega)^2 - 1) of the square of what was rounded to nearest.

   The range finder captures K/r of the square as well, in expectation over its start. With A = U S V^T its subspace
   is that of p(S^2) G for a polynomial p, where the rows g_i of G are independent Gaussians. For |p(s_i^2)| >= |p(s_j^2)| let
   N be the sum of p(s_k^2)^2 g_k g_k^T over all other k and a_ij = g_i^T N^-1 g_j: exchanging g_i and g_j, one sees from
   a_ij^2 <= a_ii a_jj that the leverage t_i of row i is no smaller than that of row j in expectation. Let e be the
   largest end of what is damped, which is no larger than the mean of the s_i^2. |p| increases beyond e, and is nowhere as
   large before. Let t be the mean of the t_i with s_i^2 > e, no smaller than that of all, l/r. Then sum_i (s_i^2 - e) t_i >=
   t sum_i (s_i^2 - e), beyond e by Chebyshev's inequality for sums and before since t_i <= t, so that sum_i s_i^2
   t_i >= (l/r) ||A||^2. That number and ends of the factors of p follow from the start is left out of account. Of l directions the
   best K have K/l of it at least. Rounded columns of Y are not orthogonal to the tail: that is u more.
*/
static PetscErrorCode MuonCompressorAlpha_RankK(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const double kept = (double)MuonCompressorRank_Private(c, shape);
  double       u, omega, mixed;

  PetscFunctionBegin;
  MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c, shape), shape->precision, &u, &omega);
  mixed  = u * u * sqrt(kept);
  *alpha = FactorsAlpha(kept / (double)MaxRank(shape), ((1.0 + omega) * (1.0 + omega) - 1.0) * PetscSqr(PetscSqr(1.0 + u)), 2.0 * u + mixed, mixed + (((MuonCompressor_SVD *)c->data)->method == METHOD_RANGE ? u : 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Without rounding the worst spectrum is the flat one: (tail_p / all_p)^2 = (1 - K/r)^(2/p).

   Natural values round U, sigma and V to binary32 and from there independently and without bias: in the
   Frobenius norm the square of the error grows by ((9/8)^3 - 1) of the square of what was rounded to nearest;
   nothing is proved in another.

   With rounding to nearest, of relative error u, the error of the product E has ||E||_F <= e ||kept||_F:
   three roundings of one factor each, two pairs of which sigma is one, and what has roundings of both U and V
   in it, which alone is not orthogonal to the tail. In another norm, ||E||_p <= ||E||_F and ||kept||_F <=
   K^(1/2 - 1/p) ||kept||_p for p > 2, ||E||_p <= rank(E)^(1/p - 1/2) ||E||_F and ||kept||_F <= ||kept||_p for
   p < 2, and the triangle inequality
*/
static PetscErrorCode MuonCompressorAlphaOf_TopSVD(MuonCompressor c, const MuonArray *shape, const MuonNorm *norm, PetscReal *alpha)
{
  const double all = (double)MaxRank(shape), kept = (double)MuonCompressorRank_Private(c, shape), fraction = kept / all, inverse = 1.0 / norm->p;
  double       u, omega, mixed, e;

  PetscFunctionBegin;
  MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c, shape), shape->precision, &u, &omega);
  mixed = u * u * (1.0 + u) * sqrt(kept);
  e     = 3.0 * u + 2.0 * u * u + mixed;
  if (MuonNormIsFrobenius(norm)) *alpha = FactorsAlpha(fraction, ((1.0 + omega) * PetscSqr(1.0 + omega) - 1.0) * PetscSqr((1.0 + u) * PetscSqr(1.0 + u)), e, mixed);
  else if (norm->singular && omega == 0.0 && MuonBlocksCount_Private(&c->blocks) == 1) {
    /* Over blocks only squares of the Frobenius norm add up */
    const double left = fraction < 1.0 ? pow(1.0 - fraction, inverse) : 0.0, rounding = e * pow(inverse < 0.5 ? kept : PetscMin(2.0 * kept, all), PetscAbs(0.5 - inverse));

    *alpha = MuonCompressorRoundDown_Private(1.0 - PetscSqr(left + rounding));
    if (*alpha < 0.0) *alpha = -1.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_TopSVD(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const PetscReal p    = ((MuonCompressor_SVD *)c->data)->p;
  const MuonNorm  norm = {PETSC_TRUE, PETSC_FALSE, p >= PETSC_INFINITY ? HUGE_VAL : (double)p, 2};

  PetscFunctionBegin;
  PetscCall(MuonCompressorAlphaOf_TopSVD(c, shape, &norm, alpha));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Decompositions are by SLEPc, on the host. Products are computed in every memory */
static PetscErrorCode MuonCompressorChanging_RankK(MuonCompressor c, const MuonParameter *row, double value)
{
  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) c->ondevice = value == (double)METHOD_RANGE ? PETSC_TRUE : PETSC_FALSE;
  if (row->flags & MUON_PARAMETER_DATA) c->onpairs = value == (double)METHOD_EXACT ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChanging_TopSVD(MuonCompressor c, const MuonParameter *row, double value)
{
  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) c->othernorm = value != 2.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const Methods[] = {"exact", "range", "MuonCompressorMethod", "METHOD_", NULL};

const MuonParameter MuonCompressorParameters_RankK[]  = {MUON_ROW("rankk_method", ENUM, MuonCompressor_SVD, method, METHOD_EXACT, 0, 0, Methods, 0, "How the triples are found"), {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};
const MuonParameter MuonCompressorParameters_TopSVD[] = {MUON_ROW("topsvd_schatten", REAL, MuonCompressor_SVD, p, 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_INF, "Exponent in the norm of the singular values"),
                                                         {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
   MUONCOMPRESSORRANKK - Keeps the leading singular triples

   Options Database Keys:
+  -compressor_rank k                                     - number of triples, at most min(m, n)
.  -compressor_ratio r                                    - without a rank, keeps max(1, floor(r min(m, n))) of them
.  -compressor_values (native|double|single|bf16|natural) - format of the two factors
.  -compressor_rankk_method (exact|range)                 - by a decomposition, the default, or by products
-  -compressor_svd_type, -compressor_svd_...              - the solver of `exact`, see `SVDSetFromOptions()`

   Level: beginner

   Notes:
   With `exact` the message has the factors U sqrt(Sigma) and V sqrt(Sigma), with fewer triples if the rank of the matrix
   is smaller, none for a zero matrix. SLEPc computes a truncated singular value decomposition. If it fails, the status
   is `MUON_STATUS_LMO`.

   With `range` products of matrices find a subspace of K dimensions, or of K + 10 up to K = 64. This works in device memory, too, but not for complex
   matrices. The start Y is Gaussian and new in each message, because the residual has almost no component in the subspace of the last message. A is
   the matrix in memory, or its transpose if that has the shorter rows. G = A^T A has s rows and the trace t, and Y has l columns. Y becomes orth(T3(2
   G/e - I) Y) with Chebyshev's polynomial T3 = 4 x^3 - 3 x and e = t/s. This damps eigenvalues up to the mean. If 4 l > s, or .4 ||G Y||_F^2 > l
   t^2/s, few eigenvalues may exceed the mean. In this case Y becomes orth(G Y) first, and afterwards orth(T2(2 G/e - I) Y) with T2 = 2 x^2 - 1 and
   the mean of the remaining eigenvalues, e = (t - ||A Y||_F^2)/(s - l), or t/s if that is smaller. If only rounding remains, orth(G Y) is the last
   step. If s > 7 l there is another step with T2, if s > 56 l one more, and so on.

   The message has A Y and Y, restricted to the K leading directions. It represents a projection of A. On Gaussian matrices and on the residuals of
   the quickstart it has at least .95 of the square that `exact` sends, and all of it if the singular values decay fast. Columns of the size of A's
   rounding errors are not sent.

   Entries e and e + 1 of the start, e even, are sqrt(-2 log((w + 1)/2^32)) times cos(2 pi v/2^32) and the sine, where w and v are the random numbers
   2^33 + e and 2^33 + e + 1 of the sender, see `MuonCompressorSetStream()`.

   The constant of contraction in the Frobenius norm is the kept fraction of the min(m, n) triples, with `range` in
   expectation over its start. Natural values, which round both factors independently, multiply it by 47/64. It holds up
   to the rounding of the values and of the decomposition.

   References:
+  * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643
.  * - N. Halko, P. G. Martinsson, J. A. Tropp, Finding structure with randomness, SIAM Review 53, 2011
-  * - Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky, Self-consistent-field calculations using Chebyshev-filtered subspace iteration, J. Comput. Phys. 219, 2006

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORTOPSVD`, `MUONCOMPRESSORPOWERSGD`, `MUONCOMPRESSORTOPK`
M*/

/*MC
   MUONCOMPRESSORTOPSVD - Keeps the leading singular triples and sends singular values and vectors separately

   Options Database Keys:
+  -compressor_rank k                                     - number of triples, at most min(m, n)
.  -compressor_ratio r                                    - without a rank, keeps max(1, floor(r min(m, n))) of them
.  -compressor_values (native|double|single|bf16|natural) - format of singular values and vectors
.  -compressor_topsvd_schatten p                          - the norm of `MuonCompressorGetAlpha()`: 1 nuclear, 2 Frobenius (the default), inf spectral
-  -compressor_svd_type, -compressor_svd_...              - the solver, see `SVDSetFromOptions()`

   Level: intermediate

   Notes:
   The triples are those of `MUONCOMPRESSORRANKK`. There the two factors share each singular value. Here it is sent
   with unit vectors, so that the receiver has the spectrum, and three parts are rounded instead of two. The message
   has fewer triples if the rank of the matrix is smaller, none for a zero matrix. It leaves out triples whose singular
   value is below the range of the format.

   With K of r = min(m, n) triples and no rounding, the constant of contraction in the Schatten norm of exponent p is
   that of a flat spectrum, 1 - (1 - K/r)^(2/p). This is 1 - (1 - K/r)^2 in the nuclear norm, K/r in the Frobenius norm
   and 0 in the spectral norm, except that K = r gives 1. Rounding to nearest makes it a little smaller, so that none
   is known in the spectral norm. For blocks one is known in the Frobenius norm only. Natural values, which round U,
   sigma and V independently, make it 295/512 K/r in the Frobenius norm, and none is known in other norms. All hold up
   to the rounding of the decomposition.

   By the formula of the paper a message costs 32 K (1 + m + n) bits, 16 for each value in natural compression
   or bf16.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORPOWERSGD`
M*/

PetscErrorCode MuonCompressorCreate_SVD(MuonCompressor c)
{
  MuonCompressor_SVD *svd;
  PetscBool           triples;

  PetscFunctionBegin;
  PetscCall(PetscNew(&svd));
  c->data = svd;
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORTOPSVD, &triples));
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)c), &c->svd));
  c->keys          = "ratio rank values";
  c->onpairs       = PETSC_TRUE;
  c->factors       = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_Factors;
  c->ops->encode   = MuonCompressorEncode_SVD;
  c->ops->decode   = MuonCompressorDecode_Factors;
  c->ops->alpha    = triples ? MuonCompressorAlpha_TopSVD : MuonCompressorAlpha_RankK;
  c->ops->changing = triples ? MuonCompressorChanging_TopSVD : MuonCompressorChanging_RankK;
  if (triples) c->ops->alphaof = MuonCompressorAlphaOf_TopSVD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
