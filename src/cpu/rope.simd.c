/* Inner loops of rotary position embeddings. */
#include "cpu/rope.h"

#include "cpu/math.h"

static void cosines(const float *angle, float *cosine, float *sine, size_t n) {
  for (size_t i = 0; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf a = vf_load_n(angle + i, left);
    vf_store_n(cosine + i, vf_cos(a), left);
    vf_store_n(sine + i, vf_sin(a), left);
  }
}

static void neox(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs) {
  for (size_t i = 0; i < pairs; i += VF_LANES) {
    size_t n = pairs - i < VF_LANES ? pairs - i : VF_LANES;
    vf a = vf_load_as_n(type, x, i, n), b = vf_load_as_n(type, x, pairs + i, n);
    vf c = vf_load_n(cosine + i, n), s = vf_load_n(sine + i, n);
    vf_store_as_n(type, y, i, vf_sub(vf_mul(a, c), vf_mul(b, s)), n);
    vf_store_as_n(type, y, pairs + i, vf_add(vf_mul(a, s), vf_mul(b, c)), n);
  }
}

/* Adjacent pairs; a small part of the time, so scalar code is enough. */
static void gptj(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs) {
  for (size_t i = 0; i < pairs; i++) {
    float a = vf_get_as(type, x, 2 * i), b = vf_get_as(type, x, 2 * i + 1);
    vf_put_as(type, y, 2 * i, a * cosine[i] - b * sine[i]);
    vf_put_as(type, y, 2 * i + 1, a * sine[i] + b * cosine[i]);
  }
}

const cpu_rope_table CPU_TABLE(cpu_rope) = {.cosines = cosines, .neox = neox, .gptj = gptj};
