/* Making and ending a server, and the thread that watches its connections. */
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/sized.h"
#include "serve/serve.h"

enum { MAX_GUESSES = 31 }; /* as in rlx_lm_options */

#define WATCH_NS ((uint64_t)200 * 1000 * 1000)

char *sv_copy_text(struct rlx_server *s, const char *text) {
  rlx_str copy = {0};
  char *v;
  rlx_str_add_bytes(&copy, text, strlen(text));
  if (rlx_str_take(&copy, &v)) return NULL;
  if (rlx_array_push(&s->texts, v)) return v;
  rlx_mem_free(v);
  return NULL;
}

void sv_log(const struct rlx_server *s, rlx_log_level level, const char *fmt, ...) {
  char text[600];
  if (!s->desc.log) return;
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  s->desc.log(s->desc.log_user, level, text);
}

/* ---- Settings ---- */

static rlx_status copy_texts(struct rlx_server *s) {
  rlx_server_desc *d = &s->desc;
  const char **texts[] = {&d->host,          &d->device,          &d->api_key, &d->origin,
                          &d->chat_template, &d->tls_certificate, &d->tls_key, &d->draft};
  if (!d->host) d->host = "127.0.0.1";
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (*texts[i] && !(*texts[i] = sv_copy_text(s, *texts[i]))) return RLX_FAIL(RLX_NO_MEMORY, "a text");
  for (size_t i = 0; i < d->n_adapters; i++) {
    rlx_server_adapter a = {sv_copy_text(s, d->adapters[i].path), d->adapters[i].scale};
    if (!a.path || !rlx_array_push(&s->adapters, a)) return RLX_FAIL(RLX_NO_MEMORY, "an adapter's path");
  }
  return RLX_OK;
}

static bool is_template(const char *name) {
  for (uint32_t i = 0; i < rlx_chat_template_count(); i++)
    if (strcmp(rlx_chat_template_name(i), name) == 0) return true;
  return false;
}

static rlx_status check_desc(const rlx_server_desc *d) {
  static const char call[] = "rlx_server_start";
  if (d->chat_template && !is_template(d->chat_template))
    return RLX_FAIL(RLX_INVALID, "chat template '%.60s': rlx_chat_template_name lists those that there are",
                    d->chat_template);
  if (!d->n_models || !d->models) return RLX_FAIL(RLX_INVALID, "%s: expected at least one model", call);
  for (size_t i = 0; i < d->n_models; i++)
    if (!d->models[i].path) return RLX_FAIL(RLX_INVALID, "%s: model %zu has no path", call, i);
  if (d->n_adapters && (!d->adapters || d->n_models > 1))
    return RLX_FAIL(RLX_INVALID, "%s: %zu adapters: %s", call, d->n_adapters,
                    d->adapters ? "expected one model" : "the list is NULL");
  if (d->draft && (d->n_models > 1 || d->lookup))
    return RLX_FAIL(RLX_INVALID, "%s: a draft model %s", call,
                    d->lookup ? "and lookup exclude each other" : "is for one model");
  if (d->n_draft && !d->draft) return RLX_FAIL(RLX_INVALID, "%s: n_draft without a draft model", call);
  if (d->lookup > MAX_GUESSES || d->n_draft > MAX_GUESSES)
    return RLX_FAIL(RLX_INVALID, "%s: speculation: at most %d tokens at once", call, (int)MAX_GUESSES);
  for (size_t i = 0; i < d->n_adapters; i++)
    if (!d->adapters[i].path) return RLX_FAIL(RLX_INVALID, "%s: adapter %zu has no path", call, i);
  if (d->port > 65535) return RLX_FAIL(RLX_INVALID, "%s: port %u: at most 65535", call, (unsigned)d->port);
  if (!d->tls_certificate != !d->tls_key)
    return RLX_FAIL(RLX_INVALID, "%s: TLS needs a certificate and its key, got only one", call);
  if (d->max_body_bytes > (uint64_t)1 << 30) return RLX_FAIL(RLX_INVALID, "%s: max_body_bytes: at most 2^30", call);
  if (!(d->max_seconds >= 0) || !(d->idle_seconds >= 0) || d->max_seconds > 1e8 || d->idle_seconds > 1e6)
    return RLX_FAIL(RLX_INVALID, "%s: max_seconds and idle_seconds: expected 0 to 10^8 and to 10^6", call);
  return RLX_OK;
}

static void set_defaults(rlx_server_desc *d) {
  if (!d->n_sequences) d->n_sequences = 8;
  if (!d->max_body_bytes) d->max_body_bytes = (uint64_t)16 << 20;
  if (!d->max_requests) d->max_requests = 256;
  if (!d->max_connections) d->max_connections = 512;
  if (!(d->max_seconds > 0)) d->max_seconds = 600;
  if (!(d->idle_seconds > 0)) d->idle_seconds = 30;
}

/* ---- Watching ---- */

static void *watch(void *server) {
  struct rlx_server *s = server;
  rlx_mutex_lock(&s->lock);
  while (!s->is_ending) {
    if (s->conns) rlx_cond_wait_for(&s->changed, &s->lock, WATCH_NS);
    else rlx_cond_wait(&s->changed, &s->lock);
    if (!s->is_ending) sv_watch_connections(s, rlx_now_ns());
  }
  rlx_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- Making, ending ---- */

/* Without a daemon and threads. */
static void destroy(struct rlx_server *s) {
  for (size_t i = 0; i < s->models.n; i++) sv_model_destroy(s->models.v[i]);
  for (size_t i = 0; i < s->texts.n; i++) rlx_mem_free(s->texts.v[i]);
  rlx_array_deinit(&s->models);
  rlx_array_deinit(&s->texts);
  rlx_array_deinit(&s->adapters);
  rlx_cond_destroy(&s->changed);
  rlx_mutex_destroy(&s->lock);
  rlx_mem_free(s);
}

void rlx_server_stop(rlx_server *server) {
  struct rlx_server *s = server;
  if (!s || s->process != rlx_process_number()) return; /* a forked child has none of its threads */
  rlx_mutex_lock(&s->lock);
  s->is_ending = true;
  for (sv_conn *c = s->conns; c; c = c->next) {
    c->is_gone = true;
    if (c->job) sv_wake(c->job);
  }
  for (size_t i = 0; i < s->models.n; i++) rlx_cond_broadcast(&s->models.v[i]->wanted);
  rlx_cond_broadcast(&s->changed);
  rlx_mutex_unlock(&s->lock);
  if (s->daemon) s->mhd->stop_daemon(s->daemon);
  if (s->has_watcher) rlx_os_thread_join(s->watcher);
  destroy(s);
}

static rlx_status start(struct rlx_server *s, const rlx_server_desc *d) {
  RLX_TRY(copy_texts(s));
  for (size_t i = 0; i < d->n_models; i++) RLX_TRY(sv_model_start(s, &d->models[i]));
  RLX_TRY(sv_model_load(s->models.v[0]));
  memset(&s->desc.watch, 0, sizeof s->desc.watch); /* the caller may be gone when others are loaded */
  RLX_TRY(sv_http_start(s));
  if (rlx_os_thread_start(&s->watcher, watch, s)) return RLX_FAIL(RLX_NO_MEMORY, "cannot start a thread");
  s->has_watcher = true;
  return RLX_OK;
}

rlx_status rlx_server_start(const rlx_server_desc *desc, rlx_server **out) {
  rlx_server_desc d;
  const mhd_functions *mhd;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_server_start: out is NULL");
  *out = NULL;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_server_desc", desc, &d), "rlx_server_start");
  RLX_TRY(check_desc(&d));
  RLX_TRY(mhd_load(&mhd));
  struct rlx_server *s = rlx_new(struct rlx_server);
  if (!s) return RLX_FAIL(RLX_NO_MEMORY, "a server");
  s->desc = d;
  set_defaults(&s->desc);
  s->mhd = mhd;
  s->process = rlx_process_number();
  s->begin_ns = rlx_now_ns();
  s->begin_time = (int64_t)time(NULL);
  bool has_lock = rlx_mutex_init(&s->lock);
  if (!has_lock || !rlx_cond_init(&s->changed)) {
    if (has_lock) rlx_mutex_destroy(&s->lock);
    rlx_mem_free(s);
    return RLX_FAIL(RLX_NO_MEMORY, "a lock");
  }
  rlx_status status = start(s, &d);
  if (status) {
    rlx_saved_message m;
    rlx_message_save(&m);
    rlx_server_stop(s);
    rlx_message_restore(&m);
    return status;
  }
  *out = s;
  return RLX_OK;
}

uint32_t rlx_server_port(const rlx_server *server) { return server ? server->port : 0; }
