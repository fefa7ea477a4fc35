/* conv_coop*.matrix.k and conv_wide*.hopper.k on the host (k_coop.h, k_hopper.h) against sums in double: random shapes,
 * strides, padding, dilations, tiles, and splits of k.
 *
 *   conv NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled once for each kernel: KERNEL_FILE, COOP_BF16 for those of bf16, COOP_HOPPER for conv_wide*. */
#include "cases.h"
/* */
#include KERNEL_FILE

#ifdef COOP_BF16
static const u32 T_OWN = T_BF16;
#else
static const u32 T_OWN = T_F16;
#endif

/* n rows of `channels` elements, padded with zeros to 8 cv, and their values. */
static std::vector<u32> draw_rows(u32 n, u32 channels, std::vector<double> &values) {
  std::vector<u32> words((size_t)n * p.cv * 4);
  values.assign((size_t)n * channels, 0);
  for (u32 r = 0; r < n; r++)
    for (u32 c = 0; c < channels; c++) {
      const size_t at = (size_t)r * p.cv * 8 + c;
      words[at / 2] |= (u32)float16_t((f32)(next() >> 8) / 8388608.0f - 1.0f).bits << 16 * (at % 2);
      values[(size_t)r * channels + c] = (f32)element_of(words[at / 2], at % 2);
    }
  return words;
}

struct a_case {
  u32 images, in_channels, parts;
  u32 in[3], kernel[3], stride[3], dilation[3], pad[3], out[3];
  std::vector<double> xs, ws, biases; /* [image, position, channel], [channel, tap, channel], [channel] */
};

#ifdef COOP_HOPPER
enum { STEP = 8 }; /* vectors of k */
static void run(u32 number) {
  hopper_begin(STAGES * STAGE + 1024);
  run_group(number, 384);
  hopper_end();
}
static void draw_tile() {
  products_late = draw(0, 1);
  ACROSS = draw(1, 2);
}
#else
enum { STEP = 4 };
static void run(u32 number) { run_group(number, 32 * SX * SY); }
static void draw_tile() {
  element_layout = draw(0, 3);
  SX = 2, SY = draw(0, 1) ? 4 : 2;
  STAGES = draw(1, 2);
  SIZE_A = 5 * STAGES * BM;
  SIZE_TILE = 5 * STAGES * (BM + BN);
  if (SIZE_TILE < 144 * SX * SY) SIZE_TILE = 144 * SX * SY;
}
#endif

/* As gpu_divider_of: n / d is the upper half of 2 n m, shifted. */
static void set_divider(u32 d, u32 &to, u32 &m, u32 &s) {
  u32 shift = 0;
  while ((1u << shift) < d) shift++;
  to = d, s = shift;
  m = (u32)((((uint64_t)1 << (31 + shift)) + d - 1) / d);
}

static a_case draw_case() {
  a_case c = {};
  draw_tile();
  p = {};
  c.images = draw(1, 2), c.in_channels = draw(0, 1) ? 8 * draw(1, 4) : draw(3, 40);
  p.taps = 1;
  for (int a = 0; a < 3; a++) {
    const bool is_flat = a == 0 && draw(0, 3);
    c.kernel[a] = is_flat ? 1 : draw(1, a == 0 ? 2 : 3), c.stride[a] = draw(1, 2), c.dilation[a] = draw(1, 2);
    c.pad[a] = is_flat ? 0 : draw(0, c.kernel[a] - 1);
    const u32 reach = (c.kernel[a] - 1) * c.dilation[a] + 1;
    c.in[a] = is_flat ? 1 : draw(reach, a == 0 ? 3 : 10);
    c.out[a] = (c.in[a] + 2 * c.pad[a] - reach) / c.stride[a] + 1;
    p.taps *= c.kernel[a];
  }
  p.in_z = c.in[0], p.in_y = c.in[1], p.in_x = c.in[2];
  set_divider(c.out[0] * c.out[1] * c.out[2], p.plane, p.plane_m, p.plane_s);
  set_divider(c.out[1] * c.out[2], p.slice, p.slice_m, p.slice_s);
  set_divider(c.out[2], p.row, p.row_m, p.row_s);
  p.places = c.images * p.plane;
  p.channels = draw(0, 1) ? draw(1, 70) : draw(65, 140);
  p.cv = (c.in_channels + 7) / 8, p.kv = p.cv * p.taps;
  const u32 steps = (p.kv + STEP - 1) / STEP;
  c.parts = draw(0, 2) ? 1 : draw(1, 3);
  p.kv_part = (steps + c.parts - 1) / c.parts * STEP;
  c.parts = (p.kv + p.kv_part - 1) / p.kv_part; /* no empty part */
  p.y_part = p.places * p.channels;
  p.tiles_o = (p.channels + BM - 1) / BM, p.tiles_p = (p.places + BN - 1) / BN;
  p.groups = c.parts * p.tiles_p * p.tiles_o;
  T = T_OWN;
  FINAL = c.parts == 1 && p.plane % 2 == 0;
  HAS_BIAS = FINAL && draw(0, 1);
  x.words = draw_rows(c.images * c.in[0] * c.in[1] * c.in[2], c.in_channels, c.xs);
  w.words = draw_rows(p.channels * p.taps, c.in_channels, c.ws);
  bias.words.assign((p.channels + 1) / 2, 0);
  for (u32 i = 0; i < p.channels; i++) {
    bias.words[i / 2] |= (u32)float16_t((f32)draw(0, 100) / 16).bits << 16 * (i % 2);
    c.biases.push_back((f32)element_of(bias.words[i / 2], i % 2));
  }
  t.words = {c.stride[0], c.stride[1], c.stride[2], 0, c.pad[0], c.pad[1], c.pad[2], 0};
  for (u32 k = 0; k < p.taps; k++) {
    const u32 d[3] = {k / (c.kernel[1] * c.kernel[2]) * c.dilation[0], k / c.kernel[2] % c.kernel[1] * c.dilation[1],
                      k % c.kernel[2] * c.dilation[2]};
    const u32 at = ((d[0] * p.in_y + d[1]) * p.in_x + d[2]) * p.cv;
    for (u32 word : {d[0], d[1], d[2], at}) t.words.push_back(word);
  }
  y.words.assign(FINAL ? p.y_part / 2 : (size_t)c.parts * p.y_part, 0x7fc0deadu);
  return c;
}

static double element(const a_case &c, u32 image, u32 channel, const u32 at[3], double *size) {
  double sum = HAS_BIAS ? c.biases[channel] : 0;
  *size = 1;
  for (u32 k = 0; k < p.taps; k++) {
    const u32 tap[3] = {k / (c.kernel[1] * c.kernel[2]), k / c.kernel[2] % c.kernel[1], k % c.kernel[2]};
    u32 from = image;
    bool is_inside = true;
    for (int a = 0; a < 3; a++) {
      const int64_t i = (int64_t)at[a] * c.stride[a] + (int64_t)tap[a] * c.dilation[a] - c.pad[a];
      is_inside = is_inside && i >= 0 && i < c.in[a];
      from = from * c.in[a] + (u32)(is_inside ? i : 0);
    }
    for (u32 i = 0; is_inside && i < c.in_channels; i++) {
      const double v =
        c.xs[(size_t)from * c.in_channels + i] * c.ws[((size_t)channel * p.taps + k) * c.in_channels + i];
      sum += v, *size += fabs(v);
    }
  }
  return sum;
}

static bool check(const a_case &c) {
  for (u32 image = 0; image < c.images; image++)
    for (u32 channel = 0; channel < p.channels; channel++)
      for (u32 i = 0; i < p.plane; i++) {
        const u32 at[3] = {i / p.slice, i % p.slice / p.row, i % p.row};
        const size_t to = ((size_t)image * p.channels + channel) * p.plane + i;
        double size, want = element(c, image, channel, at, &size), found = 0;
        if (FINAL) found = (f32)element_of(y.words[to / 2], to % 2);
        for (u32 part = 0; part < c.parts && !FINAL; part++) found += AS_F32(y.words[part * p.y_part + to]);
        const double narrow = !FINAL ? 0 : T == T_BF16 ? 8e-3 : 1e-3;
        if (fabs(found - want) <= 1e-6 * size + narrow * fabs(want)) continue;
        printf("image %u, channel %u, position %u is %.9g but must be %.9g\n", image, channel, i, found, want);
        return false;
      }
  return true;
}

static bool pass_case() {
  a_case c = draw_case();
  for (u32 g = 0; g < p.groups; g++) run(g);
  if (check(c)) return true;
  printf("elements lie by %u, tile %u x %u, %u images of %u x %u x %u, %u to %u channels, %u taps, "
         "final %u, bias %u, %u parts\n",
         element_layout, BM, BN, c.images, c.in[0], c.in[1], c.in[2], c.in_channels, p.channels, p.taps, FINAL,
         HAS_BIAS, c.parts);
  return false;
}
