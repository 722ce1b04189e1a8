/*
   The memory of the device, the life of Kokkos, and the table of its kernels.
*/
#include "muonkokkos.hpp"
#include "muonvendor.h"
#include <cstdio>
#include <cstdlib>
#include <new>
#if defined(KOKKOS_ENABLE_CUDA)
  #include <cuda_runtime_api.h>
#endif

namespace muon {

namespace {

struct Buffer {
  void  *data;
  size_t bytes;
};

constexpr int Deepest = 16;

Buffer buffer[Deepest + 2]; /* the last two stay between kernels */
int    depth               = 0;
Space *space               = NULL;
void  *given               = NULL;
int    staged              = 0;
void (*told)(const char *) = NULL;
double movedbytes[2] = {0, 0}, movedcopies[2] = {0, 0};

void *Allocate(size_t bytes)
{
  char *data;

  if (Start() != NULL) return NULL;
  try {
    data = (char *)Kokkos::kokkos_malloc<Space::memory_space>("muon", bytes > 0 ? bytes : 1);
  } catch (...) {
    return NULL;
  }
  return IsHost ? (void *)((uintptr_t)data | Mark) : data;
}

void Release(void *data)
{
  if (data != NULL && Kokkos::is_initialized()) Kokkos::kokkos_free<Space::memory_space>(Raw((char *)data));
}

/* Called while Kokkos still has its memory, by any finalization */
void Forget()
{
  for (Buffer &one : buffer) {
    Release(one.data);
    one = Buffer{NULL, 0};
  }
  delete space;
  space = NULL;
}

void End()
{
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

/* What is in it is lost where it grows */
void Grow(Buffer &one, size_t bytes)
{
  if (bytes <= one.bytes) return;
  Instance().fence();
  Release(one.data);
  one = Buffer{Allocate(bytes), bytes};
  if (one.data == NULL) {
    std::fprintf(stderr, "PetscMuon: the device has no room for %zu bytes of scratch memory\n", bytes);
    std::abort();
  }
}

/* On the stream of the back end, NULL being Kokkos' own; the vendor's calls are on the same one */
void MakeSpace(void *stream)
{
#if defined(KOKKOS_ENABLE_CUDA)
  space = stream == NULL ? new Space() : new Space((cudaStream_t)stream);
  MuonVendorSetStream((void *)space->cuda_stream());
#else
  space = new Space();
  MuonVendorSetStream(stream);
#endif
  given = stream;
}

/* Scratch memory and the vendor's workspace are still in use on the stream that was there */
void SetStream(void *stream)
{
  if (Start() != NULL || stream == given) return;
  space->fence();
  delete space;
  MakeSpace(stream);
}

void Zero(size_t bytes, void *data)
{
  char *to = Raw((char *)data);

  Kokkos::View<char *, Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> view(to, bytes);
  if (bytes > 0) Kokkos::deep_copy(Instance(), view, (char)0);
}

} // namespace

const char *Start()
{
  if (space != NULL) return NULL;
  if (KokkosIsOver()) return "Kokkos was ended before";
#if defined(KOKKOS_ENABLE_CUDA)
  int count = 0;

  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return "there is no GPU";
#endif
  if (!Kokkos::is_initialized()) {
    StartKokkos();
    std::atexit(End);
  }
  Kokkos::push_finalize_hook(Forget);
  MakeSpace(NULL);
  return NULL;
}

const Space &Instance()
{
  if (Start() != NULL) {
    std::fprintf(stderr, "PetscMuon: a kernel of the device, and %s\n", Start());
    std::abort();
  }
  return *space;
}

bool Owns(const void *data)
{
#if defined(KOKKOS_ENABLE_CUDA)
  cudaPointerAttributes attributes;

  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
#else
  return ((uintptr_t)data & Mark) != 0;
#endif
}

/*
   The memories are told apart by their pointers. Bytes that the host reads are there at the end; bytes that
   it gave may be used again then
*/
void Copy(size_t bytes, const void *from, void *to)
{
  using Host     = Kokkos::View<char *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Device   = Kokkos::View<char *, Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const bool out = Owns(from), in = Owns(to);
  char      *x = out ? Raw((char *)from) : (char *)from, *y = in ? Raw((char *)to) : (char *)to;

  if (bytes == 0) return;
  if (!out && !in) memcpy(y, x, bytes);
  else if (out && in) Kokkos::deep_copy(Instance(), Device(y, bytes), Device(x, bytes));
  else {
    if (out) Kokkos::deep_copy(Instance(), Host(y, bytes), Device(x, bytes));
    else Kokkos::deep_copy(Instance(), Device(y, bytes), Host(x, bytes));
    Instance().fence();
    movedbytes[out] += (double)bytes;
    movedcopies[out] += 1;
  }
}

void Tell(const char *kernel)
{
  if (told != NULL) told(kernel);
}

void CheckStaged(const char *what)
{
  if (staged) return;
  std::fprintf(stderr, "PetscMuon: the kernel %s of the device was given an array of the host\n", what);
  std::abort();
}

/* The depth counts what has no bytes too, so that all of it is given back in order */
Scratch::Scratch(size_t bytes) : data_(NULL)
{
  if (depth == Deepest) {
    std::fprintf(stderr, "PetscMuon: a kernel of the device with more than %d pieces of scratch memory\n", Deepest);
    std::abort();
  }
  Grow(buffer[depth], bytes);
  if (bytes > 0) data_ = buffer[depth].data;
  depth++;
}

void *Kept(int which, size_t bytes)
{
  Grow(buffer[Deepest + which], bytes);
  return Raw((char *)buffer[Deepest + which].data);
}

Scratch::~Scratch()
{
  depth--;
}

void FetchSums(size_t count, const void *lanes, double *total)
{
  constexpr size_t few = 512;
  Scratch          sums(count * sizeof(double));
  double           some[few];

  Each("FoldLanes", count, FoldLanes{(const double *)Raw((const char *)lanes), (double *)Raw((char *)sums.data())});
  for (size_t k = 0; k < count; k += few) {
    const size_t here = count - k < few ? count - k : few;

    Copy(here * sizeof(double), (const char *)sums.data() + k * sizeof(double), some);
    for (size_t i = 0; i < here; i++) *total += some[i];
  }
}

} // namespace muon

extern "C" const MuonDevice *MuonDeviceKokkos(void)
{
#define KERNEL_SINGLE(type, name, arguments) muon::name<float>,
#define KERNEL_DOUBLE(type, name, arguments) muon::name<double>,
  static const MuonDevice device = {muon::Space::name(),
                                    muon::IsHost,
                                    {{"single", sizeof(float), 1.0 / 16777216.0, MUON_KERNELS_PASSES(KERNEL_SINGLE) MUON_KERNELS_MESSAGES(KERNEL_SINGLE) MUON_KERNELS_NORMS(KERNEL_SINGLE)},
                                     {"double", sizeof(double), 1.0 / 9007199254740992.0, MUON_KERNELS_PASSES(KERNEL_DOUBLE) MUON_KERNELS_MESSAGES(KERNEL_DOUBLE) MUON_KERNELS_NORMS(KERNEL_DOUBLE)}},
                                    muon::Start,
                                    muon::Allocate,
                                    muon::Release,
                                    [](const void *data) -> int { return muon::Owns(data); },
                                    muon::Copy,
                                    [](double bytes[2], double copies[2]) {
                                      memcpy(bytes, muon::movedbytes, sizeof(muon::movedbytes));
                                      memcpy(copies, muon::movedcopies, sizeof(muon::movedcopies));
                                    },
                                    muon::Zero,
                                    MuonVendorPin,
                                    MuonVendorUnpin,
                                    [](void *data) -> void * { return muon::Raw((char *)data); },
                                    muon::SetStream,
                                    []() {
                                      if (muon::Start() == NULL) muon::Instance().fence();
                                    },
                                    [](int on) { muon::staged = on; },
                                    [](void (*to)(const char *)) { muon::told = to; }};

  return &device;
}
