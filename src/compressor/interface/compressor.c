#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

enum {
  NVALUES = MUON_COMPRESSOR_VALUES_NATURAL + 1
};

/*@
   MuonCompressorCreate - Creates a compressor

   Collective

   Input Parameter:
.  comm - the communicator of those who configure the compressor together; what it computes is local to each of them

   Output Parameter:
.  newc - the compressor

   Level: intermediate

   Note:
   There is one object for each layer, direction and sender.

.seealso: `MuonCompressor`, `MuonCompressorSetType()`, `MuonCompressorSetFromOptions()`, `MuonCompressorSetStream()`, `MuonCompressorEncode()`, `MuonCompressorDestroy()`
@*/
PetscErrorCode MuonCompressorCreate(MPI_Comm comm, MuonCompressor *newc)
{
  MuonCompressor c;

  PetscFunctionBegin;
  PetscAssertPointer(newc, 2);
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscHeaderCreate(c, MUONCOMPRESSOR_CLASSID, "MuonCompressor", "Compressor of matrices", "MuonCompressor", comm, MuonCompressorDestroy, MuonCompressorView));
  PetscCall(MuonObjectBegins_Private((PetscObject)c));
  c->ratio     = 0.1;
  c->rank      = PETSC_DETERMINE;
  c->bits      = 4;
  c->values    = MUON_COMPRESSOR_VALUES_SINGLE;
  c->paperbits = PETSC_DETERMINE;
  c->status    = MUON_STATUS_OK;
  PetscCall(MuonBlocksSet_Private(&c->blocks, 1, NULL, 1, NULL));
  PetscCall(MuonNameHash_Private("", &c->layerhash));
  *newc = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorSetType - Sets what a compressor keeps

   Logically Collective

   Input Parameters:
+  c    - the compressor
-  type - one of the values of `MuonCompressorType`

   Options Database Key:
.  -compressor type - the type, identity by default

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorGetType()`, `MuonCompressorRegister()`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonCompressorSetType(MuonCompressor c, MuonCompressorType type)
{
  PetscErrorCode (*create)(MuonCompressor);
  PetscBool same;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)c, type, &same));
  if (same == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonCompressorList, type, &create));
  if (create == NULL) {
    char names[512];

    PetscCall(MuonListNames_Private(MuonCompressorList, sizeof(names), names));
    MuonCompressorCheck(c, create != NULL, PETSC_ERR_ARG_UNKNOWN_TYPE, "", "unknown type %s, expected one of %s", type, names);
  }
  PetscTryTypeMethod(c, destroy);
  PetscCall(MuonSVDDestroy(&c->svd));
  PetscCall(PetscMemzero(c->ops, sizeof(struct _MuonCompressorOps)));
  c->data       = NULL;
  c->assignment = PETSC_FALSE;
  c->ondevice   = PETSC_FALSE;
  c->othernorm  = PETSC_FALSE;
  c->factors    = PETSC_FALSE;
  PetscCall((*create)(c));
  PetscCall(PetscObjectChangeTypeName((PetscObject)c, type));
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorSetDefaultType_Private(MuonCompressor c)
{
  PetscFunctionBegin;
  if (((PetscObject)c)->type_name == NULL) PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORIDENTITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDestroyData(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetType - Gets the type of a compressor

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  type - the type

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`
@*/
PetscErrorCode MuonCompressorGetType(MuonCompressor c, MuonCompressorType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  *type = ((PetscObject)c)->type_name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorSetOptionsPrefix - Sets the prefix of the keys that a compressor reads

   Logically Collective

   Input Parameters:
+  c      - the compressor
-  prefix - the prefix, without the leading hyphen

   Level: advanced

   Note:
   A compressor with the prefix `ef21_server_` reads `-ef21_server_compressor`,
   `-ef21_server_compressor_ratio` and so on.

.seealso: `MuonCompressor`, `MuonCompressorGetOptionsPrefix()`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonCompressorSetOptionsPrefix(MuonCompressor c, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)c, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetOptionsPrefix - Gets the prefix of the keys that a compressor reads

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  prefix - the prefix, `NULL` where there is none

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorSetOptionsPrefix()`
@*/
PetscErrorCode MuonCompressorGetOptionsPrefix(MuonCompressor c, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(prefix, 2);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)c, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorTypeOptions_Private(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(c, setfromoptions, PetscOptionsObject);
  if (c->svd != NULL) {
    PetscCall(MuonSVDSetOptionsPrefix(c->svd, (PetscObject)c, "compressor_"));
    PetscCall(MuonSVDSetFromOptions(c->svd));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetUp - Prepares a compressor, and refuses choices that no message could be made with

   Collective

   Input Parameter:
.  c - the compressor

   Level: intermediate

   Note:
   A `Muon` calls it for the compressors of all layers on every rank, whoever encodes. What it would refuse,
   such as `-compressor_svd_type` with a solver that there is not, is an error of the first message otherwise.

.seealso: `MuonCompressor`, `MuonCompressorSetFromOptions()`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorSetUp(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscTryTypeMethod(c, setup);
  if (c->svd != NULL) PetscCall(MuonSVDSetUp(c->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetFromOptions - Sets what the options database says of a compressor

   Collective

   Input Parameter:
.  c - the compressor

   Options Database Keys:
+  -compressor type                                       - one of the values of `MuonCompressorType`, see `MuonCompressorSetType()`
.  -compressor_ratio r                                    - the fraction that is kept, see `MuonCompressorSetRatio()`
.  -compressor_rank k                                     - the rank that is kept, see `MuonCompressorSetRank()`
.  -compressor_bits b                                     - bits of a quantized entry, see `MuonCompressorSetBits()`
.  -compressor_values (native|double|single|bf16|natural) - how kept values are written, see `MuonCompressorSetValues()`
-  -compressor_paper_index_bits bits                      - the price of an index in the paper's accounting, see `MuonCompressorSetPaperIndexBits()`

   Level: intermediate

   Notes:
   The keys stand behind the prefix of the object: `-ef21_compressor_ratio` for the prefix `ef21_`.

   Only what the database holds is changed, so that an object may read behind one prefix and then behind
   another. Keys that a type alone has, such as `-compressor_line_norm`, are those of the type at that moment:
   where a later prefix changes the type, set the first prefix once more and read again, then the second, for
   the new type to have them from both.

.seealso: `MuonCompressor`, `MuonCompressorSetOptionsPrefix()`, `MuonCompressorSetType()`
@*/
PetscErrorCode MuonCompressorSetFromOptions(MuonCompressor c)
{
  char      type[256];
  PetscReal ratio = c->ratio;
  PetscInt  rank = c->rank, bits = c->bits, paperbits = c->paperbits, values = (PetscInt)c->values;
  PetscBool set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscObjectOptionsBegin((PetscObject)c);
  PetscCall(PetscOptionsFList("-compressor", "Compressor", "MuonCompressorSetType", MuonCompressorList, ((PetscObject)c)->type_name != NULL ? ((PetscObject)c)->type_name : MUONCOMPRESSORIDENTITY, type, sizeof(type), &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetType(c, type));
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscOptionsReal("-compressor_ratio", "Fraction that is kept", "MuonCompressorSetRatio", ratio, &ratio, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetRatio(c, ratio));
  PetscCall(PetscOptionsInt("-compressor_rank", "Rank that is kept, -1: by the ratio", "MuonCompressorSetRank", rank, &rank, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetRank(c, rank));
  PetscCall(PetscOptionsInt("-compressor_bits", "Bits of a quantized entry", "MuonCompressorSetBits", bits, &bits, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetBits(c, bits));
  PetscCall(PetscOptionsEList("-compressor_values", "How kept values are written", "MuonCompressorSetValues", MuonCompressorValuesTypes, NVALUES, MuonCompressorValuesTypes[values], &values, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetValues(c, (MuonCompressorValues)values));
  PetscCall(PetscOptionsInt("-compressor_paper_index_bits", "Bits of an index in the paper's accounting, -1: the fewest that number the entries", "MuonCompressorSetPaperIndexBits", paperbits, &paperbits, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorSetPaperIndexBits(c, paperbits));
  PetscCall(MuonCompressorTypeOptions_Private(c, PetscOptionsObject));
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)c, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorTypeSetFromOptions_Private(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)c);
  PetscCall(MuonCompressorTypeOptions_Private(c, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetRatio - Sets the fraction that a compressor keeps

   Logically Collective

   Input Parameters:
+  c     - the compressor
-  ratio - the fraction, in (0, 1]

   Options Database Key:
.  -compressor_ratio r - the fraction

   Level: intermediate

   Note:
   It is the factor of `MUONCOMPRESSORDAMPING` and the probability of `MUONCOMPRESSORDROPOUT`. For the others,
   of N things max(1, floor(ratio N + 1e-9)) are kept: of the entries for `MUONCOMPRESSORTOPK` and
   `MUONCOMPRESSORRANDK`, of the columns for `MUONCOMPRESSORCOLUMNTOPK` and the rows for
   `MUONCOMPRESSORROWTOPK`, of the min(m, n) singular triples or directions for `MUONCOMPRESSORRANKK`,
   `MUONCOMPRESSORTOPSVD` and `MUONCOMPRESSORPOWERSGD` where no rank is set. The default is 0.1.

.seealso: `MuonCompressor`, `MuonCompressorGetRatio()`, `MuonCompressorSetRank()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
@*/
PetscErrorCode MuonCompressorSetRatio(MuonCompressor c, PetscReal ratio)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(c, ratio, 2);
  MuonCompressorCheck(c, ratio > 0.0 && ratio <= 1.0, PETSC_ERR_ARG_OUTOFRANGE, "_ratio", "%g, expected a number in (0, 1]", (double)ratio);
  c->ratio = ratio;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetRatio - Gets the fraction that a compressor keeps

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  ratio - the fraction

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonCompressorGetRatio(MuonCompressor c, PetscReal *ratio)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, ratio, c->ratio);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetRank - Sets the rank that a compressor keeps

   Logically Collective

   Input Parameters:
+  c    - the compressor
-  rank - the rank, at least 1, or `PETSC_DETERMINE` for what `MuonCompressorSetRatio()` says (the default)

   Options Database Key:
.  -compressor_rank k - the rank, chosen by the ratio by default

   Level: intermediate

   Note:
   A matrix with fewer rows or columns than that is kept whole.

.seealso: `MuonCompressor`, `MuonCompressorGetRank()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORTOPSVD`, `MUONCOMPRESSORPOWERSGD`
@*/
PetscErrorCode MuonCompressorSetRank(MuonCompressor c, PetscInt rank)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(c, rank, 2);
  MuonCompressorCheck(c, rank == PETSC_DETERMINE || rank >= 1, PETSC_ERR_ARG_OUTOFRANGE, "_rank", "%" PetscInt_FMT ", expected a rank of at least 1", rank);
  c->rank = rank;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetRank - Gets the rank that a compressor keeps

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  rank - the rank, `PETSC_DETERMINE` where it follows from the ratio

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorSetRank()`
@*/
PetscErrorCode MuonCompressorGetRank(MuonCompressor c, PetscInt *rank)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, rank, c->rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetBits - Sets with how many bits a compressor writes an entry that it quantizes

   Logically Collective

   Input Parameters:
+  c    - the compressor
-  bits - the bits, the sign among them, from 2 to 8

   Options Database Key:
.  -compressor_bits b - the bits

   Level: intermediate

   Note:
   The default is 4. It has a meaning for `MUONCOMPRESSORQSGD`.

.seealso: `MuonCompressor`, `MuonCompressorGetBits()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORQSGD`
@*/
PetscErrorCode MuonCompressorSetBits(MuonCompressor c, PetscInt bits)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(c, bits, 2);
  MuonCompressorCheck(c, bits >= 2 && bits <= 8, PETSC_ERR_ARG_OUTOFRANGE, "_bits", "%" PetscInt_FMT ", expected a number from 2 to 8", bits);
  c->bits = bits;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetBits - Gets with how many bits a compressor writes an entry that it quantizes

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  bits - the bits, the sign among them

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorSetBits()`
@*/
PetscErrorCode MuonCompressorGetBits(MuonCompressor c, PetscInt *bits)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, bits, c->bits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetValues - Sets how the values that a compressor sends are written

   Logically Collective

   Input Parameters:
+  c      - the compressor
-  values - one of the values of `MuonCompressorValues`

   Options Database Key:
.  -compressor_values (native|double|single|bf16|natural) - how they are written

   Level: intermediate

   Notes:
   The default is single, as the papers count. `MUONCOMPRESSORSIGN` writes its magnitude so, and
   `MUONCOMPRESSORQSGD` its scales, rounded up.

   Values that do not fit make the message fail with `MUON_STATUS_NANORINF`. A double is rounded to binary32
   before it is rounded to bf16 or to a power of two.

   It has no meaning for `MUONCOMPRESSORIDENTITY`, which is always native, nor for `MUONCOMPRESSORNATURAL`,
   `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORTRUNCATED` and `MUONCOMPRESSORBF16`, which have values of their
   own.

.seealso: `MuonCompressor`, `MuonCompressorValues`, `MuonCompressorGetValues()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
@*/
PetscErrorCode MuonCompressorSetValues(MuonCompressor c, MuonCompressorValues values)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(c, values, 2);
  MuonCompressorCheck(c, (int)values >= 0 && (int)values < NVALUES, PETSC_ERR_ARG_OUTOFRANGE, "_values", "%d, expected a MuonCompressorValues", (int)values);
  c->values = values;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetValues - Gets how the values that a compressor keeps are written

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  values - how they are written

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorValues`, `MuonCompressorSetValues()`
@*/
PetscErrorCode MuonCompressorGetValues(MuonCompressor c, MuonCompressorValues *values)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, values, c->values);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetPaperIndexBits - Sets the price of an index in the accounting of the EF21-Muon paper

   Logically Collective

   Input Parameters:
+  c    - the compressor
-  bits - how many bits an index counts, or `PETSC_DETERMINE` for the fewest that number the entries of the layer (the default)

   Options Database Key:
.  -compressor_paper_index_bits bits - the price, those of the largest layer by default

   Level: advanced

   Note:
   It changes one of the three figures of `MuonCompressorGetCost()` and nothing that is sent. The paper
   charges 26 bits for every layer, which is what its largest needs. It is the price of an entry's number, in
   messages of `MUONCOMPRESSORTOPK` and `MUONCOMPRESSORRANDK`; other types do without.

.seealso: `MuonCompressor`, `MuonCompressorGetPaperIndexBits()`, `MuonCompressorGetCost()`
@*/
PetscErrorCode MuonCompressorSetPaperIndexBits(MuonCompressor c, PetscInt bits)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(c, bits, 2);
  MuonCompressorCheck(c, bits == PETSC_DETERMINE || (bits >= 0 && bits <= 64), PETSC_ERR_ARG_OUTOFRANGE, "_paper_index_bits", "%" PetscInt_FMT ", expected a number from 0 to 64", bits);
  c->paperbits = bits;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetPaperIndexBits - Gets the price of an index in the accounting of the EF21-Muon paper

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  bits - how many bits an index counts, `PETSC_DETERMINE` where it follows from the layer

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorSetPaperIndexBits()`
@*/
PetscErrorCode MuonCompressorGetPaperIndexBits(MuonCompressor c, PetscInt *bits)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, bits, c->paperbits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCopyOptions_Private(MuonCompressor from, MuonCompressor to)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(from));
  PetscCall(MuonCompressorSetType(to, ((PetscObject)from)->type_name));
  to->ratio     = from->ratio;
  to->rank      = from->rank;
  to->bits      = from->bits;
  to->values    = from->values;
  to->paperbits = from->paperbits;
  PetscTryTypeMethod(from, copy, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorVisitState(MuonCompressor c, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(c, visitstate, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddBytes(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  *(PetscLogDouble *)visitor->ctx += (PetscLogDouble)state->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetMemory_Private(MuonCompressor c, PetscLogDouble *bytes)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  *bytes = 0;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit  = AddBytes;
  visitor.layer  = c->layer;
  visitor.holder = MUON_STATE_WORKER;
  visitor.ctx    = bytes;
  PetscCall(MuonCompressorVisitState(c, &visitor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorChoices_Private(MuonCompressor c, size_t length, char text[])
{
  size_t used;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscSNPrintf(text, length, "%s ratio %.17g rank %" PetscInt_FMT " bits %" PetscInt_FMT " values %d paper_index_bits %" PetscInt_FMT, ((PetscObject)c)->type_name, (double)c->ratio, c->rank, c->bits, (int)c->values, c->paperbits));
  PetscCall(PetscStrlen(text, &used));
  PetscTryTypeMethod(c, choices, length - used, text + used);
  PetscCall(PetscStrlen(text, &used));
  if (c->svd != NULL) PetscCall(MuonSVDChoices(c->svd, length - used, text + used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Private(MuonCompressor c, size_t length, char text[])
{
  size_t used;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscSNPrintf(text, length, "%s", ((PetscObject)c)->type_name));
  PetscCall(PetscStrlen(text, &used));
  PetscTryTypeMethod(c, describe, length - used, text + used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a type says of itself changes with the numbers that it goes by */
PetscErrorCode MuonCompressorGoesBy_Private(MuonCompressor c, const char number[], PetscBool *does)
{
  const PetscReal ratio = c->ratio;
  const PetscInt  rank = c->rank, bits = c->bits;
  char            before[256], after[256];
  PetscBool       same, is;

  PetscFunctionBegin;
  PetscCall(MuonCompressorDescribe_Private(c, sizeof(before), before));
  PetscCall(PetscStrcmp(number, "ratio", &is));
  if (is) c->ratio = ratio / 2;
  PetscCall(PetscStrcmp(number, "rank", &is));
  if (is) c->rank = rank == 1 ? 2 : 1;
  PetscCall(PetscStrcmp(number, "bits", &is));
  if (is) c->bits = bits == 2 ? 3 : 2;
  PetscCall(MuonCompressorDescribe_Private(c, sizeof(after), after));
  c->ratio = ratio;
  c->rank  = rank;
  c->bits  = bits;
  PetscCall(PetscStrcmp(before, after, &same));
  *does = PetscNot(same);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorSetStream - Sets whose messages a compressor writes or reads

   Not Collective

   Input Parameters:
+  c         - the compressor
.  seed      - the seed of the run's random numbers
.  layer     - the name of the layer
.  sender    - the rank of the sender
-  direction - 0 for the messages of a worker, 1 for those of a server

   Level: advanced

   Notes:
   The name is part of every message, as a hash: a message of another layer is refused.

   All four and the number of the step, and nothing else, choose the random numbers of
   `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORQSGD` and of natural values: Philox4x32-10 with the seed as its key
   and the counter (entry / 4, hash of the name, step, sender + 2^31 direction). The coin of
   `MUONCOMPRESSORDROPOUT` and the seed of `MUONCOMPRESSORRANDK` have the place 2^32 - 1 in it, where no entry
   is, the first basis of `MUONCOMPRESSORPOWERSGD` the step 2^32 - 1, which no step has. A receiver needs none
   of them but the name.

.seealso: `MuonCompressor`, `MuonCompressorSetStep()`, `MuonCompressorEncode()`, `MUONCOMPRESSORNATURAL`
@*/
PetscErrorCode MuonCompressorSetStream(MuonCompressor c, PetscInt64 seed, const char layer[], PetscInt sender, PetscInt direction)
{
  char *name;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(layer, 3);
  PetscCheck(sender >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Sender %" PetscInt_FMT " of layer %s, expected a rank", sender, layer);
  PetscCheck(direction == 0 || direction == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Direction %" PetscInt_FMT " of layer %s, expected 0 or 1", direction, layer);
  PetscCall(PetscStrallocpy(layer, &name));
  PetscCall(PetscFree(c->layer));
  c->layer = name;
  PetscCall(MuonNameHash_Private(layer, &c->layerhash));
  c->seed      = seed;
  c->sender    = sender;
  c->direction = direction;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetStep - Sets the number of the step, which the random numbers depend on

   Not Collective

   Input Parameters:
+  c    - the compressor
-  step - the number, from 0 and less than 2^32 - 1

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorSetStream()`
@*/
PetscErrorCode MuonCompressorSetStep(MuonCompressor c, PetscInt step)
{
  const PetscInt64 number = step;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  /* The stream has 32 bits for it, and the last number is that of no step */
  PetscCheck(number >= 0 && number < (PetscInt64)UINT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Step %" PetscInt_FMT ", expected 0 or more and less than 2^32 - 1", step);
  c->step = step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetStatus - Gets how the last `MuonCompressorEncode()` or `MuonCompressorApply()` ended

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  status - `MUON_STATUS_NANORINF` where an entry was not finite, or too large for how values are written or for the product of two factors; `MUON_STATUS_LMO` where a decomposition failed; else `MUON_STATUS_OK`

   Level: intermediate

.seealso: `MuonCompressor`, `MuonStatus`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorGetStatus(MuonCompressor c, MuonStatus *status)
{
  PetscFunctionBegin;
  MuonGet(c, MUONCOMPRESSOR_CLASSID, status, c->status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scratch memory to be shared with others; a compressor that was given none makes its own */
PetscErrorCode MuonCompressorSetWorkspace(MuonCompressor c, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&c->work));
  c->work = work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetWorkspace(MuonCompressor c, MuonWorkspace *work)
{
  PetscFunctionBegin;
  if (c->work == NULL) PetscCall(MuonWorkspaceCreate(&c->work));
  *work = c->work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorView - Shows a compressor

   Collective

   Input Parameters:
+  c      - the compressor
-  viewer - the viewer, `NULL` for standard output

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonCompressorView(MuonCompressor c, PetscViewer viewer)
{
  PetscBool ascii, string;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)c), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(MuonViewerCheck((PetscObject)c, viewer));
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  if (ascii == PETSC_TRUE) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)c, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (c->layer != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "layer: %s, sender: %s %" PetscInt_FMT "\n", c->layer, c->direction == 0 ? "worker" : "server", c->sender));
    if (MuonBlocksCount_Private(&c->blocks) > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "blocks: %" PetscInt_FMT " x %" PetscInt_FMT "\n", c->blocks.nrows, c->blocks.ncolumns));
    PetscTryTypeMethod(c, view, viewer);
    if (c->svd != NULL) PetscCall(MuonSVDView(c->svd, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string == PETSC_TRUE) PetscCall(PetscViewerStringSPrintf(viewer, " %-7.7s", ((PetscObject)c)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorReset - Drops a compressor's scratch memory and state, keeping what was chosen

   Collective

   Input Parameter:
.  c - the compressor

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorDestroy()`
@*/
PetscErrorCode MuonCompressorReset(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscTryTypeMethod(c, reset);
  PetscCall(MuonWorkspaceDestroy(&c->work));
  c->status = MUON_STATUS_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorDestroy - Frees a compressor

   Collective

   Input Parameter:
.  c - the compressor

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorCreate()`, `MuonCompressorReset()`
@*/
PetscErrorCode MuonCompressorDestroy(MuonCompressor *c)
{
  PetscFunctionBegin;
  if (*c == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*c, MUONCOMPRESSOR_CLASSID, 1);
  if (--((PetscObject)*c)->refct > 0) {
    *c = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorReset(*c));
  PetscTryTypeMethod(*c, destroy);
  PetscCall(MuonSVDDestroy(&(*c)->svd));
  PetscCall(PetscFree((*c)->layer));
  PetscCall(MuonBlocksDestroy_Private(&(*c)->blocks));
  PetscCall(MuonObjectEnds_Private((PetscObject)*c));
  PetscCall(PetscHeaderDestroy(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
