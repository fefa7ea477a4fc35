/* libFuzzer target: any bytes as the body of a request, by the route that the first byte names, and as what a model
 * writes. A body becomes a job or is refused with a message; of a text, the parts without marks are the text itself,
 * however it is cut into pieces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm_bare_server.h"

static const char *const paths[] = {
  "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
  "/v1/embeddings",       "/rerank",         "/tokenize",     "/detokenize"};

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static void note_part(void *user, const sv_part *p) {
  rlx_str *s = user;
  rlx_str_add(s, "%d:", (int)p->kind);
  rlx_str_add_bytes(s, p->text, p->bytes);
  if (p->kind == SV_CALL && (!p->name || !*p->name)) fail("a call without a name");
}

static void split_text(const char *text, size_t n, size_t piece) {
  sv_splitter p = {.marks = sv_marks_of(piece & 1 ? "</think><tool_call>" : "</think>", (piece & 2) != 0)};
  rlx_str out = {0};
  for (size_t i = 0; i < n; i += piece + 1)
    sv_split(&p, text + i, i + piece + 1 < n ? piece + 1 : n - i, note_part, &out);
  sv_split_end(&p, note_part, &out);
  if (p.held.n) fail("something is held after the end");
  rlx_str_deinit(&p.held);
  rlx_str_deinit(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n) {
  static bare_server server;
  static bool is_ready;
  if (!is_ready && !bare_server_init(&server)) fail("a lock");
  is_ready = true;
  if (!n) return 0;
  const char *body = (const char *)data + 1;
  if (bare_server_read(&server, paths[data[0] % (sizeof paths / sizeof *paths)], body, n - 1) && !*rlx_message())
    fail("refused without a message");
  split_text(body, n - 1, data[0] >> 4);
  return 0;
}
