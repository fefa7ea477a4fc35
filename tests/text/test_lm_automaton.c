/* Grammars as automata: what they accept is what a naive matcher accepts, a mask is what trying every token gives, also
 * when memory is dropped in between and when threads share a grammar; errors have their place; hostile grammars end.
 *
 * Schemas are tested against another program in test_json_schema.py. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rlx/lm.h"
#include "test.h"
#include "text/grammar.h"
#include "text/text.h"

static uint32_t draw(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % n;
}

/* ---- A vocabulary ---- */

/* Special tokens, all bytes, some of them also as letters, and texts of the pieces that grammars here are made of: also
 * halves of characters, and what begins in a string and goes on behind it. */
static rlx_status make_tokenizer(rlx_tokenizer **out) {
  static const char *const pieces[] = {"a", "b", "c", "(", ")", "\"", "{",  "}",        "[",    "]", ":", ",",
                                       " ", "0", "1", "x", "n", "\\", "ab", "\xc3\xa9", "true", "e", "\n"};
  enum { N_PIECES = sizeof pieces / sizeof *pieces, N_MIXED = 700, FIRST = 258 };
  static char text[N_MIXED + FIRST][40];
  static text_token tokens[N_MIXED + FIRST];
  uint64_t seed = 7;
  size_t n = 0;
  tokens[n++] = (text_token){.spelling = {"<s>", 3}, .flags = TOKEN_CONTROL | TOKEN_NOT_TEXT};
  tokens[n++] = (text_token){.spelling = {"</s>", 4}, .flags = TOKEN_CONTROL | TOKEN_END | TOKEN_NOT_TEXT};
  for (unsigned b = 0; b < 256; b++, n++) {
    snprintf(text[n], sizeof text[n], "<0x%02X>", b);
    tokens[n] = (text_token){.spelling = {text[n], 6}, .flags = TOKEN_BYTE};
  }
  for (size_t i = 0; i < N_MIXED; i++) {
    bool is_new = true;
    text[n][0] = '\0';
    for (uint32_t k = i < N_PIECES ? 1 : 2 + draw(&seed, 4); k > 0; k--)
      strcat(text[n], pieces[i < N_PIECES ? (uint32_t)i : draw(&seed, N_PIECES)]);
    for (size_t k = FIRST; k < n && is_new; k++) is_new = strcmp(text[k], text[n]) != 0;
    if (is_new) tokens[n] = (text_token){.spelling = {text[n], strlen(text[n])}};
    n += is_new;
  }
  text_desc d = {.model = TEXT_SPM,
                 .kind = "spm",
                 .tokens = tokens,
                 .n_tokens = n,
                 .byte_fallback = true,
                 .bos = 0,
                 .eos = 1,
                 .unknown = -1,
                 .keep_leading_space = true};
  return text_build(&d, out);
}

static rlx_status make_grammar(const rlx_tokenizer *t, rlx_grammar_kind kind, const char *text, rlx_grammar **out) {
  return rlx_grammar_create(t, kind, text, strlen(text), out);
}

typedef enum verdict { NO, PART, YES, FAILED } verdict;

static verdict judge(const rlx_grammar *g, const char *text, size_t n) {
  grammar_state *s;
  if (grammar_state_create(g, &s)) return FAILED;
  rlx_status status = grammar_state_accept_bytes(s, text, n);
  verdict v = status == RLX_INVALID ? NO : status ? FAILED : grammar_state_may_end(s) ? YES : PART;
  grammar_state_destroy(s);
  return v;
}

/* ---- Random grammars, and a matcher that tries everything ---- */

typedef enum kind { LETTER, CLASS, ANY, SEQUENCE, CHOICE, REPEAT, CALL } kind;
typedef struct expression {
  kind kind;
  char letter; /* of a class: all but it */
  int parts[3], n_parts;
  int min, max; /* max -1: any */
  int rule;
} expression;
enum { MAX_EXPRESSIONS = 400, N_RULES = 3, LONGEST = 7 };
static expression all[MAX_EXPRESSIONS];
static int n_all, bodies[N_RULES];

/* A call of an earlier rule, or of itself, stands behind a letter: no left recursion. */
static int make_expression(uint64_t *seed, int depth, int rule) {
  if (n_all >= MAX_EXPRESSIONS - 8) depth = 0;
  const int me = n_all++;
  expression e = {.kind = depth > 0 ? (kind)draw(seed, 7) : (kind)draw(seed, 3), .letter = (char)('a' + draw(seed, 3))};
  if (e.kind == SEQUENCE || e.kind == CHOICE) {
    e.n_parts = 2 + (int)draw(seed, 2);
    for (int i = 0; i < e.n_parts; i++) e.parts[i] = make_expression(seed, depth - 1, rule);
  } else if (e.kind == REPEAT) {
    e.n_parts = 1;
    e.min = (int)draw(seed, 3);
    e.max = draw(seed, 2) ? -1 : e.min + (int)draw(seed, 3);
    e.parts[0] = make_expression(seed, depth - 1, rule);
  } else if (e.kind == CALL) {
    e.rule = (int)draw(seed, N_RULES);
    if (e.rule <= rule) { /* letter, call */
      const int letter = n_all++, call = n_all++;
      all[letter] = (expression){.kind = LETTER, .letter = e.letter};
      all[call] = (expression){.kind = CALL, .rule = e.rule};
      e = (expression){.kind = SEQUENCE, .parts = {letter, call}, .n_parts = 2};
    }
  }
  all[me] = e;
  return me;
}

static void write_expression(int at, rlx_str *out) {
  const expression *e = &all[at];
  switch (e->kind) {
    case LETTER: rlx_str_add(out, "\"%c\"", e->letter); break;
    case CLASS: rlx_str_add(out, "[^%c]", e->letter); break;
    case ANY: rlx_str_add(out, "."); break;
    case CALL: rlx_str_add(out, "%s", e->rule ? e->rule == 1 ? "one" : "two" : "root"); break;
    case REPEAT:
      rlx_str_add(out, "(");
      write_expression(e->parts[0], out);
      if (e->max < 0) rlx_str_add(out, e->min == 0 ? ")*" : e->min == 1 ? ")+" : "){2,}");
      else rlx_str_add(out, "){%d,%d}", e->min, e->max);
      break;
    default:
      rlx_str_add(out, "(");
      for (int i = 0; i < e->n_parts; i++) {
        if (i) rlx_str_add(out, e->kind == CHOICE ? " | " : " ");
        write_expression(e->parts[i], out);
      }
      rlx_str_add(out, ")");
  }
}

/* The places where a match of the expression that begins at one of `from` may end, as bits. */
static uint32_t match(int at, const char *text, size_t n, uint32_t from) {
  const expression *e = &all[at];
  uint32_t to = 0, now = from;
  if (!from) return 0;
  switch (e->kind) {
    case LETTER:
    case CLASS:
    case ANY:
      for (size_t i = 0; i < n; i++)
        if (from >> i & 1 && (e->kind == ANY || (text[i] == e->letter) == (e->kind == LETTER))) to |= 2u << i;
      return to;
    case CALL: return match(bodies[e->rule], text, n, from);
    case SEQUENCE:
      for (int i = 0; i < e->n_parts; i++) now = match(e->parts[i], text, n, now);
      return now;
    case CHOICE:
      for (int i = 0; i < e->n_parts; i++) to |= match(e->parts[i], text, n, from);
      return to;
    case REPEAT:
      for (int i = 0; i < e->min; i++) now = match(e->parts[0], text, n, now);
      to = now;
      for (int i = e->min; e->max < 0 ? i < e->min + (int)n + 2 : i < e->max; i++) {
        now = match(e->parts[0], text, n, now);
        to |= now;
      }
      return to;
  }
  return 0;
}

/* Whether some text of up to LONGEST letters that begins so is matched. */
static bool may_go_on(const char *text, size_t n) {
  char longer[LONGEST + 1];
  memcpy(longer, text, n);
  if (match(bodies[0], text, n, 1) >> n & 1) return true;
  for (char c = 'a'; n < LONGEST && c <= 'd'; c++) {
    longer[n] = c;
    if (may_go_on(longer, n + 1)) return true;
  }
  return false;
}

static void check_random_grammar(const rlx_tokenizer *t, uint64_t seed, int *n_yes) {
  static const char *const names[] = {"root", "one", "two"};
  const uint64_t from = seed;
  rlx_str text = {0};
  rlx_grammar *g;
  n_all = 0;
  for (int i = 0; i < N_RULES; i++) bodies[i] = make_expression(&seed, 3, i);
  for (int i = 0; i < N_RULES; i++) {
    rlx_str_add(&text, "%s ::= ", names[i]);
    write_expression(bodies[i], &text);
    rlx_str_add(&text, "\n");
  }
  rlx_status s = make_grammar(t, RLX_GRAMMAR_GBNF, text.v, &g);
  bool is_empty = s && strstr(rlx_message(), "no text matches");
  if (s && !is_empty) FAIL("seed %llu: %s\n%s", (unsigned long long)from, rlx_message(), text.v);
  for (int i = 0; i < 60; i++) {
    char word[LONGEST + 1];
    const size_t n = draw(&seed, LONGEST + 1);
    for (size_t k = 0; k < n; k++) word[k] = (char)('a' + draw(&seed, 4));
    const bool matches = match(bodies[0], word, n, 1) >> n & 1;
    const verdict v = s ? NO : judge(g, word, n);
    *n_yes += v == YES;
    if ((v == YES) != matches || v == FAILED)
      FAIL("seed %llu: '%.*s' is %s, and %s\n%s", (unsigned long long)from, (int)n, word,
           matches ? "matched" : "not matched", v == YES ? "accepted" : "not accepted", text.v);
    if (n < 4 && v == NO && may_go_on(word, n))
      FAIL("seed %llu: '%.*s' cannot go on, but it can\n%s", (unsigned long long)from, (int)n, word, text.v);
  }
  if (!s) rlx_grammar_destroy(g);
  rlx_str_deinit(&text);
}

TEST(random_grammars_against_a_naive_matcher) {
  rlx_tokenizer *t;
  int n_yes = 0;
  CHECK_OK(make_tokenizer(&t));
  for (uint64_t seed = 1; seed <= (TEST_IS_SANITIZED ? 150 : 1500); seed++) {
    check_random_grammar(t, seed, &n_yes);
    if (test_has_failed()) break;
  }
  CHECK(n_yes > 1000);
  rlx_tokenizer_destroy(t);
}

/* ---- Masks ---- */

typedef struct sample {
  rlx_grammar_kind kind;
  const char *text;
} sample;
static const sample samples[] = {
  {RLX_GRAMMAR_GBNF, "root ::= (\"a\" | \"b\")* \"c\" root?"},
  {RLX_GRAMMAR_GBNF, "root ::= pair+\npair ::= \"(\" pair* \")\" | [abx]{1,3}"},
  {RLX_GRAMMAR_GBNF, "root ::= [^\"]{2,5} \"\\\"\" [\\u00e9a] . \"1\"{3}"},
  {RLX_GRAMMAR_GBNF, "root ::= ([a-c]+ \" \")* [a-c]{0,9} | \"ab\"* \"x\""},
  {RLX_GRAMMAR_GBNF, "root ::= a{3,20} \"\\n\"\na ::= [ab]+ [ ,]?"},
  {RLX_GRAMMAR_REGEX, "(a|b)*a(a|b){3}(\xc3\xa9|[0-1]{2,})?"},
  {RLX_GRAMMAR_REGEX, "[^\\n]{3,8}|\\d+e"},
  {RLX_GRAMMAR_JSON, ""},
  {RLX_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":6}}"},
  {RLX_GRAMMAR_JSON_SCHEMA,
   "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":2},\"b\":{},"
   "\"ab\":{\"enum\":[\"a\",\"ab\",true,1]}},\"additionalProperties\":{\"type\":\"integer\"}}"},
  {RLX_GRAMMAR_JSON_SCHEMA,
   "{\"type\":\"object\",\"properties\":{\"n\":{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}}}"},
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

/* The mask after a text, by trying each token in a state of its own. */
static bool try_all(const rlx_grammar *g, const rlx_str *text, const uint64_t *bits, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < g->vocab->n_tokens; i++) {
    grammar_state *s;
    if (grammar_state_create(g, &s)) return false;
    bool is_allowed =
      grammar_state_accept_bytes(s, text->v, text->n) == RLX_OK && grammar_state_accept(s, (int32_t)i) == RLX_OK;
    grammar_state_destroy(s);
    count += is_allowed;
    if (is_allowed != (bits[i / 64] >> i % 64 & 1)) {
      printf("  token %u after '%s': %s, but the mask says otherwise\n", i, text->v,
             is_allowed ? "fits" : "does not fit");
      return false;
    }
  }
  return count == n;
}

static void complain(const char *what) { FAIL("%s: %s", what, rlx_message()); }

/* A random text; its tokens go to `ids`. checks: each mask is compared with trying everything. */
static size_t walk(const rlx_grammar *g, uint64_t seed, size_t max, bool checks, int32_t *ids) {
  grammar_state *s;
  rlx_str text = {0};
  size_t n_ids = 0;
  rlx_str_add_bytes(&text, "", 0);
  if (grammar_state_create(g, &s)) return 0;
  for (; n_ids < max; n_ids++) {
    const uint64_t *bits;
    uint32_t n;
    if (grammar_state_mask(s, &bits, &n) || (checks && !try_all(g, &text, bits, n))) {
      complain("a mask");
      break;
    }
    if (!n) break;
    uint32_t wanted = draw(&seed, n);
    int32_t id = -1;
    for (uint32_t i = 0; id < 0; i++)
      if (bits[i / 64] >> i % 64 & 1 && !wanted--) id = (int32_t)i;
    text_span bytes = {g->vocab->bytes + g->vocab->starts[id], g->vocab->starts[id + 1] - g->vocab->starts[id]};
    rlx_str_add_bytes(&text, bytes.p, bytes.n);
    if (grammar_state_accept(s, id)) {
      complain("a token that the mask allows");
      break;
    }
    ids[n_ids] = id;
  }
  rlx_str_deinit(&text);
  grammar_state_destroy(s);
  return n_ids;
}

TEST(masks_are_what_trying_every_token_gives) {
  rlx_tokenizer *t;
  int32_t ids[64];
  CHECK_OK(make_tokenizer(&t));
  for (size_t i = 0; i < N_SAMPLES && !test_has_failed(); i++) {
    rlx_grammar *g;
    CHECK_OK(make_grammar(t, samples[i].kind, samples[i].text, &g));
    for (uint64_t seed = 0; seed < (TEST_IS_SANITIZED ? 2 : 6) && !test_has_failed(); seed++)
      (void)walk(g, seed, TEST_IS_SANITIZED ? 5 : 12, true, ids);
    if (test_has_failed()) printf("  %s\n", samples[i].text);
    rlx_grammar_destroy(g);
  }
  rlx_tokenizer_destroy(t);
}

TEST(what_is_dropped_is_computed_again) {
  enum { LONG = 400 };
  rlx_tokenizer *t;
  static int32_t a[LONG], b[LONG];
  CHECK_OK(make_tokenizer(&t));
  for (size_t i = 0; i < N_SAMPLES; i++) {
    rlx_grammar *g, *small;
    grammar_state *other;
    CHECK_OK(make_grammar(t, samples[i].kind, samples[i].text, &g));
    CHECK_OK(make_grammar(t, samples[i].kind, samples[i].text, &small));
    small->max_bytes = 1000; /* less than anything takes: the machine is made anew for each token */
    CHECK_OK(grammar_state_create(small, &other));
    size_t n = walk(g, i, LONG, false, a), m = walk(small, i, LONG, false, b);
    CHECK(n == m && memcmp(a, b, n * sizeof *a) == 0);
    CHECK(walk(small, i, LONG, false, b) == n); /* a state that lived meanwhile does not disturb it */
    grammar_state_destroy(other);
    rlx_grammar_destroy(g);
    rlx_grammar_destroy(small);
  }
  rlx_tokenizer_destroy(t);
}

typedef struct job {
  const rlx_grammar *g;
  uint64_t seed;
  int32_t ids[200];
  size_t n;
} job;

static void *run_job(void *user) {
  job *j = user;
  j->n = walk(j->g, j->seed, 200, false, j->ids);
  return NULL;
}

TEST(threads_share_a_grammar) {
  enum { THREADS = 4 };
  rlx_tokenizer *t;
  rlx_grammar *g;
  static job jobs[THREADS], alone[THREADS];
  pthread_t threads[THREADS];
  CHECK_OK(make_tokenizer(&t));
  CHECK_OK(make_grammar(t, RLX_GRAMMAR_JSON, "", &g));
  g->max_bytes = 1 << 16;
  for (size_t i = 0; i < THREADS; i++) {
    jobs[i] = (job){.g = g, .seed = i / 2};
    CHECK(!pthread_create(&threads[i], NULL, run_job, &jobs[i]));
  }
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < THREADS; i++) {
    alone[i] = (job){.g = g, .seed = i / 2};
    run_job(&alone[i]);
    CHECK(alone[i].n == jobs[i].n && memcmp(alone[i].ids, jobs[i].ids, jobs[i].n * sizeof(int32_t)) == 0);
  }
  rlx_grammar_destroy(g);
  rlx_tokenizer_destroy(t);
}

/* ---- The public functions ---- */

TEST(special_tokens_are_no_text) {
  rlx_tokenizer *t;
  rlx_grammar *g;
  grammar_state *s;
  const uint64_t *bits;
  uint32_t n;
  CHECK_OK(make_tokenizer(&t));
  CHECK_OK(make_grammar(t, RLX_GRAMMAR_GBNF, "root ::= (\"<s>\" | \"</s>\")+", &g));
  CHECK(judge(g, "<s></s>", 7) == YES);
  CHECK_OK(grammar_state_create(g, &s));
  CHECK_OK(grammar_state_mask(s, &bits, &n));
  CHECK(n > 0 && !(bits[0] & 3));
  CHECK_FAILS(grammar_state_accept(s, 0), RLX_INVALID, "");
  CHECK_FAILS(grammar_state_accept(s, -1), RLX_INVALID, "");
  CHECK_FAILS(grammar_state_accept(s, 1 << 20), RLX_INVALID, "");
  CHECK_OK(grammar_state_accept_bytes(s, "<s>", 3));
  rlx_grammar_destroy(g);
  CHECK(grammar_state_may_end(s)); /* it holds the grammar */
  rlx_tokenizer_destroy(t);
  CHECK_OK(grammar_state_mask(s, &bits, &n)); /* which does not need the tokenizer */
  grammar_state_destroy(s);
}

typedef struct refusal {
  rlx_grammar_kind kind;
  const char *text;
  rlx_status status;
  const char *message;
} refusal;

TEST(errors_have_a_place) {
  static const refusal refusals[] = {
    {RLX_GRAMMAR_GBNF, "", RLX_INVALID, "no rule 'root'"},
    {RLX_GRAMMAR_GBNF, "a ::= \"x\"", RLX_INVALID, "no rule 'root'"},
    {RLX_GRAMMAR_GBNF, "root ::= \"x\" | missing\n", RLX_INVALID, "line 1, column 16: rule 'missing' is not defined"},
    {RLX_GRAMMAR_GBNF, "root ::= \"x\"\n\nroot ::= \"y\"", RLX_INVALID, "line 3, column 1"},
    {RLX_GRAMMAR_GBNF, "root ::= [a-", RLX_INVALID, "line 1, column 10: the class has no closing bracket"},
    {RLX_GRAMMAR_GBNF, "root ::= \"a", RLX_INVALID, "line 1, column 10: the text has no closing quote"},
    {RLX_GRAMMAR_GBNF, "root ::= (\"a\"\n", RLX_INVALID, "no closing parenthesis"},
    {RLX_GRAMMAR_GBNF, "root ::= \"\\q\"", RLX_INVALID, "unknown escape"},
    {RLX_GRAMMAR_GBNF, "root ::= [z-a]", RLX_INVALID, "the range ends before it begins"},
    {RLX_GRAMMAR_GBNF, "root ::= []", RLX_INVALID, "no character"},
    {RLX_GRAMMAR_GBNF, "root ::= \"a\"{3,2}", RLX_INVALID, "ends before it begins"},
    {RLX_GRAMMAR_GBNF, "root ::= \"a\"{2000000}", RLX_LIMIT, "repetitions"},
    {RLX_GRAMMAR_GBNF, "root ::= \"\\ud800\"", RLX_INVALID, "no character"},
    {RLX_GRAMMAR_GBNF, "root ::= <think>", RLX_UNSUPPORTED, "tokens by name"},
    {RLX_GRAMMAR_GBNF, "root = \"a\"", RLX_INVALID, "expected '::='"},
    {RLX_GRAMMAR_GBNF, "root ::= a \"x\"\na ::= b | \"y\"\nb ::= a? root", RLX_INVALID, "left-recursive"},
    {RLX_GRAMMAR_GBNF, "root ::= \"x\" root", RLX_INVALID, "no text matches"},
    {RLX_GRAMMAR_GBNF, "root ::= \"\xff\"", RLX_INVALID, "not UTF-8"},
    {RLX_GRAMMAR_REGEX, "a(b", RLX_INVALID, "character 2: the group has no closing parenthesis"},
    {RLX_GRAMMAR_REGEX, "a)", RLX_INVALID, "closing parenthesis"},
    {RLX_GRAMMAR_REGEX, "a\\b", RLX_UNSUPPORTED, "word boundaries"},
    {RLX_GRAMMAR_REGEX, "(a)\\1", RLX_UNSUPPORTED, "references to groups"},
    {RLX_GRAMMAR_REGEX, "(?!a)b", RLX_UNSUPPORTED, "looking ahead"},
    {RLX_GRAMMAR_REGEX, "\\p{L}", RLX_UNSUPPORTED, "Unicode properties"},
    {RLX_GRAMMAR_REGEX, "*a", RLX_INVALID, "nothing to repeat"},
    {RLX_GRAMMAR_REGEX, "a**", RLX_INVALID, "a repetition of a repetition"},
    {RLX_GRAMMAR_REGEX, "a^b", RLX_INVALID, "an anchor"},
    {RLX_GRAMMAR_REGEX, "[b-a]", RLX_INVALID, "the range ends before it begins"},
    {RLX_GRAMMAR_JSON_SCHEMA, "{", RLX_INVALID, "schema"},
    {RLX_GRAMMAR_JSON_SCHEMA, "{\"type\":\"object\",\"properties\":{\"a\":{\"not\":{}}}}", RLX_UNSUPPORTED,
     "#/properties/a/not"},
    {(rlx_grammar_kind)9, "", RLX_INVALID, "kind is 9"},
  };
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(&t));
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    rlx_grammar *g = NULL;
    rlx_status s = make_grammar(t, refusals[i].kind, refusals[i].text, &g);
    if (s != refusals[i].status || !strstr(rlx_message(), refusals[i].message) || g)
      FAIL("'%s': %s: %s", refusals[i].text, rlx_status_name(s), rlx_message());
  }
  rlx_grammar *g;
  CHECK_FAILS(rlx_grammar_create(NULL, RLX_GRAMMAR_GBNF, "x", 1, &g), RLX_INVALID, "");
  CHECK_FAILS(rlx_grammar_create(t, RLX_GRAMMAR_GBNF, NULL, 1, &g), RLX_INVALID, "");
  CHECK_FAILS(rlx_grammar_create(t, RLX_GRAMMAR_GBNF, "x", 1, NULL), RLX_INVALID, "");
  CHECK_FAILS(rlx_grammar_create(t, RLX_GRAMMAR_GBNF, "x", (size_t)1 << 30, &g), RLX_LIMIT, "");
  rlx_grammar_destroy(NULL);
  rlx_tokenizer_destroy(t);
}

/* The notation as its authors write it. */
TEST(gbnf_in_all_its_forms) {
  static const char text[] =
    "# a comment\r\n"
    "root  ::= # another\n  first | \"\\x41\\u00e9\\U0001F642\\n\\t\\\\\\\"\\[\\]\" |\n  [^\\]a-z\\-] . ws\n"
    "  | (\n \"in\" # here\n | \"group\" )? \"!\" {2}\n"
    "first ::= \"\" \"x\"{2,} [0-9a-fA-F]{1, 3} ws\nws ::= [ \\t\\n]*\n\n";
  static const struct {
    const char *text;
    verdict verdict;
  } cases[] = {
    {"xx0", YES},
    {"xxxxfFf \n", YES},
    {"x0", NO},
    {"xx0000", NO},
    {"A\xc3\xa9\xf0\x9f\x99\x82\n\t\\\"[]", YES},
    {"A\xc3", PART},
    {"A\xc3\xa8", YES},
    {"0\n", YES},
    {"]", NO},
    {"!!", YES},
    {"in!!", YES},
    {"group!", PART},
    {"group!!!", NO},
    {"\xf0\x9f\x99\x82\xc3\xa9 ", YES},
    {"\xff", NO},
    {"\xed\xa0\x80", NO},
    {"\xc0\x80", NO},
    {"\xf4\x90\x80\x80", NO},
    {"\xf4\x8f\xbf\xbf"
     "0",
     YES},
  };
  rlx_tokenizer *t;
  rlx_grammar *g;
  CHECK_OK(make_tokenizer(&t));
  CHECK_OK(make_grammar(t, RLX_GRAMMAR_GBNF, text, &g));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (judge(g, cases[i].text, strlen(cases[i].text)) != cases[i].verdict) FAIL("case %zu: '%s'", i, cases[i].text);
  rlx_grammar_destroy(g);
  rlx_tokenizer_destroy(t);
}

/* Whatever is asked for, the answer comes: a grammar, or a limit. */
TEST(hostile_grammars_end) {
  static const sample hostile[] = {
    {RLX_GRAMMAR_REGEX, "(a|b)*a(a|b){400}"},
    {RLX_GRAMMAR_REGEX, "(((((a{1000}){1000}){1000}){1000}){1000}){1000}"},
    {RLX_GRAMMAR_REGEX, "((((a*)*)*)*)*b"},
    {RLX_GRAMMAR_REGEX, "(a|a|aa|aaa)*(a|aa)*(a|a)*c"},
    {RLX_GRAMMAR_REGEX, "(((a?){30}){30}){30}a{1000}"},
    {RLX_GRAMMAR_GBNF, "root ::= (\"a\" | \"a\" root | \"a\" root root)"},
    {RLX_GRAMMAR_GBNF, "root ::= \"a\" root root root | \"\""},
    {RLX_GRAMMAR_GBNF, "root ::= (((\"a\"? \"b\"?)* \"a\"?)* \"b\"*)* x{1000000}\nx ::= (\"a\" | \"b\")*"},
    {RLX_GRAMMAR_GBNF, "root ::= ([a-b]* [a-c]* [a-d]* [a-e]* [a-f]* [a-g]* [a-h]* [a-i]*)*"},
    {RLX_GRAMMAR_JSON_SCHEMA, "{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}"},
    {RLX_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"allOf\":[{\"$ref\":\"#\"},{\"properties\":{\"b\":{\"$ref\":\"#\"}}}]},"
     "\"c\":{\"allOf\":[{\"$ref\":\"#\"},{\"minLength\":3}]}}}"},
    {RLX_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"minItems\":1000000,\"items\":{\"minItems\":1000000}}"},
  };
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(&t));
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
    rlx_grammar *g;
    rlx_status s = make_grammar(t, hostile[i].kind, hostile[i].text, &g);
    if (s && s != RLX_LIMIT && s != RLX_UNSUPPORTED && s != RLX_INVALID) FAIL("%s: %s", hostile[i].text, rlx_message());
    if (s) continue;
    grammar_state *state;
    const uint64_t *bits;
    uint32_t n;
    CHECK_OK(grammar_state_create(g, &state));
    for (int k = 0; k < 60 && !s; k++) {
      s = grammar_state_mask(state, &bits, &n);
      if (!s) s = grammar_state_accept_bytes(state, "a", 1);
    }
    CHECK(!s || s == RLX_LIMIT || s == RLX_INVALID);
    grammar_state_destroy(state);
    rlx_grammar_destroy(g);
  }
  rlx_str deep = {0}; /* nested, and a chain of rules */
  for (int i = 0; i < 100000; i++) rlx_str_add_char(&deep, '(');
  rlx_grammar *g;
  CHECK_FAILS(rlx_grammar_create(t, RLX_GRAMMAR_REGEX, deep.v, deep.n, &g), RLX_LIMIT, "");
  deep.n = 0;
  rlx_str_add(&deep, "root ::= r0\n");
  for (int i = 0; i < 20000; i++) rlx_str_add(&deep, "r%d ::= r%d | \"%c\"\n", i, i + 1, 'a' + i % 26);
  rlx_str_add(&deep, "r20000 ::= \"z\"\n");
  rlx_status s = rlx_grammar_create(t, RLX_GRAMMAR_GBNF, deep.v, deep.n, &g);
  CHECK(!s || s == RLX_LIMIT);
  if (!s) CHECK(judge(g, "z", 1) == FAILED); /* more letters to begin with than are followed at once */
  if (!s) rlx_grammar_destroy(g);
  rlx_str_deinit(&deep);
  rlx_tokenizer_destroy(t);
}

/* ---- Failing allocations ---- */

static const sample *swept;

static rlx_status sweep(void *user) {
  rlx_grammar *g;
  grammar_state *s;
  const uint64_t *bits;
  RLX_TRY(make_grammar(user, swept->kind, swept->text, &g));
  g->max_bytes = 4000;
  rlx_status status = grammar_state_create(g, &s);
  for (int i = 0; i < 3 && !status; i++) {
    uint32_t n;
    status = grammar_state_mask(s, &bits, &n);
    for (uint32_t k = 0; !status && n && k < g->vocab->n_tokens; k++)
      if (bits[k / 64] >> k % 64 & 1) {
        status = grammar_state_accept(s, (int32_t)k);
        break;
      }
  }
  grammar_state_destroy(s);
  rlx_grammar_destroy(g);
  return status;
}

TEST(failing_allocations) {
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(&t));
  static const size_t chosen[] = {1, 4, 5, 8, 9};
  grammar_vocab *v;
  CHECK_OK(grammar_vocab_of(t, &v)); /* it stays with the tokenizer */
  grammar_vocab_release(v);
  for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
    swept = &samples[chosen[i]];
    CHECK_OK(alloc_sweep(sweep, t));
  }
  rlx_tokenizer_destroy(t);
}

static rlx_status sweep_vocab(void *user) {
  rlx_tokenizer *t = user;
  grammar_vocab *v;
  RLX_TRY(grammar_vocab_of(t, &v));
  grammar_vocab_release(v);
  grammar_vocab_release(t->grammar_vocab);
  t->grammar_vocab = NULL;
  return RLX_OK;
}

TEST(failing_allocations_of_a_vocabulary) {
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(&t));
  CHECK_OK(alloc_sweep(sweep_vocab, t));
  rlx_tokenizer_destroy(t);
}
