/* Weight files from the inside: what the readers fill and the rest reads.
 *
 * A file is parts (each a descriptor that stays open), tensors, and metadata. Three readers fill it: file_gguf.c,
 * file_safetensors.c, and file_folder.c, which finds the others' files. Everything in it is checked when it is opened;
 * afterwards it does not change, so threads may share it. Tensor bytes are read by place (never mapped: a file that
 * shrinks must be a status, not a signal).
 *
 * Limits, all far above what models have, keep what a hostile file costs near its own size. */
#ifndef RLX_IO_FILE_H
#define RLX_IO_FILE_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/bump.h"
#include "base/file.h"
#include "base/status.h"
#include "rlx/lm.h"

enum {
  FILE_MAX_HEAD = 128 << 20,     /* bytes of a GGUF's metadata and tensor list */
  FILE_MAX_JSON = 100 * 1000000, /* bytes of a safetensors header, of an index, of any JSON file of a folder */
  FILE_MAX_TENSORS = 1 << 18,
  FILE_MAX_METAS = 1 << 16,
  FILE_MAX_NAME = 65535, /* bytes of a key or of a tensor's name */
  FILE_MAX_PARTS = 10000,
  FILE_MAX_LISTS = 1 << 16, /* lists of a GGUF, those inside lists too */
  FILE_MAX_DEPTH = 8,       /* lists in lists */
  FILE_MAX_TYPED = 1 << 21, /* elements of lists in a safetensors' metadata */
};

/* ---- GGUF's values: file_meta.c ---- */

/* The numbers are the format's. */
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

size_t gguf_type_size(gguf_type t);      /* bytes of a value; 0: it says so itself */
const char *gguf_type_name(gguf_type t); /* "u32" */
rlx_meta_kind gguf_type_kind(gguf_type t);

/* Little-endian, of n <= 8 bytes. */
static inline uint64_t gguf_load(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
  return v;
}

/* A text in the file is 8 bytes of length, then its bytes. In memory it is 7 bytes of length, the bytes, and a NUL: it has
 * been moved one byte to the front, over the length's highest byte, which is 0. So texts end in NUL where they lie, and
 * lists of texts can still be walked. */
static inline size_t gguf_text_bytes(const unsigned char *p) { return (size_t)gguf_load(p, 7); }
static inline const char *gguf_text(const unsigned char *p) { return (const char *)p + 7; }

enum { GGUF_MARK_EVERY = 32 };

/* A list. Numbers lie one after another. Of texts every 32nd is marked, so that any is found in a few steps. Lists in lists
 * are records one after another. */
typedef struct gguf_list {
  const struct gguf_lists *all;
  gguf_type type;
  size_t n;
  size_t at;    /* its first element, from the head's start */
  size_t first; /* its first mark, or its first inner list */
} gguf_list;
typedef RLX_ARRAY(size_t) gguf_marks;
typedef struct gguf_lists {
  const unsigned char *head;
  RLX_ARRAY(gguf_list) list;
  gguf_marks marks;
} gguf_lists;

extern const char file_types_key[]; /* of safetensors' metadata: see file_typed.c */

/* ---- Names: file_names.c ---- */

/* Finds the items of an array by name: each begins with its `const char *name`. */
typedef struct file_names {
  uint32_t *slots; /* an item's number + 1; 0: free */
  size_t mask;
  uint64_t seed; /* so that nobody can write a file whose names all fall into one slot */
} file_names;
/* On two items of one name *twice is it (and the status RLX_OK); else NULL. */
rlx_status file_names_build(file_names *t, const void *items, size_t n, size_t stride, const char **twice);
/* n, the count of items, if there is none. */
size_t file_names_find(const file_names *t, const void *items, size_t n, size_t stride, const char *name);
void file_names_deinit(file_names *t);

/* ---- The file ---- */

typedef struct file_meta {
  const char *key;
  const char *text;           /* of safetensors, folders */
  size_t n;                   /* its bytes */
  const unsigned char *value; /* of a GGUF, or NULL */
  gguf_type type;
  size_t list; /* its record, of a list */
} file_meta;

typedef struct file_part {
  char *path;
  int fd;
  size_t bytes;        /* when it was opened */
  rlx_stamp stamp;     /* and all else that must stay as it was */
  uint64_t data;       /* where tensors begin */
  unsigned char *head; /* of a GGUF: metadata and tensor list */
  size_t head_bytes;   /* of it */
  gguf_lists *lists;   /* in it */
  uint32_t alignment;  /* of tensors */
  uint32_t first_tensor, n_tensors;
  bool has_metadata; /* of safetensors: __metadata__ has been seen */
} file_part;

struct rlx_file {
  char format[16];
  const char *named; /* while it is opened: the path that was given, and .. */
  char *folder;      /* .. the folder that all other files must lie in */
  bool is_gguf;
  RLX_ARRAY(file_part) parts;
  RLX_ARRAY(rlx_file_tensor) tensors;
  RLX_ARRAY(file_meta) metas;
  file_names tensor_names, meta_names;
  rlx_bump texts;     /* names and values that are not in a head */
  atomic_uint n_uses; /* calls that read it now and call back: a close from there waits for them */
  rlx_limits limits;  /* of opening it, and of what is made from it: a tokenizer */
};

/* For as long as a call reads the file; ends with rlx_file_close, as the caller's own use does. */
rlx_file *file_use(const rlx_file *f);

/* Opens another part; *out is its number. What was not named by the caller must lie in the model's folder, here and below. */
rlx_status file_add_part(rlx_file *f, const char *path, uint32_t *out);
rlx_status file_read_part(const rlx_file *f, uint32_t part, uint64_t offset, void *data, size_t bytes);
/* A whole file as text (free with rlx_mem_free) of at most FILE_MAX_JSON bytes. */
rlx_status file_read_text(const rlx_file *f, const char *path, char **text, size_t *bytes);
/* A copy that lives as long as the file. */
rlx_status file_keep_text(rlx_file *f, const char *text, size_t n, const char **out);
rlx_status file_add_text(rlx_file *f, const char *key, const char *text, size_t n);
/* Long lists of the metadata (a tokenizer's tables) become empty, and their memory goes back. */
void file_drop_lists(rlx_file *f);
/* Makes metadata and tensors be found by name; refuses two of one name. Again where more has come. */
rlx_status file_find_names(rlx_file *f);
/* RLX_UNSUPPORTED, and which, if tensors are of types that RLX does not have. */
rlx_status file_check_types(const rlx_file *f);
/* A key or tensor name of a file: some bytes of UTF-8 without NUL. `what` is for the message. */
rlx_status file_check_name(const char *what, const char *name, size_t bytes);

/* ---- The readers ---- */

/* One more part: its tensors and metadata are added. */
rlx_status file_read_safetensors(rlx_file *f, const char *path);

/* n keys with their values as a GGUF has them, which are good: the part takes the bytes, and `out` has n entries. */
rlx_status file_parse_values(rlx_file *f, uint32_t part, unsigned char *bytes, size_t n_bytes, size_t n,
                             file_meta *out);
/* Gives texts of a safetensors back the types that a GGUF had them in. */
rlx_status file_restore_types(rlx_file *f);

/* All of the model that the path is of. */
rlx_status file_open_gguf(rlx_file *f, const char *path, const rlx_watch *watch);
rlx_status file_open_index(rlx_file *f, const char *path, const rlx_watch *watch);
rlx_status file_open_folder(rlx_file *f, const char *path, const rlx_watch *watch);

/* Between parts: progress, and whether to go on. */
rlx_status file_watch(const rlx_watch *watch, const char *stage, uint64_t done, uint64_t total);

#endif
