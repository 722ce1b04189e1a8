#include "muonlmopoint.h"
#include "../kernels/muonlmokernels.h"

/* Values travel as PetscScalar has them */
#if defined(PETSC_USE_REAL_SINGLE)
  #define NATIVE       MUON_WIRE_VALUES_SINGLE
  #define NativeEncode MuonWireSinglesEncode
  #define NativeDecode MuonWireSinglesDecode
#else
  #define NATIVE       MUON_WIRE_VALUES_DOUBLE
  #define NativeEncode MuonWireDoublesEncode
  #define NativeDecode MuonWireDoublesDecode
#endif

/* Codes converted at once; a multiple of 8 */
enum {
  CHUNK = 512
};

MuonWireValues MuonLMOCodec_Private(void)
{
  return NATIVE;
}

PetscInt64 MuonLMOMost_Private(MuonLMO lmo, PetscInt m, PetscInt n)
{
  if (m == 0 || n == 0) return 0;
  if (lmo->form == MUON_WIRE_PERROW) return m;
  if (lmo->form == MUON_WIRE_PERCOLUMN) return n;
  return 1;
}

PetscErrorCode MuonLMOHeader_Private(MuonLMO lmo, PetscInt m, PetscInt n, PetscInt64 count, MuonWireMessage *header)
{
  MuonWireResult result;

  PetscFunctionBegin;
  header->layer     = (uint32_t)lmo->layer;
  header->form      = (uint8_t)lmo->form;
  header->parameter = 0;
  header->values    = (uint8_t)NATIVE;
  header->indices   = (uint8_t)MuonWireFormIndices((MuonWireForm)lmo->form, (uint64_t)m, (uint64_t)n, (uint64_t)count);
  header->count     = (uint64_t)count;
  result            = MuonWirePayloadBytes(header, (uint64_t)m, (uint64_t)n, &header->bytes);
  PetscCheck(result == MUON_WIRE_OK && header->bytes <= SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST, PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "No message can hold a layer of %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scratch of a message: a bit for each thing that positions may number, and the codes of the entries */
static PetscErrorCode MuonLMOMarksGet_Private(MuonLMO lmo, size_t numbered, size_t codes, unsigned char **bitmap, uint64_t **code)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_D, codes * sizeof(uint64_t) + numbered / 8 + 1, code));
  *bitmap = (unsigned char *)(*code + codes);
  PetscCall(PetscArrayzero(*bitmap, numbered / 8 + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Mark(unsigned char bitmap[], size_t k)
{
  bitmap[k / 8] = (unsigned char)(bitmap[k / 8] | 1u << k % 8);
}

/* The entry of a row or a column of D, -1 where there is none */
static PetscInt Place(PetscInt length, const PetscScalar *d)
{
  for (PetscInt k = 0; k < length; k++) {
    if (d[k] != 0) return k;
  }
  return -1;
}

static uint64_t Code(PetscInt place, PetscScalar d)
{
  return 2 * (uint64_t)place + (d > 0 ? 1 : 0);
}

/* Reads what a message holds off D, which is m x n without gaps: positions into the bitmap, codes, values behind the magnitude in x[0] */
static PetscInt64 MuonLMOReadPoint_Private(MuonWireForm form, PetscInt m, PetscInt n, const PetscScalar *D, unsigned char bitmap[], uint64_t code[], PetscScalar x[])
{
  PetscInt64 count = 0;

  switch (form) {
  case MUON_WIRE_PERROW:
    for (PetscInt i = 0; i < m; i++) code[i] = UINT64_MAX;
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt i = 0; i < m; i++) {
        const PetscScalar d = D[i + (size_t)j * (size_t)m];

        if (d != 0) code[i] = Code(j, d);
      }
    }
    for (PetscInt i = 0; i < m; i++) {
      if (code[i] == UINT64_MAX) continue;
      Mark(bitmap, (size_t)i);
      code[count++] = code[i];
    }
    break;
  case MUON_WIRE_PERCOLUMN:
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar *d     = D + (size_t)j * (size_t)m;
      const PetscInt     place = Place(m, d);

      if (place < 0) continue;
      Mark(bitmap, (size_t)j);
      code[count++] = Code(place, d[place]);
    }
    break;
  default:
    for (PetscInt j = 0; j < n && count == 0; j++) {
      const PetscScalar *d     = D + (size_t)j * (size_t)m;
      const PetscInt     place = Place(m, d);

      if (place < 0) continue;
      count = 1;
      if (form == MUON_WIRE_SPARSE) {
        Mark(bitmap, (size_t)place * (size_t)n + (size_t)j);
        if (d[place] > 0) x[0] = -x[0];
      } else {
        Mark(bitmap, (size_t)j);
        for (PetscInt i = 0; i < m; i++) x[1 + i] = -d[i];
      }
    }
  }
  return count;
}

PetscErrorCode MuonLMOPayload_Private(MuonLMO lmo, Mat G, PetscInt64 *count, unsigned char payload[])
{
  const MuonWireForm form   = (MuonWireForm)lmo->form;
  unsigned char     *bitmap = NULL;
  uint64_t          *code   = NULL;
  PetscScalar       *x, *D;
  PetscReal          dual = 0;
  PetscInt           m, n;
  PetscBool          finite;
  MuonWireMessage    header;
  MuonWireLayout     layout;
  size_t             values;
  Mat                point;

  PetscFunctionBegin;
  *count = 0;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MuonLMOBegin_Private(lmo, G, &finite));
  if (finite == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (form == MUON_WIRE_TRIPLES) {
    PetscInt found;

    PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_C, (1 + (size_t)m + (size_t)n) * sizeof(PetscScalar), &x));
    PetscUseTypeMethod(lmo, factors, G, x + 1, x + 1 + m, &dual, &found);
    *count = found;
    x[0]   = dual;
  } else {
    /* D as MuonLMOApply() would give it, so that what is sent is that D to the last bit */
    values = form == MUON_WIRE_COLUMNS ? 1 + (size_t)m : 1;
    PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_C, (values + (size_t)m * (size_t)n) * sizeof(PetscScalar), &x));
    D = x + values;
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, D, &point));
    PetscUseTypeMethod(lmo, apply, G, point, &dual);
    PetscCall(MatDestroy(&point));
    if (lmo->status == MUON_STATUS_OK) {
      const size_t lines = form == MUON_WIRE_PERROW ? (size_t)m : (size_t)n;

      x[0] = dual;
      PetscCall(MuonLMOMarksGet_Private(lmo, form == MUON_WIRE_SPARSE ? (size_t)m * (size_t)n : lines, lines, &bitmap, &code));
      *count = MuonLMOReadPoint_Private(form, m, n, D, bitmap, code, x);
    }
  }
  /* The sum over rows may be too large for a number where none of its terms is */
  if (lmo->status == MUON_STATUS_OK && PetscIsInfOrNanReal(dual)) lmo->status = MUON_STATUS_NANORINF;
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  lmo->dual = dual;
  PetscCall(MuonLMOHeader_Private(lmo, m, n, *count, &header));
  (void)MuonWireMessageLayout(&header, (uint64_t)m, (uint64_t)n, &layout);
  if (header.indices != MUON_WIRE_INDICES_NONE) MuonWireIndicesEncode((MuonWireIndices)header.indices, layout.numbered, layout.positions, bitmap, payload);
  MuonWireEntriesEncode(layout.length, layout.entries, code, payload + layout.entriesat);
  NativeEncode(layout.values, x, payload + layout.valuesat);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPayloadCheck_Private(MuonLMO lmo, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid)
{
  const MuonWireForm form = (MuonWireForm)lmo->form;
  const PetscInt     most = form == MUON_WIRE_TRIPLES ? m + n : m;
  MuonLMOPoint       point;

  PetscFunctionBegin;
  *valid = PETSC_TRUE;
  if (count == 0 || form == MUON_WIRE_PERROW || form == MUON_WIRE_PERCOLUMN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOPointOpen_Private(lmo, m, n, count, payload, &point));
  /* A kept entry that is 0 is no entry, and a step that keeps none says so */
  if (form == MUON_WIRE_SPARSE && point.magnitude == 0) *valid = PETSC_FALSE;
  /* Vectors of a point of the ball have no entry beyond 1 and its rounding: what is applied after the ranks have agreed cannot overflow. v follows u */
  for (PetscInt k = 0; form != MUON_WIRE_SPARSE && k < most; k++) {
    if (PetscAbsScalar(point.u[k]) > 2) *valid = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* code[line] for every line, and for rows the list of those with their entry in column j: head[j], next[head[j]], ... */
static PetscErrorCode MuonLMOPointLines_Private(MuonLMO lmo, const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char payload[], MuonLMOPoint *point)
{
  const PetscBool     rows  = point->form == MUON_WIRE_PERROW ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt      lines = rows == PETSC_TRUE ? point->m : point->n;
  int64_t            *code, *next = NULL, *head = NULL;
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_D, (rows == PETSC_TRUE ? 2 * (size_t)point->m + (size_t)point->n : (size_t)point->n) * sizeof(int64_t), &code));
  for (PetscInt k = 0; k < lines; k++) code[k] = -1;
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)header->indices, layout->numbered, layout->positions, payload);
  for (PetscInt64 first = 0; first < point->count; first += CHUNK) {
    const PetscInt64 some = PetscMin(point->count - first, CHUNK);
    uint64_t         codes[CHUNK];

    MuonWireEntriesDecode(layout->length, (uint64_t)some, payload + layout->entriesat, (uint64_t)first, codes);
    for (PetscInt64 k = 0; k < some; k++) code[header->indices == MUON_WIRE_INDICES_NONE ? (uint64_t)(first + k) : MuonWireIndexReaderNext(&reader)] = (int64_t)codes[k];
  }
  if (rows == PETSC_TRUE) {
    next = code + point->m;
    head = next + point->m;
    for (PetscInt j = 0; j < point->n; j++) head[j] = -1;
    for (PetscInt i = 0; i < point->m; i++) {
      if (code[i] < 0) continue;
      next[i]           = head[code[i] / 2];
      head[code[i] / 2] = i;
    }
  }
  point->code = code;
  point->next = next;
  point->head = head;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPointOpen_Private(MuonLMO lmo, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], MuonLMOPoint *point)
{
  MuonWireMessage     header;
  MuonWireLayout      layout;
  MuonWireIndexReader reader;
  PetscScalar        *x;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(point, sizeof(*point)));
  point->form  = (MuonWireForm)lmo->form;
  point->m     = m;
  point->n     = n;
  point->count = count;
  if (count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOHeader_Private(lmo, m, n, count, &header));
  (void)MuonWireMessageLayout(&header, (uint64_t)m, (uint64_t)n, &layout);
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_C, (size_t)layout.values * sizeof(PetscScalar), &x));
  NativeDecode(layout.values, payload + layout.valuesat, 0, x);
  point->magnitude = PetscAbsScalar(x[0]);
  if (point->form == MUON_WIRE_PERROW || point->form == MUON_WIRE_PERCOLUMN) PetscCall(MuonLMOPointLines_Private(lmo, &header, &layout, payload, point));
  else if (point->form != MUON_WIRE_TRIPLES) {
    MuonWireIndexReaderInit(&reader, (MuonWireIndices)header.indices, layout.numbered, layout.positions, payload);
    point->place = (PetscInt64)MuonWireIndexReaderNext(&reader);
  }
  point->u = point->form == MUON_WIRE_SPARSE ? x : x + 1;
  point->v = x + 1 + m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOPointColumn_Private(const MuonLMOPoint *point, PetscInt j, PetscScalar d[])
{
  const PetscInt m = point->m;

  PetscFunctionBegin;
  if (point->form == MUON_WIRE_TRIPLES && point->count > 0) {
    MuonKernelRankOne((size_t)m, 1, -1.0, point->u, point->v + j, d, (size_t)m);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArrayzero(d, m));
  if (point->count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  switch (point->form) {
  case MUON_WIRE_SPARSE:
    if (point->place % point->n == j) d[point->place / point->n] = point->u[0] > 0 ? -1 : 1;
    break;
  case MUON_WIRE_PERROW:
    for (int64_t i = point->head[j]; i >= 0; i = point->next[i]) d[i] = point->code[i] % 2 == 0 ? -1 : 1;
    break;
  case MUON_WIRE_PERCOLUMN:
    if (point->code[j] >= 0) d[point->code[j] / 2] = point->code[j] % 2 == 0 ? -1 : 1;
    break;
  default:
    if (point->place == j) {
      for (PetscInt i = 0; i < m; i++) d[i] = -point->u[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
