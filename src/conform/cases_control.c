/* Cases of control flow, regions and custom ops.
 *
 * A sub-graph that only one case needs is written in full; those that several cases share are macros. */
#include "conform/conform.h"

/* clang-format off */
/* A sub-graph of one vector: `expr` gives %y from %x. */
#define OF_X(type, expr) "graph { %x = input \"x\" : " type "; %y = " expr "; output \"y\" = %y }"
/* ... of two values, %a and %b. */
#define OF_AB(type_a, type_b, expr) "graph { %a = input \"a\" : " type_a "; %b = input \"b\" : " type_b "; %y = " expr \
  "; output \"y\" = %y }"

CASES(if,
  {"taken", "c: bool[] values(1); x: f32[3]",
            "if(%c, %x) {on_true=" OF_X("f32[3]", "neg(%x)") ", on_false=" OF_X("f32[3]", "exp(%x)") "}"},
  {"not_taken", "c: bool[] values(0); x: f32[3]",
                "if(%c, %x) {on_true=" OF_X("f32[3]", "neg(%x)") ", on_false=" OF_X("f32[3]", "exp(%x)") "}"},
  {"two_values", "c: bool[] values(1); a: f32[3,2]; b: f32[2]",
   "if(%c, %a, %b) {on_true=" OF_AB("f32[3,2]", "f32[2]", "mul(%a, %b)") ", on_false="
   OF_AB("f32[3,2]", "f32[2]", "sub(%a, %b)") "}"},
  {"second_output", "c: bool[] values(0); x: i32[4]",
   "if(%c, %x) {index=1, on_true=graph { %x = input \"x\" : i32[4]; %s = reduce_sum(%x); output \"x\" = %x; "
   "output \"s\" = %s }, "
   "on_false=graph { %x = input \"x\" : i32[4]; %m = reduce_max(%x); output \"x\" = %x; output \"m\" = %m }}"},
  {"both_outputs", "c: bool[] values(1); x: f32[5]",
   "%a = if(%c, %x) {index=0, on_true=graph { %x = input \"x\" : f32[5]; %e = exp(%x); output \"x\" = %x; "
   "output \"e\" = %e }, "
   "on_false=graph { %x = input \"x\" : f32[5]; output \"x\" = %x; output \"y\" = %x }}; "
   "%b = if(%c, %x) {index=1, on_true=graph { %x = input \"x\" : f32[5]; %e = exp(%x); output \"x\" = %x; "
   "output \"e\" = %e }, "
   "on_false=graph { %x = input \"x\" : f32[5]; output \"x\" = %x; output \"y\" = %x }}; add(%a, %b)"},
  {"no_values", "c: bool[] values(0)",
   "if(%c) {on_true=graph { %y = constant : f32[2] = [1,2]; "
   "output \"y\" = %y }, on_false=graph { %y = constant : f32[2] = [3,4]; output \"y\" = %y }}"},
  {"condition_computed", "x: f32[7]", "%m = reduce_mean(%x); %z = constant : f32[] = [0.0]; %c = gt(%m, %z); "
   "if(%c, %x) {on_true=" OF_X("f32[7]", "relu(%x)") ", on_false=" OF_X("f32[7]", "abs(%x)") "}"},
  {"nested", "c: bool[] values(1); d: bool[] values(0); x: f32[3]",
   "if(%c, %d, %x) {on_true=graph { %d = input \"d\" : bool[]; %x = input \"x\" : f32[3]; %y = if(%d, %x) {on_true="
   OF_X("f32[3]", "neg(%x)")
   ", on_false=" OF_X("f32[3]", "mul(%x, %x)") "}; output \"y\" = %y }, "
   "on_false=graph { %d = input \"d\" : bool[]; %x = input \"x\" : f32[3]; output \"y\" = %x }}"},
  {"empty", "c: bool[] values(1); x: f32[0,3]",
            "if(%c, %x) {on_true=" OF_X("f32[0,3]", "neg(%x)") ", on_false=" OF_X("f32[0,3]", "exp(%x)") "}"},
  {"larger_f16", "c: bool[] values(1); x: f16[20,30]",
                 "if(%c, %x) {on_true=" OF_X("f16[20,30]", "sigmoid(%x)") ", on_false=" OF_X("f16[20,30]", "exp(%x)")
                 "}"},
  {"bf16", "c: bool[] values(0); x: bf16[9]",
           "if(%c, %x) {on_true=" OF_X("bf16[9]", "neg(%x)") ", on_false=" OF_X("bf16[9]", "tanh(%x)") "}"});

/* While %i < %n: i counts up, x becomes step(x). Carried: i, x. */
#define COUNT_COND(type, rest) \
  "cond=graph { %i = input \"i\" : i32[]; %x = input \"x\" : " type "; %n = input \"n\" : i32[]; " rest \
  "%y = lt(%i, %n); output \"y\" = %y }"
#define COUNT_BODY(type, rest, step)                                                                                \
  "body=graph { %i = input \"i\" : i32[]; %x = input \"x\" : " type "; %n = input \"n\" : i32[]; " rest             \
  "%one = constant : i32[] = [1]; %j = add(%i, %one); %y = " step "; output \"i\" = %j; output \"x\" = %y }"
#define COUNT(type, step) COUNT_COND(type, "") ", " COUNT_BODY(type, "", step)
#define IXN(type, trips) "i: i32[] values(0); x: " type "; n: i32[] values(" #trips ")"

CASES(while,
  {"doubling", IXN("f32[3]", 5), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[3]", "add(%x, %x)") "}"},
  {"counter", IXN("f32[3]", 5), "while(%i, %x, %n) {carried=2, " COUNT("f32[3]", "add(%x, %x)") "}"},
  {"no_trips", IXN("f32[3]", 0), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[3]", "add(%x, %x)") "}"},
  {"one_trip", IXN("f32[2,2]", 1), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[2,2]", "matmul(%x, %x)") "}"},
  {"bounded", IXN("f32[3]", 50), "while(%i, %x, %n) {carried=2, index=1, max_trips=4, " COUNT("f32[3]", "sin(%x)") "}"},
  {"bound_past_the_end", IXN("f32[3]", 3), "while(%i, %x, %n) {carried=2, index=1, max_trips=400, "
                         COUNT("f32[3]", "sin(%x)") "}"},
  {"always_true_bounded", "x: f32[4]",
   "while(%x) {max_trips=7, cond=graph { %x = input \"x\" : f32[4]; %y = constant : bool[] = [1]; "
   "output \"y\" = %y }, body=" OF_X("f32[4]", "cos(%x)") "}"},
  {"weights_stay", "i: i32[] values(0); x: f32[2,4]; n: i32[] values(6); w: f32[4,4] range(-0.5,0.5)",
   "while(%i, %x, %n, %w) {carried=2, index=1, " COUNT_COND("f32[2,4]", "%w = input \"w\" : f32[4,4]; ") ", "
   COUNT_BODY("f32[2,4]", "%w = input \"w\" : f32[4,4]; %t = transpose(%w); %p = matmul(%x, %t); ", "tanh(%p)") "}"},
  {"newton_until_close", "r: f64[] values(3); x: f64[] values(9)",
   "while(%r, %x) {cond=graph { %r = input \"r\" : f64[]; %x = input \"x\" : f64[]; %q = mul(%r, %r); "
   "%d = sub(%q, %x); %e = abs(%d); %t = constant : f64[] = [1e-09]; "
   "%y = gt(%e, %t); output \"y\" = %y }, body=graph { %r = input \"r\" : f64[]; %x = input \"x\" : f64[]; "
   "%q = div(%x, %r); %s = add(%r, %q); %h = constant : f64[] = [0.5]; "
   "%y = mul(%s, %h); output \"y\" = %y }}"},
  {"swap", "a: f32[3]; b: f32[3]; i: i32[] values(0)",
   "while(%a, %b, %i) {carried=3, cond=graph { %a = input \"a\" : f32[3]; %b = input \"b\" : f32[3]; "
   "%i = input \"i\" : i32[]; %n = constant : i32[] = [3]; %y = lt(%i, %n); output \"y\" = %y }, "
   "body=graph { %a = input \"a\" : f32[3]; %b = input \"b\" : f32[3]; %i = input \"i\" : i32[]; "
   "%one = constant : i32[] = [1]; %j = add(%i, %one); "
   "output \"a\" = %b; output \"b\" = %a; output \"i\" = %j }}"},
  {"nested", IXN("f32[3]", 3),
   "while(%i, %x, %n) {carried=2, index=1, "
   COUNT("f32[3]", "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[3]", "sin(%x)") "}") "}"},
  {"both_results", IXN("i32[2]", 4),
   "%a = while(%i, %x, %n) {carried=2, index=0, " COUNT("i32[2]", "add(%x, %x)")
   "}; %b = while(%i, %x, %n) {carried=2, index=1, " COUNT("i32[2]", "add(%x, %x)") "}; add(%a, %b)"},
  {"empty", IXN("f32[0]", 3), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[0]", "add(%x, %x)") "}"},
  {"f16", IXN("f16[7]", 9), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f16[7]", "sin(%x)") "}"},
  {"bf16", IXN("bf16[7]", 3), "while(%i, %x, %n) {carried=2, index=1, " COUNT("bf16[7]", "tanh(%x)") "}"},
  {"larger", IXN("f32[17,20]", 2), "while(%i, %x, %n) {carried=2, index=1, " COUNT("f32[17,20]", "neg(%x)") "}"});

/* Running sum: carried s, scanned x; outputs the new s as carried value and as slice. */
#define RUNNING(type)                                                                                           \
  "body=graph { %s = input \"s\" : " type "; %x = input \"x\" : " type \
  "; %t = add(%s, %x); output \"s\" = %t; output \"t\" = %t }"

CASES(scan,
  {"running_sum", "s: f32[3]; x: f32[5,3]", "scan(%s, %x) {carried=1, index=1, " RUNNING("f32[3]") "}"},
  {"final_sum", "s: f32[3]; x: f32[5,3]", "scan(%s, %x) {carried=1, index=0, " RUNNING("f32[3]") "}"},
  {"from_the_end", "s: f32[3]; x: f32[5,3]", "scan(%s, %x) {carried=1, index=1, reverse=true, " RUNNING("f32[3]") "}"},
  {"scalars", "s: i64[]; x: i64[9]", "scan(%s, %x) {carried=1, index=1, " RUNNING("i64[]") "}"},
  {"map", "x: f32[4,2,3]", "scan(%x) {body=" OF_X("f32[2,3]", "softmax(%x)") "}"},
  {"two_scanned", "a: f32[4,3]; b: f32[4]",
                  "scan(%a, %b) {scanned=2, body=" OF_AB("f32[3]", "f32[]", "mul(%a, %b)") "}"},
  {"rest_stays", "h: f32[2,4]; x: f32[6,2,3]; wx: f32[3,4]; wh: f32[4,4]",
   "scan(%h, %x, %wx, %wh) {carried=1, index=1, body=graph { %h = input \"h\" : f32[2,4]; %x = input \"x\" : f32[2,3]; "
   "%wx = input \"wx\" : f32[3,4]; %wh = input \"wh\" : f32[4,4]; "
   "%t = transpose(%wh); %a = matmul(%x, %wx); %b = matmul(%h, %t); %c = add(%a, %b); %n = tanh(%c); "
   "output \"h\" = %n; output \"y\" = %n }}"},
  {"two_carried", "a: f32[]; b: f32[]; x: f32[7]",
   "scan(%a, %b, %x) {carried=2, index=1, body=graph { %a = input \"a\" : f32[]; %b = input \"b\" : f32[]; "
   "%x = input \"x\" : f32[]; %c = add(%b, %x); output \"a\" = %b; output \"b\" = %c }}"},
  {"both_results", "s: f32[3]; x: f32[5,3]",
   "%a = scan(%s, %x) {carried=1, index=0, " RUNNING("f32[3]") "}; %b = scan(%s, %x) {carried=1, index=1, "
   RUNNING("f32[3]") "}; mul(%a, %b)"},
  {"one_slice", "s: f32[3]; x: f32[1,3]", "scan(%s, %x) {carried=1, index=1, " RUNNING("f32[3]") "}"},
  {"no_slices", "s: f32[3]; x: f32[0,3]", "scan(%s, %x) {carried=1, index=1, " RUNNING("f32[3]") "}"},
  {"no_slices_final", "s: f32[3]; x: f32[0,3]", "scan(%s, %x) {carried=1, index=0, " RUNNING("f32[3]") "}"},
  {"empty_slices", "s: f32[0]; x: f32[4,0]", "scan(%s, %x) {carried=1, index=1, " RUNNING("f32[0]") "}"},
  {"nested", "s: f32[]; x: f32[3,4]",
   "scan(%s, %x) {carried=1, index=1, body=graph { %s = input \"s\" : f32[]; %x = input \"x\" : f32[4]; "
   "%t = scan(%s, %x) {carried=1, index=0, " RUNNING("f32[]") "}; "
   "output \"s\" = %t; output \"t\" = %t }}"},
  {"slice_of_bool", "x: i32[6,2]; z: i32[2] values(0)",
                    "scan(%x, %z) {body=" OF_AB("i32[2]", "i32[2]", "gt(%a, %b)") "}"},
  {"f16", "s: f16[5]; x: f16[9,5]", "scan(%s, %x) {carried=1, index=1, " RUNNING("f16[5]") "}"},
  {"bf16", "s: bf16[2]; x: bf16[4,2]", "scan(%s, %x) {carried=1, index=1, " RUNNING("bf16[2]") "}"},
  {"f64_larger", "s: f64[10]; x: f64[40,10]",
                 "scan(%s, %x) {carried=1, index=1, reverse=true, " RUNNING("f64[10]") "}"});

CASES(region,
  {"tiny", "x: f32[1]", "region(%x) {body=" OF_X("f32[1]", "neg(%x)") "}"},
  {"chain", "a: f32[7]; b: f32[7]",
   "region(%a, %b) {body=graph { %a = input \"a\" : f32[7]; %b = input \"b\" : f32[7]; %s = add(%a, %b); %e = exp(%s); "
   "%m = mul(%e, %a); %y = tanh(%m); output \"y\" = %y }}"},
  {"broadcast", "a: f32[4,1,5]; b: f32[3,1]; c: f32[]",
   "region(%a, %b, %c) {body=graph { %a = input \"a\" : f32[4,1,5]; %b = input \"b\" : f32[3,1]; "
   "%c = input \"c\" : f32[]; %s = sub(%a, %b); %y = mul(%s, %c); output \"y\" = %y }}"},
  {"constant_inside", "x: f32[3,4]", "region(%x) {body=graph { %x = input \"x\" : f32[3,4]; "
                      "%k = constant : f32[4] = [1,2,3,4]; %m = mul(%x, %k); %y = silu(%m); output \"y\" = %y }}"},
  {"choose", "a: f32[3,5]; b: f32[5]",
   "region(%a, %b) {body=graph { %a = input \"a\" : f32[3,5]; %b = input \"b\" : f32[5]; %c = lt(%a, %b); "
   "%s = sqrt(%a); %y = where(%c, %b, %s); output \"y\" = %y }}"},
  {"rounds_each_step", "x: f16[33]", "region(%x) {body=graph { %x = input \"x\" : f16[33]; %q = mul(%x, %x); "
                       "%k = constant : f16[] = [1024.0]; %s = add(%q, %k); %y = sub(%s, %k); output \"y\" = %y }}"},
  {"casts", "x: f32[19]", "region(%x) {body=graph { %x = input \"x\" : f32[19]; %h = cast(%x) {to=bf16}; "
            "%i = cast(%x) {to=i32}; %j = cast(%i) {to=bf16}; %y = add(%h, %j); output \"y\" = %y }}"},
  {"integers", "a: i32[9]; b: i32[9] range(1,9)",
   "region(%a, %b) {body=graph { %a = input \"a\" : i32[9]; %b = input \"b\" : i32[9]; %q = div(%a, %b); "
   "%m = mul(%q, %b); %y = bit_xor(%m, %a); output \"y\" = %y }}"},
  {"bool_result", "a: f32[9]; b: f32[9]",
   "region(%a, %b) {body=graph { %a = input \"a\" : f32[9]; %b = input \"b\" : f32[9]; %l = lt(%a, %b); "
   "%g = gt(%a, %b); %o = or(%l, %g); %y = not(%o); output \"y\" = %y }}"},
  {"unused_input", "a: f32[3]; b: f32[2,3]", "region(%a, %b) {body=" OF_AB("f32[3]", "f32[2,3]", "neg(%a)") "}"},
  {"empty", "x: f32[3,0]", "region(%x) {body=" OF_X("f32[3,0]", "exp(%x)") "}"},
  {"special", "a: f32[24] special; b: f32[24]",
   "region(%a, %b) {body=graph { %a = input \"a\" : f32[24] ; %b = input \"b\" : f32[24]; %m = max(%a, %b); "
   "%y = add(%m, %a); output \"y\" = %y }}"},
  {"f64", "x: f64[11]", "region(%x) {body=graph { %x = input \"x\" : f64[11]; %e = exp(%x); %y = reciprocal(%e); "
          "output \"y\" = %y }}"},
  {"larger", "a: f32[19,30]; b: f32[30]",
   "region(%a, %b) {body=graph { %a = input \"a\" : f32[19,30]; %b = input \"b\" : f32[30]; %s = add(%a, %b); "
   "%y = gelu(%s); output \"y\" = %y }}"});

CASES(custom,
  {"tiny", "a: f32[1]; b: f32[1]", "custom(%a, %b) {name=\"rlx.test.scale_add\"}"},
  {"no_config", "a: f32[3,5]; b: f32[3,5]", "custom(%a, %b) {name=\"rlx.test.scale_add\"}"},
  {"config", "a: f32[3,5]; b: f32[3,5]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"-2.5\"}"},
  {"scalar", "a: f32[]; b: f32[]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"3\"}"},
  {"same_input_twice", "a: f32[4]", "custom(%a, %a) {name=\"rlx.test.scale_add\", config=\"2\"}"},
  {"in_a_chain", "a: f32[4]; b: f32[4]",
                 "%e = exp(%a); %c = custom(%e, %b) {name=\"rlx.test.scale_add\", config=\"0.5\"}; neg(%c)"},
  {"in_a_loop", "x: f32[5,3]; b: f32[3]",
                "scan(%x, %b) {body=" OF_AB("f32[3]", "f32[3]",
                "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"4\"}") "}"},
  {"empty", "a: f32[2,0]; b: f32[2,0]", "custom(%a, %b) {name=\"rlx.test.scale_add\"}"},
  {"special", "a: f32[24] special; b: f32[24]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"2\"}"},
  {"larger", "a: f32[20,30]; b: f32[20,30]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"1e-2\"}"},
  {"f16", "a: f16[9]; b: f16[9]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"1.5\"}"},
  {"bf16", "a: bf16[9]; b: bf16[9]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"1.5\"}"},
  {"f64", "a: f64[9]; b: f64[9]", "custom(%a, %b) {name=\"rlx.test.scale_add\", config=\"1.5\"}"});
/* clang-format on */
