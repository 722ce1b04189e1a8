#include "../muon/interface/muoninterface.h"
#include <petscmuontao.h> /*I "petscmuontao.h" I*/
#include <petsc/private/taoimpl.h>
#include <stdio.h>
#include <string.h>

/*
   The optimizer as a type of TAO: TAO has the problem, its limits, tests and monitors, and the optimizer
   takes the steps.
*/

typedef struct {
  Muon      muon;
  Vec       x; /* of which its layers are ranges */
  char     *layers;
  PetscBool ignorebounds;
  PetscInt  steps; /* which the optimizer was told to take; another number is the user's own */
  PetscReal f;
} TAO_Muon;

/* Layers as text become ranges of the solution: NAME:ROWS, NAME:ROWSxCOLUMNS and one more with its order */
static PetscErrorCode TaoMuonAddLayers_Private(Tao tao, const char layers[])
{
  TAO_Muon  *tm = (TAO_Muon *)tao->data;
  PetscInt  *m, *k;
  int        n;
  char     **names, *shape;
  PetscBool *rowmajor;

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(layers, ',', &n, &names));
  PetscCall(PetscMalloc3(n, &m, n, &k, n, &rowmajor));
  for (int l = 0; l < n; l++) {
    PetscBool valid = PETSC_FALSE;

    PetscCall(PetscStrchr(names[l], ':', &shape));
    if (shape != NULL && shape != names[l]) {
      long long rows = -1, columns = 1;
      char      order[8] = "", again[64];
      int       parts;

      *shape++    = '\0';
      parts       = sscanf(shape, "%lldx%lld:%7s", &rows, &columns, order);
      m[l]        = (PetscInt)rows;
      k[l]        = (PetscInt)columns;
      rowmajor[l] = strcmp(order, "row") == 0 ? PETSC_TRUE : PETSC_FALSE;
      PetscCall(PetscSNPrintf(again, sizeof(again), parts == 3 ? "%lldx%lld:%s" : parts == 2 ? "%lldx%lld" : "%lld", rows, columns, order));
      valid = parts < 3 || rowmajor[l] || strcmp(order, "column") == 0 ? PETSC_TRUE : PETSC_FALSE;
      if (strcmp(again, shape) != 0 || rows < 0 || columns < 0 || rows != m[l] || columns != k[l]) valid = PETSC_FALSE;
    }
    PetscCheck(valid, PetscObjectComm((PetscObject)tao), PETSC_ERR_ARG_WRONG, "-%stao_muon_layers: layer %d of \"%s\" is not NAME:ROWS, NAME:ROWSxCOLUMNS, NAME:ROWSxCOLUMNS:row or NAME:ROWSxCOLUMNS:column", MuonPrefix(tm->muon), l, layers);
  }
  PetscCall(MuonAddVecLayers(tm->muon, tao->solution, tao->gradient, n, (const char **)names, m, k, rowmajor));
  PetscCall(PetscFree3(m, k, rowmajor));
  PetscCall(PetscStrToArrayDestroy(n, names));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The text that an object was composed with */
static PetscErrorCode TaoMuonQueryLayers_Private(PetscObject object, const char *layers[])
{
  PetscContainer container;
  void          *text;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery(object, "MuonLayers", (PetscObject *)&container));
  if (container == NULL || *layers != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(container, PETSC_CONTAINER_CLASSID, 1);
  PetscCall(PetscContainerGetPointer(container, &text));
  *layers = (const char *)text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetUp_Muon(Tao tao)
{
  TAO_Muon   *tm     = (TAO_Muon *)tao->data;
  const char *layers = tm->layers;
  PetscInt    n;

  PetscFunctionBegin;
  if (tao->gradient == NULL) PetscCall(VecDuplicate(tao->solution, &tao->gradient));
  PetscCall(MuonGetNumLayers(tm->muon, &n));
  PetscCheck(n == 0, PetscObjectComm((PetscObject)tao), PETSC_ERR_ORDER, "%" PetscInt_FMT " layers were added to the optimizer of a Tao, expected -%stao_muon_layers or TaoMuonSetLayers()", n, MuonPrefix(tm->muon));
  PetscCall(TaoMuonQueryLayers_Private((PetscObject)tao, &layers));
  PetscCall(TaoMuonQueryLayers_Private((PetscObject)tao->solution, &layers));
  if (layers != NULL) PetscCall(TaoMuonAddLayers_Private(tao, layers));
  else {
    const char *const name = "x";
    const PetscInt    one  = 1;
    MuonLayer         layer;
    MuonLayerType     type;

    PetscCall(VecGetSize(tao->solution, &n));
    if (!MuonParametersIsSet((PetscObject)tm->muon, "layer_types")) PetscCall(MuonSetLayerTypes(tm->muon, "x:" MUONLAYERADAMW));
    PetscCall(MuonAddVecLayers(tm->muon, tao->solution, tao->gradient, 1, &name, &n, &one, NULL));
    PetscCall(MuonGetLayer(tm->muon, 0, &layer));
    PetscCall(MuonLayerGetType(layer, &type));
    PetscCall(MuonNotice(PetscObjectComm((PetscObject)tao), "PetscMuon: -%stao_muon_layers is not set: the solution is one vector, layer \"x\", updated by the type %s\n", MuonPrefix(tm->muon), type));
  }
  PetscCall(PetscObjectReference((PetscObject)tao->solution));
  tm->x = tao->solution;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this type cannot do is an error, not another problem */
static PetscErrorCode TaoMuonCheckProblem_Private(Tao tao, PetscBool *residual)
{
  TAO_Muon *tm   = (TAO_Muon *)tao->data;
  MPI_Comm  comm = PetscObjectComm((PetscObject)tao);
  PetscBool objective, both;

  PetscFunctionBegin;
  PetscCheck(tm->ignorebounds || (tao->XL == NULL && tao->XU == NULL && tao->ops->computebounds == NULL), comm, PETSC_ERR_SUP, "-%stao_type " TAOMUON " knows no bounds, and the problem has some; -%stao_muon_ignore_bounds solves it without",
             MuonPrefix(tm->muon), MuonPrefix(tm->muon));
  PetscCheck(tao->ops->computeconstraints == NULL && tao->ops->computeequalityconstraints == NULL && tao->ops->computeinequalityconstraints == NULL, comm, PETSC_ERR_SUP, "-%stao_type " TAOMUON " knows no constraints, and the problem has some",
             MuonPrefix(tm->muon));
  PetscCall(TaoIsObjectiveDefined(tao, &objective));
  PetscCall(TaoIsObjectiveAndGradientDefined(tao, &both));
  *residual = objective == PETSC_FALSE && both == PETSC_FALSE && tao->ops->computeresidual != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(*residual || objective || both, comm, PETSC_ERR_ORDER, "-%stao_type " TAOMUON ": the problem has no objective, expected TaoSetObjectiveAndGradient(), or TaoSetResidualRoutine() with TaoSetJacobianResidualRoutine()",
             MuonPrefix(tm->muon));
  PetscCheck(*residual == PETSC_FALSE || tao->ops->computeresidualjacobian != NULL, comm, PETSC_ERR_ORDER, "-%stao_type " TAOMUON ": the problem has residuals without their Jacobian, expected TaoSetJacobianResidualRoutine()", MuonPrefix(tm->muon));
  PetscCheck(*residual == PETSC_FALSE || (tao->res_weights_v == NULL && tao->res_weights_n == 0), comm, PETSC_ERR_SUP, "-%stao_type " TAOMUON ": the residuals have weights, expected none", MuonPrefix(tm->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Objective and gradient as the program gave them, or r'r/2 and J'r; the norm is that which TAO was told to
   use
*/
static PetscErrorCode TaoMuonCompute_Private(Tao tao, PetscBool residual, PetscReal *gnorm)
{
  TAO_Muon   *tm = (TAO_Muon *)tao->data;
  PetscScalar square;

  PetscFunctionBegin;
  if (residual) {
    PetscCall(TaoComputeResidual(tao, tao->solution, tao->ls_res));
    PetscCall(TaoComputeResidualJacobian(tao, tao->solution, tao->ls_jac, tao->ls_jac_pre));
    PetscCall(VecDot(tao->ls_res, tao->ls_res, &square));
    PetscCall(MatMultTranspose(tao->ls_jac, tao->ls_res, tao->gradient));
    tm->f = PetscRealPart(square) / 2;
  } else PetscCall(TaoComputeObjectiveAndGradient(tao, tao->solution, &tm->f, tao->gradient));
  if (tao->gradient_norm != NULL) {
    PetscCall(MatMult(tao->gradient_norm, tao->gradient, tao->gradient_norm_tmp));
    PetscCall(VecDot(tao->gradient, tao->gradient_norm_tmp, &square));
    *gnorm = PetscSqrtReal(PetscRealPart(square));
  } else PetscCall(VecNorm(tao->gradient, NORM_2, gnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the loss for the optimizer's monitors; the gradient was computed before */
static PetscErrorCode TaoMuonLoss_Private(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  *loss = ((TAO_Muon *)ctx)->f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Monitors and tests of TAO do not accept NaN, and PETSc 3.18 raises an error. If the optimizer continues after a NaN, only the
   limit of iterations applies
*/
static PetscErrorCode TaoMuonTest_Private(Tao tao, PetscReal gnorm, PetscReal rate)
{
  TAO_Muon *tm = (TAO_Muon *)tao->data;

  PetscFunctionBegin;
  PetscCall(TaoLogConvergenceHistory(tao, tm->f, gnorm, 0, tao->ksp_its));
  if (PetscIsInfOrNanReal(tm->f) || PetscIsInfOrNanReal(gnorm)) {
    tao->fc       = tm->f;
    tao->residual = gnorm;
    if (tm->muon->nan == MUON_NAN_STOP) tao->reason = TAO_DIVERGED_NAN;
    else if (tao->niter >= tao->max_it) tao->reason = TAO_DIVERGED_MAXITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(TaoMonitor(tao, tao->niter, tm->f, gnorm, 0, rate));
  PetscUseTypeMethod(tao, convergencetest, tao->cnvP);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSolve_Muon(Tao tao)
{
  TAO_Muon           *tm = (TAO_Muon *)tao->data;
  MuonConvergedReason reason;
  PetscInt            steps;
  PetscReal           gnorm, rate;
  PetscBool           residual = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(TaoMuonCheckProblem_Private(tao, &residual));
  /*
     A solve starts anew: without momentum, with the first step of the schedule, for TAO's maximum number of iterations, and with
     the current solution vector
  */
  PetscCall(MuonGetStepNumber(tm->muon, &steps));
  if (steps > 0 || tao->solution != tm->x) PetscCall(MuonReset(tm->muon));
  if (tao->solution != tm->x) {
    PetscCall(MuonReplaceVec_Private(tm->muon, tao->solution, tao->gradient));
    PetscCall(PetscObjectReference((PetscObject)tao->solution));
    PetscCall(VecDestroy(&tm->x));
    tm->x = tao->solution;
  }
  PetscCall(MuonGetMaxSteps(tm->muon, &steps));
  if (steps == tm->steps) PetscCall(MuonSetMaxSteps(tm->muon, tao->max_it));
  if (steps == tm->steps) tm->steps = tao->max_it;
  PetscCall(MuonScheduleDefault_Private(tm->muon));
  PetscCall(MuonSetUp(tm->muon));
  PetscCall(MuonGetStepNumber(tm->muon, &tao->niter)); /* of a run that continues */
  tao->reason = TAO_CONTINUE_ITERATING;
  PetscCall(TaoMuonCompute_Private(tao, residual, &gnorm));
  PetscCall(MuonGetRate(tm->muon, &rate));
  PetscCall(TaoMuonTest_Private(tao, gnorm, rate));
  while (tao->reason == TAO_CONTINUE_ITERATING) {
    if (tao->ops->update != NULL) {
      /* It may change the solution, or the problem */
      PetscUseTypeMethod(tao, update, tao->niter, tao->user_update);
      PetscCall(MuonWeightsChanged(tm->muon));
      PetscCall(TaoMuonCompute_Private(tao, residual, &gnorm));
    }
    PetscCall(MuonGetRate(tm->muon, &rate));
    PetscCall(MuonStep(tm->muon));
    PetscCall(MuonGetConvergedReason(tm->muon, &reason));
    if (reason < 0) {
      PetscCall(PetscInfo(tao, "Step %" PetscInt_FMT " of the optimizer: %s\n", tao->niter, MuonConvergedReasons[reason]));
      tao->reason = reason == MUON_DIVERGED_NANORINF ? TAO_DIVERGED_NAN : TAO_DIVERGED_USER;
      break;
    }
    tao->niter++;
    PetscCall(TaoMuonCompute_Private(tao, residual, &gnorm));
    PetscCall(TaoMuonTest_Private(tao, gnorm, rate));
  }
  PetscCall(MuonViewFromOptions(tm->muon, NULL, "-muon_view"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys of TAO begin with tao_, those of the optimizer do not: one with this word would have no effect */
static PetscErrorCode TaoMuonCheckPrefix_Private(Tao tao)
{
  const PetscObject object = (PetscObject)tao;
  char            **names = NULL, **values = NULL, before[PETSC_MAX_OPTION_NAME];
  size_t            length;
  PetscInt          n;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(before, sizeof(before), "%stao_", object->prefix != NULL ? object->prefix : ""));
  PetscCall(PetscStrlen(before, &length));
  PetscCall(PetscOptionsLeftGet(object->options, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool ours = PETSC_FALSE;

    if (strncmp(names[i], before, length) == 0) PetscCall(MuonKnowsFamily_Private(names[i] + length, &ours));
    PetscCheck(ours == PETSC_FALSE, PetscObjectComm(object), PETSC_ERR_ARG_WRONG, "-%s: keys of the optimizer are behind the prefix of the Tao and without tao_, expected -%.*s%s", names[i], (int)(length - 4), before, names[i] + length);
  }
  PetscCall(PetscOptionsLeftRestore(object->options, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetFromOptions_Muon(Tao tao, MuonOptionItems PetscOptionsObject)
{
  TAO_Muon *tm = (TAO_Muon *)tao->data;
  char      layers[PETSC_MAX_PATH_LEN];
  PetscBool flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Muon");
  PetscCall(PetscOptionsString("-tao_muon_layers", "The matrices that the solution consists of", "TaoMuonSetLayers", tm->layers != NULL ? tm->layers : "", layers, sizeof(layers), &flg));
  if (flg) PetscCall(TaoMuonSetLayers(tao, layers));
  PetscCall(PetscOptionsBool("-tao_muon_ignore_bounds", "Solve a problem with bounds as one without", NULL, tm->ignorebounds, &tm->ignorebounds, NULL));
  PetscOptionsHeadEnd();
  PetscCall(TaoMuonCheckPrefix_Private(tao));
  PetscCall(PetscObjectSetOptions((PetscObject)tm->muon, ((PetscObject)tao)->options));
  PetscCall(MuonSetOptionsPrefix(tm->muon, ((PetscObject)tao)->prefix));
  PetscCall(MuonSetFromOptions(tm->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoView_Muon(Tao tao, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(MuonView(((TAO_Muon *)tao->data)->muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoMuonGetMuon_Muon(Tao tao, Muon *muon)
{
  PetscFunctionBegin;
  *muon = ((TAO_Muon *)tao->data)->muon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoMuonSetLayers_Muon(Tao tao, const char layers[])
{
  TAO_Muon *tm = (TAO_Muon *)tao->data;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(layers, tm->layers, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(tm->x == NULL, PetscObjectComm((PetscObject)tao), PETSC_ERR_ORDER, "-%stao_muon_layers must be set before TaoSetUp()", MuonPrefix(tm->muon));
  PetscCall(PetscFree(tm->layers));
  PetscCall(PetscStrallocpy(layers, &tm->layers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoDestroy_Muon(Tao tao)
{
  TAO_Muon *tm = (TAO_Muon *)tao->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)tao, "TaoMuonGetMuon_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)tao, "TaoMuonSetLayers_C", NULL));
  PetscCall(MuonDestroy(&tm->muon));
  PetscCall(VecDestroy(&tm->x));
  PetscCall(PetscFree(tm->layers));
  PetscCall(PetscFree(tao->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  TAOMUON - Solves a `Tao` with the steps of a `Muon`; the solution is a vector of weight matrices

  Options Database Keys:
+ -tao_muon_layers list   - the matrices, in the order of the entries, see `TaoMuonSetLayers()`
- -tao_muon_ignore_bounds - solves a problem with bounds as one without

  Level: beginner

  Notes:
  A program without a line for this library uses the type by `-dll_append /path/to/libpetscmuon.so` and `-tao_type muon`. All
  keys of `Muon` can be used, with the prefix of the `Tao`. This prefix is empty by default and is not the word tao_\:
  `-lmo_type`, `-muon_learning_rate`, and with the prefix fit_ (`TaoSetOptionsPrefix()`) -fit_lmo_type. The keys above, as all
  keys of TAO, have tao_ after the prefix. A key of `Muon` with tao_ is an error.

  Without layers the solution is one vector, which the optimizer adamw updates by `-muon_adamw_learning_rate`. A line
  says so.

  The program gives objective and gradient. If it has residuals r and their Jacobian J but no objective, f is r'r/2 and
  the gradient is J'r. There is no line search. After a routine of `TaoSetUpdate()` objective and gradient are computed
  again. Constraints and bounds are errors.

  A step inside a norm ball has the length of its radius, even for a small gradient. With a constant rate the iterates
  oscillate around a minimum. The schedule is therefore `MUON_SCHEDULE_LINEAR`, as in `MuonSolve()`, and ends with TAO's
  maximum number of iterations. `-tao_max_it` sets the length of the run; `-muon_schedule`, a preset or a theorem's rates set
  another schedule. `-muon_max_steps` sets another end of the schedule. All tests, limits and monitors of TAO apply. The default test
  uses the Euclidean norm of the gradient. The step length in monitors is the learning rate.

  One vector has one gradient, so that all ranks are one worker and no messages are exchanged between workers.
  `MUONEF21` and `MUONSIGN` are their algorithms for one worker. Matrices that are distributed over the ranks are
  assembled for their LMOs (`-muon_assembly`). Each solve begins without momentum.

  It is for gradients with noise and for unknowns that are matrices, such as the weights of networks. It is not for a
  smooth problem with an exact gradient\: a quasi-Newton method such as `TAOLMVM`, or `TAOBRGN` for least squares,
  needs far fewer evaluations for a small gradient. For vectors without matrices it is AdamW.

.seealso: `Tao`, `TaoSetType()`, `Muon`, `TaoMuonGetMuon()`, `TaoMuonSetLayers()`, `MuonAddVecLayers()`, `MuonSetSchedule()`
M*/
static PetscErrorCode TaoCreate_Muon(Tao tao)
{
  TAO_Muon *tm;

  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_COMPLEX), PetscObjectComm((PetscObject)tao), PETSC_ERR_SUP, "TaoSetType() " TAOMUON ": the scalars of this PETSc are complex, expected real ones; a Muon takes complex vectors by MuonAddVecLayers()");
  PetscCall(PetscNew(&tm));
  tao->data                = (void *)tm;
  tao->ops->setup          = TaoSetUp_Muon;
  tao->ops->solve          = TaoSolve_Muon;
  tao->ops->view           = TaoView_Muon;
  tao->ops->setfromoptions = TaoSetFromOptions_Muon;
  tao->ops->destroy        = TaoDestroy_Muon;
  PetscCall(MuonCreate(PetscObjectComm((PetscObject)tao), &tm->muon));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)tm->muon, (PetscObject)tao, 1));
  PetscCall(MuonSetOptionsPrefix(tm->muon, ((PetscObject)tao)->prefix));
  PetscCall(MuonSetObjectiveAndGradient(tm->muon, TaoMuonLoss_Private, tm));
  PetscCall(MuonGetMaxSteps(tm->muon, &tm->steps));
  PetscCall(PetscObjectComposeFunction((PetscObject)tao, "TaoMuonGetMuon_C", TaoMuonGetMuon_Muon));
  PetscCall(PetscObjectComposeFunction((PetscObject)tao, "TaoMuonSetLayers_C", TaoMuonSetLayers_Muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  TaoMuonRegister - Registers `TAOMUON` as a type of `Tao`

  Not Collective

  Level: advanced

  Note:
  `PetscMuonInitialize()` and the hook for `-dll_append` call it.

.seealso: `TAOMUON`, `TaoRegister()`, `PetscMuonInitialize()`
@*/
PetscErrorCode TaoMuonRegister(void)
{
  PetscFunctionBegin;
  PetscCall(TaoRegister(TAOMUON, TaoCreate_Muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  TaoMuonGetMuon - Gets the optimizer of a `TAOMUON`

  Not Collective

  Input Parameter:
. tao - the `Tao`, of type `TAOMUON`

  Output Parameter:
. muon - the optimizer, borrowed

  Level: intermediate

  Note:
  After `TaoSetUp()` it has its layers, which are ranges of the solution, see `MuonAddVecLayers()`.

.seealso: `TAOMUON`, `Muon`, `TaoMuonSetLayers()`, `MuonGetLayerByName()`
@*/
PetscErrorCode TaoMuonGetMuon(Tao tao, Muon *muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(muon, 2);
  PetscUseMethod(tao, "TaoMuonGetMuon_C", (Tao, Muon *), (tao, muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  TaoMuonSetLayers - Sets the matrices of the solution of a `TAOMUON`

  Logically Collective

  Input Parameters:
+ tao    - the `Tao`
- layers - the matrices in the order of the entries, separated by commas\: NAME:ROWS for a vector, NAME:ROWSxCOLUMNS for a matrix stored by columns, NAME:ROWSxCOLUMNS:row for one stored by rows

  Options Database Key:
. -tao_muon_layers list - the matrices, `W1:128x64,b1:128` for instance

  Level: intermediate

  Notes:
  Together they must cover the solution. `MuonAddVecLayers()` describes their storage and their names. Keys of one
  layer are `-muon_layer_NAME_...`.

  A program that does not link with this library can compose a `PetscContainer` with the text as "MuonLayers" with the
  `Tao`, or with the solution. This routine overrides it.

.seealso: `TAOMUON`, `TaoMuonGetMuon()`, `MuonAddVecLayers()`, `PetscObjectCompose()`
@*/
PetscErrorCode TaoMuonSetLayers(Tao tao, const char layers[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(layers, 2);
  PetscTryMethod(tao, "TaoMuonSetLayers_C", (Tao, const char[]), (tao, layers));
  PetscFunctionReturn(PETSC_SUCCESS);
}
