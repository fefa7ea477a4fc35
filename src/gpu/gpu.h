/* Lowering of graph nodes to GPU dispatches, common to all GPU backends. A backend only executes the dispatches.
 *
 * A dispatch is a kernel (kernels/NAME.k, written once for all targets), its specialisation constants, its parameters
 * (at most 128 bytes), its windows and a number of workgroups. A window is a byte range that the kernel reads or
 * writes. It is symbolic: "input 1", "the result", "work memory from byte 4096". So the list of dispatches depends only
 * on the node and the device's capabilities. The backend binds windows to blocks when a program is created, records
 * the commands once and runs them many times.
 *
 * Each op is lowered by one function of lower.def, gpu_lower_fn. It runs when the node is claimed, and the claim keeps
 * the list for the program, so what was claimed is what runs. Lowering functions use the gpu_* functions below. These
 * have sticky errors: after the first failure or refusal they do nothing, so lowerings need no error checks. */
#ifndef RLX_GPU_GPU_H
#define RLX_GPU_GPU_H

#include "base/array.h"
#include "base/bump.h"
#include "device/backend.h"
#include "gpu/kernel.h"
#include "gpu/tuning.h"

enum {
  GPU_MAX_PARAM_WORDS = 32, /* the minimum that Vulkan guarantees for push constants; word 0 is the number of groups */
  GPU_MAX_WINDOWS = 8,
  GPU_MAX_CONSTANTS = 96,
  GPU_CONSTANT_PACKS_F16 = 97, /* id of a constant that every kernel has and the backend sets: gpu_caps.packs_f16 */
  GPU_ALIGN = 256,             /* alignment of windows inside work memory and tables */
};

/* ---- what a device can do ---- */

typedef struct gpu_caps {
  uint32_t max_group;        /* invocations per workgroup, at least 128 */
  uint32_t max_shared;       /* bytes of shared memory per workgroup, at least 16 KiB */
  uint32_t max_dynamic;      /* the same for memory whose size is given with the launch (has_wgmma) */
  uint32_t max_groups_x;     /* workgroups along x; more are folded into y */
  uint64_t max_window_bytes; /* largest binding */
  uint32_t units;            /* multiprocessors (compute units), at least 1; an estimate if not reported */
  uint32_t subgroup;         /* subgroup size; 0: kernels must not use subgroup operations (shuffle and arithmetic) */
  bool has_dot8;             /* accelerated packed 4 x 8 bit dot products */
  bool has_f16;              /* f16 arithmetic and 16-bit storage */
  bool has_coopmat;          /* 16x16x16 f16 cooperative matrices, f32 accumulators, subgroup scope, subgroups of 32 */
  bool has_coopmat_bf16;     /* the same with bf16 */
  bool knows_fragments;      /* has_coopmat, with the element-to-lane mapping that kernels/rows_matrix.kh assumes */
  bool knows_fragments_bf16;
  bool has_library; /* CUDA alone: large products are the vendor's library's (library.h) */
  bool has_wgmma;   /* CUDA alone: kernels NAME.hopper.k, on products of a warp group (compute capability 9.0) */
  bool
    no_overlap;   /* WebGPU alone: windows of one dispatch do not overlap, so a result overwrites no input it is with */
  bool packs_f16; /* the device's f16 packing rounds to nearest even, subnormals included */
  gpu_class device_class;
  gpu_choices choices; /* all zeros except in benchmarks and tests */
} gpu_caps;

/* "group:1024 shared:49152 subgroup:32 f16", for rlx_device_info.features. */
void gpu_caps_text(const gpu_caps *c, char *out, size_t bytes);

static inline const gpu_tuning *gpu_tuned(const gpu_caps *caps) { return &gpu_tunings[caps->device_class]; }

/* ---- dispatches ---- */

typedef enum gpu_source { GPU_NONE, GPU_IN, GPU_OUT, GPU_WORK, GPU_TABLE, GPU_RUN } gpu_source;

typedef struct gpu_window {
  gpu_source from;
  uint32_t index; /* GPU_IN: which input */
  uint64_t
    offset; /* into the input, the result, the work memory or the program's table; 0 or a multiple of GPU_ALIGN */
  uint64_t bytes;
} gpu_window;

typedef struct gpu_dispatch {
  const gpu_kernel *kernel;
  uint32_t groups;                       /* > 0 */
  uint32_t group_size;                   /* specialisation constant 0 */
  uint32_t constants[GPU_MAX_CONSTANTS]; /* specialisation constants from id 1: kernel->n_constants of them */
  uint32_t params[GPU_MAX_PARAM_WORDS];  /* params[0] is groups */
  gpu_window windows[GPU_MAX_WINDOWS];   /* kernel->n_windows of them */
  uint64_t cost;                         /* estimate of bytes moved or operations: bounds a submission */
  uint32_t dynamic_bytes;                /* shared memory that the launch adds: only kernels NAME.hopper.k */
  bool reads_part;                       /* of its windows, which the run decides: rows of a table, experts */
  bool copies;                           /* copies one window to another unchanged: see gpu_is_idle */
} gpu_dispatch;

/* GPU_RUN is a window of 4 words that the backend writes before each run: the draw number (low word, high word) and two
 * zeros. */

typedef struct gpu_lowering {
  /* input */
  const rlx_graph *graph;
  const rlx_node_rec *node;
  const gpu_caps *caps;
  const uint32_t *layout; /* by input; never NULL */
  uint32_t switches;      /* rlx_switch */
  bool layouts_open;      /* the claim may still state preferred layouts: layout[] is all 0 and means "not decided" */
  /* output */
  RLX_ARRAY(gpu_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table; /* constants that kernels read through GPU_TABLE windows */
  rlx_claim claim;           /* why, in_place, work_bytes, layout */
  rlx_status status;         /* RLX_NO_MEMORY, or an error in a lowering */
  RLX_ARRAY(uint32_t) plain; /* backs `layout` for a query without layouts */
} gpu_lowering;

typedef void (*gpu_lower_fn)(gpu_lowering *l);

/* lower.def: GPU_LOWER(op, function) */
gpu_lower_fn gpu_lower_get(rlx_op op); /* NULL: no GPU kernel for the op */

/* Lowers one node into *l, which is cleared first and freed with gpu_lowering_deinit. A refused node returns RLX_OK
 * with l->claim.native false. A result without elements has no dispatches. */
rlx_status gpu_lower(const gpu_caps *caps, const rlx_claim_query *q, gpu_lowering *l);
void gpu_lowering_deinit(gpu_lowering *l);

/* The part of a lowering that its claim keeps: all that a program needs. */
struct rlx_lowering {
  RLX_ARRAY(gpu_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table;
};
/* The lowering of a step. Fails if its claim has none, or if the step has less work memory than was claimed. */
rlx_status gpu_lowering_of(const rlx_bound_step *b, const rlx_lowering **out);

/* The backends' claim, lowering_destroy, lowering_part, layout_bytes and repack functions. */
rlx_status gpu_claim(const gpu_caps *caps, const rlx_claim_query *q, rlx_claim *out);
void gpu_lowering_destroy(rlx_lowering *l);
bool gpu_lowering_part(const rlx_lowering *l, size_t i, char *out, size_t bytes);
/* Splits weights larger than a binding by rows (split.c). */
rlx_node gpu_split_large(rlx_rewrite *r);
uint64_t gpu_layout_bytes(const rlx_device *d, uint32_t layout, const rlx_type *type); /* d may be NULL */
rlx_status gpu_repack(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout, const void *src,
                      void *dst, rlx_pool *pool);
void gpu_repack_part(const rlx_device *d, uint32_t layout, const rlx_type *type, const void *src, uint64_t from,
                     void *dst, size_t bytes);

/* The block and byte range of a window for a step; `table` and `run` are the program's. GPU_NONE: no block.
 * RLX_INVALID if the window exceeds the step's tensor, which would be a planner bug. */
rlx_status gpu_bind(const gpu_window *w, const rlx_bound_step *step, const rlx_bound *table, const rlx_bound *run,
                    rlx_bound *out);

/* Whether a dispatch with these bound windows has no effect: a copy onto itself, as in an in-place scatter. */
bool gpu_is_idle(const gpu_dispatch *d, const rlx_bound *windows);

/* ---- for lowerings: properties of the node ---- */

static inline const rlx_type *gpu_out_type(const gpu_lowering *l) { return &l->node->type; }
static inline bool gpu_has_in(const gpu_lowering *l, uint32_t i) { return i < l->node->n_in && l->node->in[i]; }
static inline bool gpu_is_exact(const gpu_lowering *l) { return l->switches & RLX_SWITCH_EXACT; }
static inline const rlx_type *gpu_in_type(const gpu_lowering *l, uint32_t i) { /* NULL: absent */
  return gpu_has_in(l, i) ? &rlx_graph_at(l->graph, l->node->in[i])->type : NULL;
}
/* Number of elements. Larger tensors than 2^31 are refused before a lowering is called, so u32 indices do not wrap. */
uint32_t gpu_count(const rlx_type *t);
/* 4-byte words that hold the elements of t; the last one may be partly used. */
uint32_t gpu_words(const rlx_type *t);
uint32_t gpu_elements_per_word(rlx_dtype t); /* 4, 2 or 1; i64 and c64: 1, although an element is two words */
bool gpu_is_float(rlx_dtype t);              /* f32, f16, bf16: kernels compute these in f32 */
static inline uint32_t gpu_ceil_div(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a + b - 1) / b); }
uint32_t gpu_f32_bits(double v); /* for a float parameter or constant */

/* ---- for lowerings: output ---- */

bool gpu_failed(const gpu_lowering *l);             /* refused or failed: further calls have no effect */
void gpu_refuse(gpu_lowering *l, const char *why);  /* not native; `why`: a static string that names what is missing */
void gpu_in_place(gpu_lowering *l, uint32_t input); /* the result may alias this input */
void gpu_prefer_layout(gpu_lowering *l, uint32_t input, uint32_t layout); /* see rlx_claim.layout */

gpu_window gpu_in(const gpu_lowering *l, uint32_t i); /* all of input i, in its layout; absent: GPU_NONE */
gpu_window gpu_out(const gpu_lowering *l);
gpu_window gpu_work(gpu_lowering *l, uint64_t bytes);                     /* a new range of work memory */
gpu_window gpu_table(gpu_lowering *l, const uint32_t *words, uint32_t n); /* a copy of these words */
gpu_window gpu_run_window(void);
gpu_window gpu_part(gpu_window w, uint64_t offset, uint64_t bytes); /* offset: a multiple of GPU_ALIGN */

/* Adds a dispatch. Windows that the kernel does not use in this case may be GPU_NONE: the backend binds a dummy.
 * `params` is the kernel's gpu_params_NAME (its groups field is filled in). Zero groups add nothing. */
typedef struct gpu_launch {
  const gpu_kernel *kernel;
  uint32_t groups;
  uint32_t group_size; /* 0: 128, or the device's maximum if that is smaller */
  const void *constants;
  uint32_t constants_bytes; /* must be the kernel's */
  const void *params;
  uint32_t params_bytes; /* must be the kernel's */
  gpu_window windows[GPU_MAX_WINDOWS];
  uint64_t cost;          /* 0: the bytes of its windows */
  uint32_t dynamic_bytes; /* at most caps->max_dynamic */
  bool reads_part;
} gpu_launch;
void gpu_emit(gpu_lowering *l, const gpu_launch *d);
/* gpu_launch for kernel NAME with its own structs of parameters and constants:
 *   gpu_emit(l, &(gpu_launch){GPU_KERNEL(softmax, p, c), .groups = rows, .windows = {gpu_in(l, 0), gpu_out(l)}});
 * The conditional expressions only make the compiler check the types. */
#define GPU_KERNEL(name, p, c) .kernel = &gpu_kernel_##name, GPU_CONSTANTS(name, c), GPU_PARAMS(name, p)
#define GPU_CONSTANTS(name, c) \
  .constants = 1 ? &(c) : (const gpu_constants_##name *)0, .constants_bytes = (uint32_t)sizeof(gpu_constants_##name)
#define GPU_PARAMS(name, p) \
  .params = 1 ? &(p) : (const gpu_params_##name *)0, .params_bytes = (uint32_t)sizeof(gpu_params_##name)
/* Converts n elements to another type of the same kind (floats, or integers up to 32 bits). For kernels whose rows of a
 * narrow type are not whole words: these write f32 to work memory first. */
void gpu_convert(gpu_lowering *l, gpu_window from, rlx_dtype from_type, gpu_window to, rlx_dtype to_type, uint32_t n);
/* For a kernel without constants of its own. */
#define GPU_KERNEL0(name, p) .kernel = &gpu_kernel_##name, GPU_PARAMS(name, p)

#endif
