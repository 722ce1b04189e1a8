/*
   CRC-32C (Castagnoli): polynomial 0x1EDC6F41, bits reflected, register complemented before and after. It uses the
   processor's instruction if there is one, otherwise tables for eight bytes at a time.
*/
#include "muonwirebits.h"
#include "muonwirecrc.h"

#if defined(MUON_WIRE_HAVE_SSE42)
  #include <nmmintrin.h>
#endif

/*
   A checksum is linear: the entry of a byte is the sum of the entries of its bits. A table therefore needs only these
   eight, t0 for the lowest bit to t7 for the highest
*/
#define ENTRY(b, t0, t1, t2, t3, t4, t5, t6, t7) (((b)&1 ? t0 : 0u) ^ ((b)&2 ? t1 : 0u) ^ ((b)&4 ? t2 : 0u) ^ ((b)&8 ? t3 : 0u) ^ ((b)&16 ? t4 : 0u) ^ ((b)&32 ? t5 : 0u) ^ ((b)&64 ? t6 : 0u) ^ ((b)&128 ? t7 : 0u))
#define FOUR(b, ...)                             ENTRY(b, __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__), ENTRY((b) + 3, __VA_ARGS__)
#define SIXTEEN(b, ...)                          FOUR(b, __VA_ARGS__), FOUR((b) + 4, __VA_ARGS__), FOUR((b) + 8, __VA_ARGS__), FOUR((b) + 12, __VA_ARGS__)
#define SIXTYFOUR(b, ...)                        SIXTEEN(b, __VA_ARGS__), SIXTEEN((b) + 16, __VA_ARGS__), SIXTEEN((b) + 32, __VA_ARGS__), SIXTEEN((b) + 48, __VA_ARGS__)
#define TABLE(...) \
  { \
    SIXTYFOUR(0, __VA_ARGS__), SIXTYFOUR(64, __VA_ARGS__), SIXTYFOUR(128, __VA_ARGS__), SIXTYFOUR(192, __VA_ARGS__) \
  }

/* [k][b]: the register after byte b and k zero bytes */
static const uint32_t MuonWireCRCSlices[8][256] = {
  TABLE(0xF26B8303, 0xE13B70F7, 0xC79A971F, 0x8AD958CF, 0x105EC76F, 0x20BD8EDE, 0x417B1DBC, 0x82F63B78), TABLE(0x13A29877, 0x274530EE, 0x4E8A61DC, 0x9D14C3B8, 0x3FC5F181, 0x7F8BE302, 0xFF17C604, 0xFBC3FAF9),
  TABLE(0xA541927E, 0x4F6F520D, 0x9EDEA41A, 0x38513EC5, 0x70A27D8A, 0xE144FB14, 0xC76580D9, 0x8B277743), TABLE(0xDD45AAB8, 0xBF672381, 0x7B2231F3, 0xF64463E6, 0xE964B13D, 0xD725148B, 0xABA65FE7, 0x52A0C93F),
  TABLE(0x38116FAC, 0x7022DF58, 0xE045BEB0, 0xC5670B91, 0x8F2261D3, 0x1BA8B557, 0x37516AAE, 0x6EA2D55C), TABLE(0xEF306B19, 0xDB8CA0C3, 0xB2F53777, 0x6006181F, 0xC00C303E, 0x85F4168D, 0x0E045BEB, 0x1C08B7D6),
  TABLE(0x68032CC8, 0xD0065990, 0xA5E0C5D1, 0x4E2DFD53, 0x9C5BFAA6, 0x3D5B83BD, 0x7AB7077A, 0xF56E0EF4), TABLE(0x493C7D27, 0x9278FA4E, 0x211D826D, 0x423B04DA, 0x847609B4, 0x0D006599, 0x1A00CB32, 0x34019664)};

uint32_t MuonWireCRC32CTable(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint32_t state = ~crc;

  for (; bytes >= 8; bytes -= 8, data += 8) {
    const uint32_t low = MuonWireLoad32(data) ^ state, high = MuonWireLoad32(data + 4);

    state = MuonWireCRCSlices[7][low & 255] ^ MuonWireCRCSlices[6][low >> 8 & 255];
    state ^= MuonWireCRCSlices[5][low >> 16 & 255] ^ MuonWireCRCSlices[4][low >> 24];
    state ^= MuonWireCRCSlices[3][high & 255] ^ MuonWireCRCSlices[2][high >> 8 & 255];
    state ^= MuonWireCRCSlices[1][high >> 16 & 255] ^ MuonWireCRCSlices[0][high >> 24];
  }
  for (size_t i = 0; i < bytes; i++) state = state >> 8 ^ MuonWireCRCSlices[0][(state ^ data[i]) & 255];
  return ~state;
}

#if defined(MUON_WIRE_HAVE_SSE42)
  #define STRIDE 1024
  #define AHEAD  4096

/* [k][b]: the contribution of byte b, at place k of the register from below, after STRIDE zero bytes */
static const uint32_t MuonWireCRCStride[4][256] = {
  TABLE(0xFE314258, 0xF98EF241, 0xF6F19273, 0xE80F5217, 0xD5F2D2DF, 0xAE09D34F, 0x59FFD06F, 0xB3FFA0DE), TABLE(0x6213374D, 0xC4266E9A, 0x8DA0ABC5, 0x1EAD217B, 0x3D5A42F6, 0x7AB485EC, 0xF5690BD8, 0xEF3E6141),
  TABLE(0xDB90B473, 0xB2CD1E17, 0x60764ADF, 0xC0EC95BE, 0x84355D8D, 0x0D86CDEB, 0x1B0D9BD6, 0x361B37AC), TABLE(0x6C366F58, 0xD86CDEB0, 0xB535CB91, 0x6F87E1D3, 0xDF0FC3A6, 0xBBF3F1BD, 0x720B958B, 0xE4172B16)};

/* The register after STRIDE zero bytes */
static uint32_t MuonWireCRCShift(uint32_t state)
{
  return MuonWireCRCStride[0][state & 255] ^ MuonWireCRCStride[1][state >> 8 & 255] ^ MuonWireCRCStride[2][state >> 16 & 255] ^ MuonWireCRCStride[3][state >> 24];
}

/*
   The instruction can start in every cycle and takes three cycles. Three strides therefore run side by side and are
   joined afterwards. Processors do not prefetch such a pattern by themselves, so the loop prefetches later lines
*/
__attribute__((target("sse4.2"))) uint32_t MuonWireCRC32CSSE42(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint64_t a = (uint32_t)~crc;

  for (; bytes >= 3 * STRIDE; bytes -= 3 * STRIDE, data += 3 * STRIDE) {
    uint64_t b = 0, c = 0;

    for (size_t i = 0; i < STRIDE; i += 8) {
      if (i % 64 == 0) {
        for (size_t k = 0; k < 3 * 64; k += 64) _mm_prefetch((const char *)data + AHEAD + 3 * i + k, _MM_HINT_T0);
      }
      a = _mm_crc32_u64(a, MuonWireLoad64(data + i));
      b = _mm_crc32_u64(b, MuonWireLoad64(data + STRIDE + i));
      c = _mm_crc32_u64(c, MuonWireLoad64(data + 2 * STRIDE + i));
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
