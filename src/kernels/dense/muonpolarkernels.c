#include "muonpolarkernels.h"
#include <math.h>
#include <string.h>

/* The row of K. Jordan, which others use too */
#define KJ \
  { \
    3.4445, -4.7750, 2.0315 \
  }

/* clang-format off */
static const MuonKernelPolynomial polynomials[] = {
  /* name, steps, rows, cycle, equalize, safety, norm, safe */
  {"kj", 5, 1, 0, 0, 1.0, 1.0, 0, {KJ}},
  {"quintic", 10, 1, 0, 0, 1.0, 1.0, 0, {{1.875, -1.25, 0.375}}},
  {"cubic", 15, 1, 0, 0, 1.0, 1.0, 0, {{1.5, -0.5, 0.0}}},
  {"you", 5, 5, 1, 0, 1.0, 1.0, 0,
   {{4.0848, -6.8946, 2.9270},
    {3.9505, -6.3029, 2.6377},
    {3.7418, -5.5913, 2.3037},
    {2.8769, -3.1427, 1.2046},
    {2.8366, -3.0525, 1.2012}}},
  {"polarexpress", 5, 8, 0, 0, 1.01, 1.01, 7,
   {{8.28721201814563, -23.595886519098837, 17.300387312530933},
    {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
    {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
    {3.3184196573706015, -2.488488024314874, 0.51004894012372},
    {2.300652019954817, -1.6689039845747493, 0.4188073119525673},
    {1.891301407787398, -1.2679958271945868, 0.37680408948524835},
    {1.8750014808534479, -1.2500016453999487, 0.3750001645474248},
    {1.875, -1.25, 0.375}}},
  {"pe105", 5, 5, 0, 0, 1.05, 1.0, 5,
   {{8.28721201814563, -23.595886519098837, 17.300387312530933},
    {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
    {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
    {3.3184196573706015, -2.488488024314874, 0.51004894012372},
    {2.300652019954817, -1.6689039845747493, 0.4188073119525673}}},
  {"modded", 5, 5, 0, 0, 1.0, 1.02, 0,
   {{8.156554524902461, -22.48329292557795, 15.878769915207462},
    {4.042929935166739, -2.808917465908714, 0.5000178451051316},
    {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
    {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
    {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}},
  {"emerging", 5, 8, 0, 0, 1.0, 1.0, 0,
   {{8.2051, -22.9019, 16.4607},
    {4.0664, -2.8612, 0.5184},
    {3.9096, -2.8234, 0.5250},
    {3.2856, -2.4153, 0.4853},
    {2.2779, -1.6198, 0.3985},
    {1.8726, -1.2307, 0.3585},
    {1.8564, -1.2132, 0.3568},
    {1.8750, -1.25, 0.375}}},
  {"cans", 5, 5, 0, 0, 1.0, 1.0, 0,
   {{8.4703, -25.1081, 18.6293},
    {4.1828, -3.1087, 0.5806},
    {3.9619, -2.9541, 0.5630},
    {3.2866, -2.4647, 0.5074},
    {2.2737, -1.6447, 0.4162}}},
  {"aol", 4, 4, 1, 1, 1.0, 1.0, 0,
   {{4.0098, -7.0585, 2.4635},
    {3.4585, -5.5479, 2.5959},
    {2.7573, -3.2939, 1.4254},
    {2.7215, -3.0494, 1.3169}}},
  {"deepseekv4", 10, 10, 0, 0, 1.0, 1.0, 0,
   {KJ, KJ, KJ, KJ, KJ, KJ, KJ, KJ, {2.0, -1.5, 0.5}, {2.0, -1.5, 0.5}}},
  {"cubic5", 5, 5, 1, 0, 1.0, 1.0, 0,
   {{3.3656576, -3.3420992, 0.0},
    {2.5744352, -1.4957376, 0.0},
    {2.5368962, -1.4312570, 0.0},
    {2.4418906, -1.2764040, 0.0},
    {2.2230472, -0.9630650, 0.0}}},
};
/* clang-format on */

const MuonKernelPolynomial *MuonKernelPolynomialGet(int number)
{
  return number >= 0 && number < (int)(sizeof(polynomials) / sizeof(polynomials[0])) ? &polynomials[number] : NULL;
}

const MuonKernelPolynomial *MuonKernelPolynomialFind(const char *name)
{
  const MuonKernelPolynomial *p;

  for (int i = 0; (p = MuonKernelPolynomialGet(i)) != NULL; i++) {
    if (strcmp(p->name, name) == 0) return p;
  }
  return NULL;
}

void MuonKernelPolynomialDivide(double divisor, double c[3])
{
  c[0] /= divisor;
  c[1] /= divisor * divisor * divisor;
  c[2] /= divisor * divisor * divisor * divisor * divisor;
}

void MuonKernelPolynomialRow(const MuonKernelPolynomial *p, int step, double c[3])
{
  const int row = step < p->rows ? step : (p->cycle ? step % p->rows : p->rows - 1);

  for (int i = 0; i < 3; i++) c[i] = p->c[row][i];
  MuonKernelPolynomialDivide((row < p->safe ? p->safety : 1.0) * (step == 0 ? p->norm : 1.0), c);
}

double MuonKernelPolynomialFlops(size_t m, size_t n, const double c[3])
{
  const double s = (double)(m < n ? m : n), l = (double)(m < n ? n : m);

  return s * (s + 1) * l + (c[2] == 0.0 ? 0.0 : s * s * (s + 1)) + 2 * s * s * l;
}

void MuonKernelHalley(double l, double weight[3], double *next)
{
  const double q = l * l, d = cbrt(4.0 * (1.0 - q) / (q * q)), r = sqrt(1.0 + d);

  weight[0] = r + 0.5 * sqrt(8.0 - 4.0 * d + 8.0 * (2.0 - q) / (q * r));
  weight[1] = 0.25 * (weight[0] - 1.0) * (weight[0] - 1.0);
  weight[2] = weight[0] + weight[1] - 1.0;
  *next     = l * (weight[0] + weight[1] * q) / (1.0 + weight[2] * q);
  if (!(*next < 1.0)) *next = 1.0;
}
