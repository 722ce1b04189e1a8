static char help[] = "What a user of an exchange can set, get, see and get wrong; the owners of layers.\n\n";

#include "exchange_common.h"
#include "fails.h"

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

int main(int argc, char **argv)
{
  const MuonExchangeType types[]  = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const PetscInt         counts[] = {0, 1, 3, MAXITEMS};
  PetscBool              check    = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  if (check == PETSC_TRUE) {
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
    check | {{1 2 3 4}} | -check
    view | 3        | -a_muon_exchange_type layerwise -a_muon_exchange_assignment roundrobin -b_muon_exchange_assignment bucketed -b_muon_exchange_mode gather

  table: suffix | nsize | args | error
    type | 2 | -b_muon_exchange_type ring    | -b_muon_exchange_type
    mode | 2 | -b_muon_exchange_mode scatter | scatter

TEST*/
