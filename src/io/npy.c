/* NumPy .npy files: one array with a small text header and raw bytes.
 *
 * Reads versions 1 to 3, little endian or single bytes, C or Fortran order (reordered to C). Writes version 1, C
 * order, byte for byte as numpy.save does. bf16, which NumPy lacks, is the two-byte void type '<V2', as ml_dtypes
 * saves it.
 *
 * The header is a Python dictionary. It is parsed strictly: three keys, each once, nothing else. It is read first
 * and alone, so a large file that is not an array costs nothing. Then the data is read straight into its final
 * buffer, so reading takes the size of the file once. A file that changes in between is refused (base/file.h).
 *
 * Not supported: big endian, structured types, text, objects, .npz. Each is refused by name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/file.h"
#include "base/mem.h"
#include "ir/op.h"
#include "ir/shape.h"

/* Whether a type string denotes a type: '<' and '|' (no byte order) are equal for single bytes and raw bits. */
static bool is_descr(const char *text, const rlx_type_row *t) {
  if (!*t->npy) return false;
  bool either = t->info.block_bytes == 1 || t->npy[1] == 'V';
  bool order = text[0] == t->npy[0] || (either && (text[0] == '<' || text[0] == '|'));
  return order && strcmp(text + 1, t->npy + 1) == 0;
}

/* ---- The header's dictionary --------------------------------------------------------------------------------- */

typedef struct header {
  rlx_dtype dtype;
  rlx_dims shape;
  bool is_fortran;
} header;

typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool accept(cursor *c, const char *text) {
  skip_blanks(c);
  size_t n = strlen(text);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
  c->at += n;
  return true;
}

/* Parses a string in either quotes, without escapes. */
static bool accept_string(cursor *c, char *out, size_t cap) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  const char *from = c->at + 1, *close = memchr(from, *c->at, (size_t)(c->end - from));
  if (!close || (size_t)(close - from) >= cap) return false;
  memcpy(out, from, (size_t)(close - from));
  out[close - from] = '\0';
  c->at = close + 1;
  return true;
}

static rlx_status parse_descr(cursor *c, header *h) {
  char text[32];
  if (accept(c, "[")) return RLX_FAIL(RLX_UNSUPPORTED, "expected an array of plain numbers, got a structured one");
  if (!accept_string(c, text, sizeof text)) return RLX_FAIL(RLX_INVALID, "expected a type such as '<f4' for descr");
  for (int d = 0; *text && d < RLX_DTYPE_COUNT; d++) {
    if (!is_descr(text, rlx_type_get((rlx_dtype)d))) continue;
    h->dtype = (rlx_dtype)d;
    return RLX_OK;
  }
  if (text[0] == '>') return RLX_FAIL(RLX_UNSUPPORTED, "expected little-endian numbers, got '%s'", text);
  return RLX_FAIL(RLX_UNSUPPORTED, "expected a type of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 c8 V2, got '%s'", text);
}

static rlx_status parse_order(cursor *c, header *h) {
  h->is_fortran = accept(c, "True");
  return h->is_fortran || accept(c, "False") ? RLX_OK
                                             : RLX_FAIL(RLX_INVALID, "expected True or False for fortran_order");
}

static rlx_status parse_size(cursor *c, int64_t *out) {
  skip_blanks(c);
  const char *from = c->at;
  *out = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
    if (!rlx_mul_i64(*out, 10, out) || !rlx_add_i64(*out, *c->at - '0', out))
      return RLX_FAIL(RLX_INVALID, "a size of the shape does not fit 64 bits");
  return c->at > from ? RLX_OK : RLX_FAIL(RLX_INVALID, "expected a size, 0 or more, in the shape");
}

/* Parses "()", "(3,)", "(2, 3)"; "(3)" is a number in Python but unambiguous. */
static rlx_status parse_shape(cursor *c, header *h) {
  if (!accept(c, "(")) return RLX_FAIL(RLX_INVALID, "expected sizes in parentheses for shape");
  bool more = true;
  while (!accept(c, ")")) {
    if (!more) return RLX_FAIL(RLX_INVALID, "expected ',' or ')' in the shape");
    if (h->shape.n == RLX_MAX_RANK) return RLX_FAIL(RLX_UNSUPPORTED, "the shape has more than %d axes", RLX_MAX_RANK);
    RLX_TRY(parse_size(c, &h->shape.v[h->shape.n]));
    h->shape.n++;
    more = accept(c, ",");
  }
  return RLX_OK;
}

static const struct {
  const char *name;
  rlx_status (*parse)(cursor *c, header *h);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
enum { N_KEYS = sizeof keys / sizeof *keys };

static rlx_status parse_entry(cursor *c, bool seen[N_KEYS], header *h) {
  char key[32];
  if (!accept_string(c, key, sizeof key)) return RLX_FAIL(RLX_INVALID, "expected a key or '}' in the header");
  size_t i = 0;
  while (i < N_KEYS && strcmp(key, keys[i].name) != 0) i++;
  if (i == N_KEYS) return RLX_FAIL(RLX_INVALID, "expected descr, fortran_order and shape in the header, got '%s'", key);
  if (seen[i]) return RLX_FAIL(RLX_INVALID, "the header has '%s' twice", key);
  if (!accept(c, ":")) return RLX_FAIL(RLX_INVALID, "expected ':' after '%s' in the header", key);
  seen[i] = true;
  return keys[i].parse(c, h);
}

static rlx_status parse_header(const char *text, size_t n, header *h) {
  cursor c = {text, text + n};
  bool seen[N_KEYS] = {false}, more = true;
  *h = (header){.dtype = RLX_F32};
  if (!accept(&c, "{")) return RLX_FAIL(RLX_INVALID, "expected a header that begins with '{'");
  while (!accept(&c, "}")) {
    if (!more) return RLX_FAIL(RLX_INVALID, "expected ',' or '}' in the header");
    RLX_TRY(parse_entry(&c, seen, h));
    more = accept(&c, ",");
  }
  for (size_t i = 0; i < N_KEYS; i++)
    if (!seen[i]) return RLX_FAIL(RLX_INVALID, "the header lacks '%s'", keys[i].name);
  skip_blanks(&c);
  return c.at == c.end ? RLX_OK : RLX_FAIL(RLX_INVALID, "expected nothing but blanks after the header's '}'");
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

enum { MAX_HEADER = 1 << 20 }; /* bytes; NumPy refuses more than 10,000 by default */

typedef struct source {
  const char *path;
  int fd;
  rlx_stamp stamp;
} source;

static rlx_status read_at(const source *f, size_t at, void *data, size_t bytes) {
  return rlx_fd_read(f->fd, f->path, &f->stamp, at, data, bytes);
}

/* Finds the offset and length of the header. */
static rlx_status find_header(const source *f, size_t *at, size_t *length) {
  unsigned char head[12] = {0};
  const uint64_t bytes = f->stamp.bytes;
  RLX_TRY(read_at(f, 0, head, bytes < sizeof head ? (size_t)bytes : sizeof head));
  if (bytes < 10 || memcmp(head, "\x93NUMPY", 6) != 0) return RLX_FAIL(RLX_INVALID, "expected a .npy file");
  unsigned major = head[6], minor = head[7];
  if (major < 1 || major > 3 || minor != 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected version 1.0, 2.0 or 3.0 of .npy, got %u.%u", major, minor);
  *at = major == 1 ? 10 : 12;
  *length = (size_t)head[8] | (size_t)head[9] << 8;
  if (major > 1) *length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  if (bytes < *at || *length > bytes - *at)
    return RLX_FAIL(RLX_INVALID, "the header of %zu bytes does not fit the file of %" PRIu64, *length, bytes);
  if (*length > MAX_HEADER)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected a header of at most %d bytes, got %zu", MAX_HEADER, *length);
  return RLX_OK;
}

/* Reads the header and finds the offset and bytes of the data. */
static rlx_status read_header(const source *f, header *h, size_t *data_at, size_t *data_bytes) {
  const uint64_t bytes = f->stamp.bytes;
  size_t at, length;
  RLX_TRY(find_header(f, &at, &length));
  char *text = rlx_mem_alloc(length);
  if (!text) return RLX_FAIL(RLX_NO_MEMORY, "no memory for a header of %zu bytes", length);
  rlx_status s = read_at(f, at, text, length);
  if (!s) s = parse_header(text, length, h);
  rlx_mem_free(text);
  RLX_TRY(s);
  *data_at = at + length;
  RLX_TRY(rlx_tensor_bytes(h->dtype, h->shape, data_bytes));
  if (bytes - *data_at != *data_bytes)
    return RLX_FAIL(RLX_INVALID, "%s%s takes %zu bytes but the file holds %" PRIu64, rlx_dtype_name(h->dtype),
                    RLX_DIMS_TEXT(h->shape), *data_bytes, bytes - *data_at);
  return RLX_OK;
}

static rlx_status check_bools(const unsigned char *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (data[i] > 1) return RLX_FAIL(RLX_INVALID, "element %zu is %u, not a bool", i, (unsigned)data[i]);
  return RLX_OK;
}

/* Walks the result in C order; in the file the first axis is the fastest. */
static void copy_fortran(const header *h, const unsigned char *from, unsigned char *to) {
  size_t size = rlx_dtype_size(h->dtype), count = rlx_dims_count(&h->shape);
  int64_t index[RLX_MAX_RANK] = {0};
  for (size_t i = 0; i < count; i++) {
    size_t at = 0, stride = 1;
    for (int k = 0; k < h->shape.n; k++) {
      at += (size_t)index[k] * stride;
      stride *= (size_t)h->shape.v[k];
    }
    memcpy(to + i * size, from + at * size, size);
    for (int k = h->shape.n - 1; k >= 0 && ++index[k] == h->shape.v[k]; k--) index[k] = 0;
  }
}

/* Reorders to C order in a new buffer; frees the old one. */
static rlx_status reorder(const header *h, unsigned char **data, size_t bytes) {
  unsigned char *ordered = rlx_mem_alloc(bytes);
  if (ordered) copy_fortran(h, *data, ordered);
  rlx_mem_free(*data);
  *data = ordered;
  return ordered ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for %zu bytes", bytes);
}

static rlx_status read_tensor(const source *f, rlx_tensor *out) {
  size_t at, bytes;
  header h;
  RLX_TRY(read_header(f, &h, &at, &bytes));
  unsigned char *data = rlx_mem_alloc(bytes);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "no memory for %zu bytes", bytes);
  rlx_status s = read_at(f, at, data, bytes);
  if (!s && h.dtype == RLX_BOOL) s = check_bools(data, bytes);
  if (!s && h.is_fortran) s = reorder(&h, &data, bytes);
  if (s) rlx_mem_free(data);
  else *out = (rlx_tensor){.dtype = h.dtype, .shape = h.shape, .data = data, .bytes = bytes};
  return s;
}

rlx_status rlx_npy_read(const char *path, rlx_tensor *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_npy_read: out is NULL");
  *out = (rlx_tensor){0};
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_npy_read: path is NULL");
  source f = {.path = path};
  RLX_TRY(rlx_fd_open(path, &f.fd, &f.stamp));
  rlx_status s = read_tensor(&f, out);
  rlx_fd_close(f.fd);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

enum { HEAD_BYTES = 320, ALIGN = 64 }; /* the data is aligned to ALIGN */

/* Writes everything before the data; returns its length, a multiple of ALIGN. 8 sizes of 19 digits fit. */
static size_t write_head(const char *descr, const rlx_dims *shape, char head[HEAD_BYTES]) {
  size_t n = 10;
#define ADD(...) n += (size_t)snprintf(head + n, HEAD_BYTES - n, __VA_ARGS__)
  ADD("{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < shape->n; i++) ADD("%s%" PRId64, i ? ", " : "", shape->v[i]);
  ADD(shape->n == 1 ? ",), }" : "), }");
#undef ADD
  size_t total = (n + 1 + ALIGN - 1) / ALIGN * ALIGN, length = total - 10;
  memset(head + n, ' ', total - n);
  head[total - 1] = '\n';
  memcpy(head, "\x93NUMPY\x01", 8);
  head[8] = (char)(length & 255);
  head[9] = (char)(length >> 8);
  return total;
}

static rlx_status write_tensor(const char *path, const rlx_tensor *t) {
  size_t bytes, total;
  RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &bytes));
  if (bytes != t->bytes || (bytes && !t->data))
    return RLX_FAIL(RLX_INVALID, "%s%s takes %zu bytes but the tensor has %zu%s", rlx_dtype_name(t->dtype),
                    RLX_DIMS_TEXT(t->shape), bytes, t->bytes, t->data ? "" : " and no data");
  const char *descr = rlx_type_get(t->dtype)->npy;
  if (!*descr) return RLX_FAIL(RLX_UNSUPPORTED, ".npy has no type for %s", rlx_dtype_name(t->dtype));
  if (t->dtype == RLX_BOOL) RLX_TRY(check_bools(t->data, bytes));
  char head[HEAD_BYTES];
  size_t head_bytes = write_head(descr, &t->shape, head);
  char *file = rlx_add_size(head_bytes, bytes, &total) ? rlx_mem_alloc(total) : NULL;
  if (!file) return RLX_FAIL(RLX_NO_MEMORY, "no memory for %zu bytes and a header", bytes);
  memcpy(file, head, head_bytes);
  if (bytes) memcpy(file + head_bytes, t->data, bytes);
  rlx_status s = rlx_file_write(path, file, total);
  rlx_mem_free(file);
  return s;
}

rlx_status rlx_npy_write(const char *path, const rlx_tensor *t) {
  if (!path || !t) return RLX_FAIL(RLX_INVALID, "rlx_npy_write: %s is NULL", path ? "the tensor" : "path");
  rlx_status s = write_tensor(path, t);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}
