/* Creates a program: each node's claim contains its dispatches, tables are stored in one block, pipelines are looked up
 * or compiled, and every dispatch gets a descriptor set with its windows. Everything is checked here; a run only
 * submits. */
#include "vulkan/program.h"

#include "base/arith.h"
#include "base/mem.h"

static rlx_status frame(const rlx_program *p, rlx_status s, rlx_node node) {
  return rlx_fail_frame(s, "node %u (%s)", (unsigned)node, rlx_node_op(p->graph, node));
}

/* Placeholders, while windows are bound, for buffers that do not exist yet. */
static rlx_block table_mark, run_mark;

/* ---- steps ---- */

static rlx_status check_window(const rlx_bound *w, const char *what, uint32_t i) {
  if (!w->block || (w->offset <= w->block->bytes && w->bytes <= w->block->bytes - w->offset)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s %u: %llu bytes at %llu are not inside a block of %llu", what, (unsigned)i,
                  (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)w->block->bytes);
}

static rlx_status check_windows(const rlx_bound_step *b) {
  if (b->n_out != 1 || (!b->out[0].block && b->out[0].bytes))
    return RLX_FAIL(RLX_INVALID, "expected one window to write to, got %u", (unsigned)b->n_out);
  for (uint32_t i = 0; i < b->n_in; i++) RLX_TRY(check_window(&b->in[i], "input", i));
  RLX_TRY(check_window(&b->out[0], "result", 0));
  return check_window(&b->work, "work memory", 0);
}

static vk_access access_of(const rlx_bound *w, uint64_t bytes, bool is_write) {
  const vk_range *r = vk_range_of(w->block);
  const uint64_t at = r->offset + w->offset;
  return (vk_access){r->chunk, at, at + bytes, is_write};
}

static rlx_status add_copy(const rlx_bound_step *b, vk_step *s) {
  if (b->n_in != 1 || b->in[0].bytes != b->out[0].bytes || (b->in[0].bytes && (!b->in[0].block || !b->out[0].block)))
    return RLX_FAIL(RLX_INVALID, "a copy has one window in and one out, of equal bytes");
  s->copy_bytes = b->in[0].bytes;
  if (!s->copy_bytes) return RLX_OK;
  s->from_and_to[0] = access_of(&b->in[0], s->copy_bytes, false);
  s->from_and_to[1] = access_of(&b->out[0], s->copy_bytes, true);
  return RLX_OK;
}

/* Workgroups are counted along x and, if they exceed its limit, folded over y with few to spare. */
static void fold_groups(const vk_device *d, uint32_t groups, vk_dispatch *out) {
  out->groups_y = gpu_ceil_div(groups, d->caps.max_groups_x);
  out->groups_x = gpu_ceil_div(groups, out->groups_y);
}

static rlx_status add_dispatch(rlx_program *p, const rlx_bound_step *b, const gpu_dispatch *from,
                               const rlx_bound *table) {
  const rlx_bound run = {&run_mark, 0, 16};
  const gpu_kernel *k = from->kernel;
  vk_dispatch to = {.kernel = k, .group_size = from->group_size, .cost = from->cost, .step = p->n_steps};
  if (k->n_windows > GPU_MAX_WINDOWS || k->params_bytes > sizeof from->params)
    return RLX_FAIL(RLX_INVALID, "kernel %s has too many windows or parameters", k->name);
  fold_groups(p->device, from->groups, &to);
  to.params = rlx_bump_copy(&p->memory, from->params, k->params_bytes, 1);
  to.constants = rlx_bump_copy(&p->memory, from->constants, k->n_constants, sizeof(uint32_t));
  if (!to.params || (!to.constants && k->n_constants)) return RLX_FAIL(RLX_NO_MEMORY, "a dispatch");
  for (uint32_t i = 0; i < k->n_windows; i++) {
    RLX_TRY_AT(gpu_bind(&from->windows[i], b, table, &run, &to.windows[i]), "kernel %s, window %u", k->name,
               (unsigned)i);
    if (to.windows[i].block == &run_mark) p->reads_run_words = true;
  }
  if (gpu_is_idle(from, to.windows)) return RLX_OK;
  return rlx_array_push(&p->dispatches, to) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a list of dispatches");
}

static rlx_status add_node(rlx_program *p, const rlx_bound_step *b) {
  const rlx_lowering *l;
  RLX_TRY(gpu_lowering_of(b, &l));
  const rlx_bound table = {&table_mark, p->table.n * sizeof(uint32_t), l->table.n * sizeof(uint32_t)};
  if (!rlx_array_reserve(&p->table, l->table.n)) return RLX_FAIL(RLX_NO_MEMORY, "a table of %zu words", l->table.n);
  for (size_t i = 0; i < l->table.n; i++) p->table.v[p->table.n++] = l->table.v[i];
  for (size_t i = 0; i < l->dispatches.n; i++) RLX_TRY(add_dispatch(p, b, &l->dispatches.v[i], &table));
  return RLX_OK;
}

static rlx_status add_steps(rlx_program *p, const rlx_program_desc *desc) {
  p->steps = rlx_bump_array(&p->memory, vk_step, desc->n_steps + 1);
  p->recordings = rlx_bump_array(&p->memory, vk_recording *, desc->n_steps + 1);
  if (!p->steps || !p->recordings) return RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  for (size_t i = 0; i < desc->n_steps; i++) {
    const rlx_bound_step *b = &desc->steps[i];
    vk_step *s = &p->steps[i];
    *s = (vk_step){.node = b->node, .first = p->dispatches.n};
    rlx_status status = check_windows(b);
    if (!status) status = b->copy ? add_copy(b, s) : add_node(p, b);
    if (status) return frame(p, status, b->node);
    s->n = p->dispatches.n - s->first;
    p->n_steps++;
  }
  return RLX_OK;
}

/* ---- the program's own memory ---- */

static rlx_status make_memory(rlx_program *p) {
  vk_device *d = p->device;
  if (p->table.n) {
    RLX_TRY_AT(vk_block_create(&d->base, p->table.n * sizeof(uint32_t), &p->table_block), "the program's tables");
    RLX_TRY(vk_write(&p->queue->base, p->table_block, 0, p->table.v, p->table.n * sizeof(uint32_t)));
  }
  rlx_array_deinit(&p->table);
  if (p->reads_run_words) RLX_TRY(vk_range_alloc(d, &d->host_heap, 16, "the run's number", &p->run_words));
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = d->physical->queue_family};
  VkResult r = d->CreateCommandPool(d->handle, &pool, NULL, &p->commands);
  return r ? vk_fail(d, r, "a program's command pool") : RLX_OK;
}

/* ---- pipelines ---- */

static rlx_status find_pipelines(rlx_program *p) {
  size_t n = p->dispatches.n, failed = 0;
  vk_pipeline_request *requests = rlx_mem_calloc(n ? n : 1, sizeof *requests);
  if (!requests) return RLX_FAIL(RLX_NO_MEMORY, "%zu pipelines", n);
  for (size_t i = 0; i < n; i++) {
    const vk_dispatch *q = &p->dispatches.v[i];
    requests[i] = (vk_pipeline_request){.kernel = q->kernel, .group_size = q->group_size, .constants = q->constants};
  }
  rlx_status s = vk_pipelines_get(p->device, requests, n, &failed);
  if (s) s = frame(p, s, p->steps[p->dispatches.v[failed].step].node);
  for (size_t i = 0; !s && i < n; i++) p->dispatches.v[i].pipeline = requests[i].made;
  rlx_mem_free(requests);
  return s;
}

/* ---- descriptor sets ---- */

static rlx_status make_pool(rlx_program *p) {
  vk_device *d = p->device;
  VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
  for (size_t i = 0; i < p->dispatches.n; i++) size.descriptorCount += p->dispatches.v[i].kernel->n_windows;
  if (!p->dispatches.n) return RLX_OK;
  const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = (uint32_t)p->dispatches.n,
                                           .poolSizeCount = size.descriptorCount ? 1 : 0,
                                           .pPoolSizes = &size};
  VkResult r = d->CreateDescriptorPool(d->handle, &info, NULL, &p->sets);
  return r ? vk_fail(d, r, "descriptors of %zu dispatches", p->dispatches.n) : RLX_OK;
}

/* The buffer range of a window, with its size rounded up to the largest load of a kernel. */
static rlx_status locate(const rlx_program *p, const rlx_bound *w, VkDescriptorBufferInfo *out) {
  const vk_range *r = &p->device->nothing;
  uint64_t inside = 0, bytes = VK_RANGE_ALIGN;
  const uint64_t align = p->device->base.info.view_align;
  if (w->block && w->bytes) {
    inside = w->offset;
    bytes = (w->bytes + 15) / 16 * 16;
    r = w->block == &table_mark ? vk_range_of(p->table_block)
        : w->block == &run_mark ? &p->run_words
                                : vk_range_of(w->block);
  }
  if (inside % align || inside > r->bytes || bytes > r->bytes - inside)
    return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu: not a multiple of %llu, or not inside a block of %llu",
                    (unsigned long long)bytes, (unsigned long long)inside, (unsigned long long)align,
                    (unsigned long long)r->bytes);
  *out = (VkDescriptorBufferInfo){.buffer = r->chunk->buffer, .offset = r->offset + inside, .range = bytes};
  return RLX_OK;
}

static rlx_status bind_dispatch(rlx_program *p, vk_dispatch *q) {
  vk_device *d = p->device;
  const uint32_t n = q->kernel->n_windows;
  const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = p->sets,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &d->pipelines.set_layouts[n]};
  VkResult r = d->AllocateDescriptorSets(d->handle, &set, &q->set);
  if (r) return vk_fail(d, r, "a descriptor set");
  VkDescriptorBufferInfo buffers[GPU_MAX_WINDOWS];
  VkWriteDescriptorSet writes[GPU_MAX_WINDOWS];
  for (uint32_t i = 0; i < n; i++) {
    const rlx_bound *w = &q->windows[i];
    RLX_TRY_AT(locate(p, w, &buffers[i]), "kernel %s, window %u", q->kernel->name, (unsigned)i);
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = q->set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffers[i]};
    if (w->block && w->bytes && w->block != &table_mark && w->block != &run_mark)
      q->accesses[q->n_accesses++] = access_of(w, buffers[i].range, q->kernel->writes >> i & 1);
  }
  d->UpdateDescriptorSets(d->handle, n, writes, 0, NULL);
  return RLX_OK;
}

static rlx_status bind_dispatches(rlx_program *p) {
  RLX_TRY(make_pool(p));
  for (size_t i = 0; i < p->dispatches.n; i++) {
    rlx_status s = bind_dispatch(p, &p->dispatches.v[i]);
    if (s) return frame(p, s, p->steps[p->dispatches.v[i].step].node);
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
  p->graph = desc->graph;
  rlx_status s = add_steps(p, desc);
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
  for (size_t i = 0; p->recordings && i < p->n_steps; i++)
    for (vk_recording *r = p->recordings[i], *next; r; r = next) {
      next = r->next;
      vk_recording_destroy(p, r);
    }
  if (p->commands) d->DestroyCommandPool(d->handle, p->commands, NULL);
  if (p->sets) d->DestroyDescriptorPool(d->handle, p->sets, NULL);
  for (size_t i = 0; i < p->dispatches.n; i++) vk_pipeline_release(d, p->dispatches.v[i].pipeline);
  vk_range_free(d, &d->host_heap, &p->run_words);
  vk_block_destroy(&d->base, p->table_block);
  rlx_array_deinit(&p->table);
  rlx_array_deinit(&p->dispatches);
  rlx_bump_deinit(&p->memory);
  rlx_mem_free(p);
}
