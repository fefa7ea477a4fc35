/* libFuzzer target: any bytes as a .npy file. What is read must have the bytes its type takes, and must come back the
 * same when it is written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rlx/experimental.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[64];

static void remove_file(void) { unlink(path); }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort(); /* how a finding is told to the fuzzer */
}

static void write_input(const uint8_t *data, size_t bytes) {
  if (!path[0]) {
    snprintf(path, sizeof path, "/tmp/rlx-fuzz-npy-%ld.npy", (long)getpid());
    atexit(remove_file);
  }
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) fail("cannot write the input");
}

static void check_again(const rlx_tensor *t) {
  rlx_tensor again;
  if (rlx_npy_write(path, t) != RLX_OK) fail("what was read cannot be written");
  if (rlx_npy_read(path, &again) != RLX_OK) fail("what was written cannot be read");
  bool is_same = again.dtype == t->dtype && again.shape.n == t->shape.n && again.bytes == t->bytes &&
                 memcmp(again.shape.v, t->shape.v, (size_t)t->shape.n * sizeof t->shape.v[0]) == 0 &&
                 (t->bytes == 0 || memcmp(again.data, t->data, t->bytes) == 0);
  if (!is_same) fail("not the same after writing and reading");
  rlx_free(again.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  rlx_tensor t;
  size_t wanted;
  write_input(data, bytes);
  if (rlx_npy_read(path, &t) != RLX_OK) {
    if (t.data || !rlx_message()[0]) fail("refused without a message, or with data");
    return 0;
  }
  if (rlx_tensor_bytes(t.dtype, t.shape, &wanted) != RLX_OK || wanted != t.bytes) fail("the bytes do not fit the type");
  check_again(&t);
  rlx_free(t.data);
  return 0;
}
