/* Lowers resize and grid_sample: planes sampled between elements. */
#include "base/mem.h"
#include "gpu/window.h"
#include "ir/definitions.h"

/* ---- resize ---- */

/* An axis, or several neighbouring unchanged axes merged into one. */
typedef struct axis {
  uint32_t size, in_size, stride; /* of the result; of the input; the input's stride in elements */
  bool changes;
  int number; /* in the shapes, if it changes */
} axis;

typedef RLX_ARRAY(uint32_t) word_list;

/* The offsets of both samples and the weight. A weight that rounds to 1 is lowered: the other sample keeps a share. */
static rlx_resize_place samples_of(const gpu_lowering *l, const axis *a, uint32_t i, uint32_t out[3]) {
  rlx_resize_place p = rlx_resize_place_of(RLX_ATTRS(resize, l->node), a->number, i, a->in_size, a->size);
  uint32_t weight = gpu_f32_bits(p.weight);
  out[0] = (uint32_t)p.lo * a->stride;
  out[1] = (uint32_t)p.hi * a->stride;
  out[2] = weight < 0x3f800000u ? weight : 0x3f7fffffu;
  return p;
}

static bool changes(const gpu_lowering *l, const axis *a) {
  if (a->size != a->in_size) return true;
  for (uint32_t i = 0; i < a->size; i++) {
    uint32_t entry[3];
    rlx_resize_place p = samples_of(l, a, i, entry);
    if (p.lo != i || p.weight > 0) return true;
  }
  return false;
}

/* The axes, innermost first. */
static int find_axes(const gpu_lowering *l, axis out[RLX_MAX_RANK]) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *y = &gpu_out_type(l)->shape;
  uint32_t stride = 1;
  int n = 0;
  for (int i = x->n - 1; i >= 0; i--) {
    axis a = {(uint32_t)y->v[i], (uint32_t)x->v[i], stride, false, i};
    stride *= a.in_size;
    a.changes = changes(l, &a);
    bool joins = n > 0 && !a.changes && !out[n - 1].changes;
    if (joins) out[n - 1].size *= a.size, out[n - 1].in_size *= a.in_size;
    else out[n++] = a;
  }
  return n;
}

static bool push(gpu_lowering *l, word_list *to, uint32_t word) {
  if (rlx_array_push(to, word)) return true;
  if (!l->status) l->status = RLX_FAIL(RLX_NO_MEMORY, "a table of positions");
  return false;
}

static void push_entries(gpu_lowering *l, const axis *a, word_list *to) {
  for (uint32_t i = 0; i < a->size && !gpu_failed(l); i++) {
    uint32_t entry[3] = {i * a->stride, i * a->stride, 0};
    if (a->changes) samples_of(l, a, i, entry);
    for (int j = 0; j < 3; j++) push(l, to, entry[j]);
  }
}

/* Columns in groups of four: first offsets and, for linear, second offsets and weights. */
static void push_columns(gpu_lowering *l, const axis *a, bool linear, word_list *to) {
  for (uint32_t i = 0; i < a->size && !gpu_failed(l); i += 4) {
    uint32_t entry[4][3];
    for (uint32_t j = 0; j < 4; j++) {
      entry[j][0] = entry[j][1] = i + j;
      entry[j][2] = 0;
      if (a->changes) samples_of(l, a, i + j, entry[j]);
    }
    for (int k = 0; k < (linear ? 3 : 1); k++)
      for (int j = 0; j < 4; j++) push(l, to, entry[j][k]);
  }
}

/* Whether only the last two axes change, or one of them, and rows are whole groups of four words. The row axis may be
 * unchanged if it is not the merger of many. */
static bool is_rows(const gpu_lowering *l, const axis *a, int n) {
  if (n < 1 || n > 3 || !a[0].changes || (n == 3 && a[2].changes)) return false;
  if (n == 2 && !a[1].changes && a[1].size > 65536) return false;
  return a[0].size % (4 * gpu_elements_per_word(gpu_out_type(l)->dtype)) == 0;
}

static void lower_rows(gpu_lowering *l, const axis *a, int n) {
  const rlx_type *y = gpu_out_type(l);
  bool linear = RLX_ATTRS(resize, l->node)->mode != 0;
  axis one = {1, 1, a[0].in_size, false, 0};
  const axis *rows = n > 1 ? &a[1] : &one;
  word_list columns = {0}, lines = {0};
  push_columns(l, &a[0], linear, &columns);
  push_entries(l, rows, &lines);
  if (!gpu_failed(l)) {
    uint32_t fours = a[0].size / (4 * gpu_elements_per_word(y->dtype));
    gpu_divider by_row = gpu_divider_of(fours), by_plane = gpu_divider_of(rows->size);
    gpu_params_resize_rows p = {GPU_DIVIDER(fours, by_row), GPU_DIVIDER(rows, by_plane),
                                .in_plane = a[0].in_size * rows->in_size, .n = gpu_words(y) / 4};
    gpu_constants_resize_rows c = {.t = (uint32_t)y->dtype, .linear = linear};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(resize_rows, p, c), .groups = gpu_ceil_div(p.n, 128), .group_size = 128,
                              .windows = {gpu_in(l, 0), gpu_table(l, columns.v, (uint32_t)columns.n),
                                          gpu_table(l, lines.v, (uint32_t)lines.n), gpu_out(l)}});
  }
  rlx_array_deinit(&columns);
  rlx_array_deinit(&lines);
}

static void lower_any(gpu_lowering *l, const axis *a, int n) {
  const rlx_type *y = gpu_out_type(l);
  word_list table = {0};
  uint32_t changed = 0, at = 6 * (uint32_t)n;
  for (int i = 0; i < n; i++) {
    gpu_divider d = gpu_divider_of(a[i].size);
    push(l, &table, d.d), push(l, &table, d.m), push(l, &table, d.s);
    push(l, &table, a[i].changes ? 0 : a[i].stride);
    push(l, &table, a[i].changes ? at : 0);
    push(l, &table, 0);
    if (a[i].changes) at += 3 * a[i].size, changed++;
  }
  for (int i = 0; i < n; i++)
    if (a[i].changes) push_entries(l, &a[i], &table);
  if (!n) push(l, &table, 0); /* a scalar: a table needs at least one word */
  gpu_params_resize p = {.axes = (uint32_t)n, .changed = changed, .n = gpu_count(y)};
  gpu_constants_resize c = {.t = (uint32_t)y->dtype};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(resize, p, c), .groups = gpu_ceil_div(gpu_words(y), 128), .group_size = 128,
                            .windows = {gpu_in(l, 0), gpu_table(l, table.v, (uint32_t)table.n), gpu_out(l)}});
  rlx_array_deinit(&table);
}

void gpu_lower_resize(gpu_lowering *l) {
  axis axes[RLX_MAX_RANK];
  if (!gpu_count(gpu_out_type(l))) return;
  int n = find_axes(l, axes);
  if (is_rows(l, axes, n)) lower_rows(l, axes, n);
  else lower_any(l, axes, n);
}

/* ---- grid_sample ---- */

enum { CHUNK = 8 }; /* channels per invocation, as in the kernel */

void gpu_lower_grid_sample(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  const rlx_attrs_grid_sample *a = RLX_ATTRS(grid_sample, l->node);
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL];
  rlx_window_sizes(&x->shape, in);
  rlx_window_sizes(&y->shape, out);
  if (!gpu_count(y)) return;
  for (int i = 0; i < RLX_SPATIAL; i++)
    if (in[i] >= 1 << 28) gpu_refuse(l, "grid_sample along an axis of 2^28 elements");
  uint32_t places = (uint32_t)(out[0] * out[1] * out[2]), channels = (uint32_t)x->shape.v[1];
  /* If a plane of narrow elements is not whole words, the kernel writes f32 first. */
  bool packs = places % gpu_elements_per_word(y->dtype) == 0;
  rlx_dtype to = packs ? y->dtype : RLX_F32;
  gpu_divider words = gpu_divider_of(places / gpu_elements_per_word(to));
  gpu_divider chunks = gpu_divider_of(gpu_ceil_div(channels, CHUNK));
  gpu_params_grid_sample p = {.in_z = (uint32_t)in[0],
                              .in_y = (uint32_t)in[1],
                              .in_x = (uint32_t)in[2],
                              .channels = channels,
                              .places = places,
                              GPU_DIVIDER(words, words),
                              GPU_DIVIDER(chunks, chunks),
                              .n = (uint32_t)x->shape.v[0] * chunks.d * words.d};
  gpu_constants_grid_sample c = {.t = (uint32_t)x->dtype,
                                 .to = (uint32_t)to,
                                 .axes = (uint32_t)x->shape.n - 2,
                                 .mode = (uint32_t)a->mode,
                                 .padding = (uint32_t)a->padding,
                                 .align = a->align_corners};
  gpu_window result = packs ? gpu_out(l) : gpu_work(l, (uint64_t)gpu_count(y) * 4);
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(grid_sample, p, c), .groups = gpu_ceil_div(p.n, 128), .group_size = 128,
                            .windows = {gpu_in(l, 0), gpu_in(l, 1), result}});
  if (!packs) gpu_convert(l, result, RLX_F32, gpu_out(l), y->dtype, gpu_count(y));
}
