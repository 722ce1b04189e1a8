#include "../muonassemblychunks.h"
#include "../../kernels/dense/muonpanels.h"
#include <petscmuon/private/muonwire.h>
#include <math.h>

/* Entries that go through bfloat16 at once */
enum {
  STRIP = 1024
};

/*
   Packed rows: lines without gaps, in the order of memory, in the precision of the way; then zeros to the
   next 8 bytes. Of G that is the precision that was chosen, of D that of the item
*/
static size_t MuonAssemblyEntryBytes_Private(MuonAssembly assembly, const MuonAssemblyItem *item, PetscBool back)
{
  if (back == PETSC_FALSE && assembly->options.precision == MUON_ASSEMBLY_PRECISION_BF16) return 2;
  return item->precision == MUON_SINGLE || (back == PETSC_FALSE && assembly->options.precision == MUON_ASSEMBLY_PRECISION_SINGLE) ? sizeof(float) : sizeof(double);
}

static uint64_t MuonAssemblyRowBytes_Private(MuonAssembly assembly, const MuonAssemblyItem *item, PetscMPIInt rank, PetscBool back)
{
  const uint64_t entries = (uint64_t)(item->ranges[rank + 1] - item->ranges[rank]) * (uint64_t)item->columns;

  return (entries * MuonAssemblyEntryBytes_Private(assembly, item, back) + 7) / 8 * 8;
}

/* The rows of an item that a rank has, without gaps, in memory of the host or in none */
static MuonArray MuonAssemblyRowsArray_Private(const MuonAssemblyItem *item, PetscInt rows, MuonPrecision precision, void *data)
{
  MuonArray array;

  array.data      = data;
  array.len       = (size_t)(item->rowmajor ? item->columns : rows);
  array.count     = (size_t)(item->rowmajor ? rows : item->columns);
  array.ld        = array.len;
  array.precision = precision;
  array.memory    = MUON_HOST;
  array.rowmajor  = item->rowmajor;
  return array;
}

static void MuonAssemblyPackHost_Private(MuonAssembly assembly, const MuonAssemblyItem *item, const MuonArray *X, PetscBool back, unsigned char *to)
{
  const size_t entry = MuonAssemblyEntryBytes_Private(assembly, item, back), bytes = entry * MuonArrayEntries(X);

  if (bytes == 0) return; /* there may be no memory */
  memset(to + bytes, 0, (bytes + 7) / 8 * 8 - bytes);
  if (entry > 2) {
    const MuonArray packed = MuonArrayLike(X, entry == sizeof(float) ? MUON_SINGLE : MUON_DOUBLE, to);

    MuonArrayAxpby(1, X, 0, &packed);
    return;
  }
  for (size_t j = 0; j < X->count; j++) {
    for (size_t i = 0; i < X->len; i += STRIP) {
      const size_t count = PetscMin(X->len - i, STRIP);
      float        rounded[STRIP];

      /* What is not finite, or is not once it is rounded, must be seen by the oracle */
      if (MuonArrayKernels(X)->ToBF16(count, (char *)X->data + (i + j * X->ld) * MuonArrayEntryBytes(X), rounded)) {
        for (size_t k = 0; k < count; k++) rounded[k] = NAN;
      }
      MuonWireValuesEncode(MUON_WIRE_VALUES_BF16, count, rounded, to);
      to += 2 * count;
    }
  }
}

/* What is in the memory of a device passes through the host's, where messages are */
static PetscErrorCode MuonAssemblyPack_Private(MuonAssembly assembly, const MuonAssemblyItem *item, const MuonArray *X, PetscBool back, unsigned char *to)
{
  MuonArray host;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(MuonArrayGetPinned(assembly->work, X, PETSC_TRUE, &host));
  MuonAssemblyPackHost_Private(assembly, item, &host, back, to);
  PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonAssemblyUnpackHost_Private(MuonAssembly assembly, const MuonAssemblyItem *item, unsigned char *from, const MuonArray *Y)
{
  const size_t entry = MuonAssemblyEntryBytes_Private(assembly, item, PETSC_FALSE);

  if (MuonArrayEntries(Y) == 0) return;
  if (entry > 2) {
    const MuonArray packed = MuonArrayLike(Y, entry == sizeof(float) ? MUON_SINGLE : MUON_DOUBLE, from);

    MuonArrayAxpby(1, &packed, 0, Y);
    return;
  }
  for (size_t j = 0; j < Y->count; j++) {
    for (size_t i = 0; i < Y->len; i += STRIP) {
      float     rounded[STRIP];
      MuonArray packed, to = *Y;

      to.data  = (char *)Y->data + (i + j * Y->ld) * MuonArrayEntryBytes(Y);
      to.len   = PetscMin(Y->len - i, STRIP);
      to.count = 1;
      packed   = MuonArrayLike(&to, MUON_SINGLE, rounded);
      MuonWireValuesDecode(MUON_WIRE_VALUES_BF16, to.len, from, 0, rounded);
      MuonArrayAxpby(1, &packed, 0, &to);
      from += 2 * to.len;
    }
  }
}

static PetscErrorCode MuonAssemblyUnpack_Private(MuonAssembly assembly, const MuonAssemblyItem *item, unsigned char *from, const MuonArray *Y)
{
  MuonArray host;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(MuonArrayGetPinned(assembly->work, Y, PETSC_FALSE, &host));
  MuonAssemblyUnpackHost_Private(assembly, item, from, &host);
  PetscCall(MuonArrayPutPinned(Y, &host));
  PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Regions one after the other, in the order of ranks; returns their bytes */
static uint64_t MuonAssemblyPlace_Private(MuonAssemblyRows *rows, PetscMPIInt size)
{
  uint64_t offset = 0;

  for (PetscMPIInt r = 0; r < size; r++) {
    rows->offset[r] = rows->at[r] = offset;
    offset += MuonTransportPadded(rows->bytes[r]);
  }
  return offset;
}

static unsigned char *MuonAssemblyTake_Private(MuonAssembly assembly, const MuonAssemblyItem *item, MuonAssemblyRows *rows, PetscMPIInt region, PetscMPIInt rank, PetscBool back)
{
  unsigned char *at = rows->data + rows->at[region];

  rows->at[region] += MuonAssemblyRowBytes_Private(assembly, item, rank, back);
  return at;
}

/* Past the last item of a chunk */
static PetscInt MuonAssemblyEnd_Private(MuonAssembly assembly, PetscInt chunk)
{
  return PetscMin(assembly->nitems - chunk * assembly->chunk, assembly->chunk) + chunk * assembly->chunk;
}

/*
   What a chunk needs of a flight, and where; total[] are the bytes of out, in and all. What this rank keeps
   for itself has its place in `in`, and no bytes that MPI moves
*/
static void MuonAssemblyLayout_Private(MuonAssembly assembly, PetscInt chunk, PetscBool back, MuonAssemblyFlight *flight, uint64_t total[3], PetscBool *owned, PetscBool *gathered)
{
  const PetscInt    end = MuonAssemblyEnd_Private(assembly, chunk);
  const PetscMPIInt me = assembly->rank, size = assembly->size;

  *owned = *gathered = PETSC_FALSE;
  for (PetscMPIInt r = 0; r < size; r++) flight->out.bytes[r] = flight->in.bytes[r] = flight->all.bytes[r] = 0;
  for (PetscInt k = chunk * assembly->chunk; k < end; k++) {
    const MuonAssemblyItem *item  = &assembly->item[k];
    const PetscMPIInt       owner = assembly->owner[k];

    if (item->kind == MUON_ASSEMBLY_ALLGATHER) {
      *gathered = PETSC_TRUE;
      if (back == PETSC_TRUE) flight->in.bytes[me] += MuonAssemblyRowBytes_Private(assembly, item, me, back);
      for (PetscMPIInt r = 0; r < size && back == PETSC_FALSE; r++) flight->all.bytes[r] += MuonAssemblyRowBytes_Private(assembly, item, r, back);
    } else if (item->kind == MUON_ASSEMBLY_OWNER) {
      MuonAssemblyRows *one = back == PETSC_TRUE ? &flight->in : &flight->out, *every = back == PETSC_TRUE ? &flight->out : &flight->in;

      *owned = PETSC_TRUE;
      if (owner != me) one->bytes[owner] += MuonAssemblyRowBytes_Private(assembly, item, me, back);
      else {
        flight->in.bytes[me] += MuonAssemblyRowBytes_Private(assembly, item, me, back);
        for (PetscMPIInt r = 0; r < size; r++) every->bytes[r] += r == me ? 0 : MuonAssemblyRowBytes_Private(assembly, item, r, back);
      }
    }
  }
  total[0]             = MuonAssemblyPlace_Private(&flight->out, size);
  total[1]             = MuonAssemblyPlace_Private(&flight->in, size);
  total[2]             = MuonAssemblyPlace_Private(&flight->all, size);
  flight->in.bytes[me] = 0;
}

static PetscErrorCode MuonAssemblyRowsCreate_Private(MuonAssemblyRows *rows, PetscMPIInt size)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(size, &rows->offset, size, &rows->bytes, size, &rows->at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssemblyRowsDestroy_Private(MuonAssemblyRows *rows)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(rows->offset, rows->bytes, rows->at));
  PetscCall(PetscFree(rows->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each flight has room for the largest of its chunks, and no more */
PetscErrorCode MuonAssemblyFlightsCreate_Private(MuonAssembly assembly)
{
  const PetscInt chunks = assembly->nitems == 0 ? 0 : (assembly->nitems - 1) / assembly->chunk + 1;

  PetscFunctionBegin;
  assembly->chunks = chunks;
  assembly->depth  = PetscMin(assembly->options.warmup, chunks) + 1;
  PetscCall(PetscCalloc2(assembly->depth, &assembly->gather, assembly->depth, &assembly->scatter));
  for (PetscInt f = 0; f < 2 * assembly->depth; f++) {
    const PetscBool     back   = f < assembly->depth ? PETSC_FALSE : PETSC_TRUE;
    MuonAssemblyFlight *flight = back == PETSC_TRUE ? &assembly->scatter[f - assembly->depth] : &assembly->gather[f];
    MuonAssemblyRows   *rows[] = {&flight->out, &flight->in, &flight->all};
    PetscBool           owned, gathered;

    for (int k = 0; k < 3; k++) PetscCall(MuonAssemblyRowsCreate_Private(rows[k], assembly->size));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveInit(&assembly->transport, &flight->move)));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveInit(&assembly->transport, &flight->moveall)));
    for (PetscInt chunk = f % assembly->depth; chunk < chunks; chunk += assembly->depth) {
      uint64_t total[3];

      MuonAssemblyLayout_Private(assembly, chunk, back, flight, total, &owned, &gathered);
      for (int k = 0; k < 3; k++) rows[k]->capacity = PetscMax(rows[k]->capacity, (size_t)total[k]);
    }
    for (int k = 0; k < 3; k++) PetscCall(PetscMalloc1(rows[k]->capacity, &rows[k]->data));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyFlightsDestroy_Private(MuonAssembly assembly)
{
  PetscFunctionBegin;
  for (PetscInt f = 0; f < 2 * assembly->depth; f++) {
    MuonAssemblyFlight *flight = f < assembly->depth ? &assembly->gather[f] : &assembly->scatter[f - assembly->depth];

    PetscCall(MuonAssemblyRowsDestroy_Private(&flight->out));
    PetscCall(MuonAssemblyRowsDestroy_Private(&flight->in));
    PetscCall(MuonAssemblyRowsDestroy_Private(&flight->all));
    MuonTransportMoveFree(&flight->move);
    MuonTransportMoveFree(&flight->moveall);
  }
  PetscCall(PetscFree2(assembly->gather, assembly->scatter));
  assembly->depth = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyGetMemory(MuonAssembly assembly, PetscLogDouble *bytes)
{
  size_t scratch = 0;

  PetscFunctionBegin;
  if (assembly->ownwork == PETSC_TRUE) PetscCall(MuonWorkspaceGetBytes(assembly->work, &scratch));
  *bytes = (PetscLogDouble)scratch;
  for (PetscInt f = 0; f < assembly->depth; f++) {
    const MuonAssemblyFlight *gather = &assembly->gather[f], *scatter = &assembly->scatter[f];

    *bytes += (PetscLogDouble)gather->out.capacity + (PetscLogDouble)gather->in.capacity + (PetscLogDouble)gather->all.capacity + (PetscLogDouble)scatter->out.capacity + (PetscLogDouble)scatter->in.capacity;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyGetSentBytes(MuonAssembly assembly, PetscLogDouble *bytes, PetscLogDouble *own)
{
  PetscFunctionBegin;
  *bytes = (PetscLogDouble)(assembly->transport.bytes - assembly->bytesbefore);
  *own   = (PetscLogDouble)(assembly->transport.own - assembly->ownbefore);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssemblyInput_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k, MuonArray *G)
{
  const MuonAssemblyItem *item = &assembly->item[k];
  const PetscInt          rows = item->ranges[assembly->rank + 1] - item->ranges[assembly->rank];

  PetscFunctionBegin;
  PetscCall((*client->input)(client->ctx, k, G));
  PetscCheck(MuonArrayRows(G) == (size_t)rows && MuonArrayColumns(G) == (size_t)item->columns && G->precision == item->precision && !G->rowmajor == !item->rowmajor, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Item %s: the rows here are %zu x %zu, expected %" PetscInt_FMT " x %" PetscInt_FMT " of the precision and order that MuonAssemblyCreate() was told", item->name, MuonArrayRows(G), MuonArrayColumns(G), rows, item->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of G of a chunk leave */
static PetscErrorCode MuonAssemblyGather_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  const PetscInt      end    = MuonAssemblyEnd_Private(assembly, chunk);
  const PetscMPIInt   me     = assembly->rank;
  MuonAssemblyFlight *flight = &assembly->gather[chunk % assembly->depth];
  MuonAssemblyRows   *in = &flight->in, *out = &flight->out, *all = &flight->all;
  PetscBool           owned, gathered;
  uint64_t            total[3];

  PetscFunctionBegin;
  MuonAssemblyLayout_Private(assembly, chunk, PETSC_FALSE, flight, total, &owned, &gathered);
  for (PetscInt k = chunk * assembly->chunk; k < end; k++) {
    const MuonAssemblyItem *item  = &assembly->item[k];
    const PetscMPIInt       owner = assembly->owner[k];
    unsigned char          *to;
    MuonArray               G;
    MuonMark                mark;

    if (item->kind != MUON_ASSEMBLY_OWNER && item->kind != MUON_ASSEMBLY_ALLGATHER) continue;
    PetscCall(MuonWorkspaceMark(assembly->work, &mark));
    PetscCall(MuonAssemblyInput_Private(assembly, client, k, &G));
    PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
    if (item->kind == MUON_ASSEMBLY_ALLGATHER) to = MuonAssemblyTake_Private(assembly, item, all, me, me, PETSC_FALSE);
    else to = MuonAssemblyTake_Private(assembly, item, owner == me ? in : out, owner, me, PETSC_FALSE);
    PetscCall(MuonAssemblyPack_Private(assembly, item, &G, PETSC_FALSE, to));
    PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
    PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  }
  for (PetscMPIInt r = 0; r < assembly->size; r++) {
    in->at[r]  = in->offset[r];
    all->at[r] = all->offset[r];
  }
  if (assembly->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  if (owned == PETSC_TRUE) PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllToAllStart(&assembly->transport, &flight->move, out->data, out->offset, out->bytes, in->data, in->offset, in->bytes)));
  if (gathered == PETSC_TRUE) PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllGatherStart(&assembly->transport, &flight->moveall, all->data, all->offset, all->bytes)));
  PetscCall(MuonExchangeLogTransport_Private(&assembly->transport));
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssemblyWait_Private(MuonAssembly assembly, MuonAssemblyFlight *flight)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_AssemblyWait, 0, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveWait(&flight->move)));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveWait(&flight->moveall)));
  PetscCall(PetscLogEventEnd(MUON_AssemblyWait, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Called between the panels of large products: most implementations of MPI move nothing unless they are
   called
*/
static void MuonAssemblyProgress_Private(void *ctx)
{
  MuonAssembly assembly = (MuonAssembly)ctx;

  for (PetscInt f = 0; f < assembly->depth; f++) {
    MuonTransportMove *moves[] = {&assembly->gather[f].move, &assembly->gather[f].moveall, &assembly->scatter[f].move};

    for (int k = 0; k < 3; k++) {
      int       done;
      const int code = MuonTransportMoveTest(moves[k], &done);

      if (code != MPI_SUCCESS) assembly->testcode = code;
    }
  }
}

static PetscErrorCode MuonAssemblyOracle_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  MuonKernelSetProgress(MuonAssemblyProgress_Private, assembly);
  ierr = (*client->oracle)(client->ctx, k, G, D);
  MuonKernelSetProgress(NULL, NULL);
  PetscCall(ierr);
  PetscCall(MuonExchangeCheckTransport_Private(assembly->testcode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix is put together, goes through its oracle and is cut into rows again */
static PetscErrorCode MuonAssemblyApply_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k, MuonAssemblyRows *from, MuonAssemblyFlight *flight)
{
  const MuonAssemblyItem *item = &assembly->item[k];
  const PetscMPIInt       me   = assembly->rank;
  MuonArray               G    = MuonAssemblyRowsArray_Private(item, item->rows, item->precision, NULL), D;
  MuonMatrix              wholeG, wholeD;
  MuonMark                mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  G.memory = item->memory;
  PetscCall(MuonWorkspaceGetArray(assembly->work, &G, item->precision, &G));
  PetscCall(MuonWorkspaceGetArray(assembly->work, &G, item->precision, &D));
  for (PetscMPIInt r = 0; r < assembly->size; r++) {
    const MuonArray part = MuonArrayPart(&G, (size_t)item->ranges[r], 0, (size_t)(item->ranges[r + 1] - item->ranges[r]), (size_t)item->columns);

    PetscCall(MuonAssemblyUnpack_Private(assembly, item, MuonAssemblyTake_Private(assembly, item, from, r, r, PETSC_FALSE), &part));
  }
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  wholeG = MuonMatrixOfArray(&G);
  wholeD = MuonMatrixOfArray(&D);
  PetscCall(MuonAssemblyOracle_Private(assembly, client, k, &wholeG, &wholeD));
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  for (PetscMPIInt r = 0; r < assembly->size; r++) {
    const MuonArray part = MuonArrayPart(&D, (size_t)item->ranges[r], 0, (size_t)(item->ranges[r + 1] - item->ranges[r]), (size_t)item->columns);

    if (r != me && item->kind == MUON_ASSEMBLY_ALLGATHER) continue;
    PetscCall(MuonAssemblyPack_Private(assembly, item, &part, PETSC_TRUE, MuonAssemblyTake_Private(assembly, item, r == me ? &flight->in : &flight->out, r, r, PETSC_TRUE)));
  }
  PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The oracles of a chunk that has come; the rows of D leave */
static PetscErrorCode MuonAssemblyCompute_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  const PetscInt      end    = MuonAssemblyEnd_Private(assembly, chunk);
  MuonAssemblyFlight *gather = &assembly->gather[chunk % assembly->depth], *scatter = &assembly->scatter[chunk % assembly->depth];
  MuonAssemblyRows   *in = &scatter->in, *out = &scatter->out;
  PetscBool           owned, gathered;
  uint64_t            total[3];

  PetscFunctionBegin;
  PetscCall(MuonAssemblyWait_Private(assembly, gather));
  MuonAssemblyLayout_Private(assembly, chunk, PETSC_TRUE, scatter, total, &owned, &gathered);
  for (PetscInt k = chunk * assembly->chunk; k < end; k++) {
    if (assembly->item[k].kind == MUON_ASSEMBLY_ALLGATHER) PetscCall(MuonAssemblyApply_Private(assembly, client, k, &gather->all, scatter));
    if (assembly->item[k].kind == MUON_ASSEMBLY_OWNER && assembly->owner[k] == assembly->rank) PetscCall(MuonAssemblyApply_Private(assembly, client, k, &gather->in, scatter));
  }
  for (PetscMPIInt r = 0; r < assembly->size; r++) in->at[r] = in->offset[r];
  if (assembly->size == 1 || owned == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllToAllStart(&assembly->transport, &scatter->move, out->data, out->offset, out->bytes, in->data, in->offset, in->bytes)));
  PetscCall(MuonExchangeLogTransport_Private(&assembly->transport));
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An item that is not assembled, at its turn */
static PetscErrorCode MuonAssemblyPass_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k)
{
  const MuonAssemblyItem *item = &assembly->item[k];
  MuonArray               G, D;
  MuonMatrix              spreadG, spreadD;

  PetscFunctionBegin;
  PetscCall(MuonAssemblyInput_Private(assembly, client, k, &G));
  D = MuonArrayLike(&G, item->precision, NULL);
  if (item->kind == MUON_ASSEMBLY_GRAM) {
    PetscCall(MuonWorkspaceGetArray(assembly->work, &G, item->precision, &D));
    spreadG = MuonMatrixOfArray(&G);
    if (assembly->size > 1) {
      spreadG.comm   = assembly->inside;
      spreadG.rank   = assembly->rank;
      spreadG.size   = assembly->size;
      spreadG.rows   = item->rows;
      spreadG.first  = item->ranges[assembly->rank];
      spreadG.ranges = item->ranges;
    }
    spreadD      = spreadG;
    spreadD.here = D;
    PetscCall(MuonAssemblyOracle_Private(assembly, client, k, &spreadG, &spreadD));
  }
  PetscCall((*client->output)(client->ctx, k, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The outputs of a chunk whose rows of D have come */
static PetscErrorCode MuonAssemblyFinish_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  const PetscInt      end     = MuonAssemblyEnd_Private(assembly, chunk);
  const PetscMPIInt   me      = assembly->rank;
  MuonAssemblyFlight *scatter = &assembly->scatter[chunk % assembly->depth];

  PetscFunctionBegin;
  PetscCall(MuonAssemblyWait_Private(assembly, scatter));
  for (PetscInt k = chunk * assembly->chunk; k < end; k++) {
    const MuonAssemblyItem *item = &assembly->item[k];
    MuonArray               D, there;
    MuonMark                mark;

    PetscCall(MuonWorkspaceMark(assembly->work, &mark));
    if (item->kind == MUON_ASSEMBLY_OWNER || item->kind == MUON_ASSEMBLY_ALLGATHER) {
      unsigned char *from = MuonAssemblyTake_Private(assembly, item, &scatter->in, item->kind == MUON_ASSEMBLY_OWNER ? assembly->owner[k] : me, me, PETSC_TRUE);

      D = MuonAssemblyRowsArray_Private(item, item->ranges[me + 1] - item->ranges[me], item->precision, from);
      if (item->memory == MUON_DEVICE) {
        there        = D;
        there.memory = MUON_DEVICE;
        PetscCall(MuonWorkspaceGetArray(assembly->work, &there, item->precision, &there));
        MuonDeviceGet()->copy(MuonArrayBytes(&D), from, there.data);
        D = there;
      }
      PetscCall((*client->output)(client->ctx, k, &D));
    } else PetscCall(MuonAssemblyPass_Private(assembly, client, k));
    PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   As many chunks as the warm-up says are on their way to their owners while one is at its oracles, and as
   many are on their way back: who owns nothing of a chunk, or little, goes on to the next ones meanwhile. All
   ranks start the same messages in the same order, whatever has come and whatever failed.
*/
PetscErrorCode MuonAssemblyRun(MuonAssembly assembly, const MuonAssemblyClient *client)
{
  PetscInt warmup;

  PetscFunctionBegin;
  assembly->bytesbefore = assembly->transport.bytes;
  assembly->ownbefore   = assembly->transport.own;
  warmup                = assembly->depth - 1;
  for (PetscInt chunk = 0; chunk < warmup; chunk++) PetscCall(MuonAssemblyGather_Private(assembly, client, chunk));
  for (PetscInt chunk = 0; chunk < assembly->chunks; chunk++) {
    if (chunk + warmup < assembly->chunks) PetscCall(MuonAssemblyGather_Private(assembly, client, chunk + warmup));
    PetscCall(MuonAssemblyCompute_Private(assembly, client, chunk));
    if (chunk >= warmup) PetscCall(MuonAssemblyFinish_Private(assembly, client, chunk - warmup));
  }
  for (PetscInt chunk = assembly->chunks - warmup; chunk < assembly->chunks; chunk++) PetscCall(MuonAssemblyFinish_Private(assembly, client, chunk));
  PetscFunctionReturn(PETSC_SUCCESS);
}
