/* Refuses nodes with attributes that their op function does not read.
 *
 * Op functions read attributes by name, and the call records which ones were read. An attribute that was not read
 * would be ignored, so the node is refused, unless attributes.def gives a reason why it has no effect. One function
 * may serve several ops and versions and read more attributes than an op has. So attributes.def also lists ONNX's
 * own attributes per op, and a model is checked against it before the import. */
#include <string.h>

#include "onnx/importer.h"

typedef struct row {
  const char *op, *attribute; /* "*": of any op */
  int since, until;           /* opsets of ai.onnx; until 0: the newest */
} row;

static const row known[] = {
#define ATTRIBUTE(OP, NAME, SINCE, UNTIL) {OP, NAME, SINCE, UNTIL},
#define HARMLESS(OP, NAME, REASON)
#define MICROSOFT(OP, NAMES)
#include "onnx/attributes.def"
};

static const row harmless[] = {
#define ATTRIBUTE(OP, NAME, SINCE, UNTIL)
#define HARMLESS(OP, NAME, REASON) {OP, NAME, 0, 0},
#define MICROSOFT(OP, NAMES)
#include "onnx/attributes.def"
};

static const struct {
  const char *op, *attributes;
} microsoft[] = {
#define ATTRIBUTE(OP, NAME, SINCE, UNTIL)
#define HARMLESS(OP, NAME, REASON)
#define MICROSOFT(OP, NAMES) {OP, " " NAMES " "},
#include "onnx/attributes.def"
};

/* The first letter decides nearly always: models may have a million nodes. */
static bool is_of(const row *r, const char *op, const char *attribute) {
  return (*r->op == '*' || (*r->op == *op && strcmp(r->op, op) == 0)) && strcmp(r->attribute, attribute) == 0;
}

/* The row of an op's attribute; NULL: ONNX's table has none. */
static const row *find(const char *op, const char *attribute) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_of(&known[i], op, attribute)) return &known[i];
  return NULL;
}

static bool is_in(const row *r, int64_t opset) { return opset >= r->since && (!r->until || opset <= r->until); }

static bool is_harmless(const char *op, const char *attribute) {
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (is_of(&harmless[i], op, attribute)) return true;
  return false;
}

/* Whether an op of com.microsoft has an attribute that its function reads. An op without a row has none. */
static bool microsoft_has(const char *op, const char *attribute) {
  size_t n = strlen(attribute);
  if (is_harmless(op, attribute)) return true;
  for (size_t i = 0; i < sizeof microsoft / sizeof *microsoft; i++) {
    if (*microsoft[i].op != *op || strcmp(microsoft[i].op, op) != 0) continue;
    for (const char *p = microsoft[i].attributes; n && (p = strstr(p, attribute)); p += n)
      if (p[-1] == ' ' && p[n] == ' ') return true;
  }
  return false;
}

/* ---- by the tables ---- */

static void add_name(rlx_str *s, const char *attribute, const row *span) {
  enum { MAX_REPORT = 800 }; /* bytes: what a message has room for */
  if (s->n > MAX_REPORT) return;
  rlx_str_add(s, "%s'%.60s'", s->n ? ", " : "", attribute);
  if (span && span->until) rlx_str_add(s, " (of opsets %d to %d)", span->since, span->until);
  else if (span) rlx_str_add(s, " (of opsets from %d on)", span->since);
  if (s->n > MAX_REPORT) rlx_str_add(s, ", ..");
}

static bool function_has(const onnx_function *f, const char *attribute) {
  for (uint32_t i = 0; i < f->n_attribute_names; i++)
    if (strcmp(f->attribute_names[i], attribute) == 0) return true;
  return onnx_find_in(f->defaults, f->n_defaults, attribute) != NULL;
}

uint32_t onnx_list_foreign(const onnx_node *n, int64_t opset, const onnx_function *f, rlx_str *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->n_attributes; i++) {
    const char *name = n->attributes[i].name;
    const row *r = f || *n->domain ? NULL : find(n->op, name);
    bool is_microsoft = !f && strcmp(n->domain, "com.microsoft") == 0;
    if (is_microsoft && microsoft_has(n->op, name)) continue;
    if (!is_microsoft && (f ? function_has(f, name) : *n->domain || (r && is_in(r, opset)))) continue;
    add_name(out, name, r);
    count++;
  }
  return count;
}

/* ---- by what the function read ---- */

rlx_status onnx_check_attributes(const onnx_call *c) {
  rlx_str unread = {0};
  rlx_status s = RLX_OK;
  for (uint32_t i = 0; i < c->node->n_attributes; i++) {
    const char *name = c->node->attributes[i].name;
    if (!c->asked[i] && !is_harmless(c->node->op, name)) add_name(&unread, name, NULL);
  }
  if (unread.failed) s = RLX_FAIL(RLX_NO_MEMORY, "the names of attributes");
  else if (unread.n) s = RLX_FAIL(RLX_UNSUPPORTED, "its attribute %s is not read", unread.v);
  rlx_str_deinit(&unread);
  return s;
}
