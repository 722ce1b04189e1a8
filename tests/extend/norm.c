/*
   A norm that the library does not have: the sum of the Euclidean norms of the rows. Its LMO puts everything on the largest row, the first of several
*/
#include <petscmuon/private/muonlmoimpl.h>
#include "extend.h"

static double Get(const MuonArray *A, size_t i, size_t j)
{
  const void *at = MuonArrayAt(A, i, j);

  return A->precision == MUON_SINGLE ? (double)*(const float *)at : *(const double *)at;
}

static void Set(const MuonArray *A, size_t i, size_t j, double value)
{
  void *at = MuonArrayAt(A, i, j);

  if (A->precision == MUON_SINGLE) *(float *)at = (float)value;
  else *(double *)at = value;
}

/* The largest norm of a row and its number in the whole matrix, and the sum of all */
static PetscErrorCode RowNorms(const MuonMatrix *G, double *largest, PetscInt *which, double *sum)
{
  struct {
    double norm;
    int    row;
  } best = {-1, 0};

  PetscFunctionBegin;
  *sum = 0;
  for (size_t i = 0; i < MuonArrayRows(&G->here); i++) {
    double norm = 0;

    for (size_t j = 0; j < MuonArrayColumns(&G->here); j++) norm = hypot(norm, Get(&G->here, i, j));
    if (norm > best.norm) {
      best.norm = norm;
      best.row  = (int)(G->first + (PetscInt)i);
    }
    *sum += norm;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, G->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, G->comm));
  *largest = PetscMax(best.norm, 0.0);
  *which   = best.row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_RowL21(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  double   sum;
  PetscInt row;

  PetscFunctionBegin;
  PetscCall(RowNorms(G, dual, &row, &sum));
  for (size_t i = 0; i < MuonArrayRows(&G->here); i++) {
    const PetscBool whole = G->first + (PetscInt)i == row && *dual > 0 ? PETSC_TRUE : PETSC_FALSE;

    for (size_t j = 0; j < MuonArrayColumns(&G->here); j++) Set(&D->here, i, j, whole == PETSC_TRUE ? -Get(&G->here, i, j) / *dual : 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_RowL21(MuonLMO lmo, PetscBool dual, const MuonMatrix *G, double *norm)
{
  double   other;
  PetscInt row;

  PetscFunctionBegin;
  PetscCall(RowNorms(G, dual ? norm : &other, &row, dual ? &other : norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_RowL21(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 2.0 * (PetscLogDouble)m * (PetscLogDouble)n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOCreate_RowL21(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_RowL21;
  lmo->ops->norm     = MuonLMONorm_RowL21;
  lmo->ops->getflops = MuonLMOGetFlops_RowL21;
  PetscFunctionReturn(PETSC_SUCCESS);
}
