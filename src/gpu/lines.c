/* Splits lines over lanes and workgroups: see lines.h. */
#include "gpu/lines.h"

gpu_lines gpu_lines_of(const rlx_dims *shape, int64_t axis) {
  rlx_lines l = rlx_lines_of(shape, axis);
  return (gpu_lines){(uint32_t)(l.outer * l.inner), (uint32_t)l.n, (uint32_t)l.inner};
}

uint32_t gpu_power_of_two(uint32_t n) {
  uint32_t p = 1;
  while (p < n) p *= 2;
  return p;
}

uint32_t gpu_group_of(const gpu_caps *caps, uint32_t max) {
  while (max > caps->max_group) max /= 2;
  return max;
}

static uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }

bool gpu_lines_are_vectors(gpu_lines l, rlx_dtype t) {
  return l.inner == 1 && l.n % (16 / (uint32_t)rlx_dtype_size(t)) == 0;
}

/* ---- split of lines over workgroups ---- */

enum {
  ROW_LANES = 32, /* a row gets one lane per item up to this; then `wanted` items per lane; then more lanes */
};

/* For rows of n items. A lane holds at most `holds` items and preferably `wanted`. */
static gpu_line_cut cut_rows(const gpu_caps *caps, uint32_t rows, uint32_t n, uint32_t wanted, uint32_t holds,
                             bool is_long) {
  gpu_line_cut c = {.unit = 1};
  uint32_t largest = gpu_group_of(caps, 1024);
  c.lanes = n <= ROW_LANES * wanted ? min(gpu_power_of_two(n), ROW_LANES) : gpu_power_of_two(gpu_ceil_div(n, wanted));
  c.lanes = min(c.lanes, largest);
  bool cut = n > c.lanes * holds || (is_long && rows <= caps->units / 2);
  if (cut) c.lanes = gpu_group_of(caps, 256);
  c.per = cut ? wanted : gpu_ceil_div(n, c.lanes);
  c.chunk = c.lanes * c.per;
  c.chunks = gpu_ceil_div(n, c.chunk);
  c.group = max(c.lanes, gpu_group_of(caps, 128));
  return c;
}

gpu_line_cut gpu_cut_vectors(const gpu_caps *caps, gpu_lines l, rlx_dtype t) {
  uint32_t each = 16 / (uint32_t)rlx_dtype_size(t);
  /* A lane takes four vectors, or fewer if there are too few rows to fill the device. */
  uint32_t wanted = 4, n = l.n / each;
  while (wanted > 1 && n / wanted < 512 && (uint64_t)l.lines * n / wanted < (uint64_t)caps->units * ROW_LANES)
    wanted /= 2;
  gpu_line_cut c = cut_rows(caps, l.lines, n, wanted, GPU_LANE_HOLDS / each, l.n >= gpu_tuned(caps)->line_long_row);
  c.groups = (uint32_t)(((uint64_t)l.lines * c.chunks + c.group / c.lanes - 1) / (c.group / c.lanes));
  return c;
}

/* For lines that are interleaved in memory: neighbouring invocations take neighbouring lines, so reads coalesce. */
static gpu_line_cut cut_across(const gpu_caps *caps, gpu_lines l) {
  gpu_line_cut c = {.unit = 1, .is_across = 1, .group = gpu_group_of(caps, 256)};
  uint32_t beside = min(gpu_power_of_two(l.inner), 32);
  c.lanes = min(gpu_power_of_two(gpu_ceil_div(l.n, 16)), c.group / beside);
  c.per = min(gpu_power_of_two(gpu_ceil_div(l.n, c.lanes)), GPU_LANE_HOLDS);
  c.chunk = c.lanes * c.per;
  c.chunks = gpu_ceil_div(l.n, c.chunk);
  return c;
}

gpu_line_cut gpu_cut_elements(const gpu_caps *caps, gpu_lines l, rlx_dtype t) {
  bool pairs = l.inner == 1 && gpu_elements_per_word(t) == 2 && l.n % 2 == 0;
  uint32_t unit = pairs ? 2 : 1;
  gpu_line_cut c = l.inner == 1 ? cut_rows(caps, l.lines, l.n / unit, 16 / unit, GPU_LANE_HOLDS / unit,
                                           l.n >= gpu_tuned(caps)->line_long_row)
                                : cut_across(caps, l);
  c.unit = unit;
  if (l.inner == 1) c.per *= unit, c.chunk *= unit;
  c.groups = gpu_ceil_div(l.lines, c.group / c.lanes) * c.chunks;
  return c;
}

/* ---- narrow results ---- */

gpu_window gpu_line_result(gpu_lowering *l, const gpu_line_cut *cut, rlx_dtype t, uint32_t count, rlx_dtype *type) {
  bool packed = gpu_elements_per_word(t) == cut->unit;
  *type = packed ? t : RLX_F32;
  return packed ? gpu_out(l) : gpu_work(l, (uint64_t)count * 4);
}

void gpu_line_finish(gpu_lowering *l, gpu_window written, rlx_dtype type, rlx_dtype t, uint32_t count) {
  if (type != t) gpu_convert(l, written, type, gpu_out(l), t, count);
}
