/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ringside top`: a screen of what the VMs' vCPUs do. Three parts that know nothing of each other's
 * insides:
 *
 *	struct rs_exits --> rs_top_page() --> lines of text --> rs_top_screen_draw() (a terminal)
 *	     key -------> rs_top_key() ---^             \-----> stdout (--batch)
 *
 * The page says everything in words and places; colour only adds to it.
 */
#ifndef RS_VIEW_TOP_H
#define RS_VIEW_TOP_H

#include "analyze/exits.h"

#define RS_TOP_FILTER_MAX  32
#define RS_TOP_COLUMNS_MAX 200
#define RS_TOP_COLUMNS_MIN 40
#define RS_TOP_LINES_MAX   400
#define RS_TOP_LINES_MIN   8

enum rs_top_sort {
	RS_TOP_BY_EXITS,
	RS_TOP_BY_GUEST,
	RS_TOP_BY_KERNEL,
	RS_TOP_BY_USER,
	RS_TOP_BY_POLL,
	RS_TOP_BY_HALTED,
	RS_TOP_BY_WAIT,
	RS_TOP_BY_NAME,
	RS_TOP_SORTS,
};

/* What the reader has chosen. Zero is a good beginning. */
struct rs_top {
	enum rs_top_sort sort;
	char filter[RS_TOP_FILTER_MAX]; /* a glob on VMs' names; empty: all */
	char typing[RS_TOP_FILTER_MAX]; /* a filter in the making */
	bool is_typing;
	bool paused;
	bool vms;    /* a line a VM, without its vCPUs */
	bool causes; /* below: what the exits were about, not their reasons */
	bool help;
	/* The selected line: a vCPU's pid and tid, a VM's pid and 0; pid 0: the first line. */
	int pid, tid;
	size_t first; /* line of the list that is shown first */
};

/* One line of the list. */
struct rs_top_row {
	const char *vm;
	int pid, tid, vcpu; /* a VM's: tid 0, vcpu -1 */
	bool is_vm, ended;
	uint64_t exits, wall_ns;
	uint64_t ns[RS_VCPU_STATES];
};

/* What stands on the screen apart from the VMs. */
struct rs_top_about {
	const char *host;
	const char *clock;    /* the time of day */
	uint64_t interval_ns; /* that the figures are of */
	const char *note;     /* NULL, or what the reader must know */
};

/* The list: VMs, each followed by its vCPUs, sorted and filtered; *rows malloc()ed. */
struct rs_error *rs_top_rows(const struct rs_top *top, const struct rs_exits *exits,
			     struct rs_top_row **rows, size_t *n);

enum rs_top_look {
	RS_TOP_PLAIN,
	RS_TOP_HEAD,	 /* column heads */
	RS_TOP_SELECTED, /* has '>' in front, too */
	RS_TOP_WARNING,
};

struct rs_top_line {
	char text[RS_TOP_COLUMNS_MAX * 4 + 1]; /* UTF-8 of at most `columns` columns */
	enum rs_top_look look;
};

struct rs_top_page {
	int columns, lines;
	struct rs_top_line line[RS_TOP_LINES_MAX];
};

/* Fills a page of that size; moves top's selection and first line to what there is. */
struct rs_error *rs_top_page(struct rs_top *top, const struct rs_exits *exits,
			     const struct rs_top_about *about, int columns, int lines,
			     struct rs_top_page *page);

enum rs_top_key {
	RS_TOP_KEY_UP = 0x110000, /* above any character */
	RS_TOP_KEY_DOWN,
	RS_TOP_KEY_PAGE_UP,
	RS_TOP_KEY_PAGE_DOWN,
	RS_TOP_KEY_HOME,
	RS_TOP_KEY_ENTER,
	RS_TOP_KEY_ESCAPE,
	RS_TOP_KEY_ERASE,
	RS_TOP_KEY_RESIZE,
	RS_TOP_KEY_NONE,
};

/* A character or a key; true: the reader wants to leave. */
bool rs_top_key(struct rs_top *top, const struct rs_exits *exits, int key);

/* ---- the terminal (ncurses) ----------------------------------------------------------------- */

/* RS_FAILED: this is no terminal, or one that can't be used; says which. */
struct rs_error *rs_top_screen_open(void);
void rs_top_screen_close(void);
void rs_top_screen_size(int *columns, int *lines);
void rs_top_screen_draw(const struct rs_top_page *page);
/* Waits up to wait_ms for a key. */
int rs_top_screen_key(int wait_ms);

#endif
