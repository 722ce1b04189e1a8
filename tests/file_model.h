/*
   A file system in memory that knows what a crash leaves. src/file/README.md says by which rules: what was
   synchronized stays; of the rest, each write, name and removal stays or does not, whatever the others do.

   Its calls take the place of the system's: src/file is compiled here once more, with their names. They go to
   the model that Disk points to, which counts those that change something, can stop for good at any of them, or
   have one of them fail, and cuts writes short.
*/
#pragma once

#if !defined(_DEFAULT_SOURCE)
  #define _DEFAULT_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_common.h"

enum {
  MODEL_NODES   = 96,
  MODEL_NAME    = 48,
  MODEL_EFFECTS = 64,
  MODEL_HANDLES = 16
};

typedef struct {
  size_t         length;
  unsigned char *bytes;
} ModelBytes;

typedef struct {
  int        used, folder, parent, locked;
  char       name[MODEL_NAME];
  int        stable, stable_parent; /* whether its name is durable, and where */
  char       stable_name[MODEL_NAME];
  ModelBytes now, kept; /* what is read, and what is durable */
} ModelNode;

typedef enum {
  MODEL_WRITE,
  MODEL_EMPTY,
  MODEL_LINK,  /* the node has this name */
  MODEL_UNLINK /* no node has this name */
} ModelKind;

/* What was done and is not durable yet. node is the file, or the folder of the name */
typedef struct {
  ModelKind  kind;
  int        node, target;
  size_t     at;
  ModelBytes bytes;
  char       name[MODEL_NAME];
} ModelEffect;

typedef struct {
  ModelNode   node[MODEL_NODES];
  ModelEffect effect[MODEL_EFFECTS];
  int         nodes, effects, handle[MODEL_HANDLES];     /* -1, or its node */
  long        calls, stop;                               /* that change something; after stop of them nothing happens any more */
  long        fail_at;                                   /* the number of the call that fails, 0 for none */
  int         fail_error, fail_on;                       /* all calls that need space fail from there on */
  size_t      most;                                      /* bytes that one write takes */
  int         deaf_files, deaf_generations, deaf_folder; /* synchronizing these does nothing */
  int         no_locks;
  const char *host;
  long        process;
} Model;

static Model *Disk;

static inline ModelBytes ModelBytesOf(const void *from, size_t length)
{
  ModelBytes to;

  to.length = length;
  to.bytes  = (unsigned char *)malloc(length + 1);
  Check(to.bytes != NULL, "no memory");
  if (length > 0 && from != NULL) memcpy(to.bytes, from, length);
  else memset(to.bytes, 0, length);
  return to;
}

/* Puts bytes at a place, with zeros before them where there is nothing */
static inline void ModelBytesPut(ModelBytes *to, size_t at, const unsigned char *from, size_t length)
{
  if (at + length > to->length) {
    to->bytes = (unsigned char *)realloc(to->bytes, at + length);
    Check(to->bytes != NULL, "no memory");
    memset(to->bytes + to->length, 0, at + length - to->length);
    to->length = at + length;
  }
  if (from != NULL && length > 0) memcpy(to->bytes + at, from, length);
}

static inline void ModelBytesFree(ModelBytes *bytes)
{
  free(bytes->bytes);
  bytes->bytes  = NULL;
  bytes->length = 0;
}

/* Whether a call that changes something happens: 0, or what it answers */
static inline int ModelStep(Model *model, int space)
{
  model->calls++;
  if (model->calls > model->stop) return -EIO;
  if (model->fail_at > 0 && (model->calls == model->fail_at || (model->fail_on && space && model->calls > model->fail_at))) return -model->fail_error;
  return 0;
}

static inline ModelEffect *ModelEffectAdd(Model *model, ModelKind kind, int node)
{
  ModelEffect *effect = &model->effect[model->effects++];

  Check(model->effects <= MODEL_EFFECTS, "too many calls without synchronizing");
  memset(effect, 0, sizeof(*effect));
  effect->kind = kind;
  effect->node = node;
  return effect;
}

static inline int ModelChild(const Model *model, int parent, const char name[])
{
  for (int n = 1; n < model->nodes; n++) {
    if (model->node[n].used && model->node[n].parent == parent && strcmp(model->node[n].name, name) == 0) return n;
  }
  return -ENOENT;
}

/* The node of a path, or -1 with its parent and the last part of the path; "." and "" are the root */
static inline int ModelFind(const Model *model, const char path[], int *parent, char name[MODEL_NAME])
{
  int at = 0;

  if (strcmp(path, ".") == 0) return 0;
  for (;;) {
    const size_t length = strcspn(path, "/");

    Check(length < MODEL_NAME, "%s", path);
    memcpy(name, path, length);
    name[length] = 0;
    *parent      = at;
    if (!model->node[at].folder) return -ENOTDIR;
    at = ModelChild(model, at, name);
    if (path[length] == 0 || at < 0) return path[length] == 0 ? at : -ENOTDIR;
    path += length + 1;
  }
}

static inline int ModelNodeAt(const Model *model, const char path[])
{
  int  parent = 0;
  char name[MODEL_NAME];

  return ModelFind(model, path, &parent, name);
}

static inline int ModelNew(Model *model, int parent, const char name[], int folder)
{
  ModelNode   *node = &model->node[model->nodes];
  ModelEffect *effect;

  Check(model->nodes < MODEL_NODES && parent >= 0, "too many files");
  memset(node, 0, sizeof(*node));
  node->used          = 1;
  node->folder        = folder;
  node->parent        = parent;
  node->stable_parent = parent;
  node->now           = ModelBytesOf(NULL, 0);
  node->kept          = ModelBytesOf(NULL, 0);
  (void)snprintf(node->name, sizeof(node->name), "%s", name);
  effect         = ModelEffectAdd(model, MODEL_LINK, parent);
  effect->target = model->nodes;
  (void)snprintf(effect->name, sizeof(effect->name), "%s", name);
  return model->nodes++;
}

/* What a call of the system answers: the number of an error, negative, goes to errno */
static inline int ModelAnswer(int answer)
{
  if (answer >= 0) return answer;
  errno = -answer;
  return -1;
}

/* Where a file is created, O_CREAT, it has a mode, which the model does not */
static inline int ModelOpen(const char path[], int flags, ...)
{
  int  parent = 0, node, handle = 0, error;
  char name[MODEL_NAME];

  node = ModelFind(Disk, path, &parent, name);
  while (handle < MODEL_HANDLES && Disk->handle[handle] >= 0) handle++;
  Check(handle < MODEL_HANDLES, "too many open files");
  if ((flags & O_EXCL) && node >= 0) return ModelAnswer(-EEXIST);
  if ((flags & O_CREAT) && node == -ENOENT) {
    error = ModelStep(Disk, 1);
    if (error < 0) return ModelAnswer(error);
    node = ModelNew(Disk, parent, name, 0);
  }
  if (node >= 0 && (flags & O_DIRECTORY) && !Disk->node[node].folder) node = -ENOTDIR;
  if (node < 0) return ModelAnswer(node);
  Disk->handle[handle] = node;
  return handle;
}

static inline ModelNode *ModelNodeOf(int handle)
{
  Check(handle >= 0 && handle < MODEL_HANDLES && Disk->handle[handle] >= 0, "handle %d", handle);
  return &Disk->node[Disk->handle[handle]];
}

static inline ssize_t ModelRead(int handle, void *to, size_t bytes, off_t from)
{
  const ModelNode *node = ModelNodeOf(handle);
  const size_t     at   = (size_t)from;

  if (node->folder) return ModelAnswer(-EISDIR);
  if (at >= node->now.length) return 0;
  if (bytes > node->now.length - at) bytes = node->now.length - at;
  if (bytes > Disk->most) bytes = Disk->most;
  memcpy(to, node->now.bytes + at, bytes);
  return (ssize_t)bytes;
}

static inline ssize_t ModelWrite(int handle, const void *from, size_t bytes)
{
  ModelNode   *node  = ModelNodeOf(handle);
  const int    error = ModelStep(Disk, 1);
  ModelEffect *effect;

  if (error < 0) return ModelAnswer(error);
  if (bytes > Disk->most && strcmp(node->name, "lock") != 0) bytes = Disk->most;
  effect        = ModelEffectAdd(Disk, MODEL_WRITE, Disk->handle[handle]);
  effect->at    = node->now.length;
  effect->bytes = ModelBytesOf(from, bytes);
  ModelBytesPut(&node->now, node->now.length, (const unsigned char *)from, bytes);
  return (ssize_t)bytes;
}

static inline int ModelStatNode(int node, struct stat *info)
{
  if (node < 0) return ModelAnswer(node);
  memset(info, 0, sizeof(*info));
  info->st_mode = Disk->node[node].folder ? S_IFDIR : S_IFREG;
  info->st_size = (off_t)Disk->node[node].now.length;
  return 0;
}

static inline int ModelStat(int handle, struct stat *info)
{
  return ModelStatNode(Disk->handle[handle], info);
}

static inline int ModelStatPath(const char path[], struct stat *info)
{
  return ModelStatNode(ModelNodeAt(Disk, path), info);
}

static inline int ModelTruncate(int handle, off_t length)
{
  const int error = ModelStep(Disk, 0);

  if (error < 0) return ModelAnswer(error);
  (void)ModelEffectAdd(Disk, MODEL_EMPTY, Disk->handle[handle]);
  ModelNodeOf(handle)->now.length = (size_t)length;
  return 0;
}

/* An effect becomes durable, or is what a crash left: how is 1 for all of it, 2 for the first half of a write, 3 for its length alone */
static inline void ModelApply(Model *model, const ModelEffect *effect, int how)
{
  ModelNode *node = &model->node[effect->node];

  switch (effect->kind) {
  case MODEL_WRITE:
    ModelBytesPut(&node->kept, effect->at, how == 3 ? NULL : effect->bytes.bytes, how == 2 ? effect->bytes.length / 2 : effect->bytes.length);
    break;
  case MODEL_EMPTY:
    node->kept.length = 0;
    break;
  default:
    for (int n = 1; n < model->nodes; n++) {
      if (model->node[n].stable && model->node[n].stable_parent == effect->node && strcmp(model->node[n].stable_name, effect->name) == 0) model->node[n].stable = 0;
    }
    if (effect->kind == MODEL_LINK) {
      node                = &model->node[effect->target];
      node->stable        = 1;
      node->stable_parent = effect->node;
      memcpy(node->stable_name, effect->name, MODEL_NAME);
    }
  }
}

static inline int ModelSync(int handle)
{
  Model    *model = Disk;
  const int node = model->handle[handle], error = ModelStep(model, 0);
  const int deaf = !model->node[node].folder ? model->deaf_files : strncmp(model->node[node].name, "step-", 5) == 0 ? model->deaf_generations : model->deaf_folder;
  int       left = 0;

  if (error < 0) return ModelAnswer(error);
  for (int e = 0; e < model->effects; e++) {
    if (model->effect[e].node == node && !deaf) {
      ModelApply(model, &model->effect[e], 1);
      ModelBytesFree(&model->effect[e].bytes);
    } else model->effect[left++] = model->effect[e];
  }
  model->effects = left;
  return 0;
}

static inline int ModelLock(int handle, int how)
{
  ModelNode *node = ModelNodeOf(handle);

  if (how == LOCK_UN) return 0;
  if (Disk->no_locks || node->locked) return ModelAnswer(Disk->no_locks ? -ENOLCK : -EWOULDBLOCK);
  node->locked = handle + 1;
  return 0;
}

static inline int ModelClose(int handle)
{
  ModelNode *node = ModelNodeOf(handle);

  if (node->locked == handle + 1) node->locked = 0;
  Disk->handle[handle] = -1;
  return 0;
}

static inline int ModelUnlinkNode(int node)
{
  ModelEffect *effect = ModelEffectAdd(Disk, MODEL_UNLINK, Disk->node[node].parent);

  memcpy(effect->name, Disk->node[node].name, MODEL_NAME);
  Disk->node[node].used = 0;
  return 0;
}

/* Of two effects, so that a crash may leave both names or none */
static inline int ModelRename(const char from[], const char to[])
{
  int          parent = 0, node, old;
  char         name[MODEL_NAME];
  ModelEffect *effect;
  const int    error = ModelStep(Disk, 1);

  if (error < 0) return ModelAnswer(error);
  old  = ModelFind(Disk, to, &parent, name);
  node = ModelFind(Disk, from, &parent, name);
  if (node < 0) return ModelAnswer(node);
  if (old >= 0) Disk->node[old].used = 0;
  (void)ModelUnlinkNode(node);
  (void)ModelFind(Disk, to, &parent, name);
  Disk->node[node].used   = 1;
  Disk->node[node].parent = parent;
  memcpy(Disk->node[node].name, name, MODEL_NAME);
  effect         = ModelEffectAdd(Disk, MODEL_LINK, parent);
  effect->target = node;
  memcpy(effect->name, name, MODEL_NAME);
  return 0;
}

/* Of a file, or of an empty folder */
static inline int ModelRemove(const char path[])
{
  const int node = ModelNodeAt(Disk, path);
  int       error;

  if (node < 0) return ModelAnswer(node);
  for (int n = 1; n < Disk->nodes; n++) {
    if (Disk->node[n].used && Disk->node[n].parent == node) return ModelAnswer(-ENOTEMPTY);
  }
  error = ModelStep(Disk, 0);
  return error < 0 ? ModelAnswer(error) : ModelUnlinkNode(node);
}

static inline int ModelMakeFolder(const char path[], mode_t mode)
{
  int  parent = 0, node, error;
  char name[MODEL_NAME];

  (void)mode;
  node = ModelFind(Disk, path, &parent, name);
  if (node != -ENOENT) return ModelAnswer(node >= 0 ? -EEXIST : node);
  error = ModelStep(Disk, 1);
  if (error < 0) return ModelAnswer(error);
  (void)ModelNew(Disk, parent, name, 1);
  return 0;
}

static inline int ModelList(const char path[], struct dirent ***names, int (*filter)(const struct dirent *), int (*order)(const struct dirent **, const struct dirent **))
{
  const int node  = ModelNodeAt(Disk, path);
  int       count = 0;

  (void)filter;
  (void)order;
  if (node < 0 || !Disk->node[node].folder) return ModelAnswer(node < 0 ? node : -ENOTDIR);
  *names = (struct dirent **)malloc(MODEL_NODES * sizeof(**names));
  Check(*names != NULL, "no memory");
  for (int n = 1; n < Disk->nodes; n++) {
    if (!Disk->node[n].used || Disk->node[n].parent != node) continue;
    (*names)[count] = (struct dirent *)calloc(1, sizeof(***names));
    Check((*names)[count] != NULL, "no memory");
    memcpy((*names)[count++]->d_name, Disk->node[n].name, MODEL_NAME);
  }
  return count;
}

static inline int ModelRandom(void *to, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = (unsigned char)(i * 7 + (size_t)Disk->process);
  return 0;
}

static inline int ModelHost(char host[], size_t bytes)
{
  (void)snprintf(host, bytes, "%s", Disk->host);
  return 0;
}

static inline pid_t ModelProcess(void)
{
  return (pid_t)Disk->process;
}

static inline void ModelStart(Model *model)
{
  for (int h = 0; h < MODEL_HANDLES; h++) model->handle[h] = -1;
  model->stop    = INT32_MAX;
  model->most    = SIZE_MAX;
  model->host    = "node1";
  model->process = 1;
}

/* An empty root */
static inline void ModelInit(Model *model)
{
  memset(model, 0, sizeof(*model));
  Disk = model;
  ModelStart(model);
  model->node[0].used   = 1;
  model->node[0].folder = 1;
  model->node[0].stable = 1;
  model->node[0].now    = ModelBytesOf(NULL, 0);
  model->node[0].kept   = ModelBytesOf(NULL, 0);
  model->nodes          = 1;
}

static inline void ModelFree(Model *model)
{
  for (int n = 0; n < model->nodes; n++) {
    ModelBytesFree(&model->node[n].now);
    ModelBytesFree(&model->node[n].kept);
  }
  for (int e = 0; e < model->effects; e++) ModelBytesFree(&model->effect[e].bytes);
  memset(model, 0, sizeof(*model));
}

/* In how many ways an effect may be left */
static inline int ModelWays(const ModelEffect *effect)
{
  return effect->kind == MODEL_WRITE ? 4 : 2;
}

/*
   What a crash leaves of a model, where effect e is left in way[e]: 0 not at all, else as ModelApply(). As a
   machine that has started again, with nothing pending
*/
static inline void ModelCrash(const Model *model, const int way[], Model *after)
{
  Model     *work = after;
  int        number[MODEL_NODES], changed = 1;
  const long process = model->process;

  *work = *model;
  for (int n = 0; n < model->nodes; n++) work->node[n].kept = ModelBytesOf(model->node[n].kept.bytes, model->node[n].kept.length);
  for (int e = 0; e < model->effects; e++) {
    if (way == NULL || way[e] > 0) ModelApply(work, &model->effect[e], way == NULL ? 1 : way[e]);
  }
  /* What hangs on nothing is gone */
  while (changed) {
    changed = 0;
    for (int n = 1; n < work->nodes; n++) {
      if (work->node[n].stable && !work->node[work->node[n].stable_parent].stable) {
        work->node[n].stable = 0;
        changed              = 1;
      }
    }
  }
  work->nodes = 0;
  for (int n = 0; n < model->nodes; n++) {
    ModelNode node = work->node[n];

    if (!node.stable) {
      ModelBytesFree(&node.kept);
      continue;
    }
    number[n]   = work->nodes;
    node.used   = 1;
    node.parent = node.stable_parent; /* of the numbers before */
    node.locked = 0;
    node.now    = ModelBytesOf(node.kept.bytes, node.kept.length);
    memcpy(node.name, node.stable_name, MODEL_NAME);
    work->node[work->nodes++] = node;
  }
  /* A folder may stand behind what is in it only where it was made later, which does not happen */
  for (int n = 1; n < work->nodes; n++) work->node[n].parent = work->node[n].stable_parent = number[work->node[n].parent];
  work->effects = 0;
  work->calls   = 0;
  work->fail_at = work->fail_on = 0;
  ModelStart(work);
  work->process = process + 1;
  Disk          = after;
}

/* All that is there, as a number: of names and contents, not of the order in which they came */
static inline uint64_t ModelHash(const Model *model)
{
  uint64_t sum = 0;

  for (int n = 1; n < model->nodes; n++) {
    uint64_t hash = UINT64_C(14695981039346656037);

    if (!model->node[n].used) continue;
    for (int at = n; at > 0; at = model->node[at].parent) {
      for (const char *c = model->node[at].name; *c != 0; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    for (size_t i = 0; i < model->node[n].now.length; i++) hash = (hash ^ model->node[n].now.bytes[i]) * UINT64_C(1099511628211) + 1;
    sum += hash * (hash >> 7 | 1);
  }
  return sum;
}

static inline int ModelOpenHandles(const Model *model)
{
  int open = 0;

  for (int h = 0; h < MODEL_HANDLES; h++) open += model->handle[h] >= 0;
  return open;
}

/* The bytes of a file, to be damaged */
static inline ModelBytes *ModelFile(Model *model, const char path[])
{
  const int node = ModelNodeAt(model, path);

  Check(node >= 0, "%s is not there", path);
  return &model->node[node].now;
}

/* Removes a file, or a folder with all in it, as if it had never been */
static inline void ModelForget(Model *model, const char path[])
{
  const int node = ModelNodeAt(model, path);

  Check(node > 0, "%s is not there", path);
  for (int n = 1; n < model->nodes; n++) {
    if (n == node || model->node[n].parent == node) model->node[n].used = model->node[n].stable = 0;
  }
}

#define open        ModelOpen
#define pread       ModelRead
#define write       ModelWrite
#define fstat       ModelStat
#define lstat       ModelStatPath
#define ftruncate   ModelTruncate
#define fsync       ModelSync
#define flock       ModelLock
#define close       ModelClose
#define rename      ModelRename
#define remove      ModelRemove
#define mkdir       ModelMakeFolder
#define scandir     ModelList
#define getentropy  ModelRandom
#define gethostname ModelHost
#define getpid      ModelProcess
#include "file/folder.c"
#include "file/reader.c"
#include "file/writer.c"
