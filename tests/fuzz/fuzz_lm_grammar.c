/* libFuzzer target: any bytes as a grammar, a schema or a pattern. What is refused has words; what is accepted has masks
 * whose tokens, and only they, the automaton takes, and ends in bounded time.
 *
 * The first byte is the kind, the second the seed of a walk, the rest the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm_fuzz.h"
#include "text/grammar.h"

enum { MAX_BYTES = 4096, STEPS = 12, TRIED = 24 };

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static bool is_expected(rlx_status s) { return s == RLX_INVALID || s == RLX_UNSUPPORTED || s == RLX_LIMIT; }

/* Whether the text goes on with a token, in a state of its own. */
static bool fits(const rlx_grammar *g, const rlx_str *text, int32_t id) {
  grammar_state *s;
  if (grammar_state_create(g, &s)) fail("a state");
  rlx_status status = grammar_state_accept_bytes(s, text->v, text->n);
  if (!status) status = grammar_state_accept(s, id);
  grammar_state_destroy(s);
  return !status;
}

static void walk(const rlx_grammar *g, uint32_t seed) {
  grammar_state *s;
  rlx_str text = {0};
  rlx_status status = grammar_state_create(g, &s);
  rlx_str_add_bytes(&text, "", 0);
  for (int i = 0; i < STEPS && !status; i++) {
    const uint64_t *bits;
    uint32_t n;
    status = grammar_state_mask(s, &bits, &n);
    if (status || !n) break;
    int32_t next = -1;
    uint32_t wanted = (seed = seed * 1664525u + 1013904223u) % n;
    for (int32_t id = 0; next < 0; id++)
      if (bits[id / 64] >> id % 64 & 1 && !wanted--) next = id;
    for (int k = 0; k < TRIED; k++) {
      int32_t id = (int32_t)((seed = seed * 1664525u + 1013904223u) >> 8) % (int32_t)g->vocab->n_tokens;
      if (fits(g, &text, id) != (bits[id / 64] >> id % 64 & 1)) fail("a mask and the automaton differ");
    }
    rlx_str_add_bytes(&text, g->vocab->bytes + g->vocab->starts[next],
                      g->vocab->starts[next + 1] - g->vocab->starts[next]);
    status = grammar_state_accept(s, next);
    if (status && status != RLX_LIMIT) fail("a token that the mask allows");
  }
  if (status && status != RLX_LIMIT) fail("a walk");
  rlx_str_deinit(&text);
  grammar_state_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  rlx_grammar *g;
  if (bytes < 2 || bytes > MAX_BYTES || !lm_fuzz_tokenizer()) return 0;
  rlx_status s =
    rlx_grammar_create(lm_fuzz_tokenizer(), (rlx_grammar_kind)(data[0] % 3), (const char *)data + 2, bytes - 2, &g);
  if (s) {
    if (!is_expected(s) || !*rlx_message() || g) fail("a refusal");
    return 0;
  }
  g->max_bytes = (size_t)1 << (10 + data[1] % 14);
  walk(g, data[1]);
  rlx_grammar_destroy(g);
  return 0;
}
