#include "../muoneigenbasis.h"
#include "../../kernels/dense/muonpolarreal.h"

const char *const MuonEigenbasisKinds[] = {"eigen", "qr", "MuonEigenbasisKind", "MUON_EIGENBASIS_", NULL};

/* The whole side: of distributed rows all of them, in scratch that the caller releases. *first is the index of the first line here */
static PetscErrorCode MuonEigenbasisGather_Private(MuonLayer layer, PetscBool rows, const MuonMatrix *A, MuonArray *whole, size_t *first)
{
  const PetscInt here = (PetscInt)MuonArrayRows(&A->here);
  PetscInt      *ranges;
  MuonArray      packed;

  PetscFunctionBegin;
  *whole = A->here;
  *first = 0;
  if (A->size == 1 || !rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(layer->work, ((size_t)A->size + 1) * sizeof(*ranges), &ranges));
  ranges[0] = 0;
  PetscCallMPI(MPI_Allgather(&here, 1, MPIU_INT, ranges + 1, 1, MPIU_INT, A->comm));
  for (PetscMPIInt r = 0; r < A->size; r++) ranges[r + 1] += ranges[r];
  *first = (size_t)ranges[A->rank];
  if (whole->rowmajor) whole->count = (size_t)A->rows;
  else whole->len = (size_t)A->rows;
  PetscCall(MuonWorkspaceGetArray(layer->work, whole, A->here.precision, &packed));
  PetscCall(MuonWorkspaceGetArray(layer->work, whole, A->here.precision, whole));
  PetscCall(MuonRowsGather(A->comm, -1, ranges, &A->here, whole, &packed, &layer->gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonEigenbasisTurn(MuonLayer layer, PetscBool rows, const MuonMatrix *A, const MuonArray *Q, PetscBool back, const MuonArray *B)
{
  const MuonKernels *kernels = MuonArrayKernels(B);
  MuonArray          whole;
  MuonMark           mark;
  size_t             first;
  const char        *q;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  PetscCall(MuonEigenbasisGather_Private(layer, rows, A, &whole, &first));
  q = (const char *)Q->data + (back ? first : first * Q->len) * kernels->size;
  if (rows == !B->rowmajor) kernels->Multiply(!back, 0, B->len, B->count, Q->len, 1, q, Q->len, whole.data, whole.ld, 0, B->data, B->ld);
  else kernels->Multiply(0, back, B->len, B->count, Q->len, 1, whole.data, whole.ld, q, Q->len, 0, B->data, B->ld);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)Q->len * (PetscLogDouble)MuonArrayEntries(B)));
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonEigenbasisSort(MuonLayer layer, PetscBool rows, const MuonMatrix *A, const PetscInt order[])
{
  const MuonArray *to    = &A->here;
  const size_t     lines = rows ? MuonArrayRows(to) : MuonArrayColumns(to);
  MuonArray        whole, copy;
  MuonMark         mark;
  size_t           first;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  PetscCall(MuonEigenbasisGather_Private(layer, rows, A, &whole, &first));
  PetscCall(MuonWorkspaceGetArray(layer->work, &whole, whole.precision, &copy));
  MuonArrayAxpby(1, &whole, 0, &copy);
  for (size_t i = 0; i < lines; i++) {
    const size_t    k    = (size_t)order[first + i];
    const MuonArray from = rows ? MuonArrayPart(&copy, k, 0, 1, MuonArrayColumns(to)) : MuonArrayPart(&copy, 0, k, MuonArrayRows(to), 1);
    const MuonArray line = rows ? MuonArrayPart(to, i, 0, 1, MuonArrayColumns(to)) : MuonArrayPart(to, 0, i, MuonArrayRows(to), 1);

    MuonArrayAxpby(1, &from, 0, &line);
  }
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = beta C + (1 - beta) G G^T, or G^T G */
static PetscErrorCode MuonEigenbasisCovariance_Private(MuonLayer layer, const MuonEigenbasis *basis, const MuonMatrix *G, const MuonArray *now, const MuonArray *next)
{
  const MuonKernelReal *real  = next->precision == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  const PetscBool       along = basis->rows == !G->here.rowmajor ? PETSC_TRUE : PETSC_FALSE, spread = G->size > 1 && !basis->rows ? PETSC_TRUE : PETSC_FALSE;
  MuonArray             whole;
  MuonMark              mark;
  PetscMPIInt           count;
  size_t                length, first;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  PetscCall(MuonEigenbasisGather_Private(layer, basis->rows, G, &whole, &first));
  length = along ? whole.count : whole.len;
  if (length > 0) real->gram(along, next->len, length, 1, 1 - basis->beta, whole.data, whole.ld, 0, next->data);
  else PetscCall(MuonArrayZero(next));
  real->mirror(next->len, 1, next->data);
  if (spread) {
    PetscCall(PetscMPIIntCast((PetscInt)MuonArrayEntries(next), &count));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, next->data, count, next->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, G->comm));
    layer->gathered += (PetscLogDouble)MuonArrayBytes(next);
    MuonLogTraffic(1, (PetscLogDouble)MuonArrayBytes(next), 1);
  }
  MuonArrayAxpby(basis->beta, now, 1, next);
  PetscCall(PetscLogFlops((PetscLogDouble)next->len * (PetscLogDouble)MuonArrayEntries(&whole)));
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts the old vectors by their Rayleigh quotients, largest first; equal ones keep their order. P is C times them */
static void MuonEigenbasisOrder(const MuonArray *Q, const MuonArray *P, double quotient[], PetscInt order[])
{
  const MuonKernels *kernels = MuonArrayKernels(Q);
  const size_t       bytes   = Q->len * kernels->size;

  for (size_t j = 0; j < Q->len; j++) {
    const double mine = kernels->Dot(Q->len, 1, (const char *)Q->data + j * bytes, Q->len, (const char *)P->data + j * bytes, Q->len);
    size_t       k    = j;

    for (; k > 0 && quotient[k - 1] < mine; k--) {
      quotient[k] = quotient[k - 1];
      order[k]    = order[k - 1];
    }
    quotient[k] = mine;
    order[k]    = (PetscInt)j;
  }
}

static PetscErrorCode MuonEigenbasisRenew_Private(MuonLayer layer, const MuonEigenbasis *basis, PetscBool anew, const MuonArray *C, const MuonArray *now, const MuonArray *next, PetscInt order[], MuonStatus *status)
{
  const MuonKernelReal *real    = next->precision == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  const MuonKernels    *kernels = MuonArrayKernels(next);
  const size_t          s       = next->len;
  double               *quotient;
  MuonArray             P;
  void                 *work;
  size_t                entries = 0;
  int                   info;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  if (!anew) {
    PetscCall(MuonWorkspaceGetArray(layer->work, next, next->precision, &P));
    PetscCall(MuonWorkspaceGet(layer->work, s * sizeof(*quotient), &quotient));
    kernels->Multiply(0, 0, s, s, s, 1, C->data, s, now->data, s, 0, P.data, s);
    MuonEigenbasisOrder(now, &P, quotient, order);
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)s * (PetscLogDouble)s * (PetscLogDouble)s));
  }
  if (!anew && basis->qr) {
    for (size_t j = 0; j < s; j++) {
      const MuonArray from = MuonArrayPart(&P, 0, (size_t)order[j], s, 1), to = MuonArrayPart(next, 0, j, s, 1);

      MuonArrayAxpby(1, &from, 0, &to);
    }
    (void)kernels->Orthonormalize(s, s, next->data, &entries, NULL);
    PetscCall(MuonWorkspaceGet(layer->work, entries * kernels->size, &work));
    info = kernels->Orthonormalize(s, s, next->data, &entries, work);
  } else {
    MuonArrayAxpby(1, C, 0, next);
    info = real->eigen(s, next->data);
  }
  if (info != 0) *status = MUON_STATUS_NANORINF;
  PetscCall(PetscLogFlops((!anew && basis->qr ? 8.0 / 3 : 9.0) * (PetscLogDouble)s * (PetscLogDouble)s * (PetscLogDouble)s));
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonEigenbasisUpdate(MuonLayer layer, const MuonEigenbasis *basis, const MuonMatrix *G, double steps, MuonSlotState state[MUON_EIGENBASIS_STATES], PetscInt **order, MuonStatus *status)
{
  const size_t     s      = (size_t)(basis->rows ? G->rows : G->columns);
  const MuonArray  square = {NULL, s, s, s, G->here.precision, MUON_HOST, 0, 0};
  MuonArray *const C = &state[MUON_EIGENBASIS_COVARIANCE].next, *const now = &state[MUON_EIGENBASIS_VECTORS].now, *const next = &state[MUON_EIGENBASIS_VECTORS].next;
  PetscBool   stays = PETSC_TRUE;
  PetscMPIInt bytes;

  PetscFunctionBegin;
  for (int k = 0; k < MUON_EIGENBASIS_STATES; k++) PetscCall(MuonSlotMakeArray(&square, &state[k]));
  PetscCall(MuonWorkspaceGet(layer->work, s * sizeof(**order), order));
  for (size_t j = 0; j < s; j++) (*order)[j] = (PetscInt)j;
  PetscCall(MuonEigenbasisCovariance_Private(layer, basis, G, &state[MUON_EIGENBASIS_COVARIANCE].now, C));
  MuonArrayAxpby(1, now, 0, next);
  if (!MuonArrayIsFinite(C)) *status = MUON_STATUS_NANORINF;
  if (fmod(steps, (double)basis->interval) == 0) {
    if (G->rank == 0 && MuonArrayIsFinite(C)) PetscCall(MuonEigenbasisRenew_Private(layer, basis, steps == 0 ? PETSC_TRUE : PETSC_FALSE, C, now, next, *order, status));
    if (G->size > 1) {
      PetscCall(PetscMPIIntCast((PetscInt)MuonArrayBytes(next), &bytes));
      PetscCallMPI(MPI_Bcast(next->data, bytes, MPI_BYTE, 0, G->comm));
      PetscCallMPI(MPI_Bcast(*order, (PetscMPIInt)s, MPIU_INT, 0, G->comm));
      if (G->rank == 0) layer->gathered += (PetscLogDouble)bytes;
      MuonLogTraffic(1, (PetscLogDouble)bytes, 1);
    }
  }
  for (size_t j = 0; j < s; j++) stays = stays && (*order)[j] == (PetscInt)j ? PETSC_TRUE : PETSC_FALSE;
  if (stays) *order = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
