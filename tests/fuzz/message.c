/*
   A byte for the rows, one for the columns of the layer 1, then any bytes as a message: what is valid decodes within its bounds and encodes to the same bytes.
*/
#include "../wire_corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size >= 2) (void)CheckCanonical(data + 2, size - 2, 1, data[0], data[1]);
  return 0;
}
