/* Inside of the configuration's reader, for the files that read more than single facts. */
#ifndef RLX_MODEL_READER_H
#define RLX_MODEL_READER_H

#include <jansson.h>

#include "base/array.h"
#include "model/config.h"

/* Something that was asked for: n bytes of a name in the code. */
typedef struct lm_asked {
  const char *name;
  size_t n;
} lm_asked;

struct lm_reader {
  const rlx_file *file;
  const char *prefix; /* of GGUF's keys: the architecture */
  json_t *json;       /* the object of config.json that tells of the text model; NULL: GGUF's keys */
  json_t *outer;      /* the one around it; NULL: none */
  bool is_gguf;       /* the format: keys have their types */
  bool only_family;   /* nothing else is asked for */
  rlx_status status;
  RLX_ARRAY(lm_asked) asked; /* names that the family knows: what the file has besides is left over */
  /* Told each fact under GGUF's name for it, where one converts; NULL: nobody asks. The last about a key counts. */
  void (*reported)(void *user, const char *gguf, const rlx_meta *value);
  void *user;
};

/* A fact that was not asked for under GGUF's name. */
void lm_note_number(lm_reader *r, const char *gguf, double value);
void lm_note_size(lm_reader *r, const char *gguf, int64_t value);
void lm_note_text(lm_reader *r, const char *gguf, const char *value);
/* lm_config_read, with an ear. */
rlx_status lm_config_read_aloud(const rlx_file *f, lm_config *out,
                                void (*reported)(void *user, const char *gguf, const rlx_meta *value), void *user);

/* Marks names as known, for the family has seen that they do not matter here. As lm_key_size has them. */
void lm_reader_take(lm_reader *r, const char *gguf, const char *hf);
/* The first of these keys that is there and not null; NULL: none. *key: where its name begins. */
json_t *lm_reader_json(lm_reader *r, const char *hf, const char **key);

#endif
