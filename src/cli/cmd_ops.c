/* rlx ops: prints the op table as a list, single ops in detail, or JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *mode_word(rlx_op_table_input_mode mode) {
  return mode == RLX_INPUT_REQUIRED ? "required" : mode == RLX_INPUT_OPTIONAL ? "optional" : "any number";
}

static void json_attribute(const rlx_op_table_attribute *a) {
  printf("{\"name\":\"%s\",\"kind\":\"%s\",\"default\":", a->name, a->kind);
  cli_print_quoted(a->fallback);
  if (a->names[0]) {
    fputs(",\"names\":", stdout);
    cli_print_words(a->names);
  }
  fputs(",\"doc\":", stdout);
  cli_print_quoted(a->doc);
  putchar('}');
}

static void json_op(uint32_t index, const rlx_op_table_info *op) {
  printf("{\"name\":\"%s\",\"arity\":{\"min\":%u,\"max\":", op->name, (unsigned)op->min_inputs);
  if (op->max_inputs == UINT32_MAX) fputs("null", stdout);
  else printf("%u", (unsigned)op->max_inputs);
  fputs("},\"inputs\":[", stdout);
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    rlx_op_table_input in = {RLX_OP_TABLE_INPUT_INIT};
    if (rlx_op_table_input_at(index, i, &in)) break;
    printf("%s{\"name\":\"%s\",\"type\":\"%s\",\"mode\":\"%s\"}", i ? "," : "", in.name, in.type, mode_word(in.mode));
  }
  fputs("],\"attributes\":[", stdout);
  for (uint32_t i = 0; i < op->n_attributes; i++) {
    rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT};
    if (rlx_op_table_attribute_at(index, i, &a)) break;
    if (i) putchar(',');
    json_attribute(&a);
  }
  fputs("],\"types\":", stdout);
  cli_print_words(op->types);
  printf(",\"result\":\"%s\",\"traits\":", op->result);
  cli_print_words(op->traits);
  fputs(",\"doc\":", stdout);
  cli_print_quoted(op->doc);
  putchar('}');
}

static void show_op(uint32_t index, const rlx_op_table_info *op) {
  printf("%s: %s\n", op->name, op->doc);
  if (op->types[0]) printf("\n  T is one of: %s\n", op->types);
  if (op->n_inputs) puts("\n  inputs");
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    rlx_op_table_input in = {RLX_OP_TABLE_INPUT_INIT};
    if (!rlx_op_table_input_at(index, i, &in)) printf("    %-14s %-6s %s\n", in.name, in.type, mode_word(in.mode));
  }
  if (op->n_attributes) puts("\n  attributes");
  for (uint32_t i = 0; i < op->n_attributes; i++) {
    rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT};
    if (rlx_op_table_attribute_at(index, i, &a)) break;
    printf("    %-14s %-6s %s", a.name, a.kind, a.doc);
    if (a.names[0]) printf(" (%s)", a.names);
    if (a.fallback[0]) printf(" [%s]", a.fallback);
    putchar('\n');
  }
  printf("\n  result         %s\n", op->result);
  if (op->traits[0]) printf("  traits         %s\n", op->traits);
}

static int show(const cli_common *common, const uint32_t *ops, size_t n, bool in_detail) {
  if (common->json) {
    cli_json_begin();
    fputs("{\"ops\":[", stdout);
  }
  for (size_t i = 0; i < n; i++) {
    rlx_op_table_info op = {RLX_OP_TABLE_INFO_INIT};
    if (cli_check(rlx_op_table_describe(ops[i], &op), NULL, NULL)) return CLI_FAILED;
    if (common->json) {
      fputs(i ? ",\n" : "\n", stdout);
      json_op(ops[i], &op);
    } else if (common->quiet) {
      puts(op.name);
    } else if (in_detail) {
      if (i) putchar('\n');
      show_op(ops[i], &op);
    } else {
      printf("%-24s %s\n", op.name, op.doc);
    }
  }
  if (common->json) {
    fputs("\n]", stdout);
    cli_json_end();
  }
  return CLI_DONE;
}

static int report_unknown(const char *name) {
  char guess[80];
  cli_guess g = {.word = name};
  rlx_op_table_info op = {RLX_OP_TABLE_INFO_INIT};
  for (uint32_t i = 0; i < rlx_op_table_size(); i++)
    if (!rlx_op_table_describe(i, &op)) cli_guess_try(&g, op.name, strlen(op.name));
  cli_guess_text(&g, guess, sizeof guess);
  return cli_fail("there is no op '%.100s'%s; 'rlx ops' lists them", name, guess);
}

/* Finds the named ops, or all; reports every unknown name. */
static int find_ops(const cli_list *words, uint32_t *ops, size_t *n) {
  int code = CLI_DONE;
  for (*n = 0; !words->n && *n < rlx_op_table_size(); (*n)++) ops[*n] = (uint32_t)*n;
  for (size_t i = 0; i < words->n; i++) {
    ops[*n] = rlx_op_table_find(words->v[i].value);
    if (ops[*n] < rlx_op_table_size()) (*n)++;
    else code = report_unknown(words->v[i].value);
  }
  return code;
}

int cli_ops(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  int code;
  if (cli_parse(self, argc, argv, NULL, 0, &common, &words, &code)) {
    size_t n = 0;
    uint32_t *ops = calloc(words.n ? words.n : rlx_op_table_size(), sizeof *ops);
    code = ops ? find_ops(&words, ops, &n) : cli_fail("out of memory");
    if (!code) code = show(&common, ops, n, words.n > 0);
    free(ops);
  }
  cli_list_deinit(&words);
  return code;
}
