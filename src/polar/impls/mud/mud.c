#include "../../muonpolarpanel.h" /*I "petscmuonpolar.h" I*/

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@misc{southworth2026mud,\n"
                                   "  author = {Ben S. Southworth and Stephen Thomas},\n"
                                   "  title  = {Beyond {Muon}: {MUD} ({MomentUm} Decorrelation) for Faster Transformer Training},\n"
                                   "  year   = {2026},\n"
                                   "  eprint = {2603.17970}\n}\n";

typedef struct {
  PetscInt passes;
} MuonPolar_MUD;

/*
   The vectors of the short side become of length one, and zero those of at most the length least,
   whose place has 0 in d
*/
static PetscErrorCode MuonPolarNormalize_MUD(MuonPolarPanel *p, double least, double d[], double ones[])
{
  const MuonKernels *kernels = p->real->arrays;
  const size_t       ld = PetscMax(MuonPolarPanelLD(p), 1), m = p->left ? p->s : p->local, n = p->left ? p->local : p->s;

  PetscFunctionBegin;
  kernels->VectorSums(m, n, p->Y, ld, p->left, 2, d);
  if (p->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, d, (PetscMPIInt)p->s, MPI_DOUBLE, MPI_SUM, p->comm));
  for (size_t i = 0; i < p->s; i++) {
    ones[i] = d[i] > least * least ? 1.0 : 0.0;
    d[i]    = ones[i] > 0.0 ? 1.0 / sqrt(d[i]) : 0.0;
  }
  kernels->VectorScale(m, n, p->Y, ld, p->left, d, ones, p->Y, ld);
  PetscCall(PetscLogFlops(3.0 * p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_MUD(MuonPolar polar, PetscInt n, MuonPolarTask *const task[])
{
  const PetscInt        passes = ((MuonPolar_MUD *)polar->data)->passes;
  const MuonKernelReal *real;
  MuonPolarPanel        p;
  double               *d;
  void                 *A;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarGetReal_Private(polar, task[0]->G.here.memory, 0, &real));
  PetscCall(MuonPolarPanelLoad(polar, real, 1, task, &p));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, p.s * p.s * real->size, &A));
  PetscCall(PetscMalloc1(2 * p.s, &d));
  PetscCall(MuonPolarNormalize_MUD(&p, 0.0, d, d + p.s));
  for (PetscInt pass = 0; pass < passes; pass++) {
    PetscCall(MuonPolarPanelGram(&p, A));
    /* The symmetric part of the triangle is at least half of the identity: it is never singular */
    for (size_t i = 0; i < p.s; i++) {
      if (d[i] == 0.0) real->identity(1, 1.0, (char *)A + i * (p.s + 1) * real->size);
    }
    real->solve(p.left, 0, p.s, p.local, A, p.Y, PetscMax(MuonPolarPanelLD(&p), 1));
    PetscCall(PetscLogFlops((PetscLogDouble)p.s * p.s * p.local));
    /* What the vectors before it leave of one that depends on them is rounding */
    PetscCall(MuonPolarNormalize_MUD(&p, 16.0 * (double)(p.s + 1) * real->unit, d, d + p.s));
  }
  PetscCall(PetscFree(d));
  PetscCall(MuonPolarPanelStore(&p, 0, 1.0, &task[0]->Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_MUD(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const PetscLogDouble s = PetscMin(m, n), l = PetscMax(m, n);

  PetscFunctionBegin;
  *flops = 3.0 * s * l + ((MuonPolar_MUD *)polar->data)->passes * (s * (s + 1.0) * l + s * s * l + 3.0 * s * l);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonPolarParameters_MUD[] = {{"mud_passes", MUON_PARAMETER_INT, offsetof(MuonPolar_MUD, passes), 1, 1, 100, NULL, MUON_PARAMETER_DATA, "How often rows are decorrelated"}, {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONPOLARMUD - "mud" - nearly orthonormal rows by a triangular solve; not a polar factor, and not in the unit ball

  Options Database Keys:
+ -lmo_polar_mud_passes p            - number of passes, 1 by default
- -lmo_polar_precision single|double - precision of the arithmetic, `single` by default, see `MuonPolarSetFromOptions()`

  Level: intermediate

  Notes:
  The rows $q_i$ of the matrix are divided by their norms. Then each pass is
.vb
       T = tril(Q Q^T),  Q <- T^{-1} Q,  rows of Q divided by their norms
.ve
  This is one Gauss-Seidel sweep, which removes from a row its components along the rows before it. If the matrix has more rows
  than columns, columns take the place of rows. Orthonormal rows do not change, and near them each pass squares the error. One
  pass takes $2 s^2 l$ flops for the sides $s \le l$, two sevenths of `MUONPOLARZOLOTAREV` for squares and half of it for
  $l = 4 s$.

  The result has the Frobenius norm $\sqrt{s}$ of a polar factor, and singular values below and above one, up to 2.7 in practice.
  It is not in the unit ball and does not maximize $\langle G, Q \rangle$ there. No bound of the theory of norm balls applies.
  `MuonLMOApply()` gives its product with the matrix in place of the dual norm. It depends on the order of the rows.

  A zero row stays zero. A row that depends linearly on earlier rows, up to rounding, becomes zero. On several ranks
  the Gram matrix is summed over the ranks; everything else is local.

  References:
. * - B. S. Southworth and S. Thomas, Beyond Muon: MUD (MomentUm Decorrelation) for Faster Transformer Training, arXiv 2603.17970, 2026

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MUONPOLARZOLOTAREV`, `MUONPOLARNEWTONSCHULZ`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_MUD(MuonPolar polar)
{
  MuonPolar_MUD *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  polar->leaves        = PETSC_TRUE;
  polar->data          = data;
  polar->ownprecision  = MUON_POLAR_PRECISION_SINGLE;
  polar->ondevice      = PETSC_TRUE;
  polar->rowwise       = PETSC_TRUE;
  polar->ops->apply    = MuonPolarApply_MUD;
  polar->ops->getflops = MuonPolarGetFlops_MUD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
