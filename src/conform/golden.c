/* Reads golden files (golden.h). */
#include "conform/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rlx_golden_inputs_hash(const rlx_case_built *b) {
  uint64_t h = 7;
  for (size_t i = 0; i < b->n_values; i++) h = rlx_hash_bytes(h, b->values[i].data, b->values[i].bytes);
  return h;
}

/* "2,3" or "-" */
static bool parse_sizes(const char *text, rlx_dims *out) {
  *out = (rlx_dims){.n = 0};
  if (strcmp(text, "-") == 0) return true;
  for (const char *p = text; *p;) {
    char *end;
    if (out->n == RLX_MAX_RANK) return false;
    out->v[out->n++] = strtoll(p, &end, 10);
    if (end == p || (*end && *end != ',')) return false;
    p = *end ? end + 1 : end;
  }
  return true;
}

rlx_status rlx_golden_find(const unsigned char *file, size_t bytes, const char *case_name, uint64_t inputs_hash,
                           rlx_tensor *out) {
  *out = (rlx_tensor){0};
  size_t at = 0;
  while (at < bytes) {
    const unsigned char *newline = memchr(file + at, '\n', bytes - at);
    char line[256] = {0}, name[96], dtype[16], sizes[96];
    unsigned long long hash;
    size_t length = newline ? (size_t)(newline - file) - at : sizeof line;
    if (length >= sizeof line) return RLX_FAIL(RLX_INVALID, "the golden file is corrupt at byte %zu", at);
    memcpy(line, file + at, length);
    at += length + 1;
    rlx_tensor t = {0};
    if (sscanf(line, "case %95s %llx %15s %95s", name, &hash, dtype, sizes) != 4 || !parse_sizes(sizes, &t.shape) ||
        (t.dtype = rlx_dtype_from_name(dtype)) == RLX_DTYPE_UNKNOWN || rlx_tensor_bytes(t.dtype, t.shape, &t.bytes) ||
        t.bytes + 1 > bytes - at)
      return RLX_FAIL(RLX_INVALID, "the golden file is corrupt at '%s'", line);
    t.data = (void *)(uintptr_t)(file + at);
    at += t.bytes + 1;
    if (strcmp(name, case_name) != 0) continue;
    if (hash != inputs_hash) return RLX_FAIL(RLX_INVALID, "the golden was made for other inputs; make it again");
    *out = t;
    return RLX_OK;
  }
  return RLX_FAIL(RLX_NOT_FOUND, "there is no golden for this case");
}
