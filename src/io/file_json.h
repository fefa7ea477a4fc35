/* JSON of weight files: scanned member by member, so a 100 MB header costs one member at a time. JSON of the files
 * next to them: parsed whole after a size check; without a tree where it may be large (file_cursor.h). */
#ifndef RLX_IO_FILE_JSON_H
#define RLX_IO_FILE_JSON_H

#include <jansson.h>

#include "base/status.h"
#include "io/file_cursor.h"
#include "rlx/lm.h"

/* Use: `while (!(s = json_walk_next(&w, &key, &value)) && key) ...; json_decref(key)` for each. Members come in file
 * order; a name may repeat. The value is unchecked text, delimited by brackets and quotes only. */
typedef struct json_walk {
  const char *start, *at, *end;
  bool is_begun, is_over;
} json_walk;
json_walk json_walk_begin(json_text object, const char *whole);          /* whole: origin of the offsets in messages */
rlx_status json_walk_next(json_walk *w, json_t **key, json_text *value); /* *key: a string; NULL at the end */

/* The same for a list: *value is the text of each element; v is NULL at the end. */
rlx_status json_walk_element(json_walk *w, json_text *value);

/* Parses a whole value; duplicate names in an object are refused. */
rlx_status json_load_text(json_text text, const char *whole, json_t **out);
/* As metadata; lists and objects both become a list with their number of elements. */
rlx_meta json_to_meta(const json_t *v);
const char *json_kind_name(const json_t *v); /* "a list" */

/* ---- A file as a whole ---- */

/* Max values of a configuration; real ones have some hundreds. */
#define JSON_MAX_CONFIG ((size_t)1 << 16)
/* Max values of n bytes of JSON with a vocabulary. Tokens and merges are spelled out and take at least 6 bytes per
 * value. So a text with more than one per 5 bytes is refused, unless it is small. */
size_t json_max_vocabulary(size_t n);
/* Max values of a tokenizer_config.json, which may list added tokens with some 15 values each. */
#define JSON_MAX_TOKENIZER_CONFIG ((size_t)1 << 18)
#define JSON_MAX_DEPTH 1024 /* below jansson's own limit, whose message has no number */

/* Counts before anything is parsed; upper bounds of what a parser will see, which stops at an error. */
typedef struct json_tally {
  size_t values, members, depth; /* a member is a name and a value: two values */
} json_tally;
/* RLX_LIMIT if there are more than max_values values, or if they are nested too deep. */
rlx_status json_check_tally(json_text text, const char *name, size_t max_values, json_tally *out);

/* Parses an object or a list; `name` is the file in messages. More than max_values values (member names count) or
 * too deep nesting is RLX_LIMIT before anything is allocated. flags: jansson's; JSON_REJECT_DUPLICATES is added. */
rlx_status json_load_whole(json_text text, const char *name, size_t max_values, size_t flags, json_t **out);

#endif
