#include "../../muoncompressorlines.h"

/*MC
   MUONCOMPRESSORROWTOPK - Keeps the rows of largest norm

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m)) rows of an m x n matrix
.  -compressor_line_norm p                                - by their norms l_p, 1 to `inf`, 2 by default
-  -compressor_values (native|double|single|bf16|natural) - how the entries of these rows are written

   Level: intermediate

   Note:
   It is `MUONCOMPRESSORCOLUMNTOPK` of the transposed matrix, with the same constants for m in place of n and
   n in place of m; the entries of natural values have the random numbers of their places in the matrix
   itself.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetLineNorm()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORCOLUMNTOPK`, `MUONCOMPRESSORTOPK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RowTopK(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreateLines_Private(c, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
