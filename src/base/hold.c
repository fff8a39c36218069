/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks that forked children do not keep. */
#include "base/hold.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <unistd.h>

/* Descriptors plus 1; 0: free. If all are taken, further ones stay locked by children. */
static atomic_int held[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define N_HELD (sizeof(held) / sizeof(held[0]))

static bool change(int from, int to)
{
	for (unsigned int i = 0; i < N_HELD; i++) {
		int expected = from;

		if (atomic_compare_exchange_strong(&held[i], &expected, to))
			return true;
	}
	return false;
}

/* The number of a closed descriptor could become that of a file of the child's own. */
static void after_fork_in_child(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (unsigned int i = 0; i < N_HELD; i++) {
		int fd = atomic_exchange(&held[i], 0) - 1;

		if (fd >= 0 && (null < 0 || dup3(null, fd, O_CLOEXEC) < 0))
			close(fd);
	}
	if (null >= 0)
		close(null);
}

static void prepare(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

void rs_hold(int fd)
{
	pthread_once(&once, prepare);
	change(0, fd + 1);
	flock(fd, LOCK_EX);
}

void rs_release(int fd)
{
	change(fd + 1, 0);
	close(fd);
}
