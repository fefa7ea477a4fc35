/* The layout of block-type weights in planes.
 *
 * A block is a list of fields: codes, high bits of codes, scales. In files blocks are 17, 18, 34, 110 or 210 bytes
 * long, so hardly any field is word-aligned. In planes each field has its own plane, which holds that field of all
 * blocks of the tensor contiguously: first the planes with fields of whole 16-byte units, starting with the codes, then
 * those of words, 16-bit values and bytes. So a kernel loads codes by 16 bytes, and the field of block b is at the
 * plane's start plus b times the field's size. Planes begin at multiples of GPU_ALIGN; that is the only padding. The
 * layout depends only on the number of blocks, not on the shape, so every op can prefer it.
 *
 * Both directions are copies, so a round trip is bit-exact. kernels/blocks.kh has the same numbers. */
#include <string.h>

#include "base/arith.h"
#include "base/status.h"
#include "gpu/quant.h"
#include "quant/blocks.h"

/* In the order of the planes: offset in the plain block, bytes. Types that kernels read only in the plain layout (those
 * with a grid, nvfp4) are not listed. */
static const gpu_plane planes_of[RLX_DTYPE_COUNT][GPU_MAX_PLANES] = {
  [RLX_Q4_0] = {{Q4_0_QS, 16}, {Q4_0_D, 2}},
  [RLX_Q4_1] = {{Q4_1_QS, 16}, {Q4_1_D, 4}},
  [RLX_Q5_0] = {{Q5_0_QS, 16}, {Q5_0_QH, 4}, {Q5_0_D, 2}},
  [RLX_Q5_1] = {{Q5_1_QS, 16}, {Q5_1_D, 4}, {Q5_1_QH, 4}},
  [RLX_Q8_0] = {{Q8_0_QS, 32}, {Q8_0_D, 2}},
  [RLX_Q2_K] = {{Q2_K_QS, 64}, {Q2_K_SCALES, 16}, {Q2_K_D, 4}},
  [RLX_Q3_K] = {{Q3_K_QS, 64}, {Q3_K_HMASK, 32}, {Q3_K_SCALES, 12}, {Q3_K_D, 2}},
  [RLX_Q4_K] = {{Q4_K_QS, 128}, {Q4_K_D, 16}},
  [RLX_Q5_K] = {{Q5_K_QS, 128}, {Q5_K_QH, 32}, {Q5_K_D, 16}},
  [RLX_Q6_K] = {{Q6_K_QL, 128}, {Q6_K_QH, 64}, {Q6_K_SCALES, 16}, {Q6_K_D, 2}},
  [RLX_Q8_K] = {{Q8_K_QS, 256}, {Q8_K_SUMS, 32}, {Q8_K_D, 4}},
  [RLX_IQ4_NL] = {{IQ4_NL_QS, 16}, {IQ4_NL_D, 2}},
  [RLX_IQ4_XS] = {{IQ4_XS_QS, 128}, {IQ4_XS_D, 8}},
  [RLX_MXFP4] = {{MXFP4_QS, 16}, {MXFP4_E, 1}},
  [RLX_TQ1_0] = {{TQ1_0_QS, 48}, {TQ1_0_QH, 4}, {TQ1_0_D, 2}},
  [RLX_TQ2_0] = {{TQ2_0_QS, 64}, {TQ2_0_D, 2}},
};

const gpu_plane *gpu_planes_of(rlx_dtype dtype) { return planes_of[dtype]; }

bool gpu_decodes(rlx_dtype dtype) {
  uint32_t n;
  return planes_of[dtype]->bytes || rlx_grid_of(dtype, &n) || dtype == RLX_NVFP4;
}

/* The number of blocks of a tensor; false if it has no layout in planes or is too large. */
static bool count_blocks(const rlx_type *type, uint64_t *out) {
  size_t bytes;
  if (!rlx_dtype_is_block(type->dtype) || !planes_of[type->dtype]->bytes ||
      rlx_tensor_bytes(type->dtype, type->shape, &bytes))
    return false;
  *out = bytes / rlx_dtype_describe(type->dtype)->block_bytes;
  return true;
}

uint64_t gpu_plane_start(rlx_dtype dtype, uint64_t n_blocks, uint32_t plane) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < plane; i++)
    at += (n_blocks * planes_of[dtype][i].bytes + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
  return at;
}

uint64_t gpu_planes_bytes(const rlx_type *type) {
  uint64_t n_blocks;
  return count_blocks(type, &n_blocks) ? gpu_plane_start(type->dtype, n_blocks, GPU_MAX_PLANES) : 0;
}

/* ---- packing: a range of the packed weight, for any number of threads ---- */

/* Copies the field at src of n blocks; a constant size becomes a few instructions. */
static void gather(uint8_t *dst, const uint8_t *src, size_t stride, size_t bytes, uint64_t n) {
#define GATHER(size)                                                                   \
  case size:                                                                           \
    for (uint64_t i = 0; i < n; i++) memcpy(dst + i * (size), src + i * stride, size); \
    return;
  switch (bytes) {
    GATHER(2)
    GATHER(4)
    GATHER(16)
    GATHER(32)
    GATHER(64)
    GATHER(128)
  }
#undef GATHER
  for (uint64_t i = 0; i < n; i++) memcpy(dst + i * bytes, src + i * stride, bytes);
}

/* Bytes [from, until) of a plane. The first and the last block may be there in part. */
static void pack_plane(const gpu_plane *p, size_t stride, const uint8_t *src, uint64_t from, uint64_t until,
                       uint8_t *dst) {
  uint64_t block = from / p->bytes, skip = from % p->bytes;
  src += p->offset;
  if (skip) {
    const uint64_t rest = p->bytes - skip, n = rest < until - from ? rest : until - from;
    memcpy(dst, src + block++ * stride + skip, (size_t)n);
    dst += n;
    from += n;
  }
  const uint64_t n = (until - from) / p->bytes, tail = (until - from) % p->bytes;
  gather(dst, src + block * stride, stride, p->bytes, n);
  if (tail) memcpy(dst + n * p->bytes, src + (block + n) * stride, (size_t)tail);
}

static uint64_t clamp(uint64_t x, uint64_t low, uint64_t high) { return x < low ? low : x > high ? high : x; }

void gpu_planes_part(const rlx_type *type, const void *src, uint64_t from, void *dst, size_t bytes) {
  const size_t stride = rlx_dtype_describe(type->dtype)->block_bytes;
  const uint64_t until = from + bytes;
  uint64_t n_blocks = 0;
  uint8_t *to = dst;
  if (!count_blocks(type, &n_blocks)) return;
  for (uint32_t i = 0; i < GPU_MAX_PLANES; i++) {
    const gpu_plane *p = &planes_of[type->dtype][i];
    const uint64_t begin = gpu_plane_start(type->dtype, n_blocks, i), end = begin + n_blocks * p->bytes;
    const uint64_t next = gpu_plane_start(type->dtype, n_blocks, i + 1);
    const uint64_t a = clamp(from, begin, end), b = clamp(until, begin, end);
    if (a < b) pack_plane(p, stride, src, a - begin, b - begin, to + (a - from));
    const uint64_t c = clamp(from, end, next), d = clamp(until, end, next);
    if (c < d) memset(to + (c - from), 0, (size_t)(d - c));
  }
}

/* ---- unpacking ---- */

enum { TASK_BLOCKS = 4096 };

typedef struct unpack_work {
  rlx_dtype dtype;
  const uint8_t *src;
  uint8_t *dst;
  uint64_t n_blocks;
} unpack_work;

/* Copies one task's blocks plane by plane; they are few enough to stay in the cache. */
static void unpack_blocks(void *user, size_t task, unsigned thread) {
  (void)thread;
  const unpack_work *w = user;
  const size_t block_bytes = rlx_dtype_describe(w->dtype)->block_bytes;
  uint64_t begin = (uint64_t)task * TASK_BLOCKS, left = w->n_blocks - begin;
  uint64_t end = begin + (left < TASK_BLOCKS ? left : TASK_BLOCKS);
  for (uint32_t i = 0; i < GPU_MAX_PLANES && planes_of[w->dtype][i].bytes; i++) {
    const gpu_plane *p = &planes_of[w->dtype][i];
    const uint8_t *from = w->src + gpu_plane_start(w->dtype, w->n_blocks, i);
    for (uint64_t b = begin; b < end; b++) memcpy(w->dst + b * block_bytes + p->offset, from + b * p->bytes, p->bytes);
  }
}

rlx_status gpu_planes_repack(const rlx_type *type, bool to_layout, const void *src, void *dst, rlx_pool *pool) {
  unpack_work w = {.dtype = type->dtype, .src = src, .dst = dst};
  if (!count_blocks(type, &w.n_blocks))
    return RLX_FAIL(RLX_INVALID, "%s%s cannot be stored in planes", rlx_dtype_name(type->dtype),
                    RLX_DIMS_TEXT(type->shape));
  if (to_layout) gpu_planes_part(type, src, 0, dst, (size_t)gpu_planes_bytes(type));
  else if (w.n_blocks) rlx_pool_run(pool, (size_t)((w.n_blocks - 1) / TASK_BLOCKS + 1), unpack_blocks, &w);
  return RLX_OK;
}
