#include "../../muonpolarrational.h" /*I "petscmuonpolar.h" I*/

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@article{nakatsukasa2010optimizing,\n"
                                   "  author  = {Yuji Nakatsukasa and Zhaojun Bai and Fran{\\c c}ois Gygi},\n"
                                   "  title   = {Optimizing {Halley's} iteration for computing the matrix polar decomposition},\n"
                                   "  journal = {SIAM J. Matrix Anal. Appl.},\n"
                                   "  volume  = {31},\n"
                                   "  number  = {5},\n"
                                   "  pages   = {2700--2720},\n"
                                   "  year    = {2010}\n}\n"
                                   "@article{fukaya2020shifted,\n"
                                   "  author  = {Takeshi Fukaya and Ramaseshan Kannan and Yuji Nakatsukasa and Yusaku Yamamoto and Yuka Yanagisawa},\n"
                                   "  title   = {Shifted {Cholesky} {QR} for computing the {QR} factorization of ill-conditioned matrices},\n"
                                   "  journal = {SIAM J. Sci. Comput.},\n"
                                   "  volume  = {42},\n"
                                   "  number  = {1},\n"
                                   "  pages   = {A477--A503},\n"
                                   "  year    = {2020}\n}\n";

typedef struct {
  PetscInt steps, qr;      /* of the last matrix */
  PetscInt decompositions; /* since the object was made */
} MuonPolar_QDWH;

/*
   With larger weights c the inverse of I + c X^T X is too inaccurate, and its Cholesky factor gives way to a
   QR factorization; the interval [l,1] that belongs to it
*/
#define WEIGHT_CHOLESKY   100.0
#define INTERVAL_CHOLESKY 0.0482915611206184
enum {
  PASSES = 6, /* of the QR factorization: two where it is well enough conditioned, three else */
  MORE   = 20 /* steps beyond those planned */
};

/*
   Y = (b/c) Y + (a - b/c) Y (I + c Y^T Y)^-1 from the Gram matrix A, which is lost: Zolotarev's function with one
   pole, scaled by b/c. *failed where a matrix is not positive definite
*/
static PetscErrorCode MuonPolarPoleStep_QDWH(MuonPolarPanel *p, const double w[3], void *A, PetscBool *failed)
{
  MuonKernelZolotarev z;
  void               *B;

  PetscFunctionBegin;
  z.poles = 1;
  z.a[0]  = w[0] / w[1] - 1.0 / w[2];
  z.c[0]  = 1.0 / w[2];
  PetscCall(MuonPolarRational(p, &z, 1.0, A, &B, failed));
  if (!*failed) PetscCall(MuonPolarPanelUpdate(p, 0.0, w[1] / w[2], 0.0, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same without the inverse: with the factorization [Y; I/sqrt(c)] = [Q1; Q2] R, Y = (b/c) Y + (a -
   b/c)/sqrt(c) Q1 Q2^T. R comes from Cholesky factors of Gram matrices, of the given one first and then of
   [Q1; Q2], until that is close to the identity before its last pass. Rounding makes a Gram matrix indefinite
   by (length + s) roundoffs of its trace, which is added to it where it could matter: Q R then is the same
   matrix still, and Q needs one more pass.
*/
static PetscErrorCode MuonPolarQRStep_QDWH(MuonPolarPanel *p, const double w[3], void *A, PetscBool *failed)
{
  const MuonKernelReal *real = p->real;
  const size_t          s = p->s, ld = MuonPolarPanelLD(p);
  const double          c = w[2], unit = real->unit;
  MuonPolarPanel        q     = *p;
  double                noise = 2.0 * (double)(p->l + s + 2) * unit * real->trace(s, A), error = 1.0;
  PetscBool             broken;
  MuonMark              mark;
  void                 *Q2;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, s * p->local * real->size, &q.Y));
  PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, s * s * real->size, &Q2));
  PetscCall(MuonPolarCopy_Private(real, q.Y, p->Y, s * p->local * real->size));
  real->identity(s, 1.0 / sqrt(c), Q2);
  real->shift(s, 1, 1.0 / c + (1.0 / c < 4.0 * noise ? noise : 0.0), A);
  *failed = PETSC_TRUE;
  for (int pass = 0; pass < PASSES && *failed; pass++) {
    if (pass > 0) {
      PetscCall(MuonPolarPanelGram(&q, A));
      real->gram(1, s, s, 1, 1.0, Q2, s, 1.0, A);
      error = real->distance(s, A, 1.0);
      PetscCall(MuonPolarPanelAgree(p, 1, &error));
      if (!(error <= 0.5)) real->shift(s, 1, 2.0 * (double)(p->l + 2 * s + 2) * unit * real->trace(s, A), A);
    }
    PetscCall(MuonPolarPanelFailed(p, real->cholesky(s, A), &broken));
    if (broken) break;
    real->solve(p->left, 0, s, p->local, A, q.Y, ld);
    real->solve(1, 0, s, s, A, Q2, s);
    PetscCall(PetscLogFlops((PetscLogDouble)s * s * s * (pass > 0 ? 7.0 : 4.0) / 3.0 + (PetscLogDouble)s * s * p->local));
    if (pass > 0 && error <= 0.5) *failed = PETSC_FALSE;
  }
  if (*failed == PETSC_FALSE) {
    real->times(p->left, 1, s, p->local, Q2, q.Y, ld);
    real->arrays->Axpby((p->left ? s : p->local) * real->parts, p->left ? p->local : s, (w[0] - w[1] / c) / sqrt(c), q.Y, ld * real->parts, w[1] / c, p->Y, ld * real->parts);
    PetscCall(PetscLogFlops(((double)s + 3.0) * s * p->local));
  }
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Divides the panel and its Gram matrix by a bound of the largest singular value, the root of the largest row
   sum of the latter, and finds the interval [l,1] of the singular values then: from the norm of the inverse
   where rounding leaves the Gram matrix positive definite by a margin, halved because that rounds;
   else *known is false and l is four times the relative size below which singular values are taken for zero.
*/
static PetscErrorCode MuonPolarInterval_QDWH(MuonPolarPanel *p, void *A, double *l, PetscBool *known)
{
  const MuonKernelReal *real = p->real;
  const double          eps  = 2.0 * PetscMax(real->unit, MuonArrayKernels(&p->G->here)->unit);
  const size_t          s = p->s, ld = MuonPolarPanelLD(p);
  double               *sums, most = 0.0, inverse = 0.0, trace, agreed[2];
  void                 *work;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s, &sums));
  real->rowsums(s, A, sums);
  for (size_t i = 0; i < s; i++) most = PetscMax(most, sums[i]);
  real->combine(s, 1.0 / most, A, 0.0, A, 0.0);
  real->arrays->Axpby((p->left ? s : p->local) * real->parts, p->left ? p->local : s, 0.0, p->Y, ld * real->parts, 1.0 / sqrt(most), p->Y, ld * real->parts);
  trace = real->trace(s, A);
  /* The largest row sum of the inverse; 0 where rounding makes A indefinite */
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, s * s * real->size, &work));
  real->combine(s, 1.0, A, 0.0, work, 0.0);
  if (real->inverse(s, work) == 0) {
    real->rowsums(s, work, sums);
    for (size_t i = 0; i < s; i++) inverse = PetscMax(inverse, sums[i]);
  }
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscCall(PetscFree(sums));
  PetscCall(PetscLogFlops(MuonKernelInverseFlops(s) + (PetscLogDouble)s * p->local + 2.0 * s * s));
  agreed[0] = inverse > 0.0 && inverse * 100.0 * (double)(p->l + s) * real->unit * trace < 1.0 ? 0.0 : 1.0;
  agreed[1] = inverse;
  PetscCall(MuonPolarPanelAgree(p, 2, agreed));
  inverse = agreed[1];
  *known  = agreed[0] > 0.0 ? PETSC_FALSE : PETSC_TRUE;
  *l      = *known ? PetscMin(1.0, 0.5 / sqrt(inverse)) : PetscMin(1.0, 4.0 * (double)p->l * eps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The steps; *converged is false where the singular value decomposition has to take over. The same on all
   ranks
*/
static PetscErrorCode MuonPolarIterate_QDWH(MuonPolarPanel *p, PetscBool qr, PetscBool *converged)
{
  MuonPolar_QDWH       *data = (MuonPolar_QDWH *)p->polar->data;
  const MuonKernelReal *real = p->real;
  /* A step rounds as a few products with s x s matrices of condition one do */
  const double tolerance = 100.0 * (double)p->s * real->unit;
  double       l = 1.0, next, w[3], error = 0.0;
  PetscBool    known = PETSC_FALSE, failed = PETSC_FALSE;
  void        *A;

  PetscFunctionBegin;
  *converged  = PETSC_FALSE;
  data->steps = 0;
  data->qr    = 0;
  PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, p->s * p->s * real->size, &A));
  PetscCall(MuonPolarPanelGram(p, A));
  PetscCall(MuonPolarInterval_QDWH(p, A, &l, &known));
  PetscCall(PetscInfo(p->polar, "Singular values in [%g,1], %s; steps by %s\n", l, known ? "estimated" : "or zero", qr ? "QR and Cholesky" : "Cholesky alone, because a rank has less of the long side than the short one"));
  while (1.0 - l > 20.0 * real->unit && failed == PETSC_FALSE) {
    PetscBool step = PETSC_FALSE;

    MuonKernelHalley(l, w, &next);
    if (w[2] > WEIGHT_CHOLESKY) {
      step = qr;
      if (qr == PETSC_FALSE) {
        /* Smaller weights suit a smaller interval, and map what lies below it into it, further up */
        MuonKernelHalley(INTERVAL_CHOLESKY, w, &next);
        next = l * (w[0] + w[1] * l * l) / (1.0 + w[2] * l * l);
      }
    }
    if (data->steps > 0) PetscCall(MuonPolarPanelGram(p, A));
    if (step) PetscCall(MuonPolarQRStep_QDWH(p, w, A, &failed));
    else PetscCall(MuonPolarPoleStep_QDWH(p, w, A, &failed));
    data->steps++;
    if (step) data->qr++;
    l = next;
  }
  w[0] = w[2] = 3.0;
  w[1]        = 1.0;
  for (int more = 0; more <= MORE && failed == PETSC_FALSE && *converged == PETSC_FALSE; more++) {
    PetscCall(MuonPolarPanelGram(p, A));
    error = real->distance(p->s, A, 1.0);
    PetscCall(MuonPolarPanelAgree(p, 1, &error));
    if (error <= tolerance) *converged = PETSC_TRUE;
    /*
       Where l was a guess, what has not come to one started below it. An estimate may have been too large,
       and Halley's own steps bring what lies below up
    */
    else if (known == PETSC_FALSE || more == MORE || !(error < (double)p->s)) break;
    else {
      PetscCall(MuonPolarPoleStep_QDWH(p, w, A, &failed));
      data->steps++;
    }
  }
  if (*converged == PETSC_FALSE)
    PetscCall(PetscInfo(p->polar, "%s after %" PetscInt_FMT " steps, orthogonality error %g: a singular value decomposition takes over\n", failed ? "A Cholesky factorization failed" : "Not of full rank", data->steps, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_QDWH(MuonPolar polar, PetscInt n, MuonPolarTask *const task[])
{
  const MuonKernelReal *real;
  MuonPolarPanel        panel;
  MuonMark              mark;
  PetscBool             converged;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarGetReal_Private(polar, task[0]->G.here.memory, task[0]->G.here.pairs, &real));
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall(MuonPolarPanelLoad(polar, real, 1, task, &panel));
  /*
     QR needs two matrices of the short side and two panels, which is within s^2 + 3 s local entries while s
     <= local on every rank; Cholesky alone needs one and a strip
  */
  PetscCall(MuonPolarIterate_QDWH(&panel, panel.s <= MuonPolarPanelLeast(&panel) ? PETSC_TRUE : PETSC_FALSE, &converged));
  if (converged) PetscCall(MuonPolarPanelStore(&panel, 0, 1.0, &task[0]->Q));
  else {
    ((MuonPolar_QDWH *)polar->data)->decompositions++;
    PetscCall(MuonWorkspaceRelease(polar->work, &mark));
    PetscCall(MuonPolarExact_Private(polar, n, task));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of six steps, two of them by QR with three passes each, and the check at the end */
static PetscErrorCode MuonPolarGetFlops_QDWH(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const double s = (double)PetscMin(m, n), l = (double)PetscMax(m, n);

  PetscFunctionBegin;
  *flops = 7.0 * s * (s + 1) * l + s * s + s * s * s + s * l;
  *flops += 4.0 * (s * s * s / 3.0 + (2.0 * s + 3.0) * s * l);
  *flops += 2.0 * (2.0 * s * (s + 1) * l + 18.0 * s * s * s / 3.0 + 3.0 * s * s * l + (s + 3.0) * s * l);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_QDWH(MuonPolar polar, PetscViewer viewer)
{
  MuonPolar_QDWH *data = (MuonPolar_QDWH *)polar->data;
  PetscBool       ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "steps of the last matrix: %" PetscInt_FMT ", by QR: %" PetscInt_FMT ", matrices left to a singular value decomposition: %" PetscInt_FMT "\n", data->steps, data->qr, data->decompositions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARQDWH - "qdwh" - the polar factor to working accuracy by Halley's iteration with dynamic weights,
  without singular values

  Options Database Key:
. -lmo_polar_precision single|double - precision of the arithmetic, `double` by default, see `MuonPolarSetFromOptions()`

  Level: intermediate

  Notes:
  A step is $X \leftarrow X (a I + b X^T X) (I + c X^T X)^{-1}$ with the optimal weights for singular values in
  $[l, 1]$, which it maps into the next such interval. At most six steps map $10^{-16}$ to one, five $10^{-8}$, and
  four $10^{-3}$. The matrix is first divided by a bound of its largest singular value, from the row sums of its Gram
  matrix. $l$ comes from the row sums of the inverse of the Gram matrix, up to a condition of about $10^6$ in double.
  Otherwise it is four times $\max(m,n)\, \epsilon$.

  A step is Zolotarev's function with one pole. For $c \leq 100$ the inverse is formed from a Cholesky factor, as in
  `MUONPOLARZOLOTAREV`. For larger $c$ it is replaced by a QR factorization of $X$ above $I/\sqrt{c}$, by Cholesky
  factors of Gram matrices in two passes, or in three with a shift. A parallel matrix is therefore never gathered. A
  rank needs twice its part and two matrices of the shorter side $s$. If ranks have less than $s$ of the longer side,
  the weights are those of $c = 100$, with Cholesky factors only. This takes more steps, about eleven for $10^{-14}$.

  Zero singular values stay zero, but their rounding errors would become one. If the result is not orthogonal to
  working accuracy, a singular value decomposition as in `MUONPOLARSVD` replaces it. This is correct for matrices
  without full rank. A parallel matrix is gathered on its first rank for this. `MuonPolarView()` and `-info` show it.

  In device memory the steps are the same, with the vendor's library. A distributed matrix without full rank is
  decomposed on the host of the first rank.

  `MuonPolarGetFlops()` counts six steps, two of them by QR, as for an unknown condition number.

  References:
+ * - Y. Nakatsukasa, Z. Bai, F. Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition, SIAM J. Matrix Anal. Appl. 31 (2010)
- * - T. Fukaya, R. Kannan, Y. Nakatsukasa, Y. Yamamoto, Y. Yanagisawa, Shifted Cholesky QR for computing the QR factorization of ill-conditioned matrices, SIAM J. Sci. Comput. 42 (2020)

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MUONPOLARZOLOTAREV`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_QDWH(MuonPolar polar)
{
  MuonPolar_QDWH *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  polar->data          = data;
  polar->ownprecision  = MUON_POLAR_PRECISION_DOUBLE;
  polar->ondevice      = PETSC_TRUE;
  polar->onpairs       = PETSC_TRUE;
  polar->ops->apply    = MuonPolarApply_QDWH;
  polar->ops->getflops = MuonPolarGetFlops_QDWH;
  polar->ops->view     = MuonPolarView_QDWH;
  PetscFunctionReturn(PETSC_SUCCESS);
}
