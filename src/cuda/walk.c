/* Decides whether a span can be walked, composes the kernel, and makes the table of steps: dispatches by level, where a
 * level is what may run side by side. A step also lists what the level two after its own will read that nothing in the
 * span writes: weights. */
#include "cuda/walk.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cuda/order.h"
#include "cuda/program.h"
#include "cuda/walk_text.h"

enum {
  MAX_KERNELS = 32,           /* of different constants, in one composed kernel */
  MAX_WALKERS = 64,           /* composed kernels of a device */
  MAX_THREADS = 512,          /* of a block: 128 registers each */
  LEVELS_AHEAD = 2,           /* fetched while this level runs */
  MIN_AHEAD_BYTES = 64 << 10, /* smaller windows are not worth a request */
  MAX_AHEAD_BYTES = 16 << 20, /* per level: a share of the level-2 cache */
  AHEAD_PER_INVOCATION = 512, /* bytes that an invocation reads at most in reasonable kernels */
};

typedef struct maker {
  rlx_program *p;
  size_t first, n; /* dispatches */
  uint32_t n_threads;
  const gpu_pipeline *kernels[MAX_KERNELS];
  uint32_t n_kernels;
  RLX_ARRAY(uint32_t) level;     /* by dispatch */
  RLX_ARRAY(cu_walk_step) steps; /* by level */
  RLX_ARRAY(uint32_t) dispatch;  /* of each step, counted from `first` */
} maker;

static const gpu_bound_dispatch *bound(const maker *m, size_t i) { return &m->p->body.dispatches.v[m->first + i]; }
static const cu_dispatch *made(const maker *m, size_t i) { return &m->p->dispatches[m->first + i]; }
static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "cuda: a table of steps"); }

/* ---- what can be walked ---- */

static bool find_kernel(const maker *m, const gpu_pipeline *q, uint32_t *out) {
  for (*out = 0; *out < m->n_kernels; (*out)++)
    if (m->kernels[*out] == q) return true;
  return false;
}

static bool can_walk(maker *m, size_t first_step, size_t n_steps) {
  const gpu_program *body = &m->p->body;
  m->n_threads = m->p->device->caps.max_group < MAX_THREADS ? m->p->device->caps.max_group : MAX_THREADS;
  for (size_t i = first_step; i < first_step + n_steps; i++)
    if (body->steps[i].copy_bytes) return false;
  for (size_t i = 0; i < m->n; i++) {
    const gpu_bound_dispatch *q = bound(m, i);
    const gpu_pipeline *kernel = body->requests[m->first + i].made;
    uint32_t at;
    if (!q->kernel->walks || q->dynamic_bytes || q->group_size % 32 || m->n_threads % q->group_size) return false;
    if (find_kernel(m, kernel, &at)) continue;
    if (m->n_kernels == MAX_KERNELS) return false;
    m->kernels[m->n_kernels++] = kernel;
  }
  return m->n >= m->p->device->walk_min;
}

/* ---- the composed kernel ---- */

/* A kernel's text, without its own meaning of the open words, and with a number for each of its arrays in shared
 * memory. */
static void add_numbered(rlx_str *s, const char *text) {
  static const char array[] = "K_SHARED(", ends[] = "#endif\n";
  unsigned n = 0;
  const char *rest = strstr(text, ends);
  if (rest) text = rest + strlen(ends);
  for (const char *at; (at = strstr(text, array)) != NULL; text = at + strlen(array)) {
    rlx_str_add_bytes(s, text, (size_t)(at - text));
    rlx_str_add(s, "%s%u, ", array, ++n);
  }
  rlx_str_add_bytes(s, text, strlen(text));
}

/* The first line of a kernel's part names it with its constants: the fake driver of the tests reads that. */
static rlx_status add_text(const maker *m, uint32_t i, rlx_str *s) {
  const gpu_pipeline *q = m->kernels[i];
  const gpu_code *code;
  RLX_TRY(gpu_codes_get(&m->p->device->pipelines.codes, q->kernel, &code));
  rlx_str_add(s, "//walk %s %u", q->kernel->name, (unsigned)q->group_size);
  for (uint32_t k = 0; k < q->kernel->n_constants; k++) rlx_str_add(s, " %u", (unsigned)q->constants[k]);
  rlx_str_add(s, "\nnamespace s%u {\n#define K_C0 %uu\n", (unsigned)i, (unsigned)q->group_size);
  rlx_str_add(s, "template <int I> struct k_place;\ntemplate <> struct k_place<0> {\n  static constexpr unsigned end = "
                 "0;\n};\n");
  for (uint32_t k = 0; k < q->kernel->n_constants; k++)
    rlx_str_add(s, "#define K_C%u %uu\n", (unsigned)(k + 1), (unsigned)q->constants[k]);
  add_numbered(s, code->text);
  for (uint32_t k = 0; k <= q->kernel->n_constants; k++) rlx_str_add(s, "#undef K_C%u\n", (unsigned)k);
  rlx_str_add(s, "}\n");
  return RLX_OK;
}

/* All groups of a step that are this block's. */
static void add_function(const maker *m, uint32_t i, rlx_str *s) {
  const gpu_pipeline *q = m->kernels[i];
  const unsigned n = (unsigned)i, g = (unsigned)q->group_size, slices = m->n_threads / g;
  rlx_str_add(s, "static __device__ __noinline__ void k_run%u(const k_step &s) {\n", n);
  rlx_str_add(s, "  for (unsigned k = k_first(s, %u); k < s.groups; k += gridDim.x * %u) {\n", g, slices);
  rlx_str_add(s, "    s%u::body(k", n);
  for (uint32_t w = 0; w < q->kernel->n_windows; w++) rlx_str_add(s, ", k_any{s.windows[%u]}", (unsigned)w);
  rlx_str_add(s, ", *(const s%u::Params *)s.params);\n    k_barrier<%u>();\n  }\n}\n", n, g);
}

static rlx_status compose(const maker *m, rlx_str *s) {
  rlx_str_add(s, "#define K_T %uu\n", (unsigned)m->n_threads);
  rlx_str_add_bytes(s, walk_words, sizeof walk_words - 1);
  for (uint32_t i = 0; i < m->n_kernels; i++) {
    RLX_TRY(add_text(m, i, s));
    add_function(m, i, s);
  }
  rlx_str_add_bytes(s, walk_begin, sizeof walk_begin - 1);
  for (unsigned i = 0; i < m->n_kernels; i++) rlx_str_add(s, "    case %u: k_run%u(s); break;\n", i, i);
  rlx_str_add_bytes(s, walk_end, sizeof walk_end - 1);
  return s->failed ? no_memory() : RLX_OK;
}

static rlx_status build_walker(cu_device *d, const rlx_str *s, uint64_t key, CUfunction *out) {
  const cu_text text = {.name = "walk", .text = s->v, .n = s->n};
  cu_walker *w = rlx_new(cu_walker);
  if (!w) return no_memory();
  w->key = key;
  const int failed = cu_code_build(d, &text, &w->code);
  if (failed) {
    rlx_status status = cu_code_fail(d, text.name, &w->code, failed);
    cu_code_destroy(d, &w->code);
    rlx_mem_free(w);
    return status;
  }
  w->next = d->walkers;
  d->walkers = w;
  *out = w->code.function;
  return RLX_OK;
}

/* *out is NULL if the device has too many already. */
static rlx_status find_walker(cu_device *d, const rlx_str *s, CUfunction *out) {
  const uint64_t key = rlx_hash_bytes(0, s->v, s->n);
  uint32_t n = 0;
  *out = NULL;
  rlx_log_lock(&d->walk_lock);
  for (cu_walker *w = d->walkers; w && !*out; w = w->next, n++)
    if (w->key == key) *out = w->code.function;
  rlx_status status = *out || n >= MAX_WALKERS ? RLX_OK : build_walker(d, s, key, out);
  rlx_log_unlock(&d->walk_lock);
  return status;
}

void cu_walkers_destroy(cu_device *d) {
  for (cu_walker *w = d->walkers, *next; w; w = next) {
    next = w->next;
    cu_code_destroy(d, &w->code);
    rlx_mem_free(w);
  }
  d->walkers = NULL;
}

/* ---- the table ---- */

static rlx_status find_levels(maker *m, uint32_t *n_levels) {
  cu_order order = {0};
  rlx_status s = RLX_OK;
  *n_levels = 0;
  for (size_t i = 0; i < m->n && !s; i++) {
    uint32_t level = 0;
    s = cu_order_add(&order, made(m, i)->accesses, made(m, i)->n_accesses);
    for (size_t k = 0; k < order.after.n && !s; k++)
      if (level <= m->level.v[order.after.v[k]]) level = m->level.v[order.after.v[k]] + 1;
    if (!s && !rlx_array_push(&m->level, level)) s = no_memory();
    if (level >= *n_levels) *n_levels = level + 1;
  }
  cu_order_deinit(&order);
  return s;
}

static rlx_status add_step(maker *m, uint32_t i, uint32_t turn) {
  const gpu_bound_dispatch *q = bound(m, i);
  cu_walk_step s = {.groups = q->params[0], .turn = turn};
  find_kernel(m, m->p->body.requests[m->first + i].made, &s.kernel);
  memcpy(s.params, q->params, q->kernel->params_bytes);
  memcpy(s.windows, made(m, i)->windows, sizeof s.windows);
  return rlx_array_push(&m->steps, s) && rlx_array_push(&m->dispatch, i) ? RLX_OK : no_memory();
}

/* Steps by level; within a level each begins at the block after the last one of the step before. */
static rlx_status add_steps(maker *m, uint32_t n_levels) {
  const uint32_t units = m->p->device->caps.units;
  for (uint32_t level = 0; level < n_levels; level++) {
    uint32_t turn = 0;
    for (uint32_t i = 0; i < m->n; i++) {
      if (m->level.v[i] != level) continue;
      RLX_TRY(add_step(m, i, turn));
      turn = (turn + bound(m, i)->params[0]) % units;
    }
    m->steps.v[m->steps.n - 1].ends = level + 1 < n_levels;
  }
  return RLX_OK;
}

static bool is_written(const maker *m, const gpu_access *a) {
  for (size_t i = 0; i < m->n; i++)
    for (uint32_t k = 0; k < made(m, i)->n_accesses; k++) {
      const gpu_access *b = &made(m, i)->accesses[k];
      if (b->is_write && gpu_access_meets(a, b)) return true;
    }
  return false;
}

/* What a level will read, as far as there is room. */
typedef struct ahead {
  cu_walk_range v[CU_WALK_RANGES];
  uint32_t n;
  uint64_t left; /* bytes that the level may still fetch */
} ahead;

static void add_ranges(const maker *m, uint32_t i, ahead *out) {
  const gpu_bound_dispatch *q = bound(m, i);
  const uint64_t most = (uint64_t)q->params[0] * q->group_size * AHEAD_PER_INVOCATION;
  for (uint32_t k = 0; k < made(m, i)->n_accesses && !q->reads_part && out->n < CU_WALK_RANGES; k++) {
    const gpu_access *a = &made(m, i)->accesses[k];
    uint64_t bytes = a->end - a->begin;
    if (a->is_write || bytes < MIN_AHEAD_BYTES || is_written(m, a)) continue;
    if (bytes > most) bytes = most;
    if (bytes > out->left) bytes = out->left;
    out->left -= bytes;
    if (bytes) out->v[out->n++] = (cu_walk_range){a->begin, bytes};
  }
}

/* The first step of level L fetches for level L + LEVELS_AHEAD; that of the first level for all up to then. */
static void look_ahead(maker *m) {
  for (size_t i = 0; i < m->steps.n; i++) {
    const uint32_t level = m->level.v[m->dispatch.v[i]];
    if (i > 0 && level == m->level.v[m->dispatch.v[i - 1]]) continue;
    ahead found = {.left = MAX_AHEAD_BYTES};
    for (size_t k = i; k < m->steps.n; k++) {
      const uint32_t distance = m->level.v[m->dispatch.v[k]] - level;
      if (distance == LEVELS_AHEAD || (level == 0 && distance > 0 && distance < LEVELS_AHEAD))
        add_ranges(m, m->dispatch.v[k], &found);
    }
    memcpy(m->steps.v[i].ahead, found.v, sizeof found.v);
  }
}

enum { COUNTER_BYTES = 256 };

static rlx_status store_table(maker *m, cu_walk *w) {
  const size_t steps_bytes = m->steps.n * sizeof *m->steps.v, bytes = COUNTER_BYTES + steps_bytes;
  unsigned char *data = rlx_mem_calloc(bytes, 1);
  if (!data) return no_memory();
  memcpy(data + COUNTER_BYTES, m->steps.v, steps_bytes);
  rlx_status s = cu_block_create(&m->p->device->base, bytes, &w->table);
  if (!s) s = cu_write(&m->p->queue->base, w->table, 0, data, bytes);
  rlx_mem_free(data);
  return s;
}

/* ---- public calls ---- */

static rlx_status make(maker *m, cu_walk *w) {
  rlx_str text = {0};
  uint32_t n_levels;
  rlx_status s = compose(m, &text);
  if (!s) s = find_walker(m->p->device, &text, &w->function);
  rlx_str_deinit(&text);
  if (s || !w->function) return s;
  RLX_TRY(find_levels(m, &n_levels));
  RLX_TRY(add_steps(m, n_levels));
  look_ahead(m);
  w->n_steps = (uint32_t)m->steps.n;
  w->n_blocks = m->p->device->caps.units;
  w->n_threads = m->n_threads;
  rlx_log_write(RLX_LOG_INFO, "cuda: %zu dispatches in %u levels are one kernel from now on", m->n, (unsigned)n_levels);
  return store_table(m, w);
}

rlx_status cu_walk_create(rlx_program *p, size_t first, size_t n, cu_walk **out) {
  const gpu_step *a = &p->body.steps[first], *b = &p->body.steps[first + n - 1];
  maker m = {.p = p, .first = a->first, .n = b->first + b->n - a->first};
  *out = NULL;
  if (!can_walk(&m, first, n)) return RLX_OK;
  cu_walk *w = rlx_new(cu_walk);
  if (!w) return no_memory();
  rlx_status s = make(&m, w);
  rlx_array_deinit(&m.level);
  rlx_array_deinit(&m.steps);
  rlx_array_deinit(&m.dispatch);
  if (s || !w->function) cu_walk_destroy(p, w);
  else *out = w;
  return s;
}

void cu_walk_destroy(rlx_program *p, cu_walk *w) {
  if (!w) return;
  cu_block_destroy(&p->device->base, w->table);
  rlx_mem_free(w);
}

CUresult cu_walk_launch(rlx_program *p, const cu_walk *w) {
  CUdeviceptr counter = cu_address(w->table), steps = counter + COUNTER_BYTES;
  uint32_t n = w->n_steps;
  void *arguments[] = {&steps, &n, &counter};
  return p->device->f->LaunchCooperativeKernel(w->function, w->n_blocks, 1, 1, w->n_threads, 1, 1, 0, p->queue->stream,
                                               arguments);
}
