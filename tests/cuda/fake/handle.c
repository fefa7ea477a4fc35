/* Handles of objects: a place in a table and the number of its use, so that no handle is used twice. */
#include "fake.h"

#include <stdlib.h>

typedef struct place {
  void *object; /* NULL: free */
  fake_kind kind;
  uint32_t use;
} place;

static place *places;
static size_t n_places, n_allocated;
static uint64_t counts[FAKE_KINDS];

static void *handle_of(size_t i) { return (void *)(uintptr_t)((uint64_t)places[i].use << 28 | (i + 1) << 4); }

static place *find(const void *handle) {
  size_t i = ((uintptr_t)handle >> 4 & 0xffffff) - 1;
  return i < n_places && places[i].object && handle_of(i) == handle ? &places[i] : NULL;
}

void *fake_handle_new(fake_kind kind, void *object) {
  size_t i = 0;
  while (i < n_places && places[i].object) i++;
  if (i == n_allocated) {
    n_allocated = n_allocated ? 2 * n_allocated : 256;
    place *more = realloc(places, n_allocated * sizeof *places);
    if (!more) abort();
    places = more;
  }
  if (i == n_places) places[n_places++] = (place){0};
  places[i] = (place){object, kind, places[i].use + 1};
  counts[kind]++;
  return handle_of(i);
}

void *fake_handle_find(fake_kind kind, const void *handle) {
  place *p = find(handle);
  return p && p->kind == kind ? p->object : NULL;
}

void fake_handle_free(const void *handle) {
  place *p = find(handle);
  if (!p) return;
  counts[p->kind]--;
  p->object = NULL;
}

uint64_t fake_handle_count(fake_kind kind) { return counts[kind]; }
