/*
   MuonKernelSubset(): sets of the right size, all of them equally often, and those that
   tests/oracle/subset.py finds.
*/
#include "kernels_common.h"

static int IsIn(const unsigned char *bitmap, size_t e)
{
  return bitmap[e / 8] >> e % 8 & 1;
}

/* So many of the entries and no more, nothing behind the last one, whatever the bytes held before */
static void CheckSize(size_t entries, size_t count, uint64_t seed)
{
  const size_t   bytes  = (entries + 7) / 8;
  unsigned char *bitmap = (unsigned char *)Allocate(bytes + 1), *again = (unsigned char *)Allocate(bytes + 1);
  size_t         found = 0;

  memset(bitmap, 0xA5, bytes + 1);
  memset(again, 0x5A, bytes + 1);
  MuonKernelSubset(entries, count, seed, bitmap);
  MuonKernelSubset(entries, count, seed, again);
  for (size_t e = 0; e < 8 * bytes; e++) {
    found += (size_t)IsIn(bitmap, e);
    Check(e < entries || !IsIn(bitmap, e), "%d of %d: padding", (int)count, (int)entries);
  }
  Check(found == count, "%d of %d: %d found", (int)count, (int)entries, (int)found);
  Check(memcmp(bitmap, again, bytes) == 0 && bitmap[bytes] == 0xA5, "%d of %d: written elsewhere", (int)count, (int)entries);
  free(bitmap);
  free(again);
}

/*
   A sum of chi-square with that many degrees of freedom is outside of this with a probability of 2 exp(-20)
   (Laurent and Massart, 2000, lemma 1)
*/
static void CheckChiSquare(double sum, double freedom, const char what[])
{
  const double x = 20;

  Check(sum <= freedom + 2 * sqrt(freedom * x) + 2 * x, "%s: chi-square %g with %g degrees of freedom", what, sum, freedom);
  Check(sum >= freedom - 2 * sqrt(freedom * x), "%s: chi-square %g with %g degrees of freedom is too even", what, sum, freedom);
}

/* Every set of count of up to eight entries, as often as any other */
static void CheckSets(size_t entries, size_t count)
{
  size_t seen[256] = {0}, sets = 0;
  double sum = 0;

  for (size_t set = 0; set < (size_t)1 << entries; set++) {
    size_t ones = 0;

    for (size_t e = 0; e < entries; e++) ones += set >> e & 1u;
    sets += ones == count;
  }
  for (uint64_t seed = 0; seed < 500 * sets; seed++) {
    unsigned char bitmap;

    MuonKernelSubset(entries, count, seed << 20 | entries << 8 | count, &bitmap);
    seen[bitmap]++;
  }
  for (size_t set = 0; set < 256; set++) {
    if (seen[set] > 0) sum += (double)seen[set] * (double)seen[set] / 500;
  }
  /* sum of (seen - 500)^2 / 500 */
  CheckChiSquare(sum - 500 * (double)sets, (double)sets - 1, "sets");
}

/* Single entries and pairs of a set that is too large to see all */
static void CheckPairs(size_t entries, size_t count, size_t draws)
{
  const double   d = (double)entries, k = (double)count, n = (double)draws, one = k / d, two = one * (k - 1) / (d - 1);
  size_t        *seen   = (size_t *)Allocate(entries * entries * sizeof(*seen));
  unsigned char *bitmap = (unsigned char *)Allocate((entries + 7) / 8);
  double         sum    = 0;

  memset(seen, 0, entries * entries * sizeof(*seen));
  for (uint64_t seed = 1; seed <= draws; seed++) {
    MuonKernelSubset(entries, count, seed * 0x9E3779B97F4A7C15u, bitmap);
    for (size_t a = 0; a < entries; a++) {
      for (size_t b = 0; b <= a && IsIn(bitmap, a); b++) seen[a * entries + b] += (size_t)IsIn(bitmap, b);
    }
  }
  for (size_t a = 0; a < entries; a++) {
    sum += pow((double)seen[a * entries + a] - n * one, 2);
    /* Six and a half standard deviations: 8e-11 for each pair */
    for (size_t b = 0; b < a; b++) Check(fabs((double)seen[a * entries + b] - n * two) <= 6.5 * sqrt(n * two * (1 - two)), "pair %d, %d: %d times of %d, expected %g", (int)a, (int)b, (int)seen[a * entries + b], (int)draws, n * two);
  }
  /* The indicators have variance one (1 - one) and, as their sum is fixed, covariances of -1/(d - 1) of it */
  CheckChiSquare(sum / (n * one * (1 - one) * d / (d - 1)), d - 1, "entries");
  free(seen);
  free(bitmap);
}

/* Of one large set equal intervals hold equal parts, with the variance of draws without replacement */
static void CheckIntervals(size_t entries, size_t count, uint64_t seed)
{
  enum {
    INTERVALS = 128
  };
  const double   expected = (double)count / INTERVALS;
  const size_t   length   = entries / INTERVALS;
  unsigned char *bitmap   = (unsigned char *)Allocate((entries + 7) / 8);
  double         sum      = 0;

  MuonKernelSubset(entries, count, seed, bitmap);
  for (size_t i = 0; i < INTERVALS; i++) {
    size_t found = 0;

    for (size_t e = i * length; e < (i + 1) * length; e++) found += (size_t)IsIn(bitmap, e);
    sum += pow((double)found - expected, 2);
  }
  CheckChiSquare(sum / (expected * (double)(entries - count) / (double)(entries - 1)), INTERVALS - 1, "intervals");
  free(bitmap);
}

int main(int argc, char **argv)
{
  static const size_t   sizes[][2] = {{0, 0}, {1, 0}, {1, 1}, {7, 3}, {8, 4}, {8, 8}, {9, 8}, {64, 1}, {300, 150}, {300, 151}, {960, 96}, {1000, 257}, {1537, 1025}, {4096, 513}, {20000, 19000}, {100003, 30000}};
  static const uint64_t seeds[]    = {0, 1, 0x123456789ABCDEF0u, (uint64_t)1 << 32, UINT64_MAX};
  char                  path[4096];
  const char           *dir = NULL;
  unsigned char         example;
  FILE                 *file;

  /* The example of src/wire/README.md: 4, 6 and, as 4 is drawn twice, 7 */
  MuonKernelSubset(8, 3, 4, &example);
  Check(example == 0xD0, "the example is %02x", (unsigned)example);
  for (size_t entries = 0; entries < 40; entries++) {
    for (size_t count = 0; count <= entries; count++) CheckSize(entries, count, 7 * entries + count);
  }
  for (size_t count = 0; count <= 3000; count += 50) CheckSize(3000, count, count);
  for (size_t entries = 2; entries <= 8; entries++) {
    for (size_t count = 1; count < entries; count++) CheckSets(entries, count);
  }
  CheckPairs(30, 9, 20000);
  CheckPairs(30, 22, 20000);
  CheckIntervals(1 << 20, 100000, 5);
  CheckIntervals(1 << 20, 900000, 6);

  for (int a = 1; a + 1 < argc; a++) {
    if (strcmp(argv[a], "-oracle_dir") == 0) dir = argv[a + 1];
  }
  Check(dir != NULL, "-oracle_dir names the folder to write into");
  snprintf(path, sizeof(path), "%s/subset.txt", dir);
  file = fopen(path, "w");
  Check(file != NULL, "cannot write %s", path);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const size_t   bytes  = (sizes[i][0] + 7) / 8;
    unsigned char *bitmap = (unsigned char *)Allocate(bytes);

    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
      MuonKernelSubset(sizes[i][0], sizes[i][1], seeds[s], bitmap);
      fprintf(file, "%lu %lu %llu ", (unsigned long)sizes[i][0], (unsigned long)sizes[i][1], (unsigned long long)seeds[s]);
      for (size_t b = 0; b < bytes; b++) fprintf(file, "%02x", (unsigned)bitmap[b]);
      fprintf(file, "\n");
    }
    free(bitmap);
  }
  Check(fclose(file) == 0, "cannot write %s", path);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    oracle: subset.py
    output_file: output/kernels_ok.out

TEST*/
