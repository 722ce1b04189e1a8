/*
   Three bytes for the number of values, one for the bits of a code, then any bytes as a section of coded
   values: what is accepted encodes to the same bytes. The same bytes are packed natural codes, too, where
   they are valid, and packed codes of few bits: these come back.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No negative zero among packed codes, and no bit behind them */
static int LevelsAre(unsigned width, uint64_t count, const uint8_t *data)
{
  uint64_t code = 0;

  for (uint64_t k = 0; k < 8 * ((width * count + 7) / 8); k++) {
    const uint64_t bit = data[k / 8] >> k % 8 & 1;

    if (k >= width * count && bit) return 0;
    code |= bit << k % width;
    if (k % width != width - 1) continue;
    if (k < width * count && code == 1) return 0;
    code = 0;
  }
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t       count, used = 0;
  unsigned       width;
  unsigned char *to, *again;

  if (size < 4) return 0;
  count = (data[0] | (uint64_t)data[1] << 8 | (uint64_t)data[2] << 16) % 140000;
  width = 2 + data[3] % 8;
  data += 4;
  size -= 4;
  to = (unsigned char *)Allocate((size_t)(width * count + 7) / 8);
  if (MuonWireCodedDecode(width, count, data, size, &used, to) == MUON_WIRE_OK) {
    again = (unsigned char *)Allocate((size_t)used);
    Check(used <= size && used <= CodedMaxBytes(width, count), "%d bytes", (int)used);
    Check(width < 9 || MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, count, to) == MUON_WIRE_OK, "%d values", (int)count);
    Check(MuonWireCodedEncode(width, count, to, used, again) == used && memcmp(again, data, (size_t)used) == 0, "%d values", (int)count);
    free(again);
  }
  free(to);
  count = 8 * size / width;
  if ((width * count + 7) / 8 == size && (width == 9 ? MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, count, data) == MUON_WIRE_OK : LevelsAre(width, count, data))) {
    const uint64_t most = CodedMaxBytes(width, count);
    uint64_t       bytes;

    again = (unsigned char *)Allocate((size_t)most);
    to    = (unsigned char *)Allocate(size);
    bytes = MuonWireCodedEncode(width, count, data, most, again);
    Check(bytes <= most && MuonWireCodedDecode(width, count, again, bytes, &used, to) == MUON_WIRE_OK && used == bytes && memcmp(to, data, size) == 0, "%d values", (int)count);
    free(to);
    free(again);
  }
  return 0;
}
