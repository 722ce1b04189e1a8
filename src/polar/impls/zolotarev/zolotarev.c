#include "../../muonpolarpanel.h" /*I "petscmuonpolar.h" I*/
#include "../../../kernels/dense/muonpolarkernels.h"
#include "../../../kernels/dense/muonpolarzolotarev.h"

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@article{nakatsukasa2016computing,\n"
                                   "  author  = {Yuji Nakatsukasa and Roland W. Freund},\n"
                                   "  title   = {Computing fundamental matrix decompositions accurately via the matrix sign function in two iterations: The power of Zolotarev's functions},\n"
                                   "  journal = {SIAM Review},\n"
                                   "  volume  = {58},\n"
                                   "  number  = {3},\n"
                                   "  pages   = {461--493},\n"
                                   "  year    = {2016}\n}\n";

enum {
  LANCZOS_STEPS = 8
};
/* Below this smallest shift the Gram matrix and its factors are not accurate enough in single precision */
static const double MuonLowestShift = 1e-6;
/* Where a factorization fails in double the interval grows by 4, up to here */
static const double MuonLargestInterval = 0.03;
/* A norm of the result above this is no rounding error: the factorization failed without having noticed */
static const double MuonLargestNorm = 1.1;
/*
   The ranges of -lmo_polar_tolerance: up to where the interval is 1e-3 with up to 4 poles, and from where
   double precision begins
*/
static const double MuonFineTolerance = 0.0188, MuonDoubleTolerance = 0.005;

typedef struct {
  PetscInt  poles;                    /* PETSC_DETERMINE: what the tolerance asks for */
  PetscReal interval;                 /* PETSC_DETERMINE: the same */
  PetscInt  indouble, widened, exact; /* how often a factorization that failed was repeated, and in which way */
} MuonPolar_Zolotarev;

/* What an evaluation takes, in units of s^3 flops */
static PetscInt MuonPolarCost_Zolotarev(PetscInt poles)
{
  MuonKernelZolotarev first, second;
  const int           nested = MuonKernelZolotarevNest((int)poles, 0.5, &first, &second);

  return nested > 0 ? nested + 3 : poles;
}

/*
   Poles, interval and precision, as they are set or else follow from the tolerance; with check, an error
   where that cannot be
*/
static PetscErrorCode MuonPolarChoose_Zolotarev(MuonPolar polar, PetscBool check, PetscInt *poles, double *interval, MuonPolarPrecision *precision)
{
  MuonPolar_Zolotarev *data      = (MuonPolar_Zolotarev *)polar->data;
  const char          *prefix    = MuonPolarPrefix_Private(polar);
  const PetscBool      chosen    = polar->tolerance != (PetscReal)PETSC_DETERMINE ? PETSC_TRUE : PETSC_FALSE;
  const double         tolerance = chosen == PETSC_TRUE ? (double)polar->tolerance : 0.02;
  MuonKernelZolotarev  z;

  PetscFunctionBegin;
  if (data->interval != (PetscReal)PETSC_DETERMINE) *interval = (double)data->interval;
  else *interval = tolerance >= MuonFineTolerance || tolerance < MuonDoubleTolerance ? 1e-3 : 3e-3;
  *poles = data->poles;
  if (data->poles == PETSC_DETERMINE) {
    /* The cheapest that suffices, and among equals the best */
    for (PetscInt r = 1; r <= MAXMUONKERNELPOLES; r++) {
      if (MuonKernelZolotarevError((int)r, *interval) <= tolerance && (*poles == PETSC_DETERMINE || MuonPolarCost_Zolotarev(r) <= MuonPolarCost_Zolotarev(*poles))) *poles = r;
    }
    PetscCheck(*poles != PETSC_DETERMINE || chosen == PETSC_FALSE || check == PETSC_FALSE, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
               "Option -%slmo_polar_tolerance is %g, expected at least %g, what %d poles reach on the interval %g: take a larger -%slmo_polar_zolotarev_interval or another type", prefix, tolerance,
               MuonKernelZolotarevError(MAXMUONKERNELPOLES, *interval), MAXMUONKERNELPOLES, *interval, prefix);
    if (*poles == PETSC_DETERMINE) *poles = MAXMUONKERNELPOLES;
  }
  MuonKernelZolotarevSet((int)*poles, *interval, &z);
  if (polar->precision != PETSC_DETERMINE) *precision = (MuonPolarPrecision)polar->precision;
  else *precision = tolerance < MuonDoubleTolerance || z.c[0] < MuonLowestShift ? MUON_POLAR_PRECISION_DOUBLE : MUON_POLAR_PRECISION_SINGLE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   S = shift I + the sum of a_j (R / nu^2 + c_j I)^{-1} for the matrix R stowed in P; *failed where one of
   them is not positive definite
*/
static PetscErrorCode MuonPolarSum_Zolotarev(const MuonKernelReal *kernel, size_t s, const MuonKernelZolotarev *z, double nu2, double shift, void *P, void *S, PetscBool *failed)
{
  char *W = (char *)P + kernel->size;

  PetscFunctionBegin;
  *failed = PETSC_FALSE;
  for (int j = 0; j < z->poles; j++) {
    kernel->fetch(s, P, z->c[j] * nu2);
    if (kernel->inverse(s, W, s + 1)) {
      *failed = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    kernel->combine(s, z->a[j] * nu2, W, s + 1, j > 0 ? 1.0 : 0.0, S, s, j == z->poles - 1 ? shift : 0.0);
    PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One rank, and a function that is one of another: with B = (R + nu^2 c I)^{-1} and Q1 = I + a nu^2 B the
   Gram matrix of the first is s^2 R Q1^2 / nu^2, in which R B = I - nu^2 c B spares a product; the second is
   evaluated at that. Two squares, and the slot of the strips where the second one has several poles
*/
static PetscErrorCode MuonPolarNested_Zolotarev(MuonPolar polar, const MuonKernelReal *kernel, size_t s, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, double nu2, void *P, void **Q, PetscBool *failed)
{
  const double a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const size_t size = kernel->size;
  void        *B, *S, *strip;
  MuonMark     mark;

  PetscFunctionBegin;
  *failed = PETSC_TRUE;
  PetscCall(MuonWorkspaceGet(polar->work, s * s * size, &B));
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  kernel->combine(s, 1.0, P, s, 0.0, B, s, c * nu2);
  if (kernel->inverse(s, B, s)) PetscFunctionReturn(PETSC_SUCCESS);
  kernel->combine(s, square * (a * a - 2.0 * a * c) * nu2, B, s, square / nu2, P, s, 2.0 * a * square + (second->poles == 1 ? second->c[0] : 0.0));
  kernel->mirror(s, B);
  kernel->gram(1, s, s, -square * a * a * c * nu2 * nu2, B, s, 1.0, P);
  if (second->poles == 1) {
    if (kernel->root(s, P)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
    PetscCall(MuonWorkspaceGet(polar->work, s * size, &strip));
    kernel->congruence(s, second->a[0], P, a * nu2, B, strip);
    *failed = PETSC_FALSE;
  } else {
    PetscCall(MuonWorkspaceGet(polar->work, s * s * size, &S));
    kernel->stow(s, P);
    PetscCall(MuonPolarSum_Zolotarev(kernel, s, second, 1.0, 0.0, P, S, failed));
    if (*failed == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
    kernel->shifted(s, 1.0, S, a * nu2, B, P);
  }
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscCall(PetscLogFlops(3.0 * MuonKernelInverseFlops(s)));
  *Q = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Entries of the triangle before column j, and the first of the columns of which a rank keeps the sum, so
   that all keep about as many entries
*/
static size_t MuonPolarBefore_Zolotarev(size_t s, size_t j)
{
  return j > 0 ? j * s - j * (j - 1) / 2 : 0;
}

static size_t MuonPolarFirst_Zolotarev(size_t s, PetscMPIInt size, PetscMPIInt rank)
{
  const double share = (double)MuonPolarBefore_Zolotarev(s, s) / size;
  size_t       j     = 0;

  while (j < s && (double)MuonPolarBefore_Zolotarev(s, j) < share * rank) j++;
  return j;
}

static void MuonPolarMark_Zolotarev(const MuonKernelReal *kernel, void *message, size_t entries, PetscBool failed)
{
  if (kernel->size == sizeof(float)) ((float *)message)[entries] = failed == PETSC_TRUE ? 1.0F : 0.0F;
  else ((double *)message)[entries] = failed == PETSC_TRUE ? 1.0 : 0.0;
}

static PetscBool MuonPolarMarked_Zolotarev(const MuonKernelReal *kernel, const void *message, size_t entries)
{
  const double mark = kernel->size == sizeof(float) ? (double)((const float *)message)[entries] : ((const double *)message)[entries];

  return mark > 0.0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Several ranks: rank k does the poles k, k + J, .... The sum lies spread over the ranks until it is whole: a
   third triangle on every rank would not fit into s^2 + 3 d/J entries where J is large, a share of 1/J does,
   for any number of poles and ranks. Every message ends with a mark that counts the ranks on which a
   factorization failed, so that all decide alike. P becomes I plus the sum
*/
static PetscErrorCode MuonPolarSpread_Zolotarev(MuonPolar polar, MuonPolarPanel *panel, const MuonKernelReal *kernel, const MuonKernelZolotarev *z, double nu2, void *P, PetscBool *failed)
{
  const size_t       s = panel->s, size = kernel->size;
  const MPI_Datatype type = size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  char              *W    = (char *)P + size, *sum, *message;
  size_t            *first, most = 0;
  PetscBool          broken = PETSC_FALSE;
  PetscMPIInt        rank, count;
  MuonMark           mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCallMPI(MPI_Comm_rank(panel->comm, &rank));
  PetscCall(PetscMalloc1(panel->size + 1, &first));
  for (PetscMPIInt k = 0; k <= panel->size; k++) {
    first[k] = MuonPolarFirst_Zolotarev(s, panel->size, k);
    if (k > 0) most = PetscMax(most, MuonPolarBefore_Zolotarev(s, first[k]) - MuonPolarBefore_Zolotarev(s, first[k - 1]));
  }
  /* The same question on all ranks */
  PetscCall(PetscMPIIntCast((PetscInt)(most + 1), &count));
  PetscCall(MuonWorkspaceGet(polar->work, (most + 1) * size, &message));
  PetscCall(MuonWorkspaceGet(polar->work, (most + 1) * size, &sum));
  PetscCall(PetscMemzero(sum, (most + 1) * size));
  kernel->stow(s, P);
  for (int round = 0; round < z->poles; round += panel->size) {
    const int j    = round + rank;
    PetscBool mine = j < z->poles && broken == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;

    if (mine == PETSC_TRUE) {
      kernel->fetch(s, P, z->c[j] * nu2);
      if (kernel->inverse(s, W, s + 1)) {
        broken = PETSC_TRUE;
        mine   = PETSC_FALSE;
      }
      PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
    }
    for (PetscMPIInt k = 0; k < panel->size; k++) {
      const size_t entries = MuonPolarBefore_Zolotarev(s, first[k + 1]) - MuonPolarBefore_Zolotarev(s, first[k]);

      if (mine == PETSC_TRUE) kernel->pack(s, first[k], first[k + 1], z->a[j] * nu2, W, s + 1, message);
      else PetscCall(PetscMemzero(message, entries * size));
      MuonPolarMark_Zolotarev(kernel, message, entries, broken);
      PetscCallMPI(MPI_Reduce(rank == k ? MPI_IN_PLACE : message, message, (PetscMPIInt)(entries + 1), type, MPI_SUM, k, panel->comm));
      if (rank == k) kernel->axpby(entries + 1, 1.0, message, 1.0, sum);
    }
  }
  *failed = PETSC_FALSE;
  for (PetscMPIInt k = 0; k < panel->size && *failed == PETSC_FALSE; k++) {
    const size_t entries = MuonPolarBefore_Zolotarev(s, first[k + 1]) - MuonPolarBefore_Zolotarev(s, first[k]);

    if (rank == k) PetscCall(PetscMemcpy(message, sum, (entries + 1) * size));
    PetscCallMPI(MPI_Bcast(message, (PetscMPIInt)(entries + 1), type, k, panel->comm));
    *failed = MuonPolarMarked_Zolotarev(kernel, message, entries);
    if (*failed == PETSC_FALSE) kernel->unpack(s, first[k], first[k + 1], message, 1.0, P);
  }
  PetscCall(PetscFree(first));
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   *Q = what the panel is to be multiplied by and scale what is left to do afterwards, from the Gram matrix in P, which is lost.

   A sequential matrix takes the shorter way where there is one. On several ranks the poles are dealt, which
   takes less time than the shorter way on each, and less memory: that has two squares
*/
static PetscErrorCode MuonPolarEvaluate_Zolotarev(MuonPolar polar, MuonPolarPanel *panel, const MuonKernelReal *kernel, PetscInt poles, double interval, void *P, void **Q, double *scale, PetscBool *failed)
{
  const size_t        s = panel->s, size = kernel->size;
  MuonKernelZolotarev z, first;
  double              single, *rows = &single, nu2;
  void               *S;
  MuonMark            mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  if (s > 1) PetscCall(MuonWorkspaceGet(polar->work, s * sizeof(double), &rows));
  PetscCall(MuonPolarPanelGram(panel, P));
  nu2 = kernel->bound(s, P, s, rows);
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  *Q  = P;
  /* A single singular value is its own bound, and becomes 1 */
  if (s == 1) {
    *scale  = 1.0 / sqrt(nu2);
    *failed = PETSC_FALSE;
    kernel->combine(1, 0.0, P, 1, 0.0, P, 1, 1.0);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (panel->size == 1 && MuonKernelZolotarevNest((int)poles, interval, &first, &z) > 0) {
    *scale = first.scale * z.scale / sqrt(nu2);
    PetscCall(MuonPolarNested_Zolotarev(polar, kernel, s, &first, &z, nu2, P, Q, failed));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MuonKernelZolotarevSet((int)poles, interval, &z);
  *scale = z.scale / sqrt(nu2);
  if (panel->size > 1) PetscCall(MuonPolarSpread_Zolotarev(polar, panel, kernel, &z, nu2, P, failed));
  else {
    PetscCall(MuonWorkspaceGet(polar->work, s * s * size, &S));
    kernel->stow(s, P);
    PetscCall(MuonPolarSum_Zolotarev(kernel, s, &z, nu2, 1.0, P, S, failed));
    *Q = S;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same in the memory of a device, by the sum over all poles */
static PetscErrorCode MuonPolarEvaluateDevice_Zolotarev(MuonPolar polar, MuonPolarPanel *panel, PetscInt poles, double interval, void **Q, double *scale, PetscBool *failed)
{
  const MuonKernelReal *real    = panel->real;
  const MuonKernels    *kernels = real->arrays;
  const size_t          s       = panel->s;
  MuonKernelZolotarev   z;
  double               *rows, bound = 0.0, worst;
  void                 *R, *W;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(polar->work, s * sizeof(double), &rows));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * s * real->size, &W));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * s * real->size, &R));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * s * real->size, Q));
  PetscCall(MuonPolarPanelGram(panel, R));
  real->mirror(s, R);
  real->rowsums(s, R, rows);
  for (size_t i = 0; i < s; i++) bound = PetscMax(bound, rows[i]);
  bound = PetscMin(bound, sqrt(kernels->SumSquares(s, s, R, s)));
  MuonKernelZolotarevSet((int)poles, interval, &z);
  *scale  = (s > 1 ? z.scale : 1.0) / sqrt(bound);
  *failed = PETSC_FALSE;
  real->identity(s, 1.0, *Q);
  for (int j = 0; j < z.poles && s > 1 && *failed == PETSC_FALSE; j++) {
    PetscCall(MuonPolarCopy_Private(real, W, R, s * s * real->size));
    real->shift(s, z.c[j] * bound, W);
    if (real->cholesky(s, W) || real->invert(s, W) != 0) *failed = PETSC_TRUE;
    else kernels->Axpby(s, s, z.a[j] * bound, W, s, 1.0, *Q, s);
    PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
  }
  worst = *failed == PETSC_TRUE ? 1.0 : 0.0;
  PetscCall(MuonPolarPanelAgree(panel, 1, &worst));
  *failed = worst > 0.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u = x^2 times the Gram matrix of the panel, by two products, times v, both vectors being on the host */
static PetscErrorCode MuonPolarNormal_Zolotarev(MuonPolarPanel *panel, const MuonKernelReal *kernel, double x, const void *v, void *u)
{
  const size_t       s = panel->s, l = panel->local, size = kernel->size, ld = panel->left ? s : PetscMax(l, 1);
  const MuonKernels *kernels = panel->real->arrays;
  char              *w;
  MuonMark           mark;

  PetscFunctionBegin;
  if (panel->real->memory == MUON_HOST) {
    kernel->normal(panel->left, s, l, x, panel->Y, ld, v, u);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceMark(panel->polar->work, &mark));
  PetscCall(MuonWorkspaceGetIn(panel->polar->work, MUON_DEVICE, (s + l) * size, &w));
  MuonDeviceGet()->copy(s * size, v, w);
  kernels->Multiply(panel->left, 0, l, 1, s, 1.0, panel->Y, ld, w, s, 0.0, w + s * size, l);
  kernels->Multiply(!panel->left, 0, s, 1, l, x * x, panel->Y, ld, w + s * size, l, 0.0, w, s);
  MuonDeviceGet()->copy(s * size, w, u);
  PetscCall(MuonWorkspaceRelease(panel->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest eigenvalue of the tridiagonal matrix, by bisection: the number of negative pivots is that of
   eigenvalues below x
*/
static double MuonPolarTridiagonal_Zolotarev(PetscInt n, const double alpha[], const double beta[])
{
  double low = alpha[0], high = alpha[0];

  for (PetscInt i = 0; i < n; i++) {
    const double radius = (i > 0 ? fabs(beta[i - 1]) : 0.0) + (i < n - 1 ? fabs(beta[i]) : 0.0);

    low  = PetscMax(low, alpha[i]);
    high = PetscMax(high, alpha[i] + radius);
  }
  for (int step = 0; step < 60 && high - low > 1e-14 * fabs(high); step++) {
    const double x     = 0.5 * (low + high);
    double       pivot = 1.0;
    PetscInt     below = 0;

    for (PetscInt i = 0; i < n; i++) {
      pivot = alpha[i] - x - (i > 0 ? beta[i - 1] * beta[i - 1] / pivot : 0.0);
      if (pivot == 0.0) pivot = 1e-300;
      if (pivot < 0.0) below++;
    }
    if (below == n) high = x;
    else low = x;
  }
  return high;
}

/* Of all steps, though an invariant space ends them earlier */
static PetscLogDouble MuonPolarNormFlops_Zolotarev(size_t s, size_t l)
{
  return 4.0 * LANCZOS_STEPS * (PetscLogDouble)s * (PetscLogDouble)l;
}

/*
   The error of the tail is of order u / c_1: in double precision there is nothing to see as a rule, and
   nothing where there is one singular value
*/
static PetscBool MuonPolarNormWanted_Zolotarev(const MuonKernelReal *kernel, size_t s, const MuonKernelZolotarev *z)
{
  return s > 1 && kernel->unit > MuonLowestShift * z->c[0] ? PETSC_TRUE : PETSC_FALSE;
}

/*
   A few steps of Lanczos on the result, from below: the norm of x Y, the same on all ranks. The Gram matrix
   cannot tell what its own rounding did. Two of three vectors go into scratch
*/
static PetscErrorCode MuonPolarNorm_Zolotarev(MuonPolarPanel *panel, const MuonKernelReal *kernel, double x, void *scratch, double *norm)
{
  const size_t       s = panel->s, size = kernel->size;
  const MPI_Datatype type = size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  double             alpha[LANCZOS_STEPS], beta[LANCZOS_STEPS], length;
  char              *v = (char *)scratch, *old = v + s * size, *u;
  PetscInt           steps = 0;
  PetscMPIInt        count;
  MuonMark           mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(panel->polar->work, &mark));
  PetscCall(PetscMPIIntCast((PetscInt)s, &count));
  PetscCall(MuonWorkspaceGet(panel->polar->work, s * size, &u));
  PetscCall(PetscMemzero(old, s * size));
  kernel->draw(s, v);
  length = sqrt(kernel->dot(s, v, v));
  kernel->axpby(s, 0.0, old, 1.0 / length, v);
  while (steps < LANCZOS_STEPS) {
    char *swap = old;

    PetscCall(MuonPolarNormal_Zolotarev(panel, kernel, x, v, u));
    if (panel->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, count, type, MPI_SUM, panel->comm));
    alpha[steps] = kernel->dot(s, v, u);
    kernel->axpby(s, -alpha[steps], v, 1.0, u);
    if (steps > 0) kernel->axpby(s, -beta[steps - 1], old, 1.0, u);
    beta[steps] = sqrt(kernel->dot(s, u, u));
    /* Ranks that differ in a bit must not decide differently */
    PetscCall(MuonPolarPanelAgree(panel, 1, &alpha[steps]));
    PetscCall(MuonPolarPanelAgree(panel, 1, &beta[steps]));
    steps++;
    /* What is left is rounding: the space is invariant */
    if (!(beta[steps - 1] > 64.0 * kernel->unit * fabs(alpha[steps - 1]))) break;
    kernel->axpby(s, 0.0, old, 1.0 / beta[steps - 1], u);
    old = v;
    v   = u;
    u   = swap;
  }
  PetscCall(PetscLogFlops(MuonPolarNormFlops_Zolotarev(s, panel->local)));
  *norm = sqrt(PetscMax(MuonPolarTridiagonal_Zolotarev(steps, alpha, beta), 0.0));
  PetscCall(MuonPolarPanelAgree(panel, 1, norm));
  PetscCall(MuonWorkspaceRelease(panel->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_Zolotarev(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q)
{
  MuonPolar_Zolotarev     *data = (MuonPolar_Zolotarev *)polar->data;
  const MuonKernelReal *kernel;
  const MuonKernelReal    *real;
  MuonKernelZolotarev      z, first;
  MuonPolarPanel           panel;
  MuonPolarPrecision       precision;
  size_t                   triangles;
  PetscInt                 poles;
  PetscBool                failed, loaded  = PETSC_FALSE;
  double                   interval, scale = 1.0, norm;
  void                    *P, *B           = NULL;
  MuonMark                 mark, panelled;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_TRUE, &poles, &interval, &precision));
  kernel = precision == MUON_POLAR_PRECISION_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  MuonKernelZolotarevSet((int)poles, interval, &z);
  if (precision == MUON_POLAR_PRECISION_SINGLE && z.c[0] < MuonLowestShift) PetscCall(PetscInfo(polar, "Single precision as asked, though the smallest shift is %g, below %g\n", z.c[0], MuonLowestShift));
  for (;;) {
    real = G->here.memory == MUON_DEVICE ? MuonKernelRealOfDevice(kernel->name) : kernel;
    if (loaded) PetscCall(MuonWorkspaceRelease(polar->work, &panelled));
    else {
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      PetscCall(MuonPolarPanelLoad(polar, real, G, &panel));
      PetscCall(MuonWorkspaceMark(polar->work, &panelled));
    }
    loaded = PETSC_TRUE;
    /* A triangle, or two, and afterwards two vectors */
    triangles = panel.s > 1 && (panel.size > 1 || MuonKernelZolotarevNest((int)poles, interval, &first, &z) != 1) ? 2 : 1;
    PetscCall(MuonWorkspaceGet(polar->work, (real->memory == MUON_DEVICE ? 2 * panel.s : panel.s * (panel.s + triangles - 1)) * real->size, &P));
    if (real->memory == MUON_DEVICE) PetscCall(MuonPolarEvaluateDevice_Zolotarev(polar, &panel, poles, interval, &B, &scale, &failed));
    else PetscCall(MuonPolarEvaluate_Zolotarev(polar, &panel, kernel, poles, interval, P, &B, &scale, &failed));
    if (failed == PETSC_FALSE) {
      norm = 1.0;
      PetscCall(MuonPolarPanelMultiply(&panel, B));
      MuonKernelZolotarevSet((int)poles, interval, &z);
      if (MuonPolarNormWanted_Zolotarev(kernel, panel.s, &z) == PETSC_TRUE) PetscCall(MuonPolarNorm_Zolotarev(&panel, kernel, scale, P, &norm));
      if (norm <= MuonLargestNorm) {
        PetscCall(MuonPolarPanelStore(&panel, norm > 1.0 ? scale / norm : scale, Q));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
      loaded = PETSC_FALSE;
    }
    if (kernel == &MuonKernelRealSingle) {
      kernel = &MuonKernelRealDouble;
      loaded = PETSC_FALSE;
      data->indouble++;
      PetscCall(PetscInfo(polar, "A factorization failed in single precision with %" PetscInt_FMT " poles on the interval %g: again in double\n", poles, interval));
    } else if (interval < MuonLargestInterval) {
      interval = PetscMin(4.0 * interval, MuonLargestInterval);
      data->widened++;
      PetscCall(PetscInfo(polar, "A factorization failed in double precision with %" PetscInt_FMT " poles: again on the interval %g\n", poles, interval));
    } else {
      data->exact++;
      PetscCall(PetscInfo(polar, "A factorization failed in double precision with %" PetscInt_FMT " poles on the interval %g: %s\n", poles, interval, panel.size == 1 ? "singular value decomposition" : "no result"));
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      if (panel.size == 1) PetscCall(MuonPolarExact_Private(polar, G, Q));
      else polar->status = MUON_STATUS_LMO;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
}

static PetscErrorCode MuonPolarSetUp_Zolotarev(MuonPolar polar)
{
  MuonPolarPrecision precision;
  PetscInt           poles;
  double             interval;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_TRUE, &poles, &interval, &precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarChoices_Zolotarev(MuonPolar polar, size_t length, char text[])
{
  MuonPolarPrecision precision;
  PetscInt           poles;
  double             interval;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &poles, &interval, &precision));
  PetscCall(PetscSNPrintf(text, length, " poles %" PetscInt_FMT " interval %.17g", poles, interval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_Zolotarev(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const PetscLogDouble s = PetscMin(m, n), l = PetscMax(m, n);
  MuonKernelZolotarev  z;
  MuonPolarPrecision   precision;
  PetscInt             poles;
  double               interval;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &poles, &interval, &precision));
  MuonKernelZolotarevSet((int)poles, interval, &z);
  *flops = s * (s + 1.0) * l + (s > 1.0 ? MuonPolarCost_Zolotarev(poles) * MuonKernelInverseFlops((size_t)s) : 0.0) + 2.0 * s * s * l;
  if (MuonPolarNormWanted_Zolotarev(precision == MUON_POLAR_PRECISION_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble, (size_t)s, &z) == PETSC_TRUE) *flops += MuonPolarNormFlops_Zolotarev((size_t)s, (size_t)l);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetPrecision_Zolotarev(MuonPolar polar, MuonPolarPrecision *precision)
{
  PetscInt poles;
  double   interval;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &poles, &interval, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetFromOptions_Zolotarev(MuonPolar polar, MuonOptionItems PetscOptionsObject)
{
  PetscInt  poles;
  PetscReal interval;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MuonPolar Zolotarev options");
  PetscCall(MuonPolarZolotarevGetInterval(polar, &interval));
  PetscCall(PetscOptionsReal("-lmo_polar_zolotarev_interval", "Lower end of the interval of the approximation", "MuonPolarZolotarevSetInterval", interval, &interval, &set));
  if (set == PETSC_TRUE) PetscCall(MuonPolarZolotarevSetInterval(polar, interval));
  PetscCall(MuonPolarZolotarevGetPoles(polar, &poles));
  PetscCall(PetscOptionsInt("-lmo_polar_zolotarev_poles", "Number of poles", "MuonPolarZolotarevSetPoles", poles, &poles, &set));
  if (set == PETSC_TRUE) PetscCall(MuonPolarZolotarevSetPoles(polar, poles));
  PetscOptionsHeadEnd();
  PetscCall(MuonPolarSetUp_Zolotarev(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_Zolotarev(MuonPolar polar, PetscViewer viewer)
{
  MuonPolar_Zolotarev *data = (MuonPolar_Zolotarev *)polar->data;
  MuonKernelZolotarev  z;
  MuonPolarPrecision   precision;
  PetscInt             poles, retries[3];
  double               interval;
  PetscBool            ascii;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &poles, &interval, &precision));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %" PetscInt_FMT " poles from %g", poles, interval));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MuonKernelZolotarevSet((int)poles, interval, &z);
  PetscCall(PetscViewerASCIIPrintf(viewer, "poles: %" PetscInt_FMT ", interval: %g, error: %.3g\n", poles, interval, MuonKernelZolotarevError((int)poles, interval)));
  if (precision == MUON_POLAR_PRECISION_SINGLE && z.c[0] < MuonLowestShift) PetscCall(PetscViewerASCIIPrintf(viewer, "the smallest shift is %.3g, too small for single precision\n", z.c[0]));
  retries[0] = data->indouble;
  retries[1] = data->widened;
  retries[2] = data->exact;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, retries, 3, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)viewer)));
  if (retries[0] + retries[1] + retries[2] > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "failed factorizations, at most on a rank: %" PetscInt_FMT " repeated in double, %" PetscInt_FMT " on a larger interval, %" PetscInt_FMT " not to be repeated\n", retries[0], retries[1], retries[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarReset_Zolotarev(MuonPolar polar)
{
  MuonPolar_Zolotarev *data = (MuonPolar_Zolotarev *)polar->data;

  PetscFunctionBegin;
  data->indouble = data->widened = data->exact = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarZolotarevSetPoles - Sets the number of poles of the rational approximation

  Logically Collective

  Input Parameters:
+ polar - the object
- poles - 1 to 12, or `PETSC_DETERMINE` for as many as `MuonPolarSetTolerance()` asks for

  Options Database Key:
. -lmo_polar_zolotarev_poles poles - number of poles, chosen by the tolerance by default

  Level: intermediate

  Note:
  Each pole is the inverse of a matrix of the shorter side of the input. 4, 7 and 10 poles are nested on one
  rank and take the time of 4, 5 and 6. Nothing happens if the type is not `MUONPOLARZOLOTAREV`.

.seealso: `MuonPolar`, `MUONPOLARZOLOTAREV`, `MuonPolarZolotarevGetPoles()`, `MuonPolarZolotarevSetInterval()`, `MuonPolarSetTolerance()`
@*/
PetscErrorCode MuonPolarZolotarevSetPoles(MuonPolar polar, PetscInt poles)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(polar, poles, 2);
  MuonIgnoreUnlessType(polar, MUONPOLARZOLOTAREV);
  PetscCheck(poles == PETSC_DETERMINE || (poles >= 1 && poles <= MAXMUONKERNELPOLES), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_zolotarev_poles is %" PetscInt_FMT ", expected 1 to %d",
             MuonPolarPrefix_Private(polar), poles, MAXMUONKERNELPOLES);
  ((MuonPolar_Zolotarev *)polar->data)->poles = poles;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarZolotarevGetPoles - Gets the number of poles of the rational approximation

  Not Collective

  Input Parameter:
. polar - the object, of type `MUONPOLARZOLOTAREV`

  Output Parameter:
. poles - the number, as it was set or as the tolerance asks for

  Level: intermediate

.seealso: `MuonPolar`, `MUONPOLARZOLOTAREV`, `MuonPolarZolotarevSetPoles()`
@*/
PetscErrorCode MuonPolarZolotarevGetPoles(MuonPolar polar, PetscInt *poles)
{
  MuonPolarPrecision precision;
  double             interval;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(poles, 2);
  MuonCheckType(polar, MUONPOLARZOLOTAREV);
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, poles, &interval, &precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarZolotarevSetInterval - Sets the interval on which the rational approximation is the best one

  Logically Collective

  Input Parameters:
+ polar    - the object
- interval - its lower end $l$ in $[10^{-12}, 1)$, or `PETSC_DETERMINE` for what `MuonPolarSetTolerance()` asks for; the upper end is 1

  Options Database Key:
. -lmo_polar_zolotarev_interval l - lower end of the interval, chosen by the tolerance by default

  Level: intermediate

  Note:
  Singular values below $l$ times a bound $\nu$ of the largest one end below the range of the others, the
  nearer to zero the smaller they are. Nothing happens if the type is not `MUONPOLARZOLOTAREV`.

.seealso: `MuonPolar`, `MUONPOLARZOLOTAREV`, `MuonPolarZolotarevGetInterval()`, `MuonPolarZolotarevSetPoles()`, `MuonPolarSetTolerance()`
@*/
PetscErrorCode MuonPolarZolotarevSetInterval(MuonPolar polar, PetscReal interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(polar, interval, 2);
  MuonIgnoreUnlessType(polar, MUONPOLARZOLOTAREV);
  PetscCheck(interval == (PetscReal)PETSC_DETERMINE || (interval >= (PetscReal)1e-12 && interval < 1.0), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_zolotarev_interval is %g, expected at least 1e-12 and below 1", MuonPolarPrefix_Private(polar), (double)interval);
  ((MuonPolar_Zolotarev *)polar->data)->interval = interval;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarZolotarevGetInterval - Gets the interval on which the rational approximation is the best one

  Not Collective

  Input Parameter:
. polar - the object, of type `MUONPOLARZOLOTAREV`

  Output Parameter:
. interval - its lower end, as it was set or as the tolerance asks for

  Level: intermediate

.seealso: `MuonPolar`, `MUONPOLARZOLOTAREV`, `MuonPolarZolotarevSetInterval()`
@*/
PetscErrorCode MuonPolarZolotarevGetInterval(MuonPolar polar, PetscReal *interval)
{
  MuonPolarPrecision precision;
  PetscInt           poles;
  double             l;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(interval, 2);
  MuonCheckType(polar, MUONPOLARZOLOTAREV);
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &poles, &l, &precision));
  *interval = (PetscReal)l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARZOLOTAREV - "zolotarev" - Zolotarev's best rational approximation of the sign, on the Gram matrix
  of the shorter side

  Options Database Keys:
+ -lmo_polar_tolerance e             - the error $e$ below, 0.02 by default, at least 1.4e-6; it chooses the next two, see `MuonPolarSetTolerance()`
. -lmo_polar_zolotarev_poles r       - number of poles, 1 to 12, see `MuonPolarZolotarevSetPoles()`
. -lmo_polar_zolotarev_interval l    - lower end of the interval, see `MuonPolarZolotarevSetInterval()`
- -lmo_polar_precision single|double - precision of the arithmetic, see `MuonPolarSetPrecision()`

  Level: intermediate

  Notes:
  With $R = G G^T / \nu^2$, or $G^T G / \nu^2$ where there are fewer columns, the result is $s (I +
  \sum_{j=1}^r a_j (R + c_j I)^{-1}) G / \nu$, where $\nu^2$ is the smaller one of the largest row sum and the
  Frobenius norm of the Gram matrix, a bound of its largest eigenvalue. The coefficients are those of the best
  odd rational function of type $(2r+1, 2r)$ for the sign on $[l,1]$ (Zolotarev 1877), scaled to at most 1.
  Singular values $\sigma / \nu$ in $[l,1]$ end in $[(1-e)/(1+e), 1]$, in the unit ball; smaller ones in
  proportion, with a slope near $1/l$, and exact zeros stay zero, so that a matrix whose rank is not full has
  its canonical partial isometry approximated. The error $e$ is
.vb
             r = 1  r = 2   r = 3   r = 4   r = 6   r = 8
  l = 1e-2   0.329  0.0650  0.0125  2.4e-3  9.0e-5  3.3e-6
  l = 3e-3   0.480  0.129   0.0329  8.3e-3  5.4e-4  3.5e-5
  l = 1e-3   0.603  0.202   0.0621  0.0189  1.7e-3  1.6e-4
  l = 1e-4   0.791  0.375   0.153   0.0605  9.4e-3  1.5e-3
.ve

  From the tolerance follow $l = 10^{-3}$ and the fewest flops that reach it, thus 3 poles for 0.07, 4 for
  0.02; below 0.0188 $l = 3 \cdot 10^{-3}$, thus 4 poles for 0.01; below 0.005 $l = 10^{-3}$ in double
  precision. Single precision is used down to there, and as long as the smallest shift $c_1$ is at least
  $10^{-6}$; asking for single below that gives single, and the page that `MuonPolarView()` prints says so.
  `bf16` and `tf32` are errors.

  It takes $s^2 l + r s^3 + 2 s^2 l$ flops for the sides $s \le l$, in products of matrices almost all of
  them. On one rank the function for 4, 7 and 10 poles is evaluated as one of another, with one pole and 1, 2
  or 3: degrees multiply, the result is the same, and the inverses are 2, 3 and 4 only, of matrices that are
  better conditioned. On several ranks the poles are dealt to them, and a rank needs the square of the shorter
  side and three times its part of the matrix.

  In the memory of a device all poles are added up, each by a Cholesky factorization and an inverse of the
  vendor's library.

  Rounding in the Gram matrix is seen where singular values are near $l \nu$, an error of order $u / c_1$.
  Eight steps of Lanczos estimate the norm of the result, which is divided by it where it is above 1. Where a
  factorization fails, it is repeated in double precision, then on intervals that grow by 4 up to 0.03; what
  fails there is decomposed as by `MUONPOLARSVD`, or, where a matrix is parallel, ends as `MUON_STATUS_LMO`.
  `-info` tells each, and `MuonPolarView()` how many there were.

  References:
. * - Y. Nakatsukasa and R. W. Freund, Computing fundamental matrix decompositions accurately via the matrix sign function in two iterations: The power of Zolotarev's functions, SIAM Review 58, 2016, of which this is
      the one-step form on the Gram matrix

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarZolotarevSetPoles()`, `MuonPolarZolotarevSetInterval()`, `MuonPolarSetTolerance()`, `MUONPOLARNEWTONSCHULZ`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Zolotarev(MuonPolar polar)
{
  MuonPolar_Zolotarev *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  data->poles                = PETSC_DETERMINE;
  data->interval             = (PetscReal)PETSC_DETERMINE;
  polar->data                = data;
  polar->ownprecision        = MUON_POLAR_PRECISION_SINGLE;
  polar->owntolerance        = (PetscReal)0.02;
  polar->ondevice            = PETSC_TRUE;
  polar->ops->setup          = MuonPolarSetUp_Zolotarev;
  polar->ops->choices        = MuonPolarChoices_Zolotarev;
  polar->ops->apply          = MuonPolarApply_Zolotarev;
  polar->ops->getflops       = MuonPolarGetFlops_Zolotarev;
  polar->ops->getprecision   = MuonPolarGetPrecision_Zolotarev;
  polar->ops->setfromoptions = MuonPolarSetFromOptions_Zolotarev;
  polar->ops->view           = MuonPolarView_Zolotarev;
  polar->ops->reset          = MuonPolarReset_Zolotarev;
  polar->ops->destroy        = MuonPolarDestroyData;
  PetscFunctionReturn(PETSC_SUCCESS);
}
