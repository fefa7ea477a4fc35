/* Messages, and the parts that the outputs of commands consist of. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- Messages ------------------------------------------------------------------------------------------------ */

/* Prints one line. Names and paths are untrusted: characters that control a terminal must neither break the line nor
 * reach it. */
static void report(const char *status, const char *fmt, va_list args, const cli_command *help) {
  char text[8192];
  fflush(stdout);
  int n = vsnprintf(text, sizeof text, fmt, args);
  fputs("rlx: ", stderr);
  cli_put_plain(stderr, n < 0 ? fmt : text, false);
  if (status) cli_failure_add(status, n < 0 ? fmt : text);
  if (help) fprintf(stderr, "; 'rlx %s --help' shows how", help->name);
  fputc('\n', stderr);
}

int cli_fail(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report("failed", fmt, args, NULL);
  va_end(args);
  return CLI_FAILED;
}

static void report_status(rlx_status s, const char *fmt, ...) CLI_PRINTF(2);
static void report_status(rlx_status s, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(rlx_status_name(s), fmt, args, NULL);
  va_end(args);
}

int cli_check(rlx_status s, const char *where, const char *name) {
  if (s == RLX_OK) return CLI_DONE;
  report_status(s, "%s%s%s%s%s%s%s", where ? where : "", name ? " '" : "", name ? name : "", name ? "'" : "",
                where ? ": " : "", s == RLX_NO_MEMORY ? "out of memory: " : "", rlx_message());
  return CLI_FAILED;
}

void cli_note(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(NULL, fmt, args, NULL);
  va_end(args);
}

int cli_wrong(const cli_command *command, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report("usage", fmt, args, command);
  va_end(args);
  return CLI_USAGE;
}

/* ---- Text ---------------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 character at p; 0: invalid. */
static size_t character(const unsigned char *p) {
  if (p[0] < 0x80) return 1;
  size_t n = p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (p[0] == 0xe0 && p[1] < 0xa0) return 0;                                    /* overlong */
  if (p[0] == 0xf0 && p[1] < 0x90) return 0;                                    /* overlong */
  if ((p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0; /* surrogates; above U+10FFFF */
  return n;
}

/* Code point of a character that is invisible and changes how the following text is shown: controls, direction marks
 * and overrides, line and paragraph separators. 0: it is none of these (NUL is one, with code point 0). */
static unsigned control_code_point(const unsigned char *p, size_t n) {
  unsigned c = n == 2   ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
               : n == 3 ? (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
                        : 0;
  if (n == 1) return *p < ' ' || *p == 127 ? *p : 0;
  bool is = (c >= 0x80 && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
            (c >= 0x2066 && c <= 0x2069);
  return is ? c : 0;
}

void cli_put_plain(FILE *to, const char *text, bool lines) { cli_put_plain_bytes(to, text, strlen(text), lines); }

void cli_put_plain_bytes(FILE *to, const char *text, size_t bytes, bool lines) {
  for (const unsigned char *p = (const unsigned char *)text, *end = p + bytes; p < end;) {
    size_t n = character(p);
    if (n > (size_t)(end - p)) n = 0;
    unsigned code = control_code_point(p, n);
    if (n == 1 && lines && (*p == '\n' || *p == '\t')) putc(*p, to);
    else if (n == 0) fprintf(to, "\\x%02x", *p);
    else if (code || !*p) fprintf(to, "\\u%04x", code);
    else fwrite(p, 1, n, to);
    p += n ? n : 1;
  }
}

/* Paths need not be UTF-8 but JSON must be: an invalid byte is written as the code point of the same number. */
void cli_print_quoted_bytes(const char *text, size_t bytes) {
  putchar('"');
  for (const unsigned char *p = (const unsigned char *)text, *end = p + bytes; p < end;) {
    size_t n = character(p);
    if (*p == '"' || *p == '\\') printf("\\%c", *p);
    else if (*p == '\n') fputs("\\n", stdout);
    else if (n == 0 || *p < ' ') printf("\\u%04x", *p);
    else if (control_code_point(p, n)) printf("\\u%04x", control_code_point(p, n));
    else fwrite(p, 1, n, stdout);
    p += n ? n : 1;
  }
  putchar('"');
}

void cli_print_quoted(const char *text) { cli_print_quoted_bytes(text, strlen(text)); }

void cli_print_plain(const char *text) { cli_put_plain(stdout, text, false); }

void cli_print_words(const char *words) {
  putchar('[');
  for (const char *p = words; *p;) {
    size_t n = strcspn(p, " ");
    printf("%s\"%.*s\"", p == words ? "" : ",", (int)n, p);
    p += n + (p[n] == ' ');
  }
  putchar(']');
}

void cli_print_bytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 4) v /= 1024, u++;
  printf(u ? "%.2f %s" : "%.0f %s", v, units[u]);
}

/* ---- Types --------------------------------------------------------------------------------------------------- */

/* Prints a shape: a symbol by name, a size unknown until bind as "?". */
static void print_open_sizes(const rlx_graph *g, rlx_dims shape, bool json) {
  putchar('[');
  for (int i = 0; i < shape.n; i++) {
    const char *symbol = shape.v[i] < 0 ? rlx_graph_symbol_name(g, shape.v[i]) : NULL;
    if (i) putchar(',');
    if (shape.v[i] >= 0) printf("%" PRId64, shape.v[i]);
    else if (json) cli_print_quoted(symbol ? symbol : "?");
    else cli_print_plain(symbol ? symbol : "?");
  }
  putchar(']');
}

void cli_print_sizes(rlx_dims shape) { print_open_sizes(NULL, shape, false); }

void cli_print_type(const rlx_graph *g, rlx_node n) {
  fputs(rlx_dtype_describe(rlx_node_dtype(g, n))->name, stdout);
  print_open_sizes(g, rlx_node_shape(g, n), false);
}

void cli_json_type(const rlx_graph *g, rlx_node n) {
  printf("\"dtype\":\"%s\",\"shape\":", rlx_dtype_describe(rlx_node_dtype(g, n))->name);
  print_open_sizes(g, rlx_node_shape(g, n), true);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

static bool is_real(rlx_dtype t) { return t == RLX_F32 || t == RLX_F16 || t == RLX_BF16 || t == RLX_F64; }

static void print_converted(const rlx_tensor *t, rlx_dtype from, bool json) {
  size_t count = t->bytes / 8;
  int digits = !json ? 6 : from == RLX_F64 ? 17 : from == RLX_F16 || from == RLX_BF16 ? 5 : 9;
  for (size_t i = 0; i < count; i++) {
    if (i) fputs(json ? "," : " ", stdout);
    if (t->dtype != RLX_F64) printf("%" PRId64, ((const int64_t *)t->data)[i]);
    else if (json) cli_json_real(((const double *)t->data)[i], digits);
    else printf("%.*g", digits, ((const double *)t->data)[i]);
  }
}

/* Converts with the library: one cast to f64 or i64, which hold every value exactly. */
rlx_status cli_print_values(const rlx_tensor *t, size_t max, bool json) {
  const rlx_dtype_info *type = rlx_dtype_describe(t->dtype);
  size_t count = t->bytes / type->block_bytes;
  if (count > max) count = max;
  rlx_tensor first = {t->dtype, RLX_DIMS((int64_t)count), {t->data}, count * type->block_bytes}, values;
  rlx_graph *g;
  rlx_evaluator *e = NULL;
  rlx_status s = rlx_graph_create(&g);
  rlx_node x = rlx_op_input(g, "x", t->dtype, first.shape);
  if (t->dtype == RLX_C64) x = rlx_op_view_as_real(g, x);
  rlx_graph_add_output(g, "y", rlx_op_cast(g, x, is_real(t->dtype) || t->dtype == RLX_C64 ? RLX_F64 : RLX_I64));
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_evaluator_create(g, &e);
  if (!s) s = rlx_evaluator_set(e, "x", &first);
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_get(e, "y", &values);
  if (!s) print_converted(&values, t->dtype, json);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  return s;
}
