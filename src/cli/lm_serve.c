/* rlx serve: a server of language models over HTTP, until it is interrupted. The address goes to standard output once
 * requests are taken; a line for each request goes to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"
#include "rlx/serve.h"

enum { MAX_PEM = 1 << 20 };

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  const char *host, *key, *key_file, *origin, *certificate, *certificate_key, *chat_template;
  const char *draft;
  int64_t lookup, n_draft;
  int64_t port, parallel, max_requests, max_connections;
  uint64_t memory, max_body;
  double max_seconds, idle_seconds;
  bool no_page;
  rlx_lm_cache cache;
} request;

/* Texts that the server's description points to. */
typedef struct texts {
  rlx_server_model *models;
  char **names;
  char *key, *certificate, *certificate_key;
  rlx_server_adapter *adapters;
  char **files; /* of the adapters */
} texts;

/* NAME=PATH, or a path. */
static int split_model(const char *word, char **name, rlx_server_model *out) {
  const char *equals = strchr(word, '='), *slash = strchr(word, '/');
  out->path = cli_model_path(word);
  if (out->path != word) out->name = word;
  if (!equals || equals == word || (slash && slash < equals)) return CLI_DONE;
  *name = calloc((size_t)(equals - word) + 1, 1);
  if (!*name) return cli_fail("out of memory");
  memcpy(*name, word, (size_t)(equals - word));
  *out = (rlx_server_model){.path = cli_model_path(equals + 1), .name = *name};
  return CLI_DONE;
}

static int read_text(const char *path, char **text) {
  size_t bytes;
  if (!path) return CLI_DONE;
  if (cli_read_bytes(path, MAX_PEM, text, &bytes)) return CLI_FAILED;
  if (strlen(*text) == bytes) return CLI_DONE;
  return cli_fail("%s: expected a text, found a NUL", path);
}

static int read_texts(const request *r, texts *t) {
  t->models = calloc(r->words.n + 1, sizeof *t->models);
  t->names = calloc(r->words.n + 1, sizeof *t->names);
  if (!t->models || !t->names) return cli_fail("out of memory");
  for (size_t i = 0; i < r->words.n; i++)
    if (split_model(r->words.v[i].value, &t->names[i], &t->models[i])) return CLI_FAILED;
  if (read_text(r->key_file, &t->key) || read_text(r->certificate, &t->certificate) ||
      read_text(r->certificate_key, &t->certificate_key))
    return CLI_FAILED;
  if (t->key) t->key[strcspn(t->key, "\r\n")] = '\0';
  if (t->key && !t->key[0]) return cli_fail("%s: expected a key in the first line, got an empty one", r->key_file);
  return CLI_DONE;
}

static int read_adapters(const request *r, texts *t) {
  size_t n = r->lm.loras.n;
  t->adapters = calloc(n + 1, sizeof *t->adapters);
  t->files = calloc(n + 1, sizeof *t->files);
  int code = t->adapters && t->files ? CLI_DONE : cli_fail("out of memory");
  for (size_t i = 0; i < n && !code; i++) {
    double scale;
    code = cli_lora_split(r->lm.loras.v[i].value, &t->files[i], &scale);
    t->adapters[i] = (rlx_server_adapter){t->files[i], (float)scale};
  }
  return code;
}

static void free_texts(const request *r, texts *t) {
  for (size_t i = 0; t->names && i < r->words.n; i++) free(t->names[i]);
  free(t->names);
  free(t->models);
  for (size_t i = 0; t->files && i < r->lm.loras.n; i++) free(t->files[i]);
  free(t->files);
  free(t->adapters);
  free(t->key);
  free(t->certificate);
  free(t->certificate_key);
}

static void write_log(void *user, rlx_log_level level, const char *text) {
  const cli_common *c = user;
  if (level == RLX_LOG_DEBUG && !c->verbose) return;
  if (c->quiet && level != RLX_LOG_ERROR) return;
  cli_hold_messages(); /* several threads write */
  fputs("rlx: ", stderr);
  cli_put_plain(stderr, text, false);
  putc('\n', stderr);
  cli_release_messages();
}

static void show_address(const request *r, const rlx_server *server) {
  const char *scheme = r->certificate ? "https" : "http", *host = r->host ? r->host : "127.0.0.1";
  const bool is_v6 = strchr(host, ':') != NULL;
  if (r->common.json) {
    cli_json_begin();
    printf("{\"address\":\"%s://%s%s%s:%u\",\"port\":%u", scheme, is_v6 ? "[" : "", host, is_v6 ? "]" : "",
           (unsigned)rlx_server_port(server), (unsigned)rlx_server_port(server));
    cli_json_end();
  } else {
    printf("%s://%s%s%s:%u\n", scheme, is_v6 ? "[" : "", host, is_v6 ? "]" : "", (unsigned)rlx_server_port(server));
  }
  fflush(stdout);
}

static int serve(request *r, const texts *t) {
  cli_bar bar;
  rlx_server *server;
  rlx_server_desc d = {RLX_SERVER_DESC_INIT,
                       .models = t->models,
                       .n_models = r->words.n,
                       .host = r->host,
                       .port = (uint32_t)r->port,
                       .no_page = r->no_page,
                       .lookup = (uint32_t)r->lookup,
                       .n_draft = (uint32_t)r->n_draft,
                       .draft = r->draft,
                       .device = r->common.device,
                       .n_threads = (uint32_t)r->common.threads,
                       .context = (uint32_t)r->lm.context,
                       .n_sequences = (uint32_t)r->parallel,
                       .chunk = (uint32_t)r->lm.chunk,
                       .cache_type = r->cache,
                       .switches = r->lm.switches,
                       .memory_bytes = r->memory,
                       .api_key = t->key ? t->key : r->key,
                       .origin = r->origin,
                       .tls_certificate = t->certificate,
                       .tls_key = t->certificate_key,
                       .max_body_bytes = r->max_body,
                       .max_requests = (uint32_t)r->max_requests,
                       .max_connections = (uint32_t)r->max_connections,
                       .max_seconds = r->max_seconds,
                       .idle_seconds = r->idle_seconds,
                       .chat_template = r->chat_template,
                       .log = write_log,
                       .log_user = &r->common,
                       .adapters = t->adapters,
                       .n_adapters = r->lm.loras.n};
  cli_bar_begin(&bar, &r->common);
  d.watch = (rlx_watch){.progress = cli_bar_draw, .user = &bar, .limits = cli_limited()->limits};
  rlx_status s = rlx_server_start(&d, &server);
  cli_bar_end(&bar);
  if (cli_check(s, NULL, NULL)) return CLI_FAILED;
  cli_note_interrupts();
  show_address(r, server);
  cli_wait_for_interrupt();
  if (!r->common.quiet && !r->common.json) cli_note("the server ends");
  rlx_server_stop(server);
  return CLI_INTERRUPTED;
}

static int dry_run(request *r, const texts *t) {
  int code = CLI_DONE;
  r->lm.sequences = r->parallel;
  for (size_t i = 0; i < r->words.n; i++) {
    rlx_lm *lm;
    if (cli_lm_open(&r->common, &r->lm, t->models[i].path, &lm)) code = CLI_FAILED;
  }
  return code;
}

static int run(request *r) {
  texts t = {0};
  if (!r->words.n) return cli_wrong(r->self, "expected a model");
  if (r->lm.dry_run && r->common.json && r->words.n > 1)
    return cli_wrong(r->self, "--dry-run with --json takes one model, got %zu", r->words.n);
  if (!cli_cache_type(r->lm.cache, &r->cache)) return CLI_FAILED;
  if (!r->certificate != !r->certificate_key)
    return cli_wrong(r->self, "--tls-certificate and --tls-key come together");
  if (r->key && r->key_file) return cli_wrong(r->self, "--api-key and --api-key-file exclude each other");
  int code = read_texts(r, &t);
  if (!code) code = read_adapters(r, &t);
  if (!code) code = r->lm.dry_run ? dry_run(r, &t) : serve(r, &t);
  free_texts(r, &t);
  return code;
}

int cli_serve(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .port = 8080, .parallel = 8};
  const cli_option options[] = {
    {"--host", "ADDRESS", "of this machine to listen on (default: 127.0.0.1, which others cannot reach)", CLI_TEXT,
     &r.host, 0, 0},
    {"--port", "N", "to listen on (default: 8080; 0: any that is free)", CLI_NUMBER, &r.port, 0, 65535},
    {"--parallel", "N", "texts that a model computes together (default: 8)", CLI_NUMBER, &r.parallel, 1, 256},
    {"--models-memory", "BYTES", "for all loaded models; those used least recently leave (default: no limit)",
     CLI_BYTES, &r.memory, 0, 0},
    {"--template", "NAME", "the chat template (default: the models' own; 'rlx chat --templates' lists them)", CLI_TEXT,
     &r.chat_template, 0, 0},
    {"--lookup", "N", "guess up to N tokens from what came before: faster where texts repeat or quote", CLI_NUMBER,
     &r.lookup, 0, 31},
    {"--draft", "MODEL", "a smaller model with the same vocabulary that guesses tokens", CLI_TEXT, &r.draft, 0, 0},
    {"--draft-tokens", "N", "that it guesses at once (0: 3)", CLI_NUMBER, &r.n_draft, 0, 31},
    {"--api-key", "KEY", "requests must have it (others see it in the list of processes: prefer a file)", CLI_TEXT,
     &r.key, 0, 0},
    {"--api-key-file", "FILE", "the same, from the first line of a file", CLI_TEXT, &r.key_file, 0, 0},
    {"--cors", "ORIGIN", "pages from there may read answers: https://example.org, or * for all", CLI_TEXT, &r.origin, 0,
     0},
    {"--tls-certificate", "FILE", "in PEM form, with --tls-key: HTTPS", CLI_TEXT, &r.certificate, 0, 0},
    {"--tls-key", "FILE", "the key of the certificate", CLI_TEXT, &r.certificate_key, 0, 0},
    {"--no-page", NULL, "nothing at /, where browsers otherwise get a page to chat with", CLI_FLAG, &r.no_page, 0, 0},
    {"--max-body", "BYTES", "of one request (default: 16M)", CLI_BYTES, &r.max_body, 0, 0},
    {"--max-requests", "N", "that run or wait; more are told to try again (default: 256)", CLI_NUMBER, &r.max_requests,
     1, 65536},
    {"--max-connections", "N", "at once (default: 512)", CLI_NUMBER, &r.max_connections, 1, 65536},
    {"--max-seconds", "SECONDS", "of one answer (default: 600)", CLI_REAL, &r.max_seconds, 0, 100000000},
    {"--idle-seconds", "SECONDS", "in which a client must send or take something (default: 30)", CLI_REAL,
     &r.idle_seconds, 0, 1000000},
    CLI_LM_OPTIONS(r.lm),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  return code;
}
