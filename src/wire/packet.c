/*
   The header of a packet, the part of the format that every receiver checks before it looks at anything else.
*/
#include "muonwirebits.h"

enum {
  MUON_WIRE_MAJOR = 2,
  MUON_WIRE_MINOR = 1
};

/* Where the fields of the header lie */
enum {
  MUON_WIRE_AT_MAGIC       = 0,
  MUON_WIRE_AT_MAJOR       = 4,
  MUON_WIRE_AT_MINOR       = 5,
  MUON_WIRE_AT_HEADER      = 6,
  MUON_WIRE_AT_FLAGS       = 8,
  MUON_WIRE_AT_SENDER      = 12,
  MUON_WIRE_AT_DIRECTION   = 16,
  MUON_WIRE_AT_STATUS      = 20,
  MUON_WIRE_AT_MESSAGES    = 24,
  MUON_WIRE_AT_RESERVED    = 28,
  MUON_WIRE_AT_STEP        = 32,
  MUON_WIRE_AT_BYTES       = 40,
  MUON_WIRE_AT_PAYLOAD_CRC = 48,
  MUON_WIRE_AT_HEADER_CRC  = 52
};

static const unsigned char MuonWireMagic[4] = {0x50, 0x4D, 0x57, 0x31};

static int MuonWireChecksumIs(uint32_t expected, const unsigned char *data, size_t bytes)
{
/* A fuzzer would spend its life guessing checksums */
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  (void)expected;
  (void)data;
  (void)bytes;
  return 1;
#else
  return MuonWireCRC32C(0, data, bytes) == expected;
#endif
}

void MuonWirePacketSeal(unsigned char *packet, const MuonWirePacket *header)
{
  memcpy(packet + MUON_WIRE_AT_MAGIC, MuonWireMagic, sizeof(MuonWireMagic));
  packet[MUON_WIRE_AT_MAJOR] = MUON_WIRE_MAJOR;
  packet[MUON_WIRE_AT_MINOR] = MUON_WIRE_MINOR;
  MuonWireStore16(packet + MUON_WIRE_AT_HEADER, MUON_WIRE_PACKET_HEADER);
  MuonWireStore32(packet + MUON_WIRE_AT_FLAGS, 0);
  MuonWireStore32(packet + MUON_WIRE_AT_SENDER, header->sender);
  MuonWireStore32(packet + MUON_WIRE_AT_DIRECTION, header->direction);
  MuonWireStore32(packet + MUON_WIRE_AT_STATUS, header->status);
  MuonWireStore32(packet + MUON_WIRE_AT_MESSAGES, header->messages);
  MuonWireStore32(packet + MUON_WIRE_AT_RESERVED, 0);
  MuonWireStore64(packet + MUON_WIRE_AT_STEP, header->step);
  MuonWireStore64(packet + MUON_WIRE_AT_BYTES, header->bytes);
  MuonWireStore32(packet + MUON_WIRE_AT_PAYLOAD_CRC, MuonWireCRC32C(0, packet + MUON_WIRE_PACKET_HEADER, (size_t)header->bytes));
  MuonWireStore32(packet + MUON_WIRE_AT_HEADER_CRC, MuonWireCRC32C(0, packet, MUON_WIRE_AT_HEADER_CRC));
}

MuonWireResult MuonWireMessagesTile(const unsigned char *from, size_t length, uint64_t messages)
{
  for (uint64_t i = 0; i < messages; i++) {
    MuonWireMessage message;
    size_t          whole;

    if (MuonWireMessageRead(from, length, &message) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    whole = (size_t)MuonWireMessageBytes(&message);
    from += whole;
    length -= whole;
  }
  return length == 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

MuonWireResult MuonWirePacketOpen(const unsigned char *packet, size_t length, const MuonWirePacket *expected, MuonWirePacket *header)
{
  MuonWirePacket found;
  size_t         rest;

  if (length < MUON_WIRE_PACKET_HEADER) return MUON_WIRE_CORRUPT;
  rest = length - MUON_WIRE_PACKET_HEADER;
  if (memcmp(packet + MUON_WIRE_AT_MAGIC, MuonWireMagic, sizeof(MuonWireMagic)) != 0) return MUON_WIRE_CORRUPT;
  if (packet[MUON_WIRE_AT_MAJOR] != MUON_WIRE_MAJOR) return MUON_WIRE_CORRUPT;
  if (!MuonWireChecksumIs(MuonWireLoad32(packet + MUON_WIRE_AT_HEADER_CRC), packet, MUON_WIRE_AT_HEADER_CRC)) return MUON_WIRE_CORRUPT;
  if (MuonWireLoad16(packet + MUON_WIRE_AT_HEADER) != MUON_WIRE_PACKET_HEADER) return MUON_WIRE_CORRUPT;
  if (MuonWireLoad32(packet + MUON_WIRE_AT_FLAGS) != 0 || MuonWireLoad32(packet + MUON_WIRE_AT_RESERVED) != 0) return MUON_WIRE_CORRUPT;
  found.sender    = MuonWireLoad32(packet + MUON_WIRE_AT_SENDER);
  found.direction = MuonWireLoad32(packet + MUON_WIRE_AT_DIRECTION);
  found.status    = MuonWireLoad32(packet + MUON_WIRE_AT_STATUS);
  found.messages  = MuonWireLoad32(packet + MUON_WIRE_AT_MESSAGES);
  found.step      = MuonWireLoad64(packet + MUON_WIRE_AT_STEP);
  found.bytes     = MuonWireLoad64(packet + MUON_WIRE_AT_BYTES);
  if (found.sender != expected->sender || found.direction != expected->direction || found.step != expected->step) return MUON_WIRE_CORRUPT;
  if (found.bytes != rest) return MUON_WIRE_CORRUPT;
  if (found.status != 0 && found.messages != 0) return MUON_WIRE_CORRUPT;
  if (!MuonWireChecksumIs(MuonWireLoad32(packet + MUON_WIRE_AT_PAYLOAD_CRC), packet + MUON_WIRE_PACKET_HEADER, rest)) return MUON_WIRE_CORRUPT;
  if (MuonWireMessagesTile(packet + MUON_WIRE_PACKET_HEADER, rest, found.messages) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}
