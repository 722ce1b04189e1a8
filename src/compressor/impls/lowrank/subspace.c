/*
   Operations on a few columns for the low-rank types: random columns, norms, products, orthonormal columns.
*/
#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include <math.h>

/* The number of random words that are computed at a time */
#define CHUNK 512

void *MuonColumnsAt(const MuonColumns *X, size_t k)
{
  return X->data + k * X->rows * X->kernels->size;
}

void MuonColumnsNorms_Private(const MuonColumns *X, size_t count, double norms[])
{
  X->kernels->VectorSums(X->rows, count, X->data, X->rows, 0, 2, norms);
  for (size_t k = 0; k < count; k++) norms[k] = sqrt(norms[k]);
}

void MuonColumnsCopy_Private(const MuonColumns *X, size_t from, size_t count, const MuonColumns *Y, size_t to)
{
  X->kernels->Axpby(X->rows * count, 1, 1.0, MuonColumnsAt(X, from), X->rows * count, 0.0, MuonColumnsAt(Y, to), X->rows * count);
}

size_t MuonColumnsCopyLarger_Private(const MuonColumns *X, size_t count, const double norms[], double least, const MuonColumns *Y)
{
  size_t kept = 0;

  for (size_t k = 0; k < count; k++) {
    size_t run = 0;

    while (k + run < count && norms[k + run] > least) run++;
    if (run > 0) MuonColumnsCopy_Private(X, k, run, Y, kept);
    kept += run;
    k += run;
  }
  return kept;
}

PetscErrorCode MuonColumnsGaussian_Private(MuonCompressor c, PetscBool fresh, size_t first, size_t count, const MuonColumns *X)
{
  const size_t     begin = first * X->rows, entries = count * X->rows, size = X->kernels->size;
  MuonKernelStream stream = MuonCompressorStream_Private(c);
  void            *to     = MuonColumnsAt(X, first);
  MuonMark         mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  if (X->memory != MUON_HOST) PetscCall(MuonWorkspaceGetPinned(c->work, X->memory, entries * size, &to));
  if (!fresh) stream.step = UINT32_MAX;
  for (size_t k = 0; k < entries; k += CHUNK / 2) {
    const size_t some = PetscMin(entries - k, CHUNK / 2), each = fresh ? 1 : 2; /* words of an entry */
    uint32_t     words[CHUNK];
    double       sine = 0.0;

    MuonKernelStreamWords(&stream, fresh ? ((uint64_t)1 << 33) + k : 2 * (uint64_t)(begin + k), each * some + some % 2 * (2 - each), words);
    for (size_t i = 0; i < some; i++) {
      double x = sine;

      /* Sine and cosine of one angle together take little longer than one of them */
      if (!fresh || i % 2 == 0) {
        const double w = ((double)words[each * i] + 1.0) / 4294967296.0, angle = 6.283185307179586 * (double)words[each * i + 1] / 4294967296.0;
        const double radius = size == sizeof(float) ? (double)sqrtf(-2.0f * logf((float)w)) : sqrt(-2.0 * log(w));

        x    = radius * (size == sizeof(float) ? (double)cosf((float)angle) : cos(angle));
        sine = radius * (size == sizeof(float) ? (double)sinf((float)angle) : sin(angle));
      }
      if (size == sizeof(float)) ((float *)to)[k + i] = (float)x;
      else ((double *)to)[k + i] = x;
    }
  }
  if (X->memory != MUON_HOST) MuonDeviceGet()->copy(entries * size, to, MuonColumnsAt(X, first));
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonColumnsScale_Private(MuonCompressor c, MuonArray *X, int *exponent, double *norm)
{
  const MuonKernels *kernels = MuonArrayKernels(X);
  const double       range   = X->precision == MUON_SINGLE ? 1.8446744073709552e19 : 1.3407807929942597e154; /* 2^64 and 2^512 */
  const double       sum     = kernels->SumSquares(X->len, X->count, X->data, X->ld);
  MuonArray          copy;

  PetscFunctionBegin;
  *exponent = 0;
  *norm     = sqrt(sum);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)MuonArrayEntries(X)));
  /* A NaN is in no range. These comparisons do not trap it */
  if (isgreaterequal(sum, 1.0 / range) && islessequal(sum, range)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!MuonArrayIsFinite(X)) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *norm = kernels->Norm(X->len, X->count, X->data, X->ld, exponent);
  if (*norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetArray(c->work, X, X->precision, &copy));
  kernels->Divide(X->len, X->count, X->data, X->ld, 1.0, *exponent, copy.data, copy.ld);
  *X = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonColumnsOrthonormalize_Private(MuonCompressor c, size_t l, const MuonColumns *P)
{
  size_t   entries = 0;
  void    *work;
  int      info;
  MuonMark mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  (void)P->kernels->Orthonormalize(P->rows, l, P->data, &entries, NULL);
  PetscCall(MuonWorkspaceGetIn(c->work, P->memory, entries * P->kernels->size, &work));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  info = P->kernels->Orthonormalize(P->rows, l, P->data, &entries, work);
  PetscCall(PetscFPTrapPop());
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF or xORGQR: info %d", info);
  PetscCall(PetscLogFlops(4.0 * (double)P->rows * (double)l * (double)l - 4.0 / 3.0 * (double)l * (double)l * (double)l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonColumnsRotation_Private(MuonCompressor c, size_t l, const MuonColumns *V, void **WT, void **S)
{
  const size_t size    = V->kernels->size;
  size_t       entries = 0;
  char        *work;
  int          info;

  PetscFunctionBegin;
  (void)V->kernels->Rotation(V->rows, l, V->data, NULL, NULL, &entries, NULL);
  PetscCall(MuonWorkspaceGetIn(c->work, V->memory, (l * (l + 1) + entries) * size, &work));
  *WT = work;
  *S  = work + l * l * size;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  info = V->kernels->Rotation(V->rows, l, V->data, *WT, *S, &entries, work + l * (l + 1) * size);
  PetscCall(PetscFPTrapPop());
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGESVD: info %d", info);
  if (info > 0) c->status = MUON_STATUS_LMO;
  if (V->memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, V->memory, l * size, S));
    MuonDeviceGet()->copy(l * size, work + l * l * size, *S);
  }
  PetscCall(PetscLogFlops(2.0 * (double)V->rows * (double)l * (double)l + 12.0 * (double)l * (double)l * (double)l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonColumnsMultiply_Private(const MuonArray *X, int transposed, size_t first, size_t count, double a, const MuonColumns *B, double b, const MuonColumns *Y)
{
  PetscFunctionBegin;
  Y->kernels->Multiply(transposed, 0, Y->rows, count, B->rows, a, X->data, PetscMax(X->ld, X->len), MuonColumnsAt(B, first), B->rows, b, MuonColumnsAt(Y, first), Y->rows);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)MuonArrayEntries(X) * (PetscLogDouble)count));
  PetscFunctionReturn(PETSC_SUCCESS);
}
