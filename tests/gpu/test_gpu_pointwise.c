/* GPU element-wise programs against the reference: every op and type with random broadcast shapes around the edges of
 * words, vectors, chunks and groups; all casts; quantisation; regions with random bodies; regions too large for one
 * program; and functions far from zero, where the drivers' own would fail. */
#include "gpu_check.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const floats[] = {"f32", "f32", "f16", "bf16"};
static const char *const integers[] = {"i8", "u8", "i16", "i32", "u32", "i64"};
static const char *const plain[] = {"f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64", "bool"};

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static const char *whole_range(const char *type) {
  return is(type, "i8")    ? "range(-128,128)"
         : is(type, "u8")  ? "range(0,256)"
         : is(type, "i16") ? "range(-32768,32768)"
         : is(type, "i32") ? "range(-2147483648,2147483647)"
         : is(type, "u32") ? "range(0,4294967295)"
         : is(type, "i64") ? "range(-9e18,9e18)"
                           : "";
}

/* ---- shapes ---- */

/* A result's shape, and inputs that broadcast to it: any axis of an input may be 1 or missing. */
typedef struct shapes {
  char of[4][64];
} shapes;

static void write_sizes(char (*to)[64], const int *size, int n) {
  size_t at = 0;
  at += (size_t)snprintf(*to, sizeof *to, "[");
  for (int i = 0; i < n; i++) at += (size_t)snprintf(*to + at, sizeof *to - at, "%s%d", i ? "," : "", size[i]);
  snprintf(*to + at, sizeof *to - at, "]");
}

static shapes any_shapes(uint64_t *seed, int n_inputs) {
  shapes s;
  int rank = gpu_check_int(seed, 0, 5), size[5], own[5];
  for (int i = 0; i < rank; i++) size[i] = gpu_check_int(seed, 1, rank > 3 ? 6 : 16);
  if (rank && gpu_check_int(seed, 0, 1)) size[rank - 1] = 4 * gpu_check_int(seed, 1, 40); /* rows of vectors */
  for (int k = 0; k < n_inputs; k++) {
    int cut = k == 0 || gpu_check_int(seed, 0, 2) ? 0 : gpu_check_int(seed, 0, rank);
    for (int i = 0; i < rank; i++) own[i] = k > 0 && gpu_check_int(seed, 0, 3) == 0 ? 1 : size[i];
    write_sizes(&s.of[k], own + cut, rank - cut);
  }
  return s;
}

/* The length of one flat input: from one element past a group to a length that is split into two dispatches. */
static int any_length(uint64_t *seed) {
  static const int max[] = {3, 20, 300, 2000, 5000};
  return gpu_check_int(seed, 1, max[gpu_check_int(seed, 0, 4)]);
}

/* ---- one op ---- */

static const struct {
  const char *op, *range;
} unary[] = {
  {"gelu", "range(-8,8)"},        {"gelu_approx", "range(-8,8)"},
  {"silu", "range(-90,90)"},      {"relu", "range(-3,3)"},
  {"sigmoid", "range(-90,90)"},   {"tanh", "range(-12,12)"},
  {"exp", "range(-80,80)"},       {"log", "range(0.00001,100000)"},
  {"sqrt", "range(0,1e30)"},      {"rsqrt", "range(1e-30,1)"},
  {"neg", "range(-3,3)"},         {"abs", "range(-3,3)"},
  {"sin", "range(-100,100)"},     {"cos", "range(-100,100)"},
  {"tan", "range(-1.5,1.5)"},     {"atan", "range(-100,100)"},
  {"round", "range(-1000,1000)"}, {"floor", "range(-1000,1000)"},
  {"ceil", "range(-1000,1000)"},  {"sign", "range(-1,1)"},
  {"erf", "range(-5,5)"},         {"reciprocal", "range(0.001,1000)"},
  {"softplus", "range(-90,90)"},  {"elu", "range(-30,30)"},
  {"leaky_relu", "range(-3,3)"},  {"hard_sigmoid", "range(-5,5)"},
  {"hard_swish", "range(-5,5)"},  {"mish", "range(-40,40)"},
  {"selu", "range(-30,30)"},
};

TEST(unary_floats) {
  for (size_t i = 0; i < COUNT(unary); i++)
    for (int run = 0; run < 2; run++) {
      uint64_t seed = i + 100 * (size_t)run;
      char inputs[128], expr[64];
      const char *type = run ? gpu_check_pick(&seed, floats, COUNT(floats)) : "f32";
      bool halves = !is(type, "f32"); /* f16 ends at 65504 */
      snprintf(inputs, sizeof inputs, "x: %s[%d] %s", type, any_length(&seed),
               halves ? "range(0.01,9)" : unary[i].range);
      snprintf(expr, sizeof expr, "%s(%%x)", unary[i].op);
      CHECK(gpu_check_text(rlx_op_table_from_name(unary[i].op, strlen(unary[i].op)), inputs, expr));
    }
}

TEST(special_values_of_f16) {
  for (size_t i = 0; i < COUNT(unary); i++) {
    char expr[64];
    if (is(unary[i].op, "sin") || is(unary[i].op, "cos") || is(unary[i].op, "tan")) continue;
    snprintf(expr, sizeof expr, "%s(%%x)", unary[i].op);
    CHECK(gpu_check_text(rlx_op_table_from_name(unary[i].op, strlen(unary[i].op)),
                         i % 2 ? "x: f16[50] special" : "x: bf16[50] special", expr));
  }
}

static void any_integer_unary(uint64_t *seed, gpu_check_line *l) {
  const char *type = gpu_check_pick(seed, integers, COUNT(integers));
  gpu_check_print(&l->inputs, "x: %s[%d] %s", type, any_length(seed), whole_range(type));
  gpu_check_print(&l->expr, "%s(%%x)", GPU_CHECK_PICK(seed, "neg", "abs", "sign", "clamp"));
}
TEST(unary_integers) { CHECK(gpu_check_random_bits(RLX_OP_neg, 20, any_integer_unary)); }

static void any_float_binary(uint64_t *seed, gpu_check_line *l) {
  const char *op =
    GPU_CHECK_PICK(seed, "add", "sub", "mul", "div", "max", "min", "pow", "mod", "atan2", "lt", "ne", "ge");
  const char *type = gpu_check_pick(seed, floats, COUNT(floats));
  const char *a = is(op, "pow") ? "range(0.1,3)" : "range(-9,9)",
             *b = is(op, "mod") || is(op, "div") ? "range(0.3,3)" : "";
  shapes s = any_shapes(seed, 2);
  int swap = is(op, "add") && gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs, "a: %s%s %s; b: %s%s %s", type, s.of[swap], a, type, s.of[!swap], b);
  gpu_check_print(&l->expr, "%s(%%a, %%b)", op);
}
TEST(binary_floats) { CHECK(gpu_check_random(RLX_OP_add, 40, any_float_binary)); }

static void any_integer_binary(uint64_t *seed, gpu_check_line *l) {
  const char *op = GPU_CHECK_PICK(seed, "add", "sub", "mul", "div", "max", "min", "pow", "mod", "bit_and", "bit_or",
                                  "bit_xor", "shl", "shr", "eq", "lt", "le", "gt");
  const char *type = gpu_check_pick(seed, integers, COUNT(integers));
  bool small = is(op, "shl") || is(op, "shr") || is(op, "pow") || gpu_check_int(seed, 0, 1);
  const char *few = type[0] == 'u' ? "range(0,40)" : "range(-3,40)";
  shapes s = any_shapes(seed, 2);
  gpu_check_print(&l->inputs, "a: %s%s %s; b: %s%s %s", type, s.of[0], whole_range(type), type, s.of[1],
                  small ? few : whole_range(type));
  gpu_check_print(&l->expr, "%s(%%a, %%b)", op);
}
TEST(binary_integers) { CHECK(gpu_check_random_bits(RLX_OP_add, 50, any_integer_binary)); }

static void any_choice(uint64_t *seed, gpu_check_line *l) {
  const char *type = gpu_check_pick(seed, plain, COUNT(plain));
  shapes s = any_shapes(seed, 3);
  int first = gpu_check_int(seed, 0, 2);
  gpu_check_print(&l->inputs, "c: bool%s; t: %s%s; f: %s%s", s.of[first], type, s.of[(first + 1) % 3], type,
                  s.of[(first + 2) % 3]);
  gpu_check_print(&l->expr, "where(%%c, %%t, %%f)");
}
TEST(where) { CHECK(gpu_check_random_bits(RLX_OP_where, 25, any_choice)); }

static void any_fma(uint64_t *seed, gpu_check_line *l) {
  const char *type = gpu_check_pick(seed, floats, COUNT(floats));
  shapes s = any_shapes(seed, 3);
  gpu_check_print(&l->inputs, "a: %s%s; b: %s%s; c: %s%s", type, s.of[0], type, s.of[1], type, s.of[2]);
  gpu_check_print(&l->expr, "fma(%%a, %%b, %%c)");
}
TEST(fma) { CHECK(gpu_check_random(RLX_OP_fma, 10, any_fma)); }

/* ---- casts and quantisation ---- */

TEST(casts) {
  for (size_t i = 0; i < COUNT(plain); i++)
    for (size_t k = 0; k < COUNT(plain); k++) {
      uint64_t seed = 31 * i + k;
      char inputs[128], expr[64];
      const char *range = whole_range(plain[i]);
      if (plain[i][0] == 'f' || plain[i][0] == 'b') range = is(plain[i], "bool") ? "" : "range(-70000,70000)";
      if (plain[k][0] == 'i' || plain[k][0] == 'u') range = *range && seed % 3 ? "range(-300,300)" : range;
      if (plain[i][0] == 'u') range = whole_range(plain[i]);
      snprintf(inputs, sizeof inputs, "x: %s[%d] %s", plain[i], any_length(&seed), range);
      snprintf(expr, sizeof expr, "cast(%%x) {to=%s}", plain[k]);
      bool exact = plain[k][0] == 'i' || plain[k][0] == 'u' || is(plain[k], "bool");
      CHECK(exact ? gpu_check_bits(RLX_OP_cast, inputs, expr) : gpu_check_text(RLX_OP_cast, inputs, expr));
    }
}

static void any_codes(uint64_t *seed, gpu_check_line *l) {
  const char *type = GPU_CHECK_PICK(seed, "i8", "u8", "i16", "i32");
  int size[3] = {gpu_check_int(seed, 1, 5), gpu_check_int(seed, 1, 9), 4 * gpu_check_int(seed, 1, 9)};
  int axis = gpu_check_int(seed, 0, 2);
  bool back = gpu_check_int(seed, 0, 1), zero = gpu_check_int(seed, 0, 1), scalar = gpu_check_int(seed, 0, 1);
  char channels[16] = "";
  if (!scalar) snprintf(channels, sizeof channels, "%d", size[axis]);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d] %s; s: f32[%s] range(0.001,0.1); z: %s[%s]", back ? type : "f32",
                  size[0], size[1], size[2], back ? whole_range(type) : "range(-3,3)", channels, type, channels);
  if (back) gpu_check_print(&l->expr, "dequantize(%%x, %%s%s) {axis=%d}", zero ? ", %z" : "", axis);
  else gpu_check_print(&l->expr, "quantize(%%x, %%s%s) {to=%s, axis=%d}", zero ? ", %z" : "", type, axis);
}
TEST(codes) { CHECK(gpu_check_random(RLX_OP_quantize, 25, any_codes)); }

/* Quotients near ties, where a division that is off by one ulp shows. */
TEST(quantize_near_halves) {
  CHECK(gpu_check_bits(RLX_OP_quantize, "x: f32[4099] range(-12.7,12.7); s: f32[] values(0.1)", "quantize(%x, %s)"));
  CHECK(
    gpu_check_bits(RLX_OP_quantize, "x: f16[4099] range(-3,3); s: f16[] values(0.013)", "quantize(%x, %s) {to=i16}"));
}

/* ---- sizes and broadcasts that choose each kernel ---- */

TEST(long_runs) {
  CHECK(gpu_check_text(RLX_OP_add, "a: f32[70001]; b: f32[70001]", "add(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_mul, "a: f16[40007]; b: f16[]", "mul(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_silu, "a: bf16[33333]", "silu(%a)"));
  CHECK(gpu_check_bits(RLX_OP_lt, "a: f32[65539]; b: f32[65539]", "lt(%a, %b)"));
  CHECK(gpu_check_bits(RLX_OP_cast, "a: u8[100003] range(0,256)", "cast(%a) {to=i8}"));
  CHECK(gpu_check_text(RLX_OP_cast, "a: i8[65540] range(-128,128)", "cast(%a) {to=f32}"));
}

TEST(rows_and_columns) {
  CHECK(gpu_check_text(RLX_OP_add, "a: f32[37,256]; b: f32[256]", "add(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_mul, "a: f16[33,264]; b: f16[33,1]", "mul(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_sub, "a: bf16[5,1,64]; b: bf16[7,64]", "sub(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_add, "a: f32[3,8,20]; b: f32[8,1]", "add(%a, %b)"));
  CHECK(gpu_check_bits(RLX_OP_where, "c: bool[9,1,64]; t: f32[64]; f: f32[9,5,1]", "where(%c, %t, %f)"));
  CHECK(gpu_check_bits(RLX_OP_bit_xor, "a: u8[6,48]; b: u8[48]", "bit_xor(%a, %b)"));
}

/* Angles beyond the reduction by parts of pi: reduced by integers. */
TEST(far_angles) {
  CHECK(gpu_check_text(RLX_OP_sin, "x: f32[1000] range(-1e5,1e5)", "sin(%x)"));
  CHECK(gpu_check_text(RLX_OP_cos, "x: f32[1000] range(-1e9,1e9)", "cos(%x)"));
  CHECK(gpu_check_text(RLX_OP_sin, "x: f32[1000] range(-3e38,3e38)", "sin(%x)"));
  CHECK(gpu_check_text(RLX_OP_cos, "x: f32[1000] range(-8200,8200)", "cos(%x)"));
}

/* Powers whose logarithm must be more accurate than f32. */
TEST(far_powers) {
  CHECK(gpu_check_text(RLX_OP_pow, "a: f32[1000] range(0.9,1.1); b: f32[1000] range(-800,800)", "pow(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_pow, "a: f32[500] range(1e-30,1e-20); b: f32[500] range(-1.2,1.2)", "pow(%a, %b)"));
  CHECK(
    gpu_check_text(RLX_OP_pow, "a: f32[64] range(-9,9); b: f32[9,1] values(0,1,2,3,-1,-2,0.5,17,-18)", "pow(%a, %b)"));
  CHECK(gpu_check_text(RLX_OP_mod, "a: f32[999] range(-1e6,1e6); b: f32[999] range(0.3,0.7)", "mod(%a, %b)"));
}

/* ---- regions ---- */

/* A body of `n` steps over three inputs; each step reads earlier values. Values stay in a range that no step leaves. */
static void write_body(uint64_t *seed, const char *type, int n, const shapes *s, gpu_check_line *l) {
  char body[900];
  size_t at = 0;
#define MORE(...) at += (size_t)snprintf(body + at, sizeof body - at, __VA_ARGS__)
  for (int i = 0; i < 3; i++) MORE("%%v%d = input \"%c\" : %s%s; ", i, 'a' + i, type, s->of[i]);
  for (int i = 3; i < 3 + n; i++) {
    int x = i == 3                      ? 0
            : gpu_check_int(seed, 0, 2) ? i - 1
                                        : gpu_check_int(seed, 0, i - 1),
        y = gpu_check_int(seed, 0, i - 1);
    if (i == 2 + n) x = 0, y = i - 1; /* the result has the shape of a */
    switch (i == 2 + n ? 0 : gpu_check_int(seed, 0, 7)) {
      case 0: MORE("%%v%d = add(%%v%d, %%v%d); ", i, x, y); break;
      case 1: MORE("%%v%d = max(%%v%d, %%v%d); ", i, x, y); break;
      case 2: MORE("%%v%d = tanh(%%v%d); ", i, x); break;
      case 3: MORE("%%v%d = sigmoid(%%v%d); ", i, x); break;
      case 4: MORE("%%v%d = clamp(%%v%d) {lo=-1.5, hi=1.25}; ", i, x); break;
      case 5: MORE("%%v%d = abs(%%v%d); ", i, x); break;
      case 6: MORE("%%v%d = gelu(%%v%d); ", i, x); break;
      default: MORE("%%v%d = erf(%%v%d); ", i, x); break;
    }
  }
#undef MORE
  gpu_check_print(&l->inputs, "a: %s%s; b: %s%s; c: %s%s", type, s->of[0], type, s->of[1], type, s->of[2]);
  gpu_check_print(&l->expr, "region(%%a, %%b, %%c) {body=graph { %.880soutput \"y\" = %%v%d }}", body, 2 + n);
}

static void any_region(uint64_t *seed, gpu_check_line *l) {
  shapes s = any_shapes(seed, 3);
  write_body(seed, gpu_check_pick(seed, floats, COUNT(floats)), gpu_check_int(seed, 2, 12), &s, l);
}
TEST(regions) { CHECK(gpu_check_random(RLX_OP_region, 20, any_region)); }

static void any_large_region(uint64_t *seed, gpu_check_line *l) {
  shapes s = any_shapes(seed, 3);
  write_body(seed, "f32", 20, &s, l);
}
TEST(regions_past_the_limit) { CHECK(gpu_check_random(RLX_OP_region, 3, any_large_region)); }

/* Steps of several kinds; 64-bit values inside a region with 32-bit results. */
TEST(mixed_regions) {
  CHECK(gpu_check_bits(
    RLX_OP_region, "a: i64[77] range(-5000000000,5000000000); b: i32[77]",
    "region(%a, %b) {body=graph { %a = input \"a\" : i64[77]; %b = input \"b\" : i32[77]; "
    "%w = cast(%b) {to=i64}; %m = mul(%a, %w); %s = shr(%m, %w); %g = gt(%s, %a); output \"y\" = %g }}"));
  CHECK(gpu_check_text(RLX_OP_region, "a: i64[77] range(-5000000000,5000000000); b: f32[7,1]",
                       "region(%a, %b) {body=graph { %a = input \"a\" : i64[77]; %b = input \"b\" : f32[7,1]; "
                       "%f = cast(%a) {to=f32}; %m = mul(%f, %b); %q = cast(%m) {to=bf16}; output \"y\" = %q }}"));
  CHECK(gpu_check_bits(RLX_OP_region, "a: u8[9,36] range(0,256); b: f32[36] range(-4,4)",
                       "region(%a, %b) {body=graph { %a = input \"a\" : u8[9,36]; %b = input \"b\" : f32[36]; "
                       "%i = cast(%b) {to=u8}; %s = add(%a, %i); %k = constant : u8[] = [7]; %c = lt(%s, %k); "
                       "%n = not(%c); output \"y\" = %n }}"));
}

/* Chains of ops that the compiler fuses. */
TEST(fused_chains) {
  CHECK(gpu_check_text(RLX_OP_add, "x: f32[17,64]; b: f32[64]; k: f32[]",
                       "%s = add(%x, %b); %m = mul(%s, %k); %t = tanh(%m); %d = sub(%t, %x); add(%d, %s)"));
  CHECK(gpu_check_text(RLX_OP_mul, "g: f16[33,40]; u: f16[33,40]", "%s = silu(%g); mul(%s, %u)"));
  CHECK(gpu_check_text(RLX_OP_batch_norm_inference,
                       "x: f16[2,5,8,8]; m: f16[5]; v: f16[5] range(0.1,2); g: f16[5]; b: f16[5]",
                       "batch_norm_inference(%x, %m, %v, %g, %b)"));
}
