/* Translates a module: see the header, and ptx_state.h for the idea. */
#include "cuda/ptx.h"

#include <string.h>

#include "base/mem.h"
#include "cuda/ptx_state.h"

/* ---- the text ---- */

static void add_registers(rlx_str *t, const char *type, char name, uint32_t n) {
  if (n) rlx_str_add(t, ".reg .%s %%%c<%u>;\n", type, name, (unsigned)n);
}

static void add_entry(const cu_ptx_desc *d, rlx_str *t) {
  rlx_str_add(t, ".visible .entry %s(\n", d->name);
  for (uint32_t i = 0; i < d->n_windows; i++) rlx_str_add(t, "  .param .u64 w%u,\n", (unsigned)i);
  rlx_str_add(t, "  .param .align 4 .b8 params[%u]\n) .maxntid %u, 1, 1\n{\n", (unsigned)d->params_bytes,
              (unsigned)d->group_size);
}

static rlx_status compose(const ptx_state *s, char **text) {
  rlx_str t = {0};
  if (s->body.failed || s->variables.failed || s->prologue.failed || s->tables.failed)
    return RLX_FAIL(RLX_NO_MEMORY, "PTX of kernel %s", s->desc->name);
  rlx_str_add(&t, ".version 6.4\n.target sm_75\n.address_size 64\n\n");
  if (s->tables.n) rlx_str_add_bytes(&t, s->tables.v, s->tables.n);
  add_entry(s->desc, &t);
  add_registers(&t, "b32", 'r', s->n_words);
  add_registers(&t, "pred", 'p', s->n_flags);
  add_registers(&t, "b64", 'd', s->n_longs);
  add_registers(&t, "b16", 'h', s->n_halves);
  const rlx_str *parts[] = {&s->variables, &s->prologue, &s->body};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i]->n) rlx_str_add_bytes(&t, parts[i]->v, parts[i]->n);
  rlx_str_add(&t, "}\n");
  return rlx_str_take(&t, text);
}

/* ---- attempts ---- */

/* Forgets everything but which variables are in memory, and what is stored in them. */
static void reset(ptx_state *s) {
  for (uint32_t i = 0; i < s->bound; i++) {
    const ptx_id *d = &s->id[i];
    s->id[i] = (ptx_id){.in_memory = d->in_memory, .store_at = d->store_at, .is_varied = d->is_varied};
  }
  s->leaves.n = s->pointers.n = s->members.n = 0;
  s->extension = s->entry = 0;
  s->n_words = s->n_flags = s->n_longs = s->n_halves = s->n_frames = s->n_locals = s->n_tables = 0;
  s->n_translated = 0;
  s->again = false;
  rlx_str_deinit(&s->body);
  rlx_str_deinit(&s->variables);
  rlx_str_deinit(&s->prologue);
  rlx_str_deinit(&s->tables);
}

static rlx_status attempt(ptx_state *s) {
  RLX_TRY(ptx_read_module(s));
  ptx_id *entry = ptx_id_at(s, s->entry);
  if (!s->entry || !entry->at || ptx_op(s->w + entry->at) != OP_FUNCTION)
    return RLX_FAIL(RLX_INVALID, "kernel %s: the module has no entry point", s->desc->name);
  entry->is_active = true;
  ptx_frame f = {.number = s->n_frames++, .begin = entry->at, .is_entry = true};
  return ptx_function(s, &f, NULL, 0);
}

/* Each attempt but the last moves at least one variable to memory; kernels need two. */
static rlx_status translate(ptx_state *s, char **text) {
  enum { MAX_ATTEMPTS = 8 };
  for (int i = 0; i < MAX_ATTEMPTS; i++) {
    reset(s);
    RLX_TRY(attempt(s));
    if (!s->again) return compose(s, text);
  }
  return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: variables moved to memory %d times", s->desc->name, MAX_ATTEMPTS);
}

rlx_status cu_ptx_make(const uint32_t *words, size_t n_words, const cu_ptx_desc *desc, char **text) {
  *text = NULL;
  if (!spirv_is_whole(words, n_words)) return RLX_FAIL(RLX_INVALID, "%zu words are not a SPIR-V module", n_words);
  ptx_state s = {.w = words, .n = n_words, .bound = words[3], .desc = desc};
  s.id = rlx_mem_calloc(s.bound, sizeof *s.id);
  if (!s.id) return RLX_FAIL(RLX_NO_MEMORY, "PTX of kernel %s", desc->name);
  rlx_status status = translate(&s, text);
  reset(&s);
  rlx_mem_free(s.id);
  rlx_array_deinit(&s.leaves);
  rlx_array_deinit(&s.pointers);
  rlx_array_deinit(&s.members);
  return status;
}
