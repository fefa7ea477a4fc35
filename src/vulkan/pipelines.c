/* A hash table of pipelines. Missing pipelines are added to the table first and then compiled by several threads
 * (drivers compile one pipeline in one thread, in 10 to 50 ms). If one fails, all new ones are removed again. */
#include "vulkan/pipelines.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mem_source.h"
#include "gpu/spirv.h"
#include "vulkan/vk.h"

/* ---- layouts ---- */

static VkResult make_layout(vk_device *d, uint32_t n) {
  vk_pipelines *p = &d->pipelines;
  VkDescriptorSetLayoutBinding bindings[GPU_MAX_WINDOWS];
  for (uint32_t i = 0; i < n; i++)
    bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                 .descriptorCount = 1,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo set = {
    .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n, .pBindings = bindings};
  VkResult r = d->CreateDescriptorSetLayout(d->handle, &set, NULL, &p->set_layouts[n]);
  if (r) return r;
  const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = GPU_MAX_PARAM_WORDS * 4};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &p->set_layouts[n],
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
  return d->CreatePipelineLayout(d->handle, &layout, NULL, &p->layouts[n]);
}

rlx_status vk_pipelines_init(vk_device *d) {
  vk_pipelines *p = &d->pipelines;
  if (pthread_mutex_init(&p->lock, NULL)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a mutex");
  p->has_lock = true;
  p->max_idle = gpu_tuned(&d->caps)->idle_pipelines;
  RLX_TRY(gpu_codes_init(&p->codes, gpu_column_spirv, &d->caps));
  for (uint32_t n = 0; n <= GPU_MAX_WINDOWS; n++) {
    VkResult r = make_layout(d, n);
    if (r) return vk_fail(d, r, "a pipeline layout of %u windows", (unsigned)n);
  }
  return vk_pipeline_cache_open(d, &p->cache);
}

static void destroy(vk_device *d, vk_pipeline *p) {
  if (p->handle) d->DestroyPipeline(d->handle, p->handle, NULL);
  rlx_mem_free(p);
}

void vk_pipelines_deinit(vk_device *d) {
  vk_pipelines *p = &d->pipelines;
  if (p->n_made > p->n_saved) vk_pipeline_cache_save(d, &p->cache);
  vk_pipeline_cache_close(d, &p->cache);
  for (size_t i = 0; i < VK_PIPELINE_BUCKETS; i++)
    for (vk_pipeline *q = p->buckets[i], *next; q; q = next) {
      next = q->next;
      destroy(d, q);
    }
  for (uint32_t n = 0; n <= GPU_MAX_WINDOWS; n++) {
    if (p->layouts[n]) d->DestroyPipelineLayout(d->handle, p->layouts[n], NULL);
    if (p->set_layouts[n]) d->DestroyDescriptorSetLayout(d->handle, p->set_layouts[n], NULL);
  }
  gpu_codes_deinit(&p->codes);
  if (p->has_lock) pthread_mutex_destroy(&p->lock);
}

/* ---- the table ---- */

static uint64_t hash_words(uint64_t h, const uint32_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ v[i]) * 0x100000001b3u;
  return h;
}

static uint64_t hash_request(const vk_pipeline_request *w) {
  const uint32_t head[] = {w->kernel->index, w->group_size};
  return hash_words(hash_words(0xcbf29ce484222325u, head, 2), w->constants, w->kernel->n_constants);
}

static vk_pipeline **bucket(vk_pipelines *p, uint64_t hash) {
  return &p->buckets[(hash ^ hash >> 32) % VK_PIPELINE_BUCKETS];
}

static vk_pipeline *look_up(vk_pipelines *p, const vk_pipeline_request *w, uint64_t hash) {
  for (vk_pipeline *q = *bucket(p, hash); q; q = q->next)
    if (q->hash == hash && q->kernel == w->kernel && q->group_size == w->group_size &&
        (!w->kernel->n_constants || memcmp(q->constants, w->constants, w->kernel->n_constants * sizeof(uint32_t)) == 0))
      return q;
  return NULL;
}

static rlx_status add(vk_device *d, const vk_pipeline_request *w, uint64_t hash, vk_pipeline **out) {
  const size_t bytes = w->kernel->n_constants * sizeof(uint32_t);
  if (!gpu_codes_has(&d->pipelines.codes, w->kernel))
    return RLX_FAIL(RLX_UNSUPPORTED, "vulkan: kernel %s has no variant for this device", w->kernel->name);
  vk_pipeline *q = rlx_mem_alloc(sizeof *q + bytes);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: pipeline of kernel %s", w->kernel->name);
  *q = (vk_pipeline){
    .kernel = w->kernel, .group_size = w->group_size, .constants = (uint32_t *)(void *)(q + 1), .hash = hash};
  if (bytes) memcpy(q->constants, w->constants, bytes);
  vk_pipeline **at = bucket(&d->pipelines, hash);
  q->next = *at;
  *at = q;
  d->pipelines.n++;
  *out = q;
  return RLX_OK;
}

static void drop(vk_device *d, vk_pipeline *q) {
  vk_pipeline **at = bucket(&d->pipelines, q->hash);
  while (*at != q) at = &(*at)->next;
  *at = q->next;
  d->pipelines.n--;
  destroy(d, q);
}

/* ---- idle pipelines ---- */

static void leave_idle(vk_pipelines *p, vk_pipeline *q) {
  *(q->older ? &q->older->newer : &p->oldest) = q->newer;
  *(q->newer ? &q->newer->older : &p->newest) = q->older;
  q->older = q->newer = NULL;
  p->n_idle--;
}

static void become_idle(vk_device *d, vk_pipeline *q) {
  vk_pipelines *p = &d->pipelines;
  q->older = p->newest;
  *(p->newest ? &p->newest->newer : &p->oldest) = q;
  p->newest = q;
  p->n_idle++;
  if (p->n_idle <= p->max_idle) return;
  vk_pipeline *oldest = p->oldest;
  leave_idle(p, oldest);
  drop(d, oldest);
}

void vk_pipeline_release(vk_device *d, vk_pipeline *q) {
  if (!q) return;
  rlx_log_lock(&d->pipelines.lock);
  if (--q->refs == 0) become_idle(d, q);
  rlx_log_unlock(&d->pipelines.lock);
}

/* ---- compiling ---- */

/* The kernel's SPIR-V with the constants folded in, so the driver compiles only the specialised code. */
static VkResult make_module(vk_device *d, const vk_pipeline *q, VkShaderModule *out) {
  const gpu_code *code;
  const uint32_t n = GPU_CONSTANT_PACKS_F16 + 1;
  uint32_t values[GPU_CONSTANT_PACKS_F16 + 1] = {q->group_size}, *words;
  for (uint32_t i = 0; i < q->kernel->n_constants; i++) values[i + 1] = q->constants[i];
  values[GPU_CONSTANT_PACKS_F16] = d->caps.packs_f16;
  size_t n_words;
  if (gpu_codes_get(&d->pipelines.codes, q->kernel, &code)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (gpu_spirv_specialise(code->words, code->n, values, n, &words, &n_words)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (gpu_spirv_unroll(&words, &n_words)) {
    rlx_mem_free(words);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  const VkShaderModuleCreateInfo module = {
    .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = n_words * sizeof(uint32_t), .pCode = words};
  VkResult r = d->CreateShaderModule(d->handle, &module, NULL, out);
  rlx_mem_free(words);
  return r;
}

static VkResult compile(vk_device *d, vk_pipeline *q) {
  VkShaderModule shader;
  VkResult r = make_module(d, q, &shader);
  if (r) return r;
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
    .requiredSubgroupSize = d->caps.subgroup};
  const bool fixes_size = d->caps.subgroup && d->physical->has_subgroup_size;
  const bool is_full = fixes_size && q->group_size % d->caps.subgroup == 0;
  const VkComputePipelineCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
    .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
              .pNext = fixes_size ? &size : NULL,
              .flags = is_full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
              .stage = VK_SHADER_STAGE_COMPUTE_BIT,
              .module = shader,
              .pName = "main"},
    .layout = d->pipelines.layouts[q->kernel->n_windows]};
  r = d->CreateComputePipelines(d->handle, d->pipelines.cache.handle, 1, &info, NULL, &q->handle);
  d->DestroyShaderModule(d->handle, shader, NULL);
  return r;
}

typedef struct job {
  vk_pipeline *pipeline;
  VkResult result;
} job;

typedef struct job_list {
  vk_device *device;
  RLX_ARRAY(job) jobs;
} job_list;

static void compile_task(void *user, size_t task, unsigned thread) {
  job_list *l = user;
  (void)thread;
  l->jobs.v[task].result = compile(l->device, l->jobs.v[task].pipeline);
}

static void compile_all(job_list *l) {
  rlx_pool *pool = NULL;
  if (l->jobs.n > 1) { /* without a pool this thread compiles */
    unsigned n = l->jobs.n < VK_MAX_PIPELINE_THREADS ? (unsigned)l->jobs.n : VK_MAX_PIPELINE_THREADS;
    if (rlx_pool_create(n, &pool)) rlx_log_write(RLX_LOG_WARN, "vulkan: pipelines are made in one thread");
  }
  rlx_pool_run(pool, l->jobs.n, compile_task, l);
  rlx_pool_destroy(pool);
}

/* ---- requests ---- */

/* Finds or adds the pipeline of each request; new ones become jobs. */
static rlx_status collect(vk_device *d, vk_pipeline_request *requests, size_t n, job_list *l, size_t *failed) {
  for (size_t i = 0; i < n; i++) {
    uint64_t hash = hash_request(&requests[i]);
    vk_pipeline *q = look_up(&d->pipelines, &requests[i], hash);
    *failed = i;
    if (!q) {
      if (!rlx_array_reserve(&l->jobs, 1)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a list of pipelines");
      RLX_TRY(add(d, &requests[i], hash, &q));
      l->jobs.v[l->jobs.n++] = (job){.pipeline = q};
    }
    requests[i].made = q;
  }
  return RLX_OK;
}

/* The status of the first failed job; *failed is the request it belongs to. */
static rlx_status judge(vk_device *d, const vk_pipeline_request *requests, const job_list *l, size_t *failed) {
  for (size_t k = 0; k < l->jobs.n; k++) {
    const vk_pipeline *q = l->jobs.v[k].pipeline;
    if (l->jobs.v[k].result == VK_SUCCESS && q->handle) continue;
    for (*failed = 0; requests[*failed].made != q;) (*failed)++;
    return vk_fail(d, l->jobs.v[k].result, "the pipeline of kernel %s with groups of %u", q->kernel->name,
                   (unsigned)q->group_size);
  }
  return RLX_OK;
}

/* Adds a reference. A new pipeline is not in the idle list yet; one found there is removed from it. */
static void hold(vk_pipelines *p, vk_pipeline *q) {
  const bool is_idle = q->older || q->newer || p->oldest == q;
  if (q->refs++ == 0 && is_idle) leave_idle(p, q);
}

/* Counts new pipelines and saves the cache when their number has more than doubled since the last save, so a process
 * that is killed loses little work. */
static void keep(vk_device *d, size_t n_new) {
  vk_pipelines *p = &d->pipelines;
  p->n_made += n_new;
  vk_pipeline_cache_trim(d, &p->cache);
  if (p->n_made < 2 * p->n_saved + 32) return;
  vk_pipeline_cache_save(d, &p->cache);
  p->n_saved = p->n_made;
}

rlx_status vk_pipelines_get(vk_device *d, vk_pipeline_request *requests, size_t n, size_t *failed) {
  vk_pipelines *p = &d->pipelines;
  job_list l = {.device = d};
  rlx_mem_source *before = rlx_mem_use(NULL); /* pipelines belong to the device, not to a session */
  rlx_trace_begin("vulkan pipelines");
  rlx_log_lock(&p->lock);
  rlx_status s = collect(d, requests, n, &l, failed);
  if (!s) {
    compile_all(&l);
    s = judge(d, requests, &l, failed);
  }
  for (size_t k = 0; s && k < l.jobs.n; k++) drop(d, l.jobs.v[k].pipeline);
  for (size_t i = 0; !s && i < n; i++) hold(p, requests[i].made);
  if (!s && l.jobs.n) keep(d, l.jobs.n);
  rlx_log_unlock(&p->lock);
  rlx_trace_end("vulkan pipelines");
  rlx_array_deinit(&l.jobs);
  rlx_mem_use(before);
  return s;
}
