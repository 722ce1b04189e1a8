#include "muoncompressorlines.h" /*I "petscmuoncompressor.h" I*/

enum {
  ROWS  = 32, /* rows that are taken out of a matrix at once: some cache lines of each column */
  CHUNK = 512 /* values decoded at once; a multiple of 8 */
};

typedef struct {
  MuonWireForm form;
  PetscReal    p;
} MuonCompressor_Lines;

/* An m x n matrix as lines: so many, of such a length, of which some are read together; the entries of line k have the numbers first k, first k + stride, ... */
typedef struct {
  PetscBool  rows;
  PetscInt64 lines, length, together, first, stride;
} Lines;

static Lines MuonCompressorGetLines_Private(MuonCompressor c, PetscInt m, PetscInt n)
{
  Lines lines;

  lines.rows     = ((MuonCompressor_Lines *)c->data)->form == MUON_WIRE_WHOLEROWS ? PETSC_TRUE : PETSC_FALSE;
  lines.lines    = lines.rows == PETSC_TRUE ? m : n;
  lines.length   = lines.rows == PETSC_TRUE ? n : m;
  lines.together = lines.rows == PETSC_TRUE ? PetscMin(ROWS, m) : 1;
  lines.first    = lines.rows == PETSC_TRUE ? n : 1;
  lines.stride   = lines.rows == PETSC_TRUE ? 1 : n;
  return lines;
}

static PetscErrorCode MuonCompressorLayout_Lines(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = ((MuonCompressor_Lines *)c->data)->form;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = MuonCompressorKept_Private(c->ratio, MuonCompressorGetLines_Private(c, m, n).lines);
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = lines first ... first + count - 1 of T - R, one after the other */
static PetscErrorCode MuonCompressorReadLines_Private(const Lines *lines, PetscInt64 first, PetscInt64 count, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscScalar x[])
{
  const size_t length = (size_t)lines->length;

  PetscFunctionBegin;
  if (lines->rows == PETSC_TRUE) MuonKernelResidualRows((size_t)count, length, T + first, (size_t)ldt, R != NULL ? R + first : NULL, (size_t)ldr, x);
  else {
    MuonKernelAxpby(length, 1, 1, T + (size_t)first * (size_t)ldt, length, 0, x, length);
    if (R != NULL) MuonKernelAxpby(length, 1, -1, R + (size_t)first * (size_t)ldr, length, 1, x, length);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSC_INFINITY is a finite number */
static double MuonCompressorExponent_Private(PetscReal p)
{
  return p >= PETSC_INFINITY ? HUGE_VAL : (double)p;
}

static PetscErrorCode MuonCompressorEncode_Lines(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const MuonCompressor_Lines *data    = (const MuonCompressor_Lines *)c->data;
  const Lines                 lines   = MuonCompressorGetLines_Private(c, m, n);
  const PetscInt64            kept    = MuonCompressorKept_Private(c->ratio, lines.lines);
  const MuonWireValues        codec   = MuonCompressorCodec_Private(c->values);
  const MuonKernelStream      stream  = MuonCompressorStream_Private(c);
  const MuonWireIndices       indices = MuonWireFormIndices(data->form, (uint64_t)m, (uint64_t)n, (uint64_t)kept);
  PetscScalar                *x;
  MuonKernelLength           *lengths;
  unsigned char              *bitmap;
  void                       *work;
  PetscInt64                  at = 0;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)(lines.together * lines.length) * sizeof(PetscScalar), &x));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (size_t)lines.lines * sizeof(MuonKernelLength) + ((size_t)lines.lines + 7) / 8, &lengths));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, PetscMax((size_t)lines.lines * sizeof(size_t), codec == MUON_WIRE_VALUES_NATURAL ? (size_t)(kept * lines.length) * sizeof(uint16_t) : 0), &work));
  bitmap = (unsigned char *)(lengths + lines.lines);
  for (PetscInt64 first = 0; first < lines.lines; first += lines.together) {
    const PetscInt64 some = PetscMin(lines.together, lines.lines - first);

    PetscCall(MuonCompressorReadLines_Private(&lines, first, some, T, ldt, R, ldr, x));
    for (PetscInt64 k = 0; k < some; k++) {
      if (MuonKernelLineLength((size_t)lines.length, x + k * lines.length, MuonCompressorExponent_Private(data->p), &lengths[first + k]) != 0) {
        c->status = MUON_STATUS_NANORINF;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  PetscCall(PetscLogFlops((R != NULL ? 3.0 : 2.0) * (PetscLogDouble)m * (PetscLogDouble)n));
  MuonKernelSelectLines((size_t)lines.lines, lengths, (size_t)kept, bitmap, (size_t *)work);
  MuonWireIndicesEncode(indices, (uint64_t)lines.lines, (uint64_t)kept, bitmap, payload);
  payload += MuonWireIndicesBytes(indices, (uint64_t)lines.lines, (uint64_t)kept);
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  /* The few lines that are kept are read once more: no copy of the matrix is needed */
  for (PetscInt64 first = 0; first < lines.lines; first += lines.together) {
    const PetscInt64 some = PetscMin(lines.together, lines.lines - first);
    PetscBool        read = PETSC_FALSE;

    for (PetscInt64 k = 0; k < some; k++) {
      const PetscInt64   line = first + k;
      const PetscScalar *y    = x + k * lines.length;

      if ((bitmap[line / 8] >> line % 8 & 1) == 0) continue;
      if (read == PETSC_FALSE) PetscCall(MuonCompressorReadLines_Private(&lines, first, some, T, ldt, R, ldr, x));
      read = PETSC_TRUE;
      /* An entry has the random number of its place in the matrix, whatever else is kept */
      if (codec == MUON_WIRE_VALUES_NATURAL) {
        if (MuonKernelNaturalStrided((size_t)lines.length, y, &stream, (uint64_t)(line * lines.first), (uint64_t)lines.stride, (uint16_t *)work + at) != 0) c->status = MUON_STATUS_NANORINF;
      } else PetscCall(MuonCompressorValuesEncode_Private(c, codec, lines.length, y, 0, payload + MuonWireValuesBytes(codec, (uint64_t)at)));
      at += lines.length;
    }
  }
  if (codec == MUON_WIRE_VALUES_NATURAL) MuonWireNaturalEncode((uint64_t)at, (const uint16_t *)work, payload);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Lines(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const MuonCompressor_Lines *data    = (const MuonCompressor_Lines *)c->data;
  const Lines                 lines   = MuonCompressorGetLines_Private(c, m, n);
  const PetscInt64            all     = count * lines.length;
  const MuonWireValues        codec   = MuonCompressorCodec_Private(c->values);
  const MuonWireIndices       indices = MuonWireFormIndices(data->form, (uint64_t)m, (uint64_t)n, (uint64_t)count);
  const unsigned char        *values  = payload + MuonWireIndicesBytes(indices, (uint64_t)lines.lines, (uint64_t)count);
  const size_t                step = lines.rows == PETSC_TRUE ? (size_t)ldy : 1, begin = lines.rows == PETSC_TRUE ? 1 : (size_t)ldy;
  MuonWireIndexReader         reader;
  PetscScalar                *y    = NULL;
  PetscInt64                  left = 0; /* of the line */

  PetscFunctionBegin;
  if (add == PETSC_FALSE) PetscCall(MuonCompressorZero_Private(m, n, Y, ldy));
  MuonWireIndexReaderInit(&reader, indices, (uint64_t)lines.lines, (uint64_t)count, payload);
  for (PetscInt64 k = 0; k < all; k += CHUNK) {
    const PetscInt64 some = PetscMin(CHUNK, all - k);
    PetscScalar      x[CHUNK];

    PetscCall(MuonCompressorValuesDecode_Private(codec, some, values, k, x));
    for (PetscInt64 i = 0; i < some;) {
      PetscInt64 run;

      if (left == 0) {
        y    = Y + (size_t)MuonWireIndexReaderNext(&reader) * begin;
        left = lines.length;
      }
      run = PetscMin(left, some - i);
      if (add == PETSC_TRUE) {
        for (PetscInt64 e = 0; e < run; e++) y[(size_t)e * step] += scale * x[i + e];
      } else {
        for (PetscInt64 e = 0; e < run; e++) y[(size_t)e * step] = x[i + e];
      }
      y += (size_t)run * step;
      left -= run;
      i += run;
    }
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   No line that is left out is longer than a kept one in the p-norm, so that none has a square sum of more than c times that of a kept one, c = length^|1 - 2/p|: ||x||_2 <= a ||x||_p <= a b ||x||_2 with
   a = max(1, length^(1/2 - 1/p)), b = max(1, length^(1/p - 1/2)), and c is the square of a b. Of N lines the N - K have then at most (N - K) c / K of what the K have, which is at least K / (K + (N - K) c) of all
*/
static PetscErrorCode MuonCompressorAlpha_Lines(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const double p     = (double)((MuonCompressor_Lines *)c->data)->p;
  const Lines  lines = MuonCompressorGetLines_Private(c, m, n);
  const double kept = (double)MuonCompressorKept_Private(c->ratio, lines.lines), ratio = pow((double)lines.length, fabs(1.0 - 2.0 / p));

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values)) * kept / (kept + ((double)lines.lines - kept) * ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSetLineNorm_Lines(MuonCompressor c, PetscReal p)
{
  PetscFunctionBegin;
  /* NaN is not at least 1 */
  MuonCompressorCheck(c, p >= 1.0, PETSC_ERR_ARG_OUTOFRANGE, "_line_norm", "%g, expected a number of at least 1, or inf", (double)p);
  ((MuonCompressor_Lines *)c->data)->p = PetscMin(p, PETSC_INFINITY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorGetLineNorm_Lines(MuonCompressor c, PetscReal *p)
{
  PetscFunctionBegin;
  *p = ((MuonCompressor_Lines *)c->data)->p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCopy_Lines(MuonCompressor from, MuonCompressor to)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetLineNorm(to, ((MuonCompressor_Lines *)from->data)->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSetFromOptions_Lines(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  char      now[64], text[64];
  PetscReal p = ((MuonCompressor_Lines *)c->data)->p;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Options of whole rows and columns");
  PetscCall(MuonExponentWrite_Private(p, sizeof(now), now));
  PetscCall(PetscOptionsString("-compressor_line_norm", "Norm of a row or column", "MuonCompressorSetLineNorm", now, text, sizeof(text), &set));
  if (set == PETSC_TRUE) {
    PetscCall(MuonExponentRead_Private(text, &p));
    PetscCall(MuonCompressorSetLineNorm(c, p));
  }
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Lines(MuonCompressor c, PetscViewer viewer)
{
  const MuonCompressor_Lines *data = (const MuonCompressor_Lines *)c->data;
  char                        p[64];

  PetscFunctionBegin;
  PetscCall(MuonExponentWrite_Private(data->p, sizeof(p), p));
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g of the %s, by their l%s norms, values: %s\n", (double)c->ratio, data->form == MUON_WIRE_WHOLEROWS ? "rows" : "columns", p, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChoices_Lines(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " line_norm %.17g", (double)((MuonCompressor_Lines *)c->data)->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDescribe_Lines(MuonCompressor c, size_t length, char text[])
{
  char p[64];

  PetscFunctionBegin;
  PetscCall(MuonExponentWrite_Private(((MuonCompressor_Lines *)c->data)->p, sizeof(p), p));
  PetscCall(PetscSNPrintf(text, length, " %g l%s %s", (double)c->ratio, p, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDestroy_Lines(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSetLineNorm_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorGetLineNorm_C", NULL));
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCreateLines_Private(MuonCompressor c, MuonWireForm form)
{
  MuonCompressor_Lines *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  data->form             = form;
  data->p                = 2.0;
  c->data                = data;
  c->ops->setfromoptions = MuonCompressorSetFromOptions_Lines;
  c->ops->layout         = MuonCompressorLayout_Lines;
  c->ops->encode         = MuonCompressorEncode_Lines;
  c->ops->decode         = MuonCompressorDecode_Lines;
  c->ops->alpha          = MuonCompressorAlpha_Lines;
  c->ops->copy           = MuonCompressorCopy_Lines;
  c->ops->choices        = MuonCompressorChoices_Lines;
  c->ops->view           = MuonCompressorView_Lines;
  c->ops->describe       = MuonCompressorDescribe_Lines;
  c->ops->destroy        = MuonCompressorDestroy_Lines;
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSetLineNorm_C", MuonCompressorSetLineNorm_Lines));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorGetLineNorm_C", MuonCompressorGetLineNorm_Lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorSetLineNorm - Sets the norm by which a compressor finds the largest rows or columns

   Logically Collective

   Input Parameters:
+  c - the compressor
-  p - exponent of the norm $\ell_p$, in [1, `PETSC_INFINITY`]

   Options Database Key:
.  -compressor_line_norm p - a number or `inf`

   Level: intermediate

   Note:
   The default is 2. An object of a type that keeps neither rows nor columns ignores it.

.seealso: `MuonCompressor`, `MuonCompressorGetLineNorm()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORCOLUMNTOPK`, `MUONCOMPRESSORROWTOPK`
@*/
PetscErrorCode MuonCompressorSetLineNorm(MuonCompressor c, PetscReal p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(c, p, 2);
  PetscTryMethod(c, "MuonCompressorSetLineNorm_C", (MuonCompressor, PetscReal), (c, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetLineNorm - Gets the norm by which a compressor finds the largest rows or columns

   Not Collective

   Input Parameter:
.  c - the compressor, of type `MUONCOMPRESSORCOLUMNTOPK` or `MUONCOMPRESSORROWTOPK`

   Output Parameter:
.  p - exponent of the norm, `PETSC_INFINITY` for the largest entry

   Level: intermediate

.seealso: `MuonCompressor`, `MuonCompressorSetLineNorm()`
@*/
PetscErrorCode MuonCompressorGetLineNorm(MuonCompressor c, PetscReal *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(p, 2);
  PetscUseMethod(c, "MuonCompressorGetLineNorm_C", (MuonCompressor, PetscReal *), (c, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
