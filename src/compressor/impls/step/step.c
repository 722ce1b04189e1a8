/*
   Steps of a norm as messages. A message has the minimizer D of an LMO, which has few entries or low rank, and the dual norm as
   the common magnitude of its entries. Payloads are those of other types if these are not longer: an entry with its position
   (l1), a triple (nuclear), a column (l21). One entry in each row or column is a separate kind of message. Rows and columns of a
   message are those of the matrix, for row-major and column-major arrays.
*/
#include <petscmuon/private/muoncompressorcodec.h>

enum {
  CHUNK = 512 /* codes that are read at a time; a multiple of 8 */
};

static PetscErrorCode MuonCompressorLayout_Step(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  const int kind = ((MuonCompressorStep *)c->data)->kind;

  PetscFunctionBegin;
  layout->header.kind   = (uint8_t)kind;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->rows          = (uint64_t)MuonArrayRows(shape);
  layout->columns       = (uint64_t)MuonArrayColumns(shape);
  layout->header.count  = kind == MUON_WIRE_PERROW ? layout->rows : kind == MUON_WIRE_PERCOLUMN ? layout->columns : 1;
  if (MuonArrayEntries(shape) == 0) layout->header.count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Mark(unsigned char bitmap[], size_t k)
{
  bitmap[k / 8] = (unsigned char)(bitmap[k / 8] | 1u << k % 8);
}

static double Entry(const MuonArray *A, size_t row, size_t column)
{
  const void *at = MuonArrayAt(A, row, column);

  return A->precision == MUON_SINGLE ? (double)*(const float *)at : *(const double *)at;
}

static void Put(const MuonArray *A, size_t row, size_t column, double value)
{
  void *at = MuonArrayAt(A, row, column);

  if (A->precision == MUON_SINGLE) *(float *)at = (float)value;
  else *(double *)at = value;
}

/* Writes the positions of D to the bitmap, the codes of its entries, and values behind the magnitude in x[0] */
static PetscInt64 ReadStep(MuonWireKind kind, const MuonArray *D, unsigned char bitmap[], uint64_t code[], double x[])
{
  const size_t m = MuonArrayRows(D), n = MuonArrayColumns(D), ncodes = kind == MUON_WIRE_PERROW ? m : kind == MUON_WIRE_PERCOLUMN ? n : 0;
  PetscInt64   count = 0;

  for (size_t k = 0; k < ncodes; k++) code[k] = UINT64_MAX;
  for (size_t j = 0; j < D->count; j++) {
    for (size_t i = 0; i < D->len; i++) {
      const size_t row = D->rowmajor ? j : i, column = D->rowmajor ? i : j;
      const double value = Entry(D, row, column);

      if (value == 0) continue;
      if (kind == MUON_WIRE_PERROW) code[row] = 2 * (uint64_t)column + (value > 0 ? 1 : 0);
      else if (kind == MUON_WIRE_PERCOLUMN) code[column] = 2 * (uint64_t)row + (value > 0 ? 1 : 0);
      else if (kind == MUON_WIRE_SPARSE) {
        Mark(bitmap, j * D->len + i);
        if (value > 0) x[0] = -x[0];
        return 1;
      } else {
        Mark(bitmap, column);
        for (size_t k = 0; k < m; k++) x[1 + k] = -Entry(D, k, column);
        return 1;
      }
    }
  }
  for (size_t k = 0; k < ncodes; k++) {
    if (code[k] == UINT64_MAX) continue;
    Mark(bitmap, k);
    code[count++] = code[k];
  }
  return count;
}

/* T is D on the host, or only a shape if there are factors */
static PetscErrorCode MuonCompressorEncode_Step(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonCompressorStep *step = (const MuonCompressorStep *)c->data;
  const size_t              m = MuonArrayRows(T), n = MuonArrayColumns(T), max = PetscMax(m, n), numbered = step->kind == MUON_WIRE_SPARSE ? m * n : max;
  double                   *x;
  uint64_t                 *code;
  unsigned char            *bitmap;
  const MuonWireLayout     *section = &layout->section;
  PetscInt64                count;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(c->work, (1 + m + n) * sizeof(double), &x));
  PetscCall(MuonWorkspaceGet(c->work, max * sizeof(uint64_t) + numbered / 8 + 8, &code));
  bitmap = (unsigned char *)(code + max);
  PetscCall(PetscArrayzero(bitmap, numbered / 8 + 8));
  x[0] = step->magnitude;
  if (step->kind == MUON_WIRE_TRIPLES) {
    count = step->found;
    if (count > 0) PetscCall(PetscArraycpy(x + 1, step->u, m));
    if (count > 0) PetscCall(PetscArraycpy(x + 1 + m, step->v, n));
  } else count = ReadStep((MuonWireKind)step->kind, T, bitmap, code, x);
  PetscCall(MuonCompressorSetCount(c, layout, (uint64_t)count));
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, section->numbered, section->positions, bitmap, payload);
  MuonWireCodesEncode(section->width, 8, section->entries, code, payload + section->entriesat);
  PetscCall(MuonCompressorValuesEncode_Private(c, (MuonWireValues)layout->header.values, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, MUON_DOUBLE, (size_t)section->values, x, 0, payload + section->valuesat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step is an assignment: Y is on the host and becomes D */
static PetscErrorCode MuonCompressorDecode_Step(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonWireKind    kind    = (MuonWireKind)layout->header.kind;
  const size_t          m       = MuonArrayRows(Y);
  const MuonWireLayout *section = &layout->section;
  MuonWireIndexReader   reader;
  MuonCompressorStep   *step = (MuonCompressorStep *)c->data;
  double               *x;

  PetscFunctionBegin;
  step->magnitude = 0;
  PetscCall(MuonArrayZero(Y));
  PetscCall(MuonWorkspaceGet(c->work, (size_t)section->values * sizeof(double), &x));
  PetscCall(MuonCompressorValuesDecode_Private(c, (MuonWireValues)layout->header.values, MUON_HOST, MUON_DOUBLE, (size_t)section->values, payload + section->valuesat, 0, x));
  if (section->values > 0) step->magnitude = fabs(x[0]);
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)layout->header.indices, section->numbered, section->positions, payload);
  if (kind == MUON_WIRE_TRIPLES) {
    const double *u = x + 1, *v = u + m;

    MuonArrayKernels(Y)->RankOne(Y->len, Y->count, -1.0, Y->rowmajor ? v : u, Y->rowmajor ? u : v, Y->data, Y->ld);
  } else if (kind == MUON_WIRE_SPARSE) {
    const size_t at = (size_t)MuonWireIndexReaderNext(&reader), i = at % Y->len, j = at / Y->len;

    Put(Y, Y->rowmajor ? j : i, Y->rowmajor ? i : j, x[0] > 0 ? -1 : 1);
  } else if (kind == MUON_WIRE_COLUMNS) {
    const size_t column = (size_t)MuonWireIndexReaderNext(&reader);

    for (size_t i = 0; i < m; i++) Put(Y, i, column, -x[1 + i]);
  } else {
    uint64_t *codes;

    PetscCall(MuonWorkspaceGet(c->work, (size_t)section->entries * sizeof(*codes), &codes));
    MuonWireCodesDecode(section->width, 8, section->entries, payload + section->entriesat, 0, codes);
    for (uint64_t k = 0; k < section->entries; k++) {
      const size_t here = section->positions == 0 ? (size_t)k : (size_t)MuonWireIndexReaderNext(&reader), place = (size_t)(codes[k] / 2);

      Put(Y, kind == MUON_WIRE_PERROW ? here : place, kind == MUON_WIRE_PERROW ? place : here, codes[k] % 2 == 0 ? -1 : 1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCreateStep_Private(MPI_Comm comm, int kind, MuonCompressor *newc)
{
  MuonCompressorStep *step;
  MuonCompressor      c;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(comm, &c));
  PetscCall(PetscObjectChangeTypeName((PetscObject)c, "step"));
  PetscCall(PetscNew(&step));
  step->kind     = kind;
  c->data        = step;
  c->values      = MUON_COMPRESSOR_VALUES_NATIVE;
  c->ops->layout = MuonCompressorLayout_Step;
  c->ops->encode = MuonCompressorEncode_Step;
  c->ops->decode = MuonCompressorDecode_Step;
  *newc          = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}
