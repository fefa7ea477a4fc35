/* Mutations of ONNX messages: the tree of fields is traversed twice, once to count the fields, once to write them again
 * with one changed.
 *
 * The format does not distinguish a message from a text, so bytes that parse as fields count as a message. Names of ops
 * come from the table of ops, numbers from a list of typical edge cases. */
#include "onnx_mutate.h"

#include <stdbool.h>
#include <string.h>

#include "onnx/import.h"
#include "onnx_image.h"

enum { MAX_DEPTH = 12 };

typedef struct walk {
  uint64_t *random;
  size_t at, target; /* number of fields so far; the one to change */
  onnx_image *to;    /* NULL: only count */
} walk;

static uint64_t draw(uint64_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random;
}

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (unsigned i = 0; i < 10 && *p < end; i++) {
    uint8_t byte = *(*p)++;
    *out |= (uint64_t)(byte & 127) << 7 * i;
    if (byte < 128) return true;
  }
  return false;
}

typedef struct field {
  uint32_t number;
  unsigned type;
  uint64_t value;      /* of a varint */
  const uint8_t *data; /* of others */
  size_t bytes;
} field;

static bool read_field(const uint8_t **p, const uint8_t *end, field *f) {
  uint64_t tag, n;
  if (!read_varint(p, end, &tag) || tag >> 3 == 0 || tag >> 3 > 100) return false;
  *f = (field){.number = (uint32_t)(tag >> 3), .type = (unsigned)(tag & 7), .data = *p};
  switch (f->type) {
    case 0: return read_varint(p, end, &f->value);
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2:
      if (!read_varint(p, end, &n)) return false;
      f->data = *p;
      break;
    default: return false;
  }
  if (n > (uint64_t)(end - *p)) return false;
  f->bytes = (size_t)n;
  *p += n;
  return true;
}

static bool is_message(const uint8_t *data, size_t bytes) {
  const uint8_t *p = data, *end = data + bytes;
  field f;
  while (p < end)
    if (!read_field(&p, end, &f)) return false;
  return bytes > 0;
}

static int64_t odd_number(uint64_t *random) {
  static const int64_t odd[] = {
    0,         1,         2,         3,         -1,        -2,           7,       8,         9,
    16,        17,        127,       128,       255,       256,          1 << 16, INT32_MAX, INT32_MIN,
    INT64_MAX, INT64_MIN, 1ll << 32, 1ll << 40, 1ll << 62, -(1ll << 40), 99,      4,         5};
  uint64_t r = draw(random);
  return r % 4 == 0 ? (int64_t)(r >> 8 & 31) : odd[(r >> 8) % (sizeof odd / sizeof *odd)];
}

/* Replaces a text: by an op, a name that these models have, or a word of attributes. */
static void put_text(walk *w, uint32_t number) {
  static const char *const words[] = {
    "x0",    "x1",       "x2",      "y0",         "y1",          "",     "axis",  "to",      "perm",         "linear",
    "cubic", "constant", "reflect", "SAME_UPPER", "then_branch", "body", "value", "ai.onnx", "com.microsoft"};
  const onnx_op_row *rows;
  size_t n = onnx_op_rows(&rows);
  uint64_t r = draw(w->random);
  if (r % 2) image_text(w->to, number, rows[(r >> 8) % n].name);
  else image_text(w->to, number, words[(r >> 8) % (sizeof words / sizeof *words)]);
}

static void put_field(walk *w, const field *f) {
  if (f->type == 0) {
    image_int(w->to, f->number, (int64_t)f->value);
    return;
  }
  image_tag(w->to, f->number, f->type);
  if (f->type == 2) image_varint(w->to, f->bytes);
  image_raw(w->to, f->data, f->bytes);
}

static void change_bytes(walk *w, const field *f) {
  field changed = *f;
  uint8_t copy[256];
  if (f->bytes == 0 || f->bytes > sizeof copy) {
    put_text(w, f->number);
    return;
  }
  memcpy(copy, f->data, f->bytes);
  copy[draw(w->random) % f->bytes] = (uint8_t)(draw(w->random) >> 16);
  changed.data = copy;
  put_field(w, &changed);
}

/* Changes the selected field. */
static void change(walk *w, const field *f) {
  switch (draw(w->random) % 8) {
    case 0: return; /* dropped */
    case 1:
      put_field(w, f);
      put_field(w, f);
      return;
    default: break;
  }
  if (f->type == 0) image_int(w->to, f->number, odd_number(w->random));
  else if (f->type == 2 && draw(w->random) % 2) put_text(w, f->number);
  else change_bytes(w, f);
}

static void walk_message(walk *w, const uint8_t *data, size_t bytes, int depth) {
  const uint8_t *p = data, *end = data + bytes;
  field f;
  while (p < end && read_field(&p, end, &f)) {
    bool inner = f.type == 2 && depth < MAX_DEPTH && is_message(f.data, f.bytes);
    bool chosen = w->at++ == w->target;
    if (chosen && w->to) {
      change(w, &f);
    } else if (inner) {
      if (w->to) image_begin(w->to, f.number);
      walk_message(w, f.data, f.bytes, depth + 1);
      if (w->to) image_end(w->to);
    } else if (w->to) {
      put_field(w, &f);
    }
  }
}

size_t onnx_mutate(uint8_t *data, size_t bytes, size_t cap, uint64_t *random) {
  onnx_image f = {0};
  walk w = {.random = random, .target = SIZE_MAX};
  if (!*random) *random = 1;
  if (!is_message(data, bytes)) return 0;
  walk_message(&w, data, bytes, 0);
  w = (walk){.random = random, .target = (size_t)(draw(random) % w.at), .to = &f};
  walk_message(&w, data, bytes, 0);
  size_t n = f.n <= cap ? f.n : 0;
  if (n) memcpy(data, f.v, n);
  image_free(&f);
  return n;
}
