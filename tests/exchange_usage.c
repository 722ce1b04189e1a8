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
    {MUONEXCHANGESHARDED,    PETSC_TRUE,  {PETSC_TRUE,  PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_REDUCE},
    {MUONEXCHANGEREPLICATED, PETSC_TRUE,  {PETSC_FALSE, PETSC_TRUE,  PETSC_TRUE}, MUON_EXCHANGE_MODE_ALLREDUCE},
    {MUONEXCHANGESTAR,       PETSC_FALSE, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_GATHER},
    {MUONEXCHANGESHARDED,    PETSC_FALSE, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, MUON_EXCHANGE_MODE_GATHER},
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
        const char *const      offender = (MuonExchangeMode)m == sum ? culprit : table[row].type;

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
  Fails(MuonExchangeSetType(exchange, "ring"), PETSC_ERR_ARG_UNKNOWN_TYPE, "ring", "-muon_exchange_type", "sharded");
  Fails(MuonExchangeSetMode(exchange, (MuonExchangeMode)3), PETSC_ERR_ARG_OUTOFRANGE, "mode", "3", "");
  Fails(MuonExchangeSetAssignment(exchange, (MuonExchangeAssignment)2), PETSC_ERR_ARG_OUTOFRANGE, "assignment", "2", "");
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
  Check(strcmp(type, MUONEXCHANGESHARDED) == 0);
  Fails(MuonExchangeGetOwner(exchange, 3, &owner), PETSC_ERR_ARG_OUTOFRANGE, "3", "[0,3)", "");
  Fails(MuonExchangeServes(exchange, -1, &serves), PETSC_ERR_ARG_OUTOFRANGE, "-1", "[0,3)", "");

  /* The order of the calls of a step; all of these fail before anything is sent */
  PetscCall(MuonExchangeGetOrder(exchange, &order));
  Fails(MuonExchangeUpReserve(exchange, order[0], 100, &to), PETSC_ERR_ORDER, "Begin", "", "");
  Fails(MuonExchangeUp(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "Begin", "", "");
  Fails(MuonExchangeDown(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "Begin", "", "");
  PetscCall(MuonExchangeUpBegin(exchange, 0));
  Fails(MuonExchangeUpReserve(exchange, order[1], 100, &to), PETSC_ERR_ORDER, ItemNames[order[1]], "", "");
  Fails(MuonExchangeUpOwn(exchange, order[0], &length, &message), PETSC_ERR_ORDER, "", "", "");
  PetscCall(MuonExchangeUpReserve(exchange, order[0], 30, &to));
  Fails(MuonExchangeUpAdvance(exchange, order[0], 31), PETSC_ERR_ARG_SIZ, "31", "30", ItemNames[order[0]]);
  Fails(MuonExchangeUpAdvance(exchange, order[1], 30), PETSC_ERR_ORDER, ItemNames[order[1]], "", "");
  Fails(MuonExchangeUp(exchange, MUON_STATUS_OK), PETSC_ERR_ORDER, "no message", "", "");
  Fails(MuonExchangeUpGet(exchange, 0, rank % 3, &length, &message, &status), (rank < 3 && exchange->owner[rank % 3] == rank) ? PETSC_ERR_ORDER : PETSC_ERR_ARG_WRONG, "", "", "");
  Fails(MuonExchangeDownGet(exchange, 0, &length, &message, &status), PETSC_ERR_ORDER, "MuonExchangeDown", "", "");
  if (size > 1) {
    PetscCall(MuonExchangeDownBegin(exchange, 0));
    Fails(MuonExchangeDownReserve(exchange, rank == 0 ? 1 : 0, 30, &to), PETSC_ERR_ARG_WRONG, ItemNames[rank == 0 ? 1 : 0], "served by rank", "");
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changing the type, the assignment or the items of an exchange that was in use; Reset keeps the options */
static PetscErrorCode CheckReuse(void)
{
  const PetscLogDouble   cost[3] = {0, 1, 2}, bytes[3] = {0, 0, 0};
  MuonExchange           exchange;
  MuonExchangeAssignment assignment;
  MuonExchangeMode       mode;
  PetscMPIInt            rank, size, owner;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetItems(exchange, 3, ItemNames, cost, bytes));
  PetscCall(MuonExchangeSetMode(exchange, MUON_EXCHANGE_MODE_GATHER));
  for (int t = 0; t < 4; t++) {
    PetscCall(MuonExchangeSetType(exchange, t == 1 ? MUONEXCHANGESTAR : t == 2 ? MUONEXCHANGEREPLICATED : MUONEXCHANGESHARDED));
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
  /* 2, 1 and 0 in the order of falling cost: lpt gives the last one to the second rank, round robin to the third or the first */
  PetscCall(MuonExchangeSetAssignment(exchange, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN));
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(MuonExchangeGetOwner(exchange, 0, &owner));
  Check(owner == 2 % size);
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  PetscCall(MuonExchangeGetAssignment(exchange, &assignment));
  Check(mode == MUON_EXCHANGE_MODE_GATHER && assignment == MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN);
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
  PetscCall(MuonExchangeGetOptionsPrefix(exchange, &found));
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
    PetscCall(PetscPopErrorHandler());
    PetscCall(CheckReuse());
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
    args: -a_muon_exchange_type sharded -a_muon_exchange_assignment roundrobin -b_muon_exchange_type replicated -b_muon_exchange_mode gather

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
