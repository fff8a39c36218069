/* SPDX-License-Identifier: BSD-2-Clause */
/* Dynamic variables: self->x and x[...]. */
#ifndef RS_LANG_VM_DYNAMIC_H
#define RS_LANG_VM_DYNAMIC_H

#include "base/map.h"
#include "lang/vm/builtin.h"

struct dynamic;
struct dynamics {
	struct rs_map by_key;
	uint64_t bytes, most;
	uint64_t drops;
	/* The addresses of structs and arrays contain a handle, so that a removed object is not
	 * found. */
	struct dynamic **handles;
	uint32_t *free; /* freed handles */
	size_t n_handles, n_free, handles_room, free_room;
};

/* Returns the variable of this key, or 0 or "" if there is none. A string is valid up to the next
 * store. */
struct value rs_lang_dynamic_load(const struct dynamics *dynamics, const struct value *key,
				  bool text);
/* Stores a value. 0 and "" free the variable. */
void rs_lang_dynamic_store(struct dynamics *dynamics, const struct value *key,
			   const struct value *value, bool text, size_t text_most);
/* Finds the object of this key; with `makes`, creates a missing one, zeroed. Returns false if it
 * does not exist or does not fit. */
bool rs_lang_dynamic_object_find(struct dynamics *dynamics, const struct value *key, uint32_t bytes,
				 bool makes, uint64_t *handle);
char *rs_lang_dynamic_object(const struct dynamics *dynamics, uint64_t handle, uint64_t *room);
void rs_lang_dynamic_object_free(struct dynamics *dynamics, const struct value *key);
void rs_lang_dynamic_deinit(struct dynamics *dynamics);

#endif
