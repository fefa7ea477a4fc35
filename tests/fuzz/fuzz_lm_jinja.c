/* libFuzzer target: any bytes as a chat template, and as messages of one. The bytes up to the first NUL are the program, the parts
 * after it are messages, in turn the user's and the assistant's. A run ends within its limits, leaves nothing behind, and its
 * tokens have no special one that the same program without special tokens in its own text would not have: what the messages say
 * never becomes one. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rlx/lm.h"
#include "text/chat_program.h"

enum { MAX_MESSAGES = 8 };

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

/* Whether bytes of a program could spell a marker, of themselves or by an escape. Then what a message adds cannot be told from it. */
static bool may_spell(const char *program) {
  return strchr(program, '<') || strchr(program, '\\') || strstr(program, "bos_token") ||
         strstr(program, "eos_token") || strstr(program, "role") || strchr(program, '&') || strstr(program, "lower") ||
         strstr(program, "upper");
}

static const jinja_limits limits = {.work = 1 << 17, .bytes = 1 << 22, .depth = 300};
static const char marker[] = "<|im_start|>";

/* In what is printed every byte of a marker is content, or not all of them are the program's. */
static void check_output(const jinja_builder *out, const char *program) {
  size_t n = sizeof marker - 1, end = 0;
  for (size_t i = 0; i < out->n_content; i++) {
    if (out->content[i].start < end || out->content[i].start >= out->content[i].end || out->content[i].end > out->n)
      fail("ranges of content that are not in order");
    end = out->content[i].end + 1;
  }
  if (may_spell(program)) return;
  for (size_t at = 0; at + n <= out->n; at++) {
    if (memcmp(out->p + at, marker, n) != 0) continue;
    bool has_content = false;
    for (size_t i = 0; i < out->n_content; i++)
      has_content |= out->content[i].start < at + n && out->content[i].end > at;
    if (!has_content) fail("a marker that is not the program's");
  }
}

static void run(const rlx_chat_template *t, const rlx_chat_message *m, size_t n, const char *program) {
  jinja_run r;
  jinja_builder out = {0};
  jinja_dict *input;
  jinja_run_init(&r, &t->program, &limits);
  rlx_status s = chat_input_messages(&r, m, n, true, &input);
  if (!s) s = chat_input_complete(&r, t, NULL, input);
  r.now = "2026-11-19T14:32:31";
  if (!s) s = jinja_run_program(&r, input, &out);
  if (s && !*rlx_message()) fail("refused without words");
  if (!s) check_output(&out, program);
  jinja_run_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (bytes > 1 << 14) return 0;
  char *text = malloc(bytes + 1);
  if (!text) abort();
  if (bytes) memcpy(text, data, bytes);
  text[bytes] = 0;
  size_t live = rlx_mem_live(), program = strlen(text), n = 0;
  rlx_chat_message m[MAX_MESSAGES];
  for (size_t at = program + 1; at <= bytes && n < MAX_MESSAGES; at += strlen(text + at) + 1, n++)
    m[n] = (rlx_chat_message){n % 2 ? "assistant" : "user", text + at};
  if (!n) m[n++] = (rlx_chat_message){"user", marker};
  rlx_chat_template *t;
  rlx_status s = rlx_chat_template_create(text, program, &t);
  if (s && (t || !*rlx_message())) fail("refused without words");
  if (!s) run(t, m, n, text);
  rlx_chat_template_destroy(t);
  if (rlx_mem_live() != live) fail("memory is left");
  free(text);
  return 0;
}
