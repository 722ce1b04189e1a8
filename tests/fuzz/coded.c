/*
   Three bytes for the number of values, one for the bits of a code, then any bytes as a section of coded
   values: what is accepted comes back when it is written again. The same bytes are packed codes, too, those
   of 9 bits where they are natural ones: these come back. With vectors, where the processor has them, and
   without: the same is accepted, and written.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Packed codes come back; the bits behind the last one are no part of them */
static void ThereAndBack(unsigned width, uint64_t count, const unsigned char *packed)
{
  /* Chunks that nothing makes shorter, and their heads */
  const uint64_t size = (width * count + 7) / 8, max = size + 3 * (count / 65536 + 1);
  unsigned char *coded = (unsigned char *)Allocate((size_t)max), *back = (unsigned char *)Allocate((size_t)size);
  uint64_t       used  = 0;
  unsigned char *other = (unsigned char *)Allocate((size_t)max);
  const uint64_t bytes = MuonWireCodedEncode(width, count, packed, max, coded);

  Check(bytes <= max && MuonWireCodedDecode(width, count, coded, bytes, &used, back) == MUON_WIRE_OK && used == bytes, "%d codes", (int)count);
  for (uint64_t k = 0; k < width * count; k++) Check((back[k / 8] >> k % 8 & 1) == (packed[k / 8] >> k % 8 & 1), "bit %d of %d codes", (int)k, (int)count);
  MuonWireSetWide(0);
  Check(MuonWireCodedEncode(width, count, packed, max, other) == bytes && memcmp(other, coded, (size_t)bytes) == 0, "%d codes: other bytes", (int)count);
  MuonWireSetWide(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t       count, used = 0, used2 = 0;
  unsigned       width;
  unsigned char *to, *other;
  MuonWireResult result;

  if (size < 4) return 0;
  count = (data[0] | (uint64_t)data[1] << 8 | (uint64_t)data[2] << 16) % 140000;
  width = 2 + data[3] % 8;
  data += 4;
  size -= 4;
  to    = (unsigned char *)Allocate((size_t)(width * count + 7) / 8);
  other = (unsigned char *)Allocate((size_t)(width * count + 7) / 8);
  MuonWireSetWide(0);
  result = MuonWireCodedDecode(width, count, data, size, &used2, other);
  MuonWireSetWide(1);
  Check(MuonWireCodedDecode(width, count, data, size, &used, to) == result, "refused with vectors or without");
  if (result == MUON_WIRE_OK) {
    Check(used == used2 && memcmp(to, other, (size_t)(width * count + 7) / 8) == 0, "%d codes: other ones", (int)count);
    Check(used <= size, "%d bytes", (int)used);
    ThereAndBack(width, count, to);
  }
  count = 8 * size / width;
  if (width < 9 || MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, count, data) == MUON_WIRE_OK) ThereAndBack(width, count, data);
  FreeFrom(0);
  return 0;
}
