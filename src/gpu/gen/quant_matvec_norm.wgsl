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
fn k_block_shift(T : u32) -> u32 {
  return select(8u, 5u, T < 17u || T == 23u || T == 25u);
}
fn k_block_zero(T : u32) -> i32 {
  if (T == 12u) { return i32(8u); }
  if (T == 14u) { return i32(16u); }
  if (T == 18u) { return i32(4u); }
  if (T == 21u) { return i32(32u); }
  if (T == 25u) { return i32(12u); }
  if (T == 26u || T == 27u) { return i32(1u); }
  if (T == 16u || T == 22u || T == 23u || T == 24u) { return i32(128u); }
  return i32(0u);
}
fn k_funnel(lo : u32, hi : u32, o : u32) -> u32 {
  var s : u32 = (o & 3u) << 3u;
  return (lo >> s) | ((hi << 1u) << (31u - s));
}
fn k_level(a : u32, b : u32, c : u32, d : u32, code : u32) -> u32 {
  var low : u32 = select(b, a, (code & 4u) == 0u);
  var high : u32 = select(d, c, (code & 4u) == 0u);
  return (select(high, low, (code & 8u) == 0u) >> ((code & 3u) << 3u)) & 0xffu;
}
fn k_iq4_level(c : u32) -> u32 { return k_level(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u, c); }
fn k_mxfp4_level(c : u32) -> u32 { return k_level(0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u, c); }
fn k_iq4_levels(n : u32) -> u32 {
  return k_iq4_level(n & 15u) | (k_iq4_level((n >> 8u) & 15u) << 8u) | (k_iq4_level((n >> 16u) & 15u) << 16u) |
         (k_iq4_level(n >> 24u) << 24u);
}
fn k_mxfp4_levels(n : u32) -> u32 {
  return k_mxfp4_level(n & 15u) | (k_mxfp4_level((n >> 8u) & 15u) << 8u) | (k_mxfp4_level((n >> 16u) & 15u) << 16u) |
         (k_mxfp4_level(n >> 24u) << 24u);
}
fn k_mxfp4_scale(e : u32) -> f32 { return bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u)); }
fn k_fifths(bits : u32) -> u32 { return (((bits & 15u) * 0x00204081u) & 0x01010101u) << 4u; }
fn k_trits(bytes : u32, k : u32) -> u32 {
  var power : u32 = select(select(select(81u, 27u, k == 3u), 9u, k == 2u), select(3u, 1u, k == 0u), k < 2u);
  var even : u32 = ((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu;
  var odd : u32 = (((bytes >> 8u) & 0x00ff00ffu) * power) & 0x00ff00ffu;
  return (((even * 3u) >> 8u) & 0x00030003u) | ((odd * 3u) & 0x03000300u);
}
fn k_scale_min(s0 : u32, s1 : u32, s2 : u32, j : u32) -> u32 {
  var s : u32 = (j & 3u) << 3u;
  var a : u32 = s0 >> s;
  var b : u32 = s1 >> s;
  var c : u32 = s2 >> s;
  var lo : u32 = select((c & 15u) | ((a >> 2u) & 0x30u), a & 63u, j < 4u);
  return lo | (select(((c >> 4u) & 15u) | ((b >> 2u) & 0x30u), b & 63u, j < 4u) << 16u);
}
fn k_q3_scale(s0 : u32, s1 : u32, s2 : u32, j : u32) -> f32 {
  var low : u32 = (select(s1, s0, (j & 4u) == 0u) >> (((j & 3u) << 3u) + ((j >> 3u) << 2u))) & 15u;
  var high : u32 = (s2 >> (((j & 3u) << 3u) + ((j >> 2u) << 1u))) & 3u;
  return f32(i32(low | (high << 4u)) - i32(32u));
}
fn k_iq4_scale(high : u32, low : u32, j : u32) -> f32 {
  return f32(i32(((low >> (j << 2u)) & 15u) | (((high >> (j << 1u)) & 3u) << 4u)) - i32(32u));
}
fn k_signed(byte : u32) -> f32 { return f32(i32(byte ^ 0x80u) - i32(128u)); }
fn k_block_adds(T : u32) -> bool { return T == 13u || T == 15u || T == 17u || T == 19u || T == 20u; }
fn k_block_value(T : u32, codes : u32, e : u32, scale : f32, add : f32) -> f32 {
  var v : f32 = scale * f32(i32((codes >> (e << 3u)) & 0xffu) - k_block_zero(T));
  if (k_block_adds(T)) { return v + add; }
  return v;
}
fn k_unit_shift(T : u32) -> u32 {
  if (T == 16u) { return 1u; }
  if (T == 17u || T == 18u || T == 27u) { return 2u; }
  if (T == 22u) { return 4u; }
  return select(3u, 0u, k_block_shift(T) == 5u);
}
fn k_run_shift(T : u32) -> u32 {
  if (T == 16u || T == 22u) { return 0u; }
  return select(1u, 2u, T == 17u || T == 18u || T == 27u);
}
fn k_run_quad(T : u32, u : u32, s : u32) -> u32 {
  if (T == 16u || T == 22u) { return u << 2u; }
  if (T == 19u || T == 20u) { return ((u >> 1u) << 4u) + (s << 3u) + ((u & 1u) << 2u); }
  if (T == 21u) { return ((u >> 2u) << 5u) + (s << 4u) + ((u & 3u) << 2u); }
  if (T == 17u || T == 18u || T == 27u) { return ((u >> 1u) << 5u) + (s << 3u) + ((u & 1u) << 2u); }
  return (u << 3u) + (s << 2u);
}
fn k_unit_of(T : u32, j : u32) -> u32 {
  if (T == 16u || T == 22u) { return j; }
  if (T == 19u || T == 20u) { return ((j >> 2u) << 1u) + (j & 1u); }
  if (T == 21u) { return ((j >> 3u) << 2u) + (j & 3u); }
  if (T == 17u || T == 18u || T == 27u) { return ((j >> 3u) << 1u) + (j & 1u); }
  return j >> 1u;
}
fn k_run_of(T : u32, j : u32) -> u32 {
  if (T == 16u || T == 22u) { return 0u; }
  if (T == 19u || T == 20u) { return (j >> 1u) & 1u; }
  if (T == 21u) { return (j >> 2u) & 1u; }
  if (T == 17u || T == 18u || T == 27u) { return (j >> 1u) & 3u; }
  return j & 1u;
}
fn k_unit_codes(T : u32, q : u32, hi : u32, u : u32, s : u32) -> u32 {
  if (T == 16u || T == 22u) { return q ^ 0x80808080u; }
  if (T == 17u || T == 27u) { return q >> (s << 1u); }
  if (T == 18u) {
    return ((q >> (s << 1u)) & 0x03030303u) | (((hi >> (((u >> 1u) << 2u) + s)) & 0x01010101u) << 2u);
  }
  var n : u32 = q >> (s << 2u);
  if (T == 12u || T == 13u || T == 19u) { return n; }
  n = n & 0x0f0f0f0fu;
  if (T == 14u || T == 15u) { return n | k_fifths(hi); }
  if (T == 20u) { return n | (((hi >> (((u >> 1u) << 1u) + s)) & 0x01010101u) << 4u); }
  if (T == 21u) { return n | (((hi >> ((u & 2u) + (s << 2u))) & 0x03030303u) << 4u); }
  if (T == 25u) { return k_mxfp4_levels(n); }
  return k_iq4_levels(n);
}
fn k_code_mask(T : u32) -> u32 {
  if (T == 17u || T == 27u) { return 3u; }
  return select(255u, 15u, T == 12u || T == 13u || T == 19u);
}
fn k_scales_mins(s0 : u32, s1 : u32, s2 : u32, u : u32) -> u32 {
  var by : u32 = (u & 2u) << 3u;
  var a : u32 = s0 >> by;
  var b : u32 = s1 >> by;
  var c : u32 = s2 >> by;
  var lo : u32 = select((c & 0x0f0fu) | ((a >> 2u) & 0x3030u), a & 0x3f3fu, u < 4u);
  return lo | (select(((c >> 4u) & 0x0f0fu) | ((b >> 2u) & 0x3030u), b & 0x3f3fu, u < 4u) << 16u);
}
fn k_unit_scale(T : u32, hd : vec4<u32>, hx : u32, u : u32, s : u32) -> vec2<u32> {
  var scale : f32 = unpack2x16float(hx).x;
  var add : f32 = 0.0f;
  if (T == 13u || T == 15u) { add = unpack2x16float(hx).y; }
  if (T == 25u) { scale = k_mxfp4_scale(hx & 0xffu); }
  if (T == 22u) { scale = bitcast<f32>(hx); }
  if (T == 17u) {
    var lo : u32 = select(hd.z, hd.x, (u & 2u) == 0u);
    var high : u32 = select(hd.w, hd.y, (u & 2u) == 0u);
    var sc : u32 = select(high, lo, (s & 2u) == 0u) >> (((s & 1u) << 4u) + ((u & 1u) << 3u));
    add = -(unpack2x16float(hx).y * f32((sc >> 4u) & 15u));
    scale = scale * f32(sc & 15u);
  }
  if (T == 18u) { scale = scale * k_q3_scale(hd.x, hd.y, hd.z, ((u >> 1u) << 3u) + (s << 1u) + (u & 1u)); }
  if (T == 19u || T == 20u) {
    var sm : u32 = k_scales_mins(hd.y, hd.z, hd.w, u) >> (s << 3u);
    scale = unpack2x16float(hd.x).x * f32(sm & 0xffu);
    add = -(unpack2x16float(hd.x).y * f32((sm >> 16u) & 0xffu));
  }
  if (T == 21u) {
    var lo : u32 = select(hd.z, hd.x, (u & 4u) == 0u);
    var high : u32 = select(hd.w, hd.y, (u & 4u) == 0u);
    scale = scale * k_signed((select(high, lo, s == 0u) >> ((u & 3u) << 3u)) & 0xffu);
  }
  if (T == 24u) { scale = unpack2x16float(hd.x).x * k_iq4_scale(hd.x >> 16u, hd.y, u); }
  return vec2<u32>(bitcast<u32>(scale), bitcast<u32>(add));
}
fn k_unit_floats(T : u32, codes : u32, two_23 : u32) -> vec4<f32> {
  var zero : f32 = 8388608.0f + f32(k_block_zero(T));
  var zero_256 : f32 = 8388608.0f + 256.0f * f32(k_block_zero(T));
  var mask : u32 = k_code_mask(T);
  var up : u32 = codes >> 16u;
  return vec4<f32>(bitcast<f32>((codes & mask) | two_23) - zero, bitcast<f32>((codes & (mask << 8u)) | two_23) - zero_256,
            bitcast<f32>((up & mask) | two_23) - zero, bitcast<f32>((up & (mask << 8u)) | two_23) - zero_256);
}
fn k_scaled(f : vec4<f32>, scale : f32, add : f32) -> vec4<f32> {
  var scale_256 : f32 = scale * 0.00390625f;
  return vec4<f32>(fma(f.x, scale, add), fma(f.y, scale_256, add), fma(f.z, scale, add), fma(f.w, scale_256, add));
}
fn k_dot_codes(T : u32, codes : u32) -> u32 {
  if (k_block_zero(T) == i32(128u)) { return codes ^ 0x80808080u; }
  return codes & (k_code_mask(T) * 0x01010101u);
}
fn k_dot_zero(T : u32) -> f32 { return f32(select(k_block_zero(T), i32(0u), k_block_zero(T) == i32(128u))); }
fn k_pack_codes(a : u32, b : u32, c : u32, d : u32) -> u32 {
  return (a + b * 0x100u + c * 0x10000u + d * 0x1000000u - 0x0abf7f80u) ^ 0x80808080u;
}
fn k_largest(v : vec4<f32>) -> f32 { return max(max(abs(v.x), abs(v.y)), max(abs(v.z), abs(v.w))); }
fn k_sum(v : vec4<f32>) -> f32 { return (v.x + v.y) + (v.z + v.w); }
fn k_round_codes(v : vec4<f32>, by : f32) -> u32 {
  return k_pack_codes(bitcast<u32>(fma(v.x, by, 12582912.0f)), bitcast<u32>(fma(v.y, by, 12582912.0f)), bitcast<u32>(fma(v.z, by, 12582912.0f)),
                      bitcast<u32>(fma(v.w, by, 12582912.0f)));
}
fn k_is_plain_run(most : f32, sum : f32) -> bool {
  return (bitcast<u32>(sum) & 0x7f800000u) != 0x7f800000u && (most >= 1.0e-30f || most == 0.0f);
}
@id(1) override T : u32 = 16u;
@id(2) override ROWS : u32 = 8u;
@id(3) override COLS : u32 = 1u;
@id(4) override LANES : u32 = 32u;
@id(5) override RED : u32 = 1024u;
@id(6) override MODE : u32 = 0u;
@id(7) override DUAL : u32 = 0u;
@id(8) override EXTRA : u32 = 0u;
@id(9) override ACT : u32 = 0u;
@id(10) override TI : u32 = 0u;
struct Params { groups : u32,
  m : u32,
  n : u32,
  k : u32,
  tiles : u32,
  a1 : u32,
  a2 : u32,
  b1 : u32,
  experts : u32,
  runs : u32,
  two_23 : u32,
  eps : f32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> w4 : array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> wb : array<u32>;
@group(0) @binding(2) var<storage, read_write> x : array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> extra : array<u32>;
@group(0) @binding(4) var<storage, read_write> gamma : array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> v4 : array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> vb : array<u32>;
@group(0) @binding(7) var<storage, read_write> y : array<u32>;
var<workgroup> red : array<f32, RED>;
@compute @workgroup_size(GROUP) fn quant_matvec_norm(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var id : u32 = k_lid.x;
  var lane : u32 = id % LANES;
  var tile_m : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.tiles;
  var first : u32 = ((k_wid.y * k_wn.x + k_wid.x) - tile_m * p.tiles) * (GROUP / LANES) * select(ROWS, ROWS / 2u, DUAL == 1u);
  var m0 : u32 = tile_m * COLS;
  var last : u32 = min(COLS, p.m - m0) - 1u;
  var expert_row : u32 = 0u;
  var there : bool = true;
  var per_block : u32 = k_unit_shift(T);
  var blocks : u32 = p.k >> k_block_shift(T);
  var units : u32 = blocks << per_block;
  var end : u32 = select(0u, units, there);
  var set_row : u32 = first + (id / LANES) * select(ROWS, ROWS / 2u, DUAL == 1u);
  var acc : array<f32, 33>;
  for (var i : u32 = 0u; i < ((ROWS * COLS) + 1u); i += 1u) { acc[i] = 0.0f; }
  var again : bool = false;
  for (var at : u32 = lane; at < end; at += LANES) {
    var q : array<vec4<u32>, 8>;
    var hi : array<vec4<u32>, 8>;
    var hd : array<vec4<u32>, 8>;
    var hx : array<u32, 8>;
    var block : u32 = at >> per_block;
    var unit : u32 = at & ((1u << per_block) - 1u);
    for (var r : u32 = 0u; r < ROWS; r += 1u) {
      var row : u32 = expert_row + min(set_row + (r & (select(ROWS, ROWS / 2u, DUAL == 1u) - 1u)), p.n - 1u);
      if (DUAL == 1u && r >= select(ROWS, ROWS / 2u, DUAL == 1u)) {
        q[r] = v4[row * units + at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx[r] = (vb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx[r] = vb[row * blocks + block]; } if (T == 25u) { hx[r] = vb[(row * blocks + block) >> 2u] >> (((row * blocks + block) & 3u) << 3u); } if (T == 14u) { hi[r].x = vb[row * blocks + block]; hx[r] = (vb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx[r] = vb[row * blocks + block]; hi[r].x = vb[p.b1 + (row * blocks + block)]; } if (T == 17u) { hd[r] = v4[p.a1 + (row * blocks + block)]; hx[r] = vb[row * blocks + block]; } if (T == 18u) { hi[r] = v4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = vec4<u32>(vb[3u * (row * blocks + block)], vb[3u * (row * blocks + block) + 1u], vb[3u * (row * blocks + block) + 2u], 0u); hx[r] = (vb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd[r] = v4[p.a1 + (row * blocks + block)]; } if (T == 20u) { hi[r] = v4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = v4[p.a2 + (row * blocks + block)]; } if (T == 21u) { hi[r] = v4[p.a1 + 4u * (row * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd[r] = v4[p.a2 + (row * blocks + block)]; hx[r] = (vb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd[r] = vec4<u32>(vb[2u * (row * blocks + block)], vb[2u * (row * blocks + block) + 1u], 0u, 0u); }
      } else {
        q[r] = w4[row * units + at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx[r] = (wb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx[r] = wb[row * blocks + block]; } if (T == 25u) { hx[r] = wb[(row * blocks + block) >> 2u] >> (((row * blocks + block) & 3u) << 3u); } if (T == 14u) { hi[r].x = wb[row * blocks + block]; hx[r] = (wb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx[r] = wb[row * blocks + block]; hi[r].x = wb[p.b1 + (row * blocks + block)]; } if (T == 17u) { hd[r] = w4[p.a1 + (row * blocks + block)]; hx[r] = wb[row * blocks + block]; } if (T == 18u) { hi[r] = w4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = vec4<u32>(wb[3u * (row * blocks + block)], wb[3u * (row * blocks + block) + 1u], wb[3u * (row * blocks + block) + 2u], 0u); hx[r] = (wb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd[r] = w4[p.a1 + (row * blocks + block)]; } if (T == 20u) { hi[r] = w4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = w4[p.a2 + (row * blocks + block)]; } if (T == 21u) { hi[r] = w4[p.a1 + 4u * (row * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd[r] = w4[p.a2 + (row * blocks + block)]; hx[r] = (wb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd[r] = vec4<u32>(wb[2u * (row * blocks + block)], wb[2u * (row * blocks + block) + 1u], 0u, 0u); }
      }
    }
    for (var s : u32 = 0u; s < (1u << k_run_shift(T)); s += 1u) {
      var x_at : u32 = m0 * (p.k >> 2u) + (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s);
      if (MODE == 0u && COLS == 1u) {
        var x0 : vec4<f32> = bitcast<vec4<f32>>(x[x_at]);
        var x1 : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 1u]);
        var x2 : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 2u]);
        var x3 : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 3u]);
        acc[(ROWS * COLS)] = fma(x0.x, x0.x, fma(x0.y, x0.y, fma(x0.z, x0.z, fma(x0.w, x0.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at]); x0 = vec4<f32>(x0.x * gv.x, x0.y * gv.y, x0.z * gv.z, x0.w * gv.w); } acc[(ROWS * COLS)] = fma(x1.x, x1.x, fma(x1.y, x1.y, fma(x1.z, x1.z, fma(x1.w, x1.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(x_at) + 1u]); x1 = vec4<f32>(x1.x * gv.x, x1.y * gv.y, x1.z * gv.z, x1.w * gv.w); } acc[(ROWS * COLS)] = fma(x2.x, x2.x, fma(x2.y, x2.y, fma(x2.z, x2.z, fma(x2.w, x2.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(x_at) + 2u]); x2 = vec4<f32>(x2.x * gv.x, x2.y * gv.y, x2.z * gv.z, x2.w * gv.w); } acc[(ROWS * COLS)] = fma(x3.x, x3.x, fma(x3.y, x3.y, fma(x3.z, x3.z, fma(x3.w, x3.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(x_at) + 3u]); x3 = vec4<f32>(x3.x * gv.x, x3.y * gv.y, x3.z * gv.z, x3.w * gv.w); }
        { var part : array<f32, 8>; var part_256 : array<f32, 8>; for (var r : u32 = 0u; r < ROWS; r += 1u) { part[r] = 0.0f; part_256[r] = 0.0f; } for (var r : u32 = 0u; r < ROWS; r += 1u) { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q[r].x, select(hi[r].x, hi[r].x >> (((s) << 4u) + ((0u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); part[r] = fma(f.x, x0.x, fma(f.z, x0.z, part[r])); part_256[r] = fma(f.y, x0.y, fma(f.w, x0.w, part_256[r])); } for (var r : u32 = 0u; r < ROWS; r += 1u) { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q[r].y, select(hi[r].y, hi[r].x >> (((s) << 4u) + ((1u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); part[r] = fma(f.x, x1.x, fma(f.z, x1.z, part[r])); part_256[r] = fma(f.y, x1.y, fma(f.w, x1.w, part_256[r])); } for (var r : u32 = 0u; r < ROWS; r += 1u) { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q[r].z, select(hi[r].z, hi[r].x >> (((s) << 4u) + ((2u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); part[r] = fma(f.x, x2.x, fma(f.z, x2.z, part[r])); part_256[r] = fma(f.y, x2.y, fma(f.w, x2.w, part_256[r])); } for (var r : u32 = 0u; r < ROWS; r += 1u) { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q[r].w, select(hi[r].w, hi[r].x >> (((s) << 4u) + ((3u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); part[r] = fma(f.x, x3.x, fma(f.z, x3.z, part[r])); part_256[r] = fma(f.y, x3.y, fma(f.w, x3.w, part_256[r])); } var sum_x : f32 = (k_sum(x0) + k_sum(x1)) + (k_sum(x2) + k_sum(x3)); for (var r : u32 = 0u; r < ROWS; r += 1u) { var by : vec2<u32> = k_unit_scale(T, hd[r], hx[r], unit, s); acc[r] = fma(bitcast<f32>(by.x), fma(part_256[r], 0.00390625f, part[r]), fma(bitcast<f32>(by.y), sum_x, acc[r])); } }
      } else {
        var scale : array<f32, 8>;
        var add : array<f32, 8>;
        for (var r : u32 = 0u; r < ROWS; r += 1u) {
          var by : vec2<u32> = k_unit_scale(T, hd[r], hx[r], unit, s);
          scale[r] = bitcast<f32>(by.x);
          add[r] = bitcast<f32>(by.y);
        }
        if (MODE == 0u) {
          var wv : array<vec4<f32>, 8>;
          { for (var r : u32 = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].x, select(hi[r].x, hi[r].x >> (((s) << 4u) + ((0u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23), scale[r], add[r]); } for (var m : u32 = 0u; m < COLS; m += 1u) { var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + min(m, last) * (p.k >> 2u) + 0u]); for (var r : u32 = 0u; r < ROWS; r += 1u) { var sum : f32 = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          { for (var r : u32 = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].y, select(hi[r].y, hi[r].x >> (((s) << 4u) + ((1u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23), scale[r], add[r]); } for (var m : u32 = 0u; m < COLS; m += 1u) { var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + min(m, last) * (p.k >> 2u) + 1u]); for (var r : u32 = 0u; r < ROWS; r += 1u) { var sum : f32 = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          { for (var r : u32 = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].z, select(hi[r].z, hi[r].x >> (((s) << 4u) + ((2u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23), scale[r], add[r]); } for (var m : u32 = 0u; m < COLS; m += 1u) { var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + min(m, last) * (p.k >> 2u) + 2u]); for (var r : u32 = 0u; r < ROWS; r += 1u) { var sum : f32 = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          { for (var r : u32 = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].w, select(hi[r].w, hi[r].x >> (((s) << 4u) + ((3u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23), scale[r], add[r]); } for (var m : u32 = 0u; m < COLS; m += 1u) { var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + min(m, last) * (p.k >> 2u) + 3u]); for (var r : u32 = 0u; r < ROWS; r += 1u) { var sum : f32 = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
        } else {
          var codes : array<vec4<u32>, 8>;
          for (var r : u32 = 0u; r < ROWS; r += 1u) {
            codes[r] = vec4<u32>(k_dot_codes(T, k_unit_codes(T, q[r].x, select(hi[r].x, hi[r].x >> (((s) << 4u) + ((0u) << 2u)), T == 14u || T == 15u), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].y, select(hi[r].y, hi[r].x >> (((s) << 4u) + ((1u) << 2u)), T == 14u || T == 15u), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].z, select(hi[r].z, hi[r].x >> (((s) << 4u) + ((2u) << 2u)), T == 14u || T == 15u), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].w, select(hi[r].w, hi[r].x >> (((s) << 4u) + ((3u) << 2u)), T == 14u || T == 15u), unit, s)));
            add[r] = fma(scale[r], -k_dot_zero(T), add[r]);
          }
          for (var m : u32 = 0u; m < COLS; m += 1u) {
            var at_m : u32 = x_at + min(m, last) * (p.k >> 2u);
            var xq : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u);
            var scale_x : f32 = 0.0f;
            var sum_x : f32 = 0.0f;
            if (MODE == 2u) {
              xq = x[p.runs + 2u * (at_m >> 2u)];
              var by : vec4<u32> = x[p.runs + 2u * (at_m >> 2u) + 1u];
              scale_x = bitcast<f32>(by.x);
              sum_x = bitcast<f32>(by.y);
            } else {
              var x0 : vec4<f32> = bitcast<vec4<f32>>(x[at_m]);
              var x1 : vec4<f32> = bitcast<vec4<f32>>(x[at_m + 1u]);
              var x2 : vec4<f32> = bitcast<vec4<f32>>(x[at_m + 2u]);
              var x3 : vec4<f32> = bitcast<vec4<f32>>(x[at_m + 3u]);
              acc[(ROWS * COLS)] = fma(x0.x, x0.x, fma(x0.y, x0.y, fma(x0.z, x0.z, fma(x0.w, x0.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[at_m]); x0 = vec4<f32>(x0.x * gv.x, x0.y * gv.y, x0.z * gv.z, x0.w * gv.w); } acc[(ROWS * COLS)] = fma(x1.x, x1.x, fma(x1.y, x1.y, fma(x1.z, x1.z, fma(x1.w, x1.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(at_m) + 1u]); x1 = vec4<f32>(x1.x * gv.x, x1.y * gv.y, x1.z * gv.z, x1.w * gv.w); } acc[(ROWS * COLS)] = fma(x2.x, x2.x, fma(x2.y, x2.y, fma(x2.z, x2.z, fma(x2.w, x2.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(at_m) + 2u]); x2 = vec4<f32>(x2.x * gv.x, x2.y * gv.y, x2.z * gv.z, x2.w * gv.w); } acc[(ROWS * COLS)] = fma(x3.x, x3.x, fma(x3.y, x3.y, fma(x3.z, x3.z, fma(x3.w, x3.w, acc[(ROWS * COLS)])))); { var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[(at_m) + 3u]); x3 = vec4<f32>(x3.x * gv.x, x3.y * gv.y, x3.z * gv.z, x3.w * gv.w); }
              { var k_most : f32 = max(max(k_largest(x0), k_largest(x1)), max(k_largest(x2), k_largest(x3))); var k_all : f32 = (k_sum(x0) + k_sum(x1)) + (k_sum(x2) + k_sum(x3)); var k_by : f32 = select(0.0f, 127.0f / k_most, k_most > 0.0f); scale_x = k_most * 0.0078740157f; xq = vec4<u32>(k_round_codes(x0, k_by), k_round_codes(x1, k_by), k_round_codes(x2, k_by), k_round_codes(x3, k_by)); var k_codes : i32 = (dot4I8Packed(xq.x, 0x01010101u) + ((dot4I8Packed(xq.y, 0x01010101u) + (0)))); k_codes = (dot4I8Packed(xq.z, 0x01010101u) + ((dot4I8Packed(xq.w, 0x01010101u) + (k_codes)))); sum_x = bitcast<f32>(select(0x7fc00000u, bitcast<u32>(scale_x * f32(k_codes)), k_is_plain_run(k_most, k_all))); }
            }
            again = again || !k_is_finite(sum_x);
            for (var r : u32 = 0u; r < ROWS; r += 1u) { var dot : i32 = (dot4I8Packed(codes[r].x, xq.x) + ((dot4I8Packed(codes[r].y, xq.y) + ((dot4I8Packed(codes[r].z, xq.z) + ((dot4I8Packed(codes[r].w, xq.w) + (0)))))))); acc[r * COLS + m] = fma(scale[r] * scale_x, f32(dot), fma(add[r], sum_x, acc[r * COLS + m])); }
          }
        }
      }
    }
  }
  if (again) { acc[0] = bitcast<f32>(0x7fc00000u); }
  for (var i : u32 = 1u; i < (ROWS * COLS); i += 1u) {
    if (again) { acc[i] = acc[0]; }
  }
  for (var i : u32 = 0u; i < ((ROWS * COLS) + 1u); i += 1u) { red[i * GROUP + id] = acc[i]; }
  workgroupBarrier();
  for (var step : u32 = LANES / 2u; step > 0u; step = step >> 1u) {
    if (lane < step) {
      for (var i : u32 = 0u; i < ((ROWS * COLS) + 1u); i += 1u) { red[i * GROUP + id] += red[i * GROUP + id + step]; }
    }
    workgroupBarrier();
  }
  for (var i : u32 = k_lid.x; i < (GROUP / LANES) * select(ROWS, ROWS / 2u, DUAL == 1u) * COLS; i += GROUP) {
    var m : u32 = i / ((GROUP / LANES) * select(ROWS, ROWS / 2u, DUAL == 1u));
    var c : u32 = i % ((GROUP / LANES) * select(ROWS, ROWS / 2u, DUAL == 1u));
    var col : u32 = first + c;
    if (col < p.n && m <= last) {
      var at : u32 = (m0 + m) * p.n + col;
      var v : f32 = red[((c % select(ROWS, ROWS / 2u, DUAL == 1u)) * COLS + m) * GROUP + (c / select(ROWS, ROWS / 2u, DUAL == 1u)) * LANES];
      var squares : f32 = red[((ROWS * COLS)) * GROUP + (c / select(ROWS, ROWS / 2u, DUAL == 1u)) * LANES];
      if (((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u) && k_is_finite(v)) {
        v *= inverseSqrt((squares) / f32(p.k) + p.eps);
      } else {
        var k_by : f32 = select(2.6469779601696886e-23f, 1.0f, ((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u)); var k_squares : f32 = squares; if (!((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) { k_squares = 0.0f; for (var k_i : u32 = 0u; k_i < (p.k >> 2u); k_i += 1u) { var k_v : vec4<f32> = bitcast<vec4<f32>>(x[k_i]); k_v = vec4<f32>(k_v.x * k_by, k_v.y * k_by, k_v.z * k_by, k_v.w * k_by); k_squares = fma(k_v.x, k_v.x, fma(k_v.y, k_v.y, fma(k_v.z, k_v.z, fma(k_v.w, k_v.w, k_squares)))); } } var k_scale : f32 = inverseSqrt(k_squares / f32(p.k) + p.eps * k_by * k_by);
        v = 0.0f; for (var k_at : u32 = 0u; k_at < units; k_at += 1u) { var q : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u); var hi : vec4<u32> = q; var hd : vec4<u32> = q; var hx : u32 = 0u; var block : u32 = k_at >> per_block; var unit : u32 = k_at & ((1u << per_block) - 1u); q = w4[(col) * units + k_at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx = (wb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx = wb[(col) * blocks + block]; } if (T == 25u) { hx = wb[((col) * blocks + block) >> 2u] >> ((((col) * blocks + block) & 3u) << 3u); } if (T == 14u) { hi.x = wb[(col) * blocks + block]; hx = (wb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx = wb[(col) * blocks + block]; hi.x = wb[p.b1 + ((col) * blocks + block)]; } if (T == 17u) { hd = w4[p.a1 + ((col) * blocks + block)]; hx = wb[(col) * blocks + block]; } if (T == 18u) { hi = w4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = vec4<u32>(wb[3u * ((col) * blocks + block)], wb[3u * ((col) * blocks + block) + 1u], wb[3u * ((col) * blocks + block) + 2u], 0u); hx = (wb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd = w4[p.a1 + ((col) * blocks + block)]; } if (T == 20u) { hi = w4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = w4[p.a2 + ((col) * blocks + block)]; } if (T == 21u) { hi = w4[p.a1 + 4u * ((col) * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd = w4[p.a2 + ((col) * blocks + block)]; hx = (wb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd = vec4<u32>(wb[2u * ((col) * blocks + block)], wb[2u * ((col) * blocks + block) + 1u], 0u, 0u); } for (var s : u32 = 0u; s < (1u << k_run_shift(T)); s += 1u) { var x_at : u32 = (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s); var by : vec2<u32> = k_unit_scale(T, hd, hx, unit, s); { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.x, select(hi.x, hi.x >> (((s) << 4u) + ((0u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 0u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 0u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.y, select(hi.y, hi.x >> (((s) << 4u) + ((1u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 1u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 1u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.z, select(hi.z, hi.x >> (((s) << 4u) + ((2u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 2u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 2u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.w, select(hi.w, hi.x >> (((s) << 4u) + ((3u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 3u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 3u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } } }
      }
      if (DUAL == 1u) {
        var up : f32 = red[((c % select(ROWS, ROWS / 2u, DUAL == 1u) + select(ROWS, ROWS / 2u, DUAL == 1u)) * COLS + m) * GROUP + (c / select(ROWS, ROWS / 2u, DUAL == 1u)) * LANES];
        if (((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u) && k_is_finite(up)) {
          up *= inverseSqrt((squares) / f32(p.k) + p.eps);
        } else {
          var k_by : f32 = select(2.6469779601696886e-23f, 1.0f, ((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u)); var k_squares : f32 = squares; if (!((bitcast<u32>(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) { k_squares = 0.0f; for (var k_i : u32 = 0u; k_i < (p.k >> 2u); k_i += 1u) { var k_v : vec4<f32> = bitcast<vec4<f32>>(x[k_i]); k_v = vec4<f32>(k_v.x * k_by, k_v.y * k_by, k_v.z * k_by, k_v.w * k_by); k_squares = fma(k_v.x, k_v.x, fma(k_v.y, k_v.y, fma(k_v.z, k_v.z, fma(k_v.w, k_v.w, k_squares)))); } } var k_scale : f32 = inverseSqrt(k_squares / f32(p.k) + p.eps * k_by * k_by);
          up = 0.0f; for (var k_at : u32 = 0u; k_at < units; k_at += 1u) { var q : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u); var hi : vec4<u32> = q; var hd : vec4<u32> = q; var hx : u32 = 0u; var block : u32 = k_at >> per_block; var unit : u32 = k_at & ((1u << per_block) - 1u); q = v4[(col) * units + k_at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx = (vb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx = vb[(col) * blocks + block]; } if (T == 25u) { hx = vb[((col) * blocks + block) >> 2u] >> ((((col) * blocks + block) & 3u) << 3u); } if (T == 14u) { hi.x = vb[(col) * blocks + block]; hx = (vb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx = vb[(col) * blocks + block]; hi.x = vb[p.b1 + ((col) * blocks + block)]; } if (T == 17u) { hd = v4[p.a1 + ((col) * blocks + block)]; hx = vb[(col) * blocks + block]; } if (T == 18u) { hi = v4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = vec4<u32>(vb[3u * ((col) * blocks + block)], vb[3u * ((col) * blocks + block) + 1u], vb[3u * ((col) * blocks + block) + 2u], 0u); hx = (vb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd = v4[p.a1 + ((col) * blocks + block)]; } if (T == 20u) { hi = v4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = v4[p.a2 + ((col) * blocks + block)]; } if (T == 21u) { hi = v4[p.a1 + 4u * ((col) * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd = v4[p.a2 + ((col) * blocks + block)]; hx = (vb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd = vec4<u32>(vb[2u * ((col) * blocks + block)], vb[2u * ((col) * blocks + block) + 1u], 0u, 0u); } for (var s : u32 = 0u; s < (1u << k_run_shift(T)); s += 1u) { var x_at : u32 = (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s); var by : vec2<u32> = k_unit_scale(T, hd, hx, unit, s); { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.x, select(hi.x, hi.x >> (((s) << 4u) + ((0u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 0u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 0u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.y, select(hi.y, hi.x >> (((s) << 4u) + ((1u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 1u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 1u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.z, select(hi.z, hi.x >> (((s) << 4u) + ((2u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 2u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 2u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { var f : vec4<f32> = k_unit_floats(T, k_unit_codes(T, q.w, select(hi.w, hi.x >> (((s) << 4u) + ((3u) << 2u)), T == 14u || T == 15u), unit, s), p.two_23); var w_i : vec4<f32> = k_scaled(f, bitcast<f32>(by.x), bitcast<f32>(by.y)); var gv : vec4<f32> = bitcast<vec4<f32>>(gamma[x_at + 3u]); var xv : vec4<f32> = bitcast<vec4<f32>>(x[x_at + 3u]); xv = vec4<f32>(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } } }
        }
        v = k_act(ACT, v) * up;
      } else if (EXTRA == 2u) {
        v = k_act(ACT, bitcast<f32>(extra[at])) * v;
      } else {
        if (EXTRA == 1u) { v += bitcast<f32>(extra[col]); }
        v = k_act(ACT, v);
      }
      y[at] = bitcast<u32>(v);
    }
  }
}
