/*
   ResNet-18 for images of 32 x 32 pixels, forward and backward: convolutions are products with the patches of an
   image (im2col), normalizations are over groups of channels of one image, so that an image's loss depends on no
   other image and on no rank.

   An image is C planes of S x S numbers, plane by plane and row by row. A kernel is an array (out, in, height, width)
   as in torch, and its layer the matrix of out rows.
*/
#pragma once

#include <petscmuon.h>
#include <petscblaslapack.h>

/* Single precision, whatever PETSc's scalar is; a test of the gradient compiles all of it in double */
#if defined(NET_DOUBLE)
typedef double NetReal;
  #define NET_LETTER      d
  #define NET_LETTER_CAPS D
#else
typedef float    NetReal;
  #define NET_LETTER      s
  #define NET_LETTER_CAPS S
#endif
#if defined(NET_DOUBLE) == defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
  #define NET_GEMM BLASgemm_
#else
  #if defined(PETSC_BLASLAPACK_CAPS)
    #define NET_GEMM PETSC_PASTE3(NET_LETTER_CAPS, GEMM, PETSC_BLASLAPACK_SUFFIX_)
  #else
    #define NET_GEMM PETSC_PASTE3(NET_LETTER, gemm, PETSC_BLASLAPACK_SUFFIX_)
  #endif
BLAS_EXTERN void NET_GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const NetReal *, const NetReal *, const PetscBLASInt *, const NetReal *, const PetscBLASInt *, const NetReal *, NetReal *,
                          const PetscBLASInt *);
#endif

#define NET_SIDE    32
#define NET_CLASSES 10
#define NET_BLOCKS  8
#define NET_GROUP   4 /* channels that are normalized together */
#define NET_EPSILON 1e-5

/* A convolution and the normalization behind it */
typedef struct {
  PetscInt  in, out, kernel, stride, from, to; /* channels, size of the kernel, sides of the images */
  MuonLayer layer[2];
  NetReal  *W, *a; /* the kernel; factors and shifts of the channels, the two columns of a matrix */
  NetReal  *dW, *da;
  NetReal  *y, *z;        /* of all images: behind the convolution, behind everything */
  NetReal  *mean, *scale; /* of each group of each image */
} Unit;

/* Two units around which the input goes, itself or through a unit where its size changes */
typedef struct {
  Unit      first, second, around;
  PetscBool bypass; /* there is the unit `around` */
} Block;

typedef struct {
  PetscInt  width, images, features; /* channels of the first blocks, images that fit, channels of the last blocks */
  Unit      stem;
  Block     block[NET_BLOCKS];
  MuonLayer layer[2];
  NetReal  *W, *b, *dW, *db; /* of the classifier */
  NetReal  *patches, *pooled, *d[3];
} Net;

/* C = op(A) op(B) + beta C of column-major arrays without gaps; C is m x n, k the inner size */
static inline PetscErrorCode NetProduct(const char opa[], const char opb[], PetscInt m, PetscInt n, PetscInt k, const NetReal A[], const NetReal B[], NetReal beta, NetReal C[])
{
  const NetReal one = 1;
  PetscBLASInt  bm, bn, bk, lda, ldb;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  lda = opa[0] == 'N' ? bm : bk;
  ldb = opb[0] == 'N' ? bk : bn;
  PetscCallBLAS("gemm", NET_GEMM(opa, opb, &bm, &bn, &bk, &one, A, &lda, B, &ldb, &beta, C, &bm));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n * (PetscLogDouble)k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform numbers of mean zero that depend on seed and layer alone */
static inline PetscErrorCode NetDraw(PetscInt seed, PetscInt n, double deviation, NetReal w[])
{
  const PetscReal bound = PetscSqrtReal(3.0) * (PetscReal)deviation;
  PetscRandom     random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetInterval(random, -bound, bound));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal value;

    PetscCall(PetscRandomGetValueReal(random, &value));
    w[i] = (NetReal)value;
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer of rows x columns numbers with its gradient beside it */
static inline PetscErrorCode NetAddLayer(Muon muon, const char name[], const char part[], PetscBool rowmajor, PetscInt rows, PetscInt columns, NetReal **w, NetReal **dw, MuonLayer *layer)
{
  MuonLayerArray array;
  char           full[64];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(rows * columns, w));
  PetscCall(PetscCalloc1(rows * columns, dw));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type     = sizeof(NetReal) == sizeof(float) ? PETSC_FLOAT : PETSC_DOUBLE;
  array.rowmajor = rowmajor;
  array.M        = rows;
  array.N        = columns;
  array.w        = *w;
  array.g        = *dw;
  PetscCall(PetscSNPrintf(full, sizeof(full), "%s.%s", name, part));
  PetscCall(MuonAddLayerArray(muon, full, &array, layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers name.kernel and name.norm, and memory for what the backward pass needs of so many images */
static inline PetscErrorCode UnitCreate(Muon muon, const char name[], PetscInt in, PetscInt out, PetscInt kernel, PetscInt stride, PetscInt from, PetscInt images, PetscInt seed, Unit *u)
{
  const PetscInt dims[] = {out, in, kernel, kernel}, columns = in * kernel * kernel;

  PetscFunctionBeginUser;
  u->in     = in;
  u->out    = out;
  u->kernel = kernel;
  u->stride = stride;
  u->from   = from;
  u->to     = from / stride;
  PetscCall(NetAddLayer(muon, name, "kernel", PETSC_TRUE, out, columns, &u->W, &u->dW, &u->layer[0]));
  PetscCall(MuonLayerSetTensor(u->layer[0], 4, dims, MUON_TENSOR_FLATTEN));
  PetscCall(NetDraw(seed, out * columns, sqrt(2.0 / (double)columns), u->W));
  PetscCall(NetAddLayer(muon, name, "norm", PETSC_FALSE, out, 2, &u->a, &u->da, &u->layer[1]));
  for (PetscInt c = 0; c < 2 * out; c++) u->a[c] = c < out ? 1 : 0;
  PetscCall(PetscMalloc2(images * out * u->to * u->to, &u->y, images * out * u->to * u->to, &u->z));
  PetscCall(PetscMalloc2(images * out / NET_GROUP, &u->mean, images * out / NET_GROUP, &u->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode UnitDestroy(Unit *u)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(u->W));
  PetscCall(PetscFree(u->dW));
  PetscCall(PetscFree(u->a));
  PetscCall(PetscFree(u->da));
  PetscCall(PetscFree2(u->y, u->z));
  PetscCall(PetscFree2(u->mean, u->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   patches (to * to, in * kernel * kernel) of the image x: column (c, i, j) has for each place of the output what entry
   (i, j) of a kernel is multiplied with. With add = PETSC_TRUE the other way: x += what the patches have for each pixel
*/
static inline void UnitPatches(const Unit *u, NetReal patches[], NetReal x[], PetscBool add)
{
  const PetscInt margin = u->kernel / 2, S = u->from, T = u->to;

  for (PetscInt c = 0; c < u->in; c++) {
    for (PetscInt ij = 0; ij < u->kernel * u->kernel; ij++, patches += T * T) {
      const PetscInt di = ij / u->kernel - margin, dj = ij % u->kernel - margin;
      const PetscInt first = dj < 0 ? (-dj + u->stride - 1) / u->stride : 0, last = PetscMin(T, (S - dj + u->stride - 1) / u->stride);

      for (PetscInt p = 0; p < T; p++) {
        const PetscInt i = p * u->stride + di, at = (c * S + i) * S + dj, begin = i >= 0 && i < S ? first : T, end = i >= 0 && i < S ? last : T;
        NetReal       *patch = patches + p * T;

        if (add == PETSC_TRUE) {
          for (PetscInt q = begin; q < end; q++) x[at + q * u->stride] += patch[q];
        } else {
          for (PetscInt q = 0; q < begin; q++) patch[q] = 0;
          for (PetscInt q = begin; q < end; q++) patch[q] = x[at + q * u->stride];
          for (PetscInt q = end; q < T; q++) patch[q] = 0;
        }
      }
    }
  }
}

/* z = relu(norm(W * x)), without the relu where something is added before it */
static inline PetscErrorCode UnitForward(Net *net, Unit *u, PetscInt images, NetReal x[], PetscBool relu)
{
  const PetscInt pixels = u->to * u->to, columns = u->in * u->kernel * u->kernel, size = NET_GROUP * pixels;

  PetscFunctionBeginUser;
  for (PetscInt n = 0; n < images; n++) {
    UnitPatches(u, net->patches, x + n * u->in * u->from * u->from, PETSC_FALSE);
    PetscCall(NetProduct("N", "N", pixels, u->out, columns, net->patches, u->W, 0, u->y + n * u->out * pixels));
  }
  for (PetscInt g = 0; g < images * u->out / NET_GROUP; g++) {
    const PetscInt channel = g * NET_GROUP % u->out;
    const NetReal *y       = u->y + g * size;
    NetReal       *z = u->z + g * size, sum = 0, squares = 0;

    for (PetscInt i = 0; i < size; i++) sum += y[i];
    u->mean[g] = sum / (NetReal)size;
    for (PetscInt i = 0; i < size; i++) squares += (y[i] - u->mean[g]) * (y[i] - u->mean[g]);
    u->scale[g] = (NetReal)(1 / sqrt((double)squares / (double)size + NET_EPSILON));
    for (PetscInt c = 0; c < NET_GROUP; c++) {
      const NetReal factor = u->a[channel + c] * u->scale[g], shift = u->a[u->out + channel + c] - factor * u->mean[g];

      for (PetscInt i = c * pixels; i < (c + 1) * pixels; i++) {
        z[i] = factor * y[i] + shift;
        z[i] = relu == PETSC_TRUE && z[i] < 0 ? 0 : z[i]; /* a NaN stays one */
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d *= (z > 0), where z is behind a relu */
static inline void NetMask(PetscInt n, const NetReal z[], NetReal d[])
{
  for (PetscInt i = 0; i < n; i++) d[i] = z[i] > 0 ? d[i] : 0;
}

/* From dz, the gradient by the normalized images: adds to dW and da; dx = (or, with add, +=) the gradient by the input, NULL where nobody needs it. dy may be dz */
static inline PetscErrorCode UnitBackward(Net *net, Unit *u, PetscInt images, NetReal x[], const NetReal dz[], NetReal dy[], PetscBool add, NetReal dx[])
{
  const PetscInt pixels = u->to * u->to, columns = u->in * u->kernel * u->kernel, size = NET_GROUP * pixels;

  PetscFunctionBeginUser;
  for (PetscInt g = 0; g < images * u->out / NET_GROUP; g++) {
    const PetscInt channel = g * NET_GROUP % u->out;
    const NetReal *y = u->y + g * size, *dzg = dz + g * size, mean = u->mean[g], scale = u->scale[g];
    NetReal       *dyg = dy + g * size, sum = 0, product = 0;

    for (PetscInt c = 0; c < NET_GROUP; c++) {
      NetReal sumc = 0, productc = 0;

      for (PetscInt i = c * pixels; i < (c + 1) * pixels; i++) {
        sumc += dzg[i];
        productc += dzg[i] * (y[i] - mean) * scale;
      }
      u->da[channel + c] += productc;
      u->da[u->out + channel + c] += sumc;
      sum += u->a[channel + c] * sumc / (NetReal)size;
      product += u->a[channel + c] * productc / (NetReal)size;
    }
    for (PetscInt i = 0; i < size; i++) dyg[i] = scale * (u->a[channel + i / pixels] * dzg[i] - sum - (y[i] - mean) * scale * product);
  }
  if (dx != NULL && add == PETSC_FALSE) PetscCall(PetscArrayzero(dx, images * u->in * u->from * u->from));
  for (PetscInt n = 0; n < images; n++) {
    const PetscInt at = n * u->in * u->from * u->from;

    UnitPatches(u, net->patches, x + at, PETSC_FALSE);
    PetscCall(NetProduct("T", "N", columns, u->out, pixels, net->patches, dy + n * u->out * pixels, 1, u->dW));
    if (dx == NULL) continue;
    PetscCall(NetProduct("N", "T", pixels, columns, u->out, dy + n * u->out * pixels, u->W, 0, net->patches));
    UnitPatches(u, net->patches, dx + at, PETSC_TRUE);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers of all parameters; kernels have the variance 2/inputs, seeds of layers follow one another */
static inline PetscErrorCode NetCreate(Muon muon, PetscInt width, PetscInt images, PetscInt seed, Net *net)
{
  PetscInt channels = width, side = NET_SIDE;

  PetscFunctionBeginUser;
  PetscCheck(width > 0 && width % NET_GROUP == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-resnet_width %" PetscInt_FMT " must be a positive multiple of %d", width, NET_GROUP);
  PetscCall(PetscMemzero(net, sizeof(*net)));
  seed *= 1000;
  net->width  = width;
  net->images = images;
  PetscCall(UnitCreate(muon, "stem", 3, width, 3, 1, side, images, seed++, &net->stem));
  for (PetscInt b = 0; b < NET_BLOCKS; b++) {
    const PetscInt out = width << (b / 2), stride = b > 0 && b % 2 == 0 ? 2 : 1;
    Block         *block = &net->block[b];
    char           name[32];

    PetscCall(PetscSNPrintf(name, sizeof(name), "b%" PetscInt_FMT ".first", b));
    PetscCall(UnitCreate(muon, name, channels, out, 3, stride, side, images, seed++, &block->first));
    PetscCall(PetscSNPrintf(name, sizeof(name), "b%" PetscInt_FMT ".second", b));
    PetscCall(UnitCreate(muon, name, out, out, 3, 1, side / stride, images, seed++, &block->second));
    PetscCall(PetscSNPrintf(name, sizeof(name), "b%" PetscInt_FMT ".around", b));
    block->bypass = stride > 1 ? PETSC_TRUE : PETSC_FALSE;
    if (block->bypass == PETSC_TRUE) PetscCall(UnitCreate(muon, name, channels, out, 1, stride, side, images, seed++, &block->around));
    channels = out;
    side /= stride;
  }
  net->features = channels;
  PetscCall(NetAddLayer(muon, "head", "weight", PETSC_TRUE, NET_CLASSES, channels, &net->W, &net->dW, &net->layer[0]));
  PetscCall(NetDraw(seed++, NET_CLASSES * channels, 0.1 / sqrt((double)channels), net->W));
  PetscCall(NetAddLayer(muon, "head", "bias", PETSC_FALSE, NET_CLASSES, 1, &net->b, &net->db, &net->layer[1]));
  PetscCall(PetscArrayzero(net->b, NET_CLASSES));
  PetscCall(PetscMalloc2(9 * width * NET_SIDE * NET_SIDE, &net->patches, images * channels, &net->pooled)); /* a stage has twice the channels on a quarter of the pixels */
  for (int i = 0; i < 3; i++) PetscCall(PetscMalloc1(images * width * NET_SIDE * NET_SIDE, &net->d[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode NetDestroy(Net *net)
{
  PetscFunctionBeginUser;
  PetscCall(UnitDestroy(&net->stem));
  for (PetscInt b = 0; b < NET_BLOCKS; b++) {
    PetscCall(UnitDestroy(&net->block[b].first));
    PetscCall(UnitDestroy(&net->block[b].second));
    PetscCall(UnitDestroy(&net->block[b].around));
  }
  PetscCall(PetscFree(net->W));
  PetscCall(PetscFree(net->dW));
  PetscCall(PetscFree(net->b));
  PetscCall(PetscFree(net->db));
  PetscCall(PetscFree2(net->patches, net->pooled));
  for (int i = 0; i < 3; i++) PetscCall(PetscFree(net->d[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum of the cross entropies, and how many images are known; with d (classes, images) also the gradient of `weight` times the sum by the logits */
static inline PetscErrorCode NetHead(Net *net, PetscInt images, const PetscInt labels[], double weight, NetReal d[], double *loss, PetscInt *right)
{
  PetscFunctionBeginUser;
  *loss  = 0;
  *right = 0;
  for (PetscInt n = 0; n < images; n++) {
    double   l[NET_CLASSES], sum = 0;
    PetscInt best = 0;

    for (PetscInt k = 0; k < NET_CLASSES; k++) {
      l[k] = (double)net->b[k];
      for (PetscInt c = 0; c < net->features; c++) l[k] += (double)net->W[k * net->features + c] * (double)net->pooled[n * net->features + c];
      if (l[k] > l[best]) best = k;
    }
    for (PetscInt k = 0; k < NET_CLASSES; k++) sum += exp(l[k] - l[best]);
    *loss += log(sum) + l[best] - l[labels[n]];
    *right += best == labels[n] ? 1 : 0;
    for (PetscInt k = 0; k < NET_CLASSES && d != NULL; k++) d[n * NET_CLASSES + k] = (NetReal)(weight * (exp(l[k] - l[best]) / sum - (k == labels[n] ? 1 : 0)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode NetForward(Net *net, PetscInt images, NetReal x[])
{
  PetscInt pixels;

  PetscFunctionBeginUser;
  PetscCall(UnitForward(net, &net->stem, images, x, PETSC_TRUE));
  x = net->stem.z;
  for (PetscInt b = 0; b < NET_BLOCKS; b++) {
    Block   *block = &net->block[b];
    PetscInt n     = images * block->second.out * block->second.to * block->second.to;

    PetscCall(UnitForward(net, &block->first, images, x, PETSC_TRUE));
    PetscCall(UnitForward(net, &block->second, images, block->first.z, PETSC_FALSE));
    if (block->bypass == PETSC_TRUE) {
      PetscCall(UnitForward(net, &block->around, images, x, PETSC_FALSE));
      x = block->around.z;
    }
    for (PetscInt i = 0; i < n; i++) {
      const NetReal z = block->second.z[i] + x[i];

      block->second.z[i] = z < 0 ? 0 : z;
    }
    x = block->second.z;
  }
  pixels = net->block[NET_BLOCKS - 1].second.to * net->block[NET_BLOCKS - 1].second.to;
  for (PetscInt k = 0; k < images * net->features; k++) {
    net->pooled[k] = 0;
    for (PetscInt i = 0; i < pixels; i++) net->pooled[k] += x[k * pixels + i] / (NetReal)pixels;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds to the gradients, from d[0] (classes, images), the gradient by the logits */
static inline PetscErrorCode NetBackward(Net *net, PetscInt images, NetReal x[])
{
  const PetscInt F = net->features, side = net->block[NET_BLOCKS - 1].second.to, pixels = side * side;
  NetReal       *d = net->d[1], *other = net->d[0], *inner = net->d[2];

  PetscFunctionBeginUser;
  PetscCall(NetProduct("N", "T", F, NET_CLASSES, images, net->pooled, other, 1, net->dW));
  for (PetscInt k = 0; k < images * NET_CLASSES; k++) net->db[k % NET_CLASSES] += other[k];
  PetscCall(NetProduct("N", "N", F, images, NET_CLASSES, net->W, other, 0, net->pooled));
  for (PetscInt i = 0; i < images * F * pixels; i++) d[i] = net->pooled[i / pixels] / (NetReal)pixels;
  for (PetscInt b = NET_BLOCKS - 1; b >= 0; b--) {
    Block         *block = &net->block[b];
    NetReal       *input = b > 0 ? net->block[b - 1].second.z : net->stem.z;
    const PetscInt n     = images * block->second.out * block->second.to * block->second.to;

    NetMask(n, block->second.z, d);
    PetscCall(UnitBackward(net, &block->second, images, block->first.z, d, other, PETSC_FALSE, inner));
    NetMask(n, block->first.z, inner);
    PetscCall(UnitBackward(net, &block->first, images, input, inner, inner, PETSC_FALSE, other));
    if (block->bypass == PETSC_TRUE) PetscCall(UnitBackward(net, &block->around, images, input, d, d, PETSC_TRUE, other));
    else
      for (PetscInt i = 0; i < n; i++) other[i] += d[i];
    input = d;
    d     = other;
    other = input;
  }
  NetMask(images * net->stem.out * NET_SIDE * NET_SIDE, net->stem.z, d);
  PetscCall(UnitBackward(net, &net->stem, images, x, d, d, PETSC_FALSE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean loss of some images; with gradient = PETSC_TRUE also its gradient, in the place of the one that was there */
static inline PetscErrorCode NetLoss(Net *net, PetscInt images, NetReal x[], const PetscInt labels[], PetscBool gradient, double *loss, PetscInt *right)
{
  PetscFunctionBeginUser;
  PetscCall(NetForward(net, images, x));
  PetscCall(NetHead(net, images, labels, 1 / (double)images, gradient == PETSC_TRUE ? net->d[0] : NULL, loss, right));
  *loss /= (double)images;
  if (gradient == PETSC_TRUE) {
    for (PetscInt b = -1; b < NET_BLOCKS; b++) {
      Unit *const units[3] = {b < 0 ? &net->stem : &net->block[b].first, b < 0 ? NULL : &net->block[b].second, b < 0 || net->block[b].bypass == PETSC_FALSE ? NULL : &net->block[b].around};

      for (int k = 0; k < 3 && units[k] != NULL; k++) {
        PetscCall(PetscArrayzero(units[k]->dW, units[k]->out * units[k]->in * units[k]->kernel * units[k]->kernel));
        PetscCall(PetscArrayzero(units[k]->da, 2 * units[k]->out));
      }
    }
    PetscCall(PetscArrayzero(net->dW, NET_CLASSES * net->features));
    PetscCall(PetscArrayzero(net->db, NET_CLASSES));
    PetscCall(NetBackward(net, images, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
