#include <petscmuon/private/petscmuonimpl.h>

const char *const MuonStatuses[] = {"OK", "NANORINF", "CORRUPT", "LMO", "MuonStatus", "MUON_STATUS_", NULL};

PetscBool PetscMuonIsQuiet = PETSC_FALSE;

/*@
  PetscMuonSetQuiet - Switches warnings and notices of the library off or on

  Not Collective; the first rank of a communicator prints

  Input Parameter:
. quiet - `PETSC_TRUE` for no warnings and notices

  Level: intermediate

  Note:
  It switches off warnings (about options, a slow BLAS, messages that save nothing) and the lines about restarts,
  checkpoints and divergence. Errors, monitors, views and reports of options are still printed. It applies to the process.

.seealso: `PetscMuonInitialize()`, `MuonMonitorCancel()`, `PetscInfoAllow()`
@*/
PetscErrorCode PetscMuonSetQuiet(PetscBool quiet)
{
  PetscFunctionBegin;
  PetscMuonIsQuiet = quiet;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonListNames_Private(PetscFunctionList list, size_t length, char names[])
{
  const char **array;
  int          count;

  PetscFunctionBegin;
  names[0] = '\0';
  PetscCall(PetscFunctionListGet(list, &array, &count));
  /* Some releases count an empty name at the end */
  for (int i = 0; i < count && array[i] != NULL; i++) {
    if (i > 0) PetscCall(PetscStrlcat(names, " ", length));
    PetscCall(PetscStrlcat(names, array[i], length));
  }
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNameHash_Private(const char name[], unsigned int *hash)
{
  PetscFunctionBegin;
  *hash = 2166136261u;
  for (; *name != '\0'; name++) *hash = (*hash ^ (unsigned char)*name) * 16777619u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's own takes no NULL in older releases */
PetscErrorCode MuonViewerAndFormatDestroy(void **ctx)
{
  PetscFunctionBegin;
  if (*ctx != NULL) PetscCall(PetscViewerAndFormatDestroy((PetscViewerAndFormat **)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewBegin(PetscObject object, PetscViewer *viewer, PetscBool *ascii, PetscBool *string)
{
  PetscViewerType type;

  PetscFunctionBegin;
  if (*viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm(object), viewer));
  PetscValidHeaderSpecific(*viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)*viewer, PETSCVIEWERASCII, ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)*viewer, PETSCVIEWERSTRING, string));
  PetscCall(PetscViewerGetType(*viewer, &type));
  PetscCheck(*ascii || *string, PetscObjectComm(object), PETSC_ERR_SUP, "%s cannot be shown by a viewer of type %s, expected %s", object->class_name, type != NULL ? type : "that is not set", PETSCVIEWERASCII);
  PetscFunctionReturn(PETSC_SUCCESS);
}
