#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../muonpolarpolynomial.h"

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@misc{zhang2026gram,\n"
                                   "  author = {Jack Zhang and Noah Amsel and Berlin Chen and Tri Dao},\n"
                                   "  title  = {Gram {Newton--Schulz}: A fast, hardware-aware {Newton--Schulz} algorithm for {Muon}},\n"
                                   "  year   = {2026}\n}\n";

typedef struct {
  PetscInt  nrestarts; /* PETSC_DETERMINE: by the rule below */
  PetscInt *restarts;  /* steps after which the Gram matrix is formed anew, increasing */
} MuonPolar_Gram;

/*
   When to restart. Rounding gives the Gram matrix, whose eigenvalues r are squares of singular values, a
   negative one of size delta; a step multiplies it by h(r)^2, where h(r) = c1 + c2 r + c3 r^2 is larger than
   c1 for all negative r, so that from some step on it grows without bound, and Q with it. What is safe is
   decided by that scalar model: the condition number of Q over r between 1e-10 and 1 and -delta. A restart
   ends it, because the next Gram matrix is that of Q Y, and rounded anew.

   The least restarts that keep the condition number below 128, which costs 7 bits: none; else one after step
   2, which the authors recommend, if that is enough; else each segment as long as it can be. delta is that of
   binary16. It hardly matters, because the growth is geometric: with a hundredth of it the same restarts come
   out for all sets but those that converge, one or two steps later.
*/
#define CONDITION 128.0
#define DELTA     4e-4
enum {
  SPECTRUM = 101 /* singular values from 1e-5 to 1 */
};

/*
   The condition number of Q over the steps first ... last - 1, x the singular values before, and after if
   they are to be changed
*/
static double MuonPolarCondition_Gram(MuonPolar polar, const MuonKernelPolynomial *p, PetscInt first, PetscInt last, double x[SPECTRUM], PetscBool change)
{
  double least = PETSC_MAX_REAL, most = 0.0;

  for (int i = 0; i <= SPECTRUM; i++) {
    double r = i < SPECTRUM ? x[i] * x[i] : -DELTA, q = 1.0;

    for (PetscInt k = first; k < last; k++) {
      double c[3], h;

      MuonPolarGetPolynomialRow_Private(polar, p, k, c);
      h = c[0] + (c[1] + c[2] * r) * r;
      q *= h;
      r *= h * h;
    }
    if (change == PETSC_TRUE && i < SPECTRUM) x[i] = fabs(q) * x[i];
    least = PetscMin(least, fabs(q));
    most  = PetscMax(most, fabs(q));
  }
  return least > 0.0 ? most / least : PETSC_MAX_REAL;
}

/*
   The steps after which the method restarts, those of the user below the number of steps or those of the rule
*/
static PetscErrorCode MuonPolarRestarts_Gram(MuonPolar polar, PetscInt steps, PetscInt *count, PetscInt restarts[])
{
  MuonPolar_Gram             *data = (MuonPolar_Gram *)polar->data;
  const MuonKernelPolynomial *p;
  double                      start[SPECTRUM], x[SPECTRUM];

  PetscFunctionBegin;
  *count = 0;
  if (data->nrestarts != PETSC_DETERMINE) {
    for (PetscInt i = 0; i < data->nrestarts && data->restarts[i] < steps; i++) restarts[(*count)++] = data->restarts[i];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonPolarGetPolynomial_Private(polar, &p));
  for (int i = 0; i < SPECTRUM; i++) start[i] = pow(10.0, -5.0 * i / (SPECTRUM - 1));
  PetscCall(PetscArraycpy(x, start, SPECTRUM));
  if (MuonPolarCondition_Gram(polar, p, 0, steps, x, PETSC_FALSE) <= CONDITION) PetscFunctionReturn(PETSC_SUCCESS);
  if (steps > 2 && MuonPolarCondition_Gram(polar, p, 0, 2, x, PETSC_TRUE) <= CONDITION && MuonPolarCondition_Gram(polar, p, 2, steps, x, PETSC_FALSE) <= CONDITION) {
    restarts[(*count)++] = 2;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArraycpy(x, start, SPECTRUM));
  for (PetscInt first = 0, last; first < steps; first = last) {
    for (last = first + 1; last < steps && MuonPolarCondition_Gram(polar, p, first, last + 1, x, PETSC_FALSE) <= CONDITION;) last++;
    (void)MuonPolarCondition_Gram(polar, p, first, last, x, PETSC_TRUE);
    if (last < steps) restarts[(*count)++] = last;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A step without a restart makes three symmetric products of s^3 operations in place of one product with the
   panel and one Gram matrix, of 3 s^2 length on a rank with length extents of the long side: it pays where
   length > s. It needs four s x s matrices beside the panel and a strip of it, which stays within s^2 + 3 s
   length entries, a panel of s length and a strip of s strip, while 3 s + strip <= 2 length: the second
   condition implies the first. Where it does not hold on every rank, the method restarts after each step,
   which is both cheaper, but for lengths between one and two times s, and smaller.
*/
static PetscBool MuonPolarPays_Gram(size_t s, size_t length, size_t strip)
{
  return 3 * s + strip <= 2 * length ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonPolarProduct_Gram(const MuonPolarPanel *panel, void *A, void *B, void *C)
{
  PetscFunctionBegin;
  panel->real->product(panel->s, 1.0, A, B, 0.0, C);
  PetscCall(PetscLogFlops((PetscLogDouble)panel->s * panel->s * (panel->s + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After which steps the method restarts, for the least extents of the long side that a rank has */
static PetscErrorCode MuonPolarSegments_Gram(MuonPolar polar, PetscInt steps, size_t s, size_t least, unsigned char last[], PetscBool *anew)
{
  MuonPolarPanel panel;
  PetscInt       count, *restarts;

  PetscFunctionBegin;
  panel.local = least;
  panel.whole = PETSC_FALSE;
  *anew       = MuonPolarPays_Gram(s, least, MuonPolarPanelGetStrip(&panel)) == PETSC_TRUE ? PETSC_FALSE : PETSC_TRUE;
  PetscCall(PetscMalloc1(steps, &restarts));
  PetscCall(MuonPolarRestarts_Gram(polar, steps, &count, restarts));
  for (PetscInt k = 0; k < steps; k++) last[k] = *anew == PETSC_TRUE || k == steps - 1;
  for (PetscInt i = 0; i < count; i++) last[restarts[i] - 1] = 1;
  PetscCall(PetscFree(restarts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_Gram(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q)
{
  const MuonKernelPolynomial *p;
  const MuonKernelReal       *real;
  MuonPolarPanel              panel;
  PetscInt                    steps;
  unsigned char              *last;
  size_t                      s, bytes, least;
  double                      squares;
  void                       *R, *W = NULL, *B = NULL, *T = NULL;
  PetscBool                   fresh = PETSC_TRUE, anew;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarGetPolynomial_Private(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MuonPolarGetReal_Private(polar, G->here.memory, &real));
  PetscCall(MuonPolarPanelLoad(polar, real, G, &panel));
  PetscCall(MuonPolarPanelLeast(&panel, &least));
  s     = panel.s;
  bytes = s * s * real->size;
  PetscCall(PetscMalloc1(steps, &last));
  PetscCall(MuonPolarSegments_Gram(polar, steps, s, least, last, &anew));
  /* A second panel in place of the strip, beside four squares or two, where it is within the same bound */
  panel.whole = (anew == PETSC_TRUE ? s : 3 * s) <= panel.local ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, bytes, &R));
  if (anew == PETSC_TRUE) {
    PetscCall(PetscInfo(polar, "Restarts after each step: a rank has %zu extents of the long side of this %" PetscInt_FMT " x %" PetscInt_FMT " matrix, too few for %zu x %zu products to pay and to fit\n", least, G->rows, G->columns, s, s));
  } else {
    PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, bytes, &W));
    PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, bytes, &B));
    PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, bytes, &T));
  }
  for (PetscInt k = 0; k < steps; k++) {
    double c[3];
    void  *swap;

    MuonPolarGetPolynomialRow_Private(polar, p, k, c);
    if (fresh == PETSC_TRUE) PetscCall(MuonPolarPanelGram(&panel, R));
    if (k == 0) PetscCall(MuonPolarPanelBegin(&panel, p, R, c));
    /* A segment of one step is one of Newton and Schulz */
    if (fresh == PETSC_TRUE && last[k]) {
      PetscCall(MuonPolarPanelPolynomial(&panel, R, c));
      continue;
    }
    /*
       W = c1 I + c2 R + c3 R R; all matrices are polynomials in the first R, so that they commute and their
       products are symmetric
    */
    real->mirror(s, R);
    PetscCall(MuonPolarCopy_Private(real, W, R, bytes));
    real->gram(1, s, c[2] == 0.0 ? 0 : s, c[2], R, s, c[1], W);
    if (c[2] != 0.0) PetscCall(PetscLogFlops((PetscLogDouble)s * s * (s + 1)));
    real->shift(s, c[0], W);
    real->mirror(s, W);
    /* The B that multiplies the panel in the end becomes B W; the first one is W, after R has taken it */
    if (fresh == PETSC_FALSE) {
      PetscCall(MuonPolarProduct_Gram(&panel, B, W, T));
      real->mirror(s, T);
      swap = B;
      B    = T;
      T    = swap;
    }
    /* R becomes W R W, the Gram matrix of the next step, if there is one before a restart */
    if (last[k] == 0) {
      PetscCall(MuonPolarProduct_Gram(&panel, R, W, T));
      real->mirror(s, T);
      PetscCall(MuonPolarProduct_Gram(&panel, W, T, R));
    }
    if (fresh == PETSC_TRUE) {
      swap = B;
      B    = W;
      W    = swap;
    }
    fresh = last[k] ? PETSC_TRUE : PETSC_FALSE;
    if (last[k]) PetscCall(MuonPolarPanelMultiply(&panel, B));
  }
  PetscCall(PetscFree(last));
  /*
     A negative eigenvalue that outgrew its segment, an estimate of the norm or polynomials of the user may
     have let the iteration diverge
  */
  PetscCall(MuonPolarPanelSumSquares(&panel, &squares));
  if (!(squares <= 16.0 * (double)s)) {
    PetscCall(PetscInfo(polar, "The iteration diverges: the squares of the singular values add up to %g after %" PetscInt_FMT " steps\n", squares, steps));
    polar->status = MUON_STATUS_LMO;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonPolarPanelStore(&panel, 1.0, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApplyMany_Gram(MuonPolar polar, PetscInt n, const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[])
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarApplyBatches_Private(polar, PETSC_TRUE, MuonPolarSegments_Gram, n, G, Q, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_Gram(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const double                s = (double)PetscMin(m, n), l = (double)PetscMax(m, n);
  const MuonKernelPolynomial *p;
  PetscInt                    steps;
  unsigned char              *last;
  PetscBool                   anew, fresh = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPolynomial_Private(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(PetscMalloc1(steps, &last));
  PetscCall(MuonPolarSegments_Gram(polar, steps, (size_t)PetscMin(m, n), (size_t)PetscMax(m, n), last, &anew));
  *flops = MuonPolarPanelBeginFlops(polar, p, m, n) + 2.0 * s * l;
  for (PetscInt k = 0; k < steps; k++) {
    double c[3];

    MuonPolarGetPolynomialRow_Private(polar, p, k, c);
    if (fresh == PETSC_TRUE) *flops += s * (s + 1) * l;
    *flops += s * s * (s + 1) * ((c[2] == 0.0 ? 0.0 : 1.0) + (fresh == PETSC_TRUE ? 0.0 : 1.0) + (last[k] ? 0.0 : 2.0));
    if (last[k]) *flops += 2.0 * s * s * l;
    fresh = last[k] ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(PetscFree(last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetFromOptions_Gram(MuonPolar polar, MuonOptionItems PetscOptionsObject)
{
  const char *prefix = MuonPolarPrefix_Private(polar);
  /* One more than there may be, which an error shows */
  PetscInt  restarts[MAXMUONPOLARROWS + 1] = {0}, count = MAXMUONPOLARROWS + 1;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MuonPolar Gram options");
  PetscCall(PetscOptionsIntArray("-lmo_polar_gram_restart", "Steps after which the Gram matrix is formed anew, 0 for none", "MuonPolarGramSetRestart", restarts, &count, &set));
  PetscCheck(set == PETSC_FALSE || count <= MAXMUONPOLARROWS, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_gram_restart has more than %d numbers", prefix, MAXMUONPOLARROWS);
  if (set == PETSC_TRUE) PetscCall(MuonPolarGramSetRestart(polar, count == 1 && restarts[0] == 0 ? 0 : count, restarts));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarChoices_Gram(MuonPolar polar, size_t length, char text[])
{
  PetscInt     steps, count, *restarts;
  unsigned int hash;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(PetscMalloc1(steps, &restarts));
  PetscCall(MuonPolarRestarts_Gram(polar, steps, &count, restarts));
  PetscCall(MuonHash_Private((size_t)count * sizeof(*restarts), restarts, &hash));
  PetscCall(PetscFree(restarts));
  PetscCall(PetscSNPrintf(text, length, " restarts %x", hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_Gram(MuonPolar polar, PetscViewer viewer)
{
  MuonPolarCoefficients name;
  PetscInt              steps, count, *restarts;
  PetscBool             ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(PetscMalloc1(steps, &restarts));
  PetscCall(MuonPolarRestarts_Gram(polar, steps, &count, restarts));
  if (ascii == PETSC_TRUE) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients: %s, steps: %" PetscInt_FMT ", restarts after:", name, steps));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt i = 0; i < count; i++) PetscCall(PetscViewerASCIIPrintf(viewer, " %" PetscInt_FMT, restarts[i]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", count == 0 ? " none" : ""));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  } else {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s %" PetscInt_FMT " steps", name, steps));
    for (PetscInt i = 0; i < count; i++) PetscCall(PetscViewerStringSPrintf(viewer, "%s%" PetscInt_FMT, i == 0 ? " restarts " : ",", restarts[i]));
  }
  PetscCall(PetscFree(restarts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarDestroy_Gram(MuonPolar polar)
{
  MuonPolar_Gram *data = (MuonPolar_Gram *)polar->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(data->restarts));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARGRAM - "gram" - the polynomials of Newton and Schulz, applied to the Gram matrix of the shorter
  side

  Options Database Keys:
+ -lmo_polar_coefficients name               - the polynomials, `pe105` by default, see `MuonPolarSetCoefficients()`
. -lmo_polar_coefficient_values c1,c2,c3,... - polynomials of your own, see `MuonPolarSetCoefficientValues()`
. -lmo_polar_steps n                         - the number of steps, see `MuonPolarSetSteps()`
. -lmo_polar_gram_restart k1,k2,...          - steps after which the Gram matrix is formed anew, see `MuonPolarGramSetRestart()`
. -lmo_polar_precision single|double|bf16    - of the arithmetic, `single` by default, see `MuonPolarSetPrecision()`
. -lmo_polar_normalization name              - what the matrix is divided by first, see `MuonPolarSetNormalization()`
- -lmo_polar_power_iterations n              - for the spectral normalization, see `MuonPolarSetPowerIterations()`

  Level: intermediate

  Notes:
  In exact arithmetic the result is that of `MUONPOLARNEWTONSCHULZ` with the same polynomials, and the ranges
  on its page hold. The steps work on two matrices of the shorter side $a \leq b$,
  $R = Y Y^T$ and $Q = I$,
.vb
  W = c1 I + c2 R + c3 R R,   Q <- Q W,   R <- W R W
.ve
  and at the end, and after each step of `-lmo_polar_gram_restart`, $Y \leftarrow Q Y$. All of them are
  polynomials in the first $R$, hence symmetric and commuting, and of each product one triangle is computed,
  by GEMMT where the BLAS has it. Five steps with one restart take $6 a^2 b + 14 a^3$ operations, where
  `MUONPOLARNEWTONSCHULZ` takes $15 a^2 b + 5 a^3$.

  A step without a restart pays where $b > a$ and needs four matrices of the shorter side. Where $2 b < 3 a +
  \min(b, 512)$ that is more than $a^2 + 3 a b$ entries in all, and the method restarts after each step
  whatever the option says, as it tells through `PetscInfo()`: for square matrices it is
  `MUONPOLARNEWTONSCHULZ`. On $J$ ranks that holds with the least part of $b$ that a rank has in place of $b$,
  so that a rank needs at most $s^2 + 3 d / J$ entries of scratch if it has $d / J$ of the $d$ entries of the
  matrix.

  Rounding leaves $R$ slightly indefinite, and a negative eigenvalue grows with each step until the next
  restart. Where it outgrows everything, with too few restarts, `MuonPolarGetStatus()` is `MUON_STATUS_LMO`.
  Singular values below the square root of the roundoff, $2 \cdot 10^{-4}$ of the largest in single, are not
  resolved by a Gram matrix and end anywhere between zero and the others. In bf16 that is 0.06 of the largest,
  which is why `MUONPOLARNEWTONSCHULZ`, whose steps each form it anew, is the better choice there.

  On a device matrices that come together, in `MuonPolarApplyMany()` or a step, are multiplied in batches, see
  there. What is said above of one with the sides $a$ and $b$ holds there with the largest $b$ of the batch.
  The set `aol` and `MUON_POLAR_NORMALIZATION_SPECTRAL` find out about each matrix first and go one by one.

  References:
. * - J. Zhang, N. Amsel, B. Chen, T. Dao, Gram Newton-Schulz, 2026; the last line of its published algorithm multiplies by the factor before the last

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarApplyMany()`, `MuonPolarCoefficients`, `MuonPolarGramSetRestart()`, `MUONPOLARNEWTONSCHULZ`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Gram(MuonPolar polar)
{
  MuonPolar_Gram *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  data->nrestarts            = PETSC_DETERMINE;
  polar->data                = data;
  polar->ondevice            = PETSC_TRUE;
  polar->ownprecision        = MUON_POLAR_PRECISION_SINGLE;
  polar->products            = PETSC_TRUE;
  polar->owncoefficients     = MUONPOLARCOEFFICIENTSPE105;
  polar->ops->setup          = MuonPolarSetUpPolynomial_Private;
  polar->ops->choices        = MuonPolarChoices_Gram;
  polar->ops->apply          = MuonPolarApply_Gram;
  polar->ops->applymany      = MuonPolarApplyMany_Gram;
  polar->ops->getflops       = MuonPolarGetFlops_Gram;
  polar->ops->getsteps       = MuonPolarGetPolynomialSteps_Private;
  polar->ops->setfromoptions = MuonPolarSetFromOptions_Gram;
  polar->ops->view           = MuonPolarView_Gram;
  polar->ops->destroy        = MuonPolarDestroy_Gram;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGramSetRestart - Sets after which steps Newton-Schulz on the Gram matrix multiplies the matrix and
  forms its Gram matrix anew

  Logically Collective

  Input Parameters:
+ polar - the object, of type `MUONPOLARGRAM`
. count - how many restarts, 0 for none, or `PETSC_DETERMINE` for those of the rule
- steps - the steps after which they are, increasing, 1 for after the first; those past the last step but one change nothing

  Options Database Key:
. -lmo_polar_gram_restart k1,k2,... - the steps, 0 for none, 2 for most polynomials by default

  Level: advanced

  Notes:
  The rule is one restart after step 2, where that keeps the condition number of what multiplies the matrix
  below 128, and otherwise the least that do, as late as they can be: after step 6 for the ten steps of
  `quintic`, after step 10 for the fifteen of `cubic`. It follows a negative eigenvalue of $-4 \cdot 10^{-4}$,
  which rounding may leave in the Gram matrix, through the polynomials.

  Other types ignore it.

.seealso: `MuonPolar`, `MuonPolarGramGetRestart()`, `MuonPolarSetSteps()`, `MUONPOLARGRAM`
@*/
PetscErrorCode MuonPolarGramSetRestart(MuonPolar polar, PetscInt count, const PetscInt steps[])
{
  MuonPolar_Gram *data;
  PetscInt       *copy = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(polar, count, 2);
  MuonIgnoreUnlessType(polar, MUONPOLARGRAM);
  PetscCheck(count == PETSC_DETERMINE || count >= 0, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_gram_restart has %" PetscInt_FMT " numbers, expected none or more", MuonPolarPrefix_Private(polar), count);
  for (PetscInt i = 0; i < count; i++) {
    PetscCheck(steps[i] > (i > 0 ? steps[i - 1] : 0), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
               "Number %" PetscInt_FMT " of option -%slmo_polar_gram_restart is %" PetscInt_FMT ", expected increasing numbers of steps, the first at least 1", i, MuonPolarPrefix_Private(polar), steps[i]);
  }
  if (count > 0) {
    PetscCall(PetscMalloc1(count, &copy));
    PetscCall(PetscArraycpy(copy, steps, count));
  }
  data = (MuonPolar_Gram *)polar->data;
  PetscCall(PetscFree(data->restarts));
  data->restarts  = copy;
  data->nrestarts = count;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGramGetRestart - Gets after which steps Newton-Schulz on the Gram matrix forms it anew

  Not Collective

  Input Parameter:
. polar - the object, of type `MUONPOLARGRAM`

  Input/Output Parameter:
. count - the room in `steps`; becomes the number of restarts

  Output Parameter:
. steps - the steps after which they are, as many as there is room for

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarGramSetRestart()`, `MUONPOLARGRAM`
@*/
PetscErrorCode MuonPolarGramGetRestart(MuonPolar polar, PetscInt *count, PetscInt steps[])
{
  PetscInt number, *restarts, most;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(count, 2);
  MuonCheckType(polar, MUONPOLARGRAM);
  PetscCall(MuonPolarGetSteps(polar, &most));
  PetscCall(PetscMalloc1(most, &restarts));
  PetscCall(MuonPolarRestarts_Gram(polar, most, &number, restarts));
  for (PetscInt i = 0; i < PetscMin(*count, number); i++) steps[i] = restarts[i];
  PetscCall(PetscFree(restarts));
  *count = number;
  PetscFunctionReturn(PETSC_SUCCESS);
}
