/* Finds a device by name, under the rules in registry.h, in a table of backends. It opens nothing. The table is a
 * parameter so that tests can check the rules with devices that no machine has. */
#ifndef RLX_DEVICE_FIND_H
#define RLX_DEVICE_FIND_H

#include "device/backend.h"

typedef struct rlx_backend_list {
  const rlx_backend *const *v;
  uint32_t n;
} rlx_backend_list;

typedef struct rlx_device_place {
  const rlx_backend *backend;
  uint32_t index; /* within the backend */
  char variant[32];
} rlx_device_place;

uint32_t rlx_backend_devices(const rlx_backend *b, const char **why); /* *why: the reason if none, else NULL */
/* The device with this index in the list of all backends' devices; false past the end. */
bool rlx_device_at(const rlx_backend_list *all, uint32_t number, rlx_device_place *out);
rlx_status rlx_device_find(const rlx_backend_list *all, const char *name, rlx_device_place *out);

#endif
