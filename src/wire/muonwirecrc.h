/*
   The two implementations of the checksum. MuonWireCRC32C() chooses one of them, and a test compares both.
*/
#pragma once

#include <petscmuon/private/muonwire.h>

#if defined(__GNUC__) && defined(__x86_64__)
  #define MUON_WIRE_HAVE_SSE42 1
#endif

MUON_C_BEGIN

uint32_t MuonWireCRC32CTable(uint32_t crc, const unsigned char *data, size_t bytes);
#if defined(MUON_WIRE_HAVE_SSE42)
/* Only if the processor has the instruction */
uint32_t MuonWireCRC32CSSE42(uint32_t crc, const unsigned char *data, size_t bytes);
#endif

MUON_C_END
