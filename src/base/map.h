/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map by open addressing. It holds pointers to items that the caller owns; an item has its
 * own key. The caller passes the key's hash (below) and a function that compares an item with a
 * key, which the compiler inlines. A zeroed map is empty. One thread at a time may use a map.
 *
 *	item = rs_map_find(&map, rs_hash_pair(dom, vcpu), same_vcpu, &key);
 *	if (!item && rs_map_reserve(&map))
 *		rs_map_add(&map, rs_hash_pair(dom, vcpu), item = make(&key));
 *
 * A slot is 16 bytes. At least one slot in four is free, so a search ends.
 */
#ifndef RS_BASE_MAP_H
#define RS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_map_slot {
	uint64_t hash;
	void *item; /* NULL: free */
};

struct rs_map {
	struct rs_map_slot *slots;
	size_t mask; /* slots - 1; 0 without slots */
	size_t used;
};

/* Frees the slots, but not the items. The map is then empty, and can be used again. */
void rs_map_deinit(struct rs_map *map);

/* Makes room for one more item. Returns false if out of memory. */
bool rs_map_reserve(struct rs_map *map);

/* Adds an item with a key that is not in the map. Each call requires a preceding successful
 * rs_map_reserve(). */
void rs_map_add(struct rs_map *map, uint64_t hash, void *item);

/* Removes an item that is in the map under this hash. */
void rs_map_remove(struct rs_map *map, uint64_t hash, const void *item);

/* Removes all items, and keeps the slots. */
void rs_map_clear(struct rs_map *map);

/* Returns the next item, in no particular order, or NULL after the last. The caller sets *at to 0
 * first. The map must not change in between. */
void *rs_map_next(const struct rs_map *map, size_t *at);

/* Returns the item with this key, or NULL. */
static inline __attribute__((always_inline)) void *
rs_map_find(const struct rs_map *map, uint64_t hash,
	    bool (*same)(const void *item, const void *key), const void *key)
{
	if (!map->slots)
		return NULL;
	for (size_t i = hash;; i++) {
		const struct rs_map_slot *slot = &map->slots[i & map->mask];

		if (!slot->item)
			return NULL;
		if (slot->hash == hash && same(slot->item, key))
			return slot->item;
	}
}

/* Hashes two numbers: the halves of the product of both, each with a constant's bits flipped (as
 * wyhash does), so that each bit of either changes about half of the result's. */
static inline uint64_t rs_hash_pair(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
				    (b ^ UINT64_C(0xe7037ed1a0b428db));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes bytes, by XXH3. */
uint64_t rs_hash_bytes(const void *bytes, size_t n);

#endif
