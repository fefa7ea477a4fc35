/* The pool of pages.h: a list of free pages, and a hash table of the tree's nodes by parent and tokens. */
#include "model/pages.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"

typedef struct page {
  uint32_t counted;  /* requests that use it */
  uint32_t parent;   /* in the tree */
  uint32_t children; /* in the tree */
  uint32_t next;     /* in its bucket, or in the list of free pages */
  uint32_t n;        /* tokens of one in the tree; those of full ones alone are in the hash table */
  bool is_published; /* it is in the tree */
  uint64_t used_at;
} page;

struct lm_pages {
  uint32_t n, size, free; /* free: first of the list */
  uint32_t n_available;   /* free, or in the tree and uncounted */
  uint32_t n_buckets;     /* a power of two */
  uint64_t now;
  page *pages;
  int32_t *tokens; /* [n, size] of those in the tree */
  uint32_t *buckets;
};

rlx_status lm_pages_create(uint32_t n_pages, uint32_t size, lm_pages **out) {
  lm_pages *p = *out = rlx_new(lm_pages);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "pages");
  *p = (lm_pages){.n = n_pages, .size = size, .n_buckets = 16};
  while (p->n_buckets < n_pages && p->n_buckets < 1u << 30) p->n_buckets *= 2;
  p->pages = rlx_mem_calloc(n_pages, sizeof *p->pages);
  p->buckets = rlx_mem_calloc(p->n_buckets, sizeof *p->buckets);
  p->tokens = rlx_mem_calloc((size_t)n_pages * size, sizeof *p->tokens);
  if (!p->pages || !p->buckets || !p->tokens) {
    lm_pages_destroy(p);
    *out = NULL;
    return RLX_FAIL(RLX_NO_MEMORY, "a table of %u pages", (unsigned)n_pages);
  }
  lm_pages_forget(p);
  return RLX_OK;
}

void lm_pages_destroy(lm_pages *p) {
  if (!p) return;
  rlx_mem_free(p->pages);
  rlx_mem_free(p->buckets);
  rlx_mem_free(p->tokens);
  rlx_mem_free(p);
}

uint32_t lm_pages_size(const lm_pages *p) { return p->size; }
uint32_t lm_pages_available(const lm_pages *p) { return p->n_available; }

static void add_free(lm_pages *p, uint32_t at) {
  p->pages[at].next = p->free;
  p->free = at;
}

void lm_pages_forget(lm_pages *p) {
  for (uint32_t i = 0; i < p->n_buckets; i++) p->buckets[i] = LM_NO_PAGE;
  p->free = LM_NO_PAGE;
  p->n_available = 0;
  for (uint32_t i = p->n; i-- > 0;) {
    p->pages[i].is_published = false;
    p->pages[i].children = 0;
    if (p->pages[i].counted) continue;
    add_free(p, i);
    p->n_available++;
  }
}

/* ---- The tree ---- */

static int32_t *tokens_of(lm_pages *p, uint32_t at) { return p->tokens + (size_t)at * p->size; }

static uint32_t *bucket_of(lm_pages *p, uint32_t parent, const int32_t *tokens) {
  uint64_t hash = parent + 0x9e3779b97f4a7c15u;
  for (uint32_t i = 0; i < p->size; i++) hash = (hash ^ (uint32_t)tokens[i]) * 0xff51afd7ed558ccdu, hash ^= hash >> 32;
  return &p->buckets[hash & (p->n_buckets - 1)];
}

static uint32_t look_up(lm_pages *p, uint32_t parent, const int32_t *tokens) {
  uint32_t at = *bucket_of(p, parent, tokens);
  while (at != LM_NO_PAGE &&
         (p->pages[at].parent != parent || memcmp(tokens_of(p, at), tokens, p->size * sizeof *tokens) != 0))
    at = p->pages[at].next;
  return at;
}

static void unpublish(lm_pages *p, uint32_t at) {
  if (p->pages[at].n == p->size) {
    uint32_t *link = bucket_of(p, p->pages[at].parent, tokens_of(p, at));
    while (*link != at) link = &p->pages[*link].next;
    *link = p->pages[at].next;
  }
  if (p->pages[at].parent != LM_NO_PAGE) p->pages[p->pages[at].parent].children--;
  p->pages[at].is_published = false;
}

static void count(lm_pages *p, uint32_t at) {
  if (p->pages[at].counted++ == 0) p->n_available--;
  p->pages[at].used_at = ++p->now;
}

uint32_t lm_pages_find(lm_pages *p, uint32_t parent, const int32_t *tokens) {
  uint32_t at = look_up(p, parent, tokens);
  if (at != LM_NO_PAGE) count(p, at);
  return at;
}

/* The same without counting it. */
static uint32_t find_part(lm_pages *p, uint32_t parent, const int32_t *tokens, uint32_t n, uint32_t *n_common) {
  uint32_t best = LM_NO_PAGE;
  *n_common = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    const page *x = &p->pages[i];
    uint32_t k = 0;
    if (!x->is_published || x->parent != parent) continue;
    while (k < n && k < x->n && tokens_of(p, i)[k] == tokens[k]) k++;
    if (k > *n_common) best = i, *n_common = k;
  }
  return best;
}

uint32_t lm_pages_find_part(lm_pages *p, uint32_t parent, const int32_t *tokens, uint32_t n, uint32_t *n_common) {
  uint32_t at = find_part(p, parent, tokens, n, n_common);
  if (at != LM_NO_PAGE) count(p, at);
  return at;
}

/* Whether the tree has a page behind this parent that begins with these tokens. */
static bool has_such(lm_pages *p, uint32_t parent, const int32_t *tokens, uint32_t n) {
  uint32_t n_common = n;
  if (n == p->size) return look_up(p, parent, tokens) != LM_NO_PAGE;
  return find_part(p, parent, tokens, n, &n_common) != LM_NO_PAGE && n_common == n;
}

void lm_pages_publish(lm_pages *p, uint32_t at, uint32_t parent, const int32_t *tokens, uint32_t n) {
  bool has_parent = parent == LM_NO_PAGE || p->pages[parent].is_published;
  if (p->pages[at].is_published || !has_parent || has_such(p, parent, tokens, n)) return;
  memcpy(tokens_of(p, at), tokens, n * sizeof *tokens);
  p->pages[at].parent = parent;
  p->pages[at].n = n;
  p->pages[at].is_published = true;
  if (n == p->size) {
    uint32_t *bucket = bucket_of(p, parent, tokens);
    p->pages[at].next = *bucket;
    *bucket = at;
  }
  if (parent != LM_NO_PAGE) p->pages[parent].children++;
}

/* ---- Taking and releasing ---- */

/* The leaf of the tree that was used longest ago. Every uncounted page has a leaf below it that is uncounted as well:
 * a request that counts a page counts all before it. */
static uint32_t oldest_leaf(const lm_pages *p) {
  uint32_t oldest = LM_NO_PAGE;
  for (uint32_t i = 0; i < p->n; i++) {
    const page *x = &p->pages[i];
    bool is_leaf = x->is_published && !x->counted && !x->children;
    if (is_leaf && (oldest == LM_NO_PAGE || x->used_at < p->pages[oldest].used_at)) oldest = i;
  }
  return oldest;
}

uint32_t lm_pages_take(lm_pages *p) {
  if (p->free == LM_NO_PAGE) {
    uint32_t oldest = oldest_leaf(p);
    if (oldest == LM_NO_PAGE) return LM_NO_PAGE;
    unpublish(p, oldest);
    add_free(p, oldest);
  }
  uint32_t at = p->free;
  p->free = p->pages[at].next;
  count(p, at);
  return at;
}

void lm_pages_release(lm_pages *p, uint32_t at) {
  p->pages[at].used_at = ++p->now;
  if (--p->pages[at].counted) return;
  p->n_available++;
  if (!p->pages[at].is_published) add_free(p, at);
}
