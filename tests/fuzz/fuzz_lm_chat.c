/* libFuzzer target: any bytes as a conversation in each of the templates, and as the template text of a file. What is formatted is
 * whole text; as tokens it has only tokens of the vocabulary, and no special one more than the same conversation of harmless
 * texts has: nobody's words become a control token. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lm_fuzz.h"
#include "rlx/lm.h"

enum { MAX_MESSAGES = 12 };

static char path[96];
static void remove_file(void) { unlink(path); }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

/* The template of a file is what a stranger wrote. */
static void check_template(const char *text) {
  rlx_file_writer *w;
  rlx_file *f;
  if (!path[0]) {
    snprintf(path, sizeof path, "/tmp/rlx-fuzz-chat-%ld.gguf", (long)getpid());
    atexit(remove_file);
  }
  if (rlx_file_writer_create(path, &w)) fail("a writer");
  rlx_meta m = {.key = "tokenizer.chat_template", .kind = RLX_META_TEXT, .text = text, .n = strlen(text)};
  rlx_status s = rlx_file_writer_meta(w, &m);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  if (s) return; /* broken UTF-8 */
  if (rlx_file_open(path, NULL, &f)) fail("what was written cannot be read");
  const char *name = rlx_chat_template_of(f);
  if (!name && !*rlx_message()) fail("no template and no words");
  rlx_file_close(f);
}

static size_t count_special(const rlx_tokenizer *t, const char *name, const rlx_chat_message *m, size_t n, bool *ok) {
  int32_t *ids;
  size_t n_ids, count = 0;
  *ok = rlx_chat_encode(t, name, m, n, true, RLX_TOKENS_ADD_SPECIAL, &ids, &n_ids) == RLX_OK;
  if (!*ok) return 0;
  for (size_t i = 0; i < n_ids; i++) {
    if (ids[i] < 0 || (uint32_t)ids[i] >= rlx_tokenizer_size(t)) fail("a token that the vocabulary has not");
    count += rlx_tokenizer_is_special(t, ids[i]);
  }
  rlx_free(ids);
  return count;
}

static void check_conversation(const char *name, rlx_chat_message *m, size_t n) {
  char *text;
  if (rlx_chat_format(name, m, n, true, &text)) {
    if (text || !*rlx_message()) fail("refused without words");
    return;
  }
  if (strlen(text) > 1 << 24) fail("a conversation that explodes");
  rlx_free(text);
  const rlx_tokenizer *t = lm_fuzz_tokenizer();
  if (!t) return;
  rlx_chat_message harmless[MAX_MESSAGES];
  for (size_t i = 0; i < n; i++) harmless[i] = (rlx_chat_message){m[i].role, "x"};
  bool ok, other;
  size_t special = count_special(t, name, m, n, &ok), wanted = count_special(t, name, harmless, n, &other);
  if (ok && other && special > wanted) fail("words became control tokens");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const char *const roles[] = {"system", "user", "assistant", "tool", ""};
  if (bytes < 2 || bytes > 1 << 16) return 0;
  char *text = malloc(bytes + 1);
  if (!text) abort();
  memcpy(text, data, bytes);
  text[bytes] = 0;
  rlx_chat_message m[MAX_MESSAGES];
  size_t n = 0;
  for (char *p = text + 1; n < MAX_MESSAGES; n++) { /* messages are divided by bytes below 5, which give their role */
    char *end = p;
    while (end < text + bytes && (unsigned char)*end >= 5) end++;
    m[n] = (rlx_chat_message){roles[end < text + bytes ? (unsigned char)*end : 1], p};
    if (end >= text + bytes) {
      n++;
      break;
    }
    *end = 0;
    p = end + 1;
  }
  check_conversation(rlx_chat_template_name((unsigned char)text[0] % (rlx_chat_template_count() + 1)), m, n);
  if (data[1] % 16 == 0) check_template(m[0].text); /* writing is slow: some of them */
  free(text);
  return 0;
}
