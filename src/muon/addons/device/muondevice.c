#include "../../interface/muoninterface.h" /*I "petscmuon.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "../../../kernels/array/muondevicecheck.h"
#include "../../../transport/muontransport.h"

/*
   Layers whose weights are in the memory of a device: an error if a choice has no kernels there, or if kernels are compared with the
   host's and differ. Copies between host and device are in PETSc's log.
*/
typedef struct {
  void          *stream;
  PetscBool      used;  /* a layer is there */
  PetscBool      check; /* its kernels */
  PetscBool      mpi;   /* is given the memory of the device; where it was not set what MPI says decides */
  PetscReal      batch;
  PetscLogDouble bytes[2], copies[2]; /* to it and from it before this step */
} MuonDeviceUse;

#define ROW(key, kind, field, value, most, flags, help) MUON_ROW(key, kind, MuonDeviceUse, field, value, 0, most, NULL, flags, help)
static const MuonParameter MuonDeviceRows[] = {ROW("check_device", BOOL, check, 0, 1, MUON_PARAMETER_LOCAL, "Compare the kernels of a device with the host's before the first step"),
                                               ROW("device_mpi", BOOL, mpi, 0, 1, MUON_PARAMETER_FIXED, "Give MPI the memory of a device, by what MPI says where not set"),
                                               ROW("device_batch_bytes", REAL, batch, MUON_WORK_BATCH, 1e15, 0, "Memory of a device for layers that are updated together, 0: one by one"),
                                               {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static MuonDeviceUse *MuonDeviceOf(Muon muon)
{
  return (MuonDeviceUse *)MuonAddonData(muon, "device");
}

/*
   Whether MPI accepts pointers to device memory. If the device is the host, its memory is marked host memory. All ranks do the
   same, because blocking and nonblocking sums do not match in MPI
*/
static PetscErrorCode MuonSetUpDeviceMPI_Private(Muon muon, const char name[])
{
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  const MuonDevice *device = MuonDeviceGet();
  const int         says   = MuonTransportTakesDevice();
  PetscBool         petsc  = PETSC_TRUE;
  int               all[3];

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-use_gpu_aware_mpi", &petsc, NULL));
  all[0] = device != NULL && petsc && (device->ishost || says == 1 || (says < 0 && PetscDefined(HAVE_MPI_GPU_AWARE))) ? 1 : 0;
  all[1] = MuonParametersIsSet((PetscObject)muon, "device_mpi") ? (MuonDeviceOf(muon)->mpi ? 1 : 0) : -1;
  all[2] = -all[1];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_MIN, comm));
  PetscCheck(all[1] == -all[2], comm, PETSC_ERR_ARG_INCOMP, "-%smuon_device_mpi differs between ranks, expected the same", MuonPrefix(muon));
  PetscCheck(all[1] != 1 || all[0] == 1, comm, PETSC_ERR_SUP_SYS, "Layer \"%s\": -%smuon_device_mpi true, and MPI takes no pointers to the memory of a device, or -use_gpu_aware_mpi says so; expected false", name, MuonPrefix(muon));
  for (PetscInt p = 0; p < muon->nshards; p++) muon->shard[p].group->exchange->device = all[1] < 0 ? (PetscBool)all[0] : (PetscBool)all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char Without[] = "has no kernels for weights in the memory of a device";

/* Errors on every rank alike, since all have the same layers and options */
static PetscErrorCode MuonDeviceConfigure_Private(Muon muon)
{
  MuonDeviceUse *use   = MuonDeviceOf(muon);
  const char    *first = NULL;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard     *shard = &muon->shard[p];
    const MuonCompressor c[2]  = {shard->up, shard->down};
    MuonLMO              lmo;
    MuonPolar            polar;
    PetscBool            spectral;
    const char *const    name = ((PetscObject)shard->layer)->name;

    if (shard->layer->shape.memory == MUON_HOST) continue;
    if (first == NULL) first = name;
    for (int way = 0; way < 2; way++) PetscCall(MuonParametersCheckType((PetscObject)c[way], offsetof(struct _p_MuonCompressor, ondevice), NULL, Without));
    if (shard->layer->ops->applylmo == NULL) continue;
    PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
    PetscCall(MuonParametersCheckType((PetscObject)lmo, offsetof(struct _p_MuonLMO, ondevice), name, Without));
    PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &spectral));
    if (spectral == PETSC_FALSE || MuonGroupIsRowwise(shard->group)) continue;
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonParametersCheckType((PetscObject)polar, offsetof(struct _p_MuonPolar, ondevice), name, Without));
  }
  use->used = first != NULL ? PETSC_TRUE : PETSC_FALSE;
  if (first != NULL) PetscCall(MuonSetUpDeviceMPI_Private(muon, first));
  for (PetscInt l = 0; l < muon->nactive && use->check; l++) {
    const MuonArray *shape = &muon->active[l]->shape;
    char             what[128];

    if (shape->memory == MUON_HOST) continue;
    PetscCheck(MuonKernelDeviceCheck(shape->precision, shape->len, shape->count, sizeof(what), what), PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB,
               "-%smuon_check_device: %s differs from the host's beyond its bound, on arrays of the shape of layer \"%s\"", MuonPrefix(muon), what, ((PetscObject)muon->active[l])->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDeviceStart_Private(Muon muon)
{
  MuonDeviceUse *use = MuonDeviceOf(muon);

  PetscFunctionBegin;
  *MuonWorkspaceBatch(muon->work) = (size_t)use->batch;
  if (use->used == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonDeviceGet()->setstream(use->stream);
  MuonDeviceGet()->moved(use->bytes, use->copies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc counts one copy a call */
static PetscErrorCode MuonDeviceEnd_Private(Muon muon, PetscBool ok)
{
  const MuonDeviceUse *use = MuonDeviceOf(muon);
  PetscLogDouble       bytes[2], copies[2];

  PetscFunctionBegin;
  if (use->used == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonDeviceGet()->moved(bytes, copies);
  for (PetscLogDouble k = use->copies[0]; k < copies[0]; k++) PetscCall(PetscLogCpuToGpu((bytes[0] - use->bytes[0]) / (copies[0] - use->copies[0])));
  for (PetscLogDouble k = use->copies[1]; k < copies[1]; k++) PetscCall(PetscLogGpuToCpu((bytes[1] - use->bytes[1]) / (copies[1] - use->copies[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetDeviceStream - Sets the device stream that orders gradients and changes of weights

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- stream - the stream of the back end, a `cudaStream_t` for CUDA; `NULL` for Kokkos' stream

  Level: intermediate

  Notes:
  Kernels on layers in device memory are queued on this stream. If the device is the host, there are no streams, and
  the call only stores the value. All optimizers of a process share one device. A step sets its optimizer's stream,
  after a wait for the previous stream. A stream must exist until a step begins with another one.

  With a PETSc that was built for devices, `-log_view` counts copies between host and device in the columns CpuToGpu
  and GpuToCpu of the step's event, and in each event the percentage of flops on the device. `-log_view_gpu_time` adds
  their time. PETSc measures it in the stream of its current `PetscDeviceContext`, which should be this stream. PETSc's
  matrices, such as `MATSEQDENSECUDA`, change in the order of that context, too.

.seealso: `Muon`, `MuonAddLayer()`, `MuonAddLayerArray()`, `MuonLayerArray`
@*/
PetscErrorCode MuonSetDeviceStream(Muon muon, void *stream)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonDeviceOf(muon)->stream = stream;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonAddonRegister_Device(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows      = MuonDeviceRows;
  ops.size      = sizeof(MuonDeviceUse);
  ops.configure = MuonDeviceConfigure_Private;
  ops.start     = MuonDeviceStart_Private;
  ops.end       = MuonDeviceEnd_Private;
  PetscCall(MuonAddonRegister("device", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
