/* Depthwise convolution, 1-d and 2-d: a row of the result is a weighted sum, over the taps, of shifted rows of the
 * input.
 *
 * The common ones run a plane at a time: f32, no dilation, stride 1 or 2 along the row. Kernels of 3x3 and 5x5 with
 * padding of half their size read rows from the input and shift them in registers. For other kernels a plane of at most
 * MAX_PLANE_FLOATS is copied once with its padding.
 *
 * All others use a ring buffer of the rows that the window covers. Each input row is copied into it once, as f32, with
 * zeros for the padding on both sides. In both copies the columns are sorted by their phase within the stride, so that
 * every tap of any stride reads contiguous elements. A task is a plane; its slot of work memory holds the copy or the
 * ring, and one row of sums. */
#include "cpu/conv_depthwise.h"

#include <string.h>

#include "cpu/conv.h"
#include "cpu/pointwise.h"
#include "cpu/slots.h"
#include "ir/conv_dims.h"

enum {
  SLOTS = 32,
  LARGE_SLOTS = 8,
  MAX_RING_FLOATS = 1 << 20,
  MAX_PLANE_FLOATS = 1 << 17,
  SMALL_FLOATS = 1 << 12,
  MAX_TAPS = 512,
  LARGE_PLANE = 1 << 27, /* products above which a plane runs in bands of rows, */
  BAND = 1 << 21         /* of so many products or one row, with a poll between */
};

typedef struct depthwise {
  const cpu_conv_table *table;
  rlx_conv_window window;
  rlx_dtype type, w_type;
  int32_t act;
  int64_t groups;
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL];
  size_t planes, n_in, n_out, multiple; /* result planes; channels; results per input channel */
  size_t ring;                          /* rows of the ring */
  size_t phase, row;                    /* floats of a phase of a row, and of a row */
  size_t slots, slot_floats;
  bool by_planes;
  bool reads_input;   /* no copy is needed; otherwise: */
  size_t padded_rows; /* of the padded copy */
} depthwise;

/* Sets by_planes where it applies. The copy has the rows and columns that the windows reach and some vectors after
 * them. */
static void set_planes(depthwise *d) {
  const rlx_conv_window *v = &d->window;
  if (d->type != RLX_F32 || d->w_type != RLX_F32 || v->dilation[1] != 1 || v->dilation[2] != 1 || v->stride[2] > 2)
    return;
  int64_t k = v->kernel[2];
  d->reads_input = (k == 3 || k == 5) && v->kernel[1] == k && v->pad_lo[2] == k / 2;
  if (d->reads_input) {
    d->by_planes = true;
    d->slot_floats = 0;
    return;
  }
  d->padded_rows = (size_t)((d->out[1] - 1) * v->stride[1] + v->kernel[1]);
  if (d->out[1] < 1 || d->out[2] < 1 || d->padded_rows > MAX_PLANE_FLOATS || d->row > MAX_PLANE_FLOATS ||
      d->padded_rows * d->row > MAX_PLANE_FLOATS || d->padded_rows < (size_t)v->pad_lo[1] ||
      d->phase < (size_t)v->pad_lo[2] || (size_t)v->pad_lo[2] > 2 * d->table->lanes)
    return;
  d->by_planes = true;
  d->slot_floats = (d->padded_rows * d->row + 8 * d->table->lanes + 15) / 16 * 16;
  if (d->slot_floats > SMALL_FLOATS && d->slots > LARGE_SLOTS) d->slots = LARGE_SLOTS;
}

static rlx_status depthwise_init(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, depthwise *d) {
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type, *w = &rlx_graph_at(g, n->in[1])->type;
  *d = (depthwise){.table = cpu_conv(isa), .type = n->type.dtype, .w_type = w->dtype};
  cpu_conv_node node;
  RLX_TRY(cpu_conv_read(g, n, &node));
  d->window = node.window;
  d->act = node.act;
  d->groups = node.groups;
  rlx_window_sizes(&x->shape, d->in);
  rlx_window_sizes(&n->type.shape, d->out);
  d->n_in = (size_t)x->shape.v[1];
  d->n_out = (size_t)w->shape.v[0];
  d->multiple = d->n_in ? d->n_out / d->n_in : 0;
  d->planes = (size_t)x->shape.v[0] * d->n_out;
  const rlx_conv_window *v = &d->window;
  d->ring = (size_t)((v->kernel[1] - 1) * v->dilation[1] + 1);
  d->phase = (size_t)(d->out[2] + (v->kernel[2] - 1) * v->dilation[2] / v->stride[2] + 1);
  d->row = d->phase * (size_t)v->stride[2];
  d->slots = d->planes < SLOTS ? d->planes : SLOTS;
  d->slot_floats = (d->ring * d->row + (size_t)d->out[2] + 15) / 16 * 16;
  set_planes(d);
  return RLX_OK;
}

bool cpu_depthwise_fits(const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type, *w = &rlx_graph_at(g, n->in[1])->type;
  depthwise d;
  return w->shape.v[1] == 1 && x->shape.n < 5 && !depthwise_init(g, n, CPU_ISA_FIRST, &d) &&
         d.groups == x->shape.v[1] && d.ring < MAX_RING_FLOATS && d.row < MAX_RING_FLOATS &&
         d.ring * d.row < MAX_RING_FLOATS && d.window.kernel[1] * d.window.kernel[2] <= MAX_TAPS;
}

uint64_t cpu_depthwise_work(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa) {
  depthwise d;
  return depthwise_init(g, n, isa, &d) ? 0 : d.slots * d.slot_floats * sizeof(float);
}

rlx_status cpu_depthwise_prepare(cpu_call *c, rlx_bump *memory) {
  depthwise *d = rlx_bump_new(memory, depthwise);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "conv");
  c->prepared = d;
  return depthwise_init(c->graph, c->node, c->isa, d);
}

/* Copies input row y, which may be padding, into its row of the ring: column i * stride + phase - pad_lo at
 * [phase][i]. */
static void copy_row(const cpu_call *c, const depthwise *d, const char *plane, int64_t y, float *row) {
  const rlx_conv_window *w = &d->window;
  size_t stride = (size_t)w->stride[2], size = rlx_dtype_size(d->type);
  memset(row, 0, d->row * sizeof *row);
  if (y < 0 || y >= d->in[1]) return;
  const char *from = plane + (size_t)(y * d->in[2]) * size;
  for (size_t phase = 0; phase < stride; phase++) {
    int64_t first = (int64_t)phase - w->pad_lo[2]; /* input column of element 0 */
    int64_t begin = first < 0 ? (-first + w->stride[2] - 1) / w->stride[2] : 0;
    float *to = row + phase * d->phase;
    if (stride == 1) {
      int64_t n = d->in[2] - (begin + first), left = (int64_t)d->phase - begin;
      if (n > left) n = left;
      if (n > 0) cpu_floats_load(c->isa, d->type, from + (size_t)(begin + first) * size, to + begin, (size_t)n);
      continue;
    }
    int64_t end = d->in[2] > first ? (d->in[2] - first + w->stride[2] - 1) / w->stride[2] : 0;
    if (end > (int64_t)d->phase) end = (int64_t)d->phase;
    if (d->type == RLX_F32 && begin < end) {
      d->table->copy_strided((const float *)(const void *)from + (begin * w->stride[2] + first), stride, to + begin,
                             (size_t)(end - begin));
      continue;
    }
    for (int64_t i = begin; i < end; i++)
      cpu_floats_load(c->isa, d->type, from + (size_t)(i * w->stride[2] + first) * size, to + i, 1);
  }
}

static void run_row(const depthwise *d, const float *ring, int64_t y, const float *weights, float *sums) {
  const rlx_conv_window *w = &d->window;
  const float *taps[MAX_TAPS];
  size_t n = 0, stride = (size_t)w->stride[2];
  for (int64_t ky = 0; ky < w->kernel[1]; ky++) {
    int64_t from = y * w->stride[1] + ky * w->dilation[1]; /* in rows of the padded image */
    const float *row = ring + (size_t)from % d->ring * d->row;
    for (int64_t kx = 0; kx < w->kernel[2]; kx++) {
      size_t column = (size_t)(kx * w->dilation[2]);
      taps[n++] = row + column % stride * d->phase + column / stride;
    }
  }
  d->table->add_taps(weights, taps, n, sums, (size_t)d->out[2]);
}

static void run_plane(const cpu_call *c, size_t plane, float *ring) {
  const depthwise *d = c->prepared;
  const rlx_conv_window *w = &d->window;
  float widened[MAX_TAPS], *sums = ring + d->ring * d->row;
  size_t channel = plane % d->n_out, size = rlx_dtype_size(d->type), w_size = rlx_dtype_size(d->w_type);
  size_t source = plane / d->n_out * d->n_in + channel / d->multiple, taps = (size_t)(w->kernel[1] * w->kernel[2]);
  const char *x = (const char *)cpu_in(c, 0) + source * (size_t)(d->in[1] * d->in[2]) * size;
  const char *weights = (const char *)cpu_in(c, 1) + channel * taps * w_size;
  bool is_direct = d->w_type == RLX_F32;
  if (!is_direct) cpu_floats_load(c->isa, d->w_type, weights, widened, taps);
  int64_t copied = 0; /* end of the padded rows copied so far */
  size_t done = 0, row_ns = (size_t)d->out[2] * taps / 8 + 1;
  for (int64_t y = 0; y < d->out[1] && !cpu_stops_after(&done, row_ns); y++) {
    int64_t first = y * w->stride[1], end = first + (int64_t)d->ring;
    if (copied < first) copied = first; /* rows skipped by the stride */
    for (; copied < end; copied++) copy_row(c, d, x, copied - w->pad_lo[1], ring + (size_t)copied % d->ring * d->row);
    run_row(d, ring, y, is_direct ? (const float *)(const void *)weights : widened, sums);
    size_t at = (plane * (size_t)d->out[1] + (size_t)y) * (size_t)d->out[2];
    cpu_conv_epilogue epilogue = cpu_conv_epilogue_of(c, d->act, channel, at);
    d->table->finish(&epilogue, sums, (char *)c->out + at * size, (size_t)d->out[2]);
  }
}

static cpu_depthwise_plane plane_of(const cpu_call *c, const depthwise *d, size_t plane, float *padded) {
  const rlx_conv_window *w = &d->window;
  size_t channel = plane % d->n_out, source = plane / d->n_out * d->n_in + channel / d->multiple;
  size_t at = plane * (size_t)(d->out[1] * d->out[2]);
  return (cpu_depthwise_plane){.x = (const float *)cpu_in(c, 0) + source * (size_t)(d->in[1] * d->in[2]),
                               .w = (const float *)cpu_in(c, 1) + channel * (size_t)(w->kernel[1] * w->kernel[2]),
                               .padded = padded,
                               .rows = (size_t)d->in[1],
                               .width = (size_t)d->in[2],
                               .pad_rows = (size_t)w->pad_lo[1],
                               .pad = (size_t)w->pad_lo[2],
                               .padded_rows = d->padded_rows,
                               .phase = d->phase,
                               .kernel_rows = (size_t)w->kernel[1],
                               .kernel = (size_t)w->kernel[2],
                               .stride_rows = (size_t)w->stride[1],
                               .stride = (size_t)w->stride[2],
                               .out_rows = (size_t)d->out[1],
                               .n = (size_t)d->out[2],
                               .out = (float *)c->out + at,
                               .end = cpu_conv_epilogue_of(c, d->act, channel, at)};
}

/* Rows first .. end - 1 of a plane that is read from the input. Rows of the input above them are left out, or are
 * padding. */
static cpu_depthwise_plane band_of(const cpu_depthwise_plane *whole, size_t first, size_t end) {
  cpu_depthwise_plane band = *whole;
  size_t from = first * whole->stride_rows; /* in the padded plane */
  size_t above = from > whole->pad_rows ? from - whole->pad_rows : 0;
  if (above > whole->rows) above = whole->rows;
  band.x += above * whole->width;
  band.rows -= above;
  band.pad_rows -= from < whole->pad_rows ? from : whole->pad_rows;
  band.out_rows = end - first;
  band.out += first * whole->n;
  if (whole->end.residual) band.end.residual = (const float *)whole->end.residual + first * whole->n;
  return band;
}

static void run_whole(const cpu_call *c, size_t plane, float *padded) {
  const depthwise *d = c->prepared;
  cpu_depthwise_plane p = plane_of(c, d, plane, d->reads_input ? NULL : padded);
  if (!d->reads_input) d->table->pad_plane(&p);
  size_t row = p.n * p.kernel * p.kernel_rows;
  if (!d->reads_input || p.out_rows * row <= LARGE_PLANE) {
    d->table->depthwise(&p);
    return;
  }
  size_t step = BAND / row + 1;
  for (size_t y = 0; y < p.out_rows && !cpu_stops(); y += step) {
    cpu_depthwise_plane band = band_of(&p, y, p.out_rows - y < step ? p.out_rows : y + step);
    d->table->depthwise(&band);
  }
}

rlx_status cpu_depthwise_run(const cpu_call *c) {
  const depthwise *d = c->prepared;
  size_t taps = (size_t)(d->window.kernel[1] * d->window.kernel[2]), positions = (size_t)(d->out[1] * d->out[2]);
  double plane_cost = (double)(positions * (taps + 4)) / (d->by_planes ? 30.0 : 8.0); /* nanoseconds, about */
  cpu_slots_run(c, d->planes, d->slots, d->slot_floats, plane_cost, d->by_planes ? run_whole : run_plane);
  return RLX_OK;
}
