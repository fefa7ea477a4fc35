/* Opens a language model for a command and reports its speed and memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

/* ---- Loading ------------------------------------------------------------------------------------------------- */

static void report_bytes(FILE *to, const char *what, uint64_t bytes) {
  fprintf(to, "%s %.1f MiB", what, (double)bytes / (1 << 20));
}

static int show_dry_run(const cli_common *common, const rlx_lm *lm, rlx_session *session) {
  rlx_lm_info i = {RLX_LM_INFO_INIT};
  rlx_device_info d = {RLX_DEVICE_INFO_INIT};
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  if (cli_check(rlx_lm_describe(lm, &i), NULL, NULL) || cli_check(rlx_session_device(session, &d), NULL, NULL) ||
      cli_check(rlx_session_stats_get(session, &stats), NULL, NULL))
    return CLI_FAILED;
  uint64_t all = i.weight_bytes + i.state_bytes + i.scratch_bytes,
           room = stats.limit_bytes; /* the limit that loading applies */
  bool fits = !room || all <= room;
  if (!fits)
    cli_fail("it does not fit: %.1f MiB are needed and %.1f MiB are there; a smaller --context takes less",
             (double)all / (1 << 20), (double)room / (1 << 20));
  if (common->json) {
    cli_json_begin();
    printf("{\"family\":");
    cli_print_quoted(i.family);
    printf(",\"device\":");
    cli_print_quoted(d.name);
    printf(",\"backend\":");
    cli_print_quoted(d.backend);
    printf(",\"parameters\":%" PRIu64 ",\"context\":%" PRIu32 ",\"weights\":%" PRIu64 ",\"state\":%" PRIu64
           ",\"scratch\":%" PRIu64 ",\"room\":%" PRIu64 ",\"fits\":%s",
           i.n_parameters, i.context, i.weight_bytes, i.state_bytes, i.scratch_bytes, room, fits ? "true" : "false");
    cli_json_end();
  } else {
    printf("%s, %.1f million parameters (%s), on %s: %s\n", i.family, (double)i.n_parameters / 1e6, i.weights,
           d.backend, d.name);
    report_bytes(stdout, "  weights", i.weight_bytes);
    report_bytes(stdout, "\n  state  ", i.state_bytes);
    printf(" (a context of %" PRIu32 " tokens)", i.context);
    report_bytes(stdout, "\n  scratch", i.scratch_bytes);
    report_bytes(stdout, "\n  together", all);
    if (room) report_bytes(stdout, fits ? "; it fits: there are" : "; it does NOT fit: there are", room);
    printf("\n");
  }
  return fits ? CLI_DONE : CLI_FAILED;
}

/* ---- Adapters ------------------------------------------------------------------------------------------------ */

int cli_lora_split(const char *text, char **file, double *scale) {
  const char *sign = strrchr(text, '=');
  *scale = 1;
  size_t n = sign && cli_to_real(sign + 1, -1e6, 1e6, scale) ? (size_t)(sign - text) : strlen(text);
  *file = malloc(n + 1);
  if (!*file) return cli_fail("out of memory");
  memcpy(*file, text, n);
  (*file)[n] = '\0';
  return CLI_DONE;
}

static int load_adapter(rlx_lm *lm, const char *text, rlx_lm_adapter *out) {
  char *file;
  double scale;
  int code = cli_lora_split(text, &file, &scale);
  if (!code) code = cli_check(rlx_lm_adapter_load(lm, file, &out->number), NULL, NULL);
  out->scale = (float)scale;
  free(file);
  return code;
}

static int load_adapters(rlx_lm *lm, const cli_list *loras) {
  rlx_lm_adapter all[64];
  int code = CLI_DONE;
  if (loras->n > sizeof all / sizeof *all) return cli_fail("%zu adapters are more than a model has", loras->n);
  for (size_t i = 0; i < loras->n && !code; i++) code = load_adapter(lm, loras->v[i].value, &all[i]);
  return code || !loras->n ? code : cli_check(rlx_lm_adapters_use(lm, all, loras->n), NULL, NULL);
}

bool cli_cache_type(const char *name, rlx_lm_cache *out) {
  static const char *const names[] = {
    [RLX_LM_CACHE_F16] = "f16", [RLX_LM_CACHE_F32] = "f32", [RLX_LM_CACHE_Q8_0] = "q8_0", [RLX_LM_CACHE_Q4_0] = "q4_0"};
  *out = RLX_LM_CACHE_F16;
  for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *out = (rlx_lm_cache)i;
    return true;
  }
  if (name) cli_fail("--cache takes f32, f16, q8_0 or q4_0, got '%s'", name);
  return !name;
}

int cli_lm_open(const cli_common *common, const cli_lm_options *options, const char *path, rlx_lm **out) {
  *out = NULL;
  cli_bar bar;
  rlx_lm_cache cache;
  if (!cli_cache_type(options->cache, &cache)) return CLI_FAILED;
  rlx_session *session;
  if (cli_session_open(common, common->device, (uint32_t)common->threads, &session)) return CLI_FAILED;
  rlx_lm_desc d = {RLX_LM_DESC_INIT,
                   .path = cli_model_path(path),
                   .session = session,
                   .context = (uint32_t)options->context,
                   .chunk = (uint32_t)options->chunk,
                   .n_sequences = (uint32_t)options->sequences,
                   .cache_type = cache,
                   .switches = options->switches,
                   .dry_run = options->dry_run};
  cli_bar_begin(&bar, common);
  d.watch = (rlx_watch){.progress = cli_bar_draw, .user = &bar, .limits = cli_limited()->limits};
  rlx_status s = rlx_lm_load(&d, out);
  cli_bar_end(&bar);
  int code = cli_check(s, NULL, NULL);
  if (!code && options->dry_run) {
    code = show_dry_run(common, *out, session);
    rlx_lm_destroy(*out);
    *out = NULL;
  }
  if (!code && *out) code = load_adapters(*out, &options->loras);
  if (code && *out) {
    rlx_lm_destroy(*out);
    *out = NULL;
  }
  rlx_session_destroy(session); /* the model holds its own reference */
  return code;
}

/* ---- During generation --------------------------------------------------------------------------------------- */

bool cli_lm_is_over(void *user) {
  (void)user;
  return cli_interrupted() || ferror(stdout);
}

enum { MAX_LINE = 64 << 20 };

bool cli_read_line(char **line, size_t *room, size_t *bytes, int *code) {
  int c = 0;
  for (*bytes = 0; *bytes < MAX_LINE && (c = getchar()) != EOF && c != '\n';) {
    if (*bytes + 2 > *room) {
      size_t more = *room ? *room * 2 : 256;
      char *grown = realloc(*line, more);
      if (!grown) {
        *code = cli_fail("out of memory");
        return false;
      }
      *line = grown;
      *room = more;
    }
    (*line)[(*bytes)++] = (char)c;
    (*line)[*bytes] = '\0';
  }
  if (*bytes == MAX_LINE) *code = cli_fail("standard input: a line of more than %d MiB", MAX_LINE >> 20);
  else if (ferror(stdin) && !cli_interrupted()) *code = cli_fail("standard input: cannot be read");
  return !*code && (c != EOF || *bytes);
}

void cli_lm_show(const char *text, size_t bytes) {
  if (cli_is_terminal(1)) cli_put_plain_bytes(stdout, text, bytes, true);
  else fwrite(text, 1, bytes, stdout);
  fflush(stdout);
}

char *cli_message_text(const char *text, size_t bytes) {
  static const char replacement[] = "\xef\xbf\xbd";
  size_t n = 0;
  for (size_t i = 0; i < bytes; i++) n += text[i] ? 1 : 3;
  char *copy = malloc(n + 1), *to = copy;
  if (!copy) return NULL;
  for (size_t i = 0; i < bytes; i++) {
    if (text[i]) *to++ = text[i];
    else to = (char *)memcpy(to, replacement, 3) + 3;
  }
  *to = '\0';
  return copy;
}

/* ---- Reports ------------------------------------------------------------------------------------------------- */

static double per_second(double n, double seconds) { return seconds > 0 ? n / seconds : 0; }

/* Tokens drawn after the first one, whose time counts as prompt time. */
static double later_tokens(const rlx_lm_stats *s) { return s->n_tokens > 1 ? (double)s->n_tokens - 1 : 0; }

void cli_lm_report(const rlx_lm *lm, const rlx_lm_stats *s) {
  rlx_lm_info i = {RLX_LM_INFO_INIT};
  if (rlx_lm_describe(lm, &i)) return;
  fprintf(stderr, "prompt: %" PRIu32 " tokens, %.1f tokens/s (first token after %.0f ms)\n", s->n_prompt_tokens,
          per_second(s->n_prompt_tokens, s->prompt_seconds), 1e3 * s->prompt_seconds);
  fprintf(stderr, "generation: %" PRIu32 " tokens, %.1f tokens/s%s%s\n", s->n_tokens,
          per_second(later_tokens(s), s->seconds), s->ended ? "; ended by: " : "", s->ended ? s->ended : "");
  if (s->n_guessed)
    fprintf(stderr, "speculation: %" PRIu32 " of %" PRIu32 " guessed tokens came\n", s->n_right, s->n_guessed);
  fprintf(stderr, "memory:");
  report_bytes(stderr, " weights", i.weight_bytes);
  report_bytes(stderr, ", state", i.state_bytes);
  report_bytes(stderr, ", scratch", i.scratch_bytes);
  fprintf(stderr, "; loaded in %.2f s\n", i.load_seconds);
}

void cli_lm_json(const rlx_lm *lm, const rlx_lm_stats *s) {
  rlx_lm_info i = {RLX_LM_INFO_INIT};
  if (rlx_lm_describe(lm, &i)) return;
  printf("\"prompt_tokens\":%" PRIu32 ",\"tokens\":%" PRIu32 ",\"prompt_seconds\":%.6f,\"seconds\":%.6f,",
         s->n_prompt_tokens, s->n_tokens, s->prompt_seconds, s->seconds);
  printf("\"prompt_tokens_per_second\":%.3f,\"tokens_per_second\":%.3f,\"ended\":\"%s\",",
         per_second(s->n_prompt_tokens, s->prompt_seconds), per_second(later_tokens(s), s->seconds),
         s->ended ? s->ended : "");
  if (s->n_guessed) printf("\"guessed\":%" PRIu32 ",\"guessed_right\":%" PRIu32 ",", s->n_guessed, s->n_right);
  printf("\"weights\":%" PRIu64 ",\"state\":%" PRIu64 ",\"scratch\":%" PRIu64 ",\"load_seconds\":%.6f", i.weight_bytes,
         i.state_bytes, i.scratch_bytes, i.load_seconds);
}

int cli_lm_tokens(rlx_lm *lm, const char *text, size_t bytes, int64_t max, int32_t **ids, size_t *n) {
  const rlx_tokenizer *t = rlx_lm_tokenizer(lm);
  if (!t) return cli_fail("the model has no tokenizer that is known here");
  int code = cli_check(rlx_tokenizer_encode(t, text, bytes, RLX_TOKENS_ADD_SPECIAL, ids, n), NULL, NULL);
  if (!code && max && *n > (size_t)max) *n = (size_t)max;
  return code;
}
