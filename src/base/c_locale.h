/* Numbers are written and read the same whatever locale the program has chosen: with a point, and without marks between
 * thousands. Between begin and end this thread has the locale of C; other threads keep theirs. */
#ifndef RLX_BASE_C_LOCALE_H
#define RLX_BASE_C_LOCALE_H

#include <locale.h>

locale_t rlx_c_locale_begin(void); /* what the thread had, for end */
void rlx_c_locale_end(locale_t before);

#endif
