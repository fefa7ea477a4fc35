/* rlx logits: the logits at all positions of a token list, as an array [tokens, vocabulary]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  const char *tokens, *out;
} request;

/* Parses "1,2,3"; free *ids with free. */
static int read_tokens(const request *r, int32_t **ids, size_t *n) {
  *ids = malloc((strlen(r->tokens) + 1) * sizeof **ids);
  *n = 0;
  if (!*ids) return cli_fail("out of memory");
  const char *at = r->tokens;
  for (;;) {
    size_t bytes = strcspn(at, ",");
    char text[16];
    int64_t id;
    snprintf(text, sizeof text, "%.*s", (int)(bytes < 15 ? bytes : 15), at);
    if (bytes > 15 || !cli_to_number(text, 0, INT32_MAX, &id))
      return cli_wrong(r->self, "--tokens takes numbers such as 1,2,3, got '%.60s'", r->tokens);
    (*ids)[(*n)++] = (int32_t)id;
    at += bytes;
    if (*at++ != ',') return CLI_DONE;
  }
}

static int write_logits(const request *r, rlx_lm *lm, const int32_t *ids, size_t n) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (cli_check(rlx_lm_describe(lm, &info), NULL, NULL)) return CLI_FAILED;
  size_t bytes;
  rlx_dims shape = {.v = {(int64_t)n, info.n_vocabulary}, .n = 2};
  if (cli_check(rlx_tensor_bytes(RLX_F32, shape, &bytes), NULL, NULL)) return CLI_FAILED;
  float *logits = malloc(bytes);
  if (!logits) return cli_fail("out of memory");
  int code = cli_check(rlx_lm_append(lm, 0, ids, n, true, logits), NULL, NULL);
  rlx_tensor t = {RLX_F32, shape, {logits}, bytes};
  if (!code) code = cli_write_array(r->out, &t);
  if (!code && r->common.json) {
    cli_json_array(r->out, &t);
    cli_json_end();
  }
  free(logits);
  return code;
}

static int run(const request *r) {
  if (r->words.n != 1) return cli_wrong(r->self, "expected one model, got %zu", r->words.n);
  if (!r->tokens) return cli_wrong(r->self, "--tokens is missing: which?");
  if (!r->out) return cli_wrong(r->self, "--out is missing: where should the array go?");
  if (cli_target_check("--out", r->out, &(cli_reads){r->words.v[0].value, NULL}, false)) return CLI_FAILED;
  int32_t *ids = NULL;
  size_t n;
  rlx_lm *lm = NULL;
  int code = read_tokens(r, &ids, &n);
  if (!code) code = cli_lm_open(&r->common, &r->lm, r->words.v[0].value, &lm);
  if (lm && !code) code = write_logits(r, lm, ids, n);
  rlx_lm_destroy(lm);
  free(ids);
  return code;
}

int cli_logits(const cli_command *self, int argc, char **argv) {
  request r = {.self = self};
  const cli_option options[] = {
    {"--tokens", "LIST", "numbers of tokens, such as 1,2,3", CLI_TEXT, &r.tokens, 0, 0},
    {"--out", "FILE.npy", "where the array goes", CLI_TEXT, &r.out, 0, 0},
    CLI_LM_OPTIONS(r.lm),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
