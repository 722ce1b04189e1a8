/*
   The header of a packet. Every receiver checks it before it reads anything else.
*/
#include "muonwirebits.h"

enum {
  MUON_WIRE_MAJOR = 3,
  MUON_WIRE_MINOR = 0
};

/* Places of the fields of the header */
enum {
  MUON_WIRE_AT_MAGIC     = 0,
  MUON_WIRE_AT_MAJOR     = 4,
  MUON_WIRE_AT_MINOR     = 5,
  MUON_WIRE_AT_DIRECTION = 6,
  MUON_WIRE_AT_STATUS    = 7,
  MUON_WIRE_AT_SENDER    = 8,
  MUON_WIRE_AT_MESSAGES  = 12,
  MUON_WIRE_AT_STEP      = 16,
  MUON_WIRE_AT_BYTES     = 24,
  MUON_WIRE_AT_CRC       = 32
};

static const unsigned char MuonWireMagic[4] = {0x50, 0x4D, 0x57, 0x31};

/* The checksum of the packet without the checksum field */
static uint32_t MuonWirePacketChecksum(const unsigned char *packet, size_t bytes)
{
  return MuonWireCRC32C(MuonWireCRC32C(0, packet, MUON_WIRE_AT_CRC), packet + MUON_WIRE_PACKET_HEADER, bytes);
}

void MuonWirePacketFinalize(unsigned char *packet, const MuonWirePacket *header)
{
  memcpy(packet + MUON_WIRE_AT_MAGIC, MuonWireMagic, sizeof(MuonWireMagic));
  packet[MUON_WIRE_AT_MAJOR]     = MUON_WIRE_MAJOR;
  packet[MUON_WIRE_AT_MINOR]     = MUON_WIRE_MINOR;
  packet[MUON_WIRE_AT_DIRECTION] = (unsigned char)header->direction;
  packet[MUON_WIRE_AT_STATUS]    = (unsigned char)header->status;
  MuonWireStore32(packet + MUON_WIRE_AT_SENDER, header->sender);
  MuonWireStore32(packet + MUON_WIRE_AT_MESSAGES, header->messages);
  MuonWireStore64(packet + MUON_WIRE_AT_STEP, header->step);
  MuonWireStore64(packet + MUON_WIRE_AT_BYTES, header->bytes);
  MuonWireStore32(packet + MUON_WIRE_AT_CRC, MuonWirePacketChecksum(packet, (size_t)header->bytes));
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

  if (length < MUON_WIRE_PACKET_HEADER || memcmp(packet + MUON_WIRE_AT_MAGIC, MuonWireMagic, sizeof(MuonWireMagic)) != 0 || packet[MUON_WIRE_AT_MAJOR] != MUON_WIRE_MAJOR) return MUON_WIRE_CORRUPT;
  found.direction = packet[MUON_WIRE_AT_DIRECTION];
  found.status    = packet[MUON_WIRE_AT_STATUS];
  found.sender    = MuonWireLoad32(packet + MUON_WIRE_AT_SENDER);
  found.messages  = MuonWireLoad32(packet + MUON_WIRE_AT_MESSAGES);
  found.step      = MuonWireLoad64(packet + MUON_WIRE_AT_STEP);
  found.bytes     = MuonWireLoad64(packet + MUON_WIRE_AT_BYTES);
  if (found.sender != expected->sender || found.direction != expected->direction || found.step != expected->step) return MUON_WIRE_CORRUPT;
  if (found.bytes != length - MUON_WIRE_PACKET_HEADER || (found.status != 0 && found.messages != 0)) return MUON_WIRE_CORRUPT;
/* A fuzzer cannot guess checksums */
#if !defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  if (MuonWireLoad32(packet + MUON_WIRE_AT_CRC) != MuonWirePacketChecksum(packet, (size_t)found.bytes)) return MUON_WIRE_CORRUPT;
#endif
  if (MuonWireMessagesTile(packet + MUON_WIRE_PACKET_HEADER, (size_t)found.bytes, found.messages) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}
