/*
   Writes packets, what they say, and damaged ones with the verdict on them, for tests/oracle/wire.py to agree
   with.
*/
#include "wire_corpus.h"

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

int main(int argc, char **argv)
{
  const char *folder = NULL;
  FILE       *cases, *mutations;

  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], "-oracle_dir") == 0) folder = argv[i + 1];
  }
  Check(folder != NULL, "-oracle_dir is missing");
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
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    oracle: wire.py
    output_file: output/wire_ok.out

TEST*/
