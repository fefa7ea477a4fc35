/* A server without connections and with one model that no thread serves: what reads bodies can be called on it. */
#ifndef RLX_TESTS_LM_BARE_SERVER_H
#define RLX_TESTS_LM_BARE_SERVER_H

#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

typedef struct bare_server {
  struct rlx_server server;
  sv_model model, *list[1];
} bare_server;

static inline bool bare_server_init(bare_server *b) {
  *b = (bare_server){.model = {.name = "bare", .path = "bare.gguf"}};
  b->model.server = &b->server;
  b->list[0] = &b->model;
  b->server.models.v = b->list;
  b->server.models.n = b->server.models.cap = 1;
  b->server.desc.max_requests = 4;
  return rlx_mutex_init(&b->server.lock);
}

static inline void bare_server_deinit(bare_server *b) { rlx_mutex_destroy(&b->server.lock); }

/* Reads a body as the route of this path does; what it makes is dropped. */
static inline rlx_status bare_server_read(bare_server *b, const char *path, const char *body, size_t bytes) {
  for (const sv_route *r = sv_routes; r->method; r++) {
    if (strcmp(r->path, path) != 0) continue;
    rlx_str text = {0};
    sv_reply reply = {0};
    sv_job *job = NULL;
    rlx_str_add_bytes(&text, body, bytes);
    rlx_status s = text.failed ? RLX_FAIL(RLX_NO_MEMORY, "a body") : r->fn(&b->server, "bare", &text, &reply, &job);
    if (job) sv_job_release(job);
    rlx_str_deinit(&reply.text);
    rlx_str_deinit(&text);
    return s;
  }
  return RLX_FAIL(RLX_NOT_FOUND, "%s", path);
}

#endif
