/*
   The tables of the host's kernels, and operations on arrays that choose one of them.
*/
#include <petscmuon/private/muonkernelsdevice.h>
#include <math.h>

#define KERNEL_SINGLE(type, name, arguments) MuonKernel##name##Single,
#define KERNEL_DOUBLE(type, name, arguments) MuonKernel##name##Double,

const MuonKernels MuonKernelsHost[2] = {{"single", sizeof(float), 1.0 / 16777216.0, MUON_KERNELS_PASSES(KERNEL_SINGLE) MUON_KERNELS_MESSAGES(KERNEL_SINGLE) MUON_KERNELS_NORMS(KERNEL_SINGLE)},
                                        {"double", sizeof(double), 1.0 / 9007199254740992.0, MUON_KERNELS_PASSES(KERNEL_DOUBLE) MUON_KERNELS_MESSAGES(KERNEL_DOUBLE) MUON_KERNELS_NORMS(KERNEL_DOUBLE)}};

#if defined(PETSCMUON_HAVE_KOKKOS)
const MuonDevice *MuonDeviceKokkos(void);

const MuonDevice *MuonDeviceGet(void)
{
  return MuonDeviceKokkos();
}
#else
const MuonDevice *MuonDeviceGet(void)
{
  return NULL;
}
#endif

const MuonKernels *MuonKernelsGet(MuonPrecision precision, MuonMemory memory)
{
  const MuonDevice *device = memory == MUON_HOST ? NULL : MuonDeviceGet();

  if (memory == MUON_HOST) return &MuonKernelsHost[precision];
  return device == NULL ? NULL : &device->kernels[precision];
}

void MuonArrayAxpby(double a, const MuonArray *X, double b, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);

  if (X->precision == Y->precision) kernels->Axpby(Y->len, Y->count, a, X->data, X->ld, b, Y->data, Y->ld);
  else kernels->AxpbyOther(Y->len, Y->count, a, X->data, X->ld, b, Y->data, Y->ld);
}

int MuonArrayIsFinite(const MuonArray *X)
{
  return MuonArrayKernels(X)->IsBelow(X->len, X->count, X->data, X->ld, HUGE_VAL);
}
