/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path's two sides: the shipped library in a program that is not QEMU; and Ringside's side
 * with a peer that this test plays. tests/replay uses it in QEMU.
 */
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/fast.h"
#include "replay/inside.h"

#define VERSION "7.2.22 (Debian)"

/* Returns its path, or NULL with the reason why this build has none. */
static struct rs_fast *made(const char *version)
{
	struct rs_fast *fast = NULL;
	struct rs_error *err = rs_fast_create(version, &fast);

	CHECK(!err);
	rs_error_free(err);
	return fast;
}

static bool has_library(void)
{
#ifdef __x86_64__
	return true;
#else
	return false;
#endif
}

TEST(another_program_has_no_fast_path)
{
	struct rs_fast *fast = made("8.1.0");
	struct rs_fast_stop stop;
	uint32_t n = 1;

	REQUIRE(fast);
	CHECK(rs_fast_why(fast) && (!has_library() || strstr(rs_fast_why(fast), "8.1.0")));
	CHECK(!rs_fast_words(fast)[0]);
	rs_fast_inherits(fast, &n);
	CHECK_EQ_U64(n, 0);
	rs_fast_receive(fast);
	CHECK(!rs_fast_arm(fast, 1, &stop));
	CHECK(rs_fast_fd(fast) < 0);
	rs_fast_destroy(fast);
	rs_fast_destroy(NULL);
}

/* A program without QEMU's symbols: the missing symbol is named, and the program is unchanged. */
TEST(a_missing_symbol_is_named)
{
	char *words[8] = { NULL };
	struct rs_fast *fast = made(VERSION);
	const int *fds;
	uint32_t n = 0;
	int status = 0;
	pid_t pid;

	REQUIRE(fast);
	if (!has_library()) {
		rs_fast_destroy(fast);
		return;
	}
	CHECK(!rs_fast_why(fast));
	fds = rs_fast_inherits(fast, &n);
	CHECK_EQ_U64(n, 3);
	memcpy(words, rs_fast_words(fast), 3 * sizeof(words[0]));
	words[3] = "sleep";
	words[4] = "60";
	pid = fork();
	if (!pid) {
		for (uint32_t i = 0; i < n; i++)
			fcntl(fds[i], F_SETFD, 0);
		execvp(words[0], words);
		_exit(127);
	}
	REQUIRE(pid > 0);
	rs_fast_receive(fast);
	REQUIRE(rs_fast_why(fast));
	CHECK(strstr(rs_fast_why(fast), "lacks the symbol replay_break_icount"));
	CHECK_EQ_U64((uint64_t)waitpid(pid, &status, WNOHANG), 0); /* it sleeps */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	rs_fast_destroy(fast);
}

/* Its descriptors, with which the test plays the other side. */
static struct rs_fast *played(int ends[2])
{
	struct rs_fast *fast = made(VERSION);
	struct rs_inside_report hello = { .what = RS_INSIDE_HELLO };
	const int *fds;
	uint32_t n;

	if (!CHECK(fast))
		return NULL;
	fds = rs_fast_inherits(fast, &n);
	ends[0] = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
	ends[1] = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
	CHECK(send(ends[0], &hello, sizeof(hello), 0) == sizeof(hello));
	rs_fast_receive(fast);
	CHECK(!rs_fast_why(fast));
	return fast;
}

static void inside_sends(int fd, uint32_t what, uint64_t icount, const char *raw)
{
	struct rs_inside_report said = { .what = what, .icount = icount };

	said.bytes = (uint32_t)strlen(raw);
	memcpy(said.raw, raw, said.bytes);
	CHECK(send(fd, &said, sizeof(said), 0) == sizeof(said));
}

static void inside_hears(int fd, uint32_t what, uint64_t icount)
{
	struct rs_inside_order order = { 0 };

	CHECK(recv(fd, &order, sizeof(order), 0) == sizeof(order));
	CHECK_EQ_U64(order.what, what);
	CHECK_EQ_U64(order.icount, icount);
}

TEST(stops_and_answers)
{
	struct rs_fast_stop stop = { 0 };
	struct rs_fast *fast;
	int ends[2];

	if (!has_library())
		return;
	fast = played(ends);
	REQUIRE(fast);
	inside_sends(ends[0], RS_INSIDE_DONE, 7, "rax");
	CHECK(rs_fast_arm(fast, 1009, &stop));
	inside_hears(ends[0], RS_INSIDE_ARM, 1009);
	CHECK_EQ_U64(stop.icount, 7);
	CHECK(stop.bytes == 3 && !memcmp(stop.raw, "rax", 3));
	CHECK(rs_fast_fd(fast) >= 0);
	inside_sends(ends[1], RS_INSIDE_STANDS, 1009, "rbx");
	CHECK(rs_fast_stopped(fast, &stop));
	CHECK_EQ_U64(stop.icount, 1009);
	CHECK(!rs_fast_continue(fast, 2003));
	inside_hears(ends[1], RS_INSIDE_ARM, 2003);
	inside_sends(ends[1], RS_INSIDE_STANDS, 2003, "rbx");
	CHECK(rs_fast_stopped(fast, &stop));
	CHECK(!rs_fast_hold(fast));
	inside_hears(ends[1], RS_INSIDE_HOLD, 0);
	inside_sends(ends[0], RS_INSIDE_DONE, 2003, "");
	rs_fast_disarm(fast);
	inside_hears(ends[0], RS_INSIDE_FREE, 0);
	CHECK(rs_fast_fd(fast) < 0);
	rs_fast_disarm(fast); /* no stop is armed */
	/* The position of the stop has already passed. */
	inside_sends(ends[0], RS_INSIDE_DONE, 2003, "");
	CHECK(!rs_fast_arm(fast, 2003, &stop));
	CHECK(!rs_fast_why(fast) && rs_fast_fd(fast) < 0);
	close(ends[0]);
	close(ends[1]);
	rs_fast_destroy(fast);
}

TEST(errors_end_the_fast_path)
{
	struct rs_inside_report more = { .what = RS_INSIDE_STANDS, .bytes = RS_INSIDE_RAW_MAX + 1 };
	struct rs_fast_stop stop = { 0 };
	struct rs_fast *fast;
	int ends[2];

	if (!has_library())
		return;
	fast = played(ends); /* refused */
	REQUIRE(fast);
	inside_sends(ends[0], RS_INSIDE_REFUSED, 0, "replay_mode");
	CHECK(!rs_fast_arm(fast, 1009, &stop));
	CHECK(rs_fast_why(fast) && strstr(rs_fast_why(fast), "replay_mode"));
	close(ends[0]);
	close(ends[1]);
	rs_fast_destroy(fast);

	fast = played(ends); /* more registers than there is room for */
	REQUIRE(fast);
	inside_sends(ends[0], RS_INSIDE_DONE, 7, "rax");
	CHECK(rs_fast_arm(fast, 1009, &stop));
	CHECK(send(ends[1], &more, sizeof(more), 0) == sizeof(more));
	CHECK(!rs_fast_stopped(fast, &stop));
	CHECK(rs_fast_why(fast) && rs_fast_fd(fast) < 0);
	close(ends[0]);
	close(ends[1]);
	rs_fast_destroy(fast);

	fast = played(ends); /* gone */
	REQUIRE(fast);
	close(ends[0]);
	close(ends[1]);
	CHECK(!rs_fast_arm(fast, 1009, &stop));
	CHECK(rs_fast_why(fast));
	rs_fast_destroy(fast);
}
