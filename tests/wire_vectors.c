/*
   Packets that the second implementation of the format wrote: the good ones say what it says that they say
   and are what this one writes, the bad ones are refused.
*/
#include "oracle/wire_vectors.h"
#include "wire_corpus.h"

static unsigned char *FromHex(const char text[], size_t *length)
{
  unsigned char *bytes;

  *length = strlen(text) / 2;
  bytes   = (unsigned char *)Allocate(*length);
  for (size_t i = 0; i < *length; i++) {
    unsigned byte;

    Check(sscanf(text + 2 * i, "%2x", &byte) == 1, "no hexadecimal");
    bytes[i] = (unsigned char)byte;
  }
  return bytes;
}

static void Expected(const VectorPacket *vector, MuonWirePacket *who)
{
  who->sender    = vector->sender;
  who->direction = vector->direction;
  who->status    = vector->status;
  who->messages  = 0;
  who->step      = vector->step;
  who->bytes     = 0;
}

static void ContentOf(const VectorMessage *vector, Content *content)
{
  content->header.layer     = vector->layer;
  content->header.form      = vector->form;
  content->header.indices   = vector->indices;
  content->header.values    = vector->values;
  content->header.parameter = vector->parameter;
  content->header.count     = vector->count;
  content->seed             = vector->seed;
  content->rows             = vector->rows;
  content->columns          = vector->columns;
  ContentAllocate(content);
  Check(content->numbers == vector->numbers, "%d values, not %d", (int)content->numbers, (int)vector->numbers);
  for (uint64_t i = 0; i < content->numbers; i++) content->values[i] = FromBits64(vector->bits[i]);
  for (uint64_t i = 0; HasPositions(&content->header) && i < vector->count; i++) content->positions[i] = vector->positions[i];
  for (uint64_t i = 0; i < content->lines; i++) content->entries[i] = vector->entries[i];
  ContentMeasure(content);
}

static void Good(const VectorPacket *vector)
{
  Content              contents[24];
  MuonWirePacket       who, header;
  unsigned char       *packet, *again;
  const unsigned char *from;
  size_t               length, size;

  Expected(vector, &who);
  packet = FromHex(vector->packet, &length);
  Check(vector->messages <= 24, "%s: too many messages", vector->name);
  Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "%s", vector->name);
  Check(header.status == vector->status && header.messages == vector->messages, "%s: status %d, %d messages", vector->name, (int)header.status, (int)header.messages);
  from = packet + MUON_WIRE_PACKET_HEADER;
  for (size_t m = 0; m < vector->messages; m++) {
    const VectorMessage *message = &vector->message[m];
    MuonWireMessage      read;
    Content              back;

    ContentOf(message, &contents[m]);
    Check(MuonWireMessageRead(from, (size_t)(packet + length - from), &read) == MUON_WIRE_OK, "%s, message %d", vector->name, (int)m);
    size = (size_t)MuonWireMessageBytes(&read);
    Check(ContentDecode(&back, from, size, message->layer, message->rows, message->columns) == MUON_WIRE_OK, "%s, message %d", vector->name, (int)m);
    Check(ContentEqual(&back, &contents[m]), "%s, message %d says something else", vector->name, (int)m);
    ContentFree(&back);
    from += size;
  }
  again = PacketOf(&who, contents, (uint32_t)vector->messages, &size);
  Check(size == length && memcmp(again, packet, length) == 0, "%s: written here it has other bytes", vector->name);
  for (size_t m = 0; m < vector->messages; m++) ContentFree(&contents[m]);
  free(again);
  free(packet);
}

static void Bad(const VectorPacket *vector)
{
  Content        content;
  MuonWirePacket who;
  unsigned char *packet;
  size_t         length;

  Expected(vector, &who);
  packet               = FromHex(vector->packet, &length);
  content.header.layer = vector->message->layer;
  content.rows         = vector->message->rows;
  content.columns      = vector->message->columns;
  Check(PacketCheck(packet, length, &who, &content, 1) == MUON_WIRE_CORRUPT, "%s", vector->name);
  free(packet);
}

static void BadSection(const VectorSection *vector)
{
  const uint64_t most = vector->width > 0 ? (vector->width * vector->count + 7) / 8 : MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, vector->entries, vector->count);
  unsigned char *section, *to = (unsigned char *)Allocate((size_t)most);
  uint64_t       used = 0;
  size_t         length;
  MuonWireResult result;

  section = FromHex(vector->section, &length);
  result  = vector->width > 0 ? MuonWireCodedDecode(vector->width, vector->count, section, length, &used, to) : MuonWireGapsDecode(vector->entries, vector->count, section, length, &used, MUON_WIRE_INDICES_BITMAP, to);
  Check(result == MUON_WIRE_CORRUPT || used != length, "%s", vector->name);
  free(section);
  free(to);
}

int main(void)
{
  for (size_t i = 0; i < sizeof(good_packets) / sizeof(good_packets[0]); i++) Good(&good_packets[i]);
  for (size_t i = 0; i < sizeof(bad_packets) / sizeof(bad_packets[0]); i++) Bad(&bad_packets[i]);
  for (size_t i = 0; i < sizeof(bad_sections) / sizeof(bad_sections[0]); i++) BadSection(&bad_sections[i]);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
