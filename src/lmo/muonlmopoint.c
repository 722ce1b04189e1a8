#include "muonlmopoint.h"

/* Codes and values converted at once; a multiple of 8 */
enum {
  CHUNK = 512
};

PetscErrorCode MuonLMOGetFormat_Private(MuonLMO lmo, const MuonArray *shape, MuonLMOFormat *format)
{
  PetscFunctionBegin;
  format->form     = (MuonWireForm)lmo->form;
  format->values   = shape->precision == MUON_SINGLE ? MUON_WIRE_VALUES_SINGLE : MUON_WIRE_VALUES_DOUBLE;
  format->rows     = (PetscInt64)MuonArrayRows(shape);
  format->columns  = (PetscInt64)MuonArrayColumns(shape);
  format->most     = format->form == MUON_WIRE_PERROW ? format->rows : (format->form == MUON_WIRE_PERCOLUMN ? format->columns : 1);
  format->rowmajor = shape->rowmajor ? PETSC_TRUE : PETSC_FALSE;
  if (format->rows == 0 || format->columns == 0) format->most = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOHeader_Private(MuonLMO lmo, const MuonLMOFormat *format, PetscInt64 count, MuonWireMessage *header)
{
  const uint64_t m = (uint64_t)format->rows, n = (uint64_t)format->columns;
  MuonWireResult result;

  PetscFunctionBegin;
  header->layer     = (uint32_t)lmo->layer;
  header->form      = (uint8_t)format->form;
  header->parameter = 0;
  header->values    = (uint8_t)format->values;
  header->indices   = (uint8_t)MuonWireFormIndices(format->form, m, n, (uint64_t)count);
  header->count     = (uint64_t)count;
  result            = MuonWirePayloadBytes(header, m, n, &header->bytes);
  PetscCheck(result == MUON_WIRE_OK && header->bytes <= SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST, PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "No message can hold a layer of %" PetscInt64_FMT " x %" PetscInt64_FMT, format->rows,
             format->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void ValuesEncode(MuonWireValues codec, uint64_t count, const double x[], unsigned char to[])
{
  if (codec == MUON_WIRE_VALUES_DOUBLE) MuonWireDoublesEncode(count, x, to);
  else {
    for (uint64_t k = 0; k < count; k++) {
      const float y = (float)x[k];

      MuonWireSinglesEncode(1, &y, to + 4 * k);
    }
  }
}

static void ValuesDecode(MuonWireValues codec, uint64_t count, const unsigned char from[], double x[])
{
  if (codec == MUON_WIRE_VALUES_DOUBLE) MuonWireDoublesDecode(count, from, 0, x);
  else {
    for (uint64_t k = 0; k < count; k++) {
      float y;

      MuonWireSinglesDecode(1, from, k, &y);
      x[k] = (double)y;
    }
  }
}

/*
   The scratch of a message: a bit for each thing that positions may number, the codes of the entries, and a
   line
*/
static PetscErrorCode MuonLMOMarksGet_Private(MuonLMO lmo, size_t numbered, size_t codes, size_t line, unsigned char **bitmap, uint64_t **code, double **d)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, codes * sizeof(uint64_t) + line * sizeof(double) + numbered / 8 + 1, d));
  *code   = (uint64_t *)(*d + line);
  *bitmap = (unsigned char *)(*code + codes);
  PetscCall(PetscArrayzero(*bitmap, numbered / 8 + 1));
  for (size_t k = 0; k < codes; k++) (*code)[k] = UINT64_MAX;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Mark(unsigned char bitmap[], size_t k)
{
  bitmap[k / 8] = (unsigned char)(bitmap[k / 8] | 1u << k % 8);
}

/* Reads what a message holds off D: positions into the bitmap, codes, values behind the magnitude in x[0] */
static PetscErrorCode MuonLMOReadPoint_Private(const MuonLMOFormat *format, const MuonArray *D, double d[], unsigned char bitmap[], uint64_t code[], double x[], PetscInt64 *count)
{
  MuonArray        buffer = *D;
  const PetscInt64 lines  = format->form == MUON_WIRE_PERROW ? format->rows : format->columns;
  PetscInt64       column = -1;

  PetscFunctionBegin;
  *count           = 0;
  buffer.data      = d;
  buffer.count     = 1;
  buffer.precision = MUON_DOUBLE;
  for (size_t j = 0; j < D->count; j++) {
    MuonArray line = *D;

    line.data  = (char *)D->data + j * D->ld * MuonArrayEntryBytes(D);
    line.count = 1;
    MuonArrayAxpby(1.0, &line, 0.0, &buffer);
    for (size_t i = 0; i < D->len; i++) {
      const PetscInt64 row = (PetscInt64)(D->rowmajor ? j : i), here = (PetscInt64)(D->rowmajor ? i : j);

      if (d[i] == 0) continue;
      if (format->form == MUON_WIRE_PERROW) code[row] = 2 * (uint64_t)here + (d[i] > 0 ? 1 : 0);
      else if (format->form == MUON_WIRE_PERCOLUMN) code[here] = 2 * (uint64_t)row + (d[i] > 0 ? 1 : 0);
      else if (format->form == MUON_WIRE_SPARSE) {
        Mark(bitmap, j * D->len + i);
        if (d[i] > 0) x[0] = -x[0];
        *count = 1;
      } else column = here;
    }
  }
  if (column >= 0) {
    Mark(bitmap, (size_t)column);
    *count = 1;
    for (PetscInt64 i = 0; i < format->rows; i++) {
      const void *at = MuonArrayAt(D, (size_t)i, (size_t)column);

      x[1 + i] = D->precision == MUON_SINGLE ? -(double)*(const float *)at : -*(const double *)at;
    }
  }
  for (PetscInt64 k = 0; code != NULL && k < lines; k++) {
    if (code[k] == UINT64_MAX) continue;
    Mark(bitmap, (size_t)k);
    code[(*count)++] = code[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPayload_Private(MuonLMO lmo, const MuonArray *G, PetscInt64 *count, unsigned char payload[])
{
  const MuonMatrix whole  = MuonMatrixOfArray(G);
  unsigned char   *bitmap = NULL;
  uint64_t        *code   = NULL;
  double          *x, *d, dual = 0;
  PetscBool        finite;
  MuonLMOFormat    format;
  MuonWireMessage  header;
  MuonWireLayout   layout;

  PetscFunctionBegin;
  *count = 0;
  PetscCall(MuonLMOGetFormat_Private(lmo, G, &format));
  PetscCall(MuonLMOBegin_Private(lmo, &whole, &finite));
  if (finite == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (format.form == MUON_WIRE_TRIPLES) {
    PetscInt found;

    PetscCall(MuonWorkspaceGet(lmo->work, (size_t)(1 + format.rows + format.columns) * sizeof(double), &x));
    PetscUseTypeMethod(lmo, factors, &whole, x + 1, x + 1 + format.rows, &dual, &found);
    *count = found;
    x[0]   = dual;
  } else {
    const size_t lines  = format.form == MUON_WIRE_PERROW || format.form == MUON_WIRE_PERCOLUMN ? (size_t)format.most : 0;
    const size_t values = format.form == MUON_WIRE_COLUMNS ? (size_t)(1 + format.rows) : 1;
    MuonArray    D      = MuonArrayLike(G, G->precision, NULL), near;
    MuonMatrix   point;

    /* D as MuonLMOApplyMatrix() would give it, so that what is sent is that D to the last bit */
    PetscCall(MuonWorkspaceGet(lmo->work, values * sizeof(double) + (G->memory == MUON_HOST ? MuonArrayBytes(&D) : 0), &x));
    if (G->memory == MUON_HOST) D.data = x + values;
    else PetscCall(MuonWorkspaceGetArray(lmo->work, G, G->precision, &D));
    point = MuonMatrixOfArray(&D);
    PetscUseTypeMethod(lmo, apply, &whole, &point, &dual);
    if (lmo->status == MUON_STATUS_OK) {
      x[0] = dual;
      PetscCall(MuonLMOMarksGet_Private(lmo, format.form == MUON_WIRE_SPARSE ? MuonArrayEntries(G) : (size_t)PetscMax(format.rows, format.columns), lines, G->len, &bitmap, &code, &d));
      PetscCall(MuonArrayGetPinned(lmo->work, &D, PETSC_TRUE, &near));
      PetscCall(MuonLMOReadPoint_Private(&format, &near, d, bitmap, lines > 0 ? code : NULL, x, count));
    }
  }
  /* The sum over rows may be too large for a number where none of its terms is */
  if (lmo->status == MUON_STATUS_OK && PetscIsInfOrNanReal(G->precision == MUON_SINGLE ? (PetscReal)(float)dual : (PetscReal)dual)) lmo->status = MUON_STATUS_NANORINF;
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  lmo->dual = dual;
  PetscCall(MuonLMOHeader_Private(lmo, &format, *count, &header));
  (void)MuonWireMessageLayout(&header, (uint64_t)format.rows, (uint64_t)format.columns, &layout);
  if (header.indices != MUON_WIRE_INDICES_NONE) MuonWireIndicesEncode((MuonWireIndices)header.indices, layout.numbered, layout.positions, bitmap, payload);
  MuonWireEntriesEncode(layout.length, layout.entries, code, payload + layout.entriesat);
  ValuesEncode(format.values, layout.values, x, payload + layout.valuesat);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPayloadCheck_Private(MuonLMO lmo, const MuonLMOFormat *format, PetscInt64 count, const unsigned char payload[], PetscBool *valid)
{
  const PetscInt64 most = format->form == MUON_WIRE_TRIPLES ? format->rows + format->columns : format->rows;
  MuonLMOPoint     point;

  PetscFunctionBegin;
  *valid = PETSC_TRUE;
  if (count == 0 || format->form == MUON_WIRE_PERROW || format->form == MUON_WIRE_PERCOLUMN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOPointOpen_Private(lmo, format, count, payload, &point));
  /* A kept entry that is 0 is no entry, and a step that keeps none says so */
  if (format->form == MUON_WIRE_SPARSE && point.magnitude == 0) *valid = PETSC_FALSE;
  /*
     Vectors of a point of the ball have no entry beyond 1 and its rounding: what is applied after the ranks
     have agreed cannot overflow. v follows u
  */
  for (PetscInt64 k = 0; format->form != MUON_WIRE_SPARSE && k < most; k++) {
    if (fabs(point.u[k]) > 2) *valid = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   code[k] for every row or column that has one, whose entries cross the lines or are one in each; where they
   cross, the list of those in line j is head[j], next[head[j]], ...
*/
static PetscErrorCode MuonLMOPointLines_Private(MuonLMO lmo, const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char payload[], MuonLMOPoint *point)
{
  const MuonLMOFormat *format = &point->format;
  const PetscInt64     count = format->most, lines = format->rowmajor == PETSC_TRUE ? format->rows : format->columns;
  const PetscBool      cross = (format->form == MUON_WIRE_PERROW) != (format->rowmajor == PETSC_TRUE) ? PETSC_TRUE : PETSC_FALSE;
  int64_t             *code, *next = NULL, *head = NULL;
  MuonWireIndexReader  reader;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, (size_t)(cross == PETSC_TRUE ? 2 * count + lines : count) * sizeof(int64_t), &code));
  for (PetscInt64 k = 0; k < count; k++) code[k] = -1;
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)header->indices, layout->numbered, layout->positions, payload);
  for (PetscInt64 first = 0; first < point->count; first += CHUNK) {
    const PetscInt64 some = PetscMin(point->count - first, CHUNK);
    uint64_t         codes[CHUNK];

    MuonWireEntriesDecode(layout->length, (uint64_t)some, payload + layout->entriesat, (uint64_t)first, codes);
    for (PetscInt64 k = 0; k < some; k++) code[header->indices == MUON_WIRE_INDICES_NONE ? (uint64_t)(first + k) : MuonWireIndexReaderNext(&reader)] = (int64_t)codes[k];
  }
  if (cross == PETSC_TRUE) {
    next = code + count;
    head = next + count;
    for (PetscInt64 j = 0; j < lines; j++) head[j] = -1;
    for (PetscInt64 k = 0; k < count; k++) {
      if (code[k] < 0) continue;
      next[k]           = head[code[k] / 2];
      head[code[k] / 2] = k;
    }
  }
  point->code = code;
  point->next = next;
  point->head = head;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPointOpen_Private(MuonLMO lmo, const MuonLMOFormat *format, PetscInt64 count, const unsigned char payload[], MuonLMOPoint *point)
{
  MuonWireMessage     header;
  MuonWireLayout      layout;
  MuonWireIndexReader reader;
  double             *x;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(point, sizeof(*point)));
  point->format = *format;
  point->count  = count;
  if (count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOHeader_Private(lmo, format, count, &header));
  (void)MuonWireMessageLayout(&header, (uint64_t)format->rows, (uint64_t)format->columns, &layout);
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonWorkspaceGet(lmo->work, (size_t)layout.values * sizeof(double), &x));
  ValuesDecode(format->values, layout.values, payload + layout.valuesat, x);
  point->magnitude = fabs(x[0]);
  if (format->form == MUON_WIRE_PERROW || format->form == MUON_WIRE_PERCOLUMN) PetscCall(MuonLMOPointLines_Private(lmo, &header, &layout, payload, point));
  else if (format->form != MUON_WIRE_TRIPLES) {
    MuonWireIndexReaderInit(&reader, (MuonWireIndices)header.indices, layout.numbered, layout.positions, payload);
    point->place = (PetscInt64)MuonWireIndexReaderNext(&reader);
  }
  point->u = format->form == MUON_WIRE_SPARSE ? x : x + 1;
  point->v = x + 1 + format->rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = line j of D, where it is not 0, of a message that is no triple */
static void MuonLMOPointFill_Private(const MuonLMOPoint *point, PetscInt64 j, PetscInt64 m, double x[])
{
  const PetscBool rowmajor = point->format.rowmajor;

  if (point->format.form == MUON_WIRE_SPARSE) {
    if (point->place / m == j) x[point->place % m] = point->u[0] > 0 ? -1 : 1;
  } else if (point->format.form == MUON_WIRE_COLUMNS) {
    if (rowmajor == PETSC_TRUE) x[point->place] = -point->u[j];
    for (PetscInt64 i = 0; i < m && rowmajor == PETSC_FALSE && point->place == j; i++) x[i] = -point->u[i];
  } else if (point->head != NULL) {
    for (int64_t i = point->head[j]; i >= 0; i = point->next[i]) x[i] = point->code[i] % 2 == 0 ? -1 : 1;
  } else if (point->code[j] >= 0) x[point->code[j] / 2] = point->code[j] % 2 == 0 ? -1 : 1;
}

PetscErrorCode MuonLMOPointLine_Private(MuonLMO lmo, const MuonLMOPoint *point, PetscInt64 j, const MuonArray *d)
{
  const PetscBool    rowmajor = point->format.rowmajor;
  const PetscInt64   m        = rowmajor == PETSC_TRUE ? point->format.columns : point->format.rows;
  const MuonKernels *kernels;
  MuonArray          line = *d;
  double            *x;
  MuonMark           mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(MuonWorkspaceGet(lmo->work, (size_t)m * sizeof(double), &x));
  line.data      = x;
  line.precision = MUON_DOUBLE;
  if (point->format.form == MUON_WIRE_TRIPLES && point->count > 0) {
    /* A product is rounded as in the D that the sender has */
    line.precision = point->format.values == MUON_WIRE_VALUES_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
    kernels        = MuonArrayKernels(&line);
    kernels->RankOne(line.len, 1, -1.0, rowmajor == PETSC_TRUE ? point->v : point->u, (rowmajor == PETSC_TRUE ? point->u : point->v) + j, line.data, line.len);
  } else {
    PetscCall(PetscArrayzero(x, m));
    if (point->count > 0) MuonLMOPointFill_Private(point, j, m, x);
  }
  MuonArrayAxpby(1.0, &line, 0.0, d);
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
