/* Creates a program: its dispatches are bound (gpu/program.h), tables are stored in one block, kernels are looked up or
 * compiled, and every window becomes an address. Everything is checked here; a run only launches. */
#include "cuda/program.h"

#include "base/mem.h"

/* ---- the program's own memory ---- */

static rlx_status make_memory(rlx_program *p) {
  rlx_device *d = &p->device->base;
  const uint64_t table_bytes = p->body.table.n * sizeof(uint32_t);
  if (table_bytes) {
    RLX_TRY_AT(cu_block_create(d, table_bytes, &p->table_block), "the program's tables");
    RLX_TRY(cu_write(&p->queue->base, p->table_block, 0, p->body.table.v, table_bytes));
  }
  rlx_array_deinit(&p->body.table);
  return p->body.reads_run_words ? cu_block_create(d, 16, &p->run_block) : RLX_OK;
}

/* ---- kernels ---- */

/* Shared memory beyond what a kernel may have without being asked for. */
static rlx_status allow_dynamic(rlx_program *p, size_t i) {
  const gpu_bound_dispatch *q = &p->body.dispatches.v[i];
  if (!q->dynamic_bytes) return RLX_OK;
  RLX_TRY(cu_enter(p->device));
  CUresult r = p->device->f->FuncSetAttribute(
    p->dispatches[i].function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)p->device->caps.max_dynamic);
  rlx_status s = r ? cu_fail(p->device, r, "shared memory of kernel %s", q->kernel->name) : RLX_OK;
  cu_leave(p->device);
  return s;
}

static rlx_status find_pipelines(rlx_program *p) {
  const size_t n = p->body.dispatches.n;
  p->dispatches = rlx_bump_array(&p->body.memory, cu_dispatch, n + 1);
  if (!p->dispatches) return RLX_FAIL(RLX_NO_MEMORY, "%zu dispatches", n);
  RLX_TRY(gpu_program_find_pipelines(&p->body, &p->device->pipelines));
  for (size_t i = 0; i < n; i++) {
    if (!p->body.requests[i].made) continue;
    p->dispatches[i].function = cu_pipeline_function(p->body.requests[i].made);
    RLX_TRY(allow_dynamic(p, i));
  }
  return RLX_OK;
}

/* ---- windows ---- */

static rlx_status bind_window(const rlx_program *p, const rlx_bound *w, bool is_write, cu_dispatch *out, uint32_t i) {
  out->windows[i] = p->device->nothing;
  if (!w->block || !w->bytes) return RLX_OK;
  const rlx_block *b = w->block == &gpu_table_block ? p->table_block
                       : w->block == &gpu_run_block ? p->run_block
                                                    : w->block;
  if (w->offset % 16 || w->offset > b->bytes || w->bytes > b->bytes - w->offset)
    return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu: not a multiple of 16, or not inside a block of %llu",
                    (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)b->bytes);
  const uint64_t at = cu_address(b) + w->offset;
  out->windows[i] = at;
  if (!gpu_is_own_block(w->block))
    out->accesses[out->n_accesses++] = (gpu_access){NULL, at, at + (w->bytes + 15) / 16 * 16, is_write};
  return RLX_OK;
}

static rlx_status bind_windows(rlx_program *p) {
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *from = &p->body.dispatches.v[i];
    for (uint32_t w = 0; w < from->kernel->n_windows; w++) {
      rlx_status s = bind_window(p, &from->windows[w], from->kernel->writes >> w & 1, &p->dispatches[i], w);
      if (s) s = rlx_fail_frame(s, "kernel %s, window %u", from->kernel->name, (unsigned)w);
      if (s) return gpu_program_frame(&p->body, s, from->step);
    }
  }
  return RLX_OK;
}

/* ---- products by a library ---- */

/* The context is current. */
static rlx_status make_products(rlx_program *p) {
  for (size_t i = 0; i < p->body.dispatches.n; i++) {
    const gpu_bound_dispatch *q = &p->body.dispatches.v[i];
    if (gpu_kernel_has_code(q->kernel)) continue;
    rlx_status s = cu_product_create(p->device, (const void *)q->params, p->dispatches[i].windows,
                                     q->windows[GPU_LIBRARY_WORK].bytes, &p->dispatches[i].product);
    if (s) return gpu_program_frame(&p->body, s, q->step);
  }
  return RLX_OK;
}

static rlx_status make_products_inside(rlx_program *p) {
  RLX_TRY(cu_enter(p->device));
  rlx_status s = make_products(p);
  cu_leave(p->device);
  return s;
}

void cu_arguments_of(const rlx_program *p, size_t dispatch, cu_arguments *out) {
  const gpu_bound_dispatch *q = &p->body.dispatches.v[dispatch];
  const uint32_t n = q->kernel->n_windows;
  for (uint32_t i = 0; i < n; i++) out->v[i] = &p->dispatches[dispatch].windows[i];
  out->v[n] = (void *)(uintptr_t)q->params; /* the driver only reads it */
}

/* ---- public calls ---- */

rlx_status cu_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  *out = NULL;
  RLX_TRY(cu_check(cu_device_of(q->device)));
  rlx_program *p = rlx_new(rlx_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a program");
  p->queue = cu_queue_of(q);
  p->device = p->queue->device;
  rlx_status s = gpu_program_init(&p->body, &p->device->caps, desc);
  if (!s) p->recordings = rlx_bump_array(&p->body.memory, cu_recording *, desc->n_steps + 1);
  if (!s && !p->recordings) s = RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  if (!s) s = make_memory(p);
  if (!s) s = find_pipelines(p);
  if (!s) s = bind_windows(p);
  if (!s) s = make_products_inside(p);
  if (s) cu_program_destroy(p);
  else *out = p;
  return s;
}

static void destroy_recordings(rlx_program *p) {
  for (size_t i = 0; p->recordings && i < p->body.n_steps; i++)
    for (cu_recording *r = p->recordings[i], *next; r; r = next) {
      next = r->next;
      cu_recording_destroy(p, r);
    }
}

void cu_program_destroy(rlx_program *p) {
  if (!p) return;
  cu_device *d = p->device;
  rlx_saved_message message;
  rlx_message_save(&message);
  const bool is_current = cu_enter_any(d);
  uint64_t marked;
  if (is_current && (cu_mark(p->queue, &marked) || cu_wait(p->queue, p->last < marked ? p->last : marked)))
    d->f->CtxSynchronize();
  destroy_recordings(p);
  for (size_t i = 0; p->dispatches && i < p->body.dispatches.n; i++) cu_product_destroy(d, p->dispatches[i].product);
  cu_block_destroy(&d->base, p->run_block);
  cu_block_destroy(&d->base, p->table_block);
  gpu_program_deinit(&p->body);
  if (is_current) cu_leave(d);
  rlx_message_restore(&message);
  rlx_mem_free(p);
}
