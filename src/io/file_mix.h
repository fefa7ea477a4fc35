/* Mixes of types: file_mix.c. */
#ifndef RLX_IO_FILE_MIX_H
#define RLX_IO_FILE_MIX_H

#include "io/file_convert.h"

/* The index of a mix by its name, from 0; -1: there is none. */
int mix_find(const char *name);
rlx_dtype mix_type(int mix);   /* of matrices without a rule */
int mix_file_type(int mix);    /* general.file_type */
const char *mix_name(int mix); /* NULL past the last one */

/* What the rules look at besides a matrix. */
void mix_facts_of(const convert_source *source, bool has_importance, mix_facts *out);
/* The type of a matrix. */
rlx_dtype mix_type_of(int mix, const mix_facts *facts, const rlx_file_tensor *t);

/* Whether a name matches a pattern, in which * is any text and ? any character. */
bool mix_matches(const char *pattern, const char *name);

#endif
