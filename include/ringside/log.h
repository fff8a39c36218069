/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging for a VMM, a hypervisor's user side, or any C program: lines of text at six levels, to
 * the console and into rings in memory that survives the program. `ringside log` collects them.
 *
 *	RS_LOG(INFO, "vCPU %u is up", vcpu);		// kept, before there is a memory too
 *	rs_log_start(&(struct rs_log_options){ .path = "shm:myvmm" }, &left);
 *	RS_LOG(ERROR, "no MSR %#x", msr);
 *
 * From any thread, and from a signal handler, also in the middle of another RS_LOG(). Nobody waits.
 * Each line for the memory has a number of its own, from 1 on, over all threads. A line is printf's
 * as far as log_ring.h says, and cut at RS_LOG_LINE_MAX bytes, its prefix included.
 *
 * Before rs_log_start() lines go to an early buffer of the program's own; at the start they are
 * copied over, and the buffer is given back. A line that is for the memory is an event too,
 * RS_CLASS_log, if the program traces (trace.h).
 *
 * After fork() the child logs to the console alone; the parent goes on.
 */
#ifndef RINGSIDE_LOG_H
#define RINGSIDE_LOG_H

#include <ringside/error.h>
#include <ringside/log_ring.h>

/* The levels in force: private at first, then those in the memory, which `ringside log level`
 * changes. Read with relaxed loads. */
extern const uint32_t *rs_log_levels;

static inline bool rs_log_is_on(enum rs_log_level level)
{
	const uint32_t *at = __atomic_load_n(&rs_log_levels, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&at[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level ||
	       __atomic_load_n(&at[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
}

/* level: FATAL, ACRN, ERROR, WARNING, INFO or DEBUG. One that is off costs three loads. */
#define RS_LOG(level, ...)                                                                         \
	do {                                                                                       \
		if (rs_log_is_on(RS_LOG_##level))                                                  \
			rs_log_put(RS_LOG_##level, __VA_ARGS__);                                   \
	} while (0)

void rs_log_put(enum rs_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void rs_log_vput(enum rs_log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* The name that this thread's lines have from now on, instead of the kernel's for it; copied, up to
 * 15 bytes. */
void rs_log_thread(const char *name);

void rs_log_set_level(enum rs_log_sink sink, uint32_t level);

struct rs_log_options {
	/* The memory: a file, or shm:NAME (ring.h says where that is); made if it is not there.
	 * NULL: shm:ringside-log-PROGRAM. One that is there keeps its size and lanes. RS_FAILED: it
	 * is a link, another user's file, or a file that others can write to. */
	const char *path;
	const char *name;     /* of the program; NULL: as the kernel has it */
	uint64_t bytes;	      /* of both halves; 0: RS_LOG_BYTES */
	uint64_t trace_bytes; /* of these, for the rings of threads that trace; 0: none */
	uint32_t lanes;	      /* 0: one for each CPU */
	/* Where to save what earlier runs left, see rs_log_recover(). NULL: that is left for
	 * `ringside log`; when both halves are full of it, RS_FAILED. */
	const char *last;
};

/* What earlier runs left, and what became of it. */
struct rs_log_left {
	uint32_t runs;	  /* that left something */
	uint32_t orderly; /* of them, those that ended in order, but were not all collected */
	uint32_t crashed; /* of them, those that ended unexpectedly; of the others it is unknown */
	uint64_t lines;	  /* recovered */
	uint64_t missing; /* lines between them that are not there: each gap is marked */
	uint64_t torn;	  /* elements that were half-written, or damaged */
	uint64_t records; /* of traces, recovered */
	uint32_t damaged; /* lanes, rings or heads whose own account is invalid */
	char file[1024];  /* the last file written; empty: none */
	char remark[256]; /* what was wrong, in words; empty: nothing */
};

/*
 * Gives the log its memory: the half that is free; what the other one has, stays for recovery.
 * RS_USAGE: there is a log already, or another process logs there. On failure early lines stay
 * where they are. Not for signal handlers. left: NULL, or what was recovered.
 */
struct rs_error *rs_log_start(const struct rs_log_options *options, struct rs_log_left *left);

/* Ends the run in order. What other threads log meanwhile may be lost. */
void rs_log_stop(void);

/*
 * Recovers what runs that are no more left in the memory at path: lines to DIRECTORY/NAME_last.N,
 * traces to the trace directory DIRECTORY/NAME_last.N.trace, N counting up; the oldest of more than
 * `files` (0: no limit) is removed. No link in DIRECTORY is followed. Only then is a half free
 * again; when we are killed in between, the next to come starts anew, and no file says anything
 * twice. A run that goes on is left alone.
 */
struct rs_error *rs_log_recover(const char *path, const char *directory, uint32_t files,
				struct rs_log_left *left);

#endif
