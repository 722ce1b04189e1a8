static char help[] = "Weights that are edited between steps are taken over by every compressor; weights that differ between ranks end the step, and the layer is named.\n\n";

#include "muon_common.h"

#define TINY ((PetscReal)1e-30)

static PetscErrorCode Edit(Problem *p, PetscInt l, PetscScalar by)
{
  PetscFunctionBegin;
  if (p->W[l] != NULL) PetscCall(MatScale(p->W[l], by));
  else PetscCall(VecScale(p->w[l], by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Problem *p, PetscInt n, const char name[])
{
  MuonConvergedReason reason;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonStep(p->muon));
    PetscCall(MuonGetConvergedReason(p->muon, &reason));
    PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", name, MuonConvergedReasons[reason]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectSame(Problem *p, Problem *q, const char name[], const char what[])
{
  State a, b;

  PetscFunctionBegin;
  PetscCall(StateTake(p, &a));
  PetscCall(StateTake(q, &b));
  PetscCheck(StateIsSame(&a, &b), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", name, what);
  PetscCall(StateFree(&a));
  PetscCall(StateFree(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Halved on all ranks: what follows is what follows where the optimizer was told; and a step of next to no
   length leaves the weights where they were set
*/
static PetscErrorCode CheckEdited(const Way *way)
{
  Problem   p, q;
  PetscReal rate;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  PetscCall(Steps(&p, 3, way->name));
  PetscCall(Steps(&q, 3, way->name));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(Edit(&p, l, (PetscScalar)0.5));
    PetscCall(Edit(&q, l, (PetscScalar)0.5));
  }
  PetscCall(MuonWeightsChanged(q.muon));
  PetscCall(MuonGetLearningRate(p.muon, &rate));
  for (int k = 0; k < 2; k++) {
    PetscCall(Steps(&p, 1, way->name));
    PetscCall(Steps(&q, 1, way->name));
    PetscCall(ExpectSame(&p, &q, way->name, "edited weights are not taken over as those that the optimizer was told of"));
  }
  PetscCall(MuonSetLearningRate(p.muon, TINY));
  PetscCall(MuonSetAdamW(p.muon, TINY, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar set[64], *w;

    PetscCall(ProblemGetArray(&p, l, PETSC_FALSE, &w));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) set[e] = w[e] = (PetscScalar)(e % 5 - 2) / 4;
    PetscCall(ProblemGetArray(&p, l, PETSC_FALSE, &w)); /* which tells PETSc that something was written */
    PetscCall(Steps(&p, 1, way->name));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++)
      PetscCheck(PetscAbsScalar(w[e] - set[e]) <= 100 * TINY, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, layer %s: weight %g was set, and is %g after a step of no length", way->name, Shapes[l].name, (double)PetscRealPart(set[e]),
                 (double)PetscRealPart(w[e]));
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scaled on the last rank alone; then set back */
static PetscErrorCode CheckMismatched(const Way *way, PetscInt l)
{
  Problem             p, q;
  MuonLayer           layer;
  MuonConvergedReason reason;
  State               before, after;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  PetscCall(Steps(&p, 3, way->name));
  PetscCall(Steps(&q, 3, way->name));
  if (p.rank == p.size - 1) PetscCall(Edit(&p, l, 2));
  PetscCall(StateTake(&p, &before));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCheck(reason == MUON_DIVERGED_WEIGHTS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s where one rank has other weights", way->name, MuonConvergedReasons[reason]);
  PetscCall(MuonGetMismatchedLayer(p.muon, &layer));
  PetscCheck(layer == p.layer[l], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another layer than %s is named", way->name, Shapes[l].name);
  PetscCall(StateTake(&p, &after));
  PetscCheck(StateIsSame(&before, &after), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a step that found other weights changed the state", way->name);
  PetscCall(StateFree(&before));
  PetscCall(StateFree(&after));
  if (p.rank == p.size - 1) PetscCall(Edit(&p, l, (PetscScalar)0.5));
  PetscCall(Steps(&p, 2, way->name));
  PetscCall(Steps(&q, 2, way->name));
  PetscCall(MuonGetMismatchedLayer(p.muon, &layer));
  PetscCheck(layer == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A layer is named after a good step");
  PetscCall(ExpectSame(&p, &q, way->name, "weights that were set back left traces"));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One layer of another storage. Entry (i, j) of the rows that are here is w[i step + j ld] */
typedef struct {
  Muon         muon;
  MuonLayer    layer;
  Mat          W;
  PetscScalar *w;
  PetscInt     first, rows, ld;
  PetscMPIInt  rank, size;
} Other;

enum {
  M = 40,
  N = 6
};

static PetscErrorCode OtherObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Other         *o = (Other *)ctx;
  MuonLayerArray array;
  PetscScalar   *g;
  PetscInt       step;
  Mat            G;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (o->W == NULL) {
    PetscCall(MuonLayerGetGradientArray(o->layer, &array));
    for (PetscInt e = 0; e < M * N; e++) ((PetscReal *)array.w)[e] = PetscRealPart(ProblemNumber(e, step, o->rank, 2));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetGradient(o->layer, &G));
  PetscCall(MatDenseGetArray(G, &g));
  for (PetscInt e = 0; e < o->rows * N; e++) g[e] = ProblemNumber(o->first, e, step, 3);
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s ranks have the rows of the matrix together; an array, with gaps between its rows, where s is 0 */
static PetscErrorCode OtherCreate(PetscMPIInt s, const char prefix[], Other *o)
{
  MPI_Comm       comm = PETSC_COMM_SELF;
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &o->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &o->size));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &o->muon));
  PetscCall(MuonSetOptionsPrefix(o->muon, prefix));
  if (s == 0) {
    o->ld   = N + 2;
    o->rows = M;
    PetscCall(PetscMalloc1(M * o->ld, &o->w));
    for (PetscInt e = 0; e < M * o->ld; e++) o->w[e] = ProblemNumber(e, 1, 0, 2);
    PetscCall(MuonLayerArrayInitialize(&array));
    array.M        = M;
    array.N        = N;
    array.rowmajor = PETSC_TRUE;
    array.ld       = o->ld;
    array.w        = o->w;
    PetscCall(MuonAddLayerArray(o->muon, "w", &array, &o->layer));
  } else {
    PetscScalar *w;

    if (s > 1) PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, o->rank / s, o->rank, &comm));
    PetscCall(MatCreateDense(comm, PETSC_DECIDE, PETSC_DECIDE, M, N, NULL, &o->W));
    if (s > 1) PetscCallMPI(MPI_Comm_free(&comm));
    PetscCall(MatGetOwnershipRange(o->W, &o->first, &o->rows));
    o->rows -= o->first;
    PetscCall(MatDenseGetArray(o->W, &w));
    for (PetscInt e = 0; e < o->rows * N; e++) w[e] = ProblemNumber(o->first, e, 1, 4);
    o->w = w;
    PetscCall(MatDenseRestoreArray(o->W, &w));
    PetscCall(MuonAddLayer(o->muon, "w", o->W, &o->layer));
  }
  PetscCall(MuonSetObjectiveAndGradient(o->muon, OtherObjective, o));
  PetscCall(MuonSetFromOptions(o->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OtherDestroy(Other *o)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&o->muon));
  if (o->W == NULL) PetscCall(PetscFree(o->w));
  PetscCall(MatDestroy(&o->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Written in memory, or to the matrix of the rows that are here; in both cases the matrix of all rows does
   not know
*/
static PetscErrorCode OtherScale(Other *o, PetscScalar by)
{
  Mat here;

  PetscFunctionBegin;
  if (o->W == NULL) {
    for (PetscInt e = 0; e < M * o->ld; e++) o->w[e] *= by;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLocalMatrix(o->W, &here));
  PetscCall(MatScale(here, by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OtherStep(Other *o, MuonConvergedReason expected, const char what[])
{
  MuonConvergedReason reason;
  MuonLayer           layer;

  PetscFunctionBegin;
  PetscCall(MuonStep(o->muon));
  PetscCall(MuonGetConvergedReason(o->muon, &reason));
  PetscCheck(reason == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, expected %s", what, MuonConvergedReasons[reason], MuonConvergedReasons[expected]);
  PetscCall(MuonGetMismatchedLayer(o->muon, &layer));
  PetscCheck(layer == (expected == MUON_DIVERGED_WEIGHTS ? o->layer : NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the wrong layer is named", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* checked: somebody has the same rows; stays: what one rank has wrong no step heals */
static PetscErrorCode CheckOther(PetscMPIInt s, const char prefix[], PetscBool checked, PetscBool stays)
{
  PetscScalar set[M * (N + 2)];
  PetscInt    entries, found = 0;
  Other       o;

  PetscFunctionBegin;
  PetscCall(OtherCreate(s, prefix, &o));
  for (int k = 0; k < 3; k++) PetscCall(OtherStep(&o, MUON_CONVERGED_ITERATING, prefix));
  entries = o.W == NULL ? M * o.ld : o.rows * N;
  /* On all ranks */
  PetscCall(MuonSetLearningRate(o.muon, TINY));
  PetscCall(OtherScale(&o, (PetscScalar)0.25));
  PetscCall(PetscArraycpy(set, o.w, entries));
  PetscCall(OtherStep(&o, MUON_CONVERGED_ITERATING, prefix));
  for (PetscInt e = 0; e < entries; e++)
    PetscCheck(PetscAbsScalar(o.w[e] - set[e]) <= 100 * TINY, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weight %g was set, and is %g after a step of no length", prefix, (double)PetscRealPart(set[e]), (double)PetscRealPart(o.w[e]));
  /* On the last rank */
  if (o.rank == o.size - 1) PetscCall(OtherScale(&o, 2));
  PetscCall(OtherStep(&o, checked ? MUON_DIVERGED_WEIGHTS : MUON_CONVERGED_ITERATING, prefix));
  if (o.rank == o.size - 1) PetscCall(OtherScale(&o, (PetscScalar)0.5));
  PetscCall(OtherStep(&o, MUON_CONVERGED_ITERATING, prefix));
  /* An entry on the last rank is found within 64 steps */
  if (o.rank == o.size - 1) o.w[entries / 2] += 1;
  for (PetscInt k = 0; k < 64 && stays && found == 0; k++) {
    MuonConvergedReason reason;

    PetscCall(MuonStep(o.muon));
    PetscCall(MuonGetConvergedReason(o.muon, &reason));
    if (reason == MUON_DIVERGED_WEIGHTS) found = 1;
  }
  PetscCheck(found == (stays ? 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another weight was not found", prefix);
  PetscCall(OtherDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where nobody looks the message of a server that has the weights heals what it can */
static PetscErrorCode CheckUnchecked(void)
{
  Other o;

  PetscFunctionBegin;
  PetscCall(OtherCreate(1, "u_", &o));
  PetscCall(MuonSetParameter(o.muon, "muon_check_weights", "false"));
  PetscCall(OtherStep(&o, MUON_CONVERGED_ITERATING, "unchecked"));
  if (o.rank == o.size - 1) PetscCall(OtherScale(&o, 2));
  PetscCall(OtherStep(&o, MUON_CONVERGED_ITERATING, "unchecked"));
  PetscCall(OtherDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  Way         way;
  PetscBool   legal, last, many;
  PetscInt    number = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  many = size > 1 ? PETSC_TRUE : PETSC_FALSE;
  do {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal) {
      PetscCall(CheckEdited(&way));
      if (many) PetscCall(CheckMismatched(&way, number % 2 == 0 ? 1 : 4));
    }
    number++;
  } while (last == PETSC_FALSE);
  PetscCall(CheckOther(0, "e_", many, many));
  PetscCall(CheckOther(1, "e_", many, many));
  if (size == 4) {
    PetscCall(CheckOther(2, "e_", PETSC_TRUE, PETSC_TRUE));
    PetscCall(CheckOther(4, "e_", PETSC_FALSE, PETSC_FALSE));
    PetscCall(CheckOther(1, "r_", PETSC_TRUE, PETSC_FALSE));
    PetscCall(CheckOther(2, "s_", PETSC_TRUE, PETSC_TRUE));
  }
  PetscCall(CheckUnchecked());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    args: -e_lmo_type max -e_ef21_compressor topk -e_ef21_server_compressor topk -e_muon_max_steps 1000

  test:
    suffix: spread
    nsize: 4
    args: -e_lmo_type max -e_ef21_compressor topk -e_ef21_server_compressor topk -r_muon_exchange_type rows -r_lmo_type max -r_ef21_server_compressor topk -s_muon_type sign -s_sign_direction momentum -s_sign_update none

TEST*/
