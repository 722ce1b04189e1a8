#include "muontheory.h"

/*
   The theorems. Their constants were derived by the proofs in the manual's page on theory, those of Theorems 3 and 5
   by the method of the paper; those of 4 and 6, and of 24 by layers, are this library's own.
*/

typedef double MuonTheoryBoundFn(MuonTheoryProblem *, double);

/* Theorems 3 and 14, 5 and 19 */
static double MuonTheoryGamma_Private(const MuonTheoryProblem *p, const MuonTheoryLayer *layer, double beta)
{
  const double l = MuonTheorySquare(layer->l), lt = MuonTheorySquare(layer->lt / layer->up), down = MuonTheorySquare(layer->down);
  double       zeta;

  if (p->type == MUON_THEORY_SMOOTH) return 1 / (2 * layer->l + 4 * sqrt(lt) * sqrt(12 + 66 / down));
  zeta = 12 * l / MuonTheorySquare(beta) + 24 * (beta + 2) * l / down + 36 * (MuonTheorySquare(beta) + 4) * lt + 144 * MuonTheorySquare(beta) * (2 * beta + 5) * lt / down;
  return 1 / (2 * layer->most / layer->least * sqrt(zeta) + 2 * layer->l);
}

/*
   Of sum_i gamma_i ||grad_i f||^2 over the smallest gamma, which bounds that of sum_i ||grad_i f||^2 and for one
   layer is the theorem's. A sum of products of powers of beta, whose logarithm is convex in that of beta
*/
static double MuonTheoryBoundSmooth_Private(MuonTheoryProblem *p, double beta)
{
  double least = HUGE_VAL, sum = 4 * p->gap / p->K;

  for (PetscInt i = 0; i < p->n; i++) {
    MuonTheoryLayer *layer = &p->layer[i];
    const double     noise = p->type == MUON_THEORY_SMOOTH ? 0 : 24 * MuonTheorySquare(layer->most * layer->sigma), up = layer->up;

    layer->rate = MuonTheoryGamma_Private(p, layer, beta);
    least       = PetscMin(least, layer->rate);
    sum += layer->rate * noise * ((1 / (p->J * beta) + 12 * beta / (up * up)) / p->K + beta / p->J + (1 - up) * beta * beta / up + 12 * beta * beta * beta / (up * up));
  }
  return sum / least;
}

static double MuonTheoryChi_Private(const MuonTheoryLayer *layer)
{
  const double q = sqrt(1 - layer->up);

  return q / (1 - q);
}

/* Theorems 4 and 17: a layer's eta is weight times this one, and the norms are added with these weights; K + 1 is p->K */
static double MuonTheoryBoundL0L1_Private(MuonTheoryProblem *p, double eta)
{
  double c1 = 0, c3 = 0;

  for (PetscInt i = 0; i < p->n; i++) {
    MuonTheoryLayer *layer = &p->layer[i];
    const double     chi = MuonTheoryChi_Private(layer), square = MuonTheorySquare(layer->weight);

    c1 += square * (2 * MuonTheorySquare(layer->l1) + 8 * chi * MuonTheorySquare(layer->l1max));
    c3 += square * (layer->l0 + 4 * chi * layer->l0b + 8 * chi * MuonTheorySquare(layer->l1max) * p->h);
    layer->rate = eta * layer->weight / sqrt(p->K);
  }
  return (exp(c1 * eta * eta) * p->gap / eta + c3 * eta) / sqrt(p->K);
}

/* Theorems 6 and 24, with weights as above */
static double MuonTheoryBoundNoise_Private(MuonTheoryProblem *p, double eta)
{
  const double root = sqrt(p->K), fourth = sqrt(root);
  double       sum = p->gap / eta / fourth;

  for (PetscInt i = 0; i < p->n; i++) {
    MuonTheoryLayer *layer = &p->layer[i];
    const double     chi = MuonTheoryChi_Private(layer), noise = layer->weight * layer->most * layer->sigma, square = eta * MuonTheorySquare(layer->weight);

    layer->rate = eta * layer->weight / (root * fourth);
    sum += (2 * noise / sqrt(p->J) + 2.5 * square * layer->l0) / fourth + (2 * noise / sqrt(p->J) + 4 * chi * noise) / root +
           4 * layer->most / layer->least * chi * square * (2 * layer->l0b + 4 * MuonTheorySquare(layer->l1max) * p->h) / (root * fourth) + 2 * noise * chi / p->K;
  }
  return 8.0 / 3.0 * sum;
}

/* The largest eta of Theorems 6 and 24 */
static double MuonTheoryLargest_Private(const MuonTheoryProblem *p)
{
  const double root = sqrt(p->K);
  double       both = 0, largest = HUGE_VAL;

  for (PetscInt i = 0; i < p->n; i++) {
    const MuonTheoryLayer *layer = &p->layer[i];

    both += 32 * layer->most / layer->least * MuonTheoryChi_Private(layer) * MuonTheorySquare(layer->weight * layer->l1max);
    if (layer->l1 > 0) largest = PetscMin(largest, sqrt(root) / (10 * layer->weight * layer->l1));
  }
  return PetscMin(largest, both > 0 ? sqrt(root / both) : HUGE_VAL);
}

/* SignMuon's: a sum of eta and 1/eta, whose minimum is known */
static const char *MuonTheorySolveSigns_Private(MuonTheoryProblem *p)
{
  double l = 0, noise = 0;

  for (PetscInt i = 0; i < p->n; i++) {
    const MuonTheoryLayer *layer = &p->layer[i];

    l += MuonTheorySquare(layer->weight) * layer->l;
    noise += 2 * layer->weight * layer->least * layer->sigma / sqrt(p->J); /* least is scale x shape factor here: ||X||_2 <= ||X||_F */
  }
  if (p->eta < 0 && p->gap < 0) return "-muon_theory_gap, or -muon_theory_eta in its place";
  if (p->eta < 0 && l == 0) return "-muon_theory_l above 0";
  if (p->eta < 0) p->eta = sqrt(2 * p->gap / (p->K * l));
  for (PetscInt i = 0; i < p->n; i++) p->layer[i].rate = p->eta * p->layer[i].weight / p->layer[i].length;
  p->beta  = 1;
  p->bound = p->gap < 0 ? PETSC_DETERMINE : p->gap / (p->eta * p->K) + l * p->eta / 2 + noise;
  return NULL;
}

/* Of a bound whose logarithm is convex in that of its argument; golden sections until nothing changes */
static double MuonTheoryMinimize_Private(MuonTheoryProblem *p, MuonTheoryBoundFn *bound, double from, double to)
{
  const double golden = (sqrt(5.0) - 1) / 2;
  double       a = log(from), b = log(to), x[2], f[2];

  x[0] = b - golden * (b - a);
  x[1] = a + golden * (b - a);
  for (int k = 0; k < 2; k++) f[k] = bound(p, exp(x[k]));
  for (int steps = 0; steps < 200; steps++) {
    const int left = f[0] <= f[1] ? 1 : 0; /* of two that overflow the left one */

    if (left) b = x[1];
    else a = x[0];
    x[left]     = x[1 - left];
    f[left]     = f[1 - left];
    x[1 - left] = left ? b - golden * (b - a) : a + golden * (b - a);
    f[1 - left] = bound(p, exp(x[1 - left]));
  }
  return bound(p, to) <= f[0] ? to : exp(x[0]);
}

static const char *MuonTheorySolveSmooth_Private(MuonTheoryProblem *p)
{
  if (p->type == MUON_THEORY_SMOOTH) p->beta = 1;
  else if (p->beta < 0) {
    if (p->gap < 0) return "-muon_theory_gap, or -muon_theory_beta in its place";
    p->beta = MuonTheoryMinimize_Private(p, MuonTheoryBoundSmooth_Private, 1e-12, 1);
  }
  p->bound = MuonTheoryBoundSmooth_Private(p, p->beta);
  return p->layer[0].rate < HUGE_VAL ? NULL : "-muon_theory_l above 0";
}

const char *MuonTheorySolve_Private(MuonTheoryProblem *p)
{
  const PetscBool    noise = p->type == MUON_THEORY_L0L1_STOCHASTIC ? PETSC_TRUE : PETSC_FALSE;
  MuonTheoryBoundFn *bound = noise ? MuonTheoryBoundNoise_Private : MuonTheoryBoundL0L1_Private;
  const double       any = 1e150, largest = noise ? MuonTheoryLargest_Private(p) : any;
  const char        *missing = NULL;

  if (p->signs) return MuonTheorySolveSigns_Private(p);
  if (p->type == MUON_THEORY_SMOOTH || p->type == MUON_THEORY_SMOOTH_STOCHASTIC) missing = MuonTheorySolveSmooth_Private(p);
  else {
    if (p->eta < 0 && p->gap < 0) return "-muon_theory_gap, or -muon_theory_eta in its place";
    if (p->eta < 0) p->eta = MuonTheoryMinimize_Private(p, bound, 1 / any, PetscMin(largest, any));
    if (p->eta > largest) return "a smaller -muon_theory_eta";
    if (p->eta > 1e100) return "-muon_theory_eta: the bound has no minimum where L0 and L1 are 0";
    p->beta  = noise ? 1 / sqrt(p->K) : 1;
    p->bound = bound(p, p->eta);
  }
  if (p->gap < 0) p->bound = PETSC_DETERMINE;
  return missing;
}
