/* Shapes: comparison and text. */
#include "ir/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool rlx_dims_equal(const rlx_dims *a, const rlx_dims *b) {
  return a->n == b->n && memcmp(a->v, b->v, (size_t)a->n * sizeof a->v[0]) == 0;
}

bool rlx_dims_open(const rlx_dims *d) {
  for (int i = 0; i < d->n; i++)
    if (rlx_dim_is_open(d->v[i])) return true;
  return false;
}

const char *rlx_dims_text(const rlx_dims *d, rlx_text_buffer *buffer) {
  size_t at = 0, cap = sizeof buffer->v;
  buffer->v[at++] = '[';
  for (int i = 0; i < d->n && i < RLX_MAX_RANK; i++) {
    const char *comma = i ? "," : "";
    int n = d->v[i] == RLX_DIM_UNKNOWN ? snprintf(buffer->v + at, cap - at, "%s?", comma)
            : rlx_dim_is_symbol(d->v[i])
              ? snprintf(buffer->v + at, cap - at, "%s$%u", comma, (unsigned)rlx_dim_symbol(d->v[i]))
              : snprintf(buffer->v + at, cap - at, "%s%" PRId64, comma, d->v[i]);
    if (n < 0 || (size_t)n >= cap - at) break;
    at += (size_t)n;
  }
  if (at > cap - 2) at = cap - 2;
  buffer->v[at] = ']';
  buffer->v[at + 1] = 0;
  return buffer->v;
}
