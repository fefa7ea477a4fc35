/* Encoders measured: for each block type the bits per weight, the RMS error our encoder leaves on 65,536 Gaussian
 * numbers relative to their RMS, that error as a share of gguf's and ggml's (tests/golden/quant/errors.txt), and the
 * speed of encoding and decoding, by the CPU time of one thread (the best of a few, since machines are shared). The table of docs/quantisation.md is this program's output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quant_data.h"

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nanoseconds per element, encoding and decoding. */
static bool measure_speed(rlx_dtype dtype, double *encode, double *decode) {
  enum { ENCODES = 5, DECODES = 50 };
  static float x[QUANT_COUNT], y[QUANT_COUNT];
  static uint8_t blocks[QUANT_COUNT / QUANT_CHUNK * QUANT_CHUNK_BYTES];
  for (uint64_t i = 0; i < QUANT_COUNT; i++) x[i] = quant_gaussian(i);
  *encode = HUGE_VAL;
  for (int i = 0; i < ENCODES; i++) {
    double start = seconds();
    if (rlx_quant_encode(dtype, x, blocks, QUANT_COUNT) != RLX_OK) return false;
    *encode = fmin(*encode, 1e9 * (seconds() - start) / QUANT_COUNT);
  }
  double start = seconds();
  for (int i = 0; i < DECODES; i++)
    if (rlx_quant_decode(dtype, blocks, y, QUANT_COUNT) != RLX_OK) return false;
  *decode = 1e9 * (seconds() - start) / DECODES / QUANT_COUNT;
  return true;
}

static void print_ratio(double error, const char *usual) {
  if (strcmp(usual, "-") == 0) printf(" %6s |", "-");
  else printf(" %6.3f |", error / atof(usual));
}

int main(void) {
  FILE *f = fopen(RLX_TEST_DATA "/quant/errors.txt", "r");
  if (!f) {
    fprintf(stderr, "cannot open %s/quant/errors.txt\n", RLX_TEST_DATA);
    return 1;
  }
  printf("| type    | bits/weight | RMS error | /gguf  | /ggml  | encode ns | decode ns |\n");
  printf("|---------|-------------|-----------|--------|--------|-----------|-----------|\n");
  char name[16], gguf[16], ggml[16];
  int status = 0;
  while (fscanf(f, "%15s %15s %15s", name, gguf, ggml) == 3) {
    rlx_dtype dtype = rlx_dtype_from_name(name);
    const rlx_dtype_info *info = rlx_dtype_describe(dtype);
    double error = quant_relative_error(dtype), encode, decode;
    if (!info || error < 0 || !measure_speed(dtype, &encode, &decode)) {
      fprintf(stderr, "%s: %s\n", name, rlx_message());
      status = 1;
      continue;
    }
    printf("| %-7s | %11.4f | %9.6f |", name, 8.0 * info->block_bytes / info->block_elements, error);
    print_ratio(error, gguf);
    print_ratio(error, ggml);
    printf(" %9.1f | %9.2f |\n", encode, decode);
  }
  fclose(f);
  return status;
}
