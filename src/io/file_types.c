/* Names of tensor types in file formats: the columns of ir/types.def, and GGUF types that RLX does not have.
 *
 * GGUF types are numbered. Those that RLX does not have are listed here with their block sizes, so that files with
 * such tensors can be inspected; withdrawn ones only by name, for the message. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "io/file_types.h"
#include "ir/op.h"
#include "ir/shape.h"

#define NONE RLX_DTYPE_UNKNOWN
/* GGUF types that are not in ir/types.def. */
static const struct extra {
  uint32_t number;
  const char *name;
  uint32_t elements, bytes; /* per block; 0: withdrawn */
} extras[] = {
  {4, "q4_2", 0, 0},        {5, "q4_3", 0, 0},      {9, "q8_1", 32, 36},      {31, "q4_0_4_4", 0, 0},
  {32, "q4_0_4_8", 0, 0},   {33, "q4_0_8_8", 0, 0}, {36, "iq4_nl_4_4", 0, 0}, {37, "iq4_nl_4_8", 0, 0},
  {38, "iq4_nl_8_8", 0, 0}, {41, "q1_0", 128, 18},
};

/* rlx_tensor_bytes for an unsupported type; sizes are at least 1. */
static rlx_status block_bytes(const struct extra *e, const rlx_dims *shape, size_t *out) {
  uint64_t n = 1, all = 0;
  int64_t row = shape->v[shape->n - 1], block = e->elements;
  if (row % block)
    return RLX_FAIL(RLX_INVALID, "the last axis of %s%s is not a multiple of the block of %u", e->name,
                    RLX_DIMS_TEXT(*shape), (unsigned)block);
  bool fits = true;
  for (int i = 0; i < shape->n; i++)
    fits = fits && rlx_mul_u64(n, (uint64_t)(i == shape->n - 1 ? row / block : shape->v[i]), &n);
  if (!fits || !rlx_mul_u64(n, e->bytes, &all) || !rlx_fits_memory(all))
    return RLX_FAIL(RLX_INVALID, "the size of %s%s overflows", e->name, RLX_DIMS_TEXT(*shape));
  *out = (size_t)all;
  return RLX_OK;
}

rlx_status gguf_tensor_type(uint64_t type, rlx_file_tensor *t) {
  for (int d = 0; d < RLX_DTYPE_COUNT; d++) {
    const rlx_type_row *row = rlx_type_get((rlx_dtype)d);
    if (row->gguf < 0 || (uint64_t)row->gguf != type) continue;
    t->dtype = (rlx_dtype)d;
    t->type = row->info.name;
    return rlx_tensor_bytes(t->dtype, t->shape, &t->bytes);
  }
  for (const struct extra *e = extras; e < extras + sizeof extras / sizeof *extras; e++) {
    if (e->number != type) continue;
    if (e->elements == 0)
      return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " (%s) was withdrawn from GGUF", type, e->name);
    t->dtype = NONE;
    t->type = e->name;
    return block_bytes(e, &t->shape, &t->bytes);
  }
  return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " is not known", type);
}

rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out) {
  const rlx_type_row *row = rlx_type_get(dtype);
  if (!row || row->gguf < 0) return RLX_FAIL(RLX_UNSUPPORTED, "GGUF has no type for %s", rlx_dtype_name(dtype));
  *out = (uint32_t)row->gguf;
  return RLX_OK;
}

rlx_status safetensors_type(const char *name, rlx_dtype *out) {
  char known[128] = "";
  *out = RLX_F32;
  for (int d = 0; d < RLX_DTYPE_COUNT; d++) {
    const char *own = rlx_type_get((rlx_dtype)d)->safetensors;
    size_t n = strlen(known);
    if (!*own) continue;
    if (strcmp(own, name) == 0) {
      *out = (rlx_dtype)d;
      return RLX_OK;
    }
    snprintf(known + n, sizeof known - n, " %s", own);
  }
  return RLX_FAIL(RLX_UNSUPPORTED, "dtype '%.32s' is not one of%s", name, known);
}

rlx_status safetensors_name(rlx_dtype dtype, const char **out) {
  const rlx_type_row *row = rlx_type_get(dtype);
  *out = row && *row->safetensors ? row->safetensors : NULL;
  return *out ? RLX_OK : RLX_FAIL(RLX_UNSUPPORTED, "safetensors has no type for %s", rlx_dtype_name(dtype));
}
