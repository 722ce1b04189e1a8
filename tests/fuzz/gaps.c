/*
   Three bytes for the number of entries, three for how many of them are kept, one for the plain codec, then
   any bytes as a section of gaps: what is accepted comes back when it is written again, with the same bytes with vectors and without.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t        entries, count, used = 0;
  MuonWireIndices plain;
  unsigned char  *to;

  if (size < 7) return 0;
  entries = (data[0] | (uint64_t)data[1] << 8 | (uint64_t)data[2] << 16) % 200000;
  count   = (data[3] | (uint64_t)data[4] << 8 | (uint64_t)data[5] << 16) % (entries + 1);
  plain   = data[6] % 2 == 0 ? MUON_WIRE_INDICES_BITMAP : MUON_WIRE_INDICES_RAW;
  to      = (unsigned char *)Allocate((size_t)MuonWireIndicesBytes(plain, entries, count));
  if (MuonWireGapsDecode(entries, count, data + 7, size - 7, &used, plain, to) == MUON_WIRE_OK) {
    const uint64_t bytes = entries / 8 + 1 + 6 * (entries / 65536 + 1); /* chunks that nothing makes shorter, and their heads */
    unsigned char *again = (unsigned char *)Allocate((size_t)bytes), *back = (unsigned char *)Allocate((size_t)MuonWireIndicesBytes(plain, entries, count)), *other = (unsigned char *)Allocate((size_t)bytes);

    Check(used <= size - 7, "%d bytes", (int)used);
    Check(MuonWireIndicesValidate(plain, entries, count, to) == MUON_WIRE_OK, "%d of %d", (int)count, (int)entries);
    used = MuonWireGapsEncode(plain, entries, count, to, bytes, again);
    MuonWireSetWide(0);
    Check(MuonWireGapsEncode(plain, entries, count, to, bytes, other) == used && memcmp(other, again, (size_t)used) == 0, "%d of %d: other bytes", (int)count, (int)entries);
    MuonWireSetWide(1);
    Check(used <= bytes && MuonWireGapsDecode(entries, count, again, used, &used, plain, back) == MUON_WIRE_OK, "%d of %d", (int)count, (int)entries);
    Check(memcmp(to, back, (size_t)MuonWireIndicesBytes(plain, entries, count)) == 0, "%d of %d", (int)count, (int)entries);
  }
  FreeFrom(0);
  return 0;
}
