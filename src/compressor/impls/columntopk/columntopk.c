#include "../../muoncompressorlines.h"

/*MC
   MUONCOMPRESSORCOLUMNTOPK - Keeps the columns of largest norm

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r n)) columns of an m x n matrix
.  -compressor_line_norm p                                - by their norms l_p, 1 to `inf`, 2 by default
-  -compressor_values (native|double|single|bf16|natural) - how the entries of these columns are written

   Level: intermediate

   Notes:
   Of columns of equal norm the first are kept. Norms are sums in double, in a fixed order, of entries of any
   size; for p = 1, 2 and `inf` columns whose norms are equal compare as equal as long as these sums are
   exact, for other p up to rounding.

   With K of n columns the constant of contraction in the Frobenius norm is K/n for p = 2, and K / (K + (n -
   K) m^|1 - 2/p|) for any p, because the l_2 norm of a column that is left out is at most m^|1/2 - 1/p| times
   that of any kept one. Natural values make it 7/8 of that, because a square that is kept has an error of 1/8
   of it at most. With values that are exact it contracts in the norms of `MUONLMOMIXED` that have the same p:
   ||C(X) - X||^2 <= (1 - alpha) ||X||^2 in l_{p,q} with alpha = 1 - (1 - K/n)^(2/q), which is 0 for q =
   `inf`.

   The message holds the numbers of the columns, then their entries. By the formula of the paper it costs K
   (32 m + ceil(log2 n)) bits, and 16 for 32 with natural values and bf16.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetLineNorm()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORROWTOPK`, `MUONCOMPRESSORTOPK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_ColumnTopK(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreateLines_Private(c, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
