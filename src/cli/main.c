/* rlx: the command line program, one file per command, built on the public headers alone.
 *
 * This file selects the command and handles signals and standard streams. An interrupt ends the process at once with
 * 130 (SIGTERM: 143, SIGHUP: 129). That is safe because nothing outside memory is half done, except while files are
 * written: then it is deferred. A closed pipe, a full disk, a file size limit and a closed standard output are
 * reported as failed writes. */
#define _DEFAULT_SOURCE /* for setitimer */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const cli_command commands[] = {
  {"ops", "ops [NAME...]", "the op table, or some ops in detail", "rlx ops softmax", cli_ops},
  {"graph", "graph FILE... [options]", "verify a graph, print it, show what passes make of it",
   "rlx graph model.rlx --pass all --report", cli_graph},
  {"eval", "eval FILE [options]", "run a graph through the reference",
   "rlx eval model.rlx --input x=x.npy --out results", cli_eval},
  {"devices", "devices", "the devices there are, and why a backend has none", "rlx devices", cli_devices},
  {"plan", "plan FILE | plan MODEL [--context N] | plan --csv FILE [--capacity N]",
   "what runs where and how much memory it takes", "rlx plan model.rlx --dim B=8 --svg plan.svg", cli_plan},
  {"run", "run FILE [options]", "compile a graph for a device and run it",
   "rlx run model.rlx --input x=x.npy --out results", cli_run},
  {"compare", "compare FILE [options]", "a device against the reference, node by node",
   "rlx compare model.rlx --dim B=8 --random 1", cli_compare},
  {"conform", "conform [--op PATTERN]", "every conformance case on this device", "rlx conform --op 'softmax*'",
   cli_conform},
  {"bench", "bench FILE | bench ops [PATTERN]", "times and ratios, with their spread", "rlx bench ops 'matmul*' -r 20",
   cli_bench},
  {"trace", "trace FILE -o TRACE.json", "a run as Chrome trace, to open in Perfetto",
   "rlx trace model.rlx --dim B=8 -o trace.json", cli_trace},
  {"onnx-test", "onnx-test DIR... [--only PATTERN]", "folders of ONNX test data: models, inputs, what must come out",
   "rlx onnx-test tests/onnx", cli_onnx_test},
  {"info", "info FILE... [options]", "what is in an ONNX, GGUF, safetensors, model folder or text graph",
   "rlx info model.gguf", cli_info},
  {"check", "check FILE...", "read all of a weight file and report what is wrong with it", "rlx check model.gguf",
   cli_check_files},
#ifdef RLX_LM
  {"convert", "convert IN OUT [--type TYPE]", "between GGUF and safetensors, and to smaller types",
   "rlx convert model.gguf small.gguf --type q4_k", cli_convert},
  {"tokenize", "tokenize FILE [--ids] [--no-special] [--decode | --chat]",
   "standard input as tokens of a model's vocabulary", "printf 'Hello world' | rlx tokenize model.gguf --ids",
   cli_tokenize},
  {"generate", "generate MODEL -p TEXT [options]", "continue a text with a language model",
   "rlx generate model.gguf -p 'Once upon a time' -n 64", cli_generate},
  {"chat", "chat MODEL [options]", "talk with a language model", "rlx chat model.gguf", cli_chat},
  {"embed", "embed MODEL [TEXT...]", "texts as vectors of unit length", "rlx embed minilm --json 'a text'", cli_embed},
  {"perplexity", "perplexity MODEL FILE", "how well a model foresees a text", "rlx perplexity model.gguf text.txt",
   cli_perplexity},
  {"logits", "logits MODEL --tokens LIST --out FILE.npy", "the logits at all positions",
   "rlx logits model.gguf --tokens 1,2,3 --out logits.npy", cli_logits},
#endif
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* ---- The process --------------------------------------------------------------------------------------------- */

/* Flags instead of a signal mask: a mask applies to one thread, and a signal is delivered to any thread. */
static volatile sig_atomic_t n_holds, is_noting, last_signal, n_signals;

/* Whether the signals so far end the process now. The first Ctrl-C does not if the command records it. */
static bool is_over(void) { return n_holds == 0 && !(is_noting && last_signal == SIGINT && n_signals == 1); }

/* An expired time limit is a failure and reported as one; an interrupt is not. Both texts are formatted in advance
 * for the signal handler. */
static char time_message[160], time_document[320];

static void put(int fd, const char *text) {
  for (size_t n = strlen(text); n > 0;) {
    ssize_t done = write(fd, text, n);
    if (done <= 0) return;
    text += done;
    n -= (size_t)done;
  }
}

static _Noreturn void end_by(int number) {
  if (number != SIGALRM) _exit(128 + number);
  put(STDERR_FILENO, time_message);
  put(STDOUT_FILENO, time_document);
  _exit(CLI_FAILED);
}

static void on_signal(int number) {
  last_signal = number;
  n_signals++;
  if (is_over()) end_by(number);
}

static void catch_signal(int number, int flags) {
  struct sigaction old, new = {.sa_handler = on_signal, .sa_flags = flags};
  /* The parent may have set signals to be ignored (nohup, a background job of a shell). */
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &new, NULL);
}

static void set_signals(void) {
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  catch_signal(SIGINT, SA_RESTART);
  catch_signal(SIGTERM, SA_RESTART);
  catch_signal(SIGHUP, SA_RESTART);
  sigaction(SIGPIPE, &ignore, NULL);
  sigaction(SIGXFSZ, &ignore, NULL);
}

void cli_set_time_limit(double seconds, bool json) {
  snprintf(time_message, sizeof time_message, "rlx: the time limit of %g s is over\n", seconds);
  if (json)
    snprintf(
      time_document, sizeof time_document,
      "{\"error\":{\"status\":\"over a limit\",\"message\":\"the time limit of %g s is over\",\"messages\":[\"the time "
      "limit of %g s is over\"]}}\n",
      seconds, seconds);
  catch_signal(SIGALRM, SA_RESTART);
  struct itimerval after = {.it_value = {.tv_sec = (time_t)seconds}};
  after.it_value.tv_usec = (suseconds_t)((seconds - (double)after.it_value.tv_sec) * 1e6);
  if (!after.it_value.tv_sec && !after.it_value.tv_usec) after.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &after, NULL);
}

void cli_note_interrupts(void) {
  is_noting = 1;
  catch_signal(SIGINT, 0); /* no SA_RESTART: interrupts a pending read */
}

bool cli_interrupted(void) { return n_signals != 0; }

bool cli_is_interrupted(void *user) {
  (void)user;
  return n_signals != 0;
}

void cli_hold_interrupts(void) { n_holds++; }

void cli_release_interrupts(void) {
  n_holds--;
  if (n_signals && is_over()) end_by((int)last_signal);
}

double cli_seconds(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A closed standard descriptor would be reused by the next open, and output would go into that file. It is filled
 * with one opened for the wrong direction, so uses of it still fail. */
static void fill_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

/* Output errors are checked once, here. The stream records that a write failed but not why, so one more write is
 * tried. */
static int close_output(int code) {
  bool failed_before = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !failed_before) return code;
  if (!errno && putchar('\n') == '\n') fflush(stdout);
  const char *why = errno ? strerror(errno) : "a write failed";
  int reported = cli_fail("cannot write standard output: %s", why);
  return code == CLI_DONE ? reported : code;
}

/* ---- The commands -------------------------------------------------------------------------------------------- */

static void print_help(FILE *to) {
  fprintf(to, "rlx %s: an ML compiler and runtime\n\nusage: rlx COMMAND [ARGS]\n\n", rlx_version());
  for (size_t i = 0; i < N_COMMANDS; i++) fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].doc);
  fprintf(to, "\n'rlx help COMMAND' prints more. Example: %s\n", commands[0].example);
}

static const cli_command *find_command(const char *name) {
  for (size_t i = 0; i < N_COMMANDS; i++)
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
  return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int report_unknown(const char *name) {
  char guess[80];
  cli_guess g = {.word = name};
  for (size_t i = 0; i < N_COMMANDS; i++) cli_guess_try(&g, commands[i].name, strlen(commands[i].name));
  cli_guess_text(&g, guess, sizeof guess);
  cli_fail("there is no command '%.100s'%s; 'rlx --help' lists them", name, guess);
  return CLI_USAGE;
}

/* rlx help, rlx help COMMAND */
static int run_help(int argc, char **argv) {
  if (argc > 3) {
    cli_fail("help takes one command, got %d; 'rlx help' lists them", argc - 2);
    return CLI_USAGE;
  }
  const cli_command *command = argc == 3 ? find_command(argv[2]) : NULL;
  if (command) {
    char flag[] = "--help", *words[] = {argv[2], flag, NULL};
    return command->run(command, 2, words);
  }
  if (argc == 3 && !is_one_of(argv[2], "-h", "--help")) return report_unknown(argv[2]);
  print_help(stdout);
  return CLI_DONE;
}

static int run_command(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return CLI_USAGE;
  }
  if (is_one_of(argv[1], "-h", "--help")) {
    print_help(stdout);
    return CLI_DONE;
  }
  if (strcmp(argv[1], "help") == 0) return run_help(argc, argv);
  if (is_one_of(argv[1], "-V", "--version")) {
    printf("rlx %s\n", rlx_version());
    return CLI_DONE;
  }
  const cli_command *command = find_command(argv[1]);
  return command ? command->run(command, argc - 1, argv + 1) : report_unknown(argv[1]);
}

int main(int argc, char **argv) {
  fill_standard_descriptors();
  set_signals();
  int code = run_command(argc, argv);
  cli_json_finish(code);
  return close_output(code);
}
