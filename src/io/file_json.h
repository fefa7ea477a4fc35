/* JSON of weight files: walked member by member, so that a header of 100 MB costs one member at a time. */
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

#endif
