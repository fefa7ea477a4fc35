/* Switches of a compilation (rlx_switch): one value from the caller's options to the code that reads it.
 *
 * It is passed from rlx_compile_options, rlx_onnx_options or rlx_lm_desc to rlx_compile_key and on to passes, claims,
 * plan and program: each has a field `switches` and reads its own bits. A new switch touches four places: its line in
 * rlx.h, the last known bit here, its reader and its test; and one line of src/cli/cli.h if the command offers it. */
#ifndef RLX_IR_SWITCHES_H
#define RLX_IR_SWITCHES_H

#include "base/status.h"

enum { RLX_SWITCHES_KNOWN = 2 * RLX_SWITCH_FAST_F16 - 1 }; /* up to the last one */

/* RLX_UNSUPPORTED if a bit is unknown. */
static inline rlx_status rlx_switches_check(uint32_t switches) {
  return switches <= RLX_SWITCHES_KNOWN ? RLX_OK
                                        : RLX_FAIL(RLX_UNSUPPORTED, "switches 0x%x: version %s has 0x%x",
                                                   (unsigned)switches, rlx_version(), (unsigned)RLX_SWITCHES_KNOWN);
}

#endif
