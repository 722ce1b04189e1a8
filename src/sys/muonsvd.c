#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/petscmuonimpl.h>
#include <petscblaslapack.h>
#include <slepcsvd.h>
#include "../kernels/dense/muonpolarreal.h"

enum {
  MAXPREFIXES = 4,
  BLOCK       = 64 /* columns for which the blocked routines of LAPACK find room */
};

struct _n_MuonSVD {
  MPI_Comm      comm;
  MuonWorkspace work;
  PetscReal     tolerance;
  PetscBool     setup; /* the options were looked at */
  PetscBool     keys;  /* and there are some */
  unsigned int  hash;  /* of them, 0 where it is not known */
  PetscOptions  options;
  PetscInt      nread; /* prefixes behind which options are read, in this order */
  char         *read[MAXPREFIXES];
  char          solver[64]; /* that computed last */
  PetscInt      fallbacks;
};

static PetscErrorCode MuonSVDFinalizeSlepc_Private(void)
{
  PetscBool started;

  PetscFunctionBegin;
  PetscCall(SlepcInitialized(&started));
  if (started) PetscCall(SlepcFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SLEPc must not be started while PETSc loads this library, and a program that never needs a singular value
   need not have it started at all. Its packages are initialized together with it. Called early, on all ranks,
   by what is sure to compute, so that classes and events have one order everywhere
*/
PetscErrorCode MuonSVDStart(void)
{
  PetscBool started;

  PetscFunctionBegin;
  PetscCall(SlepcInitialized(&started));
  if (started) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  PetscCall(PetscRegisterFinalize(MuonSVDFinalizeSlepc_Private));
  PetscCall(BVInitializePackage());
  PetscCall(DSInitializePackage());
  PetscCall(STInitializePackage());
  PetscCall(EPSInitializePackage());
  PetscCall(SVDInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A computation is on the matrix that it gets, whatever comm is */
PetscErrorCode MuonSVDCreate(MPI_Comm comm, MuonSVD *svd)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(svd));
  (*svd)->comm      = comm;
  (*svd)->tolerance = (PetscReal)PETSC_DETERMINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDSetTolerance(MuonSVD svd, PetscReal tolerance)
{
  PetscFunctionBegin;
  svd->tolerance = tolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDSetWorkspace(MuonSVD svd, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceShare(work, &svd->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The keys are -<prefix of parent><child>svd_..., in the parent's database. SLEPc reads them when a
   decomposition is computed. An object may be asked to read behind a general prefix and then behind a layer's
   own one: the later wins, key by key
*/
PetscErrorCode MuonSVDSetFromOptions(MuonSVD svd, PetscObject parent, const char child[])
{
  const char *prefix;
  char        both[256];
  PetscBool   known = PETSC_FALSE;

  PetscFunctionBegin;
  svd->hash    = 0;
  svd->options = parent->options;
  MuonParametersChanges_Private++;
  PetscCall(PetscObjectGetOptionsPrefix(parent, &prefix));
  PetscCall(PetscSNPrintf(both, sizeof(both), "%s%s", prefix ? prefix : "", child));
  for (PetscInt i = 0; i < svd->nread && !known; i++) PetscCall(PetscStrcmp(svd->read[i], both, &known));
  if (known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(svd->nread < MAXPREFIXES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Options of a singular value decomposition are read behind more than %d prefixes", MAXPREFIXES);
  PetscCall(PetscStrallocpy(both, &svd->read[svd->nread++]));
  svd->setup = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there are keys of SLEPc behind the prefixes, and a hash of them and their values as they are in the database */
static PetscErrorCode MuonSVDReadKeys_Private(MuonSVD svd)
{
  static const char *const classes[] = {"svd_", "bv_", "ds_"};
  char                    *all, start[256];

  PetscFunctionBegin;
  svd->keys = PETSC_FALSE;
  svd->hash = 2166136261u;
  PetscCall(PetscOptionsGetAll(svd->options, &all));
  PetscCall(PetscStrtolower(all));
  for (PetscInt i = 0; i < svd->nread; i++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(classes); k++) {
      PetscCall(PetscSNPrintf(start, sizeof(start), "-%s%s", svd->read[i], classes[k]));
      PetscCall(PetscStrtolower(start));
      for (char *key = strstr(all, start), *end; key != NULL; key = strstr(end, start)) {
        for (end = key + 1; *end != '\0' && !(end[-1] == ' ' && end[0] == '-' && end[1] >= 'a' && end[1] <= 'z');) end++;
        for (; key < end; key++) svd->hash = (svd->hash ^ (unsigned char)*key) * 16777619u; /* FNV-1a */
        svd->keys = PETSC_TRUE;
      }
    }
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDHash(MuonSVD svd, unsigned int *hash)
{
  PetscFunctionBegin;
  if (svd->hash == 0) PetscCall(MuonSVDReadKeys_Private(svd));
  *hash = svd->keys ? svd->hash : 0; /* as without an object, which those make that need one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSVDReadOptions_Private(MuonSVD svd, PetscInt nread, SVD solve)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSetOptions((PetscObject)solve, svd->options));
  for (PetscInt i = 0; i < nread; i++) {
    PetscCall(SVDSetOptionsPrefix(solve, svd->read[i]));
    PetscCall(SVDSetFromOptions(solve));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises what SLEPc refuses, and a number of triples in the options. Without keys nothing is started */
PetscErrorCode MuonSVDSetUp(MuonSVD svd)
{
  const PetscInt none = 1 << 30;
  PetscInt       nsv;
  SVD            trial;

  PetscFunctionBegin;
  if (svd->setup) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonSVDReadKeys_Private(svd));
  if (svd->keys) {
    PetscCall(MuonSVDStart());
    PetscCall(SVDCreate(PETSC_COMM_SELF, &trial));
    PetscCall(SVDSetDimensions(trial, none, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(MuonSVDReadOptions_Private(svd, svd->nread, trial));
    PetscCall(SVDGetDimensions(trial, &nsv, NULL, NULL));
    PetscCall(SVDDestroy(&trial));
    PetscCheck(nsv == none, svd->comm, PETSC_ERR_ARG_INCOMP, "Option -%ssvd_nsv asks for %" PetscInt_FMT " singular triples where other numbers are needed: remove it", svd->read[svd->nread - 1], nsv);
  }
  svd->setup = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dense kernels of its field, in the precision of PETSc */
static const MuonKernelReal *MuonSVDReal_Private(const MuonArray *A)
{
  if (A->pairs) return &MuonKernelRealPairs[MUON_PETSCSCALAR];
  return MUON_PETSCSCALAR == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
}

/*
   X (long x short) is what the lines of A are the columns of, or its transpose where the lines are shorter
   than they are many, times 2^-exponent
*/
static void MuonSVDLoad_Private(const MuonArray *A, int exponent, PetscReal *X)
{
  const MuonKernelReal *real  = MuonSVDReal_Private(A);
  const size_t          block = 16, size = MuonArrayEntryBytes(A);

  if (A->len >= A->count) {
    real->load(A->len, A->count, A->precision, A->data, A->ld, 1.0, exponent, X, A->len);
    return;
  }
  for (size_t j = 0; j < A->count; j += block) {
    /* An entry of each of some lines, one after the other */
    for (size_t i = 0; i < A->len; i++) real->load(1, PetscMin(block, A->count - j), A->precision, (const char *)A->data + (i + j * A->ld) * size, A->ld, 1.0, exponent, X + j + i * A->count, 1);
  }
}

#if !defined(PETSC_USE_COMPLEX)
/*
   X = Q R: the reflectors stay in X and tau, R is returned with zeros below its diagonal. An iteration on the
   square R is cheaper, and SLEPc's LAPACK solver asks for all l x l entries of the long side's orthogonal
   matrix, which is out of the question for an embedding of 50304 x 768.
*/
static PetscErrorCode MuonSVDFactor_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscReal *X, PetscReal **R, PetscReal **tau)
{
  PetscBLASInt bl, bs, info, lwork;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCall(PetscBLASIntCast(s, &bs));
  PetscCall(PetscBLASIntCast(BLOCK * s, &lwork));
  PetscCall(MuonWorkspaceGet(svd->work, (size_t)s * s * sizeof(PetscReal), R));
  PetscCall(MuonWorkspaceGet(svd->work, (size_t)(s + lwork) * sizeof(PetscReal), tau));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bl, &bs, X, &bl, *tau, *tau + s, &lwork, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF: info %" PetscInt_FMT, (PetscInt)info);
  for (PetscInt j = 0; j < s; j++) {
    PetscCall(PetscArraycpy(*R + (size_t)j * s, X + (size_t)j * l, j + 1));
    PetscCall(PetscArrayzero(*R + (size_t)j * s + j + 1, s - j - 1));
  }
  PetscCall(PetscLogFlops(2.0 * l * s * s - 2.0 / 3.0 * s * s * s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   L = Q L for the first count columns of the long side's vectors, which hold the vectors of R in their first
   s rows
*/
static PetscErrorCode MuonSVDBackTransform_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscReal *X, PetscReal *tau, PetscInt count, PetscReal *L)
{
  PetscBLASInt bl, bs, bcount, info, lwork;
  PetscReal   *work;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCall(PetscBLASIntCast(s, &bs));
  PetscCall(PetscBLASIntCast(count, &bcount));
  PetscCall(PetscBLASIntCast(BLOCK * (count + BLOCK + 1), &lwork));
  PetscCall(MuonWorkspaceGet(svd->work, (size_t)lwork * sizeof(PetscReal), &work));
  PetscCallBLAS("LAPACKormqr", LAPACKormqr_("L", "N", &bl, &bcount, &bs, X, &bl, tau, L, &bl, work, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xORMQR: info %" PetscInt_FMT, (PetscInt)info);
  PetscCall(PetscLogFlops(4.0 * l * s * count - 2.0 * s * s * count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As in an object that was just made: what is computed does not depend on what was computed before */
static PetscErrorCode MuonSVDSeed_Private(SVD solve)
{
  BV          bv[2];
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(SVDGetBV(solve, &bv[0], &bv[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(BVGetRandomContext(bv[k], &random));
    PetscCall(PetscRandomSetSeed(random, 0x12345678));
    PetscCall(PetscRandomSeed(random));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Without options for it the object is the workspace's for such a matrix, which all objects with this workspace use in turn.
   Otherwise it is a new one
*/
static PetscErrorCode MuonSVDGetSolver_Private(MuonSVD svd, PetscInt nread, PetscInt s, PetscInt nsv, const char solver[], SVD *solve)
{
  const PetscBool  shared = !svd->keys || nread == 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscObjectList *kept   = MuonWorkspaceKept(svd->work);
  char             name[96];

  PetscFunctionBegin;
  *solve = NULL;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s %" PetscInt_FMT " %" PetscInt_FMT, solver, s, nsv));
  if (shared) PetscCall(PetscObjectListFind(*kept, name, (PetscObject *)solve));
  if (*solve != NULL) {
    PetscCall(PetscObjectReference((PetscObject)*solve));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SVDCreate(PETSC_COMM_SELF, solve));
  if (!shared) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SVDSetOptionsPrefix(*solve, "muon_workspace_"));
  PetscCall(SVDSetFromOptions(*solve)); /* without which SLEPc makes no random numbers */
  PetscCall(PetscObjectListAdd(kept, name, (PetscObject)*solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest singular triples of the contiguous array X (l x s, l >= s). The options behind the first nread
   prefixes change the solver; X is overwritten where l > s.
*/
static PetscErrorCode MuonSVDSolve_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscReal *X, PetscInt nsv, PetscReal tolerance, PetscInt nread, const char solver[], PetscReal sigma[], PetscReal *L, PetscReal *S, PetscInt *nconv)
{
  SVD        solve;
  SVDType    type;
  Mat        A;
  Vec        left = NULL, right = NULL;
  PetscReal *R = X, *tau = NULL;
  PetscInt   iterations;
  PetscBool  lapack;
  MuonMark   mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(svd->work, &mark));
  PetscCall(MuonSVDGetSolver_Private(svd, nread, s, nsv, solver, &solve));
  PetscCall(SVDSetType(solve, solver));
  PetscCall(SVDSetDimensions(solve, nsv, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(SVDGetTolerances(solve, NULL, &iterations));
  PetscCall(SVDSetTolerances(solve, tolerance, iterations));
  if (svd->keys) PetscCall(MuonSVDReadOptions_Private(svd, nread, solve));
  PetscCall(SVDSetWhichSingularTriplets(solve, SVD_LARGEST));
  PetscCall(SVDGetType(solve, &type));
  PetscCall(PetscStrncpy(svd->solver, type, sizeof(svd->solver)));
  PetscCall(PetscStrcmp(type, SVDLAPACK, &lapack));
  if (l > s) PetscCall(MuonSVDFactor_Private(svd, l, s, X, &R, &tau));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, s, s, R, &A));
  PetscCall(SVDSetOperators(solve, A, NULL));
  PetscCall(MuonSVDSeed_Private(solve));
  PetscCall(SVDSolve(solve));
  PetscCall(SVDGetConverged(solve, nconv));
  *nconv = PetscMin(*nconv, nsv);
  if (L != NULL) PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, s, NULL, &left));
  if (S != NULL) PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, s, NULL, &right));
  for (PetscInt i = 0; i < *nconv; i++) {
    if (L != NULL) PetscCall(VecPlaceArray(left, L + (size_t)i * l));
    if (S != NULL) PetscCall(VecPlaceArray(right, S + (size_t)i * s));
    PetscCall(SVDGetSingularTriplet(solve, i, &sigma[i], left, right));
    if (L != NULL) {
      PetscCall(VecResetArray(left));
      PetscCall(PetscArrayzero(L + (size_t)i * l + s, l - s));
    }
    if (S != NULL) PetscCall(VecResetArray(right));
  }
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscCall(SVDDestroy(&solve));
  PetscCall(MatDestroy(&A));
  /*
     LAPACK's own count of a full decomposition; the other solvers are built of operations that PETSc counts
  */
  if (lapack) PetscCall(PetscLogFlops(22.0 * s * s * s));
  if (tau != NULL && L != NULL) PetscCall(MuonSVDBackTransform_Private(svd, l, s, X, tau, *nconv, L));
  PetscCall(MuonWorkspaceRelease(svd->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where few triples are wanted Lanczos is faster. SLEPc's cross is as fast but ends the program with an
   error on matrices of low rank, which residuals are
*/
static PetscErrorCode MuonSVDSolveSlepc_Private(MuonSVD svd, const MuonArray *A, int exponent, PetscInt nsv, PetscReal eps, PetscReal sigma[], PetscReal *left, PetscReal *right, PetscInt *nconv)
{
  const PetscInt    m = (PetscInt)A->len, n = (PetscInt)A->count, l = PetscMax(m, n), s = PetscMin(m, n);
  const PetscReal   tolerance = svd->tolerance == (PetscReal)PETSC_DETERMINE ? 8 * eps : PetscMax(svd->tolerance, 8 * PETSC_MACHINE_EPSILON);
  const char *const solver    = 8 * nsv < s && s > 32 ? SVDTRLANCZOS : SVDLAPACK;
  PetscReal        *X;

  PetscFunctionBegin;
  PetscCall(MuonSVDStart());
  PetscCall(MuonWorkspaceGet(svd->work, (size_t)l * s * sizeof(PetscReal), &X));
  /* Scaling by a power of two keeps A^T A in range and changes no bit of the vectors */
  MuonSVDLoad_Private(A, exponent, X);
  PetscCall(MuonSVDSolve_Private(svd, l, s, X, nsv, tolerance, svd->nread, solver, sigma, m >= n ? left : right, m >= n ? right : left, nconv));
  if (*nconv < nsv) {
    PetscCall(PetscInfo(NULL, "Solver %s found %" PetscInt_FMT " of %" PetscInt_FMT " singular triples of a %zu x %zu matrix: LAPACK takes over\n", svd->solver, *nconv, nsv, MuonArrayRows(A), MuonArrayColumns(A)));
    svd->fallbacks++;
    MuonSVDLoad_Private(A, exponent, X);
    PetscCall(MuonSVDSolve_Private(svd, l, s, X, nsv, tolerance, 0, SVDLAPACK, sigma, m >= n ? left : right, m >= n ? right : left, nconv));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* How many of the triples that converged exceed that part of the first, and what was scaled before goes back */
static void MuonSVDRank_Private(PetscInt nsv, PetscReal least, int exponent, PetscInt nconv, PetscReal sigma[], PetscInt *count, MuonStatus *status)
{
  if (nconv < nsv) *status = MUON_STATUS_LMO;
  else {
    for (*count = 0; *count < nsv && sigma[*count] > least * sigma[0]; (*count)++) continue;
    for (PetscInt i = 0; i < nsv; i++) sigma[i] = (PetscReal)ldexp((double)sigma[i], exponent);
    if (PetscIsInfOrNanReal(sigma[0])) {
      *status = MUON_STATUS_NANORINF;
      *count  = 0;
    }
  }
}

/*
   By LAPACK, whatever options say of SLEPc, whose matrices have the scalars of PETSc: all triples of what the
   lines of A are the columns of, or of its conjugate transpose where they are shorter than they are many
*/
static PetscErrorCode MuonSVDSolveLAPACK_Private(MuonSVD svd, const MuonArray *A, int exponent, PetscInt nsv, PetscReal sigma[], PetscReal *left, PetscReal *right, PetscInt *nconv)
{
  const MuonKernelReal *real = MuonSVDReal_Private(A);
  const size_t          m = A->len >> A->pairs, n = A->count, l = PetscMax(m, n), s = PetscMin(m, n), size = real->size;
  const PetscBool       wide = m < n ? PETSC_TRUE : PETSC_FALSE;
  char                 *X, *Y, *L, *S;
  PetscReal            *all;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(svd->work, &mark));
  /* zgemv of OpenBLAS 0.3.21 reads one entry behind a matrix */
  PetscCall(MuonWorkspaceGet(svd->work, (l * s + 1) * size, &X));
  PetscCall(MuonWorkspaceGet(svd->work, (l * s + 1) * size, &L));
  PetscCall(MuonWorkspaceGet(svd->work, (s * s + 1) * size, &S));
  PetscCall(MuonWorkspaceGet(svd->work, s * sizeof(PetscReal), &all));
  if (!A->pairs) MuonSVDLoad_Private(A, exponent, (PetscReal *)X);
  else {
    Y = wide ? L : X;
    real->load(A->len, A->count, A->precision, A->data, A->ld, 1.0, exponent, Y, A->len);
    if (wide) {
      real->identity(s, 1.0, S);
      MuonKernelPairMultiply(MUON_PETSCSCALAR, 1, 0, l, s, s, 1.0, Y, s, S, s, 0.0, X, l);
    }
  }
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  *nconv = real->decompose(l, s, X, all, L, S) == 0 ? nsv : 0;
  PetscCall(PetscFPTrapPop());
  PetscCall(PetscArraycpy(sigma, all, *nconv));
  if (left != NULL) PetscCall(PetscMemcpy(left, wide ? S : L, m * (size_t)*nconv * size));
  if (right != NULL) PetscCall(PetscMemcpy(right, wide ? L : S, n * (size_t)*nconv * size));
  PetscCall(PetscStrncpy(svd->solver, SVDLAPACK, sizeof(svd->solver)));
  PetscCall(PetscLogFlops((A->pairs ? 4.0 : 1.0) * 22.0 * (PetscLogDouble)l * s * s));
  PetscCall(MuonWorkspaceRelease(svd->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSVDComputeSequential_Private(MuonSVD svd, const MuonArray *A, PetscInt nsv, PetscReal sigma[], PetscReal U[], PetscReal V[], PetscInt *count, MuonStatus *status)
{
  const PetscInt  m = (PetscInt)(A->len >> A->pairs), n = (PetscInt)A->count, l = PetscMax(m, n), s = PetscMin(m, n);
  const PetscReal eps = PetscMax(PETSC_MACHINE_EPSILON, (PetscReal)(2.0 * MuonArrayKernels(A)->unit));
  /* The factors of the transpose are those of the matrix in exchange */
  PetscReal *left = A->rowmajor ? V : U, *right = A->rowmajor ? U : V;
  PetscInt   nconv = 0;
  double     norm;
  int        exponent;

  PetscFunctionBegin;
  *count  = 0;
  *status = MUON_STATUS_OK;
  PetscCheck(nsv >= 0 && nsv <= s, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " singular triples of a %zu x %zu matrix, expected at most %" PetscInt_FMT, nsv, MuonArrayRows(A), MuonArrayColumns(A), s);
  if (nsv == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* Values that are not finite, or whose squares are not, give a status and no signal */
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  norm = MuonArrayKernels(A)->Norm(A->len, A->count, A->data, A->ld, &exponent);
  PetscCall(PetscFPTrapPop());
  if (norm == HUGE_VAL) *status = MUON_STATUS_NANORINF;
  if (norm == HUGE_VAL || norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_USE_COMPLEX)
  PetscCall(MuonSVDSolveLAPACK_Private(svd, A, exponent, nsv, sigma, left, right, &nconv));
#else
  if (A->pairs) PetscCall(MuonSVDSolveLAPACK_Private(svd, A, exponent, nsv, sigma, left, right, &nconv));
  else PetscCall(MuonSVDSolveSlepc_Private(svd, A, exponent, nsv, eps, sigma, left, right, &nconv));
#endif
  MuonSVDRank_Private(nsv, (PetscReal)l * eps, exponent, nconv, sigma, count, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error of the first rank, which alone has the whole matrix, is an error of all ranks, which wait for it */
static PetscErrorCode MuonSVDErrorOfAll_Private(const MuonMatrix *A, PetscErrorCode ierr)
{
  PetscMPIInt first = (PetscMPIInt)ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&first, 1, MPI_INT, 0, A->comm));
  PetscCall(ierr);
  PetscCheck(first == 0, PETSC_COMM_SELF, (PetscErrorCode)first, "The first rank has no room for a %" PetscInt_FMT " x %" PetscInt_FMT " matrix or could not decompose it, see its error", A->rows, A->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first rank has the whole matrix, in the precision and order of its parts, and the whole U */
static PetscErrorCode MuonSVDComputeParallel_Private(MuonSVD svd, const MuonMatrix *A, PetscInt nsv, PetscReal sigma[], PetscReal U[], PetscReal V[], PetscInt *count, MuonStatus *status)
{
  MuonArray      whole = A->here, vectors, part;
  PetscReal     *P     = NULL;
  PetscMPIInt    values, length, answer[2] = {0, 0};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  whole.len   = (size_t)(whole.rowmajor ? A->columns : A->rows) << whole.pairs;
  whole.count = (size_t)(whole.rowmajor ? A->rows : A->columns);
  /* Classes and events have one order on all ranks */
  PetscCall(MuonSVDStart());
  if (A->rank == 0) {
    ierr = MuonWorkspaceGetArray(svd->work, &whole, whole.precision, &whole);
    if (ierr == PETSC_SUCCESS && U != NULL) ierr = MuonWorkspaceGet(svd->work, ((size_t)A->rows << whole.pairs) * nsv * sizeof(PetscReal), &P);
  }
  PetscCall(MuonSVDErrorOfAll_Private(A, ierr));
  PetscCall(MuonMatrixMoveRows(A, &A->here, &whole, PETSC_TRUE));
  if (A->rank == 0) ierr = MuonSVDComputeSequential_Private(svd, &whole, nsv, sigma, P, V, count, status);
  PetscCall(MuonSVDErrorOfAll_Private(A, ierr));
  if (A->rank == 0) {
    answer[0] = (PetscMPIInt)*count;
    answer[1] = (PetscMPIInt)*status;
  }
  PetscCallMPI(MPI_Bcast(answer, 2, MPI_INT, 0, A->comm));
  *count  = answer[0];
  *status = (MuonStatus)answer[1];
  if (*status != MUON_STATUS_OK || *count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast(*count, &values));
  PetscCallMPI(MPI_Bcast(sigma, values, MPIU_REAL, 0, A->comm));
  if (V != NULL) {
    MPI_Datatype column;

    PetscCall(PetscMPIIntCast(A->columns << whole.pairs, &length));
    PetscCallMPI(MPI_Type_contiguous(length, MPIU_REAL, &column));
    PetscCallMPI(MPI_Type_commit(&column));
    PetscCallMPI(MPI_Bcast(V, values, column, 0, A->comm));
    PetscCallMPI(MPI_Type_free(&column));
  }
  if (U != NULL) {
    part       = MuonArrayOfReals((PetscInt)MuonArrayRows(&A->here) << whole.pairs, *count, U, 0);
    vectors    = MuonArrayOfReals(A->rows << whole.pairs, *count, P, 0);
    part.pairs = vectors.pairs = whole.pairs;
    PetscCall(MuonMatrixMoveRows(A, &part, &vectors, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDCompute(MuonSVD svd, const MuonMatrix *A, PetscInt nsv, PetscReal sigma[], PetscReal U[], PetscReal V[], PetscInt *count, MuonStatus *status)
{
  MuonMark mark;

  PetscFunctionBegin;
  *count  = 0;
  *status = MUON_STATUS_OK;
  PetscCall(MuonSVDSetUp(svd));
  if (svd->work == NULL) PetscCall(MuonWorkspaceCreate(&svd->work));
  PetscCall(MuonWorkspaceMark(svd->work, &mark));
  if (A->size == 1) PetscCall(MuonSVDComputeSequential_Private(svd, &A->here, nsv, sigma, U, V, count, status));
  else if (nsv > 0) PetscCall(MuonSVDComputeParallel_Private(svd, A, nsv, sigma, U, V, count, status));
  PetscCall(MuonWorkspaceRelease(svd->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In row-major memory the transpose, in which the factors are exchanged; in another precision than
   PetscReal it is rounded at the end
*/
PetscErrorCode MuonSVDMultiply(MuonWorkspace work, PetscReal a, PetscInt count, const PetscReal U[], const PetscReal V[], const MuonArray *D)
{
  const PetscReal *left = D->rowmajor ? V : U, *right = D->rowmajor ? U : V;
  MuonArray        product = *D;

  PetscFunctionBegin;
  if (MuonArrayEntries(D) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (D->precision != MUON_PETSCSCALAR) PetscCall(MuonWorkspaceGetArray(work, D, MUON_PETSCSCALAR, &product));
  if (D->pairs) MuonKernelPairMultiply(MUON_PETSCSCALAR, 0, 1, D->len / 2, D->count, (size_t)count, (double)a, left, D->len / 2, right, D->count, 0.0, product.data, PetscMax(product.ld, product.len) / 2);
  else MuonKernelsGet(MUON_PETSCSCALAR, MUON_HOST)->Multiply(0, 1, D->len, D->count, (size_t)count, (double)a, left, D->len, right, D->count, 0.0, product.data, PetscMax(product.ld, product.len));
  if (product.data != D->data) MuonArrayAxpby(1.0, &product, 0.0, D);
  PetscCall(PetscLogFlops((D->pairs ? 4.0 : 2.0) * (PetscLogDouble)D->len * D->count * count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations of nsv triples by LAPACK: factorization, decomposition of the triangle, back transformation */
PetscErrorCode MuonSVDGetFlops(PetscInt m, PetscInt n, PetscInt nsv, PetscLogDouble *flops)
{
  const PetscLogDouble l = PetscMax(m, n), s = PetscMin(m, n), k = nsv;

  PetscFunctionBegin;
  *flops = 22.0 * s * s * s;
  if (l > s) *flops += 2.0 * l * s * s - 2.0 / 3.0 * s * s * s + 4.0 * l * s * k - 2.0 * s * s * k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDView(MuonSVD svd, PetscViewer viewer)
{
  const char *prefix = svd->nread > 0 ? svd->read[svd->nread - 1] : "";
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "singular values by SLEPc, options -%ssvd_*, last solver: %s\n", prefix, svd->solver[0] != '\0' ? svd->solver : "none yet"));
  if (svd->fallbacks > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "%s took over %" PetscInt_FMT " times\n", SVDLAPACK, svd->fallbacks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDDestroy(MuonSVD *svd)
{
  PetscFunctionBegin;
  if (*svd == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceDestroy(&(*svd)->work));
  for (PetscInt i = 0; i < (*svd)->nread; i++) PetscCall(PetscFree((*svd)->read[i]));
  PetscCall(PetscFree(*svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
