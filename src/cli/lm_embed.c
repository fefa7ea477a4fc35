/* rlx embed: texts as unit-length vectors. Texts are the arguments of the command, or the lines of standard input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  const char *out;
  int64_t dimensions; /* 0: all */
  bool no_truncate;
} request;

typedef struct vectors {
  float *v;
  size_t *cut; /* per text: tokens that were cut off */
  size_t n, width;
} vectors;

static int embed_one(const request *r, rlx_lm *lm, const char *text, size_t bytes, vectors *to) {
  char where[40];
  float *grown = realloc(to->v, (to->n + 1) * to->width * sizeof *grown);
  if (grown) to->v = grown;
  size_t *cuts = grown ? realloc(to->cut, (to->n + 1) * sizeof *cuts) : NULL;
  if (!cuts) return cli_fail("out of memory");
  to->cut = cuts;
  cuts[to->n] = 0;
  snprintf(where, sizeof where, "text %zu", to->n + 1);
  rlx_status s = rlx_lm_embed(lm, text, bytes, to->v + to->n * to->width, r->no_truncate ? NULL : &cuts[to->n]);
  if (cli_check(s, where, NULL)) return CLI_FAILED;
  if (cuts[to->n] && !r->common.json)
    fprintf(stderr, "rlx: warning: %s is longer than the context: its last %zu tokens are left out\n", where,
            cuts[to->n]);
  to->n++;
  return CLI_DONE;
}

/* The first numbers of each vector, of unit length again: for models that were trained so (Matryoshka). */
static void shorten(vectors *all, size_t n) {
  for (size_t i = 0; i < all->n; i++) {
    const float *from = all->v + i * all->width;
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += (double)from[k] * (double)from[k];
    for (size_t k = 0; k < n; k++) all->v[i * n + k] = sum > 0 ? (float)((double)from[k] / sqrt(sum)) : 0;
  }
  all->width = n;
}

static int embed_lines(const request *r, rlx_lm *lm, vectors *to) {
  char *line = NULL;
  size_t room = 0, bytes;
  int code = CLI_DONE;
  while (!code && cli_read_line(&line, &room, &bytes, &code)) code = embed_one(r, lm, bytes ? line : "", bytes, to);
  free(line);
  return code;
}

static void json_cut(const vectors *all) {
  fputs(",\"cut\":[", stdout);
  for (size_t i = 0; i < all->n; i++) printf("%s%zu", i ? "," : "", all->cut[i]);
  putchar(']');
  cli_json_end();
}

static int write_file(const request *r, const vectors *all, const rlx_tensor *t) {
  if (cli_write_array(r->out, t)) return CLI_FAILED;
  if (!r->common.json) return CLI_DONE;
  cli_json_array(r->out, t);
  json_cut(all);
  return CLI_DONE;
}

static int show(const request *r, const vectors *all) {
  rlx_tensor t = {
    RLX_F32, {.v = {(int64_t)all->n, (int64_t)all->width}, .n = 2}, {all->v}, all->n * all->width * sizeof *all->v};
  if (r->out) return write_file(r, all, &t);
  if (r->common.json) cli_json_begin(), printf("{\"embeddings\":[");
  for (size_t i = 0; i < all->n; i++) {
    rlx_tensor row = {
      RLX_F32, {.v = {(int64_t)all->width}, .n = 1}, {all->v + i * all->width}, all->width * sizeof *all->v};
    if (r->common.json) printf("%s[", i ? "," : "");
    if (cli_check(cli_print_values(&row, all->width, r->common.json), NULL, NULL)) return CLI_FAILED;
    printf(r->common.json ? "]" : "\n");
  }
  if (r->common.json) {
    putchar(']');
    json_cut(all);
  }
  return CLI_DONE;
}

static int embed_all(const request *r, rlx_lm *lm) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  vectors all = {0};
  int code = cli_check(rlx_lm_describe(lm, &info), NULL, NULL);
  all.width = info.width;
  if (!code && r->dimensions > (int64_t)info.width)
    code = cli_fail("--dimensions: at most %u, the width of the model, got %lld", (unsigned)info.width,
                    (long long)r->dimensions);
  for (size_t i = 1; i < r->words.n && !code; i++)
    code = embed_one(r, lm, r->words.v[i].value, strlen(r->words.v[i].value), &all);
  if (r->words.n == 1 && !code) code = embed_lines(r, lm, &all);
  if (!code && r->dimensions) shorten(&all, (size_t)r->dimensions);
  if (!code) code = show(r, &all);
  free(all.v);
  free(all.cut);
  return code;
}

int cli_embed(const cli_command *self, int argc, char **argv) {
  request r = {.self = self};
  const cli_option options[] = {
    {"--out", "FILE.npy", "write them as an array [texts, width]", CLI_TEXT, &r.out, 0, 0},
    {"--dimensions", "N", "only the first N numbers of each vector, for models that were trained for it", CLI_NUMBER,
     &r.dimensions, 1, 1 << 30},
    {"--no-truncate", NULL, "refuse a text that is longer than the context, instead of leaving out its end", CLI_FLAG,
     &r.no_truncate, 0, 0},
    CLI_LM_OPTIONS(r.lm),
  };
  rlx_lm *lm = NULL;
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    if (!r.words.n) code = cli_wrong(self, "expected a model");
    else if (r.out && cli_target_check("--out", r.out, &(cli_reads){r.words.v[0].value, NULL}, false))
      code = CLI_FAILED;
    else code = cli_lm_open(&r.common, &r.lm, r.words.v[0].value, &lm);
    if (lm && !code) code = embed_all(&r, lm);
    rlx_lm_destroy(lm);
  }
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
