/*
   What the methods share that apply an odd polynomial p(x) = c1 x + c2 x^3 + c3 x^5 to the singular values in
   each step: which polynomials those are, and a step on the panel.
*/
#pragma once

#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarkernels.h"

#define MAXMUONPOLARROWS 32 /* the polynomials that a user may give */

/*
   Of a matrix with the sides s <= l, and on no rank less than least of the longer: in last whether the Gram
   matrix is formed anew after each step, in anew whether it is after all. In a batch what is said of its
   longest matrix holds for all
*/
typedef PetscErrorCode (*MuonPolarSegmentsFn)(MuonPolar, PetscInt steps, size_t s, size_t least, PetscBool last[], PetscBool *anew);

/* The data of a type begins with this */
typedef struct {
  PetscInt                    steps;        /* PETSC_DETERMINE: what the polynomials were made for */
  char                       *coefficients; /* the name of a set */
  char                       *values;       /* three for each step in place of the set; NULL for none */
  int                         normalization;
  PetscInt                    iterations;
  const MuonKernelPolynomial *known;    /* the set; NULL where the values replace it */
  MuonPolarSegmentsFn         segments; /* NULL: all steps are anew */
  PetscInt                    nrows;
  double                      c[3 * MAXMUONPOLARROWS];
} MuonPolarPolynomials;

#define MUON_POLAR_POLYNOMIALS_ROW(key, kind, field, ...) MUON_ROW(key, kind, MuonPolarPolynomials, field, __VA_ARGS__)
/* The rows of each such type */
#define MUON_POLAR_POLYNOMIALS_ROWS \
  MUON_POLAR_POLYNOMIALS_ROW("normalization", ENUM, normalization, MUON_POLAR_NORMALIZATION_FROBENIUS, 0, MUON_UNBOUNDED, MuonPolarNormalizations, 0, "What the matrix is divided by first"), \
    MUON_POLAR_POLYNOMIALS_ROW("power_iterations", INT, iterations, 2, 1, MUON_UNBOUNDED, NULL, 0, "Iterations of the spectral normalization"), \
    MUON_POLAR_POLYNOMIALS_ROW("coefficients", TEXT, coefficients, 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_HIDDEN, "Name of the polynomials"), \
    MUON_POLAR_POLYNOMIALS_ROW("coefficient_values", TEXT, values, 0, 0, MUON_UNBOUNDED, NULL, 0, "Three coefficients for each step"), \
    MUON_POLAR_POLYNOMIALS_ROW("steps", INT, steps, PETSC_DETERMINE, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Number of steps")

/*
   For a type's create(), with its data in place: the operations that all of them have, the name of a set, and
   how its Gram matrices are formed
*/
PETSC_INTERN PetscErrorCode MuonPolarSetPolynomials(MuonPolar, MuonPolarCoefficients, MuonPolarSegmentsFn);
PETSC_INTERN PetscErrorCode MuonPolarCheckText_Polynomials(MuonPolar, const char key[], const char value[]);
/* Reads name and values, once they may have changed */
PETSC_INTERN PetscErrorCode MuonPolarReadPolynomials(MuonPolar);
PETSC_INTERN PetscInt       MuonPolarPolynomialsSteps(const MuonPolarPolynomials *);
/* Those of a step, 0 first; values of the user repeat the last ones */
PETSC_INTERN void           MuonPolarPolynomialsRow(const MuonPolarPolynomials *, PetscInt step, double c[3]);
PETSC_INTERN PetscErrorCode MuonPolarView_Polynomials(MuonPolar, PetscViewer);
/*
   Of matrices with a shorter side s and longer sides in decreasing order, how many from the first on are in a
   batch, padded to the first one's. All that have it; and shorter ones while one of the first keeps no GPU
   busy alone and all of the padded batch are at most 5/4 of what they were: of the work the part with the
   longer side grows by that, the rest does not
*/
PETSC_INTERN PetscInt MuonPolarPadded_Private(PetscInt n, size_t s, const size_t longer[]);
