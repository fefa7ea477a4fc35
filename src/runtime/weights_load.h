/* Interface between the files of the weight store: weights.c (names, copies, holds), weights_load.c (recipes) and
 * weights_large.c (parts).
 * All of it is called under the store's lock. */
#ifndef RLX_RUNTIME_WEIGHTS_LOAD_H
#define RLX_RUNTIME_WEIGHTS_LOAD_H

#include "ref/eval.h"
#include "runtime/weights.h"

/* weights.c */
rlx_status rlx_weights_named(rlx_weights *w, const char *name, rlx_weight **out); /* created if there is none */
void rlx_weight_free(rlx_weights *w, rlx_weight *weight);
rlx_status rlx_weight_take_type(rlx_weights *w, rlx_weight *weight, const rlx_type *type, bool replace);
rlx_status rlx_weight_fill(rlx_weights *w, rlx_weight *weight, const rlx_tensor *value);
rlx_bound rlx_weight_copy_at(const rlx_weight_copy *c);
rlx_status rlx_weight_copy_allocate(rlx_weights *w, rlx_weight_copy *c);
rlx_weight_copy *rlx_weight_filled(const rlx_weight *weight); /* NULL: no value */
bool rlx_weight_is_held(const rlx_weight *weight);
void rlx_weight_drop_unused(rlx_weights *w, rlx_weight *weight, const rlx_weight_copy *keep);

/* weights_large.c. make_part: *done is false if the recipe is no slice of rows, or must be computed. put_parts: of a
 * weight that has parts, the value or the bytes of the source. */
#ifndef RLX_NO_GPUS
bool rlx_weight_is_large(const rlx_weights *w, const rlx_type *type);
bool rlx_weight_has_parts(const rlx_weights *w, const rlx_weight *weight);
rlx_status rlx_weight_make_part(rlx_weights *w, rlx_weight *weight, bool *done);
rlx_status rlx_weight_put_parts(rlx_weights *w, rlx_weight *weight, const rlx_tensor *value,
                                const rlx_byte_source *source);
#else /* a library without GPUs: nothing is large */
#define rlx_weight_is_large(w, type) ((void)(w), false)
#define rlx_weight_has_parts(w, weight) ((void)(w), false)
#define rlx_weight_make_part(w, weight, done) (*(done) = false, RLX_OK)
#define rlx_weight_put_parts(w, weight, value, source) RLX_OK
#endif

/* weights_load.c */
rlx_status rlx_weight_fetch(rlx_weights *w, rlx_weight *weight); /* reads a missing value from the source */
rlx_status rlx_weights_computed(rlx_weights *w, const rlx_graph *recipe,
                                rlx_weight **out); /* created if there is none */
/* rlx_weights_forget frees a computed weight that is not held and that can be computed again when needed; true: it was
 * freed. rlx_weights_forget_all frees all of them, when the store is freed. */
bool rlx_weights_forget(rlx_weights *w, rlx_weight *weight);
void rlx_weights_forget_all(rlx_weights *w);
void rlx_weights_changed(rlx_weights *w, rlx_weight *weight); /* it has a new value */
rlx_status rlx_weight_check_value(const rlx_weight *weight);

#endif
