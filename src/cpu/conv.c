/* conv and fused_conv_bias_act: claims, weight packing and tasks. conv.h describes the algorithm; conv_depthwise.c and
 * conv_winograd.c hold the other two.
 *
 * A task is a panel of output positions times a part of the output channels. Where panels are few, there are more
 * parts, and all panels are filled once before the tasks run (SHARED). Where they are many, each task fills its own
 * panel, chunk by chunk of input channels (OWN). A 1x1 convolution of a small image needs no panel: the image itself
 * has that layout (DIRECT). */
#include "cpu/conv.h"

#include <string.h>

#include "cpu/conv_depthwise.h"
#include "cpu/conv_image.h"
#include "cpu/conv_winograd.h"
#include "cpu/pointwise.h"
#include "cpu/slots.h"

enum {
  OC_BLOCK = CPU_CONV_CHANNELS,
  CHUNK_ROWS = 128,        /* taps of a panel: what fits in the L1 cache */
  SMALL_K = 32,            /* up to this many taps, */
  PANELS_PER_TASK = 4,     /* a task takes this many panels: results are then written in longer runs */
  SLOTS = 32,              /* concurrent tasks, each with its own memory */
  MIN_TASKS = 16,          /* with fewer tasks, the output channels are split */
  SHARED_FLOATS = 2 << 20, /* upper bound of all panels that are filled in advance */
  MAX_TAPS = 256,          /* max taps of a kernel with a prepared image */
  DIRECT_POSITIONS = 1024, /* max positions of an image read as its own panel: wider rows are a page each, */
  DIRECT_CHANNELS = 32     /* which costs where a panel is read more often than this */
};

typedef enum panel_kind { OWN, SHARED, DIRECT } panel_kind;

typedef struct conv {
  const cpu_conv_table *table;
  const cpu_winograd *winograd; /* NULL: another algorithm */
  rlx_conv_window window;
  rlx_dtype type, w_type;
  int32_t act;
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL];
  size_t n_batch, n_in, n_out, groups; /* channels of all groups */
  size_t group_in, group_out;          /* channels of one group */
  size_t taps, k, positions;           /* of the kernel; group_in * taps; output positions of a plane */
  panel_kind kind;
  size_t chunk;              /* input channels per step over K */
  size_t panels_per_task;    /* panels that a task processes together */
  size_t panels, widest;     /* panels of a (sample, group); row stride of the widest panel */
  size_t parts, part_out;    /* tasks of a panel: parts of part_out output channels */
  size_t slots, slot_floats; /* the work memory: the slots, then */
  size_t shared_floats, packed_floats, image_floats;
  cpu_conv_image image; /* if used: */
  size_t *tap_at;
  size_t weight_at; /* floats before the directly packed weight */
  bool is_packed;
} conv;

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* ---- reading a node ---- */

rlx_status cpu_conv_read(const rlx_graph *g, const rlx_node_rec *n, cpu_conv_node *out) {
  const rlx_dims *x = &rlx_graph_at(g, n->in[0])->type.shape, *w = &rlx_graph_at(g, n->in[1])->type.shape;
  if (n->op == RLX_OP_fused_conv_bias_act) {
    const rlx_attrs_fused_conv_bias_act *a = n->attrs;
    out->groups = a->groups;
    out->act = a->act;
    return RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &out->window);
  }
  const rlx_attrs_conv *a = n->attrs;
  out->groups = a->groups;
  out->act = RLX_ACT_NONE;
  return RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &out->window);
}

cpu_conv_epilogue cpu_conv_epilogue_of(const cpu_call *c, int32_t act, size_t channel, size_t element) {
  cpu_conv_epilogue end = {.type = c->node->type.dtype, .act = act};
  size_t size = rlx_dtype_size(end.type);
  const char *bias = cpu_in(c, 2), *residual = cpu_in(c, 3);
  if (bias && end.type == RLX_F32) end.bias = ((const float *)(const void *)bias)[channel];
  else if (bias) cpu_floats_load(c->isa, end.type, bias + channel * size, &end.bias, 1);
  if (residual) end.residual = residual + element * size;
  return end;
}

/* ---- sizes ---- */

/* Panel i begins at position i * vecs * lanes; the last one includes the positions that fill no vector. */
static void set_panels(conv *v) {
  size_t lanes = v->table->lanes, max = v->table->vecs * lanes;
  v->panels = v->positions < lanes ? v->positions > 0 : (v->positions - lanes) / max + 1;
  v->widest = v->panels ? round_up(v->positions - (v->panels - 1) * max, lanes) : 0;
  if (v->panels > 1 && v->widest < max) v->widest = max;
}

static bool is_plain(const rlx_conv_window *w) {
  for (int a = 0; a < RLX_SPATIAL; a++)
    if (w->kernel[a] != 1 || w->stride[a] != 1 || w->pad_lo[a] || w->pad_hi[a]) return false;
  return true;
}

/* Tasks of a (sample, group), not counting the parts. */
static size_t runs_of(const conv *v) { return (v->panels + v->panels_per_task - 1) / v->panels_per_task; }

static void set_tasks(conv *v) {
  set_panels(v);
  v->chunk = v->taps < CHUNK_ROWS ? CHUNK_ROWS / v->taps : 1;
  if (v->chunk > v->group_in) v->chunk = v->group_in ? v->group_in : 1;
  size_t panels = v->n_batch * v->groups * v->panels, lanes = (v->group_out + OC_BLOCK - 1) / OC_BLOCK;
  bool fits = v->k > 0 && v->widest > 0 && panels < SHARED_FLOATS / v->widest / v->k;
  bool is_fallback =
    v->weight_at > 0; /* fallback where Winograd cannot transform the input: rare, so it uses little memory */
  if (v->type == RLX_F32 && v->taps <= MAX_TAPS && !is_fallback)
    v->image = cpu_conv_image_plan(v->table, &v->window, v->in, v->out, v->n_batch * v->n_in);
  bool plain = v->type == RLX_F32 && (is_plain(&v->window) || (v->image.is_used && v->taps == 1));
  v->kind = plain && (v->positions <= DIRECT_POSITIONS || v->group_out <= DIRECT_CHANNELS) ? DIRECT
            : panels < MIN_TASKS && fits && !is_fallback                                   ? SHARED
                                                                                           : OWN;
  v->panels_per_task = v->kind == OWN && v->type == RLX_F32 && v->k > 0 && v->k <= SMALL_K && panels >= 4 * MIN_TASKS
                         ? PANELS_PER_TASK
                         : 1;
  v->parts = panels && panels < MIN_TASKS ? (MIN_TASKS + panels - 1) / panels : 1;
  /* A panel that is filled again for each part should be used a few times. */
  size_t max = v->kind == OWN ? (lanes + 3) / 4 : lanes;
  if (v->parts > max) v->parts = max ? max : 1;
  v->part_out = round_up((v->group_out + v->parts - 1) / v->parts, OC_BLOCK);
  v->parts = v->part_out ? (v->group_out + v->part_out - 1) / v->part_out : 0;
  size_t tasks = v->n_batch * v->groups * runs_of(v) * v->parts;
  v->slots = tasks < SLOTS ? tasks : SLOTS;
  v->slot_floats = v->widest * v->part_out + (v->kind == OWN ? v->panels_per_task * v->chunk * v->taps * v->widest : 0);
  v->shared_floats = v->kind == SHARED ? panels * v->k * v->widest : 0;
  v->image_floats = v->image.is_used ? v->image.floats : 0;
  v->packed_floats = v->is_packed ? 0 : v->groups * round_up(v->group_out, OC_BLOCK) * v->k;
}

/* An image of one column, as exporters write one axis: the same memory is a row, whose positions are neighbours for
 * everything below. */
static bool is_column(const conv *v) {
  const rlx_conv_window *w = &v->window;
  return v->in[2] == 1 && v->out[2] == 1 && w->kernel[2] == 1 && !w->pad_lo[2] && !w->pad_hi[2];
}

static void swap_sizes(int64_t *size) {
  int64_t rows = size[1];
  size[1] = size[2];
  size[2] = rows;
}

static void lay_down(conv *v) {
  rlx_conv_window *w = &v->window;
  int64_t *const all[] = {w->kernel, w->stride, w->dilation, w->pad_lo, w->pad_hi, v->in, v->out};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) swap_sizes(all[i]);
}

static rlx_status conv_init(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, uint32_t layout, conv *v) {
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type, *w = &rlx_graph_at(g, n->in[1])->type;
  cpu_conv_node node;
  RLX_TRY(cpu_conv_read(g, n, &node));
  *v = (conv){.table = cpu_conv(isa),
              .window = node.window,
              .type = n->type.dtype,
              .w_type = w->dtype,
              .act = node.act,
              .n_batch = (size_t)x->shape.v[0],
              .n_in = (size_t)x->shape.v[1],
              .n_out = (size_t)w->shape.v[0],
              .groups = (size_t)node.groups,
              .weight_at = layout == CPU_LAYOUT_WINOGRAD ? cpu_winograd_direct_at(&w->shape) : 0,
              .is_packed = layout != CPU_LAYOUT_PLAIN};
  rlx_window_sizes(&x->shape, v->in);
  rlx_window_sizes(&n->type.shape, v->out);
  if (is_column(v)) lay_down(v);
  v->group_in = v->n_in / v->groups;
  v->group_out = v->n_out / v->groups;
  v->taps = (size_t)(v->window.kernel[0] * v->window.kernel[1] * v->window.kernel[2]);
  v->k = v->group_in * v->taps;
  v->positions = (size_t)(v->out[0] * v->out[1] * v->out[2]);
  set_tasks(v);
  return RLX_OK;
}

static uint64_t work_bytes(const conv *v) {
  return (v->slots * v->slot_floats + v->shared_floats + v->packed_floats + v->image_floats) * sizeof(float);
}

static uint32_t preferred(const rlx_claim_query *q, const rlx_node_rec *n, cpu_isa isa, size_t groups) {
  const rlx_type *w = &rlx_graph_at(q->graph, n->in[1])->type;
  if (w->dtype != RLX_F32 || groups > CPU_CONV_MAX_GROUPS) return CPU_LAYOUT_PLAIN;
  return (q->switches & RLX_SWITCH_FAST_CONV) && cpu_winograd_is_faster(q->graph, n, isa)
           ? CPU_LAYOUT_WINOGRAD
           : CPU_LAYOUT_CONV + (uint32_t)groups;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  if (cpu_depthwise_fits(q->graph, n)) {
    if (q->layout && q->layout[1] != CPU_LAYOUT_PLAIN) {
      c->why = "a weight in a layout of another op";
      return false;
    }
    c->work_bytes = cpu_depthwise_work(q->graph, n, isa);
    return true;
  }
  conv v;
  uint32_t layout = q->layout ? q->layout[1] : CPU_LAYOUT_PLAIN;
  if (conv_init(q->graph, n, isa, layout, &v)) {
    c->why = "its sizes are too large";
    return false;
  }
  uint32_t best = preferred(q, n, isa, v.groups);
  if (layout != CPU_LAYOUT_PLAIN && layout != best && layout != CPU_LAYOUT_CONV + v.groups) {
    c->why = "a weight in a layout of another op";
    return false;
  }
  c->work_bytes = work_bytes(&v);
  if (layout == CPU_LAYOUT_WINOGRAD) {
    uint64_t tiles = cpu_winograd_work(q->graph, n, isa);
    if (tiles > c->work_bytes) c->work_bytes = tiles;
  }
  if (!q->layout) c->layout[1] = best;
  return true;
}

static rlx_status find_taps(conv *v, rlx_bump *memory) {
  size_t n = 0;
  v->tap_at = rlx_bump_array(memory, size_t, v->taps);
  if (!v->tap_at) return RLX_FAIL(RLX_NO_MEMORY, "the %zu taps of a conv", v->taps);
  for (int64_t y = 0; y < v->window.kernel[1]; y++)
    for (int64_t x = 0; x < v->window.kernel[2]; x++) v->tap_at[n++] = cpu_conv_image_tap(&v->image, &v->window, y, x);
  return RLX_OK;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  if (cpu_depthwise_fits(c->graph, c->node)) return cpu_depthwise_prepare(c, memory);
  conv *v = rlx_bump_new(memory, conv);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "conv");
  c->prepared = v;
  RLX_TRY(conv_init(c->graph, c->node, c->isa, c->layout[1], v));
  if (v->image.is_used) RLX_TRY(find_taps(v, memory));
  return c->layout[1] == CPU_LAYOUT_WINOGRAD ? cpu_winograd_prepare(c, memory, &v->winograd) : RLX_OK;
}

/* ---- weights: [O][K] to [O/16][K][16] in each group ---- */

static size_t packed_floats(uint32_t layout, const rlx_type *type) {
  size_t groups = layout == CPU_LAYOUT_WINOGRAD ? 1 : layout - CPU_LAYOUT_CONV, n_out = (size_t)type->shape.v[0];
  size_t k = n_out ? rlx_dims_count(&type->shape) / n_out : 0;
  if (groups == 0 || n_out % groups != 0) return 0;
  return groups * round_up(n_out / groups, OC_BLOCK) * k;
}

static uint64_t packed_bytes(cpu_isa isa, uint32_t layout, const rlx_type *type) {
  (void)isa;
  if (layout <= CPU_LAYOUT_CONV || layout > CPU_LAYOUT_WINOGRAD || type->dtype != RLX_F32 || type->shape.n < 3)
    return 0;
  size_t before = layout == CPU_LAYOUT_WINOGRAD ? cpu_winograd_direct_at(&type->shape) : 0;
  return (before + packed_floats(layout, type)) * sizeof(float);
}

static rlx_status repack(cpu_isa isa, uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                         rlx_pool *pool) {
  bool winograd = layout == CPU_LAYOUT_WINOGRAD;
  size_t n_out = (size_t)type->shape.v[0], groups = winograd ? 1 : layout - CPU_LAYOUT_CONV, each = n_out / groups;
  size_t k = n_out ? rlx_dims_count(&type->shape) / n_out : 0;
  size_t before = winograd ? cpu_winograd_direct_at(&type->shape) : 0;
  if (to_layout) memset(dst, 0, (size_t)packed_bytes(isa, layout, type));
  if (to_layout && winograd) cpu_winograd_pack(&type->shape, src, dst, pool);
  for (size_t o = 0; o < n_out; o++)
    for (size_t t = 0; t < k; t++) {
      size_t in_group = o % each, block = o / each * round_up(each, OC_BLOCK) + in_group / OC_BLOCK * OC_BLOCK;
      size_t plain = o * k + t, packed = before + block * k + t * OC_BLOCK + in_group % OC_BLOCK;
      ((float *)dst)[to_layout ? packed : plain] = ((const float *)src)[to_layout ? plain : packed];
    }
  return RLX_OK;
}

const cpu_layout_family cpu_layout_conv = {packed_bytes, repack, NULL, NULL};

static float *shared_panels(const cpu_call *c, const conv *v) { return (float *)c->work + v->slots * v->slot_floats; }

static const float *packed_weight(const cpu_call *c, const conv *v) {
  return v->is_packed ? (const float *)cpu_in(c, 1) + v->weight_at : shared_panels(c, v) + v->shared_floats;
}

static float *image_of(const cpu_call *c, const conv *v) {
  return shared_panels(c, v) + v->shared_floats + v->packed_floats;
}

/* Packs a weight that is bound at run time, or is not f32, by blocks of output channels. */
static void pack_blocks(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  const conv *v = c->prepared;
  size_t lanes = round_up(v->group_out, OC_BLOCK) / OC_BLOCK, size = rlx_dtype_size(v->w_type);
  float *packed = shared_panels(c, v) + v->shared_floats;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    size_t group = i / lanes, first = i % lanes * OC_BLOCK;
    float *to = packed + i * v->k * OC_BLOCK;
    for (size_t j = 0; j < OC_BLOCK; j++) {
      const char *row = (const char *)cpu_in(c, 1) + (group * v->group_out + first + j) * v->k * size;
      for (size_t t = 0; t < v->k; t++) {
        float one = 0;
        if (first + j < v->group_out) cpu_floats_load(c->isa, v->w_type, row + t * size, &one, 1);
        to[t * OC_BLOCK + j] = one;
      }
    }
  }
}

/* ---- panels ---- */

enum { MAX_RUNS = CPU_CONV_MAX_COLUMNS }; /* at worst each column is its own run */

/* The part of a result row inside a panel: columns `column` and on are its elements x and on. */
typedef struct segment {
  size_t column;
  int64_t x, length;
  int64_t z, y; /* of its first tap in the image */
} segment;

static size_t find_segments(const conv *v, size_t first, size_t columns, segment segments[MAX_RUNS]) {
  size_t n = 0, width = (size_t)v->out[2], row = first / width, x = first % width;
  for (size_t j = 0; j < columns; row++, x = 0) {
    size_t length = width - x < columns - j ? width - x : columns - j;
    segments[n++] = (segment){j, (int64_t)x, (int64_t)length, rlx_window_start(&v->window, 0, (int64_t)row / v->out[1]),
                              rlx_window_start(&v->window, 1, (int64_t)row % v->out[1])};
    j += length;
  }
  return n;
}

/* The runs that one tap reads for the segments of a panel. */
static size_t find_runs(const conv *v, const segment *segments, size_t n_segments, const int64_t tap[RLX_SPATIAL],
                        cpu_conv_run runs[MAX_RUNS]) {
  const rlx_conv_window *w = &v->window;
  int64_t from = tap[2] * w->dilation[2] - w->pad_lo[2], stride = w->stride[2]; /* input column of output column 0 */
  size_t n = 0;
  for (size_t i = 0; i < n_segments; i++) {
    const segment *p = &segments[i];
    int64_t z = p->z + tap[0] * w->dilation[0], y = p->y + tap[1] * w->dilation[1], begin = p->x,
            end = p->x + p->length;
    if (y < 0 || y >= v->in[1] || z < 0 || z >= v->in[0]) continue;
    if (begin * stride + from < 0) begin = (-from + stride - 1) / stride;
    if ((end - 1) * stride + from >= v->in[2]) end = v->in[2] > from ? (v->in[2] - from + stride - 1) / stride : 0;
    if (begin < end)
      runs[n++] = (cpu_conv_run){p->column + (size_t)(begin - p->x), (size_t)(end - begin),
                                 (size_t)((z * v->in[1] + y) * v->in[2] + begin * stride + from), (size_t)stride};
  }
  return n;
}

/* Floats of one channel of the source of panels. */
static size_t plane_floats(const conv *v) {
  return v->image.is_used ? v->image.channel_floats : (size_t)(v->in[0] * v->in[1] * v->in[2]);
}

/* Like fill_panel, from the prepared image. */
static void fill_from_image(const conv *v, const float *channel, size_t channels, size_t first, size_t columns,
                            size_t step, float *panel) {
  cpu_conv_segment segments[MAX_RUNS];
  size_t n = 0, width = (size_t)v->out[2], row = first / width, x = first % width;
  for (size_t j = 0, length; j < columns; j += length, row++, x = 0) {
    length = width - x < columns - j ? width - x : columns - j;
    segments[n++] = (cpu_conv_segment){j, length, row * v->image.row_step * v->image.pitch + x};
  }
  for (size_t c = 0; c < channels; c++)
    v->table->fill_taps(channel + c * v->image.channel_floats, v->tap_at, v->taps, segments, n, step,
                        panel + c * v->taps * step);
}

/* Fills the rows (channel, tap) of a panel, for `channels` input channels from `plane` on, `step` floats per row. */
static void fill_panel(const conv *v, const char *plane, size_t channels, size_t first, size_t columns, size_t step,
                       float *panel) {
  if (v->image.is_used) {
    fill_from_image(v, (const float *)(const void *)plane, channels, first, columns, step, panel);
    return;
  }
  size_t tap = 0, plane_bytes = plane_floats(v) * rlx_dtype_size(v->type);
  cpu_conv_run runs[MAX_RUNS];
  segment segments[MAX_RUNS];
  size_t n_segments = find_segments(v, first, columns, segments);
  for (int64_t z = 0; z < v->window.kernel[0]; z++)
    for (int64_t y = 0; y < v->window.kernel[1]; y++)
      for (int64_t x = 0; x < v->window.kernel[2]; x++, tap++) {
        size_t n = find_runs(v, segments, n_segments, (const int64_t[]){z, y, x}, runs);
        for (size_t c = 0; c < channels; c++)
          v->table->fill_row(v->type, plane + c * plane_bytes, runs, n, step, panel + (c * v->taps + tap) * step);
      }
}

/* ---- one task: a panel of positions times a part of the output channels of a group ---- */

typedef struct task {
  size_t sample, group, index; /* index: of the panel, among all */
  size_t first, columns, step; /* its positions, and its row stride in floats */
  const char *image;           /* the group's planes */
} task;

static task panel_task(const cpu_call *c, const conv *v, size_t index) {
  size_t plane = index / v->panels, max = v->table->vecs * v->table->lanes;
  task t = {.sample = plane / v->groups, .group = plane % v->groups, .index = index, .first = index % v->panels * max};
  t.columns = cpu_conv_columns(v->table, v->positions - t.first);
  t.step = v->kind == DIRECT ? v->positions : round_up(t.columns, v->table->lanes);
  size_t channel = t.sample * v->n_in + t.group * v->group_in;
  t.image = (v->image.is_used ? (const char *)image_of(c, v) : (const char *)cpu_in(c, 0)) +
            channel * plane_floats(v) * rlx_dtype_size(v->type);
  return t;
}

/* The panel's rows of input channels `done` and on. */
static const float *panel_at(const cpu_call *c, const conv *v, const task *t, size_t done, size_t channels,
                             float *own) {
  if (v->kind == DIRECT) return (const float *)(const void *)t->image + done * v->positions + t->first;
  if (v->kind == SHARED) return shared_panels(c, v) + t->index * v->k * v->widest + done * v->taps * t->step;
  fill_panel(v, t->image + done * plane_floats(v) * rlx_dtype_size(v->type), channels, t->first, t->columns, t->step,
             own);
  return own;
}

/* The epilogue of results that are not f32: from acc. f32 results get theirs in registers. */
static void finish_acc(const cpu_call *c, const conv *v, const task *t, size_t channel, size_t n_out, const float *acc,
                       size_t step) {
  size_t size = rlx_dtype_size(v->type);
  for (size_t o = 0; o < n_out; o++) {
    size_t at = (t->sample * v->n_out + channel + o) * v->positions + t->first;
    cpu_conv_epilogue end = cpu_conv_epilogue_of(c, v->act, channel + o, at);
    v->table->finish(&end, acc + o * step, (char *)c->out + at * size, t->columns);
  }
}

static cpu_conv_out out_of(const cpu_call *c, const conv *v, const task *t, size_t channel) {
  size_t at = (t->sample * v->n_out + channel) * v->positions + t->first;
  const float *bias = cpu_in(c, 2), *residual = cpu_in(c, 3);
  return (cpu_conv_out){.act = v->act,
                        .bias = bias ? bias + channel : NULL,
                        .residual = residual ? residual + at : NULL,
                        .dst = (float *)c->out + at,
                        .step = v->positions};
}

static void run_task(const cpu_call *c, const conv *v, const task *t, size_t part, float *memory) {
  size_t begin = part * v->part_out, step = round_up(t->columns, v->table->lanes),
         channel = t->group * v->group_out + begin;
  size_t n_out = v->group_out - begin < v->part_out ? v->group_out - begin : v->part_out;
  float *acc = memory, *own = memory + v->widest * v->part_out;
  const float *w = packed_weight(c, v) + (t->group * round_up(v->group_out, OC_BLOCK) + begin) * v->k;
  for (size_t done = 0; done < v->group_in || done == 0; done += v->chunk) {
    size_t channels = v->group_in - done < v->chunk ? v->group_in - done : v->chunk;
    bool is_last = done + channels >= v->group_in && v->type == RLX_F32;
    const float *panel = panel_at(c, v, t, done, channels, own);
    for (size_t o = 0; o < n_out; o += OC_BLOCK) {
      cpu_conv_out out = {0};
      if (is_last) out = out_of(c, v, t, channel + o);
      v->table->multiply(w + o * v->k + done * v->taps * OC_BLOCK, panel, t->step, channels * v->taps, t->columns,
                         n_out - o < OC_BLOCK ? n_out - o : OC_BLOCK, done > 0, acc + o * step, step,
                         is_last ? &out : NULL);
    }
  }
  if (v->type != RLX_F32) finish_acc(c, v, t, channel, n_out, acc, step);
}

/* Several panels of few taps, which fit in the L1 cache together. The channel loop is outside, so that each channel's
 * results are written as one run. */
static void run_small(const cpu_call *c, const conv *v, size_t first, size_t n, size_t part, float *memory) {
  task t[PANELS_PER_TASK];
  const float *panel[PANELS_PER_TASK];
  float *own = memory + v->widest * v->part_out;
  for (size_t i = 0; i < n; i++) {
    t[i] = panel_task(c, v, first + i);
    panel[i] = panel_at(c, v, &t[i], 0, v->group_in, own + i * v->k * v->widest);
  }
  size_t begin = part * v->part_out, channel = t[0].group * v->group_out + begin;
  size_t n_out = v->group_out - begin < v->part_out ? v->group_out - begin : v->part_out;
  const float *w = packed_weight(c, v) + (t[0].group * round_up(v->group_out, OC_BLOCK) + begin) * v->k;
  for (size_t o = 0; o < n_out; o += OC_BLOCK)
    for (size_t i = 0; i < n; i++) {
      cpu_conv_out out = out_of(c, v, &t[i], channel + o);
      v->table->multiply(w + o * v->k, panel[i], t[i].step, v->k, t[i].columns,
                         n_out - o < OC_BLOCK ? n_out - o : OC_BLOCK, false, memory, v->widest, &out);
    }
}

static void run_item(const cpu_call *c, size_t i, float *memory) {
  const conv *v = c->prepared;
  size_t runs = runs_of(v), run = i / v->parts, first = run / runs * v->panels + run % runs * v->panels_per_task;
  size_t left = v->panels - run % runs * v->panels_per_task;
  if (v->panels_per_task > 1) {
    run_small(c, v, first, left < v->panels_per_task ? left : v->panels_per_task, i % v->parts, memory);
    return;
  }
  task t = panel_task(c, v, first);
  run_task(c, v, &t, i % v->parts, memory);
}

/* Fills some input channels of the shared panels. */
static void fill_shared(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  const conv *v = c->prepared;
  size_t chunks = (v->group_in - 1) / v->chunk + 1;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    task t = panel_task(c, v, i / chunks);
    size_t done = i % chunks * v->chunk, channels = v->group_in - done < v->chunk ? v->group_in - done : v->chunk;
    fill_panel(v, t.image + done * plane_floats(v) * rlx_dtype_size(v->type), channels, t.first, t.columns, t.step,
               shared_panels(c, v) + t.index * v->k * v->widest + done * v->taps * t.step);
  }
}

static void prepare_images(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  const conv *v = c->prepared;
  size_t plane = (size_t)(v->in[1] * v->in[2]);
  (void)thread;
  for (size_t i = begin; i < end; i++)
    cpu_conv_image_make(&v->image, v->table, &v->window, v->in, (const float *)cpu_in(c, 0) + i * plane,
                        image_of(c, v) + i * v->image.channel_floats);
}

static void run_direct(const cpu_call *c, const conv *v) {
  size_t panels = v->n_batch * v->groups * v->panels, n = v->n_batch * v->groups * runs_of(v) * v->parts;
  if (!v->is_packed) {
    size_t lanes = v->groups * round_up(v->group_out, OC_BLOCK) / OC_BLOCK;
    cpu_parallel(c->pool, lanes, cpu_grain(lanes, (double)(v->k * OC_BLOCK) * 2.0), pack_blocks, (void *)(uintptr_t)c);
  }
  if (v->image.is_used) {
    size_t channels = v->n_batch * v->n_in;
    double cost = (double)v->image.channel_floats * 0.2;
    cpu_parallel(c->pool, channels, cpu_grain(channels, cost), prepare_images, (void *)(uintptr_t)c);
  }
  if (v->kind == SHARED) {
    size_t fills = panels * ((v->group_in - 1) / v->chunk + 1);
    double cost = (double)(v->chunk * v->taps) * 8.0;
    cpu_parallel(c->pool, fills, cpu_grain(fills, cost), fill_shared, (void *)(uintptr_t)c);
  }
  double work = (double)v->n_batch * (double)v->n_out * (double)v->k * (double)v->positions / 50.0; /* nanoseconds */
  cpu_slots_run(c, n, v->slots, v->slot_floats, work / (double)(n ? n : 1), run_item);
}

static rlx_status run(const cpu_call *c) {
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  if (cpu_depthwise_fits(c->graph, c->node)) return cpu_depthwise_run(c);
  const conv *v = c->prepared;
  if (!v->winograd || !cpu_winograd_run(c, v->winograd)) run_direct(c, v);
  return RLX_OK;
}

const cpu_kernel cpu_conv_kernel = {
  .claim = claim, .prepare = prepare, .run = run, .takes_layouts = true, .no_f64 = true};
