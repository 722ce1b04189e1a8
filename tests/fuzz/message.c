/*
   Two bytes for the rows, two for the columns of the layer 1, which has at most 200,000 entries, so several
   chunks, then any bytes as a message: what is valid decodes within its bounds, and comes back when it is
   written again.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t rows, columns;

  if (size < 4) return 0;
  rows    = Get(data, 2);
  columns = Get(data + 2, 2);
  if (rows * columns > 200000) columns = 200000 / rows;
  (void)CheckMessage(data + 4, size - 4, 1, rows, columns);
  return 0;
}
