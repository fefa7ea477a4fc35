/* Lists of named tensors: what a run gets, and what it returned.
 *
 * The worker adds inputs one by one before a run; their bytes stay its own. Outputs are described as JSON with their
 * addresses, and the worker copies them out of the module's memory. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "web/web.h"

void web_shape_json(rlx_dims shape, rlx_str *out) {
  rlx_str_add_char(out, '[');
  for (int32_t i = 0; i < shape.n; i++) rlx_str_add(out, "%s%" PRId64, i ? "," : "", shape.v[i]);
  rlx_str_add_char(out, ']');
}

rlx_status web_tensors_add(web_tensors *t, const char *name, const rlx_tensor *tensor) {
  rlx_named_tensor *grown = rlx_mem_realloc(t->v, t->n + 1, sizeof *grown);
  if (grown) t->v = grown;
  size_t bytes = strlen(name) + 1;
  char *copy = grown ? rlx_mem_alloc(bytes) : NULL;
  if (!copy) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s'", name);
  memcpy(copy, name, bytes);
  t->v[t->n++] = (rlx_named_tensor){copy, *tensor};
  return RLX_OK;
}

void web_tensors_clear(web_tensors *t) {
  for (size_t i = 0; i < t->n; i++) {
    rlx_mem_free((void *)(uintptr_t)t->v[i].name);
    if (t->is_owner) rlx_mem_free(t->v[i].tensor.data);
  }
  rlx_mem_free(t->v);
  t->v = NULL;
  t->n = 0;
}

void web_tensors_json(const web_tensors *t, rlx_str *out) {
  for (size_t i = 0; i < t->n; i++) {
    const rlx_tensor *x = &t->v[i].tensor;
    rlx_str_add(out, "%s{\"name\":", i ? "," : "");
    rlx_str_add_quoted(out, t->v[i].name);
    rlx_str_add(out, ",\"dtype\":\"%s\",\"shape\":", rlx_dtype_describe(x->dtype)->name);
    web_shape_json(x->shape, out);
    rlx_str_add(out, ",\"data\":%zu,\"bytes\":%zu}", (size_t)(uintptr_t)x->const_data, x->bytes);
  }
}

/* ---- The list that the worker fills ---- */

WEB_EXPORT(rlx_web_tensors_create) web_tensors *rlx_web_tensors_create(void) {
  web_tensors *t = rlx_new(web_tensors);
  web_end(t ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a list of tensors"));
  return t;
}

WEB_EXPORT(rlx_web_tensors_destroy) void rlx_web_tensors_destroy(web_tensors *t) {
  if (t) web_tensors_clear(t);
  rlx_mem_free(t);
}

static rlx_status add_input(web_tensors *t, const char *name, const char *dtype, const double *sizes, int32_t rank,
                            const void *data, size_t bytes) {
  rlx_tensor x = {.dtype = rlx_dtype_from_name(dtype), .shape = {.n = rank}, .const_data = data, .bytes = bytes};
  if (x.dtype == RLX_DTYPE_UNKNOWN) return RLX_FAIL(RLX_INVALID, "tensor '%s': there is no type '%s'", name, dtype);
  if (rank < 0 || rank > RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "tensor '%s': expected at most %d axes, got %d", name, RLX_MAX_RANK, (int)rank);
  for (int32_t i = 0; i < rank; i++) {
    if (!(sizes[i] >= 0 && sizes[i] <= 9007199254740992.0))
      return RLX_FAIL(RLX_INVALID, "tensor '%s': axis %d: expected a size, got %g", name, (int)i, sizes[i]);
    x.shape.v[i] = (int64_t)sizes[i];
  }
  size_t wanted;
  RLX_TRY_AT(rlx_tensor_bytes(x.dtype, x.shape, &wanted), "tensor '%s'", name);
  if (wanted != bytes)
    return RLX_FAIL(RLX_INVALID, "tensor '%s': its type and shape need %zu bytes, its data has %zu", name, wanted,
                    bytes);
  return web_tensors_add(t, name, &x);
}

/* sizes: `rank` doubles, JavaScript's numbers. The data is not copied and must live until the run has returned. */
WEB_EXPORT(rlx_web_tensors_add)
int32_t rlx_web_tensors_add(web_tensors *t, const char *name, const char *dtype, const double *sizes, int32_t rank,
                            const void *data, size_t bytes) {
  return (int32_t)web_end(add_input(t, name, dtype, sizes, rank, data, bytes));
}
