/* Name map: a hash table with open addressing. Names are borrowed (they live in a graph's bump allocator). The hash is
 * seeded differently per table and process, so the author of a file cannot choose names that collide. */
#include <string.h>

#include "base/str.h"
#include "ir/graph.h"

static size_t slot_of(const rlx_name_map *m, const char *name) {
  size_t at = (size_t)rlx_text_hash(m->seed, name) & (m->cap - 1);
  while (m->v[at].name && strcmp(m->v[at].name, name) != 0) at = (at + 1) & (m->cap - 1);
  return at;
}

bool rlx_name_map_get(const rlx_name_map *m, const char *name, uint32_t *value) {
  if (!m->n) return false;
  size_t at = slot_of(m, name);
  if (!m->v[at].name) return false;
  *value = m->v[at].value;
  return true;
}

bool rlx_name_map_put(rlx_name_map *m, const char *name, uint32_t value) {
  if ((m->n + 1) * 2 > m->cap) {
    rlx_name_map larger = {.cap = m->cap ? m->cap * 2 : 16};
    if (!(larger.v = rlx_mem_calloc(larger.cap, sizeof *larger.v))) return false;
    larger.seed = m->seed ? m->seed : rlx_text_hash_seed(larger.v);
    for (size_t i = 0; i < m->cap; i++)
      if (m->v[i].name) larger.v[slot_of(&larger, m->v[i].name)] = m->v[i];
    larger.n = m->n;
    rlx_mem_free(m->v);
    *m = larger;
  }
  size_t at = slot_of(m, name);
  if (!m->v[at].name) m->n++;
  m->v[at] = (struct rlx_name_entry){name, value};
  return true;
}

void rlx_name_map_deinit(rlx_name_map *m) {
  rlx_mem_free(m->v);
  *m = (rlx_name_map){0};
}
