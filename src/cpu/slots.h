/* Parallel loop over items that need scratch memory, where there is less memory than items. Items are distributed round
 * robin over slots; a slot reuses its part of the call's work memory for one item after another. The number of slots
 * depends on the shape alone. */
#ifndef RLX_CPU_SLOTS_H
#define RLX_CPU_SLOTS_H

#include "cpu/cpu.h"

/* Runs one item; `memory` belongs to its slot. */
typedef void (*cpu_slot_fn)(const cpu_call *c, size_t item, float *memory);

/* Runs n items in `slots` slots. c->work begins with the slots' memory, slot_floats each. `cost` is about nanoseconds
 * per item; RLX_INFINITY: every slot gets a task. */
void cpu_slots_run(const cpu_call *c, size_t n, size_t slots, size_t slot_floats, double cost, cpu_slot_fn fn);

#endif
