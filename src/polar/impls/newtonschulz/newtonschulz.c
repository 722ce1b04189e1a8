#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../muonpolarpolynomial.h"

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@misc{jordan2024muon,\n"
                                   "  author = {Keller Jordan and Yuchen Jin and Vlado Boza and Jiacheng You and Franz Cesista and Laker Newhouse and Jeremy Bernstein},\n"
                                   "  title  = {Muon: An optimizer for hidden layers in neural networks},\n"
                                   "  year   = {2024},\n"
                                   "  url    = {https://kellerjordan.github.io/posts/muon/}\n}\n";

const MuonParameter MuonPolarParameters_NewtonSchulz[] = {MUON_POLAR_POLYNOMIALS_ROWS, {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONPOLARNEWTONSCHULZ - "newtonschulz" - polynomials that drive the singular values towards one, by matrix products
  only

  Options Database Keys:
+ -lmo_polar_coefficients name                - the polynomials, `kj` by default, see `MuonPolarCoefficients`
. -lmo_polar_coefficient_values c1,c2,c3,...  - polynomials of your own, see `MuonPolarSetCoefficientValues()`
. -lmo_polar_steps n                          - the number of steps, by default that of the polynomials
. -lmo_polar_precision single|double|bf16     - precision of the arithmetic, `single` by default, see `MuonPolarSetFromOptions()`
. -lmo_polar_normalization frobenius|spectral - norm by which the matrix is divided first, `frobenius` by default
- -lmo_polar_power_iterations n               - power iterations of the spectral normalization, 2 by default

  Level: intermediate

  Notes:
  The matrix is divided by its Frobenius norm, which is computed in double without overflow or underflow. Then its
  entries are rounded to the precision of the kernel. Each step applies an odd polynomial
  $p(x) = c_1 x + c_2 x^3 + c_3 x^5$ to the singular values, $Y \leftarrow c_1 Y + (c_2 A + c_3 A^2) Y$ with the Gram matrix $A = Y Y^T$ of the shorter side. Singular values $\sigma / \|G\|_F$ in $[l, 1]$ end in
.vb
  coefficients  steps  l = 0.1        l = 0.01       l = 0.001
  kj            5      [0.682,1.134]  [0.682,1.134]  [0.471,1.202]
  quintic       10     [1,1]          [1,1]          [0.499,1]
  cubic         15     [1,1]          [1,1]          [0.417,1]
  you           5      [0.978,1.032]  [0.978,1.032]  [0.475,1.145]
  polarexpress  5      [0.870,1.124]  [0.870,1.124]  [0.840,1.124]
  polarexpress  6      [0.997,1.001]  [0.997,1.001]  [0.993,1.001]
  polarexpress  8      [1,1]          [1,1]          [1,1]
  pe105         5      [0.846,1.124]  [0.846,1.124]  [0.729,1.124]
  modded        5      [0.859,1.141]  [0.859,1.141]  [0.847,1.141]
  emerging      5      [0.870,1.124]  [0.870,1.124]  [0.846,1.124]
  cans          5      [0.884,1.120]  [0.884,1.120]  [0.884,1.120]
  deepseekv4    10     [1,1.0005]     [1,1.0005]     [1,1.0005]
  cubic5        5      [0.774,1.300]  [0.774,1.300]  [0.119,1.300]
.ve
  and exact zeros stay zero. Values above one are outside the unit ball of the spectral norm. With `kj`, as in the
  original Muon, they exceed it by a fifth.

  The set `aol` divides row $i$ of the normalized matrix, on its shorter side, by $(\sum_j |A_{ij}|)^{1/2}$
  first. That bounds its singular values by one and flattens them, but the factor is that of the rescaled
  matrix, not of `G`. Its first polynomial is negative above 0.88. The rescaled singular values of Gaussian matrices
  stay below 0.88. A matrix with orthogonal rows, or of rank one, has larger ones. Its factor has the wrong sign,
  with singular values of -1.08. This set is for comparison only.

  The Frobenius norm is a safe bound of the largest singular value, up to $\sqrt{\min(m,n)}$ times too large.
  `MUON_POLAR_NORMALIZATION_SPECTRAL` divides by an estimate instead, which saves steps. SignMuon's PolarNS has both. A
  few power iterations on the Gram matrix of the first step give an estimate $s$. It is too small (0.74 of the largest
  was seen after two on Gaussian matrices), and some polynomials diverge above it. The matrix is therefore divided by
  $\min(\|G\|_F, 1.2 s)$. If eight more iterations give an estimate above $1.2 s$, it takes the place of $1.2 s$. This
  needs no communication and is part of the first polynomial. If the iteration still diverges, with your own
  polynomials or after more steps than the polynomials are made for, the status is `MUON_STATUS_LMO`.

  Scratch memory is twice the matrix and twice its Gram matrix, in the precision of the kernel. A parallel matrix that
  is not wider than tall keeps its rows; each step sums the Gram matrices of the ranks and multiplies locally. The rows
  of a wide matrix become columns by one all-to-all, and return by another. With $J$ ranks, $d$ entries and a shorter
  side $s$ a rank needs at most
  $s^2 + 3 d / J$ entries of scratch if it has $d / J$ of the matrix.

  On a device several matrices, in `MuonPolarApplyMany()` or a step, are multiplied in batches. The set `aol` and
  `MUON_POLAR_NORMALIZATION_SPECTRAL` depend on each matrix and are not batched.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarApplyMany()`, `MuonPolarCoefficients`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_NewtonSchulz(MuonPolar polar)
{
  MuonPolarPolynomials *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  polar->data = data;
  PetscCall(MuonPolarSetPolynomials(polar, MUONPOLARCOEFFICIENTSKJ, NULL));
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscFunctionReturn(PETSC_SUCCESS);
}
