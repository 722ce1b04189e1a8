#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

PetscClassId      MUONCOMPRESSOR_CLASSID;
PetscFunctionList MuonCompressorList = NULL;
PetscLogEvent     MUON_Compress, MUON_Decompress;

const char *const MuonCompressorValuesTypes[] = {"native", "double", "single", "bf16", "natural", "2bit", "MuonCompressorValues", "MUON_COMPRESSOR_VALUES_", NULL};
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

PetscBool  MuonCitationRangeSet = PETSC_FALSE;
const char MuonCitationRange[]  = "@article{HalkoMartinssonTropp2011,\n"
                                  "  title   = {Finding Structure with Randomness: Probabilistic Algorithms for Constructing Approximate Matrix Decompositions},\n"
                                  "  author  = {Nathan Halko and Per-Gunnar Martinsson and Joel A. Tropp},\n"
                                  "  journal = {SIAM Review},\n"
                                  "  volume  = {53},\n"
                                  "  pages   = {217--288},\n"
                                  "  year    = {2011}\n}\n";

#define AT(member) offsetof(struct _p_MuonCompressor, member)
static const MuonParameter MuonCompressorParameters[] = {
  {"ratio", MUON_PARAMETER_REAL, AT(ratio), 0.1, 0, 1, NULL, MUON_PARAMETER_ABOVE, "Fraction that is kept"},
  {"rank", MUON_PARAMETER_INT, AT(rank), PETSC_DETERMINE, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO, "Rank that is kept, -1: by the ratio"},
  {"bits", MUON_PARAMETER_INT, AT(bits), 4, 2, 8, NULL, 0, "Bits of a quantized entry"},
  {"values", MUON_PARAMETER_ENUM, AT(values), PETSC_DETERMINE, 0, 0, MuonCompressorValuesTypes, MUON_PARAMETER_AUTO, "How values are written; by default single, and native in uncompressed messages"},
  {"paper_index_bits", MUON_PARAMETER_INT, AT(paperbits), PETSC_DETERMINE, 0, 64, NULL, MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Bits of an index in the paper's accounting, -1: the fewest that number the entries"},
  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};
#undef AT

/* The set-up chooses the format of uncompressed messages by the values of the object, or of an object with it as parent */
static PetscBool MuonCompressorKeepsValues_Private(MuonCompressor c)
{
  PetscBool keeps = c->assignment && c->parameters.fixed ? PETSC_TRUE : PETSC_FALSE;

  for (PetscObject child = c->parameters.child; child != NULL && !keeps; child = MuonParametersOf(child)->next) {
    if (!MuonParametersIsSet(child, "values")) keeps = MuonCompressorKeepsValues_Private((MuonCompressor)child);
  }
  return keeps;
}

static PetscErrorCode MuonCompressorChanging_Private(PetscObject object, const MuonParameter *row, double value)
{
  MuonCompressor c       = (MuonCompressor)object;
  PetscBool      refused = row->names == MuonCompressorValuesTypes && value != (double)(int)c->values ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (refused) refused = MuonCompressorKeepsValues_Private(c);
  MuonCompressorCheck(c, !refused, PETSC_ERR_ORDER, "_values", "%s has those of MuonSetUp(), call MuonReset() before", object->type_name);
  PetscTryTypeMethod(c, changing, row, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorRegister - Adds a type to the `MuonCompressor` package

   Not Collective; No Fortran Support

   Input Parameters:
+  name     - the name of the new type
.  function - routine that sets the type's operations of an object
-  rows     - the parameters of the type, ended by a row without a key, or `NULL`; the array is not copied

   Level: advanced

   Notes:
   `MuonCompressorSetType()` or `-compressor name` selects the new type.

   Rows are described in `petscmuon/private/muonparameter.h`.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`
@*/
PetscErrorCode MuonCompressorRegister(const char name[], PetscErrorCode (*function)(MuonCompressor), const struct _MuonParameter *rows)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonCompressorList, name, function));
  PetscCall(MuonParametersRegisterType(MUONCOMPRESSOR_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonCompressorFinalize_Private(void)
{
  MuonCitationEF21Set = MuonCitationNaturalSet = MuonCitationPowerSGDSet = MuonCitationRangeSet = PETSC_FALSE;
}

/*@C
   MuonCompressorInitializePackage - Registers the class `MuonCompressor`, its types and its log event

   Not Collective

   Level: developer

   Note:
   `MuonCompressorCreate()` calls it.

.seealso: `MuonCompressor`, `MuonCompressorRegister()`
@*/
PetscErrorCode MuonCompressorInitializePackage(void)
{
  MuonParameterClass what = {0};

  PetscFunctionBegin;
  if (MUONCOMPRESSOR_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  what.family         = "compressor_";
  what.type           = "compressor";
  what.svd            = offsetof(struct _p_MuonCompressor, svd);
  what.rows           = MuonCompressorParameters;
  what.at             = offsetof(struct _p_MuonCompressor, parameters);
  what.data           = offsetof(struct _p_MuonCompressor, data);
  what.setfromoptions = (PetscErrorCode(*)(PetscObject))MuonCompressorSetFromOptions;
  what.changing       = MuonCompressorChanging_Private;
  what.create         = (PetscErrorCode(*)(MPI_Comm, PetscObject *))MuonCompressorCreate;
  what.list           = &MuonCompressorList;
  what.traits         = offsetof(struct _p_MuonCompressor, keys);
  what.behind         = offsetof(struct _p_MuonCompressor, svd);
  what.finalize       = MuonCompressorFinalize_Private;
  PetscCall(MuonParametersRegisterClass("MuonCompressor", &MUONCOMPRESSOR_CLASSID, &what));
  PetscCall(MuonCompressorRegister_Dense());
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORTOPK, MuonCompressorCreate_Sparse, MuonCompressorParameters_TopK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORRANDK, MuonCompressorCreate_Sparse, NULL));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORCOLUMNTOPK, MuonCompressorCreate_RowColumn, MuonCompressorParameters_RowColumn));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORROWTOPK, MuonCompressorCreate_RowColumn, MuonCompressorParameters_RowColumn));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORRANKK, MuonCompressorCreate_SVD, MuonCompressorParameters_RankK));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORTOPSVD, MuonCompressorCreate_SVD, MuonCompressorParameters_TopSVD));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORPOWERSGD, MuonCompressorCreate_PowerSGD, MuonCompressorParameters_PowerSGD));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORSIGN, MuonCompressorCreate_Sign, NULL));
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORQSGD, MuonCompressorCreate_QSGD, MuonCompressorParameters_QSGD));
  PetscCall(PetscLogEventRegister("MuonCompress", MUONCOMPRESSOR_CLASSID, &MUON_Compress));
  PetscCall(PetscLogEventRegister("MuonDecompress", MUONCOMPRESSOR_CLASSID, &MUON_Decompress));
  PetscCall(MuonPackageRegister_Private("muoncompressor", MUONCOMPRESSOR_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
