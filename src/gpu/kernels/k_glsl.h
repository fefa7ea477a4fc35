/* The GLSL prelude (Vulkan). docs/kernels.md explains each macro; the four preludes define the same ones. tools/kernels
 * writes the #version, the extensions and the group size before it. */
#define f32 float
#define u32 uint
#define i32 int
#define u32x2 uvec2
#define u32x4 uvec4
#define f32x4 vec4
#define U2 uvec2
#define U4 uvec4
#define F4 vec4
#define K_UNROLL [[unroll]]

#define PARAMS_BEGIN layout(push_constant) uniform Params { uint groups;
#define FIELD(T, n) T n;
#define PARAMS_END } p;
#define CONST(id, n, d) layout(constant_id = id) const uint n = d;
#define READS(i, n) layout(std430, set = 0, binding = i) readonly buffer K_Window##i { uint n[]; };
#define WRITES(i, n) layout(std430, set = 0, binding = i) buffer K_Window##i { uint n[]; };
#define READS4(i, n) layout(std430, set = 0, binding = i) readonly buffer K_Window##i { uvec4 n[]; };
#define WRITES4(i, n) layout(std430, set = 0, binding = i) buffer K_Window##i { uvec4 n[]; };
#define SHARED(T, n, N) shared T n[N];
#define ATOMICS(i, n) WRITES(i, n)

#define VAR(T, n) T n
#define PRECISE(T, n) precise T n
#define EXACT(T, n) precise T n
#define ARRAY(T, n, N) T n[N]
#define TABLE(T, n, N, ...) const T n[N] = T[N](__VA_ARGS__);
#ifdef K_FUNCTIONS /* functions are not inlined: `const` passes arguments as values, not through memory */
#define K_IN const
#else
#define K_IN
#endif
#define FN1(R, n, A, a) R n(K_IN A a)
#define FN2(R, n, A, a, B, b) R n(K_IN A a, K_IN B b)
#define FN3(R, n, A, a, B, b, C, c) R n(K_IN A a, K_IN B b, K_IN C c)
#define FN4(R, n, A, a, B, b, C, c, D, d) R n(K_IN A a, K_IN B b, K_IN C c, K_IN D d)
#define FN5(R, n, A, a, B, b, C, c, D, d, E, e) R n(K_IN A a, K_IN B b, K_IN C c, K_IN D d, K_IN E e)
#define KERNEL(n) void main() { if (WG >= p.groups) { return; }
#define EARLY(i)
#define KERNEL_EARLY(n) KERNEL(n)
#define ENTER
#define END }

#define GROUP gl_WorkGroupSize.x
#define LID gl_LocalInvocationID.x
#define WG (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define BARRIER barrier()
#define UNIFORM(shared_value) (shared_value)

#define LD(w, i) w[i]
#define ST(w, i, v) w[i] = v
#define LD4(w, i) w[i]
#define ST4(w, i, v) w[i] = v
#define ATOMIC_ADD(w, i, v) atomicAdd(w[i], v)
#define ATOMIC_MAX(w, i, v) atomicMax(w[i], v)
#define ATOMIC_LD(w, i) atomicAdd(w[i], 0u)
#define ATOMIC_ST(w, i, v) w[i] = v

#define AS_F32(u) uintBitsToFloat(u)
#define AS_U32(f) floatBitsToUint(f)
#define AS_F4(u) uintBitsToFloat(u)
#define AS_U4(f) floatBitsToUint(f)
#define SELECT(c, t, f) ((c) ? (t) : (f))
#define RSQRT(x) inversesqrt(x)
#define ROUND_EVEN(x) roundEven(x)
#define TRUNC(x) trunc(x)
#define F16LO(u) unpackHalf2x16(u).x
layout(constant_id = 97) const uint PACKS_F16 = 0u; /* GPU_CONSTANT_PACKS_F16 */
#define HALF_PAIR(a, b) packHalf2x16(vec2(a, b))
#define F16HI(u) unpackHalf2x16(u).y
#define MULHI(a, b) k_mulhi(a, b)
uint k_mulhi(uint a, uint b) { uint hi; uint lo; umulExtended(a, b, hi, lo); return hi; }
#define COUNT_ONES(u) uint(bitCount(u))
#define FIRST_ONE(u) uint(findMSB(u))
#define DOT4(a, b, c) k_dot4(a, b, c)
#ifdef K_DOT8
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int k_packed_dot(int a, int b, spirv_literal int format); /* OpSDot of PackedVectorFormat4x8Bit */
int k_dot4(uint a, uint b, int c) { return k_packed_dot(int(a), int(b), 0) + c; }
#else
int k_dot4(uint a, uint b, int c) {
  int s = bitfieldExtract(int(a), 0, 8) * bitfieldExtract(int(b), 0, 8) + c;
  s += bitfieldExtract(int(a), 8, 8) * bitfieldExtract(int(b), 8, 8);
  s += bitfieldExtract(int(a), 16, 8) * bitfieldExtract(int(b), 16, 8);
  return s + bitfieldExtract(int(a), 24, 8) * bitfieldExtract(int(b), 24, 8);
}
#endif
#ifdef K_SUBGROUP
#define SG_SIZE gl_SubgroupSize
#define SG_LANE gl_SubgroupInvocationID
#define SG_INDEX gl_SubgroupID
#define SG_ADD(x) subgroupAdd(x)
#define SG_MAX(x) subgroupMax(x)
#define SG_MIN(x) subgroupMin(x)
#define SG_FROM(x, lane) subgroupShuffle(x, lane)
#define SG_XOR(x, mask) subgroupShuffleXor(x, mask)
#endif
