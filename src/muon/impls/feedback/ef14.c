#include "feedback.h" /*I "petscmuon.h" I*/

/* The state of a shard is -e_j, the part that this worker has sent beyond its gradients */
typedef struct {
  MuonFeedback feedback;
  PetscReal    delta; /* how much of e_j is remembered */
} Muon_EF14;

static PetscBool  MuonCitationEF14Set = PETSC_FALSE;
static const char MuonCitationEF14[]  = "@inproceedings{SeideFuDroppoLiYu2014,\n"
                                        "  title     = {1-Bit Stochastic Gradient Descent and its Application to Data-Parallel Distributed Training of Speech {DNN}s},\n"
                                        "  author    = {Frank Seide and Hao Fu and Jasha Droppo and Gang Li and Dong Yu},\n"
                                        "  booktitle = {Interspeech},\n"
                                        "  year      = {2014}\n}\n";

static const MuonParameter MuonEF14Parameters[] = {MUON_FEEDBACK_ROWS("ef14_"),
                                                   {"ef14_feedback", MUON_PARAMETER_REAL, offsetof(Muon_EF14, delta), 1, 0, 1, NULL, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA, "How much of what a message leaves out is added to the next gradient"},
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static const MuonParameter MuonEF14LayerParameters[] = MUON_FEEDBACK_LAYER_ROWS("ef14_");

/* c_j = C_j(g_j + e_j), to the server, where the LMO sees the momentum of the mean of c_j */
static PetscErrorCode MuonSend_EF14(Muon muon, MuonShard *shard, MuonUpload *upload)
{
  FeedbackShard *state = (FeedbackShard *)shard->data;

  PetscFunctionBegin;
  if (state->keeps) upload->R = &state->relative;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -e_j = delta (-e_j + c_j - g_j) */
static PetscErrorCode MuonCommit_EF14(Muon muon, MuonShard *shard)
{
  const double   delta = (double)((Muon_EF14 *)muon->data)->delta;
  FeedbackShard *state = (FeedbackShard *)shard->data;

  PetscFunctionBegin;
  if (state->keeps == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (delta == 0) {
    PetscCall(MuonArrayZero(&state->relative));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorDecodeValidated(shard->round->sent, &shard->round->up_own, PETSC_TRUE, 1, &state->relative));
  MuonArrayAxpby(-delta, &shard->round->T, delta, &state->relative);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVisitState_EF14(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  FeedbackShard *state = (FeedbackShard *)shard->data;

  PetscFunctionBegin;
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  if (state->keeps) PetscCall(MuonShardVisitArray(shard, visitor, "excess", PETSC_FALSE, &state->relative));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF14 - Muon with classic error feedback: the compression error is added to the next gradient

  Options Database Keys:
+ -ef14_compressor type          - compressor from workers to servers, followed by the keys of `MuonCompressor`
. -ef14_server_compressor type   - compressor from servers to workers, likewise
. -ef14_compressor_layers types  - layers that the two apply to (lmo|all); others are sent uncompressed, unless a layer has its own key
. -ef14_compressor_min_entries n - smaller layers are sent uncompressed, unless a layer has its own key
. -ef14_downlink downlink        - how servers send new weights (weights|step), as for `MUONEF21`
- -ef14_feedback delta           - fraction of the compression error that is added to the next gradient, from 0 to 1

  Level: beginner

  Notes:
  In step s worker j has the weights W, the gradient g_j and the accumulated compression error e_j\:
.vb
  c_j      =  C_j(g_j + e_j)               sent to the layer's server
  e_j becomes delta (g_j + e_j - c_j)
.ve
  The server of a layer computes, with momentum mu and t^s = learning rate x schedule x scale x shape factor\:
.vb
  M becomes mu M + (1-mu) mean of c_j
  X becomes X + t^s D                      D the point of the unit ball where <M,D> is least
  S      =  C(X - W)                       sent to every worker
.ve
  Every worker replaces W by W + S.

  The default delta = 1 is the error feedback of 2014. With 0 the error is dropped. This is naive compression, which
  may diverge. With values between 0 and 1 the error decays. With the compressor identity there is no error, e_j is not
  stored, and the steps are those of `MUONDENSE`.

  `MUONEF21` sends differences of the momentum instead. These become small when the momentum converges, while the
  messages here have the size of gradients to the end. On one problem of three workers with different gradients, EF21
  reached the solution and EF14 stayed at a distance. Measure which is better for your model.

  With `-muon_momentum_at worker` the momentum takes the place of g_j. If a run continues on another number of
  ranks, each worker gets the mean of the e_j.

  References:
. * - F. Seide, H. Fu, J. Droppo, G. Li, D. Yu, 1-bit stochastic gradient descent and its application to data-parallel distributed training of speech DNNs, Interspeech 2014

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONEF21`, `MUONDENSE`, `MuonCompressor`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_EF14(Muon muon)
{
  Muon_EF14 *ef14;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef14));
  PetscCall(MuonCreate_Feedback(muon, ef14, sizeof(FeedbackShard)));
  muon->ops->momentum_at = MUON_MOMENTUM_AT_SERVER;
  muon->ops->asis        = PETSC_TRUE;
  muon->ops->send        = MuonSend_EF14;
  muon->ops->commit      = MuonCommit_EF14;
  muon->ops->visitstate  = MuonVisitState_EF14;
  PetscCall(PetscCitationsRegister(MuonCitationEF14, &MuonCitationEF14Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_EF14(void)
{
  static const char *const keys[] = {MUON_FEEDBACK_KEYS("ef14_"), NULL};
  MuonAddonOps             ops    = {0};

  PetscFunctionBegin;
  PetscCall(MuonRegister(MUONEF14, MuonCreate_EF14, MuonEF14Parameters));
  PetscCall(MuonFeedbackRegister_Private(MUONEF14, &ops, MuonEF14LayerParameters, keys));
  PetscFunctionReturn(PETSC_SUCCESS);
}
