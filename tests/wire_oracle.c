/*
   The second implementation of the format, tests/oracle/wire.py: packets, groups, what they say, and damaged ones with the verdict on them, are written
   for it to agree with. The other way round it writes packets and sections that are wrong to a file and runs this program a second time: they are refused.
*/
#include "wire_corpus.h"

enum {
  GROUP     = 77,
  MOST_TEXT = 1 << 20
};

static FILE *Open(const char folder[], const char name[], const char suffix[])
{
  char  path[4096];
  FILE *file;

  snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
  file = fopen(path, "wb");
  Check(file != NULL, "%s cannot be written", path);
  return file;
}

static void Write(FILE *file, const unsigned char *bytes, size_t length)
{
  Check(fwrite(bytes, 1, length, file) == length, "a file was not written");
}

static void Close(FILE *file)
{
  Check(ferror(file) == 0 && fclose(file) == 0, "a file was not written");
}

static void Mutation(FILE *file, const unsigned char *packet, size_t length, const CorpusPacket *from, unsigned which)
{
  unsigned char head[6];

  head[0] = (unsigned char)which;
  head[1] = PacketCheck(packet, length, from) == MUON_WIRE_OK;
  Put(head + 2, 4, length);
  Write(file, head, 6);
  Write(file, packet, length);
}

/* What a message says, with the codecs that it was written in */
static void Say(FILE *cases, const Content *c, const MuonWireMessage *found)
{
  const uint64_t entries = c->layout.entries * c->layout.planes;

  fprintf(cases, "message %lu %llu %llu %d %d %d %llu %d %llu\npositions", (unsigned long)found->layer, (unsigned long long)c->rows, (unsigned long long)c->columns, found->kind, found->indices, found->values, (unsigned long long)found->count,
          found->parameter, (unsigned long long)(c->layout.seed > 0 ? c->seed : 0));
  for (uint64_t k = 0; k < c->layout.positions; k++) fprintf(cases, " %llu", (unsigned long long)c->positions[k]);
  fprintf(cases, "\nentries");
  for (uint64_t k = 0; k < entries; k++) fprintf(cases, " %llu", (unsigned long long)c->entries[k]);
  fprintf(cases, "\nvalues");
  for (uint64_t k = 0; k < c->layout.values; k++) fprintf(cases, " %a", c->values[k]);
  fprintf(cases, "\n");
}

static void WriteAll(const char folder[])
{
  FILE *cases = Open(folder, "cases", ".txt"), *mutations = Open(folder, "mutations", ".bin");

  for (unsigned which = 0; which < CORPUS_PACKETS; which++) {
    CorpusPacket   from;
    unsigned char *packet, *group;
    FILE          *file;
    size_t         length, parts;

    CorpusPacketCreate(&from, which);
    packet = from.packet;
    length = from.length;
    file   = Open(folder, from.name, ".packet");
    Write(file, packet, length);
    Close(file);
    parts = length - MUON_WIRE_PACKET_HEADER;
    group = (unsigned char *)Allocate(MUON_WIRE_MESSAGE_HEADER_MOST + parts);
    memcpy(group + MUON_WIRE_MESSAGE_HEADER_MOST, packet + MUON_WIRE_PACKET_HEADER, parts);
    file = Open(folder, from.name, ".group");
    Write(file, group, (size_t)MuonWireGroupClose(GROUP, from.messages, parts, group));
    Close(file);

    fprintf(cases, "packet %s %d %lu %lu %lu %llu %lu\n", from.name, CorpusKinds[which].shortest, (unsigned long)from.who.sender, (unsigned long)from.who.direction, (unsigned long)from.who.status, (unsigned long long)from.who.step,
            (unsigned long)from.messages);
    for (uint32_t i = 0; i < from.messages; i++) {
      MuonWireMessage found;

      Check(MuonWireMessageRead(packet + from.at[i], length - from.at[i], &found) == MUON_WIRE_OK, "%s, message %d", from.name, (int)i);
      Say(cases, &from.content[i], &found);
    }

    /* Flips in the smallest packets and, one in 61, in all; now and then with the checksum that came, else with one that fits */
    for (size_t bit = 0; bit < 8 * length && which != CORPUS_LONG; bit += length < 200 ? 1 : 61) {
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ 1 << bit % 8);
      if (bit % 5 == 0) Mutation(mutations, packet, length, &from, which);
      if (bit / 8 < 32 || bit / 8 >= 36) {
        Rectify(packet, length);
        Mutation(mutations, packet, length, &from, which);
      }
      packet[bit / 8] = (unsigned char)(packet[bit / 8] ^ 1 << bit % 8);
      Rectify(packet, length);
    }
    for (size_t cut = 0; cut < length && which != CORPUS_LONG; cut += 1 + length / 40) Mutation(mutations, packet, cut, &from, which);
    FreeFrom(0);
  }
  Close(cases);
  Close(mutations);
}

/* A line: width 0 for gaps, else that of coded codes, and WHOLE for a packet with one message of the layer F20C3F36 from sender 3 in step 7, rows or entries, columns or count, bytes */
#define WHOLE 99

static void Bad(const char name[], unsigned width, uint64_t rows, uint64_t columns, const unsigned char *bytes, size_t length)
{
  const uint64_t most = width == WHOLE ? 0 : width > 0 ? (width * columns + 7) / 8 : MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, rows, columns);
  unsigned char *to   = (unsigned char *)Allocate((size_t)most);
  CorpusPacket   expected;

  memset(&expected, 0, sizeof(expected));
  expected.who.sender              = 3;
  expected.who.step                = 7;
  expected.messages                = 1;
  expected.content[0].header.layer = 0xF20C3F36u;
  expected.content[0].rows         = rows;
  expected.content[0].columns      = columns;
  for (int wide = 0; wide < 2; wide++) {
    uint64_t       used = length;
    MuonWireResult result;

    MuonWireSetWide(wide);
    if (width == WHOLE) result = PacketCheck(bytes, length, &expected);
    else result = width > 0 ? MuonWireCodedDecode(width, columns, bytes, length, &used, to) : MuonWireGapsDecode(rows, columns, bytes, length, &used, MUON_WIRE_INDICES_BITMAP, to);
    Check(result == MUON_WIRE_CORRUPT || used != length, "%s", name);
  }
}

static int ReadAll(const char path[])
{
  static char        text[MOST_TEXT], name[256];
  unsigned long long rows, columns;
  unsigned           width, byte;
  int                lines = 0;
  FILE              *file  = fopen(path, "r");

  Check(file != NULL, "%s cannot be read", path);
  for (; fscanf(file, "%255s %u %llu %llu %1048575s", name, &width, &rows, &columns, text) == 5; lines++) {
    const size_t   length = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
    unsigned char *bytes  = (unsigned char *)Allocate(length);

    for (size_t i = 0; i < length; i++) {
      Check(sscanf(text + 2 * i, "%2x", &byte) == 1, "no hexadecimal");
      bytes[i] = (unsigned char)byte;
    }
    Bad(name, width, (uint64_t)rows, (uint64_t)columns, bytes, length);
    FreeFrom(0);
  }
  Check(feof(file), "a line of %s is none", path);
  fclose(file);
  return lines;
}

int main(int argc, char **argv)
{
  const char *folder = NULL;

  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], "-oracle_dir") == 0) folder = argv[i + 1];
  }
  if (argc == 3 && strcmp(argv[1], "-wrong") == 0) printf("%d refused\n", ReadAll(argv[2]));
  else {
    Check(folder != NULL, "-oracle_dir is missing");
    WriteAll(folder);
  }
  return 0;
}

/*TEST

  testset:
    nsize: 0
    link: internal
    timeoutfactor: 3

    table: suffix | oracle
              | wire.py
      wrong   | wire.py --wrong ${BUILD}/tests/wire_oracle

TEST*/
