/* Vocabularies: spellings to ids and back, and the trie of tokens that are cut out of text.
 *
 * All spellings are in one block, indexed by an open-addressing hash table. The hash is incremental, so a search for
 * the longest token at a position hashes each byte once. */
#include <string.h>

#include "text/text.h"

uint64_t text_hash(uint64_t h, const char *p, size_t n) {
  for (size_t i = 0; i < n; i++) h = text_hash_byte(h, p[i]);
  return h;
}

/* The multiplication moves differences to the high bits, but the table uses the low bits. */
static size_t slot_of(uint64_t hash) { return (size_t)(hash ^ hash >> 29); }

int32_t text_find_hashed(const text_vocab *v, uint64_t hash, const char *p, size_t n) {
  if (n > v->longest || !v->slots) return -1;
  for (size_t at = slot_of(hash);; at++) {
    uint32_t slot = v->slots[at & v->mask];
    if (slot == 0) return -1;
    text_span s = text_spelling(v, slot - 1);
    if (s.n == n && memcmp(s.p, p, n) == 0) return (int32_t)(slot - 1);
  }
}

int32_t text_find(const text_vocab *v, const char *p, size_t n) {
  return n > v->longest ? -1 : text_find_hashed(v, text_hash(v->seed, p, n), p, n);
}

void text_vocab_deinit(text_vocab *v) {
  rlx_mem_free(v->pool);
  rlx_mem_free(v->starts);
  rlx_mem_free(v->flags);
  rlx_mem_free(v->scores);
  rlx_mem_free(v->fine_scores);
  rlx_mem_free(v->slots);
  *v = (text_vocab){0};
}

/* ---- The trie ------------------------------------------------------------------------------------------------ */

static rlx_status add_node(text_tree *t, char byte, uint32_t next, uint32_t *out) {
  if (t->nodes.n == 0 && !rlx_array_push(&t->nodes, ((text_tree_node){.id = -1})))
    return RLX_FAIL(RLX_NO_MEMORY, "special tokens");
  if (!rlx_array_push(&t->nodes, ((text_tree_node){.next = next, .id = -1, .byte = byte})))
    return RLX_FAIL(RLX_NO_MEMORY, "special tokens");
  *out = (uint32_t)t->nodes.n - 1;
  return RLX_OK;
}

rlx_status text_tree_add(text_tree *t, text_span s, int32_t id) {
  if (s.n == 0) return RLX_OK;
  uint32_t at = t->root[(unsigned char)s.p[0]];
  if (!at) {
    RLX_TRY(add_node(t, s.p[0], 0, &at));
    t->root[(unsigned char)s.p[0]] = at;
  }
  for (size_t i = 1; i < s.n; i++) {
    uint32_t child = t->nodes.v[at].child;
    while (child && t->nodes.v[child].byte != s.p[i]) child = t->nodes.v[child].next;
    if (!child) {
      RLX_TRY(add_node(t, s.p[i], t->nodes.v[at].child, &child));
      t->nodes.v[at].child = child;
    }
    at = child;
  }
  t->nodes.v[at].id = id;
  return RLX_OK;
}

void text_tree_deinit(text_tree *t) { rlx_array_deinit(&t->nodes); }
