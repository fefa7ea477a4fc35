/* conv: claims, weights, tasks. conv.h says how the product is made; conv_depthwise.c has the other way. */
#include "cpu/conv.h"

#include "cpu/conv_depthwise.h"
#include "cpu/pointwise.h"
#include "cpu/slots.h"
#include "ir/conv_dims.h"
#include "ref/ref.h"

enum {
  LANE = CPU_CONV_CHANNELS,
  CHUNK_ROWS = 128, /* taps of a panel: what stays in the first cache */
  SLOTS = 32,       /* tasks at one time, each with a panel of its own */
  FEW_TASKS = 16    /* with fewer, the output channels are cut too */
};

typedef struct conv {
  const cpu_conv_table *table;
  rlx_conv_window window;
  rlx_dtype type, w_type;
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL];
  size_t n_batch, n_in, n_out, groups; /* channels of all groups */
  size_t each_in, each_out;            /* of one group */
  size_t taps, k, places;              /* of the kernel; each_in * taps; output places of a plane */
  size_t chunk;                        /* input channels of a panel */
  size_t panels, parts, part_out;      /* tasks of a (sample, group): panels by parts of part_out output channels */
  size_t slots, slot_floats, packed_floats;
  bool is_packed;
} conv;

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* ---- sizes ---- */

static void set_tasks(conv *v) {
  size_t columns = v->table->columns;
  v->chunk = v->taps < CHUNK_ROWS ? CHUNK_ROWS / v->taps : 1;
  if (v->chunk > v->each_in) v->chunk = v->each_in ? v->each_in : 1;
  v->panels = (v->places + columns - 1) / columns;
  size_t tasks = v->n_batch * v->groups * v->panels, lanes = (v->each_out + LANE - 1) / LANE;
  v->parts = tasks && tasks < FEW_TASKS ? (FEW_TASKS + tasks - 1) / tasks : 1;
  size_t most = (lanes + 3) / 4; /* a panel is filled for each part: it should be used a few times */
  if (v->parts > most) v->parts = most ? most : 1;
  v->part_out = round_up((v->each_out + v->parts - 1) / v->parts, LANE);
  v->parts = v->part_out ? (v->each_out + v->part_out - 1) / v->part_out : 0;
  tasks *= v->parts;
  v->slots = tasks < SLOTS ? tasks : SLOTS;
  v->slot_floats = round_up(columns * (v->chunk * v->taps + v->part_out), 16);
  v->packed_floats = v->is_packed ? 0 : v->groups * round_up(v->each_out, LANE) * v->k;
}

static rlx_status conv_init(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, uint32_t layout, conv *v) {
  const rlx_attrs_conv *a = n->attrs;
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type, *w = &rlx_graph_at(g, n->in[1])->type;
  *v = (conv){.table = cpu_conv(isa),
              .type = n->type.dtype,
              .w_type = w->dtype,
              .n_batch = (size_t)x->shape.v[0],
              .n_in = (size_t)x->shape.v[1],
              .n_out = (size_t)w->shape.v[0],
              .groups = (size_t)a->groups,
              .is_packed = layout != CPU_LAYOUT_PLAIN};
  RLX_TRY(RLX_WINDOW_READ(a, w->shape.v + 2, x->shape.n - 2, &v->window));
  rlx_window_sizes(&x->shape, v->in);
  rlx_window_sizes(&n->type.shape, v->out);
  v->each_in = v->n_in / v->groups;
  v->each_out = v->n_out / v->groups;
  v->taps = (size_t)(v->window.kernel[0] * v->window.kernel[1] * v->window.kernel[2]);
  v->k = v->each_in * v->taps;
  v->places = (size_t)(v->out[0] * v->out[1] * v->out[2]);
  set_tasks(v);
  return RLX_OK;
}

/* A packed weight does not know its groups: whole lanes in each, or one group. */
static bool wants_layout(const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_type *w = &rlx_graph_at(g, n->in[1])->type;
  int64_t groups = RLX_ATTRS(conv, n)->groups;
  return w->dtype == RLX_F32 && (groups == 1 || w->shape.v[0] / groups % LANE == 0);
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  if (cpu_depthwise_fits(q->graph, n)) {
    c->work_bytes = cpu_depthwise_work(q->graph, n, isa);
    return true;
  }
  conv v;
  if (conv_init(q->graph, n, isa, q->layout ? q->layout[1] : CPU_LAYOUT_PLAIN, &v)) {
    c->why = "its sizes are too large";
    return false;
  }
  c->work_bytes = (v.slots * v.slot_floats + v.packed_floats) * sizeof(float);
  if (!q->layout && wants_layout(q->graph, n)) c->layout[1] = CPU_LAYOUT_CONV;
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  if (cpu_depthwise_fits(c->graph, c->node)) return cpu_depthwise_prepare(c, memory);
  conv *v = rlx_bump_new(memory, conv);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "conv");
  c->prepared = v;
  return conv_init(c->graph, c->node, c->isa, c->layout[1], v);
}

/* ---- weights: [O][K] to [O/8][K][8] ---- */

static uint64_t packed_bytes(cpu_isa isa, uint32_t layout, const rlx_type *type) {
  (void)isa;
  if (layout != CPU_LAYOUT_CONV || type->dtype != RLX_F32 || type->shape.n < 3) return 0;
  uint64_t k = 1;
  for (int i = 1; i < type->shape.n; i++) k *= (uint64_t)type->shape.v[i];
  return round_up((size_t)type->shape.v[0], LANE) * k * sizeof(float);
}

static rlx_status repack(cpu_isa isa, uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                         rlx_pool *pool) {
  (void)isa, (void)pool;
  size_t n_out = (size_t)type->shape.v[0];
  size_t k = n_out ? rlx_dims_count(&type->shape) / n_out : 0;
  if (to_layout) memset(dst, 0, packed_bytes(isa, layout, type));
  for (size_t o = 0; o < n_out; o++)
    for (size_t t = 0; t < k; t++) {
      size_t plain = o * k + t, packed = (o / LANE * k + t) * LANE + o % LANE;
      ((float *)dst)[to_layout ? packed : plain] = ((const float *)src)[to_layout ? plain : packed];
    }
  return RLX_OK;
}

const cpu_layout_family cpu_layout_conv = {packed_bytes, repack, NULL};

/* A weight that comes with the run, or is not f32: packed by rows of output channels. */
static void pack_lane(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  const conv *v = c->prepared;
  size_t lanes = round_up(v->each_out, LANE) / LANE, size = rlx_dtype_size(v->w_type);
  float *packed = (float *)c->work + v->slots * v->slot_floats;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    size_t group = i / lanes, first = i % lanes * LANE;
    float *to = packed + i * v->k * LANE;
    for (size_t j = 0; j < LANE; j++) {
      const char *row = (const char *)cpu_in(c, 1) + (group * v->each_out + first + j) * v->k * size;
      for (size_t t = 0; t < v->k; t++) {
        float one = 0;
        if (first + j < v->each_out) cpu_floats_load(c->isa, v->w_type, row + t * size, &one, 1);
        to[t * LANE + j] = one;
      }
    }
  }
}

/* ---- panels ---- */

enum { MOST_RUNS = 48 }; /* a column can be a run of its own */

/* The runs of one tap over the columns of a panel that begins at output place `first`. */
static size_t find_runs(const conv *v, size_t first, size_t columns, const int64_t tap[RLX_SPATIAL],
                        cpu_conv_run runs[MOST_RUNS]) {
  const rlx_conv_window *w = &v->window;
  size_t n = 0;
  for (size_t j = 0; j < columns;) {
    size_t place = first + j, row = place / (size_t)v->out[2];
    int64_t x = (int64_t)(place % (size_t)v->out[2]), left = v->out[2] - x, y, z;
    if (left > (int64_t)(columns - j)) left = (int64_t)(columns - j);
    y = rlx_window_start(w, 1, (int64_t)row % v->out[1]) + tap[1] * w->dilation[1];
    z = rlx_window_start(w, 0, (int64_t)row / v->out[1]) + tap[0] * w->dilation[0];
    int64_t from = tap[2] * w->dilation[2] - w->pad_lo[2]; /* input column of output column 0 */
    int64_t begin = x, end = x + left, stride = w->stride[2];
    if (begin * stride + from < 0) begin = (-from + stride - 1) / stride;
    if ((end - 1) * stride + from >= v->in[2]) end = v->in[2] > from ? (v->in[2] - from + stride - 1) / stride : 0;
    if (y >= 0 && y < v->in[1] && z >= 0 && z < v->in[0] && begin < end)
      runs[n++] = (cpu_conv_run){j + (size_t)(begin - x), (size_t)(end - begin),
                                 (size_t)((z * v->in[1] + y) * v->in[2] + begin * stride + from), (size_t)stride};
    j += (size_t)left;
  }
  return n;
}

/* Rows (channel, tap) of a panel, for `channels` input channels from `plane` on. */
static void fill_panel(const conv *v, const char *plane, size_t channels, size_t first, size_t columns, float *panel) {
  size_t tap = 0, width = v->table->columns;
  size_t plane_bytes = (size_t)(v->in[0] * v->in[1] * v->in[2]) * rlx_dtype_size(v->type);
  cpu_conv_run runs[MOST_RUNS];
  for (int64_t z = 0; z < v->window.kernel[0]; z++)
    for (int64_t y = 0; y < v->window.kernel[1]; y++)
      for (int64_t x = 0; x < v->window.kernel[2]; x++, tap++) {
        size_t n = find_runs(v, first, columns, (const int64_t[]){z, y, x}, runs);
        for (size_t c = 0; c < channels; c++)
          v->table->fill_row(v->type, plane + c * plane_bytes, runs, n, panel + (c * v->taps + tap) * width);
      }
}

/* ---- one task: a panel of places times a part of the output channels of a group ---- */

typedef struct task {
  size_t sample, group, panel, part;
  float *memory;
} task;

static void store_part(const cpu_call *c, const conv *v, const task *t, size_t n_out, size_t first, size_t columns,
                       const float *acc) {
  size_t channel = t->group * v->each_out + t->part * v->part_out, size = rlx_dtype_size(v->type);
  for (size_t o = 0; o < n_out; o++) {
    float bias = 0;
    if (cpu_in(c, 2)) cpu_floats_load(c->isa, v->type, (const char *)cpu_in(c, 2) + (channel + o) * size, &bias, 1);
    char *to = (char *)c->out + ((t->sample * v->n_out + channel + o) * v->places + first) * size;
    v->table->finish(v->type, acc + o * v->table->columns, bias, to, columns);
  }
}

static void run_task(const cpu_call *c, const conv *v, const task *t) {
  size_t width = v->table->columns, first = t->panel * width;
  size_t columns = v->places - first < width ? v->places - first : width, begin = t->part * v->part_out;
  size_t n_out = v->each_out - begin < v->part_out ? v->each_out - begin : v->part_out;
  size_t plane_bytes = (size_t)(v->in[0] * v->in[1] * v->in[2]) * rlx_dtype_size(v->type);
  float *panel = t->memory, *acc = panel + v->chunk * v->taps * width;
  const float *w = v->is_packed ? cpu_in(c, 1) : (const float *)c->work + v->slots * v->slot_floats;
  w += (t->group * round_up(v->each_out, LANE) + begin) * v->k;
  for (size_t done = 0; done < v->each_in || done == 0; done += v->chunk) {
    size_t channels = v->each_in - done < v->chunk ? v->each_in - done : v->chunk;
    size_t plane = t->sample * v->n_in + t->group * v->each_in + done;
    fill_panel(v, (const char *)cpu_in(c, 0) + plane * plane_bytes, channels, first, columns, panel);
    for (size_t o = 0; o < n_out; o += LANE)
      v->table->multiply(w + o * v->k + done * v->taps * LANE, panel, channels * v->taps, done > 0, acc + o * width);
    if (v->each_in == 0) break;
  }
  store_part(c, v, t, n_out, first, columns, acc);
}

static void run_item(const cpu_call *c, size_t i, float *memory) {
  const conv *v = c->prepared;
  size_t rest = i / v->parts / v->panels;
  task t = {rest / v->groups, rest % v->groups, i / v->parts % v->panels, i % v->parts, memory};
  run_task(c, v, &t);
}

static rlx_status run(const cpu_call *c) {
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  if (cpu_depthwise_fits(c->graph, c->node)) return cpu_depthwise_run(c);
  const conv *v = c->prepared;
  if (!v->is_packed) {
    size_t lanes = v->groups * round_up(v->each_out, LANE) / LANE;
    cpu_parallel(c->pool, lanes, cpu_grain(lanes, (double)(v->k * LANE) * 2.0), pack_lane, (void *)(uintptr_t)c);
  }
  double work =
    (double)v->n_batch * (double)v->n_out * (double)v->k * (double)v->places / 32.0; /* nanoseconds, about */
  size_t n = v->n_batch * v->groups * v->panels * v->parts;
  cpu_slots_run(c, n, v->slots, v->slot_floats, work / (double)(n ? n : 1), run_item);
  return RLX_OK;
}

const cpu_kernel cpu_conv_kernel = {
  .claim = claim, .prepare = prepare, .run = run, .takes_layouts = true, .no_f64 = true};
