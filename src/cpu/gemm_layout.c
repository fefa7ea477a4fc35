/* The packed layout of float weights: panels (gemm.h). Each matrix of a weight [.., K, N] or [.., N, K] is packed by
 * itself.
 *
 * Nothing is converted: elements of 2 or 4 bytes are permuted, and the last panel is padded with zeros. Panels are
 * independent, so the work can be split between any two of them. */
#include <string.h>

#include "base/arith.h"
#include "cpu/gemm.h"

typedef struct weight {
  size_t n, k, nr, n_panels; /* per matrix */
  size_t size;               /* bytes of an element */
  bool trans, to_layout;
  const char *src;
  char *dst;
} weight;

static bool read_type(cpu_isa isa, uint32_t layout, const rlx_type *type, weight *w, uint64_t *bytes) {
  if (layout != CPU_LAYOUT_GEMM_KN && layout != CPU_LAYOUT_GEMM_NK) return false;
  if (!rlx_dtype_is_weight_float(type->dtype) || type->shape.n < 2) return false;
  const int64_t *tail = type->shape.v + type->shape.n - 2;
  rlx_dims lead = type->shape;
  lead.n -= 2;
  *w = (weight){.nr = cpu_gemm(isa)->nr, .size = rlx_dtype_size(type->dtype), .trans = layout == CPU_LAYOUT_GEMM_NK};
  w->k = (size_t)tail[w->trans ? 1 : 0];
  w->n = (size_t)tail[w->trans ? 0 : 1];
  size_t padded, total;
  if (!rlx_pad_size(w->n, w->nr, &padded) || !rlx_mul_size(padded, w->k, &total) ||
      !rlx_mul_size(total, rlx_dims_count(&lead), &total) || !rlx_mul_size(total, w->size, &total))
    return false;
  w->n_panels = padded / w->nr;
  *bytes = total;
  return true;
}

static uint64_t layout_bytes(cpu_isa isa, uint32_t layout, const rlx_type *type) {
  weight w;
  uint64_t bytes;
  return read_type(isa, layout, type, &w, &bytes) ? bytes : 0;
}

/* Packs or unpacks one panel of n columns, between src and dst by to_layout. */
static void move_panel(const weight *w, size_t n, const char *src, char *dst) {
  size_t size = w->size, across = w->trans ? w->k : 1, along = w->trans ? 1 : w->n;
  for (size_t k = 0; k < w->k; k++) {
    const char *from = src + (w->to_layout ? k * along : k * w->nr) * size;
    char *to = dst + (w->to_layout ? k * w->nr : k * along) * size;
    if (across == 1) {
      memcpy(to, from, n * size);
    } else if (size == 4) {
      size_t f = w->to_layout ? across : 1, t = w->to_layout ? 1 : across;
      for (size_t j = 0; j < n; j++) memcpy(to + j * t * 4, from + j * f * 4, 4);
    } else {
      size_t f = w->to_layout ? across : 1, t = w->to_layout ? 1 : across;
      for (size_t j = 0; j < n; j++) memcpy(to + j * t * 2, from + j * f * 2, 2);
    }
    if (w->to_layout) memset(to + n * size, 0, (w->nr - n) * size);
  }
}

static void move_panels(void *user, size_t begin, size_t end, unsigned thread) {
  const weight *w = user;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    size_t matrix = i / w->n_panels, column = i % w->n_panels * w->nr, left = w->n - column;
    size_t plain = (matrix * w->n * w->k + (w->trans ? column * w->k : column)) * w->size;
    size_t packed = i * w->nr * w->k * w->size;
    move_panel(w, left < w->nr ? left : w->nr, w->src + (w->to_layout ? plain : packed),
               w->dst + (w->to_layout ? packed : plain));
  }
}

static rlx_status repack(cpu_isa isa, uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                         rlx_pool *pool) {
  weight w;
  uint64_t bytes;
  if (!read_type(isa, layout, type, &w, &bytes))
    return RLX_FAIL(RLX_INVALID, "a weight %s%s has no layout %u", rlx_dtype_name(type->dtype),
                    RLX_DIMS_TEXT(type->shape), (unsigned)layout);
  w.to_layout = to_layout;
  w.src = src;
  w.dst = dst;
  size_t each = w.nr * w.k * w.size, n = each ? (size_t)bytes / each : 0;
  cpu_parallel(pool, n, cpu_grain(n, (double)each * 0.5), move_panels, &w);
  return RLX_OK;
}

static void read_row(cpu_isa isa, uint32_t layout, const rlx_type *type, const void *matrix, size_t row, size_t first,
                     size_t count, void *out) {
  weight w;
  uint64_t bytes;
  if (!read_type(isa, layout, type, &w, &bytes)) return;
  char *to = out;
  if (w.trans) { /* along a panel */
    const char *from = (const char *)matrix + ((row / w.nr * w.k + first) * w.nr + row % w.nr) * w.size;
    size_t step = w.nr * w.size;
    if (w.size == 4)
      for (size_t i = 0; i < count; i++) memcpy(to + 4 * i, from + i * step, 4);
    else
      for (size_t i = 0; i < count; i++) memcpy(to + 2 * i, from + i * step, 2);
    return;
  }
  for (size_t i = first, n; i < first + count; i += n, to += n * w.size) { /* across panels */
    size_t in_panel = i % w.nr, left = first + count - i;
    n = left < w.nr - in_panel ? left : w.nr - in_panel;
    memcpy(to, (const char *)matrix + ((i / w.nr * w.k + row) * w.nr + in_panel) * w.size, n * w.size);
  }
}

/* A panel of [N, K] is a number of adjacent rows. */
static uint32_t panel_rows(cpu_isa isa, uint32_t layout, const rlx_type *type) {
  weight w;
  uint64_t bytes;
  return read_type(isa, layout, type, &w, &bytes) && w.trans && type->shape.n == 2 ? (uint32_t)w.nr : 0;
}

const cpu_layout_family cpu_layout_gemm = {layout_bytes, repack, read_row, panel_rows};
