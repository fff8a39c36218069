/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging for a VMM, a hypervisor's user side, or any C program: lines of text at six levels, to
 * the console and into rings in memory that survives the program. `ringside log` collects them.
 *
 *	RS_LOG(INFO, "vCPU %u is up", vcpu);		// kept, even before the log has its memory
 *	rs_log_start(&(struct rs_log_options){ .path = "shm:myvmm" }, &left);
 *	RS_LOG(ERROR, "no MSR %#x", msr);
 *
 * Any thread may log, and so may a signal handler, even in the middle of another RS_LOG(). Logging
 * never waits. Each line for the memory has its own number, from 1 on, over all threads. A line has
 * printf's format as far as log_ring.h lists it, and is cut at RS_LOG_LINE_MAX bytes, its prefix
 * included.
 *
 * Before rs_log_start(), lines go to an early buffer of the program, which rs_log_start() copies
 * and frees. A line for the memory also becomes an event of RS_CLASS_log, if the program traces
 * (trace.h).
 *
 * After fork(), the child logs only to the console; the parent continues.
 */
#ifndef RINGSIDE_LOG_H
#define RINGSIDE_LOG_H

#include <ringside/language.h>
#include <ringside/error.h>
#include <ringside/log_ring.h>

RS_C_BEGIN

/* The levels in force: private at first, then those in the memory, which `ringside log level`
 * changes. Read with relaxed loads. */
extern const uint32_t *rs_log_levels;

static inline bool rs_log_is_on(enum rs_log_level level)
{
	const uint32_t *at = __atomic_load_n(&rs_log_levels, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&at[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level ||
	       __atomic_load_n(&at[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
}

/* Logs a line. level is FATAL, ACRN, ERROR, WARNING, INFO or DEBUG. A disabled level costs three
 * loads. */
#define RS_LOG(level, ...)                                                                         \
	do {                                                                                       \
		if (rs_log_is_on(RS_LOG_##level))                                                  \
			rs_log_put(RS_LOG_##level, __VA_ARGS__);                                   \
	} while (0)

void rs_log_put(enum rs_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void rs_log_vput(enum rs_log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Sets the name that this thread's later lines show, instead of the kernel's name for it. Copies up
 * to 15 bytes. */
void rs_log_thread(const char *name);

void rs_log_set_level(enum rs_log_sink sink, uint32_t level);

struct rs_log_options {
	/* The memory: a file, or shm:NAME (see ring.h), which is created if it does not exist.
	 * NULL: shm:ringside-log-PROGRAM. An existing memory keeps its size and lanes. RS_FAILED:
	 * it is a link, another user's file, or a file that others can write to. */
	const char *path;
	const char *name;     /* of the program; NULL: the kernel's name */
	uint64_t bytes;	      /* of both halves; 0: RS_LOG_BYTES */
	uint64_t trace_bytes; /* part of these for the rings of threads that trace; 0: none */
	uint32_t lanes;	      /* 0: one for each CPU */
	/* Where to save what earlier runs left, see rs_log_recover(). NULL leaves that to `ringside
	 * log`; if both halves are then full, rs_log_start() returns RS_FAILED. */
	const char *last;
};

/* What earlier runs left, and the result of its recovery. */
struct rs_log_left {
	uint32_t runs;	  /* that left something */
	uint32_t orderly; /* runs that ended in order, but were not collected completely */
	uint32_t crashed; /* runs that ended unexpectedly; the end of the others is unknown */
	uint64_t lines;	  /* recovered */
	uint64_t missing; /* missing lines between them; each gap is marked */
	uint64_t torn;	  /* elements that were half-written, or damaged */
	uint64_t records; /* of traces, recovered */
	uint32_t damaged; /* lanes, rings or heads that are invalid */
	char file[1024];  /* the last file written; empty: none */
	char remark[256]; /* a message about a problem; empty: none */
};

/*
 * Attaches the log to its memory: claims the free half; the other half keeps its content for
 * recovery. Returns RS_USAGE if there is a log already, or another process logs there. On failure,
 * early lines stay in their buffer. Not for signal handlers. left receives what was recovered, and
 * may be NULL.
 */
struct rs_error *rs_log_start(const struct rs_log_options *options, struct rs_log_left *left);

/* Ends the run in order. Lines that other threads log meanwhile may be lost. */
void rs_log_stop(void);

/*
 * Recovers what ended runs left in the memory at path: lines to DIRECTORY/NAME_last.N, traces to
 * the trace directory DIRECTORY/NAME_last.N.trace, N counting up; if there are more than `files`
 * (0: no limit), removes the oldest. Follows no link in DIRECTORY. Frees the half last; if the
 * process is killed before that, the next recovery starts again, and no file repeats a line. Does
 * not touch a run in progress.
 */
struct rs_error *rs_log_recover(const char *path, const char *directory, uint32_t files,
				struct rs_log_left *left);

RS_C_END

#endif
