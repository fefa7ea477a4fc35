/* rlx_onnx_check: what a model holds and nobody could use, or should not: attributes, numbers that are none, zeros. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "onnx_case.h"
#include "onnx_image.h"
#include "rlx/onnx.h"
#include "test.h"

typedef struct reported {
  char findings[4096], remarks[4096];
  unsigned n_findings, n_remarks;
} reported;

static void take(void *user, bool is_remark, const char *text) {
  reported *t = user;
  char *to = is_remark ? t->remarks : t->findings;
  size_t n = strlen(to);
  *(is_remark ? &t->n_remarks : &t->n_findings) += 1;
  snprintf(to + n, sizeof t->findings - n, "%s\n", text);
}

/* y = x w, then a node with these attributes; w has one element of its own, or is all zeros. */
static rlx_status check_model(float element, size_t n, const char *op, const char *attributes, reported *t) {
  static float w[512];
  onnx_image f = {0};
  char dims[32];
  rlx_onnx *m = NULL;
  *t = (reported){.n_findings = 0};
  snprintf(dims, sizeof dims, "1,%zu", n);
  for (size_t i = 0; i < n; i++) w[i] = element == 0 ? 0 : 1;
  w[3] = element;
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "2,1");
  image_floats(&f, GRAPH_INITIALIZER, "w", dims, w, n);
  image_node(&f, "MatMul", "x,w", "a", "");
  image_node(&f, op, "a", "y", attributes);
  image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(&f);
  rlx_status s = rlx_onnx_open_memory(f.v, f.n, NULL, &m);
  if (!s) s = rlx_onnx_check(m, take, t);
  rlx_onnx_close(m);
  image_free(&f);
  return s;
}

TEST(a_good_one) {
  reported t;
  CHECK_OK(check_model(1, 8, "Relu", "", &t));
  CHECK_OK(check_model(1, 512, "Softmax", "axis=1", &t));
  CHECK_EQ_INT(t.n_findings + t.n_remarks, 0);
}

TEST(numbers_that_are_none) {
  reported t;
  for (size_t n = 8; n <= 512; n *= 64) { /* a constant, and a weight */
    CHECK_FAILS(check_model(NAN, n, "Relu", "", &t), RLX_INVALID, "weight 'w': element 3 is not a number");
    CHECK_EQ_INT(t.n_findings, 1);
    CHECK_OK(check_model(-INFINITY, n, "Relu", "", &t));
    CHECK(strstr(t.remarks, "weight 'w': element 3 is infinite"));
  }
}

TEST(zeros) {
  reported t;
  CHECK_OK(check_model(0, 512, "Relu", "", &t));
  CHECK(strstr(t.remarks, "weight 'w': all elements are 0"));
  CHECK_OK(check_model(0, 8, "Relu", "", &t)); /* constants of an algorithm often are */
  CHECK_EQ_INT(t.n_remarks, 0);
}

/* Ops of com.microsoft have a table as well: the attributes that their functions read. */
static rlx_status check_case(const char *op, const char *inputs, const char *attributes) {
  onnx_image f = {0};
  rlx_onnx *m = NULL;
  onnx_case(&f, op, 17, inputs, attributes, 1);
  rlx_status s = rlx_onnx_open_memory(f.v, f.n, NULL, &m);
  if (!s) s = rlx_onnx_check(m, NULL, NULL);
  rlx_onnx_close(m);
  image_free(&f);
  return s;
}

TEST(attributes_of_microsoft) {
  CHECK_OK(check_case("ms:QuickGelu", "f[2]", "alpha=1.5"));
  CHECK_OK(check_case("ms:MatMulNBits", "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=4 block_size=16 accuracy_level=4"));
  CHECK_FAILS(check_case("ms:QuickGelu", "f[2]", "alpha=1.5 beta=1.0"), RLX_UNSUPPORTED,
              "QuickGelu (com.microsoft 1): RLX does not read the attribute 'beta'");
  CHECK_FAILS(check_case("ms:FastGelu", "f[2]", "alpha=1.5 alph=1"), RLX_UNSUPPORTED, "attributes 'alpha', 'alph'");
  CHECK_FAILS(check_case("ms:MatMulNBits", "f[1,16] u[2,1,8] f[2]", "K=16 N=2 bits=4 block_size=16 weight_prepacked=1"),
              RLX_UNSUPPORTED, "'weight_prepacked'");
}

TEST(attributes_that_are_not_read) {
  reported t;
  CHECK_FAILS(check_model(1, 8, "Relu", "alpha=0.1", &t), RLX_UNSUPPORTED,
              "node 1 '': Relu (ai.onnx 17) does not have the attribute 'alpha'");
  CHECK_FAILS(check_model(1, 8, "ReduceMax", "axes=[1] noop_with_empty_axes=1", &t), RLX_UNSUPPORTED,
              "'noop_with_empty_axes' (of opsets from 18 on)");
  CHECK_FAILS(check_model(NAN, 8, "Relu", "alpha=0.1", &t), RLX_INVALID, "is not a number"); /* both are told */
  CHECK_EQ_INT(t.n_findings, 2);
  CHECK(strstr(t.findings, "attribute 'alpha'"));
  CHECK_FAILS(rlx_onnx_check(NULL, NULL, NULL), RLX_INVALID, "NULL");
}

static rlx_status refuse_it(void *user) {
  reported t;
  (void)user;
  rlx_status s = check_model(NAN, 512, "Relu", "alpha=0.1 beta=0.2", &t);
  return s == RLX_INVALID || s == RLX_UNSUPPORTED ? RLX_OK : s;
}

TEST(out_of_memory) { CHECK_OK(alloc_sweep(refuse_it, NULL)); }
