/* The arena's contract as one table of tests that any backend must pass: see arena_contract.c. A new backend adds one
 * line to test_arena.c. */
#ifndef RLX_TESTS_ARENA_CONTRACT_H
#define RLX_TESTS_ARENA_CONTRACT_H

#include "device/backend.h"

/* Runs the table on the device of this name; the test is skipped, with the registry's reason, if there is none. */
void arena_contract(const char *device);
/* On a device that the caller owns. */
void arena_contract_on(rlx_device *d);

#endif
