/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that resumes a stopped machine if Ringside is killed. */
#include "replay/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET_MS  200  /* pending answers arrive within this time */
#define ANSWER_MS 5000 /* timeout for a busy machine */

static void text_send(int gdb, const char *text)
{
	/* On failure, QEMU has ended. */
	if (send(gdb, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* Reads until the words arrive. Returns false if nothing arrives for wait_ms. */
static bool text_receive(int gdb, const char *words, int wait_ms)
{
	struct pollfd wait = { .fd = gdb, .events = POLLIN };
	char input[1024] = "";
	size_t used = 0;

	while (poll(&wait, 1, wait_ms) > 0) {
		ssize_t n;

		if (used > sizeof(input) / 2) { /* keeps only the end of the input */
			memmove(input, input + used - 64, 64);
			used = 64;
		}
		n = read(gdb, input + used, sizeof(input) - 1 - used);
		if (n <= 0)
			_exit(1);
		used += (size_t)n;
		input[used] = '\0';
		if (words && strstr(input, words))
			return true;
	}
	return false;
}

/* Continues the machine, wherever the exchange with QEMU was interrupted: stops it, and reads all
 * pending answers; restores virtual addresses, removes points, and detaches ("D"). */
static void machine_release(int gdb)
{
	text_send(gdb, "\x03");
	text_receive(gdb, NULL, QUIET_MS);
	text_send(gdb, "+$Qqemu.PhyMemMode:0#76");
	text_receive(gdb, "$OK#9a", ANSWER_MS);
	text_send(gdb, "+$D#44");
	text_receive(gdb, "$OK#9a", ANSWER_MS);
	text_send(gdb, "+");
}

static void close_others(int one, int other)
{
	int low = one < other ? one : other, high = one < other ? other : one;

	if (low)
		close_range(0, (unsigned int)low - 1, 0);
	if (high - low > 1)
		close_range((unsigned int)low + 1, (unsigned int)high - 1, 0);
	close_range((unsigned int)high + 1, ~0u, 0);
}

static void guard_main(int pipe, int gdb)
{
	sigset_t all;
	char byte;
	ssize_t n;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	close_others(pipe, gdb);
	do {
		n = read(pipe, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (!n)
		machine_release(gdb);
	_exit(0);
}

struct rs_error *rs_guard_start(struct rs_guard *guard, int gdb)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return rs_error_errno(errno, "a pipe");
	guard->pid = fork();
	if (!guard->pid)
		guard_main(ends[0], gdb);
	close(ends[0]);
	if (guard->pid < 0) {
		guard->pid = 0;
		close(ends[1]);
		return rs_error_errno(errno, "starting a process");
	}
	guard->pipe = ends[1];
	return NULL;
}

void rs_guard_dismiss(struct rs_guard *guard)
{
	if (!guard->pid)
		return;
	if (write(guard->pipe, "", 1) == 1) /* if not, the machine has ended */
		waitpid(guard->pid, NULL, 0);
	close(guard->pipe);
	*guard = (struct rs_guard){ 0 };
}
