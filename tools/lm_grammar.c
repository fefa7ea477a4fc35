/* What grammars do with a vocabulary, for scripts (tests/text/test_json_schema.py): commands on standard input, an
 * answer line for each on standard output.
 *
 *   lm_grammar FILE               the tokenizer of a model file
 *     grammar KIND BYTES          and that many bytes: makes it the grammar; KIND as in rlx_grammar_kind
 *     accept BYTES                and a text: "yes", "part" (it may go on) or "no"
 *     walk SEED TOKENS            a random text of tokens that the masks allow: "text BYTES" and the text; it ends soon
 *                                 after so many tokens
 *   Where something fails: the name of the status and the message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/grammar.h"

enum { MAX_BYTES = 1 << 24, MAX_WALK = 1 << 20 };

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void answer(rlx_status s, const char *word) {
  if (s) printf("%s %s\n", rlx_status_name(s), rlx_message());
  else puts(word);
}

/* How much a token helps to come to an end: closing is best. */
static unsigned rank_of(const grammar_vocab *v, int32_t id) {
  const uint32_t n = v->starts[id + 1] - v->starts[id];
  const char c = v->bytes[v->starts[id]];
  return n == 1 ? c == '"' ? 4 : c == ']' || c == '}' ? 3 : c > ' ' && c < 127 ? 2 : 1 : 0;
}

/* One of the allowed tokens, of those that help most if the text must end; -1: none. */
static int32_t choose(const grammar_vocab *v, const uint64_t *bits, uint64_t *seed, bool must_end) {
  unsigned best = 0;
  uint64_t n = 0;
  int32_t chosen = -1;
  const bool is_open = !(draw(seed) % 4); /* brackets may be letters of a text: now and then anything */
  for (uint32_t i = 0; i < v->n_tokens; i++) {
    if (!(bits[i / 64] >> i % 64 & 1)) continue;
    unsigned rank = must_end ? rank_of(v, (int32_t)i) : 0;
    if (is_open && rank > 2) rank = 2;
    if (rank < best) continue;
    if (rank > best) n = 0;
    best = rank;
    if (!(draw(seed) % ++n)) chosen = (int32_t)i;
  }
  return chosen;
}

static rlx_status walk(const rlx_grammar *g, uint64_t seed, unsigned tokens, rlx_str *out) {
  grammar_state *s;
  rlx_status status = grammar_state_create(g, &s);
  if (status) return status;
  rlx_str_add_bytes(out, "", 0);
  for (unsigned i = 0; !status; i++) {
    const uint64_t *bits;
    uint32_t n;
    const bool must_end = i >= tokens, may_end = grammar_state_may_end(s);
    status = grammar_state_mask(s, &bits, &n);
    if (status || (may_end && (!n || must_end || !(draw(&seed) % 4)))) break;
    const grammar_vocab *v = grammar_state_vocab(s);
    int32_t id = choose(v, bits, &seed, must_end);
    if (id < 0 || i > MAX_WALK) {
      status = RLX_FAIL(RLX_UNSUPPORTED, id < 0 ? "no token continues the text" : "the walk does not end");
      break;
    }
    rlx_str_add_bytes(out, v->bytes + v->starts[id], v->starts[id + 1] - v->starts[id]);
    status = grammar_state_accept(s, id);
  }
  grammar_state_destroy(s);
  return status;
}

static void accept(const rlx_grammar *g, const char *text, size_t bytes) {
  grammar_state *s;
  rlx_status status = grammar_state_create(g, &s);
  if (status) {
    answer(status, "");
    return;
  }
  status = grammar_state_accept_bytes(s, text, bytes);
  if (status == RLX_INVALID) puts("no");
  else answer(status, grammar_state_may_end(s) ? "yes" : "part");
  grammar_state_destroy(s);
}

static char *read_bytes(size_t n) {
  char *text = malloc(n + 1);
  if (text && fread(text, 1, n, stdin) != n) {
    free(text);
    return NULL;
  }
  return text;
}

static int serve(const rlx_tokenizer *t) {
  char line[256], word[16];
  rlx_grammar *g = NULL;
  while (fgets(line, sizeof line, stdin)) {
    unsigned long long a = 0, b = 0;
    if (sscanf(line, "%15s %llu %llu", word, &a, &b) < 2) break;
    const bool makes = strcmp(word, "grammar") == 0, asks = strcmp(word, "accept") == 0;
    char *text = (makes || asks) && (makes ? b : a) <= MAX_BYTES ? read_bytes(makes ? b : a) : NULL;
    if ((makes || asks) && !text) break;
    if (makes) {
      rlx_grammar_destroy(g);
      answer(rlx_grammar_create(t, (rlx_grammar_kind)a, text, b, &g), "ok");
    } else if (!g) {
      puts("there is no grammar");
    } else if (asks) {
      accept(g, text, a);
    } else {
      rlx_str out = {0};
      rlx_status s = walk(g, a, (unsigned)b, &out);
      if (s) answer(s, "");
      else printf("text %zu\n%.*s\n", out.n, (int)out.n, out.v);
      rlx_str_deinit(&out);
    }
    free(text);
    fflush(stdout);
  }
  rlx_grammar_destroy(g);
  return 0;
}

int main(int argc, char **argv) {
  rlx_file *f;
  rlx_tokenizer *t;
  if (argc != 2) {
    fprintf(stderr, "usage: lm_grammar FILE < COMMANDS\n");
    return 2;
  }
  if (rlx_file_open(argv[1], NULL, &f)) {
    fprintf(stderr, "%s\n", rlx_message());
    return 1;
  }
  rlx_status s = rlx_tokenizer_create(f, &t);
  rlx_file_close(f);
  if (s) fprintf(stderr, "%s\n", rlx_message());
  else serve(t);
  if (!s) rlx_tokenizer_destroy(t);
  return s != RLX_OK;
}
