/*
   Sizes: the formulas against counting bits one by one, and everything that is no message.
*/
#include "wire_corpus.h"

static uint64_t Whole(uint64_t bits)
{
  uint64_t bytes = 0;

  while (8 * bytes < bits) bytes++;
  return bytes;
}

/* Bytes of the number of the last entry, found by dividing it away */
static uint64_t WidthOf(uint64_t entries)
{
  uint64_t width = 0;

  for (uint64_t last = entries > 0 ? entries - 1 : 0; last > 0; last /= 256) width++;
  return width > 0 ? width : 1;
}

static uint64_t Payload(unsigned form, unsigned indices, unsigned values, uint64_t rows, uint64_t columns, uint64_t count, MuonWireResult expected)
{
  MuonWireMessage header;
  MuonWireLayout  layout;

  header.layer     = 0;
  header.kind      = (uint8_t)(form & 255);
  header.indices   = (uint8_t)indices;
  header.values    = (uint8_t)values;
  header.parameter = (uint8_t)(form >> 8);
  header.count     = count;
  header.bytes     = 77;
  Check(MuonWireMessageLayout(&header, rows, columns, &layout) == expected, "form %u, codecs %u and %u, %g x %g, count %g", form, indices, values, (double)rows, (double)columns, (double)count);
  return layout.bytes;
}

static void Refused(unsigned form, unsigned indices, unsigned values, uint64_t rows, uint64_t columns, uint64_t count)
{
  (void)Payload(form, indices, values, rows, columns, count, MUON_WIRE_CORRUPT);
}

/*
   Of a bitmap and raw numbers, of so many bytes, the message has the shorter, of equal ones the bitmap;
   returns the bytes of the rest
*/
static uint64_t Positioned(unsigned form, unsigned values, uint64_t rows, uint64_t columns, uint64_t count, uint64_t bitmap, uint64_t raw)
{
  const unsigned indices = raw < bitmap ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_BITMAP;

  for (unsigned other = 0; other < 256; other++) {
    if (other != indices) Refused(form, other, values, rows, columns, count);
  }
  return Payload(form, indices, values, rows, columns, count, MUON_WIRE_OK) - (raw < bitmap ? raw : bitmap);
}

int main(void)
{
  static const uint64_t bits[4] = {64, 32, 16, 9};
  static const uint64_t edges[] = {0, 1, 2, 255, 256, 257, 65535, 65536, 65537, (uint64_t)1 << 24, ((uint64_t)1 << 24) + 1, (uint64_t)1 << 32, ((uint64_t)1 << 32) + 1, (uint64_t)1 << 48, ((uint64_t)1 << 48) + 1, (uint64_t)1 << 56};
  const uint64_t        most = UINT64_MAX, limit = (uint64_t)1 << 56;

  for (unsigned values = 0; values < 4; values++) {
    for (uint64_t count = 0; count < 100; count++) Check(MuonWireValuesBytes((MuonWireValues)values, count) == Whole(bits[values] * count), "codec %u, count %d", values, (int)count);
  }
  for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_RAW, edges[i], 10) == 10 * WidthOf(edges[i]), "entries %g", (double)edges[i]);
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, edges[i], 10) == edges[i] / 8 + (edges[i] % 8 > 0), "entries %g", (double)edges[i]);
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_NONE, edges[i], 10) == 0, "entries %g", (double)edges[i]);
  }
  for (uint64_t entries = 0; entries < 700; entries++) {
    for (uint64_t count = 0; count <= entries; count++) {
      const uint64_t bitmap = Whole(entries), raw = count * WidthOf(entries);

      Check(MuonWireChooseIndices(entries, count) == (raw < bitmap ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_BITMAP), "entries %d, count %d", (int)entries, (int)count);
    }
  }

  /* The codec of the positions that a form gets */
  for (uint64_t count = 0; count <= 300; count++) {
    const MuonWireIndices few = MuonWireChooseIndices(300, count);

    Check(MuonWireKindIndices(MUON_WIRE_SPARSE, 30, 10, count) == few && MuonWireKindIndices(MUON_WIRE_COLUMNS, 2, 300, count) == few, "count %d", (int)count);
    Check(MuonWireKindIndices(MUON_WIRE_PERROW, 300, 2, count) == (count < 300 ? few : MUON_WIRE_INDICES_NONE), "count %d", (int)count);
    Check(MuonWireKindIndices(MUON_WIRE_PERCOLUMN, 2, 300, count) == (count < 300 ? few : MUON_WIRE_INDICES_NONE), "count %d", (int)count);
    Check(MuonWireKindIndices(MUON_WIRE_DENSE, 30, 10, 300) == MUON_WIRE_INDICES_NONE && MuonWireKindIndices(MUON_WIRE_LOWRANK, 300, 300, count) == MUON_WIRE_INDICES_NONE, "count %d", (int)count);
    Check(MuonWireKindIndices(MUON_WIRE_WHOLEROWS, 300, 2, count) == few && MuonWireKindIndices(MUON_WIRE_WHOLECOLUMNS, 2, 300, count) == few, "count %d", (int)count);
    Check(MuonWireKindIndices(MUON_WIRE_TRIPLES, 300, 300, count) == MUON_WIRE_INDICES_NONE, "count %d", (int)count);
  }

  /* Whole payloads: 12 x 50 has 600 entries, hence raw indices of two bytes */
  for (unsigned values = 0; values < 4; values++) {
    Check(Payload(MUON_WIRE_DENSE, 0, values, 12, 50, 600, MUON_WIRE_OK) == Whole(600 * bits[values]), "codec %u", values);
    for (uint64_t count = 0; count <= 600; count++) Check(Positioned(MUON_WIRE_SPARSE, values, 12, 50, count, 75, 2 * count) == Whole(count * bits[values]), "codec %u", values);
    for (uint64_t rank = 0; rank <= 12; rank++) Check(Payload(MUON_WIRE_LOWRANK, 0, values, 12, 50, rank, MUON_WIRE_OK) == Whole(12 * rank * bits[values]) + Whole(50 * rank * bits[values]), "codec %u", values);
    Refused(MUON_WIRE_DENSE, 0, values, 12, 50, 599);
    Refused(MUON_WIRE_DENSE, 0, values, 12, 50, 601);
    Refused(MUON_WIRE_SPARSE, 1, values, 12, 50, 601);
    Refused(MUON_WIRE_SPARSE, 2, values, 12, 50, 601);
    Refused(MUON_WIRE_LOWRANK, 0, values, 12, 50, 13);
    Refused(MUON_WIRE_LOWRANK, 0, values, 50, 12, 13);
    for (unsigned indices = 1; indices < 256; indices++) {
      Refused(MUON_WIRE_DENSE, indices, values, 12, 50, 600);
      Refused(MUON_WIRE_LOWRANK, indices, values, 12, 50, 3);
    }
    for (unsigned form = MUON_WIRE_BLOCKS + 1; form < 256; form++) Refused(form, 0, values, 12, 50, 0);

    /*
       The forms of steps: places of 50 columns take 6 bits and the sign one, those of 12 rows 4 and one;
       positions go with the lines that are missing only
    */
    for (uint64_t rank = 0; rank <= 12; rank++) Check(Payload(MUON_WIRE_TRIPLES, 0, values, 12, 50, rank, MUON_WIRE_OK) == Whole(rank * bits[values]) + Whole(12 * rank * bits[values]) + Whole(50 * rank * bits[values]), "codec %u", values);
    for (uint64_t count = 0; count <= 50; count++) {
      const uint64_t value = count > 0 ? Whole(bits[values]) : 0;

      if (count < 12) Check(Positioned(MUON_WIRE_PERROW, values, 12, 50, count, 2, count) == Whole(7 * count) + value, "codec %u", values);
      if (count < 50) Check(Positioned(MUON_WIRE_PERCOLUMN, values, 12, 50, count, 7, count) == Whole(5 * count) + value, "codec %u", values);
      Check(Positioned(MUON_WIRE_COLUMNS, values, 12, 50, count, 7, count) == Whole(count * bits[values]) + Whole(12 * count * bits[values]), "codec %u", values);
    }
    Check(Payload(MUON_WIRE_PERROW, 0, values, 12, 50, 12, MUON_WIRE_OK) == 11 + Whole(bits[values]), "codec %u", values);
    Check(Payload(MUON_WIRE_PERCOLUMN, 0, values, 12, 50, 50, MUON_WIRE_OK) == 32 + Whole(bits[values]), "codec %u", values);
    Refused(MUON_WIRE_TRIPLES, 0, values, 12, 50, 13);
    Refused(MUON_WIRE_TRIPLES, 1, values, 12, 50, 3);
    for (unsigned indices = 0; indices < 256; indices++) {
      Refused(MUON_WIRE_PERROW, indices, values, 12, 50, 13);
      Refused(MUON_WIRE_PERCOLUMN, indices, values, 12, 50, 51);
      Refused(MUON_WIRE_COLUMNS, indices, values, 12, 50, 51);
      Refused(MUON_WIRE_COLUMNS, indices, values, 12, 50, most);
      if (indices == 0) continue;
      Refused(MUON_WIRE_PERROW, indices, values, 12, 50, 12);
      Refused(MUON_WIRE_PERCOLUMN, indices, values, 12, 50, 50);
    }

    /* Everything or nothing; a seed of 8 bytes; lines that are whole; blocks of 2^4 to 2^16 */
    Check(Payload(MUON_WIRE_DENSE, 0, values, 12, 50, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_SIGNS, 0, values, 12, 50, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_SIGNS, 0, values, 12, 50, 600, MUON_WIRE_OK) == 75 + Whole(bits[values]), "codec %u", values);
    Check(Payload(MUON_WIRE_SIGNS, 0, values, 7, 3, 21, MUON_WIRE_OK) == 3 + Whole(bits[values]), "codec %u", values);
    Refused(MUON_WIRE_SIGNS, 0, values, 12, 50, 599);
    Refused(MUON_WIRE_SIGNS, 0, values, 12, 50, 1);
    Refused(MUON_WIRE_SEEDED, 0, values, 12, 50, 601);
    Refused(MUON_WIRE_SEEDED, 0, values, 12, 50, most);
    for (uint64_t count = 0; count <= 50; count++) {
      Check(Payload(MUON_WIRE_SEEDED, 0, values, 12, 50, count, MUON_WIRE_OK) == 8 + Whole(count * bits[values]), "codec %u", values);
      Check(Positioned(MUON_WIRE_WHOLECOLUMNS, values, 12, 50, count, 7, count) == Whole(12 * count * bits[values]), "codec %u", values);
      Check(Positioned(MUON_WIRE_WHOLEROWS, values, 50, 12, count, 7, count) == Whole(12 * count * bits[values]), "codec %u", values);
    }
    for (unsigned indices = 0; indices < 256; indices++) {
      Refused(MUON_WIRE_WHOLECOLUMNS, indices, values, 12, 50, 51);
      Refused(MUON_WIRE_WHOLEROWS, indices, values, 12, 50, 13);
      if (indices == 0) continue;
      Refused(MUON_WIRE_SIGNS, indices, values, 12, 50, 600);
      Refused(MUON_WIRE_SEEDED, indices, values, 12, 50, 6);
      Refused(MUON_WIRE_BLOCKS | 4 << 8, indices, values, 12, 50, 600);
    }
    for (unsigned parameter = 0; parameter < 256; parameter++) {
      const unsigned width = parameter % 16, lengthlog = 4 + parameter / 16, right = width >= 2 && width <= 8 && lengthlog <= 16;
      unsigned       back[2] = {0, 0};

      Check((MuonWireBlocksOfParameter((uint8_t)parameter, &back[0], &back[1]) == MUON_WIRE_OK) == (right != 0), "parameter %u", parameter);
      Check(!right || (back[0] == width && back[1] == lengthlog && MuonWireBlocksParameter(width, lengthlog) == parameter), "parameter %u", parameter);
      if (parameter > 0) Refused(MUON_WIRE_SIGNS | parameter << 8, 0, values, 12, 50, 600);
      if (!right) Refused(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 600);
      else {
        const uint64_t blocks = (600 >> lengthlog) + (600 % (1u << lengthlog) > 0);

        Check(Payload(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 600, MUON_WIRE_OK) == 75 * width + Whole(blocks * bits[values]), "parameter %u", parameter);
        Check(Payload(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 0, MUON_WIRE_OK) == 0, "parameter %u", parameter);
        Refused(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 599);
      }
    }
    Check(MuonWireBlocksParameter(1, 4) == 0 && MuonWireBlocksParameter(9, 4) == 0 && MuonWireBlocksParameter(2, 3) == 0 && MuonWireBlocksParameter(2, 17) == 0, "no parameter");
    Check(Payload(MUON_WIRE_SIGNS, 0, values, limit, 1, limit, MUON_WIRE_OK) == limit / 8 + Whole(bits[values]), "codec %u", values);
    Check(Payload(MUON_WIRE_BLOCKS | 8 << 8, 0, values, limit, 1, limit, MUON_WIRE_OK) == limit + limit / 128 * bits[values], "codec %u", values);

    /* Empty layers, and the largest there may be */
    Check(Payload(MUON_WIRE_DENSE, 0, values, 0, 50, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_SPARSE, 1, values, 0, 50, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_SPARSE, 1, values, 50, 0, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_LOWRANK, 0, values, 50, 0, 0, MUON_WIRE_OK) == 0, "codec %u", values);
    Check(Payload(MUON_WIRE_DENSE, 0, values, limit, 1, limit, MUON_WIRE_OK) == limit / 8 * bits[values], "codec %u", values);
    Check(Payload(MUON_WIRE_SPARSE, 1, values, limit / 2, 2, limit, MUON_WIRE_OK) == limit / 8 + limit / 8 * bits[values], "codec %u", values);
    Check(Payload(MUON_WIRE_LOWRANK, 0, values, limit >> 28, limit >> 28, limit >> 28, MUON_WIRE_OK) == limit / 4 * bits[values], "codec %u", values);
    Check(Payload(MUON_WIRE_TRIPLES, 0, values, limit >> 28, limit >> 28, limit >> 28, MUON_WIRE_OK) == (limit / 4 + (limit >> 31)) * bits[values], "codec %u", values);
    Check(Payload(MUON_WIRE_PERROW, 0, values, limit, 1, limit, MUON_WIRE_OK) == limit / 8 + Whole(bits[values]), "codec %u", values);
    Check(Payload(MUON_WIRE_PERROW, 0, values, 1, limit, 1, MUON_WIRE_OK) == 8 + Whole(bits[values]), "codec %u", values);
    Check(Payload(MUON_WIRE_COLUMNS, 1, values, 1, limit, limit, MUON_WIRE_OK) == limit / 8 + limit / 4 * bits[values], "codec %u", values);
    Refused(MUON_WIRE_PERROW, 0, values, limit + 1, 0, limit + 1);
    Refused(MUON_WIRE_COLUMNS, 2, values, 0, limit + 1, 1);
    Refused(MUON_WIRE_TRIPLES, 0, values, most, most, most);
    Refused(MUON_WIRE_DENSE, 0, values, limit, 2, 2 * limit);
    Refused(MUON_WIRE_DENSE, 0, values, limit + 1, 1, limit + 1);
    Refused(MUON_WIRE_DENSE, 0, values, 1, limit + 1, limit + 1);
    Refused(MUON_WIRE_DENSE, 0, values, (uint64_t)1 << 32, (uint64_t)1 << 32, 0);
    Refused(MUON_WIRE_SPARSE, 2, values, (uint64_t)1 << 32, (uint64_t)1 << 32, 0);
    Refused(MUON_WIRE_SPARSE, 1, values, most, most, 1);
    Refused(MUON_WIRE_SPARSE, 1, values, 12, 50, most);
    Refused(MUON_WIRE_SPARSE, 2, values, 12, 50, (uint64_t)1 << 63);
    Refused(MUON_WIRE_LOWRANK, 0, values, 12, 50, most);
    Refused(MUON_WIRE_LOWRANK, 0, values, most, most, most);
    Refused(MUON_WIRE_LOWRANK, 0, values, 0, most, 0);
    Refused(MUON_WIRE_LOWRANK, 0, values, most, 0, 0);
    Refused(MUON_WIRE_DENSE, 0, values, 0, 50, 50);
  }
  for (unsigned values = 4; values < 256; values++) {
    Refused(MUON_WIRE_DENSE, 0, values, 12, 50, 600);
    Refused(MUON_WIRE_SPARSE, 1, values, 12, 50, 10);
    Refused(MUON_WIRE_LOWRANK, 0, values, 12, 50, 3);
  }
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
