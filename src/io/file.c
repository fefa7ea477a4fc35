/* Weight files: detects the format, opens the file, and implements the functions that all formats share.
 *
 * The format is detected by the first bytes; the file name only selects the message if they are unknown. A file is
 * either open with its whole description checked, or not open. */
#include "io/file.h"

#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/os_file.h"
#include "base/str.h"
#include "ir/shape.h"

/* ---- Shared by the readers ----------------------------------------------------------------------------------- */

rlx_status file_watch(const rlx_watch *watch, const char *stage, uint64_t done, uint64_t total) {
  if (!watch) return RLX_OK;
  if (watch->progress) watch->progress(watch->user, stage, done, total);
  if (rlx_stops(watch->cancel, watch->user)) return RLX_FAIL(RLX_CANCELLED, "cancelled");
  return RLX_OK;
}

rlx_status file_add_part(rlx_file *f, const char *path, uint32_t *out) {
  if (f->parts.n == FILE_MAX_PARTS)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d files of one model", FILE_MAX_PARTS);
  size_t n = strlen(path) + 1;
  file_part p = {.fd = -1, .path = rlx_mem_alloc(n), .first_tensor = (uint32_t)f->tensors.n, .alignment = 1};
  rlx_status s = p.path ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for the path '%s'", path);
  if (!s) memcpy(p.path, path, n);
  if (!s) s = rlx_fd_open(path, &p.fd, &p.stamp);
  if (!s && strcmp(path, f->named) != 0) s = rlx_fd_check_beneath(p.fd, path, f->folder);
  p.bytes = p.stamp.bytes;
  if (!s && !rlx_array_push(&f->parts, p)) s = RLX_FAIL(RLX_NO_MEMORY, "no memory for file %zu of a model", f->parts.n);
  if (s) {
    rlx_fd_close(p.fd);
    rlx_mem_free(p.path);
    return s;
  }
  *out = (uint32_t)f->parts.n - 1;
  return RLX_OK;
}

rlx_status file_read_text(const rlx_file *f, const char *path, char **text, size_t *bytes) {
  if (strcmp(path, f->named) == 0) return rlx_file_read(path, FILE_MAX_JSON, text, bytes);
  return rlx_file_read_beneath(f->folder, path, FILE_MAX_JSON, text, bytes);
}

rlx_status file_read_part(const rlx_file *f, uint32_t part, uint64_t offset, void *data, size_t bytes) {
  const file_part *p = &f->parts.v[part];
  return rlx_fd_read(p->fd, p->path, &p->stamp, offset, data, bytes);
}

rlx_status file_keep_text(rlx_file *f, const char *text, size_t n, const char **out) {
  *out = rlx_bump_text(&f->texts, text, n);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for a text of %zu bytes", n);
}

rlx_status file_add_text(rlx_file *f, const char *key, const char *text, size_t n) {
  file_meta m = {.n = n};
  if (f->metas.n == FILE_MAX_METAS)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d keys of metadata", FILE_MAX_METAS);
  RLX_TRY(file_keep_text(f, key, strlen(key), &m.key));
  RLX_TRY(file_keep_text(f, text, n, &m.text));
  return rlx_array_push(&f->metas, m) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for the metadata '%s'", key);
}

rlx_status file_check_name(const char *what, const char *name, size_t bytes) {
  if (bytes == 0) return RLX_FAIL(RLX_INVALID, "%s is empty", what);
  if (bytes > FILE_MAX_NAME)
    return RLX_FAIL(RLX_INVALID, "%s has %zu bytes, expected at most %d", what, bytes, FILE_MAX_NAME);
  if (memchr(name, 0, bytes)) return RLX_FAIL(RLX_INVALID, "%s holds a NUL after '%s'", what, name);
  if (!rlx_text_is_utf8(name)) return RLX_FAIL(RLX_INVALID, "%s is not UTF-8", what);
  return RLX_OK;
}

rlx_status file_check_types(const rlx_file *f) {
  enum { MAX_REPORT = 400, MAX_NAME = 100 }; /* limits of a message, in bytes */
  rlx_str list = {0};
  size_t n = 0, n_listed = 0;
  for (size_t i = 0; i < f->tensors.n; i++) {
    const rlx_file_tensor *t = &f->tensors.v[i];
    if (t->dtype != RLX_DTYPE_UNKNOWN) continue;
    n++;
    if (list.n >= MAX_REPORT) continue;
    rlx_str_add(&list, "%s'%.*s' is %s", n_listed ? ", " : "", MAX_NAME, t->name, t->type);
    n_listed++;
  }
  if (n == 0) return RLX_OK;
  rlx_status s = RLX_FAIL(RLX_UNSUPPORTED, "%zu of %zu tensors are of types that RLX does not have: %s%s", n,
                          f->tensors.n, list.v ? list.v : "", n > n_listed ? ", .." : "");
  rlx_str_deinit(&list);
  return s;
}

/* ---- Opening ------------------------------------------------------------------------------------------------- */

typedef enum content { IS_UNKNOWN, IS_GGUF, IS_SAFETENSORS, IS_INDEX, IS_FOLDER } content;

/* Files that users mistake for weight files, with what to do instead. */
static const struct {
  const char *start;
  size_t bytes;
  const char *what;
} others[] = {
  {"version https://git-lfs", 23, "a Git LFS pointer: the file it stands for has not been fetched ('git lfs pull')"},
  {"PK\003\004", 4, "a zip archive; a PyTorch checkpoint must be saved as safetensors first"},
  {"\200\002", 2, "a Python pickle; a PyTorch checkpoint must be saved as safetensors first"},
  {"<!DOCTYPE", 9, "a web page"},
  {"<html", 5, "a web page"},
  {"FUGG", 4, "a GGUF of a big-endian machine"},
  {"ggml", 4, "a file of a format before GGUF"},
  {"tjgg", 4, "a file of a format before GGUF"},
};

static content content_of(const unsigned char *head, size_t n) {
  if (n >= 4 && memcmp(head, "GGUF", 4) == 0) return IS_GGUF;
  if (n >= 9 && head[8] == '{') return IS_SAFETENSORS;
  size_t i = 0;
  while (i < n && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t')) i++;
  return i < n && head[i] == '{' ? IS_INDEX : IS_UNKNOWN;
}

static rlx_status refuse(const char *path, const unsigned char *head, size_t n) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (n >= others[i].bytes && memcmp(head, others[i].start, others[i].bytes) == 0)
      return RLX_FAIL(RLX_UNSUPPORTED, "'%s' is %s", path, others[i].what);
  return RLX_FAIL(RLX_INVALID, "'%s' is neither a GGUF nor safetensors%s", path, n ? "" : ": it is empty");
}

static rlx_status detect_content(const char *path, content *out) {
  rlx_os_stat st;
  unsigned char head[64];
  int fd;
  rlx_stamp stamp;
  *out = IS_UNKNOWN;
  if (rlx_os_stat_path(path, &st) && st.kind == RLX_OS_FOLDER) {
    *out = IS_FOLDER;
    return RLX_OK;
  }
  RLX_TRY(rlx_fd_open(path, &fd, &stamp));
  size_t bytes = stamp.bytes < sizeof head ? (size_t)stamp.bytes : sizeof head;
  rlx_status s = rlx_fd_read(fd, path, &stamp, 0, head, bytes);
  rlx_fd_close(fd);
  RLX_TRY(s);
  *out = content_of(head, bytes);
  if (*out != IS_UNKNOWN) return RLX_OK;
  /* The reader of the expected format gives the best message, unless the file is of a known other kind. */
  bool is_other = false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    is_other |= bytes >= others[i].bytes && memcmp(head, others[i].start, others[i].bytes) == 0;
  if (!is_other && rlx_text_ends_with(path, ".gguf")) *out = IS_GGUF;
  if (!is_other && rlx_text_ends_with(path, ".safetensors")) *out = IS_SAFETENSORS;
  return *out == IS_UNKNOWN ? refuse(path, head, bytes) : RLX_OK;
}

rlx_status file_find_names(rlx_file *f) {
  const char *twice;
  file_names_deinit(&f->meta_names);
  file_names_deinit(&f->tensor_names);
  RLX_TRY(file_names_build(&f->meta_names, f->metas.v, f->metas.n, sizeof *f->metas.v, &twice));
  if (twice) return RLX_FAIL(RLX_INVALID, "the metadata has the key '%s' twice", twice);
  RLX_TRY(file_names_build(&f->tensor_names, f->tensors.v, f->tensors.n, sizeof *f->tensors.v, &twice));
  if (twice) return RLX_FAIL(RLX_INVALID, "the tensor '%s' is there twice", twice);
  return RLX_OK;
}

/* Stores the folder of a file, or the folder itself. */
static rlx_status find_folder(rlx_file *f, const char *path, bool is_folder) {
  const size_t n = rlx_os_folder_bytes(path);
  rlx_str folder = {0};
  f->named = path;
  if (is_folder) rlx_str_add_bytes(&folder, path, strlen(path));
  else if (n) rlx_str_add_bytes(&folder, path, n);
  else rlx_str_add_char(&folder, '.');
  return rlx_str_take(&folder, &f->folder);
}

static rlx_status open_all(rlx_file *f, const char *path, const rlx_watch *watch) {
  content what;
  RLX_TRY(detect_content(path, &what));
  RLX_TRY(find_folder(f, path, what == IS_FOLDER));
  switch (what) {
    case IS_FOLDER: RLX_TRY(file_open_folder(f, path, watch)); break;
    case IS_INDEX: RLX_TRY(file_open_index(f, path, watch)); break;
    case IS_SAFETENSORS: RLX_TRY(file_read_safetensors(f, path)); break;
    default: RLX_TRY(file_open_gguf(f, path, watch));
  }
  if (!f->is_gguf) snprintf(f->format, sizeof f->format, "safetensors");
  RLX_TRY_AT(file_find_names(f), "%s", path);
  if (!f->is_gguf) RLX_TRY_AT(file_restore_types(f), "%s", path);
  return file_watch(watch, "open", f->parts.n, f->parts.n);
}

rlx_status rlx_file_open(const char *path, const rlx_watch *watch, rlx_file **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_file_open: out is NULL");
  *out = NULL;
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_file_open: path is NULL");
  RLX_TRY(rlx_watch_check("rlx_file_open", watch));
  rlx_file *f = rlx_new(rlx_file);
  if (!f) return RLX_FAIL(RLX_NO_MEMORY, "no memory to open '%s'", path);
  rlx_budget budget;
  f->limits = watch ? watch->limits : (rlx_limits){0};
  rlx_budget_begin(&budget, "rlx_file_open", &f->limits, RLX_LOAD_WORK, watch);
  rlx_status s = rlx_budget_end(&budget, open_all(f, path, watch));
  rlx_mem_free(f->folder);
  f->folder = NULL;
  f->named = NULL;
  if (s) {
    rlx_file_close(f);
    return s;
  }
  *out = f;
  return RLX_OK;
}

rlx_file *file_use(const rlx_file *f) {
  rlx_file *file = (rlx_file *)(uintptr_t)f; /* only the use count changes */
  atomic_fetch_add_explicit(&file->n_uses, 1, memory_order_relaxed);
  return file;
}

void rlx_file_close(rlx_file *f) {
  if (!f || atomic_fetch_sub_explicit(&f->n_uses, 1, memory_order_acq_rel) > 0) return;
  for (size_t i = 0; i < f->parts.n; i++) {
    file_part *p = &f->parts.v[i];
    rlx_fd_close(p->fd);
    rlx_mem_free(p->path);
    rlx_mem_free(p->head);
    if (p->lists) {
      rlx_array_deinit(&p->lists->list);
      rlx_array_deinit(&p->lists->marks);
    }
    rlx_mem_free(p->lists);
  }
  rlx_array_deinit(&f->parts);
  rlx_array_deinit(&f->tensors);
  rlx_array_deinit(&f->metas);
  file_names_deinit(&f->tensor_names);
  file_names_deinit(&f->meta_names);
  rlx_bump_deinit(&f->texts);
  rlx_mem_free(f);
}

/* ---- Queries ------------------------------------------------------------------------------------------------- */

const char *rlx_file_format(const rlx_file *f) { return f ? f->format : NULL; }
uint32_t rlx_file_part_count(const rlx_file *f) { return f ? (uint32_t)f->parts.n : 0; }
const char *rlx_file_part_at(const rlx_file *f, uint32_t part) {
  return f && part < f->parts.n ? f->parts.v[part].path : NULL;
}
uint32_t rlx_file_tensor_count(const rlx_file *f) { return f ? (uint32_t)f->tensors.n : 0; }
const rlx_file_tensor *rlx_file_tensor_at(const rlx_file *f, uint32_t i) {
  return f && i < f->tensors.n ? &f->tensors.v[i] : NULL;
}

const rlx_file_tensor *rlx_file_tensor_find(const rlx_file *f, const char *name) {
  if (!f || !name) return NULL;
  size_t i = file_names_find(&f->tensor_names, f->tensors.v, f->tensors.n, sizeof *f->tensors.v, name);
  return i < f->tensors.n ? &f->tensors.v[i] : NULL;
}

rlx_status rlx_file_read_tensor(const rlx_file *f, const rlx_file_tensor *t, size_t from, void *data, size_t bytes) {
  if (!f || !t || (!data && bytes))
    return RLX_FAIL(RLX_INVALID, "rlx_file_read_tensor: %s is NULL", !f ? "the file" : !t ? "the tensor" : "data");
  /* The caller may pass a copy, or a tensor of another file: check it against this file. */
  if (t->part >= f->parts.n || t->bytes > f->parts.v[t->part].bytes || t->offset > f->parts.v[t->part].bytes - t->bytes)
    return RLX_FAIL(RLX_INVALID, "rlx_file_read_tensor: the tensor is not of this file");
  if (t->dtype == RLX_DTYPE_UNKNOWN)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s, a type that RLX does not have", t->name, t->type);
  if (from > t->bytes || bytes > t->bytes - from)
    return RLX_FAIL(RLX_INVALID, "tensor '%s' has %zu bytes, asked for %zu from %zu on", t->name, t->bytes, bytes,
                    from);
  RLX_TRY_AT(file_read_part(f, t->part, t->offset + from, data, bytes), "tensor '%s'", t->name);
  return RLX_OK;
}
