/* libFuzzer target: any bytes as a graph's text (what must hold is in text_check.h). Half of the mutations are the
 * fuzzer's own, half replace words by words of the language, which gets past the parser far more often. */
#include <stdlib.h>

#include "test.h"
#include "text_check.h"
#include "text_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t cap);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (text_check((const char *)data, bytes, NULL) == RLX_OK) return 0;
  fprintf(stderr, "%s\n", rlx_message());
  abort(); /* how a finding is told to the fuzzer */
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed) {
  uint64_t random = seed;
  if (seed % 64 == 1) { /* a fresh start, so that every op is met */
    size_t drawn = text_random_case((char *)data, cap, &random);
    if (drawn) return drawn;
  }
  if (seed % 4 == 0 || bytes == 0) return LLVMFuzzerMutate(data, bytes, cap);
  return text_mutate((char *)data, bytes, cap, NULL, 0, &random);
}
