/* Runs chat templates for tests/text/test_lm_jinja.py: each line of stdin is an object with "template" and "input",
 * each line of stdout one with "text", or with "status" and "message". A "template" that is the same as in the line
 * before may be left out. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx/lm.h"

static void answer(const char *text, rlx_status s) {
  json_t *out = s ? json_pack("{ss,ss%}", "status", rlx_status_name(s), "message", rlx_message(), strlen(rlx_message()))
                  : json_pack("{ss}", "text", text);
  if (!out) out = json_pack("{ss,ss}", "status", "invalid", "message", "not UTF-8");
  char *line = json_dumps(out, JSON_ENSURE_ASCII);
  puts(line ? line : "{}");
  free(line);
  json_decref(out);
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  rlx_chat_template *t = NULL;
  rlx_status s = RLX_OK;
  for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
    json_t *q = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, NULL), *text = json_object_get(q, "template");
    char *input = json_dumps(json_object_get(q, "input"), 0), *printed = NULL;
    if (text) {
      rlx_chat_template_destroy(t);
      s = rlx_chat_template_create(json_string_value(text), json_string_length(text), &t);
    }
    rlx_status done = s;
    if (!s) done = rlx_chat_template_format(t, input ? input : "", input ? strlen(input) : 0, &printed);
    answer(printed, done);
    rlx_free(printed);
    free(input);
    json_decref(q);
  }
  rlx_chat_template_destroy(t);
  free(line);
  return 0;
}
