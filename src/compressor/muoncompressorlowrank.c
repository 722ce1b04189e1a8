#include "muoncompressorlowrank.h"
#include "../kernels/muonpolarkernels.h"
#include <petscblaslapack.h>

PetscInt MuonCompressorRank_Private(MuonCompressor c, PetscInt m, PetscInt n)
{
  const PetscInt most = PetscMin(m, n);

  return c->rank == PETSC_DETERMINE ? (PetscInt)MuonCompressorKept_Private(c->ratio, most) : PetscMin(c->rank, most);
}

PetscErrorCode MuonCompressorRankLayout_Private(MuonCompressor c, MuonWireForm form, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = form;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = MuonCompressorRank_Private(c, m, n);
  layout->exact  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorResidual_Private(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, const PetscScalar **X, PetscInt *ldx)
{
  PetscScalar *copy;

  PetscFunctionBegin;
  *X   = T;
  *ldx = ldt;
  if (R == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * (size_t)n * sizeof(PetscScalar), &copy));
  for (PetscInt j = 0; j < n; j++) {
    const PetscScalar *t = T + (size_t)j * (size_t)ldt, *r = R + (size_t)j * (size_t)ldr;
    PetscScalar       *x = copy + (size_t)j * (size_t)m;

    for (PetscInt i = 0; i < m; i++) x[i] = t[i] - r[i];
  }
  PetscCall(PetscLogFlops((PetscLogDouble)m * (PetscLogDouble)n));
  *X   = copy;
  *ldx = PetscMax(m, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorTriples_Private(MuonCompressor c, MuonSVD svd, PetscInt m, PetscInt n, const PetscScalar X[], PetscInt ldx, PetscInt rank, PetscReal sigma[], PetscScalar P[], PetscInt *found)
{
  const size_t left = (size_t)rank * (size_t)m;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, m, n, m, n));
  PetscCall(MatSetType(A, MATSEQDENSE));
  PetscCall(MatDenseSetLDA(A, ldx));
  /* The decomposition works on a copy of its own */
  PetscCall(MatSeqDenseSetPreallocation(A, (PetscScalar *)X));
  PetscCall(MuonSVDSetWorkspace(svd, c->work));
  PetscCall(MuonSVDCompute(svd, A, rank, sigma, P, P + left, found, &c->status));
  PetscCall(MatDestroy(&A));
  if (c->status == MUON_STATUS_OK && *found > 0) PetscCall(PetscArraymove(P + (size_t)*found * (size_t)m, P + left, (size_t)*found * (size_t)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorsLayout_Private(MuonWireForm form, MuonWireValues codec, PetscInt m, PetscInt n, PetscInt64 count, MuonWireLayout *layout)
{
  MuonWireMessage header;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&header, sizeof(header)));
  header.form   = (uint8_t)form;
  header.values = (uint8_t)codec;
  header.count  = (uint64_t)count;
  (void)MuonWireMessageLayout(&header, (uint64_t)m, (uint64_t)n, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many magnitudes and entries of the factors there are */
static void Lengths(MuonWireForm form, PetscInt m, PetscInt n, PetscInt64 count, PetscInt64 *magnitudes, PetscInt64 *values)
{
  *magnitudes = form == MUON_WIRE_TRIPLES ? count : 0;
  *values     = *magnitudes + count * ((PetscInt64)m + n);
}

/* The sections of a payload, from and to values that stand behind one another */
static PetscErrorCode FactorsWrite_Private(MuonCompressor c, MuonWireForm form, PetscInt m, PetscInt n, PetscInt64 count, const PetscScalar x[], unsigned char payload[])
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  MuonWireLayout       layout;
  PetscInt64           first = 0;

  PetscFunctionBegin;
  PetscCall(FactorsLayout_Private(form, codec, m, n, count, &layout));
  for (unsigned s = 0; s < layout.sections; s++) {
    PetscCall(MuonCompressorValuesEncode_Private(c, codec, (PetscInt64)layout.section[s], x + first, first, payload + layout.sectionat[s]));
    first += (PetscInt64)layout.section[s];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorsRead_Private(MuonWireForm form, MuonWireValues codec, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscScalar x[])
{
  MuonWireLayout layout;

  PetscFunctionBegin;
  PetscCall(FactorsLayout_Private(form, codec, m, n, count, &layout));
  for (unsigned s = 0; s < layout.sections; s++) {
    PetscCall(MuonCompressorValuesDecode_Private(codec, (PetscInt64)layout.section[s], payload + layout.sectionat[s], 0, x));
    x += layout.section[s];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether no sum of the product can overflow: an entry of it is a sum of count terms, none larger than the product of the largest entries, and the columns of Q are multiplied by their magnitudes first. Half of the
   range is left for roundings. Only codecs that reach as far as the scalars can fail: the product of three binary32 numbers is far from the largest binary64
*/
static PetscErrorCode FactorsFit_Private(MuonCompressor c, MuonWireForm form, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *fit)
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  const size_t         left = (size_t)count * (size_t)m, right = (size_t)count * (size_t)n;
  PetscInt64           magnitudes, all;
  PetscScalar         *x;
  double               p, q, s;

  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  if (count == 0 || (!PetscDefined(USE_REAL_SINGLE) && codec != MUON_WIRE_VALUES_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
  Lengths(form, m, n, count, &magnitudes, &all);
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (size_t)all * sizeof(PetscScalar), &x));
  PetscCall(FactorsRead_Private(form, codec, m, n, count, payload, x));
  s = magnitudes > 0 ? MuonKernelMaxAbs((size_t)magnitudes, 1, x, (size_t)magnitudes) : 1.0;
  p = MuonKernelMaxAbs(left, 1, x + magnitudes, left);
  q = MuonKernelMaxAbs(right, 1, x + (size_t)magnitudes + left, right);
  if (!((double)count * PetscMax(p, 1.0) * (s * q) <= (double)PETSC_MAX_REAL / 2)) *fit = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor c, MuonWireForm form, PetscInt m, PetscInt n, PetscInt64 *count, PetscScalar values[], unsigned char payload[])
{
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  PetscInt64           kept  = *count;
  PetscBool            fit;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  PetscCall(FactorsWrite_Private(c, form, m, n, *count, values, payload));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* A magnitude below the range of the codec is no magnitude; they decrease, so that those after it are none either */
  if (form == MUON_WIRE_TRIPLES) {
    for (kept = 0; kept < *count; kept++) {
      PetscScalar some[8];

      PetscCall(MuonCompressorValuesDecode_Private(codec, PetscMin(*count - kept / 8 * 8, 8), payload, kept / 8 * 8, some));
      if (some[kept % 8] == 0.0) break;
    }
  }
  if (kept < *count) {
    PetscScalar *P = values + *count, *Q = P + (size_t)*count * (size_t)m;

    PetscCall(PetscArraymove(values + kept, P, (size_t)kept * (size_t)m));
    PetscCall(PetscArraymove(values + kept + (size_t)kept * (size_t)m, Q, (size_t)kept * (size_t)n));
    *count = kept;
    PetscCall(FactorsWrite_Private(c, form, m, n, *count, values, payload));
  }
  PetscCall(FactorsFit_Private(c, form, m, n, *count, payload, &fit));
  if (fit == PETSC_FALSE) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const PetscScalar    one = 1.0, zero = 0.0, a = add == PETSC_TRUE ? scale : one;
  MuonCompressorLayout layout;
  PetscScalar         *s, *P, *Q;
  PetscInt64           magnitudes, all;
  PetscBLASInt         bm, bn, bk, bld;

  PetscFunctionBegin;
  if (count == 0) {
    if (add == PETSC_FALSE) PetscCall(MuonCompressorZero_Private(m, n, Y, ldy));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscUseTypeMethod(c, layout, m, n, &layout);
  Lengths((MuonWireForm)layout.form, m, n, count, &magnitudes, &all);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast((PetscInt)count, &bk));
  PetscCall(PetscBLASIntCast(ldy, &bld));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (size_t)all * sizeof(PetscScalar), &s));
  PetscCall(FactorsRead_Private((MuonWireForm)layout.form, (MuonWireValues)layout.values, m, n, count, payload, s));
  P = s + magnitudes;
  Q = P + (size_t)count * (size_t)m;
  for (PetscInt64 k = 0; k < magnitudes; k++) MuonKernelAxpby((size_t)n, 1, s[k], Q + (size_t)k * (size_t)n, (size_t)n, 0, Q + (size_t)k * (size_t)n, (size_t)n);
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &a, P, &bm, Q, &bn, add == PETSC_TRUE ? &one : &zero, Y, &bld));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)count * m * n + (PetscLogDouble)magnitudes * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValidate_Factors(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid)
{
  MuonCompressorLayout layout;

  PetscFunctionBegin;
  PetscUseTypeMethod(c, layout, m, n, &layout);
  PetscCall(FactorsFit_Private(c, (MuonWireForm)layout.form, m, n, count, payload, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Factors(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  if (c->rank != PETSC_DETERMINE) PetscCall(PetscSNPrintf(text, length, " %" PetscInt_FMT " %s", c->rank, MuonCompressorValuesTypes[c->values]));
  else PetscCall(PetscSNPrintf(text, length, " %g %s", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorViewRank_Private(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (c->rank == PETSC_DETERMINE) PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %g of the smaller size, values: %s\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "rank: %" PetscInt_FMT ", values: %s\n", c->rank, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
