#include "muoncompressorlowrank.h"
#include <petscblaslapack.h>
#include <float.h>

PetscInt MuonCompressorRank_Private(MuonCompressor c, const MuonArray *shape)
{
  const PetscInt most = (PetscInt)PetscMin(shape->len, shape->count);

  return c->rank == PETSC_DETERMINE ? (PetscInt)MuonCompressorKept_Private(c->ratio, most) : PetscMin(c->rank, most);
}

PetscErrorCode MuonCompressorRankLayout_Private(MuonCompressor c, MuonWireForm form, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscBLASInt size;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast((PetscInt)PetscMax(shape->len, shape->count), &size));
  layout->form   = form;
  layout->values = MuonCompressorCodec_Private(c->values, shape);
  layout->count  = MuonCompressorRank_Private(c, shape);
  layout->exact  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorLayout_Factors(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorRankLayout_Private(c, MUON_WIRE_LOWRANK, shape, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal MuonCompressorFactorsAlpha_Private(double part, double drawn, double error, double mixed)
{
  const PetscReal alpha = MuonCompressorRoundDown_Private(part * (1.0 - drawn - error * error) - mixed);

  return alpha > 0.0 ? alpha : -1.0;
}

PetscErrorCode MuonCompressorResidual_Private(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonArray *X)
{
  const MuonKernels *kernels = MuonArrayKernels(T);

  PetscFunctionBegin;
  *X = *T;
  if (R != NULL) {
    PetscCall(MuonWorkspaceGetArray(c->work, T, T->precision, X));
    kernels->Residual(T->len, T->count, T->data, T->ld, R->data, R->ld, 0, MuonArrayEntries(T), X->data);
    PetscCall(PetscLogFlops((PetscLogDouble)MuonArrayEntries(T)));
  }
  X->rowmajor = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorTriples_Private(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscReal **sigma, void **values, PetscInt *found, double *norm, int *scale)
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const size_t       m = T->len, n = T->count, rank = (size_t)MuonCompressorRank_Private(c, T);
  PetscScalar       *U, *V, *room;
  MuonArray          X;
  MuonMatrix         matrix;
  double             nearest, variance;
  size_t             count;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, rank * (1 + n + m) * sizeof(PetscScalar), &room));
  PetscCall(MuonWorkspaceGet(c->work, rank * sizeof(PetscReal), sigma));
  V = room + rank;
  U = V + rank * n;
  PetscCall(MuonCompressorResidual_Private(c, T, R, &X));
  PetscCall(MuonSVDSetWorkspace(c->svd, c->work));
  matrix = MuonMatrixOfArray(&X);
  /* What is rounded coarsely need not be computed to the last digit */
  PetscCall(MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c->values, T), T->precision, &nearest, &variance));
  PetscCall(MuonSVDSetTolerance(c->svd, nearest > 0 ? (PetscReal)(nearest / 8) : PETSC_DETERMINE));
  PetscCall(MuonSVDCompute(c->svd, &matrix, (PetscInt)rank, *sigma, U, V, found, &c->status));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  *norm = kernels->Norm(m, n, X.data, X.ld, scale);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n));
  /* The factors stand where they are to be when all triples are found, else they move up */
  count = (size_t)*found;
  if (count < rank) {
    PetscCall(PetscArraymove(room + count, V, count * n));
    PetscCall(PetscArraymove(room + count + count * n, U, count * m));
  }
  *values = room;
  if (T->precision != MUON_PETSCSCALAR) {
    /* What is written are numbers that the array can hold */
    const size_t all = count * (1 + n + m);

    PetscCall(PetscArrayzero(room, count));
    PetscCall(MuonWorkspaceGet(c->work, PetscMax(all, 1) * MuonArrayEntryBytes(T), values));
    kernels->AxpbyOther(all, 1, 1.0, room, all, 0.0, *values, all);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorsLayout_Private(MuonWireForm form, MuonWireValues codec, const MuonArray *shape, PetscInt64 count, MuonWireLayout *layout)
{
  MuonWireMessage header;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&header, sizeof(header)));
  header.form   = (uint8_t)form;
  header.values = (uint8_t)codec;
  header.count  = (uint64_t)count;
  (void)MuonWireMessageLayout(&header, shape->count, shape->len, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sections of a payload, from and to values that stand behind one another in the memory of the array */
static PetscErrorCode FactorsWrite_Private(MuonCompressor c, MuonWireForm form, const MuonArray *shape, PetscInt64 count, const char *x, unsigned char payload[])
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values, shape);
  MuonWireLayout       layout;
  PetscInt64           first = 0;

  PetscFunctionBegin;
  PetscCall(FactorsLayout_Private(form, codec, shape, count, &layout));
  for (unsigned s = 0; s < layout.sections; s++) {
    const char    *from = x + (size_t)first * MuonArrayEntryBytes(shape);
    unsigned char *to   = payload + layout.sectionat[s];

    if (shape->memory != MUON_HOST) PetscCall(MuonCompressorFarEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, shape->precision, (size_t)layout.section[s], from, (uint64_t)first, to));
    else PetscCall(MuonCompressorValuesEncode_Private(c, codec, shape->precision, (PetscInt64)layout.section[s], from, first, to));
    first += (PetscInt64)layout.section[s];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In scratch of a memory: magnitudes of them, P and Q */
static PetscErrorCode FactorsRead_Private(MuonCompressor c, MuonMemory memory, MuonWireForm form, const MuonArray *shape, PetscInt64 count, const unsigned char payload[], size_t *magnitudes, char **s, char **P, char **Q)
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values, shape);
  const size_t         size  = MuonArrayEntryBytes(shape);
  MuonWireLayout       layout;
  char                *x;

  PetscFunctionBegin;
  PetscCall(FactorsLayout_Private(form, codec, shape, count, &layout));
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (size_t)layout.values * size, s));
  x = *s;
  for (unsigned i = 0; i < layout.sections; i++) {
    if (memory != MUON_HOST) PetscCall(MuonCompressorFarDecode_Private(c, codec, shape->precision, (size_t)layout.section[i], payload + layout.sectionat[i], 0, x));
    else PetscCall(MuonCompressorValuesDecode_Private(codec, shape->precision, (PetscInt64)layout.section[i], payload + layout.sectionat[i], 0, x));
    x += layout.section[i] * size;
  }
  *magnitudes = (size_t)layout.magnitudes;
  *P          = *s + *magnitudes * size;
  *Q          = *P + (size_t)count * shape->count * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether no sum of the product can overflow: an entry of it is a sum of count terms, none larger than the
   product of the largest entries, and the columns of P are multiplied by their magnitudes first. Half of the
   range is left for roundings. Only codecs that reach as far as the entries can fail: the product of three
   binary32 numbers is far from the largest binary64
*/
static PetscErrorCode FactorsFit_Private(MuonCompressor c, MuonWireForm form, const MuonArray *shape, PetscInt64 count, const unsigned char payload[], PetscBool *fit)
{
  const MuonKernels *kernels = MuonKernelsGet(shape->precision, MUON_HOST);
  const size_t       lines = (size_t)count * shape->count, entries = (size_t)count * shape->len;
  size_t             magnitudes;
  char              *s, *P, *Q;
  double             most, p, q;

  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  if (count == 0 || (shape->precision == MUON_DOUBLE && MuonCompressorCodec_Private(c->values, shape) != MUON_WIRE_VALUES_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FactorsRead_Private(c, MUON_HOST, form, shape, count, payload, &magnitudes, &s, &P, &Q));
  most = magnitudes > 0 ? kernels->MaxAbs(magnitudes, 1, s, magnitudes) : 1.0;
  p    = kernels->MaxAbs(lines, 1, P, lines);
  q    = kernels->MaxAbs(entries, 1, Q, entries);
  if (!((double)count * PetscMax(q, 1.0) * (most * p) <= (shape->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX) / 2)) *fit = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor c, MuonWireForm form, const MuonArray *shape, PetscInt64 *count, void *values, unsigned char payload[])
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values, shape);
  const size_t         size  = MuonArrayEntryBytes(shape);
  PetscInt64           kept  = *count;
  PetscBool            fit;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  PetscCall(FactorsWrite_Private(c, form, shape, *count, (const char *)values, payload));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /*
     A magnitude below the range of the codec is no magnitude; they decrease, so that those after it are none
     either
  */
  if (form == MUON_WIRE_TRIPLES) {
    for (kept = 0; kept < *count; kept++) {
      double some[8];

      PetscCall(MuonCompressorValuesDecode_Private(codec, MUON_DOUBLE, PetscMin(*count - kept / 8 * 8, 8), payload, kept / 8 * 8, some));
      if (some[kept % 8] == 0.0) break;
    }
  }
  if (kept < *count) {
    char *x = (char *)values, *P = x + (size_t)*count * size, *Q = P + (size_t)*count * shape->count * size;

    PetscCall(PetscMemmove(x + (size_t)kept * size, P, (size_t)kept * shape->count * size));
    PetscCall(PetscMemmove(x + (size_t)kept * (1 + shape->count) * size, Q, (size_t)kept * shape->len * size));
    *count = kept;
    PetscCall(FactorsWrite_Private(c, form, shape, *count, x, payload));
  }
  PetscCall(FactorsFit_Private(c, form, shape, *count, payload, &fit));
  if (fit == PETSC_FALSE) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels   *kernels = MuonArrayKernels(Y);
  MuonCompressorLayout layout;
  PetscBLASInt         ld;
  size_t               magnitudes;
  char                *s, *P, *Q;

  PetscFunctionBegin;
  if (count == 0) {
    if (add == PETSC_FALSE) PetscCall(MuonArrayZero(Y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscUseTypeMethod(c, layout, Y, &layout);
  PetscCall(PetscBLASIntCast((PetscInt)Y->ld, &ld));
  PetscCall(FactorsRead_Private(c, Y->memory, (MuonWireForm)layout.form, Y, count, payload, &magnitudes, &s, &P, &Q));
  for (size_t k = 0; k < magnitudes; k++) {
    char        *column = P + k * Y->count * kernels->size;
    const double factor = Y->precision == MUON_SINGLE ? (double)((float *)s)[k] : ((double *)s)[k];

    kernels->Axpby(Y->count, 1, factor, column, Y->count, 0.0, column, Y->count);
  }
  kernels->Multiply(0, 1, Y->len, Y->count, (size_t)count, add == PETSC_TRUE ? scale : 1.0, Q, Y->len, P, Y->count, add == PETSC_TRUE ? 1.0 : 0.0, Y->data, PetscMax(Y->ld, Y->len));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)count * (PetscLogDouble)MuonArrayEntries(Y) + (PetscLogDouble)magnitudes * (PetscLogDouble)Y->count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValidate_Factors(MuonCompressor c, const MuonArray *shape, PetscInt64 count, const unsigned char payload[], PetscBool *valid)
{
  MuonCompressorLayout layout;

  PetscFunctionBegin;
  PetscUseTypeMethod(c, layout, shape, &layout);
  PetscCall(FactorsFit_Private(c, (MuonWireForm)layout.form, shape, count, payload, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Factors(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  if (c->rank != PETSC_DETERMINE) PetscCall(PetscSNPrintf(text, length, " rank %" PetscInt_FMT " %s", c->rank, MuonCompressorValuesTypes[c->values]));
  else PetscCall(MuonCompressorDescribe_Ratio(c, length, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorView_Factors(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (c->rank == PETSC_DETERMINE) PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %g of the smaller size, values: %s\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %" PetscInt_FMT ", values: %s\n", c->rank, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
