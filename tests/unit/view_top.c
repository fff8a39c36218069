/* SPDX-License-Identifier: BSD-2-Clause */
/* `ringside top`: its pages for given figures, and the effect of keys. */
#include "../test.h"

#include <stdlib.h>

#include "view/top.h"

#define SEC UINT64_C(1000000000)

/* db has a busy vCPU 1 and a halted vCPU 0; web has one that polls; 10 is distinct from 1. */
static const struct rs_exits_vcpu vcpus[] = {
	{ .vm = "db",
	  .pid = 100,
	  .tid = 101,
	  .vcpu = 0,
	  .wall_ns = SEC,
	  .exits = 7,
	  .ns = { [RS_VCPU_GUEST] = SEC / 100, [RS_VCPU_HALTED] = SEC - SEC / 100 } },
	{ .vm = "db",
	  .pid = 100,
	  .tid = 102,
	  .vcpu = 1,
	  .wall_ns = SEC,
	  .exits = 40000,
	  .ns = { [RS_VCPU_GUEST] = SEC / 2,
		  [RS_VCPU_KERNEL] = SEC / 4,
		  [RS_VCPU_USER] = SEC / 8,
		  [RS_VCPU_WAIT] = SEC / 8 } },
	{ .vm = "web-1",
	  .pid = 200,
	  .tid = 201,
	  .vcpu = 0,
	  .wall_ns = SEC,
	  .exits = 500,
	  .ended = true,
	  .ns = { [RS_VCPU_POLL] = SEC } },
};
static struct rs_hist hist;
static const struct rs_exits_row rows[] = {
	{ .vm = "db",
	  .pid = 100,
	  .tid = 101,
	  .vcpu = 0,
	  .isa = RS_ISA_SVM,
	  .code = 0x78,
	  .count = 7,
	  .entered = 7,
	  .sum = { .total_ns = SEC, .off_ns = SEC },
	  .min_ns = SEC / 7,
	  .max_ns = SEC / 7,
	  .hist = &hist },
	{ .vm = "db",
	  .pid = 100,
	  .tid = 102,
	  .vcpu = 1,
	  .isa = RS_ISA_SVM,
	  .code = 0x7b,
	  .count = 30000,
	  .entered = 30000,
	  .min_ns = 4000,
	  .max_ns = 90000,
	  .hist = &hist,
	  .sum = { .total_ns = 300000000, .kernel_ns = 200000000, .user_ns = 100000000 } },
	{ .vm = "db",
	  .pid = 100,
	  .tid = 102,
	  .vcpu = 1,
	  .isa = RS_ISA_SVM,
	  .code = 0x72,
	  .count = 10000,
	  .entered = 10000,
	  .min_ns = 1000,
	  .max_ns = 5000,
	  .hist = &hist,
	  .sum = { .total_ns = 20000000, .kernel_ns = 20000000 } },
};
static const struct rs_exits_cause causes[] = {
	{ .vm = "db",
	  .pid = 100,
	  .tid = 102,
	  .vcpu = 1,
	  .kind = RS_CAUSE_PIO_WRITE,
	  .key = 0x3f8,
	  .count = 30000,
	  .entered = 30000,
	  .total_ns = 300000000,
	  .max_ns = 90000 },
};
static const struct rs_exits exits = {
	.to_ns = SEC,
	.latency = true,
	.causes = true,
	.rows = rows,
	.n_rows = 3,
	.vcpus = vcpus,
	.n_vcpus = 3,
	.cause_rows = causes,
	.n_causes = 1,
};
static const struct rs_top_about about = { .host = "box", .clock = "10:20:30", .interval_ns = SEC };

static struct rs_top_page page;

/* Returns the page for these choices, at a size. */
static void draw(struct rs_top *top, const struct rs_exits *of, int columns, int lines)
{
	REQUIRE_OK(rs_top_page(top, of, &about, columns, lines, &page));
	CHECK_EQ_U64((uint64_t)page.lines,
		     (uint64_t)(lines < RS_TOP_LINES_MIN ? RS_TOP_LINES_MIN : lines));
}

/* Checks that line n contains this text. */
static void has(int n, const char *text)
{
	if (!strstr(page.line[n].text, text))
		test_fail(TEST_HERE, "line %d has no '%s': '%s'", n, text, page.line[n].text);
}

static void press(struct rs_top *top, const char *keys)
{
	while (*keys)
		CHECK(!rs_top_key(top, &exits, *keys++));
}

TEST(a_page_of_80_by_24)
{
	static const char *const expected[] = {
		"ringside top  box  10:20:30  2 VMs, 3 vCPUs, 40507 exits/s, of 1.0 s",
		"sort: exits  filter: none",
		" VM             VCPU PID/TID   EXITS/S GUEST  KERN  USER  POLL  HALT BLOCK  WAIT",
		">db                *     100     40007  25.5  12.5   6.2   0.0  49.5   0.0   6.2",
		"   db              0     101       7.0   1.0   0.0   0.0   0.0  99.0   0.0   0.0",
		"   db              1     102     40000  50.0  25.0  12.5   0.0   0.0   0.0  12.5",
		" web-1             *     200       500   0.0   0.0   0.0 100.0   0.0   0.0   0.0",
		"   web-1           0     201       500   0.0   0.0   0.0 100.0   0.0   0.0   0.0",
		"-- db, all its vCPUs: exit reasons ---------------------------------------------",
		" REASON                         EXITS/S COUNT% SHARE%     MEAN      P99      MAX",
		" IOIO                             30000   75.0   15.0   10.0us        0   90.0us",
		" CPUID                            10000   25.0    1.0   2.00us        0   5.00us",
		" HLT                                7.0    0.0    0.0    143ms        0    143ms",
		"",
	};
	struct rs_top top = { 0 };

	draw(&top, &exits, 80, 24);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_STR(page.line[i].text, expected[i]);
	CHECK(page.line[3].style == RS_TOP_SELECTED);
	has(23, "q quit  h help");
}

TEST(any_size_is_filled_and_never_exceeded)
{
	struct rs_top top = { 0 };

	for (int columns = 0; columns < 300; columns += 7) {
		for (int lines = 0; lines < 60; lines += 3) {
			draw(&top, &exits, columns, lines);
			for (int i = 0; i < page.lines; i++) {
				int most =
					columns < RS_TOP_COLUMNS_MIN ? RS_TOP_COLUMNS_MIN : columns;

				CHECK(strlen(page.line[i].text) <= (size_t)most);
			}
		}
	}
}

TEST(sorting_keeps_vcpus_below_their_vm)
{
	struct rs_top top = { 0 };

	press(&top, "ssss"); /* exits, guest, kernel, user, poll */
	draw(&top, &exits, 80, 24);
	has(1, "sort: poll");
	has(3, "web-1");
	has(5, "db");
	has(7, "102");
	press(&top, "SSSSS");
	draw(&top, &exits, 80, 24);
	has(1, "sort: name");
	has(3, "db");
}

TEST(the_selection_stays_with_its_vcpu)
{
	struct rs_top top = { 0 };

	rs_top_key(&top, &exits, RS_TOP_KEY_DOWN);
	rs_top_key(&top, &exits, RS_TOP_KEY_DOWN);
	draw(&top, &exits, 80, 24);
	CHECK(page.line[5].style == RS_TOP_SELECTED);
	has(8, "-- db, vCPU 1: exit reasons");
	has(10, "IOIO");
	press(&top, "ssss"); /* another order: the same vCPU */
	draw(&top, &exits, 80, 24);
	CHECK(page.line[7].style == RS_TOP_SELECTED && page.line[7].text[0] == '>');
	press(&top, "v"); /* its line has disappeared: its VM */
	draw(&top, &exits, 80, 24);
	CHECK(page.line[4].style == RS_TOP_SELECTED);
	has(4, ">db");
	rs_top_key(&top, &exits, RS_TOP_KEY_HOME);
	draw(&top, &exits, 80, 24);
	has(3, ">web-1");
	for (int i = 0; i < 20; i++)
		rs_top_key(&top, &exits, RS_TOP_KEY_PAGE_DOWN);
	draw(&top, &exits, 80, 24);
	has(4, ">db");
}

TEST(a_filter_is_typed)
{
	struct rs_top top = { 0 };

	press(&top, "fwes");
	rs_top_key(&top, &exits, RS_TOP_KEY_ERASE);
	draw(&top, &exits, 80, 24);
	has(1, "filter VMs by name: we_");
	has(3, "db"); /* not yet */
	rs_top_key(&top, &exits, RS_TOP_KEY_ENTER);
	draw(&top, &exits, 80, 24);
	has(1, "filter: we");
	has(3, ">web-1");
	has(5, "-- web-1");
	press(&top, "fx");
	rs_top_key(&top, &exits, RS_TOP_KEY_ESCAPE);
	CHECK_STR(top.filter, "we");
	press(&top, "f*]");
	rs_top_key(&top, &exits, RS_TOP_KEY_ENTER);
	draw(&top, &exits, 80, 24);
	has(3, "no VM matches the filter");
	for (int i = 0; i < 100; i++)
		press(&top, "f0");
	CHECK(strlen(top.typing) < RS_TOP_FILTER_MAX);
}

TEST(pause_help_causes_and_quit)
{
	struct rs_top top = { 0 };
	struct rs_exits blind = exits;

	press(&top, "p");
	draw(&top, &exits, 80, 24);
	has(1, "PAUSED");
	press(&top, "h");
	draw(&top, &exits, 80, 24);
	has(2, "up, down");
	rs_top_key(&top, &exits, RS_TOP_KEY_ESCAPE);
	press(&top, "c");
	draw(&top, &exits, 80, 24);
	has(8, "exit causes");
	has(10, "0x3f8");
	blind.causes = false;
	draw(&top, &blind, 80, 24);
	has(9, "not recorded");
	CHECK(rs_top_key(&top, &exits, 'q'));
	CHECK(!rs_top_key(&top, &exits, RS_TOP_KEY_RESIZE));
}

TEST(no_exits_losses_and_unusual_names)
{
	static const struct rs_exits_vcpu odd[] = {
		{ .vm = "\x1b[2Jr\u00e9\u00e9l", .pid = 1, .tid = 2, .vcpu = -1, .wall_ns = 0 },
		{ .vm = NULL, .pid = 3, .tid = 4, .vcpu = 12345 },
	};
	struct rs_exits none = { .to_ns = SEC };
	struct rs_top top = { 0 };

	draw(&top, &none, 80, 24);
	has(3, "no vCPU has exited yet");
	CHECK(!rs_top_key(&top, &none, RS_TOP_KEY_DOWN));
	none.lost = 3;
	none.dropped = 5;
	draw(&top, &none, 80, 24);
	has(1, "3 records lost, 5 exits not counted");
	CHECK(page.line[1].style == RS_TOP_WARNING);
	none.vcpus = odd;
	none.n_vcpus = 2;
	draw(&top, &none, 80, 24);
	has(3, ">?[2Jr\u00e9\u00e9l          *       1         0     -");
	has(5, " -                 *       3");
	for (int i = 0; i < page.lines; i++)
		CHECK(!strchr(page.line[i].text, 0x1b));
}
