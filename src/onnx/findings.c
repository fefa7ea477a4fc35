/* Checks a model's weights: reads each one and tests its values.
 *
 * NaN is a finding. An infinity is only a remark, because constants of a graph hold masks; so is a large tensor of
 * zeros. The first finding becomes the message. A weight that cannot be read ends the check. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/values.h"
#include "onnx/model.h"
#include "rlx/onnx.h"

typedef struct checker {
  const rlx_onnx *m;
  rlx_found_fn found;
  void *user;
  rlx_status status;
  char first[1024];
} checker;

static void report(checker *c, rlx_status s, bool is_remark, const char *text) {
  if (c->found) c->found(c->user, is_remark, text);
  if (is_remark || c->status) return;
  c->status = s;
  memcpy(c->first, text, strnlen(text, sizeof c->first - 1));
}

static rlx_status look(checker *c, const onnx_tensor *t, const char *name, const void *data, size_t bytes) {
  rlx_dtype dtype = onnx_type_carrier(t->type);
  rlx_str s = {0};
  size_t at = 0;
  const char *what = values_find_bad(dtype, data, bytes, &at);
  bool is_infinite = what && strcmp(what, "is infinite") == 0;
  if (what) rlx_str_add(&s, "weight '%s': element %zu %s", name, at, what);
  else if (bytes > ONNX_CONSTANT_BYTES && values_should_differ(name, dtype) && values_are_zero(dtype, data, bytes))
    rlx_str_add(&s, "weight '%s': all elements are 0", name);
  rlx_status status = s.failed ? RLX_FAIL(RLX_NO_MEMORY, "a finding") : RLX_OK;
  if (s.n && !s.failed) report(c, RLX_INVALID, !what || is_infinite, s.v);
  rlx_str_deinit(&s);
  return status;
}

static rlx_status check_tensor(checker *c, const onnx_tensor *t, const char *name) {
  size_t bytes;
  if (onnx_type_carrier(t->type) == RLX_DTYPE_UNKNOWN)
    return RLX_OK; /* rlx_onnx_supported reports the node that reads it */
  RLX_TRY_AT(onnx_tensor_bytes(t, &bytes), "weight '%s'", name);
  void *data = rlx_mem_alloc(bytes ? bytes : 1);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s': %zu bytes", name, bytes);
  rlx_status s = onnx_tensor_read(c->m, t, data);
  if (s) s = rlx_fail_frame(s, "weight '%s'", name);
  else s = look(c, t, name, data, bytes);
  rlx_mem_free(data);
  return s;
}

rlx_status rlx_onnx_check(const rlx_onnx *m, rlx_found_fn found, void *user) {
  if (!m) return RLX_FAIL(RLX_INVALID, "rlx_onnx_check: model is NULL");
  checker c = {.m = m, .found = found, .user = user};
  for (size_t i = 0; i < m->weights.n; i++) RLX_TRY(check_tensor(&c, m->weights.v[i].tensor, m->weights.v[i].leaf));
  for (uint32_t i = 0; i < m->graph->n_initializers; i++) {
    const onnx_tensor *t = &m->graph->initializers[i];
    if (!onnx_weight_of(m, t)) RLX_TRY(check_tensor(&c, t, t->name)); /* a small one */
  }
  rlx_status s = rlx_onnx_supported(m);
  if (s == RLX_NO_MEMORY) return s;
  if (s) report(&c, s, false, rlx_message());
  return c.status ? RLX_FAIL(c.status, "%s", c.first) : RLX_OK;
}
