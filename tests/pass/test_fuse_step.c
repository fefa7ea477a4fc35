/* Fusion of a decode step's attention with its rope and updates: where it is right, and each near miss. */
#include "pass_cases.h"

/* q, k and v are heads of r; s and t are states. Positions are constants: the states have room at 0 to 5. */
#define LEAVES(types)                                                                                               \
  "%r = input \"r\" : f32[1,1,4,8]; %s = state \"s\" : " types "[1,6,1,8]; %t = state \"t\" : " types "[1,6,1,8]; " \
  "%at = constant : i32[1] = [3]; %one = constant : i32[] = [1]; "
#define PLACES "%p = reshape(%at) {shape=[1,1]}; %n = add(%at, %one); "
#define CUT(name, of, first, end) "%" #name " = slice(%" #of ") {axes=[2], start=[" #first "], stop=[" #end "]}; "
#define PIECES CUT(q, r, 0, 2) CUT(k, r, 2, 3) CUT(v, r, 3, 4)
#define ROPES "%x = rope(%q, %p); %y = rope(%k, %p); "
#define UPDATES "%u = update(%s, %y, %at) {axis=1}; %w = update(%t, %v, %at) {axis=1}; "
#define ATTENTION "%a = attention(%x, %u, %w, _, _, _, %n)"
#define RESULTS "; output \"a\" = %a; output \"u\" = %u; output \"w\" = %w"
#define START LEAVES("f32") PLACES PIECES
#define STEP START ROPES UPDATES
#define GAMMAS "%gq = param \"gq\" : f32[8]; %gk = param \"gk\" : f32[8]; "
#define NORMED "%e = rms_norm(%q, %gq) {eps=1e-6}; %f = rms_norm(%k, %gk) {eps=1e-6}; "

static uint32_t count_of(const rlx_graph *g, const char *op) {
  uint32_t n = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) n += strcmp(rlx_node_op(g, id), op) == 0;
  return n;
}

/* A graph of the step with one of its parts replaced. Results are the same, whether fused or not. */
static void check_step(const char *text, bool is_fused) {
  rlx_graph *g = parse(text);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, "fuse", NULL);
  const rlx_graph *got = o ? rlx_optimized_graph(o) : NULL;
  if (got && count_of(got, "fused_rope_attention") != is_fused) FAIL("%s: expected fused %d", text, is_fused);
  if (got && count_of(got, "attention") == is_fused) FAIL("%s: attention as well", text);
  if (got && count_of(got, "update") + count_of(got, "fused_rope_update") != 2) FAIL("%s: an update is gone", text);
  if (got && !test_has_failed()) check_results(g, got, NULL, 1e-5, text);
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
  CHECK(got != NULL);
}
static void check_steps(bool is_fused, const char *const *texts, size_t n) {
  for (size_t i = 0; i < n && !test_has_failed(); i++) check_step(texts[i], is_fused);
}
#define FUSED(...) CHECK_ALL(true, __VA_ARGS__)
#define NOT_FUSED(...) CHECK_ALL(false, __VA_ARGS__)
#define CHECK_ALL(is_fused, ...)                                     \
  do {                                                               \
    static const char *const texts_[] = {__VA_ARGS__};               \
    check_steps((is_fused), texts_, sizeof texts_ / sizeof *texts_); \
  } while (0)

TEST(fuse_step_reads_the_states_before_their_updates) {
  CASES_OF(
    "fuse",
    BECOMES(STEP ATTENTION RESULTS,
            "%r = input \"r\" : f32[1,1,4,8]; %s = state \"s\" : f32[1,6,1,8]; "
            "%t = state \"t\" : f32[1,6,1,8]; %at = constant : i32[1] = [3]; %p = reshape(%at) {shape=[1,1]}; " CUT(
              k, r, 2, 3)
              CUT(v, r, 3, 4) "%u = fused_rope_update(%s, %k, %at, %p); "
                              "%w = update(%t, %v, %at) {axis=1}; %a = fused_rope_attention(%r, %s, %t, %at)" RESULTS,
            .tolerance = 1e-5));
}

TEST(fuse_step_variants) {
  FUSED(
    /* norms, with attributes of attention and rope */
    GAMMAS START NORMED
    "%x = rope(%e, %p) {style=gptj, theta=100.0}; %y = rope(%f, %p) {style=gptj, theta=100.0}; " UPDATES
    "%a = attention(%x, %u, %w, _, _, _, %n) {scale=0.5, softcap=2.0}" RESULTS,
    /* factors, a part of the head, states of f16 */
    "%f = param \"f\" : f32[2]; " LEAVES("f16") PLACES PIECES
    "%x = rope(%q, %p, _, %f) {n_rot=4}; %y = rope(%k, %p, _, %f) {n_rot=4}; " UPDATES ATTENTION RESULTS,
    /* one rope for q and k */
    START CUT(b, r, 0, 3) "%z = rope(%b, %p); " CUT(x, z, 0, 2) CUT(y, z, 2, 3) UPDATES ATTENTION RESULTS,
    /* positions as rope's offset, or one for all rows; the key length the other way around */
    START "%x = rope(%q, _, %at); %y = rope(%k, _, %at); " UPDATES ATTENTION RESULTS,
    LEAVES("f32") PIECES "%p = reshape(%at) {shape=[1]}; %n = add(%one, %p); " ROPES UPDATES ATTENTION RESULTS,
    /* causal: by the length, by the offset, by both, with a window */
    STEP "%a = attention(%x, %u, %w, _, _, _, %n) {causal=true}" RESULTS,
    STEP "%a = attention(%x, %u, %w, _, _, _, _, %at) {causal=true}" RESULTS,
    STEP "%a = attention(%x, %u, %w, _, _, _, %n, %at) {causal=true, window=2}" RESULTS,
    /* other readers of the ropes and of the updated states */
    STEP ATTENTION RESULTS "; output \"x\" = %x; output \"y\" = %y",
    STEP ATTENTION "; %b = mul(%u, %w)" RESULTS "; output \"b\" = %b");
}

TEST(fuse_step_of_several_sequences) {
#define ROWS_OF(n, at)                                                                                  \
  "%r = input \"r\" : f32[3,1,4,8]; %s = state \"s\" : f16[3,6,1,8]; %t = state \"t\" : f16[3,6,1,8]; " \
  "%at = constant : i32[" n "] = [" at "]; %one = constant : i32[] = [1]; %n = add(%at, %one); " PIECES
  FUSED(ROWS_OF("3", "3, 0, 5") "%p = reshape(%at) {shape=[3,1]}; " ROPES UPDATES ATTENTION RESULTS,
        ROWS_OF("", "4") "%p = reshape(%at) {shape=[1]}; " ROPES UPDATES ATTENTION RESULTS);
#undef ROWS_OF
}

TEST(fuse_step_positions_that_differ) {
#define OTHER "%o = constant : i32[1] = [2]; "
  NOT_FUSED(
    /* of the value's update; of rope, for q, for k; of the keys */
    OTHER START ROPES "%u = update(%s, %y, %at) {axis=1}; %w = update(%t, %v, %o) {axis=1}; " ATTENTION RESULTS,
    OTHER START "%x = rope(%q, _, %o); %y = rope(%k, %p); " UPDATES ATTENTION RESULTS,
    OTHER START "%x = rope(%q, %p); %y = rope(%k, _, %o); " UPDATES ATTENTION RESULTS,
    OTHER STEP "%m = add(%o, %one); %a = attention(%x, %u, %w, _, _, _, %m)" RESULTS,
    STEP "%m = add(%at, %at); %a = attention(%x, %u, %w, _, _, _, %at)" RESULTS,
    STEP "%two = constant : i32[] = [2]; %m = add(%at, %two); %a = attention(%x, %u, %w, _, _, _, %m)" RESULTS,
    STEP "%m = sub(%at, %one); %a = attention(%x, %u, %w, _, _, _, %m)" RESULTS,
    /* all keys, though the offset is there: without a causal mask it does nothing */
    STEP "%a = attention(%x, %u, %w)" RESULTS, STEP "%a = attention(%x, %u, %w, _, _, _, _, %at)" RESULTS,
    STEP "%a = attention(%x, %u, %w) {causal=true}" RESULTS,
    OTHER STEP "%a = attention(%x, %u, %w, _, _, _, %n, %o) {causal=true}" RESULTS,
    /* rope without positions */
    START "%x = rope(%q); %y = rope(%k); " UPDATES ATTENTION RESULTS);
#undef OTHER
}

TEST(fuse_step_other_shapes_of_the_graph) {
  NOT_FUSED(
    /* masks; the other layout; two rows */
    STEP "%m = constant : bool[1,6] = [1, 1, 0, 1, 1, 1]; %a = attention(%x, %u, %w, %m, _, _, %n)" RESULTS,
    STEP "%b = input \"b\" : f32[1,2,1,6]; %a = attention(%x, %u, %w, _, %b, _, %n)" RESULTS,
    STEP "%k2 = param \"k2\" : f32[2]; %a = attention(%x, %u, %w, _, _, %k2, %n)" RESULTS,
    "%r = input \"r\" : f32[1,2,4,8]; %s = state \"s\" : f32[1,6,1,8]; %t = state \"t\" : f32[1,6,1,8]; "
    "%at = constant : i32[1] = [3]; %one = constant : i32[] = [1]; %n = add(%at, %one); "
    "%p = constant : i32[2] = [3, 4]; " PIECES ROPES UPDATES ATTENTION RESULTS,
    /* rotations, norms and tensors that differ; a norm of q alone; tables */
    START "%x = rope(%q, %p); %y = rope(%k, %p) {theta=100.0}; " UPDATES ATTENTION RESULTS,
    START "%x = rope(%q, %p) {style=gptj}; %y = rope(%k, %p); " UPDATES ATTENTION RESULTS,
    START "%x = rope(%q, %p); %y = rope(%k, %p) {n_rot=4}; " UPDATES ATTENTION RESULTS,
    "%f = param \"f\" : f32[4]; " START "%x = rope(%q, %p); %y = rope(%k, %p, _, %f); " UPDATES ATTENTION RESULTS,
    GAMMAS START NORMED "%x = rope(%e, %p); %y = rope(%k, %p); " UPDATES ATTENTION RESULTS,
    GAMMAS START "%e = rms_norm(%q, %gq) {eps=1e-6}; %f = rms_norm(%k, %gk) {eps=1e-3}; %x = rope(%e, %p); "
                 "%y = rope(%f, %p); " UPDATES ATTENTION RESULTS,
    "%c = param \"c\" : f32[9,4]; " START
    "%x = rope(%q, %p, _, _, %c, %c); %y = rope(%k, %p, _, _, %c, %c); " UPDATES ATTENTION RESULTS,
    START "%y = rope(%k, %p); " UPDATES "%a = attention(%q, %u, %w, _, _, _, %n)" RESULTS,
    "%l = input \"l\" : f32[1,1,4,8]; " LEAVES("f32") PLACES CUT(q, r, 0, 2) CUT(k, r, 2, 3) CUT(v, l, 3, 4)
      ROPES UPDATES ATTENTION RESULTS,
    /* a norm of all heads, before they are selected */
    "%g = param \"g\" : f32[8]; " START "%e = rms_norm(%r, %g); " CUT(b, e, 0, 3) "%z = rope(%b, %p); " CUT(x, z, 0, 2)
      CUT(y, z, 2, 3) UPDATES ATTENTION RESULTS,
    /* heads in another order, or heads that nobody reads */
    LEAVES("f32") PLACES CUT(q, r, 2, 4) CUT(k, r, 0, 1) CUT(v, r, 1, 2) ROPES UPDATES ATTENTION RESULTS,
    LEAVES("f32") PLACES CUT(q, r, 0, 1) CUT(k, r, 1, 2) CUT(v, r, 2, 3) ROPES UPDATES ATTENTION RESULTS,
    /* packed updates */
    START "%x = rope(%q, %p); %y = rope(%k, %p); %c = reshape(%y) {shape=[1,1,8]}; %d = reshape(%v) {shape=[1,1,8]}; "
          "%u = update(%s, %c, %at) {axis=1}; %w = update(%t, %d, %at) {axis=1}; " ATTENTION RESULTS);
}

/* What the device refuses stays as it was. */
static bool refuses_it(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user;
  *why = "no such kernel";
  return strcmp(rlx_node_op(g, n), "fused_rope_attention") != 0;
}
TEST(fuse_step_only_if_the_device_takes_it) {
  CASES_OF("fuse", BECOMES(STEP ATTENTION RESULTS,
                           LEAVES("f32") PLACES PIECES "%x = rope(%q, %p); %u = fused_rope_update(%s, %k, %at, %p); "
                                                       "%w = update(%t, %v, %at) {axis=1}; " ATTENTION RESULTS,
                           .tolerance = 1e-5, .supports = refuses_it));
}
