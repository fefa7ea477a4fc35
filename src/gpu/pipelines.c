/* A hash table of pipelines. Missing pipelines are added to the table first and then compiled by several threads
 * (compilers take 10 to 500 ms for one, in one thread). If one fails, all new ones are removed again. */
#include "gpu/pipelines.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mem_source.h"

rlx_status gpu_pipelines_init(gpu_pipelines *p, const gpu_pipeline_maker *maker, void *device, const gpu_pack *column,
                              const gpu_caps *caps) {
  p->maker = maker;
  p->device = device;
  p->max_idle = gpu_tuned(caps)->idle_pipelines;
  if (!rlx_mutex_init(&p->lock)) return RLX_FAIL(RLX_NO_MEMORY, "%s: a mutex", maker->name);
  p->has_lock = true;
  return gpu_codes_init(&p->codes, column, caps);
}

static void destroy(gpu_pipelines *p, gpu_pipeline *q) {
  p->maker->destroy(p, q);
  rlx_mem_free(q);
}

void gpu_pipelines_deinit(gpu_pipelines *p) {
  for (size_t i = 0; i < GPU_PIPELINE_BUCKETS; i++)
    for (gpu_pipeline *q = p->buckets[i], *next; q; q = next) {
      next = q->next;
      destroy(p, q);
    }
  gpu_codes_deinit(&p->codes);
  if (p->has_lock) rlx_mutex_destroy(&p->lock);
}

/* ---- the table ---- */

static uint64_t hash_words(uint64_t h, const uint32_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ v[i]) * 0x100000001b3u;
  return h;
}

static uint64_t hash_request(const gpu_pipeline_request *w) {
  const uint32_t head[] = {w->kernel->index, w->group_size};
  return hash_words(hash_words(0xcbf29ce484222325u, head, 2), w->constants, w->kernel->n_constants);
}

static gpu_pipeline **bucket(gpu_pipelines *p, uint64_t hash) {
  return &p->buckets[(hash ^ hash >> 32) % GPU_PIPELINE_BUCKETS];
}

static gpu_pipeline *look_up(gpu_pipelines *p, const gpu_pipeline_request *w, uint64_t hash) {
  for (gpu_pipeline *q = *bucket(p, hash); q; q = q->next)
    if (q->hash == hash && q->kernel == w->kernel && q->group_size == w->group_size &&
        (!w->kernel->n_constants || memcmp(q->constants, w->constants, w->kernel->n_constants * sizeof(uint32_t)) == 0))
      return q;
  return NULL;
}

static rlx_status add(gpu_pipelines *p, const gpu_pipeline_request *w, uint64_t hash, gpu_pipeline **out) {
  const size_t bytes = w->kernel->n_constants * sizeof(uint32_t);
  if (!gpu_codes_has(&p->codes, w->kernel))
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: kernel %s has no variant for this device", p->maker->name, w->kernel->name);
  unsigned char *memory = rlx_mem_calloc(1, p->maker->struct_bytes + bytes);
  if (!memory) return RLX_FAIL(RLX_NO_MEMORY, "%s: pipeline of kernel %s", p->maker->name, w->kernel->name);
  gpu_pipeline *q = (void *)memory, **at = bucket(p, hash);
  *q = (gpu_pipeline){.kernel = w->kernel,
                      .group_size = w->group_size,
                      .constants = (uint32_t *)(void *)(memory + p->maker->struct_bytes),
                      .hash = hash,
                      .next = *at};
  if (bytes) memcpy(q->constants, w->constants, bytes);
  *at = q;
  p->n++;
  *out = q;
  return RLX_OK;
}

static void drop(gpu_pipelines *p, gpu_pipeline *q) {
  gpu_pipeline **at = bucket(p, q->hash);
  while (*at != q) at = &(*at)->next;
  *at = q->next;
  p->n--;
  destroy(p, q);
}

/* ---- idle pipelines ---- */

static void leave_idle(gpu_pipelines *p, gpu_pipeline *q) {
  *(q->older ? &q->older->newer : &p->oldest) = q->newer;
  *(q->newer ? &q->newer->older : &p->newest) = q->older;
  q->older = q->newer = NULL;
  p->n_idle--;
}

static void become_idle(gpu_pipelines *p, gpu_pipeline *q) {
  q->older = p->newest;
  *(p->newest ? &p->newest->newer : &p->oldest) = q;
  p->newest = q;
  p->n_idle++;
  if (p->n_idle <= p->max_idle) return;
  gpu_pipeline *oldest = p->oldest;
  leave_idle(p, oldest);
  drop(p, oldest);
}

void gpu_pipeline_release(gpu_pipelines *p, gpu_pipeline *q) {
  if (!q) return;
  rlx_log_lock(&p->lock);
  if (--q->refs == 0) become_idle(p, q);
  rlx_log_unlock(&p->lock);
}

/* ---- compiling ---- */

typedef struct job {
  gpu_pipeline *pipeline;
  int code;
} job;

typedef struct job_list {
  gpu_pipelines *pipelines;
  RLX_ARRAY(job) jobs;
} job_list;

static void compile_task(void *user, size_t task, unsigned thread) {
  job_list *l = user;
  (void)thread;
  l->jobs.v[task].code = l->pipelines->maker->compile(l->pipelines, l->jobs.v[task].pipeline);
}

static void compile_all(job_list *l) {
  const gpu_pipeline_maker *maker = l->pipelines->maker;
  rlx_pool *pool = NULL;
  if (l->jobs.n > 1 && !maker->finish) { /* without a pool this thread compiles */
    unsigned n = l->jobs.n < GPU_MAX_PIPELINE_THREADS ? (unsigned)l->jobs.n : GPU_MAX_PIPELINE_THREADS;
    if (rlx_pool_create(n, &pool)) rlx_log_write(RLX_LOG_WARN, "%s: pipelines are made in one thread", maker->name);
  }
  rlx_pool_run(pool, l->jobs.n, compile_task, l);
  rlx_pool_destroy(pool);
  for (size_t i = 0; maker->finish && i < l->jobs.n; i++) {
    const int code = maker->finish(l->pipelines, l->jobs.v[i].pipeline); /* also of one that failed: it may be in use */
    if (!l->jobs.v[i].code) l->jobs.v[i].code = code;
  }
}

/* ---- requests ---- */

/* Finds or adds the pipeline of each request; new ones become jobs. */
static rlx_status collect(gpu_pipelines *p, gpu_pipeline_request *requests, size_t n, job_list *l, size_t *failed) {
  for (size_t i = 0; i < n; i++) {
    if (!gpu_kernel_has_code(requests[i].kernel)) continue;
    uint64_t hash = hash_request(&requests[i]);
    gpu_pipeline *q = look_up(p, &requests[i], hash);
    *failed = i;
    if (!q) {
      if (!rlx_array_reserve(&l->jobs, 1)) return RLX_FAIL(RLX_NO_MEMORY, "%s: a list of pipelines", p->maker->name);
      RLX_TRY(add(p, &requests[i], hash, &q));
      l->jobs.v[l->jobs.n++] = (job){.pipeline = q};
    }
    requests[i].made = q;
  }
  return RLX_OK;
}

/* The status of the first failed job; *failed is the request it belongs to. */
static rlx_status judge(gpu_pipelines *p, const gpu_pipeline_request *requests, const job_list *l, size_t *failed) {
  for (size_t k = 0; k < l->jobs.n; k++) {
    const gpu_pipeline *q = l->jobs.v[k].pipeline;
    if (!l->jobs.v[k].code) continue;
    for (*failed = 0; requests[*failed].made != q;) (*failed)++;
    return p->maker->fail(p, q, l->jobs.v[k].code);
  }
  return RLX_OK;
}

/* Adds a reference. A new pipeline is not in the idle list yet; one found there is removed from it. */
static void hold(gpu_pipelines *p, gpu_pipeline *q) {
  const bool is_idle = q->older || q->newer || p->oldest == q;
  if (q->refs++ == 0 && is_idle) leave_idle(p, q);
}

rlx_status gpu_pipelines_get(gpu_pipelines *p, gpu_pipeline_request *requests, size_t n, size_t *failed) {
  job_list l = {.pipelines = p};
  rlx_mem_source *before = rlx_mem_use(NULL); /* pipelines belong to the device, not to a session */
  rlx_trace_begin(p->maker->span);
  rlx_log_lock(&p->lock);
  rlx_status s = collect(p, requests, n, &l, failed);
  if (!s) {
    compile_all(&l);
    s = judge(p, requests, &l, failed);
  }
  for (size_t k = 0; s && k < l.jobs.n; k++) drop(p, l.jobs.v[k].pipeline);
  for (size_t i = 0; !s && i < n; i++)
    if (requests[i].made) hold(p, requests[i].made);
  if (!s && l.jobs.n && p->maker->made) p->maker->made(p, l.jobs.n);
  rlx_log_unlock(&p->lock);
  rlx_trace_end(p->maker->span);
  rlx_array_deinit(&l.jobs);
  rlx_mem_use(before);
  return s;
}
