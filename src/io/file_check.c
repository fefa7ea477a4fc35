/* Checking a weight file through: every byte of every tensor is read and looked at.
 *
 * Opening has checked the description. What is left is the numbers and the gaps. A block type promises finite numbers, so a
 * scale that is infinite or not a number is a finding; a plain float may be infinite (masks are), but NaN is a finding; a bool
 * is 0 or 1. Bytes that belong to no tensor, beyond what alignment needs, are left over. The JSON of a folder must be JSON.
 *
 * The first finding is the message, the rest are counted. A file that cannot be read ends the check. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "io/file.h"
#include "io/file_json.h"
#include "ir/op.h"

enum { CHUNK = 1 << 18, MOST_BLOCKS = 1024 };

typedef struct check {
  const rlx_file *f;
  const rlx_watch *watch;
  uint64_t done, total; /* bytes of tensors */
  unsigned char *bytes;
  float *values;
  uint32_t n_findings;
  char first[512];
} check;

/* A finding ends the look at one thing, not the check. */
static void note(check *c) {
  if (c->n_findings++ == 0) memcpy(c->first, rlx_message(), strnlen(rlx_message(), sizeof c->first - 1));
}

#define FINDING(c, ...) (rlx_fail(RLX_INVALID, __VA_ARGS__), note(c))

/* ---- Numbers ------------------------------------------------------------------------------------------------- */

static bool is_bad_value(rlx_dtype dtype, const unsigned char *p) {
  uint16_t h;
  float s;
  double d;
  switch (dtype) {
    case RLX_F32: memcpy(&s, p, sizeof s); return isnan(s);
    case RLX_F64: memcpy(&d, p, sizeof d); return isnan(d);
    case RLX_F16: memcpy(&h, p, sizeof h); return (h & 0x7fff) > 0x7c00;
    case RLX_BF16: memcpy(&h, p, sizeof h); return (h & 0x7fff) > 0x7f80;
    case RLX_BOOL: return *p > 1;
    case RLX_C64: return is_bad_value(RLX_F32, p) || is_bad_value(RLX_F32, p + 4);
    default: return false;
  }
}

/* The first bad element of n bytes that begin at element `first`; false: there is none. */
static bool find_bad_plain(rlx_dtype dtype, const unsigned char *bytes, size_t n, size_t *at) {
  size_t size = rlx_dtype_size(dtype);
  if (rlx_dtype_is_int(dtype)) return false;
  for (size_t i = 0; i < n / size; i++)
    if (is_bad_value(dtype, bytes + i * size)) {
      *at = i;
      return true;
    }
  return false;
}

static bool find_bad_block(const check *c, rlx_dtype dtype, size_t n, size_t *at) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  size_t elements = n / t->block_bytes * t->block_elements;
  if (rlx_quant_decode(dtype, c->bytes, c->values, elements)) return false; /* whole blocks always decode */
  for (size_t i = 0; i < elements; i++)
    if (!isfinite(c->values[i])) {
      *at = i;
      return true;
    }
  return false;
}

/* *is_bad: this tensor has a finding, and its rest is skipped. */
static rlx_status check_chunk(check *c, const rlx_file_tensor *t, size_t from, size_t n, bool *is_bad) {
  const rlx_dtype_info *type = rlx_dtype_describe(t->dtype);
  bool is_block = rlx_dtype_is_block(t->dtype);
  size_t at = 0;
  RLX_TRY(rlx_file_read_tensor(c->f, t, from, c->bytes, n));
  *is_bad = is_block ? find_bad_block(c, t->dtype, n, &at) : find_bad_plain(t->dtype, c->bytes, n, &at);
  if (!*is_bad) return RLX_OK;
  at += from / type->block_bytes * type->block_elements;
  FINDING(c, "%s: tensor '%s': element %zu is %s", c->f->parts.v[t->part].path, t->name, at,
          t->dtype == RLX_BOOL ? "no bool"
          : is_block           ? "not a finite number"
                               : "not a number");
  return RLX_OK;
}

static rlx_status check_tensor(check *c, const rlx_file_tensor *t) {
  const rlx_dtype_info *type = rlx_dtype_describe(t->dtype);
  size_t most = CHUNK / type->block_bytes;
  if (type->block_elements > 1 && most > MOST_BLOCKS) most = MOST_BLOCKS;
  most *= type->block_bytes;
  bool is_bad = false;
  for (size_t from = 0, n; from < t->bytes && !is_bad; from += n) {
    n = t->bytes - from < most ? t->bytes - from : most;
    RLX_TRY(check_chunk(c, t, from, n, &is_bad));
    RLX_TRY(file_watch(c->watch, "check", c->done + from + n, c->total));
  }
  c->done += t->bytes;
  return RLX_OK;
}

/* ---- What belongs to no tensor ------------------------------------------------------------------------------- */

/* Only a GGUF can have any: safetensors with gaps do not open. The tensors of most files lie in order; where they do not, the
 * bytes are counted, which tells that something is left over though not where. */
static void check_gaps(check *c, const file_part *p) {
  const rlx_file_tensor *t = p->n_tensors ? c->f->tensors.v + p->first_tensor : NULL;
  uint64_t used = 0, end = p->data;
  for (size_t i = 0; i < p->n_tensors; i++) {
    size_t padded;
    if (!rlx_pad_size(t[i].bytes, p->alignment, &padded)) return;
    used += padded;
    if (t[i].offset + padded > end) end = t[i].offset + padded;
  }
  if (p->n_tensors && end - p->data > used)
    FINDING(c, "%s: %" PRIu64 " bytes between tensors belong to none", p->path, end - p->data - used);
  if (p->bytes > end) FINDING(c, "%s: %" PRIu64 " bytes after the last tensor belong to none", p->path, p->bytes - end);
}

static void check_json(check *c, const file_meta *m) {
  size_t n = strlen(m->key);
  json_error_t e;
  if (!m->text || n < 5 || strcmp(m->key + n - 5, ".json") != 0) return;
  json_t *v = json_loadb(m->text, m->n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
  if (!v) FINDING(c, "%s: line %d, column %d: %s", m->key, e.line, e.column, e.text);
  json_decref(v);
}

static rlx_status check_all(check *c) {
  c->bytes = rlx_mem_alloc(CHUNK);
  c->values = rlx_mem_calloc((size_t)MOST_BLOCKS * 256, sizeof *c->values);
  if (!c->bytes || !c->values) return RLX_FAIL(RLX_NO_MEMORY, "no memory to check a file");
  for (size_t i = 0; i < c->f->tensors.n; i++) c->total += c->f->tensors.v[i].bytes;
  for (size_t i = 0; i < c->f->parts.n && c->f->is_gguf; i++) check_gaps(c, &c->f->parts.v[i]);
  for (size_t i = 0; i < c->f->metas.n; i++) check_json(c, &c->f->metas.v[i]);
  for (size_t i = 0; i < c->f->tensors.n; i++) RLX_TRY(check_tensor(c, &c->f->tensors.v[i]));
  return RLX_OK;
}

rlx_status rlx_file_check(const rlx_file *f, const rlx_watch *watch, uint32_t *n_findings) {
  if (n_findings) *n_findings = 0;
  if (!f) return RLX_FAIL(RLX_INVALID, "rlx_file_check: the file is NULL");
  RLX_TRY(file_check_types(f));
  check c = {.f = f, .watch = watch};
  rlx_status s = check_all(&c);
  rlx_mem_free(c.bytes);
  rlx_mem_free(c.values);
  RLX_TRY(s);
  if (c.n_findings == 0) return RLX_OK;
  if (n_findings) *n_findings = c.n_findings - 1;
  return RLX_FAIL(RLX_INVALID, "%s", c.first);
}
