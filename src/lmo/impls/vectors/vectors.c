#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>
#include <string.h>

/*
   Norms of the norms of columns, or of rows: q-norms of p-norms. muonlmovectors.c computes them.
*/
static const struct {
  const char *type;
  PetscBool   rows;
  double      p, q;
  int         kind;
  PetscBool   scion; /* has a shape factor */
} Norms[] = {{MUONLMOFROBENIUS, PETSC_FALSE, 2, 2, MUON_LMO_NO_KIND, PETSC_FALSE},    {MUONLMOMAX, PETSC_FALSE, HUGE_VAL, HUGE_VAL, MUON_LMO_NO_KIND, PETSC_TRUE},
             {MUONLMOL1, PETSC_FALSE, 1, 1, MUON_WIRE_SPARSE, PETSC_FALSE},           {MUONLMOCOLUMN, PETSC_FALSE, 2, HUGE_VAL, MUON_LMO_NO_KIND, PETSC_TRUE},
             {MUONLMOROW, PETSC_TRUE, 2, HUGE_VAL, MUON_LMO_NO_KIND, PETSC_TRUE},     {MUONLMOCOLSUM, PETSC_FALSE, 1, HUGE_VAL, MUON_WIRE_PERCOLUMN, PETSC_FALSE},
             {MUONLMOROWSUM, PETSC_TRUE, 1, HUGE_VAL, MUON_WIRE_PERROW, PETSC_FALSE}, {MUONLMOL21, PETSC_FALSE, 2, 1, MUON_WIRE_COLUMNS, PETSC_FALSE},
             {MUONLMOMIXED, PETSC_FALSE, 2, 2, MUON_LMO_NO_KIND, PETSC_FALSE}};

#define ROW(key, field, help) MUON_ROW(key, REAL, MuonLMOVectors, field, 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_INF, help)
static const MuonParameter MuonLMOParameters_Mixed[] = {ROW("mixed_exponent_p", p, "Exponent in the norm of a column"), ROW("mixed_exponent_q", q, "Exponent in the norm of these norms"), {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONLMOFROBENIUS - "frobenius" - the Frobenius norm, which is its own dual

  Level: intermediate

  Notes:
  The minimizer is $-G / \|G\|_F$, zero for a zero matrix.

  The norm is accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and 3 a column, and reads the matrix twice. Of a parallel matrix only the norms of the
  columns are communicated.

  The norm is also $\ell_{2,2}$ of `MUONLMOMIXED` and `MUONLMOSCHATTEN` with the exponent 2.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMAX`, `MUONLMOMIXED`, `MUONLMOSCHATTEN`
M*/

/*MC
  MUONLMOMAX - "max" - the largest absolute entry, the operator norm from $\ell_1$ to $\ell_\infty$; its dual
  is the sum of absolute entries

  Level: intermediate

  Notes:
  The minimizer is $-\mathrm{sign}(G)$ entry by entry, with $\mathrm{sign}(0) = 0$.

  `MuonLMOApply()` takes one operation an entry and one a column, for the dual norm, and reads the matrix
  twice. Of a parallel matrix only the sums of the columns are communicated.

  The norm is $\ell_{\infty,\infty}$ of `MUONLMOMIXED`. It is the sign norm of T. Pethick, W. Xie, K.
  Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained
  LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOL1`, `MUONLMOFROBENIUS`, `MUONLMOMIXED`
M*/

/*MC
  MUONLMOL1 - "l1" - the sum of absolute entries; its dual is the largest absolute entry

  Level: intermediate

  Notes:
  The minimizer has one entry, $-\mathrm{sign}(G_{rc})$ where $|G_{rc}|$ is largest. Of several largest entries it
  takes the first in memory order, which for a `Mat` is by columns, on any number of ranks. It is zero for a zero
  matrix.

  The matrix is read once. Comparisons do not count as operations.

  The norm is $\ell_{1,1}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K. Gruntkowska, A.
  Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMAX`, `MUONLMOMIXED`
M*/

/*MC
  MUONLMOCOLUMN - "column" - the largest Euclidean norm of a column, the operator norm from $\ell_1$ to
  $\ell_2$; its dual is the sum of the norms of the columns

  Level: intermediate

  Notes:
  Column $j$ of the minimizer is $-G_{:j} / \|G_{:j}\|_2$, or zero if that of $G$ is zero.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and reads the matrix twice.

  The norm is $\ell_{2,\infty}$ of `MUONLMOMIXED`, the column norm of T. Pethick, W. Xie, K. Antonakopoulos,
  Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained LMOs,
  https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOROW`, `MUONLMOL21`, `MUONLMOMIXED`
M*/

/*MC
  MUONLMOROW - "row" - the largest Euclidean norm of a row, the operator norm from $\ell_2$ to $\ell_\infty$;
  its dual is the sum of the norms of the rows

  Level: intermediate

  Notes:
  Row $i$ of the minimizer is $-G_{i:} / \|G_{i:}\|_2$, or zero if that of $G$ is zero.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and reads the matrix twice, column by column. Rows of a parallel matrix are whole on
  their ranks: only the dual norm is communicated.

  It is the row norm of T. Pethick, W. Xie, K. Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training
  Deep Learning Models with Norm-Constrained LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOCOLUMN`, `MUONLMOROWSUM`
M*/

/*MC
  MUONLMOCOLSUM - "colsum" - the largest sum of absolute entries of a column, the operator norm from $\ell_1$
  to $\ell_1$; its dual is the sum over columns of the largest absolute entry

  Level: intermediate

  Notes:
  Column $j$ of the minimizer has one entry, $-\mathrm{sign}(G_{rj})$ where $|G_{rj}|$ is largest in the
  column, in the lowest row of several, on any number of ranks. A column of zeros stays zero.

  The matrix is read once; one operation for each column is counted.

  The norm is $\ell_{1,\infty}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K.
  Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
  https://arxiv.org/abs/2510.00643, which describes this LMO and calls the norm the row sum

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOROWSUM`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/

/*MC
  MUONLMOROWSUM - "rowsum" - the largest sum of absolute entries of a row, the operator norm from
  $\ell_\infty$ to $\ell_\infty$; its dual is the sum over rows of the largest absolute entry

  Level: intermediate

  Notes:
  Row $i$ of the minimizer has one entry, $-\mathrm{sign}(G_{ic})$ where $|G_{ic}|$ is largest in the row, in
  the lowest column of several. A row of zeros stays zero.

  The matrix is read once, column by column; one operation for each row is counted. Rows of a parallel matrix
  are whole on their ranks: only the dual norm is communicated.

  Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback
  for Muon and Friends, https://arxiv.org/abs/2510.00643, where this name means `MUONLMOCOLSUM`

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOCOLSUM`, `MUONLMOROW`
M*/

/*MC
  MUONLMOL21 - "l21" - the sum of the Euclidean norms of the columns; its dual is the largest of them

  Level: intermediate

  Notes:
  The minimizer has one column, $-G_{:c} / \|G_{:c}\|_2$ where the norm is largest, the first of several. It
  is zero for a zero matrix.

  Norms are accumulated in double, without overflow or underflow on the way. `MuonLMOApply()` takes 2 operations an
  entry for them, and as many again for the column.

  The norm is $\ell_{2,1}$ of `MUONLMOMIXED`, known from the group lasso of M. Yuan and Y. Lin, Model
  selection and estimation in regression with grouped variables (2006)

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/

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
  $q = \infty$ gives every column that is not zero the weight 1, $p = 1$ keeps the largest entry of a kept
  column, in the lowest row of several, and $p = \infty$ gives signs. For $p = q = 1$ the entry is the first
  of the largest in the order of the memory. Zero columns stay zero.

  The exponents (1,1), (1,inf), (2,1), (2,2), (2,inf) and (inf,inf) are the norms `MUONLMOL1`,
  `MUONLMOCOLSUM`, `MUONLMOL21`, `MUONLMOFROBENIUS`, `MUONLMOCOLUMN` and `MUONLMOMAX`.

  Powers are taken of quotients by the largest, and sums in double, so that any exponent works for entries of
  any size. `MuonLMOApply()` takes up to 6 operations an entry, two of which are powers unless the exponent is
  1, 2 or inf. Of a parallel matrix the norms of the columns are added up over the ranks in their order.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOSCHATTEN`
M*/
static PetscErrorCode MuonLMOShapeFactor_Vectors(MuonLMO lmo, MuonShapeFactor factor, PetscReal m, PetscReal n, PetscReal *value)
{
  const MuonLMOVectors *norm = (MuonLMOVectors *)lmo->data;

  PetscFunctionBegin;
  if (factor == MUON_SHAPE_FACTOR_SCION) *value = (norm->p == 2 && !norm->rows ? PetscSqrtReal(m) : 1) / (norm->rows ? PetscSqrtReal(n) : n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOCreate_Vectors(MuonLMO lmo)
{
  size_t k = 0;

  PetscFunctionBegin;
  while (strcmp(Norms[k].type, ((PetscObject)lmo)->type_name) != 0) k++;
  PetscCall(MuonLMOSetVectors(lmo, Norms[k].rows, Norms[k].p, Norms[k].q));
  lmo->kind = Norms[k].kind;
  if (Norms[k].scion) lmo->ops->shapefactor = MuonLMOShapeFactor_Vectors;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMORegisterVectors_Private(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Norms); k++) PetscCall(MuonLMORegister(Norms[k].type, MuonLMOCreate_Vectors, strcmp(Norms[k].type, MUONLMOMIXED) == 0 ? MuonLMOParameters_Mixed : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
