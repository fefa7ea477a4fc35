/* A model in a folder in Hugging Face layout: weights in one file or in several with an index, and text files next
 * to them.
 *
 * The index maps tensors to files. Its files are in the same folder, by plain names: a name with a slash could point
 * anywhere, and a link out of the folder is refused (base/beneath.h). The index is checked against the content of
 * the files. Layers after the model, which sentence-transformers keeps in folders below, become tensors too. The text
 * files (config.json, tokenizer.json, ..) become metadata under their file names; they are not parsed here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os_file.h"
#include "base/str.h"
#include "io/file.h"
#include "io/file_json.h"

static const char *const texts[] = {
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "vocab.txt",
  "merges.txt",
  "chat_template.jinja",
  "modules.json",
  "sentence_bert_config.json",
  "config_sentence_transformers.json",
  "1_Pooling/config.json",
  "2_Dense/config.json",
  "3_Dense/config.json",
  "adapter_config.json",
};

/* ---- Paths ---- */

static rlx_status join(const char *folder, size_t folder_bytes, const char *name, char **out) {
  rlx_str path = {0};
  rlx_str_add_bytes(&path, folder, folder_bytes);
  if (folder_bytes && folder[folder_bytes - 1] != '/') rlx_str_add_char(&path, '/');
  rlx_str_add_bytes(&path, name, strlen(name));
  return rlx_str_take(&path, out);
}

/* A dangling link exists: opening it fails and reports it. */
static bool exists(const char *path) {
  rlx_os_stat st;
  return rlx_os_stat_link(path, &st);
}

/* ---- Text files ---- */

static rlx_status add_file(rlx_file *f, const char *path, const char *name) {
  char *text;
  size_t n;
  RLX_TRY(file_read_text(f, path, &text, &n));
  rlx_status s = file_add_text(f, name, text, n);
  rlx_mem_free(text);
  return s;
}

static rlx_status add_texts(rlx_file *f, const char *folder, size_t folder_bytes) {
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char *path;
    RLX_TRY(join(folder, folder_bytes, texts[i], &path));
    rlx_status s = exists(path) ? add_file(f, path, texts[i]) : RLX_OK;
    rlx_mem_free(path);
    RLX_TRY(s);
  }
  return RLX_OK;
}

/* ---- Modules ---- */

/* Names of tensors of a module begin with its folder, since all modules use the same ones. */
static rlx_status rename_tensors(rlx_file *f, size_t first, const char *module) {
  for (size_t i = first; i < f->tensors.n; i++) {
    rlx_str name = {0};
    rlx_str_add(&name, "%s.%s", module, f->tensors.v[i].name);
    const char *kept = name.failed ? NULL : rlx_bump_text(&f->texts, name.v, name.n);
    rlx_str_deinit(&name);
    if (!kept) return RLX_FAIL(RLX_NO_MEMORY, "the names of tensors");
    RLX_TRY(file_check_name("a tensor's name", kept, strlen(kept)));
    f->tensors.v[i].name = kept;
  }
  return RLX_OK;
}

/* The layers that sentence-transformers keeps in folders of their own: "2_Dense.linear.weight". */
static rlx_status add_modules(rlx_file *f, const char *folder, size_t folder_bytes) {
  static const char *const modules[] = {"2_Dense", "3_Dense"};
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    char name[40], *path;
    const size_t first = f->tensors.n;
    snprintf(name, sizeof name, "%s/model.safetensors", modules[i]);
    RLX_TRY(join(folder, folder_bytes, name, &path));
    rlx_status s = exists(path) ? file_read_safetensors(f, path) : RLX_OK;
    rlx_mem_free(path);
    if (!s) s = rename_tensors(f, first, modules[i]);
    RLX_TRY(s);
  }
  return RLX_OK;
}

/* ---- The index ---- */

typedef struct entry {
  const char *tensor, *file;
} entry;

typedef struct index {
  rlx_bump names;
  RLX_ARRAY(entry) entries;
  RLX_ARRAY(const char *) files; /* unique, sorted by name */
} index;

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "no memory for the index"); }

static rlx_status add_entry(index *x, const json_t *key, const json_t *file) {
  const char *tensor = json_string_value(key), *name = json_string_value(file);
  RLX_TRY(file_check_name("a tensor's name", tensor, json_string_length(key)));
  if (!name) return RLX_FAIL(RLX_INVALID, "tensor '%s': expected a file's name, got %s", tensor, json_kind_name(file));
  if (!*name || rlx_os_leads_away(name) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strlen(name) > 255)
    return RLX_FAIL(RLX_INVALID, "tensor '%s': expected the plain name of a file beside the index, got '%.100s'",
                    tensor, name);
  if (x->entries.n == FILE_MAX_TENSORS)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d tensors", FILE_MAX_TENSORS);
  entry e = {.tensor = rlx_bump_text(&x->names, tensor, strlen(tensor))};
  const entry *last = x->entries.n ? &x->entries.v[x->entries.n - 1] : NULL;
  e.file = last && strcmp(last->file, name) == 0 ? last->file : rlx_bump_text(&x->names, name, strlen(name));
  return e.tensor && e.file && rlx_array_push(&x->entries, e) ? RLX_OK : no_memory();
}

static rlx_status parse_map(index *x, json_text map, const char *whole) {
  json_walk w = json_walk_begin(map, whole);
  for (;;) {
    json_t *key, *file = NULL;
    json_text value;
    RLX_TRY(json_walk_next(&w, &key, &value));
    if (!key) return RLX_OK;
    rlx_status s = json_load_text(value, whole, &file);
    if (!s) s = add_entry(x, key, file);
    json_decref(file);
    json_decref(key);
    RLX_TRY(s);
  }
}

static rlx_status parse_index(index *x, json_text text) {
  json_walk w = json_walk_begin(text, text.v);
  bool has_map = false;
  for (;;) {
    json_t *key, *ignored = NULL;
    json_text value;
    RLX_TRY(json_walk_next(&w, &key, &value));
    if (!key) break;
    bool is_map = strcmp(json_string_value(key), "weight_map") == 0;
    json_decref(key);
    if (is_map && has_map) return RLX_FAIL(RLX_INVALID, "the index has weight_map twice");
    has_map |= is_map;
    RLX_TRY(is_map ? parse_map(x, value, text.v) : json_load_text(value, text.v, &ignored));
    json_decref(ignored);
  }
  if (!has_map) return RLX_FAIL(RLX_INVALID, "expected an index of safetensors: there is no weight_map");
  return x->entries.n ? RLX_OK : RLX_FAIL(RLX_INVALID, "the index names no tensor");
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static rlx_status list_files(index *x) {
  size_t n = x->entries.n, kept = 0;
  if (!rlx_array_reserve(&x->files, n)) return no_memory();
  for (size_t i = 0; i < n; i++) x->files.v[i] = x->entries.v[i].file;
  qsort(x->files.v, n, sizeof *x->files.v, by_text);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || strcmp(x->files.v[kept - 1], x->files.v[i]) != 0) x->files.v[kept++] = x->files.v[i];
  x->files.n = kept;
  return RLX_OK;
}

/* Checks that each tensor is in the file that the index names. */
static rlx_status check_entries(const rlx_file *f, const index *x) {
  for (size_t i = 0; i < x->entries.n; i++) {
    const entry *e = &x->entries.v[i];
    const rlx_file_tensor *t = rlx_file_tensor_find(f, e->tensor);
    const char *path = t ? f->parts.v[t->part].path : NULL;
    if (!t || strcmp(path + rlx_os_folder_bytes(path), e->file) != 0)
      return RLX_FAIL(RLX_INVALID, "the index has tensor '%s' in '%s', which does not hold it", e->tensor, e->file);
  }
  return RLX_OK;
}

static rlx_status read_files(rlx_file *f, const char *path, const index *x, const rlx_watch *watch) {
  for (size_t i = 0; i < x->files.n; i++) {
    char *part;
    RLX_TRY(file_watch(watch, "open", i, x->files.n));
    RLX_TRY(join(path, rlx_os_folder_bytes(path), x->files.v[i], &part));
    rlx_status s = file_read_safetensors(f, part);
    rlx_mem_free(part);
    RLX_TRY(s);
  }
  RLX_TRY(file_find_names(f));
  return check_entries(f, x);
}

static rlx_status open_index(rlx_file *f, const char *path, const rlx_watch *watch) {
  index x = {.names = {0}};
  char *text;
  size_t n;
  RLX_TRY(file_read_text(f, path, &text, &n));
  rlx_status s = parse_index(&x, (json_text){text, n});
  rlx_mem_free(text);
  if (!s) s = list_files(&x);
  if (!s) s = read_files(f, path, &x, watch);
  rlx_array_deinit(&x.entries);
  rlx_array_deinit(&x.files);
  rlx_bump_deinit(&x.names);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}

rlx_status file_open_index(rlx_file *f, const char *path, const rlx_watch *watch) {
  RLX_TRY(open_index(f, path, watch));
  RLX_TRY(add_modules(f, path, rlx_os_folder_bytes(path)));
  return add_texts(f, path, rlx_os_folder_bytes(path));
}

/* ---- The folder ---- */

/* Finds the only file with this ending (for a split GGUF its first part); several are ambiguous. */
static rlx_status find_one(const char *folder, const char *end, char **out) {
  rlx_str found = {0};
  rlx_status s = RLX_OK;
  *out = NULL;
  rlx_os_listing *names = rlx_os_list_begin(folder);
  if (!names) return RLX_FAIL(errno == ENOMEM ? RLX_NO_MEMORY : RLX_IO, "cannot list the folder '%s'", folder);
  for (const char *name; !s && (name = rlx_os_list_next(names));) {
    const char *of = strstr(name, "-of-");
    bool is_later_part = of && of - name > 6 && memcmp(of - 6, "-00001", 6) != 0;
    if (!rlx_text_ends_with(name, end) || name[0] == '.' || is_later_part) continue;
    if (found.n) s = RLX_FAIL(RLX_INVALID, "'%s' has several files *%s and no index: name one of them", folder, end);
    rlx_str_add_bytes(&found, name, strlen(name));
  }
  rlx_os_list_end(names);
  if (!s && (found.n || found.failed)) s = rlx_str_take(&found, out);
  rlx_str_deinit(&found);
  return s;
}

static rlx_status find_weights(const char *folder, char **out) {
  static const char *const usual[] = {"model.safetensors.index.json", "model.safetensors"};
  static const char *const endings[] = {".safetensors.index.json", ".safetensors", ".gguf"};
  size_t n = strlen(folder);
  char *name;
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    RLX_TRY(join(folder, n, usual[i], out));
    if (exists(*out)) return RLX_OK;
    rlx_mem_free(*out);
    *out = NULL;
  }
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    RLX_TRY(find_one(folder, endings[i], &name));
    if (!name) continue;
    rlx_status s = join(folder, n, name, out);
    rlx_mem_free(name);
    return s;
  }
  return RLX_FAIL(RLX_NOT_FOUND, "the folder '%s' has no .safetensors and no .gguf", folder);
}

rlx_status file_open_folder(rlx_file *f, const char *path, const rlx_watch *watch) {
  char *weights = NULL;
  RLX_TRY(find_weights(path, &weights));
  rlx_status s = rlx_text_ends_with(weights, ".json")   ? open_index(f, weights, watch)
                 : rlx_text_ends_with(weights, ".gguf") ? file_open_gguf(f, weights, watch)
                                                        : file_read_safetensors(f, weights);
  rlx_mem_free(weights);
  if (!s && !f->is_gguf) s = add_modules(f, path, strlen(path));
  return s ? s : add_texts(f, path, strlen(path));
}
