#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

static PetscErrorCode MuonLMOView_Mixed(MuonLMO lmo, PetscViewer viewer)
{
  const MuonLMOSlices *data = (MuonLMOSlices *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOViewExponent(viewer, "p", data->p));
  PetscCall(MuonLMOViewExponent(viewer, "q", data->q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(key, field, help) \
  { \
    key, MUON_PARAMETER_REAL, offsetof(MuonLMOSlices, field), 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_INF | MUON_PARAMETER_HIDDEN, help \
  }
const MuonParameter MuonLMOParameters_Mixed[] = {ROW("mixed_exponent_p", p, "Exponent in the norm of a column"), ROW("mixed_exponent_q", q, "Exponent in the norm of these norms"), {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};
#undef ROW

/*MC
  MUONLMOMIXED - "mixed" - $\ell_{p,q}$, the $q$-norm of the $p$-norms of the columns, $(\sum_j
  \|X_{:j}\|_p^q)^{1/q}$; its dual is $\ell_{p^*,q^*}$ with $1/p + 1/p^* = 1$ and $1/q + 1/q^* = 1$

  Options Database Keys:
+ -lmo_mixed_exponent_p p - exponent in the norm of a column, 1 to inf, 2 by default
- -lmo_mixed_exponent_q q - exponent in the norm of these norms, 1 to inf, 2 by default

  Level: intermediate

  Notes:
  With $c_j = \|G_{:j}\|_{p^*}$ and $C = \|c\|_{q^*}$ the minimizer is $-(c_j/C)^{q^*-1}
  (|G_{ij}|/c_j)^{p^*-1} \mathrm{sign}(G_{ij})$. In the limits $q = 1$ keeps the column with the largest $c_j$
  alone, the first of several,
  $q = \infty$ gives every column that is not zero the weight 1, $p = 1$ keeps the largest entry of a kept column, in the lowest row of several, and $p = \infty$ gives signs. For $p = q = 1$ the entry is, of several
  that are largest, the first in the order of the memory. Zero columns stay zero.

  The exponents (1,1), (1,inf), (2,1), (2,2), (2,inf) and (inf,inf) are the norms `MUONLMOL1`,
  `MUONLMOCOLSUM`, `MUONLMOL21`, `MUONLMOFROBENIUS`, `MUONLMOCOLUMN` and `MUONLMOMAX`.

  Powers are taken of quotients by the largest, and sums in double, so that any exponent works for entries of
  any size. `MuonLMOApply()` takes up to 6 operations an entry, two of which are powers unless the exponent is
  1, 2 or inf. Of a parallel matrix the norms of the columns are added up over the ranks in their order.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Mixed(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 2.0, 2.0));
  lmo->ops->view = MuonLMOView_Mixed;
  PetscFunctionReturn(PETSC_SUCCESS);
}
