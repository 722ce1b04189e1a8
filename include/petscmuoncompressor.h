/*
   Compressors: operators that make a matrix small enough to send, with their messages as bytes.
*/
#pragma once

#include <petscmat.h>
#include <petscmuonsys.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonCompressor */

struct _MuonParameter; /* in petscmuon/private/muonparameter.h */

/*S
   MuonCompressor - Compressor of one layer's matrices, for one sender and one direction

   Level: intermediate

.seealso: `MuonCompressorCreate()`, `MuonCompressorSetType()`, `MuonCompressorType`, `MuonCompressorEncode()`, `MuonCompressorDecode()`
S*/
typedef struct _p_MuonCompressor *MuonCompressor;

/*J
   MuonCompressorType - String with the name of a compressor

   Values:
+  `MUONCOMPRESSORIDENTITY`   - no compression
.  `MUONCOMPRESSORNATURAL`    - rounds every entry to a power of two, at random and without bias
.  `MUONCOMPRESSORNEAREST`    - rounds every entry to the nearest power of two
.  `MUONCOMPRESSORTRUNCATED`  - drops the mantissa of every entry
.  `MUONCOMPRESSORBF16`       - rounds every entry to bfloat16
.  `MUONCOMPRESSORDAMPING`    - a multiple of the matrix
.  `MUONCOMPRESSORDROPOUT`    - the whole matrix with some probability, otherwise nothing
.  `MUONCOMPRESSORSIGN`       - the signs, and one magnitude for all
.  `MUONCOMPRESSORQSGD`       - rounds every entry to one of a few levels of a scale, at random and without bias
.  `MUONCOMPRESSORTOPK`       - the entries of largest absolute value
.  `MUONCOMPRESSORRANDK`      - entries chosen at random
.  `MUONCOMPRESSORCOLUMNTOPK` - the columns of largest norm
.  `MUONCOMPRESSORROWTOPK`    - the rows of largest norm
.  `MUONCOMPRESSORRANKK`      - the leading singular triples
.  `MUONCOMPRESSORTOPSVD`     - the leading singular triples, with the singular values sent apart
-  `MUONCOMPRESSORPOWERSGD`   - the projection on a subspace that follows the leading singular vectors

   Level: intermediate

.seealso: `MuonCompressorSetType()`, `MuonCompressor`, `MuonCompressorRegister()`
J*/
typedef const char *MuonCompressorType;
#define MUONCOMPRESSORIDENTITY   "identity"
#define MUONCOMPRESSORNATURAL    "natural"
#define MUONCOMPRESSORNEAREST    "nearest"
#define MUONCOMPRESSORTRUNCATED  "truncated"
#define MUONCOMPRESSORBF16       "bf16"
#define MUONCOMPRESSORDAMPING    "damping"
#define MUONCOMPRESSORDROPOUT    "dropout"
#define MUONCOMPRESSORSIGN       "sign"
#define MUONCOMPRESSORQSGD       "qsgd"
#define MUONCOMPRESSORTOPK       "topk"
#define MUONCOMPRESSORRANDK      "randk"
#define MUONCOMPRESSORCOLUMNTOPK "columntopk"
#define MUONCOMPRESSORROWTOPK    "rowtopk"
#define MUONCOMPRESSORRANKK      "rankk"
#define MUONCOMPRESSORTOPSVD     "topsvd"
#define MUONCOMPRESSORPOWERSGD   "powersgd"

/*E
   MuonCompressorValues - How the values of a message are written

   Values:
+  `MUON_COMPRESSOR_VALUES_NATIVE`  - the width of `PetscScalar`
.  `MUON_COMPRESSOR_VALUES_DOUBLE`  - binary64
.  `MUON_COMPRESSOR_VALUES_SINGLE`  - binary32 (the default)
.  `MUON_COMPRESSOR_VALUES_BF16`    - bfloat16, rounded to nearest even
.  `MUON_COMPRESSOR_VALUES_NATURAL` - natural compression, at most 9 bits
-  `MUON_COMPRESSOR_VALUES_2BIT`    - a sign and one of two magnitudes that 64 kept entries share, 2.5 bits; `MUONCOMPRESSORTOPK` only

   Level: intermediate

   Notes:
   `-compressor_values` chooses the format. The default is single, as the papers count. It also applies to the
   magnitude of `MUONCOMPRESSORSIGN` and to the scales of `MUONCOMPRESSORQSGD`, which are rounded up. Values that
   overflow give the status `MUON_STATUS_NANORINF`. A double is rounded to binary32 before it is rounded to bf16 or to
   a power of two.

   `MUONCOMPRESSORIDENTITY` writes native values unless single was set. `MUONCOMPRESSORNATURAL`,
   `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORTRUNCATED` and `MUONCOMPRESSORBF16` have formats of their own.

.seealso: `MuonCompressorSetFromOptions()`, `MuonObjectSetParameter()`, `MuonCompressor`
E*/
typedef enum {
  MUON_COMPRESSOR_VALUES_NATIVE,
  MUON_COMPRESSOR_VALUES_DOUBLE,
  MUON_COMPRESSOR_VALUES_SINGLE,
  MUON_COMPRESSOR_VALUES_BF16,
  MUON_COMPRESSOR_VALUES_NATURAL,
  MUON_COMPRESSOR_VALUES_2BIT
} MuonCompressorValues;
PETSC_EXTERN const char *const MuonCompressorValuesTypes[];

/*E
   MuonCompressorBlockNorm - Norm of a block of entries that is its scale in `MUONCOMPRESSORQSGD`

   Values:
+  `MUON_COMPRESSOR_BLOCK_NORM_MAX` - the largest absolute value (the default)
-  `MUON_COMPRESSOR_BLOCK_NORM_L2`  - the Euclidean norm

   Level: intermediate

.seealso: `MUONCOMPRESSORQSGD`, `MuonCompressor`
E*/
typedef enum {
  MUON_COMPRESSOR_BLOCK_NORM_MAX,
  MUON_COMPRESSOR_BLOCK_NORM_L2
} MuonCompressorBlockNorm;
PETSC_EXTERN const char *const MuonCompressorBlockNorms[];

/*S
   MuonCompressorCost - Size of one message in bits

   Values:
+  `paper`   - the formula of the EF21-Muon paper
.  `encoded` - what is sent, header included
-  `entropy` - lower bound for this very message under an order-0 model

   Level: advanced

   Notes:
   The paper counts 32 bits a float and 16 bits a value in natural compression (or bf16). An index of Top-K or of a
   random entry counts `-compressor_paper_index_bits`, or the fewest bits that number the entries. A message with fewer
   items than the maximum counts its own items only. Indices of rows and columns, and the places in steps
   (`-ef21_downlink step`), count the bits that number them; a sign of a step counts one bit.

   The entropy bounds codes that treat values one by one and know their frequencies. Positions count the logarithm of
   the number of possible choices, or the bits of a seed. Natural values of single entries count the entropy of the
   exponents and one bit a sign. Natural values of full matrices, rows, columns and low-rank factors count the entropy
   of sign and exponent together. Quantized entries count their entropy. All other values, such as magnitudes, count
   their full width. A row or a column with one entry has as many possible places as entries, and two signs.

   With blocks (`MuonCompressorSetBlocks()`) all three are sums over the blocks, and `encoded` includes the header of
   the group.

.seealso: `MuonCompressorSetFromOptions()`, `MuonCompressor`
S*/
typedef struct {
  PetscLogDouble paper;
  PetscLogDouble encoded;
  PetscLogDouble entropy;
} MuonCompressorCost;

PETSC_EXTERN PetscClassId      MUONCOMPRESSOR_CLASSID;
PETSC_EXTERN PetscFunctionList MuonCompressorList;

PETSC_EXTERN PetscErrorCode MuonCompressorInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonCompressorRegister(const char[], PetscErrorCode (*)(MuonCompressor), const struct _MuonParameter *);

PETSC_EXTERN PetscErrorCode MuonCompressorCreate(MPI_Comm, MuonCompressor *);
PETSC_EXTERN PetscErrorCode MuonCompressorSetType(MuonCompressor, MuonCompressorType);
PETSC_EXTERN PetscErrorCode MuonCompressorGetType(MuonCompressor, MuonCompressorType *);
PETSC_EXTERN PetscErrorCode MuonCompressorSetOptionsPrefix(MuonCompressor, const char[]);
PETSC_EXTERN PetscErrorCode MuonCompressorSetFromOptions(MuonCompressor);
PETSC_EXTERN PetscErrorCode MuonCompressorSetUp(MuonCompressor);
PETSC_EXTERN PetscErrorCode MuonCompressorSetRatio(MuonCompressor, PetscReal);
PETSC_EXTERN PetscErrorCode MuonCompressorSetStream(MuonCompressor, PetscInt64, const char[], PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode MuonCompressorSetStep(MuonCompressor, PetscInt);
PETSC_EXTERN PetscErrorCode MuonCompressorSetBlocks(MuonCompressor, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode MuonCompressorGetMaxBytes(MuonCompressor, PetscInt, PetscInt, size_t *);
PETSC_EXTERN PetscErrorCode MuonCompressorApply(MuonCompressor, Mat, Mat, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonCompressorEncode(MuonCompressor, Mat, Mat, size_t, unsigned char[], size_t *);
PETSC_EXTERN PetscErrorCode MuonCompressorDecode(MuonCompressor, PetscBool, PetscReal, size_t, const unsigned char[], Mat);
PETSC_EXTERN PetscErrorCode MuonCompressorCommit(MuonCompressor);
PETSC_EXTERN PetscErrorCode MuonCompressorGetAlpha(MuonCompressor, PetscInt, PetscInt, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonCompressorView(MuonCompressor, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonCompressorDestroy(MuonCompressor *);
