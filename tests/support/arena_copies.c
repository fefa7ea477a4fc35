/* The arena's contract: copies inside the device of rows, prefixes, whole segments; between arenas, within one, onto
 * themselves. The image is moved by memmove, which is the contract for overlapping ranges. */
#include "arena_world.h"

/* ---- copies ---- */

static void copy_rows_both(world *w, rlx_node to, uint64_t to_row, rlx_node from, uint64_t from_row, uint64_t rows) {
  const size_t row = (size_t)(w->at[from].bytes / (uint64_t)w->type[from].shape.v[0]);
  CHECK_OK(rlx_arena_copy_rows(w->a, to, to_row, w->a, from, from_row, rows));
  memmove(image_of(w, to) + to_row * row, image_of(w, from) + from_row * row, rows * row);
  world_compare(w);
}

void row_copies(rlx_device *d) {
  static const rlx_type pairs[][2] = {
    {{RLX_F32, {{4, 3}, 2}}, {RLX_F32, {{6, 3}, 2}}},       {{RLX_F16, {{5, 1}, 2}}, {RLX_F16, {{3, 1}, 2}}},
    {{RLX_U8, {{5, 3}, 2}}, {RLX_U8, {{7, 3}, 2}}},         {{RLX_BOOL, {{7}, 1}}, {RLX_BOOL, {{4}, 1}}},
    {{RLX_I64, {{3, 2, 2}, 3}}, {RLX_I64, {{4, 2, 2}, 3}}}, {{RLX_Q4_0, {{3, 64}, 2}}, {RLX_Q4_0, {{2, 64}, 2}}},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    world w;
    world_open(&w, d, pairs[i], 2);
    STOP_IF_FAILED;
    for (rlx_node to = 1; to <= 2; to++)
      for (rlx_node from = 1; from <= 2; from++) {
        const uint64_t n_to = (uint64_t)w.type[to].shape.v[0], n_from = (uint64_t)w.type[from].shape.v[0];
        for (uint64_t a = 0; a <= n_to; a++)
          for (uint64_t b = 0; b <= n_from; b++) {
            const uint64_t max = n_to - a < n_from - b ? n_to - a : n_from - b;
            for (uint64_t rows = 0; rows <= max; rows++) {
              copy_rows_both(&w, to, a, from, b, rows);
              STOP_IF_FAILED;
            }
            CHECK_FAILS(rlx_arena_copy_rows(w.a, to, a, w.a, from, b, max + 1), RLX_INVALID, "past the end");
          }
        CHECK_FAILS(rlx_arena_copy_rows(w.a, to, n_to + 1, w.a, from, 0, 0), RLX_INVALID, "past the end");
        CHECK_FAILS(rlx_arena_copy_rows(w.a, to, UINT64_MAX, w.a, from, 0, 2), RLX_INVALID, "past the end");
        CHECK_FAILS(rlx_arena_copy_rows(w.a, to, 1, w.a, from, 0, UINT64_MAX), RLX_INVALID, "past the end");
        CHECK_FAILS(rlx_arena_copy_rows(w.a, to, 0, w.a, from, UINT64_MAX, 1), RLX_INVALID, "past the end");
      }
    world_compare(&w);
    STOP_IF_FAILED;
    world_close(&w);
  }
}

void copies_that_cannot_be(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_F32, 4, 3), TYPE(RLX_F32, 4, 2), TYPE(RLX_I32, 4, 3),
                            TYPE(RLX_F32, 12),   {RLX_F32, {.n = 0}}, TYPE(RLX_Q8_0, 96)};
  world_open(&w, d, types, 6);
  STOP_IF_FAILED;
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 0, w.a, 2, 0, 1), RLX_INVALID, "their rows differ");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 0, w.a, 3, 0, 1), RLX_INVALID, "types differ");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 0, w.a, 4, 0, 1), RLX_INVALID, "their rows differ");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 5, 0, w.a, 5, 0, 1), RLX_INVALID, "a scalar has no rows");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 6, 0, w.a, 6, 32, 16), RLX_INVALID, "not whole blocks");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 6, 1, w.a, 6, 32, 32), RLX_INVALID, "not whole blocks");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 8, 0, w.a, 1, 0, 1), RLX_INVALID, "copy to: node 8");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 0, w.a, 7, 0, 1), RLX_NOT_FOUND, "copy from: node 7");
  CHECK_FAILS(rlx_arena_copy_rows(NULL, 1, 0, w.a, 1, 0, 1), RLX_INVALID, "arena is NULL");
  CHECK_FAILS(rlx_arena_copy_rows(w.a, 1, 0, NULL, 1, 0, 1), RLX_INVALID, "arena is NULL");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 1, w.a, 3, 1), RLX_INVALID, "types differ");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 1, w.a, 4, 13), RLX_INVALID, "first 13 elements");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 2, w.a, 1, 9), RLX_INVALID, "first 9 elements");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 1, w.a, 2, 9), RLX_INVALID, "first 9 elements");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 1, w.a, 1, UINT64_MAX), RLX_INVALID, "elements");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 6, w.a, 6, 33), RLX_INVALID, "not whole blocks");
  CHECK_FAILS(rlx_arena_copy_prefix(NULL, 1, w.a, 1, 1), RLX_INVALID, "arena is NULL");
  CHECK_FAILS(rlx_arena_copy_prefix(w.a, 1, NULL, 1, 1), RLX_INVALID, "arena is NULL");
  world_compare(&w);
  STOP_IF_FAILED;
  world_close(&w);
}

/* Node 3 lies inside node 1, as views do. (Nodes alternate between two blocks, so both are in block 1.) */
static void check_prefixes(rlx_device *d, rlx_dtype dtype, int64_t count, int64_t shift) {
  world w;
  const rlx_type types[] = {TYPE(dtype, count), TYPE(dtype, count + 3)};
  world_open(&w, d, types, 2);
  STOP_IF_FAILED;
  const uint64_t size = rlx_dtype_size(dtype);
  rlx_arena_entry view = world_entry(&w, 1);
  view.at.offset += (uint64_t)shift * size;
  view.at.bytes -= (uint64_t)shift * size;
  view.capacity = view.at.bytes;
  view.type.shape.v[0] -= shift;
  CHECK_OK(rlx_arena_put(w.a, 3, &view));
  unsigned char *one = image_of(&w, 1), *inside = one + (uint64_t)shift * size;
  const uint64_t max = (uint64_t)(count - shift);
  const uint64_t counts[] = {0, 1, max / 2, max - 1, max};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int way = 0; way < 4; way++) {
      const rlx_node to = way == 0 ? 3 : way == 1 ? 1 : way == 2 ? 2 : 3, from = way == 0 ? 1 : way == 3 ? 2 : 3;
      unsigned char *t = to == 2 ? image_of(&w, 2) : to == 1 ? one : inside;
      const unsigned char *f = from == 2 ? image_of(&w, 2) : from == 1 ? one : inside;
      CHECK_OK(rlx_arena_copy_prefix(w.a, to, w.a, from, counts[i]));
      memmove(t, f, counts[i] * size);
      world_compare(&w);
      STOP_IF_FAILED;
    }
  world_close(&w);
}

void prefix_copies(rlx_device *d) {
  const int64_t unit = (int64_t)(d->info.view_align ? d->info.view_align : 1);
  check_prefixes(d, RLX_U8, 7 * unit + 5, unit);
  STOP_IF_FAILED;
  check_prefixes(d, RLX_F16, 9 * unit + 1, unit);
  STOP_IF_FAILED;
  check_prefixes(d, RLX_F64, 3 * unit + 2, 2 * unit);
}

/* Longer than the chunks that a move is split into, up and down, by less and by more than a chunk. */
void long_moves(rlx_device *d) {
  enum { ROW = 1009, ROWS = 3000 };
  world w;
  world_open(&w, d, &TYPE(RLX_U8, ROWS, ROW), 1);
  STOP_IF_FAILED;
  static const uint64_t rows[][3] = {{1, 0, ROWS - 1}, {0, 1, ROWS - 1}, {1300, 0, 1700},
                                     {0, 1300, 1700},  {7, 0, 1040},     {3, 3, 2000}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    copy_rows_both(&w, 1, rows[i][0], 1, rows[i][1], rows[i][2]);
    STOP_IF_FAILED;
  }
  world_close(&w);
}

void two_arenas(rlx_device *d) {
  world a, b;
  const rlx_type types[] = {TYPE(RLX_F16, 5, 3), TYPE(RLX_F16, 2, 3)};
  world_open(&a, d, types, 2);
  STOP_IF_FAILED;
  world_open(&b, d, types, 2);
  STOP_IF_FAILED;
  memset(image_of(&a, 1), 0x11, (size_t)a.at[1].bytes);
  CHECK_OK(rlx_arena_write_raw(a.a, 1, 0, image_of(&a, 1), (size_t)a.at[1].bytes));
  world_compare(&b);
  STOP_IF_FAILED;
  CHECK_OK(rlx_arena_copy_rows(b.a, 1, 4, a.a, 1, 0, 1));
  memcpy(image_of(&b, 1) + 24, image_of(&a, 1), 6);
  CHECK_OK(rlx_arena_copy_prefix(b.a, 2, a.a, 1, 5));
  memcpy(image_of(&b, 2), image_of(&a, 1), 10);
  world_compare(&a);
  STOP_IF_FAILED;
  world_compare(&b);
  STOP_IF_FAILED;
  world_close(&a);
  world_compare(&b); /* destroying the other changes nothing */
  STOP_IF_FAILED;
  world_close(&b);
}

void twins(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_U8, 5, 3), TYPE(RLX_F32, 7)};
  world_open(&w, d, types, 2);
  STOP_IF_FAILED;
  rlx_arena *twin, *other;
  world_arena(&w, &twin);
  STOP_IF_FAILED;
  CHECK_OK(rlx_arena_copy_segment(twin, w.a, RLX_SEGMENT_SCRATCH));
  world copy = w; /* the other arena's blocks must now equal the image as well */
  copy.a = twin;
  world_compare(&copy);
  STOP_IF_FAILED;
  CHECK_OK(rlx_arena_copy_segment(w.a, w.a, RLX_SEGMENT_SCRATCH));
  CHECK_OK(rlx_arena_copy_segment(twin, w.a, RLX_SEGMENT_STATE));
  CHECK_FAILS(rlx_arena_copy_segment(twin, w.a, RLX_SEGMENT_NONE), RLX_INVALID, "none of weights");
  CHECK_FAILS(rlx_arena_copy_segment(twin, w.a, (rlx_segment)7), RLX_INVALID, "7 is none of");
  CHECK_FAILS(rlx_arena_copy_segment(NULL, w.a, RLX_SEGMENT_SCRATCH), RLX_INVALID, "copy to is NULL");
  CHECK_FAILS(rlx_arena_copy_segment(twin, NULL, RLX_SEGMENT_SCRATCH), RLX_INVALID, "copy from is NULL");

  /* Every way in which two arenas can differ. */
  rlx_arena_entry good = world_entry(&w, 2);
  good.at.block = rlx_arena_scratch(twin, 0);
  const uint64_t unit = padded(&w, 1);
  for (int way = 0; way < 5; way++) {
    rlx_arena_entry bad = good;
    if (way == 0) bad.segment = RLX_SEGMENT_NONE;
    if (way == 1) bad.at.offset += unit;
    if (way == 2) bad.capacity = bad.at.bytes;
    if (way == 3) bad.type.dtype = RLX_I32;
    if (way == 4) bad.type.shape = RLX_DIMS(1, 7);
    CHECK_OK(rlx_arena_put(twin, 2, &bad));
    CHECK_FAILS(rlx_arena_copy_segment(twin, w.a, RLX_SEGMENT_SCRATCH), RLX_INVALID, "not twins: node 2");
    CHECK_FAILS(rlx_arena_copy_segment(w.a, twin, RLX_SEGMENT_SCRATCH), RLX_INVALID, "not twins: node 2");
  }
  CHECK_OK(rlx_arena_create(d, w.pool, w.bytes, 1, w.n + 1, &other));
  CHECK_FAILS(rlx_arena_copy_segment(other, w.a, RLX_SEGMENT_SCRATCH), RLX_INVALID, "scratch blocks");
  rlx_arena_destroy(other);
  const uint64_t longer[N_BLOCKS] = {w.bytes[0], w.bytes[1] + 1};
  CHECK_OK(rlx_arena_create(d, w.pool, longer, N_BLOCKS, w.n + 1, &other));
  CHECK_FAILS(rlx_arena_copy_segment(other, w.a, RLX_SEGMENT_SCRATCH), RLX_INVALID, "scratch block 1");
  rlx_arena_destroy(other);
  world_compare(&w);
  STOP_IF_FAILED;
  rlx_arena_destroy(twin);
  world_close(&w);
}
