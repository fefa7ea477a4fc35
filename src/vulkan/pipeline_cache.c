/* The pipeline cache file: a header of fixed size, then the driver's bytes. */
#include "vulkan/pipeline_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "vulkan/vk.h"

enum { MAX_PATH_BYTES = 1024, MAX_CACHE_BYTES = 256 << 20 };

typedef struct head {
  char magic[8];
  uint64_t build; /* hash of all kernels */
  uint64_t data_bytes, checksum;
  uint32_t vendor, device, driver_version, reserved;
  uint8_t device_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
} head;

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n) {
  const unsigned char *v = data;
  for (size_t i = 0; i < n; i++) h = (h ^ v[i]) * 0x100000001b3u;
  return h;
}

static void make_head(const vk_device *d, const void *data, size_t bytes, head *h) {
  const VkPhysicalDeviceProperties *p = &d->physical->properties;
  *h = (head){.magic = "rlxvkpc1",
              .build = d->pipelines.cache.build,
              .data_bytes = bytes,
              .checksum = hash_bytes(0xcbf29ce484222325u, data, bytes),
              .vendor = p->vendorID,
              .device = p->deviceID,
              .driver_version = p->driverVersion};
  memcpy(h->device_uuid, d->physical->uuid, VK_UUID_SIZE);
  memcpy(h->cache_uuid, p->pipelineCacheUUID, VK_UUID_SIZE);
}

/* ---- the path ---- */

/* The XDG specification requires that a relative path is ignored. */
static bool folder(char *out, size_t bytes) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (xdg && xdg[0] == '/') n = snprintf(out, bytes, "%s/rlx", xdg);
  else if (home && home[0] == '/') n = snprintf(out, bytes, "%s/.cache/rlx", home);
  return n > 0 && (size_t)n < bytes;
}

bool vk_pipeline_cache_path(const vk_device *d, char *out, size_t bytes) {
  char at[MAX_PATH_BYTES];
  if (!folder(at, sizeof at)) return false;
  int n = snprintf(out, bytes, "%s/%s-%08x-%016llx.pipelines", at, d->base.info.uuid,
                   (unsigned)d->physical->properties.driverVersion, (unsigned long long)d->pipelines.cache.build);
  return n > 0 && (size_t)n < bytes;
}

/* Creates the folder and its missing parents, with access for the user only. */
static bool make_folder(const char *path) {
  char at[MAX_PATH_BYTES];
  snprintf(at, sizeof at, "%s", path);
  for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(at, 0700) && errno != EEXIST) return false;
    *slash = '/';
  }
  return mkdir(at, 0700) == 0 || errno == EEXIST;
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
  char path[MAX_PATH_BYTES], *text = NULL;
  size_t bytes = 0;
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  c->build = gpu_column_hash(gpu_column_spirv);
  if (vk_pipeline_cache_path(d, path, sizeof path) && access(path, R_OK) == 0 &&
      rlx_file_read(path, MAX_CACHE_BYTES, &text, &bytes) == RLX_OK) {
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
  return r ? vk_fail(d, r, "a pipeline cache") : RLX_OK;
}

static bool write_all(int fd, const char *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    ssize_t n = write(fd, data + at, bytes - at);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) at += (size_t)n;
  }
  return true;
}

/* Writes a temporary file next to the target, with access for the user only, and renames it over the target: a reader
 * sees the old file or the new one. */
static bool replace(const char *path, const char *data, size_t bytes) {
  char temporary[MAX_PATH_BYTES + 16];
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int fd = mkstemp(temporary); /* 0600 */
  if (fd < 0) return false;
  bool ok = write_all(fd, data, bytes);
  ok = close(fd) == 0 && ok;
  ok = ok && rename(temporary, path) == 0;
  if (!ok) unlink(temporary);
  return ok;
}

void vk_pipeline_cache_save(vk_device *d, const vk_pipeline_cache *c) {
  char path[MAX_PATH_BYTES], at[MAX_PATH_BYTES];
  size_t bytes = 0;
  if (!c->handle || atomic_load(&d->base.is_lost)) return;
  if (!vk_pipeline_cache_path(d, path, sizeof path) || !folder(at, sizeof at) || !make_folder(at)) return;
  if (d->GetPipelineCacheData(d->handle, c->handle, &bytes, NULL) || !bytes || bytes > MAX_CACHE_BYTES) return;
  char *text = rlx_mem_alloc(sizeof(head) + bytes);
  if (!text) return;
  if (d->GetPipelineCacheData(d->handle, c->handle, &bytes, text + sizeof(head)) == VK_SUCCESS) {
    head h;
    make_head(d, text + sizeof h, bytes, &h);
    memcpy(text, &h, sizeof h);
    if (!replace(path, text, sizeof h + bytes)) rlx_log_write(RLX_LOG_WARN, "vulkan: %s cannot be written", path);
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
