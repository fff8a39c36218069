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
	/* Structs and arrays have an address: by handle, so that what is gone is not found. */
	struct dynamic **handles;
	uint32_t *free; /* handles that are given back */
	size_t n_handles, n_free, handles_room, free_room;
};

/* The variable of this key; *text is its string. 0 and "" where there is none. */
struct value rs_lang_dynamic_load(const struct dynamics *dynamics, const struct value *key,
				  bool text);
/* 0 and "" give its memory back. */
void rs_lang_dynamic_store(struct dynamics *dynamics, const struct value *key,
			   const struct value *value, bool text, size_t text_most);
/* The object of this key; it is made, of zeros, or it is not there, or there is no room: false. */
bool rs_lang_dynamic_object_find(struct dynamics *dynamics, const struct value *key, uint32_t bytes,
				 bool makes, uint64_t *handle);
char *rs_lang_dynamic_object(const struct dynamics *dynamics, uint64_t handle, uint64_t *room);
void rs_lang_dynamic_object_free(struct dynamics *dynamics, const struct value *key);
void rs_lang_dynamic_deinit(struct dynamics *dynamics);

#endif
