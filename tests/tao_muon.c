static char help[] = "TAO with -tao_type muon takes the steps of the optimizer by itself, bit for bit, and ends where TAO's tests and limits say; residuals, updates, bounds, layers and their errors.\n";

#include <petscmuontao.h>
#include <string.h>

enum {
  ENTRIES = 5 * 3 + 4 * 6 + 7,
  ITS     = 8
};

static const char Layers[] = "tall:5x3,wide:4x6:row,bias:7";

/* f = sum_e h/2 (x_e - c_e)^2, whose gradient each rank knows of its own entries; shift moves all c */
typedef struct {
  PetscReal h, shift;
  PetscInt  calls, nanf, nang, stopat, tests; /* numbers of calls; -1 for never */
} Problem;

static PetscReal Center(PetscInt e)
{
  return PetscSinReal((PetscReal)(3 * e + 1));
}

static PetscErrorCode Fill(Vec x)
{
  PetscInt     first, last;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt e = first; e < last; e++) a[e - first] = PetscCosReal((PetscReal)(5 * e));
  PetscCall(VecRestoreArray(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to = by (x - c), and the sum of squares of x - c */
static PetscErrorCode Difference(const Problem *p, Vec x, PetscReal by, Vec to, PetscReal *squares)
{
  PetscInt           first, last;
  const PetscScalar *a;
  PetscScalar       *b;

  PetscFunctionBeginUser;
  *squares = 0;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArray(to, &b));
  for (PetscInt e = first; e < last; e++) {
    const PetscReal d = PetscRealPart(a[e - first]) - (Center(e) + p->shift);

    b[e - first] = by * d;
    *squares += d * d;
  }
  PetscCall(VecRestoreArray(to, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, squares, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal NotANumber(void)
{
  volatile PetscReal zero = 0;

  return zero / zero;
}

static PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  PetscCall(Difference(p, x, p->h, g, f));
  *f *= p->h / 2;
  if (p->calls == p->nanf) *f = NotANumber();
  if (p->calls == p->nang) PetscCall(VecSetValue(g, 3, NotANumber(), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(g));
  PetscCall(VecAssemblyEnd(g));
  p->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormResidual(Tao tao, Vec x, Vec r, void *ctx)
{
  Problem  *p = (Problem *)ctx;
  PetscReal squares;

  PetscFunctionBeginUser;
  PetscCall(Difference(p, x, 2, r, &squares));
  p->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDiagonal(Vec x, PetscScalar value, Mat *A)
{
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(MatCreateConstantDiagonal(PETSC_COMM_WORLD, n, n, ENTRIES, ENTRIES, value, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormJacobian(Tao tao, Vec x, Mat J, Mat Jpre, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(J));
  PetscCall(MatShift(J, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The target moves before each step */
static PetscErrorCode Update(Tao tao, PetscInt it, void *ctx)
{
  PetscFunctionBeginUser;
  ((Problem *)ctx)->shift = (PetscReal)(it + 1) / 8;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Stop(Tao tao, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscInt it;

  PetscFunctionBeginUser;
  PetscCall(TaoGetIterationNumber(tao, &it));
  p->tests++;
  PetscCall(TaoSetConvergedReason(tao, it == p->stopat ? TAO_CONVERGED_USER : TAO_CONTINUE_ITERATING));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateTao(Problem *p, PetscBool residual, const char layers[], Vec *x, Tao *tao)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->h    = 4;
  p->nanf = p->nang = p->stopat = -1;
  PetscCall(VecCreate(PETSC_COMM_WORLD, x));
  PetscCall(VecSetSizes(*x, PETSC_DECIDE, ENTRIES));
  PetscCall(VecSetType(*x, VECSTANDARD));
  PetscCall(Fill(*x));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, tao));
  PetscCall(TaoSetType(*tao, TAOMUON));
  PetscCall(TaoSetSolution(*tao, *x));
  if (residual) {
    Vec r;
    Mat J;

    PetscCall(VecDuplicate(*x, &r));
    PetscCall(CreateDiagonal(*x, 1, &J));
    PetscCall(TaoSetResidualRoutine(*tao, r, FormResidual, p));
    PetscCall(TaoSetJacobianResidualRoutine(*tao, J, J, FormJacobian, p));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&J));
  } else PetscCall(TaoSetObjectiveAndGradient(*tao, NULL, FormFunctionGradient, p));
  PetscCall(TaoSetTolerances(*tao, 0, 0, 0));
  PetscCall(TaoSetMaximumIterations(*tao, ITS));
  if (layers != NULL) PetscCall(TaoMuonSetLayers(*tao, layers));
  PetscCall(TaoSetFromOptions(*tao));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(Tao tao, const char *what, TaoConvergedReason expected, PetscInt its)
{
  TaoConvergedReason reason;
  PetscInt           it;

  PetscFunctionBeginUser;
  PetscCall(TaoGetConvergedReason(tao, &reason));
  PetscCall(TaoGetIterationNumber(tao, &it));
  PetscCheck(reason == expected && it == its, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s after %" PetscInt_FMT " iterations, expected %s after %" PetscInt_FMT, what, TaoConvergedReasons[reason], it, TaoConvergedReasons[expected], its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Same(const char *what, Vec x, Vec y)
{
  PetscBool same;
  Vec       start;

  PetscFunctionBeginUser;
  PetscCall(VecEqual(x, y, &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: another solution", what);
  PetscCall(VecDuplicate(x, &start));
  PetscCall(Fill(start));
  PetscCall(VecEqual(x, start, &same));
  PetscCheck(same == PETSC_FALSE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the solution never moved", what);
  PetscCall(VecDestroy(&start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Problem   problem;
  Vec       x, g;
  PetscBool moves;
} Direct;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Direct  *d = (Direct *)ctx;
  PetscInt step;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (d->moves) PetscCall(Update(NULL, step, &d->problem));
  PetscCall(FormFunctionGradient(NULL, d->x, loss, d->g, &d->problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same steps without TAO */
static PetscErrorCode Solve(PetscBool moves, Vec like, Vec *x)
{
  const char *const names[] = {"tall", "wide", "bias"};
  const PetscInt    m[] = {5, 4, 7}, k[] = {3, 6, 1};
  const PetscBool   rowmajor[] = {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE};
  Direct            d;
  Muon              muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&d, sizeof(d)));
  d.problem.h    = 4;
  d.problem.nanf = d.problem.nang = -1;
  d.moves                         = moves;
  PetscCall(VecDuplicate(like, &d.x));
  PetscCall(VecDuplicate(like, &d.g));
  PetscCall(Fill(d.x));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddVecLayers(muon, d.x, d.g, 3, names, m, k, rowmajor));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &d));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, ITS));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonDestroy(&muon));
  PetscCall(VecDestroy(&d.g));
  *x = d.x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSteps(const char options[])
{
  Problem   p;
  Tao       tao;
  Vec       x, y, z, another;
  PetscReal f[ITS + 2], g[ITS + 2], square;
  PetscInt  n, steps;
  Muon      muon;
  Mat       norm;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(CreateTao(&p, PETSC_FALSE, Layers, &x, &tao));
  PetscCall(TaoSetConvergenceHistory(tao, f, g, NULL, NULL, ITS + 2, PETSC_TRUE));
  PetscCall(TaoSolve(tao));
  PetscCall(Expect(tao, options, TAO_DIVERGED_MAXITS, ITS));
  PetscCall(Solve(PETSC_FALSE, x, &y));
  PetscCall(Same(options, x, y));
  /* One evaluation before the first step and one after each, whose values TAO was told */
  PetscCheck(p.calls == ITS + 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " evaluations, expected %d", p.calls, ITS + 1);
  PetscCall(TaoGetConvergenceHistory(tao, NULL, NULL, NULL, NULL, &n));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(Difference(&p, x, 4, z, &square));
  PetscCheck(n == ITS + 1 && f[ITS] == 2 * square, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A history of %" PetscInt_FMT " values that ends with %g, expected %d and %g", n, (double)f[ITS], ITS + 1, (double)(2 * square));
  PetscCheck(PetscAbsReal(g[ITS] - 4 * PetscSqrtReal(square)) <= 10 * ENTRIES * PETSC_MACHINE_EPSILON * g[ITS], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The last gradient has the norm %g, expected %g", (double)g[ITS], (double)(4 * PetscSqrtReal(square)));
  /* A second solve is as the first one, also on another vector, and in another norm of the gradient */
  PetscCall(Fill(x));
  PetscCall(TaoSolve(tao));
  PetscCall(Same("a second solve", x, y));
  PetscCall(VecDuplicate(x, &another));
  PetscCall(Fill(another));
  PetscCall(TaoSetSolution(tao, another));
  PetscCall(CreateDiagonal(x, 9, &norm));
  PetscCall(TaoSetGradientNorm(tao, norm));
  PetscCall(TaoSolve(tao));
  PetscCall(Same("another vector", another, y));
  PetscCheck(PetscAbsReal(g[ITS] - 12 * PetscSqrtReal(square)) <= 30 * ENTRIES * PETSC_MACHINE_EPSILON * g[ITS], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The last gradient has the norm %g, expected %g", (double)g[ITS],
             (double)(12 * PetscSqrtReal(square)));
  PetscCall(TaoMuonGetMuon(tao, &muon));
  PetscCall(MuonGetStepNumber(muon, &steps));
  PetscCheck(steps == ITS, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The optimizer took %" PetscInt_FMT " steps", steps);
  PetscCall(TaoDestroy(&tao));
  PetscCall(MatDestroy(&norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&another));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What TaoSetUpdate() changed is seen by the step behind it; residuals have the objective r'r/2 and the
   gradient J'r
*/
static PetscErrorCode CheckUpdateAndResidual(void)
{
  Problem   p;
  Tao       tao;
  Vec       x, y, z;
  PetscReal f, square;

  PetscFunctionBeginUser;
  PetscCall(CreateTao(&p, PETSC_FALSE, Layers, &x, &tao));
  PetscCall(TaoSetUpdate(tao, Update, &p));
  PetscCall(TaoSolve(tao));
  PetscCall(Solve(PETSC_TRUE, x, &y));
  PetscCall(Same("update", x, y));
  PetscCheck(p.calls == 2 * ITS + 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " evaluations with an update, expected %d", p.calls, 2 * ITS + 1);
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(CreateTao(&p, PETSC_TRUE, Layers, &x, &tao));
  PetscCall(TaoSolve(tao));
  PetscCall(Solve(PETSC_FALSE, x, &y));
  PetscCall(Same("residual", x, y));
  PetscCall(TaoGetSolutionStatus(tao, NULL, &f, NULL, NULL, NULL, NULL));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(Difference(&p, x, 1, z, &square));
  PetscCheck(p.calls == ITS + 1 && PetscAbsReal(f - 2 * square) <= 4 * ENTRIES * PETSC_MACHINE_EPSILON * f, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " evaluations of residuals, and at the end %g, expected %d and %g", p.calls, (double)f,
             ITS + 1, (double)(2 * square));
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReasons(void)
{
  Problem   p;
  Tao       tao;
  Vec       x, start;
  PetscBool same;

  PetscFunctionBeginUser;
  for (int k = 0; k < 8; k++) {
    Muon muon;

    PetscCall(CreateTao(&p, PETSC_FALSE, Layers, &x, &tao));
    PetscCall(VecDuplicate(x, &start));
    PetscCall(VecCopy(x, start));
    if (k == 0) PetscCall(TaoSetMaximumFunctionEvaluations(tao, 5));
    if (k == 1) PetscCall(TaoSetFunctionLowerBound(tao, (PetscReal)1e6));
    if (k == 2) PetscCall(TaoSetTolerances(tao, (PetscReal)1e6, 0, 0));
    if (k == 3) PetscCall(TaoSetConvergenceTest(tao, Stop, &p));
    if (k == 3) p.stopat = 3;
    if (k == 4) p.nanf = 2;
    if (k == 5) p.nang = 0;
    if (k == 6) PetscCall(TaoSetMaximumIterations(tao, 1));
    if (k == 7) p.nang = ITS;
    PetscCall(TaoMuonGetMuon(tao, &muon));
    if (k == 7) PetscCall(MuonSetParameter(muon, "muon_nan", "skip"));
    PetscCall(TaoSolve(tao));
    PetscCall(VecEqual(x, start, &same));
    if (k == 0) PetscCall(Expect(tao, "evaluations", TAO_DIVERGED_MAXFCN, 5));
    if (k == 1) PetscCall(Expect(tao, "lower bound", TAO_CONVERGED_MINF, 0));
    if (k == 2) PetscCall(Expect(tao, "tolerance", TAO_CONVERGED_GATOL, 0));
    if (k == 3) PetscCall(Expect(tao, "the program's own test", TAO_CONVERGED_USER, 3));
    if (k == 4) PetscCall(Expect(tao, "an objective that is no number", TAO_DIVERGED_NAN, 2));
    if (k == 5) PetscCall(Expect(tao, "a gradient that is no number", TAO_DIVERGED_NAN, 0));
    if (k == 6) PetscCall(Expect(tao, "one iteration", TAO_DIVERGED_MAXITS, 1));
    if (k == 7) PetscCall(Expect(tao, "a gradient that is no number, and does not matter", TAO_DIVERGED_MAXITS, ITS));
    PetscCheck(same == (k == 1 || k == 2 || k == 5 ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Case %d: the solution moved: %d", k, (int)(same == PETSC_FALSE));
    PetscCheck(k != 3 || p.tests == 4, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " tests, expected 4", p.tests);
    PetscCall(TaoDestroy(&tao));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&start));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Without a word the solution is one vector, and AdamW its type; a text that is composed is as good as a key,
   and the setter goes before it
*/
static PetscErrorCode CheckLayers(void)
{
  static char    composed[] = "first:46", other[] = "second:2x23:column";
  Problem        p;
  Tao            tao;
  Vec            x;
  PetscInt       n, m, k;
  PetscContainer text;
  Muon           muon;
  MuonLayer      layer;
  MuonLayerType  type;
  const char    *name;
  PetscBool      same;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-tao_muon_ignore_bounds", NULL));
  for (int c = 0; c < 5; c++) {
    const char *const names[] = {"x", "x", "first", "second", "tall"};

    PetscCall(CreateTao(&p, PETSC_FALSE, c == 4 ? Layers : NULL, &x, &tao));
    for (int at = 0; at < 2; at++) {
      if (c < 2 || (at == 1 && c == 2)) continue;
      PetscCall(PetscContainerCreate(PETSC_COMM_WORLD, &text));
      PetscCall(PetscContainerSetPointer(text, at == 0 ? composed : other));
      PetscCall(PetscObjectCompose(at == 0 ? (PetscObject)x : (PetscObject)tao, "MuonLayers", (PetscObject)text));
      PetscCall(PetscContainerDestroy(&text));
    }
    PetscCall(TaoMuonGetMuon(tao, &muon));
    if (c == 1) PetscCall(MuonSetLayerTypes(muon, "x:sgd"));
    PetscCall(TaoSetUp(tao));
    PetscCall(MuonGetNumLayers(muon, &n));
    PetscCall(MuonGetLayer(muon, 0, &layer));
    PetscCall(MuonLayerGetName(layer, &name));
    PetscCall(MuonLayerGetSize(layer, &m, &k));
    PetscCall(MuonLayerGetType(layer, &type));
    PetscCall(PetscStrcmp(type, c == 0 ? MUONLAYERADAMW : (c == 1 ? MUONLAYERSGD : MUONLAYERLMO), &same));
    PetscCheck(same && n == (c == 4 ? 3 : 1) && strcmp(name, names[c]) == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Case %d: %" PetscInt_FMT " layers, the first of which is %s with the type %s", c, n, name, type);
    PetscCheck(c != 3 || (m == 2 && k == 23), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT, m, k);
    PetscCall(TaoSetVariableBounds(tao, x, x));
    PetscCall(TaoSolve(tao));
    PetscCall(Expect(tao, "bounds that are ignored", TAO_DIVERGED_MAXITS, ITS));
    PetscCall(TaoDestroy(&tao));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-tao_muon_ignore_bounds"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors, of which -wrong chooses one */
static PetscErrorCode Wrong(const char wrong[])
{
  const char *const name[] = {"x"};
  const PetscInt    all[] = {ENTRIES}, one[] = {1};
  Problem           p;
  Tao               tao;
  Vec               x, y;
  Muon              muon;

  PetscFunctionBeginUser;
  PetscCall(CreateTao(&p, strcmp(wrong, "weights") == 0 ? PETSC_TRUE : PETSC_FALSE, NULL, &x, &tao));
  if (strcmp(wrong, "bounds") == 0) PetscCall(TaoSetVariableBounds(tao, x, x));
  if (strcmp(wrong, "objective") == 0 || strcmp(wrong, "jacobian") == 0) {
    PetscCall(TaoDestroy(&tao));
    PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
    PetscCall(TaoSetType(tao, TAOMUON));
    PetscCall(TaoSetSolution(tao, x));
    PetscCall(VecDuplicate(x, &y));
    if (strcmp(wrong, "jacobian") == 0) PetscCall(TaoSetResidualRoutine(tao, y, FormResidual, &p));
  }
  if (strcmp(wrong, "constraints") == 0) PetscCall(TaoSetConstraintsRoutine(tao, x, FormResidual, &p));
  if (strcmp(wrong, "weights") == 0) PetscCall(TaoSetResidualWeights(tao, x, 0, NULL, NULL, NULL));
  if (strcmp(wrong, "added") == 0) {
    PetscCall(VecDuplicate(x, &y));
    PetscCall(TaoMuonGetMuon(tao, &muon));
    PetscCall(MuonAddVecLayers(muon, x, y, 1, name, all, one, NULL));
  }
  if (strcmp(wrong, "late") == 0) {
    PetscCall(TaoSetUp(tao));
    PetscCall(TaoMuonSetLayers(tao, Layers));
  }
  if (strcmp(wrong, "type") == 0) {
    PetscCall(TaoSetType(tao, TAOLMVM));
    PetscCall(TaoMuonGetMuon(tao, &muon));
  }
  if (strcmp(wrong, "vector") == 0) {
    PetscCall(TaoSolve(tao));
    PetscCall(VecCreate(PETSC_COMM_WORLD, &y));
    PetscCall(VecSetSizes(y, PETSC_DECIDE, ENTRIES + 1));
    PetscCall(VecSetType(y, VECSTANDARD));
    PetscCall(TaoSetSolution(tao, y));
  }
  PetscCall(TaoSolve(tao));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      wrong[32];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wrong", wrong, sizeof(wrong), &set));
  if (set) PetscCall(Wrong(wrong));
  PetscCall(CheckLayers());
  PetscCall(CheckReasons());
  PetscCall(CheckUpdateAndResidual());
  PetscCall(CheckSteps("-muon_type dense -muon_nesterov ema"));
  PetscCall(CheckSteps("-muon_type ef21 -muon_assembly owner -lmo_type nuclear"));
  PetscCall(CheckSteps("-muon_type sign -sign_direction momentum -muon_learning_rate 0.1"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    output_file: output/tao_muon_1.out

  testset:
    nsize: 2
    table: suffix | args | error
      bounds      | -wrong bounds                                                | -tao_type muon knows no bounds, and the problem has some; -tao_muon_ignore_bounds solves it without
      objective   | -wrong objective                                             | -tao_type muon: the problem has no objective, expected TaoSetObjectiveAndGradient(), or TaoSetResidualRoutine() with TaoSetJacobianResidualRoutine()
      jacobian    | -wrong jacobian                                              | -tao_type muon: the problem has residuals without their Jacobian, expected TaoSetJacobianResidualRoutine()
      constraints | -wrong constraints                                           | -tao_type muon knows no constraints, and the problem has some
      weights     | -wrong weights                                               | -tao_type muon: the residuals have weights, expected none
      added       | -wrong added                                                 | 1 layers were added to the optimizer of a Tao, expected -tao_muon_layers or TaoMuonSetLayers()
      same        | -wrong same -tao_muon_layers tall:5x3,wide:4x6,TALL:7        | Layer "TALL": there is a layer "tall" already
      late        | -wrong late                                                  | -tao_muon_layers must be set before TaoSetUp()
      vector      | -wrong vector                                                | Layer "x": a vector of type mpi with
      type        | -wrong type                                                  | TaoMuonGetMuon_C
      prefix      | -{{tao_lmo_type tao_muon_learning_rate tao_local_steps tao_ef21_init}} nuclear | -{}: keys of the optimizer are behind the prefix of the Tao and without tao_, expected -
      text        | -wrong text -tao_muon_layers tall:5x3,wide:4x6:rows,bias:7   | -tao_muon_layers: layer 1 of "tall:5x3,wide:4x6:rows,bias:7" is not NAME:ROWS, NAME:ROWSxCOLUMNS
      size        | -wrong size -tao_muon_layers tall:5x3,wide:4x6:row,bias:8    | Layer "bias" of 8 x 1 entries, of which the 46 of the vector have 7 left
      shape       | -wrong shape -tao_muon_layers tall:5x3x2                     | is not NAME:ROWS

TEST*/
