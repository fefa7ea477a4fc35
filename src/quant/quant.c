/* The table of block types and the public rlx_quant_decode and rlx_quant_encode. It has an entry for every block type
 * of ir/types.def, so a type without a decoder or an encoder fails to link. Sizes come from the type table
 * (rlx_dtype_describe). */
#include "quant/quant.h"

#include "quant/blocks.h"

typedef struct codec {
  rlx_block_decode *decode;
  rlx_block_encode *encode;
} codec;

#define RLX_BLOCK_BLOCK(ID, name) [RLX_##ID] = {rlx_##name##_decode, rlx_##name##_encode},
#define ROW(ID, number, name, class_, ...) RLX_BLOCK_##class_(ID, name)
static const codec codecs[RLX_DTYPE_COUNT] = {RLX_TYPE_TABLE(ROW)};
#undef ROW

bool rlx_quant_is_block(rlx_dtype dtype) { return (unsigned)dtype < RLX_DTYPE_COUNT && codecs[dtype].decode != NULL; }
bool rlx_quant_can_encode(rlx_dtype dtype) { return rlx_quant_is_block(dtype) && codecs[dtype].encode != NULL; }

static rlx_status check(const char *what, rlx_dtype dtype, const void *src, const void *dst, size_t n) {
  const rlx_dtype_info *info = rlx_dtype_describe(dtype);
  if (!info) return RLX_FAIL(RLX_INVALID, "%s: unknown dtype %d", what, (int)dtype);
  if (!rlx_quant_is_block(dtype)) return RLX_FAIL(RLX_INVALID, "%s: expected a block type, got %s", what, info->name);
  if (n % info->block_elements != 0)
    return RLX_FAIL(RLX_INVALID, "%s: %zu elements are not whole blocks of %u (%s)", what, n,
                    (unsigned)info->block_elements, info->name);
  if (n && (!src || !dst)) return RLX_FAIL(RLX_INVALID, "%s: %s is NULL", what, src ? "the result" : "the source");
  return RLX_OK;
}

rlx_status rlx_quant_decode(rlx_dtype dtype, const void *src, float *dst, size_t n) {
  RLX_TRY(check("quant decode", dtype, src, dst, n));
  const rlx_dtype_info *info = rlx_dtype_describe(dtype);
  const uint8_t *block = src;
  for (size_t i = 0; i < n; i += info->block_elements, block += info->block_bytes) codecs[dtype].decode(block, dst + i);
  return RLX_OK;
}

rlx_status rlx_quant_encode_weighted(rlx_dtype dtype, const float *src, const float *weight, void *dst, size_t n) {
  RLX_TRY(check("quant encode", dtype, src, dst, n));
  const rlx_dtype_info *info = rlx_dtype_describe(dtype);
  codecs[dtype].encode(src, weight, dst, n / info->block_elements);
  return RLX_OK;
}

rlx_status rlx_quant_encode(rlx_dtype dtype, const float *src, void *dst, size_t n) {
  return rlx_quant_encode_weighted(dtype, src, NULL, dst, n);
}
