static char help[] = "Trains a GPT on text with EF21-Muon: compressed messages in both directions, and the same run uncompressed beside it.\n\n"
                     "  mpiexec -n 2 ./nanogpt -nanogpt_preset quickstart -nanogpt_data $PETSC_DIR/include\n\n"
                     "A preset is a list of options, of which any can be given as well; -help prints all. The runs (-nanogpt_runs) start from the same weights and see\n"
                     "the same batches. The first run reads the options of the optimizer, the others too unless they have their own behind their name: -dense_muon_learning_rate 1e-3.\n\n";

#include <petscmuon.h>
#include <signal.h>
#include "columns.h"
#include "data.h"
#include "model.h"
#include "residuals.h"

/* A preset is nothing but options, each of which gives way to the user's. Rate and momentum of the small model are tuned on the headers of PETSc,
   the scales of RunCreate() are the paper's */
static const char small[] = "-nanogpt_vocabulary 256 -nanogpt_width 128 -nanogpt_heads 4 -nanogpt_blocks 2 -nanogpt_sequence 128 -nanogpt_batch 16 "
                            "-nanogpt_steps 500 -nanogpt_interval 50 "
                            "-muon_learning_rate 5e-4 -muon_schedule linear -muon_momentum 0.7 -muon_shape_factor scion";

/*
   The small model on a folder of C headers, in both directions four bits an entry, the fewest bytes that cost
   next to no loss, beside the uncompressed run
*/
static const char quickstart[] = "-nanogpt_data_suffix .h -nanogpt_data_recursive 0 -nanogpt_holdout files -nanogpt_runs ef21,dense "
                                 "-nanogpt_sample 400 -nanogpt_temperature 0.5 -muon_weight_decay 5 "
                                 "-ef21_compressor qsgd -ef21_compressor_bits 4 -ef21_server_compressor qsgd -ef21_server_compressor_bits 4";

/* The experiment of the EF21-Muon paper, for shards of GPT-2 tokens; the steps take 20 tokens a parameter */
static const char paper[] = "-nanogpt_vocabulary 50304 -nanogpt_width 768 -nanogpt_heads 6 -nanogpt_blocks 12 -nanogpt_sequence 1024 -nanogpt_batch 256 -nanogpt_microbatch 1 "
                            "-nanogpt_steps 9430 -nanogpt_interval 10 -nanogpt_validation 16 -nanogpt_validation_end 10240 -nanogpt_sample 0 -nanogpt_data_suffix .bin "
                            "-muon_learning_rate 3.6e-4 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_momentum 0.9 -muon_shape_factor scion "
                            "-lmo_polar_type newtonschulz -lmo_polar_steps 5";

/* GPT-2's network with 29.94 million parameters besides its positions */
static const char gpt2[] = "-nanogpt_variant gpt2 -nanogpt_start gpt2 -nanogpt_width 384 -nanogpt_heads 6 -nanogpt_blocks 6 -nanogpt_steps 2284";

/* Options of its own, and those of which others are taken; 19073 steps of 256 sequences are 5 billion tokens */
static const struct {
  const char *name, *own, *others;
} Presets[] = {{"small", "", small}, {"quickstart", quickstart, small}, {"124M", "", paper}, {"124M-5B", "-nanogpt_steps 19073", paper}, {"gpt2", gpt2, paper}};

#define MAX_RUNS  4
#define MAX_PATHS 64

/* Each process draws from all of the text, or has an adjacent part of it for itself, or some of the paths that it was given in */
static const char *const Splits[] = {"shuffled", "contiguous", "folders"};

static const char *const RunNames[] = {"ef21", "dense", "frozen", "sign"};

typedef struct {
  char          preset[32];
  GPTShape      shape;
  CorpusOptions corpus;
  char          suffix[64];
  char         *paths[MAX_PATHS], *validation_paths[MAX_PATHS];
  char         *runs[MAX_RUNS];
  PetscInt      nruns;
  PetscInt      batch; /* sequences of a step, of all processes together */
  PetscInt      steps;
  PetscInt      interval;       /* steps from one line of progress to the next */
  PetscInt      validation;     /* sequences that are validated for a line of progress */
  PetscInt      validation_end; /* and before and after a run; 0 is all */
  PetscInt      sample;         /* tokens that the model writes after a run */
  PetscReal     temperature;
  char          prompt[1024];
  PetscInt      seed;
  PetscInt      split; /* of Splits */
  PetscInt      shard; /* ranks over which the rows of the weights are spread */
  PetscBool     check; /* of the controls */
  char          residuals[PETSC_MAX_PATH_LEN], csv[PETSC_MAX_PATH_LEN];
  PetscInt     *residuals_steps, nresiduals;
} Options;

/* What all runs share */
typedef struct {
  Options   options;
  Corpus    corpus;
  GPT       gpt;
  PetscInt  first, count; /* this process's sequences of a batch */
  PetscInt *tokens, *targets;
  MPI_Comm  worker; /* the ranks that have the weights together */
} Task;

/* What a checkpoint has beside weights and state, the same on every process */
typedef struct {
  PetscInt64 seed, tokens; /* which decide the order of the training sequences */
  PetscInt64 position;     /* how many of them were used */
  double     before;       /* validation loss at the start of the run */
} Progressed;

/* One training: an optimizer and the weights that it moves */
typedef struct {
  const char     *name;
  Task           *task;
  Muon            muon;
  PetscInt        n;
  GPTReal       **rows; /* this process's rows of each matrix of weights, which the optimizer moves */
  MuonLayer      *layer;
  GPTReal       **full;          /* all rows, while the model reads them, where they are spread */
  const GPTReal **w;             /* rows, or full */
  GPTReal       **dw;            /* the gradients */
  PetscReal       before, after; /* validation losses */
  PetscReal       up, down;      /* bits of its messages, over those of fp32, 32 an entry */
  PetscLogDouble  start, since;  /* times of the first step and of the last line of progress */
  PetscLogDouble  trained;       /* when the last validation began */
  PetscInt        first;         /* steps before those of this program, where it goes on with a checkpoint */
  PetscInt        shown;         /* steps at that line */
  PetscInt        counted;       /* steps of which nothing is known that was sent */
  PetscInt64      offset;        /* training sequences before the run, less those that its steps would have taken: of another batch */
  Progressed      progressed;    /* what a checkpoint has of the program */
  PetscInt        later;         /* runs after this one, for the time that is left */
  Residuals       residuals;     /* of the first run, where they are saved */
  Columns         columns;       /* likewise */
  PetscLogDouble  spent;         /* seconds up to the last line of progress, without validations */
} Run;

/*
   Whether a key is among others. Asking the database would mark the key as read, and a misspelt one would
   pass unseen
*/
static PetscErrorCode Contains(PetscInt n, char *keys[], const char key[], PetscBool *is)
{
  PetscFunctionBeginUser;
  *is = PETSC_FALSE;
  for (PetscInt i = 0; i < n && *is == PETSC_FALSE; i++) PetscCall(PetscStrcasecmp(keys[i], key, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the options of a string that are not set */
static PetscErrorCode Suggest(const char options[])
{
  PetscOptions suggested;
  char       **keys, **values, **given, **unused;
  PetscInt     n, ngiven;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&suggested));
  PetscCall(PetscOptionsInsertString(suggested, options));
  PetscCall(PetscOptionsLeftGet(suggested, &n, &keys, &values));
  PetscCall(PetscOptionsLeftGet(NULL, &ngiven, &given, &unused));
  for (PetscInt i = 0; i < n; i++) {
    char      key[PETSC_MAX_OPTION_NAME];
    PetscBool is;

    PetscCall(PetscSNPrintf(key, sizeof(key), "-%s", keys[i]));
    PetscCall(Contains(ngiven, given, keys[i], &is));
    if (is == PETSC_FALSE) PetscCall(PetscOptionsSetValue(NULL, key, values[i]));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &ngiven, &given, &unused));
  PetscCall(PetscOptionsLeftRestore(suggested, &n, &keys, &values));
  PetscCall(PetscOptionsDestroy(&suggested));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyPreset(char preset[], size_t length)
{
  PetscBool found = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(preset, "small", length));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-nanogpt_preset", preset, length, NULL));
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(Presets) && found == PETSC_FALSE; p++) {
    PetscCall(PetscStrcmp(preset, Presets[p].name, &found));
    if (found == PETSC_FALSE) continue;
    PetscCall(Suggest(Presets[p].own));
    PetscCall(Suggest(Presets[p].others));
  }
  PetscCheck(found == PETSC_TRUE, PETSC_COMM_WORLD, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown -nanogpt_preset %s; expected small, quickstart, 124M, 124M-5B or gpt2", preset);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  PetscInt    holdout = CORPUS_HOLDOUT_BLOCKS;
  PetscBool   given, saved, headers;
  PetscMPIInt size;
  char        steps[256];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(ApplyPreset(o->preset, sizeof(o->preset)));
  o->corpus.recursive         = PETSC_TRUE;
  o->corpus.every             = 16;
  o->corpus.npaths            = MAX_PATHS;
  o->corpus.nvalidation_paths = MAX_PATHS;
  o->nruns                    = MAX_RUNS;
  o->validation               = 128;
  o->sample                   = 200;
  o->temperature              = (PetscReal)0.7;
  o->seed                     = 1;
  o->shard                    = 1;
  PetscCall(PetscStrcmp(o->preset, "quickstart", &headers));
  PetscCall(PetscStrncpy(o->prompt, headers == PETSC_TRUE ? "PETSC_EXTERN PetscErrorCode Mat" : "\n", sizeof(o->prompt)));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "GPT training", NULL);
  PetscCall(PetscOptionsString("-nanogpt_preset", "small, quickstart, 124M, 124M-5B or gpt2", NULL, o->preset, o->preset, sizeof(o->preset), NULL));
  PetscCall(PetscOptionsEnum("-nanogpt_variant", "Rotary positions, squared ReLU and RMS normalization, or as in GPT-2", NULL, GPTVariants, (PetscEnum)o->shape.variant, (PetscEnum *)&o->shape.variant, NULL));
  PetscCall(PetscOptionsEnum("-nanogpt_start", "Size of the numbers that weights start with", NULL, GPTStarts, (PetscEnum)o->shape.start, (PetscEnum *)&o->shape.start, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_vocabulary", "Tokens that exist; 256 for text", NULL, o->shape.vocabulary, &o->shape.vocabulary, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_width", "Channels of the residual stream", NULL, o->shape.width, &o->shape.width, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_heads", "Heads of the attention", NULL, o->shape.heads, &o->shape.heads, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_blocks", "Blocks, each one attention and one MLP", NULL, o->shape.blocks, &o->shape.blocks, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_sequence", "Tokens of a sequence", NULL, o->shape.sequence, &o->shape.sequence, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_batch", "Sequences of a step, of all processes together", NULL, o->batch, &o->batch, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_microbatch", "Sequences that a process holds at once; 0 for its whole share", NULL, o->shape.batch, &o->shape.batch, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_steps", "Steps of a run", NULL, o->steps, &o->steps, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_interval", "Steps from one line of progress to the next", NULL, o->interval, &o->interval, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_validation", "Sequences that are validated for a line of progress; 0 for all", NULL, o->validation, &o->validation, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_validation_end", "Sequences that are validated before and after a run; 0 for all", NULL, o->validation_end, &o->validation_end, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_sample", "Tokens that the model writes after a run", NULL, o->sample, &o->sample, NULL));
  PetscCall(PetscOptionsReal("-nanogpt_temperature", "Temperature of what it writes", NULL, o->temperature, &o->temperature, NULL));
  PetscCall(PetscOptionsString("-nanogpt_prompt", "Text that it goes on from", NULL, o->prompt, o->prompt, sizeof(o->prompt), NULL));
  PetscCall(PetscOptionsInt("-nanogpt_seed", "Seed of the weights, of the order of the data and of the sample", NULL, o->seed, &o->seed, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_shard", "Processes over which the rows of each matrix are spread", NULL, o->shard, &o->shard, NULL));
  PetscCall(PetscOptionsStringArray("-nanogpt_runs", "Runs, of ef21, dense, frozen, sign", NULL, o->runs, &o->nruns, &given));
  if (given == PETSC_FALSE) {
    o->nruns = 1;
    PetscCall(PetscStrallocpy(RunNames[0], &o->runs[0]));
  }
  PetscCall(PetscOptionsBool("-nanogpt_check_controls", "End with an error unless ef21 is 0.3 below frozen and within 0.35 of the run dense", NULL, o->check, &o->check, NULL));
  PetscCall(PetscOptionsString("-nanogpt_residuals", "File that gets what messages of the first run are made of", NULL, o->residuals, o->residuals, sizeof(o->residuals), NULL));
  PetscCall(PetscOptionsString("-nanogpt_residuals_steps", "Of these steps, the first being 0; the last step where none is given", NULL, "", steps, sizeof(steps), NULL));
  PetscCall(PetscOptionsString("-nanogpt_csv", "File that gets a row of the first run for each line of progress", NULL, o->csv, o->csv, sizeof(o->csv), NULL));
  PetscCall(PetscOptionsStringArray("-nanogpt_data", "Files and folders of text, or of shards of tokens (.bin)", NULL, o->paths, &o->corpus.npaths, NULL));
  PetscCall(PetscOptionsString("-nanogpt_data_suffix", "What the names of the files in a folder end in", NULL, o->suffix, o->suffix, sizeof(o->suffix), NULL));
  PetscCall(PetscOptionsBool("-nanogpt_data_recursive", "Enter the folders of a folder", NULL, o->corpus.recursive, &o->corpus.recursive, NULL));
  PetscCall(PetscOptionsBool("-nanogpt_data_headerless", "Files that end in .bin are 16-bit tokens alone, without the header of a shard", NULL, o->corpus.headerless, &o->corpus.headerless, NULL));
  PetscCall(PetscOptionsEList("-nanogpt_split", "Training sequences of a process: of all text, of an adjacent part of its own, or of every p-th of the paths of -nanogpt_data", NULL, Splits, 3, Splits[o->split], &o->split, NULL));
  PetscCall(PetscOptionsEList("-nanogpt_holdout", "What is held out for validation, the last of every n", NULL, CorpusHoldouts, 2, CorpusHoldouts[holdout], &holdout, NULL));
  PetscCall(PetscOptionsInt("-nanogpt_holdout_every", "The n of -nanogpt_holdout", NULL, o->corpus.every, &o->corpus.every, NULL));
  PetscCall(PetscOptionsStringArray("-nanogpt_validation_data", "Files and folders for validation, which are left out of training, in place of -nanogpt_holdout", NULL, o->validation_paths, &o->corpus.nvalidation_paths, &given));
  PetscOptionsEnd();
  PetscCheck(o->steps > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_steps %" PetscInt_FMT " must be positive", o->steps);
  PetscCheck(o->interval > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_interval %" PetscInt_FMT " must be positive", o->interval);
  PetscCheck(o->shape.batch >= 0 && o->validation >= 0 && o->validation_end >= 0 && o->sample >= 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-nanogpt_microbatch, -nanogpt_validation, -nanogpt_validation_end and -nanogpt_sample must not be negative");
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(o->shard >= 1 && size % o->shard == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_shard %" PetscInt_FMT " must be positive and divide the %d processes", o->shard, size);
  PetscCheck(o->shard == 1 || o->residuals[0] == '\0', PETSC_COMM_WORLD, PETSC_ERR_SUP, "-nanogpt_residuals %s needs whole weights on each process, got -nanogpt_shard %" PetscInt_FMT, o->residuals, o->shard);
  PetscCheck(o->temperature > 0.0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_temperature %g must be positive", (double)o->temperature);
  /* As many as the run has, and one more to see that there are too many */
  o->nresiduals = o->steps + 1;
  PetscCall(PetscMalloc1(o->nresiduals, &o->residuals_steps));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nanogpt_residuals_steps", o->residuals_steps, &o->nresiduals, &saved));
  if (saved == PETSC_FALSE) {
    o->nresiduals         = 1;
    o->residuals_steps[0] = o->steps - 1;
  }
  PetscCheck(o->nresiduals <= o->steps, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_residuals_steps has more steps than the %" PetscInt_FMT " of the run", o->steps);
  for (PetscInt s = 0; s < o->nresiduals; s++)
    PetscCheck(o->residuals_steps[s] >= 0 && o->residuals_steps[s] < o->steps, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_residuals_steps %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", o->residuals_steps[s], o->steps);
  PetscCheck(o->corpus.npaths > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "No -nanogpt_data: name files or folders of text, or shards of tokens (.bin)");
  o->corpus.holdout          = given == PETSC_TRUE ? CORPUS_HOLDOUT_PATHS : (CorpusHoldout)holdout;
  o->corpus.parts            = o->split == 2 ? PETSC_TRUE : PETSC_FALSE;
  o->corpus.paths            = o->paths;
  o->corpus.validation_paths = o->validation_paths;
  o->corpus.suffix           = o->suffix;
  o->corpus.vocabulary       = o->shape.vocabulary;
  o->corpus.sequence         = o->shape.sequence;
  o->corpus.seed             = o->seed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run behind its name takes over the keys of the optimizer without a prefix, as long as no object has read them, that it has not got itself.
   Compressors mean nothing to the dense run and that of signs; files of monitors and checkpoints would be written over each other */
static PetscErrorCode InheritOptions(const char name[])
{
  const char *families[] = {"muon_", "lmo_", "ef21_"}, *files[] = {"muon_monitor", "muon_checkpoint", "muon_restart"};
  char      **keys, **values;
  PetscInt    n;
  PetscBool   dense, sign;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(name, "dense", &dense));
  PetscCall(PetscStrcmp(name, "sign", &sign));
  PetscCall(PetscOptionsLeftGet(NULL, &n, &keys, &values));
  for (PetscInt i = 0; i < n; i++) {
    char      key[2 * PETSC_MAX_OPTION_NAME];
    PetscBool ours = PETSC_FALSE, own = PETSC_FALSE, given;

    for (PetscInt f = 0; f < (dense == PETSC_TRUE || sign == PETSC_TRUE ? 2 : 3) && ours == PETSC_FALSE; f++) PetscCall(PetscStrbeginswith(keys[i], families[f], &ours));
    for (PetscInt f = 0; f < 3 && own == PETSC_FALSE; f++) PetscCall(PetscStrbeginswith(keys[i], files[f], &own));
    if (ours == PETSC_FALSE || own == PETSC_TRUE) continue;
    PetscCall(PetscSNPrintf(key, sizeof(key), "-%s_%s", name, keys[i]));
    PetscCall(Contains(n, keys, key + 1, &given));
    if (given == PETSC_FALSE) PetscCall(PetscOptionsSetValue(NULL, key, values[i]));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &keys, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose rows are spread, whole while the model reads it */
static PetscErrorCode FetchMatrix(void *ctx, PetscInt i, PetscBool begin)
{
  Run               *run = (Run *)ctx;
  PetscInt           rows, columns;
  Mat                W;
  const PetscScalar *w;

  PetscFunctionBeginUser;
  if (begin == PETSC_FALSE) {
    PetscCall(PetscFree(run->full[i]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetSize(run->layer[i], &rows, &columns));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, columns, NULL, &W));
  PetscCall(MuonLayerGetFullWeights(run->layer[i], W));
  PetscCall(PetscMalloc1(rows * columns, &run->full[i]));
  PetscCall(MatDenseGetArrayRead(W, &w));
  for (PetscInt e = 0; e < rows * columns; e++) run->full[i][e] = (GPTReal)w[e];
  PetscCall(MatDenseRestoreArrayRead(W, &w));
  PetscCall(MatDestroy(&W));
  run->w[i] = run->full[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before each block: messages of the step before may be under way (-muon_delay) */
static PetscErrorCode BeginMatrix(void *ctx, PetscInt matrix, PetscBool begin)
{
  Run *run = (Run *)ctx;

  PetscFunctionBeginUser;
  if (begin == PETSC_TRUE) PetscCall(MuonProgress(run->muon));
  if (run->task->options.shard > 1) PetscCall(FetchMatrix(ctx, matrix, begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This process's mean loss over its sequences of the step's batch, and the gradient */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Run            *run   = (Run *)ctx;
  Task           *task  = run->task;
  const GPTShape *shape = &task->options.shape;
  PetscInt        step;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt i = 0; i < run->n; i++) {
    MuonLayerArray gradient;

    PetscCall(MuonLayerGetGradientArray(run->layer[i], &gradient));
    run->dw[i] = (GPTReal *)gradient.w;
    PetscCall(PetscArrayzero(run->dw[i], gradient.M * gradient.N));
  }
  *loss = 0.0;
  PetscCall(GPTSetFetch(task->gpt, BeginMatrix, run));
  for (PetscInt start = 0; start < task->count; start += shape->batch) {
    const PetscInt B      = PetscMin(shape->batch, task->count - start);
    const double   weight = (double)B / (double)task->count;
    double         part;

    for (PetscInt b = 0; b < B; b++) {
      PetscInt64 sequence;

      if (task->options.split == 0) PetscCall(CorpusShuffle(task->corpus, run->offset + (PetscInt64)step * task->options.batch + task->first + start + b, &sequence));
      else if (task->options.split == 2) PetscCall(CorpusShuffleParts(task->corpus, task->options.batch, run->offset / task->options.batch + step, start + b, &sequence));
      else PetscCall(CorpusShuffleOwn(task->corpus, run->offset / task->options.batch * task->count + (PetscInt64)step * task->count + start + b, &sequence));
      PetscCall(CorpusRead(task->corpus, CORPUS_TRAIN, sequence, task->tokens + b * shape->sequence, task->targets + b * shape->sequence));
    }
    PetscCall(GPTLossAndGradient(task->gpt, run->w, B, shape->sequence, task->tokens, task->targets, weight, &part, run->dw));
    *loss += (PetscReal)(weight * part);
  }
  PetscCall(GPTSetFetch(task->gpt, NULL, NULL));
  if (run->residuals != NULL) PetscCall(ResidualsGradient(run->residuals, muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of so many that are wanted, 0 for all, those that there are: a line of progress has fewer than the end of a run */
static PetscInt Sequences(Task *task, PetscInt wanted)
{
  PetscInt   files;
  PetscInt64 tokens, all;

  PetscCallAbort(PETSC_COMM_SELF, CorpusGetSize(task->corpus, CORPUS_VALIDATION, &files, &tokens, &all));
  return wanted == 0 ? (PetscInt)all : (PetscInt)PetscMin(all, wanted);
}

/* Mean loss at the weights W over so many sequences, spread over the whole validation part; 0 is all */
static PetscErrorCode Validate(Run *run, PetscInt sequences, PetscReal *loss)
{
  Task           *task  = run->task;
  const GPTShape *shape = &task->options.shape;
  PetscMPIInt     size, rank;
  PetscInt        files;
  PetscInt64      tokens, all, count;
  double          sum = 0.0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CorpusGetSize(task->corpus, CORPUS_VALIDATION, &files, &tokens, &all));
  count = Sequences(task, sequences);
  if (task->options.shard > 1) PetscCall(GPTSetFetch(task->gpt, FetchMatrix, run));
  for (PetscInt64 first = 0; first < count; first += (PetscInt64)size * shape->batch) {
    const PetscInt64 start = first + rank, mine = start < count ? (count - 1 - start) / size + 1 : 0;
    const PetscInt   B = (PetscInt)PetscMax(PetscMin((PetscInt64)shape->batch, mine), 1); /* who has no sequence left takes part with one that does not count */
    double           part;

    for (PetscInt b = 0; b < B; b++) {
      const PetscInt64 i = PetscMin(start + (PetscInt64)b * size, count - 1) * all / count;

      PetscCall(CorpusRead(task->corpus, CORPUS_VALIDATION, i, task->tokens + b * shape->sequence, task->targets + b * shape->sequence));
    }
    PetscCall(GPTLoss(task->gpt, run->w, B, shape->sequence, task->tokens, task->targets, &part));
    if (mine > 0) sum += (double)B * part;
  }
  PetscCall(GPTSetFetch(task->gpt, NULL, NULL));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  *loss = (PetscReal)(sum / (double)count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Prints what the model writes, which all processes that have its weights find together. Bytes that are no
   ASCII text are shown as a question mark, tokens of shards as their numbers
*/
static PetscErrorCode Write(Run *run)
{
  Task           *task = run->task;
  const Options  *o    = &task->options;
  const PetscInt  T    = o->shape.sequence;
  const PetscBool text = o->shape.vocabulary == 256 ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt     rank;
  PetscInt       *tokens, n = 0;
  PetscRandom     random;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (o->sample == 0 || rank >= o->shard) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)o->seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscMalloc1((PetscInt)sizeof(o->prompt) + o->sample, &tokens));
  if (text == PETSC_TRUE) {
    while (o->prompt[n] != '\0') {
      tokens[n] = (unsigned char)o->prompt[n];
      n++;
    }
  }
  if (n == 0) tokens[n++] = 0;
  PetscCall(PetscPrintf(task->worker, "%s wrote:\n%s", run->name, text == PETSC_TRUE ? o->prompt : ""));
  if (task->options.shard > 1) PetscCall(GPTSetFetch(task->gpt, FetchMatrix, run));
  for (PetscInt i = 0; i < o->sample; i++, n++) {
    const PetscInt context = PetscMin(n, T);
    PetscReal      u;

    PetscCall(PetscRandomGetValueReal(random, &u));
    PetscCall(GPTNextToken(task->gpt, run->w, context, tokens + n - context, (double)o->temperature, (double)u, &tokens[n]));
    if (text == PETSC_FALSE) PetscCall(PetscPrintf(task->worker, "%" PetscInt_FMT " ", tokens[n]));
    else PetscCall(PetscPrintf(task->worker, "%c", tokens[n] == '\n' || tokens[n] == '\t' || (tokens[n] >= 32 && tokens[n] < 127) ? (int)tokens[n] : '?'));
  }
  PetscCall(GPTSetFetch(task->gpt, NULL, NULL));
  PetscCall(PetscPrintf(task->worker, "\n\n"));
  PetscCall(PetscFree(tokens));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The messages of the processes in the first steps of the run, on average, over those of fp32
*/
static PetscErrorCode GetTraffic(Run *run, PetscInt steps, PetscReal *up, PetscReal *down)
{
  MuonTraffic traffic;
  double      sum[3];

  PetscFunctionBeginUser;
  PetscCall(MuonGetTraffic(run->muon, &traffic));
  sum[0] = traffic.total_up[MUON_TRAFFIC_ENCODED];
  sum[1] = traffic.total_down[MUON_TRAFFIC_ENCODED];
  sum[2] = traffic.dense * (double)PetscMax(steps - run->counted, 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  *up   = (PetscReal)(sum[0] / sum[2]);
  *down = (PetscReal)(sum[1] / sum[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a line of progress and the files of monitors have of the held-out text */
static PetscErrorCode ValidateSome(Muon muon, PetscReal *value, void *ctx)
{
  Run *run = (Run *)ctx;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&run->trained));
  PetscCall(Validate(run, run->task->options.validation, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One line of progress, as a monitor of the optimizer: step s is done, with the loss at the weights before it
*/
static PetscErrorCode Progress(Muon muon, PetscInt s, PetscReal loss, void *ctx)
{
  Run           *run  = (Run *)ctx;
  const Options *o    = &run->task->options;
  const PetscInt done = s + 1;
  PetscInt       steps, minutes, seconds, validated;
  PetscReal      validation, up, down;
  PetscLogDouble training;

  PetscFunctionBeginUser;
  PetscCall(MuonGetMaxSteps(muon, &steps));
  PetscCall(MuonGetValidation(muon, &validation, &validated));
  if (validated != s) PetscFunctionReturn(PETSC_SUCCESS);
  training = run->trained - run->since;
  run->spent += training;
  if (run->columns != NULL) PetscCall(ColumnsRow(run->columns, muon, done, (PetscInt64)done * o->batch * o->shape.sequence, run->spent));
  PetscCall(GetTraffic(run, done, &up, &down));
  PetscCall(PetscTime(&run->since));
  seconds = (PetscInt)((run->since - run->start) / (double)(done - run->first) * (double)(steps - done + run->later * steps));
  minutes = seconds / 60;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s %5" PetscInt_FMT "/%" PetscInt_FMT "  loss %.3f  validation %.3f (%" PetscInt_FMT " sequences)  %.0f tokens/s  sent %.3f of fp32 up, %.3f down  %" PetscInt_FMT ":%02" PetscInt_FMT " left\n", run->name,
                        done, steps, (double)loss, (double)validation, Sequences(run->task, o->validation), (double)(done - run->shown) * (double)o->batch * (double)o->shape.sequence / PetscMax(training, 1e-9), (double)up, (double)down, minutes,
                        seconds % 60));
  run->shown = done;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer with its start weights, whose rows are spread over the processes of the worker */
static PetscErrorCode AddLayer(Run *run, PetscInt i)
{
  Task          *task = run->task;
  const char    *name;
  GPTReal       *all;
  MuonLayerArray array;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerArrayInitialize(&array));
  PetscCall(GPTGetMatrix(task->gpt, i, &name, &array.M, &array.N));
  array.comm = task->worker;
  array.type = PETSC_FLOAT;
  PetscCall(PetscSplitOwnership(task->worker, &array.rows, &array.M));
  PetscCallMPI(MPI_Exscan(&array.rows, &array.first, 1, MPIU_INT, MPI_SUM, task->worker));
  PetscCall(PetscMalloc1(array.M * array.N, &all));
  PetscCall(PetscMalloc1(array.rows * array.N, &run->rows[i]));
  PetscCall(GPTInitializeMatrix(task->gpt, i, task->options.seed, all));
  for (PetscInt j = 0; j < array.N; j++) PetscCall(PetscArraycpy(run->rows[i] + j * array.rows, all + j * array.M + array.first, array.rows));
  PetscCall(PetscFree(all));
  run->w[i] = run->rows[i];
  array.w   = run->rows[i];
  PetscCall(MuonAddLayerArray(run->muon, name, &array, &run->layer[i]));
  PetscCall(MuonLayerSetWholeGradient(run->layer[i], PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where the program is in its data, for a checkpoint, and back; positions in another order would mean nothing
*/
static PetscErrorCode SaveProgress(Muon muon, PetscInt64 *bytes, const void **data, void *ctx)
{
  Run       *run = (Run *)ctx;
  PetscInt   step, files;
  PetscInt64 sequences;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(CorpusGetSize(run->task->corpus, CORPUS_TRAIN, &files, &run->progressed.tokens, &sequences));
  run->progressed.seed     = run->task->options.seed;
  run->progressed.position = run->offset + (PetscInt64)step * run->task->options.batch;
  run->progressed.before   = (double)run->before;
  *bytes                   = (PetscInt64)sizeof(run->progressed);
  *data                    = &run->progressed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoadProgress(Muon muon, PetscMPIInt ranks, const PetscInt64 bytes[], const void *const data[], void *ctx)
{
  Run        *run = (Run *)ctx;
  PetscInt    step, files;
  PetscInt64  tokens, sequences;
  PetscMPIInt size, r = 0;
  Progressed  saved;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  while (r < ranks && data[r] == NULL) r++;
  PetscCheck(r < ranks && bytes[r] == (PetscInt64)sizeof(saved), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "The checkpoint is not of this program");
  PetscCall(PetscMemcpy(&saved, data[r], sizeof(saved)));
  PetscCall(CorpusGetSize(run->task->corpus, CORPUS_TRAIN, &files, &tokens, &sequences));
  PetscCheck(saved.seed == run->task->options.seed, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "-nanogpt_seed %" PetscInt_FMT ": the checkpoint is of a run with %" PetscInt64_FMT ", whose data have another order", run->task->options.seed, saved.seed);
  PetscCheck(saved.tokens == tokens, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "-nanogpt_data: %" PetscInt64_FMT " tokens to train, the checkpoint is of a run with %" PetscInt64_FMT, tokens, saved.tokens);
  PetscCall(MuonGetStepNumber(muon, &step));
  run->first = run->shown = step;
  run->counted            = ranks == size ? 0 : step;
  run->offset             = saved.position - (PetscInt64)step * run->task->options.batch;
  run->before             = (PetscReal)saved.before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The layers of a model: the spectral norm for the hidden matrices, the max norm for the one that is both
   embedding and head, for positions and for gains
*/
static PetscErrorCode RunCreate(Task *task, PetscInt r, Run *run)
{
  const char *name = task->options.runs[r];
  PetscBool   dense, frozen, sign;
  char        prefix[32];

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(name, "dense", &dense));
  PetscCall(PetscStrcmp(name, "frozen", &frozen));
  PetscCall(PetscStrcmp(name, "sign", &sign));
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->name  = name;
  run->task  = task;
  run->later = task->options.nruns - 1 - r;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  PetscCall(PetscObjectSetName((PetscObject)run->muon, name));
  if (r > 0) {
    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", name));
    PetscCall(MuonSetOptionsPrefix(run->muon, prefix));
  }
  PetscCall(MuonSetType(run->muon, dense == PETSC_TRUE ? MUONDENSE : sign == PETSC_TRUE ? MUONSIGN : MUONEF21));
  PetscCall(MuonSetMaxSteps(run->muon, task->options.steps));
  PetscCall(GPTGetNumMatrices(task->gpt, &run->n));
  PetscCall(PetscCalloc5(run->n, &run->rows, run->n, &run->full, run->n, &run->layer, run->n, &run->w, run->n, &run->dw));
  for (PetscInt i = 0; i < run->n; i++) {
    const char *name;
    PetscInt    rows, columns;
    PetscBool   hidden;
    MuonLMO     lmo;

    PetscCall(GPTGetMatrix(task->gpt, i, &name, &rows, &columns));
    PetscCall(PetscStrcmp(name, "positions", &hidden));
    hidden = i > 0 && columns > 1 && hidden == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(AddLayer(run, i));
    /* A layer that votes moves each entry by the rate itself */
    PetscCall(MuonLayerSetScale(run->layer[i], sign == PETSC_TRUE ? 1.0 : hidden == PETSC_TRUE ? 50.0 : columns > 1 ? 3000.0 : 2.0));
    PetscCall(MuonLayerGetLMO(run->layer[i], &lmo));
    PetscCall(MuonLMOSetType(lmo, hidden == PETSC_FALSE && sign == PETSC_FALSE ? MUONLMOMAX : MUONLMOSPECTRAL));
    if (frozen == PETSC_TRUE && hidden == PETSC_TRUE) PetscCall(MuonLayerSetType(run->layer[i], MUONLAYERFROZEN));
  }
  PetscCall(MuonSetObjectiveAndGradient(run->muon, FormLossAndGradient, run));
  PetscCall(MuonSetValidation(run->muon, ValidateSome, task->options.interval, run));
  PetscCall(MuonMonitorSet(run->muon, Progress, run, NULL));
  PetscCall(MuonCheckpointRegister(run->muon, "nanogpt", SaveProgress, LoadProgress, run));
  PetscCall(MuonSetFromOptions(run->muon));
  if (r == 0 && task->options.residuals[0] != '\0') PetscCall(ResidualsCreate(task->options.residuals, task->options.nresiduals, task->options.residuals_steps, run->muon, &run->residuals));
  if (r == 0 && task->options.csv[0] != '\0') PetscCall(ColumnsCreate(task->options.csv, &run->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBeginUser;
  PetscCall(ColumnsDestroy(&run->columns));
  PetscCall(ResidualsDestroy(&run->residuals));
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt i = 0; i < run->n; i++) PetscCall(PetscFree(run->rows[i]));
  PetscCall(PetscFree5(run->rows, run->full, run->layer, run->w, run->dw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SIGUSR1 asks for a checkpoint of the run that trains, on whatever process it comes */
static Muon Training = NULL;

static void Ask(int number)
{
  (void)number;
  if (Training != NULL) MuonCheckpointRequest(Training);
}

/* All steps; residuals are saved beside the monitors, which options can remove */
static PetscErrorCode Solve(Run *run)
{
  PetscInt            s      = 0;
  MuonConvergedReason reason = MUON_CONVERGED_ITERATING;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(run->muon, &s));
  for (; run->residuals != NULL && s < run->task->options.steps && reason == MUON_CONVERGED_ITERATING; s++) {
    PetscCall(ResidualsBefore(run->residuals, run->muon));
    PetscCall(MuonStep(run->muon));
    PetscCall(ResidualsAfter(run->residuals, run->muon, s));
    PetscCall(MuonGetConvergedReason(run->muon, &reason));
  }
  if (reason == MUON_CONVERGED_ITERATING) PetscCall(MuonSolve(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Train(Run *run)
{
  const Options      *o = &run->task->options;
  PetscInt            steps;
  MuonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MuonSetUp(run->muon)); /* which may load a checkpoint */
  if (run->first > 0)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: goes on at step %" PetscInt_FMT ", validation loss %.4f (%" PetscInt_FMT " sequences) before the first step\n", run->name, run->first, (double)run->before, Sequences(run->task, o->validation_end)));
  else {
    PetscCall(Validate(run, o->validation_end, &run->before));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: validation loss %.4f (%" PetscInt_FMT " sequences) before the first step\n", run->name, (double)run->before, Sequences(run->task, o->validation_end)));
  }
  PetscCall(PetscTime(&run->start));
  run->since = run->start;
  Training   = run->muon;
  (void)signal(SIGUSR1, Ask);
  PetscCall(Solve(run));
  Training = NULL;
  PetscCall(MuonGetConvergedReason(run->muon, &reason));
  PetscCall(MuonGetStepNumber(run->muon, &steps));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Run %s stopped at step %" PetscInt_FMT ": %s", run->name, steps, MuonConvergedReasons[reason]);
  PetscCall(Validate(run, o->validation_end, &run->after));
  PetscCall(GetTraffic(run, steps, &run->up, &run->down));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: validation loss %.4f (%" PetscInt_FMT " sequences) after %" PetscInt_FMT " steps\n", run->name, (double)run->after, Sequences(run->task, o->validation_end), steps));
  PetscCall(Write(run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Which kernels OpenBLAS chose, where it is the BLAS. It takes processors newer than itself for old ones, and
   the products are then several times slower
*/
static PetscErrorCode DescribeBLAS(void)
{
  void *symbol = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscDLSym(NULL, "openblas_get_corename", &symbol));
  if (symbol != NULL) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "BLAS: OpenBLAS with its kernels for %s; OPENBLAS_CORETYPE in the environment chooses others\n", ((char *(*)(void))symbol)()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the task is, before anything is run */
static PetscErrorCode Describe(Task *task, PetscReal bigram)
{
  const GPTShape *s = &task->options.shape;
  PetscInt        files[2], n;
  PetscInt64      tokens[2], sequences[2];
  PetscLogDouble  bytes, parameters = 0.0;

  PetscFunctionBeginUser;
  PetscCall(GPTGetNumMatrices(task->gpt, &n));
  for (PetscInt i = 0; i < n; i++) {
    const char *name;
    PetscInt    rows, columns;

    PetscCall(GPTGetMatrix(task->gpt, i, &name, &rows, &columns));
    parameters += (PetscLogDouble)rows * (PetscLogDouble)columns;
  }
  PetscCall(GPTGetMemory(task->gpt, &bytes));
  for (int part = 0; part < 2; part++) PetscCall(CorpusGetSize(task->corpus, (CorpusPart)part, &files[part], &tokens[part], &sequences[part]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "model: %.0f parameters in %" PetscInt_FMT " layers, %" PetscInt_FMT " blocks of width %" PetscInt_FMT ", %.1f MiB of activations on a process\n", parameters, n, s->blocks, s->width, bytes / 1048576.0));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "data: %" PetscInt64_FMT " tokens of %" PetscInt_FMT " files to train, %" PetscInt64_FMT " of %" PetscInt_FMT " to validate; a step takes %" PetscInt_FMT " x %" PetscInt_FMT "\n", tokens[0], files[0],
                        tokens[1], files[1], task->options.batch, s->sequence));
  PetscCall(DescribeBLAS());
  if (bigram > 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bigram: validation loss %.4f nats with counts of the training text\n", (double)bigram));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The run of that name among those that were run, else NULL */
static Run *FindRun(Run runs[], PetscInt n, const char name[])
{
  for (PetscInt i = 0; i < n; i++) {
    if (strcmp(runs[i].name, name) == 0) return &runs[i];
  }
  return NULL;
}

/* The line of numbers that the whole program ends with, and the controls */
static PetscErrorCode Report(Task *task, Run runs[], PetscReal bigram)
{
  const Options *o   = &task->options;
  const Run     *run = &runs[0], *dense = FindRun(runs, o->nruns, "dense"), *frozen = FindRun(runs, o->nruns, "frozen");
  char           others[128] = "", more[64];
  PetscInt       steps;

  PetscFunctionBeginUser;
  if (frozen != NULL && frozen != run) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "controls: with all hidden layers frozen %.2f\n", (double)frozen->after));
  if (dense != NULL && dense != run) PetscCall(PetscSNPrintf(others, sizeof(others), "dense %.2f", (double)dense->after));
  if (bigram > 0.0) {
    PetscCall(PetscSNPrintf(more, sizeof(more), "%sbigram %.2f", others[0] != '\0' ? ", " : "", (double)bigram));
    PetscCall(PetscStrlcat(others, more, sizeof(others)));
  }
  PetscCall(MuonGetStepNumber(run->muon, &steps));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: validation loss %.2f -> %.2f%s%s%s in %" PetscInt_FMT " steps, sent %.3f of fp32 up, %.3f down\n", o->preset, (double)run->before, (double)run->after, others[0] != '\0' ? " (" : "", others,
                        others[0] != '\0' ? ")" : "", steps, (double)run->up, (double)run->down));
  if (o->check == PETSC_TRUE) {
    run = FindRun(runs, o->nruns, "ef21");
    PetscCheck(run->after <= frozen->after - 0.3, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Validation loss %.4f is not 0.3 below the %.4f of frozen hidden layers: the steps of the hidden layers do not work", (double)run->after,
               (double)frozen->after);
    PetscCheck(run->after <= dense->after + 0.35, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Validation loss %.4f is more than 0.35 above the %.4f of the dense run: the compression costs too much", (double)run->after, (double)dense->after);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The runs must be known and different, and the check needs all of them */
static PetscErrorCode CheckRuns(const Options *o)
{
  PetscInt seen[MAX_RUNS] = {0, 0, 0, 0};

  PetscFunctionBeginUser;
  for (PetscInt r = 0; r < o->nruns; r++) {
    PetscInt  k  = -1;
    PetscBool is = PETSC_FALSE;

    while (is == PETSC_FALSE && ++k < MAX_RUNS) PetscCall(PetscStrcmp(o->runs[r], RunNames[k], &is));
    PetscCheck(k < MAX_RUNS && seen[k] == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-nanogpt_runs %s: expected ef21, dense, frozen and sign, each once at most", o->runs[r]);
    seen[k] = 1;
  }
  PetscCheck(o->check == PETSC_FALSE || (seen[0] == 1 && seen[1] == 1 && seen[2] == 1), PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-nanogpt_check_controls needs -nanogpt_runs ef21,dense,frozen");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Task        task;
  Options    *o = &task.options;
  Run         runs[MAX_RUNS];
  PetscReal   bigram = 0.0;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetOptions(o));
  PetscCall(CheckRuns(o));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / (PetscMPIInt)o->shard, rank, &task.worker));
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &o->corpus, &task.corpus));
  PetscCall(CorpusGetShare(task.corpus, o->batch, &task.first, &task.count));
  o->shape.batch = o->shape.batch == 0 ? task.count : PetscMin(o->shape.batch, task.count);
  PetscCall(GPTCreate(&o->shape, &task.gpt));
  PetscCall(PetscMalloc2(o->shape.batch * o->shape.sequence, &task.tokens, o->shape.batch * o->shape.sequence, &task.targets));
  if (o->shape.vocabulary == 256) PetscCall(CorpusBigram(task.corpus, &bigram));
  PetscCall(Describe(&task, bigram));

  for (PetscInt r = 1; r < o->nruns; r++) PetscCall(InheritOptions(o->runs[r]));
  for (PetscInt r = 0; r < o->nruns; r++) PetscCall(RunCreate(&task, r, &runs[r]));
  for (PetscInt r = 0; r < o->nruns; r++) PetscCall(Train(&runs[r]));
  PetscCall(Report(&task, runs, bigram));

  for (PetscInt r = 0; r < o->nruns; r++) PetscCall(RunDestroy(&runs[r]));
  for (PetscInt r = 0; r < o->nruns; r++) PetscCall(PetscFree(o->runs[r]));
  PetscCall(PetscFree(o->residuals_steps));
  for (PetscInt i = 0; i < o->corpus.npaths; i++) PetscCall(PetscFree(o->paths[i]));
  for (PetscInt i = 0; i < o->corpus.nvalidation_paths; i++) PetscCall(PetscFree(o->validation_paths[i]));
  PetscCall(PetscFree2(task.tokens, task.targets));
  PetscCall(GPTDestroy(&task.gpt));
  PetscCall(CorpusDestroy(&task.corpus));
  PetscCallMPI(MPI_Comm_free(&task.worker));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The hidden layers must learn, and compression must cost little: the program checks both
  test:
    suffix: check_controls
    nsize: 2
    args: -nanogpt_preset quickstart -nanogpt_runs ef21,dense,frozen -nanogpt_check_controls -nanogpt_data ${PETSC_DIR}/include
    args: -nanogpt_width 32 -nanogpt_heads 2 -nanogpt_blocks 1 -nanogpt_sequence 32 -nanogpt_steps 200 -nanogpt_interval 100 -nanogpt_validation 16 -nanogpt_validation_end 64
    timeoutfactor: 3

  testset:
    args: -nanogpt_data ${PETSCMUON_DIR}/LICENSE -nanogpt_width 24 -nanogpt_heads 2 -nanogpt_sequence 16 -nanogpt_batch 8 -nanogpt_holdout_every 4 -nanogpt_sample 0
    filter: sed -e 's/[0-9.]* MiB of activations/activations/' -e 's, *[0-9]* tokens/s,,' -e 's,[, ]*sent.*,,' -e '/^BLAS/d'

    # One batch, however many processes share it and in however many parts each takes its share
    test:
      suffix: ranks
      nsize: {{1 2 4}}
      args: -nanogpt_runs dense -nanogpt_microbatch {{0 3}shared output} -nanogpt_steps 20 -nanogpt_interval 10 -muon_momentum 0.8 -muon_learning_rate 1e-4
      output_file: output/nanogpt_ranks.out
      tolerance: 1e-3

    # Rows of the weights on some processes, or whole weights on all, give the same run; a process repeats a sequence where the others have one more to validate
    testset:
      args: -nanogpt_runs ef21,dense -nanogpt_steps 6 -nanogpt_interval 3 -muon_momentum 0.8 -muon_learning_rate 5e-4 -nanogpt_validation 7
      tolerance: 1e-4
      requires: double
      table: suffix | nsize | args | output_file
        shard   | 2 | -nanogpt_shard {{1 2}shared output}                       | output/nanogpt_shard.out
        shard_4 | 4 | -nanogpt_shard {{2 4}shared output} -nanogpt_microbatch 1 | output/nanogpt_shard.out
        gpt2    | 2 | -nanogpt_shard {{1 2}shared output} -nanogpt_variant gpt2 -nanogpt_start gpt2 | output/nanogpt_gpt2.out

    test:
      suffix: bad_shard
      nsize: 2
      args: -nanogpt_shard 3
      error: -nanogpt_shard 3 must be positive and divide the 2 processes

    test:
      suffix: bad_shard_residuals
      nsize: 2
      args: -nanogpt_shard 2 -nanogpt_residuals residuals.bin
      error: -nanogpt_residuals residuals.bin needs whole weights on each process, got -nanogpt_shard 2

    # Each run with options of its own and those of the optimizer
    test:
      suffix: inherit
      nsize: 2
      args: -nanogpt_runs ef21,dense,frozen -nanogpt_steps 2 -ef21_compressor topk -ef21_compressor_ratio 0.25 -frozen_ef21_compressor_ratio 0.5 -muon_momentum 0.7 -dense_muon_momentum 0.6 -muon_view
      filter: grep -o -E -e ' momentum [0-9.]+' -e 'up topk ratio [0-9.]+' | uniq

    # The scales are those of norm balls: AdamW learns at its own rate
    test:
      suffix: adamw
      nsize: 2
      args: -nanogpt_runs dense -muon_layer_type adamw -nanogpt_steps 40 -nanogpt_interval 20 -muon_adamw_learning_rate 2e-3
      tolerance: 1e-3
      requires: double

    # Uncompressed layers, and those of AdamW beside messages of a few bits, go in the precision of the model
    test:
      suffix: uncompressed
      nsize: 2
      args: -nanogpt_runs ef21 -nanogpt_steps 2 -nanogpt_interval 2
      filter: sed -n 's,^ef21 .*sent,sent,p' | sed 's, *[0-9]*:.*,,'
      tolerance: 1e-2

    test:
      suffix: adamw_messages
      nsize: 2
      args: -nanogpt_runs ef21 -nanogpt_steps 2 -nanogpt_interval 2 -muon_layer_embed_type adamw -ef21_compressor qsgd -ef21_server_compressor qsgd
      filter: sed -n 's,^ef21 .*sent,sent,p' | sed 's, *[0-9]*:.*,,'
      tolerance: 1e-2

    # A preset of the optimizer, and data of its own for each process
    test:
      suffix: contiguous
      nsize: 2
      args: -nanogpt_runs ef21 -muon_preset ef21-rank15 -nanogpt_split contiguous -nanogpt_steps 4 -nanogpt_interval 2 -muon_view
      filter: grep -o -E -e 'up rankk ratio [0-9.]+' -e 'loss [0-9.]+' | uniq
      tolerance: 1e-3

    # Two parts of the data, of which one is shorter, whatever processes there are; too many of these, a batch that parts do not share equally, parts with too little or no text
    testset:
      args: -nanogpt_split folders -nanogpt_validation_data ${PETSCMUON_DIR}/tests/checkpoints/optimizer1/step-000000000003-000001/manifest
      test:
        suffix: folders
        nsize: {{1 2}}
        args: -nanogpt_data ${PETSCMUON_DIR}/LICENSE,${PETSCMUON_DIR}/tests/checkpoints/optimizer1/step-000000000003-000001/rank-000000 -nanogpt_runs dense -nanogpt_steps 4 -nanogpt_interval 2
        filter: grep -o -E 'loss [0-9.]+'
        output_file: output/nanogpt_folders.out
        tolerance: 1e-3
      table: suffix | nsize | args | error
        bad_folders_ranks | 2 | -nanogpt_data ${PETSCMUON_DIR}/LICENSE                                                                         | 1 parts of the data: the 2 processes must divide their number
        bad_folders_batch |   | -nanogpt_data ${PETSCMUON_DIR}/LICENSE,${PETSCMUON_DIR}/CHANGELOG.md,${PETSCMUON_DIR}/makefile                 | they the batch of 8
        bad_folders_held  | 2 | -nanogpt_data ${PETSCMUON_DIR}/LICENSE,${PETSCMUON_DIR}/tests/checkpoints/optimizer1/step-000000000003-000001/manifest | manifest, a part of the data, has 0 tokens to train: a sequence takes 17
        bad_folders_short | 2 | -nanogpt_data ${PETSCMUON_DIR}/CHANGELOG.md,${PETSCMUON_DIR}/LICENSE -nanogpt_sequence 2000                    | LICENSE, a part of the data, has

    # Votes of two processes, behind a run of another type and by itself
    test:
      suffix: sign
      nsize: 2
      args: -nanogpt_runs dense,sign -nanogpt_steps 20 -nanogpt_interval 10 -muon_momentum 0.8 -muon_learning_rate 5e-4 -sign_muon_learning_rate 2e-3 -sign_sign_update none
      tolerance: 1e-2
      requires: double

    test:
      suffix: 124M
      nsize: 2
      args: -nanogpt_preset 124M -nanogpt_blocks 1 -nanogpt_steps 2 -muon_view
      filter: sed -n -E -e 's!^ *(h0[^,]*|embed), ([0-9]+ x [0-9]+), lmo, ([a-z]+)[^,]*, ([0-9.]+),.*!\1 \2 \3 \4!p' -e 's!.*(momentum [0-9.]+|schedule: [a-z]+|shape_factor: [a-z]+).*!\1!p'

    # 20 steps of 13 layers with 256 x 24 + 2 x 12 x 24 x 24 entries in all, which have two matrices of doubles each, behind 16 bytes; with monitors and without
    test:
      suffix: residuals
      nsize: 2
      args: -nanogpt_steps 21 -nanogpt_residuals residuals.bin -nanogpt_residuals_steps 1-21 {{-muon_monitor_cancel -muon_error_if_not_converged}shared output}
      filter: wc -c < residuals.bin
      requires: double

    # Tokens, and bits by the formula of the paper: 13 for a place and 32 for the value of a tenth of each matrix, 1990 entries of 6144, 8 x 576 and 4 x 2304;
    # the bytes of the layers are all that was sent; pictures of the loss, of the bytes both ways and of the lag up
    test:
      suffix: csv
      nsize: 2
      env: PETSC_OPTIONS=
      args: -nanogpt_runs ef21 -nanogpt_steps 4 -nanogpt_interval 2 -nanogpt_csv run.csv -ef21_compressor topk -ef21_monitor_compression ascii:contraction.txt -muon_monitor_csv all.csv -muon_monitor draw::draw_lg -draw_type image -draw_save .ppm
      filter: cut -d, -f1,2,8-10 run.csv && tail -n +2 run.csv | awk -F, '$11 > 0 && $11 < 1 && $12 == 0 && $3 > $4 { n++ } END { print n }' && cut -d, -f1,2 run.csv.layers | sed -n '1,3p;$p' && awk -F, 'NR == FNR { up = $5; down = $6; next } FNR > 1 { up -= 8 * $3; down -= 8 * $4 } END { print up, down }' all.csv run.csv.layers && ls -d Draw* | wc -l

    test:
      suffix: bad_csv
      nsize: 2
      args: -nanogpt_steps 1 -nanogpt_interval 1 -nanogpt_csv {{/nonexistent/run.csv /dev/full}}
      error: -nanogpt_csv {}: the file cannot be

    test:
      suffix: bad_residuals
      nsize: 2
      args: {{-nanogpt_runs -muon_type}} dense -nanogpt_residuals residuals.bin
      error: -nanogpt_residuals residuals.bin: an optimizer of type dense has no residuals

    test:
      suffix: bad_residuals_file
      nsize: 2
      args: -nanogpt_residuals /nonexistent/residuals.bin
      error: -nanogpt_residuals /nonexistent/residuals.bin: the file cannot be opened for writing

    test:
      suffix: bad_residuals_steps
      nsize: 2
      args: -nanogpt_steps 2 -nanogpt_residuals residuals.bin -nanogpt_residuals_steps 0,1,0
      error: -nanogpt_residuals_steps has more steps than the 2 of the run

    # Viewers that would show nothing
    test:
      suffix: bad_view
      nsize: 2
      args: -nanogpt_steps 1 -muon_view {{draw vtk:view.vts}}
      error: Muon cannot be shown by a viewer of type

    test:
      suffix: bad_reason_view
      nsize: 2
      args: -nanogpt_steps 1 -muon_converged_reason binary:view.bin
      error: Muon cannot be shown by a viewer of type binary, expected ascii

    table: suffix | nsize | args | error
      bad_runs        | 2 | -nanogpt_runs ef21,dence | -nanogpt_runs dence
      bad_twice       | 2 | -nanogpt_runs ef21,ef21  | -nanogpt_runs ef21
      bad_preset      | 2 | -nanogpt_preset 125M     | Unknown -nanogpt_preset 125M
      bad_controls    | 2 | -nanogpt_check_controls  | -nanogpt_check_controls needs -nanogpt_runs ef21,dense,frozen
      bad_batch       | 2 | -nanogpt_batch 1         | 2 processes are more than the 1 sequences of a batch
      bad_heads       | 2 | -nanogpt_heads 5         | Width 24 must be an even multiple of the 5 heads
      bad_folders     | 2 | -nanogpt_split folders   | Data in parts need validation data of their own
      bad_start       | 2 | -nanogpt_start tiny      | -nanogpt_start
      bad_temperature | 2 | -nanogpt_temperature 0   | -nanogpt_temperature 0

  test:
    suffix: bad_data
    nsize: 2
    error: No -nanogpt_data

TEST*/
