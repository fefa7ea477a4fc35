/* Moving elements, measured against memcpy: for each line the time of a copy of the result's bytes over the time of the
 * kernel, in one process, taking turns, the best of many rounds. 1.00 is memcpy's own speed; both use one thread, then
 * two (memcpy then as the CPU backend's copy, cut among the threads). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conform/conform.h"
#include "conform/values.h"
#include "cpu/cpu.h"

typedef struct line {
  const char *inputs, *expr;
} line;

static const line lines[] = {
  {"x: f32[2048,2048]", "transpose(%x)"},
  {"x: f32[2000,2100]", "transpose(%x)"},
  {"x: f32[300,300]", "transpose(%x)"},
  {"x: f16[2048,2048]", "transpose(%x)"},
  {"x: u8[2048,2048]", "transpose(%x)"},
  {"x: i64[1024,1024]", "transpose(%x)"},
  {"x: f32[8,512,16,64]", "transpose(%x) {perm=[0,2,1,3]}"},
  {"x: f32[8,16,64,512]", "transpose(%x) {perm=[0,1,3,2]}"},
  {"x: f32[4,256,256,3]", "transpose(%x) {perm=[0,3,1,2]}"},
  {"x: f32[4,3,256,256]", "transpose(%x) {perm=[0,2,3,1]}"},
  {"x: f32[64,64,1024]", "slice(%x) {axes=[2], start=[0], stop=[1024], step=[2]}"},
  {"x: f32[1,1024]", "expand(%x) {shape=[2048,1024]}"},
  {"x: f32[16,64,56,56]", "pad(%x) {lo=[0,0,1,1], hi=[0,0,1,1]}"},
  {"a: f32[2048,512]; b: f32[2048,512]", "concat(%a, %b) {axis=1}"},
  {"x: f32[32000,1024]; i: i32[2048] range(0,32000)", "gather(%x, %i)"},
  {"x: f32[1000000]; i: i32[1000000] range(0,1000000)", "gather_elements(%x, %i)"},
  {"x: f32[1,150000]", "argmax(%x)"},
};

enum { ROUNDS = 25, MAX_IN = 4 };

typedef struct bench {
  rlx_device *d;
  rlx_graph *g;
  rlx_node y;
  rlx_bound in[MAX_IN], out, from, to, work;
  rlx_claim claim;
  rlx_bound_step steps[2]; /* the node, and a copy of as many bytes between blocks of its own */
  rlx_program *p;
} bench;

static rlx_status make_block(bench *b, uint64_t bytes, rlx_bound *out) {
  rlx_block *block;
  RLX_TRY(rlx_backend_cpu.block_create(b->d, bytes, &block));
  memset(block->map, 1, (size_t)bytes);
  *out = (rlx_bound){block, 0, bytes};
  return RLX_OK;
}

static void bench_close(bench *b) {
  const rlx_bound *all[] = {&b->in[0], &b->in[1], &b->in[2], &b->in[3], &b->out, &b->from, &b->to, &b->work};
  rlx_backend_cpu.program_destroy(b->p);
  for (int i = 0; i < 8; i++) rlx_backend_cpu.block_destroy(b->d, all[i]->block);
  rlx_graph_destroy(b->g);
}

/* "range(0,32000)" behind an index's type; nothing for the others. */
static rlx_status fill_input(bench *b, const rlx_case *c, rlx_node id, uint32_t i) {
  const rlx_type *t = &rlx_graph_at(b->g, id)->type;
  rlx_tensor value = {t->dtype, t->shape, {b->in[i].block->map}, (size_t)b->in[i].bytes};
  const char *range = strstr(c->inputs, "range(");
  bool is_index = t->dtype == RLX_I32 && range;
  return rlx_values_fill(&value, is_index ? range : "", is_index ? strlen(range) : 0, i + 1);
}

static rlx_status bench_open(bench *b, const rlx_case *c) {
  RLX_TRY(rlx_case_graph(c, &b->g));
  b->y = b->g->outputs.v[0].node;
  const rlx_node_rec *n = rlx_graph_at(b->g, b->y);
  for (uint32_t i = 0; i < n->n_in && i < MAX_IN; i++) {
    const rlx_type *t = &rlx_graph_at(b->g, n->in[i])->type;
    size_t bytes;
    RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &bytes));
    RLX_TRY(make_block(b, bytes, &b->in[i]));
    RLX_TRY(fill_input(b, c, n->in[i], i));
  }
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(n->type.dtype, n->type.shape, &bytes));
  if (n->op == RLX_OP_argmax) bytes = (size_t)b->in[0].bytes; /* what is read is what counts */
  RLX_TRY(rlx_backend_cpu.claim(b->d, &(rlx_claim_query){.graph = b->g, .node = b->y}, &b->claim));
  RLX_TRY(make_block(b, bytes, &b->out));
  RLX_TRY(make_block(b, bytes, &b->from));
  RLX_TRY(make_block(b, bytes, &b->to));
  RLX_TRY(make_block(b, b->claim.work_bytes, &b->work));
  b->steps[0] = (rlx_bound_step){
    .node = b->y, .n_in = n->n_in, .n_out = 1, .in = b->in, .out = &b->out, .claim = &b->claim, .work = b->work};
  b->steps[1] = (rlx_bound_step){.node = b->y, .copy = true, .n_in = 1, .n_out = 1, .in = &b->from, .out = &b->to};
  rlx_program_desc desc = {.graph = b->g, .steps = b->steps, .n_steps = 2};
  return rlx_backend_cpu.program_create(&(rlx_queue){b->d}, &desc, &b->p);
}

static rlx_status best_times(bench *b, rlx_pool *pool, double ns[2]) {
  ns[0] = ns[1] = 1e18;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t begin[2], end[2];
    RLX_TRY(rlx_backend_cpu.submit(b->p, 0, 2, &(rlx_run_args){.pool = pool, .begin_ns = begin, .end_ns = end}));
    for (int i = 0; i < 2; i++) {
      double t = (double)(end[i] - begin[i]);
      if (t < ns[i]) ns[i] = t;
    }
  }
  return RLX_OK;
}

static rlx_status run_line(rlx_device *d, rlx_pool *pool, const line *l) {
  bench b = {.d = d};
  rlx_case c = {"bench", l->inputs, l->expr};
  double one[2], two[2];
  rlx_status s = bench_open(&b, &c);
  if (!s) s = best_times(&b, NULL, one);
  if (!s) s = best_times(&b, pool, two);
  if (!s)
    printf("%-52s %-40s %7.0f us %5.2f | %7.0f us %5.2f\n", l->inputs, l->expr, one[0] / 1e3, one[1] / one[0],
           two[0] / 1e3, two[1] / two[0]);
  bench_close(&b);
  return s;
}

int main(int argc, char **argv) {
  rlx_device *d = NULL;
  rlx_pool *pool = NULL;
  rlx_status s = rlx_backend_cpu.open(0, &(rlx_open_options){.variant = argc > 1 ? argv[1] : NULL}, &d);
  if (!s) s = rlx_pool_create(2, &pool);
  if (!s)
    printf("%s: best of %d rounds; memcpy's time over the kernel's, 1 thread | 2 threads\n", d->info.driver, ROUNDS);
  for (size_t i = 0; i < sizeof lines / sizeof *lines && !s; i++) s = run_line(d, pool, &lines[i]);
  if (s) fprintf(stderr, "%s\n", rlx_message());
  rlx_pool_destroy(pool);
  if (d) rlx_backend_cpu.close(d);
  return s != RLX_OK;
}
