static char help[] = "The owners of layers: the bound of longest job first against all assignments, ties, buckets of one shape, and the same map everywhere.\n\n";

#include <petscmuon/private/muonexchangeimpl.h>

#define MAXITEMS 9

/* The smallest possible load of the busiest rank, by trying every assignment */
static void TryAll(PetscInt n, int size, const PetscLogDouble cost[], PetscInt next, PetscLogDouble load[], PetscLogDouble *best)
{
  PetscLogDouble busiest = 0;

  for (int r = 0; r < size; r++) busiest = PetscMax(busiest, load[r]);
  if (busiest >= *best) return;
  if (next == n) {
    *best = busiest;
    return;
  }
  for (int r = 0; r < size; r++) {
    load[r] += cost[next];
    TryAll(n, size, cost, next + 1, load, best);
    load[r] -= cost[next];
    if (load[r] == 0) return; /* the other idle ranks are like this one */
  }
}

static PetscLogDouble Busiest(PetscInt n, int size, const PetscLogDouble cost[], const int owner[])
{
  PetscLogDouble busiest = 0;

  for (int r = 0; r < size; r++) {
    PetscLogDouble load = 0;

    for (PetscInt i = 0; i < n; i++) load += owner[i] == r ? cost[i] : 0;
    busiest = PetscMax(busiest, load);
  }
  return busiest;
}

/* The owners that an exchange finds; checks that all ranks find the same */
static PetscErrorCode GetOwners(MuonExchangeType type, MuonExchangeAssignment assignment, PetscInt n, const char *const names[], const PetscLogDouble cost[], const PetscLogDouble bytes[], const PetscInt *rows, const PetscInt *columns, int owner[],
                                PetscInt *wrong)
{
  MuonExchange exchange;
  PetscMPIInt  rank, size, first[MAXITEMS];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", MuonExchangeAssignments[assignment]));
  PetscCall(MuonExchangeSetItems(exchange, n, names, cost, bytes));
  if (rows != NULL) PetscCall(MuonExchangeSetItemShapes(exchange, rows, columns));
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool serves;

    PetscCall(MuonExchangeGetOwner(exchange, i, &owner[i]));
    PetscCall(MuonExchangeOwns(exchange, i, &serves));
    if (owner[i] < -1 || owner[i] >= size || serves != (owner[i] == rank || owner[i] == -1 ? PETSC_TRUE : PETSC_FALSE)) (*wrong)++;
    first[i] = owner[i];
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_INT, 0, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < n; i++) *wrong += first[i] != owner[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type of exchange that is not the library's: the last worker serves all items */
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

/* It moves poison, which is a packet like any other */
static PetscErrorCode CheckOutside(PetscInt *wrong)
{
  const char *const    names[1] = {"a"};
  const PetscLogDouble one[1]   = {1};
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           status;
  MuonExchange         exchange;
  PetscMPIInt          nworkers, worker;

  PetscFunctionBegin;
  PetscCall(MuonExchangeRegister("last", Create_Last, NULL));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetType(exchange, "last"));
  PetscCall(MuonExchangeSetItems(exchange, 1, names, one, one));
  PetscCall(MuonExchangeGetWorkers(exchange, &nworkers, &worker));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, 0));
  PetscCall(MuonExchangeUp(exchange, MUON_STATUS_NANORINF));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_DOWN, 0));
  PetscCall(MuonExchangeDown(exchange, MUON_STATUS_LMO));
  for (PetscMPIInt w = 0; w < nworkers && worker == nworkers - 1; w++) {
    PetscCall(MuonExchangeUpGet(exchange, w, 0, &bytes, &message, &status));
    if (status != MUON_STATUS_NANORINF) (*wrong)++;
  }
  PetscCall(MuonExchangeDownGet(exchange, 0, &bytes, &message, &status));
  if (status != MUON_STATUS_LMO) (*wrong)++;
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[MAXITEMS] = {"c", "a", "h", "b", "g", "d", "f", "i", "e"};
  PetscLogDouble    cost[MAXITEMS], bytes[MAXITEMS], load[64];
  PetscInt          wrong = 0, rows[MAXITEMS], columns[MAXITEMS];
  PetscMPIInt       rank, size;
  PetscRandom       random;
  int               owner[MAXITEMS], again[MAXITEMS];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  for (PetscInt trial = 0; trial < 200; trial++) {
    const PetscInt  n     = trial % (MAXITEMS + 1);
    const PetscReal bound = (PetscReal)4 / 3 - (PetscReal)1 / (3 * size);
    PetscLogDouble  best = PETSC_MAX_REAL, total = 0;
    const char     *shuffled[MAXITEMS];
    PetscLogDouble  moved[MAXITEMS], movedbytes[MAXITEMS];
    PetscInt        reached = 0;

    for (PetscInt i = 0; i < n; i++) {
      PetscReal x;

      PetscCall(PetscRandomGetValueReal(random, &x));
      /* Integers, so that sums are exact; few of them, so that there are ties */
      cost[i]  = 1 + (PetscLogDouble)(int)(trial % 3 == 0 ? 4 * x : trial % 3 == 1 ? 100 * x : 1000 * x * x * x);
      bytes[i] = (PetscLogDouble)(i % 2);
      total += cost[i];
    }
    for (int r = 0; r < size; r++) load[r] = 0;
    if (n == 0) best = 0;
    else TryAll(n, size, cost, 0, load, &best);
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, names, cost, bytes, NULL, NULL, owner, &wrong));
    if (Busiest(n, size, cost, owner) > bound * best * (1 + 10 * PETSC_MACHINE_EPSILON) || Busiest(n, size, cost, owner) < best || best * size < total) {
      if (rank == 0) fprintf(stderr, "trial %d: the busiest rank has %g, the best is %g\n", (int)trial, Busiest(n, size, cost, owner), best);
      wrong++;
    }
    /* No rank is idle while another has two: costs are positive */
    for (int r = 0; r < size; r++) {
      for (PetscInt i = 0; i < n; i++) {
        if (owner[i] == r) {
          reached++;
          break;
        }
      }
    }
    if (reached != PetscMin(n, (PetscInt)size)) wrong++;

    /* The map goes by the names: another order of the same items changes nothing */
    for (PetscInt i = 0; i < n; i++) {
      shuffled[i]   = names[(i + 4) % n];
      moved[i]      = cost[(i + 4) % n];
      movedbytes[i] = bytes[(i + 4) % n];
    }
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, shuffled, moved, movedbytes, NULL, NULL, again, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += again[i] != owner[(i + 4) % n];

    /* Round robin: the place in the order of falling cost, then bytes, then names */
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, n, names, cost, bytes, NULL, NULL, owner, &wrong));
    for (PetscInt i = 0; i < n; i++) {
      PetscInt before = 0;

      for (PetscInt j = 0; j < n; j++) {
        if (cost[j] > cost[i] || (cost[j] == cost[i] && (bytes[j] > bytes[i] || (bytes[j] == bytes[i] && strcmp(names[j], names[i]) < 0)))) before++;
      }
      wrong += owner[i] != (int)(before % size);
    }

    /*
       Bucketed: the place in that order among the items of the shape; without shapes those of the cost and
       bytes
    */
    for (int known = 0; known < 2; known++) {
      for (PetscInt i = 0; i < n; i++) {
        rows[i]    = 1 + (PetscInt)cost[i] % 2;
        columns[i] = 1 + (PetscInt)bytes[i];
      }
      PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_BUCKETED, n, names, cost, bytes, known ? rows : NULL, columns, owner, &wrong));
      for (PetscInt i = 0; i < n; i++) {
        PetscInt before = 0;

        for (PetscInt j = 0; j < n; j++) {
          if (known ? rows[i] != rows[j] || columns[i] != columns[j] : cost[i] != cost[j] || bytes[i] != bytes[j]) continue;
          if (cost[j] > cost[i] || (cost[j] == cost[i] && (bytes[j] > bytes[i] || (bytes[j] == bytes[i] && strcmp(names[j], names[i]) < 0)))) before++;
        }
        wrong += owner[i] != (int)(before % size);
      }
    }

    PetscCall(GetOwners(MUONEXCHANGESTAR, MUON_EXCHANGE_ASSIGNMENT_LPT, n, names, cost, bytes, NULL, NULL, owner, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += owner[i] != 0;
    PetscCall(GetOwners(MUONEXCHANGEREPLICATED, MUON_EXCHANGE_ASSIGNMENT_LPT, n, names, cost, bytes, NULL, NULL, owner, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += owner[i] != -1;
  }
  /* What costs nothing is spread by its bytes, then one by one */
  for (PetscInt i = 0; i < MAXITEMS; i++) cost[i] = bytes[i] = 0;
  PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, MAXITEMS, names, cost, bytes, NULL, NULL, owner, &wrong));
  for (PetscInt i = 0; i < MAXITEMS; i++) wrong += owner[i] != (names[i][0] - 'a') % size;

  /*
     The bound is reached: 2J-1, 2J-1, 2J-2, 2J-2, ..., J+1, J+1, J, J, J take 4J-1 on J ranks, where 3J would
     do
  */
  if (size > 1 && 2 * size + 1 <= MAXITEMS) {
    for (PetscInt i = 0; i < 2 * size + 1; i++) cost[i] = i == 2 * size ? size : 2 * size - 1 - i / 2;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, 2 * size + 1, names, cost, bytes, NULL, NULL, owner, &wrong));
    if (Busiest(2 * size + 1, size, cost, owner) != 4 * size - 1) wrong++;
  }
  /* and round robin misses it: 2, 1, ..., 1 take 3 on J ranks, where 2 would do */
  if (size > 1 && size + 1 <= MAXITEMS) {
    for (PetscInt i = 0; i <= size; i++) cost[i] = i == 0 ? 2 : 1;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, size + 1, names, cost, bytes, NULL, NULL, owner, &wrong));
    if (Busiest(size + 1, size, cost, owner) != 3) wrong++;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, size + 1, names, cost, bytes, NULL, NULL, owner, &wrong));
    if (Busiest(size + 1, size, cost, owner) != 2) wrong++;
  }
  PetscCall(CheckOutside(&wrong));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  if (wrong != 0) {
    fprintf(stderr, "[%d] %d wrong\n", rank, (int)wrong);
    return 1;
  }
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
