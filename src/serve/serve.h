/* The server's inside: what its files share.
 *
 *   http.c      connections: libmicrohttpd's callbacks, limits, waiting clients
 *   server.c    making and ending a server; the thread that watches connections
 *   model.c     a thread for each model, which alone calls it: loads it, runs jobs, steps requests
 *   job.c       one answer: what it asks of the model, what comes back
 *   fields.c    reading JSON bodies
 *   chat.c      messages as a prompt
 *   parts.c     what a model writes, as text, thoughts and calls of tools
 *   write.c     JSON that several answers have
 *   routes.c    the table of routes, and those that answer at once
 *   page.c      the page that browsers get: files of page/, which are part of the library
 *   chat_completions.c, completions.c, responses.c, messages.c, vectors.c
 *               the other routes: a body becomes a job, what the model writes becomes an answer
 *
 * One lock of the server guards all that threads share, and is held briefly: never while a model computes, a body is
 * read, or memory is large. A job belongs to the thread that works on it; only the fields that say so are shared. */
#ifndef RLX_SERVE_SERVE_H
#define RLX_SERVE_SERVE_H

#include <jansson.h>

#include "base/array.h"
#include "base/os.h"
#include "base/status.h"
#include "base/str.h"
#include "rlx/serve.h"
#include "serve/mhd.h"

typedef struct sv_model sv_model;
typedef struct sv_job sv_job;
typedef struct sv_conn sv_conn;
typedef struct sv_run sv_run;

/* ---- The server ---- */

typedef struct sv_counts {                       /* of /metrics; under the lock */
  uint64_t requests, refused, failed, cancelled; /* HTTP requests; of those: 4xx, 5xx, clients that left */
  uint64_t prompt_tokens, held_tokens, tokens, guessed, guessed_right;
  double prompt_seconds, seconds;
} sv_counts;

struct rlx_server {
  const mhd_functions *mhd;
  struct MHD_Daemon *daemon;
  uint32_t port, process;
  rlx_server_desc desc; /* its texts are in `texts` */
  RLX_ARRAY(char *) texts;
  RLX_ARRAY(rlx_server_adapter) adapters; /* their paths are in `texts` */
  RLX_ARRAY(sv_model *) models;
  rlx_os_thread watcher;
  bool has_watcher;
  uint64_t begin_ns;
  int64_t begin_time; /* seconds since 1970 */

  rlx_mutex lock;
  rlx_cond changed; /* a model was loaded or left, or the server ends */
  sv_conn *conns;
  uint32_t n_jobs; /* that run or wait */
  uint64_t last_number;
  bool is_ending;
  sv_counts counts;
};

char *sv_copy_text(struct rlx_server *s, const char *text); /* lives as long as the server; NULL: no memory */
void sv_log(const struct rlx_server *s, rlx_log_level level, const char *fmt, ...) RLX_PRINTF(3, 4);

/* ---- HTTP ---- */

/* How a family of clients wants errors. */
typedef void (*sv_error_fn)(rlx_str *out, unsigned http, const char *message);

typedef struct sv_header {
  const char *name, *value;
} sv_header;
typedef struct sv_file { /* that lives as long as the program */
  const void *bytes;
  size_t n_bytes;
  const char *tag; /* changes with them; quoted, as ETag has it */
} sv_file;
typedef struct sv_reply { /* of a route that answers at once */
  rlx_str text;
  const char *type;         /* of the content; NULL: JSON */
  const sv_file *file;      /* instead of `text`; a client that has it gets 304 */
  const sv_header *headers; /* of a file; the last one has no name; may be NULL */
} sv_reply;
typedef struct sv_route {
  const char *method, *path; /* a path that ends in '*' stands for all that begin so */
  bool is_open;              /* needs no key */
  sv_error_fn error;
  /* Answers at once, or makes a job. `rest`: what the path has in place of '*'. */
  rlx_status (*fn)(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
} sv_route;
extern const sv_route sv_routes[]; /* routes.c; the last one has no method */

struct sv_conn {
  struct rlx_server *server;
  struct MHD_Connection *c;
  MHD_socket fd;
  const sv_route *route;
  const char *rest;
  char *url;
  rlx_str body;
  uint64_t begin_ns;
  unsigned http; /* what was answered */
  /* under the lock */
  sv_conn *prev, *next;
  sv_job *job;
  bool is_suspended, is_gone, is_read; /* its body is complete */
};

unsigned sv_http_of(rlx_status s);
rlx_status sv_http_start(struct rlx_server *s);
/* Under the lock: the client of this job may have something to take. */
void sv_wake(sv_job *j);
/* Under the lock, a few times a second: clients that left, bodies and answers that take too long. */
void sv_watch_connections(struct rlx_server *s, uint64_t now);

/* socket_native.c; libmicrohttpd has started the sockets of Windows when it is loaded */
bool sv_socket_is_gone(MHD_socket fd); /* the other side has closed it */
void sv_socket_end(MHD_socket fd);
struct sockaddr;
/* `host` as numbers ("127.0.0.1", "::1", "0.0.0.0") or "localhost"; free with rlx_mem_free. */
rlx_status sv_address_of(const char *host, uint32_t port, struct sockaddr **out);
bool sv_address_is_v6(const struct sockaddr *address);
const char *sv_system_error(void); /* of the thread's last call */

/* ---- Models ---- */

enum { SV_FORMS = 8 };
typedef struct sv_form { /* a grammar that was asked for */
  rlx_grammar_kind kind;
  rlx_str text;
  rlx_grammar *grammar; /* NULL: the place is free */
  uint64_t used;
} sv_form;

typedef enum sv_state { SV_AWAY, SV_LOADING, SV_READY, SV_FAILED } sv_state;
struct sv_model {
  struct rlx_server *server;
  const char *name, *path;
  /* of its thread */
  rlx_lm *lm, *draft;         /* draft: NULL: no model guesses */
  rlx_chat_template *program; /* the file's template; NULL: it has none, or it cannot be run */
  const char *template_name;  /* of one that is built in; NULL: it is none of those */
  char no_program[256];       /* why there is no program */
  sv_form forms[SV_FORMS];
  uint64_t n_forms;
  rlx_os_thread thread;
  bool has_thread;
  /* under the lock */
  rlx_cond wanted;
  RLX_ARRAY(sv_job *) waiting; /* not begun */
  RLX_ARRAY(sv_job *) running;
  sv_state state;
  bool must_leave;
  uint64_t bytes, used_ns;
  rlx_lm_info info;   /* once it was loaded */
  rlx_status failure; /* of SV_FAILED, with its message */
  char why[512];
};

rlx_status sv_model_start(struct rlx_server *s, const rlx_server_model *m);
void sv_model_destroy(sv_model *m);
/* RLX_NOT_FOUND: no such model. An empty name or NULL: the first. */
rlx_status sv_model_find(struct rlx_server *s, const char *name, sv_model **out);
/* Waits until it is loaded. */
rlx_status sv_model_load(sv_model *m);

/* ---- What a model writes: parts.c ---- */

/* How a model marks its thoughts and its calls of tools. */
typedef struct sv_marks {
  bool thinks, begins_in_thought; /* <think> .. </think>; the prompt ends inside of it */
  bool calls;                     /* the request has tools */
  const char *call, *call_end;    /* around a call as JSON; NULL: a whole answer that is a JSON object is one */
} sv_marks;
sv_marks sv_marks_of(const char *chat_template, bool has_tools); /* by the text of the template; may be NULL */

typedef enum sv_part_kind { SV_TEXT, SV_THOUGHT, SV_CALL } sv_part_kind;
typedef struct sv_part {
  sv_part_kind kind;
  const char *text; /* of a call: its arguments, a JSON object */
  size_t bytes;
  const char *name; /* of a call */
  uint32_t number;  /* of a call: counted from 0 */
} sv_part;
typedef void (*sv_part_fn)(void *user, const sv_part *part);

/* Text in, parts out. A text that could be the beginning of a mark waits for what follows. */
typedef struct sv_splitter {
  sv_marks marks;
  enum { SV_IN_TEXT, SV_IN_THOUGHT, SV_IN_CALL } state;
  bool has_text;      /* something other than blanks was reported */
  bool is_after_mark; /* the blanks that come belong to a mark */
  uint32_t n_calls;
  rlx_str held;
} sv_splitter;
void sv_split(sv_splitter *p, const char *text, size_t bytes, sv_part_fn fn, void *user);
void sv_split_end(sv_splitter *p, sv_part_fn fn, void *user); /* reports what is held */

/* ---- Jobs ---- */

typedef struct sv_token { /* with its log-probability */
  int32_t id;
  float logprob;
  uint32_t first_top, n_top; /* in `tops` of its run */
} sv_token;
typedef struct sv_top {
  int32_t id;
  float logprob;
} sv_top;

struct sv_run { /* one text of a job */
  sv_job *job;
  uint32_t index;
  int32_t *ids; /* its prompt */
  size_t n_ids;
  uint64_t number; /* of the request; 0: there is none */
  sv_splitter splitter;
  rlx_str text, thought, calls; /* not of a stream; calls as the style writes them, separated by commas */
  uint32_t n_calls;
  RLX_ARRAY(sv_token) tokens; /* not reported yet, if log-probabilities are wanted */
  RLX_ARRAY(sv_top) tops;
  int open;          /* of a stream: the kind of the block that is open; -1: none */
  uint32_t n_blocks; /* that were opened */
  const char *ended;
  rlx_lm_stats stats;
};

/* How a route writes what comes. All are called by the model's thread and append to j->fresh. */
typedef struct sv_style {
  void (*begin)(sv_job *j);                                    /* of a stream; may be NULL */
  void (*part)(sv_job *j, sv_run *r, const sv_part *p);        /* of a stream */
  void (*call)(sv_job *j, sv_run *r, const sv_part *p);        /* otherwise: adds one to r->calls; may be NULL */
  void (*end_run)(sv_job *j, sv_run *r);                       /* of a stream; may be NULL */
  void (*end)(sv_job *j);                                      /* of a stream: its end; else the whole answer */
  void (*fail)(sv_job *j, unsigned http, const char *message); /* in a stream that has begun */
} sv_style;

struct sv_job {
  struct rlx_server *server;
  sv_model *model;
  const sv_style *style;
  sv_error_fn error;
  json_t *kept; /* parts of the body that the fields below point to */
  char id[40];
  int64_t created;
  bool is_stream, wants_usage, wants_parts;

  /* A job that the model does at once: it writes `fresh`. Otherwise it is texts to generate. */
  rlx_status (*task)(sv_job *j, rlx_lm *lm);
  json_t *input;             /* of a task, or of `encode` */
  bool flag, parses_special; /* of a task */
  size_t n_wanted;           /* of a task; 0: all */

  /* Texts: makes the prompts of `runs`. */
  rlx_status (*encode)(sv_job *j, rlx_lm *lm);
  json_t *messages;          /* owned */
  json_t *tools, *variables; /* of the chat template; in `kept` */
  sv_marks marks;            /* set by `encode` */
  bool has_form, must_call;  /* the answer has the form that `form` describes; it is a call */
  rlx_grammar_kind form_kind;
  rlx_str form;
  uint32_t n_choices;
  rlx_lm_options options;
  RLX_ARRAY(const char *) stops;
  RLX_ARRAY(rlx_lm_bias) biases;
  RLX_ARRAY(rlx_lm_adapter) adapters; /* none: the server's */
  uint32_t n_top;
  bool wants_logprobs, echo;
  RLX_ARRAY(sv_run) runs;
  uint32_t n_ended, n_events;     /* n_events: of a stream, written so far */
  const rlx_tokenizer *tokenizer; /* while it runs */
  rlx_str fresh;                  /* written since the last look */
  const char *failed;             /* a message, in `why` */
  unsigned failed_http;
  char why[512];
  uint64_t begin_ns;

  /* under the lock */
  rlx_str out;
  size_t sent;
  bool has_begun, is_done, is_cancelled, is_late;
  unsigned http; /* once it has begun */
  sv_conn *conn;
  unsigned n_holders;
};

/* Held once, by the caller. */
rlx_status sv_job_create(struct rlx_server *s, sv_error_fn error, sv_job **out);
void sv_job_release(sv_job *j);
rlx_status sv_job_add_runs(sv_job *j, size_t n);
/* Passes it to its model's thread. RLX_BUSY: the server has too many. */
rlx_status sv_job_submit(sv_job *j);

/* By the model's thread. */
rlx_status sv_job_begin(sv_job *j, rlx_lm *lm);
void sv_job_fail(sv_job *j, rlx_status s, const char *message);
void sv_job_cancel(sv_job *j, rlx_lm *lm);
bool sv_job_has_ended(const sv_job *j);

/* ---- Reading JSON: fields.c ---- */

/* Reading takes members out of an object; what is left then is unknown to the route. Texts live as long as `kept`. */
typedef struct sv_fields {
  json_t *object, *kept;
} sv_fields;
/* What a route does with a body: `read` takes its members and sets the job up. */
typedef struct sv_reader {
  sv_error_fn error;
  rlx_status (*read)(sv_fields *f, sv_job *j);
} sv_reader;
/* Reads a body as a job of the model that it names. What `read` leaves is refused, but for what cannot change an
 * answer. */
rlx_status sv_read_job(struct rlx_server *s, const rlx_str *body, const sv_reader *reader, sv_job **out);
rlx_status sv_body_parse(const rlx_str *body, json_t **out); /* an object */
rlx_status sv_fields_finish(sv_fields *f);
json_t *sv_take(sv_fields *f, const char *name); /* NULL: absent or null */
/* These leave *out as it is if the member is absent; the message names what was expected and found. */
rlx_status sv_take_bool(sv_fields *f, const char *name, bool *out);
rlx_status sv_take_text(sv_fields *f, const char *name, const char **out);
rlx_status sv_take_count(sv_fields *f, const char *name, uint64_t max, uint64_t *out);
rlx_status sv_take_object(sv_fields *f, const char *name, json_t **out);
rlx_status sv_take_list(sv_fields *f, const char *name, json_t **out);
/* A member whose only value is `only`: what the server always does. */
rlx_status sv_take_only(sv_fields *f, const char *name, const char *only);
rlx_status sv_take_stream(sv_fields *f, sv_job *j); /* stream, stream_options */
/* The settings of sampling, stop texts, biases and the largest number of tokens. */
rlx_status sv_take_options(sv_fields *f, sv_job *j);
const char *sv_kind(const json_t *v); /* "a list" */

/* ---- Prompts: chat.c ---- */

#define SV_MAX_MESSAGES (1 << 16)
rlx_status sv_add_text_message(sv_job *j, const char *role, const rlx_str *text);
/* Adds a message and takes the reference, also on failure. NULL is a failure. */
rlx_status sv_add_message_object(sv_job *j, json_t *message);
/* The result of a call, whose content is as sv_content_text takes it. id may be NULL. */
rlx_status sv_add_result(sv_job *j, const char *id, const json_t *content, const char *type, const char *where);
/* Adds {"type":"function"} with this function and takes the reference, also on failure. NULL is a failure. */
rlx_status sv_add_tool(sv_job *j, json_t *function);
/* A NUL in a message becomes U+FFFD, as in all texts that end with one. Call it when all messages are there. */
rlx_status sv_replace_nuls(sv_job *j);
/* Messages, tools and what belongs to them, as OpenAI's clients send them. */
rlx_status sv_take_chat(sv_fields *f, sv_job *j);
/* The text of a message's content: a string, null, or a list of parts whose types are `type` or "text". */
rlx_status sv_content_text(const json_t *content, const char *type, const char *where, rlx_str *out);
rlx_status sv_encode_chat(sv_job *j, rlx_lm *lm);

/* ---- The form of an answer: format.c ---- */

/* What an answer must be: text, a JSON object, JSON of a schema. */
rlx_status sv_take_format(sv_fields *f, sv_job *j, const char *name);
rlx_status sv_read_format(sv_job *j, const json_t *format, const char *name); /* the same, of an object */
rlx_status sv_take_tool_choice(sv_fields *f, sv_job *j);
/* The answer is a call of this tool; NULL: of any. */
rlx_status sv_choose_tool(sv_job *j, const char *name);
/* By the model's thread: the job's grammar, which the model holds; NULL if the job has none. */
rlx_status sv_make_grammar(sv_job *j, const rlx_grammar **out);
void sv_forget_forms(sv_model *m);

/* ---- Writing JSON: write.c ---- */

void sv_add_quoted(rlx_str *s, const char *text, size_t n);
void sv_add_json(rlx_str *s, const json_t *v); /* compact */
void sv_openai_error(rlx_str *out, unsigned http, const char *message);
void sv_anthropic_error(rlx_str *out, unsigned http, const char *message);
const char *sv_finish_reason(const sv_run *r); /* OpenAI's word */
typedef struct sv_usage {
  uint64_t input, held, output;    /* input: of the prompt, with what was held of it */
  uint64_t guessed, guessed_right; /* of speculation */
} sv_usage;
sv_usage sv_usage_of(const sv_job *j);
void sv_add_usage(rlx_str *s, const sv_job *j); /* OpenAI's object */
/* An event of a stream; `event` may be NULL. */
void sv_event_begin(sv_job *j, const char *event);
void sv_event_end(sv_job *j);
void sv_add_token(rlx_str *s, const sv_job *j, int32_t id);       /* its text, quoted */
void sv_add_token_bytes(rlx_str *s, const sv_job *j, int32_t id); /* the same as a list of numbers */
void sv_add_logprob(rlx_str *s, float x);
/* A failure in a stream of OpenAI's form. */
void sv_openai_fail(sv_job *j, unsigned http, const char *message);

/* ---- Routes ---- */

rlx_status sv_chat_completions(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply,
                               sv_job **job);
rlx_status sv_completions(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
rlx_status sv_responses(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
rlx_status sv_messages(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
rlx_status sv_count_tokens(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
rlx_status sv_embeddings(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
rlx_status sv_rerank(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);

#endif
