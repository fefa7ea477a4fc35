/* rlx devices: lists devices with limits and features, and why a backend has none. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

static void print_device(uint32_t index, const rlx_device_info *d) {
  printf("%u  %s: ", index, d->backend);
  cli_print_plain(d->name);
  printf(" (%s)\n", rlx_device_kind_name(d->kind));
  printf("   uuid      %s\n", d->uuid);
  if (d->driver[0]) fputs("   driver    ", stdout), cli_print_plain(d->driver), putchar('\n');
  if (d->n_units) printf("   units     %u\n", d->n_units);
  if (d->memory_bytes) {
    fputs("   memory    ", stdout);
    cli_print_bytes(d->memory_bytes);
    if (d->free_bytes) fputs(", free ", stdout), cli_print_bytes(d->free_bytes);
    putchar('\n');
  }
  fputs("   limits    block ", stdout);
  if (d->max_block_bytes) cli_print_bytes(d->max_block_bytes);
  else fputs("any", stdout);
  fputs(", window ", stdout);
  if (d->max_window_bytes) cli_print_bytes(d->max_window_bytes);
  else fputs("any", stdout);
  printf(", alignment %" PRIu64 "%s\n", d->align, d->is_mapped ? ", mapped" : "");
  if (d->features[0]) fputs("   features  ", stdout), cli_print_plain(d->features), putchar('\n');
}

static void json_device(uint32_t index, const rlx_device_info *d) {
  printf("%s{\"index\":%u,\"name\":", index ? "," : "", index);
  cli_print_quoted(d->name);
  printf(",\"backend\":\"%s\",\"uuid\":\"%s\",\"kind\":\"%s\",\"driver\":", d->backend, d->uuid,
         rlx_device_kind_name(d->kind));
  cli_print_quoted(d->driver);
  printf(",\"units\":%u,\"memory\":%" PRIu64 ",\"free\":%" PRIu64 ",\"max_block\":%" PRIu64 ",\"max_window\":%" PRIu64
         ",\"align\":%" PRIu64 ",\"view_align\":%" PRIu64 ",\"mapped\":%s,\"features\":",
         d->n_units, d->memory_bytes, d->free_bytes, d->max_block_bytes, d->max_window_bytes, d->align, d->view_align,
         d->is_mapped ? "true" : "false");
  cli_print_words(d->features);
  putchar('}');
}

/* Backends without devices, and why. */
static void print_absent(bool json) {
  const char *why, *name;
  bool first = true;
  for (uint32_t i = 0; (name = rlx_backend_name(i, &why)); i++) {
    if (!why) continue;
    if (json) {
      printf("%s{\"backend\":\"%s\",\"why\":", first ? "" : ",", name);
      cli_print_quoted(why);
      putchar('}');
    } else {
      printf("-  %s: ", name);
      cli_print_plain(why);
      putchar('\n');
    }
    first = false;
  }
}

static int list(bool json) {
  int code = CLI_DONE;
  if (json) {
    cli_json_begin();
    fputs("{\"devices\":[", stdout);
  }
  for (uint32_t i = 0; i < rlx_device_count() && !code; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    code = cli_check(rlx_device_describe(i, &info), "device", NULL);
    if (code) continue;
    if (json) json_device(i, &info);
    else print_device(i, &info);
  }
  if (json) fputs("],\"absent\":[", stdout);
  print_absent(json);
  if (json) {
    putchar(']');
    cli_json_end();
  }
  return code;
}

int cli_devices(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  int code;
  if (cli_parse(self, argc, argv, NULL, 0, &common, &words, &code))
    code = words.n ? cli_wrong(self, "expected no words, got '%s'", words.v[0].value) : list(common.json);
  cli_list_deinit(&words);
  return code;
}
