/* Overrides of the lowerings' choices: see gpu_choice.h. */
#include "gpu_choice.h"

#include <string.h>

#include "emu/run.h"
#include "runtime/session.h"
#ifdef RLX_CUDA
#include "cuda/cu.h"
#endif
#ifdef RLX_VULKAN
#include "vulkan/vk.h"
#endif

void gpu_choose(rlx_session *session, gpu_choices choices) {
  rlx_device *d = session->device;
  if (strcmp(d->backend->name, "emu") == 0) emu_caps(d)->choices = choices;
#ifdef RLX_CUDA
  if (strcmp(d->backend->name, "cuda") == 0) cu_device_of(d)->caps.choices = choices;
#endif
#ifdef RLX_VULKAN
  if (strcmp(d->backend->name, "vulkan") == 0) vk_device_of(d)->caps.choices = choices;
#endif
}
