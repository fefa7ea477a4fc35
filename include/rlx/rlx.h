/* RLX: an ML compiler and runtime in C.
 *
 * Build or parse a graph, optimise it, evaluate it, run it on a device:
 *
 *   rlx_graph *g;
 *   rlx_graph_create(&g);
 *   rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
 *   rlx_graph_add_output(g, "y", rlx_op_softmax(g, x, -1));
 *   if (rlx_graph_finish(g) != RLX_OK) puts(rlx_message());
 *
 * Errors. Functions that can fail return an rlx_status; rlx_message() returns the text of the calling thread's last
 * failure. Nothing a caller passes aborts the process. The graph builder is sticky: a failed call returns node 0, later
 * calls that receive it do nothing, and rlx_graph_finish reports the first error. Out-parameters come last and are NULL
 * on failure.
 *
 * Ownership. create and destroy come in pairs; destroy accepts NULL. Strings and arrays passed in are copied.
 *
 * Threads. A finished graph may be read by several threads. What runs (executables, evaluators, runners, models) serves
 * one caller at a time: a second thread, or a callback of the call itself, gets RLX_BUSY and changes nothing. Callbacks
 * may call any function, and may destroy the object that calls them: it is freed when that call ends. They must return,
 * not longjmp. After fork, objects with threads or a device belong to the parent, and the child creates its own.
 * docs/process.md has the details. */
#ifndef RLX_RLX_H
#define RLX_RLX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library's own build defines RLX_BUILDING. A program that links the static library on Windows defines
 * RLX_STATIC. */
#if defined(_WIN32) && defined(RLX_STATIC)
#define RLX_API
#elif defined(_WIN32) && defined(RLX_BUILDING)
#define RLX_API __declspec(dllexport)
#elif defined(_WIN32)
#define RLX_API __declspec(dllimport)
#elif defined(__GNUC__)
#define RLX_API __attribute__((visibility("default")))
#else
#define RLX_API
#endif
#if defined(__GNUC__)
#define RLX_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RLX_MUST_CHECK
#endif

/* Structs whose first field is struct_bytes may grow in later versions. Initialise one with its RLX_*_INIT; all other
 * fields are then zero, which is the default:
 *
 *   rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session);
 *   rlx_device_info info = {RLX_DEVICE_INFO_INIT};
 *
 * Structs passed to the library: a shorter one than the library's counts as zero in the rest. A longer one is accepted
 * unless a field that the library does not have is set: RLX_UNSUPPORTED. Structs filled by the library: it writes at
 * most struct_bytes, with zeros for fields that it does not have. All other structs keep their layout, except that
 * structs which the library returns by pointer may get further fields at the end. In C++: auto desc =
 * rlx_init<rlx_session_desc>(); */
#if !defined(__cplusplus) || __cplusplus >= 202002L
#define RLX_SIZED(type) .struct_bytes = sizeof(type)
#else
#define RLX_SIZED(type) sizeof(type)
#endif

#define RLX_VERSION_MAJOR 0
#define RLX_VERSION_MINOR 1
#define RLX_VERSION_PATCH 0
#define RLX_INFINITY ((double)INFINITY)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and messages ------------------------------------------------------------------------------------ */

typedef enum rlx_status {
  RLX_OK = 0,
  RLX_INVALID = 1,     /* an argument, graph or file content is wrong */
  RLX_NO_MEMORY = 2,   /* an allocation failed */
  RLX_NOT_FOUND = 3,   /* a name, file or device that does not exist */
  RLX_UNSUPPORTED = 4, /* valid, but not possible with this library or device */
  RLX_IO = 5,          /* the system refused a read or write */
  RLX_BUSY = 6,        /* the object is in use by another thread */
  RLX_CANCELLED = 7,   /* a cancel function returned true */
  RLX_DEVICE_LOST = 8, /* the device failed; the process can continue */
  RLX_LIMIT = 9,       /* a budget would be exceeded: see rlx_limits */
} rlx_status;

RLX_API const char *rlx_version(void);                  /* "0.1.0" */
RLX_API const char *rlx_status_name(rlx_status status); /* "invalid" */
/* The message of this thread's last failure, with context frames from the outermost call to the cause; "" if there was
 * none. */
RLX_API const char *rlx_message(void);

typedef enum rlx_log_level { RLX_LOG_ERROR = 0, RLX_LOG_WARN = 1, RLX_LOG_INFO = 2, RLX_LOG_DEBUG = 3 } rlx_log_level;
typedef void (*rlx_log_fn)(void *user, rlx_log_level level, const char *text);
RLX_API void rlx_set_log(rlx_log_fn fn, void *user); /* NULL: no log, the default */
typedef void (*rlx_trace_fn)(void *user, const char *name, bool begin, uint64_t nanoseconds);
RLX_API void rlx_set_trace(rlx_trace_fn fn, void *user);

/* ---- Limits of one call ---------------------------------------------------------------------------------------
 *
 * Sessions have limits, and every watch has its own, which take precedence. A call that would exceed one returns
 * RLX_LIMIT with a message that gives the request and the limit; nothing is allocated first. Zeros select the defaults,
 * which depend on the machine. */
typedef struct rlx_limits {
  /* Host memory that the call may allocate. 0: nine tenths of what is free, containers' limits included. */
  uint64_t host_bytes;
  /* Device memory of all objects of a session together. 0: nine tenths of what is free, if that is known. */
  uint64_t device_bytes;
  /* Elements that the host's plain loops may visit (constant folding, sizes that depend on values, loops, the
   * reference). A count, so that what is refused does not depend on speed. 0: 2^28 for opening, importing and
   * compiling; no limit for running. */
  uint64_t work;
  double seconds;       /* 0: no limit */
  uint64_t reserved[4]; /* zero; this struct is embedded in others, so it cannot grow */
} rlx_limits;
typedef bool (*rlx_cancel_fn)(void *user);

/* ---- Types -------------------------------------------------------------------------------------------------- */

/* clang-format off */
typedef enum rlx_dtype {
  RLX_F32 = 0, RLX_F16 = 1, RLX_BF16 = 2, RLX_F64 = 3,
  RLX_I8 = 4, RLX_U8 = 5, RLX_I16 = 6, RLX_I32 = 7, RLX_U32 = 8, RLX_I64 = 9,
  RLX_BOOL = 10,
  RLX_C64 = 11, /* interleaved re, im f32 */
  /* Block types: weights only, packed along the last axis, GGUF layouts. */
  RLX_Q4_0 = 12, RLX_Q4_1 = 13, RLX_Q5_0 = 14, RLX_Q5_1 = 15, RLX_Q8_0 = 16,
  RLX_Q2_K = 17, RLX_Q3_K = 18, RLX_Q4_K = 19, RLX_Q5_K = 20, RLX_Q6_K = 21, RLX_Q8_K = 22,
  RLX_IQ4_NL = 23, RLX_IQ4_XS = 24, RLX_MXFP4 = 25, RLX_TQ1_0 = 26, RLX_TQ2_0 = 27,
  RLX_IQ1_S = 28, RLX_IQ1_M = 29, RLX_IQ2_XXS = 30, RLX_IQ2_XS = 31, RLX_IQ2_S = 32, RLX_IQ3_XXS = 33, RLX_IQ3_S = 34,
  RLX_NVFP4 = 35,
  /* Element types again. u64 and the 8-bit floats can be stored, moved, compared for equality and cast, nothing
   * else. */
  RLX_U16 = 36, RLX_U64 = 37, RLX_F8E4M3 = 38, RLX_F8E5M2 = 39,
  RLX_DTYPE_UNKNOWN = 255 /* a type that this library does not have; no type will ever use this number */
} rlx_dtype;
/* clang-format on */

typedef struct rlx_dtype_info {
  const char *name;        /* "f32", "q4_k" */
  uint32_t block_elements; /* elements of a block; 1 for other types */
  uint32_t block_bytes;    /* bytes of one element or block */
} rlx_dtype_info;

RLX_API uint32_t rlx_dtype_count(void);                            /* types are 0 .. count - 1 */
RLX_API const rlx_dtype_info *rlx_dtype_describe(rlx_dtype dtype); /* NULL for an unknown value */
RLX_API rlx_dtype rlx_dtype_from_name(const char *name);           /* RLX_DTYPE_UNKNOWN if there is none */

#define RLX_MAX_RANK 8

/* A list of sizes or axes: `RLX_DIMS(2, 3)`; `RLX_SCALAR` is the empty one. A size may be a symbol. */
typedef struct rlx_dims {
  int64_t v[RLX_MAX_RANK];
  int32_t n;
} rlx_dims;
typedef struct rlx_floats {
  double v[RLX_MAX_RANK];
  int32_t n;
} rlx_floats;
#ifndef __cplusplus
#define RLX_DIMS(...) \
  ((rlx_dims){.v = {__VA_ARGS__}, .n = (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})
#define RLX_SCALAR ((rlx_dims){.n = 0})
#endif

/* A tensor in host memory: row-major, contiguous. What is only read (an input, a weight) may be in const memory: a
 * function that takes a const rlx_tensor never writes to its data. */
typedef struct rlx_tensor {
  rlx_dtype dtype;
  rlx_dims shape;
  union {
    void *data;
    const void *const_data; /* the same pointer: {.const_data = weights} */
  };
  size_t bytes;
} rlx_tensor;

/* Bytes of a tensor of this type and shape. Fails on overflow, a negative or symbolic size, or a last axis that is not
 * a multiple of the block. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tensor_bytes(rlx_dtype dtype, rlx_dims shape, size_t *bytes);
/* Converts n elements, whole blocks, of a block type to and from f32. Encoding minimises the squared error. */
RLX_API RLX_MUST_CHECK rlx_status rlx_quant_decode(rlx_dtype dtype, const void *blocks, float *values, size_t n);
RLX_API RLX_MUST_CHECK rlx_status rlx_quant_encode(rlx_dtype dtype, const float *values, void *blocks, size_t n);

/* ---- Graph -------------------------------------------------------------------------------------------------- */

/* Threads: one thread builds it; once finished, any number may read it. */
typedef struct rlx_graph rlx_graph;
/* A node of one graph: its number, from 1, in the low 32 bits, the graph's identity in the high 32 bits, so that a node
 * of another graph is rejected. 0 is none: an absent optional input, or a failed call. */
typedef uint64_t rlx_node;
#define RLX_NONE ((rlx_node)0)

RLX_API RLX_MUST_CHECK rlx_status rlx_graph_create(rlx_graph **out);
RLX_API void rlx_graph_destroy(rlx_graph *g);
/* Ends building: reports the first error of all calls so far, checks that there is an output, and verifies the graph.
 * Afterwards the graph does not change. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_finish(rlx_graph *g);
/* The builder's state without ending it: RLX_OK, or its first error, which rlx_message() then describes. */
RLX_API rlx_status rlx_graph_status(const rlx_graph *g);
/* Checks the whole graph again, from its nodes alone. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_verify(const rlx_graph *g);

/* A symbolic size, for use in shapes; its number is bound later. The same name gives the same symbol. */
RLX_API int64_t rlx_graph_add_symbol(rlx_graph *g, const char *name);
typedef struct rlx_binding {
  const char *symbol;
  int64_t size;
} rlx_binding;
/* A copy of the graph with numbers for all its symbols. The message of an error names the symbol that is unknown, bound
 * twice or not bound. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_bind(const rlx_graph *g, const rlx_binding *bindings, size_t n,
                                                 rlx_graph **out);
/* The same with the binding that these input shapes imply. The message of a conflict names the input and the symbol. */
typedef struct rlx_named_shape {
  const char *name;
  rlx_dims shape;
} rlx_named_shape;
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_bind_inputs(const rlx_graph *g, const rlx_named_shape *inputs, size_t n,
                                                        rlx_graph **out);

/* Graph queries. They also accept a node's number alone, 1 .. rlx_graph_size(g). Unknown nodes, nodes of other graphs,
 * and unknown indices give 0, NULL or zeroed structs. */
RLX_API uint32_t rlx_graph_size(const rlx_graph *g);
/* The index of a node, for arrays of rlx_graph_size(g) + 1 elements; a node itself is not an index. */
RLX_API uint32_t rlx_node_number(const rlx_graph *g, rlx_node n);
RLX_API const char *rlx_node_op(const rlx_graph *g, rlx_node n); /* "matmul" */
RLX_API uint32_t rlx_node_input_count(const rlx_graph *g, rlx_node n);
RLX_API rlx_node rlx_node_input_at(const rlx_graph *g, rlx_node n, uint32_t i); /* 0: an absent optional input */
RLX_API rlx_dtype rlx_node_dtype(const rlx_graph *g, rlx_node n);
RLX_API rlx_dims rlx_node_shape(const rlx_graph *g, rlx_node n);
RLX_API const char *rlx_node_name(const rlx_graph *g, rlx_node n); /* of an input, param or state; else NULL */
/* An input, param or state; 0 if there is none. */
RLX_API rlx_node rlx_graph_find(const rlx_graph *g, const char *name);
RLX_API uint32_t rlx_graph_output_count(const rlx_graph *g);
RLX_API rlx_node rlx_graph_output_at(const rlx_graph *g, uint32_t i, const char **name);
RLX_API uint32_t rlx_graph_symbol_count(const rlx_graph *g);
RLX_API const char *rlx_graph_symbol_at(const rlx_graph *g, uint32_t i);
/* The name of a symbolic size; NULL for a number, and for a size that is unknown until bind (both kinds of open size
 * are negative). */
RLX_API const char *rlx_graph_symbol_name(const rlx_graph *g, int64_t size);
RLX_API bool rlx_graph_same(const rlx_graph *a, const rlx_graph *b); /* identical nodes, names, attributes, outputs */

/* ---- Building: leaves and outputs ---- */
RLX_API rlx_node rlx_op_input(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape);
RLX_API rlx_node rlx_op_param(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape);
RLX_API rlx_node rlx_op_state(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape);
RLX_API rlx_node rlx_op_constant(rlx_graph *g, rlx_dtype dtype, rlx_dims shape, const void *data, size_t bytes);
RLX_API rlx_node rlx_op_scalar(rlx_graph *g, rlx_dtype dtype, double value); /* a constant of rank 0 */
RLX_API void rlx_graph_add_output(rlx_graph *g, const char *name, rlx_node n);

/* ---- Building: one function per op ---------------------------------------------------------------------------
 *
 * rlx_op_NAME builds the op NAME. The only other functions with this prefix are the op table's queries, rlx_op_table_*.
 * Each call appends one node and returns it. docs/ops.md and `rlx ops NAME` document each op: types, attributes, shape
 * rule. Below, x, a, b .. are nodes; a node marked "or none" may be RLX_NONE; a negative axis counts from the end; an
 * empty list of axes means all. Attributes are parameters in the table's order, or a struct where there are many or
 * most are rarely set: there zero is the default, and NULL is a struct of zeros. */

/* ---- Element-wise, one value: floats; neg, abs and sign also integers ---- */
RLX_API rlx_node rlx_op_gelu(rlx_graph *g, rlx_node x);                     /* x Phi(x), exact */
RLX_API rlx_node rlx_op_gelu_approx(rlx_graph *g, rlx_node x);              /* gelu, tanh form */
RLX_API rlx_node rlx_op_silu(rlx_graph *g, rlx_node x);                     /* x sigmoid(x) */
RLX_API rlx_node rlx_op_relu(rlx_graph *g, rlx_node x);                     /* max(x, 0) */
RLX_API rlx_node rlx_op_sigmoid(rlx_graph *g, rlx_node x);                  /* 1 / (1 + e^-x) */
RLX_API rlx_node rlx_op_tanh(rlx_graph *g, rlx_node x);                     /* hyperbolic tangent */
RLX_API rlx_node rlx_op_exp(rlx_graph *g, rlx_node x);                      /* e^x */
RLX_API rlx_node rlx_op_log(rlx_graph *g, rlx_node x);                      /* natural logarithm */
RLX_API rlx_node rlx_op_sqrt(rlx_graph *g, rlx_node x);                     /* square root */
RLX_API rlx_node rlx_op_rsqrt(rlx_graph *g, rlx_node x);                    /* 1 / sqrt(x) */
RLX_API rlx_node rlx_op_neg(rlx_graph *g, rlx_node x);                      /* -x */
RLX_API rlx_node rlx_op_abs(rlx_graph *g, rlx_node x);                      /* |x| */
RLX_API rlx_node rlx_op_sin(rlx_graph *g, rlx_node x);                      /* sine */
RLX_API rlx_node rlx_op_cos(rlx_graph *g, rlx_node x);                      /* cosine */
RLX_API rlx_node rlx_op_tan(rlx_graph *g, rlx_node x);                      /* tangent */
RLX_API rlx_node rlx_op_atan(rlx_graph *g, rlx_node x);                     /* arc tangent */
RLX_API rlx_node rlx_op_round(rlx_graph *g, rlx_node x);                    /* to the nearest integer, ties to even */
RLX_API rlx_node rlx_op_floor(rlx_graph *g, rlx_node x);                    /* largest integer not above x */
RLX_API rlx_node rlx_op_ceil(rlx_graph *g, rlx_node x);                     /* smallest integer not below x */
RLX_API rlx_node rlx_op_sign(rlx_graph *g, rlx_node x);                     /* -1, 0 or 1 */
RLX_API rlx_node rlx_op_erf(rlx_graph *g, rlx_node x);                      /* error function */
RLX_API rlx_node rlx_op_reciprocal(rlx_graph *g, rlx_node x);               /* 1 / x */
RLX_API rlx_node rlx_op_softplus(rlx_graph *g, rlx_node x);                 /* log(1 + e^x) */
RLX_API rlx_node rlx_op_hard_swish(rlx_graph *g, rlx_node x);               /* x clamp(x + 3, 0, 6) / 6 */
RLX_API rlx_node rlx_op_mish(rlx_graph *g, rlx_node x);                     /* x tanh(softplus(x)) */
RLX_API rlx_node rlx_op_elu(rlx_graph *g, rlx_node x, double alpha);        /* x; alpha (e^x - 1) if x < 0 */
RLX_API rlx_node rlx_op_leaky_relu(rlx_graph *g, rlx_node x, double alpha); /* x; alpha x if x < 0 */
/* clamp(alpha x + beta, 0, 1) */
RLX_API rlx_node rlx_op_hard_sigmoid(rlx_graph *g, rlx_node x, double alpha, double beta);
RLX_API rlx_node rlx_op_selu(rlx_graph *g, rlx_node x); /* selu_with with the constants of its paper */
RLX_API rlx_node rlx_op_selu_with(rlx_graph *g, rlx_node x, double alpha, double beta); /* beta elu(x, alpha) */

/* ---- Element-wise, two values: of one type, shapes broadcast as in NumPy ---- */
RLX_API rlx_node rlx_op_add(rlx_graph *g, rlx_node a, rlx_node b);     /* a + b */
RLX_API rlx_node rlx_op_sub(rlx_graph *g, rlx_node a, rlx_node b);     /* a - b */
RLX_API rlx_node rlx_op_mul(rlx_graph *g, rlx_node a, rlx_node b);     /* a * b */
RLX_API rlx_node rlx_op_div(rlx_graph *g, rlx_node a, rlx_node b);     /* a / b; integers truncate, x/0 is 0 */
RLX_API rlx_node rlx_op_max(rlx_graph *g, rlx_node a, rlx_node b);     /* the larger; NaN propagates */
RLX_API rlx_node rlx_op_min(rlx_graph *g, rlx_node a, rlx_node b);     /* the smaller; NaN propagates */
RLX_API rlx_node rlx_op_pow(rlx_graph *g, rlx_node a, rlx_node b);     /* a to the b */
RLX_API rlx_node rlx_op_mod(rlx_graph *g, rlx_node a, rlx_node b);     /* a - floor(a / b) b: the sign of b */
RLX_API rlx_node rlx_op_atan2(rlx_graph *g, rlx_node a, rlx_node b);   /* angle of the point (b, a) */
RLX_API rlx_node rlx_op_bit_and(rlx_graph *g, rlx_node a, rlx_node b); /* integers: bits set in both */
RLX_API rlx_node rlx_op_bit_or(rlx_graph *g, rlx_node a, rlx_node b);  /* integers: bits set in either */
RLX_API rlx_node rlx_op_bit_xor(rlx_graph *g, rlx_node a, rlx_node b); /* integers: bits set in exactly one */
RLX_API rlx_node rlx_op_shl(rlx_graph *g, rlx_node a, rlx_node b);     /* integers: a << b */
RLX_API rlx_node rlx_op_shr(rlx_graph *g, rlx_node a, rlx_node b);     /* integers: a >> b, keeping the sign */
RLX_API rlx_node rlx_op_and(rlx_graph *g, rlx_node a, rlx_node b);     /* bools: both */
RLX_API rlx_node rlx_op_or(rlx_graph *g, rlx_node a, rlx_node b);      /* bools: either */
RLX_API rlx_node rlx_op_xor(rlx_graph *g, rlx_node a, rlx_node b);     /* bools: exactly one */
RLX_API rlx_node rlx_op_eq(rlx_graph *g, rlx_node a, rlx_node b);      /* a == b, as bool */
RLX_API rlx_node rlx_op_ne(rlx_graph *g, rlx_node a, rlx_node b);      /* a != b */
RLX_API rlx_node rlx_op_lt(rlx_graph *g, rlx_node a, rlx_node b);      /* a < b */
RLX_API rlx_node rlx_op_le(rlx_graph *g, rlx_node a, rlx_node b);      /* a <= b */
RLX_API rlx_node rlx_op_gt(rlx_graph *g, rlx_node a, rlx_node b);      /* a > b */
RLX_API rlx_node rlx_op_ge(rlx_graph *g, rlx_node a, rlx_node b);      /* a >= b */

/* ---- Element-wise, the rest ---- */
RLX_API rlx_node rlx_op_not(rlx_graph *g, rlx_node x);                           /* logical not */
RLX_API rlx_node rlx_op_fma(rlx_graph *g, rlx_node a, rlx_node b, rlx_node c);   /* a * b + c, rounded once */
RLX_API rlx_node rlx_op_where(rlx_graph *g, rlx_node c, rlx_node t, rlx_node f); /* c ? t : f, c bool */
RLX_API rlx_node rlx_op_clamp(rlx_graph *g, rlx_node x, double lo, double hi);   /* min(max(x, lo), hi) */
RLX_API rlx_node rlx_op_cast(rlx_graph *g, rlx_node x, rlx_dtype to);            /* converts values, saturating */
/* saturate(round(x / scale) + zero) to i8, u8, i16 or i32, and the inverse; scale and zero (or none) scalar or per
 * channel. */
RLX_API rlx_node rlx_op_quantize(rlx_graph *g, rlx_node x, rlx_node scale, rlx_node zero, rlx_dtype to, int64_t axis);
RLX_API rlx_node rlx_op_dequantize(rlx_graph *g, rlx_node x, rlx_node scale, rlx_node zero, int64_t axis);

/* ---- Matrix product ---- */
/* [.., M, K] x [.., K, N]; b may be a weight type */
RLX_API rlx_node rlx_op_matmul(rlx_graph *g, rlx_node a, rlx_node b);
RLX_API rlx_node rlx_op_matmul_t(rlx_graph *g, rlx_node a, rlx_node b); /* matmul with trans_b: b is [.., N, K] */

typedef struct rlx_op_dot_general_desc {
  size_t struct_bytes;
  rlx_dims batch_a, batch_b, contract_a, contract_b; /* axes, pairwise */
} rlx_op_dot_general_desc;
#define RLX_OP_DOT_GENERAL_DESC_INIT RLX_SIZED(rlx_op_dot_general_desc)
RLX_API rlx_node rlx_op_dot_general(rlx_graph *g, rlx_node a, rlx_node b, const rlx_op_dot_general_desc *desc);

/* x w + scale (x a) b */
RLX_API rlx_node rlx_op_lora_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node a, rlx_node b, double scale,
                                    bool trans_b);
/* Row i of x [M, K] times expert idx[i] of w: [E, K, N], or with trans_b [E, N, K], the layout of block types in
 * files. */
RLX_API rlx_node rlx_op_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b);
RLX_API rlx_node rlx_op_dequant_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b);
/* Experts of a block type as floats; with idx (or none) only the selected ones. */
RLX_API rlx_node rlx_op_dequant_moe_weights(rlx_graph *g, rlx_node w, rlx_node idx, rlx_dtype to);

typedef enum rlx_quant_scheme {
  RLX_SCHEME_INT8 = 0,
  RLX_SCHEME_INT8_ASYM = 1,
  RLX_SCHEME_INT4 = 2,
  RLX_SCHEME_FP8_E4M3 = 3,
  RLX_SCHEME_FP8_E5M2 = 4,
  RLX_SCHEME_NVFP4 = 5
} rlx_quant_scheme;
typedef struct rlx_op_dequant_matmul_desc {
  size_t struct_bytes;
  rlx_quant_scheme scheme;
  rlx_node scale, zero, global; /* which of them the scheme uses: docs/ops.md */
  int64_t block;                /* elements along K that share a scale; 0: all */
} rlx_op_dequant_matmul_desc;
#define RLX_OP_DEQUANT_MATMUL_DESC_INIT RLX_SIZED(rlx_op_dequant_matmul_desc)
RLX_API rlx_node rlx_op_dequant_matmul(rlx_graph *g, rlx_node x, rlx_node w, const rlx_op_dequant_matmul_desc *desc);

/* 8-bit in and out, i32 sums. The three scales are required; zeros and bias may be none. */
typedef struct rlx_op_q_matmul_desc {
  size_t struct_bytes;
  rlx_dtype to; /* RLX_I8 or RLX_U8; 0: RLX_I8 */
  rlx_node a_scale, b_scale, y_scale, a_zero, b_zero, y_zero, bias;
} rlx_op_q_matmul_desc;
#define RLX_OP_Q_MATMUL_DESC_INIT RLX_SIZED(rlx_op_q_matmul_desc)
RLX_API rlx_node rlx_op_q_matmul(rlx_graph *g, rlx_node a, rlx_node b, const rlx_op_q_matmul_desc *desc);
typedef struct rlx_op_q_conv2d_desc {
  size_t struct_bytes;
  rlx_dtype to; /* RLX_I8 or RLX_U8; 0: RLX_I8 */
  rlx_node x_scale, w_scale, y_scale, x_zero, w_zero, y_zero, bias;
  rlx_dims stride, dilation, pad_lo, pad_hi; /* as conv's */
  int64_t groups;                            /* 0: 1 */
} rlx_op_q_conv2d_desc;
#define RLX_OP_Q_CONV2D_DESC_INIT RLX_SIZED(rlx_op_q_conv2d_desc)
RLX_API rlx_node rlx_op_q_conv2d(rlx_graph *g, rlx_node x, rlx_node w, const rlx_op_q_conv2d_desc *desc);

RLX_API rlx_node rlx_op_dense_solve(rlx_graph *g, rlx_node a,
                                    rlx_node b); /* x of a x = b, a [.., N, N], b [.., N, K] */

/* ---- Attention and positions ---- */
typedef enum rlx_layout { RLX_LAYOUT_BSHD = 0, RLX_LAYOUT_BHSD = 1 } rlx_layout; /* batch, sequence, heads, head size */
typedef struct rlx_op_attention_desc {
  size_t struct_bytes;
  rlx_layout layout;
  bool causal;                    /* key j is visible to query i iff j <= i + kv_offset */
  rlx_node key_mask, bias, sinks; /* bool [B, Sk]; added to the scores; [H], joins the softmax with no value */
  /* i32, scalar or [B]: number of valid keys; the offset of `causal` (none: keys - Sq) */
  rlx_node kv_len, kv_offset;
  int64_t window; /* with causal: only the last `window` keys; 0: all */
  double scale;   /* 0: 1 / sqrt(head size) */
  double softcap; /* c of c tanh(s / c); 0: none */
} rlx_op_attention_desc;
#define RLX_OP_ATTENTION_DESC_INIT RLX_SIZED(rlx_op_attention_desc)
RLX_API rlx_node rlx_op_attention(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, const rlx_op_attention_desc *desc);

/* Attention over keys and values in pages: q [B, Sq, H, D]; k and v [P, page, Hkv, D]; key j of batch row b is in page
 * pages[b][j / page], pages i32 [B, N]. Rows may share pages. */
typedef struct rlx_op_paged_attention_desc {
  size_t struct_bytes;
  bool causal;
  rlx_node kv_len, kv_offset, sinks; /* as of attention */
  int64_t window;
  double scale, softcap;
} rlx_op_paged_attention_desc;
#define RLX_OP_PAGED_ATTENTION_DESC_INIT RLX_SIZED(rlx_op_paged_attention_desc)
RLX_API rlx_node rlx_op_paged_attention(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, rlx_node pages,
                                        const rlx_op_paged_attention_desc *desc);

typedef enum rlx_rope_style {
  RLX_ROPE_NEOX = 0,
  RLX_ROPE_GPTJ = 1
} rlx_rope_style; /* pairs (i, i + n/2) or (2i, 2i + 1) */
typedef struct rlx_op_rope_desc {
  size_t struct_bytes;
  rlx_layout layout;
  rlx_rope_style style;
  rlx_node positions, offset; /* [S] or [B, S]; or a scalar, the first position; none: 0, 1, .. */
  rlx_node factors, cos, sin; /* divisors of the frequencies; or tables read at the position */
  int64_t n_rot;              /* leading elements to rotate; 0: all */
  double theta;               /* 0: 10000 */
} rlx_op_rope_desc;
#define RLX_OP_ROPE_DESC_INIT RLX_SIZED(rlx_op_rope_desc)
RLX_API rlx_node rlx_op_rope(rlx_graph *g, rlx_node x, const rlx_op_rope_desc *desc);
/* On a grid of `width` columns: half of the head is rotated by the column, half by the row. Usual theta: 10000. */
RLX_API rlx_node rlx_op_axial_rope_2d(rlx_graph *g, rlx_node x, rlx_layout layout, rlx_rope_style style, int64_t width,
                                      double theta);

/* ---- Normalisation; gamma and beta or none ---- */
/* axes from `axis` on */
RLX_API rlx_node rlx_op_layer_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t axis, double eps);
/* axes from `axis` on */
RLX_API rlx_node rlx_op_rms_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t axis, double eps);
/* over C of [N, C, H, W] */
RLX_API rlx_node rlx_op_layer_norm_2d(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, double eps);
/* [N, C, ..] */
RLX_API rlx_node rlx_op_group_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t groups, double eps);
/* [N, C, ..] */
RLX_API rlx_node rlx_op_instance_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, double eps);
RLX_API rlx_node rlx_op_batch_norm_inference(rlx_graph *g, rlx_node x, rlx_node mean, rlx_node var, rlx_node gamma,
                                             rlx_node beta, double eps);
RLX_API rlx_node rlx_op_softmax(rlx_graph *g, rlx_node x, int64_t axis);     /* e^(x - max) / sum */
RLX_API rlx_node rlx_op_log_softmax(rlx_graph *g, rlx_node x, int64_t axis); /* log(softmax(x)) */

/* ---- Reduction and order ---- */
RLX_API rlx_node rlx_op_reduce_sum(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_reduce_mean(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_reduce_max(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_reduce_min(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_reduce_prod(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
/* These append several nodes: */
RLX_API rlx_node rlx_op_reduce_l1(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep); /* sum of |x| */
/* sqrt of the sum of x^2 */
RLX_API rlx_node rlx_op_reduce_l2(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_reduce_sum_square(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep); /* sum of x^2 */
RLX_API rlx_node rlx_op_reduce_log_sum(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);    /* log of the sum */
/* log of the sum of e^x, without overflow */
RLX_API rlx_node rlx_op_reduce_log_sum_exp(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);
RLX_API rlx_node rlx_op_cumsum(rlx_graph *g, rlx_node x, int64_t axis, bool exclusive, bool reverse);
RLX_API rlx_node rlx_op_cumprod(rlx_graph *g, rlx_node x, int64_t axis, bool exclusive, bool reverse);
RLX_API rlx_node rlx_op_cummax(rlx_graph *g, rlx_node x, int64_t axis, bool exclusive, bool reverse);
/* Indices have type `to`: RLX_I64 or RLX_I32. Of equal values the first wins; NaN ranks before all other values. */
RLX_API rlx_node rlx_op_argmax(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to);
RLX_API rlx_node rlx_op_argmin(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to);
RLX_API rlx_node rlx_op_top_k_values(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest);
RLX_API rlx_node rlx_op_top_k_indices(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest, rlx_dtype to);
RLX_API rlx_node rlx_op_sort(rlx_graph *g, rlx_node x, int64_t axis, bool descending); /* stable */
RLX_API rlx_node rlx_op_argsort(rlx_graph *g, rlx_node x, int64_t axis, bool descending, rlx_dtype to);

/* ---- Shape and indexing ---- */
RLX_API rlx_node rlx_op_reshape(rlx_graph *g, rlx_node x, rlx_dims shape);  /* one size may be -1: inferred */
RLX_API rlx_node rlx_op_transpose(rlx_graph *g, rlx_node x, rlx_dims perm); /* perm empty: all axes reversed */
typedef struct rlx_op_slice_desc {
  size_t struct_bytes;
  rlx_dims axes;        /* empty: 0, 1, .. */
  rlx_dims start, stop; /* per axis; negative counts from the end; clamped to the axis */
  rlx_dims step;        /* empty: 1; negative: backwards */
} rlx_op_slice_desc;
#define RLX_OP_SLICE_DESC_INIT RLX_SIZED(rlx_op_slice_desc)
RLX_API rlx_node rlx_op_slice(rlx_graph *g, rlx_node x, const rlx_op_slice_desc *desc);
/* Elements start .. start + length - 1 of an axis: as slice, but exceeding a known size is an error. */
RLX_API rlx_node rlx_op_narrow(rlx_graph *g, rlx_node x, int64_t axis, int64_t start, int64_t length);
RLX_API rlx_node rlx_op_concat(rlx_graph *g, const rlx_node *xs, size_t n, int64_t axis);
RLX_API rlx_node rlx_op_expand(rlx_graph *g, rlx_node x, rlx_dims shape); /* broadcasts; -1 keeps a size */
RLX_API rlx_node rlx_op_tile(rlx_graph *g, rlx_node x, rlx_dims reps);    /* copies per axis */
typedef enum rlx_pad_mode {
  RLX_PAD_CONSTANT = 0,
  RLX_PAD_REFLECT = 1,
  RLX_PAD_EDGE = 2,
  RLX_PAD_WRAP = 3
} rlx_pad_mode;
/* value: for constant */
RLX_API rlx_node rlx_op_pad(rlx_graph *g, rlx_node x, rlx_dims lo, rlx_dims hi, rlx_pad_mode mode, double value);
RLX_API rlx_node rlx_op_reverse(rlx_graph *g, rlx_node x, rlx_dims axes);
RLX_API rlx_node rlx_op_roll(rlx_graph *g, rlx_node x, rlx_dims shifts, rlx_dims axes);
/* the axis is replaced by idx's shape */
RLX_API rlx_node rlx_op_gather(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis);
/* out[i][j] = x[idx[i][j]][j] */
RLX_API rlx_node rlx_op_gather_elements(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis);
/* idx's last axis holds coordinates */
RLX_API rlx_node rlx_op_gather_nd(rlx_graph *g, rlx_node x, rlx_node idx, int64_t batch_dims);
typedef enum rlx_scatter {
  RLX_SCATTER_NONE = 0,
  RLX_SCATTER_ADD = 1,
  RLX_SCATTER_MUL = 2,
  RLX_SCATTER_MAX = 3,
  RLX_SCATTER_MIN = 4
} rlx_scatter;
RLX_API rlx_node rlx_op_scatter_elements(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, int64_t axis,
                                         rlx_scatter reduction);
RLX_API rlx_node rlx_op_scatter_nd(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, rlx_scatter reduction);
/* scatter_elements with add */
RLX_API rlx_node rlx_op_scatter_add(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, int64_t axis);
RLX_API rlx_node rlx_op_one_hot(rlx_graph *g, rlx_node idx, int64_t depth, int64_t axis, double on, double off,
                                rlx_dtype to);
/* count: a number or a symbol */
RLX_API rlx_node rlx_op_range(rlx_graph *g, double start, double step, int64_t count, rlx_dtype to);
RLX_API rlx_node rlx_op_trilu(rlx_graph *g, rlx_node x, bool upper, int64_t k); /* one triangle of the last two axes */
RLX_API rlx_node rlx_op_space_to_depth(rlx_graph *g, rlx_node x, int64_t block);
typedef enum rlx_depth_order {
  RLX_DEPTH_DCR = 0,
  RLX_DEPTH_CRD = 1
} rlx_depth_order; /* crd: PyTorch's pixel_shuffle */
RLX_API rlx_node rlx_op_depth_to_space(rlx_graph *g, rlx_node x, int64_t block, rlx_depth_order mode);
/* Writes rows into a state at index `at` of an axis. The result is the updated state, with which the next run
 * begins. Rows without the axes before that one are packed: each has a place of its own in `at`. */
RLX_API rlx_node rlx_op_update(rlx_graph *g, rlx_node state, rlx_node rows, rlx_node at, int64_t axis);
RLX_API rlx_node rlx_op_view_as_real(rlx_graph *g, rlx_node x);    /* c64 [..] as f32 [.., 2] */
RLX_API rlx_node rlx_op_view_as_complex(rlx_graph *g, rlx_node x); /* f32 [.., 2] as c64 [..] */

/* ---- Vision: [N, C, spatial axes ..]; per-axis lists left empty mean their default ---- */
typedef struct rlx_op_conv_desc {
  size_t struct_bytes;
  rlx_dims stride, dilation, pad_lo, pad_hi; /* empty: 1, 1, 0, 0 */
  int64_t groups;                            /* 0: 1 */
} rlx_op_conv_desc;
#define RLX_OP_CONV_DESC_INIT RLX_SIZED(rlx_op_conv_desc)
/* 1 to 3 axes; bias or none */
RLX_API rlx_node rlx_op_conv(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, const rlx_op_conv_desc *desc);
typedef struct rlx_op_conv_transpose_desc {
  size_t struct_bytes;
  rlx_dims stride, dilation, pad_lo, pad_hi, output_pad; /* empty: 1, 1, 0, 0, 0 */
  int64_t groups;                                        /* 0: 1 */
} rlx_op_conv_transpose_desc;
#define RLX_OP_CONV_TRANSPOSE_DESC_INIT RLX_SIZED(rlx_op_conv_transpose_desc)
RLX_API rlx_node rlx_op_conv_transpose(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias,
                                       const rlx_op_conv_transpose_desc *desc);
typedef struct rlx_op_pool_desc {
  size_t struct_bytes;
  bool ceil;                         /* round the output size up */
  bool count_pad;                    /* pool_avg only: padding counts as zeros */
  rlx_dims kernel;                   /* empty: the whole plane */
  rlx_dims stride;                   /* empty: kernel */
  rlx_dims dilation, pad_lo, pad_hi; /* empty: 1, 0, 0 */
} rlx_op_pool_desc;
#define RLX_OP_POOL_DESC_INIT RLX_SIZED(rlx_op_pool_desc)
RLX_API rlx_node rlx_op_pool_max(rlx_graph *g, rlx_node x, const rlx_op_pool_desc *desc);
RLX_API rlx_node rlx_op_pool_avg(rlx_graph *g, rlx_node x, const rlx_op_pool_desc *desc);
RLX_API rlx_node rlx_op_global_pool_max(rlx_graph *g, rlx_node x); /* the pools over the whole plane */
RLX_API rlx_node rlx_op_global_pool_avg(rlx_graph *g, rlx_node x);
typedef struct rlx_op_im2col_desc {
  size_t struct_bytes;
  rlx_dims kernel, stride, dilation, pad_lo, pad_hi; /* kernel is required */
} rlx_op_im2col_desc;
#define RLX_OP_IM2COL_DESC_INIT RLX_SIZED(rlx_op_im2col_desc)
RLX_API rlx_node rlx_op_im2col(rlx_graph *g, rlx_node x, const rlx_op_im2col_desc *desc);
typedef enum rlx_resize_mode { RLX_RESIZE_NEAREST = 0, RLX_RESIZE_LINEAR = 1 } rlx_resize_mode;
typedef enum rlx_resize_coords {
  RLX_COORDS_HALF_PIXEL = 0,
  RLX_COORDS_ALIGN_CORNERS = 1,
  RLX_COORDS_ASYMMETRIC = 2,
  RLX_COORDS_PYTORCH_HALF_PIXEL = 3,
  RLX_COORDS_HALF_PIXEL_SYMMETRIC = 4
} rlx_resize_coords;
typedef enum rlx_resize_nearest {
  RLX_NEAREST_ROUND_PREFER_FLOOR = 0,
  RLX_NEAREST_ROUND_PREFER_CEIL = 1,
  RLX_NEAREST_FLOOR = 2,
  RLX_NEAREST_CEIL = 3
} rlx_resize_nearest;
typedef struct rlx_op_resize_desc {
  size_t struct_bytes;
  rlx_resize_mode mode;
  rlx_resize_coords coords;
  rlx_resize_nearest nearest;
  rlx_floats scale; /* per axis, for the coordinates; empty: size / input size */
} rlx_op_resize_desc;
#define RLX_OP_RESIZE_DESC_INIT RLX_SIZED(rlx_op_resize_desc)
RLX_API rlx_node rlx_op_resize(rlx_graph *g, rlx_node x, rlx_dims size,
                               const rlx_op_resize_desc *desc); /* size: all axes */
typedef enum rlx_grid_mode { RLX_GRID_LINEAR = 0, RLX_GRID_NEAREST = 1, RLX_GRID_CUBIC = 2 } rlx_grid_mode;
typedef enum rlx_grid_padding {
  RLX_GRID_PADDING_ZEROS = 0,
  RLX_GRID_PADDING_BORDER = 1,
  RLX_GRID_PADDING_REFLECTION = 2
} rlx_grid_padding;
RLX_API rlx_node rlx_op_grid_sample(rlx_graph *g, rlx_node x, rlx_node grid, rlx_grid_mode mode,
                                    rlx_grid_padding padding, bool align_corners);

/* ---- Sequence models. `out` selects the node's result: y of every step, or a final state ---- */
/* c: lstm; state: causal_conv */
typedef enum rlx_out { RLX_OUT_Y = 0, RLX_OUT_H = 1, RLX_OUT_C = 2, RLX_OUT_STATE = 1 } rlx_out;
typedef enum rlx_direction {
  RLX_DIRECTION_FORWARD = 0,
  RLX_DIRECTION_REVERSE = 1,
  RLX_DIRECTION_BOTH = 2
} rlx_direction;
typedef enum rlx_rnn_act { RLX_RNN_TANH = 0, RLX_RNN_RELU = 1 } rlx_rnn_act;
/* weights: per layer and direction w_ih, w_hh, b_ih, b_hh; with no_bias without the last two. In the structs: h0, c0 or
 * none; hidden 0: taken from the second weight; layers 0: 1; reset_before: the reset gate applies before the
 * product. */
typedef struct rlx_op_rnn_desc {
  size_t struct_bytes;
  rlx_direction direction;
  rlx_rnn_act act;
  rlx_out out;
  bool batch_first, no_bias;
  rlx_node h0;
  int64_t hidden, layers;
} rlx_op_rnn_desc;
#define RLX_OP_RNN_DESC_INIT RLX_SIZED(rlx_op_rnn_desc)
typedef struct rlx_op_gru_desc {
  size_t struct_bytes;
  rlx_direction direction;
  rlx_out out;
  bool batch_first, no_bias, reset_before;
  rlx_node h0;
  int64_t hidden, layers;
} rlx_op_gru_desc;
#define RLX_OP_GRU_DESC_INIT RLX_SIZED(rlx_op_gru_desc)
typedef struct rlx_op_lstm_desc {
  size_t struct_bytes;
  rlx_direction direction;
  rlx_out out;
  bool batch_first, no_bias;
  rlx_node h0, c0;
  int64_t hidden, layers;
} rlx_op_lstm_desc;
#define RLX_OP_LSTM_DESC_INIT RLX_SIZED(rlx_op_lstm_desc)
RLX_API rlx_node rlx_op_rnn(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_rnn_desc *desc);
RLX_API rlx_node rlx_op_gru(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_gru_desc *desc);
RLX_API rlx_node rlx_op_lstm(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_lstm_desc *desc);
/* Mamba, Mamba 2 and the gated delta net; d and h0 or none. */
RLX_API rlx_node rlx_op_selective_scan(rlx_graph *g, rlx_node x, rlx_node dt, rlx_node a, rlx_node b, rlx_node c,
                                       rlx_node d, rlx_node h0, rlx_out out);
RLX_API rlx_node rlx_op_mamba2(rlx_graph *g, rlx_node x, rlx_node dt, rlx_node a, rlx_node b, rlx_node c, rlx_node d,
                               rlx_node h0, rlx_out out);
RLX_API rlx_node rlx_op_gated_delta_net(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, rlx_node decay, rlx_node beta,
                                        rlx_node h0, rlx_out out);
/* Depthwise causal convolution: x [B, C, L], w [C, K]; bias [C] and state [B, C, K-1] or none. */
RLX_API rlx_node rlx_op_causal_conv(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, rlx_node state, rlx_out out);

/* ---- Signal ---- */
/* which direction is scaled by 1/n, as in NumPy */
typedef enum rlx_fft_norm { RLX_FFT_BACKWARD = 0, RLX_FFT_FORWARD = 1, RLX_FFT_ORTHO = 2 } rlx_fft_norm;
/* n: truncate or zero-pad to this length first; 0: the axis. For irfft the result's length; 0: 2 (m - 1). */
RLX_API rlx_node rlx_op_fft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_ifft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_rfft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_irfft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
typedef struct rlx_op_stft_desc {
  size_t struct_bytes;
  bool no_center;  /* do not pad by n_fft / 2 on both sides */
  bool two_sided;  /* all n_fft results, not only n_fft / 2 + 1 */
  bool normalized; /* divide by sqrt(n_fft) */
  int64_t hop;     /* step between frames; 0: n_fft / 4 */
} rlx_op_stft_desc;
#define RLX_OP_STFT_DESC_INIT RLX_SIZED(rlx_op_stft_desc)
/* x [T] or [B, T], window [at most n_fft] or none; pad: how the sides are padded, usually RLX_PAD_REFLECT. */
RLX_API rlx_node rlx_op_stft(rlx_graph *g, rlx_node x, rlx_node window, int64_t n_fft, rlx_pad_mode pad,
                             const rlx_op_stft_desc *desc);

/* ---- Random. draw: a scalar, or none: the number of the run. Equal seed and draw give equal values ---- */
RLX_API rlx_node rlx_op_rng_uniform(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double lo,
                                    double hi);
RLX_API rlx_node rlx_op_rng_normal(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double mean,
                                   double std);
typedef struct rlx_op_sample_desc {
  size_t struct_bytes;
  rlx_node draw;
  rlx_node settings; /* f32[4], per run: temperature, top_k (at most top_k below, unless 0), top_p, min_p */
  int64_t top_k;     /* 0: all */
  double top_p;      /* the smallest set of most likely tokens with this probability mass; 0: 1, all */
  double min_p;      /* drop tokens below this fraction of the largest probability */
  int64_t seed;
} rlx_op_sample_desc;
#define RLX_OP_SAMPLE_DESC_INIT RLX_SIZED(rlx_op_sample_desc)
/* i32; temperature 0: argmax; -1 for a row with NaN or +inf, or with nothing above -inf */
RLX_API rlx_node rlx_op_sample(rlx_graph *g, rlx_node logits, double temperature, const rlx_op_sample_desc *desc);

/* ---- Control flow. Sub-graphs are finished graphs, which the node retains; their inputs, in creation order, receive
 * the values xs. Each call creates one node per result, n_outs of them, writes them to outs and returns the first. outs
 * may be NULL if n_outs is 0: then only the first is created ---- */
RLX_API rlx_node rlx_op_if(rlx_graph *g, rlx_node cond, const rlx_graph *on_true, const rlx_graph *on_false,
                           const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);
/* The first `carried` of xs are loop-carried: body's outputs are their next values. Ends when cond yields false, or
 * after max_trips. If max_trips is 0, a loop that has not ended after 2^24 trips is RLX_LIMIT; if it is -n, one that
 * has not ended after n trips. */
RLX_API rlx_node rlx_op_while(rlx_graph *g, const rlx_graph *cond, const rlx_graph *body, int64_t carried,
                              int64_t max_trips, const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);
/* Runs body over the slices along axis 0 of `scanned` values. xs: carried values, scanned values, the rest. Results:
 * the final carried values, then body's further outputs, stacked. */
RLX_API rlx_node rlx_op_scan(rlx_graph *g, const rlx_graph *body, int64_t carried, int64_t scanned, bool reverse,
                             const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);

/* ---- Custom: an op of rlx_custom_register; config may be NULL ---- */
RLX_API rlx_node rlx_op_custom(rlx_graph *g, const char *name, const char *config, const rlx_node *xs, size_t n);

/* ---- Text form ---------------------------------------------------------------------------------------------- */

/* The graph as text, which rlx_graph_parse reads back to an identical graph. Free with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_print(const rlx_graph *g, char **text);
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_parse(const char *text, size_t bytes, rlx_graph **out);
RLX_API void rlx_free(void *p); /* memory that the library allocated for the caller */

/* ---- Evaluator: the reference, slow and exact ---------------------------------------------------------------- */

/* Threads: one caller at a time; a second one gets RLX_BUSY. */
typedef struct rlx_evaluator rlx_evaluator;
/* Symbols of the graph are inferred from the inputs. The graph is retained. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_create(const rlx_graph *g, rlx_evaluator **out);
RLX_API void rlx_evaluator_destroy(rlx_evaluator *e);
/* Sets an input, param or state by name; the bytes are copied. Inputs stay set until set again. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_set(rlx_evaluator *e, const char *name, const rlx_tensor *value);
/* fn returns true to stop a run at the next node. */
RLX_API void rlx_evaluator_set_cancel(rlx_evaluator *e, rlx_cancel_fn fn, void *user);
RLX_API void rlx_evaluator_set_limits(rlx_evaluator *e, const rlx_limits *limits); /* of each run; NULL: the defaults */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_run(rlx_evaluator *e);
/* An output of the last run, or a state, by name: a view that lives until the next run or set. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_get(const rlx_evaluator *e, const char *name, rlx_tensor *view);

/* ---- Custom ops ---------------------------------------------------------------------------------------------- */

/* The arguments of a custom op's shape rule and kernel. The shape rule gets inputs without data and sets the output's
 * dtype and shape. In a graph with symbols a size may be negative, which means unknown: copy it where the sizes are
 * equal, write RLX_SIZE_UNKNOWN where the result's size is computed from it. The kernel reads the inputs and writes
 * every element of the output. Both must depend on nothing but inputs and config, because passes merge and fold
 * nodes. */
typedef struct rlx_custom_call {
  const rlx_tensor *const *inputs;
  size_t n_inputs;
  rlx_tensor *output;
  const char *config; /* the node's; "" if it has none */
  void *user;         /* the registration's */
  char message[256];  /* for a callback that fails: the reason; may stay empty */
} rlx_custom_call;
typedef rlx_status (*rlx_custom_fn)(rlx_custom_call *call);
#define RLX_SIZE_UNKNOWN INT64_MIN

typedef struct rlx_custom_desc {
  size_t struct_bytes;
  const char *name; /* copied; names that begin with "rlx." are reserved */
  rlx_custom_fn shape, kernel;
  void *user;
} rlx_custom_desc;
#define RLX_CUSTOM_DESC_INIT RLX_SIZED(rlx_custom_desc)

/* Registers an op for the whole process, so that builders and the text form can name it. Any thread may call these. A
 * name that is already registered is RLX_INVALID; a graph that names an unknown op is RLX_NOT_FOUND. Callbacks may be
 * called from several threads. Unregister an op only while nothing that uses it is being built or run. */
RLX_API RLX_MUST_CHECK rlx_status rlx_custom_register(const rlx_custom_desc *desc);
RLX_API RLX_MUST_CHECK rlx_status rlx_custom_unregister(const char *name);

/* ---- Passes ------------------------------------------------------------------------------------------------- */

/* Whether the target runs this node natively. If not, *why may be set to a text that lives as long as the target. */
typedef bool (*rlx_supports_fn)(void *user, const rlx_graph *g, rlx_node n, const char **why);

/* Switches of a compilation: bits, combined with |; 0: the defaults. Everything that compiles takes them as one value,
 * which applies to passes, plan and device and is part of the key of the cache of programs. An unknown bit is
 * RLX_UNSUPPORTED. */
typedef enum rlx_switch {
  RLX_SWITCH_FORBID_HOST = 1, /* fail, listing every node that the device does not run natively */
  /* No reduced precision: activations that are multiplied with block-type weights stay f32. Otherwise they may be
   * rounded to 8 bits per block. */
  RLX_SWITCH_EXACT = 2,
  /* Allow Winograd for 3x3 convolutions on the CPU: up to twice as fast, for weights that take five times their memory
   * and errors about twice as large. */
  RLX_SWITCH_FAST_CONV = 4,
  RLX_SWITCH_KEEP_VALUES = 8, /* give every value its own memory, so that any can be read after a run */
  /* Planner techniques to turn off; results are the same. */
  RLX_SWITCH_NO_VIEWS = 16,    /* copy instead of aliasing */
  RLX_SWITCH_NO_IN_PLACE = 32, /* no result overwrites an input */
  RLX_SWITCH_NO_CONCAT = 64,   /* parts of a concat are not computed in place */
  RLX_SWITCH_NO_REORDER = 128, /* keep the graph's own order */
  RLX_SWITCH_NO_SEARCH = 256,  /* greedy placement only */
  /* Allow f32 activations that are multiplied with f16 weights on a GPU's matrix units to be rounded to f16, each row
   * with a scale of its own: half of the products, and 11 bits of each activation instead of 22. The same for queries
   * and softmax weights of attention with f16 keys and values, on devices with products of warp groups. */
  RLX_SWITCH_FAST_F16 = 512
} rlx_switch;

typedef struct rlx_optimize_options {
  size_t struct_bytes;
  const char *passes;       /* comma-separated, in order; NULL: all */
  const char *without;      /* comma-separated passes to skip; NULL: none */
  rlx_supports_fn supports; /* NULL: everything is supported */
  void *supports_user;
  uint32_t switches; /* rlx_switch */
  /* called with the graph after each pass; may be NULL */
  void (*after)(void *user, const char *pass, const rlx_graph *g);
  void *after_user;
} rlx_optimize_options;
#define RLX_OPTIMIZE_OPTIONS_INIT RLX_SIZED(rlx_optimize_options)

/* Threads: immutable, so any number may read it. */
typedef struct rlx_optimized rlx_optimized;
/* Runs the passes on a graph without symbols. options may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_optimize(const rlx_graph *g, const rlx_optimize_options *options,
                                               rlx_optimized **out);
RLX_API void rlx_optimized_destroy(rlx_optimized *o);
RLX_API const rlx_graph *rlx_optimized_graph(const rlx_optimized *o); /* the graph to run */
/* The graph to run once when the weights are loaded; NULL if there is none. Its outputs are params of the graph above,
 * by name ("hoisted.0", ..); its params are those of the source. The graph above keeps the params that it still reads
 * and those that nothing reads; a param that only the load graph reads is no longer one of its own. */
RLX_API const rlx_graph *rlx_optimized_load(const rlx_optimized *o);
/* The dispatch report: each node is native, rewritten (and into what) or on the host, and why. Free with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_optimized_report(const rlx_optimized *o, bool json, char **text);
RLX_API size_t rlx_pass_count(void);
RLX_API const char *rlx_pass_name(size_t i, const char **doc); /* NULL past the end */

/* ---- Devices ------------------------------------------------------------------------------------------------- */

/* Null computes nothing: every op runs on the host. It must be requested by name. A software device is never preferred
 * to a real one. */
typedef enum rlx_device_kind {
  RLX_DEVICE_DISCRETE = 0,
  RLX_DEVICE_INTEGRATED = 1,
  RLX_DEVICE_CPU = 2,
  RLX_DEVICE_SOFTWARE = 3,
  RLX_DEVICE_NULL = 4
} rlx_device_kind;

typedef struct rlx_device_info {
  size_t struct_bytes;
  char name[128];   /* "AMD EPYC" */
  char backend[16]; /* "cpu" */
  char uuid[40];    /* identifies the device in every process: 8-4-4-4-12 hexadecimal digits */
  char driver[128];
  char features[256]; /* separated by spaces: "avx2 fma f16c" */
  rlx_device_kind kind;
  uint32_t n_units;          /* cores, or the device's compute units */
  uint64_t memory_bytes;     /* 0: not known */
  uint64_t free_bytes;       /* 0: not known */
  uint64_t max_block_bytes;  /* largest allocation; 0: no limit */
  uint64_t max_window_bytes; /* largest range that a kernel can address; 0: no limit */
  uint64_t align;            /* alignment of a tensor in memory */
  uint64_t view_align;       /* alignment of a tensor that begins inside another */
  bool is_mapped;            /* its memory is host-visible */
} rlx_device_info;
#define RLX_DEVICE_INFO_INIT RLX_SIZED(rlx_device_info)

RLX_API uint32_t rlx_device_count(void);
RLX_API RLX_MUST_CHECK rlx_status rlx_device_describe(uint32_t index, rlx_device_info *out);
RLX_API const char *rlx_device_kind_name(rlx_device_kind kind); /* "discrete" */
/* Backends of this library; NULL past the end. *why: why it has no devices; NULL if it has some. */
RLX_API const char *rlx_backend_name(uint32_t index, const char **why);

/* ---- Sessions ------------------------------------------------------------------------------------------------ */

/* Progress and cancellation of long calls; each function may be NULL. `stage` is the current activity ("compile",
 * "load", "run"), with `done` of `total` parts finished. A cancel function that returns true ends the call with
 * RLX_CANCELLED. */
typedef struct rlx_watch {
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  rlx_cancel_fn cancel;
  void *user;
  rlx_limits limits; /* a field that is 0 is the session's */
  void *reserved[2]; /* NULL; embedded as rlx_limits is */
} rlx_watch;

/* Called with each finding of a file's check. A remark may be intended: a tensor of zeros. `text` lives during the
 * call. */
typedef void (*rlx_found_fn)(void *user, bool is_remark, const char *text);

/* A session's own allocator. Any thread may call the functions, several at a time; they must not call the library.
 * alloc returns memory that need not be cleared, aligned to `align`, a power of two of at least 16; NULL makes the call
 * fail with RLX_NO_MEMORY. dealloc gets the same bytes and align as alloc. */
typedef void *(*rlx_alloc_fn)(void *user, size_t bytes, size_t align);
typedef void (*rlx_dealloc_fn)(void *user, void *p, size_t bytes, size_t align);

/* A device, host threads, freed device memory kept for reuse, and compiled graphs. Threads: any, at any time. */
typedef struct rlx_session rlx_session;
typedef struct rlx_session_desc {
  size_t struct_bytes;
  const char *device;  /* name, index or UUID; "cpu" always works; NULL: the best real device */
  uint32_t n_threads;  /* host threads; 0: one per core */
  uint64_t pool_bytes; /* limit of idle device memory kept for reuse; 0: a quarter GiB */
  bool no_pool;        /* keep none */
  /* Budget of programs kept for reuse: compiled graphs, also for other sizes, of ONNX runners and of language models.
   * 0: a 64th of the machine's free memory, 16 to 256 MiB. */
  uint64_t cache_bytes;
  rlx_limits limits; /* of every call that uses the session */
  /* Receives what such calls log, in place of rlx_set_log's function; NULL: that one. Any thread that uses the session
   * may call it, several at a time; messages of the session's own threads go to rlx_set_log's function. It may be
   * called until the last object made from the session is gone. */
  rlx_log_fn log;
  void *log_user;
  /* Allocates host memory of the session and of every object made from it, device memory of the CPU included. Both or
   * neither; NULL: the process's heap. What sessions share (an opened device) and objects made without a session (a
   * graph) use the heap; what a callback creates during a call uses the session's allocator. The functions may be
   * called until the last object made from the session is gone. */
  rlx_alloc_fn alloc;
  rlx_dealloc_fn dealloc;
  void *alloc_user;
} rlx_session_desc;
#define RLX_SESSION_DESC_INIT RLX_SIZED(rlx_session_desc)
/* desc may be NULL. Sessions are independent of each other; one session may be used by several threads. It stays alive
 * as long as an object made from it does. */
RLX_API RLX_MUST_CHECK rlx_status rlx_session_create(const rlx_session_desc *desc, rlx_session **out);
/* Outside a callback of rlx_run_async it waits for the callbacks of the session's runs in flight. */
RLX_API void rlx_session_destroy(rlx_session *s);
RLX_API RLX_MUST_CHECK rlx_status rlx_session_device(const rlx_session *s, rlx_device_info *out);
/* Returns idle device memory above `keep_bytes` to the system. */
RLX_API void rlx_session_trim(rlx_session *s, uint64_t keep_bytes);
typedef struct rlx_session_stats {
  size_t struct_bytes;
  uint64_t used_bytes, idle_bytes;         /* device memory in use, and kept for reuse */
  uint64_t n_blocks_reused, n_blocks_made; /* requests served from the pool, and not */
  uint64_t n_compiled, n_cache_hits;       /* graphs compiled, and found in the cache */
  uint64_t cache_bytes, cache_budget;      /* of programs kept; programs in use may exceed the budget */
  uint64_t cache_evicted;                  /* programs evicted */
  uint64_t limit_bytes;                    /* current limit of device memory in use; 0: not known */
} rlx_session_stats;
#define RLX_SESSION_STATS_INIT RLX_SIZED(rlx_session_stats)
RLX_API RLX_MUST_CHECK rlx_status rlx_session_stats_get(rlx_session *s, rlx_session_stats *out);

/* ---- Weights and states: may be shared by several executables; any thread may use them ---- */

/* Threads: any, at any time; setting one that a running executable reads is RLX_BUSY. */
typedef struct rlx_weights rlx_weights;
RLX_API RLX_MUST_CHECK rlx_status rlx_weights_create(rlx_session *s, rlx_weights **out);
RLX_API void rlx_weights_destroy(rlx_weights *w); /* the bytes live on while an executable uses them */
/* Sets a weight; the bytes are copied (and packed for the device). It is stored once, in its own type. A weight that a
 * compiled graph reads must have its type and shape. RLX_BUSY while an executable that reads it runs. A weight that
 * compiled graphs read only through values computed from it at load is dropped once those exist; a later graph that
 * reads it directly fails with a message that asks to set it again. */
RLX_API RLX_MUST_CHECK rlx_status rlx_weights_set(rlx_weights *w, const char *name, const rlx_tensor *value);
RLX_API bool rlx_weights_has(const rlx_weights *w, const char *name); /* it has been set */
RLX_API uint64_t rlx_weights_bytes(const rlx_weights *w);             /* on the device, as stored */

/* Threads: any, at any time. Runs of executables that share states, reads and writes of a state, and zeroing are one at
 * a time: a second thread gets RLX_BUSY. Runs in flight (rlx_run_async) are waited for. */
typedef struct rlx_states rlx_states;
RLX_API RLX_MUST_CHECK rlx_status rlx_states_create(rlx_session *s, rlx_states **out);
RLX_API void rlx_states_destroy(rlx_states *st);
RLX_API RLX_MUST_CHECK rlx_status rlx_states_zero(rlx_states *st); /* all of them, as at creation */

/* ---- Compiling ----------------------------------------------------------------------------------------------- */

typedef struct rlx_compile_options {
  size_t struct_bytes;
  const rlx_binding *bindings; /* sizes of symbols; the rest is inferred from the inputs of each run */
  size_t n_bindings;
  rlx_weights *weights; /* shared; NULL: the executable's own */
  rlx_states *states;   /* shared; NULL: the executable's own */
  const char *passes;   /* as rlx_optimize_options */
  const char *without;
  uint32_t switches; /* rlx_switch: how it is compiled; the fields below apply to this call */
  bool plan_only;    /* allocate no device memory until the first write or run: to inspect the plan */
  bool no_cache;     /* compile even if the session has this graph in its cache */
  rlx_watch watch;   /* of this call */
} rlx_compile_options;
#define RLX_COMPILE_OPTIONS_INIT RLX_SIZED(rlx_compile_options)

/* Threads: one caller at a time; a second one gets RLX_BUSY. For parallel runs, use rlx_executable_clone. */
typedef struct rlx_executable rlx_executable;
/* options may be NULL. The graph may be destroyed afterwards. */
RLX_API RLX_MUST_CHECK rlx_status rlx_compile(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options,
                                              rlx_executable **out);
/* Waits for a run in another thread. Inside a callback it does not wait: a running executable is freed when its run
 * ends. */
RLX_API void rlx_executable_destroy(rlx_executable *e);
/* Another executable of the same graph, for another thread: it shares weights and states and has its own scratch
 * memory. Inputs, bound memory and feeds are not copied. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_clone(const rlx_executable *e, rlx_executable **out);

/* ---- Running. One executable runs in one thread at a time: a second caller gets RLX_BUSY ----
 *
 * A run that fails or is stopped leaves outputs without a value and may leave states partly updated. The executable can
 * be written and run again. */

typedef struct rlx_named_tensor {
  const char *name;
  rlx_tensor tensor;
} rlx_named_tensor;
/* Writes the inputs, runs, and reads the outputs into the tensors' memory. Inputs that are not given keep their value.
 * The shape of an input also gives sizes to open symbols. dtype and shape of an output are filled in, and `bytes` must
 * be large enough. */
RLX_API RLX_MUST_CHECK rlx_status rlx_run(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                                          rlx_named_tensor *outputs, size_t n_outputs);
/* A run in flight. Threads: any, at any time; destroyed once, when no other call on it is active. */
typedef struct rlx_completion rlx_completion;
typedef struct rlx_async_options {
  size_t struct_bytes;
  /* If not NULL, called once from a thread of the session when the run is done and the executable is free again. It may
   * call anything, including rlx_run_async; later callbacks of the session wait until it returns. */
  void (*done)(void *user, rlx_status status);
  void *user;
} rlx_async_options;
#define RLX_ASYNC_OPTIONS_INIT RLX_SIZED(rlx_async_options)
/* rlx_run that does not wait. options may be NULL; out may be NULL if options have `done`.
 *
 * On return the inputs are read; dtype, shape and bytes of the outputs are filled in (new sizes are compiled before);
 * and the run is submitted or queued. The memory of the outputs belongs to the run until it is done. Runs that
 * share states execute in submission order; runs of two sessions do not wait for each other. Until the run is done the
 * executable is busy: other calls on it return RLX_BUSY, except rlx_executable_destroy, which returns at once and takes
 * effect when the run is done. Cancelling and limits of the watch hold as in rlx_run.
 *
 * A device whose queue is asynchronous runs it without a thread of the host, if all steps are the device's own and the
 * executable has no watch, profile or observer. Otherwise a thread of the session runs it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_run_async(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                                                rlx_named_tensor *outputs, size_t n_outputs,
                                                const rlx_async_options *options, rlx_completion **out);
/* Whether the run is done, successful or not. Does not wait. */
RLX_API bool rlx_completion_is_done(rlx_completion *c);
/* Waits for the run and returns its status, with its message in the calling thread. May be called again. */
RLX_API RLX_MUST_CHECK rlx_status rlx_completion_wait(rlx_completion *c);
RLX_API void rlx_completion_destroy(rlx_completion *c); /* waits for the run; NULL is allowed */

/* rlx_run in steps. Write: an input, param or state by name; read: an output, input, param or state. The tensor's
 * dtype may be another float (or integer) type than the stored one: the value is converted, rounding to nearest even,
 * and saturated. A read converts to out->dtype; `bytes` must be large enough, and shape and bytes are filled in. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_write(rlx_executable *e, const char *name, const rlx_tensor *value);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_run(rlx_executable *e);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_read(rlx_executable *e, const char *name, rlx_tensor *out);
/* Type and shape of an input, param, state or output, by name, with the current sizes; data is NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_describe(const rlx_executable *e, const char *name, rlx_tensor *out);
/* From now on each run reads this input from, or writes this output to, the caller's memory, in the stored type: a run
 * with everything bound allocates nothing. `bytes` must equal the value's, so its sizes must be known. data NULL ends
 * the binding; an input then keeps the value of the last run. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_bind_input(rlx_executable *e, const char *name, const void *data,
                                                            size_t bytes);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_bind_output(rlx_executable *e, const char *name, void *data,
                                                             size_t bytes);
/* After each run, once bound outputs are read, copies the output's bytes inside the device to the input or state of the
 * same type and shape; all feeds at once. output NULL ends the feed of that target. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_feed(rlx_executable *e, const char *output, const char *to);
/* As `times` calls of rlx_executable_run, with the feeds in between. The outputs of all runs are stored one after the
 * other in the tensors' memory, which must be large enough for all of them. dtype and shape of one run are filled in,
 * and the bytes of all. A device with a queue receives all runs and is waited for once, at the end; memory that is
 * bound to an output then gets the last run's. With a watch, a profile or an observer each run is waited for, and
 * cancellation is polled between runs. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_repeat(rlx_executable *e, uint32_t times, rlx_named_tensor *outputs,
                                                        size_t n_outputs);
/* The watch of writes and runs; NULL: none. Waits for a run in another thread. */
RLX_API void rlx_executable_set_watch(rlx_executable *e, const rlx_watch *watch);
/* The number of the next run, which random ops use as their draw; each run increments it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_set_draw(rlx_executable *e, uint64_t draw);

/* ---- Inspecting an executable ---- */

typedef struct rlx_memory_info {
  size_t struct_bytes;
  uint64_t weights, state, scratch; /* bytes on the device by segment, as planned */
  uint64_t lower_bound;             /* the maximum of scratch bytes live at one step */
  uint64_t naive;                   /* scratch if every value had its own memory */
  uint32_t n_native, n_host;        /* steps that run on the device, and on the host */
  double plan_seconds, compile_seconds;
} rlx_memory_info;
#define RLX_MEMORY_INFO_INIT RLX_SIZED(rlx_memory_info)
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_memory(const rlx_executable *e, rlx_memory_info *out);
typedef enum rlx_report_kind {
  RLX_REPORT_PLAN = 0,     /* segments, bounds, each value's steps, offset and bytes; also available as SVG */
  RLX_REPORT_DISPATCH = 1, /* what runs where, and why; on a GPU also the kernels of each step */
  RLX_REPORT_PROFILE = 2,  /* time per node of the profiled runs */
  RLX_REPORT_TRACE = 3     /* the last profiled run as Chrome trace (JSON) */
} rlx_report_kind;
typedef enum rlx_report_format { RLX_TEXT = 0, RLX_JSON = 1, RLX_SVG = 2 } rlx_report_format;
/* Free the text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_report(const rlx_executable *e, rlx_report_kind kind,
                                                        rlx_report_format format, char **text);
/* Measures each step from now on; turning it on again discards what was measured. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_profile(rlx_executable *e, bool on);
/* Calls fn with every step's result as it is computed, in the runs from now on, which are slow; NULL ends it. Nodes are
 * those of the compiled graph. */
typedef void (*rlx_observe_fn)(void *user, rlx_node node, const rlx_tensor *value);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_observe(rlx_executable *e, rlx_observe_fn fn, void *user);
/* The graph that runs, after binding and all passes. It lives as long as e, or until a run with other sizes. NULL while
 * another thread uses the executable. */
RLX_API const rlx_graph *rlx_executable_graph(const rlx_executable *e);
/* The node of that graph with the value of a node of the graph given to rlx_compile; 0: fused or folded away. */
RLX_API rlx_node rlx_executable_node(const rlx_executable *e, rlx_node source);

/* Runs once with the current inputs. Each step is also computed by the reference on exactly the inputs that the device
 * had, and compared. Rows come in step order. */
typedef struct rlx_compare_row {
  rlx_node node; /* of the compiled graph */
  const char *op;
  bool host;     /* the host ran it: nothing to compare */
  bool ok;       /* within the tolerance */
  double error;  /* the largest error as a fraction of the tolerance: above 1 fails */
  double worst;  /* the largest absolute difference */
  size_t at;     /* the index of that element */
  char why[256]; /* if not ok */
  /* Elements that became NaN or infinite on the device; the first row with any is the origin. */
  size_t n_not_finite;
} rlx_compare_row;
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_compare(rlx_executable *e,
                                                         void (*row)(void *user, const rlx_compare_row *row),
                                                         void *user, uint32_t *n_differ);

/* ---- The arena: the location of each value, and access to it ---------------------------------------------------
 *
 * Nodes are those of rlx_executable_graph. A value that is fused away, or that nothing needs, has no location. Scratch
 * values are overwritten by later steps unless they are inputs or outputs (or the executable keeps all values). Every
 * size is checked: a call moves all bytes or none. */
typedef enum rlx_segment {
  RLX_SEGMENT_NONE = 0,
  RLX_SEGMENT_WEIGHTS = 1,
  RLX_SEGMENT_STATE = 2,
  RLX_SEGMENT_SCRATCH = 3
} rlx_segment;
typedef struct rlx_arena rlx_arena; /* threads: as its executable; both together serve one caller at a time */
typedef struct rlx_arena_place {
  size_t struct_bytes;
  rlx_segment segment;
  uint32_t block;            /* of the segment */
  uint64_t offset, capacity; /* in the block; bytes reserved */
  uint64_t used;             /* bytes of the value */
} rlx_arena_place;
#define RLX_ARENA_PLACE_INIT RLX_SIZED(rlx_arena_place)
/* Allocates device memory if plan_only deferred that. Lives as long as the executable, or until a run with other
 * sizes. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_arena(rlx_executable *e, rlx_arena **out);
RLX_API bool rlx_arena_has(const rlx_arena *a, rlx_node n);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_where(const rlx_arena *a, rlx_node n, rlx_arena_place *out);
RLX_API uint64_t rlx_arena_bytes(const rlx_arena *a, rlx_segment segment); /* NONE: all segments together */
/* All `count` elements of a node, converted between `dtype` and the stored type as `cast` does. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_write(rlx_arena *a, rlx_node n, rlx_dtype dtype, const void *data,
                                                  size_t count);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_read(const rlx_arena *a, rlx_node n, rlx_dtype dtype, void *data,
                                                 size_t count);
/* Bytes as stored, starting at `offset` of the value. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_write_raw(rlx_arena *a, rlx_node n, uint64_t offset, const void *data,
                                                      size_t bytes);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_read_raw(const rlx_arena *a, rlx_node n, uint64_t offset, void *data,
                                                     size_t bytes);
/* Copies inside the device, between two arenas on it or within one: rows along axis 0 (equal types and row sizes), or
 * the first `count` elements. Overlapping ranges are copied as if through a temporary. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_rows(rlx_arena *to, rlx_node to_node, uint64_t to_row,
                                                      const rlx_arena *from, rlx_node from_node, uint64_t from_row,
                                                      uint64_t rows);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_prefix(rlx_arena *to, rlx_node to_node, const rlx_arena *from,
                                                        rlx_node from_node, uint64_t count);
/* Copies a whole segment to an arena with the same nodes at the same offsets. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_segment(rlx_arena *to, const rlx_arena *from, rlx_segment segment);

/* ---- Files -------------------------------------------------------------------------------------------------- */

/* A graph in text form from a file. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_read(const char *path, rlx_graph **out);
/* Writes a file atomically: the bytes go to a temporary beside it, are flushed to disk with the folder, and renamed
 * over it. RLX_INVALID if the name belongs to something that is not a regular file. Signals to the calling thread are
 * blocked meanwhile. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_write(const char *path, const void *data, size_t bytes);

/* ---- The op table -------------------------------------------------------------------------------------------- */

/* many: 0 or more inputs; only the last can be so */
typedef enum rlx_op_table_input_mode {
  RLX_INPUT_REQUIRED = 0,
  RLX_INPUT_OPTIONAL = 1,
  RLX_INPUT_MANY = 2
} rlx_op_table_input_mode;
typedef struct rlx_op_table_input {
  size_t struct_bytes;
  const char *name;
  /* "T": the op's type; "W": T, or with T f32 also f16, bf16 or a block type; "WF": W without block types; "KV": WF, or
   * with T f32 also q8_0 or q4_0; "INDEX": i32 or i64; "BLOCK": a block type; "U": any except block types; else that
   * exact type. */
  const char *type;
  rlx_op_table_input_mode mode;
} rlx_op_table_input;
#define RLX_OP_TABLE_INPUT_INIT RLX_SIZED(rlx_op_table_input)
typedef struct rlx_op_table_attribute {
  size_t struct_bytes;
  const char *name, *doc;
  const char *kind;  /* "int", "float", "bool", "enum", "type", "dims", "floats", "text", "graph", "data" */
  const char *names; /* of an enum, separated by spaces; else "" */
  char fallback[32]; /* the default as in the text form; "" if there is none: text, graph, data */
} rlx_op_table_attribute;
#define RLX_OP_TABLE_ATTRIBUTE_INIT RLX_SIZED(rlx_op_table_attribute)
typedef struct rlx_op_table_info {
  size_t struct_bytes;
  const char *name, *doc;
  const char *result;              /* "T", "TO" (the attribute `to`), "RULE" (depends on the inputs), or a type */
  char types[160];                 /* types that T may be, separated by spaces; "" if there is no T */
  char traits[96];                 /* separated by spaces: "pointwise in_place composite" */
  uint32_t min_inputs, max_inputs; /* max_inputs is UINT32_MAX if there is no limit */
  uint32_t n_inputs, n_attributes; /* rlx_op_table_input_at, rlx_op_table_attribute_at */
} rlx_op_table_info;
#define RLX_OP_TABLE_INFO_INIT RLX_SIZED(rlx_op_table_info)
RLX_API uint32_t rlx_op_table_size(void);             /* ops are 0 .. count - 1, in the table's order */
RLX_API uint32_t rlx_op_table_find(const char *name); /* rlx_op_table_size() if there is none */
RLX_API RLX_MUST_CHECK rlx_status rlx_op_table_describe(uint32_t op, rlx_op_table_info *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_op_table_input_at(uint32_t op, uint32_t i, rlx_op_table_input *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_op_table_attribute_at(uint32_t op, uint32_t i, rlx_op_table_attribute *out);

#ifdef __cplusplus
} /* extern "C" */
template <class T> inline T rlx_init() {
  T value = T();
  value.struct_bytes = sizeof(T);
  return value;
}
template <class... T> inline rlx_dims rlx_make_dims(T... size) {
  return rlx_dims{{static_cast<int64_t>(size)...}, static_cast<int32_t>(sizeof...(T))};
}
#define RLX_DIMS(...) rlx_make_dims(__VA_ARGS__)
#define RLX_SCALAR \
  rlx_dims {}
#endif
#endif
