/* rlx convert: converts a weight file to another format or to smaller types.
 *
 * The new file is renamed into place when complete. Interrupts are checked between chunks, so no temporary file is
 * left. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/lm.h"

typedef struct tensor_error {
  char *tensor;
  rlx_convert_error e;
} tensor_error;

typedef struct request {
  cli_common common;
  cli_list words, overrides;
  const char *type, *importance;
  bool pure, errors;
  size_t n_reported;
  char lower[32]; /* type, in small letters */
  tensor_error *kept;
  size_t n_errors, room;
  bool failed; /* no memory to keep one */
} request;

static void report_one(void *user, const char *tensor, rlx_dtype wanted, rlx_dtype given) {
  request *r = user;
  r->n_reported++;
  if (r->common.verbose)
    cli_note("%s: its rows are not whole blocks of %s, so it is %s", tensor, rlx_dtype_describe(wanted)->name,
             rlx_dtype_describe(given)->name);
}

/* Kept until the end: nothing is on standard output if the conversion fails. */
static void keep_error(void *user, const rlx_convert_error *e) {
  request *r = user;
  if (r->n_errors == r->room && !r->failed) {
    size_t room = r->room ? 2 * r->room : 64;
    tensor_error *grown = realloc(r->kept, room * sizeof *grown);
    if (grown) r->kept = grown, r->room = room;
    r->failed = !grown;
  }
  if (r->failed) return;
  tensor_error *kept = &r->kept[r->n_errors];
  size_t n = strlen(e->tensor) + 1;
  kept->e = *e;
  kept->tensor = malloc(n);
  r->failed = !kept->tensor;
  if (r->failed) return;
  memcpy(kept->tensor, e->tensor, n);
  r->n_errors++;
}

static void print_error(const request *r, const tensor_error *kept) {
  const rlx_convert_error *e = &kept->e;
  const char *from = rlx_dtype_describe(e->from)->name, *to = rlx_dtype_describe(e->to)->name;
  if (r->common.json) {
    fputs("{\"tensor\":", stdout);
    cli_print_quoted(kept->tensor);
    printf(",\"from\":\"%s\",\"to\":\"%s\",\"error\":%.6g", from, to, e->error);
    if (e->is_weighted) printf(",\"weighted_error\":%.6g", e->weighted_error);
    fputs("}", stdout);
    return;
  }
  printf("%-8s %-8s %.5f ", from, to, e->error);
  if (e->is_weighted) printf("%.5f  ", e->weighted_error);
  else printf("%s  ", r->importance ? "-      " : "");
  cli_print_plain(kept->tensor);
  putchar('\n');
}

static void print_errors(const request *r) {
  if (!r->common.json && r->n_errors) printf("from     to       error   %stensor\n", r->importance ? "weighted " : " ");
  for (size_t i = 0; i < r->n_errors; i++) {
    if (r->common.json && i) putchar(',');
    print_error(r, &r->kept[i]);
  }
}

static uint64_t bytes_of(const rlx_file *f) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) sum += rlx_file_tensor_at(f, i)->bytes;
  return sum;
}

/* Reads the header of the new file back, so that the report is about what was written. */
static int report(const request *r, const rlx_file *in, double seconds) {
  const char *path = r->words.v[1].value;
  rlx_file *out;
  if (cli_check(rlx_file_open(path, cli_limited(), &out), NULL, NULL)) return CLI_FAILED;
  if (r->common.json) {
    fputs("{\"file\":", stdout);
    cli_print_quoted(path);
    printf(",\"format\":\"%s\",\"tensors\":%u,\"bytes_in\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"other_types\":%zu,\"seconds\":%.6f",
           rlx_file_format(out), rlx_file_tensor_count(out), bytes_of(in), bytes_of(out), r->n_reported, seconds);
    if (r->errors) {
      fputs(",\"errors\":[", stdout);
      print_errors(r);
      putchar(']');
    }
    puts("}");
  } else if (!r->common.quiet || r->errors) {
    print_errors(r);
    cli_print_plain(path);
    printf(": %s, %u tensors, ", rlx_file_format(out), rlx_file_tensor_count(out));
    cli_print_bytes(bytes_of(in));
    fputs(" -> ", stdout);
    cli_print_bytes(bytes_of(out));
    printf(", %.1f s\n", seconds);
  }
  rlx_file_close(out);
  return CLI_DONE;
}

static bool has(const rlx_file *f, const char *key) {
  rlx_meta m;
  return rlx_file_meta_find(f, key, &m);
}

/* The model of a folder is written with GGUF's names and keys. If that is impossible, tensors keep their names and
 * the JSON texts become metadata. */
static rlx_status write_file(const request *r, const rlx_file *f, const char *to, const rlx_convert_options *o) {
  size_t n = strlen(to);
  bool is_gguf = n > 5 && strcmp(to + n - 5, ".gguf") == 0;
  if (!is_gguf || !has(f, "config.json") || has(f, "general.architecture")) return rlx_file_convert(f, to, o);
  rlx_status s = rlx_lm_convert(f, to, o);
  if (s != RLX_UNSUPPORTED) return s;
  if (!r->common.quiet) cli_note("names and metadata stay Hugging Face's: %s", rlx_message());
  return rlx_file_convert(f, to, o);
}

static int convert(request *r, const rlx_importance *importance) {
  const char *from = r->words.v[0].value, *to = r->words.v[1].value;
  double begun = cli_seconds();
  rlx_file *f;
  cli_bar bar;
  if (cli_check(rlx_file_open(from, cli_limited(), &f), NULL, NULL)) return CLI_FAILED;
  cli_bar_begin(&bar, &r->common);
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT,
                           .type = r->type,
                           .pure = r->pure,
                           .n_threads = (uint32_t)r->common.threads,
                           .watch = {.progress = cli_bar_draw, .cancel = cli_is_interrupted, .user = &bar},
                           .report = report_one,
                           .user = r,
                           .importance = importance,

                           .measured = r->errors ? keep_error : NULL};
  size_t n = r->overrides.n;
  const char **overrides = malloc((n ? n : 1) * sizeof *overrides);
  if (!overrides) {
    rlx_file_close(f);
    return cli_fail("out of memory");
  }
  for (size_t i = 0; i < n; i++) overrides[i] = r->overrides.v[i].value;
  o.overrides = overrides;
  o.n_overrides = n;
  cli_hold_interrupts();
  rlx_status s = write_file(r, f, to, &o);
  cli_bar_end(&bar);
  if (s == RLX_CANCELLED) rlx_file_close(f), f = NULL;
  free(overrides);
  cli_release_interrupts(); /* a deferred interrupt ends the process here */
  int code = cli_check(s, NULL, NULL);
  if (!code && r->failed) code = cli_fail("out of memory for the errors of tensors; the file was written");
  if (!code && r->n_reported && !r->common.quiet)
    fprintf(stderr, "rlx: not %s, since rows are not whole blocks of it: %zu of %u tensors (-v names them)\n", r->type,
            r->n_reported, rlx_file_tensor_count(f));
  if (!code) code = report(r, f, cli_seconds() - begun);
  rlx_file_close(f);
  return code;
}

static int convert_with_importance(request *r) {
  rlx_importance *im = NULL;
  if (r->importance && cli_check(rlx_importance_open(r->importance, &im), NULL, NULL)) return CLI_FAILED;
  int code = convert(r, im);
  rlx_importance_destroy(im);
  return code;
}

/* Types are known by names such as Q4_K_M as well. */
static void lower_type(request *r) {
  size_t n = r->type ? strlen(r->type) : 0;
  if (!n || n >= sizeof r->lower) return;
  for (size_t i = 0; i < n; i++) r->lower[i] = (char)tolower((unsigned char)r->type[i]);
  r->type = r->lower;
}

static bool is_type(const char *name) {
  const char *mix;
  for (uint32_t i = 0; (mix = rlx_convert_mix_at(i)); i++)
    if (strcmp(mix, name) == 0) return true;
  return rlx_dtype_from_name(name) != RLX_DTYPE_UNKNOWN;
}

static int report_types(const cli_command *self, const char *found) {
  static const float zeros[256];
  unsigned char block[1024];
  char names[1024] = "";
  const char *mix;
  for (uint32_t t = 0; t < rlx_dtype_count(); t++) {
    const rlx_dtype_info *info = rlx_dtype_describe((rlx_dtype)t);
    bool can = t == RLX_F32 || t == RLX_F16 || t == RLX_BF16;
    if (info->block_elements > 1 && info->block_elements <= 256 && info->block_bytes <= sizeof block)
      can = rlx_quant_encode((rlx_dtype)t, zeros, block, info->block_elements) == RLX_OK;
    if (!can) continue;
    size_t n = strlen(names);
    snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", info->name);
  }
  for (uint32_t i = 0; (mix = rlx_convert_mix_at(i)); i++) {
    size_t n = strlen(names);
    if (rlx_dtype_from_name(mix) == RLX_DTYPE_UNKNOWN) snprintf(names + n, sizeof names - n, ", %s", mix);
  }
  return cli_wrong(self, "--type takes one of %s; got '%.100s'", names, found);
}

int cli_convert(const cli_command *self, int argc, char **argv) {
  request r = {0};
  int code;
  const cli_option options[] = {
    {"--type", "TYPE", "of matrices: f32, f16, bf16, q8_0, q6_k, q4_k_m, iq4_xs, ... (default: as they are)", CLI_TEXT,
     &r.type, 0, 0},
    {"--pure", NULL, "all matrices alike, also those that suffer most", CLI_FLAG, &r.pure, 0, 0},
    {"--tensor-type", "PATTERN=TYPE", "of matrices whose names match (* is any text); repeat for several", CLI_TEXTS,
     &r.overrides, 0, 0},
    {"--imatrix", "FILE", "how much each column matters (rlx imatrix): errors are weighted by it", CLI_TEXT,
     &r.importance, 0, 0},
    {"--errors", NULL, "print the error of each tensor that gets another type", CLI_FLAG, &r.errors, 0, 0},
  };
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    lower_type(&r);
    if (r.words.n != 2) code = cli_wrong(self, "expected two files, got %zu", r.words.n);
    else if (r.type && !is_type(r.type)) code = report_types(self, r.type);
    else code = convert_with_importance(&r);
  }
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.overrides);
  for (size_t i = 0; i < r.n_errors; i++) free(r.kept[i].tensor);
  free(r.kept);
  return code;
}
