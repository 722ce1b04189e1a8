/*
   The parts of the format one by one: sizes of messages, headers of packets, the checksum.
*/
#include "wire/muonwirecrc.h"
#include "wire_corpus.h"

#define NO_MESSAGE UINT64_MAX
#define NONE       UINT64_MAX

static uint64_t Whole(uint64_t bits)
{
  return bits / 8 + (bits % 8 > 0);
}

/* Bytes of the number of the last entry, found by dividing it away */
static uint64_t WidthOf(uint64_t entries)
{
  uint64_t width = 0;

  for (uint64_t last = entries > 0 ? entries - 1 : 0; last > 0; last /= 256) width++;
  return width > 0 ? width : 1;
}

static uint64_t BytesOf(unsigned values, uint64_t numbers)
{
  static const uint64_t bits[4] = {64, 32, 16, 9};

  return values == MUON_WIRE_VALUES_TWOBIT ? Whole(2 * numbers) + 4 * Whole(8 * ((numbers + 63) / 64)) : Whole(bits[values] * numbers);
}

/* Whether there are blocks, or planes of votes, of that parameter, and values in that codec, in a form of that kind */
static int IsChosen(const MuonWireMessage *header)
{
  const unsigned bits = header->parameter % 16, blocks = bits >= 2 && bits <= 8 && header->parameter <= 16 * 13;

  if (header->kind == MUON_WIRE_VOTES) return header->parameter >= 1 && header->parameter <= 32 && header->values == 0;
  if (header->kind == MUON_WIRE_BLOCKS ? !blocks : header->parameter > 0) return 0;
  return header->values <= MUON_WIRE_VALUES_NATURAL || (header->values == MUON_WIRE_VALUES_TWOBIT && header->kind == MUON_WIRE_SPARSE);
}

/* The bytes of a plain payload by the rules of src/wire/README.md, of what does not overflow; *positions: the codec that it must have */
static uint64_t Expected(const MuonWireMessage *header, uint64_t m, uint64_t n, unsigned *positions)
{
  const uint64_t count = header->count, all = m * n, shared = count > 0, shorter = m < n ? m : n, blocks = header->parameter, block = (uint64_t)16 << blocks / 16;
  const struct {
    int      whole;  /* all or nothing of what there is at most */
    uint64_t most;   /* the count */
    uint64_t kept;   /* what the positions number */
    uint64_t length; /* of a line whose entries are codes */
    uint64_t values[3];
  } forms[14]    = {{1, all, NONE, NONE, {count}},
                    {0, all, all, NONE, {count}},
                    {0, shorter, NONE, NONE, {count * m, count * n}},
                    {1, all, NONE, 1, {shared}},
                    {0, shorter, NONE, NONE, {count, count * m, count * n}},
                    {0, m, count < m ? m : NONE, n, {shared}},
                    {0, n, count < n ? n : NONE, m, {shared}},
                    {0, n, n, NONE, {count, count * m}},
                    {0, all, NONE, NONE, {count}},
                    {0, n, n, NONE, {count * m}},
                    {0, m, m, NONE, {count * n}},
                    {1, all, NONE, (uint64_t)1 << (blocks + 15) % 16, {(count + block - 1) / block}},
                    {0, 0, NONE, NONE, {0}},
                    {1, all, NONE, 1, {0}}};
  uint64_t width = 1, bytes = header->kind == MUON_WIRE_SEEDED ? 8 : 0, bitmap, raw;

  *positions = MUON_WIRE_INDICES_NONE;
  if (header->kind >= 14 || header->kind == MUON_WIRE_GROUP || !IsChosen(header) || count > forms[header->kind].most) return NO_MESSAGE;
  if (forms[header->kind].whole && count < all && (count > 0 || header->kind == MUON_WIRE_VOTES)) return NO_MESSAGE;
  if (forms[header->kind].kept != NONE) {
    bitmap     = Whole(forms[header->kind].kept);
    raw        = count * WidthOf(forms[header->kind].kept);
    *positions = raw < bitmap ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_BITMAP;
    bytes += raw < bitmap ? raw : bitmap;
  }
  if (*positions != header->indices) return NO_MESSAGE;
  while (forms[header->kind].length != NONE && (uint64_t)1 << (width - 1) < forms[header->kind].length) width++;
  if (forms[header->kind].length != NONE) bytes += (header->kind == MUON_WIRE_VOTES ? header->parameter : 1) * Whole(width * count);
  for (unsigned s = 0; s < 3; s++) bytes += BytesOf(header->values, forms[header->kind].values[s]);
  return bytes;
}

/* Every codec of positions and of values, those that there are not, too */
static void CheckLayouts(unsigned form, uint64_t rows, uint64_t columns, uint64_t count, int refused)
{
  const double    m = (double)rows, n = (double)columns, k = (double)count;
  MuonWireMessage header;
  MuonWireLayout  layout;
  unsigned        positions = 0;

  memset(&header, 0, sizeof(header));
  header.kind      = (uint8_t)(form & 255);
  header.parameter = (uint8_t)(form >> 8);
  header.count     = count;
  header.bytes     = 77;
  for (unsigned codec = 0; codec < 256; codec += codec < 64 ? 1 : 95) {
    uint64_t       bytes;
    MuonWireResult result;

    header.indices = (uint8_t)(codec % 8 == 7 ? 255 : codec % 8);
    header.values  = (uint8_t)(codec / 8 % 8 == 7 ? codec : codec / 8 % 8);
    bytes          = refused ? NO_MESSAGE : Expected(&header, rows, columns, &positions);
    result         = MuonWireMessageLayout(&header, rows, columns, &layout);
    if (bytes == NO_MESSAGE) {
      Check(result == MUON_WIRE_CORRUPT, "form %u, codecs %d and %d, %g x %g, count %g", form, header.indices, header.values, m, n, k);
      continue;
    }
    Check(result == MUON_WIRE_OK && layout.bytes == bytes, "form %u, codecs %d and %d, %g x %g, count %g", form, header.indices, header.values, m, n, k);
    Check((unsigned)MuonWireKindIndices((MuonWireKind)header.kind, rows, columns, count) == positions, "form %u, %g x %g, count %g", form, m, n, k);
  }
}

static void CheckSizes(void)
{
  static const uint64_t edges[] = {0, 1, 2, 255, 256, 257, 65535, 65536, 65537, (uint64_t)1 << 24, ((uint64_t)1 << 24) + 1, (uint64_t)1 << 32, ((uint64_t)1 << 32) + 1, (uint64_t)1 << 48, ((uint64_t)1 << 48) + 1, (uint64_t)1 << 56};
  /* 12 x 50 has 600 entries, hence raw positions of two bytes, places of 6 and 4 bits and signs */
  static const uint64_t shapes[][2] = {{12, 50}, {50, 12}, {7, 3}, {0, 50}, {50, 0}, {300, 1}};
  const uint64_t        most = UINT64_MAX, limit = (uint64_t)1 << 56, word = (uint64_t)1 << 32;
  const struct {
    unsigned form;
    int      refused; /* the largest there may be, and sums and products that do not fit */
    uint64_t rows, columns, count;
  } large[] = {
    /* clang-format off */
    {MUON_WIRE_SIGNS, 0, limit, 1, limit}, {MUON_WIRE_BLOCKS | 8 << 8, 0, limit, 1, limit}, {MUON_WIRE_DENSE, 0, limit, 1, limit},
    {MUON_WIRE_SPARSE, 0, limit / 2, 2, limit}, {MUON_WIRE_LOWRANK, 0, limit >> 28, limit >> 28, limit >> 28},
    {MUON_WIRE_TRIPLES, 0, limit >> 28, limit >> 28, limit >> 28}, {MUON_WIRE_PERROW, 0, limit, 1, limit}, {MUON_WIRE_PERROW, 0, 1, limit, 1},
    {MUON_WIRE_COLUMNS, 0, 1, limit, limit}, {MUON_WIRE_SEEDED, 1, 12, 50, most}, {MUON_WIRE_COLUMNS, 1, 12, 50, most},
    {MUON_WIRE_PERROW, 1, limit + 1, 0, limit + 1}, {MUON_WIRE_COLUMNS, 1, 0, limit + 1, 1}, {MUON_WIRE_TRIPLES, 1, most, most, most},
    {MUON_WIRE_DENSE, 1, limit, 2, 2 * limit}, {MUON_WIRE_DENSE, 1, limit + 1, 1, limit + 1}, {MUON_WIRE_DENSE, 1, 1, limit + 1, limit + 1},
    {MUON_WIRE_DENSE, 1, word, word, 0}, {MUON_WIRE_SPARSE, 1, word, word, 0}, {MUON_WIRE_SPARSE, 1, most, most, 1},
    {MUON_WIRE_SPARSE, 1, 12, 50, most}, {MUON_WIRE_SPARSE, 1, 12, 50, word << 31}, {MUON_WIRE_LOWRANK, 1, 12, 50, most},
    {MUON_WIRE_LOWRANK, 1, most, most, most}, {MUON_WIRE_LOWRANK, 1, 0, most, 0}, {MUON_WIRE_LOWRANK, 1, most, 0, 0}
    /* clang-format on */
  };

  for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_RAW, edges[i], 10) == 10 * WidthOf(edges[i]), "entries %g", (double)edges[i]);
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, edges[i], 10) == Whole(edges[i]), "entries %g", (double)edges[i]);
    Check(MuonWireIndicesBytes(MUON_WIRE_INDICES_NONE, edges[i], 10) == 0, "entries %g", (double)edges[i]);
  }
  for (uint64_t entries = 0; entries < 700; entries++) {
    for (uint64_t count = 0; count <= entries; count++) {
      const MuonWireIndices shorter = count * WidthOf(entries) < Whole(entries) ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_BITMAP;

      Check(MuonWireChooseIndices(entries, count) == shorter, "entries %d, count %d", (int)entries, (int)count);
    }
  }
  for (unsigned form = 0; form < 256; form++) {
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
      for (uint64_t count = 0; count < 602; count += form < 16 || count > 598 ? 1 : 599) CheckLayouts(form, shapes[s][0], shapes[s][1], count, 0);
    }
  }
  for (unsigned parameter = 0; parameter < 256; parameter++) {
    const unsigned width = parameter % 16, lengthlog = 4 + parameter / 16, right = width >= 2 && width <= 8 && lengthlog <= 16;
    unsigned       back[2] = {0, 0};

    Check((MuonWireBlocksOfParameter((uint8_t)parameter, &back[0], &back[1]) == MUON_WIRE_OK) == (right != 0), "parameter %u", parameter);
    Check(!right || (back[0] == width && back[1] == lengthlog && MuonWireBlocksParameter(width, lengthlog) == parameter), "parameter %u", parameter);
    for (unsigned form = 0; form < 16; form++) {
      for (uint64_t count = 0; count < 602; count += count == 0 ? 599 : 1) CheckLayouts(form | parameter << 8, 12, 50, count, 0);
    }
  }
  Check(MuonWireBlocksParameter(1, 4) == 0 && MuonWireBlocksParameter(9, 4) == 0, "no such bits");
  Check(MuonWireBlocksParameter(2, 3) == 0 && MuonWireBlocksParameter(2, 17) == 0, "no such length");
  for (size_t k = 0; k < sizeof(large) / sizeof(large[0]); k++) {
    CheckLayouts(large[k].form, large[k].rows, large[k].columns, large[k].count, large[k].refused);
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
}

/* The header of a packet, byte for byte, and the header that a receiver does not want */
static void CheckPacket(void)
{
  CorpusPacket    from;
  MuonWirePacket *who = &from.who, header, other;
  unsigned char   bytes[36], *packet;
  size_t          length;
  uint64_t        state = 5;

  memset(&from, 0, sizeof(from));
  who->sender    = 0x01020304u;
  who->direction = 1;
  who->step      = UINT64_C(0x1122334455667788);
  ContentRandom(&from.content[0], 17, 4, 6, MUON_WIRE_SPARSE, MUON_WIRE_VALUES_NATURAL, 5, &state);
  ContentRandom(&from.content[1], 18, 4, 6, MUON_WIRE_LOWRANK, MUON_WIRE_VALUES_SINGLE, 2, &state);
  from.messages = 2;
  PacketWrite(&from, 0);
  packet = from.packet;
  length = from.length;
  /* bitmap 3, codes 45 bits: 6; P and Q 2 (4 + 6) values of 4 bytes */
  Check(length == 36 + 8 + 9 + 8 + 80, "%d bytes", (int)length);

  memcpy(bytes, "PMW1\3\0\1\0\4\3\2\1\2\0\0\0\210\167\146\125\104\063\042\021\151\0\0\0\0\0\0\0", 32);
  Put(bytes + 32, 4, MuonWireCRC32C(MuonWireCRC32C(0, bytes, 32), packet + 36, length - 36));
  Check(memcmp(packet, bytes, 36) == 0, "the header is not the format's");

  Check(MuonWirePacketOpen(packet, length, who, &header) == MUON_WIRE_OK, "a good packet");
  Check(header.sender == who->sender && header.direction == 1 && header.status == 0 && header.messages == 2 && header.step == who->step && header.bytes == length - 36, "the header");
  Check(PacketCheck(packet, length, &from) == MUON_WIRE_OK, "the messages");

  for (int field = 0; field < 4; field++) {
    other = *who;
    if (field == 0) other.sender++;
    if (field == 1) other.direction = 0;
    if (field == 2) other.step++;
    if (field == 3) other.step &= 0xFFFFFFFFu;
    PacketRefused(packet, length, &other, "another sender, direction or step");
  }

  /* A minor version is no reason to refuse */
  packet[5] = 9;
  Rectify(packet, length);
  Check(PacketCheck(packet, length, &from) == MUON_WIRE_OK, "a minor version");
  packet[5] = 0;
  Rectify(packet, length);
  for (unsigned major = 0; major < 256; major++) {
    if (major != 3) PacketRefusedWith(packet, length, who, 4, 1, major, "a major version");
  }
  for (unsigned b = 0; b < 8; b++) PacketRefusedWith(packet, length, who, 7, 1, (uint64_t)1 << b, "a status with messages");
  PacketRefused(packet, 0, who, "nothing");
  Check(PacketCheck(packet, length, &from) == MUON_WIRE_OK, "a good packet, unchanged");

  /* Error packets and silence are the header alone */
  from.messages = 0;
  for (uint32_t status = 0; status < 3; status++) {
    who->status = status;
    PacketWrite(&from, 0);
    Check(from.length == 36, "%d bytes", (int)from.length);
    Check(MuonWirePacketOpen(from.packet, 36, who, &header) == MUON_WIRE_OK && header.status == status && header.messages == 0 && header.bytes == 0, "status %d", (int)status);
  }
  FreeFrom(0);
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
}

int main(void)
{
  CheckSizes();
  CheckPacket();
  CheckCRC();
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
