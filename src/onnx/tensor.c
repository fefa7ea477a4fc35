/* Tensor data: ONNX's element types in files, converted to their carrier types.
 *
 * Raw bytes are read directly to their destination if the carrier has the same layout. 16-bit and 64-bit unsigned
 * integers are widened or copied bit for bit; 4-bit ones are unpacked. Typed fields are parsed again from their
 * message. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "onnx/model.h"

/* clang-format off */
static const struct {
  const char *name;
  uint8_t bits;       /* in a file */
  uint8_t stand_in;   /* 1 + the type that carries it where ir/types.def has none of this number; 0: none does */
} types[ONNX_TYPES] = {
  [ONNX_UNDEFINED] = {"undefined", 0, 0},
  [ONNX_FLOAT] = {"float", 32, 0},             [ONNX_UINT8] = {"uint8", 8, 0},
  [ONNX_INT8] = {"int8", 8, 0},                [ONNX_UINT16] = {"uint16", 16, 1 + RLX_I32},
  [ONNX_INT16] = {"int16", 16, 0},             [ONNX_INT32] = {"int32", 32, 0},
  [ONNX_INT64] = {"int64", 64, 0},             [ONNX_STRING] = {"string", 0, 0},
  [ONNX_BOOL] = {"bool", 8, 0},                [ONNX_FLOAT16] = {"float16", 16, 0},
  [ONNX_DOUBLE] = {"double", 64, 0},           [ONNX_UINT32] = {"uint32", 32, 0},
  [ONNX_UINT64] = {"uint64", 64, 1 + RLX_I64}, [ONNX_COMPLEX64] = {"complex64", 64, 0},
  [ONNX_COMPLEX128] = {"complex128", 128, 0},  [ONNX_BFLOAT16] = {"bfloat16", 16, 0},
  [ONNX_FLOAT8E4M3FN] = {"float8e4m3fn", 8, 0}, [ONNX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, 0},
  [ONNX_FLOAT8E5M2] = {"float8e5m2", 8, 0},    [ONNX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, 0},
  [ONNX_UINT4] = {"uint4", 4, 1 + RLX_U8},     [ONNX_INT4] = {"int4", 4, 1 + RLX_I8},
  [ONNX_FLOAT4E2M1] = {"float4e2m1", 4, 0},    [ONNX_FLOAT8E8M0] = {"float8e8m0", 8, 0},
  [ONNX_UINT2] = {"uint2", 2, 1 + RLX_U8},     [ONNX_INT2] = {"int2", 2, 1 + RLX_I8},
};
/* clang-format on */

const char *onnx_type_name(onnx_type t) { return (unsigned)t < ONNX_TYPES ? types[t].name : "?"; }

rlx_dtype onnx_type_carrier(onnx_type t) {
  if (t <= ONNX_UNDEFINED || t >= ONNX_TYPES) return RLX_DTYPE_UNKNOWN;
  if (types[t].stand_in) return (rlx_dtype)(types[t].stand_in - 1);
  for (int d = 0; d < RLX_DTYPE_COUNT; d++)
    if (rlx_type_get((rlx_dtype)d)->onnx == (int)t) return (rlx_dtype)d;
  return RLX_DTYPE_UNKNOWN;
}

onnx_type onnx_type_of(rlx_dtype dtype) {
  const rlx_type_row *row = rlx_type_get(dtype);
  return row ? (onnx_type)row->onnx : ONNX_UNDEFINED;
}

rlx_status onnx_check_extent(const rlx_dims *d) {
  const int64_t most = ONNX_MAX_EXTENT < PTRDIFF_MAX ? ONNX_MAX_EXTENT : PTRDIFF_MAX;
  int64_t extent = 1;
  for (int i = 0; i < d->n; i++) {
    if (d->v[i] == 0) continue;
    if (d->v[i] < 0 || d->v[i] > most / extent)
      return RLX_FAIL(RLX_INVALID, "a size that no memory has: dimension %d is %" PRId64, i, d->v[i]);
    extent *= d->v[i];
  }
  return RLX_OK;
}

rlx_status onnx_raw_bytes(onnx_type t, size_t n, size_t *bytes) {
  size_t bits = types[t].bits;
  if (bits == 0) return RLX_FAIL(RLX_INVALID, "%s has no raw form", types[t].name);
  if (bits < 8) {
    size_t per = 8 / bits;
    *bytes = n / per + (n % per != 0);
    return RLX_OK;
  }
  return rlx_mul_size(n, bits / 8, bytes) ? RLX_OK : RLX_FAIL(RLX_INVALID, "%zu elements of %s", n, types[t].name);
}

rlx_status onnx_tensor_bytes(const onnx_tensor *t, size_t *bytes) {
  rlx_dtype carrier = onnx_type_carrier(t->type);
  if (carrier == RLX_DTYPE_UNKNOWN)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is of type %s, which RLX does not have", t->name,
                    onnx_type_name(t->type));
  return rlx_tensor_bytes(carrier, t->dims, bytes);
}

/* ---- raw bytes ---- */

static bool lies_as_carried(onnx_type t) { return t != ONNX_UINT16 && t != ONNX_BOOL && types[t].bits >= 8; }

/* Element i of small numbers packed into bytes, the first lowest. */
static int unpack(onnx_type t, const unsigned char *raw, size_t i) {
  unsigned bits = types[t].bits, per = 8 / bits, mask = (1u << bits) - 1;
  unsigned code = raw[i / per] >> bits * (unsigned)(i % per) & mask;
  bool is_signed = t == ONNX_INT4 || t == ONNX_INT2;
  return is_signed && code >> (bits - 1) ? (int)code - (int)(mask + 1) : (int)code;
}

/* Converts from the last element to the first, in place: carriers are wider than raw elements. */
static void convert_raw(onnx_type t, const unsigned char *raw, size_t n, void *to) {
  for (size_t i = n; i-- > 0;) {
    if (t == ONNX_UINT16) ((int32_t *)to)[i] = raw[2 * i] | raw[2 * i + 1] << 8;
    else if (t == ONNX_BOOL) ((uint8_t *)to)[i] = raw[i] != 0;
    else ((int8_t *)to)[i] = (int8_t)unpack(t, raw, i);
  }
}

static rlx_status read_raw(const rlx_onnx *m, const onnx_tensor *t, void *to) {
  const wire_source *s = &m->files.v[t->file].source;
  RLX_TRY(wire_source_read(s, t->at, to, (size_t)t->bytes));
  if (!lies_as_carried(t->type)) convert_raw(t->type, to, t->elements, to);
  return RLX_OK;
}

/* ---- typed fields ---- */

static void store(onnx_type t, void *to, size_t i, uint64_t bits) {
  switch (t) {
    case ONNX_FLOAT:
    case ONNX_COMPLEX64:
    case ONNX_INT32:
    case ONNX_UINT32: ((uint32_t *)to)[i] = (uint32_t)bits; break;
    case ONNX_UINT16: ((int32_t *)to)[i] = (int32_t)(bits & 0xffff); break;
    case ONNX_DOUBLE:
    case ONNX_INT64:
    case ONNX_UINT64: ((uint64_t *)to)[i] = bits; break;
    case ONNX_INT16:
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16: ((uint16_t *)to)[i] = (uint16_t)bits; break;
    case ONNX_BOOL: ((uint8_t *)to)[i] = bits != 0; break;
    default: ((uint8_t *)to)[i] = (uint8_t)bits; break;
  }
}

typedef struct sink {
  onnx_type type;
  void *to;
  size_t i, n; /* elements stored, and that there are */
} sink;

/* One number of a field; of small types it holds several. */
static void put(sink *s, uint64_t bits) {
  unsigned width = types[s->type].bits;
  if (width >= 8) {
    if (s->i < s->n) store(s->type, s->to, s->i++, bits);
    return;
  }
  unsigned char raw = (unsigned char)bits;
  for (unsigned k = 0; k < 8 / width && s->i < s->n; k++) ((int8_t *)s->to)[s->i++] = (int8_t)unpack(s->type, &raw, k);
}

static rlx_status walk_field(const wire *w, const wire_field *f, sink *s) {
  wire_type one = s->type == ONNX_FLOAT || s->type == ONNX_COMPLEX64 ? WIRE_I32
                  : s->type == ONNX_DOUBLE                           ? WIRE_I64
                                                                     : WIRE_VARINT;
  if (f->type != WIRE_BYTES) {
    put(s, f->value);
    return RLX_OK;
  }
  wire inner = {w->source, f->at, f->at + f->bytes};
  while (inner.at < inner.end) {
    uint64_t bits;
    if (one == WIRE_VARINT) RLX_TRY(wire_varint(&inner, &bits));
    else RLX_TRY(wire_fixed(&inner, one == WIRE_I32 ? 4 : 8, &bits));
    put(s, bits);
  }
  return RLX_OK;
}

/* The message is read whole into memory: a window would be shared by threads, and typed data is small. */
static rlx_status read_typed(const rlx_onnx *m, const onnx_tensor *t, void *to) {
  unsigned char *message = rlx_mem_alloc((size_t)t->bytes);
  if (!message) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s': %" PRIu64 " bytes", t->name, t->bytes);
  rlx_status s = wire_source_read(&m->files.v[t->file].source, t->at, message, (size_t)t->bytes);
  wire_source memory;
  wire_source_from(message, (size_t)t->bytes, &memory);
  wire w = {&memory, 0, memory.bytes};
  sink sink_of = {t->type, to, 0, t->type == ONNX_COMPLEX64 ? 2 * t->elements : t->elements};
  for (wire_field f; !s;) {
    s = wire_next(&w, &f);
    if (s || !f.number) break;
    if (f.number == 4 || f.number == 5 || f.number == 7 || f.number == 10 || f.number == 11)
      s = walk_field(&w, &f, &sink_of);
  }
  rlx_mem_free(message);
  if (!s && sink_of.i < sink_of.n) s = RLX_FAIL(RLX_IO, "tensor '%s': the file changed while it was read", t->name);
  return s;
}

rlx_status onnx_tensor_read(const rlx_onnx *m, const onnx_tensor *t, void *to) {
  size_t bytes;
  RLX_TRY(onnx_tensor_bytes(t, &bytes));
  if (t->elements == 0) return RLX_OK;
  return t->is_raw ? read_raw(m, t, to) : read_typed(m, t, to);
}

rlx_status onnx_tensor_read_rows(const rlx_onnx *m, const onnx_tensor *t, size_t first, size_t rows, void *to) {
  if (!t->is_raw || !lies_as_carried(t->type) || t->dims.n < 1 || t->dims.v[0] < 1) return RLX_NOT_FOUND;
  uint64_t row = t->bytes / (uint64_t)t->dims.v[0];
  return wire_source_read(&m->files.v[t->file].source, t->at + first * row, to, (size_t)(rows * row));
}
