/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ringside top`: a screen of the VMs' vCPUs and their activity. It has three independent parts:
 *
 *	struct rs_exits --> rs_top_page() --> lines of text --> rs_top_screen_draw() (a terminal)
 *	     key -------> rs_top_key() ---^             \-----> stdout (--batch)
 *
 * The page is complete as plain text; colours add no information.
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

/* The user's choices. Zero is the initial state. */
struct rs_top {
	enum rs_top_sort sort;
	char filter[RS_TOP_FILTER_MAX]; /* a glob on VMs' names; empty: all */
	char typing[RS_TOP_FILTER_MAX]; /* the filter during input */
	bool is_typing;
	bool paused;
	bool vms;    /* one line per VM, without its vCPUs */
	bool causes; /* below the list: causes of exits instead of reasons */
	bool help;
	/* The selected line: pid and tid of a vCPU, or pid and 0 of a VM; pid 0: the first line. */
	int pid, tid;
	size_t first; /* the first line of the list on the screen */
};

/* One line of the list. */
struct rs_top_row {
	const char *vm;
	int pid, tid, vcpu; /* a VM's: tid 0, vcpu -1 */
	bool is_vm, ended;
	uint64_t exits, wall_ns;
	uint64_t ns[RS_VCPU_STATES];
};

/* The other contents of the page. */
struct rs_top_about {
	const char *host;
	const char *clock;    /* the time of day */
	uint64_t interval_ns; /* the interval of the figures */
	const char *note;     /* a warning for the user, or NULL */
};

/* Makes the list of VMs, each followed by its vCPUs, sorted and filtered. The caller frees
 * *rows. */
struct rs_error *rs_top_rows(const struct rs_top *top, const struct rs_exits *exits,
			     struct rs_top_row **rows, size_t *n);

enum rs_top_style {
	RS_TOP_PLAIN,
	RS_TOP_HEAD,	 /* column heads */
	RS_TOP_SELECTED, /* also begins with '>' */
	RS_TOP_WARNING,
};

struct rs_top_line {
	char text[RS_TOP_COLUMNS_MAX * 4 + 1]; /* UTF-8 of at most `columns` columns */
	enum rs_top_style style;
};

struct rs_top_page {
	int columns, lines;
	struct rs_top_line line[RS_TOP_LINES_MAX];
};

/* Fills a page of this size. Moves the selection to the first line if its line is gone. */
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

/* Handles a character or an enum rs_top_key. Returns whether the user quits. */
bool rs_top_key(struct rs_top *top, const struct rs_exits *exits, int key);

/* ---- the terminal (ncurses) ----------------------------------------------------------------- */

/* Opens the terminal. Returns RS_FAILED if standard input or output is not a terminal, or if its
 * type is unknown. */
struct rs_error *rs_top_screen_open(void);
void rs_top_screen_close(void);
void rs_top_screen_size(int *columns, int *lines);
void rs_top_screen_draw(const struct rs_top_page *page);
/* Waits up to wait_ms for a key. Returns a character or an enum rs_top_key. */
int rs_top_screen_key(int wait_ms);

#endif
