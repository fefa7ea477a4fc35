/* Leftovers: what a file contains and no reader used. All of it is refused by name in one message.
 *
 * The reader of a model marks each tensor, key and field that it uses. The rest would be silently ignored, and a
 * model with a part ignored is a different model. So every leftover is looked up here. It is harmless if
 * file_leftover.def lists it, with a reason. All others are collected, and the model is refused with the whole list,
 * each with what it would need if that is known.
 *
 * The list is one file, file_leftover.def. A reader that knows only at run time that an item has no effect (a factor
 * of a scaling that is off) marks it as used instead. */
#ifndef RLX_IO_FILE_LEFTOVER_H
#define RLX_IO_FILE_LEFTOVER_H

#include "base/str.h"
#include "rlx/lm.h"

typedef enum leftover_kind {
  LEFT_TENSOR,          /* in a GGUF, or a file with GGUF names */
  LEFT_HF_TENSOR,       /* in a Hugging Face folder */
  LEFT_KEY,             /* GGUF metadata key */
  LEFT_TOKENIZER,       /* GGUF key under tokenizer. */
  LEFT_FIELD,           /* field of config.json */
  LEFT_OUTER,           /* field of config.json outside text_config, in multimodal models */
  LEFT_TOKENIZER_FIELD, /* field of tokenizer_config.json */
  LEFT_FILE,            /* a text file next to the weights */
  LEFT_KINDS
} leftover_kind;

typedef struct leftover {
  leftover_kind kind;
  const char *name;
  rlx_meta value; /* of a key or field; a JSON list or object is a list with that number of elements */
} leftover;

typedef struct leftovers {
  const char *family; /* GGUF architecture */
  rlx_str text;
  size_t n;
} leftovers;

/* Collects an item unless it is harmless. */
void leftover_add(leftovers *all, const leftover *one);
/* RLX_OK if nothing was collected; else RLX_UNSUPPORTED with the whole list. */
rlx_status leftover_refuse(const leftovers *all);
void leftovers_deinit(leftovers *all);

/* Whether a blank-separated list contains this word of n bytes. */
bool leftover_has_word(const char *words, const char *word, size_t n);

#endif
