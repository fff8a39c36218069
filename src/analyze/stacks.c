/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores each distinct call stack once. */
#include "analyze/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct key {
	const struct rs_schema *schema;
	const uint8_t *raw;
	uint64_t by_fp;
	uint32_t n;
};

static bool same_stack(const void *item, const void *key)
{
	const struct rs_stack *stack = item;
	const struct key *k = key;

	return stack->n == k->n && stack->schema == k->schema && stack->by_fp == k->by_fp &&
	       !memcmp(stack->addresses, k->raw, k->n * sizeof(uint64_t));
}

static struct rs_error *add(struct rs_stacks *stacks, const struct key *key, struct rs_stack **out)
{
	size_t bytes = key->n * sizeof(uint64_t);
	struct rs_stack *stack = NULL;
	uint64_t *addresses;

	if (RS_VECTOR_RESERVE(stacks->at, stacks->room, stacks->n + 1))
		stack = rs_arena_alloc(&stacks->arena, sizeof(*stack) + bytes);
	if (!stack)
		return rs_error_no_memory();
	addresses = (uint64_t *)(stack + 1);
	if (bytes)
		memcpy(addresses, key->raw, bytes);
	*stack = (struct rs_stack){ .schema = key->schema,
				    .addresses = addresses,
				    .by_fp = key->by_fp,
				    .n = key->n,
				    .index = stacks->n };
	stacks->at[stacks->n++] = stack;
	*out = stack;
	return NULL;
}

struct rs_error *rs_stacks_init(struct rs_stacks *stacks)
{
	struct rs_stack *others;

	return add(stacks, &(struct key){ 0 }, &others);
}

void rs_stacks_deinit(struct rs_stacks *stacks)
{
	rs_map_deinit(&stacks->map);
	rs_arena_deinit(&stacks->arena);
	free(stacks->at);
}

struct rs_error *rs_stacks_intern(struct rs_stacks *stacks, const struct rs_schema *schema,
				  const uint8_t *raw, uint32_t n, uint64_t by_fp, uint32_t *index)
{
	const struct key key = { schema, raw, by_fp, n };
	uint64_t hash =
		rs_hash_bytes(raw, n * sizeof(uint64_t)) ^ rs_hash_pair((uintptr_t)schema, by_fp);
	struct rs_stack *stack = rs_map_find(&stacks->map, hash, same_stack, &key);
	struct rs_error *err;

	*index = stack ? stack->index : RS_STACKS_OTHERS;
	if (stack || stacks->n == RS_STACKS_MAX)
		return NULL;
	if (!rs_map_reserve(&stacks->map))
		return rs_error_no_memory();
	err = add(stacks, &key, &stack);
	if (err)
		return err;
	rs_map_add(&stacks->map, hash, stack);
	*index = stack->index;
	return NULL;
}
