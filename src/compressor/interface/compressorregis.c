#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

PetscClassId      MUONCOMPRESSOR_CLASSID          = 0;
PetscFunctionList MuonCompressorList              = NULL;
PetscBool         MuonCompressorRegisterAllCalled = PETSC_FALSE;
PetscLogEvent     MUON_Compress;

const char *const MuonCompressorValuesTypes[] = {"native", "double", "single", "bf16", "natural", "MuonCompressorValues", "MUON_COMPRESSOR_VALUES_", NULL};
const char *const MuonCompressorBlockNorms[]  = {"max", "l2", "MuonCompressorBlockNorm", "MUON_COMPRESSOR_BLOCK_NORM_", NULL};

PetscBool  MuonCitationEF21Set    = PETSC_FALSE;
const char MuonCitationEF21[]     = "@misc{GruntkowskaGaponovTovmasyanRichtarik2025,\n"
                                    "  title  = {Error Feedback for Muon and Friends},\n"
                                    "  author = {Kaja Gruntkowska and Alexander Gaponov and Zhirayr Tovmasyan and Peter Richtarik},\n"
                                    "  year   = {2025},\n"
                                    "  eprint = {2510.00643},\n"
                                    "  archivePrefix = {arXiv}\n}\n";
PetscBool  MuonCitationNaturalSet = PETSC_FALSE;
const char MuonCitationNatural[]  = "@misc{HorvathHoHorvathSahuCaniniRichtarik2019,\n"
                                    "  title  = {Natural Compression for Distributed Deep Learning},\n"
                                    "  author = {Samuel Horvath and Chen-Yu Ho and Ludovit Horvath and Atal Narayan Sahu and Marco Canini and Peter Richtarik},\n"
                                    "  year   = {2019},\n"
                                    "  eprint = {1905.10988},\n"
                                    "  archivePrefix = {arXiv}\n}\n";

PetscBool  MuonCitationPowerSGDSet = PETSC_FALSE;
const char MuonCitationPowerSGD[]  = "@inproceedings{VogelsKarimireddyJaggi2019,\n"
                                     "  title  = {PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization},\n"
                                     "  author = {Thijs Vogels and Sai Praneeth Karimireddy and Martin Jaggi},\n"
                                     "  booktitle = {Advances in Neural Information Processing Systems},\n"
                                     "  year   = {2019},\n"
                                     "  eprint = {1905.13727},\n"
                                     "  archivePrefix = {arXiv}\n}\n";

static PetscBool MuonCompressorPackageInitialized = PETSC_FALSE;

PETSC_INTERN PetscErrorCode MuonCompressorCreate_Identity(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Natural(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Nearest(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Truncated(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_BF16(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Damping(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Dropout(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_TopK(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RandK(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_ColumnTopK(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RowTopK(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RankK(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_TopSVD(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_PowerSGD(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Sign(MuonCompressor);
PETSC_INTERN PetscErrorCode MuonCompressorCreate_QSGD(MuonCompressor);

/*@C
   MuonCompressorRegister - Adds a type of compressor

   Not Collective; No Fortran Support

   Input Parameters:
+  name     - the name of the new type
-  function - creates the type's part of an object

   Level: advanced

   Note:
   `MuonCompressorRegister()` may be called any number of times. The new type is selected with
   `MuonCompressorSetType()` or `-compressor name`.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorRegisterAll()`, `MuonCompressorSetType()`
@*/
PetscErrorCode MuonCompressorRegister(const char name[], PetscErrorCode (*function)(MuonCompressor))
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonCompressorList, name, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorRegisterAll - Adds the types of compressors that the library brings

   Not Collective

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorRegister()`, `MuonCompressorInitializePackage()`
@*/
PetscErrorCode MuonCompressorRegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonCompressorRegisterAllCalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCompressorRegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORIDENTITY, MuonCompressorCreate_Identity));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORNATURAL, MuonCompressorCreate_Natural));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORNEAREST, MuonCompressorCreate_Nearest));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORTRUNCATED, MuonCompressorCreate_Truncated));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORBF16, MuonCompressorCreate_BF16));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORDAMPING, MuonCompressorCreate_Damping));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORDROPOUT, MuonCompressorCreate_Dropout));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORTOPK, MuonCompressorCreate_TopK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORRANDK, MuonCompressorCreate_RandK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORCOLUMNTOPK, MuonCompressorCreate_ColumnTopK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORROWTOPK, MuonCompressorCreate_RowTopK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORRANKK, MuonCompressorCreate_RankK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORTOPSVD, MuonCompressorCreate_TopSVD));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORPOWERSGD, MuonCompressorCreate_PowerSGD));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORSIGN, MuonCompressorCreate_Sign));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORQSGD, MuonCompressorCreate_QSGD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorFinalizePackage - Frees what `MuonCompressorInitializePackage()` made

   Not Collective

   Level: developer

   Note:
   `PetscFinalize()` calls it.

.seealso: `MuonCompressor`, `MuonCompressorInitializePackage()`
@*/
PetscErrorCode MuonCompressorFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonCompressorList));
  MuonCompressorPackageInitialized = PETSC_FALSE;
  MuonCompressorRegisterAllCalled  = PETSC_FALSE;
  MuonCitationEF21Set              = PETSC_FALSE;
  MuonCitationNaturalSet           = PETSC_FALSE;
  MuonCitationPowerSGDSet          = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorInitializePackage - Registers the class `MuonCompressor`, its types and its log event

   Not Collective

   Level: developer

   Note:
   `MuonCompressorCreate()` calls it.

.seealso: `MuonCompressor`, `MuonCompressorFinalizePackage()`, `MuonCompressorRegisterAll()`
@*/
PetscErrorCode MuonCompressorInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonCompressorPackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCompressorPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonCompressor", &MUONCOMPRESSOR_CLASSID));
  PetscCall(MuonRegisterKeyFamily("compressor"));
  PetscCall(MuonCompressorRegisterAll());
  PetscCall(PetscLogEventRegister("MuonCompress", MUONCOMPRESSOR_CLASSID, &MUON_Compress));
  PetscCall(MuonPackageRegister_Private("muoncompressor", MUONCOMPRESSOR_CLASSID, MuonCompressorFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}
