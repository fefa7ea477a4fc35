/* The families, and which one a file is of.
 *
 * A GGUF names its architecture. config.json names a class, or only a type of model. What is not known is refused with
 * all families and, if one of the known names is like it, with that. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/family.h"
#include "model/reader.h"

static const lm_family *const families[] = {
#define FAMILY(name) &lm_##name,
#include "model/families.def"
};

const lm_family *lm_family_at(size_t i) { return i < sizeof families / sizeof *families ? families[i] : NULL; }

/* ---- Unknown names ---- */

enum { MAX_NAME = 64 }; /* bytes of a name that are compared */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* How many bytes must be changed, put in or taken out to make one name the other. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t row[MAX_NAME + 1];
  n_a = least(n_a, MAX_NAME);
  n_b = least(n_b, MAX_NAME);
  for (size_t j = 0; j <= n_b; j++) row[j] = j;
  for (size_t i = 1; i <= n_a; i++) {
    size_t before = row[0]; /* of the row above, one to the left */
    row[0] = i;
    for (size_t j = 1; j <= n_b; j++) {
      size_t changed = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      row[j] = least(changed, least(row[j], row[j - 1]) + 1);
    }
  }
  return row[n_b];
}

typedef struct nearest {
  const char *name;
  size_t n, distance;
} nearest;

static void compare_words(const char *words, const char *found, nearest *best) {
  for (const char *at = words; *at; at += strspn(at, " ")) {
    size_t n = strcspn(at, " "), d = distance(at, n, found, strlen(found));
    if (d < best->distance) *best = (nearest){at, n, d};
    at += n;
  }
}

/* Names that share less than two thirds are not alike. */
static rlx_status refuse_family(const char *what, const char *found, bool is_hf) {
  rlx_str known = {0};
  nearest best = {.distance = strlen(found) / 3 + 1};
  for (size_t i = 0; lm_family_at(i); i++) {
    const bool is_repeated = i && strcmp(lm_family_at(i)->name, lm_family_at(i - 1)->name) == 0;
    if (!is_repeated) rlx_str_add(&known, "%s%s", i ? ", " : "", lm_family_at(i)->name);
    compare_words(is_hf ? lm_family_at(i)->architectures : lm_family_at(i)->name, found, &best);
  }
  rlx_status s =
    RLX_FAIL(RLX_UNSUPPORTED, "%s is '%.80s'; supported families are %s%s%.*s%s", what, found, known.v ? known.v : "",
             best.name ? "; the nearest name is '" : "", (int)best.n, best.name ? best.name : "", best.name ? "'" : "");
  rlx_str_deinit(&known);
  return s;
}

/* ---- Finding the family ---- */

/* Adapters and projectors also have general.architecture: that of the model they belong to. Only general.type
 * differs. */
static rlx_status check_type(const lm_reader *r) {
  rlx_meta m;
  if (!rlx_file_meta_find(r->file, "general.type", &m)) return RLX_OK;
  if (m.kind == RLX_META_TEXT && strcmp(m.text, "model") == 0 && m.n == strlen("model")) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "general.type is '%.60s', expected 'model': the file is only a part of a model",
                  m.kind == RLX_META_TEXT ? m.text : m.type);
}

static rlx_status find_by_architecture(lm_reader *r, lm_config *c) {
  rlx_meta m;
  if (!rlx_file_meta_find(r->file, "general.architecture", &m) || m.kind != RLX_META_TEXT || strlen(m.text) != m.n)
    return RLX_FAIL(RLX_INVALID, "'general.architecture': expected a string without NUL");
  RLX_TRY(check_type(r));
  for (size_t i = 0; lm_family_at(i); i++)
    if (!c->family && strcmp(lm_family_at(i)->name, m.text) == 0) c->family = lm_family_at(i);
  if (!c->family) return refuse_family("general.architecture", m.text, false);
  r->prefix = c->family->name;
  if (rlx_file_meta_find(r->file, "general.name", &m) && m.kind == RLX_META_TEXT)
    snprintf(c->name, sizeof c->name, "%s", m.text);
  return RLX_OK;
}

/* Selects the family by the class in `architectures`, or by model_type if there is none. A multimodal model (its
 * text part is under text_config) is selected by the inner model_type alone. */
static rlx_status find_by_class(lm_reader *r, lm_config *c) {
  json_t *inner = json_object_get(r->json, "text_config");
  const char *class = json_string_value(json_array_get(json_object_get(r->json, "architectures"), 0));
  const char *type = json_string_value(json_object_get(r->json, "model_type"));
  if (json_is_object(inner)) {
    r->outer = r->json;
    r->json = inner;
    class = json_string_value(json_object_get(inner, "model_type"));
  }
  for (size_t i = 0; lm_family_at(i); i++) {
    const char *names = lm_family_at(i)->architectures, *needs = lm_family_at(i)->needs;
    if (needs && !json_is_true(json_object_get(r->json, needs))) continue;
    if ((class && leftover_has_word(names, class, strlen(class))) ||
        (!class && type && leftover_has_word(names, type, strlen(type))))
      c->family = lm_family_at(i);
  }
  const char *name = json_string_value(json_object_get(r->json, "_name_or_path"));
  if (name) snprintf(c->name, sizeof c->name, "%s", name);
  if (!c->family) return refuse_family("config.json's architecture", class ? class : type ? type : "", true);
  return RLX_OK;
}

rlx_status lm_find_family(lm_reader *r, lm_config *c) {
  return r->json ? find_by_class(r, c) : find_by_architecture(r, c);
}
