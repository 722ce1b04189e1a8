/*
   Zolotarev's functions from nodes by theta functions, where the library descends along the arithmetic-geometric mean.
*/
#pragma once

#include <math.h>

/* pi / (2 K) for the modulus whose complement is given */
static inline long double Mean(long double complement)
{
  long double a = 1, b = complement;

  for (int k = 0; k < 12; k++) {
    const long double mean = (a + b) / 2;

    b = sqrtl(a * b);
    a = mean;
  }
  return a;
}

/*
   c_i = - l^2 sn^2 of an imaginary argument for the modulus l, a quotient of theta functions whose series
   converge at once where l is small
*/
static inline long double Node(int r, long double l, int i)
{
  /* K'(l) belongs to the modulus whose complement is l */
  const long double pi = 3.14159265358979323846264338327950288L, ratio = Mean(sqrtl((1 - l) * (1 + l))) / Mean(l);
  const long double q = expl(-pi * ratio), v = 0.5L * pi * ratio * i / (2 * r + 1);
  long double       theta1 = 0, theta2 = 0, theta3 = 1, theta4 = 1;

  for (int n = 0; n < 40; n++) {
    const long double sign = n % 2 == 0 ? 1 : -1, half = (n + 0.5L) * (n + 0.5L), whole = (long double)n * n;

    /* sinh and cosh grow as fast as powers of q fall; together they fit */
    theta1 += sign * (expl(-pi * ratio * half + (2 * n + 1) * v) - expl(-pi * ratio * half - (2 * n + 1) * v));
    theta2 += 2 * powl(q, half);
    if (n > 0) {
      theta3 += 2 * powl(q, whole);
      theta4 += sign * (expl(-pi * ratio * whole + 2 * n * v) + expl(-pi * ratio * whole - 2 * n * v));
    }
  }
  return powl(l * theta3 * theta1 / (theta2 * theta4), 2);
}

typedef struct {
  int         poles;
  long double a[12], c[12], scale, lowest;
} Zolotarev;

static inline long double ZolotarevAt(const Zolotarev *z, long double x)
{
  long double sum = 1;

  for (int j = 0; j < z->poles; j++) sum += z->a[j] / (x * x + z->c[j]);
  return z->scale * x * sum;
}

static inline Zolotarev ZolotarevOf(int r, long double l)
{
  long double node[2 * 12 + 1];
  Zolotarev   z;

  for (int i = 1; i <= 2 * r; i++) node[i] = Node(r, l, i);
  z.poles = r;
  z.scale = 1;
  for (int j = 0; j < r; j++) {
    z.c[j] = node[2 * j + 1];
    z.a[j] = -1;
    for (int k = 0; k < r; k++) z.a[j] *= (node[2 * j + 1] - node[2 * k + 2]) / (k != j ? node[2 * j + 1] - node[2 * k + 1] : 1);
    z.scale *= (1 + node[2 * j + 1]) / (1 + node[2 * j + 2]);
  }
  z.lowest = z.scale * l;
  for (int j = 0; j < r; j++) z.lowest *= (l * l + node[2 * j + 2]) / (l * l + node[2 * j + 1]);
  return z;
}
