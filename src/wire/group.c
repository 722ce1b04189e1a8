/*
   Groups: a message that consists of the messages of a layer's blocks.
*/
#include "muonwirebits.h"

uint64_t MuonWireGroupClose(uint32_t layer, uint64_t count, uint64_t bytes, unsigned char *to)
{
  MuonWireMessage header;
  unsigned        before;

  header.layer     = layer;
  header.kind      = MUON_WIRE_GROUP;
  header.indices   = MUON_WIRE_INDICES_NONE;
  header.values    = 0;
  header.parameter = 0;
  header.count     = count;
  header.bytes     = bytes;
  before           = MuonWireMessageHeaderBytes(&header);
  memmove(to + before, to + MUON_WIRE_MESSAGE_HEADER_MOST, (size_t)bytes);
  (void)MuonWireMessageWrite(to, &header);
  return before + bytes;
}

MuonWireResult MuonWireGroupOpen(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t count, MuonWireGroup *group)
{
  MuonWireMessage header;

  if (MuonWireMessageRead(bytes, length, &header) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (header.layer != layer || header.kind != MUON_WIRE_GROUP || header.indices != MUON_WIRE_INDICES_NONE || header.values != 0 || header.parameter != 0) return MUON_WIRE_CORRUPT;
  if (header.count != count || MuonWireMessageBytes(&header) != length) return MUON_WIRE_CORRUPT;
  group->from = bytes + MuonWireMessageHeaderBytes(&header);
  if (MuonWireMessagesTile(group->from, (size_t)header.bytes, count) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  group->rest = (size_t)header.bytes;
  return MUON_WIRE_OK;
}

const unsigned char *MuonWireGroupNext(MuonWireGroup *group, size_t *length)
{
  const unsigned char *part = group->from;
  MuonWireMessage      header;

  (void)MuonWireMessageRead(part, group->rest, &header);
  *length = (size_t)MuonWireMessageBytes(&header);
  group->from += *length;
  group->rest -= *length;
  return part;
}
