/* Runs one workgroup on the host (fiber.c). */
#ifndef RLX_EMU_RUN_H
#define RLX_EMU_RUN_H

#include <stdbool.h>

#include "emu/emu.h"
#include "gpu/gpu.h"

gpu_caps *emu_caps(rlx_device *d);                                    /* of an emulated device, for tests to change */
bool emu_run_group(void (*run)(void), uint32_t group, uint32_t size); /* false: out of memory */
void emu_fibers_free(void);

#endif
