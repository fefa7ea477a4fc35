/* Element-wise nodes and regions: the loop over tiles.
 *
 * A node was compiled into steps (pointwise_build.c). A task runs all steps for one tile before the next, so that each
 * step finds the previous results in the L1 cache and memory is read and written once per region. Operands in f32, i64
 * or bool that are indexed like the result are read in place, and the last step writes the result directly. */
#include <stdatomic.h>

#include "cpu/pointwise.h"

/* ---- claim and prepare ---- */

/* The result may overwrite an input of the same shape and element size: a tile is read before it is written, and no
 * later tile reads it. */
static uint32_t in_place_bits(const rlx_graph *g, const rlx_node_rec *n) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < n->n_in && i < 32; i++) {
    const rlx_type *t = n->in[i] ? &rlx_graph_at(g, n->in[i])->type : NULL;
    if (t && rlx_dtype_size(t->dtype) == rlx_dtype_size(n->type.dtype) && rlx_dims_equal(&t->shape, &n->type.shape))
      bits |= 1u << i;
  }
  return bits;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  cpu_pw_program p;
  if (!cpu_pw_build(q->graph, n, isa, NULL, &p, &c->why)) return false;
  c->in_place = in_place_bits(q->graph, n);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  const char *why;
  cpu_pw_program *p = rlx_bump_new(memory, cpu_pw_program);
  if (!p || !cpu_pw_build(c->graph, c->node, c->isa, memory, p, &why))
    return RLX_FAIL(RLX_NO_MEMORY, "%s: %s", rlx_op_table_get(c->node->op)->name, p ? why : cpu_pw_no_memory);
  c->prepared = p;
  return RLX_OK;
}

/* ---- run ---- */

typedef struct pw_run {
  const cpu_pw_program *program;
  const cpu_call *call;
  atomic_bool failed;
} pw_run;

typedef struct tile {
  size_t first, n; /* elements of the result */
} tile;

static tile tile_at(const cpu_pw_program *p, size_t t) {
  size_t row = t / p->per_row, in_row = t % p->per_row * p->tile, left = p->row - in_row;
  return (tile){row * p->row + in_row, left < p->tile ? left : p->tile};
}

static const char *operand_data(const pw_run *r, const cpu_pw_operand *o) {
  return o->constant ? o->constant : r->call->in[o->input];
}

/* n times the element at `from`, which is in the operand's dtype. */
static void fill_operand(const cpu_pw_operand *o, void *to, const void *from, size_t n) {
  int64_t one;
  o->load(NULL, &one, from, NULL, NULL, 1);
  o->fill(NULL, to, &one, NULL, NULL, n);
}

static size_t form_bytes(const cpu_pw_program *p, const cpu_pw_operand *o) {
  static const size_t bytes[CPU_FORM_COUNT] = {[CPU_FLOATS] = 4, [CPU_INTS] = 8, [CPU_BOOLS] = 1};
  return bytes[p->values[o->value].form];
}

/* Loads a tile of an operand that is broadcast, run by run along the last axis. Returns its address: in the operand's
 * memory where the tile is part of one run, else `to`. */
static void *load_runs(const cpu_pw_program *p, const cpu_pw_operand *o, const char *data, tile t, char *to) {
  size_t index[RLX_MAX_RANK], at = 0, rest = t.first;
  int last = p->axes.n - 1;
  for (int i = last; i >= 0; i--) {
    index[i] = rest % p->axes.size[i];
    rest /= p->axes.size[i];
    at += index[i] * o->stride[i];
  }
  size_t run = p->axes.size[last], step = o->stride[last], wide = form_bytes(p, o);
  if (step == 1 && o->in_form && index[last] + t.n <= run) return (void *)(uintptr_t)(data + at * o->bytes);
  for (size_t done = 0; done < t.n;) {
    size_t n = run - index[last] < t.n - done ? run - index[last] : t.n - done;
    if (step) o->load(NULL, to + done * wide, data + at * o->bytes, NULL, NULL, n);
    else fill_operand(o, to + done * wide, data + at * o->bytes, n);
    done += n;
    at -= index[last] * step, index[last] = 0; /* back to the start of the run, then on to the next */
    for (int i = last - 1; i >= 0; i--) {
      at += o->stride[i];
      if (++index[i] < p->axes.size[i]) break;
      at -= index[i] * o->stride[i], index[i] = 0;
    }
  }
  return to;
}

static void *load_operand(pw_run *r, const cpu_pw_operand *o, tile t, void *to) {
  const char *data = operand_data(r, o);
  switch (o->access) {
    case CPU_PW_FLAT:
      if (o->in_form) return (void *)(uintptr_t)(data + t.first * o->bytes);
      o->load(NULL, to, data + t.first * o->bytes, NULL, NULL, t.n);
      return to;
    case CPU_PW_RUNS: return load_runs(r->program, o, data, t, to);
    case CPU_PW_BLOCKS: {
      const rlx_dtype_info *info = rlx_dtype_describe(o->dtype);
      data += t.first / info->block_elements * info->block_bytes;
      if (rlx_quant_decode(o->dtype, data, to, t.n) != RLX_OK) atomic_store(&r->failed, true);
      return to;
    }
    case CPU_PW_ONE: break; /* filled in advance */
  }
  return to;
}

static void run_tiles(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  pw_run *r = user;
  const cpu_pw_program *p = r->program;
  _Alignas(64) unsigned char slots[CPU_PW_SLOT_BYTES];
  void *home[CPU_PW_MAX_VALUES], *at[CPU_PW_MAX_VALUES]; /* a value's slot, and its current address */
  for (uint32_t v = 0; v < p->n_values; v++)
    at[v] = home[v] = p->values[v].slot == CPU_PW_NONE ? NULL : slots + (size_t)p->values[v].slot * p->slot_bytes;
  for (uint32_t k = 0; k < p->n_operands; k++)
    if (p->operands[k].access == CPU_PW_ONE)
      fill_operand(&p->operands[k], at[p->operands[k].value], operand_data(r, &p->operands[k]), p->tile);
  for (size_t i = begin; i < end; i++) {
    tile t = tile_at(p, i);
    char *out = (char *)r->call->out + t.first * p->out_bytes;
    if (!p->store) at[p->result] = home[p->result] = out;
    for (uint32_t s = 0; s < p->n_steps; s++) {
      const cpu_pw_step *step = &p->steps[s];
      if (step->fn) step->fn(&step->args, at[step->dst], at[step->a], at[step->b], at[step->c], t.n);
      else at[step->dst] = load_operand(r, &p->operands[step->a], t, home[step->dst]);
    }
    if (p->store) p->store(NULL, out, at[p->result], NULL, NULL, t.n);
  }
}

static rlx_status run(const cpu_call *c) {
  const cpu_pw_program *p = c->prepared;
  pw_run r = {.program = p, .call = c};
  atomic_init(&r.failed, false);
  cpu_parallel(c->pool, p->n_tiles, cpu_grain(p->n_tiles, p->cost * (double)p->tile), run_tiles, &r);
  if (atomic_load(&r.failed))
    return RLX_FAIL(RLX_INVALID, "%s: a block that does not decode", rlx_op_table_get(c->node->op)->name);
  return RLX_OK;
}

const cpu_kernel cpu_pointwise_kernel = {.claim = claim, .prepare = prepare, .run = run};
