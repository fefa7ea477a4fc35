/* Pages of the states, and the prefix tree of what they hold.
 *
 * Keys and values of requests lie in pages of `page` tokens each (model.h, step graph). A page belongs to the requests
 * that count it. Once it is full it also becomes a node of a tree: its parent is the page before it, and its tokens say
 * what it holds, so the next request with the same beginning takes it as it is. The last page of a request that has
 * ended is a leaf although it is not full; what it has in common with another request can be copied from it, as from
 * any page. A page that nobody counts stays in the tree until its memory is needed; then the one that was used longest
 * ago goes, leaves first. */
#ifndef RLX_MODEL_PAGES_H
#define RLX_MODEL_PAGES_H

#include "rlx/rlx.h"

#define LM_NO_PAGE UINT32_MAX

typedef struct lm_pages lm_pages;

rlx_status lm_pages_create(uint32_t n_pages, uint32_t page, lm_pages **out);
void lm_pages_destroy(lm_pages *p);
void lm_pages_forget(lm_pages *p); /* empties the tree: what the states hold has changed */

uint32_t lm_pages_size(const lm_pages *p);      /* tokens of a page */
uint32_t lm_pages_available(const lm_pages *p); /* pages that can be taken now */
/* A page for new tokens, counted once; LM_NO_PAGE: all are in use. */
uint32_t lm_pages_take(lm_pages *p);
/* The page behind `parent` (LM_NO_PAGE: the first of a sequence) that holds these tokens, counted once more;
 * LM_NO_PAGE: there is none. */
uint32_t lm_pages_find(lm_pages *p, uint32_t parent, const int32_t *tokens);
/* The page behind `parent` that begins with most of these n tokens, counted once more; *n_common: with how many, at
 * least 1. LM_NO_PAGE: there is none. */
uint32_t lm_pages_find_part(lm_pages *p, uint32_t parent, const int32_t *tokens, uint32_t n, uint32_t *n_common);
/* The page holds these n tokens, and no more will come if it is not full: others may find it. Nothing happens where one
 * that begins so is in the tree, or its parent is not. */
void lm_pages_publish(lm_pages *p, uint32_t page, uint32_t parent, const int32_t *tokens, uint32_t n);
void lm_pages_release(lm_pages *p, uint32_t page);

#endif
