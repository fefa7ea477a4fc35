/* The C locale for printing and parsing numbers: a decimal point and no thousands separators, whatever locale the
 * program has set. It applies to this thread between begin and end; other threads keep theirs. */
#ifndef RLX_BASE_C_LOCALE_H
#define RLX_BASE_C_LOCALE_H

#include <locale.h>

locale_t rlx_c_locale_begin(void); /* returns the thread's locale, for rlx_c_locale_end */
void rlx_c_locale_end(locale_t before);

#endif
