/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash map compared with a linear search in an array; and arrays that grow. */
#include "../test.h"

#include "base/map.h"
#include "base/vector.h"

#define ITEMS 997

struct item {
	uint32_t key;
	bool in;
};

static bool same_key(const void *item, const void *key)
{
	return ((const struct item *)item)->key == *(const uint32_t *)key;
}

/* Spreads over the whole range, or over eight values, so that most searches probe others' slots. */
static uint64_t spread(uint32_t key)
{
	return rs_hash_pair(key, 0);
}

static uint64_t crowded(uint32_t key)
{
	return key % 8 * 31;
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33);
}

/* The map has exactly the items that were added and not removed. */
static void check_content(const struct rs_map *map, struct item *items, uint64_t (*hash)(uint32_t))
{
	size_t n = 0, met = 0, at = 0;
	struct item *item;

	for (uint32_t i = 0; i < ITEMS; i++) {
		n += items[i].in;
		item = rs_map_find(map, hash(i), same_key, &i);
		CHECK(item == (items[i].in ? &items[i] : NULL));
	}
	while ((item = rs_map_next(map, &at))) {
		CHECK(item->in);
		met++;
	}
	CHECK_EQ_U64(met, n);
	CHECK_EQ_U64(map->used, n);
}

static void adds_and_removes(uint64_t (*hash)(uint32_t))
{
	struct item items[ITEMS] = { 0 };
	struct rs_map map = { 0 };
	uint64_t state = 20;

	for (uint32_t i = 0; i < ITEMS; i++)
		items[i].key = i;
	check_content(&map, items, hash);
	for (uint32_t round = 0; round < 20000; round++) {
		struct item *item = &items[next_random(&state) % ITEMS];

		if (item->in) {
			rs_map_remove(&map, hash(item->key), item);
		} else {
			CHECK(rs_map_reserve(&map));
			rs_map_add(&map, hash(item->key), item);
		}
		item->in = !item->in;
		if (round % 1000 == 0)
			check_content(&map, items, hash);
	}
	check_content(&map, items, hash);
	rs_map_clear(&map);
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i].in = false;
	check_content(&map, items, hash);
	rs_map_deinit(&map);
	check_content(&map, items, hash);
}

TEST(a_map_has_the_items_added_and_not_removed)
{
	adds_and_removes(spread);
}

TEST(items_with_equal_hashes_are_distinguished)
{
	adds_and_removes(crowded);
}

TEST(a_pair_of_numbers_hashes_to_distinct_low_bits)
{
	static uint8_t used[4096];
	uint32_t buckets = 0;

	/*
	 * Domains and vCPUs: small numbers in both halves. With 4,096 random keys in 4,096 buckets,
	 * about 63 % of the buckets are used.
	 */
	for (uint64_t a = 0; a < 64; a++) {
		for (uint64_t b = 0; b < 64; b++)
			used[rs_hash_pair(a, b) & 4095] = 1;
	}
	for (size_t i = 0; i < 4096; i++)
		buckets += used[i];
	CHECK(buckets > 2300);
}

TEST(an_array_grows_and_keeps_its_items)
{
	uint32_t *numbers = NULL, n = 0, room = 0;

	for (; n < 100000; n++) {
		CHECK(RS_VECTOR_RESERVE(numbers, room, n + 1));
		CHECK(room > n);
		numbers[n] = n * 3;
	}
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ_U64(numbers[i], i * 3);
	CHECK(RS_VECTOR_RESERVE(numbers, room, 10));
	CHECK(room >= 100000);
	free(numbers);
}

TEST(an_array_that_cannot_grow_is_unchanged)
{
	uint8_t *bytes = NULL;
	size_t room = 0;

	CHECK(RS_VECTOR_RESERVE(bytes, room, 100));
	bytes[99] = 7;
	CHECK(!RS_VECTOR_RESERVE(bytes, room, SIZE_MAX));
	CHECK(!RS_VECTOR_RESERVE(bytes, room, UINT64_C(1) << 32));
	CHECK_EQ_U64(room, 100);
	CHECK_EQ_U64(bytes[99], 7);
	free(bytes);
}

