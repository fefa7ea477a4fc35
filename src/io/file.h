/* Weight file internals: the structure that the readers fill.
 *
 * A file consists of parts (each an open descriptor), tensors, and metadata. Three readers fill it: file_gguf.c,
 * file_safetensors.c, and file_folder.c, which finds the files of the others. Everything is checked while opening;
 * afterwards it is immutable, so threads may share it. Tensor bytes are read with pread, never mapped: a file that
 * shrinks must be a status, not a signal.
 *
 * Limits far above what real models need keep the cost of a hostile file near its own size. */
#ifndef RLX_IO_FILE_H
#define RLX_IO_FILE_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/bump.h"
#include "base/file.h"
#include "base/status.h"
#include "rlx/lm.h"

enum {
  FILE_MAX_HEAD = 128 << 20,     /* bytes of the metadata and tensor list of a GGUF */
  FILE_MAX_JSON = 100 * 1000000, /* bytes of a safetensors header, an index, or any JSON file of a folder */
  FILE_MAX_TENSORS = 1 << 18,
  FILE_MAX_METAS = 1 << 16,
  FILE_MAX_NAME = 65535, /* bytes of a key or of a tensor's name */
  FILE_MAX_PARTS = 10000,
  FILE_MAX_LISTS = 1 << 16, /* lists in a GGUF, including nested ones */
  FILE_MAX_DEPTH = 8,       /* nesting of lists */
  FILE_MAX_TYPED = 1 << 21, /* list elements in the metadata of a safetensors file */
};

/* ---- GGUF's values: file_meta.c ---- */

/* The values are those of the format. */
typedef enum gguf_type {
  GGUF_U8,
  GGUF_I8,
  GGUF_U16,
  GGUF_I16,
  GGUF_U32,
  GGUF_I32,
  GGUF_F32,
  GGUF_BOOL,
  GGUF_STRING,
  GGUF_ARRAY,
  GGUF_U64,
  GGUF_I64,
  GGUF_F64,
  GGUF_TYPES
} gguf_type;

size_t gguf_type_size(gguf_type t);      /* bytes of a value; 0: variable */
const char *gguf_type_name(gguf_type t); /* "u32" */
rlx_meta_kind gguf_type_kind(gguf_type t);

/* Loads n <= 8 little-endian bytes. */
static inline uint64_t gguf_load(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
  return v;
}

/* In the file a text is 8 bytes of length, then its bytes. In memory it is 7 bytes of length, the bytes, and a NUL:
 * it was moved one byte to the front, over the highest byte of the length, which is 0. So texts are NUL-terminated
 * in place and lists of texts can still be walked. */
static inline size_t gguf_text_bytes(const unsigned char *p) { return (size_t)gguf_load(p, 7); }
static inline const char *gguf_text(const unsigned char *p) { return (const char *)p + 7; }

enum { GGUF_MARK_EVERY = 32 };

/* A list. Numbers are contiguous. For texts, the offset of every 32nd is stored, so that any is found in a few
 * steps. Nested lists are consecutive records. */
typedef struct gguf_list {
  const struct gguf_lists *all;
  gguf_type type;
  size_t n;
  size_t at;    /* offset of its first element in the head */
  size_t first; /* index of its first stored offset, or of its first inner list */
} gguf_list;
typedef RLX_ARRAY(size_t) gguf_marks;
typedef struct gguf_lists {
  const unsigned char *head;
  RLX_ARRAY(gguf_list) list;
  gguf_marks marks;
} gguf_lists;

extern const char file_types_key[]; /* key in safetensors metadata: see file_typed.c */

/* ---- Names: file_names.c ---- */

/* Name index of an array whose items begin with `const char *name`. */
typedef struct file_names {
  uint32_t *slots; /* item index + 1; 0: free */
  size_t mask;
  uint64_t seed; /* random, so that a file cannot choose colliding names */
} file_names;
/* On a duplicate name, *twice is that name (and the status RLX_OK); else NULL. */
rlx_status file_names_build(file_names *t, const void *items, size_t n, size_t stride, const char **twice);
/* Returns n, the number of items, if there is none. */
size_t file_names_find(const file_names *t, const void *items, size_t n, size_t stride, const char *name);
void file_names_deinit(file_names *t);

/* ---- The file ---- */

typedef struct file_meta {
  const char *key;
  const char *text;           /* safetensors and folders */
  size_t n;                   /* its bytes */
  const unsigned char *value; /* GGUF; else NULL */
  gguf_type type;
  size_t list; /* record of a list */
} file_meta;

typedef struct file_part {
  char *path;
  int fd;
  uint64_t bytes;      /* size when it was opened */
  rlx_stamp stamp;     /* identity and times that must not change */
  uint64_t data;       /* offset of the tensor data */
  unsigned char *head; /* GGUF: metadata and tensor list */
  size_t head_bytes;   /* bytes of the head */
  gguf_lists *lists;   /* lists in the head */
  uint32_t alignment;  /* of tensor data */
  uint32_t first_tensor, n_tensors;
  bool has_metadata; /* safetensors: __metadata__ was seen */
} file_part;

struct rlx_file {
  char format[16];
  const char *named; /* while opening: the path that the caller gave, and .. */
  char *folder;      /* .. the folder that all other files must be in */
  bool is_gguf;
  RLX_ARRAY(file_part) parts;
  RLX_ARRAY(rlx_file_tensor) tensors;
  RLX_ARRAY(file_meta) metas;
  file_names tensor_names, meta_names;
  rlx_bump texts;     /* names and values that are not in a head */
  atomic_uint n_uses; /* calls in progress that may call back: the last one closes the file */
  rlx_limits limits;  /* limits of opening, also for objects made from it: a tokenizer */
};

/* Holds the file open during a call; ends with rlx_file_close, like the use of the caller. */
rlx_file *file_use(const rlx_file *f);

/* Opens another part; *out is its index. Here and below, files that the caller did not name must be in the folder of
 * the model. */
rlx_status file_add_part(rlx_file *f, const char *path, uint32_t *out);
rlx_status file_read_part(const rlx_file *f, uint32_t part, uint64_t offset, void *data, size_t bytes);
/* Reads a whole file of at most FILE_MAX_JSON bytes as text (free with rlx_mem_free). */
rlx_status file_read_text(const rlx_file *f, const char *path, char **text, size_t *bytes);
/* Copies a text into the memory of the file. */
rlx_status file_keep_text(rlx_file *f, const char *text, size_t n, const char **out);
rlx_status file_add_text(rlx_file *f, const char *key, const char *text, size_t n);
/* Empties long metadata lists (the tables of a tokenizer) and frees their memory. */
void file_drop_lists(rlx_file *f);
/* Builds the name index of metadata and tensors; refuses duplicates. Call it again after adding items. */
rlx_status file_find_names(rlx_file *f);
/* RLX_UNSUPPORTED, naming the tensors, if some are of types that RLX does not have. */
rlx_status file_check_types(const rlx_file *f);
/* Checks a key or tensor name: non-empty UTF-8 without NUL. `what` is for the message. */
rlx_status file_check_name(const char *what, const char *name, size_t bytes);

/* ---- The readers ---- */

/* Reads one more part and adds its tensors and metadata. */
rlx_status file_read_safetensors(rlx_file *f, const char *path);

/* Parses n keys and values in GGUF encoding, known to be valid. The part takes ownership of the bytes; `out` has n
 * entries. */
rlx_status file_parse_values(rlx_file *f, uint32_t part, unsigned char *bytes, size_t n_bytes, size_t n,
                             file_meta *out);
/* Restores the types that the metadata of a safetensors file had in a GGUF. */
rlx_status file_restore_types(rlx_file *f);

/* Open all files of the model that the path belongs to. */
rlx_status file_open_gguf(rlx_file *f, const char *path, const rlx_watch *watch);
rlx_status file_open_index(rlx_file *f, const char *path, const rlx_watch *watch);
rlx_status file_open_folder(rlx_file *f, const char *path, const rlx_watch *watch);

/* Called between parts: reports progress; fails if cancelled. */
rlx_status file_watch(const rlx_watch *watch, const char *stage, uint64_t done, uint64_t total);

#endif
