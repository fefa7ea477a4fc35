/* Text output: the decoder of the tokenizer behind a search for stop texts. */
#include "model/writer.h"

#include <string.h>

#include "base/status.h"

rlx_status lm_writer_init(lm_writer *w, const rlx_tokenizer *t, const rlx_lm_options *options, rlx_lm_text_fn fn,
                          void *user) {
  *w = (lm_writer){.options = options, .fn = fn, .user = user};
  return rlx_decoder_create(t, false, &w->decoder);
}

void lm_writer_deinit(lm_writer *w) {
  rlx_decoder_destroy(w->decoder);
  rlx_str_deinit(&w->waiting);
}

/* Offset of the first stop text in the held text (SIZE_MAX: none); *may_become: bytes at its end that may begin one. */
static size_t find_stop(const lm_writer *w, size_t *may_become) {
  size_t first = SIZE_MAX;
  *may_become = 0;
  for (size_t i = 0; i < w->options->n_stops; i++) {
    const char *stop = w->options->stops[i], *at = w->waiting.v && *stop ? strstr(w->waiting.v, stop) : NULL;
    if (at && (size_t)(at - w->waiting.v) < first) first = (size_t)(at - w->waiting.v);
    size_t n = strlen(stop);
    for (size_t k = n ? n - 1 : 0; k > *may_become; k--)
      if (k <= w->waiting.n && memcmp(w->waiting.v + w->waiting.n - k, stop, k) == 0) *may_become = k;
  }
  return first;
}

static bool write_text(lm_writer *w, const char *text, size_t bytes, bool last) {
  rlx_str_add_bytes(&w->waiting, text, bytes);
  if (w->waiting.failed) w->status = RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  if (w->status || !w->waiting.n) return !w->status;
  size_t keep, stop = find_stop(w, &keep), n = w->waiting.n - (last ? 0 : keep);
  if (stop != SIZE_MAX) {
    n = stop;
    w->stopped = true;
  }
  if (n) w->fn(w->user, w->waiting.v, n);
  memmove(w->waiting.v, w->waiting.v + n, w->waiting.n - n + 1);
  w->waiting.n -= n;
  return !w->stopped;
}

bool lm_writer_push(lm_writer *w, int32_t id) {
  const char *text;
  size_t bytes;
  w->status = rlx_decoder_push(w->decoder, id, &text, &bytes);
  return !w->status && write_text(w, text, bytes, false);
}

rlx_status lm_writer_finish(lm_writer *w) {
  const char *text;
  size_t bytes;
  if (w->status || w->stopped) return w->status;
  w->status = rlx_decoder_flush(w->decoder, &text, &bytes);
  if (!w->status) write_text(w, text, bytes, true);
  return w->status;
}
