#include "../../muoncompressorlowrank.h"
#include <math.h>

typedef struct {
  MuonSVD svd;
} MuonCompressor_RankK;

static PetscErrorCode MuonCompressorLayout_RankK(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorRankLayout_Private(c, MUON_WIRE_LOWRANK, m, n, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_RankK(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  MuonCompressor_RankK *rankk = (MuonCompressor_RankK *)c->data;
  const PetscInt        rank  = MuonCompressorRank_Private(c, m, n);
  const PetscScalar    *X;
  PetscScalar          *P, *Q;
  PetscReal            *sigma;
  PetscInt              found, ldx;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (size_t)rank * ((size_t)m + (size_t)n) * sizeof(PetscScalar), &P));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, (size_t)rank * sizeof(PetscReal), &sigma));
  PetscCall(MuonCompressorResidual_Private(c, m, n, T, ldt, R, ldr, &X, &ldx));
  PetscCall(MuonCompressorTriples_Private(c, rankk->svd, m, n, X, ldx, rank, sigma, P, &found));
  *count = found;
  if (c->status != MUON_STATUS_OK || found == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* Each factor takes the root of the singular value */
  Q = P + (size_t)found * (size_t)m;
  for (PetscInt k = 0; k < found; k++) {
    const PetscScalar root = PetscSqrtReal(sigma[k]);

    MuonKernelAxpby((size_t)m, 1, root, P + (size_t)k * (size_t)m, (size_t)m, 0, P + (size_t)k * (size_t)m, (size_t)m);
    MuonKernelAxpby((size_t)n, 1, root, Q + (size_t)k * (size_t)n, (size_t)n, 0, Q + (size_t)k * (size_t)n, (size_t)n);
  }
  PetscCall(PetscLogFlops((PetscLogDouble)found * ((PetscLogDouble)m + n)));
  PetscCall(MuonCompressorFactorsEncode_Private(c, MUON_WIRE_LOWRANK, m, n, count, P, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With rounding to nearest, of relative error u, the error of the product is at most e = 2 u + u^2 sqrt(K) of the kept part, of which only u^2 sqrt(K) is not orthogonal to the tail. What is drawn from there, of variance omega, is
   drawn for both factors independently: the cross terms vanish, and what is left is ((1 + omega)^2 - 1) of the square of what was rounded to nearest
*/
static PetscErrorCode MuonCompressorAlpha_RankK(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const double kept = (double)MuonCompressorRank_Private(c, m, n), part = kept / (double)PetscMin(m, n);
  double       u, omega, mixed, e, drawn;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c->values), &u, &omega));
  mixed  = u * u * sqrt(kept);
  e      = 2.0 * u + mixed;
  drawn  = ((1.0 + omega) * (1.0 + omega) - 1.0) * PetscSqr(PetscSqr(1.0 + u));
  *alpha = MuonCompressorRoundDown_Private(part * (1.0 - drawn - e * e) - mixed);
  if (*alpha <= 0.0) *alpha = -1.0;
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
  PetscCall(MuonCompressorViewRank_Private(c, viewer));
  PetscCall(MuonSVDView(rankk->svd, viewer));
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
   It holds up to the rounding of the values and of the decomposition.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRank()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORTOPSVD`, `MUONCOMPRESSORPOWERSGD`, `MUONCOMPRESSORTOPK`
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
  c->ops->decode         = MuonCompressorDecode_Factors;
  c->ops->validate       = MuonCompressorValidate_Factors;
  c->ops->alpha          = MuonCompressorAlpha_RankK;
  c->ops->view           = MuonCompressorView_RankK;
  c->ops->describe       = MuonCompressorDescribe_Factors;
  c->ops->destroy        = MuonCompressorDestroy_RankK;
  PetscFunctionReturn(PETSC_SUCCESS);
}
