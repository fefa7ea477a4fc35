/* Internal interface of the CPU backend: kernels, instruction sets, weight layouts and parallel loops.
 *
 * Kernels. kernels.def maps each op to a cpu_kernel. `claim` decides whether the kernel can run a node (types,
 * attributes) and what it needs. `prepare` runs once per program and computes what is constant between runs: strides,
 * tile sizes, the choice of inner loop. `run` does the work and allocates nothing. Ops without a kernel, and nodes that
 * are not claimed, run through the reference on the host; the runtime arranges that.
 *
 * Instruction sets. A file named *.simd.c is compiled once per set of isa.def (base, avx2, avx512 on x86) with that
 * set's flags and with CPU_ISA defined as its name. It uses the vectors of simd.h, keeps all its functions static, and
 * exports one table of them, CPU_TABLE(cpu_gemm), which a header declares with CPU_TABLES(cpu_gemm_table, cpu_gemm). At
 * run time cpu_gemm(isa) is the table of the device's set. Only *.simd.c files may contain vector code. They include no
 * header with functions that are not static: otherwise the linker could keep a copy compiled for a newer machine.
 *
 * Threads. Work is split into tasks by its size alone, never by the number of threads, and no task reads another's
 * result. So 1, 2 and 4 threads give identical bits. Partial sums are added in a fixed order. */
#ifndef RLX_CPU_CPU_H
#define RLX_CPU_CPU_H

#include "base/thread.h"
#include "device/backend.h"

/* ---- instruction sets ---- */

#include "cpu/isa.def"
#define CPU_ISA_ENUM(A, B, name, runs, features) CPU_ISA_##name,
typedef enum cpu_isa { CPU_ISAS(CPU_ISA_ENUM, , ) CPU_ISA_COUNT } cpu_isa;
#undef CPU_ISA_ENUM
#define CPU_ISA_FIRST ((cpu_isa)0)

cpu_isa cpu_isa_best(void);                /* the best set that this machine can run */
const char *cpu_isa_name(cpu_isa isa);     /* "avx2" */
const char *cpu_isa_features(cpu_isa isa); /* "sse2 avx2 fma f16c" */
/* "base" is the first set of every machine. False: unknown, or not supported by this machine. */
bool cpu_isa_find(const char *name, cpu_isa *out);

#define CPU_PASTE_(a, b) a##_##b
#define CPU_PASTE(a, b) CPU_PASTE_(a, b)
/* In a *.simd.c: the name of its table. */
#define CPU_TABLE(name) CPU_PASTE(name, CPU_ISA)
/* In a header: declares the tables of type T, one per set, and the function that selects one. */
#define CPU_TABLES(T, name)                                              \
  CPU_ISAS(CPU_TABLE_EXTERN_, T, name)                                   \
  static inline const T *name(cpu_isa isa) {                             \
    static const T *const all[] = {CPU_ISAS(CPU_TABLE_ENTRY_, T, name)}; \
    return all[isa];                                                     \
  }
#define CPU_TABLE_EXTERN_(T, table, isa, runs, features) extern const T table##_##isa;
#define CPU_TABLE_ENTRY_(T, table, isa, runs, features) &table##_##isa,

/* ---- kernels ---- */

enum { CPU_MAX_JOINED = 4 };
typedef struct cpu_call cpu_call;
typedef rlx_status (*cpu_run_fn)(const cpu_call *c);

struct cpu_call {
  const rlx_graph *graph;
  const rlx_node_rec *node;
  const void *attrs; /* node->attrs: RLX_ATTRS(softmax, c)->axis */
  cpu_isa isa;
  uint32_t switches; /* rlx_switch */
  uint32_t n_in;
  const void *const *in;  /* by input; NULL where absent. Aligned to 64 unless the value is a view */
  void *out;              /* may alias an input where the claim allowed in place */
  void *work;             /* claim.work_bytes, aligned to 64; never NULL */
  const uint32_t *layout; /* by input */
  const void *prepared;   /* set by `prepare` */
  /* set for each run */
  uint64_t draw;
  rlx_pool *pool;
};

typedef struct cpu_kernel {
  /* Fills *c, which is zeroed; c->native is set when true is returned. False: not this node, c->why gives the reason.
   * NULL: every node is claimed, with no requirements. */
  bool (*claim)(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c);
  /* May be NULL. Memory from `memory` lives as long as the program. c->in and c->out are final; the fields set for each
   * run are not set yet. */
  rlx_status (*prepare)(cpu_call *c, rlx_bump *memory);
  cpu_run_fn run;
  /* May be NULL. `joins`: whether two prepared consecutive nodes, neither of which reads the other's result, run faster
   * together. `run_joined` runs up to CPU_MAX_JOINED such nodes, each of which joins the first, in the first's work
   * memory. */
  bool (*joins)(const cpu_call *first, const cpu_call *next);
  rlx_status (*run_joined)(const cpu_call *const *calls, size_t n);
  /* Checked before `claim` is called. */
  bool takes_layouts; /* reads weights in packed layouts (below), not only row-major */
  bool no_f64;        /* f64 results run through the reference */
} cpu_kernel;

/* kernels.def: CPU_KERNEL(op, kernel) */
const cpu_kernel *cpu_kernel_get(rlx_op op); /* NULL: no kernel, runs through the reference */

static inline const rlx_type *cpu_in_type(const cpu_call *c, uint32_t i) {
  return i < c->n_in && c->node->in[i] ? &rlx_graph_at(c->graph, c->node->in[i])->type : NULL;
}
static inline const void *cpu_in(const cpu_call *c, uint32_t i) { return i < c->n_in ? c->in[i] : NULL; }

/* ---- packed weight layouts ---- */
/* The high byte of a layout number is the family; each family numbers its layouts in the low byte. */
enum { CPU_LAYOUT_PLAIN = 0, CPU_LAYOUT_GEMM = 0x100, CPU_LAYOUT_QUANT = 0x200, CPU_LAYOUT_CONV = 0x300 };
typedef struct cpu_layout_family {
  uint64_t (*bytes)(cpu_isa isa, uint32_t layout, const rlx_type *type);
  rlx_status (*repack)(cpu_isa isa, uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                       rlx_pool *pool);
  /* Reads elements first .. first + count (whole blocks) of row `row` of a matrix in this layout, in its own dtype.
   * NULL: the family has no matrices. */
  void (*read_row)(cpu_isa isa, uint32_t layout, const rlx_type *type, const void *matrix, size_t row, size_t first,
                   size_t count, void *out);
  /* Number of rows of axis 0 such that a multiple of it can be packed by itself; NULL or 0: only the whole tensor. */
  uint32_t (*rows)(cpu_isa isa, uint32_t layout, const rlx_type *type);
} cpu_layout_family;
/* layouts.def: CPU_LAYOUT(gemm, CPU_LAYOUT_GEMM) stands for the family cpu_layout_gemm */
#define CPU_LAYOUT(name, first) extern const cpu_layout_family cpu_layout_##name;
#include "cpu/layouts.def"
#undef CPU_LAYOUT
const cpu_layout_family *cpu_layout_family_of(uint32_t layout); /* NULL: unknown, or CPU_LAYOUT_PLAIN */

/* ---- threads ---- */
/* Calls fn(user, begin, end, thread) over [0, n) in tasks of `grain` items. The tasks do not depend on the pool. A
 * single task runs in the caller's thread, as thread 0. Must not be called from within a task. */
typedef void (*cpu_range_fn)(void *user, size_t begin, size_t end, unsigned thread);
/* Whether cpu_parallel of this thread may skip work after the caller's budget has stopped. */
void cpu_set_may_stop(bool on);
/* Polled inside long tasks: whether to stop. After a stop everything that the kernel has written may be incomplete, and
 * none of it may be used as an index or a size. */
bool cpu_stops(void);
/* The same for a loop whose iteration takes about this many nanoseconds: polls about once per millisecond. *done starts
 * at 0. After a stop it stays at CPU_POLL_NS, so that every later call returns true. */
enum { CPU_POLL_NS = 1 << 20 };
static inline bool cpu_stops_after(size_t *done, size_t nanoseconds) {
  *done += nanoseconds;
  if (*done < CPU_POLL_NS) return false;
  *done = cpu_stops() ? CPU_POLL_NS : 0;
  return *done != 0;
}
void cpu_parallel(rlx_pool *pool, size_t n, size_t grain, cpu_range_fn fn, void *user);
/* Items per task such that a task is worth waking a thread for; `cost` is about nanoseconds per item. */
size_t cpu_grain(size_t n, double cost);

/* ---- programs (program.c); the rest of the backend is in backend.c ---- */
typedef struct cpu_device {
  rlx_device base;
  cpu_isa isa;
} cpu_device;
rlx_status cpu_claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out);
rlx_status cpu_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
rlx_status cpu_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);
void cpu_program_destroy(rlx_program *p);

#endif
