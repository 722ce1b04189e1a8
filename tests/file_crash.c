/*
   Crashes: a save is stopped before each of its calls, and what was not synchronized then is lost in every
   combination. What is left loads, and is the generation before or the one that was being written; once the
   save has said so it is that one.

   Then the double crash: a run restarts from what is left, and crashes again while it saves, or everything
   but what it restarted from is deleted.

   That this could find something is shown by file systems on which one kind of synchronizing does nothing: on
   each of them some crash loses a generation.
*/
#include "file_model.h"

enum {
  WAYS = 1 << 16
};

typedef struct {
  int      keep, first, failures, expected[2]; /* first: one failure is enough; the generations that may be loaded: before the save and after it */
  long     states, distinct, room;
  uint64_t seen[8192];
  Model   *left; /* NULL, or all distinct states that a crash leaves */
} Crashes;

static int IsNew(Crashes *crashes, uint64_t hash)
{
  for (long k = 0; k < crashes->distinct; k++) {
    if (crashes->seen[k] == hash) return 0;
  }
  Check(crashes->distinct < 8192, "too many states");
  crashes->seen[crashes->distinct++] = hash;
  return 1;
}

/* Goes over what a crash may leave of a model. committed: only the new generation will do */
static void CrashNow(Crashes *crashes, const Model *model, int committed)
{
  int  way[MODEL_EFFECTS], e;
  long total = 1;

  memset(way, 0, sizeof(way));
  for (e = 0; e < model->effects; e++) {
    total *= ModelWays(&model->effect[e]);
    Check(total <= WAYS || crashes->first, "%d calls that are not synchronized", model->effects);
  }
  do {
    Model          after;
    MuonFileResult why;
    int            skipped, step;

    ModelCrash(model, way, &after);
    crashes->states++;
    step = RunLoad("run", &skipped, &why, NULL);
    if (skipped > 0 || (step != crashes->expected[1] && (committed || step != crashes->expected[0]))) crashes->failures++;
    if (crashes->left != NULL && IsNew(crashes, ModelHash(&after))) {
      Check(crashes->distinct <= crashes->room, "too many states");
      crashes->left[crashes->distinct - 1] = after;
    } else ModelFree(&after);
    for (e = 0; e < model->effects; e++) {
      if (++way[e] < ModelWays(&model->effect[e])) break;
      way[e] = 0;
    }
  } while (e < model->effects && !(crashes->first && crashes->failures > 0));
}

/* The save of a step that starts from a copy of a model, stopped before each of its calls */
static void CrashSave(Crashes *crashes, const Model *from, uint64_t step)
{
  for (long stop = 0;; stop++) {
    Model          model;
    int            committed, ended;
    MuonFileResult result;

    ModelCrash(from, NULL, &model);
    model.most             = 400;
    model.deaf_files       = from->deaf_files;
    model.deaf_generations = from->deaf_generations;
    model.deaf_folder      = from->deaf_folder;
    model.stop             = stop;
    result                 = RunSave("run", step, (size_t)crashes->keep, &committed);
    ended                  = model.calls <= stop;
    Check(!ended || (result == MUON_FILE_OK && committed), "the save itself failed");
    CrashNow(crashes, &model, committed);
    ModelFree(&model);
    if (ended || (crashes->first && crashes->failures > 0)) return;
  }
}

/* A folder with some generations, all of them durable */
static void Before(Model *model, int generations)
{
  ModelInit(model);
  for (int g = 0; g < generations; g++) {
    int committed;

    Check(RunSave("run", (uint64_t)(10 + 10 * g), 2, &committed) == MUON_FILE_OK && committed, "the save itself failed");
  }
}

static void DoubleCrash(Model *left, long states)
{
  Crashes *again = (Crashes *)calloc(1, sizeof(*again));

  Check(again != NULL, "no memory");
  again->keep = 2;
  for (long k = 0; k < states; k++) {
    MuonFileFolder      folder;
    MuonFileGeneration *generation;
    MuonFileResult      why;
    Model               model;
    int                 skipped, step;
    size_t              count;

    /* Restored, and crashed again while it saves */
    Disk               = &left[k];
    step               = RunLoad("run", &skipped, &why, NULL);
    again->expected[0] = step;
    again->expected[1] = 40;
    CrashSave(again, &left[k], 40);

    /* Restored, and all the rest is deleted */
    ModelCrash(&left[k], NULL, &model);
    Check(MuonFileFolderInit(&folder, "run") == MUON_FILE_OK && MuonFileFolderList(&folder, &generation, &count) == MUON_FILE_OK, "%s", folder.text);
    for (size_t g = 0; g < count; g++) {
      char path[64];

      (void)snprintf(path, sizeof(path), "run/step-%012d-%06d", (int)generation[g].step, (int)generation[g].counter);
      if ((int)generation[g].step != step) ModelForget(&model, path);
    }
    free(generation);
    Check(RunLoad("run", &skipped, &why, NULL) == step && skipped == 0, "generation %d needs another", step);
    ModelFree(&model);
  }
  Check(again->failures == 0, "%d of %ld states of a second crash do not load", again->failures, again->states);
  Check(again->states > 20000, "%ld states of a second crash", again->states);
  free(again);
}

int main(void)
{
  Crashes *crashes = (Crashes *)calloc(1, sizeof(*crashes));
  Model   *left    = (Model *)calloc(600, sizeof(*left));

  Check(crashes != NULL && left != NULL, "no memory");
  for (int generations = 0; generations <= 3; generations++) {
    for (int keep = 1; keep <= 2; keep++) {
      Model from;

      memset(crashes, 0, sizeof(*crashes));
      Before(&from, generations);
      crashes->keep        = keep;
      crashes->expected[0] = generations > 0 ? 10 * generations : RUN_NONE;
      crashes->expected[1] = 90;
      if (generations == 2 && keep == 1) {
        crashes->left = left;
        crashes->room = 600;
      }
      CrashSave(crashes, &from, 90);
      Check(crashes->failures == 0, "%d of %ld states do not load: %d generations, %d kept", crashes->failures, crashes->states, generations, keep);
      Check(crashes->states > 100, "%ld states", crashes->states);
      if (crashes->left != NULL) {
        const long states = crashes->distinct;

        DoubleCrash(left, states);
        for (long k = 0; k < states; k++) ModelFree(&left[k]);
      }
      ModelFree(&from);
    }
  }
  /* Without any one kind of synchronizing a generation is lost */
  for (int deaf = 0; deaf < 3; deaf++) {
    Model from;

    memset(crashes, 0, sizeof(*crashes));
    Before(&from, 1);
    from.deaf_files       = deaf == 0;
    from.deaf_generations = deaf == 1;
    from.deaf_folder      = deaf == 2;
    crashes->keep         = 1;
    crashes->first        = 1;
    crashes->expected[0]  = 10;
    crashes->expected[1]  = 90;
    CrashSave(crashes, &from, 90);
    Check(crashes->failures > 0, "without synchronizing %s nothing is lost in %ld states", deaf == 0 ? "files" : deaf == 1 ? "generations" : "the folder", crashes->states);
    ModelFree(&from);
  }
  free(left);
  free(crashes);
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
