/* A physical device: its properties, queried from the driver once. The limits, features and rank that RLX derives from
 * them are computed here; device.c opens the device. */
#ifndef RLX_VULKAN_PHYSICAL_H
#define RLX_VULKAN_PHYSICAL_H

#include "device/backend.h"
#include "gpu/gpu.h"
#include "vulkan/extra.h"

/* The instance and its functions, named without "vk": i->CreateDevice(...). */
typedef struct vk_instance {
  VkInstance handle;
  uint32_t api; /* the requested version */
#define VK_INSTANCE(name) PFN_vk##name name;
#define VK_INSTANCE_OPTIONAL(name) PFN_vk##name name;
#include "vulkan/functions.def"
} vk_instance;

typedef enum vk_extension {
#define VK_EXT_ROW(id, name, core) VK_USES_##id,
#include "vulkan/extensions.def"
#undef VK_EXT_ROW
  VK_USES_COUNT
} vk_extension;

/* The features that are queried and enabled, as a pNext chain. */
typedef struct vk_features {
  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDevice16BitStorageFeatures storage_16bit;
  VkPhysicalDevice8BitStorageFeatures storage_8bit;
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
  VkPhysicalDeviceMaintenance4Features maintenance4;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative_matrix;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
} vk_features;

typedef struct vk_physical {
  VkPhysicalDevice handle;
  uint32_t api; /* the usable version: the lower of the instance's and the device's */
  rlx_device_kind kind;
  uint32_t rank; /* lower is better */
  VkPhysicalDeviceProperties properties;
  VkPhysicalDeviceMemoryProperties memory;
  uint8_t uuid[VK_UUID_SIZE];
  char driver[128];
  uint32_t listed; /* bit i: extension i is in the driver's list */
  uint64_t max_block_bytes;
  uint32_t queue_family, n_queues, timestamp_bits;
  bool has_timeline, has_subgroup_size, has_memory_budget;
  gpu_caps caps;
} vk_physical;

/* False: not usable, and `why` is the reason. */
bool vk_physical_probe(const vk_instance *i, VkPhysicalDevice handle, vk_physical *out, char *why, size_t why_bytes);
/* The features to enable when opening it, chained and filled in. */
void vk_physical_features(const vk_instance *i, const vk_physical *p, vk_features *out);
/* The names of the extensions to enable when opening it; returns their number. */
uint32_t vk_physical_extensions(const vk_physical *p, const char *names[VK_USES_COUNT]);
/* The description for the registry and `rlx devices`, with the current amount of free memory. */
void vk_physical_describe(const vk_instance *i, const vk_physical *p, rlx_device_info *out);
/* Of the memory types in `allowed` with all of `flags`: the one with the most flags of `preferred`, then the largest
 * heap, then the first. UINT32_MAX: none. */
uint32_t vk_memory_type(const VkPhysicalDeviceMemoryProperties *memory, uint32_t allowed, VkMemoryPropertyFlags flags,
                        VkMemoryPropertyFlags preferred);

#endif
