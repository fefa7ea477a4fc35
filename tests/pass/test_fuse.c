/* Fusion: each pattern, its variants, and near misses that must not change. */
#include "pass_cases.h"

/* ---- fuse: products, gates, norms ---------------------------------------------------------------------------- */

#define W "%w = param \"w\" : f32[3,4]; "
#define BIAS "%k = param \"k\" : f32[4]; "

TEST(fuse_matmul_bias_activation) {
  CASES_OF(
    "fuse",
    BECOMES(X W BIAS "%m = matmul(%x, %w); %a = add(%m, %k); %r = gelu(%a); " Y(r),
            X W BIAS "%r = fused_matmul_bias_act(%x, %w, %k) {act=gelu}; " Y(r), .tolerance = 1e-5),
    BECOMES(X W BIAS "%m = matmul(%x, %w); %r = add(%k, %m); " Y(r),
            X W BIAS "%r = fused_matmul_bias_act(%x, %w, %k); " Y(r), .tolerance = 1e-5),
    BECOMES(X "%w = param \"w\" : f32[4,3]; %m = matmul(%x, %w) {trans_b=true}; %r = tanh(%m); " Y(r),
            X "%w = param \"w\" : f32[4,3]; %r = fused_matmul_bias_act(%x, %w) {trans_b=true, act=tanh}; " Y(r),
            .tolerance = 1e-5),
    /* a bias with axes of size 1: the residual of a single row */
    BECOMES("%x = input \"x\" : f32[1,1,3]; %k = input \"k\" : f32[1,1,4]; " W
            "%m = matmul(%x, %w); %r = add(%k, %m); " Y(r),
            "%x = input \"x\" : f32[1,1,3]; %k = input \"k\" : f32[1,1,4]; " W
            "%b = reshape(%k) {shape=[4]}; %r = fused_matmul_bias_act(%x, %w, %b); " Y(r),
            .tolerance = 1e-5),
    /* more axes than the product, or rows of its own */
    STAYS(X W "%k = param \"k\" : f32[1,1,4]; %m = matmul(%x, %w); %a = add(%m, %k); " Y(a), .tolerance = 1e-5),
    /* read twice, an output itself, a bias that is not one per column, an activation that the op lacks */
    STAYS(X W BIAS "%m = matmul(%x, %w); %a = add(%m, %k); %d = reduce_sum(%m); output \"a\" = %a; "
                   "output \"d\" = %d",
          .tolerance = 1e-5),
    STAYS(X W BIAS "%m = matmul(%x, %w); %a = add(%m, %k); output \"a\" = %a; output \"m\" = %m", .tolerance = 1e-5),
    STAYS(X W "%k = param \"k\" : f32[2,4]; %m = matmul(%x, %w); %a = add(%m, %k); " Y(a), .tolerance = 1e-5),
    STAYS(X W "%m = matmul(%x, %w); %a = exp(%m); " Y(a), .tolerance = 1e-5),
    STAYS(X W "%r = matmul(%x, %w); " Y(r), .tolerance = 1e-5));
}

TEST(fuse_conv) {
#define IMAGE "%x = input \"x\" : f32[1,2,3,3]; "
#define KERNEL "%w = param \"w\" : f32[2,2,1,1]; %k = param \"k\" : f32[2]; "
#define REST "%z = input \"z\" : f32[1,2,3,3]; "
  CASES_OF(
    "fuse",
    BECOMES(IMAGE KERNEL "%c = conv(%x, %w, %k); %r = relu(%c); " Y(r),
            IMAGE KERNEL "%r = fused_conv_bias_act(%x, %w, %k) {act=relu}; " Y(r), .tolerance = 1e-5),
    BECOMES(IMAGE KERNEL REST "%c = conv(%x, %w, %k) {groups=1}; %s = add(%z, %c); %r = silu(%s); " Y(r),
            IMAGE KERNEL REST "%r = fused_conv_bias_act(%x, %w, %k, %z) {act=silu}; " Y(r), .tolerance = 1e-5),
    BECOMES(IMAGE KERNEL REST "%c = conv(%x, %w); %r = add(%c, %z); " Y(r),
            IMAGE KERNEL REST "%r = fused_conv_bias_act(%x, %w, _, %z); " Y(r), .tolerance = 1e-5),
    /* of two convolutions the later one absorbs the sum */
    BECOMES(IMAGE KERNEL "%c = conv(%x, %w); %d = conv(%x, %w, %k); %r = add(%c, %d); " Y(r),
            IMAGE KERNEL "%c = conv(%x, %w); %r = fused_conv_bias_act(%x, %w, %k, %c); " Y(r), .tolerance = 1e-5),
    /* read twice; a sum that broadcasts; an activation that the op lacks; twice itself */
    STAYS(IMAGE KERNEL "%c = conv(%x, %w, %k); %r = relu(%c); output \"c\" = %c; output \"r\" = %r", .tolerance = 1e-5),
    STAYS(IMAGE KERNEL "%z = input \"z\" : f32[1,2,1,1]; %c = conv(%x, %w); %r = add(%c, %z); " Y(r),
          .tolerance = 1e-5),
    STAYS(IMAGE KERNEL "%c = conv(%x, %w, %k); %r = exp(%c); " Y(r), .tolerance = 1e-5),
    STAYS(IMAGE KERNEL "%c = conv(%x, %w, %k); %r = add(%c, %c); " Y(r), .tolerance = 1e-5));
#undef IMAGE
#undef KERNEL
#undef REST
}

TEST(fuse_gates) {
#define UP "%u = param \"u\" : f32[3,4]; "
  CASES_OF(
    "fuse",
    BECOMES(X W UP "%g = matmul(%x, %w); %s = silu(%g); %p = matmul(%x, %u); %r = mul(%s, %p); " Y(r),
            X W UP "%r = fused_gate_up(%x, %w, %u); " Y(r), .tolerance = 1e-5),
    BECOMES(X W UP "%g = matmul(%x, %w); %s = gelu(%g); %p = matmul(%x, %u); %r = mul(%p, %s); " Y(r),
            X W UP "%r = fused_gate_up(%x, %w, %u) {act=gelu}; " Y(r), .tolerance = 1e-5),
    BECOMES(X "%u = input \"u\" : f32[3]; %s = silu(%x); %r = mul(%s, %u); " Y(r),
            X "%u = input \"u\" : f32[3]; %r = fused_swiglu(%x, %u); " Y(r)),
    BECOMES(X "%u = input \"u\" : f32[2,3]; %s = sigmoid(%x); %r = mul(%u, %s); " Y(r),
            X "%u = input \"u\" : f32[2,3]; %r = fused_swiglu(%x, %u) {act=sigmoid}; " Y(r)),
    /* other inputs: the gate alone, and its product */
    BECOMES(X W "%z = input \"z\" : f32[2,3]; " UP
                "%g = matmul(%x, %w); %s = silu(%g); %p = matmul(%z, %u); %r = mul(%s, %p); " Y(r),
            X W "%z = input \"z\" : f32[2,3]; " UP
                "%g = matmul(%x, %w); %p = matmul(%z, %u); %r = fused_swiglu(%g, %p); " Y(r),
            .tolerance = 1e-5),
    BECOMES(X "%s = silu(%x); %r = mul(%s, %s); " Y(r),
            X "%r = region(%x) {body=graph { %p = input \"x0\" : f32[2,3]; %q = silu(%p); %t = mul(%q, %q); "
              "output \"y\" = %t }}; " Y(r)),
    STAYS(X "%u = input \"u\" : f32[2,3]; %s = silu(%x); %r = mul(%s, %u); output \"s\" = %s; output \"r\" = %r"));
#undef UP
}

TEST(fuse_norm_into_products) {
#define G "%g = param \"g\" : f32[3]; "
#define UP "%u = param \"u\" : f32[3,4]; "
  CASES_OF("fuse",
           BECOMES(X W G "%n = rms_norm(%x, %g) {eps=1e-6}; %r = matmul(%n, %w); " Y(r),
                   X W G "%r = fused_norm_matmul(%x, %w, _, %g) {eps=1e-6}; " Y(r), .tolerance = 1e-5),
           BECOMES(X W BIAS G
                   "%n = rms_norm(%x, %g) {axis=1}; %m = matmul(%n, %w); %a = add(%m, %k); %r = relu(%a); " Y(r),
                   X W BIAS G "%r = fused_norm_matmul(%x, %w, %k, %g) {act=relu, eps=1e-5}; " Y(r), .tolerance = 1e-5),
           BECOMES(X W UP G "%n = rms_norm(%x, %g); %p = matmul(%n, %w); %s = silu(%p); %q = matmul(%n, %u); "
                            "%r = mul(%s, %q); " Y(r),
                   X W UP G "%r = fused_norm_gate_up(%x, %w, %u, %g) {eps=1e-5}; " Y(r), .tolerance = 1e-5),
           /* several readers: each absorbs the norm; one that cannot keeps it */
           BECOMES(X W UP G "%n = rms_norm(%x, %g); %p = matmul(%n, %w); %q = matmul(%n, %u); output \"p\" = %p; "
                            "output \"q\" = %q",
                   X W UP G "%p = fused_norm_matmul(%x, %w, _, %g) {eps=1e-5}; "
                            "%q = fused_norm_matmul(%x, %u, _, %g) {eps=1e-5}; output \"p\" = %p; "
                            "output \"q\" = %q",
                   .tolerance = 1e-5),
           BECOMES(X W G "%n = rms_norm(%x, %g); %p = matmul(%n, %w); output \"p\" = %p; output \"n\" = %n",
                   X W G "%n = rms_norm(%x, %g); %p = fused_norm_matmul(%x, %w, _, %g) {eps=1e-5}; "
                         "output \"p\" = %p; output \"n\" = %n",
                   .tolerance = 1e-5),
           /* no gamma, a beta, another axis, another norm, the right side */
           STAYS(X W "%n = rms_norm(%x); %r = matmul(%n, %w); " Y(r), .tolerance = 1e-5),
           STAYS(X W G "%n = rms_norm(%x, %g, %g); %r = matmul(%n, %w); " Y(r), .tolerance = 1e-5),
           STAYS(X W "%h = param \"h\" : f32[2,3]; %n = rms_norm(%x, %h) {axis=0}; %r = matmul(%n, %w); " Y(r),
                 .tolerance = 1e-5),
           STAYS(X W G "%n = layer_norm(%x, %g); %r = matmul(%n, %w); " Y(r), .tolerance = 1e-5),
           STAYS(X G "%l = input \"l\" : f32[5,3]; %n = rms_norm(%x, %g); %r = matmul(%l, %n) {trans_b=true}; " Y(r),
                 .tolerance = 1e-5));
#undef UP
#undef G
}

TEST(fuse_around_rotary_positions) {
#define H "%h = input \"h\" : f32[1,2,3,4]; %g = param \"g\" : f32[4]; %o = input \"o\" : i32[]; "
  CASES_OF(
    "fuse",
    BECOMES(H "%n = rms_norm(%h, %g) {eps=1e-6}; %r = rope(%n, _, %o) {style=gptj, theta=100.0}; " Y(r),
            H "%r = fused_norm_rope(%h, _, %o, _, _, _, %g) {style=gptj, theta=100.0, eps=1e-6}; " Y(r),
            .tolerance = 1e-5),
    BECOMES(H "%p = input \"p\" : i32[2]; %n = rms_norm(%h, %g) {axis=3}; %r = rope(%n, %p) {n_rot=2}; "
              "output \"r\" = %r; output \"n\" = %n",
            H "%p = input \"p\" : i32[2]; %n = rms_norm(%h, %g) {axis=3}; "
              "%r = fused_norm_rope(%h, %p, _, _, _, _, %g) {n_rot=2, eps=1e-5}; output \"r\" = %r; output \"n\" = %n",
            .tolerance = 1e-5),
    STAYS(H "%n = rms_norm(%h) {eps=1e-6}; %r = rope(%n, _, %o); " Y(r), .tolerance = 1e-5));
#undef H
}

/* Positions are constants here: the state has room for rows at 3 alone. */
TEST(fuse_rotated_updates) {
#define H "%h = input \"h\" : f32[1,2,3,4]; %g = param \"g\" : f32[4]; %at = constant : i32[] = [3]; "
#define S "%s = state \"s\" : f32[1,5,3,4]; "
#define P "%p = constant : i32[2] = [7, 8]; %f = param \"f\" : f32[2]; "
  CASES_OF(
    "fuse",
    BECOMES(H P S "%n = rms_norm(%h, %g) {eps=1e-6}; %r = rope(%n, %p) {style=gptj}; "
                  "%u = update(%s, %r, %at) {axis=1}; " Y(u),
            H P S "%u = fused_rope_update(%s, %h, %at, %p, _, %g) {style=gptj, norm=true, eps=1e-6}; " Y(u),
            .tolerance = 1e-5),
    BECOMES(H P S "%r = rope(%h, %p, _, %f) {n_rot=4, theta=50.0}; %u = update(%s, %r, %at) {axis=1}; " Y(u),
            H P S "%u = fused_rope_update(%s, %h, %at, %p, %f) {n_rot=4, theta=50.0}; " Y(u), .tolerance = 1e-5),
    /* positions from the rows' index in the state */
    BECOMES(H S "%r = rope(%h, _, %at); %u = update(%s, %r, %at) {axis=1}; " Y(u),
            H S "%u = fused_rope_update(%s, %h, %at); " Y(u), .tolerance = 1e-5),
    /* some of the heads: the rope stays for the others */
    BECOMES(H P "%s = state \"s\" : f32[1,5,1,4]; %r = rope(%h, %p); "
                "%q = slice(%r) {axes=[2], start=[0], stop=[2]}; %k = slice(%r) {axes=[2], start=[2], stop=[3]}; "
                "%u = update(%s, %k, %at) {axis=1}; output \"q\" = %q; output \"u\" = %u",
            H P "%s = state \"s\" : f32[1,5,1,4]; %r = rope(%h, %p); "
                "%q = slice(%r) {axes=[2], start=[0], stop=[2]}; %k = slice(%h) {axes=[2], start=[2], stop=[3]}; "
                "%u = fused_rope_update(%s, %k, %at, %p); output \"q\" = %q; output \"u\" = %u",
            .tolerance = 1e-5),
    /* positions from elsewhere, none, tables, another axis */
    STAYS(H S "%o = constant : i32[] = [1]; %r = rope(%h, _, %o); %u = update(%s, %r, %at) {axis=1}; " Y(u),
          .tolerance = 1e-5),
    STAYS(H S "%r = rope(%h); %u = update(%s, %r, %at) {axis=1}; " Y(u), .tolerance = 1e-5),
    STAYS(H P S
          "%c = param \"c\" : f32[9,2]; %r = rope(%h, %p, _, _, %c, %c); %u = update(%s, %r, %at) {axis=1}; " Y(u),
          .tolerance = 1e-5),
    STAYS(H P "%s = state \"s\" : f32[5,2,3,4]; %r = rope(%h, %p); %u = update(%s, %r, %at); " Y(u),
          .tolerance = 1e-5));
#undef P
#undef S
#undef H
}

TEST(fuse_residual_norm) {
#define R "%r = input \"r\" : f32[2,3]; %g = param \"g\" : f32[3]; "
  CASES_OF("fuse",
           BECOMES(X R "%s = add(%x, %r); %y = rms_norm(%s, %g) {eps=1e-6}; " Y(y),
                   X R "%y = fused_residual_norm(%x, %r, %g) {eps=1e-6}; " Y(y), .tolerance = 1e-5),
           BECOMES(X R "%s = add(%x, %r); %y = layer_norm(%s, %g, %g) {axis=1}; " Y(y),
                   X R "%y = fused_residual_norm(%x, %r, %g, %g) {kind=layer}; " Y(y), .tolerance = 1e-5),
           BECOMES(X R "%s = add(%x, %r); %y = layer_norm(%s, _, %g); " Y(y),
                   X R "%y = fused_residual_norm(%x, %r, _, %g) {kind=layer}; " Y(y), .tolerance = 1e-5),
           /* the sum is read again; more axes; a broadcast sum */
           STAYS(X R "%s = add(%x, %r); %y = rms_norm(%s, %g); %z = add(%y, %s); output \"y\" = %y; "
                     "output \"z\" = %z",
                 .tolerance = 1e-5),
           STAYS(X R "%s = add(%x, %r); %y = rms_norm(%s) {axis=0}; " Y(y), .tolerance = 1e-5),
           STAYS(X R "%s = add(%x, %g); %y = rms_norm(%s); " Y(y), .tolerance = 1e-5));
#undef R
}

/* ---- fuse: attention ----------------------------------------------------------------------------------------- */

#define QKV "%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,4,5,8]; %v = input \"v\" : f32[2,4,5,6]; "
#define SCALE "%c = constant : f32[] = [0.5]; "

TEST(fuse_attention_from_primitives) {
  CASES_OF("fuse",
           BECOMES(QKV SCALE "%s = matmul(%q, %k) {trans_b=true}; %t = mul(%s, %c); %p = softmax(%t); "
                             "%r = matmul(%p, %v); " Y(r),
                   QKV "%r = attention(%q, %k, %v) {layout=bhsd, scale=0.5}; " Y(r), .tolerance = 1e-5),
           /* the scale before, in two parts and as a quotient; k transposed as a node */
           BECOMES(QKV SCALE "%d = constant : f32[1] = [4]; %a = mul(%c, %q); %b = div(%k, %d); "
                             "%kt = transpose(%b) {perm=[0,1,3,2]}; %s = matmul(%a, %kt); %p = softmax(%s) {axis=3}; "
                             "%r = matmul(%p, %v); " Y(r),
                   QKV "%r = attention(%q, %k, %v) {layout=bhsd, scale=0.125}; " Y(r), .tolerance = 1e-5),
           BECOMES(QKV "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %v); " Y(r),
                   QKV "%r = attention(%q, %k, %v) {layout=bhsd, scale=1}; " Y(r), .tolerance = 1e-5),
           /* a bias */
           BECOMES(QKV SCALE "%m = input \"m\" : f32[3,5]; %s = matmul(%q, %k) {trans_b=true}; %t = mul(%s, %c); "
                             "%u = add(%m, %t); %p = softmax(%u); %r = matmul(%p, %v); " Y(r),
                   QKV "%m = input \"m\" : f32[3,5]; %r = attention(%q, %k, %v, _, %m) {layout=bhsd, scale=0.5}; " Y(r),
                   .tolerance = 1e-5),
           /* k^T that is no transpose gets one */
           BECOMES("%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,4,8,5]; "
                   "%v = input \"v\" : f32[2,4,5,6]; %s = matmul(%q, %k); %p = softmax(%s); %r = matmul(%p, %v); " Y(r),
                   "%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,4,8,5]; "
                   "%v = input \"v\" : f32[2,4,5,6]; %t = transpose(%k) {perm=[0,1,3,2]}; "
                   "%r = attention(%q, %t, %v) {layout=bhsd, scale=1}; " Y(r),
                   .tolerance = 1e-5),
           /* rank 3: one head */
           BECOMES("%q = input \"q\" : f32[2,3,8]; %k = input \"k\" : f32[2,5,8]; %m = input \"m\" : f32[2,1,5]; "
                   "%s = matmul(%q, %k) {trans_b=true}; %t = add(%s, %m); %p = softmax(%t); %r = matmul(%p, %k); " Y(r),
                   "%q = input \"q\" : f32[2,3,8]; %k = input \"k\" : f32[2,5,8]; %m = input \"m\" : f32[2,1,5]; "
                   "%a = reshape(%q) {shape=[2,1,3,8]}; %b = reshape(%k) {shape=[2,1,5,8]}; "
                   "%d = reshape(%k) {shape=[2,1,5,8]}; %e = reshape(%m) {shape=[2,1,1,5]}; "
                   "%t = attention(%a, %b, %d, _, %e) {layout=bhsd, scale=1}; %r = reshape(%t) {shape=[2,3,8]}; " Y(r),
                   .tolerance = 1e-5),
           /* one key head for all queries, by broadcasting */
           BECOMES("%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,1,5,8]; "
                   "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %k); " Y(r),
                   "%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,1,5,8]; "
                   "%r = attention(%q, %k, %k) {layout=bhsd, scale=1}; " Y(r),
                   .tolerance = 1e-5));
}

TEST(fuse_attention_masks) {
#define MASKED(type, mask)                                                                              \
  "%q = input \"q\" : f32[1,2,2,8]; %k = input \"k\" : f32[1,2,3,8]; %v = input \"v\" : f32[1,2,3,8]; " \
  "%m = constant : " type " = " mask "; %s = matmul(%q, %k) {trans_b=true}; %t = add(%s, %m); "         \
  "%p = softmax(%t); %r = matmul(%p, %v); " Y(r)
#define BARE "%q = input \"q\" : f32[1,2,2,8]; %k = input \"k\" : f32[1,2,3,8]; %v = input \"v\" : f32[1,2,3,8]; "
  CASES_OF("fuse",
           BECOMES(MASKED("f32[2,3]", "[0, 0, -inf, 0, 0, 0]"),
                   BARE "%r = attention(%q, %k, %v) {layout=bhsd, scale=1, causal=true}; " Y(r), .tolerance = 1e-5),
           BECOMES(MASKED("f32[1,1,2,3]", "[0, 0, -inf, 0, 0, 0]"),
                   BARE "%r = attention(%q, %k, %v) {layout=bhsd, scale=1, causal=true}; " Y(r), .tolerance = 1e-5),
           /* nearly causal is a bias */
           BECOMES(MASKED("f32[2,3]", "[0, 0, -1e9, 0, 0, 0]"),
                   BARE "%m = constant : f32[2,3] = [0, 0, -1e9, 0, 0, 0]; "
                        "%r = attention(%q, %k, %v, _, %m) {layout=bhsd, scale=1}; " Y(r),
                   .tolerance = 1e-5),
           BECOMES(MASKED("f32[2,3]", "[0, -inf, -inf, 0, 0, 0]"),
                   BARE "%m = constant : f32[2,3] = [0, -inf, -inf, 0, 0, 0]; "
                        "%r = attention(%q, %k, %v, _, %m) {layout=bhsd, scale=1}; " Y(r),
                   .tolerance = 1e-5),
           /* a row with no visible key is NaN in the primitives and zero in attention */
           STAYS(MASKED("f32[2,3]", "[-inf, -inf, -inf, 0, 0, 0]"), .tolerance = 1e-5),
           STAYS(MASKED("f32[1]", "[-inf]"), .tolerance = 1e-5),
           BECOMES(BARE "%m = constant : bool[2,3] = [1, 1, 0, 1, 1, 1]; %h = constant : f32[] = [-inf]; "
                        "%s = matmul(%q, %k) {trans_b=true}; %t = where(%m, %s, %h); %p = softmax(%t); "
                        "%r = matmul(%p, %v); " Y(r),
                   BARE "%r = attention(%q, %k, %v) {layout=bhsd, scale=1, causal=true}; " Y(r), .tolerance = 1e-5),
           STAYS(BARE "%m = constant : bool[2,3] = [1, 0, 0, 1, 1, 1]; %h = constant : f32[] = [-inf]; "
                      "%s = matmul(%q, %k) {trans_b=true}; %t = where(%m, %s, %h); %p = softmax(%t); "
                      "%r = matmul(%p, %v); " Y(r),
                 .tolerance = 1e-5));
#undef MASKED
  /* zeros in place of NaN after the softmax: then a row may have no visible key */
#define GUARDED(mask)                                                                                           \
  BARE "%z = constant : f32[] = [0]; %m = constant : f32[2,3] = " mask "; %s = matmul(%q, %k) {trans_b=true}; " \
       "%t = add(%s, %m); %p = softmax(%t); %n = ne(%p, %p); %g = where(%n, %z, %p); %r = matmul(%g, %v); "
#define ATTENDS(mask) \
  BARE "%m = constant : f32[2,3] = " mask "; %r = attention(%q, %k, %v, _, %m) {layout=bhsd, scale=1}; " Y(r)
  CASES_OF(
    "fuse", BECOMES(GUARDED("[0, -inf, -inf, 0, 0, 0]") Y(r), ATTENDS("[0, -inf, -inf, 0, 0, 0]"), .tolerance = 1e-5),
    BECOMES(GUARDED("[-inf, -inf, -inf, 0, 0, 0]") Y(r), ATTENDS("[-inf, -inf, -inf, 0, 0, 0]"), .tolerance = 1e-5),
    /* another number, and a softmax that is read elsewhere */
    STAYS(BARE "%z = constant : f32[] = [1]; %s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); "
               "%n = ne(%p, %p); %g = where(%n, %z, %p); %r = matmul(%g, %v); output \"n\" = %n; " Y(r),
          .tolerance = 1e-5),
    STAYS(GUARDED("[0, -inf, -inf, 0, 0, 0]") "output \"p\" = %p; output \"n\" = %n; " Y(r), .tolerance = 1e-5));
#undef ATTENDS
#undef GUARDED
#undef BARE
}

TEST(fuse_attention_leaves_what_is_none) {
  CASES_OF("fuse",
           /* softmax over queries; weights that are an output; a scale of 0; heads too large */
           STAYS(QKV "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s) {axis=2}; %r = matmul(%p, %v); " Y(r),
                 .tolerance = 1e-5),
           STAYS(QKV "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %v); output \"p\" = %p; "
                     "output \"r\" = %r",
                 .tolerance = 1e-5),
           STAYS(QKV "%c = constant : f32[] = [0]; %s = matmul(%q, %k) {trans_b=true}; %t = mul(%s, %c); "
                     "%p = softmax(%t); %r = matmul(%p, %v); " Y(r),
                 .tolerance = 1e-5),
           STAYS("%q = input \"q\" : f32[1,1,2,513]; %s = matmul(%q, %q) {trans_b=true}; %p = softmax(%s); "
                 "%r = matmul(%p, %q); " Y(r),
                 .tolerance = 1e-5),
           /* k has a batch of one: attention does not broadcast it */
           STAYS("%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[1,4,5,8]; "
                 "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %k); " Y(r),
                 .tolerance = 1e-5));
}

TEST(fuse_attention_before_its_bias_and_activation) {
  CASES_OF("fuse", BECOMES(QKV "%z = param \"z\" : f32[6]; %s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); "
                               "%r = matmul(%p, %v); %t = add(%r, %z); " Y(t),
                           QKV "%z = param \"z\" : f32[6]; %r = attention(%q, %k, %v) {layout=bhsd, scale=1}; "
                               "%t = add(%r, %z); " Y(t),
                           .tolerance = 1e-5));
}

TEST(fuse_attention_layout_and_repeated_heads) {
#define HEADS "%q = input \"q\" : f32[2,3,4,8]; %k = input \"k\" : f32[2,3,4,8]; %v = input \"v\" : f32[2,3,4,8]; "
#define SWAP(to, from) "%" to " = transpose(%" from ") {perm=[0,2,1,3]}; "
  CASES_OF("fuse",
           BECOMES(HEADS SWAP("a", "q") SWAP("d", "v") "%b = transpose(%k) {perm=[0,2,3,1]}; %s = matmul(%a, %b); "
                                                       "%p = softmax(%s); %r = matmul(%p, %d); " SWAP("t", "r") Y(t),
                   HEADS "%r = attention(%q, %k, %v) {scale=1}; " Y(r), .tolerance = 1e-5),
           /* an attention node of the other layout */
           BECOMES(HEADS "%m = input \"m\" : bool[2,3]; " SWAP("a", "q") SWAP("b", "k")
                     SWAP("d", "v") "%r = attention(%a, %b, %d, %m) {layout=bhsd, causal=true}; " SWAP("t", "r") Y(t),
                   HEADS "%m = input \"m\" : bool[2,3]; %r = attention(%q, %k, %v, %m) {causal=true}; " Y(r),
                   .tolerance = 1e-5),
           /* not all of them transposed */
           STAYS(HEADS SWAP("a", "q")
                   SWAP("b", "k") "%d = input \"d\" : f32[2,4,3,8]; %r = attention(%a, %b, %d) {layout=bhsd}; " SWAP(
                     "t", "r") Y(t),
                 .tolerance = 1e-5),
           /* two query heads per key head */
           BECOMES("%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,2,5,8]; "
                   "%v = input \"v\" : f32[2,2,5,6]; %a = reshape(%k) {shape=[2,2,1,5,8]}; "
                   "%b = expand(%a) {shape=[2,2,2,5,8]}; %d = reshape(%b) {shape=[2,4,5,8]}; "
                   "%e = reshape(%v) {shape=[2,2,1,5,6]}; %f = expand(%e) {shape=[2,2,2,5,6]}; "
                   "%g = reshape(%f) {shape=[2,4,5,6]}; "
                   "%s = matmul(%q, %d) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %g); " Y(r),
                   "%q = input \"q\" : f32[2,4,3,8]; %k = input \"k\" : f32[2,2,5,8]; "
                   "%v = input \"v\" : f32[2,2,5,6]; %r = attention(%q, %k, %v) {layout=bhsd, scale=1}; " Y(r),
                   .tolerance = 1e-5));
#undef SWAP
}

#define BLOCK_LEAVES                                                                               \
  "%x = input \"x\" : f32[2,3,16]; %w = param \"w\" : f32[16,32]; %o = param \"o\" : f32[16,16]; " \
  "%b = param \"b\" : f32[32]; %d = param \"d\" : f32[16]; "

TEST(fuse_attention_block) {
  /* 4 query heads and 2 key heads of 4 elements */
  CASES_OF(
    "fuse",
    BECOMES(BLOCK_LEAVES "%m = matmul(%x, %w); %a = add(%m, %b); "
                         "%sq = slice(%a) {axes=[2], start=[0], stop=[16]}; "
                         "%sk = slice(%a) {axes=[2], start=[16], stop=[24]}; "
                         "%sv = slice(%a) {axes=[2], start=[24], stop=[32]}; %rq = reshape(%sq) {shape=[2,3,4,4]}; "
                         "%rk = reshape(%sk) {shape=[2,3,2,4]}; %rv = reshape(%sv) {shape=[2,3,2,4]}; "
                         "%t = attention(%rq, %rk, %rv) {causal=true}; %j = reshape(%t) {shape=[2,3,16]}; "
                         "%p = matmul(%j, %o); %r = add(%p, %d); " Y(r),
            BLOCK_LEAVES "%r = fused_attention_block(%x, %w, %o, %b, %d) {heads=4, kv_heads=2, causal=true}; " Y(r),
            .tolerance = 1e-5),
    /* heads first, primitives, transposes, no biases */
    BECOMES("%x = input \"x\" : f32[2,3,8]; %w = param \"w\" : f32[48,8]; %o = param \"o\" : f32[8,16]; "
            "%c = constant : f32[] = [2]; %a = matmul(%x, %w) {trans_b=true}; "
            "%h = reshape(%a) {shape=[2,3,12,4]}; %sq = slice(%h) {axes=[2], start=[0], stop=[4]}; "
            "%sk = slice(%h) {axes=[2], start=[4], stop=[8]}; "
            "%sv = slice(%h) {axes=[2], start=[8], stop=[12]}; %tq = transpose(%sq) {perm=[0,2,1,3]}; "
            "%tk = transpose(%sk) {perm=[0,2,3,1]}; %tv = transpose(%sv) {perm=[0,2,1,3]}; "
            "%s = matmul(%tq, %tk); %u = div(%s, %c); %p = softmax(%u); %y = matmul(%p, %tv); "
            "%z = transpose(%y) {perm=[0,2,1,3]}; %j = reshape(%z) {shape=[2,3,16]}; "
            "%r = matmul(%j, %o) {trans_b=true}; " Y(r),
            "%x = input \"x\" : f32[2,3,8]; %w = param \"w\" : f32[48,8]; %o = param \"o\" : f32[8,16]; "
            "%r = fused_attention_block(%x, %w, %o) {heads=4, head_dim=4, trans_b=true, scale=0.5}; " Y(r),
            .tolerance = 1e-5));
}

TEST(fuse_attention_block_leaves_what_is_read) {
#define HEAD(name, from, to)                                            \
  "%" name " = slice(%m) {axes=[2], start=[" from "], stop=[" to "]}; " \
  "%h" name " = reshape(%" name ") {shape=[2,3,4,4]}; "
#define SQUARE                                                                                     \
  "%x = input \"x\" : f32[2,3,16]; %w = param \"w\" : f32[16,48]; %o = param \"o\" : f32[16,16]; " \
  "%m = matmul(%x, %w); "
#define TAIL "%t = attention(%hq, %hk, %hv); %j = reshape(%t) {shape=[2,3,16]}; %r = matmul(%j, %o); " Y(r)
#define IN_ORDER SQUARE HEAD("q", "0", "16") HEAD("k", "16", "32") HEAD("v", "32", "48") TAIL
  /* k is also an output (a KV cache), or the joint product is; and q, k, v out of order */
  CASES_OF("fuse", STAYS(IN_ORDER "; output \"k\" = %hk", .tolerance = 1e-5),
           STAYS(IN_ORDER "; output \"m\" = %m", .tolerance = 1e-5),
           STAYS(SQUARE HEAD("q", "0", "16") HEAD("v", "16", "32") HEAD("k", "32", "48") TAIL, .tolerance = 1e-5));
#undef IN_ORDER
#undef TAIL
#undef HEAD
#undef SQUARE
}

/* ---- fuse: regions ------------------------------------------------------------------------------------------- */

TEST(fuse_regions) {
  CASES_OF("fuse",
           /* a chain over two inputs and a scalar; a comparison and a cast on the way */
           BECOMES(X "%u = input \"u\" : f32[3]; " F("2") "%a = mul(%x, %c); %d = exp(%a); %e = gt(%d, %u); "
                                                          "%f = where(%e, %d, %x); %r = cast(%f) {to=f16}; " Y(r),
                   X "%u = input \"u\" : f32[3]; %r = region(%x, %u) {body=graph { %p = input \"x0\" : f32[2,3]; " F(
                     "2") "%a = mul(%p, %c); %d = exp(%a); %q = input \"x1\" : f32[3]; %e = gt(%d, %q); "
                          "%f = where(%e, %d, %p); %r = cast(%f) {to=f16}; output \"y\" = %r }}; " Y(r)),
           /* a diamond: read twice, but by the region alone */
           BECOMES(X "%a = exp(%x); %d = neg(%a); %e = abs(%a); %r = sub(%d, %e); " Y(r),
                   X "%r = region(%x) {body=graph { %p = input \"x0\" : f32[2,3]; %a = exp(%p); %d = neg(%a); "
                     "%e = abs(%a); %r = sub(%d, %e); output \"y\" = %r }}; " Y(r)),
           /* a value read from outside ends a region: two of them */
           BECOMES(X "%a = exp(%x); %d = neg(%a); %s = reduce_sum(%d); %e = abs(%d); %r = sqrt(%e); "
                     "output \"s\" = %s; output \"r\" = %r",
                   X "%d = region(%x) {body=graph { %p = input \"x0\" : f32[2,3]; %a = exp(%p); %d = neg(%a); "
                     "output \"y\" = %d }}; %s = reduce_sum(%d); "
                     "%r = region(%d) {body=graph { %p = input \"x0\" : f32[2,3]; %e = abs(%p); %r = sqrt(%e); "
                     "output \"y\" = %r }}; output \"s\" = %s; output \"r\" = %r",
                   .tolerance = 1e-6),
           /* a path that leaves and re-enters: exp and the sum do not join */
           STAYS(X "%a = exp(%x); %s = softmax(%a); %r = add(%a, %s); " Y(r), .tolerance = 1e-6),
           /* a smaller value is computed once, outside */
           BECOMES(X "%u = input \"u\" : f32[3]; %a = exp(%u); %d = neg(%a); %r = mul(%x, %d); " Y(r),
                   X "%u = input \"u\" : f32[3]; %d = region(%u) {body=graph { %p = input \"x0\" : f32[3]; "
                     "%a = exp(%p); %d = neg(%a); output \"y\" = %d }}; %r = mul(%x, %d); " Y(r)),
           /* weights alone are left to hoist */
           STAYS(X "%w = param \"w\" : f32[2,3]; %a = exp(%w); %d = neg(%a); %r = mul(%x, %d); " Y(r)),
           /* one node is no region; quantize per channel depends on the index along an axis */
           STAYS(X "%r = exp(%x); " Y(r)),
           STAYS(X "%s = constant : f32[3] = [1, 2, 4]; %q = quantize(%x, %s); %d = dequantize(%q, %s); " Y(d)));
}

TEST(fuse_regions_keep_to_their_limits) {
  char text[8192] = "%x = input \"x\" : f32[2,3]; ", line[128];
  for (int i = 0; i < 150; i++) {
    snprintf(line, sizeof line, "%%n%d = sin(%%%s%.0d); ", i, i ? "n" : "x", i ? i - 1 : 0);
    if (i == 1) snprintf(line, sizeof line, "%%n1 = sin(%%n0); ");
    strcat(text, line);
  }
  strcat(text, "output \"y\" = %n149");
  rlx_graph *g = parse(text);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, "fuse", NULL);
  CHECK(o != NULL);
  CHECK_EQ_INT(rlx_graph_size(rlx_optimized_graph(o)), 1 + 3); /* 64, 64 and 22 nodes */
  check_results(g, rlx_optimized_graph(o), NULL, 0, "a chain of 150");
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
  if (test_has_failed()) return;

  /* A sum of 12 inputs: a region reads at most 8. */
  strcpy(text, "");
  for (int i = 0; i < 12; i++) {
    snprintf(line, sizeof line, "%%i%d = input \"i%d\" : f32[3]; ", i, i);
    strcat(text, line);
  }
  for (int i = 1; i < 12; i++) {
    snprintf(line, sizeof line, i == 1 ? "%%s1 = add(%%i0, %%i1); " : "%%s%d = add(%%s%d, %%i%d); ", i, i - 1, i);
    strcat(text, line);
  }
  strcat(text, "output \"y\" = %s11");
  g = parse(text);
  CHECK(g != NULL);
  o = optimize(g, "fuse", NULL);
  CHECK(o != NULL);
  const rlx_graph *fused = rlx_optimized_graph(o);
  CHECK_EQ_INT(rlx_graph_size(fused), 12 + 2);
  for (rlx_node id = 13; id <= 14; id++) {
    CHECK_EQ_STR(rlx_node_op(fused, id), "region");
    CHECK(rlx_node_input_count(fused, id) <= 8);
  }
  check_results(g, fused, NULL, 0, "a sum of 12");
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

static bool short_regions(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user, (void)why;
  const rlx_node_rec *rec = rlx_graph_at(g, n);
  return rec->op != RLX_OP_region || rlx_graph_size(RLX_ATTRS(region, rec)->body) <= 1 + 16;
}

/* A region that is too large for the target is fused as several smaller ones. */
TEST(fuse_regions_a_target_takes) {
  char text[4096] = "%x = input \"x\" : f32[2,3]; %n0 = sin(%x); ", line[64];
  for (int i = 1; i < 40; i++) {
    snprintf(line, sizeof line, "%%n%d = sin(%%n%d); ", i, i - 1);
    strcat(text, line);
  }
  strcat(text, "output \"y\" = %n39");
  rlx_graph *g = parse(text);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, "fuse", short_regions);
  CHECK(o != NULL);
  CHECK_EQ_INT(rlx_graph_size(rlx_optimized_graph(o)), 1 + 3); /* 16, 16 and 8 nodes */
  check_results(g, rlx_optimized_graph(o), NULL, 0, "a chain of 40");
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

static bool no_fused_ops(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user, (void)why;
  return strncmp(rlx_node_op(g, n), "fused", 5) != 0 && strcmp(rlx_node_op(g, n), "region") != 0 &&
         strcmp(rlx_node_op(g, n), "attention") != 0;
}

static bool no_long_regions(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user, (void)why;
  return strcmp(rlx_node_op(g, n), "region") != 0 || rlx_node_input_count(g, n) < 2;
}

TEST(fuse_asks_the_target) {
  CASES_OF("fuse",
           STAYS(X W BIAS "%m = matmul(%x, %w); %a = add(%m, %k); %d = gelu(%a); %e = exp(%d); %r = neg(%e); " Y(r),
                 .tolerance = 1e-5, .supports = no_fused_ops),
           STAYS(QKV "%s = matmul(%q, %k) {trans_b=true}; %p = softmax(%s); %r = matmul(%p, %v); " Y(r),
                 .tolerance = 1e-5, .supports = no_fused_ops),
           STAYS(X "%u = input \"u\" : f32[2,3]; %a = exp(%x); %d = neg(%a); %e = add(%a, %u); %f = sin(%e); "
                   "output \"d\" = %d; output \"f\" = %f",
                 .supports = no_long_regions));
}
