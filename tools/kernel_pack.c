/* Packs the code of a kernel (src/gpu/pack.h). Built and run by tools/kernels, which gathers the blobs.
 *
 *     kernel_pack words|text < CODE > BLOB */
#include "kernel_pack.h"

#include <stdio.h>

int main(int argc, char **argv) {
  const bool is_text = argc == 2 && strcmp(argv[1], "text") == 0;
  if (argc != 2 || (!is_text && strcmp(argv[1], "words") != 0)) {
    fprintf(stderr, "usage: kernel_pack words|text < CODE > BLOB\n");
    return 2;
  }
  static uint32_t symbols[PACK_MAX_SYMBOLS];
  const size_t step = is_text ? 1 : 4;
  size_t n = 0, n_bytes;
  for (int byte; (byte = getchar()) != EOF && n / step < PACK_MAX_SYMBOLS; n++)
    symbols[n / step] |= (uint32_t)byte << n % step * 8;
  if (n % step || n / step == PACK_MAX_SYMBOLS) {
    fprintf(stderr, "kernel_pack: expected whole words, fewer than %d, got %zu bytes\n", PACK_MAX_SYMBOLS, n);
    return 1;
  }
  unsigned char *blob = pack_encode(symbols, n / step, is_text, &n_bytes);
  const bool ok = blob && fwrite(blob, 1, n_bytes, stdout) == n_bytes && fflush(stdout) == 0;
  free(blob);
  return ok ? 0 : 1;
}
