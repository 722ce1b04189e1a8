#include "../../step/muonstep.h" /*I "petscmuon.h" I*/

typedef struct {
  MuonCompressors all;
  PetscReal       feedback;
} Muon_EF14;

/* State of one shard */
typedef struct {
  PetscBool keeps;  /* messages leave something out */
  MuonArray excess; /* worker: what it has sent beyond its gradients, which is -e */
} EF14Shard;

static PetscBool  MuonCitationEF14Set = PETSC_FALSE;
static const char MuonCitationEF14[]  = "@inproceedings{SeideFuDroppoLiYu2014,\n"
                                        "  title     = {1-Bit Stochastic Gradient Descent and its Application to Data-Parallel Distributed Training of Speech {DNN}s},\n"
                                        "  author    = {Frank Seide and Hao Fu and Jasha Droppo and Gang Li and Dong Yu},\n"
                                        "  booktitle = {Interspeech},\n"
                                        "  year      = {2014}\n}\n";

static const MuonParameter MuonEF14Parameters[] = {MUON_COMPRESSORS_ROWS("ef14_", Muon_EF14, all),
                                                   {"ef14_feedback", MUON_PARAMETER_REAL, offsetof(Muon_EF14, feedback), 1, 0, 1, NULL, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA, "How much of what a message leaves out is added to the next gradient"},
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static const MuonParameter MuonEF14LayerParameters[] = MUON_COMPRESSORS_LAYER_ROWS("ef14_");

static PetscErrorCode MuonReset_EF14(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (muon->shard[p].data != NULL) PetscCall(MuonArrayDestroy(&((EF14Shard *)muon->shard[p].data)->excess));
    PetscCall(PetscFree(muon->shard[p].data));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_EF14(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsConfigure_Private(muon, &((Muon_EF14 *)muon->data)->all));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    EF14Shard *state;
    PetscBool  assigns;

    PetscCall(PetscNew(&state));
    shard->data = state;
    PetscCall(MuonCompressorIsAssignment(shard->up, &assigns));
    state->keeps = assigns ? PETSC_FALSE : PETSC_TRUE;
    shard->asis  = assigns;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_EF14(Muon muon, MuonShard *shard)
{
  const MuonArray shape = MuonShardStateShape(shard);
  EF14Shard      *state = (EF14Shard *)shard->data;

  PetscFunctionBegin;
  if (state->keeps) PetscCall(MuonArrayCreate(&shape, shape.precision, &state->excess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonObjects_EF14(Muon muon, MuonParameterObjectFn *call, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsVisit_Private(&((Muon_EF14 *)muon->data)->all, call, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBegin_EF14(Muon muon, MuonRecord *record)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsCheck_Private(muon, &((Muon_EF14 *)muon->data)->all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C_j(T_j + e_j) */
static PetscErrorCode MuonWorker_EF14(Muon muon, MuonShard *shard, MuonUpload *upload)
{
  EF14Shard *state = (EF14Shard *)shard->data;

  PetscFunctionBegin;
  if (state->keeps) upload->R = &state->excess;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -e_j becomes feedback (-e_j + what was sent - T_j) */
static PetscErrorCode MuonCommit_EF14(Muon muon, MuonShard *shard)
{
  const double feedback = (double)((Muon_EF14 *)muon->data)->feedback;
  EF14Shard   *state    = (EF14Shard *)shard->data;

  PetscFunctionBegin;
  if (state->keeps == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (feedback == 0) {
    PetscCall(MuonArrayZero(&state->excess));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorDecodeValidated(shard->round->sent, &shard->round->up_own, PETSC_TRUE, 1, &state->excess));
  MuonArrayAxpby(-feedback, &shard->round->T, feedback, &state->excess);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVisitState_EF14(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonStateVisitArray(visitor, "excess", PETSC_TRUE, PETSC_FALSE, &((EF14Shard *)shard->data)->excess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetObjectsFromOptions_EF14(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsSetFromOptions_Private(muon, &((Muon_EF14 *)muon->data)->all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_EF14(Muon muon, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsView_Private(muon, &((Muon_EF14 *)muon->data)->all, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_EF14(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsDestroy_Private(&((Muon_EF14 *)muon->data)->all));
  PetscCall(PetscFree(muon->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF14 - Muon with the classic error feedback: what a message leaves out is added to the next gradient

  Options Database Keys:
+ -ef14_compressor type          - compressor from workers to servers, with the keys of `MuonCompressor` behind it
. -ef14_server_compressor type   - compressor from servers to workers, likewise
. -ef14_compressor_rules rules   - layers that the two are for (lmo|all), others are sent uncompressed, unless a layer's own key says otherwise
. -ef14_compressor_min_entries n - entries of the smallest layer that they are for, smaller layers are sent uncompressed
. -ef14_downlink downlink        - how servers send new weights (weights|step), as for `MUONEF21`
- -ef14_feedback delta           - how much of what a message leaves out is added to the next gradient, from 0 to 1

  Level: beginner

  Notes:
  In step s worker j, at the weights W, with the gradient g_j and what its messages have left out so far, e_j\:
.vb
  c_j      =  C_j(g_j + e_j)               sent to the layer's server
  e_j becomes delta (g_j + e_j - c_j)
.ve
  the server of a layer, with momentum mu and t^s = learning rate x schedule x scale x shape factor\:
.vb
  M becomes mu M + (1-mu) mean of c_j
  X becomes X + t^s D                      D the point of the unit ball where <M,D> is least
  S      =  C(X - W)                       sent to every worker
.ve
  and every worker\: W becomes W + S.

  With delta = 1, the default, it is the error feedback of 2014; with 0 nothing is remembered, which is naive
  compression and may diverge; in between what was left out decays. With the compressor identity nothing is left
  out, e_j is not stored and the steps are those of `MUONDENSE`.

  `MUONEF21` sends differences of the momentum instead. These become small where the momentum settles, while
  what is sent here has the size of gradients to the end\: on one problem of three workers with gradients that
  differ, EF21 reached the solution and this one stayed at a distance. Which is better for a model is a matter of
  measuring.

  With `-muon_momentum_at worker` the momentum takes the place of g_j. A checkpoint that is loaded on other ranks
  gives each worker the mean of the e_j.

  References:
. * - F. Seide, H. Fu, J. Droppo, G. Li, D. Yu, 1-bit stochastic gradient descent and its application to data-parallel distributed training of speech DNNs, Interspeech 2014

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONEF21`, `MUONDENSE`, `MuonCompressor`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_EF14(Muon muon)
{
  Muon_EF14 *ef14;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef14));
  muon->data                       = ef14;
  muon->momentum_default           = MUON_MOMENTUM_AT_SERVER;
  muon->ops->configure             = MuonConfigure_EF14;
  muon->ops->setup                 = MuonSetUp_EF14;
  muon->ops->begin                 = MuonBegin_EF14;
  muon->ops->objects               = MuonObjects_EF14;
  muon->ops->worker                = MuonWorker_EF14;
  muon->ops->commit                = MuonCommit_EF14;
  muon->ops->visitstate            = MuonVisitState_EF14;
  muon->ops->setobjectsfromoptions = MuonSetObjectsFromOptions_EF14;
  muon->ops->view                  = MuonView_EF14;
  muon->ops->reset                 = MuonReset_EF14;
  muon->ops->destroy               = MuonDestroy_EF14;
  PetscCall(MuonCompressorsCreate_Private(muon, MUONEF14, &ef14->all));
  PetscCall(PetscCitationsRegister(MuonCitationEF14, &MuonCitationEF14Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRegister_EF14(void)
{
  static const char *const keys[] = {MUON_COMPRESSORS_KEYS("ef14_"), NULL};
  MuonAddonOps             ops    = MuonCompressorsAddon(MuonEF14LayerParameters, keys);

  PetscFunctionBegin;
  PetscCall(MuonRegister(MUONEF14, MuonCreate_EF14, MuonEF14Parameters));
  PetscCall(MuonAddonRegister(MUONEF14, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
