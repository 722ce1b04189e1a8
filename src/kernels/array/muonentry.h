/*
   The arithmetic of one entry, for the host and for devices, in C99 that is also C++11. memcpy() converts between numbers
   and bits. All compilers turn it into a register move.
*/
#pragma once

#include <petscmuon/private/muonarray.h>
#include "muonclones.h"
#include <math.h>
#include <string.h>

#define SIGN_BIT   0x80000000u
#define EXPONENT_1 0x00800000u

MUON_ENTRY uint32_t FloatBits(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

MUON_ENTRY float BitsFloat(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, sizeof(x));
  return x;
}

/* The sign bit of the result is set exactly if the number is not finite */
MUON_ENTRY uint32_t FloatReached(uint32_t bits)
{
  return (bits & ~SIGN_BIT) + EXPONENT_1;
}

/* 2^-exponent as a product of two factors, because one factor may not be representable */
static inline void PowerOfTwo(int exponent, double factor[2])
{
  factor[0] = ldexp(1.0, -(exponent / 2));
  factor[1] = ldexp(1.0, -(exponent - exponent / 2));
}

/* t^p for t in [0, 1] */
MUON_ENTRY double Power(double t, double p)
{
  return p == 2.0 ? t * t : (p == 1.0 ? t : pow(t, p));
}

/*
   Natural compression: 23 bits of a random word are added to the mantissa. Only the carry into the exponent is kept.
   Subnormal magnitudes become a zero without sign. A carry out of the largest exponent gives 2^127
*/
MUON_ENTRY uint16_t NaturalCode(uint32_t bits, uint32_t word)
{
  const uint32_t magnitude = bits & ~SIGN_BIT, normal = 0u - (uint32_t)(magnitude >= EXPONENT_1);
  uint32_t       exponent = (magnitude + (word >> 9)) >> 23;

  exponent -= (uint32_t)(exponent == 255);
  return (uint16_t)((exponent | (bits >> 31) << 8) & normal);
}

MUON_ENTRY float NaturalValue(uint16_t code)
{
  return BitsFloat((uint32_t)(code & 255u) << 23 | (uint32_t)(code >> 8) << 31);
}

/* Rounds to nearest even. The sign is separate, so that a NaN does not become a zero by a carry */
MUON_ENTRY uint32_t RoundBF16(uint32_t magnitude)
{
  return (magnitude + 0x7FFFu + (magnitude >> 16 & 1u)) & 0xFFFF0000u;
}

/* The code of a level between 0 and top, rounded by the upper 24 bits of a random word */
MUON_ENTRY unsigned char QuantizedCode(float y, float top, uint32_t word)
{
  const float   size = fabsf(y) < top ? fabsf(y) : top, fraction = (float)(int32_t)(word >> 8) * (1.0f / 16777216.0f);
  const int32_t down = (int32_t)size, level = down + (fraction < size - (float)down), negative = y < 0;

  return (unsigned char)(2 * level + (negative & (level > 0)));
}

/* Philox4x32-10: the block of 128 bits at counter c under the key k */
MUON_ENTRY void PhiloxBlock(uint32_t k0, uint32_t k1, uint32_t c[4])
{
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];

    c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
