/* libFuzzer target: any bytes as a vocabulary and a text. Bytes that begin with "GGUF" are a file with a vocabulary, and a fixed
 * text is encoded; all others are a tokenizer.json up to the first NUL, and the text is what follows. What is encoded must be
 * tokens there are, text that is not parsed for special tokens must become none, and what a stream gives out must be UTF-8. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rlx/lm.h"
#include "text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[64];

static void remove_file(void) { unlink(path); }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort(); /* how a finding is told to the fuzzer */
}

static rlx_status open_gguf(const uint8_t *data, size_t bytes, rlx_tokenizer **out) {
  if (!path[0]) {
    snprintf(path, sizeof path, "/tmp/rlx-fuzz-tokenizer-%ld.gguf", (long)getpid());
    atexit(remove_file);
  }
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) fail("cannot write the input");
  rlx_file *file = NULL;
  rlx_status s = rlx_file_open(path, NULL, &file);
  if (!s) s = rlx_tokenizer_create(file, out);
  rlx_file_close(file);
  return s;
}

static void check_stream(const rlx_tokenizer *t, const int32_t *ids, size_t n) {
  rlx_decoder *d;
  const char *text;
  size_t length;
  if (rlx_decoder_create(t, true, &d)) fail("no decoder");
  for (size_t i = 0; i <= n; i++) {
    rlx_status s = i < n ? rlx_decoder_push(d, ids[i], &text, &length) : rlx_decoder_flush(d, &text, &length);
    if (s) fail("a token that was encoded cannot be decoded");
    if (text_valid_prefix(text, length) != length) fail("a stream gave out half a character");
  }
  rlx_decoder_destroy(d);
}

/* A file may mark the token of a byte as special: bytes need their tokens all the same. */
static bool is_byte(const rlx_tokenizer *t, int32_t id) {
  for (int b = 0; b < 256; b++)
    if (t->byte_ids[b] == id) return true;
  return false;
}

static void check_text(const rlx_tokenizer *t, const char *text, size_t bytes, unsigned flags) {
  int32_t *ids;
  size_t n;
  char *back;
  rlx_status s = rlx_tokenizer_encode(t, text, bytes, flags, &ids, &n);
  if (s && s != RLX_UNSUPPORTED && s != RLX_LIMIT) fail("a text cannot be encoded"); /* a pattern may need more */
  if (s) return;
  for (size_t i = 0; i < n; i++)
    if (ids[i] < 0 || (uint32_t)ids[i] >= rlx_tokenizer_size(t)) fail("a token outside the vocabulary");
  for (size_t i = 0; flags == 0 && i < n; i++)
    if (t->vocab.flags[ids[i]] & TOKEN_CONTROL && ids[i] != t->unknown && !is_byte(t, ids[i]))
      fail("text became a special token");
  if (rlx_tokenizer_decode(t, ids, n, true, &back, NULL)) fail("what was encoded cannot be decoded");
  rlx_free(back);
  check_stream(t, ids, n);
  rlx_free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const char fixed[] = "Hello, World 123!\n\t<s> \xc3\xa9\xe2\x96\x81\xf0\x9f\xa6\x99 \xff\xe2\x82 <0x41> a  b";
  const char *json = (const char *)data, *nul = bytes ? memchr(json, 0, bytes) : NULL, *text = fixed;
  size_t length = sizeof fixed - 1;
  rlx_tokenizer *t = NULL;
  rlx_status s;
  if (bytes >= 4 && memcmp(data, "GGUF", 4) == 0) {
    s = open_gguf(data, bytes, &t);
  } else {
    text_json j = {.tokenizer = {json, nul ? (size_t)(nul - json) : bytes}};
    s = text_from_json(&j, &t);
    if (nul) text = nul + 1, length = bytes - (size_t)(text - json);
  }
  if (s) {
    if (t || !rlx_message()[0]) fail("refused without a message, or with a tokenizer");
    return 0;
  }
  for (unsigned flags = 0; flags < 4; flags++) check_text(t, text, length, flags);
  rlx_tokenizer_destroy(t);
  return 0;
}
