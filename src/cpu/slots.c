/* Items dealt to slots: slot s takes items s, s + slots, s + 2 slots, .. so that neighbours, which often cost alike, are
 * spread over all. */
#include "cpu/slots.h"

typedef struct slot_work {
  const cpu_call *call;
  size_t n, slots, slot_floats;
  cpu_slot_fn fn;
} slot_work;

static void run_slots(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const slot_work *w = user;
  for (size_t slot = begin; slot < end; slot++)
    for (size_t item = slot; item < w->n; item += w->slots)
      w->fn(w->call, item, (float *)w->call->work + slot * w->slot_floats);
}

void cpu_slots_run(const cpu_call *c, size_t n, size_t slots, size_t slot_floats, double cost, cpu_slot_fn fn) {
  if (n == 0 || slots == 0) return;
  slot_work w = {c, n, slots, slot_floats, fn};
  size_t per_slot = (n + slots - 1) / slots;
  cpu_parallel(c->pool, slots, cpu_grain(slots, cost * (double)per_slot), run_slots, &w);
}
