#include "../muonassemblychunks.h"

PetscLogEvent MUON_Assembly, MUON_AssemblyWait;

const char *const MuonAssemblyPrecisions[] = {"native", "single", "bf16", "MuonAssemblyPrecision", "MUON_ASSEMBLY_PRECISION_", NULL};

/* Every rank finds the same owners of the matrices that have one */
static PetscErrorCode MuonAssemblyAssign_Private(MuonAssembly assembly)
{
  const PetscInt    n     = assembly->nitems;
  PetscInt          count = 0;
  MuonExchangeItem *owned;
  PetscMPIInt      *owner;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &owned, n, &owner));
  for (PetscInt k = 0; k < n; k++) {
    const MuonAssemblyItem *item = &assembly->item[k];
    const MuonExchangeItem  one  = {item->name, item->flops, (PetscLogDouble)item->rows * (PetscLogDouble)item->columns * (item->precision == MUON_SINGLE ? sizeof(float) : sizeof(double)), item->rows, item->columns};

    if (item->kind == MUON_ASSEMBLY_OWNER) owned[count++] = one;
  }
  PetscCall(MuonAssignOwners_Private(assembly->options.assignment, count, owned, assembly->size, owner));
  count = 0;
  for (PetscInt k = 0; k < n; k++) assembly->owner[k] = assembly->item[k].kind == MUON_ASSEMBLY_OWNER ? owner[count++] : -1;
  PetscCall(PetscFree2(owned, owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checked here, where all ranks have the same data, and not with a message that some of them could not send */
static PetscErrorCode MuonAssemblyCheckChunks_Private(MPI_Comm comm, PetscMPIInt size, const MuonAssemblyOptions *options, PetscInt chunk, PetscInt n, const MuonAssemblyItem items[])
{
  PetscLogDouble total = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const MuonAssemblyItem *item = &items[k];

    if (k % chunk == 0) total = (PetscLogDouble)size * MUON_TRANSPORT_UNIT;
    total += ((PetscLogDouble)item->rows * (PetscLogDouble)item->columns + size) * sizeof(double);
    PetscCheck(total <= (PetscLogDouble)PETSC_MPI_INT_MAX * MUON_TRANSPORT_UNIT, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "Option -%smuon_assembly_chunk is %" PetscInt_FMT ", and the matrices of a chunk with %s have more than the %d GiB that one call moves, expected smaller chunks", options->prefix != NULL ? options->prefix : "", chunk, item->name,
               2 * (int)MUON_TRANSPORT_UNIT);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyCreate(MPI_Comm comm, const MuonAssemblyOptions *options, MuonWorkspace work, PetscInt n, const MuonAssemblyItem items[], MuonAssembly *assembly)
{
  PetscMPIInt  size;
  PetscInt     chunk = options->chunk;
  MuonAssembly a;

  PetscFunctionBegin;
  *assembly = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (chunk == PETSC_DETERMINE) chunk = size;
  PetscCall(MuonAssemblyCheckChunks_Private(comm, size, options, chunk, n, items));
  PetscCall(PetscNew(&a));
  a->options = *options;
  a->chunk   = chunk;
  a->inside  = comm;
  PetscCallMPI(MPI_Comm_dup(comm, &a->comm));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportInit(&a->transport, a->comm)));
  a->rank    = a->transport.rank;
  a->size    = size;
  a->nitems  = n;
  a->ownwork = work == NULL ? PETSC_TRUE : PETSC_FALSE;
  if (work == NULL) PetscCall(MuonWorkspaceCreate(&a->work));
  else PetscCall(MuonWorkspaceShare(work, &a->work));
  PetscCall(PetscMalloc3(n, &a->item, n, &a->owner, n * ((PetscInt)size + 1), &a->ranges));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt *ranges = a->ranges + k * ((PetscInt)size + 1);

    PetscCall(PetscArraycpy(ranges, items[k].ranges, (size_t)size + 1));
    a->item[k]        = items[k];
    a->item[k].ranges = ranges;
  }
  PetscCall(MuonAssemblyAssign_Private(a));
  PetscCall(MuonAssemblyFlightsCreate_Private(a));
  *assembly = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyDestroy(MuonAssembly *assembly)
{
  MuonAssembly a = *assembly;

  PetscFunctionBegin;
  if (a == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonAssemblyFlightsDestroy_Private(a));
  PetscCall(PetscFree3(a->item, a->owner, a->ranges));
  PetscCall(MuonWorkspaceDestroy(&a->work));
  MuonTransportFree(&a->transport);
  PetscCallMPI(MPI_Comm_free(&a->comm));
  PetscCall(PetscFree(*assembly));
  PetscFunctionReturn(PETSC_SUCCESS);
}
