/* Runs kernels on the host: a dispatch (dispatch.c), and one workgroup of it (fiber.c). */
#ifndef RLX_EMU_RUN_H
#define RLX_EMU_RUN_H

#include <stdbool.h>

#include "emu/emu.h"
#include "gpu/gpu.h"

enum { EMU_FAULT_BYTES = 256 };

typedef struct emu_launch {
  const gpu_kernel *kernel; /* one that emu_kernels has */
  const uint32_t *constants, *params;
  const emu_window *windows;
  uint32_t groups_x, groups_y, group_size;
} emu_launch;

/* False: a fault, and `text` names kernel, group, window and index. The groups after it have not run. True with a text:
 * all have run, and the text names the first read of bytes that nothing wrote. */
bool emu_dispatch(const emu_launch *d, char text[EMU_FAULT_BYTES]);
/* Frees what dispatches keep for the next one; waits while one runs. */
void emu_dispatch_free(void);

gpu_caps *emu_caps(rlx_device *d);                                    /* of an emulated device, for tests to change */
bool emu_run_group(void (*run)(void), uint32_t group, uint32_t size); /* false: out of memory */
void emu_fibers_free(void);
void emu_fibers_forget(void); /* in a forked child */

#endif
