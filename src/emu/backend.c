/* Backend of the emulated GPU: executes the lowerings of gpu/ with kernels compiled as C for the host.
 *
 * Its limits are small so that tests reach them: there are few groups along x, so the fold into y occurs in every test.
 * "emu" has only the features that every Vulkan device has. Memory is the CPU backend's.
 *
 * Work is done when a call returns; the variants "emu:stream" and "emu:events" have asynchronous queues (queue.c).
 * "emu:small" binds at most 16 KiB to a kernel and allocates at most 32 KiB at once; "emu:init" detects reads of memory
 * that nothing wrote (written.c). */
#include <string.h>

#include "base/budget.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/queue.h"
#include "emu/device.h"
#include "emu/run.h"
#include "gpu/program.h"

/* ---- the device ---- */

static uint32_t emu_count(const char **why) {
  *why = NULL;
  return 1;
}

static rlx_status emu_describe(uint32_t index, rlx_device_info *out) {
  if (index != 0) return RLX_FAIL(RLX_NOT_FOUND, "emulated device: expected index 0, got %u", (unsigned)index);
  *out = (rlx_device_info){
    .name = "kernel emulator",
    .backend = "emu",
    .uuid = "656d7500-0000-8000-8000-000000000000",
    .driver = "none",
    .kind = RLX_DEVICE_SOFTWARE,
    .n_units = 4,
    .align = 256,
    .view_align = 256,
    .is_mapped = true,
  };
  return RLX_OK;
}

static rlx_status find_mode(const char *variant, emu_mode *out) {
  static const char *const names[] = {
    [EMU_IMMEDIATE] = "", [EMU_STREAM] = "stream", [EMU_EVENTS] = "events", [EMU_SMALL] = "small", [EMU_INIT] = "init"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    *out = (emu_mode)i;
    if (strcmp(variant, names[i]) == 0) return RLX_OK;
  }
  return RLX_FAIL(RLX_NOT_FOUND,
                  "emulated device: expected no variant, 'stream', 'events', 'small' or 'init', got '%s'", variant);
}

static rlx_status emu_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(emu_describe(index, &info));
  emu_mode mode;
  RLX_TRY(find_mode(options->variant ? options->variant : "", &mode));
  emu_device *d = rlx_new(emu_device);
  bool has_lock = d && rlx_mutex_init(&d->lock);
  if (!has_lock || !rlx_cond_init(&d->changed)) {
    if (has_lock) rlx_mutex_destroy(&d->lock);
    rlx_mem_free(d);
    return RLX_FAIL(RLX_NO_MEMORY, "emulated device");
  }
  d->queued = rlx_backend_emu;
  (mode == EMU_INIT ? emu_written_install : emu_queue_install)(&d->queued);
  d->mode = mode;
  const bool is_immediate = mode == EMU_IMMEDIATE || mode == EMU_SMALL;
  d->base.backend = is_immediate ? &rlx_backend_emu : &d->queued;
  d->base.info = info;
  d->base.info.is_mapped = is_immediate;
  d->base.info.max_window_bytes = mode == EMU_SMALL ? 16 << 10 : 0;
  d->base.info.max_block_bytes = mode == EMU_SMALL ? 32 << 10 : 0;
  d->caps = (gpu_caps){.max_group = 256,
                       .max_shared = 16 * 1024,
                       .max_groups_x = 7,
                       .max_window_bytes = mode == EMU_SMALL ? 16 << 10 : 128 << 20,
                       .units = 4,
                       .has_dot8 = true}; /* to test the kernels that round x to 8 bits */
  *out = &d->base;
  return RLX_OK;
}

gpu_caps *emu_caps(rlx_device *d) { return &((emu_device *)d)->caps; }

static void emu_close(rlx_device *d) {
  emu_device *e = (emu_device *)d;
  emu_dispatch_free(); /* a device of another variant may be in use */
  rlx_cond_destroy(&e->changed);
  rlx_mutex_destroy(&e->lock);
  rlx_mem_free(e);
}

static rlx_status claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  return gpu_claim(&((const emu_device *)d)->caps, q, out);
}

/* ---- blocks: the CPU backend's, padded so that a window can be rounded up to words ---- */

static rlx_status create_block(rlx_device *d, uint64_t bytes, bool is_mapped, rlx_block **out) {
  *out = NULL;
  if (d->info.max_block_bytes && bytes > d->info.max_block_bytes)
    return RLX_FAIL(RLX_NO_MEMORY, "emulated device: a block of %llu bytes", (unsigned long long)bytes);
  emu_block *b = rlx_new(emu_block);
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "emulated device: a block");
  const uint64_t padded = bytes < UINT64_MAX - 16 ? (bytes + 15) / 16 * 16 : bytes;
  rlx_status s = rlx_backend_cpu.block_create(d, padded, &b->memory);
  if (!s && !is_mapped && ((emu_device *)d)->mode == EMU_INIT &&
      !(b->written = rlx_mem_calloc((size_t)padded + 1, 1))) {
    rlx_backend_cpu.block_destroy(d, b->memory);
    s = RLX_FAIL(RLX_NO_MEMORY, "emulated device: which bytes of a block are written");
  }
  if (s) {
    rlx_mem_free(b);
    return s;
  }
  b->base = (rlx_block){.bytes = bytes, .map = is_mapped ? b->memory->map : NULL};
  *out = &b->base;
  return RLX_OK;
}

static rlx_status block_create(rlx_device *d, uint64_t bytes, rlx_block **out) {
  return create_block(d, bytes, d->info.is_mapped, out);
}

static rlx_status block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out) {
  return create_block(d, bytes, true, out);
}

static void block_destroy(rlx_device *d, rlx_block *b) {
  if (!b) return;
  rlx_backend_cpu.block_destroy(d, ((emu_block *)b)->memory);
  rlx_mem_free(emu_written(b));
  rlx_mem_free(b);
}
static rlx_status write_block(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  return rlx_backend_cpu.write(q, b, offset, src, bytes);
}
static rlx_status read_block(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  return rlx_backend_cpu.read(q, b, offset, dst, bytes);
}
static rlx_status copy_block(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                             uint64_t src_offset, uint64_t bytes) {
  return rlx_backend_cpu.copy(q, dst, dst_offset, src, src_offset, bytes);
}
static rlx_status zero_block(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  return rlx_backend_cpu.zero(q, b, offset, bytes);
}

/* ---- programs ---- */

static void program_destroy(rlx_program *p) {
  if (!p) return;
  for (size_t i = 0; i < p->n_steps; i++) rlx_mem_free(p->steps[i].windows);
  rlx_mem_free(p->steps);
  rlx_mem_free(p);
}

/* Tables and the run's words are bound at run time: these blocks stand for host arrays. */
static rlx_block table_block, run_block;

static rlx_status bind_step(const rlx_bound_step *b, emu_step *s) {
  s->node = b->node;
  s->copy = b->copy;
  if (b->copy) return RLX_OK;
  RLX_TRY(gpu_lowering_of(b, &s->lowered));
  size_t n = s->lowered->dispatches.n;
  s->windows = rlx_mem_alloc((n + 1) * sizeof *s->windows);
  if (!s->windows) return RLX_FAIL(RLX_NO_MEMORY, "%zu dispatches", n);
  rlx_bound table = {&table_block, 0, s->lowered->table.n * 4}, run = {&run_block, 0, 16};
  for (size_t i = 0; i < n; i++) {
    const gpu_dispatch *d = &s->lowered->dispatches.v[i];
    for (uint32_t w = 0; w < d->kernel->n_windows; w++)
      RLX_TRY_AT(gpu_bind(&d->windows[w], b, &table, &run, &s->windows[i][w]), "kernel %s, window %u", d->kernel->name,
                 (unsigned)w);
  }
  return RLX_OK;
}

static rlx_status program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  *out = NULL;
  rlx_program *p = rlx_new(rlx_program);
  if (p) p->steps = rlx_mem_calloc(desc->n_steps + 1, sizeof *p->steps);
  if (!p || !p->steps) {
    program_destroy(p);
    return RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  }
  p->queue = q;
  p->device = (emu_device *)q->device;
  p->desc = desc;
  for (size_t i = 0; i < desc->n_steps; i++) {
    p->n_steps = i + 1;
    rlx_status s = bind_step(&desc->steps[i], &p->steps[i]);
    if (s) {
      s =
        rlx_fail_frame(s, "node %u (%s)", (unsigned)desc->steps[i].node, rlx_node_op(desc->graph, desc->steps[i].node));
      program_destroy(p);
      return s;
    }
  }
  *out = p;
  return RLX_OK;
}

static rlx_status run_dispatch(const emu_step *s, size_t i, uint32_t *run_words, uint32_t max_x) {
  const gpu_dispatch *d = &s->lowered->dispatches.v[i];
  if (gpu_is_idle(d, s->windows[i])) return RLX_OK;
  if (!emu_kernels[d->kernel->index]) return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s needs matrix units", d->kernel->name);
  emu_window windows[GPU_MAX_WINDOWS] = {{0}};
  for (uint32_t w = 0; w < d->kernel->n_windows; w++) {
    const rlx_bound *b = &s->windows[i][w];
    if (!b->block) continue;
    const bool is_ours = b->block != &table_block && b->block != &run_block;
    unsigned char *base = b->block == &table_block ? (unsigned char *)s->lowered->table.v
                          : b->block == &run_block ? (unsigned char *)run_words
                                                   : emu_data(b->block);
    unsigned char *written = is_ours ? emu_written(b->block) : NULL;
    windows[w] = (emu_window){
      .data = base + b->offset, .bytes = (b->bytes + 3) / 4 * 4, .written = written ? written + b->offset : NULL};
  }
  uint32_t x = d->groups < max_x ? d->groups : max_x;
  emu_launch launch = {d->kernel, d->constants, d->params, windows, x, gpu_ceil_div(d->groups, x), d->group_size};
  char fault[EMU_FAULT_BYTES];
  return emu_dispatch(&launch, fault) && !*fault ? RLX_OK : RLX_FAIL(RLX_INVALID, "%s", fault);
}

static rlx_status run_step(rlx_program *p, size_t index, uint64_t draw) {
  const emu_step *s = &p->steps[index];
  const rlx_bound_step *b = &p->desc->steps[index];
  if (s->copy) {
    if (b->in[0].bytes) emu_copy(&b->out[0], &b->in[0], gpu_copy_bytes(&b->in[0], &b->out[0]));
    return RLX_OK;
  }
  uint32_t run_words[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), 0, 0};
  rlx_status status = RLX_OK;
  for (size_t i = 0; i < s->lowered->dispatches.n && !status; i++)
    status = run_dispatch(s, i, run_words, p->device->caps.max_groups_x);
  return status;
}

rlx_status emu_step_run(rlx_program *p, size_t index, uint64_t draw) {
  const rlx_node node = p->steps[index].node;
  RLX_TRY_AT(run_step(p, index, draw), "node %u (%s)", (unsigned)node, rlx_node_op(p->desc->graph, node));
  return RLX_OK;
}

static rlx_status submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args) {
  if (first > p->n_steps || n_steps > p->n_steps - first)
    return RLX_FAIL(RLX_INVALID, "emulated device: steps %zu to %zu of a program of %zu", first, first + n_steps,
                    p->n_steps);
  for (size_t i = 0; i < n_steps; i++) {
    if (rlx_stops(args->cancel, args->cancel_user))
      return RLX_FAIL(RLX_CANCELLED, "cancelled before step %zu", first + i);
    if (args->begin_ns) args->begin_ns[i] = rlx_now_ns();
    RLX_TRY(emu_step_run(p, first + i, args->draw));
    if (args->end_ns) args->end_ns[i] = rlx_now_ns();
  }
  return RLX_OK;
}

const rlx_backend rlx_backend_emu = {
  .name = "emu",
  .count = emu_count,
  .describe = emu_describe,
  .open = emu_open,
  .close = emu_close,
  .claim = claim,
  .lowering_destroy = gpu_lowering_destroy,
  .lowering_part = gpu_lowering_part,
  .layout_bytes = gpu_layout_bytes,
  .split_large = gpu_split_large,
  .repack = gpu_repack,
  .repack_part = gpu_repack_part,
  .block_create = block_create,
  .block_create_host = block_create_host,
  .block_destroy = block_destroy,
  RLX_QUEUE_IMMEDIATE,
  .write = write_block,
  .read = read_block,
  .copy = copy_block,
  .zero = zero_block,
  .program_create = program_create,
  .submit = submit,
  .program_destroy = program_destroy,
};
