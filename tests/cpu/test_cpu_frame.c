/* The CPU backend without its kernels: device, blocks, threads and programs. */
#include <stdlib.h>

#include "cpu/cpu.h"
#include "device/queue.h"
#include "faults.h"
#include "ref/eval.h"
#include "test.h"

static const rlx_backend *const cpu = &rlx_backend_cpu;

/* ---- device ---- */

TEST(one_device_that_describes_itself) {
  const char *why = "x";
  CHECK_EQ_INT(cpu->count(&why), 1);
  CHECK(!why);
  rlx_device_info info = {RLX_DEVICE_INFO_INIT}, again = {RLX_DEVICE_INFO_INIT};
  CHECK_OK(cpu->describe(0, &info));
  CHECK_OK(cpu->describe(0, &again));
  CHECK_EQ_STR(info.backend, "cpu");
  CHECK_EQ_STR(info.uuid, again.uuid);
  CHECK_EQ_INT(strlen(info.uuid), 36);
  for (int i = 0; i < 36; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    CHECK(dash ? info.uuid[i] == '-' : strchr("0123456789abcdef", info.uuid[i]) != NULL);
  }
  CHECK(info.name[0] && info.features[0] && info.driver[0]);
  CHECK(info.kind == RLX_DEVICE_CPU && info.is_mapped && info.n_units >= 1);
  CHECK(info.memory_bytes >= info.free_bytes && info.memory_bytes > 0);
  CHECK_EQ_INT(info.align, 256);
  CHECK_EQ_INT(info.view_align, 1);
  CHECK_FAILS(cpu->describe(1, &info), RLX_NOT_FOUND, "index 0");
}

TEST(variants_are_instruction_sets) {
  rlx_device *d;
  for (int i = 0; i <= (int)cpu_isa_best(); i++) {
    const char *name = cpu_isa_name((cpu_isa)i);
    CHECK_OK(cpu->open(0, &(rlx_open_options){.variant = name}, &d));
    CHECK_EQ_INT(((cpu_device *)d)->isa, i);
    CHECK(strstr(d->info.driver, name) != NULL);
    cpu->close(d);
  }
  CHECK_OK(cpu->open(0, &(rlx_open_options){.variant = NULL}, &d));
  CHECK_EQ_INT(((cpu_device *)d)->isa, cpu_isa_best());
  cpu->close(d);
  CHECK_FAILS(cpu->open(0, &(rlx_open_options){.variant = "mmx"}, &d), RLX_NOT_FOUND, cpu_isa_name(CPU_ISA_FIRST));
  CHECK(!d);
  CHECK_FAILS(cpu->open(1, &(rlx_open_options){.variant = NULL}, &d), RLX_NOT_FOUND, "index 0");
  cpu_isa isa;
  CHECK(!cpu_isa_find("", &isa) && !cpu_isa_find("avx", &isa));
}

/* ---- blocks ---- */

static bool refuse(void *user, size_t bytes) {
  *(size_t *)user = bytes;
  return false;
}

TEST(aligned_memory_is_counted_and_may_be_refused) {
  size_t live = rlx_mem_live(), asked = 0;
  for (size_t align = 1; align <= 4096; align *= 4)
    for (size_t bytes = 0; bytes < 300; bytes += 7) {
      unsigned char *p = rlx_mem_alloc_aligned(bytes, align);
      CHECK(p && (uintptr_t)p % align == 0);
      memset(p, 0xa5, bytes);
      CHECK_EQ_INT(rlx_mem_live(), live + 1);
      rlx_mem_free(p);
      CHECK_EQ_INT(rlx_mem_live(), live);
    }
  unsigned char *large = rlx_mem_alloc_aligned(5u << 20, 256);
  CHECK(large && (uintptr_t)large % 256 == 0);
  memset(large, 0xa5, 5u << 20);
  rlx_mem_free(large);
  rlx_mem_set_hook(refuse, &asked);
  void *none = rlx_mem_alloc_aligned(77, 64);
  rlx_mem_set_hook(NULL, NULL);
  CHECK(!none && asked == 77 && rlx_mem_live() == live);
  CHECK(!rlx_mem_alloc_aligned(SIZE_MAX, 64) && rlx_mem_live() == live);
}

TEST(blocks_are_mapped_and_ranges_checked) {
  rlx_device *d;
  CHECK_OK(cpu->open(0, &(rlx_open_options){.variant = NULL}, &d));
  rlx_queue *q;
  CHECK_OK(cpu->queue_create(d, &q));
  rlx_block *a, *b, *none;
  CHECK_OK(cpu->block_create(d, 100, &a));
  CHECK_OK(cpu->block_create(d, 40, &b));
  CHECK_OK(cpu->block_create(d, 0, &none));
  CHECK(a->map && none->map && (uintptr_t)a->map % 256 == 0);
  unsigned char bytes[100], back[100];
  for (int i = 0; i < 100; i++) bytes[i] = (unsigned char)i;
  CHECK_OK(cpu->write(q, a, 0, bytes, 100));
  CHECK_OK(cpu->zero(q, b, 0, 40));
  CHECK_OK(cpu->copy(q, b, 3, a, 60, 37));
  CHECK_OK(cpu->read(q, b, 0, back, 40));
  for (int i = 0; i < 40; i++) CHECK_EQ_INT(back[i], i < 3 ? 0 : 57 + i);
  CHECK_OK(cpu->copy(q, a, 0, a, 50, 50));
  CHECK(memcmp(a->map, bytes + 50, 50) == 0);
  CHECK_OK(cpu->write(q, none, 0, NULL, 0));
  CHECK_FAILS(cpu->write(q, a, 1, bytes, 100), RLX_INVALID, "100 bytes at 1");
  CHECK_FAILS(cpu->read(q, a, UINT64_MAX, back, 2), RLX_INVALID, "not inside");
  CHECK_FAILS(cpu->zero(q, a, 101, 0), RLX_INVALID, "not inside");
  CHECK_FAILS(cpu->copy(q, b, 0, a, 0, 41), RLX_INVALID, "block of 40");
  CHECK_FAILS(cpu->copy(q, a, 0, b, 0, 41), RLX_INVALID, "block of 40");
  rlx_block *huge;
  CHECK_FAILS(cpu->block_create(d, UINT64_MAX, &huge), RLX_NO_MEMORY, "block");
  cpu->block_destroy(d, a);
  cpu->block_destroy(d, b);
  cpu->block_destroy(d, none);
  cpu->block_destroy(d, NULL);
  CHECK_OK(rlx_queue_sync(q));
  cpu->queue_destroy(q);
  cpu->close(d);
}

/* Blocks of 32 KiB to 4 MiB share slabs: in any order of creation and destruction, each has its own aligned bytes. */
TEST(blocks_do_not_meet) {
  enum { N = 48 };
  rlx_device *d;
  rlx_block *b[N] = {NULL};
  CHECK_OK(cpu->open(0, NULL, &d));
  uint32_t seed = 7;
  for (unsigned round = 0; round < 300; round++) {
    unsigned i = (seed = seed * 1664525u + 1013904223u) >> 16, kind = i >> 8 & 3;
    i %= N;
    if (b[i]) { /* its contents are unchanged */
      const unsigned char *bytes = b[i]->map;
      CHECK(bytes[0] == i && bytes[b[i]->bytes / 2] == i && bytes[b[i]->bytes - 1] == i);
      cpu->block_destroy(d, b[i]);
    }
    uint64_t bytes = (kind == 0 ? 1u : kind == 1 ? 30u << 10 : kind == 2 ? 500u << 10 : 5u << 20) + seed % 1000;
    CHECK_OK(cpu->block_create(d, bytes, &b[i]));
    CHECK((uintptr_t)b[i]->map % d->info.align == 0 && b[i]->bytes == bytes);
    memset(b[i]->map, (int)i, (size_t)bytes);
  }
  for (unsigned i = 0; i < N; i++) cpu->block_destroy(d, b[i]);
  cpu->close(d);
}

TEST(layouts_that_are_unknown) {
  rlx_device *d;
  CHECK_OK(cpu->open(0, &(rlx_open_options){.variant = NULL}, &d));
  rlx_type type = {RLX_F32, RLX_DIMS(2, 2)};
  float x[4] = {0}, y[4];
  CHECK_EQ_INT(cpu->layout_bytes(d, 0, &type), 0);
  CHECK_EQ_INT(cpu->layout_bytes(d, UINT32_MAX, &type), 0);
  CHECK_FAILS(cpu->repack(d, 0x7f00, &type, true, x, y, NULL), RLX_INVALID, "layout");
  cpu->close(d);
}

/* ---- threads ---- */

typedef struct marks {
  size_t n, grain, wrong;
  unsigned char *seen;
} marks;

static void mark(void *user, size_t begin, size_t end, unsigned thread) {
  marks *m = user;
  (void)thread;
  if (begin % m->grain || (end - begin != m->grain && end != m->n)) __atomic_add_fetch(&m->wrong, 1, __ATOMIC_RELAXED);
  for (size_t i = begin; i < end; i++) m->seen[i]++;
}

TEST(parallel_covers_each_item_once_with_the_same_cuts) {
  rlx_pool *pool;
  CHECK_OK(rlx_pool_create(TEST_THREADS(3), &pool));
  for (size_t n = 0; n < 40; n++)
    for (size_t grain = 1; grain < 45; grain += 3)
      for (int with = 0; with < 2; with++) {
        unsigned char seen[41] = {0};
        marks m = {n, grain, 0, seen};
        cpu_parallel(with ? pool : NULL, n, grain, mark, &m);
        CHECK_EQ_INT(m.wrong, 0);
        for (size_t i = 0; i < 41; i++) CHECK_EQ_INT(seen[i], i < n);
      }
  rlx_pool_destroy(pool);
}

TEST(grain_is_at_least_one_and_at_most_all) {
  const double cost[] = {0, 1e-9, 0.5, 100, 1e9};
  const size_t n[] = {0, 1, 127, 128, 129, 1000000};
  for (size_t i = 0; i < 5; i++)
    for (size_t k = 0; k < 6; k++) {
      size_t grain = cpu_grain(n[k], cost[i]);
      CHECK(grain >= 1 && grain <= (n[k] ? n[k] : 1));
      CHECK(n[k] / grain <= 128 || (double)grain * cost[i] <= 1e7 || grain == 1);
    }
  CHECK_EQ_INT(cpu_grain(1000, 1e6), 8); /* costly items are still split into at most 128 tasks, */
  CHECK_EQ_INT(cpu_grain(1000, 1e8), 1); /* unless cancelling would wait long for one */
  CHECK_EQ_INT(cpu_grain(1000, 0.01), 1000);
}

/* ---- claims ---- */

/* The flags of a kernel are enough to refuse a node: f64, or an input in a packed layout. */
TEST(some_nodes_are_refused_unasked) {
  rlx_device *d;
  rlx_graph *g;
  CHECK_OK(cpu->open(0, &(rlx_open_options){.variant = NULL}, &d));
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4, 4)), soft = rlx_op_softmax(g, x, -1),
           move = rlx_op_transpose(g, x, RLX_DIMS(1, 0));
  rlx_node wide = rlx_op_softmax(g, rlx_op_cast(g, x, RLX_F64), -1);
  rlx_graph_add_output(g, "a", soft), rlx_graph_add_output(g, "b", move), rlx_graph_add_output(g, "c", wide);
  CHECK_OK(rlx_graph_finish(g));
  const uint32_t plain[] = {CPU_LAYOUT_PLAIN}, packed[] = {CPU_LAYOUT_GEMM};
  const struct {
    rlx_node node;
    const uint32_t *layout;
    const char *why; /* a substring; NULL: claimed */
  } cases[] = {{soft, NULL, NULL},  {soft, plain, NULL},         {soft, packed, "row-major"},
               {move, plain, NULL}, {move, packed, "row-major"}, {wide, NULL, "f64 runs through"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_claim claim = {0};
    CHECK_OK(cpu->claim(d, &(rlx_claim_query){.graph = g, .node = cases[i].node, .layout = cases[i].layout}, &claim));
    CHECK_EQ_INT(claim.native, !cases[i].why);
    CHECK(cases[i].why ? claim.why && strstr(claim.why, cases[i].why) : !claim.why);
  }
  rlx_graph_destroy(g);
  cpu->close(d);
}

/* ---- programs ---- */

/* A reshape, which every build of the backend has, and a copy. */
typedef struct fixture {
  rlx_device *d;
  rlx_queue *q;
  rlx_graph *g;
  rlx_node x, y;
  rlx_block *block;
  rlx_bound in, out;
  rlx_claim claim;
  rlx_bound_step steps[2];
  rlx_program_desc desc;
} fixture;

static rlx_status fixture_open(fixture *f) {
  *f = (fixture){0};
  RLX_TRY(cpu->open(0, &(rlx_open_options){.variant = NULL}, &f->d));
  RLX_TRY(cpu->queue_create(f->d, &f->q));
  RLX_TRY(rlx_graph_create(&f->g));
  f->x = rlx_op_input(f->g, "x", RLX_F32, RLX_DIMS(2, 3));
  f->y = rlx_op_transpose(f->g, f->x, RLX_DIMS(1, 0));
  rlx_graph_add_output(f->g, "y", f->y);
  RLX_TRY(rlx_graph_finish(f->g));
  RLX_TRY(cpu->block_create(f->d, 1024, &f->block));
  f->in = (rlx_bound){f->block, 0, 24};
  f->out = (rlx_bound){f->block, 256, 24};
  RLX_TRY(cpu->claim(f->d, &(rlx_claim_query){.graph = f->g, .node = f->y}, &f->claim));
  f->steps[0] = (rlx_bound_step){.node = f->y, .n_in = 1, .n_out = 1, .in = &f->in, .out = &f->out, .claim = &f->claim};
  f->steps[1] = f->steps[0];
  f->steps[1].copy = true;
  f->desc = (rlx_program_desc){.graph = f->g, .steps = f->steps, .n_steps = 2};
  return RLX_OK;
}

static void fixture_close(fixture *f) {
  if (f->d) cpu->block_destroy(f->d, f->block);
  rlx_graph_destroy(f->g);
  if (f->q) cpu->queue_destroy(f->q);
  if (f->d) cpu->close(f->d);
}

static bool same_bytes(const void *a, const void *b, size_t n) { return memcmp(a, b, n) == 0; }

static bool always(void *user) { return ++*(int *)user > 1; }

TEST(programs_run_steps_and_copies) {
  fixture f;
  CHECK_OK(fixture_open(&f));
  float *x = f.block->map, *y = (float *)f.block->map + 64;
  for (int i = 0; i < 6; i++) x[i] = (float)i;
  rlx_program *p;
  CHECK_OK(cpu->program_create(f.q, &f.desc, &p));
  uint64_t begin[2] = {0}, end[2] = {0};
  rlx_run_args args = {.begin_ns = begin, .end_ns = end};
  CHECK_OK(cpu->submit(p, 0, 1, &args));
  const float want[] = {0, 3, 1, 4, 2, 5};
  CHECK(same_bytes(y, want, 24));
  CHECK(begin[0] && begin[0] <= end[0] && !begin[1]);
  CHECK_OK(cpu->submit(p, 1, 1, &args)); /* times are indexed from the first step of the run */
  CHECK(same_bytes(y, x, 24));
  CHECK_OK(cpu->submit(p, 0, 2, &args));
  CHECK(begin[1] >= end[0] && end[1] >= begin[1]);
  CHECK_OK(cpu->submit(p, 2, 0, &args));
  CHECK_FAILS(cpu->submit(p, 1, 2, &args), RLX_INVALID, "has 2");
  int asked = 0;
  memset(y, 0, 24);
  args = (rlx_run_args){.cancel = always, .cancel_user = &asked};
  CHECK_FAILS(cpu->submit(p, 0, 2, &args), RLX_CANCELLED, "node 2 (transpose): stopped");
  CHECK(same_bytes(y, want, 24)); /* the first step ran, the second did not */
  cpu->program_destroy(p);
  cpu->program_destroy(NULL);
  fixture_close(&f);
}

TEST(programs_check_their_windows) {
  fixture f;
  CHECK_OK(fixture_open(&f));
  rlx_program *p;
  f.in.bytes = 20;
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_INVALID,
              "node 2 (transpose): window 0: expected 24 bytes, got 20");
  CHECK(!p);
  f.in.bytes = 24;
  f.out.offset = 1004;
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_INVALID, "not inside a block of 1024");
  f.out = (rlx_bound){0};
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_INVALID, "one window to write");
  f.out = (rlx_bound){f.block, 256, 24};
  f.steps[0].layout = &(uint32_t){0x7f01};
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_INVALID, "layout 32513 is unknown");
  f.steps[0].layout = NULL;
  f.steps[0].n_in = 0;
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_INVALID, "expected 1 inputs, got 0");
  f.steps[0].node = f.x;
  f.steps[0].claim = NULL;
  CHECK_FAILS(cpu->program_create(f.q, &f.desc, &p), RLX_UNSUPPORTED, "node 1 (input): it has not been claimed");
  fixture_close(&f);
}

static rlx_status work(void *user) {
  (void)user;
  fixture f;
  rlx_program *p = NULL;
  rlx_status s = fixture_open(&f);
  if (!s) s = cpu->program_create(f.q, &f.desc, &p);
  if (!s) s = cpu->submit(p, 0, 2, &(rlx_run_args){0});
  cpu->program_destroy(p);
  fixture_close(&f);
  return s;
}

TEST(every_allocation_may_fail) { CHECK_OK(alloc_sweep(work, NULL)); }
