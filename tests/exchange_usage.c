static char help[] = "What a user of an exchange can set, get, see and get wrong.\n\n";

#include "exchange_common.h"

/* The last error: its code, and what the user reads */
static struct {
  PetscErrorCode code;
  char           text[1024];
} seen;

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) {
    seen.code = code;
    snprintf(seen.text, sizeof(seen.text), "%s", message);
  }
  return code;
}

static PetscInt failures = 0;

#define Check(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "line %d: %s; the last error is %d, %s\n", __LINE__, #condition, (int)seen.code, seen.text); \
      failures++; \
    } \
  } while (0)

/* The call fails on this rank, and the message names all of these words */
#define Fails(call, errorcode, word1, word2, word3) \
  do { \
    seen.code    = (PetscErrorCode)0; \
    seen.text[0] = '\0'; \
    Check((call) == (errorcode)); \
    Check(seen.code == (errorcode) && strstr(seen.text, word1) != NULL && strstr(seen.text, word2) != NULL && strstr(seen.text, word3) != NULL); \
  } while (0)

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
  for (int row = 0; row < 6; row++) {
    PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
    PetscCall(MuonExchangeSetOptionsPrefix(exchange, "net_"));
    PetscCall(MuonExchangeSetType(exchange, table[row].type));
    PetscCall(MuonExchangeResolveMode(exchange, table[row].summable, culprit, &mode));
    Check(mode == table[row].standard);
    PetscCall(MuonExchangeGetMode(exchange, &mode));
    Check(mode == table[row].standard);
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

        Fails(MuonExchangeResolveMode(exchange, table[row].summable, culprit, &mode), PETSC_ERR_SUP, "-net_muon_exchange_mode", MuonExchangeModes[m], offender);
        Check(strstr(seen.text, ": gather") != NULL || strstr(seen.text, ", gather") != NULL);
      }
    }
    PetscCall(MuonExchangeDestroy(&exchange));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMistakes(void)
{
  const PetscLogDouble cost[3] = {3, 2, 1}, bytes[3] = {0, 0, 0};
  PetscLogDouble       bad[3] = {3, -2, 1};
  const unsigned char *message;
  const PetscInt      *order;
  unsigned char       *to;
  size_t               length;
  MuonStatus           status;
  MuonExchange         exchange;
  MuonExchangeType     type;
  PetscMPIInt          rank, size, owner;
  PetscBool            serves;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  Check(type == NULL);
  Fails(MuonExchangeSetType(exchange, "ring"), PETSC_ERR_ARG_UNKNOWN_TYPE, "ring", "-muon_exchange_type", "layerwise");
  Fails(MuonExchangeSetMode(exchange, (MuonExchangeMode)3), PETSC_ERR_ARG_OUTOFRANGE, "mode", "3", "");
  Fails(MuonExchangeSetItemShapes(exchange, NULL, NULL), PETSC_ERR_ORDER, "MuonExchangeSetItems", "", "");
  Fails(MuonExchangeSetUp(exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems", "", "");
  Fails(MuonExchangeSetItems(exchange, -1, ItemNames, cost, bytes), PETSC_ERR_ARG_OUTOFRANGE, "-1", "", "");
  Fails(MuonExchangeSetItems(exchange, 3, ItemNames, bad, bytes), PETSC_ERR_ARG_OUTOFRANGE, "Cost -2", " k ", "");
  bad[1] = HUGE_VAL;
  Fails(MuonExchangeSetItems(exchange, 3, ItemNames, cost, bad), PETSC_ERR_ARG_OUTOFRANGE, "Size", " k ", "");
  PetscCall(MuonExchangeSetItems(exchange, 3, ItemNames, cost, bytes));
  Fails(MuonExchangeGetOwner(exchange, 0, &owner), PETSC_ERR_ORDER, "MuonExchangeSetUp", "", "");
  Fails(MuonExchangeGetOrder(exchange, &order), PETSC_ERR_ORDER, "MuonExchangeSetUp", "", "");
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  Check(strcmp(type, MUONEXCHANGELAYERWISE) == 0);
  Fails(MuonExchangeGetOwner(exchange, 3, &owner), PETSC_ERR_ARG_OUTOFRANGE, "3", "[0,3)", "");
  Fails(MuonExchangeOwns(exchange, -1, &serves), PETSC_ERR_ARG_OUTOFRANGE, "-1", "[0,3)", "");

  /* The order of the calls of a step; all of these fail before anything is sent */
  PetscCall(MuonExchangeGetOrder(exchange, &order));
  Fails(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, order[0], 100, &to), PETSC_ERR_ORDER, "Begin", "", "");
  Fails(MuonExchangeUp(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "Begin", "", "");
  Fails(MuonExchangeDown(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "Begin", "", "");
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, 0));
  Fails(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, order[1], 100, &to), PETSC_ERR_ORDER, ItemNames[order[1]], "", "");
  Fails(MuonExchangeUpOwn(exchange, order[0], &length, &message), PETSC_ERR_ORDER, "", "", "");
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, order[0], 30, &to));
  Fails(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, order[0], 31), PETSC_ERR_ARG_SIZ, "31", "30", ItemNames[order[0]]);
  Fails(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, order[1], 30), PETSC_ERR_ORDER, ItemNames[order[1]], "", "");
  Fails(MuonExchangeUp(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "no message", "", "");
  Fails(MuonExchangeUpGet(exchange, 0, rank % 3, &length, &message, &status), (rank < 3 && exchange->owner[rank % 3] == rank) ? PETSC_ERR_ORDER : PETSC_ERR_ARG_WRONG, "", "", "");
  Fails(MuonExchangeDownGet(exchange, 0, &length, &message, &status), PETSC_ERR_ORDER, "MuonExchangeDown", "", "");
  if (size > 1) {
    PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_DOWN, 0));
    Fails(MuonExchangeReserve(exchange, MUON_EXCHANGE_DOWN, rank == 0 ? 1 : 0, 30, &to), PETSC_ERR_ARG_WRONG, ItemNames[rank == 0 ? 1 : 0], "served by worker", "");
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What does not fit: packets larger than was announced, and arrays that cannot be summed. All ranks fail
   alike, before anything moves
*/
static PetscErrorCode CheckSizes(void)
{
  const PetscLogDouble cost[2] = {1, 1}, bytes[2] = {0, 0};
  const size_t         most[2] = {300, 300}, least[2] = {MessageMake(7, 0, PETSC_FALSE, 0, NULL), 0};
  double               data[2][12];
  signed char          votes[2][3] = {{1, -1, 1}, {0, 0, 0}}, sum[2][3];
  const PetscInt64     length[2]   = {3, 0};
  const MPI_Datatype   type[2]     = {MPI_SIGNED_CHAR, MPI_DOUBLE};
  const void          *from[2]     = {votes[0], NULL};
  void                *to[2]       = {sum[0], NULL};
  MuonArray            in[2], out[2];
  MuonExchange         exchange;
  const unsigned char *message;
  size_t               length0;
  MuonStatus           status;
  PetscMPIInt          size, rank;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeGetWorkers(exchange, &size, &rank));
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEREPLICATED));
  PetscCall(MuonExchangeSetItems(exchange, 2, ItemNames, cost, bytes));
  PetscCall(MuonExchangeSetMaxBytes(exchange, most, most));
  PetscCall(MessagesPutUp(exchange, 2, 7, rank));
  PetscCall(MuonExchangeUp(exchange, MUON_STATUS_OK));
  /* Room for one of the messages of the first worker, and not for both */
  PetscCall(MuonExchangeSetMaxBytes(exchange, least, most));
  PetscCall(MessagesPutUp(exchange, 2, 7, rank));
  PetscCall(MuonExchangeUp(exchange, MUON_STATUS_OK));
  for (PetscMPIInt w = 0; w < size; w++) {
    const PetscBool fits = MessageMake(7, w, PETSC_FALSE, 0, NULL) + MessageMake(7, w, PETSC_FALSE, 1, NULL) <= least[0] + least[1] ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(MuonExchangeUpGet(exchange, w, 0, &length0, &message, &status));
    Check(status == (fits ? MUON_STATUS_OK : MUON_STATUS_CORRUPT));
    Check(w > 0 || fits == PETSC_FALSE);
  }

  PetscCall(PetscMemzero(in, sizeof(in)));
  for (int i = 0; i < 2; i++) {
    in[i].data      = data[i];
    in[i].len       = 2;
    in[i].count     = 3;
    in[i].ld        = 2;
    in[i].precision = MUON_DOUBLE;
    out[i]          = in[i];
    for (int k = 0; k < 12; k++) data[i][k] = k;
  }
  out[0].data = data[1];
  out[1].data = NULL;
  in[0].ld    = 4;
  Fails(MuonExchangeReduceBegin(exchange, 0, &in[0], &out[0]), PETSC_ERR_ARG_SIZ, "gaps", ItemNames[0], "");
  in[0].ld         = 2;
  out[0].precision = MUON_SINGLE;
  Fails(MuonExchangeReduceBegin(exchange, 0, &in[0], &out[0]), PETSC_ERR_ARG_SIZ, "precision", ItemNames[0], "");
  out[0]      = in[0];
  out[0].data = NULL;
  Fails(MuonExchangeReduceBegin(exchange, 0, &in[0], &out[0]), PETSC_ERR_ARG_NULL, "no room", ItemNames[0], "");

  /* Any type that MPI sums */
  PetscCall(MuonExchangeReduceTyped(exchange, length, type, from, to));
  Check(sum[0][0] == size && sum[0][1] == -size && sum[0][2] == size);
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Groups of one optimizer: exchanges of different types among other ranks each, run one after the other */
static PetscErrorCode CheckGroups(void)
{
  const PetscLogDouble cost[3] = {3, 2, 1}, bytes[3] = {0, 0, 0};
  const char          *types[] = {MUONEXCHANGELAYERWISE, MUONEXCHANGESTAR, MUONEXCHANGEREPLICATED};
  MuonExchange         group[3];
  MPI_Comm             comm[3];
  PetscMPIInt          rank, size, worker[3], nworkers[3];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int g = 0; g < 3; g++) {
    /* All ranks; every second one; backwards */
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, g == 1 ? rank % 2 : 0, g == 2 ? -rank : rank, &comm[g]));
    PetscCall(MuonExchangeCreate(comm[g], &group[g]));
    PetscCall(MuonExchangeSetType(group[g], types[g]));
    PetscCall(MuonExchangeSetItems(group[g], 3 - g, ItemNames, cost, bytes));
    PetscCall(MuonExchangeSetUp(group[g]));
    PetscCall(MuonExchangeGetWorkers(group[g], &nworkers[g], &worker[g]));
  }
  Check(nworkers[0] == size && worker[0] == rank && nworkers[1] == (size + 1 - rank % 2) / 2 && worker[1] == rank / 2 && nworkers[2] == size && worker[2] == size - 1 - rank);
  for (PetscInt step = 0; step < 20; step++) {
    for (int g = 0; g < 3; g++) {
      PetscCall(MessagesPutUp(group[g], 3 - g, 10 * step + g, worker[g]));
      PetscCall(MuonExchangeUp(group[g], MUON_STATUS_OK));
    }
    for (int g = 0; g < 3; g++) {
      PetscCall(MessagesPutDown(group[g], 3 - g, 10 * step + g));
      PetscCall(MuonExchangeDown(group[g], MUON_STATUS_OK));
    }
    for (int g = 0; g < 3; g++) {
      double record = worker[g], all[8];

      for (PetscInt i = 0; i < 3 - g; i++) {
        const unsigned char *message;
        size_t               length;
        MuonStatus           status;
        PetscBool            serves;
        PetscMPIInt          owner;

        PetscCall(MuonExchangeOwns(group[g], i, &serves));
        for (PetscMPIInt w = 0; w < nworkers[g] && serves == PETSC_TRUE; w++) {
          PetscCall(MuonExchangeUpGet(group[g], w, i, &length, &message, &status));
          Check(status == MUON_STATUS_OK && MessageIs(10 * step + g, w, PETSC_FALSE, i, length, message) == PETSC_TRUE);
        }
        PetscCall(ServerOf(group[g], i, &owner));
        PetscCall(MuonExchangeDownGet(group[g], i, &length, &message, &status));
        Check(status == MUON_STATUS_OK && MessageIs(10 * step + g, owner, PETSC_TRUE, i, length, message) == PETSC_TRUE);
      }
      PetscCall(MuonExchangeGatherRecords(group[g], 1, &record, all));
      Check(all[nworkers[g] - 1] == nworkers[g] - 1);
    }
  }
  for (int g = 0; g < 3; g++) {
    PetscCall(MuonExchangeDestroy(&group[g]));
    PetscCallMPI(MPI_Comm_free(&comm[g]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changing the type, the assignment or the items of an exchange that was in use; Reset keeps the options */
static PetscErrorCode CheckReuse(void)
{
  const PetscLogDouble cost[3] = {0, 1, 2}, bytes[3] = {0, 0, 0};
  MuonExchange         exchange;
  char                 assignment[32];
  MuonExchangeMode     mode;
  PetscMPIInt          rank, size, owner;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetItems(exchange, 3, ItemNames, cost, bytes));
  PetscCall(MuonExchangeSetMode(exchange, MUON_EXCHANGE_MODE_GATHER));
  for (int t = 0; t < 4; t++) {
    PetscCall(MuonExchangeSetType(exchange, t == 1 ? MUONEXCHANGESTAR : t == 2 ? MUONEXCHANGEREPLICATED : MUONEXCHANGELAYERWISE));
    PetscCall(MuonExchangeSetUp(exchange));
    PetscCall(MuonExchangeGetOwner(exchange, 2, &owner));
    Check(owner == (t == 2 ? -1 : 0));
    PetscCall(MessagesPutUp(exchange, 3, t, rank));
    PetscCall(MuonExchangeUp(exchange, MUON_STATUS_OK));
    PetscCall(MessagesPutDown(exchange, 3, t));
    PetscCall(MuonExchangeDown(exchange, MUON_STATUS_OK));
    for (PetscInt i = 0; i < 3; i++) {
      const unsigned char *message;
      size_t               length;
      MuonStatus           status;

      PetscCall(ServerOf(exchange, i, &owner));
      PetscCall(MuonExchangeDownGet(exchange, i, &length, &message, &status));
      Check(status == MUON_STATUS_OK && MessageIs(t, owner, PETSC_TRUE, i, length, message) == PETSC_TRUE);
    }
  }
  /*
     2, 1 and 0 in the order of falling cost: lpt gives the last one to the second rank, round robin to the
     third or the first
  */
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", "roundrobin"));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeGetOwner(exchange, 0, &owner));
  Check(owner == 2 % size);
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  PetscCall(MuonObjectGetParameter((PetscObject)exchange, "muon_exchange_assignment", assignment, sizeof(assignment)));
  Check(mode == MUON_EXCHANGE_MODE_GATHER && strcmp(assignment, "roundrobin") == 0);
  PetscCall(MuonExchangeSetItems(exchange, 2, ItemNames, cost, bytes));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeGetOwner(exchange, 0, &owner));
  Check(owner == (size > 1 ? 1 : 0));
  PetscCall(MuonExchangeDestroy(&exchange));

  /* The default of the mode follows the messages and the type */
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  Check(mode == MUON_EXCHANGE_MODE_REDUCE);
  PetscCall(MuonExchangeResolveMode(exchange, PETSC_FALSE, NULL, &mode));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  Check(mode == MUON_EXCHANGE_MODE_GATHER);
  PetscCall(MuonExchangeResolveMode(exchange, PETSC_TRUE, NULL, &mode));
  Check(mode == MUON_EXCHANGE_MODE_REDUCE);
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEREPLICATED));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  Check(mode == MUON_EXCHANGE_MODE_ALLREDUCE);
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two exchanges with prefixes of their own, from the options, as they are printed */
static PetscErrorCode Print(const char prefix[])
{
  const PetscLogDouble cost[4] = {5, 3, 2, 1}, bytes[4] = {0, 0, 0, 0};
  const char          *found;
  MuonExchange         exchange;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetOptionsPrefix(exchange, prefix));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)exchange, &found));
  Check(strcmp(found, prefix) == 0);
  PetscCall(MuonExchangeSetFromOptions(exchange));
  PetscCall(MuonExchangeSetItems(exchange, 4, ItemNames, cost, bytes));
  PetscCall(MuonExchangeView(exchange, NULL));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeView(exchange, NULL));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool check = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  if (check == PETSC_TRUE) {
    PetscCall(PetscPushErrorHandler(Catch, NULL));
    PetscCall(CheckModes());
    PetscCall(CheckMistakes());
    PetscCall(CheckSizes());
    PetscCall(PetscPopErrorHandler());
    PetscCall(CheckReuse());
    PetscCall(CheckGroups());
  } else {
    PetscCall(Print("a_"));
    PetscCall(Print("b_"));
  }
  PetscCall(PetscFinalize());
  if (failures != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    suffix: check
    nsize: {{1 2 3 4}}
    args: -check

  test:
    suffix: view
    nsize: 3
    args: -a_muon_exchange_type layerwise -a_muon_exchange_assignment roundrobin -b_muon_exchange_type replicated -b_muon_exchange_mode gather

  test:
    suffix: buckets
    nsize: 3
    args: -a_muon_exchange_assignment bucketed -b_muon_exchange_type star

  test:
    suffix: type
    nsize: 2
    args: -b_muon_exchange_type ring
    error: -b_muon_exchange_type

  test:
    suffix: mode
    nsize: 2
    args: -b_muon_exchange_mode scatter
    error: scatter

TEST*/
