/*
   CRC-32C (Castagnoli): polynomial 0x1EDC6F41, bits reflected, register complemented before and after. By the
   processor's instruction where it has it, else by tables, eight bytes at a time.
*/
#include "muonwirebits.h"
#include "muonwirecrc.h"
#include "muonwirecrctables.h"

#if defined(MUON_WIRE_HAVE_SSE42)
  #include <nmmintrin.h>
#endif

static uint32_t MuonWireCRCBytes(uint32_t state, const unsigned char *data, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) state = state >> 8 ^ MuonWireCRCSlices[0][(state ^ data[i]) & 255];
  return state;
}

uint32_t MuonWireCRC32CTable(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint32_t state = ~crc;

  for (; bytes >= 8; bytes -= 8, data += 8) {
    const uint32_t low = MuonWireLoad32(data) ^ state, high = MuonWireLoad32(data + 4);

    state = MuonWireCRCSlices[7][low & 255] ^ MuonWireCRCSlices[6][low >> 8 & 255] ^ MuonWireCRCSlices[5][low >> 16 & 255] ^ MuonWireCRCSlices[4][low >> 24] ^ MuonWireCRCSlices[3][high & 255] ^ MuonWireCRCSlices[2][high >> 8 & 255] ^
            MuonWireCRCSlices[1][high >> 16 & 255] ^ MuonWireCRCSlices[0][high >> 24];
  }
  return ~MuonWireCRCBytes(state, data, bytes);
}

#if defined(MUON_WIRE_HAVE_SSE42)
/* What a register becomes when MUON_WIRE_CRC_STRIDE bytes of zero pass through it */
static uint32_t MuonWireCRCShift(uint32_t state)
{
  return MuonWireCRCStride[0][state & 255] ^ MuonWireCRCStride[1][state >> 8 & 255] ^ MuonWireCRCStride[2][state >> 16 & 255] ^ MuonWireCRCStride[3][state >> 24];
}

/*
   The instruction starts every cycle but takes three: three strides run side by side and are joined
   afterwards
*/
__attribute__((target("sse4.2"))) uint32_t MuonWireCRC32CSSE42(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint64_t a = (uint32_t)~crc;

  for (; bytes >= 3 * MUON_WIRE_CRC_STRIDE; bytes -= 3 * MUON_WIRE_CRC_STRIDE, data += 3 * MUON_WIRE_CRC_STRIDE) {
    uint64_t b = 0, c = 0;

    for (size_t i = 0; i < MUON_WIRE_CRC_STRIDE; i += 8) {
      a = _mm_crc32_u64(a, MuonWireLoad64(data + i));
      b = _mm_crc32_u64(b, MuonWireLoad64(data + MUON_WIRE_CRC_STRIDE + i));
      c = _mm_crc32_u64(c, MuonWireLoad64(data + 2 * MUON_WIRE_CRC_STRIDE + i));
    }
    b ^= MuonWireCRCShift((uint32_t)a);
    a = c ^ MuonWireCRCShift((uint32_t)b);
  }
  for (; bytes >= 8; bytes -= 8, data += 8) a = _mm_crc32_u64(a, MuonWireLoad64(data));
  for (; bytes > 0; bytes--, data++) a = _mm_crc32_u8((uint32_t)a, *data);
  return ~(uint32_t)a;
}
#endif

uint32_t MuonWireCRC32C(uint32_t crc, const unsigned char *data, size_t bytes)
{
#if defined(MUON_WIRE_HAVE_SSE42)
  if (__builtin_cpu_supports("sse4.2")) return MuonWireCRC32CSSE42(crc, data, bytes);
#endif
  return MuonWireCRC32CTable(crc, data, bytes);
}
