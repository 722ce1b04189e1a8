/* What the benchmarks of messages share: Table 2 of the EF21-Muon paper and the layers that it is of, the compressor of a row, and random numbers. */
#pragma once

#include <petscmuon.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Compressors by their names in the tables: type, ratio or bits, codec of the values where it is not that of singles */
#define TABLE2_ROWS "identity", "natural", "topk 0.2", "topk 0.15", "topk 0.1", "topk 0.05", "topk 0.15 natural", "topk 0.1 natural", "rankk 0.2", "rankk 0.15", "rankk 0.1", "rankk 0.05", "rankk 0.15 natural", "rankk 0.1 natural"

typedef struct {
  PetscInt rows, columns, count;
} Shape;

/* The matrices of the 124M model: so many of them */
static const Shape NanoGPT[] = {{50304, 768, 1}, {768, 768, 48}, {3072, 768, 12}, {768, 3072, 12}};

static double Uniform(unsigned long long *state)
{
  unsigned long long z = (*state += 0x9E3779B97F4A7C15ull);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double Normal(unsigned long long *state)
{
  const double radius = sqrt(-2 * log(Uniform(state)));

  return radius * cos(2 * 3.14159265358979324 * Uniform(state));
}

static PetscErrorCode CompressorCreate(const char row[], MuonCompressor *c)
{
  char type[32] = "", number[32] = "1", values[32] = "single";

  PetscFunctionBeginUser;
  (void)sscanf(row, "%31s %31s %31s", type, number, values);
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, type));
  PetscCall(MuonObjectSetParameter((PetscObject)*c, strcmp(values, "bits") == 0 ? "compressor_bits" : "compressor_ratio", number));
  if (strcmp(values, "bits") != 0) PetscCall(MuonObjectSetParameter((PetscObject)*c, "compressor_values", values));
  PetscCall(MuonObjectSetParameter((PetscObject)*c, "compressor_paper_index_bits", "26"));
  PetscCall(MuonCompressorSetFromOptions(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
