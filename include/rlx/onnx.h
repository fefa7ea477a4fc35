/* ONNX models: open a file, inspect it, run it on any device.
 *
 *   rlx_onnx *model;
 *   rlx_onnx_runner *runner;
 *   if (rlx_onnx_open("model.onnx", NULL, &model) || rlx_onnx_runner_create(session, model, NULL, &runner))
 *     puts(rlx_message());
 *   rlx_onnx_run(runner, inputs, n_inputs);
 *   rlx_onnx_runner_output(runner, 0, &name, &tensor);
 *
 * A model is checked as a whole when it is opened. Everything that cannot be run (strings, sequences, an op that RLX
 * does not have) is reported then, all at once. Symbols (sizes known only from inputs) become numbers with the first
 * run; a runner compiles each set of input sizes once and keeps it. Where a size depends on computed values (NonZero, a
 * Range of a computed length), the graph is cut: the first part runs, and the rest is compiled for the sizes that
 * resulted. */
#ifndef RLX_ONNX_H
#define RLX_ONNX_H

#include "rlx/rlx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A model ------------------------------------------------------------------------------------------------- */

typedef struct rlx_onnx rlx_onnx; /* threads: immutable once open, so any number may use it */

/* Weights stay in the file, which stays open, and are read when they are needed. External data is opened only inside
 * the model's folder: no symbolic link, no absolute path, no file with several names. watch may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_open(const char *path, const rlx_watch *watch, rlx_onnx **out);
/* From memory, which must live as long as the model. External data is not possible. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_open_memory(const void *data, size_t bytes, const rlx_watch *watch,
                                                       rlx_onnx **out);
RLX_API void rlx_onnx_close(rlx_onnx *m); /* runners keep what they need */
/* Whether every node can be imported, as far as types and attributes determine it without sizes. RLX_UNSUPPORTED
 * otherwise: the message lists all that cannot, with op, domain, opset, name and reason. rlx_onnx_runner_create checks
 * this as well. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_supported(const rlx_onnx *m);

/* Reads every initializer and calls `found` (may be NULL) with each finding: NaNs, and what rlx_onnx_supported reports.
 * Infinities, which masks contain, and tensors of zeros are remarks. The message is the first finding. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_check(const rlx_onnx *m, rlx_found_fn found, void *user);

/* An input or output as the file declares it. `type` is ONNX's name of its elements ("float", "uint16"). Types that RLX
 * does not have are carried by one that holds all their values: u16 in i32, u64 in i64 (bit for bit), int4 and uint4 in
 * i8 and u8. */
typedef struct rlx_onnx_value {
  size_t struct_bytes;
  const char *name;
  const char *type;
  rlx_dtype dtype; /* the type that carries it; RLX_DTYPE_UNKNOWN: none */
  int32_t rank;    /* -1: not declared */
  struct {
    int64_t size;       /* -1: not declared or a symbol */
    const char *symbol; /* or NULL */
  } dim[RLX_MAX_RANK];
  bool has_default; /* an input with an initializer: optional */
} rlx_onnx_value;
#define RLX_ONNX_VALUE_INIT RLX_SIZED(rlx_onnx_value)
RLX_API uint32_t rlx_onnx_input_count(const rlx_onnx *m);
RLX_API uint32_t rlx_onnx_output_count(const rlx_onnx *m);
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_input_at(const rlx_onnx *m, uint32_t i, rlx_onnx_value *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_output_at(const rlx_onnx *m, uint32_t i, rlx_onnx_value *out);

typedef struct rlx_onnx_info {
  size_t struct_bytes;
  const char *producer, *producer_version, *domain, *graph, *doc; /* "" if the file has none */
  int64_t ir_version, model_version;
  uint64_t file_bytes;           /* with external data */
  uint64_t weight_bytes;         /* of all tensors: initializers, and those of Constant, sub-graphs and functions */
  uint32_t n_weights;            /* number of those tensors */
  uint32_t n_initializers;       /* of the main graph: rlx_onnx_weight_at */
  uint32_t n_nodes, n_functions; /* nodes: including those of sub-graphs and functions */
  uint32_t n_opsets, n_metadata;
} rlx_onnx_info;
#define RLX_ONNX_INFO_INIT RLX_SIZED(rlx_onnx_info)
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_describe(const rlx_onnx *m, rlx_onnx_info *out);
/* Returns its domain; "ai.onnx" is the main one. */
RLX_API const char *rlx_onnx_opset_at(const rlx_onnx *m, uint32_t i, int64_t *version);
RLX_API const char *rlx_onnx_metadata_at(const rlx_onnx *m, uint32_t i, const char **value);
/* Ops that the model uses, each once, sorted by name: number of uses, and whether RLX has it. */
typedef struct rlx_onnx_op_use {
  size_t struct_bytes;
  const char *op, *domain;
  int64_t opset;
  uint32_t n_uses;
  bool supported;
} rlx_onnx_op_use;
#define RLX_ONNX_OP_USE_INIT RLX_SIZED(rlx_onnx_op_use)
RLX_API uint32_t rlx_onnx_op_count(const rlx_onnx *m);
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_op_at(const rlx_onnx *m, uint32_t i, rlx_onnx_op_use *out);
/* Initializers of the main graph. */
typedef struct rlx_onnx_weight {
  size_t struct_bytes;
  const char *name, *type;
  rlx_dtype dtype;
  rlx_dims shape;
  uint64_t bytes; /* in the file */
  bool external;
} rlx_onnx_weight;
#define RLX_ONNX_WEIGHT_INIT RLX_SIZED(rlx_onnx_weight)
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_weight_at(const rlx_onnx *m, uint32_t i, rlx_onnx_weight *out);
/* The value of an initializer, or of a param of rlx_onnx_graph, by name. rlx_free(out->data). */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_weight_read(const rlx_onnx *m, const char *name, rlx_tensor *out);

/* A tensor in ONNX's protobuf form (a .pb file), as test data has it. rlx_free(tensor.data). name (of `cap` bytes) may
 * be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_tensor_read(const char *path, char *name, size_t cap, rlx_tensor *out);

/* ---- Running ------------------------------------------------------------------------------------------------- */

typedef struct rlx_onnx_options {
  size_t struct_bytes;
  const rlx_binding *bindings; /* sizes of symbols that inputs do not determine */
  size_t n_bindings;
  const char *without; /* as rlx_compile_options */
  uint32_t switches;   /* rlx_switch */
  uint64_t max_trips;  /* maximum trips of a loop; 0: a million */
  rlx_watch watch;     /* of compiling and running */
} rlx_onnx_options;
#define RLX_ONNX_OPTIONS_INIT RLX_SIZED(rlx_onnx_options)

typedef struct rlx_onnx_runner rlx_onnx_runner; /* threads: one caller at a time; a second one gets RLX_BUSY */
/* options may be NULL. The session and the model may be destroyed afterwards. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_runner_create(rlx_session *s, rlx_onnx *m, const rlx_onnx_options *options,
                                                         rlx_onnx_runner **out);
RLX_API void rlx_onnx_runner_destroy(rlx_onnx_runner *r);
/* Runs with these inputs; every input without a default must be among them. A tensor may have another float (or
 * integer) type than declared: it is converted. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_run(rlx_onnx_runner *r, const rlx_named_tensor *inputs, size_t n);
/* An output of the last run: a view that lives until the next. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_runner_output(const rlx_onnx_runner *r, uint32_t i, const char **name,
                                                         rlx_tensor *view);

/* The parts of the last run, in order: graphs on the device, and steps on the host between them that determined
 * sizes. */
typedef struct rlx_onnx_runner_part {
  size_t struct_bytes;
  rlx_executable *executable; /* NULL: a step on the host */
  const char *why;            /* the reason for the cut after it, or for the step; "" for the last part */
} rlx_onnx_runner_part;
#define RLX_ONNX_RUNNER_PART_INIT RLX_SIZED(rlx_onnx_runner_part)
RLX_API uint32_t rlx_onnx_runner_part_count(const rlx_onnx_runner *r);
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_runner_part_at(const rlx_onnx_runner *r, uint32_t i,
                                                          rlx_onnx_runner_part *out);
RLX_API uint64_t rlx_onnx_runner_compile_count(const rlx_onnx_runner *r); /* graphs compiled so far */

/* ---- As a graph ---------------------------------------------------------------------------------------------- */

/* The model as a graph without symbols for these input shapes (an input whose sizes are declared or bound needs none;
 * values given with `data` may determine sizes and branches). Its params are the model's weights, by name. If the model
 * has to be cut, the graph ends there, and *cut (if `cut` is not NULL; free with rlx_free) names the node and the
 * reason; otherwise *cut is NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_graph(rlx_onnx *m, const rlx_onnx_options *options,
                                                 const rlx_named_tensor *inputs, size_t n, rlx_graph **out, char **cut);
/* Sets those params of the graph that the store does not have yet, largest first. */
RLX_API RLX_MUST_CHECK rlx_status rlx_onnx_load(rlx_onnx *m, const rlx_graph *g, rlx_weights *w,
                                                const rlx_watch *watch);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
