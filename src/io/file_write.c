/* Writes weight files: an object that takes metadata, tensors and bytes, in this order, for any format.
 *
 * Metadata is encoded immediately. When the first tensor byte comes, all tensors and thus all offsets are known, so
 * the head is written; from then on bytes go straight to the file, with zeros as padding between tensors. The file
 * is a draft until finished (base/file.h), so no partial file is ever visible. */
#include "io/file_write.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "io/file_types.h"

static rlx_status no_memory(const char *name) { return RLX_FAIL(RLX_NO_MEMORY, "no memory to write '%s'", name); }

rlx_status file_format_of(const char *path, const file_format **out) {
  static const file_format *const all[] = {&file_format_gguf, &file_format_safetensors};
  size_t n = strlen(path);
  *out = NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    size_t m = strlen(all[i]->ending);
    if (n > m && strcmp(path + n - m, all[i]->ending) == 0) *out = all[i];
  }
  return *out ? RLX_OK : RLX_FAIL(RLX_INVALID, "'%s': expected a name that ends in .gguf or .safetensors", path);
}

rlx_status rlx_file_writer_create(const char *path, rlx_file_writer **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_file_writer_create: out is NULL");
  *out = NULL;
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_file_writer_create: path is NULL");
  const file_format *format;
  RLX_TRY(file_format_of(path, &format));
  rlx_file_writer *w = rlx_new(rlx_file_writer);
  if (!w) return no_memory(path);
  w->format = format;
  w->alignment = format->pads ? GGUF_ALIGNMENT : 1;
  rlx_status s = rlx_draft_begin(&w->draft, path);
  if (s) {
    rlx_file_writer_destroy(w);
    return s;
  }
  *out = w;
  return RLX_OK;
}

void rlx_file_writer_destroy(rlx_file_writer *w) {
  if (!w) return;
  rlx_draft_discard(&w->draft);
  rlx_str_deinit(&w->metas);
  rlx_array_deinit(&w->keys);
  rlx_array_deinit(&w->tensors);
  rlx_bump_deinit(&w->names);
  rlx_mem_free(w);
}

static rlx_status check_state(const rlx_file_writer *w, bool may_have_begun) {
  if (!w) return RLX_FAIL(RLX_INVALID, "the writer is NULL");
  if (w->is_over) return RLX_FAIL(RLX_INVALID, "the file is finished, or its writing failed");
  if (w->is_begun && !may_have_begun)
    return RLX_FAIL(RLX_INVALID, "metadata and tensors come before the first bytes of tensors");
  return RLX_OK;
}

static rlx_status copy_name(rlx_file_writer *w, const char *what, const char *name, const char **out) {
  *out = NULL;
  if (!name) return RLX_FAIL(RLX_INVALID, "%s is NULL", what);
  RLX_TRY(file_check_name(what, name, strlen(name)));
  *out = rlx_bump_text(&w->names, name, strlen(name));
  return *out ? RLX_OK : no_memory(name);
}

rlx_status rlx_file_writer_meta(rlx_file_writer *w, const rlx_meta *m) {
  const char *key;
  RLX_TRY(check_state(w, false));
  if (!m) return RLX_FAIL(RLX_INVALID, "rlx_file_writer_meta: the value is NULL");
  if (w->keys.n == FILE_MAX_METAS) return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d keys", FILE_MAX_METAS);
  RLX_TRY(copy_name(w, "a key", m->key, &key));
  size_t before = w->metas.n;
  rlx_status s = w->format->add_meta(w, m);
  if (!s && w->metas.failed) s = no_memory(key);
  if (!s && !rlx_array_push(&w->keys, key)) s = no_memory(key);
  if (s && w->metas.v) w->metas.v[w->metas.n = before] = '\0'; /* undo */
  return s ? rlx_fail_frame(s, "key '%s'", key) : RLX_OK;
}

rlx_status file_check_text(const rlx_meta *m) {
  if (!m->text && m->n) return RLX_FAIL(RLX_INVALID, "a text of %zu bytes has none", m->n);
  if (m->text && m->text[m->n]) return RLX_FAIL(RLX_INVALID, "a text of %zu bytes does not end after them", m->n);
  return RLX_OK;
}

static rlx_status place(rlx_file_writer *w, rlx_file_tensor *t) {
  size_t end, padded;
  t->offset = w->data_bytes;
  if (!rlx_add_size((size_t)t->offset, t->bytes, &end) || !rlx_pad_size(end, w->alignment, &padded) ||
      padded > (size_t)INT64_MAX)
    return RLX_FAIL(RLX_INVALID, "the file's size overflows");
  w->data_bytes = padded;
  return RLX_OK;
}

rlx_status rlx_file_writer_tensor(rlx_file_writer *w, const char *name, rlx_dtype dtype, rlx_dims shape) {
  rlx_file_tensor t = {.dtype = dtype, .shape = shape};
  RLX_TRY(check_state(w, false));
  if (w->tensors.n == FILE_MAX_TENSORS)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d tensors", FILE_MAX_TENSORS);
  RLX_TRY(copy_name(w, "a tensor's name", name, &t.name));
  rlx_status s = rlx_tensor_bytes(dtype, shape, &t.bytes);
  if (!s) s = w->format->check_tensor(&t);
  if (!s && !rlx_array_push(&w->tensors, t)) s = no_memory(name);
  return s ? rlx_fail_frame(s, "tensor '%s'", t.name) : RLX_OK;
}

/* ---- Bytes --------------------------------------------------------------------------------------------------- */

static rlx_status check_names(const void *items, size_t n, size_t stride, const char *what) {
  file_names names;
  const char *twice;
  RLX_TRY(file_names_build(&names, items, n, stride, &twice));
  file_names_deinit(&names);
  return twice ? RLX_FAIL(RLX_INVALID, "%s '%s' was given twice", what, twice) : RLX_OK;
}

static rlx_status begin(rlx_file_writer *w) {
  rlx_str head = {0};
  RLX_TRY(check_names(w->keys.v, w->keys.n, sizeof *w->keys.v, "the key"));
  RLX_TRY(check_names(w->tensors.v, w->tensors.n, sizeof *w->tensors.v, "the tensor"));
  for (size_t i = 0; i < w->tensors.n; i++) RLX_TRY(place(w, &w->tensors.v[i]));
  rlx_status s = w->format->make_head(w, &head);
  if (!s && head.failed) s = RLX_FAIL(RLX_NO_MEMORY, "no memory for the file's head");
  if (!s) s = rlx_draft_write(&w->draft, head.v, head.n);
  rlx_str_deinit(&head);
  w->is_begun = true;
  return s;
}

static rlx_status write_zeros(rlx_file_writer *w, uint64_t n) {
  static const char zeros[4096];
  for (size_t k; n > 0; n -= k) {
    k = n < sizeof zeros ? (size_t)n : sizeof zeros;
    RLX_TRY(rlx_draft_write(&w->draft, zeros, k));
  }
  return RLX_OK;
}

/* Advances to the next tensor that needs bytes. */
static rlx_status skip_full(rlx_file_writer *w) {
  while (w->at < w->tensors.n && w->done == w->tensors.v[w->at].bytes) {
    const rlx_file_tensor *t = &w->tensors.v[w->at++];
    uint64_t next = w->at < w->tensors.n ? w->tensors.v[w->at].offset : w->data_bytes;
    w->done = 0;
    RLX_TRY(write_zeros(w, next - t->offset - t->bytes));
  }
  return RLX_OK;
}

static rlx_status write_bytes(rlx_file_writer *w, const unsigned char *data, size_t bytes) {
  if (!w->is_begun) RLX_TRY(begin(w));
  while (bytes > 0) {
    RLX_TRY(skip_full(w));
    if (w->at == w->tensors.n) return RLX_FAIL(RLX_INVALID, "%zu bytes more than the tensors take", bytes);
    size_t left = w->tensors.v[w->at].bytes - w->done, n = bytes < left ? bytes : left;
    RLX_TRY(rlx_draft_write(&w->draft, data, n));
    data += n;
    bytes -= n;
    w->done += n;
  }
  return skip_full(w);
}

/* After a failure the file cannot be completed. */
static rlx_status abandon(rlx_file_writer *w, rlx_status s) {
  w->is_over = true;
  rlx_draft_discard(&w->draft);
  return s;
}

rlx_status rlx_file_writer_bytes(rlx_file_writer *w, const void *data, size_t bytes) {
  RLX_TRY(check_state(w, true));
  if (!data && bytes) return RLX_FAIL(RLX_INVALID, "rlx_file_writer_bytes: data is NULL");
  rlx_status s = write_bytes(w, data, bytes);
  return s ? abandon(w, s) : RLX_OK;
}

rlx_status rlx_file_writer_finish(rlx_file_writer *w) {
  RLX_TRY(check_state(w, true));
  rlx_status s = write_bytes(w, NULL, 0);
  if (!s && w->at < w->tensors.n)
    s = RLX_FAIL(RLX_INVALID, "tensor '%s' got %zu of its %zu bytes", w->tensors.v[w->at].name, w->done,
                 w->tensors.v[w->at].bytes);
  if (s) return abandon(w, s);
  w->is_over = true;
  return rlx_draft_commit(&w->draft);
}
