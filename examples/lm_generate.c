/* A language model in a program: loads it, asks a question, prints the answer as it is generated.
 *
 *   lm_generate MODEL [QUESTION]
 *
 * Without a model it prints how to get one. */
#include <rlx/lm.h>
#include <stdio.h>
#include <string.h>

static void show(void *user, const char *text, size_t bytes) {
  (void)user;
  fwrite(text, 1, bytes, stdout);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    puts("usage: lm_generate MODEL.gguf [QUESTION]; tools/fetch_model smollm2 fetches a model");
    return 0;
  }
  const char *question = argc > 2 ? argv[2] : "What is gravity?";
  rlx_lm_desc desc = {RLX_LM_DESC_INIT, .path = argv[1]};
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = 64};
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  rlx_lm *lm = NULL;
  rlx_status s = rlx_lm_load(&desc, &lm);
  if (!s && rlx_chat_template_of(rlx_lm_file(lm))) {
    rlx_chat_message message = {"user", question};
    s = rlx_lm_reply(lm, NULL, &message, 1, &options, show, NULL, &stats);
  } else if (!s) {
    s = rlx_lm_generate(lm, question, strlen(question), &options, show, NULL, &stats);
  }
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  else printf("\n[%u tokens, ended by %s]\n", (unsigned)stats.n_tokens, stats.ended);
  rlx_lm_destroy(lm);
  return s != RLX_OK;
}
