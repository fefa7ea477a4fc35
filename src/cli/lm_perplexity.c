/* rlx perplexity: how well a model predicts a text.
 *
 * The text is processed in overlapping windows. The model sees `window` tokens at a time, and only the last `stride`
 * tokens of each window are scored (in the first window, all but the first token). So every token is scored once,
 * with context before it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/lm_cli.h"

enum { PIECE = 64, MAX_TEXT = 1 << 30 };

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  int64_t window, stride, max;
} request;

typedef struct score {
  double nats;
  size_t tokens; /* tokens scored */
  size_t seen;   /* tokens of the text processed so far */
} score;

/* -log of the probability of one token (its surprisal). */
static double surprisal(const float *logits, size_t n, int32_t id) {
  double max = (double)logits[0], others = -1; /* the largest logit adds 1 in the loop */
  for (size_t i = 1; i < n; i++) max = fmax(max, (double)logits[i]);
  for (size_t i = 0; i < n; i++) others += exp((double)logits[i] - max);
  return log1p(others) + max - (double)logits[id];
}

/* Runs tokens [from, to) of the text and scores those from `first` on. */
static rlx_status score_window(rlx_lm *lm, const int32_t *ids, size_t from, size_t first, size_t to, float *logits,
                               size_t n_vocab, score *s) {
  rlx_status status = rlx_lm_truncate(lm, 0, 0);
  size_t at = first - 1; /* position whose logits score token `first` */
  if (!status && at > from) status = rlx_lm_append(lm, 0, ids + from, at - from, false, NULL);
  while (!status && at + 1 < to) {
    size_t n = to - 1 - at < PIECE ? to - 1 - at : PIECE;
    status = rlx_lm_append(lm, 0, ids + at, n, true, logits);
    for (size_t i = 0; i < n && !status; i++) s->nats += surprisal(logits + i * n_vocab, n_vocab, ids[at + i + 1]);
    at += n;
    s->tokens += n;
  }
  return status;
}

static bool shows_progress(const request *r) { return !r->common.quiet && cli_is_terminal(2); }

static void show_progress(const request *r, const score *s, size_t n) {
  if (shows_progress(r))
    fprintf(stderr, "\r%3.0f %%, perplexity %.4f ", 100.0 * (double)s->seen / (double)n,
            exp(s->nats / (double)s->tokens));
}

static int score_tokens(const request *r, rlx_lm *lm, const int32_t *ids, size_t n, score *s) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (cli_check(rlx_lm_describe(lm, &info), NULL, NULL)) return CLI_FAILED;
  size_t window = r->window ? (size_t)r->window : info.context < 512 ? info.context : 512;
  if (window > info.context)
    return cli_fail("--window is %zu, but the context holds %" PRIu32 " tokens", window, info.context);
  size_t stride = r->stride ? (size_t)r->stride : (window + 1) / 2;
  if (stride >= window) stride = window - 1;
  float *logits = malloc(sizeof *logits * PIECE * info.n_vocabulary);
  if (!logits) return cli_fail("out of memory");
  rlx_status status = RLX_OK;
  size_t first = 1, to = window < n ? window : n, from = 0;
  while (!status && first < n && !cli_interrupted()) {
    from = to > window ? to - window : 0;
    status = score_window(lm, ids, from, first, to, logits, info.n_vocabulary, s);
    if (status) break;
    s->seen = first = to;
    to = to + stride < n ? to + stride : n;
    show_progress(r, s, n);
  }
  free(logits);
  if (shows_progress(r)) fprintf(stderr, "\r\033[K");
  if (status && from) return cli_fail("tokens %zu to %zu of the text: %s", from, to - 1, rlx_message());
  return cli_interrupted() ? CLI_INTERRUPTED : cli_check(status, NULL, NULL);
}

static int score_text(const request *r, rlx_lm *lm, const char *text, size_t bytes) {
  int32_t *ids;
  size_t n;
  score s = {0};
  if (cli_lm_tokens(lm, text, bytes, r->max, &ids, &n)) return CLI_FAILED;
  int code = n < 2 ? cli_fail("%s: %zu tokens; two at least are needed", r->words.v[1].value, n) : CLI_DONE;
  if (!code) code = score_tokens(r, lm, ids, n, &s);
  rlx_free(ids);
  if (code) return code;
  double mean = s.nats / (double)s.tokens, per_byte = r->max ? NAN : s.nats / log(2) / (double)bytes;
  if (r->common.json) {
    fputs("{\"perplexity\":", stdout);
    cli_json_real(exp(mean), 9); /* infinite above 709 nats */
    fputs(",\"nats_per_token\":", stdout);
    cli_json_real(mean, 9);
    printf(",\"tokens\":%zu,\"bytes\":%zu", s.tokens, bytes);
    if (!isnan(per_byte)) fputs(",\"bits_per_byte\":", stdout), cli_json_real(per_byte, 9);
    printf("}\n");
  } else {
    printf("perplexity %.4f over %zu tokens", exp(mean), s.tokens);
    if (!isnan(per_byte)) printf(", %.4f bits per byte", per_byte);
    printf("\n");
  }
  return CLI_DONE;
}

int cli_perplexity(const cli_command *self, int argc, char **argv) {
  request r = {.self = self};
  const cli_option options[] = {
    {"--window", "N", "tokens that are seen at once (default: 512, or the context)", CLI_NUMBER, &r.window, 2,
     16777216},
    {"--stride", "N", "tokens that count in each window (default: half of it)", CLI_NUMBER, &r.stride, 1, 16777216},
    {"--tokens", "N", "only the first N tokens of the text", CLI_NUMBER, &r.max, 2, INT64_MAX},
    CLI_LM_OPTIONS(r.lm),
  };
  rlx_lm *lm = NULL;
  char *text = NULL;
  size_t bytes;
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    if (r.words.n != 2) code = cli_wrong(self, "expected a model and a text, got %zu words", r.words.n);
    else code = cli_read_bytes(r.words.v[1].value, MAX_TEXT, &text, &bytes);
    if (!code) code = cli_lm_open(&r.common, &r.lm, r.words.v[0].value, &lm);
    if (lm && !code) {
      cli_note_interrupts();
      code = score_text(&r, lm, text, bytes);
    }
    rlx_lm_destroy(lm);
    free(text);
  }
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
