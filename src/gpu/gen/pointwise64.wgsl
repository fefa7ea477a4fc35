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
@id(1) override S0 : u32 = 0u;
@id(2) override S1 : u32 = 0u;
@id(3) override S2 : u32 = 0u;
@id(4) override S3 : u32 = 0u;
@id(5) override S4 : u32 = 0u;
@id(6) override S5 : u32 = 0u;
@id(7) override S6 : u32 = 0u;
@id(8) override S7 : u32 = 0u;
@id(9) override S8 : u32 = 0u;
@id(10) override S9 : u32 = 0u;
@id(11) override S10 : u32 = 0u;
@id(12) override S11 : u32 = 0u;
@id(13) override S12 : u32 = 0u;
@id(14) override S13 : u32 = 0u;
@id(15) override S14 : u32 = 0u;
@id(16) override S15 : u32 = 0u;
@id(17) override STEPS : u32 = 1u;
@id(18) override TX : u32 = 0u;
@id(19) override TY : u32 = 0u;
@id(20) override USED : u32 = 1u;
@id(21) override RANK : u32 = 1u;
fn k_magnitude(a : u32) -> u32 { return select(a, 0u - a, a >= 0x80000000u); }
fn k_div_u(a : u32, b : u32) -> u32 { return select(a / max(b, 1u), 0u, b == 0u); }
fn k_mod_u(a : u32, b : u32) -> u32 { return select(a % max(b, 1u), 0u, b == 0u); }
fn k_pow_u(a : u32, b : u32) -> u32 {
  var y : u32 = 1u;
  var square : u32 = a;
  for (var left : u32 = b; left > 0u; left = left >> 1u) {
    if ((left & 1u) == 1u) { y = y * square; }
    square = square * square;
  }
  return y;
}
fn k_clamp_i(a : u32, lo : u32, hi : u32) -> u32 { return u32(min(max(i32(a), i32(lo)), i32(hi))); }
fn k_f_to_i(x : f32) -> u32 {
  var t : f32 = select(x, 0.0f, k_isnan(x));
  var inside : i32 = i32(min(max(t, -2147483648.0f), 2147483520.0f));
  return select(u32(inside), 0x7fffffffu, t >= 2147483648.0f);
}
fn k_f_to_u(x : f32) -> u32 {
  var t : f32 = select(x, 0.0f, k_isnan(x));
  var inside : u32 = u32(min(max(t, 0.0f), 4294967040.0f));
  return select(inside, 0xffffffffu, t >= 4294967296.0f);
}
fn k_u_to_odd(a : u32) -> f32 {
  var top : u32 = firstLeadingBit(a | 1u);
  var down : u32 = select(0u, top - 23u, top > 23u);
  var kept : u32 = a >> down;
  var odd : u32 = select(0u, 1u, (kept << down) != a);
  return f32(kept | odd) * bitcast<f32>((down + 127u) << 23u);
}
fn k_quantize(x : f32, scale : f32, zero : u32) -> u32 {
  var q : f32 = k_div_exact(x, scale);
  var code : f32 = round(select(min(max(q, -8589934592.0f), 8589934592.0f), 0.0f, k_isnan(q)));
  var high : f32 = floor(code * 1.52587890625e-05f);
  var below : f32 = code - high * 65536.0f;
  var low : u32 = u32(below) + (zero & 0xffffu);
  var sum : i32 = i32(high) + (i32(zero) >> 16u) + i32(low >> 16u);
  var y : u32 = (u32(sum) << 16u) | (low & 0xffffu);
  return select(select(y, 0x80000000u, sum < -32768), 0x7fffffffu, sum > 32767);
}
fn k_dequantize(x : u32, zero : u32, high : i32, scale : f32) -> u32 {
  var low : f32 = f32(i32(x & 0xffffu) - i32(zero & 0xffffu));
  return bitcast<u32>(fma(f32(high), 65536.0f, low) * scale);
}
fn k_fit(v : u32, T : u32) -> u32 {
  if (T == 1u) { return bitcast<u32>(k_half_value(k_half_bits_of(bitcast<f32>(v)))); }
  if (T == 2u) { return k_bf16_bits(bitcast<f32>(v)) << 16u; }
  if (T == 6u) { return u32(i32(v << 16u) >> 16u); }
  if (T == 4u) { return u32(i32(v << 24u) >> 24u); }
  if (T == 5u) { return v & 0xffu; }
  return v;
}
fn k_pw_exp(op : u32, x : f32) -> u32 {
  var y : f32 = x;
  switch (op) {
    case 16u: { y = k_exp(x); break; }
    case 17u: { y = k_sigmoid(x); break; }
    case 18u: { y = k_silu(x); break; }
    case 19u: { y = k_tanh(x); break; }
    case 20u: { y = k_gelu_approx(x); break; }
    case 21u: { y = k_softplus(x); break; }
    default: { break; }
  }
  return bitcast<u32>(y);
}
fn k_pw_erf(op : u32, x : f32, alpha : f32, beta : f32) -> u32 {
  var y : f32 = x;
  switch (op) {
    case 32u: { y = k_gelu(x); break; }
    case 33u: { y = k_erf(x); break; }
    case 34u: { y = k_elu(x, alpha); break; }
    case 35u: { y = beta * k_elu(x, alpha); break; }
    case 36u: { y = k_mish(x); break; }
    default: { break; }
  }
  return bitcast<u32>(y);
}
fn k_pw_angle(op : u32, x : f32) -> u32 {
  if (op == 48u) { return bitcast<u32>(k_sin(x)); }
  if (op == 49u) { return bitcast<u32>(k_cos(x)); }
  return bitcast<u32>(k_tan(x));
}
fn k_pw_root(op : u32, a : f32, b : f32) -> u32 {
  if (op == 64u) { return bitcast<u32>(k_div(a, b)); }
  if (op == 65u) { return bitcast<u32>(k_log(a)); }
  if (op == 66u) { return bitcast<u32>(k_sqrt(a)); }
  return bitcast<u32>(k_rsqrt(a));
}
fn k_pw_mod(op : u32, a : f32, b : f32) -> u32 {
  if (op == 96u) { return bitcast<u32>(k_mod(a, b)); }
  return bitcast<u32>(k_atan2(a, b));
}
fn k_pw_cheap(op : u32, x : f32, alpha : f32, beta : f32) -> u32 {
  var y : f32 = x;
  switch (op) {
    case 112u: { y = k_relu(x); break; }
    case 113u: { y = bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); break; }
    case 114u: { y = bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); break; }
    case 115u: { y = k_round(x); break; }
    case 116u: { y = k_floor(x); break; }
    case 117u: { y = k_ceil(x); break; }
    case 118u: { y = k_sign(x); break; }
    case 119u: { y = k_leaky_relu(x, alpha); break; }
    case 120u: { y = k_hard_sigmoid(x, alpha, beta); break; }
    case 121u: { y = k_hard_swish(x); break; }
    case 122u: { y = k_clamp(x, alpha, beta); break; }
    default: { break; }
  }
  return bitcast<u32>(y);
}
fn k_pw_float(op : u32, a : f32, b : f32, c : f32) -> u32 {
  var y : u32 = 0u;
  switch (op) {
    case 128u: { y = bitcast<u32>(a + b); break; }
    case 129u: { y = bitcast<u32>(a - b); break; }
    case 130u: { y = bitcast<u32>(a * b); break; }
    case 131u: { y = bitcast<u32>(k_max(a, b)); break; }
    case 132u: { y = bitcast<u32>(k_min(a, b)); break; }
    case 133u: { y = bitcast<u32>(k_fma(a, b, c)); break; }
    case 134u: { y = select(0u, 1u, k_equal(a, b)); break; }
    case 135u: { y = select(1u, 0u, k_equal(a, b)); break; }
    case 136u: { y = select(0u, 1u, k_less(a, b)); break; }
    case 137u: { y = select(0u, 1u, k_less_equal(a, b)); break; }
    default: { break; }
  }
  return y;
}
fn k_pw_integer(op : u32, a : u32, b : u32, c : u32) -> u32 {
  var y : u32 = 0u;
  switch (op) {
    case 144u: { y = a + b; break; }
    case 145u: { y = a - b; break; }
    case 146u: { y = a * b; break; }
    case 147u: { y = a & b; break; }
    case 148u: { y = a | b; break; }
    case 149u: { y = a ^ b; break; }
    case 150u: { y = 0u - a; break; }
    case 151u: { y = k_magnitude(a); break; }
    case 152u: { y = select(select(1u, 0xffffffffu, a >= 0x80000000u), 0u, a == 0u); break; }
    case 153u: { y = select(a << (b & 31u), 0u, b >= c); break; }
    case 154u: { y = u32(i32(a) >> select(b, 31u, b >= c)); break; }
    case 155u: { y = select(a >> (b & 31u), 0u, b >= c); break; }
    default: { break; }
  }
  return y;
}
fn k_pw_order(op : u32, a : u32, b : u32, c : u32) -> u32 {
  var y : u32 = 0u;
  switch (op) {
    case 160u: { y = u32(max(i32(a), i32(b))); break; }
    case 161u: { y = max(a, b); break; }
    case 162u: { y = u32(min(i32(a), i32(b))); break; }
    case 163u: { y = min(a, b); break; }
    case 164u: { y = select(0u, 1u, a == b); break; }
    case 165u: { y = select(1u, 0u, a == b); break; }
    case 166u: { y = select(0u, 1u, i32(a) < i32(b)); break; }
    case 167u: { y = select(0u, 1u, a < b); break; }
    case 168u: { y = select(0u, 1u, i32(a) <= i32(b)); break; }
    case 169u: { y = select(0u, 1u, a <= b); break; }
    case 170u: { y = k_clamp_i(a, b, c); break; }
    case 171u: { y = min(max(a, b), c); break; }
    default: { break; }
  }
  return y;
}
fn k_pw_quotient(op : u32, a : u32, b : u32) -> u32 {
  if (op == 177u) { return k_div_u(a, b); }
  if (op == 179u) { return k_mod_u(a, b); }
  if (op == 176u) {
    var q : u32 = k_div_u(k_magnitude(a), k_magnitude(b));
    return select(q, 0u - q, (a ^ b) >= 0x80000000u);
  }
  if (op == 178u) {
    var r : u32 = k_mod_u(k_magnitude(a), k_magnitude(b));
    var rest : u32 = select(r, 0u - r, a >= 0x80000000u);
    return select(rest, rest + b, rest != 0u && (rest ^ b) >= 0x80000000u);
  }
  var below : bool = op == 180u && b >= 0x80000000u;
  var fraction : u32 = select(select(0u, select(1u, a, (b & 1u) == 1u), a == 0xffffffffu), 1u, a == 1u);
  return select(k_pow_u(a, select(b, 0u, below)), fraction, below);
}
fn k_pw_any(op : u32, a : u32, b : u32, c : u32) -> u32 {
  var y : u32 = a;
  var odd : f32 = k_u_to_odd(select(a, k_magnitude(a), op == 199u));
  switch (op) {
    case 193u: { y = select(c, b, a != 0u); break; }
    case 194u: { y = a ^ 1u; break; }
    case 195u: { y = k_clamp_i(k_f_to_i(bitcast<f32>(a)), b, c); break; }
    case 196u: { y = k_f_to_u(bitcast<f32>(a)); break; }
    case 197u: { y = bitcast<u32>(f32(i32(a))); break; }
    case 198u: { y = bitcast<u32>(f32(a)); break; }
    case 199u: { y = bitcast<u32>(odd) | (a & 0x80000000u); break; }
    case 200u: { y = bitcast<u32>(odd); break; }
    case 201u: { y = select(1u, 0u, k_iszero(bitcast<f32>(a))); break; }
    case 202u: { y = select(1u, 0u, a == 0u); break; }
    default: { break; }
  }
  return y;
}
fn k_pw_code(op : u32, a : u32, b : u32, c : u32) -> u32 {
  if (op == 208u) { return k_quantize(bitcast<f32>(a), bitcast<f32>(b), c); }
  var high : i32 = select(i32(a >> 16u) - i32(c >> 16u), (i32(a) >> 16u) - (i32(c) >> 16u), op == 209u);
  return k_dequantize(a, c, high, bitcast<f32>(b));
}
@id(22) override FLAT : u32 = 1u;
struct Params { groups : u32,
  n : u32,
  c0 : u32,
  c1 : u32,
  c2 : u32,
  c3 : u32,
  c4 : u32,
  c5 : u32,
  c6 : u32,
  c7 : u32,
  c8 : u32,
  c9 : u32,
  c10 : u32,
  c11 : u32,
  h0 : u32,
  h1 : u32,
  h2 : u32,
  h3 : u32,
  h4 : u32,
  h5 : u32,
  h6 : u32,
  h7 : u32,
  h8 : u32,
  h9 : u32,
  h10 : u32,
  h11 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x0 : array<u32>;
@group(0) @binding(1) var<storage, read_write> x1 : array<u32>;
@group(0) @binding(2) var<storage, read_write> x2 : array<u32>;
@group(0) @binding(3) var<storage, read_write> x3 : array<u32>;
@group(0) @binding(4) var<storage, read_write> x4 : array<u32>;
@group(0) @binding(5) var<storage, read_write> x5 : array<u32>;
@group(0) @binding(6) var<storage, read_write> x6 : array<u32>;
@group(0) @binding(7) var<storage, read_write> y : array<u32>;
fn k_below(a : vec2<u32>) -> bool { return a.y >= 0x80000000u; }
fn k_add_l(a : vec2<u32>, b : vec2<u32>) -> vec2<u32> {
  var low : u32 = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn k_sub_l(a : vec2<u32>, b : vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
fn k_neg_l(a : vec2<u32>) -> vec2<u32> { return k_sub_l(vec2<u32>(0u, 0u), a); }
fn k_mul_l(a : vec2<u32>, b : vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x * b.x, k_mulhi(a.x, b.x) + a.x * b.y + a.y * b.x); }
fn k_pick_l(c : bool, a : vec2<u32>, b : vec2<u32>) -> vec2<u32> { return vec2<u32>(select(b.x, a.x, c), select(b.y, a.y, c)); }
fn k_magnitude_l(a : vec2<u32>) -> vec2<u32> { return k_pick_l(k_below(a), k_neg_l(a), a); }
fn k_less_ul(a : vec2<u32>, b : vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn k_less_l(a : vec2<u32>, b : vec2<u32>) -> bool { return k_less_ul(vec2<u32>(a.x, a.y ^ 0x80000000u), vec2<u32>(b.x, b.y ^ 0x80000000u)); }
fn k_equal_l(a : vec2<u32>, b : vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }
fn k_shl_l(a : vec2<u32>, n : u32) -> vec2<u32> {
  var s : u32 = n & 31u;
  var carried : u32 = select(a.x >> ((32u - s) & 31u), 0u, s == 0u);
  return k_pick_l(n >= 32u, vec2<u32>(0u, a.x << s), vec2<u32>(a.x << s, (a.y << s) | carried));
}
fn k_shr_l(a : vec2<u32>, n : u32) -> vec2<u32> {
  var s : u32 = n & 31u;
  var carried : u32 = select(a.y << ((32u - s) & 31u), 0u, s == 0u);
  return k_pick_l(n >= 32u, vec2<u32>(a.y >> s, 0u), vec2<u32>((a.x >> s) | carried, a.y >> s));
}
fn k_divide_l(a : vec2<u32>, b : vec2<u32>, rest : bool) -> vec2<u32> {
  var q : vec2<u32> = vec2<u32>(0u, 0u);
  var r : vec2<u32> = vec2<u32>(0u, 0u);
  for (var i : u32 = 0u; i < 64u; i += 1u) {
    var bit : vec2<u32> = k_shr_l(a, 63u - i);
    var over : bool = k_below(r);
    r = k_shl_l(r, 1u);
    r = vec2<u32>(r.x | (bit.x & 1u), r.y);
    q = k_shl_l(q, 1u);
    if (over || !k_less_ul(r, b)) {
      r = k_sub_l(r, b);
      q = vec2<u32>(q.x | 1u, q.y);
    }
  }
  return k_pick_l(rest, r, q);
}
fn k_power_l(a : vec2<u32>, b : vec2<u32>) -> vec2<u32> {
  var y : vec2<u32> = vec2<u32>(1u, 0u);
  var square : vec2<u32> = a;
  var left : vec2<u32> = b;
  for (var i : u32 = 0u; i < 64u && (left.x | left.y) != 0u; i += 1u) {
    if ((left.x & 1u) == 1u) { y = k_mul_l(y, square); }
    square = k_mul_l(square, square);
    left = k_shr_l(left, 1u);
  }
  return y;
}
fn k_pl_integer(op : u32, a : vec2<u32>, b : vec2<u32>, c : vec2<u32>) -> vec2<u32> {
  var y : vec2<u32> = a;
  var wide : bool = b.y != 0u || b.x > 63u;
  var signs : vec2<u32> = vec2<u32>(select(0u, 0xffffffffu, k_below(a)), select(0u, 0xffffffffu, k_below(a)));
  switch (op) {
    case 224u: { y = k_add_l(a, b); break; }
    case 225u: { y = k_sub_l(a, b); break; }
    case 226u: { y = k_mul_l(a, b); break; }
    case 227u: { y = vec2<u32>(a.x & b.x, a.y & b.y); break; }
    case 228u: { y = vec2<u32>(a.x | b.x, a.y | b.y); break; }
    case 229u: { y = vec2<u32>(a.x ^ b.x, a.y ^ b.y); break; }
    case 230u: { y = k_neg_l(a); break; }
    case 231u: { y = k_magnitude_l(a); break; }
    case 232u: { y = vec2<u32>(select(signs.x | 1u, 0u, (a.x | a.y) == 0u), signs.x); break; }
    case 233u: { y = k_pick_l(wide, vec2<u32>(0u, 0u), k_shl_l(a, b.x & 63u)); break; }
    case 234u: {
      var down : vec2<u32> = k_shr_l(vec2<u32>(a.x ^ signs.x, a.y ^ signs.x), b.x & 63u);
      y = k_pick_l(wide, signs, vec2<u32>(down.x ^ signs.x, down.y ^ signs.x));
      break;
    }
    case 235u: { y = k_pick_l(a.x != 0u, b, c); break; }
    default: { break; }
  }
  return y;
}
fn k_pl_order(op : u32, a : vec2<u32>, b : vec2<u32>, c : vec2<u32>) -> vec2<u32> {
  var y : vec2<u32> = a;
  var same : bool = k_equal(bitcast<f32>(a.x), bitcast<f32>(b.x)) && k_equal(bitcast<f32>(a.y), bitcast<f32>(b.y));
  switch (op) {
    case 240u: { y = k_pick_l(k_less_l(a, b), b, a); break; }
    case 241u: { y = k_pick_l(k_less_l(b, a), b, a); break; }
    case 242u: { y = vec2<u32>(select(0u, 1u, k_equal_l(a, b)), 0u); break; }
    case 243u: { y = vec2<u32>(select(1u, 0u, k_equal_l(a, b)), 0u); break; }
    case 244u: { y = vec2<u32>(select(0u, 1u, k_less_l(a, b)), 0u); break; }
    case 245u: { y = vec2<u32>(select(1u, 0u, k_less_l(b, a)), 0u); break; }
    case 246u: {
      var up : vec2<u32> = k_pick_l(k_less_l(a, b), b, a);
      y = k_pick_l(k_less_l(c, up), c, up);
      break;
    }
    case 247u: { y = vec2<u32>(select(0u, 1u, same), 0u); break; }
    case 248u: { y = vec2<u32>(select(1u, 0u, same), 0u); break; }
    default: { break; }
  }
  return y;
}
fn k_pl_quotient(op : u32, a : vec2<u32>, b : vec2<u32>) -> vec2<u32> {
  var none : bool = (b.x | b.y) == 0u;
  if (op == 258u) {
    var even : bool = (b.x & 1u) == 0u;
    var one : bool = k_equal_l(a, vec2<u32>(1u, 0u));
    var minus_one : bool = (a.x & a.y) == 0xffffffffu;
    var fraction : vec2<u32> = k_pick_l(one || (minus_one && even), vec2<u32>(1u, 0u), k_pick_l(minus_one, a, vec2<u32>(0u, 0u)));
    return k_pick_l(k_below(b), fraction, k_power_l(a, k_pick_l(k_below(b), vec2<u32>(0u, 0u), b)));
  }
  var m : vec2<u32> = k_magnitude_l(a);
  var d : vec2<u32> = k_pick_l(none, vec2<u32>(1u, 0u), k_magnitude_l(b));
  var y : vec2<u32> = k_divide_l(m, d, op == 257u);
  if (op == 256u) { y = k_pick_l(((a.y ^ b.y) >> 31u) == 1u, k_neg_l(y), y); }
  if (op == 257u) {
    y = k_pick_l(k_below(a), k_neg_l(y), y);
    y = k_pick_l((y.x | y.y) != 0u && ((y.y ^ b.y) >> 31u) == 1u, k_add_l(y, b), y);
  }
  return k_pick_l(none, vec2<u32>(0u, 0u), y);
}
fn k_l_to_f(a : vec2<u32>, odd : bool) -> f32 {
  var m : vec2<u32> = k_magnitude_l(a);
  var down : u32 = select(firstLeadingBit(m.y | 1u) + 1u, 0u, m.y == 0u);
  var kept : vec2<u32> = k_shr_l(m, down);
  var lost : u32 = select(1u, 0u, k_equal_l(k_shl_l(kept, down), m));
  var top : u32 = kept.x | lost;
  var y : f32 = select(f32(top), k_u_to_odd(top), odd) * bitcast<f32>((down + 127u) << 23u);
  return select(y, -y, k_below(a));
}
fn k_f_to_l(x : f32) -> vec2<u32> {
  var u : u32 = bitcast<u32>(x) & 0x7fffffffu;
  var below : bool = bitcast<u32>(x) >= 0x80000000u;
  if (u < 0x3f800000u || u > 0x7f800000u) { return vec2<u32>(0u, 0u); }
  if (u >= 0x5f000000u) { return vec2<u32>(select(0xffffffffu, 0u, below), select(0x7fffffffu, 0x80000000u, below)); }
  var m : vec2<u32> = vec2<u32>((u & 0x7fffffu) | 0x800000u, 0u);
  var e : u32 = u >> 23u;
  var y : vec2<u32> = k_pick_l(e >= 150u, k_shl_l(m, (e - 150u) & 63u), k_shr_l(m, (150u - e) & 31u));
  return k_pick_l(below, k_neg_l(y), y);
}
fn k_pl_convert(op : u32, a : vec2<u32>, b : vec2<u32>, c : vec2<u32>) -> vec2<u32> {
  var y : vec2<u32> = a;
  var sign : u32 = select(0u, 0xffffffffu, a.x >= 0x80000000u);
  switch (op) {
    case 272u: { y = k_f_to_l(bitcast<f32>(a.x)); break; }
    case 273u: { y = vec2<u32>(bitcast<u32>(k_l_to_f(a, false)), 0u); break; }
    case 274u: { y = vec2<u32>(bitcast<u32>(k_l_to_f(a, true)), 0u); break; }
    case 275u: { y = vec2<u32>(select(1u, 0u, (a.x | a.y) == 0u), 0u); break; }
    case 276u: { y = k_pick_l(k_less_l(a, b), b, k_pick_l(k_less_l(c, a), c, a)); break; }
    case 277u: { y = vec2<u32>(select(select(a.x, 0xffffffffu, a.y != 0u), 0u, k_below(a)), 0u); break; }
    case 278u: { y = vec2<u32>(a.x, sign); break; }
    case 279u: { y = vec2<u32>(a.x, 0u); break; }
    default: { break; }
  }
  return y;
}
@compute @workgroup_size(GROUP) fn pointwise64(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var shift : u32 = ((2103828u >> (((TY) & 15u) * 2u)) & 3u);
  var w : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  var first : u32 = w << shift;
  if (first < p.n) {
    var r : array<u32, 35>;
    var h : array<u32, 35>;
    r[7] = p.c0; h[7] = p.h0; r[8] = p.c1; h[8] = p.h1; r[9] = p.c2; h[9] = p.h2;
    r[10] = p.c3; h[10] = p.h3; r[11] = p.c4; h[11] = p.h4; r[12] = p.c5; h[12] = p.h5;
    r[13] = p.c6; h[13] = p.h6; r[14] = p.c7; h[14] = p.h7; r[15] = p.c8; h[15] = p.h8;
    r[16] = p.c9; h[16] = p.h9; r[17] = p.c10; h[17] = p.h10; r[18] = p.c11; h[18] = p.h11;
    var word : u32 = 0u;
    var high : u32 = 0u;
    for (var e : u32 = 0u; e < (1u << shift); e += 1u) {
      var i : u32 = first + e;
      if (i < p.n) {
        var at0 : u32 = select(0u, i, ((FLAT >> 0) & 1u) == 1u); var at1 : u32 = select(0u, i, ((FLAT >> 1) & 1u) == 1u); var at2 : u32 = select(0u, i, ((FLAT >> 2) & 1u) == 1u); var at3 : u32 = select(0u, i, ((FLAT >> 3) & 1u) == 1u); var at4 : u32 = select(0u, i, ((FLAT >> 4) & 1u) == 1u); var at5 : u32 = select(0u, i, ((FLAT >> 5) & 1u) == 1u); var at6 : u32 = select(0u, i, ((FLAT >> 6) & 1u) == 1u);
        if (RANK > 1u) { at0 = 0u; at1 = 0u; at2 = 0u; at3 = 0u; at4 = 0u; at5 = 0u; var rest : u32 = i; for (var axis : u32 = 0u; axis < RANK; axis += 1u) { var row : u32 = axis * 12u; var size : u32 = x6[row]; var up : u32 = 0u; if (axis + 1u < RANK) { up = select(k_mulhi(rest, x6[row + 1u]) >> x6[row + 2u], rest, size == 1u); } var place : u32 = rest - up * size; rest = up; at0 += place * x6[row + 4u + 0u]; at1 += place * x6[row + 4u + 1u]; at2 += place * x6[row + 4u + 2u]; at3 += place * x6[row + 4u + 3u]; at4 += place * x6[row + 4u + 4u]; at5 += place * x6[row + 4u + 5u]; } }
        r[0] = 0u; h[0] = 0u; if ((((USED >> 0) & 1u) == 1u)) { if ((((TX >> (4u * 0)) & 15u) == 9u || ((TX >> (4u * 0)) & 15u) == 11u)) { r[0] = x0[2u * at0]; h[0] = x0[2u * at0 + 1u]; } else { r[0] = k_element(x0[(at0) >> ((2103828u >> (((((TX >> (4u * 0)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 0)) & 15u), at0); } } r[1] = 0u; h[1] = 0u; if ((((USED >> 1) & 1u) == 1u)) { if ((((TX >> (4u * 1)) & 15u) == 9u || ((TX >> (4u * 1)) & 15u) == 11u)) { r[1] = x1[2u * at1]; h[1] = x1[2u * at1 + 1u]; } else { r[1] = k_element(x1[(at1) >> ((2103828u >> (((((TX >> (4u * 1)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 1)) & 15u), at1); } } r[2] = 0u; h[2] = 0u; if ((((USED >> 2) & 1u) == 1u)) { if ((((TX >> (4u * 2)) & 15u) == 9u || ((TX >> (4u * 2)) & 15u) == 11u)) { r[2] = x2[2u * at2]; h[2] = x2[2u * at2 + 1u]; } else { r[2] = k_element(x2[(at2) >> ((2103828u >> (((((TX >> (4u * 2)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 2)) & 15u), at2); } } r[3] = 0u; h[3] = 0u; if ((((USED >> 3) & 1u) == 1u)) { if ((((TX >> (4u * 3)) & 15u) == 9u || ((TX >> (4u * 3)) & 15u) == 11u)) { r[3] = x3[2u * at3]; h[3] = x3[2u * at3 + 1u]; } else { r[3] = k_element(x3[(at3) >> ((2103828u >> (((((TX >> (4u * 3)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 3)) & 15u), at3); } } r[4] = 0u; h[4] = 0u; if ((((USED >> 4) & 1u) == 1u)) { if ((((TX >> (4u * 4)) & 15u) == 9u || ((TX >> (4u * 4)) & 15u) == 11u)) { r[4] = x4[2u * at4]; h[4] = x4[2u * at4 + 1u]; } else { r[4] = k_element(x4[(at4) >> ((2103828u >> (((((TX >> (4u * 4)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 4)) & 15u), at4); } } r[5] = 0u; h[5] = 0u; if ((((USED >> 5) & 1u) == 1u)) { if ((((TX >> (4u * 5)) & 15u) == 9u || ((TX >> (4u * 5)) & 15u) == 11u)) { r[5] = x5[2u * at5]; h[5] = x5[2u * at5 + 1u]; } else { r[5] = k_element(x5[(at5) >> ((2103828u >> (((((TX >> (4u * 5)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 5)) & 15u), at5); } } r[6] = 0u; h[6] = 0u; if ((((USED >> 6) & 1u) == 1u)) { if ((((TX >> (4u * 6)) & 15u) == 9u || ((TX >> (4u * 6)) & 15u) == 11u)) { r[6] = x6[2u * at6]; h[6] = x6[2u * at6 + 1u]; } else { r[6] = k_element(x6[(at6) >> ((2103828u >> (((((TX >> (4u * 6)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 6)) & 15u), at6); } }
        if (STEPS > 0u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S0 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S0 & 511u, vec2<u32>(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), vec2<u32>(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), vec2<u32>(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S0 & 511u, vec2<u32>(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), vec2<u32>(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), vec2<u32>(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S0 & 511u, vec2<u32>(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), vec2<u32>(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S0 & 511u, vec2<u32>(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), vec2<u32>(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), vec2<u32>(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S0 >> 9u) & 63u]; var b : u32 = r[(S0 >> 15u) & 63u]; var c : u32 = r[(S0 >> 21u) & 63u]; switch ((S0 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S0 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S0 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S0 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S0 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S0 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S0 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S0 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S0 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S0 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S0 & 511u, a, b); break; } case 12u: { v = k_pw_any(S0 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S0 & 511u, a, b, c); break; } default: { break; } } if ((S0 >> 27u) != 0u) { v = k_fit(v, S0 >> 27u); } r[19u + 0u] = v; h[19u + 0u] = l.y; } if (STEPS > 1u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S1 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S1 & 511u, vec2<u32>(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), vec2<u32>(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), vec2<u32>(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S1 & 511u, vec2<u32>(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), vec2<u32>(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), vec2<u32>(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S1 & 511u, vec2<u32>(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), vec2<u32>(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S1 & 511u, vec2<u32>(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), vec2<u32>(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), vec2<u32>(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S1 >> 9u) & 63u]; var b : u32 = r[(S1 >> 15u) & 63u]; var c : u32 = r[(S1 >> 21u) & 63u]; switch ((S1 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S1 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S1 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S1 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S1 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S1 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S1 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S1 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S1 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S1 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S1 & 511u, a, b); break; } case 12u: { v = k_pw_any(S1 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S1 & 511u, a, b, c); break; } default: { break; } } if ((S1 >> 27u) != 0u) { v = k_fit(v, S1 >> 27u); } r[19u + 1u] = v; h[19u + 1u] = l.y; } if (STEPS > 2u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S2 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S2 & 511u, vec2<u32>(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), vec2<u32>(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), vec2<u32>(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S2 & 511u, vec2<u32>(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), vec2<u32>(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), vec2<u32>(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S2 & 511u, vec2<u32>(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), vec2<u32>(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S2 & 511u, vec2<u32>(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), vec2<u32>(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), vec2<u32>(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S2 >> 9u) & 63u]; var b : u32 = r[(S2 >> 15u) & 63u]; var c : u32 = r[(S2 >> 21u) & 63u]; switch ((S2 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S2 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S2 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S2 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S2 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S2 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S2 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S2 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S2 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S2 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S2 & 511u, a, b); break; } case 12u: { v = k_pw_any(S2 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S2 & 511u, a, b, c); break; } default: { break; } } if ((S2 >> 27u) != 0u) { v = k_fit(v, S2 >> 27u); } r[19u + 2u] = v; h[19u + 2u] = l.y; } if (STEPS > 3u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S3 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S3 & 511u, vec2<u32>(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), vec2<u32>(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), vec2<u32>(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S3 & 511u, vec2<u32>(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), vec2<u32>(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), vec2<u32>(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S3 & 511u, vec2<u32>(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), vec2<u32>(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S3 & 511u, vec2<u32>(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), vec2<u32>(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), vec2<u32>(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S3 >> 9u) & 63u]; var b : u32 = r[(S3 >> 15u) & 63u]; var c : u32 = r[(S3 >> 21u) & 63u]; switch ((S3 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S3 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S3 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S3 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S3 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S3 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S3 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S3 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S3 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S3 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S3 & 511u, a, b); break; } case 12u: { v = k_pw_any(S3 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S3 & 511u, a, b, c); break; } default: { break; } } if ((S3 >> 27u) != 0u) { v = k_fit(v, S3 >> 27u); } r[19u + 3u] = v; h[19u + 3u] = l.y; } if (STEPS > 4u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S4 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S4 & 511u, vec2<u32>(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), vec2<u32>(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), vec2<u32>(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S4 & 511u, vec2<u32>(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), vec2<u32>(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), vec2<u32>(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S4 & 511u, vec2<u32>(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), vec2<u32>(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S4 & 511u, vec2<u32>(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), vec2<u32>(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), vec2<u32>(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S4 >> 9u) & 63u]; var b : u32 = r[(S4 >> 15u) & 63u]; var c : u32 = r[(S4 >> 21u) & 63u]; switch ((S4 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S4 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S4 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S4 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S4 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S4 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S4 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S4 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S4 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S4 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S4 & 511u, a, b); break; } case 12u: { v = k_pw_any(S4 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S4 & 511u, a, b, c); break; } default: { break; } } if ((S4 >> 27u) != 0u) { v = k_fit(v, S4 >> 27u); } r[19u + 4u] = v; h[19u + 4u] = l.y; } if (STEPS > 5u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S5 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S5 & 511u, vec2<u32>(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), vec2<u32>(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), vec2<u32>(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S5 & 511u, vec2<u32>(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), vec2<u32>(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), vec2<u32>(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S5 & 511u, vec2<u32>(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), vec2<u32>(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S5 & 511u, vec2<u32>(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), vec2<u32>(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), vec2<u32>(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S5 >> 9u) & 63u]; var b : u32 = r[(S5 >> 15u) & 63u]; var c : u32 = r[(S5 >> 21u) & 63u]; switch ((S5 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S5 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S5 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S5 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S5 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S5 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S5 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S5 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S5 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S5 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S5 & 511u, a, b); break; } case 12u: { v = k_pw_any(S5 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S5 & 511u, a, b, c); break; } default: { break; } } if ((S5 >> 27u) != 0u) { v = k_fit(v, S5 >> 27u); } r[19u + 5u] = v; h[19u + 5u] = l.y; } if (STEPS > 6u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S6 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S6 & 511u, vec2<u32>(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), vec2<u32>(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), vec2<u32>(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S6 & 511u, vec2<u32>(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), vec2<u32>(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), vec2<u32>(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S6 & 511u, vec2<u32>(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), vec2<u32>(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S6 & 511u, vec2<u32>(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), vec2<u32>(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), vec2<u32>(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S6 >> 9u) & 63u]; var b : u32 = r[(S6 >> 15u) & 63u]; var c : u32 = r[(S6 >> 21u) & 63u]; switch ((S6 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S6 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S6 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S6 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S6 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S6 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S6 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S6 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S6 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S6 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S6 & 511u, a, b); break; } case 12u: { v = k_pw_any(S6 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S6 & 511u, a, b, c); break; } default: { break; } } if ((S6 >> 27u) != 0u) { v = k_fit(v, S6 >> 27u); } r[19u + 6u] = v; h[19u + 6u] = l.y; } if (STEPS > 7u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S7 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S7 & 511u, vec2<u32>(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), vec2<u32>(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), vec2<u32>(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S7 & 511u, vec2<u32>(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), vec2<u32>(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), vec2<u32>(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S7 & 511u, vec2<u32>(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), vec2<u32>(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S7 & 511u, vec2<u32>(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), vec2<u32>(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), vec2<u32>(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S7 >> 9u) & 63u]; var b : u32 = r[(S7 >> 15u) & 63u]; var c : u32 = r[(S7 >> 21u) & 63u]; switch ((S7 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S7 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S7 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S7 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S7 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S7 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S7 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S7 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S7 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S7 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S7 & 511u, a, b); break; } case 12u: { v = k_pw_any(S7 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S7 & 511u, a, b, c); break; } default: { break; } } if ((S7 >> 27u) != 0u) { v = k_fit(v, S7 >> 27u); } r[19u + 7u] = v; h[19u + 7u] = l.y; } if (STEPS > 8u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S8 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S8 & 511u, vec2<u32>(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), vec2<u32>(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), vec2<u32>(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S8 & 511u, vec2<u32>(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), vec2<u32>(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), vec2<u32>(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S8 & 511u, vec2<u32>(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), vec2<u32>(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S8 & 511u, vec2<u32>(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), vec2<u32>(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), vec2<u32>(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S8 >> 9u) & 63u]; var b : u32 = r[(S8 >> 15u) & 63u]; var c : u32 = r[(S8 >> 21u) & 63u]; switch ((S8 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S8 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S8 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S8 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S8 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S8 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S8 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S8 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S8 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S8 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S8 & 511u, a, b); break; } case 12u: { v = k_pw_any(S8 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S8 & 511u, a, b, c); break; } default: { break; } } if ((S8 >> 27u) != 0u) { v = k_fit(v, S8 >> 27u); } r[19u + 8u] = v; h[19u + 8u] = l.y; } if (STEPS > 9u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S9 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S9 & 511u, vec2<u32>(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), vec2<u32>(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), vec2<u32>(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S9 & 511u, vec2<u32>(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), vec2<u32>(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), vec2<u32>(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S9 & 511u, vec2<u32>(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), vec2<u32>(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S9 & 511u, vec2<u32>(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), vec2<u32>(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), vec2<u32>(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S9 >> 9u) & 63u]; var b : u32 = r[(S9 >> 15u) & 63u]; var c : u32 = r[(S9 >> 21u) & 63u]; switch ((S9 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S9 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S9 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S9 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S9 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S9 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S9 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S9 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S9 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S9 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S9 & 511u, a, b); break; } case 12u: { v = k_pw_any(S9 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S9 & 511u, a, b, c); break; } default: { break; } } if ((S9 >> 27u) != 0u) { v = k_fit(v, S9 >> 27u); } r[19u + 9u] = v; h[19u + 9u] = l.y; } if (STEPS > 10u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S10 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S10 & 511u, vec2<u32>(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), vec2<u32>(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), vec2<u32>(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S10 & 511u, vec2<u32>(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), vec2<u32>(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), vec2<u32>(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S10 & 511u, vec2<u32>(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), vec2<u32>(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S10 & 511u, vec2<u32>(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), vec2<u32>(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), vec2<u32>(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S10 >> 9u) & 63u]; var b : u32 = r[(S10 >> 15u) & 63u]; var c : u32 = r[(S10 >> 21u) & 63u]; switch ((S10 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S10 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S10 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S10 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S10 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S10 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S10 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S10 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S10 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S10 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S10 & 511u, a, b); break; } case 12u: { v = k_pw_any(S10 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S10 & 511u, a, b, c); break; } default: { break; } } if ((S10 >> 27u) != 0u) { v = k_fit(v, S10 >> 27u); } r[19u + 10u] = v; h[19u + 10u] = l.y; } if (STEPS > 11u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S11 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S11 & 511u, vec2<u32>(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), vec2<u32>(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), vec2<u32>(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S11 & 511u, vec2<u32>(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), vec2<u32>(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), vec2<u32>(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S11 & 511u, vec2<u32>(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), vec2<u32>(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S11 & 511u, vec2<u32>(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), vec2<u32>(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), vec2<u32>(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S11 >> 9u) & 63u]; var b : u32 = r[(S11 >> 15u) & 63u]; var c : u32 = r[(S11 >> 21u) & 63u]; switch ((S11 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S11 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S11 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S11 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S11 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S11 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S11 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S11 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S11 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S11 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S11 & 511u, a, b); break; } case 12u: { v = k_pw_any(S11 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S11 & 511u, a, b, c); break; } default: { break; } } if ((S11 >> 27u) != 0u) { v = k_fit(v, S11 >> 27u); } r[19u + 11u] = v; h[19u + 11u] = l.y; } if (STEPS > 12u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S12 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S12 & 511u, vec2<u32>(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), vec2<u32>(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), vec2<u32>(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S12 & 511u, vec2<u32>(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), vec2<u32>(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), vec2<u32>(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S12 & 511u, vec2<u32>(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), vec2<u32>(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S12 & 511u, vec2<u32>(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), vec2<u32>(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), vec2<u32>(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S12 >> 9u) & 63u]; var b : u32 = r[(S12 >> 15u) & 63u]; var c : u32 = r[(S12 >> 21u) & 63u]; switch ((S12 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S12 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S12 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S12 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S12 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S12 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S12 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S12 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S12 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S12 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S12 & 511u, a, b); break; } case 12u: { v = k_pw_any(S12 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S12 & 511u, a, b, c); break; } default: { break; } } if ((S12 >> 27u) != 0u) { v = k_fit(v, S12 >> 27u); } r[19u + 12u] = v; h[19u + 12u] = l.y; } if (STEPS > 13u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S13 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S13 & 511u, vec2<u32>(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), vec2<u32>(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), vec2<u32>(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S13 & 511u, vec2<u32>(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), vec2<u32>(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), vec2<u32>(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S13 & 511u, vec2<u32>(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), vec2<u32>(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S13 & 511u, vec2<u32>(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), vec2<u32>(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), vec2<u32>(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S13 >> 9u) & 63u]; var b : u32 = r[(S13 >> 15u) & 63u]; var c : u32 = r[(S13 >> 21u) & 63u]; switch ((S13 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S13 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S13 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S13 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S13 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S13 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S13 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S13 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S13 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S13 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S13 & 511u, a, b); break; } case 12u: { v = k_pw_any(S13 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S13 & 511u, a, b, c); break; } default: { break; } } if ((S13 >> 27u) != 0u) { v = k_fit(v, S13 >> 27u); } r[19u + 13u] = v; h[19u + 13u] = l.y; } if (STEPS > 14u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S14 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S14 & 511u, vec2<u32>(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), vec2<u32>(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), vec2<u32>(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S14 & 511u, vec2<u32>(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), vec2<u32>(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), vec2<u32>(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S14 & 511u, vec2<u32>(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), vec2<u32>(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S14 & 511u, vec2<u32>(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), vec2<u32>(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), vec2<u32>(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S14 >> 9u) & 63u]; var b : u32 = r[(S14 >> 15u) & 63u]; var c : u32 = r[(S14 >> 21u) & 63u]; switch ((S14 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S14 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S14 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S14 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S14 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S14 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S14 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S14 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S14 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S14 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S14 & 511u, a, b); break; } case 12u: { v = k_pw_any(S14 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S14 & 511u, a, b, c); break; } default: { break; } } if ((S14 >> 27u) != 0u) { v = k_fit(v, S14 >> 27u); } r[19u + 14u] = v; h[19u + 14u] = l.y; } if (STEPS > 15u) { var l : vec2<u32> = vec2<u32>(0u, 0u); switch ((S15 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S15 & 511u, vec2<u32>(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), vec2<u32>(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), vec2<u32>(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S15 & 511u, vec2<u32>(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), vec2<u32>(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), vec2<u32>(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S15 & 511u, vec2<u32>(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), vec2<u32>(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S15 & 511u, vec2<u32>(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), vec2<u32>(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), vec2<u32>(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } default: { break; } } var v : u32 = l.x; var a : u32 = r[(S15 >> 9u) & 63u]; var b : u32 = r[(S15 >> 15u) & 63u]; var c : u32 = r[(S15 >> 21u) & 63u]; switch ((S15 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S15 & 511u, bitcast<f32>(a)); break; } case 2u: { v = k_pw_erf(S15 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 3u: { v = k_pw_angle(S15 & 511u, bitcast<f32>(a)); break; } case 4u: { v = k_pw_root(S15 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 5u: { v = bitcast<u32>(k_pow(bitcast<f32>(a), bitcast<f32>(b))); break; } case 6u: { v = k_pw_mod(S15 & 511u, bitcast<f32>(a), bitcast<f32>(b)); break; } case 7u: { v = k_pw_cheap(S15 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 8u: { v = k_pw_float(S15 & 511u, bitcast<f32>(a), bitcast<f32>(b), bitcast<f32>(c)); break; } case 9u: { v = k_pw_integer(S15 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S15 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S15 & 511u, a, b); break; } case 12u: { v = k_pw_any(S15 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S15 & 511u, a, b, c); break; } default: { break; } } if ((S15 >> 27u) != 0u) { v = k_fit(v, S15 >> 27u); } r[19u + 15u] = v; h[19u + 15u] = l.y; }
        word = k_put(word, TY, e, k_narrow(r[18u + STEPS], TY));
        high = h[18u + STEPS];
      }
    }
    if ((TY == 9u || TY == 11u)) {
      y[2u * w] = word;
      y[2u * w + 1u] = high;
    } else {
      y[w] = word;
    }
  }
}
