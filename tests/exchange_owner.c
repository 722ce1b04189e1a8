static char help[] = "The owners of layers: the bound of longest job first against all assignments, ties, buckets of one shape, and the same map everywhere.\n\n";

#include <petscmuon/private/muonexchangeimpl.h>

#define MAXITEMS 9

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

/* The owners that an exchange finds; checks that all ranks find the same */
static PetscErrorCode GetOwners(MuonExchangeType type, MuonExchangeAssignment assignment, PetscInt n, const MuonExchangeItem item[], int owner[], PetscInt *wrong)
{
  MuonExchange exchange;
  PetscMPIInt  rank, size, first[MAXITEMS];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonExchangeCreate(PETSC_COMM_WORLD, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", MuonExchangeAssignments[assignment]));
  PetscCall(MuonExchangeSetItems(exchange, n, item));
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscInt i = 0; i < n; i++) {
    owner[i] = exchange->everywhere ? -1 : exchange->owner[i];
    if (owner[i] < -1 || owner[i] >= size || (exchange->everywhere && exchange->owner[i] != rank)) (*wrong)++;
    first[i] = owner[i];
  }
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_INT, 0, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < n; i++) *wrong += first[i] != owner[i];
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
static PetscErrorCode CheckOutside(PetscInt *wrong)
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
    if (status != MUON_STATUS_NANORINF) (*wrong)++;
  }
  PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_DOWN, 0, 0, &bytes, &message, &status));
  if (status != MUON_STATUS_LMO) (*wrong)++;
  PetscCall(MuonExchangeDestroy(&exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether item j comes before i where owners are sought */
static PetscBool Before(const MuonExchangeItem *j, const MuonExchangeItem *i)
{
  return j->cost > i->cost || (j->cost == i->cost && (j->bytes > i->bytes || (j->bytes == i->bytes && strcmp(j->name, i->name) < 0))) ? PETSC_TRUE : PETSC_FALSE;
}

int main(int argc, char **argv)
{
  const char *const names[MAXITEMS] = {"c", "a", "h", "b", "g", "d", "f", "i", "e"};
  MuonExchangeItem  item[MAXITEMS], shuffled[MAXITEMS];
  PetscLogDouble    load[64];
  PetscInt          wrong = 0;
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
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner, &wrong));
    if (Busiest(n, size, item, owner) > bound * best * (1 + 10 * PETSC_MACHINE_EPSILON) || Busiest(n, size, item, owner) < best || best * size < total) {
      if (rank == 0) fprintf(stderr, "trial %d: the busiest rank has %g, the best is %g\n", (int)trial, Busiest(n, size, item, owner), best);
      wrong++;
    }
    /* No rank is idle while another has two: costs are positive */
    for (PetscInt i = 0; i < n; i++) reached[owner[i]] = PETSC_TRUE;
    for (int r = 0; r < PetscMin(n, (PetscInt)size); r++) wrong += reached[r] == PETSC_FALSE;

    /* The map goes by the names: another order of the same items changes nothing */
    for (PetscInt i = 0; i < n; i++) shuffled[i] = item[(i + 4) % n];
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, n, shuffled, again, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += again[i] != owner[(i + 4) % n];

    /* Round robin: the place in the order of falling cost, then bytes, then names; bucketed: among the items of the shape */
    for (int shapes = 0; shapes < 2; shapes++) {
      PetscCall(GetOwners(MUONEXCHANGELAYERWISE, shapes ? MUON_EXCHANGE_ASSIGNMENT_BUCKETED : MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, n, item, owner, &wrong));
      for (PetscInt i = 0; i < n; i++) {
        PetscInt before = 0;

        for (PetscInt j = 0; j < n; j++) {
          if (shapes && (item[i].rows != item[j].rows || item[i].columns != item[j].columns)) continue;
          if (Before(&item[j], &item[i])) before++;
        }
        wrong += owner[i] != (int)(before % size);
      }
    }
    PetscCall(GetOwners(MUONEXCHANGESTAR, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += owner[i] != 0;
    PetscCall(GetOwners(MUONEXCHANGEREPLICATED, MUON_EXCHANGE_ASSIGNMENT_LPT, n, item, owner, &wrong));
    for (PetscInt i = 0; i < n; i++) wrong += owner[i] != -1;
  }
  /* What costs nothing is spread by its bytes, then one by one */
  for (PetscInt i = 0; i < MAXITEMS; i++) item[i].cost = item[i].bytes = 0;
  PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, MAXITEMS, item, owner, &wrong));
  for (PetscInt i = 0; i < MAXITEMS; i++) wrong += owner[i] != (names[i][0] - 'a') % size;

  /*
     The bound is reached: 2J-1, 2J-1, 2J-2, 2J-2, ..., J+1, J+1, J, J, J take 4J-1 on J ranks, where 3J would
     do
  */
  if (size > 1 && 2 * size + 1 <= MAXITEMS) {
    for (PetscInt i = 0; i < 2 * size + 1; i++) item[i].cost = i == 2 * size ? size : 2 * size - 1 - i / 2;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, 2 * size + 1, item, owner, &wrong));
    if (Busiest(2 * size + 1, size, item, owner) != 4 * size - 1) wrong++;
  }
  /* and round robin misses it: 2, 1, ..., 1 take 3 on J ranks, where 2 would do */
  if (size > 1 && size + 1 <= MAXITEMS) {
    for (PetscInt i = 0; i <= size; i++) item[i].cost = i == 0 ? 2 : 1;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN, size + 1, item, owner, &wrong));
    if (Busiest(size + 1, size, item, owner) != 3) wrong++;
    PetscCall(GetOwners(MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT, size + 1, item, owner, &wrong));
    if (Busiest(size + 1, size, item, owner) != 2) wrong++;
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
