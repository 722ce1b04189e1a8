/*
   Ports: on every rank of a worker the input of a layer's gradients and the output of its weights. If the ranks of a node are one worker
   (-muon_node_size), layers are whole on each of them, and one rank, at the home of the layer, has all of its state; the others give their
   gradients and get the weights.
*/
#pragma once

#include <petscmuon/private/petscmuonimpl.h>

struct _p_Muon;
struct _n_MuonShard;
struct _n_MuonGroup;

/* Where a layer is, by numbers in whose order groups are made: depth and phase of its rounds, its grid, its home */
enum {
  MUON_PLACE_DEPTH,
  MUON_PLACE_PHASE,
  MUON_PLACE_GRID,
  MUON_PLACE_HOME, /* -1 where every position in a worker has rows of its own */
  MUON_PLACES
};
typedef PetscInt MuonPlace[MUON_PLACES];

typedef struct {
  PetscInt node_size;
} MuonPortOptions;

/* A sum of whole gradients: numbers and memory that MPI reads until it is done */
typedef struct {
  PetscMPIInt *counts;    /* of entries on each rank */
  MuonArray    packed;    /* the whole gradient with the rows of each rank side by side */
  MuonArray    staged[2]; /* on the host: the whole gradient and the rows, where they are in the memory of a device */
  MPI_Request  request;   /* MPI_REQUEST_NULL without a sum in flight */
} MuonPortSum;

/*
   If a layer is whole on each of several ranks, its gradients are summed and its weights are gathered
*/
typedef struct {
  struct _n_MuonShard *shard;
  PetscMPIInt          home;
  PetscInt            *ranges; /* of the layer's rows on the ranks of the worker, NULL where one rank has all */
  PetscBool            whole;  /* on each of several ranks, which keep rows of its state, or one of them all of it */
  PetscInt             ready;  /* calls of MuonLayerGradientReady() since the last step */
  PetscBool            begun;  /* the sum of T over the workers is in flight in the exchange */
  MuonArray            mean;   /* of whole gradients, each of one rank of the worker: the rows that this rank has of it */
  MuonPortSum         *sum;
} MuonPort;

/* Whether ranks at a position take part in the rounds of a shard, or this rank does; how many ranks of the optimizer do */
PETSC_EXTERN PetscBool   MuonPortServesAt(const MuonPort *, PetscMPIInt position);
PETSC_EXTERN PetscBool   MuonPortServes(const MuonPort *);
PETSC_EXTERN PetscMPIInt MuonPortCountRanks(const MuonPort *);
/* Whether an earlier group differs in its home alone: the two are served by other ranks of the same nodes, whose link they share */
PETSC_EXTERN PetscBool MuonGroupFollows(struct _p_Muon *, const struct _n_MuonGroup *);
/* Of a layer, by its number: whether this rank is the first of its worker with state; whether all ranks of a worker have its weights, and one of them its state */
PETSC_EXTERN PetscBool MuonPortLeads(struct _p_Muon *, PetscInt l);
PETSC_EXTERN PetscBool MuonPortShares(struct _p_Muon *, PetscInt l);
/* For the view: what its owner is, a rank, a node or a worker, and which of a node's ranks has the layer, or an empty text */
PETSC_EXTERN PetscErrorCode MuonPortDescribe(const MuonPort *, const char **owner, size_t, char text[]);
