/* Converting from the inside: which type a tensor gets (file_convert_types.c), metadata
 * (file_convert_meta.c), and the rest (file_convert.c). */
#ifndef RLX_IO_FILE_CONVERT_H
#define RLX_IO_FILE_CONVERT_H

#include "io/file.h"

/* What is written: a file's tensors, or those that somebody makes of them. */
typedef struct convert_source {
  const rlx_file *file;           /* what the tensors are read from, which is not to be written over */
  const rlx_file_tensor *tensors; /* name, dtype, shape, bytes */
  size_t n;
  void *user;
  /* Bytes of tensor i from `from` on; asked for in order. */
  rlx_status (*read)(void *user, size_t i, size_t from, void *data, size_t bytes);
  rlx_status (*write_metas)(void *user, rlx_file_writer *w); /* but what tells of the types */
  /* The whole file, before it takes its place; may be NULL. */
  rlx_status (*check)(void *user, const char *draft);
} convert_source;
/* As rlx_file_convert, which is this of a file. */
rlx_status convert_source_write(const convert_source *source, const char *path, const rlx_convert_options *options);

typedef struct convert_types {
  const rlx_convert_options *options;
  bool to_gguf;
  bool has_type, has_head;
  rlx_dtype type; /* where has_type */
} convert_types;

rlx_status convert_types_init(convert_types *c, const convert_source *source, const rlx_convert_options *o,
                              bool to_gguf);
/* The type that a tensor is written with; *wanted is what it would be if its rows were whole blocks. */
rlx_status convert_type_of(const convert_types *c, const rlx_file_tensor *t, rlx_dtype *wanted, rlx_dtype *out);
/* All metadata of a file to another's writer (file_convert_meta.c), but what is not true of the new one. */
rlx_status convert_metas(const rlx_file *f, bool to_gguf, bool has_type, rlx_file_writer *w);
/* What a GGUF says about the types of its tensors. */
rlx_status convert_type_metas(const convert_types *c, rlx_file_writer *w);

/* llama.cpp's number for files of this type, for general.file_type; -1: it has none. */
int convert_file_type(rlx_dtype type);

#endif
