/* SPDX-License-Identifier: BSD-2-Clause */
/* Stops the machine through a library in QEMU's process instead of GDB packets. */
#include "replay/fast.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/inside.h"

#define KNOWN	  "7.2." /* the versions that inside.c supports */
#define ANSWER_MS 30000	 /* a stopped machine answers at once */
#define WORDS	  3u

/* The bytes of the library. */
static const uint8_t library[] = {
#ifdef HAVE_REPLAY_INSIDE
#include "replay/inside.inc"
#else
	0
#endif
};

struct rs_fast {
	int ours[2], theirs[3]; /* sockets for orders and stops; `theirs` are the library's ends */
	char *words[WORDS + 1];
	char why[160];
	bool armed, asked; /* a stop is set; the answer for a place is awaited */
	bool ended;	   /* the library has closed its ends, since QEMU has ended */
	struct rs_inside_report report;
};

const char *rs_fast_why(const struct rs_fast *f)
{
	return f->why[0] ? f->why : NULL;
}

void rs_fast_disable(struct rs_fast *f, const char *why)
{
	snprintf(f->why, sizeof(f->why), "%s", why);
}

/* ---- creation -------------------------------------------------------------------------------- */

static struct rs_error *make_library(struct rs_fast *f)
{
	f->theirs[2] = memfd_create("ringside-inside", MFD_CLOEXEC);
	if (f->theirs[2] < 0 ||
	    write(f->theirs[2], library, sizeof(library)) != (ssize_t)sizeof(library))
		return rs_error_errno(errno, "a library for QEMU");
	return NULL;
}

static struct rs_error *make_channels(struct rs_fast *f)
{
	for (int i = 0; i < 2; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return rs_error_errno(errno, "a channel into QEMU");
		f->ours[i] = pair[0];
		f->theirs[i] = pair[1];
	}
	return NULL;
}

/* Builds the words that start QEMU with the library. */
static struct rs_error *make_words(struct rs_fast *f)
{
	f->words[0] = strdup("env");
	if (!f->words[0] ||
	    asprintf(&f->words[1], "LD_PRELOAD=/proc/self/fd/%d", f->theirs[2]) < 0 ||
	    asprintf(&f->words[2], RS_INSIDE_ENV "=%d,%d", f->theirs[0], f->theirs[1]) < 0)
		return rs_error_no_memory();
	return NULL;
}

struct rs_error *rs_fast_create(const char *version, struct rs_fast **fast)
{
	struct rs_fast *f = calloc(1, sizeof(*f));
	struct rs_error *err;

	if (!f)
		return rs_error_no_memory();
	*f = (struct rs_fast){ .ours = { -1, -1 }, .theirs = { -1, -1, -1 } };
	*fast = f;
	if (sizeof(library) == 1) {
		rs_fast_disable(f, "it supports only x86-64 hosts");
		return NULL;
	}
	if (strncmp(version, KNOWN, strlen(KNOWN)) != 0) {
		snprintf(f->why, sizeof(f->why), "it supports QEMU " KNOWN "x, but this is %.40s",
			 version);
		return NULL;
	}
	err = make_library(f);
	if (!err)
		err = make_channels(f);
	return err ? err : make_words(f);
}

static void close_theirs(struct rs_fast *f)
{
	for (int i = 0; i < 3; i++) {
		if (f->theirs[i] >= 0)
			close(f->theirs[i]);
		f->theirs[i] = -1;
	}
}

void rs_fast_leave(struct rs_fast *f)
{
	for (int i = 0; i < 2; i++) {
		if (f->ours[i] >= 0)
			close(f->ours[i]);
		f->ours[i] = -1;
	}
	f->armed = f->asked = false;
}

void rs_fast_destroy(struct rs_fast *f)
{
	if (!f)
		return;
	close_theirs(f);
	rs_fast_leave(f);
	for (size_t i = 0; i < WORDS; i++)
		free(f->words[i]);
	free(f);
}

char *const *rs_fast_words(const struct rs_fast *f)
{
	return f->words;
}

const int *rs_fast_inherits(const struct rs_fast *f, uint32_t *n)
{
	*n = f->words[0] ? 3 : 0;
	return f->theirs;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool message_receive(struct rs_fast *f, int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int ready;

	do
		ready = poll(&wait, 1, ANSWER_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return false;
	do
		n = recv(fd, &f->report, sizeof(f->report), 0);
	while (n < 0 && errno == EINTR);
	f->ended = !n;
	return n == sizeof(f->report) && f->report.bytes <= sizeof(f->report.raw);
}

static bool order_send(int fd, uint32_t what, uint64_t icount)
{
	const struct rs_inside_order order = { .what = what, .icount = icount };
	ssize_t n;

	do
		n = send(fd, &order, sizeof(order), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(order);
}

void rs_fast_receive(struct rs_fast *f)
{
	close_theirs(f); /* so that EOF is detected */
	if (f->why[0])
		return;
	if (!message_receive(f, f->ours[0]) || f->report.what != RS_INSIDE_HELLO) {
		rs_fast_disable(f, "this QEMU does not load the library");
		return;
	}
	f->report.name[RS_INSIDE_NAME_MAX - 1] = '\0';
	if (f->report.name[0])
		snprintf(f->why, sizeof(f->why), "this QEMU lacks the symbol %s", f->report.name);
}

static struct rs_fast_stop stop_of(const struct rs_fast *f)
{
	return (struct rs_fast_stop){ f->report.icount, f->report.tsc, f->report.raw,
				      f->report.bytes };
}

static bool asked_receive(struct rs_fast *f)
{
	f->asked = false;
	return message_receive(f, f->ours[0]);
}

/* Sends an order and receives its answer. Returns false, and disables the fast path, on failure. */
static bool order(struct rs_fast *f, uint32_t what, uint64_t icount)
{
	if ((f->asked && !asked_receive(f)) || !order_send(f->ours[0], what, icount) ||
	    !message_receive(f, f->ours[0])) {
		rs_fast_disable(f, "its library does not answer");
		return false;
	}
	if (f->report.what == RS_INSIDE_DONE)
		return true;
	f->report.name[RS_INSIDE_NAME_MAX - 1] = '\0';
	snprintf(f->why, sizeof(f->why), "%s of this QEMU is not as expected", f->report.name);
	return false;
}

bool rs_fast_arm(struct rs_fast *f, uint64_t icount, struct rs_fast_stop *stop)
{
	if (f->why[0] || !order(f, RS_INSIDE_ARM, icount) || f->report.icount >= icount)
		return false;
	f->armed = true;
	*stop = stop_of(f);
	return true;
}

void rs_fast_disarm(struct rs_fast *f)
{
	if (f->armed && !f->why[0])
		order(f, RS_INSIDE_FREE, 0);
	f->armed = false;
}

bool rs_fast_poll(struct rs_fast *f, struct rs_fast_stop *stop)
{
	f->armed = false;
	if (f->why[0] || !order(f, RS_INSIDE_FREE, 0))
		return false;
	*stop = stop_of(f);
	return true;
}

int rs_fast_fd(const struct rs_fast *f)
{
	return f->armed ? f->ours[1] : -1;
}

void rs_fast_ask(struct rs_fast *f)
{
	if (!f->asked && !f->why[0])
		f->asked = order_send(f->ours[0], RS_INSIDE_WHERE, 0);
}

int rs_fast_asked_fd(const struct rs_fast *f)
{
	return f->asked ? f->ours[0] : -1;
}

bool rs_fast_answered(struct rs_fast *f, uint64_t *icount)
{
	if (!asked_receive(f))
		return false;
	*icount = f->report.icount;
	return true;
}

bool rs_fast_stopped(struct rs_fast *f, struct rs_fast_stop *stop)
{
	if (!message_receive(f, f->ours[1]) || f->report.what != RS_INSIDE_STANDS) {
		f->armed = false;
		if (!f->ended) /* else the GDB channel reports the end */
			rs_fast_disable(f, "its library sends a wrong message");
		return false;
	}
	*stop = stop_of(f);
	return true;
}

static struct rs_error *answer(struct rs_fast *f, uint32_t what, uint64_t icount)
{
	return order_send(f->ours[1], what, icount)
		       ? NULL
		       : rs_error_create(RS_FAILED, "QEMU ended while the machine was stopped");
}

struct rs_error *rs_fast_continue(struct rs_fast *f, uint64_t icount)
{
	f->armed = icount != UINT64_MAX;
	return answer(f, f->armed ? RS_INSIDE_ARM : RS_INSIDE_FREE, icount);
}

struct rs_error *rs_fast_hold(struct rs_fast *f)
{
	return answer(f, RS_INSIDE_HOLD, 0);
}
