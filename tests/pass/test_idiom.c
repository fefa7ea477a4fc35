/* Idioms: each op in the decompositions that exporters write, and near misses that must not change. */
#include "faults.h"
#include "pass_cases.h"

#define NEAR .tolerance = 2e-6
#define NEAR_HALF .tolerance = 4e-3
#define X16 "%x = input \"x\" : f16[2,3]\n"
#define NUMBER(name, value) "%" name " = constant : f32[] = [" value "]; "
#define HALF_NUMBER(name, value) "%" name " = constant : f16[] = [" value "]; "

/* ---- gelu ---- */

/* Numbers of the erf form. */
#define ERF NUMBER("r", "1.4142135") NUMBER("h", "0.5") NUMBER("o", "1")
#define GELU X "%y = gelu(%x); " Y(y)

TEST(gelu_in_every_order) {
  CASES_OF(
    "idiom",
    /* PyTorch: x (erf(x / sqrt 2) + 1) 0.5 */
    BECOMES(X ERF "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); %y = mul(%m, %h); " Y(y), GELU,
            NEAR),
    /* 0.5 on x first; the numbers on the left; a product with 1 / sqrt 2 */
    BECOMES(
      X ERF NUMBER(
        "i",
        "0.70710677") "%d = mul(%i, %x); %e = erf(%d); %s = add(%o, %e); %m = mul(%h, %x); %y = mul(%m, %s); " Y(y),
      GELU, NEAR),
    /* 0.5 on the sum; halved at the end; 0.5 + 0.5 erf */
    BECOMES(X ERF "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%s, %h); %y = mul(%x, %m); " Y(y), GELU,
            NEAR),
    BECOMES(X ERF NUMBER("t", "2") "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); "
                                   "%y = div(%m, %t); " Y(y),
            GELU, NEAR),
    BECOMES(X ERF "%d = div(%x, %r); %e = erf(%d); %g = mul(%e, %h); %s = add(%g, %h); %y = mul(%s, %x); " Y(y), GELU,
            NEAR),
    /* constants of rank 1; seven digits; x with other readers */
    BECOMES(X "%r = constant : f32[1] = [1.414214]; %h = constant : f32[1,1] = [0.5]; %o = constant : f32[1] = [1]; "
              "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); %y = mul(%m, %h); %z = exp(%x); "
              "output \"y\" = %y; output \"z\" = %z",
            X "%y = gelu(%x); %z = exp(%x); output \"y\" = %y; output \"z\" = %z", NEAR),
    BECOMES(X16 HALF_NUMBER("i", "0.70710677") HALF_NUMBER("h", "0.5") HALF_NUMBER(
              "o", "1") "%d = mul(%i, %x); %e = erf(%d); %s = add(%o, %e); %m = mul(%h, %x); %y = mul(%m, %s); " Y(y),
            X16 "%y = gelu(%x); " Y(y), NEAR_HALF));
}

/* Numbers of the tanh form. */
#define TANH NUMBER("k", "0.7978846") NUMBER("c", "0.044715") NUMBER("h", "0.5") NUMBER("o", "1") NUMBER("n", "3")
#define GELU_APPROX X "%y = gelu_approx(%x); " Y(y)
#define TANH_END "%t = tanh(%u); %s = add(%o, %t); %m = mul(%h, %x); %y = mul(%m, %s); " Y(y)

TEST(gelu_of_tanh) {
  CASES_OF(
    "idiom",
    BECOMES(X TANH "%p = pow(%x, %n); %q = mul(%c, %p); %a = add(%x, %q); %u = mul(%k, %a); " TANH_END, GELU_APPROX,
            NEAR),
    /* x x x; and x k (1 + c x x) */
    BECOMES(X TANH "%v = mul(%x, %x); %w = mul(%v, %x); %q = mul(%w, %c); %a = add(%q, %x); "
                   "%u = mul(%a, %k); " TANH_END,
            GELU_APPROX, NEAR),
    BECOMES(X TANH "%f = mul(%x, %k); %g = mul(%x, %c); %v = mul(%g, %x); %a = add(%v, %o); "
                   "%u = mul(%f, %a); " TANH_END,
            GELU_APPROX, NEAR),
    BECOMES(X16 HALF_NUMBER("k", "0.7978846") HALF_NUMBER("c", "0.044715") HALF_NUMBER("h", "0.5") HALF_NUMBER("o", "1")
              HALF_NUMBER("n", "3") "%p = pow(%x, %n); %q = mul(%c, %p); %a = add(%x, %q); %u = mul(%k, %a); " TANH_END,
            X16 "%y = gelu_approx(%x); " Y(y), NEAR_HALF),
    STAYS(X TANH "%p = pow(%n, %x); %q = mul(%c, %p); %a = add(%x, %q); %u = mul(%k, %a); " TANH_END, NEAR),
    /* 0.0447 is another curve, and so is x^2 */
    STAYS(X NUMBER("k", "0.7978846") NUMBER("c", "0.0447") NUMBER("h", "0.5") NUMBER("o", "1")
            NUMBER("n", "3") "%p = pow(%x, %n); %q = mul(%c, %p); %a = add(%x, %q); %u = mul(%k, %a); " TANH_END,
          NEAR),
    STAYS(X NUMBER("k", "0.7978846") NUMBER("c", "0.044715") NUMBER("h", "0.5") NUMBER("o", "1")
            NUMBER("n", "2") "%p = pow(%x, %n); %q = mul(%c, %p); %a = add(%x, %q); %u = mul(%k, %a); " TANH_END,
          NEAR));
}

TEST(gelu_near_misses) {
#define SPELLED(numbers, also) \
  X numbers "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); %y = mul(%m, %h); " also Y(y)
  CASES_OF(
    "idiom",
    /* five digits of sqrt 2; 0.4; 1 - erf; 1 + 2 erf */
    STAYS(SPELLED(NUMBER("r", "1.4142") NUMBER("h", "0.5") NUMBER("o", "1"), ""), NEAR),
    STAYS(SPELLED(NUMBER("r", "1.4142135") NUMBER("h", "0.4") NUMBER("o", "1"), ""), NEAR),
    STAYS(SPELLED(NUMBER("r", "1.4142135") NUMBER("h", "0.5") NUMBER("o", "-1"), ""), NEAR),
    STAYS(X ERF NUMBER("t", "2") "%d = div(%x, %r); %e = erf(%d); %g = mul(%e, %t); %s = add(%g, %o); "
                                 "%m = mul(%x, %s); %y = mul(%m, %h); " Y(y),
          NEAR),
    /* each inner value read elsewhere */
    STAYS(SPELLED(ERF, "output \"z\" = %e; "), NEAR), STAYS(SPELLED(ERF, "output \"z\" = %d; "), NEAR),
    STAYS(SPELLED(ERF, "output \"z\" = %s; "), NEAR), STAYS(SPELLED(ERF, "output \"z\" = %m; "), NEAR),
    /* another x; sqrt 2 / x; x that is broadcast */
    STAYS(X ERF "%z = input \"z\" : f32[2,3]; %d = div(%z, %r); %e = erf(%d); %s = add(%e, %o); "
                "%m = mul(%x, %s); %y = mul(%m, %h); " Y(y),
          NEAR),
    STAYS(X ERF "%d = div(%r, %x); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); %y = mul(%m, %h); " Y(y), NEAR),
    STAYS("%x = input \"x\" : f32[3]; " NUMBER("r", "1.4142135")
            NUMBER("o", "1") "%h2 = constant : f32[2,1] = [0.5, 0.5]; %d = div(%x, %r); "
                             "%e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); %y = mul(%m, %h2); " Y(y),
          NEAR));
#undef SPELLED
}

/* ---- other activations ---- */

TEST(silu_sigmoid_and_mish) {
  CASES_OF(
    "idiom", BECOMES(X "%s = sigmoid(%x); %y = mul(%x, %s); " Y(y), X "%y = silu(%x); " Y(y), NEAR),
    BECOMES(X "%s = sigmoid(%x); %y = mul(%s, %x); " Y(y), X "%y = silu(%x); " Y(y), NEAR),
    BECOMES(X F("1") "%n = neg(%x); %e = exp(%n); %s = add(%e, %c); %y = div(%c, %s); " Y(y),
            X "%y = sigmoid(%x); " Y(y), NEAR),
    BECOMES(X F("1") NUMBER("m", "-1") "%n = mul(%x, %m); %e = exp(%n); %s = add(%c, %e); "
                                       "%y = reciprocal(%s); " Y(y),
            X "%y = sigmoid(%x); " Y(y), NEAR),
    BECOMES(X F("1") "%n = neg(%x); %e = exp(%n); %s = add(%e, %c); %y = div(%x, %s); " Y(y), X "%y = silu(%x); " Y(y),
            NEAR),
    /* sigmoid on the way to silu */
    BECOMES(X F("1") "%n = neg(%x); %e = exp(%n); %s = add(%e, %c); %g = reciprocal(%s); %y = mul(%g, %x); " Y(y),
            X "%y = silu(%x); " Y(y), NEAR),
    BECOMES(X "%s = softplus(%x); %t = tanh(%s); %y = mul(%x, %t); " Y(y), X "%y = mish(%x); " Y(y), NEAR),
    BECOMES(X F("1") "%e = exp(%x); %s = add(%e, %c); %l = log(%s); %t = tanh(%l); %y = mul(%t, %x); " Y(y),
            X "%y = mish(%x); " Y(y), NEAR),
    BECOMES(X16 "%s = sigmoid(%x); %y = mul(%x, %s); " Y(y), X16 "%y = silu(%x); " Y(y), NEAR_HALF),
    /* log(1 + e^x) alone overflows where softplus does not */
    STAYS(X F("1") "%e = exp(%x); %s = add(%e, %c); %y = log(%s); " Y(y)),
    STAYS(X NUMBER("q", "1.702") "%m = mul(%x, %q); %s = sigmoid(%m); %y = mul(%x, %s); " Y(y)),
    STAYS(X "%z = input \"z\" : f32[2,3]; %s = sigmoid(%z); %y = mul(%x, %s); " Y(y)),
    STAYS(X "%z = input \"z\" : f32[3]; %s = sigmoid(%z); %y = mul(%x, %s); " Y(y)),
    STAYS(X "%s = sigmoid(%x); %y = mul(%x, %s); output \"s\" = %s; " Y(y)),
    STAYS(X F("2") "%n = neg(%x); %e = exp(%n); %s = add(%e, %c); %y = div(%c, %s); " Y(y)),
    STAYS(X F("1") "%e = exp(%x); %s = add(%e, %c); %y = div(%c, %s); " Y(y)));
}

TEST(hard_swish_and_relu) {
#define SIX NUMBER("a", "3") NUMBER("z", "0") NUMBER("six", "6") NUMBER("f", "0.16666667")
  CASES_OF("idiom",
           BECOMES(X SIX "%s = add(%x, %a); %g = clamp(%s) {lo=0, hi=6}; %m = mul(%x, %g); %y = div(%m, %six); " Y(y),
                   X "%y = hard_swish(%x); " Y(y), NEAR),
           BECOMES(X SIX "%s = add(%x, %a); %g = clamp(%s) {lo=0, hi=6}; %m = mul(%g, %f); %y = mul(%x, %m); " Y(y),
                   X "%y = hard_swish(%x); " Y(y), NEAR),
           /* bounds as max and min, or relu and min */
           BECOMES(X SIX "%s = add(%a, %x); %g = max(%s, %z); %q = min(%g, %six); %d = div(%q, %six); "
                         "%y = mul(%d, %x); " Y(y),
                   X "%y = hard_swish(%x); " Y(y), NEAR),
           BECOMES(X SIX
                   "%s = add(%a, %x); %g = relu(%s); %q = min(%six, %g); %m = mul(%q, %x); %y = mul(%m, %f); " Y(y),
                   X "%y = hard_swish(%x); " Y(y), NEAR),
           BECOMES(X "%g = hard_sigmoid(%x) {alpha=0.16666667, beta=0.5}; %y = mul(%x, %g); " Y(y),
                   X "%y = hard_swish(%x); " Y(y), NEAR),
           BECOMES(X NUMBER("z", "0") "%y = max(%x, %z); " Y(y), X "%y = relu(%x); " Y(y)),
           BECOMES(X "%y = clamp(%x) {lo=0}; " Y(y), X "%y = relu(%x); " Y(y), NEAR),
           STAYS(X "%g = hard_sigmoid(%x) {alpha=0.2, beta=0.5}; %y = mul(%x, %g); " Y(y)),
           STAYS(X NUMBER("a", "2") NUMBER(
             "six", "6") "%s = add(%x, %a); %g = clamp(%s) {lo=0, hi=6}; %m = mul(%x, %g); %y = div(%m, %six); " Y(y)),
           STAYS(X NUMBER("a", "3") NUMBER(
             "six", "6") "%s = add(%x, %a); %g = clamp(%s) {lo=0, hi=5}; %m = mul(%x, %g); %y = div(%m, %six); " Y(y)),
           STAYS(X "%y = clamp(%x) {lo=0, hi=6}; " Y(y)), STAYS(X NUMBER("z", "-0") "%y = max(%x, %z); " Y(y)),
           STAYS(I N("0") "%y = max(%i, %c); " Y(y)));
#undef SIX
}

/* ---- norms ---- */

#define R "%x = input \"x\" : f32[2,3,4]; %g = param \"g\" : f32[4]; %b = param \"b\" : f32[4]; "
#define SMALL NUMBER("e", "0.0625")
#define EPS SMALL NUMBER("t", "2")
#define MEAN(to, from) "%" to " = reduce_mean(%" from ") {axes=[-1], keep=true}; "
/* x - mean, its square, the variance, with eps */
#define CENTRE MEAN("m", "x") "%d = sub(%x, %m); "
#define VARIANCE "%q = pow(%d, %t); " MEAN("v", "q") "%w = add(%v, %e); "
#define AFFINE "%k = mul(%n, %g); %y = add(%k, %b); "
#define LAYER R "%y = layer_norm(%x, %g, %b) {eps=0.0625}; " Y(y)

TEST(layer_norm_spelled_out) {
  CASES_OF(
    "idiom", BECOMES(R EPS CENTRE VARIANCE "%s = sqrt(%w); %n = div(%d, %s); " AFFINE Y(y), LAYER, .tolerance = 1e-5),
    /* d d; eps first; 1 / sqrt; gamma and beta on the left */
    BECOMES(R EPS CENTRE "%q = mul(%d, %d); " MEAN("v", "q") "%w = add(%e, %v); %s = rsqrt(%w); %n = mul(%s, %d); "
                                                             "%k = mul(%g, %n); %y = add(%b, %k); " Y(y),
            LAYER, .tolerance = 1e-5),
    BECOMES(R EPS CENTRE VARIANCE "%s = sqrt(%w); %i = reciprocal(%s); %n = mul(%d, %i); " AFFINE Y(y), LAYER,
            .tolerance = 1e-5),
    BECOMES(R EPS NUMBER("h", "-0.5") CENTRE VARIANCE "%s = pow(%w, %h); %n = mul(%d, %s); " AFFINE Y(y), LAYER,
            .tolerance = 1e-5),
    BECOMES(R EPS NUMBER("o", "1") CENTRE VARIANCE "%s = sqrt(%w); %i = div(%o, %s); %n = mul(%d, %i); " AFFINE Y(y),
            LAYER, .tolerance = 1e-5),
    /* gamma on the root first */
    BECOMES(R EPS CENTRE VARIANCE "%s = rsqrt(%w); %i = mul(%s, %g); %n = mul(%d, %i); %y = add(%n, %b); " Y(y), LAYER,
            .tolerance = 1e-5),
    /* sums and a count; axes that are dropped and given back */
    BECOMES(
      R EPS NUMBER("c", "4") NUMBER(
        "f", "0.25") "%a = reduce_sum(%x) {axes=[2], keep=true}; %m = div(%a, %c); %d = sub(%x, %m); %q = pow(%d, %t); "
                     "%z = reduce_sum(%q) {axes=[2], keep=true}; %v = mul(%z, %f); %w = add(%v, %e); %s = sqrt(%w); "
                     "%n = div(%d, %s); " AFFINE Y(y),
      LAYER, .tolerance = 1e-5),
    BECOMES(R EPS "%a = reduce_mean(%x) {axes=[2]}; %m = reshape(%a) {shape=[2,3,1]}; %d = sub(%x, %m); "
                  "%q = pow(%d, %t); " MEAN("v", "q") "%w = add(%v, %e); %s = sqrt(%w); %n = div(%d, %s); " AFFINE Y(y),
            LAYER, .tolerance = 1e-5),
    /* without gamma, without both; x is read elsewhere */
    BECOMES(R EPS CENTRE VARIANCE "%s = sqrt(%w); %n = div(%d, %s); %y = add(%n, %b); " Y(y),
            R "%y = layer_norm(%x, _, %b) {eps=0.0625}; " Y(y), .tolerance = 1e-5),
    BECOMES(R EPS CENTRE VARIANCE "%s = sqrt(%w); %n = div(%d, %s); %y = add(%n, %x); " Y(y),
            R "%n = layer_norm(%x) {eps=0.0625}; %y = add(%n, %x); " Y(y), .tolerance = 1e-5),
    /* a gamma with leading axes of size 1 */
    BECOMES("%x = input \"x\" : f32[2,3,4]; %g = param \"g\" : f32[1,1,4]; " EPS CENTRE VARIANCE
            "%s = sqrt(%w); %n = div(%d, %s); %y = mul(%n, %g); " Y(y),
            "%x = input \"x\" : f32[2,3,4]; %g = param \"g\" : f32[1,1,4]; %r = reshape(%g) {shape=[4]}; "
            "%y = layer_norm(%x, %r) {eps=0.0625}; " Y(y),
            .tolerance = 1e-5));
}

TEST(layer_norm_over_other_axes) {
  CASES_OF(
    "idiom",
    /* the last two */
    BECOMES("%x = input \"x\" : f32[2,3,4]; %g = param \"g\" : f32[3,4]; " EPS
            "%m = reduce_mean(%x) {axes=[1,2], keep=true}; %d = sub(%x, %m); %q = pow(%d, %t); "
            "%v = reduce_mean(%q) {axes=[-1,-2], keep=true}; %w = add(%v, %e); %s = sqrt(%w); "
            "%n = div(%d, %s); %y = mul(%n, %g); " Y(y),
            "%x = input \"x\" : f32[2,3,4]; %g = param \"g\" : f32[3,4]; "
            "%y = layer_norm(%x, %g) {axis=1, eps=0.0625}; " Y(y),
            .tolerance = 1e-5),
    /* the channels of an image */
    BECOMES("%x = input \"x\" : f32[1,4,2,3]; %g = param \"g\" : f32[4,1,1]; %b = param \"b\" : f32[1,4,1,1]; " EPS
            "%m = reduce_mean(%x) {axes=[1], keep=true}; %d = sub(%x, %m); %q = pow(%d, %t); "
            "%v = reduce_mean(%q) {axes=[1], keep=true}; %w = add(%v, %e); %s = sqrt(%w); "
            "%n = div(%d, %s); " AFFINE Y(y),
            "%x = input \"x\" : f32[1,4,2,3]; %g = param \"g\" : f32[4,1,1]; %b = param \"b\" : f32[1,4,1,1]; "
            "%p = reshape(%g) {shape=[4]}; %q = reshape(%b) {shape=[4]}; "
            "%y = layer_norm_2d(%x, %p, %q) {eps=0.0625}; " Y(y),
            .tolerance = 1e-5),
    /* neither */
    STAYS("%x = input \"x\" : f32[2,3,4]; " EPS "%m = reduce_mean(%x) {axes=[1], keep=true}; %d = sub(%x, %m); "
          "%q = pow(%d, %t); %v = reduce_mean(%q) {axes=[1], keep=true}; %w = add(%v, %e); %s = sqrt(%w); "
          "%n = div(%d, %s); " Y(n),
          .tolerance = 1e-5));
}

TEST(layer_norm_multiplied_out) {
#define FACTOR MEAN("m", "x") "%d = sub(%x, %m); %q = mul(%d, %d); " MEAN("v", "q") "%w = add(%v, %e); %s = rsqrt(%w); "
  CASES_OF("idiom",
           BECOMES(R SMALL FACTOR "%f = mul(%s, %g); %p = mul(%x, %f); %c = mul(%m, %f); %z = sub(%b, %c); "
                                  "%y = add(%p, %z); " Y(y),
                   LAYER, .tolerance = 1e-5),
           BECOMES(R SMALL FACTOR "%p = mul(%s, %x); %c = mul(%s, %m); %z = sub(%b, %c); %y = add(%z, %p); " Y(y),
                   R "%y = layer_norm(%x, _, %b) {eps=0.0625}; " Y(y), .tolerance = 1e-5),
           BECOMES(R SMALL FACTOR "%f = mul(%g, %s); %p = mul(%x, %f); %c = mul(%f, %m); %y = sub(%p, %c); " Y(y),
                   R "%y = layer_norm(%x, %g) {eps=0.0625}; " Y(y), .tolerance = 1e-5),
           /* a beta of another shape; a factor that is read elsewhere */
           STAYS("%x = input \"x\" : f32[2,3,4]; %b = param \"b\" : f32[3,4]; " SMALL FACTOR
                 "%p = mul(%x, %s); %c = mul(%m, %s); %z = sub(%b, %c); %y = add(%p, %z); " Y(y),
                 .tolerance = 1e-5),
           STAYS(R SMALL FACTOR "%p = mul(%x, %s); %c = mul(%m, %s); %z = sub(%b, %c); %y = add(%p, %z); "
                                "output \"s\" = %s; " Y(y),
                 .tolerance = 1e-5));
#undef FACTOR
}

TEST(layer_norm_near_misses) {
#define END "%n = div(%d, %s); " Y(n)
#define PLAIN CENTRE VARIANCE "%s = sqrt(%w); "
  CASES_OF(
    "idiom",
    /* eps outside of the root; a variance over n - 1; another power; the variance of something else */
    STAYS(R EPS CENTRE "%q = pow(%d, %t); " MEAN("v", "q") "%w = sqrt(%v); %s = add(%w, %e); " END, .tolerance = 1e-5),
    STAYS(R EPS NUMBER("c", "3") CENTRE "%q = pow(%d, %t); %z = reduce_sum(%q) {axes=[2], keep=true}; "
                                        "%v = div(%z, %c); %w = add(%v, %e); %s = sqrt(%w); " END,
          .tolerance = 1e-5),
    STAYS(R NUMBER("e", "0.0625") NUMBER("t", "4") PLAIN END, .tolerance = 1e-5),
    STAYS(R EPS CENTRE "%q = pow(%x, %t); " MEAN("v", "q") "%w = add(%v, %e); %s = sqrt(%w); " END, .tolerance = 1e-5),
    /* a negative eps; one per row */
    STAYS(R NUMBER("e", "-1") NUMBER("t", "2") PLAIN END, .tolerance = 1e-5),
    STAYS(R "%e = param \"e\" : f32[3,1]; " NUMBER("t", "2") "%f = abs(%e); " CENTRE "%q = pow(%d, %t); " MEAN(
            "v", "q") "%w = add(%v, %f); %s = sqrt(%w); " END,
          .tolerance = 1e-5),
    /* inner values read elsewhere */
    STAYS(R EPS PLAIN "output \"v\" = %v; " END, .tolerance = 1e-5),
    STAYS(R EPS PLAIN "output \"s\" = %s; " END, .tolerance = 1e-5),
    STAYS(R EPS PLAIN "output \"q\" = %q; " END, .tolerance = 1e-5),
    /* d is read elsewhere: the rest is a norm of it */
    BECOMES(R EPS PLAIN "output \"d\" = %d; " END, R CENTRE "%n = rms_norm(%d) {eps=0.0625}; output \"d\" = %d; " Y(n),
            .tolerance = 1e-5),
    /* a gamma that is no weight, of other axes, or a norm that is read elsewhere */
    STAYS(R "%z = input \"z\" : f32[4]; %n = layer_norm(%x); %y = mul(%n, %z); " Y(y), .tolerance = 1e-5),
    STAYS(R "%z = param \"z\" : f32[3,4]; %n = layer_norm(%x); %y = mul(%n, %z); " Y(y), .tolerance = 1e-5),
    STAYS(R "%z = param \"z\" : f32[3,1]; %n = layer_norm(%x); %y = mul(%n, %z); " Y(y), .tolerance = 1e-5),
    STAYS(R "%z = param \"z\" : f32[1,2,3,4]; %n = layer_norm(%x); %y = mul(%n, %z); " Y(y), .tolerance = 1e-5),
    STAYS(R "%n = layer_norm(%x); %y = mul(%n, %g); output \"n\" = %n; " Y(y), .tolerance = 1e-5),
    /* gamma after beta, a second gamma, a second beta */
    STAYS(R "%n = layer_norm(%x, _, %b); %y = mul(%n, %g); " Y(y), .tolerance = 1e-5),
    STAYS(R "%n = layer_norm(%x, %g); %y = mul(%n, %b); " Y(y), .tolerance = 1e-5),
    STAYS(R "%n = layer_norm(%x, %g, %b); %y = add(%n, %g); " Y(y), .tolerance = 1e-5));
#undef PLAIN
#undef END
}

TEST(rms_norm_spelled_out) {
#define MEAN_SQUARE "%q = pow(%x, %t); " MEAN("v", "q") "%w = add(%v, %e); "
#define RMS R "%y = rms_norm(%x, %g) {eps=0.0625}; " Y(y)
  CASES_OF(
    "idiom",
    BECOMES(R EPS MEAN_SQUARE "%s = rsqrt(%w); %n = mul(%x, %s); %y = mul(%g, %n); " Y(y), RMS, .tolerance = 1e-5),
    BECOMES(R EPS MEAN_SQUARE "%s = sqrt(%w); %n = div(%x, %s); %y = mul(%n, %g); " Y(y), RMS, .tolerance = 1e-5),
    BECOMES(R EPS MEAN_SQUARE "%s = sqrt(%w); %i = reciprocal(%s); %n = mul(%x, %i); %y = mul(%n, %g); " Y(y), RMS,
            .tolerance = 1e-5),
    /* f16, computed in f32 between casts */
    BECOMES("%h = input \"h\" : f16[2,3,4]; %g = param \"g\" : f16[4]; %x = cast(%h) {to=f32}; " EPS MEAN_SQUARE
            "%s = rsqrt(%w); %n = mul(%x, %s); %k = cast(%n) {to=f16}; %y = mul(%g, %k); " Y(y),
            "%h = input \"h\" : f16[2,3,4]; %g = param \"g\" : f16[4]; "
            "%y = rms_norm(%h, %g) {eps=0.0625}; " Y(y),
            NEAR_HALF),
    STAYS(R EPS MEAN_SQUARE "%s = rsqrt(%w); %n = mul(%x, %s); output \"w\" = %w; " Y(n), .tolerance = 1e-5),
    STAYS(R EPS "%z = input \"z\" : f32[2,3,4]; " MEAN_SQUARE "%s = rsqrt(%w); %n = mul(%z, %s); " Y(n),
          .tolerance = 1e-5));
#undef RMS
#undef MEAN_SQUARE
}

TEST(group_norm_as_rows) {
#define CHANNELS "%x = input \"x\" : f32[2,4,3]; %g = param \"g\" : f32[4,1]; %b = param \"b\" : f32[4,1]; "
#define ROWS "%r = reshape(%x) {shape=[2,2,6]}; "
#define BACK "%s = reshape(%n) {shape=[2,4,3]}; "
#define IDLE "%o = constant : f32[2] = [1, 1]; %z = constant : f32[2] = [0, 0]; "
  CASES_OF("idiom",
           BECOMES(CHANNELS IDLE ROWS "%n = instance_norm(%r, %o, %z) {eps=0.5}; " BACK
                                      "%p = mul(%s, %g); %y = add(%p, %b); " Y(y),
                   CHANNELS "%h = reshape(%g) {shape=[4]}; %i = reshape(%b) {shape=[4]}; "
                            "%y = group_norm(%x, %h, %i) {groups=2, eps=0.5}; " Y(y),
                   .tolerance = 1e-5),
           BECOMES(CHANNELS ROWS "%n = layer_norm(%r) {eps=0.5}; " BACK Y(s),
                   CHANNELS "%y = group_norm(%x) {groups=2, eps=0.5}; " Y(y), .tolerance = 1e-5),
           /* a gamma of its own, other rows, another shape at the end */
           STAYS(CHANNELS "%o = constant : f32[2] = [1, 2]; " ROWS "%n = instance_norm(%r, %o); " BACK Y(s),
                 .tolerance = 1e-5),
           STAYS(CHANNELS "%r = reshape(%x) {shape=[4,2,3]}; %n = layer_norm(%r); " BACK Y(s), .tolerance = 1e-5),
           STAYS(CHANNELS ROWS "%n = layer_norm(%r); %s = reshape(%n) {shape=[4,2,3]}; " Y(s), .tolerance = 1e-5),
           STAYS(CHANNELS ROWS "%n = layer_norm(%r) {axis=1}; " BACK Y(s), .tolerance = 1e-5));
#undef IDLE
#undef BACK
#undef ROWS
#undef CHANNELS
}

TEST(half_floats_between_casts) {
#define H "%h = input \"h\" : f16[2,3,4]; %g = param \"g\" : f16[4]; %b = param \"b\" : f16[4]; "
#define WIDE "%x = cast(%h) {to=f32}; "
  CASES_OF(
    "idiom",
    BECOMES(H WIDE EPS CENTRE VARIANCE "%s = sqrt(%w); %n = div(%d, %s); %k = cast(%n) {to=f16}; "
                                       "%p = mul(%k, %g); %y = add(%p, %b); " Y(y),
            H "%y = layer_norm(%h, %g, %b) {eps=0.0625}; " Y(y), NEAR_HALF),
    BECOMES(H WIDE "%u = cast(%g) {to=f32}; %v = cast(%b) {to=f32}; " EPS CENTRE "%q = pow(%d, %t); " MEAN(
              "z", "q") "%w = add(%z, %e); %s = sqrt(%w); %n = div(%d, %s); "
                        "%k = mul(%n, %u); %p = add(%k, %v); %y = cast(%p) {to=f16}; " Y(y),
            H "%y = layer_norm(%h, %g, %b) {eps=0.0625}; " Y(y), NEAR_HALF),
    BECOMES(H WIDE "%s = softmax(%x); %y = cast(%s) {to=f16}; " Y(y), H "%y = softmax(%h); " Y(y), NEAR_HALF),
    BECOMES(H WIDE "%s = gelu(%x); %y = cast(%s) {to=f16}; " Y(y), H "%y = gelu(%h); " Y(y), NEAR_HALF),
    /* another 16-bit type, the f32 value read elsewhere, a gamma of f32, no cast before */
    STAYS(H WIDE "%s = softmax(%x); %y = cast(%s) {to=bf16}; " Y(y), NEAR_HALF),
    STAYS(H WIDE "%s = softmax(%x); %y = cast(%s) {to=f16}; output \"s\" = %s; " Y(y), NEAR_HALF),
    STAYS(H "%u = param \"u\" : f32[4]; " WIDE "%s = layer_norm(%x, %u); %y = cast(%s) {to=f16}; " Y(y), NEAR_HALF),
    STAYS("%x = input \"x\" : f32[2,3]; %s = softmax(%x); %y = cast(%s) {to=f16}; " Y(y), NEAR_HALF));
#undef WIDE
#undef H
}

/* ---- softmax ---- */

TEST(softmax_spelled_out) {
#define BELOW "%m = reduce_max(%x) {axes=[1], keep=true}; %d = sub(%x, %m); "
  CASES_OF(
    "idiom",
    BECOMES(X BELOW "%e = exp(%d); %s = reduce_sum(%e) {axes=[-1], keep=true}; %y = div(%e, %s); " Y(y),
            X "%y = softmax(%x); " Y(y), NEAR),
    BECOMES(X "%m = reduce_max(%x) {axes=[0], keep=true}; %d = sub(%x, %m); %e = exp(%d); "
              "%s = reduce_sum(%e) {axes=[0], keep=true}; %i = reciprocal(%s); %y = mul(%e, %i); " Y(y),
            X "%y = softmax(%x) {axis=0}; " Y(y), NEAR),
    BECOMES(X BELOW "%e = exp(%d); %s = reduce_sum(%e) {axes=[1], keep=true}; %l = log(%s); %y = sub(%d, %l); " Y(y),
            X "%y = log_softmax(%x); " Y(y), NEAR),
    BECOMES(X16 BELOW "%e = exp(%d); %s = reduce_sum(%e) {axes=[1], keep=true}; %y = div(%e, %s); " Y(y),
            X16 "%y = softmax(%x); " Y(y), NEAR_HALF),
    /* no maximum taken off; two axes; two different ones; the exponential read elsewhere */
    STAYS(X "%e = exp(%x); %s = reduce_sum(%e) {axes=[1], keep=true}; %y = div(%e, %s); " Y(y), NEAR),
    STAYS(X "%m = reduce_max(%x) {keep=true}; %d = sub(%x, %m); %e = exp(%d); %s = reduce_sum(%e) {keep=true}; "
            "%y = div(%e, %s); " Y(y),
          NEAR),
    STAYS(X BELOW "%e = exp(%d); %s = reduce_sum(%e) {axes=[0], keep=true}; %y = div(%e, %s); " Y(y), NEAR),
    STAYS(X BELOW "%e = exp(%d); %s = reduce_sum(%e) {axes=[1], keep=true}; %y = div(%e, %s); output \"e\" = %e; " Y(y),
          NEAR));
#undef BELOW
}

/* ---- convolutions ---- */

#define IMAGE "%x = input \"x\" : f32[1,2,4,4]; %w = param \"w\" : f32[3,2,3,3]; "

TEST(batch_norm_behind_a_convolution) {
#define STATS                                                                                         \
  "%m = param \"m\" : f32[3]; %v0 = param \"v\" : f32[3]; %v = abs(%v0); %g = param \"g\" : f32[3]; " \
  "%b = param \"b\" : f32[3]; "
#define FACTOR "%e = constant : f32[] = [0.5]; %p = add(%v, %e); %q = sqrt(%p); %s = div(%g, %q); "
  CASES_OF(
    "idiom",
    BECOMES(IMAGE STATS "%c = conv(%x, %w); %y = batch_norm_inference(%c, %m, %v, %g, %b) {eps=0.5}; " Y(y),
            IMAGE STATS FACTOR "%t = mul(%m, %s); %u = sub(%b, %t); %r = reshape(%s) {shape=[3,1,1,1]}; "
                               "%k = mul(%w, %r); %y = conv(%x, %k, %u); " Y(y),
            .tolerance = 1e-5),
    /* a bias; no gamma and beta */
    BECOMES(IMAGE STATS "%c = conv(%x, %w, %b) {stride=[2,2]}; %y = batch_norm_inference(%c, %m, %v) {eps=0.5}; " Y(y),
            IMAGE STATS "%e = constant : f32[] = [0.5]; %p = add(%v, %e); %q = sqrt(%p); "
                        "%o = constant : f32[] = [1]; %s = div(%o, %q); %t = mul(%m, %s); %u = neg(%t); "
                        "%r = reshape(%s) {shape=[3,1,1,1]}; %k = mul(%w, %r); %z = mul(%b, %s); %a = add(%z, %u); "
                        "%y = conv(%x, %k, %a) {stride=[2,2]}; " Y(y),
            .tolerance = 1e-5),
    /* after another op: a scale and a shift */
    BECOMES("%x = input \"x\" : f32[1,3,2,2]; " STATS "%y = batch_norm_inference(%x, %m, %v, %g, %b) {eps=0.5}; " Y(y),
            "%x = input \"x\" : f32[1,3,2,2]; " STATS FACTOR
            "%t = mul(%m, %s); %u = sub(%b, %t); %r = reshape(%s) {shape=[1,3,1,1]}; %k = mul(%x, %r); "
            "%z = reshape(%u) {shape=[1,3,1,1]}; %y = add(%k, %z); " Y(y),
            .tolerance = 1e-5),
    /* statistics of this run */
    STAYS(IMAGE "%m = input \"m\" : f32[3]; %v0 = input \"v\" : f32[3]; %v = abs(%v0); %c = conv(%x, %w); "
                "%y = batch_norm_inference(%c, %m, %v); " Y(y),
          .tolerance = 1e-5));
}

TEST(scale_and_shift_behind_a_convolution) {
  CASES_OF(
    "idiom",
    BECOMES(IMAGE "%s = param \"s\" : f32[3,1,1]; %t = param \"t\" : f32[1,3,1,1]; %c = conv(%x, %w); "
                  "%k = mul(%s, %c); %y = add(%k, %t); " Y(y),
            IMAGE "%s = param \"s\" : f32[3,1,1]; %t = param \"t\" : f32[1,3,1,1]; %r = reshape(%s) {shape=[3]}; "
                  "%u = reshape(%r) {shape=[3,1,1,1]}; %a = mul(%w, %u); %b = reshape(%t) {shape=[3]}; "
                  "%y = conv(%x, %a, %b); " Y(y),
            .tolerance = 1e-5),
    BECOMES(IMAGE "%s = param \"s\" : f32[3,1,1]; %b = param \"b\" : f32[3]; %c = conv(%x, %w, %b); "
                  "%y = sub(%c, %s); " Y(y),
            IMAGE "%s = param \"s\" : f32[3,1,1]; %b = param \"b\" : f32[3]; %r = reshape(%s) {shape=[3]}; "
                  "%n = neg(%r); %a = add(%b, %n); %y = conv(%x, %w, %a); " Y(y),
            .tolerance = 1e-5),
    /* a number */
    BECOMES(
      IMAGE F("2") "%d = conv(%x, %w); %y = mul(%d, %c); " Y(y),
      IMAGE F("2") "%r = reshape(%c) {shape=[1]}; %u = expand(%r) {shape=[3]}; %v = reshape(%u) {shape=[3,1,1,1]}; "
                   "%a = mul(%w, %v); %y = conv(%x, %a); " Y(y),
      .tolerance = 1e-5),
    /* conv_transpose: the channels are on axis 1 of the weight */
    BECOMES("%x = input \"x\" : f32[1,2,2,2]; %w = param \"w\" : f32[2,3,2,2]; %s = param \"s\" : f32[3,1,1]; "
            "%c = conv_transpose(%x, %w); %y = mul(%c, %s); " Y(y),
            "%x = input \"x\" : f32[1,2,2,2]; %w = param \"w\" : f32[2,3,2,2]; %s = param \"s\" : f32[3,1,1]; "
            "%r = reshape(%s) {shape=[3]}; %u = reshape(%r) {shape=[1,3,1,1]}; %a = mul(%w, %u); "
            "%y = conv_transpose(%x, %a); " Y(y),
            .tolerance = 1e-5),
    /* f16 */
    BECOMES("%x = input \"x\" : f16[1,2,4,4]; %w = param \"w\" : f16[3,2,3,3]; %s = param \"s\" : f16[3,1,1]; "
            "%c = conv(%x, %w); %y = mul(%c, %s); " Y(y),
            "%x = input \"x\" : f16[1,2,4,4]; %w = param \"w\" : f16[3,2,3,3]; %s = param \"s\" : f16[3,1,1]; "
            "%r = reshape(%s) {shape=[3]}; %u = cast(%r) {to=f32}; %v = cast(%w) {to=f32}; "
            "%z = reshape(%u) {shape=[3,1,1,1]}; %p = mul(%v, %z); %a = cast(%p) {to=f16}; %y = conv(%x, %a); " Y(y),
            .tolerance = 1.5e-2),
    /* along another axis, of this run, read elsewhere, broadcast, weights of this run */
    STAYS(IMAGE "%s = param \"s\" : f32[2]; %c = conv(%x, %w); %y = mul(%c, %s); " Y(y), .tolerance = 1e-5),
    STAYS(IMAGE "%s = input \"s\" : f32[3,1,1]; %c = conv(%x, %w); %y = mul(%c, %s); " Y(y), .tolerance = 1e-5),
    STAYS(IMAGE "%s = param \"s\" : f32[3,1,1]; %c = conv(%x, %w); %y = mul(%c, %s); output \"c\" = %c; " Y(y),
          .tolerance = 1e-5),
    STAYS(IMAGE "%s = param \"s\" : f32[2,3,1,1]; %c = conv(%x, %w); %y = add(%c, %s); " Y(y), .tolerance = 1e-5),
    STAYS(IMAGE "%s = param \"s\" : f32[3,1,1]; %u = input \"u\" : f32[3,2,3,3]; %c = conv(%x, %u); "
                "%y = mul(%c, %s); " Y(y),
          .tolerance = 1e-5));
}

TEST(scales_and_shifts_of_scales_and_shifts) {
#define MAPS                                                                                          \
  "%x = input \"x\" : f32[1,3,2,2]; %a = param \"a\" : f32[3,1,1]; %b = param \"b\" : f32[1,3,1,1]; " \
  "%s = param \"s\" : f32[3,1,1]; %t = param \"t\" : f32[3,1,1]; "
  CASES_OF(
    "idiom",
    BECOMES(MAPS "%k = mul(%x, %a); %l = add(%b, %k); %m = mul(%l, %s); %y = add(%m, %t); " Y(y),
            MAPS "%f = mul(%a, %s); %k = mul(%x, %f); %g = mul(%b, %s); %h = add(%g, %t); %y = add(%k, %h); " Y(y),
            .tolerance = 1e-5),
    /* a vector along another axis, of this run, an inner value read elsewhere, a sum before the scale alone */
    STAYS(MAPS "%u = param \"u\" : f32[2]; %k = mul(%x, %a); %l = add(%b, %k); %m = mul(%l, %u); " Y(m),
          .tolerance = 1e-5),
    STAYS(MAPS "%u = input \"u\" : f32[3,1,1]; %k = mul(%x, %a); %l = add(%b, %k); %m = mul(%l, %u); " Y(m),
          .tolerance = 1e-5),
    STAYS(MAPS "%k = mul(%x, %a); %l = add(%b, %k); %m = mul(%l, %s); output \"k\" = %k; " Y(m), .tolerance = 1e-5),
    STAYS(MAPS "%l = add(%x, %a); %m = mul(%l, %s); " Y(m), .tolerance = 1e-5),
    STAYS(MAPS "%l = add(%x, %a); %m = add(%l, %s); " Y(m), .tolerance = 1e-5),
    STAYS("%x = input \"x\" : f16[1,3,2,2]; %a = param \"a\" : f16[3,1,1]; %b = param \"b\" : f16[3,1,1]; "
          "%k = mul(%x, %a); %l = add(%k, %b); %y = add(%l, %a); " Y(y),
          NEAR_HALF));
#undef MAPS
}

/* ---- masks of attention ---- */

#define QK "%q = input \"q\" : f32[1,2,2,4]; %k = input \"k\" : f32[1,2,3,4]; "
#define SCORES "%s = matmul(%q, %k) {trans_b=true}; "

TEST(masks_are_added) {
  CASES_OF(
    "idiom",
    /* a run-time mask, and with exchanged branches; with a number the mean of a fully hidden row stays */
    BECOMES(QK "%m = input \"m\" : bool[1,1,1,3]; %h = constant : f32[] = [-inf]; " SCORES
               "%t = where(%m, %s, %h); %y = softmax(%t); " Y(y),
            QK "%m = input \"m\" : bool[1,1,1,3]; " SCORES "%z = constant : f32[] = [0]; "
               "%h = constant : f32[] = [-inf]; %w = where(%m, %z, %h); %t = add(%s, %w); %y = softmax(%t); " Y(y),
            NEAR),
    BECOMES(
      QK "%m = input \"m\" : bool[2,3]; %h = constant : f32[] = [-3.4028235e38]; %c = constant : f32[] = [0.5]; " SCORES
         "%u = mul(%s, %c); %t = where(%m, %h, %u); %y = softmax(%t) {axis=3}; " Y(y),
      QK "%m = input \"m\" : bool[2,3]; %c = constant : f32[] = [0.5]; " SCORES "%u = mul(%s, %c); "
         "%z = constant : f32[] = [0]; %h = constant : f32[] = [-8.507059e37]; "
         "%w = where(%m, %h, %z); %t = add(%u, %w); %y = softmax(%t); " Y(y),
      NEAR),
    /* a constant mask that leaves each row a visible key */
    BECOMES(QK "%m = constant : bool[2,3] = [0, 0, 1, 0, 1, 0]; %h = constant : f32[] = [-10000]; " SCORES
               "%t = where(%m, %h, %s); %y = softmax(%t); " Y(y),
            QK SCORES "%w = constant : f32[2,3] = [0, 0, -inf, 0, -inf, 0]; %t = add(%s, %w); %y = softmax(%t); " Y(y),
            NEAR),
    /* and one that does not */
    BECOMES(QK "%m = constant : bool[2,3] = [1, 1, 1, 0, 1, 0]; %h = constant : f32[] = [-10000]; " SCORES
               "%t = where(%m, %h, %s); %y = softmax(%t); " Y(y),
            QK
            "%m = constant : bool[2,3] = [1, 1, 1, 0, 1, 0]; " SCORES "%z = constant : f32[] = [0]; "
            "%h = constant : f32[] = [-8.507059e37]; %w = where(%m, %h, %z); %t = add(%s, %w); %y = softmax(%t); " Y(y),
            NEAR),
    STAYS(QK "%m = constant : bool[2,3] = [1, 1, 1, 0, 1, 0]; %h = constant : f32[] = [-inf]; " SCORES
             "%t = where(%m, %h, %s); %y = softmax(%t); " Y(y),
          NEAR),
    /* not low enough; no scores; another axis; read elsewhere; f16, where no finite number absorbs all scores */
    STAYS(QK "%m = input \"m\" : bool[2,3]; %h = constant : f32[] = [-100]; " SCORES
             "%t = where(%m, %h, %s); %y = softmax(%t); " Y(y),
          NEAR),
    STAYS(X "%m = input \"m\" : bool[2,3]; %h = constant : f32[] = [-inf]; %t = where(%m, %x, %h); "
            "%y = softmax(%t); " Y(y),
          NEAR),
    STAYS(QK "%m = input \"m\" : bool[2,3]; %h = constant : f32[] = [-1e9]; " SCORES
             "%t = where(%m, %h, %s); %y = softmax(%t) {axis=2}; " Y(y),
          NEAR),
    STAYS(QK "%m = input \"m\" : bool[2,3]; %h = constant : f32[] = [-1e9]; " SCORES
             "%t = where(%m, %h, %s); %y = softmax(%t); output \"t\" = %t; " Y(y),
          NEAR),
    STAYS("%q = input \"q\" : f16[1,2,2,4]; %m = input \"m\" : bool[2,2]; %h = constant : f16[] = [-65504]; "
          "%s = matmul(%q, %q) {trans_b=true}; %t = where(%m, %h, %s); %y = softmax(%t); " Y(y),
          NEAR_HALF));
}

TEST(a_scale_before_the_heads_goes_behind) {
#define SPLIT(to, from) "%" to " = reshape(%" from ") {shape=[2,3,2,2]}; "
#define ROWS "%x = input \"x\" : f32[2,3,4]; "
  CASES_OF("idiom",
           BECOMES(ROWS F("0.3") "%s = mul(%x, %c); " SPLIT("h", "s") "%y = transpose(%h) {perm=[0,2,1,3]}; " Y(y),
                   ROWS F("0.3") SPLIT("h", "x") "%t = transpose(%h) {perm=[0,2,1,3]}; %y = mul(%t, %c); " Y(y)),
           BECOMES(ROWS F("3") "%s = div(%x, %c); " SPLIT("h", "s") "%y = transpose(%h) {perm=[0,2,3,1]}; " Y(y),
                   ROWS F("3") SPLIT("h", "x") "%t = transpose(%h) {perm=[0,2,3,1]}; %y = div(%t, %c); " Y(y)),
           STAYS(ROWS F("3") "%s = div(%c, %x); " SPLIT("h", "s") "%y = transpose(%h) {perm=[0,2,3,1]}; " Y(y)),
           STAYS(ROWS F("3") "%s = mul(%x, %c); " SPLIT("h", "s") "%y = transpose(%h) {perm=[0,2,1,3]}; "
                                                                  "output \"s\" = %s; " Y(y)),
           STAYS(ROWS F("3") "%s = mul(%x, %c); " SPLIT("h", "s") "%y = transpose(%h) {perm=[0,3,1,2]}; " Y(y)));
#undef ROWS
#undef SPLIT
}

#define JOIN(to, from) "%" to " = reshape(%" from ") {shape=[4,3,5]}; "
#define WIDE_HEADS "%q = input \"q\" : f32[2,2,3,5]; %k = input \"k\" : f32[2,2,3,5]; "

TEST(batch_and_heads_that_were_joined) {
  CASES_OF(
    "idiom",
    BECOMES(WIDE_HEADS "%v = input \"v\" : f32[2,2,3,5]; %m = input \"m\" : f32[2,1,1,3]; " JOIN("a", "q") JOIN(
              "b", "k") JOIN("d", "v") "%s = matmul(%a, %b) {trans_b=true}; %t = reshape(%s) {shape=[2,2,3,3]}; "
                                       "%u = add(%t, %m); %w = reshape(%u) {shape=[4,3,3]}; %p = softmax(%w) {axis=2}; "
                                       "%r = matmul(%p, %d); %y = reshape(%r) {shape=[2,2,3,5]}; " Y(y),
            WIDE_HEADS "%v = input \"v\" : f32[2,2,3,5]; %m = input \"m\" : f32[2,1,1,3]; "
                       "%s = matmul(%q, %k) {trans_b=true}; %u = add(%s, %m); %p = softmax(%u); "
                       "%y = matmul(%p, %v); " Y(y)),
    /* with a mask by where in between */
    BECOMES(
      WIDE_HEADS "%m = input \"m\" : bool[2,1,1,3]; %h = constant : f32[] = [-inf]; " JOIN("a", "q") JOIN(
        "b", "k") "%s = matmul(%a, %b) {trans_b=true}; %t = reshape(%s) {shape=[2,2,3,3]}; %u = where(%m, %t, %h); "
                  "%w = reshape(%u) {shape=[4,3,3]}; %y = softmax(%w); " Y(y),
      WIDE_HEADS "%m = input \"m\" : bool[2,1,1,3]; %s = matmul(%q, %k) {trans_b=true}; "
                 "%z = constant : f32[] = [0]; %h = constant : f32[] = [-inf]; %o = where(%m, %z, %h); "
                 "%u = add(%s, %o); %p = softmax(%u); %y = reshape(%p) {shape=[4,3,3]}; " Y(y),
      NEAR),
    /* a softmax of two axes, as before opset 13 */
    BECOMES(WIDE_HEADS "%f = reshape(%q) {shape=[12,5]}; %p = softmax(%f) {axis=1}; "
                       "%y = reshape(%p) {shape=[2,2,3,5]}; output \"k\" = %k; " Y(y),
            WIDE_HEADS "%y = softmax(%q); output \"k\" = %k; " Y(y)),
    STAYS(WIDE_HEADS "%f = reshape(%q) {shape=[4,15]}; %p = softmax(%f); %y = reshape(%p) {shape=[2,2,3,5]}; " Y(y)),
    /* merged differently, only one of them, along another axis */
    STAYS(WIDE_HEADS "%k1 = input \"k1\" : f32[4,1,3,5]; " JOIN("a", "q")
            JOIN("b", "k1") "%y = matmul(%a, %b) {trans_b=true}; " Y(y),
          NEAR),
    STAYS(WIDE_HEADS "%k1 = input \"k1\" : f32[4,3,5]; " JOIN("a", "q") "%y = matmul(%a, %k1) {trans_b=true}; " Y(y),
          NEAR),
    STAYS(WIDE_HEADS JOIN("a", "q") "%y = softmax(%a) {axis=1}; " Y(y), NEAR),
    STAYS(WIDE_HEADS JOIN("a", "q") "%y = softmax(%a); output \"a\" = %a; " Y(y), NEAR));
}

TEST(two_biases_are_one) {
  CASES_OF("idiom",
           BECOMES(QK "%b = param \"b\" : f32[2,2,3]; %m = input \"m\" : f32[1,1,1,3]; " SCORES
                      "%t = add(%s, %b); %u = add(%m, %t); %y = softmax(%u); " Y(y),
                   QK "%b = param \"b\" : f32[2,2,3]; %m = input \"m\" : f32[1,1,1,3]; " SCORES
                      "%t = add(%b, %m); %u = add(%s, %t); %y = softmax(%u); " Y(y),
                   NEAR),
           STAYS(QK "%b = param \"b\" : f32[2,2,3]; %m = input \"m\" : f32[1,1,1,3]; " SCORES
                    "%t = add(%s, %b); %u = add(%m, %t); %y = softmax(%u); output \"t\" = %t; " Y(y),
                 NEAR),
           STAYS(QK "%b = param \"b\" : f32[2,2,3]; %m = input \"m\" : f32[2,2,1,3]; " SCORES
                    "%t = add(%s, %b); %u = add(%m, %t); %y = softmax(%u); " Y(y),
                 NEAR));
}

/* ---- layout ---- */

#define NHWC(to, from) "%" to " = transpose(%" from ") {perm=[0,2,3,1]}; "
#define NCHW(to, from) "%" to " = transpose(%" from ") {perm=[0,3,1,2]}; "
#define PLANES "%x = input \"x\" : f32[1,2,3,4]; "

TEST(transposes_that_cancel) {
  CASES_OF("idiom", BECOMES(PLANES NHWC("a", "x") "%b = exp(%a); " NCHW("y", "b") Y(y), PLANES "%y = exp(%x); " Y(y)),
           /* two of them, a weight along the channels and a number */
           BECOMES(PLANES "%z = input \"z\" : f32[1,2,3,4]; %w = param \"w\" : f32[2]; " F("3") NHWC("a", "x")
                     NHWC("b", "z") "%d = add(%a, %b); %e = mul(%d, %w); %f = min(%e, %c); " NCHW("y", "f") Y(y),
                   PLANES "%z = input \"z\" : f32[1,2,3,4]; %w = param \"w\" : f32[2]; " F(
                     "3") "%d = add(%x, %z); %r = reshape(%w) {shape=[1,1,1,2]}; %t = transpose(%r) {perm=[0,3,1,2]}; "
                          "%e = mul(%d, %t); %y = min(%e, %c); " Y(y)),
           /* the first transpose has other readers: the second is still removed */
           BECOMES(PLANES NHWC("a", "x") "%b = exp(%a); " NCHW("y", "b") "output \"a\" = %a; " Y(y),
                   PLANES NHWC("a", "x") "%y = exp(%x); output \"a\" = %a; " Y(y)),
           /* another permutation; an input that is no transpose; the inner value read elsewhere; no element-wise op */
           STAYS(PLANES NHWC("a", "x") "%b = exp(%a); " NHWC("y", "b") Y(y)),
           STAYS(PLANES "%z = input \"z\" : f32[1,3,4,2]; " NHWC("a", "x") "%b = add(%a, %z); " NCHW("y", "b") Y(y)),
           STAYS(PLANES NHWC("a", "x") "%b = exp(%a); " NCHW("y", "b") "output \"b\" = %b; " Y(y)),
           STAYS(PLANES NHWC("a", "x") "%b = cumsum(%a) {axis=1}; " NCHW("y", "b") Y(y), .tolerance = 1e-6));
}

/* q, k and v of a vision transformer: [B, S, 3, H, D] -> [3, B, H, S, D], one index each. */
#define JOINT "%x = input \"x\" : f32[2,3,24]; %r = reshape(%x) {shape=[2,3,3,2,4]}; "
#define TRANSPOSED JOINT "%t = transpose(%r) {perm=[2,0,3,1,4]}; "
#define PIECE(to, from, until) "%" to " = slice(%t) {axes=[0], start=[" from "], stop=[" until "]}; "
#define SQUEEZE(to, from) "%" to " = reshape(%" from ") {shape=[2,2,3,4]}; "
#define HEADS(to, from, until)                                            \
  "%c" to " = slice(%x) {axes=[2], start=[" from "], stop=[" until "]}; " \
  "%h" to " = reshape(%c" to ") {shape=[2,3,2,4]}; %" to " = transpose(%h" to ") {perm=[0,2,1,3]}; "
#define ADD_UP "%u = add(%q, %k); %y = mul(%u, %v); " Y(y)
#define FROM_PRODUCT \
  "%x = input \"x\" : f32[2,3,24]; " HEADS("q", "0", "8") HEADS("k", "8", "16") HEADS("v", "16", "24")

TEST(pieces_are_cut_before_they_are_transposed) {
  CASES_OF(
    "idiom",
    BECOMES(TRANSPOSED PIECE("a", "0", "1") SQUEEZE("q", "a") PIECE("b", "1", "2") SQUEEZE("k", "b")
              PIECE("d", "2", "3") SQUEEZE("v", "d") ADD_UP,
            FROM_PRODUCT ADD_UP),
    BECOMES(TRANSPOSED "%i = constant : i64[] = [0]; %j = constant : i64[] = [1]; %l = constant : i64[] = [-1]; "
                       "%q = gather(%t, %i); %k = gather(%t, %j); %v = gather(%t, %l); " ADD_UP,
            FROM_PRODUCT ADD_UP),
    /* a batch of one, which is not the removed axis */
    BECOMES("%x = input \"x\" : f32[1,3,24]; %r = reshape(%x) {shape=[1,3,3,2,4]}; "
            "%t = transpose(%r) {perm=[2,0,3,1,4]}; " PIECE("a", "1", "2") "%y = reshape(%a) {shape=[1,2,3,4]}; " Y(y),
            "%x = input \"x\" : f32[1,3,24]; %a = slice(%x) {axes=[2], start=[8], stop=[16]}; "
            "%h = reshape(%a) {shape=[1,3,2,4]}; %y = transpose(%h) {perm=[0,2,1,3]}; " Y(y)),
    /* an index alone is a slice */
    BECOMES(X "%i = constant : i32[] = [1]; %y = gather(%x, %i) {axis=1}; " Y(y),
            X "%c = slice(%x) {axes=[1], start=[1], stop=[2]}; %y = reshape(%c) {shape=[2]}; " Y(y)),
    /* overlapping slices, a slice and the whole, a step, a run-time index, out of range, two indices */
    STAYS(TRANSPOSED PIECE("a", "0", "2") PIECE("b", "1", "3") "%y = add(%a, %b); " Y(y)),
    STAYS(TRANSPOSED PIECE("a", "0", "2") "output \"t\" = %t; " Y(a)),
    STAYS(TRANSPOSED "%a = slice(%t) {axes=[0], start=[0], stop=[3], step=[2]}; " Y(a)),
    STAYS(X "%k = range() {count=[1]}; %i = reshape(%k) {shape=[]}; %y = gather(%x, %i); " Y(y)),
    STAYS(X "%i = constant : i32[1] = [1]; %y = gather(%x, %i) {axis=1}; " Y(y)));
}

TEST(products_of_what_was_flattened) {
#define ROWS "%x = input \"x\" : f32[2,3,4]; %w = param \"w\" : f32[4,5]; %b = param \"b\" : f32[5]; "
#define FLAT "%f = reshape(%x) {shape=[6,4]}; %m = matmul(%f, %w); "
  CASES_OF("idiom",
           BECOMES(ROWS FLAT "%s = add(%m, %b); %y = reshape(%s) {shape=[2,3,5]}; " Y(y),
                   ROWS "%m = matmul(%x, %w); %y = add(%m, %b); " Y(y)),
           BECOMES(ROWS
                   "%v = param \"v\" : f32[5,4]; %f = reshape(%x) {shape=[6,4]}; %m = matmul(%f, %v) {trans_b=true}; "
                   "%y = reshape(%m) {shape=[2,3,5]}; " Y(y),
                   ROWS "%v = param \"v\" : f32[5,4]; %y = matmul(%x, %v) {trans_b=true}; " Y(y)),
           /* axes that x did not have: heads are merged without the batch */
           BECOMES("%x = input \"x\" : f32[2,3,2,2]; %w = param \"w\" : f32[4,5]; " FLAT
                   "%y = reshape(%m) {shape=[2,3,5]}; " Y(y),
                   "%x = input \"x\" : f32[2,3,2,2]; %w = param \"w\" : f32[4,5]; %f = reshape(%x) {shape=[2,3,4]}; "
                   "%y = matmul(%f, %w); " Y(y)),
           /* heads at once, rows of a bias of their own, a product that is read elsewhere, no more axes than before */
           STAYS(ROWS FLAT "%y = reshape(%m) {shape=[2,3,5,1]}; " Y(y)),
           STAYS(ROWS "%c = param \"c\" : f32[6,5]; " FLAT "%s = add(%m, %c); %y = reshape(%s) {shape=[2,3,5]}; " Y(y)),
           STAYS(ROWS FLAT "%y = reshape(%m) {shape=[2,3,5]}; output \"m\" = %m; " Y(y)),
           STAYS(ROWS FLAT "%y = reshape(%m) {shape=[30]}; " Y(y)),
           STAYS(ROWS FLAT "%y = reshape(%m) {shape=[2,5,3]}; " Y(y)));
#undef FLAT
#undef ROWS
}

/* ---- the pipeline ---- */

/* A layer as PyTorch exports it: products, heads, masks, norms, gelu. */
static const char layer_text[] =
  "%x = input \"x\" : f32[1,4,8]; %m = input \"m\" : bool[1,1,1,4]; %wq = param \"wq\" : f32[8,8]; "
  "%bq = param \"bq\" : f32[8]; %wk = param \"wk\" : f32[8,8]; %bk = param \"bk\" : f32[8]; "
  "%wv = param \"wv\" : f32[8,8]; %bv = param \"bv\" : f32[8]; %wo = param \"wo\" : f32[8,8]; "
  "%bo = param \"bo\" : f32[8]; %w1 = param \"w1\" : f32[8,16]; %b1 = param \"b1\" : f32[16]; "
  "%g = param \"g\" : f32[8]; %b = param \"b\" : f32[8]; "
  "%zero = constant : f32[] = [0]; %low = constant : f32[] = [-3.4028235e38]; %two = constant : f32[] = [2]; "
  "%eps = constant : f32[] = [0.0625]; %root = constant : f32[] = [1.4142135]; %one = constant : f32[] = [1]; "
  "%half = constant : f32[] = [0.5]; "
  "%q0 = matmul(%x, %wq); %q1 = add(%bq, %q0); %q2 = reshape(%q1) {shape=[1,4,2,4]}; "
  "%q = transpose(%q2) {perm=[0,2,1,3]}; %k0 = matmul(%x, %wk); %k1 = add(%bk, %k0); "
  "%k2 = reshape(%k1) {shape=[1,4,2,4]}; %k = transpose(%k2) {perm=[0,2,3,1]}; %v0 = matmul(%x, %wv); "
  "%v1 = add(%bv, %v0); %v2 = reshape(%v1) {shape=[1,4,2,4]}; %v = transpose(%v2) {perm=[0,2,1,3]}; "
  "%s0 = matmul(%q, %k); %s1 = div(%s0, %two); %s2 = where(%m, %s1, %low); %p = softmax(%s2); "
  "%o0 = matmul(%p, %v); %o1 = transpose(%o0) {perm=[0,2,1,3]}; %o2 = reshape(%o1) {shape=[1,4,8]}; "
  "%o3 = matmul(%o2, %wo); %o4 = add(%bo, %o3); %r = add(%o4, %x); "
  "%n0 = reduce_mean(%r) {axes=[-1], keep=true}; %n1 = sub(%r, %n0); %n2 = pow(%n1, %two); "
  "%n3 = reduce_mean(%n2) {axes=[-1], keep=true}; %n4 = add(%n3, %eps); %n5 = sqrt(%n4); %n6 = div(%n1, %n5); "
  "%n7 = mul(%n6, %g); %n8 = add(%n7, %b); "
  "%f0 = matmul(%n8, %w1); %f1 = add(%b1, %f0); %f2 = div(%f1, %root); %f3 = erf(%f2); %f4 = add(%f3, %one); "
  "%f5 = mul(%f1, %f4); %f6 = mul(%f5, %half); output \"y\" = %f6";

static uint32_t count_op(const rlx_graph *g, const char *op) {
  uint32_t n = 0;
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++) n += strcmp(rlx_node_op(g, id), op) == 0;
  return n;
}

TEST(an_exported_layer_is_five_products_an_attention_and_a_norm) {
  rlx_graph *g = parse(layer_text);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, NULL, NULL);
  CHECK(o != NULL);
  const rlx_graph *found = rlx_optimized_graph(o);
  CHECK_EQ_INT(count_op(found, "attention"), 1);
  CHECK_EQ_INT(count_op(found, "transpose"), 0);
  CHECK_EQ_INT(count_op(found, "fused_residual_norm"), 1);
  CHECK_EQ_INT(count_op(found, "fused_matmul_bias_act"), 5);
  CHECK_EQ_INT(count_op(found, "matmul"), 0);
  check_results(g, found, rlx_optimized_load(o), 1e-5, "an exported layer");
  rlx_optimized_destroy(o);

  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .without = "idiom"};
  CHECK_OK(rlx_optimize(g, &options, &o));
  CHECK_EQ_INT(count_op(rlx_optimized_graph(o), "attention"), 0);
  check_results(g, rlx_optimized_graph(o), rlx_optimized_load(o), 1e-5, "an exported layer, left as it is");
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
}

/* The attention of a vision transformer as it is exported. */
static const char vision_text[] =
  "%x = input \"x\" : f32[2,5,16]; %w = param \"w\" : f32[16,48]; %b = param \"b\" : f32[48]; "
  "%o = param \"o\" : f32[16,16]; %c = constant : f32[1] = [0.5]; %i = constant : i64[] = [0]; "
  "%j = constant : i64[] = [1]; %l = constant : i64[] = [2]; %m = matmul(%x, %w); %a = add(%m, %b); "
  "%r = reshape(%a) {shape=[2,5,3,4,4]}; %t = transpose(%r) {perm=[2,0,3,1,4]}; %q0 = gather(%t, %i); "
  "%q = mul(%q0, %c); %k0 = gather(%t, %j); %v = gather(%t, %l); %k = transpose(%k0) {perm=[0,1,3,2]}; "
  "%s = matmul(%q, %k); %p = softmax(%s); %y0 = matmul(%p, %v); %y1 = transpose(%y0) {perm=[0,2,1,3]}; "
  "%y2 = reshape(%y1) {shape=[2,5,16]}; %y3 = matmul(%y2, %o); output \"y\" = %y3";

static bool no_block(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user, (void)why;
  return strcmp(rlx_node_op(g, n), "fused_attention_block") != 0;
}

TEST(vision_attention_is_a_block_or_has_no_transposes) {
  rlx_graph *g = parse(vision_text);
  CHECK(g != NULL);
  for (int with_block = 0; with_block < 2; with_block++) {
    rlx_optimized *o = optimize(g, NULL, with_block ? NULL : no_block);
    CHECK(o != NULL);
    const rlx_graph *found = rlx_optimized_graph(o);
    CHECK_EQ_INT(count_op(found, with_block ? "fused_attention_block" : "attention"), 1);
    CHECK_EQ_INT(count_op(found, "transpose"), 0);
    check_results(g, found, rlx_optimized_load(o), 1e-5, "vision attention");
    rlx_optimized_destroy(o);
  }
  rlx_graph_destroy(g);
}

static bool no_gelu(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user, (void)why;
  return strcmp(rlx_node_op(g, n), "gelu") != 0;
}

TEST(the_target_is_asked) {
  CASES_OF("idiom", STAYS(X ERF "%d = div(%x, %r); %e = erf(%d); %s = add(%e, %o); %m = mul(%x, %s); "
                                "%y = mul(%m, %h); " Y(y),
                          NEAR, .supports = no_gelu));
}

static rlx_status sweep_work(void *user) {
  rlx_optimized *o = NULL;
  RLX_TRY(rlx_optimize(user, NULL, &o));
  rlx_optimized_destroy(o);
  return RLX_OK;
}

TEST(every_allocation_may_fail) {
  rlx_graph *g = parse(layer_text);
  CHECK(g != NULL);
  CHECK_OK(alloc_sweep(sweep_work, g));
  rlx_graph_destroy(g);
}
