/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of the GDB remote protocol. */
#include "replay/gdb.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"

/* size of an answer: `g` has about 1,200 digits; QEMU's own limit is 4096 */
#define PACKET_MAX 16384u
#define READ_MAX   2048u /* QEMU's limit for one `m` */
#define ANSWER_MS  30000 /* a stopped machine answers at once */
#define UNASKED_MS 100	 /* for unsolicited packets; later ones are skipped */
#define TRIES	   8	 /* limit of successive packets with a wrong checksum */

struct rs_gdb {
	int fd;
	bool owes;	/* an acknowledgement is due before the next packet */
	bool more_sent; /* data was sent after the packet whose answer is awaited */
	char out[PACKET_MAX + 8];
	size_t out_n;
	uint32_t at, n; /* of unprocessed input */
	uint8_t read[4096];
	char packet[PACKET_MAX + 1]; /* the last packet, without $ and checksum, NUL-terminated */
	size_t len;
	uint32_t n_breaks, n_watches; /* points that are set */
};

/* ---- bytes ---------------------------------------------------------------------------------- */

static struct rs_error *error_closed(void)
{
	return rs_error_create(RS_ABSENT, "QEMU's GDB stub closed the connection");
}

static struct rs_error *send_all(struct rs_gdb *gdb, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(gdb->fd, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EPIPE || errno == ECONNRESET
				       ? error_closed()
				       : rs_error_errno(errno, "writing to QEMU's GDB stub");
		bytes += sent;
		n -= (size_t)sent;
	}
	return NULL;
}

/* Reads one byte. Sets *got to false if the deadline passes. */
static struct rs_error *byte_by(struct rs_gdb *gdb, int64_t deadline, uint8_t *byte, bool *got)
{
	*got = true;
	while (gdb->at == gdb->n) {
		struct pollfd wait = { .fd = gdb->fd, .events = POLLIN };
		int64_t left = deadline - rs_now_ms();
		int ready = poll(&wait, 1, left > 0 ? (int)left : 0);
		ssize_t n;

		if (ready < 0 && errno != EINTR)
			return rs_error_errno(errno, "waiting for QEMU's GDB stub");
		if (ready <= 0) {
			*got = left > 0;
			if (!*got)
				return NULL;
			continue;
		}
		n = read(gdb->fd, gdb->read, sizeof(gdb->read));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0 && errno != ECONNRESET)
			return rs_error_errno(errno, "reading from QEMU's GDB stub");
		if (n <= 0)
			return error_closed();
		gdb->at = 0;
		gdb->n = (uint32_t)n;
	}
	*byte = gdb->read[gdb->at++];
	return NULL;
}

/* ---- packets -------------------------------------------------------------------------------- */

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads the rest of a packet after its $. Sets *good to false if its checksum is wrong. */
static struct rs_error *packet_rest(struct rs_gdb *gdb, int64_t deadline, bool *good, bool *got)
{
	uint8_t sum = 0, byte = 0, check[2] = { 0 };
	struct rs_error *err;

	gdb->len = 0;
	for (;;) {
		err = byte_by(gdb, deadline, &byte, got);
		if (err || !*got || byte == '#')
			break;
		if (gdb->len == PACKET_MAX)
			return rs_error_create(RS_DAMAGED,
					       "QEMU's GDB stub sent a packet of more "
					       "than %u bytes",
					       PACKET_MAX);
		sum = (uint8_t)(sum + byte);
		gdb->packet[gdb->len++] = (char)byte;
	}
	gdb->packet[gdb->len] = '\0';
	for (int i = 0; !err && *got && i < 2; i++)
		err = byte_by(gdb, deadline, &check[i], got);
	*good = digit(check[0]) >= 0 && digit(check[1]) >= 0 &&
		(digit(check[0]) << 4 | digit(check[1])) == sum;
	return err;
}

/* Receives the next packet. Sends its acknowledgement together with the next output, since QEMU
 * waits for neither; this saves a wake-up of QEMU. */
static struct rs_error *receive(struct rs_gdb *gdb, int timeout_ms, bool *got)
{
	int64_t deadline = rs_now_ms() + timeout_ms;

	for (int i = 0; i < TRIES; i++) {
		bool good = false;
		uint8_t byte = 0;
		struct rs_error *err;

		do { /* skips acknowledgements and other bytes outside packets */
			err = byte_by(gdb, deadline, &byte, got);
			if (err || !*got)
				return err;
		} while (byte != '$');
		/* After the start of a packet, the rest follows soon. */
		err = packet_rest(gdb, rs_now_ms() + ANSWER_MS, &good, got);
		if (!err && !*got)
			err = rs_error_create(RS_DAMAGED,
					      "QEMU's GDB stub stopped within a packet");
		if (err)
			return err;
		gdb->owes = good;
		if (good)
			return NULL;
		if (gdb->more_sent) /* the stub would repeat the last packet, not this one */
			break;
		err = send_all(gdb, "-", 1);
		if (err)
			return err;
	}
	return rs_error_create(RS_DAMAGED, "QEMU's GDB stub sends packets with wrong checksums");
}

/* Adds a packet to the output, which the next flush() sends. */
static struct rs_error *add(struct rs_gdb *gdb, const char *text)
{
	uint8_t sum = 0;
	size_t n = strlen(text);

	if (n + sizeof("+$#00") > sizeof(gdb->out) - gdb->out_n)
		return rs_error_create(RS_USAGE, "a GDB packet of %zu bytes is too long", n);
	for (size_t i = 0; i < n; i++)
		sum = (uint8_t)(sum + (uint8_t)text[i]);
	gdb->out_n += (size_t)snprintf(gdb->out + gdb->out_n, sizeof(gdb->out) - gdb->out_n,
				       "%s$%s#%02x", gdb->owes ? "+" : "", text, sum);
	gdb->owes = false;
	return NULL;
}

static struct rs_error *flush(struct rs_gdb *gdb)
{
	size_t n = gdb->out_n;

	gdb->out_n = 0;
	return send_all(gdb, gdb->out, n);
}

static struct rs_error *post(struct rs_gdb *gdb, const char *text)
{
	struct rs_error *err = add(gdb, text);

	return err ? err : flush(gdb);
}

/* Returns whether the packet reports a stop, which a stub also sends unsolicited. */
static bool is_stop_report(const struct rs_gdb *gdb)
{
	return gdb->packet[0] == 'T' || gdb->packet[0] == 'S';
}

/* Receives the answer to a packet. Skips unsolicited stop reports, unless `stops`. */
static struct rs_error *answer(struct rs_gdb *gdb, bool stops)
{
	struct rs_error *err;
	bool got;

	do
		err = receive(gdb, ANSWER_MS, &got);
	while (!err && got && is_stop_report(gdb) && !stops);
	if (!err && !got)
		err = rs_error_create(RS_FAILED, "QEMU's GDB stub does not answer");
	/* The machine ended during the request: it was stopped, and had been ordered to shut down
	 * before. */
	if (!err && (gdb->packet[0] == 'W' || gdb->packet[0] == 'X'))
		err = error_closed();
	return err;
}

static struct rs_error *request(struct rs_gdb *gdb, const char *text)
{
	struct rs_error *err = post(gdb, text);

	return err ? err : answer(gdb, text[0] == '?');
}

static struct rs_error *ask_ok(struct rs_gdb *gdb, const char *text)
{
	struct rs_error *err = request(gdb, text);

	if (!err && strcmp(gdb->packet, "OK") != 0)
		err = rs_error_create(RS_FAILED, "QEMU's GDB stub answers '%.20s' to '%.20s'",
				      gdb->packet, text);
	return err;
}

/* Converts hex digits to at most size bytes. Returns false if the text has other characters. */
static bool unhex(const char *text, size_t len, uint8_t *bytes, size_t size, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i + 1 < len && *n < size; i += 2) {
		int high = digit((uint8_t)text[i]), low = digit((uint8_t)text[i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[(*n)++] = (uint8_t)(high << 4 | low);
	}
	return len % 2 == 0;
}

/* ---- the connection ------------------------------------------------------------------------- */

struct rs_error *rs_gdb_adopt(int fd, struct rs_gdb **gdb)
{
	struct rs_gdb *made = calloc(1, sizeof(*made));
	struct rs_error *err;

	if (!made) {
		close(fd);
		return rs_error_no_memory();
	}
	made->fd = fd;
	/* A running machine stops, which the stub reports before it answers "?". */
	err = request(made, "?");
	for (bool got = true; !err && got;)
		err = receive(made, UNASKED_MS, &got);
	if (err) {
		rs_gdb_close(made);
		return err;
	}
	*gdb = made;
	return NULL;
}

void rs_gdb_close(struct rs_gdb *gdb)
{
	if (!gdb)
		return;
	if (gdb->fd >= 0)
		close(gdb->fd);
	free(gdb);
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct rs_error *add_monitor(struct rs_gdb *gdb, const char *command)
{
	char text[512] = "qRcmd,";
	size_t at = strlen(text);

	if (strlen(command) * 2 + at >= sizeof(text))
		return rs_error_create(RS_USAGE, "a monitor command is too long: %.40s", command);
	for (const char *c = command; *c; c++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", (uint8_t)*c);
	return add(gdb, text);
}

static struct rs_error *monitor_answer(struct rs_gdb *gdb, const char *command, char *output,
				       size_t size)
{
	struct rs_error *err = answer(gdb, false);
	size_t used = 0, n;
	bool got = true;

	output[0] = '\0';
	while (!err && gdb->packet[0] == 'O' && strcmp(gdb->packet, "OK") != 0) {
		if (!unhex(gdb->packet + 1, gdb->len - 1, (uint8_t *)output + used, size - 1 - used,
			   &n))
			return rs_error_create(RS_DAMAGED,
					       "QEMU's monitor sent no hexadecimal digits");
		used += n;
		output[used] = '\0';
		err = receive(gdb, ANSWER_MS, &got);
		if (!err && !got)
			err = rs_error_create(RS_FAILED, "QEMU's monitor does not end");
	}
	if (!err && strcmp(gdb->packet, "OK") != 0)
		err = rs_error_create(RS_FAILED, "QEMU's monitor rejects '%s': %.40s", command,
				      gdb->packet);
	return err;
}

/* Runs a monitor command, and sends the packet `behind`, unless NULL, in the same write. */
static struct rs_error *monitor_with(struct rs_gdb *gdb, const char *command, const char *behind,
				     char *output, size_t size)
{
	struct rs_error *err = add_monitor(gdb, command);

	if (!err && behind)
		err = add(gdb, behind);
	if (!err)
		err = flush(gdb);
	gdb->more_sent = behind;
	if (!err)
		err = monitor_answer(gdb, command, output, size);
	gdb->more_sent = false;
	if (behind)
		gdb->owes = false; /* the packet `behind` served as the acknowledgement */
	return err;
}

struct rs_error *rs_gdb_monitor(struct rs_gdb *gdb, const char *command, char *output, size_t size)
{
	return monitor_with(gdb, command, NULL, output, size);
}

struct rs_error *rs_gdb_monitor_continue(struct rs_gdb *gdb, const char *command, char *output,
					 size_t size)
{
	return monitor_with(gdb, command, "c", output, size);
}

/* Parses the answer to a `g`. */
static struct rs_error *registers_answer(struct rs_gdb *gdb, void *raw, size_t size, size_t *bytes)
{
	if (unhex(gdb->packet, gdb->len, raw, size, bytes) && *bytes)
		return NULL;
	return rs_error_create(RS_FAILED, "QEMU's GDB stub returns no registers: %.20s",
			       gdb->packet);
}

struct rs_error *rs_gdb_registers_raw(struct rs_gdb *gdb, void *raw, size_t size, size_t *bytes)
{
	struct rs_error *err = request(gdb, "g");

	return err ? err : registers_answer(gdb, raw, size, bytes);
}

struct rs_error *rs_gdb_monitor_registers(struct rs_gdb *gdb, const char *command, char *output,
					  size_t output_size, void *raw, size_t size, size_t *bytes)
{
	struct rs_error *err = monitor_with(gdb, command, "g", output, output_size);

	if (!err)
		err = answer(gdb, false);
	return err ? err : registers_answer(gdb, raw, size, bytes);
}

/* The widths of the first registers in `g`. */
static const uint8_t widths[] = {
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, /* to rip */
	4, 4, 4, 4, 4, 4, 4,				   /* eflags and segments */
	8, 8, 8, 8, 8, 8, 8, 8, 8,			   /* bases, control registers, efer */
};

struct rs_error *rs_x86_regs_parse(const void *raw, size_t bytes, struct rs_x86_regs *regs)
{
	uint32_t width;
	size_t at = 0;

	memset(regs, 0, sizeof(*regs));
	for (uint32_t i = 0; i < sizeof(widths); i++) {
		if (at + widths[i] > bytes)
			return rs_error_create(RS_DAMAGED,
					       "QEMU returns %zu bytes of registers: this is not "
					       "x86-64 machine",
					       bytes);
		memcpy(rs_x86_reg_place(regs, i, &width), (const uint8_t *)raw + at, widths[i]);
		at += widths[i];
	}
	return NULL;
}

struct rs_error *rs_gdb_registers(struct rs_gdb *gdb, struct rs_x86_regs *regs)
{
	uint8_t raw[PACKET_MAX / 2];
	size_t bytes = 0;
	struct rs_error *err = rs_gdb_registers_raw(gdb, raw, sizeof(raw), &bytes);

	return err ? err : rs_x86_regs_parse(raw, bytes, regs);
}

struct rs_error *rs_gdb_read(struct rs_gdb *gdb, uint64_t gva, void *buf, size_t bytes)
{
	uint8_t *to = buf;

	while (bytes) {
		size_t part = bytes < READ_MAX ? bytes : READ_MAX, n;
		struct rs_error *err;
		char text[64];

		snprintf(text, sizeof(text), "m%" PRIx64 ",%zx", gva, part);
		err = request(gdb, text);
		if (err)
			return err;
		if (!unhex(gdb->packet, gdb->len, to, part, &n) || n != part)
			return rs_error_create(RS_FAILED, "0x%" PRIx64 " cannot be read: %.20s",
					       gva, gdb->packet);
		to += part;
		gva += part;
		bytes -= part;
	}
	return NULL;
}

struct rs_error *rs_gdb_point(struct rs_gdb *gdb, enum rs_gdb_point kind, uint64_t address,
			      uint32_t bytes, bool set)
{
	struct rs_error *err;
	char text[64];

	snprintf(text, sizeof(text), "%c%d,%" PRIx64 ",%x", set ? 'Z' : 'z', (int)kind, address,
		 bytes);
	err = ask_ok(gdb, text);
	if (!err)
		*(kind == RS_GDB_EXEC ? &gdb->n_breaks : &gdb->n_watches) += set ? 1 : -1;
	return err;
}

bool rs_gdb_has_breaks(const struct rs_gdb *gdb)
{
	return gdb->n_breaks;
}

bool rs_gdb_has_watches(const struct rs_gdb *gdb)
{
	return gdb->n_watches;
}

/* ---- running -------------------------------------------------------------------------------- */

struct rs_error *rs_gdb_continue(struct rs_gdb *gdb)
{
	return post(gdb, "c");
}

struct rs_error *rs_gdb_back(struct rs_gdb *gdb)
{
	return post(gdb, "bc");
}

struct rs_error *rs_gdb_back_step(struct rs_gdb *gdb)
{
	return post(gdb, "bs");
}

struct rs_error *rs_gdb_step(struct rs_gdb *gdb)
{
	return post(gdb, "s");
}

const char *rs_gdb_text(const struct rs_gdb *gdb)
{
	return gdb->packet;
}

int rs_gdb_fd(const struct rs_gdb *gdb, bool *pending)
{
	*pending = gdb->at < gdb->n;
	return gdb->fd;
}

struct rs_error *rs_gdb_interrupt(struct rs_gdb *gdb)
{
	return send_all(gdb, "\x03", 1);
}

struct rs_error *rs_gdb_ask(struct rs_gdb *gdb, const char *packet)
{
	return request(gdb, packet);
}

struct rs_error *rs_gdb_order(struct rs_gdb *gdb, const char *packet)
{
	return ask_ok(gdb, packet);
}

struct rs_error *rs_gdb_step_alone(struct rs_gdb *gdb, uint32_t thread)
{
	char text[32];

	snprintf(text, sizeof(text), "vCont;s:%x", thread);
	return post(gdb, text);
}

/* Parses the thread and the reason of a stop report, "T05thread:01;". */
static void thread_parse(const char *packet, struct rs_gdb_stopped *stopped)
{
	const char *at = strstr(packet, "thread:");
	int high = digit((uint8_t)packet[1]), low = high < 0 ? -1 : digit((uint8_t)packet[2]);

	if (low >= 0)
		stopped->signal = (uint8_t)(high << 4 | low);
	if (at && at[7] == 'p') /* pPID.TID */
		at = strchr(at, '.') ? strchr(at, '.') - 6 : NULL;
	if (at)
		stopped->thread = (uint32_t)strtoul(at + 7, NULL, 16);
}

/* Parses the access of a watchpoint's stop report, "T05thread:01;watch:ffff...;". */
static void access_parse(const char *packet, struct rs_gdb_stopped *stopped)
{
	static const struct {
		const char *word;
		enum rs_gdb_point kind;
	} words[] = { { "rwatch:", RS_GDB_READ },
		      { "awatch:", RS_GDB_ACCESS },
		      { "watch:", RS_GDB_WRITE } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strstr(packet, words[i].word);

		if (!at)
			continue;
		stopped->why = RS_GDB_WATCHED;
		stopped->kind = words[i].kind;
		stopped->address = strtoull(at + strlen(words[i].word), NULL, 16);
		return;
	}
}

struct rs_error *rs_gdb_wait(struct rs_gdb *gdb, int timeout_ms, bool *done,
			     struct rs_gdb_stopped *stopped)
{
	struct rs_error *err = receive(gdb, timeout_ms, done);

	*stopped = (struct rs_gdb_stopped){ .why = RS_GDB_STOPPED };
	if (err && rs_error_code(err) == RS_ABSENT) { /* it may close without a report */
		rs_error_free(err);
		stopped->why = RS_GDB_ENDED;
		*done = true;
		return NULL;
	}
	if (err || !*done)
		return err;
	switch (gdb->packet[0]) {
	case 'T':
		access_parse(gdb->packet, stopped);
		thread_parse(gdb->packet, stopped);
		return NULL;
	case 'S':
		thread_parse(gdb->packet, stopped);
		return NULL;
	case 'W':
	case 'X':
		stopped->why = RS_GDB_ENDED;
		return NULL;
	default:
		return rs_error_create(RS_DAMAGED,
				       "QEMU's GDB stub answers '%.20s' to a machine "
				       "that runs",
				       gdb->packet);
	}
}
