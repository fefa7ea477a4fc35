/* rlx info and rlx check on ONNX models: declared inputs and outputs, the ops used, and whether RLX supports them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- People -------------------------------------------------------------------------------------------------- */

/* Prints a shape: [batch, 3, ?]. */
static void print_shape(const rlx_onnx_value *v) {
  if (v->rank < 0) {
    fputs(" of any shape", stdout);
    return;
  }
  putchar('[');
  for (int i = 0; i < v->rank; i++) {
    if (i) fputs(", ", stdout);
    if (v->dim[i].symbol) cli_print_plain(v->dim[i].symbol);
    else if (v->dim[i].size >= 0) printf("%" PRId64, v->dim[i].size);
    else putchar('?');
  }
  putchar(']');
}

static void print_declared(const char *kind, const rlx_onnx_value *v) {
  printf("  %-6s ", kind);
  cli_print_plain(v->name);
  printf(": %s", v->type);
  print_shape(v);
  if (v->has_default) fputs(" (has a default)", stdout);
  putchar('\n');
}

static void print_values(const rlx_onnx *m) {
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  for (uint32_t i = 0; i < rlx_onnx_input_count(m); i++)
    if (!rlx_onnx_input_at(m, i, &v) && !v.has_default) print_declared("input", &v);
  for (uint32_t i = 0; i < rlx_onnx_output_count(m); i++)
    if (!rlx_onnx_output_at(m, i, &v)) print_declared("output", &v);
}

static void print_ops(const rlx_onnx *m) {
  rlx_onnx_op_use u = {RLX_ONNX_OP_USE_INIT};
  printf("\nops: %u\n", (unsigned)rlx_onnx_op_count(m));
  for (uint32_t i = 0; i < rlx_onnx_op_count(m); i++) {
    if (rlx_onnx_op_at(m, i, &u)) continue;
    printf("  %6u  ", (unsigned)u.n_uses);
    cli_print_plain(u.op);
    if (strcmp(u.domain, "ai.onnx") != 0) {
      fputs(" (", stdout);
      cli_print_plain(u.domain);
      putchar(')');
    }
    puts(u.supported ? "" : "   not in RLX");
  }
}

static void print_weights(const rlx_onnx *m, const rlx_onnx_info *info) {
  rlx_onnx_weight w = {RLX_ONNX_WEIGHT_INIT};
  puts("\nweights:");
  for (uint32_t i = 0; i < info->n_initializers; i++) {
    if (rlx_onnx_weight_at(m, i, &w)) continue;
    fputs("  ", stdout);
    cli_print_plain(w.name);
    printf("  %s", w.type);
    cli_print_sizes(w.shape);
    fputs("  ", stdout);
    cli_print_bytes(w.bytes);
    puts(w.external ? "  external" : "");
  }
}

static void print_model(const char *path, const rlx_onnx *m, bool weights) {
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  const char *name, *value;
  int64_t version;
  if (rlx_onnx_describe(m, &info)) return;
  cli_print_plain(path);
  printf(": ONNX, IR %" PRId64 ", %u nodes, %u weights, ", info.ir_version, (unsigned)info.n_nodes,
         (unsigned)info.n_weights);
  cli_print_bytes(info.weight_bytes);
  for (uint32_t i = 0; (name = rlx_onnx_opset_at(m, i, &version)); i++) {
    fputs(i ? ", " : "\nopsets: ", stdout);
    cli_print_plain(name);
    printf(" %" PRId64, version);
  }
  if (*info.producer) {
    fputs("\nproducer: ", stdout);
    cli_print_plain(info.producer);
    putchar(' ');
    cli_print_plain(info.producer_version);
  }
  if (info.n_functions) printf("\nfunctions: %u", (unsigned)info.n_functions);
  puts("\n");
  print_values(m);
  for (uint32_t i = 0; (name = rlx_onnx_metadata_at(m, i, &value)); i++) {
    fputs(i ? "  " : "\nmetadata:\n  ", stdout);
    cli_print_plain(name);
    size_t bytes = strlen(value);
    fputs(" = ", stdout);
    cli_put_plain_bytes(stdout, value, bytes < 60 ? bytes : 60, false);
    puts(bytes > 60 ? "..." : "");
  }
  print_ops(m);
  if (weights) print_weights(m, &info);
}

/* ---- Scripts ------------------------------------------------------------------------------------------------- */

static void json_declared(const rlx_onnx_value *v, bool is_first) {
  fputs(is_first ? "{\"name\":" : ",{\"name\":", stdout);
  cli_print_quoted(v->name);
  printf(",\"type\":\"%s\",\"shape\":", v->type);
  if (v->rank < 0) fputs("null", stdout);
  else putchar('[');
  for (int i = 0; i < v->rank; i++) {
    if (i) putchar(',');
    if (v->dim[i].symbol) cli_print_quoted(v->dim[i].symbol);
    else if (v->dim[i].size >= 0) printf("%" PRId64, v->dim[i].size);
    else fputs("null", stdout);
  }
  if (v->rank >= 0) putchar(']');
  printf(",\"has_default\":%s}", v->has_default ? "true" : "false");
}

static void json_ops(const rlx_onnx *m) {
  rlx_onnx_op_use u = {RLX_ONNX_OP_USE_INIT};
  fputs("],\"ops\":[", stdout);
  for (uint32_t i = 0; i < rlx_onnx_op_count(m); i++) {
    if (rlx_onnx_op_at(m, i, &u)) continue;
    fputs(i ? ",{\"op\":" : "{\"op\":", stdout);
    cli_print_quoted(u.op);
    fputs(",\"domain\":", stdout);
    cli_print_quoted(u.domain);
    printf(",\"opset\":%" PRId64 ",\"count\":%u,\"supported\":%s}", u.opset, (unsigned)u.n_uses,
           u.supported ? "true" : "false");
  }
}

static void json_model(const char *path, const rlx_onnx *m) {
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  const char *name, *value;
  int64_t version;
  if (rlx_onnx_describe(m, &info)) return;
  fputs("{\"file\":", stdout);
  cli_print_quoted(path);
  printf(",\"format\":\"onnx\",\"ir_version\":%" PRId64
         ",\"nodes\":%u,\"functions\":%u,\"weights\":%u,\"bytes\":%" PRIu64 ",\"producer\":",
         info.ir_version, (unsigned)info.n_nodes, (unsigned)info.n_functions, (unsigned)info.n_weights,
         info.weight_bytes);
  cli_print_quoted(info.producer);
  fputs(",\"opsets\":{", stdout);
  for (uint32_t i = 0; (name = rlx_onnx_opset_at(m, i, &version)); i++) {
    if (i) putchar(',');
    cli_print_quoted(name);
    printf(":%" PRId64, version);
  }
  fputs("},\"metadata\":{", stdout);
  for (uint32_t i = 0; (name = rlx_onnx_metadata_at(m, i, &value)); i++) {
    if (i) putchar(',');
    cli_print_quoted(name);
    putchar(':');
    cli_print_quoted(value);
  }
  fputs("},\"inputs\":[", stdout);
  for (uint32_t i = 0; i < rlx_onnx_input_count(m); i++)
    if (!rlx_onnx_input_at(m, i, &v)) json_declared(&v, i == 0);
  fputs("],\"outputs\":[", stdout);
  for (uint32_t i = 0; i < rlx_onnx_output_count(m); i++)
    if (!rlx_onnx_output_at(m, i, &v)) json_declared(&v, i == 0);
  json_ops(m);
  fputs("]}", stdout);
}

/* ---- The commands -------------------------------------------------------------------------------------------- */

int cli_onnx_info(const cli_common *common, const char *path, bool weights) {
  rlx_onnx *m;
  if (cli_check(rlx_onnx_open(path, cli_limited(), &m), NULL, NULL)) return CLI_FAILED;
  if (common->json) json_model(path, m);
  else print_model(path, m, weights);
  rlx_onnx_close(m);
  return CLI_DONE;
}

rlx_status cli_onnx_check(const char *path, rlx_found_fn found, void *user, uint32_t *n_weights, uint64_t *bytes) {
  rlx_onnx *m;
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_status s = rlx_onnx_open(path, cli_limited(), &m);
  if (!s) s = rlx_onnx_describe(m, &info);
  if (!s) *n_weights = info.n_weights, *bytes = info.weight_bytes;
  if (!s) s = rlx_onnx_check(m, found, user);
  rlx_onnx_close(m);
  return s;
}
