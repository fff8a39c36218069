/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a hypervisor's log ring, and turns its lines into records. */
#include "event/log_port.h"
#include "base/now.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (RS_LOG_PORT_SLOTS * RS_SLOT_BYTES)
#define LINE_FIXED   (sizeof(struct rs_log_message) + sizeof(uint16_t))
#define LINE_SLOTS   ((RS_RECORD_HEAD + LINE_FIXED + RS_LOG_TEXT_MAX) / RS_SLOT_BYTES + 1)
/* One line becomes at most two losses, a clock-back and itself. */
#define ROOM_MIN   (LINE_SLOTS + 2 * RS_LOST_SLOTS + 1u)
#define EARLY_MS   1000u      /* the longest time of a line in its ring before it is read */
#define REST_NS	   200000     /* wait for the rest of a line that may have one */
#define SKIP_MAX   (1u << 20) /* elements; more than a ring has */
#define CYCLES_MAX (UINT64_C(1) << 62)

_Static_assert(LINE_SLOTS <= RS_RECORD_SLOTS_MAX, "a line fits a record");
_Static_assert(2 * ROOM_MIN < RS_LOG_PORT_SLOTS, "some fit");

enum element { ELEMENT, EMPTY, BROKEN };

/* Drops the line that is being assembled, or an element of no line. */
static void drop(struct rs_log_port *port)
{
	port->unreported_damaged++;
	port->damaged++;
	port->parts.bytes = 0;
}

/* ---- elements -------------------------------------------------------------------------------- */

static enum element from_sbuf(struct rs_log_port *port, char *text)
{
	const uint8_t *run = NULL;
	uint32_t bytes = 0;

	if (rs_sbuf_peek(port->consumer, &run, &bytes) != RS_SBUF_OK)
		return BROKEN;
	if (!bytes)
		return EMPTY;
	memcpy(text, run, RS_LOG_ELEMENT_BYTES);
	rs_sbuf_release(port->consumer, RS_LOG_ELEMENT_BYTES);
	return ELEMENT;
}

static enum element from_overwrite(struct rs_log_port *port, char *text)
{
	uint64_t words[RS_LOG_ELEMENT_BYTES / sizeof(uint64_t)], lost;
	uint32_t got;

	if (rs_overwrite_read(port->reader, words, 1, &got, &lost) != RS_SBUF_OK)
		return BROKEN;
	port->unreported_lost += lost;
	port->lost += lost;
	if (lost && port->parts.bytes) /* the rest of the line may be among them */
		drop(port);
	memcpy(text, words, got * sizeof(words));
	return got ? ELEMENT : EMPTY;
}

static enum element from_fd(struct rs_log_port *port, char *text)
{
	ssize_t n;

	memset(text, 0, RS_LOG_ELEMENT_BYTES);
	do {
		n = read(port->fd, text, RS_LOG_ELEMENT_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return BROKEN;
	return n > 0 ? ELEMENT : EMPTY;
}

static enum element element(struct rs_log_port *port, char *text)
{
	enum element got;

	if (port->consumer)
		got = from_sbuf(port, text);
	else if (port->reader)
		got = from_overwrite(port, text);
	else
		got = from_fd(port, text);
	if (got == EMPTY && port->old == UINT64_MAX)
		port->old = 0;
	return got;
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t offset_of(const struct rs_log_port *port)
{
	return __atomic_load_n(&port->epoch->offset, __ATOMIC_RELAXED);
}

static void offset_move(struct rs_log_port *port, int64_t by)
{
	__atomic_fetch_add(&port->epoch->offset, by, __ATOMIC_RELAXED);
	__atomic_fetch_add(&port->epoch->moves, 1, __ATOMIC_RELAXED);
}

/* Returns a line's own stamp in *stamp. Returns false if it has none, or an impossible one. */
static bool stamp_of(const struct rs_log_port *port, const struct rs_log_line *line, uint64_t *tsc)
{
	unsigned __int128 stamp =
		(unsigned __int128)line->us * port->epoch->clock->freq_hz / 1000000;

	*tsc = (uint64_t)stamp;
	return line->us && stamp < CYCLES_MAX;
}

/* Returns the stamp of a line on the recording's timeline. */
static uint64_t time_of(struct rs_log_port *port, const struct rs_log_line *line, bool old,
			uint64_t *said)
{
	const struct rs_clock *clock = port->epoch->clock;
	uint64_t now = rs_clock_now(clock), tsc;
	uint64_t early = port->epoch->from - clock->freq_hz / 1000 * EARLY_MS;

	*said = 0;
	if (!stamp_of(port, line, &tsc))
		return now;
	*said = tsc;
	if (port->last)
		return now;
	tsc += (uint64_t)offset_of(port);
	if (old && tsc > now)
		return now;
	*said = 0;
	if (tsc > now || (!old && tsc < early && early < port->epoch->from)) {
		offset_move(port, (int64_t)(now - tsc));
		tsc = now;
	}
	return tsc;
}

/* ---- records --------------------------------------------------------------------------------- */

static struct rs_slot *slots_at_tail(struct rs_log_port *port)
{
	return &port->buffer[port->tail / RS_SLOT_BYTES];
}

static void put_lost(struct rs_log_port *port, uint64_t *count, uint32_t why, uint64_t tsc)
{
	struct rs_lost lost = { .count = *count,
				.from = port->last_tsc && port->last_tsc < tsc ? port->last_tsc
									       : tsc,
				.to = tsc,
				.why = why };

	if (!*count)
		return;
	rs_record_write_lost(slots_at_tail(port), (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT, &lost,
			     tsc);
	port->tail += RS_LOST_SLOTS * RS_SLOT_BYTES;
	*count = 0;
}

static void put_clock_back(struct rs_log_port *port, uint64_t said, uint64_t cpu, uint64_t tsc)
{
	struct rs_slot *slot = slots_at_tail(port);

	if (!said)
		return;
	*slot = (struct rs_slot){ .tsc = tsc, .head = rs_record_head(RS_ID_CLOCK_BACK, 1) | cpu };
	memcpy(slot->payload, &said, sizeof(said));
	port->tail += RS_SLOT_BYTES;
}

/* Writes "[NAME]" and the message. Returns the number of bytes. */
static uint32_t text_of(const struct rs_log_line *line, uint8_t *to)
{
	uint32_t n = 0;

	if (line->thread_bytes) {
		to[n++] = '[';
		memcpy(to + n, line->thread, line->thread_bytes);
		n += line->thread_bytes;
		to[n++] = ']';
	}
	memcpy(to + n, line->message, line->message_bytes);
	return n + line->message_bytes;
}

static void put_line(struct rs_log_port *port, const struct rs_log_line *line, uint64_t cpu,
		     uint64_t tsc)
{
	const struct rs_log_message head = { .seq = line->seq, .level = line->level };
	struct rs_slot *slot = slots_at_tail(port);
	uint8_t *at = slot->payload;
	uint16_t n;
	uint32_t slots;

	n = (uint16_t)text_of(line, at + LINE_FIXED);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &n, sizeof(n));
	slots = (uint32_t)(RS_RECORD_HEAD + LINE_FIXED + n + RS_SLOT_BYTES - 1) / RS_SLOT_BYTES;
	memset(at + LINE_FIXED + n, 0, slots * RS_SLOT_BYTES - RS_RECORD_HEAD - LINE_FIXED - n);
	slot->tsc = tsc;
	slot->head = rs_record_head(RS_ID_LOG, slots) | cpu;
	port->tail += slots * RS_SLOT_BYTES;
}

/* Makes a record of the assembled line. */
static void line_end(struct rs_log_port *port)
{
	struct rs_log_line line;
	uint64_t said, tsc, cpu;

	if (!port->parts.bytes)
		return;
	if (!rs_log_line_parse(port->parts.text, port->parts.bytes, &line) || !line.seq) {
		drop(port);
		return;
	}
	tsc = time_of(port, &line, port->old > 0, &said);
	cpu = (uint64_t)(line.cpu < RS_CPU_UNKNOWN ? line.cpu : RS_CPU_UNKNOWN) << RS_CPU_SHIFT;
	put_lost(port, &port->unreported_lost, RS_LOST_FULL, tsc);
	put_lost(port, &port->unreported_damaged, RS_LOST_DAMAGED, tsc);
	put_clock_back(port, said, cpu, tsc);
	put_line(port, &line, cpu, tsc);
	port->last_tsc = tsc;
	if (!port->lines || line.seq < port->first_seq)
		port->first_seq = line.seq;
	if (line.seq > port->last_seq)
		port->last_seq = line.seq;
	port->lines++;
	port->parts.bytes = 0;
}

/* Adds an element. A line's first element has the line's head. An element without a head belongs to
 * the line before, if that line is open: no NUL has ended it. */
static void add(struct rs_log_port *port, const char *text)
{
	struct rs_log_parts *parts = &port->parts;
	uint32_t n = (uint32_t)strnlen(text, RS_LOG_ELEMENT_BYTES);
	struct rs_log_line line;

	if (rs_log_line_parse(text, n, &line))
		line_end(port);
	else if (!parts->bytes || parts->bytes + n > sizeof(parts->text)) {
		port->unreported_damaged++;
		port->damaged++;
		return;
	}
	memcpy(parts->text + parts->bytes, text, n);
	parts->bytes += n;
	if (n < RS_LOG_ELEMENT_BYTES)
		line_end(port);
}

/* ---- as a port ------------------------------------------------------------------------------- */

/* Returns whether an element fits before the slot `end`. An element may end a line, and be a line:
 * two records. */
static bool has_room(const struct rs_log_port *port, uint32_t end)
{
	return end - port->tail / RS_SLOT_BYTES > 2 * ROOM_MIN;
}

/* Returns the address at which an empty buffer has room for lines. */
static uint32_t make_room(struct rs_log_port *port)
{
	uint32_t at = port->tail / RS_SLOT_BYTES;

	if (has_room(port, RS_LOG_PORT_SLOTS))
		return RS_LOG_PORT_SLOTS;
	for (; at < RS_LOG_PORT_SLOTS; at++)
		port->buffer[at] = (struct rs_slot){ .head = rs_record_head(RS_ID_FILLER, 1) };
	port->tail = 0;
	return port->head / RS_SLOT_BYTES;
}

static bool fill(struct rs_log_port *port)
{
	uint32_t end = make_room(port);
	bool waited = false;
	char text[RS_LOG_ELEMENT_BYTES];

	while (has_room(port, end)) {
		enum element got = element(port, text);

		if (got == BROKEN)
			return port->tail != port->head;
		if (got == ELEMENT) {
			add(port, text);
			port->old -= port->old && port->old != UINT64_MAX;
			waited = false;
			continue;
		}
		if (!port->parts.bytes || waited)
			break;
		rs_sleep_ns(REST_NS);
		waited = true;
	}
	if (waited)
		line_end(port);
	return true;
}

static bool log_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_log_port *port = ctx;

	if (port->head == port->tail && !fill(port))
		return false;
	*tail = port->tail;
	*refused = port->lost + port->damaged;
	return true;
}

static bool log_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_log_port *port = ctx;

	memcpy(to, (const uint8_t *)port->buffer + offset, bytes);
	return true;
}

static bool log_release(void *ctx, uint32_t head)
{
	struct rs_log_port *port = ctx;

	port->head = head;
	return true;
}

void rs_log_port_init(struct rs_log_port *port, struct rs_log_epoch *epoch)
{
	memset(port, 0, sizeof(*port));
	port->fd = -1;
	port->epoch = epoch;
}

bool rs_log_port_skip(struct rs_log_port *port, uint64_t *n)
{
	char text[RS_LOG_ELEMENT_BYTES];
	enum element got = ELEMENT;

	for (*n = 0; *n < SKIP_MAX && got == ELEMENT; *n += got == ELEMENT)
		got = element(port, text);
	port->lost = port->unreported_lost = 0;
	port->old = 0;
	return got != BROKEN;
}

struct rs_port rs_port_log(struct rs_log_port *port)
{
	return (struct rs_port){
		.ctx = port,
		.poll = log_poll,
		.copy = log_copy,
		.release = log_release,
		.size = BUFFER_BYTES,
		.head = port->head,
	};
}
