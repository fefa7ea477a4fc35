/* The passes: fold, dedupe, dead and hoist one by one, the pipeline as a whole, large graphs, failing allocations. The
 * rules of simplify and the patterns of fuse have their own files. */
#include "faults.h"
#include "pass_cases.h"

/* ---- fold ---------------------------------------------------------------------------------------------------- */

TEST(fold_computes_constants) {
  CASES_OF("fold",
           BECOMES("%a = constant : f32[2] = [1, 2]; %b = constant : f32[] = [3]; %c = mul(%a, %b); " Y(c),
                   "%c = constant : f32[2] = [3, 6]; " Y(c)),
           /* a chain becomes its last value; a value that is read elsewhere stays */
           BECOMES(X "%a = constant : f32[3] = [1, 2, 3]; %n = neg(%a); %m = exp(%n); %k = mul(%m, %n); "
                     "%z = add(%x, %k); %q = add(%z, %a); " Y(q),
                   X "%a = constant : f32[3] = [1, 2, 3]; "
                     "%k = constant : f32[3] = [-0.36787945, -0.27067056, -0.1493612]; %z = add(%x, %k); "
                     "%q = add(%z, %a); " Y(q)),
           BECOMES("%r = range() {start=2, step=3, count=[4]}; " Y(r), "%r = constant : i32[4] = [2, 5, 8, 11]; " Y(r)),
           /* views keep their bytes whatever their size */
           BECOMES("%a = constant : i32[2,2] = [1, 2, 3, 4]; %b = reshape(%a) {shape=[4]}; " Y(b),
                   "%b = constant : i32[4] = [1, 2, 3, 4]; " Y(b)),
           /* a region is folded through its body */
           BECOMES("%a = constant : f32[2] = [1, 2]; %r = region(%a) {body=graph { %p = input \"p\" : f32[2]; "
                   "%q = add(%p, %p); output \"q\" = %q }}; " Y(r),
                   "%r = constant : f32[2] = [2, 4]; " Y(r)),
           /* a value that an output names is kept, its own inputs are not */
           BECOMES("%a = constant : f32[] = [2]; %b = sqrt(%a); %c = mul(%b, %b); output \"b\" = %b; "
                   "output \"c\" = %c",
                   "%b = constant : f32[] = [1.4142135]; %c = constant : f32[] = [1.9999999]; output \"b\" = %b; "
                   "output \"c\" = %c"));
}

TEST(fold_leaves_what_it_must) {
  CASES_OF("fold", STAYS(X "%c = constant : f32[] = [1]; %y = add(%x, %c); " Y(y)),
           STAYS(X "%d = constant : f32[] = [1]; %y = neg(%x); " Y(y)),
           STAYS("%r = rng_uniform() {shape=[3], seed=4}; " Y(r)),
           STAYS("%d = constant : i32[] = [1]; %r = rng_normal(%d) {shape=[3], seed=4}; " Y(r)),
           /* larger than 64 KiB and than its inputs: a kept expand costs nothing until it is needed */
           STAYS("%s = constant : f32[] = [1]; %e = expand(%s) {shape=[128,129]}; " Y(e)),
           STAYS("%r = range() {count=[16385]}; " Y(r)),
           STAYS("%c = constant : bool[] = [1]; %v = constant : f32[] = [1]; "
                 "%r = if(%c, %v) {on_true=graph { %p = input \"p\" : f32[]; output \"q\" = %p }, "
                 "on_false=graph { %p = input \"p\" : f32[]; output \"q\" = %p }}; " Y(r)),
           STAYS("%s = state \"s\" : f32[2]; %v = constant : f32[1] = [1]; %at = constant : i32[] = [0]; "
                 "%u = update(%s, %v, %at); " Y(u)),
           /* a dead node is left for the pass that drops it */
           STAYS(X "%c = constant : f32[] = [1]; %d = neg(%c); %y = neg(%x); " Y(y)));
}

TEST(fold_keeps_run_time_errors) {
  rlx_graph *g = parse("%a = constant : f32[2] = [1, 2]; %i = constant : i32[1] = [7]; %g = gather(%a, %i); " Y(g));
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, "fold", NULL);
  CHECK(o != NULL);
  bool same = rlx_graph_same(g, rlx_optimized_graph(o));
  rlx_evaluator *e = NULL;
  rlx_status s = run_graph(rlx_optimized_graph(o), (filling){.seed = 0}, NULL, &e);
  rlx_evaluator_destroy(e);
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
  CHECK(same);
  CHECK_EQ_INT(s, RLX_INVALID);
}

/* ---- dedupe, dead -------------------------------------------------------------------------------------------- */

TEST(dedupe_merges) {
  CASES_OF("dedupe",
           BECOMES(X "%a = exp(%x); %b = exp(%x); %c = add(%a, %b); " Y(c), X "%a = exp(%x); %c = add(%a, %a); " Y(c)),
           /* chains merge in one traversal; operands of a commutative op in either order */
           BECOMES(X "%w = input \"w\" : f32[2,3]; %a = mul(%x, %w); %b = mul(%w, %x); %p = neg(%a); %q = neg(%b); "
                     "%c = sub(%p, %q); " Y(c),
                   X "%w = input \"w\" : f32[2,3]; %a = mul(%x, %w); %p = neg(%a); %c = sub(%p, %p); " Y(c)),
           BECOMES(X "%a = constant : f32[] = [2]; %b = constant : f32[] = [2]; %p = mul(%x, %a); %q = mul(%x, %b); "
                     "%c = add(%p, %q); " Y(c),
                   X "%a = constant : f32[] = [2]; %p = mul(%x, %a); %c = add(%p, %p); " Y(c)),
           BECOMES("%a = rng_uniform() {shape=[3], seed=4}; %b = rng_uniform() {shape=[3], seed=4}; "
                   "%c = add(%a, %b); " Y(c),
                   "%a = rng_uniform() {shape=[3], seed=4}; %c = add(%a, %a); " Y(c)),
           BECOMES(X "%a = softmax(%x) {axis=0}; %b = softmax(%x) {axis=0}; output \"a\" = %a; output \"b\" = %b",
                   X "%a = softmax(%x) {axis=0}; output \"a\" = %a; output \"b\" = %a"));
}

TEST(dedupe_leaves_what_differs) {
  CASES_OF(
    "dedupe", STAYS(X "%a = softmax(%x) {axis=0}; %b = softmax(%x); %c = add(%a, %b); " Y(c)),
    STAYS(X "%w = input \"w\" : f32[2,3]; %a = sub(%x, %w); %b = sub(%w, %x); %c = add(%a, %b); " Y(c)),
    STAYS(X "%a = constant : f32[] = [0]; %b = constant : f32[] = [-0]; %p = add(%x, %a); %q = add(%p, %b); " Y(q)),
    STAYS(X "%a = constant : f32[] = [1]; %b = constant : i32[] = [1065353216]; %d = cast(%b) {to=f32}; "
            "%p = add(%a, %d); " Y(p)),
    STAYS("%a = rng_uniform() {shape=[3], seed=4}; %b = rng_uniform() {shape=[3], seed=5}; %c = add(%a, %b); " Y(c)),
    STAYS("%s = state \"s\" : f32[4]; %v = input \"v\" : f32[1]; %at = constant : i32[] = [0]; "
          "%u = update(%s, %v, %at); %w = update(%u, %v, %at); " Y(w)));
}

TEST(dead_drops) {
  CASES_OF("dead",
           BECOMES(X "%a = exp(%x); %b = neg(%a); %c = constant : f32[] = [1]; %d = sqrt(%x); " Y(d),
                   X "%d = sqrt(%x); " Y(d)),
           /* the interface stays: an input, a param and a state that nothing reads */
           BECOMES(X "%u = input \"u\" : f32[1]; %p = param \"p\" : f32[1]; %s = state \"s\" : f32[1]; "
                     "%n = neg(%u); " Y(x),
                   X "%u = input \"u\" : f32[1]; %p = param \"p\" : f32[1]; %s = state \"s\" : f32[1]; " Y(x)),
           /* an update is an effect */
           STAYS(X "%s = state \"s\" : f32[4]; %v = input \"v\" : f32[1]; %at = constant : i32[] = [0]; "
                   "%n = neg(%v); %u = update(%s, %n, %at); " Y(x)),
           STAYS(X "%d = sqrt(%x); " Y(d)));
}

/* ---- hoist --------------------------------------------------------------------------------------------------- */

TEST(hoist_moves_weights_to_load) {
  CASES_OF("hoist",
           BECOMES(X "%w = param \"w\" : f32[4,3]; %u = param \"u\" : f32[4,3]; %c = concat(%w, %u); "
                     "%t = transpose(%c); %r = matmul(%x, %t); " Y(r),
                   X "%t = param \"hoisted.0\" : f32[3,8]; %r = matmul(%x, %t); " Y(r),
                   .load = "%w = param \"w\" : f32[4,3]; %u = param \"u\" : f32[4,3]; %c = concat(%w, %u); "
                           "%t = transpose(%c); output \"hoisted.0\" = %t",
                   .tolerance = 1e-6),
           /* a param that both graphs read stays in both; one that nothing reads stays; a view stays in the run
            * graph */
           BECOMES(X "%w = param \"w\" : f32[3]; %i = param \"i\" : f32[1]; %n = neg(%w); "
                     "%v = reshape(%n) {shape=[1,3]}; %a = add(%x, %v); %r = mul(%a, %w); " Y(r),
                   X "%w = param \"w\" : f32[3]; %i = param \"i\" : f32[1]; %n = param \"hoisted.0\" : f32[3]; "
                     "%v = reshape(%n) {shape=[1,3]}; %a = add(%x, %v); %r = mul(%a, %w); " Y(r),
                   .load = "%w = param \"w\" : f32[3]; %n = neg(%w); output \"hoisted.0\" = %n"),
           /* an output that is a weight's */
           BECOMES(X "%w = param \"w\" : f32[2]; %n = neg(%w); output \"n\" = %n; output \"x\" = %x",
                   X "%n = param \"hoisted.0\" : f32[2]; output \"n\" = %n; output \"x\" = %x",
                   .load = "%w = param \"w\" : f32[2]; %n = neg(%w); output \"hoisted.0\" = %n"),
           /* used names are skipped; a value read in two places is stored once */
           BECOMES(X "%w = param \"hoisted.0\" : f32[3]; %q = param \"q\" : q8_0[3,32]; %d = cast(%q) {to=f32}; "
                     "%n = exp(%w); %a = add(%x, %n); %b = mul(%a, %n); %r = matmul(%b, %d); " Y(r),
                   X "%d = param \"hoisted.1\" : f32[3,32]; %n = param \"hoisted.2\" : f32[3]; %a = add(%x, %n); "
                     "%b = mul(%a, %n); %r = matmul(%b, %d); " Y(r),
                   .load = "%w = param \"hoisted.0\" : f32[3]; %q = param \"q\" : q8_0[3,32]; "
                           "%d = cast(%q) {to=f32}; %n = exp(%w); output \"hoisted.1\" = %d; "
                           "output \"hoisted.2\" = %n",
                   .tolerance = 1e-4),
           /* constants may take part */
           BECOMES(X "%w = param \"w\" : f32[3]; %c = constant : f32[] = [2]; %n = mul(%w, %c); %a = mul(%x, %c); "
                     "%r = add(%a, %n); " Y(r),
                   X "%c = constant : f32[] = [2]; %n = param \"hoisted.0\" : f32[3]; %a = mul(%x, %c); "
                     "%r = add(%a, %n); " Y(r),
                   .load = "%w = param \"w\" : f32[3]; %c = constant : f32[] = [2]; %n = mul(%w, %c); "
                           "output \"hoisted.0\" = %n"));
}

TEST(hoist_leaves_what_is_free_or_runs) {
  CASES_OF("hoist", STAYS(X "%w = param \"w\" : f32[3]; %v = reshape(%w) {shape=[1,3]}; %r = add(%x, %v); " Y(r)),
           STAYS(X "%w = param \"w\" : f32[3]; %r = add(%x, %w); " Y(r)),
           STAYS(X "%u = rng_uniform() {shape=[3]}; %n = neg(%u); %r = add(%x, %n); " Y(r)),
           STAYS("%s = state \"s\" : f32[3]; %n = neg(%s); " Y(n)));
}

TEST(hoist_twice_extends_the_load_graph) {
  rlx_graph *g = parse(X "%w = param \"w\" : f32[3]; %u = param \"u\" : f32[3]; %n = neg(%w); %e = exp(%u); "
                         "%v = reshape(%n) {shape=[1,3]}; %a = add(%x, %v); %r = mul(%a, %e); " Y(r));
  CHECK(g != NULL);
  rlx_graph *once = NULL, *twice = NULL;
  rlx_pass_context ctx = {.load = NULL};
  const rlx_pass hoist = {"hoist", "", rlx_pass_hoist};
  CHECK_OK(rlx_pass_run(&hoist, g, &ctx, &once));
  CHECK_EQ_INT(rlx_graph_output_count(ctx.load), 2);
  /* The same graph with another weight-only node on top of a hoisted one and of an old param. */
  rlx_graph *more =
    parse(X "%n = param \"hoisted.0\" : f32[3]; %e = param \"hoisted.1\" : f32[3]; %w = param \"w\" : f32[3]; "
            "%s = sub(%n, %w); %a = add(%x, %s); %r = mul(%a, %e); " Y(r));
  CHECK(more != NULL);
  CHECK_OK(rlx_pass_run(&hoist, more, &ctx, &twice));
  compare_text(ctx.load,
               "%w = param \"w\" : f32[3]; %u = param \"u\" : f32[3]; %n = neg(%w); %e = exp(%u); %s = sub(%n, %w); "
               "output \"hoisted.1\" = %e; output \"hoisted.2\" = %s",
               "hoisting twice");
  compare_text(
    twice,
    X "%e = param \"hoisted.1\" : f32[3]; %s = param \"hoisted.2\" : f32[3]; %a = add(%x, %s); %r = mul(%a, %e); " Y(r),
    "hoisting twice");
  rlx_graph_destroy(ctx.load);
  rlx_graph_destroy(g);
  rlx_graph_destroy(once);
  rlx_graph_destroy(more);
  rlx_graph_destroy(twice);
}

/* ---- the pipeline -------------------------------------------------------------------------------------------- */

static const char block_text[] =
  "%x = input \"x\" : f32[1,4,8]; %g1 = param \"g1\" : f32[8]; %wq = param \"wq\" : f32[8,8]; "
  "%wk = param \"wk\" : f32[8,8]; %wv = param \"wv\" : f32[8,8]; "
  "%wo = param \"wo\" : f32[8,8]; %bo = param \"bo\" : f32[8]; %g2 = param \"g2\" : f32[8]; "
  "%wg = param \"wg\" : f32[16,8]; %wu = param \"wu\" : f32[16,8]; "
  "%wd = param \"wd\" : f32[8,16]; %two = constant : f32[] = [2]; %half = constant : f32[] = [0.5]; "
  "%scale = mul(%half, %half); %unused = exp(%x); "
  "%h = rms_norm(%x, %g1); %w = concat(%wq, %wk, %wv) {axis=1}; %qkv = matmul(%h, %w); "
  "%sq = slice(%qkv) {axes=[2], start=[0], stop=[8]}; %sk = slice(%qkv) {axes=[2], start=[8], stop=[16]}; "
  "%sv = slice(%qkv) {axes=[2], start=[16], stop=[24]}; "
  "%rq = reshape(%sq) {shape=[1,4,2,4]}; %rk = reshape(%sk) {shape=[1,4,2,4]}; %rv = reshape(%sv) {shape=[1,4,2,4]}; "
  "%tq = transpose(%rq) {perm=[0,2,1,3]}; %tk = transpose(%rk) {perm=[0,2,1,3]}; "
  "%tv = transpose(%rv) {perm=[0,2,1,3]}; %kt = transpose(%tk) {perm=[0,1,3,2]}; "
  "%s = matmul(%tq, %kt); %ss = mul(%s, %scale); "
  "%mask = constant : f32[4,4] = [0,-inf,-inf,-inf, 0,0,-inf,-inf, 0,0,0,-inf, 0,0,0,0]; %sm = add(%ss, %mask); "
  "%p = softmax(%sm); "
  "%o = matmul(%p, %tv); %to = transpose(%o) {perm=[0,2,1,3]}; %jo = reshape(%to) {shape=[1,4,8]}; "
  "%po = matmul(%jo, %wo); %ao = add(%po, %bo); %r1 = add(%x, %ao); "
  "%n = rms_norm(%r1, %g2); %tg = transpose(%wg); %tu = transpose(%wu); %gate = matmul(%n, %tg); "
  "%up = matmul(%n, %tu); %act = silu(%gate); %gu = mul(%act, %up); "
  "%td = transpose(%wd); %down = matmul(%gu, %td); %r2 = add(%r1, %down); %z = mul(%r2, %two); %zz = tanh(%z); "
  "output \"y\" = %zz";

TEST(the_pipeline_fuses_a_transformer_block) {
  rlx_graph *g = parse(block_text);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, NULL, NULL);
  CHECK(o != NULL);
  compare_text(
    rlx_optimized_graph(o),
    "%x = input \"x\" : f32[1,4,8]; %g1 = param \"g1\" : f32[8]; %wo = param \"wo\" : f32[8,8]; "
    "%bo = param \"bo\" : f32[8]; %g2 = param \"g2\" : f32[8]; "
    "%wg = param \"wg\" : f32[16,8]; %wu = param \"wu\" : f32[16,8]; %wd = param \"wd\" : f32[8,16]; "
    "%h = rms_norm(%x, %g1); %w = param \"hoisted.0\" : f32[8,24]; "
    "%ao = fused_attention_block(%h, %w, %wo, _, %bo) {heads=2, causal=true, scale=0.25}; %r1 = add(%x, %ao); "
    "%gu = fused_norm_gate_up(%r1, %wg, %wu, %g2) {trans_b=true, eps=1e-5}; %down = matmul(%gu, %wd) {trans_b=true}; "
    "%r = region(%r1, %down) {body=graph { %p = input \"x0\" : f32[1,4,8]; %q = input \"x1\" : f32[1,4,8]; "
    "%s = add(%p, %q); %c = constant : f32[] = [2]; %z = mul(%s, %c); "
    "%t = tanh(%z); output \"y\" = %t }}; output \"y\" = %r",
    "a transformer block");
  compare_text(rlx_optimized_load(o),
               "%wq = param \"wq\" : f32[8,8]; %wk = param \"wk\" : f32[8,8]; %wv = param \"wv\" : f32[8,8]; "
               "%w = concat(%wq, %wk, %wv) {axis=1}; output \"hoisted.0\" = %w",
               "its load graph");
  check_results(g, rlx_optimized_graph(o), rlx_optimized_load(o), 1e-5, "a transformer block");
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

TEST(the_pipeline_takes_odd_graphs) {
  static const char *const graphs[] = {
    X Y(x),                                                            /* an output that is an input */
    "%c = constant : f32[2] = [1, 2]; " Y(c),                          /* constants only */
    "%s = state \"s\" : f32[2]; output \"a\" = %s; output \"b\" = %s", /* two names for one value */
    "%z = input \"z\" : f32[0,3]; %e = exp(%z); %n = neg(%e); " Y(n),  /* nothing in it */
    "%w = param \"w\" : f32[2]; %n = neg(%w); " Y(n),                  /* weights only */
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    rlx_graph *g = parse(graphs[i]);
    CHECK(g != NULL);
    rlx_optimized *o = optimize(g, NULL, NULL);
    CHECK(o != NULL);
    check_results(g, rlx_optimized_graph(o), rlx_optimized_load(o), 0, graphs[i]);
    rlx_optimized_destroy(o);
    rlx_graph_destroy(g);
    if (test_has_failed()) return;
  }
}

TEST(each_pass_alone_and_each_left_out) {
  rlx_graph *g = parse(block_text);
  CHECK(g != NULL);
  for (size_t i = 0; i < rlx_pass_count(); i++) {
    const char *name = rlx_pass_name(i, NULL);
    for (int without = 0; without < 2; without++) {
      rlx_optimized *o = NULL;
      rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .passes = without ? NULL : name,
                                      .without = without ? name : NULL};
      CHECK_OK(rlx_optimize(g, &options, &o));
      check_results(g, rlx_optimized_graph(o), rlx_optimized_load(o), 1e-5, name);
      rlx_optimized_destroy(o);
      if (test_has_failed()) break;
    }
  }
  rlx_graph_destroy(g);
}

typedef struct seen_passes {
  char names[256];
  uint32_t last_size;
} seen_passes;

static void note_pass(void *user, const char *pass, const rlx_graph *g) {
  seen_passes *seen = user;
  strcat(seen->names, pass);
  strcat(seen->names, " ");
  seen->last_size = rlx_graph_size(g);
}

TEST(passes_are_chosen_by_name) {
  rlx_graph *g = parse(X "%a = neg(%x); %r = neg(%a); " Y(r));
  CHECK(g != NULL);
  seen_passes seen = {.names = ""};
  rlx_optimized *o;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .after = note_pass, .after_user = &seen};
  CHECK_OK(rlx_optimize(g, &options, &o));
  CHECK_EQ_STR(seen.names, "fold dedupe dead simplify idiom fuse legalise cleanup hoist ");
  CHECK_EQ_INT(seen.last_size, 1);
  CHECK(rlx_optimized_load(o) == NULL);
  rlx_optimized_destroy(o);

  seen = (seen_passes){.names = ""};
  options.without = "simplify,fuse";
  CHECK_OK(rlx_optimize(g, &options, &o));
  CHECK_EQ_STR(seen.names, "fold dedupe dead idiom legalise cleanup hoist ");
  CHECK_EQ_INT(seen.last_size, 3);
  rlx_optimized_destroy(o);

  seen = (seen_passes){.names = ""};
  options.passes = " dead, simplify ,dead";
  options.without = NULL;
  CHECK_OK(rlx_optimize(g, &options, &o));
  CHECK_EQ_STR(seen.names, "dead simplify dead ");
  rlx_optimized_destroy(o);

  options.passes = "";
  CHECK_OK(rlx_optimize(g, &options, &o));
  CHECK(rlx_graph_same(g, rlx_optimized_graph(o)));
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

TEST(bad_calls) {
  const char names[] = "fold, dedupe, dead, simplify, idiom, fuse, legalise, cleanup, hoist";
  rlx_graph *g = parse(X "%r = neg(%x); " Y(r)), *open = parse("symbols S\n%x = input \"x\" : f32[S]; " Y(x)),
            *unfinished = NULL;
  rlx_optimized *o = (rlx_optimized *)&o;
  char *text;
  CHECK(g && open);
  CHECK_FAILS(rlx_optimize(g, &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .passes = "fold,fodl"}, &o),
              RLX_NOT_FOUND, "'fodl'");
  CHECK(strstr(rlx_message(), names) != NULL);
  CHECK(o == NULL);
  CHECK_FAILS(rlx_optimize(g, &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .without = "x"}, &o), RLX_NOT_FOUND,
              names);
  CHECK_FAILS(rlx_optimize(g, &(rlx_optimize_options){.struct_bytes = 3}, &o), RLX_INVALID, "struct_bytes is 3");
  CHECK_FAILS(rlx_optimize(g,
                           &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST,
                                                   .without = "legalise"},
                           &o),
              RLX_INVALID, "legalise");
  CHECK_FAILS(rlx_optimize(NULL, NULL, &o), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_optimize(g, NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_optimize(open, NULL, &o), RLX_INVALID, "'S'");
  CHECK_OK(rlx_graph_create(&unfinished));
  CHECK_FAILS(rlx_optimize(unfinished, NULL, &o), RLX_INVALID, "not finished");
  CHECK_FAILS(rlx_optimized_report(NULL, false, &text), RLX_INVALID, "NULL");
  CHECK(rlx_optimized_graph(NULL) == NULL && rlx_optimized_load(NULL) == NULL);
  rlx_optimized_destroy(NULL);
  CHECK_OK(rlx_optimize(g, NULL, &o));
  CHECK_FAILS(rlx_optimized_report(o, false, NULL), RLX_INVALID, "text is NULL");
  CHECK_OK(rlx_optimized_report(o, true, &text));
  CHECK(strstr(text, "\"native\":1") != NULL);
  rlx_free(text);
  rlx_optimized_destroy(o);
  const char *doc = "";
  CHECK(rlx_pass_name(rlx_pass_count(), &doc) == NULL && doc == NULL);
  CHECK_EQ_STR(rlx_pass_name(0, &doc), "fold");
  CHECK(doc && *doc);
  rlx_graph_destroy(unfinished);
  rlx_graph_destroy(open);
  rlx_graph_destroy(g);
}

/* ---- size and memory ----------------------------------------------------------------------------------------- */

/* A chain that no pass can remove: a residual line of x = x + sin(x), every 8th a softmax. */
static rlx_graph *deep_graph(uint32_t n) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_node x =
    rlx_graph_add(g, RLX_OP_input, NULL, 0, &(rlx_attrs_input){.name = "x", .dtype = RLX_F32, .shape = RLX_DIMS(2)});
  while (rlx_graph_size(g) < n && x) {
    rlx_node s = rlx_graph_add(g, rlx_graph_size(g) % 8 ? RLX_OP_sin : RLX_OP_softmax, &x, 1, NULL), two[2] = {x, s};
    x = rlx_graph_add(g, RLX_OP_add, two, 2, NULL);
  }
  rlx_graph_add_output(g, "y", x);
  if (rlx_graph_finish(g)) {
    rlx_graph_destroy(g);
    return NULL;
  }
  return g;
}

TEST(a_deep_chain_needs_no_stack) {
  rlx_graph *g = deep_graph(200000);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, NULL, NULL);
  CHECK(o != NULL);
  CHECK(rlx_graph_size(rlx_optimized_graph(o)) < rlx_graph_size(g));
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

static rlx_status sweep_work(void *user) {
  rlx_optimized *o = NULL;
  RLX_TRY(rlx_optimize(user, NULL, &o));
  rlx_optimized_destroy(o);
  return RLX_OK;
}

TEST(every_allocation_may_fail) {
  static const char *const graphs[] = {
    block_text,
    /* idioms: a gelu, a norm with its gamma, a batch norm after a convolution */
    "%x = input \"x\" : f32[1,2,4,4]; %w = param \"w\" : f32[3,2,3,3]; %m = param \"m\" : f32[3]; "
    "%v = param \"v\" : f32[3]; %g = param \"g\" : f32[1,1,1,2]; %h = constant : f32[] = [0.5]; "
    "%o = constant : f32[] = [1]; %i = constant : f32[] = [0.70710677]; %c = conv(%x, %w); "
    "%n = batch_norm_inference(%c, %m, %v); %d = mul(%n, %i); %e = erf(%d); %s = add(%e, %o); %p = mul(%n, %s); "
    "%q = mul(%p, %h); %a = mul(%q, %q); %r = reduce_mean(%a) {axes=[3], keep=true}; %t = add(%r, %h); "
    "%u = rsqrt(%t); %k = mul(%q, %u); %y = mul(%k, %g); output \"y\" = %y",
    "%a = constant : f32[2] = [1, 2]; %b = exp(%a); %i = input \"i\" : i32[2]; %c = constant : i32[] = [2]; "
    "%d = constant : i32[] = [3]; %p = mul(%i, %c); %q = mul(%p, %d); "
    "%v = input \"v\" : f32[2,6]; %s = slice(%v) {axes=[1], start=[0], stop=[2]}; "
    "%t = slice(%v) {axes=[1], start=[2], stop=[5]}; %u = concat(%s, %t) {axis=1}; "
    "output \"b\" = %b; output \"q\" = %q; output \"u\" = %u",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    rlx_graph *g = parse(graphs[i]);
    CHECK(g != NULL);
    CHECK_OK(alloc_sweep(sweep_work, g));
    rlx_graph_destroy(g);
  }
}
