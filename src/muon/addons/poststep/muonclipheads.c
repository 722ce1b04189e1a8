#include "../../interface/muoninterface.h" /*I "petscmuon.h" I*/

/* The reason why the rows of a layer cannot be scaled, and what was expected; empty if they can */
static PetscErrorCode MuonHeadsCheck_Private(MuonLayer layer, Muon muon, PetscInt heads, PetscInt dim, size_t length, char text[])
{
  const char *const name = ((PetscObject)layer)->name, *const held = MuonLayerHasSlot(layer, MUON_SLOT_MOVE);

  PetscFunctionBegin;
  if (text[0] != '\0') PetscFunctionReturn(PETSC_SUCCESS); /* of another one */
  if (layer->frozen) PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": it is frozen, expected a layer that steps move", name));
  else if (MuonShardOf(layer) == NULL || MuonShardOf(layer)->muon != muon) PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": expected layers of one optimizer that is set up", name));
  else if (MuonLayerIsEntries(layer)) PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": it is a slice of a vector on %d ranks, which have entries of it and not rows, expected a layer of rows", name, layer->ranks));
  else if (held != NULL) PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": -%smuon_layer_%s_%s: the weights keep their norm, which a clip would change, expected none", name, MuonPrefix(muon), name, held));
  else if (muon->nested != NULL) PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": with -%smuon_type %s weights are a worker's own, expected another type", name, MuonPrefix(muon), ((PetscObject)muon)->type_name));
  else if (dim == 0 || layer->m != heads * dim)
    PetscCall(PetscSNPrintf(text, length, "Layer \"%s\": it has %" PetscInt_FMT " rows, expected those of %" PetscInt_FMT " heads, each of as many rows as the others, in the other layer too", name, layer->m, heads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies those rows of a layer that are in an array, whose first one is first */
static void MuonHeadsScale_Private(const MuonArray *A, PetscInt first, PetscInt row, PetscInt rows, double by)
{
  const PetscInt begin = PetscMax(row - first, 0), end = PetscMin(row + rows - first, (PetscInt)MuonArrayRows(A));

  if (begin < end) {
    const MuonArray part = MuonArrayPart(A, (size_t)begin, 0, (size_t)(end - begin), MuonArrayColumns(A));

    MuonArrayAxpby(by, &part, 0, &part);
  }
}

/* The rows of heads, from row on, each as many as the others, by the factors of the groups that they are in */
static PetscErrorCode MuonHeadsClip_Private(MuonLayer layer, PetscInt row, PetscInt dim, PetscInt heads, PetscInt groups, const double gamma[], PetscReal power)
{
  const MuonShard *shard = MuonShardOf(layer);
  MuonArray        W, X;

  PetscFunctionBegin;
  if (power == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetAllWeights_Private(layer, &W, &X));
  for (PetscInt h = 0; h < heads; h++) {
    const double by = pow(gamma[h / (heads / groups)], (double)power);

    if (by == 1) continue;
    MuonHeadsScale_Private(&W, layer->first, row + h * dim, dim, by);
    if (X.data != NULL) MuonHeadsScale_Private(&X, shard->row, row + h * dim, dim, by);
  }
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_TRUE, &W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerClipHeads - Scales the queries and keys of attention heads with too large logits (QK-clip)

  Collective on the optimizer

  Input Parameters:
+ q        - the layer of the queries; its rows are ordered by heads
. k        - the layer of the keys, or `q` if one layer has all queries, then all keys, then as many values
. heads    - number of query heads
. keyheads - number of key heads; consecutive query heads share one, and `heads` gives each its own
. logit    - the largest logit of each query head on this rank since the last step, with attention's scaling; any finite number, such as 0, if there was none
. tau      - upper bound for the logits, above 0
- power    - share of the queries in the scaling, in [0,1]; 1/2 is usual

  Output Parameters:
+ clipped  - number of query heads that were scaled; may be `NULL`
- smallest - the smallest factor gamma, 1 if no head was scaled; may be `NULL`

  Level: advanced

  Notes:
  Call it in a routine of `MuonSetPostStep()`. S is the largest logit over all ranks and over the query heads that share a key head. With gamma =
  min(1, tau / max(S, tau)), the rows of these query heads are multiplied by gamma^power, and those of the key head by gamma^(1-power). The weights
  for which S was measured then have logits of at most tau.

  All ranks scale their weights, and servers their own copies, by the same numbers, so that no message is needed. Momentum and all other state do not
  change. Rows may be distributed over ranks. Biases of queries and keys are two more layers, with the same logits.

  It is an error on all ranks, and nothing is scaled, if a logit is not finite, or if the heads are not all rows of their layers. The same holds for a
  layer that is frozen, is a range of a parallel vector, has `-muon_layer_hyperball`, or belongs to a `MUONLOCAL`.

  References:
. * - Kimi Team, Kimi K2\: open agentic intelligence, arXiv\:2507.20534, 2025

.seealso: `MuonLayer`, `MuonSetPostStep()`, `MuonWeightsChanged()`
@*/
PetscErrorCode MuonLayerClipHeads(MuonLayer q, MuonLayer k, PetscInt heads, PetscInt keyheads, const PetscReal logit[], PetscReal tau, PetscReal power, PetscInt *clipped, PetscReal *smallest)
{
  const PetscBool  sound = heads > 0 && keyheads > 0 && heads % keyheads == 0 ? PETSC_TRUE : PETSC_FALSE, fused = q == k ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt   ways = fused ? heads + 2 * keyheads : heads, dim = sound ? q->m / ways : 0;
  const MuonShard *shard     = MuonShardOf(MuonShardOf(q) != NULL ? q : k);
  const double     choices[] = {(double)q->hash, (double)k->hash, (double)heads, (double)keyheads, (double)tau, (double)power};
  Muon             muon;
  MPI_Comm         comm;
  PetscInt         bad = 0, count = 0;
  PetscBool        same;
  double          *largest, least = 1;
  char             text[512] = "";

  PetscFunctionBegin;
  PetscValidHeaderSpecific(q, MUONLAYER_CLASSID, 1);
  PetscValidHeaderSpecific(k, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(logit, 5);
  PetscCheck(shard != NULL, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Layers \"%s\" and \"%s\": expected layers that steps move, of an optimizer that is set up", ((PetscObject)q)->name, ((PetscObject)k)->name);
  muon = shard->muon;
  comm = PetscObjectComm((PetscObject)muon);
  if (!sound) PetscCall(PetscSNPrintf(text, sizeof(text), "Layer \"%s\": %" PetscInt_FMT " query heads and %" PetscInt_FMT " key heads, expected as many query heads for each key head", ((PetscObject)q)->name, heads, keyheads));
  else if (!(tau > 0 && tau < PETSC_INFINITY && power >= 0 && power <= 1))
    PetscCall(PetscSNPrintf(text, sizeof(text), "Layer \"%s\": logits of at most %g and a power of %g, expected a number above 0, and one in [0,1]", ((PetscObject)q)->name, (double)tau, (double)power));
  PetscCall(MuonHeadsCheck_Private(q, muon, ways, dim, sizeof(text), text));
  PetscCall(MuonHeadsCheck_Private(k, muon, fused ? ways : keyheads, dim, sizeof(text), text));
  for (PetscInt h = 0; h < heads && text[0] == '\0' && bad == 0; h++) bad = PetscIsInfOrNanReal(logit[h]) ? h + 1 : 0;
  PetscCall(MuonMeet_Private(muon, MUON_CALL_CLIP, (unsigned int)MuonWireCRC32C(0, (const unsigned char *)choices, sizeof(choices)), &same, &bad));
  PetscCheck(same, comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": the arguments of MuonLayerClipHeads() differ between the ranks, expected the same but for logits", ((PetscObject)q)->name);
  PetscCheck(text[0] == '\0', comm, PETSC_ERR_ARG_WRONG, "%s", text);
  PetscCheck(bad == 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": the largest logit of head %" PetscInt_FMT " is NaN or Inf on some rank, expected finite numbers", ((PetscObject)q)->name, bad - 1);
  PetscCall(PetscCalloc1(keyheads, &largest));
  for (PetscInt h = 0; h < heads; h++) largest[h * keyheads / heads] = PetscMax(largest[h * keyheads / heads], (double)logit[h]); /* below tau nothing counts */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, (PetscMPIInt)keyheads, MPI_DOUBLE, MPI_MAX, comm));
  for (PetscInt g = 0; g < keyheads; g++) {
    if (largest[g] > (double)tau) count += heads / keyheads;
    largest[g] = (double)tau / PetscMax(largest[g], (double)tau);
    least      = PetscMin(least, largest[g]);
  }
  if (count > 0) {
    PetscCall(MuonHeadsClip_Private(q, 0, dim, heads, keyheads, largest, power));
    PetscCall(MuonHeadsClip_Private(k, fused ? heads * dim : 0, dim, keyheads, keyheads, largest, 1 - power));
  }
  PetscCall(PetscFree(largest));
  if (clipped != NULL) *clipped = count;
  if (smallest != NULL) *smallest = (PetscReal)least;
  PetscFunctionReturn(PETSC_SUCCESS);
}
