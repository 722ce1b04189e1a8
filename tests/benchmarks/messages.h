/* What the benchmarks of messages share: Table 2 of the EF21-Muon paper and the layers that it is of, the compressor of a row, and random numbers. */
#pragma once

#include <petscmuon.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <math.h>
#include "../parameters.h"

typedef struct {
  const char          *type;
  PetscReal            ratio;
  MuonCompressorValues values;
  PetscInt             bits;
  PetscBool            svd; /* decompositions: on the smaller matrix */
} Row;

#define SINGLE  MUON_COMPRESSOR_VALUES_SINGLE
#define NATURAL MUON_COMPRESSOR_VALUES_NATURAL
/* The rows of the table */
#define TABLE2_ROWS \
  {MUONCOMPRESSORIDENTITY, 1, SINGLE, 0, PETSC_FALSE}, {MUONCOMPRESSORNATURAL, 1, SINGLE, 0, PETSC_FALSE}, {MUONCOMPRESSORTOPK, (PetscReal)0.20, SINGLE, 0, PETSC_FALSE}, {MUONCOMPRESSORTOPK, (PetscReal)0.15, SINGLE, 0, PETSC_FALSE}, \
    {MUONCOMPRESSORTOPK, (PetscReal)0.10, SINGLE, 0, PETSC_FALSE}, {MUONCOMPRESSORTOPK, (PetscReal)0.05, SINGLE, 0, PETSC_FALSE}, {MUONCOMPRESSORTOPK, (PetscReal)0.15, NATURAL, 0, PETSC_FALSE}, \
    {MUONCOMPRESSORTOPK, (PetscReal)0.10, NATURAL, 0, PETSC_FALSE}, {MUONCOMPRESSORRANKK, (PetscReal)0.20, SINGLE, 0, PETSC_TRUE}, {MUONCOMPRESSORRANKK, (PetscReal)0.15, SINGLE, 0, PETSC_TRUE}, \
    {MUONCOMPRESSORRANKK, (PetscReal)0.10, SINGLE, 0, PETSC_TRUE}, {MUONCOMPRESSORRANKK, (PetscReal)0.05, SINGLE, 0, PETSC_TRUE}, {MUONCOMPRESSORRANKK, (PetscReal)0.15, NATURAL, 0, PETSC_TRUE}, \
  { \
    MUONCOMPRESSORRANKK, (PetscReal)0.10, NATURAL, 0, PETSC_TRUE \
  }

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

static PetscErrorCode CompressorCreate(const Row *row, MuonCompressor *c)
{
  PetscFunctionBeginUser;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, row->type));
  PetscCall(MuonCompressorSetRatio(*c, row->ratio));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", MuonCompressorValuesTypes[row->values]));
  if (row->bits > 0) PetscCall(SetNumber((PetscObject)(*c), "compressor_bits", row->bits));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_paper_index_bits", "26"));
  PetscCall(MuonCompressorSetFromOptions(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowName(const Row *row, size_t length, char name[])
{
  PetscBool plain;

  PetscFunctionBeginUser;
  if (row->bits > 0) PetscCall(PetscSNPrintf(name, length, "%s %" PetscInt_FMT " bits", row->type, row->bits));
  else {
    plain = row->ratio == 1 ? PETSC_TRUE : PETSC_FALSE;
    if (plain == PETSC_TRUE) PetscCall(PetscSNPrintf(name, length, "%s", row->type));
    else PetscCall(PetscSNPrintf(name, length, "%s %g%s%s", row->type, (double)row->ratio, row->values == SINGLE ? "" : " ", row->values == SINGLE ? "" : MuonCompressorValuesTypes[row->values]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
