/* Creates a program: its dispatches are bound (gpu/program.h), tables and parameters are stored in buffers, pipelines
 * are looked up or compiled, and every dispatch gets a bind group with its windows. Everything is checked here. */
#include "webgpu/program.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "webgpu/times.h"

wg_place wg_place_of(const rlx_program *p, size_t first, size_t last) {
  wg_place out = {""};
  const rlx_node a = p->body.steps[first].node, b = p->body.steps[last].node;
  if (!p->device->is_late) return out;
  if (first == last) snprintf(out.text, sizeof out.text, "node %u (%s): ", (unsigned)a, rlx_node_op(p->body.graph, a));
  else
    snprintf(out.text, sizeof out.text, "nodes %u (%s) to %u (%s): ", (unsigned)a, rlx_node_op(p->body.graph, a),
             (unsigned)b, rlx_node_op(p->body.graph, b));
  return out;
}

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
  wg_guard_begin(d, &g, wg_late_of(p->queue));
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
  out->offset = (uint64_t)out->binding * WG_ALIGN;
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

static rlx_status locate_all(const rlx_program *p, const gpu_bound_dispatch *from, WGPUBindGroupEntry *out) {
  for (uint32_t i = 0; i < from->kernel->n_windows; i++) {
    out[i].binding = i;
    RLX_TRY_AT(locate(p, &from->windows[i], &out[i]), "kernel %s, window %u", from->kernel->name, (unsigned)i);
  }
  return RLX_OK;
}

static bool overlap(const WGPUBindGroupEntry *a, const WGPUBindGroupEntry *b) {
  return a->buffer == b->buffer && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* WebGPU forbids writable bindings of one dispatch that overlap, and all of ours are writable (pipelines.c). Claims
 * keep results apart from inputs (gpu_caps.no_overlap); what is left is one tensor read through two windows. All but
 * one of those are copied first. */
static rlx_status keep_apart(rlx_program *p, const gpu_bound_dispatch *from, const WGPUBindGroupEntry *all,
                             wg_dispatch *to) {
  const uint32_t n = from->kernel->n_windows;
  uint64_t bytes = 0;
  to->first_copy = p->copies.n;
  for (uint32_t i = 0; i < n; i++) {
    bool meets = false, is_written = from->kernel->writes >> i & 1;
    for (uint32_t k = 0; k < n; k++)
      meets = meets || (k != i && (k < i || from->kernel->writes >> k & 1) && overlap(&all[i], &all[k]));
    if (!meets) continue;
    if (is_written)
      for (uint32_t k = 0; k < n; k++)
        if (k != i && from->kernel->writes >> k & 1 && overlap(&all[i], &all[k]))
          return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s writes windows %u and %u, which overlap", from->kernel->name,
                          (unsigned)k, (unsigned)i);
    if (is_written) continue; /* the other window is read only, and is the one that is copied */
    const wg_window_copy c = {i, all[i].buffer, all[i].offset, all[i].bytes, bytes};
    if (!rlx_array_push(&p->copies, c)) return RLX_FAIL(RLX_NO_MEMORY, "a window to copy");
    bytes += (c.bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
  }
  to->n_copies = p->copies.n - to->first_copy;
  if (p->apart_bytes < bytes) p->apart_bytes = bytes;
  return RLX_OK;
}

static rlx_status bind_dispatch(rlx_program *p, const gpu_bound_dispatch *from, wg_dispatch *to) {
  wg_device *d = p->device;
  const uint32_t n = from->kernel->n_windows;
  WGPUBindGroupEntry entries[GPU_MAX_WINDOWS] = {{0}};
  RLX_TRY(locate_all(p, from, entries));
  for (size_t k = to->first_copy; k < to->first_copy + to->n_copies; k++) {
    const wg_window_copy *c = &p->copies.v[k];
    entries[c->window].buffer = p->apart;
    entries[c->window].offset = c->to;
  }
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(p->queue));
  to->windows = d->f->DeviceCreateBindGroup(
    d->handle, &(WGPUBindGroupDescriptor){
                 .label = wg_text(from->kernel->name), .layout = d->window_groups[n], .n = n, .entries = entries});
  return wg_guard_end(d, &g, "%sthe windows of kernel %s", wg_place_of(p, from->step, from->step).text,
                      from->kernel->name);
}

static rlx_status check_dispatch(rlx_program *p, const gpu_bound_dispatch *from, wg_dispatch *to) {
  WGPUBindGroupEntry entries[GPU_MAX_WINDOWS] = {{0}};
  RLX_TRY(locate_all(p, from, entries));
  return p->device->caps.no_overlap ? keep_apart(p, from, entries, to) : RLX_OK;
}

static rlx_status each_dispatch(rlx_program *p,
                                rlx_status (*f)(rlx_program *p, const gpu_bound_dispatch *from, wg_dispatch *to)) {
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *from = &p->body.dispatches.v[i];
    rlx_status s = f(p, from, &p->dispatches[i]);
    if (s) return gpu_program_frame(&p->body, s, from->step);
  }
  return RLX_OK;
}

static rlx_status bind_dispatches(rlx_program *p) {
  RLX_TRY(each_dispatch(p, check_dispatch));
  if (p->apart_bytes)
    RLX_TRY_AT(wg_buffer_create(p->device, p->apart_bytes, WGPU_BUFFER_STORAGE | WGPU_BUFFER_COPY_DST, &p->apart),
               "copies of windows");
  RLX_TRY(each_dispatch(p, bind_dispatch));
  return wg_queue_wait(p->queue, 0); /* errors that came late */
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
  wg_answers_await(d);
  rlx_message_restore(&message);
  for (size_t i = 0; p->dispatches && i < p->body.dispatches.n; i++)
    if (p->dispatches[i].windows) d->f->BindGroupRelease(p->dispatches[i].windows);
  if (p->params_group) d->f->BindGroupRelease(p->params_group);
  wg_buffer_release(d, p->params);
  wg_times_deinit(p);
  if (p->apart) d->f->BufferDestroy(p->apart);
  wg_buffer_release(d, p->apart);
  rlx_array_deinit(&p->copies);
  wg_block_destroy(&d->base, p->run_block);
  wg_block_destroy(&d->base, p->table_block);
  gpu_program_deinit(&p->body);
  rlx_mem_free(p);
}
