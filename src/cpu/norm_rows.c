/* Rows for norms and softmax: pieces of any float type as f32, results on their way back, and how rows are cut. */
#include "cpu/norm.h"

enum { FEW_ROWS = 16, LONG_ROW = 1 << 15, PART = 1 << 14 };

cpu_row_cut cpu_row_cut_of(size_t rows, size_t n) {
  cpu_row_cut cut = {.rows = rows, .n = n, .parts = 1, .length = n};
  if (rows < FEW_ROWS && n >= LONG_ROW) cut.parts = (n - 1) / PART + 1, cut.length = PART;
  return cut;
}

void cpu_rows_init(cpu_rows *r, const cpu_call *c, rlx_dtype dtype, const void *added) {
  const cpu_tile_moves *move = cpu_tile_move(c->isa);
  *r = (cpu_rows){.x = c->in[0],
                  .added = added,
                  .element = rlx_dtype_size(dtype),
                  .in_form = dtype == RLX_F32,
                  .load = move->load[dtype],
                  .add = cpu_norm(c->isa)->add,
                  .out = c->out,
                  .store = dtype == RLX_F32 ? NULL : move->store[dtype]};
}

void cpu_row_buffer_init(cpu_row_buffer *b) {
  b->shift = 0;
  b->piece = NULL;
}

static const float *bring_one(const cpu_rows *r, const void *data, size_t at, size_t n, float *to) {
  const char *from = (const char *)data + at * r->element;
  if (r->in_form) return (const float *)(const void *)from;
  r->load(NULL, to, from, NULL, NULL, n);
  return to;
}

const float *cpu_rows_bring(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n) {
  if (b->piece && b->at == at && b->n == n) return b->piece;
  b->piece = bring_one(r, r->x, at, n, b->brought);
  b->at = at, b->n = n;
  if (r->added) {
    r->add(b->brought, b->piece, bring_one(r, r->added, at, n, b->second), n, b->shift);
    b->piece = b->brought;
  }
  return b->piece;
}

float *cpu_rows_place(const cpu_rows *r, cpu_row_buffer *b, size_t at) {
  return r->store ? b->result : (float *)r->out + at;
}

void cpu_rows_store(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n) {
  if (r->store) r->store(NULL, (char *)r->out + at * r->element, b->result, NULL, NULL, n);
}
