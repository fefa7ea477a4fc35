/* Constant folding: evaluates nodes whose inputs are all constants, with their reference kernels.
 *
 * Values are freed after their last use, so a chain of constant nodes leaves only the constant at its end. A first
 * traversal computes. A second one writes the graph and appends a constant where a node that was not folded (or an
 * output) reads one.
 *
 * A result must be worth storing: above 64 KiB it is kept only if it is not larger than its inputs together (not an
 * expanded scalar, a long range, a decoded block type), so that a graph does not grow by values that are cheap to
 * compute. It must also be cheap: see WORK_LIMIT, and all folding together must fit the budget of the compile. What
 * remains is left to hoist, which computes it at load. A node whose kernel fails (an index out of range) stays, so a
 * run-time error stays one. Views share the bytes of their input. Random nodes, updates and control flow (which may not
 * terminate) are not folded. */
#include "base/budget.h"
#include "pass/pass.h"
#include "ref/eval.h"

#define SIZE_LIMIT ((size_t)64 * 1024) /* maximum bytes of a result that is larger than its inputs */
#define WORK_LIMIT ((size_t)1 << 26)   /* elements visited: about a second of reference kernels */

typedef struct folder {
  rlx_walk w;
  rlx_blob **value; /* of constants and folded nodes, until their last use */
  uint32_t *left;   /* remaining reads, by nodes and by outputs */
  bool *folded;
  bool *kept; /* must be a constant of the new graph */
  rlx_tensor *tensors;
  const rlx_tensor **in;
} folder;

static void folder_deinit(folder *f) {
  for (rlx_node id = 1; f->value && id < rlx_graph_end(f->w.in); id++) rlx_blob_release(f->value[id]);
  rlx_mem_free(f->value);
  rlx_mem_free(f->left);
  rlx_mem_free(f->folded);
  rlx_mem_free(f->kept);
  rlx_mem_free(f->tensors);
  rlx_mem_free((void *)f->in);
  rlx_walk_deinit(&f->w);
}

static rlx_status folder_init(const rlx_graph *in, rlx_graph *out, folder *f) {
  uint32_t end = rlx_graph_end(in), max_inputs = 0;
  *f = (folder){.value = NULL};
  RLX_TRY(rlx_walk_init(in, out, &f->w));
  f->value = rlx_mem_calloc(end, sizeof *f->value);
  f->left = rlx_mem_calloc(end, sizeof *f->left);
  f->folded = rlx_mem_calloc(end, sizeof *f->folded);
  f->kept = rlx_mem_calloc(end, sizeof *f->kept);
  if (!f->value || !f->left || !f->folded || !f->kept)
    return RLX_FAIL(RLX_NO_MEMORY, "folding %u nodes", (unsigned)end);
  for (rlx_node id = 1; id < end; id++) {
    const rlx_node_rec *n = rlx_graph_at(in, id);
    if (n->n_in > max_inputs) max_inputs = n->n_in;
    for (uint32_t i = 0; i < n->n_in; i++) f->left[n->in[i]]++;
  }
  for (size_t i = 0; i < in->outputs.n; i++) {
    f->left[in->outputs.v[i].node]++;
    f->kept[in->outputs.v[i].node] = true;
  }
  f->tensors = rlx_mem_calloc((size_t)max_inputs + 1, sizeof *f->tensors);
  f->in = rlx_mem_calloc((size_t)max_inputs + 1, sizeof *f->in);
  return f->tensors && f->in ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "folding %u nodes", (unsigned)end);
}

/* ---- which nodes ---- */

/* Kernels count slightly more work than their elements: tables, rows, copies. The margin covers that, so folding never
 * exhausts the budget of the rest of the compile. */
static bool affords(size_t visits) {
  enum { SLACK = 4096 };
  return rlx_budget_affords(2 * (uint64_t)visits + SLACK);
}

static bool fits(const rlx_graph *g, const rlx_node_rec *n, rlx_blob *const *value, size_t bytes) {
  if (rlx_op_table_has(n->op, RLX_TRAIT_VIEW)) return true;
  size_t in_bytes = 0, in_elements = 0, elements = rlx_dims_count(&n->type.shape);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    in_bytes += value[n->in[i]]->bytes; /* these are in memory, so their sum cannot overflow */
    in_elements += rlx_dims_count(&rlx_graph_at(g, n->in[i])->type.shape);
  }
  if (bytes > SIZE_LIMIT && bytes > in_bytes) return false;
  /* Element-wise and moving kernels visit each element of the result once. Any other kernel visits at most each input
   * element for each result element. */
  bool once = rlx_op_table_has(n->op, RLX_TRAIT_POINTWISE | RLX_TRAIT_MOVES) || in_elements == 0;
  if (once) return elements <= WORK_LIMIT && affords(elements);
  /* A recurrent network reads its weights once per step, even if only the last state is the result. */
  if (n->op == RLX_OP_rnn || n->op == RLX_OP_gru || n->op == RLX_OP_lstm) elements += in_elements;
  return elements <= WORK_LIMIT / in_elements && affords(elements * in_elements);
}

static bool is_candidate(const folder *f, rlx_node id, size_t *bytes) {
  const rlx_graph *g = f->w.in;
  const rlx_node_rec *n = rlx_graph_at(g, id);
  if (!f->w.uses[id] ||
      rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_RANDOM | RLX_TRAIT_EFFECT | RLX_TRAIT_CONTROL))
    return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] && !f->value[n->in[i]]) return false;
  return rlx_tensor_bytes(n->type.dtype, n->type.shape, bytes) == RLX_OK && fits(g, n, f->value, *bytes);
}

/* ---- computing ---- */

/* *out stays NULL if the kernel rejects its inputs. A kernel that the budget stopped ends the compile. */
static rlx_status compute(folder *f, const rlx_node_rec *n, size_t bytes, rlx_blob **out) {
  if (rlx_op_table_has(n->op, RLX_TRAIT_VIEW)) {
    *out = rlx_blob_retain(f->value[n->in[0]]);
    return RLX_OK;
  }
  for (uint32_t i = 0; i < n->n_in; i++) {
    f->in[i] = n->in[i] ? &f->tensors[i] : NULL;
    if (!n->in[i]) continue;
    const rlx_type *t = &rlx_graph_at(f->w.in, n->in[i])->type;
    const rlx_blob *b = f->value[n->in[i]];
    f->tensors[i] = (rlx_tensor){.dtype = t->dtype, .shape = t->shape, .data = b->data, .bytes = b->bytes};
  }
  rlx_blob *result = rlx_blob_create(bytes);
  if (!result) return RLX_FAIL(RLX_NO_MEMORY, "a constant of %zu bytes", bytes);
  rlx_tensor value = {.dtype = n->type.dtype, .shape = n->type.shape, .data = result->data, .bytes = bytes};
  rlx_status s = rlx_eval_node(n, &(rlx_eval_context){0}, f->in, &value);
  if (s == RLX_OK) *out = result;
  else rlx_blob_release(result);
  return s == RLX_NO_MEMORY || s == RLX_CANCELLED ? s : RLX_OK;
}

static void read_input(folder *f, rlx_node id) {
  if (--f->left[id] || f->kept[id]) return;
  rlx_blob_release(f->value[id]);
  f->value[id] = NULL;
}

static rlx_status visit(folder *f, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(f->w.in, id);
  size_t bytes;
  if (n->op == RLX_OP_constant) f->value[id] = rlx_blob_retain(RLX_ATTRS(constant, n)->data);
  else if (is_candidate(f, id, &bytes)) {
    RLX_TRY_AT(compute(f, n, bytes, &f->value[id]), "node %u (%s)", (unsigned)id, rlx_op_table_get(n->op)->name);
    f->folded[id] = f->value[id] != NULL;
  }
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    if (!f->folded[id]) f->kept[n->in[i]] = true;
    read_input(f, n->in[i]);
  }
  return RLX_OK;
}

/* ---- writing ---- */

static rlx_status write(folder *f, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(f->w.in, id);
  bool had_no_reader = n->op == RLX_OP_constant && f->value[id] && !f->kept[id]; /* unused now */
  if (!f->folded[id])
    return n->op != RLX_OP_constant || f->kept[id] || had_no_reader ? rlx_walk_copy(&f->w, id) : RLX_OK;
  if (!f->kept[id]) return RLX_OK;
  rlx_attrs_constant attrs = {.data = f->value[id], .dtype = n->type.dtype, .shape = n->type.shape};
  f->w.map[id] = rlx_graph_add(f->w.out, RLX_OP_constant, NULL, 0, &attrs);
  return rlx_graph_status(f->w.out);
}

rlx_status rlx_pass_fold(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  folder f;
  rlx_status s = folder_init(in, out, &f);
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++) s = visit(&f, id);
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++) s = write(&f, id);
  if (!s) s = rlx_walk_end(&f.w, ctx);
  folder_deinit(&f);
  return s;
}
