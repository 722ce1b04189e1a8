/*
   The GPT of model.h, forward and backward, written out. Each mathematical step is one function with its
   shapes in the first comment; its backward stands below it. All products are BLAS calls on column-major
   arrays, where a column is a token.

   All numbers are single precision (GPTReal), whatever PETSc's scalar is. What this file does not do: no
   intrinsics, no threads, no device, no optimizer. Speed comes from the products, and from loops that a
   compiler turns into vectors: sums and maxima run in GPT_LANES partial ones.

   Letters: V vocabulary, C width, H heads, D = C / H, T tokens of a sequence, B sequences, N = B T columns.
   dx is the gradient of the loss with respect to x.
*/
#include "model.h"
#include <petscblaslapack.h>

/* The BLAS product of this precision, which need not be that of PETSc's scalar */
#if defined(GPT_DOUBLE) == defined(PETSC_USE_REAL_DOUBLE)
  #define GPT_GEMM BLASgemm_
#else
  #if defined(PETSC_BLASLAPACK_CAPS)
    #define GPT_GEMM PETSC_PASTE3(GPT_BLAS_LETTER_CAPS, GEMM, PETSC_BLASLAPACK_SUFFIX_)
  #else
    #define GPT_GEMM PETSC_PASTE3(GPT_BLAS_LETTER, gemm, PETSC_BLASLAPACK_SUFFIX_)
  #endif
BLAS_EXTERN void GPT_GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const GPTReal *, const GPTReal *, const PetscBLASInt *, const GPTReal *, const PetscBLASInt *, const GPTReal *, GPTReal *,
                          const PetscBLASInt *);
#endif

/* A loop compiled for several kinds of processors, of which one is chosen when the program starts */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
  #define GPT_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
  #define GPT_CLONES
#endif
#if defined(__GNUC__)
  #define GPT_INLINE static inline __attribute__((always_inline))
#else
  #define GPT_INLINE static inline
#endif
#define GPT_LANES 16

/* Below every mean square that training produces, so that it only guards a column of zeros */
#define GPT_NORM_EPSILON 1e-8
/*
   Queries that share one product with their keys: larger wastes the masked half of the square, smaller slows
   the product
*/
#define GPT_ATTENTION_TILE 64
/* Entries of the logits that exist at once: all tokens of a small vocabulary, few of a large one */
#define GPT_LOGITS_ENTRIES 4194304
#define GPT_ROTARY_BASE    10000.0

/* What the backward pass needs of one block */
typedef struct {
  GPTReal *n1, *r1;   /* normalized input (C,N), before its gain, and the factor of each column (N) */
  GPTReal *q, *k, *v; /* queries and keys after the rotation, values (C,N) */
  GPTReal *P;         /* attention probabilities (T,T) for each sequence and head; column = query */
  GPTReal *a;         /* heads' outputs (C,N) */
  GPTReal *n2, *r2;   /* normalized input of the MLP (C,N) and its factors (N) */
  GPTReal *h;         /* relu(up n2), or up n2 where GELU follows (4C,N) */
} GPTBlock;

/* The matrices of a block, in the order of the list of matrices; the last two are gains of GPT-2's variant */
typedef enum {
  GPT_Q,
  GPT_K,
  GPT_V,
  GPT_O,
  GPT_UP,
  GPT_DOWN,
  GPT_GAIN1,
  GPT_GAIN2,
  GPT_EMBED, /* of no block, as what follows */
  GPT_GAIN,
  GPT_POSITIONS
} GPTMatrix;

static const char *const GPTMatrixNames[] = {"attn.q", "attn.k", "attn.v", "attn.o", "mlp.up", "mlp.down", "attn.gain", "mlp.gain", "embed", "gain", "positions"};
const char *const        GPTVariants[]    = {"modern", "gpt2", "GPTVariant", "GPT_", NULL};
const char *const        GPTStarts[]      = {"scaled", "gpt2", "small", "GPTStart", "GPT_START_", NULL};

struct _n_GPT {
  GPTShape shape;
  char (*names)[32];
  PetscInt       inblock, n; /* matrices of a block, and all */
  GPTBlock      *block;
  GPTReal       *x;             /* the residual stream (C,N); its gradient in the backward pass */
  GPTReal       *nf, *rf;       /* normalized output (C,N) and its factors (N) */
  GPTReal       *scaled;        /* normalized columns with their gains (C,N) */
  GPTReal       *s;             /* relu(up n2)^2 (4C,N), or GELU(up n2) */
  GPTReal       *ds;            /* gradient of s, then of up n2 (4C,N) */
  GPTReal       *dn, *da;       /* gradients (C,N) */
  GPTReal       *dq, *dk, *dv;  /* gradients (C,N) */
  GPTReal       *dP;            /* gradient of one tile of P */
  GPTReal       *logits;        /* (V, chunk) */
  PetscInt       chunk;         /* tokens whose logits exist at once */
  GPTReal       *cosine, *sine; /* (D/2,T) */
  PetscLogDouble bytes;
  GPTFetchFn    *fetch;
  void          *fetchctx;
};

/* e^x for x <= 0, or NaN. In single precision x = n log 2 + r, and e^r is a polynomial with an error below one in the last place */
GPT_INLINE GPTReal Exp(GPTReal x)
{
#if defined(GPT_DOUBLE)
  return exp(x);
#else
  const float shift = 12582912.0F; /* 1.5 2^23: what is added to it is rounded to an integer */
  union {
    float    f;
    uint32_t i;
  } power, shifted;
  float n, r, p;

  x         = x < -87.0F ? -87.0F : x;
  shifted.f = x * 1.44269504F + shift;
  n         = shifted.f - shift;
  r         = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  p         = 1.0F + r * (1.0F + r * (0.5F + r * (1.66666667e-1F + r * (4.16666667e-2F + r * (8.33333333e-3F + r * (1.38888889e-3F + r * 1.98412698e-4F))))));
  power.i   = (shifted.i - 0x4B400000U + 127U) << 23;
  return p * power.f;
#endif
}

/* x^T y */
GPT_INLINE GPTReal Dot(PetscInt n, const GPTReal *PETSC_RESTRICT x, const GPTReal *PETSC_RESTRICT y)
{
  GPTReal  part[GPT_LANES] = {0}, sum = 0;
  PetscInt i = 0;

  for (; i + GPT_LANES <= n; i += GPT_LANES) {
    for (PetscInt l = 0; l < GPT_LANES; l++) part[l] += x[i + l] * y[i + l];
  }
  for (; i < n; i++) sum += x[i] * y[i];
  for (PetscInt l = 0; l < GPT_LANES; l++) sum += part[l];
  return sum;
}

/* The mean of x, or 0 where columns are not centered */
GPT_INLINE GPTReal Mean(PetscInt n, PetscBool centered, const GPTReal *PETSC_RESTRICT x)
{
  GPTReal  part[GPT_LANES] = {0}, sum = 0;
  PetscInt i = 0;

  if (centered == PETSC_FALSE) return 0;
  for (; i + GPT_LANES <= n; i += GPT_LANES) {
    for (PetscInt l = 0; l < GPT_LANES; l++) part[l] += x[i + l];
  }
  for (; i < n; i++) sum += x[i];
  for (PetscInt l = 0; l < GPT_LANES; l++) sum += part[l];
  return sum / (GPTReal)n;
}

/* p (n) becomes e^(p - its largest entry); returns the sum, and the largest entry */
GPT_INLINE GPTReal Exponentials(PetscInt n, GPTReal *PETSC_RESTRICT p, GPTReal *most)
{
  GPTReal  part[GPT_LANES] = {0}, high[GPT_LANES], largest = p[0], sum = 0;
  PetscInt i;

  for (PetscInt l = 0; l < GPT_LANES; l++) high[l] = largest;
  for (i = 0; i + GPT_LANES <= n; i += GPT_LANES) {
    for (PetscInt l = 0; l < GPT_LANES; l++) high[l] = p[i + l] > high[l] ? p[i + l] : high[l];
  }
  for (; i < n; i++) largest = p[i] > largest ? p[i] : largest;
  for (PetscInt l = 0; l < GPT_LANES; l++) largest = high[l] > largest ? high[l] : largest;
  for (i = 0; i + GPT_LANES <= n; i += GPT_LANES) {
    for (PetscInt l = 0; l < GPT_LANES; l++) {
      p[i + l] = Exp(p[i + l] - largest);
      part[l] += p[i + l];
    }
  }
  for (; i < n; i++) {
    p[i] = Exp(p[i] - largest);
    sum += p[i];
  }
  for (PetscInt l = 0; l < GPT_LANES; l++) sum += part[l];
  *most = largest;
  return sum;
}

/* C (m,n) = alpha op(A) op(B) + beta C, k the inner size */
static PetscErrorCode Gemm(const char opA[], const char opB[], PetscInt m, PetscInt n, PetscInt k, GPTReal alpha, const GPTReal A[], PetscInt lda, const GPTReal B[], PetscInt ldb, GPTReal beta, GPTReal C[], PetscInt ldc)
{
  PetscBLASInt bm, bn, bk, blda, bldb, bldc;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(lda, &blda));
  PetscCall(PetscBLASIntCast(ldb, &bldb));
  PetscCall(PetscBLASIntCast(ldc, &bldc));
  PetscCallBLAS("gemm", GPT_GEMM(opA, opB, &bm, &bn, &bk, &alpha, A, &blda, B, &bldb, &beta, C, &bldc));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n * (PetscLogDouble)k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y (out,N) = W (out,in) x (in,N), or y += W x for accumulate = 1 */
static PetscErrorCode LinearForward(PetscInt out, PetscInt in, PetscInt N, const GPTReal W[], const GPTReal x[], GPTReal accumulate, GPTReal y[])
{
  PetscFunctionBeginUser;
  PetscCall(Gemm("N", "N", out, N, in, 1.0, W, out, x, in, accumulate, y, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dW (out,in) += dy (out,N) x^T (N,in); dx (in,N) = W^T dy, or dx += W^T dy for accumulate = 1 */
static PetscErrorCode LinearBackward(PetscInt out, PetscInt in, PetscInt N, const GPTReal W[], const GPTReal x[], const GPTReal dy[], GPTReal accumulate, GPTReal dx[], GPTReal dW[])
{
  PetscFunctionBeginUser;
  PetscCall(Gemm("N", "T", out, in, N, 1.0, dy, out, x, in, 1.0, dW, out));
  PetscCall(Gemm("T", "N", in, N, out, 1.0, W, out, dy, out, accumulate, dx, in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x (C,N): column j is row tokens[j] of E (V,C) */
static void EmbedForward(PetscInt V, PetscInt C, PetscInt N, const GPTReal E[], const PetscInt tokens[], GPTReal x[])
{
  for (PetscInt j = 0; j < N; j++) {
    const GPTReal *e = E + tokens[j];

    for (PetscInt c = 0; c < C; c++) x[c + j * C] = e[c * V];
  }
}

/* dE (V,C): row tokens[j] += column j of dx (C,N) */
static void EmbedBackward(PetscInt V, PetscInt C, PetscInt N, const PetscInt tokens[], const GPTReal dx[], GPTReal dE[])
{
  for (PetscInt j = 0; j < N; j++) {
    GPTReal *de = dE + tokens[j];

    for (PetscInt c = 0; c < C; c++) de[c * V] += dx[c + j * C];
  }
}

/* y (C,N), r (N): y_j = r_j (x_j - mean(x_j)), r_j = 1 / sqrt(mean of the squares + epsilon); without the mean where columns are not centered */
GPT_CLONES static void NormForward(PetscInt C, PetscInt N, PetscBool centered, const GPTReal x[], GPTReal y[], GPTReal r[])
{
  for (PetscInt j = 0; j < N; j++) {
    const GPTReal *PETSC_RESTRICT xj   = x + j * C;
    GPTReal *PETSC_RESTRICT       yj   = y + j * C;
    const GPTReal                 mean = Mean(C, centered, xj);

    for (PetscInt c = 0; c < C; c++) yj[c] = xj[c] - mean;
    r[j] = (GPTReal)(1.0 / sqrt((double)Dot(C, yj, yj) / (double)C + GPT_NORM_EPSILON));
    for (PetscInt c = 0; c < C; c++) yj[c] *= r[j];
  }
}

/* dx (C,N) += r_j (dy_j - mean(dy_j) - y_j mean(y_j dy_j)): the step's output and its factor are all that it needs */
GPT_CLONES static void NormBackward(PetscInt C, PetscInt N, PetscBool centered, const GPTReal y[], const GPTReal r[], const GPTReal dy[], GPTReal dx[])
{
  for (PetscInt j = 0; j < N; j++) {
    const GPTReal *PETSC_RESTRICT yj      = y + j * C;
    const GPTReal *PETSC_RESTRICT dyj     = dy + j * C;
    GPTReal *PETSC_RESTRICT       dxj     = dx + j * C;
    const GPTReal                 product = Dot(C, yj, dyj) / (GPTReal)C, mean = Mean(C, centered, dyj);

    for (PetscInt c = 0; c < C; c++) dxj[c] += r[j] * (dyj[c] - mean - yj[c] * product);
  }
}

/* y (C,N) with its gains (C), or as it is where there are none */
static const GPTReal *GainForward(PetscInt C, PetscInt N, const GPTReal gain[], const GPTReal y[], GPTReal scaled[])
{
  if (gain == NULL) return y;
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt c = 0; c < C; c++) scaled[c + j * C] = gain[c] * y[c + j * C];
  }
  return scaled;
}

/* dy (C,N) in place: from the gradient behind the gains to that before them; dgain (C) += theirs */
static void GainBackward(PetscInt C, PetscInt N, const GPTReal gain[], const GPTReal y[], GPTReal dy[], GPTReal dgain[])
{
  for (PetscInt j = 0; j < N && gain != NULL; j++) {
    for (PetscInt c = 0; c < C; c++) {
      dgain[c] += y[c + j * C] * dy[c + j * C];
      dy[c + j * C] *= gain[c];
    }
  }
}

/* x (C,N), a token at place t += row t of P (T,C) */
static void PositionsForward(PetscInt C, PetscInt B, PetscInt T, PetscInt rows, const GPTReal P[], GPTReal x[])
{
  for (PetscInt j = 0; j < B * T; j++) {
    for (PetscInt c = 0; c < C; c++) x[c + j * C] += P[j % T + c * rows];
  }
}

/* dP (T,C): row t += the columns of dx (C,N) of tokens at place t */
static void PositionsBackward(PetscInt C, PetscInt B, PetscInt T, PetscInt rows, const GPTReal dx[], GPTReal dP[])
{
  for (PetscInt j = 0; j < B * T; j++) {
    for (PetscInt c = 0; c < C; c++) dP[j % T + c * rows] += dx[c + j * C];
  }
}

/* x (C,N) in place: in each head, channels i and i + D/2 of the token at position t turn by the angle t base^(-2i/D). The
   transposed rotation, which takes the gradient back, turns by the negative angle: direction = -1 */
GPT_CLONES static void Rotate(PetscInt C, PetscInt H, PetscInt B, PetscInt T, const GPTReal cosine[], const GPTReal sine[], GPTReal direction, GPTReal x[])
{
  const PetscInt D = C / H, D2 = D / 2;

  for (PetscInt j = 0; j < B * T; j++) {
    const GPTReal *PETSC_RESTRICT ct = cosine + (j % T) * D2;
    const GPTReal *PETSC_RESTRICT st = sine + (j % T) * D2;

    for (PetscInt h = 0; h < H; h++) {
      GPTReal *PETSC_RESTRICT x1 = x + j * C + h * D;
      GPTReal *PETSC_RESTRICT x2 = x1 + D2;

      for (PetscInt i = 0; i < D2; i++) {
        const GPTReal y1 = ct[i] * x1[i] - direction * st[i] * x2[i];
        const GPTReal y2 = ct[i] * x2[i] + direction * st[i] * x1[i];

        x1[i] = y1;
        x2[i] = y2;
      }
    }
  }
}

/* p (n) = softmax of its first `visible` entries, zero behind them */
GPT_CLONES static void SoftmaxForward(PetscInt n, PetscInt visible, GPTReal *PETSC_RESTRICT p)
{
  GPTReal       largest;
  const GPTReal factor = 1 / Exponentials(visible, p, &largest);

  for (PetscInt i = 0; i < visible; i++) p[i] *= factor;
  for (PetscInt i = visible; i < n; i++) p[i] = 0;
}

/* dp (n) in place: the gradient of the softmax's input, p (dp - sum(p dp)); masked entries have p = 0 */
GPT_CLONES static void SoftmaxBackward(PetscInt n, const GPTReal *PETSC_RESTRICT p, GPTReal *PETSC_RESTRICT dp)
{
  const GPTReal dot = Dot(n, p, dp);

  for (PetscInt i = 0; i < n; i++) dp[i] = p[i] * (dp[i] - dot);
}

/* a (C,N) and P (T,T) for each of B sequences and H heads: P = softmax(K^T Q / sqrt(D)) over the keys up to the query, A = V P,
   with Q, K, V, A the head's D rows of the sequence's T columns. A tile of queries sees the keys up to its last one */
static PetscErrorCode AttentionForward(PetscInt C, PetscInt H, PetscInt B, PetscInt T, const GPTReal q[], const GPTReal k[], const GPTReal v[], GPTReal P[], GPTReal a[])
{
  const PetscInt D     = C / H;
  const GPTReal  scale = (GPTReal)(1.0 / sqrt((double)D));

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b < B; b++) {
    for (PetscInt h = 0; h < H; h++) {
      const PetscInt head = b * T * C + h * D;
      GPTReal       *Pbh  = P + (b * H + h) * T * T;

      for (PetscInt first = 0; first < T; first += GPT_ATTENTION_TILE) {
        const PetscInt queries = PetscMin(GPT_ATTENTION_TILE, T - first), keys = first + queries;
        GPTReal       *tile = Pbh + first * T;

        PetscCall(Gemm("T", "N", keys, queries, D, scale, k + head, C, q + head + first * C, C, 0.0, tile, T));
        for (PetscInt j = 0; j < queries; j++) SoftmaxForward(keys, first + j + 1, tile + j * T);
        PetscCall(Gemm("N", "N", D, queries, keys, 1.0, v + head, C, tile, T, 0.0, a + head + first * C, C));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   dq, dk, dv (C,N) of da (C,N): dV = dA P^T, dS = softmax backward of V^T dA, dQ = K dS / sqrt(D), dK = Q
   dS^T / sqrt(D)
*/
static PetscErrorCode AttentionBackward(PetscInt C, PetscInt H, PetscInt B, PetscInt T, const GPTReal q[], const GPTReal k[], const GPTReal v[], const GPTReal P[], const GPTReal da[], GPTReal dP[], GPTReal dq[], GPTReal dk[], GPTReal dv[])
{
  const PetscInt D     = C / H;
  const GPTReal  scale = (GPTReal)(1.0 / sqrt((double)D));

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(dk, C * B * T));
  PetscCall(PetscArrayzero(dv, C * B * T));
  for (PetscInt b = 0; b < B; b++) {
    for (PetscInt h = 0; h < H; h++) {
      const PetscInt head = b * T * C + h * D;
      const GPTReal *Pbh  = P + (b * H + h) * T * T;

      for (PetscInt first = 0; first < T; first += GPT_ATTENTION_TILE) {
        const PetscInt queries = PetscMin(GPT_ATTENTION_TILE, T - first), keys = first + queries, tile = head + first * C;
        const GPTReal *p = Pbh + first * T;

        PetscCall(Gemm("N", "T", D, keys, queries, 1.0, da + tile, C, p, T, 1.0, dv + head, C));
        PetscCall(Gemm("T", "N", keys, queries, D, 1.0, v + head, C, da + tile, C, 0.0, dP, T));
        for (PetscInt j = 0; j < queries; j++) SoftmaxBackward(keys, p + j * T, dP + j * T);
        PetscCall(Gemm("N", "N", D, queries, keys, scale, k + head, C, dP, T, 0.0, dq + tile, C));
        PetscCall(Gemm("N", "T", D, keys, queries, scale, q + tile, C, dP, T, 1.0, dk + head, C));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* h (n) in place, s (n): h = relu(h), s = h^2 */
GPT_CLONES static void SquaredReLUForward(PetscInt n, GPTReal *PETSC_RESTRICT h, GPTReal *PETSC_RESTRICT s)
{
  for (PetscInt i = 0; i < n; i++) {
    /* the comparison is written so that a NaN stays one */
    h[i] = h[i] < 0.0 ? 0.0 : h[i];
    s[i] = h[i] * h[i];
  }
}

/* ds (n) in place: the gradient of the step's input, 2 h ds, with h after the relu */
GPT_CLONES static void SquaredReLUBackward(PetscInt n, const GPTReal *PETSC_RESTRICT h, GPTReal *PETSC_RESTRICT ds)
{
  for (PetscInt i = 0; i < n; i++) ds[i] *= h[i] + h[i];
}

/* The factor of h in GELU(h), 1 / (1 + e^-2u) with u = sqrt(2/pi) (h + 0.044715 h^3), which is (1 + tanh u) / 2 */
GPT_INLINE GPTReal Gate(GPTReal h)
{
  const GPTReal u = (GPTReal)1.5957691216057308 * (h + (GPTReal)0.044715 * h * h * h), e = Exp(u < 0 ? u : -u);

  return (u < 0 ? e : 1) / (1 + e);
}

/* s (n) = GELU(h) */
GPT_CLONES static void GELUForward(PetscInt n, const GPTReal *PETSC_RESTRICT h, GPTReal *PETSC_RESTRICT s)
{
  for (PetscInt i = 0; i < n; i++) s[i] = h[i] * Gate(h[i]);
}

/* ds (n) in place: the gradient of the step's input */
GPT_CLONES static void GELUBackward(PetscInt n, const GPTReal *PETSC_RESTRICT h, GPTReal *PETSC_RESTRICT ds)
{
  for (PetscInt i = 0; i < n; i++) {
    const GPTReal gate = Gate(h[i]), slope = (GPTReal)1.5957691216057308 * (1 + 3 * (GPTReal)0.044715 * h[i] * h[i]);

    ds[i] *= gate * (1 + h[i] * (1 - gate) * slope);
  }
}

/*
   l (V) becomes weight (softmax(l) - onehot(target)), the gradient of weight times the cross entropy that is
   returned
*/
GPT_CLONES static double CrossEntropy(PetscInt V, PetscInt target, GPTReal weight, GPTReal *PETSC_RESTRICT l)
{
  const double  correct = (double)l[target];
  GPTReal       largest;
  const GPTReal sum = Exponentials(V, l, &largest), factor = weight / sum;

  for (PetscInt i = 0; i < V; i++) l[i] *= factor;
  l[target] -= weight;
  return log((double)sum) + (double)largest - correct;
}

/*
   Mean cross entropy of softmax(E n), E (V,C), n (C,N) = nf with its gains; with dW also dE (V,C) += weight dlogits n^T and
   dn (C,N), weight times the gradient of nf
*/
static PetscErrorCode HeadLoss(GPT gpt, PetscInt N, const GPTReal *const W[], const PetscInt targets[], double weight, double *loss, GPTReal *const dW[])
{
  const PetscInt V = gpt->shape.vocabulary, C = gpt->shape.width;
  const GPTReal *gain = gpt->shape.variant == GPT_GPT2 ? W[gpt->n - 2] : NULL, *n = GainForward(C, N, gain, gpt->nf, gpt->scaled);
  double         sum = 0.0;

  PetscFunctionBeginUser;
  for (PetscInt first = 0; first < N; first += gpt->chunk) {
    const PetscInt count = PetscMin(gpt->chunk, N - first);

    PetscCall(LinearForward(V, C, count, W[0], n + first * C, 0.0, gpt->logits));
    for (PetscInt j = 0; j < count; j++) sum += CrossEntropy(V, targets[first + j], (GPTReal)(weight / (double)N), gpt->logits + j * V);
    if (dW != NULL) PetscCall(LinearBackward(V, C, count, W[0], n + first * C, gpt->logits, 0.0, gpt->dn + first * C, dW[0]));
  }
  if (dW != NULL && gain != NULL) GainBackward(C, N, gain, gpt->nf, gpt->dn, dW[gpt->n - 2]);
  *loss = sum / (double)N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What belongs to no block for block -1, else the matrices of a block, before they are read and behind */
static PetscErrorCode Fetch(GPT gpt, PetscInt block, PetscBool begin)
{
  PetscFunctionBeginUser;
  if (gpt->fetch == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < gpt->n; i++) {
    const PetscInt of = i == 0 || i > gpt->inblock * gpt->shape.blocks ? -1 : (i - 1) / gpt->inblock;

    if (of == block) PetscCall((*gpt->fetch)(gpt->fetchctx, i, begin));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   nf (C,N): the network up to the head. Each block is x += o attention(q n, k n, v n), x += down relu(up
   n)^2, n = norm(x), or x += down GELU(up n)
*/
static PetscErrorCode Forward(GPT gpt, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[])
{
  const PetscInt  V = gpt->shape.vocabulary, C = gpt->shape.width, H = gpt->shape.heads, N = B * T;
  const PetscBool gpt2 = gpt->shape.variant == GPT_GPT2 ? PETSC_TRUE : PETSC_FALSE;
  GPTReal        *x    = gpt->x;

  PetscFunctionBeginUser;
  PetscCall(Fetch(gpt, -1, PETSC_TRUE));
  EmbedForward(V, C, N, W[0], tokens, x);
  if (gpt2 == PETSC_TRUE) PositionsForward(C, B, T, gpt->shape.sequence, W[gpt->n - 1], x);
  PetscCall(Fetch(gpt, -1, PETSC_FALSE));
  for (PetscInt l = 0; l < gpt->shape.blocks; l++) {
    const GPTReal *const *Wl    = W + 1 + l * gpt->inblock;
    const GPTBlock       *block = &gpt->block[l];
    const GPTReal        *n;

    PetscCall(Fetch(gpt, l, PETSC_TRUE));
    NormForward(C, N, gpt2, x, block->n1, block->r1);
    n = GainForward(C, N, gpt2 == PETSC_TRUE ? Wl[GPT_GAIN1] : NULL, block->n1, gpt->scaled);
    PetscCall(LinearForward(C, C, N, Wl[GPT_Q], n, 0.0, block->q));
    PetscCall(LinearForward(C, C, N, Wl[GPT_K], n, 0.0, block->k));
    PetscCall(LinearForward(C, C, N, Wl[GPT_V], n, 0.0, block->v));
    if (gpt2 == PETSC_FALSE) {
      Rotate(C, H, B, T, gpt->cosine, gpt->sine, 1.0, block->q);
      Rotate(C, H, B, T, gpt->cosine, gpt->sine, 1.0, block->k);
    }
    PetscCall(AttentionForward(C, H, B, T, block->q, block->k, block->v, block->P, block->a));
    PetscCall(LinearForward(C, C, N, Wl[GPT_O], block->a, 1.0, x));

    NormForward(C, N, gpt2, x, block->n2, block->r2);
    n = GainForward(C, N, gpt2 == PETSC_TRUE ? Wl[GPT_GAIN2] : NULL, block->n2, gpt->scaled);
    PetscCall(LinearForward(4 * C, C, N, Wl[GPT_UP], n, 0.0, block->h));
    if (gpt2 == PETSC_TRUE) GELUForward(4 * C * N, block->h, gpt->s);
    else SquaredReLUForward(4 * C * N, block->h, gpt->s);
    PetscCall(LinearForward(C, 4 * C, N, Wl[GPT_DOWN], gpt->s, 1.0, x));
    PetscCall(Fetch(gpt, l, PETSC_FALSE));
  }
  NormForward(C, N, gpt2, x, gpt->nf, gpt->rf);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   dW += the gradient, from dn (C,N), the gradient of nf. x is over: its array takes the gradient of the
   residual stream
*/
static PetscErrorCode Backward(GPT gpt, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[], GPTReal *const dW[])
{
  const PetscInt  V = gpt->shape.vocabulary, C = gpt->shape.width, H = gpt->shape.heads, N = B * T;
  const PetscBool gpt2 = gpt->shape.variant == GPT_GPT2 ? PETSC_TRUE : PETSC_FALSE;
  GPTReal        *dx   = gpt->x;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(dx, C * N));
  NormBackward(C, N, gpt2, gpt->nf, gpt->rf, gpt->dn, dx);
  for (PetscInt l = gpt->shape.blocks - 1; l >= 0; l--) {
    const GPTReal *const *Wl    = W + 1 + l * gpt->inblock;
    GPTReal *const       *dWl   = dW + 1 + l * gpt->inblock;
    const GPTBlock       *block = &gpt->block[l];
    const GPTReal        *gain[2], *n;
    GPTReal              *dgain[2];

    PetscCall(Fetch(gpt, l, PETSC_TRUE));
    for (PetscInt i = 0; i < 2; i++) {
      gain[i]  = gpt2 == PETSC_TRUE ? Wl[GPT_GAIN1 + i] : NULL;
      dgain[i] = gpt2 == PETSC_TRUE ? dWl[GPT_GAIN1 + i] : NULL;
    }
    if (gpt2 == PETSC_TRUE) GELUForward(4 * C * N, block->h, gpt->s);
    else SquaredReLUForward(4 * C * N, block->h, gpt->s);
    PetscCall(LinearBackward(C, 4 * C, N, Wl[GPT_DOWN], gpt->s, dx, 0.0, gpt->ds, dWl[GPT_DOWN]));
    if (gpt2 == PETSC_TRUE) GELUBackward(4 * C * N, block->h, gpt->ds);
    else SquaredReLUBackward(4 * C * N, block->h, gpt->ds);
    n = GainForward(C, N, gain[1], block->n2, gpt->scaled);
    PetscCall(LinearBackward(4 * C, C, N, Wl[GPT_UP], n, gpt->ds, 0.0, gpt->dn, dWl[GPT_UP]));
    GainBackward(C, N, gain[1], block->n2, gpt->dn, dgain[1]);
    NormBackward(C, N, gpt2, block->n2, block->r2, gpt->dn, dx);

    PetscCall(LinearBackward(C, C, N, Wl[GPT_O], block->a, dx, 0.0, gpt->da, dWl[GPT_O]));
    PetscCall(AttentionBackward(C, H, B, T, block->q, block->k, block->v, block->P, gpt->da, gpt->dP, gpt->dq, gpt->dk, gpt->dv));
    if (gpt2 == PETSC_FALSE) {
      Rotate(C, H, B, T, gpt->cosine, gpt->sine, -1.0, gpt->dq);
      Rotate(C, H, B, T, gpt->cosine, gpt->sine, -1.0, gpt->dk);
    }
    n = GainForward(C, N, gain[0], block->n1, gpt->scaled);
    PetscCall(LinearBackward(C, C, N, Wl[GPT_Q], n, gpt->dq, 0.0, gpt->dn, dWl[GPT_Q]));
    PetscCall(LinearBackward(C, C, N, Wl[GPT_K], n, gpt->dk, 1.0, gpt->dn, dWl[GPT_K]));
    PetscCall(LinearBackward(C, C, N, Wl[GPT_V], n, gpt->dv, 1.0, gpt->dn, dWl[GPT_V]));
    GainBackward(C, N, gain[0], block->n1, gpt->dn, dgain[0]);
    NormBackward(C, N, gpt2, block->n1, block->r1, gpt->dn, dx);
    PetscCall(Fetch(gpt, l, PETSC_FALSE));
  }
  EmbedBackward(V, C, N, tokens, dx, dW[0]);
  if (gpt2 == PETSC_TRUE) PositionsBackward(C, B, T, gpt->shape.sequence, dx, dW[gpt->n - 1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call must fit into the arrays of GPTCreate(), and a token into the vocabulary */
static PetscErrorCode CheckInput(GPT gpt, PetscInt B, PetscInt T, const PetscInt tokens[])
{
  const GPTShape *shape = &gpt->shape;

  PetscFunctionBeginUser;
  PetscCheck(B > 0 && B <= shape->batch, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " sequences in one call, the model was created for 1 to %" PetscInt_FMT, B, shape->batch);
  PetscCheck(T > 0 && T <= shape->sequence, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Sequences of %" PetscInt_FMT " tokens, the model was created for 1 to %" PetscInt_FMT, T, shape->sequence);
  for (PetscInt j = 0; j < B * T; j++) PetscCheck(tokens[j] >= 0 && tokens[j] < shape->vocabulary, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Token %" PetscInt_FMT " is outside of the vocabulary of %" PetscInt_FMT, tokens[j], shape->vocabulary);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTLoss(GPT gpt, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[], const PetscInt targets[], double *loss)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInput(gpt, B, T, tokens));
  PetscCall(CheckInput(gpt, B, T, targets));
  PetscCall(Forward(gpt, W, B, T, tokens));
  PetscCall(Fetch(gpt, -1, PETSC_TRUE));
  PetscCall(HeadLoss(gpt, B * T, W, targets, 1.0, loss, NULL));
  PetscCall(Fetch(gpt, -1, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTLossAndGradient(GPT gpt, const GPTReal *const W[], PetscInt B, PetscInt T, const PetscInt tokens[], const PetscInt targets[], double weight, double *loss, GPTReal *const dW[])
{
  PetscFunctionBeginUser;
  PetscCall(CheckInput(gpt, B, T, tokens));
  PetscCall(CheckInput(gpt, B, T, targets));
  PetscCall(Forward(gpt, W, B, T, tokens));
  PetscCall(Fetch(gpt, -1, PETSC_TRUE));
  PetscCall(HeadLoss(gpt, B * T, W, targets, weight, loss, dW));
  PetscCall(Fetch(gpt, -1, PETSC_FALSE));
  PetscCall(Backward(gpt, W, B, T, tokens, dW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTNextToken(GPT gpt, const GPTReal *const W[], PetscInt T, const PetscInt tokens[], double temperature, double u, PetscInt *next)
{
  const PetscInt V = gpt->shape.vocabulary, C = gpt->shape.width;
  GPTReal       *p   = gpt->logits;
  double         sum = 0.0;

  PetscFunctionBeginUser;
  PetscCheck(temperature > 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Temperature %g must be positive", temperature);
  PetscCall(CheckInput(gpt, 1, T, tokens));
  PetscCall(Forward(gpt, W, 1, T, tokens));
  PetscCall(Fetch(gpt, -1, PETSC_TRUE));
  PetscCall(LinearForward(V, C, 1, W[0], GainForward(C, 1, gpt->shape.variant == GPT_GPT2 ? W[gpt->n - 2] : NULL, gpt->nf + (T - 1) * C, gpt->scaled), 0.0, p));
  PetscCall(Fetch(gpt, -1, PETSC_FALSE));
  for (PetscInt i = 0; i < V; i++) p[i] /= (GPTReal)temperature;
  SoftmaxForward(V, V, p);
  *next = V - 1;
  for (PetscInt i = 0; i < V; i++) {
    sum += (double)p[i];
    if (u < sum) {
      *next = i;
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTGetNumMatrices(GPT gpt, PetscInt *n)
{
  PetscFunctionBeginUser;
  *n = gpt->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static GPTMatrix Kind(GPT gpt, PetscInt i)
{
  const PetscInt behind = i - 1 - gpt->inblock * gpt->shape.blocks;

  return i == 0 ? GPT_EMBED : behind < 0 ? (GPTMatrix)((i - 1) % gpt->inblock) : behind == 0 ? GPT_GAIN : GPT_POSITIONS;
}

PetscErrorCode GPTGetMatrix(GPT gpt, PetscInt i, const char *name[], PetscInt *rows, PetscInt *columns)
{
  const PetscInt C = gpt->shape.width;
  GPTMatrix      kind;

  PetscFunctionBeginUser;
  PetscCheck(i >= 0 && i < gpt->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Matrix %" PetscInt_FMT " of a model with %" PetscInt_FMT, i, gpt->n);
  kind     = Kind(gpt, i);
  *name    = gpt->names[i];
  *rows    = kind == GPT_EMBED ? gpt->shape.vocabulary : kind == GPT_POSITIONS ? gpt->shape.sequence : kind == GPT_UP ? 4 * C : C;
  *columns = kind == GPT_DOWN ? 4 * C : kind == GPT_GAIN1 || kind == GPT_GAIN2 || kind == GPT_GAIN ? 1 : C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform numbers of mean zero. With variance 1/columns a matrix keeps the size of a normalized column; the two that write to the residual stream
   have 1/(2L) of that, so that its size does not grow with the depth. Gains are 1 */
PetscErrorCode GPTInitializeMatrix(GPT gpt, PetscInt i, PetscInt seed, GPTReal W[])
{
  const GPTStart  start = gpt->shape.start;
  const GPTMatrix kind  = Kind(gpt, i);
  const char     *name;
  PetscInt        rows, columns;
  PetscReal       bound;
  PetscRandom     random;

  PetscFunctionBeginUser;
  PetscCall(GPTGetMatrix(gpt, i, &name, &rows, &columns));
  if (columns == 1) {
    for (PetscInt e = 0; e < rows; e++) W[e] = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  bound = start == GPT_START_GPT2 ? 0.02 * PetscSqrtReal(3.0) : start == GPT_START_SMALL && kind >= GPT_EMBED ? 0.1 / (PetscReal)columns : PetscSqrtReal(3.0 / (PetscReal)columns);
  if (kind == GPT_O || kind == GPT_DOWN) bound /= PetscSqrtReal(2.0 * (PetscReal)gpt->shape.blocks);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetInterval(random, -bound, bound));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)(seed * 1000 + i)));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt e = 0; e < rows * columns; e++) {
    PetscReal value;

    PetscCall(PetscRandomGetValueReal(random, &value));
    W[e] = (GPTReal)value;
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTSetFetch(GPT gpt, GPTFetchFn *fetch, void *ctx)
{
  PetscFunctionBeginUser;
  gpt->fetch    = fetch;
  gpt->fetchctx = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTGetMemory(GPT gpt, PetscLogDouble *bytes)
{
  PetscFunctionBeginUser;
  *bytes = gpt->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array of m n o numbers, counted */
static PetscErrorCode Allocate(GPT gpt, PetscInt m, PetscInt n, PetscInt o, GPTReal **array)
{
  const size_t entries = (size_t)m * (size_t)n * (size_t)o;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(entries, array));
  gpt->bytes += (PetscLogDouble)entries * (PetscLogDouble)sizeof(GPTReal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTCreate(const GPTShape *shape, GPT *newgpt)
{
  const PetscInt V = shape->vocabulary, C = shape->width, H = shape->heads, T = shape->sequence, B = shape->batch, N = B * T;
  GPT            gpt;
  PetscInt       D;

  PetscFunctionBeginUser;
  PetscCheck(V > 0 && C > 0 && H > 0 && shape->blocks >= 0 && T > 0 && B > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Every size of the model must be positive");
  PetscCheck(C % H == 0 && (C / H) % 2 == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Width %" PetscInt_FMT " must be an even multiple of the %" PetscInt_FMT " heads: rotary positions turn pairs of channels", C, H);
  PetscCheck((PetscInt64)4 * C * N <= PETSC_MAX_INT && (PetscInt64)B * H * T * T <= PETSC_MAX_INT && (PetscInt64)V * C <= PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A batch of %" PetscInt_FMT " sequences of %" PetscInt_FMT " tokens overflows PetscInt: use smaller batches", B, T);
  D = C / H;
  PetscCall(PetscNew(&gpt));
  gpt->shape = *shape;

  gpt->inblock = shape->variant == GPT_GPT2 ? GPT_GAIN2 + 1 : GPT_DOWN + 1;
  gpt->n       = 1 + shape->blocks * gpt->inblock + (shape->variant == GPT_GPT2 ? 2 : 0);
  PetscCall(PetscMalloc1(gpt->n, &gpt->names));
  for (PetscInt i = 0; i < gpt->n; i++) {
    const GPTMatrix kind = Kind(gpt, i);

    if (kind < GPT_EMBED) PetscCall(PetscSNPrintf(gpt->names[i], sizeof(gpt->names[i]), "h%" PetscInt_FMT ".%s", (i - 1) / gpt->inblock, GPTMatrixNames[kind]));
    else PetscCall(PetscStrncpy(gpt->names[i], GPTMatrixNames[kind], sizeof(gpt->names[i])));
  }

  PetscCall(PetscCalloc1(shape->blocks, &gpt->block));
  for (PetscInt l = 0; l < shape->blocks; l++) {
    GPTBlock *block = &gpt->block[l];

    PetscCall(Allocate(gpt, C, N, 1, &block->n1));
    PetscCall(Allocate(gpt, N, 1, 1, &block->r1));
    PetscCall(Allocate(gpt, C, N, 1, &block->q));
    PetscCall(Allocate(gpt, C, N, 1, &block->k));
    PetscCall(Allocate(gpt, C, N, 1, &block->v));
    PetscCall(Allocate(gpt, B * H, T, T, &block->P));
    PetscCall(Allocate(gpt, C, N, 1, &block->a));
    PetscCall(Allocate(gpt, C, N, 1, &block->n2));
    PetscCall(Allocate(gpt, N, 1, 1, &block->r2));
    PetscCall(Allocate(gpt, 4 * C, N, 1, &block->h));
  }
  gpt->chunk = PetscMax(1, PetscMin(N, GPT_LOGITS_ENTRIES / V));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->x));
  PetscCall(Allocate(gpt, C, shape->variant == GPT_GPT2 ? N : 0, 1, &gpt->scaled));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->nf));
  PetscCall(Allocate(gpt, N, 1, 1, &gpt->rf));
  PetscCall(Allocate(gpt, 4 * C, N, 1, &gpt->s));
  PetscCall(Allocate(gpt, 4 * C, N, 1, &gpt->ds));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->dn));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->da));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->dq));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->dk));
  PetscCall(Allocate(gpt, C, N, 1, &gpt->dv));
  PetscCall(Allocate(gpt, T, GPT_ATTENTION_TILE, 1, &gpt->dP));
  PetscCall(Allocate(gpt, V, gpt->chunk, 1, &gpt->logits));

  PetscCall(Allocate(gpt, D / 2, T, 1, &gpt->cosine));
  PetscCall(Allocate(gpt, D / 2, T, 1, &gpt->sine));
  for (PetscInt t = 0; t < T; t++) {
    for (PetscInt i = 0; i < D / 2; i++) {
      /* an angle of many turns would lose digits in single precision */
      const double angle = (double)t * pow(GPT_ROTARY_BASE, -2.0 * (double)i / (double)D);

      gpt->cosine[i + t * (D / 2)] = (GPTReal)cos(angle);
      gpt->sine[i + t * (D / 2)]   = (GPTReal)sin(angle);
    }
  }
  *newgpt = gpt;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GPTDestroy(GPT *gpt)
{
  PetscFunctionBeginUser;
  if (*gpt == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < (*gpt)->shape.blocks; l++) {
    GPTBlock *block = &(*gpt)->block[l];

    PetscCall(PetscFree(block->n1));
    PetscCall(PetscFree(block->r1));
    PetscCall(PetscFree(block->q));
    PetscCall(PetscFree(block->k));
    PetscCall(PetscFree(block->v));
    PetscCall(PetscFree(block->P));
    PetscCall(PetscFree(block->a));
    PetscCall(PetscFree(block->n2));
    PetscCall(PetscFree(block->r2));
    PetscCall(PetscFree(block->h));
  }
  PetscCall(PetscFree((*gpt)->block));
  PetscCall(PetscFree((*gpt)->names));
  PetscCall(PetscFree((*gpt)->x));
  PetscCall(PetscFree((*gpt)->scaled));
  PetscCall(PetscFree((*gpt)->nf));
  PetscCall(PetscFree((*gpt)->rf));
  PetscCall(PetscFree((*gpt)->s));
  PetscCall(PetscFree((*gpt)->ds));
  PetscCall(PetscFree((*gpt)->dn));
  PetscCall(PetscFree((*gpt)->da));
  PetscCall(PetscFree((*gpt)->dq));
  PetscCall(PetscFree((*gpt)->dk));
  PetscCall(PetscFree((*gpt)->dv));
  PetscCall(PetscFree((*gpt)->dP));
  PetscCall(PetscFree((*gpt)->logits));
  PetscCall(PetscFree((*gpt)->cosine));
  PetscCall(PetscFree((*gpt)->sine));
  PetscCall(PetscFree(*gpt));
  PetscFunctionReturn(PETSC_SUCCESS);
}
