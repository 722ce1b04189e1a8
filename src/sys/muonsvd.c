#include <petscmuon/private/petscmuonimpl.h>
#include <petscblaslapack.h>
#include <slepcsvd.h>
#include "../kernels/muonpolarkernels.h"

enum {
  MAXPREFIXES = 4
};

struct _n_MuonSVD {
  MuonWorkspace work;
  PetscOptions  options;
  char         *prefix;
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
  if (started == PETSC_TRUE) PetscCall(SlepcFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SLEPc must not be started while PETSc loads this library, and a program that never needs a singular value need not have it started at all. Its packages are
   initialized together with it. Called early, on all ranks, by what is sure to compute, so that classes and events have one order everywhere
*/
PetscErrorCode MuonSVDStart(void)
{
  PetscBool started;

  PetscFunctionBegin;
  PetscCall(SlepcInitialized(&started));
  if (started == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDSetWorkspace(MuonSVD svd, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&svd->work));
  svd->work = work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The keys are -<prefix of parent><child>svd_..., in the parent's database */
PetscErrorCode MuonSVDSetOptionsPrefix(MuonSVD svd, PetscObject parent, const char child[])
{
  const char *prefix;
  size_t      length;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(parent, &prefix));
  svd->options = parent->options;
  PetscCall(PetscFree(svd->prefix));
  PetscCall(PetscStrlen(child, &length));
  length += 1;
  if (prefix != NULL) {
    size_t first;

    PetscCall(PetscStrlen(prefix, &first));
    length += first;
  }
  PetscCall(PetscMalloc1(length, &svd->prefix));
  PetscCall(PetscSNPrintf(svd->prefix, length, "%s%s", prefix != NULL ? prefix : "", child));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SLEPc reads the keys when a decomposition is computed. An object may be asked to read behind a general prefix and then behind a layer's own one: the later
   wins, key by key
*/
PetscErrorCode MuonSVDSetFromOptions(MuonSVD svd)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < svd->nread; i++) {
    PetscBool known;

    PetscCall(PetscStrcmp(svd->read[i], svd->prefix, &known));
    if (known == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(svd->nread < MAXPREFIXES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Options of a singular value decomposition are read behind more than %d prefixes", MAXPREFIXES);
  PetscCall(PetscStrallocpy(svd->prefix != NULL ? svd->prefix : "", &svd->read[svd->nread++]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X (long x short) is A, or its transpose where A is wide, times 2^-exponent */
static void MuonSVDLoad_Private(PetscInt m, PetscInt n, const PetscScalar *a, PetscInt lda, int exponent, PetscScalar *X)
{
  const PetscInt block = 16;

  if (m >= n) {
    MuonKernelDivide((size_t)m, (size_t)n, a, (size_t)lda, 1.0, exponent, X, (size_t)m);
    return;
  }
  for (PetscInt J = 0; J < n; J += block) {
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = J; j < J + block && j < n; j++) X[j + (size_t)i * n] = a[i + (size_t)j * lda];
    }
  }
  MuonKernelDivide((size_t)n, (size_t)m, X, (size_t)n, 1.0, exponent, X, (size_t)n);
}

/*
   X = Q R: the reflectors stay in X and tau, R is returned with zeros below its diagonal. An iteration on the square R is cheaper, and SLEPc's LAPACK solver
   asks for all l x l entries of the long side's orthogonal matrix, which is out of the question for an embedding of 50304 x 768.
*/
static PetscErrorCode MuonSVDFactor_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscScalar *X, PetscScalar **R, PetscScalar **tau)
{
  PetscBLASInt bl, bs, info, lwork = -1;
  PetscScalar  query = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCall(PetscBLASIntCast(s, &bs));
  PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_B, (size_t)s * s * sizeof(PetscScalar), R));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bl, &bs, X, &bl, &query, &query, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF: info %" PetscInt_FMT, (PetscInt)info);
  lwork = (PetscBLASInt)PetscRealPart(query);
  PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_C, (size_t)(s + lwork) * sizeof(PetscScalar), tau));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bl, &bs, X, &bl, *tau, *tau + s, &lwork, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF: info %" PetscInt_FMT, (PetscInt)info);
  for (PetscInt j = 0; j < s; j++) {
    PetscCall(PetscArraycpy(*R + j * s, X + (size_t)j * l, j + 1));
    PetscCall(PetscArrayzero(*R + j * s + j + 1, s - j - 1));
  }
  PetscCall(PetscLogFlops(2.0 * l * s * s - 2.0 / 3.0 * s * s * s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* L = Q L for the first count columns of the long side's vectors, which hold the vectors of R in their first s rows */
static PetscErrorCode MuonSVDBackTransform_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscScalar *X, PetscScalar *tau, PetscInt count, PetscScalar *L)
{
  PetscBLASInt bl, bs, bcount, info, lwork = -1;
  PetscScalar  query = 0.0, *work;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCall(PetscBLASIntCast(s, &bs));
  PetscCall(PetscBLASIntCast(count, &bcount));
  PetscCallBLAS("LAPACKormqr", LAPACKormqr_("L", "N", &bl, &bcount, &bs, X, &bl, tau, L, &bl, &query, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xORMQR: info %" PetscInt_FMT, (PetscInt)info);
  lwork = (PetscBLASInt)PetscRealPart(query);
  /* R has done its work */
  PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_B, (size_t)lwork * sizeof(PetscScalar), &work));
  PetscCallBLAS("LAPACKormqr", LAPACKormqr_("L", "N", &bl, &bcount, &bs, X, &bl, tau, L, &bl, work, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xORMQR: info %" PetscInt_FMT, (PetscInt)info);
  PetscCall(PetscLogFlops(4.0 * l * s * count - 2.0 * s * s * count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest singular triples of the contiguous array X (l x s, l >= s) by a fresh SLEPc object: one that is kept would go on with its random numbers,
   and the result would depend on what was computed before. The options behind the first nread prefixes change the solver; X is overwritten where l > s.
*/
static PetscErrorCode MuonSVDSolve_Private(MuonSVD svd, PetscInt l, PetscInt s, PetscScalar *X, PetscInt nsv, PetscInt nread, const char solver[], PetscReal sigma[], PetscScalar *L, PetscScalar *S, PetscInt *nconv)
{
  SVD          solve;
  SVDType      type;
  Mat          A;
  Vec          left = NULL, right = NULL;
  PetscScalar *R = X, *tau = NULL;
  PetscInt     asked;
  PetscBool    lapack;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_SELF, &solve));
  PetscCall(PetscObjectSetOptions((PetscObject)solve, svd->options));
  PetscCall(SVDSetType(solve, solver));
  PetscCall(SVDSetDimensions(solve, nsv, PETSC_DEFAULT, PETSC_DEFAULT));
  for (PetscInt i = 0; i < nread; i++) {
    PetscCall(SVDSetOptionsPrefix(solve, svd->read[i]));
    PetscCall(SVDSetFromOptions(solve));
  }
  PetscCall(SVDSetWhichSingularTriplets(solve, SVD_LARGEST));
  PetscCall(SVDGetDimensions(solve, &asked, NULL, NULL));
  PetscCheck(asked == nsv, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Option -%ssvd_nsv asks for %" PetscInt_FMT " singular triples where %" PetscInt_FMT " are needed: remove it", svd->prefix != NULL ? svd->prefix : "", asked, nsv);
  PetscCall(SVDGetType(solve, &type));
  PetscCall(PetscStrncpy(svd->solver, type, sizeof(svd->solver)));
  PetscCall(PetscStrcmp(type, SVDLAPACK, &lapack));
  if (l > s) PetscCall(MuonSVDFactor_Private(svd, l, s, X, &R, &tau));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, s, s, R, &A));
  PetscCall(SVDSetOperators(solve, A, NULL));
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
  /* LAPACK's own count of a full decomposition; the other solvers are built of operations that PETSc counts */
  if (lapack == PETSC_TRUE) PetscCall(PetscLogFlops(22.0 * s * s * s));
  if (tau != NULL && L != NULL) PetscCall(MuonSVDBackTransform_Private(svd, l, s, X, tau, *nconv, L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSVDComputeSequential_Private(MuonSVD svd, Mat A, PetscInt nsv, PetscReal sigma[], PetscScalar U[], PetscScalar V[], PetscInt *count, MuonStatus *status)
{
  const PetscScalar *a;
  PetscScalar       *X;
  const char        *solver;
  PetscInt           m, n, lda, l, s, nconv;
  PetscBool          finite;
  double             most;
  int                exponent;

  PetscFunctionBegin;
  *count  = 0;
  *status = MUON_STATUS_OK;
  PetscCall(MatGetSize(A, &m, &n));
  l = PetscMax(m, n);
  s = PetscMin(m, n);
  PetscCheck(nsv >= 0 && nsv <= s, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " singular triples of a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, expected at most %" PetscInt_FMT, nsv, m, n, s);
  if (nsv == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonMatIsFinite_Private(A, &finite));
  if (finite == PETSC_FALSE) {
    *status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonSVDStart());
  if (svd->work == NULL) PetscCall(MuonWorkspaceCreate(&svd->work));
  PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_A, (size_t)l * s * sizeof(PetscScalar), &X));

  /* The factors of the transpose are those of the matrix in exchange; scaling by a power of two keeps A^T A in range and changes no bit of the vectors */
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  most = MuonKernelMaxAbs((size_t)m, (size_t)n, a, (size_t)lda);
  (void)frexp(most, &exponent);
  if (most > 0.0) {
    MuonSVDLoad_Private(m, n, a, lda, exponent, X);
    /* Where few triples are wanted Lanczos is faster. SLEPc's cross is as fast but ends the program with an error on matrices of low rank, which residuals are */
    solver = 8 * nsv < s && s > 32 ? SVDTRLANCZOS : SVDLAPACK;
    PetscCall(MuonSVDSolve_Private(svd, l, s, X, nsv, svd->nread, solver, sigma, m >= n ? U : V, m >= n ? V : U, &nconv));
    if (nconv < nsv) {
      PetscCall(PetscInfo(NULL, "Solver %s found %" PetscInt_FMT " of %" PetscInt_FMT " singular triples of a %" PetscInt_FMT " x %" PetscInt_FMT " matrix: LAPACK takes over\n", svd->solver, nconv, nsv, m, n));
      svd->fallbacks++;
      MuonSVDLoad_Private(m, n, a, lda, exponent, X);
      PetscCall(MuonSVDSolve_Private(svd, l, s, X, nsv, 0, SVDLAPACK, sigma, m >= n ? U : V, m >= n ? V : U, &nconv));
    }
    if (nconv < nsv) *status = MUON_STATUS_LMO;
    else {
      for (*count = 0; *count < nsv && sigma[*count] > l * PETSC_MACHINE_EPSILON * sigma[0]; (*count)++) continue;
      for (PetscInt i = 0; i < nsv; i++) sigma[i] = (PetscReal)ldexp((double)sigma[i], exponent);
      if (PetscIsInfOrNanReal(sigma[0])) {
        *status = MUON_STATUS_NANORINF;
        *count  = 0;
      }
    }
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSVDRoom_Private(MuonSVD svd, PetscInt m, PetscInt n, PetscInt nsv, PetscScalar **X, PetscScalar **U)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_D, (size_t)m * n * sizeof(PetscScalar), X));
  if (nsv > 0) PetscCall(MuonWorkspaceGet(svd->work, MUON_WORK_SVD_E, (size_t)m * nsv * sizeof(PetscScalar), U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the first rank, which has the whole matrix as X and gets the whole U; an error of its own becomes one of all ranks */
static PetscErrorCode MuonSVDComputeWhole_Private(MuonSVD svd, PetscInt m, PetscInt n, PetscScalar *X, PetscInt nsv, PetscReal sigma[], PetscScalar U[], PetscScalar V[], PetscInt *count, MuonStatus *status)
{
  Mat whole;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &whole));
  PetscCall(MuonSVDComputeSequential_Private(svd, whole, nsv, sigma, U, V, count, status));
  PetscCall(MatDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSVDComputeParallel_Private(MuonSVD svd, Mat A, PetscInt nsv, PetscReal sigma[], PetscScalar U[], PetscScalar V[], PetscInt *count, MuonStatus *status)
{
  const MPI_Comm     comm = PetscObjectComm((PetscObject)A);
  const PetscScalar *a;
  PetscScalar       *X = NULL, *whole = NULL;
  PetscInt           m, n, rows, lda;
  PetscMPIInt        rank, values, length, answer[3] = {0, 0, 0};
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  /* Classes and events have one order on all ranks */
  PetscCall(MuonSVDStart());
  if (svd->work == NULL) PetscCall(MuonWorkspaceCreate(&svd->work));
  if (rank == 0) ierr = MuonSVDRoom_Private(svd, m, n, U != NULL ? nsv : 0, &X, &whole);
  answer[0] = (PetscMPIInt)ierr;
  PetscCallMPI(MPI_Bcast(answer, 1, MPI_INT, 0, comm));
  PetscCall(ierr);
  PetscCheck(answer[0] == 0, PETSC_COMM_SELF, (PetscErrorCode)answer[0], "The first rank has no room for a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, see its error", m, n);
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  PetscCall(MuonMatMoveRows_Private(A, n, (PetscScalar *)a, lda, X, PETSC_TRUE));
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  if (rank == 0) {
    ierr      = MuonSVDComputeWhole_Private(svd, m, n, X, nsv, sigma, whole, V, count, status);
    answer[0] = (PetscMPIInt)ierr;
    answer[1] = (PetscMPIInt)*count;
    answer[2] = (PetscMPIInt)*status;
  }
  PetscCallMPI(MPI_Bcast(answer, 3, MPI_INT, 0, comm));
  PetscCall(ierr);
  PetscCheck(answer[0] == 0, PETSC_COMM_SELF, (PetscErrorCode)answer[0], "The first rank could not decompose a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, see its error", m, n);
  *count  = answer[1];
  *status = (MuonStatus)answer[2];
  if (*status != MUON_STATUS_OK || *count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast(*count, &values));
  PetscCallMPI(MPI_Bcast(sigma, values, MPIU_REAL, 0, comm));
  if (V != NULL) {
    MPI_Datatype column;

    PetscCall(PetscMPIIntCast(n, &length));
    PetscCallMPI(MPI_Type_contiguous(length, MPIU_SCALAR, &column));
    PetscCallMPI(MPI_Type_commit(&column));
    PetscCallMPI(MPI_Bcast(V, values, column, 0, comm));
    PetscCallMPI(MPI_Type_free(&column));
  }
  if (U != NULL) PetscCall(MuonMatMoveRows_Private(A, *count, U, PetscMax(1, rows), whole, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSVDCompute(MuonSVD svd, Mat A, PetscInt nsv, PetscReal sigma[], PetscScalar U[], PetscScalar V[], PetscInt *count, MuonStatus *status)
{
  PetscBool dense, parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIDENSE, &parallel));
  PetscCheck(dense == PETSC_TRUE || parallel == PETSC_TRUE, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix of type %s, expected %s or %s", ((PetscObject)A)->type_name, MATSEQDENSE, MATMPIDENSE);
  *count  = 0;
  *status = MUON_STATUS_OK;
  if (dense == PETSC_TRUE) PetscCall(MuonSVDComputeSequential_Private(svd, A, nsv, sigma, U, V, count, status));
  else if (nsv > 0) PetscCall(MuonSVDComputeParallel_Private(svd, A, nsv, sigma, U, V, count, status));
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
  const char *prefix = svd->prefix != NULL ? svd->prefix : "";
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscCall(PetscFree((*svd)->prefix));
  PetscCall(PetscFree(*svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
