#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"

typedef struct {
  PetscReal p, q;
} MuonLMO_Mixed;

static PetscErrorCode MuonLMOApply_Mixed(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsApply_Private(lmo, MuonLMOExponent_Private(data->p), MuonLMOExponent_Private(data->q), G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Mixed(MuonLMO lmo, Mat X, PetscReal *norm)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, MuonLMOExponent_Private(data->p), MuonLMOExponent_Private(data->q), X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Mixed(MuonLMO lmo, Mat G, PetscReal *dual)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsDualNorm_Private(lmo, MuonLMOExponent_Private(data->p), MuonLMOExponent_Private(data->q), G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Mixed(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsFlops_Private(MuonLMOExponent_Private(data->p), MuonLMOExponent_Private(data->q), m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOMixedSetExponents_Mixed(MuonLMO lmo, PetscReal p, PetscReal q)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckExponent_Private(lmo, "p", p));
  PetscCall(MuonLMOCheckExponent_Private(lmo, "q", q));
  data->p = PetscMin(p, PETSC_INFINITY);
  data->q = PetscMin(q, PETSC_INFINITY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOMixedGetExponents_Mixed(MuonLMO lmo, PetscReal *p, PetscReal *q)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  if (p != NULL) *p = data->p;
  if (q != NULL) *q = data->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetFromOptions_Mixed(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;
  PetscReal      p = data->p, q = data->q;
  PetscBool      set1, set2;
  char           now1[64], now2[64], text1[64], text2[64];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Mixed norm options");
  PetscCall(MuonExponentWrite_Private(p, sizeof(now1), now1));
  PetscCall(MuonExponentWrite_Private(q, sizeof(now2), now2));
  PetscCall(PetscOptionsString("-lmo_p", "Exponent in the norm of a column", "MuonLMOMixedSetExponents", now1, text1, sizeof(text1), &set1));
  PetscCall(PetscOptionsString("-lmo_q", "Exponent in the norm of these norms", "MuonLMOMixedSetExponents", now2, text2, sizeof(text2), &set2));
  if (set1 == PETSC_TRUE) PetscCall(MuonExponentRead_Private(text1, &p));
  if (set2 == PETSC_TRUE) PetscCall(MuonExponentRead_Private(text2, &q));
  if (set1 == PETSC_TRUE || set2 == PETSC_TRUE) PetscCall(MuonLMOMixedSetExponents(lmo, p, q));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Mixed(MuonLMO lmo, PetscViewer viewer)
{
  MuonLMO_Mixed *data = (MuonLMO_Mixed *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOViewExponent_Private(viewer, "p", data->p));
  PetscCall(MuonLMOViewExponent_Private(viewer, "q", data->q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODestroy_Mixed(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOMixedSetExponents_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOMixedGetExponents_C", NULL));
  PetscCall(PetscFree(lmo->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOMIXED - "mixed" - $\ell_{p,q}$, the $q$-norm of the $p$-norms of the columns, $(\sum_j \|X_{:j}\|_p^q)^{1/q}$; its dual is $\ell_{p^*,q^*}$ with $1/p + 1/p^* = 1$ and $1/q + 1/q^* = 1$

  Options Database Keys:
+ -lmo_p p - exponent in the norm of a column, 1 to inf, 2 by default
- -lmo_q q - exponent in the norm of these norms, 1 to inf, 2 by default

  Level: intermediate

  Notes:
  With $c_j = \|G_{:j}\|_{p^*}$ and $C = \|c\|_{q^*}$ the minimizer is $-(c_j/C)^{q^*-1} (|G_{ij}|/c_j)^{p^*-1} \mathrm{sign}(G_{ij})$. In the limits $q = 1$ keeps the column with the largest $c_j$ alone, the first of several,
  $q = \infty$ gives every column that is not zero the weight 1, $p = 1$ keeps the largest entry of a kept column, in the lowest row of several, and $p = \infty$ gives signs. For $p = q = 1$ the entry is, of several
  that are largest, the first in row-major order. Zero columns stay zero.

  The exponents (1,1), (1,inf), (2,1), (2,2), (2,inf) and (inf,inf) are the norms `MUONLMOL1`, `MUONLMOCOLSUM`, `MUONLMOL21`, `MUONLMOFROBENIUS`, `MUONLMOCOLUMN` and `MUONLMOMAX`.

  Powers are taken of quotients by the largest, and sums in double, so that any exponent works for entries of any size. `MuonLMOApply()` takes up to 6 operations an entry, two of which are powers unless the exponent is 1, 2 or inf.
  Of a parallel matrix the norms of the columns are added up over the ranks in their order.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOMixedSetExponents()`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Mixed(MuonLMO lmo)
{
  MuonLMO_Mixed *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  data->p                  = 2.0;
  data->q                  = 2.0;
  lmo->data                = data;
  lmo->ops->apply          = MuonLMOApply_Mixed;
  lmo->ops->norm           = MuonLMONorm_Mixed;
  lmo->ops->dualnorm       = MuonLMODualNorm_Mixed;
  lmo->ops->getflops       = MuonLMOGetFlops_Mixed;
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Mixed;
  lmo->ops->view           = MuonLMOView_Mixed;
  lmo->ops->destroy        = MuonLMODestroy_Mixed;
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOMixedSetExponents_C", MuonLMOMixedSetExponents_Mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOMixedGetExponents_C", MuonLMOMixedGetExponents_Mixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOMixedSetExponents - Sets the exponents of the mixed norm of `MUONLMOMIXED`

  Logically Collective; No Fortran support

  Input Parameters:
+ lmo - the object
. p   - exponent in the norm of a column, in [1, `PETSC_INFINITY`]
- q   - exponent in the norm of these norms, in [1, `PETSC_INFINITY`]

  Options Database Keys:
+ -lmo_p p - the first, a number or `inf`
- -lmo_q q - the second, a number or `inf`

  Level: intermediate

  Note:
  An object of another type ignores it.

.seealso: `MuonLMO`, `MUONLMOMIXED`, `MuonLMOMixedGetExponents()`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOMixedSetExponents(MuonLMO lmo, PetscReal p, PetscReal q)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(lmo, p, 2);
  PetscValidLogicalCollectiveReal(lmo, q, 3);
  PetscTryMethod(lmo, "MuonLMOMixedSetExponents_C", (MuonLMO, PetscReal, PetscReal), (lmo, p, q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOMixedGetExponents - Gets the exponents of the mixed norm of `MUONLMOMIXED`

  Not Collective; No Fortran support

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
  PetscUseMethod(lmo, "MuonLMOMixedGetExponents_C", (MuonLMO, PetscReal *, PetscReal *), (lmo, p, q));
  PetscFunctionReturn(PETSC_SUCCESS);
}
