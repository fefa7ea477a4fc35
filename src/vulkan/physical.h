/* A physical device: what a driver says of one piece of hardware, asked once. What RLX makes of it (limits, features,
 * the rank among others) is decided here; opening it is device.h. */
#ifndef RLX_VULKAN_PHYSICAL_H
#define RLX_VULKAN_PHYSICAL_H

#include "device/backend.h"
#include "gpu/gpu.h"
#include "vulkan/extra.h"

/* The instance and its functions, by name without "vk": i->CreateDevice(...). */
typedef struct vk_instance {
  VkInstance handle;
  uint32_t api; /* the version asked for */
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

/* The features that are asked after and switched on, chained as the driver wants them. */
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
  uint32_t api; /* the version that can be used: the lesser of the instance's and the device's */
  rlx_device_kind kind;
  uint32_t rank; /* the lower the better */
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

/* False: not usable, and `why` says so. */
bool vk_physical_probe(const vk_instance *i, VkPhysicalDevice handle, vk_physical *out, char *why, size_t why_bytes);
/* The features to open it with, chained and filled in. */
void vk_physical_features(const vk_instance *i, const vk_physical *p, vk_features *out);
/* Names of the extensions to open it with; returns how many. */
uint32_t vk_physical_extensions(const vk_physical *p, const char *names[VK_USES_COUNT]);
/* What the registry and `rlx devices` show; memory is as it is now. */
void vk_physical_describe(const vk_instance *i, const vk_physical *p, rlx_device_info *out);
/* "subgroup:32 f16 dot8": what kernels may use. */
void vk_caps_text(const gpu_caps *caps, char *out, size_t bytes);
/* Of the memory types in `allowed` with all of `flags`: the one with most of `wished`, then the largest, then the first.
 * UINT32_MAX: none. */
uint32_t vk_memory_type(const VkPhysicalDeviceMemoryProperties *memory, uint32_t allowed, VkMemoryPropertyFlags flags,
                        VkMemoryPropertyFlags wished);

#endif
