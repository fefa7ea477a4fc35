/* Writing weight files from the inside: what the formats do for the writer. */
#ifndef RLX_IO_FILE_WRITE_H
#define RLX_IO_FILE_WRITE_H

#include "base/file.h"
#include "base/str.h"
#include "io/file.h"

struct rlx_file_writer {
  const struct file_format *format;
  rlx_draft draft;
  rlx_str metas; /* as they will stand in the file */
  rlx_bump names;
  RLX_ARRAY(const char *) keys;
  RLX_ARRAY(rlx_file_tensor) tensors; /* their offsets: from the data's start */
  size_t alignment;
  uint64_t data_bytes; /* of the tensors so far, with padding between */
  bool is_begun, is_over;
  size_t at;   /* the tensor whose bytes come next */
  size_t done; /* bytes of it that have come */
};

typedef struct file_format {
  const char *ending;
  bool pads; /* tensors begin at multiples of the alignment, and the last one is filled up */
  rlx_status (*add_meta)(rlx_file_writer *w, const rlx_meta *m);    /* to w->metas */
  rlx_status (*check_tensor)(const rlx_file_tensor *t);             /* can it be written at all? */
  rlx_status (*make_head)(const rlx_file_writer *w, rlx_str *head); /* all before the data */
} file_format;

/* Pieces of GGUF: numbers, texts, and a value without its type before it. */
void gguf_add_number(rlx_str *s, uint64_t v, size_t bytes);
void gguf_add_text(rlx_str *s, const char *text, size_t n);
rlx_status gguf_add_value(rlx_str *s, gguf_type type, const rlx_meta *m);

/* Whether a text given by hand is as long as it says. */
rlx_status file_check_text(const rlx_meta *m);
/* By the path's ending. */
rlx_status file_format_of(const char *path, const file_format **out);

extern const file_format file_format_gguf, file_format_safetensors;

#endif
