#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonwire.h>

/*
   Detection of changed weights: checksums of all of them or of a sample, and whether they still are what the library wrote.
*/

PetscErrorCode MuonLayerHashWeights(MuonLayer layer, PetscInt sample, unsigned int *hash)
{
  MuonArray W;
  uint32_t  crc = (uint32_t)*hash;
  size_t    entries, bytes, part, rest, first, last, count;
  void     *copy;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  entries = MuonArrayEntries(&W);
  bytes   = MuonArrayEntryBytes(&W);
  part    = entries / MUON_LAYER_SAMPLES;
  rest    = entries % MUON_LAYER_SAMPLES;
  first   = sample < 0 ? 0 : part * (size_t)sample + PetscMin((size_t)sample, rest);
  last    = sample < 0 ? entries : first + part + ((size_t)sample < rest ? 1 : 0);
  if (W.memory != MUON_HOST && last > first) {
    PetscCall(MuonMemoryAllocate(MUON_HOST, (last - first) * bytes, &copy));
    MuonArrayKernels(&W)->Residual(W.len, W.count, W.data, W.ld, NULL, 0, first, last - first, copy);
    crc = MuonWireCRC32C(crc, (const unsigned char *)copy, (last - first) * bytes);
    PetscCall(MuonMemoryFree(MUON_HOST, copy));
  }
  for (size_t at = first; at < last && W.memory == MUON_HOST; at += count) {
    const size_t vector = at / W.len, within = at % W.len;

    count = W.ld == W.len ? last - at : PetscMin(W.len - within, last - at); /* gaps do not count */
    crc   = MuonWireCRC32C(crc, (const unsigned char *)W.data + (vector * W.ld + within) * bytes, count * bytes);
  }
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  *hash = (unsigned int)crc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Increases with each write to the weights through their object, or through the matrix of the rows here. The caller's memory has
   no such state
*/
static PetscErrorCode MuonLayerGetWrites_Private(MuonLayer layer, PetscObjectState *writes)
{
  PetscObjectState local = 0;
  Mat              here;

  PetscFunctionBegin;
  *writes = 0;
  if (layer->weights != NULL) PetscCall(PetscObjectStateGet(layer->weights, writes));
  if (layer->storage == MUON_LAYER_MAT && layer->ranks > 1) {
    PetscCall(MatDenseGetLocalMatrix((Mat)layer->weights, &here));
    PetscCall(PetscObjectStateGet((PetscObject)here, &local));
  }
  *writes += local;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerNoteWeights(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerGetWrites_Private(layer, &layer->note->writes));
  layer->note->sample    = (layer->note->sample + 1) % MUON_LAYER_SAMPLES;
  layer->note->hashofall = layer->note->hashofsample = 0;
  if (layer->storage != MUON_LAYER_ARRAY) PetscCall(MuonLayerHashWeights(layer, -1, &layer->note->hashofall));
  PetscCall(MuonLayerHashWeights(layer, layer->note->sample, &layer->note->hashofsample));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerWereWeightsEdited(MuonLayer layer, PetscBool *edited)
{
  PetscObjectState writes;
  unsigned int     hash = 0;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWrites_Private(layer, &writes));
  PetscCall(MuonLayerHashWeights(layer, writes != layer->note->writes ? -1 : layer->note->sample, &hash));
  *edited = hash != (writes != layer->note->writes ? layer->note->hashofall : layer->note->hashofsample) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
