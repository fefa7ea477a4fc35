/* rlx info and rlx check where language models, and with them weight files, were left out: of ONNX models alone. */
#ifndef RLX_LM
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

static int refuse(const char *path) {
  return cli_fail("%s: this rlx was built without language models and weight files", path);
}

int cli_info(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  bool tensors = false;
  const cli_option options[] = {{"--tensors", NULL, "list all of them", CLI_FLAG, &tensors, 0, 0}};
  int code;
  if (cli_parse(self, argc, argv, options, 1, &common, &words, &code)) {
    if (words.n == 0) code = cli_wrong(self, "expected files");
    if (common.json && words.n > 1) fputs("[", stdout);
    for (size_t i = 0; i < words.n; i++) {
      const char *path = words.v[i].value;
      if (i && common.json) putchar(',');
      if (cli_is_onnx(path) ? cli_onnx_info(&common, path, tensors) : refuse(path)) code = CLI_FAILED;
    }
    if (common.json && words.n) puts(words.n > 1 ? "]" : "");
  }
  cli_list_deinit(&words);
  return code;
}

int cli_check_files(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  int code;
  if (cli_parse(self, argc, argv, NULL, 0, &common, &words, &code)) {
    if (words.n == 0) code = cli_wrong(self, "expected files to check");
    for (size_t i = 0; i < words.n; i++) {
      const char *path = words.v[i].value;
      uint32_t n = 0;
      uint64_t bytes = 0;
      if (!cli_is_onnx(path)) code = refuse(path);
      else if (cli_check(cli_onnx_check(path, &n, &bytes), NULL, NULL)) code = CLI_FAILED;
      else if (!common.quiet) printf("%s: ok: ONNX, %u tensors, %" PRIu64 " bytes\n", path, (unsigned)n, bytes);
    }
  }
  cli_list_deinit(&words);
  return code;
}
#else
typedef int cli_onnx_only; /* a file must hold something */
#endif
