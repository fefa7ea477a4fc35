/* Files of the weight formats, byte by byte. */
#include "lm_image.h"

#include <stdio.h>
#include <string.h>

void lm_image_number(lm_image *f, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) f->v[f->n++] = (unsigned char)(i < 8 ? v >> 8 * i : 0);
}

void lm_image_bytes(lm_image *f, const void *data, size_t n) {
  memcpy(f->v + f->n, data, n);
  f->n += n;
}

void lm_image_text(lm_image *f, const char *text) {
  lm_image_number(f, strlen(text), 8);
  lm_image_bytes(f, text, strlen(text));
}

void lm_image_pad(lm_image *f, size_t align) {
  while (f->n % align) f->v[f->n++] = 0;
}

void lm_image_poke(lm_image *f, size_t at, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) f->v[at + i] = (unsigned char)(v >> 8 * i);
}

bool lm_image_write(const lm_image *f, const char *path, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool ok = bytes == 0 || fwrite(f->v, 1, bytes, file) == bytes;
  return fclose(file) == 0 && ok;
}

static void add_metas(lm_image *f, size_t at[LM_PLACES]) {
  at[AT_KEY_LENGTH] = f->n;
  at[AT_KEY] = f->n + 8;
  lm_image_text(f, "general.alignment");
  at[AT_ALIGN_TYPE] = f->n;
  lm_image_number(f, 4, 4);
  at[AT_ALIGN] = f->n;
  lm_image_number(f, 32, 4);
  lm_image_text(f, "a.text");
  at[AT_TEXT_TYPE] = f->n;
  lm_image_number(f, 8, 4);
  at[AT_TEXT_LENGTH] = f->n;
  lm_image_text(f, "hello");
  lm_image_text(f, "a.list");
  lm_image_number(f, 9, 4);
  at[AT_LIST_TYPE] = f->n;
  lm_image_number(f, 8, 4);
  at[AT_LIST_LENGTH] = f->n;
  lm_image_number(f, 2, 8);
  at[AT_ELEMENT_LENGTH] = f->n;
  lm_image_text(f, "x");
  lm_image_text(f, "yy");
  lm_image_text(f, "a.flag");
  lm_image_number(f, 7, 4);
  at[AT_FLAG] = f->n;
  lm_image_number(f, 1, 1);
  at[AT_LAST_KEY] = f->n + 8;
  lm_image_text(f, "a.last");
  lm_image_number(f, 6, 4);
  lm_image_number(f, 0x3f000000, 4);
}

static void add_tensors(lm_image *f, size_t at[LM_PLACES]) {
  at[AT_NAME_LENGTH] = f->n;
  at[AT_NAME] = f->n + 8;
  lm_image_text(f, "t0");
  at[AT_RANK] = f->n;
  lm_image_number(f, 2, 4);
  at[AT_SIZE0] = f->n;
  lm_image_number(f, 32, 8);
  at[AT_SIZE1] = f->n;
  lm_image_number(f, 2, 8);
  at[AT_TYPE] = f->n;
  lm_image_number(f, 0, 4);
  at[AT_OFFSET] = f->n;
  lm_image_number(f, 0, 8);
  at[AT_NAME2] = f->n + 8;
  lm_image_text(f, "t1");
  lm_image_number(f, 1, 4);
  at[AT_SIZE2] = f->n;
  lm_image_number(f, 64, 8);
  at[AT_TYPE2] = f->n;
  lm_image_number(f, 8, 4);
  at[AT_OFFSET2] = f->n;
  lm_image_number(f, 256, 8);
}

void lm_image_gguf(lm_image *f, size_t at[LM_PLACES]) {
  f->n = 0;
  at[AT_MAGIC] = 0;
  lm_image_bytes(f, "GGUF", 4);
  at[AT_VERSION] = f->n;
  lm_image_number(f, 3, 4);
  at[AT_TENSORS] = f->n;
  lm_image_number(f, 2, 8);
  at[AT_KEYS] = f->n;
  lm_image_number(f, 5, 8);
  add_metas(f, at);
  add_tensors(f, at);
  lm_image_pad(f, 32);
  at[AT_DATA] = f->n;
  for (uint32_t i = 0; i < 64; i++) lm_image_number(f, 0x3f800000 + i, 4);
  at[AT_DATA2] = f->n;
  for (int block = 0; block < 2; block++) {
    lm_image_number(f, 0x3c00, 2);
    for (uint32_t i = 0; i < 32; i++) lm_image_number(f, i, 1);
  }
  at[AT_END] = f->n;
  lm_image_pad(f, 32);
}

void lm_image_safetensors(lm_image *f, const char *header, size_t data_bytes) {
  f->n = 0;
  lm_image_text(f, header);
  for (size_t i = 0; i < data_bytes; i++) f->v[f->n++] = 0;
}
