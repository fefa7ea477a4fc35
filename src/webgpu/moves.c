/* The kernels: `move` makes each word of the target from two words of the source, `fill` from a constant. Both keep the
 * bytes of the word that are outside the range. */
#include "webgpu/moves.h"

#include <string.h>

/* Bytes from the beginning of the windows; fewer than 2^31. */
typedef struct move_params {
  uint32_t from, to, bytes, value;
} move_params;

#define MOVE_HEAD                                                                            \
  "struct Params { src : u32, dst : u32, bytes : u32, value : u32 };\n"                      \
  "@group(1) @binding(0) var<uniform> p : Params;\n"                                         \
  "fn mask(first : u32) -> u32 {\n" /* of the bytes of a word that are in the range */       \
  "  var m = 0u;\n"                                                                          \
  "  for (var i = 0u; i < 4u; i += 1u) {\n"                                                  \
  "    if (first + i >= p.dst && first + i < p.dst + p.bytes) { m |= 0xffu << (8u * i); }\n" \
  "  }\n"                                                                                    \
  "  return m;\n"                                                                            \
  "}\n"                                                                                      \
  "fn word(g : vec3<u32>, n : vec3<u32>, l : u32) -> u32 { return p.dst / 4u + (g.y * n.x + g.x) * 64u + l; }\n"

#define MOVE_ENTRY(name)                                                                      \
  "@compute @workgroup_size(64) fn " name "(@builtin(workgroup_id) g : vec3<u32>,\n"          \
  "    @builtin(num_workgroups) n : vec3<u32>, @builtin(local_invocation_index) l : u32) {\n" \
  "  let w = word(g, n, l);\n"                                                                \
  "  if (w * 4u >= p.dst + p.bytes) { return; }\n"                                            \
  "  let m = mask(w * 4u);\n"

static const char fill_text[] = MOVE_HEAD "@group(0) @binding(0) var<storage, read_write> y : array<u32>;\n" MOVE_ENTRY(
  "fill_bytes") "  y[w] = (y[w] & ~m) | (p.value & m);\n"
                "}\n";

/* The source's byte for the first byte of the word may be before its window, but then the range does not have it. */
static const char move_text[] =
  MOVE_HEAD "@group(0) @binding(0) var<storage, read_write> x : array<u32>;\n"
            "@group(0) @binding(1) var<storage, read_write> y : array<u32>;\n" MOVE_ENTRY(
              "move_bytes") "  let s = i32(w * 4u) - i32(p.dst) + i32(p.src);\n"
                            "  let last = i32(arrayLength(&x)) - 1;\n"
                            "  let a = x[clamp(s >> 2u, 0, last)];\n"
                            "  let b = x[clamp((s >> 2u) + 1, 0, last)];\n"
                            "  let shift = u32(s & 3) * 8u;\n"
                            "  var v = a;\n"
                            "  if (shift != 0u) { v = (a >> shift) | (b << (32u - shift)); }\n"
                            "  y[w] = (y[w] & ~m) | (v & m);\n"
                            "}\n";

rlx_status wg_moves_init(wg_device *d) {
  RLX_TRY(wg_pipeline_create(d, fill_text, "fill_bytes", 1, &d->fill));
  return wg_pipeline_create(d, move_text, "move_bytes", 2, &d->move);
}

void wg_moves_deinit(wg_device *d) {
  if (d->fill) d->f->ComputePipelineRelease(d->fill);
  if (d->move) d->f->ComputePipelineRelease(d->move);
  wg_buffer_release(d, d->between);
}

/* ---- a dispatch ---- */

static WGPUBindGroup make_group(const wg_device *d, WGPUBindGroupLayout layout, const WGPUBindGroupEntry *entries,
                                size_t n) {
  return d->f->DeviceCreateBindGroup(d->handle,
                                     &(WGPUBindGroupDescriptor){.layout = layout, .n = n, .entries = entries});
}

/* The window of a range, from an aligned offset on. *inside: where the range begins in it. */
static WGPUBindGroupEntry window_of(const wg_device *d, const wg_range *r, uint32_t binding, uint32_t *inside) {
  const uint64_t align = d->base.info.view_align, first = r->offset / align * align;
  *inside = (uint32_t)(r->offset - first);
  return (WGPUBindGroupEntry){
    .binding = binding, .buffer = r->buffer, .offset = first, .bytes = (*inside + r->bytes + 15) / 16 * 16};
}

static void dispatch(const wg_device *d, WGPUCommandEncoder e, WGPUComputePipeline pipeline,
                     const WGPUBindGroup *groups, uint32_t n_words) {
  const uint32_t zero = 0, n = n_words / 64 + 1, y = n / 65535 + 1;
  WGPUComputePassEncoder pass = d->f->CommandEncoderBeginComputePass(e, NULL);
  d->f->ComputePassEncoderSetPipeline(pass, pipeline);
  d->f->ComputePassEncoderSetBindGroup(pass, 0, groups[0], 0, NULL);
  d->f->ComputePassEncoderSetBindGroup(pass, 1, groups[1], 1, &zero);
  d->f->ComputePassEncoderDispatchWorkgroups(pass, n / y + 1, y, 1);
  d->f->ComputePassEncoderEnd(pass);
  d->f->ComputePassEncoderRelease(pass);
}

/* from: NULL, then the bytes are those of `value`. */
static rlx_status record(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const wg_range *from, uint32_t value) {
  move_params p = {.bytes = (uint32_t)to->bytes, .value = value};
  WGPUBindGroupEntry windows[2];
  uint32_t n = 0;
  if (from) windows[n] = window_of(d, from, n, &p.from), n++;
  windows[n] = window_of(d, to, n, &p.to), n++;
  WGPUBuffer params = d->f->DeviceCreateBuffer(
    d->handle, &(WGPUBufferDescriptor){.usage = WGPU_BUFFER_UNIFORM | WGPU_BUFFER_COPY_DST, .bytes = WG_PARAMS_BYTES});
  if (!params) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: parameters of a copy");
  d->f->QueueWriteBuffer(d->queue, params, 0, &p, sizeof p);
  const WGPUBindGroupEntry all = {.buffer = params, .bytes = WG_PARAMS_BYTES};
  const WGPUBindGroup groups[] = {make_group(d, d->window_groups[n], windows, n),
                                  make_group(d, d->params_group, &all, 1)};
  if (groups[0] && groups[1]) dispatch(d, e, from ? d->move : d->fill, groups, (uint32_t)(to->bytes / 4 + 2));
  for (int i = 0; i < 2; i++)
    if (groups[i]) d->f->BindGroupRelease(groups[i]);
  wg_buffer_release(d, params); /* the encoder keeps it */
  return groups[0] && groups[1] ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "webgpu: bindings of a copy");
}

/* ---- the calls ---- */

rlx_status wg_record_bytes(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const unsigned char *bytes) {
  unsigned char word[4] = {0};
  uint32_t value;
  memcpy(word + to->offset % 4, bytes, (size_t)to->bytes);
  value = word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24;
  return record(d, e, to, NULL, value);
}

rlx_status wg_record_zero(wg_device *d, WGPUCommandEncoder e, const wg_range *to) {
  const uint64_t end = to->offset + to->bytes, first = (to->offset + 3) / 4 * 4, last = end / 4 * 4;
  if (first >= last) return record(d, e, to, NULL, 0); /* in one word or two */
  d->f->CommandEncoderClearBuffer(e, to->buffer, first, last - first);
  if (to->offset < first) RLX_TRY(record(d, e, &(wg_range){to->buffer, to->offset, first - to->offset}, NULL, 0));
  if (last < end) RLX_TRY(record(d, e, &(wg_range){to->buffer, last, end - last}, NULL, 0));
  return RLX_OK;
}

static bool is_words(const wg_range *to, const wg_range *from) {
  return to->offset % 4 == 0 && from->offset % 4 == 0 && from->bytes % 4 == 0;
}

/* Between two buffers, of at most a binding. */
static rlx_status copy_piece(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const wg_range *from) {
  if (!is_words(to, from)) return record(d, e, to, from, 0);
  d->f->CommandEncoderCopyBufferToBuffer(e, from->buffer, from->offset, to->buffer, to->offset, from->bytes);
  return RLX_OK;
}

/* A buffer of at least so many bytes, which all copies share: the queue executes them in order. */
static rlx_status reserve_between(wg_device *d, uint64_t bytes) {
  enum { MIN_BYTES = 64 << 10 };
  uint64_t size = MIN_BYTES;
  while (size < bytes) size *= 2;
  if (d->between && d->between_bytes >= bytes) return RLX_OK;
  wg_buffer_release(d, d->between); /* commands keep it */
  d->between = d->f->DeviceCreateBuffer(
    d->handle,
    &(WGPUBufferDescriptor){.usage = WGPU_BUFFER_STORAGE | WGPU_BUFFER_COPY_SRC | WGPU_BUFFER_COPY_DST, .bytes = size});
  d->between_bytes = size;
  return d->between ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "webgpu: %llu bytes for a copy", (unsigned long long)size);
}

/* Within a buffer: through another one. */
static rlx_status copy_inside(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const wg_range *from) {
  const uint64_t first = from->offset / 4 * 4, skip = from->offset - first, words = (skip + from->bytes + 3) / 4 * 4;
  RLX_TRY(reserve_between(d, words + 16)); /* a window ends at a multiple of 16 */
  d->f->CommandEncoderCopyBufferToBuffer(e, from->buffer, first, d->between, 0, words);
  return copy_piece(d, e, to, &(wg_range){d->between, skip, from->bytes});
}

rlx_status wg_record_copy(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const wg_range *from) {
  enum { MAX_PIECE = 16 << 20 };
  const bool is_inside = to->buffer == from->buffer;
  uint64_t max = d->caps.max_window_bytes / 2 < MAX_PIECE ? d->caps.max_window_bytes / 2 / 4 * 4 : MAX_PIECE;
  if (max < WG_ALIGN) max = WG_ALIGN;
  if (!is_inside && is_words(to, from)) return copy_piece(d, e, to, from);
  for (uint64_t at = 0; at < from->bytes; at += max) {
    const uint64_t n = from->bytes - at < max ? from->bytes - at : max;
    const wg_range a = {from->buffer, from->offset + at, n}, z = {to->buffer, to->offset + at, n};
    RLX_TRY(is_inside ? copy_inside(d, e, &z, &a) : copy_piece(d, e, &z, &a));
  }
  return RLX_OK;
}
