/* The protobuf wire format of ONNX files, read by offset.
 *
 * A file is nested messages: fields with a number, a wire type and a value. A `wire` is a message: the bytes from
 * `at` to `end` of a source. A field is read only after its length was checked against its message, so a hostile
 * length costs nothing. Large values (weights) are recorded by offset and read on demand. The source reads through a
 * buffer and is never mapped: a file that shrinks must give a status, not a signal. */
#ifndef RLX_ONNX_WIRE_H
#define RLX_ONNX_WIRE_H

#include "base/file.h"

enum { WIRE_WINDOW = 1 << 16 };

typedef struct wire_source {
  const char *path;            /* for messages */
  const unsigned char *memory; /* all of it, or NULL */
  int fd;                      /* -1 with memory */
  rlx_stamp stamp;             /* of a file, when it was opened */
  uint64_t bytes;
  unsigned char *window; /* of a file: bytes window_at .. window_at + window_n - 1 */
  uint64_t window_at;
  size_t window_n;
} wire_source;

rlx_status wire_source_open(const char *path, wire_source *out);
void wire_source_from(const void *data, size_t bytes, wire_source *out);
void wire_source_close(wire_source *s); /* a zeroed one with fd -1 is fine */
/* Reads past the window; threads may do so at once. */
rlx_status wire_source_read(const wire_source *s, uint64_t at, void *to, size_t bytes);

typedef struct wire {
  wire_source *source;
  uint64_t at, end;
} wire;

typedef enum wire_type { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 } wire_type;

typedef struct wire_field {
  uint32_t number; /* 0: the message has ended */
  wire_type type;
  uint64_t value; /* of a number: its bits */
  uint64_t at;    /* offset of the bytes */
  uint64_t bytes;
} wire_field;

/* The next field, whose value is skipped where it is bytes. */
rlx_status wire_next(wire *w, wire_field *f);
/* The bytes of a field as a message. Fails if the field is a number. */
rlx_status wire_enter(const wire *w, const wire_field *f, wire *out);
rlx_status wire_varint(wire *w, uint64_t *out);
rlx_status wire_fixed(wire *w, size_t bytes, uint64_t *out); /* little endian, 4 or 8 */
/* Fails unless the field has this wire type. `what` is its name. */
rlx_status wire_expect(const wire_field *f, wire_type type, const char *what);
/* Bytes of a field through the window, which suits short ones. */
rlx_status wire_take(const wire *w, const wire_field *f, void *to);

static inline double wire_float(uint64_t bits) {
  union {
    uint32_t u;
    float f;
  } x = {.u = (uint32_t)bits};
  return (double)x.f;
}

#endif
