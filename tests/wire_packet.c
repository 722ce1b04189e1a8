/*
   The header of a packet, byte for byte, and the header that a receiver does not want.
*/
#include "wire_corpus.h"

static void Refused(unsigned char *packet, size_t length, const MuonWirePacket *expected, const char what[])
{
  MuonWirePacket header, untouched;

  memset(&header, 0x5A, sizeof(header));
  memset(&untouched, 0x5A, sizeof(untouched));
  Check(MuonWirePacketOpen(packet, length, expected, &header) == MUON_WIRE_CORRUPT, "%s", what);
  Check(memcmp(&header, &untouched, sizeof(header)) == 0, "%s: the header was written", what);
}

/* One field is set to a value and back again */
static void RefusedWith(unsigned char *packet, size_t length, const MuonWirePacket *expected, unsigned at, unsigned bytes, uint64_t value, const char what[])
{
  unsigned char *changed = (unsigned char *)Allocate(length);

  memcpy(changed, packet, length);
  Put(changed + at, bytes, value);
  Rectify(changed, length);
  Refused(changed, length, expected, what);
  free(changed);
}

int main(void)
{
  Content        contents[2];
  MuonWirePacket who, header, other;
  unsigned char  bytes[36], *packet;
  size_t         length;
  uint64_t       state = 5;

  who.sender    = 0x01020304u;
  who.direction = 1;
  who.status    = 0;
  who.messages  = 0;
  who.step      = UINT64_C(0x1122334455667788);
  who.bytes     = 0;
  ContentRandom(&contents[0], 17, 4, 6, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_NATURAL, 5, &state);
  ContentRandom(&contents[1], 18, 4, 6, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 2, &state);
  packet = PacketOf(&who, contents, 2, &length);
  /* bitmap 3, codes 45 bits: 6; P and Q 2 (4 + 6) values of 4 bytes */
  Check(length == 36 + 8 + 9 + 8 + 80, "%d bytes", (int)length);

  memcpy(bytes, "PMW1\3\0\1\0\4\3\2\1\2\0\0\0\210\167\146\125\104\063\042\021\151\0\0\0\0\0\0\0", 32);
  Put(bytes + 32, 4, MuonWireCRC32C(MuonWireCRC32C(0, bytes, 32), packet + 36, length - 36));
  Check(memcmp(packet, bytes, 36) == 0, "the header is not the format's");

  Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "a good packet");
  Check(header.sender == who.sender && header.direction == 1 && header.status == 0 && header.messages == 2 && header.step == who.step && header.bytes == length - 36, "the header");
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "the messages");

  other        = who;
  other.sender = 0x01020305u;
  Refused(packet, length, &other, "another sender");
  other           = who;
  other.direction = 0;
  Refused(packet, length, &other, "another direction");
  other      = who;
  other.step = who.step + 1;
  Refused(packet, length, &other, "another step");
  other.step = who.step & 0xFFFFFFFFu;
  Refused(packet, length, &other, "another step in the upper half");

  /* A minor version is no reason to refuse */
  packet[5] = 9;
  Rectify(packet, length);
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "a minor version");
  packet[5] = 0;
  Rectify(packet, length);
  RefusedWith(packet, length, &who, 4, 1, 0, "major 0");
  RefusedWith(packet, length, &who, 4, 1, 1, "major 1");
  RefusedWith(packet, length, &who, 4, 1, 2, "major 2");
  RefusedWith(packet, length, &who, 4, 1, 4, "major 4");
  RefusedWith(packet, length, &who, 4, 1, 255, "major 255");
  for (unsigned b = 0; b < 8; b++) RefusedWith(packet, length, &who, 7, 1, (uint64_t)1 << b, "a status with messages");
  Refused(packet, 0, &who, "nothing");
  Rectify(packet, length);
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "a good packet, unchanged");
  free(packet);

  /* Error packets and silence are the header alone */
  for (uint32_t status = 0; status < 3; status++) {
    who.status = status;
    packet     = PacketOf(&who, NULL, 0, &length);
    Check(length == 36, "%d bytes", (int)length);
    Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "status %d", (int)status);
    Check(header.status == status && header.messages == 0 && header.bytes == 0, "status %d", (int)header.status);
    free(packet);
  }
  ContentFree(&contents[0]);
  ContentFree(&contents[1]);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
