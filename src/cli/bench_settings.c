/* Shared by the benchmarks of graphs and models: the devices and thread counts to compare, and statistics of
 * samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int add_setting(const cli_command *self, cli_settings *to, const char *device, int64_t threads) {
  if (to->n == CLI_MAX_SETTINGS) return cli_wrong(self, "more than %d settings to compare", CLI_MAX_SETTINGS);
  cli_setting *s = &to->v[to->n++];
  snprintf(s->device, sizeof s->device, "%s", device ? device : "");
  s->threads = (uint32_t)threads;
  return CLI_DONE;
}

static int add_device(const cli_command *self, const cli_common *common, const char *threads, const char *device,
                      cli_settings *to) {
  const char *list = threads;
  int code = CLI_DONE;
  if (!list) return add_setting(self, to, device, common->threads);
  while (!code) {
    size_t bytes = strcspn(list, ",");
    char text[16];
    int64_t n;
    snprintf(text, sizeof text, "%.*s", (int)(bytes < 15 ? bytes : 15), list);
    if (!cli_to_number(text, 1, 1024, &n))
      return cli_wrong(self, "-t takes numbers of threads such as 1,2, got '%s'", threads);
    code = add_setting(self, to, device, n);
    list += bytes;
    if (*list++ != ',') break;
  }
  return code;
}

int cli_settings_list(const cli_command *self, const cli_common *common, const char *threads, cli_settings *out) {
  const char *list = common->device;
  int code = CLI_DONE;
  out->n = 0;
  if (!list) return add_device(self, common, threads, NULL, out);
  while (!code) {
    char device[128];
    size_t bytes = strcspn(list, ",");
    if (!bytes) return cli_wrong(self, "--device takes names of devices such as cpu,null, got '%s'", common->device);
    snprintf(device, sizeof device, "%.*s", (int)(bytes < 127 ? bytes : 127), list);
    code = add_device(self, common, threads, device, out);
    list += bytes;
    if (*list++ != ',') break;
  }
  return code;
}

cli_summary cli_summarise(const double *samples, size_t n) {
  cli_summary s = {.best = INFINITY};
  double squares = 0;
  for (size_t i = 0; i < n; i++) {
    s.mean += samples[i] / (double)n;
    s.best = fmin(s.best, samples[i]);
  }
  for (size_t i = 0; i < n; i++) squares += (samples[i] - s.mean) * (samples[i] - s.mean);
  s.spread = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
  return s;
}
