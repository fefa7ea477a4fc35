/* The WGSL prelude (WebGPU). The strictest of the four: no ternary, no pointers, no implicit conversion, and barriers
 * only in provably uniform control flow. */
#define u32x2 vec2<u32>
#define u32x4 vec4<u32>
#define f32x4 vec4<f32>
#define U2 vec2<u32>
#define U4 vec4<u32>
#define F4 vec4<f32>
#define K_UNROLL

#define PARAMS_BEGIN struct Params { groups : u32,
#define FIELD(T, n) n : T,
#define PARAMS_END }; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
#define CONST(i, n, d) @id(i) override n : u32 = d##u;
#define READS(i, n) @group(0) @binding(i) var<storage, read_write> n : array<u32>;
#define WRITES(i, n) @group(0) @binding(i) var<storage, read_write> n : array<u32>;
#define READS4(i, n) @group(0) @binding(i) var<storage, read_write> n : array<vec4<u32>>;
#define WRITES4(i, n) @group(0) @binding(i) var<storage, read_write> n : array<vec4<u32>>;
#define ATOMICS(i, n) @group(0) @binding(i) var<storage, read_write> n : array<atomic<u32>>;
#define SHARED(T, n, N) var<workgroup> n : array<T, N>;

#define VAR(T, n) var n : T
#define PRECISE(T, n) var n : T
#define EXACT(T, n) var n : T
#define ARRAY(T, n, N) var n : array<T, N>
#define TABLE(T, n, N, ...) const n = array<T, N>(__VA_ARGS__);
#define FN1(R, n, A, a) fn n(a : A) -> R
#define FN2(R, n, A, a, B, b) fn n(a : A, b : B) -> R
#define FN3(R, n, A, a, B, b, C, c) fn n(a : A, b : B, c : C) -> R
#define FN4(R, n, A, a, B, b, C, c, D, d) fn n(a : A, b : B, c : C, d : D) -> R
#define FN5(R, n, A, a, B, b, C, c, D, d, E, e) fn n(a : A, b : B, c : C, d : D, e : E) -> R
#ifdef K_SUBGROUP
#define KERNEL(n) @compute @workgroup_size(GROUP) fn n(@builtin(local_invocation_id) k_lid : vec3<u32>, \
  @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>, \
  @builtin(subgroup_size) k_sg_size : u32, @builtin(subgroup_invocation_id) k_sg_lane : u32, \
  @builtin(subgroup_id) k_sg_index : u32) { if (WG >= p.groups) { return; }
#define SG_SIZE k_sg_size
#define SG_LANE k_sg_lane
#define SG_INDEX k_sg_index
#define SG_ADD(x) subgroupAdd(x)
#define SG_MAX(x) subgroupMax(x)
#define SG_MIN(x) subgroupMin(x)
#define SG_FROM(x, lane) subgroupShuffle(x, lane)
#define SG_XOR(x, mask) subgroupShuffleXor(x, mask)
#else
#define KERNEL(n) @compute @workgroup_size(GROUP) fn n(@builtin(local_invocation_id) k_lid : vec3<u32>, \
  @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if (WG >= p.groups) { return; }
#endif
#define EARLY(i)
#define KERNEL_EARLY(n) KERNEL(n)
#define ENTER
#define END }

#define LID k_lid.x
#define WG (k_wid.y * k_wn.x + k_wid.x)
#define BARRIER workgroupBarrier()
#define UNIFORM(shared_value) workgroupUniformLoad(&shared_value)

#define LD(w, i) w[i]
#define ST(w, i, v) w[i] = v
#define LD4(w, i) w[i]
#define ST4(w, i, v) w[i] = v
#define ATOMIC_ADD(w, i, v) atomicAdd(&w[i], v)
#define ATOMIC_MAX(w, i, v) atomicMax(&w[i], v)
#define ATOMIC_LD(w, i) atomicLoad(&w[i])
#define ATOMIC_ST(w, i, v) atomicStore(&w[i], v)

#define AS_F32(u) bitcast<f32>(u)
#define AS_U32(f) bitcast<u32>(f)
#define AS_F4(u) bitcast<vec4<f32>>(u)
#define AS_U4(f) bitcast<vec4<u32>>(f)
#define SELECT(c, t, f) select(f, t, c)
#define RSQRT(x) inverseSqrt(x)
#define ROUND_EVEN(x) round(x)
#define TRUNC(x) trunc(x)
#define F16LO(u) unpack2x16float(u).x
#define PACKS_F16 0u
#define HALF_PAIR(a, b) 0u
#define F16HI(u) unpack2x16float(u).y
#define MULHI(a, b) k_mulhi(a, b)
fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
#define COUNT_ONES(u) countOneBits(u)
#define FIRST_ONE(u) firstLeadingBit(u)
#define DOT4(a, b, c) (dot4I8Packed(a, b) + (c))
