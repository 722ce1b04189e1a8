#include "muonlmopoint.h"
#include <petscmuon/private/muoncompressorimpl.h>
#include "../kernels/muonkernels.h"

/* A compressor that only exists together with an oracle lives one floor above the others */
typedef struct {
  MuonLMO lmo;
} MuonCompressor_Sharp;

static PetscErrorCode MuonCompressorGetLMO_Sharp_Private(MuonCompressor c, MuonLMO *lmo)
{
  PetscFunctionBegin;
  *lmo = ((MuonCompressor_Sharp *)c->data)->lmo;
  MuonCompressorCheck(c, *lmo != NULL, PETSC_ERR_ORDER, "", "%s without an oracle, expected a call of MuonCompressorSharpSetLMO()", MUONCOMPRESSORSHARP);
  PetscCall(MuonLMOCheckForm_Private(*lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorLayout_Sharp(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLMO_Sharp_Private(c, &lmo));
  layout->form   = lmo->form;
  layout->values = (int)MuonLMOCodec_Private();
  layout->count  = MuonLMOMost_Private(lmo, m, n);
  layout->exact  = PETSC_FALSE;
  /* The step names one entry of its layer, which the paper's price of an index of Top-K is not meant for */
  layout->ownindex = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Sharp(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  MuonLMO      lmo;
  PetscScalar *X;
  Mat          G;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLMO_Sharp_Private(c, &lmo));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * (size_t)n * sizeof(PetscScalar), &X));
  MuonKernelAxpby((size_t)m, (size_t)n, 1, T, (size_t)ldt, 0, X, (size_t)m);
  if (R != NULL) {
    MuonKernelAxpby((size_t)m, (size_t)n, -1, R, (size_t)ldr, 1, X, (size_t)m);
    PetscCall(PetscLogFlops((PetscLogDouble)m * (PetscLogDouble)n));
  }
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &G));
  PetscCall(MuonLMOPayload_Private(lmo, G, count, payload));
  PetscCall(MatDestroy(&G));
  c->status = lmo->status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Sharp(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  MuonLMO      lmo;
  MuonLMOPoint point;
  PetscScalar *d;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLMO_Sharp_Private(c, &lmo));
  PetscCall(MuonLMOPointOpen_Private(lmo, m, n, count, payload, &point));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * sizeof(PetscScalar), &d));
  for (PetscInt j = 0; j < n; j++) {
    PetscScalar *y = Y + (size_t)j * (size_t)ldy;

    /* D points the other way */
    PetscCall(MuonLMOPointColumn_Private(&point, j, d));
    if (count > 0) MuonKernelAxpby((size_t)m, 1, -point.magnitude, d, (size_t)m, 0, d, (size_t)m);
    MuonKernelAxpby((size_t)m, 1, add == PETSC_TRUE ? scale : 1, d, (size_t)m, add == PETSC_TRUE ? 1 : 0, y, (size_t)m);
  }
  PetscCall(PetscLogFlops((add == PETSC_TRUE ? 3.0 : 1.0) * (PetscLogDouble)m * (PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorValidate_Sharp(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLMO_Sharp_Private(c, &lmo));
  PetscCall(MuonLMOPayloadCheck_Private(lmo, m, n, count, payload, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept is the largest of that many parts; a sum of many that all have the length of the dual norm need not be close to what it stands for */
static PetscErrorCode MuonCompressorAlpha_Sharp(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLMO_Sharp_Private(c, &lmo));
  if (m == 0 || n == 0) *alpha = 1;
  else if (lmo->form == MUON_WIRE_TRIPLES) *alpha = 1 / (PetscReal)PetscMin(m, n);
  else if (lmo->form == MUON_WIRE_SPARSE) *alpha = 1 / ((PetscReal)m * (PetscReal)n);
  else if (lmo->form == MUON_WIRE_COLUMNS) *alpha = 1 / (PetscReal)n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Sharp(MuonCompressor c, PetscViewer viewer)
{
  MuonLMO     lmo  = ((MuonCompressor_Sharp *)c->data)->lmo;
  MuonLMOType norm = NULL;

  PetscFunctionBegin;
  if (lmo != NULL) PetscCall(MuonLMOGetType(lmo, &norm));
  PetscCall(PetscViewerASCIIPrintf(viewer, "the step inside the unit ball of the norm %s, without loss: ratio, rank and values have no meaning for this type\n", norm != NULL ? norm : "of the layer"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDestroy_Sharp(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonLMODestroy(&((MuonCompressor_Sharp *)c->data)->lmo));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSharpSetLMO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSharpGetLMO_C", NULL));
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonCompressorSharpSetLMO - Sets the oracle whose sharp operator a compressor applies

  Not Collective; No Fortran Support

  Input Parameters:
+ c   - the compressor; the call is ignored where its type is not `MUONCOMPRESSORSHARP`
- lmo - the oracle, which the compressor keeps a reference to

  Level: advanced

.seealso: `MuonCompressor`, `MUONCOMPRESSORSHARP`, `MuonCompressorSharpGetLMO()`, `MuonLMOCanEncode()`
@*/
PetscErrorCode MuonCompressorSharpSetLMO(MuonCompressor c, MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 2);
  PetscTryMethod(c, "MuonCompressorSharpSetLMO_C", (MuonCompressor, MuonLMO), (c, lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSharpSetLMO_Sharp(MuonCompressor c, MuonLMO lmo)
{
  MuonCompressor_Sharp *sharp = (MuonCompressor_Sharp *)c->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)lmo));
  PetscCall(MuonLMODestroy(&sharp->lmo));
  sharp->lmo = lmo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonCompressorSharpGetLMO - Gets the oracle whose sharp operator a compressor applies

  Not Collective; No Fortran Support

  Input Parameter:
. c - the compressor, of type `MUONCOMPRESSORSHARP`

  Output Parameter:
. lmo - the oracle, borrowed, `NULL` where none was set

  Level: advanced

.seealso: `MuonCompressor`, `MUONCOMPRESSORSHARP`, `MuonCompressorSharpSetLMO()`
@*/
PetscErrorCode MuonCompressorSharpGetLMO(MuonCompressor c, MuonLMO *lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(lmo, 2);
  PetscUseMethod(c, "MuonCompressorSharpGetLMO_C", (MuonCompressor, MuonLMO *), (c, lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSharpGetLMO_Sharp(MuonCompressor c, MuonLMO *lmo)
{
  PetscFunctionBegin;
  *lmo = ((MuonCompressor_Sharp *)c->data)->lmo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORSHARP - The sharp operator of a norm: the step inside its unit ball, times the dual norm, in the natural format of the step

   Level: intermediate

   Notes:
   $C(X) = X^\sharp = \mathrm{argmax}_Z\, \langle X, Z \rangle - \|Z\|^2 / 2$ for the norm of an oracle whose steps have such a format (`MuonLMOCanEncode()`): the leading singular triple for the nuclear norm, the largest
   entry for l1, the longest column for l21, the largest entry of each row or column, all with the dual norm for a length, for rowsum and colsum. `MuonCompressorSharpSetLMO()` sets the oracle; the messages are those of
   `MuonLMOEncode()` for a layer of that name.

   As `-ef21_server_compressor sharp` it loses nothing: `MUONEF21` then has the servers send the steps themselves, so that no difference of weights needs to be compressed. It is refused as `-ef21_compressor`, because
   what workers send are no steps. Of a layer with blocks (`MuonLayerSetBlocks()`) the step of each is sent.

   The constant of contraction is 1/min(m, n) for nuclear, 1/(m n) for l1 and 1/n for l21; none is known for the others. By the formula of the paper, with an index in bits and a number in 32, a message costs
   32 (1 + m + n), ceil(log2 mn) + 32, ceil(log2 n) + 32 (1 + m), m (1 + ceil(log2 n)) + 32 for rowsum and n (1 + ceil(log2 m)) + 32 for colsum.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_paper_index_bits` have no meaning for this type; numbers are in the precision of `PetscScalar`.

   It is made of oracles and registered with them, when the first `Muon` or `MuonLMO` is made: a program that uses compressors alone calls `PetscMuonInitialize()` or `MuonLMOInitializePackage()` first.

   From appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSharpSetLMO()`, `MuonLMOSharp()`, `MuonLMOEncode()`, `MUONEF21`, `MUONCOMPRESSORIDENTITY`
M*/
PetscErrorCode MuonCompressorCreate_Sharp(MuonCompressor c)
{
  MuonCompressor_Sharp *sharp;

  PetscFunctionBegin;
  PetscCall(PetscNew(&sharp));
  c->data          = sharp;
  c->ops->layout   = MuonCompressorLayout_Sharp;
  c->ops->encode   = MuonCompressorEncode_Sharp;
  c->ops->decode   = MuonCompressorDecode_Sharp;
  c->ops->validate = MuonCompressorValidate_Sharp;
  c->ops->alpha    = MuonCompressorAlpha_Sharp;
  c->ops->view     = MuonCompressorView_Sharp;
  c->ops->destroy  = MuonCompressorDestroy_Sharp;
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSharpSetLMO_C", MuonCompressorSharpSetLMO_Sharp));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorSharpGetLMO_C", MuonCompressorSharpGetLMO_Sharp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
