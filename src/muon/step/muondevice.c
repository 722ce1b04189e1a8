#include "muonstep.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "../../kernels/array/muondevicecheck.h"
#include "../../transport/muontransport.h"

/*
   Layers whose weights are in the memory of a device.
*/

/*
   Whether MPI may be given pointers to the memory of the device. That of a device which is the host is memory
   of the host, only marked
*/
static PetscErrorCode MuonMPITakesDevice_Private(PetscBool *takes)
{
  const MuonDevice *device = MuonDeviceGet();
  const int         says   = MuonTransportTakesDevice();
  PetscBool         petsc  = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-use_gpu_aware_mpi", &petsc, NULL));
  *takes = device != NULL && petsc && (device->ishost || says == 1 || (says < 0 && PetscDefined(HAVE_MPI_GPU_AWARE))) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks do the same: sums that wait and sums that do not are no match in MPI */
static PetscErrorCode MuonSetUpDeviceMPI_Private(Muon muon, const char name[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);
  PetscBool      takes;
  int            all[3];

  PetscFunctionBegin;
  PetscCall(MuonMPITakesDevice_Private(&takes));
  all[0] = takes ? 1 : 0;
  all[1] = muon->device_mpi_set ? (muon->device_mpi ? 1 : 0) : -1;
  all[2] = -all[1];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_MIN, comm));
  PetscCheck(all[1] == -all[2], comm, PETSC_ERR_ARG_INCOMP, "-%smuon_device_mpi differs between ranks, expected the same", MuonPrefix(muon));
  PetscCheck(all[1] != 1 || all[0] == 1, comm, PETSC_ERR_SUP_SYS, "Layer \"%s\": -%smuon_device_mpi true, and MPI takes no pointers to the memory of a device, or -use_gpu_aware_mpi says so; expected false", name, MuonPrefix(muon));
  for (PetscInt p = 0; p < muon->nshards; p++) muon->shard[p].group->exchange->direct = all[1] < 0 ? (PetscBool)all[0] : (PetscBool)all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors on every rank alike, since all have the same layers and choices */
PetscErrorCode MuonCheckDevice_Private(Muon muon)
{
  const char *first = NULL;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard     *shard = &muon->shard[p];
    const MuonCompressor c[2]  = {shard->up, shard->down};
    MuonLMO              lmo;
    MuonPolar            polar;
    MuonLayerRule        rule;
    PetscBool            oracle;
    const char *const    name = ((PetscObject)shard->layer)->name;
    const MPI_Comm       comm = PetscObjectComm((PetscObject)muon);

    if (shard->layer->shape.memory == MUON_HOST) continue;
    if (first == NULL) first = name;
    for (int way = 0; way < 2; way++) PetscCheck(c[way]->ondevice, comm, PETSC_ERR_SUP, "Layer \"%s\": weights in the memory of a device, for which compressor %s has no kernels", name, ((PetscObject)c[way])->type_name);
    PetscCall(MuonLayerGetRule(shard->layer, &rule));
    PetscCall(PetscStrcmp(rule, MUONLAYERLMO, &oracle));
    if (oracle == PETSC_FALSE) continue;
    PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
    PetscCheck(lmo->ondevice, comm, PETSC_ERR_SUP, "Layer \"%s\": weights in the memory of a device, for which -lmo_type %s has no kernels", name, ((PetscObject)lmo)->type_name);
    PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &oracle));
    if (oracle == PETSC_FALSE) continue;
    if (shard->rowwise) continue;
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCheck(polar->ondevice, comm, PETSC_ERR_SUP, "Layer \"%s\": weights in the memory of a device, for which -lmo_polar_type %s has no kernels, expected %s, %s, %s, %s or %s", name, ((PetscObject)polar)->type_name, MUONPOLARNEWTONSCHULZ,
               MUONPOLARGRAM, MUONPOLARSVD, MUONPOLARQDWH, MUONPOLARZOLOTAREV);
  }
  muon->on_device = first != NULL ? PETSC_TRUE : PETSC_FALSE;
  if (first != NULL) PetscCall(MuonSetUpDeviceMPI_Private(muon, first));
  for (PetscInt l = 0; l < muon->nactive && muon->check_device; l++) {
    const MuonArray *shape = &muon->active[l]->shape;
    char             what[128];

    if (shape->memory == MUON_HOST) continue;
    PetscCheck(MuonKernelDeviceCheck(shape->precision, shape->len, shape->count, sizeof(what), what), PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB,
               "-%smuon_check_device: %s differs from the host's beyond its bound, on arrays of the shape of layer \"%s\"", MuonPrefix(muon), what, ((PetscObject)muon->active[l])->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDeviceBegin_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->on_device == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonDeviceGet()->setstream(muon->device_stream);
  MuonDeviceGet()->moved(muon->device_bytes, muon->device_copies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc counts one copy a call */
PetscErrorCode MuonDeviceEnd_Private(Muon muon)
{
  PetscLogDouble bytes[2], copies[2];

  PetscFunctionBegin;
  if (muon->on_device == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonDeviceGet()->moved(bytes, copies);
  for (PetscLogDouble k = muon->device_copies[0]; k < copies[0]; k++) PetscCall(PetscLogCpuToGpu((bytes[0] - muon->device_bytes[0]) / (copies[0] - muon->device_copies[0])));
  for (PetscLogDouble k = muon->device_copies[1]; k < copies[1]; k++) PetscCall(PetscLogGpuToCpu((bytes[1] - muon->device_bytes[1]) / (copies[1] - muon->device_copies[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetDeviceStream - Sets the stream of a device in whose order gradients become ready and weights change

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- stream - the stream of the back end, a `cudaStream_t` for CUDA; `NULL` for that of Kokkos

  Level: intermediate

  Notes:
  Kernels on layers in the memory of a device are queued behind what the stream has. Where a device is the
  host there is no stream, and the call does nothing but remember it. All optimizers of a process share one
  device; that whose step begins sets its stream, after a wait for the one before. A stream has to stay until
  a step begins with another one.

  With a PETSc that was built for devices, `-log_view` has the copies between the memories and their bytes in
  its columns CpuToGpu and GpuToCpu, in the event of the step, and in each event the percentage of flops that
  ran on the device. With `-log_view_gpu_time` it has their time too, which PETSc takes in the stream of its
  current `PetscDeviceContext`\: that should be this one. Matrices of PETSc's, such as `MATSEQDENSECUDA`,
  change in the order of that context as well.

.seealso: `Muon`, `MuonGetDeviceStream()`, `MuonAddLayer()`, `MuonAddLayerArray()`, `MuonLayerArray`
@*/
PetscErrorCode MuonSetDeviceStream(Muon muon, void *stream)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->device_stream = stream;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetDeviceStream - Gets the stream of a device in whose order gradients become ready and weights change

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. stream - the stream, `NULL` for that of Kokkos

  Level: intermediate

.seealso: `Muon`, `MuonSetDeviceStream()`
@*/
PetscErrorCode MuonGetDeviceStream(Muon muon, void **stream)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, stream, muon->device_stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetDeviceMPI - Sets whether MPI is given pointers to the memory of a device

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether it is

  Options Database Keys:
+ -muon_device_mpi flg   - whether it is
- -use_gpu_aware_mpi flg - PETSc's: false says that MPI does not take such pointers

  Level: intermediate

  Notes:
  In the exchange modes `reduce` and `allreduce` MPI then sums layers in the memory of a device where they
  are, each in a call that waits. Otherwise they are copied to the host first, to memory from which the device
  copies fast (`cudaHostAlloc()`), and the sums back; MPI may then move one layer while another is worked on.
  Messages of compressors are bytes on the host in any case, and so is what the ranks of a worker exchange
  among themselves of a layer whose rows are spread over them.

  By default what MPI says decides (`MPIX_Query_cuda_support()`, and where MPI has no such function, what
  PETSc was configured with). `true` where MPI does not take such pointers is an error of `MuonSetUp()` on all
  ranks. Memory of a device that is the host is memory of the host to MPI.

  The value is set before `MuonSetUp()`, or after `MuonReset()`.

.seealso: `Muon`, `MuonGetDeviceMPI()`, `MuonAddLayerArray()`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonSetDeviceMPI(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, flg, 2);
  PetscCall(MuonCheckBeforeSetUp_Private(muon, muon->device_mpi_set && muon->device_mpi == flg ? PETSC_TRUE : PETSC_FALSE, "muon_device_mpi"));
  muon->device_mpi     = flg;
  muon->device_mpi_set = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetDeviceMPI - Gets whether MPI is given pointers to the memory of a device

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - what was set, else whether MPI of this rank takes them; false where there is no device

  Level: intermediate

.seealso: `Muon`, `MuonSetDeviceMPI()`
@*/
PetscErrorCode MuonGetDeviceMPI(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  *flg = muon->device_mpi;
  if (muon->device_mpi_set == PETSC_FALSE) PetscCall(MuonMPITakesDevice_Private(flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetDeviceBatchBytes - Sets how much memory of a device layers may take to be moved together

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- bytes - the memory, 1 GiB by default; 0: layers are moved one by one

  Options Database Key:
. -muon_device_batch_bytes bytes - the memory

  Level: advanced

  Notes:
  A step takes layers in the memory of a device together as long as their sums and new weights have at most so
  many bytes, whether these are scratch or kept. Of such layers those with the rule `lmo`, the norm `spectral`
  and the same choices of the polar factor, `newtonschulz` or `gram`, are multiplied in batches, and so are
  the blocks of a layer, in at most so many bytes of scratch more, see `MuonPolarApplyMany()`. Workers of
  `MUONSIGN` make the factors that they vote with in the same way. One layer may take more.

  Layers go one by one where their state has another precision than the weights, where the norm or the factor
  is another one, and in `-sign_update polar`. Batches may round otherwise than single products. A server
  waits for the sums of all layers that it takes together.

.seealso: `Muon`, `MuonGetDeviceBatchBytes()`, `MuonAddLayerArray()`, `MuonPolarApplyMany()`
@*/
PetscErrorCode MuonSetDeviceBatchBytes(Muon muon, PetscReal bytes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveReal(muon, bytes, 2);
  PetscCheck(bytes >= 0 && bytes <= (PetscReal)1e15, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_device_batch_bytes is %g, expected between 0 and 1e15", MuonPrefix(muon), (double)bytes);
  muon->device_batch = bytes;
  PetscCall(MuonWorkspaceSetBatch(muon->work, (size_t)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetDeviceBatchBytes - Gets how much memory of a device layers may take to be moved together

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. bytes - the memory

  Level: advanced

.seealso: `Muon`, `MuonSetDeviceBatchBytes()`
@*/
PetscErrorCode MuonGetDeviceBatchBytes(Muon muon, PetscReal *bytes)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, bytes, muon->device_batch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCheckDevice - Sets whether the kernels of a device are compared with those of the host before the
  first step

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether they are

  Options Database Key:
. -muon_check_device flg - whether they are

  Level: advanced

  Notes:
  `MuonSetUp()` then runs the kernels of both on the same random numbers, on arrays of the shape of each layer
  in the memory of a device, and raises an error that names the first which differs beyond its bound.

  Momentum, residuals, selections, natural values, signs, gathered and scattered entries, quantized blocks and
  all else that works on one entry at a time, and sums that the host forms in blocks, have the same bits as on
  the host. Norms, inner products and whatever a library multiplies differ by the rounding of sums in another
  order.

.seealso: `Muon`, `MuonGetCheckDevice()`, `MuonAddLayerArray()`
@*/
PetscErrorCode MuonSetCheckDevice(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, flg, 2);
  muon->check_device = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckDevice - Gets whether the kernels of a device are compared with those of the host before the
  first step

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - whether they are

  Level: advanced

.seealso: `Muon`, `MuonSetCheckDevice()`
@*/
PetscErrorCode MuonGetCheckDevice(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->check_device);
  PetscFunctionReturn(PETSC_SUCCESS);
}
