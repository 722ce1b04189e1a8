/*
   State in 16 and 8 bits. Each number is rounded up or down at random, without bias, by its own random word.

     bf16      the upper half of the binary32
     int8      scale level / 127, levels from -127 to 127
     quartic8  scale (level / 255)^4, levels from 0 to 255, for numbers that are not negative; positive numbers stay positive

   With 8 bits at most 256 entries of a row share a scale, their largest absolute value: columns 256 k to 256 k + 255. A
   block therefore never has entries on two ranks. Entries are numbered by their places in the whole layer. Rounding packed
   numbers to nearest again does not change them.
*/
#include "../array/muonentry.h"

#define BLOCK MUON_PACKED_BLOCK

/* The memory has the scales first, those of all rows of a block of columns for each block, and then the codes in the order of the entries */
static float *Scales(const MuonArray *packed, size_t row, size_t column)
{
  return (float *)packed->data + column / BLOCK * MuonArrayRows(packed) + row;
}

static void *Codes(const MuonArray *packed, size_t row, size_t column)
{
  const size_t at = packed->rowmajor ? row * packed->len + column : column * packed->len + row;

  return (char *)packed->data + MuonPackedScaleBytes(packed) + at * MuonArrayEntryBytes(packed);
}

MUON_ENTRY double Quartic(int level)
{
  const double root = (double)level / 255, square = root * root;

  return square * square;
}

/* The code of a number divided by the scale. There is no branch */
MUON_ENTRY unsigned char QuarticCode(double part, uint32_t word)
{
  const double root = 255 * sqrt(sqrt(part)), most = root < 255 ? root : 255;
  const int    down = (int)most;
  const double low = Quartic(down), fraction = (part - low) / (Quartic(down + 1) - low);
  const int    level = down + ((double)word * (1.0 / 4294967296.0) < fraction);

  return (unsigned char)(level + ((level == 0) & (part > 0)));
}

/* The number of entries is constant, so that compilers can use vectors */
MUON_KERNEL_CLONES static void Round(int quartic, const float x[BLOCK], const float scale[BLOCK], const uint32_t words[BLOCK], unsigned char *code)
{
  double part[BLOCK];

  for (size_t e = 0; e < BLOCK; e++) part[e] = (double)x[e] / (double)(scale[e] > 0 ? scale[e] : 1);
  if (quartic) {
    for (size_t e = 0; e < BLOCK; e++) code[e] = QuarticCode(part[e], words[e]);
  } else {
    for (size_t e = 0; e < BLOCK; e++) code[e] = QuantizedCode((float)(127 * part[e]), 127, words[e]);
  }
}

/* Loads a vector of a tile in single precision. Returns 1 if it is finite there */
static int Load(const MuonArray *tile, size_t v, float x[BLOCK])
{
  int finite = 1;

  for (size_t e = 0; e < tile->len; e++) {
    x[e] = tile->precision == MUON_SINGLE ? ((const float *)tile->data)[v * tile->ld + e] : (float)((const double *)tile->data)[v * tile->ld + e];
    finite &= fabsf(x[e]) < HUGE_VALF;
  }
  return finite;
}

/* A tile has at most 256 x 256 entries, all in one block of columns */
static int SetTile(const MuonStateForm *form, const MuonArray *tile, size_t row, size_t column, const MuonArray *packed)
{
  float *const scale  = Scales(packed, row, column);
  int          finite = 1, byrow = tile->rowmajor;
  float        x[BLOCK] = {0}, scales[BLOCK] = {0};
  uint32_t     words[BLOCK];

  for (size_t e = 0; e < BLOCK; e++) words[e] = (uint32_t)1 << 31; /* rounding to nearest */
  if (packed->precision != MUON_BF16) {
    for (size_t i = 0; i < MuonArrayRows(tile); i++) scale[i] = 0;
    for (size_t v = 0; v < tile->count; v++) {
      finite &= Load(tile, v, x);
      for (size_t e = 0; e < tile->len; e++) scale[byrow ? v : e] = fabsf(x[e]) > scale[byrow ? v : e] ? fabsf(x[e]) : scale[byrow ? v : e];
    }
  }
  for (size_t v = 0; v < tile->count; v++) {
    const size_t   i = byrow ? row + v : row, j = byrow ? column : column + v;
    unsigned char *code  = (unsigned char *)Codes(packed, i, j), codes[BLOCK];
    const size_t   first = form == NULL ? 0 : byrow ? (form->row + i) * packed->len + j : j * form->rows + form->row + i;

    finite &= Load(tile, v, x);
    if (form != NULL) MuonKernelStreamWords(&form->stream, first, tile->len, words);
    for (size_t e = 0; e < tile->len && packed->precision == MUON_BF16; e++) {
      uint32_t bits;

      memcpy(&bits, &x[e], sizeof(bits));
      bits = (bits + (words[e] >> 16)) >> 16;
      finite &= (bits & 0x7F80u) != 0x7F80u;
      ((uint16_t *)(void *)code)[e] = (uint16_t)bits;
    }
    if (packed->precision == MUON_BF16) continue;
    for (size_t e = 0; e < tile->len; e++) scales[e] = scale[byrow ? v : e];
    Round(packed->precision == MUON_QUARTIC8, x, scales, words, codes);
    memcpy(code, codes, tile->len);
  }
  return finite;
}

static void GetTile(const MuonArray *packed, size_t row, size_t column, const MuonArray *tile)
{
  const float *const scale = Scales(packed, row, column);

  for (size_t v = 0; v < tile->count; v++) {
    const unsigned char *code = (const unsigned char *)Codes(packed, tile->rowmajor ? row + v : row, tile->rowmajor ? column : column + v);

    for (size_t e = 0; e < tile->len; e++) {
      float x;

      if (packed->precision == MUON_BF16) {
        const uint32_t bits = (uint32_t)((const uint16_t *)(const void *)code)[e] << 16;

        memcpy(&x, &bits, sizeof(x));
      } else {
        const double most = (double)scale[tile->rowmajor ? v : e];

        x = (float)(packed->precision == MUON_QUARTIC8 ? most * Quartic(code[e]) : (code[e] & 1 ? -1 : 1) * (code[e] >> 1) * (most / 127));
      }
      if (tile->precision == MUON_SINGLE) ((float *)tile->data)[v * tile->ld + e] = x;
      else ((double *)tile->data)[v * tile->ld + e] = (double)x;
    }
  }
}

static int Tiles(int set, const MuonStateForm *form, const MuonArray *wide, size_t row, size_t column, const MuonArray *packed)
{
  int finite = 1;

  for (size_t j = 0; j < MuonArrayColumns(wide); j += BLOCK) {
    for (size_t i = 0; i < MuonArrayRows(wide); i += BLOCK) {
      const size_t    m = MuonArrayRows(wide) - i, n = MuonArrayColumns(wide) - j;
      const MuonArray tile = MuonArrayPart(wide, i, j, m < BLOCK ? m : BLOCK, n < BLOCK ? n : BLOCK);

      if (set) finite &= SetTile(form, &tile, row + i, column + j, packed);
      else GetTile(packed, row + i, column + j, &tile);
    }
  }
  return finite;
}

int MuonPackedSet(const MuonStateForm *form, const MuonArray *wide, size_t row, size_t column, const MuonArray *packed)
{
  return Tiles(1, form, wide, row, column, packed);
}

void MuonPackedGet(const MuonArray *packed, size_t row, size_t column, const MuonArray *wide)
{
  (void)Tiles(0, NULL, wide, row, column, packed);
}
