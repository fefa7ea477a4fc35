/* rlx rerank: texts in the order in which they answer a query. Texts are the arguments of the command, or the lines of
 * standard input. A cross-encoder reads the query and a text together; of an encoder, the cosine of their vectors
 * counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  const char *query;
  int64_t top; /* 0: all */
} request;

typedef struct ranked {
  char *text;
  size_t bytes, index, n_cut;
  float score;
} ranked;

typedef struct ranking {
  rlx_lm *lm;
  bool is_ranker;
  size_t width;
  float *query, *text; /* vectors, if the model embeds */
  ranked *v;
  size_t n;
} ranking;

static int by_score(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score < y->score || x->score > y->score) return x->score < y->score ? 1 : -1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static rlx_status score_pair(const ranking *all, const request *r, ranked *to) {
  const rlx_lm_pair pair = {RLX_LM_PAIR_INIT, .query = r->query, .query_bytes = strlen(r->query), .text = to->text,
                            .text_bytes = to->bytes};
  return rlx_lm_score(all->lm, &pair, &to->score, &to->n_cut);
}

static rlx_status score_vectors(const ranking *all, ranked *to) {
  double sum = 0;
  rlx_status s = rlx_lm_embed(all->lm, to->text, to->bytes, all->text, &to->n_cut);
  for (size_t i = 0; i < all->width && !s; i++) sum += (double)all->query[i] * (double)all->text[i];
  to->score = (float)sum;
  return s;
}

static int add_text(const request *r, ranking *all, const char *text, size_t bytes) {
  char where[40];
  ranked *grown = realloc(all->v, (all->n + 1) * sizeof *grown);
  if (grown) all->v = grown;
  char *own = grown ? malloc(bytes + 1) : NULL;
  if (!own) return cli_fail("out of memory");
  memcpy(own, text, bytes);
  own[bytes] = '\0';
  ranked *to = &all->v[all->n];
  *to = (ranked){.text = own, .bytes = bytes, .index = all->n++};
  snprintf(where, sizeof where, "text %zu", all->n);
  rlx_status s = all->is_ranker ? score_pair(all, r, to) : score_vectors(all, to);
  if (cli_check(s, where, NULL)) return CLI_FAILED;
  if (to->n_cut && !r->common.json)
    fprintf(stderr, "rlx: warning: %s does not fit the context: %zu tokens are left out\n", where, to->n_cut);
  return CLI_DONE;
}

static int add_lines(const request *r, ranking *all) {
  char *line = NULL;
  size_t room = 0, bytes;
  int code = CLI_DONE;
  while (!code && cli_read_line(&line, &room, &bytes, &code)) code = add_text(r, all, bytes ? line : "", bytes);
  free(line);
  return code;
}

static int begin(const request *r, ranking *all) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (cli_check(rlx_lm_describe(all->lm, &info), NULL, NULL)) return CLI_FAILED;
  all->is_ranker = info.is_ranker;
  all->width = info.width;
  if (all->is_ranker) return CLI_DONE;
  all->query = malloc(all->width * sizeof *all->query);
  all->text = malloc(all->width * sizeof *all->text);
  if (!all->query || !all->text) return cli_fail("out of memory");
  return cli_check(rlx_lm_embed(all->lm, r->query, strlen(r->query), all->query, NULL), "the query", NULL);
}

static void show(const request *r, const ranking *all) {
  size_t n = r->top && (size_t)r->top < all->n ? (size_t)r->top : all->n;
  if (r->common.json) cli_json_begin(), printf("{\"results\":[");
  for (size_t i = 0; i < n; i++) {
    const ranked *one = &all->v[i];
    if (!r->common.json) {
      printf("%10.6f  %zu  ", (double)one->score, one->index);
      cli_lm_show(one->text, one->bytes);
      putchar('\n');
      continue;
    }
    printf("%s{\"index\":%zu,\"cut\":%zu,\"score\":", i ? "," : "", one->index, one->n_cut);
    cli_json_real((double)one->score, 9);
    printf(",\"text\":");
    cli_print_quoted_bytes(one->text, one->bytes);
    putchar('}');
  }
  if (!r->common.json) return;
  putchar(']');
  cli_json_end();
}

static int rank_all(const request *r, rlx_lm *lm) {
  ranking all = {.lm = lm};
  int code = begin(r, &all);
  for (size_t i = 1; i < r->words.n && !code; i++)
    code = add_text(r, &all, r->words.v[i].value, strlen(r->words.v[i].value));
  if (r->words.n == 1 && !code) code = add_lines(r, &all);
  if (!code && all.n) qsort(all.v, all.n, sizeof *all.v, by_score);
  if (!code) show(r, &all);
  for (size_t i = 0; i < all.n; i++) free(all.v[i].text);
  free(all.v);
  free(all.query);
  free(all.text);
  return code;
}

int cli_rerank(const cli_command *self, int argc, char **argv) {
  request r = {.self = self};
  const cli_option options[] = {
    {"--query", "TEXT", "what the texts should answer", CLI_TEXT, &r.query, 0, 0},
    {"--top", "N", "print only the N best", CLI_NUMBER, &r.top, 1, 1 << 30},
    CLI_LM_OPTIONS(r.lm),
  };
  rlx_lm *lm = NULL;
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    if (!r.words.n) code = cli_wrong(self, "expected a model");
    else if (!r.query && !r.lm.dry_run) code = cli_wrong(self, "expected --query TEXT");
    else code = cli_lm_open(&r.common, &r.lm, r.words.v[0].value, &lm);
    if (lm && !code) code = rank_all(&r, lm);
    rlx_lm_destroy(lm);
  }
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
