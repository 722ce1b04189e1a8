/*
   A file system in memory that knows what a crash leaves. src/file/README.md says by which rules: what was
   synchronized stays; of the rest, each write, name and removal stays or does not, whatever the others do.

   It is a table of calls for src/file. It counts the calls that change something, can stop for good at any of
   them, or have one of them fail, and cuts writes short.
*/
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <petscmuon/private/muonfile.h>

#define Check(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__); \
      fprintf(stderr, "\n"); \
      abort(); \
    } \
  } while (0)

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
  MuonFileSystem system;
  ModelNode      node[MODEL_NODES];
  ModelEffect    effect[MODEL_EFFECTS];
  int            nodes, effects, handle[MODEL_HANDLES];     /* -1, or its node */
  long           calls, stop;                               /* that change something; after stop of them nothing happens any more */
  long           fail_at;                                   /* the number of the call that fails, 0 for none */
  int            fail_error, fail_on;                       /* all calls that need space fail from there on */
  size_t         most;                                      /* bytes that one write takes */
  int            deaf_files, deaf_generations, deaf_folder; /* synchronizing these does nothing */
  int            no_locks;
  const char    *host;
  long           process;
} Model;

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

static inline int ModelOpen(void *ctx, const char path[], MuonFileAccess access)
{
  Model *model  = (Model *)ctx;
  int    parent = 0, node, handle = 0, error;
  char   name[MODEL_NAME];

  node = ModelFind(model, path, &parent, name);
  while (handle < MODEL_HANDLES && model->handle[handle] >= 0) handle++;
  Check(handle < MODEL_HANDLES, "too many open files");
  if (access == MUON_FILE_CREATE && node >= 0) return -EEXIST;
  if ((access == MUON_FILE_CREATE || access == MUON_FILE_LOCK) && node == -ENOENT) {
    error = ModelStep(model, 1);
    if (error < 0) return error;
    node = ModelNew(model, parent, name, 0);
  }
  if (node < 0) return node;
  if (access == MUON_FILE_FOLDER && !model->node[node].folder) return -ENOTDIR;
  model->handle[handle] = node;
  return handle;
}

static inline ModelNode *ModelNodeOf(Model *model, int handle)
{
  Check(handle >= 0 && handle < MODEL_HANDLES && model->handle[handle] >= 0, "handle %d", handle);
  return &model->node[model->handle[handle]];
}

static inline ptrdiff_t ModelRead(void *ctx, int handle, uint64_t at, void *to, size_t bytes)
{
  Model           *model = (Model *)ctx;
  const ModelNode *node  = ModelNodeOf(model, handle);

  if (node->folder) return -EISDIR;
  if (at >= node->now.length) return 0;
  if (bytes > node->now.length - at) bytes = (size_t)(node->now.length - at);
  if (bytes > model->most) bytes = model->most;
  memcpy(to, node->now.bytes + at, bytes);
  return (ptrdiff_t)bytes;
}

static inline ptrdiff_t ModelWrite(void *ctx, int handle, const void *from, size_t bytes)
{
  Model       *model = (Model *)ctx;
  ModelNode   *node  = ModelNodeOf(model, handle);
  const int    error = ModelStep(model, 1);
  ModelEffect *effect;

  if (error < 0) return error;
  if (bytes > model->most) bytes = model->most;
  effect        = ModelEffectAdd(model, MODEL_WRITE, model->handle[handle]);
  effect->at    = node->now.length;
  effect->bytes = ModelBytesOf(from, bytes);
  ModelBytesPut(&node->now, node->now.length, (const unsigned char *)from, bytes);
  return (ptrdiff_t)bytes;
}

static inline int ModelSize(void *ctx, int handle, uint64_t *bytes)
{
  const ModelNode *node = ModelNodeOf((Model *)ctx, handle);

  if (node->folder) return -EINVAL;
  *bytes = node->now.length;
  return 0;
}

static inline int ModelEmpty(void *ctx, int handle)
{
  Model    *model = (Model *)ctx;
  const int error = ModelStep(model, 0);

  if (error < 0) return error;
  (void)ModelEffectAdd(model, MODEL_EMPTY, model->handle[handle]);
  ModelNodeOf(model, handle)->now.length = 0;
  return 0;
}

/*
   An effect becomes durable, or is what a crash left: how is 1 for all of it, 2 for the first half of a
   write, 3 for its length alone
*/
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

static inline int ModelSync(void *ctx, int handle)
{
  Model    *model = (Model *)ctx;
  const int node = model->handle[handle], error = ModelStep(model, 0);
  const int deaf = !model->node[node].folder ? model->deaf_files : strncmp(model->node[node].name, "step-", 5) == 0 ? model->deaf_generations : model->deaf_folder;
  int       left = 0;

  if (error < 0) return error;
  for (int e = 0; e < model->effects; e++) {
    if (model->effect[e].node == node && !deaf) {
      ModelApply(model, &model->effect[e], 1);
      ModelBytesFree(&model->effect[e].bytes);
    } else model->effect[left++] = model->effect[e];
  }
  model->effects = left;
  return 0;
}

static inline int ModelLock(void *ctx, int handle)
{
  Model     *model = (Model *)ctx;
  ModelNode *node  = ModelNodeOf(model, handle);

  if (model->no_locks) return -ENOLCK;
  if (node->locked) return -EWOULDBLOCK;
  node->locked = handle + 1;
  return 0;
}

static inline int ModelClose(void *ctx, int handle)
{
  Model     *model = (Model *)ctx;
  ModelNode *node  = ModelNodeOf(model, handle);

  if (node->locked == handle + 1) node->locked = 0;
  model->handle[handle] = -1;
  return 0;
}

static inline int ModelUnlinkNode(Model *model, int node)
{
  ModelEffect *effect = ModelEffectAdd(model, MODEL_UNLINK, model->node[node].parent);

  memcpy(effect->name, model->node[node].name, MODEL_NAME);
  model->node[node].used = 0;
  return 0;
}

/* Of two effects, so that a crash may leave both names or none */
static inline int ModelRename(void *ctx, const char from[], const char to[])
{
  Model       *model  = (Model *)ctx;
  int          parent = 0, node, old;
  char         name[MODEL_NAME];
  ModelEffect *effect;
  const int    error = ModelStep(model, 1);

  if (error < 0) return error;
  old  = ModelFind(model, to, &parent, name);
  node = ModelFind(model, from, &parent, name);
  if (node < 0) return node;
  if (old >= 0) model->node[old].used = 0;
  (void)ModelUnlinkNode(model, node);
  (void)ModelFind(model, to, &parent, name);
  model->node[node].used   = 1;
  model->node[node].parent = parent;
  memcpy(model->node[node].name, name, MODEL_NAME);
  effect         = ModelEffectAdd(model, MODEL_LINK, parent);
  effect->target = node;
  memcpy(effect->name, name, MODEL_NAME);
  return 0;
}

static inline int ModelUnlink(void *ctx, const char path[])
{
  Model    *model  = (Model *)ctx;
  int       parent = 0, error;
  char      name[MODEL_NAME];
  const int node = ModelFind(model, path, &parent, name);

  if (node < 0) return node;
  if (model->node[node].folder) return -EISDIR;
  error = ModelStep(model, 0);
  return error < 0 ? error : ModelUnlinkNode(model, node);
}

static inline int ModelMakeFolder(void *ctx, const char path[])
{
  Model *model  = (Model *)ctx;
  int    parent = 0, node, error;
  char   name[MODEL_NAME];

  node = ModelFind(model, path, &parent, name);
  if (node != -ENOENT) return node >= 0 ? -EEXIST : node;
  error = ModelStep(model, 1);
  if (error < 0) return error;
  (void)ModelNew(model, parent, name, 1);
  return 0;
}

static inline int ModelRemoveFolder(void *ctx, const char path[])
{
  Model    *model  = (Model *)ctx;
  int       parent = 0, error;
  char      name[MODEL_NAME];
  const int node = ModelFind(model, path, &parent, name);

  if (node < 0) return node;
  for (int n = 1; n < model->nodes; n++) {
    if (model->node[n].used && model->node[n].parent == node) return -ENOTEMPTY;
  }
  error = ModelStep(model, 0);
  return error < 0 ? error : ModelUnlinkNode(model, node);
}

static inline int ModelList(void *ctx, const char path[], int (*each)(void *to, const char name[]), void *to)
{
  Model    *model  = (Model *)ctx;
  int       parent = 0, answer = 0;
  char      name[MODEL_NAME];
  const int node = ModelFind(model, path, &parent, name);

  if (node < 0) return node;
  if (!model->node[node].folder) return -ENOTDIR;
  for (int n = 1; n < model->nodes && answer == 0; n++) {
    if (model->node[n].used && model->node[n].parent == node) answer = each(to, model->node[n].name);
  }
  return answer;
}

static inline int ModelRandom(void *ctx, void *to, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = (unsigned char)(i * 7 + (size_t)((Model *)ctx)->process);
  return 0;
}

static inline int ModelProcess(void *ctx, char host[], size_t bytes, long *number)
{
  const Model *model = (const Model *)ctx;

  (void)snprintf(host, bytes, "%s", model->host);
  *number = model->process;
  return 0;
}

static inline void ModelTable(Model *model)
{
  MuonFileSystem *system = &model->system;

  system->ctx          = model;
  system->open         = ModelOpen;
  system->read         = ModelRead;
  system->write        = ModelWrite;
  system->size         = ModelSize;
  system->empty        = ModelEmpty;
  system->sync         = ModelSync;
  system->lock         = ModelLock;
  system->close        = ModelClose;
  system->rename       = ModelRename;
  system->unlink       = ModelUnlink;
  system->makefolder   = ModelMakeFolder;
  system->removefolder = ModelRemoveFolder;
  system->list         = ModelList;
  system->random       = ModelRandom;
  system->process      = ModelProcess;
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
  ModelTable(model);
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
  ModelTable(work);
  work->process = process + 1;
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
  int       parent = 0;
  char      name[MODEL_NAME];
  const int node = ModelFind(model, path, &parent, name);

  Check(node >= 0, "%s is not there", path);
  return &model->node[node].now;
}

/* Removes a file, or a folder with all in it, as if it had never been */
static inline void ModelForget(Model *model, const char path[])
{
  int       parent = 0;
  char      name[MODEL_NAME];
  const int node = ModelFind(model, path, &parent, name);

  Check(node > 0, "%s is not there", path);
  for (int n = 1; n < model->nodes; n++) {
    if (n == node || model->node[n].parent == node) model->node[n].used = model->node[n].stable = 0;
  }
}
