#include "muoninterface.h" /*I "petscmuon.h" I*/
#include <errno.h>

static PetscErrorCode MuonVisitShard_Private(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  if (muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &shard->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &MuonShardNext(shard)->Tnew));
  PetscCall(MuonStateVisitArray(visitor, "gradient.mean", PETSC_TRUE, PETSC_TRUE, &shard->port->mean));
  if (shard->port->sum != NULL) PetscCall(MuonStateVisitArray(visitor, "gradient.packed", PETSC_FALSE, PETSC_TRUE, &shard->port->sum->packed));
  PetscCall(MuonStateVisitArray(visitor, "momentum.weighted", PETSC_TRUE, PETSC_TRUE, &shard->weighted));
  if (MuonPortServes(shard->port)) PetscCall(MuonCompressorVisitState(shard->up, visitor));
  visitor->holder = muon->nested != NULL ? MUON_STATE_WORKER : MUON_STATE_SERVER;
  if (muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &shard->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &shard->Mnew));
  PetscCall(MuonStateVisitArray(visitor, "sum", PETSC_TRUE, PETSC_TRUE, &shard->sum));
  PetscCall(MuonStateVisitArray(visitor, "weights", PETSC_TRUE, PETSC_FALSE, &shard->X));
  PetscCall(MuonStateVisitArray(visitor, "weights.new", PETSC_TRUE, PETSC_TRUE, &shard->Xnew));
  if (MuonShardOwns(shard)) PetscCall(MuonCompressorVisitState(shard->down, visitor));
  PetscTryTypeMethod(muon, visitstate, shard, visitor);
  PetscCall(MuonRoundsVisitState_Private(shard, visitor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVisitState(Muon muon, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  if (muon->nested != NULL) {
    visitor->prefix = "outer.";
    PetscCall(MuonVisitState(muon->nested, visitor));
    visitor->prefix = NULL;
  }
  visitor->of    = (PetscObject)muon;
  visitor->alone = muon->nested != NULL ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonVisitShard_Private(muon, &muon->shard[p], visitor));
  /* State of layers: gradients of workers, and moments of their optimizers, at the servers */
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    visitor->layer = ((PetscObject)muon->layer[l])->name;
    visitor->shard = MuonShardOf(muon->layer[l]) != NULL ? MuonShardOf(muon->layer[l])->name : NULL;
    PetscCall(MuonLayerVisitState(muon->layer[l], visitor));
  }
  MuonTryAddons(muon, visitstate, muon, visitor);
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
+ worker  - bytes of state as a worker: momentum, estimates, state of its compressors, gradient buffers; not the caller's weights
. server  - bytes of state as a server of layers, with the state of its compressors and what a step keeps until it is committed
- scratch - bytes of shared scratch and of messages

  Level: intermediate

.seealso: `Muon`, `MuonView()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonGetMemory(Muon muon, PetscLogDouble *worker, PetscLogDouble *server, PetscLogDouble *scratch)
{
  PetscLogDouble   bytes[2] = {0, 0}, packets = 0;
  size_t           shared  = 0;
  MuonStateVisitor visitor = {0};

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  visitor.visit = MuonAddMemory_Private;
  visitor.ctx   = bytes;
  PetscCall(MuonVisitState(muon, &visitor));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscLogDouble some = 0;

    PetscCall(MuonExchangeGetMemory(muon->group[g]->exchange, &some));
    packets += some;
    if (muon->group[g]->server != NULL) PetscCall(MuonAssemblyGetMemory(muon->group[g]->server->assembly, &some));
    if (muon->group[g]->server != NULL) packets += some;
    if (muon->group[g]->ops->getmemory == NULL) continue;
    PetscCall((*muon->group[g]->ops->getmemory)(muon->group[g], &some));
    packets += some;
  }
  if (muon->work != NULL) PetscCall(MuonWorkspaceGetBytes(muon->work, &shared));
  for (PetscInt p = 0; p < muon->nshards; p++) packets += (PetscLogDouble)(muon->shard[p].round->up_own.capacity + muon->shard[p].round->down_got.capacity);
  if (worker != NULL) *worker = bytes[0];
  if (server != NULL) *server = bytes[1];
  if (scratch != NULL) *scratch = (PetscLogDouble)shared + packets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The search for one state of a layer by its name */
typedef struct {
  const char *layer, *shard, *name;
  PetscBool   server, kept, fits; /* a server's state is requested; it is there; it has the shape of the matrix */
  size_t      rows, columns;
  MuonArray   matrix;
} MuonStateSearch;

/* What a compressor keeps has one name at a worker and at a server */
#define MUON_STATE_OF_SERVER "server."

static PetscErrorCode MuonCopyState_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonStateSearch *search = (MuonStateSearch *)visitor->ctx;
  /* What the optimizer has beside layers counts with each of them */
  const int of = state->layer[0] == '\0' || strcmp(state->layer, search->layer) == 0 || strcmp(state->layer, search->shard) == 0;

  PetscFunctionBegin;
  if (search->kept || state->scratch || !of || strcmp(state->name, search->name) != 0 || (search->server && visitor->holder != MUON_STATE_SERVER)) PetscFunctionReturn(PETSC_SUCCESS);
  search->kept    = PETSC_TRUE;
  search->rows    = state->array != NULL ? MuonArrayRows(state->array) : 1;
  search->columns = state->array != NULL ? MuonArrayColumns(state->array) : 1;
  search->fits    = search->rows == MuonArrayRows(&search->matrix) && search->columns == MuonArrayColumns(&search->matrix) ? PETSC_TRUE : PETSC_FALSE;
  if (search->matrix.data == NULL || search->fits == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (state->array != NULL) MuonArrayCopyMatrix(state->array, &search->matrix);
  else {
    PetscCheck(state->bytes == sizeof(int) || state->bytes == sizeof(PetscInt64), PETSC_COMM_SELF, PETSC_ERR_PLIB, "State %s has %zu bytes, expected an integer", state->name, state->bytes);
    *(PetscScalar *)search->matrix.data = (PetscScalar)(state->bytes == sizeof(int) ? *(int *)state->data : *(PetscInt64 *)state->data);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerState - Copies one state matrix of a layer on this rank

  Not Collective

  Input Parameters:
+ muon  - an optimizer that is set up
. layer - one of its layers
- name  - `momentum`, of this rank as a worker or as the layer's server; `weights`, the server's own copy if it differs from the workers'; `estimate`, the estimate G_j of this rank's momentum in `MUONEF21`;
          `aggregate`, the mean of the estimates at the server; `excess`, minus the error e_j of `MUONEF14`; `control`, the control variate C_j of `MUONLOCAL`; and the state of a layer's optimizer or a compressor, as
          `adamw.mean`, `adamw.square` and `compressor.basis[0]`, at a server `server.compressor.basis[0]`

  Output Parameters:
+ A    - a `MATSEQDENSE` or `MATMPIDENSE` for the state, or `NULL`. It has the columns of the layer and, on this rank, the rows whose state this rank keeps, which are all rows if the matrix is on one rank. For a range of a parallel
         vector it has the entries as one column. State that is not in rows of the layer has its own shape, 1 x 1 for a number
- kept - whether this rank keeps such a state; otherwise `A` does not change

  Level: advanced

  Note:
  A state that equals another matrix, or that each step computes anew, is not kept. With the compressor identity, for
  example, the estimate is the momentum.

.seealso: `Muon`, `MUONEF21`, `MuonLayerGetServerWeights()`, `MuonGetMemory()`
@*/
PetscErrorCode MuonGetLayerState(Muon muon, MuonLayer layer, const char name[], Mat A, PetscBool *kept)
{
  MuonStateVisitor visitor = {0};
  MuonStateSearch  search  = {0};
  MuonMatrix       matrix;
  MuonShard       *shard;
  PetscBool        dense;
  const size_t     length = strlen(MUON_STATE_OF_SERVER);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(name, 3);
  if (A != NULL) PetscValidHeaderSpecific(A, MAT_CLASSID, 4);
  PetscAssertPointer(kept, 5);
  PetscCall(MuonShardFind(muon, layer, &shard));
  search.server  = strncmp(name, MUON_STATE_OF_SERVER, length) == 0 ? PETSC_TRUE : PETSC_FALSE;
  search.layer   = ((PetscObject)layer)->name;
  search.shard   = shard->name;
  search.name    = name + (search.server ? length : 0);
  search.fits    = PETSC_TRUE;
  visitor.visit  = MuonCopyState_Private;
  visitor.ctx    = &search;
  visitor.onhost = PETSC_TRUE;
  if (A != NULL) {
    PetscCall(MuonLayerCheckReal_Private(layer));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
    PetscCheck(dense, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": a matrix of type %s for its state %s, expected %s or %s", search.layer, ((PetscObject)A)->type_name, name, MATSEQDENSE, MATMPIDENSE);
    PetscCall(MuonMatGetMatrix(A, PETSC_TRUE, &matrix));
    search.matrix = matrix.here;
  }
  PetscCall(MuonVisitState(muon, &visitor));
  if (A != NULL) PetscCall(MuonMatRestoreMatrix(A, PETSC_TRUE, &matrix));
  PetscCheck(A == NULL || search.fits, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Layer \"%s\": a matrix of type %s and %zu x %zu entries here for its state %s, expected %s or %s of %zu x %zu", search.layer, ((PetscObject)A)->type_name,
             MuonArrayRows(&search.matrix), MuonArrayColumns(&search.matrix), name, MATSEQDENSE, MATMPIDENSE, search.rows, search.columns);
  *kept = search.kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewWeights - Writes the weights of all layers to a binary file, as matrices

  Collective

  Input Parameters:
+ muon   - the optimizer
- viewer - of type `PETSCVIEWERBINARY`, on the ranks of the optimizer, opened to write, without MPI-IO

  Level: intermediate

  Note:
  The file has one dense matrix of `PetscScalar` for each layer, in the order in which the layers were added, also for
  layers that are vectors, arrays or frozen. `MatLoad()` reads each of them on any number of ranks, and PETSc's
  PetscBinaryIO reads them in Python. They are the workers' weights, at which gradients are computed.

.seealso: `Muon`, `MuonSetCheckpoint()`, `MuonView()`, `MuonLayerGetWeights()`
@*/
PetscErrorCode MuonViewWeights(Muon muon, PetscViewer viewer)
{
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);
  PetscViewer   own;
  PetscFileMode mode;
  PetscBool     binary, mpiio;
  const char   *name;
  int           error = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(muon, 1, viewer, 2);
  PetscCall(MuonSetUp(muon));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCheck(binary, comm, PETSC_ERR_SUP, "A viewer of type %s, expected one of type %s", ((PetscObject)viewer)->type_name, PETSCVIEWERBINARY);
  PetscCall(PetscViewerBinaryGetUseMPIIO(viewer, &mpiio));
  PetscCall(PetscViewerFileGetMode(viewer, &mode));
  PetscCheck(!mpiio && mode != FILE_MODE_READ, comm, PETSC_ERR_SUP, "A viewer that was opened to read, or with MPI-IO, expected one that was opened to write");
  PetscCall(PetscViewerFileGetName(viewer, &name));
  PetscCall(PetscViewerGetSubViewer(viewer, PETSC_COMM_SELF, &own));
  if (muon->rank == 0) PetscCall(PetscViewerPushFormat(own, PETSC_VIEWER_NATIVE));
  /* Errors of rank 0 go to the others at the end, so that no rank waits. For a distributed layer the ranks of its worker take part */
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    const MuonWorkerGrid grid = MuonGridOf(muon, l);
    Mat                  full;

    if (grid->worker != grid->worker_of[0]) continue;
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, muon->layer[l]->m, muon->layer[l]->n, NULL, &full));
    PetscCall(MuonLayerGetFullWeights(muon->layer[l], full));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    if (muon->rank == 0 && error == 0 && MatView(full, own) != PETSC_SUCCESS) error = errno != 0 ? errno : EIO;
    PetscCall(PetscPopErrorHandler());
    PetscCall(MatDestroy(&full));
  }
  if (muon->rank == 0) PetscCall(PetscViewerPopFormat(own));
  PetscCall(PetscViewerRestoreSubViewer(viewer, PETSC_COMM_SELF, &own));
  PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  PetscCheck(error == 0, comm, PETSC_ERR_FILE_WRITE, "%s: cannot write to it: %s", name, strerror(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}
