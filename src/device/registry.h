/* The registry: finds the devices of all backends by name, index or UUID, and opens each at most once at a time.
 *
 * Two sessions that name the same device share one rlx_device, so they can share weights and states on it. What is
 * private to a session (threads, the block pool) is not in the device.
 *
 * A device is named by one of: its index in the list of rlx_device_count ("0"); a backend ("cpu", its first device),
 * optionally with a colon and an index within the backend or a variant ("vulkan:1", "cpu:avx2"); its UUID; its own name
 * or a part that matches only one device (ignoring case). NULL is the best real device: discrete before integrated
 * before cpu before software, never one of kind null. */
#ifndef RLX_DEVICE_REGISTRY_H
#define RLX_DEVICE_REGISTRY_H

#include "device/backend.h"

/* RLX_NOT_FOUND lists the available devices, and why backends without devices have none. Each success is matched by one
 * rlx_device_release. Any thread may call these. */
rlx_status rlx_device_acquire(const char *name, rlx_device **out);
rlx_device *rlx_device_retain(rlx_device *d);
void rlx_device_release(rlx_device *d); /* NULL is fine; the last release closes the device */

#endif
