/* Runs PTX: see the header. The threads of a block run one after the other, each until it ends or stops: at a barrier
 * until all have come there, at a shuffle until its warp has. Registers and memory begin with a pattern that no kernel
 * relies on. An access outside the windows' allocations is a fault, as is a shuffle that a part of a warp does not
 * reach. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "fake.h"
#include "ptx.h"

enum { WARP = 32, PATTERN = 0xa5 };
#define TABLES ((uint64_t)1 << 62) /* where the module's tables are: no memory has such addresses */
enum { MAX_STEPS = 1 << 30 };      /* of a thread between two stops: an endless loop is a fault */

typedef enum stop { RUNNING, AT_BARRIER, AT_SHUFFLE, ENDED, FAULT } stop;

typedef struct thread {
  uint32_t *words, *flags;
  uint64_t *longs;
  uint16_t *halves;
  unsigned char *local;
  uint32_t at; /* line */
  stop is;
  uint32_t given, taken; /* of a shuffle: the value, the lane */
} thread;

typedef struct runner {
  ptx_program *p;
  const ptx_launch *l;
  thread *threads;
  unsigned char *shared;
  uint32_t group_x, group_y;
  unsigned char *params;
  char *text;
} runner;

static stop fault(runner *r, const ptx_line *i, const char *what, uint64_t v) {
  snprintf(r->text, 256, "kernel %s, PTX line %u: %s %#llx", r->p->name, (unsigned)i->number, what,
           (unsigned long long)v);
  return FAULT;
}

/* ---- operands ---- */

static uint32_t word(const thread *t, const ptx_operand *x) { return x->kind == PTX_NUMBER ? x->v : t->words[x->v]; }
static float real(const thread *t, const ptx_operand *x) { return rlx_f32_from_bits(word(t, x)); }

static uint32_t special(const runner *r, const thread *t, const ptx_operand *x) {
  const uint32_t tid = (uint32_t)(t - r->threads);
  if (x->kind == PTX_NUMBER) return x->v;
  if (x->kind == PTX_PLACE) return x->offset;
  switch ((ptx_special)x->v) {
    case PTX_TID: return tid;
    case PTX_CTAID_X: return r->group_x;
    case PTX_CTAID_Y: return r->group_y;
    case PTX_NCTAID_X: return r->l->grid_x;
    case PTX_LANE: return tid % WARP;
    case PTX_ONE: return 1;
    default: return 0;
  }
}

/* ---- memory ---- */

/* A store writes the range, a load may find bytes that nothing wrote. */
static void follow(const runner *r, const ptx_line *i, const ptx_memory *m, uint64_t at, size_t bytes) {
  unsigned char *written = m->written ? m->written + (at - m->address) : NULL;
  const bool is_load = i->op == PTX_OP_LD_GLOBAL || i->op == PTX_OP_LD_GLOBAL2 || i->op == PTX_OP_LD_GLOBAL4;
  if (!written) return;
  if (!is_load) memset(written, 1, bytes);
  else if (memchr(written, 0, bytes) && !*r->text)
    snprintf(r->text, 256, "kernel %s, PTX line %u: byte %llu of window %d is read, and nothing wrote it", r->p->name,
             (unsigned)i->number, (unsigned long long)(at - m->address), (int)(m - r->l->memory));
}

static unsigned char *in_windows(const runner *r, ptx_line *i, uint64_t at, size_t bytes) {
  for (uint32_t k = 0; k < r->p->n_windows; k++) {
    const uint32_t which = (i->hint + k) % r->p->n_windows;
    const ptx_memory *m = &r->l->memory[which];
    if (!m->host || at < m->address || at - m->address > m->bytes || bytes > m->bytes - (at - m->address)) continue;
    i->hint = which;
    follow(r, i, m, at, bytes);
    return m->host + (at - m->address);
  }
  return NULL;
}

/* Tables are only read. */
static unsigned char *in_tables(const runner *r, const ptx_line *i, uint64_t at, size_t bytes) {
  const size_t limit = 4 * r->p->n_table_words;
  const bool is_load = i->op == PTX_OP_LD_GLOBAL || i->op == PTX_OP_LD_GLOBAL2 || i->op == PTX_OP_LD_GLOBAL4;
  return is_load && at <= limit && bytes <= limit - at ? (unsigned char *)r->p->tables + at : NULL;
}

/* n words at an address; space: 0 global, 1 shared, 2 local. */
static unsigned char *locate(runner *r, thread *t, ptx_line *i, const ptx_operand *x, int space, uint32_t n) {
  const uint64_t at = x->kind == PTX_IN_WORD   ? (uint32_t)(t->words[x->v] + x->offset)
                      : x->kind == PTX_IN_LONG ? t->longs[x->v] + x->offset
                      : x->kind == PTX_TABLE   ? TABLES + x->offset
                                               : x->offset;
  const size_t bytes = 4 * (size_t)n, limit = space == 1 ? r->p->shared_bytes : r->p->local_bytes;
  if (at % bytes) return fault(r, i, "a misaligned address,", at), NULL;
  unsigned char *p = space == 0 ? (at >= TABLES ? in_tables(r, i, at - TABLES, bytes) : in_windows(r, i, at, bytes))
                     : at <= limit && bytes <= limit - at ? (space == 1 ? r->shared : t->local) + at
                                                          : NULL;
  if (!p) fault(r, i, "an address outside of memory,", at);
  return p;
}

static stop load(runner *r, thread *t, ptx_line *i, int space) {
  const uint32_t n = i->n - 1u;
  const unsigned char *p = locate(r, t, i, &i->x[n], space, n);
  for (uint32_t k = 0; p && k < n; k++) memcpy(&t->words[i->x[k].v], p + 4 * (size_t)k, 4);
  return p ? RUNNING : FAULT;
}

static stop store(runner *r, thread *t, ptx_line *i, int space) {
  const uint32_t n = i->n - 1u;
  unsigned char *p = locate(r, t, i, &i->x[0], space, n);
  for (uint32_t k = 0; p && k < n; k++) {
    const uint32_t v = word(t, &i->x[1 + k]);
    memcpy(p + 4 * (size_t)k, &v, 4);
  }
  return p ? RUNNING : FAULT;
}

/* ---- arithmetic ---- */

static uint32_t to_unsigned(float x) { return x != x || x <= 0 ? 0 : x >= 4294967296.0f ? UINT32_MAX : (uint32_t)x; }
static uint32_t to_signed(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0f ? INT32_MAX : x <= -2147483648.0f ? (uint32_t)INT32_MIN : (uint32_t)(int32_t)x;
}

/* The smaller one, or the one that is not NaN; -0 is smaller than 0. */
static float smaller(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static uint32_t shift_signed(uint32_t a, uint32_t n) {
  const uint32_t by = n > 31 ? 31 : n;
  return a >> by | (a >> 31 && by ? UINT32_MAX << (32 - by) : 0);
}

static uint32_t bit_field(uint32_t a, uint32_t at, uint32_t n, bool is_signed) {
  at &= 255, n &= 255;
  uint32_t v = at > 31 ? 0 : a >> at;
  if (n == 0) return 0;
  if (n < 32) v &= (1u << n) - 1;
  return is_signed && n < 32 && v >> (n - 1) ? v | UINT32_MAX << n : v;
}

static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 4; k++) c += (uint32_t)((int32_t)(int8_t)(a >> 8 * k) * (int32_t)(int8_t)(b >> 8 * k));
  return c;
}

static uint32_t count_ones(uint32_t x) {
  uint32_t n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}

static uint32_t first_one(uint32_t x) {
  uint32_t n = UINT32_MAX;
  for (; x; x >>= 1) n++;
  return n;
}

static int32_t divide(int32_t a, int32_t b, bool remains) {
  if (b == 0) return -1;
  if (b == -1) return remains ? 0 : (int32_t)(0 - (uint32_t)a);
  return remains ? a % b : a / b;
}

/* ---- a thread ---- */

#define A word(t, x + 1)
#define B word(t, x + 2)
#define C word(t, x + 3)
#define FA real(t, x + 1)
#define FB real(t, x + 2)
#define SA ((int32_t)A)
#define SB ((int32_t)B)
#define SET(y) t->words[x->v] = (y)
#define SET_F(y) t->words[x->v] = rlx_f32_bits(y)
#define FLAG(y) t->flags[x->v] = (y)
#define P(k) t->flags[x[k].v]

static stop step(runner *r, thread *t, ptx_line *i) {
  const ptx_operand *x = i->x;
  switch (i->op) {
    case PTX_OP_MOV_B32: SET(A); break;
    case PTX_OP_MOV_U32: SET(special(r, t, x + 1)); break;
    case PTX_OP_MOV_U64: t->longs[x->v] = x[1].offset + (x[1].kind == PTX_TABLE ? TABLES : 0); break;
    case PTX_OP_MOV_PRED: FLAG(P(1)); break;
    case PTX_OP_PACK: SET(t->halves[x[1].v] | (uint32_t)t->halves[x[2].v] << 16); break;
    case PTX_OP_UNPACK:
      t->halves[x[0].v] = (uint16_t)B;
      t->halves[x[1].v] = (uint16_t)(B >> 16);
      break;
    case PTX_OP_LD_PARAM_U64: memcpy(&t->longs[x->v], r->params + x[1].offset, 8); break;
    case PTX_OP_LD_PARAM: memcpy(&t->words[x->v], r->params + x[1].offset, 4); break;
    case PTX_OP_CVTA: t->longs[x->v] = t->longs[x[1].v]; break;
    case PTX_OP_LD_GLOBAL:
    case PTX_OP_LD_GLOBAL2:
    case PTX_OP_LD_GLOBAL4: return load(r, t, i, 0);
    case PTX_OP_ST_GLOBAL:
    case PTX_OP_ST_GLOBAL2:
    case PTX_OP_ST_GLOBAL4: return store(r, t, i, 0);
    case PTX_OP_LD_SHARED:
    case PTX_OP_LD_SHARED2:
    case PTX_OP_LD_SHARED4: return load(r, t, i, 1);
    case PTX_OP_ST_SHARED:
    case PTX_OP_ST_SHARED2:
    case PTX_OP_ST_SHARED4: return store(r, t, i, 1);
    case PTX_OP_LD_LOCAL:
    case PTX_OP_LD_LOCAL2:
    case PTX_OP_LD_LOCAL4: return load(r, t, i, 2);
    case PTX_OP_ST_LOCAL:
    case PTX_OP_ST_LOCAL2:
    case PTX_OP_ST_LOCAL4: return store(r, t, i, 2);
    case PTX_OP_MAD_LO: SET(A * B + C); break;
    case PTX_OP_MAD_WIDE_U: t->longs[x->v] = (uint64_t)A * B + t->longs[x[3].v]; break;
    case PTX_OP_MAD_WIDE_S: t->longs[x->v] = (uint64_t)((int64_t)SA * SB) + t->longs[x[3].v]; break;
    case PTX_OP_F_TO_U: SET(to_unsigned(FA)); break;
    case PTX_OP_F_TO_S: SET(to_signed(FA)); break;
    case PTX_OP_S_TO_F: SET_F((float)SA); break;
    case PTX_OP_U_TO_F: SET_F((float)A); break;
    case PTX_OP_ROUND: SET_F(nearbyintf(FA)); break;
    case PTX_OP_TRUNC: SET_F(truncf(FA)); break;
    case PTX_OP_FLOOR: SET_F(floorf(FA)); break;
    case PTX_OP_CEIL: SET_F(ceilf(FA)); break;
    case PTX_OP_F_TO_H: t->halves[x->v] = rlx_f32_to_f16(FA); break;
    case PTX_OP_H_TO_F: SET_F(rlx_f16_to_f32(t->halves[x[1].v])); break;
    case PTX_OP_NEG: SET(0 - A); break;
    case PTX_OP_NEG_F: SET(A ^ 0x80000000u); break;
    case PTX_OP_ABS_F: SET(A & 0x7fffffffu); break;
    case PTX_OP_ADD: SET(A + B); break;
    case PTX_OP_SUB: SET(A - B); break;
    case PTX_OP_MUL: SET(A * B); break;
    case PTX_OP_MUL_HI: SET((uint32_t)((uint64_t)A * B >> 32)); break;
    case PTX_OP_DIV_U: SET(B ? A / B : UINT32_MAX); break;
    case PTX_OP_DIV_S: SET((uint32_t)divide(SA, SB, false)); break;
    case PTX_OP_REM_U: SET(B ? A % B : A); break;
    case PTX_OP_REM_S: SET((uint32_t)divide(SA, SB, true)); break;
    case PTX_OP_ADD_F: SET_F(FA + FB); break;
    case PTX_OP_SUB_F: SET_F(FA - FB); break;
    case PTX_OP_MUL_F: SET_F(FA * FB); break;
    case PTX_OP_DIV_F: SET_F(FA / FB); break;
    case PTX_OP_FMA: SET_F(fmaf(FA, FB, real(t, x + 3))); break;
    case PTX_OP_SQRT: SET_F(sqrtf(FA)); break;
    case PTX_OP_RSQRT: SET_F((float)(1.0 / sqrt(FA))); break;
    case PTX_OP_EX2: SET_F(exp2f(FA)); break;
    case PTX_OP_MIN_F: SET_F(smaller(FA, FB)); break;
    case PTX_OP_MAX_F: SET_F(-smaller(-FA, -FB)); break;
    case PTX_OP_MIN_U: SET(A < B ? A : B); break;
    case PTX_OP_MAX_U: SET(A > B ? A : B); break;
    case PTX_OP_MIN_S: SET(SA < SB ? A : B); break;
    case PTX_OP_MAX_S: SET(SA > SB ? A : B); break;
    case PTX_OP_SHR_U: SET(B > 31 ? 0 : A >> B); break;
    case PTX_OP_SHR_S: SET(shift_signed(A, B)); break;
    case PTX_OP_SHL: SET(B > 31 ? 0 : A << B); break;
    case PTX_OP_OR: SET(A | B); break;
    case PTX_OP_XOR: SET(A ^ B); break;
    case PTX_OP_AND: SET(A & B); break;
    case PTX_OP_NOT: SET(~A); break;
    case PTX_OP_BFE_S: SET(bit_field(A, B, C, true)); break;
    case PTX_OP_BFE_U: SET(bit_field(A, B, C, false)); break;
    case PTX_OP_POPC: SET(count_ones(A)); break;
    case PTX_OP_BFIND: SET(first_one(A)); break;
    case PTX_OP_DP4A: SET(dot4(A, B, C)); break;
    case PTX_OP_OR_P: FLAG(P(1) | P(2)); break;
    case PTX_OP_XOR_P: FLAG(P(1) ^ P(2)); break;
    case PTX_OP_AND_P: FLAG(P(1) & P(2)); break;
    case PTX_OP_NOT_P: FLAG(!P(1)); break;
    case PTX_OP_SELP: SET(P(3) ? A : B); break;
    case PTX_OP_EQ: FLAG(A == B); break;
    case PTX_OP_NE: FLAG(A != B); break;
    case PTX_OP_GT_U: FLAG(A > B); break;
    case PTX_OP_GE_U: FLAG(A >= B); break;
    case PTX_OP_LT_U: FLAG(A < B); break;
    case PTX_OP_LE_U: FLAG(A <= B); break;
    case PTX_OP_GT_S: FLAG(SA > SB); break;
    case PTX_OP_GE_S: FLAG(SA >= SB); break;
    case PTX_OP_LT_S: FLAG(SA < SB); break;
    case PTX_OP_LE_S: FLAG(SA <= SB); break;
    case PTX_OP_EQ_F: FLAG(FA == FB); break;
    case PTX_OP_NE_F: FLAG(FA < FB || FA > FB); break;
    case PTX_OP_GT_F: FLAG(FA > FB); break;
    case PTX_OP_GE_F: FLAG(FA >= FB); break;
    case PTX_OP_LT_F: FLAG(FA < FB); break;
    case PTX_OP_LE_F: FLAG(FA <= FB); break;
    case PTX_OP_EQ_N: FLAG(!(FA < FB || FA > FB)); break;
    case PTX_OP_NE_N: FLAG(FA != FB); break;
    case PTX_OP_GT_N: FLAG(!(FA <= FB)); break;
    case PTX_OP_GE_N: FLAG(!(FA < FB)); break;
    case PTX_OP_LT_N: FLAG(!(FA >= FB)); break;
    case PTX_OP_LE_N: FLAG(!(FA > FB)); break;
    case PTX_OP_SHUFFLE_XOR:
    case PTX_OP_SHUFFLE:
      t->given = A;
      t->taken = i->op == PTX_OP_SHUFFLE ? B % WARP : ((uint32_t)(t - r->threads) % WARP) ^ (B % WARP);
      return AT_SHUFFLE;
    case PTX_OP_BRA: t->at = i->target; break;
    case PTX_OP_BARRIER: return AT_BARRIER;
    case PTX_OP_RET: return ENDED;
    default: return fault(r, i, "a trap,", i->op);
  }
  return RUNNING;
}

static void run_thread(runner *r, thread *t) {
  uint64_t steps = 0;
  while (t->is == RUNNING) {
    if (t->at >= r->p->n_lines) {
      t->is = ENDED;
      return;
    }
    ptx_line *i = &r->p->lines[t->at++];
    if (i->guard && (t->flags[i->flag] != 0) != (i->guard > 0)) continue;
    t->is = ++steps > MAX_STEPS ? fault(r, i, "an endless loop,", steps) : step(r, t, i);
  }
}

/* ---- a block ---- */

/* Lets a warp that has come to a shuffle go on; false: a part of it has not come there. */
static bool exchange(runner *r, thread *warp, uint32_t n) {
  const thread *first = NULL;
  for (uint32_t k = 0; k < n; k++) {
    if (warp[k].is == ENDED) continue;
    if (!first) first = &warp[k];
    if (warp[k].is == first->is && warp[k].at == first->at) continue;
    fault(r, &r->p->lines[first->at - 1], "a shuffle without thread", (uint64_t)(&warp[k] - r->threads));
    return false;
  }
  if (!first || first->is != AT_SHUFFLE) return true;
  for (uint32_t k = 0; k < n; k++) {
    if (warp[k].is == ENDED) continue;
    const uint32_t from = warp[k].taken < n ? warp[k].taken : k;
    warp[k].words[r->p->lines[warp[k].at - 1].x[0].v] = warp[from].given;
  }
  for (uint32_t k = 0; k < n; k++)
    if (warp[k].is == AT_SHUFFLE) warp[k].is = RUNNING;
  return true;
}

static bool run_warp(runner *r, thread *warp, uint32_t n) {
  for (;;) {
    bool has_shuffle = false;
    for (uint32_t k = 0; k < n; k++) {
      run_thread(r, &warp[k]);
      if (warp[k].is == FAULT) return false;
      has_shuffle |= warp[k].is == AT_SHUFFLE;
    }
    if (!has_shuffle) return true;
    if (!exchange(r, warp, n)) return false;
  }
}

static bool run_group(runner *r) {
  const uint32_t n = r->p->group_size;
  memset(r->shared, PATTERN, r->p->shared_bytes);
  for (uint32_t k = 0; k < n; k++) r->threads[k].at = 0, r->threads[k].is = RUNNING;
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (uint32_t k = 0; k < n; k += WARP)
      if (!run_warp(r, r->threads + k, n - k < WARP ? n - k : WARP)) return false;
    for (uint32_t k = 0; k < n; k++) {
      if (r->threads[k].is == ENDED) continue;
      r->threads[k].is = RUNNING;
      is_done = false;
    }
  }
  return true;
}

/* ---- launches ---- */

static void make_thread(const ptx_program *p, unsigned char *memory, size_t local_bytes, thread *t) {
  t->longs = (uint64_t *)(void *)memory;
  t->local = (unsigned char *)(t->longs + p->n_longs);
  t->words = (uint32_t *)(void *)(t->local + local_bytes);
  t->flags = t->words + p->n_words;
  t->halves = (uint16_t *)(t->flags + p->n_flags);
}

bool ptx_run(ptx_program *p, const ptx_launch *l, char text[256]) {
  const size_t local = (p->local_bytes + 15u) / 16 * 16;
  const size_t each =
    (8 * (size_t)p->n_longs + local + 4 * ((size_t)p->n_words + p->n_flags) + 2 * p->n_halves + 15) / 16 * 16;
  runner r = {.p = p, .l = l, .text = text};
  unsigned char *memory = fake_new(each * p->group_size);
  memset(memory, PATTERN, each * p->group_size);
  r.threads = fake_new(p->group_size * sizeof *r.threads);
  r.shared = fake_new(p->shared_bytes);
  r.params = fake_new(8 * p->n_windows + p->params_bytes);
  for (uint32_t k = 0; k < p->group_size; k++) make_thread(p, memory + each * k, local, &r.threads[k]);
  memcpy(r.params, l->windows, 8 * p->n_windows);
  memcpy(r.params + 8 * p->n_windows, l->params, p->params_bytes);
  bool ok = true;
  for (r.group_y = 0; ok && r.group_y < l->grid_y; r.group_y++)
    for (r.group_x = 0; ok && r.group_x < l->grid_x; r.group_x++) ok = run_group(&r);
  free(r.params);
  free(r.shared);
  free(r.threads);
  free(memory);
  return ok;
}
