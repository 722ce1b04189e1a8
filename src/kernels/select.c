#if !defined(REAL)
/*
   The entries of T - R of largest absolute value, exactly.

   One pass over the matrices lists, in row-major order, every entry that reaches a bound; a sample puts the bound a little below the threshold that is looked for. The list is then cut to the wanted number. A list
   that fills up before the end, because the sample misled or entries are equal, is cut in between, and the bound rises to what is left: an entry that as many earlier ones reach is not wanted any more. Where the
   list comes out too short a second pass does without a bound. So two passes are the most, the result never depends on the sample, and no copy of the residual is kept.

   The bits of |x| order as |x| does: numbers are compared as integers.
*/
  #include "muonkernels.h"
  #include "muonsquare.h"
  #include <math.h>

  /* Rows that are walked together: squares of 64, up to pieces of columns that a processor fetches ahead by itself, and so many entries at most */
  #define SQUARES       8
  #define PANEL_ENTRIES ((size_t)1048576)
  /* One entry in so many is sampled */
  #define SAMPLED       ((size_t)64)
  #define SAMPLES_LEAST ((size_t)64)
  #define SAMPLES_MOST  ((size_t)16384)
  #define BIN_BITS      12
  #define BINS          ((size_t)1 << BIN_BITS)

/* What the routine needs beside its list, in this order */
typedef struct {
  size_t   *histogram, *used;
  uint64_t *squares;
  void     *tiles, *lines;
  size_t    rows, samples;
} Scratch;

static size_t Most(size_t a, size_t b)
{
  return a > b ? a : b;
}

static size_t PanelRows(size_t m, size_t n)
{
  size_t squares = PANEL_ENTRIES / (SQUARE * Most(n, 1));

  if (m == 1 || n == 1) return 0;
  if (squares > SQUARES) squares = SQUARES;
  if (squares > (m + SQUARE - 1) / SQUARE) squares = (m + SQUARE - 1) / SQUARE;
  return SQUARE * Most(squares, 1);
}

static size_t SampleSize(size_t m, size_t n)
{
  const size_t samples = m * n / SAMPLED;

  return samples < SAMPLES_LEAST ? 0 : samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
}

size_t MuonKernelTopRoom(size_t m, size_t n, size_t count)
{
  const size_t room = count + Most(count / 4, BINS) + n;

  return room < m * n ? room : m * n;
}

size_t MuonKernelTopScratch(size_t m, size_t n, size_t size)
{
  const size_t rows = PanelRows(m, n);

  return (BINS + rows) * sizeof(size_t) + Most(rows, SQUARE) * sizeof(uint64_t) + Most(Most(rows, 1) * SQUARE + (rows < m ? rows : m) * n, SampleSize(m, n)) * size;
}

static Scratch ScratchOf(size_t m, size_t n, size_t size, void *memory)
{
  Scratch scratch;

  scratch.rows      = PanelRows(m, n);
  scratch.samples   = SampleSize(m, n);
  scratch.histogram = (size_t *)memory;
  scratch.used      = scratch.histogram + BINS;
  scratch.squares   = (uint64_t *)(scratch.used + scratch.rows);
  scratch.tiles     = scratch.squares + Most(scratch.rows, SQUARE);
  scratch.lines     = (char *)scratch.tiles + Most(scratch.rows, 1) * SQUARE * size;
  return scratch;
}

  /* This file includes itself for each type that entries are compared in */
  #define REAL            float
  #define REAL_NAME(name) name##Single
  #define KEY             uint32_t
  #define KEY_BITS        31
  #define EXPONENT_BITS   8
  #include "select.c"
  #undef REAL
  #undef REAL_NAME
  #undef KEY
  #undef KEY_BITS
  #undef EXPONENT_BITS

  #if defined(MUON_KERNEL_SINGLE)
int MuonKernelTop(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, unsigned char *bitmap, MuonKernelScalar *kept, void *scratch)
{
  return MuonKernelTopSingle(m, n, T, ldt, R, ldr, count, bitmap, kept, scratch);
}
  #else
    #define REAL            double
    #define REAL_NAME(name) name
    #define KEY             uint64_t
    #define KEY_BITS        63
    #define EXPONENT_BITS   11
    #include "select.c"
  #endif

#else

MUON_KERNEL_INLINE KEY REAL_NAME(Magnitude)(REAL x)
{
  KEY key;

  memcpy(&key, &x, sizeof(key));
  return key & (((KEY)1 << KEY_BITS) - 1);
}

/*
   The key that the wanted-th largest of count > 0 numbers has; *equal of those with this very key are to be kept, the first ones. Each round counts the keys between low and high, of which one is it, in bins and goes on
   with one bin
*/
MUON_KERNEL_INLINE KEY REAL_NAME(Threshold)(size_t count, const REAL *x, size_t wanted, size_t *histogram, size_t *equal)
{
  KEY      low = REAL_NAME(Magnitude)(x[0]), high = low;
  unsigned shift = 0;

  for (size_t k = 0; k < count; k++) {
    const KEY key = REAL_NAME(Magnitude)(x[k]);

    low  = key < low ? key : low;
    high = key > high ? key : high;
  }
  while ((high - low) >> shift >= BINS) shift++;
  while (low < high) {
    const KEY    span = high - low;
    const size_t bins = (size_t)(span >> shift) + 1;
    size_t       bin  = bins - 1;

    memset(histogram, 0, bins * sizeof(*histogram));
    for (size_t k = 0; k < count; k++) {
      const KEY offset = REAL_NAME(Magnitude)(x[k]) - low;

      if (offset <= span) ++histogram[offset >> shift];
    }
    for (; histogram[bin] < wanted; bin--) wanted -= histogram[bin];
    low += (KEY)bin << shift;
    if (histogram[bin] == wanted) {
      /* The whole bin is kept, whatever is equal to its lower end */
      *equal = count;
      return low;
    }
    if (high - low >= (KEY)1 << shift) high = low + (((KEY)1 << shift) - 1);
    shift = shift > BIN_BITS ? shift - BIN_BITS : 0;
  }
  *equal = wanted;
  return low;
}

/* Cuts the list, whose bits the first listed bits of bitmap are, to count entries. Returns the bound for those that may follow */
MUON_KERNEL_INLINE KEY REAL_NAME(Cut)(size_t listed, REAL *kept, size_t count, unsigned char *bitmap, size_t *histogram)
{
  size_t    equal;
  const KEY threshold = REAL_NAME(Threshold)(listed, kept, count, histogram, &equal);

  for (size_t k = 0, to = 0; k < listed; bitmap += 8) {
    uint64_t word = LoadWord(bitmap), left = word;

    for (uint64_t rest = word; rest != 0 && k < listed; rest &= rest - 1, k++) {
      const KEY      key  = REAL_NAME(Magnitude)(kept[k]);
      const uint64_t tie  = (uint64_t)((key == threshold) & (equal > 0));
      const uint64_t keep = (uint64_t)(key > threshold) | tie;

      kept[to] = kept[k];
      to += (size_t)keep;
      equal -= (size_t)tie;
      left ^= (rest & (~rest + 1)) & (keep - 1);
    }
    StoreWord(bitmap, left);
  }
  return threshold + 1;
}

/* x = t - r in 64 places, of which some are there, and one bit for each that reaches least. Keys leave the top bit free, so that it is the borrow of a subtraction */
MUON_KERNEL_INLINE uint64_t REAL_NAME(Reach)(size_t some, const MuonKernelScalar *t, size_t ldt, const MuonKernelScalar *r, size_t ldr, KEY least, REAL *x, KEY *infinite)
{
  const KEY under = least - 1;
  KEY       key[SQUARE], found = 0;
  uint64_t  word = 0;

  if (r == NULL) {
    for (size_t i = 0; i < some; i++) x[i] = (REAL)t[i * ldt];
  } else {
    for (size_t i = 0; i < some; i++) x[i] = (REAL)(t[i * ldt] - r[i * ldr]);
  }
  for (size_t i = some; i < SQUARE; i++) x[i] = 0;
  memcpy(key, x, sizeof(key));
  for (size_t i = 0; i < SQUARE; i++) {
    key[i] &= ((KEY)1 << KEY_BITS) - 1;
    found |= key[i] + ((KEY)1 << (KEY_BITS - EXPONENT_BITS)); /* reaches the top bit exactly where the exponent is the largest */
  }
  for (size_t i = 0; i < SQUARE; i++) word |= (uint64_t)((KEY)(under - key[i]) >> KEY_BITS) << i;
  *infinite |= found;
  return some < SQUARE ? word & (((uint64_t)1 << some) - 1) : word;
}

/* The bound that a few more than the wanted entries should reach: four standard deviations more. Where in its stretch an entry is sampled is scattered, but always the same */
static KEY REAL_NAME(Sample)(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, const Scratch *scratch)
{
  const size_t samples = scratch->samples, stretch = samples > 0 ? m * n / samples : 0;
  const double part = (double)count / ((double)m * (double)n), wanted = part * (double)samples + 4 * sqrt(part * (1 - part) * (double)samples) + 4;
  REAL        *x = (REAL *)scratch->tiles;
  size_t       equal;

  if (wanted >= (double)samples) return 0;
  for (size_t k = 0; k < samples; k++) {
    const size_t at = k * stretch + (size_t)((uint64_t)((uint32_t)k * 0x9E3779B9u >> 8) * stretch >> 24), j = at / m, i = at % m;

    x[k] = (REAL)(R == NULL ? T[i + j * ldt] : T[i + j * ldt] - R[i + j * ldr]);
  }
  return REAL_NAME(Threshold)(samples, x, (size_t)wanted, scratch->histogram, &equal);
}

/* One pass: lists what reaches least and cuts the list whenever the next row does not fit. Returns how long it is, or SIZE_MAX where an entry is not finite */
MUON_KERNEL_CLONES static size_t REAL_NAME(Pass)(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, KEY least, unsigned char *bitmap, REAL *kept, const Scratch *scratch)
{
  const size_t room = MuonKernelTopRoom(m, n, count), entries = m * n;
  REAL        *tiles = (REAL *)scratch->tiles, *lines = (REAL *)scratch->lines;
  uint64_t    *squares  = scratch->squares;
  KEY          infinite = 0;
  size_t       listed   = 0;

  memset(bitmap, 0, (entries + 63) / 64 * 8);
  if (m == 1 || n == 1) {
    /* A vector is in both orders at once */
    for (size_t first = 0; first < entries; first += SQUARE) {
      const size_t some = entries - first < SQUARE ? entries - first : SQUARE, step = m == 1 ? ldt : 1, back = m == 1 ? ldr : 1;
      uint64_t     word = REAL_NAME(Reach)(some, T + first * step, step, R == NULL ? NULL : R + first * back, back, least, tiles, &infinite);

      if (listed + some > room) {
        least  = REAL_NAME(Cut)(listed, kept, count, bitmap, scratch->histogram);
        listed = count;
      }
      StoreWord(bitmap + first / 8, word);
      for (; word != 0; word &= word - 1) kept[listed++] = tiles[LowestBit(word)];
    }
    return infinite >> KEY_BITS != 0 ? SIZE_MAX : listed;
  }
  for (size_t top = 0; top < m; top += scratch->rows) {
    const size_t tall = m - top < scratch->rows ? m - top : scratch->rows;

    memset(scratch->used, 0, scratch->rows * sizeof(*scratch->used));
    for (size_t left = 0; left < n; left += SQUARE) {
      const size_t wide = n - left < SQUARE ? n - left : SQUARE;

      for (size_t j = 0; j < wide; j++) {
        const MuonKernelScalar *t = T + top + (left + j) * ldt, *r = R == NULL ? NULL : R + top + (left + j) * ldr;
        size_t                  i = 0;

        if (r == NULL) {
          for (; i + SQUARE <= tall; i += SQUARE) squares[i + j] = REAL_NAME(Reach)(SQUARE, t + i, 1, NULL, 1, least, tiles + (i + j) * SQUARE, &infinite);
        } else {
          for (; i + SQUARE <= tall; i += SQUARE) squares[i + j] = REAL_NAME(Reach)(SQUARE, t + i, 1, r + i, 1, least, tiles + (i + j) * SQUARE, &infinite);
        }
        if (i < tall) squares[i + j] = REAL_NAME(Reach)(tall - i, t + i, 1, r == NULL ? NULL : r + i, 1, least, tiles + (i + j) * SQUARE, &infinite);
      }
      for (size_t q = 0; q < tall; q += SQUARE) {
        const size_t some = tall - q < SQUARE ? tall - q : SQUARE;

        for (size_t j = wide; j < SQUARE; j++) squares[q + j] = 0;
        SquareTranspose(squares + q);
        for (size_t i = 0; i < some; i++) {
          const REAL *tile = tiles + q * SQUARE + i;
          REAL       *to   = lines + (q + i) * n + scratch->used[q + i];

          if (squares[q + i] == 0) continue;
          PutBits(bitmap, (top + q + i) * n + left, wide, squares[q + i]);
          for (uint64_t word = squares[q + i]; word != 0; word &= word - 1) *to++ = tile[LowestBit(word) * SQUARE];
          scratch->used[q + i] = (size_t)(to - (lines + (q + i) * n));
        }
      }
    }
    if (infinite >> KEY_BITS != 0) return SIZE_MAX;
    for (size_t i = 0; i < tall; i++) {
      const size_t used = scratch->used[i];

      if (listed + used > room) {
        least  = REAL_NAME(Cut)(listed, kept, count, bitmap, scratch->histogram);
        listed = count;
      }
      memcpy(kept + listed, lines + i * n, used * sizeof(*kept));
      listed += used;
    }
  }
  return listed;
}

MUON_KERNEL_CLONES static void REAL_NAME(Finish)(size_t listed, REAL *kept, size_t count, unsigned char *bitmap, size_t *histogram)
{
  (void)REAL_NAME(Cut)(listed, kept, count, bitmap, histogram);
}

int REAL_NAME(MuonKernelTop)(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, unsigned char *bitmap, REAL *kept, void *memory)
{
  const Scratch scratch = ScratchOf(m, n, sizeof(REAL), memory);
  KEY           least;
  size_t        listed;

  if (m * n == 0) return 0;
  least  = REAL_NAME(Sample)(m, n, T, ldt, R, ldr, count, &scratch);
  listed = REAL_NAME(Pass)(m, n, T, ldt, R, ldr, count, least, bitmap, kept, &scratch);
  if (listed < count) listed = REAL_NAME(Pass)(m, n, T, ldt, R, ldr, count, 0, bitmap, kept, &scratch);
  if (listed == SIZE_MAX) return 1;
  if (listed > count) REAL_NAME(Finish)(listed, kept, count, bitmap, scratch.histogram);
  return 0;
}
#endif
