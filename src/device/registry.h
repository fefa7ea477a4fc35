/* The registry: every device of every backend, found by name, index or UUID, and opened at most once at a time.
 *
 * Two sessions that name the same device share one rlx_device, so they can share weights and states on it. What is
 * private to a session (threads, the block pool) is not in the device.
 *
 * A device is named by: its index in the list of rlx_device_count ("0"); a backend ("cpu", the first of it), with an
 * index within it or a variant behind a colon ("vulkan:1", "cpu:avx2"); its UUID; or its own name (without regard to
 * case; a part that fits only one device). NULL is the best real device: discrete before integrated before cpu before
 * software; never one of kind null. */
#ifndef RLX_DEVICE_REGISTRY_H
#define RLX_DEVICE_REGISTRY_H

#include "device/backend.h"

/* RLX_NOT_FOUND lists what there is, and why backends without devices have none. Each success is matched by one
 * rlx_device_release. Any thread may call these. */
rlx_status rlx_device_acquire(const char *name, rlx_device **out);
rlx_device *rlx_device_retain(rlx_device *d);
void rlx_device_release(rlx_device *d); /* NULL is fine; the last one closes it */

#endif
