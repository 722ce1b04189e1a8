/*
   Values: the numbers at the positions, or all of them.
*/
#include "muonwirebits.h"

/* Codes that the validation of a section looks at together; a multiple of 8 */
#define MUON_WIRE_CHUNK 256

uint64_t MuonWireValuesBytes(MuonWireValues values, uint64_t count)
{
  switch (values) {
  case MUON_WIRE_VALUES_DOUBLE:
    return count * 8;
  case MUON_WIRE_VALUES_SINGLE:
    return count * 4;
  case MUON_WIRE_VALUES_BF16:
    return count * 2;
  case MUON_WIRE_VALUES_NATURAL:
    return count + count / 8 + (count % 8 != 0);
  default:
    return 0;
  }
}

/* Numbers of so many bytes between memory and the wire, whose order is the little-endian one */
static void MuonWireCopyNumbers(size_t width, uint64_t count, const void *from, void *to)
{
  const unsigned char *in  = (const unsigned char *)from;
  unsigned char       *out = (unsigned char *)to;

  if (count == 0) return;
  if (MuonWireIsLittleEndian()) {
    memcpy(to, from, (size_t)count * width);
    return;
  }
  for (uint64_t i = 0; i < count; i++, in += width, out += width) {
    for (size_t b = 0; b < width; b++) out[b] = in[width - 1 - b];
  }
}

void MuonWireDoublesEncode(uint64_t count, const double *x, unsigned char *to)
{
  MuonWireCopyNumbers(sizeof(*x), count, x, to);
}

void MuonWireDoublesDecode(uint64_t count, const unsigned char *from, uint64_t first, double *x)
{
  if (count > 0) MuonWireCopyNumbers(sizeof(*x), count, from + sizeof(*x) * first, x);
}

void MuonWireSinglesEncode(uint64_t count, const float *x, unsigned char *to)
{
  MuonWireCopyNumbers(sizeof(*x), count, x, to);
}

void MuonWireSinglesDecode(uint64_t count, const unsigned char *from, uint64_t first, float *x)
{
  if (count > 0) MuonWireCopyNumbers(sizeof(*x), count, from + sizeof(*x) * first, x);
}

/* bfloat16 is the upper half of binary32 */
void MuonWireBF16Encode(uint64_t count, const float *x, unsigned char *to)
{
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bits;

    memcpy(&bits, x + i, 4);
    MuonWireStore16(to + 2 * i, bits >> 16);
  }
}

void MuonWireBF16Decode(uint64_t count, const unsigned char *from, uint64_t first, float *x)
{
  from += 2 * first;
  for (uint64_t i = 0; i < count; i++) {
    const uint32_t bits = MuonWireLoad16(from + 2 * i) << 16;

    memcpy(x + i, &bits, 4);
  }
}

/*
   Eight codes are nine bytes: a word holds seven codes and the lowest bit of the eighth, the last byte the
   rest of it
*/
void MuonWireNaturalEncode(uint64_t count, const uint16_t *codes, unsigned char *to)
{
  uint32_t carry = 0;

  for (; count >= 8; count -= 8, codes += 8, to += 9) {
    const uint64_t lower = (uint64_t)codes[0] | (uint64_t)codes[1] << 9 | (uint64_t)codes[2] << 18 | (uint64_t)codes[3] << 27;
    const uint64_t upper = (uint64_t)codes[4] | (uint64_t)codes[5] << 9 | (uint64_t)codes[6] << 18 | (uint64_t)codes[7] << 27;

    MuonWireStore64(to, lower | upper << 36);
    to[8] = (unsigned char)(codes[7] >> 1);
  }
  if (count == 0) return;
  for (unsigned i = 0; i < (unsigned)count; i++) {
    carry |= (uint32_t)codes[i] << i;
    to[i] = (unsigned char)(carry & 255);
    carry >>= 8;
  }
  to[count] = (unsigned char)carry;
}

/* Code i of a group starts at bit i of byte i */
void MuonWireNaturalDecode(uint64_t count, const unsigned char *from, uint64_t first, uint16_t *codes)
{
  for (from += first / 8 * 9; count >= 8; count -= 8, codes += 8, from += 9) {
    const uint64_t word = MuonWireLoad64(from);

    codes[0] = (uint16_t)(word & 511);
    codes[1] = (uint16_t)(word >> 9 & 511);
    codes[2] = (uint16_t)(word >> 18 & 511);
    codes[3] = (uint16_t)(word >> 27 & 511);
    codes[4] = (uint16_t)(word >> 36 & 511);
    codes[5] = (uint16_t)(word >> 45 & 511);
    codes[6] = (uint16_t)(word >> 54 & 511);
    codes[7] = (uint16_t)(word >> 63 | (uint64_t)from[8] << 1);
  }
  for (unsigned i = 0; i < (unsigned)count; i++) codes[i] = (uint16_t)(MuonWireLoad16(from + i) >> i & 511);
}

static MuonWireResult MuonWireNaturalValidate(uint64_t count, const unsigned char *from)
{
  uint16_t codes[MUON_WIRE_CHUNK];
  unsigned bad = 0;

  for (uint64_t first = 0; first < count && bad == 0; first += MUON_WIRE_CHUNK) {
    const unsigned some = count - first < MUON_WIRE_CHUNK ? (unsigned)(count - first) : MUON_WIRE_CHUNK;

    MuonWireNaturalDecode(some, from, first, codes);
    for (unsigned i = 0; i < some; i++) bad |= (unsigned)((codes[i] & 255) == 255);
  }
  return bad == 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

MuonWireResult MuonWireValuesValidate(MuonWireValues values, uint64_t count, const unsigned char *from)
{
  unsigned bad = 0;

  switch (values) {
  case MUON_WIRE_VALUES_DOUBLE:
    for (uint64_t i = 0; i < count; i++) bad |= (unsigned)((MuonWireLoad64(from + 8 * i) >> 52 & 2047) == 2047);
    break;
  case MUON_WIRE_VALUES_SINGLE:
    for (uint64_t i = 0; i < count; i++) bad |= (unsigned)((MuonWireLoad32(from + 4 * i) >> 23 & 255) == 255);
    break;
  case MUON_WIRE_VALUES_BF16:
    for (uint64_t i = 0; i < count; i++) bad |= (unsigned)((MuonWireLoad16(from + 2 * i) >> 7 & 255) == 255);
    break;
  case MUON_WIRE_VALUES_NATURAL:
    return MuonWireNaturalValidate(count, from);
  default:
    return MUON_WIRE_CORRUPT;
  }
  return bad == 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

MuonWireResult MuonWireValuesAreMagnitudes(MuonWireValues values, int zero, uint64_t count, const unsigned char *from)
{
  const unsigned width = values == MUON_WIRE_VALUES_NATURAL ? 9 : (unsigned)(8 * MuonWireValuesBytes(values, 1));

  for (uint64_t i = 0; i < count; i++) {
    const uint64_t bit  = width * i;
    const uint64_t bits = MuonWireLoadPart(from + bit / 8, (width + 7) / 8) >> bit % 8 & (UINT64_MAX >> (64 - width));

    if ((bits == 0 && !zero) || bits >> (width - 1) != 0) return MUON_WIRE_CORRUPT;
  }
  return MUON_WIRE_OK;
}
