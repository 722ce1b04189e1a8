#include "muonpolarpanel.h"

/* Extents of the long side that are worked on at once, for which the products run at full speed */
#define STRIP 512

/* Power iterations that watch over those that were asked for */
#define WATCH 8

PetscErrorCode MuonPolarGetReal_Private(MuonPolar polar, MuonMemory memory, int pairs, const MuonKernelReal **real)
{
  const char        *prefix = MuonPolarPrefix_Private(polar);
  MuonPolarPrecision precision;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  if (pairs) {
    PetscCheck(precision <= MUON_POLAR_PRECISION_DOUBLE, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_precision is %s for a complex matrix, expected single or double", prefix, MuonPolarPrecisions[precision]);
    *real = &MuonKernelRealPairs[precision == MUON_POLAR_PRECISION_DOUBLE ? MUON_DOUBLE : MUON_SINGLE];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (memory == MUON_DEVICE) {
    *real = MuonKernelRealOfDevice(MuonPolarPrecisions[precision]);
    PetscCheck(*real != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS, "Option -%slmo_polar_precision is %s, which the device does not multiply, expected another of MuonPolarPrecision", prefix, MuonPolarPrecisions[precision]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(precision != MUON_POLAR_PRECISION_TF32, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_precision is tf32 for a matrix in the memory of the host, expected single, double or bf16", prefix);
  *real = precision == MUON_POLAR_PRECISION_BF16 ? MuonKernelRealOfBF16() : precision == MUON_POLAR_PRECISION_DOUBLE ? &MuonKernelRealDouble : &MuonKernelRealSingle;
  PetscCheck(*real != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS, "Option -%slmo_polar_precision is bf16, which takes a library built with oneDNN and a processor for it, expected single or double", prefix);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarCopy_Private(const MuonKernelReal *real, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  if (real->memory == MUON_HOST) PetscCall(PetscMemcpy(to, from, bytes));
  else MuonDeviceGet()->copy(bytes, from, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonPolarPanelLD(const MuonPolarPanel *p)
{
  return p->ldy > 0 ? p->ldy : p->left ? p->s : p->local;
}

/* Where the rows of a rank start, or the columns that are dealt to it when rows become columns */
static size_t MuonPolarPanelStart(const MuonPolarPanel *p, PetscBool rows, PetscMPIInt rank)
{
  const PetscInt n = p->G->columns;

  return (size_t)(rows ? p->G->ranges[rank] : (n / p->size) * rank + PetscMin(rank, n % p->size));
}

/*
   Rows become columns, or backwards: each rank has rows for all columns in the one array, and all rows for the
   columns dealt to it in the other, both in the order of the matrix and without padding. What two ranks have
   in common is a block of either
*/
static PetscErrorCode MuonPolarPanelTurn(const MuonPolarPanel *p, PetscBool forwards, void *rows, void *columns)
{
  const MPI_Datatype part = p->real->arrays->size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  const PetscMPIInt  mine = (PetscMPIInt)MuonArrayRows(&p->G->here), local = (PetscMPIInt)p->local;
  const int          order = p->G->here.rowmajor ? MPI_ORDER_C : MPI_ORDER_FORTRAN, whole[2][2] = {{mine, (int)p->l}, {(int)p->s, local}};
  const size_t       bytes[2] = {(size_t)mine * p->l * p->real->size, p->s * p->local * p->real->size};
  const int          from     = forwards ? 0 : 1;
  void              *there[2] = {rows, columns}, *at[2] = {rows, columns};
  MPI_Datatype      *type, real;
  PetscMPIInt       *count, *zero;
  MuonMark           mark;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(2 * (size_t)p->size, &type, 2 * (size_t)p->size, &count));
  PetscCall(PetscCalloc1((size_t)p->size, &zero));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)p->real->parts, part, &real));
  for (PetscMPIInt r = 0; r < p->size; r++) {
    const int row = (int)MuonPolarPanelStart(p, PETSC_TRUE, r), column = (int)MuonPolarPanelStart(p, PETSC_FALSE, r);
    const int part[2][2]  = {{mine, (int)MuonPolarPanelStart(p, PETSC_FALSE, r + 1) - column}, {(int)MuonPolarPanelStart(p, PETSC_TRUE, r + 1) - row, local}};
    const int start[2][2] = {{0, column}, {row, 0}};

    for (int k = 0; k < 2; k++) {
      count[k * p->size + r] = part[k][0] > 0 && part[k][1] > 0 ? 1 : 0;
      /* MPI wants a type where nothing is sent, too */
      if (count[k * p->size + r] > 0) PetscCallMPI(MPI_Type_create_subarray(2, whole[k], part[k], start[k], order, real, &type[k * p->size + r]));
      else PetscCallMPI(MPI_Type_dup(real, &type[k * p->size + r]));
      PetscCallMPI(MPI_Type_commit(&type[k * p->size + r]));
    }
  }
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  for (int k = 0; k < 2 && p->real->memory == MUON_DEVICE; k++) PetscCall(MuonWorkspaceGetPinned(p->polar->work, MUON_DEVICE, bytes[k], &at[k]));
  if (p->real->memory == MUON_DEVICE) MuonDeviceGet()->copy(bytes[from], there[from], at[from]);
  PetscCallMPI(MPI_Alltoallw(at[from], count + from * p->size, zero, type + from * p->size, at[1 - from], count + (1 - from) * p->size, zero, type + (1 - from) * p->size, p->comm));
  if (p->real->memory == MUON_DEVICE) MuonDeviceGet()->copy(bytes[1 - from], at[1 - from], there[1 - from]);
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  for (PetscMPIInt r = 0; r < 2 * p->size; r++) PetscCallMPI(MPI_Type_free(&type[r]));
  PetscCallMPI(MPI_Type_free(&real));
  PetscCall(PetscFree2(type, count));
  PetscCall(PetscFree(zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything but the memory */
static PetscErrorCode MuonPolarPanelShape(MuonPolar polar, const MuonKernelReal *real, size_t n, MuonPolarTask *const task[], MuonPolarPanel *p)
{
  const MuonMatrix *G    = &task[0]->G;
  const PetscBool   wide = G->rows < G->columns || (G->rows == G->columns && polar->rowwise) ? PETSC_TRUE : PETSC_FALSE;
  PetscInt          most = G->size > 1 ? 0 : G->rows;
  PetscBLASInt      fits;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->real   = real;
  p->polar  = polar;
  p->G      = G;
  p->count  = n;
  p->comm   = G->comm;
  p->size   = G->size;
  p->factor = 1.0;
  p->scale  = task[0]->scale;
  for (PetscMPIInt r = 0; r < p->size && p->size > 1; r++) most = PetscMax(most, G->ranges[r + 1] - G->ranges[r]);
  p->cut = p->size > 1 ? wide : PETSC_FALSE;
  /*
     A square matrix works on its columns on one rank as it must on many, so that an estimate that depends on
     the side is the same
  */
  p->left = (wide == PETSC_TRUE) != (G->here.rowmajor != 0);
  p->s    = (size_t)PetscMin(G->rows, G->columns);
  p->l    = (size_t)PetscMax(G->rows, G->columns);
  if (p->cut) p->local = MuonPolarPanelStart(p, PETSC_FALSE, G->rank + 1) - MuonPolarPanelStart(p, PETSC_FALSE, G->rank);
  else p->local = p->size > 1 ? MuonArrayRows(&G->here) : p->l;
  /* The same question on all ranks */
  PetscCall(PetscBLASIntCast(p->cut ? G->columns : PetscMax(most, G->columns), &fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarPanelFill(MuonPolar polar, const MuonKernelReal *real, size_t n, MuonPolarTask *const task[], PetscBool divide, MuonPolarPanel *p)
{
  char    *rows;
  MuonMark mark;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelShape(polar, real, n, task, p));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, n * p->s * p->local * real->size, &p->Y));
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  rows = (char *)p->Y;
  if (p->cut) PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, MuonArrayEntries(&p->G->here) / real->parts * real->size, &rows));
  for (size_t k = 0; k < n; k++) {
    const MuonArray *g = &task[k]->G.here;
    char            *Y = rows + k * p->s * p->l * real->size;

    if (n > 1 && MuonArrayEntries(g) < p->s * p->l) MuonDeviceGet()->zero(p->s * p->l * real->size, Y);
    real->load(g->len, g->count, g->precision, g->data, g->ld, divide ? task[k]->norm : 1.0, task[k]->exponent, Y, n > 1 ? MuonPolarPanelLD(p) : g->len);
  }
  if (p->cut) PetscCall(MuonPolarPanelTurn(p, PETSC_TRUE, rows, p->Y));
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelLoad(MuonPolar polar, const MuonKernelReal *real, size_t n, MuonPolarTask *const task[], MuonPolarPanel *p)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarPanelFill(polar, real, n, task, PETSC_TRUE, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Squares and products of entries with other exponents might leave the range of the kernel */
PetscErrorCode MuonPolarPanelOpen(MuonPolar polar, const MuonKernelReal *real, MuonPolarTask *task, MuonPolarPanel *p)
{
  const MuonArray *g = &task->G.here, *q = &task->Q.here;

  PetscFunctionBegin;
  if (real->memory == MUON_HOST && task->G.size == 1 && real->arrays == MuonArrayKernels(g) && g->data != q->data && PetscAbsInt(task->exponent) <= 40) {
    PetscCall(MuonPolarPanelShape(polar, real, 1, &task, p));
    p->whole  = PETSC_TRUE;
    p->Y      = g->data;
    p->Z      = q->data;
    p->ldy    = (g->count > 1 ? g->ld : g->len) / real->parts;
    p->ldz    = (q->count > 1 ? q->ld : q->len) / real->parts;
    p->factor = 1.0 / ldexp(task->norm, task->exponent);
  } else {
    PetscCall(MuonPolarPanelFill(polar, real, 1, &task, PETSC_FALSE, p));
    p->factor = 1.0 / task->norm;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelStore(MuonPolarPanel *p, size_t number, double scale, const MuonMatrix *Q)
{
  const MuonArray *q = &Q->here;
  char            *Y = (char *)p->Y + number * p->s * p->l * p->real->size;
  MuonMark         mark;

  PetscFunctionBegin;
  scale *= p->scale;
  if (p->ldy > 0 && scale == 1.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  if (p->cut) {
    PetscCall(MuonWorkspaceGetIn(p->polar->work, p->real->memory, MuonArrayEntries(q) / p->real->parts * p->real->size, &Y));
    PetscCall(MuonPolarPanelTurn(p, PETSC_FALSE, Y, p->Y));
  }
  p->real->store(q->len, q->count, scale, Y, p->count > 1 || p->ldy > 0 ? MuonPolarPanelLD(p) * p->real->parts : q->len, q->precision, q->data, q->ld);
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The triangle moves together in its own place, column j to where the j columns before it end, and back, so
   that half of the square is sent
*/
PetscErrorCode MuonPolarPanelSum(MuonPolarPanel *p, size_t columns, void *A)
{
  const size_t s = p->s, size = p->real->size, entries = columns * s - columns * (columns - 1) / 2, chunk = ((size_t)1 << 30) / p->real->parts;
  char        *a = (char *)A;
  MuonMark     mark;

  PetscFunctionBegin;
  if (p->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  if (p->real->memory == MUON_DEVICE) {
    PetscCall(MuonWorkspaceGetPinned(p->polar->work, MUON_DEVICE, s * columns * size, &a));
    MuonDeviceGet()->copy(s * columns * size, A, a);
  }
  for (size_t j = 1; j < columns; j++) memmove(a + (j * s - j * (j - 1) / 2) * size, a + j * (s + 1) * size, (s - j) * size);
  for (size_t done = 0; done < entries; done += chunk) {
    const size_t count = PetscMin(chunk, entries - done);

    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, a + done * size, (PetscMPIInt)(count * p->real->parts), p->real->arrays->size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, p->comm));
  }
  for (size_t j = columns - 1; j > 0; j--) memmove(a + j * (s + 1) * size, a + (j * s - j * (j - 1) / 2) * size, (s - j) * size);
  if (p->real->memory == MUON_DEVICE) MuonDeviceGet()->copy(s * columns * size, a, A);
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelGram(MuonPolarPanel *p, void *A)
{
  PetscFunctionBegin;
  p->real->gram(p->left, p->s, p->local, p->count, p->factor * p->factor, p->Y, MuonPolarPanelLD(p), 0.0, A);
  PetscCall(PetscLogFlops(MuonPolarPanelFlops(p) * p->count * p->s * (p->s + 1) * p->local));
  PetscCall(MuonPolarPanelSum(p, p->s, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonPolarPanelLeast(const MuonPolarPanel *p)
{
  size_t least = p->local;

  for (PetscMPIInt r = 0; r < p->size && p->size > 1; r++) {
    const PetscBool rows = p->cut ? PETSC_FALSE : PETSC_TRUE;

    least = PetscMin(least, MuonPolarPanelStart(p, rows, r + 1) - MuonPolarPanelStart(p, rows, r));
  }
  return least;
}

PetscErrorCode MuonPolarPanelAgree(MuonPolarPanel *p, PetscMPIInt n, double x[])
{
  PetscFunctionBegin;
  if (p->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_MAX, p->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonPolarPanelGetStrip(const MuonPolarPanel *p)
{
  return p->whole ? p->local : PetscMin(p->local, STRIP);
}

/* The strip of the long side from first on, and a copy of it without padding */
static char *MuonPolarPanelStrip(const MuonPolarPanel *p, size_t first)
{
  return (char *)p->Y + (p->left ? first * p->s : first) * p->real->size;
}

static PetscErrorCode MuonPolarPanelCopyStrip(const MuonPolarPanel *p, size_t first, size_t length, char *Z)
{
  const size_t size = p->real->size;

  PetscFunctionBegin;
  if (p->left || length == p->local) PetscCall(MuonPolarCopy_Private(p->real, Z, MuonPolarPanelStrip(p, first), p->count * p->s * length * size));
  else {
    for (size_t j = 0; j < p->s; j++) PetscCall(MuonPolarCopy_Private(p->real, Z + j * length * size, MuonPolarPanelStrip(p, first) + j * p->local * size, length * size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelReserve(MuonPolarPanel *p)
{
  PetscFunctionBegin;
  /* What was cut stays where it is, which is large enough to take the rows back */
  if (p->whole && !p->cut && !p->Z) PetscCall(MuonWorkspaceGetIn(p->polar->work, p->real->memory, p->count * p->s * p->local * p->real->size, &p->Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelUpdate(MuonPolarPanel *p, double c1, double c2, double c3, const void *B)
{
  const size_t ld = MuonPolarPanelLD(p), strip = MuonPolarPanelGetStrip(p);
  const void  *held;
  char        *Z = (char *)p->Z;
  MuonMark     mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  if (!Z) PetscCall(MuonWorkspaceGetIn(p->polar->work, p->real->memory, p->count * p->s * strip * p->real->size, &Z));
  held = p->real->hold(p->s, p->count, B);
  for (size_t first = 0; first < p->local; first += strip) {
    const size_t length = PetscMin(strip, p->local - first), ldz = p->left ? p->s : length;
    char        *Y = MuonPolarPanelStrip(p, first);

    PetscCall(MuonPolarPanelCopyStrip(p, first, length, Z));
    if (c3 == 0.0) p->real->multiply(p->left, p->s, length, p->count, c2, B, held, Z, ldz, c1, Y, ld);
    else {
      p->real->multiply(p->left, p->s, length, p->count, c3, B, held, Y, ld, c2, Z, ldz);
      p->real->multiply(p->left, p->s, length, p->count, 1.0, B, held, Z, ldz, c1, Y, ld);
    }
  }
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscCall(PetscLogFlops((c3 == 0.0 ? 2.0 : 4.0) * MuonPolarPanelFlops(p) * p->count * p->s * p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelMultiply(MuonPolarPanel *p, double scale, const void *B, const void *held)
{
  void *Y = p->Y;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelReserve(p));
  scale *= p->factor;
  p->factor = 1.0;
  if (!p->Z) {
    PetscCall(MuonPolarPanelUpdate(p, 0.0, scale, 0.0, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->ldy > 0) {
    scale *= p->scale;
    p->scale = 1.0;
  }
  p->real->multiply(p->left, p->s, p->local, p->count, scale, B, held, Y, MuonPolarPanelLD(p), 0.0, p->Z, p->ldz > 0 ? p->ldz : MuonPolarPanelLD(p));
  p->Y   = p->Z;
  p->Z   = p->ldy > 0 ? NULL : Y;
  p->ldy = p->ldz;
  PetscCall(PetscLogFlops(2.0 * MuonPolarPanelFlops(p) * p->count * p->s * p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelDraw(const MuonKernelReal *real, size_t n, uint64_t seed, void *v)
{
  const MuonKernelStream stream = {seed, 0, 0, 0, 0};
  const size_t           chunk  = 256;
  double                 part[256];
  uint32_t               words[256];

  PetscFunctionBegin;
  n *= real->parts;
  for (size_t i = 0; i < n; i += chunk) {
    const size_t count = PetscMin(chunk, n - i);

    MuonKernelStreamWords(&stream, i, count, words);
    for (size_t j = 0; j < count; j++) part[j] = (double)words[j] / 2147483648.0 - 1.0;
    real->load(count, 1, MUON_DOUBLE, part, count, 1.0, 0, (char *)v + i * real->arrays->size, count);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscLogDouble MuonPolarPanelSpectralFlops(PetscInt iterations, size_t s)
{
  return (2.0 * s * s + 2.0 * s) * (PetscLogDouble)(iterations + 1 + WATCH);
}

/*
   SignMuon's PolarNS estimates the largest singular value by k power iterations, u = Y v / ||Y v||, v = Y^T
   u, s = ||v||. Here they run on the Gram matrix, w <- A w / ||w||, k + 1 times, whose s = ||w||^(1/2) is not
   below that of PolarNS from the same distribution of directions (ratios of successive moments increase),
   costs s^2 instead of 2 s l a time, and nothing is sent. The panel, whose Frobenius norm is one, is divided
   by min(1, 1.2 s): the first step needs ||Y||_2 < sqrt(2).

   Two iterations from an unlucky direction over a long tail see the tail only, and 1.2 does not make up for
   that. WATCH more, which are cheap beside one step, replace s where the estimate still grew past 1.2 of it.
   From a random direction in s dimensions ||Y||_2 exceeds sqrt(2) after K multiplications with a probability
   of at most 0.824 sqrt(s) 2^(1/2 - K) for any spectrum (Kuczynski and Wozniakowski 1992).
*/
PetscErrorCode MuonPolarPanelSpectral(MuonPolarPanel *p, PetscInt iterations, const void *A, double *divisor)
{
  const MuonKernelReal *real    = p->real;
  const MuonKernels    *kernels = real->arrays;
  const PetscInt        asked   = iterations + 1;
  const size_t          entries = p->s * real->parts;
  double                last, estimate = 0.0, watched = 0.0;
  const void           *held;
  char                 *v, *w;
  void                 *vectors;

  PetscFunctionBegin;
  PetscCall(MuonMemoryAllocate(real->memory, 2 * p->s * real->size, &vectors));
  v = (char *)vectors;
  w = v + p->s * real->size;
  PetscCall(MuonPolarPanelDraw(real, p->s, 0x506f6c6172ULL, v));
  last = sqrt(kernels->SumSquares(entries, 1, v, entries));
  held = real->hold(p->s, 1, A);
  for (PetscInt k = 0; k < asked + WATCH; k++) {
    char *swap = v;

    real->multiply(1, p->s, 1, 1, 1.0 / last, A, held, v, p->s, 0.0, w, p->s);
    last = sqrt(kernels->SumSquares(entries, 1, w, entries));
    if (last == 0.0) break;
    if (k + 1 == asked) estimate = sqrt(last);
    watched = sqrt(last);
    v       = w;
    w       = swap;
  }
  PetscCall(MuonMemoryFree(real->memory, vectors));
  PetscCall(PetscLogFlops(MuonPolarPanelSpectralFlops(iterations, p->s)));
  *divisor = last == 0.0 ? 1.0 : PetscMin(1.0, PetscMax(1.2 * estimate, watched));
  PetscCall(PetscInfo(p->polar, "Largest singular value about %g of the Frobenius norm, and %g on further watch; divided by %g\n", estimate, watched, *divisor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelSumSquares(MuonPolarPanel *p, size_t number, double *squares)
{
  const size_t entries = p->s * p->local * p->real->parts;

  PetscFunctionBegin;
  *squares = p->real->arrays->SumSquares(entries, 1, (char *)p->Y + number * entries * p->real->arrays->size, entries);
  if (p->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, squares, 1, MPI_DOUBLE, MPI_SUM, p->comm));
  PetscCall(PetscLogFlops(2.0 * entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}
