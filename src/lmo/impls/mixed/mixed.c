#include <petscmuon/private/muonlmoslices.h> /*I "petscmuonlmo.h" I*/

static PetscErrorCode MuonLMOSetFromOptions_Mixed(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  PetscReal p, q;
  PetscBool set1, set2;
  char      now1[64], now2[64], text1[64], text2[64];

  PetscFunctionBegin;
  PetscCall(MuonLMOMixedGetExponents(lmo, &p, &q));
  PetscCall(MuonExponentWrite_Private(p, sizeof(now1), now1));
  PetscCall(MuonExponentWrite_Private(q, sizeof(now2), now2));
  PetscOptionsHeadBegin(PetscOptionsObject, "Mixed norm options");
  PetscCall(PetscOptionsString("-lmo_mixed_exponent_p", "Exponent in the norm of a column", "MuonLMOMixedSetExponents", now1, text1, sizeof(text1), &set1));
  PetscCall(PetscOptionsString("-lmo_mixed_exponent_q", "Exponent in the norm of these norms", "MuonLMOMixedSetExponents", now2, text2, sizeof(text2), &set2));
  if (set1 == PETSC_TRUE) PetscCall(MuonExponentRead_Private(text1, &p));
  if (set2 == PETSC_TRUE) PetscCall(MuonExponentRead_Private(text2, &q));
  if (set1 == PETSC_TRUE || set2 == PETSC_TRUE) PetscCall(MuonLMOMixedSetExponents(lmo, p, q));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Mixed(MuonLMO lmo, PetscViewer viewer)
{
  PetscReal p, q;

  PetscFunctionBegin;
  PetscCall(MuonLMOMixedGetExponents(lmo, &p, &q));
  PetscCall(MuonLMOViewExponent(viewer, "p", p));
  PetscCall(MuonLMOViewExponent(viewer, "q", q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOMixedSetExponents()`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Mixed(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 2.0, 2.0));
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Mixed;
  lmo->ops->view           = MuonLMOView_Mixed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOMixedSetExponents - Sets the exponents of the mixed norm of `MUONLMOMIXED`

  Logically Collective

  Input Parameters:
+ lmo - the object
. p   - exponent in the norm of a column, in [1, `PETSC_INFINITY`]
- q   - exponent in the norm of these norms, in [1, `PETSC_INFINITY`]

  Options Database Keys:
+ -lmo_mixed_exponent_p p - the first, a number or `inf`
- -lmo_mixed_exponent_q q - the second, a number or `inf`

  Level: intermediate

  Note:
  An object of another type ignores it.

.seealso: `MuonLMO`, `MUONLMOMIXED`, `MuonLMOMixedGetExponents()`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOMixedSetExponents(MuonLMO lmo, PetscReal p, PetscReal q)
{
  MuonLMOSlices *data;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(lmo, p, 2);
  PetscValidLogicalCollectiveReal(lmo, q, 3);
  MuonIgnoreUnlessType(lmo, MUONLMOMIXED);
  PetscCall(MuonLMOCheckExponent(lmo, "mixed_exponent_p", p));
  PetscCall(MuonLMOCheckExponent(lmo, "mixed_exponent_q", q));
  data    = (MuonLMOSlices *)lmo->data;
  data->p = MuonLMOExponent(p);
  data->q = MuonLMOExponent(q);
  PetscCall(PetscObjectStateIncrease((PetscObject)lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOMixedGetExponents - Gets the exponents of the mixed norm of `MUONLMOMIXED`

  Not Collective

  Input Parameter:
. lmo - the object, of that type

  Output Parameters:
+ p - exponent in the norm of a column, `PETSC_INFINITY` for the largest entry; may be `NULL`
- q - exponent in the norm of these norms; may be `NULL`

  Level: intermediate

.seealso: `MuonLMO`, `MUONLMOMIXED`, `MuonLMOMixedSetExponents()`
@*/
PetscErrorCode MuonLMOMixedGetExponents(MuonLMO lmo, PetscReal *p, PetscReal *q)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  MuonCheckType(lmo, MUONLMOMIXED);
  if (p != NULL) *p = (PetscReal)PetscMin(((MuonLMOSlices *)lmo->data)->p, PETSC_INFINITY);
  if (q != NULL) *q = (PetscReal)PetscMin(((MuonLMOSlices *)lmo->data)->q, PETSC_INFINITY);
  PetscFunctionReturn(PETSC_SUCCESS);
}
