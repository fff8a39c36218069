/* SPDX-License-Identifier: BSD-2-Clause */
/* The rival of recorders: copies the same bytes to files without checks. */
#include "rival.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* The buffer that it shares with the process that fills it. */
static struct {
	const struct bench_rival *rival;
	struct rs_slot slots[BENCH_HELPING_MAX];
	bool full, stop; /* release by the setting side, acquire by the other */
	int fd;
} shared;

static void *copy_and_write(void *arg)
{
	static uint8_t piece[BENCH_PIECE_BYTES];
	const uint8_t *from = (const uint8_t *)shared.slots;
	size_t bytes = (size_t)shared.rival->helping * RS_SLOT_BYTES;

	(void)arg;
	while (!__atomic_load_n(&shared.stop, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&shared.full, __ATOMIC_ACQUIRE)) {
			usleep(shared.rival->poll_us);
			continue;
		}
		for (size_t at = 0; at < bytes; at += BENCH_PIECE_BYTES) {
			memcpy(piece, from + at, BENCH_PIECE_BYTES);
			if (write(shared.fd, piece, BENCH_PIECE_BYTES) != BENCH_PIECE_BYTES)
				abort();
		}
		__atomic_store_n(&shared.full, false, __ATOMIC_RELEASE);
	}
	return NULL;
}

double bench_rival_round(const struct bench_rival *rival)
{
	pthread_t thread;
	uint64_t start, spent;

	shared.rival = rival;
	shared.fd = open(rival->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	shared.stop = false;
	if (shared.fd < 0 || rival->helping > BENCH_HELPING_MAX ||
	    rival->helping * RS_SLOT_BYTES % BENCH_PIECE_BYTES)
		abort();
	bench_stay_on(1);
	if (pthread_create(&thread, NULL, copy_and_write, NULL))
		abort();
	bench_stay_on(0);
	start = bench_others_cpu_ns();
	for (uint32_t i = 0; i < rival->helpings; i++) {
		rival->fill(shared.slots, rival->helping);
		__atomic_store_n(&shared.full, true, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shared.full, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	spent = bench_others_cpu_ns() - start;
	__atomic_store_n(&shared.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	close(shared.fd);
	unlink(rival->path);
	return (double)spent;
}

void bench_folder_remove(const char *path)
{
	char name[8192];
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (unlink(name) < 0)
			bench_folder_remove(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}
