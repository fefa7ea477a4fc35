/* The emulated GPU: runs every GPU kernel on the host, one invocation after the other. It tests kernels and lowerings
 * under the sanitizers on machines without a GPU, and detects errors that a GPU tolerates: an access outside a window
 * is a failure that names kernel, window and index. Slow by design; built only for tests. */
#ifndef RLX_EMU_EMU_H
#define RLX_EMU_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_window {
  unsigned char *data;
  uint64_t bytes; /* rounded up to words by the backend */
  bool is_early;  /* may be read before ENTER */
} emu_window;
static const emu_window emu_nothing = {0};

/* State of the current invocation. Only one group runs at a time in the process: dispatch.c holds a lock. */
extern uint32_t emu_group_size, emu_lid, emu_wg;
void emu_barrier(void);
void *emu_shared(size_t bytes); /* a shared array of the next group, filled with a pattern */
void emu_fault(const char *window, uint64_t index, uint64_t words);
float emu_half(uint16_t h);

static inline uint32_t emu_load(const emu_window *w, uint32_t i, const char *name) {
  uint32_t v = 0;
  if ((uint64_t)i * 4 + 4 > w->bytes) emu_fault(name, i, w->bytes / 4);
  else __builtin_memcpy(&v, w->data + (uint64_t)i * 4, 4);
  return v;
}
static inline void emu_store(emu_window *w, uint32_t i, uint32_t v, const char *name) {
  if ((uint64_t)i * 4 + 4 > w->bytes) emu_fault(name, i, w->bytes / 4);
  else __builtin_memcpy(w->data + (uint64_t)i * 4, &v, 4);
}

/* One per kernel: emu_kernel_NAME, in gen/NAME.c. */
typedef struct emu_kernel {
  const char *name;
  void (*bind)(const uint32_t *constants, const uint32_t *params, const emu_window *windows); /* before each dispatch */
  void (*group)(void);                                                                        /* before each group */
  void (*run)(void);                                                                          /* one invocation */
} emu_kernel;
extern const emu_kernel *const emu_kernels[]; /* in the order of gpu_kernels; NULL: a kernel on matrix units */

#endif
