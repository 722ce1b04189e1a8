static char help[] = "EF21-Muon gives the same bits whoever serves which layer: over all exchanges and assignments of owners.\n";

#include "parameter_common.h"
#include "ef21_common.h"

#define STEPS 8
#define WAYS  4

static const TestCompression Compressions[] = {{MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_NATURAL, (PetscReal)0.2},
                                               {MUONCOMPRESSORRANKK, MUONCOMPRESSORRANKK, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.5},
                                               {MUONCOMPRESSORNATURAL, MUONCOMPRESSORNATURAL, MUON_COMPRESSOR_VALUES_SINGLE, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.5},
                                               {MUONCOMPRESSORTOPK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_BF16, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.2},
                                               {MUONCOMPRESSORQSGD, MUONCOMPRESSORSIGN, MUON_COMPRESSOR_VALUES_SINGLE, MUON_COMPRESSOR_VALUES_NATURAL, (PetscReal)0.5},
                                               {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.2},
                                               {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.5}};

typedef struct {
  MuonExchangeType       type;
  MuonExchangeAssignment assignment;
} Way;

static const Way Ways[WAYS] = {
  {MUONEXCHANGESTAR, MUON_EXCHANGE_ASSIGNMENT_LPT}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_LPT}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_ASSIGNMENT_LPT}};

/*
   Adds what rank 0 has of the layer's state, or the first rank that has it: W, M and G_j of every rank, X and
   G of the servers
*/
static PetscErrorCode Collect(TestProblem *p, PetscReal data[], PetscInt *length)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)p->muon);

  PetscFunctionBegin;
  *length = 0;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d    = TestEntries(&p->shape[l]);
    Mat            A[4] = {NULL, NULL, NULL, NULL};

    PetscCall(TestGetWeights(p, l, data + *length));
    *length += d;
    PetscCall(TestGetEF21State(p->muon, p->layer[l], &A[0], &A[1], &A[2]));
    PetscCall(TestGetLayerServerWeights(p->layer[l], &A[3]));
    for (PetscInt k = 0; k < 4; k++) {
      int mine = A[k] != NULL ? p->rank : p->size, first;

      PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
      if (first == p->size) continue; /* nobody stores it */
      if (A[k] != NULL) PetscCall(TestMatGetRows(A[k], data + *length));
      if (k >= 2) PetscCallMPI(MPI_Bcast(data + *length, (PetscMPIInt)d, MPIU_REAL, first, comm));
      *length += d;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t c = 0; c < sizeof(Compressions) / sizeof(Compressions[0]); c++) {
    for (PetscInt init = 0; init < 2; init++) {
      PetscReal  *first = NULL, *state;
      PetscMPIInt owner[WAYS][TEST_LAYERS], size = 1;
      PetscInt    length = 0;
      PetscBool   differ = PETSC_FALSE;

      for (PetscInt w = 0; w < WAYS; w++) {
        TestProblem  p;
        MuonExchange exchange;
        PetscInt     count;

        PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, &p));
        p.noise = 2;
        PetscCall(TestCompress(&p, &Compressions[c]));
        PetscCall(TestSetOfMuonType(p.muon, MUONEF21, "ef21_init", MuonEF21Inits[(MuonEF21Init)init]));
        PetscCall(MuonGetExchange(p.muon, &exchange));
        PetscCall(MuonExchangeSetType(exchange, Ways[w].type));
        PetscCall(MuonExchangeSetMode(exchange, MUON_EXCHANGE_MODE_GATHER));
        PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", MuonExchangeAssignments[Ways[w].assignment]));
        for (PetscInt s = 0; s < STEPS; s++) {
          PetscCall(MuonStep(p.muon));
          PetscCall(TestCheckReplicas(&p, Ways[w].type, s));
        }
        for (PetscInt l = 0; l < p.n; l++) {
          PetscCall(MuonLayerGetOwner(p.layer[l], &owner[w][l]));
          if (owner[w][l] != owner[0][l]) differ = PETSC_TRUE;
        }
        PetscCall(PetscCalloc1(5 * TestTotal(&p), &state));
        PetscCall(Collect(&p, state, &count));
        if (w == 0) {
          first  = state;
          length = count;
        } else {
          PetscCheck(count == length, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s stores %" PetscInt_FMT " entries, %s %" PetscInt_FMT, Ways[w].type, count, Ways[0].type, length);
          PetscCheck(memcmp(state, first, (size_t)length * sizeof(*state)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s up, %s down, init %s: %s, owners by %s, does not have the bits of %s", Compressions[c].up, Compressions[c].down,
                     MuonEF21Inits[init], Ways[w].type, MuonExchangeAssignments[Ways[w].assignment], Ways[0].type);
          PetscCall(PetscFree(state));
        }
        size = p.size;
        PetscCall(TestDestroy(&p));
      }
      /* Else nothing was tried */
      PetscCheck(size == 1 || differ == PETSC_TRUE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "All exchanges have the same owners");
      PetscCall(PetscFree(first));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
