/* Cancellation inside a node: one long node of every family, on the reference and on the CPU, stopped by a cancel
 * function that returns true only after more calls than there are steps. With RLX_TEST_COSTS=1 it prints the longest
 * time between two calls. */
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

/* Seconds of plain loops on the null device, some tenths of a second on the CPU: it is cancelled after some 50 ms. */
typedef struct long_node {
  const char *op, *leaves, *expr;
} long_node;

/* clang-format off */
static const long_node on_the_reference[] = {
  {"gelu", "x: f32[16777216]", "gelu(%x)"},
  {"pow", "x: f32[4096,4096]; y: f32[4096]", "pow(%x, %y)"},
  {"cast", "x: f32[33554432]", "cast(%x) {to=f16}"},
  {"quantize", "x: f32[16777216]; s: f32[]", "quantize(%x, %s)"},
  {"transpose", "x: f32[8192,4096]", "transpose(%x) {perm=[1,0]}"},
  {"expand", "x: f32[4096]", "tile(%x) {reps=[8192]}"},
  {"concat", "x: f32[33554432]", "concat(%x, %x, %x, %x, %x, %x) {axis=0}"},
  {"trilu", "x: f32[8192,4096]", "trilu(%x)"},
  {"gather_elements", "x: f32[4096,4096]; i: i32[4096,4096]", "gather_elements(%x, %i) {axis=1}"},
  {"scatter_elements", "x: f32[4096,4096]; i: i32[4096,4096]; u: f32[4096,4096]", "scatter_add(%x, %i, %u) {axis=1}"},
  {"one_hot", "i: i32[16384]", "one_hot(%i) {depth=2048}"},
  {"matmul", "a: f32[1024,2048]; b: f32[2048,1024]", "matmul(%a, %b)"},
  {"matmul", "a: f32[8,2097152]; b: f32[2097152,8]", "matmul(%a, %b)"},
  {"dot_general", "a: f32[1024,512]; b: f32[512,1024]", "dot_general(%a, %b) {contract_a=[0], contract_b=[1]}"},
  {"dequant_matmul", "x: f32[512,1024]; w: i8[1024,1024]; s: f32[1,1024]", "dequant_matmul(%x, %w, %s)"},
  {"q_matmul", "a: i8[1024,1024]; b: i8[1024,1024]; sa: f32[]; sb: f32[]; sy: f32[]", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"dense_solve", "a: f32[1536,1536]; b: f32[1536,8]", "dense_solve(%a, %b)"},
  {"conv", "x: f32[1,64,128,128]; w: f32[64,64,3,3]", "conv(%x, %w)"},
  {"conv_transpose", "x: f32[1,64,64,64]; w: f32[64,64,5,5]", "conv_transpose(%x, %w)"},
  {"pool_max", "x: f32[1,8,512,512]", "pool_max(%x) {kernel=[31,31], stride=[1,1]}"},
  {"resize", "x: f32[1,3,64,64]", "resize(%x) {size=[1,3,2048,2048], mode=linear}"},
  {"grid_sample", "x: f32[1,8,256,256]; g: f32[1,2048,1024,2]", "grid_sample(%x, %g)"},
  {"reduce_sum", "x: f32[33554432]", "reduce_sum(%x) {axes=[0]}"},
  {"cumsum", "x: f32[33554432]", "cumsum(%x) {axis=0}"},
  {"softmax", "x: f32[1,16777216]", "softmax(%x) {axis=1}"},
  {"layer_norm", "x: f32[1,33554432]", "layer_norm(%x)"},
  {"group_norm", "x: f32[1,8,4194304]", "group_norm(%x) {groups=2}"},
  {"sort", "x: f32[8388608]", "sort(%x) {axis=0}"},
  {"sample", "x: f32[1,4194304]", "sample(%x) {temperature=1.0}"},
  {"fft", "x: f32[4194304]", "fft(%x) {axis=0}"},
  {"rfft", "x: f32[2000003]", "rfft(%x) {axis=0}"},
  {"stft", "x: f32[4194304]", "stft(%x) {n_fft=1024}"},
  {"attention", "q: f32[1,1024,8,64]; k: f32[1,1024,8,64]; v: f32[1,1024,8,64]", "attention(%q, %k, %v)"},
  {"rope", "x: f32[1,8192,32,128]", "rope(%x)"},
  {"lstm", "x: f32[1024,1,256]; wi: f32[1024,256]; wh: f32[1024,256]; bi: f32[1024]; bh: f32[1024]",
   "lstm(%x, _, _, %wi, %wh, %bi, %bh) {hidden=256}"},
  {"selective_scan", "x: f32[1,4096,256]; d: f32[1,4096,256]; a: f32[256,16]; b: f32[1,4096,16]; c: f32[1,4096,16]",
   "selective_scan(%x, %d, %a, %b, %c)"},
  {"rng_normal", "d: i64[]", "rng_normal(%d) {shape=[33554432], seed=3}"},
};

static const long_node on_the_cpu[] = {
  {"sort", "x: f32[8388608]", "sort(%x) {axis=0}"},
  {"argsort", "x: f32[4,4194304]", "argsort(%x) {axis=1}"},
  {"top_k_indices", "x: f32[33554432]", "top_k_indices(%x) {axis=0, k=4000000}"},
  {"cumsum", "x: f32[67108864]", "cumsum(%x) {axis=0}"},
  {"cummax", "x: f32[2,16777216]", "cummax(%x) {axis=1}"},
  {"softmax", "x: f32[4194304,8]", "softmax(%x) {axis=0}"},
  {"fft", "x: f32[128,131072]", "fft(%x) {axis=1}"},
  {"fft", "x: f32[8,524309]", "fft(%x) {axis=1}"},
  {"pool_max", "x: f32[1,1,2048,2048]", "pool_max(%x) {kernel=[61,61], stride=[3,3]}"},
  {"pool_avg", "x: f32[1,1,1048576]", "pool_avg(%x) {kernel=[4096], stride=[1]}"},
  {"scatter_add", "x: f32[65536]; i: i32[33554432]; u: f32[33554432]", "scatter_add(%x, %i, %u) {axis=0}"},
  {"sample", "x: f32[1,16777216]", "sample(%x) {temperature=1.0}"},
  {"conv", "x: f32[1,256,256,256]; w: f32[256,256,3,3]", "conv(%x, %w)"},
  {"matmul", "a: f32[2048,2048]; b: f32[2048,2048]", "matmul(%a, %b)"},
  {"attention", "q: f32[1,4096,16,64]; k: f32[1,4096,16,64]; v: f32[1,4096,16,64]", "attention(%q, %k, %v)"},
  {"lstm", "x: f32[1024,1,256]; wi: f32[1024,256]; wh: f32[1024,256]; bi: f32[1024]; bh: f32[1024]",
   "lstm(%x, _, _, %wi, %wh, %bi, %bh) {hidden=256}"},
};

/* Each is one task: one sum, one row, one plane. They are bound by memory, so they take some tens of milliseconds. */
static const long_node in_one_task[] = {
  {"matmul", "x: f32[1,67108864]", "matmul(%x, %x) {trans_b=true}"},
  {"matmul", "a: f32[1,16777216]; b: f32[16777216,4]", "matmul(%a, %b)"},
  {"gather", "x: f32[1,67108864]; i: i32[1]", "gather(%x, %i) {axis=0}"},
  {"gather_nd", "x: f32[1,67108864]; i: i32[1,1]", "gather_nd(%x, %i)"},
  {"pool_avg", "x: f32[1,1,8192,8192]", "pool_avg(%x) {kernel=[8192,8192], stride=[1,1]}"},
  {"conv", "x: f32[1,1,8192,8192]; w: f32[1,1,3,3]", "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1]}"},
  {"conv", "x: f32[1,1,8192,8192]; w: f32[1,1,5,5]", "conv(%x, %w) {pad_lo=[2,2], pad_hi=[2,2], stride=[2,2]}"},
};
/* clang-format on */

/* ---- the cancel function ---- */

typedef struct asked {
  int n, until;
  uint64_t last_ns, longest_ns;
  uint64_t last_own_ns, longest_own_ns; /* CPU time of this thread: wall time includes other load of the machine */
} asked;

static uint64_t own_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool at_last(void *user) {
  asked *a = user;
  uint64_t now = rlx_now_ns(), own = own_ns();
  if (a->n && now - a->last_ns > a->longest_ns) a->longest_ns = now - a->last_ns;
  if (a->n && own - a->last_own_ns > a->longest_own_ns) a->longest_own_ns = own - a->last_own_ns;
  a->last_ns = now;
  a->last_own_ns = own;
  return ++a->n >= a->until;
}

/* ---- values: floats of all sizes below 1, integers 0 ---- */

static void fill(rlx_tensor *t) {
  if (t->dtype != RLX_F32) {
    memset(t->data, 0, t->bytes);
    return;
  }
  uint32_t state = 1;
  for (size_t i = 0; i < t->bytes / sizeof(float); i++) {
    state = state * 1664525 + 1013904223;
    ((float *)t->data)[i] = (float)(state >> 8) * 0x1p-24f;
  }
}

static rlx_status write_leaves(rlx_executable *e, const rlx_graph *g) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (!rlx_op_table_has(rlx_graph_at(g, id)->op, RLX_TRAIT_LEAF)) continue;
    rlx_tensor value;
    RLX_TRY(rlx_tensor_create(&rlx_graph_at(g, id)->type, &value));
    fill(&value);
    rlx_status s = rlx_executable_write(e, rlx_node_name(g, id), &value);
    rlx_tensor_deinit(&value);
    RLX_TRY(s);
  }
  return RLX_OK;
}

/* Between steps the function is called a few times; the last of these calls is inside a step. */
typedef struct patience {
  int askings;
  uint64_t quick_ns; /* a run that is this short has fewer calls */
} patience;

static void stops_inside(rlx_session *s, const char *device, const long_node *n, patience p) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  asked a = {.until = p.askings};
  char part[64];
  snprintf(part, sizeof part, "(%s)", n->op);
  rlx_status made = expr_graph(n->leaves, n->expr, &g);
  if (!made) made = rlx_compile(s, g, NULL, &e);
  if (!made) made = write_leaves(e, g);
  if (made) FAIL("%s on %s: %s", n->op, device, rlx_message());
  rlx_executable_set_watch(e, &(rlx_watch){.cancel = at_last, .user = &a});
  const uint64_t begin_ns = rlx_now_ns();
  rlx_status status = rlx_executable_run(e);
  uint64_t after_ns = rlx_now_ns() - a.last_ns;
  if (!status && rlx_now_ns() - begin_ns < p.quick_ns) {
    printf("  %-5s %-16s was done in %.1f ms\n", device, n->op, (double)(rlx_now_ns() - begin_ns) * 1e-6);
    goto done;
  }
  if (status != RLX_CANCELLED || !strstr(rlx_message(), part) || !strstr(rlx_message(), "stopped by the caller"))
    FAIL("%s on %s: asked %d times, %s: %s", n->op, device, a.n, rlx_status_name(status), status ? rlx_message() : "");
  if (getenv("RLX_TEST_COSTS"))
    printf("  %-5s %-16s longest gap %6.1f ms, of its own time %6.1f ms; end after %6.1f ms\n", device, n->op,
           (double)a.longest_ns * 1e-6, (double)a.longest_own_ns * 1e-6, (double)after_ns * 1e-6);
  CHECK_EQ_INT(a.n, p.askings);
done:
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

static void all_stop(const char *device, unsigned n_threads, const long_node *nodes, size_t n, patience p) {
  rlx_session *s;
  OPEN_SESSION(device, n_threads, &s);
  for (size_t i = 0; i < n && !test_has_failed(); i++) stops_inside(s, device, &nodes[i], p);
  rlx_session_destroy(s);
}

TEST(a_cancel_is_heard_inside_every_kernel_of_the_reference) {
  all_stop("null", 2, on_the_reference, sizeof on_the_reference / sizeof *on_the_reference, (patience){10, 60000000});
}

TEST(a_cancel_is_heard_inside_long_kernels_of_the_cpu) {
  all_stop("cpu", 2, on_the_cpu, sizeof on_the_cpu / sizeof *on_the_cpu, (patience){10, 60000000});
}

/* The function is called once before the step; the second and third call are inside it. */
TEST(a_cancel_is_heard_inside_one_task_of_the_cpu) {
  all_stop("cpu", 1, in_one_task, sizeof in_one_task / sizeof *in_one_task, (patience){3, 12000000});
}

/* ---- a GPU: between submissions ---- */

/* Products that fit into four submissions: with a cancel function each is a submission of its own, so that the
 * function is called often enough however fast the device is. */
TEST(a_gpu_is_given_smaller_parts_where_somebody_may_stop) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  asked a = {.until = 6};
  char expr[1024] = "%a = matmul(%x, %x)";
  for (char c = 'b'; c < 'm'; c++)
    snprintf(expr + strlen(expr), sizeof expr - strlen(expr), "; %%%c = matmul(%%%c, %%x)", c, c - 1);
  snprintf(expr + strlen(expr), sizeof expr - strlen(expr), "; matmul(%%l, %%x)");
  OPEN_SESSION("vulkan:submit=140000", 1, &s);
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  CHECK_OK(rlx_session_device(s, &info));
  if (info.kind != RLX_DEVICE_SOFTWARE) {
    rlx_session_destroy(s);
    SKIP("a real GPU is given all of it at once: it takes microseconds");
  }
  CHECK_OK(expr_graph("x: f32[64,64]", expr, &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(write_leaves(e, g));
  rlx_executable_set_watch(e, &(rlx_watch){.cancel = at_last, .user = &a});
  CHECK_FAILS(rlx_executable_run(e), RLX_CANCELLED, "(matmul): stopped by the caller");
  CHECK_EQ_INT(a.n, 6);
  rlx_executable_set_watch(e, NULL);
  CHECK_OK(rlx_executable_run(e));
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
