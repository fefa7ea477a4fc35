/* Splits text into pieces by patterns before the model, so that tokens stay within words, numbers and lines.
 *
 * Steps run in sequence, each on the pieces of the previous one; text between matches is a piece as well. A piece is
 * passed to the next step as soon as it is complete, so no list of pieces is stored. A step sees only its piece:
 * lookahead ends with it.
 *
 * PCRE2 runs the patterns. They were written for other engines; pattern_text translates \s and \w to what those
 * mean. */
#include <string.h>

#include "base/budget.h"
#include "text/text.h"

#define SPACES "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
/* Unicode word characters: Alphabetic, marks, decimal digits, connectors, joiners. */
#define WORDS                                                                                       \
  "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{" \
  "1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

/* Memory of one match. Compiled patterns backtrack on a stack: a small one that a text keeps, and for a match that
 * needs more one that follows the length of the text and is freed after it. Patterns that models use take some 40 bytes
 * there for each letter of one long word. Without a compiler for this processor, PCRE2 interprets them on the heap,
 * with 130 bytes for a letter. */
enum { STACK_START = 32 << 10, STACK_MAX = 8 << 20, LARGE_STACK = 56 << 20, HEAP_KIB = 256 << 10 };

/* ---- Patterns ------------------------------------------------------------------------------------------------ */

static void *pattern_alloc(PCRE2_SIZE n, void *user) {
  (void)user;
  return rlx_mem_alloc(n);
}
static void pattern_release(void *p, void *user) {
  (void)user;
  rlx_mem_free(p);
}
pcre2_general_context *text_pattern_heap(void) {
  return pcre2_general_context_create(pattern_alloc, pattern_release, NULL);
}

/* Translates a two-character escape, with the meaning of \s and \w in other engines. */
static void add_escape(const char *p, bool in_set, rlx_str *out) {
  char c = p[1];
  if (in_set && (c == 's' || c == 'w')) rlx_str_add(out, "%s", c == 's' ? SPACES : WORDS);
  else if (!in_set && (c == 's' || c == 'S')) rlx_str_add(out, "[%s%s]", c == 'S' ? "^" : "", SPACES);
  else if (!in_set && (c == 'w' || c == 'W')) rlx_str_add(out, "[%s%s]", c == 'W' ? "^" : "", WORDS);
  else rlx_str_add_bytes(out, p, 2);
}

/* Translates a '[': the start of a set, "[:name:]" in one, or a set inside a set, which is merged into the outer one
 * unless it is negated. Returns the bytes consumed; 0: PCRE2 would read it differently. */
static size_t add_bracket(const char *p, int *depth, rlx_str *out) {
  if (*depth > 0 && p[1] == ':') {
    const char *end = strstr(p, ":]");
    if (!end) return 0;
    rlx_str_add_bytes(out, p, (size_t)(end + 2 - p));
    return (size_t)(end + 2 - p);
  }
  if ((*depth)++ > 0) return p[1] == '^' || p[1] == ']' ? 0 : 1;
  size_t n = 1;
  if (p[n] == '^') n++;
  if (p[n] == ']') n++;
  rlx_str_add_bytes(out, p, n);
  return n;
}

/* Translates a pattern for PCRE2; false: PCRE2 would read a part of it differently. */
static bool pattern_text(const char *p, rlx_str *out) {
  int depth = 0; /* nesting of sets */
  while (*p) {
    if (p[0] == '\\' && p[1]) {
      add_escape(p, depth > 0, out);
      p += 2;
    } else if (*p == '[') {
      size_t n = add_bracket(p, &depth, out);
      if (!n) return false;
      p += n;
    } else if (depth > 0 && p[0] == '&' && p[1] == '&') {
      return false;
    } else {
      if (depth <= 1 || *p != ']') rlx_str_add_char(out, *p);
      if (*p == ']' && depth > 0) depth--;
      p++;
    }
  }
  return true;
}

rlx_status text_pattern_compile(const char *pattern, pcre2_code **out) {
  rlx_str text = {0};
  *out = NULL;
  if (!pattern_text(pattern, &text)) {
    rlx_str_deinit(&text);
    return RLX_FAIL(RLX_UNSUPPORTED, "pattern '%.200s': this way of sets inside sets cannot be run here", pattern);
  }
  pcre2_general_context *heap = text.failed ? NULL : text_pattern_heap();
  pcre2_compile_context *context = heap ? pcre2_compile_context_create(heap) : NULL;
  int code = 0;
  size_t at = 0;
  if (context)
    *out = pcre2_compile((PCRE2_SPTR)text.v, text.n,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, &code, &at, context);
  if (*out) (void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* optional: patterns also run interpreted */
  pcre2_compile_context_free(context);
  pcre2_general_context_free(heap);
  rlx_str_deinit(&text);
  if (*out) return RLX_OK;
  if (!context || code == PCRE2_ERROR_HEAP_FAILED) return RLX_FAIL(RLX_NO_MEMORY, "pattern '%.200s'", pattern);
  PCRE2_UCHAR why[160] = "";
  pcre2_get_error_message(code, why, sizeof why);
  return RLX_FAIL(RLX_UNSUPPORTED, "pattern '%.200s': %s, at %zu", pattern, (const char *)why, at);
}

void text_pattern_free(pcre2_code *code) { pcre2_code_free(code); }

/* Replaces the stack. False: there is no memory for it; small matches work without one. */
static bool set_stack(text_run *r, size_t max_bytes) {
  pcre2_jit_stack_free(r->stack);
  pcre2_general_context *heap = text_pattern_heap();
  r->stack = heap ? pcre2_jit_stack_create(STACK_START, max_bytes, heap) : NULL;
  pcre2_general_context_free(heap);
  pcre2_jit_stack_assign(r->context, NULL, r->stack);
  return r->stack != NULL;
}

static rlx_status prepare_match(text_run *r) {
  if (r->match) return RLX_OK;
  pcre2_general_context *heap = text_pattern_heap();
  if (heap) {
    r->match = pcre2_match_data_create(1, heap);
    r->context = pcre2_match_context_create(heap);
  }
  pcre2_general_context_free(heap);
  if (!r->match || !r->context) {
    pcre2_match_data_free(r->match);
    r->match = NULL;
    return RLX_FAIL(RLX_NO_MEMORY, "matching");
  }
  pcre2_set_heap_limit(r->context, HEAP_KIB);
  (void)set_stack(r, STACK_MAX);
  return RLX_OK;
}

static size_t large_stack(text_span in) { return LARGE_STACK + 2 * in.n; }

/* One match within a number of steps. *is_large: it has the large stack; the caller sets the small one again. */
static int match_once(text_run *r, const pcre2_code *code, text_span in, size_t from, uint64_t steps, bool *is_large) {
  PCRE2_SPTR subject = (PCRE2_SPTR)(in.p ? in.p : "");
  pcre2_set_match_limit(r->context, (uint32_t)steps);
  int n = pcre2_match(code, subject, in.n, from, PCRE2_NO_UTF_CHECK, r->match, r->context);
  if (n != PCRE2_ERROR_JIT_STACKLIMIT || *is_large) return n;
  *is_large = true;
  if (!set_stack(r, large_stack(in))) return PCRE2_ERROR_NOMEMORY;
  return pcre2_match(code, subject, in.n, from, PCRE2_NO_UTF_CHECK, r->match, r->context);
}

/* Bounds the time of matching by the length of the text. A match starts with few steps, which suffice for ordinary
 * ones; more are granted on demand and counted. The total per text is never reached by a pattern that reads left to
 * right, but soon by one that backtracks at every position. */
enum { FIRST_STEPS = 1 << 12, MORE_STEPS = 16, FREE_STEPS = 1 << 24, STEPS_PER_BYTE = 1 << 10 };

static int match_within(text_run *r, const pcre2_code *code, text_span in, size_t from) {
  bool is_large = false;
  int n = PCRE2_ERROR_MATCHLIMIT;
  for (uint64_t steps = FIRST_STEPS; n == PCRE2_ERROR_MATCHLIMIT; steps *= MORE_STEPS) {
    n = match_once(r, code, in, from, steps, &is_large);
    if (n != PCRE2_ERROR_MATCHLIMIT) break;
    r->steps += steps;
    if (r->steps > FREE_STEPS + STEPS_PER_BYTE * r->matched || rlx_budget_stops()) break;
  }
  if (is_large) (void)set_stack(r, STACK_MAX);
  return n;
}

rlx_status text_match(text_run *r, const pcre2_code *code, text_span in, size_t from, size_t *start, size_t *end,
                      bool *found) {
  RLX_TRY(prepare_match(r));
  int n = match_within(r, code, in, from);
  if (n == PCRE2_ERROR_MATCHLIMIT && rlx_budget_is_stopped()) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
  if (n == PCRE2_ERROR_MATCHLIMIT)
    return RLX_FAIL(
      RLX_LIMIT, "matching a piece of %zu bytes, from %zu: the tokenizer's pattern has taken %llu steps for %llu bytes",
      in.n, from, (unsigned long long)r->steps, (unsigned long long)r->matched);
  if (n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_JIT_STACKLIMIT)
    return RLX_FAIL(RLX_LIMIT,
                    "matching a piece of %zu bytes, from %zu: the tokenizer's pattern takes more than %zu MiB", in.n,
                    from, n == PCRE2_ERROR_HEAPLIMIT ? (size_t)HEAP_KIB >> 10 : large_stack(in) >> 20);
  if (n == PCRE2_ERROR_NOMEMORY) return RLX_FAIL(RLX_NO_MEMORY, "matching %zu bytes", in.n);
  if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
    PCRE2_UCHAR why[160] = "";
    pcre2_get_error_message(n, why, sizeof why);
    return RLX_FAIL(RLX_UNSUPPORTED, "matching a piece of %zu bytes, from %zu: %s", in.n, from, (const char *)why);
  }
  *found = n >= 0;
  if (*found) {
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
    *start = at[0];
    *end = at[1] < at[0] ? at[0] : at[1];
    r->matched += *end - from;
  }
  return RLX_OK;
}

/* ---- Cutting ------------------------------------------------------------------------------------------------- */

/* One step on one piece. The input is a sequence of matches and gaps; the behaviour of the step combines them into
 * pieces, with at most one pending. */
typedef struct cut {
  text_run *r;
  size_t step;
  text_span in;
  bool is_first; /* the piece is at the start of the text */
  bool has_waiting;
  bool matched_before;
  bool waiting_matched;
  size_t start, end; /* of the pending piece */
} cut;

static rlx_status emit(cut *c, size_t start, size_t end) {
  if (start == end) return RLX_OK;
  return text_split_pieces(c->r, c->step + 1, (text_span){c->in.p + start, end - start}, c->is_first && start == 0);
}

static rlx_status emit_pending(cut *c) {
  if (!c->has_waiting) return RLX_OK;
  c->has_waiting = false;
  return emit(c, c->start, c->end);
}

static rlx_status set_pending(cut *c, size_t start, size_t end, bool matched) {
  RLX_TRY(emit_pending(c));
  c->has_waiting = true;
  c->waiting_matched = matched;
  c->start = start;
  c->end = end;
  return RLX_OK;
}

static rlx_status take(cut *c, const text_split *s, size_t start, size_t end, bool matched) {
  matched = matched != s->invert;
  bool before = c->matched_before;
  c->matched_before = matched;
  switch (s->behavior) {
    case SPLIT_ISOLATED: return emit(c, start, end);
    case SPLIT_REMOVED: return matched ? RLX_OK : emit(c, start, end);
    case SPLIT_WITH_PREVIOUS:
      if (!matched || before || !c->has_waiting) return set_pending(c, start, end, matched);
      c->end = end;
      return RLX_OK;
    case SPLIT_WITH_NEXT:
      if (matched) return set_pending(c, start, end, true);
      if (c->has_waiting) start = c->start;
      c->has_waiting = false;
      return emit(c, start, end);
    case SPLIT_CONTIGUOUS:
      if (!c->has_waiting || c->waiting_matched != matched) return set_pending(c, start, end, matched);
      c->end = end;
      return RLX_OK;
  }
  return RLX_OK;
}

/* An empty match only separates. */
static rlx_status cut_by_pattern(cut *c, const text_split *s) {
  size_t done = 0, from = 0, start, end;
  bool found;
  while (from <= c->in.n) {
    RLX_TRY(text_match(c->r, s->code, c->in, from, &start, &end, &found));
    if (!found) break;
    if (start > done) RLX_TRY(take(c, s, done, start, false));
    if (end > start) RLX_TRY(take(c, s, start, end, true));
    done = from = end;
    if (end == start) {
      int32_t code;
      size_t size = text_character(c->in.p + from, c->in.n - from, &code);
      from += size ? size : 1;
    }
  }
  if (done < c->in.n) RLX_TRY(take(c, s, done, c->in.n, false));
  return emit_pending(c);
}

static size_t digit(const char *p, size_t n) {
  int32_t code;
  size_t size = text_character(p, n, &code);
  return size && text_is_digit(code) ? size : 0;
}

/* In code, because a pattern with lookahead from each digit to the end of the run would be quadratic. */
static rlx_status cut_digits(cut *c, const text_split *s) {
  size_t done = 0;
  for (size_t at = 0; at < c->in.n;) {
    size_t size = digit(c->in.p + at, c->in.n - at);
    if (!size) {
      at++;
      continue;
    }
    if (at > done) RLX_TRY(take(c, s, done, at, false));
    size_t count = 0, end = at;
    for (size_t more = size; more; more = digit(c->in.p + end, c->in.n - end)) end += more, count++;
    for (size_t group = at; at < end; count--) {
      at += digit(c->in.p + at, c->in.n - at);
      if (count % 3 == 1) {
        RLX_TRY(take(c, s, group, at, true));
        group = at;
      }
    }
    done = at;
  }
  if (done < c->in.n) RLX_TRY(take(c, s, done, c->in.n, false));
  return emit_pending(c);
}

/* Steps that modify a piece pass on a copy in their own buffer. */
static rlx_status pass_modified(text_run *r, size_t step, text_span piece, bool is_first) {
  const text_split *s = &r->t->splits[step];
  rlx_str *out = &r->scratch[step];
  out->n = 0;
  size_t n = strlen(s->text ? s->text : "");
  if (s->kind == SPLIT_BYTES) {
    char bytes[4];
    for (size_t i = 0; i < piece.n; i++)
      rlx_str_add_bytes(out, bytes, text_put(bytes, text_byte_character((unsigned char)piece.p[i])));
  } else if (s->kind == SPLIT_PREFIX) {
    bool wanted = (!s->only_first || is_first) && !(piece.n >= n && memcmp(piece.p, s->text, n) == 0);
    if (!wanted) return text_split_pieces(r, step + 1, piece, is_first);
    rlx_str_add_bytes(out, s->text, n);
    rlx_str_add_bytes(out, piece.p, piece.n);
  } else {
    for (const char *p = piece.p, *end = p + piece.n; p < end;) {
      const char *space = memchr(p, ' ', (size_t)(end - p)), *stop = space ? space : end;
      rlx_str_add_bytes(out, p, (size_t)(stop - p));
      if (space) rlx_str_add_bytes(out, s->text, n);
      p = stop + (space != NULL);
    }
  }
  if (out->failed) {
    rlx_str_deinit(out);
    *out = (rlx_str){0};
    return RLX_FAIL(RLX_NO_MEMORY, "a piece of %zu bytes", piece.n);
  }
  return text_split_pieces(r, step + 1, (text_span){out->v, out->n}, is_first);
}

rlx_status text_split_pieces(text_run *r, size_t step, text_span piece, bool is_first) {
  if (piece.n == 0) return RLX_OK;
  if (step == r->t->n_splits) return text_model_run(r, piece);
  const text_split *s = &r->t->splits[step];
  cut c = {.r = r, .step = step, .in = piece, .is_first = is_first};
  switch (s->kind) {
    case SPLIT_PATTERN: return cut_by_pattern(&c, s);
    case SPLIT_DIGITS_RIGHT: return cut_digits(&c, s);
    case SPLIT_PREFIX:
    case SPLIT_BYTES:
    case SPLIT_REPLACE: return pass_modified(r, step, piece, is_first);
  }
  return RLX_OK;
}
