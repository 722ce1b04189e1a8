/*
   The parts of the format one by one: sizes of messages, headers of packets, the checksum. Messages of every form, codec and awkward size come
   back as they were; codes of every width lie where the format says. What else lies where is for tests/oracle/wire.py to say. How near to their
   entropy the shortest messages are; and damaged sections of codes, of which the same is said with vectors, where the processor has them, and without.
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
  /* A state of the register uses one entry in 256 of the tables that join the three strides: enough states to meet all of them */
  for (size_t i = 0; i < 2500; i++) {
    const uint32_t crc = (uint32_t)NextBits(&state);

    CheckAll(crc, data, 3072, MuonWireCRC32CTable(crc, data, 3072));
  }
  for (size_t i = 0; i < 200; i++) {
    const size_t cut = (size_t)(NextBits(&state) % (most + 1));

    CheckAll(MuonWireCRC32C(0, data, cut), data + cut, most - cut, MuonWireCRC32C(0, data, most));
  }
}

/* width bits at bit first of a stream, one by one */
static uint64_t BitsAt(const unsigned char *from, uint64_t first, unsigned width)
{
  uint64_t field = 0;

  for (unsigned b = 0; b < width; b++) field |= (uint64_t)(from[(first + b) / 8] >> (first + b) % 8 & 1) << b;
  return field;
}

static void RoundTrip(uint64_t rows, uint64_t columns, unsigned form, unsigned values, uint64_t count, uint64_t *state)
{
  const size_t     here = allocations;
  Content          content, back;
  MuonWireMessage *header = &content.header;
  unsigned char   *message;
  size_t           length;

  ContentRandom(&content, (uint32_t)NextBits(state), rows, columns, form, values, count, state);
  length  = (size_t)MuonWireMessageBytes(header);
  message = (unsigned char *)Allocate(length + 8);
  memset(message, 0xA5, length + 8);
  Check(ContentEncode(&content, message) == length, "form %u, values %u: %d bytes", form, values, (int)length);
  for (unsigned i = 0; i < 8; i++) Check(message[length + i] == 0xA5, "byte %u behind the message was written", i);
  Check(ContentDecode(&back, message, length, header->layer, rows, columns) == MUON_WIRE_OK && ContentEqual(&content, &back), "form %u, values %u, %d of %d x %d", form, values, (int)count, (int)rows, (int)columns);
  Check(CheckMessage(message, length, header->layer, rows, columns) == MUON_WIRE_OK, "form %u, values %u", form, values);
  Check(ContentDecode(&back, message, length, header->layer ^ 1, rows, columns) == MUON_WIRE_CORRUPT, "another layer");
  Check(ContentDecode(&back, message, length - 1, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "a byte less");
  Check(ContentDecode(&back, message, length + 1, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "a byte more");
  /* The same with the codec of the positions that is longer */
  if (header->indices != MUON_WIRE_INDICES_NONE) {
    header->bytes -= MuonWireIndicesBytes((MuonWireIndices)header->indices, content.layout.numbered, count);
    header->indices = (uint8_t)(MUON_WIRE_INDICES_BITMAP + MUON_WIRE_INDICES_RAW - header->indices);
    header->bytes += MuonWireIndicesBytes((MuonWireIndices)header->indices, content.layout.numbered, count);
    length  = (size_t)MuonWireMessageBytes(header);
    message = (unsigned char *)Allocate(length);
    Check(ContentEncode(&content, message) == length && ContentDecode(&back, message, length, header->layer, rows, columns) == MUON_WIRE_CORRUPT, "form %u with codec %d of %d positions", form, header->indices, (int)count);
  }
  FreeFrom(here);
}

/* Every value of the codecs with few of them; those that the format forbids one by one */
static void AllValues(void)
{
  const size_t   here    = allocations;
  unsigned char *section = (unsigned char *)Allocate(131072);
  float         *x       = (float *)Allocate(65536 * sizeof(float));
  uint16_t       codes[512], back[512];
  uint64_t       legal = 0;

  for (unsigned bits = 0; bits < 65536; bits++) {
    const uint32_t word   = (uint32_t)bits << 16;
    const int      finite = (bits >> 7 & 255) != 255;
    float          single;

    memcpy(&single, &word, 4);
    section[0] = (unsigned char)(bits & 255);
    section[1] = (unsigned char)(bits >> 8);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_BF16, 1, section) == (finite ? MUON_WIRE_OK : MUON_WIRE_CORRUPT), "bf16 %04x", bits);
    if (finite) x[legal++] = single;
  }
  Check(legal == 65536 - 256, "%d finite values", (int)legal);
  MuonWireValuesEncode(MUON_WIRE_VALUES_BF16, legal, x, section);
  for (uint64_t i = 0; i < legal; i++) {
    float single;

    MuonWireValuesDecode(MUON_WIRE_VALUES_BF16, 1, section, i, &single);
    Check(memcmp(&single, &x[i], 4) == 0, "bf16 %g", (double)x[i]);
  }
  legal = 0;
  for (unsigned code = 0; code < 512; code++) {
    const int fine = (code & 255) != 255;

    section[0] = (unsigned char)(code & 255);
    section[1] = (unsigned char)(code >> 8);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, 1, section) == (fine ? MUON_WIRE_OK : MUON_WIRE_CORRUPT), "natural code %u", code);
    if (fine) codes[legal++] = (uint16_t)code;
  }
  Check(legal == 510, "%d codes", (int)legal);
  MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, legal, codes, section);
  Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, legal, section) == MUON_WIRE_OK, "all codes");
  for (uint64_t first = 0; first < legal; first += 8) {
    MuonWireValuesDecode(MUON_WIRE_VALUES_NATURAL, legal - first, section, first, back);
    Check(memcmp(back, codes + first, (size_t)(legal - first) * 2) == 0, "codes from %d on", (int)first);
  }
  FreeFrom(here);
}

/* Codes of every width, at every place in a byte, up to the longest line; a place that does not exist at each of them */
static void AllWidths(void)
{
  unsigned char *section = (unsigned char *)Allocate(57 * 200 / 8 + 8), narrow[200], packed[208];
  uint64_t       codes[200], back[200], state = 4;

  for (unsigned power = 0; power <= 56; power++) {
    for (uint64_t length = ((uint64_t)1 << power) - (power > 1); length <= ((uint64_t)1 << power) + 1 && length <= (uint64_t)1 << 56; length++) {
      for (uint64_t count = 0; count <= 200; count += count < 40 ? 1 : 40) {
        const size_t bytes = (size_t)MuonWireCodesBytes(MuonWireEntryWidth(length), count);
        unsigned     width = 1;

        while ((uint64_t)1 << (width - 1) < length) width++;
        Check(bytes == (width * count + 7) / 8, "%d bytes for %d codes of %u bits", (int)bytes, (int)count, width);
        for (uint64_t i = 0; i < count; i++) codes[i] = i % 3 == 0 ? 2 * length - 1 : NextBits(&state) % (2 * length);
        memset(section, 0xA5, bytes + 8);
        MuonWireCodesEncode(MuonWireEntryWidth(length), 8, count, codes, section);
        for (unsigned i = 0; i < 8; i++) Check(section[bytes + i] == 0xA5, "byte %u behind the section was written", i);
        for (uint64_t i = 0; i < count; i++) Check(BitsAt(section, width * i, width) == codes[i], "code %d of %u bits", (int)i, width);
        /* The same from codes of a byte each */
        if (width <= 8) {
          for (uint64_t i = 0; i < count; i++) narrow[i] = (unsigned char)codes[i];
          memset(packed, 0xA5, sizeof(packed));
          MuonWireCodesEncode(width, 1, count, narrow, packed);
          Check(memcmp(packed, section, bytes + 8) == 0, "%d codes of %u bits in bytes", (int)count, width);
        }
        for (uint64_t first = 0; width <= 8 && first < count; first += 8) {
          memset(narrow, 0x5A, sizeof(narrow));
          MuonWireCodesDecode(width, 1, count - first, section, first, narrow);
          for (uint64_t i = 0; i < 200; i++) {
            Check(narrow[i] == (i < count - first ? codes[first + i] : 0x5A), "codes from %d on in bytes", (int)first);
          }
        }
        Check(MuonWireEntriesValidate(length, count, section) == MUON_WIRE_OK, "%d codes of %u bits", (int)count, width);
        for (uint64_t first = 0; first < count; first += 8) {
          MuonWireCodesDecode(MuonWireEntryWidth(length), 8, count - first, section, first, back);
          Check(memcmp(back, codes + first, (size_t)(count - first) * 8) == 0, "codes from %d on", (int)first);
        }
        if (2 * length == (uint64_t)1 << width) continue;
        for (uint64_t i = 0; i < count; i++) {
          const uint64_t code = codes[i];

          codes[i] = 2 * length + i % 2;
          MuonWireCodesEncode(MuonWireEntryWidth(length), 8, count, codes, section);
          Check(MuonWireEntriesValidate(length, count, section) == MUON_WIRE_CORRUPT, "place %d of %d, length %g", (int)i, (int)count, (double)length);
          codes[i] = code;
        }
      }
    }
  }
}

/* One thing wrong at each place of a section that is otherwise right */
static void OneWrong(void)
{
  const size_t               here        = allocations;
  static const unsigned char wrong[4][8] = {{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}, {1, 0, 0x80, 0xFF}, {0x80, 0xFF}, {0}};
  unsigned char             *section     = (unsigned char *)Allocate(8000);
  uint16_t                  *codes       = (uint16_t *)Allocate(1000 * sizeof(uint16_t));

  for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values < MUON_WIRE_VALUES_NATURAL; values++) {
    const size_t width = (size_t)MuonWireValuesBytes((MuonWireValues)values, 1);

    memset(section, 0x3C, 8000);
    Check(MuonWireValuesValidate((MuonWireValues)values, 1000, section) == MUON_WIRE_OK, "codec %u", values);
    for (size_t i = 0; i < 1000; i++) {
      memcpy(section + width * i, wrong[values], width);
      Check(MuonWireValuesValidate((MuonWireValues)values, 1000, section) == MUON_WIRE_CORRUPT, "codec %u, value %d", values, (int)i);
      memset(section + width * i, 0x3C, width);
    }
  }
  memset(codes, 0, 1000 * sizeof(uint16_t));
  for (size_t i = 0; i < 1000; i++) {
    codes[i] = i % 2 == 0 ? 255 : 511;
    MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, 1000, codes, section);
    Check(MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, 1000, section) == MUON_WIRE_CORRUPT, "code %d", (int)i);
    codes[i] = 1;
  }
  /* Right in number, but in the padding */
  for (uint64_t entries = 1; entries < 200; entries++) {
    for (uint64_t k = entries; k < (entries + 7) / 8 * 8; k++) {
      memset(section, 0, 32);
      section[k / 8] = (unsigned char)(1 << k % 8);
      Check(MuonWireIndicesValidate(MUON_WIRE_INDICES_BITMAP, entries, 1, section) == MUON_WIRE_CORRUPT, "bit %d of %d", (int)k, (int)entries);
    }
  }
  FreeFrom(here);
}

/* A mean in the middle of two numbers of bfloat16 goes to the even one, up and down */
static void TwoBitTies(void)
{
  static const uint32_t ties[][2] = {{0x3F808000u, 0x3F80u}, {0x3F818000u, 0x3F82u}, {0x3F808001u, 0x3F81u}, {0x3F817FFFu, 0x3F81u}};

  for (size_t k = 0; k < sizeof(ties) / sizeof(ties[0]); k++) {
    unsigned char section[8] = {0};
    float         x          = FromBits32(ties[k][0]);

    MuonWireValuesEncode(MUON_WIRE_VALUES_TWOBIT, 1, &x, section);
    Check(section[0] + 256u * section[1] == ties[k][1] && section[2] + 256u * section[3] == ties[k][1], "the mean %08x is %02x%02x", ties[k][0], section[1], section[0]);
  }
}

/* Of every form */
static void CheckRoundTrips(void)
{
  static const uint64_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 264, 300}, sizes[] = {0, 1, 2, 7, 63, 64, 65, 1000, 65535, 65536, 65537, 140001};
  const size_t          n     = sizeof(counts) / sizeof(counts[0]);
  uint64_t              state = 3;

  AllValues();
  TwoBitTies();
  OneWrong();
  AllWidths();
  for (unsigned v = 0; v <= MUON_WIRE_VALUES_CODED; v++) {
    const unsigned values = v < MUON_WIRE_VALUES_CODED ? v : CORPUS_RESIDUALS;

    for (size_t k = 0; k < n * n; k++) {
      const uint64_t i = counts[k / n], j = counts[k % n], least = i < j ? i : j, some = j < 20 ? j : 20, three = 1 + k % n % 3, length = 4 + (k / n + k % n) % 7;

      if (j == 0) {
        RoundTrip(i, 1, MUON_WIRE_DENSE, values, i, &state);
        RoundTrip(i, 1, MUON_WIRE_DENSE, values, 0, &state);
      }
      if (j <= i) {
        RoundTrip(1, i, MUON_WIRE_SPARSE, values, j, &state);
        RoundTrip(i, 1, MUON_WIRE_SPARSE, values, j, &state);
      }
      if (i * j < 5000) RoundTrip(i, j, MUON_WIRE_LOWRANK, values, least, &state);
      RoundTrip(i, j, MUON_WIRE_LOWRANK, values, least > 0, &state);
      RoundTrip(i, j, MUON_WIRE_TRIPLES, values, least > 2 ? 2 : least, &state);
      if (j == 0) continue;
      RoundTrip(i, j, MUON_WIRE_PERROW, values, i, &state);
      RoundTrip(j, i, MUON_WIRE_PERCOLUMN, values, i, &state);
      if (i > 0) RoundTrip(i, j, MUON_WIRE_PERROW, values, i - 1, &state);
      RoundTrip(j, i + 2, MUON_WIRE_PERCOLUMN, values, i / 2 + 1, &state);
      RoundTrip(i, j, MUON_WIRE_COLUMNS, values, some, &state);
      RoundTrip(i, j, MUON_WIRE_COLUMNS, values, 1, &state);
      RoundTrip(i, three, MUON_WIRE_SIGNS, values, k % n % 4 == 0 ? 0 : i * three, &state);
      RoundTrip(three, i, CORPUS_BLOCKS(2 + k % n % 7, length), values, k % n % 5 == 4 ? 0 : i * three, &state);
      if (j <= 2 * i) RoundTrip(i, 2, MUON_WIRE_SEEDED, values, j, &state);
      RoundTrip(i, j, MUON_WIRE_WHOLECOLUMNS, values, some, &state);
      RoundTrip(j, i, MUON_WIRE_WHOLEROWS, values, some, &state);
    }
    for (uint64_t i = 0; i < 40; i++) {
      const uint64_t rows = 1 + NextBits(&state) % 300, columns = 1 + NextBits(&state) % 300, count = NextBits(&state) % (rows * columns + 1);

      RoundTrip(rows, columns, MUON_WIRE_SPARSE, values, count, &state);
      RoundTrip(rows, columns, MUON_WIRE_SPARSE, values, count / 16, &state);
      RoundTrip(rows, columns, MUON_WIRE_SPARSE | CORPUS_CROWDED, values, count / 3, &state);
    }
  }
  /* Around the edges of chunks, for every density */
  for (size_t k = 0; k < 3 * sizeof(sizes) / sizeof(sizes[0]); k++) {
    const uint64_t d = sizes[k / 3], kept[] = {0, 1, d / 1000, d / 100, d / 10, d / 5, d / 3, 2 * d / 5, d / 2, d / 2 + 1, 2 * d / 3, 9 * d / 10, d - 1, d};
    const unsigned values[] = {MUON_WIRE_VALUES_BF16, MUON_WIRE_VALUES_NATURAL, CORPUS_RESIDUALS};

    for (size_t c = 0; c < 2 * sizeof(kept) / sizeof(kept[0]); c++) {
      if (kept[c / 2] <= d) RoundTrip(1, d, MUON_WIRE_SPARSE | (c % 2 ? 2 * CORPUS_CROWDED : 0), values[k % 3], kept[c / 2], &state);
    }
  }
}

static double Uniform(uint64_t *state)
{
  return ((double)(NextBits(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double Gaussian(uint64_t *state)
{
  const double radius = sqrt(-2.0 * log(Uniform(state)));

  return radius * cos(6.283185307179586 * Uniform(state));
}

/* The bytes of its shortest form */
static double Shorter(const Content *content)
{
  unsigned char *plain = (unsigned char *)Allocate((size_t)MuonWireMessageBytes(&content->header));
  size_t         bytes = ContentEncode(content, plain);

  (void)Shortest(plain, bytes, 1, 1, content->columns, &bytes);
  return (double)bytes;
}

static double Entropy(const double counts[], unsigned symbols)
{
  double total = 0, bits = 0;

  for (unsigned s = 0; s < symbols; s++) total += counts[s];
  for (unsigned s = 0; s < symbols; s++) bits += counts[s] > 0 ? counts[s] * log2(total / counts[s]) : 0;
  return bits;
}

/* The largest entries of d normally distributed ones, rounded to powers of two; the bytes that are sent, and in *bound the bytes of their entropy */
static double Largest(uint64_t d, double ratio, double *bound, uint64_t *state)
{
  const size_t here      = allocations;
  const int    dense     = ratio == 1;
  double      *values    = (double *)Allocate((size_t)d * sizeof(double));
  uint64_t    *positions = (uint64_t *)Allocate((size_t)d * 8), kept = 0;
  double       signs[512], exponents[256], threshold = 0, above = dense ? 0 : 10, sent;
  Content      content;

  memset(signs, 0, sizeof(signs));
  memset(exponents, 0, sizeof(exponents));
  /* As many as the distribution has above the threshold are kept: by bisection of erfc */
  while (above - threshold > 1e-9) {
    const double middle = 0.5 * (above + threshold);

    if (erfc(middle / sqrt(2.0)) > ratio) threshold = middle;
    else above = middle;
  }
  for (uint64_t k = 0; k < d; k++) {
    const double x = Gaussian(state);
    int          exponent;
    double       part;

    if (fabs(x) < threshold) continue;
    part = 2 * frexp(fabs(x), &exponent) - 1;
    exponent += 126 + (Uniform(state) < part);
    if (exponent < 1) exponent = 1;
    signs[exponent + (x < 0 ? 256 : 0)]++;
    exponents[exponent]++;
    positions[kept] = k;
    values[kept++]  = NaturalValue((unsigned)exponent + (x < 0 ? 256 : 0));
  }
  ContentCreate(&content, 1, 1, d, dense ? MUON_WIRE_DENSE : MUON_WIRE_SPARSE, MUON_WIRE_VALUES_NATURAL, kept);
  memcpy(content.values, values, (size_t)kept * sizeof(double));
  if (!dense) memcpy(content.positions, positions, (size_t)kept * 8);
  sent   = Shorter(&content);
  *bound = Entropy(signs, 512) / 8;
  if (!dense) *bound = ((lgamma((double)d + 1) - lgamma((double)kept + 1) - lgamma((double)(d - kept) + 1)) / log(2.0) + (double)kept + Entropy(exponents, 256)) / 8;
  FreeFrom(here);
  return sent;
}

/*
   Levels of normally distributed numbers of a scale, in blocks of 512: there and back, and near to their
   entropy however many different codes there are
*/
static void Levels(uint64_t d, unsigned bits, uint64_t *state)
{
  const size_t here = allocations;
  const int    top  = (1 << (bits - 1)) - 1;
  Content      content;
  double       counts[512], sent, bound;

  memset(counts, 0, sizeof(counts));
  ContentCreate(&content, 1, 1, d, MUON_WIRE_BLOCKS | (unsigned)MuonWireBlocksParameter(bits, 9) << 8, MUON_WIRE_VALUES_SINGLE, d);
  for (uint64_t i = 0; i < content.layout.values; i++) content.values[i] = 1 + (double)(i % 7);
  for (uint64_t i = 0; i < d; i++) {
    const double x     = 0.3 * top * Gaussian(state);
    const int    level = fabs(x) + 0.5 < top ? (int)(fabs(x) + 0.5) : top;

    content.entries[i] = 2 * (uint64_t)level + (x < 0 && level > 0);
    counts[content.entries[i]]++;
  }
  Check(MuonWireKindIsCoded(MUON_WIRE_BLOCKS, MUON_WIRE_VALUES_SINGLE), "blocks");
  for (unsigned values = 0; values <= MUON_WIRE_VALUES_NATURAL; values++) Check(!MuonWireKindIsCoded(MUON_WIRE_SIGNS, (MuonWireValues)values), "signs of one value");
  sent  = Shorter(&content);
  bound = Entropy(counts, 512) / 8 + 4 * (double)content.layout.values;
  /* A table of 255 codes takes up to 28 bits each, 32 states in place of four 112 bytes */
  Check(sent <= 1.01 * bound + 40 + 4 * pow(2, bits) + (d < 32768 ? 0 : 112 * ceil((double)d / 65536)), "%u bits, %d levels: %g bytes, the entropy is %g", bits, (int)d, sent, bound);
  Check(d < 65536 || sent < (double)MuonWireMessageBytes(&content.header), "%u bits: nothing gained", bits);
  FreeFrom(here);
}

/* What both ways say of a section of coded codes, which is the same */
static MuonWireResult Both(unsigned width, uint64_t count, const unsigned char *section, uint64_t room, unsigned char *to)
{
  const uint64_t size  = (width * count + 7) / 8;
  unsigned char *other = (unsigned char *)Allocate((size_t)size);
  uint64_t       used = 0, used2 = 0;
  MuonWireResult result;

  MuonWireSetWide(0);
  result = MuonWireCodedDecode(width, count, section, room, &used, other);
  MuonWireSetWide(1);
  Check(MuonWireCodedDecode(width, count, section, room, &used2, to) == result, "one way refuses what the other takes");
  Check(result != MUON_WIRE_OK || (used == used2 && memcmp(to, other, (size_t)size) == 0), "two ways, two results");
  FreeFrom(allocations - 1);
  return result;
}

/*
   Long chunks of codes in a range of so many: damaged at random, cut short, and with the codes of its table in another order, which no
   sender writes and no receiver looks at
*/
static void Damage(unsigned width, unsigned range, uint64_t *state)
{
  const size_t   here  = allocations;
  const uint64_t count = 33000, size = (width * count + 7) / 8;
  uint16_t      *codes  = (uint16_t *)Allocate((size_t)count * 2);
  unsigned char *packed = (unsigned char *)Allocate((size_t)size), *coded = (unsigned char *)Allocate((size_t)size), *to = (unsigned char *)Allocate((size_t)size);
  uint64_t       bytes;
  int            taken = 0;

  for (uint64_t k = 0; k < count; k++) {
    const uint64_t r = NextBits(state), sign = width == 9 ? r >> 32 & 256 : 0, code = r % range % (1 + (r >> 16) % range);

    codes[k] = (uint16_t)(code == 0 ? 0 : sign | (code + (width == 9 ? 100 : 0)));
  }
  MuonWireCodesEncode(width, 2, count, codes, packed);
  bytes = MuonWireCodedEncode(width, count, packed, size, coded);
  Check(bytes < size && Both(width, count, coded, bytes, to) == MUON_WIRE_OK && memcmp(to, packed, (size_t)size) == 0, "%u codes of %u bits", range, width);
  for (int k = 0; k < 200; k++) {
    const uint64_t bit = NextBits(state) % (8 * (k % 2 == 0 ? 100 : bytes));

    coded[bit / 8] = (unsigned char)(coded[bit / 8] ^ 1 << bit % 8);
    taken += Both(width, count, coded, bytes, to) == MUON_WIRE_OK;
    coded[bit / 8] = (unsigned char)(coded[bit / 8] ^ 1 << bit % 8);
  }
  Check(taken < 100, "%d of 200 damaged sections are taken", taken);
  for (uint64_t less = 1; less < 9; less++) Check(Both(width, count, coded, bytes - less, to) == MUON_WIRE_CORRUPT, "%d bytes less", (int)less);
  FreeFrom(here);
}

/* 1 and -1 in turn: 127 and 383 have half of the frequencies each, and change places */
static void Order(void)
{
  const size_t   here  = allocations;
  const uint64_t count = 40000, size = 9 * count / 8;
  uint16_t      *codes  = (uint16_t *)Allocate((size_t)count * 2);
  unsigned char *packed = (unsigned char *)Allocate((size_t)size), *coded = (unsigned char *)Allocate((size_t)size), *to = (unsigned char *)Allocate((size_t)size);
  uint64_t       bytes;

  for (uint64_t k = 0; k < count; k++) codes[k] = k % 2 == 0 ? 127 : 383;
  MuonWireCodesEncode(9, 2, count, codes, packed);
  bytes = MuonWireCodedEncode(9, count, packed, size, coded);
  /* A length of two bytes, two codes, then 0, code, width 12 and eleven bits for each of them: the bit 8 of both */
  Check(coded[1] < 128 && coded[2] == 2, "a table of two codes");
  for (unsigned k = 0; k < 2; k++) coded[3 + (9 + 25 * k) / 8] = (unsigned char)(coded[3 + (9 + 25 * k) / 8] ^ 1 << (9 + 25 * k) % 8);
  for (uint64_t k = 0; k < count; k++) codes[k] = k % 2 == 0 ? 383 : 127;
  MuonWireCodesEncode(9, 2, count, codes, packed);
  Check(Both(9, count, coded, bytes, to) == MUON_WIRE_OK && memcmp(to, packed, (size_t)size) == 0, "codes that decrease");
  FreeFrom(here);
}

/* What the format is for */
static void CheckCompact(void)
{
  static const uint64_t large[]  = {65536, 200001};
  static const uint64_t small[]  = {100, 1000, 4096, 20000, 65535};
  static const unsigned ranges[] = {1, 2, 4, 20, 32, 33, 70, 120};
  static const double   ratios[] = {0.05, 0.1, 0.15, 0.2, 1};
  uint64_t              state    = 9;
  double                bound, sent;

  for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
      sent = Largest(large[i], ratios[r], &bound, &state);
      Check(sent <= 1.03 * bound, "%g of %d: %g bytes, the entropy is %g", ratios[r], (int)large[i], sent, bound);
      if (ratios[r] == 0.1) Check(sent <= 0.0215 * 4 * (double)large[i], "%g of binary32", sent / (4 * (double)large[i]));
    }
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
      sent = Largest(small[i], ratios[r], &bound, &state);
      /* 32 states in place of four */
      Check(sent <= bound + 160 + (ratios[r] * (double)small[i] < 32768 ? 0 : 112), "%g of %d: %g bytes, the entropy is %g", ratios[r], (int)small[i], sent, bound);
    }
  }
  /* Other densities cost at most 3 percent, too */
  for (double ratio = 0.01; ratio < 0.99; ratio += 0.0731) {
    sent = Largest(65536, ratio, &bound, &state);
    Check(sent <= 1.03 * bound + 60, "%g of 65536: %g bytes, the entropy is %g", ratio, sent, bound);
  }
  for (unsigned bits = 2; bits <= 8; bits++) {
    Levels(513, bits, &state);
    Levels(65536, bits, &state);
    Levels(140001, bits, &state);
  }
  for (unsigned width = 2; width <= 8; width++) Damage(width, 1u << width, &state);
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) Damage(9, ranges[i], &state);
  Order();
}

int main(void)
{
  CheckSizes();
  CheckPacket();
  CheckCRC();
  CheckRoundTrips();
  CheckCompact();
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
