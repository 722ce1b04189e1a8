/*
   Three bytes for the number of values, then any bytes as a section of coded natural values: what is accepted encodes to the same bytes. The same bytes are packed codes, too, where
   they are valid: these come back.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t       count, used = 0;
  unsigned char *to, *again;

  if (size < 3) return 0;
  count = (data[0] | (uint64_t)data[1] << 8 | (uint64_t)data[2] << 16) % 140000;
  data += 3;
  size -= 3;
  to = (unsigned char *)Allocate((size_t)MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, count));
  if (MuonWireCodedDecode(count, data, size, &used, to) == MUON_WIRE_OK) {
    again = (unsigned char *)Allocate((size_t)used);
    Check(used <= size && used <= MuonWireCodedMaxBytes(count), "%d bytes", (int)used);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, count, to) == MUON_WIRE_OK, "%d values", (int)count);
    Check(MuonWireCodedEncode(count, to, used, again) == used && memcmp(again, data, (size_t)used) == 0, "%d values", (int)count);
    free(again);
  }
  free(to);
  count = 8 * size / 9;
  if (MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, count) == size && MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, count, data) == MUON_WIRE_OK) {
    const uint64_t most = MuonWireCodedMaxBytes(count);
    uint64_t       bytes;

    again = (unsigned char *)Allocate((size_t)most);
    to    = (unsigned char *)Allocate(size);
    bytes = MuonWireCodedEncode(count, data, most, again);
    Check(bytes <= most && MuonWireCodedDecode(count, again, bytes, &used, to) == MUON_WIRE_OK && used == bytes && memcmp(to, data, size) == 0, "%d values", (int)count);
    free(to);
    free(again);
  }
  return 0;
}
