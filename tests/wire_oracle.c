/*
   The second implementation of the format, tests/oracle/wire.py: packets, what they say, and damaged ones with the verdict on them, are written
   for it to agree with. The other way round it writes packets to a file and runs this program a second time: the good ones say what it says that
   they say and are what this one writes, the bad ones are refused.
*/
#include "wire_corpus.h"
#include "wire/muonwirewide.h"

static FILE *Open(const char folder[], const char name[], const char suffix[])
{
  char  path[4096];
  FILE *file;

  snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
  file = fopen(path, "wb");
  Check(file != NULL, "%s cannot be written", path);
  return file;
}

static void Close(FILE *file)
{
  Check(ferror(file) == 0 && fclose(file) == 0, "a file was not written");
}

static void Mutation(FILE *file, const unsigned char *packet, size_t length, const CorpusPacket *from, unsigned which)
{
  unsigned char head[6];

  head[0] = (unsigned char)which;
  head[1] = PacketCheck(packet, length, &from->who, from->contents, from->messages) == MUON_WIRE_OK;
  Put(head + 2, 4, length);
  Check(fwrite(head, 6, 1, file) == 1 && fwrite(packet, 1, length, file) == length, "a file was not written");
}

static void WriteAll(const char folder[])
{
  FILE *cases, *mutations;

  cases     = Open(folder, "cases", ".txt");
  mutations = Open(folder, "mutations", ".bin");
  for (unsigned which = 0; which < CORPUS_PACKETS; which++) {
    CorpusPacket   from;
    unsigned char *packet;
    FILE          *file;
    size_t         length;

    CorpusPacketCreate(&from, which);
    packet = PacketOf(&from.who, from.contents, from.messages, &length);
    file   = Open(folder, from.name, ".packet");
    Check(fwrite(packet, 1, length, file) == length, "a file was not written");
    Close(file);

    fprintf(cases, "packet %s %lu %lu %lu %llu %lu\n", from.name, (unsigned long)from.who.sender, (unsigned long)from.who.direction, (unsigned long)from.who.status, (unsigned long long)from.who.step, (unsigned long)from.messages);
    for (uint32_t i = 0; i < from.messages; i++) {
      const Content *c = &from.contents[i];

      fprintf(cases, "message %lu %llu %llu %d %d %d %llu %d %llu\npositions", (unsigned long)c->header.layer, (unsigned long long)c->rows, (unsigned long long)c->columns, c->header.kind, c->header.indices, c->header.values,
              (unsigned long long)c->header.count, c->header.parameter, (unsigned long long)(c->header.kind == MUON_WIRE_SEEDED ? c->seed : 0));
      for (uint64_t k = 0; HasPositions(&c->header) && k < c->header.count; k++) fprintf(cases, " %llu", (unsigned long long)c->positions[k]);
      fprintf(cases, "\nentries");
      for (uint64_t k = 0; k < c->lines; k++) fprintf(cases, " %llu", (unsigned long long)c->entries[k]);
      fprintf(cases, "\nvalues");
      for (uint64_t k = 0; k < c->numbers; k++) fprintf(cases, " %a", c->values[k]);
      fprintf(cases, "\n");
    }

    /*
       Flips in the smallest packets and, one in 37, in all; now and then with the checksum that came,
       else with one that fits
    */
    for (size_t bit = 0; bit < 8 * length; bit += length < 200 ? 1 : 37) {
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ 1 << bit % 8);
      if (bit % 5 == 0) Mutation(mutations, packet, length, &from, which);
      if (bit / 8 < 32 || bit / 8 >= 36) {
        Rectify(packet, length);
        Mutation(mutations, packet, length, &from, which);
      }
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ 1 << bit % 8);
      Rectify(packet, length);
    }
    for (size_t cut = 0; cut < length; cut += 1 + length / 64) Mutation(mutations, packet, cut, &from, which);
    free(packet);
    CorpusPacketDestroy(&from);
  }
  Close(cases);
  Close(mutations);
}

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

static int ReadAll(const char path[])
{
  char kind[16], name[256];
  int  vectors = 0;

  file = fopen(path, "r");
  Check(file != NULL, "%s cannot be read", path);
  for (; fscanf(file, "%15s %255s", kind, name) == 2; vectors++) {
    if (strcmp(kind, "good") == 0) Good(name);
    else if (strcmp(kind, "bad") == 0) Bad(name);
    else {
      Check(strcmp(kind, "section") == 0, "%s", kind);
      BadSection(name);
    }
  }
  fclose(file);
  return vectors;
}

int main(int argc, char **argv)
{
  const char *folder = NULL;

  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], "-oracle_dir") == 0) folder = argv[i + 1];
  }
  if (argc == 3 && strcmp(argv[1], "-vectors") == 0) printf("%d vectors\n", ReadAll(argv[2]));
  else {
    Check(folder != NULL, "-oracle_dir is missing");
    WriteAll(folder);
    printf("ok\n");
  }
  return 0;
}

/*TEST

  testset:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

    table: suffix | oracle
              | wire.py
      vectors | wire.py --vectors ${BUILD}/tests/wire_oracle

TEST*/
