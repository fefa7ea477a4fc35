/* Tests of the claim cache: equal nodes share one claim across graphs, and every difference that a claim may depend on
 * makes another. On every available device: the cached claim equals what the device returns when queried again. */
#include "conform/conform.h"
#include "device/claims.h"
#include "device/registry.h"
#include "faults.h"
#include "test.h"

/* Two equal layers, and a third with other sizes. */
static rlx_status make_graph(rlx_graph **out, rlx_node y[6]) {
  RLX_TRY(rlx_graph_create(out));
  rlx_graph *g = *out;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4, 96)), wide = rlx_op_input(g, "wide", RLX_F32, RLX_DIMS(4, 16));
  rlx_node w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(96, 96)), v = rlx_op_param(g, "v", RLX_F32, RLX_DIMS(96, 96));
  y[0] = rlx_op_matmul(g, x, w);
  y[1] = rlx_op_matmul(g, y[0], v);
  y[2] = rlx_op_mul(g, y[1], y[0]);
  y[3] = rlx_op_mul(g, y[2], y[2]); /* the same value twice */
  y[4] = rlx_op_softmax(g, wide, -1);
  y[5] = rlx_op_softmax(g, wide, 0);
  rlx_graph_add_output(g, "y", y[3]), rlx_graph_add_output(g, "s", y[4]), rlx_graph_add_output(g, "t", y[5]);
  return rlx_graph_finish(g);
}

TEST(equal_nodes_share_a_claim) {
  rlx_device *d;
  rlx_claims *c;
  rlx_graph *g, *twin;
  rlx_node y[6], z[6];
  const rlx_claim *claim[6], *other;
  CHECK_OK(rlx_device_acquire("cpu", &d));
  CHECK_OK(rlx_claims_create(d, 0, &c));
  CHECK_OK(make_graph(&g, y));
  CHECK_OK(make_graph(&twin, z));
  for (int i = 0; i < 6; i++) CHECK_OK(rlx_claims_get(c, g, y[i], NULL, &claim[i]));
  CHECK(claim[0] == claim[1]);
  CHECK(claim[2] != claim[3]); /* x * y and x * x */
  CHECK(claim[4] != claim[5]); /* attributes */
  CHECK_EQ_INT(rlx_claims_count(c), 5);
  for (int i = 0; i < 6; i++) {
    CHECK_OK(rlx_claims_get(c, twin, z[i], NULL, &other));
    CHECK(other == claim[i]);
  }
  CHECK_EQ_INT(rlx_claims_count(c), 5);
  /* With plain layouts the earlier claim is returned if no other layout was preferred; otherwise the device is queried
   * again. */
  uint32_t layout[32] = {0};
  CHECK_OK(rlx_claims_get(c, g, y[4], layout, &other));
  CHECK(other == claim[4]);
  layout[rlx_graph_at(g, y[0])->in[1]] = claim[0]->layout[1];
  CHECK(claim[0]->layout[1] != 0);
  CHECK_OK(rlx_claims_get(c, g, y[0], layout, &other));
  CHECK(other != claim[0] && other->native);
  const rlx_claim *plain;
  CHECK_OK(rlx_claims_get(c, g, y[1], layout, &plain)); /* a different weight, in the plain layout */
  CHECK(plain != other && plain->native);
  CHECK_EQ_INT(rlx_claims_count(c), 7);
  rlx_graph_destroy(g);
  CHECK_OK(rlx_claims_get(c, twin, z[3], NULL, &other)); /* only the graph of the query is needed */
  CHECK(other == claim[3]);
  rlx_graph_destroy(twin);
  rlx_claims_destroy(c);
  rlx_claims_destroy(NULL);
  rlx_device_release(d);
}

static bool same_claim(const rlx_claim *a, const rlx_claim *b) {
  return a->native == b->native && a->in_place == b->in_place && a->work_bytes == b->work_bytes && a->weak == b->weak &&
         memcmp(a->layout, b->layout, sizeof a->layout) == 0 && !a->lowering == !b->lowering &&
         (a->why == b->why || (a->why && b->why && strcmp(a->why, b->why) == 0));
}

/* One table for the nodes of all conformance cases. */
static void check_cases(const char *device) {
  rlx_device *d;
  rlx_claims *c;
  size_t asked = 0;
  rlx_status s = rlx_device_acquire(device, &d);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  CHECK_OK(rlx_claims_create(d, 0, &c));
  for (rlx_op op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get(op);
    for (size_t i = 0; i < table->n; i++) {
      rlx_graph *g;
      if (rlx_case_graph(&table->v[i], &g)) continue; /* cases that must fail */
      for (rlx_node n = 1; n < rlx_graph_end(g); n++) {
        if (rlx_op_table_has(rlx_graph_at(g, n)->op, RLX_TRAIT_LEAF)) continue;
        const rlx_claim *kept;
        rlx_claim fresh = {0};
        CHECK_OK(rlx_claims_get(c, g, n, NULL, &kept));
        CHECK_OK(d->backend->claim(d, &(rlx_claim_query){.graph = g, .node = n}, &fresh));
        asked++;
        if (!same_claim(kept, &fresh)) FAIL("%s %s: node %u has another claim", table->v[i].name, device, (unsigned)n);
        rlx_claim_deinit(d, &fresh);
      }
      rlx_graph_destroy(g);
    }
  }
  CHECK(asked > 1000 && rlx_claims_count(c) < asked);
  rlx_claims_destroy(c);
  rlx_device_release(d);
}

TEST(cases_on_cpu) { check_cases("cpu"); }
TEST(cases_on_emu) { check_cases("emu"); }
TEST(cases_on_cuda) { check_cases("cuda"); }
TEST(cases_on_vulkan) { check_cases("vulkan"); }
TEST(cases_on_webgpu) { check_cases("webgpu"); }

static rlx_status work(void *user) {
  rlx_device *d = user;
  rlx_claims *c = NULL;
  rlx_graph *g = NULL;
  rlx_node y[6];
  const rlx_claim *claim;
  rlx_status s = rlx_claims_create(d, 0, &c);
  if (!s) s = make_graph(&g, y);
  for (int i = 0; !s && i < 6; i++) s = rlx_claims_get(c, g, y[i], NULL, &claim);
  rlx_graph_destroy(g);
  rlx_claims_destroy(c);
  return s;
}

TEST(every_allocation_may_fail) {
  rlx_device *d;
  rlx_status s = rlx_device_acquire("emu", &d);
  if (s) CHECK_OK(rlx_device_acquire("cpu", &d));
  CHECK_OK(alloc_sweep(work, d));
  rlx_device_release(d);
}
