/* Single ONNX ops whose attributes, shapes or values are wrong: each has its status, and words that name the node.
 *
 * The good ones are there to show that the bad ones are bad for the reason given, and are the seeds of the fuzzer:
 * RLX_CORPUS=FOLDER test_onnx_ops_bad good   writes them. */
#include <stdlib.h>

#include "onnx_case.h"
#include "rlx/onnx.h"
#include "test.h"

typedef struct op_case {
  const char *op;
  int opset;
  const char *inputs, *attributes;
  unsigned n_out;
  rlx_status status;
  const char *part;
} op_case;

enum { MAX_INPUTS = 10 };

/* Runs it with ones for inputs; the first failure. */
static rlx_status run_case(const onnx_image *f, rlx_session *session) {
  static uint64_t memory[MAX_INPUTS][512];
  rlx_named_tensor in[MAX_INPUTS];
  rlx_onnx *m;
  rlx_onnx_runner *r = NULL;
  size_t n = 0;
  rlx_status s = rlx_onnx_open_memory(f->v, f->n, NULL, &m);
  for (uint32_t i = 0; !s && i < rlx_onnx_input_count(m) && i < MAX_INPUTS; i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    s = rlx_onnx_input_at(m, i, &v);
    if (s) break;
    rlx_tensor *t = &in[n].tensor;
    *t = (rlx_tensor){.dtype = v.dtype, .shape = {.n = v.rank}, .data = memory[n]};
    for (int a = 0; a < v.rank; a++) t->shape.v[a] = v.dim[a].size;
    s = rlx_tensor_bytes(t->dtype, t->shape, &t->bytes);
    if (t->bytes > sizeof memory[0]) return RLX_LIMIT;
    memset(t->data, 0, t->bytes);
    for (size_t k = 0; t->dtype == RLX_F32 && k < t->bytes / 4; k++) ((float *)t->data)[k] = 1;
    for (size_t k = 0; t->dtype == RLX_I64 && k < t->bytes / 8; k++) ((int64_t *)t->data)[k] = 1;
    in[n++].name = v.name;
  }
  if (!s) s = rlx_onnx_runner_create(session, m, &(rlx_onnx_options){RLX_ONNX_OPTIONS_INIT, .max_trips = 1000}, &r);
  if (!s) s = rlx_onnx_run(r, in, n);
  rlx_onnx_runner_destroy(r);
  rlx_onnx_close(m);
  return s;
}

static rlx_session *open_session(void) {
  rlx_session *s = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1};
  return rlx_session_create(&d, &s) ? NULL : s;
}

static void check_cases(const op_case *v, size_t n) {
  rlx_session *session = open_session();
  unsigned n_wrong = 0;
  CHECK(session);
  for (size_t i = 0; i < n; i++) {
    onnx_image f = {0};
    onnx_case(&f, v[i].op, v[i].opset, v[i].inputs, v[i].attributes, v[i].n_out);
    rlx_status s = run_case(&f, session);
    bool ok =
      s == v[i].status &&
      (!s || (strstr(rlx_message(), v[i].part) &&
              (*v[i].part == '(' || strstr(rlx_message(), v[i].op + (strncmp(v[i].op, "ms:", 3) == 0 ? 3 : 0)))));
    if (!ok) {
      n_wrong++;
      printf("%s %d (%s | %s): expected '%s' with <%s>, got '%s': %s\n", v[i].op, v[i].opset, v[i].inputs,
             v[i].attributes, rlx_status_name(v[i].status), v[i].part, rlx_status_name(s), s ? rlx_message() : "");
    }
    image_free(&f);
  }
  rlx_session_destroy(session);
  if (n_wrong) FAIL("%u of %zu cases", n_wrong, n);
}
#define CHECK_CASES(v) check_cases(v, sizeof(v) / sizeof *(v))

/* clang-format off */
static const op_case good[] = {
  {"Add", 17, "f[2,3] f[3]", "", 1, RLX_OK, ""},
  {"ArgMax", 17, "f[2,3]", "axis=1 keepdims=0", 1, RLX_OK, ""},
  {"Asinh", 17, "f[3,12,1,2]", "", 1, RLX_OK, ""},
  {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] strides=[2,2]", 1, RLX_OK, ""},
  {"BatchNormalization", 17, "f[1,2,2] f[2] f[2] f[2] f[2]", "epsilon=0.01", 1, RLX_OK, ""},
  {"Cast", 17, "f[2]", "to=7", 1, RLX_OK, ""},
  {"Clip", 17, "f[2] r(0.0) r(0.5)", "", 1, RLX_OK, ""},
  {"Concat", 17, "f[2,1] f[2,2]", "axis=1", 1, RLX_OK, ""},
  {"ConstantOfShape", 17, "k{2,3}", "", 1, RLX_OK, ""},
  {"Conv", 17, "f[1,2,4,4] f[2,1,3,3] f[2]", "group=2 pads=[1,1,1,1] strides=[2,2]", 1, RLX_OK, ""},
  {"ConvTranspose", 17, "f[1,1,2,2] f[1,1,2,2]", "strides=[2,2]", 1, RLX_OK, ""},
  {"CumSum", 17, "f[2,3] k(1)", "reverse=1", 1, RLX_OK, ""},
  {"DepthToSpace", 17, "f[1,4,1,1]", "blocksize=2 mode='CRD'", 1, RLX_OK, ""},
  {"DequantizeLinear", 17, "u[2,3] r(0.5) u(1)", "", 1, RLX_OK, ""},
  {"Einsum", 17, "f[2,3] f[3,2]", "equation='ij,jk->ik'", 1, RLX_OK, ""},
  {"Expand", 17, "f[1,3] k{2,3}", "", 1, RLX_OK, ""},
  {"Flatten", 17, "f[2,3,1]", "axis=2", 1, RLX_OK, ""},
  {"Gather", 17, "f[3,2] k{0,2,-1}", "axis=0", 1, RLX_OK, ""},
  {"GatherElements", 17, "f[2,2] i[1,2]", "axis=0", 1, RLX_OK, ""},
  {"GatherND", 17, "f[2,2] i[1,2]", "batch_dims=0", 1, RLX_OK, ""},
  {"Gemm", 17, "f[2,3] f[2,3] f[2]", "transB=1 alpha=0.5 beta=2.0", 1, RLX_OK, ""},
  {"GroupNormalization", 21, "f[1,4,2] f[4] f[4]", "num_groups=2", 1, RLX_OK, ""},
  {"InstanceNormalization", 17, "f[1,2,3] f[2] f[2]", "", 1, RLX_OK, ""},
  {"LRN", 17, "f[1,3,2,2]", "size=3", 1, RLX_OK, ""},
  {"LayerNormalization", 17, "f[2,3] f[3] f[3]", "axis=-1", 1, RLX_OK, ""},
  {"LeakyRelu", 17, "f[2]", "alpha=0.1", 1, RLX_OK, ""},
  {"LpNormalization", 17, "f[2,3]", "axis=1 p=1", 1, RLX_OK, ""},
  {"MatMul", 17, "f[2,2,3] f[3,1]", "", 1, RLX_OK, ""},
  {"MatMulInteger", 17, "u[2,3] u[3,2] u(1) u(2)", "", 1, RLX_OK, ""},
  {"MaxPool", 17, "f[1,1,5]", "kernel_shape=[3] dilations=[2] ceil_mode=1", 2, RLX_OK, ""},
  {"MaxUnpool", 17, "f[1,1,1,1] i[1,1,1,1]", "kernel_shape=[2,2] strides=[2,2]", 1, RLX_OK, ""},
  {"Mod", 17, "f[2] f[2]", "fmod=1", 1, RLX_OK, ""},
  {"NonZero", 17, "f[2,2]", "", 1, RLX_OK, ""},
  {"OneHot", 17, "i[2] k(3) r{0.0,1.0}", "axis=0", 1, RLX_OK, ""},
  {"Pad", 17, "f[2,2] k{0,1,1,0} r(3.0)", "mode='constant'", 1, RLX_OK, ""},
  {"QuantizeLinear", 17, "f[2,3] r(0.5) u(1)", "", 1, RLX_OK, ""},
  {"Range", 17, "k(0) k(6) k(2)", "", 1, RLX_OK, ""},
  {"ReduceSum", 17, "f[2,3] k{1}", "keepdims=0", 1, RLX_OK, ""},
  {"ReduceMean", 13, "f[2,3]", "axes=[0]", 1, RLX_OK, ""},
  {"Reshape", 17, "f[2,3] k{-1,0}", "", 1, RLX_OK, ""},
  {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,2.0,2.0}", "mode='linear'", 1, RLX_OK, ""},
  {"ScatterElements", 18, "f[2,2] i[1,2] f[1,2]", "axis=0 reduction='add'", 1, RLX_OK, ""},
  {"ScatterND", 18, "f[2,2] i[1,1] f[1,2]", "", 1, RLX_OK, ""},
  {"Shape", 17, "f[2,3,4]", "start=1 end=-1", 1, RLX_OK, ""},
  {"Slice", 17, "f[4,4] k{1,-1} k{3,-4} k{0,1} k{1,-2}", "", 1, RLX_OK, ""},
  {"Softmax", 12, "f[2,3]", "axis=1", 1, RLX_OK, ""},
  {"SpaceToDepth", 17, "f[1,1,2,2]", "blocksize=2", 1, RLX_OK, ""},
  {"Split", 17, "f[5] k{2,3}", "axis=0", 2, RLX_OK, ""},
  {"Squeeze", 17, "f[1,2,1] k{0,-1}", "", 1, RLX_OK, ""},
  {"Tile", 17, "f[2] k{3}", "", 1, RLX_OK, ""},
  {"TopK", 17, "f[2,3] k{2}", "axis=1 largest=0", 2, RLX_OK, ""},
  {"Transpose", 17, "f[2,3]", "perm=[1,0]", 1, RLX_OK, ""},
  {"Trilu", 17, "f[3,3] k(1)", "upper=0", 1, RLX_OK, ""},
  {"Unique", 17, "f[4]", "sorted=1", 4, RLX_OK, ""},
  {"Unsqueeze", 17, "f[2] k{0,2}", "", 1, RLX_OK, ""},
  {"Where", 17, "b[2] f[2] f[1]", "", 1, RLX_OK, ""},
  {"AffineGrid", 20, "f[1,2,3] k{1,1,2,2}", "", 1, RLX_OK, ""},
  {"Attention", 23, "f[1,2,3,4] f[1,2,3,4] f[1,2,3,4]", "is_causal=1", 1, RLX_OK, ""},
  {"Bernoulli", 15, "f[2]", "seed=1.0", 1, RLX_OK, ""},
  {"DFT", 17, "f[1,4,1]", "axis=1", 1, RLX_OK, ""},
  {"GRU", 17, "f[2,1,3] f[1,6,3] f[1,6,2]", "hidden_size=2", 2, RLX_OK, ""},
  {"GridSample", 16, "f[1,1,2,2] f[1,2,2,2]", "mode='bilinear'", 1, RLX_OK, ""},
  {"HannWindow", 17, "k(4)", "", 1, RLX_OK, ""},
  {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2] f[1,16]", "hidden_size=2", 3, RLX_OK, ""},
  {"MelWeightMatrix", 17, "k(2) k(8) k(100) r(0.0) r(50.0)", "", 1, RLX_OK, ""},
  {"NegativeLogLikelihoodLoss", 17, "f[2,3] i[2]", "reduction='sum'", 1, RLX_OK, ""},
  {"NonMaxSuppression", 11, "f[1,3,4] f[1,1,3] k{2} r{0.5}", "", 1, RLX_OK, ""},
  {"RNN", 17, "f[2,1,3] f[1,2,3] f[1,2,2]", "hidden_size=2", 2, RLX_OK, ""},
  {"RandomUniform", 17, "", "shape=[2,2] seed=1.0", 1, RLX_OK, ""},
  {"RoiAlign", 16, "f[2,1,4,4] f[1,4] i[1]", "output_height=2 output_width=2", 1, RLX_OK, ""},
  {"RotaryEmbedding", 23, "f[1,2,3,4] f[1,3,2] f[1,3,2]", "", 1, RLX_OK, ""},
  {"STFT", 17, "f[1,8,1] k(2) f[4]", "", 1, RLX_OK, ""},
  {"ms:Attention", 17, "f[1,2,4] f[4,12] f[12]", "num_heads=2", 1, RLX_OK, ""},
  {"ms:EmbedLayerNormalization", 17, "n[1,2] n[1,2] f[3,4] f[3,4] f[3,4] f[4] f[4]", "", 2, RLX_OK, ""},
  {"ms:FastGelu", 17, "f[2,2] f[2]", "", 1, RLX_OK, ""},
  {"ms:FusedMatMul", 17, "f[2,3] f[3,2]", "alpha=2.0", 1, RLX_OK, ""},
  {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=4 block_size=16", 1, RLX_OK, ""},
  {"ms:MultiHeadAttention", 17, "f[1,2,4] f[1,2,4] f[1,2,4]", "num_heads=2", 1, RLX_OK, ""},
  {"ms:QLinearAdd", 17, "u[2] r(0.5) u(1) u[2] r(0.5) u(1) r(0.5) u(1)", "", 1, RLX_OK, ""},
  {"ms:RotaryEmbedding", 17, "f[1,2,4] i[1] f[4,2] f[4,2]", "", 1, RLX_OK, ""},
  {"ms:SkipLayerNormalization", 17, "f[1,2,4] f[1,2,4] f[4] f[4]", "", 1, RLX_OK, ""},
};
/* clang-format on */

TEST(good_ones) {
  const char *folder = getenv("RLX_CORPUS");
  CHECK_CASES(good);
  for (size_t i = 0; folder && i < sizeof good / sizeof *good; i++) {
    char path[256];
    onnx_image f = {0};
    snprintf(path, sizeof path, "%s/%s-%d", folder, good[i].op + (strncmp(good[i].op, "ms:", 3) == 0 ? 3 : 0),
             good[i].opset);
    onnx_case(&f, good[i].op, good[i].opset, good[i].inputs, good[i].attributes, good[i].n_out);
    CHECK(image_write(&f, path));
    image_free(&f);
  }
}

/* clang-format off */
TEST(axes_and_permutations) {
  static const op_case cases[] = {
    {"ArgMax", 17, "f[2,3]", "axis=2", 1, RLX_INVALID, "axis 2 of 2"},
    {"ArgMax", 17, "f[2,3]", "axis=-3", 1, RLX_INVALID, "axis -3 of 2"},
    {"ArgMax", 17, "f[2,3]", "axis=1.5", 1, RLX_INVALID, "attribute 'axis' is a float, expected an int"},
    {"ArgMax", 17, "f[2,3]", "axis=[1]", 1, RLX_INVALID, "attribute 'axis' is ints, expected an int"},
    {"ArgMax", 17, "f[2,0]", "axis=1", 1, RLX_INVALID, ""},
    {"Concat", 17, "f[2] f[2]", "", 1, RLX_INVALID, "axis"},
    {"Concat", 17, "f[2] f[2]", "axis=1", 1, RLX_INVALID, "axis 1 of 1"},
    {"Concat", 17, "f[2,2] f[3,3]", "axis=0", 1, RLX_INVALID, ""},
    {"Concat", 17, "f[2] i[2]", "axis=0", 1, RLX_INVALID, ""},
    {"Concat", 17, "_ f[2]", "axis=0", 1, RLX_INVALID, ""},
    {"Concat", 17, "f[2] _ f[2]", "axis=0", 1, RLX_INVALID, ""},
    {"CumSum", 17, "f[2,3] k(2)", "", 1, RLX_INVALID, "axis 2 of 2"},
    {"CumSum", 17, "f[2,3] k{0,1}", "", 1, RLX_INVALID, ""},
    {"Flatten", 17, "f[2,3]", "axis=3", 1, RLX_INVALID, "axis"},
    {"Flatten", 17, "f[2,3]", "axis=-3", 1, RLX_INVALID, "axis"},
    {"Gather", 17, "f[2,3] k{0}", "axis=2", 1, RLX_INVALID, "axis 2 of 2"},
    {"GatherElements", 17, "f[2,2] i[2]", "", 1, RLX_INVALID, ""},
    {"GatherND", 17, "f[2,2] i[1,3]", "", 1, RLX_INVALID, ""},
    {"GatherND", 17, "f[2,2] i[2,1]", "batch_dims=2", 1, RLX_INVALID, ""},
    {"GatherND", 17, "f[2,2] i[2,1]", "batch_dims=-1", 1, RLX_INVALID, ""},
    {"LayerNormalization", 17, "f[2,3] f[3]", "axis=2", 1, RLX_INVALID, "axis 2 of 2"},
    {"LpNormalization", 17, "f[2,3]", "p=3", 1, RLX_INVALID, ""},
    {"OneHot", 17, "i[2] k(3) r{0.0,1.0}", "axis=3", 1, RLX_INVALID, "axis"},
    {"OneHot", 17, "i[2] k(3) r{0.0}", "", 1, RLX_INVALID, ""},
    {"OneHot", 17, "i[2] k(-3) r{0.0,1.0}", "", 1, RLX_INVALID, ""},
    {"ReduceSum", 17, "f[2,3] k{2}", "", 1, RLX_INVALID, "axis 2 of 2"},
    {"ReduceSum", 17, "f[2,3] k{1,-1}", "", 1, RLX_INVALID, "comes twice"},
    {"ReduceSum", 17, "f[2,3] f[1]", "", 1, RLX_INVALID, ""},
    {"ReduceMean", 13, "f[2,3]", "axes=[0,0]", 1, RLX_INVALID, "comes twice"},
    {"ReduceMean", 13, "f[2,3]", "axes=1", 1, RLX_INVALID, "attribute 'axes' is an int, expected ints"},
    {"ScatterElements", 18, "f[2,2] i[1,2] f[1,1]", "", 1, RLX_INVALID, ""},
    {"ScatterElements", 18, "f[2,2] i[1,2] f[1,2]", "axis=5", 1, RLX_INVALID, "axis 5 of 2"},
    {"ScatterElements", 18, "f[2,2] i[1,2] f[1,2]", "reduction='pow'", 1, RLX_INVALID, "reduction"},
    {"ScatterND", 18, "f[2,2] i[1,3] f[1]", "", 1, RLX_INVALID, ""},
    {"ScatterND", 18, "f[2,2] i[1,1] f[1,3]", "", 1, RLX_INVALID, ""},
    {"Softmax", 17, "f[2,3]", "axis=2", 1, RLX_INVALID, "axis 2 of 2"},
    {"Softmax", 12, "f[2,3]", "axis=3", 1, RLX_INVALID, "axis"},
    {"Squeeze", 17, "f[1,2,1] k{1}", "", 1, RLX_INVALID, ""},
    {"Squeeze", 17, "f[1,2,1] k{0,0}", "", 1, RLX_INVALID, "comes twice"},
    {"Squeeze", 17, "f[1,2,1] k{7}", "", 1, RLX_INVALID, "axis 7 of 3"},
    {"TopK", 17, "f[2,3] k{4}", "", 2, RLX_INVALID, ""},
    {"TopK", 17, "f[2,3] k{-1}", "", 2, RLX_INVALID, ""},
    {"TopK", 17, "f[2,3] k{1,1}", "", 2, RLX_INVALID, ""},
    {"TopK", 17, "f[2,3] k{1}", "axis=2", 2, RLX_INVALID, "axis 2 of 2"},
    {"Transpose", 17, "f[2,3]", "perm=[0,0]", 1, RLX_INVALID, ""},
    {"Transpose", 17, "f[2,3]", "perm=[0]", 1, RLX_INVALID, ""},
    {"Transpose", 17, "f[2,3]", "perm=[0,2]", 1, RLX_INVALID, ""},
    {"Transpose", 17, "f[2,3]", "perm=[0,-3]", 1, RLX_INVALID, ""},
    {"Transpose", 17, "f[2,3]", "perm=[0,1,2,3,4,5,6,7,8]", 1, RLX_UNSUPPORTED, ""},
    {"Trilu", 17, "f[3]", "", 1, RLX_INVALID, ""},
    {"Unsqueeze", 17, "f[2] k{0,0}", "", 1, RLX_INVALID, "comes twice"},
    {"Unsqueeze", 17, "f[2] k{3}", "", 1, RLX_INVALID, "axis 3 of 2"},
    {"Unsqueeze", 17, "f[2] k{0,1,2,3,4,5,6,7}", "", 1, RLX_UNSUPPORTED, ""},
  };
  CHECK_CASES(cases);
}

TEST(shapes) {
  static const op_case cases[] = {
    {"Add", 17, "f[2] f[3]", "", 1, RLX_INVALID, ""},
    {"Add", 17, "f[2] i[2]", "", 1, RLX_INVALID, ""},
    {"Add", 17, "f[2]", "", 1, RLX_INVALID, "1 inputs, expected 2"},
    {"Add", 17, "f[2] f[2] f[2]", "", 1, RLX_INVALID, "3 inputs, expected 2"},
    {"Add", 17, "_ f[2]", "", 1, RLX_INVALID, "input 0 is left out"},
    {"Add", 17, "f[2] f[2]", "", 2, RLX_INVALID, "output 1 ('y1') is not one of this op"},
    {"Cast", 17, "f[2]", "", 1, RLX_INVALID, "to"},
    {"Cast", 17, "f[2]", "to=99", 1, RLX_INVALID, ""},
    {"Cast", 17, "f[2]", "to=8", 1, RLX_UNSUPPORTED, "string"},
    {"Constant", 17, "", "", 1, RLX_INVALID, ""},
    {"Constant", 17, "", "value=1", 1, RLX_INVALID, ""},
    {"ConstantOfShape", 17, "f[2]", "", 1, RLX_INVALID, ""},
    {"DepthToSpace", 17, "f[1,4,1,1]", "blocksize=0", 1, RLX_INVALID, ""},
    {"DepthToSpace", 17, "f[1,4,1,1]", "", 1, RLX_INVALID, "blocksize"},
    {"DepthToSpace", 17, "f[1,4,1,1]", "blocksize=3", 1, RLX_INVALID, ""},
    {"DepthToSpace", 17, "f[1,4,1]", "blocksize=2", 1, RLX_INVALID, ""},
    {"DepthToSpace", 17, "f[1,4,1,1]", "blocksize=4611686018427387904", 1, RLX_INVALID, ""},
    {"SpaceToDepth", 17, "f[1,1,3,2]", "blocksize=2", 1, RLX_INVALID, ""},
    {"SpaceToDepth", 17, "f[1,1,2,2]", "blocksize=-2", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3] f[3,2]", "", 1, RLX_INVALID, "equation"},
    {"Einsum", 17, "f[2,3] f[3,2]", "equation='ij,jk,kl->il'", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3] f[4,2]", "equation='ij,jk->ik'", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3]", "equation='ij->iq'", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3]", "equation='i?->i'", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3]", "equation='ijk->i'", 1, RLX_INVALID, ""},
    {"Einsum", 17, "f[2,3]", "equation='ij->ii'", 1, RLX_INVALID, ""},
    {"Expand", 17, "f[2,3] k{2,4}", "", 1, RLX_INVALID, ""},
    {"Expand", 17, "f[2,3] k{-1,3}", "", 1, RLX_INVALID, ""},
    {"Gemm", 17, "f[2,3] f[4,2]", "", 1, RLX_INVALID, ""},
    {"Gemm", 17, "f[2] f[2,2]", "", 1, RLX_INVALID, ""},
    {"Gemm", 17, "f[2,3] f[3,2] f[3]", "", 1, RLX_INVALID, ""},
    {"MatMul", 17, "f[2,3] f[4,2]", "", 1, RLX_INVALID, ""},
    {"MatMul", 17, "f[] f[2]", "", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[2,2] k{0,1,1}", "", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[2,2] k{-3,0,0,0}", "", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[2,2] k{0,0,9223372036854775807,0}", "", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[0,2] k{1,0,1,0}", "mode='reflect'", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[0,2] k{1,0,1,0}", "mode='edge'", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[0,2] k{1,0,1,0}", "mode='wrap'", 1, RLX_INVALID, ""},
    {"Pad", 17, "f[2,2] k{0,0,1,0}", "mode='shine'", 1, RLX_INVALID, "attribute 'mode' is 'shine'"},
    {"Range", 17, "k(0) k(6) k(0)", "", 1, RLX_INVALID, ""},
    {"Range", 17, "r(0.0) r(1.0) r(nan)", "", 1, RLX_INVALID, ""},
    {"Range", 17, "r(0.0) r(inf) r(1.0)", "", 1, RLX_UNSUPPORTED, ""},
    {"Range", 17, "r(0.0) r(1.0) r(0.0000000001)", "", 1, RLX_UNSUPPORTED, ""},
    {"Reshape", 17, "f[2,3] k{-1,-1}", "", 1, RLX_INVALID, "2 sizes are -1"},
    {"Reshape", 17, "f[2,3] k{-2,3}", "", 1, RLX_INVALID, "-2"},
    {"Reshape", 17, "f[2,3] k{4,-1}", "", 1, RLX_INVALID, ""},
    {"Reshape", 17, "f[2,3] k{7}", "", 1, RLX_INVALID, ""},
    {"Reshape", 17, "f[2,3] k{6,1,0}", "", 1, RLX_INVALID, ""},
    {"Reshape", 17, "f[0,3] k{0,-1}", "allowzero=1", 1, RLX_INVALID, ""},
    {"Reshape", 17, "f[2,3] k{9223372036854775807,9223372036854775807,-1}", "", 1, RLX_INVALID, ""},
    {"Reshape", 17, "f[2,3] k{1,1,1,1,1,1,1,1,6}", "", 1, RLX_UNSUPPORTED, ""},
    {"Slice", 17, "f[4] k{0} k{2} k{0} k{0}", "", 1, RLX_INVALID, ""},
    {"Slice", 17, "f[4] k{0} k{2} k{1}", "", 1, RLX_INVALID, "axis 1 of 1"},
    {"Slice", 17, "f[4] k{0,0} k{2}", "", 1, RLX_INVALID, ""},
    {"Slice", 17, "f[4,4] k{0,0} k{2,2} k{0,0}", "", 1, RLX_INVALID, "comes twice"},
    {"Split", 17, "f[5] k{2,2}", "", 2, RLX_INVALID, ""},
    {"Split", 17, "f[5] k{6,-1}", "", 2, RLX_INVALID, ""},
    {"Split", 17, "f[5] k{2,3}", "", 3, RLX_INVALID, ""},
    {"Split", 17, "f[5] k{2,3}", "axis=1", 2, RLX_INVALID, "axis 1 of 1"},
    {"Split", 17, "f[5]", "", 2, RLX_INVALID, ""},
    {"Split", 18, "f[5]", "num_outputs=0", 1, RLX_INVALID, ""},
    {"Tile", 17, "f[2] k{1,2}", "", 1, RLX_INVALID, ""},
    {"Tile", 17, "f[2] k{-1}", "", 1, RLX_INVALID, ""},
    {"Where", 17, "f[2] f[2] f[2]", "", 1, RLX_INVALID, ""},
    {"Where", 17, "b[2] f[2] i[2]", "", 1, RLX_INVALID, ""},
    {"Clip", 17, "f[2] f[2]", "", 1, RLX_INVALID, ""},
  };
  CHECK_CASES(cases);
}

TEST(windows_and_norms) {
  static const op_case cases[] = {
    {"AveragePool", 17, "f[1,1,4,4]", "", 1, RLX_INVALID, "kernel_shape"},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[0,0]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] strides=[0,1]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] pads=[-1,0,0,0]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] pads=[1,1]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[9,9]", 1, RLX_INVALID, ""},
    {"AveragePool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] auto_pad='SOME'", 1, RLX_INVALID, "auto_pad"},
    {"MaxPool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] dilations=[0,1]", 1, RLX_INVALID, ""},
    {"MaxPool", 17, "f[1,1,4,4]", "kernel_shape=[9223372036854775807,2]", 1, RLX_INVALID, ""},
    {"MaxPool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] dilations=[4611686018427387904,2]", 1, RLX_INVALID, ""},
    {"MaxPool", 17, "f[1,1,4,4]", "kernel_shape=[2,2] strides=[1,1,1]", 1, RLX_INVALID, ""},
    {"MaxPool", 17, "f[4]", "kernel_shape=[2]", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "group=0", 1, RLX_INVALID, "group"},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "group=-1", 1, RLX_INVALID, "group"},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "group=3", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,3,3,3]", "", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "strides=[0,1]", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "dilations=[0,1]", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "kernel_shape=[2,2]", 1, RLX_INVALID, "kernel_shape"},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "pads=[1,1,1]", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "pads=[-9,0,0,0]", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3] f[3]", "", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,9,9]", "", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2] f[2,2]", "", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3]", "", 1, RLX_INVALID, ""},
    {"Conv", 17, "f[1,2,4,4] f[2,2,3,3]", "strides='two'", 1, RLX_INVALID, "attribute 'strides' is a string"},
    {"ConvTranspose", 17, "f[1,1,2,2] f[1,1,2,2]", "strides=[0,1]", 1, RLX_INVALID, ""},
    {"ConvTranspose", 17, "f[1,1,2,2] f[1,1,2,2]", "group=0", 1, RLX_INVALID, "group"},
    {"ConvTranspose", 17, "f[1,1,2,2] f[1,1,2,2]", "output_padding=[-1,0]", 1, RLX_INVALID, ""},
    {"ConvTranspose", 17, "f[1,1,2,2] f[1,1,2,2]", "output_shape=[-1,0]", 1, RLX_INVALID, ""},
    {"ConvTranspose", 17, "f[1,1,2,2] f[2,1,2,2]", "", 1, RLX_INVALID, ""},
    {"BatchNormalization", 17, "f[1,2,2] f[3] f[2] f[2] f[2]", "", 1, RLX_INVALID, ""},
    {"GroupNormalization", 21, "f[1,4,2] f[4] f[4]", "num_groups=0", 1, RLX_INVALID, "groups"},
    {"GroupNormalization", 21, "f[1,4,2] f[4] f[4]", "num_groups=3", 1, RLX_INVALID, ""},
    {"GroupNormalization", 21, "f[1,4,2] f[4] f[4]", "", 1, RLX_INVALID, "groups"},
    {"InstanceNormalization", 17, "f[1,2,3] f[3] f[2]", "", 1, RLX_INVALID, ""},
    {"LRN", 17, "f[1,3,2,2]", "", 1, RLX_INVALID, "size"},
    {"LRN", 17, "f[1,3,2,2]", "size=0", 1, RLX_INVALID, "size"},
    {"LRN", 17, "f[1,3,2,2]", "size=4611686018427387904", 1, RLX_INVALID, "size"},
    {"LayerNormalization", 17, "f[2,3] f[4]", "", 1, RLX_INVALID, ""},
    {"MaxUnpool", 17, "f[1,1,1,1] i[1,1,1,2]", "kernel_shape=[2,2] strides=[2,2]", 1, RLX_INVALID, ""},
    {"MaxUnpool", 17, "f[1,1,1,1] i[1,1,1,1]", "kernel_shape=[2,2] strides=[4611686018427387904,9]", 1, RLX_INVALID, "strides"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,0.0,2.0}", "", 1, RLX_INVALID, "scale"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,nan,2.0}", "", 1, RLX_INVALID, "scale"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,-1.0,2.0}", "", 1, RLX_INVALID, "scale"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,inf,2.0}", "", 1, RLX_INVALID, "scale"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,1000000000.0,1000000000.0}", "", 1, RLX_INVALID, "scale"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,2.0}", "", 1, RLX_INVALID, ""},
    {"Resize", 17, "f[1,1,2,2]", "", 1, RLX_INVALID, ""},
    {"Resize", 17, "f[1,1,2,2] _ _ k{1,1,-4,4}", "", 1, RLX_INVALID, ""},
    {"Resize", 17, "f[1,1,2,2] _ _ k{1,1,1099511627776,4}", "", 1, RLX_INVALID, "size"},
    {"Resize", 17, "f[1,1,2,2] _ r{1.0,1.0,2.0,2.0}", "mode='quintic'", 1, RLX_INVALID, "mode"},
    {"Resize", 17, "f[1,1,0,2] _ r{1.0,1.0,2.0,2.0}", "mode='linear'", 1, RLX_OK, ""},
    {"Resize", 17, "f[1,1,0,2] _ _ k{1,1,4,4}", "mode='linear'", 1, RLX_INVALID, ""},
    {"DequantizeLinear", 17, "u[2,3] r{0.5,1.0}", "axis=1", 1, RLX_INVALID, ""},
    {"DequantizeLinear", 17, "u[2,3] r{0.5,1.0}", "axis=2", 1, RLX_INVALID, "axis"},
    {"DequantizeLinear", 21, "u[2,3] f[2,2]", "axis=1 block_size=2", 1, RLX_OK, ""},
    {"DequantizeLinear", 21, "u[2,3] f[2,2]", "axis=1 block_size=-2", 1, RLX_INVALID, ""},
    {"QuantizeLinear", 17, "f[2,3] r(0.0) u(1)", "", 1, RLX_OK, ""},
    {"QuantizeLinear", 17, "f[2,3] r(nan) u(1)", "", 1, RLX_OK, ""},
    {"QuantizeLinear", 17, "f[2,3] r{0.5,1.0}", "axis=1", 1, RLX_INVALID, ""},
    {"MatMulInteger", 17, "u[2,3] u[4,2]", "", 1, RLX_INVALID, ""},
    {"MatMulInteger", 17, "u[2,3] u[3,2] u{1,2,3}", "", 1, RLX_INVALID, ""},
  };
  CHECK_CASES(cases);
}

TEST(larger_ops) {
  static const op_case cases[] = {
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=0", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=3", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=-4611686018427387904", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,4] f[1,8,2]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[2,8,3] f[2,8,2]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=2 direction='up'", 1, RLX_INVALID, "direction"},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=2 activations='Tanh'", 1, RLX_INVALID, "activations"},
    {"LSTM", 17, "f[2,3] f[1,8,3] f[1,8,2]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2] f[1,15]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"LSTM", 17, "f[2,1,3] f[1,8,3] f[1,8,2] _ n[2]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"GRU", 17, "f[2,1,3] f[1,8,3] f[1,8,2]", "hidden_size=2", 1, RLX_INVALID, ""},
    {"RNN", 17, "f[2,1,3] f[1,2,3] f[1,2,2]", "hidden_size=2", 3, RLX_INVALID, ""},
    {"Attention", 23, "f[1,2,3,4] f[1,3,3,4] f[1,3,3,4]", "", 1, RLX_INVALID, ""},
    {"Attention", 23, "f[1,2,4] f[1,2,4] f[1,2,4]", "", 1, RLX_INVALID, "heads"},
    {"Attention", 23, "f[1,2,4] f[1,2,4] f[1,2,4]", "q_num_heads=0 kv_num_heads=0", 1, RLX_INVALID, ""},
    {"Attention", 23, "f[1,2,4] f[1,2,4] f[1,2,4]", "q_num_heads=3 kv_num_heads=3", 1, RLX_INVALID, ""},
    {"Attention", 23, "f[1,2,3,4] f[1,2,3,5] f[1,2,3,4]", "", 1, RLX_INVALID, ""},
    {"Attention", 23, "f[1,2,3,4] f[1,2,3,4] f[1,2,3,4] f[7,7]", "", 1, RLX_INVALID, ""},
    {"RotaryEmbedding", 23, "f[1,2,3,4] f[1,3,3] f[1,3,3]", "", 1, RLX_INVALID, ""},
    {"RotaryEmbedding", 23, "f[1,2,3,5] f[1,3,2] f[1,3,2]", "", 1, RLX_INVALID, ""},
    {"RotaryEmbedding", 23, "f[1,3,8] f[1,3,2] f[1,3,2]", "num_heads=3", 1, RLX_INVALID, ""},
    {"DFT", 17, "f[1,4,1]", "axis=5", 1, RLX_INVALID, ""},
    {"DFT", 17, "f[1,4,3]", "axis=1", 1, RLX_INVALID, ""},
    {"DFT", 17, "f[1,4,1] k(0)", "axis=1", 1, RLX_INVALID, ""},
    {"DFT", 17, "f[1,4,1] k(-4)", "axis=1", 1, RLX_INVALID, ""},
    {"DFT", 17, "f[1,4,1] k(1099511627776)", "axis=1", 1, RLX_INVALID, ""},
    {"STFT", 17, "f[1,8,1] k(0) f[4]", "", 1, RLX_INVALID, ""},
    {"STFT", 17, "f[1,8,1] k(-1) f[4]", "", 1, RLX_INVALID, ""},
    {"STFT", 17, "f[1,8,1] k(2) f[9]", "", 1, RLX_INVALID, ""},
    {"STFT", 17, "f[1,8,1] k(2) _ k(0)", "", 1, RLX_INVALID, ""},
    {"HannWindow", 17, "k(-1)", "", 1, RLX_INVALID, ""},
    {"HannWindow", 17, "k(1099511627776)", "", 1, RLX_INVALID, ""},
    {"HannWindow", 17, "k(4)", "output_datatype=8", 1, RLX_UNSUPPORTED, ""},
    {"MelWeightMatrix", 17, "k(-2) k(8) k(100) r(0.0) r(50.0)", "", 1, RLX_INVALID, ""},
    {"MelWeightMatrix", 17, "k(1099511627776) k(8) k(100) r(0.0) r(50.0)", "", 1, RLX_INVALID, ""},
    {"MelWeightMatrix", 17, "k(2) k(8) k(0) r(0.0) r(50.0)", "", 1, RLX_INVALID, ""},
    {"GridSample", 16, "f[1,1,2,2] f[1,2,2,3]", "", 1, RLX_INVALID, ""},
    {"GridSample", 16, "f[2,1,2,2] f[1,2,2,2]", "", 1, RLX_INVALID, ""},
    {"GridSample", 16, "f[1,1,2,2] f[1,2,2,2]", "mode='magic'", 1, RLX_INVALID, "mode"},
    {"GridSample", 16, "f[1,1,0,2] f[1,2,2,2]", "", 1, RLX_INVALID, ""},
    {"RoiAlign", 16, "f[2,1,4,4] f[1,4] i[1]", "output_height=-1", 1, RLX_INVALID, ""},
    {"RoiAlign", 16, "f[2,1,4,4] f[1,4] i[2]", "", 1, RLX_INVALID, ""},
    {"RoiAlign", 16, "f[2,1,4,4] f[1,4] i[1]", "output_height=1099511627776", 1, RLX_INVALID, ""},
    {"NonMaxSuppression", 11, "f[1,3,5] f[1,1,3]", "", 1, RLX_INVALID, ""},
    {"NonMaxSuppression", 11, "f[1,3,4] f[1,1,4]", "", 1, RLX_INVALID, ""},
    {"AffineGrid", 20, "f[1,2,3] k{1,1,2}", "", 1, RLX_INVALID, ""},
    {"AffineGrid", 20, "f[1,2,3] k{1,1,-2,2}", "", 1, RLX_INVALID, ""},
    {"AffineGrid", 20, "f[1,2,3] k{1,1,1099511627776,2}", "", 1, RLX_INVALID, ""},
    {"NegativeLogLikelihoodLoss", 17, "f[2,3] i[3]", "", 1, RLX_INVALID, ""},
    {"NegativeLogLikelihoodLoss", 17, "f[2,3] i[2]", "reduction='max'", 1, RLX_INVALID, "reduction"},
    {"RandomUniform", 17, "", "", 1, RLX_INVALID, "shape"},
    {"RandomUniform", 17, "", "shape=[1099511627776]", 1, RLX_INVALID, ""},
    {"RandomUniform", 17, "", "shape=[-1]", 1, RLX_INVALID, ""},
    {"RandomUniform", 17, "", "shape=[1] dtype=7", 1, RLX_UNSUPPORTED, ""},
    {"Multinomial", 17, "f[1,3]", "sample_size=0", 1, RLX_INVALID, ""},
    {"Multinomial", 17, "f[1,3]", "sample_size=1099511627776", 1, RLX_INVALID, ""},
    {"ms:Attention", 17, "f[1,2,4] f[4,12] f[12]", "", 1, RLX_INVALID, "num_heads"},
    {"ms:Attention", 17, "f[1,2,4] f[4,12] f[12]", "num_heads=3", 1, RLX_INVALID, ""},
    {"ms:MultiHeadAttention", 17, "f[1,2,4] f[1,2,4] f[1,2,4]", "num_heads=0", 1, RLX_INVALID, "num_heads"},
    {"ms:MultiHeadAttention", 17, "f[1,2,4] f[1,2,4] f[1,2,5]", "num_heads=2", 1, RLX_INVALID, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=0 block_size=16", 1, RLX_UNSUPPORTED, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=4 block_size=0", 1, RLX_INVALID, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=16 N=3 bits=4 block_size=16", 1, RLX_INVALID, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=-16 N=2 bits=4 block_size=16", 1, RLX_INVALID, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "bits=4 block_size=16", 1, RLX_INVALID, ""},
    {"ms:SkipLayerNormalization", 17, "f[1,2,4] f[1,2,3] f[4]", "", 1, RLX_INVALID, ""},
    {"ms:EmbedLayerNormalization", 17, "n[1,2] n[1,2] f[3,4] f[3,4] f[3,5] f[4] f[4]", "", 2, RLX_INVALID, ""},
    {"ms:QLinearAdd", 17, "u[2] r(0.5) u(1) u[3] r(0.5) u(1) r(0.5) u(1)", "", 1, RLX_INVALID, ""},
    {"ms:RotaryEmbedding", 17, "f[1,2,4] i[1] f[4,3] f[4,3]", "", 1, RLX_INVALID, ""},
  };
  CHECK_CASES(cases);
}

/* Indices that point nowhere: told, or what the op's definition in docs/ops.md says; never read. */
TEST(indices) {
  static const op_case cases[] = {
    {"Gather", 17, "f[3,2] k{3}", "", 1, RLX_INVALID, "(gather): index 3"},
    {"Gather", 17, "f[3,2] k{-4}", "", 1, RLX_INVALID, "(gather): index -4"},
    {"Gather", 17, "f[3,2] k{9223372036854775807}", "", 1, RLX_INVALID, "(gather): index 9"},
    {"Gather", 17, "f[3,2] f[1]", "", 1, RLX_INVALID, ""},
    {"GatherElements", 17, "f[2,2] k{1}", "", 1, RLX_INVALID, ""},
    {"GatherND", 17, "f[2,2] k{2}", "", 1, RLX_INVALID, "(gather_nd): index 2"},
    {"MaxUnpool", 17, "f[1] k{77}", "kernel_shape=[2]", 1, RLX_INVALID, ""},
  };
  CHECK_CASES(cases);
}

/* Attributes that the op does not have, does not have in that opset, or has no function for here; and all that exporters write. */
TEST(attributes_that_are_not_read) {
  static const op_case cases[] = {
    {"Relu", 17, "f[2]", "alpha=0.1", 1, RLX_UNSUPPORTED, "does not have the attribute 'alpha'"},
    {"Softmax", 17, "f[2,3]", "axis=1 scale=2.0 cap=3.0", 1, RLX_UNSUPPORTED, "the attributes 'scale', 'cap'"},
    {"Conv", 17, "f[1,2,4,4] f[2,1,3,3] f[2]", "group=2 activation='Relu'", 1, RLX_UNSUPPORTED, "'activation'"},
    {"Reshape", 13, "f[2,3] k{0,2}", "allowzero=1", 1, RLX_UNSUPPORTED, "'allowzero' (of opsets from 14 on)"},
    {"ArgMax", 11, "f[2,3]", "select_last_index=1", 1, RLX_UNSUPPORTED, "'select_last_index' (of opsets from 12 on)"},
    {"MaxPool", 8, "f[1,1,4]", "kernel_shape=[2] dilations=[2]", 1, RLX_UNSUPPORTED, "'dilations' (of opsets from 10 on)"},
    {"AveragePool", 9, "f[1,1,5]", "kernel_shape=[2] strides=[2] ceil_mode=1", 1, RLX_UNSUPPORTED, "'ceil_mode' (of opsets from 10 on)"},
    {"ReduceMean", 17, "f[2,3]", "axes=[1] noop_with_empty_axes=1", 1, RLX_UNSUPPORTED, "'noop_with_empty_axes' (of opsets from 18"},
    {"ReduceMean", 18, "f[2,3]", "axes=[1]", 1, RLX_UNSUPPORTED, "'axes' (of opsets 1 to 17)"},
    {"Squeeze", 13, "f[2,1]", "axes=[1]", 1, RLX_UNSUPPORTED, "'axes' (of opsets 1 to 12)"},
    {"Clip", 11, "f[2]", "min=0.0", 1, RLX_UNSUPPORTED, "'min' (of opsets 1 to 10)"},
    {"Add", 7, "f[2,3] f[3]", "axis=1 broadcast=1", 1, RLX_UNSUPPORTED, "'axis' (of opsets 1 to 6), 'broadcast' (of opsets 1 to 6)"},
    {"Relu", 6, "f[2]", "consumed_inputs=[0]", 1, RLX_UNSUPPORTED, "'consumed_inputs' (of opsets 1 to 5)"},
    {"ScatterElements", 13, "f[2,2] i[1,2] f[1,2]", "reduction='add'", 1, RLX_UNSUPPORTED, "'reduction' (of opsets from 16 on)"},
    {"Split", 18, "f[4] k{1,3}", "num_outputs=2", 2, RLX_INVALID, "both split and num_outputs"},
    {"Split", 13, "f[4]", "num_outputs=2", 2, RLX_UNSUPPORTED, "'num_outputs' (of opsets from 18 on)"},
    {"LSTM", 17, "f[2,1,3] f[1,16,3] f[1,16,4]", "hidden_size=4 linear_before_reset=1", 1, RLX_UNSUPPORTED, "'linear_before_reset'"},
    {"GRU", 17, "f[2,1,3] f[1,12,3] f[1,12,4]", "hidden_size=4 input_forget=1", 1, RLX_UNSUPPORTED, "'input_forget'"},
    {"LSTM", 13, "f[2,1,3] f[1,16,3] f[1,16,4]", "hidden_size=4 layout=1", 1, RLX_UNSUPPORTED, "'layout' (of opsets from 14 on)"},
    {"Upsample", 9, "f[1,1,2] r{1.0,1.0,2.0}", "coordinate_transformation_mode='half_pixel'", 1, RLX_UNSUPPORTED, "'coordinate_transformation_mode'"},
    {"Dropout", 6, "f[2]", "is_test=0", 1, RLX_UNSUPPORTED, "is_test is 0"},
    {"ms:Attention", 17, "f[1,2,4] f[4,12] f[12]", "num_heads=2 new_thing=1", 1, RLX_UNSUPPORTED, "RLX does not read the attribute 'new_thing'"},
    {"ms:EmbedLayerNormalization", 17, "n[1,2] n[1,2] f[3,4] f[3,4] f[3,4] f[4] f[4]", "mask_index_type=1", 2, RLX_UNSUPPORTED, "mask_index_type"},

    {"Relu", 5, "f[2]", "consumed_inputs=[0]", 1, RLX_OK, ""},
    {"Add", 6, "f[2,3] f[2]", "axis=0 broadcast=1", 1, RLX_OK, ""},
    {"Add", 6, "f[2,3] f[2,3]", "axis=0 broadcast=0", 1, RLX_OK, ""},
    {"Dropout", 6, "f[2]", "is_test=1 ratio=0.5", 1, RLX_OK, ""},
    {"Dropout", 13, "f[2]", "seed=3", 1, RLX_OK, ""},
    {"TopK", 17, "f[4] k{2}", "axis=0 largest=1 sorted=0", 2, RLX_OK, ""},
    {"Cast", 19, "f[2]", "to=7 saturate=0", 1, RLX_OK, ""},
    {"Gemm", 6, "f[2,3] f[3,2] f[2]", "alpha=1.0 beta=1.0 broadcast=1", 1, RLX_OK, ""},
    {"Conv", 17, "f[1,1,4] f[1,1,3]", "auto_pad='SAME_UPPER' pads=[0,0] dilations=[1] group=1 kernel_shape=[3] strides=[1]", 1, RLX_OK, ""},
    {"Resize", 18, "f[1,1,2] _ r{1.0,1.0,2.0}", "coordinate_transformation_mode='asymmetric' cubic_coeff_a=-0.75 mode='nearest' nearest_mode='floor' keep_aspect_ratio_policy='stretch'", 1, RLX_OK, ""},
    {"BatchNormalization", 17, "f[1,2,2] f[2] f[2] f[2] f[2]", "epsilon=0.01 momentum=0.9 training_mode=0", 1, RLX_OK, ""},
    {"ms:MatMulNBits", 17, "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=4 block_size=16 accuracy_level=4", 1, RLX_OK, ""},
    {"ms:Attention", 17, "f[1,2,4] f[4,12] f[12]", "num_heads=2 past_present_share_buffer=0 rotary_embedding_dim=0 do_rotary=0", 1, RLX_OK, ""},
    {"ms:FusedConv", 17, "f[1,1,4] f[1,1,3]", "activation='LeakyRelu' activation_params=[0.1] auto_pad='NOTSET' pads=[1,1] dilations=[1] group=1 kernel_shape=[3] strides=[1]", 1, RLX_OK, ""},
    {"ms:FusedGemm", 17, "f[2,3] f[3,2] f[2]", "activation='LeakyRelu' activation_alpha=0.1 alpha=1.0 beta=1.0 transA=0 transB=0", 1, RLX_OK, ""},
    {"ms:FusedMatMul", 17, "f[2,3] f[3,2]", "alpha=2.0 transA=0 transB=0 transBatchA=0 transBatchB=0", 1, RLX_OK, ""},
    {"ms:NhwcMaxPool", 17, "u[1,4,4,1]", "kernel_shape=[2,2] strides=[1,1] pads=[0,0,0,0] dilations=[1,1] ceil_mode=0 auto_pad='NOTSET'", 1, RLX_OK, ""},
    {"ms:QLinearAveragePool", 17, "u[1,1,4,4] r(0.5) u(1) r(0.5) u(1)", "kernel_shape=[2,2] strides=[1,1] pads=[0,0,0,0] ceil_mode=0 channels_last=0 count_include_pad=1 auto_pad='NOTSET'", 1, RLX_OK, ""},
    {"ms:QLinearSoftmax", 17, "u[2,3] r(0.5) u(1) r(0.5) u(1)", "axis=1 opset=13", 1, RLX_OK, ""},
    {"ms:QuickGelu", 17, "f[2]", "alpha=1.5", 1, RLX_OK, ""},
    {"ms:RotaryEmbedding", 17, "f[1,2,4] i[1] f[4,2] f[4,2]", "interleaved=0 is_packed_batching=0 num_heads=0 rotary_embedding_dim=0 scale=1.0", 1, RLX_OK, ""},
    {"ms:Trilu", 17, "f[2,2]", "upper=0", 1, RLX_OK, ""},
    {"ms:Pad", 17, "f[2,2] k{0,1,1,0} r(3.0)", "mode='constant'", 1, RLX_OK, ""},
    {"ms:SkipSimplifiedLayerNormalization", 17, "f[1,2,4] f[1,2,4] f[4]", "epsilon=0.01", 1, RLX_OK, ""},
    {"ms:MultiHeadAttention", 17, "f[1,2,4] f[1,2,4] f[1,2,4]", "num_heads=2 mask_filter_value=-100.0 scale=0.5 unidirectional=1", 1, RLX_OK, ""},
  };
  CHECK_CASES(cases);
}
/* clang-format on */

/* No op takes what it does not know. */
TEST(one_attribute_too_many) {
  op_case cases[sizeof good / sizeof *good];
  static char texts[sizeof good / sizeof *good][300];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    snprintf(texts[i], sizeof texts[i], "%s%ssurplus=1", good[i].attributes, *good[i].attributes ? " " : "");
    cases[i] = good[i];
    cases[i].attributes = texts[i];
    cases[i].status = RLX_UNSUPPORTED;
    cases[i].part = strncmp(good[i].op, "ms:", 3) ? "does not have the attribute 'surplus'"
                                                  : "RLX does not read the attribute 'surplus'";
  }
  check_cases(cases, sizeof cases / sizeof *cases);
}

/* A function of the model has the attributes that it names. */
static rlx_status run_function(const char *attributes) {
  onnx_image f = {0};
  image_model(&f, 17);
  image_opset(&f, MODEL_OPSET, "own", 1);
  image_begin(&f, MODEL_FUNCTION);
  image_text(&f, FUNCTION_NAME, "Twice");
  image_text(&f, FUNCTION_DOMAIN, "own");
  image_text(&f, FUNCTION_IN, "a");
  image_text(&f, FUNCTION_OUT, "b");
  image_text(&f, FUNCTION_ATTRIBUTE, "slope");
  image_opset(&f, FUNCTION_OPSET, "", 17);
  image_begin(&f, FUNCTION_NODE);
  image_text(&f, NODE_IN, "a");
  image_text(&f, NODE_OUT, "b");
  image_text(&f, NODE_OP, "LeakyRelu");
  image_attributes(&f, "alpha=@slope");
  image_end(&f);
  image_end(&f);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "3");
  image_node_begin(&f, "Twice", "x", "y", attributes);
  image_text(&f, NODE_DOMAIN, "own");
  image_end(&f);
  image_value(&f, GRAPH_OUTPUT, "y", 1, "3");
  image_end(&f);
  rlx_session *session = open_session();
  rlx_status s = run_case(&f, session);
  rlx_session_destroy(session);
  image_free(&f);
  return s;
}

TEST(attributes_of_functions) {
  CHECK_OK(run_function("slope=0.5"));
  CHECK_OK(run_function(""));
  CHECK_FAILS(run_function("slope=0.5 other=1"), RLX_UNSUPPORTED, "Twice (own 1) does not have the attribute 'other'");
}
