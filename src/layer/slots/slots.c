#include "../muonslot.h"
#include <petscmuon/private/muonlmoimpl.h>
#include "../../kernels/array/muonlmokernels.h"

/* In the order in which they act */
static const MuonSlotOps *const Slots[] = {
  &MuonSlotBefore,
  &MuonSlotAfter,
  &MuonSlotHyperball,
};
#define NSLOTS (int)(sizeof(Slots) / sizeof(Slots[0]))

PetscErrorCode MuonSlotsRegister(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < NSLOTS; k++) PetscCall(MuonParametersRegisterType(MUONLAYER_CLASSID, "", Slots[k]->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsCreate(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(&layer->slots));
  for (int k = 0; k < NSLOTS; k++) PetscCall(MuonParametersAddPart((PetscObject)layer, Slots[k]->rows, Slots[k]->size, &layer->slots->data[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the layer has in a slot, NULL for nothing */
static void *MuonSlotData_Private(MuonLayer layer, int k)
{
  void *data = layer->slots->data[k];

  return layer->ops->applylmo != NULL && (*Slots[k]->chosen)(data) ? data : NULL;
}

const char *MuonLayerHasSlot(MuonLayer layer, MuonSlotPlace place)
{
  for (int k = 0; k < NSLOTS; k++) {
    if (Slots[k]->place == place && MuonSlotData_Private(layer, k) != NULL) return Slots[k]->name;
  }
  return NULL;
}

const char *MuonLayerReadsGradient(MuonLayer layer)
{
  for (int k = 0; k < NSLOTS; k++) {
    const void *data = MuonSlotData_Private(layer, k);

    if (data != NULL && Slots[k]->gradient != NULL && (*Slots[k]->gradient)(data)) return Slots[k]->name;
  }
  return NULL;
}

PetscErrorCode MuonSlotsSetUp(MuonLayer layer)
{
  const MuonSlots slots  = layer->slots;
  const PetscInt  blocks = MuonBlocksCount_Private(&layer->blocks);
  MuonSlotKind    kind[NSLOTS][2];
  PetscInt        n = 0;

  PetscFunctionBegin;
  PetscCall(MuonSlotsReset(layer));
  for (int k = 0; k < NSLOTS; k++) {
    void *data = MuonSlotData_Private(layer, k);

    kind[k][0] = kind[k][1] = MUON_SLOT_ALIKE;
    if (data != NULL) PetscCall((*Slots[k]->setup)(layer, data, &slots->count[k], kind[k]));
    slots->nstates += slots->count[k] * blocks;
  }
  PetscCall(PetscCalloc1(slots->nstates, &slots->state));
  for (int k = 0; k < NSLOTS; k++) {
    for (PetscInt i = 0; i < slots->count[k] * blocks; i++, n++) {
      slots->state[n].kind = kind[k][i % slots->count[k] > 0];
      if (blocks > 1 && slots->state[n].kind == MUON_SLOT_ENTRYWISE) slots->state[n].kind = MUON_SLOT_OWN; /* of the block */
      PetscCall(PetscSNPrintf(slots->state[n].name, sizeof(slots->state[n].name), "%s.kept[%" PetscInt_FMT "]", Slots[k]->name, i));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsApply(MuonLayer layer, MuonSlotPlace place, PetscInt b, const MuonLayerStepInfo *info, const MuonMatrix *A, const MuonArray *B, MuonStatus *status)
{
  const MuonSlots slots  = layer->slots;
  const PetscInt  blocks = MuonBlocksCount_Private(&layer->blocks);
  PetscInt        first  = 0;
  MuonMark        mark;

  PetscFunctionBegin;
  slots->step.held = PETSC_FALSE;
  for (int k = 0; k < NSLOTS; first += slots->count[k++] * blocks) {
    void *data = Slots[k]->place == place ? MuonSlotData_Private(layer, k) : NULL;

    if (data == NULL) continue;
    PetscCall(MuonWorkspaceMark(layer->work, &mark));
    PetscCall((*Slots[k]->apply)(layer, data, slots->state + first + b * slots->count[k], info, &slots->step, A, B, status));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsCommit(MuonLayer layer)
{
  const MuonSlots slots = layer->slots;

  PetscFunctionBegin;
  for (PetscInt n = 0; n < slots->nstates; n++) {
    if (slots->state[n].next.data != NULL) MuonArraySwap(&slots->state[n].now, &slots->state[n].next);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsVisitState(MuonLayer layer, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->late = PETSC_TRUE;
  for (PetscInt n = 0; n < layer->slots->nstates; n++) {
    MuonSlotState  *state     = &layer->slots->state[n];
    const PetscBool entrywise = state->kind == MUON_SLOT_ENTRYWISE ? PETSC_TRUE : PETSC_FALSE;
    char            next[sizeof(state->name) + 8];

    visitor->layer = state->kind == MUON_SLOT_OWN && visitor->shard != NULL ? visitor->shard : ((PetscObject)layer)->name;
    if (visitor->make != NULL && MuonLayerIsServed(layer)) PetscCall((*visitor->make)(visitor, state->name, entrywise, &state->now));
    PetscCall(MuonStateVisitArray(visitor, state->name, entrywise, PETSC_FALSE, &state->now));
    PetscCall(PetscSNPrintf(next, sizeof(next), "%s.new", state->name));
    PetscCall(MuonStateVisitArray(visitor, next, entrywise, PETSC_TRUE, &state->next));
  }
  visitor->late  = PETSC_FALSE;
  visitor->layer = ((PetscObject)layer)->name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsView(MuonLayer layer, PetscViewer viewer)
{
  const MuonSlots slots = layer->slots;
  PetscInt        first = 0;

  PetscFunctionBegin;
  for (int k = 0; k < NSLOTS; first += slots->count[k++] * MuonBlocksCount_Private(&layer->blocks)) {
    void *data = MuonSlotData_Private(layer, k);

    if (data != NULL) PetscCall((*Slots[k]->view)(layer, data, slots->nstates > first ? slots->state + first : NULL, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotsReset(MuonLayer layer)
{
  const MuonSlots slots = layer->slots;

  PetscFunctionBegin;
  for (PetscInt n = 0; n < slots->nstates; n++) {
    PetscCall(MuonArrayDestroy(&slots->state[n].now));
    PetscCall(MuonArrayDestroy(&slots->state[n].next));
  }
  PetscCall(PetscFree(slots->state));
  PetscCall(PetscArrayzero(slots->count, NSLOTS));
  slots->nstates = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry that is not finite makes all norms here 0, so that ranks that need them can go on */
PetscErrorCode MuonSlotGetNorms(MuonLayer layer, const MuonMatrix *A, PetscBool rows, MuonSlotVectors *vectors, MuonStatus *status)
{
  PetscBool finite;

  PetscFunctionBegin;
  vectors->rows   = rows;
  vectors->length = (size_t)(rows ? A->columns : A->rows);
  vectors->count  = rows ? MuonArrayRows(&A->here) : MuonArrayColumns(&A->here);
  PetscCall(MuonLMOGetVectorNorms(layer->lmo, rows, A, &vectors->size, &vectors->exponent, &finite));
  PetscCall(MuonWorkspaceGet(layer->work, 3 * vectors->count * sizeof(double), &vectors->weight));
  vectors->f0 = vectors->weight + vectors->count;
  vectors->f1 = vectors->f0 + vectors->count;
  if (finite == PETSC_FALSE) {
    *status = MUON_STATUS_NANORINF;
    PetscCall(PetscArrayzero(vectors->size, vectors->count));
  }
  for (size_t k = 0; k < vectors->count; k++) vectors->weight[k] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was restored may be of the precision and in the memory of the layer's state */
PetscErrorCode MuonSlotMakeArray(const MuonArray *like, MuonSlotState *state)
{
  MuonArray given, host;

  PetscFunctionBegin;
  if (state->now.data != NULL && (state->now.precision != like->precision || state->now.memory != like->memory)) {
    given           = state->now;
    state->now.data = NULL;
    PetscCall(MuonArrayCreate(like, like->precision, &state->now));
    PetscCall(MuonArrayOnHost(&given, PETSC_TRUE, &host));
    MuonArrayAxpby(1, &host, 0, &state->now);
    PetscCall(MuonArrayOffHost(&given, PETSC_FALSE, &host));
    PetscCall(MuonArrayDestroy(&given));
  }
  if (state->now.data == NULL) PetscCall(MuonArrayCreate(like, like->precision, &state->now));
  if (state->next.data == NULL) PetscCall(MuonArrayCreate(like, like->precision, &state->next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotMakeState(size_t count, MuonSlotState *state)
{
  const MuonArray shape = {NULL, count, 1, count, MUON_DOUBLE, MUON_HOST, 0, 0};

  PetscFunctionBegin;
  PetscCall(MuonSlotMakeArray(&shape, state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotAverage(MuonSlotVectors *vectors, double beta, double over, MuonSlotState *state)
{
  double *now, *next;

  PetscFunctionBegin;
  PetscCall(MuonSlotMakeState(vectors->count, state));
  now  = (double *)state->now.data;
  next = (double *)state->next.data;
  for (size_t k = 0; k < vectors->count; k++) {
    next[k]          = beta * now[k] + (1 - beta) * (ldexp(vectors->size[k] * vectors->size[k], 2 * vectors->exponent[k]) / over);
    vectors->size[k] = frexp(sqrt(next[k]), &vectors->exponent[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSlotDivide(const MuonMatrix *A, const MuonSlotVectors *vectors, const MuonArray *B)
{
  const MuonArray *a = &A->here;

  PetscFunctionBegin;
  for (size_t k = 0; k < vectors->count; k++) vectors->weight[k] = -vectors->weight[k]; /* the factors of an LMO descend */
  MuonKernelVectorFactors(vectors->count, vectors->size, vectors->exponent, vectors->weight, vectors->f0, vectors->f1);
  MuonArrayKernels(a)->VectorScale(a->len, a->count, a->data, a->ld, vectors->rows ? !a->rowmajor : a->rowmajor, vectors->f0, vectors->f1, B->data, B->ld);
  PetscCall(PetscLogFlops(4.0 * (PetscLogDouble)MuonArrayEntries(a)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
