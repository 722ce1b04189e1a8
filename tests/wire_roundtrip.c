/*
   Messages of every form, codec and awkward size come back as they were; codes of every width lie where the format says. What else lies
   where is for tests/oracle/wire.py to say.
*/
#include "wire_corpus.h"

/* width bits at bit first of a stream, one by one */
static uint64_t BitsAt(const unsigned char *from, uint64_t first, unsigned width)
{
  uint64_t field = 0;

  for (unsigned b = 0; b < width; b++) field |= (uint64_t)(from[(first + b) / 8] >> (first + b) % 8 & 1) << b;
  return field;
}

static void RoundTrip(uint64_t rows, uint64_t columns, unsigned form, unsigned values, uint64_t count, uint64_t *state)
{
  const size_t     here = allocations;
  Content          content, back;
  MuonWireMessage *header = &content.header;
  unsigned char   *message;
  size_t           length;

  ContentRandom(&content, (uint32_t)NextBits(state), rows, columns, form, values, count, state);
  length  = (size_t)MuonWireMessageBytes(header);
  message = (unsigned char *)Allocate(length + 8);
  memset(message, 0xA5, length + 8);
  Check(ContentEncode(&content, message) == length, "form %u, values %u: %d bytes", form, values, (int)length);
  for (unsigned i = 0; i < 8; i++) Check(message[length + i] == 0xA5, "byte %u behind the message was written", i);
  Check(ContentDecode(&back, message, length, header->layer, rows, columns) == MUON_WIRE_OK && ContentEqual(&content, &back), "form %u, values %u, %d of %d x %d", form, values, (int)count, (int)rows, (int)columns);
  Check(CheckMessage(message, length, header->layer, rows, columns) == MUON_WIRE_OK, "form %u, values %u", form, values);
  Check(ContentDecode(&back, message, length, header->layer ^ 1, rows, columns) == MUON_WIRE_CORRUPT, "another layer");
  Check(ContentDecode(&back, message, length - 1, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "a byte less");
  Check(ContentDecode(&back, message, length + 1, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "a byte more");
  /* The same with the codec of the positions that is longer */
  if (header->indices != MUON_WIRE_INDICES_NONE) {
    header->bytes -= MuonWireIndicesBytes((MuonWireIndices)header->indices, content.layout.numbered, count);
    header->indices = (uint8_t)(MUON_WIRE_INDICES_BITMAP + MUON_WIRE_INDICES_RAW - header->indices);
    header->bytes += MuonWireIndicesBytes((MuonWireIndices)header->indices, content.layout.numbered, count);
    length  = (size_t)MuonWireMessageBytes(header);
    message = (unsigned char *)Allocate(length);
    Check(ContentEncode(&content, message) == length && ContentDecode(&back, message, length, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "form %u with codec %d of %d positions", form, header->indices, (int)count);
  }
  FreeFrom(here);
}

/* Every value of the codecs with few of them; those that the format forbids one by one */
static void AllValues(void)
{
  const size_t   here    = allocations;
  unsigned char *section = (unsigned char *)Allocate(131072);
  float         *x       = (float *)Allocate(65536 * sizeof(float));
  uint16_t       codes[512], back[512];
  uint64_t       legal = 0;

  for (unsigned bits = 0; bits < 65536; bits++) {
    const uint32_t word   = (uint32_t)bits << 16;
    const int      finite = (bits >> 7 & 255) != 255;
    float          single;

    memcpy(&single, &word, 4);
    section[0] = (unsigned char)(bits & 255);
    section[1] = (unsigned char)(bits >> 8);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_BF16, 1, section) == (finite ? MUON_WIRE_OK : MUON_WIRE_CORRUPT), "bf16 %04x", bits);
    if (finite) x[legal++] = single;
  }
  Check(legal == 65536 - 256, "%d finite values", (int)legal);
  MuonWireValuesEncode(MUON_WIRE_VALUES_BF16, legal, x, section);
  for (uint64_t i = 0; i < legal; i++) {
    float single;

    MuonWireValuesDecode(MUON_WIRE_VALUES_BF16, 1, section, i, &single);
    Check(memcmp(&single, &x[i], 4) == 0, "bf16 %g", (double)x[i]);
  }
  legal = 0;
  for (unsigned code = 0; code < 512; code++) {
    const int fine = (code & 255) != 255;

    section[0] = (unsigned char)(code & 255);
    section[1] = (unsigned char)(code >> 8);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, 1, section) == (fine ? MUON_WIRE_OK : MUON_WIRE_CORRUPT), "natural code %u", code);
    if (fine) codes[legal++] = (uint16_t)code;
  }
  Check(legal == 510, "%d codes", (int)legal);
  MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, legal, codes, section);
  Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, legal, section) == MUON_WIRE_OK, "all codes");
  for (uint64_t first = 0; first < legal; first += 8) {
    MuonWireValuesDecode(MUON_WIRE_VALUES_NATURAL, legal - first, section, first, back);
    Check(memcmp(back, codes + first, (size_t)(legal - first) * 2) == 0, "codes from %d on", (int)first);
  }
  FreeFrom(here);
}

/*
   Codes of every width, at every place in a byte, up to the longest line; a place that does not exist at each
   of them
*/
static void AllWidths(void)
{
  unsigned char *section = (unsigned char *)Allocate(57 * 200 / 8 + 8), narrow[200], packed[208];
  uint64_t       codes[200], back[200], state = 4;

  for (unsigned power = 0; power <= 56; power++) {
    for (uint64_t length = ((uint64_t)1 << power) - (power > 1); length <= ((uint64_t)1 << power) + 1 && length <= (uint64_t)1 << 56; length++) {
      for (uint64_t count = 0; count <= 200; count += count < 40 ? 1 : 40) {
        const size_t bytes = (size_t)MuonWireCodesBytes(MuonWireEntryWidth(length), count);
        unsigned     width = 1;

        while ((uint64_t)1 << (width - 1) < length) width++;
        Check(bytes == (width * count + 7) / 8, "%d bytes for %d codes of %u bits", (int)bytes, (int)count, width);
        for (uint64_t i = 0; i < count; i++) codes[i] = i % 3 == 0 ? 2 * length - 1 : NextBits(&state) % (2 * length);
        memset(section, 0xA5, bytes + 8);
        MuonWireCodesEncode(MuonWireEntryWidth(length), 8, count, codes, section);
        for (unsigned i = 0; i < 8; i++) Check(section[bytes + i] == 0xA5, "byte %u behind the section was written", i);
        for (uint64_t i = 0; i < count; i++) Check(BitsAt(section, width * i, width) == codes[i], "code %d of %u bits", (int)i, width);
        /* The same from codes of a byte each */
        if (width <= 8) {
          for (uint64_t i = 0; i < count; i++) narrow[i] = (unsigned char)codes[i];
          memset(packed, 0xA5, sizeof(packed));
          MuonWireCodesEncode(width, 1, count, narrow, packed);
          Check(memcmp(packed, section, bytes + 8) == 0, "%d codes of %u bits in bytes", (int)count, width);
        }
        for (uint64_t first = 0; width <= 8 && first < count; first += 8) {
          memset(narrow, 0x5A, sizeof(narrow));
          MuonWireCodesDecode(width, 1, count - first, section, first, narrow);
          for (uint64_t i = 0; i < 200; i++) {
            Check(narrow[i] == (i < count - first ? codes[first + i] : 0x5A), "codes from %d on in bytes", (int)first);
          }
        }
        Check(MuonWireEntriesValidate(length, count, section) == MUON_WIRE_OK, "%d codes of %u bits", (int)count, width);
        for (uint64_t first = 0; first < count; first += 8) {
          MuonWireCodesDecode(MuonWireEntryWidth(length), 8, count - first, section, first, back);
          Check(memcmp(back, codes + first, (size_t)(count - first) * 8) == 0, "codes from %d on", (int)first);
        }
        if (2 * length == (uint64_t)1 << width) continue;
        for (uint64_t i = 0; i < count; i++) {
          const uint64_t code = codes[i];

          codes[i] = 2 * length + i % 2;
          MuonWireCodesEncode(MuonWireEntryWidth(length), 8, count, codes, section);
          Check(MuonWireEntriesValidate(length, count, section) == MUON_WIRE_CORRUPT, "place %d of %d, length %g", (int)i, (int)count, (double)length);
          codes[i] = code;
        }
      }
    }
  }
}

/* One thing wrong at each place of a section that is otherwise right */
static void OneWrong(void)
{
  const size_t               here        = allocations;
  static const unsigned char wrong[4][8] = {{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}, {1, 0, 0x80, 0xFF}, {0x80, 0xFF}, {0}};
  unsigned char             *section     = (unsigned char *)Allocate(8000);
  uint16_t                  *codes       = (uint16_t *)Allocate(1000 * sizeof(uint16_t));

  for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values < MUON_WIRE_VALUES_NATURAL; values++) {
    const size_t width = (size_t)MuonWireValuesBytes((MuonWireValues)values, 1);

    memset(section, 0x3C, 8000);
    Check(MuonWireValuesValidate((MuonWireValues)values, 1000, section) == MUON_WIRE_OK, "codec %u", values);
    for (size_t i = 0; i < 1000; i++) {
      memcpy(section + width * i, wrong[values], width);
      Check(MuonWireValuesValidate((MuonWireValues)values, 1000, section) == MUON_WIRE_CORRUPT, "codec %u, value %d", values, (int)i);
      memset(section + width * i, 0x3C, width);
    }
  }
  memset(codes, 0, 1000 * sizeof(uint16_t));
  for (size_t i = 0; i < 1000; i++) {
    codes[i] = i % 2 == 0 ? 255 : 511;
    MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, 1000, codes, section);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, 1000, section) == MUON_WIRE_CORRUPT, "code %d", (int)i);
    codes[i] = 1;
  }
  /* Right in number, but in the padding */
  for (uint64_t entries = 1; entries < 200; entries++) {
    for (uint64_t k = entries; k < (entries + 7) / 8 * 8; k++) {
      memset(section, 0, 32);
      section[k / 8] = (unsigned char)(1 << k % 8);
      Check(MuonWireIndicesValidate(MUON_WIRE_INDICES_BITMAP, entries, 1, section) == MUON_WIRE_CORRUPT, "bit %d of %d", (int)k, (int)entries);
    }
  }
  FreeFrom(here);
}

/* A mean in the middle of two numbers of bfloat16 goes to the even one, up and down */
static void TwoBitTies(void)
{
  static const uint32_t ties[][2] = {{0x3F808000u, 0x3F80u}, {0x3F818000u, 0x3F82u}, {0x3F808001u, 0x3F81u}, {0x3F817FFFu, 0x3F81u}};

  for (size_t k = 0; k < sizeof(ties) / sizeof(ties[0]); k++) {
    unsigned char section[8] = {0};
    float         x          = FromBits32(ties[k][0]);

    MuonWireValuesEncode(MUON_WIRE_VALUES_TWOBIT, 1, &x, section);
    Check(section[0] + 256u * section[1] == ties[k][1] && section[2] + 256u * section[3] == ties[k][1], "the mean %08x is %02x%02x", ties[k][0], section[1], section[0]);
  }
}

int main(void)
{
  static const uint64_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 264, 300}, sizes[] = {0, 1, 2, 7, 63, 64, 65, 1000, 65535, 65536, 65537, 140001};
  const size_t          n     = sizeof(counts) / sizeof(counts[0]);
  uint64_t              state = 3;

  AllValues();
  TwoBitTies();
  OneWrong();
  AllWidths();
  for (unsigned v = 0; v <= MUON_WIRE_VALUES_CODED; v++) {
    const unsigned values = v < MUON_WIRE_VALUES_CODED ? v : CORPUS_RESIDUALS;

    for (size_t k = 0; k < n * n; k++) {
      const uint64_t i = counts[k / n], j = counts[k % n], least = i < j ? i : j, some = j < 20 ? j : 20, three = 1 + k % n % 3, length = 4 + (k / n + k % n) % 7;

      if (j == 0) {
        RoundTrip(i, 1, MUON_WIRE_DENSE, values, i, &state);
        RoundTrip(i, 1, MUON_WIRE_DENSE, values, 0, &state);
      }
      if (j <= i) {
        RoundTrip(1, i, MUON_WIRE_SPARSE, values, j, &state);
        RoundTrip(i, 1, MUON_WIRE_SPARSE, values, j, &state);
      }
      if (i * j < 5000) RoundTrip(i, j, MUON_WIRE_LOWRANK, values, least, &state);
      RoundTrip(i, j, MUON_WIRE_LOWRANK, values, least > 0, &state);
      RoundTrip(i, j, MUON_WIRE_TRIPLES, values, least > 2 ? 2 : least, &state);
      if (j == 0) continue;
      RoundTrip(i, j, MUON_WIRE_PERROW, values, i, &state);
      RoundTrip(j, i, MUON_WIRE_PERCOLUMN, values, i, &state);
      if (i > 0) RoundTrip(i, j, MUON_WIRE_PERROW, values, i - 1, &state);
      RoundTrip(j, i + 2, MUON_WIRE_PERCOLUMN, values, i / 2 + 1, &state);
      RoundTrip(i, j, MUON_WIRE_COLUMNS, values, some, &state);
      RoundTrip(i, j, MUON_WIRE_COLUMNS, values, 1, &state);
      RoundTrip(i, three, MUON_WIRE_SIGNS, values, k % n % 4 == 0 ? 0 : i * three, &state);
      RoundTrip(three, i, CORPUS_BLOCKS(2 + k % n % 7, length), values, k % n % 5 == 4 ? 0 : i * three, &state);
      if (j <= 2 * i) RoundTrip(i, 2, MUON_WIRE_SEEDED, values, j, &state);
      RoundTrip(i, j, MUON_WIRE_WHOLECOLUMNS, values, some, &state);
      RoundTrip(j, i, MUON_WIRE_WHOLEROWS, values, some, &state);
    }
    for (uint64_t i = 0; i < 40; i++) {
      const uint64_t rows = 1 + NextBits(&state) % 300, columns = 1 + NextBits(&state) % 300, count = NextBits(&state) % (rows * columns + 1);

      RoundTrip(rows, columns, MUON_WIRE_SPARSE, values, count, &state);
      RoundTrip(rows, columns, MUON_WIRE_SPARSE, values, count / 16, &state);
      RoundTrip(rows, columns, MUON_WIRE_SPARSE | CORPUS_CROWDED, values, count / 3, &state);
    }
  }
  /* Around the edges of chunks, for every density */
  for (size_t k = 0; k < 3 * sizeof(sizes) / sizeof(sizes[0]); k++) {
    const uint64_t d = sizes[k / 3], kept[] = {0, 1, d / 1000, d / 100, d / 10, d / 5, d / 3, 2 * d / 5, d / 2, d / 2 + 1, 2 * d / 3, 9 * d / 10, d - 1, d};
    const unsigned values[] = {MUON_WIRE_VALUES_BF16, MUON_WIRE_VALUES_NATURAL, CORPUS_RESIDUALS};

    for (size_t c = 0; c < 2 * sizeof(kept) / sizeof(kept[0]); c++) {
      if (kept[c / 2] <= d) RoundTrip(1, d, MUON_WIRE_SPARSE | (c % 2 ? 2 * CORPUS_CROWDED : 0), values[k % 3], kept[c / 2], &state);
    }
  }
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
