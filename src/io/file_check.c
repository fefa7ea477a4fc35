/* Checks a weight file completely: every byte of every tensor is read.
 *
 * Opening has checked the description. This file checks values and gaps. A non-finite value is a finding in any
 * type; in a block it comes from the scale, or from a product with a large scale that overflows. A bool must be 0 or
 * 1. A tensor of zeros is worth a remark, unless it is a bias. Bytes that belong to no tensor, beyond alignment
 * padding, are a finding. The JSON files of a folder must be valid JSON.
 *
 * Findings are reported one by one; the first becomes the message. A read error ends the check. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/budget.h"
#include "base/str.h"
#include "io/file.h"
#include "io/file_json.h"
#include "io/values.h"
#include "ir/op.h"

enum { CHUNK = 1 << 18, MAX_BLOCKS = 1024 };

typedef struct check {
  const rlx_file *f;
  const rlx_watch *watch;
  uint64_t done, total; /* bytes of tensors */
  unsigned char *bytes;
  float *values;
  rlx_found_fn found;
  void *user;
  bool is_zero; /* the current tensor, so far */
  uint32_t n_findings;
  char first[512];
} check;

/* Records a finding: it ends the check of one item, not of the file. */
static void note(check *c) {
  if (c->n_findings++ == 0) memcpy(c->first, rlx_message(), strnlen(rlx_message(), sizeof c->first - 1));
  if (c->found) c->found(c->user, false, rlx_message());
}

#define FINDING(c, ...) (rlx_fail(RLX_INVALID, __VA_ARGS__), note(c))

/* ---- Numbers ------------------------------------------------------------------------------------------------- */

/* Decodes n bytes to floats, and the bytes of those; plain types are returned unchanged. */
static const void *floats_of(const check *c, rlx_dtype dtype, size_t n, size_t *bytes) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  size_t elements = n / t->block_bytes * t->block_elements;
  *bytes = rlx_dtype_is_block(dtype) ? elements * sizeof *c->values : n;
  if (!rlx_dtype_is_block(dtype)) return c->bytes;
  if (rlx_quant_decode(dtype, c->bytes, c->values, elements)) *bytes = 0; /* whole blocks always decode */
  return c->values;
}

/* *is_bad: the tensor has a finding; its rest is skipped. */
static rlx_status check_chunk(check *c, const rlx_file_tensor *t, size_t from, size_t n, bool *is_bad) {
  const rlx_dtype_info *type = rlx_dtype_describe(t->dtype);
  rlx_dtype dtype = rlx_dtype_is_block(t->dtype) ? RLX_F32 : t->dtype;
  size_t at = 0, bytes;
  RLX_TRY(rlx_file_read_tensor(c->f, t, from, c->bytes, n));
  const void *values = floats_of(c, t->dtype, n, &bytes);
  const char *what = values_find_bad(dtype, values, bytes, &at);
  c->is_zero = c->is_zero && !what && values_are_zero(dtype, values, bytes);
  *is_bad = what != NULL;
  if (!what) return RLX_OK;
  at += from / type->block_bytes * type->block_elements;
  FINDING(c, "%s: tensor '%s': element %zu %s", c->f->parts.v[t->part].path, t->name, at, what);
  return RLX_OK;
}

static void remark(const check *c, const rlx_file_tensor *t) {
  rlx_str s = {0};
  if (!c->found || !c->is_zero || !t->bytes || !values_should_differ(t->name, t->dtype)) return;
  rlx_str_add(&s, "tensor '%s': all elements are 0", t->name);
  if (!s.failed) c->found(c->user, true, s.v);
  rlx_str_deinit(&s);
}

static rlx_status check_tensor(check *c, const rlx_file_tensor *t) {
  const rlx_dtype_info *type = rlx_dtype_describe(t->dtype);
  size_t max = CHUNK / type->block_bytes;
  if (type->block_elements > 1 && max > MAX_BLOCKS) max = MAX_BLOCKS;
  max *= type->block_bytes;
  bool is_bad = false;
  c->is_zero = true;
  for (size_t from = 0, n; from < t->bytes && !is_bad; from += n) {
    n = t->bytes - from < max ? t->bytes - from : max;
    RLX_TRY(check_chunk(c, t, from, n, &is_bad));
    RLX_TRY(file_watch(c->watch, "check", c->done + from + n, c->total));
  }
  remark(c, t);
  c->done += t->bytes;
  return RLX_OK;
}

/* ---- Gaps ---------------------------------------------------------------------------------------------------- */

/* Only a GGUF can have gaps: safetensors files with gaps do not open. In most files tensors are in order. Otherwise
 * only the number of bytes is compared, which detects a gap but not where it is. */
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

static rlx_status check_json(check *c, const file_meta *m) {
  size_t n = strlen(m->key);
  if (!m->text || n < 5 || strcmp(m->key + n - 5, ".json") != 0) return RLX_OK;
  rlx_status s = json_check((json_text){m->text, m->n}, m->key, json_max_vocabulary(m->n), true);
  if (s == RLX_CANCELLED || s == RLX_NO_MEMORY) return s;
  if (s) note(c);
  return RLX_OK;
}

static rlx_status check_all(check *c) {
  c->bytes = rlx_mem_alloc(CHUNK);
  c->values = rlx_mem_calloc((size_t)MAX_BLOCKS * 256, sizeof *c->values);
  if (!c->bytes || !c->values) return RLX_FAIL(RLX_NO_MEMORY, "no memory to check a file");
  for (size_t i = 0; i < c->f->tensors.n; i++) c->total += c->f->tensors.v[i].bytes;
  for (size_t i = 0; i < c->f->parts.n && c->f->is_gguf; i++) check_gaps(c, &c->f->parts.v[i]);
  for (size_t i = 0; i < c->f->metas.n; i++) RLX_TRY(check_json(c, &c->f->metas.v[i]));
  for (size_t i = 0; i < c->f->tensors.n; i++) RLX_TRY(check_tensor(c, &c->f->tensors.v[i]));
  return RLX_OK;
}

static rlx_status run(check *c) {
  if (!c->f) return RLX_FAIL(RLX_INVALID, "rlx_file_check: the file is NULL");
  RLX_TRY(file_check_types(c->f));
  rlx_file *used = file_use(c->f); /* a callback may close the file */
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_file_check", c->watch ? &c->watch->limits : &c->f->limits, 0, c->watch);
  rlx_status s = rlx_budget_end(&budget, check_all(c));
  rlx_file_close(used);
  rlx_mem_free(c->bytes);
  rlx_mem_free(c->values);
  RLX_TRY(s);
  return c->n_findings ? RLX_FAIL(RLX_INVALID, "%s", c->first) : RLX_OK;
}

rlx_status rlx_file_check(const rlx_file *f, const rlx_watch *watch, uint32_t *n_findings) {
  check c = {.f = f, .watch = watch};
  rlx_status s = run(&c);
  if (n_findings) *n_findings = c.n_findings ? c.n_findings - 1 : 0;
  return s;
}

rlx_status rlx_file_check_each(const rlx_file *f, const rlx_watch *watch, rlx_found_fn found, void *user) {
  check c = {.f = f, .watch = watch, .found = found, .user = user};
  return run(&c);
}
