/* Reads protobuf messages: varints, fixed-size values and lengths, all bounded by the enclosing message. */
#include "onnx/wire.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/* ---- the source ---- */

rlx_status wire_source_open(const char *path, wire_source *out) {
  *out = (wire_source){.path = path, .fd = -1};
  RLX_TRY(rlx_fd_open(path, &out->fd, &out->stamp));
  out->bytes = out->stamp.bytes;
  out->window = rlx_mem_alloc(WIRE_WINDOW);
  if (out->window) return RLX_OK;
  wire_source_close(out);
  return RLX_FAIL(RLX_NO_MEMORY, "no memory to read '%s'", path);
}

void wire_source_from(const void *data, size_t bytes, wire_source *out) {
  *out = (wire_source){.path = "(memory)", .fd = -1, .memory = data, .bytes = bytes};
}

void wire_source_close(wire_source *s) {
  rlx_fd_close(s->fd);
  rlx_mem_free(s->window);
  *s = (wire_source){.fd = -1};
}

rlx_status wire_source_read(const wire_source *s, uint64_t at, void *to, size_t bytes) {
  if (at > s->bytes || bytes > s->bytes - at)
    return RLX_FAIL(RLX_INVALID, "'%s': bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64, s->path, at, at + bytes,
                    s->bytes);
  if (!s->memory) return rlx_fd_read(s->fd, s->path, &s->stamp, at, to, bytes);
  if (bytes) memcpy(to, s->memory + at, bytes);
  return RLX_OK;
}

/* At least one byte from `at` on, and how many there are. */
static rlx_status look(wire_source *s, uint64_t at, const unsigned char **p, size_t *n) {
  if (s->memory) {
    *p = s->memory + at;
    *n = (size_t)(s->bytes - at);
    return RLX_OK;
  }
  if (at < s->window_at || at >= s->window_at + s->window_n) {
    uint64_t left = s->bytes - at;
    size_t want = left < WIRE_WINDOW ? (size_t)left : WIRE_WINDOW;
    s->window_n = 0;
    RLX_TRY(rlx_fd_read(s->fd, s->path, &s->stamp, at, s->window, want));
    s->window_at = at;
    s->window_n = want;
  }
  *p = s->window + (at - s->window_at);
  *n = (size_t)(s->window_at + s->window_n - at);
  return RLX_OK;
}

static rlx_status take(wire_source *s, uint64_t at, unsigned char *to, uint64_t bytes) {
  while (bytes) {
    const unsigned char *p;
    size_t n;
    RLX_TRY(look(s, at, &p, &n));
    if (n > bytes) n = (size_t)bytes;
    memcpy(to, p, n);
    to += n;
    at += n;
    bytes -= n;
  }
  return RLX_OK;
}

/* ---- values ---- */

static rlx_status fail_end(const wire *w, const char *what, uint64_t need) {
  return RLX_FAIL(RLX_INVALID, "byte %" PRIu64 ": %s of %" PRIu64 " bytes in a message that has %" PRIu64 " left",
                  w->at, what, need, w->end - w->at);
}

rlx_status wire_varint(wire *w, uint64_t *out) {
  uint64_t value = 0, begin = w->at;
  for (unsigned i = 0; i < 10; i++) {
    const unsigned char *p;
    size_t n;
    if (w->at >= w->end) return RLX_FAIL(RLX_INVALID, "byte %" PRIu64 ": a number that its message cuts off", begin);
    RLX_TRY(look(w->source, w->at, &p, &n));
    w->at++;
    if (i == 9 && *p > 1) break;
    value |= (uint64_t)(*p & 127) << 7 * i;
    if (*p < 128) {
      *out = value;
      return RLX_OK;
    }
  }
  return RLX_FAIL(RLX_INVALID, "byte %" PRIu64 ": a number of more than 64 bits", begin);
}

rlx_status wire_fixed(wire *w, size_t bytes, uint64_t *out) {
  unsigned char raw[8] = {0};
  if (w->end - w->at < bytes) return fail_end(w, "a number", bytes);
  RLX_TRY(take(w->source, w->at, raw, bytes));
  w->at += bytes;
  *out = 0;
  for (unsigned i = 0; i < 8; i++) *out |= (uint64_t)raw[i] << 8 * i;
  return RLX_OK;
}

rlx_status wire_next(wire *w, wire_field *f) {
  uint64_t tag, begin = w->at;
  *f = (wire_field){0};
  if (w->at == w->end) return RLX_OK;
  RLX_TRY(wire_varint(w, &tag));
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return RLX_FAIL(RLX_INVALID, "byte %" PRIu64 ": no field has the number %" PRIu64, begin, tag >> 3);
  f->number = (uint32_t)(tag >> 3);
  switch (tag & 7) {
    case WIRE_VARINT: f->type = WIRE_VARINT; return wire_varint(w, &f->value);
    case WIRE_I64: f->type = WIRE_I64; return wire_fixed(w, 8, &f->value);
    case WIRE_I32: f->type = WIRE_I32; return wire_fixed(w, 4, &f->value);
    case WIRE_BYTES: break;
    default: return RLX_FAIL(RLX_INVALID, "byte %" PRIu64 ": wire type %u is reserved", begin, (unsigned)(tag & 7));
  }
  f->type = WIRE_BYTES;
  RLX_TRY(wire_varint(w, &f->bytes));
  if (f->bytes > w->end - w->at) return fail_end(w, "a field", f->bytes);
  f->at = w->at;
  w->at += f->bytes;
  return RLX_OK;
}

rlx_status wire_expect(const wire_field *f, wire_type type, const char *what) {
  static const char *const names[] = {"a varint", "8 bytes", "a length", "?", "?", "4 bytes"};
  if (f->type == type) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s (field %u): expected %s, got %s", what, (unsigned)f->number, names[type],
                  names[f->type]);
}

rlx_status wire_enter(const wire *w, const wire_field *f, wire *out) {
  RLX_TRY(wire_expect(f, WIRE_BYTES, "a message"));
  *out = (wire){w->source, f->at, f->at + f->bytes};
  return RLX_OK;
}

rlx_status wire_take(const wire *w, const wire_field *f, void *to) { return take(w->source, f->at, to, f->bytes); }
