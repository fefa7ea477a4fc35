/* What the commands share: options, messages, printing, loading.
 *
 * A command declares its options as a table; cli_parse fills their targets, answers --help from the same table, and
 * tells wrong usage. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Standard output carries the result
 * and nothing else; everything that is said about it goes to standard error. */
#ifndef RLX_CLI_CLI_H
#define RLX_CLI_CLI_H

#include <stdio.h>

#include "rlx/onnx.h"
#include "rlx/rlx.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* ---- Options: options.c ---- */

/* A word, or NAME=VALUE split in two; a plain word has no name. The text is argv's. */
typedef struct cli_word {
  const char *name, *value;
} cli_word;
typedef struct cli_list {
  cli_word *v;
  size_t n;
} cli_list;

/* The target is a bool, a const char *, a cli_list of NAME=VALUE with no name twice, an int64_t, a double, a cli_list of texts, a
 * uint64_t ("512M", "2G", "1000000"). */
typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_PAIRS, CLI_NUMBER, CLI_REAL, CLI_TEXTS, CLI_BYTES } cli_kind;

typedef struct cli_option {
  const char *name;  /* "--pass", or "-p, --prompt" for one with two names */
  const char *value; /* "LIST" in the help; NULL for a flag */
  const char *doc;
  cli_kind kind;
  void *target;
  int64_t min, max; /* of a number; of the VALUEs of pairs, where most is not 0 */
} cli_option;

/* What every command takes. */
typedef struct cli_common {
  bool json, quiet, verbose;
  int64_t threads;
  const char *device;
  uint64_t memory;   /* bytes, or 0 */
  double time_limit; /* seconds, or 0 */
} cli_common;

typedef struct cli_command {
  const char *name;
  const char *usage;   /* "graph FILE... [options]" */
  const char *doc;     /* one line */
  const char *example; /* a line that works */
  int (*run)(const struct cli_command *self, int argc, char **argv);
} cli_command;

/* Parses argv[1..]; what is no option goes to `words`. True: go on. False: *exit_code is the answer, since help was
 * shown or wrong usage told. Either way the lists are the caller's, to be freed with cli_list_deinit. */
bool cli_parse(const cli_command *command, int argc, char **argv, const cli_option *options, size_t n,
               cli_common *common, cli_list *words, int *exit_code);
void cli_list_deinit(cli_list *list);
/* A whole text as a decimal number in least .. most. */
bool cli_to_number(const char *text, int64_t min, int64_t max, int64_t *out);

/* ---- Messages and printing: print.c ---- */

#if defined(__GNUC__)
#define CLI_PRINTF(fmt_at) __attribute__((format(printf, fmt_at, fmt_at + 1)))
#else
#define CLI_PRINTF(fmt_at)
#endif
/* One line on stderr: "rlx: what", and for wrong usage where the help is. They return CLI_FAILED and CLI_USAGE. */
int cli_fail(const char *fmt, ...) CLI_PRINTF(1);
int cli_wrong(const cli_command *command, const char *fmt, ...) CLI_PRINTF(2);

/* A file that only language models and weight files would read, in a program that was built without them. */
static inline int cli_without_lm(const char *path) {
  return cli_fail("%s: this rlx was built without language models", path);
}

/* ---- One JSON document, failures included: json.c ---- */

/* --json was given. From here on what is told is kept for the document. */
void cli_json_expect(void);
void cli_failure_add(const char *status, const char *message);
size_t cli_failures(void); /* told so far, with --json */
/* Around a document: after `begin` the command writes it from '{' on; `end` writes the last '}', and before it what has failed so
 * far. Everything that can fail comes before `end`. */
void cli_json_begin(void);
void cli_json_end(void);
void cli_json_error(size_t from); /* {"status":..,"message":..,"messages":[..]}: those from this number on */
/* The document of commands that take files, one or many: {"files":[..]}, an entry for each in their order. */
void cli_json_files_begin(void);
void cli_json_file_error(const char *path, size_t from); /* the entry of one that failed */
void cli_json_files_end(void);
void cli_json_finish(int code);           /* main's: the document of a failure, where there is none yet */
void cli_json_real(double v, int digits); /* a number, or a string where it is not finite */

/* ---- "did you mean": suggest.c ---- */

typedef struct cli_guess {
  const char *word; /* what was written */
  const char *name; /* the nearest so far, or NULL */
  size_t bytes, distance;
} cli_guess;
void cli_guess_try(cli_guess *g, const char *name, size_t bytes);
/* " (did you mean 'name'?)", or nothing. */
void cli_guess_text(const cli_guess *g, char *out, size_t cap);

/* CLI_DONE, or the failure told with the library's words: "where 'name': words"; both may be NULL. */
int cli_check(rlx_status s, const char *where, const char *name);

/* A line on stderr that is no failure: "rlx: what". */
void cli_note(const char *fmt, ...) CLI_PRINTF(1);

/* Text that comes from a file, a model or a caller, for people: what would steer a terminal (controls, directions, ends of lines) and bytes that
 * are no UTF-8 are written as \u001b and \xff. lines: but for line ends and tabs. */
void cli_put_plain(FILE *to, const char *text, bool lines);
void cli_put_plain_bytes(FILE *to, const char *text, size_t bytes, bool lines);

/* On stdout: a quoted string of JSON (which Graphviz reads too); text as cli_put_plain has it; the words of a
 * blank-separated list as a list of strings. */
void cli_print_quoted(const char *text);
void cli_print_quoted_bytes(const char *text, size_t bytes); /* with NULs inside and one behind */
void cli_print_plain(const char *text);
void cli_print_words(const char *words);
void cli_print_sizes(rlx_dims shape);
void cli_print_bytes(uint64_t bytes);                /* "1.50 MiB" */
void cli_print_type(const rlx_graph *g, rlx_node n); /* f32[B,3] */
void cli_json_type(const rlx_graph *g, rlx_node n);  /* "dtype":"f32","shape":["B",3] */
/* The first `max` elements, separated; in JSON what is not finite is a string. */
rlx_status cli_print_values(const rlx_tensor *t, size_t max, bool json);

/* ---- A bar that shows how far a long call is: bar.c ---- */

/* On standard error, where that is a terminal and less is not asked for; nothing otherwise. */
typedef struct cli_bar {
  bool is_shown, is_drawn;
  double begun, drawn; /* seconds */
} cli_bar;
void cli_bar_begin(cli_bar *b, const cli_common *common);
void cli_bar_draw(void *bar, const char *stage, uint64_t done, uint64_t total); /* as rlx_watch has it */
void cli_bar_end(cli_bar *b);                                                   /* wipes it off */

/* ---- Loading: load.c ---- */

/* The graph of a file, or of standard input where the path is "-". Failures are told. */
int cli_load_graph(const char *path, rlx_graph **out);
/* Gives symbols their sizes: from --dim, and where values are given, from the shapes of the leaves that have one (by
 * node, NULL data: none). *g is replaced, and has no symbols on success. Failures are told, with `path`. */
int cli_bind(const char *path, const cli_list *dims, const rlx_tensor *values, rlx_graph **g);

/* A file ("-": standard input) of at most so many bytes, which may be any, with a NUL behind them; its text, which holds no
 * NUL. To be freed with free. And a file written whole or not at all. */
int cli_read_bytes(const char *path, size_t max, char **text, size_t *bytes);
int cli_read_file(const char *path, char **text);
int cli_write_file(const char *path, const char *text, size_t bytes);
int cli_write_array(const char *path, const rlx_tensor *t); /* the same as .npy */
/* Begins the document that tells of such a file: {"file":..,"dtype":..,"shape":.. */
void cli_json_array(const char *path, const rlx_tensor *t);

/* ---- A bare placement problem: plan_csv.c ---- */

typedef struct cli_csv_options {
  const char *path, *out;
  int64_t capacity, budget; /* 0: none, the default */
  bool no_search;
} cli_csv_options;
int cli_plan_csv(const cli_common *common, const cli_csv_options *options);

/* ---- A graph with values for its leaves: model.c ---- */

typedef struct cli_model_options {
  cli_list inputs, dims;
  int64_t seed; /* of random values for what is not given; -1: all must be given */
} cli_model_options;
#define CLI_MODEL_OPTIONS(o)                                                                                            \
  {"--input", "NAME=FILE.npy", "the value of an input, param or state; repeat for each", CLI_PAIRS, &(o).inputs, 0, 0}, \
    {"--dim", "NAME=SIZE", "give a symbol its size (else the inputs do)", CLI_PAIRS, &(o).dims, 0, INT64_MAX}, {        \
    "--random", "SEED", "random values for what is not given", CLI_NUMBER, &(o).seed, 0, INT64_MAX                      \
  }
void cli_model_options_deinit(cli_model_options *o);

/* An ONNX model and its inputs: onnx_model.c. */
typedef struct cli_onnx {
  const char *path;
  rlx_onnx *model;
  rlx_named_tensor *given; /* read from files, or drawn */
  size_t n_given, n_read;  /* the first n_read are from files */
  rlx_binding *bindings;
  size_t n_bindings;
} cli_onnx;
bool cli_is_onnx(const char *path); /* by its name */
/* shapes_only: inputs need no values where their sizes are known. Close it also where this failed. */
int cli_onnx_open(const char *path, const cli_model_options *options, bool shapes_only, cli_onnx *o);
void cli_onnx_close(cli_onnx *o);
/* Its graph for those inputs; where it is cut, that is told (unless common says to be quiet), and the graph ends there. */
int cli_onnx_graph(const cli_onnx *o, const cli_common *common, rlx_graph **out);
/* The graph of a text file, or of an ONNX model for inputs whose sizes (or, where they decide, values) are given. */
int cli_load_any(const char *path, const cli_model_options *options, const cli_common *common, rlx_graph **out);

typedef struct cli_model {
  const cli_model_options *options;
  const char *path;
  rlx_graph *graph;
  rlx_tensor *values;    /* by number of a node of graph; NULL data where there is none */
  bool *encoded;         /* by node: the value is blocks made here */
  rlx_evaluator *random; /* owns the values that are random */
  cli_onnx *onnx;        /* where it came from; owns the values of inputs; NULL: a text graph */
} cli_model;
/* Reads the graph and the arrays; then gives sizes and what is random. Either failing, the model is still to be
 * deinitialised. Failures are told. */
int cli_model_load(const char *path, const cli_model_options *options, cli_model *m);
int cli_model_take(const char *path, rlx_graph *g, const cli_model_options *options, cli_model *m); /* g is taken */
int cli_model_load_onnx(const char *path, const cli_model_options *options, cli_model *m);
int cli_model_load_weights(cli_model *m); /* of ONNX, as values of its params */
int cli_model_bind(cli_model *m);
/* Random elements that equal seeds and numbers give again. free(out->data). */
rlx_status cli_random_tensor(rlx_dtype dtype, rlx_dims shape, int64_t seed, uint32_t number, rlx_tensor *out);
void cli_model_deinit(cli_model *m);
uint32_t cli_leaf_number(const rlx_graph *g, const char *name); /* 0: there is none */

/* ---- Where files are to be written, judged before the work: target.c ---- */

/* What the command reads, and must not write over: the model, and the VALUEs of --input. Both may be NULL. */
typedef struct cli_reads {
  const char *path;
  const cli_list *inputs;
} cli_reads;
/* Whether there is such a folder, or it can be made. */
int cli_folder_check(const char *option, const char *folder);
/* Whether a file can be written there, whole; may_be_special: or straight into a pipe or device that has the name. */
int cli_target_check(const char *option, const char *path, const cli_reads *reads, bool may_be_special);
/* The same where the folder is known to be good. */
int cli_target_check_file(const char *where, const char *path, const cli_reads *reads, bool may_be_special);

/* ---- Results: outputs.c ---- */

typedef struct cli_results {
  const cli_common *common;
  const rlx_graph *graph; /* names its outputs */
  const char *folder;     /* NULL: print the values */
  rlx_status (*get)(void *user, const char *name, rlx_tensor *view);
  void *user;
  double seconds;
} cli_results;
/* Whether the folder (or NULL) can take the outputs, none of which is a file that is read; asked before the run. */
int cli_results_check(const char *folder, const rlx_graph *g, const cli_reads *reads);
int cli_results_write(const cli_results *r);

/* ---- A graph on a device: engine.c ---- */

typedef struct cli_engine_options {
  const char *without;
  bool exact, fast_conv, no_host;
} cli_engine_options;
/* clang-format off */
#define CLI_ENGINE_OPTIONS(o)                                                                              \
  {"--without", "LIST", "passes to leave out", CLI_TEXT, &(o).without, 0, 0},                              \
  {"--exact", NULL, "block-type weights: keep activations f32", CLI_FLAG, &(o).exact, 0, 0},               \
  {"--fast-conv", NULL, "3x3 convolutions by tiles: more memory, less accurate", CLI_FLAG, &(o).fast_conv, 0, 0}, \
  {"--no-host", NULL, "fail if the device cannot run every node itself", CLI_FLAG, &(o).no_host, 0, 0}
/* clang-format on */

typedef struct cli_engine {
  rlx_session *session;
  rlx_weights *weights; /* of an ONNX model */
  rlx_executable *executable;
  void *buffers; /* of cli_engine_get */
} cli_engine;
/* What a command that runs one model is given, and what it does with it once that is compiled and has its values. */
typedef struct cli_task {
  const cli_command *self;
  cli_common common;
  cli_list words; /* the one file */
  cli_model_options model;
  cli_engine_options engine;
  bool (*check)(const struct cli_task *t, int *exit_code);     /* of the options; may be NULL */
  int (*before)(const struct cli_task *t, const cli_model *m); /* the device is opened; may be NULL */
  int (*run)(const struct cli_task *t, const cli_model *m, cli_engine *e);
} cli_task;
/* Parses the options, which are those above and the `n` of the command, and runs the task. */
int cli_task_run(cli_task *t, const cli_option *own, size_t n, int argc, char **argv);

/* A session on the device; then the model compiled on it and all its values written. Failures are told. */
int cli_session_open(const cli_common *common, const char *device, uint32_t threads, rlx_session **out);
int cli_engine_open(const cli_common *common, const cli_engine_options *options, const cli_model *m, cli_engine *e);
void cli_engine_close(cli_engine *e);
/* An output of the last run; the view lives until the next call. */
rlx_status cli_engine_get(void *engine, const char *name, rlx_tensor *view);

/* ---- What to compare, and samples of it: bench_settings.c ---- */

enum { CLI_MAX_SETTINGS = 32 };
typedef struct cli_setting { /* one device ("": the best) with one number of threads (0: all) */
  char device[128];
  uint32_t threads;
} cli_setting;
typedef struct cli_settings {
  cli_setting v[CLI_MAX_SETTINGS];
  size_t n;
} cli_settings;
/* --device a,b with each of -t 1,2. */
int cli_settings_list(const cli_command *self, const cli_common *common, const char *threads, cli_settings *out);
typedef struct cli_summary {
  double mean, spread, best; /* of seconds; the spread is the standard deviation */
} cli_summary;
cli_summary cli_summarise(const double *samples, size_t n);

/* ---- Weight files and language models: lm_info.c, lm_bench.c, lm_plan.c ---- */

int cli_file_info(const cli_common *common, const char *path, const char *key,
                  bool tensors); /* key: that alone, or NULL */

typedef struct cli_bench_lm_request {
  const cli_command *self;
  const cli_common *common;
  const char *path, *threads, *format;
  size_t repeats;
  int64_t prompt, tokens; /* pp, tg; 0: not measured */
  bool exact;
  size_t *n_printed; /* rows so far */
} cli_bench_lm_request;
int cli_bench_lm(const cli_bench_lm_request *r);
/* Told apart by name, so that a file that is neither is explained as a graph: GGUF, safetensors, an index, a folder. */
bool cli_is_weight_file(const char *path);

typedef struct cli_plan_lm_request {
  const cli_common *common;
  const char *path;
  int64_t context; /* 0: the default */
  bool exact;
  int (*show)(void *user, const rlx_executable *e);
  void *user;
} cli_plan_lm_request;
int cli_plan_lm(const cli_plan_lm_request *r); /* lm_plan.c */

/* The beginning of a row of the JSON, up to and with its '{'; of the first one also the document's: cmd_bench.c. */
void cli_bench_json_row(bool is_first);

/* ---- Graphs to measure: bench_ops.c ---- */

typedef struct cli_bench_op {
  const char *name;
  const char *text; /* the graph */
  double flops;     /* of one run; 0: what moves is what counts */
  double bytes;     /* that one run has to read and write at least */
} cli_bench_op;
extern const cli_bench_op cli_bench_ops[];
extern const size_t cli_bench_ops_count;

/* ---- ONNX: onnx_run.c, onnx_info.c ---- */

typedef struct cli_onnx_task {
  const cli_common *common;
  const char *path, *out;
  const cli_model_options *model;
  const cli_engine_options *engine;
} cli_onnx_task;
int cli_onnx_run(const cli_onnx_task *t);
int cli_onnx_info(const cli_common *common, const char *path, bool weights);
rlx_status cli_onnx_check(const char *path, rlx_found_fn found, void *user, uint32_t *n_weights, uint64_t *bytes);

/* ---- The process: main.c ---- */

double cli_seconds(void); /* a clock that never goes back */

/* Fails after so many seconds, wherever the process is then, unless files are being written. */
void cli_set_time_limit(double seconds, bool json);
/* What --memory allows, as a watch that does nothing else. */
const rlx_watch *cli_limited(void);

/* Between these an interrupt (SIGINT, SIGTERM, SIGHUP) waits: files are being written. At all other times it ends the process
 * at once, with nothing to clean up. */
void cli_hold_interrupts(void);
void cli_release_interrupts(void);
/* While they wait: whether one does. As rlx_watch has it. */
bool cli_is_interrupted(void *user);
/* From now on the first interrupt is only noted, so that what runs can end well; the second ends the process. */
void cli_note_interrupts(void);
bool cli_interrupted(void);

int cli_ops(const cli_command *self, int argc, char **argv);
int cli_graph(const cli_command *self, int argc, char **argv);
int cli_eval(const cli_command *self, int argc, char **argv);
int cli_devices(const cli_command *self, int argc, char **argv);
int cli_plan(const cli_command *self, int argc, char **argv);
int cli_run(const cli_command *self, int argc, char **argv);
int cli_compare(const cli_command *self, int argc, char **argv);
int cli_conform(const cli_command *self, int argc, char **argv);
int cli_bench(const cli_command *self, int argc, char **argv);
int cli_trace(const cli_command *self, int argc, char **argv);
int cli_onnx_test(const cli_command *self, int argc, char **argv);
int cli_info(const cli_command *self, int argc, char **argv);
int cli_check_files(const cli_command *self, int argc, char **argv);
#ifdef RLX_LM
int cli_tokenize(const cli_command *self, int argc, char **argv);
int cli_convert(const cli_command *self, int argc, char **argv);
int cli_generate(const cli_command *self, int argc, char **argv);
int cli_chat(const cli_command *self, int argc, char **argv);
int cli_embed(const cli_command *self, int argc, char **argv);
int cli_perplexity(const cli_command *self, int argc, char **argv);
int cli_logits(const cli_command *self, int argc, char **argv);
#endif

#endif
