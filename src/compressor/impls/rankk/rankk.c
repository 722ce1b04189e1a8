#include "../../muoncompressorcodec.h"
#include <petscblaslapack.h>

typedef struct {
  MuonSVD svd;
} MuonCompressor_RankK;

static PetscInt MuonCompressorGetRank_RankK(MuonCompressor c, PetscInt m, PetscInt n)
{
  const PetscInt most = PetscMin(m, n);

  return c->rank == PETSC_DETERMINE ? (PetscInt)MuonCompressorKept_Private(c->ratio, most) : PetscMin(c->rank, most);
}

static PetscErrorCode MuonCompressorLayout_RankK(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_LOWRANK;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = MuonCompressorGetRank_RankK(c, m, n);
  layout->exact  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_RankK(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  MuonCompressor_RankK *rankk = (MuonCompressor_RankK *)c->data;
  const PetscInt        rank  = MuonCompressorGetRank_RankK(c, m, n);
  const MuonWireValues  codec = MuonCompressorCodec_Private(c->values);
  const size_t          left = (size_t)rank * m, all = (size_t)rank * ((size_t)m + n);
  Mat                   A;
  PetscScalar          *X, *P, *Q;
  PetscReal            *sigma;
  PetscInt              found;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * n * sizeof(PetscScalar), &X));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, all * sizeof(PetscScalar), &P));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, (size_t)rank * sizeof(PetscReal), &sigma));
  MuonKernelAxpby((size_t)m, (size_t)n, 1, T, (size_t)ldt, 0, X, (size_t)m);
  if (R != NULL) {
    MuonKernelAxpby((size_t)m, (size_t)n, -1, R, (size_t)ldr, 1, X, (size_t)m);
    PetscCall(PetscLogFlops((PetscLogDouble)m * n));
  }
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &A));
  PetscCall(MuonSVDSetWorkspace(rankk->svd, c->work));
  PetscCall(MuonSVDCompute(rankk->svd, A, rank, sigma, P, P + left, &found, &c->status));
  PetscCall(MatDestroy(&A));
  *count = found;
  if (c->status != MUON_STATUS_OK || found == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* Q moves next to the columns of P that there are; each factor takes the root of the singular value */
  Q = P + (size_t)found * m;
  PetscCall(PetscArraymove(Q, P + left, (size_t)found * n));
  for (PetscInt k = 0; k < found; k++) {
    const PetscScalar root = PetscSqrtReal(sigma[k]);

    MuonKernelAxpby((size_t)m, 1, root, P + (size_t)k * m, (size_t)m, 0, P + (size_t)k * m, (size_t)m);
    MuonKernelAxpby((size_t)n, 1, root, Q + (size_t)k * n, (size_t)n, 0, Q + (size_t)k * n, (size_t)n);
  }
  PetscCall(PetscLogFlops((PetscLogDouble)found * ((PetscLogDouble)m + n)));
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  PetscCall(MuonCompressorValuesEncode_Private(c, codec, (PetscInt64)found * ((PetscInt64)m + n), P, 0, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_RankK(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const PetscInt64   factors = count * ((PetscInt64)m + n);
  const PetscScalar  one = 1.0, zero = 0.0, a = add == PETSC_TRUE ? scale : one;
  const PetscScalar *Q;
  PetscScalar       *P;
  PetscBLASInt       bm, bn, bk, bld;

  PetscFunctionBegin;
  if (count == 0 || m == 0 || n == 0) {
    if (add == PETSC_FALSE) {
      for (PetscInt j = 0; j < n; j++) PetscCall(PetscArrayzero(Y + (size_t)j * ldy, m));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast((PetscInt)count, &bk));
  PetscCall(PetscBLASIntCast(ldy, &bld));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (size_t)factors * sizeof(PetscScalar), &P));
  PetscCall(MuonCompressorValuesDecode_Private(MuonCompressorCodec_Private(c->values), factors, payload, 0, P));
  Q = P + (size_t)count * m;
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &a, P, &bm, Q, &bn, add == PETSC_TRUE ? &one : &zero, Y, &bld));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)count * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With the values of both factors rounded at random and independently the cross terms vanish: E error^2 <= tail^2 + ((1 + omega)^2 - 1) kept^2, omega = 1/8. With rounding to nearest, of relative
   error u, the error of the product is at most e = 2 u + u^2 sqrt(K) of the kept part, of which only u^2 sqrt(K) is not orthogonal to the tail
*/
static PetscErrorCode MuonCompressorAlpha_RankK(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  const PetscReal      kept = (PetscReal)MuonCompressorGetRank_RankK(c, m, n), part = m > 0 && n > 0 ? kept / (PetscReal)PetscMin(m, n) : 1.0;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) *alpha = 47.0 / 64.0 * part;
  else {
    const PetscReal u2 = 1.0 - MuonCompressorCodecAlpha_Private(codec), mixed = u2 * PetscSqrtReal(kept), e = 2.0 * PetscSqrtReal(u2) + mixed;

    *alpha = part * (1.0 - e * e) - mixed;
    if (*alpha <= 0.0) *alpha = -1.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSetFromOptions_RankK(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  MuonCompressor_RankK *rankk = (MuonCompressor_RankK *)c->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetOptionsPrefix(rankk->svd, (PetscObject)c, "compressor_"));
  PetscCall(MuonSVDSetFromOptions(rankk->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_RankK(MuonCompressor c, PetscViewer viewer)
{
  MuonCompressor_RankK *rankk = (MuonCompressor_RankK *)c->data;

  PetscFunctionBegin;
  if (c->rank == PETSC_DETERMINE) PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %g of the smaller size, values: %s\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %" PetscInt_FMT ", values: %s\n", c->rank, MuonCompressorValuesTypes[c->values]));
  PetscCall(MuonSVDView(rankk->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDescribe_RankK(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  if (c->rank != PETSC_DETERMINE) PetscCall(PetscSNPrintf(text, length, " %" PetscInt_FMT " %s", c->rank, MuonCompressorValuesTypes[c->values]));
  else PetscCall(PetscSNPrintf(text, length, " %g %s", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDestroy_RankK(MuonCompressor c)
{
  MuonCompressor_RankK *rankk = (MuonCompressor_RankK *)c->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDDestroy(&rankk->svd));
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORRANKK - Keeps the leading singular triples

   Options Database Keys:
+  -compressor_rank k                                     - how many triples are kept, min(m, n) where there are no more
.  -compressor_ratio r                                    - where no rank is set: keeps max(1, floor(r min(m, n))) of them
.  -compressor_values (native|double|single|bf16|natural) - how the two factors are written
-  -compressor_svd_type, -compressor_svd_...              - the solver, see `SVDSetFromOptions()`

   Level: beginner

   Notes:
   The message holds the factors U sqrt(Sigma) and V sqrt(Sigma), and fewer triples than asked for where the matrix has no more: none at all for a zero matrix. The triples are those of
   a truncated singular value decomposition by SLEPc; where it fails the status is `MUON_STATUS_LMO`.

   The constant of contraction in the Frobenius norm is the kept part of the min(m, n) triples; natural values, which round both factors independently, make it 47/64 of that.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRank()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORTOPK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RankK(MuonCompressor c)
{
  MuonCompressor_RankK *rankk;

  PetscFunctionBegin;
  PetscCall(PetscNew(&rankk));
  c->data = rankk;
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)c), &rankk->svd));
  PetscCall(MuonSVDSetOptionsPrefix(rankk->svd, (PetscObject)c, "compressor_"));
  c->ops->setfromoptions = MuonCompressorSetFromOptions_RankK;
  c->ops->layout         = MuonCompressorLayout_RankK;
  c->ops->encode         = MuonCompressorEncode_RankK;
  c->ops->decode         = MuonCompressorDecode_RankK;
  c->ops->alpha          = MuonCompressorAlpha_RankK;
  c->ops->view           = MuonCompressorView_RankK;
  c->ops->describe       = MuonCompressorDescribe_RankK;
  c->ops->destroy        = MuonCompressorDestroy_RankK;
  PetscFunctionReturn(PETSC_SUCCESS);
}
