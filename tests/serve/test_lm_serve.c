/* The server's inside: what a model writes in parts, bodies where memory fails, and a server that clients of several
 * threads use while it starts, works and ends. What clients see is in tests/cli/test_cli_serve.py. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "faults.h"
#include "lm_bare_server.h"
#include "test.h"

#define MODEL RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf"

/* ---- Parts ---- */

static void note_part(void *user, const sv_part *p) {
  rlx_str *s = user;
  const char kind = "TH!"[p->kind];
  const bool goes_on = s->n && s->v[0] == kind && p->kind != SV_CALL;
  if (!goes_on) rlx_str_add(s, "%s", s->n ? "|" : "");
  /* the kind of the last piece is kept in front of all, so that pieces of one kind are joined */
  if (!s->n) rlx_str_add_char(s, kind);
  if (!goes_on) rlx_str_add(s, "%c:", kind);
  if (p->kind == SV_CALL) rlx_str_add(s, "%u %s", (unsigned)p->number, p->name);
  rlx_str_add_bytes(s, p->text, p->bytes);
  s->v[0] = kind;
}

/* The parts of a text that comes in pieces of `piece` bytes, as "T:text|H:thought|!:0 name{..}". */
static void split_in(const char *text, size_t piece, sv_marks marks, rlx_str *out) {
  sv_splitter p = {.marks = marks};
  const size_t n = strlen(text);
  out->n = 0;
  for (size_t i = 0; i < n; i += piece) sv_split(&p, text + i, i + piece < n ? piece : n - i, note_part, out);
  sv_split_end(&p, note_part, out);
  rlx_str_deinit(&p.held);
}

static const char qwen[] = "... <think> .. </think> .. <tool_call> ..", llama[] = "{{ no marks of any kind }}";

TEST(what_a_model_writes_in_parts) {
  static const struct {
    const char *chat_template;
    bool has_tools, begins;
    const char *text, *want;
  } rows[] = {
    {NULL, false, false, "plain text <think>", "T:plain text <think>"},
    {llama, false, false, "{\"name\":\"f\"}", "T:{\"name\":\"f\"}"},
    {llama, true, false, " {\"name\":\"f\",\"parameters\":{\"a\":1}} ", "!:0 f{\"a\":1}"},
    {llama, true, false, "{\"name\":\"f\",\"arguments\":{}", "T:{\"name\":\"f\",\"arguments\":{}"},
    {llama, true, false, "a {\"name\":\"f\"}", "T:a {\"name\":\"f\"}"},
    {llama, true, false, "[{\"name\":\"f\"}]", "!:0 f{}"},
    {llama, true, false, "{\"name\":\"\"}", "T:{\"name\":\"\"}"},
    {llama, true, false, "{\"name\":\"f\",\"arguments\":3}", "T:{\"name\":\"f\",\"arguments\":3}"},
    {qwen, false, false, "<think>\nso\n</think>\n\nyes", "H:so|T:yes"},
    {qwen, false, true, "\nso\n</think>\n\nyes", "H:so|T:yes"},
    {qwen, false, true, "no end", "H:no end"},
    {qwen, false, false, "a < b <thin> c", "T:a < b <thin> c"},
    {qwen, false, false, "x<think>y</think>z", "T:x<think>y</think>z"},
    {qwen, true, false, "go\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1]}}\n</tool_call>",
     "T:go|!:0 f{\"x\":[1]}"},
    {qwen, true, false, "<tool_call>{\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call> end",
     "!:0 f{}|!:1 g{}|T:end"},
    {qwen, true, false, "<tool_call>{\"name\":\"f\"}", "!:0 f{}"},
    {qwen, false, false, "<tool_call>{\"name\":\"f\"}</tool_call>", "T:<tool_call>{\"name\":\"f\"}</tool_call>"},
    {qwen, true, false, "", ""},
  };
  rlx_str out = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t n = strlen(rows[i].text);
    for (size_t piece = 1; piece <= n + 1; piece++) {
      sv_marks marks = sv_marks_of(rows[i].chat_template, rows[i].has_tools);
      marks.begins_in_thought = rows[i].begins;
      split_in(rows[i].text, piece, marks, &out);
      CHECK(!out.failed);
      const char *got = out.n ? out.v + 1 : "";
      if (strcmp(got, rows[i].want) != 0)
        FAIL("row %zu in pieces of %zu: expected '%s', got '%s'", i, piece, rows[i].want, got);
    }
  }
  rlx_str_deinit(&out);
}

TEST(a_call_without_an_end_is_text) {
  rlx_str out = {0};
  sv_marks marks = sv_marks_of(qwen, true);
  split_in("<tool_call>not json</tool_call> after", 3, marks, &out);
  CHECK_EQ_STR(out.v + 1, "T:<tool_call>not json</tool_call> after");
  rlx_str_deinit(&out);
}

/* ---- Bodies ---- */

static const struct {
  const char *path, *body;
} bodies[] = {
  {"/v1/chat/completions",
   "{\"model\":\"bare\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":"
   "[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
   "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},{\"role\":\"tool\","
   "\"tool_call_id\":\"1\",\"content\":\"r\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],"
   "\"stop\":[\"x\",\"y\"],\"logit_bias\":{\"5\":-100},\"temperature\":0.5,\"n\":2,\"stream\":true,"
   "\"stream_options\":{\"include_usage\":true}}"},
  {"/v1/completions", "{\"prompt\":[[1,2],\"x\"],\"logprobs\":3,\"echo\":true,\"max_tokens\":5}"},
  {"/v1/messages",
   "{\"max_tokens\":5,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{\"role\":\"assistant\",\"content\":"
   "[{\"type\":\"thinking\",\"thinking\":\"t\"},{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"tool_use\",\"id\":\"1\","
   "\"name\":\"f\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
   "\"content\":\"r\"}]}],\"tools\":[{\"name\":\"f\",\"input_schema\":{}}]}"},
  {"/v1/responses",
   "{\"instructions\":\"i\",\"input\":[{\"role\":\"user\",\"content\":\"x\"},{\"type\":\"function_call\",\"call_id\":"
   "\"1\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"r\"}],"
   "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}}]}"},
  {"/v1/embeddings", "{\"input\":[\"a\",\"b\"],\"encoding_format\":\"base64\",\"dimensions\":8}"},
  {"/rerank", "{\"query\":\"q\",\"documents\":[\"a\",\"b\"],\"top_n\":1}"},
  {"/tokenize", "{\"content\":\"x\",\"with_pieces\":true}"},
  {"/detokenize", "{\"tokens\":[1,2]}"},
  {"/metrics", ""},
  {"/v1/models", ""},
};

typedef struct read_work {
  bare_server *server;
  size_t i;
} read_work;

static rlx_status read_one(void *user) {
  const read_work *w = user;
  return bare_server_read(w->server, bodies[w->i].path, bodies[w->i].body, strlen(bodies[w->i].body));
}

TEST(bodies_where_memory_fails) {
  bare_server b;
  CHECK(bare_server_init(&b));
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    read_work w = {&b, i};
    CHECK_OK(read_one(&w));
    CHECK_OK(alloc_sweep(read_one, &w));
  }
  bare_server_deinit(&b);
}

/* ---- A whole server ---- */

TEST(descriptions_that_are_refused) {
  rlx_server *s;
  const rlx_server_model none = {0}, model = {.path = MODEL};
  CHECK_FAILS(rlx_server_start(NULL, &s), RLX_INVALID, "rlx_server_start");
  CHECK_FAILS(rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT}, &s), RLX_INVALID, "model");
  CHECK_FAILS(rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = &none, .n_models = 1}, &s),
              RLX_INVALID, "path");
  CHECK_FAILS(
    rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = &model, .n_models = 1, .port = 1 << 20}, &s),
    RLX_INVALID, "port");
  CHECK_FAILS(
    rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = &model, .n_models = 1, .tls_key = "x"}, &s),
    RLX_INVALID, "certificate");
  CHECK_FAILS(
    rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = &model, .n_models = 1, .max_seconds = -1}, &s),
    RLX_INVALID, "max_seconds");
  CHECK(rlx_server_port(NULL) == 0);
  rlx_server_stop(NULL);
}

static rlx_status start(const rlx_server_model *models, size_t n, rlx_server **out) {
  return rlx_server_start(&(rlx_server_desc){RLX_SERVER_DESC_INIT, .models = models, .n_models = n, .device = "cpu",
                                             .n_threads = 1, .n_sequences = 3, .context = 128},
                          out);
}

static int connect_to(uint32_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* Posts a body and reads the answer, at most `max` bytes of it. */
static size_t post(uint32_t port, const char *path, const char *body, char *out, size_t max) {
  char head[300];
  size_t n = 0;
  int fd = connect_to(port);
  if (fd < 0) return 0;
  snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", path,
           strlen(body));
  bool is_sent = send(fd, head, strlen(head), MSG_NOSIGNAL) > 0 && send(fd, body, strlen(body), MSG_NOSIGNAL) > 0;
  while (is_sent && n < max) {
    ssize_t got = recv(fd, out + n, max - n, 0);
    if (got <= 0) break;
    n += (size_t)got;
  }
  close(fd);
  return n;
}

typedef struct client {
  uint32_t port, number, n_right;
} client;

enum { TURNS = 6 };

/* Whole answers, and streams that are left after their first bytes. */
static void *run_client(void *user) {
  client *c = user;
  char answer[4096];
  for (uint32_t i = 0; i < TURNS; i++) {
    bool leaves = (c->number + i) % 3 == 0;
    size_t n = post(c->port, "/v1/completions",
                    leaves ? "{\"prompt\":\"A\",\"max_tokens\":100,\"stream\":true,\"ignore_eos\":true}"
                           : "{\"prompt\":\"ROMEO:\",\"max_tokens\":6,\"temperature\":0}",
                    answer, leaves ? 40 : sizeof answer - 1);
    answer[n] = '\0';
    c->n_right += strncmp(answer, "HTTP/1.1 200", 12) == 0;
  }
  return NULL;
}

TEST(clients_of_several_threads) {
  enum { CLIENTS = 4 };
  const rlx_server_model models[] = {{.path = MODEL, .name = "a"}, {.path = MODEL, .name = "b"}};
  rlx_server *s;
  rlx_status status = start(models, 2, &s);
  if (status == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(status);
  pthread_t threads[CLIENTS];
  client clients[CLIENTS];
  for (uint32_t i = 0; i < CLIENTS; i++) {
    clients[i] = (client){rlx_server_port(s), i, 0};
    CHECK(pthread_create(&threads[i], NULL, run_client, &clients[i]) == 0);
  }
  char answer[4096];
  size_t n = post(rlx_server_port(s), "/v1/completions", "{\"model\":\"b\",\"prompt\":\"A\",\"max_tokens\":3}", answer,
                  sizeof answer - 1);
  answer[n] = '\0';
  for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
  rlx_server_stop(s);
  CHECK(strstr(answer, "\"model\":\"b\""));
  for (int i = 0; i < CLIENTS; i++) CHECK(clients[i].n_right == TURNS);
}

TEST(it_ends_while_clients_are_there) {
  const rlx_server_model model = {.path = MODEL};
  const size_t live = rlx_mem_live();
  for (int round = 0; round < 3; round++) {
    rlx_server *s;
    rlx_status status = start(&model, 1, &s);
    if (status == RLX_NOT_FOUND) SKIP(rlx_message());
    CHECK_OK(status);
    pthread_t thread;
    client c = {rlx_server_port(s), 0, 0};
    CHECK(pthread_create(&thread, NULL, run_client, &c) == 0);
    int idle = connect_to(c.port);
    rlx_os_sleep((uint64_t)round * 30 * 1000 * 1000);
    rlx_server_stop(s);
    pthread_join(thread, NULL);
    if (idle >= 0) close(idle);
  }
  CHECK(rlx_mem_live() == live);
}
