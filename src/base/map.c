/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash map's slots: growth, addition, removal. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define SLOTS_FIRST 64u

void rs_map_deinit(struct rs_map *map)
{
	free(map->slots);
	*map = (struct rs_map){ 0 };
}

bool rs_map_reserve(struct rs_map *map)
{
	size_t size = map->slots ? map->mask + 1 : 0;
	struct rs_map more = { .mask = size ? size * 2 - 1 : SLOTS_FIRST - 1 };

	if ((map->used + 1) * 4 <= size * 3)
		return true;
	more.slots = calloc(more.mask + 1, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (map->slots[i].item)
			rs_map_add(&more, map->slots[i].hash, map->slots[i].item);
	}
	free(map->slots);
	*map = more;
	return true;
}

void rs_map_add(struct rs_map *map, uint64_t hash, void *item)
{
	size_t i = hash;

	while (map->slots[i & map->mask].item)
		i++;
	map->slots[i & map->mask] = (struct rs_map_slot){ hash, item };
	map->used++;
}

/* The items after the hole move up if possible, so that no search ends at the hole. */
void rs_map_remove(struct rs_map *map, uint64_t hash, const void *item)
{
	struct rs_map_slot *slots = map->slots;
	size_t hole = hash & map->mask;

	while (slots[hole].item != item)
		hole = (hole + 1) & map->mask;
	slots[hole].item = NULL;
	map->used--;
	for (size_t at = (hole + 1) & map->mask; slots[at].item; at = (at + 1) & map->mask) {
		size_t home = slots[at].hash & map->mask;

		if (((at - home) & map->mask) < ((at - hole) & map->mask))
			continue;
		slots[hole] = slots[at];
		slots[at].item = NULL;
		hole = at;
	}
}

void rs_map_clear(struct rs_map *map)
{
	if (map->slots)
		memset(map->slots, 0, (map->mask + 1) * sizeof(*map->slots));
	map->used = 0;
}

void *rs_map_next(const struct rs_map *map, size_t *at)
{
	while (map->slots && *at <= map->mask) {
		void *item = map->slots[(*at)++].item;

		if (item)
			return item;
	}
	return NULL;
}

uint64_t rs_hash_bytes(const void *bytes, size_t n)
{
	return XXH3_64bits(bytes, n);
}
