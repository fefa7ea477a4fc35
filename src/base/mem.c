/* Heap allocation: malloc and relatives with a hook, a counter of live blocks, and the thread's budget.
 *
 * Nothing is stored per heap block: a pointer from the heap is an ordinary malloc pointer, and the cost is a few
 * relaxed atomic operations and the check of the budget (budget.h), which may refuse. Blocks of a session's allocator
 * are in a table (mem_source.h). The hook and its argument are plain globals, because the contract forbids changing
 * them while other threads allocate. malloc aligns to 16 bytes on every 64-bit platform. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/arith.h"
#include "base/budget.h"
#include "base/mem_source.h"
#include "base/os.h"

enum { ALIGN = 16 };

static rlx_mem_hook alloc_hook;
static void *alloc_hook_user;
static atomic_size_t live_blocks;

void rlx_mem_set_hook(rlx_mem_hook hook, void *user) {
  alloc_hook = hook;
  alloc_hook_user = user;
}

size_t rlx_mem_live(void) { return atomic_load_explicit(&live_blocks, memory_order_relaxed); }

/* Above PTRDIFF_MAX pointer differences overflow. No allocator grants that, and some abort on the request. */
static bool may_allocate(size_t bytes, size_t had) {
  if (bytes > PTRDIFF_MAX || !rlx_budget_allows(bytes > had ? bytes - had : 0)) return false;
  return !alloc_hook || alloc_hook(alloc_hook_user, bytes);
}

static void *count_block(void *p, size_t bytes) {
  atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
  rlx_budget_charge(bytes);
  return p;
}

/* Charged with its real size, so charges and refunds balance without a header per block. Where that is unknown (0),
 * single requests are checked, not their sum. */
static void *count_heap(void *p) { return p ? count_block(p, rlx_os_heap_bytes(p)) : NULL; }

static void *alloc_from(rlx_mem_source *s, size_t bytes, size_t align) {
  void *p = rlx_mem_source_alloc(s, bytes, align);
  return p ? count_block(p, bytes ? bytes : 1) : NULL;
}

void *rlx_mem_alloc(size_t bytes) {
  if (!may_allocate(bytes, 0)) return NULL;
  rlx_mem_source *s = rlx_mem_source_now();
  return s ? alloc_from(s, bytes, ALIGN) : count_heap(rlx_os_heap_alloc(bytes ? bytes : 1, false));
}

void *rlx_mem_calloc(size_t count, size_t size) {
  size_t bytes;
  if (!rlx_mul_size(count, size, &bytes) || !may_allocate(bytes, 0)) return NULL;
  rlx_mem_source *s = rlx_mem_source_now();
  if (!s) return count_heap(rlx_os_heap_alloc(bytes ? bytes : 1, true));
  void *p = alloc_from(s, bytes, ALIGN);
  return p ? memset(p, 0, bytes) : NULL;
}

/* A block of a source grows by moving, in the source that it is from. */
static void *realloc_from(void *p, const rlx_mem_piece *old, size_t bytes) {
  if (!may_allocate(bytes, old->bytes)) return NULL;
  void *grown = alloc_from(old->source, bytes, old->align);
  if (!grown) return NULL;
  memcpy(grown, p, bytes < old->bytes ? bytes : old->bytes);
  rlx_mem_free(p);
  return grown;
}

void *rlx_mem_realloc(void *p, size_t count, size_t size) {
  size_t bytes;
  if (!rlx_mul_size(count, size, &bytes)) return NULL;
  if (!p) return rlx_mem_alloc(bytes);
  rlx_mem_piece old;
  if (rlx_mem_source_has(p, &old)) return realloc_from(p, &old, bytes);
  size_t before = rlx_os_heap_bytes(p);
  if (!may_allocate(bytes, before)) return NULL;
  /* Never 0: realloc(p, 0) may free the block and return NULL, which here means that the old block stays valid. */
  void *grown = rlx_os_heap_realloc(p, bytes ? bytes : 1);
  if (grown) {
    rlx_budget_refund(before);
    rlx_budget_charge(rlx_os_heap_bytes(grown));
  }
  return grown;
}

/* Large blocks request huge pages: long strides and reads of whole weights then cause far fewer TLB misses. It is a
 * hint; without support nothing changes. */
void *rlx_mem_alloc_aligned(size_t bytes, size_t align) {
  if (!may_allocate(bytes, 0)) return NULL;
  if (align < sizeof(void *)) align = sizeof(void *);
  rlx_mem_source *s = rlx_mem_source_now();
  if (s) return alloc_from(s, bytes, align < ALIGN ? ALIGN : align);
  if (bytes >= 2 * RLX_OS_LARGE_PAGE && align < RLX_OS_LARGE_PAGE) align = RLX_OS_LARGE_PAGE;
  void *p = rlx_os_heap_alloc_aligned(bytes ? bytes : 1, align);
  if (p && align >= RLX_OS_LARGE_PAGE) rlx_os_use_large_pages(p, bytes);
  return count_heap(p);
}

void rlx_mem_discard(void *p, size_t bytes) { rlx_os_discard(p, bytes); }

void rlx_mem_free(void *p) {
  if (!p) return;
  atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
  rlx_mem_piece piece;
  if (rlx_mem_source_has(p, &piece)) {
    rlx_budget_refund(piece.bytes);
    rlx_mem_source_free(p);
    return;
  }
  rlx_budget_refund(rlx_os_heap_bytes(p));
  rlx_os_heap_free(p);
}
