/* JSON schemas to expressions: what grammar_schema.c (keywords, references, combinations), grammar_shapes.c (strings,
 * numbers, arrays, objects, constants) and grammar_merge.c (two schemas as one, schemas that exclude each other)
 * share. */
#ifndef RLX_TEXT_GRAMMAR_SCHEMA_H
#define RLX_TEXT_GRAMMAR_SCHEMA_H

#include <jansson.h>
#include <string.h>

#include "text/grammar.h"

/* Where a schema is in the document. */
typedef struct schema_path {
  const struct schema_path *up;
  const char *key; /* NULL: the index */
  size_t index;
  unsigned depth;
} schema_path;

typedef struct schema_rule {
  const json_t *schema; /* what a reference refers to */
  uint32_t rule;
} schema_rule;
typedef struct schema_reader {
  grammar_tree *t;
  grammar_json json;
  json_t *root;
  RLX_ARRAY(schema_rule) rules;
  RLX_ARRAY(json_t *) made; /* schemas made by merging */
  uint32_t n_schemas;       /* read so far */
} schema_reader;

/* Types of values as a set. */
enum {
  TYPE_NULL = 1,
  TYPE_BOOLEAN = 2,
  TYPE_INTEGER = 4,
  TYPE_NUMBER = 8, /* and integers */
  TYPE_STRING = 16,
  TYPE_ARRAY = 32,
  TYPE_OBJECT = 64,
  TYPE_ALL = 127
};

enum { SCHEMA_MAX_COUNT = 20000 }; /* schemas that are read, and steps of merging */

schema_path schema_at(const schema_path *up, const char *key);
schema_path schema_at_index(const schema_path *up, size_t index);
/* Fails with the place as a JSON pointer. */
rlx_status schema_fail(const schema_path *at, rlx_status code, const char *fmt, ...) RLX_PRINTF(3, 4);
rlx_status schema_no_memory(void);

rlx_status schema_read(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out);
rlx_status schema_resolve(const schema_reader *r, const json_t *ref, const schema_path *at, json_t **out);
/* The types that a schema allows by its `type`. */
rlx_status schema_types(const json_t *schema, const schema_path *at, unsigned *types);
unsigned schema_type_of(const json_t *value);
/* A text without NUL in it; NULL: it is none. */
static inline const char *schema_text(const json_t *v) {
  const char *text = json_string_value(v);
  return text && strlen(text) == json_string_length(v) ? text : NULL;
}
/* A keyword that is a count; *out is unchanged if it is absent. */
rlx_status schema_count(const json_t *schema, const char *keyword, const schema_path *at, uint32_t *out);

/* grammar_shapes.c: the values of one type that a schema without combinations allows. */
rlx_status schema_shape(schema_reader *r, json_t *schema, unsigned type, const schema_path *at, grammar_ref *out);
rlx_status schema_constant(schema_reader *r, const json_t *value, const schema_path *at, grammar_ref *out);

/* grammar_merge.c. *out belongs to the reader, and is what both schemas accept. */
rlx_status schema_merge(schema_reader *r, json_t *a, json_t *b, const schema_path *at, json_t **out);
/* A copy of a schema without a keyword; belongs to the reader. NULL: no memory. */
json_t *schema_without(schema_reader *r, const json_t *schema, const char *keyword);
json_t *schema_own(schema_reader *r, json_t *made); /* NULL stays NULL */
/* Whether it is certain that no value is accepted by both. */
bool schema_are_disjoint(const schema_reader *r, const json_t *a, const json_t *b, unsigned depth);

#endif
