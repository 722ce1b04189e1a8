#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../muonpolarpolynomial.h"
#include <string.h>

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@misc{zhang2026gram,\n"
                                   "  author = {Jack Zhang and Noah Amsel and Berlin Chen and Tri Dao},\n"
                                   "  title  = {Gram {Newton--Schulz}: A fast, hardware-aware {Newton--Schulz} algorithm for {Muon}},\n"
                                   "  year   = {2026}\n}\n";

typedef struct {
  MuonPolarPolynomials p;
  char                *restart; /* steps after which the Gram matrix is formed anew; NULL: by the rule below */
  PetscInt             nrestarts, restarts[MAXMUONPOLARROWS];
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
#define SPECTRUM  101 /* singular values from 1e-5 to 1 */

/*
   The condition number of Q over the steps first ... last - 1, x the singular values before, and after if
   they are to be changed
*/
static double MuonPolarCondition_Gram(const MuonPolarPolynomials *p, PetscInt first, PetscInt last, double x[SPECTRUM], PetscBool change)
{
  double least = PETSC_MAX_REAL, most = 0.0;

  for (int i = 0; i <= SPECTRUM; i++) {
    double r = i < SPECTRUM ? x[i] * x[i] : -DELTA, q = 1.0;

    for (PetscInt k = first; k < last; k++) {
      double c[3], h;

      MuonPolarPolynomialsRow(p, k, c);
      h = c[0] + (c[1] + c[2] * r) * r;
      q *= h;
      r *= h * h;
    }
    if (change && i < SPECTRUM) x[i] = fabs(q) * x[i];
    least = PetscMin(least, fabs(q));
    most  = PetscMax(most, fabs(q));
  }
  return least > 0.0 ? most / least : PETSC_MAX_REAL;
}

/* The steps after which the method restarts, those of the user below the number of steps or those of the rule */
static void MuonPolarRestarts_Gram(const MuonPolar_Gram *data, PetscInt steps, PetscInt *count, PetscInt restarts[])
{
  const MuonPolarPolynomials *p = &data->p;
  double                      start[SPECTRUM], x[SPECTRUM];

  *count = 0;
  if (data->restart != NULL) {
    for (PetscInt i = 0; i < data->nrestarts && data->restarts[i] < steps; i++) restarts[(*count)++] = data->restarts[i];
    return;
  }
  for (int i = 0; i < SPECTRUM; i++) start[i] = x[i] = pow(10.0, -5.0 * i / (SPECTRUM - 1));
  if (MuonPolarCondition_Gram(p, 0, steps, x, PETSC_FALSE) <= CONDITION) return;
  if (steps > 2 && MuonPolarCondition_Gram(p, 0, 2, x, PETSC_TRUE) <= CONDITION && MuonPolarCondition_Gram(p, 2, steps, x, PETSC_FALSE) <= CONDITION) {
    restarts[(*count)++] = 2;
    return;
  }
  for (PetscInt first = 0, last; first < steps; first = last) {
    for (last = first + 1; last < steps && MuonPolarCondition_Gram(p, first, last + 1, start, PETSC_FALSE) <= CONDITION;) last++;
    (void)MuonPolarCondition_Gram(p, first, last, start, PETSC_TRUE);
    if (last < steps) restarts[(*count)++] = last;
  }
}

/*
   A step without a restart makes three symmetric products of s^3 operations in place of one product with the
   panel and one Gram matrix, of 3 s^2 length on a rank with length extents of the long side: it pays where
   length > s. It needs four s x s matrices beside the panel and a strip of it, which stays within s^2 + 3 s
   length entries, a panel of s length and a strip of s strip, while 3 s + strip <= 2 length: the second
   condition implies the first. Where it does not hold on every rank, the method restarts after each step,
   which is both cheaper, but for lengths between one and two times s, and smaller.
*/
static PetscErrorCode MuonPolarSegments_Gram(MuonPolar polar, PetscInt steps, size_t s, size_t least, PetscBool last[], PetscBool *anew)
{
  MuonPolarPanel panel;
  PetscInt       count, *restarts;

  PetscFunctionBegin;
  panel.local = least;
  panel.whole = PETSC_FALSE;
  *anew       = 3 * s + MuonPolarPanelGetStrip(&panel) <= 2 * least ? PETSC_FALSE : PETSC_TRUE;
  if (*anew) PetscCall(PetscInfo(polar, "Restarts after each step: a rank has %zu extents of the long side, too few for %zu x %zu products to pay and to fit\n", least, s, s));
  if (*anew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(steps, &restarts));
  MuonPolarRestarts_Gram((MuonPolar_Gram *)polar->data, steps, &count, restarts);
  for (PetscInt k = 0; k < steps - 1; k++) last[k] = PETSC_FALSE;
  for (PetscInt i = 0; i < count; i++) last[restarts[i] - 1] = PETSC_TRUE;
  PetscCall(PetscFree(restarts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Increasing numbers with commas between them, or 0 for none */
static PetscErrorCode MuonPolarReadRestarts_Gram(MuonPolar polar, const char text[], PetscInt *count, PetscInt restarts[])
{
  char **number;
  int    numbers;

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(text, ',', &numbers, &number));
  PetscCheck(numbers <= MAXMUONPOLARROWS, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_gram_restart has more than %d numbers", MuonPolarPrefix_Private(polar), MAXMUONPOLARROWS);
  for (int i = 0; i < numbers; i++) {
    PetscCall(PetscOptionsStringToInt(number[i], &restarts[i]));
    PetscCheck(restarts[i] > (i > 0 ? restarts[i - 1] : 0) || (numbers == 1 && restarts[0] == 0), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
               "Number %d of option -%slmo_polar_gram_restart is %" PetscInt_FMT ", expected increasing numbers of steps, the first at least 1, or 0 for none", i, MuonPolarPrefix_Private(polar), restarts[i]);
  }
  *count = numbers == 0 || restarts[0] == 0 ? 0 : numbers;
  PetscCall(PetscStrToArrayDestroy(numbers, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarCheckText_Gram(MuonPolar polar, const char key[], const char value[])
{
  PetscInt count, restarts[MAXMUONPOLARROWS];

  PetscFunctionBegin;
  if (strcmp(key, "gram_restart") == 0) PetscCall(MuonPolarReadRestarts_Gram(polar, value, &count, restarts));
  else PetscCall(MuonPolarCheckText_Polynomials(polar, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarRead_Gram(MuonPolar polar)
{
  MuonPolar_Gram *data = (MuonPolar_Gram *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonPolarReadPolynomials(polar));
  if (data->restart != NULL) PetscCall(MuonPolarReadRestarts_Gram(polar, data->restart, &data->nrestarts, data->restarts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_Gram(MuonPolar polar, PetscViewer viewer)
{
  const PetscInt steps = MuonPolarPolynomialsSteps((MuonPolarPolynomials *)polar->data);
  PetscInt       count, *restarts;
  PetscBool      ascii;
  char           text[256] = "";

  PetscFunctionBegin;
  PetscCall(MuonPolarView_Polynomials(polar, viewer));
  PetscCall(PetscMalloc1(steps, &restarts));
  MuonPolarRestarts_Gram((MuonPolar_Gram *)polar->data, steps, &count, restarts);
  for (PetscInt i = 0; i < count; i++) PetscCall(PetscSNPrintf(text + strlen(text), sizeof(text) - strlen(text), "%s%" PetscInt_FMT, i == 0 ? "" : ",", restarts[i]));
  PetscCall(PetscFree(restarts));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "restarts after: %s\n", count > 0 ? text : "none"));
  else if (count > 0) PetscCall(PetscViewerStringSPrintf(viewer, " restarts %s", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonPolarParameters_Gram[] = {MUON_POLAR_POLYNOMIALS_ROWS,
                                                  {"gram_restart", MUON_PARAMETER_TEXT, offsetof(MuonPolar_Gram, restart), 0, 0, 0, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_HIDDEN, "Steps after which the Gram matrix is formed anew, 0 for none"},
                                                  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONPOLARGRAM - "gram" - Newton-Schulz polynomials of the Gram matrix of the shorter side

  Options Database Keys:
+ -lmo_polar_coefficients name                - the polynomials, `pe105` by default, see `MuonPolarCoefficients`
. -lmo_polar_coefficient_values c1,c2,c3,...  - polynomials of your own, see `MuonPolarSetCoefficientValues()`
. -lmo_polar_steps n                          - the number of steps, by default that of the polynomials
. -lmo_polar_gram_restart k1,k2,...           - steps after which the Gram matrix is formed anew, 0 for none
. -lmo_polar_precision single|double|bf16     - precision of the arithmetic, `single` by default, see `MuonPolarSetFromOptions()`
. -lmo_polar_normalization frobenius|spectral - norm by which the matrix is divided first, `frobenius` by default, see `MUONPOLARNEWTONSCHULZ`
- -lmo_polar_power_iterations n               - power iterations of the spectral normalization, 2 by default

  Level: intermediate

  Notes:
  In exact arithmetic the result is that of `MUONPOLARNEWTONSCHULZ` with the same polynomials, and the ranges
  on its page hold. The steps work on two matrices of the shorter side $a \leq b$,
  $R = Y Y^T$ and $Q = I$,
.vb
  W = c1 I + c2 R + c3 R R,   Q <- Q W,   R <- W R W
.ve
  and at the end, and after each step of `-lmo_polar_gram_restart`, $Y \leftarrow Q Y$. All matrices are polynomials in
  the first $R$. They are symmetric and commute, so that only one triangle of each product is computed, by GEMMT if the
  BLAS has it. Five steps with one restart take $6 a^2 b + 14 a^3$ operations, where
  `MUONPOLARNEWTONSCHULZ` takes $15 a^2 b + 5 a^3$.

  By default there is one restart after step 2, if this keeps the condition number of the factor $Q$ below 128.
  Otherwise there are as few restarts as this needs, as late as possible\: after step 6 for the ten steps of
  `quintic`, after step 10 for the fifteen of `cubic`. The rule follows a negative eigenvalue of $-4 \cdot 10^{-4}$,
  which rounding may leave in the Gram matrix, through the polynomials. Numbers beyond the last step but one have no
  effect.

  A step without a restart pays for $b > a$ and needs four matrices of the shorter side. For $2 b < 3 a + \min(b, 512)$
  these are more than $a^2 + 3 a b$ entries in all. The method then restarts after each step, for any value of the
  option, as `PetscInfo()` shows; for square matrices it is `MUONPOLARNEWTONSCHULZ`. On $J$ ranks the smallest part of
  $b$ on a rank takes the place of $b$. A rank with $d / J$ of the $d$ entries needs at most $s^2 + 3 d / J$ entries of
  scratch.

  Rounding makes $R$ slightly indefinite, and a negative eigenvalue grows with each step until the next restart. If the
  iteration diverges, with too few restarts, the status is `MUON_STATUS_LMO`.
  Singular values below the square root of the roundoff, $2 \cdot 10^{-4}$ of the largest in single, are not resolved
  by a Gram matrix and end anywhere between zero and the others. In bf16 this is 0.06 of the largest.
  `MUONPOLARNEWTONSCHULZ`, which forms the Gram matrix in each step, is the better choice there.

  On a device several matrices, in `MuonPolarApplyMany()` or a step, are multiplied in batches. The rules above then
  use the largest $b$ of the batch. The set `aol` and `MUON_POLAR_NORMALIZATION_SPECTRAL` depend on each matrix and are
  not batched.

  References:
. * - J. Zhang, N. Amsel, B. Chen, T. Dao, Gram Newton-Schulz, 2026; the last line of its published algorithm multiplies by the factor before the last

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarApplyMany()`, `MuonPolarCoefficients`, `MUONPOLARNEWTONSCHULZ`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Gram(MuonPolar polar)
{
  MuonPolar_Gram *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  polar->data = data;
  PetscCall(MuonPolarSetPolynomials(polar, MUONPOLARCOEFFICIENTSPE105, MuonPolarSegments_Gram));
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  polar->ops->checktext      = MuonPolarCheckText_Gram;
  polar->ops->setfromoptions = MuonPolarRead_Gram;
  polar->ops->view           = MuonPolarView_Gram;
  PetscFunctionReturn(PETSC_SUCCESS);
}
