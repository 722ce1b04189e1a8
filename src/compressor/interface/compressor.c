#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

/*@
   MuonCompressorCreate - Creates a compressor

   Collective

   Input Parameter:
.  comm - the communicator of the ranks that configure the compressor together; its computations are local to each rank

   Output Parameter:
.  newc - the compressor

   Level: intermediate

   Note:
   Use one object for each layer, direction and sender.

.seealso: `MuonCompressor`, `MuonCompressorSetType()`, `MuonCompressorSetFromOptions()`, `MuonCompressorSetStream()`, `MuonCompressorEncode()`, `MuonCompressorDestroy()`
@*/
PetscErrorCode MuonCompressorCreate(MPI_Comm comm, MuonCompressor *newc)
{
  MuonCompressor c;

  PetscFunctionBegin;
  PetscAssertPointer(newc, 2);
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscHeaderCreate(c, MUONCOMPRESSOR_CLASSID, "MuonCompressor", "Compressor of matrices", "MuonCompressor", comm, MuonCompressorDestroy, MuonCompressorView));
  PetscCall(MuonParametersCreate((PetscObject)c));
  PetscCall(MuonBlocksSet_Private(&c->blocks, 1, NULL, 1, NULL));
  PetscCall(MuonNameHash_Private("", &c->layerhash));
  *newc = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorSetType - Sets the type of a compressor

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
  MuonParameterTypeFn *create;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonParametersFindType((PetscObject)c, type, &create));
  if (create == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCompressorCheck(c, c->parameters.fixed == PETSC_FALSE, PETSC_ERR_ORDER, "", "%s, which was %s at MuonSetUp(); call MuonReset() before its type is changed, or change that of a layer before", type, ((PetscObject)c)->type_name);
  PetscTryTypeMethod(c, reset);
  PetscCall(MuonParametersChangeType((PetscObject)c, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorSetDefaultType_Private(MuonCompressor c)
{
  PetscFunctionBegin;
  if (((PetscObject)c)->type_name == NULL) PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORIDENTITY));
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
   MuonCompressorSetOptionsPrefix - Sets the prefix of the option keys of a compressor

   Logically Collective

   Input Parameters:
+  c      - the compressor
-  prefix - the prefix, without the leading hyphen

   Level: advanced

   Note:
   A compressor with the prefix `ef21_server_` reads `-ef21_server_compressor`,
   `-ef21_server_compressor_ratio` and so on.

.seealso: `MuonCompressor`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonCompressorSetOptionsPrefix(MuonCompressor c, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)c, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetUp - Checks the parameters of a compressor

   Collective

   Input Parameter:
.  c - the compressor

   Level: intermediate

   Note:
   A `Muon` calls it for the compressors of all layers on every rank. Without this call a wrong parameter, such as an
   unknown solver of `-compressor_svd_type`, is an error at the first message.

.seealso: `MuonCompressor`, `MuonCompressorSetFromOptions()`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorSetUp(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  if (c->svd != NULL) PetscCall(MuonSVDSetUp(c->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetFromOptions - Sets the type and the parameters of a compressor from the options database

   Collective

   Input Parameter:
.  c - the compressor

   Options Database Keys:
+  -compressor type                                            - one of the values of `MuonCompressorType`, see `MuonCompressorSetType()`
.  -compressor_ratio r                                         - the fraction that is kept, see `MuonCompressorSetRatio()`
.  -compressor_rank k                                          - the rank that is kept, by the ratio by default; a smaller matrix is sent in full
.  -compressor_bits b                                          - bits of an entry of `MUONCOMPRESSORQSGD`, the sign among them, 2 to 8
.  -compressor_values (native|double|single|bf16|natural|2bit) - format of the values, see `MuonCompressorValues`
-  -compressor_paper_index_bits bits                           - bits of an index in the paper's accounting, see `MuonCompressorCost`

   Level: intermediate

   Notes:
   The keys follow the prefix of the object: `-ef21_compressor_ratio` for the prefix `ef21_`.
   `MuonObjectSetParameter()` sets the same parameters from a program.

   Only parameters with keys in the database change, so that an object may read one prefix after another. Keys of a
   type, such as `-compressor_line_norm`, are read for the type at that moment. If a later prefix changes the type,
   read both prefixes once more.

.seealso: `MuonCompressor`, `MuonCompressorSetOptionsPrefix()`, `MuonCompressorSetType()`, `MuonObjectSetParameter()`
@*/
PetscErrorCode MuonCompressorSetFromOptions(MuonCompressor c)
{
  char      type[256];
  PetscBool set = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(MuonParametersHelpOnce((PetscObject)c));
  PetscObjectOptionsBegin((PetscObject)c);
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  if (!c->parameters.known) PetscCall(PetscOptionsFList("-compressor", "Compressor", "MuonCompressorSetType", MuonCompressorList, ((PetscObject)c)->type_name, type, sizeof(type), &set));
  if (set) PetscCall(MuonCompressorSetType(c, type));
  PetscCall(MuonParametersSetFromOptions((PetscObject)c, PetscOptionsObject));
  if (c->svd != NULL) PetscCall(MuonSVDSetFromOptions(c->svd, (PetscObject)c, "compressor_"));
  if (!c->parameters.known) PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)c, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The keys that have a meaning for the type. If a rank is set, ratio has none */
static PetscErrorCode MuonCompressorGoesBy_Private(MuonCompressor c, const char key[], PetscBool *does)
{
  PetscBool ratio, rank;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscStrInList(key, c->keys != NULL ? c->keys : "", ' ', does));
  PetscCall(PetscStrInList("rank", c->keys != NULL ? c->keys : "", ' ', &rank));
  PetscCall(PetscStrcmp(key, "ratio", &ratio));
  if (ratio && rank && c->rank != PETSC_DETERMINE) *does = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Private(MuonCompressor c, size_t length, char text[])
{
  char key[64], value[64], word[160];

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscStrncpy(text, ((PetscObject)c)->type_name, length));
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = c->parameters.rows[k]; row != NULL && row->key != NULL; row++) {
      PetscBool shown = MuonParametersIsGiven((PetscObject)c, row->key);

      if (k == 0) PetscCall(MuonCompressorGoesBy_Private(c, row->key, &shown));
      if (!shown || (row->at == offsetof(struct _p_MuonCompressor, rank) && c->rank == PETSC_DETERMINE)) continue;
      PetscCall(PetscSNPrintf(key, sizeof(key), "compressor_%s", row->key));
      PetscCall(MuonObjectGetParameter((PetscObject)c, key, value, sizeof(value)));
      if (row->names == MuonCompressorValuesTypes) PetscCall(PetscSNPrintf(word, sizeof(word), " %s", MuonCompressorValuesTypes[MuonCompressorValuesOf(c)]));
      else PetscCall(PetscSNPrintf(word, sizeof(word), " %s %s", row->key, value));
      PetscCall(PetscStrlcat(text, word, length));
    }
  }
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
   The ratio is the factor of `MUONCOMPRESSORDAMPING` and the probability of `MUONCOMPRESSORDROPOUT`. The
   other types keep max(1, floor(ratio N + 1e-9)) of N items. The items are the entries for
   `MUONCOMPRESSORTOPK` and `MUONCOMPRESSORRANDK`, the columns for `MUONCOMPRESSORCOLUMNTOPK`, and the rows
   for `MUONCOMPRESSORROWTOPK`. They are the min(m, n) singular triples or directions for
   `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORTOPSVD` and `MUONCOMPRESSORPOWERSGD` if no rank is set. The default
   is 0.1.

.seealso: `MuonCompressor`, `MuonCompressorSetFromOptions()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
@*/
PetscErrorCode MuonCompressorSetRatio(MuonCompressor c, PetscReal ratio)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(MuonParametersAssign((PetscObject)c, "ratio", (double)ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorVisitState(MuonCompressor c, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(c, visitstate, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorSetStream - Sets the layer, the sender and the random numbers of a compressor's messages

   Not Collective

   Input Parameters:
+  c         - the compressor
.  seed      - the seed of the run's random numbers
.  layer     - the name of the layer
.  sender    - the rank of the sender
-  direction - 0 for the messages of a worker, 1 for those of a server

   Level: advanced

   Notes:
   A hash of the name is part of every message. A message of another layer is refused.

   The random numbers of `MUONCOMPRESSORNATURAL`, of `MUONCOMPRESSORQSGD` and of natural values depend on
   these four and on the number of the step only. They are those of Philox4x32-10 with the seed as its key and
   the counter (entry / 4, hash of the name, step, sender + 2^31 direction). The coin of
   `MUONCOMPRESSORDROPOUT` and the seed of `MUONCOMPRESSORRANDK` have the place 2^32 - 1 in the counter, which
   no entry has. The first basis of `MUONCOMPRESSORPOWERSGD` has the step 2^32 - 1, which no step has. A
   receiver needs only the name.

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
  c->nparts           = 0;
  c->layer            = name;
  c->parameters.layer = name;
  PetscCall(MuonNameHash_Private(layer, &c->layerhash));
  c->seed      = seed;
  c->sender    = sender;
  c->direction = direction;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetStep - Sets the number of the step, which determines the random numbers

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
  /* The stream has 32 bits for the step, and the last number is reserved */
  PetscCheck(number >= 0 && number < (PetscInt64)UINT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Step %" PetscInt_FMT ", expected 0 or more and less than 2^32 - 1", step);
  c->step = step;
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
  PetscCall(MuonViewBegin((PetscObject)c, &viewer, &ascii, &string));
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  if (ascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)c, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (c->layer != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "layer: %s, sender: %s %" PetscInt_FMT "\n", c->layer, c->direction == 0 ? "worker" : "server", c->sender));
    if (MuonBlocksCount_Private(&c->blocks) > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "blocks: %" PetscInt_FMT " x %" PetscInt_FMT "\n", c->blocks.nrows, c->blocks.ncolumns));
    PetscCall(MuonParametersView((PetscObject)c, viewer));
    if (c->svd != NULL) PetscCall(MuonSVDView(c->svd, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string) PetscCall(PetscViewerStringSPrintf(viewer, " %-7.7s", ((PetscObject)c)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees state and scratch memory, and keeps the parameters */
PetscErrorCode MuonCompressorReset(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(c, reset);
  PetscCall(MuonWorkspaceDestroy(&c->work));
  c->status = MUON_STATUS_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorDestroy - Destroys a compressor

   Collective

   Input Parameter:
.  c - the compressor

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorCreate()`
@*/
PetscErrorCode MuonCompressorDestroy(MuonCompressor *c)
{
  PetscFunctionBegin;
  MuonDestroyBegin(c, MUONCOMPRESSOR_CLASSID);
  PetscCall(MuonCompressorReset(*c));
  PetscCall(MuonParametersDestroy((PetscObject)*c));
  PetscCall(PetscFree((*c)->layer));
  PetscCall(PetscFree((*c)->part));
  PetscCall(MuonBlocksDestroy_Private(&(*c)->blocks));
  PetscCall(PetscHeaderDestroy(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
