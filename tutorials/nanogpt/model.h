/*
   The GPT of the EF21-Muon experiments at any size: rotary positions, squared ReLU, RMS normalization without
   parameters, no biases, one matrix for embedding and head, causal attention with separate query, key, value
   and output matrices. GPT-2's variant has learned positions, GELU, and layer normalization with a gain for each
   channel.

   The model is local to one process and knows nothing of layers, optimizers or MPI: it maps weights and
   tokens to a loss and adds the gradient to arrays of the caller. All matrices are column-major with leading
   dimension equal to their rows.
*/
#pragma once

#include <petscmuoncompat.h> /* petscsys.h, with the names of the newest PETSc */

/* Single precision, whatever PETSc's scalar is; a test of the gradient compiles the model in double */
#if defined(GPT_DOUBLE)
typedef double GPTReal;
  #define GPT_BLAS_LETTER      d
  #define GPT_BLAS_LETTER_CAPS D
#else
typedef float GPTReal;
  #define GPT_BLAS_LETTER      s
  #define GPT_BLAS_LETTER_CAPS S
#endif

typedef enum {
  GPT_MODERN,
  GPT_GPT2
} GPTVariant;
extern const char *const GPTVariants[];

/* The deviation of the numbers that weights start with; that of the matrices o and down is smaller by sqrt(2 L) in each */
typedef enum {
  GPT_START_SCALED, /* 1/sqrt(columns): embeddings, too, have the size of what they are added to */
  GPT_START_GPT2,   /* 0.02 */
  GPT_START_SMALL   /* 1/sqrt(columns), and embeddings so small that logits are below 0.1: the first loss is log V */
} GPTStart;
extern const char *const GPTStarts[];

/* The sizes of a model; the letters are those of the comments in model.c */
typedef struct {
  PetscInt   vocabulary; /* V, tokens are 0, ..., V - 1 */
  PetscInt   width;      /* C, channels of the residual stream; the hidden layer of the MLP has 4 C */
  PetscInt   heads;      /* H, each of D = C / H channels, an even number */
  PetscInt   blocks;     /* L, each one attention and one MLP */
  PetscInt   sequence;   /* T, tokens of the longest sequence */
  PetscInt   batch;      /* B, sequences in one call at most */
  GPTVariant variant;
  GPTStart   start;
} GPTShape;

typedef struct _n_GPT *GPT;

PetscErrorCode GPTCreate(const GPTShape *, GPT *);
PetscErrorCode GPTDestroy(GPT *);

/*
   The weight matrices, out x in: embed (V x C), then q, k, v, o (C x C), up (4C x C) and down (C x 4C) of
   each block. In GPT-2's variant a block has the gains (C x 1) of its two normalizations behind these, and
   behind the blocks are the gains of the last one and the positions (T x C)
*/
PetscErrorCode GPTGetNumMatrices(GPT, PetscInt *);
PetscErrorCode GPTGetMatrix(GPT, PetscInt, const char *name[], PetscInt *rows, PetscInt *columns);
PetscErrorCode GPTInitializeMatrix(GPT, PetscInt, PetscInt seed, GPTReal[]);

/*
   For weights that are not all in memory: a pass calls the function before it reads a matrix, which puts its
   array into W, and behind it, when the array may go. A block's matrices are there together, and the order of
   calls does not depend on the sequences. NULL where all arrays are there
*/
typedef PetscErrorCode GPTFetchFn(void *ctx, PetscInt matrix, PetscBool begin);
PetscErrorCode         GPTSetFetch(GPT, GPTFetchFn *, void *ctx);

/*
   Mean cross entropy in nats a token; the second adds weight times its gradient to the arrays of the caller
*/
PetscErrorCode GPTLoss(GPT, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[], const PetscInt targets[], double *loss);
PetscErrorCode GPTLossAndGradient(GPT, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[], const PetscInt targets[], double weight, double *loss, GPTReal *const dW[]);

/* The token after a text, drawn at a temperature with the uniform number u in [0,1) */
PetscErrorCode GPTNextToken(GPT, const GPTReal *const W[], PetscInt T, const PetscInt tokens[], double temperature, double u, PetscInt *next);

/* Bytes of the activations and of the scratch arrays: everything that the model allocates but the weights */
PetscErrorCode GPTGetMemory(GPT, PetscLogDouble *bytes);
