/* Byte pair encoding: merges adjacent symbols, best pair first, leftmost among equals, until no pair is left.
 *
 * "Best" depends on the vocabulary. With merges (gpt2) a pair of ids has a rank. With scores (SentencePiece BPE,
 * llama) a pair may merge if its concatenation is a token, and the higher score goes first. Both become a number
 * where lower is better, so one loop serves both: a doubly linked list of symbols and a heap of candidates, with
 * stale candidates dropped when popped. This takes O(n log n) for n symbols, even for a megabyte of one letter.
 * Short pieces, which are nearly all, use linear search instead: that is faster than a heap. */
#include <string.h>

#include "text/text.h"

enum { WALK_AT_MOST = 24 };
#define NONE UINT32_MAX

/* ---- The table of merges ------------------------------------------------------------------------------------- */

/* A multiplication propagates upwards only, so the high bits, where `left` is, are folded down between two of them:
 * vocabularies have thousands of pairs with the same right side. */
static size_t pair_slot(const text_merges *m, uint32_t left, uint32_t right) {
  uint64_t h = (((uint64_t)left << 32 | right) ^ m->seed) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
  return (size_t)(h >> 20);
}

rlx_status text_merges_init(text_merges *m, size_t n) {
  size_t slots = 16;
  if (n >= UINT32_MAX) return RLX_FAIL(RLX_INVALID, "%zu merges: too many", n);
  while (slots < n + n / 2) slots *= 2;
  m->list = rlx_mem_calloc(n, sizeof *m->list);
  m->slots = rlx_mem_calloc(slots, sizeof *m->slots);
  if (!m->list || !m->slots) return RLX_FAIL(RLX_NO_MEMORY, "%zu merges", n);
  m->mask = slots - 1;
  m->seed = rlx_text_hash_seed(m->slots);
  return RLX_OK;
}

void text_merges_deinit(text_merges *m) {
  rlx_mem_free(m->list);
  rlx_mem_free(m->slots);
  *m = (text_merges){0};
}

/* The slot of the pair, or the free slot for it. */
static size_t slot_of(const text_merges *m, uint32_t left, uint32_t right) {
  size_t at = pair_slot(m, left, right) & m->mask;
  for (; m->slots[at]; at = (at + 1) & m->mask) {
    const text_merge *known = &m->list[m->slots[at] - 1];
    if (known->left == left && known->right == right) break;
  }
  return at;
}

bool text_merges_add(text_merges *m, text_merge merge) {
  size_t at = slot_of(m, merge.left, merge.right);
  if (m->slots[at]) return false;
  m->list[m->n++] = merge;
  m->slots[at] = (uint32_t)m->n;
  return true;
}

const text_merge *text_merges_find(const text_merges *m, uint32_t left, uint32_t right) {
  uint32_t place = m->slots[slot_of(m, left, right)];
  return place ? &m->list[place - 1] : NULL;
}

/* ---- What a pair becomes ------------------------------------------------------------------------------------- */

/* Maps a score to an integer in descending order. */
static uint32_t rank_of_score(double score) {
  float f = (float)score;
  uint32_t bits;
  if (f == 0) f = 0; /* -0 becomes 0 */
  memcpy(&bits, &f, sizeof bits);
  return bits >> 31 ? bits : ~(bits | 0x80000000u);
}

/* Rank and result of merging `left` with the next symbol; false: they do not merge. */
static bool pair_of(const text_run *r, const char *text, uint32_t left, uint32_t *rank, int32_t *id) {
  const text_symbol *a = &r->symbols.v[left];
  if (a->next == NONE) return false;
  const text_symbol *b = &r->symbols.v[a->next];
  if (r->t->model == TEXT_SPM) {
    *id = text_find(&r->t->vocab, text + a->start, (size_t)a->bytes + b->bytes);
    if (!text_may_be(r, *id)) return false;
    *rank = rank_of_score(text_score(&r->t->vocab, (uint32_t)*id));
    return true;
  }
  if (a->id < 0 || b->id < 0) return false;
  const text_merge *m = text_merges_find(&r->t->merges, (uint32_t)a->id, (uint32_t)b->id);
  if (!m || !text_may_be(r, (int32_t)m->id)) return false;
  *rank = (uint32_t)(m - r->t->merges.list);
  *id = (int32_t)m->id;
  return true;
}

static void join(text_run *r, uint32_t left, int32_t id) {
  text_symbol *a = &r->symbols.v[left], *b = &r->symbols.v[a->next];
  a->bytes += b->bytes;
  a->id = id;
  a->next = b->next;
  b->bytes = 0;
  if (a->next != NONE) r->symbols.v[a->next].previous = left;
}

/* ---- Linear search and heap ---------------------------------------------------------------------------------- */

static void merge_linear(text_run *r, const char *text) {
  uint32_t ranks[WALK_AT_MOST];
  int32_t ids[WALK_AT_MOST];
  for (uint32_t i = 0; i < r->symbols.n; i++)
    if (!pair_of(r, text, i, &ranks[i], &ids[i])) ids[i] = -1;
  for (;;) {
    uint32_t best = NONE;
    for (uint32_t i = 0; i != NONE; i = r->symbols.v[i].next)
      if (ids[i] >= 0 && (best == NONE || ranks[i] < ranks[best])) best = i;
    if (best == NONE) return;
    join(r, best, ids[best]);
    if (!pair_of(r, text, best, &ranks[best], &ids[best])) ids[best] = -1;
    uint32_t before = r->symbols.v[best].previous;
    if (before != NONE && !pair_of(r, text, before, &ranks[before], &ids[before])) ids[before] = -1;
  }
}

static void sift_up(text_candidate *heap, size_t at) {
  text_candidate c = heap[at];
  for (; at > 0 && heap[(at - 1) / 2].order > c.order; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = c;
}

static text_candidate pop_min(text_run *r) {
  text_candidate *heap = r->heap.v, min = heap[0], c = heap[--r->heap.n];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= r->heap.n) break;
    if (child + 1 < r->heap.n && heap[child + 1].order < heap[child].order) child++;
    if (heap[child].order >= c.order) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = c;
  return min;
}

/* A candidate records the lengths of its two symbols. Lengths only grow, so different lengths mean it is stale. */
static rlx_status push_candidate(text_run *r, const char *text, uint32_t left) {
  uint32_t rank;
  int32_t id;
  if (!pair_of(r, text, left, &rank, &id)) return RLX_OK;
  const text_symbol *a = &r->symbols.v[left];
  text_candidate c = {(uint64_t)rank << 32 | left, a->bytes, r->symbols.v[a->next].bytes, id};
  if (!rlx_array_push(&r->heap, c)) return RLX_FAIL(RLX_NO_MEMORY, "merging");
  sift_up(r->heap.v, r->heap.n - 1);
  return RLX_OK;
}

static rlx_status merge_by_heap(text_run *r, const char *text) {
  r->heap.n = 0;
  for (uint32_t i = 0; i + 1 < r->symbols.n; i++) RLX_TRY(push_candidate(r, text, i));
  while (r->heap.n > 0) {
    text_candidate c = pop_min(r);
    uint32_t left = (uint32_t)c.order;
    const text_symbol *a = &r->symbols.v[left];
    if (a->bytes != c.left_bytes || a->next == NONE || r->symbols.v[a->next].bytes != c.right_bytes) continue;
    join(r, left, c.id);
    RLX_TRY(push_candidate(r, text, left));
    if (r->symbols.v[left].previous != NONE) RLX_TRY(push_candidate(r, text, r->symbols.v[left].previous));
  }
  return RLX_OK;
}

/* ---- A piece ------------------------------------------------------------------------------------------------- */

/* Byte-level: one symbol per byte. Otherwise one per character; for invalid UTF-8, the length that its first byte
 * indicates. */
static rlx_status fill_symbols(text_run *r, text_span piece) {
  static const uint8_t length_of[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  const rlx_tokenizer *t = r->t;
  bool by_bytes = t->byte_level && !t->is_spelled;
  r->symbols.n = 0;
  if (piece.n >= NONE)
    return RLX_FAIL(RLX_UNSUPPORTED, "a piece of %zu bytes: at most 4 GiB can be merged as one", piece.n);
  for (size_t at = 0; at < piece.n;) {
    size_t bytes = by_bytes ? 1 : length_of[(unsigned char)piece.p[at] >> 4];
    if (bytes > piece.n - at) bytes = piece.n - at;
    uint32_t index = (uint32_t)r->symbols.n;
    text_symbol s = {.start = (uint32_t)at, .bytes = (uint32_t)bytes, .previous = index ? index - 1 : NONE};
    s.id = by_bytes ? t->byte_ids[(unsigned char)piece.p[at]] : text_find(&t->vocab, piece.p + at, bytes);
    if (!by_bytes && !text_may_be(r, s.id)) s.id = -1;
    at += bytes;
    s.next = at < piece.n ? index + 1 : NONE;
    if (!rlx_array_push(&r->symbols, s)) return RLX_FAIL(RLX_NO_MEMORY, "merging %zu bytes", piece.n);
  }
  return RLX_OK;
}

rlx_status text_merge_piece(text_run *r, text_span piece) {
  RLX_TRY(fill_symbols(r, piece));
  if (r->symbols.n == 0) return RLX_OK;
  if (r->symbols.n <= WALK_AT_MOST) merge_linear(r, piece.p);
  else RLX_TRY(merge_by_heap(r, piece.p));
  bool unknown_before = false;
  for (uint32_t i = 0; i != NONE; i = r->symbols.v[i].next) {
    const text_symbol *s = &r->symbols.v[i];
    bool is_unknown = s->id < 0;
    if (!is_unknown) RLX_TRY(text_push(r, s->id));
    else if (r->t->byte_fallback || (r->t->byte_level && !r->t->is_spelled))
      RLX_TRY(text_push_bytes(r, (text_span){piece.p + s->start, s->bytes}));
    else if (!(unknown_before && r->t->fuse_unknown)) RLX_TRY(text_push_unknown(r));
    unknown_before = is_unknown;
  }
  return RLX_OK;
}
