static char help[] = "Messages of arrays in the memory of a device beside those of arrays on the host, and the bytes that cross between the memories: no more than what a message holds.\n\n";

#include "compressor_common.h"
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonwire.h>

/* What an array holds */
enum {
  ORDINARY,
  HUGE_AND_TINY,
  ZERO,
  NOT_A_NUMBER,
  KINDS
};

/* Beside the defaults of a type, in variants; in the last one blocks of an array are compressed one by one */
enum {
  BLOCKS = 3
};
static const struct {
  int         variant;
  const char *types, *options;
} variants[] = {{1, "topk", "block_entries 4096"},          {2, "topk", "values 2bit"},          {1, "qsgd", "qsgd_block_norm l2"}, {1, "columntopk rowtopk", "line_norm 1"}, {2, "columntopk rowtopk", "line_norm 3"},
                {1, "powersgd", "powersgd_oversampling 2"}, {2, "powersgd", "powersgd_sweeps 2"}};

static const MuonDevice *device;
static char              what[128]; /* is being checked */

static size_t Room(const MuonArray *A)
{
  return A->ld * A->count * MuonArrayEntryBytes(A);
}

static PetscErrorCode CreateOnDevice(Matrix A, MuonArray *far)
{
  PetscFunctionBegin;
  *far        = A->array;
  far->memory = MUON_DEVICE;
  PetscCall(MuonMemoryAllocate(MUON_DEVICE, Room(far), &far->data));
  device->copy(Room(far), A->array.data, far->data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Lines of cosines, which are orthonormal as long as there are fewer than entries of one. For messages that choose among lines these have lengths
   that differ, since in other orders of sums others would be the longest of equal ones, and a few entries of the same size. Those that are huge and
   tiny have squares out of range, and sums of absolute values too
*/
static void Fill(Matrix A, int kind, PetscBool graded, double scale)
{
  const MuonArray *a    = &A->array;
  const double     most = a->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX, least = a->precision == MUON_SINGLE ? 1e-42 : 1e-300, len = (double)a->len;

  for (size_t e = 0; e < a->len * a->count; e++) {
    const size_t i = e % a->len, j = e / a->len;
    double       x = scale * sqrt(2.0 / len) * cos((double)PETSC_PI * ((double)i + 0.5) * (double)(j + 1) / len);

    if (graded) x *= (1 - (double)i / (4 * len)) * (1 - (double)j / (double)(4 * a->count));
    if (graded && (7 * i + j) % 11 == 0) x = 0.125 * scale;
    if (kind == HUGE_AND_TINY) x *= j % 2 == 0 ? most : least;
    SetAt(A, (PetscInt)e, kind == NOT_A_NUMBER && i == a->len / 2 && j == a->count / 2 ? (double)NAN : kind == ZERO ? 0 : x);
  }
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

/*
   Two low-rank messages of lines that are orthonormal times a scale of at most 1. The columns of P span those of A Q, whose condition is that of Q, a
   Gaussian with 60 rows and at most 26 columns, below 30, and then better. Householder's method and the products are each off by less than 2 (m + n)
   l units of roundoff, the first times the condition; factors are rounded once more by their codec. In the Frobenius norm. Where the leading ones of
   directions that are all alike are sent, the sizes are compared
*/
static PetscErrorCode CheckNear(const MuonCompressorLayout *layout, PetscBool size, Matrix X, Matrix Y)
{
  const MuonArray *a    = &X->array;
  const double     unit = a->precision == MUON_SINGLE ? 1.0 / 16777216 : 1.0 / 9007199254740992.0, l = (double)layout->header.count + 2;
  const double     codec = layout->header.values == MUON_WIRE_VALUES_DOUBLE ? unit : layout->header.values == MUON_WIRE_VALUES_SINGLE ? 1.0 / 16777216 : 1.0 / 256, bound = sqrt(l) * (8.0 * (double)(a->len + a->count) * l * 30 * unit + 4 * codec);
  const double     off = size ? fabs(sqrt(Squares(X, NULL)) - sqrt(Squares(Y, NULL))) : sqrt(Squares(X, Y));

  PetscFunctionBegin;
  /* Which way an entry is drawn depends on its last bit */
  if (layout->header.values != MUON_WIRE_VALUES_NATURAL) TestCheck(off <= bound, "%s: What a message says differs by %g, expected at most %g", what, off, bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMessages(const char choice[], int variant, int kind, MuonPrecision precision, PetscInt m, PetscInt n)
{
  const int            rowmajor = precision == MUON_SINGLE;
  PetscBool            rankk;                /* which keeps nothing */
  Matrix               T, R, Y, back, other; /* Y and back have the same gaps */
  Message              M[2];
  MuonCompressor       c[2];
  MuonCompressorLayout layout;
  MuonArray            far, base, to;
  double               before[2], moved[2], copies[2], most[3] = {0};
  PetscBool            graded, exact, valid;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, kind %d, variant %d, %d bytes", choice, kind, variant, precision == MUON_SINGLE ? 4 : 8));
  for (int k = 0; k < 2; k++) {
    PetscCall(Make(&c[k], choice));
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(variants); o++) {
      if (variant == variants[o].variant && Is(c[k], variants[o].types)) PetscCall(Tune(c[k], variants[o].options));
    }
    rankk = Is(c[k], "rankk");
    if (rankk) PetscCall(Tune(c[k], "rankk_method range"));
    if (variant == BLOCKS) PetscCall(MuonCompressorSetBlocks(c[k], 2, NULL, 3, NULL));
  }
  PetscCall(NewArray(rowmajor ? n : m, rowmajor ? m : n, precision, rowmajor, &T, &R, &Y, &other, &other, &back));
  PetscCall(NewMessage(&M[0], &M[1]));
  PetscCall(PetscMemzero(&layout, sizeof(layout)));
  PetscCall((*c[0]->ops->layout)(c[0], &T->array, &layout));
  exact  = layout.header.kind == MUON_WIRE_LOWRANK || (layout.header.kind == MUON_WIRE_BLOCKS && variant == 1 && kind == HUGE_AND_TINY) ? PETSC_FALSE : PETSC_TRUE;
  graded = layout.header.kind == MUON_WIRE_LOWRANK ? PETSC_FALSE : PETSC_TRUE;
  Fill(T, kind, graded, 1.0);
  Fill(R, kind == NOT_A_NUMBER ? ORDINARY : kind, graded, 0.25);
  PetscCall(CreateOnDevice(T, &far));
  PetscCall(CreateOnDevice(R, &base));
  PetscCall(CreateOnDevice(Y, &to));
  MostMoved(&layout, &T->array, most);
  /* The start, which is new in each message and has 10 columns more */
  if (rankk) most[0] += (double)((layout.header.count + 10) * PetscMin(T->array.len, T->array.count) * MuonArrayEntryBytes(&T->array));
  /* Blocks of 4096 are chosen from one by one */
  for (int way = 0; way < 2 && layout.header.kind == MUON_WIRE_SPARSE && variant == 1; way++) most[way] += 64.0 * (double)(MuonArrayEntries(&T->array) / 4096);
  /* The second message is made from what the first one left */
  for (int step = 0; step < 2; step++) {
    const PetscBool add = step == 1 ? PETSC_TRUE : PETSC_FALSE;

    Fill(Y, ORDINARY, graded, 0.5);
    device->copy(Room(&to), Y->array.data, to.data);
    for (int k = 0; k < 2; k++) PetscCall(MuonCompressorSetStep(c[k], 5 + step));
    PetscCall(Encode(c[0], T, step == 0 ? NULL : R, M[0]));
    if (M[1]->buf == NULL) PetscCall(PetscMalloc1(M[0]->room, &M[1]->buf));
    device->moved(before, copies);
    PetscCall(MuonCompressorEncodeArray(c[1], &far, step == 0 ? NULL : &base, M[0]->room, M[1]->buf, &M[1]->bytes, PETSC_FALSE, NULL, NULL));
    device->moved(moved, copies);
    M[1]->status = c[1]->status;
    TestCheck(M[0]->status == M[1]->status, "%s: message %d: status %s on the host, %s on the device", what, step, MuonStatuses[M[0]->status], MuonStatuses[M[1]->status]);
    TestCheck(kind != NOT_A_NUMBER || M[0]->status == MUON_STATUS_NANORINF, "%s: A message with NaN: status %s", what, MuonStatuses[M[0]->status]);
    TestCheck(!exact || SameMessage(M[0], M[1]), "%s: message %d is another on the device", what, step);
    if (M[0]->status == MUON_STATUS_OK) {
      for (int way = 0; way < 2 && kind == ORDINARY && variant != BLOCKS; way++)
        TestCheck(moved[way] - before[way] <= most[way], "%s: To encode, %g bytes came to the %s, expected at most %g", what, moved[way] - before[way], way == 0 ? "device" : "host", most[way]);
      PetscCall(MuonCompressorDecodeArray(c[0], add, 0.75, M[0]->bytes, M[0]->buf, &Y->array, &valid));
      TestCheck(valid, "%s: A message is not valid on the host", what);
      device->moved(before, copies);
      PetscCall(MuonCompressorDecodeArray(c[1], add, 0.75, M[1]->bytes, M[1]->buf, &to, &valid));
      device->moved(moved, copies);
      TestCheck(valid, "%s: A message is not valid on the device", what);
      TestCheck((variant == BLOCKS || moved[0] - before[0] <= most[2]) && moved[1] == before[1], "%s: To decode, %g bytes came to the device and %g to the host, expected at most %g and none", what, moved[0] - before[0], moved[1] - before[1],
                most[2]);
      device->copy(Room(&to), to.data, back->array.data);
      if (exact) TestCheck(Same(Y, back), "%s: message %d says something else on the device", what, step);
      /*
         Where sums of squares out of range have another order, Euclidean norms differ in their last digits, a binary32 that they are rounded up to by one,
         and with it what the levels stand for. No random number of these lies between two levels
      */
      else if (layout.header.kind == MUON_WIRE_BLOCKS) {
        for (PetscInt e = 0; e < m * n; e++) TestNear(what, GetAt(back, e), GetAt(Y, e), fabs(GetAt(Y, e)) / 4194304);
      } else if (kind == ORDINARY && variant != BLOCKS && (step == 0 || !rankk)) PetscCall(CheckNear(&layout, rankk, Y, back));
    }
    for (int k = 0; k < 2; k++) PetscCall(MuonCompressorCommit(c[k]));
  }
  if (layout.header.kind == MUON_WIRE_LOWRANK && kind == ORDINARY) {
    Count count;

    PetscCall(CountState(c[1], precision, &count));
    TestCheck(count.far == (rankk ? 0 : variant == BLOCKS ? 12 : 2), "%s: %d states are on the device, expected all", what, (int)count.far);
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
  Choice          choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(1));
  device = MuonDeviceGet();
  TestCheck(device != NULL && device->start() == NULL, "No device");
  for (PetscInt k = 0; TestChoice(k, choice); k++) {
    MuonCompressorLayout layout;
    PetscBool            rankk, ondevice;
    int                  kinds;

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
    kinds    = 1; /* of variants */
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(variants); o++) kinds = Is(c, variants[o].types) ? PetscMax(kinds, variants[o].variant + 1) : kinds;
    PetscCall(Free(0));
    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE && ondevice; precision++) {
      for (int variant = 0; variant < kinds; variant++) {
        /* Which of directions that are all alike are sent decides whether they fit into the range */
        for (int kind = 0; kind < KINDS; kind++)
          if (!rankk || kind != HUGE_AND_TINY) PetscCall(CheckMessages(choice, variant, kind, (MuonPrecision)precision, 150, 60));
      }
      PetscCall(CheckMessages(choice, BLOCKS, ORDINARY, (MuonPrecision)precision, 150, 60));
    }
    /* More than crosses at once */
    if (ondevice && (layout.header.kind == MUON_WIRE_DENSE || layout.header.kind == MUON_WIRE_BLOCKS) && k % 2 == 0) PetscCall(CheckMessages(choice, 0, ORDINARY, MUON_DOUBLE, 1100, 1000));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    requires: kokkos

TEST*/
