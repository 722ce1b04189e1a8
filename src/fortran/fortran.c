#include <petscmuon/private/muonimpl.h>

/*
   What Fortran's iso_c_binding cannot call as it is: functions that take communicators, and those that take
   routines of the program. config/tools/fortran.py writes the module, in which these have the names without
   Fortran.
*/

/* Routines of a Fortran program: bind(c) subroutines, with everything by reference and the error code last */
typedef void ObjectiveFn(const PETSC_UINTPTR_T *, PetscReal *, void **, int *);
typedef void ScheduleFn(const PETSC_UINTPTR_T *, const PetscInt *, PetscReal *, PetscReal *, PetscReal *, void **, int *);
typedef void PostStepFn(const PETSC_UINTPTR_T *, const PetscInt *, void **, int *);
typedef void MonitorFn(const PETSC_UINTPTR_T *, const PetscInt *, const PetscReal *, void **, int *);
typedef void AnyFn(void);

/* A MuonLayerArray of Fortran */
typedef struct {
  int         comm, type, memtype, rowmajor;
  PetscInt    M, N, first, rows, ld;
  void       *w;
  const void *g;
} FortranArray;

PETSC_EXTERN PetscErrorCode MuonCheckHandleFortran(void *, const char[], int);
PETSC_EXTERN PetscErrorCode MuonLayerArrayInitializeFortran(FortranArray *);
PETSC_EXTERN PetscErrorCode MuonAddLayerArrayFortran(Muon, const char[], const FortranArray *, MuonLayer *);

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

/* An optimized PETSc follows any handle, and a Fortran program gets NULL easily: Destroy() leaves it */
PetscErrorCode MuonCheckHandleFortran(void *handle, const char function[], int position)
{
  PetscFunctionBegin;
  PetscCheck(handle != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "%s(): argument %d is an object that was never made or was destroyed (its %%v is -2)", function, position);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A routine that PETSc's form calls with what a Fortran program has set */
#define FortranCallback(name, Type, parameters, ...) \
  static PetscFortranCallbackId name##Id; \
  static PetscErrorCode name    parameters \
  { \
    const PETSC_UINTPTR_T handle = (PETSC_UINTPTR_T)muon; \
    AnyFn                *fn; \
    void                 *ctx; \
    int                   ierr = 0; \
\
    PetscFunctionBegin; \
    (void)unused; \
    PetscCall(PetscObjectGetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, name##Id, &fn, &ctx)); \
    (*(Type *)fn)(&handle, __VA_ARGS__, &ctx, &ierr); \
    PetscCall((PetscErrorCode)ierr); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode name parameters

FortranCallback(ObjectiveFortran, ObjectiveFn, (Muon muon, PetscReal *loss, void *unused), loss);
FortranCallback(ValidationFortran, ObjectiveFn, (Muon muon, PetscReal *value, void *unused), value);
FortranCallback(ScheduleFortran, ScheduleFn, (Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *unused), &step, factor, momentum, decay);
FortranCallback(PostStepFortran, PostStepFn, (Muon muon, PetscInt step, void *unused), &step);
FortranCallback(MonitorFortran, MonitorFn, (Muon muon, PetscInt step, PetscReal loss, void *unused), &step, &loss);

/* As for all classes of PETSc, an object has one Fortran monitor: the last one that was set */
#define FortranSet(Function, name, parameters, ...) \
  PETSC_EXTERN PetscErrorCode Function##Fortran parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(PetscObjectSetFortranCallback((PetscObject)muon, PETSC_FORTRAN_CALLBACK_CLASS, &name##Id, fn, ctx)); \
    PetscCall(Function(muon, name, __VA_ARGS__)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  PETSC_EXTERN PetscErrorCode Function##Fortran parameters

FortranSet(MuonSetObjectiveAndGradient, ObjectiveFortran, (Muon muon, AnyFn *fn, void *ctx), NULL);
FortranSet(MuonSetValidation, ValidationFortran, (Muon muon, AnyFn *fn, PetscInt interval, void *ctx), interval, NULL);
FortranSet(MuonSetScheduleFunction, ScheduleFortran, (Muon muon, AnyFn *fn, void *ctx), NULL);
FortranSet(MuonSetPostStep, PostStepFortran, (Muon muon, AnyFn *fn, void *ctx), NULL);
FortranSet(MuonMonitorSet, MonitorFortran, (Muon muon, AnyFn *fn, void *ctx), NULL, NULL);

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
  PetscCall(MuonLayerArrayInitialize(&a));
  /* Members that Fortran does not know of are as they are initialized */
  a.comm     = MPI_Comm_f2c((MPI_Fint)array->comm);
  a.type     = (PetscDataType)array->type;
  a.memtype  = (PetscMemType)array->memtype;
  a.rowmajor = array->rowmajor ? PETSC_TRUE : PETSC_FALSE;
  a.M        = array->M;
  a.N        = array->N;
  a.first    = array->first;
  a.rows     = array->rows;
  a.ld       = array->ld;
  a.w        = array->w;
  a.g        = array->g;
  PetscCall(MuonAddLayerArray(muon, name, &a, layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FortranGetArray(Function) \
  PETSC_EXTERN PetscErrorCode Function##Fortran(MuonLayer layer, FortranArray *array) \
  { \
    MuonLayerArray a; \
\
    PetscFunctionBegin; \
    PetscCall(Function(layer, &a)); \
    PetscCall(ToFortran(&a, array)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  PETSC_EXTERN PetscErrorCode Function##Fortran(MuonLayer, FortranArray *)

FortranGetArray(MuonLayerGetWeightsArray);
FortranGetArray(MuonLayerGetGradientArray);
