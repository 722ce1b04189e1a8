/*
   The working copy of a matrix from which the iterative methods compute its polar factor: in the precision of
   the kernel, divided by a norm, and the same to a method whether the matrix lies on one rank or with its
   rows on many, and in which precision and order its entries are.

   The short side s is whole on every rank, the long side is cut: this rank has local of its l extents, 0
   being legal. A method reduces to three operations, the Gram matrix of the short side (one sum over the
   ranks), arithmetic on s x s matrices that every rank does alike, and the product of such a matrix with the
   panel, which is local. Symmetric s x s matrices are their lower triangles; what lies above is scratch.

   A panel may be a batch of panels of sequential matrices in the memory of a device, one behind the other:
   products, Gram matrices and what belongs to them are so many then. Shorter ones get columns, or rows, of
   zeros, which add nothing to the Gram matrix and stay zero.
*/
#pragma once

#include <petscmuon/private/muonpolarimpl.h>
#include "../kernels/dense/muonpolarreal.h"

typedef struct {
  const MuonKernelReal *real;
  MuonPolar             polar; /* whose scratch memory this uses; the operations below log their flops */
  const MuonMatrix     *G;     /* the first matrix, which stays as long as the panel */
  size_t                count; /* of matrices */
  MPI_Comm              comm;  /* of G */
  PetscMPIInt           size;
  int                   left;        /* Y is s x local, else local x s: as the lines of the array lie, so that nothing is transposed */
  size_t                s, l, local; /* l is the longest */
  PetscBool             whole;       /* set by a method with memory for a second panel: products are made at once, without a copy */
  void                 *Y;           /* without padding between columns */
  void                 *Z;           /* a second panel, NULL as long as there is none */
  PetscBool             cut;         /* the columns were dealt to the ranks: store sends them back */
  double                scale;       /* the task's: what the factor is multiplied by when it is stored */
  size_t                ldy, ldz;    /* the distances of columns in a panel that is the matrix and in its factor, else 0 */
  double                factor;      /* what the entries are to be multiplied by, which the Gram matrix and the product are; 1 in a loaded panel */
} MuonPolarPanel;

/*
   Collective on the matrix of a task, which is divided by its Frobenius norm. A rank that holds nothing takes
   part in everything. The panel is scratch, of which the caller has the mark; Store writes scale times the
   panel of a number to the matrix that has the layout of its G
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelLoad(MuonPolar, const MuonKernelReal *, size_t n, MuonPolarTask *const[], MuonPolarPanel *);
PETSC_INTERN PetscErrorCode MuonPolarPanelStore(MuonPolarPanel *, size_t number, double scale, const MuonMatrix *Q);
/*
   A panel for a method that needs its Gram matrix and one product, which may be made where the factor belongs.
   It is the matrix itself where that is on one host in the precision of the kernel, which saves three passes
   over memory, and else the matrix divided by a power of two: the result is the same to the last bit
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelOpen(MuonPolar, const MuonKernelReal *, MuonPolarTask *, MuonPolarPanel *);
/*
   A = the Gram matrix of the short side, the same bits on all ranks, contiguous with leading dimension s;
   collective
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelGram(MuonPolarPanel *, void *A);
/*
   The sum over the ranks of the first so many columns of a lower triangle with leading dimension s: 1 for a
   vector, s for a matrix. Collective
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelSum(MuonPolarPanel *, size_t columns, void *A);
/*
   Y = scale B Y on the short side, B symmetric, with scratch for a strip of the long side, or for a second panel
   where whole says so; held is what the kernel hold() made of B, or NULL; local
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelMultiply(MuonPolarPanel *, double scale, const void *B, const void *held);
/* Gets that second panel; to be called before a mark that is released earlier than the panel */
PETSC_INTERN PetscErrorCode MuonPolarPanelReserve(MuonPolarPanel *);
/* The least extents of the long side that a rank has, which every rank knows without asking */
PETSC_INTERN size_t MuonPolarPanelLeast(const MuonPolarPanel *);
/* The extents of the long side in a strip */
PETSC_INTERN size_t MuonPolarPanelGetStrip(const MuonPolarPanel *);
/* What products count as one of their operations: a complex product is four real ones */
static inline PetscLogDouble MuonPolarPanelFlops(const MuonPolarPanel *p)
{
  return (PetscLogDouble)(p->real->parts * p->real->parts);
}
/* The distance of its columns */
PETSC_INTERN size_t MuonPolarPanelLD(const MuonPolarPanel *);
/* v = n numbers with reals in [-1,1), the same on all ranks, and generic: no eigenvector */
PETSC_INTERN PetscErrorCode MuonPolarPanelDraw(const MuonKernelReal *, size_t n, uint64_t seed, void *v);
/* Y = c1 Y + c2 B Y + c3 B B Y in the same way */
PETSC_INTERN PetscErrorCode MuonPolarPanelUpdate(MuonPolarPanel *, double c1, double c2, double c3, const void *B);
/*
   What divides the panel beyond its Frobenius norm for MUON_POLAR_NORMALIZATION_SPECTRAL, from the Gram
   matrix A, whose upper triangle is not read; a method divides, or changes its first polynomial with
   MuonKernelPolynomialDivide(). The same bits on all ranks, no communication; its flops are logged and the
   second function tells them
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelSpectral(MuonPolarPanel *, PetscInt iterations, const void *A, double *divisor);
PETSC_INTERN PetscLogDouble MuonPolarPanelSpectralFlops(PetscInt iterations, size_t s);
/*
   x = the largest on any rank, of n numbers of which something depends that all ranks must do alike;
   collective
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelAgree(MuonPolarPanel *, PetscMPIInt n, double x[]);
/* ||Y||_F^2 of the panel of a number, the same bits on all ranks; collective */
PETSC_INTERN PetscErrorCode MuonPolarPanelSumSquares(MuonPolarPanel *, size_t number, double *);
/*
   The precision that the options ask for, that of the type where they ask for none, for matrices in that
   memory, complex ones where pairs is 1; an error where it is not built
*/
PETSC_INTERN PetscErrorCode MuonPolarGetReal_Private(MuonPolar, MuonMemory, int pairs, const MuonKernelReal **);
/* Within the memory of that precision's matrices */
PETSC_INTERN PetscErrorCode MuonPolarCopy_Private(const MuonKernelReal *, void *to, const void *from, size_t bytes);
