/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log's memory, which writers and collectors share: levels, and rings of log lines, in two
 * halves. Freestanding: the guest runtime and the host side use it. Programs call log.h, and guests
 * guest_log.h.
 *
 *	| head, a page | half 0                                  | half 1, the same         |
 *	               | lane 0 | lane 1 | ... | traces' region  |
 *
 *	lane:  | sbuf header | element 0 | ... | element n - 1 | control | tag 0 | ... | tag n - 1 |
 *
 * One half is in use; the other is free, or keeps the content of the last run. The head's `bytes`,
 * `lanes` and `trace_bytes` determine where the lanes are; no offset is stored.
 *
 * A lane is ACRN's log ring (struct shared_buf, LOG_ENTRY_SIZE 80): a line of up to 320 bytes takes
 * 1 to 4 adjacent elements, the last one padded with NULs. It is in overwrite mode; head and tail
 * are kept for ACRN's tools, which may read them while no writer runs. ACRN uses a lock; here each
 * element has a tag instead:
 *
 *	state   63..16 number of the element, from 1   15..12 kind   7..4 part  3..1 parts-1  0 cut
 *	check   a sum over the state and the element's ten words
 *
 *	put:   reserved += parts;  each tag: -> WRITING (compare-and-swap);  words;  -> DONE
 *	       (release)
 *	read:  tag is DONE with the number that is due (acquire);  words;  tag again;  the check
 *
 * Any number of threads, CPUs, and signal or exception handlers put into one lane at the same time
 * without waiting. If a put finds that one of its slots is still being written, by a put that was
 * interrupted a whole lap ago, it marks its claim as VOID and reserves again; after RS_LOG_TRIES
 * attempts it drops the line and counts it. No line is ever torn, and a writer that is killed at
 * any point leaves at most one line, in WRITING, which readers reject.
 *
 * Trust: a producer trusts only its private struct rs_log_lane. The shared memory can make it drop
 * or overwrite lines, but never leave its lane. A reader trusts nothing: it reads each word once
 * and checks it.
 */
#ifndef RINGSIDE_LOG_RING_H
#define RINGSIDE_LOG_RING_H

#include <stdarg.h>
#include <ringside/language.h>
#include <ringside/sbuf.h>

RS_C_BEGIN

/* ACRN's levels (hypervisor/include/debug/logmsg.h). A sink at level n accepts 1 to n, at 0
 * none. */
enum rs_log_level {
	RS_LOG_FATAL = 1,
	RS_LOG_ACRN = 2, /* messages of the hypervisor that are always shown */
	RS_LOG_ERROR = 3,
	RS_LOG_WARNING = 4,
	RS_LOG_INFO = 5,
	RS_LOG_DEBUG = 6,
};

enum rs_log_sink {
	RS_LOG_CONSOLE,
	RS_LOG_MEMORY,
	RS_LOG_SINKS,
};
#define RS_LOG_LEVEL_CONSOLE RS_LOG_ERROR /* the default */
#define RS_LOG_LEVEL_MEMORY  RS_LOG_INFO

#define RS_LOG_ELEMENT_BYTES 80u
#define RS_LOG_PARTS_MAX     4u
#define RS_LOG_LINE_MAX	     (RS_LOG_ELEMENT_BYTES * RS_LOG_PARTS_MAX)
#define RS_LOG_CUT	     "[cut]" /* the end of a line that was longer */
#define RS_LOG_LANES_MAX     256u
#define RS_LOG_ELEMENTS_MIN  16u
#define RS_LOG_ELEMENTS_MAX  (1u << 20)
#define RS_LOG_BYTES	     (UINT64_C(4) << 20) /* both halves: ACRN's */
#define RS_LOG_BYTES_MAX     (UINT64_C(1) << 30)
#define RS_LOG_TRIES	     8 /* reservations of a put that finds its slots in use */

#define RS_LOG_MAGIC	  UINT64_C(0x676f6c6564697372) /* "rsidelog" */
#define RS_LOG_VERSION	  1u
#define RS_LOG_HEAD_BYTES 4096u
#define RS_LOG_NAME_MAX	  64u

/* In sbuf.h's flags, beside RS_SBUF_OVERWRITE: control and tags follow the elements. */
#define RS_SBUF_TAGGED (UINT64_C(1) << 33)

/* The state of a half. */
enum rs_log_half_state {
	RS_LOG_HALF_FREE = 0,
	RS_LOG_HALF_IN_USE =
		1, /* by a run in progress or, if the lock is free, one that was killed */
	RS_LOG_HALF_ENDED = 2, /* by a run that ended in order */
	RS_LOG_HALF_LAST = 3,  /* left by a run before this one, not recovered yet */
};

/* How the run of a half in state LAST ended. */
enum rs_log_end {
	RS_LOG_END_UNKNOWN = 0,
	RS_LOG_END_ORDERLY = 1, /* not all of its lines were collected */
	RS_LOG_END_UNEXPECTED = 2,
};

/* A run, from a start of the program to its end. */
struct rs_log_half {
	uint32_t state;	    /* enum rs_log_half_state */
	uint32_t recovered; /* 1 + the number of the file to which it is being recovered */
	uint64_t run;	    /* number of the run, from 1 */
	int64_t wall_ns;    /* Unix time at the origin */
	uint64_t origin;    /* TSC at which µs begin */
	uint64_t freq_hz;   /* of the TSC; 0: unknown, lines then show 0us */
	uint64_t pid;
	char name[RS_LOG_NAME_MAX]; /* of the program; NUL-terminated if shorter */
	uint64_t first;		    /* number of its first line */
	uint64_t collected;	    /* the collector's: the last sequence number it has written */
	uint64_t end;		    /* enum rs_log_end */
	uint64_t reserved;
};
RS_STATIC_ASSERT(sizeof(struct rs_log_half) == 144, "both sides");

struct rs_log_head {
	uint64_t magic; /* written last */
	uint32_t version;
	uint32_t lanes;	      /* of each half */
	uint64_t bytes;	      /* total size, including the head */
	uint64_t trace_bytes; /* of each half's traces' region */
	uint32_t current;     /* the half in use */
	uint32_t level[RS_LOG_SINKS];
	uint32_t reserved;
	struct rs_log_half half[2];
};
RS_STATIC_ASSERT(offsetof(struct rs_log_head, half) == 48, "both sides");
RS_STATIC_ASSERT(sizeof(struct rs_log_head) <= RS_LOG_HEAD_BYTES, "a page");

struct rs_log_control {
	uint64_t taken;	  /* elements ever reserved */
	uint64_t dropped; /* lines for which no slot was free */
	uint64_t read;	  /* elements that the collector has consumed */
	uint64_t reserved[5];
};
RS_STATIC_ASSERT(sizeof(struct rs_log_control) == 64, "both sides");

struct rs_log_tag {
	uint64_t state, check;
};

enum rs_log_kind {
	RS_LOG_EMPTY = 0,
	RS_LOG_WRITING = 1,
	RS_LOG_DONE = 2,
	RS_LOG_VOID = 3,
};

/* ---- layout -------------------------------------------------------------------------------- */

/* The checked values, in the reader's private memory. */
struct rs_log_layout {
	uint64_t half_bytes, lane_bytes, trace_bytes;
	uint32_t lanes, elements; /* elements of a lane: a power of two */
};

/* Computes a layout. Returns RS_SBUF_BAD_GEOMETRY or RS_SBUF_TOO_SMALL if the sizes are
 * impossible. */
enum rs_sbuf_status rs_log_layout_init(struct rs_log_layout *layout, uint64_t bytes, uint32_t lanes,
				       uint64_t trace_bytes);

static inline uint64_t rs_log_half_at(const struct rs_log_layout *l, uint32_t half)
{
	return RS_LOG_HEAD_BYTES + half * l->half_bytes;
}

static inline uint64_t rs_log_lane_at(const struct rs_log_layout *l, uint32_t half, uint32_t lane)
{
	return rs_log_half_at(l, half) + lane * l->lane_bytes;
}

static inline uint64_t rs_log_traces_at(const struct rs_log_layout *l, uint32_t half)
{
	return rs_log_half_at(l, half) + l->half_bytes - l->trace_bytes;
}

/* Checks the head of bytes of memory, each field read once. */
enum rs_sbuf_status rs_log_head_check(const struct rs_log_head *head, uint64_t bytes,
				      struct rs_log_layout *layout);

/* Writes a head to bytes of memory, with both halves free. Writes its magic last. */
enum rs_sbuf_status rs_log_head_create(void *mem, uint64_t bytes, uint32_t lanes,
				       uint64_t trace_bytes, struct rs_log_layout *layout);

/*
 * Sets the state of the halves of ended runs: LAST, or FREE if the whole half was collected. The
 * caller logs, or holds the writer's lock.
 */
void rs_log_settle(struct rs_log_head *head, const struct rs_log_layout *layout);

/* Chooses a free half, the one that is not `current` if both are. Returns false if there is
 * none. */
bool rs_log_half_choose(const struct rs_log_head *head, uint32_t *half);

struct rs_log_lane {
	struct rs_sbuf *ring;
	uint64_t *words; /* of the elements */
	struct rs_log_control *control;
	struct rs_log_tag *tags;
	uint32_t elements;
};

/* mem: of the lane, 8-byte aligned. */
void rs_log_lane_init(struct rs_log_lane *lane, void *mem, uint32_t elements);

/* Initialises the lane of a half of the memory at head. */
void rs_log_lane_of(struct rs_log_head *head, const struct rs_log_layout *layout, uint32_t half,
		    uint32_t number, struct rs_log_lane *lane);

/* Creates an empty lane; writes its magic last. */
void rs_log_lane_create(struct rs_log_lane *lane, void *mem, uint32_t elements);

static inline uint64_t rs_log_lane_bytes(uint32_t elements)
{
	return sizeof(struct rs_sbuf) + sizeof(struct rs_log_control) +
	       (uint64_t)elements * (RS_LOG_ELEMENT_BYTES + sizeof(struct rs_log_tag));
}

/* ---- putting ------------------------------------------------------------------------------- */

/* A line while it is formatted, on the writer's stack. */
struct rs_log_line_buffer {
	uint64_t words[RS_LOG_LINE_MAX / sizeof(uint64_t)];
	uint32_t bytes;
	uint32_t message; /* offset of its beginning */
	bool cut;
};

/*
 * Formats a line as ACRN's hypervisor does (hypervisor/debug/logmsg.c):
 *
 *	[1234us][cpu=0][main][sev=5][seq=17]:the message
 *
 * thread is printable, without brackets. The message has a subset of printf's format: %% c s d i u
 * x X p o, flags - 0 + space #, width and precision (also *), hh h l ll z t j. An unknown
 * conversion ends the message, which contains it unchanged. A newline at the end is removed. Calls
 * no function of libc, so that handlers and guests can use it.
 */
struct rs_log_prefix {
	uint64_t us, seq; /* seq 0: not in any ring */
	const char *thread;
	uint32_t thread_bytes; /* length of the thread's name */
	uint32_t cpu, level;
};
void rs_log_line_make(struct rs_log_line_buffer *line, const struct rs_log_prefix *prefix,
		      const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* Returns the beginning of the message, and its length in *bytes. */
const char *rs_log_line_message(const struct rs_log_line_buffer *line, uint32_t *bytes);

/* Returns the µs of a run at a stamp. */
static inline uint64_t rs_log_us(uint64_t tsc, uint64_t origin, uint64_t us_mult)
{
	return tsc > origin ? (uint64_t)(((unsigned __int128)(tsc - origin) * us_mult) >> 64) : 0;
}

/* Returns 2^64 / cycles per µs, or 0 if the frequency is unknown. It has its own division, because
 * a guest has no 128-bit division. */
static inline uint64_t rs_log_us_mult(uint64_t freq_hz)
{
	uint64_t left = 1000000, mult = 0;

	if (freq_hz <= 1000000 || freq_hz > UINT64_MAX / 4)
		return 0;
	for (int bit = 0; bit < 64; bit++) {
		left <<= 1;
		mult = mult << 1 | (left >= freq_hz);
		left -= left >= freq_hz ? freq_hz : 0;
	}
	return mult;
}

/* Puts a line, from any thread or handler. Returns false, and counts it, if no slot was free. */
bool rs_log_lane_put(const struct rs_log_lane *lane, struct rs_log_line_buffer *line);

/* ---- reading ------------------------------------------------------------------------------- */

enum rs_log_read {
	RS_LOG_READ_LINE,
	RS_LOG_READ_EMPTY, /* no further line at present */
	RS_LOG_READ_BUSY,  /* the next one is being written, or its writer died */
};

struct rs_log_reader {
	struct rs_log_lane lane;
	uint64_t next;	  /* number of the next element, from 0 */
	uint64_t lost;	  /* elements overwritten before they were read, or skipped as busy */
	uint64_t damaged; /* elements that fail a check or contradict their neighbours */
	uint64_t dropped; /* lines, as the writer last reported */
};

/* A line as it was in the ring. Its bytes are unchecked. */
struct rs_log_raw {
	char text[RS_LOG_LINE_MAX];
	uint32_t bytes;
	bool cut;
	bool after_loss; /* rs_log_lane_salvage(): elements of the lane before it are gone */
};

/* Starts to read at element `from`, or at the oldest line if `from` is beyond the last one. */
void rs_log_reader_init(struct rs_log_reader *r, const struct rs_log_lane *lane, uint64_t from);

/* Reads the next line. On BUSY, the caller reads again or, after a while, skips. */
enum rs_log_read rs_log_reader_next(struct rs_log_reader *r, struct rs_log_raw *raw);

/* Skips busy elements, up to the next complete element or the end. */
void rs_log_reader_skip(struct rs_log_reader *r);

/* Stores the reader's position in the ring, for the next collector. */
void rs_log_reader_done(const struct rs_log_reader *r);

/* Moves all present lines into lanes, to each in turn. rs_guest_log_start() and rs_log_start() move
 * early lines with it. */
void rs_log_move(struct rs_log_reader *from, const struct rs_log_lane *lanes, uint32_t n);

/* ---- reading at rest ----------------------------------------------------------------------- */

/*
 * Finds all complete lines in a lane to which nothing is written any more. Uses only the tags, not
 * the header. Calls found() for each line, oldest first. order is memory for `elements` words,
 * which the caller provides.
 */
struct rs_log_salvage {
	uint64_t lines;
	uint64_t torn;	/* elements half-written, or whose check fails */
	uint64_t parts; /* complete elements of lines whose other parts are missing */
};
void rs_log_lane_salvage(const struct rs_log_lane *lane, uint64_t *order,
			 void (*found)(void *ctx, const struct rs_log_raw *raw), void *ctx,
			 struct rs_log_salvage *sum);

RS_C_END

#endif
