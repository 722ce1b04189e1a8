/*
   The loops of codes.c, coded.c and gaps.c with vectors of 512 bits. This is the only file of the component that needs more than C99.
*/
#include "muonwirewide.h"

static int MuonWireNarrow = 0;

void MuonWireSetWide(int wide)
{
  MuonWireNarrow = !wide;
}

#if !defined(MUON_WIRE_HAVE_WIDE)
int MuonWireIsWide(void)
{
  return 0;
}
#else
  #include <immintrin.h>

  #define WIDE  __attribute__((target("avx512f,avx512cd,avx512bw,avx512vl,bmi2,popcnt"))) static inline
  #define HALF  16u

int MuonWireIsWide(void)
{
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2") && !MuonWireNarrow;
}

/* Neighbors are joined three times. The result is groups of eight codes, which end on a byte */
__attribute__((target("avx512f,avx512bw,avx512vl"))) void MuonWirePackWide(unsigned width, uint64_t groups, const uint16_t *codes, unsigned char *to)
{
  const __m512i   two = _mm512_set1_epi32((int)(1u | 1u << (16 + width))), low = _mm512_set1_epi64(0xFFFFFFFF);
  const __m128i   twice = _mm_cvtsi32_si128((int)(2 * width)), four = _mm_cvtsi32_si128((int)(4 * width)), other = _mm_cvtsi32_si128((int)(64 - 4 * width));
  const __mmask16 bytes = (__mmask16)((1u << width) - 1);

  for (uint64_t g = 0; g < groups; g++, codes += 32, to += 4 * width) {
    const __m512i pairs = _mm512_madd_epi16(_mm512_loadu_si512(codes), two);
    const __m512i fours = _mm512_or_si512(_mm512_and_si512(pairs, low), _mm512_sll_epi64(_mm512_srli_epi64(pairs, 32), twice));
    const __m512i lower = _mm512_or_si512(fours, _mm512_sll_epi64(_mm512_bsrli_epi128(fours, 8), four)), eights = _mm512_mask_blend_epi64(0xAA, lower, _mm512_srl_epi64(fours, other));

    _mm_mask_storeu_epi8(to, bytes, _mm512_castsi512_si128(eights));
    _mm_mask_storeu_epi8(to + width, bytes, _mm512_extracti32x4_epi32(eights, 1));
    _mm_mask_storeu_epi8(to + 2 * width, bytes, _mm512_extracti32x4_epi32(eights, 2));
    _mm_mask_storeu_epi8(to + 3 * width, bytes, _mm512_extracti32x4_epi32(eights, 3));
  }
}

/* Code i begins in word i width / 16, and ends in this word or the next */
__attribute__((target("avx512f,avx512bw"))) void MuonWireUnpackWide(unsigned width, uint64_t groups, const unsigned char *from, uint16_t *codes)
{
  const __mmask16 some = (__mmask16)((1u << width) - 1);
  const __m512i   one = _mm512_set1_epi16(1), mask = _mm512_set1_epi16((short)((1u << width) - 1));
  __m512i         word, shift;
  uint16_t        bit[32];

  for (unsigned i = 0; i < 32; i++) bit[i] = (uint16_t)(i * width);
  word  = _mm512_srli_epi16(_mm512_loadu_si512(bit), 4);
  shift = _mm512_and_si512(_mm512_loadu_si512(bit), _mm512_set1_epi16(15));
  for (uint64_t g = 0; g < groups; g++, from += 4 * width, codes += 32) {
    const __m512i packed = _mm512_maskz_loadu_epi32(some, from);
    const __m512i first = _mm512_srlv_epi16(_mm512_permutexvar_epi16(word, packed), shift), rest = _mm512_permutexvar_epi16(_mm512_add_epi16(word, one), packed);

    _mm512_storeu_si512(codes, _mm512_and_si512(_mm512_or_si512(first, _mm512_sllv_epi16(rest, _mm512_sub_epi16(_mm512_set1_epi16(16), shift))), mask));
  }
}

/* Writes a word from each lane in some, the lowest lane first, before words + left. There must be room for 32 bytes */
WIDE int32_t MuonWireShedWide(__mmask16 some, __m512i state, unsigned char *words, int32_t left)
{
  const unsigned n    = (unsigned)_mm_popcnt_u32(some);
  const __m512i  last = _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32((int)n));

  _mm256_storeu_si256((__m256i *)(words + left - 32), _mm512_cvtepi32_epi16(_mm512_permutexvar_epi32(last, _mm512_maskz_compress_epi32(some, state))));
  return left - (int32_t)(2 * n);
}

/* For each place, the entry of a table of 64 numbers */
WIDE __m512i MuonWireLookUpWide(const __m512i table[4], __m512i place)
{
  const __m512i lower = _mm512_permutex2var_epi32(table[0], place, table[1]), upper = _mm512_permutex2var_epi32(table[2], place, table[3]);

  return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(place, _mm512_set1_epi32(32)), lower, upper);
}

__attribute__((target("avx512f,avx512cd,avx512bw,avx512vl,bmi2,popcnt"))) int32_t MuonWirePutWide(const MuonWireWideTable *table, unsigned groups, const uint16_t *codes, uint32_t *state, unsigned char *words, int32_t left)
{
  const __m512i low = _mm512_set1_epi32(0xFFFF), total = _mm512_set1_epi32(1 << table->precision), base = _mm512_set1_epi16((short)table->base);
  const __m128i p = _mm_cvtsi32_si128((int)table->precision), q = _mm_cvtsi32_si128((int)(32 - table->precision));
  __m512i       s[2], range[4], inverse[4];

  for (unsigned k = 0; k < 4; k++) {
    range[k]   = _mm512_loadu_si512(table->range + HALF * k);
    inverse[k] = _mm512_loadu_si512(table->inverse + HALF * k);
  }
  for (unsigned h = 0; h < 2; h++) s[h] = _mm512_loadu_si512(state + HALF * h);
  for (codes += 32 * groups; groups > 0; groups--) {
    __m512i  code, places;
    unsigned h = 2;

    codes -= 32;
    code   = _mm512_loadu_si512(codes);
    places = _mm512_or_si512(_mm512_subs_epu16(_mm512_and_si512(code, _mm512_set1_epi16(255)), base), _mm512_slli_epi16(_mm512_srli_epi16(code, 8), 5));
    MUON_WIRE_UNROLL
    while (h-- > 0) {
      const __m512i   place = _mm512_cvtepu16_epi32(h == 1 ? _mm512_extracti64x4_epi64(places, 1) : _mm512_castsi512_si256(places));
      const __m512i   r = MuonWireLookUpWide(range, place), i = MuonWireLookUpWide(inverse, place), f = _mm512_and_si512(r, low);
      const __mmask16 shed = _mm512_cmpge_epu32_mask(_mm512_srl_epi32(s[h], q), f);
      __m512i         even, odd, quotient, rest;
      __mmask16       more;

      left = MuonWireShedWide(shed, s[h], words, left);
      s[h] = _mm512_mask_srli_epi32(s[h], shed, s[h], 16);
      /* The upper halves of the products, shifted by the bits of the frequency minus 1, are the quotients, or one less */
      even     = _mm512_srli_epi64(_mm512_mul_epu32(s[h], i), 32);
      odd      = _mm512_mul_epu32(_mm512_srli_epi64(s[h], 32), _mm512_srli_epi64(i, 32));
      quotient = _mm512_srlv_epi32(_mm512_mask_blend_epi32(0xAAAA, even, odd), _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(f)));
      rest     = _mm512_sub_epi32(s[h], _mm512_mullo_epi32(quotient, f));
      more     = _mm512_cmpge_epu32_mask(rest, f);
      s[h]     = _mm512_add_epi32(_mm512_add_epi32(_mm512_sll_epi32(quotient, p), _mm512_srli_epi32(r, 16)), rest);
      s[h]     = _mm512_mask_add_epi32(s[h], more, s[h], _mm512_sub_epi32(total, f));
    }
  }
  for (unsigned h = 0; h < 2; h++) _mm512_storeu_si512(state + HALF * h, s[h]);
  return left;
}

__attribute__((target("avx512f,avx512bw,avx512vl,popcnt"))) const unsigned char *MuonWireGetWide(const uint32_t *slots, uint32_t high, unsigned groups, uint32_t *state, const unsigned char *at, uint16_t *codes)
{
  const __m512i mask = _mm512_set1_epi32(4095), lowest = _mm512_set1_epi32(65536);
  __m512i       s[2];

  for (unsigned h = 0; h < 2; h++) s[h] = _mm512_loadu_si512(state + HALF * h);
  for (; groups > 0; groups--, codes += 32) {
    MUON_WIRE_UNROLL
    for (unsigned h = 0; h < 2; h++) {
      const __m512i   slot = _mm512_and_si512(s[h], mask), found = _mm512_i32gather_epi32(slot, slots, 4), over = _mm512_srli_epi32(s[h], 12);
      const __m512i   code = _mm512_srli_epi32(found, 24), place = _mm512_and_si512(_mm512_srli_epi32(found, 12), mask);
      const __m512i   next  = _mm512_add_epi32(_mm512_mullo_epi32(over, _mm512_and_si512(found, mask)), _mm512_add_epi32(over, place));
      const __mmask16 few   = _mm512_cmplt_epu32_mask(next, lowest);
      const __m512i   words = _mm512_maskz_expand_epi32(few, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)at)));

      s[h] = _mm512_or_si512(_mm512_mask_slli_epi32(next, few, next, 16), words);
      at += 2 * (unsigned)_mm_popcnt_u32(few);
      _mm256_storeu_si256((__m256i *)(codes + HALF * h), _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(code, _mm512_cmpge_epu32_mask(slot, _mm512_set1_epi32((int)high)), code, _mm512_set1_epi32(256))));
    }
  }
  for (unsigned h = 0; h < 2; h++) _mm512_storeu_si512(state + HALF * h, s[h]);
  return at;
}

__attribute__((target("popcnt"))) unsigned MuonWireCountsWide(const uint64_t *words, unsigned length, unsigned each, unsigned counts[])
{
  unsigned kept = 0;

  for (unsigned first = 0; first < length; first += each) {
    const unsigned end  = length - first < each ? length : first + each;
    unsigned       bits = 0;

    for (unsigned w = first; w < end; w++) bits += (unsigned)_mm_popcnt_u64(words[w]);
    kept += counts[first / each] = bits;
  }
  return kept;
}

/* Up to sixteen gaps are coded at a time as four fields of four codes, if no code has more than FIELD bits. The writer has at most 7 bits before */
  #define FIELD 12
  #define LIST  4096u

__attribute__((target("avx512f,avx512bw,popcnt"))) void MuonWireGapsWide(const MuonWireGolomb *golomb, uint64_t flip, const uint64_t *words, unsigned length, MuonWireWriter *to)
{
  const __m512i  count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), one = _mm512_set1_epi32(1), low = _mm512_set1_epi64(0xFFFFFFFF);
  const __m512i  step = _mm512_set1_epi32((int)golomb->step), cut = _mm512_set1_epi32((int)golomb->cut), base = _mm512_set1_epi32((int)golomb->bits);
  const __m512   divisor = _mm512_cvtepi32_ps(step);
  const __m128i  bits    = _mm_cvtsi32_si128((int)golomb->bits);
  MuonWireWriter writer  = *to;
  uint32_t       next[1 + LIST + HALF]; /* each listed number plus 1, behind the last one of the list before */

  next[0] = 0;
  for (unsigned first = 0; first < length && writer.at <= writer.end; first += LIST) {
    unsigned n = 1, k = 1;

    for (unsigned at = first; at < length && at < first + LIST; at += 64) {
      const uint64_t word = (words[at / 64] ^ flip) & (at + 64 <= length ? ~UINT64_C(0) : MuonWireTail(length));

      MUON_WIRE_UNROLL
      for (unsigned h = 0; h < 4; h++) {
        const __mmask16 some = (__mmask16)(word >> HALF * h);

        _mm512_storeu_si512(next + n, _mm512_maskz_compress_epi32(some, _mm512_add_epi32(count, _mm512_set1_epi32((int)(at + HALF * h + 1)))));
        n += (unsigned)_mm_popcnt_u32(some);
      }
    }
    for (; k < n && writer.at <= writer.end; k += HALF) {
      const unsigned  here = n - k < HALF ? n - k : HALF;
      const __mmask16 some = (__mmask16)((1u << here) - 1);
      const __m512i   gap  = _mm512_sub_epi32(_mm512_sub_epi32(_mm512_loadu_si512(next + k), _mm512_loadu_si512(next + k - 1)), one);
      /* Both are below 2^17: the distance of the quotient to the next integer is larger than its rounding error */
      const __m512i   zeros = _mm512_cvttps_epi32(_mm512_div_ps(_mm512_cvtepi32_ps(gap), divisor)), rest = _mm512_sub_epi32(gap, _mm512_mullo_epi32(zeros, step));
      const __mmask16 more   = _mm512_cmpge_epi32_mask(rest, cut);
      const __m512i   longer = _mm512_add_epi32(rest, cut), turned = _mm512_or_si512(_mm512_srli_epi32(longer, 1), _mm512_sll_epi32(_mm512_and_si512(longer, one), bits));
      const __m512i   code = _mm512_maskz_sllv_epi32(some, _mm512_or_si512(one, _mm512_slli_epi32(_mm512_mask_mov_epi32(rest, more, turned), 1)), zeros);
      const __m512i   size = _mm512_maskz_add_epi32(some, _mm512_add_epi32(zeros, one), _mm512_mask_add_epi32(base, more, base, one));
      __m512i         field, width;
      uint64_t        fields[8], widths[8];

      if (_mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(FIELD)) != 0) {
        for (unsigned i = k; i < k + here && writer.at <= writer.end; i++) MuonWireGapWrite(golomb, next[i] - next[i - 1] - 1, &writer);
        continue;
      }
      width = _mm512_and_si512(size, low);
      field = _mm512_or_si512(_mm512_and_si512(code, low), _mm512_sllv_epi64(_mm512_srli_epi64(code, 32), width));
      width = _mm512_add_epi64(width, _mm512_srli_epi64(size, 32));
      field = _mm512_or_si512(field, _mm512_sllv_epi64(_mm512_bsrli_epi128(field, 8), width));
      width = _mm512_add_epi64(width, _mm512_bsrli_epi128(width, 8));
      _mm512_storeu_si512(fields, field);
      _mm512_storeu_si512(widths, width);
      for (unsigned i = 0; i < 8; i += 2) MuonWireWrite(&writer, fields[i], (unsigned)widths[i]);
    }
    next[0] = next[n - 1];
  }
  *to = writer;
}
#endif
