/*
   Step sizes by the theorems of EF21-Muon and SignMuon, and estimates of the constants that these need.
*/
#pragma once

#include "../../schedule/muonschedule.h"
#include <petscmuon/private/muonlmoimpl.h>

/* A theorem's constants, PETSC_DETERMINE if not set; measured constants of compressors; a layer's eta in multiples of the optimizer's */
typedef struct {
  PetscReal l, lt, l0, l1, l0b, l1max, sigma;
  PetscReal alpha, alpha_server, eta;
} MuonTheoryConstants;

typedef struct _n_MuonTheoryEstimates *MuonTheoryEstimates;

/* Step sizes by a theorem: what the options say, and what follows from it */
typedef struct {
  MuonTheory          type;
  MuonTheoryConstants constants; /* of all layers */
  PetscReal           h, gap, eta, beta, safety;
  PetscInt            estimate, auto_steps;
  char               *csv;
  PetscBool           signs; /* the steps are majorities of signs: another theorem */
  PetscReal           bound; /* PETSC_DETERMINE where there is none */
  char               *text;  /* what was set, from what, and the bound; NULL for none */
  PetscBool           monitor;
  MuonTheoryEstimates estimates;  /* NULL for none */
  MuonEvaluation      evaluation; /* that the program's routine is called for */
  PetscBool           asked;      /* by the routine */
} MuonTheoryData;

static inline MuonTheoryData *MuonTheoryOf(Muon muon)
{
  return (MuonTheoryData *)MuonAddonData(muon, "theory");
}

/* Constants of a layer's own */
PETSC_INTERN const MuonParameter MuonTheoryLayerParameters_Private[];

static inline MuonTheoryConstants *MuonTheoryOfLayer(MuonLayer layer)
{
  return (MuonTheoryConstants *)MuonParametersPartData((PetscObject)layer, MuonTheoryLayerParameters_Private);
}

/* What a theorem knows of a layer; constants are those of the layer's norm divided by scale x shape factor */
typedef struct {
  double l, lt, l0, l1, l0b, l1max, sigma;
  double up, down;    /* alpha of workers and of servers in the theorem's norm */
  double least, most; /* least ||X|| <= ||X||_F <= most ||X|| */
  double weight;      /* its eta in multiples of the optimizer's */
  double length;      /* largest spectral norm of a majority's step of rate 1, less scale x shape factor */
  double rate;        /* output: gamma, or t */
} MuonTheoryLayer;

/* A number that was not set is PETSC_DETERMINE; eta, beta and bound are output, too */
typedef struct {
  MuonTheory       type;
  PetscBool        signs;
  PetscInt         n;
  MuonTheoryLayer *layer;
  double           J, K; /* workers; steps */
  double           h, gap, eta, beta, bound;
} MuonTheoryProblem;

static inline double MuonTheorySquare(double x)
{
  return x * x;
}

/*
   Computes rates, the free numbers that minimize the bound, and the bound; names what is missing or excluded by the theorem,
   NULL for nothing
*/
PETSC_INTERN const char *MuonTheorySolve_Private(MuonTheoryProblem *);

/* The same with these constants in place of the options', one for each layer that is not frozen */
PETSC_INTERN PetscErrorCode MuonTheoryApply_Private(Muon, const MuonTheoryConstants[]);

/* Frees what there is of estimates, and the text */
PETSC_INTERN PetscErrorCode MuonTheoryReset_Private(Muon);
/* After the set-up; after the gradient of a step, before it changes the weights; after these changed */
PETSC_INTERN PetscErrorCode MuonTheoryEstimateSetUp_Private(Muon);
PETSC_INTERN PetscErrorCode MuonTheoryEstimateBegin_Private(Muon, MuonRecord *);
PETSC_INTERN PetscErrorCode MuonTheoryEstimateEnd_Private(Muon, PetscBool ok);
/* The table, where anything was estimated */
PETSC_INTERN PetscErrorCode MuonTheoryEstimateView_Private(Muon);
