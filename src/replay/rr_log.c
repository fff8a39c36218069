/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads QEMU's replay log. */
#include "replay/rr_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Size of the data after a kind: a fixed number of bytes, plus for some kinds the number in the
 * last four of them. */
enum { PLAIN, ARRAY, OPAQUE };

enum {
	KIND_INSTRUCTIONS = 0,
	KIND_SHUTDOWN = 10, /* first of the kinds up to 21 */
	KIND_SHUTDOWN_LAST = 21,
	KIND_SHUTDOWN_UI = 15, /* the last kind that the host requests */
	KIND_WRITTEN = 22,     /* the result of the write, and its offset: replay-char.c */
	KIND_QUIT = 14,	       /* a shutdown that the host requested, by a signal or a quit */
	KIND_HOST_CLOCK = 28,
	KIND_VIRTUAL_RT = 29,
	KIND_WARP_BEGINS = 30,
	KIND_WARP_ACCOUNTED = 31,
	KIND_END = 39,
};

static const struct kind {
	const char *text;
	uint8_t form, bytes;
} kinds[] = {
	{ "instructions", PLAIN, 4 },
	{ "interrupt", PLAIN, 0 },
	{ "exception", PLAIN, 0 },
	{ "bottom half", PLAIN, 8 },
	{ "bottom half, once", PLAIN, 8 },
	{ "input", OPAQUE, 0 },
	{ "input's end", PLAIN, 0 },
	{ "characters read", ARRAY, 5 },
	{ "disk request", PLAIN, 8 },
	{ "network packet", ARRAY, 9 },
	{ "shutdown", PLAIN, 0 },
	{ "shutdown: host error", PLAIN, 0 },
	{ "shutdown: quit", PLAIN, 0 },
	{ "shutdown: reset by QMP", PLAIN, 0 },
	{ "shutdown: signal", PLAIN, 0 },
	{ "shutdown: user interface", PLAIN, 0 },
	{ "shutdown: the guest's power-off", PLAIN, 0 },
	{ "shutdown: the guest's reset", PLAIN, 0 },
	{ "shutdown: the guest's panic", PLAIN, 0 },
	{ "shutdown: subsystem reset", PLAIN, 0 },
	{ "shutdown: snapshot load", PLAIN, 0 },
	{ "shutdown: other", PLAIN, 0 },
	{ "characters written", PLAIN, 8 },
	{ "characters read at once", ARRAY, 4 },
	{ "characters not read", PLAIN, 4 },
	{ "audio out", PLAIN, 4 },
	{ "audio in", OPAQUE, 0 },
	{ "random bytes", ARRAY, 8 },
	{ "host clock", PLAIN, 8 },
	{ "virtual clock of real time", PLAIN, 8 },
	{ "checkpoint: clock warp begins", PLAIN, 0 },
	{ "checkpoint: clock warp accounted", PLAIN, 0 },
	{ "checkpoint: reset requested", PLAIN, 0 },
	{ "checkpoint: suspend requested", PLAIN, 0 },
	{ "checkpoint: virtual clock", PLAIN, 0 },
	{ "checkpoint: host clock", PLAIN, 0 },
	{ "checkpoint: real time clock", PLAIN, 0 },
	{ "checkpoint: start", PLAIN, 0 },
	{ "checkpoint: reset", PLAIN, 0 },
	{ "end", PLAIN, 0 },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(N_KINDS == KIND_END + 1, "the last kind ends a log");

static uint32_t be32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

uint32_t rs_rr_event_written(const struct rs_rr_event *event)
{
	uint32_t returned = event->kind == KIND_WRITTEN ? be32(event->data) : 0;

	return returned > INT32_MAX ? 0 : returned; /* the write failed */
}

bool rs_rr_kind_is_external(uint8_t kind)
{
	return kind == KIND_HOST_CLOCK || kind == KIND_VIRTUAL_RT || kind == KIND_END ||
	       (kind >= KIND_SHUTDOWN && kind <= KIND_SHUTDOWN_UI);
}

bool rs_rr_kind_ends_guest(uint8_t kind)
{
	return kind > KIND_SHUTDOWN_UI && kind <= KIND_SHUTDOWN_LAST;
}

bool rs_rr_kind_may_sleep(uint8_t kind)
{
	return kind == KIND_WARP_BEGINS || kind == KIND_WARP_ACCOUNTED;
}

const char *rs_rr_kind_text(uint8_t kind)
{
	return kind < N_KINDS ? kinds[kind].text : "unknown";
}

struct rs_error *rs_rr_log_begin(const void *bytes, size_t size, struct rs_rr_log *log)
{
	uint32_t version = size >= RS_RR_HEADER ? be32(bytes) : 0;

	if (size < RS_RR_HEADER)
		return rs_error_create(RS_DAMAGED, "a log of %zu bytes is empty", size);
	if (version && version != RS_RR_VERSION)
		return rs_error_create(RS_DAMAGED,
				       "a log of version 0x%" PRIx32 "; 0x%x is supported", version,
				       RS_RR_VERSION);
	*log = (struct rs_rr_log){
		.bytes = bytes, .size = size, .at = RS_RR_HEADER, .version = version
	};
	return NULL;
}

enum rs_rr_next rs_rr_log_next(struct rs_rr_log *log, struct rs_rr_event *event)
{
	size_t left = log->size - log->at, bytes;
	const uint8_t *at = log->bytes + log->at;
	const struct kind *kind;
	uint8_t number;

	if (!left)
		return RS_RR_CUT;
	number = at[0];
	if (number >= N_KINDS || kinds[number].form == OPAQUE)
		return RS_RR_UNKNOWN;
	kind = &kinds[number];
	bytes = kind->bytes;
	if (left - 1 < bytes)
		return RS_RR_CUT;
	if (kind->form == ARRAY) {
		uint32_t more = be32(at + 1 + bytes - 4);

		if (left - 1 - bytes < more)
			return RS_RR_CUT;
		bytes += more;
	}
	if (number == KIND_INSTRUCTIONS)
		log->icount += be32(at + 1);
	*event = (struct rs_rr_event){ .icount = log->icount,
				       .offset = log->at,
				       .kind = number,
				       .data = at + 1,
				       .bytes = bytes };
	log->at += 1 + bytes;
	return number == KIND_END ? RS_RR_END : RS_RR_EVENT;
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct rs_error *read_all(int fd, const char *name, uint8_t *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, to + at, size - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? rs_error_errno(errno, "%s", name)
				 : rs_error_create(RS_DAMAGED, "%s was cut while it was read",
						   name);
		at += (size_t)n;
	}
	return NULL;
}

struct rs_error *rs_rr_log_load(int fd, const char *name, uint8_t **bytes, size_t *size)
{
	struct rs_error *err = NULL;
	uint8_t *made = NULL;
	struct stat st;

	if (fstat(fd, &st))
		err = rs_error_errno(errno, "%s", name);
	else if ((uint64_t)st.st_size > RS_RR_BYTES_MAX)
		err = rs_error_create(RS_DAMAGED, "%s is longer than 4 GiB", name);
	else if (!(made = malloc((size_t)st.st_size + 1)))
		err = rs_error_no_memory();
	else
		err = read_all(fd, name, made, (size_t)st.st_size);
	if (err) {
		free(made);
		return err;
	}
	*bytes = made;
	*size = (size_t)st.st_size;
	return NULL;
}

/* ---- repair --------------------------------------------------------------------------------- */

/* Writes the end and then the header: a log with a header is complete. */
static struct rs_error *write_end(int fd, const char *name, size_t at)
{
	static const uint8_t end[] = { KIND_QUIT, KIND_END };
	static const uint8_t version[] = { RS_RR_VERSION >> 24, RS_RR_VERSION >> 16 & 0xff,
					   RS_RR_VERSION >> 8 & 0xff, RS_RR_VERSION & 0xff };

	if (ftruncate(fd, (off_t)at) || pwrite(fd, end, sizeof(end), (off_t)at) != sizeof(end) ||
	    fdatasync(fd) || pwrite(fd, version, sizeof(version), 0) != sizeof(version))
		return rs_error_errno(errno, "%s", name);
	return NULL;
}

/*
 * Removes a last event that only counts instructions. QEMU writes the count immediately before
 * another event, so that event was cut off. A replay would run the counted instructions, ask for
 * the event, and fail: "Missing character write event in the replay log".
 */
static void drop_last_count(struct rs_rr_log *log, const struct rs_rr_event *last)
{
	if (last->kind != KIND_INSTRUCTIONS || !last->data)
		return;
	log->icount -= be32(last->data);
	log->at = last->offset;
}

struct rs_error *rs_rr_log_repair(int fd, const char *name, uint64_t *icount)
{
	enum rs_rr_next next;
	struct rs_rr_event event = { 0 };
	struct rs_rr_log log;
	uint8_t *bytes = NULL;
	size_t size = 0;
	uint64_t last = 0;
	struct rs_error *err = rs_rr_log_load(fd, name, &bytes, &size);

	if (!err)
		err = rs_error_wrap(rs_rr_log_begin(bytes, size, &log), "%s", name);
	if (err) {
		free(bytes);
		return err;
	}
	while ((next = rs_rr_log_next(&log, &event)) == RS_RR_EVENT)
		if (!last && event.kind >= KIND_SHUTDOWN && event.kind <= KIND_SHUTDOWN_LAST)
			last = event.icount;
	if (next == RS_RR_CUT)
		drop_last_count(&log, &event);
	if (next == RS_RR_UNKNOWN)
		err = rs_error_create(RS_DAMAGED, "%s: unknown event at 0x%zx", name, log.at);
	else if (!log.icount)
		err = rs_error_create(RS_DAMAGED, "%s: it has no instruction yet", name);
	else if (log.version && next != RS_RR_END)
		err = rs_error_create(RS_DAMAGED, "%s was complete, but its end is missing", name);
	else if (!log.version)
		err = write_end(fd, name, next == RS_RR_END ? log.at - 1 : log.at);
	if (!err)
		*icount = (last ? last : log.icount) -
			  1; /* a stop at the last one may come after QEMU's end */
	free(bytes);
	return err;
}
