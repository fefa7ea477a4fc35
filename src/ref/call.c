/* Shared by the reference kernels: counted loops, scratch memory, decoded weights. */
#include "base/budget.h"
#include "quant/quant.h"
#include "ref/ref.h"

/* After a stop, visits stays at the limit, so that every loop calls this again and ends. */
bool rlx_ref_tick(rlx_ref_call *c) {
  if (!c->stopped) c->stopped = rlx_budget_count_work(c->visits);
  c->visits = c->stopped ? RLX_REF_TICK : 0;
  return !c->stopped;
}

void rlx_ref_copy(rlx_ref_call *c, void *to, const void *from, size_t bytes) {
  enum { CHUNK = 1 << 18, BYTES_PER_VISIT = 64 };
  for (size_t at = 0, n; at < bytes && rlx_ref_continues(c, 1); at += n) {
    n = bytes - at < CHUNK ? bytes - at : CHUNK;
    c->visits += n / BYTES_PER_VISIT;
    memcpy((char *)to + at, (const char *)from + at, n);
  }
}

rlx_status rlx_ref_decode(rlx_ref_call *c, rlx_dtype dtype, const void *blocks, float *out, size_t n) {
  const rlx_dtype_info *block = rlx_dtype_describe(dtype);
  size_t chunk = 64 * block->block_elements;
  for (size_t at = 0, count; at < n && rlx_ref_continues(c, chunk); at += count) {
    count = n - at < chunk ? n - at : chunk;
    const char *from = (const char *)blocks + at / block->block_elements * block->block_bytes;
    RLX_TRY(rlx_quant_decode(dtype, from, out + at, count));
  }
  return RLX_OK;
}

rlx_status rlx_ref_scratch(rlx_ref_call *c, size_t n, size_t size, void *out_pointer) {
  void *p = rlx_bump_alloc(c->scratch, n ? n : 1, size);
  memcpy(out_pointer, &p, sizeof p);
  return p ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu elements of scratch", n);
}

rlx_status rlx_ref_as_f32(rlx_ref_call *c, const rlx_tensor *t, const float **out) {
  *out = t->data;
  if (t->dtype == RLX_F32) return RLX_OK;
  size_t n = rlx_tensor_count(t);
  float *values;
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *values, &values));
  *out = values;
  if (rlx_dtype_is_block(t->dtype)) return rlx_ref_decode(c, t->dtype, t->data, values, n);
  RLX_REF_EACH(c, i, n) values[i] = (float)rlx_load(t, i);
  return RLX_OK;
}
