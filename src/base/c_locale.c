/* The C locale, created once and kept until the process ends. Most C libraries have it as a static object. If it cannot
 * be created, the program's own locale stays in effect. */
#include "base/c_locale.h"

#include <stdatomic.h>

static _Atomic(locale_t) c_locale;

locale_t rlx_c_locale_begin(void) {
  locale_t c = atomic_load_explicit(&c_locale, memory_order_acquire);
  if (!c) {
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!made) return (locale_t)0;
    if (atomic_compare_exchange_strong(&c_locale, &c, made)) c = made;
    else if (made != c) freelocale(made);
  }
  return uselocale(c);
}

void rlx_c_locale_end(locale_t before) {
  if (before) (void)uselocale(before);
}
