/*
   Any bytes as what a message says (codec of the values, form, rows, columns,
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
  static const unsigned forms[13] = {MUON_WIRE_DENSE,   MUON_WIRE_LOWRANK, MUON_WIRE_SPARSE,       MUON_WIRE_SIGNS,     MUON_WIRE_TRIPLES, MUON_WIRE_PERROW, MUON_WIRE_PERCOLUMN,
                                     MUON_WIRE_COLUMNS, MUON_WIRE_SEEDED,  MUON_WIRE_WHOLECOLUMNS, MUON_WIRE_WHOLEROWS, MUON_WIRE_BLOCKS,  MUON_WIRE_VOTES};
  Input                 input;
  Content               content, back;
  const MuonWireLayout *layout = &content.layout;
  unsigned char        *message;
  unsigned              values, kind;
  uint64_t              rows, columns, count, most, kept = 0, block;
  size_t                length;

  input.data = data;
  input.size = size;
  values     = (unsigned)Take(&input, 1) % 5;
  kind       = forms[Take(&input, 1) % 13];
  rows       = Take(&input, 1) % 16;
  columns    = Take(&input, 1) % 16;
  count      = Take(&input, 2);
  most       = rows * columns;
  memset(&content, 0, sizeof(content));
  if (kind == MUON_WIRE_VOTES) values = 0;
  if (kind == MUON_WIRE_LOWRANK || kind == MUON_WIRE_TRIPLES) most = rows < columns ? rows : columns;
  if (kind == MUON_WIRE_PERROW || kind == MUON_WIRE_WHOLEROWS) most = columns > 0 || kind == MUON_WIRE_WHOLEROWS ? rows : 0;
  if (kind == MUON_WIRE_PERCOLUMN || kind == MUON_WIRE_COLUMNS || kind == MUON_WIRE_WHOLECOLUMNS) most = rows > 0 || kind != MUON_WIRE_PERCOLUMN ? columns : 0;
  if (kind == MUON_WIRE_DENSE || kind == MUON_WIRE_SIGNS || kind == MUON_WIRE_BLOCKS || kind == MUON_WIRE_VOTES) count = count % 8 == 7 && kind != MUON_WIRE_VOTES ? 0 : most;
  else count %= most + 1;
  content.header.layer     = 1;
  content.header.kind      = (uint8_t)kind;
  content.header.values    = (uint8_t)(values < MUON_WIRE_VALUES_CODED ? values : MUON_WIRE_VALUES_NATURAL);
  content.header.parameter = kind == MUON_WIRE_VOTES ? (uint8_t)(1 + rows) : kind == MUON_WIRE_BLOCKS ? MuonWireBlocksParameter(2 + (unsigned)(rows + columns) % 7, 4 + (unsigned)rows % 3) : 0;
  content.header.count     = count;
  content.rows             = rows;
  content.columns          = columns;
  ContentAllocate(&content);
  block = layout->scales > 0 ? (uint64_t)16 << content.header.parameter / 16 : 0;
  for (uint64_t i = 0; i < layout->values; i++) {
    content.values[i] = TakeValue(&input, values);
    if (i < layout->magnitudes) content.values[i] = content.values[i] != 0 ? fabs(content.values[i]) : 1;
    if (i < layout->scales) content.values[i] = fabs(content.values[i]);
  }
  content.seed = Take(&input, (unsigned)layout->seed);
  for (uint64_t i = 0; i < layout->entries * layout->planes; i++) {
    content.entries[i] = Take(&input, 1) % (2 * layout->length);
    if (block > 0 && (content.entries[i] == 1 || content.values[i / block] == 0)) content.entries[i] = 0;
  }
  /* Gaps as far as they leave room for the positions behind */
  for (uint64_t k = 0; kept < layout->positions; k++) {
    k += Take(&input, 1) % (layout->numbered - k - (count - kept) + 1);
    content.positions[kept++] = k;
  }
  length  = (size_t)MuonWireMessageBytes(&content.header);
  message = (unsigned char *)Allocate(length);
  Check(ContentEncode(&content, message) == length && ContentDecode(&back, message, length, 1, rows, columns) == MUON_WIRE_OK && ContentEqual(&content, &back), "kind %u, values %u: something else comes back", kind, values);
  Check(CheckMessage(message, length, 1, rows, columns) == MUON_WIRE_OK, "kind %u, values %u, %d of %d x %d", kind, values, (int)count, (int)rows, (int)columns);
  FreeFrom(0);
  return 0;
}
