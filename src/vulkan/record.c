/* Records a span of steps: pipelines, descriptor sets and push constants in order, with a barrier only where windows
 * overlap. A new command buffer begins whenever the work so far would keep the device busy for long. */
#include "base/mem.h"
#include "vulkan/program.h"

typedef struct recorder {
  rlx_program *p;
  vk_recording *out;
  VkCommandBuffer cmd;
  VkPipeline bound;
  uint64_t cost;
  gpu_hazards hazards;
} recorder;

void vk_recording_destroy(rlx_program *p, vk_recording *r) {
  if (!r) return;
  if (r->queries) p->device->DestroyQueryPool(p->device->handle, r->queries, NULL);
  rlx_array_deinit(&r->parts); /* the command pool frees the command buffers */
  rlx_mem_free(r->ticks);
  rlx_mem_free(r);
}

/* ---- parts ---- */

static rlx_status begin_part(recorder *r, size_t step) {
  vk_device *d = r->p->device;
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = r->p->commands,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
  if (!rlx_array_reserve(&r->out->parts, 1)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a list of submissions");
  VkResult s = d->AllocateCommandBuffers(d->handle, &info, &r->cmd);
  if (s) return vk_fail(d, s, "a command buffer");
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (r->out->manner == VK_PLAIN) begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  s = d->BeginCommandBuffer(r->cmd, &begin);
  if (s) return vk_fail(d, s, "a command buffer");
  r->out->parts.v[r->out->parts.n++] = (vk_part){r->cmd, step, step};
  r->out->counts.barriers++;
  r->hazards.n = 0;
  r->bound = VK_NULL_HANDLE;
  r->cost = 0;
  vk_barrier(d, r->cmd, false);
  return RLX_OK;
}

static rlx_status end_part(recorder *r) {
  vk_device *d = r->p->device;
  if (d->base.info.is_mapped) vk_barrier(d, r->cmd, true);
  VkResult s = d->EndCommandBuffer(r->cmd);
  return s ? vk_fail(d, s, "a command buffer") : RLX_OK;
}

/* Makes room for work of this cost: in the current part if that is empty or the work fits, otherwise in a new one. */
static rlx_status reserve(recorder *r, size_t step, uint64_t cost) {
  enum { WATCHED_PARTS = 4 };
  const uint64_t limit = r->p->device->submit_cost / (r->out->manner == VK_WATCHED ? WATCHED_PARTS : 1);
  if (r->cost && (cost > limit || r->cost > limit - cost)) {
    RLX_TRY(end_part(r));
    RLX_TRY(begin_part(r, step));
  }
  r->cost += cost ? cost : 1;
  r->out->parts.v[r->out->parts.n - 1].last = step;
  return RLX_OK;
}

static void order(recorder *r, const gpu_access *a, uint32_t n) {
  if (!gpu_hazards_meet(&r->hazards, a, n)) return;
  vk_barrier(r->p->device, r->cmd, false);
  r->out->counts.barriers++;
}

/* ---- steps ---- */

static rlx_status dispatch(recorder *r, size_t i) {
  vk_device *d = r->p->device;
  const gpu_bound_dispatch *q = &r->p->body.dispatches.v[i];
  const vk_dispatch *made = &r->p->dispatches[i];
  VkPipelineLayout layout = d->pipelines.layouts[q->kernel->n_windows];
  RLX_TRY(reserve(r, q->step, q->cost));
  order(r, made->accesses, made->n_accesses);
  if (r->bound != made->pipeline) d->CmdBindPipeline(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, made->pipeline);
  r->bound = made->pipeline;
  d->CmdBindDescriptorSets(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &made->set, 0, NULL);
  d->CmdPushConstants(r->cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, q->kernel->params_bytes, q->params);
  d->CmdDispatch(r->cmd, q->groups_x, q->groups_y, 1);
  r->out->counts.dispatches++;
  return RLX_OK;
}

static rlx_status copy(recorder *r, size_t step, const gpu_step *s) {
  const vk_range *from = vk_range_of(s->from.block), *to = vk_range_of(s->to.block);
  const VkBufferCopy region = {
    .srcOffset = from->offset + s->from.offset, .dstOffset = to->offset + s->to.offset, .size = s->copy_bytes};
  const gpu_access accesses[2] = {{from->chunk, region.srcOffset, region.srcOffset + region.size, false},
                                  {to->chunk, region.dstOffset, region.dstOffset + region.size, true}};
  RLX_TRY(reserve(r, step, s->copy_bytes));
  order(r, accesses, 2);
  r->p->device->CmdCopyBuffer(r->cmd, from->chunk->buffer, to->chunk->buffer, 1, &region);
  r->out->counts.copies++;
  return RLX_OK;
}

/* A timestamp is written when all work before it is done, so the end of a step is the beginning of the next. */
static void stamp(const recorder *r, uint32_t i) {
  vk_device *d = r->p->device;
  if (r->out->manner == VK_TIMED)
    d->CmdWriteTimestamp(r->cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, r->out->queries, i);
}

static rlx_status record_steps(recorder *r) {
  const rlx_program *p = r->p;
  const size_t first = r->out->first, n = r->out->n;
  RLX_TRY(begin_part(r, first));
  if (r->out->manner == VK_TIMED) p->device->CmdResetQueryPool(r->cmd, r->out->queries, 0, (uint32_t)n + 1);
  stamp(r, 0);
  for (size_t i = first; i < first + n; i++) {
    const gpu_step *s = &p->body.steps[i];
    for (size_t k = 0; k < s->n; k++) RLX_TRY(dispatch(r, s->first + k));
    if (s->copy_bytes) RLX_TRY(copy(r, i, s));
    stamp(r, (uint32_t)(i - first) + 1);
  }
  return end_part(r);
}

/* ---- recordings ---- */

static rlx_status make_queries(rlx_program *p, vk_recording *r) {
  vk_device *d = p->device;
  const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                      .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                      .queryCount = (uint32_t)r->n + 1};
  r->ticks = rlx_mem_calloc(r->n + 1, sizeof *r->ticks);
  if (!r->ticks) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: %zu timestamps", r->n + 1);
  VkResult s = d->CreateQueryPool(d->handle, &info, NULL, &r->queries);
  return s ? vk_fail(d, s, "%zu timestamps", r->n + 1) : RLX_OK;
}

static rlx_status record(rlx_program *p, vk_recording *out) {
  if (out->manner == VK_TIMED) RLX_TRY(make_queries(p, out));
  recorder *r = rlx_new(recorder); /* too large for the stack */
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: recording");
  r->p = p;
  r->out = out;
  rlx_status s = record_steps(r);
  rlx_mem_free(r);
  return s;
}

rlx_status vk_program_record(rlx_program *p, size_t first, size_t n, vk_manner manner, const vk_recording **out) {
  *out = NULL;
  for (vk_recording *r = p->recordings[first]; r && !*out; r = r->next)
    if (r->n == n && r->manner == manner) *out = r;
  if (*out) return RLX_OK;
  vk_recording *r = rlx_new(vk_recording);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a recording");
  r->first = first;
  r->n = n;
  r->manner = manner;
  rlx_status s = record(p, r);
  if (s) {
    vk_recording_destroy(p, r);
    return s;
  }
  r->next = p->recordings[first];
  p->recordings[first] = r;
  *out = r;
  return RLX_OK;
}

void vk_program_counts(const rlx_program *p, vk_counts *out) {
  *out = (vk_counts){0};
  for (size_t i = 0; i < p->body.n_steps; i++)
    for (const vk_recording *r = p->recordings[i]; r; r = r->next) {
      if (r->manner == VK_TIMED) continue;
      out->dispatches += r->counts.dispatches;
      out->copies += r->counts.copies;
      out->barriers += r->counts.barriers;
    }
}
