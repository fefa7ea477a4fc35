/* Weight file writing, internals: the functions that each format implements. */
#ifndef RLX_IO_FILE_WRITE_H
#define RLX_IO_FILE_WRITE_H

#include "base/file.h"
#include "base/str.h"
#include "io/file.h"

struct rlx_file_writer {
  const struct file_format *format;
  rlx_draft draft;
  rlx_str metas; /* encoded for the file */
  rlx_bump names;
  RLX_ARRAY(const char *) keys;
  RLX_ARRAY(rlx_file_tensor) tensors; /* offsets are relative to the data */
  size_t alignment;
  uint64_t data_bytes; /* bytes of all tensors so far, with padding */
  bool is_begun, is_over;
  size_t at;   /* tensor whose bytes come next */
  size_t done; /* bytes of it written */
};

typedef struct file_format {
  const char *ending;
  bool pads;                                                     /* tensors are aligned, and the last one is padded */
  rlx_status (*add_meta)(rlx_file_writer *w, const rlx_meta *m); /* appends to w->metas */
  rlx_status (*check_tensor)(const rlx_file_tensor *t);          /* whether the format can hold it */
  rlx_status (*make_head)(const rlx_file_writer *w, rlx_str *head); /* everything before the data */
} file_format;

/* GGUF encoding: numbers, texts, and a value without its type. */
void gguf_add_number(rlx_str *s, uint64_t v, size_t bytes);
void gguf_add_text(rlx_str *s, const char *text, size_t n);
rlx_status gguf_add_value(rlx_str *s, gguf_type type, const rlx_meta *m);

/* Checks that a text set by a caller has the length it declares. */
rlx_status file_check_text(const rlx_meta *m);
/* Selects the format by the ending of the path. */
rlx_status file_format_of(const char *path, const file_format **out);

extern const file_format file_format_gguf, file_format_safetensors;

#endif
