/* Creates a program: its dispatches are bound (gpu/program.h), tables and parameters are stored in buffers, pipelines
 * are looked up or compiled, and every dispatch gets a bind group with its windows. Everything is checked here. */
#include "webgpu/program.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* ---- the program's own memory ---- */

static rlx_status make_memory(rlx_program *p) {
  rlx_device *d = &p->device->base;
  const uint64_t bytes = p->body.table.n * sizeof(uint32_t);
  if (bytes) {
    RLX_TRY_AT(wg_block_create(d, bytes, &p->table_block), "the program's tables");
    RLX_TRY(wg_write(p->queue, p->table_block, 0, p->body.table.v, bytes));
  }
  rlx_array_deinit(&p->body.table);
  return p->body.reads_run_words ? wg_block_create(d, WG_ALIGN, &p->run_block) : RLX_OK;
}

static rlx_status write_params(rlx_program *p, unsigned char *bytes, size_t n_bytes) {
  wg_device *d = p->device;
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *q = &p->body.dispatches.v[i];
    memcpy(bytes + i * WG_PARAMS_BYTES, q->params, q->kernel->params_bytes);
  }
  wg_guard g;
  wg_guard_begin(&g);
  rlx_log_lock(&d->lock);
  d->f->QueueWriteBuffer(d->queue, p->params, 0, bytes, n_bytes);
  d->has_writes = true;
  rlx_log_unlock(&d->lock);
  const WGPUBindGroupEntry entry = {.buffer = p->params, .bytes = WG_PARAMS_BYTES};
  p->params_group = d->f->DeviceCreateBindGroup(
    d->handle, &(WGPUBindGroupDescriptor){.layout = d->params_group, .n = 1, .entries = &entry});
  return wg_guard_end(d, &g, "the parameters of %zu dispatches", p->body.dispatches.n);
}

static rlx_status make_params(rlx_program *p) {
  const size_t n = p->body.dispatches.n * WG_PARAMS_BYTES;
  if (!n) return RLX_OK;
  RLX_TRY_AT(wg_buffer_create(p->device, n, WGPU_BUFFER_UNIFORM | WGPU_BUFFER_COPY_DST, &p->params),
             "the program's parameters");
  unsigned char *bytes = rlx_mem_calloc(1, n);
  if (!bytes) return RLX_FAIL(RLX_NO_MEMORY, "parameters of %zu dispatches", p->body.dispatches.n);
  rlx_status s = write_params(p, bytes, n);
  rlx_mem_free(bytes);
  return s;
}

/* ---- pipelines ---- */

static rlx_status find_pipelines(rlx_program *p) {
  const size_t n = p->body.dispatches.n;
  p->dispatches = rlx_bump_array(&p->body.memory, wg_dispatch, n + 1);
  if (!p->dispatches) return RLX_FAIL(RLX_NO_MEMORY, "%zu dispatches", n);
  RLX_TRY(gpu_program_find_pipelines(&p->body, &p->device->pipelines));
  for (size_t i = 0; i < n; i++) p->dispatches[i].pipeline = wg_pipeline_handle(p->body.requests[i].made);
  return RLX_OK;
}

/* ---- windows ---- */

/* The binding of a window, with its size rounded up to the largest load of a kernel. */
static rlx_status locate(const rlx_program *p, const rlx_bound *w, WGPUBindGroupEntry *out) {
  const uint64_t align = p->device->base.info.view_align;
  out->buffer = p->device->nothing;
  out->bytes = WG_ALIGN;
  if (!w->block || !w->bytes) return RLX_OK;
  const wg_block *b = (const wg_block *)(w->block == &gpu_table_block ? p->table_block
                                         : w->block == &gpu_run_block ? p->run_block
                                                                      : w->block);
  out->buffer = b->buffer;
  out->offset = w->offset;
  out->bytes = (w->bytes + 15) / 16 * 16;
  if (b->buffer && out->offset % align == 0 && out->offset <= b->bytes && out->bytes <= b->bytes - out->offset)
    return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu: not a multiple of %llu, or not inside a block of %llu",
                  (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)align,
                  (unsigned long long)b->bytes);
}

static rlx_status bind_dispatch(rlx_program *p, const gpu_bound_dispatch *from, wg_dispatch *to) {
  wg_device *d = p->device;
  const uint32_t n = from->kernel->n_windows;
  WGPUBindGroupEntry entries[GPU_MAX_WINDOWS] = {{0}};
  for (uint32_t i = 0; i < n; i++) {
    entries[i].binding = i;
    RLX_TRY_AT(locate(p, &from->windows[i], &entries[i]), "kernel %s, window %u", from->kernel->name, (unsigned)i);
  }
  wg_guard g;
  wg_guard_begin(&g);
  to->windows = d->f->DeviceCreateBindGroup(
    d->handle, &(WGPUBindGroupDescriptor){.layout = d->window_groups[n], .n = n, .entries = entries});
  return wg_guard_end(d, &g, "the windows of kernel %s", from->kernel->name);
}

static rlx_status bind_dispatches(rlx_program *p) {
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *from = &p->body.dispatches.v[i];
    rlx_status s = bind_dispatch(p, from, &p->dispatches[i]);
    if (s) return gpu_program_frame(&p->body, s, from->step);
  }
  return RLX_OK;
}

/* ---- public calls ---- */

rlx_status wg_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  *out = NULL;
  RLX_TRY(wg_check(wg_device_of(q->device)));
  rlx_program *p = rlx_new(rlx_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a program");
  p->queue = q;
  p->device = wg_device_of(q->device);
  rlx_status s = gpu_program_init(&p->body, &p->device->caps, desc);
  if (!s) s = make_memory(p);
  if (!s) s = find_pipelines(p);
  if (!s) s = make_params(p);
  if (!s) s = bind_dispatches(p);
  if (s) wg_program_destroy(p);
  else *out = p;
  return s;
}

void wg_program_destroy(rlx_program *p) {
  if (!p) return;
  wg_device *d = p->device;
  rlx_saved_message message;
  rlx_message_save(&message);
  (void)(wg_wait(d, p->last) == RLX_OK);
  rlx_message_restore(&message);
  for (size_t i = 0; p->dispatches && i < p->body.dispatches.n; i++)
    if (p->dispatches[i].windows) d->f->BindGroupRelease(p->dispatches[i].windows);
  if (p->params_group) d->f->BindGroupRelease(p->params_group);
  wg_buffer_release(d, p->params);
  wg_block_destroy(&d->base, p->run_block);
  wg_block_destroy(&d->base, p->table_block);
  gpu_program_deinit(&p->body);
  rlx_mem_free(p);
}
