/* Turns: an object is used by one caller at a time, and every other one is told so at once.
 *
 * Whoever takes the turn has the object until he leaves it. A second caller gets RLX_BUSY and does not wait, for he may be a
 * callback of the first. Looking is for callbacks too: it is granted to the one whose turn it is, in its thread or in a thread
 * that works for it.
 *
 * Destroying ends the turn. From outside it waits for the one who has it; from inside a callback, of this object or of any
 * other, it cannot, so the object is doomed: nobody gets in any more, and whoever has the turn frees it when he leaves. */
#ifndef RLX_BASE_LOCK_H
#define RLX_BASE_LOCK_H

#include <pthread.h>

#include "base/status.h"

typedef struct rlx_lock {
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
} rlx_lock;

/* `free` ends with rlx_lock_deinit and the memory. */
rlx_status rlx_lock_init(rlx_lock *t, const char *what, void (*free)(void *object), void *object);
void rlx_lock_deinit(rlx_lock *t);
rlx_status rlx_lock_try(rlx_lock *t, const char *call);
/* Also where the caller has it already. */
rlx_status rlx_lock_try_nested(rlx_lock *t, const char *call);
/* Waits for others; false: of another process, or doomed. */
bool rlx_lock_wait(rlx_lock *t);
/* After any of the three. Frees the object if it was destroyed meanwhile. */
void rlx_lock_release(rlx_lock *t);
/* For destroy: frees the object, or leaves that to whoever has the turn. In a child of the process that made it nothing
 * happens: it is the parent's. */
void rlx_lock_end(rlx_lock *t);

#endif
