/* Turns: an object is used by one caller at a time, and every other one is told so at once.
 *
 * Whoever takes the turn has the object until he leaves it. A second caller gets RLX_BUSY and does not wait, for he may be a
 * callback of the first. Looking is for callbacks too: it is granted to the one whose turn it is, in its thread or in a thread
 * that works for it.
 *
 * Destroying ends the turn. From outside it waits for the one who has it; from inside a callback, of this object or of any
 * other, it cannot, so the object is doomed: nobody gets in any more, and whoever has the turn frees it when he leaves. */
#ifndef RLX_BASE_TURN_H
#define RLX_BASE_TURN_H

#include <pthread.h>

#include "base/status.h"

typedef struct rlx_turn {
  pthread_mutex_t lock; /* of what follows; held for a moment only */
  pthread_cond_t left;
  const void *holder; /* rlx_thread_self of who has it; NULL: nobody */
  unsigned depth;     /* the turn, and looks of its own callbacks */
  bool is_doomed;
  unsigned n_waiting; /* destroys that wait: they free it */
  uint32_t process;
  const char *what;           /* "executable", for messages */
  void (*free)(void *object); /* of which this is a part */
  void *object;
} rlx_turn;

/* `free` ends with rlx_turn_deinit and the memory. */
rlx_status rlx_turn_init(rlx_turn *t, const char *what, void (*free)(void *object), void *object);
void rlx_turn_deinit(rlx_turn *t);
rlx_status rlx_turn_take(rlx_turn *t, const char *call);
/* Also where the caller has it already. */
rlx_status rlx_turn_look(rlx_turn *t, const char *call);
/* Waits for others; false: of another process, or doomed. */
bool rlx_turn_wait(rlx_turn *t);
/* After any of the three. Frees the object if it was destroyed meanwhile. */
void rlx_turn_leave(rlx_turn *t);
/* For destroy: frees the object, or leaves that to whoever has the turn. In a child of the process that made it nothing
 * happens: it is the parent's. */
void rlx_turn_end(rlx_turn *t);

#endif
