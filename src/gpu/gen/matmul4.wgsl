fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
fn k_half_bits_of(v : f32) -> u32 {
  var u : u32 = bitcast<u32>(v);
  var a : u32 = u & 0x7fffffffu;
  var normal : u32 = (a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u;
  var small : u32 = bitcast<u32>(bitcast<f32>(a) + 0.5f) - 0x3f000000u;
  var large : u32 = select(0x7c00u, 0x7e00u, a > 0x7f800000u);
  return ((u >> 16u) & 0x8000u) | select(select(normal, large, a >= 0x47800000u), small, a < 0x38800000u);
}
fn k_half_bits(v : f32) -> u32 {
  if (0u == 1u) { return 0u; }
  return k_half_bits_of(v);
}
fn k_leading_bits(v : f32, T : u32) -> f32 { return bitcast<f32>(bitcast<u32>(v) & select(0xffff0000u, 0xffffe000u, T == 1u)); }
fn k_bf16_bits(v : f32) -> u32 {
  var u : u32 = bitcast<u32>(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) { return (u >> 16u) | 0x40u; }
  return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}
fn k_half_value(h : u32) -> f32 { return unpack2x16float(h & 0xffffu).x; }
fn k_element(word : u32, T : u32, i : u32) -> u32 {
  if (T == 1u) { return bitcast<u32>(k_half_value(word >> ((i & 1u) << 4u))); }
  if (T == 2u) { return (word >> ((i & 1u) << 4u)) << 16u; }
  if (T == 6u) { return u32(i32(word << (16u - ((i & 1u) << 4u))) >> 16u); }
  if (T == 4u) { return u32(i32(word << (24u - ((i & 3u) << 3u))) >> 24u); }
  if (T == 5u || T == 10u) { return (word >> ((i & 3u) << 3u)) & 0xffu; }
  return word;
}
fn k_narrow(v : u32, T : u32) -> u32 {
  if (T == 1u) { return k_half_bits(bitcast<f32>(v)); }
  if (T == 2u) { return k_bf16_bits(bitcast<f32>(v)); }
  if (T == 6u) { return v & 0xffffu; }
  if (T == 4u || T == 5u || T == 10u) { return v & 0xffu; }
  return v;
}
fn k_put(word : u32, T : u32, i : u32, bits : u32) -> u32 {
  var s : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return word | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return word | (bits << ((i & 1u) << 4u)); }
  return bits;
}
fn k_replace(word : u32, T : u32, i : u32, bits : u32) -> u32 {
  var s : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return (word & ~(0xffu << ((i & 3u) << 3u))) | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return (word & ~(0xffffu << ((i & 1u) << 4u))) | (bits << ((i & 1u) << 4u)); }
  return bits;
}
fn k_index(T : u32, lo : u32, hi : u32) -> i32 {
  if (T == 9u) {
    if (hi != select(0u, 0xffffffffu, (lo >> 31u) == 1u)) { return i32(0x80000000u); }
  }
  return i32(lo);
}
fn k_isnan(x : f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn k_isinf(x : f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn k_iszero(x : f32) -> bool { return (bitcast<u32>(x) << 1u) == 0u; }
fn k_copysign(magnitude : f32, sign : f32) -> f32 { return bitcast<f32>(bitcast<u32>(magnitude) | (bitcast<u32>(sign) & 0x80000000u)); }
fn k_or_nan(x : f32, y : f32) -> f32 { return select(y, x, k_isnan(x)); }
fn k_key(x : f32) -> i32 {
  var u : u32 = bitcast<u32>(x);
  return i32(select(u, 0x80000000u - u, u >= 0x80000000u));
}
fn k_less(a : f32, b : f32) -> bool { return k_key(a) < k_key(b) && !k_isnan(a) && !k_isnan(b); }
fn k_less_equal(a : f32, b : f32) -> bool { return k_key(a) <= k_key(b) && !k_isnan(a) && !k_isnan(b); }
fn k_equal(a : f32, b : f32) -> bool { return k_key(a) == k_key(b) && !k_isnan(a) && !k_isnan(b); }
fn k_max(a : f32, b : f32) -> f32 {
  var equal : f32 = bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b));
  var y : f32 = select(select(equal, b, k_key(b) > k_key(a)), a, k_key(a) > k_key(b));
  return select(select(y, b, k_isnan(b)), a, k_isnan(a));
}
fn k_min(a : f32, b : f32) -> f32 {
  var equal : f32 = bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b));
  var y : f32 = select(select(equal, b, k_key(b) < k_key(a)), a, k_key(a) < k_key(b));
  return select(select(y, b, k_isnan(b)), a, k_isnan(a));
}
fn k_clamp(x : f32, lo : f32, hi : f32) -> f32 {
  var up : f32 = select(x, lo, x < lo);
  return k_or_nan(x, select(up, hi, up > hi));
}
fn k_relu(x : f32) -> f32 { return bitcast<f32>(select(bitcast<u32>(x), 0u, bitcast<u32>(x) >= 0x80000000u && !k_isnan(x))); }
fn k_sign(x : f32) -> f32 {
  var one : u32 = 0x3f800000u | (bitcast<u32>(x) & 0x80000000u);
  return bitcast<f32>(select(one, 0u, k_iszero(x) || k_isnan(x)));
}
fn k_floor(x : f32) -> f32 {
  var u : u32 = bitcast<u32>(x);
  var small : u32 = select(u & 0x80000000u, 0xbf800000u, u > 0x80000000u);
  return select(k_or_nan(x, floor(x)), bitcast<f32>(small), (u & 0x7fffffffu) < 0x3f800000u);
}
fn k_ceil(x : f32) -> f32 {
  var u : u32 = bitcast<u32>(x);
  var small : u32 = select(u & 0x80000000u, 0x3f800000u, u < 0x80000000u && u != 0u);
  return select(k_or_nan(x, ceil(x)), bitcast<f32>(small), (u & 0x7fffffffu) < 0x3f800000u);
}
fn k_round(x : f32) -> f32 { return k_or_nan(x, round(x)); }
fn k_is_finite(v : f32) -> bool { return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u; }
fn k_split(x : f32) -> vec2<u32> {
  var u : u32 = bitcast<u32>(x) & 0x7fffffffu;
  var up : u32 = 23u - firstLeadingBit((u & 0x7fffffu) | 1u);
  if (u < 0x800000u) { return vec2<u32>(u << up, u32(-149 - i32(up))); }
  return vec2<u32>((u & 0x7fffffu) | 0x800000u, u32(i32(u >> 23u) - 150));
}
fn k_ldexp(m : f32, n : i32) -> f32 {
  var c : i32 = min(max(n, -220), 220);
  var h : i32 = c >> 1u;
  return m * bitcast<f32>(u32(h + 127) << 23u) * bitcast<f32>(u32(c - h + 127) << 23u);
}
fn k_div_far(a : f32, b : f32) -> f32 {
  var sign : u32 = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  var inf : bool = k_isinf(a) || k_iszero(b);
  var zero : bool = k_isinf(b) || k_iszero(a);
  var m : vec2<u32> = k_split(a);
  var d : vec2<u32> = k_split(b);
  var q : f32 = k_ldexp(f32(m.x) / f32(d.x), i32(m.y - d.y));
  var bits : u32 = select(select(bitcast<u32>(q), 0u, zero), 0x7f800000u, inf);
  return bitcast<f32>(select(bits | sign, 0x7fc00000u, k_isnan(a) || k_isnan(b) || (inf && zero)));
}
fn k_div(a : f32, b : f32) -> f32 {
  var ea : u32 = (bitcast<u32>(a) >> 23u) & 255u;
  var eb : u32 = (bitcast<u32>(b) >> 23u) & 255u;
  if (ea - 1u < 254u && eb - 1u < 252u) { return a / b; }
  return k_div_far(a, b);
}
fn k_div_exact(a : f32, b : f32) -> f32 {
  if (k_isnan(a) || k_isnan(b) || k_isinf(a) || k_isinf(b) || k_iszero(a) || k_iszero(b)) { return k_div_far(a, b); }
  var x : vec2<u32> = k_split(a);
  var y : vec2<u32> = k_split(b);
  var up : u32 = select(0u, 1u, x.x < y.x);
  var m : u32 = x.x << up;
  var q : u32 = u32(f32(m) / f32(y.x) * 16777216.0f);
  var rest : i32 = i32((m << 24u) - q * y.x);
  for (var i : u32 = 0u; i < 16u && rest < 0; i += 1u) { q -= 1u; rest += i32(y.x); }
  for (var i : u32 = 0u; i < 16u && rest >= i32(y.x); i += 1u) { q += 1u; rest -= i32(y.x); }
  var whole : u32 = q >> 1u;
  if ((q & 1u) == 1u && (rest != 0 || (whole & 1u) == 1u)) { whole += 1u; }
  var e : i32 = i32(x.y - y.y) - i32(up) + 127;
  var bits : u32 = select(select((u32(e - 1) << 23u) + whole, 0x7f800000u, e > 254), 0u, e < 1);
  return bitcast<f32>(min(bits, 0x7f800000u) | ((bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u));
}
fn k_fma(a : f32, b : f32, c : f32) -> f32 {
  var t : f32 = bitcast<f32>(bitcast<u32>(a * b) & 0xfffffffeu);
  if ((bitcast<u32>(t) & 0x7f800000u) == 0x7f800000u) { return fma(a, b, c); }
  var ah : f32 = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  var bh : f32 = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  var al : f32 = a - ah;
  var bl : f32 = b - bh;
  var rest : f32 = (((ah * bh - t) + ah * bl) + al * bh) + al * bl;
  var y : f32 = (t + c) + rest;
  return y;
}
fn k_sqrt(x : f32) -> f32 {
  var u : u32 = bitcast<u32>(x);
  var bits : u32 = select(bitcast<u32>(sqrt(x)), u, k_iszero(x) || u == 0x7f800000u);
  return bitcast<f32>(select(bits, 0x7fc00000u, u > 0x80000000u || k_isnan(x)));
}
fn k_rsqrt(x : f32) -> f32 {
  var u : u32 = bitcast<u32>(x);
  var y : f32 = select(inverseSqrt(x), inverseSqrt(f32(u) * 2.0f) * 37778931862957161709568.0f, u < 0x800000u);
  var bits : u32 = select(select(bitcast<u32>(y), 0u, u == 0x7f800000u), u | 0x7f800000u, k_iszero(x));
  return bitcast<f32>(select(bits, 0x7fc00000u, u > 0x80000000u || k_isnan(x)));
}
fn k_mod(a : f32, b : f32) -> f32 {
  if (k_isnan(a) || k_isnan(b) || k_isinf(a) || k_iszero(b)) { return bitcast<f32>(bitcast<u32>(a) | 0x7fc00000u); }
  var apart : bool = (bitcast<u32>(a) >> 31u) != (bitcast<u32>(b) >> 31u);
  if (k_iszero(a)) { return a; }
  if (k_isinf(b)) { return select(a, b, apart); }
  var x : vec2<u32> = k_split(a);
  var y : vec2<u32> = k_split(b);
  var n : i32 = i32(x.y - y.y);
  var rest : f32 = a;
  if (n >= 0) {
    var r : u32 = x.x % y.x;
    for (var left : i32 = n; left > 0; left -= 8) { r = (r << min(u32(left), 8u)) % y.x; }
    rest = k_copysign(k_ldexp(f32(r), i32(y.y)), a);
  }
  return select(rest, rest + b, apart && !k_iszero(rest));
}
fn k_expm1_small(r : f32) -> f32 {
  var p : f32 = fma(fma(fma(fma(1.395048574e-03f, r, 8.368887939e-03f), r, 4.166620597e-02f), r, 1.666651815e-01f), r, 0.5f);
  return fma(r * r, p, r);
}
fn k_exp_rest(x : f32, n : f32) -> f32 {
  var r : f32 = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  return r;
}
fn k_exp_scale(y : f32, n : f32) -> f32 { return y * bitcast<f32>(u32(i32(n) + 126) << 23u) * 2.0f; }
fn k_exp(x : f32) -> f32 {
  var c : f32 = min(89.0f, max(-87.5f, x));
  var n : f32 = round(c * 1.44269504f);
  return k_or_nan(x, k_exp_scale(1.0f + k_expm1_small(k_exp_rest(c, n)), n));
}
fn k_exp_fast(x : f32) -> f32 { return exp2(x * 1.44269504f); }
fn k_expm1(x : f32) -> f32 {
  var c : f32 = min(60.0f, max(-30.0f, x));
  var n : f32 = round(c * 1.44269504f);
  var power : f32 = k_exp_scale(1.0f, n);
  var y : f32 = fma(power, k_expm1_small(k_exp_rest(c, n)), power - 1.0f);
  return select(k_or_nan(x, select(y, k_exp(x), x > 60.0f)), x, k_iszero(x));
}
fn k_log(x : f32) -> f32 {
  var u : u32 = bitcast<u32>(x);
  var up : u32 = select(0u, 23u - firstLeadingBit((u & 0x7fffffu) | 1u), u < 0x800000u);
  var bits : u32 = u << up;
  var e : i32 = i32(bits - 0x3f3504f3u) >> 23u;
  var f : f32 = bitcast<f32>(bits - (u32(e) << 23u)) - 1.0f;
  var n : f32 = f32(e - i32(up));
  var z : f32 = f * f;
  var p : f32 = fma(fma(fma(6.746591628e-02f, f, -1.167563871e-01f), f, 1.188817769e-01f), f, -1.240559220e-01f);
  p = fma(fma(fma(p, f, 1.421955079e-01f), f, -1.666799635e-01f), f, 2.000211924e-01f);
  p = fma(fma(p, f, -2.500000894e-01f), f, 3.333331347e-01f);
  var y : f32 = f * z * p - n * 2.12194440e-4f;
  y = f + (y - z * 0.5f);
  y = y + n * 0.693359375f;
  var r : u32 = select(bitcast<u32>(y), u, u == 0x7f800000u);
  r = select(r, 0xff800000u, (u << 1u) == 0u);
  return bitcast<f32>(select(r, 0x7fc00000u, u > 0x80000000u || k_isnan(x)));
}
fn k_log1p_unit(e : f32) -> f32 {
  var s : f32 = e / (e + 2.0f);
  var z : f32 = s * s;
  var p : f32 = fma(fma(fma(fma(1.215046868e-01f, z, 1.071382836e-01f), z, 1.430844218e-01f), z, 1.999943852e-01f), z,
                    3.333333731e-01f);
  return fma(2.0f * s * z, p, 2.0f * s);
}
fn k_log1p(x : f32) -> f32 { return k_or_nan(x, select(k_log(1.0f + x), k_log1p_unit(x), x >= -0.5f && x <= 1.0f)); }
fn k_tanh(x : f32) -> f32 {
  var a : f32 = min(10.0f, abs(x));
  var z : f32 = a * a;
  var p : f32 = fma(fma(fma(2.147536958e-03f, z, -8.182673715e-03f), z, 2.170296758e-02f), z, -5.394720286e-02f);
  p = fma(fma(p, z, 1.333321035e-01f), z, -3.333333135e-01f);
  var e : f32 = exp2(a * 2.88539008f);
  var y : f32 = select(1.0f - 2.0f / (e + 1.0f), fma(a * z, p, a), a < 0.625f);
  return k_or_nan(x, k_copysign(y, x));
}
fn k_sigmoid(x : f32) -> f32 {
  var y : f32 = 1.0f / (1.0f + exp2(min(87.0f, max(-87.0f, x)) * -1.44269504f));
  return k_or_nan(x, select(y, 0.0f, x < -87.0f));
}
fn k_silu(x : f32) -> f32 { return x * k_sigmoid(x); }
fn k_gelu_approx(x : f32) -> f32 { return x * k_sigmoid(x * fma(x * x, 0.0713548162726f, 1.59576912161f)); }
fn k_softplus(x : f32) -> f32 {
  var e : f32 = exp2(min(87.0f, abs(x)) * -1.44269504f);
  return k_or_nan(x, k_relu(x) + k_log1p_unit(e));
}
fn k_mish(x : f32) -> f32 {
  var e : f32 = exp2(min(20.0f, max(-87.0f, x)) * 1.44269504f);
  var n : f32 = e * (e + 2.0f);
  return x * select(n / (n + 2.0f), 0.0f, x < -87.0f);
}
fn k_elu(x : f32, alpha : f32) -> f32 { return select(alpha * k_expm1(x), x, x > 0.0f); }
fn k_leaky_relu(x : f32, alpha : f32) -> f32 { return select(x, alpha * x, bitcast<u32>(x) > 0x80000000u); }
fn k_hard_sigmoid(x : f32, alpha : f32, beta : f32) -> f32 { return k_clamp(fma(alpha, x, beta), 0.0f, 1.0f); }
fn k_hard_swish(x : f32) -> f32 { return x * (k_clamp(x + 3.0f, 0.0f, 6.0f) * 0.16666667f); }
fn k_erfc_factor(t : f32) -> f32 {
  var u : f32 = 1.0f / fma(t, 0.5f, 1.0f);
  var p : f32 = fma(fma(fma(-5.912436545e-02f, u, 2.848459184e-01f), u, -4.877623618e-01f), u, 2.787124217e-01f);
  p = fma(fma(fma(p, u, -2.707151137e-02f), u, 2.028761357e-01f), u, 2.430557609e-01f);
  return u * fma(fma(p, u, 2.823819220e-01f), u, 2.820860445e-01f);
}
fn k_erf(x : f32) -> f32 {
  var a : f32 = min(9.0f, abs(x));
  var z : f32 = a * a;
  var p : f32 = fma(fma(fma(7.889119297e-05f, z, -8.020841051e-04f), z, 5.189535208e-03f), z, -2.685444430e-02f);
  p = a * fma(fma(fma(p, z, 1.128360033e-01f), z, -3.761262596e-01f), z, 1.128379107e+00f);
  var y : f32 = select(1.0f - exp2(z * -1.44269504f) * k_erfc_factor(a), p, a < 1.0f);
  return k_or_nan(x, k_copysign(y, x));
}
fn k_gelu(x : f32) -> f32 {
  var a : f32 = min(13.0f, abs(x));
  var u : f32 = 1.0f / fma(a, 0.353553391f, 1.0f);
  var f : f32 = fma(fma(fma(-2.956218272e-02f, u, 1.424229592e-01f), u, -2.438811809e-01f), u, 1.393562108e-01f);
  f = fma(fma(fma(f, u, -1.353575569e-02f), u, 1.014380679e-01f), u, 1.215278804e-01f);
  f = fma(fma(f, u, 1.411909610e-01f), u, 1.410430223e-01f);
  var tail : f32 = exp2(a * a * -0.72134752f) * (u * f);
  var q : f32 = select(0.0f, tail, a < 13.0f);
  return x * select(q, 1.0f - q, x > 0.0f);
}
fn k_act(act : u32, x : f32) -> f32 {
  if (act == 1u) { return k_relu(x); }
  if (act == 2u) { return k_gelu(x); }
  if (act == 3u) { return k_gelu_approx(x); }
  if (act == 4u) { return k_silu(x); }
  if (act == 5u) { return k_sigmoid(x); }
  if (act == 6u) { return k_tanh(x); }
  return x;
}
const k_two_over_pi = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
fn k_bits_at(first : u32, second : u32, shift : u32) -> u32 {
  return select((first << shift) | (second >> ((32u - shift) & 31u)), first, shift == 0u);
}
fn k_angle_far(x : f32) -> vec2<u32> {
  var u : u32 = bitcast<u32>(x) & 0x7fffffffu;
  var m : u32 = (u & 0x7fffffu) | 0x800000u;
  var at : u32 = (u >> 23u) - 120u;
  var word : u32 = min(at >> 5u, 4u);
  var shift : u32 = at & 31u;
  var w1 : u32 = k_two_over_pi[word + 1u];
  var w2 : u32 = k_two_over_pi[word + 2u];
  var a : u32 = k_bits_at(k_two_over_pi[word], w1, shift);
  var b : u32 = k_bits_at(w1, w2, shift);
  var c : u32 = k_bits_at(w2, k_two_over_pi[word + 3u], shift);
  var mid : u32 = m * b + k_mulhi(m, c);
  var carry : u32 = k_mulhi(m, b) + select(0u, 1u, mid < m * b);
  var high : u32 = m * a + carry;
  var turn : f32 = f32(i32((high << 2u) | (mid >> 30u))) * 2.3283064365386963e-10f;
  turn = turn + f32(mid << 2u) * 5.421010862427522e-20f;
  return vec2<u32>(bitcast<u32>(turn * 1.57079633f), (high + 0x20000000u) >> 30u);
}
fn k_angle(x : f32) -> vec2<u32> {
  var a : f32 = abs(x);
  if ((bitcast<u32>(x) & 0x7fffffffu) >= 0x46000000u) { return k_angle_far(x); }
  var n : f32 = round(a * 0.636619772f);
  var r : f32 = a - n * 1.5703125f;
  r = r - n * 0.0004837512969970703f;
  r = r - n * 7.549533620476723e-08f;
  r = r - n * 2.5633440682570896e-12f;
  return vec2<u32>(bitcast<u32>(r), u32(n));
}
fn k_sin_small(r : f32) -> f32 {
  var z : f32 = r * r;
  var p : f32 = fma(fma(fma(2.718311634e-06f, z, -1.983933471e-04f), z, 8.333329111e-03f), z, -1.666666716e-01f);
  return fma(r * z, p, r);
}
fn k_cos_small(r : f32) -> f32 {
  var z : f32 = r * r;
  var p : f32 = fma(fma(2.443315498e-05f, z, -1.388731645e-03f), z, 4.166664556e-02f);
  return fma(z * z, p, fma(z, -0.5f, 1.0f));
}
fn k_sin_turned(x : f32, r : f32, turns : u32) -> f32 {
  var y : f32 = select(k_sin_small(r), k_cos_small(r), (turns & 1u) == 1u);
  var bits : u32 = bitcast<u32>(y) ^ ((turns & 2u) << 30u);
  return bitcast<f32>(select(bits, 0x7fc00000u, (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u));
}
fn k_sin(x : f32) -> f32 {
  var t : vec2<u32> = k_angle(x);
  return k_sin_turned(x, bitcast<f32>(t.x), t.y) * bitcast<f32>(0x3f800000u | (bitcast<u32>(x) & 0x80000000u));
}
fn k_cos(x : f32) -> f32 {
  var t : vec2<u32> = k_angle(x);
  return k_sin_turned(x, bitcast<f32>(t.x), t.y + 1u);
}
fn k_tan(x : f32) -> f32 {
  var t : vec2<u32> = k_angle(x);
  var s : f32 = k_sin_small(bitcast<f32>(t.x));
  var c : f32 = k_cos_small(bitcast<f32>(t.x));
  var odd : bool = (t.y & 1u) == 1u;
  var bits : u32 = bitcast<u32>(select(s, -c, odd) / select(c, s, odd)) ^ (bitcast<u32>(x) & 0x80000000u);
  return bitcast<f32>(select(bits, 0x7fc00000u, (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u));
}
fn k_atan_unit(t : f32) -> f32 {
  var z : f32 = t * t;
  var p : f32 = fma(fma(fma(-1.827184693e-03f, z, 1.106431521e-02f), z, -3.145546839e-02f), z, 5.823431909e-02f);
  p = fma(fma(fma(p, z, -8.419445902e-02f), z, 1.095757186e-01f), z, -1.426524520e-01f);
  p = fma(fma(p, z, 1.999863833e-01f), z, -3.333330154e-01f);
  return fma(t * z, p, t);
}
fn k_atan(x : f32) -> f32 {
  var a : f32 = abs(x);
  var steep : bool = a > 1.0f;
  var y : f32 = k_atan_unit(k_div(select(a, 1.0f, steep), select(1.0f, a, steep)));
  return k_or_nan(x, k_copysign(select(y, 1.57079633f - y, steep), x));
}
fn k_atan2(y : f32, x : f32) -> f32 {
  var ax : u32 = bitcast<u32>(x) & 0x7fffffffu;
  var ay : u32 = bitcast<u32>(y) & 0x7fffffffu;
  var steep : bool = ax < ay;
  var low : u32 = select(ay, ax, steep);
  var high : u32 = select(ax, ay, steep);
  var ratio : f32 = k_div(bitcast<f32>(low), bitcast<f32>(high));
  var t : f32 = k_atan_unit(select(select(ratio, 1.0f, low == 0x7f800000u), 0.0f, high == 0u));
  t = select(t, 1.57079633f - t, steep);
  t = select(t, 3.14159265f - t, bitcast<u32>(x) >= 0x80000000u);
  return k_or_nan(x, k_or_nan(y, k_copysign(t, y)));
}
fn k_pow_special(a : f32, b : f32, parity : u32) -> u32 {
  var ua : u32 = bitcast<u32>(a) & 0x7fffffffu;
  var sign : u32 = select(0u, bitcast<u32>(a) & 0x80000000u, parity == 1u);
  var up : bool = bitcast<u32>(b) < 0x80000000u;
  if (k_iszero(b) || bitcast<u32>(a) == 0x3f800000u) { return 0x3f800000u; }
  if (k_isnan(a) || k_isnan(b)) { return 0x7fc00000u; }
  if (k_isinf(b)) { return select(select(0u, 0x7f800000u, (ua > 0x3f800000u) == up), ua, ua == 0x3f800000u); }
  if (ua == 0x3f800000u) { return select(ua | sign, 0x7fc00000u, parity == 0u); }
  return select(0x7f800000u, 0u, (ua == 0u) == up) | sign;
}
fn k_parity(b : f32) -> u32 {
  var u : u32 = bitcast<u32>(b) & 0x7fffffffu;
  var m : u32 = (u & 0x7fffffu) | 0x800000u;
  var e : u32 = u >> 23u;
  if (u == 0u || e >= 151u) { return 2u; }
  if (e < 127u) { return 0u; }
  var below : u32 = 150u - e;
  if ((m & ((1u << below) - 1u)) != 0u) { return 0u; }
  return select(2u, 1u, ((m >> below) & 1u) == 1u);
}
fn k_pow(a : f32, b : f32) -> f32 {
  var ua : u32 = bitcast<u32>(a) & 0x7fffffffu;
  var parity : u32 = k_parity(b);
  if (ua == 0u || ua >= 0x7f800000u || k_isinf(b) || k_isnan(b) || k_iszero(b) || ua == 0x3f800000u) {
    return bitcast<f32>(k_pow_special(a, b, parity));
  }
  var x : vec2<u32> = k_split(a);
  var double_it : u32 = select(0u, 1u, x.x < 11863283u);
  var m : u32 = x.x << double_it;
  var n : f32 = f32(i32(x.y) + 24 - i32(double_it));
  var top : f32 = f32(i32(m) - 16777216);
  var d : u32 = m + 16777216u;
  var below : f32 = f32(d);
  var s : f32 = bitcast<f32>(bitcast<u32>(top / below) & 0xfffff000u);
  var over : f32 = (top - s * f32(d & 0xffffc000u)) - s * f32(d & 0x3fffu);
  var rest : f32 = over / below;
  var z : f32 = (s + rest) * (s + rest);
  var p : f32 = fma(fma(fma(fma(0.262308189f, z, 0.320598898f), z, 0.412198583f), z, 0.577078016f), z, 0.961796694f);
  var l1 : f32 = s * 2.884765625f;
  var l2 : f32 = ((s + rest) * z * p + rest * 2.88539008f) + s * 6.24456778e-04f;
  var about : f32 = b * (n + (l1 + l2));
  var sum : f32 = select(-400.0f, 400.0f, about > 0.0f);
  var turns : i32 = 0;
  if (abs(about) < 200.0f) {
    var bh : f32 = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    var bl : f32 = b - bh;
    var lh : f32 = bitcast<f32>(bitcast<u32>(l1) & 0xfffff000u);
    var ll : f32 = l1 - lh;
    var t1 : f32 = round(bh * n);
    var t2 : f32 = round(bh * lh);
    var r1 : f32 = bh * n - t1;
    var r2 : f32 = bh * lh - t2;
    sum = (r1 + r2) + ((((b * l2 + bl * ll) + bl * lh) + bh * ll) + bl * n);
    turns = i32(t1) + i32(t2);
  }
  var whole : f32 = round(sum);
  var y : f32 = k_ldexp(1.0f + k_expm1_small((sum - whole) * 0.693147181f), turns + i32(whole));
  var bits : u32 = bitcast<u32>(y) | select(0u, bitcast<u32>(a) & 0x80000000u, parity == 1u);
  return bitcast<f32>(select(bits, 0x7fc00000u, bitcast<u32>(a) >= 0x80000000u && parity == 0u));
}
fn k_low(word : u32, T : u32) -> f32 {
  if (T == 1u) { return unpack2x16float(word).x; }
  return bitcast<f32>(word << 16u);
}
fn k_high(word : u32, T : u32) -> f32 {
  if (T == 1u) { return unpack2x16float(word).y; }
  return bitcast<f32>(word & 0xffff0000u);
}
fn k_float(word : u32, T : u32, i : u32) -> u32 {
  if (T == 0u) { return word; }
  return bitcast<u32>(k_low(select(word >> 16u, word, (i & 1u) == 0u), T));
}
fn k_pair(lo : f32, hi : f32, T : u32) -> u32 {
  if (T == 1u) { return (k_half_bits(lo) | (k_half_bits(hi) << 16u)); }
  return k_bf16_bits(lo) | (k_bf16_bits(hi) << 16u);
}
fn k_four(v : vec4<u32>, T : u32, VEC : u32, at : u32) -> vec4<f32> {
  if (T == 0u || VEC == 0u) { return bitcast<vec4<f32>>(v); }
  var high : bool = (at & 4u) != 0u;
  var lo : u32 = select(v.x, v.z, high);
  var hi : u32 = select(v.y, v.w, high);
  return vec4<f32>(k_low(lo, T), k_high(lo, T), k_low(hi, T), k_high(hi, T));
}
@id(1) override WX : u32 = 2u;
@id(2) override WY : u32 = 4u;
@id(3) override BK : u32 = 16u;
@id(4) override STAGES : u32 = 1u;
@id(5) override SIZE_A : u32 = 512u;
@id(6) override SIZE_B : u32 = 512u;
@id(7) override SIZE_ROWS : u32 = 1u;
@id(8) override TA : u32 = 0u;
@id(9) override TB : u32 = 0u;
@id(10) override TRANS : u32 = 0u;
@id(11) override VEC_A : u32 = 0u;
@id(12) override VEC_B : u32 = 0u;
@id(13) override VEC_Y : u32 = 0u;
@id(14) override AXES : u32 = 0u;
@id(15) override GATHER : u32 = 0u;
@id(16) override TY : u32 = 0u;
@id(17) override EXTRA : u32 = 0u;
@id(18) override ACT : u32 = 0u;
@id(19) override TE : u32 = 0u;
struct Params { groups : u32,
  m : u32, n : u32, k : u32, k_part : u32, batches : u32, tiles_m : u32, tiles_n : u32, list : u32, experts : u32, d0 : u32, d1 : u32, d2 : u32, d3 : u32, d4 : u32, d5 : u32, sa0 : u32, sa1 : u32, sa2 : u32, sa3 : u32, sa4 : u32, sa5 : u32, sb0 : u32, sb1 : u32, sb2 : u32, sb3 : u32, sb4 : u32, sb5 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> a : array<u32>;
@group(0) @binding(1) var<storage, read_write> a4 : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b : array<u32>;
@group(0) @binding(3) var<storage, read_write> b4 : array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> extra : array<u32>;
@group(0) @binding(5) var<storage, read_write> rows : array<u32>;
@group(0) @binding(6) var<storage, read_write> y : array<u32>;
@group(0) @binding(7) var<storage, read_write> y4 : array<vec4<u32>>;
var<workgroup> tile_a : array<vec4<f32>, SIZE_A>;
var<workgroup> tile_b : array<vec4<f32>, SIZE_B>;
var<workgroup> row_of : array<u32, SIZE_ROWS>;
@compute @workgroup_size(GROUP) fn matmul4(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var tiles : u32 = p.tiles_m * p.tiles_n; var slice : u32 = (k_wid.y * k_wn.x + k_wid.x) / tiles; var tile : u32 = (k_wid.y * k_wn.x + k_wid.x) - slice * tiles; var band : u32 = tile / (8u * p.tiles_n); var band_rows : u32 = min(8u, p.tiles_m - band * 8u); var in_band : u32 = tile - band * 8u * p.tiles_n; var tile_n : u32 = in_band / band_rows; var tile_m : u32 = band * 8u + in_band - tile_n * band_rows; var split : u32 = slice / p.batches; var m0 : u32 = tile_m * (4u * 4u * WY); var n0 : u32 = tile_n * (8u * 4u * WX); var k0 : u32 = split * p.k_part; var k1 : u32 = min(p.k, k0 + p.k_part); var steps : u32 = (p.k_part + BK - 1u) / BK; var a_base : u32 = 0u; var b_base : u32 = 0u; var count_m : u32 = min((4u * 4u * WY), p.m - m0); var count_n : u32 = min((8u * 4u * WX), p.n - n0); if (AXES > 0u) { var at : u32 = slice - split * p.batches; if (AXES > 0u) { a_base += (at % p.d0) * p.sa0; b_base += (at % p.d0) * p.sb0; at = at / p.d0; } if (AXES > 1u) { a_base += (at % p.d1) * p.sa1; b_base += (at % p.d1) * p.sb1; at = at / p.d1; } if (AXES > 2u) { a_base += (at % p.d2) * p.sa2; b_base += (at % p.d2) * p.sb2; at = at / p.d2; } if (AXES > 3u) { a_base += (at % p.d3) * p.sa3; b_base += (at % p.d3) * p.sb3; at = at / p.d3; } if (AXES > 4u) { a_base += (at % p.d4) * p.sa4; b_base += (at % p.d4) * p.sb4; at = at / p.d4; } if (AXES > 5u) { a_base += (at % p.d5) * p.sa5; b_base += (at % p.d5) * p.sb5; at = at / p.d5; } } if (GATHER == 1u) { var expert : u32 = rows[3u * tile_m]; var start : u32 = p.list + rows[3u * tile_m + 1u]; m0 = 0u; count_m = rows[3u * tile_m + 2u]; for (var i : u32 = k_lid.x; i < (4u * 4u * WY); i += GROUP) { var source : u32 = 0xffffffffu; if (i < count_m) { source = rows[start + i]; } row_of[i + 1u] = source; } b_base = expert * p.k * p.n; if (expert >= p.experts) { b_base = 0u; k1 = k0; } if (k_lid.x == 0u) { row_of[0] = select(0u, steps, count_m > 0u); } workgroupBarrier(); steps = workgroupUniformLoad(&row_of[0]); }
  var warp : u32 = k_lid.x / 32u;
  var row : u32 = (warp / WX) * (4u * (4u / 4u)) + (k_lid.x / 16u) % 2u * 2u + k_lid.x % 2u;
  var column : u32 = (warp % WX) * (8u * (4u / 4u)) + (k_lid.x / 2u) % 8u;
  var acc : array<f32, 4u * 4u>;
  for (var i : u32 = 0u; i < 4u * 4u; i += 1u) { acc[i] = 0.0f; }
  var next : array<vec4<u32>, 8>;
  var last : u32 = max(steps, 1u) - 1u;
  { var k : u32 = k0 + (0u) * BK; for (var i : u32 = 0u; i < 2u; i += 1u) { var item : u32 = k_lid.x + i * GROUP; if (i * GROUP < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u) && item < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u)) { if (item < ((4u * 4u * WY) * BK / 16u)) { var at_k : u32 = k + item / ((4u * 4u * WY) / 4u) * 4u; for (var l : u32 = 0u; l < 4u; l += 1u) { var line : u32 = item % ((4u * 4u * WY) / 4u) * 4u + l; var count : u32 = select(0u, k1 - at_k, line < count_m && at_k < k1); var source : u32 = m0 + line; if (GATHER == 1u) { source = row_of[line + 1u]; } var at : u32 = a_base + source * p.k + at_k; next[i * 4u + l] = vec4<u32>(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_A == 1u) { next[i * 4u + l] = a4[(at) >> (2u + select(1u, 0u, TA == 0u))]; } else { next[i * 4u + l].x = k_float(a[(at) >> select(1u, 0u, TA == 0u)], TA, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(a[((at) + 1u) >> select(1u, 0u, TA == 0u)], TA, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(a[((at) + 2u) >> select(1u, 0u, TA == 0u)], TA, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(a[((at) + 3u) >> select(1u, 0u, TA == 0u)], TA, (at) + 1u); } } } } } else { var at_k : u32 = k + (item - ((4u * 4u * WY) * BK / 16u)) / ((8u * 4u * WX) / 4u) * 4u; var at_n : u32 = (item - ((4u * 4u * WY) * BK / 16u)) % ((8u * 4u * WX) / 4u) * 4u; for (var l : u32 = 0u; l < 4u; l += 1u) { var line_k : u32 = select(at_k + l, at_k, TRANS == 1u); var line_n : u32 = select(at_n, at_n + l, TRANS == 1u); var count : u32 = select(0u, select(count_n - line_n, k1 - line_k, TRANS == 1u), line_n < count_n && line_k < k1); var at : u32 = b_base + select(line_k * p.n + n0 + line_n, (n0 + line_n) * p.k + line_k, TRANS == 1u); next[i * 4u + l] = vec4<u32>(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_B == 1u) { next[i * 4u + l] = b4[(at) >> (2u + select(1u, 0u, TB == 0u))]; } else { next[i * 4u + l].x = k_float(b[(at) >> select(1u, 0u, TB == 0u)], TB, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(b[((at) + 1u) >> select(1u, 0u, TB == 0u)], TB, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(b[((at) + 2u) >> select(1u, 0u, TB == 0u)], TB, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(b[((at) + 3u) >> select(1u, 0u, TB == 0u)], TB, (at) + 1u); } } } } } } } }
  { for (var i : u32 = 0u; i < 2u; i += 1u) { var item : u32 = k_lid.x + i * GROUP; if (i * GROUP < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u) && item < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u)) { var is_a : bool = item < ((4u * 4u * WY) * BK / 16u); var block : u32 = select(item - ((4u * 4u * WY) * BK / 16u), item, is_a); var width : u32 = select((8u * 4u * WX) / 4u, (4u * 4u * WY) / 4u, is_a); var eighth : u32 = select(block % width, block / width, is_a || TRANS == 1u) * 4u; var v0 : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); var v1 : vec4<f32> = v0; var v2 : vec4<f32> = v0; var v3 : vec4<f32> = v0; if (is_a) { v0 = k_four(next[i * 4u], TA, VEC_A, eighth); v1 = k_four(next[i * 4u + 1u], TA, VEC_A, eighth); v2 = k_four(next[i * 4u + 2u], TA, VEC_A, eighth); v3 = k_four(next[i * 4u + 3u], TA, VEC_A, eighth); } else { v0 = k_four(next[i * 4u], TB, VEC_B, eighth); v1 = k_four(next[i * 4u + 1u], TB, VEC_B, eighth); v2 = k_four(next[i * 4u + 2u], TB, VEC_B, eighth); v3 = k_four(next[i * 4u + 3u], TB, VEC_B, eighth); } if (is_a || TRANS == 1u) { var t0 : vec4<f32> = vec4<f32>(v0.x, v1.x, v2.x, v3.x); var t1 : vec4<f32> = vec4<f32>(v0.y, v1.y, v2.y, v3.y); var t2 : vec4<f32> = vec4<f32>(v0.z, v1.z, v2.z, v3.z); v3 = vec4<f32>(v0.w, v1.w, v2.w, v3.w); v0 = t0; v1 = t1; v2 = t2; } var to : u32 = block / width * 4u * width + block % width; if (is_a) { to += (0u) * (SIZE_A / STAGES); tile_a[to] = v0; tile_a[to + width] = v1; tile_a[to + 2u * width] = v2; tile_a[to + 3u * width] = v3; } else { to += (0u) * (SIZE_B / STAGES); tile_b[to] = v0; tile_b[to + width] = v1; tile_b[to + 2u * width] = v2; tile_b[to + 3u * width] = v3; } } } }
  workgroupBarrier();
  for (var s : u32 = 1u; s <= last; s += 1u) {
    { var k : u32 = k0 + (s) * BK; for (var i : u32 = 0u; i < 2u; i += 1u) { var item : u32 = k_lid.x + i * GROUP; if (i * GROUP < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u) && item < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u)) { if (item < ((4u * 4u * WY) * BK / 16u)) { var at_k : u32 = k + item / ((4u * 4u * WY) / 4u) * 4u; for (var l : u32 = 0u; l < 4u; l += 1u) { var line : u32 = item % ((4u * 4u * WY) / 4u) * 4u + l; var count : u32 = select(0u, k1 - at_k, line < count_m && at_k < k1); var source : u32 = m0 + line; if (GATHER == 1u) { source = row_of[line + 1u]; } var at : u32 = a_base + source * p.k + at_k; next[i * 4u + l] = vec4<u32>(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_A == 1u) { next[i * 4u + l] = a4[(at) >> (2u + select(1u, 0u, TA == 0u))]; } else { next[i * 4u + l].x = k_float(a[(at) >> select(1u, 0u, TA == 0u)], TA, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(a[((at) + 1u) >> select(1u, 0u, TA == 0u)], TA, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(a[((at) + 2u) >> select(1u, 0u, TA == 0u)], TA, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(a[((at) + 3u) >> select(1u, 0u, TA == 0u)], TA, (at) + 1u); } } } } } else { var at_k : u32 = k + (item - ((4u * 4u * WY) * BK / 16u)) / ((8u * 4u * WX) / 4u) * 4u; var at_n : u32 = (item - ((4u * 4u * WY) * BK / 16u)) % ((8u * 4u * WX) / 4u) * 4u; for (var l : u32 = 0u; l < 4u; l += 1u) { var line_k : u32 = select(at_k + l, at_k, TRANS == 1u); var line_n : u32 = select(at_n, at_n + l, TRANS == 1u); var count : u32 = select(0u, select(count_n - line_n, k1 - line_k, TRANS == 1u), line_n < count_n && line_k < k1); var at : u32 = b_base + select(line_k * p.n + n0 + line_n, (n0 + line_n) * p.k + line_k, TRANS == 1u); next[i * 4u + l] = vec4<u32>(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_B == 1u) { next[i * 4u + l] = b4[(at) >> (2u + select(1u, 0u, TB == 0u))]; } else { next[i * 4u + l].x = k_float(b[(at) >> select(1u, 0u, TB == 0u)], TB, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(b[((at) + 1u) >> select(1u, 0u, TB == 0u)], TB, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(b[((at) + 2u) >> select(1u, 0u, TB == 0u)], TB, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(b[((at) + 3u) >> select(1u, 0u, TB == 0u)], TB, (at) + 1u); } } } } } } } }
    { var from_a : u32 = ((s - 1u) % STAGES) * (SIZE_A / STAGES) + row; var from_b : u32 = ((s - 1u) % STAGES) * (SIZE_B / STAGES) + column; for (var kk : u32 = 0u; kk < BK; kk += 1u) { for (var j : u32 = 0u; j < (4u / 4u); j += 1u) { var bv : vec4<f32> = tile_b[from_b + kk * ((8u * 4u * WX) / 4u) + j * 8u]; for (var i : u32 = 0u; i < (4u / 4u); i += 1u) { var av : vec4<f32> = tile_a[from_a + kk * ((4u * 4u * WY) / 4u) + i * 4u]; acc[(i * 4u) * 4u + j * 4u] += (av.x) * bv.x; acc[(i * 4u) * 4u + j * 4u + 1u] += (av.x) * bv.y; acc[(i * 4u) * 4u + j * 4u + 2u] += (av.x) * bv.z; acc[(i * 4u) * 4u + j * 4u + 3u] += (av.x) * bv.w; acc[(i * 4u + 1u) * 4u + j * 4u] += (av.y) * bv.x; acc[(i * 4u + 1u) * 4u + j * 4u + 1u] += (av.y) * bv.y; acc[(i * 4u + 1u) * 4u + j * 4u + 2u] += (av.y) * bv.z; acc[(i * 4u + 1u) * 4u + j * 4u + 3u] += (av.y) * bv.w; acc[(i * 4u + 2u) * 4u + j * 4u] += (av.z) * bv.x; acc[(i * 4u + 2u) * 4u + j * 4u + 1u] += (av.z) * bv.y; acc[(i * 4u + 2u) * 4u + j * 4u + 2u] += (av.z) * bv.z; acc[(i * 4u + 2u) * 4u + j * 4u + 3u] += (av.z) * bv.w; acc[(i * 4u + 3u) * 4u + j * 4u] += (av.w) * bv.x; acc[(i * 4u + 3u) * 4u + j * 4u + 1u] += (av.w) * bv.y; acc[(i * 4u + 3u) * 4u + j * 4u + 2u] += (av.w) * bv.z; acc[(i * 4u + 3u) * 4u + j * 4u + 3u] += (av.w) * bv.w; } } } }
    if (STAGES == 1u) { workgroupBarrier(); }
    { for (var i : u32 = 0u; i < 2u; i += 1u) { var item : u32 = k_lid.x + i * GROUP; if (i * GROUP < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u) && item < (((4u * 4u * WY) * BK / 16u) + (8u * 4u * WX) * BK / 16u)) { var is_a : bool = item < ((4u * 4u * WY) * BK / 16u); var block : u32 = select(item - ((4u * 4u * WY) * BK / 16u), item, is_a); var width : u32 = select((8u * 4u * WX) / 4u, (4u * 4u * WY) / 4u, is_a); var eighth : u32 = select(block % width, block / width, is_a || TRANS == 1u) * 4u; var v0 : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); var v1 : vec4<f32> = v0; var v2 : vec4<f32> = v0; var v3 : vec4<f32> = v0; if (is_a) { v0 = k_four(next[i * 4u], TA, VEC_A, eighth); v1 = k_four(next[i * 4u + 1u], TA, VEC_A, eighth); v2 = k_four(next[i * 4u + 2u], TA, VEC_A, eighth); v3 = k_four(next[i * 4u + 3u], TA, VEC_A, eighth); } else { v0 = k_four(next[i * 4u], TB, VEC_B, eighth); v1 = k_four(next[i * 4u + 1u], TB, VEC_B, eighth); v2 = k_four(next[i * 4u + 2u], TB, VEC_B, eighth); v3 = k_four(next[i * 4u + 3u], TB, VEC_B, eighth); } if (is_a || TRANS == 1u) { var t0 : vec4<f32> = vec4<f32>(v0.x, v1.x, v2.x, v3.x); var t1 : vec4<f32> = vec4<f32>(v0.y, v1.y, v2.y, v3.y); var t2 : vec4<f32> = vec4<f32>(v0.z, v1.z, v2.z, v3.z); v3 = vec4<f32>(v0.w, v1.w, v2.w, v3.w); v0 = t0; v1 = t1; v2 = t2; } var to : u32 = block / width * 4u * width + block % width; if (is_a) { to += (s % STAGES) * (SIZE_A / STAGES); tile_a[to] = v0; tile_a[to + width] = v1; tile_a[to + 2u * width] = v2; tile_a[to + 3u * width] = v3; } else { to += (s % STAGES) * (SIZE_B / STAGES); tile_b[to] = v0; tile_b[to + width] = v1; tile_b[to + 2u * width] = v2; tile_b[to + 3u * width] = v3; } } } }
    workgroupBarrier();
  }
  { var from_a : u32 = (last % STAGES) * (SIZE_A / STAGES) + row; var from_b : u32 = (last % STAGES) * (SIZE_B / STAGES) + column; for (var kk : u32 = 0u; kk < BK; kk += 1u) { for (var j : u32 = 0u; j < (4u / 4u); j += 1u) { var bv : vec4<f32> = tile_b[from_b + kk * ((8u * 4u * WX) / 4u) + j * 8u]; for (var i : u32 = 0u; i < (4u / 4u); i += 1u) { var av : vec4<f32> = tile_a[from_a + kk * ((4u * 4u * WY) / 4u) + i * 4u]; acc[(i * 4u) * 4u + j * 4u] += (av.x) * bv.x; acc[(i * 4u) * 4u + j * 4u + 1u] += (av.x) * bv.y; acc[(i * 4u) * 4u + j * 4u + 2u] += (av.x) * bv.z; acc[(i * 4u) * 4u + j * 4u + 3u] += (av.x) * bv.w; acc[(i * 4u + 1u) * 4u + j * 4u] += (av.y) * bv.x; acc[(i * 4u + 1u) * 4u + j * 4u + 1u] += (av.y) * bv.y; acc[(i * 4u + 1u) * 4u + j * 4u + 2u] += (av.y) * bv.z; acc[(i * 4u + 1u) * 4u + j * 4u + 3u] += (av.y) * bv.w; acc[(i * 4u + 2u) * 4u + j * 4u] += (av.z) * bv.x; acc[(i * 4u + 2u) * 4u + j * 4u + 1u] += (av.z) * bv.y; acc[(i * 4u + 2u) * 4u + j * 4u + 2u] += (av.z) * bv.z; acc[(i * 4u + 2u) * 4u + j * 4u + 3u] += (av.z) * bv.w; acc[(i * 4u + 3u) * 4u + j * 4u] += (av.w) * bv.x; acc[(i * 4u + 3u) * 4u + j * 4u + 1u] += (av.w) * bv.y; acc[(i * 4u + 3u) * 4u + j * 4u + 2u] += (av.w) * bv.z; acc[(i * 4u + 3u) * 4u + j * 4u + 3u] += (av.w) * bv.w; } } } }
  for (var i : u32 = 0u; i < 4u; i += 1u) {
    var line : array<f32, 4u>;
    for (var r : u32 = 0u; r < 4u; r += 1u) {
      if (r == i) {
        for (var j : u32 = 0u; j < 4u; j += 1u) { line[j] = acc[r * 4u + j]; }
      }
    }
    var at_row : u32 = (row + i / 4u * 4u) * 4u + i % 4u;
    if (at_row < count_m) {
      var to_row : u32 = slice * p.m + m0 + at_row;
      if (GATHER == 1u) { to_row = slice * p.m + row_of[at_row + 1u]; }
      for (var j : u32 = 0u; j < (4u / 4u); j += 1u) {
        var col : u32 = (column + j * 8u) * 4u;
        if (col < count_n) {
          var f0 : f32 = line[j * 4u];
          var f1 : f32 = line[j * 4u + 1u];
          var f2 : f32 = line[j * 4u + 2u];
          var f3 : f32 = line[j * 4u + 3u];
          var to : u32 = to_row * p.n + n0 + col;
          if (ACT != 0u || EXTRA != 0u) { for (var e : u32 = 0u; e < min(4u, count_n - col); e += 1u) { var f : f32 = select(select(f3, f2, e == 2u), select(f1, f0, e == 0u), e < 2u); { var k_bare : f32 = f; if (EXTRA == 1u) { f += bitcast<f32>(k_float(extra[((n0 + col) + e) >> select(1u, 0u, TE == 0u)], TE, ((n0 + col) + e))); } if (EXTRA == 2u) { f += bitcast<f32>(k_float(extra[0u], TE, 0u)); } if (EXTRA == 3u) { f = bitcast<f32>(extra[(to) + e]); } f = k_act(ACT, f); if (EXTRA == 3u) { f = f * k_bare; } } if (e == 0u) { f0 = f; } if (e == 1u) { f1 = f; } if (e == 2u) { f2 = f; } if (e == 3u) { f3 = f; } } }
          if (TY == 0u) { if (VEC_Y == 1u) { y4[(to) >> 2u] = bitcast<vec4<u32>>(vec4<f32>(f0, f1, f2, f3)); } else { y[to] = bitcast<u32>(f0); if ((count_n - col) > 1u) { y[(to) + 1u] = bitcast<u32>(f1); } if ((count_n - col) > 2u) { y[(to) + 2u] = bitcast<u32>(f2); } if ((count_n - col) > 3u) { y[(to) + 3u] = bitcast<u32>(f3); } } } else { y[(to) >> 1u] = k_pair(f0, f1, TY); if ((count_n - col) > 2u) { y[((to) >> 1u) + 1u] = k_pair(f2, f3, TY); } }
        }
      }
    }
  }
}
