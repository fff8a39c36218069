/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a flame graph: an SVG in which a function's width is its inclusive value, and its callers
 * are below it. Its script (flame.js) zooms and searches; without scripts, the graph is still
 * complete. The file needs no network and no other file.
 */
#include "export/profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/call_tree.h"
#include "base/utf8.h"

#define WIDTH	   1200.0
#define LEFT	   10.0
#define ROW	   17u
#define HEAD	   60u
#define FOOT	   20u
#define CHARACTER  7.0 /* approximate pixels of a character in a label */
#define LEAST	   0.1 /* pixels: a narrower frame is left out */
#define NUMBER_MAX 256

/* The script as text, generated from flame.js by the build. */
static const char script[] = {
#include "export/flame.js.inc"
	0
};

struct flame {
	struct rs_out *out;
	const struct rs_profile *profile;
	const struct rs_profile_what *what;
	const struct rs_call_tree *tree;
	uint32_t height;
	uint64_t left_out; /* frames that are too narrow */
};

/* Returns the length of the character at text, or 0 if XML forbids it (XML 1.0, 2.2 Characters): a
 * control, U+FFFE, U+FFFF, and a byte that is not UTF-8. */
static size_t character_len(const char *text, size_t left)
{
	size_t len = (uint8_t)*text < ' ' ? 0 : rs_utf8_sequence_len(text, left);

	if (len == 3 && (!memcmp(text, "\xef\xbf\xbe", 3) || !memcmp(text, "\xef\xbf\xbf", 3)))
		return 0;
	return len;
}

/* Writes at most so many characters of a text in XML. Bytes that XML forbids become '?'. */
static void put_text(struct rs_out *out, const char *text, size_t most)
{
	size_t left = strlen(text), len;

	for (; left && most; text += len, left -= len, most--) {
		len = character_len(text, left);
		rs_out_line(out);
		if (len != 1) {
			rs_out_bytes(out, len ? text : "?", len ? len : 1);
			len = len ? len : 1;
			continue;
		}
		switch (*text) {
		case '<':
			rs_out_text(out, "&lt;");
			break;
		case '>':
			rs_out_text(out, "&gt;");
			break;
		case '&':
			rs_out_text(out, "&amp;");
			break;
		case '"':
			rs_out_text(out, "&quot;");
			break;
		default:
			rs_out_char(out, *text);
		}
	}
}

__attribute__((format(printf, 2, 3))) static void put(struct rs_out *out, const char *format, ...)
{
	char text[NUMBER_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rs_out_line(out);
	rs_out_text(out, text);
}

static void head(const struct flame *f)
{
	struct rs_out *out = f->out;

	put(out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
	    "height=\"%u\" viewBox=\"0 0 %.0f %u\" ",
	    WIDTH + 2 * LEFT, f->height, WIDTH + 2 * LEFT, f->height);
	put(out, "data-columns=\"%" PRIu64 "\" data-left=\"%.0f\" data-width=\"%.0f\">\n",
	    f->tree->root.total, LEFT, WIDTH);
	rs_out_line(out);
	rs_out_text(out, "<style>\n"
			 "text { font: 12px monospace; fill: #000; }\n"
			 ".f { cursor: pointer; }\n"
			 ".f:hover rect { stroke: #000; }\n"
			 ".hit rect { fill: #e600e6; }\n"
			 ".parent rect { opacity: 0.5; }\n"
			 "#title { font-size: 16px; text-anchor: middle; }\n"
			 "#reset, #search { cursor: pointer; fill: #00c; }\n"
			 "#found { text-anchor: end; }\n"
			 "</style>\n"
			 "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	put(out, "<text id=\"title\" x=\"%.0f\" y=\"24\">", LEFT + WIDTH / 2);
	put_text(out, f->what->title, SIZE_MAX);
	rs_out_text(out, "</text>\n");
	put(out,
	    "<text id=\"reset\" x=\"%.0f\" y=\"44\" style=\"display:none\">Reset zoom</text>\n"
	    "<text id=\"search\" x=\"%.0f\" y=\"44\">Search</text>\n"
	    "<text id=\"found\" x=\"%.0f\" y=\"%u\"></text>\n",
	    LEFT, LEFT + WIDTH - 50, LEFT + WIDTH, f->height - 6);
}

/* Returns a color by the function's name, the same in each graph. */
static uint32_t color(const char *name)
{
	uint64_t hash = rs_hash_bytes(name, strlen(name));

	return (205 + hash % 50) << 16 | (hash >> 8) % 230 << 8 | (hash >> 16) % 55;
}

static void frame(struct flame *f, const struct rs_call_node *node, uint64_t from)
{
	const char *name = node->frame ? node->frame->function : "all";
	double columns = f->tree->root.total ? (double)f->tree->root.total : 1;
	double x = LEFT + (double)from / columns * WIDTH;
	double width = (double)node->total / columns * WIDTH;
	uint32_t y = f->height - FOOT - (node->depth + 1) * ROW;
	size_t room = width > 3 * CHARACTER ? (size_t)((width - 6) / CHARACTER) : 0;
	struct rs_out *out = f->out;

	if (width < LEAST && node->frame) {
		f->left_out++;
		return;
	}
	put(out, "<g class=\"f\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-depth=\"%u\" ",
	    from, node->total, node->depth);
	rs_out_text(out, "data-name=\"");
	put_text(out, name, SIZE_MAX);
	rs_out_line(out);
	rs_out_text(out, "\"><title>");
	put_text(out, name, SIZE_MAX);
	put(out, " (%" PRIu64 " %s, %.2f%%", node->total, f->profile->values[f->what->value].unit,
	    100 * (double)node->total / columns);
	if (node->self)
		put(out, "; %" PRIu64 " of its own", node->self);
	if (node->frame && node->frame->file) {
		rs_out_text(out, "; ");
		put_text(out, node->frame->file, SIZE_MAX);
		put(out, ":%u", node->frame->line);
	}
	put(out, ")</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"#%06x\"/>",
	    x, y, width > 0.6 ? width - 0.5 : width, ROW - 1, color(name));
	put(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
	if (rs_utf8_characters(name) <= room) {
		put_text(out, name, SIZE_MAX);
	} else if (room >= 3) {
		put_text(out, name, room - 2);
		rs_out_text(out, "..");
	}
	rs_out_line(out);
	rs_out_text(out, "</text></g>\n");
}

/* Writes the frames, each from the column at which its caller's next callee begins. */
static struct rs_error *frames(struct flame *f)
{
	uint64_t *next = calloc(f->tree->depth + 2u, sizeof(*next)); /* by depth */

	if (!next)
		return rs_error_no_memory();
	for (const struct rs_call_node *node = &f->tree->root; node;
	     node = rs_call_tree_next(node)) {
		uint64_t from = next[node->depth];

		frame(f, node, from);
		next[node->depth] = from + node->total;
		next[node->depth + 1] = from;
	}
	free(next);
	return NULL;
}

struct rs_error *rs_profile_write_flame(const struct rs_profile *profile,
					const struct rs_profile_what *what, struct rs_out *out)
{
	struct rs_call_tree tree;
	struct rs_error *err = rs_call_tree_make(profile, what->value, &tree);
	struct flame f = { .out = out, .profile = profile, .what = what, .tree = &tree };

	f.height = HEAD + (tree.depth + 1) * ROW + FOOT;
	if (!err) {
		head(&f);
		err = frames(&f);
	}
	if (!err && f.left_out)
		put(out,
		    "<text x=\"%.0f\" y=\"%u\">%" PRIu64
		    " frames are narrower than %.1f pixels and not shown</text>\n",
		    LEFT, f.height - 6, f.left_out, LEAST);
	rs_out_text(out, "<script><![CDATA[\n");
	rs_out_long(out, script, sizeof(script) - 1);
	rs_out_line(out);
	rs_out_text(out, "]]></script>\n</svg>\n");
	rs_call_tree_deinit(&tree);
	return err;
}
