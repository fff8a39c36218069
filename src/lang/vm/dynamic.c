/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamic variables: self->x and x[...]. They come to be when something that is not zero is
 * assigned, and go when zero is. What finds no room within dynvarsize is dropped, and counted.
 */
#include "lang/vm/runtime.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define TABLE_MIN 64

struct dynamic {
	uint64_t hash;
	union {
		uint64_t number;
		uint32_t len;
	};
	uint32_t key_bytes, object_bytes; /* of an object: number is its handle */
	char bytes[];			  /* the key's, then a string's or an object's */
};

static size_t find(const struct dynamics *d, const struct value *key, uint64_t hash)
{
	size_t at = hash & d->mask;

	for (;; at = (at + 1) & d->mask) {
		const struct dynamic *have = d->at[at];

		if (!have || (have->hash == hash && have->key_bytes == key->len &&
			      !memcmp(have->bytes, key->s, key->len)))
			return at;
	}
}

struct value dynamic_load(const struct dynamics *d, const struct value *key, bool text)
{
	const struct dynamic *have = NULL;

	if (d->at)
		have = d->at[find(d, key, XXH3_64bits(key->s, key->len))];
	if (text)
		return have ? (struct value){ .s = have->bytes + have->key_bytes, .len = have->len }
			    : value_text("");
	return (struct value){ .i = have ? have->number : 0 };
}

static bool grow(struct dynamics *d)
{
	size_t size = d->at ? (d->mask + 1) * 2 : TABLE_MIN;
	struct dynamics more = *d;

	if (d->at && d->used * 2 < d->mask)
		return true;
	more.at = calloc(size, sizeof(*more.at));
	if (!more.at)
		return d->at && d->used < d->mask; /* the old one must keep a hole */
	more.mask = size - 1;
	for (size_t i = 0; d->at && i <= d->mask; i++) {
		size_t at;

		if (!d->at[i])
			continue;
		for (at = d->at[i]->hash & more.mask; more.at[at]; at = (at + 1) & more.mask)
			;
		more.at[at] = d->at[i];
	}
	free(d->at);
	*d = more;
	return true;
}

static size_t bytes_of(const struct dynamic *have, bool text, size_t text_most)
{
	return sizeof(*have) + sizeof(have) + have->key_bytes + (text ? text_most : 0);
}

/* Those behind a hole that is made move up, so that no search ends too soon. */
static void erase(struct dynamics *d, size_t at, bool text, size_t text_most)
{
	size_t hole = at;

	d->bytes -= bytes_of(d->at[at], text, text_most);
	d->used--;
	free(d->at[at]);
	d->at[at] = NULL;
	for (at = (at + 1) & d->mask; d->at[at]; at = (at + 1) & d->mask) {
		size_t home = d->at[at]->hash & d->mask;

		if (((at - home) & d->mask) < ((at - hole) & d->mask))
			continue;
		d->at[hole] = d->at[at];
		d->at[at] = NULL;
		hole = at;
	}
}

void dynamic_store(struct dynamics *d, const struct value *key, const struct value *value,
		   bool text, size_t text_most)
{
	uint64_t hash = XXH3_64bits(key->s, key->len);
	bool nothing = text ? !value->len : !value->i;
	struct dynamic *have;
	size_t at;

	if (nothing && !d->at)
		return;
	if (!nothing && !grow(d)) {
		d->drops++;
		return;
	}
	at = find(d, key, hash);
	have = d->at[at];
	if (nothing) {
		if (have)
			erase(d, at, text, text_most);
		return;
	}
	if (!have) {
		size_t bytes = sizeof(*have) + sizeof(have) + key->len + (text ? text_most : 0);

		have = d->bytes + bytes > d->most
			       ? NULL
			       : malloc(sizeof(*have) + key->len + (text ? text_most : 0));
		if (!have) {
			d->drops++;
			return;
		}
		have->hash = hash;
		have->key_bytes = key->len;
		memcpy(have->bytes, key->s, key->len);
		d->at[at] = have;
		d->bytes += bytes;
		d->used++;
	}
	if (!text) {
		have->number = value->i;
		return;
	}
	have->len = value->len < text_most ? value->len : (uint32_t)text_most - 1;
	memmove(have->bytes + have->key_bytes, value->s, have->len);
}

/* ---- objects ------------------------------------------------------------------------------ */

/* A handle that no object has; of those that were given back the last. */
static bool handle_new(struct dynamics *d, struct dynamic *object)
{
	if (d->n_free) {
		object->number = d->free[--d->n_free];
	} else {
		if (d->n_handles == d->handles_room) {
			size_t room = d->handles_room ? d->handles_room * 2 : TABLE_MIN;
			struct dynamic **handles = realloc(d->handles, room * sizeof(*handles));
			uint32_t *free_ones = realloc(d->free, room * sizeof(*free_ones));

			d->handles = handles ? handles : d->handles;
			d->free = free_ones ? free_ones : d->free;
			if (!handles || !free_ones)
				return false;
			d->handles_room = room;
		}
		object->number = d->n_handles++;
	}
	d->handles[object->number] = object;
	return true;
}

char *dynamic_object(const struct dynamics *d, uint64_t handle, uint64_t *room)
{
	struct dynamic *object = handle < d->n_handles ? d->handles[handle] : NULL;

	*room = object ? object->object_bytes : 0;
	return object ? object->bytes + object->key_bytes : NULL;
}

bool dynamic_object_find(struct dynamics *d, const struct value *key, uint32_t bytes, bool makes,
			 uint64_t *handle)
{
	uint64_t hash = XXH3_64bits(key->s, key->len);
	size_t size = sizeof(struct dynamic) + key->len + bytes, at;
	struct dynamic *object;

	if (makes && !grow(d)) {
		d->drops++;
		return false;
	}
	if (!d->at)
		return false;
	at = find(d, key, hash);
	if (d->at[at]) {
		*handle = d->at[at]->number;
		return true;
	}
	if (!makes)
		return false;
	object = d->bytes + size + sizeof(object) > d->most ? NULL : calloc(1, size);
	if (!object || !handle_new(d, object)) {
		free(object);
		d->drops++;
		return false;
	}
	object->hash = hash;
	object->key_bytes = key->len;
	object->object_bytes = bytes;
	memcpy(object->bytes, key->s, key->len);
	d->at[at] = object;
	d->bytes += size + sizeof(object);
	d->used++;
	*handle = object->number;
	return true;
}

void dynamic_object_free(struct dynamics *d, const struct value *key)
{
	struct dynamic *object;
	size_t at;

	if (!d->at)
		return;
	at = find(d, key, XXH3_64bits(key->s, key->len));
	object = d->at[at];
	if (!object)
		return;
	d->handles[object->number] = NULL;
	d->free[d->n_free++] = (uint32_t)object->number;
	erase(d, at, true, object->object_bytes);
}

void dynamics_deinit(struct dynamics *d)
{
	for (size_t i = 0; d->at && i <= d->mask; i++)
		free(d->at[i]);
	free(d->at);
	free(d->handles);
	free(d->free);
	*d = (struct dynamics){ 0 };
}
