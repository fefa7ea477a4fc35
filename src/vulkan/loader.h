/* The way to the driver: the library, the one instance of the process, and the devices that qualify, best first.
 *
 * All of it happens once, on first use, and stays until the process ends; nothing of it is on the heap. A machine
 * without Vulkan has no devices here and a text that says what is missing. */
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
  char why[256]; /* where there are none */
} vk_loader;

/* Never NULL. Any thread may call it. */
const vk_loader *vk_loader_get(void);

#endif
