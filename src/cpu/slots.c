/* Slot s runs items s, s + slots, s + 2 slots, ..: neighbours often cost the same, so this spreads them evenly. */
#include "cpu/slots.h"

typedef struct slot_work {
  const cpu_call *call;
  size_t n, slots, slot_floats;
  size_t item_ns;
  cpu_slot_fn fn;
} slot_work;

static void run_slots(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const slot_work *w = user;
  size_t done = 0;
  for (size_t slot = begin; slot < end; slot++)
    for (size_t item = slot; item < w->n && !cpu_stops_after(&done, w->item_ns); item += w->slots)
      w->fn(w->call, item, (float *)w->call->work + slot * w->slot_floats);
}

void cpu_slots_run(const cpu_call *c, size_t n, size_t slots, size_t slot_floats, double cost, cpu_slot_fn fn) {
  if (n == 0 || slots == 0) return;
  const double long_ns = 1e6;
  slot_work w = {c, n, slots, slot_floats, cost < long_ns ? (size_t)cost + 1 : (size_t)long_ns, fn};
  size_t per_slot = (n + slots - 1) / slots;
  cpu_parallel(c->pool, slots, cpu_grain(slots, cost * (double)per_slot), run_slots, &w);
}
