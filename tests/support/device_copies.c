/* Programs of copies: see device_copies.h. */
#include "device_copies.h"

#include "base/log.h"
#include "device/queue.h"

void copies_open(copies *c, const char *device, const uint8_t (*pairs)[2], size_t n) {
  rlx_device *d;
  *c = (copies){0};
  ACQUIRE(device, &d);
  copies_open_on(c, d, pairs, n);
}

void copies_open_on(copies *c, rlx_device *d, const uint8_t (*pairs)[2], size_t n) {
  unsigned char image[N_CELLS * CELL];
  *c = (copies){.d = d};
  CHECK(n <= MAX_COPIES);
  CHECK_OK(d->backend->queue_create(d, &c->q));
  CHECK_OK(rlx_graph_create(&c->g));
  rlx_node x = rlx_op_input(c->g, "x", RLX_U8, RLX_DIMS(CELL));
  rlx_graph_add_output(c->g, "y", x);
  CHECK_OK(rlx_graph_finish(c->g));
  for (size_t i = 0; i < N_CELLS; i++) c->cells[i] = (char)('0' + i);
  for (size_t i = 0; i < sizeof image; i++) image[i] = (unsigned char)c->cells[i / CELL];
  CHECK_OK(d->backend->block_create(d, sizeof image, &c->b));
  CHECK_OK(d->backend->write(c->q, c->b, 0, image, sizeof image));
  for (size_t i = 0; i < n; i++) {
    c->windows[2 * i] = (rlx_bound){c->b, pairs[i][0] * CELL, CELL};
    c->windows[2 * i + 1] = (rlx_bound){c->b, pairs[i][1] * CELL, CELL};
    c->steps[i] = (rlx_bound_step){
      .node = x, .copy = true, .n_in = 1, .n_out = 1, .in = &c->windows[2 * i], .out = &c->windows[2 * i + 1]};
  }
  c->desc = (rlx_program_desc){.graph = c->g, .steps = c->steps, .n_steps = n};
  CHECK_OK(d->backend->program_create(c->q, &c->desc, &c->p));
}

void copies_close(copies *c) {
  if (!c->d) return;
  c->d->backend->program_destroy(c->p);
  c->d->backend->block_destroy(c->d, c->b);
  c->d->backend->queue_destroy(c->q);
  rlx_graph_destroy(c->g);
  rlx_device_release(c->d);
}

void copies_follow(copies *c, size_t first, size_t n) {
  for (size_t i = first; i < first + n; i++)
    c->cells[c->windows[2 * i + 1].offset / CELL] = c->cells[c->windows[2 * i].offset / CELL];
}

void copies_run(copies *c, size_t first, size_t n, const rlx_run_args *args) {
  CHECK_OK(c->d->backend->submit(c->p, first, n, args));
  copies_follow(c, first, n);
}

void copies_expect(copies *c, const char *cells) {
  unsigned char image[N_CELLS * CELL];
  if (c->b->map) CHECK_OK(rlx_queue_sync(c->q)); /* reading mapped memory would not wait for the program */
  CHECK_OK(c->d->backend->read(c->q, c->b, 0, image, sizeof image));
  for (size_t i = 0; cells[i]; i++)
    if (image[i * CELL] != cells[i] || image[i * CELL + CELL - 1] != cells[i])
      FAIL("cell %zu: expected %c, got %c .. %c", i, cells[i], image[i * CELL], image[i * CELL + CELL - 1]);
  CHECK_OK(rlx_queue_sync(c->q));
}

static bool stop_third(void *user) { return ++*(int *)user == 3; }

void copies_check_stop(copies *c, bool is_cut) {
  int asked = 0;
  const rlx_run_args stops = {.cancel = stop_third, .cancel_user = &asked};
  if (!is_cut) {
    copies_run(c, 0, c->desc.n_steps, &stops);
    CHECK_EQ_INT(asked, 1);
    return;
  }
  CHECK_FAILS(c->d->backend->submit(c->p, 0, c->desc.n_steps, &stops), RLX_CANCELLED,
              "node 1 (input): stopped by the caller");
  copies_follow(c, 0, 2);
  copies_expect(c, c->cells);
}

void copies_run_timed(copies *c, int runs) {
  memset(c->begin, 0, sizeof c->begin);
  memset(c->end, 0, sizeof c->end);
  c->timed_from = rlx_now_ns();
  for (int i = 0; i < runs; i++)
    copies_run(c, 0, c->desc.n_steps, &(rlx_run_args){.begin_ns = c->begin, .end_ns = c->end});
}

void copies_expect_times(const copies *c) {
  CHECK(c->begin[0] >= c->timed_from && c->begin[0] < rlx_now_ns());
  for (size_t i = 0; i < c->desc.n_steps; i++)
    CHECK(c->begin[i] <= c->end[i] && (i == 0 || c->end[i - 1] <= c->begin[i]));
}

void check_wrong_programs(copies *c) {
  const rlx_backend *v = c->d->backend;
  rlx_program *p;
  c->windows[1].offset = N_CELLS * CELL - 1;
  CHECK_FAILS(v->program_create(c->q, &c->desc, &p), RLX_INVALID, "node 1 (input): result 0: 256 bytes at 6143");
  c->windows[1] = (rlx_bound){c->b, 0, CELL / 2};
  CHECK_FAILS(v->program_create(c->q, &c->desc, &p), RLX_INVALID, "of equal bytes");
  c->steps[0].copy = false;
  CHECK_FAILS(v->program_create(c->q, &c->desc, &p), RLX_UNSUPPORTED, "node 1 (input)");
  CHECK(p == NULL);
}
