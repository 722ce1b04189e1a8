/*
   A checkpoint of each version of the format is kept under tests/checkpoints and loads for ever. The files
   that this library writes for the same run are those of its own version, byte by byte.

   Its argument is the folder; what it writes for the same run is in checkpoints/ beside it.
*/
#include "file_common.h"

static size_t BytesOf(const char folder[], const char name[], unsigned char bytes[1 << 16])
{
  char   path[2048];
  FILE  *file;
  size_t length;

  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  file = fopen(path, "rb");
  Check(file != NULL, "%s", path);
  length = fread(bytes, 1, 1 << 16, file);
  (void)fclose(file);
  return length;
}

int main(int argc, char **argv)
{
  static const char *const name[] = {"step-000000000120-000001/rank-000000", "step-000000000120-000001/rank-000001", "step-000000000120-000001/manifest"};
  unsigned char            run[MUON_FILE_RUN], own[MUON_FILE_RUN];
  MuonFileFolder           folder;
  MuonFileResult           why;
  int                      committed, skipped;
  char                     text[MUON_FILE_TEXT] = "";

  Check(argc == 2, "one argument is expected, a folder");
  for (int i = 0; i < MUON_FILE_RUN; i++) run[i] = (unsigned char)(17 * i);
  Check(MuonFileFolderInit(&folder, "checkpoints") == MUON_FILE_OK && MuonFileFolderLock(&folder, own) == MUON_FILE_OK && RunSaveLocked(&folder, run, 120, 1, &committed) == MUON_FILE_OK, "%s", folder.text);
  for (int f = 0; f < 3; f++) {
    static unsigned char kept[1 << 16], now[1 << 16];
    const size_t         length = BytesOf(argv[1], name[f], kept);

    Check(BytesOf("checkpoints", name[f], now) == length && memcmp(kept, now, length) == 0, "%s: the writer of version %d writes something else", name[f], MUON_FILE_VERSION_NUMBER);
  }
  Check(RunLoad(argv[1], &skipped, &why, text) == 120 && skipped == 0, "%s", text);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    args: ${PETSCMUON_DIR}/tests/checkpoints/version1
    output_file: output/wire_ok.out

TEST*/
