/*
   Damaged packets, and groups of messages: every single bit flipped and every length. With the checksum as it came all are refused;
   with a checksum made to fit the damage they are refused, or are another message that decodes within its
   bounds.

   The bytes end where readable memory ends, so that reading one too many is a fault.
*/
#if !defined(_DEFAULT_SOURCE)
  #define _DEFAULT_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>
#include "wire_corpus.h"

static unsigned char *wall; /* the first byte that cannot be read */

static void WallCreate(void)
{
  const size_t   page  = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *pages = (unsigned char *)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  Check((void *)pages != MAP_FAILED, "no memory");
  Check(mprotect(pages + 2 * page, page, PROT_NONE) == 0, "no wall");
  wall = pages + 2 * page;
}

static MuonWireResult AtTheWall(const unsigned char *packet, size_t length, const CorpusPacket *from)
{
  Check(length <= 4096, "%d bytes", (int)length);
  if (length > 0) memcpy(wall - length, packet, length);
  return PacketCheck(wall - length, length, from);
}

/* One field of so many bytes at a place becomes the value, and the checksum fits; the verdict must be refusal */
static void RefusedField(unsigned char *packet, size_t length, const CorpusPacket *from, size_t at, unsigned bytes, uint64_t value, const char what[])
{
  const uint64_t old = Get(packet + at, bytes);

  if (bytes < 8) value &= ((uint64_t)1 << 8 * bytes) - 1;
  if (value == old) return;
  Put(packet + at, bytes, value);
  Rectify(packet, length);
  Check(AtTheWall(packet, length, from) == MUON_WIRE_CORRUPT, "%s: %s at %d became %g", from->name, what, (int)at, (double)value);
  Put(packet + at, bytes, old);
  Rectify(packet, length);
}

static void RefusedValues(unsigned char *packet, size_t length, const CorpusPacket *from, size_t at, unsigned bytes, const char what[])
{
  const uint64_t value = Get(packet + at, bytes), some[] = {0, 1, value - 1, value + 1, UINT64_MAX, UINT64_MAX - value};

  for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) RefusedField(packet, length, from, at, bytes, some[k], what);
  for (unsigned b = 0; b < 8 * bytes; b++) {
    RefusedField(packet, length, from, at, bytes, (uint64_t)1 << b, what);
    RefusedField(packet, length, from, at, bytes, value + ((uint64_t)1 << b), what);
    RefusedField(packet, length, from, at, bytes, UINT64_MAX << b, what);
  }
}

/* The packet with other bytes in place of the first old ones of the message at, and lengths that agree; the verdict must be refusal */
static void RefusedHead(const unsigned char *packet, size_t length, const CorpusPacket *from, size_t at, size_t old, const unsigned char *head, size_t bytes, const char what[])
{
  unsigned char *other = (unsigned char *)Allocate(length + bytes);

  memcpy(other, packet, at);
  memcpy(other + at, head, bytes);
  memcpy(other + at + bytes, packet + at + old, length - at - old);
  Put(other + 24, 8, length - old + bytes - MUON_WIRE_PACKET_HEADER);
  Rectify(other, length - old + bytes);
  Check(AtTheWall(other, length - old + bytes, from) == MUON_WIRE_CORRUPT, "%s: %s of the message at %d", from->name, what, (int)at);
}

/* Other counts and other lengths in the header of a message, and numbers with a byte more than they need */
static void RefusedHeaders(const unsigned char *packet, size_t length, const CorpusPacket *from, size_t at, const MuonWireMessage *header)
{
  const unsigned whole = MuonWireMessageHeaderBytes(header);
  unsigned char  head[MUON_WIRE_MESSAGE_HEADER_MOST + 16];

  for (unsigned field = 0; field < 2; field++) {
    const uint64_t value = field == 0 ? header->count : header->bytes;
    unsigned       end   = header->kind == MUON_WIRE_BLOCKS || header->kind == MUON_WIRE_VOTES ? 7 : 6;

    for (unsigned k = 0; k < 4 * 63; k++) {
      const uint64_t  power = (uint64_t)1 << k / 4, others[4] = {power - 1, value + power, value - power, UINT64_MAX / 2 - power + 1};
      MuonWireMessage other = *header;

      if (others[k % 4] == value || others[k % 4] > UINT64_MAX / 2) continue;
      if (field == 0) other.count = others[k % 4];
      else other.bytes = others[k % 4];
      RefusedHead(packet, length, from, at, whole, head, MuonWireMessageWrite(head, &other), field == 0 ? "count" : "payload");
    }
    for (unsigned k = 0; k <= field; k++) {
      while (packet[at + end] >= 128) end++;
      end++;
    }
    /* 1 to 10 groups of zeros behind the number */
    for (unsigned more = 1; more <= 10; more++) {
      memcpy(head, packet + at, end);
      head[end - 1] |= 128;
      memset(head + end, 128, more);
      head[end + more - 1] = 0;
      RefusedHead(packet, length, from, at, end, head, end + more, "a group of zeros");
      head[end + more - 1] = 127;
      RefusedHead(packet, length, from, at, end, head, end + more, "a group of ones");
    }
  }
}

/* A payload that is longer than what is there, up to sums that wrap around */
static void ReadRefused(const MuonWireMessage *message, size_t rest)
{
  unsigned char  *bytes  = (unsigned char *)Allocate(rest + MUON_WIRE_MESSAGE_HEADER_MOST);
  MuonWireMessage header = *message, found;

  for (unsigned i = 0; i < 63; i++) {
    header.bytes = rest - MuonWireMessageHeaderBytes(message) + ((uint64_t)1 << i);
    (void)MuonWireMessageWrite(bytes, &header);
    Check(MuonWireMessageRead(bytes, rest, &found) == MUON_WIRE_CORRUPT, "2^%u bytes too many", i);
    header.bytes = UINT64_MAX / 2 - i;
    (void)MuonWireMessageWrite(bytes, &header);
    Check(MuonWireMessageRead(bytes, rest, &found) == MUON_WIRE_CORRUPT, "2^63 - %u bytes", i + 1);
  }
}

/* A message in a packet of its own: other headers, parameters, forms and codecs */
static void RefusedMessage(const CorpusPacket *from, uint32_t i)
{
  const Content  *c    = &from->content[i];
  const size_t    here = allocations, at = MUON_WIRE_PACKET_HEADER, length = at + from->at[i + 1] - from->at[i];
  unsigned char  *alone = (unsigned char *)Allocate(length);
  CorpusPacket    one;
  MuonWireMessage header;

  memset(&one, 0, sizeof(one));
  one.name         = from->name;
  one.who          = from->who;
  one.who.messages = one.messages = 1;
  one.who.bytes                   = length - at;
  one.content[0]                  = *c;
  memcpy(alone + at, from->packet + from->at[i], length - at);
  MuonWirePacketFinalize(alone, &one.who);
  Check(AtTheWall(alone, length, &one) == MUON_WIRE_OK, "%s, message %d", one.name, (int)i);
  Check(MuonWireMessageRead(alone + at, length - at, &header) == MUON_WIRE_OK, "%s, message %d", one.name, (int)i);
  RefusedHeaders(alone, length, &one, at, &header);
  for (unsigned parameter = 0; parameter < 256 && header.kind == MUON_WIRE_BLOCKS; parameter++) {
    MuonWireMessage other = c->header;
    MuonWireLayout  layout;

    /* Few entries in other blocks, or with other bits, may take the same room */
    other.parameter = (uint8_t)parameter;
    if (MuonWireMessageLayout(&other, c->rows, c->columns, &layout) != MUON_WIRE_OK || (MuonWireMessageIsUncompressed(&header) && layout.bytes != other.bytes)) RefusedField(alone, length, &one, at + 6, 1, parameter, "parameter of blocks");
  }
  ReadRefused(&header, length - at);
  for (unsigned id = 0; id < 16; id++) {
    if (id > MUON_WIRE_BLOCKS && header.kind != MUON_WIRE_BLOCKS && header.kind != MUON_WIRE_VOTES) RefusedField(alone, length, &one, at + 4, 1, id | (unsigned)header.indices << 4, "form");
    if (id > MUON_WIRE_INDICES_CODED || (id == MUON_WIRE_INDICES_CODED && header.kind != MUON_WIRE_BLOCKS)) RefusedField(alone, length, &one, at + 4, 1, header.kind | id << 4, "codec of the positions");
  }
  for (unsigned id = MUON_WIRE_VALUES_CODED + 1; id < 256; id++) {
    /* Of nothing in two bits there are no bytes either */
    if (id != MUON_WIRE_VALUES_TWOBIT || header.kind != MUON_WIRE_SPARSE || (header.count > 0 && header.values != MUON_WIRE_VALUES_TWOBIT)) RefusedField(alone, length, &one, at + 5, 1, id, "codec of the values");
  }
  FreeFrom(here);
}

/* How many damaged ones are refused and accepted */
static uint64_t verdicts[2];

static void CheckPackets(void)
{
  for (unsigned which = 0; which < CORPUS_LONG; which++) {
    CorpusPacket   from;
    unsigned char *packet, *longer;
    size_t         length, stride;

    CorpusPacketCreate(&from, which);
    packet = from.packet;
    length = from.length;
    longer = (unsigned char *)Allocate(length + 1);
    Check(AtTheWall(packet, length, &from) == MUON_WIRE_OK, "%s, as it is", from.name);

    /* Every bit of short packets, every seventh of long ones: damage that the checksum finds, without exception, and damage that it agrees with */
    stride = length < 300 ? 1 : 7;
    for (size_t bit = 0; bit < 8 * length; bit += stride) {
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ 1 << bit % 8);
      Check(AtTheWall(packet, length, &from) == MUON_WIRE_CORRUPT, "%s, bit %d", from.name, (int)bit);
      Rectify(packet, length);
      if (bit / 8 < 32 || bit / 8 >= 36) verdicts[AtTheWall(packet, length, &from) == MUON_WIRE_OK]++;
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ (bit / 8 < 32 || bit / 8 >= 36) << bit % 8);
      Rectify(packet, length);
    }
    for (size_t cut = 0; cut < length; cut += 1 + stride / 2) {
      Check(AtTheWall(packet, cut, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes of %d", from.name, (int)cut, (int)length);
      if (cut < MUON_WIRE_PACKET_HEADER) continue;
      memcpy(longer, packet, cut);
      Rectify(longer, cut);
      Check(AtTheWall(longer, cut, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes of %d and their checksum", from.name, (int)cut, (int)length);
      Put(longer + 24, 8, cut - MUON_WIRE_PACKET_HEADER);
      Rectify(longer, cut);
      Check(AtTheWall(longer, cut, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes of %d that say so", from.name, (int)cut, (int)length);
    }
    memcpy(longer, packet, length);
    for (unsigned last = 0; last < 256; last++) {
      longer[length] = (unsigned char)last;
      Check(AtTheWall(longer, length + 1, &from) == MUON_WIRE_CORRUPT, "%s, a byte more", from.name);
    }

    /* Lengths and counts */
    RefusedValues(packet, length, &from, 12, 4, "messages");
    RefusedValues(packet, length, &from, 24, 8, "bytes");
    for (uint32_t i = 0; i < from.messages; i++) RefusedMessage(&from, i);
    Check(AtTheWall(packet, length, &from) == MUON_WIRE_OK, "%s, unchanged", from.name);
    FreeFrom(0);
  }
}

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
  /* What opens is what its parts make when they are closed again, whether these are right or not */
  again = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + length);
  memcpy(again + MUON_WIRE_MESSAGE_HEADER_MOST, group.from, group.rest);
  Check(MuonWireGroupClose(LAYER, from->messages, group.rest, again) == length && memcmp(again, bytes, length) == 0, "%s: closed again it is another", from->name);
  FreeFrom(allocations - 1);
  for (uint32_t i = 0; i < from->messages; i++) {
    const Content       *c = &from->content[i];
    size_t               some;
    const unsigned char *part = MuonWireGroupNext(&group, &some);

    Check(part > bytes && (expected == NULL || part == expected) && some <= (size_t)(bytes + length - part), "%s, part %d", from->name, (int)i);
    expected = part + some;
    if (CheckMessage(part, some, c->header.layer, c->rows, c->columns) != MUON_WIRE_OK) result = MUON_WIRE_CORRUPT;
  }
  Check(group.rest == 0 && group.from == bytes + length, "%s: the parts do not end with the group", from->name);
  return result;
}

/* A group of as many parts, or so many more, in so many bytes more than those of its parts; exactly as many as it has are there to be read */
static unsigned char *GroupOf(const CorpusPacket *from, int parts, int bytes, size_t *length)
{
  const size_t   some  = from->length - MUON_WIRE_PACKET_HEADER;
  unsigned char *group = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + some + 1);

  memcpy(group + MUON_WIRE_MESSAGE_HEADER_MOST, from->packet + MUON_WIRE_PACKET_HEADER, some);
  group[MUON_WIRE_MESSAGE_HEADER_MOST + some] = 0;
  *length                                     = (size_t)MuonWireGroupClose(LAYER, (uint64_t)((int64_t)from->messages + parts), (uint64_t)((int64_t)some + bytes), group);
  return CopyOf(group, *length);
}

/*
   Their parts come back where they are, and a group that was cut, stretched or damaged is
   refused, or is a group of as many parts that end where it ends, each of which is refused or is another
   message
*/
static void CheckGroups(void)
{
  for (unsigned which = 0; which < CORPUS_LONG; which++) {
    static const int more[][2] = {{0, -1}, {0, 1}, {-1, 0}, {1, 0}};
    CorpusPacket     from;
    MuonWireGroup    group;
    unsigned char   *bytes, *other;
    size_t           parts, length, some;

    CorpusPacketCreate(&from, which);
    bytes = GroupOf(&from, 0, 0, &length);
    parts = from.length - MUON_WIRE_PACKET_HEADER;
    Check(length > parts && length - parts <= MUON_WIRE_MESSAGE_HEADER_MOST, "%s: %d bytes", from.name, (int)length);
    Check(GroupCheck(bytes, length, &from) == MUON_WIRE_OK, "%s, as it is", from.name);
    Check(MuonWireGroupOpen(bytes, length, LAYER + 1, from.messages, &group) == MUON_WIRE_CORRUPT, "%s, of another layer", from.name);
    for (unsigned bit = 0; bit < 64; bit++) Check(MuonWireGroupOpen(bytes, length, LAYER, from.messages ^ (uint64_t)1 << bit, &group) == MUON_WIRE_CORRUPT, "%s, bit %u of the number", from.name, bit);
    for (size_t cut = 0; cut < length; cut++) {
      other = CopyOf(bytes, cut);
      Check(GroupCheck(other, cut, &from) == MUON_WIRE_CORRUPT, "%s, %d bytes of %d", from.name, (int)cut, (int)length);
      FreeFrom(allocations - 1);
    }
    for (size_t bit = 0; bit < 8 * length; bit += length < 300 ? 1 : 7) {
      bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8);
      verdicts[GroupCheck(bytes, length, &from) == MUON_WIRE_OK]++;
      bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    /* A byte that belongs to no part, and a part too many or too few, in groups whose headers say so */
    for (int k = 0; k < 4 && from.messages > 0; k++) {
      other = GroupOf(&from, more[k][0], more[k][1], &some);
      Check(GroupCheck(other, some, &from) == MUON_WIRE_CORRUPT, "%s, %d parts and %d bytes more", from.name, more[k][0], more[k][1]);
    }
    /* No part is a group, nor a plain message of a layer */
    other = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + length);
    memcpy(other + MUON_WIRE_MESSAGE_HEADER_MOST, bytes, length);
    some = (size_t)MuonWireGroupClose(LAYER, 1, length, other);
    Check(MuonWireGroupOpen(other, some, LAYER, 1, &group) == MUON_WIRE_OK, "%s, in a group", from.name);
    Check(CheckMessage(MuonWireGroupNext(&group, &some), length, LAYER, 5, 3) == MUON_WIRE_CORRUPT, "%s, a group in a group", from.name);
    FreeFrom(0);
  }
}

int main(void)
{
  WallCreate();
  for (int groups = 0; groups < 2; groups++) {
    verdicts[0] = verdicts[1] = 0;
    if (groups) CheckGroups();
    else CheckPackets();
    /* Flipped bits of values are other values, those of headers nearly always nonsense */
    Check(verdicts[0] > 1000 && verdicts[1] > 1000, "%d refused, %d accepted", (int)verdicts[0], (int)verdicts[1]);
  }
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
