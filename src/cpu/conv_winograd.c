/* 3x3 convolution of stride 1 by Winograd's F(4x4, 3x3).
 *
 * The image is divided into 6x6 tiles that overlap by two; each produces a 4x4 tile of the result. For one input and
 * one output channel, a tile d and a kernel g give y = A^T [(G g G^T) . (B^T d B)] A with small constant matrices. The
 * dot stands for 36 elementwise products: 36 for 16 results, not 144. Over all channels, each of the 36 elements is a
 * GEMM of its own, [O, C] by [C, tiles], which uses the inner loop of the direct algorithm. G g G^T is computed in f64
 * when the weight is loaded.
 *
 * Tiles are processed in batches of whole rows of tiles, as many as fit in BATCH_FLOATS after the transform. A batch
 * has two stages, each parallel over the threads. The first goes by input channels and transforms the image, to
 * [blocks][36][C][tiles of a block]. The second goes by blocks of tiles and parts of the output channels, and computes
 * the 36 products and the inverse transform. The first stage begins by sorting a channel's rows by position within a
 * tile (split_row), so that vectors hold neighbouring tiles.
 *
 * The transforms add and subtract. So an infinity, a NaN or a value near the end of the range would spread over its
 * tile. If the image or the weight holds one, the whole node runs the direct algorithm; the packed weight contains the
 * direct layout for it. The error of finite values is about twice that of the direct algorithm
 * (docs/performance.md). */
#include "cpu/conv_winograd.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/slots.h"

enum {
  OC_BLOCK = CPU_CONV_CHANNELS,
  ELEMENTS = CPU_WINOGRAD_ELEMENTS,
  TILE = CPU_WINOGRAD_TILE,
  OUT = CPU_WINOGRAD_OUT,
  SLOTS = 16,
  CHUNK = 128,            /* input channels per step: what fits in the L1 cache */
  BATCH_FLOATS = 3 << 18, /* approximate size of a batch's transformed tiles */
  MAX_TILES = 1024,       /* in a row of tiles */
  MIN_CHANNELS = 8,
  MIN_TASKS = 16,
  LINE = 16 /* floats: strides of whole pages would map to the same cache set */
};

struct cpu_winograd {
  const cpu_conv_table *table;
  int32_t act;
  size_t n_batch, n_in, n_out, blocks_out; /* blocks_out: blocks of OC_BLOCK output channels */
  size_t in[2], out[2], pad[2];
  size_t rows, row;  /* rows of tiles, and tiles in a row */
  size_t batch_rows; /* rows of tiles in a batch */
  size_t part;       /* output channels of a task, in blocks of OC_BLOCK */
  size_t split_step; /* stride between the columns within a tile, in a channel's sorted rows */
  size_t v_floats;   /* transformed tiles of a batch */
  size_t slots, slot_floats;
};

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* ---- blocks of tiles ---- */

/* The number of blocks of n tiles; the first column and the columns of one; and the floats per channel of a block. */
static size_t count_blocks(const cpu_conv_table *t, size_t n) {
  return n < t->lanes ? 1 : (n - t->lanes) / (t->vecs * t->lanes) + 1;
}
static size_t block_first(const cpu_conv_table *t, size_t block) { return block * t->vecs * t->lanes; }
static size_t block_columns(const cpu_conv_table *t, size_t n, size_t block) {
  return cpu_conv_columns(t, n - block_first(t, block));
}
/* Every block has space for the widest. */
static size_t max_step(const cpu_conv_table *t) { return (t->vecs + 1) * t->lanes; }
static size_t block_step(const cpu_conv_table *t, size_t n, size_t block) {
  return round_up(block_columns(t, n, block), t->lanes);
}
static size_t element_step(size_t channels, size_t step) { return channels * step + LINE; }

/* ---- sizes ---- */

static rlx_status read_node(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, cpu_winograd *v) {
  const rlx_dims *x = &rlx_graph_at(g, n->in[0])->type.shape, *w = &rlx_graph_at(g, n->in[1])->type.shape;
  cpu_conv_node node;
  RLX_TRY(cpu_conv_read(g, n, &node));
  *v = (cpu_winograd){.table = cpu_conv(isa),
                      .act = node.act,
                      .n_batch = (size_t)x->v[0],
                      .n_in = (size_t)x->v[1],
                      .n_out = (size_t)w->v[0]};
  for (int a = 0; a < 2; a++) {
    v->in[a] = (size_t)x->v[2 + a];
    v->out[a] = (size_t)n->type.shape.v[2 + a];
    v->pad[a] = (size_t)node.window.pad_lo[1 + a];
  }
  v->blocks_out = round_up(v->n_out, OC_BLOCK) / OC_BLOCK;
  v->rows = (v->out[0] + OUT - 1) / OUT;
  v->row = (v->out[1] + OUT - 1) / OUT;
  return RLX_OK;
}

static void set_sizes(cpu_winograd *v) {
  size_t tile_floats = ELEMENTS * v->n_in;
  v->batch_rows = BATCH_FLOATS / (tile_floats * v->row);
  if (v->batch_rows * v->row < v->table->lanes * v->table->vecs)
    v->batch_rows = (v->table->lanes * v->table->vecs + v->row - 1) / v->row;
  if (v->batch_rows > v->rows) v->batch_rows = v->rows;
  size_t n = v->batch_rows * v->row, blocks = count_blocks(v->table, n);
  v->v_floats = blocks * ELEMENTS * element_step(v->n_in, max_step(v->table));
  v->part = blocks * ((v->blocks_out + 1) / 2) < MIN_TASKS ? 1 : 2;
  v->split_step = (v->batch_rows + 1) * v->row + 4 * v->table->lanes;
  size_t split = 4 * TILE * v->split_step + OUT * v->row + 8 * v->table->lanes + LINE;
  size_t products = ELEMENTS * element_step(v->part * OC_BLOCK, max_step(v->table)) + OUT * OUT * max_step(v->table);
  v->slots = SLOTS;
  v->slot_floats = round_up(split > products ? split : products, LINE);
}

/* Compares approximate cycles: the products, the transforms, and reading the 36 matrices from memory. */
static bool is_faster(const cpu_winograd *v) {
  double c = (double)v->n_in, o = (double)v->n_out, positions = (double)(v->out[0] * v->out[1]);
  double tiles = (double)(v->rows * v->row), n = (double)v->n_batch;
  double direct = n * 9 * c * o * positions / 16 + 9 * c * o;
  double winograd = n * (ELEMENTS * c * o * tiles / 16 + 16 * (c + o) * tiles) + ELEMENTS * c * o;
  return winograd < 0.75 * direct;
}

bool cpu_winograd_is_faster(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa) {
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type, *w = &rlx_graph_at(g, n->in[1])->type;
  cpu_conv_node node;
  cpu_winograd v;
  if (x->shape.n != 4 || x->dtype != RLX_F32 || w->dtype != RLX_F32 || w->shape.v[2] != 3 || w->shape.v[3] != 3)
    return false;
  if (cpu_conv_read(g, n, &node) || node.groups != 1 || read_node(g, n, isa, &v)) return false;
  for (int a = 1; a < RLX_SPATIAL; a++)
    if (node.window.stride[a] != 1 || node.window.dilation[a] != 1 || node.window.pad_lo[a] > 2) return false;
  if (v.n_in < MIN_CHANNELS || v.n_out < MIN_CHANNELS || v.row == 0 || v.rows == 0 || v.row > MAX_TILES) return false;
  return v.n_in < 1 << 14 && v.n_out < 1 << 14 && is_faster(&v);
}

uint64_t cpu_winograd_work(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa) {
  cpu_winograd v;
  if (read_node(g, n, isa, &v)) return 0;
  set_sizes(&v);
  return (v.slots * v.slot_floats + v.v_floats + LINE) * sizeof(float);
}

rlx_status cpu_winograd_prepare(const cpu_call *c, rlx_bump *memory, const cpu_winograd **out) {
  cpu_winograd *v = rlx_bump_new(memory, cpu_winograd);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "conv");
  RLX_TRY(read_node(c->graph, c->node, c->isa, v));
  set_sizes(v);
  *out = v;
  return RLX_OK;
}

/* ---- the weight ---- */

size_t cpu_winograd_direct_at(const rlx_dims *w) {
  return LINE + ELEMENTS * round_up((size_t)w->v[0], OC_BLOCK) * (size_t)w->v[1];
}

/* One row of G g: the polynomial g at the points, divided by the values of the other transform's polynomials there. */
static void transform_row(const double g[3], double u[TILE]) {
  const double p = CPU_WINOGRAD_NEAR, q = CPU_WINOGRAD_FAR;
  double near = 2 * p * p * (p * p - q * q), far = 2 * q * q * (q * q - p * p);
  u[0] = g[0] / (p * p * q * q);
  u[1] = (g[0] + p * g[1] + p * p * g[2]) / near;
  u[2] = (g[0] - p * g[1] + p * p * g[2]) / near;
  u[3] = (g[0] + q * g[1] + q * q * g[2]) / far;
  u[4] = (g[0] - q * g[1] + q * q * g[2]) / far;
  u[5] = g[2];
}

/* Transforms one kernel to 36 elements, `step` floats apart; returns whether it may be used. */
static bool pack_kernel(const float *g, float *to, size_t step) {
  double half[3][TILE], u[TILE];
  bool in_range = true;
  for (int y = 0; y < 3; y++) {
    for (int x = 0; x < 3; x++) in_range = in_range && fabsf(g[3 * y + x]) < 1e15f;
    transform_row((const double[]){g[3 * y], g[3 * y + 1], g[3 * y + 2]}, half[y]);
  }
  for (size_t s = 0; s < TILE; s++) {
    transform_row((const double[]){half[0][s], half[1][s], half[2][s]}, u);
    for (size_t r = 0; r < TILE; r++) to[(r * TILE + s) * step] = in_range ? (float)u[r] : 0;
  }
  return in_range;
}

typedef struct packing {
  const float *src;
  float *dst;
  size_t n_in, n_out;
  atomic_bool out_of_range;
} packing;

static void pack_block(void *user, size_t begin, size_t end, unsigned thread) {
  packing *p = user;
  size_t step = p->n_in * OC_BLOCK;
  (void)thread;
  for (size_t block = begin; block < end; block++)
    for (size_t c = 0; c < p->n_in; c++)
      for (size_t j = 0; j < OC_BLOCK; j++) {
        static const float nothing[9];
        size_t o = block * OC_BLOCK + j;
        const float *g = o < p->n_out ? p->src + (o * p->n_in + c) * 9 : nothing;
        if (!pack_kernel(g, p->dst + (block * ELEMENTS * p->n_in + c) * OC_BLOCK + j, step))
          atomic_store(&p->out_of_range, true);
      }
}

void cpu_winograd_pack(const rlx_dims *w, const float *src, float *dst, rlx_pool *pool) {
  size_t n_out = (size_t)w->v[0], n_in = (size_t)w->v[1], blocks = round_up(n_out, OC_BLOCK) / OC_BLOCK;
  packing p = {.src = src, .dst = dst + LINE, .n_in = n_in, .n_out = n_out};
  cpu_parallel(pool, blocks, cpu_grain(blocks, (double)n_in * OC_BLOCK * 100), pack_block, &p);
  for (size_t i = 0; i < LINE; i++) dst[i] = atomic_load(&p.out_of_range) ? 0 : 1;
}

/* ---- forward transform ---- */

typedef struct batch {
  const cpu_call *call;
  const cpu_winograd *v;
  size_t sample, row, n_rows; /* row, n_rows: of tiles */
  size_t n, n_blocks, parts;  /* tiles, blocks of tiles, parts of the output channels */
  float *tiles;
  atomic_bool out_of_range;
} batch;

static float *slot_of(const batch *b, size_t slot) { return (float *)b->call->work + slot * b->v->slot_floats; }
static float *tiles_of(const batch *b, size_t block) {
  return b->tiles + block * ELEMENTS * element_step(b->v->n_in, max_step(b->v->table));
}

/* Sorts the rows of a channel that the batch reads: the floats of [row % 4][column in the tile] are contiguous. Returns
 * whether all values may be transformed. */
static bool sort_rows(const batch *b, const float *plane, float *sorted) {
  const cpu_winograd *v = b->v;
  float *row = sorted + 4 * TILE * v->split_step;
  size_t width = OUT * v->row + 2, whole = width + 8 * v->table->lanes, n = v->in[1];
  if (n > width - v->pad[1]) n = width - v->pad[1];
  bool in_range = true;
  memset(row, 0, whole * sizeof *row);
  for (size_t i = 0; i < OUT * b->n_rows + 2; i++) {
    size_t y = OUT * b->row + i; /* in the padded image */
    float *to = sorted + i % 4 * TILE * v->split_step + i / 4 * v->row;
    if (y < v->pad[0] || y - v->pad[0] >= v->in[0]) {
      for (size_t s = 0; s < TILE; s++) memset(to + s * v->split_step, 0, v->row * sizeof *to);
      continue;
    }
    memcpy(row + v->pad[1], plane + (y - v->pad[0]) * v->in[1], n * sizeof *row);
    in_range = v->table->split_row(row, v->row, to, v->split_step) && in_range;
  }
  return in_range;
}

static void transform_channels(void *user, size_t begin, size_t end, unsigned thread) {
  batch *b = user;
  const cpu_winograd *v = b->v;
  (void)thread;
  for (size_t slot = begin; slot < end; slot++) {
    float *sorted = slot_of(b, slot);
    for (size_t c = slot; c < v->n_in; c += v->slots) {
      const float *plane = (const float *)cpu_in(b->call, 0) + (b->sample * v->n_in + c) * v->in[0] * v->in[1];
      if (!sort_rows(b, plane, sorted)) atomic_store(&b->out_of_range, true);
      for (size_t i = 0; i < b->n_blocks; i++) {
        size_t step = block_step(v->table, b->n, i), first = block_first(v->table, i);
        for (size_t j = 0; j < step; j += v->table->lanes)
          v->table->tiles_in(sorted + first + j, v->split_step, v->row, tiles_of(b, i) + c * step + j,
                             element_step(v->n_in, step));
      }
    }
  }
}

/* ---- products and inverse transform ---- */

/* Computes m[36][part's channels][step] of a block. */
static void multiply_elements(const batch *b, size_t block, size_t first, size_t n_blocks, float *m) {
  const cpu_winograd *v = b->v;
  const float *w = (const float *)cpu_in(b->call, 1) + LINE;
  size_t step = block_step(v->table, b->n, block), columns = block_columns(v->table, b->n, block);
  for (size_t element = 0; element < ELEMENTS; element++) {
    const float *tiles = tiles_of(b, block) + element * element_step(v->n_in, step);
    for (size_t c = 0; c < v->n_in; c += CHUNK)
      for (size_t o = 0; o < n_blocks; o++) {
        size_t left = v->n_out - (first + o) * OC_BLOCK, n = v->n_in - c < CHUNK ? v->n_in - c : CHUNK;
        v->table->multiply(w + (((first + o) * ELEMENTS + element) * v->n_in + c) * OC_BLOCK, tiles + c * step, step, n,
                           columns, left < OC_BLOCK ? left : OC_BLOCK, c > 0,
                           m + element * element_step(v->part * OC_BLOCK, step) + o * OC_BLOCK * step, step, NULL);
      }
  }
}

/* Stores row i of the tiles from `first` on, four elements each in `row`, to the plane of channel o. */
static void store_row(const batch *b, size_t o, size_t i, size_t first, size_t columns, const float *row) {
  const cpu_winograd *v = b->v;
  for (size_t t = first, n; t < first + columns; t += n) {
    size_t y = OUT * (b->row + t / v->row) + i, x = OUT * (t % v->row);
    n = v->row - t % v->row;
    if (n > first + columns - t) n = first + columns - t;
    if (y >= v->out[0]) continue;
    size_t count = v->out[1] - x < OUT * n ? v->out[1] - x : OUT * n;
    size_t at = ((b->sample * v->n_out + o) * v->out[0] + y) * v->out[1] + x;
    cpu_conv_epilogue end = cpu_conv_epilogue_of(b->call, v->act, o, at);
    v->table->finish(&end, row + OUT * (t - first), (float *)b->call->out + at, count);
  }
}

static void run_part(const batch *b, size_t item, float *m) {
  const cpu_winograd *v = b->v;
  size_t block = item / b->parts, first = item % b->parts * v->part;
  size_t n_blocks = v->blocks_out - first < v->part ? v->blocks_out - first : v->part;
  size_t step = block_step(v->table, b->n, block), columns = block_columns(v->table, b->n, block);
  size_t m_step = element_step(v->part * OC_BLOCK, step), row_step = OUT * step;
  float *rows = m + ELEMENTS * element_step(v->part * OC_BLOCK, max_step(v->table));
  multiply_elements(b, block, first, n_blocks, m);
  for (size_t o = first * OC_BLOCK; o < (first + n_blocks) * OC_BLOCK && o < v->n_out; o++) {
    for (size_t j = 0; j < columns; j += v->table->lanes)
      v->table->tiles_out(m + (o - first * OC_BLOCK) * step + j, m_step, rows + OUT * j, row_step);
    for (size_t i = 0; i < OUT; i++) store_row(b, o, i, block_first(v->table, block), columns, rows + i * row_step);
  }
}

static void run_parts(void *user, size_t begin, size_t end, unsigned thread) {
  const batch *b = user;
  (void)thread;
  for (size_t slot = begin; slot < end; slot++)
    for (size_t item = slot; item < b->n_blocks * b->parts; item += b->v->slots) run_part(b, item, slot_of(b, slot));
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static bool run_batch(batch *b) {
  const cpu_winograd *v = b->v;
  rlx_pool *pool = b->call->pool;
  b->n = b->n_rows * v->row;
  b->n_blocks = count_blocks(v->table, b->n);
  b->parts = (v->blocks_out + v->part - 1) / v->part;
  size_t slots = min_size(v->slots, v->n_in), items = b->n_blocks * b->parts;
  double each = (double)(v->n_in / slots + 1) * (double)b->n * 6; /* nanoseconds, about; below as well */
  cpu_parallel(pool, slots, cpu_grain(slots, each), transform_channels, b);
  if (atomic_load(&b->out_of_range)) return false;
  slots = min_size(v->slots, items);
  each = (double)(items / slots + 1) * (double)(v->part * OC_BLOCK) * 48 * (double)v->n_in * ELEMENTS / 50;
  cpu_parallel(pool, slots, cpu_grain(slots, each), run_parts, b);
  return true;
}

bool cpu_winograd_run(const cpu_call *c, const cpu_winograd *v) {
  if (*(const float *)cpu_in(c, 1) == 0) return false;
  batch b = {.call = c, .v = v, .tiles = (float *)c->work + v->slots * v->slot_floats};
  for (b.sample = 0; b.sample < v->n_batch; b.sample++)
    for (b.row = 0; b.row < v->rows; b.row += v->batch_rows) {
      b.n_rows = min_size(v->batch_rows, v->rows - b.row);
      if (!run_batch(&b)) return false;
    }
  return true;
}
