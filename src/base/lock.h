/* Lock of a public object: one caller at a time, and a second caller fails at once instead of waiting.
 *
 * rlx_lock_try returns RLX_BUSY if the object is in use. It does not wait, because the second caller may be a callback
 * of the first, which would deadlock. rlx_lock_try_nested also succeeds for the current holder: its callbacks may query
 * the object. A task of a thread pool counts as the caller of the pool's run (rlx_thread_self).
 *
 * rlx_lock_end implements destroy. Outside callbacks it waits for the holder and frees the object. Inside a callback,
 * of this object or of another, it must not wait: it marks the object as destroyed, further calls fail, and the holder
 * frees the object when it releases the lock. */
#ifndef RLX_BASE_LOCK_H
#define RLX_BASE_LOCK_H

#include "base/os.h"
#include "base/status.h"

typedef struct rlx_lock {
  rlx_mutex mutex; /* protects the fields below; held only briefly, never while waiting or calling out */
  rlx_cond released;
  const void *holder;         /* rlx_thread_self of the thread that holds the lock; NULL: unlocked */
  unsigned depth;             /* 1, and 1 more per nested acquisition by a callback */
  bool is_destroyed;          /* no caller may acquire it any more */
  unsigned n_waiting;         /* rlx_lock_end calls that wait for the holder: they free the object, not the holder */
  uint32_t process;           /* that created it: rlx_process_number */
  const char *what;           /* "executable", for messages */
  void (*free)(void *object); /* frees the object that contains this lock */
  void *object;
} rlx_lock;

/* `what` names the object in messages. `free` must call rlx_lock_deinit and then free the object. */
rlx_status rlx_lock_init(rlx_lock *l, const char *what, void (*free)(void *object), void *object);
void rlx_lock_deinit(rlx_lock *l);
rlx_status rlx_lock_try(rlx_lock *l, const char *call);
/* As rlx_lock_try; also succeeds if the calling thread holds the lock. */
rlx_status rlx_lock_try_nested(rlx_lock *l, const char *call);
/* Waits until the lock is free; succeeds at once if the calling thread holds it. False if the object belongs to another
 * process or is destroyed, or the lock is detached. */
bool rlx_lock_wait(rlx_lock *l);
/* Undoes one rlx_lock_try, rlx_lock_try_nested or rlx_lock_wait. Frees the object if it was destroyed meanwhile. */
void rlx_lock_release(rlx_lock *l);
/* The holder passes the lock on to work that no thread executes at the moment, such as a run in flight on a device.
 * Until a thread adopts it, rlx_lock_try fails and rlx_lock_end does not wait. The thread that adopts the lock also
 * releases it. */
void rlx_lock_detach(rlx_lock *l);
void rlx_lock_adopt(rlx_lock *l);
/* For destroy: frees the object now, or marks it so that its holder does. In a forked child of the process that created
 * the object it does nothing, because the object belongs to the parent. */
void rlx_lock_end(rlx_lock *l);

#endif
