/* RLX: a server of language models over HTTP, on top of lm.h: the routes of OpenAI's and Anthropic's clients.
 *
 *   rlx_server_model model = {.path = "model.gguf"};
 *   rlx_server *server;
 *   if (rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = &model, .n_models = 1}, &server))
 *     puts(rlx_message());
 *   printf("http://127.0.0.1:%u\n", rlx_server_port(server));
 *
 * This is a header of its own because the library can be built without it (-DRLX_SERVE=OFF). HTTP is libmicrohttpd's,
 * which is loaded when a server starts: programs that start none do not need it. The rules of rlx.h for errors,
 * ownership and threads apply. */
#ifndef RLX_SERVE_H
#define RLX_SERVE_H

#include <rlx/lm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlx_server_model {
  const char *path; /* as rlx_file_open */
  const char *name; /* in requests and lists; NULL: the file's name without its ending */
} rlx_server_model;

/* An adapter (rlx_lm_adapter_load), and how much it counts where a request does not say ("lora"). */
typedef struct rlx_server_adapter {
  const char *path;
  float scale;
} rlx_server_adapter;

typedef struct rlx_server_desc {
  size_t struct_bytes;
  const rlx_server_model *models; /* the first is loaded by rlx_server_start, the others when they are asked for */
  size_t n_models;
  const char *host; /* an address of this machine; NULL: 127.0.0.1, which others cannot reach */
  uint32_t port;    /* 0: any that is free */
  /* Of each model, as in rlx_lm_desc; n_sequences 0: 8, the texts computed together. */
  const char *device;
  uint32_t n_threads, context, n_sequences, chunk;
  rlx_lm_cache cache_type;
  uint32_t switches;
  /* Bytes that all loaded models may take; 0: no limit but that of each session. Models that nobody uses leave, the
   * least recently used first. */
  uint64_t memory_bytes;
  const char *api_key; /* requests must have it; NULL: none */
  const char *origin;  /* of pages that browsers let read answers: "https://example.org" or "*"; NULL: none */
  /* Texts in PEM form: with both, the server talks TLS. */
  const char *tls_certificate, *tls_key;
  uint64_t max_body_bytes;  /* of one request; 0: 16 MiB */
  uint32_t max_requests;    /* that run or wait; more are refused with 429; 0: 256 */
  uint32_t max_connections; /* 0: 512 */
  double max_seconds;       /* of one answer; 0: 600 */
  double idle_seconds;      /* in which a client must send, or take, something; 0: 30 */
  rlx_watch watch;          /* of loading the first model */
  rlx_log_fn log;           /* a line for each request (RLX_LOG_INFO), and what went wrong; any thread calls it */
  void *log_user;
  const char *chat_template;          /* of rlx_chat_template_name, instead of the files' own; NULL: those */
  uint64_t no_page;                   /* 1: nothing at /, where browsers otherwise get a page to chat with the models */
  const rlx_server_adapter *adapters; /* n_adapters of the model; not with several models */
  size_t n_adapters;
  /* Speculation, as in rlx_lm_options, where a request does not say ("lookup"). draft: the path of a smaller model that
   * guesses; not with several models. */
  uint32_t lookup, n_draft;
  const char *draft;
} rlx_server_desc;
#define RLX_SERVER_DESC_INIT RLX_SIZED(rlx_server_desc)

/* Threads: any, at any time; rlx_server_stop is the last call. */
typedef struct rlx_server rlx_server;
/* Returns once the first model is loaded and the port is open. RLX_NOT_FOUND: libmicrohttpd is not there. */
RLX_API RLX_MUST_CHECK rlx_status rlx_server_start(const rlx_server_desc *desc, rlx_server **out);
RLX_API uint32_t rlx_server_port(const rlx_server *server);
/* Ends all answers, closes the port and frees the models. May be NULL. */
RLX_API void rlx_server_stop(rlx_server *server);

#ifdef __cplusplus
}
#endif
#endif
