/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers a debugger's packets. */
#include "replay/debugger_session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hex.h"
#include "replay/debugger_back.h"
#include "replay/debugger_step.h"
#include "replay/gdb.h"
#include "replay/gdb_gate.h"

#define CHECK_MS      200   /* between two checks of *stop */
#define PIECE	      4096u /* number of bytes in one read */
#define REPLY_MAX     16384u
#define MEMORY_MAX    2048u /* bytes of one reply; QEMU's own limit */
#define REGISTERS_MAX 4096u
#define LIST_MAX      512u /* digits in one part of the list of threads */
#define UNREADABLE    "E14"
#define REFUSED	      "E01"
#define UNKNOWN	      'x' /* a digit of an unknown register */

struct session {
	int debugger;
	struct rs_gdb *gdb;
	const struct rs_debugger_options *options;
	struct rs_gdb_gate gate;
	struct rs_debugger_points points;
	struct rs_debugger_threads threads;
	int64_t selected;     /* selected by the debugger, for registers and memory */
	bool open;	      /* false: one side has disconnected */
	bool foreign;	      /* the peer is not a debugger */
	bool runs;	      /* the machine */
	bool goes_back;	      /* the machine runs */
	bool searches;	      /* search for a kernel when it stops */
	bool physical;	      /* QEMU reads memory by physical address */
	bool reported, known; /* whether the tasks are known was reported, and what */
	uint32_t next;	      /* position in the list of threads */
	char *xml;	      /* the list of this stop as an XML document; or NULL */
	size_t xml_bytes;
	char why[64];		    /* the last stop's report */
	char reply[REPLY_MAX + 1];  /* the last reply, */
	char packet[REPLY_MAX + 8]; /* and its packet */
};

/* ---- replies -------------------------------------------------------------------------------- */

static void send_bytes(struct session *s, const char *bytes, size_t n)
{
	while (s->open && n) {
		ssize_t sent = send(s->debugger, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			s->open = false;
		if (sent > 0) {
			bytes += sent;
			n -= (size_t)sent;
		}
	}
}

static void reply(struct session *s, const char *body)
{
	uint8_t sum = 0;
	int n;

	for (const char *c = body; *c; c++)
		sum = (uint8_t)(sum + (uint8_t)*c);
	n = snprintf(s->packet, sizeof(s->packet), "$%.*s#%02x", (int)REPLY_MAX, body, sum);
	send_bytes(s, s->packet, (size_t)n);
}

/* Passes the packet to QEMU's stub, and replies with its answer. */
static struct rs_error *forward(struct session *s)
{
	struct rs_error *err = rs_gdb_ask(s->gdb, s->gate.body);

	if (!err)
		reply(s, rs_gdb_text(s->gdb));
	return err;
}

/* ---- stops ---------------------------------------------------------------------------------- */

static void report_tasks(struct session *s)
{
	const char *why = rs_debugger_threads_why(&s->threads);

	if (s->options->notice && (!s->reported || s->known != !why))
		s->options->notice(s->options->ctx, !why, why);
	s->reported = true;
	s->known = !why;
}

/* Reads the state of the stopped machine. */
static struct rs_error *state_read(struct session *s, bool search)
{
	struct rs_x86_regs regs;
	struct rs_error *err = rs_gdb_registers(s->gdb, &regs);

	if (err)
		return err;
	rs_debugger_threads_stopped(&s->threads, &regs, search);
	s->selected = s->threads.current;
	s->next = 0;
	free(s->xml);
	s->xml = NULL;
	report_tasks(s);
	return NULL;
}

/* Formats the report of a stop, from "GDB Remote Serial Protocol", E.3. */
static void why_format(struct session *s, const struct rs_gdb_stopped *stopped, bool at_begin)
{
	static const char *const words[] = {
		[RS_GDB_WRITE] = "watch", [RS_GDB_READ] = "rwatch", [RS_GDB_ACCESS] = "awatch"
	};
	int n = snprintf(s->why, sizeof(s->why), "T%02xthread:%" PRIx64 ";", stopped->signal,
			 (uint64_t)s->threads.current);

	if (stopped->why == RS_GDB_WATCHED)
		snprintf(s->why + n, sizeof(s->why) - (size_t)n, "%s:%" PRIx64 ";",
			 words[stopped->kind], stopped->address);
	else if (at_begin)
		snprintf(s->why + n, sizeof(s->why) - (size_t)n, "replaylog:begin;");
}

/* Reports a stop to the debugger. */
static struct rs_error *stop_report(struct session *s, const struct rs_gdb_stopped *stopped,
				    bool at_begin, bool search)
{
	struct rs_error *err;

	s->runs = false;
	if (stopped->why == RS_GDB_ENDED) {
		reply(s, "W00");
		s->open = false;
		return NULL;
	}
	err = state_read(s, search);
	if (err)
		return err;
	why_format(s, stopped, at_begin);
	reply(s, s->why);
	return NULL;
}

/* Handles what QEMU's stub says while the machine runs. */
static struct rs_error *machine_said(struct session *s)
{
	struct rs_gdb_stopped stopped = { .why = RS_GDB_STOPPED };
	bool done = false, at_begin;
	struct rs_error *err = rs_gdb_wait(s->gdb, 0, &done, &stopped);

	/* QEMU cannot go back from the recording's beginning. */
	at_begin = err && s->goes_back && rs_gdb_text(s->gdb)[0] == 'E';
	if (at_begin) {
		rs_error_free(err);
		err = NULL;
		done = true;
		stopped.signal = RS_GDB_TRAP;
	}
	if (!s->runs && done && stopped.why == RS_GDB_ENDED)
		s->open = false;
	if (err || !done || !s->runs)
		return err;
	return stop_report(s, &stopped, at_begin, s->searches);
}

/* ---- running -------------------------------------------------------------------------------- */

static struct rs_error *run(struct session *s, struct rs_error *(*how)(struct rs_gdb *gdb))
{
	s->runs = true;
	s->goes_back = how == rs_gdb_back || how == rs_gdb_back_step;
	/* Does not search for a kernel at each of many steps. */
	s->searches = how == rs_gdb_continue || how == rs_gdb_back;
	return how(s->gdb);
}

static struct rs_debugger_moves moves_of(const struct session *s)
{
	return (struct rs_debugger_moves){
		.points = &s->points,
		.gdb = s->gdb,
		.debugger = s->debugger,
		.stop = s->options->stop,
		.report = { .why = RS_GDB_STOPPED, .signal = RS_GDB_TRAP },
	};
}

/* Returns whether the processor is in the program of a known task. */
static bool is_in_program(const struct session *s)
{
	return !rs_debugger_threads_why(&s->threads) && rs_debugger_is_user(&s->threads.regs);
}

/* Goes back. If points are set, QEMU's report is not what a debugger expects, so rs_debugger_back()
 * is used. */
static struct rs_error *run_back(struct session *s, bool steps)
{
	struct rs_debugger_moves moves = moves_of(s);
	struct rs_error *err;

	if (steps && is_in_program(s))
		err = rs_debugger_step_back(&moves, &s->threads);
	else if (rs_debugger_is_back(&s->points, steps))
		err = rs_debugger_back(&moves, steps);
	else
		return run(s, steps ? rs_gdb_back_step : rs_gdb_back);
	return err ? err : stop_report(s, &moves.report, moves.at_begin, !steps);
}

/* Executes an instruction. A step in a program skips the kernel's code. */
static struct rs_error *run_step(struct session *s)
{
	struct rs_debugger_moves moves = moves_of(s);
	struct rs_error *err;

	if (!is_in_program(s))
		return run(s, rs_gdb_step);
	err = rs_debugger_step(&moves, &s->threads);
	return err ? err : stop_report(s, &moves.report, false, false);
}

/* Continues or steps by the actions of a vCont packet. */
static struct rs_error *resume(struct session *s)
{
	switch (rs_gdb_action_parse(s->gate.body, s->threads.current)) {
	case RS_GDB_ACTION_CONTINUE:
		return run(s, rs_gdb_continue);
	case RS_GDB_ACTION_STEP:
		return run_step(s);
	case RS_GDB_ACTION_NONE:
		break;
	}
	reply(s, REFUSED);
	return NULL;
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Handles H, which selects the thread for later packets. Ignores the thread for c and s, since the
 * whole machine runs. */
static void thread_select(struct session *s)
{
	const char *at = s->gate.body + 2;
	struct rs_debugger_thread thread;
	int64_t id;

	if (!s->gate.body[1] || !rs_gdb_thread_parse(&at, &id) || *at) {
		reply(s, REFUSED);
		return;
	}
	if (id == RS_GDB_THREAD_ALL || id == RS_GDB_THREAD_ANY)
		id = s->threads.current;
	if (!rs_debugger_threads_find(&s->threads, id, &thread)) {
		reply(s, REFUSED);
		return;
	}
	if (s->gate.body[1] == 'g')
		s->selected = id;
	reply(s, "OK");
}

/* Finds the thread whose number follows `from` in a packet. */
static bool thread_named(struct session *s, const char *from, struct rs_debugger_thread *thread)
{
	int64_t id;

	return rs_gdb_thread_parse(&from, &id) && !*from &&
	       rs_debugger_threads_find(&s->threads, id, thread);
}

static void thread_alive(struct session *s)
{
	struct rs_debugger_thread thread;

	reply(s, thread_named(s, s->gate.body + 1, &thread) ? "OK" : REFUSED);
}

static void thread_extra(struct session *s)
{
	struct rs_debugger_thread thread;
	char text[sizeof(thread.name) + sizeof(thread.extra) + 4];

	if (!thread_named(s, strchr(s->gate.body, ',') + 1, &thread)) {
		reply(s, REFUSED);
		return;
	}
	snprintf(text, sizeof(text), "%s (%s)", thread.name, thread.extra);
	rs_hex_write(s->reply, text, strlen(text));
	reply(s, s->reply);
}

/* Formats a part of the list of threads, from s->next on: "m1,2,1f", and "l" at its end. */
static void thread_list(struct session *s)
{
	struct rs_debugger_thread thread;
	size_t n = 0;

	while (n < LIST_MAX && rs_debugger_threads_at(&s->threads, s->next, &thread)) {
		n += (size_t)snprintf(s->reply + n, REPLY_MAX - n, "%c%" PRIx64, n ? ',' : 'm',
				      (uint64_t)thread.id);
		s->next++;
	}
	reply(s, n ? s->reply : "l");
}

static void thread_current(struct session *s)
{
	snprintf(s->reply, REPLY_MAX, "QC%" PRIx64, (uint64_t)s->threads.current);
	reply(s, s->reply);
}

/* ---- registers and memory ------------------------------------------------------------------- */

static bool is_current(const struct session *s)
{
	return s->selected == s->threads.current;
}

/* Writes a register's digits, little endian. */
static char *register_put(char *at, const void *value, uint32_t bytes, bool known)
{
	if (known)
		rs_hex_write(at, value, bytes);
	else
		memset(at, UNKNOWN, bytes * (size_t)2);
	return at + bytes * (size_t)2;
}

/* Writes the registers of a waiting thread. Further registers of QEMU's target are unknown. */
static struct rs_error *registers_read(struct session *s)
{
	uint8_t raw[REGISTERS_MAX];
	struct rs_x86_regs regs;
	uint64_t known = 0;
	size_t bytes = 0;
	char *at = s->reply, *end;
	struct rs_error *err = rs_gdb_registers_raw(s->gdb, raw, sizeof(raw), &bytes);

	if (err)
		return err;
	rs_debugger_threads_registers(&s->threads, s->selected, &regs, &known);
	end = s->reply + 2 * bytes;
	for (uint32_t i = 0, width; rs_x86_reg_place(&regs, i, &width); i++)
		if (at + 2 * (size_t)width <= end)
			at = register_put(at, rs_x86_reg_place(&regs, i, &width), width,
					  known >> i & 1);
	memset(at, UNKNOWN, (size_t)(end - at));
	*end = '\0';
	reply(s, s->reply);
	return NULL;
}

/* p: replies with one register of a waiting thread. */
static void register_read(struct session *s)
{
	const char *at = s->gate.body + 1;
	struct rs_x86_regs regs;
	uint64_t number, known = 0;
	uint32_t width;
	void *place;

	rs_debugger_threads_registers(&s->threads, s->selected, &regs, &known);
	place = rs_gdb_number_parse(&at, &number) && !*at && number < 64
			? rs_x86_reg_place(&regs, (uint32_t)number, &width)
			: NULL;
	if (!place) {
		reply(s, REFUSED);
		return;
	}
	*register_put(s->reply, place, width, known >> number & 1) = '\0';
	reply(s, s->reply);
}

/* m: replies with memory of a waiting thread, up to the first byte that cannot be read. */
static void memory_read(struct session *s)
{
	uint8_t bytes[MEMORY_MAX];
	uint64_t from, n;

	if (!rs_gdb_range_parse(s->gate.body + 1, &from, &n)) {
		reply(s, REFUSED);
		return;
	}
	n = rs_debugger_threads_read(&s->threads, s->selected, from, bytes,
				     n < sizeof(bytes) ? n : sizeof(bytes));
	rs_hex_write(s->reply, bytes, n);
	reply(s, n ? s->reply : UNREADABLE);
}

/* ---- the list as a document ------------------------------------------------------------------ */

/* Writes a text as an attribute or content of XML. */
static void xml_text(FILE *to, const char *text)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = { { '&', "&amp;" },
			 { '<', "&lt;" },
			 { '>', "&gt;" },
			 { '"', "&quot;" },
			 { '\'', "&apos;" } };

	for (; *text; text++) {
		const char *entity = NULL;

		for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
			if (entities[i].c == *text)
				entity = entities[i].entity;
		if (entity)
			fputs(entity, to);
		else
			fputc(*text, to);
	}
}

/* Writes the document of qXfer:threads:read: "GDB Remote Serial Protocol", E.14. */
static struct rs_error *xml_make(struct session *s)
{
	struct rs_debugger_thread thread;
	FILE *to = open_memstream(&s->xml, &s->xml_bytes);
	bool failed;

	if (!to)
		return rs_error_no_memory();
	fputs("<?xml version=\"1.0\"?>\n<threads>\n", to);
	for (uint32_t i = 0; rs_debugger_threads_at(&s->threads, i, &thread); i++) {
		fprintf(to, "<thread id=\"%" PRIx64 "\" name=\"", (uint64_t)thread.id);
		xml_text(to, thread.name);
		fputs("\">", to);
		xml_text(to, thread.extra);
		fputs("</thread>\n", to);
	}
	fputs("</threads>\n", to);
	failed = ferror(to);
	if (fclose(to) || failed) {
		free(s->xml);
		s->xml = NULL;
		return rs_error_no_memory();
	}
	return NULL;
}

/* Writes a part of the document, with the protocol's escapes. */
static struct rs_error *xml_read(struct session *s)
{
	const char *at = strrchr(s->gate.body, ':') + 1;
	uint64_t from, bytes, n = 1;
	struct rs_error *err;

	if (!rs_gdb_range_parse(at, &from, &bytes)) {
		reply(s, REFUSED);
		return NULL;
	}
	err = s->xml ? NULL : xml_make(s);
	if (err)
		return err;
	s->reply[0] = 'm';
	for (; from < s->xml_bytes && bytes && n < MEMORY_MAX; from++, bytes--) {
		char c = s->xml[from];

		if (strchr("#$}*", c)) {
			s->reply[n++] = '}';
			c ^= 0x20;
		}
		s->reply[n++] = c;
	}
	if (from >= s->xml_bytes)
		s->reply[0] = 'l';
	s->reply[n] = '\0';
	reply(s, s->reply);
	return NULL;
}

/* ---- packets -------------------------------------------------------------------------------- */

/* Replies with QEMU's features, except those that this code does not support. */
static struct rs_error *features(struct session *s)
{
	struct rs_error *err = rs_gdb_ask(s->gdb, "qSupported");
	char text[1024], *rest = text;
	size_t n = 0;

	if (err)
		return err;
	snprintf(text, sizeof(text), "%s", rs_gdb_text(s->gdb));
	for (const char *word; (word = strsep(&rest, ";"));)
		if (*word && strcmp(word, "multiprocess+") != 0)
			n += (size_t)snprintf(s->reply + n, REPLY_MAX - n, "%s;", word);
	snprintf(s->reply + n, REPLY_MAX - n, "qXfer:threads:read+");
	reply(s, s->reply);
	return NULL;
}

/* Replies to "monitor info replay". */
static struct rs_error *replay_place(struct session *s)
{
	char output[512];
	struct rs_error *err = rs_gdb_monitor(s->gdb, "info replay", output, sizeof(output));

	if (err)
		return err;
	s->reply[0] = 'O';
	rs_hex_write(s->reply + 1, output, strlen(output));
	reply(s, s->reply);
	reply(s, "OK");
	return NULL;
}

/* Replies to a packet about the selected thread. */
static struct rs_error *selected_answer(struct session *s)
{
	if (is_current(s) || (s->gate.kind == RS_GDB_MEMORY && s->physical))
		return forward(s);
	switch (s->gate.kind) {
	case RS_GDB_REGISTERS:
		return registers_read(s);
	case RS_GDB_REGISTER:
		register_read(s);
		return NULL;
	case RS_GDB_MEMORY:
		memory_read(s);
		return NULL;
	default:
		reply(s, REFUSED);
		return NULL;
	}
}

/* Replies to a packet about the threads. */
static struct rs_error *threads_answer(struct session *s)
{
	switch (s->gate.kind) {
	case RS_GDB_SELECT:
		thread_select(s);
		break;
	case RS_GDB_ALIVE:
		thread_alive(s);
		break;
	case RS_GDB_CURRENT:
		thread_current(s);
		break;
	case RS_GDB_LIST:
		s->next = 0;
		thread_list(s);
		break;
	case RS_GDB_LIST_MORE:
		thread_list(s);
		break;
	case RS_GDB_EXTRA:
		thread_extra(s);
		break;
	default:
		return xml_read(s);
	}
	return NULL;
}

static struct rs_error *answer(struct session *s)
{
	switch (s->gate.kind) {
	case RS_GDB_POINT_SET:
		rs_debugger_points_observe(&s->points, s->gate.body);
		return forward(s);
	case RS_GDB_PHYSICAL:
		s->physical = s->gate.body[strlen("Qqemu.PhyMemMode:")] == '1';
		return forward(s);
	case RS_GDB_FORWARD:
		return forward(s);
	case RS_GDB_WHY:
		reply(s, s->why);
		return NULL;
	case RS_GDB_REGISTERS:
	case RS_GDB_REGISTER:
	case RS_GDB_MEMORY:
	case RS_GDB_CHANGE:
		return selected_answer(s);
	case RS_GDB_FEATURES:
		return features(s);
	case RS_GDB_ACTIONS:
		reply(s, "vCont;c;C;s;S");
		return NULL;
	case RS_GDB_RESUME:
		return resume(s);
	case RS_GDB_CONTINUE:
		return run(s, rs_gdb_continue);
	case RS_GDB_STEP:
		return run_step(s);
	case RS_GDB_BACK:
	case RS_GDB_BACK_STEP:
		return run_back(s, s->gate.kind == RS_GDB_BACK_STEP);
	case RS_GDB_REPLAY_PLACE:
		return replay_place(s);
	case RS_GDB_LEAVE:
		reply(s, "OK");
		s->open = false;
		return NULL;
	default:
		return threads_answer(s);
	}
}

/* Handles a byte from the debugger. While the machine runs, only a request to stop has an
 * effect. */
static struct rs_error *byte_handle(struct session *s, char byte)
{
	enum rs_gdb_verdict verdict = rs_gdb_gate_put(&s->gate, byte);

	switch (verdict) {
	case RS_GDB_MORE:
		return NULL;
	case RS_GDB_FOREIGN:
		s->foreign = true;
		return NULL;
	case RS_GDB_STOP:
		return s->runs ? rs_gdb_interrupt(s->gdb) : NULL;
	case RS_GDB_DAMAGED:
		send_bytes(s, "-", 1);
		return NULL;
	case RS_GDB_AGAIN:
		send_bytes(s, s->packet, strlen(s->packet));
		return NULL;
	case RS_GDB_UNSUPPORTED:
	case RS_GDB_PACKET:
		break;
	}
	if (s->runs)
		return NULL;
	send_bytes(s, "+", 1);
	if (verdict == RS_GDB_PACKET)
		return answer(s);
	reply(s, "");
	return NULL;
}

static struct rs_error *debugger_said(struct session *s)
{
	struct rs_error *err = NULL;
	char piece[PIECE];
	ssize_t n = read(s->debugger, piece, sizeof(piece));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return NULL;
	if (n < 0 && errno != ECONNRESET)
		return rs_error_errno(errno, "reading from the debugger");
	s->open = n > 0;
	for (ssize_t i = 0; !err && s->open && !s->foreign && i < n; i++)
		err = byte_handle(s, piece[i]);
	return err;
}

/* Waits for either side, and handles its input. */
static struct rs_error *serve(struct session *s)
{
	bool pending;
	struct pollfd both[2] = { { .fd = s->debugger, .events = POLLIN },
				  { .fd = rs_gdb_fd(s->gdb, &pending), .events = POLLIN } };
	int ready = poll(both, 2, pending ? 0 : CHECK_MS);
	struct rs_error *err = NULL;

	if (ready < 0)
		return errno == EINTR ? NULL : rs_error_errno(errno, "waiting for the debugger");
	/* The machine's input is older than the debugger's next request. */
	if (pending || (ready > 0 && both[1].revents))
		err = machine_said(s);
	if (!err && s->open && ready > 0 && both[0].revents)
		err = debugger_said(s);
	return err;
}

struct rs_error *rs_debugger_session(int debugger, struct rs_gdb *gdb,
				     const struct rs_debugger_options *options, bool *foreign)
{
	const struct rs_gdb_stopped begins = { .why = RS_GDB_STOPPED, .signal = RS_GDB_TRAP };
	struct session *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	*s = (struct session){ .debugger = debugger, .gdb = gdb, .options = options, .open = true };
	rs_debugger_threads_init(options->memory, options->kernel_frames, &s->threads);
	err = state_read(s, true);
	if (!err)
		why_format(s, &begins, false);
	while (!err && s->open && !s->foreign && !*options->stop)
		err = serve(s);
	*foreign = s->foreign;
	rs_debugger_threads_deinit(&s->threads);
	free(s->xml);
	free(s);
	return err;
}
