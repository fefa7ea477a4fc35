/* The functions of WebGPU in a module of WebAssembly: imports of module "webgpu", one for each WG_FUNCTION and
 * WG_BROWSER of functions.def. web/rlx/gpu.js has them, over the page's navigator.gpu. Where the page has no WebGPU,
 * wgpuCreateInstance returns NULL. */
#include "webgpu/loader.h"

#include <stdio.h>

#define WG_FUNCTION(result, f, args) \
  __attribute__((import_module("webgpu"), import_name("wgpu" #f))) extern result wgpu##f args;
#define WG_BROWSER WG_FUNCTION
#define WG_LIBRARY(result, f, args)
#define WG_NATIVE(result, f, args)
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_LIBRARY
#undef WG_BROWSER
#undef WG_FUNCTION

/* Memory for what the page hands over: texts, and the struct that a callback gets by value. Each call uses it anew. */
const void *rlx_wgpu_scratch(void) __attribute__((export_name("rlx_wgpu_scratch")));
const void *rlx_wgpu_scratch(void) {
  static uint64_t scratch[512];
  return scratch;
}

bool wg_functions_get(wg_loader *l) {
  l->api = (wg_api){
#define WG_FUNCTION(result, f, args) .f = wgpu##f,
#define WG_BROWSER WG_FUNCTION
#define WG_LIBRARY(result, f, args)
#define WG_NATIVE(result, f, args)
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_LIBRARY
#undef WG_BROWSER
#undef WG_FUNCTION
  };
  l->has_internal_errors = l->suspends = true;
  snprintf(l->library, sizeof l->library, "WebGPU");
  snprintf(l->why, sizeof l->why, "this page has no WebGPU (navigator.gpu), or no way to wait for it (JSPI)");
  return true;
}
