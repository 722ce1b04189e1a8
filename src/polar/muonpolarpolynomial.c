#include "muonpolarpolynomial.h" /*I "petscmuonpolar.h" I*/

/* Three numbers for each step with commas between them, as many rows as there are */
static PetscErrorCode MuonPolarReadValues_Private(MuonPolar polar, const char text[], PetscInt *rows, double c[])
{
  char      **value;
  int         count;
  PetscBool   ok;
  MPI_Comm    comm   = PetscObjectComm((PetscObject)polar);
  const char *prefix = MuonPolarPrefix_Private(polar);

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(text, ',', &count, &value));
  PetscCheck(count >= 3 && count % 3 == 0 && count <= 3 * MAXMUONPOLARROWS, comm, PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_coefficient_values has %d values, expected three for each step and at most %d", prefix, count, 3 * MAXMUONPOLARROWS);
  for (int i = 0; i < count; i++) {
    PetscCall(MuonNumberRead(value[i], &c[i], &ok));
    PetscCheck(ok && c[i] < (double)PETSC_INFINITY && c[i] > (double)PETSC_NINFINITY, comm, PETSC_ERR_ARG_OUTOFRANGE, "Value %d of option -%slmo_polar_coefficient_values is %s, expected a number", i, prefix, value[i]);
  }
  PetscCall(PetscStrToArrayDestroy(count, value));
  *rows = count / 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarCheckText_Polynomials(MuonPolar polar, const char key[], const char value[])
{
  const MuonKernelPolynomial *known;
  double                      c[3 * MAXMUONPOLARROWS];
  PetscInt                    rows;
  char                        names[512] = "";

  PetscFunctionBegin;
  if (strcmp(key, "coefficient_values") == 0) PetscCall(MuonPolarReadValues_Private(polar, value, &rows, c));
  if (strcmp(key, "coefficients") != 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; (known = MuonKernelPolynomialGet(i)) != NULL; i++) {
    PetscCall(PetscStrlcat(names, " ", sizeof(names)));
    PetscCall(PetscStrlcat(names, known->name, sizeof(names)));
  }
  PetscCheck(MuonKernelPolynomialFind(value) != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown set %s of option -%slmo_polar_coefficients, expected one of:%s", value, MuonPolarPrefix_Private(polar), names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarReadPolynomials(MuonPolar polar)
{
  MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;

  PetscFunctionBegin;
  p->nrows = 0;
  p->known = MuonKernelPolynomialFind(p->coefficients != NULL ? p->coefficients : MUONPOLARCOEFFICIENTSKJ);
  if (p->values == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  p->known = NULL;
  PetscCall(MuonPolarReadValues_Private(polar, p->values, &p->nrows, p->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetUp_Polynomials(MuonPolar polar)
{
  const MuonKernelReal *real;

  PetscFunctionBegin;
  PetscTryTypeMethod(polar, setfromoptions);
  PetscCall(MuonPolarGetReal_Private(polar, polar->memory, polar->pairs, &real));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt MuonPolarPolynomialsSteps(const MuonPolarPolynomials *p)
{
  if (p->steps != PETSC_DETERMINE) return p->steps;
  return p->known != NULL ? p->known->steps : p->nrows;
}

void MuonPolarPolynomialsRow(const MuonPolarPolynomials *p, PetscInt step, double c[3])
{
  if (p->known != NULL) MuonKernelPolynomialRow(p->known, (int)step, c);
  else memcpy(c, p->c + 3 * PetscMin(step, p->nrows - 1), 3 * sizeof(*c));
}

PetscErrorCode MuonPolarView_Polynomials(MuonPolar polar, PetscViewer viewer)
{
  const MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;
  const char                 *name;
  PetscBool                   ascii;

  PetscFunctionBegin;
  PetscCall(MuonPolarReadPolynomials(polar));
  name = p->known != NULL ? p->known->name : "user";
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients: %s, steps: %" PetscInt_FMT "\n", name, MuonPolarPolynomialsSteps(p)));
  else PetscCall(PetscViewerStringSPrintf(viewer, " %s %" PetscInt_FMT " steps", name, MuonPolarPolynomialsSteps(p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetCoefficientValues - Sets your own polynomials for an iterative method

  Logically Collective

  Input Parameters:
+ polar - the object, of type `MUONPOLARNEWTONSCHULZ` or `MUONPOLARGRAM`
. count - number of values, three for each step, at most 96
- c     - the coefficients of $x$, $x^3$ and $x^5$ of the first step, of the second, ...; later steps repeat the last ones

  Options Database Key:
. -lmo_polar_coefficient_values c1,c2,c3,... - the coefficients

  Level: advanced

  Notes:
  The number of steps is the number of polynomials unless `-lmo_polar_steps` is given. The input of the first
  polynomial is singular values in $(0, 1]$.

  They replace the set of `-lmo_polar_coefficients` until a set is chosen again.

.seealso: `MuonPolar`, `MuonPolarCoefficients`, `MuonObjectSetParameter()`, `MUONPOLARNEWTONSCHULZ`
@*/
PetscErrorCode MuonPolarSetCoefficientValues(MuonPolar polar, PetscInt count, const PetscReal c[])
{
  char *text, *end, number[64];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(c, 3);
  PetscCall(PetscMalloc1(32 * PetscMax(count, 1), &text));
  text[0] = '\0';
  end     = text;
  for (PetscInt i = 0; i < count; i++) {
    PetscCall(MuonNumberWrite((double)c[i], sizeof(number), number));
    PetscCall(PetscSNPrintf(end, 32, "%s%s", i > 0 ? "," : "", number));
    end += strlen(end);
  }
  PetscCall(MuonObjectSetParameter((PetscObject)polar, "lmo_polar_coefficient_values", count > 0 ? text : ","));
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Before the first step, with the Gram matrix A of the panel: balances both where the set asks for it, or
   divides the polynomial by the estimate of the spectral norm. To balance is to multiply them by the diagonal
   d_i = (sum_j |a_ij|)^(-1/2) on the short side, which brings the largest singular value to one or below
*/
static PetscErrorCode MuonPolarPanelBegin(MuonPolarPanel *p, const MuonPolarPolynomials *polynomials, void *A, double c[3])
{
  double divisor, *d;

  PetscFunctionBegin;
  if (polynomials->known != NULL && polynomials->known->equalize) {
    PetscCall(PetscMalloc1(p->s, &d));
    p->real->rowsums(p->s, A, d);
    for (size_t i = 0; i < p->s; i++) d[i] = d[i] > 0.0 ? 1.0 / sqrt(d[i]) : 0.0;
    p->real->scale(1, p->s, p->s, d, A, p->s);
    p->real->scale(0, p->s, p->s, d, A, p->s);
    p->real->scale(p->left, p->s, p->local, d, p->Y, p->left ? p->s : p->local);
    PetscCall(PetscFree(d));
    PetscCall(PetscLogFlops(3.0 * p->s * p->s + (PetscLogDouble)p->s * p->local));
  } else if (polynomials->normalization == (int)MUON_POLAR_NORMALIZATION_SPECTRAL) {
    PetscCall(MuonPolarPanelSpectral(p, polynomials->iterations, A, &divisor));
    MuonKernelPolynomialDivide(divisor, c);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = c2 A + c3 A A, where A becomes whole */
static PetscErrorCode MuonPolarPanelSquare(const MuonPolarPanel *p, void *A, const double c[3], void *B)
{
  const MuonKernelReal *real = p->real;

  PetscFunctionBegin;
  real->mirror(p->s, p->count, A);
  PetscCall(MuonPolarCopy_Private(real, B, A, p->count * p->s * p->s * real->size));
  real->gram(1, p->s, c[2] == 0.0 ? 0 : p->s, p->count, c[2], A, p->s, c[1], B);
  if (c[2] != 0.0) PetscCall(PetscLogFlops(MuonPolarPanelFlops(p) * p->count * p->s * p->s * (p->s + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = p(Y) with the Gram matrix A of the panel, which is lost. A step is Y <- c1 Y + (c2 A + c3 A A) Y with the Gram matrix A of the short side s, on a rank with length
   extents of the long side. With the square of A it makes, the Gram matrix included, 3 s^2 length + s^3
   operations and needs 2 s^2 entries beside the panel and a strip of it; by Horner's rule, A (c2 Y + c3 A Y),
   5 s^2 length and s^2. The square is the cheaper one while s < 2 length, and it stays within s^2 + 3 s
   length entries, with a panel of s length and a strip of s strip, while s + strip <= 2 length: the second
   condition implies the first. One rank holds the whole long side, hence always takes the square; on many
   ranks Horner's rule takes over as the parts get shorter than the short side.
*/
static PetscErrorCode MuonPolarPanelPolynomial(MuonPolarPanel *p, void *A, const double c[3])
{
  const MuonKernelReal *real = p->real;
  void                 *B;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelReserve(p));
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  if (c[2] != 0.0 && p->s + MuonPolarPanelGetStrip(p) <= 2 * p->local) {
    PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, p->count * p->s * p->s * real->size, &B));
    PetscCall(MuonPolarPanelSquare(p, A, c, B));
    /* Rounded to 8 bits, the sum of c1 and a diagonal entry would keep few of the latter's */
    if (real->unit > 1.0 / 512.0) PetscCall(MuonPolarPanelUpdate(p, c[0], 1.0, 0.0, B));
    else {
      real->shift(p->s, p->count, c[0], B);
      PetscCall(MuonPolarPanelMultiply(p, 1.0, B, NULL));
    }
  } else PetscCall(MuonPolarPanelUpdate(p, c[0], c[1], c[2], A));
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B of matrices that commute, A and C whole and B made so */
static PetscErrorCode MuonPolarPanelProduct(const MuonPolarPanel *p, const void *A, const void *B, void *C)
{
  PetscFunctionBegin;
  p->real->product(p->s, p->count, 1.0, A, B, 0.0, C);
  PetscCall(PetscLogFlops(MuonPolarPanelFlops(p) * p->count * p->s * p->s * (p->s + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Swap(void **a, void **b)
{
  void *c = *a;

  *a = *b;
  *b = c;
}

/*
   A step within a segment: with W = c1 I + c2 R + c3 R R, B becomes B W, and R becomes W R W, the Gram matrix of
   the next step, unless this one is the last of its segment. All matrices are polynomials in the first R, so
   that they commute and their products are symmetric. X holds R, W, B and scratch
*/
static PetscErrorCode MuonPolarPanelSegment(const MuonPolarPanel *p, const double c[3], PetscBool first, PetscBool last, void *X[4])
{
  const MuonKernelReal *real = p->real;
  const size_t          s    = p->s;
  void **const R = &X[0], **const W = &X[1], **const B = &X[2], **const T = &X[3];

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelSquare(p, *R, c, *W));
  real->shift(s, p->count, c[0], *W);
  real->mirror(s, p->count, *W);
  /* The first B is W, after R has taken it */
  if (!first) {
    PetscCall(MuonPolarPanelProduct(p, *B, *W, *T));
    real->mirror(s, p->count, *T);
    Swap(B, T);
  }
  if (!last) {
    PetscCall(MuonPolarPanelProduct(p, *R, *W, *T));
    real->mirror(s, p->count, *T);
    PetscCall(MuonPolarPanelProduct(p, *W, *T, *R));
  }
  if (first) Swap(B, W);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which steps form the Gram matrix anew, for what a rank has at least; last is to be freed */
static PetscErrorCode MuonPolarPolynomialsSegments(MuonPolar polar, size_t s, size_t least, PetscBool *last[], PetscBool *anew)
{
  const MuonPolarPolynomials *p     = (MuonPolarPolynomials *)polar->data;
  const PetscInt              steps = MuonPolarPolynomialsSteps(p);

  PetscFunctionBegin;
  *anew = PETSC_TRUE;
  PetscCall(PetscMalloc1(steps, last));
  for (PetscInt k = 0; k < steps; k++) (*last)[k] = PETSC_TRUE;
  if (p->segments != NULL) PetscCall((*p->segments)(polar, steps, s, least, *last, anew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An estimate of the norm, polynomials of the user, known ones beyond their steps, or a negative eigenvalue that
   outgrew its segment may let the iteration diverge, and a product in bf16 that failed is NaN; the rest stays
   bounded
*/
static PetscErrorCode MuonPolarPolynomialsWatch(MuonPolar polar, PetscBool *watch)
{
  const MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;
  MuonPolarPrecision          precision;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  *watch = p->normalization == (int)MUON_POLAR_NORMALIZATION_SPECTRAL || precision == MUON_POLAR_PRECISION_BF16 ? PETSC_TRUE : PETSC_FALSE;
  if (p->segments != NULL || p->known == NULL || MuonPolarPolynomialsSteps(p) > p->known->steps) *watch = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q = the panels, or MUON_STATUS_LMO where the squares of their singular values say that the iteration diverged */
static PetscErrorCode MuonPolarPanelEnd(MuonPolarPanel *p, PetscInt steps, MuonPolarTask *const task[])
{
  PetscBool watch;
  double    squares = 0.0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPolynomialsWatch(p->polar, &watch));
  for (size_t k = 0; k < p->count; k++) {
    if (watch) PetscCall(MuonPolarPanelSumSquares(p, k, &squares));
    if (squares <= 16.0 * (double)p->s) PetscCall(MuonPolarPanelStore(p, k, 1.0, &task[k]->Q));
    else {
      PetscCall(PetscInfo(p->polar, "The iteration diverges: the squares of the singular values add up to %g after %" PetscInt_FMT " steps\n", squares, steps));
      task[k]->status = MUON_STATUS_LMO;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_Polynomials(MuonPolar polar, PetscInt n, MuonPolarTask *const task[])
{
  const MuonPolarPolynomials *p     = (MuonPolarPolynomials *)polar->data;
  const PetscInt              steps = MuonPolarPolynomialsSteps(p);
  const MuonKernelReal       *real;
  MuonPolarPanel              panel;
  PetscBool                  *last, anew, first = PETSC_TRUE;
  void                       *X[4];

  PetscFunctionBegin;
  PetscCall(MuonPolarGetReal_Private(polar, task[0]->G.here.memory, task[0]->G.here.pairs, &real));
  PetscCall(MuonPolarPanelLoad(polar, real, (size_t)n, task, &panel));
  PetscCall(MuonPolarPolynomialsSegments(polar, panel.s, MuonPolarPanelLeast(&panel), &last, &anew));
  /* A second panel in place of a strip, beside four squares or two, where it stays within s^2 + 3 s local entries */
  panel.whole = (anew ? panel.s : 3 * panel.s) <= panel.local ? PETSC_TRUE : PETSC_FALSE;
  for (int i = 0; i < (anew ? 1 : 4); i++) PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, panel.count * panel.s * panel.s * real->size, &X[i]));
  for (PetscInt k = 0; k < steps; k++) {
    double c[3];

    MuonPolarPolynomialsRow(p, k, c);
    if (first) PetscCall(MuonPolarPanelGram(&panel, X[0]));
    if (k == 0) PetscCall(MuonPolarPanelBegin(&panel, p, X[0], c));
    /* A segment of one step is one of Newton and Schulz */
    if (first && last[k]) PetscCall(MuonPolarPanelPolynomial(&panel, X[0], c));
    else {
      PetscCall(MuonPolarPanelSegment(&panel, c, first, last[k], X));
      if (last[k]) PetscCall(MuonPolarPanelMultiply(&panel, 1.0, X[2], NULL));
    }
    first = last[k];
  }
  PetscCall(PetscFree(last));
  PetscCall(MuonPolarPanelEnd(&panel, steps, task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is found out about each matrix first, a spectral norm or a balance, makes them go one by one */
static PetscErrorCode MuonPolarBatch_Polynomials(MuonPolar polar, MuonMemory memory, size_t s, size_t l, PetscInt *squares)
{
  const MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;
  PetscBool                  *last, anew;

  PetscFunctionBegin;
  *squares = 0;
  if (memory == MUON_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPolarPolynomialsSegments(polar, s, l, &last, &anew));
  PetscCall(PetscFree(last));
  *squares = p->normalization == (int)MUON_POLAR_NORMALIZATION_SPECTRAL || (p->known != NULL && p->known->equalize) ? 0 : anew ? 2 : 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_Polynomials(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const double                s = (double)PetscMin(m, n), l = (double)PetscMax(m, n);
  const MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;
  PetscBool                  *last, anew, watch, first = PETSC_TRUE;

  PetscFunctionBegin;
  PetscUseTypeMethod(polar, setfromoptions);
  *flops = 0.0;
  if (p->known != NULL && p->known->equalize) *flops = 3.0 * s * s + s * l;
  else if (p->normalization == (int)MUON_POLAR_NORMALIZATION_SPECTRAL) *flops = MuonPolarPanelSpectralFlops(p->iterations, (size_t)s);
  PetscCall(MuonPolarPolynomialsSegments(polar, (size_t)s, (size_t)l, &last, &anew));
  for (PetscInt k = 0; k < MuonPolarPolynomialsSteps(p); k++) {
    double c[3];

    MuonPolarPolynomialsRow(p, k, c);
    if (first) *flops += s * (s + 1) * l;
    *flops += s * s * (s + 1) * ((c[2] == 0.0 ? 0.0 : 1.0) + (first ? 0.0 : 1.0) + (last[k] ? 0.0 : 2.0));
    if (last[k]) *flops += 2.0 * s * s * l;
    first = last[k];
  }
  PetscCall(PetscFree(last));
  PetscCall(MuonPolarPolynomialsWatch(polar, &watch));
  if (watch) *flops += 2.0 * s * l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarSetPolynomials(MuonPolar polar, MuonPolarCoefficients name, MuonPolarSegmentsFn segments)
{
  MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;

  PetscFunctionBegin;
  PetscCall(PetscStrallocpy(name, &p->coefficients));
  p->segments                = segments;
  polar->ondevice            = PETSC_TRUE;
  polar->onpairs             = PETSC_TRUE;
  polar->leaves              = PETSC_TRUE;
  polar->ownprecision        = MUON_POLAR_PRECISION_SINGLE;
  polar->products            = PETSC_TRUE;
  polar->ops->checktext      = MuonPolarCheckText_Polynomials;
  polar->ops->setfromoptions = MuonPolarReadPolynomials;
  polar->ops->setup          = MuonPolarSetUp_Polynomials;
  polar->ops->apply          = MuonPolarApply_Polynomials;
  polar->ops->batch          = MuonPolarBatch_Polynomials;
  polar->ops->getflops       = MuonPolarGetFlops_Polynomials;
  polar->ops->view           = MuonPolarView_Polynomials;
  PetscFunctionReturn(PETSC_SUCCESS);
}
