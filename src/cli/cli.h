/* Shared by all commands: options, messages, printing, loading.
 *
 * A command declares its options as a table. cli_parse fills their targets, prints --help from the same table, and
 * reports wrong usage. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Standard output carries the
 * result and nothing else; messages go to standard error. */
#ifndef RLX_CLI_CLI_H
#define RLX_CLI_CLI_H

#include <stdio.h>

#include "rlx/onnx.h"
#include "rlx/rlx.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* ---- Options: options.c ---- */

/* A word, or NAME=VALUE split in two; a plain word has no name. The text belongs to argv. */
typedef struct cli_word {
  const char *name, *value;
} cli_word;
typedef struct cli_list {
  cli_word *v;
  size_t n;
} cli_list;

/* Type of the target, in order: bool; const char *; cli_list of NAME=VALUE with unique names; int64_t; double;
 * cli_list of texts; uint64_t ("512M", "2G", "1000000"); uint32_t that gets the bit `min`. */
typedef enum cli_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_PAIRS,
  CLI_NUMBER,
  CLI_REAL,
  CLI_TEXTS,
  CLI_BYTES,
  CLI_SWITCH
} cli_kind;

typedef struct cli_option {
  const char *name;  /* "--pass", or "-p, --prompt" for one with two names */
  const char *value; /* "LIST" in the help; NULL for a flag */
  const char *doc;
  cli_kind kind;
  void *target;
  int64_t min, max; /* range of a number; of the VALUEs of pairs if max is not 0 */
} cli_option;

/* Options of every command. */
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
  const char *example; /* a command line that works */
  int (*run)(const struct cli_command *self, int argc, char **argv);
} cli_command;

/* Parses argv[1..]; arguments that are not options go to `words`. False: help was shown or wrong usage was reported,
 * and *exit_code is set. In both cases the caller frees the lists with cli_list_deinit. */
bool cli_parse(const cli_command *command, int argc, char **argv, const cli_option *options, size_t n,
               cli_common *common, cli_list *words, int *exit_code);
void cli_list_deinit(cli_list *list);
/* Parses a whole text as a decimal number in min .. max. */
bool cli_to_number(const char *text, int64_t min, int64_t max, int64_t *out);
/* A real number; min or max may be infinite, NaN is refused. */
bool cli_to_real(const char *text, double min, double max, double *out);

/* ---- Messages and printing: print.c ---- */

#if defined(__MINGW32__) && !defined(__clang__) /* gcc's printf is the system's old one there */
#define CLI_PRINTF(fmt_at) __attribute__((format(gnu_printf, fmt_at, fmt_at + 1)))
#elif defined(__GNUC__)
#define CLI_PRINTF(fmt_at) __attribute__((format(printf, fmt_at, fmt_at + 1)))
#else
#define CLI_PRINTF(fmt_at)
#endif
/* Print one line on stderr: "rlx: what"; cli_wrong adds how to get help. They return CLI_FAILED and CLI_USAGE. */
int cli_fail(const char *fmt, ...) CLI_PRINTF(1);
int cli_wrong(const cli_command *command, const char *fmt, ...) CLI_PRINTF(2);

/* Fails for a file that needs language models in a build without them. */
static inline int cli_without_lm(const char *path) {
  return cli_fail("%s: this rlx was built without language models", path);
}

/* ---- One JSON document, failures included: json.c ---- */

/* --json was given: from here on failures are kept for the document. */
void cli_json_expect(void);
void cli_failure_add(const char *status, const char *message);
size_t cli_failures(void); /* number kept so far, with --json */
/* Begin and end of a document. After `begin` the command writes everything from '{' on; `end` writes the failures so
 * far and the last '}'. Everything that can fail must come before `end`. */
void cli_json_begin(void);
void cli_json_end(void);
void cli_json_error(size_t from); /* {"status":..,"message":..,"messages":[..]}: failures from index `from` on */
/* The document of commands that take one or more files: {"files":[..]}, one entry per file in order. */
void cli_json_files_begin(void);
void cli_json_file_error(const char *path, size_t from); /* the entry of a file that failed */
void cli_json_files_end(void);
void cli_json_finish(int code); /* called by main: writes the document of a failure if no document was begun */
void cli_json_real(double v, int digits); /* a number, or a string if it is non-finite */

/* ---- Names: suggest.c ---- */

/* Whether a pattern fits the whole text; * and ? stand for anything. */
bool cli_fits(const char *pattern, const char *text);

typedef struct cli_guess {
  const char *word; /* the unknown word */
  const char *name; /* the nearest name so far, or NULL */
  size_t bytes, distance;
} cli_guess;
void cli_guess_try(cli_guess *g, const char *name, size_t bytes);
/* Writes " (did you mean 'name'?)", or an empty text. */
void cli_guess_text(const cli_guess *g, char *out, size_t cap);

/* Returns CLI_DONE, or reports the failure with the message of the library: "where 'name': message". Both may be
 * NULL. */
int cli_check(rlx_status s, const char *where, const char *name);

/* Prints a line on stderr that is not a failure: "rlx: what". */
void cli_note(const char *fmt, ...) CLI_PRINTF(1);

/* Prints untrusted text (from a file, a model or a caller) for people. Characters that would control a terminal
 * (controls, direction marks, line ends) and bytes that are not UTF-8 are escaped as \u001b and \xff. lines: line
 * ends and tabs are kept. */
void cli_put_plain(FILE *to, const char *text, bool lines);
void cli_put_plain_bytes(FILE *to, const char *text, size_t bytes, bool lines);

/* On stdout: a quoted JSON string (which Graphviz also reads); text as by cli_put_plain; the words of a
 * blank-separated list as a list of strings. */
void cli_print_quoted(const char *text);
void cli_print_quoted_bytes(const char *text, size_t bytes); /* may contain NULs; terminated by one more */
void cli_print_plain(const char *text);
void cli_print_words(const char *words);
void cli_print_sizes(rlx_dims shape);
void cli_print_bytes(uint64_t bytes);                /* "1.50 MiB" */
void cli_print_type(const rlx_graph *g, rlx_node n); /* f32[B,3] */
void cli_json_type(const rlx_graph *g, rlx_node n);  /* "dtype":"f32","shape":["B",3] */
/* Prints the first `max` elements, separated; in JSON a non-finite value is a string. */
rlx_status cli_print_values(const rlx_tensor *t, size_t max, bool json);

/* ---- Progress bar: bar.c ---- */

/* Drawn on standard error if that is a terminal and --quiet is not set. */
typedef struct cli_bar {
  bool is_shown, is_drawn;
  double begun, drawn; /* seconds */
} cli_bar;
void cli_bar_begin(cli_bar *b, const cli_common *common);
void cli_bar_draw(void *bar, const char *stage, uint64_t done, uint64_t total); /* an rlx_watch progress callback */
void cli_bar_end(cli_bar *b);                                                   /* erases it */

/* ---- Loading: load.c ---- */

/* Loads a graph from a file, or from standard input if the path is "-". Reports failures. */
int cli_load_graph(const char *path, rlx_graph **out);
/* Binds symbolic sizes: from --dim, and from the shapes of given leaf values (by node; NULL data: no value).
 * Replaces *g; on success it has no symbols. Reports failures, with `path`. */
int cli_bind(const char *path, const cli_list *dims, const rlx_tensor *values, rlx_graph **g);

/* cli_read_bytes reads a file ("-": standard input) of at most `max` arbitrary bytes and appends a NUL;
 * cli_read_file reads a text, which must not contain NUL. Free the result with free. cli_write_file writes a whole
 * file or nothing. */
int cli_read_bytes(const char *path, size_t max, char **text, size_t *bytes);
int cli_read_file(const char *path, char **text);
int cli_write_file(const char *path, const char *text, size_t bytes);
int cli_write_array(const char *path, const rlx_tensor *t); /* the same for a .npy file */
/* Begins the document about such a file: {"file":..,"dtype":..,"shape":.. */
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
  int64_t seed; /* seed for values that are not given; -1: all must be given */
} cli_model_options;
/* clang-format off */
#define CLI_MODEL_OPTIONS(o) \
  {"--input", "NAME=FILE.npy", "the value of an input, param or state; repeat for each", CLI_PAIRS, &(o).inputs, \
   0, 0}, \
  {"--dim", "NAME=SIZE", "give a symbol its size (else the inputs do)", CLI_PAIRS, &(o).dims, 0, INT64_MAX}, \
  {"--random", "SEED", "random values for what is not given", CLI_NUMBER, &(o).seed, 0, INT64_MAX}
/* clang-format on */
void cli_model_options_deinit(cli_model_options *o);

/* An ONNX model and its inputs: onnx_model.c. */
typedef struct cli_onnx {
  const char *path;
  rlx_onnx *model;
  rlx_named_tensor *given; /* read from files, or random */
  size_t n_given, n_read;  /* the first n_read are from files */
  rlx_binding *bindings;
  size_t n_bindings;
} cli_onnx;
bool cli_is_onnx(const char *path); /* by its file name */
/* shapes_only: inputs with known sizes need no values. Call cli_onnx_close even after a failure. */
int cli_onnx_open(const char *path, const cli_model_options *options, bool shapes_only, cli_onnx *o);
void cli_onnx_close(cli_onnx *o);
/* The graph for these inputs. If later sizes depend on values, the graph ends there; this is reported unless common
 * is quiet. */
int cli_onnx_graph(const cli_onnx *o, const cli_common *common, rlx_graph **out);
/* Loads a text graph, or the graph of an ONNX model for inputs whose sizes (or values, if sizes depend on them) are
 * given. */
int cli_load_any(const char *path, const cli_model_options *options, const cli_common *common, rlx_graph **out);

typedef struct cli_model {
  const cli_model_options *options;
  const char *path;
  rlx_graph *graph;
  rlx_tensor *values;    /* by node number; NULL data: no value */
  bool *encoded;         /* by node: the value was block-encoded here */
  rlx_evaluator *random; /* owns the random values */
  cli_onnx *onnx;        /* source of the graph, owns the input values; NULL: a text graph */
} cli_model;
/* Reads the graph and the arrays; then binds sizes and makes random values. Call cli_model_deinit even after a
 * failure. Reports failures. */
int cli_model_load(const char *path, const cli_model_options *options, cli_model *m);
int cli_model_take(const char *path, rlx_graph *g, const cli_model_options *options,
                   cli_model *m); /* takes ownership of g */
int cli_model_load_onnx(const char *path, const cli_model_options *options, cli_model *m);
int cli_model_load_weights(cli_model *m); /* ONNX weights, as values of the params */
int cli_model_bind(cli_model *m);
/* Random elements, reproducible by seed and number. Free out->data with free. */
rlx_status cli_random_tensor(rlx_dtype dtype, rlx_dims shape, int64_t seed, uint32_t number, rlx_tensor *out);
void cli_model_deinit(cli_model *m);
uint32_t cli_leaf_number(const rlx_graph *g, const char *name); /* 0: none */

/* ---- Output paths, checked before the work: target.c ---- */

/* Files that the command reads and must not overwrite: the model, and the VALUEs of --input. Both may be NULL. */
typedef struct cli_reads {
  const char *path;
  const cli_list *inputs;
} cli_reads;
/* Checks that the folder exists or can be created. */
int cli_folder_check(const char *option, const char *folder);
/* Checks that a whole file can be written there. may_be_special: an existing pipe or device of that name is
 * accepted. */
int cli_target_check(const char *option, const char *path, const cli_reads *reads, bool may_be_special);
/* The same without checking the folder. */
int cli_target_check_file(const char *where, const char *path, const cli_reads *reads, bool may_be_special);

/* ---- Results: outputs.c ---- */

typedef struct cli_results {
  const cli_common *common;
  const rlx_graph *graph; /* has the names of the outputs */
  const char *folder;     /* NULL: print the values */
  rlx_status (*get)(void *user, const char *name, rlx_tensor *view);
  void *user;
  double seconds;
} cli_results;
/* Checks before the run that the folder (may be NULL) can hold the outputs and that none overwrites a file that is
 * read. */
int cli_results_check(const char *folder, const rlx_graph *g, const cli_reads *reads);
int cli_results_write(const cli_results *r);

/* ---- A graph on a device: engine.c ---- */

typedef struct cli_engine_options {
  const char *without;
  uint32_t switches; /* rlx_switch */
} cli_engine_options;
/* clang-format off */
/* The switches that the command offers, for options that have a field `switches`. */
#define CLI_SWITCH_OF(o, bit, name, doc) {name, NULL, doc, CLI_SWITCH, &(o).switches, RLX_SWITCH_##bit, 0}
#define CLI_SWITCH_EXACT(o) CLI_SWITCH_OF(o, EXACT, "--exact", "block-type weights: keep activations f32")
#define CLI_SWITCH_FAST_CONV(o) \
  CLI_SWITCH_OF(o, FAST_CONV, "--fast-conv", "3x3 convolutions by tiles: more memory, less accurate")
#define CLI_SWITCH_FAST_F16(o) \
  CLI_SWITCH_OF(o, FAST_F16, "--fast-f16", "f16 weights on matrix units: activations are rounded to f16")
#define CLI_SWITCH_NO_HOST(o) \
  CLI_SWITCH_OF(o, FORBID_HOST, "--no-host", "fail if the device cannot run every node itself")
#define CLI_SWITCHES_PLAN(o) \
  CLI_SWITCH_OF(o, NO_VIEWS, "--no-views", "copy instead"), \
  CLI_SWITCH_OF(o, NO_IN_PLACE, "--no-in-place", "no result takes over an input"), \
  CLI_SWITCH_OF(o, NO_REORDER, "--no-reorder", "keep the graph's own order"), \
  CLI_SWITCH_OF(o, NO_SEARCH, "--no-search", "greedy placement only (with --csv too)")
#define CLI_ENGINE_OPTIONS(o)                                                 \
  {"--without", "LIST", "passes to leave out", CLI_TEXT, &(o).without, 0, 0}, \
  CLI_SWITCH_EXACT(o), CLI_SWITCH_FAST_CONV(o), CLI_SWITCH_FAST_F16(o), CLI_SWITCH_NO_HOST(o)
/* clang-format on */

typedef struct cli_engine {
  rlx_session *session;
  rlx_weights *weights; /* weights of an ONNX model */
  rlx_executable *executable;
  void *buffers; /* owned by cli_engine_get */
} cli_engine;
/* A command that runs one model: its options, and callbacks once the model is compiled and has its values. */
typedef struct cli_task {
  const cli_command *self;
  cli_common common;
  cli_list words; /* the one file */
  cli_model_options model;
  cli_engine_options engine;
  bool (*check)(const struct cli_task *t, int *exit_code);     /* checks the options; may be NULL */
  int (*before)(const struct cli_task *t, const cli_model *m); /* called before the device is opened; may be NULL */
  int (*run)(const struct cli_task *t, const cli_model *m, cli_engine *e);
} cli_task;
/* Parses the shared options and the `n` of the command, and runs the task. */
int cli_task_run(cli_task *t, const cli_option *own, size_t n, int argc, char **argv);

/* Opens a session on the device; compiles the model and writes all its values. Both report failures. */
int cli_session_open(const cli_common *common, const char *device, uint32_t threads, rlx_session **out);
int cli_engine_open(const cli_common *common, const cli_engine_options *options, const cli_model *m, cli_engine *e);
void cli_engine_close(cli_engine *e);
/* An output of the last run; the view is valid until the next call. */
rlx_status cli_engine_get(void *engine, const char *name, rlx_tensor *view);

/* ---- Benchmark settings and statistics: bench_settings.c ---- */

enum { CLI_MAX_SETTINGS = 32 };
typedef struct cli_setting { /* one device ("": the best) with one number of threads (0: all) */
  char device[128];
  uint32_t threads;
} cli_setting;
typedef struct cli_settings {
  cli_setting v[CLI_MAX_SETTINGS];
  size_t n;
} cli_settings;
/* All combinations of --device a,b and -t 1,2. */
int cli_settings_list(const cli_command *self, const cli_common *common, const char *threads, cli_settings *out);
typedef struct cli_summary {
  double mean, spread, best; /* in seconds; spread: standard deviation */
} cli_summary;
cli_summary cli_summarise(const double *samples, size_t n);

/* ---- Weight files and language models: lm_info.c, lm_bench.c, lm_plan.c ---- */

int cli_file_info(const cli_common *common, const char *path, const char *key,
                  bool tensors); /* key: print only that; may be NULL */

typedef struct cli_bench_lm_request {
  const cli_command *self;
  const cli_common *common;
  const char *path, *threads, *format;
  size_t repeats;
  int64_t prompt, tokens;   /* pp, tg; 0: not measured */
  int64_t depth, sequences; /* tokens that the context holds before; sequences computed together */
  uint32_t switches;        /* rlx_switch */
  size_t *n_printed;        /* rows printed so far */
} cli_bench_lm_request;
int cli_bench_lm(const cli_bench_lm_request *r);
/* Decided by the file name: GGUF, safetensors, an index, a folder. Everything else is treated as a graph. */
bool cli_is_weight_file(const char *path);

typedef struct cli_plan_lm_request {
  const cli_common *common;
  const char *path;
  int64_t context;   /* 0: the default */
  uint32_t switches; /* rlx_switch */
  int (*show)(void *user, const rlx_executable *e);
  void *user;
} cli_plan_lm_request;
int cli_plan_lm(const cli_plan_lm_request *r); /* lm_plan.c */

/* Writes the beginning of a JSON row up to '{'; for the first one also that of the document: cmd_bench.c. */
void cli_bench_json_row(bool is_first);

/* ---- Graphs to measure: bench_ops.c ---- */

typedef struct cli_bench_op {
  const char *name;
  const char *text; /* the graph */
  double flops;     /* per run; 0: memory-bound, bytes are reported */
  double bytes;     /* per run: min bytes to read and write */
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

/* ---- The system: process_*.c, one set of them for each system ----
 *
 * Paths and words are UTF-8. On failure errno has the reason. */

double cli_seconds(void);     /* a monotonic clock */
uint64_t cli_noise(void);     /* differs between processes and times */
bool cli_is_terminal(int fd); /* 0, 1 or 2 */

typedef struct cli_stat {
  bool is_regular, is_folder;
  uint64_t device, inode; /* the file's identity */
} cli_stat;
bool cli_look(const char *path, cli_stat *out); /* false: it is not there, or cannot be looked at */
bool cli_may_write(const char *folder);         /* whether files can be created in it */
bool cli_make_folder(const char *path);         /* EEXIST: something of this name is there */
void cli_remove_folder(const char *path);       /* if it is empty */
/* The names in a folder but those that begin with a point, in some order. Free each, and the list. NULL with *n 0: it
 * cannot be listed. */
char **cli_list_folder(const char *path, size_t *n);
/* For reading, which never waits for a writer, or for writing what exists. They return -1 on failure, and repeat what a
 * signal interrupts. */
int cli_open(const char *path, bool to_write);
bool cli_open_is_regular(int fd);
ptrdiff_t cli_read(int fd, void *to, size_t bytes);
ptrdiff_t cli_write(int fd, const void *data, size_t bytes);
bool cli_close(int fd);
bool cli_is_separator(char c); /* of the parts of a path */
/* The character in a file's name: '_' for one that cannot be in it. */
char cli_in_name(char c);

/* ---- The process: the same files ---- */

/* For main, at the start: the words of the command line, and standard streams that carry bytes as they are. */
void cli_begin(int *argc, char ***argv);

/* Runs another program, found as a shell finds it, in place of this one: words[0] and its words, NULL at their end.
 * Returns on failure only; ENOSYS: the system has no such thing. */
void cli_become(const char *const *words);

/* Ends the process with a failure after so many seconds, but not while files are written. */
void cli_set_time_limit(double seconds, bool json);
/* The limit of --memory, as an rlx_watch without callbacks. */
const rlx_watch *cli_limited(void);

/* Between these, interrupts (SIGINT, SIGTERM, SIGHUP) are deferred because files are being written. At all other
 * times an interrupt ends the process at once, with nothing to clean up. */
/* For main, at the start. A closed standard descriptor is filled, so that no file gets its number. */
void cli_fill_standard_descriptors(void);
void cli_set_signals(void);
void cli_hold_interrupts(void);
void cli_release_interrupts(void);
/* Whether an interrupt is deferred. An rlx_watch cancel callback. */
bool cli_is_interrupted(void *user);
/* From now on the first interrupt is only recorded, so that the command can finish cleanly; the second ends the
 * process. */
void cli_note_interrupts(void);
bool cli_interrupted(void);
void cli_wait_for_interrupt(void); /* after cli_note_interrupts */
void cli_forget_interrupts(void);  /* the next one is the first again */
/* Between these no other thread writes to standard error, so that lines stay whole. */
void cli_hold_messages(void);
void cli_release_messages(void);

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
int cli_pull(const cli_command *self, int argc, char **argv);
int cli_embed(const cli_command *self, int argc, char **argv);
int cli_rerank(const cli_command *self, int argc, char **argv);
int cli_perplexity(const cli_command *self, int argc, char **argv);
int cli_logits(const cli_command *self, int argc, char **argv);
int cli_imatrix(const cli_command *self, int argc, char **argv);
#endif
#ifdef RLX_SERVE
int cli_serve(const cli_command *self, int argc, char **argv);
#endif

#endif
