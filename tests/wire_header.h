/*
   The header of a message, written down a second time for the tests that look at bytes: a hash of four bytes,
   form and codec of the positions in one, the codec of the values, for blocks and votes a parameter; then how
   many things there are and how many bytes follow, in groups of seven bits.
*/
#pragma once

#include <stddef.h>

static inline size_t TestGroups(unsigned long long word)
{
  size_t groups = 1;

  while (word >= 128) {
    word /= 128;
    groups++;
  }
  return groups;
}

/* A whole message of a form other than blocks and votes */
static inline size_t TestMessageBytes(unsigned long long count, unsigned long long payload)
{
  return 6 + TestGroups(count) + TestGroups(payload) + (size_t)payload;
}

/* The bytes before the payload of a message that is in order, and its count and length of the payload */
static inline size_t TestHeader(const unsigned char *message, unsigned long long *count, unsigned long long *payload)
{
  unsigned long long word[2] = {0, 0};
  size_t             at      = message[4] % 16 == 11 || message[4] % 16 == 13 ? 7 : 6;

  for (int k = 0; k < 2; k++) {
    unsigned long long scale = 1;

    for (;; scale *= 128) {
      word[k] += scale * (message[at] % 128);
      if (message[at++] < 128) break;
    }
  }
  *count   = word[0];
  *payload = word[1];
  return at;
}
