/*
   Polar factors of matrices.
*/
#pragma once

#include <petscmat.h>
#include <petscmuonsys.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonPolar */

/*S
   MuonPolar - Method for the orthogonal polar factor of a matrix, exact or approximate

   Level: intermediate

.seealso: `MuonPolarCreate()`, `MuonPolarSetType()`, `MuonPolarType`, `MuonLMO`
S*/
typedef struct _p_MuonPolar *MuonPolar;

/*J
   MuonPolarType - String with the name of a method for the polar factor

   Values:
+  `MUONPOLARSVD`          - singular value decomposition by SLEPc, exact
.  `MUONPOLARNEWTONSCHULZ` - polynomial iteration that needs matrix products only
.  `MUONPOLARGRAM`         - the same iteration on the Gram matrix of the shorter side
.  `MUONPOLARQDWH`         - Halley's iteration with dynamic weights, to working accuracy
.  `MUONPOLARZOLOTAREV`    - best rational approximation, from a few inverses of the Gram matrix
-  `MUONPOLARMUD`          - nearly orthonormal rows by a triangular solve; the result may leave the unit ball

   Level: intermediate

.seealso: `MuonPolarSetType()`, `MuonPolar`, `MuonPolarRegister()`
J*/
typedef const char *MuonPolarType;
#define MUONPOLARSVD          "svd"
#define MUONPOLARNEWTONSCHULZ "newtonschulz"
#define MUONPOLARGRAM         "gram"
#define MUONPOLARQDWH         "qdwh"
#define MUONPOLARZOLOTAREV    "zolotarev"
#define MUONPOLARMUD          "mud"

/*J
   MuonPolarCoefficients - String with the name of the polynomials of an iterative method

   Values:
+  `MUONPOLARCOEFFICIENTSKJ`           - K. Jordan's quintic of the original Muon, 5 steps; fast, with singular values between 0.68 and 1.20
.  `MUONPOLARCOEFFICIENTSQUINTIC`      - the Newton-Schulz quintic, 10 steps; converges
.  `MUONPOLARCOEFFICIENTSCUBIC`        - the Newton-Schulz cubic, 15 steps; converges
.  `MUONPOLARCOEFFICIENTSYOU`          - J. You's five quintics, used by Motif and Dion
.  `MUONPOLARCOEFFICIENTSPOLAREXPRESS` - the listing of the Polar Express paper, 5 steps; converges with 8. All rows but the last divide by 1.01, and the matrix by 1.01 x its norm
.  `MUONPOLARCOEFFICIENTSPE105`        - the first five rows of that listing, all divided by 1.05, as in the programs of Dao's group and DMuon
.  `MUONPOLARCOEFFICIENTSMODDED`       - Polar Express of modded-nanogpt and nanochat, 5 steps; the matrix is divided by 1.02 times its norm
.  `MUONPOLARCOEFFICIENTSEMERGING`     - Polar Express of NVIDIA's Emerging-Optimizers and Megatron, with 1.01 included, rounded to four digits, 5 steps
.  `MUONPOLARCOEFFICIENTSCANS`         - CANS, Chebyshev polynomials on intervals that adapt, 5 steps
.  `MUONPOLARCOEFFICIENTSAOL`          - the four quintics of flash-newton-schulz, after its rescaling of the rows; see the warning in `MUONPOLARNEWTONSCHULZ`
.  `MUONPOLARCOEFFICIENTSDEEPSEEKV4`   - eight steps of `kj` and two that converge to one
-  `MUONPOLARCOEFFICIENTSCUBIC5`       - the five cubics of Emerging-Optimizers

   Level: intermediate

   Note:
   These numbers of steps are the defaults of `-lmo_polar_steps`. After the last polynomial of a set, `you`, `aol` and
   `cubic5` begin again, and the others repeat the last one.

.seealso: `MuonPolarSetCoefficientValues()`, `MuonPolar`, `MUONPOLARNEWTONSCHULZ`
J*/
typedef const char *MuonPolarCoefficients;
#define MUONPOLARCOEFFICIENTSKJ           "kj"
#define MUONPOLARCOEFFICIENTSQUINTIC      "quintic"
#define MUONPOLARCOEFFICIENTSCUBIC        "cubic"
#define MUONPOLARCOEFFICIENTSYOU          "you"
#define MUONPOLARCOEFFICIENTSPOLAREXPRESS "polarexpress"
#define MUONPOLARCOEFFICIENTSPE105        "pe105"
#define MUONPOLARCOEFFICIENTSMODDED       "modded"
#define MUONPOLARCOEFFICIENTSEMERGING     "emerging"
#define MUONPOLARCOEFFICIENTSCANS         "cans"
#define MUONPOLARCOEFFICIENTSAOL          "aol"
#define MUONPOLARCOEFFICIENTSDEEPSEEKV4   "deepseekv4"
#define MUONPOLARCOEFFICIENTSCUBIC5       "cubic5"

/*E
   MuonPolarPrecision - Precision in which a method computes, for any `PetscScalar`

   Values:
+  `MUON_POLAR_PRECISION_DETERMINE` - the method's default; for setting only
.  `MUON_POLAR_PRECISION_SINGLE`    - binary32
.  `MUON_POLAR_PRECISION_DOUBLE`    - binary64
.  `MUON_POLAR_PRECISION_BF16`      - products of bfloat16 matrices, accumulated in binary32; on the host where the library was built with oneDNN
-  `MUON_POLAR_PRECISION_TF32`      - products of matrices of 11 significant bits, accumulated in binary32; in device memory only

   Level: intermediate

.seealso: `MuonPolarSetFromOptions()`, `MuonPolar`
E*/
typedef enum {
  MUON_POLAR_PRECISION_DETERMINE = -1,
  MUON_POLAR_PRECISION_SINGLE    = 0,
  MUON_POLAR_PRECISION_DOUBLE,
  MUON_POLAR_PRECISION_BF16,
  MUON_POLAR_PRECISION_TF32
} MuonPolarPrecision;
PETSC_EXTERN const char *const MuonPolarPrecisions[];

/*E
   MuonPolarNormalization - Norm by which an iterative method divides the matrix before its first step

   Values:
+  `MUON_POLAR_NORMALIZATION_FROBENIUS` - the Frobenius norm, a safe bound of the largest singular value
-  `MUON_POLAR_NORMALIZATION_SPECTRAL`  - an estimate of the largest singular value by power iterations, with a guard against too small estimates

   Level: intermediate

.seealso: `MUONPOLARNEWTONSCHULZ`, `MuonPolarSetFromOptions()`, `MuonPolar`
E*/
typedef enum {
  MUON_POLAR_NORMALIZATION_FROBENIUS,
  MUON_POLAR_NORMALIZATION_SPECTRAL
} MuonPolarNormalization;
PETSC_EXTERN const char *const MuonPolarNormalizations[];

/*S
   MuonPolarQuality - Accuracy of a polar factor $Q$ of $G$

   Values:
+  `smallest`      - smallest singular value of $Q$
.  `largest`       - the largest one
.  `orthogonality` - $\|Q Q^T - I\|_F / \sqrt{s}$ on the short side $s$
-  `alignment`     - $\langle G, Q \rangle$ over the nuclear norm of $G$, 1 for the exact factor

   Level: intermediate

.seealso: `MuonPolarComputeQuality()`, `MuonPolar`
S*/
typedef struct {
  PetscReal smallest, largest, orthogonality, alignment;
} MuonPolarQuality;

PETSC_EXTERN PetscClassId      MUONPOLAR_CLASSID;
PETSC_EXTERN PetscFunctionList MuonPolarList;

PETSC_EXTERN PetscErrorCode MuonPolarInitializePackage(void);
struct _MuonParameter; /* a row of a table of parameters: petscmuon/private/muonparameter.h */
PETSC_EXTERN PetscErrorCode MuonPolarRegister(const char[], PetscErrorCode (*)(MuonPolar), const struct _MuonParameter *);

PETSC_EXTERN PetscErrorCode MuonPolarCreate(MPI_Comm, MuonPolar *);
PETSC_EXTERN PetscErrorCode MuonPolarSetType(MuonPolar, MuonPolarType);
PETSC_EXTERN PetscErrorCode MuonPolarGetType(MuonPolar, MuonPolarType *);
PETSC_EXTERN PetscErrorCode MuonPolarSetOptionsPrefix(MuonPolar, const char[]);
PETSC_EXTERN PetscErrorCode MuonPolarSetFromOptions(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarSetCoefficientValues(MuonPolar, PetscInt, const PetscReal[]);
PETSC_EXTERN PetscErrorCode MuonPolarSetUp(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarApply(MuonPolar, Mat, Mat, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonPolarApplyMany(MuonPolar, PetscInt, const Mat[], Mat[], MuonStatus[]);
PETSC_EXTERN PetscErrorCode MuonPolarGetFlops(MuonPolar, PetscInt, PetscInt, PetscLogDouble *);
PETSC_EXTERN PetscErrorCode MuonPolarComputeQuality(MuonPolar, Mat, Mat, MuonPolarQuality *);
PETSC_EXTERN PetscErrorCode MuonPolarView(MuonPolar, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonPolarReset(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarDestroy(MuonPolar *);
