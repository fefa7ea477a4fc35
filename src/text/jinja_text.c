/* Strings that know where their bytes came from.
 *
 * A string is flat bytes with the ranges of them that are content, or the concatenation of two strings. Concatenation
 * is what templates do most, so it copies nothing: the parts are walked when the string is printed, or joined once when
 * somebody needs its bytes in one piece. All else works on flat strings and makes new ones with a builder, which is
 * given bytes together with their origin.
 *
 * Indexes in the language count characters, here they are bytes: the callers convert (jinja_access.c). A message may
 * hold bytes that are not UTF-8; each of them counts as one character. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "text/jinja.h"

const jinja_text jinja_no_text = {.p = "", .is_ascii = true};

/* ---- Memory, work, failure ---- */

rlx_status jinja_fail(const jinja_run *r, rlx_status code, const char *fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  return RLX_FAIL(code, "chat template, line %u: %s", (unsigned)r->line, text);
}

rlx_status jinja_count(jinja_run *r, uint64_t work) {
  r->work += work;
  if (r->work <= r->limits.work) return RLX_OK;
  return jinja_fail(r, RLX_LIMIT, "more than %llu steps", (unsigned long long)r->limits.work);
}

rlx_status jinja_deeper(jinja_run *r) {
  if (r->depth >= r->limits.depth)
    return jinja_fail(r, RLX_LIMIT, "nested more than %u deep", (unsigned)r->limits.depth);
  r->depth++;
  return RLX_OK;
}

rlx_status jinja_alloc(jinja_run *r, size_t count, size_t size, void **out) {
  size_t bytes, total;
  if (!rlx_mul_size(count, size, &bytes) || !rlx_add_size(bytes, r->heap.total, &total) || total > r->limits.bytes)
    return jinja_fail(r, RLX_LIMIT, "more than %zu bytes of memory", r->limits.bytes);
  *out = rlx_bump_alloc(&r->heap, count ? count : 1, size);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
}

/* ---- Characters ---- */

size_t jinja_character(const char *p, size_t n, int32_t *code) {
  *code = n ? (unsigned char)*p : 0;
  size_t size = text_character(p, n, code);
  if (size || !n) return size;
  *code = -1; /* not UTF-8 */
  return 1;
}

size_t jinja_text_characters(const jinja_text *t) {
  if (t->is_ascii) return t->n;
  size_t count = 0;
  int32_t code;
  for (size_t at = 0; at < t->n; count++) at += jinja_character(t->p + at, t->n - at, &code);
  return count;
}

bool jinja_is_space(int32_t code) { return code >= 0 && (text_is_space(code) || (code >= 0x1c && code <= 0x1f)); }

/* ---- Builders ---- */

static rlx_status grow(jinja_run *r, void **v, size_t n, size_t *cap, size_t more, size_t size) {
  size_t wanted;
  if (!rlx_add_size(n, more, &wanted))
    return jinja_fail(r, RLX_LIMIT, "more than %zu bytes of memory", r->limits.bytes);
  if (wanted <= *cap) return RLX_OK;
  if (wanted < 2 * *cap) wanted = 2 * *cap;
  if (wanted < 16) wanted = 16;
  void *grown;
  RLX_TRY(jinja_alloc(r, wanted, size, &grown));
  if (n) memcpy(grown, *v, n * size);
  *v = grown;
  *cap = wanted;
  return RLX_OK;
}

static rlx_status add_range(jinja_run *r, jinja_builder *b, size_t start, size_t end) {
  if (start == end) return RLX_OK;
  if (b->n_content && b->content[b->n_content - 1].end == start) {
    b->content[b->n_content - 1].end = end;
    return RLX_OK;
  }
  RLX_TRY(grow(r, (void **)&b->content, b->n_content, &b->cap_content, 1, sizeof *b->content));
  b->content[b->n_content++] = (text_range){start, end};
  return RLX_OK;
}

rlx_status jinja_add(jinja_run *r, jinja_builder *b, const char *p, size_t n, bool is_content) {
  if (!n) return RLX_OK;
  RLX_TRY(jinja_count(r, 1 + n / 32));
  RLX_TRY(grow(r, (void **)&b->p, b->n, &b->cap, n, 1));
  memcpy(b->p + b->n, p, n);
  b->n += n;
  return is_content ? add_range(r, b, b->n - n, b->n) : RLX_OK;
}

/* Index of the first range that ends after an offset. */
static size_t range_after(const jinja_text *t, size_t at) {
  size_t low = 0, high = t->n_content;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (t->content[middle].end > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

rlx_status jinja_add_part(jinja_run *r, jinja_builder *b, const jinja_text *t, size_t from, size_t to) {
  size_t start = b->n;
  RLX_TRY(jinja_add(r, b, t->p + from, to - from, false));
  for (size_t i = range_after(t, from); i < t->n_content && t->content[i].start < to; i++) {
    size_t first = t->content[i].start > from ? t->content[i].start : from;
    size_t last = t->content[i].end < to ? t->content[i].end : to;
    RLX_TRY(add_range(r, b, start + first - from, start + last - from));
  }
  return RLX_OK;
}

rlx_status jinja_add_text(jinja_run *r, jinja_builder *b, const jinja_text *t) {
  if (t->p) return jinja_add_part(r, b, t, 0, t->n);
  size_t bottom = r->stack.n;
  for (const jinja_text *at = t;;) {
    RLX_TRY(jinja_count(r, 1));
    if (!at->p) {
      if (!rlx_array_push(&r->stack, at->right)) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
      at = at->left;
      continue;
    }
    RLX_TRY(jinja_add_part(r, b, at, 0, at->n));
    if (r->stack.n == bottom) return RLX_OK;
    at = r->stack.v[--r->stack.n];
  }
}

static bool is_ascii(const char *p, size_t n) {
  unsigned char all = 0;
  for (size_t i = 0; i < n; i++) all |= (unsigned char)p[i];
  return all < 0x80;
}

static rlx_status text_of(jinja_run *r, const jinja_builder *b, jinja_text **out) {
  RLX_TRY(JINJA_NEW(r, 1, out));
  **out = (jinja_text){.n = b->n,
                       .p = b->n ? b->p : "",
                       .content = b->content,
                       .n_content = b->n_content,
                       .is_ascii = is_ascii(b->p, b->n)};
  return RLX_OK;
}

rlx_status jinja_built(jinja_run *r, const jinja_builder *b, jinja_value *out) {
  jinja_text *t = NULL;
  RLX_TRY(text_of(r, b, &t));
  *out = jinja_of_text(t);
  return RLX_OK;
}

/* ---- Strings ---- */

rlx_status jinja_text_new(jinja_run *r, const char *p, size_t n, bool is_content, const jinja_text **out) {
  struct {
    jinja_text text;
    text_range all;
  } * t;
  RLX_TRY(JINJA_NEW(r, 1, &t));
  t->all = (text_range){0, n};
  t->text = (jinja_text){.n = n, .p = p, .content = &t->all, .n_content = is_content && n, .is_ascii = is_ascii(p, n)};
  *out = &t->text;
  return RLX_OK;
}

rlx_status jinja_text_copy(jinja_run *r, const char *p, size_t n, bool is_content, const jinja_text **out) {
  char *copy;
  RLX_TRY(JINJA_NEW(r, n + 1, &copy));
  memcpy(copy, p, n);
  return jinja_text_new(r, copy, n, is_content, out);
}

rlx_status jinja_text_flat(jinja_run *r, const jinja_text *t, const jinja_text **out) {
  *out = t;
  if (t->p) return RLX_OK;
  jinja_builder b = {0};
  RLX_TRY(grow(r, (void **)&b.p, 0, &b.cap, t->n, 1));
  RLX_TRY(jinja_add_text(r, &b, t));
  jinja_text *joined;
  RLX_TRY(text_of(r, &b, &joined));
  /* A concatenation was made by this run, in its memory: the next one who needs it finds it flat. */
  jinja_text *mine = (jinja_text *)(uintptr_t)t;
  *mine = *joined;
  return RLX_OK;
}

rlx_status jinja_text_slice(jinja_run *r, const jinja_text *t, size_t from, size_t to, const jinja_text **out) {
  *out = &jinja_no_text;
  if (from >= to) return RLX_OK;
  *out = t;
  if (from == 0 && to == t->n) return RLX_OK;
  size_t i = range_after(t, from);
  bool starts_inside = i < t->n_content && t->content[i].start <= from;
  bool is_all = starts_inside && t->content[i].end >= to;
  if (is_all || i >= t->n_content || t->content[i].start >= to)
    return jinja_text_new(r, t->p + from, to - from, is_all, out);
  jinja_builder b = {0};
  RLX_TRY(jinja_add_part(r, &b, t, from, to));
  jinja_text *part;
  RLX_TRY(text_of(r, &b, &part));
  *out = part;
  return RLX_OK;
}

rlx_status jinja_text_join(jinja_run *r, const jinja_text *a, const jinja_text *b, const jinja_text **out) {
  *out = a->n ? a : b;
  if (!a->n || !b->n) return RLX_OK;
  jinja_text *t;
  RLX_TRY(JINJA_NEW(r, 1, &t));
  *t = (jinja_text){.left = a, .right = b, .is_ascii = a->is_ascii && b->is_ascii};
  *out = t;
  if (rlx_add_size(a->n, b->n, &t->n) && t->n <= r->limits.bytes) return RLX_OK;
  return jinja_fail(r, RLX_LIMIT, "a text of more than %zu bytes", r->limits.bytes);
}

bool jinja_text_has_content(const jinja_text *t) { return t->n_content > 0; }

bool jinja_text_is_content(const jinja_text *t, size_t at) {
  size_t i = range_after(t, at);
  return i < t->n_content && t->content[i].start <= at;
}

bool jinja_text_is(const jinja_text *t, const char *text) {
  size_t n = strlen(text);
  return t->n == n && memcmp(t->p, text, n) == 0;
}

rlx_status jinja_text_compare(jinja_run *r, const jinja_text *a, const jinja_text *b, int *out) {
  RLX_TRY(jinja_text_flat(r, a, &a));
  RLX_TRY(jinja_text_flat(r, b, &b));
  size_t n = a->n < b->n ? a->n : b->n;
  RLX_TRY(jinja_count(r, n / 64));
  int order = n ? memcmp(a->p, b->p, n) : 0; /* UTF-8 sorts as its characters do */
  *out = order ? order : (a->n > b->n) - (a->n < b->n);
  return RLX_OK;
}

/* ---- Search ----
 *
 * Byte by byte, as long as that is cheap; then by a rolling hash, which is linear whatever the texts are. */

enum { HASH_PRIME = 0x7fffffff, HASH_BASE = 0x2f0b4c47 };

typedef struct search {
  const char *in, *what;
  size_t n, m;
  bool from_end;
} search;

static char byte_of(const char *p, size_t n, size_t i, bool from_end) { return p[from_end ? n - 1 - i : i]; }

static bool is_here(const search *s, size_t at) {
  return memcmp(s->from_end ? s->in + s->n - at - s->m : s->in + at, s->what, s->m) == 0;
}

/* Offsets count from the end if the search goes from there. s->n: nowhere. */
static size_t search_hashed(const search *s, size_t from) {
  uint64_t wanted = 0, here = 0, top = 1;
  for (size_t i = 0; i < s->m; i++) {
    wanted = (wanted * HASH_BASE + (unsigned char)byte_of(s->what, s->m, i, s->from_end)) % HASH_PRIME;
    here = (here * HASH_BASE + (unsigned char)byte_of(s->in, s->n, from + i, s->from_end)) % HASH_PRIME;
    if (i) top = top * HASH_BASE % HASH_PRIME;
  }
  for (size_t at = from;; at++) {
    if (here == wanted && is_here(s, at)) return at;
    if (at + s->m == s->n) return s->n;
    here += (uint64_t)HASH_PRIME - top * (unsigned char)byte_of(s->in, s->n, at, s->from_end) % HASH_PRIME;
    here = (here * HASH_BASE + (unsigned char)byte_of(s->in, s->n, at + s->m, s->from_end)) % HASH_PRIME;
  }
}

static size_t search_plain(const search *s, size_t from) {
  size_t cost = 0;
  for (size_t at = from; at + s->m <= s->n; at++) {
    size_t same = 0;
    while (same < s->m && byte_of(s->in, s->n, at + same, s->from_end) == byte_of(s->what, s->m, same, s->from_end))
      same++;
    if (same == s->m) return at;
    cost += same;
    if (cost > 16 * (at - from) + 4096) return at + 1 + s->m <= s->n ? search_hashed(s, at + 1) : s->n;
  }
  return s->n;
}

size_t jinja_text_find(const jinja_text *in, const jinja_text *what, size_t from) {
  if (from > in->n || what->n > in->n - from) return in->n + 1;
  if (!what->n) return from;
  const char *first = memchr(in->p + from, (unsigned char)what->p[0], in->n - from - what->n + 1);
  if (!first) return in->n + 1;
  search s = {.in = in->p, .what = what->p, .n = in->n, .m = what->n};
  size_t at = search_plain(&s, (size_t)(first - in->p));
  return at < in->n ? at : in->n + 1;
}

size_t jinja_text_find_last(const jinja_text *in, const jinja_text *what, size_t end) {
  if (what->n > end) return in->n + 1;
  if (!what->n) return end;
  search s = {.in = in->p, .what = what->p, .n = end, .m = what->n, .from_end = true};
  size_t at = search_plain(&s, 0);
  return at < end ? end - at - what->n : in->n + 1;
}
