/* The vocabulary as a trie of the bytes that tokens add to a text.
 *
 * Only tokens that are text are in it: no special token, and none that adds nothing, as a text would not get further by
 * it. The nodes lie in the order of a walk, parents first, so a walk reads memory forwards and skips what is below a
 * node in one step. A tokenizer keeps its trie, as it is the same for all grammars. */
#include <stdlib.h>
#include <string.h>

#include "base/mem_source.h"
#include "text/grammar.h"
#include "text/text.h"

enum { MAX_TOKEN_BYTES = 4096, NOT_TEXT = TOKEN_CONTROL | TOKEN_UNKNOWN | TOKEN_UNUSED | TOKEN_END | TOKEN_NOT_TEXT };

typedef struct entry {
  const char *p;
  uint32_t n;
  int32_t id;
} entry;

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const uint32_t n = x->n < y->n ? x->n : y->n;
  int order = n ? memcmp(x->p, y->p, n) : 0;
  if (order) return order;
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "a vocabulary for grammars"); }

static rlx_status collect_bytes(grammar_vocab *v, const rlx_tokenizer *t) {
  rlx_str all = {0};
  rlx_str_add_bytes(&all, "", 0);
  for (uint32_t i = 0; i < v->n_tokens && !all.failed; i++) {
    const size_t before = all.n;
    v->starts[i] = (uint32_t)before;
    if (t->vocab.flags[i] & TOKEN_END && !rlx_array_push(&v->ends, (int32_t)i)) all.failed = true;
    if (!(t->vocab.flags[i] & NOT_TEXT)) text_token_bytes(t, i, false, &all);
    if (!all.failed && all.n - before > MAX_TOKEN_BYTES) all.n = before;
    if (!all.failed && all.n > UINT32_MAX / 2) {
      rlx_str_deinit(&all);
      return RLX_FAIL(RLX_LIMIT, "a vocabulary with more than 2^31 bytes");
    }
  }
  v->starts[v->n_tokens] = (uint32_t)all.n;
  v->bytes = all.v;
  return all.failed ? no_memory() : RLX_OK;
}

static uint32_t common_bytes(const entry *a, const entry *b) {
  uint32_t n = 0;
  while (n < a->n && n < b->n && a->p[n] == b->p[n]) n++;
  return n;
}

/* `entries` are sorted, so each branch of the trie is complete before the next one begins. */
static rlx_status build(grammar_vocab *v, const entry *entries, uint32_t n) {
  size_t room = 1;
  uint32_t *path = rlx_mem_calloc((size_t)v->depth + 1, sizeof *path), depth = 0;
  for (uint32_t i = 0; i < n; i++) room += entries[i].n - (i ? common_bytes(&entries[i - 1], &entries[i]) : 0);
  v->nodes = rlx_mem_calloc(room, sizeof *v->nodes);
  if (!path || !v->nodes) {
    rlx_mem_free(path);
    return no_memory();
  }
  v->nodes[0].token = -1;
  v->n_nodes = 1;
  for (uint32_t i = 0; i < n; i++) {
    const entry *e = &entries[i];
    const uint32_t same = i ? common_bytes(e - 1, e) : 0;
    for (; depth > same; depth--) v->nodes[path[depth]].after = v->n_nodes;
    for (; depth < e->n; v->n_nodes++) {
      v->nodes[v->n_nodes].byte = (uint8_t)e->p[depth++];
      v->nodes[v->n_nodes].depth = (uint16_t)depth;
      v->nodes[v->n_nodes].token = -1;
      path[depth] = v->n_nodes;
    }
    grammar_trie_node *last = &v->nodes[path[depth]];
    v->next_same[e->id] = last->token;
    last->token = e->id;
  }
  for (; depth > 0; depth--) v->nodes[path[depth]].after = v->n_nodes;
  v->nodes[0].after = v->n_nodes;
  rlx_mem_free(path);
  return RLX_OK;
}

static rlx_status fill(grammar_vocab *v, const rlx_tokenizer *t) {
  v->n_tokens = t->vocab.n;
  v->starts = rlx_mem_calloc((size_t)v->n_tokens + 1, sizeof *v->starts);
  v->next_same = rlx_mem_calloc(v->n_tokens, sizeof *v->next_same);
  if (!v->starts || !v->next_same) return no_memory();
  RLX_TRY(collect_bytes(v, t));
  entry *entries = rlx_mem_calloc((size_t)v->n_tokens + 1, sizeof *entries);
  if (!entries) return no_memory();
  uint32_t n = 0;
  for (uint32_t i = 0; i < v->n_tokens; i++) {
    const uint32_t bytes = v->starts[i + 1] - v->starts[i];
    v->next_same[i] = -1;
    if (!bytes) continue;
    if (bytes > v->depth) v->depth = bytes;
    entries[n++] = (entry){v->bytes + v->starts[i], bytes, (int32_t)i};
  }
  if (n) qsort(entries, n, sizeof *entries, compare_entries);
  rlx_status s = build(v, entries, n);
  rlx_mem_free(entries);
  return s;
}

void grammar_vocab_release(grammar_vocab *v) {
  if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  rlx_mem_free(v->nodes);
  rlx_mem_free(v->next_same);
  rlx_mem_free(v->starts);
  rlx_mem_free(v->bytes);
  rlx_array_deinit(&v->ends);
  rlx_mem_free(v);
}

static rlx_status make(const rlx_tokenizer *t, grammar_vocab **out) {
  grammar_vocab *v = rlx_new(grammar_vocab);
  if (!v) return no_memory();
  atomic_init(&v->refs, 1);
  rlx_status s = fill(v, t);
  if (s) grammar_vocab_release(v);
  else *out = v;
  return s;
}

rlx_status grammar_vocab_of(const rlx_tokenizer *t, grammar_vocab **out) {
  static rlx_mutex lock = RLX_MUTEX_INIT;
  /* The only member of a tokenizer that changes; `lock` guards it. */
  grammar_vocab **kept = &((rlx_tokenizer *)(uintptr_t)t)->grammar_vocab;
  rlx_mem_source *before = rlx_mem_use(NULL); /* it outlives the call */
  rlx_mutex_lock(&lock);
  rlx_status s = *kept ? RLX_OK : make(t, kept);
  if (!s) atomic_fetch_add_explicit(&(*kept)->refs, 1, memory_order_relaxed);
  *out = s ? NULL : *kept;
  rlx_mutex_unlock(&lock);
  (void)rlx_mem_use(before);
  return s;
}
