/*
   A compressor with blocks is one compressor for each block, to the last bit: messages, what is decoded,
   costs, constants and state. What the message of the blocks is refused for, and that a grid of one block is
   none.
*/
#include "compressor_common.h"
#include <petscmuon/private/muonwire.h>
#include "fails.h"

enum {
  M     = 12,
  N     = 10,
  STEPS = 3 /* messages in a row, for types with state */
};

/* Where blocks begin, and their sizes, or NULL where all are equal */
typedef struct {
  PetscInt        nrows, ncolumns;
  const PetscInt *rows, *columns;
  PetscInt        row[6], column[6];
} Grid;

static const PetscInt five[] = {5, 4, 3}, seven[] = {7, 3};
static const Grid     grids[] = {{3, 2, five, seven, {0, 5, 9, 12}, {0, 7, 10}}, /* the sizes of the first */
                                 {4, 1, NULL, NULL, {0, 3, 6, 9, 12}, {0, 10}},
                                 {1, 5, NULL, NULL, {0, 12}, {0, 2, 4, 6, 8, 10}}};

static PetscErrorCode MakeNamed(MuonCompressor *c, const char name[], const char type[], const char values[])
{
  PetscFunctionBegin;
  PetscCall(Make(c, "%s ratio 0.3 values %s", type, values));
  PetscCall(MuonCompressorSetStream(*c, 11, name, 3, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FNV-1a of the name w, written down a second time */
static unsigned int HashOfW(void)
{
  return (2166136261u ^ 'w') * 16777619u;
}

/*
   The object with blocks beside one object for each of them, whose blocks are parts in the memory of the whole: messages, what they say,
   at once and later, costs and constants
*/
static PetscErrorCode CheckGrid(const char type[], const char values[], const Grid *grid, MuonPrecision precision, int rowmajor)
{
  const PetscInt count = grid->nrows * grid->ncolumns;
  MuonCompressor whole, part[6];
  Matrix         T, R, Y, Z, sum, sums, t[6], r[6], y[6], s[6];
  Message        all, one;
  PetscReal      alpha, least = 2;
  size_t         most, room   = 0, bytes;

  PetscFunctionBegin;
  PetscCall(MakeNamed(&whole, "w", type, values));
  PetscCall(MuonCompressorSetBlocks(whole, grid->nrows, grid->rows, grid->ncolumns, grid->columns));
  PetscCall(NewArray(M, N, precision, rowmajor, &T, &R, &Y, &Z, &sum, &sums));
  PetscCall(NewMessage(&all, &one));
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt *row = &grid->row[k / grid->ncolumns], *column = &grid->column[k % grid->ncolumns], m = row[1] - row[0], n = column[1] - column[0];
    char            name[16];

    PetscCall(PetscSNPrintf(name, sizeof(name), "w[%d]", (int)k));
    PetscCall(MakeNamed(&part[k], name, type, values));
    PetscCall(NewPart(T, row[0], column[0], m, n, &t[k]));
    PetscCall(NewPart(R, row[0], column[0], m, n, &r[k]));
    PetscCall(NewPart(Z, row[0], column[0], m, n, &y[k]));
    PetscCall(NewPart(sums, row[0], column[0], m, n, &s[k]));
    PetscCall(MuonCompressorGetAlpha(part[k], m, n, &alpha));
    PetscCall(MuonCompressorGetMaxBytesOf(part[k], &t[k]->array, &bytes));
    least = PetscMin(least, alpha);
    room += bytes;
  }
  PetscCall(MuonCompressorGetAlpha(whole, M, N, &alpha));
  PetscCall(MuonCompressorGetMaxBytesOf(whole, &T->array, &most));
  TestNear(type, alpha, least, 0);
  TestNear(type, most, room + MUON_WIRE_MESSAGE_HEADER_MOST, 0);
  for (PetscInt step = 0; step < STEPS; step++) {
    MuonCompressorCost cost, costs, total = {0, 0, 0};
    MuonWireGroup      group;

    Random(T, 1);
    Random(R, step == 1 ? 1e-3 : 1);
    PetscCall(MuonCompressorSetStep(whole, step));
    PetscCall(Ways(whole, whole, T, step == 2 ? NULL : R, Y, sum, all, &cost));
    TestCheck(MuonWireGroupOpen(all->buf, all->bytes, HashOfW(), (uint64_t)count, &group) == MUON_WIRE_OK, "%s: no group", type);
    PetscCall(MuonCompressorCommit(whole));
    for (PetscInt k = 0; k < count; k++) {
      const unsigned char *from = MuonWireGroupNext(&group, &bytes);

      PetscCall(MuonCompressorSetStep(part[k], step));
      PetscCall(Ways(part[k], part[k], t[k], step == 2 ? NULL : r[k], y[k], s[k], one, &costs));
      TestCheck(bytes == one->bytes && memcmp(from, one->buf, bytes) == 0, "%s: message of block %d in step %d differs", type, (int)k, (int)step);
      total.paper += costs.paper;
      total.encoded += costs.encoded;
      total.entropy += costs.entropy;
      PetscCall(MuonCompressorCommit(part[k]));
    }
    TestCheck(Same(Y, Z) && Same(sum, sums), "%s: what is decoded or added is not that of the blocks", type);
    TestNear(type, cost.paper, total.paper, 0);
    TestNear(type, cost.entropy, total.entropy, 0);
    TestCheck(cost.encoded > total.encoded, "%s: %g bits are sent, %g in the blocks", type, cost.encoded, total.encoded);
    TestMost(type, cost.encoded, total.encoded + 8 * MUON_WIRE_MESSAGE_HEADER_MOST);
  }
  PetscCall(MuonCompressorReset(whole));
  PetscCall(Send(whole, T, NULL, all));
  PetscCall(Decode(whole, all, PETSC_FALSE, 1, Y));
  PetscCall(Apply(whole, STEPS - 1, T, Z));
  TestCheck(Same(Y, Z), "%s: what Apply() gives is not the message", type);
  /* A number that is none, in the last block */
  Set(T, M - 1, N - 1, (double)NAN);
  PetscCall(Encode(whole, T, NULL, all));
  TestCheck(all->status == MUON_STATUS_NANORINF, "%s: status %d for a NaN", type, (int)all->status);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid of one block, and blocks of what is sent whole, leave the bytes as they were */
static PetscErrorCode CheckWhole(const char type[], PetscInt nrows)
{
  const PetscInt all[1] = {M};
  MuonCompressor without, with;
  Matrix         T;
  Message        one, other;

  PetscFunctionBegin;
  PetscCall(New(M, N, &T));
  PetscCall(NewMessage(&one, &other));
  Random(T, 1);
  PetscCall(MakeNamed(&without, "w", type, "single"));
  PetscCall(MakeNamed(&with, "w", type, "single"));
  PetscCall(MuonCompressorSetBlocks(with, nrows, nrows == 1 ? all : NULL, 1, NULL));
  PetscCall(Send(without, T, NULL, one));
  PetscCall(Send(with, T, NULL, other));
  TestCheck(SameMessage(one, other), "%s: %zu bytes with one block, %zu without", type, other->bytes, one->bytes);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckValid(MuonCompressor c, Matrix shape, size_t bytes, Message message, PetscBool expected, const char what[])
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorValidateArray(c, &shape->array, bytes, message->buf, PETSC_FALSE, NULL, NULL, &valid));
  TestCheck(valid == expected, "%s: %s", what, valid ? "accepted" : "refused");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(void)
{
  const PetscInt       rows[2] = {5, 7}, columns[2] = {4, 6};
  MuonCompressor       c, other;
  Matrix               T, Y;
  Message              blocks, copy, whole;
  size_t               bytes, length[2];
  const unsigned char *from[2];
  MuonWireGroup        group;

  PetscFunctionBegin;
  PetscCall(New(M, N, &T, &Y));
  PetscCall(NewMessage(&blocks, &copy, &whole));
  Random(T, 1);
  PetscCall(MakeNamed(&c, "w", "topk", "natural"));
  PetscCall(Send(c, T, NULL, whole));
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 2, NULL));
  PetscCall(Send(c, T, NULL, blocks));
  PetscCall(Send(c, T, NULL, copy));
  bytes = blocks->bytes;
  PetscCall(CheckValid(c, T, bytes, blocks, PETSC_TRUE, "as it is"));
  PetscCall(CheckValid(c, T, whole->bytes, whole, PETSC_FALSE, "a message without blocks"));
  for (size_t cut = 0; cut < bytes; cut++) PetscCall(CheckValid(c, T, cut, blocks, PETSC_FALSE, "a message that was cut"));
  TestCheck(copy->room > bytes, "No room for another byte");
  copy->buf[bytes] = 0;
  PetscCall(CheckValid(c, T, bytes + 1, copy, PETSC_FALSE, "a byte more"));
  /* Blocks of one shape are known by their names */
  TestCheck(MuonWireGroupOpen(blocks->buf, bytes, HashOfW(), 4, &group) == MUON_WIRE_OK, "no group");
  for (PetscInt k = 0; k < 2; k++) from[k] = MuonWireGroupNext(&group, &length[k]);
  memcpy(copy->buf + (from[0] - blocks->buf), from[1], length[1]);
  memcpy(copy->buf + (from[0] - blocks->buf) + length[1], from[0], length[0]);
  PetscCall(CheckValid(c, T, bytes, copy, PETSC_FALSE, "two blocks in each other's place"));
  /* Other grids, another layer, no grid */
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(CheckValid(c, T, bytes, blocks, PETSC_FALSE, "four blocks for two"));
  PetscCall(MuonCompressorSetBlocks(c, 2, rows, 2, columns));
  PetscCall(CheckValid(c, T, bytes, blocks, PETSC_FALSE, "blocks of 6 x 5 for others"));
  PetscCall(MuonCompressorSetBlocks(c, 1, NULL, 1, NULL));
  PetscCall(CheckValid(c, T, bytes, blocks, PETSC_FALSE, "blocks where there are none"));
  PetscCall(CheckValid(c, T, whole->bytes, whole, PETSC_TRUE, "none again"));
  PetscCall(MakeNamed(&other, "v", "topk", "natural"));
  PetscCall(MuonCompressorSetBlocks(other, 2, NULL, 2, NULL));
  PetscCall(CheckValid(other, T, bytes, blocks, PETSC_FALSE, "another layer"));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error inside a block is one of that call alone, and a message whose last block is none changes nothing */
static PetscErrorCode CheckErrors(void)
{
  MuonCompressor c;
  Matrix         T, Y, Z;
  Message        message;
  size_t         most;

  PetscFunctionBegin;
  PetscCall(New(M, N, &T, &Y, &Z));
  PetscCall(NewMessage(&message));
  Random(T, 1);
  Random(Y, 1);
  Copy(Y, Z);
  PetscCall(MakeNamed(&c, "w", "qsgd", "single"));
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(Send(c, T, NULL, message));
  Fails(MuonCompressorGetMaxBytes(c, 1 << 18, 1 << 17, &most), PETSC_ERR_SUP, "");
  PetscCall(CheckValid(c, T, message->bytes, message, PETSC_TRUE, "after an error in a block"));
  message->buf[message->bytes - 1] |= 0x80; /* the sign of the last scale */
  for (int add = 0; add < 2; add++) Fails(MuonCompressorDecode(c, (PetscBool)add, 1, message->bytes, message->buf, Y->mat), PETSC_ERR_ARG_WRONG, "");
  TestCheck(Same(Y, Z), "A message whose last block is none was decoded in part");
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Scratch memory for two long rows: not that of the many rows that are walked together elsewhere. T - R is
   one copy of the layer, a plain message and what it is made of may be two more
*/
static PetscErrorCode CheckScratch(const char type[], const char values[])
{
  const PetscInt m = 2, n = 40000;
  MuonCompressor c;
  MuonWorkspace  work;
  Matrix         T, R;
  Message        message;
  size_t         held;

  PetscFunctionBegin;
  PetscCall(New(m, n, &T, &R));
  PetscCall(NewMessage(&message));
  Random(T, 1);
  PetscCall(MakeNamed(&c, "w", type, values));
  PetscCall(Send(c, T, R, message));
  PetscCall(Decode(c, message, PETSC_TRUE, 1, T));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceGetBytes(work, &held));
  TestCheck(held <= 3 * (size_t)(m * n) * sizeof(double), "%s: %zu bytes of scratch memory for a layer of %d entries", type, held, (int)(m * n));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State of power iterations: a new grid drops it, and a message of which one block could not be written does not make it */
static PetscErrorCode CheckState(void)
{
  MuonCompressor c, twin;
  Matrix         T, bad;
  Message        one, other;
  Count          before, after;

  PetscFunctionBegin;
  PetscCall(NewArray(M, N, MUON_SINGLE, 0, &T, &bad));
  PetscCall(NewMessage(&one, &other));
  Random(T, 1);
  Random(bad, 1);
  Set(bad, M - 1, N - 1, (double)NAN);
  PetscCall(Make(&c, "powersgd ratio 0.3 values single"));
  PetscCall(Make(&twin, "powersgd ratio 0.3 values single"));
  PetscCall(Send(c, T, NULL, one));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CountState(c, MUON_SINGLE, &before));
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(MuonCompressorSetBlocks(twin, 2, NULL, 1, NULL));
  PetscCall(CountState(c, MUON_SINGLE, &after));
  TestCheck(before.bytes > 0 && after.bytes == 0, "%zu bytes of state, %zu after a change of the blocks", before.bytes, after.bytes);
  PetscCall(Encode(c, bad, NULL, one));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(Send(c, T, NULL, one));
  PetscCall(Send(twin, T, NULL, other));
  TestCheck(SameMessage(one, other), "A message that could not be written has changed the state");
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes that do not fit, seen where there is a matrix or at once */
static PetscErrorCode CheckSizes(void)
{
  const PetscInt sizes[] = {5, 6}, huge[] = {PETSC_MAX_INT, PETSC_MAX_INT}, rows[] = {5, 4, 3};
  MuonCompressor c;
  size_t         most;

  PetscFunctionBegin;
  PetscCall(MakeNamed(&c, "w", "topk", "single"));
  PetscCall(MuonCompressorSetBlocks(c, 2, sizes, 1, NULL));
  Fails(MuonCompressorGetMaxBytes(c, M, N, &most), FAILS_ANY, "of layer w: 5,6 has the sum 11, expected the number of rows, 12");
  PetscCall(MuonCompressorSetBlocks(c, 5, NULL, 1, NULL));
  Fails(MuonCompressorGetMaxBytes(c, M, N, &most), FAILS_ANY, "of layer w: 5 equal blocks of the 12 rows, expected a divisor of that number");
  Fails(MuonCompressorSetBlocks(c, 1, NULL, 2, huge), FAILS_ANY, "has a sum above");
  Fails(MuonCompressorSetBlocks(c, 0, NULL, 1, NULL), FAILS_ANY, "of layer w: 0 blocks of rows, expected at least 1");
  /* What was set is shown */
  PetscCall(MuonCompressorSetBlocks(c, 3, rows, 2, NULL));
  PetscCall(MuonCompressorView(c, NULL));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char **types;
  int          ntypes, tried = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestStart(7));
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  for (int i = 0; i < ntypes && types[i] != NULL; i++) {
    MuonCompressor c;
    PetscBool      assigns;

    PetscCall(Make(&c, types[i]));
    assigns = c->assignment;
    PetscCall(CheckWhole(types[i], assigns ? 4 : 1));
    PetscCall(CheckScratch(types[i], "single"));
    PetscCall(CheckScratch(types[i], "natural"));
    if (assigns) continue;
    tried++;
    for (int g = 0; g < 3; g++) {
      PetscCall(CheckGrid(types[i], "single", &grids[g], TEST_SCALAR, 0));
      for (int k = 0; k < 4; k++) PetscCall(CheckGrid(types[i], k % 2 ? "natural" : "native", &grids[g], (MuonPrecision)(k / 2), g % 2 == k % 2));
    }
    PetscCall(CheckGrid(types[i], "natural", &grids[1], TEST_SCALAR, 0));
  }
  PetscCall(PetscFree(types));
  TestCheck(tried >= 3, "%d types were tried", tried);
  PetscCall(CheckRefused());
  PetscCall(CheckErrors());
  PetscCall(CheckState());
  PetscCall(CheckSizes());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
