static char help[] = "Gradients of the GPT of tutorials/nanogpt against finite differences and against an independent program.\n\n";

/* In double precision, where differences prove most; nanogpt_gradientsingle.c is the same in the precision of the tutorial */
#if !defined(NANOGPT_SINGLE)
  #define GPT_DOUBLE
  #define EPSILON 2.3e-16
#else
  #define EPSILON 1.2e-7
#endif
#include "../tutorials/nanogpt/model.c"

#define MAX_MATRICES 24

typedef struct {
  const char *name;
  GPTShape    shape;
} TestCase;

/* One tile and one chunk; several tiles of attention and odd sizes; several chunks of logits; the other variant */
static const TestCase cases[] = {{"small", {17, 12, 3, 2, 5, 3, GPT_MODERN, GPT_START_SCALED}},
                                 {"long", {11, 8, 2, 1, 150, 2, GPT_MODERN, GPT_START_SCALED}},
                                 {"chunks", {50304, 4, 1, 1, 50, 2, GPT_MODERN, GPT_START_SCALED}},
                                 {"gpt2", {13, 20, 2, 2, 6, 3, GPT_GPT2, GPT_START_SCALED}}};

typedef struct {
  GPT         gpt;
  GPTShape    shape;
  PetscInt    n;
  PetscInt    entries[MAX_MATRICES];
  GPTReal    *W[MAX_MATRICES], *dW[MAX_MATRICES];
  PetscInt   *tokens, *targets;
  PetscRandom random;
} Problem;

/* A symmetric uniform number with the given standard deviation */
static PetscErrorCode Draw(PetscRandom random, double deviation, GPTReal *x)
{
  PetscReal u;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomGetValueReal(random, &u));
  *x = (GPTReal)((2.0 * (double)u - 1.0) * sqrt(3.0) * deviation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Weights without zeros, so that every path of the gradient carries a signal: logits and residual branches of
   size one
*/
static PetscErrorCode ProblemCreate(const GPTShape *shape, Problem *p)
{
  PetscFunctionBeginUser;
  p->shape = *shape;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &p->random));
  PetscCall(PetscRandomSetType(p->random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(p->random, 7));
  PetscCall(PetscRandomSeed(p->random));
  PetscCall(GPTCreate(shape, &p->gpt));
  PetscCall(GPTGetNumMatrices(p->gpt, &p->n));
  PetscCheck(p->n <= MAX_MATRICES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More matrices than the test provides for");
  for (PetscInt i = 0; i < p->n; i++) {
    const char *name;
    PetscInt    rows, columns;

    PetscCall(GPTGetMatrix(p->gpt, i, &name, &rows, &columns));
    p->entries[i] = rows * columns;
    PetscCall(PetscMalloc1(p->entries[i], &p->W[i]));
    PetscCall(PetscCalloc1(p->entries[i], &p->dW[i]));
    for (PetscInt e = 0; e < p->entries[i]; e++) PetscCall(Draw(p->random, 1.0 / sqrt((double)columns), &p->W[i][e]));
  }
  PetscCall(PetscMalloc2(shape->batch * shape->sequence, &p->tokens, shape->batch * shape->sequence, &p->targets));
  for (PetscInt j = 0; j < shape->batch * shape->sequence; j++) {
    PetscReal u, v;

    PetscCall(PetscRandomGetValueReal(p->random, &u));
    PetscCall(PetscRandomGetValueReal(p->random, &v));
    p->tokens[j]  = (PetscInt)((double)u * (double)shape->vocabulary) % shape->vocabulary;
    p->targets[j] = (PetscInt)((double)v * (double)shape->vocabulary) % shape->vocabulary;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < p->n; i++) {
    PetscCall(PetscFree(p->W[i]));
    PetscCall(PetscFree(p->dW[i]));
  }
  PetscCall(PetscFree2(p->tokens, p->targets));
  PetscCall(PetscRandomDestroy(&p->random));
  PetscCall(GPTDestroy(&p->gpt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Loss(Problem *p, double *loss)
{
  PetscFunctionBeginUser;
  PetscCall(GPTLoss(p->gpt, (const GPTReal *const *)p->W, p->shape.batch, p->shape.sequence, p->tokens, p->targets, loss));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (f(W + h d) - f(W - h d)) / 2h */
static PetscErrorCode Difference(Problem *p, PetscInt i, const GPTReal W[], const GPTReal d[], double h, double *difference)
{
  double f[2];

  PetscFunctionBeginUser;
  for (PetscInt side = 0; side < 2; side++) {
    for (PetscInt e = 0; e < p->entries[i]; e++) p->W[i][e] = W[e] + (side == 0 ? h : -h) * d[e];
    PetscCall(Loss(p, &f[side]));
  }
  PetscCall(PetscArraycpy(p->W[i], W, p->entries[i]));
  *difference = (f[0] - f[1]) / (2.0 * h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The derivative along a direction of unit length, extrapolated from steps h and 2h. Its error is below the difference of the two (truncation)
   plus the rounding of a loss over h; a tolerance that is not far below the derivative itself would prove nothing, and is a failure */
static PetscErrorCode TestDifferences(const char name[], Problem *p)
{
  const double h = pow(EPSILON, sizeof(GPTReal) == sizeof(float) ? 0.25 : 0.3);
  double       loss;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < p->n; i++) PetscCall(PetscArrayzero(p->dW[i], p->entries[i]));
  PetscCall(GPTLossAndGradient(p->gpt, (const GPTReal *const *)p->W, p->shape.batch, p->shape.sequence, p->tokens, p->targets, 1.0, &loss, p->dW));
  for (PetscInt i = 0; i < p->n; i++) {
    GPTReal    *W, *d;
    double      norm = 0.0, length = 0.0, exact = 0.0, near = 0.0, far = 0.0, error, tolerance;
    const char *matrix;
    PetscInt    rows, columns;

    PetscCall(GPTGetMatrix(p->gpt, i, &matrix, &rows, &columns));
    PetscCall(PetscMalloc2(p->entries[i], &W, p->entries[i], &d));
    PetscCall(PetscArraycpy(W, p->W[i], p->entries[i]));
    for (PetscInt e = 0; e < p->entries[i]; e++) norm += PetscSqr(p->dW[i][e]);
    norm = sqrt(norm);
    /*
       half along the gradient, so that the derivative is of the gradient's size, half at random, so that no
       entry is left out
    */
    for (PetscInt e = 0; e < p->entries[i]; e++) {
      PetscCall(Draw(p->random, 1.0 / sqrt((double)p->entries[i]), &d[e]));
      d[e] += p->dW[i][e] / norm;
      length += PetscSqr(d[e]);
    }
    length = sqrt(length);
    for (PetscInt e = 0; e < p->entries[i]; e++) {
      d[e] /= length;
      exact += p->dW[i][e] * d[e];
    }
    PetscCall(Difference(p, i, W, d, h, &near));
    PetscCall(Difference(p, i, W, d, 2.0 * h, &far));
    error     = fabs((double)((4.0 * near - far) / 3.0 - exact));
    tolerance = fabs(near - far) + 8.0 * EPSILON * loss / h;
    PetscCheck(error <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: derivative %.12g, by differences %.12g: error %g above %g", name, matrix, (double)exact, (double)((4.0 * near - far) / 3.0), (double)error, (double)tolerance);
    PetscCheck(tolerance <= (sizeof(GPTReal) == sizeof(float) ? 0.1 : 1e-4) * exact, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: a tolerance of %g proves nothing about a derivative of %g", name, matrix, (double)tolerance, (double)exact);
    PetscCall(PetscInfo(NULL, "%s %s derivative %g error %g tolerance %g\n", name, matrix, (double)exact, (double)error, (double)tolerance));
    PetscCall(PetscFree2(W, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers, or integers where there are some, behind what a file of the case has for tests/oracle/nanogpt.py: little-endian doubles, matrices column by column */
static PetscErrorCode Dump(const char folder[], const char name[], const char suffix[], PetscInt n, const GPTReal x[], const PetscInt k[])
{
  char  path[PETSC_MAX_PATH_LEN];
  FILE *file;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/nanogpt.%s.%s", folder, name, suffix));
  file = fopen(path, "ab");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  for (PetscInt e = 0; e < n; e++) {
    const double value = k != NULL ? (double)k[e] : (double)x[e];

    PetscCheck(fwrite(&value, sizeof(value), 1, file) == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCheck(fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that the oracle needs, with the gradient of TestDifferences() to compare with */
static PetscErrorCode DumpProblem(const char folder[], const char name[], Problem *p)
{
  const PetscInt N       = p->shape.batch * p->shape.sequence;
  const PetscInt sizes[] = {p->shape.vocabulary, p->shape.width, p->shape.heads, p->shape.blocks, p->shape.sequence, p->shape.batch, (PetscInt)p->shape.variant};
  GPTReal        loss[2] = {0.0, (GPTReal)EPSILON};
  double         value;

  PetscFunctionBeginUser;
  PetscCall(Loss(p, &value));
  loss[0] = (GPTReal)value;
  PetscCall(Dump(folder, name, "sizes", (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes), NULL, sizes));
  PetscCall(Dump(folder, name, "tokens", N, NULL, p->tokens));
  PetscCall(Dump(folder, name, "tokens", N, NULL, p->targets));
  PetscCall(Dump(folder, name, "loss", 2, loss, NULL));
  for (PetscInt i = 0; i < p->n; i++) {
    PetscCall(Dump(folder, name, "W", p->entries[i], p->W[i], NULL));
    PetscCall(Dump(folder, name, "dW", p->entries[i], p->dW[i], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch is the mean of its sequences, and the gradient is added, times the weight, to what is there */
static PetscErrorCode TestAccumulation(const char name[], Problem *p)
{
  const PetscInt B = p->shape.batch, T = p->shape.sequence;
  GPTReal       *sum[MAX_MATRICES];
  double         whole, loss, mean = 0.0, tolerance;

  PetscFunctionBeginUser;
  PetscCall(Loss(p, &whole));
  for (PetscInt i = 0; i < p->n; i++) {
    PetscCall(PetscMalloc1(p->entries[i], &sum[i]));
    for (PetscInt e = 0; e < p->entries[i]; e++) sum[i][e] = 1.0;
  }
  for (PetscInt b = 0; b < B; b++) {
    PetscCall(GPTLossAndGradient(p->gpt, (const GPTReal *const *)p->W, 1, T, p->tokens + b * T, p->targets + b * T, 1.0 / (double)B, &loss, sum));
    mean += loss / (double)B;
  }
  /* both sums have the same B T terms of a size below the loss, in another order */
  tolerance = 2.0 * EPSILON * (double)(B * T) * whole;
  PetscCheck(fabs(mean - whole) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: mean of the losses of the sequences %g, of the batch %g", name, (double)mean, (double)whole);
  for (PetscInt i = 0; i < p->n; i++) {
    double difference = 0.0, norm = 0.0;

    for (PetscInt e = 0; e < p->entries[i]; e++) {
      difference = PetscMax(difference, fabs((double)(sum[i][e] - 1.0 - p->dW[i][e])));
      norm       = PetscMax(norm, fabs((double)p->dW[i][e]));
    }
    /*
       adding to 1 rounds by half an epsilon each time; the terms themselves differ by the order of sums of B
       T products
    */
    tolerance = EPSILON * ((double)B + (double)(4 * B * T) * norm);
    PetscCheck(difference <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: matrix %" PetscInt_FMT ": gradient accumulated over the sequences differs by %g above %g", name, i, (double)difference, (double)tolerance);
    PetscCheck(tolerance <= 0.1 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: matrix %" PetscInt_FMT ": a tolerance of %g proves nothing about a gradient of %g", name, i, (double)tolerance, (double)norm);
    PetscCall(PetscFree(sum[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Each start has the mean squares that its name promises: of n uniform numbers the mean square has the relative variance 4 / (5 n), of which
   six deviations are allowed. In the small one |logits| <= 0.1, since the entries of embed are at most 0.1 / C and a normalized column has 1-norm at most C
*/
static PetscErrorCode TestInitialization(const char name[], Problem *p)
{
  double loss;

  PetscFunctionBeginUser;
  for (GPTStart start = GPT_START_SCALED; start <= GPT_START_SMALL; start = (GPTStart)(start + 1)) {
    GPTShape shape = p->shape;
    GPT      gpt;

    shape.start = start;
    PetscCall(GPTCreate(&shape, &gpt));
    for (PetscInt i = 0; i < p->n; i++) {
      const char *matrix;
      PetscInt    rows, columns;
      double      expected, square = 0.0;

      PetscCall(GPTGetMatrix(gpt, i, &matrix, &rows, &columns));
      PetscCall(GPTInitializeMatrix(gpt, i, 1, p->W[i]));
      for (PetscInt e = 0; e < rows * columns; e++) square += (double)p->W[i][e] * (double)p->W[i][e] / (double)(rows * columns);
      expected = start == GPT_START_GPT2 ? 4e-4 : start == GPT_START_SMALL && strchr(matrix, '.') == NULL ? 0.01 / (3.0 * (double)(columns * columns)) : 1.0 / (double)columns;
      if (strstr(matrix, ".attn.o") != NULL || strstr(matrix, ".down") != NULL) expected /= 2.0 * (double)shape.blocks;
      if (columns == 1) expected = 1.0;
      PetscCheck(fabs(square / expected - 1.0) <= 6.0 * sqrt(0.8 / (double)(rows * columns)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, start %s: %s has the mean square %g, expected %g", name, GPTStarts[start], matrix, square, expected);
    }
    PetscCall(GPTDestroy(&gpt));
  }
  PetscCall(Loss(p, &loss));
  PetscCheck(fabs(loss - log((double)p->shape.vocabulary)) <= 0.2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the first loss is %g, not about the logarithm of %" PetscInt_FMT, name, (double)loss, p->shape.vocabulary);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      folder[PETSC_MAX_PATH_LEN];
  PetscBool dump;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", folder, sizeof(folder), &dump));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    Problem p;

    PetscCall(ProblemCreate(&cases[c].shape, &p));
    PetscCall(TestDifferences(cases[c].name, &p));
    if (dump == PETSC_TRUE) PetscCall(DumpProblem(folder, cases[c].name, &p));
    PetscCall(TestAccumulation(cases[c].name, &p));
    PetscCall(TestInitialization(cases[c].name, &p));
    PetscCall(ProblemDestroy(&p));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: differences

  test:
    suffix: oracle
    requires: numpy
    oracle: nanogpt.py

TEST*/
