/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose threads' rings are in the log's memory (rs_log_options.trace_bytes) ends in each
 * way that a process can: all complete records are recovered, and nothing else.
 */
#include "../test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log_kit.h"
#include <ringside/reader.h>
#include <ringside/trace.h>

#define LOG_BYTES   (4u << 20)
#define TRACE_BYTES (1u << 20) /* of these */
#define RECORDS	    1009u

RS_TRACE_CLASS(numbers, 0)
RS_DEFINE_EVENT(number, numbers, "number", (u64, n));

/* ---- the program ---------------------------------------------------------------------------- */

static void emit(uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n < to; n++)
		RS_EMIT(number, .n = n);
}

static void by_abort(void)
{
	emit(0, RECORDS);
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void by_sigkill(void)
{
	emit(0, RECORDS);
	kill(getpid(), SIGKILL);
}

/* A claimed and half-written record is incomplete. */
static void by_sigsegv_in_a_put(void)
{
	struct rs_sbuf_room room;

	emit(0, RECORDS);
	room = rs_sbuf_reserve_nested(RS_THIS_PRODUCER(), RS_SLOT_BYTES);
	memset(room.at, 0x5a, RS_SLOT_BYTES / 2);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void by_exit_without_handlers(void)
{
	emit(0, RECORDS);
	_exit(0);
}

static void by_exec(void)
{
	emit(0, RECORDS);
	execl("/bin/true", "true", NULL);
}

/* A child that runs no other program, and ends first; then the parent continues. */
static void by_abort_after_a_fork(void)
{
	int status;
	pid_t pid;

	emit(0, RECORDS / 2);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	emit(RECORDS / 2, RECORDS);
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void child(const char *path, void (*die)(void))
{
	struct rs_log_options options = { .path = path,
					  .bytes = LOG_BYTES,
					  .lanes = 1,
					  .trace_bytes = TRACE_BYTES,
					  .name = "dies" };
	struct rs_error *err = rs_log_start(&options, NULL);

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (!err)
		err = rs_trace_start(
			&(struct rs_trace_options){ .provider = "dies", .mask = RS_CLASS_numbers });
	if (err) {
		fprintf(stderr, "# child: %s\n", rs_error_text(err));
		_exit(1);
	}
	die();
	_exit(1);
}

/* ---- recovered records ---------------------------------------------------------------------- */

struct numbers {
	struct rs_sink sink;
	uint64_t n, bad;
};

static struct rs_error *on_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct numbers *numbers = (struct numbers *)sink;

	for (size_t i = 0; i < n; i++) {
		uint64_t number = UINT64_MAX;

		memcpy(&number, views[i].payload, sizeof(number));
		if (strcmp(views[i].event->name, "number") != 0 || number != numbers->n)
			numbers->bad++;
		numbers->n++;
	}
	return NULL;
}

static void check_trace(const char *file)
{
	static const struct rs_sink_ops ops = { .name = "numbers", .events = on_events };
	struct numbers numbers = { .sink.ops = &ops };
	struct rs_source *source;
	struct rs_trace *trace;
	char path[1100];

	snprintf(path, sizeof(path), "%s.trace", file);
	REQUIRE_OK(rs_trace_open(path, &trace));
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &numbers.sink, &(volatile bool){ false }));
	CHECK_EQ_U64(numbers.bad, 0);
	CHECK_EQ_U64(numbers.n, RECORDS);
	rs_source_destroy(source);
	rs_trace_close(trace);
}

static void check_death(void (*die)(void))
{
	struct rs_log_left left = { 0 };
	int status;
	pid_t pid;

	kit_folder_make();
	pid = fork();
	if (!pid)
		child(kit_path("memory"), die);
	CHECK_EQ_S64(waitpid(pid, &status, 0), pid);
	CHECK(!WIFEXITED(status) || !WEXITSTATUS(status));
	REQUIRE_OK(rs_log_recover(kit_path("memory"), kit_path("left"), 2, &left));
	CHECK_EQ_U64(left.runs, 1);
	CHECK_EQ_U64(left.damaged, 0);
	CHECK_EQ_U64(left.records, RECORDS);
	check_trace(left.file);
	kit_folder_remove();
}

TEST(aborted)
{
	check_death(by_abort);
}

TEST(killed)
{
	check_death(by_sigkill);
}

TEST(faulted_in_a_put)
{
	check_death(by_sigsegv_in_a_put);
}

TEST(exited_without_handlers)
{
	check_death(by_exit_without_handlers);
}

TEST(became_another_program)
{
	check_death(by_exec);
}

TEST(forked_and_aborted)
{
	check_death(by_abort_after_a_fork);
}
