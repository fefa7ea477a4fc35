/* u16, u64 and 8-bit floats on devices. Moves copy bytes: the same graph with a type of the same size gives the same
 * bytes. Casts are those of rlx_convert (tests/base/test_float8.c checks them by hand), u16 wraps as in C, equality
 * compares values. What a device does not compute natively runs on the host, with the same results. RLX_TEST_DEVICES
 * names other devices. */
#include <stdlib.h>

#include "ir/element.h"
#include "ir/graph.h"
#include "test.h"

enum { N = 35, MAX = 4096 };

static const rlx_dtype stored[] = {RLX_U16, RLX_U64, RLX_F8E4M3, RLX_F8E5M2};
static const rlx_dtype twins[] = {RLX_I16, RLX_I64, RLX_U8, RLX_U8};
enum { N_STORED = 4 };

static const char *name_of(rlx_dtype t) { return rlx_dtype_describe(t)->name; }

static uint32_t next_bits(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

/* A graph with inputs x and y of N elements and a boolean one c, run on a session. */
static rlx_status run(rlx_session *s, const char *text, rlx_dtype dtype, void *x, void *y, void *c, void *out,
                      size_t *bytes) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT};
  size_t size = rlx_dtype_size(dtype);
  rlx_named_tensor in[] = {{"x", {dtype, RLX_DIMS(5, 7), {x}, N * size}},
                           {"y", {dtype, RLX_DIMS(5, 7), {y}, N * size}},
                           {"c", {RLX_BOOL, RLX_DIMS(5, 7), {c}, N}}};
  rlx_named_tensor z = {"z", {.data = out, .bytes = MAX}};
  rlx_status status = rlx_graph_parse(text, strlen(text), &g);
  if (!status) status = rlx_compile(s, g, &o, &e);
  if (!status) {
    const rlx_type *type = &rlx_graph_at(g, g->outputs.v[0].node)->type;
    status = rlx_tensor_bytes(type->dtype, type->shape, bytes);
    z.tensor.bytes = *bytes;
  }
  if (!status) status = rlx_run(e, in, 3, &z, 1);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  return status;
}

static void make_text(char *text, size_t cap, const char *t, const char *expr) {
  snprintf(text, cap,
           "graph {\n%%1 = input \"x\" : %s[5,7]\n%%2 = input \"y\" : %s[5,7]\n%%3 = input \"c\" : bool[5,7]\n"
           "%%4 = %s\noutput \"z\" = %%4\n}\n",
           t, t, expr);
}

static const char *const usual[] = {"cpu", "cpu:base", "emu"};

static size_t find_devices(const char **out) {
  static char names[256];
  const char *chosen = getenv("RLX_TEST_DEVICES");
  size_t n = 0;
  snprintf(names, sizeof names, "%s", chosen ? chosen : "");
  for (char *at = strtok(names, ","); at && n < 8; at = strtok(NULL, ",")) out[n++] = at;
  for (size_t i = 0; !chosen && i < sizeof usual / sizeof *usual; i++) out[n++] = usual[i];
  return n;
}

/* Calls f on every available device. */
static void on_devices(void (*f)(rlx_session *s, const char *device)) {
  const char *devices[8];
  size_t n = find_devices(devices), n_open = 0;
  for (size_t i = 0; i < n && !test_has_failed(); i++) {
    rlx_session *s = NULL;
    rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = devices[i], .n_threads = 1};
    if (rlx_session_create(&d, &s)) printf("  %s: %s\n", devices[i], rlx_message());
    else f(s, devices[i]), n_open++;
    rlx_session_destroy(s);
  }
  CHECK(n_open > 0);
}

static unsigned char x[8 * N], y[8 * N], c[N], found[MAX], want[MAX];

static void fill(uint32_t seed) {
  for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)next_bits(&seed), y[i] = (unsigned char)next_bits(&seed);
  for (size_t i = 0; i < N; i++) c[i] = next_bits(&seed) & 1;
}

static void check_moves(rlx_session *s, const char *device) {
  static const char *const moves[] = {"transpose(%1)",
                                      "reshape(%1) {shape=[7,5]}",
                                      "slice(%1) {start=[1,2], stop=[4,7]}",
                                      "slice(%1) {axes=[-1], start=[6], stop=[0], step=[-2]}",
                                      "concat(%1, %2) {axis=-1}",
                                      "expand(%1) {shape=[3,5,7]}",
                                      "tile(%1) {reps=[2,3]}",
                                      "pad(%1) {lo=[1,0], hi=[0,2]}",
                                      "reverse(%1) {axes=[0]}",
                                      "roll(%1) {shifts=[2], axes=[1]}",
                                      "where(%3, %1, %2)"};
  char text[512];
  size_t bytes, twin_bytes;
  for (int t = 0; t < N_STORED; t++)
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
      fill((uint32_t)(100 * t + (int)i));
      make_text(text, sizeof text, name_of(stored[t]), moves[i]);
      CHECK_OK(run(s, text, stored[t], x, y, c, found, &bytes));
      make_text(text, sizeof text, name_of(twins[t]), moves[i]);
      CHECK_OK(run(s, text, twins[t], x, y, c, want, &twin_bytes));
      CHECK_EQ_INT(bytes, twin_bytes);
      if (memcmp(found, want, bytes) != 0) FAIL("%s: %s of %s", device, moves[i], name_of(stored[t]));
    }
}
TEST(moving) { on_devices(check_moves); }

static void check_casts(rlx_session *s, const char *device) {
  char text[512], expr[64];
  size_t bytes;
  for (int from = 0; from < RLX_DTYPE_COUNT; from++)
    for (int to = 0; to < RLX_DTYPE_COUNT; to++) {
      rlx_dtype a = (rlx_dtype)from, b = (rlx_dtype)to;
      bool plain = !rlx_dtype_is_block(a) && !rlx_dtype_is_block(b) && a != RLX_C64 && b != RLX_C64 && a != b;
      if (!plain || !(rlx_type_in(RLX_TYPES_MOVED, a) || rlx_type_in(RLX_TYPES_MOVED, b))) continue;
      fill((uint32_t)(64 * from + to));
      for (int i = 0; a == RLX_BOOL && i < N; i++) x[i] &= 1, y[i] &= 1;
      rlx_tensor src = {.dtype = a, .data = x}, dst = {.dtype = b, .data = want};
      for (int i = 0; rlx_dtype_is_float(a) && i < N; i++)
        rlx_store(&src, (size_t)i, ((int)x[i] - 128) * 7.3 * (i % 5));
      for (size_t i = 0; i < N; i++) rlx_convert(&dst, i, &src, i);
      snprintf(expr, sizeof expr, "cast(%%1) {to=%s}", name_of(b));
      make_text(text, sizeof text, name_of(a), expr);
      CHECK_OK(run(s, text, a, x, y, c, found, &bytes));
      CHECK_EQ_INT(bytes, N * rlx_dtype_size(b));
      rlx_tensor got = {.dtype = b, .data = found};
      for (size_t i = 0; i < N; i++) {
        bool same = memcmp(found + i * rlx_dtype_size(b), want + i * rlx_dtype_size(b), rlx_dtype_size(b)) == 0;
        double v = rlx_load(&got, i), w = rlx_load(&dst, i);
        if (!same && !(v != v && w != w))
          FAIL("%s: %s to %s: element %zu is %g, not %g", device, name_of(a), name_of(b), i, v, w);
      }
    }
}
TEST(casts) { on_devices(check_casts); }

static uint16_t wrap(const char *op, unsigned a, unsigned b) {
  if (strncmp(op, "add", 3) == 0) return (uint16_t)(a + b);
  if (strncmp(op, "sub", 3) == 0) return (uint16_t)(a - b);
  if (strncmp(op, "mul", 3) == 0) return (uint16_t)(a * b);
  if (strncmp(op, "div", 3) == 0) return (uint16_t)(b ? a / b : 0);
  if (strncmp(op, "mod", 3) == 0) return (uint16_t)(b ? a % b : 0);
  if (strncmp(op, "max", 3) == 0) return (uint16_t)(a > b ? a : b);
  if (strncmp(op, "min", 3) == 0) return (uint16_t)(a < b ? a : b);
  return (uint16_t)(a ^ b);
}

static void check_arithmetic(rlx_session *s, const char *device) {
  static const char *const ops[] = {"add(%1, %2)", "sub(%1, %2)", "mul(%1, %2)", "div(%1, %2)",
                                    "mod(%1, %2)", "max(%1, %2)", "min(%1, %2)", "bit_xor(%1, %2)"};
  char text[512];
  size_t bytes;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    fill((uint32_t)i);
    make_text(text, sizeof text, "u16", ops[i]);
    CHECK_OK(run(s, text, RLX_U16, x, y, c, found, &bytes));
    for (size_t k = 0; k < N; k++) {
      unsigned a = ((uint16_t *)(void *)x)[k], b = ((uint16_t *)(void *)y)[k], z = ((uint16_t *)(void *)found)[k];
      if (z != wrap(ops[i], a, b)) FAIL("%s: %s: %u and %u gave %u", device, ops[i], a, b, z);
    }
  }
}
TEST(u16_wraps) { on_devices(check_arithmetic); }

static void check_equality(rlx_session *s, const char *device) {
  char text[512];
  size_t bytes;
  for (int t = 0; t < N_STORED; t++)
    for (int negated = 0; negated < 2; negated++) {
      fill((uint32_t)t);
      size_t size = rlx_dtype_size(stored[t]);
      for (size_t k = 0; k < N; k += 2) memcpy(y + k * size, x + k * size, size);
      if (size == 1) x[0] = 0, y[0] = 0x80, x[2] = y[2] = 0x7f; /* zeros of both signs are equal, and no NaN is */
      make_text(text, sizeof text, name_of(stored[t]), negated ? "ne(%1, %2)" : "eq(%1, %2)");
      CHECK_OK(run(s, text, stored[t], x, y, c, found, &bytes));
      for (size_t k = 0; k < N; k++) {
        rlx_tensor a = {.dtype = stored[t], .data = x}, b = {.dtype = stored[t], .data = y};
        bool equal = size == 1 ? rlx_load(&a, k) == rlx_load(&b, k) : memcmp(x + k * size, y + k * size, size) == 0;
        if (found[k] != (equal != (negated != 0))) FAIL("%s: element %zu of %s", device, k, name_of(stored[t]));
      }
    }
}
TEST(equality) { on_devices(check_equality); }
