/* libFuzzer target: any bytes as a GGUF. What opens must hold together: every value can be asked for, every tensor lies in
 * the file and can be read, and written again it reads back the same. */
#include "lm_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  lm_fuzz_file(data, bytes, "gguf");
  return 0;
}
