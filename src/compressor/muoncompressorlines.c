#include "muoncompressorlines.h" /*I "petscmuoncompressor.h" I*/
#include "../kernels/codec/muonkernels.h"
#include <float.h>

enum {
  TOGETHER = 32, /* lines that are taken out of an array at once where they cross its own: some cache lines of each of these */
  CHUNK    = 512 /* values decoded at once; a multiple of 8 */
};

typedef struct {
  PetscBool rows; /* of the matrix are kept, else columns */
  PetscReal p;
} MuonCompressor_Lines;

/*
   What is kept, as lines: across those of the array or its own; so many, of such a length, of which some are
   read together; the entries of line k have the numbers first k, first k + stride, ...
*/
typedef struct {
  PetscBool across;
  size_t    lines, length, together, first, stride;
} Lines;

static Lines MuonCompressorGetLines_Private(MuonCompressor c, const MuonArray *A)
{
  Lines lines;

  lines.across   = (((MuonCompressor_Lines *)c->data)->rows == PETSC_TRUE) != (A->rowmajor != 0) ? PETSC_TRUE : PETSC_FALSE;
  lines.lines    = lines.across == PETSC_TRUE ? A->len : A->count;
  lines.length   = lines.across == PETSC_TRUE ? A->count : A->len;
  lines.together = lines.across == PETSC_TRUE ? PetscMin(TOGETHER, A->len) : 1;
  lines.first    = lines.across == PETSC_TRUE ? 1 : A->len;
  lines.stride   = lines.across == PETSC_TRUE ? A->len : 1;
  return lines;
}

static PetscErrorCode MuonCompressorLayout_Lines(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  const Lines lines = MuonCompressorGetLines_Private(c, shape);

  PetscFunctionBegin;
  layout->form   = lines.across == PETSC_TRUE ? MUON_WIRE_WHOLECOLUMNS : MUON_WIRE_WHOLEROWS;
  layout->values = MuonCompressorCodec_Private(c->values, shape);
  layout->count  = MuonCompressorKept_Private(c->ratio, (PetscInt64)lines.lines);
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = lines first ... first + count - 1 of T - R, one after the other */
static void ReadLines(const Lines *lines, size_t first, size_t count, const MuonArray *T, const MuonArray *R, void *x)
{
  const void  *r   = R != NULL ? R->data : NULL;
  const size_t ldr = R != NULL ? R->ld : 0;

  if (lines->across == PETSC_TRUE) MuonArrayKernels(T)->ResidualAcross(T->count, T->data, T->ld, r, ldr, first, count, x);
  else MuonArrayKernels(T)->Residual(T->len, T->count, T->data, T->ld, r, ldr, first * T->len, count * T->len, x);
}

/* PETSC_INFINITY is a finite number */
static double MuonCompressorExponent_Private(PetscReal p)
{
  return p >= PETSC_INFINITY ? HUGE_VAL : (double)p;
}

/* Of lines first ... first + count - 1; room has as many. Sets the status where one is not finite */
static PetscErrorCode MuonCompressorLengths_Private(MuonCompressor c, const Lines *lines, size_t first, size_t count, const MuonArray *T, const MuonArray *R, char *room, MuonKernelLength lengths[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const double       p       = MuonCompressorExponent_Private(((const MuonCompressor_Lines *)c->data)->p);

  PetscFunctionBegin;
  ReadLines(lines, first, count, T, R, room);
  for (size_t k = 0; k < count && c->status == MUON_STATUS_OK; k++) {
    if (kernels->LineLength(lines->length, room + k * lines->length * kernels->size, p, &lengths[first + k]) != 0) c->status = MUON_STATUS_NANORINF;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In the memory of a device: sums of all lines at once, and those alone one by one that have none in range,
   or another norm
*/
static PetscErrorCode MuonCompressorFarLengths_Private(MuonCompressor c, const Lines *lines, const MuonArray *X, char *room, MuonKernelLength lengths[])
{
  const double p = (double)((const MuonCompressor_Lines *)c->data)->p;
  double      *sums;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetPinned(c->work, X->memory, lines->lines * sizeof(*sums), &sums));
  if (p == 1.0 || p == 2.0) MuonArrayKernels(X)->SliceSums(X->len, X->count, X->data, X->ld, lines->across == PETSC_TRUE, (int)p, sums);
  else PetscCall(PetscArrayzero(sums, lines->lines));
  for (size_t k = 0; k < lines->lines && c->status == MUON_STATUS_OK; k++) {
    if (isgreaterequal(sums[k], 1e-250) && islessequal(sums[k], DBL_MAX)) lengths[k].fraction = frexp(sums[k], &lengths[k].exponent);
    else PetscCall(MuonCompressorLengths_Private(c, lines, k, 1, X, NULL, room, lengths));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the lines in the bitmap, which a device packs */
static PetscErrorCode MuonCompressorFarLines_Private(MuonCompressor c, const Lines *lines, MuonWireValues codec, size_t kept, const unsigned char bitmap[], const MuonArray *X, unsigned char to[])
{
  const MuonKernels     *kernels = MuonArrayKernels(X);
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const size_t           all     = kept * lines->length;
  size_t                 at      = 0;
  char                  *x;
  uint16_t              *codes, *near;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(c->work, X->memory, all * kernels->size, &x));
  PetscCall(MuonWorkspaceGetIn(c->work, X->memory, all * sizeof(*codes), &codes));
  for (size_t line = 0; line < lines->lines; line++) {
    if ((bitmap[line / 8] >> line % 8 & 1) == 0) continue;
    ReadLines(lines, line, 1, X, NULL, x + at * kernels->size);
    if (codec == MUON_WIRE_VALUES_NATURAL && kernels->Natural(lines->length, x + at * kernels->size, &stream, line * lines->first, lines->stride, codes + at) != 0) c->status = MUON_STATUS_NANORINF;
    at += lines->length;
  }
  if (codec == MUON_WIRE_VALUES_NATURAL) {
    PetscCall(MuonWorkspaceGetPinned(c->work, X->memory, all * sizeof(*near), &near));
    MuonDeviceGet()->copy(all * sizeof(*near), codes, near);
    MuonWireNaturalEncode(all, near, to);
  } else PetscCall(MuonCompressorFarEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, X->precision, all, x, 0, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Lines(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  const Lines            lines   = MuonCompressorGetLines_Private(c, T);
  const PetscInt64       kept    = MuonCompressorKept_Private(c->ratio, (PetscInt64)lines.lines);
  const MuonWireValues   codec   = MuonCompressorCodec_Private(c->values, T);
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const MuonWireIndices  indices = MuonWireChooseIndices(lines.lines, (uint64_t)kept);
  const MuonKernels     *kernels = MuonArrayKernels(T);
  const size_t           bytes   = lines.length * kernels->size;
  char                  *x;
  MuonKernelLength      *lengths;
  unsigned char         *bitmap;
  void                  *work;
  MuonArray              X  = *T;
  size_t                 at = 0;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(MuonWorkspaceGet(c->work, lines.lines * sizeof(MuonKernelLength) + (lines.lines + 7) / 8, &lengths));
  PetscCall(MuonWorkspaceGet(c->work, PetscMax(lines.lines * sizeof(size_t), codec == MUON_WIRE_VALUES_NATURAL ? (size_t)kept * lines.length * sizeof(uint16_t) : 0), &work));
  bitmap = (unsigned char *)(lengths + lines.lines);
  if (T->memory != MUON_HOST) {
    if (R != NULL) {
      PetscCall(MuonWorkspaceGetArray(c->work, T, T->precision, &X));
      kernels->Residual(T->len, T->count, T->data, T->ld, R->data, R->ld, 0, MuonArrayEntries(T), X.data);
    }
    PetscCall(MuonWorkspaceGetIn(c->work, T->memory, bytes, &x));
    PetscCall(MuonCompressorFarLengths_Private(c, &lines, &X, x, lengths));
  } else {
    PetscCall(MuonWorkspaceGet(c->work, lines.together * bytes, &x));
    for (size_t first = 0; first < lines.lines && c->status == MUON_STATUS_OK; first += lines.together) PetscCall(MuonCompressorLengths_Private(c, &lines, first, PetscMin(lines.together, lines.lines - first), T, R, x, lengths));
  }
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogFlops((R != NULL ? 3.0 : 2.0) * (PetscLogDouble)MuonArrayEntries(T)));
  MuonKernelSelectLines(lines.lines, lengths, (size_t)kept, bitmap, (size_t *)work);
  MuonWireIndicesEncode(indices, lines.lines, (uint64_t)kept, bitmap, payload);
  payload += MuonWireIndicesBytes(indices, lines.lines, (uint64_t)kept);
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  if (T->memory != MUON_HOST) {
    PetscCall(MuonCompressorFarLines_Private(c, &lines, codec, (size_t)kept, bitmap, &X, payload));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* The few lines that are kept are read once more: no copy of the matrix is needed */
  for (size_t first = 0; first < lines.lines; first += lines.together) {
    const size_t some = PetscMin(lines.together, lines.lines - first);
    PetscBool    read = PETSC_FALSE;

    for (size_t k = 0; k < some; k++) {
      const size_t line = first + k;

      if ((bitmap[line / 8] >> line % 8 & 1) == 0) continue;
      if (read == PETSC_FALSE) ReadLines(&lines, first, some, T, R, x);
      read = PETSC_TRUE;
      /* An entry has the random number of its place in the matrix, whatever else is kept */
      if (codec == MUON_WIRE_VALUES_NATURAL) {
        if (kernels->Natural(lines.length, x + k * bytes, &stream, line * lines.first, lines.stride, (uint16_t *)work + at) != 0) c->status = MUON_STATUS_NANORINF;
      } else PetscCall(MuonCompressorValuesEncode_Private(c, codec, T->precision, (PetscInt64)lines.length, x + k * bytes, 0, payload + MuonWireValuesBytes(codec, at)));
      at += lines.length;
    }
  }
  if (codec == MUON_WIRE_VALUES_NATURAL) MuonWireNaturalEncode(at, (const uint16_t *)work, payload);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Lines(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const Lines           lines   = MuonCompressorGetLines_Private(c, Y);
  const size_t          all     = (size_t)count * lines.length;
  const MuonWireValues  codec   = MuonCompressorCodec_Private(c->values, Y);
  const MuonWireIndices indices = MuonWireChooseIndices(lines.lines, (uint64_t)count);
  const unsigned char  *values  = payload + MuonWireIndicesBytes(indices, lines.lines, (uint64_t)count);
  const MuonKernels    *kernels = MuonArrayKernels(Y);
  const size_t          chunk   = Y->memory == MUON_HOST ? CHUNK : PetscMax(all, 1);
  double                few[CHUNK];
  void                 *x = few;
  MuonWireIndexReader   reader;
  size_t                line = 0, left = 0; /* of the line */

  PetscFunctionBegin;
  if (add == PETSC_FALSE) PetscCall(MuonArrayZero(Y));
  MuonWireIndexReaderInit(&reader, indices, lines.lines, (uint64_t)count, payload);
  if (Y->memory != MUON_HOST) PetscCall(MuonWorkspaceGetIn(c->work, Y->memory, all * kernels->size, &x));
  for (size_t k = 0; k < all; k += chunk) {
    const size_t some = PetscMin(chunk, all - k);

    if (Y->memory != MUON_HOST) PetscCall(MuonCompressorFarDecode_Private(c, codec, Y->precision, some, values, k, x));
    else PetscCall(MuonCompressorValuesDecode_Private(codec, Y->precision, (PetscInt64)some, values, (PetscInt64)k, x));
    for (size_t i = 0, run; i < some; i += run) {
      const void *from = (const char *)x + i * kernels->size;

      if (left == 0) {
        line = (size_t)MuonWireIndexReaderNext(&reader);
        left = lines.length;
      }
      run = PetscMin(left, some - i);
      /* The entries of a line that crosses those of the array are lines of one entry */
      if (lines.across == PETSC_TRUE) kernels->Spread(1, Y->count, lines.length - left, run, from, add == PETSC_TRUE, scale, (char *)Y->data + line * kernels->size, Y->ld);
      else kernels->Spread(Y->len, Y->count, line * Y->len + lines.length - left, run, from, add == PETSC_TRUE, scale, Y->data, Y->ld);
      left -= run;
    }
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   No line that is left out is longer than a kept one in the p-norm, so that none has a square sum of more
   than c times that of a kept one, c = length^|1 - 2/p|: ||x||_2 <= a ||x||_p <= a b ||x||_2 with a = max(1,
   length^(1/2 - 1/p)), b = max(1, length^(1/p - 1/2)), and c is the square of a b. Of N lines the N - K have
   then at most (N - K) c / K of what the K have, which is at least K / (K + (N - K) c) of all
*/
static PetscErrorCode MuonCompressorAlpha_Lines(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const double p     = (double)((MuonCompressor_Lines *)c->data)->p;
  const Lines  lines = MuonCompressorGetLines_Private(c, shape);
  const double kept = (double)MuonCompressorKept_Private(c->ratio, (PetscInt64)lines.lines), ratio = pow((double)lines.length, fabs(1.0 - 2.0 / p));

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision) * kept / (kept + ((double)lines.lines - kept) * ratio));
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g of the %s, by their l%s norms, values: %s\n", (double)c->ratio, data->rows == PETSC_TRUE ? "rows" : "columns", p, MuonCompressorValuesTypes[c->values]));
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
  PetscCall(PetscSNPrintf(text, length, " ratio %g l%s %s", (double)c->ratio, p, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCreateLines_Private(MuonCompressor c, PetscBool rows)
{
  MuonCompressor_Lines *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  data->rows             = rows;
  data->p                = 2.0;
  c->data                = data;
  c->ondevice            = PETSC_TRUE;
  c->ops->setfromoptions = MuonCompressorSetFromOptions_Lines;
  c->ops->layout         = MuonCompressorLayout_Lines;
  c->ops->encode         = MuonCompressorEncode_Lines;
  c->ops->decode         = MuonCompressorDecode_Lines;
  c->ops->alpha          = MuonCompressorAlpha_Lines;
  c->ops->copy           = MuonCompressorCopy_Lines;
  c->ops->choices        = MuonCompressorChoices_Lines;
  c->ops->view           = MuonCompressorView_Lines;
  c->ops->describe       = MuonCompressorDescribe_Lines;
  c->ops->destroy        = MuonCompressorDestroyData;
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
  if (c->ops->layout != MuonCompressorLayout_Lines) PetscFunctionReturn(PETSC_SUCCESS);
  /* NaN is not at least 1 */
  MuonCompressorCheck(c, p >= 1.0, PETSC_ERR_ARG_OUTOFRANGE, "_line_norm", "%g, expected a number of at least 1, or inf", (double)p);
  ((MuonCompressor_Lines *)c->data)->p = PetscMin(p, PETSC_INFINITY);
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
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
  PetscCheck(c->ops->layout == MuonCompressorLayout_Lines, PetscObjectComm((PetscObject)c), PETSC_ERR_SUP, "MuonCompressor of type %s keeps no lines", ((PetscObject)c)->type_name != NULL ? ((PetscObject)c)->type_name : "(none)");
  *p = ((MuonCompressor_Lines *)c->data)->p;
  PetscFunctionReturn(PETSC_SUCCESS);
}
