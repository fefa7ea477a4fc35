/* Converts a weight file: reads, decodes, encodes and writes it in chunks.
 *
 * First all metadata and all tensors with their new types go to the writer, which refuses what the format cannot
 * hold before anything is computed. Then tensors follow in chunks of a few MiB, so memory does not depend on the
 * model size. The values of a chunk are split among threads, each converting its range from the file's type to f32
 * to the new type. Results do not depend on the number of threads.
 *
 * Values that the new type cannot hold are refused: f16 ends at 65504, and block types have no infinity.
 *
 * An importance matrix weights the errors of each column. Where they are asked for, the errors of a tensor are summed
 * task by task, in the order of its elements. */
#include "io/file_convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/budget.h"
#include "base/half.h"
#include "base/os_file.h"
#include "base/sized.h"
#include "base/thread.h"
#include "io/file_importance.h"
#include "io/file_write.h"
#include "ir/op.h"
#include "quant/quant.h"

enum { CHUNK = 1 << 20, TASK = 1 << 14, TASKS = CHUNK / TASK }; /* elements; multiples of every block size */

/* Sums of squares, plain and weighted: of errors and of the values. */
typedef struct error_sums {
  double errors, values, weighted_errors, weighted_values;
} error_sums;

typedef struct convert {
  convert_types types;
  const convert_source *source;
  rlx_file_writer *w;
  rlx_pool *pool;
  uint64_t done, total;       /* bytes read */
  unsigned char *from, *to;   /* a chunk in both types */
  float *values;              /* and as f32 */
  float *decoded;             /* and as it will be read; NULL: no errors are asked for */
  float *weights;             /* of the columns of the tensor that is written, [experts, columns]; NULL: 1 for each */
  size_t columns, per_expert; /* if there are weights: elements of a row, and of an expert (or of the whole tensor) */
  error_sums errors;          /* of that tensor so far */
} convert;

/* ---- Values -------------------------------------------------------------------------------------------------- */

typedef enum trouble { NONE, NOT_FINITE, TOO_LARGE } trouble;

typedef struct piece {
  const convert *c;
  rlx_dtype from, to;
  size_t n, begin; /* elements; the index of the first one in the tensor */
  _Atomic int trouble;
  error_sums errors[TASKS];
} piece;

static size_t bytes_of(rlx_dtype t, size_t n) {
  const rlx_dtype_info *info = rlx_dtype_describe(t);
  return n / info->block_elements * info->block_bytes;
}

static void decode(rlx_dtype type, const unsigned char *from, float *to, size_t n) {
  uint16_t h;
  double d;
  if (rlx_dtype_is_block(type) && rlx_quant_decode(type, from, to, n) == RLX_OK) return;
  for (size_t i = 0; i < n; i++) switch (type) {
      case RLX_F16: memcpy(&h, from + 2 * i, 2), to[i] = rlx_f16_to_f32(h); break;
      case RLX_BF16: memcpy(&h, from + 2 * i, 2), to[i] = rlx_bf16_to_f32(h); break;
      case RLX_F64: memcpy(&d, from + 8 * i, 8), to[i] = (float)d; break;
      default: memcpy(&to[i], from + 4 * i, 4);
    }
}

/* The weights of the elements from index `at` of the tensor on, and how many are consecutive: to the row's end. */
static const float *weights_from(const convert *c, size_t at, size_t *n) {
  size_t column = at % c->columns;
  *n = c->columns - column;
  return c->weights + at / c->per_expert * c->columns + column;
}

/* Rows are whole blocks. */
static trouble encode_blocks(const piece *p, size_t at, const float *from, unsigned char *to, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(from[i])) return NOT_FINITE;
  if (!p->c->weights) return rlx_quant_encode(p->to, from, to, n) ? NOT_FINITE : NONE;
  for (size_t i = 0, run; i < n; i += run) {
    const float *weight = weights_from(p->c, p->begin + at + i, &run);
    if (run > n - i) run = n - i;
    if (rlx_quant_encode_weighted(p->to, from + i, weight, to + bytes_of(p->to, i), run)) return NOT_FINITE;
  }
  return NONE;
}

static trouble encode(const piece *p, size_t at, const float *from, unsigned char *to, size_t n) {
  const rlx_dtype type = p->to;
  uint16_t h;
  if (rlx_dtype_is_block(type)) return encode_blocks(p, at, from, to, n);
  if (type == RLX_F32) memcpy(to, from, 4 * n);
  for (size_t i = 0; type != RLX_F32 && i < n; i++) {
    h = type == RLX_F16 ? rlx_f32_to_f16(from[i]) : rlx_f32_to_bf16(from[i]);
    if (type == RLX_F16 && (h & 0x7fff) == 0x7c00 && isfinite(from[i])) return TOO_LARGE;
    memcpy(to + 2 * i, &h, 2);
  }
  return NONE;
}

static error_sums compare(const piece *p, size_t at, const float *values, const float *decoded, size_t n) {
  error_sums s = {0};
  const float *weight = NULL;
  for (size_t i = 0, run = 0; i < n; i++, run--) {
    if (!run && p->c->weights) weight = weights_from(p->c, p->begin + at + i, &run);
    double error = (double)decoded[i] - (double)values[i], w = weight ? (double)*weight++ : 1;
    s.errors += error * error;
    s.values += (double)values[i] * (double)values[i];
    s.weighted_errors += w * error * error;
    s.weighted_values += w * (double)values[i] * (double)values[i];
  }
  return s;
}

static void run_task(void *user, size_t task, unsigned thread) {
  (void)thread;
  piece *p = user;
  size_t at = task * TASK, n = p->n - at < TASK ? p->n - at : TASK;
  float *values = p->c->values + at;
  decode(p->from, p->c->from + bytes_of(p->from, at), values, n);
  unsigned char *to = p->c->to + bytes_of(p->to, at);
  trouble t = encode(p, at, values, to, n);
  if (t) atomic_store(&p->trouble, (int)t);
  if (t || !p->c->decoded) return;
  decode(p->to, to, p->c->decoded + at, n);
  p->errors[task] = compare(p, at, values, p->c->decoded + at, n);
}

static rlx_status fail_value(const rlx_file_tensor *t, rlx_dtype to, trouble what) {
  return RLX_FAIL(RLX_INVALID, "tensor '%s' holds %s, so it cannot be %s", t->name,
                  what == TOO_LARGE ? "numbers above 65504" : "numbers that are not finite", rlx_dtype_name(to));
}

/* ---- Tensors ------------------------------------------------------------------------------------------------- */

static rlx_status advance(convert *c, size_t bytes) {
  c->done += bytes;
  return file_watch(&c->types.options->watch, "convert", c->done, c->total);
}

/* Copies bytes unchanged; includes bool written as i8. */
static rlx_status copy_tensor(convert *c, size_t i) {
  const rlx_file_tensor *t = &c->source->tensors[i];
  for (size_t at = 0, n; at < t->bytes; at += n) {
    n = t->bytes - at < CHUNK ? t->bytes - at : CHUNK;
    RLX_TRY(c->source->read(c->source->user, i, at, c->from, n));
    RLX_TRY(rlx_file_writer_bytes(c->w, c->from, n));
    RLX_TRY(advance(c, n));
  }
  return RLX_OK;
}

static rlx_status find_weights(convert *c, const rlx_file_tensor *t, size_t total) {
  size_t experts = 1;
  if (!c->types.options->importance) return RLX_OK;
  RLX_TRY(importance_weights(c->types.options->importance, t, &experts, &c->weights));
  c->columns = (size_t)t->shape.v[t->shape.n ? t->shape.n - 1 : 0];
  c->per_expert = total / experts;
  return RLX_OK;
}

static void report_error(const convert *c, const rlx_file_tensor *t, rlx_dtype to) {
  const rlx_convert_options *o = c->types.options;
  const error_sums *e = &c->errors;
  rlx_convert_error r = {RLX_CONVERT_ERROR_INIT, .tensor = t->name, .from = t->dtype, .to = to};
  r.error = e->values > 0 ? sqrt(e->errors / e->values) : 0;
  r.is_weighted = c->weights != NULL;
  r.weighted_error = e->weighted_values > 0 ? sqrt(e->weighted_errors / e->weighted_values) : 0;
  if (o->measured) o->measured(o->user, &r);
}

static rlx_status recode_all(convert *c, size_t i, rlx_dtype to) {
  const rlx_file_tensor *t = &c->source->tensors[i];
  const rlx_dtype_info *info = rlx_dtype_describe(t->dtype);
  size_t total = t->bytes / info->block_bytes * info->block_elements;
  for (size_t at = 0, n; at < total; at += n) {
    n = total - at < CHUNK ? total - at : CHUNK;
    piece p = {.c = c, .from = t->dtype, .to = to, .n = n, .begin = at};
    RLX_TRY(c->source->read(c->source->user, i, bytes_of(t->dtype, at), c->from, bytes_of(t->dtype, n)));
    rlx_pool_run(c->pool, (n + TASK - 1) / TASK, run_task, &p);
    if (atomic_load(&p.trouble)) return fail_value(t, to, (trouble)atomic_load(&p.trouble));
    for (size_t k = 0; k < TASKS; k++) {
      c->errors.errors += p.errors[k].errors;
      c->errors.values += p.errors[k].values;
      c->errors.weighted_errors += p.errors[k].weighted_errors;
      c->errors.weighted_values += p.errors[k].weighted_values;
    }
    RLX_TRY(rlx_file_writer_bytes(c->w, c->to, bytes_of(to, n)));
    RLX_TRY(advance(c, bytes_of(t->dtype, n)));
  }
  return RLX_OK;
}

static rlx_status recode_tensor(convert *c, size_t i, rlx_dtype to) {
  const rlx_file_tensor *t = &c->source->tensors[i];
  const rlx_dtype_info *info = rlx_dtype_describe(t->dtype);
  c->errors = (error_sums){0};
  rlx_status s = find_weights(c, t, t->bytes / info->block_bytes * info->block_elements);
  if (!s) s = recode_all(c, i, to);
  if (!s) report_error(c, t, to);
  rlx_mem_free(c->weights);
  c->weights = NULL;
  return s;
}

static rlx_status write_tensor(convert *c, size_t i) {
  const rlx_file_tensor *t = &c->source->tensors[i];
  rlx_dtype wanted, to;
  RLX_TRY(convert_type_of(&c->types, t, &wanted, &to));
  return to == t->dtype || t->dtype == RLX_BOOL ? copy_tensor(c, i) : recode_tensor(c, i, to);
}

static rlx_status name_tensor(convert *c, const rlx_file_tensor *t) {
  rlx_dtype wanted, to;
  const rlx_convert_options *o = c->types.options;
  RLX_TRY(convert_type_of(&c->types, t, &wanted, &to));
  if (to != wanted && o->report) o->report(o->user, t->name, wanted, to);
  c->total += t->bytes;
  return rlx_file_writer_tensor(c->w, t->name, to, t->shape);
}

/* ---- The file ------------------------------------------------------------------------------------------------ */

/* Allocates buffers for a chunk of any tensor; small for a small file. */
static rlx_status make_room(convert *c) {
  size_t max = 256;
  for (size_t i = 0; i < c->source->n; i++) {
    const rlx_dtype_info *t = rlx_dtype_describe(c->source->tensors[i].dtype);
    size_t n = c->source->tensors[i].bytes / t->block_bytes * t->block_elements;
    if (n > max) max = n < CHUNK ? n : CHUNK;
  }
  c->from = rlx_mem_calloc(max, 8);
  c->to = rlx_mem_calloc(max, 4);
  c->values = rlx_mem_calloc(max, sizeof *c->values);
  bool has_errors = c->types.options->measured != NULL;
  if (has_errors) c->decoded = rlx_mem_calloc(max, sizeof *c->decoded);
  return c->from && c->to && c->values && (c->decoded || !has_errors) ? RLX_OK
                                                                      : RLX_FAIL(RLX_NO_MEMORY, "no memory to convert");
}

/* An importance matrix of another model is refused: nothing of it would be used. */
static rlx_status check_importance(const convert *c) {
  const rlx_importance *im = c->types.options->importance;
  for (size_t i = 0; im && i < c->source->n; i++)
    if (importance_find(im, c->source->tensors[i].name)) return RLX_OK;
  return im ? RLX_FAIL(RLX_INVALID, "no tensor of the importance matrix is in the model; its first is '%s'",
                       im->entries.n ? im->entries.v[0].name : "")
            : RLX_OK;
}

static rlx_status run(convert *c, const char *path) {
  RLX_TRY(check_importance(c));
  RLX_TRY(make_room(c));
  RLX_TRY(rlx_pool_create(c->types.options->n_threads, &c->pool));
  RLX_TRY(rlx_file_writer_create(path, &c->w));
  RLX_TRY(c->source->write_metas(c->source->user, c->w));
  RLX_TRY(convert_type_metas(&c->types, c->w));
  for (size_t i = 0; i < c->source->n; i++) RLX_TRY(name_tensor(c, &c->source->tensors[i]));
  for (size_t i = 0; i < c->source->n; i++) RLX_TRY(write_tensor(c, i));
  if (c->source->check) RLX_TRY(c->source->check(c->source->user, c->w->draft.temporary));
  return rlx_file_writer_finish(c->w);
}

/* Refuses to overwrite the source, a link to it, or one of its parts: the user would lose it. */
static rlx_status refuse_own(const rlx_file *f, const char *path) {
  rlx_os_stat st;
  if (!rlx_os_stat_path(path, &st)) return RLX_OK;
  for (size_t i = 0; i < f->parts.n; i++) {
    const file_part *p = &f->parts.v[i];
    if (st.device != p->stamp.device || st.inode != p->stamp.inode) continue;
    return RLX_FAIL(RLX_INVALID, "'%s' is '%s', which is being converted; expected another file", path, p->path);
  }
  return RLX_OK;
}

rlx_status convert_source_write(const convert_source *source, const char *path, const rlx_convert_options *o) {
  const file_format *format;
  convert c = {.source = source};
  RLX_TRY(file_format_of(path, &format));
  RLX_TRY(refuse_own(source->file, path));
  rlx_status s = convert_types_init(&c.types, source, o, format == &file_format_gguf);
  if (!s) s = run(&c, path);
  convert_types_deinit(&c.types);
  rlx_file_writer_destroy(c.w);
  rlx_pool_destroy(c.pool);
  rlx_mem_free(c.from);
  rlx_mem_free(c.to);
  rlx_mem_free(c.values);
  rlx_mem_free(c.decoded);
  return s ? rlx_fail_frame(s, "converting to '%s'", path) : RLX_OK;
}

/* ---- Plain conversion ---------------------------------------------------------------------------------------- */

typedef struct whole {
  const rlx_file *f;
  bool to_gguf, has_type;
} whole;

static rlx_status read_whole(void *user, size_t i, size_t from, void *data, size_t bytes) {
  const whole *w = user;
  return rlx_file_read_tensor(w->f, &w->f->tensors.v[i], from, data, bytes);
}

static rlx_status write_whole_metas(void *user, rlx_file_writer *writer) {
  const whole *w = user;
  return convert_metas(w->f, w->to_gguf, w->has_type, writer);
}

rlx_status rlx_file_convert(const rlx_file *f, const char *path, const rlx_convert_options *options) {
  rlx_convert_options own;
  const rlx_convert_options *o = &own;
  if (!f || !path) return RLX_FAIL(RLX_INVALID, "rlx_file_convert: %s is NULL", f ? "path" : "the file");
  RLX_TRY_AT(RLX_SIZED_READ("rlx_convert_options", options, &own), "rlx_file_convert");
  RLX_TRY(rlx_watch_check("rlx_file_convert", &o->watch));
  const file_format *format;
  RLX_TRY(file_format_of(path, &format));
  RLX_TRY_AT(file_check_types(f), "converting to '%s'", path);
  whole w = {file_use(f), format == &file_format_gguf, o->type != NULL};
  convert_source source = {.file = f,
                           .tensors = f->tensors.v,
                           .n = f->tensors.n,
                           .user = &w,
                           .read = read_whole,
                           .write_metas = write_whole_metas};
  rlx_status s = convert_source_write(&source, path, o);
  rlx_file_close((rlx_file *)(uintptr_t)f);
  return s;
}
