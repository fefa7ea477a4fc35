/* Slab allocator: blocks of 32 KiB to 4 MiB next to each other in memory that is advised to use large pages.
 *
 * Decoding reads every weight once per token, so it is bound by memory bandwidth. With pages of 4 KiB half of that time
 * goes to page walks, because the hardware prefetcher stops at the end of each page. A block of 4 MiB gets large pages
 * by itself (base/mem.c). The matrices of small models are smaller than one large page, so they share slabs.
 *
 * A slab is a bump allocator: blocks are cut from its front, and it is freed with its last block. There is no free
 * list. Weights and arenas are few and live long, so holes are rare, and a block keeps at most one slab alive. Several
 * slabs stay open at once, so that smaller blocks can use what a matrix left at the end of one. */
#include "cpu/slab.h"

#include <stdbool.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/mem_source.h"
#include "base/os.h"

enum { SLAB_BYTES = 16 << 20, MIN = 32 << 10, MAX = 4 << 20, N_OPEN = 16 };

struct cpu_slab {
  char *memory;
  size_t used, n_blocks;
};

/* The slabs that the next block may come from; NULL where there is none. Freed with their last block, like the
 * others. */
static rlx_mutex lock = RLX_MUTEX_INIT;
static cpu_slab *open_slabs[N_OPEN];

/* Holds the lock across fork, so that the child finds the slabs consistent. */
static void hold_slabs(void) { rlx_mutex_lock(&lock); }
static void release_slabs(void) { rlx_mutex_unlock(&lock); }
__attribute__((constructor)) static void register_fork_handlers(void) {
  rlx_os_at_fork(hold_slabs, release_slabs, release_slabs);
}

static cpu_slab *slab_create(void) {
  cpu_slab *slab = rlx_new(cpu_slab);
  if (slab && !(slab->memory = rlx_mem_alloc_aligned(SLAB_BYTES, 256))) {
    rlx_mem_free(slab);
    return NULL;
  }
  return slab;
}

/* Whether `bytes` fit after what is used, and the offset. */
static bool fits(const cpu_slab *slab, size_t bytes, size_t align, size_t *at) {
  return slab && rlx_pad_size(slab->used, align, at) && *at <= SLAB_BYTES && bytes <= SLAB_BYTES - *at;
}

/* The entry for a new slab: a free one, or that of the fullest slab, which is closed. */
static cpu_slab **entry_for_new(void) {
  cpu_slab **fullest = &open_slabs[0];
  for (size_t i = 0; i < N_OPEN; i++) {
    if (!open_slabs[i]) return &open_slabs[i];
    if (open_slabs[i]->used > (*fullest)->used) fullest = &open_slabs[i];
  }
  return fullest;
}

/* Caller holds the lock. */
static void *cut_block(size_t bytes, size_t align, cpu_slab **slab) {
  size_t at = 0;
  for (size_t i = 0; i < N_OPEN && !*slab; i++)
    if (fits(open_slabs[i], bytes, align, &at)) *slab = open_slabs[i];
  if (!*slab) {
    cpu_slab *fresh = slab_create();
    if (!fresh) return NULL;
    *slab = *entry_for_new() = fresh;
    at = 0;
  }
  (*slab)->used = at + bytes;
  (*slab)->n_blocks++;
  return (*slab)->memory + at;
}

/* Under AddressSanitizer every block is its own allocation, so that accesses outside it are found. */
#if defined(__SANITIZE_ADDRESS__)
static bool uses_slab(size_t bytes) { return (void)bytes, false; }
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static bool uses_slab(size_t bytes) { return (void)bytes, false; }
#else
static bool uses_slab(size_t bytes) { return bytes >= MIN && bytes < MAX; }
#endif
#else
static bool uses_slab(size_t bytes) { return bytes >= MIN && bytes < MAX; }
#endif

void *cpu_slab_alloc(size_t bytes, size_t align, cpu_slab **slab) {
  *slab = NULL;
  if (!uses_slab(bytes) || rlx_mem_source_now()) /* slabs are shared between sessions; an allocator is not */
    return rlx_mem_alloc_aligned(bytes, align);
  rlx_mutex_lock(&lock);
  void *p = cut_block(bytes, align, slab);
  rlx_mutex_unlock(&lock);
  return p ? p : rlx_mem_alloc_aligned(bytes, align); /* a block may fit where a whole slab does not */
}

void cpu_slab_free(void *p, cpu_slab *slab) {
  if (!slab) {
    rlx_mem_free(p);
    return;
  }
  rlx_mutex_lock(&lock);
  if (--slab->n_blocks == 0) {
    for (size_t i = 0; i < N_OPEN; i++)
      if (open_slabs[i] == slab) open_slabs[i] = NULL;
    rlx_mem_free(slab->memory);
    rlx_mem_free(slab);
  }
  rlx_mutex_unlock(&lock);
}
