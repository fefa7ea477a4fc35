/* The functions of WebGPU from a shared library: the file that RLX_WEBGPU_LIBRARY names, or the usual names.
 *
 * wgpu-native from version 29 on is what this backend knows best: its own functions list all adapters and wait for a
 * submission. With RLX_WEBGPU_PURE=1 they are not used, and the library is driven as a browser is, by the functions of
 * webgpu.h alone; so are all libraries that do not have them. */
#include "webgpu/loader.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/library.h"

enum { MIN_VERSION = 29 }; /* of wgpu-native: the layouts of api.h */

#if defined(_WIN32)
static const char *const names[] = {"wgpu_native.dll"};
#else
static const char *const names[] = {"libwgpu_native.so", "libwgpu_native-release.so"};
#endif
static const char variable[] = "RLX_WEBGPU_LIBRARY", pure[] = "RLX_WEBGPU_PURE";

static void *open_library(wg_loader *l, const char **name) {
  const char *given = getenv(variable);
  if (given && *given) {
    *name = given;
    void *library = rlx_library_open(given);
    if (!library) snprintf(l->why, sizeof l->why, "%s is '%.150s', which cannot be loaded", variable, given);
    return library;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = rlx_library_open(*name = names[i]);
    if (library) return library;
  }
  snprintf(l->why, sizeof l->why,
           "no WebGPU here: %s was not found (wgpu-native; the Python package wgpu has it), and %s is not set",
           names[0], variable);
  return NULL;
}

static bool find_functions(wg_loader *l, void *library, const char *name) {
  const char *missing = NULL;
#define WG_FUNCTION(result, f, args) \
  if (!rlx_library_find(library, "wgpu" #f, &l->api.f)) missing = "wgpu" #f;
#define WG_LIBRARY WG_FUNCTION
#define WG_BROWSER(result, f, args)
#define WG_NATIVE(result, f, args) rlx_library_find(library, "wgpu" #f, &l->api.f);
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_BROWSER
#undef WG_LIBRARY
#undef WG_FUNCTION
  if (missing) snprintf(l->why, sizeof l->why, "'%.100s' is not a WebGPU library of today: it lacks %s", name, missing);
  return !missing;
}

static void drop_native(wg_loader *l) {
#define WG_FUNCTION(result, f, args)
#define WG_LIBRARY(result, f, args)
#define WG_BROWSER(result, f, args)
#define WG_NATIVE(result, f, args) l->api.f = NULL;
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_BROWSER
#undef WG_LIBRARY
#undef WG_FUNCTION
}

static bool check_native(wg_loader *l, const char *name) {
  const uint32_t version = l->api.GetVersion();
  if (version >> 24 < MIN_VERSION) {
    snprintf(l->why, sizeof l->why, "'%.100s' is wgpu-native %u, and %d is needed", name, (unsigned)(version >> 24),
             MIN_VERSION);
    return false;
  }
  snprintf(l->library, sizeof l->library, "wgpu-native %u.%u.%u", (unsigned)(version >> 24),
           (unsigned)(version >> 16 & 255), (unsigned)(version >> 8 & 255));
  return true;
}

bool wg_functions_get(wg_loader *l) {
  const char *name = "", *is_pure = getenv(pure);
  void *library = open_library(l, &name);
  if (!library || !find_functions(l, library, name)) return false;
  snprintf(l->library, sizeof l->library, "WebGPU");
  if (l->api.GetVersion && !check_native(l, name)) return false;
  l->is_native = l->api.GetVersion && l->api.InstanceEnumerateAdapters && l->api.QueueSubmitForIndex &&
                 l->api.DevicePoll && !(is_pure && is_pure[0] == '1');
  l->has_internal_errors = !l->api.GetVersion;
  l->refuses_subgroup_lines = l->api.GetVersion != NULL;
  if (!l->is_native) drop_native(l);
  return true;
}
