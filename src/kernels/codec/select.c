#if !defined(REAL)
/*
   Selects the count entries of T - R with the largest absolute values, exactly.

   A sample gives a bound a little below the threshold. One pass over the arrays lists, in the order of memory, all entries
   that reach the bound. The list is then cut to the wanted number. If the list becomes full before the end of the pass,
   because of a bad sample or equal entries, it is cut at once, and the bound rises above its smallest entry: a later entry of
   that size comes after enough entries of at least its size. If the list is too short at the end, a second pass has no
   bound. There are at most two passes, the result does not depend on the sample, and the residual is not copied.

   The bits of |x| have the order of |x|: numbers are compared as integers.
*/
  #include "muonkernels.h"
  #include "../array/muonstretch.h"
  #include <math.h>

  /* One entry of SAMPLED is sampled, at most SAMPLES_MOST. If these are fewer than SAMPLES_LEAST, there is no sample */
  #define SAMPLED       ((size_t)64)
  #define SAMPLES_LEAST ((size_t)64)
  #define SAMPLES_MOST  ((size_t)4096)
  /* The number of samples that are prefetched */
  #define SAMPLES_AHEAD ((size_t)32)
  #define BIN_BITS      12
  #define BINS          ((size_t)1 << BIN_BITS)

static size_t SampleSize(size_t entries)
{
  const size_t samples = entries / SAMPLED;

  return samples < SAMPLES_LEAST ? 0 : samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
}

/* A pseudorandom place in its stretch, the same in every call */
static Place SamplePlace(size_t m, size_t stretch, size_t k)
{
  return PlaceOf(m, k * stretch + (size_t)((uint64_t)((uint32_t)k * 0x9E3779B9u >> 8) * stretch >> 24));
}

size_t MuonKernelTopRoom(size_t entries, size_t count)
{
  const size_t capacity = count + (count / 4 > BINS ? count / 4 : BINS);

  return capacity < entries ? capacity : entries;
}

size_t MuonKernelTopScratch(size_t entries, size_t size)
{
  return BINS * sizeof(size_t) + SampleSize(entries) * size;
}

  #if defined(MUON_KERNEL_CLONES_X86)
    #include <immintrin.h>
    /* The number of words, and of keys, that are processed at a time */
    #define WORDS 16
    #define KEYS  1024

static int IsWide(void)
{
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}
  #endif

  /* This file includes itself for each pair of types: that of an entry, and that in which entries are compared */
  #define ENTRY                    float
  #define REAL                     float
  #define REAL_NAME(name)          name##Single
  #define TOP                      MuonKernelTopSingle
  #define KEPT                     void
  #define KEY                      uint32_t
  #define KEY_BITS                 31
  #define EXPONENT_BITS            8
  #define WIDE                     16
  #define WideReal                 __m512
  #define WideKey                  __m512i
  #define WideMask                 __mmask16
  #define WIDE_KEY(x)              _mm512_and_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF))
  #define WIDE_REACHES(key, least) _mm512_cmpge_epu32_mask(key, _mm512_set1_epi32((int)(least)))
  #define WIDE_COMPRESS(mask, x)   _mm512_maskz_compress_ps(mask, x)
  #define WIDE_COMPRESS_KEY        _mm512_maskz_compress_epi32
  #define WIDE_MINUS(key, low)     _mm512_sub_epi32(key, _mm512_set1_epi32((int)(low)))
  #define WIDE_SHIFT(key, bits)    _mm512_srl_epi32(key, _mm_cvtsi32_si128((int)(bits)))
  #define WIDE_STORE(to, mask, x)  _mm512_mask_storeu_ps(to, mask, x)
  #define WIDE_LOAD(mask, from)    _mm512_maskz_loadu_ps(mask, from)
  #define LOAD_WIDE(x, t, r, at)   x = r == NULL ? _mm512_loadu_ps(t + at) : _mm512_sub_ps(_mm512_loadu_ps(t + at), _mm512_loadu_ps(r + at))
  #include "select.c"
  #undef ENTRY
  #undef REAL_NAME
  #undef TOP
  #undef KEPT

  #undef LOAD_WIDE

  #define ENTRY                  double
  #define REAL_NAME(name)        name##Rounded
  #define TOP                    MuonKernelTopRoundedDouble
  #define KEPT                   float
  #define HALF_WIDE(t, r, at)    _mm512_cvtpd_ps(r == NULL ? _mm512_loadu_pd(t + (at)) : _mm512_sub_pd(_mm512_loadu_pd(t + (at)), _mm512_loadu_pd(r + (at))))
  #define LOAD_WIDE(x, t, r, at) x = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(HALF_WIDE(t, r, at))), _mm256_castps_pd(HALF_WIDE(t, r, at + 8)), 1))
  #include "select.c"
  #undef REAL
  #undef REAL_NAME
  #undef TOP
  #undef KEPT
  #undef KEY
  #undef KEY_BITS
  #undef EXPONENT_BITS

  #undef WIDE
  #undef WideReal
  #undef WideKey
  #undef WideMask
  #undef WIDE_KEY
  #undef WIDE_REACHES
  #undef WIDE_COMPRESS
  #undef WIDE_COMPRESS_KEY
  #undef WIDE_MINUS
  #undef WIDE_SHIFT
  #undef WIDE_STORE
  #undef WIDE_LOAD
  #undef LOAD_WIDE

  #define REAL                     double
  #define REAL_NAME(name)          name##Double
  #define TOP                      MuonKernelTopDouble
  #define KEPT                     void
  #define KEY                      uint64_t
  #define KEY_BITS                 63
  #define EXPONENT_BITS            11
  #define WIDE                     8
  #define WideReal                 __m512d
  #define WideKey                  __m512i
  #define WideMask                 __mmask8
  #define WIDE_KEY(x)              _mm512_and_epi64(_mm512_castpd_si512(x), _mm512_set1_epi64(0x7FFFFFFFFFFFFFFF))
  #define WIDE_REACHES(key, least) _mm512_cmpge_epu64_mask(key, _mm512_set1_epi64((long long)(least)))
  #define WIDE_COMPRESS(mask, x)   _mm512_maskz_compress_pd(mask, x)
  #define WIDE_COMPRESS_KEY        _mm512_maskz_compress_epi64
  #define WIDE_MINUS(key, low)     _mm512_sub_epi64(key, _mm512_set1_epi64((long long)(low)))
  #define WIDE_SHIFT(key, bits)    _mm512_srl_epi64(key, _mm_cvtsi32_si128((int)(bits)))
  #define WIDE_STORE(to, mask, x)  _mm512_mask_storeu_pd(to, mask, x)
  #define WIDE_LOAD(mask, from)    _mm512_maskz_loadu_pd(mask, from)
  #define LOAD_WIDE(x, t, r, at)   x = r == NULL ? _mm512_loadu_pd(t + at) : _mm512_sub_pd(_mm512_loadu_pd(t + at), _mm512_loadu_pd(r + at))
  #include "select.c"

int MuonKernelTopRoundedSingle(size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, float *kept, void *scratch)
{
  return MuonKernelTopSingle(m, n, T, ldt, R, ldr, count, bitmap, kept, scratch);
}

#else

MUON_KERNEL_INLINE KEY REAL_NAME(Magnitude)(REAL x)
{
  KEY key;

  memcpy(&key, &x, sizeof(key));
  return key & (((KEY)1 << KEY_BITS) - 1);
}

  #if defined(MUON_KERNEL_CLONES_X86)
/* Tally() with vectors */
__attribute__((target("avx512f,avx512vl"), optimize("O3"))) static void REAL_NAME(TallyWide)(size_t count, const REAL *x, KEY low, KEY span, unsigned shift, size_t *histogram)
{
  KEY bins[KEYS + WIDE];

  for (size_t first = 0; first < count; first += KEYS) {
    const size_t some  = count - first < KEYS ? count - first : KEYS;
    size_t       found = 0;

    for (size_t k = 0; k < some; k += WIDE) {
      const WideMask there  = (WideMask)(some - k < WIDE ? (1u << (some - k)) - 1 : (1u << WIDE) - 1);
      const WideReal wide   = WIDE_LOAD(there, x + first + k);
      const WideKey  offset = WIDE_MINUS(WIDE_KEY(wide), low);
      const WideMask within = (WideMask)(there & ~WIDE_REACHES(offset, span + 1));

      _mm512_storeu_si512(bins + found, WIDE_COMPRESS_KEY(within, WIDE_SHIFT(offset, shift)));
      found += CountOnes(within);
    }
    for (size_t k = 0; k < found; k++) ++histogram[bins[k]];
  }
}
  #endif

/* Counts the keys from low to low + span in bins of 2^shift */
MUON_KERNEL_INLINE void REAL_NAME(Tally)(size_t count, const REAL *x, KEY low, KEY span, unsigned shift, size_t *histogram)
{
  memset(histogram, 0, ((size_t)(span >> shift) + 1) * sizeof(*histogram));
  #if defined(MUON_KERNEL_CLONES_X86)
  if (IsWide()) {
    REAL_NAME(TallyWide)(count, x, low, span, shift, histogram);
    return;
  }
  #endif
  for (size_t k = 0; k < count; k++) {
    const KEY offset = REAL_NAME(Magnitude)(x[k]) - low;

    if (offset <= span) ++histogram[offset >> shift];
  }
}

/*
   Returns the key of the wanted-th largest of count > 0 numbers. Of the numbers with this key the first *equal ones are kept.
   The key is probably below pivot. It lies between low and high. Each round counts the keys between these in bins, and
   continues with one bin
*/
MUON_KERNEL_INLINE KEY REAL_NAME(Threshold)(size_t count, const REAL *x, size_t wanted, KEY pivot, size_t *histogram, size_t *equal)
{
  KEY      low = REAL_NAME(Magnitude)(x[0]), high = low;
  size_t   above = 0;
  unsigned shift = 0;

  for (size_t k = 0; k < count; k++) {
    const KEY key = REAL_NAME(Magnitude)(x[k]);

    low  = key < low ? key : low;
    high = key > high ? key : high;
    above += key >= pivot;
  }
  if (above >= wanted) low = pivot > low ? pivot : low;
  else if (above > 0) {
    wanted -= above;
    high = pivot - 1;
  }
  while ((high - low) >> shift >= BINS) shift++;
  while (low < high) {
    const size_t bins = (size_t)((high - low) >> shift) + 1;
    size_t       bin  = bins - 1;

    REAL_NAME(Tally)(count, x, low, high - low, shift, histogram);
    for (; histogram[bin] < wanted; bin--) wanted -= histogram[bin];
    low += (KEY)bin << shift;
    if (histogram[bin] == wanted) {
      /* The whole bin is kept, with all keys at its lower end */
      *equal = count;
      return low;
    }
    if (high - low >= (KEY)1 << shift) high = low + (((KEY)1 << shift) - 1);
    shift = shift > BIN_BITS ? shift - BIN_BITS : 0;
  }
  *equal = wanted;
  return low;
}

  #if defined(MUON_KERNEL_CLONES_X86)
/* Keeps the numbers of the list that are above the threshold, and the first equal ones that are at it */
__attribute__((target("avx512f,avx512vl,bmi2"), optimize("O3"))) static void REAL_NAME(CutWide)(size_t listed, REAL *kept, KEY threshold, size_t equal, unsigned char *bitmap)
{
  REAL *to = kept;

  for (size_t k = 0, first = 0; k < listed; first += WORD) {
    const uint64_t word  = LoadWord(bitmap, first, WORD);
    const size_t   there = CountOnes(word);
    uint64_t       left  = 0;

    for (size_t i = 0; i < there; i += WIDE) {
      const WideMask some = (WideMask)(there - i < WIDE ? (1u << (there - i)) - 1 : (1u << WIDE) - 1);
      const WideReal x    = WIDE_LOAD(some, kept + k + i);
      const WideKey  key  = WIDE_KEY(x);
      WideMask       keep = some & WIDE_REACHES(key, threshold + 1), tie = (WideMask)(some & WIDE_REACHES(key, threshold) & ~keep);

      for (; tie != 0 && equal > 0; tie &= (WideMask)(tie - 1), equal--) keep |= tie & (WideMask)-tie;
      WIDE_STORE(to, (WideMask)((1u << CountOnes(keep)) - 1), WIDE_COMPRESS(keep, x));
      to += CountOnes(keep);
      left |= (uint64_t)keep << i;
    }
    StoreWord(bitmap, first, WORD, _pdep_u64(left, word));
    k += there;
  }
}
  #endif

/*
   Cuts the list to count entries. The bits of its entries are the first listed set bits of bitmap. Returns the bound for
   later entries
*/
MUON_KERNEL_INLINE KEY REAL_NAME(Cut)(size_t listed, REAL *kept, size_t count, KEY pivot, unsigned char *bitmap, size_t *histogram)
{
  size_t    equal;
  const KEY threshold = REAL_NAME(Threshold)(listed, kept, count, pivot, histogram, &equal);

  #if defined(MUON_KERNEL_CLONES_X86)
  if (IsWide()) {
    REAL_NAME(CutWide)(listed, kept, threshold, equal, bitmap);
    return threshold + 1;
  }
  #endif
  for (size_t k = 0, to = 0, first = 0; k < listed; first += WORD) {
    uint64_t word = LoadWord(bitmap, first, WORD), left = word;

    for (uint64_t rest = word; rest != 0; rest &= rest - 1, k++) {
      const KEY      key  = REAL_NAME(Magnitude)(kept[k]);
      const uint64_t tie  = (uint64_t)((key == threshold) & (equal > 0));
      const uint64_t keep = (uint64_t)(key > threshold) | tie;

      kept[to] = kept[k];
      to += (size_t)keep;
      equal -= (size_t)tie;
      left ^= (rest & (~rest + 1)) & (keep - 1);
    }
    StoreWord(bitmap, first, WORD, left);
  }
  return threshold + 1;
}

/*
   x = t - r for the first some of 64 places. Returns a bit for each place that reaches least. The top bit of a key is free,
   so that it can be the borrow of a subtraction
*/
MUON_KERNEL_INLINE uint64_t REAL_NAME(Reach)(size_t some, const ENTRY *t, const ENTRY *r, KEY least, REAL *x, KEY *infinite)
{
  const KEY under = least - 1;
  KEY       key[WORD], found = 0;
  uint64_t  word = 0;

  if (r == NULL) {
    for (size_t i = 0; i < some; i++) x[i] = (REAL)t[i];
  } else {
    for (size_t i = 0; i < some; i++) x[i] = (REAL)(t[i] - r[i]);
  }
  for (size_t i = some; i < WORD; i++) x[i] = 0;
  memcpy(key, x, sizeof(key));
  for (size_t i = 0; i < WORD; i++) {
    key[i] &= ((KEY)1 << KEY_BITS) - 1;
    found |= key[i] + ((KEY)1 << (KEY_BITS - EXPONENT_BITS)); /* sets the top bit exactly if the exponent is the largest one */
  }
  for (size_t i = 0; i < WORD; i++) word |= (uint64_t)((KEY)(under - key[i]) >> KEY_BITS) << i;
  *infinite |= found;
  return some < WORD ? word & (((uint64_t)1 << some) - 1) : word;
}

/*
   The bound that probably count entries and three standard deviations more reach, and the pivot that probably count entries
   and three standard deviations fewer reach
*/
static KEY REAL_NAME(Sample)(size_t m, size_t n, const ENTRY *T, size_t ldt, const ENTRY *R, size_t ldr, size_t count, size_t *histogram, KEY *pivot)
{
  const size_t samples = SampleSize(m * n), stretch = samples > 0 ? m * n / samples : 0;
  const double part = (double)count / ((double)m * (double)n), wanted = part * (double)samples, slack = 3 * sqrt(wanted * (1 - part)) + 4;
  REAL        *x = (REAL *)(histogram + BINS);
  size_t       equal;

  *pivot = 0;
  if (wanted + slack >= (double)samples) return 0;
  for (size_t k = 0; k < samples; k++) {
    const Place  place = SamplePlace(m, stretch, k), later = SamplePlace(m, stretch, k + SAMPLES_AHEAD);
    const ENTRY *t = T + place.line * ldt + place.at;

    MUON_KERNEL_PREFETCH(T + later.line * ldt + later.at);
    if (R != NULL) MUON_KERNEL_PREFETCH(R + later.line * ldr + later.at);
    x[k] = (REAL)(R == NULL ? *t : *t - R[place.line * ldr + place.at]);
  }
  if (wanted - slack >= 1) *pivot = REAL_NAME(Threshold)(samples, x, (size_t)(wanted - slack), 0, histogram, &equal);
  return REAL_NAME(Threshold)(samples, x, (size_t)(wanted + slack), *pivot, histogram, &equal);
}

  #if defined(MUON_KERNEL_CLONES_X86)
/*
   Reach() for whole words of entries without gaps, with instructions that compilers do not find by themselves: the bits of a
   comparison compress a vector. Returns the number of listed entries
*/
__attribute__((target("avx512f,avx512vl"), optimize("O3"))) static size_t REAL_NAME(ReachWide)(size_t words, const ENTRY *t, const ENTRY *r, KEY least, unsigned char *bitmap, REAL *kept, KEY *infinite)
{
  REAL    *to    = kept;
  uint64_t found = 0;

  for (size_t w = 0; w < words; w++) {
    uint64_t word = 0;

    for (size_t i = 0; i < WORD; i += WIDE) {
      const size_t at = w * WORD + i;
      WideReal     x;
      WideKey      key;
      WideMask     reached;

      LOAD_WIDE(x, t, r, at);
      key     = WIDE_KEY(x);
      reached = WIDE_REACHES(key, least);
      found |= WIDE_REACHES(key, (KEY)(((KEY)1 << EXPONENT_BITS) - 1) << (KEY_BITS - EXPONENT_BITS));
      /* There is room for all entries. Numbers behind the listed ones are ignored */
      WIDE_STORE(to, (WideMask)-1, WIDE_COMPRESS(reached, x));
      to += CountOnes(reached);
      word |= (uint64_t)reached << i;
    }
    StoreWord(bitmap, w * WORD, WORD, word);
  }
  if (found != 0) *infinite |= (KEY)1 << KEY_BITS;
  return (size_t)(to - kept);
}
  #endif

/*
   One pass: lists the entries that reach least, and cuts the list whenever the next stretch does not fit. Returns the length
   of the list, or SIZE_MAX if an entry is not finite
*/
MUON_KERNEL_CLONES static size_t REAL_NAME(Pass)(size_t m, size_t n, const ENTRY *T, size_t ldt, const ENTRY *R, size_t ldr, size_t count, KEY least, KEY pivot, unsigned char *bitmap, REAL *kept, size_t *histogram)
{
  const size_t entries = m * n, capacity = MuonKernelTopRoom(entries, count);
  Place        place    = {0, 0};
  KEY          infinite = 0;
  size_t       listed   = 0;
  #if defined(MUON_KERNEL_CLONES_X86)
  const int    wide     = IsWide();
  #endif

  for (size_t first = 0; first < entries;) {
    const size_t some = entries - first < WORD ? entries - first : WORD;
    ENTRY        here[WORD], there[WORD];
    const ENTRY *t = (const ENTRY *)Stretch(sizeof(ENTRY), m, T, ldt, place, some, here), *r = R == NULL ? NULL : (const ENTRY *)Stretch(sizeof(ENTRY), m, R, ldr, place, some, there);
    REAL         x[WORD];
    uint64_t     word;

  #if defined(MUON_KERNEL_CLONES_X86)
    if (wide && place.at + WORD * WORDS <= m && listed + WORD * WORDS <= capacity) {
      listed += REAL_NAME(ReachWide)(WORDS, t, r, least, bitmap + first / 8, kept + listed, &infinite);
      first += WORD * WORDS;
      Advance(m, WORD * WORDS, &place);
      continue;
    }
  #endif
    if (some < WORD) word = REAL_NAME(Reach)(some, t, r, least, x, &infinite);
    else word = r == NULL ? REAL_NAME(Reach)(WORD, t, NULL, least, x, &infinite) : REAL_NAME(Reach)(WORD, t, r, least, x, &infinite);
    if (listed + some > capacity) {
      least  = REAL_NAME(Cut)(listed, kept, count, pivot, bitmap, histogram);
      listed = count;
    }
    StoreWord(bitmap, first, WORD, word);
    for (; word != 0; word &= word - 1) kept[listed++] = x[LowestBit(word)];
    first += some;
    Advance(m, some, &place);
  }
  return infinite >> KEY_BITS != 0 ? SIZE_MAX : listed;
}

MUON_KERNEL_CLONES static void REAL_NAME(Finish)(size_t listed, REAL *kept, size_t count, KEY pivot, unsigned char *bitmap, size_t *histogram)
{
  (void)REAL_NAME(Cut)(listed, kept, count, pivot, bitmap, histogram);
}

int TOP(size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, KEPT *values, void *scratch)
{
  REAL        *kept = (REAL *)values;
  const ENTRY *t = (const ENTRY *)T, *r = (const ENTRY *)R;
  size_t      *histogram = (size_t *)scratch, listed;
  KEY          least, pivot;

  Flatten(&m, &n, ldt, R != NULL ? ldr : ldt, ldt);
  if (m * n == 0) return 0;
  least  = REAL_NAME(Sample)(m, n, t, ldt, r, ldr, count, histogram, &pivot);
  listed = REAL_NAME(Pass)(m, n, t, ldt, r, ldr, count, least, pivot, bitmap, kept, histogram);
  if (listed < count) listed = REAL_NAME(Pass)(m, n, t, ldt, r, ldr, count, 0, pivot, bitmap, kept, histogram);
  if (listed == SIZE_MAX) return 1;
  if (listed > count) REAL_NAME(Finish)(listed, kept, count, pivot, bitmap, histogram);
  return 0;
}
#endif
