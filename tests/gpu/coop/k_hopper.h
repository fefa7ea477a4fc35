/* The words of src/gpu/kernels/k_cuda_hopper.h on the host, for k_coop.h: what NAME.hopper.k need.
 *
 * Shared memory exists twice: as ordinary accesses see it, and as products see it. k_shared_to_products copies what an
 * invocation has written from the first to the second, so a product reads poison where that is missing. A copy poisons
 * its destination at once and arrives with the wait.
 *
 * A product is computed either when it is issued or when it is waited for (`products_late`), and its sums are poison
 * until then: so buffers and registers that are overwritten too early show in the first case or in the second. It reads
 * shared memory by decoding the descriptions of its factors, from the format in NVIDIA's PTX manual ("Matrix Descriptor
 * Format", "Strides", "128-Byte swizzle mode") and not with the code that makes them. */
#ifndef RLX_TESTS_COOP_K_HOPPER_H
#define RLX_TESTS_COOP_K_HOPPER_H

#include <memory>

typedef uint64_t u64;
#include "factors.h" /* the kernels' own */
#define SG_LANE (current % 32u)
#define K_UNROLL4
#define K_UNROLL8
static inline u32 SG_FROM(u32 x, u32 lane) {
  exchanged[current] = x;
  subgroupBarrier();
  u32 other = exchanged[current / 32 * 32 + lane];
  subgroupBarrier();
  return other;
}

/* ---- shared memory ---- */

enum { DYNAMIC_BASE = 0x410, DYNAMIC_MAX = 228 * 1024 };
static u32 dynamic_bytes; /* of the launch */
static unsigned char dynamic_memory[DYNAMIC_MAX], dynamic_view[DYNAMIC_MAX];
static std::vector<u32> written[MAX_INVOCATIONS]; /* offsets of 16 bytes that products do not see yet */

static u32 dynamic_offset(u32 address, const char *what) {
  if (address < DYNAMIC_BASE || address + 16 > DYNAMIC_BASE + dynamic_bytes || address % 16)
    die(what, address, DYNAMIC_BASE + dynamic_bytes);
  return address - DYNAMIC_BASE;
}
static inline u32 k_dynamic_address() { return (DYNAMIC_BASE + 1023u) & ~1023u; }
static inline void k_shared_put(u32 at, u32x4 x) {
  u32 to = dynamic_offset(at, "shared memory written");
  memcpy(dynamic_memory + to, &x, 16);
  written[current].push_back(to);
}
static inline void k_shared_put_word(u32 at, u32 x) {
  u32 to = dynamic_offset(at & ~15u, "shared memory written");
  memcpy(dynamic_memory + to + at % 16, &x, 4);
  written[current].push_back(to);
}
static inline u32x4 k_shared_get(u32 at) {
  u32x4 x;
  memcpy(&x, dynamic_memory + dynamic_offset(at, "shared memory read"), 16);
  return x;
}
static inline u32 k_shared_get_word(u32 at) { return k_shared_get(at & ~15u)[at % 16 / 4]; }
static inline u32x2 k_shared_get_two(u32 at) {
  if (at % 8) die("eight bytes of shared memory", at, 8);
  return U2(k_shared_get_word(at), k_shared_get_word(at + 4));
}
static inline void k_shared_to_products() {
  for (u32 at : written[current]) memcpy(dynamic_view + at, dynamic_memory + at, 16);
  written[current].clear();
}

/* ---- copies ---- */

struct pending_copy {
  u32 to, batch;
  u32x4 x;
};
static std::vector<pending_copy> copies[MAX_INVOCATIONS];
static u32 copy_batch[MAX_INVOCATIONS];

#define K_COPY4(to, w, i, there) copy_vector(to, (there) ? (w).get(i) : u32x4{0, 0, 0, 0})
static inline void copy_vector(u32 to, u32x4 x) {
  u32 at = dynamic_offset(to, "copied to shared memory");
  memset(dynamic_memory + at, 0xa5, 16);
  memset(dynamic_view + at, 0xa5, 16);
  copies[current].push_back({at, copy_batch[current], x});
}
static inline void k_copies_commit() { copy_batch[current]++; }
template <int N> static void k_copies_wait() {
  std::vector<pending_copy> left;
  for (const pending_copy &c : copies[current]) {
    if (c.batch + N >= copy_batch[current]) {
      left.push_back(c);
      continue;
    }
    memcpy(dynamic_memory + c.to, &c.x, 16);
    written[current].push_back(c.to);
  }
  copies[current] = left;
}

/* ---- barriers ---- */

struct named_barrier {
  u32 n_here = 0, n = 0, turn = 0;
  void arrive(u32 count) {
    if (n_here && n != count) die("a barrier with two counts", n, count);
    n = count;
    progress++;
    if (++n_here == n) n_here = 0, turn++;
  }
  void wait(u32 count) {
    u32 mine = turn;
    arrive(count);
    wait_while(turn, mine);
  }
};
static named_barrier named[16];
static named_barrier &named_at(u32 id) {
  if (id < 1 || id > 15) die("a barrier", id, 16);
  return named[id];
}
static inline void k_barrier_wait(u32 id, u32 n) { named_at(id).wait(n); }
static inline void k_barrier_arrive(u32 id, u32 n) { named_at(id).arrive(n); }
template <int N> static void k_registers_more() {}
template <int N> static void k_registers_fewer() {}

/* ---- products ---- */

struct factor {
  u32 address, leading, stride, mode;
};
static factor decode(u64 d) {
  factor f = {(u32)(d & 0x3fff) << 4, (u32)(d >> 16 & 0x3fff) << 4, (u32)(d >> 32 & 0x3fff) << 4, (u32)(d >> 62)};
  if (f.mode != 1) die("expected 128-byte swizzle: mode", f.mode, 1);
  if (d & ~(0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 3ull << 62)) die("bits that must be 0", (size_t)d, 0);
  return f;
}
/* Element (mn, k): k of 16; mn is a row of the left factor or a column of the right one. `by_mn`: neighbours along mn
 * are neighbours in memory. Bits 4 to 6 of an address are combined with bits 7 to 9. */
static f32 factor_element(const factor &f, u32 mn, u32 k, bool by_mn) {
  u32 at = by_mn ? f.address + mn / 64 * f.leading + k / 8 * f.stride + k % 8 * 128 + mn % 64 * 2
                 : f.address + mn / 8 * f.stride + mn % 8 * 128 + k * 2;
  at ^= (at >> 7 & 7) << 4;
  uint16_t bits;
  memcpy(&bits, dynamic_view + dynamic_offset(at & ~15u, "a factor read") + at % 16, 2);
  return (f32)bits_as<float16_t>(bits);
}

typedef std::shared_ptr<std::vector<f32>> product_sums;
struct pending_product {
  u32 batch;
  f32 *d;
  product_sums from, sums; /* from: given, or those of the product before on the same d */
  u64 left, right;
  const u32 *registers; /* or NULL: the left factor is in shared memory */
  bool by_n;
};
static std::vector<pending_product> products[MAX_INVOCATIONS];
static u32 product_batch[MAX_INVOCATIONS];
static bool products_begun[MAX_INVOCATIONS], products_late;
static const u32 *left_words[MAX_INVOCATIONS];

/* All invocations of a warp come here together, for the same product. */
static void compute_product(const pending_product &m) {
  u32 warp = current / 32 * 32, g = current % 32 / 4, t = current % 4;
  factor right = decode(m.right), left = m.registers ? factor{} : decode(m.left);
  left_words[current] = m.registers;
  subgroupBarrier();
  f32 a[2][16];
  for (u32 h = 0; h < 2; h++)
    for (u32 k = 0; k < 16; k++) {
      u32 row = current % 128 / 32 * 16 + g + 8 * h;
      /* registers: rows g and g + 8 of k 0 to 7, then of k 8 to 15 */
      a[h][k] = m.registers ? (f32)element_of(left_words[warp + 4 * g + k % 8 / 2][h + k / 8 * 2], k % 2)
                            : factor_element(left, row, k, false);
    }
  subgroupBarrier();
  std::vector<f32> &sums = *m.sums;
  sums = *m.from;
  for (u32 e = 0; e < sums.size(); e += 4)
    for (u32 i = 0; i < 2; i++)
      for (u32 k = 0; k < 16; k++) {
        f32 b = factor_element(right, 2 * e + 2 * t + i, k, m.by_n);
        sums[e + i] += a[0][k] * b, sums[e + 2 + i] += a[1][k] * b;
      }
}

[[maybe_unused]] static void issue(f32 *d, u32 n, u64 left, const u32 *registers, u64 right, bool add, bool by_n) {
  if (!products_begun[current]) die("a product before k_products_begin, invocation", current, group_size);
  std::vector<pending_product> &all = products[current];
  product_sums from;
  for (const pending_product &m : all)
    if (m.d == d) from = m.sums;
  if (!add) from = std::make_shared<std::vector<f32>>(n, 0.0f);
  else if (!from) from = std::make_shared<std::vector<f32>>(d, d + n);
  for (u32 i = 0; i < n; i++) d[i] = NAN; /* until the wait */
  all.push_back({product_batch[current], d, from, std::make_shared<std::vector<f32>>(), left, right, registers, by_n});
  if (!products_late) compute_product(all.back());
}
template <int N, bool BY_N> struct k_wide {
  static void both_shared(f32 (&d)[N / 2], u64 a, u64 b, bool add) { issue(d, N / 2, a, NULL, b, add, BY_N); }
  static void left_in_registers(f32 (&d)[N / 2], const u32 (&a)[4], u64 b, bool add) {
    issue(d, N / 2, 0, a, b, add, BY_N);
  }
};

static inline void k_products_begin() { products_begun[current] = true; }
static inline void k_products_end() { product_batch[current]++; }
template <int N> static void k_products_wait() {
  std::vector<pending_product> &all = products[current];
  products_begun[current] = false;
  while (!all.empty() && all[0].batch + N < product_batch[current]) {
    if (products_late) compute_product(all[0]);
    for (size_t i = 0; i < all[0].sums->size(); i++) all[0].d[i] = (*all[0].sums)[i];
    all.erase(all.begin());
  }
}
template <size_t N> static void k_products_done(f32 (&d)[N]) { (void)d; }
static inline void k_before_wait(f32 x) { (void)x; }
static inline u32 k_factor_pair(f32 a, f32 b) { return packFloat2x16({a, b}); }
static inline f32 k_power_of_2(f32 x) { return exp2(x) < 1.17549435e-38f ? 0.0f : exp2(x); }

static inline u64 k_factor_now(u64 factor) { return factor; }

static void hopper_begin(u32 bytes) {
  dynamic_bytes = bytes;
  if (bytes > 227 * 1024) die("shared memory of a launch", bytes, 227 * 1024);
  memset(dynamic_memory, 0xa5, sizeof dynamic_memory);
  memset(dynamic_view, 0xa5, sizeof dynamic_view);
  for (named_barrier &b : named) b = named_barrier();
  for (u32 i = 0; i < MAX_INVOCATIONS; i++) {
    written[i].clear(), copies[i].clear(), products[i].clear();
    copy_batch[i] = product_batch[i] = 0;
    products_begun[i] = false;
  }
}
/* What must be true when all invocations have ended. */
static void hopper_end() {
  for (u32 id = 1; id < 16; id++)
    if (named[id].n_here) die("invocations left at a barrier", named[id].n_here, id);
  for (u32 i = 0; i < MAX_INVOCATIONS; i++)
    if (!products[i].empty() || !copies[i].empty()) die("products or copies left by invocation", i, group_size);
}
#endif
