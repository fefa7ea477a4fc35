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
@id(2) override T_Y : u32 = 0u;
@id(3) override HAS_SINKS : u32 = 0u;
struct Params { groups : u32,
  rows : u32,
  dv : u32,
  splits : u32,
  stats : u32,
  heads : u32,
  head_rows : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> parts : array<u32>;
@group(0) @binding(1) var<storage, read_write> sinks : array<u32>;
@group(0) @binding(2) var<storage, read_write> y : array<u32>;
var<workgroup> red : array<f32, GROUP>;
var<workgroup> share : array<f32, 256>;
var<workgroup> sums : array<f32, 2u * GROUP>;
@compute @workgroup_size(GROUP) fn attention_combine(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var row : u32 = (k_wid.y * k_wn.x + k_wid.x);
  var most : f32 = (-3.4028234e38f);
  var weight : f32 = 0.0f;
  if (k_lid.x < p.splits) {
    var at : u32 = p.stats + 2u * (k_lid.x * p.rows + row);
    most = bitcast<f32>(parts[at]);
    weight = bitcast<f32>(parts[at + 1u]);
  }
  var own : f32 = most;
  var sink : f32 = 0.0f;
  if (HAS_SINKS == 1u) {
    sink = bitcast<f32>(k_element(sinks[((row / p.head_rows) % p.heads) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (row / p.head_rows) % p.heads));
    most = max(most, sink);
  }
  workgroupBarrier(); red[k_lid.x] = most; workgroupBarrier(); for (var k_w : u32 = GROUP / 2u; k_w > 0u; k_w = k_w >> 1u) { if (k_lid.x < k_w) { red[k_lid.x] = max(red[k_lid.x], red[k_lid.x + k_w]); } workgroupBarrier(); } most = red[0];
  var shrink : f32 = exp(own - most);
  if (k_lid.x < p.splits) { share[k_lid.x] = shrink; }
  var total : f32 = weight * shrink;
  if (HAS_SINKS == 1u) {
    if (k_lid.x == 0u) { total = total + exp(sink - most); }
  }
  workgroupBarrier();
  workgroupBarrier(); red[k_lid.x] = total; workgroupBarrier(); for (var k_w : u32 = GROUP / 2u; k_w > 0u; k_w = k_w >> 1u) { if (k_lid.x < k_w) { red[k_lid.x] = ((red[k_lid.x]) + (red[k_lid.x + k_w])); } workgroupBarrier(); } total = red[0];
  var per : u32 = 1u << ((2103828u >> (((T_Y) & 15u) * 2u)) & 3u);
  var words : u32 = p.dv / per;
  var width : u32 = min(words, GROUP);
  var slices : u32 = GROUP / width;
  var slice : u32 = k_lid.x / width;
  for (var first : u32 = 0u; first < words; first += width) {
    var word : u32 = first + k_lid.x % width;
    var sum0 : f32 = 0.0f;
    var sum1 : f32 = 0.0f;
    if (word < words && slice < slices) {
      for (var s0 : u32 = slice; s0 < p.splits; s0 += 4u * slices) {
        var part0 : array<f32, 4>;
        var part1 : array<f32, 4>;
        for (var i : u32 = 0u; i < 4u; i += 1u) {
          var at : u32 = (min(s0 + i * slices, p.splits - 1u) * p.rows + row) * p.dv + word * per;
          part0[i] = bitcast<f32>(parts[at]);
          part1[i] = bitcast<f32>(parts[at + per - 1u]);
        }
        for (var i : u32 = 0u; i < 4u; i += 1u) {
          if (s0 + i * slices < p.splits) {
            sum0 = fma(part0[i], share[s0 + i * slices], sum0);
            sum1 = fma(part1[i], share[s0 + i * slices], sum1);
          }
        }
      }
    }
    workgroupBarrier();
    sums[k_lid.x] = sum0;
    sums[GROUP + k_lid.x] = sum1;
    workgroupBarrier();
    if (word < words && slice == 0u) {
      for (var i : u32 = 1u; i < slices; i += 1u) {
        sum0 = sum0 + sums[i * width + k_lid.x];
        sum1 = sum1 + sums[GROUP + i * width + k_lid.x];
      }
      var r : f32 = select(1.0f / total, 0.0f, total == 0.0f);
      var bits : u32 = bitcast<u32>(sum0 * r);
      if (per == 2u) { bits = k_narrow_pair(sum0 * r, sum1 * r, T_Y); }
      y[row * words + word] = bits;
    }
  }
}
