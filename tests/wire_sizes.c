/*
   The parts of the format one by one: sizes of messages, headers of packets, the checksum.
*/
#include "wire/muonwirecrc.h"
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

/* A message that is in order has so many bytes */
static void Takes(unsigned form, unsigned indices, unsigned values, uint64_t rows, uint64_t columns, uint64_t count, uint64_t bytes)
{
  Check(Payload(form, indices, values, rows, columns, count, MUON_WIRE_OK) == bytes, "form %u, codecs %u and %u, %g x %g, count %g", form, indices, values, (double)rows, (double)columns, (double)count);
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

/* The formulas against counting bits one by one, and everything that is no message */
static void CheckSizes(void)
{
  static const uint64_t bits[4] = {64, 32, 16, 9};
  static const uint64_t edges[] = {0, 1, 2, 255, 256, 257, 65535, 65536, 65537, (uint64_t)1 << 24, ((uint64_t)1 << 24) + 1, (uint64_t)1 << 32, ((uint64_t)1 << 32) + 1, (uint64_t)1 << 48, ((uint64_t)1 << 48) + 1, (uint64_t)1 << 56};
  const uint64_t        most = UINT64_MAX, limit = (uint64_t)1 << 56, word = (uint64_t)1 << 32;
  const struct {
    unsigned form, indices;
    uint64_t rows, columns, count;
  } refused[] = {
    /* clang-format off */
    {MUON_WIRE_SIGNS, 0, 12, 50, 599}, {MUON_WIRE_SIGNS, 0, 12, 50, 1}, {MUON_WIRE_SEEDED, 0, 12, 50, 601}, {MUON_WIRE_SEEDED, 0, 12, 50, most},
    {MUON_WIRE_TRIPLES, 0, 12, 50, 13}, {MUON_WIRE_TRIPLES, 1, 12, 50, 3}, {MUON_WIRE_DENSE, 0, 12, 50, 599}, {MUON_WIRE_DENSE, 0, 12, 50, 601},
    {MUON_WIRE_SPARSE, 1, 12, 50, 601}, {MUON_WIRE_SPARSE, 2, 12, 50, 601}, {MUON_WIRE_LOWRANK, 0, 12, 50, 13}, {MUON_WIRE_LOWRANK, 0, 50, 12, 13},
    {MUON_WIRE_PERROW, 0, limit + 1, 0, limit + 1}, {MUON_WIRE_COLUMNS, 2, 0, limit + 1, 1}, {MUON_WIRE_TRIPLES, 0, most, most, most},
    {MUON_WIRE_DENSE, 0, limit, 2, 2 * limit}, {MUON_WIRE_DENSE, 0, limit + 1, 1, limit + 1}, {MUON_WIRE_DENSE, 0, 1, limit + 1, limit + 1},
    {MUON_WIRE_DENSE, 0, word, word, 0}, {MUON_WIRE_SPARSE, 2, word, word, 0}, {MUON_WIRE_SPARSE, 1, most, most, 1},
    {MUON_WIRE_SPARSE, 1, 12, 50, most}, {MUON_WIRE_SPARSE, 2, 12, 50, word << 31}, {MUON_WIRE_LOWRANK, 0, 12, 50, most},
    {MUON_WIRE_LOWRANK, 0, most, most, most}, {MUON_WIRE_LOWRANK, 0, 0, most, 0}, {MUON_WIRE_LOWRANK, 0, most, 0, 0},
    {MUON_WIRE_DENSE, 0, 0, 50, 50}
    /* clang-format on */
  };

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
    Takes(MUON_WIRE_DENSE, 0, values, 12, 50, 600, Whole(600 * bits[values]));
    for (uint64_t count = 0; count <= 600; count++) Check(Positioned(MUON_WIRE_SPARSE, values, 12, 50, count, 75, 2 * count) == Whole(count * bits[values]), "codec %u", values);
    for (uint64_t rank = 0; rank <= 12; rank++) Takes(MUON_WIRE_LOWRANK, 0, values, 12, 50, rank, Whole(12 * rank * bits[values]) + Whole(50 * rank * bits[values]));
    for (unsigned indices = 1; indices < 256; indices++) {
      Refused(MUON_WIRE_DENSE, indices, values, 12, 50, 600);
      Refused(MUON_WIRE_LOWRANK, indices, values, 12, 50, 3);
    }
    for (unsigned form = MUON_WIRE_BLOCKS + 1; form < 256; form++) Refused(form, 0, values, 12, 50, 0);

    /*
       The forms of steps: places of 50 columns take 6 bits and the sign one, those of 12 rows 4 and one;
       positions go with the lines that are missing only
    */
    for (uint64_t rank = 0; rank <= 12; rank++) Takes(MUON_WIRE_TRIPLES, 0, values, 12, 50, rank, Whole(rank * bits[values]) + Whole(12 * rank * bits[values]) + Whole(50 * rank * bits[values]));
    for (uint64_t count = 0; count <= 50; count++) {
      const uint64_t value = count > 0 ? Whole(bits[values]) : 0;

      if (count < 12) Check(Positioned(MUON_WIRE_PERROW, values, 12, 50, count, 2, count) == Whole(7 * count) + value, "codec %u", values);
      if (count < 50) Check(Positioned(MUON_WIRE_PERCOLUMN, values, 12, 50, count, 7, count) == Whole(5 * count) + value, "codec %u", values);
      Check(Positioned(MUON_WIRE_COLUMNS, values, 12, 50, count, 7, count) == Whole(count * bits[values]) + Whole(12 * count * bits[values]), "codec %u", values);
    }
    Takes(MUON_WIRE_PERROW, 0, values, 12, 50, 12, 11 + Whole(bits[values]));
    Takes(MUON_WIRE_PERCOLUMN, 0, values, 12, 50, 50, 32 + Whole(bits[values]));
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
    Takes(MUON_WIRE_DENSE, 0, values, 12, 50, 0, 0);
    Takes(MUON_WIRE_SIGNS, 0, values, 12, 50, 0, 0);
    Takes(MUON_WIRE_SIGNS, 0, values, 12, 50, 600, 75 + Whole(bits[values]));
    Takes(MUON_WIRE_SIGNS, 0, values, 7, 3, 21, 3 + Whole(bits[values]));
    for (uint64_t count = 0; count <= 50; count++) {
      Takes(MUON_WIRE_SEEDED, 0, values, 12, 50, count, 8 + Whole(count * bits[values]));
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

        Takes(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 600, 75 * width + Whole(blocks * bits[values]));
        Takes(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 0, 0);
        Refused(MUON_WIRE_BLOCKS | parameter << 8, 0, values, 12, 50, 599);
      }
    }
    Check(MuonWireBlocksParameter(1, 4) == 0 && MuonWireBlocksParameter(9, 4) == 0 && MuonWireBlocksParameter(2, 3) == 0 && MuonWireBlocksParameter(2, 17) == 0, "no parameter");
    Takes(MUON_WIRE_SIGNS, 0, values, limit, 1, limit, limit / 8 + Whole(bits[values]));
    Takes(MUON_WIRE_BLOCKS | 8 << 8, 0, values, limit, 1, limit, limit + limit / 128 * bits[values]);

    /* Empty layers, and the largest there may be */
    Takes(MUON_WIRE_DENSE, 0, values, 0, 50, 0, 0);
    Takes(MUON_WIRE_SPARSE, 1, values, 0, 50, 0, 0);
    Takes(MUON_WIRE_SPARSE, 1, values, 50, 0, 0, 0);
    Takes(MUON_WIRE_LOWRANK, 0, values, 50, 0, 0, 0);
    Takes(MUON_WIRE_DENSE, 0, values, limit, 1, limit, limit / 8 * bits[values]);
    Takes(MUON_WIRE_SPARSE, 1, values, limit / 2, 2, limit, limit / 8 + limit / 8 * bits[values]);
    Takes(MUON_WIRE_LOWRANK, 0, values, limit >> 28, limit >> 28, limit >> 28, limit / 4 * bits[values]);
    Takes(MUON_WIRE_TRIPLES, 0, values, limit >> 28, limit >> 28, limit >> 28, (limit / 4 + (limit >> 31)) * bits[values]);
    Takes(MUON_WIRE_PERROW, 0, values, limit, 1, limit, limit / 8 + Whole(bits[values]));
    Takes(MUON_WIRE_PERROW, 0, values, 1, limit, 1, 8 + Whole(bits[values]));
    Takes(MUON_WIRE_COLUMNS, 1, values, 1, limit, limit, limit / 8 + limit / 4 * bits[values]);
    for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) Refused(refused[k].form, refused[k].indices, values, refused[k].rows, refused[k].columns, refused[k].count);
  }
  for (unsigned values = 4; values < 256; values++) {
    Refused(MUON_WIRE_DENSE, 0, values, 12, 50, 600);
    Refused(MUON_WIRE_SPARSE, 1, values, 12, 50, 10);
    Refused(MUON_WIRE_LOWRANK, 0, values, 12, 50, 3);
  }
}

static void PacketRefused(unsigned char *packet, size_t length, const MuonWirePacket *expected, const char what[])
{
  MuonWirePacket header, untouched;

  memset(&header, 0x5A, sizeof(header));
  memset(&untouched, 0x5A, sizeof(untouched));
  Check(MuonWirePacketOpen(packet, length, expected, &header) == MUON_WIRE_CORRUPT, "%s", what);
  Check(memcmp(&header, &untouched, sizeof(header)) == 0, "%s: the header was written", what);
}

/* One field is set to a value and back again */
static void PacketRefusedWith(unsigned char *packet, size_t length, const MuonWirePacket *expected, unsigned at, unsigned bytes, uint64_t value, const char what[])
{
  unsigned char *changed = (unsigned char *)Allocate(length);

  memcpy(changed, packet, length);
  Put(changed + at, bytes, value);
  Rectify(changed, length);
  PacketRefused(changed, length, expected, what);
  free(changed);
}

/* The header of a packet, byte for byte, and the header that a receiver does not want */
static void CheckPacket(void)
{
  Content        contents[2];
  MuonWirePacket who, header, other;
  unsigned char  bytes[36], *packet;
  size_t         length;
  uint64_t       state = 5;

  who.sender    = 0x01020304u;
  who.direction = 1;
  who.status    = 0;
  who.messages  = 0;
  who.step      = UINT64_C(0x1122334455667788);
  who.bytes     = 0;
  ContentRandom(&contents[0], 17, 4, 6, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_NATURAL, 5, &state);
  ContentRandom(&contents[1], 18, 4, 6, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 2, &state);
  packet = PacketOf(&who, contents, 2, &length);
  /* bitmap 3, codes 45 bits: 6; P and Q 2 (4 + 6) values of 4 bytes */
  Check(length == 36 + 8 + 9 + 8 + 80, "%d bytes", (int)length);

  memcpy(bytes, "PMW1\3\0\1\0\4\3\2\1\2\0\0\0\210\167\146\125\104\063\042\021\151\0\0\0\0\0\0\0", 32);
  Put(bytes + 32, 4, MuonWireCRC32C(MuonWireCRC32C(0, bytes, 32), packet + 36, length - 36));
  Check(memcmp(packet, bytes, 36) == 0, "the header is not the format's");

  Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "a good packet");
  Check(header.sender == who.sender && header.direction == 1 && header.status == 0 && header.messages == 2 && header.step == who.step && header.bytes == length - 36, "the header");
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "the messages");

  for (int field = 0; field < 4; field++) {
    other = who;
    if (field == 0) other.sender++;
    if (field == 1) other.direction = 0;
    if (field == 2) other.step++;
    if (field == 3) other.step &= 0xFFFFFFFFu;
    PacketRefused(packet, length, &other, "another sender, direction or step");
  }

  /* A minor version is no reason to refuse */
  packet[5] = 9;
  Rectify(packet, length);
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "a minor version");
  packet[5] = 0;
  Rectify(packet, length);
  for (unsigned major = 0; major < 256; major++) {
    if (major != 3) PacketRefusedWith(packet, length, &who, 4, 1, major, "a major version");
  }
  for (unsigned b = 0; b < 8; b++) PacketRefusedWith(packet, length, &who, 7, 1, (uint64_t)1 << b, "a status with messages");
  PacketRefused(packet, 0, &who, "nothing");
  Rectify(packet, length);
  Check(PacketCheck(packet, length, &who, contents, 2) == MUON_WIRE_OK, "a good packet, unchanged");
  free(packet);

  /* Error packets and silence are the header alone */
  for (uint32_t status = 0; status < 3; status++) {
    who.status = status;
    packet     = PacketOf(&who, NULL, 0, &length);
    Check(length == 36, "%d bytes", (int)length);
    Check(MuonWirePacketOpen(packet, length, &who, &header) == MUON_WIRE_OK, "status %d", (int)status);
    Check(header.status == status && header.messages == 0 && header.bytes == 0, "status %d", (int)header.status);
    free(packet);
  }
  ContentFree(&contents[0]);
  ContentFree(&contents[1]);
}

/* One bit at a time: the register holds the remainder of the division by the reflected polynomial */
static uint32_t CRCByDefinition(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint32_t state = ~crc;

  for (size_t i = 0; i < 8 * bytes; i++) {
    const uint32_t bit = (state ^ (uint32_t)data[i / 8] >> i % 8) & 1;

    state = state >> 1 ^ (bit != 0 ? 0x82F63B78u : 0);
  }
  return ~state;
}

static void CheckAll(uint32_t crc, const unsigned char *data, size_t bytes, uint32_t expected)
{
  Check(MuonWireCRC32C(crc, data, bytes) == expected, "%d bytes", (int)bytes);
  Check(MuonWireCRC32CTable(crc, data, bytes) == expected, "%d bytes", (int)bytes);
#if defined(MUON_WIRE_HAVE_SSE42)
  if (__builtin_cpu_supports("sse4.2")) Check(MuonWireCRC32CSSE42(crc, data, bytes) == expected, "%d bytes", (int)bytes);
#endif
}

/* Published vectors, both implementations against the definition, pieces against the whole */
static void CheckCRC(void)
{
  const size_t   most  = 10000;
  uint64_t       state = 1;
  unsigned char *data  = (unsigned char *)Allocate(most), fixed[32];

  /* RFC 3720, B.4, and the check value of the catalogues */
  CheckAll(0, (const unsigned char *)"123456789", 9, 0xE3069283u);
  memset(fixed, 0, 32);
  CheckAll(0, fixed, 32, 0x8A9136AAu);
  memset(fixed, 255, 32);
  CheckAll(0, fixed, 32, 0x62A8AB43u);
  for (unsigned i = 0; i < 32; i++) fixed[i] = (unsigned char)i;
  CheckAll(0, fixed, 32, 0x46DD794Eu);
  for (unsigned i = 0; i < 32; i++) fixed[i] = (unsigned char)(31 - i);
  CheckAll(0, fixed, 32, 0x113FDB5Cu);
  CheckAll(0, fixed, 0, 0);

  for (size_t i = 0; i < most; i++) data[i] = (unsigned char)(NextBits(&state) & 255);
  for (size_t first = 0; first < 9; first++) {
    for (size_t bytes = 0; bytes < 70; bytes++) CheckAll((uint32_t)state, data + first, bytes, CRCByDefinition((uint32_t)state, data + first, bytes));
  }
  for (size_t i = 0; i < 60; i++) {
    const size_t first = i % 8, bytes = 3072 * (i % 3 + 1) - 17 + (size_t)(NextBits(&state) % 33);

    CheckAll((uint32_t)i, data + first, bytes, CRCByDefinition((uint32_t)i, data + first, bytes));
  }
  /*
     A state of the register uses one entry in 256 of the tables that join the three strides: enough states to
     meet all of them
  */
  for (size_t i = 0; i < 2500; i++) {
    const uint32_t crc = (uint32_t)NextBits(&state);

    CheckAll(crc, data, 3072, MuonWireCRC32CTable(crc, data, 3072));
  }
  for (size_t i = 0; i < 200; i++) {
    const size_t cut = (size_t)(NextBits(&state) % (most + 1));

    CheckAll(MuonWireCRC32C(0, data, cut), data + cut, most - cut, MuonWireCRC32C(0, data, most));
  }
  free(data);
}

int main(void)
{
  CheckSizes();
  CheckPacket();
  CheckCRC();
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
