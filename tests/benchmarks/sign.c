static char help[] = "Times what SignMuon does beside its exchange: signs to bits, the vote on planes of bits, and the majority to new weights, beside the triad of the same run.\n\n"
                     "  ./sign -benchmark_entries 67108864\n\n"
                     "Bytes are those that must be read or written: of the weights and of the planes of bits.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/petscmuonimpl.h>
#include "kernels/codec/muonkernels.h"
#include "benchmark_common.h"

#define AIM 0.7

typedef struct {
  size_t                entries, planes;
  MuonArray             X, Y;
  unsigned char        *bits;
  const unsigned char **plane;
  unsigned char        *vote;
} Memory;

typedef enum {
  PACK,
  VOTE,
  VOTE_AND_SUM,
  MOVE
} What;

/* What is measured, once; returns what a compiler must not leave out */
static double Run(Memory *m, What what, PetscInt workers)
{
  const MuonKernels *kernels = MuonArrayKernels(&m->X);
  uint64_t           sum     = 0;
  double             sumabs  = 0;

  switch (what) {
  case PACK:
    (void)kernels->Signs(m->X.len, m->X.count, m->X.data, m->X.ld, NULL, 0, m->bits, NULL, &sumabs);
    return sumabs;
  case VOTE:
  case VOTE_AND_SUM:
    MuonKernelVote(m->entries, (size_t)workers, m->plane, NULL, MUON_KERNEL_TIE_PLUS, m->vote, NULL, what == VOTE ? NULL : &sum);
    return (double)sum;
  case MOVE:
    kernels->SignsAxpby(m->X.len, m->X.count, m->bits, NULL, 1, m->X.data, m->X.ld, 1e-3, m->X.data, m->X.ld);
    break;
  }
  return 0;
}

static PetscErrorCode Measure(Memory *m, What what, PetscInt workers, const char name[], double bytes, PetscInt repetitions, PetscReal times[], PetscLogDouble triad)
{
  PetscLogDouble start, median;
  double         rate;

  PetscFunctionBeginUser;
  for (PetscInt r = -1; r < repetitions; r++) {
    volatile double seen;

    PetscCall(Now(&start));
    seen = Run(m, what, workers);
    (void)seen;
    if (r >= 0) PetscCall(Elapsed(start, &times[r]));
  }
  PetscCall(Median(repetitions, times, &median));
  rate = bytes / median;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-44s%10.2f%10.2f%10.2f%s\n", name, rate / 1e9, (double)m->entries / median / 1e9, rate / triad, rate < AIM * triad ? "  MISSED" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasurePrecision(MuonPrecision precision, Memory *m, PetscInt repetitions, PetscReal times[], PetscLogDouble triad)
{
  const double entry = precision == MUON_SINGLE ? 4 : 8, d = (double)m->entries;
  MuonArray    shape;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&shape, sizeof(shape)));
  shape.len    = m->entries;
  shape.count  = 1;
  shape.memory = MUON_HOST;
  PetscCall(MuonArrayCreate(&shape, precision, &m->X));
  for (size_t i = 0; i < m->entries; i++) {
    const double x = (double)((i * 2654435761u) % 1000003) / 500000 - 1;

    if (precision == MUON_SINGLE) ((float *)m->X.data)[i] = (float)x;
    else ((double *)m->X.data)[i] = x;
  }
  PetscCall(Measure(m, PACK, 1, precision == MUON_SINGLE ? "signs to bits, single" : "signs to bits, double", d * (entry + 1. / 8), repetitions, times, triad));
  PetscCall(Measure(m, MOVE, 1, precision == MUON_SINGLE ? "majority to weights, single" : "majority to weights, double", d * (2 * entry + 1. / 8), repetitions, times, triad));
  PetscCall(MuonArrayDestroy(&m->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt workers[]   = {2, 8, 64};
  PetscInt              repetitions = 5, entries = 67108864;
  PetscLogDouble        triad, again;
  PetscReal            *times;
  Memory                m;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of signs", NULL);
  PetscCall(PetscOptionsInt("-benchmark_entries", "Entries of the weights, and of a plane of 64 workers", NULL, entries, &entries, NULL));
  PetscCall(PetscOptionsInt("-benchmark_repetitions", "Runs of which the median is taken, after one that is not counted", NULL, repetitions, &repetitions, NULL));
  PetscCall(PetscOptionsEnum("-benchmark_clock", "wall, or cpu where others use the machine", NULL, Clocks, (PetscEnum)ticks, (PetscEnum *)&ticks, NULL));
  PetscOptionsEnd();
  PetscCheck(repetitions > 0 && entries > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_repetitions %" PetscInt_FMT " and -benchmark_entries %" PetscInt_FMT " must be positive", repetitions, entries);
  PetscCall(PetscMalloc1(repetitions, &times));
  PetscCall(PetscMemzero(&m, sizeof(m)));
  m.entries = (size_t)entries;
  m.planes  = 64;
  PetscCall(PetscMalloc1(m.entries / 8 + 1, &m.bits));
  PetscCall(PetscMalloc1(m.entries / 8 + 1, &m.vote));
  PetscCall(PetscMalloc1(m.planes, &m.plane));
  for (size_t j = 0; j < m.planes; j++) {
    unsigned char *plane;

    PetscCall(PetscMalloc1(m.entries / 8 + 1, &plane));
    for (size_t i = 0; i < m.entries / 8 + 1; i++) plane[i] = (unsigned char)((i * 40503u + j * 977u) >> 7 & 255);
    m.plane[j] = plane;
  }
  PetscCall(MeasureTriad(repetitions, times, &triad));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " entries; seconds of the clock %s; triad: %.2f GB/s\n%-44s%10s%10s%10s\n", entries, Clocks[ticks], triad / 1e9, "", "GB/s", "1e9/s", "of triad"));
  PetscCall(MeasurePrecision(MUON_SINGLE, &m, repetitions, times, triad));
  PetscCall(MeasurePrecision(MUON_DOUBLE, &m, repetitions, times, triad));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(workers); k++) {
    const double bytes = (double)m.entries / 8 * (double)(workers[k] + 1);
    char         name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "vote of %" PetscInt_FMT " workers", workers[k]));
    PetscCall(Measure(&m, VOTE, workers[k], name, bytes, repetitions, times, triad));
    PetscCall(PetscSNPrintf(name, sizeof(name), "vote of %" PetscInt_FMT " workers, and how far they agree", workers[k]));
    PetscCall(Measure(&m, VOTE_AND_SUM, workers[k], name, bytes, repetitions, times, triad));
  }
  PetscCall(MeasureTriad(repetitions, times, &again));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "triad: %.2f GB/s afterwards; the aim is %.2f of it\n", again / 1e9, AIM));
  for (size_t j = 0; j < m.planes; j++) PetscCall(PetscFree(m.plane[j]));
  PetscCall(PetscFree(m.plane));
  PetscCall(PetscFree(m.bits));
  PetscCall(PetscFree(m.vote));
  PetscCall(PetscFree(times));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:
    args: -benchmark_entries 100000 -benchmark_repetitions 1
    filter: cut -c 1-44 | grep -E "signs|majority|vote" | sed 's, *$,,'

TEST*/
