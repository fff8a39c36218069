/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamic variables: self->x and x[...]. Assigning a value other than 0 creates one; assigning 0
 * removes it. Variables that do not fit in dynvarsize are dropped and counted.
 */
#include "lang/vm/runtime.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/vector.h"

struct dynamic {
	uint64_t hash;
	union {
		uint64_t number;
		uint32_t len;
	};
	uint32_t key_bytes, object_bytes; /* for an object, number is its handle */
	char bytes[];			  /* of the key, then of a string or an object */
};

static bool same_key(const void *item, const void *key)
{
	const struct dynamic *have = item;
	const struct value *searched = key;

	return have->key_bytes == searched->len && !memcmp(have->bytes, searched->s, searched->len);
}

static struct dynamic *find(const struct dynamics *d, const struct value *key, uint64_t hash)
{
	return rs_map_find(&d->by_key, hash, same_key, key);
}

struct value rs_lang_dynamic_load(const struct dynamics *d, const struct value *key, bool text)
{
	const struct dynamic *have = find(d, key, XXH3_64bits(key->s, key->len));

	if (text)
		return have ? (struct value){ .s = have->bytes + have->key_bytes, .len = have->len }
			    : value_text("");
	return (struct value){ .i = have ? have->number : 0 };
}

static size_t bytes_of(const struct dynamic *have, bool text, size_t text_most)
{
	return sizeof(*have) + sizeof(have) + have->key_bytes + (text ? text_most : 0);
}

static void erase(struct dynamics *d, struct dynamic *have, bool text, size_t text_most)
{
	d->bytes -= bytes_of(have, text, text_most);
	rs_map_remove(&d->by_key, have->hash, have);
	free(have);
}

void rs_lang_dynamic_store(struct dynamics *d, const struct value *key, const struct value *value,
			   bool text, size_t text_most)
{
	uint64_t hash = XXH3_64bits(key->s, key->len);
	bool nothing = text ? !value->len : !value->i;
	struct dynamic *have = find(d, key, hash);

	if (nothing) {
		if (have)
			erase(d, have, text, text_most);
		return;
	}
	if (!have) {
		size_t bytes = sizeof(*have) + sizeof(have) + key->len + (text ? text_most : 0);

		have = d->bytes + bytes > d->most || !rs_map_reserve(&d->by_key)
			       ? NULL
			       : malloc(sizeof(*have) + key->len + (text ? text_most : 0));
		if (!have) {
			d->drops++;
			return;
		}
		have->hash = hash;
		have->key_bytes = key->len;
		memcpy(have->bytes, key->s, key->len);
		rs_map_add(&d->by_key, hash, have);
		d->bytes += bytes;
	}
	if (!text) {
		have->number = value->i;
		return;
	}
	have->len = value->len < text_most ? value->len : (uint32_t)text_most - 1;
	memmove(have->bytes + have->key_bytes, value->s, have->len);
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Returns an unused handle: the last freed one, or a new one. */
static bool handle_new(struct dynamics *d, struct dynamic *object)
{
	if (d->n_free) {
		object->number = d->free[--d->n_free];
	} else {
		if (!RS_VECTOR_RESERVE(d->handles, d->handles_room, d->n_handles + 1) ||
		    !RS_VECTOR_RESERVE(d->free, d->free_room, d->n_handles + 1))
			return false;
		object->number = d->n_handles++;
	}
	d->handles[object->number] = object;
	return true;
}

char *rs_lang_dynamic_object(const struct dynamics *d, uint64_t handle, uint64_t *room)
{
	struct dynamic *object = handle < d->n_handles ? d->handles[handle] : NULL;

	*room = object ? object->object_bytes : 0;
	return object ? object->bytes + object->key_bytes : NULL;
}

bool rs_lang_dynamic_object_find(struct dynamics *d, const struct value *key, uint32_t bytes,
				 bool makes, uint64_t *handle)
{
	uint64_t hash = XXH3_64bits(key->s, key->len);
	size_t size = sizeof(struct dynamic) + key->len + bytes;
	struct dynamic *object = find(d, key, hash);

	if (object) {
		*handle = object->number;
		return true;
	}
	if (!makes)
		return false;
	if (d->bytes + size + sizeof(object) <= d->most && rs_map_reserve(&d->by_key))
		object = calloc(1, size);
	if (!object || !handle_new(d, object)) {
		free(object);
		d->drops++;
		return false;
	}
	object->hash = hash;
	object->key_bytes = key->len;
	object->object_bytes = bytes;
	memcpy(object->bytes, key->s, key->len);
	rs_map_add(&d->by_key, hash, object);
	d->bytes += size + sizeof(object);
	*handle = object->number;
	return true;
}

void rs_lang_dynamic_object_free(struct dynamics *d, const struct value *key)
{
	struct dynamic *object = find(d, key, XXH3_64bits(key->s, key->len));

	if (!object)
		return;
	d->handles[object->number] = NULL;
	d->free[d->n_free++] = (uint32_t)object->number;
	erase(d, object, true, object->object_bytes);
}

void rs_lang_dynamic_deinit(struct dynamics *d)
{
	struct dynamic *have;
	size_t at = 0;

	while ((have = rs_map_next(&d->by_key, &at)))
		free(have);
	rs_map_deinit(&d->by_key);
	free(d->handles);
	free(d->free);
	*d = (struct dynamics){ 0 };
}
