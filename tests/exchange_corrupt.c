static char help[] = "Damages packets on the way, and sees the right status in the right places.\n\n";

#include "exchange_common.h"
#include "wire_header.h"
#include "mpicount.h"

#define NITEMS 5

/* The damage: one bit of what comes from one sender in the next call of a kind, on one rank, in the receive buffer of MPI */
static struct {
  PetscBool armed, twice; /* or its header says that it has twice as many messages, in step, checksum included */
  PetscInt  step;
  int       sender;
  size_t    byte;
  PetscInt  done;
} damage;

static void Damage(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  const PetscBool packets = kind == MPICOUNT_GATHERV || kind == MPICOUNT_ALLTOALLV || kind == MPICOUNT_ALLGATHERV || kind == MPICOUNT_BCAST ? PETSC_TRUE : PETSC_FALSE;

  if (damage.twice && packets && sender == damage.sender && bytes >= MUON_WIRE_PACKET_HEADER) {
    MuonWirePacket header = {0};

    header.sender = (uint32_t)sender;
    header.step   = (uint64_t)damage.step;
    for (int i = 0; i < 4; i++) header.messages |= (uint32_t)data[12 + i] << (8 * i + 1);
    for (int i = 0; i < 8; i++) header.bytes |= (uint64_t)data[24 + i] << 8 * i;
    MuonWirePacketFinalize(data, &header);
  }
  /* The broadcast of a size is no packet */
  if (damage.armed == PETSC_FALSE || packets == PETSC_FALSE || sender != damage.sender || bytes < MUON_WIRE_PACKET_HEADER) return;
  data[damage.byte % bytes] ^= (unsigned char)(1 << (damage.byte * 5 % 8));
  damage.done++;
}

static PetscErrorCode CheckStatus(PetscInt *wrong, const char where[], int sender, PetscInt item, PetscInt step, PetscBool down, size_t bytes, const unsigned char *message, MuonStatus status, MuonStatus expected)
{
  PetscBool right = status == expected ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (expected == MUON_STATUS_OK && MessageIs(step, sender, down, item, bytes, message) == PETSC_FALSE) right = PETSC_FALSE;
  if (expected != MUON_STATUS_OK && (bytes != 0 || message != NULL)) right = PETSC_FALSE;
  if (right == PETSC_FALSE && (*wrong)++ == 0) {
    fprintf(stderr, "%s, %s, from %d, item %s, byte %d: ", where, down == PETSC_TRUE ? "down" : "up", sender, ItemNames[item], (int)damage.byte);
    fprintf(stderr, "status %s with %d bytes, expected %s\n", MuonStatuses[status], (int)bytes, MuonStatuses[expected]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Messages up and down. The packets from a sender are damaged on the victim where damaged says so; announced is the status that the sender announces.
   In the end all ranks agree on the worst status that any of them saw, as an optimizer does.
*/
static PetscErrorCode Step(MuonExchange exchange, PetscInt step, MuonExchangeDirection hit, int victim, int sender, PetscBool damaged, MuonStatus announced, PetscInt *wrong)
{
  const char          *type = ((PetscObject)exchange)->type_name;
  const PetscMPIInt    rank = exchange->worker;
  const unsigned char *message;
  size_t               bytes;
  PetscInt             worst = MUON_STATUS_OK;
  MuonStatus           status;
  double               record, all[64];

  PetscFunctionBegin;
  damage.done   = 0;
  damage.sender = sender;
  for (int k = MUON_EXCHANGE_UP; k <= (int)MUON_EXCHANGE_DOWN; k++) {
    const MuonExchangeDirection way      = (MuonExchangeDirection)k;
    const PetscBool             down     = way == MUON_EXCHANGE_DOWN ? PETSC_TRUE : PETSC_FALSE;
    const MuonStatus            expected = way != hit ? MUON_STATUS_OK : announced;

    PetscCall(MessagesPut(exchange, way, step));
    damage.armed = damaged && rank == victim && victim != sender && way == hit ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonExchangeMove(exchange, way, rank == sender ? expected : MUON_STATUS_OK));
    damage.armed = PETSC_FALSE;
    for (PetscInt i = 0; i < NITEMS; i++) {
      for (int r = down ? exchange->owner[i] : 0; r < (down ? exchange->owner[i] + 1 : exchange->nworkers); r++) {
        if (down == PETSC_FALSE && exchange->owner[i] != rank) continue;
        PetscCall(MuonExchangeGet(exchange, way, r, i, &bytes, &message, &status));
        PetscCall(CheckStatus(wrong, type, r, i, step, down, bytes, message, status, r != sender ? MUON_STATUS_OK : way == hit && damage.done > 0 ? MUON_STATUS_CORRUPT : expected));
        worst = PetscMax(worst, (PetscInt)status);
      }
      /* What a worker holds of its own is as it was */
      if (down) continue;
      PetscCall(MuonExchangeGetOwn(exchange, way, i, &bytes, &message));
      if (announced == MUON_STATUS_OK && MessageIs(step, rank, PETSC_FALSE, i, bytes, message) == PETSC_FALSE) (*wrong)++;
    }
  }
  record = (double)worst;
  PetscCall(MuonExchangeGatherRecords(exchange, 1, &record, all));
  for (int r = 0; r < exchange->nworkers; r++) worst = PetscMax(worst, (PetscInt)all[r]);
  if (damage.done > 0 && worst != MUON_STATUS_CORRUPT) (*wrong)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a packet of sender comes to receiver by MPI: nothing goes down where every rank serves, and nobody reads what MPI made of his own */
static PetscBool Delivers(MuonExchange exchange, PetscBool down, int sender, int receiver)
{
  const PetscBool star = strcmp(((PetscObject)exchange)->type_name, MUONEXCHANGESTAR) == 0 ? PETSC_TRUE : PETSC_FALSE;

  if (sender == receiver) return PETSC_FALSE;
  if (exchange->everywhere == PETSC_TRUE) return down == PETSC_TRUE ? PETSC_FALSE : PETSC_TRUE;
  if (star == PETSC_TRUE && down == PETSC_TRUE) return sender == 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt i = 0; i < NITEMS; i++) {
    if (exchange->owner[i] == (down == PETSC_TRUE ? sender : receiver)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/*
   A sender that is a step behind, a message that lies about its length, two messages where one is expected:
   the checksum is right and yet all of it is corrupt
*/
static PetscErrorCode CheckDisagreement(MuonExchange exchange, PetscInt *wrong)
{
  const char *const    names[] = {"another step", "wrong length", "too many messages"};
  const PetscMPIInt    rank = exchange->worker, sender = exchange->nworkers - 1;
  const unsigned char *message;
  unsigned char       *to;
  size_t               bytes;
  MuonStatus           status;
  unsigned long long   count, payload;

  PetscFunctionBegin;
  for (int how = 0; how < 3; how++) {
    const PetscInt step = 100 + how;

    PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, how == 0 && rank == sender ? step - 1 : step));
    for (PetscInt k = 0; k < NITEMS; k++) {
      const PetscInt i = exchange->order[k];

      PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, i, 1000, &to));
      bytes = MessageMake(step, rank, PETSC_FALSE, i, to);
      (void)TestHeader(to, &count, &payload);
      if (rank == sender && how == 1) to[6 + TestGroups(count)]++; /* the lowest byte of the length of the payload, behind the count */
      if (rank == sender && how == 2) bytes += MessageMake(step, rank, PETSC_FALSE, i, to + bytes);
      PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, i, bytes));
    }
    damage.sender = sender;
    damage.step   = step;
    damage.twice  = how == 2 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonExchangeMove(exchange, MUON_EXCHANGE_UP, MUON_STATUS_OK));
    damage.twice = PETSC_FALSE;
    for (PetscInt i = 0; i < NITEMS; i++) {
      for (int r = 0; r <= sender && exchange->owner[i] == rank; r++) {
        /* The one that is behind expects all the others to be where it is */
        const PetscBool bad = how == 0 ? ((r == sender) != (rank == sender) ? PETSC_TRUE : PETSC_FALSE) : (r == sender ? PETSC_TRUE : PETSC_FALSE);

        if (r == rank) continue; /* nobody looks at his own */
        PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_UP, r, i, &bytes, &message, &status));
        PetscCall(CheckStatus(wrong, names[how], r, i, step, PETSC_FALSE, bytes, message, status, bad == PETSC_TRUE ? MUON_STATUS_CORRUPT : MUON_STATUS_OK));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[]      = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const size_t           most[NITEMS] = {1000, 1000, 1000, 1000, 1000};
  PetscInt               wrong        = 0, hits, expected;
  PetscMPIInt            rank, size;
  MuonExchange           exchange;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  mpicount_received = Damage;
  for (int t = 0; t < 3; t++) {
    PetscCall(ExchangeMake(PETSC_COMM_WORLD, types[t], NITEMS, &exchange));
    PetscCall(MuonExchangeSetMaxBytes(exchange, most, most));
    for (int down = 0; down < 2; down++) {
      hits = expected = 0;
      /* Bits all over the packets, headers, messages and padding, on every rank in turn and from every one */
      for (size_t byte = 0; byte < 1024; byte++) {
        const int victim = (int)byte % size, sender = (int)(byte / (size_t)size) % size;

        damage.byte = byte;
        PetscCall(Step(exchange, (PetscInt)byte, (MuonExchangeDirection)down, victim, sender, PETSC_TRUE, MUON_STATUS_OK, &wrong));
        hits += damage.done;
        if (rank == victim) expected += Delivers(exchange, down == 1 ? PETSC_TRUE : PETSC_FALSE, sender, victim) == PETSC_TRUE ? 1 : 0;
      }
      if (hits != expected) {
        fprintf(stderr, "[%d] %s: %d packets were damaged, not %d\n", rank, types[t], (int)hits, (int)expected);
        wrong++;
      }
      for (int status = (int)MUON_STATUS_NANORINF; status <= (int)MUON_STATUS_LMO; status++) {
        for (int sender = 0; sender < size; sender++) PetscCall(Step(exchange, 2000 + status, (MuonExchangeDirection)down, 0, sender, PETSC_FALSE, (MuonStatus)status, &wrong));
      }
    }
    PetscCall(CheckDisagreement(exchange, &wrong));
    PetscCall(MuonExchangeDestroy(&exchange));
  }
  PetscCall(PetscFinalize());
  if (wrong != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
