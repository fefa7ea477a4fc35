/* The emulated GPU: runs every GPU kernel on the host, one invocation after the other. It tests kernels and lowerings
 * under the sanitizers on machines without a GPU, and detects errors that a GPU tolerates: an access outside a window
 * is a failure that names kernel, window and index, and so is a read of bytes that nothing wrote, where the memory says
 * which were. Slow by design; built only for tests. */
#ifndef RLX_EMU_EMU_H
#define RLX_EMU_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_window {
  unsigned char *data;
  uint64_t bytes;         /* rounded up to words by the backend */
  bool is_early;          /* may be read before ENTER */
  unsigned char *written; /* by byte: 1 if something wrote it since its memory was allocated; NULL: not known */
} emu_window;
static const emu_window emu_nothing = {0};

/* State of the current invocation. Only one group runs at a time in the process: dispatch.c holds a lock. */
extern uint32_t emu_group_size, emu_lid, emu_wg;
void emu_barrier(void);
void *emu_shared(size_t bytes); /* a shared array of the next group, filled with a pattern */
void emu_fault(const char *window, uint64_t index, uint64_t words);
void emu_unwritten(const char *window, uint64_t index, uint64_t words); /* a read of bytes that nothing wrote */
float emu_half(uint16_t h);

enum { EMU_WRITTEN = 0x01010101 }; /* of a word whose bytes are all written */

static inline uint32_t emu_load(const emu_window *w, uint32_t i, const char *name) {
  uint32_t v = 0, written = EMU_WRITTEN;
  const uint64_t at = (uint64_t)i * 4;
  if (at + 4 > w->bytes) {
    emu_fault(name, i, w->bytes / 4);
    return 0;
  }
  __builtin_memcpy(&v, w->data + at, 4);
  if (w->written) __builtin_memcpy(&written, w->written + at, 4);
  if (written != EMU_WRITTEN) emu_unwritten(name, i, w->bytes / 4);
  return v;
}
static inline void emu_store(emu_window *w, uint32_t i, uint32_t v, const char *name) {
  const uint32_t written = EMU_WRITTEN;
  const uint64_t at = (uint64_t)i * 4;
  if (at + 4 > w->bytes) {
    emu_fault(name, i, w->bytes / 4);
    return;
  }
  __builtin_memcpy(w->data + at, &v, 4);
  if (w->written) __builtin_memcpy(w->written + at, &written, 4);
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
