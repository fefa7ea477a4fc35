/* The common part of lowering. lower.def maps each op to its function; the functions are in lower_*.c. */
#include "gpu/gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/status.h"
#include "device/claims.h"
#include "gpu/library.h"
#include "gpu/quant.h"

#define GPU_LOWER(op, function) extern void function(gpu_lowering *l);
#include "gpu/lower.def"
#undef GPU_LOWER

gpu_lower_fn gpu_lower_get(rlx_op op) {
  static const gpu_lower_fn table[RLX_OP_COUNT] = {
#define GPU_LOWER(op, function) [RLX_OP_##op] = function,
#include "gpu/lower.def"
#undef GPU_LOWER
  };
  return (unsigned)op < RLX_OP_COUNT ? table[op] : NULL;
}

/* ---- what a device can do ---- */

void gpu_caps_text(const gpu_caps *c, char *out, size_t bytes) {
  char subgroup[24] = "";
  if (c->subgroup) snprintf(subgroup, sizeof subgroup, " subgroup:%u", (unsigned)c->subgroup);
  snprintf(out, bytes, "group:%u shared:%u%s%s%s%s%s%s%s", (unsigned)c->max_group, (unsigned)c->max_shared, subgroup,
           c->has_f16 ? " f16" : "", c->has_dot8 ? " dot8" : "", c->has_coopmat ? " coopmat" : "",
           c->has_coopmat_bf16 ? " coopmat_bf16" : "", c->has_wgmma ? " wgmma" : "", c->has_library ? " library" : "");
}

/* ---- sizes ---- */

uint32_t gpu_elements_per_word(rlx_dtype t) {
  size_t size = rlx_dtype_size(t);
  return size == 1 ? 4 : size == 2 ? 2 : 1;
}

uint32_t gpu_count(const rlx_type *t) { return (uint32_t)rlx_dims_count(&t->shape); }

static uint64_t type_bytes(const rlx_type *t) {
  size_t bytes = 0;
  return rlx_tensor_bytes(t->dtype, t->shape, &bytes) ? UINT64_MAX : bytes;
}

uint32_t gpu_words(const rlx_type *t) { return (uint32_t)((type_bytes(t) + 3) / 4); }

bool gpu_is_float(rlx_dtype t) { return t == RLX_F32 || t == RLX_F16 || t == RLX_BF16; }

uint32_t gpu_f32_bits(double v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* ---- sticky failures ---- */

bool gpu_failed(const gpu_lowering *l) { return l->status || l->claim.why; }

void gpu_refuse(gpu_lowering *l, const char *why) {
  if (!gpu_failed(l)) l->claim.why = why;
}

static void no_memory(gpu_lowering *l, const char *what) {
  if (!l->status) l->status = RLX_FAIL(RLX_NO_MEMORY, "lowering: %s", what);
}

void gpu_in_place(gpu_lowering *l, uint32_t input) {
  if (input < 32) l->claim.in_place |= 1u << input;
}

void gpu_prefer_layout(gpu_lowering *l, uint32_t input, uint32_t layout) {
  if (input < RLX_OP_MAX_INPUTS) l->claim.layout[input] = layout;
}

/* ---- windows ---- */

gpu_window gpu_in(const gpu_lowering *l, uint32_t i) {
  const rlx_type *t = gpu_in_type(l, i);
  if (!t) return (gpu_window){GPU_NONE, 0, 0, 0};
  uint64_t bytes = l->layout[i] ? gpu_layout_bytes(NULL, l->layout[i], t) : type_bytes(t);
  return (gpu_window){GPU_IN, i, 0, bytes};
}

gpu_window gpu_out(const gpu_lowering *l) { return (gpu_window){GPU_OUT, 0, 0, type_bytes(&l->node->type)}; }

gpu_window gpu_work(gpu_lowering *l, uint64_t bytes) {
  uint64_t at = l->claim.work_bytes;
  gpu_window w = {GPU_WORK, 0, at, bytes};
  if (bytes > UINT64_MAX / 2 - at) no_memory(l, "work memory");
  else l->claim.work_bytes = (at + bytes + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
  return w;
}

gpu_window gpu_table(gpu_lowering *l, const uint32_t *words, uint32_t n) {
  gpu_window w = {GPU_TABLE, 0, (uint64_t)l->table.n * 4, (uint64_t)n * 4};
  uint32_t padded = (n + GPU_ALIGN / 4 - 1) / (GPU_ALIGN / 4) * (GPU_ALIGN / 4);
  for (uint32_t i = 0; i < padded && !gpu_failed(l); i++) {
    if (!rlx_array_push(&l->table, i < n ? words[i] : 0)) no_memory(l, "a table");
  }
  return w;
}

gpu_window gpu_run_window(void) { return (gpu_window){GPU_RUN, 0, 0, 16}; }

gpu_window gpu_part(gpu_window w, uint64_t offset, uint64_t bytes) {
  return (gpu_window){w.from, w.index, w.offset + offset, bytes};
}

/* ---- dispatches ---- */

void gpu_emit(gpu_lowering *l, const gpu_launch *d) {
  if (gpu_failed(l) || !d->groups) return;
  const gpu_kernel *k = d->kernel;
  const uint32_t constants_bytes = k->n_constants * (uint32_t)sizeof(uint32_t);
  if (d->constants_bytes != constants_bytes || d->params_bytes != k->params_bytes ||
      k->n_constants > GPU_MAX_CONSTANTS) {
    l->status = RLX_FAIL(RLX_INVALID, "kernel %s: expected %u bytes of constants and %u of parameters, got %u and %u",
                         k->name, (unsigned)constants_bytes, (unsigned)k->params_bytes, (unsigned)d->constants_bytes,
                         (unsigned)d->params_bytes);
    return;
  }
  gpu_dispatch out = {.kernel = k,
                      .groups = d->groups,
                      .group_size = d->group_size,
                      .cost = d->cost,
                      .dynamic_bytes = d->dynamic_bytes,
                      .reads_part = d->reads_part};
  if (!out.group_size) out.group_size = l->caps->max_group < 128 ? l->caps->max_group : 128;
  if (out.group_size > l->caps->max_group) {
    l->status = RLX_FAIL(RLX_INVALID, "kernel %s: expected a group of at most %u, got %u", k->name,
                         (unsigned)l->caps->max_group, (unsigned)out.group_size);
    return;
  }
  if (out.dynamic_bytes > l->caps->max_dynamic) {
    l->status = RLX_FAIL(RLX_INVALID, "kernel %s: expected at most %u bytes of shared memory, got %u", k->name,
                         (unsigned)l->caps->max_dynamic, (unsigned)out.dynamic_bytes);
    return;
  }
  if (constants_bytes) memcpy(out.constants, d->constants, constants_bytes);
  memcpy(out.params, d->params, d->params_bytes);
  out.params[0] = d->groups;
  for (uint32_t i = 0; i < k->n_windows; i++) {
    out.windows[i] = d->windows[i];
    if (!d->cost) out.cost += d->windows[i].bytes;
    if (d->windows[i].bytes > l->caps->max_window_bytes)
      gpu_refuse(l, "a tensor is larger than a binding of the device");
  }
  if (!gpu_failed(l) && !rlx_array_push(&l->dispatches, out)) no_memory(l, "a dispatch");
}

void gpu_convert(gpu_lowering *l, gpu_window from, rlx_dtype from_type, gpu_window to, rlx_dtype to_type, uint32_t n) {
  gpu_params_convert p = {.n = n};
  gpu_constants_convert c = {.tx = (uint32_t)from_type, .ty = (uint32_t)to_type};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(convert, p, c),
                            .groups = gpu_ceil_div(gpu_ceil_div(n, gpu_elements_per_word(to_type)), 128),
                            .group_size = 128, .windows = {from, to}});
}

/* ---- lowering a node ---- */

/* Checks common to all ops. */
static const char *refusal(const gpu_lowering *l) {
  const uint64_t max = INT32_MAX;
  if (rlx_graph_computes_with(l->graph, l->node, RLX_TYPES_MOVED))
    return "u16, u64 and floats of 8 bits are only moved on a GPU";
  for (uint32_t i = 0; i <= l->node->n_in; i++) {
    const rlx_type *t = i < l->node->n_in ? gpu_in_type(l, i) : &l->node->type;
    if (!t) continue;
    if (t->dtype == RLX_F64) return "f64 runs on the host";
    if (rlx_dtype_is_block(t->dtype) && !gpu_decodes(t->dtype)) return "a block type that GPU kernels do not decode";
    if ((uint64_t)rlx_dims_count(&t->shape) > max) return "a tensor of more than 2^31 elements";
  }
  return NULL;
}

rlx_status gpu_lower(const gpu_caps *caps, const rlx_claim_query *q, gpu_lowering *l) {
  *l = (gpu_lowering){.graph = q->graph,
                      .node = rlx_graph_at(q->graph, q->node),
                      .caps = caps,
                      .layout = q->layout,
                      .switches = q->switches,
                      .layouts_open = !q->layout};
  while (!q->layout && l->plain.n < l->node->n_in)
    if (!rlx_array_push(&l->plain, 0)) return RLX_FAIL(RLX_NO_MEMORY, "lowering: %u inputs", (unsigned)l->node->n_in);
  if (!q->layout) l->layout = l->plain.v;
  gpu_lower_fn fn = gpu_lower_get(l->node->op);
  l->claim.why = fn ? refusal(l) : "no GPU kernel for this op";
  if (!l->claim.why) fn(l);
  if (l->status) return l->status;
  l->claim.native = !l->claim.why;
  if (rlx_dims_count(&l->node->type.shape) == 0) l->dispatches.n = 0; /* nothing to compute */
  return RLX_OK;
}

void gpu_lowering_deinit(gpu_lowering *l) {
  rlx_array_deinit(&l->dispatches);
  rlx_array_deinit(&l->table);
  rlx_array_deinit(&l->plain);
}

void gpu_lowering_destroy(rlx_lowering *l) {
  rlx_array_deinit(&l->dispatches);
  rlx_array_deinit(&l->table);
  rlx_mem_free(l);
}

bool gpu_lowering_part(const rlx_lowering *l, size_t i, char *out, size_t bytes) {
  if (i >= l->dispatches.n) return false;
  const gpu_dispatch *d = &l->dispatches.v[i];
  if (gpu_kernel_has_code(d->kernel)) snprintf(out, bytes, "%s", d->kernel->name);
  else gpu_library_text(d, out, bytes);
  return true;
}

/* Results in place need windows that overlap, if a dispatch has both; one that copies is left out then. */
static void keep_apart(gpu_lowering *l) {
  for (size_t i = 0; i < l->dispatches.n; i++) {
    const gpu_dispatch *d = &l->dispatches.v[i];
    bool has_out = false;
    for (uint32_t k = 0; k < d->kernel->n_windows; k++) has_out = has_out || d->windows[k].from == GPU_OUT;
    for (uint32_t k = 0; has_out && !d->copies && k < d->kernel->n_windows; k++)
      if (d->windows[k].from == GPU_IN && d->windows[k].index < 32) l->claim.in_place &= ~(1u << d->windows[k].index);
  }
}

/* Moves the dispatches and the table into a heap object owned by the claim. */
static rlx_status keep(gpu_lowering *l) {
  if (!l->claim.native) return RLX_OK;
  rlx_lowering *kept = rlx_new(rlx_lowering);
  if (!kept) return RLX_FAIL(RLX_NO_MEMORY, "a lowering");
  memcpy(&kept->dispatches, &l->dispatches, sizeof kept->dispatches);
  memcpy(&kept->table, &l->table, sizeof kept->table);
  memset(&l->dispatches, 0, sizeof l->dispatches);
  memset(&l->table, 0, sizeof l->table);
  l->claim.lowering = kept;
  return RLX_OK;
}

rlx_status gpu_claim(const gpu_caps *caps, const rlx_claim_query *q, rlx_claim *out) {
  gpu_lowering l;
  rlx_status s = gpu_lower(caps, q, &l);
  if (!s && caps->no_overlap) keep_apart(&l);
  if (!s) s = keep(&l);
  if (!s) *out = l.claim;
  gpu_lowering_deinit(&l);
  return s;
}

rlx_status gpu_lowering_of(const rlx_bound_step *b, const rlx_lowering **out) {
  RLX_TRY(rlx_claim_check(b));
  *out = b->claim->lowering; /* a native claim always has one: gpu_claim */
  return RLX_OK;
}

rlx_status gpu_bind(const gpu_window *w, const rlx_bound_step *step, const rlx_bound *table, const rlx_bound *run,
                    rlx_bound *out) {
  *out = (rlx_bound){0};
  const rlx_bound *of = NULL;
  switch (w->from) {
    case GPU_NONE: return RLX_OK;
    case GPU_IN: of = w->index < step->n_in ? &step->in[w->index] : NULL; break;
    case GPU_OUT: of = step->n_out ? &step->out[0] : NULL; break;
    case GPU_WORK: of = &step->work; break;
    case GPU_TABLE: of = table; break;
    case GPU_RUN: of = run; break;
  }
  if (!of || !of->block || w->offset > of->bytes || w->bytes > of->bytes - w->offset)
    return RLX_FAIL(RLX_INVALID, "a window of %llu bytes at offset %llu exceeds its tensor of %llu bytes",
                    (unsigned long long)w->bytes, (unsigned long long)w->offset,
                    (unsigned long long)(of && of->block ? of->bytes : 0));
  *out = (rlx_bound){of->block, of->offset + w->offset, w->bytes};
  return RLX_OK;
}

bool gpu_is_idle(const gpu_dispatch *d, const rlx_bound *windows) {
  const rlx_bound *first = NULL;
  for (uint32_t i = 0; d->copies && i < d->kernel->n_windows; i++) {
    const rlx_bound *w = &windows[i];
    if (d->windows[i].from == GPU_NONE) continue;
    if (first && (w->block != first->block || w->offset != first->offset || w->bytes != first->bytes)) return false;
    first = w;
  }
  return first != NULL;
}
