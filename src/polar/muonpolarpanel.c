#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarbf16.h"

/* Extents of the long side that are worked on at once, for which the products run at full speed */
enum {
  STRIP = 512
};

/* Power iterations that watch over those that were asked for */
enum {
  WATCH = 8
};

PetscErrorCode MuonPolarGetReal_Private(MuonPolar polar, MuonMemory memory, const MuonKernelReal **real)
{
  const char        *prefix = MuonPolarPrefix_Private(polar);
  MuonPolarPrecision precision;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  if (memory == MUON_DEVICE) {
    *real = MuonKernelRealOfDevice(MuonPolarPrecisions[precision]);
    PetscCheck(*real != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS, "Option -%slmo_polar_precision is %s, which the device does not multiply, expected another of MuonPolarPrecision", prefix, MuonPolarPrecisions[precision]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(precision != MUON_POLAR_PRECISION_TF32, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_precision is tf32 for a matrix in the memory of the host, expected single, double or bf16", prefix);
  *real = precision == MUON_POLAR_PRECISION_DOUBLE ? &MuonKernelRealDouble : &MuonKernelRealSingle;
  if (precision == MUON_POLAR_PRECISION_BF16) *real = MuonKernelRealBF16;
  PetscCheck(*real != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS, "Option -%slmo_polar_precision is bf16, and the library was built without oneDNN, expected single or double", prefix);
  PetscCheck(precision != MUON_POLAR_PRECISION_BF16 || MuonKernelBF16Usable(), PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS,
             "Option -%slmo_polar_precision is bf16, which oneDNN does not multiply on this processor, expected single or double", prefix);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarCopy_Private(const MuonKernelReal *real, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  if (real->memory == MUON_HOST) PetscCall(PetscMemcpy(to, from, bytes));
  else MuonDeviceGet()->copy(bytes, from, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t MuonPolarPanelLD(const MuonPolarPanel *p)
{
  return p->left ? p->s : p->local;
}

/* Where the rows of a rank start, or the columns that are dealt to it when rows become columns */
static size_t MuonPolarPanelStart(const MuonPolarPanel *p, PetscBool rows, PetscMPIInt rank)
{
  const PetscInt n = p->G->columns;

  return (size_t)(rows == PETSC_TRUE ? p->G->ranges[rank] : (n / p->size) * rank + PetscMin(rank, n % p->size));
}

/*
   What a rank gives to the others, and takes from them, when rows become columns; backwards it is the other
   way round. The counts fit: PanelLoad() has checked
*/
static PetscErrorCode MuonPolarPanelExchange(const MuonPolarPanel *p, PetscBool forwards, const void *from, void *to)
{
  const size_t mine = MuonArrayRows(&p->G->here);
  PetscMPIInt *counts;
  MPI_Datatype type = p->real->size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(4 * (size_t)p->size, &counts));
  for (PetscMPIInt r = 0; r < p->size; r++) {
    const size_t row = MuonPolarPanelStart(p, PETSC_TRUE, r), column = MuonPolarPanelStart(p, PETSC_FALSE, r);

    counts[r]               = (PetscMPIInt)(mine * (MuonPolarPanelStart(p, PETSC_FALSE, r + 1) - column));
    counts[p->size + r]     = (PetscMPIInt)(mine * column);
    counts[2 * p->size + r] = (PetscMPIInt)((MuonPolarPanelStart(p, PETSC_TRUE, r + 1) - row) * p->local);
    counts[3 * p->size + r] = (PetscMPIInt)(row * p->local);
  }
  if (forwards == PETSC_TRUE) PetscCallMPI(MPI_Alltoallv(from, counts, counts + p->size, type, to, counts + 2 * p->size, counts + 3 * p->size, type, p->comm));
  else PetscCallMPI(MPI_Alltoallv(from, counts + 2 * p->size, counts + 3 * p->size, type, to, counts, counts + p->size, type, p->comm));
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Between whole lines and the messages, a block for each rank. Of a column-major matrix the panel has whole
   lines, which are cut into the rows of the ranks, and the rows that were loaded are blocks as they lie; of a
   row-major one it is the rows here that have whole lines, which are cut into the columns dealt to the ranks
*/
static PetscErrorCode MuonPolarPanelBlocks(const MuonPolarPanel *p, PetscBool cut, char *whole, char *blocks)
{
  const PetscBool byrows = p->G->here.rowmajor ? PETSC_FALSE : PETSC_TRUE;
  const size_t    size = p->real->size, lines = byrows == PETSC_TRUE ? p->local : p->G->here.count, length = byrows == PETSC_TRUE ? p->s : p->l;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < p->size; r++) {
    const size_t first = MuonPolarPanelStart(p, byrows, r), count = MuonPolarPanelStart(p, byrows, r + 1) - first;

    for (size_t j = 0; j < lines; j++) {
      char *line = whole + (first + j * length) * size, *block = blocks + (first * lines + j * count) * size;

      PetscCall(PetscMemcpy(cut == PETSC_TRUE ? block : line, cut == PETSC_TRUE ? line : block, count * size));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows become columns, or backwards; the side of a message whose lines are whole goes through the blocks.
   What is in the memory of a device goes through the host's
*/
static PetscErrorCode MuonPolarPanelTurn(const MuonPolarPanel *p, PetscBool forwards)
{
  const PetscBool cut  = (forwards == PETSC_TRUE) == (p->G->here.rowmajor != 0) ? PETSC_TRUE : PETSC_FALSE;
  const size_t    rows = MuonArrayEntries(&p->G->here), columns = p->s * p->local, size = p->real->size;
  void           *blocks, *Y = p->Y;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  PetscCall(MuonWorkspaceGet(p->polar->work, (p->G->here.rowmajor ? rows : columns) * size, &blocks));
  if (p->real->memory == MUON_DEVICE) {
    PetscCall(MuonWorkspaceGetPinned(p->polar->work, MUON_DEVICE, PetscMax(rows, columns) * size, &Y));
    MuonDeviceGet()->copy((forwards ? rows : columns) * size, p->Y, Y);
  }
  if (cut == PETSC_TRUE) PetscCall(MuonPolarPanelBlocks(p, cut, (char *)Y, (char *)blocks));
  PetscCall(MuonPolarPanelExchange(p, forwards, cut == PETSC_TRUE ? blocks : Y, cut == PETSC_TRUE ? Y : blocks));
  if (cut == PETSC_FALSE) PetscCall(MuonPolarPanelBlocks(p, cut, (char *)Y, (char *)blocks));
  if (p->real->memory == MUON_DEVICE) MuonDeviceGet()->copy((forwards ? columns : rows) * size, Y, p->Y);
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelLoad(MuonPolar polar, const MuonKernelReal *real, const MuonPolarTask *task, MuonPolarPanel *p)
{
  const MuonMatrix *G = &task->G;
  const MuonArray *g    = &G->here;
  const PetscBool  wide = G->rows < G->columns ? PETSC_TRUE : PETSC_FALSE;
  PetscInt         most = G->size > 1 ? 0 : G->rows;
  PetscBLASInt     fits;
  PetscInt64       entries;

  PetscFunctionBegin;
  p->real  = real;
  p->polar = polar;
  p->G     = G;
  p->comm  = G->comm;
  p->size  = G->size;
  for (PetscMPIInt r = 0; r < p->size && p->size > 1; r++) most = PetscMax(most, G->ranges[r + 1] - G->ranges[r]);
  p->cut = p->size > 1 ? wide : PETSC_FALSE;
  /*
     A square matrix works on its columns on one rank as it must on many, so that an estimate that depends on
     the side is the same
  */
  p->left = (wide == PETSC_TRUE) != (g->rowmajor != 0);
  p->s    = (size_t)PetscMin(G->rows, G->columns);
  p->l    = (size_t)PetscMax(G->rows, G->columns);
  if (p->cut == PETSC_TRUE) p->local = MuonPolarPanelStart(p, PETSC_FALSE, G->rank + 1) - MuonPolarPanelStart(p, PETSC_FALSE, G->rank);
  else p->local = p->size > 1 ? MuonArrayRows(g) : p->l;
  /* The same question on all ranks */
  PetscCall(PetscBLASIntCast(p->cut == PETSC_TRUE ? G->columns : PetscMax(most, G->columns), &fits));
  if (p->cut == PETSC_TRUE) {
    entries = PetscMax((PetscInt64)most * G->columns, (PetscInt64)G->rows * (G->columns / p->size + 1));
    PetscCheck(entries <= PETSC_MPI_INT_MAX, p->comm, PETSC_ERR_SUP, "A rank of the %" PetscInt_FMT " x %" PetscInt_FMT " matrix has up to %" PetscInt64_FMT " entries, expected at most %d where rows become columns", G->rows, G->columns, entries,
               PETSC_MPI_INT_MAX);
  }

  p->whole = PETSC_FALSE;
  p->Z     = NULL;
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, PetscMax(MuonArrayEntries(g), p->s * p->local) * real->size, &p->Y));
  real->load(g->len, g->count, g->precision, g->data, g->ld, task->norm, task->exponent, p->Y, g->len);
  if (p->cut == PETSC_TRUE) PetscCall(MuonPolarPanelTurn(p, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelStore(MuonPolarPanel *p, double scale, const MuonMatrix *Q)
{
  const MuonArray *q = &Q->here;

  PetscFunctionBegin;
  if (p->cut == PETSC_TRUE) PetscCall(MuonPolarPanelTurn(p, PETSC_FALSE));
  p->real->store(q->len, q->count, scale, p->Y, q->len, q->precision, q->data, q->ld);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The triangle moves together in its own place, column j to where the j columns before it end, and back, so
   that half of the square is sent and nothing allocated
*/
static PetscErrorCode MuonPolarPanelSumTriangle(const MuonPolarPanel *p, char *a)
{
  const size_t s = p->s, size = p->real->size, entries = s * (s + 1) / 2, chunk = (size_t)1 << 30;

  PetscFunctionBegin;
  for (size_t j = 1; j < s; j++) memmove(a + (j * s - j * (j - 1) / 2) * size, a + j * (s + 1) * size, (s - j) * size);
  for (size_t done = 0; done < entries; done += chunk) {
    const size_t count = PetscMin(chunk, entries - done);

    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, a + done * size, (PetscMPIInt)count, size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, p->comm));
  }
  for (size_t j = s - 1; j > 0; j--) memmove(a + j * (s + 1) * size, a + (j * s - j * (j - 1) / 2) * size, (s - j) * size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelGram(MuonPolarPanel *p, void *A)
{
  const size_t bytes = p->s * p->s * p->real->size;
  void        *host;

  PetscFunctionBegin;
  p->real->gram(p->left, p->s, p->local, 1.0, p->Y, MuonPolarPanelLD(p), 0.0, A);
  PetscCall(PetscLogFlops((PetscLogDouble)p->s * (p->s + 1) * p->local));
  if (p->size > 1 && p->real->memory == MUON_HOST) PetscCall(MuonPolarPanelSumTriangle(p, (char *)A));
  else if (p->size > 1) {
    MuonMark mark;

    PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
    PetscCall(MuonWorkspaceGetPinned(p->polar->work, MUON_DEVICE, bytes, &host));
    MuonDeviceGet()->copy(bytes, A, host);
    PetscCall(MuonPolarPanelSumTriangle(p, (char *)host));
    MuonDeviceGet()->copy(bytes, host, A);
    PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelLeast(const MuonPolarPanel *p, size_t *least)
{
  PetscFunctionBegin;
  *least = p->local;
  for (PetscMPIInt r = 0; r < p->size && p->size > 1; r++) {
    const PetscBool rows = p->cut == PETSC_TRUE ? PETSC_FALSE : PETSC_TRUE;

    *least = PetscMin(*least, MuonPolarPanelStart(p, rows, r + 1) - MuonPolarPanelStart(p, rows, r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelAgree(MuonPolarPanel *p, PetscMPIInt n, double x[])
{
  PetscFunctionBegin;
  if (p->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_MAX, p->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonPolarPanelGetStrip(const MuonPolarPanel *p)
{
  return p->whole == PETSC_TRUE ? p->local : PetscMin(p->local, STRIP);
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
  if (p->left || length == p->local) PetscCall(MuonPolarCopy_Private(p->real, Z, MuonPolarPanelStrip(p, first), p->s * length * size));
  else {
    for (size_t j = 0; j < p->s; j++) PetscCall(MuonPolarCopy_Private(p->real, Z + j * length * size, MuonPolarPanelStrip(p, first) + j * p->local * size, length * size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelReserve(MuonPolarPanel *p)
{
  PetscFunctionBegin;
  /* What was cut stays where it is, which is large enough to take the rows back */
  if (p->whole && !p->cut && !p->Z) PetscCall(MuonWorkspaceGetIn(p->polar->work, p->real->memory, p->s * p->local * p->real->size, &p->Z));
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
  if (!Z) PetscCall(MuonWorkspaceGetIn(p->polar->work, p->real->memory, p->s * strip * p->real->size, &Z));
  held = p->real->hold(p->s, B);
  for (size_t first = 0; first < p->local; first += strip) {
    const size_t length = PetscMin(strip, p->local - first), ldz = p->left ? p->s : length;
    char        *Y = MuonPolarPanelStrip(p, first);

    PetscCall(MuonPolarPanelCopyStrip(p, first, length, Z));
    if (c3 == 0.0) p->real->multiply(p->left, p->s, length, c2, B, held, Z, ldz, c1, Y, ld);
    else {
      p->real->multiply(p->left, p->s, length, c3, B, held, Y, ld, c2, Z, ldz);
      p->real->multiply(p->left, p->s, length, 1.0, B, held, Z, ldz, c1, Y, ld);
    }
  }
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscCall(PetscLogFlops((c3 == 0.0 ? 2.0 : 4.0) * p->s * p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelMultiply(MuonPolarPanel *p, const void *B)
{
  void *Y = p->Y;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelReserve(p));
  if (!p->Z) {
    PetscCall(MuonPolarPanelUpdate(p, 0.0, 1.0, 0.0, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p->real->multiply(p->left, p->s, p->local, 1.0, B, NULL, Y, MuonPolarPanelLD(p), 0.0, p->Z, MuonPolarPanelLD(p));
  p->Y = p->Z;
  p->Z = Y;
  PetscCall(PetscLogFlops(2.0 * p->s * p->s * p->local));
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
  const MuonKernelReal  *real    = p->real;
  const MuonKernels     *kernels = real->arrays;
  const MuonKernelStream stream  = {0x506f6c6172ULL, 0, 0, 0, 0};
  const PetscInt         asked   = iterations + 1;
  const size_t           chunk   = 256;
  double                 last, estimate = 0.0, watched = 0.0;
  double                 part[256];
  uint32_t               words[256];
  const void            *held;
  char                  *v, *w;
  void                  *vectors;

  PetscFunctionBegin;
  PetscCall(MuonMemoryAllocate(real->memory, 2 * p->s * real->size, &vectors));
  v = (char *)vectors;
  w = v + p->s * real->size;
  /* Uniform in [-1,1), the same for every matrix of that side */
  for (size_t i = 0; i < p->s; i += chunk) {
    const size_t count = PetscMin(chunk, p->s - i);

    MuonKernelStreamWords(&stream, i, count, words);
    for (size_t j = 0; j < count; j++) part[j] = (double)words[j] / 2147483648.0 - 1.0;
    real->load(count, 1, MUON_DOUBLE, part, count, 1.0, 0, v + i * real->size, count);
  }
  last = sqrt(kernels->SumSquares(p->s, 1, v, p->s));
  held = real->hold(p->s, A);
  for (PetscInt k = 0; k < asked + WATCH; k++) {
    char *swap = v;

    real->multiply(1, p->s, 1, 1.0 / last, A, held, v, p->s, 0.0, w, p->s);
    last = sqrt(kernels->SumSquares(p->s, 1, w, p->s));
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

PetscErrorCode MuonPolarPanelSumSquares(MuonPolarPanel *p, double *squares)
{
  PetscFunctionBegin;
  *squares = p->real->arrays->SumSquares(p->s * p->local, 1, p->Y, p->s * p->local);
  if (p->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, squares, 1, MPI_DOUBLE, MPI_SUM, p->comm));
  PetscCall(PetscLogFlops(2.0 * p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}
