/* rlx: one program, one file per command, built from the public header alone.
 *
 * This file finds the command and minds the process. An interrupt ends it at once with 130, which is safe because
 * nothing is half done outside memory, except while files are written: then it waits. A pipe that nobody reads, a full
 * disk or a closed standard output are failed writes, and told as such at the end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
  {"plan", "plan FILE [options] | plan --csv FILE [--capacity N]", "what runs where and how much memory it takes",
   "rlx plan model.rlx --dim B=8 --svg plan.svg", cli_plan},
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
  {"check", "check FILE...", "read all of a weight file and say what is wrong with it", "rlx check model.gguf",
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

static void on_interrupt(int number) { _exit(128 + number); }

static volatile sig_atomic_t interrupts;

static void on_noted(int number) {
  if (interrupts++) _exit(128 + number);
}

void cli_note_interrupts(void) {
  struct sigaction old, note = {.sa_handler = on_noted};
  if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(SIGINT, &note, NULL);
}

bool cli_interrupted(void) { return interrupts != 0; }

static void set_signals(void) {
  struct sigaction old, end = {.sa_handler = on_interrupt}, ignore = {.sa_handler = SIG_IGN};
  /* Who started us may have asked not to be interrupted (nohup, a shell's background job). */
  if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(SIGINT, &end, NULL);
  sigaction(SIGPIPE, &ignore, NULL);
}

static sigset_t ending_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

void cli_hold_interrupts(void) {
  sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, NULL);
}

void cli_release_interrupts(void) {
  sigset_t set = ending_signals();
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool cli_is_interrupted(void *user) {
  sigset_t set;
  (void)user;
  return sigpending(&set) == 0 &&
         (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP));
}

double cli_seconds(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A descriptor that is closed would be given to the next file we open, and what we print would land in it. The place is
 * taken by one that refuses our use of it, so that it still counts as closed. */
static void fill_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

/* Printing is checked once, here: the stream remembers that a write failed, but not why, so it is tried once more. */
static int close_output(int code) {
  bool failed_before = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !failed_before) return code;
  if (!errno && putchar('\n') == '\n') fflush(stdout);
  const char *why = errno ? strerror(errno) : "a write failed";
  int told = cli_fail("cannot write standard output: %s", why);
  return code == CLI_DONE ? told : code;
}

/* ---- The commands -------------------------------------------------------------------------------------------- */

static void print_help(FILE *to) {
  fprintf(to, "rlx %s: an ML compiler and runtime\n\nusage: rlx COMMAND [ARGS]\n\n", rlx_version());
  for (size_t i = 0; i < N_COMMANDS; i++) fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].doc);
  fprintf(to, "\n'rlx COMMAND --help' tells more. Example: %s\n", commands[0].example);
}

static const cli_command *find_command(const char *name) {
  for (size_t i = 0; i < N_COMMANDS; i++)
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
  return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
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
  if (is_one_of(argv[1], "-V", "--version")) {
    printf("rlx %s\n", rlx_version());
    return CLI_DONE;
  }
  const cli_command *command = find_command(argv[1]);
  if (command) return command->run(command, argc - 1, argv + 1);
  cli_fail("there is no command '%.100s'; 'rlx --help' lists them", argv[1]);
  return CLI_USAGE;
}

int main(int argc, char **argv) {
  fill_standard_descriptors();
  set_signals();
  return close_output(run_command(argc, argv));
}
