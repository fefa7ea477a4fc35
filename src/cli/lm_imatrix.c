/* rlx imatrix: measures on a text how large the inputs of each matrix of a model are, for rlx convert --imatrix.
 *
 * The text is cut into windows of as many tokens; the rest at its end does not count, as each window costs a program
 * of its size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/lm_cli.h"

enum { MAX_TEXT = 1 << 30, WINDOW = 512 };

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  int64_t window, max;
  const char *out, *more;
} request;

static int report(const request *r, const rlx_importance *im, size_t windows, size_t window) {
  if (r->common.json) {
    cli_json_begin();
    fputs("{\"file\":", stdout);
    cli_print_quoted(r->out);
    printf(",\"matrices\":%" PRIu32 ",\"windows\":%zu,\"tokens\":%zu", rlx_importance_count(im), windows,
           windows * window);
    cli_json_end();
  } else if (!r->common.quiet) {
    cli_print_plain(r->out);
    printf(": the inputs of %" PRIu32 " matrices over %zu tokens\n", rlx_importance_count(im), windows * window);
  }
  return CLI_DONE;
}

static int measure(const request *r, rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *im) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (cli_check(rlx_lm_describe(lm, &info), NULL, NULL)) return CLI_FAILED;
  size_t window = r->window ? (size_t)r->window : info.chunk < WINDOW ? info.chunk : WINDOW;
  if (window > info.chunk) return cli_fail("--window is %zu, but a chunk has %" PRIu32 " tokens", window, info.chunk);
  if (n < window)
    return cli_fail("%s: %zu tokens; one window of %zu at least is needed", r->words.v[1].value, n, window);
  size_t windows = n / window;
  int code = CLI_DONE;
  cli_bar bar;
  cli_bar_begin(&bar, &r->common);
  for (size_t i = 0; i < windows && !code; i++) {
    cli_bar_draw(&bar, "measure", i, windows);
    code =
      cli_interrupted() ? CLI_INTERRUPTED : cli_check(rlx_lm_measure(lm, ids + i * window, window, im), NULL, NULL);
  }
  cli_bar_end(&bar);
  if (!code) code = cli_check(rlx_importance_save(im, r->out), NULL, NULL);
  return code ? code : report(r, im, windows, window);
}

static int measure_text(const request *r, rlx_lm *lm, const char *text, size_t bytes) {
  int32_t *ids;
  size_t n;
  rlx_importance *im = NULL;
  if (cli_lm_tokens(lm, text, bytes, r->max, &ids, &n)) return CLI_FAILED;
  rlx_status s = r->more ? rlx_importance_open(r->more, &im) : rlx_importance_create(&im);
  int code = cli_check(s, NULL, NULL);
  if (!code) code = measure(r, lm, ids, n, im);
  rlx_importance_destroy(im);
  rlx_free(ids);
  return code;
}

static int run(request *r) {
  rlx_lm *lm = NULL;
  char *text = NULL;
  size_t bytes;
  if (r->words.n != 2) return cli_wrong(r->self, "expected a model and a text, got %zu words", r->words.n);
  if (!r->out) return cli_wrong(r->self, "--out is missing: where should the importance matrix go?");
  if (cli_target_check("--out", r->out, &(cli_reads){r->words.v[0].value, NULL}, false)) return CLI_FAILED;
  int code = cli_read_bytes(r->words.v[1].value, MAX_TEXT, &text, &bytes);
  if (!code) code = cli_lm_open(&r->common, &r->lm, r->words.v[0].value, &lm);
  if (lm && !code) {
    cli_note_interrupts();
    code = measure_text(r, lm, text, bytes);
  }
  rlx_lm_destroy(lm);
  free(text);
  return code;
}

int cli_imatrix(const cli_command *self, int argc, char **argv) {
  request r = {.self = self};
  const cli_option options[] = {
    {"--out", "FILE", "where the matrix goes: FILE.gguf, or FILE.dat as older programs read it", CLI_TEXT, &r.out, 0,
     0},
    {"--more", "FILE", "an importance matrix of the same model that is added to", CLI_TEXT, &r.more, 0, 0},
    {"--window", "N", "tokens that are seen at once (default: 512, or a chunk)", CLI_NUMBER, &r.window, 1, 4096},
    {"--tokens", "N", "only the first N tokens of the text", CLI_NUMBER, &r.max, 1, INT64_MAX},
    CLI_LM_OPTIONS(r.lm),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
