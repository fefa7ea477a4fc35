/* Loads the Vulkan library, creates the process's only instance, and lists the usable devices, best first.
 *
 * This happens once, on first use, and lasts until the process ends; none of it is on the heap. On a machine without
 * Vulkan there are no devices, and `why` is the reason. */
#ifndef RLX_VULKAN_LOADER_H
#define RLX_VULKAN_LOADER_H

#include "vulkan/physical.h"

enum { VK_MAX_DEVICES = 16 };

typedef struct vk_loader {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VK_GLOBAL(name) PFN_vk##name name;
#define VK_GLOBAL_OPTIONAL(name) PFN_vk##name name;
#include "vulkan/functions.def"
  vk_instance instance;
  vk_physical devices[VK_MAX_DEVICES];
  uint32_t n_devices;
  char why[256]; /* if there are no devices: the reason */
} vk_loader;

/* Never NULL. Any thread may call it. */
const vk_loader *vk_loader_get(void);

#endif
