static char help[] = "Forges steps on their way down, checksums included: what no oracle writes ends the step as corrupt on every rank, nothing has changed, and the step can be taken again.\n\n";

#include "muon_common.h"
#include "muonwire.h"
#include "mpicount.h"

/* What is forged in the message of some form, in the packet that comes next from the servers; offsets count from the start of the message or, if negative, from its end */
typedef struct {
  const char  *what;
  int          form, offset;
  size_t       bytes;
  unsigned int keep, put; /* each byte becomes (byte & keep) | put */
} Forgery;

static const Forgery Forgeries[] = {
  {"the layer", MUON_WIRE_TRIPLES, 0, 1, 0xFF, 0x5A},
  {"the form", MUON_WIRE_TRIPLES, 4, 1, 0, 2},
  {"the codec of the values", MUON_WIRE_COLUMNS, 6, 1, 0, 2},
  {"two triples", MUON_WIRE_TRIPLES, 8, 1, 0, 2},
  {"a row less", MUON_WIRE_PERROW, 8, 1, 0, 11},
  {"a triple of magnitude 0", MUON_WIRE_TRIPLES, 24, sizeof(PetscScalar), 0, 0},
  {"a triple that is not finite", MUON_WIRE_TRIPLES, -2, 2, 0, 0xFF},
  {"a place past the end of a row", MUON_WIRE_PERROW, 24, 1, 0xF0, 0x0F},
  {"a negative magnitude", MUON_WIRE_PERROW, -1, 1, 0x7F, 0x80},
  {"padding behind the entries", MUON_WIRE_PERCOLUMN, 24, 1, 0x7F, 0x80},
  {"a place past the end", MUON_WIRE_PERCOLUMN, 24, 1, 0, 0x0E},
  {"a column past the end", MUON_WIRE_COLUMNS, 24, 1, 0, 0x10},
  {"no column", MUON_WIRE_COLUMNS, 24, 1, 0, 0},
  {"an entry past the end", MUON_WIRE_SPARSE, 24, 1, 0, 0x08},
  {"an entry of 0", MUON_WIRE_SPARSE, -(int)sizeof(PetscScalar), sizeof(PetscScalar), 0, 0},
};
#define NFORGERIES ((PetscInt)(sizeof(Forgeries) / sizeof(Forgeries[0])))

static struct {
  const Forgery *forgery;     /* NULL: not armed */
  PetscInt       done, opens; /* what was forged, and what of it is still a packet */
} forge;

static void Put(unsigned char to[], uint32_t word)
{
  for (int b = 0; b < 4; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
}

static void Forge(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  const Forgery *f = forge.forgery;
  MuonWirePacket expected, header;
  size_t         length;

  if (f == NULL || bytes <= MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0 || data[16] != 1) return;
  /* Room behind a packet is not of it */
  length             = MUON_WIRE_PACKET_HEADER + (size_t)data[40] + 256 * (size_t)data[41];
  expected.sender    = (uint32_t)sender;
  expected.direction = 1;
  expected.step      = (uint64_t)data[32];
  for (size_t at = MUON_WIRE_PACKET_HEADER; at < length;) {
    const size_t payload = (size_t)data[at + 16] + 256 * (size_t)data[at + 17], end = at + MUON_WIRE_MESSAGE_HEADER + payload;

    if (data[at + 4] == f->form) {
      unsigned char *to = f->offset >= 0 ? data + at + f->offset : data + end + f->offset;

      for (size_t b = 0; b < f->bytes; b++) to[b] = (unsigned char)((to[b] & f->keep) | f->put);
      Put(data + 48, MuonWireCRC32C(0, data + MUON_WIRE_PACKET_HEADER, length - MUON_WIRE_PACKET_HEADER));
      Put(data + 52, MuonWireCRC32C(0, data, 52));
      forge.done++;
      if (MuonWirePacketOpen(data, length, &expected, &header) == MUON_WIRE_OK) forge.opens++;
      return;
    }
    at = end;
  }
}

int main(int argc, char **argv)
{
  PetscInt done;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  mpicount_received = Forge;
  for (PetscInt e = 0; e < 2; e++) { /* where every rank serves, nothing goes down */
    PetscBool legal, last;
    Problem   p, q; /* disturbed and not */
    Way       way;

    PetscCall(WayGet(6 * (NCOMPRESSIONS - 1) + e, &way, &legal, &last));
    PetscCheck(strcmp(way.compression->down, MUONCOMPRESSORSHARP) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is not about steps", way.name);
    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &q));
    for (PetscInt k = 0; k < NFORGERIES; k++) {
      const char         *what = Forgeries[k].what;
      State               before, after, expected;
      MuonConvergedReason reason;

      PetscCall(MuonSetUp(p.muon));
      PetscCall(StateTake(&p, &before));
      forge.done    = 0;
      forge.opens   = 0;
      forge.forgery = p.rank == k % p.size ? &Forgeries[k] : NULL;
      /* The root of a broadcast receives nothing */
      if (e == 0 && k % p.size == 0) forge.forgery = p.rank == p.size - 1 ? &Forgeries[k] : NULL;
      PetscCall(MuonStep(p.muon));
      forge.forgery = NULL;
      PetscCheck(forge.opens == forge.done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: what was forged is no packet", way.name, what);
      PetscCallMPI(PMPI_Allreduce(&forge.done, &done, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
      PetscCheck(done == 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s was forged %" PetscInt_FMT " times", way.name, what, done);
      PetscCall(MuonGetConvergedReason(p.muon, &reason));
      PetscCheck(reason == MUON_DIVERGED_CORRUPT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %s", way.name, what, MuonConvergedReasons[reason]);
      PetscCall(StateTake(&p, &after));
      PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: a step that failed left its traces", way.name, what);
      PetscCall(StateFree(&after));
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonStep(q.muon));
      PetscCall(MuonGetConvergedReason(p.muon, &reason));
      PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the step after: %s", way.name, what, MuonConvergedReasons[reason]);
      PetscCall(StateTake(&p, &after));
      PetscCall(StateTake(&q, &expected));
      PetscCheck(StateIsSame(&after, &expected) == PETSC_TRUE && expected.step == k + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the next step differs from that of a run without forgery", way.name, what);
      PetscCall(StateFree(&before));
      PetscCall(StateFree(&after));
      PetscCall(StateFree(&expected));
    }
    PetscCall(ProblemDestroy(&p));
    PetscCall(ProblemDestroy(&q));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # For the checksum
  link: internal

  test:
    nsize: {{2 3}}

TEST*/
