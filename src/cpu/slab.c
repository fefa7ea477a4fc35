/* Slabs: blocks of some kilobytes to some megabytes side by side in memory that asks for large pages.
 *
 * Reading weights once per token is a matter of memory alone, and on pages of 4 KiB half of it is spent on looking up pages:
 * the processor's own reading ahead stops at the end of each. A block of 4 MiB gets large pages by itself (base/mem.c); the
 * matrices of small models are smaller than one such page, so they share slabs.
 *
 * The one idea: a slab only grows. Pieces are cut off its front, and it is freed when the last of them has come back; there
 * is no list of holes. Weights and arenas live long and are few, so a hole in a slab is rare, and one slab is all that a
 * piece can hold back. A few slabs stay open at once, so that what a matrix leaves at the end of one goes to the smaller
 * blocks after it. */
#include "cpu/slab.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/arith.h"
#include "base/mem.h"

enum { SLAB_BYTES = 16 << 20, MIN = 32 << 10, MAX = 4 << 20, N_OPEN = 16 };

struct cpu_slab {
  char *memory;
  size_t used, n_pieces;
};

/* The slabs that the next piece may be cut from, NULL between them; gone with their last pieces, like the others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cpu_slab *open_slabs[N_OPEN];

/* Nobody is in the middle of a change when the process forks. */
static void hold_slabs(void) { pthread_mutex_lock(&lock); }
static void free_slabs(void) { pthread_mutex_unlock(&lock); }
__attribute__((constructor)) static void survive_fork(void) {
  (void)pthread_atfork(hold_slabs, free_slabs, free_slabs);
}

static cpu_slab *slab_create(void) {
  cpu_slab *slab = rlx_new(cpu_slab);
  if (slab && !(slab->memory = rlx_mem_alloc_aligned(SLAB_BYTES, 256))) {
    rlx_mem_free(slab);
    return NULL;
  }
  return slab;
}

/* Whether so much fits behind what is used, and where. */
static bool fits(const cpu_slab *slab, size_t bytes, size_t align, size_t *at) {
  return slab && rlx_pad_size(slab->used, align, at) && *at <= SLAB_BYTES && bytes <= SLAB_BYTES - *at;
}

/* A place for a new slab: a free one, or that of the fullest, which is closed. */
static cpu_slab **place_for_new(void) {
  cpu_slab **fullest = &open_slabs[0];
  for (size_t i = 0; i < N_OPEN; i++) {
    if (!open_slabs[i]) return &open_slabs[i];
    if (open_slabs[i]->used > (*fullest)->used) fullest = &open_slabs[i];
  }
  return fullest;
}

/* Under the lock. */
static void *cut_piece(size_t bytes, size_t align, cpu_slab **slab) {
  size_t at = 0;
  for (size_t i = 0; i < N_OPEN && !*slab; i++)
    if (fits(open_slabs[i], bytes, align, &at)) *slab = open_slabs[i];
  if (!*slab) {
    cpu_slab *fresh = slab_create();
    if (!fresh) return NULL;
    *slab = *place_for_new() = fresh;
    at = 0;
  }
  (*slab)->used = at + bytes;
  (*slab)->n_pieces++;
  return (*slab)->memory + at;
}

/* Where every step outside a block is to be found, blocks are pieces of the heap. */
#if defined(__SANITIZE_ADDRESS__)
static bool shares(size_t bytes) { return (void)bytes, false; }
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static bool shares(size_t bytes) { return (void)bytes, false; }
#else
static bool shares(size_t bytes) { return bytes >= MIN && bytes < MAX; }
#endif
#else
static bool shares(size_t bytes) { return bytes >= MIN && bytes < MAX; }
#endif

void *cpu_slab_alloc(size_t bytes, size_t align, cpu_slab **slab) {
  *slab = NULL;
  if (!shares(bytes)) return rlx_mem_alloc_aligned(bytes, align);
  pthread_mutex_lock(&lock);
  void *p = cut_piece(bytes, align, slab);
  pthread_mutex_unlock(&lock);
  return p ? p : rlx_mem_alloc_aligned(bytes, align); /* where a slab is too much, the block may still fit */
}

void cpu_slab_free(void *p, cpu_slab *slab) {
  if (!slab) {
    rlx_mem_free(p);
    return;
  }
  pthread_mutex_lock(&lock);
  if (--slab->n_pieces == 0) {
    for (size_t i = 0; i < N_OPEN; i++)
      if (open_slabs[i] == slab) open_slabs[i] = NULL;
    rlx_mem_free(slab->memory);
    rlx_mem_free(slab);
  }
  pthread_mutex_unlock(&lock);
}
