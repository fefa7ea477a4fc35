/* Conversion internals: types of tensors (file_convert_types.c, file_mix.c), metadata (file_convert_meta.c), and the
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

/* What the rules of a mix look at besides a matrix. */
typedef struct mix_facts {
  int64_t layers, experts;
  bool is_grouped;  /* four or more heads share one of keys and values */
  bool is_measured; /* there is an importance matrix */
  bool has_head;    /* else the token embedding makes the logits */
} mix_facts;

/* PATTERN=TYPE */
typedef struct convert_override {
  char *pattern;
  rlx_dtype type;
} convert_override;

typedef struct convert_types {
  const rlx_convert_options *options;
  bool to_gguf;
  bool has_type;
  rlx_dtype type; /* if has_type */
  int mix;        /* -1: none */
  mix_facts facts;
  RLX_ARRAY(convert_override) overrides;
} convert_types;

/* Call deinit even after a failure. */
rlx_status convert_types_init(convert_types *c, const convert_source *source, const rlx_convert_options *o,
                              bool to_gguf);
void convert_types_deinit(convert_types *c);
/* Whether a tensor's name is that of the output weight, or of the token embedding. */
bool convert_is_head(const char *name);
bool convert_is_embedding(const char *name);
/* The type that a tensor is written with; *wanted is the type it would have if its rows were whole blocks. */
rlx_status convert_type_of(const convert_types *c, const rlx_file_tensor *t, rlx_dtype *wanted, rlx_dtype *out);
/* Copies all metadata to a writer (file_convert_meta.c), except keys that do not hold for the new file. */
rlx_status convert_metas(const rlx_file *f, bool to_gguf, bool has_type, rlx_file_writer *w);
/* Writes the GGUF keys about tensor types. */
rlx_status convert_type_metas(const convert_types *c, rlx_file_writer *w);

/* llama.cpp's general.file_type for files of these types; -1: none. */
int convert_file_type(const convert_types *c);

#endif
