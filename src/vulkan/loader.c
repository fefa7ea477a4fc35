/* Finds a Vulkan driver. First the system's loader, libvulkan, which lists all drivers. Without it, a driver's own
 * library: each exports vk_icdGetInstanceProcAddr for the loader, and a program can call it as well. Containers often
 * have NVIDIA's libraries without a loader or a manifest, so its driver is also tried if the loader finds no device.
 * Layers are handled by the loader: VK_INSTANCE_LAYERS works as usual.
 *
 * Drivers have threads of their own and handlers that run at process exit, and they guarantee nothing to a forked
 * child. So if the parent has started Vulkan, a child reports that there is none. A shared library that has started
 * Vulkan stays loaded after dlclose, with its one instance, which is used again if the library is opened again. */
#include "vulkan/loader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "base/os.h"
#include "base/process.h"

static const struct library {
  const char *name;
  bool is_driver;
  bool without_manifest; /* found in containers that have a loader but no manifest */
} libraries[] = {
#if defined(_WIN32)
  {"vulkan-1.dll", false, false}, /* the loader, which drivers install */
#else
  {"libvulkan.so.1", false, false},
  {"libEGL_nvidia.so.0", true, true},
  {"libGLX_nvidia.so.0", true, true},
  {"libvulkan_radeon.so", true, false},
  {"amdvlk64.so", true, false},
  {"libvulkan_intel.so", true, false},
  {"libvulkan_intel_hasvk.so", true, false},
  {"libvulkan_nouveau.so", true, false},
  {"libvulkan_asahi.so", true, false},
  {"libvulkan_freedreno.so", true, false},
  {"libvulkan_panfrost.so", true, false},
  {"libvulkan_broadcom.so", true, false},
  {"libvulkan_lvp.so", true, false},
#endif
};

typedef VkResult(VKAPI_PTR *negotiate_fn)(uint32_t *version);

static vk_loader the_loader;
static const vk_loader no_loader = {
  .why = "this process was forked from one that had started Vulkan, which no driver promises "
         "to survive: exec, or fork before the first device is opened or listed"};
static atomic_uint started_by; /* the number of the process that loaded it, plus 1; 0: nobody */

/* ---- one library ---- */

static PFN_vkGetInstanceProcAddr entry_of(void *library, bool is_driver) {
  PFN_vkGetInstanceProcAddr entry = NULL;
  negotiate_fn negotiate = NULL;
  if (is_driver) rlx_library_find(library, "vk_icdNegotiateLoaderICDInterfaceVersion", &negotiate);
  uint32_t version = 5; /* any version works: only the entry point is used */
  if (negotiate && negotiate(&version) < 0) return NULL;
  rlx_library_find(library, is_driver ? "vk_icdGetInstanceProcAddr" : "vkGetInstanceProcAddr", &entry);
  return entry;
}

static bool load_global(vk_loader *l) {
  bool all = true;
#define VK_GLOBAL(f) all = (l->f = (PFN_vk##f)l->GetInstanceProcAddr(NULL, "vk" #f)) != NULL && all;
#define VK_GLOBAL_OPTIONAL(f) l->f = (PFN_vk##f)l->GetInstanceProcAddr(NULL, "vk" #f);
#include "vulkan/functions.def"
  return all;
}

static bool load_instance(const vk_loader *l, vk_instance *i) {
  bool all = true;
#define VK_INSTANCE(f) all = (i->f = (PFN_vk##f)l->GetInstanceProcAddr(i->handle, "vk" #f)) != NULL && all;
#define VK_INSTANCE_OPTIONAL(f) i->f = (PFN_vk##f)l->GetInstanceProcAddr(i->handle, "vk" #f);
#include "vulkan/functions.def"
  return all;
}

static bool make_instance(vk_loader *l, const char *library) {
  uint32_t has = VK_API_VERSION_1_0;
  if (l->EnumerateInstanceVersion && l->EnumerateInstanceVersion(&has) < 0) has = VK_API_VERSION_1_0;
  if (has < VK_API_VERSION_1_1) {
    snprintf(l->why, sizeof l->why, "%s is of Vulkan 1.0, and 1.1 is needed", library);
    return false;
  }
  l->instance.api = has < VK_API_VERSION_1_3 ? has : VK_API_VERSION_1_3; /* the latest version that is used */
  const VkApplicationInfo application = {
    .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "rlx", .apiVersion = l->instance.api};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkResult r = l->CreateInstance(&info, NULL, &l->instance.handle);
  if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
    snprintf(l->why, sizeof l->why, "%s is there, but finds no driver: is one installed for this machine's GPU?",
             library);
  else if (r < 0) snprintf(l->why, sizeof l->why, "%s cannot be started (VkResult %d)", library, (int)r);
  else if (!load_instance(l, &l->instance))
    snprintf(l->why, sizeof l->why, "%s lacks functions of Vulkan 1.1", library);
  else return true;
  return false;
}

/* Sorted by rank; insertion keeps the driver's order among equals. */
static void add_device(vk_loader *l, const vk_physical *p) {
  uint32_t at = l->n_devices++;
  for (; at > 0 && l->devices[at - 1].rank > p->rank; at--) l->devices[at] = l->devices[at - 1];
  l->devices[at] = *p;
}

static void list_devices(vk_loader *l, const char *library) {
  VkPhysicalDevice all[VK_MAX_DEVICES];
  uint32_t n = VK_MAX_DEVICES;
  VkResult r = l->instance.EnumeratePhysicalDevices(l->instance.handle, &n, all);
  if (r < 0) n = 0;
  snprintf(l->why, sizeof l->why, "%s is there, but finds no device: is a driver installed for this machine's GPU?",
           library);
  for (uint32_t k = 0; k < n; k++) {
    vk_physical p;
    if (vk_physical_probe(&l->instance, all[k], &p, l->why, sizeof l->why)) add_device(l, &p);
    else rlx_log_write(RLX_LOG_INFO, "vulkan: not used: %s", l->why);
  }
}

/* Tries one library; false leaves only `why` set. A library without devices stays loaded: not all drivers survive being
 * unloaded. */
static bool try_library(vk_loader *l, const struct library *b) {
  void *library = rlx_library_open(b->name);
  if (!library) return false;
  l->GetInstanceProcAddr = entry_of(library, b->is_driver);
  if (!l->GetInstanceProcAddr || !load_global(l))
    snprintf(l->why, sizeof l->why, "%s is there, but has no entry point of Vulkan", b->name);
  else if (make_instance(l, b->name)) list_devices(l, b->name);
  if (l->n_devices) return true;
  if (l->instance.handle && l->instance.DestroyInstance) l->instance.DestroyInstance(l->instance.handle, NULL);
  l->instance = (vk_instance){0};
  return false;
}

static void load(void) {
  atomic_store(&started_by, rlx_process_number() + 1);
  vk_loader *l = &the_loader;
  bool has_loader = false;
  char first_why[sizeof l->why] = "";
  for (size_t k = 0; k < sizeof libraries / sizeof *libraries && !l->n_devices; k++) {
    if (has_loader && !libraries[k].without_manifest) continue;
    l->why[0] = 0;
    try_library(l, &libraries[k]);
    if (l->why[0] && !libraries[k].is_driver) has_loader = true;
    if (l->why[0] && !first_why[0]) memcpy(first_why, l->why, sizeof first_why);
  }
  if (l->n_devices) l->why[0] = 0;
  else if (first_why[0]) memcpy(l->why, first_why, sizeof l->why);
  else
    snprintf(l->why, sizeof l->why, "no Vulkan here: neither %s nor a driver's library is installed",
             libraries[0].name);
}

const vk_loader *vk_loader_get(void) {
  static rlx_once once = RLX_ONCE_INIT;
  const unsigned by = atomic_load(&started_by);
  if (by && by != rlx_process_number() + 1) return &no_loader; /* of a forked child's parent */
  rlx_log_hold();                                              /* a log callback may query devices */
  rlx_once_run(&once, load);
  rlx_log_release();
  return &the_loader;
}
