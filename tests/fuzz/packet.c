/*
   Any bytes as a packet of sender 3 in step 7: what opens is walked to its end, and each message is tried
   against layers of several shapes.

   The wire room is compiled with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which passes all checksums.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  MuonWirePacket       expected, header;
  const unsigned char *from = data + MUON_WIRE_PACKET_HEADER;

  memset(&expected, 0, sizeof(expected));
  expected.sender = 3;
  expected.step   = 7;
  if (MuonWirePacketOpen(data, size, &expected, &header) != MUON_WIRE_OK) return 0;
  for (uint32_t i = 0; i < header.messages; i++) {
    MuonWireMessage message;

    Check(MuonWireMessageRead(from, (size_t)(data + size - from), &message) == MUON_WIRE_OK, "message %d of an open packet", (int)i);
    for (uint64_t rows = 1; rows <= 64; rows *= 2) (void)CheckMessage(from, (size_t)MuonWireMessageBytes(&message), message.layer, rows, 3 * rows / 2);
    from += MuonWireMessageBytes(&message);
  }
  Check(from == data + size, "the messages do not end with the packet");
  return 0;
}
