static char help[] = "Two runs in one process that must be one: rows A | B | what of them is compared.\n\n"
                     "  Lists of options begin with a space.\n\n"
                     "  -all OPTIONS       of both runs; problem.h says what makes the problem, the others are the optimizer's\n"
                     "  -both OPTIONS      of both, too: what a row adds to its testset\n"
                     "  -each OPTIONS;...  of both runs, one pair of runs for each of these lists\n"
                     "  -a OPTIONS;...     of the first run, one for each of these lists, each compared with the second\n"
                     "  -ways OPTIONS;...  of the first run, too, each with each of -a\n"
                     "  -b OPTIONS         of the second\n"
                     "  -steps N           4 by default\n"
                     "  -later N           the first run takes so many steps more, and is compared with the second that many steps before\n"
                     "  -restart K;...     the first run goes on with a checkpoint after K steps, for each of them: in an optimizer that took K + 1 modulo 3 steps\n"
                     "  -then OPTIONS      of what goes on\n"
                     "  -kept NAMES        what goes on has what was saved, these states among it: weights and servers' state have the same bits, so have workers' of as many\n"
                     "                     workers, else each has the mean, to rounding; without -then each rank has all that it had. As many bits were sent\n"
                     "  -last              weights behind the last step alone are compared\n"
                     "  -own               ranks have weights of their own\n"
                     "  -compare bits      weights after each step have the same bits; rounding: they differ by no more than rounding of the gradients\n"
                     "                     explains; differs: after the last step they differ by more than 1e-4, or nothing was tried; none: there is no second run\n"
                     "  -state             so has the state of workers and servers behind the last step, and each rank or none keeps it\n"
                     "  -mean              servers have the weighted mean of the workers' estimates, to rounding\n"
                     "  -full              each rank gets the whole weights of each layer\n"
                     "  -served            behind the last step servers have the weights of the workers\n"
                     "  -traffic           as many bits were encoded, up and down, by all ranks\n"
                     "  -measures          the dual norm, the agreement of votes and the sizes of updates are the same up to rounding\n"
                     "  -tolerance X       with -compare tolerance: weights differ by no more than X, states of n columns by n X, measures by X of their size\n"
                     "  -reason R          each step ends with this reason and leaves the weights alone\n"
                     "  -products N;...    calls of the device for products in a step of all ranks, of each of -a, and of the second run\n"
                     "  -scratch N         the first run has at most so many bytes of scratch more than the second\n"
                     "  -fetched           the first run fetches all entries from the device in a step, or less where MPI takes its memory\n"
                     "  -counted           MuonTraffic says as many bytes as MPI is handed, in all steps but the first\n"
                     "  -headers N         the first run sends more bytes than the second from each worker and server, at most so many headers of messages in the last step\n"
                     "  -compression       so has what is measured of each layer's compression, behind as many steps; something went up where there are several ranks\n"
                     "  -nans N            so many entries or steps of the first run were left out\n"
                     "  -signs             weights are -0 in both runs or in none\n"
                     "  -bytes W,S         workers and servers of the first run keep so many bytes more than those of the second, on all ranks together\n"
                     "  -memory            servers of the first run keep no more than those of the second\n"
                     "  -sent              messages down of the first run are steps whose bytes and bits follow from the norm\n"
                     "  -owners            on several ranks a layer has another owner, or nothing was tried\n\n";

#include "problem.h"
#include "wire_header.h"
#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonwire.h>
#include <stddef.h>
#include "mpicount.h"

typedef enum {
  BITS,
  ROUNDING,
  DIFFERS,
  TOLERANCE,
  NONE
} Comparison;
static const char *const Comparisons[] = {"bits", "rounding", "differs", "tolerance", "none"};

static const char *const States[] = {"momentum", "estimate", "aggregate", "excess", "weights", "adamw.mean", "adamw.square", "outer.momentum", "outer.estimate", "outer.excess"};

enum {
  STATES = PETSC_STATIC_ARRAY_LENGTH(States),
  LISTS  = 16
};

/* What checkpoints have of the entries of layers */
static const char *const Kepts[] = {"weights.own",
                                    "weights",
                                    "momentum",
                                    "estimate",
                                    "aggregate",
                                    "excess",
                                    "control",
                                    "start",
                                    "adamw.mean",
                                    "adamw.square",
                                    "before.kept[0]",
                                    "after.kept[0]",
                                    "outer.momentum",
                                    "outer.estimate",
                                    "outer.aggregate",
                                    "outer.excess",
                                    "outer.weights",
                                    ".control outer.estimate",
                                    ".control outer.aggregate",
                                    ".control outer.weights"};

enum {
  KEPTS = PETSC_STATIC_ARRAY_LENGTH(Kepts)
};

typedef struct {
  Comparison comparison;
  PetscInt   steps, later, scratch, headers, nans, bytes[2];
  PetscReal  tolerance;
  char       reason[64], kept[64];
  PetscBool  state, served, traffic, owners, own, last, measures, full, fetched, signs, memory, sent, compression, mean, counted;
  char       what[1024]; /* the lists that differ from pair to pair */
} Choices;

/* State of a layer: that of this rank and that of the first rank that keeps one */
typedef struct {
  PetscBool here, there;
  double   *own, *first;
} State;

/* What a run leaves: weights after each step, and the rest behind the last */
typedef struct {
  PetscInt       n, steps;
  size_t         entries, start[PROBLEM_LAYERS + 1]; /* of one step, of each layer */
  const char    *name[PROBLEM_LAYERS];
  PetscInt       columns[PROBLEM_LAYERS];
  double        *weights, eps[PROBLEM_LAYERS], side;
  PetscReal      loss, measures[3];
  PetscInt       products;                /* in the last step */
  PetscLogDouble scratch, server, all[2]; /* all: of workers and servers on all ranks */
  PetscMPIInt    owner[PROBLEM_LAYERS];
  State          state[PROBLEM_LAYERS][STATES];
  PetscLogDouble sent[2];
  MuonTraffic    traffic; /* of the last step */
  PetscInt64     nans;

  MuonEF21Compression compression[PROBLEM_LAYERS];
} Trace;

static PetscErrorCode TakeStates(Problem *p, Trace *trace)
{
  PetscMPIInt rank, size, holder[PROBLEM_LAYERS][STATES];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(p->comm, &rank));
  PetscCallMPI(MPI_Comm_size(p->comm, &size));
  for (PetscInt k = 0; k < p->n; k++) {
    const PetscInt m = p->layer[k].shape->m, n = p->layer[k].shape->n;
    MuonLayerType  type;
    Mat            A;

    PetscCall(MuonLayerGetType(p->layer[k].layer, &type));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &A));
    for (int s = 0; s < STATES; s++) {
      ProblemArray a     = {NULL, PETSC_SCALAR, PETSC_FALSE, 0, m, m, 0, 0, NULL};
      State *const state = &trace->state[k][s];

      PetscCall(PetscCalloc2(m * n, &state->own, m * n, &state->first));
      if (strcmp(type, MUONLAYERFROZEN) != 0) PetscCall(MuonGetLayerState(p->muon, p->layer[k].layer, States[s], A, &state->here));
      PetscCall(ProblemOfMat(A, &a));
      for (PetscInt e = 0; e < m * n && state->here; e++) state->first[e] = state->own[e] = ProblemGet(&a, e / n, e % n);
      holder[k][s] = state->here ? rank : size;
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, holder, (PetscMPIInt)(p->n * STATES), MPI_INT, MPI_MIN, p->comm));
  for (PetscInt k = 0; k < p->n; k++) {
    for (int s = 0; s < STATES; s++) {
      trace->state[k][s].there = holder[k][s] < size ? PETSC_TRUE : PETSC_FALSE;
      if (trace->state[k][s].there) PetscCallMPI(MPI_Bcast(trace->state[k][s].first, (PetscMPIInt)(trace->start[k + 1] - trace->start[k]), MPI_DOUBLE, holder[k][s], p->comm));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of numbers of size 1, that at most six are added */
static PetscErrorCode CheckMean(Problem *p, Trace *trace)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) {
    const State *const G = &trace->state[k][2], *const Gj = &trace->state[k][1];
    double all = ProblemWeight(p, p->rank), sum[64];

    if (G->there == PETSC_FALSE) continue;
    PetscCheck(trace->start[k + 1] - trace->start[k] <= 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is too large", trace->name[k]);
    for (size_t e = 0; e < trace->start[k + 1] - trace->start[k]; e++) sum[e] = Gj->own[e] * all;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, (PetscMPIInt)(trace->start[k + 1] - trace->start[k]), MPI_DOUBLE, MPI_SUM, p->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, p->comm));
    for (size_t e = 0; e < trace->start[k + 1] - trace->start[k]; e++)
      PetscCheck(fabs(G->first[e] - sum[e] / all) <= 200 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: G is %g, the mean of the G_j %g", trace->name[k], G->first[e], sum[e] / all);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckServed(Problem *p, const Trace *trace)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) PetscCall(ProblemCheckRows(p, k, "served", trace->weights + (size_t)(trace->steps - 1) * trace->entries + trace->start[k], 0, "What servers have"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of a server's message about a layer where no row and no column is missing, by the tables of src/wire/README.md, and bits by the paper */
static size_t StepBytes(const ProblemShape *s, const char norm[], PetscLogDouble *paper)
{
  const size_t m = (size_t)s->m, n = (size_t)s->n, places = strcmp(norm, MUONLMOL1) == 0 ? m * n : strcmp(norm, MUONLMOCOLSUM) == 0 ? m : n;
  size_t       w = 0;

  while (((size_t)1 << w) < places) w++;
  if (strcmp(norm, MUONLMONUCLEAR) == 0) {
    *paper = 32. * (double)(1 + m + n);
    return TestMessageBytes(1, sizeof(PetscReal) * (1 + m + n));
  }
  *paper = strcmp(norm, MUONLMOL21) == 0 ? (double)w + 32. * (double)(1 + m) : 32. + (double)w;
  if (strcmp(norm, MUONLMOL1) == 0) return TestMessageBytes(1, 1 + sizeof(PetscReal));
  if (strcmp(norm, MUONLMOL21) == 0) return TestMessageBytes(1, 1 + sizeof(PetscReal) * (1 + m));
  *paper = 32. + (double)(m * n / places) * (double)(1 + w);
  return TestMessageBytes(m * n / places, (m * n / places * (1 + w) + 7) / 8 + sizeof(PetscReal));
}

static PetscErrorCode CheckSent(Problem *p, const MuonTraffic *traffic, const char what[])
{
  PetscLogDouble   bytes = 0, bits = 0, paper;
  MuonExchange     exchange;
  MuonExchangeType type;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  for (PetscInt k = 0; k < p->n && strcmp(type, MUONEXCHANGEREPLICATED) != 0; k++) {
    MuonLMO     lmo;
    MuonLMOType norm;

    PetscCall(MuonLayerGetLMO(p->layer[k].layer, &lmo));
    PetscCall(MuonLMOGetType(lmo, &norm));
    bytes += (PetscLogDouble)StepBytes(p->layer[k].shape, norm, &paper);
    bits += paper;
  }
  PetscCheck(traffic->down[0] == bits && traffic->down[1] == 8 * bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bits down by the paper and %g sent, expected %g and %g", what, traffic->down[0], traffic->down[1], bits, 8 * bytes);
  PetscCheck(bits == 0 ? traffic->down[2] == 0 : traffic->down[2] > 0 && traffic->down[2] < traffic->down[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entropy %g of %g bits", what, traffic->down[2], traffic->down[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TakeTrace(Problem *p, const Choices *choices, PetscBool first, Trace *trace)
{
  PetscBool votes;

  PetscFunctionBegin;
  if (p->routine) PetscCall(MuonGetLoss(p->muon, &trace->loss));
  trace->side = p->side;
  for (PetscInt k = 0; k < p->n; k++) {
    trace->name[k]    = p->layer[k].shape->name;
    trace->columns[k] = p->layer[k].shape->n;
    trace->eps[k]     = ProblemEpsilon(&p->layer[k]);
    PetscCall(MuonLayerGetOwner(p->layer[k].layer, &trace->owner[k]));
  }
  if (choices->state) PetscCall(TakeStates(p, trace));
  if (choices->served) PetscCall(CheckServed(p, trace));
  if (choices->mean) PetscCall(CheckMean(p, trace));
  PetscCall(MuonGetGradientDualNorm(p->muon, &trace->measures[0]));
  PetscCall(PetscObjectTypeCompare((PetscObject)p->muon, MUONSIGN, &votes));
  if (votes) PetscCall(MuonSignGetAgreement(p->muon, &trace->measures[1]));
  for (PetscInt k = 0; k < p->n && choices->measures; k++) {
    PetscReal rms;

    PetscCall(MuonLayerGetUpdateRMS(p->layer[k].layer, &rms));
    trace->measures[2] += rms;
  }
  PetscCall(MuonGetMemory(p->muon, &trace->all[0], &trace->server, &trace->scratch));
  trace->all[1] = trace->server;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, trace->all, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&p->products, &trace->products, 1, MPIU_INT, MPI_SUM, p->comm));
  if (choices->fetched && p->device) {
    PetscBool mpi = PETSC_TRUE;
    double    all = 0;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-muon_device_mpi", &mpi, NULL));
    for (PetscInt k = 0; k < p->n; k++) all += (double)(p->layer[k].shape->m * p->layer[k].shape->n) * (p->layer[k].weights.type == PETSC_FLOAT ? sizeof(float) : sizeof(double));
    PetscCheck((p->fetched >= all) == (mpi == PETSC_FALSE || p->muon->group[0]->exchange->device == PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes came from the device in a step, the layers have %g", choices->what, p->fetched, all);
  }
  PetscCall(MuonGetNaNCount(p->muon, &trace->nans));
  for (PetscInt k = 0; k < p->n && choices->compression; k++) PetscCall(MuonEF21GetLayerCompression(p->muon, p->layer[k].layer, &trace->compression[k]));
  PetscCall(MuonGetTraffic(p->muon, &trace->traffic));
  if (choices->sent && first) PetscCall(CheckSent(p, &trace->traffic, choices->what));
  trace->sent[0] = trace->traffic.total_up[1];
  trace->sent[1] = trace->traffic.total_down[1];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, trace->sent, 2, MPI_DOUBLE, MPI_SUM, p->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every rank of a worker may ask for the whole weights of a layer */
static PetscErrorCode CheckFull(Problem *p, const double weights[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; weights += p->layer[k].shape->m * p->layer[k].shape->n, k++) PetscCall(ProblemCheckRows(p, k, "full", weights, 0, "The whole weights"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static long long Handed;

static void Count(PetscBool after)
{
  if (after) Handed = mpicount.sent + mpicount.reduced;
  else mpicount_reset();
}

/* In the first step PETSc makes gradients, and a debugging PETSc compares arguments */
static PetscErrorCode CheckCounted(Problem *p, const char what[])
{
  MuonTraffic traffic;
  PetscInt    step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  PetscCheck(step < 2 || PetscDefined(USE_DEBUG) || traffic.mpi == (double)Handed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %lld bytes were handed to MPI, %g are said to be", what, Handed, traffic.mpi);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step, which is taken again where a NaN ended it */
static PetscErrorCode TakeStep(Problem *p, const Choices *choices, double weights[])
{
  const PetscInt      bad = p->bad, half = p->half;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemStep(p));
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  if (reason == MUON_DIVERGED_NANORINF && (p->bad != bad || p->half != half)) {
    PetscCall(ProblemStep(p));
    PetscCall(MuonGetConvergedReason(p->muon, &reason));
  }
  if (choices->counted) PetscCall(CheckCounted(p, choices->what));
  PetscCheck(strcmp(MuonConvergedReasons[reason], choices->reason) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, expected %s", choices->what, MuonConvergedReasons[reason], choices->reason);
  PetscCall(ProblemGatherWeights(p, choices->own ? PETSC_COMM_SELF : p->comm, weights));
  if (choices->full) PetscCall(CheckFull(p, weights));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each entry of each state of all workers, -Inf where there is none; what servers have is with the first worker. hash: of all state of this rank, with what is no entry */
typedef struct {
  Problem     *p;
  PetscMPIInt  size;
  PetscInt     workers[PROBLEM_LAYERS], cut[PROBLEM_LAYERS], bases; /* cut: ranks that have rows of a worker's state; bases: that compressors keep of the first layer */
  size_t       first[PROBLEM_LAYERS + 1], entries;                  /* of one state and worker */
  double      *entry, eps[KEPTS];
  unsigned int hash;
  size_t       bytes;
  double       sent[4];
  PetscInt     step;
  PetscInt64   nans;
  PetscBool    weighted;
} Kept;

static double *KeptAt(const Kept *kept, int state, PetscMPIInt worker, PetscInt layer)
{
  return kept->entry + ((size_t)state * (size_t)kept->size + (size_t)worker) * kept->entries + kept->first[layer];
}

static PetscErrorCode KeptVisit(MuonStateVisitor *visitor, const MuonState *state)
{
  Kept        *kept   = (Kept *)visitor->ctx;
  const Muon   muon   = (Muon)visitor->of;
  const size_t length = strcspn(state->layer, "@."); /* "NAME.control" is another layer, of the outer optimizer */
  PetscInt     k = 0, row = 0;
  char         name[64];
  int          s = 0;

  PetscFunctionBegin;
  if (state->scratch) PetscFunctionReturn(PETSC_SUCCESS);
  kept->bytes += state->bytes;
  for (size_t b = 0; b < state->bytes; b++) kept->hash = 16777619U * (kept->hash ^ ((const unsigned char *)state->data)[b]);
  while (k < kept->p->n && (strncmp(kept->p->layer[k].shape->name, state->layer, length) != 0 || kept->p->layer[k].shape->name[length] != '\0')) k++;
  if (k == 0 && strncmp(state->name, "compressor.", 11) == 0 && state->array != NULL) kept->bases++;
  if (state->entrywise == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), state->layer[length] == '.' ? ".control %s" : "%s", state->name));
  while (s < KEPTS && strcmp(Kepts[s], name) != 0) s++;
  PetscCheck(s < KEPTS && k < kept->p->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State %s of layer %s is not known to the test", state->name, state->layer);
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (strcmp(muon->shard[p].name, state->layer) == 0 || strcmp(((PetscObject)muon->shard[p].layer)->name, state->layer) == 0) row = muon->shard[p].row;
  }
  kept->eps[s] = state->array->precision == MUON_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON;
  for (size_t i = 0; i < MuonArrayRows(state->array); i++) {
    for (size_t j = 0; j < MuonArrayColumns(state->array); j++) {
      const MuonArray one = MuonArrayPart(state->array, i, j, 1, 1);

      KeptAt(kept, s, state->holder == MUON_STATE_WORKER ? (PetscMPIInt)(kept->p->rank / kept->p->mean / kept->cut[k]) : 0, k)[((size_t)row + i) * MuonArrayColumns(state->array) + j] =
        one.precision == MUON_SINGLE ? (double)*(const float *)one.data : *(const double *)one.data;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KeptTake(Problem *p, PetscBool own, Kept *kept)
{
  MuonStateVisitor visitor;
  MuonExchange     exchange;
  MuonExchangeType type;
  MuonTraffic      traffic;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(kept, sizeof(*kept)));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  kept->p = p;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &kept->size));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  for (PetscInt k = 0; k < p->n; k++) {
    const PetscInt all = p->size / p->mean, ranks = p->mean == 1 ? p->layer[k].ranks : 1;

    kept->cut[k]       = strcmp(type, MUONEXCHANGEROWS) == 0 ? all : ranks;
    kept->workers[k]   = all / kept->cut[k];
    kept->first[k + 1] = kept->first[k] + (size_t)(p->layer[k].shape->m * p->layer[k].shape->n);
  }
  kept->entries = kept->first[p->n];
  PetscCall(PetscMalloc1(KEPTS * (size_t)kept->size * kept->entries, &kept->entry));
  for (size_t e = 0; e < KEPTS * (size_t)kept->size * kept->entries; e++) kept->entry[e] = -HUGE_VAL;
  visitor.visit = KeptVisit;
  visitor.ctx   = kept;
  PetscCall(MuonVisitState(p->muon, &visitor));
  for (PetscInt k = 0; k < p->n; k++) {
    const ProblemArray *a = &p->layer[k].weights;
    const PetscInt      n = p->layer[k].shape->n;

    for (PetscInt e = 0; e < a->count * n; e++) KeptAt(kept, 0, own ? p->rank / p->mean : 0, k)[a->first * n + e] = ProblemGet(a, e / n, e % n);
  }
  kept->eps[0] = DBL_EPSILON;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, kept->entry, (PetscMPIInt)(KEPTS * (size_t)kept->size * kept->entries), MPI_DOUBLE, MPI_MAX, p->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, kept->eps, KEPTS, MPI_DOUBLE, MPI_MAX, p->comm));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  for (int k = 0; k < 2; k++) {
    kept->sent[k]     = (double)traffic.total_up[k];
    kept->sent[2 + k] = (double)traffic.total_down[k];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, kept->sent, 4, MPI_DOUBLE, MPI_SUM, p->comm));
  PetscCall(MuonGetStepNumber(p->muon, &kept->step));
  PetscCall(MuonGetNaNCount(p->muon, &kept->nans));
  kept->weighted = p->weighted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sum of J numbers of size x has at most J roundings of J x eps, and so has the mean of what was rounded once more each time */
static PetscErrorCode KeptCompare(const Kept *a, const Kept *b, const Choices *choices, PetscBool same)
{
  char names[64];

  PetscFunctionBegin;
  PetscCheck(b->step == a->step && b->nans == a->nans && memcmp(a->sent, b->sent, sizeof(a->sent)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: step %" PetscInt_FMT ", %" PetscInt64_FMT " left out and %g and %g bits up and down, expected %" PetscInt_FMT ", %" PetscInt64_FMT ", %g and %g", choices->what, b->step, b->nans, b->sent[1], b->sent[3], a->step, a->nans, a->sent[1],
             a->sent[3]);
  PetscCheck(same == PETSC_FALSE || (a->hash == b->hash && a->bytes == b->bytes), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: this rank's state is not what it was (%zu and %zu bytes)", choices->what, a->bytes, b->bytes);
  PetscCheck(a->cut[0] == b->cut[0] || b->bases == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " bases of other rows", choices->what, b->bases);
  PetscCall(PetscSNPrintf(names, sizeof(names), "%s,", choices->kept));
  for (int s = 0; s < KEPTS; s++) {
    char *required = strstr(names, Kepts[s]);

    for (PetscInt k = 0; k < b->p->n; k++) {
      const PetscInt from = a->workers[k], to = b->workers[k];

      /* Of servers only the first place is taken, and of one worker no other one */
      const PetscBool worker = KeptAt(from > 1 ? a : b, s, (PetscMPIInt)(from > 1 ? from - 1 : to - 1), k)[0] > -HUGE_VAL ? PETSC_TRUE : PETSC_FALSE;

      for (size_t e = 0; e < b->first[k + 1] - b->first[k]; e++) {
        const PetscBool mean = (from != to || a->weighted != b->weighted) && worker && KeptAt(a, s, 0, k)[e] > -HUGE_VAL ? PETSC_TRUE : PETSC_FALSE;
        double          sum = 0, size = 0, all = 0;

        for (PetscMPIInt w = 0; w < from && mean; w++) {
          const double weight = a->weighted ? 1.0 + w : 1;

          sum += KeptAt(a, s, w, k)[e] * weight;
          size += fabs(KeptAt(a, s, w, k)[e]);
          all += weight;
        }
        sum = mean ? sum / all : 0;
        if (required != NULL && KeptAt(b, s, 0, k)[e] > -HUGE_VAL && KeptAt(b, s, 0, k)[e] != 0) memset(required, ',', strlen(Kepts[s]));
        for (PetscMPIInt w = 0; w < (mean || from == to ? to : 1); w++) {
          const double is = KeptAt(b, s, w, k)[e], was = mean ? sum : KeptAt(a, s, w, k)[e];
          const double rounded = b->eps[s] > a->eps[s] ? (double)(float)was : was;

          PetscCheck(is == rounded || (mean && fabs(is - was) <= 2 * (double)from * a->eps[s] * size), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %zu of %s of layer %s of worker %d is %g, expected %g", choices->what, e, Kepts[s],
                     b->p->layer[k].shape->name, w, is, was);
        }
      }
    }
  }
  PetscCheck(names[strspn(names, ",")] == '\0', PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there is no %s, or it is zero", choices->what, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GoOn(Problem *p, const Choices *choices, PetscInt restart, const char then[], double weights[])
{
  const PetscBool checks = choices->kept[0] != '\0' ? PETSC_TRUE : PETSC_FALSE;
  char            folder[32];
  Kept            was, is;

  PetscFunctionBegin;
  /* Each communicator of the first has a folder, all of the second load that of rank 0 */
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "step%d.%d", (int)restart, (int)(p->rank % p->mean)));
  PetscCall(MuonSaveCheckpoint(p->muon, folder, 1));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "step%d.0", (int)restart));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (checks) PetscCall(KeptTake(p, choices->own, &was));
  PetscCall(ProblemDestroy(p));
  PetscCall(PetscOptionsInsertString(NULL, then));
  PetscCall(ProblemCreate(p, 0, 0));
  for (PetscInt s = 0; s < (restart + 1) % 3; s++) PetscCall(TakeStep(p, choices, weights));
  PetscCall(MuonLoadCheckpoint(p->muon, folder));
  if (checks) {
    PetscCall(KeptTake(p, choices->own, &is));
    PetscCall(KeptCompare(&was, &is, choices, then[0] == '\0' ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(PetscFree(was.entry));
    PetscCall(PetscFree(is.entry));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options behind one another make a run; what it did not read is misspelt, or tests nothing. then is NULL for the second run */
static PetscErrorCode TraceRun(const char *const options[5], const Choices *choices, PetscInt steps, PetscInt restart, const char then[], PetscInt seed, Trace *trace)
{
  PetscOptions database;
  Problem      p;
  char       **names, **values;
  PetscInt     left;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(trace, sizeof(*trace)));
  PetscCall(PetscOptionsCreate(&database));
  PetscCall(PetscOptionsPush(database));
  for (int k = 0; k < 5; k++) PetscCall(PetscOptionsInsertString(NULL, options[k]));
  PetscCall(ProblemCreate(&p, seed < 0 ? 0 : 4, seed));
  if (choices->compression) PetscCall(MuonEF21SetMonitorCompression(p.muon, PETSC_TRUE));
  trace->n     = p.n;
  trace->steps = steps;
  for (PetscInt k = 0; k < p.n; k++) {
    trace->start[k] = trace->entries;
    trace->entries += (size_t)(p.layer[k].shape->m * p.layer[k].shape->n);
  }
  trace->start[p.n] = trace->entries;
  PetscCall(PetscMalloc1((size_t)steps * trace->entries, &trace->weights));
  for (PetscInt s = 0; s < steps; s++) {
    double *const weights = trace->weights + (size_t)s * trace->entries;

    if (s == restart) PetscCall(GoOn(&p, choices, restart, then, weights));
    PetscCall(TakeStep(&p, choices, weights));
    PetscCheck(s == 0 || strcmp(choices->reason, MuonConvergedReasons[MUON_CONVERGED_ITERATING]) == 0 || memcmp(weights, weights - trace->entries, trace->entries * sizeof(*weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: a step that failed left its traces", choices->what);
  }
  PetscCall(TakeTrace(&p, choices, then != NULL ? PETSC_TRUE : PETSC_FALSE, trace));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscOptionsLeftGet(database, &left, &names, &values));
  PetscCheck(left == 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Option -%s was not read", names[0]);
  PetscCall(PetscOptionsLeftRestore(database, &left, &names, &values));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&database));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TraceFree(Trace *trace)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(trace->weights));
  for (PetscInt k = 0; k < trace->n; k++) {
    for (int s = 0; s < STATES; s++) PetscCall(PetscFree2(trace->state[k][s].own, trace->state[k][s].first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of two weights of a layer after any step, and the largest weight; the first run may have had steps before */
static double Difference(const Trace *a, const Trace *b, const Choices *choices, PetscInt layer, double *size)
{
  double most = 0;

  for (PetscInt s = choices->last ? b->steps - 1 : 0; s < b->steps; s++) {
    const double *x = a->weights + (size_t)(s + a->steps - b->steps) * a->entries, *y = b->weights + (size_t)s * b->entries;

    for (size_t e = b->start[layer]; e < b->start[layer + 1]; e++) {
      if (!(fabs(x[e] - y[e]) <= most)) most = fabs(x[e] - y[e]);
      if (size != NULL) *size = PetscMax(*size, fabs(y[e]));
    }
  }
  return most;
}

static PetscBool StatesAgree(const double x[], const double y[], size_t entries, double allowed)
{
  if (memcmp(x, y, entries * sizeof(*x)) == 0) return PETSC_TRUE;
  for (size_t e = 0; e < entries; e++) {
    if (!(fabs(x[e] - y[e]) <= allowed)) return PETSC_FALSE;
  }
  return allowed > 0 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode CompareState(const Trace *a, const Trace *b, PetscReal tolerance, const char what[])
{
  PetscInt kept = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->n; k++) {
    const size_t entries = b->start[k + 1] - b->start[k];
    const double allowed = (double)tolerance * (double)b->columns[k];

    for (int s = 0; s < STATES; s++) {
      const State *x = &a->state[k][s], *y = &b->state[k][s];

      PetscCheck(x->there == y->there, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: layer %s: %s is kept by one run alone", what, b->name[k], States[s]);
      PetscCheck(StatesAgree(x->first, y->first, entries, allowed) && (!x->here || !y->here || StatesAgree(x->own, y->own, entries, allowed)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: layer %s: %s has other bits", what, b->name[k], States[s]);
      kept += y->there ? 1 : 0;
    }
  }
  PetscCheck(kept > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: there is no state", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages are those of layers of their own and a header for each group: in bits of the paper, bits, and the bound of both directions */
static PetscErrorCode CompareMessages(const Trace *a, const Trace *b, const Choices *choices)
{
  PetscFunctionBegin;
  for (int d = 0; d < 2; d++) {
    const PetscLogDouble *x = d ? a->traffic.down : a->traffic.up, *y = d ? b->traffic.down : b->traffic.up;

    PetscCheck(x[0] == y[0] && PetscAbs(x[2] - y[2]) <= 1e-9 * y[2] && x[1] > y[1] && x[1] <= y[1] + 8. * MUON_WIRE_MESSAGE_HEADER_MOST * (double)choices->headers, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: bits %s by the paper, sent and bound: %g %g %g, expected %g, at most %" PetscInt_FMT " headers more than %g, and %g", choices->what, d ? "down" : "up", x[0], x[1], x[2], y[0], choices->headers, y[1], y[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever a step was late: bytes, contraction and lag */
static PetscErrorCode CompareCompression(const Trace *a, const Trace *b, const Choices *choices)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < b->n; k++) {
    MuonEF21Compression late = a->compression[k];

    late.step -= choices->later;
    PetscCheck(late.step == b->compression[k].step && memcmp(late.bound, b->compression[k].bound, sizeof(late) - offsetof(MuonEF21Compression, bound)) == 0 && (size == 1 || late.bytes[0] > 0), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: layer %s in step %" PetscInt_FMT ": %g bytes up, lag %g and %g, expected %g, %g and %g in step %" PetscInt_FMT, choices->what, b->name[k], late.step, (double)late.bytes[0], (double)late.lag_mean[0][0], (double)late.lag_mean[1][0],
               (double)b->compression[k].bytes[0], (double)b->compression[k].lag_mean[0][0], (double)b->compression[k].lag_mean[1][0], b->compression[k].step);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* allowed: of each layer, by rounding */
static PetscErrorCode Compare(const Trace *a, const Trace *b, const Choices *choices, const double allowed[])
{
  const PetscBool equal   = choices->comparison == BITS ? PETSC_TRUE : PETSC_FALSE;
  const PetscReal measure = choices->comparison == TOLERANCE ? choices->tolerance : 1000 * PETSC_MACHINE_EPSILON;
  PetscMPIInt     size;
  PetscBool       differ = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(a->n == b->n && a->entries == b->entries, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The runs have other layers");
  for (PetscInt k = 0; k < b->n; k++) {
    const double most = Difference(a, b, choices, k, NULL);

    PetscCheck(choices->comparison == DIFFERS || most <= (equal ? 0 : allowed[k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: layer %s: weights differ by %g, allowed %g", choices->what, b->name[k], most, equal ? 0.0 : allowed[k]);
    differ = differ || most > 1e-4 ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCheck(choices->comparison != TOLERANCE || a->side <= (double)choices->tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: complex weights are %g off the real ones", choices->what, a->side);
  PetscCheck(choices->signs == PETSC_FALSE || memcmp(a->weights, b->weights, (size_t)b->steps * b->entries * sizeof(*b->weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weights have other signs", choices->what);
  PetscCheck(choices->comparison != DIFFERS || differ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weights do not differ", choices->what);
  /* The loss of each step is one more */
  PetscCheck(PetscAbsReal(a->loss - (PetscReal)choices->later - b->loss) <= 16 * PETSC_MACHINE_EPSILON * b->loss, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: loss %g, expected %g", choices->what, (double)a->loss,
             (double)(b->loss + (PetscReal)choices->later));
  for (int k = 0; k < 3 && choices->measures; k++)
    PetscCheck(PetscAbsReal(a->measures[k] - b->measures[k]) <= measure * PetscAbsReal(b->measures[k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s %g, expected %g", choices->what,
               k == 0   ? "dual norm"
               : k == 1 ? "agreement"
                        : "size of updates",
               (double)a->measures[k], (double)b->measures[k]);
  if (choices->state) PetscCall(CompareState(a, b, choices->tolerance, choices->what));
  for (int d = 0; d < 2 && choices->traffic; d++) PetscCheck(a->sent[d] == b->sent[d], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g bits %s, expected %g", choices->what, a->sent[d], d ? "down" : "up", b->sent[d]);
  PetscCheck(choices->memory == PETSC_FALSE || a->server <= b->server, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: servers keep %g bytes, expected at most %g", choices->what, a->server, b->server);
  for (int k = 0; k < 2 && choices->bytes[0] > 0; k++)
    PetscCheck(a->all[k] == b->all[k] + (double)choices->bytes[k], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s keep %g bytes more, expected %" PetscInt_FMT, choices->what, k ? "servers" : "workers", a->all[k] - b->all[k], choices->bytes[k]);
  if (choices->headers > 0) PetscCall(CompareMessages(a, b, choices));
  if (choices->compression) PetscCall(CompareCompression(a, b, choices));
  PetscCheck(choices->nans < 0 || a->nans == choices->nans, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt64_FMT " entries or steps were left out", choices->what, a->nans);
  PetscCheck(choices->scratch < 0 || a->scratch <= b->scratch + (double)choices->scratch, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes of scratch, expected at most %g", choices->what, a->scratch, b->scratch + (double)choices->scratch);
  differ = PETSC_FALSE;
  for (PetscInt k = 0; k < b->n; k++) differ = differ || a->owner[k] != b->owner[k] ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPIU_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(choices->owners == PETSC_FALSE || size == 1 || differ, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: all layers have the same owners", choices->what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sums run in another order, and what they give is off by a few units of the gradient. How much that changes the weights
   is seen by changing the gradients by four units, three times. The bound is sixteen times the largest effect, and a
   sum of at most 45 numbers is off by less than 16 times 4 units
*/
static PetscErrorCode Allow(const char *const options[5], const Choices *choices, const Trace *b, double allowed[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->n; k++) allowed[k] = 0;
  for (PetscInt seed = 0; seed < 3; seed++) {
    Trace c;

    PetscCall(TraceRun(options, choices, choices->steps, -1, NULL, seed, &c));
    for (PetscInt k = 0; k < b->n; k++) allowed[k] = PetscMax(allowed[k], 16 * Difference(&c, b, choices, k, NULL));
    PetscCall(TraceFree(&c));
  }
  for (PetscInt k = 0; k < b->n; k++) {
    double size = 0;

    (void)Difference(b, b, choices, k, &size);
    allowed[k] += 64 * b->eps[k] * size;
    PetscCheck(allowed[k] <= 1e5 * b->eps[k] * (1 + size), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: the run is too sensitive to be a test: its weights may change by %g", b->name[k], allowed[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lists of options of a key, at least one */
static PetscErrorCode GetLists(const char key[], char text[], size_t length, int *n, char *list[LISTS])
{
  PetscFunctionBegin;
  text[0] = '\0';
  PetscCall(PetscOptionsGetString(NULL, NULL, key, text, length, NULL));
  *n = 0;
  for (char *at = text; at != NULL; (*n)++) {
    PetscCheck(*n < LISTS && strlen(text) + 1 < length, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s is too long", key);
    list[*n] = at;
    at       = strchr(at, ';');
    if (at != NULL) *at++ = '\0';
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetChoices(Choices *choices)
{
  PetscInt comparison = BITS, two = 2;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(choices, sizeof(*choices)));
  choices->steps   = 4;
  choices->scratch = choices->nans = -1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-headers", &choices->headers, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-bytes", choices->bytes, &two, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nans", &choices->nans, NULL));
  PetscCall(PetscStrncpy(choices->reason, MuonConvergedReasons[MUON_CONVERGED_ITERATING], sizeof(choices->reason)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kept", choices->kept, sizeof(choices->kept), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-reason", choices->reason, sizeof(choices->reason), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scratch", &choices->scratch, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &choices->tolerance, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-signs", &choices->signs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &choices->memory, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compression", &choices->compression, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-sent", &choices->sent, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fetched", &choices->fetched, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &choices->steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-later", &choices->later, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-compare", Comparisons, 5, &comparison, NULL));
  choices->comparison = (Comparison)comparison;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-state", &choices->state, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-served", &choices->served, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mean", &choices->mean, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-full", &choices->full, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-counted", &choices->counted, NULL));
  if (choices->counted) {
    ProblemAround = Count;
    PetscCall(PetscCommDuplicate(PETSC_COMM_SELF, &mpicount_ignored, NULL)); /* which decompositions use */
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-traffic", &choices->traffic, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-measures", &choices->measures, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-last", &choices->last, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-own", &choices->own, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-owners", &choices->owners, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char    all[1024], both[1024], each[3072], first[2048], second[1024], way[1024], then[256], restart[64], product[64];
  char   *alls[LISTS], *boths[LISTS], *eachs[LISTS], *as[LISTS], *bs[LISTS], *ways[LISTS], *thens[LISTS], *restarts[LISTS], *products[LISTS];
  int     n, neach, na, nways, nrestarts, nproducts;
  Choices choices;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetChoices(&choices));
  PetscCall(GetLists("-all", all, sizeof(all), &n, alls));
  PetscCall(GetLists("-both", both, sizeof(both), &n, boths));
  PetscCall(GetLists("-each", each, sizeof(each), &neach, eachs));
  PetscCall(GetLists("-a", first, sizeof(first), &na, as));
  PetscCall(GetLists("-b", second, sizeof(second), &n, bs));
  PetscCall(GetLists("-ways", way, sizeof(way), &nways, ways));
  PetscCall(GetLists("-then", then, sizeof(then), &n, thens));
  PetscCall(GetLists("-restart", restart, sizeof(restart), &nrestarts, restarts));
  PetscCall(GetLists("-products", product, sizeof(product), &nproducts, products));
  PetscCheck(product[0] == '\0' || nproducts == na + 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-products has %d numbers for %d runs", nproducts, na + 1);
  for (int k = 0; k < neach; k++) {
    const char *const other[5] = {alls[0], boths[0], eachs[k], bs[0], ""};
    double            allowed[PROBLEM_LAYERS];
    Trace             a, b;

    PetscCall(PetscSNPrintf(choices.what, sizeof(choices.what), "%s | %s", eachs[k], bs[0]));
    PetscCall(PetscMemzero(&b, sizeof(b)));
    if (choices.comparison != NONE) PetscCall(TraceRun(other, &choices, choices.steps, -1, NULL, -1, &b));
    for (PetscInt l = 0; l < b.n; l++) allowed[l] = (double)choices.tolerance;
    if (choices.comparison == ROUNDING) PetscCall(Allow(other, &choices, &b, allowed));
    for (int i = 0; i < na * nways * nrestarts; i++) {
      const char *const one[5] = {alls[0], boths[0], eachs[k], as[i / nrestarts / nways], ways[i / nrestarts % nways]};
      const char *const at     = restarts[i % nrestarts];

      PetscCall(PetscSNPrintf(choices.what, sizeof(choices.what), "%s | %s%s | %s%s%s", one[2], one[3], one[4], bs[0], at[0] != '\0' ? ", restarted at " : "", at));
      PetscCall(TraceRun(one, &choices, choices.steps + choices.later, at[0] != '\0' ? atoi(at) : -1, thens[0], -1, &a));
      if (choices.comparison != NONE) PetscCall(Compare(&a, &b, &choices, allowed));
      PetscCheck(product[0] == '\0' || (a.products == atoi(products[i / nrestarts / nways]) && b.products == atoi(products[na])), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " and %" PetscInt_FMT " calls for products, expected %s and %s",
                 choices.what, a.products, b.products, products[i / nrestarts / nways], products[na]);
      PetscCall(TraceFree(&a));
    }
    PetscCall(TraceFree(&b));
  }
  if (choices.counted) PetscCall(PetscCommDestroy(&mpicount_ignored));
  ProblemAround = NULL;
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # Dense: sums in the order of ranks have the same bits; so have all sums that are exact. The last has more ranks than layers
  testset:
    nsize: {{1 2 3 4 7}}
    args: -steps 10
    table: suffix | args
      dense_gather | -all " -muon_type dense -muon_exchange_mode gather" -a " -muon_exchange_type layerwise; -muon_exchange_type layerwise -muon_exchange_assignment roundrobin; -muon_exchange_type replicated" -b " -muon_exchange_type star"
    testset:
      args: -a " -muon_exchange_type star -muon_exchange_mode gather; -muon_exchange_type layerwise -muon_exchange_mode gather; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_exchange_assignment roundrobin; -muon_exchange_type replicated -muon_exchange_mode gather; -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode reduce -muon_exchange_assignment roundrobin; -muon_exchange_type layerwise -muon_exchange_mode allreduce -muon_exchange_assignment roundrobin; -muon_exchange_type replicated -muon_exchange_mode allreduce"
      table: suffix | args
        dense_exact    | -all " -muon_type dense -problem_curvature 0 -muon_nesterov ema" -b " -muon_exchange_type star -muon_exchange_mode gather"
        dense_rounding | -compare rounding -all " -muon_type dense -problem_layers gain,mat" -b " -muon_exchange_type star -muon_exchange_mode gather"
        dense_worker   | -compare rounding -all " -muon_type dense -muon_momentum_at worker -problem_layers gain,mat" -b " -muon_momentum_at server -muon_exchange_type star -muon_exchange_mode gather"

  # EF21: whoever serves which layer, weights and state have the same bits
  testset:
    nsize: {{1 2 3 4}}
    args: -steps 8 -state -measures -owners -all " -muon_type ef21 -muon_exchange_mode gather" -each " -ef21_init zero; -ef21_init gradient" -a " -muon_exchange_type layerwise; -muon_exchange_type layerwise -muon_exchange_assignment roundrobin; -muon_exchange_type replicated" -b " -muon_exchange_type star"
    table: suffix | args
      ef21_topk     | -both " -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.2 -ef21_server_compressor_values natural"
      ef21_rankk    | -both " -ef21_compressor rankk -ef21_compressor_ratio 0.5 -ef21_compressor_values natural -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values single"
      ef21_natural  | -both " -ef21_compressor natural -ef21_compressor_values single -ef21_server_compressor natural -ef21_server_compressor_values single"
      ef21_up       | -both " -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values bf16 -ef21_server_compressor identity"
      ef21_qsgd     | -both " -ef21_compressor qsgd -ef21_compressor_values single -ef21_server_compressor sign -ef21_server_compressor_values natural"
      ef21_down     | -both " -ef21_compressor identity -ef21_server_compressor topk -ef21_server_compressor_ratio 0.2 -ef21_server_compressor_values native"
      ef21_identity | -both " -ef21_compressor identity -ef21_server_compressor identity"

  # With compressors that keep something each exchange has the same bits, though steps fail before a worker's message, or behind those of all. powersgd keeps two bases more than rankk of each sender, 2 n K numbers:
  # of six layers 72 at a worker, and 16 more at the server of the one with two more columns
  testset:
    args: -all " -muon_type ef21 -ef21_compressor_ratio 0.4 -ef21_server_compressor_ratio 0.4"
    table: suffix | nsize | requires | args
      ef21_bases  | {{1 3}} |        | -steps 6 -state -both " -ef21_compressor powersgd -ef21_compressor_powersgd_sweeps 2 -ef21_server_compressor powersgd -ef21_server_compressor_powersgd_sweeps 3 -muon_layer_tall_ef21_compressor_powersgd_sweeps 4 -muon_layer_tall_ef21_server_compressor_powersgd_oversampling 2" -a " -muon_exchange_type star; -muon_exchange_type layerwise; -muon_exchange_type replicated" -ways " ; -problem_bad 1; -problem_bad 3; -problem_bad 2 -problem_bad_loss" -b " -muon_exchange_type star"
      ef21_bytes  | 3       | double | -compare differs -steps 2 -bytes 1728,704 -each " -muon_exchange_type star; -muon_exchange_type layerwise" -a " -ef21_compressor powersgd -ef21_server_compressor powersgd -muon_layer_tall_ef21_server_compressor_powersgd_oversampling 2" -b " -ef21_compressor rankk -ef21_server_compressor rankk"
      ef21_copies | 3       | double | -compare differs -steps 2 -bytes 1728,2112 -each " -muon_exchange_type replicated" -a " -ef21_compressor powersgd -ef21_server_compressor powersgd -muon_layer_tall_ef21_server_compressor_powersgd_oversampling 2" -b " -ef21_compressor rankk -ef21_server_compressor rankk"

  # EF21 and EF14 without compression are dense; from zero with the momentum of the mean up to the order of sums, in the style sgd, whose momentum is 1/(1-mu) times as large, too
  testset:
    nsize: {{1 2 3 4}}
    args: -steps 12
    testset:
      args: -served -each " -muon_exchange_type star -muon_exchange_mode gather; -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather; -muon_exchange_type layerwise -muon_exchange_mode reduce; -muon_exchange_type replicated -muon_exchange_mode gather; -muon_exchange_type replicated -muon_exchange_mode allreduce"
      table: suffix | args
        ef21_dense | -a " -muon_type ef21" -b " -muon_type dense -muon_momentum_at worker"
        ef14_dense | -all " -muon_nesterov ema" -a " -muon_type ef14" -b " -muon_type dense"
    table: suffix | args
      ef21_zero     | -compare rounding -all " -problem_layers gain" -a " -muon_type dense; -muon_type dense -muon_momentum_style sgd" -b " -muon_type ef21"
      # From the whole first gradient the first step is the same, because it does not depend on the length of the gradient; the later ones are not, there the second gradient has another weight
      ef21_first    | -steps 1 -compare rounding -all " -problem_layers gain -muon_type ef21 -muon_momentum 0.5" -a " -ef21_init gradient" -b " -ef21_init zero"
      ef21_second   | -steps 2 -compare differs -all " -problem_layers gain -muon_type ef21 -muon_momentum 0.5" -a " -ef21_init gradient" -b " -ef21_init zero"
      # Gradients 4 times as large, which no rounding sees; 3 times as large. Without the spectral norm: scaling moves the thresholds of an iterative solver
      ef21_scale    | -all " -problem_layers row,gain,embed -muon_type ef21" -each " -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values single; -ef21_compressor natural -ef21_compressor_values native -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values native; -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values bf16 -ef21_server_compressor identity" -a " -problem_scale 4"
      dense_scale   | -all " -problem_layers row,gain,embed -muon_type dense -muon_exchange_type star" -a " -problem_scale 0.0009765625"
      dense_polar   | -compare rounding -all " -problem_layers square,tall,wide -muon_type dense" -a " -problem_scale 0.0009765625"
      ef21_scale3   | -compare rounding -all " -problem_layers mat -muon_type ef21 -ef21_compressor_ratio 0.5 -ef21_compressor_values native" -each " -ef21_compressor topk; -ef21_compressor rankk" -a " -problem_scale 3"
      # All triples, all of the subspace
      ef21_triples  | -compare rounding -all " -problem_layers mat -muon_type ef21" -a " -ef21_compressor rankk -ef21_compressor_ratio 1 -ef21_compressor_values native"
      ef14_subspace | -compare rounding -all " -problem_layers mat" -a " -muon_type ef14 -ef14_compressor powersgd -ef14_compressor_ratio 1 -ef14_compressor_values native" -b " -muon_type dense"
    # All have the data of the first against one worker: the mean of equal numbers is exact but for three, where only what moves smoothly can be compared
    testset:
      table: suffix | nsize | args
        ef21_equal  | {{1 2 4}} | -all " -problem_same -muon_type ef21" -each " -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values native -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values single; -ef21_compressor topk -ef21_compressor_ratio 0.5 -ef21_compressor_values bf16 -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values single; -ef21_compressor rankk -ef21_compressor_ratio 0.5 -ef21_compressor_values native -ef21_server_compressor identity" -b " -problem_mean 0"
        ef21_equal3 | 3         | -compare rounding -all " -problem_same -problem_layers gain -muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.5 -ef21_compressor_values native" -b " -problem_mean 0"
    # Top-K of all entries is the identity where G + (M - G) is not rounded: weights and radius on a grid, momentum 1/2, whose powers fit in the mantissa, as many steps as bits are left, a norm whose step is exact
    testset:
      requires: double
      table: suffix | nsize | args
        ef21_entries | {{1 2 4}} | -steps 30 -all " -problem_layers embed -problem_noise 0 -muon_type ef21 -muon_learning_rate 0.015625 -muon_momentum 0.5" -a " -ef21_compressor topk -ef21_compressor_ratio 1 -ef21_compressor_values native -ef21_server_compressor topk -ef21_server_compressor_ratio 1 -ef21_server_compressor_values native"

  # A step that begins sums early is the step that does not: on all ranks, in another order on one, without a layer on one; a layer that is ready twice on one rank is an error on all, after which the
  # optimizer goes on as if there had been no such step. Two layers have one shape, whose sums could be taken for each other's
  testset:
    nsize: 3
    args: -steps 3 -each " -problem_layers tall,twin,embed,wide -problem_routine 1; -problem_layers tall,twin,embed,wide -problem_routine 0"
    testset:
      args: -a " -problem_ready backward; -problem_ready reversed; -problem_ready missing; -problem_ready twice"
      table: suffix | args
        ready_dense      | -all " -muon_type dense -muon_momentum_at server -muon_exchange_type layerwise -muon_exchange_mode {{allreduce reduce}}"
        ready_clip       | -all " -muon_type dense -muon_momentum_at server -muon_clip 1 -muon_clip_layers all -muon_exchange_type layerwise -muon_exchange_mode reduce"
        ready_replicated | -all " -muon_type dense -muon_momentum_at server -muon_exchange_mode allreduce -muon_exchange_type replicated -muon_nan {{stop zero}}"
        ready_rows       | -all " -muon_type dense -muon_exchange_type rows"
        ready_whole      | -all " -problem_ranks 0 -problem_whole -lmo_type spectral -muon_type {{dense ef21 sign}}"
    testset:
      args: -a " -problem_ready backward; -problem_ready reversed; -problem_ready missing"
      table: suffix | args
        ready_star | -all " -muon_type {{dense ef21}} -muon_exchange_type star"
        ready_sign | -all " -muon_type sign -lmo_type spectral"

  # Arrays by columns have the weights of arrays by rows where steps have the bits of their entries, whatever the order of sums, and compressors do not draw. The decay tells entries apart that steps of one
  # size would make ties of, which are broken in the order of memory
  testset:
    nsize: {{1 2}}
    args: -all " -problem_layers tall,wide,square,one -problem_single {{0 1}} -muon_shape_factor none"
    testset:
      args: -a " -problem_storage columns" -b " -problem_storage rows"
      table: suffix | args
        order_dense    | -both " -muon_type dense -muon_weight_decay 0.1" -each " -muon_shape_factor kj -lmo_type max; -lmo_type l1; -muon_shape_factor kj -lmo_type rowsum; -muon_shape_factor moonlight -lmo_type colsum; -muon_shape_factor scion -lmo_type max -muon_layer_tall_blocks_rows 4,5 -muon_layer_wide_blocks_columns 4,5 -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5; -muon_shape_factor kj -lmo_type colsum -muon_layer_tall_blocks_rows 4,5 -muon_layer_wide_blocks_columns 4,5 -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5"
        order_step     | -both " -muon_type ef21 -ef21_downlink step" -each " -lmo_type rowsum; -lmo_type colsum -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5; -lmo_type l1"
        order_messages | -both " -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4" -each " -ef21_compressor identity -ef21_server_compressor nearest; -ef21_compressor topk -ef21_compressor_values native -ef21_server_compressor topk; -ef21_compressor topk -ef21_compressor_values bf16 -ef21_server_compressor truncated -muon_layer_tall_blocks_rows 4,5 -muon_layer_square_blocks_columns 1,5; -ef21_compressor columntopk -ef21_server_compressor rowtopk; -ef21_compressor rowtopk -ef21_compressor_line_norm inf -ef21_server_compressor columntopk -ef21_server_compressor_line_norm 1 -muon_layer_wide_blocks_columns 4,5; -ef21_compressor nearest -ef21_server_compressor bf16; -ef21_compressor truncated -ef21_server_compressor damping; -ef21_compressor bf16 -ef21_server_compressor identity; -ef21_compressor damping -ef21_server_compressor topk -ef21_init gradient; -ef21_compressor dropout -ef21_server_compressor identity"
      # The rest to rounding
      testset:
        args: -compare rounding
        table: suffix | args
          order_dense_rounding    | -both " -muon_type dense -muon_weight_decay 0.1" -each " -muon_shape_factor kj -lmo_type spectral -lmo_polar_type svd; -muon_shape_factor kj -lmo_type spectral -lmo_polar_type newtonschulz -lmo_polar_precision double; -muon_shape_factor moonlight -lmo_type spectral -lmo_polar_type gram -lmo_polar_precision double -muon_layer_tall_blocks_rows 4,5; -lmo_type nuclear; -lmo_type schatten -lmo_schatten_exponent 3; -lmo_type frobenius; -muon_shape_factor scion -lmo_type column; -muon_shape_factor scion -lmo_type row; -lmo_type l21; -lmo_type mixed -lmo_mixed_exponent_p 3 -lmo_mixed_exponent_q 4"
          order_messages_rounding | -both " -muon_type ef21" -each " -ef21_downlink step -lmo_type nuclear; -ef21_downlink step -lmo_type l21; -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native; -lmo_type frobenius -ef21_compressor topsvd -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_server_compressor rankk -ef21_server_compressor_values native; -lmo_type frobenius -ef21_compressor sign"
    # A matrix by rows is its transpose by columns, with what knows rows and columns exchanged
    testset:
      table: suffix | args
        transposed          | -each " -muon_type dense -muon_weight_decay 0.1 -lmo_type max; -muon_type dense -muon_weight_decay 0.1 -lmo_type l1; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4 -ef21_compressor topk -ef21_server_compressor topk; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor natural; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4 -ef21_compressor randk -ef21_compressor_values natural -ef21_server_compressor randk; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor qsgd -ef21_compressor_qsgd_block_length 16 -ef21_server_compressor sign; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor sign -ef21_server_compressor qsgd -ef21_server_compressor_qsgd_block_norm l2; -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor natural -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.4" -a " -problem_storage transposed" -b " -problem_storage rows"
        transposed_sums     | -each " -muon_type dense -muon_weight_decay 0.1; -muon_type ef21 -ef21_downlink step" -a " -problem_storage transposed -lmo_type rowsum" -b " -problem_storage rows -lmo_type colsum"
        transposed_lines    | -both " -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4" -a " -problem_storage transposed -ef21_compressor columntopk -ef21_server_compressor rowtopk -ef21_server_compressor_line_norm 3" -b " -problem_storage rows -ef21_compressor rowtopk -ef21_server_compressor columntopk -ef21_server_compressor_line_norm 3"
        transposed_damping  | -both " -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4" -a " -problem_storage transposed -ef21_compressor rowtopk -ef21_compressor_values natural -ef21_server_compressor damping" -b " -problem_storage rows -ef21_compressor columntopk -ef21_compressor_values natural -ef21_server_compressor damping"
        transposed_blocks   | -both " -muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor natural" -a " -problem_storage transposed -muon_layer_tall_blocks_columns 4,5 -muon_layer_square_blocks_rows 1,5" -b " -problem_storage rows -muon_layer_tall_blocks_rows 4,5 -muon_layer_square_blocks_columns 1,5"
        transposed_rounding | -compare rounding -each " -muon_type dense -muon_weight_decay 0.1 -lmo_type frobenius; -muon_type dense -muon_weight_decay 0.1 -lmo_type spectral -lmo_polar_type svd; -muon_type ef21 -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native" -a " -problem_storage transposed" -b " -problem_storage rows"
        transposed_row      | -compare rounding -both " -muon_type dense -muon_weight_decay 0.1" -a " -problem_storage transposed -lmo_type column" -b " -problem_storage rows -lmo_type row"

  # Slices of one vector are matrices, whichever ranks have which entries: sums run over the same numbers in one order. Only layers that are all on
  # one rank send the same messages
  testset:
    args: -full -all " -problem_layers tall,slab,gain,square,embed,entry -muon_layer_embed_type adamw -muon_learning_rate 0.125"
    testset:
      args: -each " -muon_type dense -muon_exchange_mode gather -muon_assembly allgather -muon_nesterov ema; -muon_type dense -muon_exchange_mode gather -muon_exchange_type replicated -muon_weight_decay 0.1; -muon_type ef21 -muon_assembly owner -muon_layer_slab_lmo_type nuclear; -muon_type sign -lmo_type spectral -sign_direction polar -muon_assembly owner; -muon_type sign -lmo_type spectral -sign_update spectral -muon_assembly allgather; -muon_type sign -lmo_type spectral -sign_update polar -muon_assembly owner -sign_direction momentum"
      table: suffix | nsize | args
        slices     | {{1 3 4}} | -a " -problem_storage slices"
        slices_two | 4         | -both " -problem_ranks 2" -a " -problem_storage slices" -b " -problem_mean 2"
        slices_all | {{3 4}}   | -both " -problem_ranks 0" -a " -problem_storage slices" -b " -problem_mean 0"
    table: suffix | nsize | args
      slices_topk | {{1 3 4}} | -a " -problem_storage slices" -both " -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5"
    # A checkpoint of either is one of the other: a range of entries is rectangles of its matrix
    testset:
      args: -restart 2 -each " -muon_type dense -muon_exchange_mode gather -muon_assembly allgather -muon_nesterov ema; -muon_type ef21 -muon_assembly owner -muon_layer_slab_lmo_type nuclear"
      table: suffix | nsize | args
        slices_to_two   | 4         | -both " -problem_ranks 2" -a " -problem_storage slices" -then " -problem_storage mat -problem_mean 2"
        slices_from_two | 4         | -both " -problem_ranks 2" -a " -problem_mean 2" -then " -problem_storage slices -problem_mean 1" -b " -problem_mean 2"
        slices_to       | {{1 3 4}} | -both " -problem_ranks {{1 0}}" -a " -problem_storage slices" -then " -problem_storage mat"
        slices_from     | {{1 3 4}} | -both " -problem_ranks {{1 0}}" -then " -problem_storage slices"

  # A layer that is cut into blocks takes the steps of a layer for each block
  testset:
    nsize: {{1 2 3}}
    args: -steps 8 -measures -all " -problem_layers grid,heads,square,gain,table -problem_storage columns -muon_layer_grid_blocks_rows 4,5,3 -muon_layer_grid_blocks_columns 4,2 -muon_layer_heads_blocks_rows 2,2,2,2 -muon_layer_gain_blocks_rows 4,7 -muon_layer_table_blocks_rows 2,4 -muon_shape_factor kj -muon_weight_decay 0.1 -muon_learning_rate 0.1 -muon_seed 5" -b " -problem_apart"
    table: suffix | args
      blocks_topk     | -both " -problem_unseen -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values natural -ef21_compressor_paper_index_bits 26 -ef21_server_compressor_paper_index_bits 26" -each " -muon_exchange_type star; -muon_exchange_type layerwise; -muon_exchange_type replicated"
      blocks_natural  | -both " -ef21_compressor natural -ef21_server_compressor natural" -each " -lmo_type max; -lmo_type row; -lmo_type column"
      blocks_rankk    | -both " -ef21_compressor rankk -ef21_compressor_ratio 0.5 -ef21_server_compressor topk -lmo_type frobenius" -each " -ef21_init zero; -ef21_init gradient"
      blocks_dense    | -both " -muon_type dense -muon_nesterov ema" -each " -lmo_type spectral -muon_exchange_type layerwise; -lmo_type spectral -muon_exchange_type replicated; -lmo_type max -muon_exchange_type layerwise; -lmo_type max -muon_exchange_type replicated"
      # Where sums over a block are in another order
      blocks_sphere   | -compare tolerance -tolerance 5.7e-14 -both " -muon_type dense -muon_weight_decay 0 -muon_layer_hyperball" -each " -muon_layer_after none; -muon_layer_after frobenius"
      blocks_slots    | -both " -ef21_compressor topk -muon_layer_after normuon_long,lines_columns -muon_layer_before_beta {{0 0.9}}" -each " -muon_layer_before rows; -muon_layer_before columns; -muon_layer_before entries"
      blocks_downlink | -both " -ef21_compressor topk -ef21_compressor_values double -ef21_downlink step" -each " -lmo_type nuclear; -lmo_type l1; -lmo_type l21; -lmo_type rowsum; -lmo_type colsum" -a " -muon_layer_table_ef21_server_compressor topk -muon_layer_table_ef21_downlink weights" -b " -problem_apart -muon_layer_table.0_ef21_server_compressor topk -muon_layer_table.1_ef21_server_compressor topk -muon_layer_table.0_ef21_downlink weights -muon_layer_table.1_ef21_downlink weights"
      # Keys of one layer are those of all its blocks; scion has a factor for each of these norms
      blocks_keys     | -a " -muon_layer_grid_ef21_compressor topk" -b " -problem_apart -muon_layer_grid.0_ef21_compressor topk -muon_layer_grid.1_ef21_compressor topk -muon_layer_grid.2_ef21_compressor topk -muon_layer_grid.3_ef21_compressor topk -muon_layer_grid.4_ef21_compressor topk -muon_layer_grid.5_ef21_compressor topk" -both " -muon_shape_factor moonlight"
      blocks_scion    | -both " -muon_shape_factor scion -ef21_compressor topk" -each " -lmo_type spectral; -lmo_type max; -lmo_type row; -lmo_type column"
      # Four layers are groups
      blocks_headers  | -headers 4 -both " -muon_count_entropy -ef21_compressor topk -ef21_server_compressor natural -muon_exchange_type star"

  # Steps as messages give the weights of -ef21_server_compressor identity, without a matrix of the server's
  testset:
    nsize: {{1 2 3 4}}
    args: -steps 5 -state -memory -signs -measures -all " -problem_layers square,tall,wide,row,gain,embed,entry -muon_type ef21 -muon_count_entropy -muon_layer_wide_scale 1.5 -muon_layer_row_weight_decay 0.3" -a " -ef21_downlink step"
    table: suffix | args
      downlink        | -sent -counted -both " -muon_exchange_mode gather -muon_learning_rate 0.03 -muon_weight_decay 0.1 -muon_exchange_type {{star layerwise replicated}}" -each " -lmo_type nuclear; -lmo_type l1; -lmo_type l21; -lmo_type rowsum; -lmo_type colsum"
      downlink_sums   | -sent -counted -both " -muon_learning_rate 0.03" -each " -lmo_type nuclear -muon_exchange_type star -muon_exchange_mode reduce; -lmo_type rowsum -muon_exchange_type layerwise -muon_exchange_mode reduce; -lmo_type l21 -muon_exchange_type replicated -muon_exchange_mode allreduce"
      downlink_zeros  | -both " -problem_zeros -problem_noise 0 -muon_learning_rate 0.25 -muon_exchange_mode gather" -each " -lmo_type nuclear -muon_exchange_type star; -lmo_type colsum -muon_exchange_type layerwise; -lmo_type l1 -muon_exchange_type replicated; -lmo_type l21 -muon_exchange_type star; -lmo_type rowsum -muon_exchange_type layerwise"
      downlink_blocks | -both " -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 3,3 -lmo_type nuclear"
    # A layer sends a difference, so that nothing is computed directly where every rank serves
    testset:
      args: -a " -ef21_downlink step -muon_layer_square_ef21_downlink weights" -each " -lmo_type rowsum -muon_exchange_type star; -lmo_type l21 -muon_exchange_type layerwise; -lmo_type nuclear -muon_exchange_type replicated"
      table: suffix | args
        downlink_mixed | -both " -ef21_compressor topk -ef21_compressor_ratio 0.4 -muon_layer_square_ef21_server_compressor topk -muon_weight_decay 0.1 -muon_learning_rate 1"
        downlink_none  | -both " -ef21_compressor topk -ef21_compressor_ratio 0.4 -muon_layer_square_ef21_server_compressor topk -muon_weight_decay 0.5 -muon_learning_rate 0.25 -problem_zeros -problem_noise 0"

  # Rows that are spread over the ranks of a worker are compressed as layers of their own, by a norm that sees each entry alone and without random
  # numbers
  testset:
    args: -all " -problem_layers tall,embed,blocks -problem_storage rows -problem_routine 0 -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -lmo_type max -muon_learning_rate 0.1" -b " -problem_alone" -each " -muon_exchange_type star -ef21_server_compressor columntopk; -muon_exchange_type layerwise -ef21_server_compressor columntopk; -muon_exchange_type replicated -ef21_server_compressor columntopk; -ef21_server_compressor rankk -ef21_compressor_values single"
    table: suffix | nsize | args
      shards     | {{2 3 4}} | -both " -problem_ranks 0"
      shards_two | {{4 6}}   | -both " -problem_ranks 2"
  # NaN on one of them ends the step everywhere, or the step or the entry of the mean is left out, as if it were zero on all ranks of the worker. A
  # routine that fails when gradients were ready leaves nothing behind
  testset:
    args: -all " -problem_layers tall -problem_ranks {{0 1}}"
    table: suffix | nsize | args
      shards_nan   | {{2 3 4}} | -a " -problem_bad 1" -both " -muon_type ef21 -ef21_compressor topk -ef21_server_compressor columntopk"
      shards_skip  | {{2 3 4}} | -nans 1 -a " -problem_ready backward" -both " -problem_whole -muon_type dense -muon_nan skip -problem_bad 1" -each "; -muon_state_precision single"
      shards_zero  | {{2 3 4}} | -nans 1 -a " -problem_ready backward -muon_nan zero" -b " -problem_bad_zero" -both " -problem_whole -muon_type dense -problem_bad 1" -each "; -muon_state_precision single"
      shards_fails | {{2 3 4}} | -a " -problem_ready backward -problem_fails 1; -problem_ready backward -problem_fails 2" -both " -problem_whole -muon_type dense"

  # Layers in the memory of a device are those on the host. Of three layers one has more entries than a block of sums has, one an odd shape, one a
  # column; with gaps and without, in both orders and precisions
  testset:
    requires: kokkos
    testset:
      args: -steps 3 -state -all " -problem_layers broad,grand,shift -problem_storage both -problem_routine 0 -muon_learning_rate 0.1" -a " -problem_device"
      table: suffix | nsize | args
        device_compressors | 2 | -both " -lmo_type frobenius -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values native" -each " -ef21_compressor identity; -ef21_compressor topk; -ef21_compressor natural; -ef21_compressor nearest; -ef21_compressor sign; -ef21_compressor randk; -ef21_compressor qsgd; -ef21_compressor damping; -ef21_compressor dropout; -ef21_compressor rowtopk"
        # Points of the ball, which are written and read on the host
        device_downlink | 2 | -both " -ef21_compressor topk -ef21_downlink step -muon_layer_shift_ef21_downlink weights" -each " -lmo_type l1 -muon_measure_update_rms; -lmo_type l21; -lmo_type rowsum; -lmo_type colsum; -lmo_type rowsum -muon_weight_decay 0.1 -muon_weight_decay_style cautious"
        # Sums by MPI, replicas that compare what they computed, momentum at the server, entries of both signs of Cautious
        device_dense    | 2 | -both " -muon_type dense -muon_exchange_type replicated -muon_weight_decay 0.1 -muon_weight_decay_style cautious -muon_nesterov ema" -each " -lmo_type frobenius; -lmo_type row; -lmo_type rowsum; -lmo_type l21; -lmo_type mixed"
        # As on a device whose memory MPI does not take
        device_staged   | 2 | -fetched -a " -problem_device -muon_device_mpi false; -problem_device" -both " -muon_type dense -lmo_type row -muon_exchange_type layerwise" -each " -muon_exchange_mode reduce; -muon_exchange_mode allreduce"
        device_owners   | 2 | -both " -muon_type dense -lmo_type column -muon_exchange_type layerwise -muon_state_precision single -muon_nan zero -muon_clip 1" -each " -muon_exchange_mode reduce; -muon_exchange_mode gather"
        # Votes by packed bits, in a row in which a layer need not begin at a byte; two workers tie
        device_sign     | 2 | -both " -muon_type sign -lmo_type spectral -muon_weight_decay 0.1 -sign_measure -sign_direction {{momentum gradient}} -sign_tie {{zero random}}" -each " -sign_update none; -sign_update frobenius; -sign_update spectral"
        device_counts   | 3 | -both " -problem_curvature 0 -muon_type sign -lmo_type spectral -sign_direction adam -muon_exchange_type star" -each " -muon_exchange_mode reduce; -muon_exchange_mode gather"
        # Factors of rank 3 and 1, whose state goes on from a checkpoint. They are off by 8 (m + n) K roundings times the condition of what is made
        # orthonormal, here below 10: 1.3e-3 of steps of length 0.1
        device_factors  | 2 | -compare tolerance -tolerance 2e-4 -restart 2 -both " -problem_curvature 0 -lmo_type frobenius -ef21_server_compressor_rank 3" -each " -ef21_compressor powersgd -ef21_server_compressor powersgd; -ef21_compressor rankk -ef21_compressor_rankk_method range -ef21_server_compressor rankk -ef21_server_compressor_rankk_method range"
        # Products in another order: a step of length 0.1 after six of Newton and Schulz, whose rounding the polynomials of kj amplify by less than
        # 3.5^5 = 525 units of the sums of up to 70 products
        device_polar    |   | -compare tolerance -tolerance 1e-6 -both " -problem_curvature 0 -lmo_polar_precision double -lmo_type spectral" -each " -muon_type sign -sign_direction polar -sign_update none -lmo_polar_type newtonschulz; -muon_type sign -sign_direction polar -sign_update polar -lmo_polar_type newtonschulz; -ef21_compressor identity -lmo_polar_type newtonschulz -muon_check_device; -ef21_compressor identity -lmo_polar_type gram -muon_check_device"

    # Matrices, by stand-ins that answer as those of CUDA do; the gradient is in the layer's matrix, or in the caller's. One of four ranks has no row of the last
    testset:
      args: -steps 3 -all " -problem_layers tall,wide,entry -muon_learning_rate 0.1 -lmo_type frobenius" -a " -problem_device; -problem_device -problem_own"
      table: suffix | nsize | args
        device_mat_ef21   | 2 | -restart 2 -state -both " -ef21_compressor topk -ef21_server_compressor topk"
        device_mat_dense  | 2 | -both " -muon_type dense" -each " -muon_nan zero -muon_weight_decay 0.1 -muon_weight_decay_style coupled; -muon_exchange_mode reduce; -muon_exchange_type rows"
        # Rows on the ranks of two workers, or of one
        device_mat_spread | 4 | -restart 2 -both " -problem_ranks 2 -ef21_compressor topk -ef21_server_compressor topk" -each " -muon_assembly allgather; -muon_assembly owner; -muon_assembly gram"
        device_mat_slices | 4 | -both " -problem_ranks 0 -muon_type dense -muon_assembly gram" -each " -lmo_type row; -lmo_type column; -lmo_type rowsum"
        # Gradients of all rows on every rank, of which the sum begins in the callback, or in the step
        device_mat_summed | 4 | -a " -problem_device -problem_own" -both " -problem_ranks 2 -muon_type dense -problem_whole" -each "; -problem_ready backward"
        device_mat_votes  | 4 | -both " -problem_ranks 2 -muon_type sign -lmo_type spectral -sign_direction momentum -muon_assembly allgather" -each " -sign_update none; -sign_update frobenius; -sign_update spectral"
        # Products in another order. A decomposition takes over where the rank is not full; where PetscScalar is single, so is the decomposition
        device_mat_panel  | 4 | -compare tolerance -tolerance 1e-6 -both " -problem_ranks 0 -problem_curvature 0 -muon_type dense -muon_assembly gram -lmo_type spectral -lmo_polar_precision double" -each " -lmo_polar_type newtonschulz; -lmo_polar_type gram; -lmo_polar_type qdwh; -lmo_polar_type zolotarev; -lmo_polar_type qdwh -problem_zeros"
        device_mat_whole  | 4 | -compare tolerance -tolerance 1e-6 -both " -problem_ranks 2 -problem_curvature 0 -lmo_type spectral -lmo_polar_precision double" -each " -lmo_polar_type svd -muon_assembly owner -muon_assembly_precision bf16; -muon_type sign -sign_update polar -lmo_polar_type newtonschulz -muon_assembly allgather"

    # Nine matrices, three of them blocks, that are moved together, on the host and one by one: three products in each of five steps
    testset:
      args: -steps 3 -compare tolerance -tolerance 1e-6 -measures -all " -problem_layers a,b,shift,qkv,d,c,short,e -problem_storage both -problem_curvature 0 -muon_learning_rate 0.1 -muon_layer_qkv_blocks_rows 8,8,8 -lmo_polar_precision double" -a " -problem_device; " -b " -problem_device -muon_device_batch_bytes 0"
      table: suffix | nsize | args
        batch_together |   | -products 15;0;135 -both " -ef21_compressor identity -lmo_polar_type newtonschulz -muon_measure_update_rms -muon_weight_decay 0.1"
        # A sum and new weights of 8 x 40 have 2560 bytes, two panels and two squares in double 6144: two runs, a to qkv and the rest, with five and
        # four matrices in batches of at most two. Slots begin at
        # multiples of 256 bytes
        batch_bound    |   | -products 75;135 -scratch 29696 -both " -muon_type dense -muon_exchange_mode gather -lmo_polar_type newtonschulz" -a " -problem_device -muon_device_batch_bytes 12800"
        # The restart after two of five steps: 18 products
        batch_gram     |   | -products 18;0;162 -both " -ef21_compressor topk -ef21_compressor_ratio 0.5 -lmo_polar_type gram -lmo_polar_gram_restart 2"
        # Sums and new weights are scratch at the one rank that serves, then kept
        batch_scratch  | 2 | -products 15;0;135 -both " -muon_type dense -muon_exchange_type star -muon_exchange_mode gather -lmo_polar_type newtonschulz"
        batch_sums     | 2 | -products 15;0;135 -both " -muon_type dense -muon_exchange_type star -muon_exchange_mode reduce -muon_clip 1 -lmo_polar_type newtonschulz -muon_nesterov ema"
        # What differs in its choices is no part of the batch
        batch_choices  |   | -products 57;0;132 -both " -muon_type dense -lmo_polar_type newtonschulz -muon_layer_c_lmo_polar_steps 4 -muon_layer_d_lmo_polar_coefficients cubic -muon_layer_e_lmo_type frobenius"
        # What is single in memory and double in the weights goes by itself
        batch_mixed    |   | -products 30;0;135 -both " -muon_type dense -muon_state_precision single -lmo_polar_type newtonschulz"
        # Votes with the signs of the factors
        batch_votes    | 2 | -products 30;0;270 -both " -muon_type sign -lmo_polar_type newtonschulz -sign_tie zero"
        batch_few      |   | -products 75;135 -scratch 29696 -both " -muon_type sign -lmo_polar_type newtonschulz" -a " -problem_device -muon_device_batch_bytes 12800"
        # What has no batches
        batch_single   |   | -both " -muon_type dense" -each " -lmo_polar_type qdwh; -lmo_polar_type zolotarev; -lmo_polar_type mud"
        # A layer that has no step, and all that diverge, the first of which ends the work one by one, leave everything as it was on all ranks
        batch_nan      | 2 | -products 30;0;135 -both " -problem_bad 2 -problem_bad_layer 4 -muon_type dense -muon_exchange_type layerwise -muon_exchange_mode gather -lmo_polar_type newtonschulz"
        batch_diverge  |   | -products 10;0;10 -reason DIVERGED_LMO -both " -muon_type dense -lmo_polar_type newtonschulz -lmo_polar_coefficient_values 10,0,0 -lmo_polar_steps 5"

  # Weights spread over the ranks of workers take the steps of whole ones, for every assembly, exchange and type; the second run is one rank that has the mean gradient. Six ranks add three workers of two and
  # two of three
  testset:
    args: -steps 3 -compare rounding -all " -problem_layers tall,polar,nuclear,blocks,entry,column,bias,gain,head,tail,plain -muon_layer_blocks_blocks_rows 2,4,3 -muon_learning_rate 0.1 -muon_weight_decay 0.05 -muon_shape_factor moonlight" -b " -problem_mean 0"
    testset:
      args: -ways " ; -muon_assembly allgather; -muon_assembly owner" -a " -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_type ef21; -muon_exchange_type layerwise -problem_whole; -muon_exchange_type replicated -problem_whole -problem_ready backward"
      table: suffix | nsize | args
        storage_all   | {{1 2 3 4}} | -both " -muon_type dense -problem_ranks 0"
        storage_one   | {{2 3 4}}   | -both " -muon_type dense -problem_ranks 1"
        storage_two   | {{4 6}}     | -both " -muon_type dense -problem_ranks 2"
        storage_three | 6           | -both " -muon_type dense -problem_ranks 3"
    # Products of rows; with more workers than one no exchange lets each of them compute the step
    testset:
      args: -both " -muon_assembly gram -muon_layer_tall_assembly owner -muon_layer_nuclear_assembly owner -muon_layer_blocks_assembly owner -muon_layer_tail_assembly owner"
      table: suffix | nsize | args
        storage_gram_all | {{2 3 4}} | -each " -muon_type dense -problem_ranks 0" -a " -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_type ef21; -muon_exchange_type layerwise -problem_whole; -muon_exchange_type replicated -problem_whole -problem_ready backward"
        storage_gram_one | {{2 3 4}} | -each " -muon_type dense -problem_ranks 1" -a " -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_type ef21; -muon_exchange_type layerwise -problem_whole"
        storage_gram     | 6         | -each " -muon_type dense -problem_ranks 3" -a " -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_type ef21; -muon_exchange_type layerwise -problem_whole"
        storage_gram_two | {{4 6}}   | -each " -muon_type dense -problem_ranks 2" -a " -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather -muon_type ef21; -muon_exchange_type layerwise -problem_whole"
    # Layers of different workers in one optimizer; ranks that keep rows of layers which each of them has whole
    testset:
      args: -ways " ; -muon_assembly allgather; -muon_assembly owner; -muon_assembly gram -muon_layer_tall_assembly owner -muon_layer_nuclear_assembly owner -muon_layer_blocks_assembly owner -muon_layer_tail_assembly owner"
      table: suffix | nsize | args
        storage_mixed  | {{2 3 4}}     | -both " -muon_type dense -problem_ranks {{1,0 1,1,1,0}}" -a " -muon_exchange_type layerwise -problem_whole -problem_ready backward"
        storage_mixed2 | {{4 6}}       | -both " -muon_type dense -problem_ranks 1,2,1,0" -a " -muon_exchange_type layerwise -problem_whole -problem_ready backward"
        storage_mixed3 | 6             | -both " -muon_type dense -problem_ranks 1,3,1,0" -a " -muon_exchange_type layerwise -problem_whole -problem_ready backward"
        storage_rows   | {{1 2 3 4 6}} | -both " -muon_type dense" -a " -muon_exchange_type rows; -muon_exchange_type rows -muon_type ef21; -muon_exchange_type rows -problem_ready backward"

  # Votes of workers that are several ranks are those of whole layers at each position, and a NaN that one rank has is seen by all: the same bits entry by entry; a mean that is formed, and norms and polar factors of
  # matrices of signs, to rounding. The agreement and the measure are the same
  testset:
    args: -measures -counted -steps 3 -all " -muon_type sign -sign_measure -lmo_type spectral -lmo_polar_type svd -muon_learning_rate 0.1 -muon_weight_decay 0.05 -muon_shape_factor moonlight"
    testset:
      args: -a " -muon_assembly allgather; -muon_assembly owner -problem_bad 1"
      testset:
        args: -each " -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_update none; -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_update frobenius"
        table: suffix | nsize | args
          votes_two   | {{2 4}} | -both " -problem_ranks 2 -sign_direction {{polar momentum gradient adam}}" -b " -problem_mean 2"
          votes_pairs | 6         | -both " -problem_ranks 2 -sign_direction {{momentum gradient}}" -b " -problem_mean 2"
          votes_three | 6         | -both " -problem_ranks 3 -sign_direction {{polar adam}}" -b " -problem_mean 3"
          votes_four  | 4         | -both " -problem_ranks 4 -sign_direction {{polar momentum gradient adam}}" -b " -problem_mean 4"
      testset:
        args: -compare rounding -each " -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column,bias -sign_update none; -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column,bias -sign_update frobenius; -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column,bias -sign_update spectral; -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column,bias -sign_update polar"
        table: suffix | nsize | args
          votes_mean_two   | {{2 4}} | -both " -problem_ranks 2 -sign_direction {{polar momentum gradient adam}}" -b " -problem_mean 2"
          votes_mean_pairs | 6         | -both " -problem_ranks 2 -sign_direction {{momentum gradient}}" -b " -problem_mean 2"
          votes_mean_three | 6         | -both " -problem_ranks 3 -sign_direction {{polar adam}}" -b " -problem_mean 3"
          votes_mean_four  | 4         | -both " -problem_ranks 4 -sign_direction {{polar momentum gradient adam}}" -b " -problem_mean 4"
    # Over every exchange; an entry without a gradient on all workers is drawn
    testset:
      args: -a " -muon_exchange_type range -muon_exchange_mode gather; -muon_exchange_type replicated -muon_exchange_mode gather; -muon_exchange_type replicated -muon_exchange_mode allreduce; -muon_exchange_type star -muon_exchange_mode gather; -muon_exchange_type star -muon_exchange_mode reduce; -muon_exchange_type layerwise -muon_exchange_mode gather"
      testset:
        args: -each " -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_direction momentum -sign_update none -sign_tie zero; -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_direction momentum -sign_update none -sign_tie random -problem_unseen"
        table: suffix | nsize | args
          votes_ways_two   | {{2 4 6}} | -both " -problem_ranks 2" -b " -problem_mean 2"
          votes_ways_three | 6         | -both " -problem_ranks 3" -b " -problem_mean 3"
          votes_ways_four  | 4         | -both " -problem_ranks 4" -b " -problem_mean 4"
      # Votes that are summed have as many bytes as entries, wherever these are
      table: suffix | nsize | args
        votes_summed | {{4 6}} | -traffic -both " -problem_ranks 2 -problem_layers tall,entry,column -sign_direction momentum -muon_exchange_type replicated -muon_exchange_mode allreduce" -a " -problem_mean 1" -b " -problem_mean 2"
      testset:
        args: -compare rounding -each " -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_direction polar -sign_update spectral -sign_tie zero"
        table: suffix | nsize | args
          votes_spectral_two   | {{2 4 6}} | -both " -problem_ranks 2" -b " -problem_mean 2"
          votes_spectral_three | 6         | -both " -problem_ranks 3" -b " -problem_mean 3"
          votes_spectral_four  | 4         | -both " -problem_ranks 4" -b " -problem_mean 4"
    # Workers of one rank, a NaN of which is a reason on all and no vote
    testset:
      args: -b " -muon_exchange_type range -muon_exchange_mode gather" -a " -muon_exchange_type range -muon_exchange_mode gather -problem_bad 1; -muon_exchange_type replicated -muon_exchange_mode gather; -muon_exchange_type replicated -muon_exchange_mode allreduce -problem_bad 1; -muon_exchange_type star -muon_exchange_mode gather; -muon_exchange_type star -muon_exchange_mode reduce -problem_bad 1; -muon_exchange_type layerwise -muon_exchange_mode gather -problem_bad 1"
      table: suffix | nsize | args
        votes_one | {{1 2 3 5 8}} | -both " -problem_layers tall,blocks,square,entry,column -muon_layer_blocks_blocks_rows 2,4,3 -sign_direction momentum" -each " -sign_tie zero -sign_update polar; -sign_tie plus; -sign_tie random; -sign_tie minus"

    # All ranks are one worker that keeps rows of layers which each of them has whole
    testset:
      args: -a " -muon_exchange_type rows" -ways " -muon_assembly allgather; -muon_assembly owner" -b " -problem_mean 0"
      table: suffix | nsize | args
        votes_rows | {{2 4}} | -compare rounding -both " -problem_same -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column,bias -sign_direction {{polar momentum gradient adam}}" -each " -sign_update none; -sign_update frobenius; -sign_update spectral; -sign_update polar"
        votes_drawn | {{2 4 6}} | -both " -problem_same -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -sign_direction momentum -sign_tie random -problem_unseen"
    # A polar factor of rows as they are spread, whose products are in no traffic: each worker has a vote of its own, one worker a step of its own
    table: suffix | nsize | args
      votes_gram     | {{2 4 6}} | -counted 0 -both " -problem_ranks 2 -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -lmo_polar_type qdwh -sign_direction polar" -a " -muon_layer_tall_assembly gram -muon_layer_entry_assembly gram -muon_layer_column_assembly gram" -b " -problem_mean 2"
      votes_gram_nan | {{2 4 6}} | -counted 0 -both " -problem_ranks 2 -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks -lmo_polar_type qdwh -sign_direction polar" -a " -muon_layer_tall_assembly gram -problem_bad 1" -b " -problem_mean 2"
      votes_gram_one | {{2 4 6}} | -counted 0 -compare rounding -both " -problem_ranks 0 -muon_layer_blocks_blocks_rows 2,4,3 -problem_layers tall,blocks,entry,column -lmo_polar_type qdwh -sign_direction polar -sign_update polar" -a " -muon_layer_tall_assembly gram -muon_layer_entry_assembly gram -muon_layer_column_assembly gram" -b " -problem_mean 0"

    # Where more workers than one scale the majority that is refused
    test:
      suffix: votes_gram_refused
      nsize: 4
      args: -both " -problem_ranks 2 -problem_layers tall -lmo_polar_type qdwh -sign_direction polar -sign_update polar -muon_assembly gram"
      error: -muon_assembly gram of layer "tall"

  # Weights that are edited between steps are taken over by every compressor as those that the optimizer is told of, and stay where they were set; where those of one rank are others the step is refused, names the
  # layer, and is taken again when they are set back. Where it does not look, messages heal what they can
  testset:
    args: -all " -problem_layers tall,wide,embed,gain,square -muon_layer_types gain:adamw" -each " -muon_type dense; -muon_type dense -muon_momentum_at worker; -muon_type ef21; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values single -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values bf16 -ef21_server_compressor nearest -ef21_init gradient; -muon_type ef21 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor nearest -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_downlink step -lmo_type rowsum -muon_layer_gain_ef21_downlink weights"
    table: suffix | nsize | args
      edit       | {{1 2}} | -steps 5 -state -both " -problem_edit 3 -muon_exchange_type {{star layerwise replicated}}" -b " -problem_told"
      edit_stays | {{1 2}} | -steps 4 -compare none -a " ; -problem_told" -both " -muon_learning_rate 1e-30 -muon_adamw_learning_rate 1e-30 -problem_edit 3 -muon_exchange_type {{star layerwise replicated}}"
      mismatch   | 2       | -steps 5 -state -both " -muon_exchange_type {{star layerwise replicated}}" -a " -problem_mismatch 3; -problem_mismatch 3 -problem_bad_layer 3"
  # Sums; arrays, rows that are spread or kept, votes; an entry is found by and by where steps do not heal it
  testset:
    args: -all " -problem_layers tall,wide -lmo_type max"
    testset:
      args: -each " -problem_storage rows -ef21_compressor topk -ef21_server_compressor topk; -problem_ranks 2 -ef21_compressor topk -ef21_server_compressor topk; -problem_ranks 2 -muon_type sign -lmo_type spectral -sign_direction momentum -sign_update none"
      table: suffix | nsize | args
        edit_spread     | 4 | -steps 4 -compare none -both " -muon_learning_rate 1e-30 -problem_edit 3"
        mismatch_spread | 4 | -steps 5 -a " -problem_mismatch 3"
        mismatch_entry  | 4 | -steps 2 -compare none -a " -problem_mismatch 1 -problem_mismatch_entry"
    table: suffix | nsize | args
      edit_sums     | {{1 2}} | -steps 5 -both " -muon_type dense -problem_edit 3" -each " -muon_exchange_mode reduce; -muon_exchange_type replicated -muon_exchange_mode allreduce" -b " -problem_told"
      mismatch_sums | 2       | -steps 5 -both " -muon_type dense" -each " -muon_exchange_mode reduce; -muon_exchange_type replicated -muon_exchange_mode allreduce" -a " -problem_mismatch 3"
      mismatch_one  | 2       | -steps 2 -compare none -a " -problem_mismatch 1 -problem_mismatch_entry -ef21_compressor topk -ef21_server_compressor topk"
      edit_rows     | 4       | -steps 4 -compare none -both " -muon_exchange_type rows -ef21_server_compressor topk -muon_learning_rate 1e-30 -problem_edit 3"
      mismatch_rows | 4       | -steps 5 -both " -muon_exchange_type rows -ef21_server_compressor topk" -a " -problem_mismatch 3"
      unchecked     | {{2 4}} | -steps 3 -compare none -a " -muon_check_weights false -problem_mismatch 1"

  # No gradient is one of zeros; those of the caller's matrices and vectors are not written to
  testset:
    nsize: {{1 2 4}}
    args: -steps 6 -all " -problem_routine 0" -a " -problem_missing 1" -b " -problem_missing 2 -problem_own"
    table: suffix | args
      missing_dense   | -both " -muon_type dense -muon_exchange_type {{star layerwise}} -muon_exchange_mode reduce"
      missing_gathers | -both " -muon_type dense -muon_exchange_type {{layerwise replicated}} -muon_exchange_mode gather"
      missing_all     | -both " -muon_type dense -muon_exchange_type replicated -muon_exchange_mode allreduce"
      missing_ef21    | -both " -muon_exchange_type {{star layerwise replicated}} -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk"

  # What is no number in a gradient or in the loss of one rank is seen by all, under each policy, and so are steps to what is none. The step is taken again as if nothing had been; it is left out, so that
  # the run is a step behind where gradients do not depend on the step; or the entry is a zero
  testset:
    nsize: {{1 3}}
    testset:
      args: -state -all " -muon_layer_types gain:adamw" -each " -muon_type dense; -muon_type dense -muon_momentum_at worker; -muon_type ef21; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values single -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values bf16 -ef21_server_compressor nearest -ef21_init gradient; -muon_type ef21 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor nearest -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_downlink step -lmo_type rowsum -muon_layer_gain_ef21_downlink weights"
      table: suffix | args
        nan_stop | -both " -muon_exchange_type {{star layerwise replicated}}" -a " -problem_bad 1; -problem_bad 2 -problem_bad_loss -muon_nan zero; -problem_bad 1 -problem_bad_layer 0 -problem_bad_sign 1; -problem_bad 2 -problem_bad_layer 5 -problem_bad_sign -1; -problem_bad 1 -problem_bad_layer 4; -problem_bad 1 -problem_bad_loss -problem_bad_sign 1; -problem_overflow 1; -problem_overflow 2 -problem_bad_layer 0; -problem_overflow 1 -problem_bad_layer 3; -problem_overflow 1 -problem_bad_layer 4"
        nan_zero | -nans 1 -both " -muon_nan zero" -a " -problem_bad 1 -problem_bad_layer 0 -problem_bad_sign -1; -problem_bad 1 -problem_bad_layer 0" -b " -problem_bad 1 -problem_bad_zero -problem_bad_layer 0"
        nan_skip | -nans 1 -later 1 -last -both " -problem_noise 0 -muon_nan skip" -a " -problem_bad 1 -problem_bad_layer 1; -problem_bad 2 -problem_bad_loss; -problem_bad 1 -problem_bad_sign -1 -problem_bad_layer 5"
    # Sums in place of messages
    table: suffix | args
      nan_sums | -all " -muon_layer_types gain:adamw" -each " -muon_type dense -muon_exchange_mode reduce; -muon_type dense -muon_exchange_type star -muon_exchange_mode reduce; -muon_type ef21 -muon_exchange_mode allreduce; -muon_type ef21 -muon_exchange_type replicated -muon_exchange_mode allreduce" -a " -problem_bad 1; -problem_bad 2 -problem_bad_loss"
  testset:
    nsize: 3
    args: -all " -muon_type {{dense ef21}} -muon_exchange_type {{star layerwise replicated}} -muon_error_if_not_converged -problem_bad 1 -problem_bad_layer 3"
    table: suffix | args | error
      nan_raised      |                             | DIVERGED_NANORINF (the gradient of layer "row" on rank 2)
      nan_raised_loss | -both " -problem_bad_loss"  | DIVERGED_NANORINF (the loss on rank 0)

  # A routine of the program's that fails, on one rank or on all, is an error on all. A step is taken before monitors, validation and what follows it speak: the run goes on as one without them
  testset:
    nsize: {{1 2 3}}
    args: -all " -muon_exchange_type {{star layerwise replicated}}"
    table: suffix | nsize | args
      broken        |   | -state -each " -muon_type dense; -muon_type ef21 -ef21_compressor topk" -a " -problem_ready backward -problem_breaks objective; -problem_breaks monitor; -problem_breaks validation; -problem_breaks poststep; -problem_breaks poststep -problem_break_step 2"
      broken_drawn  |   | -state -both " -muon_max_steps 8 -muon_schedule linear" -each " -muon_type dense; -muon_type ef21 -ef21_compressor randk -ef21_server_compressor natural; -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor randk; -muon_type ef21 -ef21_compressor dropout -ef21_server_compressor qsgd" -a " -problem_break_rank -1 -problem_breaks monitor; -problem_break_step 2 -problem_breaks csv"
      broken_others | 3 | -each " -muon_type dense -muon_exchange_type rows; -muon_type sign -lmo_type spectral" -a " -problem_ready backward -problem_breaks objective -problem_break_rank 1; -problem_breaks monitor -problem_break_rank 2; -problem_breaks validation -problem_break_rank 1; -problem_breaks poststep -problem_break_rank 2"

  # A step reads the caller's gradients where they lie, even where a policy puts a zero in the place of a NaN, and moves as by its own
  testset:
    nsize: {{1 2 3}}
    args: -state -all " -muon_layer_types gain:adamw -muon_exchange_type {{star layerwise replicated}}" -each " -muon_type dense; -muon_type dense -muon_momentum_at worker; -muon_type ef21; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values single -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values bf16 -ef21_server_compressor nearest -ef21_init gradient; -muon_type ef21 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor nearest -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_downlink step -lmo_type rowsum -muon_layer_gain_ef21_downlink weights"
    table: suffix | requires | args
      own        |       | -nans 1 -both " -muon_nan zero -problem_bad 1 -problem_bad_layer 1" -a " -problem_own"
      own_before |       | -nans 1 -both " -muon_nan zero -problem_bad 2 -problem_bad_layer 1 -problem_routine 0" -a " -problem_own"
      own_half   | debug | -a " -problem_half 2"
  table: suffix | nsize | args
    own_spread | 4 | -both " -problem_ranks 2" -a " -problem_own" -each " -muon_type dense; -muon_type ef21 -ef21_compressor topk; -muon_type dense -problem_whole"

  # A look-ahead that does nothing is the optimizer inside of it; the watch over weights takes none for a change of the program's; without compression all types are one; a run goes on with what is kept
  testset:
    nsize: {{1 3}}
    testset:
      args: -steps 6 -each " -muon_type dense; -muon_type ef21; -muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4; -muon_type dense -problem_ranks 0; -muon_type ef21 -problem_ranks 0 -ef21_compressor topk -ef21_server_compressor topk"
      table: suffix | args
        lookahead_none    | -a " -muon_lookahead 0 -muon_lookahead_gamma 0.5; -muon_lookahead 0.5 -muon_lookahead_gamma 1"
        lookahead_watch   | -all " -muon_lookahead 0.5" -a " -muon_check_weights false"
        lookahead_restart | -restart 1;2;4 -all " -muon_max_steps 7 -muon_lookahead 0.5 -muon_lookahead_gamma 0.75"
    table: suffix | args
      lookahead_dense | -compare rounding -all " -problem_layers gain,mat -muon_lookahead 0.5 -muon_lookahead_gamma 0.75" -a " -muon_type ef21" -b " -muon_type dense -muon_momentum_at worker"

  # Workers of unequal weights have the steps of one that has their weighted mean
  testset:
    nsize: 3
    args: -compare rounding -all " -problem_weighted -muon_layer_types gain:adamw,row:frozen" -b " -problem_mean 0"
    table: suffix | args
      weighted_dense | -both " -muon_type dense" -a " -muon_exchange_type layerwise; -muon_exchange_type replicated; -muon_exchange_mode gather; -muon_exchange_type rows -muon_exchange_mode reduce"
      weighted_ef21  | -both " -muon_type ef21" -a " -muon_exchange_type star -muon_exchange_mode gather; -muon_exchange_mode reduce; -muon_exchange_mode allreduce"

  # G is the weighted mean of the G_j, and a run with other weights goes on with the mean of the workers
  testset:
    nsize: 3
    args: -state -mean -restart 3 -kept estimate,aggregate -steps 5 -all " -muon_type ef21 -problem_weighted -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor natural"
    table: suffix | args
      weighted_topk | -traffic
      weighted_not  | -compare none -then " -problem_weighted 0"
  # A step late: the weights are those of no delay one step later, where a step is left out, too, or failed once and is taken again. Gradients do not depend on weights
  testset:
    nsize: {{1 2 3}}
    args: -steps 6 -later 1 -last -all " -muon_max_steps 7 -problem_curvature 0 -problem_ready odd" -each " -muon_nan stop; -muon_nan skip -problem_bad 2" -a " -muon_delay 1; -muon_delay 1 -problem_bad 2" -b " -muon_delay 0"
    table: suffix | args
      delay_dense   | -both " -muon_type dense -muon_schedule linear -muon_momentum_warmup 3 -muon_weight_decay 0.2"
      delay_worker  | -both " -muon_type dense -muon_schedule cosine -muon_momentum_at worker -muon_exchange_mode reduce"
      delay_ef21    | -compression -both " -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -muon_schedule trapezoid -muon_schedule_warmup 2 -ef21_init gradient -muon_exchange_type star"
      delay_ef14    | -both " -muon_type ef14 -ef14_compressor qsgd -ef14_compressor_bits 4 -muon_exchange_type replicated -muon_nesterov ema"
      delay_sign    | -both " -problem_layers square,tall,wide -muon_type sign"
      delay_drawn   | -both " -problem_layers square,tall,wide -muon_type sign -sign_tie random -muon_state_precision single"
      delay_polar   | -both " -problem_layers square,tall,wide -muon_type sign -sign_tie random -sign_update polar -muon_exchange_type replicated -muon_exchange_mode allreduce"
      # A round that fails when it is sent, behind the commit, is one step that is left out: the next ones are taken
      delay_unsent  | -later 0 -nans 1 -both " -problem_huge 1 -problem_layers square,tall,wide,gain,embed -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -muon_momentum 0" -each " -muon_nan skip" -a " -muon_delay 1" -b " -muon_delay 1" -all " -muon_max_steps 7 -problem_ready odd -problem_curvature 0"

  # A run that goes on with a checkpoint is the run that was not interrupted: whatever is under way, and whatever step of a round
  testset:
    nsize: {{1 2 3}}
    testset:
      args: -steps 6 -traffic -restart 1;2;3;4;5
      table: suffix | args
        restart_ef21  | -all " -muon_max_steps 7 -problem_ready odd -muon_delay 1 -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_init gradient -muon_layer_types gain:adamw -muon_adamw_learning_rate 0.01 -muon_schedule linear"
        restart_dense | -all " -muon_max_steps 7 -problem_ready odd -muon_delay 1 -muon_type dense -muon_nesterov ema -muon_delay_correction -muon_layer_types row:frozen"
    # What slots keep, of rows that are spread and of blocks, and SOAP as a rule
    testset:
      args: -steps 6 -restart 1;2;3;4;5 -all " -problem_layers square,tall,wide -muon_max_steps 7"
      table: suffix | args
        restart_slots  | -both " -muon_type dense -muon_exchange_type rows -muon_layer_tall_blocks_rows 4,5" -each " -muon_layer_before rows -muon_layer_before_beta 0.9 -muon_layer_after normuon_row; -muon_layer_before entries -muon_layer_before_beta 0.9; -muon_layer_before soap -muon_layer_before_soap_interval 2"
        restart_before | -both " -muon_type ef21 -ef21_compressor topk -muon_layer_types square:soap -muon_layer_before soap -muon_layer_before_soap_interval 2 -muon_layer_square_soap_interval 2" -each " -muon_state_precision native; -muon_state_precision single"
    # The same state, whether rows are spread before or behind it
    table: suffix | args
      elastic_slots | -steps 6 -restart 3 -compare rounding -all " -problem_layers square,tall,wide -muon_type dense -muon_layer_before soap -muon_layer_before_soap_interval 2" -b " -muon_exchange_type rows" -a " -muon_exchange_type rows" -then " -muon_exchange_type layerwise"

    # Two workers with the same gradients are one, and so are two ranks of a node, each of which has what is under way of some layers: that is what goes on
    testset:
      nsize: 2
      args: -steps 6 -restart 3 -all " -muon_max_steps 7 -problem_same -problem_ready odd -muon_delay 1 -muon_type dense" -each " -muon_schedule linear -muon_layer_types gain:adamw; -muon_nesterov ema -muon_momentum_warmup 4; -muon_momentum_at worker -muon_weight_decay 0.2"
      table: suffix | args
        restart_one   | -a " ; -muon_node_size 2" -then " -muon_node_size 1 -problem_mean 0"
        restart_nodes | -a " -muon_node_size 2; " -then " -muon_node_size {{1 2}}"
    # Ranks have weights of their own; what a checkpoint calls the weights are the shared ones
    testset:
      nsize: {{1 3}}
      args: -own -all " -muon_type local -muon_learning_rate 0.125 -muon_layer_types gain:adamw,row:frozen"
      table: suffix | args
        restart_late    | -steps 6 -traffic -restart 1;2;3;4;5 -both " -local_steps 2 -muon_max_steps 7 -problem_ready odd -outer_muon_delay 1 -outer_muon_type ef21 -outer_ef21_compressor topk"
        restart_local   | -steps 7 -state -traffic -restart 1;2;3;4;5;6 -both " -local_steps 3 -outer_muon_type dense -local_stagger {{false true}}"
        restart_control | -steps 7 -state -traffic -restart 1;2;3;4;5;6 -both " -local_steps 3 -local_control -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_server_compressor topk"
        restart_local21 | -steps 7 -state -traffic -restart 4 -both " -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -local_stagger"
        restart_local14 | -steps 7 -state -traffic -restart 4 -both " -local_steps 3 -outer_muon_type ef14 -outer_ef14_compressor topk"

  # A checkpoint has all that its run had: on the same ranks, in an optimizer that took no step and in the middle of others; between any two of 1, 2, 3 and 6 workers, which have means
  testset:
    args: -each " -muon_type ef21 -muon_exchange_type star -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor natural -ef21_server_compressor randk -ef21_server_compressor_ratio 0.3 -muon_momentum 0.5 -ef21_init gradient; -muon_type ef21 -muon_exchange_type replicated -ef21_compressor topk -ef21_compressor_ratio 0.3 -muon_state_precision single; -muon_type ef21 -ef21_compressor powersgd -ef21_compressor_ratio 0.3 -ef21_server_compressor powersgd -ef21_server_compressor_ratio 0.3; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_downlink step -lmo_type l1 -muon_layer_gain_ef21_downlink weights; -muon_type ef14 -ef14_compressor powersgd -ef14_compressor_ratio 0.3 -ef14_server_compressor topk -ef14_server_compressor_ratio 0.3; -muon_type ef21 -muon_exchange_type star -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -muon_momentum_at server; -muon_type dense -muon_momentum_at server; -muon_type dense -muon_momentum_at server -muon_exchange_type replicated -muon_state_precision single; -muon_type dense -muon_exchange_type star -muon_momentum_at worker; -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -muon_momentum_at server -muon_layer_square_before rows -muon_layer_tall_before columns -muon_layer_wide_before entries -muon_layer_before_beta 0.5 -muon_layer_after normuon_long,normuon_row"
    table: suffix | nsize | args
      kept_begin | {{1 3}}   | -steps 3 -restart 0 -state -traffic -all " -muon_learning_rate 0.125 -muon_layer_types gain:adamw"
      kept       | {{1 2 3}} | -steps 6 -restart 2;4 -state -traffic -nans 1 -kept momentum,adamw.mean,adamw.square -all " -muon_learning_rate 0.125 -muon_layer_types gain:adamw -muon_nan skip -problem_bad 1"
      kept_pairs | 6         | -steps 5 -restart 3 -compare none -kept momentum,adamw.mean,adamw.square -all " -muon_learning_rate 0.125 -muon_layer_types gain:adamw" -a " ; -problem_mean 2; -problem_mean 3; -problem_mean 0" -then " -problem_mean {{1 2 3 6}}"
  # State of another precision is rounded once, or as it is
  testset:
    nsize: {{1 3}}
    requires: double
    args: -steps 5 -restart 2;3 -compare none -kept momentum,adamw.mean -all " -muon_layer_types gain:adamw -muon_type ef21 -ef21_compressor powersgd -ef21_compressor_ratio 0.3 -ef21_server_compressor topk"
    table: suffix | args
      kept_single | -then " -muon_restart_convert -muon_state_precision single"
      kept_native | -a " -muon_state_precision single" -then " -muon_restart_convert -muon_state_precision native"
  # So has one of layers in rows of any number of ranks, which may be more than rows, and of blocks across them; of votes the whole layers alone
  testset:
    nsize: 4
    args: -all " -problem_layers mat,column,blocks,bias -muon_layer_blocks_blocks_rows 2,4,3 -muon_learning_rate 0.125 -muon_momentum 0.75" -kept momentum,adamw.mean,adamw.square
    testset:
      args: -each " -muon_type dense -muon_exchange_type layerwise; -muon_type ef21 -muon_exchange_type layerwise -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.4; -muon_type ef21 -muon_exchange_type star -ef21_compressor powersgd -ef21_compressor_ratio 0.4 -ef21_server_compressor powersgd -ef21_server_compressor_ratio 0.4; -muon_type ef21 -muon_exchange_type replicated -ef21_compressor topk -ef21_compressor_ratio 0.4"
      table: suffix | args
        kept_rows  | -steps 6 -restart 2;4 -traffic -both " -problem_ranks {{1 2 4}}"
        kept_cuts  | -steps 6 -restart 2;4 -traffic -both " -muon_exchange_type rows"
        kept_moved | -steps 5 -restart 3 -compare none -a " ; -problem_ranks 2; -problem_ranks 4; -muon_exchange_type rows" -then " -problem_ranks {{1 2 4}} -muon_exchange_type layerwise"
        kept_whole | -steps 5 -restart 3 -compare none -a " ; -problem_ranks 2; -problem_ranks 4; -muon_exchange_type rows" -then " -problem_ranks 1 -problem_mean {{1 2}} -muon_exchange_type {{rows replicated}}"
    table: suffix | args
      kept_votes | -steps 5 -restart 3 -compare none -all " -problem_layers mat,blocks,bias -muon_layer_blocks_blocks_rows 2,4,3 -lmo_type spectral -muon_type sign" -a " ; -problem_mean 2; -problem_mean 0" -then " -problem_mean {{1 2 4}}"
  # So has one of local steps: weights, moments and control variates of workers in the middle of a round
  testset:
    nsize: 6
    args: -own -steps 5 -restart 4 -compare none -a " ; -problem_mean 2; -problem_mean 3; -problem_mean 0" -then " -problem_mean {{1 2 3 6}}"
    table: suffix | args
      kept_local   | -kept momentum,adamw.mean -all " -muon_type local -muon_learning_rate 0.125 -local_steps 3 -muon_layer_types gain:adamw,row:frozen" -each " -outer_muon_type dense; -outer_muon_type ef14 -outer_ef14_compressor topk"
      kept_control | -kept momentum,adamw.mean,control -all " -muon_type local -muon_learning_rate 0.125 -local_steps 3 -local_stagger -local_control -muon_layer_types gain:adamw,row:frozen" -each " -outer_muon_type dense; -outer_muon_type ef21 -outer_ef21_compressor topk"

  # Momenta and moments in 16 and 8 bits are rounded alike wherever rows are, whoever owns layers, behind a restart, a step that was refused and a delay
  testset:
    args: -full -steps 6 -all " -problem_layers tall,slab,grand,gain,square,embed,table -muon_learning_rate 0.125 -muon_max_steps 7 -muon_state_precision {{bf16 int8}}"
    testset:
      args: -both " -muon_layer_embed_type nadamw -muon_layer_tall_blocks_rows 4,5"
      testset:
        args: -each " -muon_type dense -muon_exchange_mode gather -muon_assembly allgather -muon_nesterov ema; -muon_type dense -muon_exchange_mode gather -muon_exchange_type replicated -muon_weight_decay 0.1; -muon_type ef21 -muon_assembly owner"
        table: suffix | nsize | args
          packed_two      | 4 | -a " -problem_ranks 2" -b " -problem_ranks 2 -problem_mean 2"
          packed_all      | 3 | -a " -problem_ranks 0" -b " -problem_ranks 0 -problem_mean 0"
          packed_to_two   | 4 | -restart 2 -a " -problem_ranks 2 -problem_mean 2" -then " -problem_mean 1" -b " -problem_ranks 2 -problem_mean 2"
          packed_from_two | 4 | -restart 2 -a " -problem_ranks 2" -then " -problem_mean 2" -b " -problem_ranks 2"
      testset:
        args: -each " -muon_type dense -muon_momentum_style sgd -muon_nesterov sgd; -muon_type dense -muon_momentum_at worker -muon_weight_decay 0.1 -muon_weight_decay_style coupled; -muon_type ef21 -ef21_compressor topk; -muon_type ef21 -ef21_compressor topk -muon_momentum_at server; -muon_type sign -lmo_type spectral"
        table: suffix | nsize | args
          packed_refused | {{1 2}} | -a " -problem_bad 2; -problem_bad 2 -muon_exchange_type star"
          packed_again   | {{1 3}} | -state -traffic -restart 1;2;3;4;5
    table: suffix | nsize | args
      packed_late   | {{1 2}} | -later 1 -last -both " -problem_curvature 0 -problem_ready odd -problem_layers tall,slab,grand,square" -each " -muon_type dense -muon_weight_decay 0.2; -muon_type ef14 -ef14_compressor qsgd; -muon_type ef21 -ef21_compressor topk" -a " -muon_delay 1; -muon_delay 1 -problem_bad 2" -b " -muon_delay 0"
      packed_flight | {{1 2}} | -restart 1;2;3;4;5 -both " -muon_delay 1 -problem_ready odd -muon_type ef21 -ef21_compressor topk"
      packed_local  | {{1 2}} | -own -restart 1;2;3;4;5 -both " -muon_type local -local_steps 2 -outer_muon_type ef21 -outer_ef21_compressor topk -muon_layer_types gain:adamw,embed:adamw"
  # Ranges of one vector have no rows, whose scales int8 would have
  test:
    suffix: packed_slices
    nsize: {{1 3}}
    args: -full -all " -problem_layers tall,slab,gain,square,embed -muon_layer_embed_type adamw -muon_learning_rate 0.125 -muon_state_precision bf16 -muon_type dense -muon_exchange_mode gather -muon_assembly allgather -muon_nesterov ema"
    args: -both " -problem_ranks 0" -a " -problem_storage slices" -b " -problem_mean 0"
  test:
    suffix: packed_ranges
    nsize: 3
    args: -both " -problem_ranks 0 -problem_layers tall -problem_storage slices -muon_state_precision int8"
    error: -muon_state_precision int8: ranks have ranges of the entries of layer "tall", of which rows with scales would be on two; expected bf16, native or single

  # Nodes of ranks that are one worker take the steps of one worker a node that has the mean gradient, and send as much; votes on the layers of each home have headers of their own. They go on with a checkpoint
  testset:
    nsize: 4
    testset:
      args: -each " -muon_type dense -muon_layer_types gain:adamw -problem_ready backward; -muon_type dense -muon_exchange_mode allreduce -muon_momentum_style sgd -muon_nesterov sgd -muon_clip 1 -muon_clip_layers all -problem_weighted; -muon_type dense -muon_exchange_type replicated -muon_layer_types gain:adamw,row:frozen; -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_aggregate_error_interval 2; -muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather -ef21_compressor randk -ef21_compressor_ratio 0.4 -ef21_init gradient -problem_weighted; -muon_type ef21 -ef21_downlink step -lmo_type l21 -muon_clip 1 -muon_clip_layers all; -muon_type ef21 -ef21_compressor topk -muon_delay 1 -muon_delay_correction -muon_layer_types gain:adamw; -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -muon_exchange_type replicated"
      table: suffix | args
        nodes         | -traffic -compare rounding -a " -muon_node_size 2" -b " -problem_mean 2"
        nodes_restart | -traffic -restart 2 -all " -muon_node_size 2"
    # On other workers each gets the mean of what these had: ranks have the same weights
    table: suffix | args
      nodes_elastic | -compare differs -restart 2 -then " -muon_node_size 1" -a " -muon_node_size 2" -b " -problem_mean 2" -all " -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_aggregate_error_interval 2"
    testset:
      args: -each " -muon_type local -local_steps 3 -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk -muon_layer_types gain:adamw; -muon_type local -local_steps 1 -outer_muon_delay 1 -problem_weighted; -muon_type local -local_steps 2 -local_control -muon_layer_types gain:adamw"
      table: suffix | args
        nodes_local         | -own -traffic -compare rounding -a " -muon_node_size 2" -b " -problem_mean 2"
        nodes_local_restart | -own -traffic -restart 2 -all " -muon_node_size 2"
    testset:
      args: -each " -muon_type sign -sign_tie random -muon_layer_types gain:adamw,row:adamw,embed:sgd"
      table: suffix | args
        nodes_sign         | -compare rounding -a " -muon_node_size 2" -b " -problem_mean 2"
        nodes_sign_restart | -traffic -restart 2 -all " -muon_node_size 2"
    table: suffix | nsize | args
      nodes_auto | 3 | -compare rounding -a " -muon_node_size auto" -b " -problem_mean 0" -each " -muon_type dense -muon_layer_types gain:adamw -problem_ready backward; -muon_type dense -muon_exchange_mode allreduce -muon_momentum_style sgd -muon_nesterov sgd -muon_clip 1 -muon_clip_layers all -problem_weighted; -muon_type dense -muon_exchange_type replicated -muon_layer_types gain:adamw,row:frozen; -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_aggregate_error_interval 2"

  # A real problem in complex numbers, turned by a phase, takes the same steps, up to roundings of a few steps, each a few times what one polar factor has. It goes on with a checkpoint
  testset:
    requires: double
    args: -steps 6 -all " -problem_storage both -problem_layers wide:4x6d,tall:23x3d,square:5x5d -muon_momentum 0.8 -muon_learning_rate 0.05"
    testset:
      args: -compare tolerance -tolerance 1e-12 -a " -problem_complex 0.7"
      table: suffix | nsize | args
        complex_dense | {{1 3}} | -both " -muon_weight_decay 0.1" -a " -problem_complex 0; -problem_complex 0.7"
        complex_float | 1       | -both " -problem_single" -tolerance 4e-6
        complex_polar | 1       | -each " -lmo_polar_type newtonschulz; -lmo_polar_type gram; -lmo_polar_type qdwh; -lmo_polar_type zolotarev" -tolerance 2e-6
        complex_norms | 2       | -each " -lmo_type frobenius; -lmo_type max; -lmo_type column; -lmo_type row; -lmo_type l1; -lmo_type l21; -lmo_type colsum; -lmo_type rowsum; -lmo_type nuclear; -lmo_type schatten; -lmo_type mixed"
        complex_sharp | 2       | -both " -muon_step sharp -muon_shape_factor scion -muon_learning_rate 0.01"
        complex_ef21  | 3       | -both " -muon_type ef21 -ef21_compressor_values double" -each " -ef21_compressor identity; -ef21_compressor topk -ef21_compressor_ratio 0.4; -ef21_compressor damping; -ef21_compressor rankk -ef21_compressor_ratio 0.4; -ef21_compressor topsvd -ef21_compressor_ratio 0.4"
        complex_down  | 2       | -both " -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values double"
        complex_cut   | 2       | -both " -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -muon_layer_wide_blocks_rows 1,3 -muon_layer_wide_blocks_columns 2,4 -muon_layer_square_blocks_rows 2,3"
        complex_ef14  | 3       | -both " -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double"
        complex_local | 2       | -own -both " -muon_type local -local_steps 2"
        complex_ways  | 2       | -each " -muon_node_size 2; -muon_exchange_type replicated"
        complex_adamw | 2       | -both " -muon_layer_type adamw -muon_adamw_learning_rate 0.02" -a " -problem_complex 0; -problem_complex 0.7; -problem_complex 0 -muon_layer_adamw_complex split"
        complex_split | 1       | -both " -muon_layer_type nadamw -muon_adamw_learning_rate 0.02" -a " -problem_complex 0 -muon_layer_adamw_complex split"
        complex_sgd   | 2       | -both " -muon_layer_type sgd"
    table: suffix | nsize | args
      complex_restart       | {{1 2}} | -restart 3 -both " -problem_complex 0.7 -muon_layer_types square:adamw" -each " -muon_type dense; -muon_type ef21 -ef21_compressor topk"
      complex_restart_local | {{1 2}} | -own -restart 3 -both " -problem_complex 0.7 -muon_layer_types square:adamw -muon_type local"

  # Matrices, vectors and parts of a vector of complex scalars take the steps of complex arrays
  testset:
    requires: complex
    nsize: {{1 2 3}}
    args: -steps 6 -all " -problem_complex 0.7 -muon_learning_rate 0.1"
    testset:
      args: -both " -problem_layers mat,gain" -a " -problem_storage mat; -problem_storage slices" -b " -problem_storage columns"
      table: suffix | args
        complex_mat       | -each " -lmo_polar_type zolotarev; -lmo_polar_type newtonschulz; -lmo_polar_type gram; -lmo_polar_type qdwh; -lmo_polar_type svd; -lmo_type frobenius; -lmo_type max; -lmo_type l1; -lmo_type colsum; -lmo_type nuclear; -muon_layer_type adamw"
        complex_mat_ef    | -each " -muon_type ef21 -ef21_compressor topk -ef21_server_compressor qsgd; -muon_type ef21 -ef21_compressor topk -ef21_server_compressor natural; -muon_type ef21 -ef21_compressor rankk; -muon_type ef14 -ef14_compressor topk"
        complex_mat_local | -own -each " -muon_type local -local_steps 3"
    test:
      suffix: complex_part
      args: -both " -problem_layers slab" -a " -problem_storage slices" -b " -problem_storage rows" -each " -lmo_polar_type svd; -muon_type ef21 -ef21_compressor topk -ef21_server_compressor natural"

TEST*/
