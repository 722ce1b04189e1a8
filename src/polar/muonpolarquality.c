#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../kernels/codec/muonkernels.h"
#include <petscblaslapack.h>

/*
   Golub-Kahan-Lanczos bidiagonalization and the quadrature that comes with it (G. H. Golub and G. Meurant,
   Matrices, Moments and Quadrature). From a unit vector z of the short side, k steps give an upper bidiagonal
   matrix B. With its singular values t and the squares w of the first components of its right singular
   vectors, sum w f(t) approximates z^T f(|A|) z, where
   |A| = (A^T A)^(1/2): the Gauss rule, exact where f(t) is a polynomial in t^2 of degree 2 k - 1. One more column of B gives the Gauss-Radau rule with a node at zero. For f(t) = t the one is
   an upper and the other a lower bound.
*/
enum {
  VECTORS = 4,
  EXACT   = 16, /* short sides whose unit vectors are all taken */
  STEPSG  = 20, /* the square root is not smooth at zero */
  STEPSQ  = 12  /* the ends of a spectrum are found early */
};
/* 95 of 100 means lie within so many standard deviations */
static const double confidence = 1.96;

typedef struct {
  PetscInt m, n, s;
  int      exponent;      /* of the largest entry of G: its products are divided by that power of two, by halves before and after, so that none overflows */
  Mat      G;             /* to which the exponent belongs */
  Vec      v[STEPSG + 1]; /* of the short side */
  Vec      u[2];          /* of the long side */
} MuonLanczos;

/* u = A v from the short side to the long one, or v = A^T u back */
static PetscErrorCode MuonLanczosMultiply(const MuonLanczos *l, Mat A, PetscBool back, Vec from, Vec to)
{
  const int half = l->exponent / 2;

  PetscFunctionBegin;
  if (A == l->G) PetscCall(VecScale(from, (PetscScalar)ldexp(1.0, -half)));
  if ((l->m >= l->n) == (back == PETSC_FALSE)) PetscCall(MatMult(A, from, to));
  else PetscCall(MatMultTranspose(A, from, to));
  if (A == l->G) {
    PetscCall(VecScale(from, (PetscScalar)ldexp(1.0, half)));
    PetscCall(VecScale(to, (PetscScalar)ldexp(1.0, half - l->exponent)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A start vector orthogonal to y: entries drawn at random, which are E z z^T = I/s whatever their
   distribution is as long as it is one and symmetric, less the part along y
*/
static PetscErrorCode MuonLanczosDraw(MuonLanczos *l, PetscInt number, Vec y)
{
  const uint32_t key[2] = {0x4d756f6eu, 0x506f6c61u};
  PetscInt       begin, end;
  PetscScalar   *z, dot;
  PetscReal      norm;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(l->v[0], &begin, &end));
  PetscCall(VecGetArrayWrite(l->v[0], &z));
  for (PetscInt i = begin; i < end; i++) {
    uint32_t counter[4], word[4];

    counter[0] = (uint32_t)((uint64_t)i >> 2);
    counter[1] = (uint32_t)number;
    counter[2] = (uint32_t)((uint64_t)i >> 34);
    counter[3] = 0;
    MuonKernelPhilox(key, counter, word);
    z[i - begin] = (PetscScalar)(((double)word[i & 3] + 0.5) / 2147483648.0 - 1.0);
  }
  PetscCall(VecRestoreArrayWrite(l->v[0], &z));
  if (y != NULL) {
    PetscCall(VecDot(l->v[0], y, &dot));
    PetscCall(VecAXPY(l->v[0], -dot, y));
  }
  PetscCall(VecNormalize(l->v[0], &norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLanczosUnit(MuonLanczos *l, PetscInt number)
{
  PetscInt     begin, end;
  PetscScalar *z;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(l->v[0], &begin, &end));
  PetscCall(VecGetArrayWrite(l->v[0], &z));
  for (PetscInt i = begin; i < end; i++) z[i - begin] = i == number ? 1.0 : 0.0;
  PetscCall(VecRestoreArrayWrite(l->v[0], &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   From the start vector at most so many steps; alpha is the diagonal of B, beta what is right of it, the last
   one, which is past B, included
*/
static PetscErrorCode MuonLanczosBidiagonalize(MuonLanczos *l, Mat A, PetscInt most, PetscInt *steps, double alpha[], double beta[])
{
  PetscScalar dot[STEPSG + 1];
  PetscReal   norm;
  double      largest;
  PetscInt    k;

  PetscFunctionBegin;
  most = PetscMin(most, l->s);
  PetscCall(MuonLanczosMultiply(l, A, PETSC_FALSE, l->v[0], l->u[0]));
  PetscCall(VecNormalize(l->u[0], &norm));
  alpha[0] = (double)norm;
  beta[0]  = 0.0;
  largest  = alpha[0];
  for (k = 1; alpha[k - 1] > 0.0; k++) {
    PetscCall(MuonLanczosMultiply(l, A, PETSC_TRUE, l->u[0], l->v[k]));
    for (int pass = 0; pass < 2; pass++) {
      PetscCall(VecMDot(l->v[k], k, l->v, dot));
      for (PetscInt i = 0; i < k; i++) dot[i] = -dot[i];
      PetscCall(VecMAXPY(l->v[k], k, dot, l->v));
    }
    PetscCall(VecNormalize(l->v[k], &norm));
    beta[k - 1] = (double)norm;
    largest     = PetscMax(largest, beta[k - 1]);
    /* What is left after all directions were found is rounding */
    if (k == l->s || beta[k - 1] <= l->s * PETSC_MACHINE_EPSILON * largest) beta[k - 1] = 0.0;
    if (k == most || beta[k - 1] == 0.0) break;
    PetscCall(MuonLanczosMultiply(l, A, PETSC_FALSE, l->v[k], l->u[1]));
    PetscCall(VecAXPBY(l->u[0], 1.0, (PetscScalar)-beta[k - 1], l->u[1]));
    PetscCall(VecNormalize(l->u[0], &norm));
    alpha[k] = (double)norm;
    beta[k]  = 0.0;
    largest  = PetscMax(largest, alpha[k]);
    if (alpha[k] <= l->s * PETSC_MACHINE_EPSILON * largest) alpha[k] = 0.0;
  }
  *steps = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Nodes, decreasing, weights and right singular vectors (rows of V, leading dimension k) of the rule from k
   steps; radau adds a column to B, and a node at zero that is not among the k
*/
static PetscErrorCode MuonLanczosRule(PetscInt k, const double alpha[], const double beta[], PetscBool radau, PetscReal t[], double w[], PetscScalar V[])
{
  PetscScalar  B[STEPSG * (STEPSG + 1)], work[64 * (STEPSG + 1)], none;
  PetscBLASInt rows, columns, one = 1, lwork = 64 * (STEPSG + 1), info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(k, &rows));
  columns = radau == PETSC_TRUE ? rows + 1 : rows;
  PetscCall(PetscArrayzero(B, (size_t)rows * columns));
  for (PetscInt i = 0; i < k; i++) {
    B[i + i * k] = (PetscScalar)alpha[i];
    if (i + 1 < columns) B[i + (i + 1) * k] = (PetscScalar)beta[i];
  }
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("N", "S", &rows, &columns, B, &rows, t, &none, &one, V, &rows, work, &lwork, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGESVD: info %" PetscInt_FMT, (PetscInt)info);
  for (PetscInt i = 0; i < k; i++) w[i] = (double)V[i] * (double)V[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   tr(M) / s from z^T M z and ||M z||^2 for several z: for all unit vectors, or for some y and for VECTORS
   draws orthogonal to it, which stand for the s - 1 other directions. With the leading singular vector as y
   one outlier among the singular values does no harm. The error is from the variance for a z that is uniform
   on the sphere
*/
typedef struct {
  double first, draws, draws2;
} MuonTrace;

static void TraceAdd(MuonTrace *trace, PetscInt s, PetscInt p, double first, double second)
{
  if (s <= EXACT || p == 0) trace->first += first / (double)s;
  else {
    trace->draws += first / VECTORS;
    trace->draws2 += second / VECTORS;
  }
}

static double TraceGet(const MuonTrace *trace, PetscInt s, double *error)
{
  const double rest = (double)(s - 1) / (double)s;

  *error = rest * confidence * sqrt(2.0 * PetscMax(trace->draws2 - trace->draws * trace->draws, 0.0) / ((double)(s + 1) * VECTORS));
  return trace->first + rest * trace->draws;
}

/*
   The exponent of the largest entry of G and, divided by that power of two, <G,Q> and the Frobenius norm of G
*/
static PetscErrorCode MuonPolarMeasure_Private(const MuonMatrix *G, const MuonMatrix *Q, int *exponent, double *inner, double *norm)
{
  const MuonArray   *x = &G->here, *y = &Q->here;
  const MuonKernels *kernels = MuonArrayKernels(x);
  double             most = kernels->MaxAbs(x->len, x->count, x->data, x->ld), sums[2] = {0.0, 0.0}, half[2];
  int                own;

  PetscFunctionBegin;
  sums[1] = kernels->Norm(x->len, x->count, x->data, x->ld, &own);
  if (G->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, G->comm));
  (void)frexp(most, exponent);
  half[0] = ldexp(1.0, -(*exponent / 2));
  half[1] = ldexp(1.0, *exponent / 2 - *exponent);
  for (size_t j = 0; j < x->count; j++) {
    const PetscScalar *g = (const PetscScalar *)x->data + j * x->ld, *q = (const PetscScalar *)y->data + j * y->ld;

    for (size_t i = 0; i < x->len; i++) sums[0] += g[i] * half[0] * half[1] * q[i];
  }
  if (sums[1] > 0.0) sums[1] = ldexp(sums[1], own - *exponent);
  sums[1] *= sums[1];
  if (G->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, G->comm));
  *inner = sums[0];
  *norm  = sqrt(sums[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarComputeQuality - Estimates how good a polar factor is, whatever computed it

  Collective on G

  Input Parameters:
+ polar - the object, for its options prefix in messages
. G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`
- Q     - its factor, of the same type, shape and distribution

  Output Parameter:
. quality - the numbers, see `MuonPolarQuality`

  Options Database Key:
. -lmo_polar_monitor [viewer] - prints them after each `MuonPolarApply()`

  Level: intermediate

  Notes:
  Lanczos bidiagonalization with full reorthogonalization, 20 steps on `G` and 12 on `Q`, starts from the
  leading singular vector of `G` on the short side, as 20 steps find it, and from four random vectors
  orthogonal to that, the same in every call. The spread is that of all Ritz values of `Q`, which lie inside
  the spread of its singular values.

  The orthogonality error and the nuclear norm are traces, estimated by stochastic Lanczos quadrature. For the
  first the quadrature is exact and the vectors are not. For the second the vectors see
  $\mathrm{tr}\,((G^T G)^{1/2} - G^T Q)$, which is small where `Q` is good, and $\langle G, Q \rangle$ is exact; the Gauss and Gauss-Radau rules enclose each sample.

  The errors hold in about 95 of 100 cases: they are variances for vectors that are uniform on the sphere,
  from moments that the same vectors give. With a short side of at most 16, all unit vectors give all numbers
  to rounding.

  This costs about 380 products of a matrix and a vector: as much time as the factor of a square matrix, and
  five times that of a 768 x 3072 one. A matrix with NaN or Inf gives NaN; for a zero matrix the alignment is
  one.

.seealso: `MuonPolar`, `MuonPolarQuality`, `MuonPolarApply()`, `MuonPolarMonitorSet()`
@*/
PetscErrorCode MuonPolarComputeQuality(MuonPolar polar, Mat G, Mat Q, MuonPolarQuality *quality)
{
  MuonLanczos l;
  MuonMatrix  from, to;
  double      inner = 0.0, frobenius = 0.0, nuclear, error, alpha[STEPSG + 1], beta[STEPSG + 1], w[STEPSG + 1];
  double      mean, unused;
  MuonTrace   missing = {0.0, 0.0, 0.0}, width = {0.0, 0.0, 0.0}, departure = {0.0, 0.0, 0.0};
  PetscReal   t[STEPSG + 1], norm;
  PetscScalar dot, root[STEPSG], V[STEPSG * (STEPSG + 1)];
  PetscInt    steps, count;
  Vec         r, y = NULL;
  PetscBool   finite, also;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Q, MAT_CLASSID, 3);
  PetscAssertPointer(quality, 4);
  PetscCall(MuonCheckMats_Private((PetscObject)polar, G, Q));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &from));
  PetscCall(MuonMatGetMatrix(Q, PETSC_FALSE, &to));
  PetscCall(MuonMatrixIsFinite(&from, &finite));
  PetscCall(MuonMatrixIsFinite(&to, &also));
  if (finite == PETSC_TRUE && also == PETSC_TRUE) PetscCall(MuonPolarMeasure_Private(&from, &to, &l.exponent, &inner, &frobenius));
  PetscCall(MuonMatRestoreMatrix(Q, PETSC_FALSE, &to));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &from));
  quality->smallest = quality->largest = quality->orthogonality = quality->orthogonality_error = quality->alignment = quality->alignment_error = (PetscReal)NAN;
  if (finite == PETSC_FALSE || also == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(G, &l.m, &l.n));
  l.s                          = PetscMin(l.m, l.n);
  quality->smallest            = PETSC_MAX_REAL;
  quality->largest             = 0.0;
  quality->orthogonality       = 0.0;
  quality->orthogonality_error = 0.0;
  quality->alignment           = 1.0;
  quality->alignment_error     = 0.0;
  if (l.s == 0) {
    quality->smallest = 0.0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  l.G   = G;
  count = l.s <= EXACT ? l.s : VECTORS + 1;
  if (l.m >= l.n) PetscCall(MatCreateVecs(G, &l.v[0], &l.u[0]));
  else PetscCall(MatCreateVecs(G, &l.u[0], &l.v[0]));
  for (PetscInt i = 1; i <= STEPSG; i++) PetscCall(VecDuplicate(l.v[0], &l.v[i]));
  PetscCall(VecDuplicate(l.u[0], &l.u[1]));
  PetscCall(VecDuplicate(l.v[0], &r));
  if (l.s > EXACT) {
    PetscCall(VecDuplicate(l.v[0], &y));
    PetscCall(MuonLanczosDraw(&l, 0, NULL));
    PetscCall(MuonLanczosBidiagonalize(&l, G, STEPSG, &steps, alpha, beta));
    PetscCall(MuonLanczosRule(steps, alpha, beta, PETSC_FALSE, t, w, V));
    for (PetscInt i = 0; i < steps; i++) root[i] = V[i * steps];
    PetscCall(VecSet(y, 0.0));
    PetscCall(VecMAXPY(y, steps, root, l.v));
    PetscCall(VecNormalize(y, &norm));
  }
  for (PetscInt p = 0; p < count; p++) {
    double above = 0.0, below = 0.0, square = 0.0, fourth = 0.0;

    if (l.s <= EXACT) PetscCall(MuonLanczosUnit(&l, p));
    else if (p == 0) PetscCall(VecCopy(y, l.v[0]));
    else PetscCall(MuonLanczosDraw(&l, p, y));
    /*
       r = ((G^T G)^(1/2) - G^T Q) z, the root by the Lanczos vectors, and z^T r with the middle of the two
       rules in place of the first of them
    */
    PetscCall(MuonLanczosMultiply(&l, Q, PETSC_FALSE, l.v[0], l.u[0]));
    PetscCall(MuonLanczosMultiply(&l, G, PETSC_TRUE, l.u[0], r));
    PetscCall(VecScale(r, -1.0));
    PetscCall(VecDot(r, l.v[0], &dot));
    PetscCall(MuonLanczosBidiagonalize(&l, G, STEPSG, &steps, alpha, beta));
    PetscCall(MuonLanczosRule(steps, alpha, beta, PETSC_TRUE, t, w, V));
    for (PetscInt i = 0; i < steps; i++) below += w[i] * (double)t[i];
    PetscCall(MuonLanczosRule(steps, alpha, beta, PETSC_FALSE, t, w, V));
    for (PetscInt i = 0; i < steps; i++) {
      above += w[i] * (double)t[i];
      root[i] = 0.0;
      for (PetscInt k = 0; k < steps; k++) root[i] += t[k] * V[k] * V[k + i * steps];
    }
    PetscCall(VecMAXPY(r, steps, root, l.v));
    PetscCall(VecNorm(r, NORM_2, &norm));
    TraceAdd(&missing, l.s, p, 0.5 * (above + below) + (double)PetscRealPart(dot), (double)norm * (double)norm);
    TraceAdd(&width, l.s, p, 0.5 * fabs(above - below), 0.0);
    PetscCall(MuonLanczosBidiagonalize(&l, Q, STEPSQ, &steps, alpha, beta));
    PetscCall(MuonLanczosRule(steps, alpha, beta, PETSC_FALSE, t, w, V));
    for (PetscInt i = 0; i < steps; i++) {
      const double e = ((double)t[i] * (double)t[i] - 1.0) * ((double)t[i] * (double)t[i] - 1.0);

      square += w[i] * e;
      fourth += w[i] * e * e;
    }
    TraceAdd(&departure, l.s, p, square, fourth);
    quality->largest  = PetscMax(quality->largest, t[0]);
    quality->smallest = PetscMin(quality->smallest, t[steps - 1]);
  }
  for (PetscInt i = 0; i <= STEPSG; i++) PetscCall(VecDestroy(&l.v[i]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(VecDestroy(&l.u[i]));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&y));
  mean                   = TraceGet(&departure, l.s, &error);
  quality->orthogonality = (PetscReal)sqrt(mean);
  /* Of the root of a number with that error */
  if (mean > 0.0) quality->orthogonality_error = (PetscReal)PetscMin(error / sqrt(mean), sqrt(error));
  nuclear = inner + (double)l.s * TraceGet(&missing, l.s, &error);
  error   = (double)l.s * (error + TraceGet(&width, l.s, &unused));
  /* No nuclear norm is below the Frobenius norm, which a few samples may miss */
  nuclear = PetscMax(nuclear, frobenius);
  if (nuclear > 0.0) {
    quality->alignment       = (PetscReal)(inner / nuclear);
    quality->alignment_error = (PetscReal)(fabs(inner) / nuclear * error / nuclear);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
