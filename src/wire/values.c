/*
   Values: the numbers at the positions, or all of them.
*/
#include "muonwirebits.h"

/* The number of values of two bits that share two magnitudes */
#define SHARE 64

uint64_t MuonWireValuesBytes(MuonWireValues values, uint64_t count)
{
  static const unsigned bits[] = {64, 32, 16, 9};

  if (values == MUON_WIRE_VALUES_TWOBIT) return MuonWireCodesBytes(2, count) + 4 * (count / SHARE + (count % SHARE != 0));
  return values <= MUON_WIRE_VALUES_NATURAL ? MuonWireCodesBytes(bits[values], count) : 0;
}

/* Copies numbers of width bytes between memory and the wire. The wire is little-endian */
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

/* A bit: the value is above the mean. The magnitudes are the means of both groups in bfloat16. An empty group has the mean of the other */
static void MuonWireTwoBitEncode(uint64_t count, const float *x, unsigned char *to)
{
  for (uint64_t some; count > 0; count -= some, x += some, to += MuonWireValuesBytes(MUON_WIRE_VALUES_TWOBIT, some)) {
    double   total = 0, sum[2] = {0, 0};
    unsigned many[2] = {0, 0};
    uint8_t  codes[SHARE];

    some = count < SHARE ? count : SHARE;
    for (uint64_t i = 0; i < some; i++) total += x[i] < 0 ? -(double)x[i] : (double)x[i];
    for (uint64_t i = 0; i < some; i++) {
      const double   size  = x[i] < 0 ? -(double)x[i] : (double)x[i];
      const unsigned large = (double)some * size > total;

      sum[large] += size;
      many[large]++;
      codes[i] = (uint8_t)(2 * large + (x[i] < 0));
    }
    for (unsigned k = 0; k < 2; k++) {
      const unsigned of   = many[k] > 0 ? k : 0;
      const float    mean = (float)(sum[of] / many[of]);
      uint32_t       bits;

      memcpy(&bits, &mean, 4);
      bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
      MuonWireStore16(to + 2 * k, bits < 0x7F80 ? bits : 0x7F7F);
    }
    MuonWireCodesEncode(2, 1, some, codes, to + 4);
  }
}

/* bfloat16 is the upper half of binary32 */
void MuonWireValuesEncode(MuonWireValues values, uint64_t count, const void *x, unsigned char *to)
{
  if (values == MUON_WIRE_VALUES_NATURAL) MuonWireCodesEncode(9, 2, count, x, to);
  else if (values == MUON_WIRE_VALUES_TWOBIT) MuonWireTwoBitEncode(count, (const float *)x, to);
  else if (values != MUON_WIRE_VALUES_BF16) MuonWireCopyNumbers(values == MUON_WIRE_VALUES_DOUBLE ? 8 : 4, count, x, to);
  else {
    for (uint64_t i = 0; i < count; i++) {
      uint32_t bits;

      memcpy(&bits, (const float *)x + i, 4);
      MuonWireStore16(to + 2 * i, bits >> 16);
    }
  }
}

void MuonWireValuesDecode(MuonWireValues values, uint64_t count, const unsigned char *from, uint64_t first, void *x)
{
  from += MuonWireValuesBytes(values, first);
  if (values == MUON_WIRE_VALUES_NATURAL) MuonWireCodesDecode(9, 2, count, from, 0, x);
  else if (values == MUON_WIRE_VALUES_TWOBIT) {
    for (uint64_t i = 0; i < count; i++) {
      const unsigned char *shared = from + MuonWireValuesBytes(values, i / SHARE * SHARE);
      const unsigned       code   = shared[4 + i % SHARE / 4] >> 2 * (i % 4) & 3;
      const uint32_t       bits   = MuonWireLoad16(shared + (code & 2)) << 16 | (uint32_t)(code & 1) << 31;

      memcpy((float *)x + i, &bits, 4);
    }
  } else if (values != MUON_WIRE_VALUES_BF16) MuonWireCopyNumbers(values == MUON_WIRE_VALUES_DOUBLE ? 8 : 4, count, from, x);
  else {
    for (uint64_t i = 0; i < count; i++) {
      const uint32_t bits = MuonWireLoad16(from + 2 * i) << 16;

      memcpy((float *)x + i, &bits, 4);
    }
  }
}

MuonWireResult MuonWireValuesValidate(MuonWireValues values, uint64_t count, const unsigned char *from)
{
  unsigned bad = values > MUON_WIRE_VALUES_NATURAL && values != MUON_WIRE_VALUES_TWOBIT;

  for (uint64_t i = 0; i < count && values == MUON_WIRE_VALUES_DOUBLE; i++) bad |= (unsigned)((MuonWireLoad64(from + 8 * i) >> 52 & 2047) == 2047);
  for (uint64_t i = 0; i < count && values == MUON_WIRE_VALUES_SINGLE; i++) bad |= (unsigned)((MuonWireLoad32(from + 4 * i) >> 23 & 255) == 255);
  for (uint64_t i = 0; i < count && values == MUON_WIRE_VALUES_BF16; i++) bad |= (unsigned)((MuonWireLoad16(from + 2 * i) >> 7 & 255) == 255);
  for (uint64_t i = 0; i < count && values == MUON_WIRE_VALUES_NATURAL; i++) bad |= (unsigned)((MuonWireLoad16(from + 9 * i / 8) >> i % 8 & 255) == 255);
  for (uint64_t i = 0; i < count && values == MUON_WIRE_VALUES_TWOBIT; i += SHARE) {
    const unsigned char *shared = from + MuonWireValuesBytes(values, i);

    bad |= (unsigned)(MuonWireLoad16(shared) >= 0x7F80 || MuonWireLoad16(shared + 2) >= 0x7F80);
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
