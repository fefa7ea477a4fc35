/* The table of blocks that came from sources: hash tables with open addressing, in parts with a lock each, so that
 * threads seldom meet. Its own memory is the heap's. */
#include "base/mem_source.h"

#include <stdlib.h>

#include "base/os.h"

struct rlx_mem_source {
  atomic_size_t refs; /* its owner's, and one per block */
  rlx_alloc_fn alloc;
  rlx_dealloc_fn dealloc;
  void *user;
};

typedef struct slot {
  const void *p; /* NULL: free */
  rlx_mem_piece piece;
} slot;

typedef struct part {
  rlx_mutex lock;
  slot *v;
  size_t n, cap; /* cap is a power of two, or 0 */
} part;

enum { N_PARTS = 16, FIRST_SLOTS = 64 };
/* clang-format off */
static part parts[N_PARTS] = {
#define PART {.lock = RLX_MUTEX_INIT}
  PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART, PART,
#undef PART
};
/* clang-format on */
atomic_size_t rlx_mem_pieces;
static _Thread_local rlx_mem_source *current;

/* The list is not being changed while the process forks. */
static void hold_parts(void) {
  for (size_t i = 0; i < N_PARTS; i++) rlx_mutex_lock(&parts[i].lock);
}
static void free_parts(void) {
  for (size_t i = 0; i < N_PARTS; i++) rlx_mutex_unlock(&parts[i].lock);
}
__attribute__((constructor)) static void survive_fork(void) { rlx_os_at_fork(hold_parts, free_parts, free_parts); }

/* ---- sources ---- */

rlx_mem_source *rlx_mem_source_create(rlx_alloc_fn alloc, rlx_dealloc_fn dealloc, void *user) {
  rlx_mem_source *s = malloc(sizeof *s);
  if (!s) return NULL;
  *s = (rlx_mem_source){.alloc = alloc, .dealloc = dealloc, .user = user};
  atomic_init(&s->refs, 1);
  return s;
}

void rlx_mem_source_release(rlx_mem_source *s) {
  if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) free(s);
}

rlx_mem_source *rlx_mem_use(rlx_mem_source *s) {
  rlx_mem_source *before = current;
  current = s;
  return before;
}

rlx_mem_source *rlx_mem_source_now(void) { return current; }

/* ---- the table ---- */

static uint64_t hash_of(const void *p) { return (uint64_t)((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u; }

static part *part_of(const void *p) { return &parts[hash_of(p) >> 60]; }

static size_t home_of(const void *p, size_t cap) { return (size_t)(hash_of(p) >> 20) & (cap - 1); }

/* Where p is, or would be. */
static size_t place_of(const part *t, const void *p) {
  size_t i = home_of(p, t->cap);
  while (t->v[i].p && t->v[i].p != p) i = (i + 1) & (t->cap - 1);
  return i;
}

static bool make_room(part *t) {
  if (t->n * 2 < t->cap) return true;
  part larger = {.cap = t->cap ? t->cap * 2 : FIRST_SLOTS};
  if (!(larger.v = calloc(larger.cap, sizeof *larger.v))) return false;
  for (size_t i = 0; i < t->cap; i++)
    if (t->v[i].p) larger.v[place_of(&larger, t->v[i].p)] = t->v[i];
  free(t->v);
  t->v = larger.v;
  t->cap = larger.cap;
  return true;
}

static bool insert(const void *p, const rlx_mem_piece *piece) {
  part *t = part_of(p);
  rlx_mutex_lock(&t->lock);
  bool ok = make_room(t);
  if (ok) {
    t->v[place_of(t, p)] = (slot){p, *piece};
    t->n++;
  }
  rlx_mutex_unlock(&t->lock);
  return ok;
}

/* Takes p out; those behind it that it kept from their places move up. */
static rlx_mem_piece take_out(const void *p) {
  part *t = part_of(p);
  rlx_mutex_lock(&t->lock);
  size_t mask = t->cap - 1, hole = place_of(t, p);
  rlx_mem_piece piece = t->v[hole].piece;
  for (size_t i = (hole + 1) & mask; t->v[i].p; i = (i + 1) & mask) {
    size_t home = home_of(t->v[i].p, t->cap);
    if (((i - home) & mask) < ((i - hole) & mask)) continue; /* it has no way back past the hole */
    t->v[hole] = t->v[i];
    hole = i;
  }
  t->v[hole] = (slot){0};
  if (--t->n == 0) {
    free(t->v);
    t->v = NULL;
    t->cap = 0;
  }
  rlx_mutex_unlock(&t->lock);
  return piece;
}

bool rlx_mem_source_look(const void *p, rlx_mem_piece *out) {
  part *t = part_of(p);
  rlx_mutex_lock(&t->lock);
  const slot *at = t->cap ? &t->v[place_of(t, p)] : NULL;
  bool found = at && at->p;
  if (found) *out = at->piece;
  rlx_mutex_unlock(&t->lock);
  return found;
}

/* ---- blocks ---- */

void *rlx_mem_source_alloc(rlx_mem_source *s, size_t bytes, size_t align) {
  rlx_mem_piece piece = {s, bytes ? bytes : 1, align};
  void *p = s->alloc(s->user, piece.bytes, align);
  if (!p) return NULL;
  if ((uintptr_t)p % align || !insert(p, &piece)) { /* misaligned memory is none */
    s->dealloc(s->user, p, piece.bytes, align);
    return NULL;
  }
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&rlx_mem_pieces, 1, memory_order_relaxed);
  return p;
}

void rlx_mem_source_free(void *p) {
  rlx_mem_piece piece = take_out(p);
  atomic_fetch_sub_explicit(&rlx_mem_pieces, 1, memory_order_relaxed);
  piece.source->dealloc(piece.source->user, p, piece.bytes, piece.align);
  rlx_mem_source_release(piece.source);
}
