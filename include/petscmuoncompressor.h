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
   MuonCompressor - Compresses the matrices of one layer that one sender sends in one direction

   Level: intermediate

.seealso: `MuonCompressorCreate()`, `MuonCompressorSetType()`, `MuonCompressorType`, `MuonCompressorEncode()`, `MuonCompressorDecode()`
S*/
typedef struct _p_MuonCompressor *MuonCompressor;

/*J
   MuonCompressorType - String with the name of a compressor

   Values:
+  `MUONCOMPRESSORIDENTITY`   - sends everything
.  `MUONCOMPRESSORNATURAL`    - rounds every entry to a power of two, at random and without bias
.  `MUONCOMPRESSORNEAREST`    - rounds every entry to the nearest power of two
.  `MUONCOMPRESSORTRUNCATED`  - drops the mantissa of every entry
.  `MUONCOMPRESSORBF16`       - rounds every entry to bfloat16
.  `MUONCOMPRESSORDAMPING`    - a multiple of everything
.  `MUONCOMPRESSORDROPOUT`    - everything with some probability, else nothing
.  `MUONCOMPRESSORSIGN`       - the signs, and one magnitude for all
.  `MUONCOMPRESSORQSGD`       - rounds every entry to one of a few levels of a scale, at random and without bias
.  `MUONCOMPRESSORTOPK`       - the entries of largest absolute value
.  `MUONCOMPRESSORRANDK`      - entries chosen at random
.  `MUONCOMPRESSORCOLUMNTOPK` - the columns of largest norm
.  `MUONCOMPRESSORROWTOPK`    - the rows of largest norm
.  `MUONCOMPRESSORRANKK`      - the leading singular triples
.  `MUONCOMPRESSORTOPSVD`     - the same, as triples with their singular values
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
-  `MUON_COMPRESSOR_VALUES_2BIT`    - a sign and one of two magnitudes that 64 kept entries share, 2.5 bits; of `MUONCOMPRESSORTOPK` alone

   Level: intermediate

   Notes:
   `-compressor_values` chooses them; the default is single, as the papers count. `MUONCOMPRESSORSIGN` writes
   its magnitude so, and `MUONCOMPRESSORQSGD` its scales, rounded up. Values that do not fit make the message
   fail with `MUON_STATUS_NANORINF`. A double is rounded to binary32 before it is rounded to bf16 or to a power
   of two.

   `MUONCOMPRESSORIDENTITY` writes native values, and single ones where that was asked for. The values of
   `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORTRUNCATED` and `MUONCOMPRESSORBF16` are
   those of the type.

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
   MuonCompressorBlockNorm - The norm of a block of entries that `MUONCOMPRESSORQSGD` takes for its scale

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
   MuonCompressorCost - What one message costs, in bits

   Values:
+  `paper`   - the formula of the EF21-Muon paper
.  `encoded` - what is sent, header included
-  `entropy` - lower bound for this very message under an order-0 model

   Level: advanced

   Notes:
   The paper counts 32 bits a float, 16 bits a value in natural compression (or bf16), and for an index of
   Top-K or of a random entry what `-compressor_paper_index_bits` says, or the fewest bits that number the entries;
   of a message with fewer things than the maximum only those that are there count. Numbers of rows and columns,
   and the places and signs of steps (`-ef21_downlink step`), count the bits that number them, and one.

   The entropy is the bound of codes that treat the values one by one and know how often each occurs: the
   logarithm of the number of possible positions, or the bits of a seed; the entropy of the exponents and one
   bit a sign for natural values of entries that are kept one by one, the entropy of sign and exponent for
   those of full matrices, rows and columns and for each factor of a low-rank message; the entropy of
   quantized entries; and the full width of all other values, magnitudes in particular. A row or a column with
   one entry has as many possible places as it has entries, and two signs.

   With blocks (`MuonCompressorSetBlocks()`) all are sums over these, and what is sent has the header of the
   group besides.

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
PETSC_EXTERN PetscErrorCode MuonCompressorApply(MuonCompressor, Mat, Mat);
PETSC_EXTERN PetscErrorCode MuonCompressorEncode(MuonCompressor, Mat, Mat, size_t, unsigned char[], size_t *);
PETSC_EXTERN PetscErrorCode MuonCompressorValidate(MuonCompressor, PetscInt, PetscInt, size_t, const unsigned char[], PetscBool *);
PETSC_EXTERN PetscErrorCode MuonCompressorDecode(MuonCompressor, PetscBool, PetscReal, size_t, const unsigned char[], Mat);
PETSC_EXTERN PetscErrorCode MuonCompressorCommit(MuonCompressor);
PETSC_EXTERN PetscErrorCode MuonCompressorGetStatus(MuonCompressor, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonCompressorGetAlpha(MuonCompressor, PetscInt, PetscInt, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonCompressorView(MuonCompressor, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonCompressorDestroy(MuonCompressor *);
