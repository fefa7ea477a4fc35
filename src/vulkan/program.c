/* Creates a program: its dispatches are bound (gpu/program.h), tables are stored in one block, pipelines are looked up
 * or compiled, and every dispatch gets a descriptor set with its windows. Everything is checked here; a run only
 * submits. */
#include "vulkan/program.h"

#include "base/arith.h"
#include "base/mem.h"

/* ---- the program's own memory ---- */

static rlx_status make_memory(rlx_program *p) {
  vk_device *d = p->device;
  if (p->body.table.n) {
    RLX_TRY_AT(vk_block_create(&d->base, p->body.table.n * sizeof(uint32_t), &p->table_block), "the program's tables");
    RLX_TRY(vk_write(&p->queue->base, p->table_block, 0, p->body.table.v, p->body.table.n * sizeof(uint32_t)));
  }
  rlx_array_deinit(&p->body.table);
  if (p->body.reads_run_words) RLX_TRY(vk_range_alloc(d, &d->host_heap, 16, "the run's number", &p->run_words));
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = d->physical->queue_family};
  VkResult r = d->CreateCommandPool(d->handle, &pool, NULL, &p->commands);
  return r ? vk_fail(d, r, "a program's command pool") : RLX_OK;
}

/* ---- pipelines ---- */

static rlx_status find_pipelines(rlx_program *p) {
  const size_t n = p->body.dispatches.n;
  p->dispatches = rlx_bump_array(&p->body.memory, vk_dispatch, n + 1);
  if (!p->dispatches) return RLX_FAIL(RLX_NO_MEMORY, "%zu dispatches", n);
  RLX_TRY(gpu_program_find_pipelines(&p->body, &p->device->pipelines.table));
  for (size_t i = 0; i < n; i++) p->dispatches[i].pipeline = vk_pipeline_handle(p->body.requests[i].made);
  return RLX_OK;
}

/* ---- descriptor sets ---- */

static rlx_status make_pool(rlx_program *p) {
  vk_device *d = p->device;
  VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
  for (size_t i = 0; i < p->body.dispatches.n; i++) size.descriptorCount += p->body.dispatches.v[i].kernel->n_windows;
  if (!p->body.dispatches.n) return RLX_OK;
  const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = (uint32_t)p->body.dispatches.n,
                                           .poolSizeCount = size.descriptorCount ? 1 : 0,
                                           .pPoolSizes = &size};
  VkResult r = d->CreateDescriptorPool(d->handle, &info, NULL, &p->sets);
  return r ? vk_fail(d, r, "descriptors of %zu dispatches", p->body.dispatches.n) : RLX_OK;
}

/* The buffer range of a window, with its size rounded up to the largest load of a kernel. */
static rlx_status locate(const rlx_program *p, const rlx_bound *w, VkDescriptorBufferInfo *out) {
  const vk_range *r = &p->device->nothing;
  uint64_t inside = 0, bytes = VK_RANGE_ALIGN;
  const uint64_t align = p->device->base.info.view_align;
  if (w->block && w->bytes) {
    inside = w->offset;
    bytes = (w->bytes + 15) / 16 * 16;
    r = w->block == &gpu_table_block ? vk_range_of(p->table_block)
        : w->block == &gpu_run_block ? &p->run_words
                                     : vk_range_of(w->block);
  }
  if (inside % align || inside > r->bytes || bytes > r->bytes - inside)
    return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu: not a multiple of %llu, or not inside a block of %llu",
                    (unsigned long long)bytes, (unsigned long long)inside, (unsigned long long)align,
                    (unsigned long long)r->bytes);
  *out = (VkDescriptorBufferInfo){.buffer = r->chunk->buffer, .offset = r->offset + inside, .range = bytes};
  return RLX_OK;
}

static gpu_access access_of(const rlx_bound *w, uint64_t bytes, bool is_write) {
  const vk_range *r = vk_range_of(w->block);
  const uint64_t at = r->offset + w->offset;
  return (gpu_access){r->chunk, at, at + bytes, is_write};
}

static rlx_status bind_dispatch(rlx_program *p, const gpu_bound_dispatch *from, vk_dispatch *q) {
  vk_device *d = p->device;
  const uint32_t n = from->kernel->n_windows;
  const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = p->sets,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &d->pipelines.set_layouts[n]};
  VkResult r = d->AllocateDescriptorSets(d->handle, &set, &q->set);
  if (r) return vk_fail(d, r, "a descriptor set");
  VkDescriptorBufferInfo buffers[GPU_MAX_WINDOWS];
  VkWriteDescriptorSet writes[GPU_MAX_WINDOWS];
  for (uint32_t i = 0; i < n; i++) {
    const rlx_bound *w = &from->windows[i];
    RLX_TRY_AT(locate(p, w, &buffers[i]), "kernel %s, window %u", from->kernel->name, (unsigned)i);
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = q->set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffers[i]};
    if (w->block && w->bytes && !gpu_is_own_block(w->block))
      q->accesses[q->n_accesses++] = access_of(w, buffers[i].range, from->kernel->writes >> i & 1);
  }
  d->UpdateDescriptorSets(d->handle, n, writes, 0, NULL);
  return RLX_OK;
}

static rlx_status bind_dispatches(rlx_program *p) {
  RLX_TRY(make_pool(p));
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *from = &p->body.dispatches.v[i];
    rlx_status s = bind_dispatch(p, from, &p->dispatches[i]);
    if (s) return gpu_program_frame(&p->body, s, from->step);
  }
  return RLX_OK;
}

/* ---- public calls ---- */

rlx_status vk_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  *out = NULL;
  RLX_TRY(vk_check(vk_device_of(q->device)));
  rlx_program *p = rlx_new(rlx_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a program");
  p->queue = vk_queue_of(q);
  p->device = p->queue->device;
  rlx_status s = gpu_program_init(&p->body, &p->device->caps, desc);
  if (!s) p->recordings = rlx_bump_array(&p->body.memory, vk_recording *, desc->n_steps + 1);
  if (!s && !p->recordings) s = RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  if (!s) s = make_memory(p);
  if (!s) s = find_pipelines(p);
  if (!s) s = bind_dispatches(p);
  if (s) vk_program_destroy(p);
  else *out = p;
  return s;
}

void vk_program_destroy(rlx_program *p) {
  if (!p) return;
  vk_device *d = p->device;
  rlx_saved_message message;
  rlx_message_save(&message);
  if (vk_wait(p->queue, p->last)) vk_settle(d);
  rlx_message_restore(&message);
  for (size_t i = 0; p->recordings && i < p->body.n_steps; i++)
    for (vk_recording *r = p->recordings[i], *next; r; r = next) {
      next = r->next;
      vk_recording_destroy(p, r);
    }
  if (p->commands) d->DestroyCommandPool(d->handle, p->commands, NULL);
  if (p->sets) d->DestroyDescriptorPool(d->handle, p->sets, NULL);
  vk_range_free(d, &d->host_heap, &p->run_words);
  vk_block_destroy(&d->base, p->table_block);
  gpu_program_deinit(&p->body);
  rlx_mem_free(p);
}
