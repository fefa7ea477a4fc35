/* What all GPUs share: a node becomes a list of dispatches, the same list on every GPU; a backend only carries it
 * out.
 *
 * A dispatch is a kernel (kernels/NAME.k, written once for all targets), its specialisation constants, its parameters
 * (at most 128 bytes), the windows it sees and a number of work groups. Windows are named, not bound: "input 1", "the
 * result", "work memory from byte 4096". So a list depends on the graph's node and the device's capabilities alone;
 * the backend binds the names to blocks when a program is made, records once, and runs again and again.
 *
 * Lowering an op is one function of lower.def, gpu_lower_fn. It is called for the claim, which keeps the list for the
 * program: so what is claimed is what runs. The functions gpu_* below are its vocabulary; they are sticky, so a
 * lowering needs no error checks: after the first failure or refusal all of them do nothing. */
#ifndef RLX_GPU_GPU_H
#define RLX_GPU_GPU_H

#include "base/array.h"
#include "base/bump.h"
#include "device/backend.h"
#include "gpu/kernel.h"
#include "gpu/tuning.h"

enum {
  GPU_MAX_PARAM_WORDS = 32, /* the least that Vulkan promises for push constants; word 0 is the number of groups */
  GPU_MAX_WINDOWS = 8,
  GPU_MAX_CONSTANTS = 96,
  GPU_CONSTANT_PACKS_F16 = 97, /* a device's own constant, in every kernel: gpu_caps.packs_f16 */
  GPU_ALIGN = 256,             /* of windows inside work memory and tables */
};

/* ---- what a device can do ---- */

typedef struct gpu_caps {
  uint32_t max_group;        /* invocations per work group, at least 128 */
  uint32_t max_shared;       /* bytes of shared memory per group, at least 16 KiB */
  uint32_t max_groups_x;     /* work groups along x; more are folded into y */
  uint64_t max_window_bytes; /* largest binding */
  uint32_t units;            /* multiprocessors, compute units; an estimate where the driver does not say, at least 1 */
  uint32_t subgroup;     /* size of a sub-group where kernels may use them (shuffle and arithmetic); 0: they may not */
  bool has_dot8;         /* packed 4 x 8 bit dot products, accelerated */
  bool has_f16;          /* f16 arithmetic and 16-bit storage */
  bool has_coopmat;      /* 16x16x16 matrices of f16, f32 accumulators, scope sub-group, sub-groups of 32 */
  bool has_coopmat_bf16; /* the same of bf16 */
  bool knows_fragments;  /* has_coopmat, and matrices lie in invocations as kernels/rows_matrix.kh has them */
  bool knows_fragments_bf16;
  bool packs_f16; /* its packing rounds f32 to the nearest f16, halves to even, small numbers too */
  gpu_class device_class;
  gpu_choices choices; /* all zeros outside of benchmarks and tests */
} gpu_caps;

static inline const gpu_tuning *gpu_tuned(const gpu_caps *caps) { return &gpu_tunings[caps->device_class]; }

/* ---- dispatches ---- */

typedef enum gpu_source { GPU_NONE, GPU_IN, GPU_OUT, GPU_WORK, GPU_TABLE, GPU_RUN } gpu_source;

typedef struct gpu_window {
  gpu_source from;
  uint32_t index; /* GPU_IN: which input */
  uint64_t
    offset; /* into that input, the result, the work memory or the program's table; a multiple of GPU_ALIGN, or 0 */
  uint64_t bytes;
} gpu_window;

typedef struct gpu_dispatch {
  const gpu_kernel *kernel;
  uint32_t groups;                       /* > 0 */
  uint32_t group_size;                   /* specialisation constant 0 */
  uint32_t constants[GPU_MAX_CONSTANTS]; /* specialisation constants 1 and on: kernel->n_constants of them */
  uint32_t params[GPU_MAX_PARAM_WORDS];  /* params[0] is groups */
  gpu_window windows[GPU_MAX_WINDOWS];   /* kernel->n_windows of them */
  uint64_t cost;                         /* about how many bytes or operations it moves or does: bounds a submission */
  bool copies;                           /* the bytes of one window to another as they are: see gpu_is_idle */
} gpu_dispatch;

/* GPU_RUN is a window of 4 words that change from run to run, which the backend writes before each: the draw number
 * (low word, high word), two zeros. */

typedef struct gpu_lowering {
  /* what is lowered */
  const rlx_graph *graph;
  const rlx_node_rec *node;
  const gpu_caps *caps;
  const uint32_t *layout; /* by input; never NULL */
  bool exact;
  bool layouts_open; /* a claim that may still wish: layout[] is all 0 and stands for "not decided" */
  /* what comes of it */
  RLX_ARRAY(gpu_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table; /* constants that kernels read through GPU_TABLE windows */
  rlx_claim claim;           /* why, in_place, work_bytes, layout */
  rlx_status status;         /* RLX_NO_MEMORY, or a mistake in a lowering */
  RLX_ARRAY(uint32_t) plain; /* the layouts of a query that gives none */
} gpu_lowering;

typedef void (*gpu_lower_fn)(gpu_lowering *l);

/* lower.def: GPU_LOWER(op, function) */
gpu_lower_fn gpu_lower_get(rlx_op op); /* NULL: no GPU has it */

/* Lowers one node into *l, which is cleared first and freed with gpu_lowering_deinit. A refusal is RLX_OK with
 * l->claim.native false. Zero-element results lower to no dispatches. */
rlx_status gpu_lower(const gpu_caps *caps, const rlx_claim_query *q, gpu_lowering *l);
void gpu_lowering_deinit(gpu_lowering *l);

/* What is kept of a lowering, in its claim: all that a program needs. */
struct rlx_lowering {
  RLX_ARRAY(gpu_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table;
};
/* The lowering of a step; fails where its claim has none, or the step has less work memory than was claimed. */
rlx_status gpu_lowering_of(const rlx_bound_step *b, const rlx_lowering **out);

/* The backends' claim, lowering_destroy, layout_bytes and repack. */
rlx_status gpu_claim(const gpu_caps *caps, const rlx_claim_query *q, rlx_claim *out);
void gpu_lowering_destroy(rlx_lowering *l);
uint64_t gpu_layout_bytes(uint32_t layout, const rlx_type *type);
rlx_status gpu_repack(uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                      rlx_pool *pool);

/* Where a window lies for a step: `table` and `run` are the program's own. GPU_NONE: no block. Its bytes are as the
 * window says and inside the step's; RLX_INVALID where the step's windows are too small, which a planner's mistake
 * would be. */
rlx_status gpu_bind(const gpu_window *w, const rlx_bound_step *step, const rlx_bound *table, const rlx_bound *run,
                    rlx_bound *out);

/* Whether a dispatch with its windows bound so has nothing to do: a copy onto itself, as of a scatter in place. */
bool gpu_is_idle(const gpu_dispatch *d, const rlx_bound *windows);

/* ---- for lowerings: what the node is ---- */

static inline const rlx_type *gpu_out_type(const gpu_lowering *l) { return &l->node->type; }
static inline bool gpu_has_in(const gpu_lowering *l, uint32_t i) { return i < l->node->n_in && l->node->in[i]; }
static inline const rlx_type *gpu_in_type(const gpu_lowering *l, uint32_t i) { /* NULL: absent */
  return gpu_has_in(l, i) ? &rlx_graph_at(l->graph, l->node->in[i])->type : NULL;
}
/* Elements; sizes past 2^31 have been refused before a lowering is called, so u32 arithmetic is safe for indices. */
uint32_t gpu_count(const rlx_type *t);
/* 4-byte words that hold the elements of t, the last one perhaps in part. */
uint32_t gpu_words(const rlx_type *t);
uint32_t gpu_elements_per_word(rlx_dtype t); /* 4, 2 or 1; i64 and c64: 1, though an element is two words */
bool gpu_is_float(rlx_dtype t);              /* f32, f16, bf16: what kernels compute in f32 */
static inline uint32_t gpu_ceil_div(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a + b - 1) / b); }
uint32_t gpu_f32_bits(double v); /* a float parameter or constant */

/* ---- for lowerings: what to do ---- */

bool gpu_failed(const gpu_lowering *l);             /* refused or out of memory: nothing matters any more */
void gpu_refuse(gpu_lowering *l, const char *why);  /* not native; `why` lives forever and says what is lacking */
void gpu_in_place(gpu_lowering *l, uint32_t input); /* the result may be written over this input */
void gpu_prefer_layout(gpu_lowering *l, uint32_t input, uint32_t layout); /* see rlx_claim.layout */

gpu_window gpu_in(const gpu_lowering *l, uint32_t i); /* all of input i, in its layout; absent: GPU_NONE */
gpu_window gpu_out(const gpu_lowering *l);
gpu_window gpu_work(gpu_lowering *l, uint64_t bytes);                     /* a fresh piece of work memory */
gpu_window gpu_table(gpu_lowering *l, const uint32_t *words, uint32_t n); /* a copy of these words */
gpu_window gpu_run_window(void);
gpu_window gpu_part(gpu_window w, uint64_t offset, uint64_t bytes); /* offset: a multiple of GPU_ALIGN */

/* Adds a dispatch. Windows that a kernel does not use in this case may be GPU_NONE: the backend binds something
 * harmless. `params` is the kernel's gpu_params_NAME (its groups field is filled in). Zero groups add nothing. */
typedef struct gpu_launch {
  const gpu_kernel *kernel;
  uint32_t groups;
  uint32_t group_size; /* 0: 128, at most what the device has */
  const void *constants;
  uint32_t constants_bytes; /* must be the kernel's */
  const void *params;
  uint32_t params_bytes; /* must be the kernel's */
  gpu_window windows[GPU_MAX_WINDOWS];
  uint64_t cost; /* 0: the bytes of its windows */
} gpu_launch;
void gpu_emit(gpu_lowering *l, const gpu_launch *d);
/* gpu_launch for kernel NAME with its own structs of parameters and constants:
 *   gpu_emit(l, &(gpu_launch){GPU_KERNEL(softmax, p, c), .groups = rows, .windows = {gpu_in(l, 0), gpu_out(l)}});
 * The conditions only let the compiler compare types. */
#define GPU_KERNEL(name, p, c) .kernel = &gpu_kernel_##name, GPU_CONSTANTS(name, c), GPU_PARAMS(name, p)
#define GPU_CONSTANTS(name, c) \
  .constants = 1 ? &(c) : (const gpu_constants_##name *)0, .constants_bytes = (uint32_t)sizeof(gpu_constants_##name)
#define GPU_PARAMS(name, p) \
  .params = 1 ? &(p) : (const gpu_params_##name *)0, .params_bytes = (uint32_t)sizeof(gpu_params_##name)
/* n elements of one type into another of the same kind (floats, or integers up to 32 bits): for kernels whose narrow
 * rows do not end at words, which write f32 to work memory first. */
void gpu_convert(gpu_lowering *l, gpu_window from, rlx_dtype from_type, gpu_window to, rlx_dtype to_type, uint32_t n);
/* One with no constants of its own. */
#define GPU_KERNEL0(name, p) .kernel = &gpu_kernel_##name, GPU_PARAMS(name, p)

#endif
