/* libmicrohttpd, loaded when the first server starts, so that the library and most programs do not need it. */
#ifndef RLX_SERVE_MHD_H
#define RLX_SERVE_MHD_H

#include <microhttpd.h>

#include "base/status.h"

typedef struct mhd_functions {
#define MHD_FUNCTION(result, name, args) result(*name) args;
#include "serve/mhd.def"
#undef MHD_FUNCTION
} mhd_functions;

/* RLX_NOT_FOUND: it is not installed, or too old. */
rlx_status mhd_load(const mhd_functions **out);

#endif
