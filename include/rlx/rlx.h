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
 * Errors. Functions that can fail return an rlx_status; rlx_message() holds the words for it, per thread. Nothing a
 * caller passes aborts the process. The graph builder is sticky: a failed call gives node 0, later calls that see it
 * do nothing, and rlx_graph_finish reports the first error. Out-parameters come last and are NULL on failure.
 *
 * Ownership. create/destroy come in pairs; destroy takes NULL. Strings and arrays passed in are copied.
 * Threads. A graph may be read by several threads once finished. What runs (executables, evaluators, runners, models) is used by
 * one caller at a time: a second thread, or a callback of the call itself, gets RLX_BUSY and changes nothing. Callbacks may call
 * anything, and may destroy what calls them: it is freed when that call ends. They must return: no longjmp out of them. After
 * fork, objects with threads or a device belong to the parent, and the child makes its own. docs/process.md has all of it. */
#ifndef RLX_RLX_H
#define RLX_RLX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library's own build sets RLX_BUILDING; a program that links the static library on Windows sets RLX_STATIC. */
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

/* Structs whose first field is struct_bytes may grow in later versions. Begin one with its own RLX_*_INIT, and all else is zero:
 *
 *   rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session);
 *   rlx_device_info info = {RLX_DEVICE_INFO_INIT};
 *
 * Of a struct that is passed, the library takes a shorter one than its own as if the rest were zero, and a longer one unless a field
 * that it does not know is set: RLX_UNSUPPORTED. Of a struct that it fills, it writes no more than struct_bytes, with zeros for fields
 * that it does not know. All other structs keep their layout, but that those which the library gives out by pointer may get further
 * fields at the end. In C++: auto desc = rlx_init<rlx_session_desc>(); */
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
  RLX_UNSUPPORTED = 4, /* right, but not possible here */
  RLX_IO = 5,          /* the system refused a read or write */
  RLX_BUSY = 6,        /* the object is in use by another thread */
  RLX_CANCELLED = 7,   /* a callback asked to stop */
  RLX_DEVICE_LOST = 8, /* the device died; the process lives */
  RLX_LIMIT = 9,       /* a budget would be exceeded: see rlx_limits */
} rlx_status;

RLX_API const char *rlx_version(void);                  /* "0.1.0" */
RLX_API const char *rlx_status_name(rlx_status status); /* "invalid" */
/* What the last failure on this thread was, with context frames from the outside in; "" if there was none. */
RLX_API const char *rlx_message(void);

typedef enum rlx_log_level { RLX_LOG_ERROR = 0, RLX_LOG_WARN = 1, RLX_LOG_INFO = 2, RLX_LOG_DEBUG = 3 } rlx_log_level;
typedef void (*rlx_log_fn)(void *user, rlx_log_level level, const char *text);
RLX_API void rlx_set_log(rlx_log_fn fn, void *user); /* NULL: silence, the default */
typedef void (*rlx_trace_fn)(void *user, const char *name, bool begin, uint64_t nanoseconds);
RLX_API void rlx_set_trace(rlx_trace_fn fn, void *user);

/* ---- Limits: what a call may take -----------------------------------------------------------------------------
 *
 * Sessions have limits, and so has every watch, whose own come first. What is over one ends the call with RLX_LIMIT and says
 * what asked for how much; nothing is allocated first. Zeros are the defaults, which come from the machine. */
typedef struct rlx_limits {
  /* Of the host, beyond what there was when the call began. 0: nine tenths of what is free, containers' limits included. */
  uint64_t host_bytes;
  /* That all a session made may hold on its device at one time. 0: nine tenths of what is free, where that is known. */
  uint64_t device_bytes;
  /* Elements that the host's plain loops may visit (folding, sizes that depend on values, loops, the reference): a count, so that
   * what is refused does not depend on speed. 0: 2^28 for opening, importing and compiling; none for running. */
  uint64_t work;
  double seconds;       /* that the call may take; 0: no limit */
  uint64_t reserved[4]; /* zero: this struct lies inside others, so it cannot grow */
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
  /* Element types again. The floats of 8 bits and u64 are stored, moved, compared for equality and cast, no more. */
  RLX_U16 = 36, RLX_U64 = 37, RLX_F8E4M3 = 38, RLX_F8E5M2 = 39,
  RLX_DTYPE_UNKNOWN = 255 /* a type that this library does not have; no type will ever have this number */
} rlx_dtype;
/* clang-format on */

typedef struct rlx_dtype_info {
  const char *name;        /* "f32", "q4_k" */
  uint32_t block_elements; /* 1, or the elements of a block */
  uint32_t block_bytes;    /* bytes of one element or block */
} rlx_dtype_info;

RLX_API uint32_t rlx_dtype_count(void);                            /* types are 0 .. count - 1 */
RLX_API const rlx_dtype_info *rlx_dtype_describe(rlx_dtype dtype); /* NULL for an unknown value */
RLX_API rlx_dtype rlx_dtype_from_name(const char *name);           /* RLX_DTYPE_UNKNOWN if there is none */

#define RLX_MAX_RANK 8

/* A short list of sizes or axes: `RLX_DIMS(2, 3)`; `RLX_SCALAR` is the empty one. A size may be a symbol. */
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

/* A tensor in host memory: row-major, contiguous. What is only read (an input, a weight) may lie in const memory: a function that takes
 * a const rlx_tensor never writes to its data. */
typedef struct rlx_tensor {
  rlx_dtype dtype;
  rlx_dims shape;
  union {
    void *data;
    const void *const_data; /* the same pointer: {.const_data = weights} */
  };
  size_t bytes;
} rlx_tensor;

/* Bytes of a tensor of this type and shape; fails on overflow, a negative or symbolic size, or a last axis that is
 * not whole blocks. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tensor_bytes(rlx_dtype dtype, rlx_dims shape, size_t *bytes);
/* Block types: n elements, whole blocks, from and to floats. Encoding seeks the least squared error. */
RLX_API RLX_MUST_CHECK rlx_status rlx_quant_decode(rlx_dtype dtype, const void *blocks, float *values, size_t n);
RLX_API RLX_MUST_CHECK rlx_status rlx_quant_encode(rlx_dtype dtype, const float *values, void *blocks, size_t n);

/* ---- Graph -------------------------------------------------------------------------------------------------- */

/* Threads: one builds it; once finished, any number may read it. */
typedef struct rlx_graph rlx_graph;
/* A node of one graph: its number in the low half, from 1, and in the high half which graph it is of, so that a node of another graph is
 * refused. 0 is none: an absent optional input, or a call that failed. */
typedef uint64_t rlx_node;
#define RLX_NONE ((rlx_node)0)

RLX_API RLX_MUST_CHECK rlx_status rlx_graph_create(rlx_graph **out);
RLX_API void rlx_graph_destroy(rlx_graph *g);
/* Ends building: reports the first error of all calls so far, checks that there is an output, verifies. After it the
 * graph does not change. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_finish(rlx_graph *g);
/* The builder's state without ending it: RLX_OK, or its first error (and rlx_message() says it). */
RLX_API rlx_status rlx_graph_status(const rlx_graph *g);
/* Checks everything again, from nothing but the nodes. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_verify(const rlx_graph *g);

/* A size that is known only later: use it in shapes. The same name gives the same symbol. */
RLX_API int64_t rlx_graph_add_symbol(rlx_graph *g, const char *name);
typedef struct rlx_binding {
  const char *symbol;
  int64_t size;
} rlx_binding;
/* The graph with numbers for all its symbols. A symbol bound twice, never, or unknown is an error that names it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_bind(const rlx_graph *g, const rlx_binding *bindings, size_t n,
                                                 rlx_graph **out);
/* The binding that these input shapes imply; conflicts name the input and the symbol. */
typedef struct rlx_named_shape {
  const char *name;
  rlx_dims shape;
} rlx_named_shape;
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_bind_inputs(const rlx_graph *g, const rlx_named_shape *inputs, size_t n,
                                                        rlx_graph **out);

/* Looking at a graph. These also take a node's number alone, 1 .. rlx_graph_size(g). Unknown nodes, those of other graphs, and unknown
 * indices give 0, NULL or zeroed structs. */
RLX_API uint32_t rlx_graph_size(const rlx_graph *g);
/* A node is not an index: this is its place, for arrays of rlx_graph_size(g) + 1 elements. */
RLX_API uint32_t rlx_node_number(const rlx_graph *g, rlx_node n);
RLX_API const char *rlx_node_op(const rlx_graph *g, rlx_node n); /* "matmul" */
RLX_API uint32_t rlx_node_input_count(const rlx_graph *g, rlx_node n);
RLX_API rlx_node rlx_node_input_at(const rlx_graph *g, rlx_node n, uint32_t i); /* 0: an optional one that is absent */
RLX_API rlx_dtype rlx_node_dtype(const rlx_graph *g, rlx_node n);
RLX_API rlx_dims rlx_node_shape(const rlx_graph *g, rlx_node n);
RLX_API const char *rlx_node_name(const rlx_graph *g, rlx_node n); /* of an input, param or state; else NULL */
/* An input, param or state; 0 if there is none. */
RLX_API rlx_node rlx_graph_find(const rlx_graph *g, const char *name);
RLX_API uint32_t rlx_graph_output_count(const rlx_graph *g);
RLX_API rlx_node rlx_graph_output_at(const rlx_graph *g, uint32_t i, const char **name);
RLX_API uint32_t rlx_graph_symbol_count(const rlx_graph *g);
RLX_API const char *rlx_graph_symbol_at(const rlx_graph *g, uint32_t i);
/* The name of a size that is a symbol; NULL for a number or a size that only binding will tell (both < 0 when open). */
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
 * rlx_op_NAME for the op NAME; nothing else begins with rlx_op_ but the op table's queries, rlx_op_table_*.
 * Each appends one node and returns it. docs/ops.md and `rlx ops NAME` say all about an op: its types, attributes and
 * shape rule. In what follows x, a, b .. are nodes; a node marked "or none" may be RLX_NONE; an axis may be negative
 * and then counts from the end; an empty list of axes means all. Attributes are parameters in the table's order, or a
 * struct where there are many or most are rarely set: there zero is the default, and NULL is a struct of zeros. */

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
RLX_API rlx_node rlx_op_round(rlx_graph *g, rlx_node x);                    /* to the nearest integer, halves to even */
RLX_API rlx_node rlx_op_floor(rlx_graph *g, rlx_node x);                    /* largest integer not above x */
RLX_API rlx_node rlx_op_ceil(rlx_graph *g, rlx_node x);                     /* smallest integer not below x */
RLX_API rlx_node rlx_op_sign(rlx_graph *g, rlx_node x);                     /* -1, 0 or 1 */
RLX_API rlx_node rlx_op_erf(rlx_graph *g, rlx_node x);                      /* error function */
RLX_API rlx_node rlx_op_reciprocal(rlx_graph *g, rlx_node x);               /* 1 / x */
RLX_API rlx_node rlx_op_softplus(rlx_graph *g, rlx_node x);                 /* log(1 + e^x) */
RLX_API rlx_node rlx_op_hard_swish(rlx_graph *g, rlx_node x);               /* x clamp(x + 3, 0, 6) / 6 */
RLX_API rlx_node rlx_op_mish(rlx_graph *g, rlx_node x);                     /* x tanh(softplus(x)) */
RLX_API rlx_node rlx_op_elu(rlx_graph *g, rlx_node x, double alpha);        /* x, below 0 alpha (e^x - 1) */
RLX_API rlx_node rlx_op_leaky_relu(rlx_graph *g, rlx_node x, double alpha); /* x, below 0 alpha x */
/* clamp(alpha x + beta, 0, 1) */
RLX_API rlx_node rlx_op_hard_sigmoid(rlx_graph *g, rlx_node x, double alpha, double beta);
RLX_API rlx_node rlx_op_selu(rlx_graph *g, rlx_node x); /* selu_with the constants of its paper */
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
RLX_API rlx_node rlx_op_bit_xor(rlx_graph *g, rlx_node a, rlx_node b); /* integers: bits set in one of them */
RLX_API rlx_node rlx_op_shl(rlx_graph *g, rlx_node a, rlx_node b);     /* integers: a << b */
RLX_API rlx_node rlx_op_shr(rlx_graph *g, rlx_node a, rlx_node b);     /* integers: a >> b, keeping the sign */
RLX_API rlx_node rlx_op_and(rlx_graph *g, rlx_node a, rlx_node b);     /* bools: both */
RLX_API rlx_node rlx_op_or(rlx_graph *g, rlx_node a, rlx_node b);      /* bools: either */
RLX_API rlx_node rlx_op_xor(rlx_graph *g, rlx_node a, rlx_node b);     /* bools: one of them */
RLX_API rlx_node rlx_op_eq(rlx_graph *g, rlx_node a, rlx_node b);      /* a == b, as bool */
RLX_API rlx_node rlx_op_ne(rlx_graph *g, rlx_node a, rlx_node b);      /* a != b */
RLX_API rlx_node rlx_op_lt(rlx_graph *g, rlx_node a, rlx_node b);      /* a < b */
RLX_API rlx_node rlx_op_le(rlx_graph *g, rlx_node a, rlx_node b);      /* a <= b */
RLX_API rlx_node rlx_op_gt(rlx_graph *g, rlx_node a, rlx_node b);      /* a > b */
RLX_API rlx_node rlx_op_ge(rlx_graph *g, rlx_node a, rlx_node b);      /* a >= b */

/* ---- Element-wise, the rest ---- */
RLX_API rlx_node rlx_op_not(rlx_graph *g, rlx_node x);                           /* logical not */
RLX_API rlx_node rlx_op_fma(rlx_graph *g, rlx_node a, rlx_node b, rlx_node c);   /* a * b + c, rounded once */
RLX_API rlx_node rlx_op_where(rlx_graph *g, rlx_node c, rlx_node t, rlx_node f); /* t where the bool c holds, else f */
RLX_API rlx_node rlx_op_clamp(rlx_graph *g, rlx_node x, double lo, double hi);   /* min(max(x, lo), hi) */
RLX_API rlx_node rlx_op_cast(rlx_graph *g, rlx_node x, rlx_dtype to);            /* converts values, saturating */
/* saturate(round(x / scale) + zero) to i8, u8, i16 or i32, and back; scale and zero (or none) scalar or per channel. */
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
/* Row i of x [M, K] times expert idx[i] of w: [E, K, N], or [E, N, K] with trans_b, as block types lie in files. */
RLX_API rlx_node rlx_op_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b);
RLX_API rlx_node rlx_op_dequant_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b);
/* Experts of a block type as floats; with idx (or none) only those. */
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
  rlx_node scale, zero, global; /* which of them the scheme wants: see its doc */
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
  rlx_node kv_len, kv_offset;     /* i32, scalar or [B]: keys there are; what causal adds (none: keys - Sq) */
  int64_t window;                 /* with causal: only the last `window` keys; 0: all */
  double scale;                   /* 0: 1 / sqrt(head size) */
  double softcap;                 /* c of c tanh(s / c); 0: none */
} rlx_op_attention_desc;
#define RLX_OP_ATTENTION_DESC_INIT RLX_SIZED(rlx_op_attention_desc)
RLX_API rlx_node rlx_op_attention(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, const rlx_op_attention_desc *desc);

typedef enum rlx_rope_style {
  RLX_ROPE_NEOX = 0,
  RLX_ROPE_GPTJ = 1
} rlx_rope_style; /* pairs (i, i + n/2) or (2i, 2i + 1) */
typedef struct rlx_op_rope_desc {
  size_t struct_bytes;
  rlx_layout layout;
  rlx_rope_style style;
  rlx_node positions, offset; /* [S] or [B, S]; or a scalar where positions begin; none: 0, 1, .. */
  rlx_node factors, cos, sin; /* divisors of the frequencies; or tables read at the position */
  int64_t n_rot;              /* leading elements turned; 0: all */
  double theta;               /* 0: 10000 */
} rlx_op_rope_desc;
#define RLX_OP_ROPE_DESC_INIT RLX_SIZED(rlx_op_rope_desc)
RLX_API rlx_node rlx_op_rope(rlx_graph *g, rlx_node x, const rlx_op_rope_desc *desc);
/* On a grid of `width` columns: half of the head turns with the column, half with the row. Usual theta: 10000. */
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
/* Made of several nodes: */
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
/* Indices come as `to`: RLX_I64 or RLX_I32. The first of equals wins, and a NaN before all else. */
RLX_API rlx_node rlx_op_argmax(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to);
RLX_API rlx_node rlx_op_argmin(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to);
RLX_API rlx_node rlx_op_top_k_values(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest);
RLX_API rlx_node rlx_op_top_k_indices(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest, rlx_dtype to);
RLX_API rlx_node rlx_op_sort(rlx_graph *g, rlx_node x, int64_t axis, bool descending); /* stable */
RLX_API rlx_node rlx_op_argsort(rlx_graph *g, rlx_node x, int64_t axis, bool descending, rlx_dtype to);

/* ---- Shape and indexing ---- */
RLX_API rlx_node rlx_op_reshape(rlx_graph *g, rlx_node x, rlx_dims shape);  /* one size may be -1: what is left */
RLX_API rlx_node rlx_op_transpose(rlx_graph *g, rlx_node x, rlx_dims perm); /* perm empty: all axes reversed */
typedef struct rlx_op_slice_desc {
  size_t struct_bytes;
  rlx_dims axes;        /* empty: 0, 1, .. */
  rlx_dims start, stop; /* per axis; negative counts from the end; past an end is cut to it */
  rlx_dims step;        /* empty: 1; negative walks back */
} rlx_op_slice_desc;
#define RLX_OP_SLICE_DESC_INIT RLX_SIZED(rlx_op_slice_desc)
RLX_API rlx_node rlx_op_slice(rlx_graph *g, rlx_node x, const rlx_op_slice_desc *desc);
/* Elements start .. start + length - 1 of an axis: a slice, but reaching past the end of a known size is an error. */
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
/* idx's shape replaces the axis */
RLX_API rlx_node rlx_op_gather(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis);
/* out[i][j] = x[idx[i][j]][j] */
RLX_API rlx_node rlx_op_gather_elements(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis);
/* idx's last axis: coordinates */
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
/* Writes rows into a state at place `at` of an axis. The result is the state, with which the next run begins. */
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

/* ---- Sequence models. `out` says which result the node is: y of every step, or a final state ---- */
/* c: lstm; state: causal_conv */
typedef enum rlx_out { RLX_OUT_Y = 0, RLX_OUT_H = 1, RLX_OUT_C = 2, RLX_OUT_STATE = 1 } rlx_out;
typedef enum rlx_direction {
  RLX_DIRECTION_FORWARD = 0,
  RLX_DIRECTION_REVERSE = 1,
  RLX_DIRECTION_BOTH = 2
} rlx_direction;
typedef enum rlx_rnn_act { RLX_RNN_TANH = 0, RLX_RNN_RELU = 1 } rlx_rnn_act;
/* weights: per layer and direction w_ih, w_hh, b_ih, b_hh, without the last two where no_bias. In the structs: h0, c0
 * or none; hidden 0: read from the second weight; layers 0: 1; reset_before: the gate multiplies before the product. */
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
/* Depth-wise conv that sees only the past: x [B, C, L], w [C, K]; bias [C] and state [B, C, K-1] or none. */
RLX_API rlx_node rlx_op_causal_conv(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, rlx_node state, rlx_out out);

/* ---- Signal ---- */
/* where 1/n goes, as NumPy */
typedef enum rlx_fft_norm { RLX_FFT_BACKWARD = 0, RLX_FFT_FORWARD = 1, RLX_FFT_ORTHO = 2 } rlx_fft_norm;
/* n: cut or zero-pad to this length first; 0: the axis. For irfft the result's length; 0: 2 (m - 1). */
RLX_API rlx_node rlx_op_fft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_ifft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_rfft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
RLX_API rlx_node rlx_op_irfft(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm);
typedef struct rlx_op_stft_desc {
  size_t struct_bytes;
  bool no_center;  /* do not pad n_fft / 2 on both sides first */
  bool two_sided;  /* all n_fft results, not only n_fft / 2 + 1 */
  bool normalized; /* divide by sqrt(n_fft) */
  int64_t hop;     /* step between frames; 0: n_fft / 4 */
} rlx_op_stft_desc;
#define RLX_OP_STFT_DESC_INIT RLX_SIZED(rlx_op_stft_desc)
/* x [T] or [B, T], window [at most n_fft] or none; pad: how the sides are padded, usually RLX_PAD_REFLECT. */
RLX_API rlx_node rlx_op_stft(rlx_graph *g, rlx_node x, rlx_node window, int64_t n_fft, rlx_pad_mode pad,
                             const rlx_op_stft_desc *desc);

/* ---- Random. draw is a scalar that counts draws, or none: the run's number. Same seed and draw, same numbers ---- */
RLX_API rlx_node rlx_op_rng_uniform(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double lo,
                                    double hi);
RLX_API rlx_node rlx_op_rng_normal(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double mean,
                                   double std);
typedef struct rlx_op_sample_desc {
  size_t struct_bytes;
  rlx_node draw;
  rlx_node settings; /* f32[4]: temperature, top_k (at most top_k below, unless 0), top_p and min_p of each run */
  int64_t top_k;     /* 0: all */
  double top_p;      /* smallest set of most likely tokens with this mass; 0: 1, all */
  double min_p;      /* drop what is below this share of the most likely */
  int64_t seed;
} rlx_op_sample_desc;
#define RLX_OP_SAMPLE_DESC_INIT RLX_SIZED(rlx_op_sample_desc)
/* i32; temperature 0: argmax; -1 for a row that holds NaN or +inf, or nothing above -inf */
RLX_API rlx_node rlx_op_sample(rlx_graph *g, rlx_node logits, double temperature, const rlx_op_sample_desc *desc);

/* ---- Control flow. Sub-graphs are finished graphs, which the node retains; their inputs, in the order they were made,
 * take the values xs. Each call makes one node per value of the construct, as many as n_outs asks for, writes them to
 * outs and returns the first; outs may be NULL where n_outs is 0 and only the first is wanted ---- */
RLX_API rlx_node rlx_op_if(rlx_graph *g, rlx_node cond, const rlx_graph *on_true, const rlx_graph *on_false,
                           const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);
/* The first `carried` of xs go round: body's outputs are their next values. Ends when cond gives false, or after
 * max_trips; with 0 there, a loop that has not ended after 2^24 trips is RLX_LIMIT. */
RLX_API rlx_node rlx_op_while(rlx_graph *g, const rlx_graph *cond, const rlx_graph *body, int64_t carried,
                              int64_t max_trips, const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);
/* Runs body over the slices of axis 0 of `scanned` values. xs: carried values, scanned values, the rest. Values: the
 * carried ones at the end, then the stacked slices that body gives. */
RLX_API rlx_node rlx_op_scan(rlx_graph *g, const rlx_graph *body, int64_t carried, int64_t scanned, bool reverse,
                             const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs);

/* ---- Custom: an op of rlx_custom_register; config may be NULL ---- */
RLX_API rlx_node rlx_op_custom(rlx_graph *g, const char *name, const char *config, const rlx_node *xs, size_t n);

/* ---- Text form ---------------------------------------------------------------------------------------------- */

/* The graph as text that rlx_graph_parse reads back to an identical graph. Free with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_print(const rlx_graph *g, char **text);
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_parse(const char *text, size_t bytes, rlx_graph **out);
RLX_API void rlx_free(void *p); /* what the library allocated for the caller */

/* ---- Evaluator: the reference, slow and exact ---------------------------------------------------------------- */

/* Threads: one caller at a time; a second one gets RLX_BUSY. */
typedef struct rlx_evaluator rlx_evaluator;
/* Symbols of the graph are inferred from the inputs that are set. The graph is retained. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_create(const rlx_graph *g, rlx_evaluator **out);
RLX_API void rlx_evaluator_destroy(rlx_evaluator *e);
/* Sets an input, param or state by name; the bytes are copied. Inputs stay set until set again. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_set(rlx_evaluator *e, const char *name, const rlx_tensor *value);
/* Stops a run at the next node by returning true. */
RLX_API void rlx_evaluator_set_cancel(rlx_evaluator *e, rlx_cancel_fn fn, void *user);
RLX_API void rlx_evaluator_set_limits(rlx_evaluator *e, const rlx_limits *limits); /* of each run; NULL: the defaults */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_run(rlx_evaluator *e);
/* An output of the last run, or a state, by name: a view that lives until the next run or set. */
RLX_API RLX_MUST_CHECK rlx_status rlx_evaluator_get(const rlx_evaluator *e, const char *name, rlx_tensor *view);

/* ---- Custom ops ---------------------------------------------------------------------------------------------- */

/* What a custom op's shape rule and kernel are given. The shape rule sees inputs without data and sets the output's
 * dtype and shape; in a graph with symbols a size may be negative, which means "not known yet": copy it where the sizes
 * are equal, write RLX_SIZE_UNKNOWN where the result's follows from it. The kernel reads the inputs and writes every
 * element of the output. Both must depend on nothing but inputs and config, for passes share and fold nodes. */
typedef struct rlx_custom_call {
  const rlx_tensor *const *inputs;
  size_t n_inputs;
  rlx_tensor *output;
  const char *config; /* the node's; "" if it has none */
  void *user;         /* the registration's */
  char message[256];  /* for a callback that fails: why, in words; may stay empty */
} rlx_custom_call;
typedef rlx_status (*rlx_custom_fn)(rlx_custom_call *call);
#define RLX_SIZE_UNKNOWN INT64_MIN

typedef struct rlx_custom_desc {
  size_t struct_bytes;
  const char *name; /* copied; names that begin with "rlx." are the library's own */
  rlx_custom_fn shape, kernel;
  void *user;
} rlx_custom_desc;
#define RLX_CUSTOM_DESC_INIT RLX_SIZED(rlx_custom_desc)

/* Registers an op for the whole process, so that builders and the text form can name it; any thread may call these. A
 * name that is registered is RLX_INVALID; a graph that names an unknown op is RLX_NOT_FOUND. Callbacks may be called from
 * several threads. Unregister an op when nothing that uses it is being built or run. */
RLX_API RLX_MUST_CHECK rlx_status rlx_custom_register(const rlx_custom_desc *desc);
RLX_API RLX_MUST_CHECK rlx_status rlx_custom_unregister(const char *name);

/* ---- Passes ------------------------------------------------------------------------------------------------- */

/* Whether the target runs this node itself; where not, *why may be set to a text that lives as long as the target. */
typedef bool (*rlx_supports_fn)(void *user, const rlx_graph *g, rlx_node n, const char **why);

/* Switches of a compilation: bits that are or-ed; 0: the defaults. All that compiles takes them as one value, which goes with the
 * graph through passes, plan and device and is part of what a compiled graph is found by. A bit that the library does not know
 * is RLX_UNSUPPORTED. */
typedef enum rlx_switch {
  RLX_SWITCH_FORBID_HOST = 1, /* fail, listing every node that the device does not run itself */
  /* No reduced precision: block-type weights meet f32 activations, which may else be rounded to 8 bits per block. */
  RLX_SWITCH_EXACT = 2,
  /* On the CPU 3x3 convolutions may go by tiles: up to twice as fast, for weights that take five times their memory and errors
   * about twice as large. */
  RLX_SWITCH_FAST_CONV = 4,
  RLX_SWITCH_KEEP_VALUES = 8, /* every value keeps its own memory, so that any can be read after a run */
  /* Parts of the planner that can be left out; results are the same. */
  RLX_SWITCH_NO_VIEWS = 16,    /* copy instead */
  RLX_SWITCH_NO_IN_PLACE = 32, /* no result takes over an input's memory */
  RLX_SWITCH_NO_CONCAT = 64,   /* parts of a concat are not written to their places in it */
  RLX_SWITCH_NO_REORDER = 128, /* the graph's own order */
  RLX_SWITCH_NO_SEARCH = 256   /* greedy placement only */
} rlx_switch;

typedef struct rlx_optimize_options {
  size_t struct_bytes;
  const char *passes;       /* comma-separated, in order; NULL: all */
  const char *without;      /* comma-separated passes to leave out of that; NULL: none */
  rlx_supports_fn supports; /* NULL: everything is supported */
  void *supports_user;
  uint32_t switches;                                               /* rlx_switch */
  void (*after)(void *user, const char *pass, const rlx_graph *g); /* sees the graph after each pass; may be NULL */
  void *after_user;
} rlx_optimize_options;
#define RLX_OPTIMIZE_OPTIONS_INIT RLX_SIZED(rlx_optimize_options)

/* Threads: it does not change, so any number may read it. */
typedef struct rlx_optimized rlx_optimized;
/* Runs the passes on a graph without symbols. options may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_optimize(const rlx_graph *g, const rlx_optimize_options *options,
                                               rlx_optimized **out);
RLX_API void rlx_optimized_destroy(rlx_optimized *o);
RLX_API const rlx_graph *rlx_optimized_graph(const rlx_optimized *o); /* what to run */
/* What to run once when the weights are loaded: its outputs are params of the graph above, by name ("hoisted.0", ..); NULL
 * if there is nothing to do. Its params are those of the source. The graph above keeps the params that it still reads and
 * those that nothing read; a param that only the load graph reads is not one of its own any more. */
RLX_API const rlx_graph *rlx_optimized_load(const rlx_optimized *o);
/* The dispatch report: for each node native, rewritten into which, host, and why. Free with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_optimized_report(const rlx_optimized *o, bool json, char **text);
RLX_API size_t rlx_pass_count(void);
RLX_API const char *rlx_pass_name(size_t i, const char **doc); /* NULL past the end */

/* ---- Devices ------------------------------------------------------------------------------------------------- */

/* Null computes nothing: every op runs on the host. It is never chosen unasked, nor is a software device over a real one. */
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
  char uuid[40];    /* the same for the same device in every process: 8-4-4-4-12 hexadecimal digits */
  char driver[128];
  char features[256]; /* separated by blanks: "avx2 fma f16c" */
  rlx_device_kind kind;
  uint32_t n_units;          /* cores, or what the device calls so */
  uint64_t memory_bytes;     /* 0: not known */
  uint64_t free_bytes;       /* 0: not known */
  uint64_t max_block_bytes;  /* largest allocation; 0: no limit */
  uint64_t max_window_bytes; /* largest tensor a kernel can see; 0: no limit */
  uint64_t align;            /* of a tensor in memory */
  uint64_t view_align;       /* of a tensor that begins inside another */
  bool is_mapped;            /* the host reads and writes its memory directly */
} rlx_device_info;
#define RLX_DEVICE_INFO_INIT RLX_SIZED(rlx_device_info)

RLX_API uint32_t rlx_device_count(void);
RLX_API RLX_MUST_CHECK rlx_status rlx_device_describe(uint32_t index, rlx_device_info *out);
RLX_API const char *rlx_device_kind_name(rlx_device_kind kind); /* "discrete" */
/* Backends of this library: NULL past the end. *why: what its absence of devices comes from; NULL where it has some. */
RLX_API const char *rlx_backend_name(uint32_t index, const char **why);

/* ---- Sessions ------------------------------------------------------------------------------------------------ */

/* What long calls tell and ask; each may be NULL. `stage` is what is being done ("compile", "load", "run"), done of total
 * its parts. A cancel function that returns true ends the call with RLX_CANCELLED. */
typedef struct rlx_watch {
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  rlx_cancel_fn cancel;
  void *user;
  rlx_limits limits; /* what is 0 here is the session's */
  void *reserved[2]; /* NULL, as in rlx_limits */
} rlx_watch;

/* Told each thing that a check of a file finds. A remark may be meant so: a tensor of zeros. `text` lives during the call. */
typedef void (*rlx_found_fn)(void *user, bool is_remark, const char *text);

/* A device, threads, freed blocks waiting for reuse, compiled graphs. Threads: any, at any time. */
typedef struct rlx_session rlx_session;
typedef struct rlx_session_desc {
  size_t struct_bytes;
  const char *device;  /* name, index or UUID; "cpu" always works; NULL: the best real device */
  uint32_t n_threads;  /* of the host; 0: one per core */
  uint64_t pool_bytes; /* cap of idle device memory kept for reuse; 0: a quarter GiB */
  bool no_pool;        /* keep none */
  /* budget of programs kept for reuse: compiled graphs, those for other sizes, ONNX runners' and language models'; 0: a 64th
   * of the machine's free memory, 16 to 256 MiB */
  uint64_t cache_bytes;
  rlx_limits limits; /* of every call that uses the session */
  /* Told what such calls log, in place of rlx_set_log's; NULL: that one. Any thread that uses the session may call it, several at a
   * time; what the session's own threads log goes to rlx_set_log's. It is called until the last thing made from the session is gone. */
  rlx_log_fn log;
  void *log_user;
} rlx_session_desc;
#define RLX_SESSION_DESC_INIT RLX_SIZED(rlx_session_desc)
/* desc may be NULL. Sessions in different threads are independent; one session may be used by several threads. It stays
 * alive as long as something made from it does. */
RLX_API RLX_MUST_CHECK rlx_status rlx_session_create(const rlx_session_desc *desc, rlx_session **out);
RLX_API void rlx_session_destroy(rlx_session *s);
RLX_API RLX_MUST_CHECK rlx_status rlx_session_device(const rlx_session *s, rlx_device_info *out);
/* Gives idle device memory above `keep_bytes` back to the system. */
RLX_API void rlx_session_trim(rlx_session *s, uint64_t keep_bytes);
typedef struct rlx_session_stats {
  size_t struct_bytes;
  uint64_t used_bytes, idle_bytes;         /* device memory in use, and kept for reuse */
  uint64_t n_blocks_reused, n_blocks_made; /* how often the pool could help, and could not */
  uint64_t n_compiled, n_cache_hits;       /* graphs compiled, and found compiled already */
  uint64_t cache_bytes, cache_budget;      /* of programs that are kept; what is in use may take more than the budget */
  uint64_t cache_evicted;                  /* programs that made room for others */
  uint64_t limit_bytes;                    /* of device memory in use, now; 0: not known */
} rlx_session_stats;
#define RLX_SESSION_STATS_INIT RLX_SIZED(rlx_session_stats)
RLX_API RLX_MUST_CHECK rlx_status rlx_session_stats_get(rlx_session *s, rlx_session_stats *out);

/* ---- Weights and states: shared by the executables that are given them; any thread may use them ---- */

/* Threads: any, at any time; setting one that a running executable reads is RLX_BUSY. */
typedef struct rlx_weights rlx_weights;
RLX_API RLX_MUST_CHECK rlx_status rlx_weights_create(rlx_session *s, rlx_weights **out);
RLX_API void rlx_weights_destroy(rlx_weights *w); /* the bytes live on while an executable uses them */
/* Sets a weight; the bytes are copied (and packed for the device) and may go away. Stored once, in its own type. A weight
 * that a compiled graph reads must have its type and shape. RLX_BUSY while an executable that reads it runs. A weight that
 * compiled graphs read only through others that are computed from it at load is dropped once those are there: who needs it
 * itself later is told to set it again. */
RLX_API RLX_MUST_CHECK rlx_status rlx_weights_set(rlx_weights *w, const char *name, const rlx_tensor *value);
RLX_API bool rlx_weights_has(const rlx_weights *w, const char *name); /* it has been set */
RLX_API uint64_t rlx_weights_bytes(const rlx_weights *w);             /* on the device, as stored */

/* Threads: any, at any time. */
typedef struct rlx_states rlx_states;
RLX_API RLX_MUST_CHECK rlx_status rlx_states_create(rlx_session *s, rlx_states **out);
RLX_API void rlx_states_destroy(rlx_states *st);
RLX_API RLX_MUST_CHECK rlx_status rlx_states_zero(rlx_states *st); /* all of them, as at creation */

/* ---- Compiling ----------------------------------------------------------------------------------------------- */

typedef struct rlx_compile_options {
  size_t struct_bytes;
  const rlx_binding *bindings; /* sizes of symbols; what is left open is inferred from the inputs of each run */
  size_t n_bindings;
  rlx_weights *weights; /* shared; NULL: the executable's own */
  rlx_states *states;   /* shared; NULL: the executable's own */
  const char *passes;   /* as rlx_optimize_options */
  const char *without;
  uint32_t switches; /* rlx_switch: how it is compiled; the rest is of this call */
  bool plan_only;    /* take no device memory until the first write or run: to look at the plan */
  bool no_cache;     /* compile again even where the session has this graph compiled */
  rlx_watch watch;   /* of this call */
} rlx_compile_options;
#define RLX_COMPILE_OPTIONS_INIT RLX_SIZED(rlx_compile_options)

/* Threads: one caller at a time; a second one gets RLX_BUSY. For parallel runs there is rlx_executable_clone. */
typedef struct rlx_executable rlx_executable;
/* options may be NULL. The graph may be destroyed afterwards. */
RLX_API RLX_MUST_CHECK rlx_status rlx_compile(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options,
                                              rlx_executable **out);
/* Waits for a run in another thread. Inside a callback it does not wait: what runs is freed when its run ends. */
RLX_API void rlx_executable_destroy(rlx_executable *e);
/* Another executable of the same graph for another thread: shares weights and states, has its own scratch. Inputs, bound
 * memory and feeds are not taken over. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_clone(const rlx_executable *e, rlx_executable **out);

/* ---- Running. One executable runs in one thread at a time: a second caller gets RLX_BUSY ----
 *
 * A run that fails or is stopped leaves outputs without a value and states perhaps half updated; the executable can be
 * written and run again. */

typedef struct rlx_named_tensor {
  const char *name;
  rlx_tensor tensor;
} rlx_named_tensor;
/* Writes the inputs, runs, reads the outputs into the memory that the tensors name. Inputs that are not among them keep
 * what they had. dtype and shape of an input give sizes to open symbols; of an output, they are filled in, and `bytes`
 * must be enough. */
RLX_API RLX_MUST_CHECK rlx_status rlx_run(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                                          rlx_named_tensor *outputs, size_t n_outputs);
/* The same in pieces. Write: an input, param or state by name; read: an output, input, param or state. The host's dtype may
 * be another float (or integer) type than the stored one: it is converted, rounding to nearest even, saturating. So a read
 * takes out->dtype as what is wanted; `bytes` must be enough, and shape and bytes are filled in. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_write(rlx_executable *e, const char *name, const rlx_tensor *value);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_run(rlx_executable *e);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_read(rlx_executable *e, const char *name, rlx_tensor *out);
/* Type and shape of an input, param, state or output, by name, as now bound; data is NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_describe(const rlx_executable *e, const char *name, rlx_tensor *out);
/* From now on each run takes this input from, or puts this output into, the caller's memory, as stored: a run with
 * everything bound allocates nothing. `bytes` must be the value's, so its sizes must be known; data NULL ends it, and what
 * the last run took stays an input's value. A name that is both means the input. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_bind(rlx_executable *e, const char *name, void *data, size_t bytes);
/* After each run, once bound outputs are read, the output's bytes go into the input or state of the same type and shape,
 * inside the device; all feeds at once. An output NULL ends what goes there. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_feed(rlx_executable *e, const char *output, const char *to);
/* Runs so often in a row, with the feeds in between, as that many calls of rlx_executable_run would; outputs of every run go
 * one after the other into the memory that the tensors name, which must have room for all of them. dtype and shape of one are
 * filled in, and the bytes of all. A device with a queue of its own is given the runs one behind the other and waited for once,
 * at the end; memory that is bound to an output then gets the last one's. With a watch, a profile or an observer each run is
 * waited for, and cancelling is asked for between them. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_repeat(rlx_executable *e, uint32_t times, rlx_named_tensor *outputs,
                                                        size_t n_outputs);
/* Of writes and runs; NULL: none. Waits for a run in another thread. */
RLX_API void rlx_executable_set_watch(rlx_executable *e, const rlx_watch *watch);
/* The number of the next run, which random ops draw by; it counts up by itself. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_set_draw(rlx_executable *e, uint64_t draw);

/* ---- Looking at an executable ---- */

typedef struct rlx_memory_info {
  size_t struct_bytes;
  uint64_t weights, state, scratch; /* bytes on the device by segment, as planned */
  uint64_t lower_bound;             /* the most scratch bytes live at one step */
  uint64_t naive;                   /* scratch if every value had its own memory */
  uint32_t n_native, n_host;        /* steps the device runs, and the host */
  double plan_seconds, compile_seconds;
} rlx_memory_info;
#define RLX_MEMORY_INFO_INIT RLX_SIZED(rlx_memory_info)
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_memory(const rlx_executable *e, rlx_memory_info *out);
typedef enum rlx_report_kind {
  RLX_REPORT_PLAN = 0,     /* segments, bounds, each value's steps, offset and bytes; also as SVG */
  RLX_REPORT_DISPATCH = 1, /* what runs where, and why */
  RLX_REPORT_PROFILE = 2,  /* time per node of the profiled runs */
  RLX_REPORT_TRACE = 3     /* the last profiled run as Chrome trace (JSON) */
} rlx_report_kind;
typedef enum rlx_report_format { RLX_TEXT = 0, RLX_JSON = 1, RLX_SVG = 2 } rlx_report_format;
/* Free the text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_report(const rlx_executable *e, rlx_report_kind kind,
                                                        rlx_report_format format, char **text);
/* Times each step from now on; starting again forgets what was measured. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_profile(rlx_executable *e, bool on);
/* Sees the value of every step's result as it is computed, in the runs from now on, which are slow; NULL ends it. Nodes are
 * those of the compiled graph. */
typedef void (*rlx_observe_fn)(void *user, rlx_node node, const rlx_tensor *value);
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_observe(rlx_executable *e, rlx_observe_fn fn, void *user);
/* What runs: the graph after binding and all passes. Lives as long as e, or until a run with other sizes. NULL while another thread
 * has the executable. */
RLX_API const rlx_graph *rlx_executable_graph(const rlx_executable *e);
/* The node of that graph that holds the value of a node of the graph given to rlx_compile; 0: fused or folded away. */
RLX_API rlx_node rlx_executable_node(const rlx_executable *e, rlx_node source);

/* Runs once with what was written, each step also through the reference on the very inputs that the device had, and
 * compares. Rows come in step order. */
typedef struct rlx_compare_row {
  rlx_node node; /* of the compiled graph */
  const char *op;
  bool host;     /* the host ran it: nothing to compare */
  bool ok;       /* within the tolerance */
  double error;  /* the largest error as a share of the tolerance: above 1 fails */
  double worst;  /* the largest absolute difference */
  size_t at;     /* of which element */
  char why[256]; /* where not ok */
  /* Elements that the device made NaN or infinite: the first row that has some is where that began. */
  size_t n_not_finite;
} rlx_compare_row;
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_compare(rlx_executable *e,
                                                         void (*row)(void *user, const rlx_compare_row *row),
                                                         void *user, uint32_t *n_differ);

/* ---- The arena: where each value lies, and every way to reach it ----------------------------------------------
 *
 * Nodes are those of rlx_executable_graph. A value that is fused away, or that nothing needs, has no place. Scratch values
 * are overwritten by later steps unless they are inputs or outputs (or the executable keeps all values). Every size is
 * checked: a call moves all bytes or none. */
typedef enum rlx_segment {
  RLX_SEGMENT_NONE = 0,
  RLX_SEGMENT_WEIGHTS = 1,
  RLX_SEGMENT_STATE = 2,
  RLX_SEGMENT_SCRATCH = 3
} rlx_segment;
typedef struct rlx_arena rlx_arena; /* threads: as its executable, with which it shares the one caller */
typedef struct rlx_arena_place {
  size_t struct_bytes;
  rlx_segment segment;
  uint32_t block;            /* of the segment */
  uint64_t offset, capacity; /* in the block; the bytes that are reserved */
  uint64_t used;             /* the bytes of the value */
} rlx_arena_place;
#define RLX_ARENA_PLACE_INIT RLX_SIZED(rlx_arena_place)
/* Takes device memory if plan_only put that off. Lives as long as the executable, or until a run with other sizes. */
RLX_API RLX_MUST_CHECK rlx_status rlx_executable_arena(rlx_executable *e, rlx_arena **out);
RLX_API bool rlx_arena_has(const rlx_arena *a, rlx_node n);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_where(const rlx_arena *a, rlx_node n, rlx_arena_place *out);
RLX_API uint64_t rlx_arena_bytes(const rlx_arena *a, rlx_segment segment); /* NONE: all segments together */
/* `count` elements, which must be all of the node's, as `dtype`: floats and integers are converted (as `cast`). */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_write(rlx_arena *a, rlx_node n, rlx_dtype dtype, const void *data,
                                                  size_t count);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_read(const rlx_arena *a, rlx_node n, rlx_dtype dtype, void *data,
                                                 size_t count);
/* Bytes as stored, from `offset` of the value on. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_write_raw(rlx_arena *a, rlx_node n, uint64_t offset, const void *data,
                                                      size_t bytes);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_read_raw(const rlx_arena *a, rlx_node n, uint64_t offset, void *data,
                                                     size_t bytes);
/* Inside the device, between two arenas on it or within one: rows along axis 0 (types and the sizes of a row are equal), or
 * the first `count` elements. Overlapping ranges are copied as if through a temporary. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_rows(rlx_arena *to, rlx_node to_node, uint64_t to_row,
                                                      const rlx_arena *from, rlx_node from_node, uint64_t from_row,
                                                      uint64_t rows);
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_prefix(rlx_arena *to, rlx_node to_node, const rlx_arena *from,
                                                        rlx_node from_node, uint64_t count);
/* A whole segment into a twin: an arena with the same nodes at the same places. */
RLX_API RLX_MUST_CHECK rlx_status rlx_arena_copy_segment(rlx_arena *to, const rlx_arena *from, rlx_segment segment);

/* ---- Files -------------------------------------------------------------------------------------------------- */

/* A graph in text form from a file. */
RLX_API RLX_MUST_CHECK rlx_status rlx_graph_read(const char *path, rlx_graph **out);
/* Bytes as a file, whole or not at all: they are written beside it, flushed to disk with their folder, and renamed over it. Where
 * something that is not a regular file has the name, RLX_INVALID. Signals to the calling thread wait meanwhile. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_write(const char *path, const void *data, size_t bytes);

/* ---- The op table -------------------------------------------------------------------------------------------- */

/* many: 0 or more, the last */
typedef enum rlx_op_table_input_mode {
  RLX_INPUT_REQUIRED = 0,
  RLX_INPUT_OPTIONAL = 1,
  RLX_INPUT_MANY = 2
} rlx_op_table_input_mode;
typedef struct rlx_op_table_input {
  size_t struct_bytes;
  const char *name;
  /* "T": the op's type; "W": T, or with T f32 also f16, bf16 or a block type; "KV": W without block types;
   * "INDEX": i32 or i64; "BLOCK": a block type; "U": any but block types; else that very type. */
  const char *type;
  rlx_op_table_input_mode mode;
} rlx_op_table_input;
#define RLX_OP_TABLE_INPUT_INIT RLX_SIZED(rlx_op_table_input)
typedef struct rlx_op_table_attribute {
  size_t struct_bytes;
  const char *name, *doc;
  const char *kind;  /* "int", "float", "bool", "enum", "type", "dims", "floats", "text", "graph", "data" */
  const char *names; /* of an enum, separated by blanks; else "" */
  char fallback[32]; /* the default as the text form writes it; "" where there is none: text, graph, data */
} rlx_op_table_attribute;
#define RLX_OP_TABLE_ATTRIBUTE_INIT RLX_SIZED(rlx_op_table_attribute)
typedef struct rlx_op_table_info {
  size_t struct_bytes;
  const char *name, *doc;
  const char *result;              /* "T", "TO" (the attribute `to`), "RULE" (depends on the inputs), or a type */
  char types[160];                 /* what T may be, separated by blanks; "" where there is no T */
  char traits[96];                 /* separated by blanks: "pointwise in_place composite" */
  uint32_t min_inputs, max_inputs; /* max_inputs is UINT32_MAX where there is no limit */
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
