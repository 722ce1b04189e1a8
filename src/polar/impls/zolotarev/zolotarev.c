#include "../../muonpolarrational.h" /*I "petscmuonpolar.h" I*/

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@article{nakatsukasa2016computing,\n"
                                   "  author  = {Yuji Nakatsukasa and Roland W. Freund},\n"
                                   "  title   = {Computing fundamental matrix decompositions accurately via the matrix sign function in two iterations: The power of Zolotarev's functions},\n"
                                   "  journal = {SIAM Review},\n"
                                   "  volume  = {58},\n"
                                   "  number  = {3},\n"
                                   "  pages   = {461--493},\n"
                                   "  year    = {2016}\n}\n";

#define LANCZOS_STEPS MUON_KERNEL_LANCZOS
/* The largest side and number of entries of a real matrix that our kernel computes in less time than the BLAS, and of a complex one in a lane */
enum {
  SMALL_SIDE    = 96,
  SMALL_ENTRIES = 16384,
  LANES_SIDE    = 32,
  LANES_ENTRIES = 1024
};
/* What two inverses of a composition, and what comes with them, take, in units of s^3 flops */
static const double MuonCostOfTwo = 3.0 + 2.0 / 3.0;
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

enum {
  IN_DOUBLE,
  WIDENED,
  NOT_REPEATED
};

typedef struct {
  PetscReal tolerance;
  PetscInt  poles;     /* PETSC_DETERMINE: what the tolerance asks for */
  PetscReal interval;  /* PETSC_DETERMINE: the same */
  PetscInt  failed[3]; /* how often a factorization failed, by what followed */
} MuonPolar_Zolotarev;

/* As they are set, or else follow from the tolerance; with coefficients, those of the two that make it where nested has poles too */
typedef struct {
  PetscInt            poles, nested;
  double              interval;
  MuonPolarPrecision  precision;
  MuonKernelZolotarev z, first, second;
} MuonPolarFunction;

static void MuonPolarSetInterval_Zolotarev(MuonPolarFunction *f, double interval)
{
  f->interval = interval;
  MuonKernelZolotarevSet((int)f->poles, interval, &f->z);
  f->nested = (PetscInt)MuonKernelZolotarevNest((int)f->poles, interval, &f->first, &f->second);
}

/* What an evaluation takes, in units of s^3 flops */
static double MuonPolarCost_Zolotarev(PetscInt poles)
{
  MuonKernelZolotarev first, second;
  const PetscInt      nested = (PetscInt)MuonKernelZolotarevNest((int)poles, 0.5, &first, &second);

  /* An inverse, a square and a product with each; one pole takes two thirds of an inverse, the product has the rest */
  return nested == 1 ? MuonCostOfTwo : (double)(nested > 0 ? nested + 3 : poles);
}

/*
   The function, and with check an error where the tolerance that was set cannot be reached. Coefficients take longer
   than small matrices do: those of the last choice are kept, which many objects share
*/
static PetscErrorCode MuonPolarChoose_Zolotarev(MuonPolar polar, PetscBool check, MuonPolarFunction *f)
{
  static MuonPolar_Zolotarev last;
  static MuonPolarFunction   known;
  const MuonPolar_Zolotarev *data      = (MuonPolar_Zolotarev *)polar->data;
  const char                *prefix    = MuonPolarPrefix_Private(polar);
  const double               tolerance = (double)data->tolerance;
  const PetscBool            same      = known.poles > 0 && last.tolerance == data->tolerance && last.poles == data->poles && last.interval == data->interval ? PETSC_TRUE : PETSC_FALSE;
  PetscBool                  reached   = PETSC_TRUE;

  PetscFunctionBegin;
  if (same) *f = known;
  else if (data->interval != (PetscReal)PETSC_DETERMINE) f->interval = (double)data->interval;
  else f->interval = tolerance >= MuonFineTolerance || tolerance < MuonDoubleTolerance ? 1e-3 : 3e-3;
  if (same == PETSC_FALSE) f->poles = data->poles;
  if (f->poles == PETSC_DETERMINE) {
    /* The cheapest that suffices, and among equals the best */
    for (PetscInt r = 1; r <= MAXMUONKERNELPOLES; r++) {
      if (MuonKernelZolotarevError((int)r, f->interval) <= tolerance && (f->poles == PETSC_DETERMINE || MuonPolarCost_Zolotarev(r) <= MuonPolarCost_Zolotarev(f->poles))) f->poles = r;
    }
    PetscCheck(f->poles != PETSC_DETERMINE || !check || !MuonParametersIsSet((PetscObject)polar, "tolerance"), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
               "Option -%slmo_polar_tolerance is %g, expected at least %g, what %d poles reach on the interval %g: take a larger -%slmo_polar_zolotarev_interval or another type", prefix, tolerance,
               MuonKernelZolotarevError(MAXMUONKERNELPOLES, f->interval), MAXMUONKERNELPOLES, f->interval, prefix);
    reached = f->poles != PETSC_DETERMINE ? PETSC_TRUE : PETSC_FALSE;
    if (reached == PETSC_FALSE) f->poles = MAXMUONKERNELPOLES;
  }
  if (same == PETSC_FALSE) {
    MuonPolarSetInterval_Zolotarev(f, f->interval);
    if (reached) known = *f;
    if (reached) last = *data;
  }
  if (polar->precision != PETSC_DETERMINE) f->precision = (MuonPolarPrecision)polar->precision;
  else f->precision = tolerance < MuonDoubleTolerance || f->z.c[0] < MuonLowestShift ? MUON_POLAR_PRECISION_DOUBLE : MUON_POLAR_PRECISION_SINGLE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   *B = what the panel is to be multiplied by, held where it is whole, and scale what is left to do afterwards, from the
   Gram matrix in P, which is lost.

   A sequential matrix takes the shorter way where there is one. On several ranks the poles are dealt, which
   takes less time than the shorter way on each, and less memory: that has two squares
*/
static PetscErrorCode MuonPolarEvaluate_Zolotarev(MuonPolarPanel *panel, const MuonPolarFunction *f, void *P, void **B, void **held, double *scale, PetscBool *failed)
{
  double nu2, *rows;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelGram(panel, P));
  /* A bound of the largest eigenvalue */
  PetscCall(PetscMalloc1(panel->s, &rows));
  nu2 = panel->real->bound(panel->s, P, rows);
  PetscCall(PetscFree(rows));
  *B      = P;
  *held   = NULL;
  *failed = PETSC_FALSE;
  if (panel->s == 1) {
    /* A single singular value is its own bound, and becomes 1 */
    *scale = 1.0 / sqrt(nu2);
    panel->real->identity(1, 1.0, P);
  } else if (panel->size == 1 && panel->real->congruence != NULL && f->nested > 0) {
    *scale = f->first.scale * f->second.scale / sqrt(nu2);
    PetscCall(MuonPolarRationalNested(panel, &f->first, &f->second, nu2, P, B, failed));
    *held = *B;
  } else {
    *scale = f->z.scale / sqrt(nu2);
    PetscCall(MuonPolarRational(panel, &f->z, nu2, P, B, failed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = scale B Y by two products in bfloat16, of B rounded and of what that left: the inverses in B are as large as the
   smallest singular values are small, and one product would put errors of that size into the result. B is lost
*/
static PetscErrorCode MuonPolarMultiplyTwice_Zolotarev(MuonPolarPanel *p, double scale, void *B)
{
  const MuonKernelReal *real = p->real;
  const size_t          s = p->s, ld = MuonPolarPanelLD(p);
  void                 *high, *Z;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  PetscCall(MuonWorkspaceGet(p->polar->work, s * s * sizeof(float), &high));
  PetscCall(MuonWorkspaceGet(p->polar->work, s * p->local * sizeof(float), &Z));
  real->mirror(s, 1, B);
  (void)real->arrays->ToSingle(s * s, B, 1, (float *)high);
  real->arrays->Axpby(s, s, -1.0, high, s, 1.0, B, s);
  real->multiply(p->left, s, p->local, 1, scale, high, NULL, p->Y, ld, 0.0, Z, ld);
  real->multiply(p->left, s, p->local, 1, scale, B, NULL, p->Y, ld, 1.0, Z, ld);
  PetscCall(PetscMemcpy(p->Y, Z, s * p->local * sizeof(float)));
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscCall(PetscLogFlops(4.0 * s * s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all eigenvalues of the tridiagonal matrix are below x: the number of negative pivots is that of those that are */
static PetscBool MuonPolarIsBelow_Zolotarev(PetscInt n, const double alpha[], const double beta[], double x)
{
  double   pivot = 1.0;
  PetscInt below = 0;

  for (PetscInt i = 0; i < n; i++) {
    pivot = alpha[i] - x - (i > 0 ? beta[i - 1] * beta[i - 1] / pivot : 0.0);
    if (pivot == 0.0) pivot = 1e-300;
    if (pivot < 0.0) below++;
  }
  return below == n ? PETSC_TRUE : PETSC_FALSE;
}

/* The largest one, by bisection */
static double MuonPolarTridiagonal_Zolotarev(PetscInt n, const double alpha[], const double beta[])
{
  double low = alpha[0], high = alpha[0];

  for (PetscInt i = 0; i < n; i++) {
    const double radius = (i > 0 ? fabs(beta[i - 1]) : 0.0) + (i < n - 1 ? fabs(beta[i]) : 0.0);

    low  = PetscMax(low, alpha[i]);
    high = PetscMax(high, alpha[i] + radius);
  }
  for (int step = 0; step < 60 && high - low > 1e-14 * fabs(high); step++) {
    const double x = 0.5 * (low + high);

    if (MuonPolarIsBelow_Zolotarev(n, alpha, beta, x)) high = x;
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
static PetscBool MuonPolarNormWanted_Zolotarev(double unit, size_t s, const MuonPolarFunction *f)
{
  return s > 1 && unit > MuonLowestShift * f->z.c[0] ? PETSC_TRUE : PETSC_FALSE;
}

static double MuonPolarDot_Zolotarev(size_t s, const double x[], const double y[])
{
  double sum = 0.0;

  for (size_t i = 0; i < s; i++) sum += x[i] * y[i];
  return sum;
}

/* y = a x + b y, rounded to that precision */
static void MuonPolarAxpby_Zolotarev(const MuonKernelReal *real, size_t s, double a, const double x[], double b, double y[])
{
  for (size_t i = 0; i < s; i++) {
    const double sum = a * x[i] + b * y[i];

    y[i] = real->arrays->size == sizeof(float) ? (double)(float)sum : sum;
  }
}

/*
   A few steps of Lanczos on the result, from below: its norm where that is above enough, the same on all ranks. The Gram matrix cannot
   tell what its own rounding did. On one rank vectors are as long as the columns lie, each of which is read
   once; where that is the longer side, its zeros among the singular values take one more step. The vectors are
   on the host
*/
static PetscErrorCode MuonPolarNorm_Zolotarev(MuonPolarPanel *panel, double enough, double *norm)
{
  const MuonKernelReal *real   = panel->real;
  const PetscBool       turned = panel->size == 1 && !panel->left ? PETSC_TRUE : PETSC_FALSE;
  const size_t          s = turned ? panel->local : panel->s, l = turned ? panel->s : panel->local;
  const size_t          reals = s * real->parts; /* a complex vector is one of its reals here, where the matrix is symmetric, too */
  const PetscInt        most  = LANCZOS_STEPS + (turned && s > l ? 1 : 0);
  double                alpha[LANCZOS_STEPS + 1], beta[LANCZOS_STEPS + 1], *vectors, *v, *old, *u;
  void                 *V, *U;
  PetscInt              steps = 0;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(panel->polar->work, real->memory, s * real->size, &V));
  PetscCall(MuonWorkspaceGetIn(panel->polar->work, real->memory, s * real->size, &U));
  PetscCall(PetscCalloc1(3 * reals, &vectors));
  v   = vectors;
  old = v + reals;
  u   = old + reals;
  PetscCall(MuonPolarPanelDraw(real, s, 0, V));
  real->store(reals, 1, 1.0, V, reals, MUON_DOUBLE, v, reals);
  MuonPolarAxpby_Zolotarev(real, reals, 0.0, old, 1.0 / sqrt(MuonPolarDot_Zolotarev(reals, v, v)), v);
  while (steps < most) {
    double *swap = old;

    real->load(reals, 1, MUON_DOUBLE, v, reals, 1.0, 0, V, reals);
    real->normal(panel->left || turned, s, l, 1.0, panel->Y, PetscMax(MuonPolarPanelLD(panel), 1), V, U);
    PetscCall(MuonPolarPanelSum(panel, 1, U));
    real->store(reals, 1, 1.0, U, reals, MUON_DOUBLE, u, reals);
    alpha[steps] = MuonPolarDot_Zolotarev(reals, v, u);
    MuonPolarAxpby_Zolotarev(real, reals, -alpha[steps], v, 1.0, u);
    if (steps > 0) MuonPolarAxpby_Zolotarev(real, reals, -beta[steps - 1], old, 1.0, u);
    beta[steps] = sqrt(MuonPolarDot_Zolotarev(reals, u, u));
    /* Ranks that differ in a bit must not decide differently */
    PetscCall(MuonPolarPanelAgree(panel, 1, &alpha[steps]));
    PetscCall(MuonPolarPanelAgree(panel, 1, &beta[steps]));
    steps++;
    /* What is left is rounding: the space is invariant */
    if (!(beta[steps - 1] > 64.0 * real->unit * fabs(alpha[steps - 1]))) break;
    MuonPolarAxpby_Zolotarev(real, reals, 0.0, old, 1.0 / beta[steps - 1], u);
    old = v;
    v   = u;
    u   = swap;
  }
  PetscCall(PetscFree(vectors));
  PetscCall(PetscLogFlops(MuonPolarNormFlops_Zolotarev(s, l)));
  if (!MuonPolarIsBelow_Zolotarev(steps, alpha, beta, enough * enough)) *norm = sqrt(MuonPolarTridiagonal_Zolotarev(steps, alpha, beta));
  PetscCall(MuonPolarPanelAgree(panel, 1, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor in the precision of the panel, or *done is false and the panel lost or, *loaded, still there */
static PetscErrorCode MuonPolarTry_Zolotarev(MuonPolarPanel *panel, const MuonPolarFunction *f, const MuonMatrix *Q, PetscBool *loaded, PetscBool *done)
{
  const size_t s     = panel->s;
  double       scale = 1.0, norm = 1.0, enough;
  void        *P, *B, *held;
  PetscBool    failed;
  MuonMark     mark;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(MuonWorkspaceMark(panel->polar->work, &mark));
  PetscCall(MuonWorkspaceGetIn(panel->polar->work, panel->real->memory, s * s * panel->real->size, &P));
  PetscCall(MuonPolarEvaluate_Zolotarev(panel, f, P, &B, &held, &scale, &failed));
  *loaded = failed;
  if (!failed && f->precision == MUON_POLAR_PRECISION_BF16) PetscCall(MuonPolarMultiplyTwice_Zolotarev(panel, scale, B));
  else if (!failed) PetscCall(MuonPolarPanelMultiply(panel, scale, B, held));
  PetscCall(MuonWorkspaceRelease(panel->polar->work, &mark));
  if (failed) PetscFunctionReturn(PETSC_SUCCESS);
  /* What follows is in single precision */
  if (f->precision == MUON_POLAR_PRECISION_BF16) panel->real = &MuonKernelRealSingle;
  enough = 1.0 + 64.0 * panel->real->unit; /* an excess of some roundoffs is the estimate's */
  if (MuonPolarNormWanted_Zolotarev(panel->real->unit, s, f)) {
    PetscCall(MuonPolarNorm_Zolotarev(panel, enough, &norm));
    PetscCall(MuonWorkspaceRelease(panel->polar->work, &mark));
  }
  if (!(norm <= MuonLargestNorm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPolarPanelStore(panel, 0, norm > enough ? 1.0 / norm : 1.0, Q));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApplyOne_Zolotarev(MuonPolar polar, const MuonPolarFunction *function, MuonPolarTask *task)
{
  MuonPolar_Zolotarev  *data = (MuonPolar_Zolotarev *)polar->data;
  const MuonKernelReal *real;
  MuonPolarFunction     f = *function;
  MuonPolarPanel        panel;
  MuonMark              mark;
  PetscBool             loaded = PETSC_FALSE, done;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  for (;;) {
    real = f.precision == MUON_POLAR_PRECISION_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
    if (f.precision == MUON_POLAR_PRECISION_BF16) PetscCall(MuonPolarGetReal_Private(polar, MUON_HOST, task->G.here.pairs, &real));
    else if (task->G.here.pairs) real = &MuonKernelRealPairs[f.precision == MUON_POLAR_PRECISION_SINGLE ? MUON_SINGLE : MUON_DOUBLE];
    if (task->G.here.memory == MUON_DEVICE) real = MuonKernelRealOfDevice(real->name);
    if (!loaded) {
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      if (f.precision == MUON_POLAR_PRECISION_BF16) PetscCall(MuonPolarPanelLoad(polar, real, 1, &task, &panel));
      else PetscCall(MuonPolarPanelOpen(polar, real, task, &panel));
    }
    PetscCall(MuonPolarTry_Zolotarev(&panel, &f, &task->Q, &loaded, &done));
    if (done) break;
    if (f.precision != MUON_POLAR_PRECISION_DOUBLE) {
      PetscCall(PetscInfo(polar, "A factorization failed in single precision with %" PetscInt_FMT " poles on the interval %g: again in double\n", f.poles, f.interval));
      f.precision = MUON_POLAR_PRECISION_DOUBLE;
      loaded      = PETSC_FALSE;
      data->failed[IN_DOUBLE]++;
    } else if (f.interval < MuonLargestInterval) {
      MuonPolarSetInterval_Zolotarev(&f, PetscMin(4.0 * f.interval, MuonLargestInterval));
      data->failed[WIDENED]++;
      PetscCall(PetscInfo(polar, "A factorization failed in double precision with %" PetscInt_FMT " poles: again on the interval %g\n", f.poles, f.interval));
    } else {
      const char *next = panel.size == 1 ? "singular value decomposition" : "no result";

      data->failed[NOT_REPEATED]++;
      PetscCall(PetscInfo(polar, "A factorization failed in double precision with %" PetscInt_FMT " poles on the interval %g: %s\n", f.poles, f.interval, next));
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      if (panel.size == 1) PetscCall(MuonPolarExact_Private(polar, 1, &task));
      else task->status = MUON_STATUS_LMO;
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether one of our kernels computes matrices of this shape, alone or with others: the result is the same */
static PetscBool MuonPolarIsSmall_Zolotarev(const MuonPolarFunction *f, PetscBool pairs, size_t s, size_t l)
{
#if defined(MUON_KERNEL_HAVE_VECTORS)
  const size_t side = pairs ? LANES_SIDE : SMALL_SIDE, entries = pairs ? LANES_ENTRIES : SMALL_ENTRIES;

  if (f->precision != MUON_POLAR_PRECISION_SINGLE || f->nested != 1 || s > side || s * l > entries) return PETSC_FALSE;
  return MuonPolarNormWanted_Zolotarev(MuonKernelRealSingle.unit, s, f);
#else
  return PETSC_FALSE;
#endif
}

static void MuonPolarLoad_Zolotarev(const MuonPolarTask *task, float *Y, size_t ldy)
{
  const MuonArray *g = &task->G.here;

  MuonKernelRealSingle.load(g->len, g->count, g->precision, g->data, g->ld, task->norm, task->exponent, Y, ldy);
}

/* What Lanczos starts from, of norm 1 */
static PetscErrorCode MuonPolarStart_Zolotarev(size_t n, float start[])
{
  double length = 0.0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelDraw(&MuonKernelRealSingle, n, 0, start));
  for (size_t i = 0; i < n; i++) length += (double)start[i] * (double)start[i];
  length = sqrt(length);
  for (size_t i = 0; i < n; i++) start[i] = (float)(start[i] / length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor Y, divided by its norm by at most so many steps of Lanczos, becomes the result. What failed is computed again */
static PetscErrorCode MuonPolarStore_Zolotarev(MuonPolar polar, const MuonPolarFunction *f, PetscInt most, const double alpha[], const double beta[], const float *Y, size_t ldy, MuonPolarTask *task)
{
  const MuonArray *q    = &task->Q.here;
  const double     unit = MuonKernelRealSingle.unit, enough = 1.0 + 64.0 * unit;
  double           norm  = 1.0;
  PetscInt         steps = 1;

  PetscFunctionBegin;
  while (steps < most && beta[steps - 1] > 64.0 * unit * fabs(alpha[steps - 1])) steps++;
  if (!MuonPolarIsBelow_Zolotarev(steps, alpha, beta, enough * enough)) norm = sqrt(MuonPolarTridiagonal_Zolotarev(steps, alpha, beta));
  if (norm <= MuonLargestNorm) MuonKernelRealSingle.store(q->len, q->count, norm > enough ? task->scale / norm : task->scale, Y, ldy, q->precision, q->data, q->ld);
  else PetscCall(MuonPolarApplyOne_Zolotarev(polar, f, task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where columns are the longer side the zeros among the singular values take one more step of Lanczos */
static PetscErrorCode MuonPolarApplySmall_Zolotarev(MuonPolar polar, const MuonPolarFunction *f, int left, size_t s, size_t l, PetscInt n, MuonPolarTask *const task[])
{
  const int most = LANCZOS_STEPS + (!left && l > s ? 1 : 0);
  size_t    ld, entries, floats = MuonKernelSmallWork(left, s, l, &ld, &entries);
  float    *work;
  double    alpha[LANCZOS_STEPS + 1], beta[LANCZOS_STEPS + 1];

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(polar->work, floats * sizeof(float), &work));
  PetscCall(PetscArrayzero(work, entries + ld));
  MuonPolarLoad_Zolotarev(task[0], work, ld);
  PetscCall(MuonPolarStart_Zolotarev(left ? s : l, work + entries));
  MuonKernelZolotarevSmall(&f->first, &f->second, left, s, l, work, most, alpha, beta);
  PetscCall(MuonPolarStore_Zolotarev(polar, f, most, alpha, beta, work + entries + 3 * ld, ld, task[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex matrices side by side */
static PetscErrorCode MuonPolarApplyLanes_Zolotarev(MuonPolar polar, const MuonPolarFunction *f, int left, size_t s, size_t l, PetscInt n, MuonPolarTask *const task[])
{
  const size_t      entries = 2 * s * l;
  float             start[LANES_SIDE], *matrices, *work;
  MuonKernelLanczos lanczos;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(polar->work, MuonKernelLanesWork(s, l) * sizeof(float), &work));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_KERNEL_LANES * entries * sizeof(float), &matrices));
  PetscCall(MuonPolarStart_Zolotarev(s, start));
  for (PetscInt k = 0; k < n; k++) MuonPolarLoad_Zolotarev(task[k], matrices + (size_t)k * entries, task[k]->G.here.len);
  MuonKernelLanesMove(1, (size_t)n, left, s, l, matrices, work);
  MuonKernelZolotarevLanes(&f->first, &f->second, s, l, start, work, &lanczos);
  MuonKernelLanesMove(0, (size_t)n, left, s, l, matrices, work);
  for (PetscInt k = 0; k < n; k++) {
    double alpha[LANCZOS_STEPS], beta[LANCZOS_STEPS];

    for (int step = 0; step < LANCZOS_STEPS; step++) {
      alpha[step] = (double)lanczos.alpha[step][k];
      beta[step]  = (double)lanczos.beta[step][k];
    }
    PetscCall(MuonPolarStore_Zolotarev(polar, f, LANCZOS_STEPS, alpha, beta, matrices + (size_t)k * entries, task[k]->Q.here.len, task[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_Zolotarev(MuonPolar polar, PetscInt n, MuonPolarTask *const task[])
{
  const MuonMatrix *G     = &task[0]->G;
  const PetscBool   pairs = G->here.pairs ? PETSC_TRUE : PETSC_FALSE, here = G->size == 1 && G->here.memory == MUON_HOST ? PETSC_TRUE : PETSC_FALSE;
  const size_t      s = (size_t)PetscMin(G->rows, G->columns), l = (size_t)PetscMax(G->rows, G->columns);
  PetscLogDouble    flops;
  MuonPolarFunction f;
  MuonMark          mark;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_TRUE, &f));
  if (here == PETSC_FALSE || MuonPolarIsSmall_Zolotarev(&f, pairs, s, l) == PETSC_FALSE) {
    PetscCall(MuonPolarApplyOne_Zolotarev(polar, &f, task[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall((pairs ? MuonPolarApplyLanes_Zolotarev : MuonPolarApplySmall_Zolotarev)(polar, &f, G->rows < G->columns, s, l, n, task));
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  flops = (double)(s * (3 * s + 1) * l) + MuonCostOfTwo * MuonKernelInverseFlops(s) + MuonPolarNormFlops_Zolotarev(s, l);
  PetscCall(PetscLogFlops((pairs ? 4.0 : 1.0) * (double)n * flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarBatch_Zolotarev(MuonPolar polar, MuonMemory memory, size_t s, size_t l, PetscInt *squares)
{
  MuonPolarFunction f;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &f));
  *squares = memory == MUON_HOST && polar->pairs && MuonPolarIsSmall_Zolotarev(&f, PETSC_TRUE, s, l) ? 3 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetUp_Zolotarev(MuonPolar polar)
{
  const MuonKernelReal *real;
  MuonPolarFunction     f;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_TRUE, &f));
  PetscCheck(f.precision <= MUON_POLAR_PRECISION_BF16 && !(f.precision == MUON_POLAR_PRECISION_BF16 && polar->memory == MUON_DEVICE), PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP,
             "Option -%slmo_polar_precision is %s, expected single or double for the type %s%s", MuonPolarPrefix_Private(polar), MuonPolarPrecisions[f.precision], ((PetscObject)polar)->type_name,
             polar->memory == MUON_DEVICE ? " in the memory of a device" : "");
  if (f.precision == MUON_POLAR_PRECISION_BF16) PetscCall(MuonPolarGetReal_Private(polar, MUON_HOST, polar->pairs, &real));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_Zolotarev(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const PetscLogDouble s = PetscMin(m, n), l = PetscMax(m, n);
  MuonPolarFunction    f;
  double               unit;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &f));
  unit   = (f.precision == MUON_POLAR_PRECISION_DOUBLE ? &MuonKernelRealDouble : &MuonKernelRealSingle)->unit;
  *flops = s * (s + 1.0) * l + (s > 1.0 ? MuonPolarCost_Zolotarev(f.poles) * MuonKernelInverseFlops((size_t)s) : 0.0) + (f.precision == MUON_POLAR_PRECISION_BF16 ? 4.0 : 2.0) * s * s * l;
  if (MuonPolarNormWanted_Zolotarev(unit, (size_t)s, &f)) *flops += MuonPolarNormFlops_Zolotarev((size_t)s, (size_t)l);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetPrecision_Zolotarev(MuonPolar polar, MuonPolarPrecision *precision)
{
  MuonPolarFunction f;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &f));
  *precision = f.precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_Zolotarev(MuonPolar polar, PetscViewer viewer)
{
  PetscInt          failed[3];
  MuonPolarFunction f;
  PetscBool         ascii;

  PetscFunctionBegin;
  PetscCall(MuonPolarChoose_Zolotarev(polar, PETSC_FALSE, &f));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %" PetscInt_FMT " poles from %g", f.poles, f.interval));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "poles: %" PetscInt_FMT ", interval: %g, error: %.3g\n", f.poles, f.interval, MuonKernelZolotarevError((int)f.poles, f.interval)));
  if (f.precision == MUON_POLAR_PRECISION_SINGLE && f.z.c[0] < MuonLowestShift) PetscCall(PetscViewerASCIIPrintf(viewer, "the smallest shift is %.3g, too small for single precision\n", f.z.c[0]));
  PetscCall(PetscArraycpy(failed, ((MuonPolar_Zolotarev *)polar->data)->failed, 3));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, failed, 3, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)viewer)));
  if (failed[IN_DOUBLE] + failed[WIDENED] + failed[NOT_REPEATED] > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "failed factorizations, at most on a rank: %" PetscInt_FMT " repeated in double, %" PetscInt_FMT " on a larger interval, %" PetscInt_FMT " not to be repeated\n", failed[IN_DOUBLE], failed[WIDENED],
                                     failed[NOT_REPEATED]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(key, kind, field, ...) MUON_ROW(key, kind, MuonPolar_Zolotarev, field, __VA_ARGS__)
const MuonParameter MuonPolarParameters_Zolotarev[] = {
  ROW("tolerance", REAL, tolerance, 0.02, 0, 1, NULL, MUON_PARAMETER_ABOVE | MUON_PARAMETER_BELOW, "How far singular values may end from one"),
  ROW("zolotarev_interval", REAL, interval, PETSC_DETERMINE, 1e-12, 1, NULL, MUON_PARAMETER_BELOW | MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Lower end of the interval of the approximation, chosen by the tolerance by default"),
  ROW("zolotarev_poles", INT, poles, PETSC_DETERMINE, 1, MAXMUONKERNELPOLES, NULL, MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Number of poles, chosen by the tolerance by default"),
  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONPOLARZOLOTAREV - "zolotarev" - Zolotarev's best rational approximation of the sign, on the Gram matrix
  of the shorter side

  Options Database Keys:
+ -lmo_polar_tolerance e                  - the error $e$ below, 0.02 by default, at least 1.4e-6; determines the next two
. -lmo_polar_zolotarev_poles r            - number of poles, 1 to 12
. -lmo_polar_zolotarev_interval l         - lower end of the interval, at least 1e-12 and below 1
- -lmo_polar_precision single|double|bf16 - precision of the arithmetic, see `MuonPolarSetFromOptions()`

  Level: intermediate

  Notes:
  With $R = G G^T / \nu^2$, or $G^T G / \nu^2$ with fewer columns than rows, the result is $s (I +
  \sum_{j=1}^r a_j (R + c_j I)^{-1}) G / \nu$, where $\nu^2$ is a bound of the Gram matrix's largest eigenvalue, the
  minimum of its largest row sum and its Frobenius norm. The coefficients are those of the best
  odd rational function of type $(2r+1, 2r)$ for the sign on $[l,1]$ (Zolotarev 1877), scaled to at most 1.
  Singular values $\sigma / \nu$ in $[l,1]$ end in $[(1-e)/(1+e), 1]$, in the unit ball. Smaller ones are multiplied by
  about $1/l$, and exact zeros stay zero, so that the result for a matrix without full rank approximates its canonical
  partial isometry. The error $e$ is
.vb
             r = 1  r = 2   r = 3   r = 4   r = 6   r = 8
  l = 1e-2   0.329  0.0650  0.0125  2.4e-3  9.0e-5  3.3e-6
  l = 3e-3   0.480  0.129   0.0329  8.3e-3  5.4e-4  3.5e-5
  l = 1e-3   0.603  0.202   0.0621  0.0189  1.7e-3  1.6e-4
  l = 1e-4   0.791  0.375   0.153   0.0605  9.4e-3  1.5e-3
.ve

  The tolerance determines $l$, and the number of poles that takes the fewest flops. $l = 10^{-3}$ gives 3 poles for
  0.07 and 4 for 0.02. Below 0.0188 $l = 3 \cdot 10^{-3}$ gives 4 poles for 0.01. Below 0.005 it is $l = 10^{-3}$
  again, in double precision. The default is single precision above 0.005, as long as the smallest shift $c_1$ is at
  least $10^{-6}$. Single precision can be set below that, and `MuonPolarView()` then says so. `tf32` is an error.

  With `bf16`, on the host, the matrix is rounded to bfloat16 once. Its Gram matrix and the inverses are kept in single precision.
  Their sum is multiplied in two parts of 8 bits each. The result is the factor of the rounded matrix, whose singular values differ
  by at most a thousandth of the largest. It is faster on processors with matrix tiles, and for long sides. On others two products
  in bfloat16 take as long as one in single.

  It takes $s^2 l + r s^3 + 2 s^2 l$ flops for the sides $s \le l$, almost all of them in products of matrices. On one
  rank the functions with 4, 7 and 10 poles are compositions of a function with one pole and one with 1, 2 or 3 poles. The
  degrees multiply and the result is the same, but there are only 2, 3 and 4 inverses, of better conditioned matrices.

  Small matrices on one host are computed without the BLAS, in single precision with 4 poles: real ones with $s \le 96$
  and at most 16384 entries in vectors along their columns, complex ones with $s \le 32$ and at most 1024 entries in the lanes of
  vectors, up to 8 of one shape at once. The result does not depend on the number of matrices. It differs by rounding from
  that of the BLAS.

  A larger matrix on one host in the precision of the arithmetic is not copied. Several ranks share the poles. A rank needs
  three times its part of the matrix, and the square of the shorter side once for one pole, three times for several. A small
  real matrix needs four squares.

  In device memory all poles are summed, with the inverses of the vendor's library.

  Rounding in the Gram matrix gives an error of order $u / c_1$ for singular values near $l \nu$. Eight Lanczos steps
  estimate the norm of the result, which is divided by the estimate if it exceeds 1. A factorization that fails is
  repeated in double precision, then with $l$ increased by factors of 4 up to 0.03. If this fails, the matrix is
  decomposed as by `MUONPOLARSVD`; for a parallel matrix the status is `MUON_STATUS_LMO`. `-info` shows each case, and
  `MuonPolarView()` their number.

  References:
. * - Y. Nakatsukasa and R. W. Freund, Computing fundamental matrix decompositions accurately via the matrix sign function in two iterations: The power of Zolotarev's functions, SIAM Review 58, 2016, of which this is
      the one-step form on the Gram matrix

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MUONPOLARQDWH`, `MUONPOLARNEWTONSCHULZ`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Zolotarev(MuonPolar polar)
{
  MuonPolar_Zolotarev *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  polar->data                = data;
  polar->ownprecision        = MUON_POLAR_PRECISION_SINGLE;
  polar->products            = PETSC_TRUE;
  polar->ondevice            = PETSC_TRUE;
  polar->onpairs             = PETSC_TRUE;
  polar->ops->setup          = MuonPolarSetUp_Zolotarev;
  polar->ops->apply          = MuonPolarApply_Zolotarev;
  polar->ops->batch          = MuonPolarBatch_Zolotarev;
  polar->ops->getflops       = MuonPolarGetFlops_Zolotarev;
  polar->ops->getprecision   = MuonPolarGetPrecision_Zolotarev;
  polar->ops->setfromoptions = MuonPolarSetUp_Zolotarev;
  polar->ops->view           = MuonPolarView_Zolotarev;
  PetscFunctionReturn(PETSC_SUCCESS);
}
