/* The descriptions of factors in shared memory for k_cuda_hopper.h, in a file of their own because tests/gpu/coop
 * checks them on the host.
 *
 * Rows of a factor are 128 bytes (64 elements), and their 16-byte vectors are permuted. It starts at a multiple of 1024
 * bytes. */
/* Of 16-byte vectors: vector v (0 to 7) of row r. */
K_DEVICE u32 k_swizzled(u32 r, u32 v) { return r * 8u + (v ^ (r & 7u)); }

/* A factor whose rows run along k: the left one [m, k] or the right one [n, k], 64 of k in a row; k_step: 0 to 3. */
K_DEVICE u64 k_factor_by_k(u32 address, u32 k_step) {
  const u64 by_128 = 1, eight_rows = 1024 / 16;
  return ((u64)(address + 32u * k_step) >> 4 & 0x3fff) | (u64)1 << 16 | eight_rows << 32 | by_128 << 62;
}
/* A right factor [k, n] whose rows run along n, 64 of n in a row; `next_n`: bytes from these 64 columns to the next 64.
 * `address` is that of the first of 16 rows. */
K_DEVICE u64 k_factor_by_n(u32 address, u32 next_n) {
  const u64 by_128 = 1, eight_rows = 1024 / 16;
  return ((u64)address >> 4 & 0x3fff) | (u64)(next_n >> 4) << 16 | eight_rows << 32 | by_128 << 62;
}
