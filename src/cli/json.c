/* One JSON document per command, failures included.
 *
 * With --json there is one document on standard output even if a command fails: {"error":{..}}, or a last member
 * "error" after the results already printed. So every document begins and ends here. cli_json_begin marks that one
 * was begun; cli_json_end closes it and adds the failures so far; main writes the document itself if none was begun.
 * Wrong usage and interrupts leave standard output empty.
 *
 * JSON has no non-finite numbers: they are the strings "NaN", "Infinity" and "-Infinity". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MAX_FAILURES = 256 };

static struct {
  bool is_json, is_begun;
  const char *statuses[MAX_FAILURES];
  char *messages[MAX_FAILURES];
  size_t n;
} reported;

void cli_json_expect(void) { reported.is_json = true; }

size_t cli_failures(void) { return reported.n; }

void cli_failure_add(const char *status, const char *message) {
  if (!reported.is_json || reported.n == MAX_FAILURES) return;
  size_t bytes = strlen(message) + 1;
  char *copy = malloc(bytes);
  if (!copy) return; /* it is already on standard error */
  memcpy(copy, message, bytes);
  reported.statuses[reported.n] = status;
  reported.messages[reported.n++] = copy;
}

void cli_json_error(size_t from) {
  bool any = from < reported.n;
  fputs("{\"status\":", stdout);
  cli_print_quoted(any ? reported.statuses[from] : "failed");
  fputs(",\"message\":", stdout);
  cli_print_quoted(any ? reported.messages[from] : "");
  fputs(",\"messages\":[", stdout);
  for (size_t i = from; i < reported.n; i++) {
    if (i > from) putchar(',');
    cli_print_quoted(reported.messages[i]);
  }
  fputs("]}", stdout);
}

void cli_json_begin(void) { reported.is_begun = true; }

void cli_json_end(void) {
  if (reported.n) {
    fputs(",\"error\":", stdout);
    cli_json_error(0);
  }
  puts("}");
}

void cli_json_files_begin(void) {
  cli_json_begin();
  fputs("{\"files\":[", stdout);
}

void cli_json_file_error(const char *path, size_t from) {
  fputs("{\"file\":", stdout);
  cli_print_quoted(path);
  fputs(",\"error\":", stdout);
  cli_json_error(from);
  putchar('}');
}

void cli_json_files_end(void) {
  putchar(']');
  cli_json_end();
}

void cli_json_finish(int code) {
  if (code == CLI_FAILED && reported.is_json && !reported.is_begun && reported.n) {
    fputs("{\"error\":", stdout);
    cli_json_error(0);
    puts("}");
  }
  for (size_t i = 0; i < reported.n; i++) free(reported.messages[i]);
  reported.n = 0;
}

void cli_json_real(double v, int digits) {
  if (v - v == 0) printf("%.*g", digits, v);
  else printf("\"%s\"", v != v ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}
