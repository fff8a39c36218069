/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the call tree of a profile's paths. */
#include "analyze/call_tree.h"

#include <stdlib.h>
#include <string.h>

struct key {
	const struct rs_call_node *parent;
	const char *function;
};

static bool same_node(const void *item, const void *key)
{
	const struct rs_call_node *node = item;
	const struct key *k = key;

	return node->parent == k->parent && !strcmp(node->frame->function, k->function);
}

static uint64_t key_hash(const struct key *key)
{
	return rs_hash_pair(rs_hash_bytes(key->function, strlen(key->function)),
			    (uintptr_t)key->parent);
}

/* Finds or adds a node's child for a function. */
static struct rs_error *child_of(struct rs_call_tree *tree, struct rs_call_node *parent,
				 const struct rs_profile_frame *frame, struct rs_call_node **child)
{
	const struct key key = { parent, frame->function };
	uint64_t hash = key_hash(&key);

	*child = rs_map_find(&tree->map, hash, same_node, &key);
	if (*child)
		return NULL;
	if (rs_map_reserve(&tree->map))
		*child = rs_arena_alloc(&tree->arena, sizeof(**child));
	if (!*child)
		return rs_error_no_memory();
	**child = (struct rs_call_node){ .frame = frame,
					 .parent = parent,
					 .sibling = parent->child,
					 .depth = parent->depth + 1 };
	parent->child = *child;
	rs_map_add(&tree->map, hash, *child);
	tree->n++;
	if ((*child)->depth > tree->depth)
		tree->depth = (*child)->depth;
	return NULL;
}

static struct rs_error *path_add(struct rs_call_tree *tree, const struct rs_profile *profile,
				 const struct rs_profile_path *path, uint64_t amount)
{
	struct rs_call_node *node = &tree->root;
	struct rs_error *err = NULL;

	node->total += amount;
	for (uint32_t i = 0; !err && i < path->n; i++) {
		err = child_of(tree, node, profile->frames[path->frames[i]], &node);
		if (!err)
			node->total += amount;
	}
	if (!err)
		node->self += amount;
	return err;
}

/* ---- order ---------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
	const struct rs_call_node *a = *(struct rs_call_node *const *)left;
	const struct rs_call_node *b = *(struct rs_call_node *const *)right;

	return strcmp(a->frame->function, b->frame->function);
}

/* Sorts the children of a node, with room for all nodes in `list`. */
static void children_sort(struct rs_call_node *node, struct rs_call_node **list)
{
	struct rs_call_node **end = &node->child;
	size_t n = 0;

	for (struct rs_call_node *child = node->child; child; child = child->sibling)
		list[n++] = child;
	if (n < 2)
		return;
	qsort(list, n, sizeof(struct rs_call_node *), by_name);
	for (size_t i = 0; i < n; i++) {
		*end = list[i];
		end = &list[i]->sibling;
	}
	*end = NULL;
}

static struct rs_error *sort(struct rs_call_tree *tree)
{
	struct rs_call_node **list = calloc(tree->n + 1u, sizeof(struct rs_call_node *)), *node;

	if (!list)
		return rs_error_no_memory();
	children_sort(&tree->root, list);
	for (size_t at = 0; (node = rs_map_next(&tree->map, &at));)
		children_sort(node, list);
	free(list);
	return NULL;
}

struct rs_error *rs_call_tree_make(const struct rs_profile *profile, uint32_t value,
				   struct rs_call_tree *tree)
{
	struct rs_error *err = NULL;

	*tree = (struct rs_call_tree){ 0 };
	for (uint32_t i = 0; !err && i < profile->n_paths; i++) {
		const struct rs_profile_path *path = profile->paths[i];

		if (path->amounts[value])
			err = path_add(tree, profile, path, path->amounts[value]);
	}
	return err ? err : sort(tree);
}

void rs_call_tree_deinit(struct rs_call_tree *tree)
{
	rs_map_deinit(&tree->map);
	rs_arena_deinit(&tree->arena);
}

const struct rs_call_node *rs_call_tree_same(const struct rs_call_tree *tree,
					     const struct rs_call_node *node)
{
	const struct rs_call_node *path[RS_PROFILE_DEPTH_MAX], *at = &tree->root;
	uint32_t n = 0;

	for (; node->frame && n < RS_PROFILE_DEPTH_MAX; node = node->parent)
		path[n++] = node;
	while (n && at) {
		const struct key key = { at, path[--n]->frame->function };

		at = rs_map_find(&tree->map, key_hash(&key), same_node, &key);
	}
	return at;
}

const struct rs_call_node *rs_call_tree_next(const struct rs_call_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->sibling)
		node = node->parent;
	return node ? node->sibling : NULL;
}
