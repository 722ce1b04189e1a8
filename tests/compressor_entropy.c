static char help[] = "Writes messages of every form in every codec of values, with the entropy that they have, for tests/oracle/entropy.py to find the same.\n\n";

#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon/private/muoncompressorcodec.h>
#include <petscmuoncompat.h>
#include "wire_corpus.h"

#define TestCheck(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

/* A message of that form: what it says is drawn */
static PetscErrorCode WriteCase(const char dir[], FILE *cases, PetscInt number, unsigned form, MuonWireValues values, uint64_t rows, uint64_t columns, uint64_t count, uint64_t *state)
{
  const unsigned       parameter = form == MUON_WIRE_BLOCKS ? MuonWireBlocksParameter(3, 5) : 0;
  char                 path[PETSC_MAX_PATH_LEN];
  Content              content;
  unsigned char       *message;
  PetscLogDouble       bits;
  MuonCompressorLayout layout;
  FILE                *file;
  size_t               bytes;

  PetscFunctionBegin;
  ContentRandom(&content, 7, rows, columns, form | parameter << 8, MuonWireKindIndices((MuonWireKind)form, rows, columns, count), values, count, state);
  message = (unsigned char *)Allocate(ContentRoom(&content));
  bytes   = (size_t)ContentEncode(&content, message) + MuonWireMessageHeaderBytes(&content.header);
  PetscCall(PetscMemzero(&layout, sizeof(layout)));
  layout.header = content.header;
  TestCheck(MuonWireMessageLayout(&layout.header, rows, columns, &layout.section) == MUON_WIRE_OK, "A message without a layout");
  bits = MuonCompressorEntropy_Private(&layout, message + MuonWireMessageHeaderBytes(&content.header));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".message", dir, number));
  file = fopen(path, "wb");
  TestCheck(file != NULL && fwrite(message, 1, bytes, file) == bytes && fclose(file) == 0, "Cannot write %s", path);
  fprintf(cases, "%d %d %.17g\n", (int)rows, (int)columns, bits);
  free(message);
  ContentFree(&content);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const uint64_t shapes[][2] = {{24, 40}, {33, 17}, {1, 30}, {64, 1}, {5, 0}};
  char           dir[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN + 16];
  FILE          *cases;
  PetscInt       number = 0;
  PetscBool      set;
  uint64_t       state = 10;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), &set));
  TestCheck(set, "-oracle_dir names the folder to write into");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases", dir));
  cases = fopen(path, "w");
  TestCheck(cases != NULL, "Cannot write %s", path);
  for (unsigned form = MUON_WIRE_DENSE; form <= MUON_WIRE_BLOCKS; form++) {
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_TWOBIT; values++) {
      if (values > MUON_WIRE_VALUES_NATURAL && (values != MUON_WIRE_VALUES_TWOBIT || form != MUON_WIRE_SPARSE)) continue;
      for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
        const uint64_t  rows = shapes[s][0], columns = shapes[s][1], entries = rows * columns, smaller = PetscMin(rows, columns);
        const PetscBool whole = form == MUON_WIRE_DENSE || form == MUON_WIRE_SIGNS || form == MUON_WIRE_BLOCKS ? PETSC_TRUE : PETSC_FALSE;
        uint64_t        most  = entries;

        if (form == MUON_WIRE_LOWRANK || form == MUON_WIRE_TRIPLES) most = smaller;
        else if (form == MUON_WIRE_PERROW || form == MUON_WIRE_WHOLEROWS) most = rows;
        else if (form == MUON_WIRE_PERCOLUMN || form == MUON_WIRE_COLUMNS || form == MUON_WIRE_WHOLECOLUMNS) most = columns;
        if ((form == MUON_WIRE_PERROW || form == MUON_WIRE_PERCOLUMN) && entries == 0) most = 0;
        PetscCall(WriteCase(dir, cases, number++, form, (MuonWireValues)values, rows, columns, 0, &state));
        PetscCall(WriteCase(dir, cases, number++, form, (MuonWireValues)values, rows, columns, most, &state));
        if (whole == PETSC_FALSE && most > 2) PetscCall(WriteCase(dir, cases, number++, form, (MuonWireValues)values, rows, columns, 1 + (most - 1) / 3, &state));
      }
    }
  }
  TestCheck(fclose(cases) == 0, "Cannot write %s", path);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal
    oracle: entropy.py

TEST*/
