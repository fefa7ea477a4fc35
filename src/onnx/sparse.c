/* Converts sparse tensors of the file to dense ones; RLX has no sparse tensors. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "onnx/import.h"

enum { MAX_DENSE = 1 << 22 }; /* elements: what is written out is far larger than the file */

/* Indices are offsets in the flat tensor [n], or coordinates [n, rank]. */
static rlx_status place_of(const onnx_sparse *s, const int64_t *indices, size_t i, size_t count, size_t *place) {
  bool flat = s->indices.dims.n == 1;
  size_t rank = (size_t)s->dims.n;
  *place = 0;
  if (flat) {
    if (indices[i] < 0 || (uint64_t)indices[i] >= count)
      return RLX_FAIL(RLX_INVALID, "sparse tensor '%s': place %" PRId64 " of %zu", s->values.name, indices[i], count);
    *place = (size_t)indices[i];
    return RLX_OK;
  }
  for (size_t a = 0; a < rank; a++) {
    int64_t at = indices[i * rank + a];
    if (at < 0 || at >= s->dims.v[a])
      return RLX_FAIL(RLX_INVALID, "sparse tensor '%s': index %" PRId64 " on axis %zu of %" PRId64, s->values.name, at,
                      a, s->dims.v[a]);
    *place = *place * (size_t)s->dims.v[a] + (size_t)at;
  }
  return RLX_OK;
}

static rlx_status check(const onnx_sparse *s, size_t *count) {
  size_t n = s->values.elements, per = s->indices.dims.n == 1 ? 1 : (size_t)s->dims.n;
  *count = 1;
  for (int i = 0; i < s->dims.n; i++)
    if (s->dims.v[i] < 0 || s->dims.v[i] > MAX_DENSE || (*count *= (size_t)s->dims.v[i]) > MAX_DENSE)
      return RLX_FAIL(RLX_UNSUPPORTED, "sparse tensor '%s' would have more than %d elements", s->values.name,
                      (int)MAX_DENSE);
  if (s->indices.type != ONNX_INT64 || s->indices.dims.n < 1 || s->indices.dims.n > 2 ||
      s->indices.elements / (per ? per : 1) != n || s->indices.elements % (per ? per : 1))
    return RLX_FAIL(RLX_INVALID, "sparse tensor '%s': %zu indices for %zu values of rank %d", s->values.name,
                    s->indices.elements, n, (int)s->dims.n);
  return RLX_OK;
}

rlx_status onnx_value_from_sparse(onnx_importer *imp, const onnx_sparse *s, onnx_value **out) {
  size_t count, bytes, width = 0;
  rlx_dtype carrier = onnx_type_carrier(s->values.type);
  RLX_TRY(check(s, &count));
  if (carrier == RLX_DTYPE_UNKNOWN)
    return RLX_FAIL(RLX_UNSUPPORTED, "sparse tensor '%s' is of type %s", s->values.name,
                    onnx_type_name(s->values.type));
  RLX_TRY(rlx_tensor_bytes(carrier, RLX_SCALAR, &width));
  RLX_TRY(rlx_tensor_bytes(carrier, s->dims, &bytes));
  rlx_onnx *m = onnx_model_of(imp);
  char *dense = onnx_alloc(imp, bytes + 1, 1) /* cleared */, *values = onnx_alloc(imp, s->values.elements + 1, width);
  int64_t *indices = onnx_alloc(imp, s->indices.elements + 1, sizeof *indices);
  if (!dense || !values || !indices) return RLX_FAIL(RLX_NO_MEMORY, "sparse tensor '%s'", s->values.name);
  RLX_TRY(onnx_tensor_read(m, &s->values, values));
  RLX_TRY(onnx_tensor_read(m, &s->indices, indices));
  for (size_t i = 0, place; i < s->values.elements; i++) {
    RLX_TRY(place_of(s, indices, i, count, &place));
    memcpy(dense + place * width, values + i * width, width);
  }
  rlx_tensor t = {.dtype = carrier, .shape = s->dims, .data = dense, .bytes = bytes};
  return onnx_value_known(imp, s->values.type, &t, out);
}
