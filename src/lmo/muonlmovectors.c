#include <petscmuon/private/muonlmoimpl.h>
#include "../kernels/array/muonlmokernels.h"
#include <limits.h>

/* The vectors of a matrix, and what is said of each of them, in scratch */
typedef struct {
  const MuonMatrix  *A;
  const MuonKernels *kernels;
  int                across; /* a vector is no line of the memory */
  PetscBool          cut;    /* and has entries on other ranks */
  size_t             count, length;
  double            *most, *sum, *size, *weight, *f0, *f1;
  int64_t           *place;
  int               *exponent;
  PetscBool          finite; /* no vector here is known to have a norm of NaN or Inf, or such entries */
} Vectors;

double MuonLMOConjugate(double p)
{
  return p == 1.0 ? HUGE_VAL : (p == HUGE_VAL ? 1.0 : p / (p - 1));
}

/* PETSC_INFINITY is a finite number */
double MuonLMOExponent(PetscReal p)
{
  return p >= PETSC_INFINITY ? HUGE_VAL : (double)p;
}

/* An exponent whose conjugate is 1 or 2 to working accuracy is taken for infinity or 2 */
static double WithExactConjugate(double p)
{
  return MuonLMOConjugate(p) == 1.0 ? HUGE_VAL : (MuonLMOConjugate(p) == 2.0 ? 2.0 : p);
}

static PetscErrorCode MuonLMOVectorsOpen_Private(MuonLMO lmo, PetscBool rows, const MuonMatrix *A, Vectors *s)
{
  PetscFunctionBegin;
  s->A       = A;
  s->finite  = PETSC_TRUE;
  s->kernels = MuonArrayKernels(&A->here);
  s->across  = rows ? !A->here.rowmajor : A->here.rowmajor;
  s->cut     = rows == PETSC_FALSE && A->size > 1 ? PETSC_TRUE : PETSC_FALSE;
  s->count   = s->across ? A->here.len : A->here.count;
  s->length  = s->across ? A->here.count : A->here.len;
  PetscCall(MuonWorkspaceGet(lmo->work, s->count * (6 * sizeof(double) + sizeof(int64_t) + sizeof(int)), &s->most));
  s->sum      = s->most + s->count;
  s->size     = s->sum + s->count;
  s->weight   = s->size + s->count;
  s->f0       = s->weight + s->count;
  s->f1       = s->f0 + s->count;
  s->place    = (int64_t *)(s->f1 + s->count);
  s->exponent = (int *)(s->place + s->count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOExtreme_Private(const Vectors *s, size_t count, MPI_Datatype type, MPI_Op op, void *x)
{
  PetscMPIInt c;

  PetscFunctionBegin;
  if (s->cut == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast((PetscInt)count, &c));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, x, c, type, op, s->A->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MPI may sum in any order, and in different orders for parts of an array. Equal columns could then get different norms, and
   ranks could get different results. Therefore each rank sums its share of the entries, in the order of ranks, and sends it to
   all
*/
PetscErrorCode MuonLMOSum(MuonLMO lmo, const MuonMatrix *A, PetscInt n, double x[])
{
  const PetscMPIInt ranks = A->size;
  PetscMPIInt       share;
  double           *send, *parts;
  MuonMark          mark;

  PetscFunctionBegin;
  if (ranks == 1 || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(PetscMPIIntCast((n + ranks - 1) / ranks, &share));
  PetscCall(MuonWorkspaceGet(lmo->work, 2 * (size_t)share * (size_t)ranks * sizeof(double), &send));
  parts = send + (size_t)share * (size_t)ranks;
  PetscCall(PetscArrayzero(send, (size_t)share * (size_t)ranks));
  PetscCall(PetscArraycpy(send, x, n));
  PetscCallMPI(MPI_Alltoall(send, share, MPI_DOUBLE, parts, share, MPI_DOUBLE, A->comm));
  for (PetscMPIInt r = 1; r < ranks; r++) {
    for (PetscMPIInt k = 0; k < share; k++) parts[k] += parts[k + (size_t)r * (size_t)share];
  }
  PetscCallMPI(MPI_Allgather(parts, share, MPI_DOUBLE, send, share, MPI_DOUBLE, A->comm));
  PetscCall(PetscArraycpy(x, send, n));
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOCombine(MuonLMO lmo, const MuonMatrix *A, double p, double *size, int *exponent)
{
  int    mine = *size == 0 ? INT_MIN : (*size > 0 ? *exponent : INT_MAX), most, more;
  double x;

  PetscFunctionBegin;
  if (A->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, A->comm));
  if (most == INT_MAX) {
    *size = NAN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  x = *size == 0 ? 0 : ldexp(*size, *exponent - most);
  if (p == HUGE_VAL) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, A->comm));
  else {
    if (p == 2.0) x *= x;
    PetscCall(MuonLMOSum(lmo, A, 1, &x));
    if (p == 2.0) x = sqrt(x);
  }
  *size     = frexp(x, &more);
  *exponent = x == 0 ? 0 : most + more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One vector as an array of its own */
static MuonArray Vector(const Vectors *s, size_t k)
{
  MuonArray vector = s->A->here;

  vector.data = (char *)vector.data + (s->across ? k : k * vector.ld) * s->kernels->size;
  if (s->across) vector.len = 1;
  else vector.count = 1;
  return vector;
}

/*
   Vectors of zeros, and those whose entries have no square: weight, f0 and f1 hold what is computed again.
   A sum of absolute values or of squares says all where a square that underflows, which is off by 2^-1075 at
   most, is nothing beside it, above 2^-900; a sum of 0 may be squares that vanished, but not those of singles,
   which are all normal doubles
*/
static PetscErrorCode MuonLMOVectorNormsAgain_Private(MuonLMO lmo, Vectors *s, int power)
{
  size_t bad = 0;

  PetscFunctionBegin;
  for (size_t k = 0; k < s->count; k++) {
    if (!(s->sum[k] <= DBL_MAX && (power == 1 || s->sum[k] >= ldexp(1.0, -900) || s->A->here.precision == MUON_SINGLE))) {
      const MuonArray x = Vector(s, k);

      s->f1[bad] = (double)k;
      s->kernels->VectorArgMax(x.len, x.count, x.data, x.ld, s->across, &s->weight[bad++], s->place);
    }
  }
  if (bad == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOExtreme_Private(s, bad, MPI_DOUBLE, MPI_MAX, s->weight));
  for (size_t b = 0; b < bad; b++) {
    /* A sum may overflow, its largest term does not */
    if (s->sum[(size_t)s->f1[b]] != s->sum[(size_t)s->f1[b]] || s->weight[b] > DBL_MAX) s->finite = PETSC_FALSE;
  }
  if (!s->finite) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t b = 0; b < bad; b++) {
    const MuonArray x = Vector(s, (size_t)s->f1[b]);

    s->kernels->VectorPowers(x.len, x.count, x.data, x.ld, s->across, power, &s->weight[b], &s->f0[b]);
  }
  if (s->cut) PetscCall(MuonLMOSum(lmo, s->A, (PetscInt)bad, s->f0));
  for (size_t b = 0; b < bad; b++) MuonKernelVectorNorms(1, power, &s->weight[b], &s->f0[b], &s->size[(size_t)s->f1[b]], &s->exponent[(size_t)s->f1[b]]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   size, exponent = the p-norms of whole vectors. most is set where p is neither 1 nor 2, sum as well where it
   is finite; for the largest entries, place is where this rank has one, or -1
*/
static PetscErrorCode MuonLMOVectorNorms_Private(MuonLMO lmo, Vectors *s, double p)
{
  const MuonArray *A = &s->A->here;

  PetscFunctionBegin;
  if (p == 1.0 || p == 2.0) {
    s->kernels->VectorSums(A->len, A->count, A->data, A->ld, s->across, (int)p, s->sum);
    if (s->cut) PetscCall(MuonLMOSum(lmo, s->A, (PetscInt)s->count, s->sum));
    MuonKernelVectorNorms(s->count, p, NULL, s->sum, s->size, s->exponent);
    PetscCall(MuonLMOVectorNormsAgain_Private(lmo, s, (int)p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->kernels->VectorArgMax(A->len, A->count, A->data, A->ld, s->across, s->most, s->place);
  /* No comparison finds NaN */
  if (!MuonArrayIsFinite(A)) s->most[0] = HUGE_VAL;
  PetscCall(PetscArraycpy(s->sum, s->most, s->count));
  PetscCall(MuonLMOExtreme_Private(s, s->count, MPI_DOUBLE, MPI_MAX, s->most));
  if (s->count > 0 && s->most[0] > DBL_MAX) {
    s->finite = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p == HUGE_VAL) {
    for (size_t k = 0; k < s->count; k++) s->place[k] = s->sum[k] == s->most[k] ? s->place[k] : -1;
    MuonKernelVectorNorms(s->count, 1.0, NULL, s->most, s->size, s->exponent);
  } else {
    s->kernels->VectorPowers(A->len, A->count, A->data, A->ld, s->across, p, s->most, s->sum);
    if (s->cut) PetscCall(MuonLMOSum(lmo, s->A, (PetscInt)s->count, s->sum));
    MuonKernelVectorNorms(s->count, p, s->most, s->sum, s->size, s->exponent);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetVectorNorms(MuonLMO lmo, PetscBool rows, const MuonMatrix *A, double **size, int **exponent, PetscBool *finite)
{
  Vectors s;

  PetscFunctionBegin;
  PetscCall(MuonLMOVectorsOpen_Private(lmo, rows, A, &s));
  PetscCall(MuonLMOVectorNorms_Private(lmo, &s, 2));
  *size     = s.size;
  *exponent = s.exponent;
  *finite   = s.finite;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The q-norm of the norms: rows of other ranks are other vectors. NaN where an entry of any rank is not finite */
static PetscErrorCode MuonLMOVectorsTotal_Private(MuonLMO lmo, const Vectors *s, double q, double *size, int *exponent)
{
  PetscFunctionBegin;
  *exponent = 0;
  *size     = s->finite ? MuonKernelScaledNorm(s->count, q, s->size, s->exponent, exponent) : NAN;
  if (s->cut == PETSC_FALSE) PetscCall(MuonLMOCombine(lmo, s->A, q, size, exponent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble NormFlops(double p, double q, PetscLogDouble entries, PetscLogDouble vectors)
{
  return (p == HUGE_VAL ? 0.0 : (p == 1.0 ? 1.0 : (p == 2.0 ? 2.0 : 3.0))) * entries + (q == HUGE_VAL ? 0.0 : (q == 1.0 ? 1.0 : 3.0)) * vectors;
}

static PetscLogDouble ApplyFlops(double p, double q, PetscLogDouble entries, PetscLogDouble vectors)
{
  return NormFlops(MuonLMOConjugate(p), MuonLMOConjugate(q), entries, vectors) + (p == 1.0 || p == HUGE_VAL ? 0.0 : (p == 2.0 ? 2.0 : 3.0)) * entries + (q == 1.0 || q == HUGE_VAL || (p == 2.0 && q == 2.0) ? 0.0 : 6.0) * vectors;
}

/* R = the moduli of X, in scratch, where norms see complex numbers: but for Frobenius' norm, to which they are reals */
static PetscErrorCode MuonLMOModuli_Private(MuonLMO lmo, const MuonMatrix *X, MuonMatrix *R, PetscBool *are)
{
  const MuonLMOVectors *norm = (MuonLMOVectors *)lmo->data;

  PetscFunctionBegin;
  *are = X->here.pairs && !(norm->p == 2 && norm->q == 2) ? PETSC_TRUE : PETSC_FALSE;
  if (*are == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  *R      = *X;
  R->here = MuonArrayOfNumbers(&X->here);
  PetscCall(MuonWorkspaceGet(lmo->work, MuonArrayBytes(&R->here), &R->here.data));
  MuonArrayModuli(&X->here, &R->here);
  PetscCall(PetscLogFlops(4.0 * (PetscLogDouble)MuonArrayEntries(&R->here)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMONorm_Vectors(MuonLMO lmo, PetscBool dual, const MuonMatrix *X, double *value)
{
  const MuonLMOVectors *norm = (MuonLMOVectors *)lmo->data;
  double                p = MuonLMOExponent(norm->p), q = MuonLMOExponent(norm->q), size;
  Vectors               s;
  int                   exponent;
  PetscLogDouble        flops;
  MuonMatrix            R;
  PetscBool             moduli;

  PetscFunctionBegin;
  PetscCall(MuonLMOModuli_Private(lmo, X, &R, &moduli));
  if (moduli) {
    PetscCall(MuonLMONorm_Vectors(lmo, dual, &R, value));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dual) {
    p = MuonLMOConjugate(WithExactConjugate(p));
    q = MuonLMOConjugate(q);
  }
  PetscCall(MuonLogDeviceBegin(X->here.memory, &flops));
  PetscCall(MuonLMOVectorsOpen_Private(lmo, norm->rows, X, &s));
  PetscCall(MuonLMOVectorNorms_Private(lmo, &s, p));
  PetscCall(MuonLMOVectorsTotal_Private(lmo, &s, q, &size, &exponent));
  *value = ldexp(size, exponent);
  PetscCall(PetscLogFlops(NormFlops(p, q, (PetscLogDouble)MuonArrayEntries(&X->here), (PetscLogDouble)s.count)));
  PetscCall(MuonLogDeviceEnd(X->here.memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   p = q = 1 keeps one entry of the matrix: among equals the first in the order of the memory, of a matrix on
   many ranks as if it were all on one. The vectors are columns
*/
static PetscErrorCode MuonLMOVectorsLargest_Private(const Vectors *s)
{
  const int64_t column = s->across ? 1 : (int64_t)s->A->rows, row = s->across ? (int64_t)s->A->columns : 1;
  int64_t       first = INT64_MAX, i, j;
  double        most  = 0.0;

  PetscFunctionBegin;
  for (size_t k = 0; k < s->count; k++) most = PetscMax(most, s->most[k]);
  for (size_t k = 0; k < s->count; k++) {
    if (s->place[k] >= 0 && s->most[k] == most) first = PetscMin(first, (s->place[k] + (int64_t)s->A->first) * row + (int64_t)k * column);
    s->weight[k] = 0.0;
    s->place[k]  = -1;
  }
  PetscCall(MuonLMOExtreme_Private(s, 1, MPI_INT64_T, MPI_MIN, &first));
  if (first == INT64_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  i            = (s->across ? first / row : first % column) - (int64_t)s->A->first;
  j            = s->across ? first % row : first / column;
  s->weight[j] = 1.0;
  if (i >= 0 && i < (int64_t)s->length) s->place[j] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOApply_Vectors(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  const MuonLMOVectors *norm = (MuonLMOVectors *)lmo->data;
  const double          p = WithExactConjugate(MuonLMOExponent(norm->p)), q = MuonLMOExponent(norm->q);
  const MuonArray      *g = &G->here, *d = &D->here;
  const MuonKernels    *kernels = MuonArrayKernels(g);
  Vectors               s;
  double                size;
  int                   exponent;
  PetscLogDouble        flops;
  MuonMatrix            R, point;
  PetscBool             moduli;

  PetscFunctionBegin;
  PetscCall(MuonLMOModuli_Private(lmo, G, &R, &moduli));
  if (moduli) {
    point = R;
    PetscCall(MuonWorkspaceGet(lmo->work, MuonArrayBytes(&R.here), &point.here.data));
    PetscCall(MuonLMOApply_Vectors(lmo, &R, &point, dual));
    if (*dual >= 0.0) MuonArrayPhases(&point.here, g, d);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLogDeviceBegin(g->memory, &flops));
  PetscCall(MuonLMOVectorsOpen_Private(lmo, norm->rows, G, &s));
  PetscCall(MuonLMOVectorNorms_Private(lmo, &s, MuonLMOConjugate(p)));
  PetscCall(MuonLMOVectorsTotal_Private(lmo, &s, MuonLMOConjugate(q), &size, &exponent));
  *dual = ldexp(size, exponent);
  if (!(size >= 0.0)) {
    PetscCall(MuonLogDeviceEnd(g->memory, flops));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p == 1.0 && q == 1.0) PetscCall(MuonLMOVectorsLargest_Private(&s));
  else {
    MuonKernelScaledDual(s.count, p == 2.0 && q == 2.0 ? HUGE_VAL : q, s.size, s.exponent, s.weight);
    /* Of the places of a vector's largest entry the lowest of all ranks stays, the one entry that p = 1 keeps */
    if (p == 1.0 && s.cut) {
      const int64_t first = (int64_t)G->first, last = first + (int64_t)s.length;

      for (size_t k = 0; k < s.count; k++) s.place[k] = s.place[k] < 0 ? INT64_MAX : s.place[k] + first;
      PetscCall(MuonLMOExtreme_Private(&s, s.count, MPI_INT64_T, MPI_MIN, s.place));
      for (size_t k = 0; k < s.count; k++) s.place[k] = s.place[k] >= first && s.place[k] < last ? s.place[k] - first : -1;
    }
  }
  if (p == 2.0) {
    /* Frobenius' norm divides all entries by the same number */
    for (size_t k = 0; k < s.count && q == 2.0; k++) {
      s.size[k]     = size;
      s.exponent[k] = exponent;
    }
    MuonKernelVectorFactors(s.count, s.size, s.exponent, s.weight, s.f0, s.f1);
    kernels->VectorScale(g->len, g->count, g->data, g->ld, s.across, s.f0, s.f1, d->data, d->ld);
  } else {
    for (size_t k = 0; k < s.count; k++) s.f0[k] = -s.weight[k];
    if (p == 1.0) kernels->VectorPick(g->len, g->count, g->data, g->ld, s.across, s.place, s.f0, d->data, d->ld);
    else if (p == HUGE_VAL) kernels->VectorSign(g->len, g->count, g->data, g->ld, s.across, s.f0, d->data, d->ld);
    else {
      /* |g| / c = (|g| / most) / sum^(1/p*), and (p*-1)/p* is 1/p */
      for (size_t k = 0; k < s.count; k++) s.f0[k] = s.sum[k] > 0.0 ? s.f0[k] * pow(s.sum[k], -1 / p) : 0.0;
      kernels->VectorPower(g->len, g->count, g->data, g->ld, s.across, 1 / (p - 1), s.most, s.f0, d->data, d->ld);
    }
  }
  PetscCall(PetscLogFlops(ApplyFlops(p, q, (PetscLogDouble)MuonArrayEntries(g), (PetscLogDouble)s.count)));
  PetscCall(MuonLogDeviceEnd(g->memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetFlops_Vectors(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const MuonLMOVectors *norm = (MuonLMOVectors *)lmo->data;

  PetscFunctionBegin;
  *flops = ApplyFlops(MuonLMOExponent(norm->p), MuonLMOExponent(norm->q), (PetscLogDouble)m * (PetscLogDouble)n, (PetscLogDouble)(norm->rows ? m : n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOSetVectors(MuonLMO lmo, PetscBool rows, double p, double q)
{
  MuonLMOVectors *vectors;

  PetscFunctionBegin;
  PetscCheck(!rows || q == HUGE_VAL, PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "A norm of rows with q %g is not supported: rows of other ranks are not compared, expected an infinite q", q);
  PetscCall(PetscNew(&vectors));
  vectors->rows      = rows;
  vectors->p         = (PetscReal)p;
  vectors->q         = (PetscReal)q;
  lmo->data          = vectors;
  lmo->ondevice      = PETSC_TRUE;
  lmo->onpairs       = PETSC_TRUE;
  lmo->ops->apply    = MuonLMOApply_Vectors;
  lmo->ops->norm     = MuonLMONorm_Vectors;
  lmo->ops->getflops = MuonLMOGetFlops_Vectors;
  PetscFunctionReturn(PETSC_SUCCESS);
}
