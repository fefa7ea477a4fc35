/* A prelude of the kernel dialect for kernels on matrix units: with it a C++ compiler compiles a NAME.matrix.k that
 * uses cooperative matrices, to run it on the host. No device here has matrix units, and no software driver has them
 * either.
 *
 * Invocations are coroutines with their own stacks, so barriers are real: an invocation that misses one hangs the
 * others, one that does not wait reads poison. ucontext begins them; _setjmp and _longjmp switch, which make no system
 * calls: there are millions of switches. Windows and shared memory are checked at every access. A 16 x
 * 16 matrix is distributed over 32 invocations, eight elements each. The mapping is up to the driver, so it is one of
 * four (`element_layout`), each of which selects another path of the kernel. Products are exact sums in f32, at least
 * as accurate as matrix units.
 *
 * Before this file: COOP_BF16, if the kernel's f16 stands for bf16 (BFLOAT16). After it: the kernel; then run_group. */
#ifndef RLX_TESTS_COOP_K_COOP_H
#define RLX_TESTS_COOP_K_COOP_H

#undef _FORTIFY_SOURCE /* it takes a jump to another stack for an error */
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef float f32;
typedef uint32_t u32;
typedef int32_t i32;

[[noreturn]] static void die(const char *what, size_t at, size_t of) {
  printf("%s: %zu of %zu\n", what, at, of);
  exit(1);
}

/* ---- scalars and vectors ---- */

template <class T> struct four {
  T x, y, z, w;
  T &operator[](u32 i) { return (&x)[i]; }
};
typedef four<u32> u32x4;
typedef four<f32> f32x4;
struct u32x2 {
  u32 x, y;
};

template <class To, class From> static To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
static inline u32 AS_U32(f32 f) { return bits_as<u32>(f); }
static inline f32 AS_F32(u32 u) { return bits_as<f32>(u); }
static inline u32x4 AS_U4(f32x4 f) { return bits_as<u32x4>(f); }
static inline f32x4 AS_F4(u32x4 u) { return bits_as<f32x4>(u); }
static inline u32x2 U2(u32 a, u32 b) { return {a, b}; }
static inline u32x4 U4(u32 a, u32 b, u32 c, u32 d) { return {a, b, c, d}; }
static inline f32x4 F4(f32 a, f32 b, f32 c, f32 d) { return {a, b, c, d}; }
/* Operators that GLSL has. */
static inline f32x4 operator*(f32x4 a, f32 s) { return {a.x * s, a.y * s, a.z * s, a.w * s}; }
static inline f32x4 operator-(f32x4 a, f32x4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
#define PACKS_F16 0u
#define HALF_PAIR(a, b) 0u
static inline f32 F16LO(u32 w) { return (f32)bits_as<_Float16>((uint16_t)(w & 0xffffu)); }
static inline f32 F16HI(u32 w) { return (f32)bits_as<_Float16>((uint16_t)(w >> 16)); }

/* The kernel's f16 or bf16: an element of the left and right matrices. */
struct float16_t {
  uint16_t bits;
  float16_t() = default;
#ifdef COOP_BF16
  explicit float16_t(f32 f) {
    u32 b = AS_U32(f);
    bool is_nan = (b & 0x7fffffffu) > 0x7f800000u;
    bits = (uint16_t)(is_nan ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
  explicit operator f32() const { return AS_F32((u32)bits << 16); }
#else
  explicit float16_t(f32 f) : bits(bits_as<uint16_t>((_Float16)f)) {}
  explicit operator f32() const { return (f32)bits_as<_Float16>(bits); }
#endif
};
static inline float16_t operator-(float16_t a) { return float16_t(-(f32)a); }
struct f16vec2 {
  float16_t x, y;
  f16vec2() = default;
  f16vec2(f32 a, f32 b) : x(a), y(b) {}
  f16vec2(float16_t a, float16_t b) : x(a), y(b) {}
};
static inline u32 packFloat2x16(f16vec2 v) { return v.x.bits | (u32)v.y.bits << 16; }
static inline f16vec2 unpackFloat2x16(u32 w) { return bits_as<f16vec2>(w); }
static inline f16vec2 operator+(f16vec2 a, f16vec2 b) { return {(f32)a.x + (f32)b.x, (f32)a.y + (f32)b.y}; }
static inline f16vec2 operator*(f16vec2 a, f16vec2 b) { return {(f32)a.x * (f32)b.x, (f32)a.y * (f32)b.y}; }
static inline f16vec2 fma(f16vec2 a, f16vec2 b, f16vec2 c) {
  return {(f32)a.x * (f32)b.x + (f32)c.x, (f32)a.y * (f32)b.y + (f32)c.y};
}
static inline float16_t element_of(u32 word, u32 which) { return bits_as<float16_t>((uint16_t)(word >> 16 * which)); }

#define SCALAR_FUNCTIONS(T)                               \
  static inline T max(T a, T b) { return b > a ? b : a; } \
  static inline T min(T a, T b) { return b < a ? b : a; } \
  static inline T clamp(T v, T lo, T hi) { return min(max(v, lo), hi); }
SCALAR_FUNCTIONS(f32)
SCALAR_FUNCTIONS(u32)
SCALAR_FUNCTIONS(i32)
using std::abs;
using std::ceil;
using std::exp;
using std::exp2;
using std::floor;
using std::fma;
using std::sqrt;
using std::trunc;
#define ROUND_EVEN(x) rintf(x)
#define TRUNC(x) truncf(x)
#define RSQRT(x) (1.0f / sqrtf(x))
static inline u32 FIRST_ONE(u32 u) { return 31u - (u32)__builtin_clz(u | 1u); }
static inline u32 MULHI(u32 a, u32 b) { return (u32)((uint64_t)a * b >> 32); }
static inline u32 COUNT_ONES(u32 u) { return (u32)__builtin_popcount(u); }

/* ---- the dialect ---- */

#define SELECT(c, t, f) ((c) ? (t) : (f))
#define VAR(T, n) T n
#define EXACT(T, n) T n
#define PRECISE(T, n) T n
#define ARRAY(T, n, N) T n[N]
#define TABLE(T, n, N, ...) static const T n[N] = {__VA_ARGS__};
#define FN1(R, n, A, a) static inline R n(A a)
#define FN2(R, n, A, a, B, b) static inline R n(A a, B b)
#define FN3(R, n, A, a, B, b, C, c) static inline R n(A a, B b, C c)
#define FN4(R, n, A, a, B, b, C, c, D, d) static inline R n(A a, B b, C c, D d)
#define FN5(R, n, A, a, B, b, C, c, D, d, E, e) static inline R n(A a, B b, C c, D d, E e)
#define K_UNROLL
#define EXTENSION(x)
#define TARGET(x)
#define VARIANT(x)
#define BFLOAT16
#define CONST(i, n, d) static u32 n = d;
#define PARAMS_BEGIN  \
  struct parameters { \
    u32 groups;
#define FIELD(T, n) T n;
#define PARAMS_END \
  }                \
  ;                \
  static parameters p;
#define KERNEL(n)             \
  static void kernel_main() { \
    if (WG >= p.groups) return;
#define EARLY(i)
#define KERNEL_EARLY(n) KERNEL(n)
#define ENTER
#define END }

template <class T> struct window {
  std::vector<u32> words;
  static constexpr size_t N = sizeof(T) / 4;
  T get(size_t i) {
    if ((i + 1) * N > words.size()) die("read outside a window", i, words.size() / N);
    T t;
    memcpy(&t, &words[i * N], sizeof t);
    return t;
  }
  void put(size_t i, T t) {
    if ((i + 1) * N > words.size()) die("written outside a window", i, words.size() / N);
    memcpy(&words[i * N], &t, sizeof t);
  }
};
#define READS(i, n) static window<u32> n;
#define READS4(i, n) static window<u32x4> n;
#define WRITES(i, n) static window<u32> n;
#define WRITES4(i, n) static window<u32x4> n;
#define LD(w, i) (w).get(i)
#define ST(w, i, v) (w).put(i, v)
#define LD4(w, i) (w).get(i)
#define ST4(w, i, v) (w).put(i, v)

/* Allocated and poisoned when a group begins, since sizes depend on constants. */
struct shared_array {
  static std::vector<shared_array *> &all() {
    static std::vector<shared_array *> arrays;
    return arrays;
  }
  shared_array() { all().push_back(this); }
  virtual void begin() = 0;
  virtual ~shared_array() = default;
};
template <class T, class Size> struct shared_of : shared_array {
  std::vector<T> v;
  Size size;
  explicit shared_of(Size s) : size(s) {}
  void begin() override {
    v.resize(size());
    memset((void *)v.data(), 0xa5, v.size() * sizeof(T));
  }
  T &operator[](size_t i) {
    if (i >= v.size()) die("outside shared memory", i, v.size());
    return v[i];
  }
};
template <class T, class Size> static shared_of<T, Size> shared_make(Size s) { return shared_of<T, Size>(s); }
#define SHARED(T, n, N) static auto n = shared_make<T>([] { return (size_t)(N); });

/* ---- invocations ---- */

enum { MAX_INVOCATIONS = 512, STACK = 256 * 1024 };
static struct {
  ucontext_t start;
  jmp_buf at;
  std::vector<char> stack;
  bool has_begun, is_done;
  const u32 *turn; /* of the barrier where it waits; it continues when that is no longer `mine` */
  u32 mine;
} invocations[MAX_INVOCATIONS];
static jmp_buf scheduler;
static u32 current, group_size, group_number;
static uint64_t progress; /* counts arrivals: a round without any is a deadlock */

static void to_scheduler() {
  if (!_setjmp(invocations[current].at)) _longjmp(scheduler, 1);
}

static void resume(u32 i) {
  if (_setjmp(scheduler)) return;
  current = i;
  if (invocations[i].has_begun) _longjmp(invocations[i].at, 1);
  invocations[i].has_begun = true;
  setcontext(&invocations[i].start);
}

static void wait_while(const u32 &turn, u32 mine) {
  if (turn == mine) {
    invocations[current].turn = &turn;
    invocations[current].mine = mine;
    to_scheduler();
  }
  progress++;
}

struct barrier {
  u32 n_here = 0, turn = 0;
  void wait(u32 n) {
    u32 mine = turn;
    progress++;
    if (++n_here == n) {
      n_here = 0;
      turn++;
      return;
    }
    wait_while(turn, mine);
  }
};
static barrier group_barrier, subgroup_barriers[MAX_INVOCATIONS / 32];
static void subgroupBarrier() { subgroup_barriers[current / 32].wait(32); }

#define GROUP group_size
#define LID current
#define WG group_number
#define BARRIER group_barrier.wait(group_size)
#define UNIFORM(shared_value) (shared_value)
#define gl_SubgroupID (current / 32u)
#define gl_SubgroupInvocationID (current % 32u)

static u32 exchanged[MAX_INVOCATIONS];
static inline u32 subgroupShuffleXor(u32 v, u32 mask) {
  exchanged[current] = v;
  subgroupBarrier();
  u32 other = exchanged[current ^ mask];
  subgroupBarrier();
  return other;
}
static inline f32 subgroupShuffleXor(f32 v, u32 mask) { return AS_F32(subgroupShuffleXor(AS_U32(v), mask)); }
static inline bool subgroupAll(bool v) {
  exchanged[current] = v;
  subgroupBarrier();
  bool all = true;
  for (u32 i = 0; i < 32; i++) all = all && exchanged[current / 32 * 32 + i];
  subgroupBarrier();
  return all;
}
static inline u32 subgroupMax(u32 v) {
  for (u32 mask = 1; mask < 32; mask *= 2) v = max(v, subgroupShuffleXor(v, mask));
  return v;
}
static inline bool subgroupAny(bool v) { return !subgroupAll(!v); }
static inline void atomicOr(u32 &to, u32 v) { to |= v; }
static inline void atomicMax(u32 &to, u32 v) { to = v > to ? v : to; }

static void kernel_main();
static void invocation_main() {
  kernel_main();
  invocations[current].is_done = true;
  to_scheduler();
}

static void run_group(u32 number, u32 size) {
  group_number = number;
  group_size = size;
  for (shared_array *a : shared_array::all()) a->begin();
  for (u32 i = 0; i < size; i++) {
    auto &f = invocations[i];
    f.stack.resize(STACK);
    f.has_begun = f.is_done = false;
    f.turn = NULL;
    getcontext(&f.start);
    f.start.uc_stack.ss_sp = f.stack.data();
    f.start.uc_stack.ss_size = f.stack.size();
    f.start.uc_link = NULL;
    makecontext(&f.start, invocation_main, 0);
  }
  for (u32 done = 0; done < size;) {
    uint64_t before = progress + done;
    done = 0;
    for (u32 i = 0; i < size; i++) {
      auto &f = invocations[i];
      if (!f.is_done && !(f.turn && *f.turn == f.mine)) {
        f.turn = NULL;
        resume(i);
      }
      done += f.is_done;
    }
    if (progress + done == before) die("invocations wait for others that do not come: ended", done, size);
  }
}

#ifdef COOP_CUDA
/* ---- matrices as CUDA has them: the kernels' own code over two emulated instructions ---- */

#define K_MATRIX 1
#define K_DEVICE static inline
#define K_MEMBER
#ifdef COOP_HOPPER
#include "k_hopper.h"
#endif

/* What an instruction of a subgroup exchanges: words by invocation. */
static u32 exchanged_words[MAX_INVOCATIONS][8];
static const u32x4 *exchanged_rows[MAX_INVOCATIONS];

static inline void k_load_matrices(const u32x4 *row, bool transposed, u32 w[4]) {
  const u32 first = current / 32 * 32, g = current % 32 / 4, t = current % 4;
  exchanged_rows[current] = row;
  subgroupBarrier();
  for (u32 m = 0; m < 4; m++) {
    uint16_t pair[2];
    for (u32 i = 0; i < 2; i++) {
      const u32 line = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
      memcpy(&pair[i], (const char *)exchanged_rows[first + 8 * m + line] + 2 * column, 2);
    }
    w[m] = pair[0] | (u32)pair[1] << 16;
  }
  subgroupBarrier();
}

static inline void k_multiply(const u32 a[4], u32 b0, u32 b1, f32 &c0, f32 &c1, f32 &c2, f32 &c3) {
  const u32 first = current / 32 * 32, g = current % 32 / 4, t = current % 4;
  f32 *sums[2][2] = {{&c0, &c1}, {&c2, &c3}};
  memcpy(exchanged_words[current], a, 16);
  exchanged_words[current][4] = b0;
  exchanged_words[current][5] = b1;
  subgroupBarrier();
  for (u32 lower = 0; lower < 2; lower++)
    for (u32 j = 0; j < 2; j++)
      for (u32 k = 0; k < 16; k++) {
        /* row g + 8 lower of a, column 2 t + j of b */
        const u32 left = exchanged_words[first + 4 * g + k % 8 / 2][lower + 2 * (k / 8)];
        const u32 right = exchanged_words[first + 4 * (2 * t + j) + k % 8 / 2][4 + k / 8];
        *sums[lower][j] += (f32)element_of(left, k % 2) * (f32)element_of(right, k % 2);
      }
  subgroupBarrier();
}
#define K_STORE_PAIR(vector, i, a, b) ((vector)[i] = AS_U32(a), (vector)[(i) + 1] = AS_U32(b))
#include "matrices.h"
static u32 element_layout; /* has no effect */
#else
/* ---- matrices ---- */

enum { gl_MatrixUseA, gl_MatrixUseB, gl_MatrixUseAccumulator, gl_ScopeSubgroup };
enum { gl_CooperativeMatrixLayoutRowMajor, gl_CooperativeMatrixLayoutColumnMajor };

/* Groups of four invocations hold two rows: 0 ordered by columns, 1 by rows, 2 left matrices unlike accumulators; 3:
 * none of these. */
static u32 element_layout;

struct place {
  u32 row, column;
};
static place place_of(int use, u32 i) {
  u32 lane = current % 32;
  if (element_layout == 3) {
    u32 e = lane * 8 + i;
    return use == gl_MatrixUseA ? place{e / 16, e % 16} : place{e % 16, e / 16};
  }
  bool rows_first = element_layout == 1 || (element_layout == 2 && use == gl_MatrixUseA);
  u32 lower = rows_first ? i >> 2 : i >> 1 & 1, right = rows_first ? i >> 1 & 1 : i >> 2;
  place at = {lane / 4 + 8 * lower, 2 * (lane % 4) + (i & 1) + 8 * right};
  return use == gl_MatrixUseB ? place{at.column, at.row} : at;
}

template <class T, int Scope, int Rows, int Columns, int Use> struct coopmat {
  T e[8];
  coopmat() { memset((void *)e, 0xa5, sizeof e); }
  explicit coopmat(f32 f) {
    for (T &x : e) x = T(f);
  }
  T &operator[](u32 i) {
    if (i >= 8) die("an element of a matrix", i, 8);
    return e[i];
  }
  int length() const { return 8; }
};
typedef coopmat<f32, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums_matrix;
template <int Use> using half_matrix = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, Use>;

static inline sums_matrix operator+(sums_matrix a, const sums_matrix &b) {
  for (u32 i = 0; i < 8; i++) a.e[i] += b.e[i];
  return a;
}

/* The position of element i of a matrix in an array of vectors: the vector, and the index in it. */
struct spot {
  size_t vector;
  u32 element;
};
static spot spot_of(int use, u32 i, u32 first, u32 stride, int layout, u32 per_vector) {
  place at = place_of(use, i);
  bool by_rows = layout == gl_CooperativeMatrixLayoutRowMajor;
  u32 line = by_rows ? at.row : at.column, along = by_rows ? at.column : at.row;
  return {first + (size_t)line * stride + along / per_vector, along % per_vector};
}

template <int Use, class Array>
static void coopMatLoad(half_matrix<Use> &m, Array &from, u32 first, u32 stride, int layout) {
  subgroupBarrier();
  for (u32 i = 0; i < 8; i++) {
    spot s = spot_of(Use, i, first, stride, layout, 8);
    m.e[i] = element_of(from[s.vector][s.element / 2], s.element % 2);
  }
  subgroupBarrier();
}
template <class Array> static void coopMatLoad(sums_matrix &m, Array &from, u32 first, u32 stride, int layout) {
  subgroupBarrier();
  for (u32 i = 0; i < 8; i++) {
    spot s = spot_of(gl_MatrixUseAccumulator, i, first, stride, layout, 4);
    m.e[i] = AS_F32(from[s.vector][s.element]);
  }
  subgroupBarrier();
}
template <class Array> static void coopMatStore(const sums_matrix &m, Array &to, u32 first, u32 stride, int layout) {
  subgroupBarrier();
  for (u32 i = 0; i < 8; i++) {
    spot s = spot_of(gl_MatrixUseAccumulator, i, first, stride, layout, 4);
    to[s.vector][s.element] = AS_U32(m.e[i]);
  }
  subgroupBarrier();
}

static f32 left_now[MAX_INVOCATIONS / 32][16][16], right_now[MAX_INVOCATIONS / 32][16][16];
static sums_matrix coopMatMulAdd(const half_matrix<gl_MatrixUseA> &a, const half_matrix<gl_MatrixUseB> &b,
                                 sums_matrix c) {
  auto &left = left_now[current / 32], &right = right_now[current / 32];
  for (u32 i = 0; i < 8; i++) {
    place l = place_of(gl_MatrixUseA, i), r = place_of(gl_MatrixUseB, i);
    left[l.row][l.column] = (f32)a.e[i];
    right[r.row][r.column] = (f32)b.e[i];
  }
  subgroupBarrier();
  for (u32 i = 0; i < 8; i++) {
    place at = place_of(gl_MatrixUseAccumulator, i);
    for (u32 k = 0; k < 16; k++) c.e[i] += left[at.row][k] * right[k][at.column];
  }
  subgroupBarrier();
  return c;
}

#endif

#endif
