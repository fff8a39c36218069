/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two channels to QEMU, GDB's and QMP, with a scripted peer: split anywhere, wrong, endless, or
 * closed. tests/replay uses a real QEMU.
 */
#include "../test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/gdb.h"
#include "replay/qmp.h"

/* The peer: for each line of a script, waits until `heard` has arrived, then sends `says`. */
struct turn {
	const char *heard; /* NULL: sends immediately */
	const char *says;
	bool drips; /* a byte at a time */
};

struct other {
	int fd, ours; /* its end; the client's, which takes ownership */
	const struct turn *turns;
	size_t n;
	pthread_t thread;
};

static void send_turn(int fd, const struct turn *turn)
{
	size_t len = strlen(turn->says), part = turn->drips ? 1 : len;

	for (size_t at = 0; at < len; at += part)
		if (send(fd, turn->says + at, part, MSG_NOSIGNAL) < 0)
			return;
}

static void *run_script(void *arg)
{
	const struct other *o = arg;
	int fd = o->fd;
	char heard[65536] = "";
	size_t used = 0;

	for (size_t i = 0; i < o->n; i++) {
		char *found = heard;

		while (o->turns[i].heard && !(found = strstr(heard, o->turns[i].heard))) {
			ssize_t n = read(fd, heard + used, sizeof(heard) - 1 - used);

			if (n <= 0)
				goto out;
			used += (size_t)n;
			heard[used] = '\0';
		}
		if (o->turns[i].heard) { /* input that was matched is not matched again */
			found += strlen(o->turns[i].heard);
			used -= (size_t)(found - heard);
			memmove(heard, found, used + 1);
		}
		send_turn(fd, &o->turns[i]);
	}
out:
	close(fd);
	return NULL;
}

static void other_begin(struct other *o, const struct turn *turns, size_t n)
{
	int ends[2] = { -1, -1 };

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	*o = (struct other){ .fd = ends[0], .ours = ends[1], .turns = turns, .n = n };
	CHECK(!pthread_create(&o->thread, NULL, run_script, o));
}

static void other_end(struct other *o)
{
	pthread_join(o->thread, NULL);
}

#define BEGIN(o, turns) other_begin((o), (turns), sizeof(turns) / sizeof((turns)[0]))

/* ---- GDB's ---------------------------------------------------------------------------------- */

#define HELLO                                                                                      \
	{                                                                                          \
		"$?#3f", "+$T02thread:01;#04"                                                      \
	}

TEST(gdb_requests_and_replies)
{
	static const struct turn turns[] = {
		{ NULL, "$T02#b6", false }, /* unasked: the machine ran */
		HELLO,
		{ "$m1000,4#8e", "+$T02#b6$0a0bff7f#8c", true },
		{ "$Z0,2000,1#d5", "+$OK#9a" },
		{ "$Z2,2000,1#d7", "+$E22#a9" },
		{ "$qRcmd,78#92", "+$O6162#1e$O0a#e0$OK#9a", true },
		{ "$c#63", "+" },
		{ NULL, "$T05thread:01;watch:ffff800000001234;#7d" },
	};
	struct rs_gdb_stopped stopped;
	struct rs_gdb *gdb = NULL;
	struct other o;
	uint8_t bytes[4];
	char said[16];
	bool done;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_gdb_adopt(o.ours, &gdb))) {
		CHECK_OK(rs_gdb_read(gdb, 0x1000, bytes, 4));
		CHECK(!memcmp(bytes, "\x0a\x0b\xff\x7f", 4));
		CHECK_OK(rs_gdb_point(gdb, RS_GDB_EXEC, 0x2000, 1, true));
		CHECK_ERR(rs_gdb_point(gdb, RS_GDB_WRITE, 0x2000, 1, true), RS_FAILED, "E22");
		CHECK_OK(rs_gdb_monitor(gdb, "x", said, sizeof(said)));
		CHECK_STR(said, "ab\n");
		CHECK_OK(rs_gdb_continue(gdb));
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && stopped.why == RS_GDB_WATCHED && stopped.kind == RS_GDB_WRITE);
		CHECK_EQ_U64(stopped.address, 0xffff800000001234);
		/* Then it closes. */
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && stopped.why == RS_GDB_ENDED);
	}
	rs_gdb_close(gdb);
	other_end(&o);
}

TEST(gdb_sends_two_requests_in_a_row)
{
	static const struct turn turns[] = {
		HELLO,
		{ "+$qRcmd,78#92$g#67", "+$O6162#1e$OK#9a+$00ff#2c", true },
		{ "+$qRcmd,78#92$c#63", "+$OK#9a+" },
		{ NULL, "$T02#b6" }, /* no acknowledgement while it ran: it would stop it */
		{ "+$qRcmd,78#92$g#67", "+$OK#9b" },
		{ "$g#67", "+$W00#b7" },
	};
	struct rs_gdb_stopped stopped;
	struct rs_gdb *gdb = NULL;
	struct other o;
	uint8_t raw[8];
	size_t n = 0;
	char said[16];
	bool done;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_gdb_adopt(o.ours, &gdb))) {
		CHECK_OK(rs_gdb_monitor_registers(gdb, "x", said, sizeof(said), raw, sizeof(raw),
						  &n));
		CHECK_STR(said, "ab");
		CHECK(n == 2 && raw[0] == 0 && raw[1] == 0xff);
		CHECK_OK(rs_gdb_monitor_continue(gdb, "x", said, sizeof(said)));
		CHECK_STR(said, "");
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && stopped.signal == RS_GDB_INTERRUPT);
		/* A wrong checksum in an answer that cannot be requested again. */
		CHECK_ERR(rs_gdb_monitor_registers(gdb, "x", said, sizeof(said), raw, sizeof(raw),
						   &n),
			  RS_DAMAGED, "wrong checksums");
		/* It closes during a request. */
		CHECK_ERR(rs_gdb_registers_raw(gdb, raw, sizeof(raw), &n), RS_ABSENT, "QEMU");
	}
	rs_gdb_close(gdb);
	other_end(&o);
}

TEST(gdb_reports_the_stopped_thread)
{
	static const struct turn turns[] = {
		HELLO,
		{ "$Qqemu.PhyMemMode:1#77", "+$OK#9a" },
		{ "$D#44", "+$E22#a9" },
		{ "$vCont;s:b#", "+" },
		{ NULL, "$T05thread:p01.0b;#37" },
		{ "$c#63", "+$T02thread:03;#06" },
		{ "$c#63", "+$T#54" }, /* and nothing more */
	};
	struct rs_gdb_stopped stopped;
	struct rs_gdb *gdb = NULL;
	struct other o;
	bool done;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_gdb_adopt(o.ours, &gdb))) {
		CHECK_OK(rs_gdb_order(gdb, "Qqemu.PhyMemMode:1"));
		CHECK_ERR(rs_gdb_order(gdb, "D"), RS_FAILED, "E22");
		CHECK_OK(rs_gdb_step_alone(gdb, 11));
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && stopped.why == RS_GDB_STOPPED && stopped.signal == RS_GDB_TRAP);
		CHECK_EQ_U64(stopped.thread, 11);
		CHECK_OK(rs_gdb_continue(gdb));
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && stopped.signal == RS_GDB_INTERRUPT && stopped.thread == 3);
		CHECK_OK(rs_gdb_continue(gdb));
		CHECK_OK(rs_gdb_wait(gdb, 10000, &done, &stopped));
		CHECK(done && !stopped.signal && !stopped.thread);
	}
	rs_gdb_close(gdb);
	other_end(&o);
}

TEST(gdb_repeats_a_reply)
{
	static const struct turn turns[] = {
		HELLO,
		{ "$m0,1#fa", "+$00#61" }, /* a wrong checksum; "-" requests it again */
		{ "-", "$00#60" },
		{ "$m0,1#fa", "+$0" }, /* and closes in the middle */
	};
	struct rs_gdb *gdb = NULL;
	struct other o;
	uint8_t byte = 1;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_gdb_adopt(o.ours, &gdb))) {
		CHECK_OK(rs_gdb_read(gdb, 0, &byte, 1));
		CHECK_EQ_U64(byte, 0);
		CHECK_ERR(rs_gdb_read(gdb, 0, &byte, 1), RS_ABSENT, "QEMU");
	}
	rs_gdb_close(gdb);
	other_end(&o);
}

TEST(gdb_replies_with_nonsense)
{
	static const struct turn turns[] = {
		HELLO,
		{ "$m0,2#fb", "+$zz#f4" },
		{ "$m0,2#fb", "+$00#60" }, /* one byte for two */
		{ "$g#67", "+$#00" },
		{ "$g#67", "+$00ff#2c" }, /* of another machine */
		{ "$c#63", "+$Fopen#f8" },
	};
	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_gdb *gdb = NULL;
	struct other o;
	uint8_t bytes[2];
	bool done;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_gdb_adopt(o.ours, &gdb))) {
		CHECK_ERR(rs_gdb_read(gdb, 0, bytes, 2), RS_FAILED, "be read");
		CHECK_ERR(rs_gdb_read(gdb, 0, bytes, 2), RS_FAILED, "be read");
		CHECK_ERR(rs_gdb_registers(gdb, &regs), RS_FAILED, "no registers");
		CHECK_ERR(rs_gdb_registers(gdb, &regs), RS_DAMAGED, "x86-64");
		CHECK_OK(rs_gdb_continue(gdb));
		CHECK_ERR(rs_gdb_wait(gdb, 10000, &done, &stopped), RS_DAMAGED, "Fopen");
	}
	rs_gdb_close(gdb);
	other_end(&o);
}

TEST(registers_by_name)
{
	struct rs_x86_regs regs = { .gpr = { 1, 2 }, .rip = 3, .gs = 0x10, .efer = 0x500 };
	uint64_t value = 7;

	CHECK(rs_x86_reg(&regs, "rbx", &value) && value == 2);
	CHECK(rs_x86_reg(&regs, "rip", &value) && value == 3);
	CHECK(rs_x86_reg(&regs, "gs", &value) && value == 0x10);
	CHECK(rs_x86_reg(&regs, "efer", &value) && value == 0x500);
	CHECK(!rs_x86_reg(&regs, "xmm0", &value));
}

/* ---- QMP ------------------------------------------------------------------------------------ */

/* Capabilities before the first command, and not earlier. */
#define GREETING                                                                                   \
	{ NULL, "{\"QMP\": {\"version\": {}}}\r\n" },                                              \
	{                                                                                          \
		"{\"execute\":\"qmp_capabilities\"}\n", "{\"return\": {}}\r\n"                     \
	}

TEST(qmp_requests_and_replies)
{
	static const struct turn turns[] = {
		GREETING,
		{ "{\"execute\":\"stop\",\"arguments\":{\"a\":\"1\\n\"}}\n",
		  "{\"event\": \"STOP\"}\n{\"return\": {\"icount\": 17}}\n", true },
		{ "\"cont\"", "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no\"}}\n" },
		{ NULL, "{\"event\": \"RESUME\"}\n" },
		{ "\"cont\"", "{\"return\": {}}\n" },
	};
	const struct rs_qmp_argument arguments[] = { { "a", "1\n" }, { NULL, NULL } };
	json_t *result = NULL;
	struct rs_qmp *qmp = NULL;
	struct other o;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_qmp_adopt(o.ours, &qmp))) {
		CHECK_OK(rs_qmp_execute(qmp, "stop", arguments, &result));
		CHECK_EQ_S64(json_integer_value(json_object_get(result, "icount")), 17);
		json_decref(result);
		CHECK_ERR(rs_qmp_execute(qmp, "cont", NULL, NULL), RS_FAILED, "rejects cont: no");
		CHECK_OK(rs_qmp_execute(qmp, "cont", NULL, NULL));
		CHECK_ERR(rs_qmp_execute(qmp, "quit", NULL, NULL), RS_ABSENT, "QEMU");
	}
	rs_qmp_close(qmp);
	other_end(&o);
}

/* Its main loop may sleep then, and not answer. */
TEST(qmp_while_shutting_down)
{
	static const struct turn turns[] = {
		GREETING,
		{ "\"query-replay\"", "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true}}\n" },
		{ "\"never\"", "" },
	};
	struct rs_qmp *qmp = NULL;
	struct other o;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_qmp_adopt(o.ours, &qmp))) {
		CHECK(!rs_qmp_ends(qmp));
		CHECK_ERR(rs_qmp_execute(qmp, "query-replay", NULL, NULL), RS_ABSENT, "QEMU");
		CHECK(rs_qmp_ends(qmp));
		CHECK_ERR(rs_qmp_execute(qmp, "quit", NULL, NULL), RS_ABSENT, "QEMU");
	}
	rs_qmp_close(qmp);
	other_end(&o);
}

TEST(qmp_replies_with_nonsense)
{
	static const struct turn turns[] = {
		GREETING,
		{ "\"a\"", "{\"return\": \n" },
		{ "\"b\"", "[1]\n" },
		{ "\"c\"", "{\"error\": {}}\n" },
	};
	struct rs_qmp *qmp = NULL;
	json_t *result = NULL;
	struct other o;

	BEGIN(&o, turns);
	if (CHECK_OK(rs_qmp_adopt(o.ours, &qmp))) {
		CHECK_ERR(rs_qmp_execute(qmp, "a", NULL, NULL), RS_DAMAGED, "JSON object");
		CHECK_ERR(rs_qmp_execute(qmp, "b", NULL, NULL), RS_DAMAGED, "JSON object");
		CHECK_ERR(rs_qmp_execute(qmp, "c", NULL, &result), RS_FAILED, "rejects c");
	}
	rs_qmp_close(qmp);
	other_end(&o);
}

TEST(qmp_with_another_server)
{
	static const struct turn turns[] = { { NULL, "{\"hello\": 1}\n" } };
	struct rs_qmp *qmp = NULL;
	struct other o;

	BEGIN(&o, turns);
	CHECK_ERR(rs_qmp_adopt(o.ours, &qmp), RS_FAILED, "QMP socket");
	other_end(&o);
}
