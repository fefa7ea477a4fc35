/* The null backend: one device that computes nothing. Copy this file to start a new backend.
 *
 * It claims no node, so the runtime runs every op on the host; that proves that host execution works for all of them.
 * What is left is the part that every backend has: a device, blocks, transfers, and copies as the only steps. Its
 * blocks are host memory but are not mapped, so callers must use write and read as on a GPU. It checks every range; a
 * real driver would crash or silently corrupt memory.
 *
 * A new backend keeps the order of this file: devices, claims, blocks, programs, the table. It contains no policy: what
 * to fuse, plan, cache or run on the host is decided above it. */
#include <string.h>

#include "base/budget.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/queue.h"

/* A backend's own structs begin with the common ones, so pointers to them can be cast either way. */
typedef struct null_block {
  rlx_block base;
  unsigned char *data; /* stored after this struct */
} null_block;

struct rlx_program {
  const rlx_program_desc *desc; /* outlives the program */
};

static const char *const no_kernels = "the null device computes nothing";

/* ---- devices ---- */

/* A backend that loads a driver does so here, once. If that fails it returns 0 and sets *why to a reason that helps the
 * user: "libvulkan.so.1 is not installed". */
static uint32_t null_count(const char **why) {
  *why = NULL;
  return 1;
}

static rlx_status null_describe(uint32_t index, rlx_device_info *out) {
  if (index != 0) return RLX_FAIL(RLX_NOT_FOUND, "null device %u: there is one, with index 0", (unsigned)index);
  *out = (rlx_device_info){
    .name = "null",
    .backend = "null",
    .uuid = "6e756c6c-0000-0000-0000-000000000000", /* "null" in ASCII: the same device on every machine */
    .driver = "none",
    .kind = RLX_DEVICE_NULL,
    .align = 256,
    .view_align = 64,
  };
  return RLX_OK;
}

/* The registry opens a device at most once at a time, so nothing here is shared. */
static rlx_status null_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(null_describe(index, &info));
  if (options->variant && *options->variant)
    return RLX_FAIL(RLX_NOT_FOUND, "null device: there is no variant '%s', nor any other", options->variant);
  rlx_device *d = rlx_new(rlx_device);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "null device");
  d->backend = &rlx_backend_null;
  d->info = info;
  *out = d;
  return RLX_OK;
}

static void null_close(rlx_device *d) { rlx_mem_free(d); }

/* ---- claims ---- */

/* A real backend examines the node's op, types and attributes, and sets native, in_place and work_bytes. */
static rlx_status null_claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  (void)d;
  (void)q;
  out->why = no_kernels;
  return RLX_OK;
}

/* ---- blocks ---- */

static unsigned char *data_of(const rlx_block *b) { return ((const null_block *)b)->data; }

static rlx_status check_range(const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (!b) return RLX_FAIL(RLX_INVALID, "null device: %s: the block is NULL", what);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return RLX_FAIL(RLX_INVALID, "null device: %s: %llu bytes at %llu are not inside a block of %llu", what,
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
  return RLX_OK;
}

static rlx_status null_block_create(rlx_device *d, uint64_t bytes, rlx_block **out) {
  (void)d;
  *out = NULL;
  null_block *b = bytes <= SIZE_MAX - sizeof *b ? rlx_mem_alloc(sizeof *b + (size_t)bytes) : NULL;
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "null device: a block of %llu bytes", (unsigned long long)bytes);
  *b = (null_block){.base = {.bytes = bytes, .map = NULL}, .data = (unsigned char *)(b + 1)};
  *out = &b->base;
  return RLX_OK;
}

static rlx_status null_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out) {
  RLX_TRY(null_block_create(d, bytes, out));
  (*out)->map = data_of(*out);
  return RLX_OK;
}

static void null_block_destroy(rlx_device *d, rlx_block *b) {
  (void)d;
  rlx_mem_free(b);
}

static rlx_status null_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("write", b, offset, bytes));
  if (bytes) memcpy(data_of(b) + offset, src, (size_t)bytes);
  return RLX_OK;
}

static rlx_status null_read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("read", b, offset, bytes));
  if (bytes) memcpy(dst, data_of(b) + offset, (size_t)bytes);
  return RLX_OK;
}

/* Overlapping ranges of one block are the caller's error: a GPU's copy would be undefined. */
static rlx_status null_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                            uint64_t src_offset, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range("copy from", src, src_offset, bytes));
  if (bytes == 0) return RLX_OK;
  if (dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "null device: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  memcpy(data_of(dst) + dst_offset, data_of(src) + src_offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status null_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("zero", b, offset, bytes));
  if (bytes) memset(data_of(b) + offset, 0, (size_t)bytes);
  return RLX_OK;
}

/* ---- programs ---- */

static rlx_status copy_step(const rlx_bound_step *s) {
  if (s->n_in != 1 || s->n_out != 1 || s->in[0].bytes != s->out[0].bytes)
    return RLX_FAIL(RLX_INVALID, "null device: a copy has one window in and one out, of equal bytes");
  return null_copy(NULL, s->out[0].block, s->out[0].offset, s->in[0].block, s->in[0].offset, s->in[0].bytes);
}

/* A real backend prepares here everything that does not change from run to run, so a run only submits it. */
static rlx_status null_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  (void)q;
  *out = NULL;
  for (size_t i = 0; i < desc->n_steps; i++)
    if (!desc->steps[i].copy)
      return RLX_FAIL(RLX_UNSUPPORTED, "step %zu: node %u (%s): %s", i, (unsigned)desc->steps[i].node,
                      rlx_node_op(desc->graph, desc->steps[i].node), no_kernels);
  rlx_program *p = rlx_new(rlx_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "null device: program of %zu steps", desc->n_steps);
  p->desc = desc;
  *out = p;
  return RLX_OK;
}

/* The arrays of times are indexed from 0 at `first`: they cover the steps of this run. */
static rlx_status null_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args) {
  if (first > p->desc->n_steps || n_steps > p->desc->n_steps - first)
    return RLX_FAIL(RLX_INVALID, "null device: steps %zu to %zu of a program of %zu", first, first + n_steps,
                    p->desc->n_steps);
  for (size_t i = 0; i < n_steps; i++) {
    const rlx_bound_step *s = &p->desc->steps[first + i];
    if (rlx_stops(args->cancel, args->cancel_user))
      return RLX_FAIL(RLX_CANCELLED, "cancelled before step %zu", first + i);
    if (args->begin_ns) args->begin_ns[i] = rlx_now_ns();
    RLX_TRY_AT(copy_step(s), "step %zu: copy of node %u", first + i, (unsigned)s->node);
    if (args->end_ns) args->end_ns[i] = rlx_now_ns();
  }
  return RLX_OK;
}

static void null_program_destroy(rlx_program *p) { rlx_mem_free(p); }

/* layout_bytes and repack stay NULL because no claim here prefers a layout. */
const rlx_backend rlx_backend_null = {
  .name = "null",
  .count = null_count,
  .describe = null_describe,
  .open = null_open,
  .close = null_close,
  .claim = null_claim,
  .block_create = null_block_create,
  .block_create_host = null_block_create_host,
  .block_destroy = null_block_destroy,
  RLX_QUEUE_IMMEDIATE, /* all work is done when a call returns */
  .write = null_write,
  .read = null_read,
  .copy = null_copy,
  .zero = null_zero,
  .program_create = null_program_create,
  .submit = null_program_submit,
  .program_destroy = null_program_destroy,
};
