/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes folded stacks: a line for each call path, the outermost function first, with its value.
 *
 *	main;serve;read_file 4096
 */
#include "export/profile.h"

#include "analyze/call_tree.h"

/* Writes a function's name, without the characters that have a meaning in the format. */
static void put_name(struct rs_out *out, const char *name)
{
	for (; *name; name++) {
		rs_out_line(out);
		rs_out_char(out, *name == ';' ? ':' : (uint8_t)*name < ' ' ? '?' : *name);
	}
}

/* Writes the functions from the outermost one to the node's. */
static void put_path(struct rs_out *out, const struct rs_call_node *node)
{
	const struct rs_call_node *path[RS_PROFILE_DEPTH_MAX];
	uint32_t n = 0;

	for (; node->frame && n < RS_PROFILE_DEPTH_MAX; node = node->parent)
		path[n++] = node;
	while (n) {
		put_name(out, path[--n]->frame->function);
		rs_out_line(out);
		rs_out_char(out, n ? ';' : ' ');
	}
}

struct rs_error *rs_profile_write_folded(const struct rs_profile *profile,
					 const struct rs_profile_what *what, struct rs_out *out)
{
	const struct rs_call_node *node;
	struct rs_call_tree tree;
	struct rs_error *err = rs_call_tree_make(profile, what->value, &tree);

	for (node = &tree.root; !err && node; node = rs_call_tree_next(node)) {
		if (!node->frame || !node->self)
			continue;
		put_path(out, node);
		rs_out_dec(out, node->self);
		rs_out_char(out, '\n');
	}
	rs_call_tree_deinit(&tree);
	return err;
}
