/* Finds libmicrohttpd and its functions, once for the process. */
#include "serve/mhd.h"

#include "base/library.h"
#include "base/os.h"

#if defined(_WIN32)
static const char *const names[] = {"libmicrohttpd-12.dll", "libmicrohttpd.dll"};
#elif defined(__APPLE__)
static const char *const names[] = {"libmicrohttpd.12.dylib", "libmicrohttpd.dylib"};
#else
static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so"};
#endif
static mhd_functions functions;
static bool is_there;
static const char *missing;

static void load(void) {
  void *library = rlx_library_open_first(names, sizeof names / sizeof *names);
  if (!library) return;
#define MHD_FUNCTION(result, name, args) \
  if (!rlx_library_find(library, "MHD_" #name, &functions.name)) missing = "MHD_" #name;
#include "serve/mhd.def"
#undef MHD_FUNCTION
  is_there = !missing;
}

rlx_status mhd_load(const mhd_functions **out) {
  static rlx_once once = RLX_ONCE_INIT;
  *out = &functions;
  rlx_once_run(&once, load);
  if (is_there) return RLX_OK;
  if (missing) return RLX_FAIL(RLX_NOT_FOUND, "%s: it has no function %s", names[0], missing);
  return RLX_FAIL(RLX_NOT_FOUND, "a server needs libmicrohttpd, and %s was not found (Debian: libmicrohttpd12)",
                  names[0]);
}
