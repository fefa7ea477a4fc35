/* Items that each need work memory, where there are more of them than memory for: they are dealt by turns to slots, and
 * a slot uses its part of the call's work memory for one item after the other. How many slots there are depends on the
 * shape alone, as all cuts do. */
#ifndef RLX_CPU_SLOTS_H
#define RLX_CPU_SLOTS_H

#include "cpu/cpu.h"

/* One item; `memory` is its slot's. */
typedef void (*cpu_slot_fn)(const cpu_call *c, size_t item, float *memory);

/* n items in `slots` slots, whose parts of c->work, slot_floats each, lie side by side from its start. The cost is about
 * nanoseconds per item; RLX_INFINITY: every slot is worth a thread. */
void cpu_slots_run(const cpu_call *c, size_t n, size_t slots, size_t slot_floats, double cost, cpu_slot_fn fn);

#endif
