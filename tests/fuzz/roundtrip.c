/*
   Any bytes as what a message says (codec of the values, form and codec of the positions, rows, columns,
   count, then values, entries and positions): it is encoded, is valid, decodes to what was said, and comes
   back from its shortest form.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
  const uint8_t *data;
  size_t         size;
} Input;

/* The next bytes of the input as a number; zeros when it is used up */
static uint64_t Take(Input *input, unsigned bytes)
{
  uint64_t word = 0;

  for (unsigned b = 0; b < bytes && input->size > 0; b++) {
    word |= (uint64_t)input->data[0] << 8 * b;
    input->data++;
    input->size--;
  }
  return word;
}

/* Bits that mean no value lose the top of their exponent, so that they mean a finite one */
static double TakeValue(Input *input, unsigned values)
{
  uint32_t bits;
  double   x;

  if (values == MUON_WIRE_VALUES_DOUBLE) {
    const uint64_t wide = Take(input, 8);

    x = FromBits64(wide);
    return x - x == 0 ? x : FromBits64(wide & ~((uint64_t)1 << 62));
  }
  bits = (uint32_t)Take(input, values == MUON_WIRE_VALUES_SINGLE ? 4 : 2);
  if (values == MUON_WIRE_VALUES_NATURAL || values == MUON_WIRE_VALUES_CODED) return NaturalValue((bits & 255) == 255 ? bits & 383 : (bits & 511) == 256 ? 0 : bits & 511);
  if (values == MUON_WIRE_VALUES_BF16) bits <<= 16;
  x = FromBits32(bits);
  return x - x == 0 ? x : FromBits32(bits & ~((uint32_t)1 << 30));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const unsigned forms[17]  = {MUON_WIRE_DENSE,   MUON_WIRE_LOWRANK, MUON_WIRE_SPARSE, MUON_WIRE_SPARSE,       MUON_WIRE_TRIPLES,   MUON_WIRE_PERROW, MUON_WIRE_PERCOLUMN, MUON_WIRE_COLUMNS, MUON_WIRE_SPARSE,
                                      MUON_WIRE_COLUMNS, MUON_WIRE_SIGNS,   MUON_WIRE_SEEDED, MUON_WIRE_WHOLECOLUMNS, MUON_WIRE_WHOLEROWS, MUON_WIRE_BLOCKS, MUON_WIRE_BLOCKS,    MUON_WIRE_VOTES};
  static const unsigned codecs[17] = {0,
                                      0,
                                      MUON_WIRE_INDICES_BITMAP,
                                      MUON_WIRE_INDICES_RAW,
                                      0,
                                      MUON_WIRE_INDICES_BITMAP,
                                      MUON_WIRE_INDICES_RAW,
                                      MUON_WIRE_INDICES_BITMAP,
                                      MUON_WIRE_INDICES_GAPS,
                                      MUON_WIRE_INDICES_GAPS,
                                      0,
                                      0,
                                      MUON_WIRE_INDICES_BITMAP,
                                      MUON_WIRE_INDICES_GAPS,
                                      0,
                                      MUON_WIRE_INDICES_CODED,
                                      0};
  Input                 input;
  Content               content, back;
  unsigned char        *message;
  unsigned              values, kind, codec;
  uint64_t              rows, columns, count, kept = 0;
  size_t                length;

  input.data = data;
  input.size = size;
  values     = (unsigned)Take(&input, 1) % 5;
  kind       = (unsigned)Take(&input, 1) % 17;
  rows       = Take(&input, 1) % 16;
  columns    = Take(&input, 1) % 16;
  count      = Take(&input, 2);
  codec      = codecs[kind];
  memset(&content, 0, sizeof(content));
  if (kind == 16) values = 0;
  if (kind == 0 || kind == 10 || kind >= 14) count = count % 8 == 7 && kind != 16 ? 0 : rows * columns;
  if (kind == 2 || kind == 3 || kind == 8 || kind == 11) count %= rows * columns + 1;
  if (kind == 1 || kind == 4) count %= (rows < columns ? rows : columns) + 1;
  if (kind == 5) count %= (columns > 0 ? rows : 0) + 1;
  if (kind == 6) count %= (rows > 0 ? columns : 0) + 1;
  if (kind == 7 || kind == 9 || kind == 12) count %= columns + 1;
  if (kind == 13) count %= rows + 1;
  if ((kind == 5 && count == rows) || (kind == 6 && count == columns)) codec = MUON_WIRE_INDICES_NONE;
  content.header.layer     = 1;
  content.header.kind      = (uint8_t)forms[kind];
  content.header.indices   = (uint8_t)codec;
  content.header.values    = (uint8_t)values;
  content.header.parameter = kind == 16 ? (uint8_t)(1 + rows) : kind >= 14 ? MuonWireBlocksParameter(2 + (unsigned)(rows + columns) % 7, 4 + (unsigned)rows % 3) : 0;
  content.header.count     = count;
  content.rows             = rows;
  content.columns          = columns;
  ContentAllocate(&content);
  for (uint64_t i = 0; i < content.numbers; i++) {
    content.values[i] = TakeValue(&input, values);
    if (i < content.magnitudes) content.values[i] = content.values[i] != 0 ? fabs(content.values[i]) : 1;
    if (i < content.scales) content.values[i] = fabs(content.values[i]);
  }
  if (kind == 11) content.seed = Take(&input, 8);
  for (uint64_t i = 0; i < content.lines; i++) {
    content.entries[i] = Take(&input, 1) % (2 * content.length);
    if (content.block > 0 && (content.entries[i] == 1 || content.values[i / content.block] == 0)) content.entries[i] = 0;
  }
  /* Gaps as far as they leave room for the positions behind */
  for (uint64_t k = 0; HasPositions(&content.header) && kept < count; k++) {
    k += Take(&input, 1) % (content.numbered - k - (count - kept) + 1);
    content.positions[kept++] = k;
  }
  ContentSettle(&content);
  ContentMeasure(&content);
  length  = (size_t)MuonWireMessageBytes(&content.header);
  message = (unsigned char *)Allocate(length);
  ContentEncode(&content, message);
  Check(ContentDecode(&back, message, length, 1, rows, columns) == MUON_WIRE_OK, "kind %u, codec %u, %d of %d x %d", kind, values, (int)count, (int)rows, (int)columns);
  Check(ContentEqual(&content, &back), "kind %u, codec %u, %d of %d x %d", kind, values, (int)count, (int)rows, (int)columns);
  CheckCompact(message, length, &content.header, rows, columns);
  ContentFree(&back);
  ContentFree(&content);
  free(message);
  return 0;
}
