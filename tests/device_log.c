static char help[] = "The GPU columns of -log_view, as a PETSc with devices has them: flops of work in the memory of a device, and its time in pairs of calls.\n\n";

/* What such a PETSc is configured with, and the parts of it that are missing in others */
#if !defined(PETSC_HAVE_DEVICE)
  #define PETSC_HAVE_DEVICE 1
  #define WITHOUT
#endif
#include <petscmuon.h>
#include <petscmuon/private/petscmuonimpl.h>

#if defined(WITHOUT)
static PetscInt begun, ended;
PetscLogDouble  petsc_gflops = 0;

PetscErrorCode PetscLogGpuTimeBegin(void)
{
  PetscFunctionBegin;
  begun++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscLogGpuTimeEnd(void)
{
  PetscFunctionBegin;
  ended++;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
static PetscInt begun = 1, ended = 1; /* PETSc's own */
#endif

static PetscErrorCode Phase(MuonMemory memory, PetscLogDouble work)
{
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall(MuonLogDeviceBegin(memory, &flops));
  PetscCall(PetscLogFlops(work));
  PetscCall(MuonLogDeviceEnd(memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscLogDouble before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscGetFlops(&before));
  PetscCall(Phase(MUON_HOST, 100));
  PetscCheck(petsc_gflops == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g flops of a device for work on the host", petsc_gflops);
  PetscCall(Phase(MUON_DEVICE, 20));
  PetscCall(PetscLogFlops(3));
  PetscCall(Phase(MUON_DEVICE, 7));
  PetscCall(PetscGetFlops(&after));
  PetscCheck(petsc_gflops == 27 && after - before == 130, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g flops, %g of them of a device, expected 130 and 27", after - before, petsc_gflops);
  PetscCheck(begun == ended && (begun == 2 || begun == 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The clock was started %" PetscInt_FMT " times and stopped %" PetscInt_FMT " times, expected 2", begun, ended);
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    requires: defined(PETSC_USE_LOG)

TEST*/
