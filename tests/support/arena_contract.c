/* The arena's contract: one table of cases, run on every backend. This file has the table and the cases about
 * locations, raw bytes, segments, memory and threads; arena_world.h describes how they work. */
#include "arena_contract.h"

#include <pthread.h>
#include <stdlib.h>

#include "arena_world.h"
#include "device/claims.h"
#include "device/registry.h"
#include "faults.h"
#include "quant/quant.h"

static void looking(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_F32, 2, 3), TYPE(RLX_U8, 5)};
  world_open(&w, d, types, 2);
  STOP_IF_FAILED;
  rlx_arena_place p = {RLX_ARENA_PLACE_INIT};
  CHECK(rlx_arena_has(w.a, 1) && rlx_arena_has(w.a, 2) && !rlx_arena_has(w.a, 3));
  CHECK(!rlx_arena_has(w.a, 0) && !rlx_arena_has(w.a, 4) && !rlx_arena_has(w.a, UINT32_MAX) && !rlx_arena_has(NULL, 1));
  CHECK_OK(rlx_arena_where(w.a, 2, &p));
  CHECK_EQ_INT(p.segment, RLX_SEGMENT_SCRATCH);
  CHECK_EQ_INT(p.block, 0);
  CHECK_EQ_INT(p.offset, w.at[2].offset);
  CHECK_EQ_INT(p.used, 5);
  CHECK_EQ_INT(p.capacity, padded(&w, 5));
  CHECK_FAILS(rlx_arena_where(w.a, 3, &p), RLX_NOT_FOUND, "node 3 has no place");
  CHECK_EQ_INT(p.segment, RLX_SEGMENT_NONE);
  CHECK_FAILS(rlx_arena_where(w.a, 0, &p), RLX_INVALID, "nodes are 1 to 3");
  CHECK_FAILS(rlx_arena_where(w.a, 4, &p), RLX_INVALID, "nodes are 1 to 3");
  CHECK_FAILS(rlx_arena_where(NULL, 1, &p), RLX_INVALID, "arena is NULL");
  CHECK_FAILS(rlx_arena_where(w.a, 1, NULL), RLX_INVALID, "out is NULL");
  CHECK_EQ_INT(rlx_arena_bytes(w.a, RLX_SEGMENT_SCRATCH), w.bytes[0] + w.bytes[1]);
  CHECK_EQ_INT(rlx_arena_bytes(w.a, RLX_SEGMENT_NONE), w.bytes[0] + w.bytes[1]);
  CHECK_EQ_INT(rlx_arena_bytes(w.a, RLX_SEGMENT_WEIGHTS), 0);
  CHECK_EQ_INT(rlx_arena_bytes(w.a, (rlx_segment)9), 0);
  CHECK_EQ_INT(rlx_arena_bytes(NULL, RLX_SEGMENT_SCRATCH), 0);
  CHECK(rlx_arena_scratch(w.a, N_BLOCKS) == NULL);
  world_close(&w);
}

/* Every range of a short value, inside and one past the end. */
static void raw_ranges(rlx_device *d) {
  enum { N = 13 };
  world w;
  const rlx_type types[] = {TYPE(RLX_U8, N), TYPE(RLX_I16, N), TYPE(RLX_BOOL, N)};
  world_open(&w, d, types, 3);
  STOP_IF_FAILED;
  unsigned char data[4 * N], found[4 * N];
  for (rlx_node n = 1; n <= 3; n++) {
    const size_t has = (size_t)w.at[n].bytes;
    memset(image_of(&w, n), 1, has);
    CHECK_OK(rlx_arena_write_raw(w.a, n, 0, image_of(&w, n), has));
    for (size_t at = 0; at <= has + 1; at++)
      for (size_t bytes = 0; bytes <= has + 2 - at; bytes++) {
        for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(random_bits() & (n == 3 ? 1 : 255));
        memset(found, POISON, sizeof found);
        if (at + bytes <= has && at <= has) {
          CHECK_OK(rlx_arena_write_raw(w.a, n, at, data, bytes));
          memcpy(image_of(&w, n) + at, data, bytes);
          CHECK_OK(rlx_arena_read_raw(w.a, n, at, found, bytes));
          CHECK(memcmp(found, data, bytes) == 0 && found[bytes] == POISON);
        } else {
          CHECK_FAILS(rlx_arena_write_raw(w.a, n, at, data, bytes), RLX_INVALID, "past the end");
          CHECK_FAILS(rlx_arena_read_raw(w.a, n, at, found, bytes), RLX_INVALID, "past the end");
          CHECK(found[0] == POISON);
        }
        world_compare(&w);
        STOP_IF_FAILED;
      }
  }
  CHECK_FAILS(rlx_arena_write_raw(w.a, 1, UINT64_MAX, data, 2), RLX_INVALID, "past the end");
  CHECK_FAILS(rlx_arena_read_raw(w.a, 1, UINT64_MAX - 3, data, 8), RLX_INVALID, "past the end");
  CHECK_FAILS(rlx_arena_read_raw(w.a, 1, 4, data, SIZE_MAX), RLX_INVALID, "past the end");
  CHECK_FAILS(rlx_arena_write_raw(w.a, 1, 0, NULL, 1), RLX_INVALID, "data is NULL");
  CHECK_FAILS(rlx_arena_read_raw(w.a, 1, 0, NULL, 1), RLX_INVALID, "data is NULL");
  CHECK_OK(rlx_arena_write_raw(w.a, 1, N, NULL, 0));
  CHECK_FAILS(rlx_arena_write_raw(w.a, 9, 0, data, 1), RLX_INVALID, "node 9");
  CHECK_FAILS(rlx_arena_read_raw(w.a, 4, 0, data, 1), RLX_NOT_FOUND, "node 4");
  data[0] = data[1] = 1;
  data[2] = 2;
  CHECK_FAILS(rlx_arena_write_raw(w.a, 3, 0, data, 3), RLX_INVALID, "byte 2 of the data is 2");
  world_compare(&w);
  STOP_IF_FAILED;
  world_close(&w);
}

/* Weights and states are in blocks that the arena does not own; views of them share their number. */
static void other_segments(rlx_device *d) {
  rlx_block_pool *pool;
  rlx_arena *a, *b;
  rlx_block *block[3];
  CHECK_OK(rlx_block_pool_create(d, POOL_CAP, &pool));
  CHECK_OK(rlx_arena_create(d, pool, NULL, 0, 4, &a));
  CHECK_OK(rlx_arena_create(d, pool, NULL, 0, 4, &b));
  for (int i = 0; i < 3; i++) CHECK_OK(rlx_block_pool_get(pool, 1024, true, &block[i]));
  const uint64_t inside = d->info.view_align ? d->info.view_align : 1;
  rlx_arena_entry weight = {RLX_SEGMENT_WEIGHTS, 0, 0, {block[0], 0, 512}, 512, TYPE(RLX_F32, 16, 8)};
  rlx_arena_entry view = {RLX_SEGMENT_WEIGHTS, 0, 0, {block[0], inside, 32}, 32, TYPE(RLX_U8, 32)};
  rlx_arena_entry state = {RLX_SEGMENT_STATE, 3, 0, {block[1], 0, 600}, 1000, TYPE(RLX_I16, 300)};
  CHECK_OK(rlx_arena_put(a, 1, &view));
  CHECK_EQ_INT(rlx_arena_bytes(a, RLX_SEGMENT_WEIGHTS), 32);
  CHECK_OK(rlx_arena_put(a, 2, &weight));
  CHECK_OK(rlx_arena_put(a, 3, &state));
  CHECK_EQ_INT(rlx_arena_bytes(a, RLX_SEGMENT_WEIGHTS), 512);
  CHECK_EQ_INT(rlx_arena_bytes(a, RLX_SEGMENT_STATE), 1000);
  CHECK_EQ_INT(rlx_arena_bytes(a, RLX_SEGMENT_NONE), 1512);
  CHECK_OK(rlx_arena_put(b, 1, &view)); /* the second arena shares the weight and has its own state */
  CHECK_OK(rlx_arena_put(b, 2, &weight));
  state.at.block = block[2];
  CHECK_OK(rlx_arena_put(b, 3, &state));

  int16_t data[300], found[300];
  for (int i = 0; i < 300; i++) data[i] = (int16_t)(i * 101 - 7000);
  CHECK_OK(rlx_arena_write(a, 3, RLX_I16, data, 300));
  CHECK_OK(rlx_arena_read(b, 3, RLX_I16, found, 300));
  for (int i = 0; i < 300; i++) CHECK(found[i] == 0);
  CHECK_OK(rlx_arena_copy_segment(b, a, RLX_SEGMENT_STATE));
  CHECK_OK(rlx_arena_copy_segment(b, a, RLX_SEGMENT_WEIGHTS)); /* shared: nothing to do */
  CHECK_OK(rlx_arena_read(b, 3, RLX_I16, found, 300));
  CHECK(memcmp(data, found, sizeof data) == 0);
  unsigned char bytes[32];
  memset(bytes, 0x3f, sizeof bytes);
  CHECK_OK(rlx_arena_write(a, 1, RLX_U8, bytes, 32));
  memset(bytes, 0, sizeof bytes);
  CHECK_OK(rlx_arena_read_raw(b, 2, inside, bytes, 32)); /* the same weight, through the other arena */
  for (int i = 0; i < 32; i++) CHECK(bytes[i] == 0x3f);

  CHECK_OK(rlx_arena_put(a, 2, &(rlx_arena_entry){.segment = RLX_SEGMENT_NONE}));
  CHECK(!rlx_arena_has(a, 2));
  rlx_arena_destroy(a);
  rlx_arena_destroy(b);
  for (int i = 0; i < 3; i++) rlx_block_pool_put(pool, block[i]);
  rlx_block_pool_release(pool);
}

/* Locations: the last byte is inside, one past it is not. */
static void places_are_checked(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_U8, 64), TYPE(RLX_U8, 64)};
  world_open(&w, d, types, 2);
  STOP_IF_FAILED;
  rlx_arena_entry e = world_entry(&w, 1);
  e.at.offset = w.bytes[1] - 64;
  e.capacity = 64;
  CHECK_OK(rlx_arena_put(w.a, 1, &e));
  rlx_arena_entry bad = e;
  bad.at.offset++;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not inside");
  bad = e;
  bad.capacity++;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not inside");
  bad.capacity = UINT64_MAX;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not inside");
  bad = e;
  bad.at.offset = UINT64_MAX - 3;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not inside");
  bad = e;
  bad.capacity = 63;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "capacity of 63");
  bad = e;
  bad.at.bytes = 63;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "takes 64 bytes, but the window has 63");
  bad = e;
  bad.block = 0;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not scratch block 0");
  bad.block = N_BLOCKS;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "not scratch block 2");
  bad = e;
  bad.at.block = NULL;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "no block");
  bad = e;
  bad.segment = (rlx_segment)9;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "unknown segment 9");
  bad = e;
  bad.layout = 3;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "only weights are packed");
  bad.segment = RLX_SEGMENT_WEIGHTS;
  bad.layout = 0xfffffff1;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "does not know layout");
  bad.layout = 0;
  bad.block = 100;
  CHECK_FAILS(rlx_arena_put(w.a, 1, &bad), RLX_INVALID, "only 3 nodes");
  CHECK_FAILS(rlx_arena_put(w.a, 1, NULL), RLX_INVALID, "entry is NULL");
  CHECK_FAILS(rlx_arena_put(w.a, 0, &e), RLX_INVALID, "node 0");
  CHECK_FAILS(rlx_arena_put(w.a, 4, &e), RLX_INVALID, "node 4");
  CHECK_FAILS(rlx_arena_put(NULL, 1, &e), RLX_INVALID, "arena is NULL");
  CHECK(rlx_arena_get(w.a, 1)->at.offset == e.at.offset); /* the failed call left the location unchanged */
  rlx_arena *none;
  CHECK_FAILS(rlx_arena_create(NULL, w.pool, NULL, 0, 1, &none), RLX_INVALID, "device");
  CHECK_FAILS(rlx_arena_create(d, NULL, NULL, 0, 1, &none), RLX_INVALID, "pool");
  CHECK_FAILS(rlx_arena_create(d, w.pool, NULL, 1, 1, &none), RLX_INVALID, "sizes");
  rlx_arena_destroy(NULL);
  world_close(&w);
}

static void empty_values(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_F32, 3, 0), TYPE(RLX_F32, 0, 4), TYPE(RLX_Q4_0, 0, 32)};
  world_open(&w, d, types, 3);
  STOP_IF_FAILED;
  rlx_arena_entry nowhere = {.segment = RLX_SEGMENT_SCRATCH, .block = 17, .type = TYPE(RLX_I64, 0)};
  CHECK_OK(rlx_arena_put(w.a, 4, &nowhere)); /* no bytes, so no block is needed */
  for (rlx_node n = 1; n <= 4; n++) {
    const rlx_dtype own = n == 4 ? RLX_I64 : w.type[n].dtype;
    CHECK(rlx_arena_has(w.a, n));
    CHECK_OK(rlx_arena_write(w.a, n, own, NULL, 0));
    CHECK_OK(rlx_arena_read(w.a, n, RLX_F32, NULL, 0));
    CHECK_OK(rlx_arena_write_raw(w.a, n, 0, NULL, 0));
    CHECK_OK(rlx_arena_read_raw(w.a, n, 0, NULL, 0));
    CHECK_OK(rlx_arena_copy_prefix(w.a, n, w.a, n, 0));
    CHECK_FAILS(rlx_arena_write(w.a, n, own, &w, 1), RLX_INVALID, "elements");
    CHECK_FAILS(rlx_arena_read_raw(w.a, n, 0, &(char){0}, 1), RLX_INVALID, "past the end");
    CHECK_FAILS(rlx_arena_copy_prefix(w.a, n, w.a, n, 1), RLX_INVALID, "elements");
  }
  CHECK_OK(rlx_arena_copy_rows(w.a, 1, 1, w.a, 1, 0, 2));
  CHECK_OK(rlx_arena_copy_rows(w.a, 2, 0, w.a, 2, 0, 0));
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 2, w.a, 1, 0, 2), RLX_INVALID, "past the end");
  world_compare(&w);
  STOP_IF_FAILED;
  world_close(&w);
}

/* Blocks from the pool are not cleared, unless zeroes are promised. */
static void pool_and_zeroes(rlx_device *d) {
  enum { BYTES = 1237 };
  rlx_block_pool *pool;
  rlx_block_pool_stats stats;
  unsigned char data[BYTES];
  CHECK_OK(rlx_block_pool_create(d, POOL_CAP, &pool));
  rlx_block *first;
  CHECK_OK(rlx_block_pool_get(pool, BYTES, true, &first));
  for (int round = 0; round < 3; round++) {
    memset(data, POISON, sizeof data);
    CHECK_OK(d->backend->read(rlx_block_pool_queue(pool), first, 0, data, BYTES));
    for (size_t i = 0; i < BYTES; i++) CHECK(data[i] == 0);
    memset(data, POISON, sizeof data);
    CHECK_OK(d->backend->write(rlx_block_pool_queue(pool), first, 0, data, BYTES));
    rlx_block_pool_put(pool, first);
    rlx_block *again;
    CHECK_OK(rlx_block_pool_get(pool, BYTES - 8, true, &again));
    CHECK(again == first);
  }
  rlx_block_pool_put(pool, first);

  /* A block may be larger than requested, but the arena has the requested size. */
  rlx_arena *a;
  const uint64_t asked = BYTES - 100;
  CHECK_OK(rlx_arena_create(d, pool, &asked, 1, 1, &a));
  CHECK(rlx_arena_scratch(a, 0) == first);
  CHECK_EQ_INT(rlx_arena_bytes(a, RLX_SEGMENT_SCRATCH), asked);
  rlx_arena_entry e = {RLX_SEGMENT_SCRATCH, 0, 0, {first, 0, asked}, asked, TYPE(RLX_U8, (int64_t)asked)};
  CHECK_OK(rlx_arena_put(a, 1, &e));
  e.capacity++;
  CHECK_FAILS(rlx_arena_put(a, 1, &e), RLX_INVALID, "not inside a block of 1137");
  rlx_arena_destroy(a);

  CHECK_OK(rlx_block_pool_get(pool, 0, true, &first));
  CHECK(first && first->bytes == 0);
  rlx_block_pool_put(pool, first);
  rlx_block_pool_stats_get(pool, &stats);
  CHECK_EQ_INT(stats.n_reused, 4);
  CHECK_EQ_INT(stats.n_created, 2);
  CHECK_EQ_INT(stats.n_used + stats.used_bytes, 0);
  rlx_block_pool_release(pool);
}

static bool count_allocation(void *user, size_t bytes) {
  (void)bytes;
  ++*(size_t *)user;
  return true;
}

/* A steady-state run must not allocate. */
static void equal_types_allocate_nothing(rlx_device *d) {
  enum { N = 100000 };
  world w;
  const rlx_type types[] = {TYPE(RLX_F32, N), TYPE(RLX_BOOL, N), TYPE(RLX_F32, N)};
  world_open(&w, d, types, 3);
  STOP_IF_FAILED;
  float *data = calloc(N, sizeof *data);
  CHECK(data);
  size_t n = 0;
  rlx_mem_set_hook(count_allocation, &n);
  rlx_status s = rlx_arena_write(w.a, 1, RLX_F32, data, N);
  if (!s) s = rlx_arena_read(w.a, 1, RLX_F32, data, N);
  if (!s) s = rlx_arena_write(w.a, 2, RLX_BOOL, data, N);
  if (!s) s = rlx_arena_copy_prefix(w.a, 3, w.a, 1, N);
  rlx_mem_set_hook(NULL, NULL);
  CHECK_OK(s);
  CHECK_EQ_INT(n, 0);
  free(data);
  world_close(&w);
}

/* ---- weights in device-specific layouts ---- */

enum { W_ROWS = 96, W_COLS = 512, W_COUNT = W_ROWS * W_COLS };

/* The layout that the device prefers, queried as the compiler does; 0: none. */
static uint32_t preferred_layout(rlx_device *d, rlx_dtype dtype, bool is_transposed) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return 0;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, is_transposed ? W_COLS : W_ROWS));
  rlx_node w = rlx_op_param(g, "w", dtype, RLX_DIMS(W_ROWS, W_COLS));
  rlx_node y = is_transposed ? rlx_op_matmul_t(g, x, w) : rlx_op_matmul(g, x, w);
  rlx_graph_add_output(g, "y", y);
  rlx_claim claim = {0};
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = d->backend->claim(d, &(rlx_claim_query){.graph = g, .node = y}, &claim);
  rlx_graph_destroy(g);
  rlx_claim_deinit(d, &claim);
  return !s && claim.native ? claim.layout[1] : 0;
}

/* Bytes that a file could contain: a layout need not preserve what no encoder writes. */
static void fill_weight(rlx_dtype dtype, void *out) {
  static float values[W_COUNT];
  for (size_t i = 0; i < W_COUNT; i++) values[i] = (float)((double)(random_bits() % 20001) / 10000.0 - 1.0);
  const size_t bytes = elements_bytes(dtype, W_COUNT);
  if (rlx_quant_is_block(dtype) && rlx_quant_can_encode(dtype)) CHECK_OK(rlx_quant_encode(dtype, values, out, W_COUNT));
  else
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)out)[i] = (unsigned char)random_bits();
}

/* Packs and unpacks bit for bit, also reads as f32; neighbours are unchanged. */
static void check_packed(rlx_device *d, const rlx_block_pool *pool, rlx_arena *a, const rlx_arena_entry *e, void *data,
                         void *found) {
  const rlx_dtype dtype = e->type.dtype;
  const size_t bytes = elements_bytes(dtype, W_COUNT);
  const uint64_t end = e->at.offset + e->at.bytes;
  fill_weight(dtype, data);
  STOP_IF_FAILED;
  memset(found, POISON, (size_t)e->at.block->bytes);
  CHECK_OK(d->backend->write(rlx_block_pool_queue(pool), e->at.block, 0, found, e->at.block->bytes));
  CHECK_OK(rlx_arena_write(a, 1, dtype, data, W_COUNT));
  CHECK_OK(d->backend->read(rlx_block_pool_queue(pool), e->at.block, 0, found, e->at.block->bytes));
  for (uint64_t i = 0; i < e->at.block->bytes; i++)
    if (i < e->at.offset || i >= end) CHECK_EQ_INT(((unsigned char *)found)[i], POISON);
  CHECK_OK(rlx_arena_read(a, 1, dtype, found, W_COUNT));
  if (memcmp(found, data, bytes) != 0) FAIL("%s in layout %u comes back changed", rlx_dtype_name(dtype), e->layout);
  CHECK_OK(rlx_arena_read(a, 1, RLX_F32, found, W_COUNT));
  CHECK_FAILS(rlx_arena_read_raw(a, 1, 0, found, 4), RLX_UNSUPPORTED, "packed");
  CHECK_FAILS(rlx_arena_copy_rows(a, 1, 0, a, 1, 1, 1), RLX_UNSUPPORTED, "packed");
}

static void check_layout(rlx_device *d, rlx_dtype dtype, uint32_t layout) {
  const rlx_type type = TYPE(dtype, W_ROWS, W_COLS);
  const uint64_t bytes = d->backend->layout_bytes(d, layout, &type), align = d->info.align ? d->info.align : 1;
  CHECK(bytes > 0);
  const size_t room = W_COUNT * 8 + (size_t)(bytes + 2 * align);
  rlx_block_pool *pool;
  rlx_block *block;
  rlx_arena *a;
  CHECK_OK(rlx_block_pool_create(d, 0, &pool));
  CHECK_OK(rlx_block_pool_get(pool, bytes + 2 * align, false, &block));
  CHECK_OK(rlx_arena_create(d, pool, NULL, 0, 1, &a));
  rlx_arena_entry e = {RLX_SEGMENT_WEIGHTS, 0, layout, {block, align, bytes}, bytes, type};
  CHECK_OK(rlx_arena_put(a, 1, &e));
  void *data = malloc(room), *found = malloc(room);
  CHECK(data && found);
  check_packed(d, pool, a, &e, data, found);
  STOP_IF_FAILED;
  free(data);
  free(found);
  rlx_arena_destroy(a);
  rlx_block_pool_put(pool, block);
  rlx_block_pool_release(pool);
}

static void packed_weights(rlx_device *d) {
  for (int dtype = 0; dtype < RLX_DTYPE_COUNT; dtype++)
    for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
      if (!rlx_dtype_is_weight_float((rlx_dtype)dtype) && !rlx_quant_is_block((rlx_dtype)dtype))
        continue; /* only types that a matmul takes */
      const uint32_t layout = preferred_layout(d, (rlx_dtype)dtype, is_transposed);
      if (layout) check_layout(d, (rlx_dtype)dtype, layout);
      STOP_IF_FAILED;
    }
}

/* ---- threads: disjoint ranges may be used concurrently ---- */

enum { N_THREADS = 4, N_ROUNDS = 200 };

typedef struct writer {
  world *w;
  rlx_node node;
  rlx_status status;
} writer;

static void *write_often(void *user) {
  writer *t = user;
  unsigned char data[16], found[16];
  const size_t bytes = (size_t)t->w->at[t->node].bytes;
  for (int i = 0; i < N_ROUNDS && !t->status; i++) {
    memset(data, i, sizeof data);
    t->status = rlx_arena_write_raw(t->w->a, t->node, 0, data, bytes);
    if (!t->status) t->status = rlx_arena_read_raw(t->w->a, t->node, 0, found, bytes);
    if (!t->status && memcmp(data, found, bytes) != 0) t->status = RLX_INVALID;
  }
  return NULL;
}

static void several_threads(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_U8, 3), TYPE(RLX_U8, 5), TYPE(RLX_U8, 7), TYPE(RLX_U8, 11)};
  world_open(&w, d, types, N_THREADS);
  STOP_IF_FAILED;
  pthread_t thread[N_THREADS];
  writer all[N_THREADS];
  for (uint32_t i = 0; i < N_THREADS; i++) {
    all[i] = (writer){.w = &w, .node = i + 1};
    CHECK(pthread_create(&thread[i], NULL, write_often, &all[i]) == 0);
    memset(image_of(&w, i + 1), (N_ROUNDS - 1) & 255, (size_t)w.at[i + 1].bytes);
  }
  for (uint32_t i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
  for (uint32_t i = 0; i < N_THREADS; i++) CHECK_EQ_INT(all[i].status, RLX_OK);
  world_compare(&w);
  STOP_IF_FAILED;
  world_close(&w);
}

/* ---- failing allocations ---- */

static float sweep_data[3000];

static rlx_status sweep_calls(rlx_arena *a, rlx_device *d) {
  const uint64_t align = d->info.align ? d->info.align : 1, unit = (3000 * 4 + align - 1) / align * align;
  rlx_arena_entry e = {RLX_SEGMENT_SCRATCH, 0, 0, {rlx_arena_scratch(a, 0), 0, 6000}, unit, TYPE(RLX_F16, 3000)};
  RLX_TRY(rlx_arena_put(a, 1, &e));
  e.at.offset = unit;
  RLX_TRY(rlx_arena_put(a, 2, &e));
  e.segment = RLX_SEGMENT_STATE;
  e.block = 2;
  RLX_TRY(rlx_arena_put(a, 3, &e));
  RLX_TRY(rlx_arena_write(a, 1, RLX_F32, sweep_data, 3000));
  RLX_TRY(rlx_arena_read(a, 1, RLX_F32, sweep_data, 3000));
  RLX_TRY(rlx_arena_copy_rows(a, 1, 1, a, 1, 0, 2999));
  return rlx_arena_copy_prefix(a, 2, a, 1, 3000);
}

static rlx_status sweep_work(void *user) {
  rlx_device *d = user;
  rlx_block_pool *pool;
  rlx_arena *a = NULL;
  RLX_TRY(rlx_block_pool_create(d, 1 << 20, &pool));
  const uint64_t scratch[] = {65536, 100};
  rlx_status s = rlx_arena_create(d, pool, scratch, 2, 4, &a);
  if (!s) s = sweep_calls(a, d);
  rlx_arena_destroy(a);
  rlx_block_pool_release(pool);
  return s;
}

static void failing_allocations(rlx_device *d) { CHECK_OK(alloc_sweep(sweep_work, d)); }

/* ---- the table ---- */

static const struct contract_case {
  const char *name;
  void (*run)(rlx_device *d);
} cases[] = {
#define CASE(fn) \
  { #fn, fn }
  CASE(looking),
  CASE(every_pair_of_types),
  CASE(known_conversions),
  CASE(large_and_unaligned),
  CASE(wrong_counts),
  CASE(raw_ranges),
  CASE(row_copies),
  CASE(copies_that_cannot_be),
  CASE(prefix_copies),
  CASE(long_moves),
  CASE(two_arenas),
  CASE(twins),
  CASE(other_segments),
  CASE(places_are_checked),
  CASE(empty_values),
  CASE(pool_and_zeroes),
  CASE(equal_types_allocate_nothing),
  CASE(packed_weights),
  CASE(several_threads),
  CASE(failing_allocations),
#undef CASE
};

void arena_contract_on(rlx_device *d) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t live = rlx_mem_live();
    cases[i].run(d);
    if (test_has_failed()) {
      printf("  in case %s on %s\n", cases[i].name, d->info.name);
      return;
    }
    if (rlx_mem_live() != live)
      FAIL("case %s on %s: %zu blocks of memory are left", cases[i].name, d->info.name, rlx_mem_live() - live);
  }
}

void arena_contract(const char *device) {
  rlx_device *d;
  rlx_status s = rlx_device_acquire(device, &d);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  arena_contract_on(d);
  rlx_device_release(d);
}
