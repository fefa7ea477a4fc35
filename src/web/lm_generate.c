/* Generation, a step at a time, so that the worker sees messages (a cancel) between two steps.
 *
 *   rlx_web_lm_begin                  the settings
 *   rlx_web_lm_stop, rlx_web_lm_message   stop texts, and the messages of a conversation
 *   rlx_web_lm_start_chat or _start_text  the prompt: its tokens are appended, nothing is computed yet
 *   rlx_web_lm_step ..                some tokens each, their text through rlx_js_piece; 1: call again
 *   rlx_web_lm_stats                  how it ended, counts, seconds
 *
 * The library generates until the end of a text in one call. Here the same text is made of many calls, because each
 * continues from the tokens that the sequence holds, and what is sampled depends on the position alone. To append a
 * prompt without computing it, that call is cancelled at once. A step that is still reading the prompt returns after a
 * time; one that generates, after a number of tokens, so that no token that a GPU has computed is discarded. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "web/lm.h"

void web_generation_end(web_generation *g) {
  for (size_t i = 0; i < g->n_stops; i++) rlx_mem_free(g->stops[i]);
  for (size_t i = 0; i < g->n_messages; i++) {
    rlx_mem_free((void *)(uintptr_t)g->messages[i].role);
    rlx_mem_free((void *)(uintptr_t)g->messages[i].text);
  }
  rlx_mem_free(g->stops);
  rlx_mem_free(g->messages);
  rlx_decoder_destroy(g->decoder);
  rlx_str_deinit(&g->waiting);
  *g = (web_generation){.stats = {RLX_LM_STATS_INIT}};
}

/* ---- Settings and messages ---- */

enum { FLAG_IGNORE_END = 1, FLAG_SHIFT = 2, FLAG_SPECIAL_TEXT = 4, FLAG_SPECIAL_PARSE = 8 }; /* also in worker.js */

/* Begins a new generation; one that is in progress ends. The fields are those of rlx_lm_options. */
WEB_EXPORT(rlx_web_lm_begin)
void rlx_web_lm_begin(web_lm *m, uint32_t max_tokens, double temperature, uint32_t top_k, double top_p, double min_p,
                      double penalty, double penalty_tokens, double seed, uint32_t flags) {
  web_generation *g = &m->generation;
  web_generation_end(g);
  g->options = (rlx_lm_options){RLX_LM_OPTIONS_INIT,
                                .max_tokens = max_tokens,
                                .temperature = temperature,
                                .top_k = top_k,
                                .top_p = top_p,
                                .min_p = min_p,
                                .repetition_penalty = penalty,
                                .penalty_tokens = penalty_tokens >= 1 ? (uint64_t)penalty_tokens : 0,
                                .seed = seed >= 0 && seed < 1.8e19 ? (uint64_t)seed : 0,
                                .ignore_end = (flags & FLAG_IGNORE_END) != 0,
                                .shift = (flags & FLAG_SHIFT) != 0};
  if (flags & FLAG_SPECIAL_TEXT) g->options.special = RLX_LM_SPECIAL_TEXT;
  if (flags & FLAG_SPECIAL_PARSE) g->options.special = RLX_LM_SPECIAL_PARSE;
}

static char *copy_text(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = rlx_mem_alloc(bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

WEB_EXPORT(rlx_web_lm_stop) int32_t rlx_web_lm_stop(web_lm *m, const char *text) {
  web_generation *g = &m->generation;
  char **grown = rlx_mem_realloc(g->stops, g->n_stops + 1, sizeof *grown), *copy = copy_text(text);
  if (grown) g->stops = grown;
  if (grown && copy) {
    g->stops[g->n_stops++] = copy;
    return (int32_t)web_end(RLX_OK);
  }
  rlx_mem_free(copy);
  return (int32_t)web_end(RLX_FAIL(RLX_NO_MEMORY, "a stop text"));
}

WEB_EXPORT(rlx_web_lm_message) int32_t rlx_web_lm_message(web_lm *m, const char *role, const char *text) {
  web_generation *g = &m->generation;
  rlx_chat_message *grown = rlx_mem_realloc(g->messages, g->n_messages + 1, sizeof *grown);
  char *role_copy = copy_text(role), *text_copy = copy_text(text);
  if (grown) g->messages = grown;
  if (grown && role_copy && text_copy) {
    g->messages[g->n_messages++] = (rlx_chat_message){role_copy, text_copy};
    return (int32_t)web_end(RLX_OK);
  }
  rlx_mem_free(role_copy);
  rlx_mem_free(text_copy);
  return (int32_t)web_end(RLX_FAIL(RLX_NO_MEMORY, "a message"));
}

/* ---- Text of tokens ---- */

/* Offset of the first stop text (SIZE_MAX: none); *may_become: bytes at the end that may begin one. */
static size_t find_stop(const web_generation *g, size_t *may_become) {
  size_t first = SIZE_MAX;
  *may_become = 0;
  for (size_t i = 0; i < g->n_stops; i++) {
    const char *stop = g->stops[i], *at = *stop ? strstr(g->waiting.v, stop) : NULL;
    if (at && (size_t)(at - g->waiting.v) < first) first = (size_t)(at - g->waiting.v);
    size_t n = strlen(stop);
    for (size_t k = n ? n - 1 : 0; k > *may_become; k--)
      if (k <= g->waiting.n && memcmp(g->waiting.v + g->waiting.n - k, stop, k) == 0) *may_become = k;
  }
  return first;
}

/* Passes on what cannot be part of a stop text any more. */
static void pass_on(web_generation *g, const char *text, size_t bytes, bool is_last) {
  rlx_str_add_bytes(&g->waiting, text, bytes);
  if (g->waiting.failed) g->status = RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  if (g->status || !g->waiting.n) return;
  size_t keep, stop = find_stop(g, &keep), n = g->waiting.n - (is_last ? 0 : keep);
  if (stop != SIZE_MAX) {
    n = stop;
    g->is_stopped = true;
    g->stats.ended = "stop";
  }
  if (n && rlx_js_piece(g->user, g->waiting.v, (int32_t)n)) {
    g->is_stopped = true;
    g->stats.ended = "cancelled";
  }
  memmove(g->waiting.v, g->waiting.v + n, g->waiting.n - n + 1);
  g->waiting.n -= n;
}

static bool on_id(void *user, int32_t id) {
  web_generation *g = user;
  const char *text;
  size_t bytes;
  g->n_step++;
  g->status = rlx_decoder_push(g->decoder, id, &text, &bytes);
  if (!g->status) pass_on(g, text, bytes, false);
  return !g->status && !g->is_stopped;
}

/* Ends the text. A stop text that was found ends it before what still waits. */
static rlx_status finish(web_generation *g, const char *ended) {
  const char *text;
  size_t bytes;
  g->is_running = false;
  if (!g->is_stopped) {
    g->stats.ended = ended;
    RLX_TRY(rlx_decoder_flush(g->decoder, &text, &bytes));
    pass_on(g, text, bytes, true);
  }
  return g->status;
}

/* ---- The prompt ---- */

static bool cancel_at_once(void *user) {
  (void)user;
  return true;
}

static void ignore_text(void *user, const char *text, size_t bytes) { (void)user, (void)text, (void)bytes; }

/* Where a single token of the prompt was new there was nothing to cancel before the first draw: that token counts. */
static rlx_status started(web_lm *m, const rlx_lm_stats *stats) {
  web_generation *g = &m->generation;
  size_t n;
  const int32_t *ids = rlx_lm_tokens(m->lm, 0, &n);
  const char *ended = stats->ended && strcmp(stats->ended, "cancelled") != 0 ? stats->ended : NULL;
  bool is_end = ended && strcmp(ended, "end") == 0;
  g->stats = *stats;
  g->stats.ended = NULL;
  g->is_running = true;
  RLX_TRY(rlx_decoder_create(rlx_lm_tokenizer(m->lm), false, &g->decoder));
  for (size_t i = n - stats->n_tokens; i < n && !is_end; i++)
    if (!on_id(g, ids[i])) break;
  if (g->status) return g->status;
  return ended || g->is_stopped ? finish(g, ended) : RLX_OK;
}

static rlx_status start_chat(web_lm *m, const char *chat_template) {
  web_generation *g = &m->generation;
  rlx_lm_options options = g->options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  options.cancel = cancel_at_once;
  RLX_TRY(rlx_lm_reply(m->lm, chat_template && *chat_template ? chat_template : NULL, g->messages, g->n_messages,
                       &options, ignore_text, NULL, &stats));
  return started(m, &stats);
}

/* chat_template: "": the file's own. */
WEB_EXPORT(rlx_web_lm_start_chat)
int32_t rlx_web_lm_start_chat(web_lm *m, const char *chat_template, int32_t user) {
  m->generation.user = user;
  return (int32_t)web_end(start_chat(m, chat_template));
}

static rlx_status start_text(web_lm *m, const char *prompt, size_t bytes, bool goes_on) {
  rlx_lm_options options = m->generation.options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  options.cancel = cancel_at_once;
  if (!goes_on) RLX_TRY(rlx_lm_truncate(m->lm, 0, 0));
  RLX_TRY(rlx_lm_generate(m->lm, prompt, bytes, &options, ignore_text, NULL, &stats));
  return started(m, &stats);
}

/* goes_on: continue after what the model holds; otherwise it forgets that first. */
WEB_EXPORT(rlx_web_lm_start_text)
int32_t rlx_web_lm_start_text(web_lm *m, const char *prompt, size_t bytes, int32_t goes_on, int32_t user) {
  m->generation.user = user;
  return (int32_t)web_end(start_text(m, prompt, bytes, goes_on != 0));
}

/* ---- Steps ---- */

static bool poll_step(void *user) {
  web_generation *g = user;
  if (rlx_js_poll(g->user)) {
    g->is_stopped = true;
    g->stats.ended = "cancelled";
    return true;
  }
  if (g->n_polls++ && g->n_step == 0 && rlx_now_ns() > g->until_ns) g->is_paused = true;
  return g->is_paused;
}

static void add_stats(rlx_lm_stats *sum, const rlx_lm_stats *more) {
  bool is_first = sum->n_tokens == 0;
  sum->n_tokens += more->n_tokens;
  if (is_first) {
    sum->prompt_seconds += more->prompt_seconds;
    sum->seconds += more->seconds;
  } else {
    sum->seconds += more->prompt_seconds + more->seconds; /* no prompt: its first token is one like the others */
  }
}

/* Tokens that this step may draw. Where the context is full and the caller asked for a number of tokens, all that are
 * missing, so that the library's message counts them. 0: the text ends here. */
static rlx_status step_tokens(const web_lm *m, uint32_t max, uint32_t *out) {
  const web_generation *g = &m->generation;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  RLX_TRY(rlx_lm_describe(m->lm, &info));
  uint32_t length = rlx_lm_length(m->lm, 0), room = info.context > length ? info.context - length : 0;
  uint32_t left = g->options.max_tokens ? g->options.max_tokens - g->stats.n_tokens : UINT32_MAX;
  *out = max ? max : 1;
  if (*out > left) *out = left;
  if (!room && !g->options.shift) *out = g->options.max_tokens ? left : 0;
  else if (room && *out > room) *out = room;
  return RLX_OK;
}

static rlx_status step(web_lm *m, uint32_t max_tokens) {
  web_generation *g = &m->generation;
  if (!g->is_running) return RLX_FAIL(RLX_INVALID, "no text is being generated");
  rlx_lm_options options = g->options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  RLX_TRY(step_tokens(m, max_tokens, &options.max_tokens));
  if (!options.max_tokens) return finish(g, "context");
  options.cancel = poll_step;
  g->n_step = g->n_polls = 0;
  g->is_paused = false;
  rlx_status s = rlx_lm_generate_ids(m->lm, NULL, 0, &options, on_id, g, &stats);
  add_stats(&g->stats, &stats);
  if (g->status) return g->status;
  RLX_TRY(s);
  if (g->is_stopped) return finish(g, NULL);
  if (stats.ended && strcmp(stats.ended, "end") == 0) return finish(g, "end");
  if (g->options.max_tokens && g->stats.n_tokens >= g->options.max_tokens) return finish(g, "length");
  return RLX_OK;
}

/* Generates at most max_tokens tokens, or reads the prompt for about `milliseconds`. 1: there is more; 0: it has ended;
 * negative: it failed, with that status. */
WEB_EXPORT(rlx_web_lm_step)
int32_t rlx_web_lm_step(web_lm *m, uint32_t max_tokens, double milliseconds) {
  web_generation *g = &m->generation;
  g->until_ns = rlx_now_ns() + (uint64_t)(milliseconds > 0 ? milliseconds * 1e6 : 0);
  rlx_status s = web_end(step(m, max_tokens));
  if (s) g->is_running = false;
  return s ? -(int32_t)s : g->is_running;
}

/* Ends a generation that the caller does not want to continue; the model keeps the tokens so far. */
WEB_EXPORT(rlx_web_lm_end) int32_t rlx_web_lm_end(web_lm *m) {
  web_generation *g = &m->generation;
  return (int32_t)web_end(g->is_running ? finish(g, "cancelled") : RLX_OK);
}

WEB_EXPORT(rlx_web_lm_stats) char *rlx_web_lm_stats(const web_lm *m) {
  const rlx_lm_stats *st = &m->generation.stats;
  rlx_str out = {0};
  rlx_str_add(&out, "{\"promptTokens\":%" PRIu32 ",\"tokens\":%" PRIu32 ",\"dropped\":%" PRIu32 ",\"promptSeconds\":",
              st->n_prompt_tokens, st->n_tokens, st->n_dropped);
  rlx_str_add_double(&out, st->prompt_seconds);
  rlx_str_add(&out, ",\"seconds\":");
  rlx_str_add_double(&out, st->seconds);
  rlx_str_add(&out, ",\"ended\":\"%s\"}", st->ended ? st->ended : "");
  return web_end_text(RLX_OK, &out);
}
