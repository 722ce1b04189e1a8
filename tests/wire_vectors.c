/*
   Packets that the second implementation of the format wrote: the good ones say what it says that they say
   and are what this one writes, the bad ones are refused. tests/oracle/wire.py writes them to a file and runs
   this program a second time, which then reads them.
*/
#include "wire_corpus.h"
#include "wire/muonwirewide.h"

#define MOST_TEXT (1 << 20)

static FILE *file;
static char  text[MOST_TEXT];

static uint64_t Number(void)
{
  unsigned long long number;

  Check(fscanf(file, "%llu", &number) == 1, "a number is missing");
  return (uint64_t)number;
}

static unsigned char *Hexadecimal(size_t *length)
{
  unsigned char *bytes;

  Check(fscanf(file, "%1048575s", text) == 1, "bytes are missing");
  *length = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
  bytes   = (unsigned char *)Allocate(*length);
  for (size_t i = 0; i < *length; i++) {
    unsigned byte;

    Check(sscanf(text + 2 * i, "%2x", &byte) == 1, "no hexadecimal");
    bytes[i] = (unsigned char)byte;
  }
  return bytes;
}

static void Read(Content *content)
{
  uint64_t number;

  memset(content, 0, sizeof(*content));
  Check(fscanf(file, "%15s", text) == 1 && strcmp(text, "message") == 0, "a message is missing");
  content->header.layer     = (uint32_t)Number();
  content->header.kind      = (uint8_t)Number();
  content->header.indices   = (uint8_t)Number();
  content->header.values    = (uint8_t)Number();
  content->header.parameter = (uint8_t)Number();
  content->rows             = Number();
  content->columns          = Number();
  content->header.count     = Number();
  ContentAllocate(content);
  content->seed = Number();
  number        = Number();
  Check(number == (HasPositions(&content->header) ? content->header.count : 0), "%d positions", (int)number);
  for (uint64_t i = 0; i < number; i++) content->positions[i] = Number();
  number = Number();
  Check(number == content->lines, "%d entries, not %d", (int)number, (int)content->lines);
  for (uint64_t i = 0; i < number; i++) content->entries[i] = Number();
  number = Number();
  Check(number == content->numbers, "%d values, not %d", (int)number, (int)content->numbers);
  for (uint64_t i = 0; i < number; i++) {
    unsigned long long bits;

    Check(fscanf(file, "%llx", &bits) == 1, "a value is missing");
    content->values[i] = FromBits64((uint64_t)bits);
  }
  ContentMeasure(content);
}

static void Good(const char name[])
{
  Content              contents[24];
  MuonWirePacket       who, header;
  unsigned char       *packet, *again;
  const unsigned char *from;
  uint32_t             messages;
  size_t               length, size;

  memset(&who, 0, sizeof(who));
  who.sender    = (uint32_t)Number();
  who.direction = (uint32_t)Number();
  who.status    = (uint32_t)Number();
  who.step      = Number();
  messages      = (uint32_t)Number();
  packet        = Hexadecimal(&length);
  Check(messages <= 24, "%s: too many messages", name);
  Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "%s", name);
  Check(header.status == who.status && header.messages == messages, "%s: status %d, %d messages", name, (int)header.status, (int)header.messages);
  from = packet + MUON_WIRE_PACKET_HEADER;
  for (uint32_t m = 0; m < messages; m++) {
    MuonWireMessage read;
    Content         back;

    Read(&contents[m]);
    Check(MuonWireMessageRead(from, (size_t)(packet + length - from), &read) == MUON_WIRE_OK, "%s, message %d", name, (int)m);
    size = (size_t)MuonWireMessageBytes(&read);
    Check(ContentDecode(&back, from, size, contents[m].header.layer, contents[m].rows, contents[m].columns) == MUON_WIRE_OK, "%s, message %d", name, (int)m);
    Check(ContentEqual(&back, &contents[m]), "%s, message %d says something else", name, (int)m);
    ContentFree(&back);
    from += size;
  }
  again = PacketOf(&who, contents, messages, &size);
  Check(size == length && memcmp(again, packet, length) == 0, "%s: written here it has other bytes", name);
  for (uint32_t m = 0; m < messages; m++) ContentFree(&contents[m]);
  free(again);
  free(packet);
}

/* One message of the layer F20C3F36 from sender 3 in step 7 is expected */
static void Bad(const char name[])
{
  Content        content;
  MuonWirePacket who;
  unsigned char *packet;
  size_t         length;

  memset(&who, 0, sizeof(who));
  who.sender           = 3;
  who.step             = 7;
  content.header.layer = 0xF20C3F36u;
  content.rows         = Number();
  content.columns      = Number();
  packet               = Hexadecimal(&length);
  Check(PacketCheck(packet, length, &who, &content, 1) == MUON_WIRE_CORRUPT, "%s", name);
  free(packet);
}

/* Width 0: gaps, else the width of coded codes */
static void BadSection(const char name[])
{
  const unsigned width   = (unsigned)Number();
  const uint64_t entries = Number(), count = Number();
  const uint64_t most = width > 0 ? (width * count + 7) / 8 : MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, entries, count);
  unsigned char *section, *to = (unsigned char *)Allocate((size_t)most);
  uint64_t       used = 0;
  size_t         length;
  MuonWireResult result;

  section = Hexadecimal(&length);
  for (int wide = 0; wide < 2; wide++) {
    MuonWireSetWide(wide);
    result = width > 0 ? MuonWireCodedDecode(width, count, section, length, &used, to) : MuonWireGapsDecode(entries, count, section, length, &used, MUON_WIRE_INDICES_BITMAP, to);
    Check(result == MUON_WIRE_CORRUPT || used != length, "%s", name);
  }
  free(section);
  free(to);
}

int main(int argc, char **argv)
{
  char kind[16], name[256];
  int  vectors = 0;

  if (argc == 3 && strcmp(argv[1], "-vectors") == 0) {
    file = fopen(argv[2], "r");
    Check(file != NULL, "%s cannot be read", argv[2]);
    for (; fscanf(file, "%15s %255s", kind, name) == 2; vectors++) {
      if (strcmp(kind, "good") == 0) Good(name);
      else if (strcmp(kind, "bad") == 0) Bad(name);
      else {
        Check(strcmp(kind, "section") == 0, "%s", kind);
        BadSection(name);
      }
    }
    fclose(file);
    printf("%d vectors\n", vectors);
  } else printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    oracle: wire.py --vectors ${BUILD}/tests/wire_vectors
    output_file: output/wire_ok.out

TEST*/
