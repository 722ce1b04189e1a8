#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

const MuonParameter MuonLMOParameters_Schatten[] = {{"schatten_exponent", MUON_PARAMETER_REAL, offsetof(MuonLMOVectors, p), 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_INF, "Exponent in the norm of the singular values"},
                                                    {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONLMOSCHATTEN - "schatten" - the $p$-norm of the singular values; its dual is their $p^*$-norm with $1/p +
  1/p^* = 1$

  Options Database Keys:
+ -lmo_schatten_exponent p - the exponent, 1 to inf, 2 by default
- -lmo_svd_type type       - SLEPc's solver, with SLEPc's other keys of that prefix, see `MUONLMONUCLEAR`

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ the minimizer is $-U \mathrm{diag}(w) V^T$, $w_i =
  (\sigma_i / \|\sigma\|_{p^*})^{p^*-1}$, over the singular values above $\max(m,n) \epsilon \sigma_1$. It is
  zero for a zero matrix.

  The exponents 1, 2 and inf are the norms `MUONLMONUCLEAR`, `MUONLMOFROBENIUS` and `MUONLMOSPECTRAL`, the
  last with an exact polar factor. Exponent 2 needs no decomposition, 1 needs one singular triple, any other exponent
  all of them. `MuonLMOGetFlops()` counts the operations of LAPACK.

  A parallel matrix is gathered on the first rank of its communicator, which computes the decomposition and sends each
  rank its rows of $U$ and all of $V$. Exponent 2 gathers nothing.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMIXED`, `MUONLMOSPECTRAL`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Schatten(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSingular(lmo, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
