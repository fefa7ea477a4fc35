/* JSON of weight files: walked member by member, so that a header of 100 MB costs one member at a time; and of the files
 * beside them, read whole once they are known to be of a sane size. */
#ifndef RLX_IO_FILE_JSON_H
#define RLX_IO_FILE_JSON_H

#include <jansson.h>

#include "base/status.h"

typedef struct json_text {
  const char *v;
  size_t n;
} json_text;

/* `while (!(s = json_walk_next(&w, &key, &value)) && key) ...; json_decref(key)` for each. Members come as they stand; one name
 * may come twice. The value is text: not yet checked, only as long as brackets and quotes make it. */
typedef struct json_walk {
  const char *start, *at, *end;
  bool is_begun, is_over;
} json_walk;
json_walk json_walk_begin(json_text object, const char *whole);          /* whole: where bytes are counted from */
rlx_status json_walk_next(json_walk *w, json_t **key, json_text *value); /* *key: a string; NULL at the end */

/* The same for a list: *value is each element's text, with v NULL at the end. */
rlx_status json_walk_element(json_walk *w, json_text *value);

/* Any value, whole, with no name twice in an object. */
rlx_status json_load_text(json_text text, const char *whole, json_t **out);
const char *json_kind_name(const json_t *v); /* "a list" */

/* ---- A file as a whole ---- */

/* Values of a configuration, which has some hundreds of them. */
#define JSON_MAX_CONFIG ((size_t)1 << 16)
/* Values of n bytes with a vocabulary. Tokens and merges are spelled out and take 6 bytes a value or more, without any blanks; so
 * what has more than one in 5 bytes is none, beyond what is cheap to hold. */
size_t json_max_vocabulary(size_t n);

/* An object or a list; `name` is the file's in messages. A text of more than max_values values (names of members count),
 * or nested too deep, is RLX_LIMIT before anything is made of it. flags: jansson's, JSON_REJECT_DUPLICATES is added. */
rlx_status json_load_whole(json_text text, const char *name, size_t max_values, size_t flags, json_t **out);

#endif
