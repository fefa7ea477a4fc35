/* Specialised and unrolled kernels: valid modules, with nothing left to specialise and without what the constants
 * exclude. That they compute the same is shown by every test that runs on Vulkan. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "faults.h"
#include "gpu/kernels/pointwise_ops.kh"
#include "gpu/spirv.h"
#include "gpu/spirv_words.h"
#include "spirv_change.h"
#include "spirv_code.h"
#include "test.h"

enum { LABEL = 248, FUNCTION = 54, CALL = 57, SPEC_FIRST = 48, SPEC_CONSTANT = 50, LOOP_MERGE = 246, N_CONSTANTS = 97 };

typedef struct code {
  uint32_t *w;
  size_t n;
  bool *is_there; /* by id: defined as a label or a function */
  uint32_t bound;
  size_t n_functions, n_missing, n_spec, n_twice, n_marked; /* n_marked: loops still marked for unrolling */
} code;

static void need(code *c, uint32_t id) { c->n_missing += id >= c->bound || !c->is_there[id]; }

/* Records the ids that an instruction of a function refers to. */
static void look(code *c, const uint32_t *w, uint32_t op, uint32_t n) {
  if (op == CALL) need(c, w[3]);
  if (op == 249 || op == 247) need(c, w[1]);                      /* branch, selection merge */
  if (op == 246) need(c, w[1]), need(c, w[2]);                    /* loop merge */
  if (op == 250) need(c, w[2]), need(c, w[3]);                    /* conditional branch */
  if (op == 251) need(c, w[2]);                                   /* switch */
  for (uint32_t i = 4; op == 251 && i < n; i += 2) need(c, w[i]); /* its cases */
  for (uint32_t i = 4; op == 245 && i < n; i += 2) need(c, w[i]); /* phi */
}

static void examine(code *c) {
  c->bound = c->w[3];
  c->is_there = calloc(c->bound, sizeof *c->is_there);
  for (size_t at = 5; at < c->n; at += c->w[at] >> 16) {
    uint32_t op = c->w[at] & 0xffff;
    if (op == LABEL) c->n_twice += c->is_there[c->w[at + 1]], c->is_there[c->w[at + 1]] = true;
    c->n_marked += op == LOOP_MERGE && (c->w[at + 3] & 1);
    if (op == FUNCTION) c->is_there[c->w[at + 2]] = true;
    c->n_functions += op == FUNCTION;
    c->n_spec += op >= SPEC_FIRST && op <= SPEC_CONSTANT;
  }
  for (size_t at = 5; at < c->n; at += c->w[at] >> 16) look(c, c->w + at, c->w[at] & 0xffff, c->w[at] >> 16);
}

static bool specialise(const gpu_code *s, const uint32_t *constants, code *c) {
  *c = (code){.n = 0};
  if (gpu_spirv_specialise(s->words, s->n, constants, N_CONSTANTS, &c->w, &c->n)) return false;
  examine(c);
  return true;
}

static void code_free(code *c) {
  free(c->is_there);
  rlx_mem_free(c->w);
}

TEST(every_kernel_stays_whole) {
  uint32_t constants[N_CONSTANTS];
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++)
    for (uint32_t v = 0; v < SPIRV_MAX_VARIANTS; v++)
      for (uint32_t value = 0; value < 4; value++) {
        const gpu_code *s = spirv_code(gpu_kernels[k], v);
        if (!s) continue;
        for (uint32_t i = 0; i < N_CONSTANTS; i++) constants[i] = i ? value : 64;
        code c;
        CHECK(specialise(s, constants, &c));
        if (c.n_missing || c.n_spec || c.n > s->n) printf("kernel %s, constants %u\n", gpu_kernels[k]->name, value);
        CHECK_EQ_INT(c.n_missing, 0);
        CHECK_EQ_INT(c.n_spec, 0);
        CHECK(c.n <= s->n && c.n_functions >= 1);
        code_free(&c);
      }
}

/* Of all element-wise operations only one addition remains. */
TEST(unused_operations_are_removed) {
  const gpu_code *s = spirv_code(&gpu_kernel_pointwise, 0);
  uint32_t constants[N_CONSTANTS] = {64};
  gpu_constants_pointwise c = {
    .s0 = PW_STEP(PW_ADD, 0u, 1u, 0u, 0u), .steps = 1, .used = 3, .rank = 1, .flat = 3}; /* two flat inputs */
  memcpy(constants + 1, &c, sizeof c);
  code one, all;
  CHECK(specialise(s, constants, &one));
  for (uint32_t i = 1; i <= 16; i++) constants[i] = PW_STEP(16u * (i % 13 + 1), 0u, 1u, 0u, 1u);
  constants[17] = 16; /* steps */
  CHECK(specialise(s, constants, &all));
  CHECK(one.n * 3 < s->n);
  CHECK(one.n_functions * 3 < all.n_functions);
  code_free(&one);
  code_free(&all);
}

/* Repeated until nothing is left to unroll; the result is a valid module. */
TEST(unrolled_kernels_are_whole) {
  uint32_t constants[N_CONSTANTS];
  size_t n_unrolled = 0;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++)
    for (uint32_t v = 0; v < SPIRV_MAX_VARIANTS; v++)
      for (uint32_t value = 1; value <= 4; value *= 2) {
        const gpu_code *s = spirv_code(gpu_kernels[k], v);
        if (!s) continue;
        for (uint32_t i = 0; i < N_CONSTANTS; i++) constants[i] = i ? value : 64;
        code before, after = {.n = 0};
        CHECK(specialise(s, constants, &before));
        after.w = before.w, after.n = before.n;
        CHECK_OK(gpu_spirv_unroll(&after.w, &after.n));
        examine(&after);
        if (after.n_missing || after.n_twice) printf("kernel %s, constants %u\n", gpu_kernels[k]->name, value);
        CHECK_EQ_INT(after.n_missing, 0);
        CHECK_EQ_INT(after.n_twice, 0);
        CHECK(after.n_marked <= before.n_marked && after.n_functions == before.n_functions);
        n_unrolled += before.n_marked - after.n_marked;
        free(before.is_there);
        code_free(&after);
      }
  CHECK(n_unrolled > 100);
}

/* Rows held in registers: no loop over them may remain, or they would be in memory. */
TEST(rows_stay_in_registers) {
  const gpu_code *s = spirv_code(&gpu_kernel_normalize4, 1);
  uint32_t constants[N_CONSTANTS] = {256};
  memcpy(constants + 1, &(gpu_constants_normalize4){.lanes = 256, .vecs = 4, .centre = 1},
         sizeof(gpu_constants_normalize4));
  code c;
  CHECK(specialise(s, constants, &c));
  CHECK(c.n_marked > 0);
  free(c.is_there);
  CHECK_OK(gpu_spirv_unroll(&c.w, &c.n));
  c.n_marked = 0;
  examine(&c);
  CHECK_EQ_INT(c.n_marked, 0);
  code_free(&c);
}

/* Loops that are left marked when a kernel's constants are known and its loops unrolled. */
static size_t marked_after(const gpu_kernel *kernel, uint32_t group, const void *own, size_t bytes) {
  uint32_t constants[N_CONSTANTS] = {group};
  memcpy(constants + 1, own, bytes);
  code c;
  const gpu_code *s = spirv_code(kernel, 0);
  if (!s || !specialise(s, constants, &c)) return SIZE_MAX;
  free(c.is_there);
  c.is_there = NULL;
  if (!gpu_spirv_unroll(&c.w, &c.n)) c.n_marked = 0, examine(&c);
  size_t n = c.n_marked;
  code_free(&c);
  return n;
}

/* The same for matrices, in the largest forms of these kernels: two numbers for each element. */
TEST(matrices_stay_in_registers) {
  for (uint32_t subs = 4; subs <= 8; subs += 4) {
    const gpu_constants_attention_coop128 c = {
      .subs = subs, .causal = 1, .has_len = 1, .partial = 1, .split = 1, .q_f32 = 1, .q_split = 1};
    CHECK_EQ_INT(marked_after(&gpu_kernel_attention_coop128, 32 * subs, &c, sizeof c), 0);
  }
  const gpu_constants_matmul_coop4 c = {.sx = 4,
                                        .sy = 2,
                                        .bk = 32,
                                        .stages = 1,
                                        .size_a = 1280,
                                        .size_tile = 2560,
                                        .size_rows = 1,
                                        .trans = 1,
                                        .vec_y = 1,
                                        .ahead = 1,
                                        .pair = 1,
                                        .scaled = 1};
  CHECK_EQ_INT(marked_after(&gpu_kernel_matmul_coop4, 256, &c, sizeof c), 0);
}

TEST(not_a_module) {
  uint32_t words[] = {0x07230203u, 0x10300, 0, 10, 0, (9u << 16) | 17}, *out;
  size_t n;
  CHECK_EQ_INT(gpu_spirv_specialise(words, 6, NULL, 0, &out, &n), RLX_INVALID); /* the last instruction is truncated */
  CHECK_EQ_INT(gpu_spirv_specialise(words, 3, NULL, 0, &out, &n), RLX_INVALID);
  words[0] = 7;
  CHECK_EQ_INT(gpu_spirv_specialise(words, 5, NULL, 0, &out, &n), RLX_INVALID);
  CHECK(out == NULL);
}

/* Valid single instructions in invalid sequences, which a walk would leave. */
TEST(not_whole) {
  enum {
    BOUND = 10,
    ENTRY = (4u << 16) | 15,
    FUNCTION_OF = (5u << 16) | FUNCTION,
    END = (1u << 16) | 56,
    LABEL_OF = (2u << 16) | LABEL
  };
  enum { RETURN = (1u << 16) | 253, MERGE = (4u << 16) | LOOP_MERGE, BRANCH_SHORT = (1u << 16) | 249 };
  static const uint32_t wrong[][12] = {
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4},                           /* neither block nor function ends */
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4, RETURN},                   /* the function does not */
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4, END},                      /* the block does not */
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4, LABEL_OF, 5, RETURN, END}, /* a block in a block */
    {FUNCTION_OF, 1, 2, 0, 3, RETURN, END},                           /* the end of no block */
    {FUNCTION_OF, 1, 2, 0, 3, FUNCTION_OF, 1, 4, 0, 3, END},          /* a function in a function */
    {LABEL_OF, 4, RETURN},                                            /* a block outside of functions */
    {MERGE, 4, 5, 1},                                                 /* a loop outside of blocks */
    {END},
    {(1u << 16) | LABEL}, /* too short for what they are */
    {(2u << 16) | 15, 4},
    {(2u << 16) | 50, 4},
    {(2u << 16) | 71, 4},
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4, (3u << 16) | LOOP_MERGE, 5, 6, RETURN, END},
    {FUNCTION_OF, 1, 2, 0, 3, LABEL_OF, 4, BRANCH_SHORT, END},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    size_t n = 5, n_out;
    uint32_t *words = malloc(17 * sizeof *words), *out;
    memcpy(words, (uint32_t[]){0x07230203u, 0x10300, 0, BOUND, 0}, 5 * sizeof *words);
    for (size_t k = 0; k < 12 && wrong[i][k];) {
      const uint32_t length = wrong[i][k] >> 16;
      memcpy(words + n, wrong[i] + k, length * sizeof *words);
      n += length, k += length;
    }
    words = realloc(words, n * sizeof *words); /* exact size, so a sanitizer detects a read past the end */
    CHECK_EQ_INT(gpu_spirv_specialise(words, n, NULL, 0, &out, &n_out), RLX_INVALID);
    CHECK(out == NULL);
    CHECK_EQ_INT(gpu_spirv_unroll(&words, &n), RLX_INVALID);
    free(words);
  }
}

/* A three-word boolean constant of a number type must not be written as a number, which takes four words. */
TEST(boolean_constant_of_a_number_type) {
  const uint32_t words[] = {0x07230203u, 0x10300, 0, 10, 0, (4u << 16) | 21, 1, 32, 0, (3u << 16) | 48, 1, 2};
  const size_t n = sizeof words / sizeof *words;
  uint32_t *exact = malloc(sizeof words), *out;
  size_t n_out;
  memcpy(exact, words, sizeof words);
  CHECK_OK(gpu_spirv_specialise(exact, n, NULL, 0, &out, &n_out));
  CHECK(n_out <= n && spirv_is_whole(out, n_out));
  rlx_mem_free(out);
  free(exact);
}

static uint32_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

/* Kernels with a few words changed: valid modules result, or RLX_INVALID. Under sanitizers this tests every access. */
TEST(changed_words) {
  uint64_t seed = 13;
  size_t n_taken = 0, n_refused = 0;
  for (int round = 0; round < 3000; round++) {
    const gpu_code *s = NULL;
    do s = spirv_code(gpu_kernels[next(&seed) % GPU_KERNEL_COUNT], next(&seed) % SPIRV_MAX_VARIANTS);
    while (!s || s->n > 12000); /* not the largest, for time */
    uint32_t constants[N_CONSTANTS] = {64}, *words = malloc(s->n * sizeof *words), *out;
    for (int i = 1; i < N_CONSTANTS; i++) constants[i] = next(&seed) % 5;
    size_t n = s->n, n_out;
    memcpy(words, s->words, n * sizeof *words);
    for (uint32_t i = 1 + next(&seed) % 6; i; i--) {
      const uint32_t where = next(&seed), kind = next(&seed), value = next(&seed);
      spirv_change(words, &n, where, kind, value);
    }
    uint32_t *exact = rlx_mem_alloc(n * sizeof *exact + !n); /* exact size: a sanitizer detects a read past the end */
    memcpy(exact, words, n * sizeof *exact);
    const rlx_status status = gpu_spirv_specialise(exact, n, constants, N_CONSTANTS, &out, &n_out);
    CHECK(status == RLX_OK || status == RLX_INVALID);
    if (!status) {
      CHECK(spirv_is_whole(out, n_out));
      CHECK_OK(gpu_spirv_unroll(&out, &n_out));
      CHECK(spirv_is_whole(out, n_out));
    }
    status ? n_refused++ : n_taken++;
    rlx_mem_free(out);
    CHECK_EQ_INT(gpu_spirv_unroll(&exact, &n), status); /* without its constants: the same validity check */
    rlx_mem_free(exact);
    free(words);
  }
  CHECK(n_taken > 500 && n_refused > 500);
}

static rlx_status once(void *user) {
  (void)user;
  const gpu_code *s = spirv_code(&gpu_kernel_pointwise, 0);
  uint32_t *out;
  size_t n;
  rlx_status status = gpu_spirv_specialise(s->words, s->n, NULL, 0, &out, &n);
  if (!status) status = gpu_spirv_unroll(&out, &n);
  rlx_mem_free(out);
  return status;
}
TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(once, NULL)); }
