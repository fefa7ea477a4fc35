/* ONNX messages, written field by field. A message's length is inserted before it when it ends. */
#include "onnx_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *p, size_t *cap, size_t want, size_t size) {
  if (want <= *cap) return p;
  while (*cap < want) *cap = *cap ? 2 * *cap : 256;
  p = realloc(p, *cap * size);
  if (!p) abort();
  return p;
}

void image_free(onnx_image *f) {
  free(f->v);
  free(f->open);
  *f = (onnx_image){0};
}

bool image_write(const onnx_image *f, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool ok = f->n == 0 || fwrite(f->v, 1, f->n, file) == f->n;
  return fclose(file) == 0 && ok;
}

/* ---- wire format ---- */

void image_raw(onnx_image *f, const void *data, size_t n) {
  if (!n) return;
  f->v = grow(f->v, &f->cap, f->n + n, 1);
  memcpy(f->v + f->n, data, n);
  f->n += n;
}

static size_t encode(uint64_t x, unsigned char out[10]) {
  size_t n = 0;
  for (; x > 127; x >>= 7) out[n++] = (unsigned char)(x | 128);
  out[n++] = (unsigned char)x;
  return n;
}

void image_varint(onnx_image *f, uint64_t x) {
  unsigned char raw[10];
  size_t n = encode(x, raw);
  image_raw(f, raw, n);
}

void image_tag(onnx_image *f, uint32_t field, unsigned wire_type) { image_varint(f, (uint64_t)field << 3 | wire_type); }

void image_int(onnx_image *f, uint32_t field, int64_t x) {
  image_tag(f, field, 0);
  image_varint(f, (uint64_t)x);
}

static void put_float(onnx_image *f, float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  for (unsigned i = 0; i < 4; i++) image_raw(f, &(unsigned char){(unsigned char)(bits >> 8 * i)}, 1);
}

void image_float(onnx_image *f, uint32_t field, float x) {
  image_tag(f, field, 5);
  put_float(f, x);
}

void image_bytes(onnx_image *f, uint32_t field, const void *data, size_t n) {
  image_tag(f, field, 2);
  image_varint(f, n);
  image_raw(f, data, n);
}

void image_text(onnx_image *f, uint32_t field, const char *text) { image_bytes(f, field, text, strlen(text)); }

void image_texts(onnx_image *f, uint32_t field, const char *list) {
  if (strcmp(list, "-") == 0) return;
  for (;;) {
    size_t n = strcspn(list, ",");
    image_bytes(f, field, list, n);
    if (!list[n]) return;
    list += n + 1;
  }
}

void image_begin(onnx_image *f, uint32_t field) {
  image_tag(f, field, 2);
  f->open = grow(f->open, &f->cap_open, f->n_open + 1, sizeof *f->open);
  f->open[f->n_open++] = f->n;
}

void image_end(onnx_image *f) {
  unsigned char raw[10];
  size_t at = f->open[--f->n_open], bytes = f->n - at, n = encode(bytes, raw);
  image_raw(f, raw, n);
  memmove(f->v + at + n, f->v + at, bytes);
  memcpy(f->v + at, raw, n);
}

/* ---- parts of a model ---- */

void image_opset(onnx_image *f, uint32_t field, const char *domain, int64_t version) {
  image_begin(f, field);
  image_text(f, 1, domain);
  image_int(f, 2, version);
  image_end(f);
}

void image_model(onnx_image *f, int64_t opset) {
  image_int(f, MODEL_IR, 8);
  image_opset(f, MODEL_OPSET, "", opset);
}

/* Calls `each` for the parts of a list. */
static void each_part(onnx_image *f, const char *list, void (*each)(onnx_image *f, const char *part)) {
  while (*list) {
    char part[64];
    size_t n = strcspn(list, ",");
    snprintf(part, sizeof part, "%.*s", (int)n, list);
    each(f, part);
    list += n + (list[n] == ',');
  }
}

static void put_dim(onnx_image *f, const char *part) {
  char *end;
  long long size = strtoll(part, &end, 10);
  image_begin(f, 1);
  if (*part && !*end) image_int(f, 1, size);
  else image_text(f, 2, part);
  image_end(f);
}

void image_value(onnx_image *f, uint32_t field, const char *name, int type, const char *dims) {
  image_begin(f, field);
  image_text(f, 1, name);
  image_begin(f, 2);
  image_begin(f, 1);
  image_int(f, 1, type);
  if (dims) {
    image_begin(f, 2);
    each_part(f, dims, put_dim);
    image_end(f);
  }
  image_end(f);
  image_end(f);
  image_end(f);
}

/* ---- attributes ---- */

static bool is_real(const char *text, size_t n) { return memchr(text, '.', n) || memchr(text, 'n', n); }

static void put_list(onnx_image *f, const char *text, size_t n) {
  bool real = is_real(text, n);
  image_int(f, ATTRIBUTE_TYPE, real ? 6 : 7);
  for (const char *end = text + n; text < end; text++) {
    char *next;
    if (real) image_float(f, ATTRIBUTE_FLOATS, strtof(text, &next));
    else image_int(f, ATTRIBUTE_INTS, strtoll(text, &next, 10));
    text = next;
  }
}

static void put_attribute(onnx_image *f, const char *name, const char *value, size_t n) {
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)n, value);
  image_begin(f, NODE_ATTRIBUTE);
  image_text(f, ATTRIBUTE_NAME, name);
  if (*value == '\'') {
    image_bytes(f, ATTRIBUTE_TEXT, value + 1, n - 2);
    image_int(f, ATTRIBUTE_TYPE, 3);
  } else if (*value == '@') {
    image_text(f, ATTRIBUTE_REFERS, text + 1);
    image_int(f, ATTRIBUTE_TYPE, 2);
  } else if (*value == '[') {
    put_list(f, value + 1, n - 2);
  } else if (is_real(text, n)) {
    image_float(f, ATTRIBUTE_FLOAT, strtof(text, NULL));
    image_int(f, ATTRIBUTE_TYPE, 1);
  } else {
    image_int(f, ATTRIBUTE_INT, strtoll(text, NULL, 10));
    image_int(f, ATTRIBUTE_TYPE, 2);
  }
  image_end(f);
}

void image_attributes(onnx_image *f, const char *text) {
  while (text && *text) {
    char name[64];
    size_t n = strcspn(text, "="), value = strcspn(text + n + 1, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    put_attribute(f, name, text + n + 1, value);
    text += n + 1 + value;
    text += *text == ' ';
  }
}

/* ---- nodes ---- */

void image_node_begin(onnx_image *f, const char *op, const char *in, const char *out, const char *attributes) {
  image_begin(f, GRAPH_NODE);
  image_texts(f, NODE_IN, in);
  image_texts(f, NODE_OUT, out);
  image_text(f, NODE_OP, op);
  image_attributes(f, attributes);
}

void image_node(onnx_image *f, const char *op, const char *in, const char *out, const char *attributes) {
  image_node_begin(f, op, in, out, attributes);
  image_end(f);
}

void image_branch_begin(onnx_image *f, const char *name) {
  image_begin(f, NODE_ATTRIBUTE);
  image_text(f, ATTRIBUTE_NAME, name);
  image_int(f, ATTRIBUTE_TYPE, 5);
  image_begin(f, ATTRIBUTE_GRAPH);
}

void image_branch_end(onnx_image *f) {
  image_end(f);
  image_end(f);
}

/* ---- tensors ---- */

static void put_size(onnx_image *f, const char *part) { image_int(f, TENSOR_DIMS, strtoll(part, NULL, 10)); }

void image_tensor_begin(onnx_image *f, uint32_t field, const char *name, int type, const char *dims) {
  image_begin(f, field);
  each_part(f, dims, put_size);
  image_int(f, TENSOR_TYPE, type);
  image_text(f, TENSOR_NAME, name);
}

void image_tensor(onnx_image *f, uint32_t field, const char *name, int type, const char *dims, const void *data,
                  size_t bytes) {
  image_tensor_begin(f, field, name, type, dims);
  image_bytes(f, TENSOR_RAW, data, bytes);
  image_end(f);
}

void image_ints(onnx_image *f, uint32_t field, const char *name, const char *dims, const int64_t *v, size_t n) {
  image_tensor_begin(f, field, name, 7, dims);
  for (size_t i = 0; i < n; i++) image_int(f, TENSOR_INT64S, v[i]);
  image_end(f);
}

void image_floats(onnx_image *f, uint32_t field, const char *name, const char *dims, const float *v, size_t n) {
  image_tensor_begin(f, field, name, 1, dims);
  image_begin(f, TENSOR_FLOATS);
  for (size_t i = 0; i < n; i++) put_float(f, v[i]);
  image_end(f);
  image_end(f);
}

static void put_entry(onnx_image *f, const char *key, const char *value) {
  if (!value) return;
  image_begin(f, TENSOR_EXTERNAL);
  image_text(f, 1, key);
  image_text(f, 2, value);
  image_end(f);
}

void image_external(onnx_image *f, uint32_t field, const char *name, int type, const char *dims, const char *location,
                    const char *offset, const char *length) {
  image_tensor_begin(f, field, name, type, dims);
  put_entry(f, "location", location);
  put_entry(f, "offset", offset);
  put_entry(f, "length", length);
  image_int(f, TENSOR_LOCATION, 1);
  image_end(f);
}
