static char help[] = "Forges messages on their way, checksums included: what no compressor writes ends the step as corrupt on every rank, nothing has changed, and the step can be taken again.\n\n";

#include "ways.h"
#include "wire_header.h"
#include <petscmuon/private/muonwire.h>
#include "mpicount.h"

/*
   What is forged in the message of some form, in the packet that comes next from the servers; offsets count
   from the start of the message, from PAYLOAD on from that of its payload, or, if negative, from its end
*/
#define PAYLOAD 100
/* Where the length of the payload stands in the header, behind the count */
#define LENGTH 50
typedef struct {
  const char  *what;
  int          kind, offset;
  size_t       bytes;
  unsigned int keep, put; /* each byte becomes (byte & keep) | put */
} Forgery;

static const Forgery Forgeries[] = {
  {"the layer", MUON_WIRE_TRIPLES, 0, 1, 0xFF, 0x5A},
  {"the kind", MUON_WIRE_TRIPLES, 4, 1, 0, 2},
  {"the codec of the values", MUON_WIRE_COLUMNS, 5, 1, 0, 2},
  {"two triples", MUON_WIRE_TRIPLES, 6, 1, 0, 2},
  {"a row less", MUON_WIRE_PERROW, 6, 1, 0, 5},
  {"a triple of magnitude 0", MUON_WIRE_TRIPLES, PAYLOAD, sizeof(PetscScalar), 0, 0},
  {"a triple that is not finite", MUON_WIRE_TRIPLES, -2, 2, 0, 0xFF},
  {"a place past the end of a row", MUON_WIRE_PERROW, PAYLOAD, 1, 0xF0, 0x0F},
  {"a negative magnitude", MUON_WIRE_PERROW, -1, 1, 0x7F, 0x80},
  {"a place past the end", MUON_WIRE_PERCOLUMN, PAYLOAD, 1, 0, 0x1E},
  {"a column past the end", MUON_WIRE_COLUMNS, PAYLOAD, 1, 0, 0x80},
  {"no column", MUON_WIRE_COLUMNS, PAYLOAD, 1, 0, 0},
  {"an entry past the end", MUON_WIRE_SPARSE, PAYLOAD, 1, 0, 0x1F},
};
#define NFORGERIES ((PetscInt)(sizeof(Forgeries) / sizeof(Forgeries[0])))

/*
   What is made of the lengths and the kinds in the next packet of any type; at counts from the start of the
   packet, or of its first message
*/
typedef enum {
  FLIP,    /* a bit, and the checksums stay: at is a part of 16 of the packet */
  PUT,     /* each byte becomes put */
  ONE,     /* the number becomes 1 */
  LARGEST, /* the number becomes the largest that there is, over what stands behind it */
  OTHER,   /* the byte becomes larger by put */
  SHORTEN, /* the last byte is not there, and no length says that it is */
  LAST     /* nor is the last message */
} DeformationKind;
typedef struct {
  const char     *what;
  DeformationKind kind;
  PetscBool       message;
  size_t          at, bytes;
  unsigned char   put;
} Deformation;

static const Deformation Deformations[] = {
  {"a bit of the packet's header", FLIP, PETSC_FALSE, 1, 1, 0},
  {"a bit in the middle", FLIP, PETSC_FALSE, 8, 1, 0},
  {"a bit of the last byte", FLIP, PETSC_FALSE, 16, 1, 0},
  {"another direction", OTHER, PETSC_FALSE, 6, 1, 1},
  {"a status that is none", PUT, PETSC_FALSE, 7, 1, 0xFF},
  {"no messages", PUT, PETSC_FALSE, 12, 4, 0},
  {"one message", ONE, PETSC_FALSE, 12, 4, 0},
  {"too many messages", PUT, PETSC_FALSE, 12, 4, 0xFF},
  {"length 0 of the packet", PUT, PETSC_FALSE, 24, 8, 0},
  {"length 1 of the packet", ONE, PETSC_FALSE, 24, 8, 0},
  {"the largest length of the packet", PUT, PETSC_FALSE, 24, 8, 0xFF},
  {"another layer", OTHER, PETSC_TRUE, 0, 1, 1},
  {"another form", OTHER, PETSC_TRUE, 4, 1, 1},
  {"another codec of positions", OTHER, PETSC_TRUE, 4, 1, 16},
  {"a codec of values that is none", PUT, PETSC_TRUE, 5, 1, 5},
  {"count 0", PUT, PETSC_TRUE, 6, 1, 0},
  {"count 1", ONE, PETSC_TRUE, 6, 1, 0},
  {"a count of more groups", PUT, PETSC_TRUE, 6, 1, 0xFF},
  {"length 0 of a payload", PUT, PETSC_TRUE, LENGTH, 1, 0},
  {"length 1 of a payload", ONE, PETSC_TRUE, LENGTH, 1, 0},
  {"the largest count", LARGEST, PETSC_TRUE, 6, 9, 0},
  {"the largest length of a payload", LARGEST, PETSC_TRUE, LENGTH, 9, 0},
  {"a length of a payload of more groups", PUT, PETSC_TRUE, LENGTH, 1, 0xFF},
  {"a byte less", SHORTEN, PETSC_FALSE, 0, 0, 0},
  {"a message less", LAST, PETSC_FALSE, 0, 0, 0},
};
#define NDEFORMATIONS ((PetscInt)(sizeof(Deformations) / sizeof(Deformations[0])))

static struct {
  const Forgery     *forgery;     /* NULL: not armed */
  const Deformation *deformation; /* the same */
  unsigned char      direction;
  PetscBool          inside;      /* what is deformed is not the first message, a group, but the first part of it */
  PetscInt           done, opens; /* what was forged, and what of it is still a packet */
  PetscInt           equal;       /* what was so before */
} forge;

static void Put(unsigned char to[], uint32_t word)
{
  for (int b = 0; b < 4; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
}

static void Seal(unsigned char data[], size_t length)
{
  Put(data + 32, MuonWireCRC32C(MuonWireCRC32C(0, data, 32), data + MUON_WIRE_PACKET_HEADER, length - MUON_WIRE_PACKET_HEADER));
}

static void PutLength(unsigned char to[], size_t length)
{
  for (int b = 0; b < 8; b++) to[b] = (unsigned char)(length >> 8 * b & 255);
}

static void Deform(unsigned char data[])
{
  const Deformation *d      = forge.deformation;
  const size_t       length = MUON_WIRE_PACKET_HEADER + (size_t)data[24] + 256 * (size_t)data[25];
  unsigned char     *to = data + d->at, *message = data + MUON_WIRE_PACKET_HEADER;
  unsigned char      kept[8];
  size_t             last = MUON_WIRE_PACKET_HEADER, end = last;
  unsigned long long count, payload                      = 0;

  forge.deformation = NULL;
  if (forge.inside == PETSC_TRUE) {
    if (message[4] != MUON_WIRE_GROUP) return;
    message += TestHeader(message, &count, &payload);
  }
  if (d->message == PETSC_TRUE) {
    (void)TestHeader(message, &count, &payload);
    to = message + (d->at == LENGTH ? 6 + TestGroups(count) : d->at);
  }
  while (end < length) {
    last = end;
    end += TestHeader(data + last, &count, &payload) + (size_t)payload;
  }
  switch (d->kind) {
  case FLIP:
    data[(length - 1) * d->at / 16] ^= 0x10;
    forge.done++;
    return;
  case PUT:
  case ONE:
    memcpy(kept, to, d->bytes);
    memset(to, d->put, d->bytes);
    if (d->kind == ONE) to[0] = 1;
    if (memcmp(kept, to, d->bytes) == 0) {
      forge.equal++;
      return;
    }
    break;
  case LARGEST:
    if (to + d->bytes > data + length) {
      forge.equal++;
      return;
    }
    memset(to, 0xFF, d->bytes - 1);
    to[d->bytes - 1] = 0x7F;
    break;
  case OTHER:
    to[0] = (unsigned char)(to[0] + d->put);
    break;
  case SHORTEN:
    if (payload == 0 || TestGroups(payload - 1) < TestGroups(payload)) {
      forge.equal++;
      return;
    }
    to = data + last + 6 + TestGroups(count);
    for (payload--; payload >= 128; payload /= 128) *to++ = (unsigned char)(payload % 128 + 128);
    *to = (unsigned char)payload;
    PutLength(data + 24, length - 1 - MUON_WIRE_PACKET_HEADER);
    break;
  case LAST:
    data[12]--;
    PutLength(data + 24, last - MUON_WIRE_PACKET_HEADER);
  }
  /* Where the length of the packet is forged, its checksum is that of what is there */
  Seal(data, d->kind == SHORTEN ? length - 1 : d->kind == LAST ? last : length);
  forge.done++;
}

static void Forge(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  const Forgery *f = forge.forgery;
  MuonWirePacket expected, header;
  size_t         length;
  int            rank;

  (void)PMPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (sender == rank) return; /* nobody reads what MPI made of his own */
  if ((f == NULL && forge.deformation == NULL) || bytes <= MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0 || data[6] != forge.direction) return;
  /* A rank without a layer to speak of sends a header alone */
  if (f == NULL && data[24] == 0 && data[25] == 0) return;
  if (f == NULL) {
    Deform(data);
    return;
  }
  /* Room behind a packet is not of it */
  length             = MUON_WIRE_PACKET_HEADER + (size_t)data[24] + 256 * (size_t)data[25];
  expected.sender    = (uint32_t)sender;
  expected.direction = 1;
  expected.step      = (uint64_t)data[16];
  for (size_t at = MUON_WIRE_PACKET_HEADER; at < length;) {
    unsigned long long count, payload;
    const size_t       head = TestHeader(data + at, &count, &payload), end = at + head + (size_t)payload;

    if (data[at + 4] % 16 == f->kind) {
      unsigned char *to = f->offset >= PAYLOAD ? data + at + head + f->offset - PAYLOAD : (f->offset >= 0 ? data + at + f->offset : data + end + f->offset);

      for (size_t b = 0; b < f->bytes; b++) to[b] = (unsigned char)((to[b] & f->keep) | f->put);
      Seal(data, length);
      forge.done++;
      if (MuonWirePacketOpen(data, length, &expected, &header) == MUON_WIRE_OK) forge.opens++;
      return;
    }
    at = end;
  }
}

static void Stop(void)
{
  forge.forgery     = NULL;
  forge.deformation = NULL;
}

/* A step with what was armed: done is how many packets were forged */
static PetscErrorCode CheckStep(Problem *p, Problem *q, const char name[], const char what[], PetscInt *done)
{
  PetscFunctionBeginUser;
  PetscCall(MuonSetUp(p->muon));
  forge.done = forge.opens = forge.equal = 0;
  PetscCall(ProblemDisturbed(p, q, &forge.done, Stop, MUON_DIVERGED_CORRUPT, name, what, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every form of a step */
static PetscErrorCode CheckSteps(PetscInt e)
{
  PetscBool legal, last;
  Problem   p, q; /* disturbed and not */
  Way       way;

  PetscFunctionBeginUser;
  PetscCall(WayGet(6 * (COMPRESSIONS - 1) + e, &way, &legal, &last));
  PetscCheck(way.steps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is not about steps", way.options);
  PetscCall(ProblemCreateWith(&p, way.options));
  PetscCall(ProblemCreateWith(&q, way.options));
  for (PetscInt k = 0; k < NFORGERIES; k++) {
    PetscInt done = 0;

    forge.direction = 1;
    forge.forgery   = &Forgeries[k]; /* at every rank but the one that has sent it */
    PetscCall(CheckStep(&p, &q, way.options, Forgeries[k].what, &done));
    PetscCheck(forge.opens == forge.done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: what was forged is no packet", way.options, Forgeries[k].what);
    PetscCheck(done == p.size - 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s was forged %" PetscInt_FMT " times", way.options, Forgeries[k].what, done);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One type, up or down, with the layer of the first message in one piece or in blocks: a packet of every kind
   that no sender made
*/
static PetscErrorCode CheckType(const char type[], PetscInt number, PetscBool down, PetscBool blocks)
{
  const char *const way = down ? "ef21_server_compressor" : "ef21_compressor", *values = MuonCompressorValuesTypes[(number + (down ? 3 : 0)) % 5];
  char              options[512];
  Problem           p, q;

  PetscFunctionBeginUser;
  /* What is dropped has no lengths; arrays as they are have no messages */
  if (strcmp(type, MUONCOMPRESSORIDENTITY) == 0) values = "single";
  PetscCall(PetscSNPrintf(options, sizeof(options), "-muon_type ef21 -muon_exchange_type layerwise -muon_exchange_mode gather -ef21_compressor_layers all -muon_layer_types wide:frozen,gain:adamw -%s %s -%s_ratio %s -%s_values %s%s", way, type, way,
                          strcmp(type, MUONCOMPRESSORDROPOUT) == 0 ? "1" : "0.25", way, values, blocks ? " -muon_layer_square_blocks_rows 2,2,2 -muon_layer_tall_blocks_rows 3,3,3 -muon_layer_embed_blocks_rows 4,3,3" : ""));
  PetscCall(ProblemCreateWith(&p, options));
  PetscCall(ProblemCreateWith(&q, options));
  for (PetscInt k = 0; k < (blocks == PETSC_TRUE ? 2 : 1) * NDEFORMATIONS; k++) {
    const Deformation *d    = &Deformations[k % NDEFORMATIONS];
    PetscInt           done = 0, equal;
    char               what[128];

    forge.inside = k < NDEFORMATIONS ? PETSC_FALSE : PETSC_TRUE;
    /* The header of a packet knows of no types, nor the end of one of blocks */
    if (d->message == PETSC_FALSE && (blocks == PETSC_TRUE || (number > 0 && d->kind != FLIP && d->kind != SHORTEN && d->kind != LAST))) continue;
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s%s%s", down == PETSC_TRUE ? "down" : "up", d->what, blocks == PETSC_TRUE ? ", blocks" : "", forge.inside == PETSC_TRUE ? ", the first of them" : ""));
    forge.direction   = down == PETSC_TRUE ? 1 : 0;
    forge.deformation = p.rank == k % p.size ? d : NULL;
    PetscCall(CheckStep(&p, &q, type, what, &done));
    PetscCallMPI(PMPI_Allreduce(&forge.equal, &equal, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    /*
       Some keep one thing of a layer, or have one layer to send: the number is 1 already. A packet may be
       shorter than the largest number
    */
    PetscCheck(done + equal == 1 && (done == 1 || d->kind == ONE || d->kind == LARGEST), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: forged %" PetscInt_FMT " times", type, what, done);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char **types;
  int          ntypes;
  PetscMPIInt  size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  mpicount_received = Forge;
  for (PetscInt e = 0; e < 2; e++) PetscCall(CheckSteps(e)); /* where every rank serves, nothing goes down */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  /* Some releases count an empty name at the end */
  for (int t = 0; t < ntypes && types[t] != NULL && size == 2; t++) {
    const PetscBool whole = strcmp(types[t], MUONCOMPRESSORIDENTITY) == 0 ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(CheckType(types[t], t, PETSC_TRUE, PETSC_FALSE));
    PetscCall(CheckType(types[t], t, PETSC_FALSE, PETSC_FALSE));
    if (whole == PETSC_FALSE) PetscCall(CheckType(types[t], t + 1, t % 2 == 0 ? PETSC_TRUE : PETSC_FALSE, PETSC_TRUE));
  }
  PetscCall(PetscFree(types));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # For the checksum
  link: internal

  test:
    nsize: {{2 3}}
    timeoutfactor: 3

TEST*/
