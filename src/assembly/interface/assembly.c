#include "../muonassemblychunks.h" /*I "petscmuonassembly.h" I*/

/*@
  MuonAssemblyCreate - Creates an assembly of matrices whose rows the ranks of a worker have

  Collective

  Input Parameter:
. comm - the ranks of the worker

  Output Parameter:
. assembly - the new assembly

  Level: intermediate

  Note:
  Rows travel on a duplicate of `comm` that the assembly owns.

.seealso: `MuonAssembly`, `MuonAssemblyKind`, `MuonAssemblySetFromOptions()`, `MuonAssemblyDestroy()`
@*/
PetscErrorCode MuonAssemblyCreate(MPI_Comm comm, MuonAssembly *assembly)
{
  MuonAssembly a;

  PetscFunctionBegin;
  PetscAssertPointer(assembly, 2);
  *assembly = NULL;
  PetscCall(MuonAssemblyInitializePackage());
  PetscCall(PetscHeaderCreate(a, MUONASSEMBLY_CLASSID, "MuonAssembly", "Assembly of matrices from their rows", "MuonAssembly", comm, MuonAssemblyDestroy, MuonAssemblyView));
  PetscCall(MuonObjectRegister_Private((PetscObject)a));
  a->precision  = MUON_ASSEMBLY_PRECISION_NATIVE;
  a->assignment = MUON_EXCHANGE_ASSIGNMENT_LPT;
  a->warmup     = 5;
  PetscCallMPI(MPI_Comm_dup(comm, &a->comm));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportInit(&a->transport, a->comm)));
  a->rank   = a->transport.rank;
  a->size   = a->transport.size;
  a->chunk  = a->size;
  *assembly = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetOptionsPrefix - Sets the prefix of an assembly's options

  Logically Collective

  Input Parameters:
+ assembly - the assembly
- prefix   - what precedes every option's name, without a leading hyphen

  Level: advanced

.seealso: `MuonAssembly`, `MuonAssemblyGetOptionsPrefix()`, `MuonAssemblySetFromOptions()`
@*/
PetscErrorCode MuonAssemblySetOptionsPrefix(MuonAssembly assembly, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)assembly, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetOptionsPrefix - Gets the prefix of an assembly's options

  Not Collective

  Input Parameter:
. assembly - the assembly

  Output Parameter:
. prefix - the prefix, owned by the assembly

  Level: advanced

.seealso: `MuonAssembly`, `MuonAssemblySetOptionsPrefix()`
@*/
PetscErrorCode MuonAssemblyGetOptionsPrefix(MuonAssembly assembly, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscAssertPointer(prefix, 2);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)assembly, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetFromOptions - Sets an assembly from the options database

  Collective

  Input Parameter:
. assembly - the assembly

  Options Database Keys:
+ -muon_assembly_precision (native|single|bf16)       - precision in which rows are gathered, see `MuonAssemblySetPrecision()`
. -muon_assembly_assignment (lpt|roundrobin|bucketed) - how owners are chosen, see `MuonAssemblySetAssignment()`
. -muon_assembly_chunk items                          - how many matrices travel together, see `MuonAssemblySetChunk()`
- -muon_assembly_warmup chunks                        - how many chunks are on their way at once, see `MuonAssemblySetWarmup()`

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblySetPrecision()`, `MuonAssemblySetAssignment()`, `MuonAssemblySetChunk()`, `MuonAssemblySetWarmup()`, `MuonAssemblySetOptionsPrefix()`
@*/
PetscErrorCode MuonAssemblySetFromOptions(MuonAssembly assembly)
{
  MuonAssemblyPrecision  precision;
  MuonExchangeAssignment assignment;
  PetscInt               chunk, warmup;
  PetscBool              flg;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  precision  = assembly->precision;
  assignment = assembly->assignment;
  chunk      = assembly->chunk;
  warmup     = assembly->warmup;
  PetscObjectOptionsBegin((PetscObject)assembly);
  PetscCall(PetscOptionsEnum("-muon_assembly_precision", "Precision in which rows are gathered", "MuonAssemblySetPrecision", MuonAssemblyPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonAssemblySetPrecision(assembly, precision));
  PetscCall(PetscOptionsEnum("-muon_assembly_assignment", "How owners are chosen", "MuonAssemblySetAssignment", MuonExchangeAssignments, (PetscEnum)assignment, (PetscEnum *)&assignment, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonAssemblySetAssignment(assembly, assignment));
  PetscCall(PetscOptionsInt("-muon_assembly_chunk", "Matrices that travel together", "MuonAssemblySetChunk", chunk, &chunk, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonAssemblySetChunk(assembly, chunk));
  PetscCall(PetscOptionsInt("-muon_assembly_warmup", "Chunks that are on their way at once", "MuonAssemblySetWarmup", warmup, &warmup, &flg));
  if (flg == PETSC_TRUE) PetscCall(MuonAssemblySetWarmup(assembly, warmup));
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)assembly, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyCopyChoices_Private(MuonAssembly from, MuonAssembly to)
{
  PetscFunctionBegin;
  PetscCall(MuonAssemblySetPrecision(to, from->precision));
  PetscCall(MuonAssemblySetAssignment(to, from->assignment));
  if (from->chunkset == PETSC_TRUE) PetscCall(MuonAssemblySetChunk(to, from->chunk));
  PetscCall(MuonAssemblySetWarmup(to, from->warmup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyFix_Private(MuonAssembly assembly)
{
  PetscFunctionBegin;
  assembly->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyIsFixed_Private(MuonAssembly assembly, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = assembly->setupcalled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblyChoices_Private(MuonAssembly assembly, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, "-muon_assembly_precision %s -muon_assembly_assignment %s -muon_assembly_chunk %" PetscInt_FMT " -muon_assembly_warmup %" PetscInt_FMT, MuonAssemblyPrecisions[assembly->precision],
                          MuonExchangeAssignments[assembly->assignment], assembly->chunk, assembly->warmup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *MuonAssemblyPrefix_Private(MuonAssembly assembly)
{
  return ((PetscObject)assembly)->prefix != NULL ? ((PetscObject)assembly)->prefix : "";
}

/*@
  MuonAssemblySetPrecision - Chooses the precision in which rows are gathered

  Logically Collective

  Input Parameters:
+ assembly  - the assembly
- precision - `MUON_ASSEMBLY_PRECISION_NATIVE` (the default), `MUON_ASSEMBLY_PRECISION_SINGLE` or `MUON_ASSEMBLY_PRECISION_BF16`

  Options Database Key:
. -muon_assembly_precision (native|single|bf16) - sets the precision, native by default

  Level: intermediate

  Notes:
  It is the precision of the rows on their way to whoever assembles the matrix, and of the rows that this rank
  assembles itself: the step does not depend on who has which rows. The oracle works on entries of the
  precision of the rows in memory, and the rows of the step come back in that. `MUON_ASSEMBLY_GRAM` gathers
  nothing.

  Moonlight and Motif gather bf16. What is too large for the precision makes the oracle see a matrix that is
  not finite.

.seealso: `MuonAssembly`, `MuonAssemblyPrecision`, `MuonAssemblyGetPrecision()`
@*/
PetscErrorCode MuonAssemblySetPrecision(MuonAssembly assembly, MuonAssemblyPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(assembly, precision, 2);
  PetscCheck((int)precision >= 0 && (int)precision <= (int)MUON_ASSEMBLY_PRECISION_BF16, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ARG_OUTOFRANGE, "Unknown precision %d of MuonAssembly: a MuonAssemblyPrecision was expected", (int)precision);
  if (precision != assembly->precision) assembly->setupcalled = PETSC_FALSE;
  assembly->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetPrecision - Gets the precision in which rows are gathered

  Not Collective

  Input Parameter:
. assembly - the assembly

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblyPrecision`, `MuonAssemblySetPrecision()`
@*/
PetscErrorCode MuonAssemblyGetPrecision(MuonAssembly assembly, MuonAssemblyPrecision *precision)
{
  PetscFunctionBegin;
  MuonGet(assembly, MUONASSEMBLY_CLASSID, precision, assembly->precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetAssignment - Chooses how the owners of matrices are found

  Logically Collective

  Input Parameters:
+ assembly   - the assembly
- assignment - `MUON_EXCHANGE_ASSIGNMENT_LPT` (the default), `MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN` or `MUON_EXCHANGE_ASSIGNMENT_BUCKETED`

  Options Database Key:
. -muon_assembly_assignment (lpt|roundrobin|bucketed) - sets the assignment, lpt by default

  Level: intermediate

  Note:
  It matters to `MUON_ASSEMBLY_OWNER` only. The cost of a matrix is that of its oracle;
  `MuonExchangeSetAssignment()` says what the choices are.

.seealso: `MuonAssembly`, `MuonExchangeAssignment`, `MuonAssemblyGetAssignment()`, `MuonAssemblyGetOwner()`
@*/
PetscErrorCode MuonAssemblySetAssignment(MuonAssembly assembly, MuonExchangeAssignment assignment)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(assembly, assignment, 2);
  PetscCheck((int)assignment >= 0 && (int)assignment <= (int)MUON_EXCHANGE_ASSIGNMENT_BUCKETED, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ARG_OUTOFRANGE, "Unknown assignment %d of MuonAssembly: a MuonExchangeAssignment was expected",
             (int)assignment);
  if (assignment != assembly->assignment) assembly->setupcalled = PETSC_FALSE;
  assembly->assignment = assignment;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetAssignment - Gets how the owners of matrices are found

  Not Collective

  Input Parameter:
. assembly - the assembly

  Output Parameter:
. assignment - the assignment

  Level: intermediate

.seealso: `MuonAssembly`, `MuonExchangeAssignment`, `MuonAssemblySetAssignment()`
@*/
PetscErrorCode MuonAssemblyGetAssignment(MuonAssembly assembly, MuonExchangeAssignment *assignment)
{
  PetscFunctionBegin;
  MuonGet(assembly, MUONASSEMBLY_CLASSID, assignment, assembly->assignment);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetChunk - Sets how many matrices travel together

  Logically Collective

  Input Parameters:
+ assembly - the assembly
- chunk    - how many, at least 1; by default as many as the worker has ranks

  Options Database Key:
. -muon_assembly_chunk items - sets the number, as many as the worker has ranks by default

  Level: intermediate

  Note:
  The rows of all matrices of a chunk for one rank are one message. The result does not depend on it.

.seealso: `MuonAssembly`, `MuonAssemblyGetChunk()`, `MuonAssemblySetWarmup()`
@*/
PetscErrorCode MuonAssemblySetChunk(MuonAssembly assembly, PetscInt chunk)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscValidLogicalCollectiveInt(assembly, chunk, 2);
  PetscCheck(chunk >= 1, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ARG_OUTOFRANGE, "Option -%smuon_assembly_chunk is %" PetscInt_FMT ", expected at least 1", MuonAssemblyPrefix_Private(assembly), chunk);
  if (chunk != assembly->chunk) assembly->setupcalled = PETSC_FALSE;
  assembly->chunk    = chunk;
  assembly->chunkset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetChunk - Gets how many matrices travel together

  Not Collective

  Input Parameter:
. assembly - the assembly

  Output Parameter:
. chunk - how many

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblySetChunk()`
@*/
PetscErrorCode MuonAssemblyGetChunk(MuonAssembly assembly, PetscInt *chunk)
{
  PetscFunctionBegin;
  MuonGet(assembly, MUONASSEMBLY_CLASSID, chunk, assembly->chunk);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetWarmup - Sets how many chunks of matrices are on their way at once

  Logically Collective

  Input Parameters:
+ assembly - the assembly
- warmup   - how many, at least 1, 5 by default as in Motif's Parallel Muon

  Options Database Key:
. -muon_assembly_warmup chunks - sets the number, 5 by default

  Level: intermediate

  Notes:
  So many chunks are gathered before the oracles of the first one begin, and after that while those of each
  one run. The rows of steps have as many chunks of time to come back before they are waited for. The result
  does not depend on it, and the memory for messages grows with it.

  With a warm-up of 1 and one chunk for all matrices nothing overlaps.

.seealso: `MuonAssembly`, `MuonAssemblyGetWarmup()`, `MuonAssemblySetChunk()`
@*/
PetscErrorCode MuonAssemblySetWarmup(MuonAssembly assembly, PetscInt warmup)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscValidLogicalCollectiveInt(assembly, warmup, 2);
  PetscCheck(warmup >= 1, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ARG_OUTOFRANGE, "Option -%smuon_assembly_warmup is %" PetscInt_FMT ", expected at least 1", MuonAssemblyPrefix_Private(assembly), warmup);
  if (warmup != assembly->warmup) assembly->setupcalled = PETSC_FALSE;
  assembly->warmup = warmup;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetWarmup - Gets how many chunks of matrices are on their way at once

  Not Collective

  Input Parameter:
. assembly - the assembly

  Output Parameter:
. warmup - how many

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblySetWarmup()`
@*/
PetscErrorCode MuonAssemblyGetWarmup(MuonAssembly assembly, PetscInt *warmup)
{
  PetscFunctionBegin;
  MuonGet(assembly, MUONASSEMBLY_CLASSID, warmup, assembly->warmup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblySetWorkspace(MuonAssembly assembly, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&assembly->work));
  assembly->work    = work;
  assembly->ownwork = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssemblySetItems(MuonAssembly assembly, PetscInt n, const MuonAssemblyItem items[])
{
  const MPI_Comm    comm = PetscObjectComm((PetscObject)assembly);
  const PetscMPIInt size = assembly->size;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscValidLogicalCollectiveInt(assembly, n, 2);
  PetscCheck(n >= 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Number of items %" PetscInt_FMT " of MuonAssembly must not be negative", n);
  for (PetscInt k = 0; k < n; k++) {
    const MuonAssemblyItem *item = &items[k];

    PetscCheck(item->rows >= 0 && item->columns >= 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Item %s of MuonAssembly has %" PetscInt_FMT " x %" PetscInt_FMT " entries, expected none that is negative", item->name, item->rows, item->columns);
    PetscCheck((int)item->kind >= 0 && (int)item->kind <= (int)MUON_ASSEMBLY_GRAM, comm, PETSC_ERR_ARG_OUTOFRANGE, "Unknown kind %d of item %s of MuonAssembly: a MuonAssemblyKind was expected", (int)item->kind, item->name);
    PetscCheck(item->flops >= 0 && item->flops <= PETSC_MAX_REAL, comm, PETSC_ERR_ARG_OUTOFRANGE, "Cost %g of item %s of MuonAssembly must be finite and not negative", (double)item->flops, item->name);
    PetscCheck(item->ranges[0] == 0 && item->ranges[size] == item->rows, comm, PETSC_ERR_ARG_SIZ, "Item %s of MuonAssembly has %" PetscInt_FMT " rows, and its ranks have rows %" PetscInt_FMT " to %" PetscInt_FMT, item->name, item->rows,
               item->ranges[0], item->ranges[size]);
    for (PetscMPIInt r = 0; r < size; r++)
      PetscCheck(item->ranges[r] <= item->ranges[r + 1], comm, PETSC_ERR_ARG_SIZ, "Item %s of MuonAssembly: rank %d has rows from %" PetscInt_FMT " to %" PetscInt_FMT, item->name, r, item->ranges[r], item->ranges[r + 1]);
  }
  PetscCall(MuonAssemblyReset(assembly));
  PetscCall(PetscMalloc3(n, &assembly->item, n, &assembly->names, n * ((PetscInt)size + 1), &assembly->ranges));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt *ranges = assembly->ranges + k * ((PetscInt)size + 1);

    assembly->item[k] = items[k];
    PetscCall(PetscStrallocpy(items[k].name, &assembly->names[k]));
    PetscCall(PetscArraycpy(ranges, items[k].ranges, (size_t)size + 1));
    assembly->item[k].name   = assembly->names[k];
    assembly->item[k].ranges = ranges;
    assembly->nitems++;
  }
  assembly->itemsset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The items that have an owner, as the routines of the exchange want them, and their numbers */
static PetscErrorCode MuonAssemblyGetOwned_Private(MuonAssembly assembly, MuonAssignmentItems *owned, PetscInt **number)
{
  const PetscInt  n = assembly->nitems;
  PetscLogDouble *cost, *bytes;
  PetscInt       *rows, *columns;
  const char    **names;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(n, &names, n, &cost, n, &bytes, n, &rows, n, &columns, n, number));
  owned->n = 0;
  for (PetscInt k = 0; k < n; k++) {
    const MuonAssemblyItem *item = &assembly->item[k];

    if (item->kind != MUON_ASSEMBLY_OWNER) continue;
    names[owned->n]     = item->name;
    cost[owned->n]      = item->flops;
    bytes[owned->n]     = (PetscLogDouble)item->rows * (PetscLogDouble)item->columns * (item->precision == MUON_SINGLE ? sizeof(float) : sizeof(double));
    rows[owned->n]      = item->rows;
    columns[owned->n]   = item->columns;
    (*number)[owned->n] = k;
    owned->n++;
  }
  owned->names   = names;
  owned->cost    = cost;
  owned->bytes   = bytes;
  owned->rows    = rows;
  owned->columns = columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssemblyRestoreOwned_Private(MuonAssignmentItems *owned, PetscInt **number)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(owned->names, owned->cost, owned->bytes, owned->rows, owned->columns, *number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblySetUp - Finds the owners of the matrices and makes room for their messages

  Logically Collective

  Input Parameter:
. assembly - the assembly

  Level: intermediate

  Note:
  Nothing is sent: every rank finds the same owners.

.seealso: `MuonAssembly`, `MuonAssemblyGetOwner()`
@*/
PetscErrorCode MuonAssemblySetUp(MuonAssembly assembly)
{
  MuonAssignmentItems owned;
  PetscInt           *number;
  PetscMPIInt        *owner;
  PetscLogDouble      total = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  if (assembly->setupcalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(assembly->itemsset == PETSC_TRUE, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ORDER, "MuonAssemblySetItems() must be called before MuonAssemblySetUp()");
  if (assembly->work == NULL) {
    PetscCall(MuonWorkspaceCreate(&assembly->work));
    assembly->ownwork = PETSC_TRUE;
  }
  PetscCall(PetscFree(assembly->owner));
  PetscCall(PetscMalloc1(assembly->nitems, &assembly->owner));
  for (PetscInt k = 0; k < assembly->nitems; k++) assembly->owner[k] = -1;
  PetscCall(MuonAssemblyGetOwned_Private(assembly, &owned, &number));
  PetscCall(PetscMalloc1(owned.n, &owner));
  PetscCall(MuonAssignOwners_Private(assembly->assignment, &owned, assembly->size, owner));
  for (PetscInt k = 0; k < owned.n; k++) assembly->owner[number[k]] = owner[k];
  PetscCall(PetscFree(owner));
  PetscCall(MuonAssemblyRestoreOwned_Private(&owned, &number));
  PetscCall(MuonAssemblyFlightsDestroy_Private(assembly));
  /* Here, where all ranks see the same, and not in a message that some of them could not send */
  for (PetscInt k = 0, left = 0; k < assembly->nitems; k++, left--) {
    const MuonAssemblyItem *item = &assembly->item[k];

    if (left == 0) {
      total = (PetscLogDouble)assembly->size * MUON_TRANSPORT_UNIT;
      left  = assembly->chunk;
    }
    total += ((PetscLogDouble)item->rows * (PetscLogDouble)item->columns + assembly->size) * sizeof(double);
    PetscCheck(total <= (PetscLogDouble)PETSC_MPI_INT_MAX * MUON_TRANSPORT_UNIT, PetscObjectComm((PetscObject)assembly), PETSC_ERR_ARG_OUTOFRANGE,
               "Option -%smuon_assembly_chunk is %" PetscInt_FMT ", and the matrices of a chunk with %s have more than the %d GiB that one call moves, expected smaller chunks", MuonAssemblyPrefix_Private(assembly), assembly->chunk, item->name,
               2 * (int)MUON_TRANSPORT_UNIT);
  }
  PetscCall(MuonAssemblyFlightsCreate_Private(assembly));
  assembly->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyGetOwner - Gets the rank that assembles a matrix

  Not Collective

  Input Parameters:
+ assembly - the assembly, after `MuonAssemblySetUp()`
- item     - number of the matrix

  Output Parameter:
. owner - the rank in the worker, -1 for a matrix that every rank assembles, or none

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblyKind`, `MuonAssemblySetAssignment()`
@*/
PetscErrorCode MuonAssemblyGetOwner(MuonAssembly assembly, PetscInt item, PetscMPIInt *owner)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscAssertPointer(owner, 3);
  PetscCheck(assembly->setupcalled == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonAssemblySetUp() must be called first");
  PetscCheck(item >= 0 && item < assembly->nitems, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Item %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", item, assembly->nitems);
  *owner = assembly->owner[item];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyView - Prints an assembly

  Collective

  Input Parameters:
+ assembly - the assembly
- viewer   - the viewer, `NULL` for the standard output

  Level: intermediate

.seealso: `MuonAssembly`, `PetscViewer`, `MuonAssemblyCreate()`
@*/
PetscErrorCode MuonAssemblyView(MuonAssembly assembly, PetscViewer viewer)
{
  const char         *prefix   = MuonAssemblyPrefix_Private(assembly);
  PetscInt            count[4] = {0, 0, 0, 0}, *number;
  MuonAssignmentItems owned;
  PetscMPIInt        *owner;
  PetscBool           isascii;
  PetscLogDouble      memory;
  double              local, sum, largest;
  char                chunk[64];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)assembly), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(assembly, 1, viewer, 2);
  PetscCall(MuonViewerCheck((PetscObject)assembly, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s Object:%s%s%s %d MPI process%s\n", ((PetscObject)assembly)->class_name, prefix[0] != '\0' ? " (" : "", prefix, prefix[0] != '\0' ? ")" : "", assembly->size, assembly->size == 1 ? "" : "es"));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (PetscInt k = 0; k < assembly->nitems; k++) count[assembly->item[k].kind]++;
  PetscCall(PetscSNPrintf(chunk, sizeof(chunk), "%" PetscInt_FMT " matrices in a chunk", assembly->chunk));
  if (assembly->itemsset == PETSC_TRUE) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "matrices:"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (int kind = 0; kind < 4; kind++) PetscCall(PetscViewerASCIIPrintf(viewer, "%s %" PetscInt_FMT " %s", kind == 0 ? "" : ",", count[kind], MuonAssemblyKinds[kind]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  } else if (assembly->chunkset == PETSC_FALSE) PetscCall(PetscStrncpy(chunk, "as many matrices in a chunk as a worker has ranks", sizeof(chunk)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", MuonAssemblyPrecisions[assembly->precision]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "pipeline: %s, %" PetscInt_FMT " chunks of warm-up\n", chunk, assembly->warmup));
  PetscCall(PetscViewerASCIIPrintf(viewer, "assignment: %s\n", MuonExchangeAssignments[assembly->assignment]));
  if (assembly->setupcalled == PETSC_TRUE && count[MUON_ASSEMBLY_OWNER] > 0) {
    PetscCall(MuonAssemblyGetOwned_Private(assembly, &owned, &number));
    PetscCall(PetscMalloc1(owned.n, &owner));
    for (PetscInt k = 0; k < owned.n; k++) owner[k] = assembly->owner[number[k]];
    PetscCall(MuonAssignmentView_Private(assembly->assignment, &owned, assembly->size, owner, "rank", viewer));
    PetscCall(PetscFree(owner));
    PetscCall(MuonAssemblyRestoreOwned_Private(&owned, &number));
  }
  if (assembly->itemsset == PETSC_TRUE) {
    PetscCall(MuonAssemblyGetMemory(assembly, &memory));
    local = (double)memory;
    PetscCallMPI(MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)assembly)));
    PetscCallMPI(MPI_Allreduce(&local, &largest, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)assembly)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "memory: %.0f bytes, %.0f of them on the rank that has most\n", sum, largest));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyReset - Frees the matrices' descriptions and the buffers of an assembly, and keeps its options

  Collective

  Input Parameter:
. assembly - the assembly

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblySetUp()`, `MuonAssemblyDestroy()`
@*/
PetscErrorCode MuonAssemblyReset(MuonAssembly assembly)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(assembly, MUONASSEMBLY_CLASSID, 1);
  PetscCall(MuonAssemblyFlightsDestroy_Private(assembly));
  PetscCall(PetscFree(assembly->owner));
  for (PetscInt k = 0; k < assembly->nitems; k++) PetscCall(PetscFree(assembly->names[k]));
  PetscCall(PetscFree3(assembly->item, assembly->names, assembly->ranges));
  if (assembly->ownwork == PETSC_TRUE) PetscCall(MuonWorkspaceDestroy(&assembly->work));
  assembly->ownwork     = PETSC_FALSE;
  assembly->nitems      = 0;
  assembly->itemsset    = PETSC_FALSE;
  assembly->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAssemblyDestroy - Destroys an assembly

  Collective

  Input Parameter:
. assembly - the assembly

  Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblyCreate()`
@*/
PetscErrorCode MuonAssemblyDestroy(MuonAssembly *assembly)
{
  PetscFunctionBegin;
  if (*assembly == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*assembly, MUONASSEMBLY_CLASSID, 1);
  if (--((PetscObject)*assembly)->refct > 0) {
    *assembly = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonAssemblyReset(*assembly));
  PetscCall(MuonWorkspaceDestroy(&(*assembly)->work));
  MuonTransportFree(&(*assembly)->transport);
  PetscCallMPI(MPI_Comm_free(&(*assembly)->comm));
  PetscCall(MuonObjectUnregister_Private((PetscObject)*assembly));
  PetscCall(PetscHeaderDestroy(assembly));
  PetscFunctionReturn(PETSC_SUCCESS);
}
