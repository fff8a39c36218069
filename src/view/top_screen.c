/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal of `ringside top`. Only this file uses ncurses. */
#include "view/top.h"

#include <locale.h>
#include <ncurses.h>
#include <string.h>
#include <unistd.h>

enum { PAIR_WARNING = 1, PAIR_HEAD };

static SCREEN *screen;
static bool colours;

struct rs_error *rs_top_screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return rs_error_create(RS_FAILED,
				       "standard input and output are not a terminal: use "
				       "--batch to print the page as text");
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return rs_error_create(RS_FAILED,
				       "the terminal's type (TERM) is unknown: use --batch to "
				       "print the page as text");
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	colours = has_colors() && start_color() == OK && use_default_colors() == OK;
	if (colours) {
		init_pair(PAIR_WARNING, COLOR_RED, -1);
		init_pair(PAIR_HEAD, COLOR_CYAN, -1);
	}
	return NULL;
}

void rs_top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void rs_top_screen_size(int *columns, int *lines)
{
	*columns = COLS;
	*lines = LINES;
}

static attr_t style_attributes(enum rs_top_style style)
{
	switch (style) {
	case RS_TOP_HEAD:
		return A_BOLD | (colours ? COLOR_PAIR(PAIR_HEAD) : 0);
	case RS_TOP_SELECTED:
		return A_REVERSE;
	case RS_TOP_WARNING:
		return A_BOLD | (colours ? COLOR_PAIR(PAIR_WARNING) : 0);
	case RS_TOP_PLAIN:
		break;
	}
	return A_NORMAL;
}

void rs_top_screen_draw(const struct rs_top_page *page)
{
	erase();
	for (int i = 0; i < page->lines && i < LINES; i++) {
		attrset((attr_t)style_attributes(page->line[i].style));
		mvaddnstr(i, 0, page->line[i].text, (int)strlen(page->line[i].text));
	}
	attrset(A_NORMAL);
	refresh();
}

int rs_top_screen_key(int wait_ms)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{ KEY_UP, RS_TOP_KEY_UP },	   { KEY_DOWN, RS_TOP_KEY_DOWN },
		{ KEY_PPAGE, RS_TOP_KEY_PAGE_UP }, { KEY_NPAGE, RS_TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, RS_TOP_KEY_HOME },	   { KEY_ENTER, RS_TOP_KEY_ENTER },
		{ '\n', RS_TOP_KEY_ENTER },	   { '\r', RS_TOP_KEY_ENTER },
		{ 27, RS_TOP_KEY_ESCAPE },	   { KEY_BACKSPACE, RS_TOP_KEY_ERASE },
		{ 127, RS_TOP_KEY_ERASE },	   { '\b', RS_TOP_KEY_ERASE },
		{ KEY_RESIZE, RS_TOP_KEY_RESIZE }, { ERR, RS_TOP_KEY_NONE },
	};
	int got;

	timeout(wait_ms);
	got = getch();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (got == keys[i].curses)
			return keys[i].key;
	}
	return got >= ' ' && got < 0x7f ? got : RS_TOP_KEY_NONE;
}
