/* Files of the weight formats, written byte by byte, so that readers are checked against the formats and not against
 * our writers. */
#ifndef RLX_TESTS_LM_IMAGE_H
#define RLX_TESTS_LM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lm_image {
  unsigned char v[1 << 20];
  size_t n;
} lm_image;

void lm_image_number(lm_image *f, uint64_t v, size_t bytes); /* little-endian */
void lm_image_bytes(lm_image *f, const void *data, size_t n);
void lm_image_text(lm_image *f, const char *text); /* as GGUF has it: its length in 8 bytes, then the text */
void lm_image_pad(lm_image *f, size_t align);
void lm_image_poke(lm_image *f, size_t at, uint64_t v, size_t bytes);
bool lm_image_write(const lm_image *f, const char *path, size_t bytes); /* the first of its bytes */

/* Offsets in the GGUF below, in file order. */
typedef enum lm_place {
  AT_MAGIC,
  AT_VERSION,
  AT_TENSORS,
  AT_KEYS,
  AT_KEY_LENGTH,
  AT_KEY,
  AT_ALIGN_TYPE,
  AT_ALIGN,
  AT_TEXT_TYPE,
  AT_TEXT_LENGTH,
  AT_LIST_TYPE,
  AT_LIST_LENGTH,
  AT_ELEMENT_LENGTH,
  AT_FLAG,
  AT_LAST_KEY,
  AT_NAME_LENGTH,
  AT_NAME,
  AT_RANK,
  AT_SIZE0,
  AT_SIZE1,
  AT_TYPE,
  AT_OFFSET,
  AT_NAME2,
  AT_SIZE2,
  AT_TYPE2,
  AT_OFFSET2,
  AT_DATA,
  AT_DATA2,
  AT_END, /* the end of the last tensor's bytes; padding follows */
  LM_PLACES
} lm_place;

/* A good file with keys general.alignment, a.text, a.list, a.flag, a.last and tensors t0 f32[2,32] and t1 q8_0[64]. */
void lm_image_gguf(lm_image *f, size_t at[LM_PLACES]);
/* A safetensors file of a header and a number of zeros. */
void lm_image_safetensors(lm_image *f, const char *header, size_t data_bytes);

#endif
