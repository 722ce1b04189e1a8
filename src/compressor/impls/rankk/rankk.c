#include "../../muoncompressorlowrank.h"
#include <math.h>

static PetscErrorCode MuonCompressorEncode_RankK(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  void              *values;
  char              *P, *Q;
  PetscReal         *sigma;
  PetscInt           found;
  double             norm;
  int                scale;

  PetscFunctionBegin;
  PetscCall(MuonCompressorTriples_Private(c, T, R, &sigma, &values, &found, &norm, &scale));
  *count = found;
  if (c->status != MUON_STATUS_OK || found == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* Each factor takes the root of the singular value */
  P = (char *)values + (size_t)found * kernels->size;
  Q = P + (size_t)found * T->count * kernels->size;
  for (PetscInt k = 0; k < found; k++) {
    char        *p = P + (size_t)k * T->count * kernels->size, *q = Q + (size_t)k * T->len * kernels->size;
    const double root = (double)PetscSqrtReal(sigma[k]);

    kernels->Axpby(T->count, 1, root, p, T->count, 0.0, p, T->count);
    kernels->Axpby(T->len, 1, root, q, T->len, 0.0, q, T->len);
  }
  PetscCall(PetscLogFlops((PetscLogDouble)found * ((PetscLogDouble)T->len + (PetscLogDouble)T->count)));
  PetscCall(MuonCompressorFactorsEncode_Private(c, MUON_WIRE_LOWRANK, T, count, P, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With rounding to nearest, of relative error u, the error of the product is at most e = 2 u + u^2 sqrt(K) of
   the kept part, of which only u^2 sqrt(K) is not orthogonal to the tail. What is drawn from there, of
   variance omega, is drawn for both factors independently: the cross terms vanish, and what is left is ((1 +
   omega)^2 - 1) of the square of what was rounded to nearest
*/
static PetscErrorCode MuonCompressorAlpha_RankK(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const double kept = (double)MuonCompressorRank_Private(c, shape);
  double       u, omega, mixed;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision, &u, &omega));
  mixed  = u * u * sqrt(kept);
  *alpha = MuonCompressorFactorsAlpha_Private(kept / (double)PetscMin(shape->len, shape->count), ((1.0 + omega) * (1.0 + omega) - 1.0) * PetscSqr(PetscSqr(1.0 + u)), 2.0 * u + mixed, mixed);
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
   The message holds the factors U sqrt(Sigma) and V sqrt(Sigma), and fewer triples than asked for where the
   matrix has no more: none at all for a zero matrix. The triples are those of a truncated singular value
   decomposition by SLEPc; where it fails the status is `MUON_STATUS_LMO`.

   The constant of contraction in the Frobenius norm is the kept fraction of the min(m, n) triples; natural
   values, which round both factors independently, make it 47/64 of that. It holds up to the rounding of the
   values and of the decomposition.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRank()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORTOPSVD`, `MUONCOMPRESSORPOWERSGD`, `MUONCOMPRESSORTOPK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RankK(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)c), &c->svd));
  c->factors       = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_Factors;
  c->ops->encode   = MuonCompressorEncode_RankK;
  c->ops->decode   = MuonCompressorDecode_Factors;
  c->ops->validate = MuonCompressorValidate_Factors;
  c->ops->alpha    = MuonCompressorAlpha_RankK;
  c->ops->view     = MuonCompressorView_Factors;
  c->ops->describe = MuonCompressorDescribe_Factors;
  PetscFunctionReturn(PETSC_SUCCESS);
}
