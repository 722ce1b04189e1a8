static char help[] = "Messages of arrays in the memory of a device beside those of arrays on the host, and the bytes that cross between the memories: no more than what a message holds.\n\n";

#include "compressor_common.h"
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonwire.h>
#include <float.h>

/* What an array holds */
enum {
  ORDINARY,
  HUGE_AND_TINY,
  ZERO,
  NOT_A_NUMBER,
  KINDS
};

/* The variant in which blocks of an array are compressed one by one */
enum {
  BLOCKS = 3
};

static const MuonDevice *device;
static char              what[128]; /* is being checked */

static size_t Room(const MuonArray *A)
{
  return A->ld * A->count * MuonArrayEntryBytes(A);
}

static void ToDevice(const MuonArray *A, const MuonArray *far)
{
  device->copy(Room(A), A->data, far->data);
}

static PetscErrorCode CreateOnDevice(const MuonArray *A, MuonArray *far)
{
  PetscFunctionBegin;
  *far        = *A;
  far->memory = MUON_DEVICE;
  PetscCall(MuonMemoryAllocate(MUON_DEVICE, Room(A), &far->data));
  ToDevice(A, far);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetEntry(const MuonArray *A, size_t i, size_t j, double x)
{
  if (A->precision == MUON_SINGLE) ((float *)A->data)[j * A->ld + i] = (float)x;
  else ((double *)A->data)[j * A->ld + i] = x;
}

static double GetEntry(const MuonArray *A, size_t i, size_t j)
{
  return A->precision == MUON_SINGLE ? (double)((float *)A->data)[j * A->ld + i] : ((double *)A->data)[j * A->ld + i];
}

/*
   Lines of cosines, which are orthonormal as long as there are fewer than entries of one. For messages that choose among lines these have lengths
   that differ, since in other orders of sums others would be the longest of equal ones, and a few entries of the same size. Those that are huge and
   tiny have squares out of range, and sums of absolute values too
*/
static void Fill(const MuonArray *A, int kind, PetscBool graded, double scale)
{
  const double most = A->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX, least = A->precision == MUON_SINGLE ? 1e-42 : 1e-300;

  for (size_t j = 0; j < A->count; j++) {
    for (size_t i = 0; i < A->len; i++) {
      double x = scale * sqrt(2.0 / (double)A->len) * cos(3.14159265358979323846 * ((double)i + 0.5) * (double)(j + 1) / (double)A->len);

      if (graded) x *= (1 - (double)i / (double)(4 * A->len)) * (1 - (double)j / (double)(4 * A->count));
      if (graded && (7 * i + j) % 11 == 0) x = 0.125 * scale;
      if (kind == HUGE_AND_TINY) x *= j % 2 == 0 ? most : least;
      SetEntry(A, i, j, kind == ZERO ? 0.0 : x);
    }
  }
  if (kind == NOT_A_NUMBER) SetEntry(A, A->len / 2, A->count / 2, (double)NAN);
}

/*
   What may cross to the device [0] and to the host [1] while a message is made, and to the device while it is taken apart [2], when nothing comes back.
   A value takes what its codec begins from, natural codes two bytes where positions are not chosen among all entries; kept entries a bit each as well,
   levels a byte, lines, blocks and columns a few numbers each. Sums come by 1024 entries
*/
static void MostMoved(const MuonCompressorLayout *layout, const MuonArray *A, double most[3])
{
  const double d = (double)MuonArrayEntries(A), len = (double)A->len, lines = (double)A->count, count = (double)layout->header.count, size = (double)MuonArrayEntryBytes(A), l = count + 2;
  const double bits = 8.0 * ceil(d / 64), sums = 8.0 * ceil(len / 1024) * lines + 64, blocks = ceil(d / 256);
  const double value = layout->header.values == MUON_WIRE_VALUES_DOUBLE ? size : layout->header.values == MUON_WIRE_VALUES_NATURAL ? 2 : 4;
  const struct {
    int    kind;
    double most[3];
  } rows[] = {{MUON_WIRE_DENSE, {64, value * d, value * d}},
              {MUON_WIRE_SPARSE, {64, bits + PetscMax(value, 4) * count + 64, bits + value * count}},
              {MUON_WIRE_SEEDED, {bits, PetscMax(value, 4) * count, bits + value * count}},
              {MUON_WIRE_SIGNS, {64, bits + 8.0 * ceil(d / 1024), bits}},
              {MUON_WIRE_BLOCKS, {8.0 * blocks, d + 16.0 * blocks, d + 16.0 * blocks}},
              {MUON_WIRE_WHOLEROWS, {64, value * count * len + 16.0 * lines, value * count * len}},
              {MUON_WIRE_WHOLECOLUMNS, {64, value * count * lines + 16.0 * len, value * count * lines}},
              {MUON_WIRE_LOWRANK, {size * l * lines + 16.0 * l, value * count * (len + lines) + sums + 6 * 8.0 * l, value * count * (len + lines)}}};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    for (int i = 0; i < 3 && rows[k].kind == (int)layout->header.kind; i++) most[i] = rows[k].most[i];
  }
}

/* X += what is said, Y the same on the device; the bytes that crossed meanwhile */
static PetscErrorCode DecodeFar(MuonCompressor c, PetscBool add, size_t bytes, const unsigned char buf[], const MuonArray *far, double moved[2])
{
  double    before[2], copies[2];
  PetscBool valid;

  PetscFunctionBegin;
  device->moved(before, copies);
  PetscCall(MuonCompressorDecodeArray(c, add, 0.75, bytes, buf, far, &valid));
  device->moved(moved, copies);
  TestCheck(valid, "%s: A message is not valid on the device", what);
  for (int k = 0; k < 2; k++) moved[k] -= before[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountOnDevice(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  if (state->array->memory == MUON_DEVICE) ++*(int *)visitor->ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two low-rank messages of lines that are orthonormal times a scale of at most 1. The columns of P span those of A Q, whose condition is that of Q, a
   Gaussian with 60 rows and at most 26 columns, below 30, and then better. Householder's method and the products are each off by less than 2 (m + n)
   l units of roundoff, the first times the condition; factors are rounded once more by their codec. In the Frobenius norm. Where the leading ones of
   directions that are all alike are sent, the sizes are compared
*/
static PetscErrorCode CheckNear(const MuonCompressorLayout *layout, PetscBool size, const MuonArray *X, const MuonArray *Y)
{
  const double unit = X->precision == MUON_SINGLE ? 1.0 / 16777216 : 1.0 / 9007199254740992.0, l = (double)layout->header.count + 2;
  const double codec = layout->header.values == MUON_WIRE_VALUES_DOUBLE ? unit : layout->header.values == MUON_WIRE_VALUES_SINGLE ? 1.0 / 16777216 : 1.0 / 256, bound = sqrt(l) * (8.0 * (double)(X->len + X->count) * l * 30 * unit + 4 * codec);
  double       sum = 0, x = 0, y = 0;

  PetscFunctionBegin;
  for (size_t j = 0; j < X->count; j++) {
    for (size_t i = 0; i < X->len; i++) {
      sum += PetscSqr(GetEntry(X, i, j) - GetEntry(Y, i, j));
      x += PetscSqr(GetEntry(X, i, j));
      y += PetscSqr(GetEntry(Y, i, j));
    }
  }
  if (size) sum = PetscSqr(sqrt(x) - sqrt(y));
  /* Which way an entry is drawn depends on its last bit */
  if (layout->header.values != MUON_WIRE_VALUES_NATURAL) TestCheck(sqrt(sum) <= bound, "%s: What a message says differs by %g, expected at most %g", what, sqrt(sum), bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where sums of squares out of range have another order, Euclidean norms differ in their last digits, a binary32 that they are rounded up to by one,
   and with it what the levels stand for. No random number of these lies between two levels
*/
static PetscErrorCode CheckLevels(const MuonArray *X, const MuonArray *Y)
{
  PetscFunctionBegin;
  for (size_t j = 0; j < X->count; j++) {
    for (size_t i = 0; i < X->len; i++) {
      const double x = GetEntry(X, i, j), y = GetEntry(Y, i, j);

      TestCheck(fabs(x - y) <= fabs(x) / 4194304, "%s: an entry is %.17g on the host and %.17g on the device", what, x, y);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside the defaults of a type */
static const struct {
  int         variant;
  const char *type, *key, *value;
} options[] = {
  {1, "topk", "compressor_block_entries", "4096"}, {2, "topk", "compressor_values", "2bit"},    {1, "qsgd", "compressor_qsgd_block_norm", "l2"},
  {1, "columntopk", "compressor_line_norm", "1"},  {1, "rowtopk", "compressor_line_norm", "1"}, {1, "powersgd", "compressor_powersgd_oversampling", "2"},
  {2, "columntopk", "compressor_line_norm", "3"},  {2, "rowtopk", "compressor_line_norm", "3"}, {2, "powersgd", "compressor_powersgd_sweeps", "2"},
};

/* The message in a buffer of its own */
static PetscErrorCode EncodeTo(MuonCompressor c, const MuonArray *T, const MuonArray *R, unsigned char **buf, size_t *bytes)
{
  size_t most;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytesOf(c, T, &most));
  PetscCall(PetscMalloc1(most, buf));
  PetscCall(MuonCompressorEncodeArray(c, T, R, most, *buf, bytes, PETSC_FALSE, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMessages(const char choice[], int variant, int kind, MuonPrecision precision, PetscInt m, PetscInt n)
{
  const int            rowmajor = precision == MUON_SINGLE;
  PetscBool            rankk; /* which keeps nothing */
  Matrix               A[6];  /* the third and the last have the same gaps */
  MuonCompressor       c[2];
  MuonCompressorLayout layout;
  MuonArray            T, R, Y, back, far, base, to;
  unsigned char       *buf[2];
  double               before[2], after[2], copies[2], most[3] = {0};
  size_t               bytes[2];
  int                  states = 0;
  PetscBool            graded, exact;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, kind %d, variant %d, %d bytes", choice, kind, variant, precision == MUON_SINGLE ? 4 : 8));
  for (int k = 0; k < 2; k++) {
    PetscCall(Make(&c[k], choice));
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
      if (variant == options[o].variant && Is(c[k], options[o].type)) PetscCall(MuonObjectSetParameter((PetscObject)c[k], options[o].key, options[o].value));
    }
    rankk = Is(c[k], "rankk");
    if (rankk) PetscCall(Tune(c[k], "rankk_method range"));
    if (variant == BLOCKS) PetscCall(MuonCompressorSetBlocks(c[k], 2, NULL, 3, NULL));
  }
  PetscCall(NewArray(rowmajor ? n : m, rowmajor ? m : n, precision, rowmajor, &A[0], &A[1], &A[2], &A[3], &A[4], &A[5]));
  T    = A[0]->array;
  R    = A[1]->array;
  Y    = A[2]->array;
  back = A[5]->array;
  PetscCall(PetscMemzero(&layout, sizeof(layout)));
  PetscCall((*c[0]->ops->layout)(c[0], &T, &layout));
  exact  = layout.header.kind == MUON_WIRE_LOWRANK || (layout.header.kind == MUON_WIRE_BLOCKS && variant == 1 && kind == HUGE_AND_TINY) ? PETSC_FALSE : PETSC_TRUE;
  graded = layout.header.kind == MUON_WIRE_LOWRANK ? PETSC_FALSE : PETSC_TRUE;
  Fill(&T, kind, graded, 1.0);
  Fill(&R, kind == NOT_A_NUMBER ? ORDINARY : kind, graded, 0.25);
  PetscCall(CreateOnDevice(&T, &far));
  PetscCall(CreateOnDevice(&R, &base));
  PetscCall(CreateOnDevice(&Y, &to));
  /* The second message is made from what the first one left */
  for (int step = 0; step < 2; step++) {
    MuonStatus status[2];

    Fill(&Y, ORDINARY, graded, 0.5);
    ToDevice(&Y, &to);
    for (int k = 0; k < 2; k++) PetscCall(MuonCompressorSetStep(c[k], 5 + step));
    PetscCall(EncodeTo(c[0], &T, step == 0 ? NULL : &R, &buf[0], &bytes[0]));
    device->moved(before, copies);
    PetscCall(EncodeTo(c[1], &far, step == 0 ? NULL : &base, &buf[1], &bytes[1]));
    device->moved(after, copies);
    for (int k = 0; k < 2; k++) status[k] = c[k]->status;
    TestCheck(status[0] == status[1], "%s: message %d: status %s on the host, %s on the device", what, step, MuonStatuses[status[0]], MuonStatuses[status[1]]);
    TestCheck(kind != NOT_A_NUMBER || status[0] == MUON_STATUS_NANORINF, "%s: A message with NaN: status %s", what, MuonStatuses[status[0]]);
    if (exact) TestCheck(bytes[0] == bytes[1] && memcmp(buf[0], buf[1], bytes[0]) == 0, "%s: message %d is another on the device", what, step);
    if (status[0] == MUON_STATUS_OK) {
      PetscBool valid;

      MostMoved(&layout, &T, most);
      /* The start, which is new in each message and has 10 columns more */
      if (rankk) most[0] += (double)((layout.header.count + 10) * PetscMin(T.len, T.count) * MuonArrayEntryBytes(&T));
      /* Blocks of 4096 are chosen from one by one */
      for (int way = 0; way < 2 && layout.header.kind == MUON_WIRE_SPARSE && variant == 1; way++) most[way] += 64.0 * (double)(MuonArrayEntries(&T) / 4096);
      for (int way = 0; way < 2 && kind == ORDINARY && variant != BLOCKS; way++)
        TestCheck(after[way] - before[way] <= most[way], "%s: To encode, %g bytes came to the %s, expected at most %g", what, after[way] - before[way], way == 0 ? "device" : "host", most[way]);
      PetscCall(MuonCompressorDecodeArray(c[0], step == 1 ? PETSC_TRUE : PETSC_FALSE, 0.75, bytes[0], buf[0], &Y, &valid));
      TestCheck(valid, "%s: A message is not valid on the host", what);
      PetscCall(DecodeFar(c[1], step == 1 ? PETSC_TRUE : PETSC_FALSE, bytes[1], buf[1], &to, after));
      TestCheck((variant == BLOCKS || after[0] <= most[2]) && after[1] == 0.0, "%s: To decode, %g bytes came to the device and %g to the host, expected at most %g and none", what, after[0], after[1], most[2]);
      device->copy(Room(&back), to.data, back.data);
      if (exact) TestCheck(Same(A[2], A[5]), "%s: message %d says something else on the device", what, step);
      else if (layout.header.kind == MUON_WIRE_BLOCKS) PetscCall(CheckLevels(&Y, &back));
      else if (kind == ORDINARY && variant != BLOCKS && (step == 0 || !rankk)) PetscCall(CheckNear(&layout, rankk, &Y, &back));
    }
    for (int k = 0; k < 2; k++) {
      PetscCall(MuonCompressorCommit(c[k]));
      PetscCall(PetscFree(buf[k]));
    }
  }
  if (layout.header.kind == MUON_WIRE_LOWRANK && kind == ORDINARY) {
    MuonStateVisitor visitor;

    PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
    visitor.visit = CountOnDevice;
    visitor.ctx   = &states;
    PetscCall(MuonCompressorVisitState(c[1], &visitor));
    TestCheck(states == (rankk ? 0 : variant == BLOCKS ? 12 : 2), "%s: %d states are on the device, expected all", what, states);
  }
  PetscCall(Free(0));
  PetscCall(MuonArrayDestroy(&far));
  PetscCall(MuonArrayDestroy(&base));
  PetscCall(MuonArrayDestroy(&to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonArray shape = MuonArrayOfScalars(6, 4, NULL, 6);
  MuonCompressor  c;
  PetscBool       more;
  Choice          choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(1));
  device = MuonDeviceGet();
  TestCheck(device != NULL && device->start() == NULL, "No device");
  for (PetscInt k = 0;; k++) {
    MuonCompressorLayout layout;
    PetscBool            rankk, ondevice;
    int                  variants;

    PetscCall(GetChoice(k, choice, &more));
    if (!more) break;
    /* A variant has other blocks */
    if (strstr(choice, "block_entries") != NULL) continue;
    PetscCall(Make(&c, choice));
    rankk = Is(c, "rankk");
    TestCheck(c->ondevice != Is(c, "rankk topsvd"), "Compressor %s on a device: %d", choice, (int)c->ondevice);
    if (rankk) {
      PetscCall(Tune(c, "rankk_method range"));
      TestCheck(c->ondevice, "The range finder of %s on a device: no", choice);
    }
    PetscCall(PetscMemzero(&layout, sizeof(layout)));
    PetscCall((*c->ops->layout)(c, &shape, &layout));
    ondevice = c->ondevice;
    PetscCall(Free(0));
    variants = rankk                                  ? 1
             : layout.header.kind == MUON_WIRE_BLOCKS ? 2
                                                      : (layout.header.kind == MUON_WIRE_SPARSE || layout.header.kind == MUON_WIRE_LOWRANK || layout.header.kind == MUON_WIRE_WHOLEROWS || layout.header.kind == MUON_WIRE_WHOLECOLUMNS ? 3 : 1);
    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE && ondevice; precision++) {
      for (int variant = 0; variant < variants; variant++) {
        /* Which of directions that are all alike are sent decides whether they fit into the range */
        for (int kind = 0; kind < KINDS; kind++)
          if (!rankk || kind != HUGE_AND_TINY) PetscCall(CheckMessages(choice, variant, kind, (MuonPrecision)precision, 150, 60));
      }
      PetscCall(CheckMessages(choice, BLOCKS, ORDINARY, (MuonPrecision)precision, 150, 60));
    }
    /* More than crosses at once */
    if (ondevice && (layout.header.kind == MUON_WIRE_DENSE || layout.header.kind == MUON_WIRE_BLOCKS) && k % 2 == 0) PetscCall(CheckMessages(choice, 0, ORDINARY, MUON_DOUBLE, 1100, 1000));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    requires: kokkos
    output_file: output/kernels_ok.out

TEST*/
