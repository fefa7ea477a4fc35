/* What a file holds and nobody read: refused by name, all of it at once.
 *
 * Who reads a model marks each tensor, key and field that it takes. What is left afterwards would be silently ignored, and a
 * model with a part ignored is another model. So everything that is left is asked about here: it is harmless if file_leftover.def says
 * so, with a reason; all else is collected, and the model is refused with the whole list, each with what it would need where
 * that is known.
 *
 * The list is one file, file_leftover.def. A reader that knows only at run time that something cannot matter (a factor next to a
 * scaling that is off) takes it instead. */
#ifndef RLX_IO_FILE_LEFTOVER_H
#define RLX_IO_FILE_LEFTOVER_H

#include "base/str.h"
#include "rlx/lm.h"

typedef enum leftover_kind {
  LEFT_TENSOR,    /* of a GGUF, or of a file with GGUF's names */
  LEFT_HF_TENSOR, /* of a Hugging Face folder */
  LEFT_KEY,       /* of a GGUF's metadata */
  LEFT_TOKENIZER, /* of it, under tokenizer. */
  LEFT_FIELD,     /* of config.json */
  LEFT_OUTER,     /* of config.json around the text model's own fields: of models that also see or hear */
  LEFT_FILE,      /* a text beside the weights */
  LEFT_KINDS
} leftover_kind;

typedef struct leftover {
  leftover_kind kind;
  const char *name;
  rlx_meta value; /* of a key or field; a list or object of JSON is a list of so many elements */
} leftover;

typedef struct leftovers {
  const char *family; /* GGUF's name of the architecture */
  rlx_str said;
  size_t n;
} leftovers;

/* Collects one unless it is harmless. */
void leftover_add(leftovers *all, const leftover *one);
/* RLX_OK where nothing was collected; else RLX_UNSUPPORTED and all that was. */
rlx_status leftover_refuse(const leftovers *all);
void leftovers_deinit(leftovers *all);

/* Whether a list of words separated by blanks has this one of n bytes. */
bool leftover_has_word(const char *words, const char *word, size_t n);

#endif
