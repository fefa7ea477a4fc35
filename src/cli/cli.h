/* What the commands share: options, messages, printing, loading.
 *
 * A command declares its options as a table; cli_parse fills their targets, answers --help from the same table, and
 * tells wrong usage. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Standard output carries the result
 * and nothing else; everything that is said about it goes to standard error. */
#ifndef RLX_CLI_CLI_H
#define RLX_CLI_CLI_H

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

/* The target is a bool, a const char *, a cli_list of NAME=VALUE with no name twice, an int64_t. */
typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_PAIRS, CLI_NUMBER } cli_kind;

typedef struct cli_option {
  const char *name;  /* "--pass" */
  const char *value; /* "LIST" in the help; NULL for a flag */
  const char *doc;
  cli_kind kind;
  void *target;
  int64_t least, most; /* of a number; of the VALUEs of pairs, where most is not 0 */
} cli_option;

/* What every command takes. */
typedef struct cli_common {
  bool json, quiet, verbose;
  int64_t threads;
  const char *device;
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
bool cli_to_number(const char *text, int64_t least, int64_t most, int64_t *out);

/* ---- Messages and printing: print.c ---- */

#if defined(__GNUC__)
#define CLI_PRINTF(fmt_at) __attribute__((format(printf, fmt_at, fmt_at + 1)))
#else
#define CLI_PRINTF(fmt_at)
#endif
/* One line on stderr: "rlx: what", and for wrong usage where the help is. They return CLI_FAILED and CLI_USAGE. */
int cli_fail(const char *fmt, ...) CLI_PRINTF(1);
int cli_wrong(const cli_command *command, const char *fmt, ...) CLI_PRINTF(2);

/* CLI_DONE, or the failure told with the library's words: "where 'name': words"; both may be NULL. */
int cli_check(rlx_status s, const char *where, const char *name);

/* On stdout: a quoted string of JSON (which Graphviz reads too); text with '?' for control characters; the words of a
 * blank-separated list as a list of strings. */
void cli_print_quoted(const char *text);
void cli_print_plain(const char *text);
void cli_print_words(const char *words);
void cli_print_sizes(rlx_dims shape);
void cli_print_type(const rlx_graph *g, rlx_node n); /* f32[B,3] */
void cli_json_type(const rlx_graph *g, rlx_node n);  /* "dtype":"f32","shape":["B",3] */
/* The first `most` elements, separated; in JSON what is not finite is a string. */
rlx_status cli_print_values(const rlx_tensor *t, size_t most, bool json);

/* ---- Loading: load.c ---- */

/* The graph of a file, or of standard input where the path is "-". Failures are told. */
int cli_load_graph(const char *path, rlx_graph **out);
/* Gives symbols their sizes: from --dim, and where values are given, from the shapes of the leaves that have one (by
 * node, NULL data: none). *g is replaced, and has no symbols on success. Failures are told, with `path`. */
int cli_bind(const char *path, const cli_list *dims, const rlx_tensor *values, rlx_graph **g);

/* ---- The process: main.c ---- */

/* Between these an interrupt waits: files are being written. At all other times it ends the process at once, with
 * nothing to clean up. */
void cli_hold_interrupts(void);
void cli_release_interrupts(void);

int cli_ops(const cli_command *self, int argc, char **argv);
int cli_graph(const cli_command *self, int argc, char **argv);
int cli_eval(const cli_command *self, int argc, char **argv);

#endif
