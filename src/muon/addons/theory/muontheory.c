#include "muontheory.h" /*I "petscmuon.h" I*/
#include <stdarg.h>

const char *const MuonTheories[] = {"none", "smooth", "smooth_stochastic", "l0l1", "l0l1_stochastic", "auto", "MuonTheory", "MUON_THEORY_", NULL};

/*
   From the options of an optimizer to a theorem and back.
*/

static const struct {
  const char *name, *step, *bound;
  PetscBool   dual, servers; /* messages of workers contract in the dual norm, else in Frobenius'; servers may compress */
} Theorems[] = {{"", "", "", PETSC_FALSE, PETSC_FALSE},
                {"Theorem 3 (by layers 14) of EF21-Muon, exact gradients, smooth, its constants derived anew", "gamma", "(1/K) sum_k E||grad f(X^k)||_*^2", PETSC_TRUE, PETSC_TRUE},
                {"Theorem 5 (by layers 19) of EF21-Muon, gradients with noise, smooth, its constants derived anew", "gamma", "(1/K) sum_k E||grad f(X^k)||_*^2", PETSC_FALSE, PETSC_TRUE},
                {"Theorem 4 (by layers 17) of EF21-Muon, exact gradients, (L0,L1)-smooth, constants of this library", "radius", "min_k E||grad f(X^k)||_*", PETSC_TRUE, PETSC_FALSE},
                {"Theorem 6 (by layers 24) of EF21-Muon, gradients with noise, (L0,L1)-smooth, constants of this library", "radius", "min_k E||grad f(X^k)||_*", PETSC_FALSE, PETSC_FALSE},
                {"SignMuon, majorities of the signs of gradients, smooth, the probability of wrong signs derived anew", "rate", "(1/K) sum_k E||grad f(X^k)||_1/sqrt(m n)", PETSC_FALSE, PETSC_TRUE}};

/* Of majorities: the last theorem, where auto has none of its own */
#define THEOREM_SIGNS MUON_THEORY_AUTO

/* For steps by majorities: the condition to descend on average, NULL if it holds; the largest spectral norm of a step with rate 1 */
typedef PetscErrorCode MuonSignsDescendFn(Muon, MuonLayer, const char **expected, double *length);

#define CONTRACTIVE \
  "identity, damping, dropout in every norm; nearest, truncated, bf16 in norms of entries, rows and columns; natural and randk in these with exponents up to 2; topk in the q-norm of all entries, columntopk and rowtopk in that of the norms they choose by, q < inf; topsvd in " \
  "Schatten norms, p < inf; in the Frobenius norm and where it is near all but powersgd"

#define MuonTheoryCheck(muon, condition, ...) \
  do { \
    if (PetscUnlikely(!(condition))) { \
      char text_[1024]; \
\
      PetscCall(PetscSNPrintf(text_, sizeof(text_), __VA_ARGS__)); \
      SETERRQ(PetscObjectComm((PetscObject)(muon)), PETSC_ERR_SUP, "-%smuon_theory %s: %s", MuonPrefix(muon), MuonTheories[MuonTheoryOf(muon)->type], text_); \
    } \
  } while (0)

static PetscErrorCode MuonTheoryWrite_Private(Muon muon, const char format[], ...)
{
  char    line[1024], *text;
  size_t  length, more;
  va_list arguments;

  PetscFunctionBegin;
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(line, sizeof(line), format, NULL, arguments));
  va_end(arguments);
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "%s", line));
  PetscCall(PetscStrlen(MuonTheoryOf(muon)->text != NULL ? MuonTheoryOf(muon)->text : "", &length));
  PetscCall(PetscStrlen(line, &more));
  PetscCall(PetscMalloc1(length + more + 1, &text));
  PetscCall(PetscSNPrintf(text, length + more + 1, "%s%s", MuonTheoryOf(muon)->text != NULL ? MuonTheoryOf(muon)->text : "", line));
  PetscCall(PetscFree(MuonTheoryOf(muon)->text));
  MuonTheoryOf(muon)->text = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether steps follow from Theorem 3 or 5 */
static PetscBool MuonTheoryIsSharp_Private(Muon muon)
{
  return MuonTheoryOf(muon)->signs == PETSC_FALSE && MuonTheoryOf(muon)->type != MUON_THEORY_L0L1 && MuonTheoryOf(muon)->type != MUON_THEORY_L0L1_STOCHASTIC ? PETSC_TRUE : PETSC_FALSE;
}

/* What the theorems assume of the optimizer */
static PetscErrorCode MuonTheoryCheckOptions_Private(Muon muon)
{
  const MuonTheoryData *theory = MuonTheoryOf(muon);
  const PetscBool       rate   = theory->type != MUON_THEORY_AUTO && MuonParametersIsSet((PetscObject)muon, "learning_rate") ? PETSC_TRUE : PETSC_FALSE;
  const struct {
    PetscBool   wrong;
    const char *key, *assumes;
  } wrong[]                 = {{rate, "learning_rate", "that the theorem gives it"},
                               {MuonParametersIsSet((PetscObject)muon, "momentum"), "momentum", "that the theorem gives it, or -muon_theory_beta"},
                               {muon->rates->momentum_style != MUON_MOMENTUM_EMA ? PETSC_TRUE : PETSC_FALSE, "momentum_style", "ema"},
                               {muon->rates->momentum_warmup > 0 ? PETSC_TRUE : PETSC_FALSE, "momentum_warmup", "none"},
                               {muon->nesterov != MUON_NESTEROV_NONE ? PETSC_TRUE : PETSC_FALSE, "nesterov", "none"},
                               {muon->state_precision >= MUON_STATE_PRECISION_BF16 ? PETSC_TRUE : PETSC_FALSE, "state_precision", "native or single"},
                               {muon->rates->weight_decay > 0 ? PETSC_TRUE : PETSC_FALSE, "weight_decay", "0"},
                               {muon->clip > 0 ? PETSC_TRUE : PETSC_FALSE, "clip", "0"},
                               {muon->rates->schedule != MUON_SCHEDULE_CONSTANT || muon->rates->schedule_warmup > 0 || muon->rates->fn != NULL ? PETSC_TRUE : PETSC_FALSE, "schedule", "constant, without a warm-up or a function"},
                               {theory->eta >= 0 && MuonTheoryIsSharp_Private(muon) ? PETSC_TRUE : PETSC_FALSE, "theory_eta", "none: its step is gamma"},
                               {theory->beta >= 0 && (theory->signs || (theory->type != MUON_THEORY_SMOOTH_STOCHASTIC && theory->type != MUON_THEORY_AUTO)) ? PETSC_TRUE : PETSC_FALSE, "theory_beta", "none: it has a beta of its own"}};
  const PetscBool plain     = theory->signs || (muon->ops->send == NULL && muon->ops->lmogroup == NULL && muon->nested == NULL) ? PETSC_TRUE : PETSC_FALSE; /* the mean of what workers have */
  PetscBool       gradients = PETSC_TRUE;
  PetscErrorCode (*starts)(Muon, PetscBool *);

  PetscFunctionBegin;
  MuonTheoryCheck(muon, MuonParametersIsSet((PetscObject)muon, "max_steps") && muon->max_steps > 0, "the theorem is of a number of steps, expected -%smuon_max_steps", MuonPrefix(muon));
  PetscCall(PetscObjectQueryFunction((PetscObject)muon, "MuonStartsFromGradients_C", &starts));
  MuonTheoryCheck(muon, starts != NULL || plain, "-%smuon_type %s: the theorems are of " MUONEF21 ", of " MUONDENSE " where nothing is compressed, and of majorities of signs", MuonPrefix(muon), ((PetscObject)muon)->type_name);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(wrong); k++) MuonTheoryCheck(muon, wrong[k].wrong == PETSC_FALSE, "-%smuon_%s was set, and the theorem assumes %s", MuonPrefix(muon), wrong[k].key, wrong[k].assumes);
  MuonTheoryCheck(muon, muon->weights == NULL, "the weights of the workers differ, and the theorem assumes equal ones");
  if (starts != NULL) PetscCall((*starts)(muon, &gradients));
  MuonTheoryCheck(muon, gradients, "the theorem begins with the first gradients, expected -%sef21_init gradient", MuonPrefix(muon));
  MuonTheoryCheck(muon, theory->signs == PETSC_FALSE || theory->type == MUON_THEORY_SMOOTH || theory->type == MUON_THEORY_SMOOTH_STOCHASTIC, "-%smuon_type %s: its theorem is of smooth functions, expected smooth or smooth_stochastic",
                  MuonPrefix(muon), ((PetscObject)muon)->type_name);
  MuonTheoryCheck(muon, starts != NULL || theory->signs || theory->type == MUON_THEORY_SMOOTH || theory->type == MUON_THEORY_L0L1 || theory->type == MUON_THEORY_AUTO,
                  "its momentum begins with the first gradients, expected -%smuon_type " MUONEF21 " -%sef21_init gradient", MuonPrefix(muon), MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryCheckLayer_Private(Muon muon, MuonLayer layer)
{
  const MuonStepType       step     = MuonTheoryIsSharp_Private(muon) ? MUON_STEP_SHARP : MUON_STEP_LMO;
  static const char *const theirs[] = {"learning_rate", "momentum", "weight_decay"};
  const char *const        name     = ((PetscObject)layer)->name;

  PetscFunctionBegin;
  MuonTheoryCheck(muon, layer->ops->applylmo != NULL, "layer \"%s\" has the type %s, and the theorem is of norm balls, expected " MUONLAYERLMO " or " MUONLAYERFROZEN, name, ((PetscObject)layer)->type_name);
  MuonTheoryCheck(muon, MuonBlocksCount_Private(&layer->blocks) == 1, "layer \"%s\" is cut into blocks, and the theorem knows layers; give each block as a layer", name);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(theirs); k++) {
    MuonTheoryCheck(muon, !MuonLayerIsSet(layer, theirs[k]) || (k == 0 && MuonTheoryOf(muon)->type == MUON_THEORY_AUTO), "-%smuon_layer_%s_%s was set, and the theorem assumes that it gives it", MuonPrefix(muon), name, theirs[k]);
  }
  MuonTheoryCheck(muon, !MuonLayerIsSet(layer, "theory_eta") || MuonTheoryIsSharp_Private(muon) == PETSC_FALSE, "-%smuon_layer_%s_theory_eta was set, and the theorem assumes none: its step is gamma", MuonPrefix(muon), name);
  MuonTheoryCheck(muon, layer->step == step, "layer \"%s\" has -%smuon_step %s, and the theorem is of %s", name, MuonPrefix(muon), MuonStepTypes[layer->step], MuonStepTypes[step]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The constant of a compressor in a norm of the layer, -1 for none. If ranks compress parts of a layer separately, the smallest
   constant holds in the Frobenius norm; in other norms if they are near it, or if the constant is 1
*/
static PetscErrorCode MuonTheoryAlpha_Private(Muon muon, const MuonShard *shard, MuonCompressor c, const MuonNorm *norm, double *alpha)
{
  const MuonLayer layer     = shard->layer;
  const MuonArray shape     = MuonShardStateShape(shard);
  const MuonNorm  frobenius = {PETSC_TRUE, PETSC_FALSE, 2, 2};
  const PetscBool parts     = shard->port->ranges != NULL || MuonLayerIsEntries(layer) ? PETSC_TRUE : PETSC_FALSE;
  double          least, most;
  PetscReal       one;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetAlphaOf(c, &shape, parts ? &frobenius : norm, &one));
  *alpha = c->assignment && one < 1 ? -1 : (double)one; /* what is rounded is not a difference */
  if (parts == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, alpha, 1, MPI_DOUBLE, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  MuonNormGetBounds(norm, (double)layer->m, (double)layer->n, &least, &most);
  if (*alpha > 0) *alpha = 1 - MuonTheorySquare(most / least) * (1 - *alpha);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryGetAlphas_Private(Muon muon, const MuonShard *shard, const MuonNorm *norm, MuonTheoryLayer *to)
{
  const MuonTheory           type      = MuonTheoryOf(muon)->type == MUON_THEORY_AUTO ? (MuonTheoryOf(muon)->beta >= 0 ? MUON_THEORY_SMOOTH_STOCHASTIC : MUON_THEORY_SMOOTH) : MuonTheoryOf(muon)->type;
  const MuonNorm             frobenius = {PETSC_TRUE, PETSC_FALSE, 2, 2}, dual = MuonNormDual(norm);
  const char                *name = ((PetscObject)shard->layer)->name, *where = Theorems[type].dual ? "dual to that of its LMO" : "of Frobenius";
  const MuonTheoryConstants *own = MuonTheoryOfLayer(shard->layer), *all = &MuonTheoryOf(muon)->constants;

  PetscFunctionBegin;
  to->up = own->alpha > 0 ? (double)own->alpha : (double)all->alpha;
  if (to->up < 0) PetscCall(MuonTheoryAlpha_Private(muon, shard, shard->up, Theorems[type].dual ? &dual : &frobenius, &to->up));
  MuonTheoryCheck(muon, to->up > 0, "layer \"%s\": the messages of workers, by %s, have no constant of contraction in the norm %s, expected one of: " CONTRACTIVE, name, ((PetscObject)shard->up)->type_name, where);
  to->down = 1;
  if (shard->downlink == MUON_DOWNLINK_STEP) PetscFunctionReturn(PETSC_SUCCESS);
  to->down = own->alpha_server > 0 ? (double)own->alpha_server : (double)all->alpha_server;
  if (to->down < 0) PetscCall(MuonTheoryAlpha_Private(muon, shard, shard->down, norm, &to->down));
  MuonTheoryCheck(muon, to->down == 1 || Theorems[type].servers, "layer \"%s\": its server compresses, by %s, and the theorem assumes that it does not, expected -%sef21_server_compressor identity", name, ((PetscObject)shard->down)->type_name,
                  MuonPrefix(muon));
  MuonTheoryCheck(muon, to->down > 0, "layer \"%s\": the messages of its server, by %s, have no constant of contraction in the norm of its LMO, expected one of: " CONTRACTIVE, name, ((PetscObject)shard->down)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryGetSigns_Private(Muon muon, MuonLayer layer, MuonTheoryLayer *to)
{
  MuonSignsDescendFn *descend;
  const char         *expected;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)muon, "MuonSignsDescend_C", &descend));
  PetscCall((*descend)(muon, layer, &expected, &to->length));
  MuonTheoryCheck(muon, expected == NULL, "layer \"%s\": its steps may ascend for every rate, expected -%s%s", ((PetscObject)layer)->name, MuonPrefix(muon), expected);
  to->up = to->down = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A constant of the layer or the optimizer, or its value for one worker; an error if the theorem needs it and it was not set */
static PetscErrorCode MuonTheoryConstant_Private(Muon muon, MuonLayer layer, const char key[], PetscReal all, PetscReal own, double alone, double *value)
{
  PetscFunctionBegin;
  *value = own >= 0 ? (double)own : all >= 0 ? (double)all : alone;
  MuonTheoryCheck(muon, *value >= 0, "layer \"%s\": the theorem needs -%smuon_theory_%s, or -%smuon_layer_%s_theory_%s", ((PetscObject)layer)->name, MuonPrefix(muon), key, MuonPrefix(muon), ((PetscObject)layer)->name, key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define CONSTANT(key, alone) PetscCall(MuonTheoryConstant_Private(muon, layer, #key, MuonTheoryOf(muon)->constants.key, given != NULL ? given->key : MuonTheoryOfLayer(layer)->key, alone, &to->key))
static PetscErrorCode MuonTheoryGetLayer_Private(Muon muon, const MuonShard *shard, MuonTheory type, const MuonTheoryConstants *given, MuonTheoryLayer *to)
{
  const MuonLayer layer = shard->layer;
  const PetscBool alone = shard->group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonLMO         lmo;
  MuonNorm        norm;
  PetscBool       known;
  PetscReal       factor;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetNorm(lmo, &norm, &known));
  MuonTheoryCheck(muon, known, "layer \"%s\": nothing is known of the norm %s", ((PetscObject)layer)->name, ((PetscObject)lmo)->type_name);
  to->weight = MuonTheoryOfLayer(layer)->eta > 0 ? (double)MuonTheoryOfLayer(layer)->eta : 1;
  if (MuonTheoryOf(muon)->signs) PetscCall(MuonTheoryGetSigns_Private(muon, layer, to));
  else PetscCall(MuonTheoryGetAlphas_Private(muon, shard, &norm, to));
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  MuonNormGetBounds(&norm, (double)layer->m, (double)layer->n, &to->least, &to->most);
  to->least *= (double)factor; /* ||X|| / c is the norm */
  to->most *= (double)factor;
  if (type == MUON_THEORY_SMOOTH || type == MUON_THEORY_SMOOTH_STOCHASTIC) {
    CONSTANT(l, -1);
    CONSTANT(lt, alone || MuonTheoryOf(muon)->signs ? to->l : -1);
    MuonTheoryCheck(muon, to->lt >= to->l, "layer \"%s\": Lt %g is below L %g, which no functions have", ((PetscObject)layer)->name, to->lt, to->l);
  } else {
    CONSTANT(l0, -1);
    CONSTANT(l1, -1);
    CONSTANT(l0b, alone || to->up == 1 ? to->l0 : -1);
    CONSTANT(l1max, alone || to->up == 1 ? to->l1 : -1);
  }
  if (type == MUON_THEORY_SMOOTH_STOCHASTIC || type == MUON_THEORY_L0L1_STOCHASTIC) CONSTANT(sigma, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryReport_Private(Muon muon, const MuonTheoryProblem *p)
{
  const int row      = p->signs ? (int)THEOREM_SIGNS : (int)p->type;
  PetscBool weighted = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFree(MuonTheoryOf(muon)->text));
  PetscCall(MuonTheoryWrite_Private(muon, "theory: %s; K = %g, %g workers\n", Theorems[row].name, Theorems[row].servers ? p->K : p->K - 1, p->J));
  for (PetscInt i = 0; i < p->n; i++) {
    const MuonTheoryLayer     *layer = &p->layer[i];
    const MuonTheoryConstants *own = MuonTheoryOfLayer(muon->shard[i].layer), *all = &MuonTheoryOf(muon)->constants;
    char                       constants[256];

    weighted = weighted || layer->weight != 1 ? PETSC_TRUE : PETSC_FALSE;

    if (p->signs) {
      PetscCall(MuonTheoryWrite_Private(muon, "  layer %s: L %g, sigma %g; rate %g\n", ((PetscObject)muon->shard[i].layer)->name, layer->l, layer->sigma, layer->rate));
      continue;
    }
    if (Theorems[row].servers) PetscCall(PetscSNPrintf(constants, sizeof(constants), "L %g, Lt %g", layer->l, layer->lt));
    else PetscCall(PetscSNPrintf(constants, sizeof(constants), "L0 %g, L1 %g, mean L0 %g, largest L1 %g", layer->l0, layer->l1, layer->l0b, layer->l1max));
    PetscCall(MuonTheoryWrite_Private(muon, "  layer %s: %s, sigma %g, alpha %g%s up, %g%s down, Frobenius norm %g to %g of its norm; %s %g\n", ((PetscObject)muon->shard[i].layer)->name, constants, layer->sigma, layer->up,
                                      own->alpha > 0 || all->alpha > 0 ? " (measured)" : "", layer->down, layer->down < 1 && (own->alpha_server > 0 || all->alpha_server > 0) ? " (measured)" : "", layer->least, layer->most, Theorems[row].step,
                                      layer->rate));
  }
  PetscCall(MuonTheoryWrite_Private(muon, "  beta %g", p->beta));
  if (p->eta >= 0) PetscCall(MuonTheoryWrite_Private(muon, ", eta %g", p->eta));
  if (p->bound >= 0) PetscCall(MuonTheoryWrite_Private(muon, "; %s <= %g, with f(X^0) - f* = %g%s%s\n", Theorems[row].bound, p->bound, p->gap, muon->nshards > 1 ? " and norms added over layers" : "", weighted ? ", each times its own eta" : ""));
  else PetscCall(MuonTheoryWrite_Private(muon, "; the bound needs -%smuon_theory_gap\n", MuonPrefix(muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonTheoryApply_Private(Muon muon, const MuonTheoryConstants given[])
{
  MuonTheoryData   *theory = MuonTheoryOf(muon);
  MuonTheoryProblem p;
  const char       *missing;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&p, sizeof(p)));
  p.signs = theory->signs;
  p.type  = theory->type == MUON_THEORY_AUTO ? (theory->beta >= 0 ? MUON_THEORY_SMOOTH_STOCHASTIC : MUON_THEORY_SMOOTH) : theory->type;
  p.n     = muon->nshards;
  PetscCall(PetscCalloc1(p.n, &p.layer));
  for (PetscInt i = 0; i < p.n; i++) PetscCall(MuonTheoryGetLayer_Private(muon, &muon->shard[i], p.type, given != NULL ? &given[i] : NULL, &p.layer[i]));
  p.J    = (double)muon->shard[0].group->grid->nworkers;
  p.K    = (double)muon->max_steps;
  p.gap  = (double)theory->gap;
  p.eta  = (double)theory->eta;
  p.beta = (double)theory->beta;
  p.h    = theory->h >= 0 ? (double)theory->h : 0;
  for (PetscInt i = 0; i < p.n && Theorems[p.type].servers == PETSC_FALSE; i++)
    MuonTheoryCheck(muon, theory->h >= 0 || p.J == 1 || p.layer[i].up == 1 || p.layer[i].l1max == 0, "the theorem needs -%smuon_theory_h with compressors of %g workers", MuonPrefix(muon), p.J);
  missing = MuonTheorySolve_Private(&p);
  MuonTheoryCheck(muon, missing == NULL, "the theorem needs %s", missing);
  for (PetscInt i = 0; i < muon->nshards; i++) muon->shard[i].layer->given_rate = (PetscReal)p.layer[i].rate;
  PetscCall(MuonParametersPut((PetscObject)muon, "momentum", 1 - p.beta));
  PetscCall(MuonParametersPut((PetscObject)muon, "learning_rate", p.layer[0].rate)); /* that monitors show */
  theory->bound = p.bound < 0 ? PETSC_DETERMINE : (PetscReal)p.bound;
  PetscCall(MuonTheoryReport_Private(muon, &p));
  PetscCall(PetscFree(p.layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryConfigure_Private(Muon muon)
{
  MuonTheoryData     *theory = MuonTheoryOf(muon);
  MuonSignsDescendFn *descend;

  PetscFunctionBegin;
  theory->bound = PETSC_DETERMINE;
  PetscCall(PetscFree(theory->text));
  if (theory->type == MUON_THEORY_NONE || muon->nshards == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < muon->nactive; l++) {
    const char *const slot = MuonLayerHasSlot(muon->active[l], MUON_SLOT_MOVE);

    PetscCheck(slot == NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_layer_%s_%s: the theorem of -%smuon_theory %s is one of steps of the radius, expected none", MuonPrefix(muon), ((PetscObject)muon->active[l])->name, slot,
               MuonPrefix(muon), MuonTheories[theory->type]);
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)muon, "MuonSignsDescend_C", &descend));
  theory->signs = descend != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonTheoryCheckOptions_Private(muon));
  PetscCall(MuonParametersChoose((PetscObject)muon, "step", (double)(MuonTheoryIsSharp_Private(muon) ? MUON_STEP_SHARP : MUON_STEP_LMO)));
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonTheoryCheckLayer_Private(muon, muon->shard[p].layer));
  if (theory->type == MUON_THEORY_AUTO) PetscCall(MuonParametersPut((PetscObject)muon, "momentum", theory->beta >= 0 ? 1 - (double)theory->beta : 0));
  else PetscCall(MuonTheoryApply_Private(muon, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetTheoryBound - Gets a theorem's bound of the gradients of a run

  Not Collective

  Input Parameter:
. muon - the optimizer, after `MuonSetUp()`

  Output Parameter:
. bound - of the mean over the K steps of the square of the dual norm for `MUON_THEORY_SMOOTH` and `MUON_THEORY_SMOOTH_STOCHASTIC`, with `MUONSIGN` of ||grad f||_1 / sqrt(m n), of the
          smallest dual norm for the others; -1 without a theorem, and without `-muon_theory_gap`

  Level: advanced

  Note:
  The dual norm is that of the gradient of the mean function at the servers' weights, in expectation. With several layers
  it is the sum of their dual norms, or of their squares.

.seealso: `Muon`, `MuonTheory`, `MuonGetTheoryEstimate()`, `MuonGetGradientDualNorm()`
@*/
PetscErrorCode MuonGetTheoryBound(Muon muon, PetscReal *bound)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, bound, MuonTheoryOf(muon)->bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheorySchedule_Private(Muon muon, PetscBool *free)
{
  PetscFunctionBegin;
  if (MuonTheoryOf(muon)->type != MUON_THEORY_NONE) *free = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryView_Private(Muon muon, PetscViewer viewer)
{
  const char *text = MuonTheoryOf(muon)->text;

  PetscFunctionBegin;
  if (text != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "%s", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(key, kind, field, ...)                   MUON_ROW(key, kind, MuonTheoryData, field, __VA_ARGS__)
#define FREE(field, value, least, most, flags, help) ROW("theory_" #field, REAL, field, value, least, most, NULL, (flags) | MUON_PARAMETER_FIXED, help)
#define ALL(field, most, flags, help)                ROW("theory_" #field, REAL, constants.field, PETSC_DETERMINE, 0, most, NULL, (flags) | MUON_PARAMETER_AUTO | MUON_PARAMETER_FIXED, help)
#define OWN(field, most, flags, help) \
  { \
    "theory_" #field, MUON_PARAMETER_REAL, offsetof(MuonTheoryConstants, field), PETSC_DETERMINE, 0, most, NULL, (flags) | MUON_PARAMETER_DATA | MUON_PARAMETER_AUTO | MUON_PARAMETER_FIXED | MUON_PARAMETER_HIDDEN, \
      help ", as the optimizer says where not set" \
  }
#define FUNCTION(MACRO, field, help) MACRO(field, MUON_UNBOUNDED, 0, help)
#define MEASURED(MACRO, field, help) MACRO(field, 1, MUON_PARAMETER_ABOVE, help)
#define CONSTANTS(MACRO) \
  FUNCTION(MACRO, l, "Smoothness L of the mean function in the layer's norm"), FUNCTION(MACRO, lt, "Square root of the mean of the squares of the workers' L"), FUNCTION(MACRO, l0, "L0 of the mean function: L0 + L1 ||grad f|| in the place of L"), \
    FUNCTION(MACRO, l1, "L1 of the mean function"), FUNCTION(MACRO, l0b, "Mean of the workers' L0"), FUNCTION(MACRO, l1max, "Largest of the workers' L1"), FUNCTION(MACRO, sigma, "Standard deviation of a worker's gradient, in the Frobenius norm"), \
    MEASURED(MACRO, alpha, "Contraction of the workers' messages that was measured, in the place of their compressor's"), MEASURED(MACRO, alpha_server, "Contraction of the servers' messages that was measured, in the place of their compressor's")

static const MuonParameter MuonTheoryParameters[] = {ROW("theory", ENUM, type, 0, 0, 0, MuonTheories, MUON_PARAMETER_FIXED, "Theorem that step sizes follow from"),
                                                     CONSTANTS(ALL),
                                                     FREE(h, PETSC_DETERMINE, 0, MUON_UNBOUNDED, MUON_PARAMETER_AUTO, "Minimum of f less the mean of those of the workers' functions"),
                                                     FREE(gap, PETSC_DETERMINE, 0, MUON_UNBOUNDED, MUON_PARAMETER_AUTO | MUON_PARAMETER_ABOVE, "Loss at the first weights less its minimum"),
                                                     FREE(eta, PETSC_DETERMINE, 0, MUON_UNBOUNDED, MUON_PARAMETER_AUTO | MUON_PARAMETER_ABOVE, "Factor of the radius, by the bound where not set"),
                                                     FREE(beta, PETSC_DETERMINE, 0, 1, MUON_PARAMETER_AUTO | MUON_PARAMETER_ABOVE, "Weight of a new gradient, by the bound where not set"),
                                                     FREE(safety, 2, 1, MUON_UNBOUNDED, 0, "What estimated constants are multiplied with"),
                                                     ROW("theory_estimate", INT, estimate, 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED, "Of how many steps one estimates smoothness and noise, 0: none"),
                                                     ROW("theory_auto_steps", INT, auto_steps, 10, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED, "Steps after which step sizes follow from estimates"),
                                                     ROW("theory_monitor", BOOL, monitor, 0, 0, 1, NULL, 0, "Print each estimate of smoothness and noise"),
                                                     ROW("theory_csv", TEXT, csv, 0, 0, 0, NULL, MUON_PARAMETER_FIXED | MUON_PARAMETER_LOCAL, "File of the estimates"),
                                                     {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

const MuonParameter MuonTheoryLayerParameters_Private[] = {CONSTANTS(OWN), OWN(eta, MUON_UNBOUNDED, MUON_PARAMETER_ABOVE, "Multiple of the optimizer's eta for the layer's radius"), {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_INTERN PetscErrorCode MuonAddonRegister_Theory(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows      = MuonTheoryParameters;
  ops.size      = sizeof(MuonTheoryData);
  ops.layerrows = MuonTheoryLayerParameters_Private;
  ops.layersize = sizeof(MuonTheoryConstants);
  ops.configure = MuonTheoryConfigure_Private;
  ops.setup     = MuonTheoryEstimateSetUp_Private;
  ops.schedule  = MuonTheorySchedule_Private;
  ops.begin     = MuonTheoryEstimateBegin_Private;
  ops.end       = MuonTheoryEstimateEnd_Private;
  ops.solved    = MuonTheoryEstimateView_Private;
  ops.view      = MuonTheoryView_Private;
  ops.reset     = MuonTheoryReset_Private;
  PetscCall(MuonAddonRegister("theory", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
