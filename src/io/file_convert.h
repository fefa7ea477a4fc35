/* Conversion internals: the type of each tensor (file_convert_types.c), metadata (file_convert_meta.c), and the
 * conversion itself (file_convert.c). */
#ifndef RLX_IO_FILE_CONVERT_H
#define RLX_IO_FILE_CONVERT_H

#include "io/file.h"

/* The source of a conversion: the tensors of a file, or tensors derived from them. */
typedef struct convert_source {
  const rlx_file *file;           /* the file that tensors are read from; must not be overwritten */
  const rlx_file_tensor *tensors; /* name, dtype, shape, bytes */
  size_t n;
  void *user;
  /* Reads bytes of tensor i from offset `from`; called in order. */
  rlx_status (*read)(void *user, size_t i, size_t from, void *data, size_t bytes);
  rlx_status (*write_metas)(void *user, rlx_file_writer *w); /* except keys about types */
  /* Checks the complete draft before it is renamed; may be NULL. */
  rlx_status (*check)(void *user, const char *draft);
} convert_source;
/* rlx_file_convert for any source. */
rlx_status convert_source_write(const convert_source *source, const char *path, const rlx_convert_options *options);

typedef struct convert_types {
  const rlx_convert_options *options;
  bool to_gguf;
  bool has_type, has_head;
  rlx_dtype type; /* if has_type */
} convert_types;

rlx_status convert_types_init(convert_types *c, const convert_source *source, const rlx_convert_options *o,
                              bool to_gguf);
/* The type that a tensor is written with; *wanted is the type it would have if its rows were whole blocks. */
rlx_status convert_type_of(const convert_types *c, const rlx_file_tensor *t, rlx_dtype *wanted, rlx_dtype *out);
/* Copies all metadata to a writer (file_convert_meta.c), except keys that do not hold for the new file. */
rlx_status convert_metas(const rlx_file *f, bool to_gguf, bool has_type, rlx_file_writer *w);
/* Writes the GGUF keys about tensor types. */
rlx_status convert_type_metas(const convert_types *c, rlx_file_writer *w);

/* llama.cpp's general.file_type for files of this type; -1: none. */
int convert_file_type(rlx_dtype type);

#endif
