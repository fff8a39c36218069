/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of threads at the times of their tracepoints, in whatever order changes arrive. */
#include "../test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/threads.h"
#include "live/tracepoint_threads.h"

static void renamed(struct rs_tracepoint_threads *t, uint64_t time, uint32_t tid, const char *name)
{
	const struct rs_perf_record record = { .kind = RS_PERF_RENAMED,
					       .time = time,
					       .tid = tid,
					       .pid = tid,
					       .raw = (const uint8_t *)name,
					       .bytes = (uint32_t)strlen(name) };

	rs_tracepoint_threads_change(t, &record);
}

static void forked(struct rs_tracepoint_threads *t, uint64_t time, uint32_t tid, uint32_t parent)
{
	const struct rs_perf_record record = {
		.kind = RS_PERF_FORKED, .time = time, .tid = tid, .pid = tid, .parent_tid = parent
	};

	rs_tracepoint_threads_change(t, &record);
}

static void exited(struct rs_tracepoint_threads *t, uint64_t time, uint32_t tid)
{
	const struct rs_perf_record record = {
		.kind = RS_PERF_EXITED, .time = time, .tid = tid, .pid = tid
	};

	rs_tracepoint_threads_change(t, &record);
}

static void sample(struct rs_tracepoint_threads *t, uint64_t time, uint32_t tid)
{
	const struct rs_perf_record record = { .time = time, .tid = tid, .pid = tid };

	rs_tracepoint_threads_sample(t, &record);
}

static void check_thread(struct rs_tracepoint_threads *t, uint32_t index, uint64_t known, int tid,
			 uint64_t from, const char *name)
{
	struct rs_thread thread = { 0 };

	REQUIRE(rs_tracepoint_threads_get(t, index, known, &thread));
	CHECK_EQ_U64((uint64_t)thread.tid, (uint64_t)tid);
	CHECK_EQ_U64(thread.from, from);
	CHECK(name ? thread.name && !strcmp(thread.name, name) : !thread.name);
}

TEST(a_forked_thread_has_its_parent_s_name_of_that_time)
{
	struct rs_tracepoint_threads *t = NULL;
	struct rs_thread thread;

	CHECK_OK(rs_tracepoint_threads_create(&t));
	renamed(t, 101, 5, "before");
	forked(t, 107, 7, 5);
	sample(t, 109, 7);
	/* This change is in another CPU's ring, which is read later. */
	CHECK(!rs_tracepoint_threads_get(t, 0, 106, &thread));
	renamed(t, 103, 5, "at the fork");
	renamed(t, 113, 5, "later");
	check_thread(t, 0, 110, 7, 107, "at the fork");
	renamed(t, 127, 7, "its own");
	check_thread(t, 1, 130, 7, 127, "its own");
	CHECK(!rs_tracepoint_threads_get(t, 2, UINT64_MAX,
					 &thread)); /* no sample is from the parent */
	rs_tracepoint_threads_destroy(t);
}

TEST(all_names_of_a_late_thread_are_listed)
{
	struct rs_tracepoint_threads *t = NULL;

	CHECK_OK(rs_tracepoint_threads_create(&t));
	renamed(t, 107, 5, "second");
	renamed(t, 103, 5, "first");
	sample(t, 109, 5);
	sample(t, 105, 5);
	check_thread(t, 0, 200, 5, 103, "first");
	check_thread(t, 1, 200, 5, 107, "second");
	sample(t, 113, 11); /* without a known name */
	check_thread(t, 2, 200, 11, 0, NULL);
	rs_tracepoint_threads_destroy(t);
}

TEST(a_reused_tid_is_another_thread)
{
	struct rs_tracepoint_threads *t = NULL;

	CHECK_OK(rs_tracepoint_threads_create(&t));
	renamed(t, 101, 3, "parent");
	renamed(t, 103, 5, "first");
	sample(t, 105, 5);
	exited(t, 107, 5);
	forked(t, 109, 5, 3);
	sample(t, 113, 5);
	check_thread(t, 0, 200, 5, 103, "first");
	check_thread(t, 1, 200, 5, 109, "parent");
	rs_tracepoint_threads_destroy(t);
}

/* Names at time 0 are those at the beginning of the recording. They stay when room is made. */
TEST(names_at_the_beginning_stay_when_room_is_made)
{
	struct rs_tracepoint_threads *t = NULL;

	CHECK_OK(rs_tracepoint_threads_create(&t));
	renamed(t, 0, 5, "at first");
	for (uint32_t i = 0; i < 100000; i++) {
		forked(t, 1000 + i * 3, 10 + i % 3001, 5);
		exited(t, 1001 + i * 3, 10 + i % 3001);
	}
	renamed(t, 1000000, 5, "later");
	sample(t, 999, 5);
	check_thread(t, 0, UINT64_MAX, 5, 0, "at first");
	check_thread(t, 1, UINT64_MAX, 5, 1000000, "later");
	rs_tracepoint_threads_destroy(t);
}

/* More changes than the limit: those of ended threads are removed. */
TEST(ended_threads_make_room)
{
	struct rs_tracepoint_threads *t = NULL;
	struct rs_thread thread;
	uint64_t time = 1000;

	CHECK_OK(rs_tracepoint_threads_create(&t));
	renamed(t, 1, 1, "init");
	forked(t, 2, 3, 1);
	for (uint32_t i = 0; i < 300000; i++, time += 3) {
		uint32_t tid = 10 + i % 3001;

		forked(t, time, tid, 3);
		exited(t, time + 1, tid);
		if (i % 10000 == 0)
			rs_tracepoint_threads_get(t, 0, time, &thread);
	}
	forked(t, time, 7, 3);
	sample(t, time + 1, 7);
	check_thread(t, 0, UINT64_MAX, 7, time, "init");
	rs_tracepoint_threads_destroy(t);
}

static void put(const char *folder, const char *path, const char *text)
{
	char whole[256];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	if (!text) {
		REQUIRE(!mkdir(whole, 0700));
		return;
	}
	fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void drop(const char *folder, const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	REQUIRE(!remove(whole));
}

/* In /proc, a worker's name is followed by its work queue, and hostile names are made printable. */
TEST(names_are_read_from_proc)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "12", NULL },
		{ "12/task", NULL },
		{ "12/task/12", NULL },
		{ "12/task/12/comm", "kworker/u8:1-events_unbound\n" },
		{ "12/task/13", NULL },
		{ "12/task/13/comm", "a\tb\xff"
				     "c-d\n" },
	};
	const uint32_t n = sizeof(files) / sizeof(files[0]);
	char folder[] = "/tmp/ringside-names-XXXXXX";
	struct rs_tracepoint_threads *t = NULL;

	REQUIRE(mkdtemp(folder));
	for (uint32_t i = 0; i < n; i++)
		put(folder, files[i].path, files[i].text);
	CHECK_OK(rs_tracepoint_threads_create(&t));
	rs_tracepoint_threads_scan(t, folder, 0);
	rs_tracepoint_threads_scan(t, folder, 50); /* no change */
	for (uint32_t tid = 12; tid <= 13; tid++) {
		const struct rs_perf_record record = { .time = 100, .tid = tid, .pid = 12 };

		rs_tracepoint_threads_sample(t, &record);
	}
	check_thread(t, 0, 200, 12, 0, "kworker/u8:1");
	check_thread(t, 1, 200, 13, 0, "a?b?c-d");
	rs_tracepoint_threads_destroy(t);
	for (uint32_t i = n; i; i--)
		drop(folder, files[i - 1].path);
	REQUIRE(!remove(folder));
}

TEST(the_idle_thread_belongs_to_a_cpu)
{
	const struct rs_stream file = { .cpu = 3, .tid = RS_UNKNOWN, .mixed = true };
	struct rs_idle idle;

	rs_idle_init(&idle, &file);
	CHECK(!strcmp(idle.stream.thread, "swapper/3") && !idle.stream.tid && !idle.stream.pid &&
	      !idle.stream.mixed);
}
