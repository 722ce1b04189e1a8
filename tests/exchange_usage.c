static char help[] = "What a user of an exchange can set, get, see and get wrong; the owners of layers. Packets that are damaged on the way.\n\n";

#include "exchange_common.h"
#include "fails.h"
#include "mpicount.h"
#include "wire_header.h"

#define Check(condition) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", #condition)

static PetscErrorCode CheckModes(void)
{
  /* Rows of the table: whether the messages can be summed, what is legal, and the default */
  const struct {
    MuonExchangeType type;
    PetscBool        summable, legal[3];
    MuonExchangeMode standard;
  } table[] = {
    /* clang-format off */
    {MUONEXCHANGESTAR,       PETSC_TRUE,  {PETSC_TRUE,  PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_REDUCE},
    {MUONEXCHANGELAYERWISE,  PETSC_TRUE,  {PETSC_TRUE,  PETSC_TRUE,  PETSC_TRUE}, MUON_EXCHANGE_MODE_REDUCE},
    {MUONEXCHANGEREPLICATED, PETSC_TRUE,  {PETSC_FALSE, PETSC_TRUE,  PETSC_TRUE}, MUON_EXCHANGE_MODE_ALLREDUCE},
    {MUONEXCHANGESTAR,       PETSC_FALSE, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_GATHER},
    {MUONEXCHANGELAYERWISE,  PETSC_FALSE, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_GATHER},
    {MUONEXCHANGEREPLICATED, PETSC_FALSE, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_GATHER}
    /* clang-format on */
  };
  const char *const culprit = "compressor topk of layer embed";
  MuonExchange      exchange;
  MuonExchangeMode  mode;

  PetscFunctionBegin;
  /* The default of the mode follows the messages and the type */
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  Check(mode == MUON_EXCHANGE_MODE_REDUCE);
  for (int row = 0; row < 6; row++) {
    PetscCall(MuonExchangeSetType(exchange, table[row].type));
    if (row < 3) PetscCall(MuonExchangeGetMode(exchange, &mode));
    Check(row >= 3 || mode == table[row].standard);
    PetscCall(MuonExchangeResolveMode(exchange, table[row].summable, row % 2 ? culprit : NULL, &mode));
    Check(mode == table[row].standard);
    PetscCall(MuonExchangeGetMode(exchange, &mode));
    Check(mode == table[row].standard);
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  for (int row = 0; row < 6; row++) {
    PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)exchange, "net_"));
    PetscCall(MuonExchangeSetType(exchange, table[row].type));
    for (int m = 0; m < 3; m++) {
      PetscCall(MuonExchangeSetMode(exchange, (MuonExchangeMode)m));
      PetscCall(MuonExchangeGetMode(exchange, &mode));
      Check((int)mode == m);
      if (table[row].legal[m] == PETSC_TRUE) {
        PetscCall(MuonExchangeResolveMode(exchange, table[row].summable, culprit, &mode));
        Check((int)mode == m);
      } else {
        const MuonExchangeMode sum      = strcmp(table[row].type, MUONEXCHANGEREPLICATED) == 0 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE;
        const char *const      offender = (MuonExchangeMode)m == sum || strcmp(table[row].type, MUONEXCHANGELAYERWISE) == 0 ? culprit : table[row].type;

        Fails(MuonExchangeResolveMode(exchange, table[row].summable, culprit, &mode), PETSC_ERR_SUP, "-net_muon_exchange_mode");
        Check(FailsSays(MuonExchangeModes[m]) && FailsSays(offender) && (FailsSays(": gather") || FailsSays(", gather")));
      }
    }
    PetscCall(MuonExchangeDestroy(&exchange));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMistakes(void)
{
  unsigned char   *to;
  MuonExchangeItem item[3];
  MuonExchange     exchange;
  MuonExchangeType type;

  PetscFunctionBegin;
  ItemsMake(3, item);
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  Check(type == NULL);
  Fails(MuonExchangeSetType(exchange, "ring"), PETSC_ERR_ARG_UNKNOWN_TYPE, "ring|-muon_exchange_type|layerwise");
  Fails(MuonExchangeSetMode(exchange, (MuonExchangeMode)3), PETSC_ERR_ARG_OUTOFRANGE, "mode|3");
  Fails(MuonExchangeSetUp(exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems");
  PetscCall(MuonExchangeSetItems(exchange, 3, item));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  Check(strcmp(type, MUONEXCHANGELAYERWISE) == 0);
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, 0));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, exchange->order[0], 30, &to));
  Fails(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, exchange->order[0], 31), PETSC_ERR_ARG_SIZ, "31|30");
  Check(FailsSays(ItemNames[exchange->order[0]]));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Packets larger than was announced become error packets */
static PetscErrorCode CheckSizes(void)
{
  const size_t         most[2] = {300, 300}, least[2] = {MessageMake(7, 0, PETSC_FALSE, 0, NULL), 0};
  PetscInt             wrong = 0;
  MuonExchange         exchange;
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           status;

  PetscFunctionBegin;
  PetscCall(ExchangeMake(PETSC_COMM_WORLD, MUONEXCHANGEREPLICATED, 2, &exchange));
  PetscCall(MuonExchangeSetMaxBytes(exchange, most, most));
  PetscCall(MessagesMove(exchange, MUON_EXCHANGE_UP, 7, MUON_STATUS_OK, &wrong));
  Check(wrong == 0);
  /* For one of the messages of the first worker, and not for both */
  PetscCall(MuonExchangeSetMaxBytes(exchange, least, most));
  PetscCall(MessagesMove(exchange, MUON_EXCHANGE_UP, 7, MUON_STATUS_OK, NULL));
  for (PetscMPIInt w = 0; w < exchange->nworkers; w++) {
    const PetscBool fits = MessageMake(7, w, PETSC_FALSE, 0, NULL) + MessageMake(7, w, PETSC_FALSE, 1, NULL) <= least[0] + least[1] ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_UP, w, 0, &bytes, &message, &status));
    Check(status == (fits ? MUON_STATUS_OK : MUON_STATUS_CORRUPT));
    Check(w > 0 || fits == PETSC_FALSE);
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sums of arrays of both precisions, where the owner wants them, twice in the same memory, of any type of MPI's, and arrays of the owners
   that go down. Those of at most 32 KiB travel together, which no result shows; entries: of the smallest one that is not empty
*/
static PetscErrorCode CheckSums(MuonExchangeType type, size_t entries)
{
  const signed char votes[3] = {1, -1, 1};
  const size_t      most     = 6 * entries;
  signed char       majority[3];
  double           *from[MAXITEMS], *to[MAXITEMS];
  MuonArray         in[MAXITEMS], out[MAXITEMS];
  PetscLogDouble    memory, before = 0;
  MuonExchange      exchange;

  PetscFunctionBegin;
  PetscCall(ExchangeMake(PETSC_COMM_WORLD, type, MAXITEMS, &exchange));
  PetscCall(PetscMemzero(in, sizeof(in)));
  for (PetscInt i = 0; i < MAXITEMS; i++) {
    PetscCall(PetscMalloc2(most, &from[i], most, &to[i]));
    in[i].len = in[i].ld = (size_t)i % 4 * entries;
    in[i].count          = 1 + (size_t)i % 2;
    in[i].precision      = i % 2 == 0 ? MUON_DOUBLE : MUON_SINGLE;
    in[i].data           = from[i];
    for (size_t k = 0; k < MuonArrayEntries(&in[i]); k++) {
      if (in[i].precision == MUON_DOUBLE) from[i][k] = exchange->worker * ((double)(k % 999) + 1.) + (double)i;
      else ((float *)from[i])[k] = (float)(exchange->worker * ((double)(k % 999) + 1.) + (double)i);
    }
  }
  for (int round = 0; round < 2; round++) {
    PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, round));
    for (PetscInt i = 0; i < MAXITEMS; i++) {
      out[i]      = in[i];
      out[i].data = exchange->owner[i] == exchange->worker ? to[i] : NULL; /* where the sum is not wanted there is no memory for it */
      PetscCall(MuonExchangeReduceBegin(exchange, i, &in[i], &out[i]));
    }
    PetscCall(MuonExchangeReduceWait(exchange, 3)); /* one before the others */
    PetscCall(MuonExchangeReduceEnd(exchange));
    for (PetscInt i = 0; i < MAXITEMS; i++) {
      for (size_t k = 0; k < MuonArrayEntries(&in[i]); k++) {
        const double n = exchange->nworkers, sum = n * (n - 1) / 2 * ((double)(k % 999) + 1) + n * (double)i;

        Check((in[i].precision == MUON_DOUBLE ? from[i][k] : ((float *)from[i])[k]) == exchange->worker * ((double)(k % 999) + 1) + (double)i);
        Check(out[i].data == NULL || (in[i].precision == MUON_DOUBLE ? to[i][k] : ((float *)to[i])[k]) == sum);
      }
    }
    PetscCall(MuonExchangeGetMemory(exchange, &memory));
    Check(round == 0 || memory == before);
    before = memory;
  }
  for (PetscInt i = 0; i < MAXITEMS && exchange->everywhere == PETSC_FALSE; i++) PetscCall(MuonExchangeSpreadBegin(exchange, i, &in[i]));
  PetscCall(MuonExchangeReduceEnd(exchange));
  for (PetscInt i = 0; i < MAXITEMS; i++) {
    for (size_t k = 0; k < MuonArrayEntries(&in[i]); k++) Check((in[i].precision == MUON_DOUBLE ? from[i][k] : ((float *)from[i])[k]) == exchange->owner[i] * ((double)(k % 999) + 1) + (double)i);
    PetscCall(PetscFree2(from[i], to[i]));
  }
  PetscCall(MuonExchangeReduceTyped(exchange, 3, MPI_SIGNED_CHAR, votes, majority));
  PetscCall(MuonExchangeReduceEnd(exchange));
  Check(exchange->owner[0] != exchange->worker || (majority[0] == exchange->nworkers && majority[1] == -exchange->nworkers && majority[2] == exchange->nworkers));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Buffers are kept: the same steps again take no more memory, with a rank that fails among them */
static PetscErrorCode CheckMemory(MuonExchangeType type, PetscInt n)
{
  PetscLogDouble memory, before = 0;
  PetscInt       wrong = 0;
  MuonExchange   exchange;

  PetscFunctionBegin;
  PetscCall(ExchangeMake(PETSC_COMM_WORLD, type, n, &exchange));
  for (PetscInt step = 0; step < 16; step++) {
    const PetscBool fails = step >= 8 && step % 3 == 1 && exchange->worker == (PetscMPIInt)(step % exchange->nworkers) ? PETSC_TRUE : PETSC_FALSE;

    if (step == 8) PetscCall(MuonExchangeGetMemory(exchange, &before));
    for (int way = MUON_EXCHANGE_UP; way <= (int)MUON_EXCHANGE_DOWN; way++) PetscCall(MessagesMove(exchange, (MuonExchangeDirection)way, step % 8, fails ? MUON_STATUS_LMO : MUON_STATUS_OK, step < 8 ? &wrong : NULL));
  }
  PetscCall(MuonExchangeGetMemory(exchange, &memory));
  Check(wrong == 0 && memory == before && (memory == 0) == (n == 0));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Groups of one optimizer: exchanges of different types among other ranks each, run one after the other */
static PetscErrorCode CheckGroups(void)
{
  const char  *types[] = {MUONEXCHANGELAYERWISE, MUONEXCHANGESTAR, MUONEXCHANGEREPLICATED};
  MuonExchange group[3];
  MPI_Comm     comm[3];
  PetscMPIInt  rank, size;
  PetscInt     wrong = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int g = 0; g < 3; g++) {
    /* All ranks; every second one; backwards */
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, g == 1 ? rank % 2 : 0, g == 2 ? -rank : rank, &comm[g]));
    PetscCall(ExchangeMake(comm[g], types[g], 3 - g, &group[g]));
  }
  Check(group[0]->nworkers == size && group[0]->worker == rank && group[1]->nworkers == (size + 1 - rank % 2) / 2 && group[1]->worker == rank / 2 && group[2]->worker == size - 1 - rank);
  for (PetscInt step = 0; step < 20; step++) {
    for (int way = MUON_EXCHANGE_UP; way <= (int)MUON_EXCHANGE_DOWN; way++) {
      for (int g = 0; g < 3; g++) PetscCall(MessagesMove(group[g], (MuonExchangeDirection)way, 10 * step + g, MUON_STATUS_OK, NULL));
    }
    for (int g = 0; g < 3; g++) {
      double record = group[g]->worker, all[8];

      PetscCall(MessagesCheck(group[g], MUON_EXCHANGE_UP, 10 * step + g, &wrong));
      PetscCall(MessagesCheck(group[g], MUON_EXCHANGE_DOWN, 10 * step + g, &wrong));
      PetscCall(MuonExchangeGatherRecords(group[g], 1, &record, all));
      Check(all[group[g]->nworkers - 1] == group[g]->nworkers - 1);
    }
  }
  Check(wrong == 0);
  for (int g = 0; g < 3; g++) {
    PetscCall(MuonExchangeDestroy(&group[g]));
    PetscCallMPI(MPI_Comm_free(&comm[g]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changing the type, the assignment or the items of an exchange that was in use; Reset keeps the options */
static PetscErrorCode CheckReuse(void)
{
  MuonExchangeItem item[3];
  PetscInt         wrong = 0;
  MuonExchange     exchange;
  char             assignment[32];
  MuonExchangeMode mode;

  PetscFunctionBegin;
  ItemsMake(3, item);
  for (PetscInt i = 0; i < 3; i++) item[i].cost = i;
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetItems(exchange, 3, item));
  PetscCall(MuonExchangeSetMode(exchange, MUON_EXCHANGE_MODE_GATHER));
  for (int t = 0; t < 4; t++) {
    PetscCall(MuonExchangeSetType(exchange, t == 1 ? MUONEXCHANGESTAR : t == 2 ? MUONEXCHANGEREPLICATED : MUONEXCHANGELAYERWISE));
    PetscCall(MuonExchangeSetUp(exchange));
    Check(exchange->owner[2] == (t == 2 ? exchange->worker : 0));
    for (int way = MUON_EXCHANGE_UP; way <= (int)MUON_EXCHANGE_DOWN; way++) PetscCall(MessagesMove(exchange, (MuonExchangeDirection)way, t, MUON_STATUS_OK, &wrong));
  }
  Check(wrong == 0);
  /* 2, 1 and 0 in the order of falling cost: lpt gives the last one to the second rank, round robin to the third or the first */
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", "roundrobin"));
  PetscCall(MuonExchangeSetUp(exchange));
  Check(exchange->owner[0] == 2 % exchange->nworkers);
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  PetscCall(MuonObjectGetParameter((PetscObject)exchange, "muon_exchange_assignment", assignment, sizeof(assignment)));
  Check(mode == MUON_EXCHANGE_MODE_GATHER && strcmp(assignment, "roundrobin") == 0);
  PetscCall(MuonExchangeSetItems(exchange, 2, item));
  PetscCall(MuonExchangeSetUp(exchange));
  Check(exchange->owner[0] == (exchange->nworkers > 1 ? 1 : 0));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Items whose owners are sought by trying every assignment */
#define OWNED 9

/* The smallest possible load of the busiest rank, by trying every assignment */
static void TryAll(PetscInt n, int size, const MuonExchangeItem item[], PetscInt next, PetscLogDouble load[], PetscLogDouble *best)
{
  PetscLogDouble busiest = 0;

  for (int r = 0; r < size; r++) busiest = PetscMax(busiest, load[r]);
  if (busiest >= *best) return;
  if (next == n) {
    *best = busiest;
    return;
  }
  for (int r = 0; r < size; r++) {
    load[r] += item[next].cost;
    TryAll(n, size, item, next + 1, load, best);
    load[r] -= item[next].cost;
    if (load[r] == 0) return; /* the other idle ranks are like this one */
  }
}

static PetscLogDouble Busiest(PetscInt n, int size, const MuonExchangeItem item[], const int owner[])
{
  PetscLogDouble busiest = 0;

  for (int r = 0; r < size; r++) {
    PetscLogDouble load = 0;

    for (PetscInt i = 0; i < n; i++) load += owner[i] == r ? item[i].cost : 0;
    busiest = PetscMax(busiest, load);
  }
  return busiest;
}

/* The owners that an exchange finds, the same on all ranks; -1 where every rank has all */
static PetscErrorCode GetOwners(MuonExchangeType type, MuonExchangeAssignment assignment, PetscInt n, const MuonExchangeItem item[], int owner[])
{
  MuonExchange exchange;
  PetscMPIInt  first[OWNED];

  PetscFunctionBegin;
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", MuonExchangeAssignments[assignment]));
  PetscCall(MuonExchangeSetItems(exchange, n, item));
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscInt i = 0; i < n; i++) {
    first[i] = owner[i] = exchange->everywhere ? -1 : exchange->owner[i];
    Check(owner[i] >= -1 && owner[i] < exchange->nworkers && (!exchange->everywhere || exchange->owner[i] == exchange->worker));
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_INT, 0, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < n; i++) Check(first[i] == owner[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type of exchange that is not the library's: the last worker owns all items */
static PetscErrorCode Assign_Last(MuonExchange exchange)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < exchange->nitems; i++) exchange->owner[i] = exchange->nworkers - 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Last(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ops->assign = Assign_Last;
  exchange->ops->up     = MuonExchangePacketsAllToAll;
  exchange->ops->down   = MuonExchangePacketsAllGather;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It moves error packets like any other */
static PetscErrorCode CheckOutside(void)
{
  const MuonExchangeItem item = {"a", 1, 1, 1, 1};
  const unsigned char   *message;
  size_t                 bytes;
  MuonStatus             status;
  MuonExchange           exchange;

  PetscFunctionBegin;
  PetscCall(MuonExchangeRegister("last", Create_Last, NULL));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetType(exchange, "last"));
  PetscCall(MuonExchangeSetItems(exchange, 1, &item));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, 0));
  PetscCall(MuonExchangeMove(exchange, MUON_EXCHANGE_UP, MUON_STATUS_NANORINF));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_DOWN, 0));
  PetscCall(MuonExchangeMove(exchange, MUON_EXCHANGE_DOWN, MUON_STATUS_LMO));
  for (PetscMPIInt w = 0; w < exchange->nworkers && exchange->worker == exchange->nworkers - 1; w++) {
    PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_UP, w, 0, &bytes, &message, &status));
    Check(status == MUON_STATUS_NANORINF);
  }
  PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_DOWN, 0, 0, &bytes, &message, &status));
  Check(status == MUON_STATUS_LMO);
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether item j comes before i where owners are sought */
static PetscBool Before(const MuonExchangeItem *j, const MuonExchangeItem *i)
{
  return j->cost > i->cost || (j->cost == i->cost && (j->bytes > i->bytes || (j->bytes == i->bytes && strcmp(j->name, i->name) < 0))) ? PETSC_TRUE : PETSC_FALSE;
}

/* The bound of longest job first against all assignments, ties, buckets of one shape */
static PetscErrorCode CheckOwners(void)
{
  const char *const names[OWNED] = {"c", "a", "h", "b", "g", "d", "f", "i", "e"};
  MuonExchangeItem  item[OWNED], shuffled[OWNED];
  PetscLogDouble    load[64];
  PetscMPIInt       size;
  PetscRandom       random;
  int               owner[OWNED], again[OWNED];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  for (PetscInt trial = 0; trial < 200; trial++) {
    const PetscInt  n     = trial % (OWNED + 1);
    const PetscReal bound = (PetscReal)4 / 3 - (PetscReal)1 / (3 * size);
    PetscLogDouble  best = PETSC_MAX_REAL, total = 0;
    PetscBool       reached[64] = {PETSC_FALSE};

    for (PetscInt i = 0; i < n; i++) {
      PetscReal x;

      PetscCall(PetscRandomGetValueReal(random, &x));
      /* Integers, so that sums are exact; few of them, so that there are ties */
      item[i].name    = names[i];
      item[i].cost    = 1 + (PetscLogDouble)(int)(trial % 3 == 0 ? 4 * x : trial % 3 == 1 ? 100 * x : 1000 * x * x * x);
      item[i].bytes   = (PetscLogDouble)(i % 2);
      item[i].rows    = 1 + (PetscInt)item[i].cost % 2;
      item[i].columns = 1 + (PetscInt)item[i].bytes;
      total += item[i].cost;
    }
    for (int r = 0; r < size; r++) load[r] = 0;
    if (n == 0) best = 0;
    else TryAll(n, size, item, 0, load, &best);
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner));
    Check(Busiest(n, size, item, owner) <= bound * best * (1 + 10 * PETSC_MACHINE_EPSILON) && Busiest(n, size, item, owner) >= best && best * size >= total);
    /* No rank is idle while another has two: costs are positive */
    for (PetscInt i = 0; i < n; i++) reached[owner[i]] = PETSC_TRUE;
    for (int r = 0; r < PetscMin(n, (PetscInt)size); r++) Check(reached[r]);

    /* The map goes by the names: another order of the same items changes nothing */
    for (PetscInt i = 0; i < n; i++) shuffled[i] = item[(i + 4) % n];
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, shuffled, again));
    for (PetscInt i = 0; i < n; i++) Check(again[i] == owner[(i + 4) % n]);

    /* Round robin: the place in the order of falling cost, then bytes, then names; bucketed: among the items of the shape */
    for (int shapes = 0; shapes < 2; shapes++) {
      PetscCall(GetOwners(MUONEXCHANGELAYERWISE, shapes ? MUON_EXCHANGE_ASSIGNMENT_BUCKETED : MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, n, item, owner));
      for (PetscInt i = 0; i < n; i++) {
        PetscInt before = 0;

        for (PetscInt j = 0; j < n; j++) {
          if (shapes && (item[i].rows != item[j].rows || item[i].columns != item[j].columns)) continue;
          if (Before(&item[j], &item[i])) before++;
        }
        Check(owner[i] == (int)(before % size));
      }
    }
    PetscCall(GetOwners(MUONEXCHANGESTAR, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner));
    for (PetscInt i = 0; i < n; i++) Check(owner[i] == 0);
    PetscCall(GetOwners(MUONEXCHANGEREPLICATED, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner));
    for (PetscInt i = 0; i < n; i++) Check(owner[i] == -1);
  }
  /* What costs nothing is spread by its bytes, then one by one */
  for (PetscInt i = 0; i < OWNED; i++) item[i].cost = item[i].bytes = 0;
  PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, OWNED, item, owner));
  for (PetscInt i = 0; i < OWNED; i++) Check(owner[i] == (names[i][0] - 'a') % size);

  /* The bound is reached: 2J-1, 2J-1, 2J-2, 2J-2, ..., J+1, J+1, J, J, J take 4J-1 on J ranks, where 3J would do */
  if (size > 1 && 2 * size + 1 <= OWNED) {
    for (PetscInt i = 0; i < 2 * size + 1; i++) item[i].cost = i == 2 * size ? size : 2 * size - 1 - i / 2;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, 2 * size + 1, item, owner));
    Check(Busiest(2 * size + 1, size, item, owner) == 4 * size - 1);
  }
  /* and round robin misses it: 2, 1, ..., 1 take 3 on J ranks, where 2 would do */
  if (size > 1 && size + 1 <= OWNED) {
    for (PetscInt i = 0; i <= size; i++) item[i].cost = i == 0 ? 2 : 1;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, size + 1, item, owner));
    Check(Busiest(size + 1, size, item, owner) == 3);
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, size + 1, item, owner));
    Check(Busiest(size + 1, size, item, owner) == 2);
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two exchanges with prefixes of their own, from the options, as they are printed */
static PetscErrorCode Print(const char prefix[])
{
  const PetscLogDouble cost[4] = {5, 3, 2, 1};
  MuonExchangeItem     item[4];
  const char          *found;
  MuonExchange         exchange;

  PetscFunctionBegin;
  ItemsMake(4, item);
  for (PetscInt i = 0; i < 4; i++) {
    item[i].cost = cost[i];
    item[i].rows = 1 + i;
  }
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)exchange, prefix));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)exchange, &found));
  Check(strcmp(found, prefix) == 0);
  PetscCall(MuonExchangeSetFromOptions(exchange));
  PetscCall(MuonExchangeSetItems(exchange, 4, item));
  PetscCall(MuonExchangeView(exchange, NULL));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeView(exchange, NULL));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* Damages packets on the way, and sees the right status in the right places */
static PetscErrorCode CheckCorrupt(const MuonExchangeType types[])
{
  const size_t most[NITEMS] = {1000, 1000, 1000, 1000, 1000};
  PetscInt     wrong        = 0, hits, expected;
  PetscMPIInt  rank, size;
  MuonExchange exchange;

  PetscFunctionBegin;
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
  mpicount_received = NULL;
  Check(wrong == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[]  = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const PetscInt         counts[] = {0, 1, 3, MAXITEMS};
  PetscBool              check    = PETSC_FALSE, corrupt;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-corrupt", &corrupt));
  if (corrupt) PetscCall(CheckCorrupt(types));
  else if (check == PETSC_TRUE) {
    PetscCall(CheckModes());
    PetscCall(CheckMistakes());
    PetscCall(CheckSizes());
    PetscCall(CheckReuse());
    PetscCall(CheckGroups());
    PetscCall(CheckOwners());
    PetscCall(CheckOutside());
    for (int t = 0; t < 3; t++) {
      PetscCall(CheckSums(types[t], 1));
      PetscCall(CheckSums(types[t], 1500));
      for (int c = 0; c < 4; c++) PetscCall(CheckMemory(types[t], counts[c]));
    }
  } else {
    PetscCall(Print("a_"));
    PetscCall(Print("b_"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  table: suffix | nsize | args
    check   | {{1 2 3 4}} | -check
    corrupt | {{1 2 3 4}} | -corrupt
    view    | 3           | -a_muon_exchange_type layerwise -a_muon_exchange_assignment roundrobin -b_muon_exchange_assignment bucketed -b_muon_exchange_mode gather

  table: suffix | nsize | args | error
    type | 2 | -b_muon_exchange_type ring    | -b_muon_exchange_type
    mode | 2 | -b_muon_exchange_mode scatter | scatter

TEST*/
