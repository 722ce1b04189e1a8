#include "../muonassemblychunks.h"
#include "../../kernels/dense/muonpanels.h"
#include <petscmuon/private/muonwire.h>
#include <math.h>

/* Entries that go through bfloat16 at once */
#define STRIP 1024

/*
   Packed rows: lines without gaps, in the order of memory, in the precision of the direction; then zeros to the next 8 bytes. G
   has the chosen precision, D that of the item
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
  array.pairs     = 0;
  return array;
}

/* Data in device memory is copied to the host, where messages are */
static PetscErrorCode MuonAssemblyPack_Private(MuonAssembly assembly, const MuonAssemblyItem *item, const MuonArray *X, PetscBool back, unsigned char *to)
{
  const size_t entry = MuonAssemblyEntryBytes_Private(assembly, item, back), bytes = entry * MuonArrayEntries(X);
  MuonArray    host, packed;
  MuonMark     mark;

  PetscFunctionBegin;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS); /* there may be no memory */
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(MuonArrayGetPinned(assembly->work, X, PETSC_TRUE, &host));
  memset(to + bytes, 0, (bytes + 7) / 8 * 8 - bytes);
  packed = MuonArrayLike(&host, entry == sizeof(double) ? MUON_DOUBLE : MUON_SINGLE, to);
  if (entry > 2) MuonArrayAxpby(1, &host, 0, &packed);
  for (size_t j = 0; j < host.count && entry == 2; j++) {
    for (size_t i = 0, count; i < host.len; i += count) {
      float strip[STRIP];

      count = PetscMin(host.len - i, STRIP);
      /* What is not finite, or is not once it is rounded, must reach the LMO */
      if (MuonArrayKernels(&host)->ToSingle(count, (char *)host.data + (i + j * host.ld) * MuonArrayEntryBytes(&host), 1, strip)) {
        for (size_t k = 0; k < count; k++) strip[k] = NAN;
      }
      MuonWireValuesEncode(MUON_WIRE_VALUES_BF16, count, strip, to + 2 * (i + j * host.len));
    }
  }
  PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of G alone: the rows of D are read where they lie */
static PetscErrorCode MuonAssemblyUnpack_Private(MuonAssembly assembly, const MuonAssemblyItem *item, unsigned char *from, const MuonArray *Y)
{
  const size_t entry = MuonAssemblyEntryBytes_Private(assembly, item, PETSC_FALSE);
  MuonArray    host, packed;
  MuonMark     mark;

  PetscFunctionBegin;
  if (MuonArrayEntries(Y) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(MuonArrayGetPinned(assembly->work, Y, PETSC_FALSE, &host));
  packed = MuonArrayLike(&host, entry == sizeof(double) ? MUON_DOUBLE : MUON_SINGLE, from);
  if (entry > 2) MuonArrayAxpby(1, &packed, 0, &host);
  for (size_t j = 0; j < host.count && entry == 2; j++) {
    for (size_t i = 0; i < host.len; i += STRIP) {
      float     strip[STRIP];
      MuonArray to = host;

      to.data  = (char *)host.data + (i + j * host.ld) * MuonArrayEntryBytes(&host);
      to.len   = PetscMin(host.len - i, STRIP);
      to.count = 1;
      packed   = MuonArrayLike(&to, MUON_SINGLE, strip);
      MuonWireValuesDecode(MUON_WIRE_VALUES_BF16, to.len, from + 2 * (i + j * host.len), 0, strip);
      MuonArrayAxpby(1, &packed, 0, &to);
    }
  }
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

static PetscBool MuonAssemblyIsWhole_Private(const MuonAssemblyItem *item)
{
  return item->kind == MUON_ASSEMBLY_OWNER || item->kind == MUON_ASSEMBLY_ALLGATHER ? PETSC_TRUE : PETSC_FALSE;
}

static MuonAssemblyFlight *MuonAssemblyFlight_Private(MuonAssembly assembly, PetscInt chunk, PetscBool back)
{
  return &assembly->flight[chunk % assembly->depth + (back ? assembly->depth : 0)];
}

/*
   The layout of a chunk in a flight; total[] are the bytes of out, in and all. This rank's own part is in `in`, without bytes
   that MPI moves
*/
static void MuonAssemblyLayout_Private(MuonAssembly assembly, PetscInt chunk, PetscBool back, MuonAssemblyFlight *flight, uint64_t total[3])
{
  const PetscMPIInt me = assembly->rank, size = assembly->size;

  flight->owned = flight->gathered = PETSC_FALSE;
  for (int w = 0; w < 3; w++) memset(flight->rows[w].bytes, 0, (size_t)size * sizeof(*flight->rows[w].bytes));
  for (PetscInt k = chunk * assembly->chunk; k < MuonAssemblyEnd_Private(assembly, chunk); k++) {
    const MuonAssemblyItem *item  = &assembly->item[k];
    const PetscMPIInt       owner = assembly->owner[k];

    if (MuonAssemblyIsWhole_Private(item) == PETSC_FALSE) continue;
    if (item->kind == MUON_ASSEMBLY_OWNER) flight->owned = PETSC_TRUE;
    else if (back == PETSC_FALSE) flight->gathered = PETSC_TRUE;
    for (PetscMPIInt r = 0; r < size; r++) {
      const uint64_t bytes = MuonAssemblyRowBytes_Private(assembly, item, r, back);

      if (item->kind == MUON_ASSEMBLY_ALLGATHER && back == PETSC_FALSE) flight->rows[ALL].bytes[r] += bytes;
      else if (r == me && (owner == me || item->kind == MUON_ASSEMBLY_ALLGATHER)) flight->rows[IN].bytes[me] += bytes;
      else if (owner == me) flight->rows[back ? OUT : IN].bytes[r] += bytes;
      else if (r == me) flight->rows[back ? IN : OUT].bytes[owner] += bytes;
    }
  }
  for (int w = 0; w < 3; w++) total[w] = MuonAssemblyPlace_Private(&flight->rows[w], size);
  flight->rows[IN].bytes[me] = 0;
}

/* Each flight has memory for the largest of its chunks, and no more */
PetscErrorCode MuonAssemblyFlightsCreate_Private(MuonAssembly assembly)
{
  const PetscInt chunks = assembly->nitems == 0 ? 0 : (assembly->nitems - 1) / assembly->chunk + 1;

  PetscFunctionBegin;
  assembly->chunks = chunks;
  assembly->depth  = PetscMin(assembly->options.warmup, chunks) + 1;
  PetscCall(PetscCalloc1(2 * assembly->depth, &assembly->flight));
  for (PetscInt f = 0; f < 2 * assembly->depth; f++) {
    MuonAssemblyFlight *flight = &assembly->flight[f];
    uint64_t            total[3], most[3] = {0, 0, 0};

    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveInit(&assembly->transport, &flight->move)));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportMoveInit(&assembly->transport, &flight->moveall)));
    for (int w = 0; w < 3; w++) PetscCall(PetscMalloc3(assembly->size, &flight->rows[w].offset, assembly->size, &flight->rows[w].bytes, assembly->size, &flight->rows[w].at));
    for (PetscInt chunk = f % assembly->depth; chunk < chunks; chunk += assembly->depth) {
      MuonAssemblyLayout_Private(assembly, chunk, f < assembly->depth ? PETSC_FALSE : PETSC_TRUE, flight, total);
      for (int w = 0; w < 3; w++) most[w] = PetscMax(most[w], total[w]);
    }
    for (int w = 0; w < 3; w++) {
      PetscCall(PetscMalloc1((size_t)most[w], &flight->rows[w].data));
      assembly->capacity += (PetscLogDouble)most[w];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyFlightsDestroy_Private(MuonAssembly assembly)
{
  PetscFunctionBegin;
  for (PetscInt f = 0; f < 2 * assembly->depth; f++) {
    MuonAssemblyFlight *flight = &assembly->flight[f];

    for (int w = 0; w < 3; w++) {
      PetscCall(PetscFree3(flight->rows[w].offset, flight->rows[w].bytes, flight->rows[w].at));
      PetscCall(PetscFree(flight->rows[w].data));
    }
    MuonTransportMoveFree(&flight->move);
    MuonTransportMoveFree(&flight->moveall);
  }
  PetscCall(PetscFree(assembly->flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyGetMemory(MuonAssembly assembly, PetscLogDouble *bytes)
{
  size_t scratch = 0;

  PetscFunctionBegin;
  if (assembly->ownwork) PetscCall(MuonWorkspaceGetBytes(assembly->work, &scratch));
  *bytes = (PetscLogDouble)scratch + assembly->capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyGetSentBytes(MuonAssembly assembly, PetscLogDouble *bytes, PetscLogDouble *own)
{
  PetscFunctionBegin;
  *bytes = (PetscLogDouble)(assembly->transport.bytes - assembly->bytesbefore);
  *own   = (PetscLogDouble)(assembly->transport.own - assembly->ownbefore);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a chunk sends leaves, and what comes is read from its beginning */
static PetscErrorCode MuonAssemblyStart_Private(MuonAssembly assembly, MuonAssemblyFlight *flight)
{
  MuonAssemblyRows *in = &flight->rows[IN], *out = &flight->rows[OUT], *all = &flight->rows[ALL];

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(in->at, in->offset, assembly->size));
  PetscCall(PetscArraycpy(all->at, all->offset, assembly->size));
  if (assembly->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  if (flight->owned) PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllToAllStart(&assembly->transport, &flight->move, out->data, out->offset, out->bytes, in->data, in->offset, in->bytes)));
  if (flight->gathered) PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllGatherStart(&assembly->transport, &flight->moveall, all->data, all->offset, all->bytes)));
  PetscCall(MuonExchangeLogTransport_Private(&assembly->transport));
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of G of a chunk leave */
static PetscErrorCode MuonAssemblyGather_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  const PetscMPIInt   me     = assembly->rank;
  MuonAssemblyFlight *flight = MuonAssemblyFlight_Private(assembly, chunk, PETSC_FALSE);
  uint64_t            total[3];

  PetscFunctionBegin;
  MuonAssemblyLayout_Private(assembly, chunk, PETSC_FALSE, flight, total);
  for (PetscInt k = chunk * assembly->chunk; k < MuonAssemblyEnd_Private(assembly, chunk); k++) {
    const MuonAssemblyItem *item  = &assembly->item[k];
    const PetscMPIInt       owner = item->kind == MUON_ASSEMBLY_OWNER ? assembly->owner[k] : me;
    MuonAssemblyRows       *rows  = &flight->rows[item->kind == MUON_ASSEMBLY_ALLGATHER ? ALL : owner == me ? IN : OUT];
    MuonArray               G;
    MuonMark                mark;

    if (MuonAssemblyIsWhole_Private(item) == PETSC_FALSE) continue;
    PetscCall(MuonWorkspaceMark(assembly->work, &mark));
    PetscCall((*client->input)(client->ctx, k, &G));
    PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
    PetscCall(MuonAssemblyPack_Private(assembly, item, &G, PETSC_FALSE, MuonAssemblyTake_Private(assembly, item, rows, owner, me, PETSC_FALSE)));
    PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
    PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  }
  PetscCall(MuonAssemblyStart_Private(assembly, flight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssemblyWait_Private(MuonAssemblyFlight *flight)
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

  for (PetscInt f = 0; f < 2 * assembly->depth; f++) {
    int       done;
    const int codes[] = {MuonTransportMoveTest(&assembly->flight[f].move, &done), MuonTransportMoveTest(&assembly->flight[f].moveall, &done)};

    for (int k = 0; k < 2; k++) assembly->testcode = codes[k] != MPI_SUCCESS ? codes[k] : assembly->testcode;
  }
}

static PetscErrorCode MuonAssemblyLMO_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  MuonKernelSetProgress(MuonAssemblyProgress_Private, assembly);
  ierr = (*client->lmo)(client->ctx, k, G, D);
  MuonKernelSetProgress(NULL, NULL);
  PetscCall(ierr);
  PetscCall(MuonExchangeCheckTransport_Private(assembly->testcode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonArray MuonAssemblyPart_Private(const MuonAssemblyItem *item, const MuonArray *whole, PetscMPIInt r)
{
  return MuonArrayPart(whole, (size_t)item->ranges[r], 0, (size_t)(item->ranges[r + 1] - item->ranges[r]), (size_t)item->columns);
}

/* A matrix is assembled, its LMO is computed, and the step is cut into rows */
static PetscErrorCode MuonAssemblyApply_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k, MuonAssemblyRows *from, MuonAssemblyFlight *flight)
{
  const MuonAssemblyItem *item = &assembly->item[k];
  const PetscMPIInt       me   = assembly->rank;
  MuonArray               G    = MuonAssemblyRowsArray_Private(item, item->rows, item->precision, NULL), D, part;
  MuonMatrix              wholeG, wholeD;
  MuonMark                mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(assembly->work, &mark));
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  G.memory = item->memory;
  PetscCall(MuonWorkspaceGetArray(assembly->work, &G, item->precision, &G));
  PetscCall(MuonWorkspaceGetArray(assembly->work, &G, item->precision, &D));
  for (PetscMPIInt r = 0; r < assembly->size; r++) {
    part = MuonAssemblyPart_Private(item, &G, r);
    PetscCall(MuonAssemblyUnpack_Private(assembly, item, MuonAssemblyTake_Private(assembly, item, from, r, r, PETSC_FALSE), &part));
  }
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  wholeG = MuonMatrixOfArray(&G);
  wholeD = MuonMatrixOfArray(&D);
  PetscCall(MuonAssemblyLMO_Private(assembly, client, k, &wholeG, &wholeD));
  PetscCall(PetscLogEventBegin(MUON_Assembly, 0, 0, 0, 0));
  for (PetscMPIInt r = 0; r < assembly->size; r++) {
    if (r != me && item->kind == MUON_ASSEMBLY_ALLGATHER) continue;
    part = MuonAssemblyPart_Private(item, &D, r);
    PetscCall(MuonAssemblyPack_Private(assembly, item, &part, PETSC_TRUE, MuonAssemblyTake_Private(assembly, item, &flight->rows[r == me ? IN : OUT], r, r, PETSC_TRUE)));
  }
  PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Assembly, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The LMOs of a chunk that has come; the rows of D leave */
static PetscErrorCode MuonAssemblyCompute_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  MuonAssemblyFlight *gather = MuonAssemblyFlight_Private(assembly, chunk, PETSC_FALSE), *scatter = MuonAssemblyFlight_Private(assembly, chunk, PETSC_TRUE);
  uint64_t            total[3];

  PetscFunctionBegin;
  PetscCall(MuonAssemblyWait_Private(gather));
  MuonAssemblyLayout_Private(assembly, chunk, PETSC_TRUE, scatter, total);
  for (PetscInt k = chunk * assembly->chunk; k < MuonAssemblyEnd_Private(assembly, chunk); k++) {
    if (assembly->item[k].kind == MUON_ASSEMBLY_ALLGATHER) PetscCall(MuonAssemblyApply_Private(assembly, client, k, &gather->rows[ALL], scatter));
    if (assembly->owner[k] == assembly->rank) PetscCall(MuonAssemblyApply_Private(assembly, client, k, &gather->rows[IN], scatter));
  }
  PetscCall(MuonAssemblyStart_Private(assembly, scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An item that is not assembled, at its turn */
static PetscErrorCode MuonAssemblyPass_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt k)
{
  const MuonAssemblyItem *item = &assembly->item[k];
  MuonArray               G, D;
  MuonMatrix              spreadG, spreadD;

  PetscFunctionBegin;
  PetscCall((*client->input)(client->ctx, k, &G));
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
    PetscCall(MuonAssemblyLMO_Private(assembly, client, k, &spreadG, &spreadD));
  }
  PetscCall((*client->output)(client->ctx, k, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The outputs of a chunk whose rows of D have come */
static PetscErrorCode MuonAssemblyFinish_Private(MuonAssembly assembly, const MuonAssemblyClient *client, PetscInt chunk)
{
  const PetscMPIInt   me      = assembly->rank;
  MuonAssemblyFlight *scatter = MuonAssemblyFlight_Private(assembly, chunk, PETSC_TRUE);

  PetscFunctionBegin;
  PetscCall(MuonAssemblyWait_Private(scatter));
  for (PetscInt k = chunk * assembly->chunk; k < MuonAssemblyEnd_Private(assembly, chunk); k++) {
    const MuonAssemblyItem *item = &assembly->item[k];
    MuonArray               D, here;
    MuonMark                mark;

    PetscCall(MuonWorkspaceMark(assembly->work, &mark));
    if (MuonAssemblyIsWhole_Private(item)) {
      D = here = MuonAssemblyRowsArray_Private(item, item->ranges[me + 1] - item->ranges[me], item->precision, MuonAssemblyTake_Private(assembly, item, &scatter->rows[IN], item->kind == MUON_ASSEMBLY_OWNER ? assembly->owner[k] : me, me, PETSC_TRUE));
      if (item->memory == MUON_DEVICE) {
        D.memory = MUON_DEVICE;
        PetscCall(MuonWorkspaceGetArray(assembly->work, &D, item->precision, &D));
        MuonDeviceGet()->copy(MuonArrayBytes(&D), here.data, D.data);
      }
      PetscCall((*client->output)(client->ctx, k, &D));
    } else PetscCall(MuonAssemblyPass_Private(assembly, client, k));
    PetscCall(MuonWorkspaceRelease(assembly->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   While the LMOs of one chunk are computed, `warmup` chunks are in flight to their owners, and as many back. A rank that owns
   little or nothing of a chunk continues with the next ones. All ranks start the same messages in the same order, independent of
   arrivals and failures.
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
