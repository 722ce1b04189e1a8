/*
   The passes of a problem of tutorials/science/operator.h against plain loops of one function after the other: predictions, Jacobian and
   its transpose, for all functions and for some, errors, single and double precision. The problem's header comes first.
*/
#pragma once

/* A number, its derivative along the direction, and the error of both in units of the machine's */
typedef struct {
  double x, dx, e, de;
} Dual;

/* sum w_j a_j with w_j that has the derivative t_j: a sum of n terms errs by n of all sizes at most */
static Dual Product(PetscInt n, const Dual w[], const Dual a[])
{
  Dual sum = {0, 0, 0, 0};

  for (PetscInt j = 0; j < n; j++) {
    sum.x += w[j].x * a[j].x;
    sum.dx += w[j].x * a[j].dx + w[j].dx * a[j].x;
    sum.e += fabs(w[j].x) * a[j].e + w[j].e * fabs(a[j].x) + (double)n * fabs(w[j].x * a[j].x);
    sum.de += fabs(w[j].x) * a[j].de + fabs(w[j].dx) * a[j].e + w[j].e * fabs(a[j].dx) + w[j].de * fabs(a[j].x) + (double)n * (fabs(w[j].x * a[j].dx) + fabs(w[j].dx * a[j].x));
  }
  return sum;
}

static Dual Activation(Dual a)
{
#if defined(TANH)
  const double t = tanh(a.x), slope = 1 - t * t, e = slope * a.e + 4 * fabs(t);
  const Dual   b = {t, slope * a.dx, e, slope * a.de + fabs(a.dx) * (2 * fabs(t) * e + 4)};
#else
  Dual b = a;

  if (a.x <= 0) b.x = b.dx = 0;
#endif
  return b;
}

/* A network whose weights begin at first, [V a] and then all [W b] by columns */
static void Layers(const double w[], const double t[], PetscInt inputs, const Dual in[], Dual out[WIDTH])
{
  Dual h[PetscMax(SENSORS, WIDTH) + 1], row[PetscMax(SENSORS, WIDTH) + 1];

  for (PetscInt l = 0, first = 0, n = inputs; l <= HIDDEN; first += WIDTH * (n + 1), n = WIDTH, l++) {
    for (PetscInt j = 0; j < n; j++) h[j] = l == 0 ? in[j] : Activation(out[j]);
    h[n].x  = 1;
    h[n].dx = h[n].e = h[n].de = 0;
    for (PetscInt i = 0; i < WIDTH; i++) {
      for (PetscInt j = 0; j <= n; j++) {
        row[j].x  = w[first + i + j * WIDTH];
        row[j].dx = t[first + i + j * WIDTH];
        row[j].e = row[j].de = 0;
      }
      out[i] = Product(n + 1, row, h);
    }
  }
}

static void Branch(const double w[], const double t[], const double c[], Dual b[WIDTH])
{
  Dual u[SENSORS];

  for (PetscInt i = 0; i < SENSORS; i++) {
    double unused;

    u[i].x  = Sum(c, (double)i / (SENSORS - 1), &unused);
    u[i].dx = u[i].e = u[i].de = 0;
    /* the program has sums of so many terms, over sensors first */
    for (PetscInt k = 0; k < TERMS; k++) u[i].e += (TERMS + SENSORS + 10) * fabs(c[k] * Term(k, (double)i / (SENSORS - 1), NULL));
  }
  Layers(w, t, SENSORS, u, b);
}

static Dual Predict(const double w[], const double t[], const Dual b[], const double x[INPUTS])
{
  Dual place[INPUTS], trunk[WIDTH];

  for (PetscInt i = 0; i < INPUTS; i++) {
    place[i].x  = x[i];
    place[i].dx = place[i].de = 0;
    place[i].e                = x[i];
  }
  Layers(w + TRUNK0, t + TRUNK0, INPUTS, place, trunk);
  return Product(WIDTH, b, trunk);
}

static PetscErrorCode CheckPasses(void)
{
  const PetscInt n = BLOCK + 12, tests = PetscMin(BLOCK, WIDTH * PLACES / GRID) + 2, last = tests - 1, layers = 4 * (HIDDEN + 1); /* a block and a rest */
  const double   eps = PETSC_MACHINE_EPSILON, eps_single = 1.2e-7;
  double         above = 0, below = 0;
  Dual           b[WIDTH];
  double        *w, *t, *g, *r, *r2;
  float         *ws, *gs, *rs;
  PetscReal     *errors;
  PetscRandom    random;
  Data           data;
  NetDouble     *net;
  NetSingle     *single;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(CreateData(random, n, tests, &data));
  PetscCall(CreateImages(&data));
  PetscCall(CreateDouble(&data, &net));
  PetscCall(CreateSingle(&data, &single));
  PetscCall(PetscMalloc6(ENTRIES, &w, ENTRIES, &t, ENTRIES, &g, n * POINTS, &r, n * POINTS, &r2, tests, &errors));
  PetscCall(PetscMalloc3(ENTRIES, &ws, ENTRIES, &gs, n * POINTS, &rs));
  for (PetscInt e = 0; e < ENTRIES; e++) {
    PetscCall(Normal(random, &w[e]));
    w[e] /= sqrt(WIDTH);
    ws[e] = (float)w[e];
    w[e]  = (double)ws[e];
  }
  for (PetscInt some = 0; some < 2; some++) {
    const PetscInt step = 50 * POINTS + 7, rows = POINTS * (some ? 30 : n);

    if (some) PetscCall(Choose(&data, 30, random));
    PetscCall(PassDouble(net, w, NULL, PETSC_TRUE, r, g));
    PetscCall(PassSingle(single, ws, NULL, PETSC_TRUE, rs, gs));
    for (PetscInt e = 0; e < ENTRIES; e++) PetscCheck(fabs((double)gs[e] - g[e]) <= 1e-3 * (fabs(g[e]) + POINTS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Gradient %g of weight %d in single precision, expected %g", (double)gs[e], (int)e, g[e]);
    /* A direction in each layer alone: the derivative, and <J t, r> = <t, J^T r> */
    for (PetscInt l = 0, first = 0; l < layers; l++) {
      const PetscInt depth = l / 2 % (HIDDEN + 1), entries = WIDTH * (l % 2 ? 1 : depth > 0 ? WIDTH : l == 0 ? SENSORS : INPUTS);
      double         forward = 0, backward = 0, bound = 0, sum = 0;

      PetscCall(PetscArrayzero(t, ENTRIES));
      for (PetscInt e = first; e < first + entries; e++) {
        PetscCall(Normal(random, &t[e]));
        backward += t[e] * g[e];
      }
      first += entries;
      PetscCall(PassDouble(net, w, t, PETSC_FALSE, r2, NULL));
      for (PetscInt j = 0; j < rows; j += l == 0 && POINTS == 1 ? 1 : step) {
        const PetscInt function = data.order[j / POINTS], point = function * POINTS + j % POINTS;
        double         x[INPUTS];
        Dual           p;

        Place((int)data.place[point], x);
        Branch(w, t, data.c + function * (TERMS + 1), b);
        p = Predict(w, t, b, x);
        p.e += fabs(data.s[point]);
        PetscCheck(fabs(p.x - data.s[point] - r[j]) <= eps * p.e, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d: residual %g, expected %g", (int)j, r[j], p.x - data.s[point]);
        PetscCheck(fabs((double)rs[j] - r[j]) <= eps_single * p.e, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d: residual %g in single precision, expected %g", (int)j, (double)rs[j], r[j]);
        PetscCheck(fabs(p.dx - r2[j]) <= eps * p.de, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d: derivative %g along layer %d, expected %g", (int)j, r2[j], (int)l, p.dx);
        PetscCheck(1e3 * eps * p.de < fabs(p.dx) + 1e-3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d: derivative %g along layer %d may have the error %g, which says nothing", (int)j, r2[j], (int)l, eps * p.de);
        bound = PetscMax(bound, eps * p.de);
      }
      for (PetscInt j = 0; j < rows; j++) {
        forward += r2[j] * r[j];
        sum += fabs(r[j]);
      }
      PetscCheck(fabs(forward - backward) <= 10 * bound * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d: gradient %g along a direction, expected %g", (int)l, backward, forward);
      PetscCheck(fabs(forward) > 1e3 * bound * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d: %g along a direction says nothing", (int)l, forward);
    }
    /* A residual that is given is taken */
    for (PetscInt j = 0; j < rows; j++) r2[j] = 2 * r[j];
    PetscCall(PetscArraycpy(t, g, ENTRIES));
    PetscCall(PassDouble(net, w, NULL, PETSC_FALSE, r2, g));
    for (PetscInt e = 0; e < ENTRIES; e++) PetscCheck(g[e] == 2 * t[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Weight %d: %g for twice the residual, expected %g", (int)e, g[e], 2 * t[e]);
  }

  PetscCall(TestDouble(net, w, errors));
  PetscCall(PetscArrayzero(t, ENTRIES));
  Branch(w, t, data.test_c + last * (TERMS + 1), b);
  for (int i = 0; i < GRID; i++) {
    const double s = data.test_s[last * GRID + i];
    double       x[INPUTS];

    GridPoint(i, x);
    above += PetscSqr(Predict(w, t, b, x).x - s);
    below += s * s;
  }
  PetscCheck(fabs((double)errors[last] - sqrt(above / below)) <= 1e-9 * sqrt(above / below), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %g of a function, expected %g", (double)errors[last], sqrt(above / below));

  PetscCall(PetscFree6(w, t, g, r, r2, errors));
  PetscCall(PetscFree3(ws, gs, rs));
  PetscCall(DestroyDouble(&net));
  PetscCall(DestroySingle(&single));
  PetscCall(DestroyData(&data));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}
