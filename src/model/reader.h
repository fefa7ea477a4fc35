/* Inside of the configuration's reader, for the files that read more than single facts. */
#ifndef RLX_MODEL_READER_H
#define RLX_MODEL_READER_H

#include <jansson.h>

#include "model/config.h"

struct lm_reader {
  const rlx_file *file;
  const char *prefix; /* of GGUF's keys: the architecture */
  json_t *json;       /* the object of config.json that tells of the text model; NULL: GGUF's keys */
  bool is_gguf;       /* the format: keys have their types */
  rlx_status status;
};

/* The first of these keys that is there and not null; NULL: none. *key: where its name begins. */
json_t *lm_reader_json(const lm_reader *r, const char *hf, const char **key);

#endif
