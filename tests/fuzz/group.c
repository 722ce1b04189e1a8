/*
   A byte for the number of blocks, one for the rows and one for the columns of each, then any bytes as a
   group of the layer that they name: what opens is walked to its end, and each part is tried.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  MuonWireMessage header;
  MuonWireGroup   group;

  if (size < 3 || MuonWireMessageRead(data + 3, size - 3, &header) != MUON_WIRE_OK || MuonWireGroupOpen(data + 3, size - 3, header.layer, data[0], &group) != MUON_WIRE_OK) return 0;
  for (unsigned i = 0; i < data[0]; i++) {
    MuonWireMessage      message;
    size_t               length;
    const unsigned char *part = MuonWireGroupNext(&group, &length);

    Check(part > data + 3 && part + length <= data + size && MuonWireMessageRead(part, length, &message) == MUON_WIRE_OK, "part %d of an open group", (int)i);
    (void)CheckMessage(part, length, message.layer, data[1], data[2]);
  }
  Check(group.from == data + size && group.rest == 0, "the parts do not end with the group");
  return 0;
}
