/* The pipeline cache file: a header of fixed size, then the driver's bytes. */
#include "vulkan/pipeline_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/cache_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "vulkan/vk.h"

enum { MAX_CACHE_BYTES = 256 << 20 };

typedef struct head {
  char magic[8];
  uint64_t build; /* hash of all kernels */
  uint64_t data_bytes, checksum;
  uint32_t vendor, device, driver_version, reserved;
  uint8_t device_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
} head;

static void make_head(const vk_device *d, const void *data, size_t bytes, head *h) {
  const VkPhysicalDeviceProperties *p = &d->physical->properties;
  *h = (head){.magic = {'r', 'l', 'x', 'v', 'k', 'p', 'c', '2'},
              .build = d->pipelines.cache.build,
              .data_bytes = bytes,
              .checksum = rlx_hash_bytes(0, data, bytes),
              .vendor = p->vendorID,
              .device = p->deviceID,
              .driver_version = p->driverVersion};
  memcpy(h->device_uuid, d->physical->uuid, VK_UUID_SIZE);
  memcpy(h->cache_uuid, p->pipelineCacheUUID, VK_UUID_SIZE);
}

bool vk_pipeline_cache_path(const vk_device *d, char *out, size_t bytes) {
  char name[96];
  snprintf(name, sizeof name, "%s-%08x-%016llx.pipelines", d->base.info.uuid,
           (unsigned)d->physical->properties.driverVersion, (unsigned long long)d->pipelines.cache.build);
  return rlx_cache_path(name, out, bytes);
}

/* ---- loading and saving ---- */

/* Whether a file is complete and was written for this device. */
static bool is_ours(const vk_device *d, const char *text, size_t bytes) {
  head found, expected;
  if (bytes < sizeof found) return false;
  memcpy(&found, text, sizeof found);
  if (found.data_bytes != bytes - sizeof found) return false;
  make_head(d, text + sizeof found, bytes - sizeof found, &expected);
  return memcmp(&found, &expected, sizeof found) == 0;
}

rlx_status vk_pipeline_cache_open(vk_device *d, vk_pipeline_cache *c) {
  char path[RLX_CACHE_PATH_BYTES], *text = NULL;
  size_t bytes = 0;
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  c->build = gpu_column_hash(gpu_column_spirv);
  if (vk_pipeline_cache_path(d, path, sizeof path) && rlx_cache_read(path, MAX_CACHE_BYTES, &text, &bytes)) {
    if (is_ours(d, text, bytes)) {
      info.initialDataSize = bytes - sizeof(head);
      info.pInitialData = text + sizeof(head);
      c->was_loaded = true;
    } else {
      rlx_log_write(RLX_LOG_WARN, "vulkan: %s is damaged or another device's: ignored", path);
    }
  }
  VkResult r = d->CreatePipelineCache(d->handle, &info, NULL, &c->handle);
  if (r && info.initialDataSize) { /* the driver may refuse data it wrote earlier */
    info.initialDataSize = 0;
    c->was_loaded = false;
    r = d->CreatePipelineCache(d->handle, &info, NULL, &c->handle);
  }
  rlx_mem_free(text);
  rlx_cache_limit("", ".pipelines", RLX_CACHE_LIMIT_BYTES); /* those of older drivers and builds */
  return r ? vk_fail(d, r, "a pipeline cache") : RLX_OK;
}

void vk_pipeline_cache_save(vk_device *d, const vk_pipeline_cache *c) {
  char path[RLX_CACHE_PATH_BYTES];
  size_t bytes = 0;
  if (!c->handle || atomic_load(&d->base.is_lost)) return;
  if (!vk_pipeline_cache_path(d, path, sizeof path)) return;
  if (d->GetPipelineCacheData(d->handle, c->handle, &bytes, NULL) || !bytes || bytes > MAX_CACHE_BYTES) return;
  char *text = rlx_mem_alloc(sizeof(head) + bytes);
  if (!text) return;
  if (d->GetPipelineCacheData(d->handle, c->handle, &bytes, text + sizeof(head)) == VK_SUCCESS) {
    head h;
    make_head(d, text + sizeof h, bytes, &h);
    memcpy(text, &h, sizeof h);
    if (!rlx_cache_write(path, text, sizeof h + bytes))
      rlx_log_write(RLX_LOG_WARN, "vulkan: %s cannot be written", path);
  }
  rlx_mem_free(text);
}

void vk_pipeline_cache_trim(vk_device *d, vk_pipeline_cache *c) {
  enum { EMPTY = 32 }; /* only the header that Vulkan prescribes */
  size_t bytes = 0;
  if (!c->handle || d->GetPipelineCacheData(d->handle, c->handle, &bytes, NULL) || bytes > EMPTY) return;
  const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  VkPipelineCache fresh;
  if (d->CreatePipelineCache(d->handle, &info, NULL, &fresh)) return;
  d->DestroyPipelineCache(d->handle, c->handle, NULL);
  c->handle = fresh;
}

void vk_pipeline_cache_close(vk_device *d, vk_pipeline_cache *c) {
  if (c->handle) d->DestroyPipelineCache(d->handle, c->handle, NULL);
}
