/* Inner loops of rotary positions. */
#include "cpu/rope.h"

#include "base/half.h"
#include "cpu/math.h"

static void turns(const float *angle, float *cosine, float *sine, size_t n) {
  for (size_t i = 0; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf a = vf_load_n(angle + i, left);
    vf_store_n(cosine + i, vf_cos(a), left);
    vf_store_n(sine + i, vf_sin(a), left);
  }
}

CPU_INLINE vf load_as(rlx_dtype type, const void *p, size_t i, size_t n) {
  if (type == RLX_F32) return vf_load_n((const float *)p + i, n);
  const uint16_t *half = (const uint16_t *)p + i;
  return type == RLX_F16 ? vf_load_f16_n(half, n) : vf_load_bf16_n(half, n);
}

CPU_INLINE void store_as(rlx_dtype type, void *p, size_t i, vf v, size_t n) {
  if (type == RLX_F32) vf_store_n((float *)p + i, v, n);
  else if (type == RLX_F16) vf_store_f16_n((uint16_t *)p + i, v, n);
  else vf_store_bf16_n((uint16_t *)p + i, v, n);
}

static void neox(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs) {
  for (size_t i = 0; i < pairs; i += VF_LANES) {
    size_t n = pairs - i < VF_LANES ? pairs - i : VF_LANES;
    vf a = load_as(type, x, i, n), b = load_as(type, x, pairs + i, n);
    vf c = vf_load_n(cosine + i, n), s = vf_load_n(sine + i, n);
    store_as(type, y, i, vf_sub(vf_mul(a, c), vf_mul(b, s)), n);
    store_as(type, y, pairs + i, vf_add(vf_mul(a, s), vf_mul(b, c)), n);
  }
}

/* Neighbours: few enough that scalars do. */
static float get(rlx_dtype type, const void *p, size_t i) {
  if (type == RLX_F32) return ((const float *)p)[i];
  uint16_t half = ((const uint16_t *)p)[i];
  return type == RLX_F16 ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half);
}

static void put(rlx_dtype type, void *p, size_t i, float v) {
  if (type == RLX_F32) ((float *)p)[i] = v;
  else ((uint16_t *)p)[i] = type == RLX_F16 ? rlx_f32_to_f16(v) : rlx_f32_to_bf16(v);
}

static void gptj(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs) {
  for (size_t i = 0; i < pairs; i++) {
    float a = get(type, x, 2 * i), b = get(type, x, 2 * i + 1);
    put(type, y, 2 * i, a * cosine[i] - b * sine[i]);
    put(type, y, 2 * i + 1, a * sine[i] + b * cosine[i]);
  }
}

const cpu_rope_table CPU_TABLE(cpu_rope) = {.turns = turns, .neox = neox, .gptj = gptj};
