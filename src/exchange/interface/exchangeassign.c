#include <petscmuon/private/muonexchangeimpl.h>

typedef struct {
  const MuonExchangeItem *item;
  PetscBool               bucketed;
} MuonAssignment;

/*
   Larger cost first, then more bytes, then the name: an order that does not depend on the order of the given items. In buckets
   the items of one shape are consecutive, in that order
*/
static int MuonAssignmentCompare_Private(const void *a, const void *b, void *ctx)
{
  const MuonAssignment   *by = (const MuonAssignment *)ctx;
  const MuonExchangeItem *i = &by->item[*(const PetscInt *)a], *j = &by->item[*(const PetscInt *)b];

  if (by->bucketed && i->rows != j->rows) return i->rows > j->rows ? -1 : 1;
  if (by->bucketed && i->columns != j->columns) return i->columns > j->columns ? -1 : 1;
  if (i->cost != j->cost) return i->cost > j->cost ? -1 : 1;
  if (i->bytes != j->bytes) return i->bytes > j->bytes ? -1 : 1;
  return strcmp(i->name, j->name);
}

PetscErrorCode MuonAssignOwners_Private(MuonExchangeAssignment assignment, PetscInt n, const MuonExchangeItem item[], PetscMPIInt size, PetscMPIInt owner[])
{
  MuonAssignment  by = {item, assignment == MUON_EXCHANGE_ASSIGNMENT_BUCKETED ? PETSC_TRUE : PETSC_FALSE};
  PetscLogDouble *cost, *bytes;
  PetscInt       *sorted, *count;
  PetscMPIInt     next = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &sorted));
  PetscCall(PetscCalloc3(size, &cost, size, &bytes, size, &count));
  for (PetscInt i = 0; i < n; i++) sorted[i] = i;
  if (n > 1) PetscCall(PetscTimSort(n, sorted, sizeof(*sorted), MuonAssignmentCompare_Private, &by));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i = sorted[k], before = sorted[PetscMax(k - 1, 0)];

    if (by.bucketed && (item[i].rows != item[before].rows || item[i].columns != item[before].columns)) next = 0;
    owner[i] = next;
    next     = (next + 1) % size;
    if (assignment != MUON_EXCHANGE_ASSIGNMENT_LPT) continue;
    owner[i] = 0;
    for (PetscMPIInt r = 1; r < size; r++) {
      const PetscMPIInt best = owner[i];

      /* Bytes and items spread what costs nothing */
      if (cost[r] < cost[best] || (cost[r] == cost[best] && (bytes[r] < bytes[best] || (bytes[r] == bytes[best] && count[r] < count[best])))) owner[i] = r;
    }
    cost[owner[i]] += item[i].cost;
    bytes[owner[i]] += item[i].bytes;
    count[owner[i]]++;
  }
  PetscCall(PetscFree3(cost, bytes, count));
  PetscCall(PetscFree(sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}
