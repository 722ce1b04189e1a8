#pragma once

#include "muonslot.h"

/*
   One side of a matrix in the eigenbasis of its covariance, for SOAP. Matrices are on the host, and their rows may be distributed:
   all functions are collective on A, and basis and order are the same bits on its ranks.
*/
#define MUON_EIGENBASIS_BETA     0.95
#define MUON_EIGENBASIS_INTERVAL 10

typedef struct {
  PetscBool rows;     /* which side */
  double    beta;     /* weight of the covariance of the steps before */
  PetscInt  interval; /* steps from one basis to the next */
  int       qr;       /* the next basis is Q of the QR factorization of the covariance times this one; else it is that of LAPACK */
} MuonEigenbasis;

/* The names of qr */
PETSC_INTERN const char *const MuonEigenbasisKinds[];

enum {
  MUON_EIGENBASIS_COVARIANCE,
  MUON_EIGENBASIS_VECTORS,
  MUON_EIGENBASIS_STATES
};

/*
   Updates the covariance with the gradient G in the step after this number of steps, and the basis, which is computed after the first step and
   then at the interval. *order, in scratch, has the old index of each new vector, and is NULL if the order does not change
*/
PETSC_INTERN PetscErrorCode MuonEigenbasisUpdate(MuonLayer, const MuonEigenbasis *, const MuonMatrix *G, double steps, MuonSlotState state[MUON_EIGENBASIS_STATES], PetscInt **order, MuonStatus *);
/* B = Q^T A for rows, A Q for columns; back: Q A, A Q^T */
PETSC_INTERN PetscErrorCode MuonEigenbasisTurn(MuonLayer, PetscBool rows, const MuonMatrix *A, const MuonArray *Q, PetscBool back, const MuonArray *B);
/* The lines of A change places */
PETSC_INTERN PetscErrorCode MuonEigenbasisSort(MuonLayer, PetscBool rows, const MuonMatrix *A, const PetscInt order[]);
