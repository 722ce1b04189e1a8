#include "signvotes.h"

/*
   Votes, and steps along the majority, of whole blocks whose rows are on the ranks of a worker.
*/

/* Votes: rows of T go in, and rows of U come out and become signs. For lengths of steps, rows of the majority go in and nothing comes out */
static PetscErrorCode MuonVoteInput_Private(void *ctx, PetscInt i, MuonArray *G)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->server->item[i];

  PetscFunctionBegin;
  if (serving->length != NULL) PetscCall(MuonVotesExpand_Private(serving->muon, item->shard, item->number, G));
  else *G = MuonItemPart(item, &item->shard->round->T);
  if (*serving->status == MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (serving->length == NULL) PetscCall(MuonWorkspaceGetArray(serving->muon->work, G, G->precision, G)); /* the momentum may be the caller's memory */
  PetscCall(MuonArrayZero(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVoteApply_Private(void *ctx, PetscInt i, const MuonMatrix *G, const MuonMatrix *D)
{
  MuonServing         *serving = (MuonServing *)ctx;
  const MuonItem      *item    = &serving->group->server->item[i];
  const MuonVotesRule *rule    = &MuonVotesOf(serving->group)->rule;
  const MuonMatrix     from = MuonItemMatrix(item, G), to = MuonItemMatrix(item, D);
  MuonStatus           applied = MUON_STATUS_OK;
  double               length  = 1;

  PetscFunctionBegin;
  if (serving->length == NULL) {
    PetscCall((*rule->direction)(serving->muon, 1, &item->shard, &from, &to, &applied));
    MuonStatusMerge(applied, serving->status);
    MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  } else {
    if (rule->length != NULL) PetscCall((*rule->length)(serving->muon, item->shard, &item->block, &from, &length, serving->status));
    if (item->kind == MUON_ASSEMBLY_OWNER || serving->group->grid->position == 0) serving->length[i] = length;
  }
  if (applied != MUON_STATUS_OK || serving->length != NULL) PetscCall(MuonArrayZero(&D->here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVoteOutput_Private(void *ctx, PetscInt i, const MuonArray *D)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->server->item[i];

  PetscFunctionBegin;
  if (*serving->status == MUON_STATUS_OK && serving->length == NULL) PetscCall(MuonVotesFill_Private(serving->muon, item->shard, item->number, D, serving->status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVoteAssembled_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonServing              serving = {muon, group, NULL, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient client  = {MuonVoteInput_Private, MuonVoteApply_Private, MuonVoteOutput_Private, &serving};
  PetscLogDouble           bytes, own;

  PetscFunctionBegin;
  PetscCall(MuonAssemblyRun(group->server->assembly, &client));
  if (MuonVotesOf(group)->rule.whole == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonAssemblyGetSentBytes(group->server->assembly, &bytes, &own)); /* which knows the last run only */
  muon->bytes[0] += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step, or the length, of whole blocks of the majority */
PetscErrorCode MuonMajorityAssembled_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscBool          steps = group->shard[0].Xnew.data != NULL ? PETSC_TRUE : PETSC_FALSE;
  MuonRecord               unused;
  MuonServing              serving = {muon, group, &unused, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient lengths = {MuonVoteInput_Private, MuonVoteApply_Private, MuonVoteOutput_Private, &serving};
  const MuonAssemblyClient moves   = {MuonVoteInput_Private, MuonServeLMO_Private, MuonServeOutput_Private, &serving};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&unused, sizeof(unused)));
  PetscCall(PetscCalloc1(group->server->nitems + 1, &serving.length));
  PetscCall(MuonAssemblyRun(group->server->assembly, steps ? &moves : &lengths));
  if (steps == PETSC_FALSE) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, serving.length, (PetscMPIInt)group->server->nitems, MPI_DOUBLE, MPI_SUM, group->grid->inside));
    muon->bytes[0] += (PetscLogDouble)group->server->nitems * sizeof(*serving.length);
    for (PetscInt i = 0; i < group->server->nitems; i++) {
      MuonVotesBlock *one = MuonVotesFind(group->server->item[i].shard, group->server->item[i].number);

      if (one != NULL) one->length = serving.length[i];
    }
  }
  PetscCall(PetscFree(serving.length));
  PetscFunctionReturn(PETSC_SUCCESS);
}
