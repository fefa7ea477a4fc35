/* Connections: what libmicrohttpd calls, and when a waiting client is woken.
 *
 * A request's body is collected, its route makes a reply or a job. A connection whose job has nothing to send yet is
 * suspended, so it costs no thread; the model's thread resumes it (sv_wake). libmicrohttpd does not look at the socket
 * of a suspended connection, so the server's watcher does: a client that has left cancels its job. */
#include "serve/serve.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { HEADER_BYTES = 64 << 10, PIECE = 32 << 10 };
#define MAX_BODY_SECONDS 120 /* from a request's first byte to its last */

unsigned sv_http_of(rlx_status s) {
  switch (s) {
    case RLX_OK: return 200;
    case RLX_INVALID:
    case RLX_UNSUPPORTED: return 400;
    case RLX_NOT_FOUND: return 404;
    case RLX_LIMIT: return 413;
    case RLX_BUSY: return 429;
    case RLX_CANCELLED: return 504;
    case RLX_NO_MEMORY: return 503;
    default: return 500;
  }
}

/* ---- Answers ---- */

static void add_header(const struct rlx_server *s, struct MHD_Response *r, const char *name, const char *value) {
  if (s->mhd->add_response_header(r, name, value) != MHD_YES) sv_log(s, RLX_LOG_WARN, "no memory for a header");
}

static enum MHD_Result send_response(sv_conn *c, unsigned http, struct MHD_Response *r, const char *type) {
  const struct rlx_server *s = c->server;
  if (!r) return MHD_NO; /* no memory: the connection is closed */
  c->http = http;
  add_header(s, r, "Content-Type", type);
  if (s->desc.origin) add_header(s, r, "Access-Control-Allow-Origin", s->desc.origin);
  if (http == 401) add_header(s, r, "WWW-Authenticate", "Bearer");
  if (http == 429) add_header(s, r, "Retry-After", "1");
  enum MHD_Result result = s->mhd->queue_response(c->c, http, r);
  s->mhd->destroy_response(r);
  return result;
}

static enum MHD_Result send_text(sv_conn *c, unsigned http, const rlx_str *text, const char *type) {
  void *bytes = (void *)(uintptr_t)(text->n ? text->v : "");
  if (text->failed) return MHD_NO;
  return send_response(c, http, c->server->mhd->create_response_from_buffer(text->n, bytes, MHD_RESPMEM_MUST_COPY),
                       type ? type : "application/json");
}

/* A file, or that the client has it already. */
static enum MHD_Result send_file(sv_conn *c, const sv_reply *reply) {
  const struct rlx_server *s = c->server;
  const sv_file *f = reply->file;
  const char *held = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "If-None-Match");
  const bool is_held = held && strstr(held, f->tag);
  struct MHD_Response *r =
    s->mhd->create_response_from_buffer(is_held ? 0 : f->n_bytes, (void *)(uintptr_t)f->bytes, MHD_RESPMEM_PERSISTENT);
  if (!r) return MHD_NO;
  add_header(s, r, "ETag", f->tag);
  add_header(s, r, "Cache-Control", "no-cache"); /* kept, but asked for each time */
  for (const sv_header *h = reply->headers; h && h->name; h++) add_header(s, r, h->name, h->value);
  return send_response(c, is_held ? 304 : 200, r, reply->type);
}

static enum MHD_Result send_error(sv_conn *c, unsigned http, const char *message) {
  rlx_str text = {0};
  (c->route ? c->route->error : sv_openai_error)(&text, http, message);
  sv_log(c->server, RLX_LOG_DEBUG, "%s: %u: %s", c->url, http, message);
  enum MHD_Result result = send_text(c, http, &text, NULL);
  rlx_str_deinit(&text);
  return result;
}

static enum MHD_Result send_message(sv_conn *c, unsigned http, const char *fmt, ...) RLX_PRINTF(3, 4);
static enum MHD_Result send_message(sv_conn *c, unsigned http, const char *fmt, ...) {
  char message[400];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(message, sizeof message, fmt, args);
  va_end(args);
  return send_error(c, http, message);
}

/* ---- Streams ---- */

/* Under the lock. */
static void suspend(sv_conn *c) {
  c->is_suspended = true;
  c->server->mhd->suspend_connection(c->c);
}

void sv_wake(sv_job *j) {
  sv_conn *c = j->conn;
  if (!c || !c->is_suspended) return;
  c->is_suspended = false;
  c->server->mhd->resume_connection(c->c);
}

static ssize_t read_stream(void *job, uint64_t at, char *out, size_t max) {
  sv_job *j = job;
  struct rlx_server *s = j->server;
  (void)at;
  rlx_mutex_lock(&s->lock);
  size_t n = j->out.n - j->sent;
  ssize_t result = 0;
  if (n > max) n = max;
  if (n) {
    memcpy(out, j->out.v + j->sent, n);
    j->sent += n;
    if (j->sent == j->out.n) j->sent = j->out.n = 0;
    result = (ssize_t)n;
  } else if (j->is_done) {
    result = (ssize_t)(j->out.failed ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM);
  } else if (!j->conn || j->conn->is_gone) {
    result = (ssize_t)MHD_CONTENT_READER_END_WITH_ERROR;
  } else {
    suspend(j->conn);
  }
  rlx_mutex_unlock(&s->lock);
  return result;
}

static void end_stream(void *job) { sv_job_release(job); }

static enum MHD_Result send_stream(sv_conn *c) {
  struct rlx_server *s = c->server;
  rlx_mutex_lock(&s->lock);
  c->job->n_holders++;
  rlx_mutex_unlock(&s->lock);
  struct MHD_Response *r =
    s->mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_stream, c->job, end_stream);
  if (!r) {
    sv_job_release(c->job);
    return MHD_NO;
  }
  add_header(s, r, "Cache-Control", "no-cache");
  add_header(s, r, "X-Accel-Buffering", "no"); /* proxies pass it on at once */
  return send_response(c, 200, r, "text/event-stream");
}

/* The job has an answer, or its client waits. */
static enum MHD_Result continue_job(sv_conn *c) {
  struct rlx_server *s = c->server;
  sv_job *j = c->job;
  rlx_mutex_lock(&s->lock);
  bool is_ready = j->is_done || (j->has_begun && j->is_stream), is_gone = c->is_gone;
  if (!is_ready && !is_gone) suspend(c);
  rlx_mutex_unlock(&s->lock);
  if (is_gone) return MHD_NO;
  if (!is_ready) return MHD_YES;
  if (j->http == 200 && j->is_stream) return send_stream(c);
  return send_text(c, j->http, &j->out, NULL);
}

/* ---- Requests ---- */

static const sv_route *find_route(const char *method, const char *url, const char **rest, bool *is_path) {
  *is_path = false;
  for (const sv_route *r = sv_routes; r->method; r++) {
    size_t n = strlen(r->path);
    bool is_open = r->path[n - 1] == '*',
         fits = is_open ? strncmp(url, r->path, n - 1) == 0 : strcmp(url, r->path) == 0;
    *is_path |= fits;
    if (!fits || strcmp(method, r->method) != 0) continue;
    *rest = is_open ? url + n - 1 : "";
    return r;
  }
  return NULL;
}

/* Takes the same time wherever they differ. */
static bool is_equal(const char *given, const char *key) {
  size_t n = strlen(key), n_given = strlen(given);
  unsigned differs = n != n_given;
  for (size_t i = 0; i < n_given; i++) differs |= (unsigned)(given[i] ^ key[n ? i % n : 0]);
  return !differs;
}

static bool has_key(const sv_conn *c) {
  const struct rlx_server *s = c->server;
  if (!s->desc.api_key || c->route->is_open) return true;
  const char *bearer = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "Authorization"),
             *plain = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "x-api-key");
  if (bearer && strncmp(bearer, "Bearer ", 7) == 0 && is_equal(bearer + 7, s->desc.api_key)) return true;
  return plain && is_equal(plain, s->desc.api_key);
}

/* A page of another site can send requests, though it cannot read the answers: refused before they cost anything. */
static bool is_foreign(const sv_conn *c) {
  const struct rlx_server *s = c->server;
  const char *origin = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "Origin"),
             *host = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "Host"), *allowed = s->desc.origin;
  if (!origin || (allowed && (strcmp(allowed, "*") == 0 || strcmp(allowed, origin) == 0))) return false;
  const char *place = strstr(origin, "://");
  return !place || !host || strcmp(place + 3, host) != 0;
}

/* What browsers ask before they send a page's request to another place. */
static enum MHD_Result answer_preflight(sv_conn *c) {
  const struct rlx_server *s = c->server;
  struct MHD_Response *r = s->mhd->create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (!r) return MHD_NO;
  add_header(s, r, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  add_header(s, r, "Access-Control-Allow-Headers", "Authorization, Content-Type, x-api-key, anthropic-version");
  return send_response(c, 204, r, "text/plain");
}

/* The headers are there, the body is not. */
static enum MHD_Result begin_request(sv_conn *c, const char *method) {
  const struct rlx_server *s = c->server;
  bool is_path;
  c->route = find_route(method, c->url, &c->rest, &is_path);
  if (strcmp(method, "OPTIONS") == 0 && s->desc.origin) return answer_preflight(c);
  if (!c->route)
    return send_message(c, is_path ? 405 : 404,
                        is_path ? "%s: this path has another method than %s" : "%s: no such path", c->url, method);
  if (strcmp(method, "GET") != 0 && is_foreign(c))
    return send_message(c, 403, "a page of another site asks: the server's --cors option allows one");
  if (!has_key(c)) return send_message(c, 401, "expected the server's API key as 'Authorization: Bearer KEY'");
  const char *length = s->mhd->lookup_connection_value(c->c, MHD_HEADER_KIND, "Content-Length");
  double bytes = 0;
  if (length && rlx_text_to_double(length, strlen(length), &bytes) && bytes > (double)s->desc.max_body_bytes)
    return send_message(c, 413, "a body of %s bytes: this server takes at most %llu", length,
                        (unsigned long long)s->desc.max_body_bytes);
  return MHD_YES;
}

static enum MHD_Result take_body(sv_conn *c, const char *data, size_t *n) {
  if (c->body.n + *n > c->server->desc.max_body_bytes)
    return MHD_NO; /* without a length, and too much: nobody to answer to */
  rlx_str_add_bytes(&c->body, data, *n);
  *n = 0;
  return c->body.failed ? MHD_NO : MHD_YES;
}

/* The job was not taken. */
static void forget_job(sv_conn *c) {
  rlx_mutex_lock(&c->server->lock);
  sv_job *j = c->job;
  c->job = NULL;
  j->conn = NULL;
  rlx_mutex_unlock(&c->server->lock);
  sv_job_release(j);
}

static enum MHD_Result run_route(sv_conn *c) {
  struct rlx_server *s = c->server;
  sv_reply reply = {0};
  sv_job *j = NULL;
  rlx_mutex_lock(&s->lock);
  c->is_read = true;
  rlx_mutex_unlock(&s->lock);
  rlx_status status = c->route->fn(s, c->rest, &c->body, &reply, &j);
  rlx_str_deinit(&c->body);
  if (!status && j) {
    rlx_mutex_lock(&s->lock);
    c->job = j;
    j->conn = c;
    rlx_mutex_unlock(&s->lock);
    status = sv_job_submit(j);
    if (status) forget_job(c);
  }
  enum MHD_Result result = status       ? send_error(c, sv_http_of(status), rlx_message())
                           : j          ? continue_job(c)
                           : reply.file ? send_file(c, &reply)
                                        : send_text(c, 200, &reply.text, reply.type);
  rlx_str_deinit(&reply.text);
  return result;
}

static sv_conn *make_conn(struct rlx_server *s, struct MHD_Connection *connection, const char *url) {
  sv_conn *c = rlx_new(sv_conn);
  rlx_str copy = {0};
  if (!c) return NULL;
  rlx_str_add_bytes(&copy, url, strlen(url));
  if (rlx_str_take(&copy, &c->url)) {
    rlx_mem_free(c);
    return NULL;
  }
  c->server = s;
  c->c = connection;
  c->begin_ns = rlx_now_ns();
  c->fd = s->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  rlx_mutex_lock(&s->lock);
  c->next = s->conns;
  if (s->conns) s->conns->prev = c;
  s->conns = c;
  s->counts.requests++;
  rlx_cond_broadcast(&s->changed); /* the watcher has something to watch */
  rlx_mutex_unlock(&s->lock);
  return c;
}

static enum MHD_Result on_request(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *n, void **state) {
  sv_conn *c = *state;
  (void)version;
  if (!c) {
    *state = c = make_conn(server, connection, url);
    return c ? begin_request(c, method) : MHD_NO;
  }
  if (*n) return take_body(c, data, n);
  return c->job ? continue_job(c) : run_route(c);
}

static void on_end(void *server, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why) {
  struct rlx_server *s = server;
  sv_conn *c = *state;
  (void)connection;
  if (!c) return;
  *state = NULL;
  double seconds = 1e-9 * (double)(rlx_now_ns() - c->begin_ns);
  if (c->http) sv_log(s, RLX_LOG_INFO, "%s %s %u %.3f s", c->route ? c->route->method : "?", c->url, c->http, seconds);
  else sv_log(s, RLX_LOG_INFO, "%s: the client left after %.3f s (%d)", c->url, seconds, (int)why);
  rlx_mutex_lock(&s->lock);
  if (c->prev) c->prev->next = c->next;
  else s->conns = c->next;
  if (c->next) c->next->prev = c->prev;
  s->counts.refused += c->http >= 400 && c->http < 500;
  s->counts.failed += c->http >= 500;
  sv_job *j = c->job;
  if (j) {
    j->conn = NULL;
    if (!j->is_done) {
      j->is_cancelled = true;
      s->counts.cancelled++;
      rlx_cond_signal(&j->model->wanted);
    }
  }
  rlx_mutex_unlock(&s->lock);
  if (j) sv_job_release(j);
  rlx_str_deinit(&c->body);
  rlx_mem_free(c->url);
  rlx_mem_free(c);
}

/* ---- Watching ---- */

static void cancel_job(sv_job *j) {
  if (j->is_done || j->is_cancelled) return;
  j->is_cancelled = true;
  rlx_cond_signal(&j->model->wanted);
}

void sv_watch_connections(struct rlx_server *s, uint64_t now) {
  for (sv_conn *c = s->conns; c; c = c->next) {
    double seconds = 1e-9 * (double)(now - c->begin_ns);
    if (!c->is_read && seconds > MAX_BODY_SECONDS) sv_socket_end(c->fd);
    if (!c->job || c->job->is_done) continue;
    if (seconds > s->desc.max_seconds && !c->job->is_late) {
      c->job->is_late = true;
      cancel_job(c->job);
    }
    if (c->is_suspended && sv_socket_is_gone(c->fd)) {
      c->is_gone = true;
      cancel_job(c->job);
      sv_wake(c->job);
    }
  }
}

/* ---- The daemon ---- */

static void on_log(void *server, const char *fmt, va_list args) {
  char text[300];
  rlx_format_fixed(text, sizeof text, fmt, args);
  text[strcspn(text, "\r\n")] = '\0';
  sv_log(server, RLX_LOG_WARN, "%s", text);
}

rlx_status sv_http_start(struct rlx_server *s) {
  const rlx_server_desc *d = &s->desc;
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  if (d->tls_certificate && s->mhd->is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    return RLX_FAIL(RLX_UNSUPPORTED, "this libmicrohttpd was built without TLS");
  const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)d->tls_key},
                                       {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)d->tls_certificate},
                                       {MHD_OPTION_END, 0, NULL}},
                              none[] = {{MHD_OPTION_END, 0, NULL}};
  if (d->tls_certificate) flags |= MHD_USE_TLS;
  struct sockaddr *address;
  RLX_TRY(sv_address_of(d->host, d->port, &address));
  if (sv_address_is_v6(address)) flags |= MHD_USE_IPv6;
  uint32_t cores = rlx_os_own_cores();
  s->daemon = s->mhd->start_daemon(
    flags, (uint16_t)d->port, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
    MHD_OPTION_NOTIFY_COMPLETED, on_end, s, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT,
    (unsigned)d->max_connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(d->idle_seconds + 0.999),
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_THREAD_POOL_SIZE,
    (unsigned)(cores > 8   ? 4
               : cores > 1 ? 2
                           : 1),
    MHD_OPTION_ARRAY, d->tls_certificate ? tls : none, MHD_OPTION_END);
  rlx_mem_free(address);
  if (!s->daemon)
    return RLX_FAIL(RLX_IO, "cannot listen on %s, port %u: %s", d->host, (unsigned)d->port, sv_system_error());
  const union MHD_DaemonInfo *info = s->mhd->get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  s->port = info ? info->port : d->port;
  return RLX_OK;
}
