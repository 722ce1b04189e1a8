#include <petscmuon/private/muonvotes.h> /*I "petscmuon.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include <math.h>

const char *const MuonSignDirections[] = {"polar", "momentum", "gradient", "adam", "MuonSignDirection", "MUON_SIGN_DIRECTION_", NULL};
const char *const MuonSignUpdates[]    = {"none", "frobenius", "spectral", "polar", "MuonSignUpdate", "MUON_SIGN_UPDATE_", NULL};
const char *const MuonSignTies[]       = {"plus", "minus", "zero", "random", "MuonSignTie", "MUON_SIGN_TIE_", NULL};

#define ROW(kind, field, value, names, flags, help) \
  { \
    "sign_" #field, MUON_PARAMETER_##kind, offsetof(Muon_Sign, field), value, 0, 0, names, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | (flags), help \
  }

static PetscBool  MuonCitationSignSet = PETSC_FALSE;
static const char MuonCitationSign[]  = "@misc{signmuon2026,\n"
                                        "  title  = {SignMuon: Communication-Efficient Distributed Muon Optimization},\n"
                                        "  year   = {2026},\n"
                                        "  note   = {arXiv:2605.16311}\n}\n";

typedef struct {
  MuonSignDirection direction;
  MuonSignUpdate    update;
  MuonSignTie       tie;
  PetscBool         measure;
} Muon_Sign;

static const MuonParameter MuonSignParameters[] = {ROW(ENUM, direction, MUON_SIGN_DIRECTION_POLAR, MuonSignDirections, MUON_PARAMETER_FIXED, "What the workers vote with"),
                                                   ROW(ENUM, update, MUON_SIGN_UPDATE_NONE, MuonSignUpdates, MUON_PARAMETER_FIXED, "What the workers make of the majority"),
                                                   ROW(ENUM, tie, MUON_SIGN_TIE_ZERO, MuonSignTies, MUON_PARAMETER_FIXED, "What a tie makes, with an even number of workers"),
                                                   ROW(BOOL, measure, 0, NULL, 0, "Measure gradients as the theory of SignMuon does"),
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* ||g||_1 / sqrt(m n) of each block, its mean over the workers; before the momentum overwrites the gradient */
static PetscErrorCode MuonMeasure_Sign(MuonShard *shard, MuonRecord *record)
{
  MuonArray whole;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &whole, &ours));
  for (PetscInt b = 0; b < MuonVotesCount(shard) && whole.data != NULL; b++) {
    MuonArray part, G = MuonShardGradient(shard, &whole);
    MuonBlock block;

    PetscCall(MuonVotesGetBlock(shard, b, &G, &part, &block));
    record->dual += MuonArrayKernels(&part)->SumAbs(part.len, part.count, part.data, part.ld) / (sqrt((double)block.m * (double)block.n) * shard->group->exchange->nworkers);
  }
  PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBegin_Sign(Muon muon, MuonRecord *record)
{
  const Muon_Sign *sign = (const Muon_Sign *)muon->data;

  PetscFunctionBegin;
  record->measure = (double)sign->measure;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard         *shard = &muon->shard[p];
    MuonLayerStepInfo *info  = &MuonShardNext(shard)->info;

    if (shard->group->ops != &MuonGroupVotes) continue;
    if (sign->direction == MUON_SIGN_DIRECTION_GRADIENT) {
      info->beta            = 0;
      info->gradient_weight = 1;
    } else if (sign->direction == MUON_SIGN_DIRECTION_ADAM) info->gradient_weight = 1 - info->beta;
    if (sign->measure && MuonGroupSkips(shard->group) == PETSC_FALSE) PetscCall(MuonMeasure_Sign(shard, record));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A worker votes with the polar factor of T */
static PetscErrorCode MuonDirection_Sign(Muon muon, PetscInt n, MuonShard *const shard[], const MuonMatrix T[], const MuonMatrix U[], MuonStatus status[])
{
  MuonPolar *polar;
  MuonLMO    lmo;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &polar));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonLayerGetLMO(shard[k]->layer, &lmo));
    PetscCall(MuonLMOGetPolar(lmo, &polar[k]));
  }
  PetscCall(MuonPolarApplyMatrices(1.0, n, polar, T, U, status));
  PetscCall(PetscFree(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLength_Sign(Muon muon, MuonShard *shard, const MuonBlock *block, const MuonMatrix *S, double *length, MuonStatus *status)
{
  const Muon_Sign *sign = (Muon_Sign *)muon->data;
  MuonLMO          lmo;
  MuonStatus       computed;
  PetscReal        norm;

  PetscFunctionBegin;
  if (sign->update == MUON_SIGN_UPDATE_FROBENIUS) *length = sqrt((double)block->m * (double)block->n);
  else if (sign->update == MUON_SIGN_UPDATE_SPECTRAL) {
    PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_FALSE, S, &norm, &computed));
    MuonStatusMerge(computed, status);
    *length = (double)norm;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_Sign(Muon muon)
{
  const Muon_Sign *sign = (Muon_Sign *)muon->data;
  const MPI_Comm   comm = PetscObjectComm((PetscObject)muon);
  PetscMPIInt      even = 0;
  MuonVotesRule    votes;

  PetscFunctionBegin;
  PetscCheck(muon->nesterov == MUON_NESTEROV_NONE, comm, PETSC_ERR_SUP, "-%smuon_nesterov %s: -muon_type sign has no Nesterov term, expected none", MuonPrefix(muon), MuonNesterovTypes[muon->nesterov]);
  PetscCheck(muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER, comm, PETSC_ERR_SUP, "-%smuon_momentum_at server: -muon_type sign keeps one momentum a worker, expected worker", MuonPrefix(muon));
  PetscCheck(muon->weights == NULL, comm, PETSC_ERR_SUP, "MuonSetWorkerWeight(): the workers of -%smuon_type sign have one vote each, expected equal weights", MuonPrefix(muon));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard  *shard = &muon->shard[p];
    const char *type;
    MuonLMO     lmo;
    PetscBool   is;

    if (shard->group->ops != &MuonGroupVotes) continue;
    PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
    PetscCall(MuonLMOGetType(lmo, &type));
    PetscCall(PetscStrcmp(type != NULL ? type : MUONLMOSPECTRAL, MUONLMOSPECTRAL, &is)); /* the default */
    MuonLayerCheck(shard->layer, is, PETSC_ERR_SUP, "lmo_type %s: layers that vote, -muon_type sign, have no norm but spectral; another type of the layer does not vote", type);
    if (sign->direction == MUON_SIGN_DIRECTION_GRADIENT) shard->layer->driver->keepsmomentum = PETSC_FALSE;
    votes.direction = sign->direction == MUON_SIGN_DIRECTION_POLAR ? MuonDirection_Sign : NULL;
    votes.length    = MuonLength_Sign;
    votes.whole     = sign->update == MUON_SIGN_UPDATE_SPECTRAL || sign->update == MUON_SIGN_UPDATE_POLAR ? PETSC_TRUE : PETSC_FALSE;
    votes.steps     = sign->update == MUON_SIGN_UPDATE_POLAR ? PETSC_TRUE : PETSC_FALSE;
    votes.tie       = sign->tie;
    even            = shard->group->grid->nworkers % 2 == 0 ? shard->group->grid->nworkers : even;
    PetscCall(MuonVotesSetRule(shard->group, &votes));
  }
  if (even > 0 && (sign->tie == MUON_SIGN_TIE_PLUS || sign->tie == MUON_SIGN_TIE_MINUS))
    PetscCall(MuonNotice(comm, "PetscMuon warning: -%ssign_tie %s moves each entry on which the %d workers are divided a whole step, always the same way; zero leaves it, random sends as little as %s\n", MuonPrefix(muon), MuonSignTies[sign->tie],
                         even, MuonSignTies[sign->tie]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSignGetAgreement - Gets the agreement of the workers' votes in the last step

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONSIGN`

  Output Parameter:
. agreement - mean over the entries of |votes for plus - votes for minus| / number of workers: 1 if all votes agree, 0 if every entry is a tie; -1 if no layer votes

  Level: intermediate

.seealso: `Muon`, `MUONSIGN`, `MuonMonitorDefault()`
@*/
PetscErrorCode MuonSignGetAgreement(Muon muon, PetscReal *agreement)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONSIGN, agreement, muon->score);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_Sign(Muon muon, PetscViewer viewer)
{
  const Muon_Sign *sign = (Muon_Sign *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "workers vote with the signs of the %s%s, update %s, a tie is %s\n", MuonSignDirections[sign->direction], sign->direction == MUON_SIGN_DIRECTION_POLAR ? " factor of the momentum" : "",
                                   MuonSignUpdates[sign->update], MuonSignTies[sign->tie]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a majority has a second bit, for ties, with an even number of workers */
static PetscErrorCode MuonVotesHaveTies_Sign(Muon muon, PetscBool *ties)
{
  PetscFunctionBegin;
  *ties = ((Muon_Sign *)muon->data)->tie == MUON_SIGN_TIE_ZERO ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The condition of the theorems, E<grad, D> > 0, holds up to noise for majorities of gradients' signs with lengths independent of them */
static PetscErrorCode MuonSignsDescend_Sign(Muon muon, MuonLayer layer, const char **expected, double *length)
{
  const Muon_Sign *sign = (Muon_Sign *)muon->data;

  PetscFunctionBegin;
  *expected = sign->update == MUON_SIGN_UPDATE_NONE || sign->update == MUON_SIGN_UPDATE_FROBENIUS ? NULL : "sign_update none or frobenius";
  if (sign->direction != MUON_SIGN_DIRECTION_GRADIENT) *expected = "sign_direction gradient";
  *length = sign->update == MUON_SIGN_UPDATE_NONE ? sqrt((double)layer->m * (double)layer->n) : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_Sign(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonSignsDescend_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonVotesHaveTies_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONSIGN - SignMuon: the workers vote by signs, one bit an entry, and every worker updates by the majority

  Options Database Keys:
+ -sign_direction direction - matrix whose signs are the votes (polar|momentum|gradient|adam), fixed at `MuonSetUp()`
. -sign_update update       - step for the majority (none|frobenius|spectral|polar), computed by every worker; `polar` keeps the new weights until the step succeeds
. -sign_tie tie             - result of a tie (zero|random|plus|minus), possible with an even number of workers; with `zero`, the default, the majority is sent down with two bits an entry
- -sign_measure             - replaces the dual norm by the mean over the workers of the sum of ||g||_1 / sqrt(m n)

  Level: beginner

  Notes:
  In step s worker j computes, with momentum mu and t^s = learning rate x schedule x scale x shape factor\:
.vb
  M_j becomes mu M_j + (1-mu) g_j      or in the style sgd, mu M_j + (1-dampening) g_j
  U_j      =  polar(M_j), M_j or g_j
  b_j      =  [U_j > 0]                sent, one bit an entry; a random one where U_j = 0
  S        =  sign of the sum over j of (2 b_j - 1)
  W becomes (1 - rate decay) W - t^s D,   D = S, S/sqrt(mn), S/||S||_2 or polar(S)
.ve
  The vote is exact for any number of workers, and the same to the last bit in every exchange. An entry that is not
  finite ends the step.

  By default a tie leaves the entry unchanged, as in the theory (sign(0) = 0). plus and minus move all ties in one
  direction by a whole step. random counts the first worker's vote, or its opposite, once more. A random bit decides
  between the two. All workers draw it from `-muon_seed`, the step, the name of the layer and the index of the entry.
  This has no bias, gives opposite steps for opposite gradients, sends one bit an entry down, and has the errors of one
  worker fewer.

  A zero of one worker, of either sign, is not a tie. One bit cannot express it, and the worker votes with a random bit
  instead. Rows without a gradient therefore do not drift.

  Servers keep no state. The `MuonExchange` chooses the ranks that count votes\: owners of ranges of entries
  (`MUONEXCHANGERANGE`, the default with more than two workers, whose messages do not grow with their number), all
  workers (`MUONEXCHANGEREPLICATED`; gather sends bits to all, Algorithm 3 of the paper, allreduce sums integers, its
  Algorithm 2), owners of layers (`MUONEXCHANGELAYERWISE`), or one worker (`MUONEXCHANGESTAR`; gather is the parameter
  server, reduce the tree of the paper's appendix). `MuonExchangeSetMode()` lists the legal combinations.

  If the rows of a layer are distributed over the ranks of a worker, ranks of the same position in their workers vote
  on their rows. The majority is the same as for whole layers. Polar factors and norms, of a direction or an update,
  are computed for whole blocks, which each worker assembles from its rows. With `MUONEXCHANGEROWS` all ranks are one
  worker, whose signs are the majority, and no votes are sent.

  The direction adam is the sign of Adam's step (SignAdam). Adam divides its first moment by a positive number, so that
  the sign is that of the moment, which is M_j in the style ema with beta1 = mu. The second moment is not needed.

  Only layers of the optimizer lmo with the spectral norm vote. The direction polar uses the `MuonPolar` of this norm.
  The cubic iteration of the paper is `-lmo_polar_type newtonschulz -lmo_polar_coefficients cubic`, with
  `-lmo_polar_normalization frobenius` or `spectral`. The estimate of the latter is guarded (see
  `MUONPOLARNEWTONSCHULZ`), because two power iterations underestimate the norm by up to a quarter, and the iteration
  may then reverse signs. Layers of other optimizers use the mean gradient as in `MUONDENSE`, in the same step, by the
  same type of exchange, or by layerwise if that type is for votes only.

  Warning\: The sign of a gradient, or of its momentum, is a descent direction. The sign of the polar factor, the default of the paper
  and of this library, may be an ascent direction. There is a 4 x 4 matrix G with <G, sign(polar(G))> < 0, so that f(X) = <G, X> grows
  with every step, for every learning rate; `tutorials/ex4.c` shows it. Whether this happens also depends on the method for the polar
  factor. The theorem of the paper is for the direction gradient with the update frobenius; `-muon_theory smooth_stochastic` uses its
  rate. `MUONEF21` with the compressor sign sends as few bits and converges.

  References:
+ * - SignMuon\: Communication-Efficient Distributed Muon Optimization, arXiv:2605.16311
- * - J. Bernstein, Y.-X. Wang, K. Azizzadenesheli, A. Anandkumar, signSGD\: Compressed Optimisation for Non-Convex Problems, arXiv:1802.04434

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONEF21`, `MUONDENSE`, `MuonSignGetAgreement()`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_Sign(Muon muon)
{
  Muon_Sign *sign;

  PetscFunctionBegin;
  PetscCall(PetscNew(&sign));
  muon->data           = sign;
  muon->ops->lmogroup  = &MuonGroupVotes;
  muon->ops->configure = MuonConfigure_Sign;
  muon->ops->view      = MuonView_Sign;
  muon->ops->destroy   = MuonDestroy_Sign;
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonVotesHaveTies_C", MuonVotesHaveTies_Sign));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonSignsDescend_C", MuonSignsDescend_Sign));
  PetscCall(PetscCitationsRegister(MuonCitationSign, &MuonCitationSignSet));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_Sign(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.begin = MuonBegin_Sign;
  PetscCall(MuonRegister(MUONSIGN, MuonCreate_Sign, MuonSignParameters));
  PetscCall(MuonAddonRegister(MUONSIGN, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
