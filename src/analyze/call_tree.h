/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile's paths as a tree, for one of its values. Frames of one function are joined, whatever
 * their addresses and lines are.
 */
#ifndef RS_ANALYZE_CALL_TREE_H
#define RS_ANALYZE_CALL_TREE_H

#include "analyze/profile.h"

struct rs_call_node {
	const struct rs_profile_frame *frame;	       /* one of those joined; NULL: the root */
	struct rs_call_node *parent, *child, *sibling; /* children are sorted by name */
	uint32_t depth;				       /* of the root: 0 */
	uint64_t self, total;
};

struct rs_call_tree {
	struct rs_call_node root;
	uint32_t n;	/* nodes below the root */
	uint32_t depth; /* of the deepest node */
	struct rs_map map;
	struct rs_arena arena;
};

/* Builds the tree of the paths whose value is not 0. The profile outlives the tree, which must not
 * move. */
struct rs_error *rs_call_tree_make(const struct rs_profile *profile, uint32_t value,
				   struct rs_call_tree *tree);
void rs_call_tree_deinit(struct rs_call_tree *tree);

/* Returns the node of another tree that has the same path, or NULL. */
const struct rs_call_node *rs_call_tree_same(const struct rs_call_tree *tree,
					     const struct rs_call_node *node);

/* Returns the node after `node` in depth-first order, or NULL. */
const struct rs_call_node *rs_call_tree_next(const struct rs_call_node *node);

#endif
