/* Token ids to text: the bytes of each token, concatenated; and the same as a stream, one token at a time.
 *
 * The spelling of a token is not its text. In a byte-level vocabulary each character stands for a byte;
 * SentencePiece writes a blank as U+2581 and rare bytes as "<0x0A>"; BERT marks tokens that continue a word. A token
 * may be a part of a character, so the stream holds bytes back until the character is complete.
 *
 * Decoding a whole text drops the blank that encoding prepended. A stream does not: its first token may be in the
 * middle of a text, where the blank counts. */
#include <string.h>

#include "text/text.h"

static void add_marks_as_blanks(text_span s, rlx_str *out) {
  for (size_t at = 0; at < s.n;) {
    if (s.n - at >= 3 && memcmp(s.p + at, TEXT_MARK, 3) == 0) {
      rlx_str_add_char(out, ' ');
      at += 3;
    } else {
      rlx_str_add_char(out, s.p[at++]);
    }
  }
}

/* Maps a byte-level spelling to bytes. A spelling with a character that stands for no byte is text itself. */
static void add_as_bytes(text_span s, rlx_str *out) {
  size_t had = out->n;
  int32_t code = 0;
  for (size_t at = 0, size; at < s.n; at += size) {
    size = text_character(s.p + at, s.n - at, &code);
    int byte = size ? text_byte_of(code) : -1;
    if (byte < 0) {
      if (!out->failed) out->n = had;
      rlx_str_add_bytes(out, s.p, s.n);
      return;
    }
    rlx_str_add_char(out, (char)byte);
  }
}

static int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

static bool is_byte_spelling(text_span s, char *byte) {
  if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>' || hex(s.p[3]) < 0 || hex(s.p[4]) < 0) return false;
  *byte = (char)(hex(s.p[3]) * 16 + hex(s.p[4]));
  return true;
}

/* BERT has no blanks in tokens; removes the inserted ones before punctuation. */
static void clean_up(rlx_str *s, size_t from) {
  static const char *const pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                         {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                         {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !s->failed; i++) {
    size_t bytes = strlen(pairs[i][0]), to = strlen(pairs[i][1]), n = from;
    for (size_t at = from; at < s->n;) {
      bool here = s->n - at >= bytes && memcmp(s->v + at, pairs[i][0], bytes) == 0;
      if (here) memcpy(s->v + n, pairs[i][1], to);
      else s->v[n] = s->v[at];
      n += here ? to : 1;
      at += here ? bytes : 1;
    }
    s->n = n;
    s->v[n] = '\0';
  }
}

static void add_word(const rlx_tokenizer *t, text_span s, rlx_str *out) {
  size_t from = out->n, begins = strlen(t->word_prefix), goes_on = strlen(t->continuing_prefix);
  if (goes_on && s.n > goes_on && memcmp(s.p, t->continuing_prefix, goes_on) == 0) {
    rlx_str_add_bytes(out, s.p + goes_on, s.n - goes_on);
    return;
  }
  bool is_start = !begins || (s.n >= begins && memcmp(s.p, t->word_prefix, begins) == 0);
  if (is_start) rlx_str_add_char(out, ' ');
  if (!is_start) begins = 0;
  rlx_str_add_bytes(out, s.p + begins, s.n - begins);
  if (t->clean_up) clean_up(out, from);
}

void text_token_bytes(const rlx_tokenizer *t, uint32_t id, bool special, rlx_str *out) {
  text_span s = text_spelling(&t->vocab, id);
  unsigned flags = t->vocab.flags[id];
  char byte;
  if (flags & (TOKEN_CONTROL | TOKEN_UNKNOWN) && !special) return;
  if (t->model == TEXT_WORDPIECE && flags & (TOKEN_CONTROL | TOKEN_UNKNOWN)) {
    rlx_str_add_char(out, ' ');
    rlx_str_add_bytes(out, s.p, s.n);
  } else if (t->model == TEXT_WORDPIECE) {
    add_word(t, s, out);
  } else if (flags & (TOKEN_CONTROL | TOKEN_UNKNOWN)) {
    rlx_str_add_bytes(out, s.p, s.n);
  } else if (t->byte_level) {
    if (flags & TOKEN_ADDED) rlx_str_add_bytes(out, s.p, s.n);
    else add_as_bytes(s, out);
  } else if ((t->byte_fallback || flags & TOKEN_BYTE) && !(flags & TOKEN_ADDED) && is_byte_spelling(s, &byte)) {
    rlx_str_add_char(out, byte);
  } else if (t->space_is_mark) {
    add_marks_as_blanks(s, out);
  } else {
    rlx_str_add_bytes(out, s.p, s.n);
  }
}

static rlx_status check_token(const rlx_tokenizer *t, int32_t id) {
  if (id >= 0 && (uint32_t)id < t->vocab.n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "token %d: the vocabulary has %u, from 0", id, t->vocab.n);
}

rlx_status rlx_tokenizer_decode(const rlx_tokenizer *t, const int32_t *ids, size_t n, bool special, char **text,
                                size_t *bytes) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_decode: text is NULL");
  *text = NULL;
  if (bytes) *bytes = 0;
  if (!t || (!ids && n)) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_decode: %s is NULL", t ? "ids" : "tokenizer");
  for (size_t i = 0; i < n; i++) RLX_TRY_AT(check_token(t, ids[i]), "id %zu of %zu", i, n);
  rlx_str out = {0};
  rlx_str_add_bytes(&out, "", 0);
  for (size_t i = 0; i < n; i++) text_token_bytes(t, (uint32_t)ids[i], special, &out);
  if (out.failed) {
    rlx_str_deinit(&out);
    return RLX_FAIL(RLX_NO_MEMORY, "the text of %zu tokens", n);
  }
  if (!t->keep_leading_space && out.n && out.v[0] == ' ') memmove(out.v, out.v + 1, out.n--);
  if (bytes) *bytes = out.n;
  return rlx_str_take(&out, text);
}

/* ---- Streaming ----------------------------------------------------------------------------------------------- */

struct rlx_decoder {
  const rlx_tokenizer *t;
  bool special;
  rlx_str bytes; /* received but not yet returned */
  rlx_str text;  /* returned by the current call */
};

rlx_status rlx_decoder_create(const rlx_tokenizer *t, bool special, rlx_decoder **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_decoder_create: out is NULL");
  *out = NULL;
  if (!t) return RLX_FAIL(RLX_INVALID, "rlx_decoder_create: tokenizer is NULL");
  rlx_decoder *d = rlx_new(rlx_decoder);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "decoder");
  d->t = t;
  d->special = special;
  *out = d;
  return RLX_OK;
}

void rlx_decoder_destroy(rlx_decoder *d) {
  if (!d) return;
  rlx_str_deinit(&d->bytes);
  rlx_str_deinit(&d->text);
  rlx_mem_free(d);
}

static rlx_status emit(rlx_decoder *d, bool all, const char **text, size_t *bytes) {
  size_t at = 0;
  d->text.n = 0;
  rlx_str_add_bytes(&d->text, "", 0);
  while (at < d->bytes.n) {
    const char *p = d->bytes.v + at;
    size_t good = text_valid_prefix(p, d->bytes.n - at);
    rlx_str_add_bytes(&d->text, p, good);
    at += good;
    if (at == d->bytes.n) break;
    p += good;
    if (!all && text_may_grow(p, d->bytes.n - at)) break;
    rlx_str_add_bytes(&d->text, TEXT_REPLACEMENT, 3);
    at += text_broken_bytes(p, d->bytes.n - at);
  }
  if (d->text.failed) {
    rlx_str_deinit(&d->text);
    d->text = (rlx_str){0};
    return RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  }
  if (at) memmove(d->bytes.v, d->bytes.v + at, d->bytes.n - at);
  d->bytes.n -= at;
  *text = d->text.v;
  if (bytes) *bytes = d->text.n;
  return RLX_OK;
}

rlx_status rlx_decoder_push(rlx_decoder *d, int32_t id, const char **text, size_t *bytes) {
  if (!d || !text) return RLX_FAIL(RLX_INVALID, "rlx_decoder_push: %s is NULL", d ? "text" : "decoder");
  *text = "";
  if (bytes) *bytes = 0;
  RLX_TRY(check_token(d->t, id));
  size_t had = d->bytes.n;
  text_token_bytes(d->t, (uint32_t)id, d->special, &d->bytes);
  if (d->bytes.failed) { /* undo the token */
    d->bytes.failed = false;
    d->bytes.n = had;
    return RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  }
  return emit(d, false, text, bytes);
}

rlx_status rlx_decoder_flush(rlx_decoder *d, const char **text, size_t *bytes) {
  if (!d || !text) return RLX_FAIL(RLX_INVALID, "rlx_decoder_flush: %s is NULL", d ? "text" : "decoder");
  *text = "";
  if (bytes) *bytes = 0;
  return emit(d, true, text, bytes);
}
