static char help[] = "A layer that is cut into blocks takes the steps of one layer for each block, to the last bit; damaged messages of blocks end a step as corrupt and leave no trace.\n\n";

#include <petscmuon/private/muonlmoimpl.h>
#include "parameters.h"
#include <petscmuon.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonwire.h>
#include "number_common.h"
#include "mpicount.h"

#define LAYERS   5
#define MAXPARTS 20

/*
   Sizes of a row of blocks and of a column of them; none is a layer that is not cut, one size that is
   repeated are equal blocks by their number
*/
typedef struct {
  const char *name;
  PetscInt    m, n, gap, nrows, ncolumns, rows[4], columns[4];
  PetscBool   vec, equal;
} Shape;

static const Shape Shapes[LAYERS] = {{"qkv", 12, 6, 2, 3, 2, {4, 5, 3}, {4, 2}, PETSC_FALSE, PETSC_FALSE},
                                     {"heads", 8, 10, 0, 4, 1, {2, 2, 2, 2}, {10}, PETSC_FALSE, PETSC_TRUE},
                                     {"out", 5, 5, 1, 1, 1, {5}, {5}, PETSC_FALSE, PETSC_FALSE},
                                     {"gain", 9, 1, 0, 2, 1, {4, 5}, {1}, PETSC_TRUE, PETSC_FALSE},
                                     {"table", 6, 4, 3, 2, 1, {2, 4}, {4}, PETSC_FALSE, PETSC_FALSE}};

/* What a layer of a problem is of a layer above: all of it, or one block */
typedef struct {
  PetscInt  l, k, row, column, m, n;
  MuonLayer layer;
  Mat       W;
  Vec       w;
} Part;

static char prefix[32] = ""; /* of the keys */

typedef struct {
  Muon        muon;
  PetscInt    nparts;
  Part        part[MAXPARTS];
  PetscMPIInt rank;
} Problem;

/* A multiple of 2^-10 in [-1, 1) that depends on its arguments alone */
static PetscReal Number(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (PetscReal)(TestHash(a, b, c, d) % 2048) / 1024 - 1;
}

/* Entries of the weights, or of the gradient, between Get and Restore */
static PetscErrorCode PartGetArray(Part *part, PetscBool gradient, PetscScalar **a, PetscInt *lda)
{
  Mat A = part->W;
  Vec v = part->w;

  PetscFunctionBegin;
  *lda = part->m;
  if (part->w != NULL) {
    if (gradient) PetscCall(MuonLayerGetGradientVec(part->layer, &v));
    PetscCall(VecGetArray(v, a));
  } else {
    if (gradient) PetscCall(MuonLayerGetGradient(part->layer, &A));
    PetscCall(MatDenseGetLDA(A, lda));
    PetscCall(MatDenseGetArray(A, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartRestoreArray(Part *part, PetscBool gradient, PetscScalar **a)
{
  Mat A = part->W;
  Vec v = part->w;

  PetscFunctionBegin;
  if (part->w != NULL) {
    if (gradient) PetscCall(MuonLayerGetGradientVec(part->layer, &v));
    PetscCall(VecRestoreArray(v, a));
  } else {
    if (gradient) PetscCall(MuonLayerGetGradient(part->layer, &A));
    PetscCall(MatDenseRestoreArray(A, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The gradient of 1/2 sum H (W - B)^2, with what each step adds to it; a fifth of the entries of one layer
   have none
*/
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt i = 0; i < p->nparts; i++) {
    Part        *part = &p->part[i];
    PetscScalar *w, *g;
    PetscInt     ldw, ldg;

    PetscCall(PartGetArray(part, PETSC_FALSE, &w, &ldw));
    PetscCall(PartGetArray(part, PETSC_TRUE, &g, &ldg));
    for (PetscInt c = 0; c < part->n; c++) {
      for (PetscInt r = 0; r < part->m; r++) {
        const PetscInt  e = (part->row + r) * Shapes[part->l].n + part->column + c;
        const PetscReal x = PetscRealPart(w[r + c * ldw]) - Number(part->l, e, p->rank, 3) * PetscSqrtReal((PetscReal)0.7);

        g[r + c * ldg] = (2 + Number(part->l, e, p->rank, 2)) * x + Number(part->l, e, p->rank, 100 + step) / 4;
        if (part->l == 1 && e % 5 == 0) g[r + c * ldg] = 0;
      }
    }
    PetscCall(PartRestoreArray(part, PETSC_TRUE, &g));
    PetscCall(PartRestoreArray(part, PETSC_FALSE, &w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartAdd(Problem *p, const char name[], PetscInt l, PetscInt k, PetscInt row, PetscInt column, PetscInt m, PetscInt n)
{
  Part        *part = &p->part[p->nparts++];
  PetscScalar *w;
  PetscInt     lda;

  PetscFunctionBegin;
  part->l      = l;
  part->k      = k;
  part->row    = row;
  part->column = column;
  part->m      = m;
  part->n      = n;
  part->W      = NULL;
  part->w      = NULL;
  if (Shapes[l].vec) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, m, &part->w));
    PetscCall(MuonAddVecLayer(p->muon, name, part->w, &part->layer));
  } else {
    PetscCall(MatCreate(PETSC_COMM_SELF, &part->W));
    PetscCall(MatSetSizes(part->W, m, n, m, n));
    PetscCall(MatSetType(part->W, MATSEQDENSE));
    PetscCall(MatDenseSetLDA(part->W, m + Shapes[l].gap));
    PetscCall(MatSetUp(part->W));
    PetscCall(MuonAddLayer(p->muon, name, part->W, &part->layer));
  }
  PetscCall(PartGetArray(part, PETSC_FALSE, &w, &lda));
  for (PetscInt c = 0; c < n; c++) {
    for (PetscInt r = 0; r < m; r++) w[r + c * lda] = Number(l, (row + r) * Shapes[l].n + column + c, 0, 1);
  }
  PetscCall(PartRestoreArray(part, PETSC_FALSE, &w));
  if (l == 4) PetscCall(MuonLayerSetRule(part->layer, MUONLAYERADAMW));
  if (l == 3) {
    MuonLMO lmo;

    PetscCall(MuonLayerGetLMO(part->layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(PetscBool separate, Problem *p)
{
  PetscFunctionBegin;
  p->nparts = 0;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &p->muon));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p->rank));
  for (PetscInt l = 0; l < LAYERS; l++) {
    const Shape   *s     = &Shapes[l];
    const PetscInt count = s->nrows * s->ncolumns;

    if (separate == PETSC_FALSE || count == 1) {
      PetscCall(PartAdd(p, s->name, l, -1, 0, 0, s->m, s->n));
      PetscCall(MuonLayerSetBlocks(p->part[p->nparts - 1].layer, s->nrows, s->equal ? NULL : s->rows, s->ncolumns, s->equal ? NULL : s->columns));
      continue;
    }
    for (PetscInt k = 0, row = 0; k < count; k++) {
      PetscInt column = 0;
      char     name[32];

      for (PetscInt j = 0; j < k % s->ncolumns; j++) column += s->columns[j];
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s.%" PetscInt_FMT, s->name, k));
      PetscCall(PartAdd(p, name, l, k, row, column, s->rows[k / s->ncolumns], s->columns[k % s->ncolumns]));
      if ((k + 1) % s->ncolumns == 0) row += s->rows[k / s->ncolumns];
    }
  }
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, p));
  PetscCall(MuonSetMaxSteps(p->muon, 12));
  PetscCall(MuonSetParameter(p->muon, "muon_count_entropy", "true"));
  PetscCall(MuonSetOptionsPrefix(p->muon, prefix));
  PetscCall(MuonSetFromOptions(p->muon));
  PetscCall(MuonSetUp(p->muon));
  if (separate) {
    MuonType  type;
    PetscBool ef21;
    PetscReal seed;

    /* Hashes and random numbers of the blocks, whose names no layer can have */
    PetscCall(MuonGetType(p->muon, &type));
    PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
    PetscCall(GetReal((PetscObject)p->muon, "muon_seed", &seed));
    for (PetscInt i = 0; i < p->nparts && ef21; i++) {
      const Part    *part = &p->part[i];
      MuonCompressor up, down;
      MuonLMO        lmo;
      char           name[32];

      if (part->k < 0) continue;
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s[%" PetscInt_FMT "]", Shapes[part->l].name, part->k));
      PetscCall(MuonEF21GetLayerCompressors(p->muon, part->layer, &up, &down));
      PetscCall(MuonCompressorSetStream(up, (PetscInt64)seed, name, p->rank, 0));
      PetscCall(MuonCompressorSetStream(down, (PetscInt64)seed, name, 0, 1));
      PetscCall(MuonLayerGetLMO(part->layer, &lmo));
      PetscCall(MuonNameHash_Private(name, &lmo->layer));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&p->muon));
  for (PetscInt i = 0; i < p->nparts; i++) {
    PetscCall(MatDestroy(&p->part[i].W));
    PetscCall(VecDestroy(&p->part[i].w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All weights, layer by layer, as the layers above have them */
static PetscErrorCode ProblemGetWeights(Problem *p, PetscScalar x[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->nparts; i++) {
    Part        *part = &p->part[i];
    PetscScalar *w;
    PetscInt     lda, start = 0;

    for (PetscInt l = 0; l < part->l; l++) start += Shapes[l].m * Shapes[l].n;
    PetscCall(PartGetArray(part, PETSC_FALSE, &w, &lda));
    for (PetscInt c = 0; c < part->n; c++) {
      for (PetscInt r = 0; r < part->m; r++) x[start + (part->row + r) * Shapes[part->l].n + part->column + c] = w[r + c * lda];
    }
    PetscCall(PartRestoreArray(part, PETSC_FALSE, &w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(Problem *a, Problem *b, PetscInt step)
{
  PetscScalar x[512], y[512];
  PetscInt    e = 0;
  PetscReal   da, db, units = 0; /* where sums over a block are in another order, so many units of rounding */

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-units", &units, NULL));
  PetscCall(ProblemGetWeights(a, x));
  PetscCall(ProblemGetWeights(b, y));
  for (PetscInt l = 0; l < LAYERS; l++) {
    for (PetscInt k = 0; k < Shapes[l].m * Shapes[l].n; k++, e++)
      PetscCheck(memcmp(&x[e], &y[e], sizeof(x[e])) == 0 || PetscAbsScalar(x[e] - y[e]) < units * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Step %" PetscInt_FMT ": entry %" PetscInt_FMT " of %s is %.17g with blocks, %.17g in layers of their own", step, k, Shapes[l].name, (double)PetscRealPart(x[e]), (double)PetscRealPart(y[e]));
  }
  /* Sums of the same numbers in another order */
  PetscCall(MuonGetGradientDualNorm(a->muon, &da));
  PetscCall(MuonGetGradientDualNorm(b->muon, &db));
  PetscCheck(PetscAbsReal(da - db) <= 64 * PETSC_MACHINE_EPSILON * PetscAbsReal(db) && db > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": dual norm %g with blocks, %g in layers of their own", step, (double)da, (double)db);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages are those of the layers of their own and a header for each group */
static PetscErrorCode CheckTraffic(Problem *a, Problem *b)
{
  MuonTraffic s, t;
  PetscReal   groups = 0;

  PetscFunctionBegin;
  PetscCall(MuonGetTraffic(a->muon, &s));
  PetscCall(MuonGetTraffic(b->muon, &t));
  for (PetscInt l = 0; l < LAYERS; l++) groups += Shapes[l].nrows * Shapes[l].ncolumns > 1;
  PetscCheck(s.dense == t.dense && s.up[0] == t.up[0] && s.down[0] == t.down[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The paper's bits are %g and %g with blocks, %g and %g in layers of their own", s.up[0], s.down[0], t.up[0], t.down[0]);
  PetscCheck(PetscAbsReal(s.up[2] - t.up[2]) <= 1e-9 * t.up[2] && PetscAbsReal(s.down[2] - t.down[2]) <= 1e-9 * t.down[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The bounds are %g and %g with blocks, %g and %g in layers of their own", s.up[2], s.down[2],
             t.up[2], t.down[2]);
  PetscCheck(s.up[1] > t.up[1] && s.up[1] <= t.up[1] + 8 * MUON_WIRE_MESSAGE_HEADER_MOST * groups, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits went up with blocks, %g in layers of their own", s.up[1], t.up[1]);
  PetscCheck(s.down[1] > t.down[1] && s.down[1] <= t.down[1] + 8 * MUON_WIRE_MESSAGE_HEADER_MOST * groups, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits went down with blocks, %g in layers of their own", s.down[1], t.down[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What compression does to a layer is what it does to its blocks, in the layer's norm and its dual */
static PetscErrorCode CheckMeter(Problem *a, Problem *b)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < a->nparts; i++) {
    const PetscInt      l = a->part[i].l;
    MuonEF21Compression whole;
    PetscReal           lag = 0, gap = 0, squares = 0, up = 0, down = 0;

    if (l == LAYERS - 1) continue; /* has no norm */
    PetscCall(MuonEF21GetLayerCompression(a->muon, a->part[i].layer, &whole));
    for (PetscInt k = 0; k < b->nparts; k++) {
      MuonEF21Compression one;

      if (b->part[k].l != l) continue;
      PetscCall(MuonEF21GetLayerCompression(b->muon, b->part[k].layer, &one));
      lag += one.lag_mean[0][1];
      gap = PetscMax(gap, one.lag_mean[1][1]);
      squares += one.lag_mean[1][0] * one.lag_mean[1][0];
      up   = PetscMax(up, one.bound[0]);
      down = PetscMax(down, one.bound[1]);
    }
    PetscCheck(lag > 0 && PetscAbsReal(whole.lag_mean[0][1] - lag) <= 64 * PETSC_MACHINE_EPSILON * lag, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lag %g, %g is the sum of the blocks", Shapes[l].name, (double)whole.lag_mean[0][1], (double)lag);
    PetscCheck(gap > 0 && PetscAbsReal(whole.lag_mean[1][1] - gap) <= 64 * PETSC_MACHINE_EPSILON * gap, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: gap %g, %g is the largest of the blocks", Shapes[l].name, (double)whole.lag_mean[1][1], (double)gap);
    PetscCheck(PetscAbsReal(whole.lag_mean[1][0] - PetscSqrtReal(squares)) <= 64 * PETSC_MACHINE_EPSILON * whole.lag_mean[1][0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: gap %g, %g is that of the blocks", Shapes[l].name, (double)whole.lag_mean[1][0],
               (double)PetscSqrtReal(squares));
    PetscCheck(whole.bound[0] == up && whole.bound[1] == down, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: bounds %g and %g, %g and %g are the largest of the blocks", Shapes[l].name, (double)whole.bound[0], (double)whole.bound[1], (double)up,
               (double)down);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of a layer is the largest of its blocks, the dual norm their sum, the radius factor the largest */
static PetscErrorCode CheckNorms(Problem *a, Problem *b)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < a->nparts; i++) {
    Part     *whole = &a->part[i];
    PetscReal norm, dual, factor, most = 0, sum = 0, largest = 0;
    Mat       W = whole->W;

    if (whole->w != NULL) continue;
    PetscCall(MuonLayerComputeNorm(whole->layer, W, &norm));
    PetscCall(MuonLayerComputeDualNorm(whole->layer, W, &dual));
    PetscCall(MuonLayerGetRadiusFactor(whole->layer, &factor));
    for (PetscInt k = 0; k < b->nparts; k++) {
      MuonLMO   lmo;
      PetscReal one;

      if (b->part[k].l != whole->l) continue;
      PetscCall(MuonLayerGetLMO(b->part[k].layer, &lmo));
      PetscCall(MuonLMOComputeNorm(lmo, b->part[k].W, &one));
      most = PetscMax(most, one);
      PetscCall(MuonLMOComputeDualNorm(lmo, b->part[k].W, &one));
      sum += one;
      PetscCall(MuonLayerGetRadiusFactor(b->part[k].layer, &one));
      largest = PetscMax(largest, one);
    }
    PetscCheck(PetscAbsReal(norm - most) <= 64 * PETSC_MACHINE_EPSILON * most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %g, %g is the largest of the blocks", Shapes[whole->l].name, (double)norm, (double)most);
    PetscCheck(PetscAbsReal(dual - sum) <= 64 * PETSC_MACHINE_EPSILON * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: dual norm %g, %g is the sum of the blocks", Shapes[whole->l].name, (double)dual, (double)sum);
    PetscCheck(factor == largest, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: radius factor %g, %g is the largest of the blocks", Shapes[whole->l].name, (double)factor, (double)largest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is forged in the first group of the next packet that comes in a direction: its own header, or that of
   its first part; checksums then fit
*/
static struct {
  PetscBool armed;
  uint32_t  direction;
  int       what;
  PetscInt  done;
} forge;
#define FORGERIES 6

static void Put(unsigned char to[], uint32_t word)
{
  for (int b = 0; b < 4; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
}

static void Forge(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  size_t length;

  if (forge.armed == PETSC_FALSE || bytes <= MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0 || data[6] != forge.direction) return;
  /* Room behind a packet is not of it */
  length = MUON_WIRE_PACKET_HEADER + (size_t)data[24] + 256 * (size_t)data[25];
  for (size_t at = MUON_WIRE_PACKET_HEADER; at < length;) {
    MuonWireMessage header, part;
    size_t          first;

    if (MuonWireMessageRead(data + at, length - at, &header) != MUON_WIRE_OK) return;
    first = MuonWireMessageHeaderBytes(&header);
    if (header.kind == MUON_WIRE_GROUP && MuonWireMessageRead(data + at + first, length - at - first, &part) == MUON_WIRE_OK) {
      switch (forge.what) {
      case 0:
        header.count--;
        break;
      case 1:
        header.layer ^= 1;
        break;
      case 2:
        header.kind = MUON_WIRE_SPARSE;
        break;
      case 3:
        part.layer ^= 1;
        break;
      case 4:
        part.kind = MUON_WIRE_GROUP;
        break;
      default:
        part.count++;
      }
      MuonWireMessageWrite(data + at, &header);
      MuonWireMessageWrite(data + at + first, &part);
      Put(data + 32, MuonWireCRC32C(MuonWireCRC32C(0, data, 32), data + MUON_WIRE_PACKET_HEADER, length - MUON_WIRE_PACKET_HEADER));
      forge.done++;
      forge.armed = PETSC_FALSE;
      return;
    }
    at += (size_t)MuonWireMessageBytes(&header);
  }
}

static PetscErrorCode CheckForged(Problem *a, Problem *b)
{
  PetscInt forged = 0, done;

  PetscFunctionBegin;
  mpicount_received = Forge;
  for (PetscInt k = 0; k < 2 * FORGERIES; k++) {
    PetscScalar         before[512] = {0}, after[512] = {0};
    MuonConvergedReason reason;

    PetscCall(ProblemGetWeights(a, before));
    forge.done      = 0;
    forge.what      = (int)(k / 2);
    forge.direction = (uint32_t)(k % 2);
    forge.armed     = a->rank == 1 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonStep(a->muon));
    forge.armed = PETSC_FALSE;
    PetscCallMPI(PMPI_Allreduce(&forge.done, &done, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(MuonGetConvergedReason(a->muon, &reason));
    PetscCheck(reason == (done > 0 ? MUON_DIVERGED_CORRUPT : MUON_CONVERGED_ITERATING), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ", %" PetscInt_FMT " times: %s", k, done, MuonConvergedReasons[reason]);
    if (done > 0) {
      forged++;
      PetscCall(ProblemGetWeights(a, after));
      PetscCheck(memcmp(before, after, sizeof(before)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ": a step that failed left its traces", k);
      PetscCall(MuonStep(a->muon));
      PetscCall(MuonGetConvergedReason(a->muon, &reason));
      PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ", the step after: %s", k, MuonConvergedReasons[reason]);
    }
    PetscCall(MuonStep(b->muon));
    PetscCall(CheckSame(a, b, k));
  }
  PetscCheck(forged >= FORGERIES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " messages were forged", forged);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the API tells and refuses, besides the errors of the tests below */
static PetscErrorCode CheckUsage(Problem *a)
{
  MuonLayer       layer;
  PetscInt        nrows, ncolumns;
  const PetscInt *rows, *columns;

  PetscFunctionBegin;
  layer = a->part[0].layer;
  PetscCall(MuonLayerGetBlocks(layer, &nrows, &rows, &ncolumns, &columns));
  PetscCheck(nrows == 3 && ncolumns == 2 && rows[0] == 4 && rows[1] == 5 && rows[2] == 3 && columns[0] == 4 && columns[1] == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "qkv has %" PetscInt_FMT " x %" PetscInt_FMT " blocks", nrows, ncolumns);
  PetscCall(MuonLayerGetBlocks(a->part[1].layer, &nrows, &rows, NULL, NULL));
  PetscCheck(nrows == 4 && rows == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "heads has %" PetscInt_FMT " blocks", nrows);
  /* The same again is no change */
  PetscCall(MuonLayerSetBlocks(layer, 3, Shapes[0].rows, 2, Shapes[0].columns));
  PetscCall(MuonLayerSetBlocks(a->part[1].layer, 4, Shapes[1].rows, 1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  steps = 8, differs = -1;
  PetscBool traffic = PETSC_FALSE, forged = PETSC_FALSE, late = PETSC_FALSE, columns = PETSC_FALSE, norms = PETSC_FALSE, view = PETSC_FALSE, meter = PETSC_FALSE;
  Problem   a, b;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-traffic", &traffic, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-forged", &forged, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-late", &late, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-late_columns", &columns, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-prefix", prefix, sizeof(prefix), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-norms", &norms, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-meter", &meter, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-differs", &differs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  if (differs >= 0) {
    /* One rank has another grid */
    Mat       W;
    Muon      muon;
    MuonLayer layer;
    PetscInt  rows[2] = {1, 3}, rank;
    PetscBool again   = PETSC_FALSE;

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &a.rank));
    rank = a.rank;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &again, NULL));
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 6, NULL, &W));
    PetscCall(MuonAddLayer(muon, "w", W, &layer));
    if (again) {
      PetscErrorCode ierr;

      /* What did not come to be can be mended: the grid is not fixed by a failure */
      PetscCall(MuonLayerSetBlocks(layer, rank == differs ? 1 : 2, NULL, rank == differs ? 2 : 1, NULL));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = MuonSetUp(muon);
      PetscCall(PetscPopErrorHandler());
      PetscCheck(ierr != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Ranks with different blocks can be set up");
      PetscCall(MuonLayerSetBlocks(layer, 2, NULL, 3, NULL));
      PetscCall(MuonSetUp(muon));
      PetscCall(MuonDestroy(&muon));
      PetscCall(MatDestroy(&W));
      PetscCall(PetscFinalize());
      return 0;
    }
    PetscCall(MuonLayerSetBlocks(layer, 2, rank == differs ? rows : NULL, 2, NULL));
    PetscCall(MuonSetUp(muon));
  }
  PetscCall(ProblemCreate(PETSC_FALSE, &a));
  PetscCall(CheckUsage(&a));
  if (view) {
    PetscCall(MuonView(a.muon, NULL));
    if (a.rank == 0) PetscCall(MuonLayerView(a.part[0].layer, PETSC_VIEWER_STDOUT_SELF));
  }
  if (late) PetscCall(MuonLayerSetBlocks(a.part[0].layer, columns ? 3 : 1, columns ? Shapes[0].rows : NULL, 1, NULL));
  PetscCall(ProblemCreate(PETSC_TRUE, &b));
  if (norms) PetscCall(CheckNorms(&a, &b));
  if (meter) {
    PetscCall(MuonEF21SetMonitorCompression(a.muon, PETSC_TRUE));
    PetscCall(MuonEF21SetMonitorCompression(b.muon, PETSC_TRUE));
  }
  if (forged) PetscCall(CheckForged(&a, &b));
  else {
    for (PetscInt step = 0; step < steps; step++) {
      PetscCall(MuonStep(a.muon));
      PetscCall(MuonStep(b.muon));
      PetscCall(CheckSame(&a, &b, step));
      if (traffic) PetscCall(CheckTraffic(&a, &b));
      if (meter) PetscCall(CheckMeter(&a, &b));
    }
  }
  /* A reset gives the choice back */
  PetscCall(MuonReset(a.muon));
  PetscCall(MuonLayerSetBlocks(a.part[0].layer, 2, NULL, 3, NULL));
  PetscCall(MuonStep(a.muon));
  PetscCall(ProblemDestroy(&a));
  PetscCall(ProblemDestroy(&b));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # For the wire and the checksum
  link: internal

  testset:
    nsize: {{1 2 3}}
    args: -muon_shape_factor kj -muon_weight_decay 0.1 -muon_learning_rate 0.1 -muon_seed 5
    test:
      suffix: topk
      args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values natural -muon_exchange_type {{star layerwise replicated}}
      args: -ef21_compressor_paper_index_bits 26 -ef21_server_compressor_paper_index_bits 26 -norms
    table: suffix | args
      natural | -ef21_compressor natural -ef21_server_compressor natural -lmo_type {{max row column}}
      rankk   | -ef21_compressor rankk -ef21_compressor_ratio 0.5 -ef21_server_compressor topk -lmo_type frobenius -ef21_init {{zero gradient}}
      dense   | -muon_type dense -muon_nesterov ema -lmo_type {{spectral max}} -muon_exchange_type {{layerwise replicated}}
      sphere  | -muon_type dense -units 256 -muon_weight_decay 0 -muon_layer_hyperball -muon_layer_after {{none frobenius}}
      slots   | -ef21_compressor topk -muon_layer_before {{rows columns entries}} -muon_layer_before_beta {{0 0.9}} -muon_layer_after normuon_long,lines_columns
    test:
      suffix: downlink
      args: -ef21_compressor topk -ef21_compressor_values double -ef21_downlink step -lmo_type {{nuclear l1 l21 rowsum colsum}} -muon_layer_gain_lmo_type l21 -muon_layer_gain.0_lmo_type l21 -muon_layer_gain.1_lmo_type l21
      args: -muon_layer_table_ef21_server_compressor topk -muon_layer_table.0_ef21_server_compressor topk -muon_layer_table.1_ef21_server_compressor topk
      args: -muon_layer_table_ef21_downlink weights -muon_layer_table.0_ef21_downlink weights -muon_layer_table.1_ef21_downlink weights

  # scion has a factor for each of these norms
  test:
    suffix: scion
    nsize: 2
    args: -muon_shape_factor scion -lmo_type {{spectral max row column}} -ef21_compressor topk -norms

  test:
    suffix: moonlight
    args: -muon_shape_factor moonlight -muon_layer_qkv_ef21_compressor topk -norms
    args: -muon_layer_qkv.0_ef21_compressor topk -muon_layer_qkv.1_ef21_compressor topk -muon_layer_qkv.2_ef21_compressor topk -muon_layer_qkv.3_ef21_compressor topk -muon_layer_qkv.4_ef21_compressor topk -muon_layer_qkv.5_ef21_compressor topk

  table: suffix | nsize | args
    traffic | 2 | -traffic -ef21_compressor topk -ef21_server_compressor natural
    meter   | 2 | -meter -ef21_compressor topk -ef21_server_compressor topk

  test:
    suffix: forged
    nsize: {{2 3}}
    args: -forged -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_values natural -muon_exchange_type {{star layerwise}}

  test:
    suffix: view
    nsize: 2
    args: -view -ef21_compressor topk
    filter: grep blocks

  table: suffix | nsize | args | error
    differs | 2 | -differs 1        | Layer "w": its cut into blocks differs between the ranks (here 2 x 2 blocks), expected the same on each
    again   | 2 | -differs 1 -again |

  test:
    suffix: late
    args: -late
    error: Layer "qkv": -muon_layer_qkv_blocks_rows: blocks were changed after MuonSetUp(), expected a call before it or after MuonReset()

  test:
    suffix: late_columns
    args: -late -late_columns -prefix some_
    error: Layer "qkv": -some_muon_layer_qkv_blocks_columns: blocks were changed after MuonSetUp(), expected a call before it or after MuonReset()

  test:
    suffix: prefix
    args: -prefix some_ -some_muon_layer_qkv_blocks_rows 4,4,3
    error: Layer "qkv": -some_muon_layer_qkv_blocks_rows: 4,4,3 has the sum 11, expected the number of rows, 12

  # By options, which come after the calls
  test:
    suffix: sum
    args: -muon_layer_qkv_blocks_rows 4,4,3
    error: Layer "qkv": -muon_layer_qkv_blocks_rows: 4,4,3 has the sum 11, expected the number of rows, 12

  test:
    suffix: columns
    args: -muon_layer_heads_blocks_columns 4,-2,8
    error: Layer "heads": -muon_layer_heads_blocks_columns: 4,-2,8 has a block of -2 columns, expected at least 1

  test:
    suffix: options
    args: -steps 0 -view -muon_layer_out_blocks_rows 2,3 -muon_layer_out_blocks_columns 4,1 -muon_layer_qkv_blocks_rows 4,5,3 -muon_layer_heads_rule frozen
    filter: grep blocks

TEST*/
