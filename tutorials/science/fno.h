/*
   A Fourier neural operator on a square, forward and backward: a lifting of (a, x, y) to WIDTH channels, BLOCKS blocks
   V -> gelu(modes(V) + W V + b), the last without gelu, and a projection WIDTH -> HIDDEN -> 1.

   The grid has SIDE x SIDE points and is padded with PAD rows and columns of zeros. A channel is a plane of it, x first. modes(V)
   multiplies the channels of each of the HARMONICS lowest frequencies by a complex matrix of its own: frequencies 0 to MODES - 1 in x,
   -MODES to MODES - 1 in y. So few of them are found by products with cosines and sines, without a fast transform.
*/
#pragma once

#include <petscmuon.h>
#include <petscblaslapack.h>
#include <math.h>
#include <stdint.h>

/* Single precision, whatever PETSc's scalar is; a test of the gradient compiles all of it in double, and smaller */
#if defined(FNO_DOUBLE)
typedef double FnoReal;
  #define FNO_LETTER      d
  #define FNO_LETTER_CAPS D
#else
typedef float    FnoReal;
  #define FNO_LETTER      s
  #define FNO_LETTER_CAPS S
#endif
#if defined(FNO_DOUBLE) == defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #define FNO_GEMM BLASgemm_
#else
  #if defined(PETSC_BLASLAPACK_CAPS)
    #define FNO_GEMM PETSC_PASTE3(FNO_LETTER_CAPS, GEMM, PETSC_BLASLAPACK_SUFFIX_)
  #else
    #define FNO_GEMM PETSC_PASTE3(FNO_LETTER, gemm, PETSC_BLASLAPACK_SUFFIX_)
  #endif
BLAS_EXTERN void FNO_GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const FnoReal *, const FnoReal *, const PetscBLASInt *, const FnoReal *, const PetscBLASInt *, const FnoReal *, FnoReal *,
                          const PetscBLASInt *);
#endif

#if !defined(SIDE)
  #define SIDE   85
  #define PAD    9
  #define MODES  12
  #define WIDTH  32
  #define HIDDEN 128
#endif
#define BLOCKS    4
#define POINTS    (SIDE * SIDE)
#define PADDED    (SIDE + PAD)
#define PLANE     (PADDED * PADDED)
#define STATE     (WIDTH * PLANE) /* numbers of all channels */
#define HARMONICS (2 * MODES * MODES)
#define WAVES     (2 * MODES)       /* cosines and sines in x */
#define TURNS     (2 * (MODES + 1)) /* in y, where a frequency has both signs */

/* The layers: what is lifted, the matrices of all modes side by side, products with W and biases of each block, the projection */
enum {
  LIFT,
  LIFT_BIAS,
  BLOCK,
  PROJECT = BLOCK + 3 * BLOCKS,
  PROJECT_BIAS,
  LAST,
  LAST_BIAS,
  LAYERS
};

typedef struct {
  PetscInt  batch; /* functions that fit */
  PetscInt  rows[LAYERS], columns[LAYERS], parts[LAYERS];
  FnoReal  *w[LAYERS], *g[LAYERS];       /* weights and gradients: rows one behind the other; modes column by column, of complex numbers */
  FnoReal  *wave, *turn;                 /* waves in x and in y as columns */
  FnoReal  *V[BLOCKS + 1];               /* of all functions: what gelu is applied to in each block */
  FnoReal  *X[BLOCKS + 1], *Y;           /* frequencies, of a mode first real parts of all functions, then imaginary ones; scratch */
  FnoReal **D, *H;                       /* derivatives by V of each function, and scratch as one more of them */
  FnoReal  *T, *Z, *P, *U, *Q, *G, *out; /* scratch */
} Fno;

/* C = op(A) op(B) + beta C of column-major arrays */
static inline PetscErrorCode FnoProduct(const char opa[], const char opb[], PetscInt m, PetscInt n, PetscInt k, const FnoReal A[], PetscInt lda, const FnoReal B[], PetscInt ldb, FnoReal beta, FnoReal C[], PetscInt ldc)
{
  const PetscBLASInt bm = (PetscBLASInt)m, bn = (PetscBLASInt)n, bk = (PetscBLASInt)k, la = (PetscBLASInt)lda, lb = (PetscBLASInt)ldb, lc = (PetscBLASInt)ldc;
  const FnoReal      one = 1;

  PetscFunctionBeginUser;
  PetscCallBLAS("gemm", FNO_GEMM(opa, opb, &bm, &bn, &bk, &one, A, &la, B, &lb, &beta, C, &lc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loops compiled for several kinds of processors, of which one is chosen when the program starts */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
  #define FNO_CLONES static __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
  #define FNO_CLONES static
#endif

/* The factor of v in gelu(v), 1 / (1 + e^x) with x = -2 sqrt(2/pi) (v + 0.044715 v^3); e^-|x| = 2^n e^r */
static inline FnoReal FnoGate(FnoReal v)
{
  const FnoReal x = (FnoReal)-1.5957691216057308 * v * (1 + (FnoReal)0.044715 * v * v);
#if defined(FNO_DOUBLE)
  const FnoReal e = exp(-fabs(x));
#else
  const float shift = 12582912.0F; /* 1.5 2^23: what is added to it is rounded to an integer */
  union {
    float    f;
    uint32_t i;
  } power, shifted;
  float y = x < 0 ? x : -x, n, r, e;

  y         = y < -87 ? -87 : y;
  shifted.f = y * 1.44269504F + shift;
  n         = shifted.f - shift;
  r         = y - n * 0.693147181F;
  power.i   = (shifted.i - 0x4B400000U + 127U) << 23;
  e         = power.f * (1 + r * (1 + r * (0.5F + r * (1.66666667e-1F + r * (4.16666667e-2F + r * (8.33333333e-3F + r * 1.38888889e-3F))))));
#endif
  return (x > 0 ? e : 1) / (1 + e);
}

/* h = gelu(v) */
FNO_CLONES void FnoGelu(PetscInt n, const FnoReal *PETSC_RESTRICT v, FnoReal *PETSC_RESTRICT h)
{
  for (PetscInt i = 0; i < n; i++) h[i] = v[i] * FnoGate(v[i]);
}

/* d = the derivative by v, where it is that by gelu(v) */
FNO_CLONES void FnoGeluDerivative(PetscInt n, const FnoReal *PETSC_RESTRICT v, FnoReal *PETSC_RESTRICT d)
{
  for (PetscInt i = 0; i < n; i++) {
    const FnoReal gate = FnoGate(v[i]);

    d[i] *= gate * (1 + v[i] * (1 - gate) * (FnoReal)1.5957691216057308 * (1 + 3 * (FnoReal)0.044715 * v[i] * v[i]));
  }
}

FNO_CLONES FnoReal FnoSum(PetscInt n, const FnoReal *v)
{
  FnoReal sum[16] = {0}, all = 0;

  for (PetscInt i = 0; i + 16 <= n; i += 16) {
    for (PetscInt l = 0; l < 16; l++) sum[l] += v[i + l];
  }
  for (PetscInt i = n - n % 16; i < n; i++) all += v[i];
  for (PetscInt l = 0; l < 16; l++) all += sum[l];
  return all;
}

static inline void FnoFill(PetscInt n, PetscInt planes, const FnoReal b[], FnoReal *v)
{
  for (PetscInt c = 0; c < planes; c++) {
    for (PetscInt i = 0; i < n; i++) *v++ = b[c];
  }
}

/* The factor of a frequency in x, where the inverse transform is real: negative ones are the conjugates */
static inline FnoReal FnoFactor(PetscBool inverse, PetscInt k)
{
  return inverse ? (FnoReal)(k ? 2 : 1) / PLANE : 1;
}

/*
   X = the frequencies of function s of n, and with inverse those of the transposed inverse transform, from its channels H. With c and s
   from cosines and sines in y, positive frequencies are c - i s and negative ones c + i s
*/
static inline PetscErrorCode FnoAnalyze(Fno *f, PetscBool inverse, PetscInt n, PetscInt s, const FnoReal H[], FnoReal X[])
{
  PetscFunctionBeginUser;
  PetscCall(FnoProduct("T", "N", WAVES, PADDED * WIDTH, PADDED, f->wave, PADDED, H, PADDED, 0, f->T, WAVES));
  for (PetscInt c = 0; c < WIDTH; c++) PetscCall(FnoProduct("N", "N", WAVES, TURNS, PADDED, f->T + c * WAVES * PADDED, WAVES, f->turn, PADDED, 0, f->Z + c * WAVES * TURNS, WAVES));
  for (PetscInt j = 0; j <= MODES; j++) {
    for (PetscInt k = 0; k < MODES; k++) {
      const FnoReal  factor = FnoFactor(inverse, k);
      const FnoReal *z = f->Z + 2 * k + j * WAVES, *t = z + (MODES + 1) * WAVES;
      FnoReal       *plus = X + ((j * MODES + k) * 2 * n + s) * WIDTH, *minus = X + (((MODES + j - 1) * MODES + k) * 2 * n + s) * WIDTH;

      for (PetscInt c = 0; c < WIDTH; c++, z += WAVES * TURNS, t += WAVES * TURNS) {
        if (j < MODES) {
          plus[c]             = factor * (z[0] + t[1]);
          plus[c + n * WIDTH] = factor * (z[1] - t[0]);
        }
        if (j > 0) {
          minus[c]             = factor * (z[0] - t[1]);
          minus[c + n * WIDTH] = factor * (z[1] + t[0]);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* H += the channels that have the frequencies X of function s of n; without inverse by the transpose of FnoAnalyze() */
static inline PetscErrorCode FnoSynthesize(Fno *f, PetscBool inverse, PetscInt n, PetscInt s, const FnoReal X[], FnoReal H[])
{
  PetscFunctionBeginUser;
  for (PetscInt j = 0; j <= MODES; j++) {
    for (PetscInt k = 0; k < MODES; k++) {
      const FnoReal  p = j < MODES ? FnoFactor(inverse, k) : 0, m = j > 0 ? FnoFactor(inverse, k) : 0;
      const FnoReal *plus = X + ((PetscMin(j, MODES - 1) * MODES + k) * 2 * n + s) * WIDTH, *minus = X + (((MODES + PetscMax(j, 1) - 1) * MODES + k) * 2 * n + s) * WIDTH;
      FnoReal       *z = f->Z + 2 * k + j * WAVES, *t = z + (MODES + 1) * WAVES;

      for (PetscInt c = 0; c < WIDTH; c++, z += WAVES * TURNS, t += WAVES * TURNS) {
        z[0] = p * plus[c] + m * minus[c];
        z[1] = p * plus[c + n * WIDTH] + m * minus[c + n * WIDTH];
        t[0] = m * minus[c + n * WIDTH] - p * plus[c + n * WIDTH];
        t[1] = p * plus[c] - m * minus[c];
      }
    }
  }
  for (PetscInt c = 0; c < WIDTH; c++) PetscCall(FnoProduct("N", "T", WAVES, PADDED, TURNS, f->Z + c * WAVES * TURNS, WAVES, f->turn, PADDED, 0, f->T + c * WAVES * PADDED, WAVES));
  PetscCall(FnoProduct("N", "N", PADDED, PADDED * WIDTH, WAVES, f->wave, PADDED, f->T, WAVES, 1, H, PADDED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = R X for the complex matrix R of each mode. The columns of R are pairs of reals: R times (Re X, Im X) is a real product, whose
   columns for Re X and Im X are p and q, and Y = p + i q. With a gradient, Y are the derivatives by R X, and become those by X: the
   gradient is Y X^H, the derivative by the real parts plus i times that by the imaginary parts
*/
static inline PetscErrorCode FnoMultiply(Fno *f, PetscInt n, PetscInt block, FnoReal G[])
{
  const FnoReal *R = f->w[BLOCK + 3 * block];

  PetscFunctionBeginUser;
  for (PetscInt mode = 0; mode < HARMONICS; mode++) {
    const PetscInt at = mode * 2 * WIDTH * WIDTH;
    const FnoReal *x  = f->X[block] + mode * 2 * n * WIDTH;
    FnoReal       *y = f->Y + mode * 2 * n * WIDTH, *p = f->P, *q = p + 2 * WIDTH * n;

    if (!G) PetscCall(FnoProduct("N", "N", 2 * WIDTH, 2 * n, WIDTH, R + at, 2 * WIDTH, x, WIDTH, 0, p, 2 * WIDTH));
    for (PetscInt i = 0; i < n * WIDTH; i++) {
      FnoReal *re = y + i, *im = re + n * WIDTH;

      if (G) {
        p[2 * i]     = *re;
        p[2 * i + 1] = *im;
        q[2 * i]     = *im;
        q[2 * i + 1] = -*re;
      } else {
        *re = p[2 * i] - q[2 * i + 1];
        *im = p[2 * i + 1] + q[2 * i];
      }
    }
    if (!G) continue;
    PetscCall(FnoProduct("N", "T", 2 * WIDTH, WIDTH, 2 * n, p, 2 * WIDTH, x, WIDTH, 0, G + at, 2 * WIDTH));
    PetscCall(FnoProduct("T", "N", WIDTH, 2 * n, 2 * WIDTH, R + at, 2 * WIDTH, p, 2 * WIDTH, 0, y, WIDTH));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state of n functions a, one behind the other, of the normalized coefficient */
static inline PetscErrorCode FnoForward(Fno *f, PetscInt n, const FnoReal a[])
{
  const FnoReal *W = f->w[LIFT];

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(f->V[0], n * STATE));
  for (PetscInt s = 0; s < n; s++) {
    for (PetscInt i = 0; i < WIDTH * SIDE; i++) {
      const PetscInt c = i / SIDE, y = i % SIDE;
      const FnoReal  row = W[3 * c + 2] * (FnoReal)y / (SIDE - 1) + f->w[LIFT_BIAS][c], slope = W[3 * c + 1] / (SIDE - 1);
      const FnoReal *from = a + s * POINTS + y * SIDE;
      FnoReal       *to   = f->V[0] + s * STATE + c * PLANE + y * PADDED;

      for (PetscInt x = 0; x < SIDE; x++) to[x] = W[3 * c] * from[x] + slope * (FnoReal)x + row;
    }
  }
  for (PetscInt l = 0; l < BLOCKS; l++) {
    for (PetscInt s = 0; s < n; s++) {
      const FnoReal *H = f->V[l] + s * STATE;
      FnoReal       *V = f->V[l + 1] + s * STATE;

      if (l > 0) FnoGelu(STATE, H, f->H);
      if (l > 0) H = f->H;
      PetscCall(FnoAnalyze(f, PETSC_FALSE, n, s, H, f->X[l]));
      FnoFill(PLANE, WIDTH, f->w[BLOCK + 3 * l + 2], V);
      PetscCall(FnoProduct("N", "N", PLANE, WIDTH, WIDTH, H, PLANE, f->w[BLOCK + 3 * l + 1], WIDTH, 1, V, PLANE));
    }
    PetscCall(FnoMultiply(f, n, l, NULL));
    for (PetscInt s = 0; s < n; s++) PetscCall(FnoSynthesize(f, PETSC_TRUE, n, s, f->Y, f->V[l + 1] + s * STATE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f->out = the output for function s, after FnoForward() */
static inline PetscErrorCode FnoProject(Fno *f, PetscInt s)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < WIDTH * SIDE; i++) PetscCall(PetscArraycpy(f->U + i * SIDE, f->V[BLOCKS] + s * STATE + (i / SIDE) * PLANE + (i % SIDE) * PADDED, SIDE));
  FnoFill(POINTS, HIDDEN, f->w[PROJECT_BIAS], f->Q);
  PetscCall(FnoProduct("N", "N", POINTS, HIDDEN, WIDTH, f->U, POINTS, f->w[PROJECT], WIDTH, 1, f->Q, POINTS));
  FnoGelu(HIDDEN * POINTS, f->Q, f->G);
  FnoFill(POINTS, 1, f->w[LAST_BIAS], f->out);
  PetscCall(FnoProduct("N", "N", POINTS, 1, HIDDEN, f->G, POINTS, f->w[LAST], HIDDEN, 1, f->out, POINTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Behind FnoProject(s): adds the gradients of the projection, and begins the derivatives of function s, from those by its output */
static inline PetscErrorCode FnoProjectBackward(Fno *f, PetscInt s, const FnoReal d[])
{
  PetscFunctionBeginUser;
  PetscCall(FnoProduct("T", "N", HIDDEN, 1, POINTS, f->G, POINTS, d, POINTS, 1, f->g[LAST], HIDDEN));
  f->g[LAST_BIAS][0] += FnoSum(POINTS, d);
  PetscCall(FnoProduct("N", "N", POINTS, HIDDEN, 1, d, POINTS, f->w[LAST], 1, 0, f->G, POINTS));
  FnoGeluDerivative(HIDDEN * POINTS, f->Q, f->G);
  PetscCall(FnoProduct("T", "N", WIDTH, HIDDEN, POINTS, f->U, POINTS, f->G, POINTS, 1, f->g[PROJECT], WIDTH));
  for (PetscInt c = 0; c < HIDDEN; c++) f->g[PROJECT_BIAS][c] += FnoSum(POINTS, f->G + c * POINTS);
  PetscCall(FnoProduct("N", "T", POINTS, WIDTH, HIDDEN, f->G, POINTS, f->w[PROJECT], WIDTH, 0, f->U, POINTS));
  PetscCall(PetscArrayzero(f->D[s], STATE));
  for (PetscInt i = 0; i < WIDTH * SIDE; i++) PetscCall(PetscArraycpy(f->D[s] + (i / SIDE) * PLANE + (i % SIDE) * PADDED, f->U + i * SIDE, SIDE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the gradients of all that comes before the projection; those of the modes are overwritten */
static inline PetscErrorCode FnoBackward(Fno *f, PetscInt n, const FnoReal a[])
{
  PetscFunctionBeginUser;
  for (PetscInt l = BLOCKS - 1; l >= 0; l--) {
    FnoReal *const *g = f->g + BLOCK + 3 * l;

    for (PetscInt s = 0; s < n; s++) PetscCall(FnoAnalyze(f, PETSC_TRUE, n, s, f->D[s], f->Y));
    PetscCall(FnoMultiply(f, n, l, g[0]));
    for (PetscInt s = 0; s < n; s++) {
      const FnoReal *V = f->V[l] + s * STATE, *H = l > 0 ? f->H : V;
      FnoReal       *D = f->D[s];

      if (l > 0) FnoGelu(STATE, V, f->H);
      PetscCall(FnoProduct("T", "N", WIDTH, WIDTH, PLANE, H, PLANE, D, PLANE, 1, g[1], WIDTH));
      for (PetscInt c = 0; c < WIDTH; c++) g[2][c] += FnoSum(PLANE, D + c * PLANE);
      PetscCall(FnoProduct("N", "T", PLANE, WIDTH, WIDTH, D, PLANE, f->w[BLOCK + 3 * l + 1], WIDTH, 0, f->H, PLANE));
      PetscCall(FnoSynthesize(f, PETSC_FALSE, n, s, f->Y, f->H));
      if (l > 0) FnoGeluDerivative(STATE, V, f->H);
      f->D[s] = f->H;
      f->H = f->D[f->batch] = D;
    }
  }
  for (PetscInt s = 0; s < n; s++) {
    for (PetscInt c = 0; c < WIDTH; c++) {
      FnoReal *g = f->g[LIFT] + 3 * c;

      for (PetscInt y = 0; y < SIDE; y++) {
        const FnoReal *d = f->D[s] + c * PLANE + y * PADDED, sum = FnoSum(SIDE, d);

        for (PetscInt x = 0; x < SIDE; x++) {
          g[0] += d[x] * a[x + y * SIDE + s * POINTS];
          g[1] += d[x] * (FnoReal)x / (SIDE - 1);
        }
        g[2] += sum * (FnoReal)y / (SIDE - 1);
        f->g[LIFT_BIAS][c] += sum;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FnoCreate(PetscInt batch, Fno *f)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  f->batch = batch;
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt kind = l >= BLOCK && l < PROJECT ? (l - BLOCK) % 3 : -1;

    f->rows[l]    = l >= LAST ? 1 : l >= PROJECT ? HIDDEN : WIDTH;
    f->columns[l] = l == LIFT ? 3 : kind == 0 ? WIDTH * HARMONICS : kind == 1 || l == PROJECT ? WIDTH : l == LAST ? HIDDEN : 1;
    f->parts[l]   = kind == 0 ? 2 : 1;
    PetscCall(PetscCalloc2(f->parts[l] * f->rows[l] * f->columns[l], &f->w[l], f->parts[l] * f->rows[l] * f->columns[l], &f->g[l]));
  }
  PetscCall(PetscMalloc2(PADDED * WAVES, &f->wave, PADDED * TURNS, &f->turn));
  for (PetscInt i = 0; i < PADDED; i++) {
    for (PetscInt k = 0; k <= MODES; k++) {
      const double angle = 2 * PETSC_PI * (double)(i * k % PADDED) / PADDED;

      f->turn[i + k * PADDED]               = (FnoReal)cos(angle);
      f->turn[i + (MODES + 1 + k) * PADDED] = (FnoReal)sin(angle);
      if (k == MODES) continue;
      f->wave[i + 2 * k * PADDED]       = (FnoReal)cos(angle);
      f->wave[i + (2 * k + 1) * PADDED] = (FnoReal)-sin(angle);
    }
  }
  for (PetscInt l = 0; l <= BLOCKS; l++) PetscCall(PetscMalloc2(batch * STATE, &f->V[l], batch * HARMONICS * 2 * WIDTH, &f->X[l]));
  PetscCall(PetscMalloc1(batch + 1, &f->D));
  for (PetscInt s = 0; s <= batch; s++) PetscCall(PetscMalloc1(STATE, &f->D[s]));
  f->H = f->D[batch];
  PetscCall(PetscMalloc4(batch * HARMONICS * 2 * WIDTH, &f->Y, WAVES * PADDED * WIDTH, &f->T, WAVES * TURNS * WIDTH, &f->Z, 4 * WIDTH * batch, &f->P));
  PetscCall(PetscMalloc4(POINTS * WIDTH, &f->U, POINTS * HIDDEN, &f->Q, POINTS * HIDDEN, &f->G, POINTS, &f->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FnoDestroy(Fno *f)
{
  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(PetscFree2(f->w[l], f->g[l]));
  for (PetscInt l = 0; l <= BLOCKS; l++) PetscCall(PetscFree2(f->V[l], f->X[l]));
  for (PetscInt s = 0; s <= f->batch; s++) PetscCall(PetscFree(f->D[s]));
  PetscCall(PetscFree(f->D));
  PetscCall(PetscFree2(f->wave, f->turn));
  PetscCall(PetscFree4(f->Y, f->T, f->Z, f->P));
  PetscCall(PetscFree4(f->U, f->Q, f->G, f->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}
