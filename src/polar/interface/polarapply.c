#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/

/*
   Increasing sizes; equal ones stay in the order of the caller, in which all ranks give them. Few, so that
   the simplest way does
*/
static PetscErrorCode MuonPolarSort_Private(PetscInt n, PetscReal size[], PetscInt order[])
{
  PetscFunctionBegin;
  for (PetscInt i = 1; i < n; i++) {
    const PetscReal s = size[i];
    const PetscInt  o = order[i];
    PetscInt        k;

    for (k = i; k > 0 && size[k - 1] > s; k--) {
      size[k]  = size[k - 1];
      order[k] = order[k - 1];
    }
    size[k]  = s;
    order[k] = o;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a matrix needs before the type sees it. In this order: the worst of the ranks decides */
enum {
  INPUT_ZERO,
  INPUT_FINITE,
  INPUT_NANORINF
};

/*
   Of each matrix, with one message for all on the same communicator, whatever lies between them on this rank
*/
static PetscErrorCode MuonPolarInspect_Private(PetscInt n, const MuonMatrix G[], int input[])
{
  int       *worst;
  PetscBool *told;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const MuonArray   *g       = &G[i].here;
    const MuonKernels *kernels = MuonArrayKernels(g);

    if (kernels->IsOrdinary(g->len, g->count, g->data, g->ld)) input[i] = INPUT_FINITE;
    else if (!MuonArrayIsFinite(g)) input[i] = INPUT_NANORINF;
    else input[i] = kernels->MaxAbs(g->len, g->count, g->data, g->ld) > 0.0 ? INPUT_FINITE : INPUT_ZERO;
  }
  PetscCall(PetscMalloc2(n, &worst, n, &told));
  for (PetscInt i = 0; i < n; i++) told[i] = PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt    count = 0;
    PetscMPIInt entries;

    if (told[i] == PETSC_TRUE || G[i].size == 1) continue;
    for (PetscInt k = i; k < n; k++) {
      if (G[k].comm == G[i].comm) worst[count++] = input[k];
    }
    PetscCall(PetscMPIIntCast(count, &entries));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, entries, MPI_INT, MPI_MAX, G[i].comm));
    count = 0;
    for (PetscInt k = i; k < n; k++) {
      if (G[k].comm != G[i].comm) continue;
      input[k] = worst[count++];
      told[k]  = PETSC_TRUE;
    }
  }
  PetscCall(PetscFree2(worst, told));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where all is on one rank, the factor of the transpose is the transpose of the factor, and lines are taken
   for columns
*/
static MuonMatrix MuonPolarLines_Private(const MuonMatrix *G)
{
  MuonMatrix lines = *G;

  if (G->size > 1) return lines;
  lines.here.rowmajor = 0;
  lines.rows          = (PetscInt)G->here.len;
  lines.columns       = (PetscInt)G->here.count;
  return lines;
}

/* The factor of one that was looked at. */
static PetscErrorCode MuonPolarCompute_Private(MuonPolar polar, int input, const MuonMatrix *G, const MuonMatrix *Q)
{
  const MuonMatrix from = MuonPolarLines_Private(G), to = MuonPolarLines_Private(Q);
  MuonMark         mark;

  PetscFunctionBegin;
  polar->status = input == INPUT_NANORINF ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  if (input == INPUT_ZERO) PetscCall(MuonArrayZero(&Q->here));
  if (input != INPUT_FINITE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscUseTypeMethod(polar, apply, &from, &to);
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetChoices_Private(MuonPolar polar, const char **choices)
{
  const PetscObjectState chosen = ((PetscObject)polar)->state;
  char                   text[1024];

  PetscFunctionBegin;
  if (polar->choices == NULL || polar->chosen != chosen) {
    PetscCall(MuonPolarChoices(polar, sizeof(text), text));
    PetscCall(PetscFree(polar->choices));
    PetscCall(PetscStrallocpy(text, &polar->choices));
    polar->chosen = chosen;
  }
  *choices = polar->choices;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether one computes what the other would */
static PetscErrorCode MuonPolarAreAlike_Private(MuonPolar a, MuonPolar b, PetscBool *alike)
{
  const char *choices[2];

  PetscFunctionBegin;
  *alike = a == b ? PETSC_TRUE : PETSC_FALSE;
  if (a == b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPolarGetChoices_Private(a, &choices[0]));
  PetscCall(MuonPolarGetChoices_Private(b, &choices[1]));
  PetscCall(PetscStrcmp(choices[0], choices[1], alike));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarComputeMany_Private(PetscInt n, const MuonPolar polar[], const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[])
{
  MuonMatrix    *from, *to;
  MuonStatus    *ended;
  PetscInt      *many;
  int           *input;
  MuonMemory     memory;
  PetscLogDouble flops;
  enum {
    DONE = -1
  };

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  memory = G[0].here.memory; /* of all; that of some would count the others */
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonPolarSetUp(polar[k]));
    if (G[k].here.memory == MUON_HOST) memory = MUON_HOST;
  }
  PetscCall(PetscLogEventBegin(MUON_Polar, polar[0], 0, 0, 0));
  PetscCall(MuonLogDeviceBegin(memory, &flops));
  PetscCall(PetscMalloc5(n, &from, n, &to, n, &ended, n, &many, n, &input));
  PetscCall(MuonPolarInspect_Private(n, G, input));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt count = 0;

    if (input[k] == DONE) continue;
    if (polar[k]->ops->applymany == NULL || input[k] != INPUT_FINITE || G[k].size > 1 || G[k].here.memory != MUON_DEVICE) {
      PetscCall(MuonPolarCompute_Private(polar[k], input[k], &G[k], &Q[k]));
      status[k] = polar[k]->status;
      continue;
    }
    for (PetscInt i = k; i < n; i++) {
      PetscBool alike;

      if (input[i] != INPUT_FINITE || G[i].size > 1 || G[i].here.memory != MUON_DEVICE) continue;
      PetscCall(MuonPolarAreAlike_Private(polar[k], polar[i], &alike));
      if (alike == PETSC_FALSE) continue;
      from[count]   = MuonPolarLines_Private(&G[i]);
      to[count]     = MuonPolarLines_Private(&Q[i]);
      many[count++] = i;
      input[i]      = DONE;
    }
    PetscUseTypeMethod(polar[k], applymany, count, from, to, ended);
    for (PetscInt i = 0; i < count; i++) status[many[i]] = ended[i];
  }
  PetscCall(PetscFree5(from, to, ended, many, input));
  PetscCall(MuonLogDeviceEnd(memory, flops));
  PetscCall(PetscLogEventEnd(MUON_Polar, polar[0], 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarApplyMatrices(PetscInt n, const MuonPolar polar[], const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[])
{
  PetscFunctionBegin;
  PetscCall(MuonPolarComputeMany_Private(n, polar, G, Q, status));
  for (PetscInt k = 0; k < n; k++) {
    polar[k]->status = status[k];
    PetscCall(MuonPolarMonitorMatrix_Private(polar[k], &G[k], &Q[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarApplyMatrix(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q)
{
  const MuonArray *g = &G->here, *q = &Q->here;
  MuonStatus       status;

  PetscFunctionBegin;
  PetscCheck(g->len == q->len && g->count == q->count && g->precision == q->precision && g->rowmajor == q->rowmajor && G->size == Q->size, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "MuonPolar with options prefix \"%s\": the arrays of a matrix and of its factor differ, expected one shape, precision and order", MuonPolarPrefix_Private(polar));
  PetscCall(MuonPolarApplyMatrices(1, &polar, G, Q, &status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApply - Computes the orthogonal polar factor of a matrix

  Collective on G

  Input Parameters:
+ polar - the object
- G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameter:
. Q - another matrix of the same type, shape and distribution

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ over the singular values that are not zero, $Q = U
  V^T$: the orthogonal matrix nearest to `G`, or the canonical partial isometry where the rank of `G` is not
  full. The method of type `svd` gives that to working accuracy; iterative methods give $U f(\Sigma) V^T$ with
  values of $f$ near 1, and the page of each says how near. The factor of a zero matrix is zero.

  The ranks of `G` call it together, whatever the communicator of `polar` is; with a sequential matrix any
  rank calls it alone.

  `MuonPolarGetStatus()` tells whether it worked. An entry of `G` that is NaN or Inf gives
  `MUON_STATUS_NANORINF`, a decomposition that failed `MUON_STATUS_LMO`; both leave `Q` as it was. The ranks
  of a parallel matrix have the same status.

.seealso: `MuonPolar`, `MuonPolarApplyMany()`, `MuonPolarGetStatus()`, `MuonPolarSetType()`, `MuonLMOApply()`
@*/
PetscErrorCode MuonPolarApply(MuonPolar polar, Mat G, Mat Q)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarApplyMany(polar, 1, &G, &Q, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApplyMany - Computes the orthogonal polar factors of several matrices

  Collective on each matrix

  Input Parameters:
+ polar - the object
. n     - number of matrices
- G     - the matrices, of any types, shapes and distributions that `MuonPolarApply()` takes; they are not modified

  Output Parameters:
+ Q      - as many other matrices of the same types, shapes and distributions
- status - how each ended, see `MuonPolarGetStatus()`; may be `NULL`

  Level: intermediate

  Notes:
  Each is what `MuonPolarApply()` gives, to the last bit. The matrices share one event of `-log_view` and the
  scratch memory, which grows once because the largest is first. Parallel matrices on the same communicator
  share the message that looks for NaN, Inf and zero. Products are not batched: an optimized BLAS multiplies
  64 x 64 matrices at the rate of large ones.

  On a device the types `newtonschulz` and `gram` multiply matrices with the same shorter side together, by
  batched products of the vendor's library, up to 64 and within 1 GiB of scratch; these may round otherwise
  than single ones. Where the longer sides differ, and the largest of these matrices has at most $2^{22}$
  entries, zeros are added to the shorter ones while that makes at most a quarter more of them in all.

  Ranks that have several parallel matrices in common give them in the same order, and matrices of one size on
  communicators that overlap in an order that is the same everywhere.

  `MuonPolarGetStatus()` gives the first status that is not `MUON_STATUS_OK`, in the order of the arrays. A
  matrix that failed does not keep the others from being computed.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonPolarGetStatus()`
@*/
PetscErrorCode MuonPolarApplyMany(MuonPolar polar, PetscInt n, const Mat G[], Mat Q[], MuonStatus status[])
{
  MuonStatus  first = MUON_STATUS_OK, *ended, *sorted;
  PetscReal  *size;
  PetscInt   *order;
  MuonMatrix *from, *to;
  MuonPolar  *same;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "MuonPolar with options prefix \"%s\": %" PetscInt_FMT " matrices", MuonPolarPrefix_Private(polar), n);
  for (PetscInt i = 0; i < n; i++) {
    PetscValidHeaderSpecific(G[i], MAT_CLASSID, 3);
    PetscValidHeaderSpecific(Q[i], MAT_CLASSID, 4);
    PetscCall(MuonCheckMats_Private((PetscObject)polar, G[i], Q[i]));
  }
  PetscCall(PetscMalloc7(n, &ended, n, &size, n, &order, n, &from, n, &to, n, &sorted, n, &same));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt rows, columns;

    PetscCall(MatGetSize(G[i], &rows, &columns));
    size[i]  = -(PetscReal)rows * (PetscReal)columns;
    order[i] = i;
    same[i]  = polar;
  }
  PetscCall(MuonPolarSort_Private(n, size, order));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonMatGetMatrix(G[order[k]], PETSC_FALSE, &from[k]));
    PetscCall(MuonMatGetMatrix(Q[order[k]], PETSC_TRUE, &to[k]));
  }
  PetscCall(MuonPolarComputeMany_Private(n, same, from, to, sorted));
  for (PetscInt k = 0; k < n; k++) {
    ended[order[k]] = sorted[k];
    PetscCall(MuonMatRestoreMatrix(Q[order[k]], PETSC_TRUE, &to[k]));
    PetscCall(MuonMatRestoreMatrix(G[order[k]], PETSC_FALSE, &from[k]));
  }
  for (PetscInt k = 0; k < n && polar->nmonitors > 0; k++) {
    polar->status = ended[order[k]];
    PetscCall(MuonPolarMonitor(polar, G[order[k]], Q[order[k]]));
  }
  for (PetscInt i = n - 1; i >= 0; i--) {
    if (ended[i] != MUON_STATUS_OK) first = ended[i];
    if (status != NULL) status[i] = ended[i];
  }
  polar->status = first;
  PetscCall(PetscFree7(ended, size, order, from, to, sorted, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetStatus - Tells how the last `MuonPolarApply()` or `MuonPolarApplyMany()` of this rank ended

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. status - `MUON_STATUS_OK`, `MUON_STATUS_NANORINF` or `MUON_STATUS_LMO`

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonStatus`
@*/
PetscErrorCode MuonPolarGetStatus(MuonPolar polar, MuonStatus *status)
{
  PetscFunctionBegin;
  MuonGet(polar, MUONPOLAR_CLASSID, status, polar->status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetFlops - Gets the floating point operations of one `MuonPolarApply()`

  Not Collective

  Input Parameters:
+ polar - the object
. m     - rows of the matrix
- n     - columns of the matrix

  Output Parameter:
. flops - the operations, as `-log_view` counts them

  Level: advanced

  Note:
  For the type `svd` it is the textbook count of a decomposition by LAPACK.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonLMOGetFlops()`
@*/
PetscErrorCode MuonPolarGetFlops(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(flops, 4);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscUseTypeMethod(polar, getflops, m, n, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}
