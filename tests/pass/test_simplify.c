/* The rules of simplify, one by one: what each removes, and similar cases that must not change. */
#include "pass_cases.h"

/* ---- simplify: values ---------------------------------------------------------------------------------------- */

TEST(simplify_operands_that_do_nothing) {
  CASES_OF("simplify", BECOMES(X F("-0") "%r = add(%x, %c); " Y(r), X Y(x)),
           BECOMES(X F("-0") "%r = add(%c, %x); " Y(r), X Y(x)), STAYS(X F("0") "%r = add(%x, %c); " Y(r)),
           BECOMES(I N("0") "%r = add(%i, %c); " Y(r), I Y(i)), STAYS(I N("1") "%r = add(%i, %c); " Y(r)),
           BECOMES(X F("0") "%r = sub(%x, %c); " Y(r), X Y(x)), STAYS(X F("-0") "%r = sub(%x, %c); " Y(r)),
           STAYS(X F("0") "%r = sub(%c, %x); " Y(r)), BECOMES(X F("1") "%r = mul(%x, %c); " Y(r), X Y(x)),
           BECOMES(X F("1") "%r = mul(%c, %x); " Y(r), X Y(x)), STAYS(X F("-1") "%r = mul(%x, %c); " Y(r)),
           STAYS(X F("0") "%r = mul(%x, %c); " Y(r)), BECOMES(X F("1") "%r = div(%x, %c); " Y(r), X Y(x)),
           STAYS(X F("1") "%r = div(%c, %x); " Y(r)), BECOMES(I N("1") "%r = div(%i, %c); " Y(r), I Y(i)),
           BECOMES(X F("1") "%r = pow(%x, %c); " Y(r), X Y(x)), STAYS(X F("0") "%r = pow(%x, %c); " Y(r)),
           BECOMES(X F("-inf") "%r = max(%x, %c); " Y(r), X Y(x)), STAYS(X F("inf") "%r = max(%x, %c); " Y(r)),
           BECOMES(X F("inf") "%r = min(%x, %c); " Y(r), X Y(x)), STAYS(X F("-inf") "%r = min(%x, %c); " Y(r)),
           BECOMES(B T("1") "%r = and(%b, %c); " Y(r), B Y(b)), BECOMES(B T("0") "%r = or(%c, %b); " Y(r), B Y(b)),
           BECOMES(B T("0") "%r = xor(%b, %c); " Y(r), B Y(b)), STAYS(B T("1") "%r = xor(%b, %c); " Y(r)),
           BECOMES(I N("-1") "%r = bit_and(%i, %c); " Y(r), I Y(i)), STAYS(I N("3") "%r = bit_and(%i, %c); " Y(r)),
           BECOMES("%u = input \"u\" : u8[3]; %c = constant : u8[] = [255]; %r = bit_and(%u, %c); " Y(r),
                   "%u = input \"u\" : u8[3]; " Y(u)),
           BECOMES(I N("0") "%r = bit_or(%i, %c); " Y(r), I Y(i)),
           BECOMES(I N("0") "%r = bit_xor(%i, %c); " Y(r), I Y(i)), BECOMES(I N("0") "%r = shl(%i, %c); " Y(r), I Y(i)),
           BECOMES(I N("0") "%r = shr(%i, %c); " Y(r), I Y(i)), STAYS(I N("0") "%r = shr(%c, %i); " Y(r)),
           /* a constant of equal elements; one that is not; one that gives the result its shape */
           BECOMES(X "%c = constant : f32[3] = [1, 1, 1]; %r = mul(%x, %c); " Y(r), X Y(x)),
           STAYS(X "%c = constant : f32[3] = [1, 1, 2]; %r = mul(%x, %c); " Y(r)),
           BECOMES(X "%c = constant : f32[2,1,1] = [1, 1]; %r = mul(%x, %c); " Y(r),
                   X "%r = expand(%x) {shape=[2,2,3]}; " Y(r)));
}

TEST(simplify_operands_that_decide) {
  CASES_OF("simplify",
           BECOMES(I "%c = constant : i32[2,3] = [0, 0, 0, 0, 0, 0]; %r = mul(%i, %c); " Y(r),
                   I "%c = constant : i32[2,3] = [0, 0, 0, 0, 0, 0]; " Y(c)),
           BECOMES(I N("0") "%r = mul(%i, %c); " Y(r), I N("0") "%r = expand(%c) {shape=[2,3]}; " Y(r)),
           STAYS(I N("2") "%r = mul(%i, %c); " Y(r)),
           BECOMES(B T("0") "%r = and(%b, %c); " Y(r), B T("0") "%r = expand(%c) {shape=[2,3]}; " Y(r)),
           BECOMES(B T("1") "%r = or(%b, %c); " Y(r), B T("1") "%r = expand(%c) {shape=[2,3]}; " Y(r)),
           BECOMES(I N("0") "%r = bit_and(%i, %c); " Y(r), I N("0") "%r = expand(%c) {shape=[2,3]}; " Y(r)),
           BECOMES(I N("-1") "%r = bit_or(%i, %c); " Y(r), I N("-1") "%r = expand(%c) {shape=[2,3]}; " Y(r)),
           STAYS(I N("1") "%r = bit_or(%i, %c); " Y(r)));
}

TEST(simplify_same_operands_and_repetition) {
  CASES_OF("simplify", BECOMES(X "%r = max(%x, %x); " Y(r), X Y(x)), BECOMES(X "%r = min(%x, %x); " Y(r), X Y(x)),
           STAYS(X "%r = sub(%x, %x); " Y(r)), STAYS(X "%r = add(%x, %x); " Y(r)),
           BECOMES(B "%r = and(%b, %b); " Y(r), B Y(b)), BECOMES(B "%r = or(%b, %b); " Y(r), B Y(b)),
           STAYS(B "%r = xor(%b, %b); " Y(r)), BECOMES(I "%r = bit_and(%i, %i); " Y(r), I Y(i)),
           BECOMES(I "%r = bit_or(%i, %i); " Y(r), I Y(i)), STAYS(I "%r = bit_xor(%i, %i); " Y(r)),
           BECOMES(X "%a = neg(%x); %r = neg(%a); " Y(r), X Y(x)),
           BECOMES(I "%a = neg(%i); %r = neg(%a); " Y(r), I Y(i)), STAYS(X "%a = abs(%x); %r = neg(%a); " Y(r)),
           BECOMES(B "%a = not(%b); %r = not(%a); " Y(r), B Y(b)),
           BECOMES(X "%a = abs(%x); %r = abs(%a); " Y(r), X "%a = abs(%x); " Y(a)),
           BECOMES(X "%a = neg(%x); %r = abs(%a); " Y(r), X "%a = abs(%x); " Y(a)),
           BECOMES(I "%a = neg(%i); %r = abs(%a); " Y(r), I "%a = abs(%i); " Y(a)),
           BECOMES(X "%a = relu(%x); %r = relu(%a); " Y(r), X "%a = relu(%x); " Y(a)),
           STAYS(X "%a = relu(%x); %r = abs(%a); " Y(r)),
           BECOMES(X "%a = sign(%x); %r = sign(%a); " Y(r), X "%a = sign(%x); " Y(a)),
           BECOMES(X "%a = floor(%x); %r = floor(%a); " Y(r), X "%a = floor(%x); " Y(a)),
           BECOMES(X "%a = round(%x); %r = ceil(%a); " Y(r), X "%a = round(%x); " Y(a)),
           BECOMES(X "%a = ceil(%x); %r = round(%a); " Y(r), X "%a = ceil(%x); " Y(a)),
           STAYS(X "%a = exp(%x); %r = floor(%a); " Y(r)), STAYS(X "%a = exp(%x); %r = exp(%a); " Y(r)),
           STAYS(X "%a = exp(%x); %r = log(%a); " Y(r)));
}

TEST(simplify_signs_of_operands) {
  CASES_OF("simplify",
           BECOMES(X "%w = input \"w\" : f32[3]; %n = neg(%w); %r = add(%x, %n); " Y(r),
                   X "%w = input \"w\" : f32[3]; %r = sub(%x, %w); " Y(r)),
           BECOMES(X "%w = input \"w\" : f32[3]; %n = neg(%w); %r = add(%n, %x); " Y(r),
                   X "%w = input \"w\" : f32[3]; %r = sub(%x, %w); " Y(r)),
           BECOMES(X "%w = input \"w\" : f32[3]; %n = neg(%w); %r = sub(%x, %n); " Y(r),
                   X "%w = input \"w\" : f32[3]; %r = add(%x, %w); " Y(r)),
           STAYS(X "%w = input \"w\" : f32[3]; %n = neg(%w); %r = sub(%n, %x); " Y(r)));
}

TEST(simplify_clamp) {
  CASES_OF(
    "simplify", BECOMES(X "%r = clamp(%x); " Y(r), X Y(x)), BECOMES(I "%r = clamp(%i); " Y(r), I Y(i)),
    STAYS(X "%r = clamp(%x) {lo=0}; " Y(r)),
    BECOMES(X "%a = clamp(%x) {lo=0}; %r = clamp(%a) {hi=1}; " Y(r), X "%r = clamp(%x) {lo=0, hi=1}; " Y(r)),
    BECOMES(X "%a = clamp(%x) {lo=-1, hi=0.3}; %r = clamp(%a) {lo=0.1, hi=2}; " Y(r),
            X "%r = clamp(%x) {lo=0.1, hi=0.3}; " Y(r)),
    /* equal bounds: the inner one determines the element */
    BECOMES(X "%a = clamp(%x) {lo=-0, hi=1}; %r = clamp(%a) {lo=0, hi=1}; " Y(r),
            X "%r = clamp(%x) {lo=-0, hi=1}; " Y(r)),
    /* ranges that do not overlap, and one that is empty for integers */
    STAYS(X "%a = clamp(%x) {lo=0, hi=1}; %r = clamp(%a) {lo=2, hi=3}; " Y(r)),
    STAYS(I "%a = clamp(%i) {lo=0.2, hi=0.8}; %r = clamp(%a) {lo=0.5, hi=3}; " Y(r)),
    BECOMES(I "%a = clamp(%i) {lo=-2.5}; %r = clamp(%a) {hi=1.5}; " Y(r), I "%r = clamp(%i) {lo=-2, hi=1}; " Y(r)));
}

TEST(simplify_where) {
  CASES_OF("simplify", BECOMES(B X "%r = where(%b, %x, %x); " Y(r), B X Y(x)),
           BECOMES("%b = input \"b\" : bool[2,2,3]\n" X "%r = where(%b, %x, %x); " Y(r),
                   "%b = input \"b\" : bool[2,2,3]\n" X "%r = expand(%x) {shape=[2,2,3]}; " Y(r)),
           BECOMES(X "%w = input \"w\" : f32[3]; " T("1") "%r = where(%c, %x, %w); " Y(r),
                   X "%w = input \"w\" : f32[3]; " Y(x)),
           BECOMES(X "%w = input \"w\" : f32[3]; " T("0") "%r = where(%c, %x, %w); " Y(r),
                   X "%w = input \"w\" : f32[3]; %r = expand(%w) {shape=[2,3]}; " Y(r)),
           STAYS(X "%w = input \"w\" : f32[3]; %c = constant : bool[3] = [0, 1, 0]; %r = where(%c, %x, %w); " Y(r)));
}

TEST(simplify_cast) {
  CASES_OF("simplify", BECOMES(X "%r = cast(%x) {to=f32}; " Y(r), X Y(x)), STAYS(X "%r = cast(%x) {to=f16}; " Y(r)),
           BECOMES("%h = input \"h\" : f16[3]; %a = cast(%h) {to=f32}; %r = cast(%a) {to=f16}; " Y(r),
                   "%h = input \"h\" : f16[3]; " Y(h)),
           BECOMES("%h = input \"h\" : bf16[3]; %a = cast(%h) {to=f32}; %r = cast(%a) {to=f64}; " Y(r),
                   "%h = input \"h\" : bf16[3]; %r = cast(%h) {to=f64}; " Y(r)),
           STAYS("%h = input \"h\" : f16[3]; %a = cast(%h) {to=bf16}; %r = cast(%a) {to=f16}; " Y(r)),
           STAYS("%h = input \"h\" : bf16[3]; %a = cast(%h) {to=f16}; %r = cast(%a) {to=bf16}; " Y(r)),
           STAYS(X "%a = cast(%x) {to=f16}; %r = cast(%a) {to=f32}; " Y(r)),
           STAYS(I "%a = cast(%i) {to=f32}; %r = cast(%a) {to=i32}; " Y(r)),
           BECOMES(I "%a = cast(%i) {to=f64}; %r = cast(%a) {to=i32}; " Y(r), I Y(i)),
           BECOMES("%u = input \"u\" : u8[3]; %a = cast(%u) {to=bf16}; %r = cast(%a) {to=i8}; " Y(r),
                   "%u = input \"u\" : u8[3]; %r = cast(%u) {to=i8}; " Y(r)),
           STAYS("%u = input \"u\" : u8[3]; %a = cast(%u) {to=i8}; %r = cast(%a) {to=u8}; " Y(r)),
           STAYS(I "%a = cast(%i) {to=bool}; %r = cast(%a) {to=i32}; " Y(r)),
           BECOMES(B "%a = cast(%b) {to=f16}; %r = cast(%a) {to=bool}; " Y(r), B Y(b)),
           BECOMES("%q = param \"q\" : q8_0[2,32]; %a = cast(%q) {to=f32}; %r = cast(%a) {to=f16}; " Y(r),
                   "%q = param \"q\" : q8_0[2,32]; %r = cast(%q) {to=f16}; " Y(r)),
           STAYS("%q = param \"q\" : q8_0[2,32]; %a = cast(%q) {to=f32}; %r = cast(%a) {to=i8}; " Y(r)));
}

TEST(simplify_chains_of_constants) {
#define TWO(type, op, a, b, d) \
  type "%c = constant : " a "; %d = constant : " b "; %p = " op "(%" d ", %c); %r = " op "(%p, %d); " Y(r)
  CASES_OF("simplify",
           BECOMES(TWO(I, "add", "i32[] = [2147483647]", "i32[] = [5]", "i"),
                   I "%c = constant : i32[] = [-2147483644]; %r = add(%i, %c); " Y(r)),
           BECOMES(TWO(I, "mul", "i32[] = [3]", "i32[1] = [-5]", "i"),
                   I "%c = constant : i32[1] = [-15]; %r = mul(%i, %c); " Y(r)),
           BECOMES(TWO(X, "mul", "f32[] = [4]", "f32[] = [-2]", "x"),
                   X "%c = constant : f32[] = [-8]; %r = mul(%x, %c); " Y(r)),
           STAYS(TWO(X, "mul", "f32[] = [0.5]", "f32[] = [2]", "x")),
           STAYS(TWO(X, "mul", "f32[] = [3]", "f32[] = [2]", "x")),
           STAYS(TWO(X, "mul", "f32[] = [1.7014118e38]", "f32[] = [4]", "x")),
           STAYS(TWO(X, "add", "f32[] = [1]", "f32[] = [2]", "x")),
           /* a constant that broadcasts the other operand is part of the shape */
           STAYS("%s = input \"s\" : i32[]; %c = constant : i32[1] = [2]; %d = constant : i32[] = [3]; "
                 "%p = add(%s, %c); %r = add(%p, %d); " Y(r)));
#undef TWO
}

/* ---- simplify: layout ---------------------------------------------------------------------------------------- */

TEST(simplify_reshape_and_transpose) {
  CASES_OF(
    "simplify", BECOMES(X "%r = reshape(%x) {shape=[2,-1]}; " Y(r), X Y(x)),
    STAYS(X "%r = reshape(%x) {shape=[3,2]}; " Y(r)),
    BECOMES(X "%a = reshape(%x) {shape=[6]}; %r = reshape(%a) {shape=[3,-1]}; " Y(r),
            X "%r = reshape(%x) {shape=[3,2]}; " Y(r)),
    BECOMES(X "%a = reshape(%x) {shape=[6]}; %r = reshape(%a) {shape=[2,3]}; " Y(r), X Y(x)),
    BECOMES(X "%r = transpose(%x) {perm=[0,1]}; " Y(r), X Y(x)), STAYS(X "%r = transpose(%x); " Y(r)),
    BECOMES(X "%a = transpose(%x); %r = transpose(%a); " Y(r), X Y(x)),
    BECOMES("%v = input \"v\" : f32[2,3,4]; %a = transpose(%v) {perm=[1,2,0]}; "
            "%r = transpose(%a) {perm=[0,2,-2]}; " Y(r),
            "%v = input \"v\" : f32[2,3,4]; %r = transpose(%v) {perm=[1,0,2]}; " Y(r)),
    /* an axis of one element moves nothing */
    BECOMES("%v = input \"v\" : f32[2,1,4]; %r = transpose(%v) {perm=[1,0,2]}; " Y(r),
            "%v = input \"v\" : f32[2,1,4]; %r = reshape(%v) {shape=[1,2,4]}; " Y(r)),
    STAYS("%v = input \"v\" : f32[2,1,4]; %r = transpose(%v) {perm=[1,2,0]}; " Y(r)),
    BECOMES("%v = input \"v\" : f32[2,1,4]; %a = transpose(%v) {perm=[1,0,2]}; %r = reshape(%a) {shape=[8]}; " Y(r),
            "%v = input \"v\" : f32[2,1,4]; %r = reshape(%v) {shape=[8]}; " Y(r)),
    BECOMES("%z = input \"z\" : f32[0,3]; %a = reshape(%z) {shape=[3,0]}; %r = reshape(%a) {shape=[0,5]}; " Y(r),
            "%z = input \"z\" : f32[0,3]; %r = reshape(%z) {shape=[0,5]}; " Y(r)));
}

TEST(simplify_matmul_of_transpose) {
  CASES_OF("simplify",
           BECOMES(X "%w = param \"w\" : f32[4,3]; %t = transpose(%w); %r = matmul(%x, %t); " Y(r),
                   X "%w = param \"w\" : f32[4,3]; %r = matmul(%x, %w) {trans_b=true}; " Y(r)),
           BECOMES(X "%w = param \"w\" : f32[3,4]; %t = transpose(%w); %r = matmul(%x, %t) {trans_b=true}; " Y(r),
                   X "%w = param \"w\" : f32[3,4]; %r = matmul(%x, %w); " Y(r)),
           BECOMES("%v = input \"v\" : f32[5,2,3]; %w = input \"w\" : f32[5,4,3]; "
                   "%t = transpose(%w) {perm=[0,2,1]}; %r = matmul(%v, %t); " Y(r),
                   "%v = input \"v\" : f32[5,2,3]; %w = input \"w\" : f32[5,4,3]; "
                   "%r = matmul(%v, %w) {trans_b=true}; " Y(r)),
           STAYS("%v = input \"v\" : f32[5,2,3]; %w = input \"w\" : f32[3,5,4]; %t = transpose(%w) {perm=[1,0,2]}; "
                 "%r = matmul(%v, %t); " Y(r)),
           STAYS(X "%w = input \"w\" : f32[4,2]; %t = transpose(%x); %r = matmul(%t, %w) {trans_b=true}; " Y(r)));
}

TEST(simplify_expand) {
  CASES_OF("simplify", BECOMES(X "%r = expand(%x) {shape=[2,-1]}; " Y(r), X Y(x)),
           STAYS(X "%r = expand(%x) {shape=[4,2,3]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[1,3]; %a = expand(%v) {shape=[2,3]}; %r = expand(%a) {shape=[4,2,3]}; " Y(r),
                   "%v = input \"v\" : f32[1,3]; %r = expand(%v) {shape=[4,2,3]}; " Y(r)),
           /* broadcasting does it */
           BECOMES(X "%v = input \"v\" : f32[3]; %e = expand(%v) {shape=[2,3]}; %r = add(%x, %e); " Y(r),
                   X "%v = input \"v\" : f32[3]; %r = add(%x, %v); " Y(r)),
           BECOMES(X B "%v = input \"v\" : f32[3]; %e = expand(%v) {shape=[2,3]}; %r = where(%b, %e, %x); " Y(r),
                   X B "%v = input \"v\" : f32[3]; %r = where(%b, %v, %x); " Y(r)),
           /* unless the result has its shape from there */
           STAYS(X "%v = input \"v\" : f32[3]; %e = expand(%v) {shape=[4,2,3]}; %r = add(%x, %e); " Y(r)),
           BECOMES("%u = input \"u\" : f32[2,1]; %v = input \"v\" : f32[3]; %d = expand(%u) {shape=[2,3]}; "
                   "%e = expand(%v) {shape=[2,3]}; %r = lt(%d, %e); " Y(r),
                   "%u = input \"u\" : f32[2,1]; %v = input \"v\" : f32[3]; %r = lt(%u, %v); " Y(r)),
           STAYS("%v = input \"v\" : f32[3]; %e = expand(%v) {shape=[2,3]}; %r = exp(%e); " Y(r)));
}

TEST(simplify_ops_that_move_nothing) {
  CASES_OF(
    "simplify", BECOMES(X "%r = tile(%x) {reps=[1,1]}; " Y(r), X Y(x)), STAYS(X "%r = tile(%x) {reps=[1,2]}; " Y(r)),
    BECOMES(X "%r = pad(%x) {lo=[0,0], hi=[0,0], mode=edge}; " Y(r), X Y(x)),
    STAYS(X "%r = pad(%x) {lo=[0,0], hi=[0,1]}; " Y(r)),
    BECOMES(X "%r = roll(%x) {shifts=[4,-3], axes=[0,1]}; " Y(r), X Y(x)),
    STAYS(X "%r = roll(%x) {shifts=[1], axes=[-1]}; " Y(r)),
    BECOMES("%v = input \"v\" : f32[1,4]; %r = reverse(%v) {axes=[0]}; " Y(r), "%v = input \"v\" : f32[1,4]; " Y(v)),
    STAYS(X "%r = reverse(%x); " Y(r)),
    BECOMES("%v = input \"v\" : f32[3,2]; %a = view_as_complex(%v); %r = view_as_real(%a); " Y(r),
            "%v = input \"v\" : f32[3,2]; " Y(v)),
    STAYS("%v = input \"v\" : f32[3,2]; %a = view_as_complex(%v); %d = fft(%a); %r = view_as_real(%d); " Y(r),
          .tolerance = 1e-6),
    BECOMES(X "%r = concat(%x) {axis=1}; " Y(r), X Y(x)));
}

TEST(simplify_slice) {
  CASES_OF("simplify", BECOMES(X "%r = slice(%x) {start=[0,0], stop=[2,9]}; " Y(r), X Y(x)),
           STAYS(X "%r = slice(%x) {start=[1], stop=[2]}; " Y(r)),
           STAYS(X "%r = slice(%x) {axes=[1], start=[-1], stop=[-4], step=[-1]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[10]; %a = slice(%v) {start=[2], stop=[9]}; "
                   "%r = slice(%a) {start=[1], stop=[6], step=[2]}; " Y(r),
                   "%v = input \"v\" : f32[10]; %r = slice(%v) {axes=[0], start=[3], stop=[9], step=[2]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[10]; %a = slice(%v) {start=[9], stop=[-11], step=[-1]}; "
                   "%r = slice(%a) {start=[9], stop=[-11], step=[-3]}; " Y(r),
                   "%v = input \"v\" : f32[10]; %r = slice(%v) {axes=[0], start=[0], stop=[12], step=[3]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[10]; %a = slice(%v) {start=[8], stop=[-11], step=[-2]}; "
                   "%r = slice(%a) {start=[1], stop=[9]}; " Y(r),
                   "%v = input \"v\" : f32[10]; %r = slice(%v) {axes=[0], start=[6], stop=[-11], step=[-2]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[4,5]; %a = slice(%v) {axes=[1], start=[1], stop=[4]}; "
                   "%r = slice(%a) {axes=[0], start=[2], stop=[2]}; " Y(r),
                   "%v = input \"v\" : f32[4,5]; %r = slice(%v) {axes=[0,1], start=[0,1], stop=[0,4]}; " Y(r)),
           BECOMES("%v = input \"v\" : f32[10]; %a = slice(%v) {start=[9], stop=[-11], step=[-1]}; "
                   "%r = slice(%a) {start=[9], stop=[-11], step=[-1]}; " Y(r),
                   "%v = input \"v\" : f32[10]; " Y(v)));
}

TEST(simplify_concat) {
#define V "%v = input \"v\" : f32[2,6]; "
#define CUT(name, from, to) "%" name " = slice(%v) {axes=[1], start=[" from "], stop=[" to "]}; "
  CASES_OF(
    "simplify",
    BECOMES(V CUT("a", "0", "2") CUT("d", "2", "5") CUT("e", "5", "6") "%r = concat(%a, %d, %e) {axis=-1}; " Y(r),
            V Y(v)),
    BECOMES(V CUT("a", "1", "2") CUT("d", "2", "5") "%r = concat(%a, %d) {axis=1}; " Y(r), V CUT("r", "1", "5") Y(r)),
    BECOMES(V "%w = input \"w\" : f32[2,1]; " CUT("a", "1", "2")
              CUT("d", "2", "5") "%r = concat(%w, %a, %d, %w) {axis=1}; " Y(r),
            V "%w = input \"w\" : f32[2,1]; " CUT("r", "1", "5") "%q = concat(%w, %r, %w) {axis=1}; " Y(q)),
    /* in another order, along another axis, with a gap */
    STAYS(V CUT("a", "0", "3") CUT("d", "3", "6") "%r = concat(%d, %a) {axis=1}; " Y(r)),
    STAYS(V CUT("a", "0", "3") CUT("d", "3", "6") "%r = concat(%a, %d); " Y(r)),
    STAYS(V CUT("a", "0", "2") CUT("d", "3", "6") "%r = concat(%a, %d) {axis=1}; " Y(r)),
    /* empty inputs are dropped */
    BECOMES(V "%z = input \"z\" : f32[2,0]; %r = concat(%z, %v, %z) {axis=1}; " Y(r),
            V "%z = input \"z\" : f32[2,0]; " Y(v)),
    BECOMES("%z = input \"z\" : f32[2,0]; %r = concat(%z, %z) {axis=1}; " Y(r), "%z = input \"z\" : f32[2,0]; " Y(z)),
    STAYS(V "%w = input \"w\" : f32[2,1]; %r = concat(%v, %w) {axis=1}; " Y(r)));
#undef V
#undef CUT
}

TEST(simplify_reaches_a_fixed_point) {
  /* Each rule enables the next, in one call. */
  CASES_OF("simplify", BECOMES(X "%w = param \"w\" : f32[4,3]; %c = constant : f32[] = [1]; %a = transpose(%w); "
                                 "%d = mul(%a, %c); %e = reshape(%d) {shape=[3,4]}; %f = neg(%e); "
                                 "%g = neg(%f); %r = matmul(%x, %g); " Y(r),
                               X "%w = param \"w\" : f32[4,3]; %r = matmul(%x, %w) {trans_b=true}; " Y(r)));
}
