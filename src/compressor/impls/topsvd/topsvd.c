#include "../../muoncompressorlowrank.h" /*I "petscmuoncompressor.h" I*/
#include <math.h>

typedef struct {
  PetscReal p;           /* exponent of the norm, PETSC_INFINITY for the spectral one */
  PetscReal contraction; /* of the last message in that norm, -1 where it is not known */
} MuonCompressor_TopSVD;

static PetscErrorCode MuonCompressorLayout_TopSVD(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorRankLayout_Private(c, MUON_WIRE_TRIPLES, shape, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   1 - (||tail||_p / ||X||_p)^2. The Frobenius norm of X tells that of the tail, which is a singular value
   where one is left out, and then the tail in every norm
*/
static PetscReal Contraction(PetscReal exponent, PetscInt found, const PetscReal sigma[], double norm, int scale, PetscInt asked, PetscInt all)
{
  const double p = (double)exponent, most = found > 0 ? ldexp((double)sigma[0], -scale) : 0.0;
  double       kept = 0, tail, powers = 0, fraction;

  /* Fewer than were asked for: the others are zero */
  if (found < asked || asked == all) return 1.0;
  for (PetscInt k = 0; k < found; k++) kept += PetscSqr(ldexp((double)sigma[k], -scale));
  tail = sqrt(PetscMax(norm * norm - kept, 0.0));
  if (exponent == 2.0) return (PetscReal)(kept / (kept + tail * tail));
  if (asked < all - 1) return -1.0;
  /* No singular value that is left out exceeds one that is kept */
  tail = PetscMin(tail, ldexp((double)sigma[found - 1], -scale)) / most;
  if (exponent >= PETSC_INFINITY) return (PetscReal)(1.0 - tail * tail);
  for (PetscInt k = 0; k < found; k++) powers += pow((double)(sigma[k] / sigma[0]), p);
  fraction = pow(tail, p);
  return (PetscReal)(1.0 - pow(fraction / (powers + fraction), 2.0 / p));
}

static PetscErrorCode MuonCompressorEncode_TopSVD(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  MuonCompressor_TopSVD *topsvd = (MuonCompressor_TopSVD *)c->data;
  void                  *values;
  PetscReal             *sigma;
  PetscInt               found;
  double                 norm;
  int                    scale;

  PetscFunctionBegin;
  topsvd->contraction = -1.0;
  PetscCall(MuonCompressorTriples_Private(c, T, R, &sigma, &values, &found, &norm, &scale));
  *count = found;
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonBlocksCount_Private(&c->blocks) == 1) topsvd->contraction = Contraction(topsvd->p, found, sigma, norm, scale, MuonCompressorRank_Private(c, T), (PetscInt)PetscMin(T->len, T->count));
  if (found == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < found; k++) {
    if (T->precision == MUON_SINGLE) ((float *)values)[k] = (float)sigma[k];
    else ((double *)values)[k] = (double)sigma[k];
  }
  PetscCall(MuonCompressorFactorsEncode_Private(c, MUON_WIRE_TRIPLES, T, count, values, payload));
  if (c->status != MUON_STATUS_OK) topsvd->contraction = -1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Without rounding the worst spectrum is the flat one: (tail_p / all_p)^2 = (1 - K/r)^(2/p).

   Natural values round U, sigma and V to binary32 and from there independently and without bias: in the
   Frobenius norm the square of the error grows by ((9/8)^3 - 1) of the square of what was rounded to nearest;
   nothing is proved in another.

   With rounding to nearest, of relative error u, the error of the product E has ||E||_F <= e ||kept||_F:
   three roundings of one factor each, two pairs of which sigma is one, and what has roundings of both U and V
   in it, which alone is not orthogonal to the tail. In another norm, ||E||_p <= ||E||_F and ||kept||_F <=
   K^(1/2 - 1/p) ||kept||_p for p > 2, ||E||_p <= rank(E)^(1/p - 1/2) ||E||_F and ||kept||_F <= ||kept||_p for
   p < 2, and the triangle inequality
*/
static PetscErrorCode MuonCompressorAlpha_TopSVD(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  MuonCompressor_TopSVD *topsvd = (MuonCompressor_TopSVD *)c->data;
  const double           all = (double)PetscMin(shape->len, shape->count), kept = (double)MuonCompressorRank_Private(c, shape), fraction = kept / all, inverse = topsvd->p >= PETSC_INFINITY ? 0.0 : 1.0 / (double)topsvd->p;
  double                 u, omega, mixed, e;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision, &u, &omega));
  mixed = u * u * (1.0 + u) * sqrt(kept);
  e     = 3.0 * u + 2.0 * u * u + mixed;
  if (topsvd->p == 2.0) *alpha = MuonCompressorFactorsAlpha_Private(fraction, ((1.0 + omega) * PetscSqr(1.0 + omega) - 1.0) * PetscSqr((1.0 + u) * PetscSqr(1.0 + u)), e, mixed);
  else if (omega == 0.0 && MuonBlocksCount_Private(&c->blocks) == 1) {
    /* Only squares of the Frobenius norm add up over blocks */
    const double left = fraction < 1.0 ? pow(1.0 - fraction, inverse) : 0.0, rounding = e * pow(inverse < 0.5 ? kept : PetscMin(2.0 * kept, all), PetscAbs(0.5 - inverse));

    *alpha = MuonCompressorRoundDown_Private(1.0 - PetscSqr(left + rounding));
    if (*alpha < 0.0) *alpha = -1.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorTopSVDSetSchatten - Sets the norm that the constants of `MUONCOMPRESSORTOPSVD` are told in

   Logically Collective

   Input Parameters:
+  c - the compressor; the call is ignored where its type is not `MUONCOMPRESSORTOPSVD`
-  p - the exponent in the norm of the singular values, at least 1: 1 for the nuclear norm, 2 for the Frobenius norm, `PETSC_INFINITY` for the spectral norm

   Options Database Key:
.  -compressor_topsvd_schatten p - the exponent, a number or `inf`

   Level: intermediate

   Note:
   It changes what `MuonCompressorGetAlpha()` and `MuonCompressorTopSVDGetContraction()` answer and nothing
   that is sent. The default is 2.

.seealso: `MuonCompressor`, `MUONCOMPRESSORTOPSVD`, `MuonCompressorTopSVDGetSchatten()`, `MuonCompressorTopSVDGetContraction()`, `MuonCompressorGetAlpha()`
@*/
PetscErrorCode MuonCompressorTopSVDSetSchatten(MuonCompressor c, PetscReal p)
{
  MuonCompressor_TopSVD *topsvd;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(c, p, 2);
  MuonIgnoreUnlessType(c, MUONCOMPRESSORTOPSVD);
  /* NaN is not at least 1; PETSC_INFINITY is a finite number */
  MuonCompressorCheck(c, p >= 1.0, PETSC_ERR_ARG_OUTOFRANGE, "_topsvd_schatten", "%g, expected a number of at least 1, or inf", (double)p);
  topsvd = (MuonCompressor_TopSVD *)c->data;
  if (p != topsvd->p) topsvd->contraction = -1.0;
  topsvd->p    = PetscMin(p, PETSC_INFINITY);
  c->othernorm = topsvd->p != (PetscReal)2.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscObjectStateIncrease((PetscObject)c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorTopSVDGetSchatten - Gets the norm that the constants of `MUONCOMPRESSORTOPSVD` are told in

   Not Collective

   Input Parameter:
.  c - the compressor, of type `MUONCOMPRESSORTOPSVD`

   Output Parameter:
.  p - the exponent in the norm of the singular values, `PETSC_INFINITY` for the spectral norm

   Level: intermediate

.seealso: `MuonCompressor`, `MUONCOMPRESSORTOPSVD`, `MuonCompressorTopSVDSetSchatten()`
@*/
PetscErrorCode MuonCompressorTopSVDGetSchatten(MuonCompressor c, PetscReal *p)
{
  PetscFunctionBegin;
  MuonGetOfType(c, MUONCOMPRESSOR_CLASSID, MUONCOMPRESSORTOPSVD, p, ((MuonCompressor_TopSVD *)c->data)->p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorTopSVDGetContraction - Gets how much of its matrix the last message of `MUONCOMPRESSORTOPSVD`
   held

   Not Collective

   Input Parameter:
.  c - the compressor, of type `MUONCOMPRESSORTOPSVD`

   Output Parameter:
.  alpha - 1 - (||C(X) - X|| / ||X||)^2 in the norm of `MuonCompressorTopSVDSetSchatten()`, before the values were rounded; 1 for a zero matrix; -1 where it is not known or nothing was encoded

   Level: advanced

   Note:
   It is known in the Frobenius norm, where the norm of the matrix tells that of the singular values which
   were not computed. In the other norms it is known where no more than one was not computed. Of blocks
   (`MuonCompressorSetBlocks()`) none is known.

.seealso: `MuonCompressor`, `MUONCOMPRESSORTOPSVD`, `MuonCompressorTopSVDSetSchatten()`, `MuonCompressorGetAlpha()`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorTopSVDGetContraction(MuonCompressor c, PetscReal *alpha)
{
  PetscFunctionBegin;
  MuonGetOfType(c, MUONCOMPRESSOR_CLASSID, MUONCOMPRESSORTOPSVD, alpha, ((MuonCompressor_TopSVD *)c->data)->contraction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSetFromOptions_TopSVD(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  MuonCompressor_TopSVD *topsvd = (MuonCompressor_TopSVD *)c->data;
  PetscReal              p      = topsvd->p;
  char                   now[32], text[64];
  PetscBool              set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Truncated singular value decomposition options");
  PetscCall(MuonExponentWrite_Private(p, sizeof(now), now));
  PetscCall(PetscOptionsString("-compressor_topsvd_schatten", "Exponent in the norm of the singular values", "MuonCompressorTopSVDSetSchatten", now, text, sizeof(text), &set));
  if (set == PETSC_TRUE) {
    PetscCall(MuonExponentRead_Private(text, &p));
    PetscCall(MuonCompressorTopSVDSetSchatten(c, p));
  }
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCopy_TopSVD(MuonCompressor from, MuonCompressor to)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorTopSVDSetSchatten(to, ((MuonCompressor_TopSVD *)from->data)->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChoices_TopSVD(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " topsvd_schatten %.17g", (double)((MuonCompressor_TopSVD *)c->data)->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_TopSVD(MuonCompressor c, PetscViewer viewer)
{
  MuonCompressor_TopSVD *topsvd = (MuonCompressor_TopSVD *)c->data;
  char                   text[32];

  PetscFunctionBegin;
  PetscCall(MuonCompressorView_Factors(c, viewer));
  PetscCall(MuonExponentWrite_Private(topsvd->p, sizeof(text), text));
  PetscCall(PetscViewerASCIIPrintf(viewer, "constants in the norm of exponent %s of the singular values\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorReset_TopSVD(MuonCompressor c)
{
  PetscFunctionBegin;
  ((MuonCompressor_TopSVD *)c->data)->contraction = -1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORTOPSVD - Keeps the leading singular triples and sends them as triples

   Options Database Keys:
+  -compressor_rank k                                     - how many triples are kept, min(m, n) where there are no more
.  -compressor_ratio r                                    - where no rank is set: keeps max(1, floor(r min(m, n))) of them
.  -compressor_values (native|double|single|bf16|natural) - how singular values and vectors are written
.  -compressor_topsvd_schatten p                          - the norm that `MuonCompressorGetAlpha()` answers in: 1 nuclear, 2 Frobenius (the default), inf spectral
-  -compressor_svd_type, -compressor_svd_...              - the solver, see `SVDSetFromOptions()`

   Level: intermediate

   Notes:
   The triples are those of `MUONCOMPRESSORRANKK`. There the two factors share each singular value, here it
   stands by itself beside unit vectors, so that a receiver has the spectrum and three things are rounded, not
   two. The message has fewer triples than asked for where the matrix has no more, none for a zero matrix, and
   leaves out those whose singular value is below the range of how values are written.

   With K of r = min(m, n) triples kept and no rounding the constant of contraction in the Schatten norm of
   exponent p is that of a flat spectrum, 1 - (1 - K/r)^(2/p): 1 - (1 - K/r)^2 in the nuclear norm, K/r in the
   Frobenius norm and 0 in the spectral one, where nothing is left out but 1. Values that are rounded to
   nearest make it a little smaller, by a bound of the rounding, so that in the spectral norm none is known;
   none is known for blocks either but in the Frobenius norm. Natural values, which round U, sigma and V
   independently, make it 295/512 K/r in the Frobenius norm; none is known for them in any other. All hold up
   to the rounding of the decomposition. `MuonCompressorTopSVDGetContraction()` tells what became of the last
   matrix.

   By the formula of the paper a message costs 32 K (1 + m + n) bits, 16 for each value in natural compression
   or bf16.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRank()`, `MuonCompressorSetRatio()`, `MuonCompressorTopSVDSetSchatten()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORPOWERSGD`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_TopSVD(MuonCompressor c)
{
  MuonCompressor_TopSVD *topsvd;

  PetscFunctionBegin;
  PetscCall(PetscNew(&topsvd));
  c->data             = topsvd;
  topsvd->p           = 2.0;
  topsvd->contraction = -1.0;
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)c), &c->svd));
  c->ops->setfromoptions = MuonCompressorSetFromOptions_TopSVD;
  c->factors             = PETSC_TRUE;
  c->ops->layout         = MuonCompressorLayout_TopSVD;
  c->ops->encode         = MuonCompressorEncode_TopSVD;
  c->ops->decode         = MuonCompressorDecode_Factors;
  c->ops->validate       = MuonCompressorValidate_Factors;
  c->ops->alpha          = MuonCompressorAlpha_TopSVD;
  c->ops->copy           = MuonCompressorCopy_TopSVD;
  c->ops->choices        = MuonCompressorChoices_TopSVD;
  c->ops->describe       = MuonCompressorDescribe_Factors;
  c->ops->view           = MuonCompressorView_TopSVD;
  c->ops->reset          = MuonCompressorReset_TopSVD;
  c->ops->destroy        = MuonCompressorDestroyData;
  PetscFunctionReturn(PETSC_SUCCESS);
}
