#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

static PetscErrorCode MuonVisitPiece_Private(Muon muon, MuonPiece *piece, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = piece->name;
  visitor->holder = MUON_STATE_WORKER;
  if (muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_WORKER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &piece->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &piece->Tnew));
  PetscCall(MuonStateVisitArray(visitor, "gradient.mean", PETSC_TRUE, PETSC_TRUE, &piece->mean));
  PetscCall(MuonStateVisitArray(visitor, "gradient.packed", PETSC_FALSE, PETSC_TRUE, &piece->packed));
  PetscCall(MuonCompressorVisitState(piece->up, visitor));
  visitor->holder = MUON_STATE_SERVER;
  if (muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_SERVER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &piece->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &piece->Mnew));
  PetscCall(MuonStateVisitArray(visitor, "sum", PETSC_TRUE, PETSC_TRUE, &piece->sum));
  PetscCall(MuonStateVisitArray(visitor, "weights", PETSC_TRUE, PETSC_FALSE, &piece->X));
  PetscCall(MuonStateVisitArray(visitor, "weights.new", PETSC_TRUE, PETSC_TRUE, &piece->Xnew));
  if (piece->serves) PetscCall(MuonCompressorVisitState(piece->down, visitor));
  PetscTryTypeMethod(muon, visitstate, piece, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVisitState(Muon muon, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->npieces; p++) PetscCall(MuonVisitPiece_Private(muon, &muon->piece[p], visitor));
  /* What layers keep: gradients of workers, and moments of rules, which are the servers' */
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    visitor->layer  = ((PetscObject)muon->layer[l])->name;
    visitor->holder = MUON_STATE_SERVER;
    PetscCall(MuonLayerVisitState(muon->layer[l], visitor));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAddMemory_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscLogDouble *bytes = (PetscLogDouble *)visitor->ctx;

  PetscFunctionBegin;
  /* A few numbers within an object are not counted */
  if (state->array != NULL) bytes[state->holder == MUON_STATE_WORKER ? 0 : 1] += (PetscLogDouble)state->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMemory - Gets the memory that an optimizer holds on this rank

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameters:
+ worker  - bytes of state as a worker: momentum, estimates, what its compressors keep and the buffers of gradients; the weights are the caller's
. server  - bytes of state as a server of layers, what its compressors keep among them, with what a step keeps until it is committed
- scratch - bytes of shared scratch and of messages

  Level: intermediate

.seealso: `Muon`, `MuonView()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonGetMemory(Muon muon, PetscLogDouble *worker, PetscLogDouble *server, PetscLogDouble *scratch)
{
  PetscLogDouble   bytes[2] = {0, 0}, packets = 0;
  size_t           shared = 0;
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit = MuonAddMemory_Private;
  visitor.ctx   = bytes;
  PetscCall(MuonVisitState(muon, &visitor));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscLogDouble some = 0;

    PetscCall(MuonExchangeGetMemory(muon->group[g]->exchange, &some));
    packets += some;
    if (muon->group[g]->assembly != NULL) PetscCall(MuonAssemblyGetMemory(muon->group[g]->assembly, &some));
    if (muon->group[g]->assembly != NULL) packets += some;
    if (muon->group[g]->votes != NULL) PetscCall(MuonVotesGetMemory_Private(muon->group[g]->votes, &some));
    if (muon->group[g]->votes != NULL) packets += some;
  }
  if (muon->work != NULL) PetscCall(MuonWorkspaceGetBytes(muon->work, &shared));
  for (PetscInt p = 0; p < muon->npieces; p++) packets += (PetscLogDouble)(muon->piece[p].up_own.capacity + muon->piece[p].down_got.capacity);
  if (worker != NULL) *worker = bytes[0];
  if (server != NULL) *server = bytes[1];
  if (scratch != NULL) *scratch = (PetscLogDouble)shared + packets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The search for one state of a layer */
typedef struct {
  const char *layer, *piece, *name;
  MuonArray   to;
  PetscBool   kept;
} MuonStateSearch;

static PetscErrorCode MuonCopyState_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonStateSearch *search = (MuonStateSearch *)visitor->ctx;
  PetscBool        layer, piece, name;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(state->layer, search->layer, &layer));
  PetscCall(PetscStrcmp(state->layer, search->piece, &piece));
  PetscCall(PetscStrcmp(state->name, search->name, &name));
  if ((layer == PETSC_FALSE && piece == PETSC_FALSE) || name == PETSC_FALSE || state->entrywise == PETSC_FALSE || state->scratch) PetscFunctionReturn(PETSC_SUCCESS);
  search->kept = PETSC_TRUE;
  for (size_t i = 0; i < MuonArrayRows(state->array) && search->to.data != NULL; i++) {
    for (size_t j = 0; j < MuonArrayColumns(state->array); j++) {
      const MuonArray from = MuonArrayPart(state->array, i, j, 1, 1), to = MuonArrayPart(&search->to, i, j, 1, 1);

      MuonArrayAxpby(1, &from, 0, &to);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerState - Copies one state of a layer that this rank keeps

  Not Collective

  Input Parameters:
+ muon  - an optimizer that is set up
. layer - one of its layers
- name  - what: `momentum`, of this rank as a worker or as the layer's server; `weights`, of the server where the workers' are not the same; `estimate`, what the server of `MUONEF21` believes the momentum of this rank to be;
          `aggregate`, the mean of these at the server; and what a rule keeps, as `adamw.mean` and `adamw.square`

  Output Parameters:
+ A    - a `MATSEQDENSE` or `MATMPIDENSE` with the columns of the layer and, here, the rows whose state this rank keeps, all of them where its matrix is on one rank, or the entries as one column for a slice of a parallel
         vector; gets the state; may be `NULL`
- kept - whether this rank keeps such a state; `A` is not touched where it does not

  Level: advanced

  Note:
  A state that would be equal to another matrix, or that a step makes afresh, is not kept\: with the compressor identity the estimate is the momentum.

.seealso: `Muon`, `MUONEF21`, `MuonLayerGetServerWeights()`, `MuonGetMemory()`
@*/
PetscErrorCode MuonGetLayerState(Muon muon, MuonLayer layer, const char name[], Mat A, PetscBool *kept)
{
  MuonStateVisitor visitor;
  MuonStateSearch  search;
  MuonMatrix       matrix;
  MuonPiece       *piece;
  PetscBool        dense;
  PetscInt         m, n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(name, 3);
  PetscAssertPointer(kept, 5);
  PetscCall(MuonPieceFind(muon, layer, &piece));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  PetscCall(PetscMemzero(&search, sizeof(search)));
  search.layer  = ((PetscObject)layer)->name;
  search.piece  = piece->name;
  search.name   = name;
  visitor.visit = MuonCopyState_Private;
  visitor.ctx   = &search;
  if (A != NULL) {
    PetscValidHeaderSpecific(A, MAT_CLASSID, 4);
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
    PetscCall(MatGetSize(A, NULL, &n));
    PetscCall(MatGetLocalSize(A, &m, NULL));
    PetscCheck(dense && m == piece->rows && n == layer->N, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Layer \"%s\": a matrix of type %s and %" PetscInt_FMT " x %" PetscInt_FMT " entries here for its state %s, expected %s or %s of %" PetscInt_FMT " x %" PetscInt_FMT, search.layer, ((PetscObject)A)->type_name, m, n, name, MATSEQDENSE,
               MATMPIDENSE, piece->rows, layer->N);
    PetscCall(MuonMatGetMatrix(A, PETSC_TRUE, &matrix));
    search.to = matrix.here;
  }
  PetscCall(MuonVisitState(muon, &visitor));
  if (A != NULL) PetscCall(MuonMatRestoreMatrix(A, PETSC_TRUE, &matrix));
  *kept = search.kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}
