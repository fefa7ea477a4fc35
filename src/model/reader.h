/* Internals of the configuration reader, for files that read more than single values. */
#ifndef RLX_MODEL_READER_H
#define RLX_MODEL_READER_H

#include <jansson.h>

#include "base/array.h"
#include "model/config.h"

/* A key that the family reads: n bytes of a string constant. */
typedef struct lm_key_name {
  const char *name;
  size_t n;
} lm_key_name;

struct lm_reader {
  const rlx_file *file;
  const char *prefix; /* prefix of GGUF keys: the architecture */
  json_t *json;       /* the object of config.json with the text model; NULL: GGUF keys */
  json_t *outer;      /* the enclosing object; NULL: none */
  bool is_gguf;       /* the file format is GGUF: keys are typed */
  bool only_family;   /* read nothing else */
  rlx_status status;
  RLX_ARRAY(lm_key_name) known; /* keys that the family reads: all others are leftovers */
  /* Called with each value under its GGUF key, for conversion; may be NULL. The last call for a key counts. */
  void (*reported)(void *user, const char *gguf, const rlx_meta *value);
  void *user;
};

/* Reports a value that was not read under a GGUF key. */
void lm_note_number(lm_reader *r, const char *gguf, double value);
void lm_note_size(lm_reader *r, const char *gguf, int64_t value);
void lm_note_text(lm_reader *r, const char *gguf, const char *value);
/* lm_config_read that reports each value to a callback. */
rlx_status lm_config_read_recorded(const rlx_file *f, lm_config *out,
                                   void (*reported)(void *user, const char *gguf, const rlx_meta *value), void *user);

/* families.c: finds the family. RLX_UNSUPPORTED: it is not known. */
rlx_status lm_find_family(lm_reader *r, lm_config *c);

/* Marks keys as known without reading them, if they do not matter here. Same lists as for lm_key_size. */
void lm_reader_mark_known(lm_reader *r, const char *gguf, const char *hf);
/* The first of these keys that is present and not null; NULL: none. *key: where its name starts. */
json_t *lm_reader_json(lm_reader *r, const char *hf, const char **key);

#endif
