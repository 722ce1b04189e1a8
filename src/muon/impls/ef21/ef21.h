/*
   What the files of EF21-Muon share: its state, and what is measured of compression around the commit of a step.
*/
#pragma once

#include "../../step/muonstep.h"

/*
   What one rank measured of one layer, up and down, in the Frobenius norm and in the layer's: by how much a
   message fell short, squared and relative, and what is left after it; and the bytes of its messages
*/
typedef struct {
  double contraction[2][2], lag[2][2], bytes[2];
} EF21Figures;
#define EF21_FIGURES 10

typedef struct {
  PetscBool            wanted, active; /* by the user; in this step */
  EF21Figures         *mine;           /* of this rank */
  MuonEF21Compression *result;         /* of all */
} EF21Meter;

/* State of one shard */
typedef struct {
  PetscBool      estimates; /* messages are differences to estimates of the momentum; else they are the momentum itself */
  MuonArray      Gj;        /* worker: estimate of its momentum */
  MuonArray      G;         /* server: aggregate, whose next value is shard->sum until the commit */
  MuonArray      Gnew;      /* or this one, where the driver makes the server's momentum of the sum */
  MuonCompressor first;     /* sends the first gradient whole */
} EF21Shard;

typedef struct {
  MuonCompressors all;
  MuonEF21Init    init;
  int             started; /* steps that were committed, at most 2: with depth 2 the first round is sent behind the first */
  EF21Meter       meter;
  PetscInt        errorinterval;
  PetscBool       errordue; /* after this step */
  PetscReal       error;    /* of the aggregate, as it was measured last, -1 before */
} Muon_EF21;

/* Estimates are of gradients, and the momentum is made of the aggregate */
static inline PetscBool EF21AtServer(Muon muon)
{
  return muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
}

/* Whether the first gradient is sent whole, which momentum and estimates become; so many steps were taken by then */
static inline PetscBool EF21IsFirst(Muon muon, int taken)
{
  const Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  return ef21->init == MUON_EF21_INIT_GRADIENT && ef21->started <= taken ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Before the status of a step: reports whether this one measures it. Nothing is measured, and no rank
   waits for another, in the steps of which monitors do not speak
*/
PETSC_INTERN PetscErrorCode EF21MeterBegin_Private(Muon, EF21Meter *, MuonRecord *);
/*
   What the receiver of a shard lacks of A while it has B; called before it gets the message and after. Up the
   dual norm counts
*/
PETSC_INTERN PetscErrorCode EF21Measure_Private(Muon, MuonShard *, int down, PetscBool after, const MuonArray *A, const MuonArray *B);
/* Every rank learns what the others measured */
PETSC_INTERN PetscErrorCode EF21MeterEnd_Private(Muon, EF21Meter *);
PETSC_INTERN PetscErrorCode EF21MeterSetMonitor_Private(Muon);
/* ||G - mean of G_j||, after the commit of the steps in which it is wanted */
PETSC_INTERN PetscErrorCode EF21MeasureAggregateError_Private(Muon);
/* Options */
PETSC_INTERN const MuonParameter MuonEF21Parameters_Private[];
PETSC_INTERN PetscErrorCode      MuonSetFromOptions_EF21(Muon, MuonOptionItems);
PETSC_INTERN PetscErrorCode      MuonSetObjectsFromOptions_EF21(Muon);
