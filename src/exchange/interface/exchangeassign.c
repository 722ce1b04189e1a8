#include <petscmuon/private/muonexchangeimpl.h>

/*
   Larger cost first, then more bytes, then the name: an order that does not depend on the order in which the
   items were given
*/
static int MuonAssignmentCompare_Private(const void *a, const void *b, void *ctx)
{
  const MuonAssignmentItems *items = (const MuonAssignmentItems *)ctx;
  const PetscInt             i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  if (items->cost[i] != items->cost[j]) return items->cost[i] > items->cost[j] ? -1 : 1;
  if (items->bytes[i] != items->bytes[j]) return items->bytes[i] > items->bytes[j] ? -1 : 1;
  return strcmp(items->names[i], items->names[j]);
}

/* The items of one shape one after the other, in that order among themselves */
static int MuonAssignmentCompareShapes_Private(const void *a, const void *b, void *ctx)
{
  const MuonAssignmentItems *items = (const MuonAssignmentItems *)ctx;
  const PetscInt             i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  if (items->rows != NULL && items->rows[i] != items->rows[j]) return items->rows[i] > items->rows[j] ? -1 : 1;
  if (items->rows != NULL && items->columns[i] != items->columns[j]) return items->columns[i] > items->columns[j] ? -1 : 1;
  return MuonAssignmentCompare_Private(a, b, ctx);
}

static PetscBool MuonAssignmentSameShape_Private(const MuonAssignmentItems *items, PetscInt i, PetscInt j)
{
  if (items->rows != NULL) return items->rows[i] == items->rows[j] && items->columns[i] == items->columns[j] ? PETSC_TRUE : PETSC_FALSE;
  return items->cost[i] == items->cost[j] && items->bytes[i] == items->bytes[j] ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Where each item is among those of its shape; sorted[] are the items by shapes. buckets and places are how
   many shapes there are, and items and pads
*/
static PetscErrorCode MuonAssignmentBuckets_Private(const MuonAssignmentItems *items, PetscMPIInt size, PetscInt sorted[], PetscInt place[], PetscInt *buckets, PetscInt *places)
{
  const PetscInt n = items->n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) sorted[i] = i;
  if (n > 1) PetscCall(PetscTimSort(n, sorted, sizeof(*sorted), MuonAssignmentCompareShapes_Private, (void *)items));
  *buckets = *places = 0;
  for (PetscInt k = 0; k < n; k++) {
    const PetscBool begins = k == 0 || MuonAssignmentSameShape_Private(items, sorted[k - 1], sorted[k]) == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;

    place[sorted[k]] = begins == PETSC_TRUE ? 0 : place[sorted[k - 1]] + 1;
    if (begins == PETSC_TRUE) (*buckets)++;
    if (place[sorted[k]] % size == 0) *places += size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssignOwners_Private(MuonExchangeAssignment assignment, const MuonAssignmentItems *items, PetscMPIInt size, PetscMPIInt owner[])
{
  const PetscInt  n = items->n;
  PetscLogDouble *cost, *bytes;
  PetscInt       *sorted, *place, *count, buckets, places;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &sorted, n, &place));
  if (assignment == MUON_EXCHANGE_ASSIGNMENT_BUCKETED) {
    PetscCall(MuonAssignmentBuckets_Private(items, size, sorted, place, &buckets, &places));
    for (PetscInt i = 0; i < n; i++) owner[i] = (PetscMPIInt)(place[i] % size);
    PetscCall(PetscFree2(sorted, place));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCalloc3(size, &cost, size, &bytes, size, &count));
  for (PetscInt i = 0; i < n; i++) sorted[i] = i;
  if (n > 1) PetscCall(PetscTimSort(n, sorted, sizeof(*sorted), MuonAssignmentCompare_Private, (void *)items));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i    = sorted[k];
    PetscMPIInt    best = 0;

    if (assignment == MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN) best = (PetscMPIInt)(k % size);
    else {
      for (PetscMPIInt r = 1; r < size; r++) {
        /* Bytes and items spread what costs nothing */
        if (cost[r] < cost[best] || (cost[r] == cost[best] && (bytes[r] < bytes[best] || (bytes[r] == bytes[best] && count[r] < count[best])))) best = r;
      }
    }
    owner[i] = best;
    cost[best] += items->cost[i];
    bytes[best] += items->bytes[i];
    count[best]++;
  }
  PetscCall(PetscFree3(cost, bytes, count));
  PetscCall(PetscFree2(sorted, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAssignmentView_Private(MuonExchangeAssignment assignment, const MuonAssignmentItems *items, PetscMPIInt size, const PetscMPIInt owner[], const char member[], PetscViewer viewer)
{
  const PetscInt n     = items->n;
  PetscLogDouble total = 0, most = 0, *cost;
  PetscMPIInt    idle = 0;
  PetscInt      *count, *sorted, *place, buckets, places;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS); /* of an exchange that is only the options of others */
  PetscCall(PetscCalloc2(size, &cost, size, &count));
  for (PetscInt i = 0; i < n; i++) {
    cost[owner[i]] += items->cost[i];
    count[owner[i]]++;
    total += items->cost[i];
  }
  for (PetscMPIInt r = 0; r < size; r++) {
    most = PetscMax(most, cost[r]);
    if (count[r] == 0) idle++;
  }
  PetscCall(PetscFree2(cost, count));
  PetscCall(PetscViewerASCIIPrintf(viewer, "load: the busiest %s has %.3f times the mean cost, %d of %d %ss serve nothing\n", member, total > 0 ? (double)(most * size / total) : 1., idle, size, member));
  if (assignment != MUON_EXCHANGE_ASSIGNMENT_BUCKETED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(n, &sorted, n, &place));
  PetscCall(MuonAssignmentBuckets_Private(items, size, sorted, place, &buckets, &places));
  PetscCall(PetscFree2(sorted, place));
  PetscCall(PetscViewerASCIIPrintf(viewer, "buckets: %" PetscInt_FMT " shapes, %" PetscInt_FMT " of %" PetscInt_FMT " places are padding\n", buckets, places - n, places));
  PetscFunctionReturn(PETSC_SUCCESS);
}
