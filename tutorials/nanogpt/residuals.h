/*
   What messages of EF21-Muon are made of, saved from a run: of each layer what rank 0 encodes on the way up,
   M_j - G_j with the new momentum, and what the layer's server encodes on the way down, X - W with the new X.
   A file has these two matrices of every layer that is not frozen, in the order of the layers, and so on for
   each step that is wanted and that was not left out because of NaN or Inf.
*/
#pragma once

#include <petscmuon.h>

typedef struct _n_Residuals *Residuals;

/*
   file gets the residuals of these steps of an optimizer of type ef21 whose layers are known; whatever it had
   is gone
*/
PetscErrorCode ResidualsCreate(const char file[], PetscInt nsteps, const PetscInt steps[], Muon, Residuals *);
/* Before a step of an optimizer that is set up, by all ranks: keeps G_j and W, if the step is wanted */
PetscErrorCode ResidualsBefore(Residuals, Muon);
/* In the step, where the gradients are: what is sent where there is no momentum is gone after it */
PetscErrorCode ResidualsGradient(Residuals, Muon);
/* After it, by all ranks: writes to the file */
PetscErrorCode ResidualsAfter(Residuals, Muon, PetscInt step);
PetscErrorCode ResidualsDestroy(Residuals *);
