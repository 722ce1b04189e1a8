/*
   What the classes of the library share and a user does not see: scratch memory, the truncated SVD, options
   that are read behind two prefixes.
*/
#pragma once

#include <math.h>
#include <string.h>
#include <petscmuonsys.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmat.h>
#include <petsc/private/petscimpl.h>

/* What the library prints unasked, warnings among them; PetscMuonSetQuiet() switches it off */
PETSC_EXTERN PetscBool PetscMuonIsQuiet;
#define MuonNotice(...) (PetscMuonIsQuiet ? PETSC_SUCCESS : PetscPrintf(__VA_ARGS__))

/*
   What moves past PETSc's own MPI calls, for -log_view, which halves the sum of what is sent and what
   arrives. A message is a buffer that a rank hands to MPI, a reduction a call of all ranks
*/
static inline void MuonLogTraffic(PetscLogDouble messages, PetscLogDouble bytes, PetscLogDouble reductions)
{
#if PetscDefined(USE_LOG)
  MuonAddLogDouble(petsc_send_ct, messages);
  MuonAddLogDouble(petsc_recv_ct, messages);
  MuonAddLogDouble(petsc_send_len, bytes);
  MuonAddLogDouble(petsc_recv_len, bytes);
  MuonAddLogDouble(petsc_allreduce_ct, reductions);
#else
#endif
}

/*
   What is done between Begin and End in the memory of a device is in the GPU columns of -log_view: the flops
   that were logged meanwhile and, with -log_view_gpu_time, the time. PETSc has one clock for it: phases do
   not nest. Work on the host, and a PETSc that was built without devices, has no such columns
*/
static inline PetscErrorCode MuonLogDeviceBegin(MuonMemory memory, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 0;
  if (memory != MUON_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetFlops(flops));
  PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MuonLogDeviceEnd(MuonMemory memory, PetscLogDouble flops)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  if (memory != MUON_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscGetFlops(&now));
  flops = now - flops;
#if PetscDefined(USE_LOG) && PetscDefined(HAVE_DEVICE)
  MuonAddLogDouble(petsc_gflops, flops);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Scratch memory that the objects working on the layers one after the other share: an optimizer has one, not
   one for each layer. It is a stack for each memory. Mark notes where the stacks end, Get gives memory until
   Release of a mark that was made before it; nothing that was given before the mark moves or changes. A
   function that gets memory for itself calls Mark and Release; one that returns memory says so, and its caller marks. Memory
   left by an error is released with the next outer mark
*/
typedef struct _n_MuonWorkspace *MuonWorkspace;

/* Of the host, of a device, of the host's pinned pages */
typedef struct {
  size_t used[3];
} MuonMark;

PETSC_EXTERN PetscErrorCode MuonWorkspaceCreate(MuonWorkspace *);
/* The second, a field, becomes the first, which may be NULL */
PETSC_EXTERN PetscErrorCode MuonWorkspaceShare(MuonWorkspace, MuonWorkspace *);
PETSC_EXTERN PetscErrorCode MuonWorkspaceMark(MuonWorkspace, MuonMark *);
PETSC_EXTERN PetscErrorCode MuonWorkspaceRelease(MuonWorkspace, const MuonMark *);
/*
   The last argument is the address of a pointer to any type, which is aligned for all of them. The memory is a MuonMemory, or MUON_PINNED:
   pages of the host that a device copies fast. GetPinned is for what is copied to and from a memory: pinned where that is a device's
*/
#define MUON_PINNED (MUON_DEVICE + 1)
PETSC_EXTERN PetscErrorCode MuonWorkspaceGetIn(MuonWorkspace, int memory, size_t, void *);
#define MuonWorkspaceGet(work, bytes, pointer)               MuonWorkspaceGetIn(work, MUON_HOST, bytes, pointer)
#define MuonWorkspaceGetPinned(work, memory, bytes, pointer) MuonWorkspaceGetIn(work, (memory) == MUON_HOST ? MUON_HOST : MUON_PINNED, bytes, pointer)
/* A contiguous array of the shape of another, in its memory */
PETSC_EXTERN PetscErrorCode MuonWorkspaceGetArray(MuonWorkspace, const MuonArray *like, MuonPrecision, MuonArray *);
/* Objects that are made once and used by one after the other: solvers of singular value decompositions */
PETSC_EXTERN PetscObjectList *MuonWorkspaceKept(MuonWorkspace);
PETSC_EXTERN PetscErrorCode   MuonWorkspaceGetBytes(MuonWorkspace, size_t *);
/*
   Bound of the scratch bytes for several matrices in device memory that are computed together; one may take more. 1 GiB by
   default
*/
#define MUON_WORK_BATCH ((size_t)1 << 30)
PETSC_EXTERN size_t        *MuonWorkspaceBatch(MuonWorkspace);
PETSC_EXTERN PetscErrorCode MuonWorkspaceDestroy(MuonWorkspace *);

/*
   A matrix for an LMO: the rows of this rank as an array, and the distribution of the others. A matrix on one rank has all rows
   here and the communicator MPI_COMM_SELF. rows and columns are those of the
   whole matrix, first is the number of the first row here; ranges[r] is that of rank r, NULL where size is 1
*/
typedef struct {
  MuonArray       here;
  MPI_Comm        comm;
  PetscMPIInt     rank, size;
  PetscInt        rows, columns, first;
  const PetscInt *ranges;
} MuonMatrix;

/* For MuonParametersCheckType() of what has no complex matrices */
#define MUON_OF_REALS "is of real matrices, and this one is complex"

#if defined(PETSC_USE_REAL_SINGLE)
  #define MUON_PETSCSCALAR MUON_SINGLE
#else
  #define MUON_PETSCSCALAR MUON_DOUBLE
#endif

/* Arrays of the caller's, m x n, column-major. Scalars are pairs of reals where those of PETSc are complex */
PETSC_EXTERN MuonArray MuonArrayOfReals(PetscInt m, PetscInt n, const PetscReal *data, PetscInt ld);
PETSC_EXTERN MuonArray MuonArrayOfScalars(PetscInt m, PetscInt n, const PetscScalar *data, PetscInt ld);
/*
   The border of the library: dense matrices, sequential or with their rows on many ranks, as arrays in their
   own memory, that of a device where their type has it. Get and Restore stand in pairs; a matrix that is only
   read keeps its state. Nothing behind the border asks a Mat for its entries
*/
PETSC_EXTERN PetscErrorCode MuonMatGetMatrix(Mat, PetscBool write, MuonMatrix *);
PETSC_EXTERN PetscErrorCode MuonMatRestoreMatrix(Mat, PetscBool write, MuonMatrix *);
/* Copies a matrix between arrays of any order and precision */
PETSC_EXTERN void MuonArrayCopyMatrix(const MuonArray *from, const MuonArray *to);
/*
   Copies an array, whatever its order and precision, to the caller's sequential dense matrix, which must have
   its shape
*/
PETSC_EXTERN PetscErrorCode MuonMatCopyArray(const MuonArray *, Mat);
/* A matrix that is all on this rank */
PETSC_EXTERN MuonMatrix MuonMatrixOfArray(const MuonArray *);
/*
   Rows that are spread over the ranks of a communicator, of rank r those from ranges[r] to ranges[r+1].
   SumStart begins the sum of whole arrays, of which every rank gets its own rows, without gaps, when the
   request is done; Gather makes the whole array at every rank. packed is room of the size of the whole, which
   is not looked at where memory is in the order of rows already; for a sum it and counts, a number for each range,
   are used until the request is done. bytes grows by what is handed to MPI
*/
PETSC_EXTERN PetscErrorCode MuonRowsSumStart(MPI_Comm, PetscMPIInt root, const PetscInt ranges[], double scale, const MuonArray *whole, const MuonArray *packed, const MuonArray *rows, PetscMPIInt counts[], PetscLogDouble *bytes, MPI_Request *);
PETSC_EXTERN PetscErrorCode MuonRowsGather(MPI_Comm, PetscMPIInt root, const PetscInt ranges[], const MuonArray *rows, const MuonArray *whole, const MuonArray *packed, PetscLogDouble *bytes);

/*
   State: what an object keeps from step to step and a run needs to go on. Each type, of the optimizer and of a layer, and each compressor
   names every one of its arrays and numbers once, in one routine, to a visitor: memory in a view, checkpoints
   and moves between memories are visitors. An object names them in the same order each time.

   holder says whose it is: a worker's (different on each), a server's (on the owner), everyone's
   (the same on all ranks). An entrywise state has the shape of the shard and follows its entries when a layer
   is cut anew; any other is opaque, an array of its own shape or bytes. scratch is memory that a step writes
   before it reads: counted, not kept
*/
typedef enum {
  MUON_STATE_WORKER,
  MUON_STATE_SERVER,
  MUON_STATE_EVERYONE
} MuonStateHolder;

typedef struct {
  const char     *layer; /* name of the layer or shard */
  const char     *name;  /* of the state, unique in the layer: "momentum", "compressor.basis[2]" */
  MuonStateHolder holder;
  PetscBool       entrywise, scratch;
  MuonArray      *array; /* or NULL, and bytes at data */
  size_t          bytes;
  void           *data;
} MuonState;

typedef struct _n_MuonStateVisitor {
  PetscErrorCode (*visit)(struct _n_MuonStateVisitor *, const MuonState *);
  const char     *layer;  /* that is being visited: set by the routine that visits the layers */
  MuonStateHolder holder; /* of what a compressor or an optimizer of a layer names, which do not know where they are */
  /*
     Not NULL if state will be restored. An object that creates an array at the first step calls it to create the array now, if
     the checkpoint has a state of this name. An entrywise array has the shape and precision of the layer's state here, any other
     its own
  */
  PetscErrorCode (*make)(struct _n_MuonStateVisitor *, const char name[], PetscBool entrywise, MuonArray *);
  PetscBool alone;  /* each worker has weights, and optimizers of layers, of its own */
  PetscBool late;   /* a first step creates what is visited: a checkpoint written before has none of it */
  PetscBool onhost; /* visit() reads and writes entries on the host: it gets copies of other arrays, which are copied back */
  void     *ctx;
  /* Set by the routine that visits: the optimizer, the prefix of its names, and the name of the layer's rows here; NULL for none */
  PetscObject of;
  const char *prefix, *shard;
} MuonStateVisitor;

/* A state's name with its prefix */
#define MUON_STATE_NAME 256
PETSC_EXTERN PetscErrorCode MuonStateName(const MuonStateVisitor *, const char name[], char full[MUON_STATE_NAME]);
/* Objects call these in their routine. An array without data does not count */
PETSC_EXTERN PetscErrorCode MuonStateVisitArray(MuonStateVisitor *, const char name[], PetscBool entrywise, PetscBool scratch, MuonArray *);
PETSC_EXTERN PetscErrorCode MuonStateVisitBytes(MuonStateVisitor *, const char name[], size_t bytes, void *data);

/*
   State and scratch are allocated here and nowhere else. Create gives zeros; Destroy frees an array of Create, or does nothing
   if it was freed already
*/
PETSC_EXTERN PetscErrorCode MuonArrayCreate(const MuonArray *like, MuonPrecision, MuonArray *);
PETSC_EXTERN PetscErrorCode MuonArrayDestroy(MuonArray *);

/* Its bytes; nothing is freed where data is NULL */
PETSC_EXTERN PetscErrorCode MuonMemoryAllocate(MuonMemory, size_t bytes, void **data);
PETSC_EXTERN PetscErrorCode MuonMemoryFree(MuonMemory, void *data);
PETSC_EXTERN PetscErrorCode MuonArrayZero(const MuonArray *);
/*
   An array for code that runs on the host only: itself, or a copy without gaps that OffHost frees, in single precision of
   a packed array. read copies the entries there; write copies them back
*/
PETSC_EXTERN PetscErrorCode MuonArrayOnHost(const MuonArray *, PetscBool read, MuonArray *host);
PETSC_EXTERN PetscErrorCode MuonArrayOffHost(const MuonArray *, PetscBool write, MuonArray *host);
/* The same with a copy in pinned scratch memory; Put only writes */
PETSC_EXTERN PetscErrorCode MuonArrayGetPinned(MuonWorkspace, const MuonArray *, PetscBool read, MuonArray *host);
PETSC_EXTERN PetscErrorCode MuonArrayPutPinned(const MuonArray *, const MuonArray *host);
/*
   The viewer of a View(), standard output for NULL, and what it is for; an error on every rank if this is neither text nor a string,
   because nothing would be shown
*/
PETSC_EXTERN PetscErrorCode MuonViewBegin(PetscObject, PetscViewer *, PetscBool *ascii, PetscBool *string);

/* Swaps two arrays */
static inline void MuonArraySwap(MuonArray *a, MuonArray *b)
{
  const MuonArray c = *a;

  *a = *b;
  *b = c;
}

/*
   The one way to SLEPc's SVD: starts SLEPc when first used (MuonSVDStart() does it earlier, for what is sure
   to need it on all ranks), answers a zero, empty or non-finite matrix itself.

   MuonSVDCompute() gives the nsv largest singular triples of the matrix A of any precision and order of its
   entries, which are rounded to PetscReal where it has fewer digits: sigma[] decreasing, U (m x nsv) and V
   (n x nsv) column-major with leading dimensions m and n; count is how many of them exceed max(m,n) eps
   sigma_1, where eps is that of A or of PetscReal, whichever is larger (the canonical rank when nsv =
   min(m,n)); the arrays past count are not set. Either of U and V may be NULL. The caller's A is not
   modified.

   It is collective on A. A matrix on many ranks is gathered on its first rank, which decomposes it; m is then
   the number of rows of this rank, whose part of U it gets, and V, sigma, count and status are the same on
   all.

   MuonSVDSetUp() reads the options and refuses what a computation would refuse, on every rank of the parent
   alike; a computation calls it where it was not called. The tolerance is that of iterative solvers, relative to
   sigma_1; PETSC_DETERMINE is the precision of A. An option -svd_tol goes before it. MuonSVDHash() is of
   SLEPc's keys as they are in the database, in which ranks must not differ.

   MuonSVDMultiply() is D = a U V^T of count triples.

   U and V of a complex matrix are pairs, and A is U S V^H; where it is row-major in memory they are the conjugates, which MuonSVDMultiply()
   takes for such a D.
*/
typedef struct _n_MuonSVD *MuonSVD;

PETSC_EXTERN PetscErrorCode MuonSVDStart(void);
PETSC_EXTERN PetscErrorCode MuonSVDCreate(MPI_Comm, MuonSVD *);
PETSC_EXTERN PetscErrorCode MuonSVDSetWorkspace(MuonSVD, MuonWorkspace);
PETSC_EXTERN PetscErrorCode MuonSVDSetFromOptions(MuonSVD, PetscObject parent, const char child[]);
PETSC_EXTERN PetscErrorCode MuonSVDSetTolerance(MuonSVD, PetscReal);
PETSC_EXTERN PetscErrorCode MuonSVDSetUp(MuonSVD);
PETSC_EXTERN PetscErrorCode MuonSVDHash(MuonSVD, unsigned int *);
PETSC_EXTERN PetscErrorCode MuonSVDCompute(MuonSVD, const MuonMatrix *, PetscInt, PetscReal[], PetscReal[], PetscReal[], PetscInt *, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonSVDMultiply(MuonWorkspace, PetscReal a, PetscInt count, const PetscReal U[], const PetscReal V[], const MuonArray *D);
PETSC_EXTERN PetscErrorCode MuonSVDGetFlops(PetscInt, PetscInt, PetscInt, PetscLogDouble *);
PETSC_EXTERN PetscErrorCode MuonSVDView(MuonSVD, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonSVDDestroy(MuonSVD *);

/*
   Setters and getters of one type: where the object has another, the call ends here, or is an error. Get is
   all that a getter of a field does. A Destroy() ends in DestroyBegin where there is no object, or others have references to it
*/
#define MuonIgnoreUnlessType(object, type) \
  do { \
    PetscBool has_; \
    PetscCall(PetscObjectTypeCompare((PetscObject)(object), type, &has_)); \
    if (has_ == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS); \
  } while (0)
#define MuonCheckType(object, type) \
  do { \
    const char *const has_ = ((PetscObject)(object))->type_name; \
    PetscBool         same_; \
    PetscCall(PetscObjectTypeCompare((PetscObject)(object), type, &same_)); \
    PetscCheck(same_, PetscObjectComm((PetscObject)(object)), PETSC_ERR_SUP, "A %s of type %s has no such choice, expected type %s", ((PetscObject)(object))->class_name, has_ != NULL ? has_ : "(not set)", type); \
  } while (0)
#define MuonGetOfType(object, classid, type, to, value) \
  do { \
    PetscValidHeaderSpecific(object, classid, 1); \
    PetscAssertPointer(to, 2); \
    MuonCheckType(object, type); \
    *(to) = (value); \
  } while (0)
#define MuonDestroyBegin(object, classid) \
  do { \
    if (*(object) == NULL) PetscFunctionReturn(PETSC_SUCCESS); \
    PetscValidHeaderSpecific(*(object), classid, 1); \
    if (--((PetscObject) * (object))->refct > 0) { \
      *(object) = NULL; \
      PetscFunctionReturn(PETSC_SUCCESS); \
    } \
  } while (0)
#define MuonGet(object, classid, to, value) \
  do { \
    PetscValidHeaderSpecific(object, classid, 1); \
    PetscAssertPointer(to, 2); \
    *(to) = (value); \
  } while (0)

/* The names in a list of types, for messages */
PETSC_EXTERN PetscErrorCode MuonListNames_Private(PetscFunctionList, size_t, char[]);
/*
   Errors unless the matrix is dense, sequential or parallel, and unless there are two of the same type, shape
   and distribution
*/
PETSC_EXTERN PetscErrorCode MuonCheckMat_Private(PetscObject, Mat);
PETSC_EXTERN PetscErrorCode MuonCheckMats_Private(PetscObject, Mat, Mat);

/*
   Columns of which this rank has, in part, the rows that it has of A, to or from the whole ones at the first
   rank of A, which is the only one to look at that array; of one precision and order. Collective on A
*/
PETSC_EXTERN PetscErrorCode MuonMatrixMoveRows(const MuonMatrix *A, const MuonArray *part, const MuonArray *whole, PetscBool gather);

/*
   A matrix that is cut into a grid of blocks, numbered by rows of the grid. Each side has the sizes of its
   parts, then where they begin; NULL is as many equal parts, of whatever size. 1 x 1 with NULL is no cut at
   all.
*/
typedef struct {
  PetscInt  nrows, ncolumns;
  PetscInt *rows, *columns;
} MuonBlocks;

/* m x n entries from (row, column) on */
typedef struct {
  PetscInt row, column, m, n;
} MuonBlock;

PETSC_INTERN PetscErrorCode MuonBlocksSet_Private(MuonBlocks *, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MuonBlocksDestroy_Private(MuonBlocks *);
/*
   What is wrong with a grid for an m x n matrix, whose sides are -1 where they are not known, and on which
   side, rows or columns; no reason where all is right
*/
PETSC_INTERN PetscErrorCode MuonBlocksCheck_Private(PetscInt, const PetscInt[], PetscInt m, PetscInt, const PetscInt[], PetscInt n, const char **side, size_t, char reason[]);
/* The sizes of a side of whole lines with commas between them, the last of very many left out */
PETSC_INTERN PetscErrorCode MuonBlocksPrintSide_Private(PetscInt, const PetscInt[], PetscInt whole, size_t, char text[]);
/* The block of that number of an m x n matrix which the cut fits */
PETSC_INTERN PetscErrorCode MuonBlocksGet_Private(const MuonBlocks *, PetscInt, PetscInt m, PetscInt n, MuonBlock *);
/* A block's own name, which no layer can have: it makes the hash of its messages and its random numbers */
PETSC_EXTERN PetscErrorCode MuonBlockName_Private(const char layer[], PetscInt, size_t, char name[]);

static inline PetscInt MuonBlocksCount_Private(const MuonBlocks *blocks)
{
  return blocks->nrows * blocks->ncolumns;
}

/*
   The keys of an object that works on one layer, and of those below it: those behind the prefix that all layers share, then the
   layer's own, where there are any. The shared keys of a type that is the layer's alone were not read: they
   are read then, and the own ones again. Of shared keys a parent has read those that it has
*/
PETSC_EXTERN PetscErrorCode MuonSetFromLayeredOptions(PetscObject, const char shared[], const char own[]);
/* Whether the options database of an object has any key behind a prefix */
PETSC_EXTERN PetscErrorCode MuonHasOptions(PetscObject, const char prefix[], PetscBool *);

/* What frees the viewer of a monitor */
PETSC_EXTERN PetscErrorCode MuonViewerAndFormatDestroy(void **);

/*
   FNV-1a, 32 bits, of a layer's name: its identity on the wire and in the random number generator, the same for any
   order of the layers
*/
PETSC_EXTERN PetscErrorCode MuonNameHash_Private(const char[], unsigned int *);

/* What the package of a class asks of PETSc once its events are there: -info, -log_exclude */
PETSC_INTERN PetscErrorCode MuonPackageRegister_Private(const char package[], PetscClassId);

/*
   A norm of matrices that compressors and theorems can speak of: the p-norm of the singular values, or the
   q-norm of the p-norms of the columns, or of the rows. Exponents are in [1, HUGE_VAL]
*/
typedef struct {
  PetscBool singular, rows;
  double    p, q; /* q is not looked at where singular is set */
} MuonNorm;

static inline PetscBool MuonNormIsFrobenius(const MuonNorm *norm)
{
  return norm->p == 2 && (norm->singular || norm->q == 2) ? PETSC_TRUE : PETSC_FALSE;
}

static inline double MuonNormConjugate_Private(double p)
{
  if (p == 1) return HUGE_VAL;
  return p == HUGE_VAL ? 1 : p / (p - 1);
}

static inline MuonNorm MuonNormDual(const MuonNorm *norm)
{
  MuonNorm dual = *norm;

  dual.p = MuonNormConjugate_Private(norm->p);
  dual.q = MuonNormConjugate_Private(norm->q);
  return dual;
}

static inline void MuonNormBound_Private(double p, double length, double *least, double *most)
{
  const double ratio = pow(length, 0.5 - 1 / p); /* of the 2-norm and the p-norm of a vector of ones; of one entry it is 1 */

  *least *= ratio < 1 ? ratio : 1;
  *most *= ratio > 1 ? ratio : 1;
}

/* The largest and the smallest number with least ||X|| <= ||X||_F <= most ||X|| for all m x n matrices */
static inline void MuonNormGetBounds(const MuonNorm *norm, double m, double n, double *least, double *most)
{
  *least = *most = 1;
  if (norm->singular) MuonNormBound_Private(norm->p, m < n ? m : n, least, most);
  else {
    MuonNormBound_Private(norm->p, norm->rows ? n : m, least, most);
    MuonNormBound_Private(norm->q, norm->rows ? m : n, least, most);
  }
}
