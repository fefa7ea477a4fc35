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
fn k_narrow_pair(a : f32, b : f32, T : u32) -> u32 {
  if (0u == 1u && T == 1u) { return 0u; }
  return select(k_bf16_bits(a), k_half_bits(a), T == 1u) | (select(k_bf16_bits(b), k_half_bits(b), T == 1u) << 16u);
}
fn k_four(w : vec4<u32>, T : u32, second : u32) -> vec4<f32> {
  var a : u32 = select(w.x, w.z, second == 1u);
  var b : u32 = select(w.y, w.w, second == 1u);
  var r : vec4<f32> = bitcast<vec4<f32>>(w);
  if (T == 1u) { r = vec4<f32>(unpack2x16float(a).x, unpack2x16float(a).y, unpack2x16float(b).x, unpack2x16float(b).y); }
  if (T == 2u) { r = vec4<f32>(bitcast<f32>(a << 16u), bitcast<f32>(a & 0xffff0000u), bitcast<f32>(b << 16u), bitcast<f32>(b & 0xffff0000u)); }
  return r;
}
fn k_softcap(s : f32, c : f32) -> f32 { return c - (c + c) / (exp((s + s) / c) + 1.0f); }
@id(1) override T_Q : u32 = 0u;
@id(2) override T_K : u32 = 0u;
@id(3) override T_V : u32 = 0u;
@id(4) override ROWS : u32 = 1u;
@id(5) override LANES : u32 = 8u;
@id(6) override K_VECS : u32 = 1u;
@id(7) override V_VECS : u32 = 1u;
@id(8) override UNROLL : u32 = 1u;
@id(9) override CAUSAL : u32 = 0u;
@id(10) override HAS_MASK : u32 = 0u;
@id(11) override HAS_BIAS : u32 = 0u;
@id(12) override HAS_CAP : u32 = 0u;
@id(13) override HAS_LEN : u32 = 0u;
@id(14) override EXTRA : u32 = 0u;
@id(15) override RED : u32 = 1u;
@id(16) override QUERY : u32 = 1u;
@id(17) override JOINED : u32 = 1u;
@id(18) override CAREFUL : u32 = 0u;
@id(19) override IN_REGS : u32 = 0u;
@id(20) override WHOLE : u32 = 0u;
struct Params { groups : u32,
  n_batch : u32, n_q : u32, n_keys : u32, n_kv : u32, heads_per_kv : u32, d : u32, dv : u32, q_place : u32, q_head : u32, k_place : u32, k_head : u32, v_place : u32, v_head : u32, y_place : u32, y_head : u32, bias_batch : u32, bias_head : u32, bias_q : u32, bias_key : u32, len_step : u32, offset_step : u32, window : u32, splits : u32, row_blocks : u32, stats : u32, hidden : u32, scale : f32, softcap : f32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> q : array<u32>;
@group(0) @binding(1) var<storage, read_write> k : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> v : array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> mask : array<u32>;
@group(0) @binding(4) var<storage, read_write> bias : array<u32>;
@group(0) @binding(5) var<storage, read_write> len : array<u32>;
@group(0) @binding(6) var<storage, read_write> extra : array<u32>;
@group(0) @binding(7) var<storage, read_write> y : array<u32>;
var<workgroup> query : array<vec4<f32>, QUERY>;
var<workgroup> joined : array<vec4<f32>, JOINED>;
var<workgroup> stat : array<f32, 2u * (GROUP / LANES)>;
var<workgroup> red : array<f32, RED>;
var<workgroup> view : array<i32, 2>;
@compute @workgroup_size(GROUP) fn attention_decode(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var lane : u32 = k_lid.x % LANES;
  var team : u32 = k_lid.x / LANES;
  var split : u32 = (k_wid.y * k_wn.x + k_wid.x) % p.splits;
  var head : u32 = ((k_wid.y * k_wn.x + k_wid.x) / p.splits) % p.n_kv;
  var batch : u32 = ((k_wid.y * k_wn.x + k_wid.x) / (p.splits * p.n_kv)) % p.n_batch;
  var row0 : u32 = ((k_wid.y * k_wn.x + k_wid.x) / (p.splits * p.n_kv * p.n_batch)) * ROWS;
  var n_rows : u32 = p.n_q * p.heads_per_kv;
  var q_base : u32 = batch * n_rows * p.n_kv * p.d + head * p.heads_per_kv * p.q_head;
  if (k_lid.x == 0u) { var k_n : i32 = i32(p.n_keys); if (HAS_LEN == 1u) { k_n = clamp(i32(len[(batch) * p.len_step]), 0, i32(p.n_keys)); } view[0] = k_n; view[1] = k_n - i32(p.n_q); if (EXTRA == 1u) { view[1] = clamp(i32(extra[(batch) * p.offset_step]), -1073741824, 1073741823); } }
  if (IN_REGS == 0u) {
    for (var i : u32 = k_lid.x; i < QUERY; i += GROUP) {
      query[i] = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if ((row0 + i / (select(2u, 1u, T_K == 0u) * (LANES * K_VECS))) < n_rows && ((i % (LANES * K_VECS)) * select(8u, 4u, T_K == 0u) + ((i / (LANES * K_VECS)) % select(2u, 1u, T_K == 0u)) * 4u) < p.d) { var k_at : u32 = q_base + ((row0 + i / (select(2u, 1u, T_K == 0u) * (LANES * K_VECS))) / p.heads_per_kv) * p.q_place + ((row0 + i / (select(2u, 1u, T_K == 0u) * (LANES * K_VECS))) % p.heads_per_kv) * p.q_head + ((i % (LANES * K_VECS)) * select(8u, 4u, T_K == 0u) + ((i / (LANES * K_VECS)) % select(2u, 1u, T_K == 0u)) * 4u); query[i] = vec4<f32>(bitcast<f32>(k_element(q[(k_at) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at)), bitcast<f32>(k_element(q[(k_at + 1u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 1u)), bitcast<f32>(k_element(q[(k_at + 2u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 2u)), bitcast<f32>(k_element(q[(k_at + 3u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 3u))); }
    }
    workgroupBarrier();
  }
  var n_keys : i32 = workgroupUniformLoad(&view[0]);
  var offset : i32 = workgroupUniformLoad(&view[1]);
  var begin : i32 = 0;
  var end : i32 = n_keys;
  if (CAUSAL == 1u) {
    end = clamp(i32((min(row0 + ROWS, n_rows) - 1u) / p.heads_per_kv) + offset + 1, 0, n_keys);
    if (p.window > 0u) { begin = clamp(i32(row0 / p.heads_per_kv) + offset - i32(p.window) + 1, 0, end); }
  }
  if (p.splits > 1u) {
    var share : u32 = ((u32(end - begin) + p.splits - 1u) / p.splits + 7u) & ~7u;
    begin = min(begin + i32(split * share), end);
    end = min(begin + i32(share), end);
  }
  var acc : array<vec4<f32>, 16>;
  var most : array<f32, 8>;
  var total : array<f32, 8>;
  var own : array<i32, 8>;
  var bias_at : array<u32, 8>;
  for (var i : u32 = 0u; i < ROWS * (V_VECS * select(2u, 1u, T_V == 0u)); i += 1u) { acc[i] = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); }
  for (var r : u32 = 0u; r < ROWS; r += 1u) {
    var row : u32 = min(row0 + r, n_rows - 1u);
    most[r] = (-3.4028234e38f);
    total[r] = 0.0f;
    own[r] = i32(row / p.heads_per_kv) + offset;
    bias_at[r] = batch * p.bias_batch + (head * p.heads_per_kv + row % p.heads_per_kv) * p.bias_head +
                 (row / p.heads_per_kv) * p.bias_q;
  }
  var k_base : u32 = (batch * p.n_keys * p.n_kv * p.d + head * p.k_head) / select(8u, 4u, T_K == 0u);
  var v_base : u32 = (batch * p.n_keys * p.n_kv * p.dv + head * p.v_head) / select(8u, 4u, T_V == 0u);
  for (var key0 : i32 = begin; key0 < end; key0 += i32((GROUP / LANES) * UNROLL)) {
    var k_raw : array<vec4<u32>, 8>;
    var v_raw : array<vec4<u32>, 8>;
    var is_key : array<bool, 8>;
    for (var u : u32 = 0u; u < UNROLL; u += 1u) {
      var key : u32 = u32(key0) + u * (GROUP / LANES) + team;
      is_key[u] = i32(key) < end;
      if (HAS_MASK == 1u) {
        if (is_key[u]) { is_key[u] = k_element(mask[(batch * p.n_keys + key) >> ((2103828u >> (((10u) & 15u) * 2u)) & 3u)], 10u, batch * p.n_keys + key) != 0u; }
      }
      for (var t : u32 = 0u; t < K_VECS; t += 1u) {
        k_raw[u * K_VECS + t] = vec4<u32>(0u, 0u, 0u, 0u);
        if (is_key[u] && (lane + LANES * t) * select(8u, 4u, T_K == 0u) < p.d) {
          k_raw[u * K_VECS + t] = k[k_base + key * (p.k_place / select(8u, 4u, T_K == 0u)) + lane + LANES * t];
        }
      }
      for (var t : u32 = 0u; t < V_VECS; t += 1u) {
        v_raw[u * V_VECS + t] = vec4<u32>(0u, 0u, 0u, 0u);
        if (is_key[u] && (lane + LANES * t) * select(8u, 4u, T_V == 0u) < p.dv) {
          v_raw[u * V_VECS + t] = v[v_base + key * (p.v_place / select(8u, 4u, T_V == 0u)) + lane + LANES * t];
        }
      }
    }
    var s : array<f32, 16>;
    for (var i : u32 = 0u; i < (UNROLL * ROWS); i += 1u) { s[i] = 0.0f; }
    for (var t : u32 = 0u; t < K_VECS; t += 1u) {
      for (var f : u32 = 0u; f < select(2u, 1u, T_K == 0u); f += 1u) {
        var four : array<vec4<f32>, 8>;
        for (var u : u32 = 0u; u < UNROLL; u += 1u) {
          four[u] = k_four(k_raw[u * K_VECS + t], T_K, f);
        }
        for (var r : u32 = 0u; r < ROWS; r += 1u) {
          var a : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f);
          if (IN_REGS == 0u) { a = query[(r * select(2u, 1u, T_K == 0u) + f) * (LANES * K_VECS) + t * LANES + lane]; }
          for (var u : u32 = 0u; u < UNROLL; u += 1u) { s[r * UNROLL + u] = fma(a.x, four[u].x, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.y, four[u].y, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.z, four[u].z, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.w, four[u].w, s[r * UNROLL + u]); }
        }
      }
    }
    for (var i : u32 = 0u; i < (UNROLL * ROWS); i += 1u) { red[i * GROUP + k_lid.x] = s[i]; } workgroupBarrier(); for (var i : u32 = lane; i < (UNROLL * ROWS); i += LANES) { var sum : f32 = red[i * GROUP + team * LANES]; for (var m : u32 = 1u; m < LANES; m += 1u) { sum = sum + red[i * GROUP + team * LANES + m]; } red[(UNROLL * ROWS) * GROUP + team * (UNROLL * ROWS) + i] = sum; } workgroupBarrier(); for (var i : u32 = 0u; i < (UNROLL * ROWS); i += 1u) { s[i] = red[(UNROLL * ROWS) * GROUP + team * (UNROLL * ROWS) + i]; }
    for (var u : u32 = 0u; u < UNROLL; u += 1u) {
      var j : i32 = key0 + i32(u * (GROUP / LANES) + team);
      for (var r : u32 = 0u; r < ROWS; r += 1u) {
        s[r * UNROLL + u] = s[r * UNROLL + u] * p.scale; if (HAS_CAP == 1u) { s[r * UNROLL + u] = k_softcap(s[r * UNROLL + u], p.softcap); } if (HAS_BIAS == 1u) { s[r * UNROLL + u] = s[r * UNROLL + u] + bitcast<f32>(k_element(bias[(select(0u, bias_at[r] + u32(j) * p.bias_key, is_key[u])) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, select(0u, bias_at[r] + u32(j) * p.bias_key, is_key[u]))); }
        var seen : bool = is_key[u];
        if (CAUSAL == 1u) { seen = seen && ((j) <= (own[r]) && (p.window == 0u || (j) + i32(p.window) > (own[r]))); }
        s[r * UNROLL + u] = select(bitcast<f32>(p.hidden), s[r * UNROLL + u], seen);
      }
    }
    for (var r : u32 = 0u; r < ROWS; r += 1u) {
      var now : f32 = most[r];
      for (var u : u32 = 0u; u < UNROLL; u += 1u) { now = max(now, s[r * UNROLL + u]); }
      var shrink : f32 = exp(most[r] - now);
      most[r] = now;
      total[r] = total[r] * shrink;
      for (var i : u32 = 0u; i < (V_VECS * select(2u, 1u, T_V == 0u)); i += 1u) { acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].x = acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].x * (shrink); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].y = acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].y * (shrink); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].z = acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].z * (shrink); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].w = acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i].w * (shrink); }
      for (var u : u32 = 0u; u < UNROLL; u += 1u) {
        s[r * UNROLL + u] = exp(s[r * UNROLL + u] - now);
        total[r] = total[r] + s[r * UNROLL + u];
      }
    }
    for (var t : u32 = 0u; t < V_VECS; t += 1u) {
      for (var u : u32 = 0u; u < UNROLL; u += 1u) {
        for (var f : u32 = 0u; f < select(2u, 1u, T_V == 0u); f += 1u) {
          var four : vec4<f32> = k_four(v_raw[u * V_VECS + t], T_V, f);
          for (var r : u32 = 0u; r < ROWS; r += 1u) {
            if (CAREFUL == 0u || bitcast<u32>(s[r * UNROLL + u]) != 0u) { acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].x = fma(s[r * UNROLL + u], four.x, acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].x); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].y = fma(s[r * UNROLL + u], four.y, acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].y); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].z = fma(s[r * UNROLL + u], four.z, acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].z); acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].w = fma(s[r * UNROLL + u], four.w, acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + t * select(2u, 1u, T_V == 0u) + f].w); }
          }
        }
      }
    }
  }
  for (var r : u32 = 0u; r < ROWS; r += 1u) {
    workgroupBarrier();
    if (lane == 0u) {
      stat[team] = most[r];
      stat[(GROUP / LANES) + team] = total[r];
    }
    workgroupBarrier();
    var top : f32 = (-3.4028234e38f);
    for (var i : u32 = 0u; i < (GROUP / LANES); i += 1u) { top = max(top, stat[i]); }
    var shrink : f32 = exp(most[r] - top);
    for (var i : u32 = 0u; i < (V_VECS * select(2u, 1u, T_V == 0u)); i += 1u) {
      var part : vec4<f32> = acc[r * (V_VECS * select(2u, 1u, T_V == 0u)) + i];
      part.x = part.x * (shrink); part.y = part.y * (shrink); part.z = part.z * (shrink); part.w = part.w * (shrink);
      joined[(team * (V_VECS * select(2u, 1u, T_V == 0u)) + i) * LANES + lane] = part;
    }
    workgroupBarrier();
    var row : u32 = row0 + r;
    if (row < n_rows) {
      var to : u32 = split * (p.n_batch * n_rows * p.n_kv) + batch * n_rows * p.n_kv + (row / p.heads_per_kv) * p.y_place +
                     (head * p.heads_per_kv + row % p.heads_per_kv) * p.y_head;
      for (var i : u32 = k_lid.x; i < LANES * (V_VECS * select(2u, 1u, T_V == 0u)); i += GROUP) {
        var f : u32 = i / LANES;
        var col : u32 = (i % LANES + LANES * (f / select(2u, 1u, T_V == 0u))) * select(8u, 4u, T_V == 0u) + 4u * (f % select(2u, 1u, T_V == 0u));
        if (col < p.dv) {
          var sum : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f);
          for (var j : u32 = 0u; j < (GROUP / LANES); j += 1u) {
            var part : vec4<f32> = joined[(j * (V_VECS * select(2u, 1u, T_V == 0u)) + f) * LANES + i % LANES];
            sum = vec4<f32>(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
          }
          if (WHOLE == 1u) {
            var weights : f32 = 0.0f;
            for (var j : u32 = 0u; j < (GROUP / LANES); j += 1u) { weights = fma(stat[(GROUP / LANES) + j], exp(stat[j] - top), weights); }
            var k_by : f32 = select(1.0f / weights, 0.0f, weights == 0.0f);
            sum.x = sum.x * (k_by); sum.y = sum.y * (k_by); sum.z = sum.z * (k_by); sum.w = sum.w * (k_by);
          }
          if (WHOLE == 1u && T_Q != 0u) {
            y[(to * p.dv + col) >> 1u] = k_narrow_pair(sum.x, sum.y, T_Q);
            y[((to * p.dv + col) >> 1u) + 1u] = k_narrow_pair(sum.z, sum.w, T_Q);
          } else {
            y[to * p.dv + col] = bitcast<u32>(sum.x);
            y[to * p.dv + col + 1u] = bitcast<u32>(sum.y);
            y[to * p.dv + col + 2u] = bitcast<u32>(sum.z);
            y[to * p.dv + col + 3u] = bitcast<u32>(sum.w);
          }
        }
      }
      if (k_lid.x == 0u && WHOLE == 0u) {
        var sum : f32 = 0.0f;
        for (var i : u32 = 0u; i < (GROUP / LANES); i += 1u) { sum = fma(stat[(GROUP / LANES) + i], exp(stat[i] - top), sum); }
        y[p.stats + 2u * to] = bitcast<u32>(top);
        y[p.stats + 2u * to + 1u] = bitcast<u32>(sum);
      }
    }
  }
}
