/*
   Groups of messages: their parts come back where they are, and a group that was cut, stretched or damaged is
   refused, or is a group of as many parts that end where it ends, each of which is refused or is another
   message.
*/
#include "wire_corpus.h"

enum {
  LAYER = 77
};

/* Walks a group as a receiver does; the verdict on the whole */
static MuonWireResult GroupCheck(const unsigned char *bytes, size_t length, const CorpusPacket *from)
{
  MuonWireResult       result = MUON_WIRE_OK;
  MuonWireGroup        group;
  const unsigned char *expected = NULL;
  unsigned char       *again;

  if (MuonWireGroupOpen(bytes, length, LAYER, from->messages, &group) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  for (uint32_t i = 0; i < from->messages; i++) {
    size_t               some;
    const unsigned char *part = MuonWireGroupNext(&group, &some);

    Check(part > bytes && (expected == NULL || part == expected) && some <= (size_t)(bytes + length - part), "%s, part %d", from->name, (int)i);
    expected = part + some;
    if (CheckMessage(part, some, from->contents[i].header.layer, from->contents[i].rows, from->contents[i].columns) != MUON_WIRE_OK) result = MUON_WIRE_CORRUPT;
  }
  Check(group.rest == 0 && group.from == bytes + length, "%s: the parts do not end with the group", from->name);
  /* What opens is what its parts make when they are closed again, whether these are right or not */
  expected = MuonWireGroupOpen(bytes, length, LAYER, from->messages, &group) == MUON_WIRE_OK ? group.from : bytes;
  again    = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + length);
  memcpy(again + MUON_WIRE_MESSAGE_HEADER_MOST, expected, group.rest);
  Check(MuonWireGroupClose(LAYER, from->messages, group.rest, again) == length && memcmp(again, bytes, length) == 0, "%s: closed again it is another", from->name);
  free(again);
  return result;
}

int main(void)
{
  uint64_t refused = 0, accepted = 0;

  for (unsigned which = 0; which < CORPUS_PACKETS; which++) {
    CorpusPacket   from;
    MuonWireGroup  group;
    unsigned char *bytes, *copy, *twice;
    size_t         room = MUON_WIRE_MESSAGE_HEADER_MOST, parts = 0, length, whole;

    memset(&from, 0, sizeof(from));
    CorpusPacketCreate(&from, which);
    for (uint32_t i = 0; i < from.messages; i++) room += ContentRoom(&from.contents[i]);
    bytes = (unsigned char *)Allocate(room);
    for (uint32_t i = 0; i < from.messages; i++) {
      MuonWireMessage message;
      unsigned char  *to = bytes + MUON_WIRE_MESSAGE_HEADER_MOST + parts;

      (void)ContentEncode(&from.contents[i], to);
      Check(MuonWireMessageRead(to, room, &message) == MUON_WIRE_OK, "%s, part %d", from.name, (int)i);
      parts += (size_t)MuonWireMessageBytes(&message);
    }
    length = (size_t)MuonWireGroupClose(LAYER, from.messages, parts, bytes);
    Check(length <= room && length > parts && length - parts <= MUON_WIRE_MESSAGE_HEADER_MOST, "%s: %d bytes", from.name, (int)length);
    /* Where memory ends, so that a sanitizer sees who reads too much */
    copy = (unsigned char *)Allocate(length);
    memcpy(copy, bytes, length);
    Check(GroupCheck(copy, length, &from) == MUON_WIRE_OK, "%s, as it is", from.name);

    Check(MuonWireGroupOpen(copy, length, LAYER + 1, from.messages, &group) == MUON_WIRE_CORRUPT, "%s, of another layer", from.name);
    for (unsigned bit = 0; bit < 64; bit++) Check(MuonWireGroupOpen(copy, length, LAYER, from.messages ^ (uint64_t)1 << bit, &group) == MUON_WIRE_CORRUPT, "%s, bit %u of the number", from.name, bit);
    /* A group has neither positions nor values of its own */
    for (unsigned other = 1; other < 256; other++) {
      copy[5] = (unsigned char)other;
      Check(MuonWireGroupOpen(copy, length, LAYER, from.messages, &group) == MUON_WIRE_CORRUPT, "%s, values %u", from.name, other);
      copy[5] = 0;
      if (other > 15) continue;
      copy[4] = (unsigned char)(MUON_WIRE_GROUP | other << 4);
      Check(MuonWireGroupOpen(copy, length, LAYER, from.messages, &group) == MUON_WIRE_CORRUPT, "%s, positions %u", from.name, other);
      copy[4] = MUON_WIRE_GROUP;
    }
    for (size_t cut = 0; cut < length; cut++) {
      unsigned char *shorter = (unsigned char *)Allocate(cut);

      memcpy(shorter, bytes, cut);
      Check(GroupCheck(shorter, cut, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes of %d", from.name, (int)cut, (int)length);
      free(shorter);
    }
    for (size_t bit = 0; bit < 8 * length; bit += length < 300 ? 1 : 7) {
      copy[bit / 8] = (unsigned char)(copy[bit / 8] ^ 1 << bit % 8);
      if (GroupCheck(copy, length, &from) == MUON_WIRE_OK) accepted++;
      else refused++;
      copy[bit / 8] = (unsigned char)(copy[bit / 8] ^ 1 << bit % 8);
    }
    free(copy);
    /* A byte that belongs to no part, and a part too many or too few, in groups whose headers say so */
    if (from.messages > 0) {
      copy = (unsigned char *)Allocate(room + 1);
      for (int more = -1; more <= 1; more += 2) {
        memcpy(copy + MUON_WIRE_MESSAGE_HEADER_MOST, bytes + length - parts, parts);
        copy[MUON_WIRE_MESSAGE_HEADER_MOST + parts] = 0;
        whole                                       = (size_t)MuonWireGroupClose(LAYER, from.messages, (uint64_t)((int64_t)parts + more), copy);
        Check(GroupCheck(copy, whole, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes more", from.name, more);
        memcpy(copy + MUON_WIRE_MESSAGE_HEADER_MOST, bytes + length - parts, parts);
        whole = (size_t)MuonWireGroupClose(LAYER, (uint64_t)((int64_t)from.messages + more), parts, copy);
        Check(GroupCheck(copy, whole, &from) == MUON_WIRE_CORRUPT, "%s, %d parts more", from.name, more);
      }
      free(copy);
      /* No part is a group, nor a plain message of a layer */
      twice = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + length);
      memcpy(twice + MUON_WIRE_MESSAGE_HEADER_MOST, bytes, length);
      whole = (size_t)MuonWireGroupClose(LAYER, 1, length, twice);
      Check(MuonWireGroupOpen(twice, whole, LAYER, 1, &group) == MUON_WIRE_OK, "%s, in a group", from.name);
      Check(CheckMessage(MuonWireGroupNext(&group, &length), length, LAYER, 5, 3) == MUON_WIRE_CORRUPT, "%s, a group in a group", from.name);
      free(twice);
    }
    free(bytes);
    CorpusPacketDestroy(&from);
  }
  Check(refused > 1000 && accepted > 1000, "%d refused, %d accepted", (int)refused, (int)accepted);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
