/* The parts of WebGPU's C interface that this backend calls, declared here so that the library builds without its
 * headers. Names, numbers and layouts are those of the binary interface of webgpu.h as wgpu-native 29 has it.
 * functions.def lists the functions. In a browser they are those of web/rlx/gpu.js, which reads these structs where
 * wasm32 puts their fields. */
#ifndef RLX_WEBGPU_API_H
#define RLX_WEBGPU_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct WGPUInstanceImpl *WGPUInstance;
typedef struct WGPUAdapterImpl *WGPUAdapter;
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct WGPUQueueImpl *WGPUQueue;
typedef struct WGPUBufferImpl *WGPUBuffer;
typedef struct WGPUBindGroupImpl *WGPUBindGroup;
typedef struct WGPUBindGroupLayoutImpl *WGPUBindGroupLayout;
typedef struct WGPUPipelineLayoutImpl *WGPUPipelineLayout;
typedef struct WGPUShaderModuleImpl *WGPUShaderModule;
typedef struct WGPUComputePipelineImpl *WGPUComputePipeline;
typedef struct WGPUCommandEncoderImpl *WGPUCommandEncoder;
typedef struct WGPUCommandBufferImpl *WGPUCommandBuffer;
typedef struct WGPUComputePassEncoderImpl *WGPUComputePassEncoder;
typedef struct WGPUQuerySetImpl *WGPUQuerySet;

typedef uint32_t WGPUBool;
typedef uint64_t WGPUFlags;
typedef uint64_t WGPUSubmissionIndex; /* wgpu-native */

typedef struct WGPUStringView {
  const char *data; /* not terminated; may be NULL if length is 0 */
  size_t length;    /* SIZE_MAX: terminated */
} WGPUStringView;

typedef struct WGPUChainedStruct {
  struct WGPUChainedStruct *next;
  uint32_t type;
} WGPUChainedStruct;

typedef struct WGPUFuture {
  uint64_t id;
} WGPUFuture;

/* ---- numbers ---- */

enum {
  WGPU_STATUS_SUCCESS = 1, /* of every status; all else is a failure */
  WGPU_CALLBACK_ALLOW_SPONTANEOUS = 3,

  WGPU_POWER_HIGH = 2,

  WGPU_ADAPTER_DISCRETE = 1,
  WGPU_ADAPTER_INTEGRATED = 2,
  WGPU_ADAPTER_CPU = 3,

  WGPU_BACKEND_WEBGPU = 2,
  WGPU_BACKEND_D3D12 = 4,
  WGPU_BACKEND_METAL = 5,
  WGPU_BACKEND_VULKAN = 6,

  WGPU_ERROR_NONE = 1,
  WGPU_ERROR_VALIDATION = 2,
  WGPU_ERROR_OUT_OF_MEMORY = 3,
  WGPU_ERROR_INTERNAL = 4,

  WGPU_FILTER_VALIDATION = 1, /* of error scopes */
  WGPU_FILTER_OUT_OF_MEMORY = 2,
  WGPU_FILTER_INTERNAL = 3,

  WGPU_LOST_DESTROYED = 2,
  WGPU_LOST_CALLBACK_CANCELLED = 3,

  WGPU_FEATURE_TIMESTAMP_QUERY = 0x09,
  WGPU_FEATURE_SHADER_F16 = 0x0b,
  WGPU_FEATURE_SUBGROUPS = 0x12,
  WGPU_FEATURE_NATIVE_SUBGROUP = 0x00030021,      /* wgpu-native */
  WGPU_FEATURE_DAWN_SYNCHRONIZATION = 0x00050004, /* Dawn: any thread may call */

  WGPU_QUERY_TIMESTAMP = 2,

  WGPU_BUFFER_MAP_READ = 0x01,
  WGPU_BUFFER_COPY_SRC = 0x04,
  WGPU_BUFFER_COPY_DST = 0x08,
  WGPU_BUFFER_UNIFORM = 0x40,
  WGPU_BUFFER_STORAGE = 0x80,
  WGPU_BUFFER_QUERY_RESOLVE = 0x200,

  WGPU_BINDING_UNIFORM = 2,
  WGPU_BINDING_STORAGE = 3,

  WGPU_MAP_MODE_READ = 1,
  WGPU_STAGE_COMPUTE = 4,

  WGPU_TYPE_SHADER_SOURCE_WGSL = 2,
  WGPU_TYPE_INSTANCE_EXTRAS = 0x00030004, /* wgpu-native */

  WGPU_INSTANCE_BACKEND_PRIMARY = 0x2d, /* wgpu-native: Vulkan, Metal, Direct3D 12, a browser's */
};

/* ---- callbacks ---- */

typedef void (*WGPUDeviceLostCallback)(WGPUDevice const *device, uint32_t reason, WGPUStringView message, void *user1,
                                       void *user2);
typedef void (*WGPUUncapturedErrorCallback)(WGPUDevice const *device, uint32_t type, WGPUStringView message,
                                            void *user1, void *user2);
typedef void (*WGPURequestAdapterCallback)(uint32_t status, WGPUAdapter adapter, WGPUStringView message, void *user1,
                                           void *user2);
typedef void (*WGPUPopErrorScopeCallback)(uint32_t status, uint32_t type, WGPUStringView message, void *user1,
                                          void *user2);
typedef void (*WGPURequestDeviceCallback)(uint32_t status, WGPUDevice device, WGPUStringView message, void *user1,
                                          void *user2);
typedef void (*WGPUCreateComputePipelineAsyncCallback)(uint32_t status, WGPUComputePipeline pipeline,
                                                       WGPUStringView message, void *user1, void *user2);
/* Of a mapped buffer, and of work that is done. */
typedef void (*WGPUDoneCallback)(uint32_t status, WGPUStringView message, void *user1, void *user2);

typedef struct WGPUDeviceLostCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPUDeviceLostCallback callback;
  void *user1, *user2;
} WGPUDeviceLostCallbackInfo;

typedef struct WGPUUncapturedErrorCallbackInfo {
  WGPUChainedStruct *chain;
  WGPUUncapturedErrorCallback callback;
  void *user1, *user2;
} WGPUUncapturedErrorCallbackInfo;

typedef struct WGPURequestAdapterCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPURequestAdapterCallback callback;
  void *user1, *user2;
} WGPURequestAdapterCallbackInfo;

typedef struct WGPUPopErrorScopeCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPUPopErrorScopeCallback callback;
  void *user1, *user2;
} WGPUPopErrorScopeCallbackInfo;

typedef struct WGPURequestDeviceCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPURequestDeviceCallback callback;
  void *user1, *user2;
} WGPURequestDeviceCallbackInfo;

typedef struct WGPUCreateComputePipelineAsyncCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPUCreateComputePipelineAsyncCallback callback;
  void *user1, *user2;
} WGPUCreateComputePipelineAsyncCallbackInfo;

typedef struct WGPUDoneCallbackInfo {
  WGPUChainedStruct *chain;
  uint32_t mode;
  WGPUDoneCallback callback;
  void *user1, *user2;
} WGPUDoneCallbackInfo;

/* ---- instance, adapter, device ---- */

typedef struct WGPUInstanceDescriptor {
  WGPUChainedStruct *chain;
  size_t n_features;
  const uint32_t *features;
  const void *limits;
} WGPUInstanceDescriptor;

/* wgpu-native: behind `flags` are fields that zeros leave at their defaults. */
typedef struct WGPUInstanceExtras {
  WGPUChainedStruct chain;
  WGPUFlags backends, flags;
  uint64_t zeros[32];
} WGPUInstanceExtras;

typedef struct WGPURequestAdapterOptions {
  WGPUChainedStruct *chain;
  uint32_t feature_level, power;
  WGPUBool is_fallback;
  uint32_t backend;
  void *surface;
} WGPURequestAdapterOptions;

typedef struct WGPUEnumerateAdapterOptions { /* wgpu-native */
  const WGPUChainedStruct *chain;
  WGPUFlags backends;
} WGPUEnumerateAdapterOptions;

typedef struct WGPUAdapterInfo {
  WGPUChainedStruct *chain;
  WGPUStringView vendor, architecture, device, description;
  uint32_t backend, type, vendor_id, device_id, min_subgroup, max_subgroup;
} WGPUAdapterInfo;

/* In the order of webgpu.h. All maxima but those beginning with "min", where less is better. */
typedef struct WGPULimits {
  WGPUChainedStruct *chain;
  uint32_t texture_1d, texture_2d, texture_3d, texture_layers;
  uint32_t bind_groups, bind_groups_and_vertex_buffers, bindings_per_group;
  uint32_t dynamic_uniforms, dynamic_storage_buffers;
  uint32_t sampled_textures, samplers, storage_buffers, storage_textures, uniform_buffers;
  uint64_t uniform_binding, storage_binding;
  uint32_t min_uniform_align, min_storage_align;
  uint32_t vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertex_attributes, vertex_stride, stage_variables, color_attachments, color_bytes;
  uint32_t shared_bytes, group_size, group_size_x, group_size_y, group_size_z, groups_per_dimension;
  uint32_t immediate_bytes;
} WGPULimits;

typedef struct WGPUQueueDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
} WGPUQueueDescriptor;

typedef struct WGPUDeviceDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  size_t n_features;
  const uint32_t *features;
  const WGPULimits *limits;
  WGPUQueueDescriptor queue;
  WGPUDeviceLostCallbackInfo lost;
  WGPUUncapturedErrorCallbackInfo error;
} WGPUDeviceDescriptor;

/* ---- buffers and bindings ---- */

typedef struct WGPUBufferDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  WGPUFlags usage;
  uint64_t bytes;
  WGPUBool is_mapped;
} WGPUBufferDescriptor;

typedef struct WGPUBufferBindingLayout {
  WGPUChainedStruct *chain;
  uint32_t type;
  WGPUBool is_dynamic;
  uint64_t min_bytes;
} WGPUBufferBindingLayout;

typedef struct WGPUBindGroupLayoutEntry {
  WGPUChainedStruct *chain;
  uint32_t binding;
  WGPUFlags visibility;
  uint32_t array_size;
  WGPUBufferBindingLayout buffer;
  struct { /* zeros: not one of these */
    WGPUChainedStruct *chain;
    uint32_t type;
  } sampler;
  struct {
    WGPUChainedStruct *chain;
    uint32_t sample_type, view_dimension;
    WGPUBool is_multisampled;
  } texture;
  struct {
    WGPUChainedStruct *chain;
    uint32_t access, format, view_dimension;
  } storage_texture;
} WGPUBindGroupLayoutEntry;

typedef struct WGPUBindGroupLayoutDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  size_t n;
  const WGPUBindGroupLayoutEntry *entries;
} WGPUBindGroupLayoutDescriptor;

typedef struct WGPUBindGroupEntry {
  WGPUChainedStruct *chain;
  uint32_t binding;
  WGPUBuffer buffer;
  uint64_t offset, bytes;
  void *sampler, *texture;
} WGPUBindGroupEntry;

typedef struct WGPUBindGroupDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  WGPUBindGroupLayout layout;
  size_t n;
  const WGPUBindGroupEntry *entries;
} WGPUBindGroupDescriptor;

typedef struct WGPUPipelineLayoutDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  size_t n;
  const WGPUBindGroupLayout *groups;
  uint32_t immediate_bytes;
} WGPUPipelineLayoutDescriptor;

/* ---- pipelines and commands ---- */

typedef struct WGPUShaderModuleDescriptor {
  WGPUChainedStruct *chain; /* a WGPUShaderSourceWGSL */
  WGPUStringView label;
} WGPUShaderModuleDescriptor;

typedef struct WGPUShaderSourceWGSL {
  WGPUChainedStruct chain;
  WGPUStringView code;
} WGPUShaderSourceWGSL;

typedef struct WGPUConstantEntry {
  WGPUChainedStruct *chain;
  WGPUStringView key;
  double value;
} WGPUConstantEntry;

typedef struct WGPUComputePipelineDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  WGPUPipelineLayout layout;
  struct {
    WGPUChainedStruct *chain;
    WGPUShaderModule module;
    WGPUStringView entry;
    size_t n_constants;
    const WGPUConstantEntry *constants;
  } compute;
} WGPUComputePipelineDescriptor;

typedef struct WGPUQuerySetDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  uint32_t type, n;
} WGPUQuerySetDescriptor;

typedef struct WGPUPassTimestampWrites {
  WGPUChainedStruct *chain;
  WGPUQuerySet set;
  uint32_t begin, end; /* queries */
} WGPUPassTimestampWrites;

typedef struct WGPUComputePassDescriptor {
  WGPUChainedStruct *chain;
  WGPUStringView label;
  const WGPUPassTimestampWrites *timestamps; /* may be NULL */
} WGPUComputePassDescriptor;

/* ---- the functions ---- */

typedef struct wg_api {
#define WG_FUNCTION(result, name, args) result(*name) args;
#define WG_LIBRARY(result, name, args) result(*name) args;
#define WG_BROWSER(result, name, args) result(*name) args;
#define WG_NATIVE(result, name, args) result(*name) args;
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_BROWSER
#undef WG_LIBRARY
#undef WG_FUNCTION
} wg_api;

#endif
