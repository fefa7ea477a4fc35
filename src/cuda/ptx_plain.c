/* Instructions that compute: most are a row of a table, scalar by scalar. Products and sums are rounded one by one
 * (.rn), so the driver's compiler does not fuse them. Integers and flags that are numbers are computed here: indices of
 * unrolled loops become numbers, and arrays registers. */
#include "cuda/ptx_state.h"

typedef enum operand_kind { WORDS = 'w', FLOATS = 'f', FLAGS = 'p' } operand_kind;

typedef struct row {
  uint16_t op;
  char sources, result; /* operand_kind; floats are words as results */
  uint8_t n;            /* sources */
  const char *name;
} row;

/* clang-format off */
static const row instructions[] = {
  {109, 'f', 'w', 1, "cvt.rzi.u32.f32"}, {110, 'f', 'w', 1, "cvt.rzi.s32.f32"}, {111, 'w', 'w', 1, "cvt.rn.f32.s32"},
  {112, 'w', 'w', 1, "cvt.rn.f32.u32"},  {126, 'w', 'w', 1, "neg.s32"},         {127, 'f', 'w', 1, "neg.f32"},
  {128, 'w', 'w', 2, "add.u32"},         {129, 'f', 'w', 2, "add.rn.f32"},      {130, 'w', 'w', 2, "sub.u32"},
  {131, 'f', 'w', 2, "sub.rn.f32"},      {132, 'w', 'w', 2, "mul.lo.u32"},      {133, 'f', 'w', 2, "mul.rn.f32"},
  {134, 'w', 'w', 2, "div.u32"},         {135, 'w', 'w', 2, "div.s32"},         {136, 'f', 'w', 2, "div.rn.f32"},
  {137, 'w', 'w', 2, "rem.u32"},         {138, 'w', 'w', 2, "rem.s32"},
  {165, 'p', 'p', 2, "xor.pred"},        {166, 'p', 'p', 2, "or.pred"},         {167, 'p', 'p', 2, "and.pred"},
  {168, 'p', 'p', 1, "not.pred"},
  {170, 'w', 'p', 2, "setp.eq.u32"},     {171, 'w', 'p', 2, "setp.ne.u32"},     {172, 'w', 'p', 2, "setp.gt.u32"},
  {173, 'w', 'p', 2, "setp.gt.s32"},     {174, 'w', 'p', 2, "setp.ge.u32"},     {175, 'w', 'p', 2, "setp.ge.s32"},
  {176, 'w', 'p', 2, "setp.lt.u32"},     {177, 'w', 'p', 2, "setp.lt.s32"},     {178, 'w', 'p', 2, "setp.le.u32"},
  {179, 'w', 'p', 2, "setp.le.s32"},
  /* ordered: false where an operand is NaN; unordered (the names with u): true */
  {180, 'f', 'p', 2, "setp.eq.f32"},     {181, 'f', 'p', 2, "setp.equ.f32"},    {182, 'f', 'p', 2, "setp.ne.f32"},
  {183, 'f', 'p', 2, "setp.neu.f32"},    {184, 'f', 'p', 2, "setp.lt.f32"},     {185, 'f', 'p', 2, "setp.ltu.f32"},
  {186, 'f', 'p', 2, "setp.gt.f32"},     {187, 'f', 'p', 2, "setp.gtu.f32"},    {188, 'f', 'p', 2, "setp.le.f32"},
  {189, 'f', 'p', 2, "setp.leu.f32"},    {190, 'f', 'p', 2, "setp.ge.f32"},     {191, 'f', 'p', 2, "setp.geu.f32"},
  {194, 'w', 'w', 2, "shr.u32"},         {195, 'w', 'w', 2, "shr.s32"},         {196, 'w', 'w', 2, "shl.b32"},
  {197, 'w', 'w', 2, "or.b32"},          {198, 'w', 'w', 2, "xor.b32"},         {199, 'w', 'w', 2, "and.b32"},
  {200, 'w', 'w', 1, "not.b32"},         {202, 'w', 'w', 3, "bfe.s32"},         {203, 'w', 'w', 3, "bfe.u32"},
  {205, 'w', 'w', 1, "popc.b32"},
};

/* GLSL.std.450. The driver's exp2 and inverse root are those that NVRTC uses as well. */
static const row extended[] = {
  {2, 'f', 'w', 1, "cvt.rni.f32.f32"},   {3, 'f', 'w', 1, "cvt.rzi.f32.f32"},   {4, 'f', 'w', 1, "abs.f32"},
  {8, 'f', 'w', 1, "cvt.rmi.f32.f32"},   {9, 'f', 'w', 1, "cvt.rpi.f32.f32"},   {29, 'f', 'w', 1, "ex2.approx.f32"},
  {31, 'f', 'w', 1, "sqrt.rn.f32"},      {32, 'f', 'w', 1, "rsqrt.approx.f32"}, {37, 'f', 'w', 2, "min.f32"},
  {38, 'w', 'w', 2, "min.u32"},          {39, 'w', 'w', 2, "min.s32"},          {40, 'f', 'w', 2, "max.f32"},
  {41, 'w', 'w', 2, "max.u32"},          {42, 'w', 'w', 2, "max.s32"},          {50, 'f', 'w', 3, "fma.rn.f32"},
  {75, 'w', 'w', 1, "bfind.u32"},
};

/* Operations of a subgroup. */
static const row reductions[] = {
  {349, 'w', 'w', 2, "add.u32"}, {350, 'f', 'w', 2, "add.rn.f32"}, {353, 'w', 'w', 2, "min.s32"},
  {354, 'w', 'w', 2, "min.u32"}, {355, 'f', 'w', 2, "min.f32"},    {356, 'w', 'w', 2, "max.s32"},
  {357, 'w', 'w', 2, "max.u32"}, {358, 'f', 'w', 2, "max.f32"},
};
/* clang-format on */

enum { EXT_EXP = 27, EXT_U_CLAMP = 44, EXT_S_CLAMP = 45, EXT_PACK_HALF = 58, EXT_UNPACK_HALF = 62 };
enum { OP_BITCAST = 124, OP_U_MUL_EXTENDED = 151, OP_LOGICAL_EQUAL = 164, OP_SELECT = 169, MAX_SOURCES = 3 };

static const row *find(const row *rows, size_t n, uint32_t op) {
  for (size_t i = 0; i < n; i++)
    if (rows[i].op == op) return &rows[i];
  return NULL;
}
#define FIND(rows, op) find(rows, sizeof rows / sizeof *rows, op)

/* ---- rows ---- */

static ptx_text operand(ptx_state *s, char kind, ptx_leaf l) {
  return kind == FLAGS ? ptx_flag(s, l) : kind == FLOATS ? ptx_float(l) : ptx_word(l);
}

/* NAME to, a, b, c; */
static void put(ptx_state *s, const row *r, ptx_leaf to, const ptx_leaf *x) {
  ptx_text text[MAX_SOURCES];
  for (uint32_t k = 0; k < r->n; k++) text[k] = operand(s, r->sources, x[k]); /* may itself write */
  rlx_str_add(&s->body, "%s %%%c%u", r->name, to.kind == LEAF_FLAG ? 'p' : 'r', (unsigned)to.v);
  for (uint32_t k = 0; k < r->n; k++) rlx_str_add(&s->body, ", %s", text[k].v);
  rlx_str_add(&s->body, ";\n");
}

static bool fold(const row *r, const ptx_leaf *x, ptx_leaf *y) {
  uint32_t v[MAX_SOURCES];
  if (r->sources == FLOATS) return false;
  for (uint32_t k = 0; k < r->n; k++) {
    if (x[k].kind != LEAF_NUMBER) return false;
    v[k] = x[k].v;
  }
  y->kind = LEAF_NUMBER;
  return spirv_evaluate(r->op, v, r->n, &y->v);
}

/* Whether an operand has this kind and fits a result of n scalars. */
static bool fits(ptx_state *s, const ptx_value *v, char kind, uint32_t n) {
  return ptx_is_flags(s, v->type) == (kind == FLAGS) && (v->n == n || v->n == 1);
}

static rlx_status apply(ptx_state *s, const uint32_t *i, const row *r, uint32_t first, bool folds) {
  ptx_value v, sources[MAX_SOURCES];
  if (ptx_length(i) != first + r->n) return ptx_unsupported(s, i);
  for (uint32_t k = 0; k < r->n; k++) RLX_TRY(ptx_get(s, i[first + k], &sources[k]));
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  if (ptx_is_flags(s, i[1]) != (r->result == FLAGS)) return ptx_unsupported(s, i);
  for (uint32_t k = 0; k < r->n; k++)
    if (!fits(s, &sources[k], r->sources, v.n)) return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) {
    ptx_leaf x[MAX_SOURCES], y;
    for (uint32_t k = 0; k < r->n; k++) x[k] = ptx_leaf_or_only(s, &sources[k], j);
    if (!folds || !fold(r, x, &y)) {
      y = r->result == FLAGS ? ptx_new_flag(s) : ptx_new_word(s);
      put(s, r, y, x);
    }
    s->leaves.v[v.first + j] = y;
  }
  return RLX_OK;
}

/* ---- choices ---- */

/* c ? a : b of predicates. */
static ptx_leaf select_flag(ptx_state *s, ptx_leaf c, ptx_leaf a, ptx_leaf b) {
  const ptx_leaf y = ptx_new_flag(s), z = ptx_new_flag(s);
  const ptx_text p = ptx_flag(s, c), t = ptx_flag(s, a), f = ptx_flag(s, b);
  const unsigned to = (unsigned)y.v, other = (unsigned)z.v;
  rlx_str_add(&s->body, "and.pred %%p%u, %s, %s;\nnot.pred %%p%u, %s;\nand.pred %%p%u, %%p%u, %s;\n", to, p.v, t.v,
              other, p.v, other, other, f.v);
  rlx_str_add(&s->body, "or.pred %%p%u, %%p%u, %%p%u;\n", to, to, other);
  return y;
}

static ptx_leaf select_word(ptx_state *s, ptx_leaf c, ptx_leaf a, ptx_leaf b) {
  const ptx_leaf y = ptx_new_word(s);
  rlx_str_add(&s->body, "selp.b32 %%r%u, %s, %s, %%p%u;\n", (unsigned)y.v, ptx_word(a).v, ptx_word(b).v, (unsigned)c.v);
  return y;
}

static rlx_status select_value(ptx_state *s, const uint32_t *i) {
  ptx_value v, c, a, b;
  if (ptx_length(i) != 6) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[3], &c));
  RLX_TRY(ptx_get(s, i[4], &a));
  RLX_TRY(ptx_get(s, i[5], &b));
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  const bool is_flags = ptx_is_flags(s, i[1]);
  if (!fits(s, &c, FLAGS, v.n) || a.n != v.n || b.n != v.n || ptx_is_flags(s, a.type) != is_flags ||
      ptx_is_flags(s, b.type) != is_flags)
    return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) {
    const ptx_leaf which = ptx_leaf_or_only(s, &c, j), x = ptx_leaf_of(s, &a, j), y = ptx_leaf_of(s, &b, j);
    s->leaves.v[v.first + j] = which.kind == LEAF_NUMBER ? (which.v ? x : y)
                               : is_flags                ? select_flag(s, which, x, y)
                                                         : select_word(s, which, x, y);
  }
  return RLX_OK;
}

static rlx_status logical_equal(ptx_state *s, const uint32_t *i) {
  const row *r = FIND(instructions, 165);
  RLX_TRY(apply(s, i, r, 3, true));
  const ptx_value v = ptx_id_at(s, i[2])->value;
  for (uint32_t j = 0; j < v.n; j++) {
    ptx_leaf *l = &s->leaves.v[v.first + j];
    if (l->kind == LEAF_NUMBER) l->v = !l->v;
    else rlx_str_add(&s->body, "not.pred %%p%u, %%p%u;\n", (unsigned)l->v, (unsigned)l->v);
  }
  return RLX_OK;
}

/* ---- wide products and dot products ---- */

static rlx_status multiply_extended(ptx_state *s, const uint32_t *i) {
  ptx_value v, a, b;
  if (ptx_length(i) != 5) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[3], &a));
  RLX_TRY(ptx_get(s, i[4], &b));
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  if (v.n != 2 || !fits(s, &a, WORDS, 1) || !fits(s, &b, WORDS, 1) || ptx_is_flags(s, i[1]))
    return ptx_unsupported(s, i);
  const ptx_text x = ptx_word(ptx_leaf_of(s, &a, 0)), y = ptx_word(ptx_leaf_of(s, &b, 0));
  rlx_str_add(&s->body, "mul.lo.u32 %s, %s, %s;\n", ptx_word(ptx_leaf_of(s, &v, 0)).v, x.v, y.v);
  rlx_str_add(&s->body, "mul.hi.u32 %s, %s, %s;\n", ptx_word(ptx_leaf_of(s, &v, 1)).v, x.v, y.v);
  return RLX_OK;
}

/* Four signed bytes in a word each (format 0). */
static rlx_status dot(ptx_state *s, const uint32_t *i) {
  ptx_value v, a, b;
  if (ptx_length(i) != 6 || i[5] != 0) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[3], &a));
  RLX_TRY(ptx_get(s, i[4], &b));
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  if (v.n != 1 || !fits(s, &a, WORDS, 1) || !fits(s, &b, WORDS, 1) || ptx_is_flags(s, i[1]))
    return ptx_unsupported(s, i);
  rlx_str_add(&s->body, "dp4a.s32.s32 %s, %s, %s, 0;\n", ptx_word(ptx_leaf_of(s, &v, 0)).v,
              ptx_word(ptx_leaf_of(s, &a, 0)).v, ptx_word(ptx_leaf_of(s, &b, 0)).v);
  return RLX_OK;
}

/* ---- subgroups ---- */

static ptx_leaf shuffle_xor(ptx_state *s, ptx_leaf x, const char *mask) {
  const ptx_leaf y = ptx_new_word(s);
  rlx_str_add(&s->body, "shfl.sync.bfly.b32 %%r%u, %s, %s, 31, -1;\n", (unsigned)y.v, ptx_word(x).v, mask);
  return y;
}

static rlx_status shuffle(ptx_state *s, const uint32_t *i) {
  ptx_value v, x, lane;
  const bool is_xor = ptx_op(i) == OP_GROUP_SHUFFLE_XOR;
  if (ptx_length(i) != 6) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[4], &x));
  RLX_TRY(ptx_get(s, i[5], &lane));
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  if (!fits(s, &x, WORDS, v.n) || !fits(s, &lane, WORDS, 1) || ptx_is_flags(s, i[1])) return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++)
    rlx_str_add(&s->body, "shfl.sync.%s.b32 %s, %s, %s, 31, -1;\n", is_xor ? "bfly" : "idx",
                ptx_word(ptx_leaf_of(s, &v, j)).v, ptx_word(ptx_leaf_or_only(s, &x, j)).v,
                ptx_word(ptx_leaf_of(s, &lane, 0)).v);
  return RLX_OK;
}

/* Of the whole subgroup, in the order of k_cuda.h. */
static rlx_status reduce(ptx_state *s, const uint32_t *i) {
  static const char *const masks[] = {"16", "8", "4", "2", "1"};
  const row *r = FIND(reductions, ptx_op(i));
  ptx_value v, x;
  if (!r || ptx_length(i) != 6 || i[4] != 0) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[5], &x));
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  if (x.n != v.n || ptx_is_flags(s, i[1]) || ptx_is_flags(s, x.type)) return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) {
    ptx_leaf sum = ptx_leaf_of(s, &x, j);
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
      const ptx_leaf both[] = {sum, shuffle_xor(s, sum, masks[k])};
      sum = ptx_new_word(s);
      put(s, r, sum, both);
    }
    s->leaves.v[v.first + j] = sum;
  }
  return RLX_OK;
}

/* ---- GLSL.std.450 ---- */

static unsigned new_number(ptx_state *s) { return (unsigned)s->n_words++; }

/* e^x = 2^n e^f with n = round(x / ln 2): f is exact to the last bits because ln 2 is subtracted in two parts. 2^n is
 * applied in two steps, so that results below the smallest normal number are rounded once. */
static ptx_leaf exponential(ptx_state *s, ptx_leaf x) {
  const unsigned n = new_number(s), f = new_number(s), e = new_number(s), k = new_number(s), a = new_number(s);
  const ptx_text from = ptx_float(x);
  rlx_str *t = &s->body;
  rlx_str_add(t, "mul.rn.f32 %%r%u, %s, 0f3FB8AA3B;\ncvt.rni.f32.f32 %%r%u, %%r%u;\n", n, from.v, n, n);
  rlx_str_add(t, "max.f32 %%r%u, %%r%u, 0fC3170000;\nmin.f32 %%r%u, %%r%u, 0f43010000;\n", n, n, n, n);
  rlx_str_add(t, "fma.rn.f32 %%r%u, %%r%u, 0fBF318000, %s;\nfma.rn.f32 %%r%u, %%r%u, 0f395E8083, %%r%u;\n", f, n,
              from.v, f, n, f);
  rlx_str_add(t, "mul.rn.f32 %%r%u, %%r%u, 0f3FB8AA3B;\nex2.approx.f32 %%r%u, %%r%u;\n", f, f, e, f);
  rlx_str_add(t, "cvt.rzi.s32.f32 %%r%u, %%r%u;\nshr.s32 %%r%u, %%r%u, 1;\nsub.u32 %%r%u, %%r%u, %%r%u;\n", k, n, a, k,
              k, k, a);
  rlx_str_add(t, "add.u32 %%r%u, %%r%u, 127;\nshl.b32 %%r%u, %%r%u, 23;\nmul.rn.f32 %%r%u, %%r%u, %%r%u;\n", a, a, a, a,
              e, e, a);
  rlx_str_add(t, "add.u32 %%r%u, %%r%u, 127;\nshl.b32 %%r%u, %%r%u, 23;\nmul.rn.f32 %%r%u, %%r%u, %%r%u;\n", k, k, k, k,
              e, e, k);
  return (ptx_leaf){LEAF_WORD, e};
}

static rlx_status exp_value(ptx_state *s, const uint32_t *i) {
  ptx_value v, x;
  if (ptx_length(i) != 6) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[5], &x));
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  if (x.n != v.n || ptx_is_flags(s, x.type) || ptx_is_flags(s, i[1])) return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) {
    const ptx_leaf y = exponential(s, ptx_leaf_of(s, &x, j));
    s->leaves.v[v.first + j] = y;
  }
  return RLX_OK;
}

static rlx_status clamp(ptx_state *s, const uint32_t *i) {
  const bool is_signed = i[4] == EXT_S_CLAMP;
  const row *most = FIND(extended, is_signed ? 42 : 41), *least = FIND(extended, is_signed ? 39 : 38);
  ptx_value v, x[3];
  if (ptx_length(i) != 8) return ptx_unsupported(s, i);
  for (uint32_t k = 0; k < 3; k++) RLX_TRY(ptx_get(s, i[5 + k], &x[k]));
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  for (uint32_t k = 0; k < 3; k++)
    if (!fits(s, &x[k], WORDS, v.n) || ptx_is_flags(s, i[1])) return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) {
    const ptx_leaf to = ptx_leaf_of(s, &v, j), above = ptx_new_word(s);
    put(s, most, above, (ptx_leaf[]){ptx_leaf_or_only(s, &x[0], j), ptx_leaf_or_only(s, &x[1], j)});
    put(s, least, to, (ptx_leaf[]){above, ptx_leaf_or_only(s, &x[2], j)});
  }
  return RLX_OK;
}

/* Two f16 in a word, the first in its lower half. */
static rlx_status half_pair(ptx_state *s, const uint32_t *i) {
  const bool packs = i[4] == EXT_PACK_HALF;
  ptx_value v, x;
  if (ptx_length(i) != 6) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[5], &x));
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  if (x.n != (packs ? 2 : 1) || v.n != (packs ? 1 : 2) || ptx_is_flags(s, x.type) || ptx_is_flags(s, i[1]))
    return ptx_unsupported(s, i);
  const unsigned lo = (unsigned)s->n_halves++, hi = (unsigned)s->n_halves++;
  if (packs) {
    rlx_str_add(&s->body, "cvt.rn.f16.f32 %%h%u, %s;\n", lo, ptx_float(ptx_leaf_of(s, &x, 0)).v);
    rlx_str_add(&s->body, "cvt.rn.f16.f32 %%h%u, %s;\n", hi, ptx_float(ptx_leaf_of(s, &x, 1)).v);
    rlx_str_add(&s->body, "mov.b32 %s, {%%h%u, %%h%u};\n", ptx_word(ptx_leaf_of(s, &v, 0)).v, lo, hi);
    return RLX_OK;
  }
  rlx_str_add(&s->body, "mov.b32 {%%h%u, %%h%u}, %s;\n", lo, hi, ptx_word(ptx_leaf_of(s, &x, 0)).v);
  rlx_str_add(&s->body, "cvt.f32.f16 %s, %%h%u;\n", ptx_word(ptx_leaf_of(s, &v, 0)).v, lo);
  rlx_str_add(&s->body, "cvt.f32.f16 %s, %%h%u;\n", ptx_word(ptx_leaf_of(s, &v, 1)).v, hi);
  return RLX_OK;
}

static rlx_status extended_instruction(ptx_state *s, const uint32_t *i) {
  if (ptx_length(i) < 5 || i[3] != s->extension) return ptx_unsupported(s, i);
  const row *r = FIND(extended, i[4]);
  if (r) return apply(s, i, r, 5, false);
  switch (i[4]) {
    case EXT_EXP: return exp_value(s, i);
    case EXT_U_CLAMP:
    case EXT_S_CLAMP: return clamp(s, i);
    case EXT_PACK_HALF:
    case EXT_UNPACK_HALF: return half_pair(s, i);
    default:
      return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: GLSL.std.450 instruction %u has no PTX", s->desc->name,
                      (unsigned)i[4]);
  }
}

rlx_status ptx_plain_instruction(ptx_state *s, const uint32_t *i) {
  const uint32_t op = ptx_op(i);
  if (ptx_length(i) < 4) return ptx_unsupported(s, i);
  const row *r = FIND(instructions, op);
  if (r) return apply(s, i, r, 3, true);
  switch (op) {
    case OP_EXT_INST: return extended_instruction(s, i);
    case OP_U_MUL_EXTENDED: return multiply_extended(s, i);
    case OP_LOGICAL_EQUAL: return logical_equal(s, i);
    case OP_SELECT: return select_value(s, i);
    case OP_SDOT: return dot(s, i);
    case OP_GROUP_SHUFFLE:
    case OP_GROUP_SHUFFLE_XOR: return shuffle(s, i);
    default: return reduce(s, i); /* or unknown */
  }
}

/* ---- composites ---- */

/* The type and the first leaf of a part of a value; `path` are literals. */
static bool find_part(ptx_state *s, const ptx_value *v, const uint32_t *path, uint32_t n, ptx_value *part) {
  *part = *v;
  for (uint32_t k = 0; k < n; k++) {
    const ptx_type *t = ptx_type_at(s, part->type);
    if ((t->kind != PTX_VECTOR && t->kind != PTX_ARRAY && t->kind != PTX_STRUCT) || path[k] >= t->n) return false;
    const uint32_t type = t->kind == PTX_STRUCT ? s->w[t->at + path[k]] : t->of, size = ptx_type_at(s, type)->n_leaves;
    *part = (ptx_value){.type = type, .first = part->first + path[k] * size, .n = size};
    if (part->first - v->first + size > v->n) return false;
  }
  return part->n > 0;
}

static rlx_status construct(ptx_state *s, const uint32_t *i) {
  ptx_value v, part;
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  uint32_t at = 0;
  for (uint32_t k = 3; k < ptx_length(i); k++) {
    RLX_TRY(ptx_get(s, i[k], &part));
    if (part.n > v.n - at || ptx_is_flags(s, part.type) != ptx_is_flags(s, i[1])) return ptx_unsupported(s, i);
    for (uint32_t j = 0; j < part.n; j++) s->leaves.v[v.first + at++] = s->leaves.v[part.first + j];
  }
  return at == v.n ? RLX_OK : ptx_unsupported(s, i);
}

static rlx_status extract(ptx_state *s, const uint32_t *i) {
  ptx_value v, part;
  RLX_TRY(ptx_get(s, i[3], &v));
  if (!find_part(s, &v, i + 4, ptx_length(i) - 4, &part)) return ptx_unsupported(s, i);
  return ptx_alias(s, i[2], i[1], &part);
}

static rlx_status insert(ptx_state *s, const uint32_t *i) {
  ptx_value x, from, v, part;
  if (ptx_length(i) < 5) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get(s, i[3], &x));
  RLX_TRY(ptx_get(s, i[4], &from));
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  const bool is_part = find_part(s, &v, i + 5, ptx_length(i) - 5, &part);
  if (from.n != v.n || !is_part || part.n != x.n || ptx_is_flags(s, x.type) != ptx_is_flags(s, v.type) ||
      ptx_is_flags(s, from.type) != ptx_is_flags(s, v.type))
    return ptx_unsupported(s, i);
  for (uint32_t j = 0; j < v.n; j++) s->leaves.v[v.first + j] = s->leaves.v[from.first + j];
  for (uint32_t j = 0; j < x.n; j++) s->leaves.v[part.first + j] = s->leaves.v[x.first + j];
  return RLX_OK;
}

rlx_status ptx_composite_instruction(ptx_state *s, const uint32_t *i) {
  ptx_value v;
  if (ptx_length(i) < 4) return ptx_unsupported(s, i);
  switch (ptx_op(i)) {
    case OP_CONSTRUCT: return construct(s, i);
    case OP_EXTRACT: return extract(s, i);
    case OP_INSERT: return insert(s, i);
    case OP_COPY_OBJECT:
    case OP_BITCAST: RLX_TRY(ptx_get(s, i[3], &v)); return ptx_alias(s, i[2], i[1], &v);
    default: return ptx_unsupported(s, i);
  }
}
