/*
   Images in CIFAR-10's binary format: records of a byte, the class, and three planes of 32 x 32 bytes, red, green and
   blue. They are read from data_batch_1.bin, ... and test_batch.bin of a folder, or made.
*/
#pragma once

#include "network.h"
#include <sys/stat.h>

#define CIFAR_PIXELS (3 * NET_SIDE * NET_SIDE)
#define CIFAR_RECORD (1 + CIFAR_PIXELS)

typedef struct {
  PetscInt       n;
  unsigned char *records;
} Images;

/* All records of a file behind those that are there */
static inline PetscErrorCode ImagesRead(const char path[], Images *images)
{
  struct stat    status;
  FILE          *file;
  PetscInt       n;
  unsigned char *records;

  PetscFunctionBeginUser;
  PetscCheck(stat(path, &status) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: no such file; -resnet_data names a folder with data_batch_1.bin and test_batch.bin", path);
  PetscCheck(status.st_size > 0 && status.st_size % CIFAR_RECORD == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: %lld bytes, expected records of %d", path, (long long)status.st_size, CIFAR_RECORD);
  n    = (PetscInt)(status.st_size / CIFAR_RECORD);
  file = fopen(path, "rb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot be opened", path);
  PetscCall(PetscMalloc1((size_t)(images->n + n) * CIFAR_RECORD, &records));
  PetscCall(PetscArraycpy(records, images->records, (size_t)images->n * CIFAR_RECORD));
  PetscCheck(fread(records + (size_t)images->n * CIFAR_RECORD, CIFAR_RECORD, (size_t)n, file) == (size_t)n, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: cannot be read", path);
  (void)fclose(file);
  for (PetscInt i = images->n; i < images->n + n; i++)
    PetscCheck(records[(size_t)i * CIFAR_RECORD] < NET_CLASSES, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: record %" PetscInt_FMT " is of class %d, expected 0 to %d", path, i - images->n, records[(size_t)i * CIFAR_RECORD], NET_CLASSES - 1);
  PetscCall(PetscFree(images->records));
  images->records = records;
  images->n += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number in [0,1) of a sequence (splitmix64) */
static inline double ImagesRandom(unsigned long long *state)
{
  unsigned long long x = *state += 0x9E3779B97F4A7C15ULL;

  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* Class k is a grating of one of five directions and two wavelengths, with phase, contrast and colors at random, beside a weaker one of a random class, in noise */
static inline PetscErrorCode ImagesMake(PetscInt n, unsigned long long state, Images *images)
{
  PetscFunctionBeginUser;
  images->n = n;
  PetscCall(PetscMalloc1((size_t)n * CIFAR_RECORD, &images->records));
  for (PetscInt i = 0; i < n; i++) {
    unsigned char *record = images->records + (size_t)i * CIFAR_RECORD;
    double         wave[2][2], phase[2], color[2][3];

    record[0] = (unsigned char)(i % NET_CLASSES);
    for (int w = 0; w < 2; w++) {
      const int    k     = w == 0 ? record[0] : (int)(NET_CLASSES * ImagesRandom(&state));
      const double angle = PETSC_PI * (double)(k % 5) / 5, length = k < 5 ? 10 : 5;

      wave[w][0] = 2 * PETSC_PI / length * cos(angle);
      wave[w][1] = 2 * PETSC_PI / length * sin(angle);
      phase[w]   = 2 * PETSC_PI * ImagesRandom(&state);
      for (int c = 0; c < 3; c++) color[w][c] = (w == 0 ? 50 : 30) * (2 * ImagesRandom(&state) - 1);
    }
    for (int p = 0; p < CIFAR_PIXELS; p++) {
      const int    c = p / (NET_SIDE * NET_SIDE), y = p / NET_SIDE % NET_SIDE, x = p % NET_SIDE;
      const double noise = 60 * (ImagesRandom(&state) + ImagesRandom(&state) + ImagesRandom(&state) + ImagesRandom(&state) - 2);
      double       value = 128 + noise;

      for (int w = 0; w < 2; w++) value += color[w][c] * sin(wave[w][0] * x + wave[w][1] * y + phase[w]);
      record[1 + p] = (unsigned char)PetscClipInterval(value, 0, 255);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file of these records */
static inline PetscErrorCode ImagesWrite(const Images *images, const char path[])
{
  FILE *file = fopen(path, "wb");

  PetscFunctionBeginUser;
  PetscCheck(file != NULL && fwrite(images->records, CIFAR_RECORD, (size_t)images->n, file) == (size_t)images->n && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s: cannot be written", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One image as the network takes it, and its class */
static inline void ImagesGet(const Images *images, PetscInt i, NetReal x[], PetscInt *label)
{
  const unsigned char *record = images->records + (size_t)i * CIFAR_RECORD;

  *label = record[0];
  for (PetscInt p = 0; p < CIFAR_PIXELS; p++) x[p] = ((NetReal)record[1 + p] - 128) / 64;
}
