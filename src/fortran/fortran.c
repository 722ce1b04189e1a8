#include <petscmuon/private/muonimpl.h>

/*
   What Fortran's iso_c_binding cannot call as it is: functions that take communicators, and those that take
   routines of the program. config/tools/fortran.py writes the module, in which these have the names without
   Fortran.
*/

/* Routines of a Fortran program: bind(c) subroutines, with everything by reference and the error code last */
typedef void ObjectiveFn(const PETSC_UINTPTR_T *, PetscReal *, void **, int *);
typedef void ScheduleFn(const PETSC_UINTPTR_T *, const PetscInt *, PetscReal *, PetscReal *, PetscReal *, void **, int *);
typedef void MonitorFn(const PETSC_UINTPTR_T *, const PetscInt *, const PetscReal *, void **, int *);
typedef void AnyFn(void);

/* The numbers under which objects keep them, the same for all objects of a class */
static PetscFortranCallbackId objective_id, validation_id, schedule_id, monitor_id;

/* A MuonLayerArray of Fortran */
typedef struct {
  int         comm, type, memtype, rowmajor;
  PetscInt    M, N, first, rows, ld;
  void       *w;
  const void *g;
} FortranArray;

PETSC_EXTERN PetscErrorCode MuonCheckHandleFortran(void *, const char[], const char[], int);
PETSC_EXTERN PetscErrorCode MuonSetObjectiveAndGradientFortran(Muon, AnyFn *, void *);
PETSC_EXTERN PetscErrorCode MuonSetValidationFortran(Muon, AnyFn *, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MuonSetScheduleFunctionFortran(Muon, AnyFn *, void *);
PETSC_EXTERN PetscErrorCode MuonMonitorSetFortran(Muon, AnyFn *, void *);
PETSC_EXTERN PetscErrorCode MuonLayerArrayInitializeFortran(FortranArray *);
PETSC_EXTERN PetscErrorCode MuonAddLayerArrayFortran(Muon, const char[], const FortranArray *, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightsArrayFortran(MuonLayer, FortranArray *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradientArrayFortran(MuonLayer, FortranArray *);

/* Declared behind its definition, so that the macro takes a semicolon */
#define FortranCreate(Class) \
  PETSC_EXTERN PetscErrorCode Class##CreateFortran(int comm, Class *object) \
  { \
    PetscFunctionBegin; \
    PetscCall(Class##Create(MPI_Comm_f2c((MPI_Fint)comm), object)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  PETSC_EXTERN PetscErrorCode Class##CreateFortran(int, Class *)

FortranCreate(Muon);
FortranCreate(MuonPolar);
FortranCreate(MuonLMO);
FortranCreate(MuonCompressor);
FortranCreate(MuonExchange);

/*
   An optimized PETSc follows any handle to its end. A Fortran program gets NULL easily, which is what
   Destroy() leaves, and a copy of a handle does not know that its object is gone. The classname is empty for
   objects of PETSc, of which NULL alone is refused
*/
PetscErrorCode MuonCheckHandleFortran(void *handle, const char classname[], const char function[], int position)
{
  PetscBool lives = handle != NULL ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(lives == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "%s(): argument %d is an object that was never made or was destroyed (its %%v is -2), expected one that lives", function, position);
  if (classname[0] == '\0') PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonObjectIsRegistered_Private(handle, &lives));
  /* Another object may have got the address meanwhile */
  if (lives == PETSC_TRUE) PetscCall(PetscStrcmp(((PetscObject)handle)->class_name, classname, &lives));
  PetscCheck(lives == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ARG_CORRUPT, "%s(): argument %d is no %s that lives, expected one: its %%v is a copy of a handle whose object was destroyed, or of none", function, position, classname);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ObjectiveFortran(Muon muon, PetscReal *loss, void *unused)
{
  const PETSC_UINTPTR_T handle = (PETSC_UINTPTR_T)muon;
  AnyFn                *fn;
  void                 *ctx;
  int                   ierr = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, objective_id, &fn, &ctx));
  (*(ObjectiveFn *)fn)(&handle, loss, &ctx, &ierr);
  PetscCall((PetscErrorCode)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetObjectiveAndGradientFortran(Muon muon, AnyFn *fn, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, &objective_id, fn, ctx));
  PetscCall(MuonSetObjectiveAndGradient(muon, ObjectiveFortran, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValidationFortran(Muon muon, PetscReal *value, void *unused)
{
  const PETSC_UINTPTR_T handle = (PETSC_UINTPTR_T)muon;
  AnyFn                *fn;
  void                 *ctx;
  int                   ierr = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, validation_id, &fn, &ctx));
  (*(ObjectiveFn *)fn)(&handle, value, &ctx, &ierr);
  PetscCall((PetscErrorCode)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetValidationFortran(Muon muon, AnyFn *fn, PetscInt interval, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, &validation_id, fn, ctx));
  PetscCall(MuonSetValidation(muon, ValidationFortran, interval, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScheduleFortran(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *unused)
{
  const PETSC_UINTPTR_T handle = (PETSC_UINTPTR_T)muon;
  AnyFn                *fn;
  void                 *ctx;
  int                   ierr = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, schedule_id, &fn, &ctx));
  (*(ScheduleFn *)fn)(&handle, &step, factor, momentum, decay, &ctx, &ierr);
  PetscCall((PetscErrorCode)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetScheduleFunctionFortran(Muon muon, AnyFn *fn, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, &schedule_id, fn, ctx));
  PetscCall(MuonSetScheduleFunction(muon, ScheduleFortran, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MonitorFortran(Muon muon, PetscInt step, PetscReal loss, void *unused)
{
  const PETSC_UINTPTR_T handle = (PETSC_UINTPTR_T)muon;
  AnyFn                *fn;
  void                 *ctx;
  int                   ierr = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, monitor_id, &fn, &ctx));
  (*(MonitorFn *)fn)(&handle, &step, &loss, &ctx, &ierr);
  PetscCall((PetscErrorCode)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As for all classes of PETSc, an object has one Fortran monitor: the last one that was set */
PetscErrorCode MuonMonitorSetFortran(Muon muon, AnyFn *fn, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectSetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, &monitor_id, fn, ctx));
  PetscCall(MuonMonitorSet(muon, MonitorFortran, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToFortran(const MuonLayerArray *a, FortranArray *f)
{
  PetscFunctionBegin;
  f->comm     = (int)MPI_Comm_c2f(a->comm);
  f->type     = (int)a->type;
  f->memtype  = (int)a->memtype;
  f->rowmajor = a->rowmajor ? 1 : 0;
  f->M        = a->M;
  f->N        = a->N;
  f->first    = a->first;
  f->rows     = a->rows;
  f->ld       = a->ld;
  f->w        = a->w;
  f->g        = a->g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Members that Fortran does not know of are as they are initialized */
static PetscErrorCode FromFortran(const FortranArray *f, MuonLayerArray *a)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(a));
  a->comm     = MPI_Comm_f2c((MPI_Fint)f->comm);
  a->type     = (PetscDataType)f->type;
  a->memtype  = (PetscMemType)f->memtype;
  a->rowmajor = f->rowmajor ? PETSC_TRUE : PETSC_FALSE;
  a->M        = f->M;
  a->N        = f->N;
  a->first    = f->first;
  a->rows     = f->rows;
  a->ld       = f->ld;
  a->w        = f->w;
  a->g        = f->g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerArrayInitializeFortran(FortranArray *array)
{
  MuonLayerArray a;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&a));
  PetscCall(ToFortran(&a, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAddLayerArrayFortran(Muon muon, const char name[], const FortranArray *array, MuonLayer *layer)
{
  MuonLayerArray a;

  PetscFunctionBegin;
  PetscCall(FromFortran(array, &a));
  PetscCall(MuonAddLayerArray(muon, name, &a, layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetWeightsArrayFortran(MuonLayer layer, FortranArray *array)
{
  MuonLayerArray a;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsArray(layer, &a));
  PetscCall(ToFortran(&a, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetGradientArrayFortran(MuonLayer layer, FortranArray *array)
{
  MuonLayerArray a;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientArray(layer, &a));
  PetscCall(ToFortran(&a, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}
