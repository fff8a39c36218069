/* SPDX-License-Identifier: BSD-2-Clause */
/* Controls a running machine for probes, through its GDB stub. */
#include "replay/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/now.h"
#include "replay/address.h"
#include "replay/guard.h"
#include "replay/material.h"
#include "replay/qemu.h"
#include "replay/ram.h"
#include "replay/snapshots.h"

#define CHECK_MS      200 /* between two checks of *stop */
#define CALIBRATE_NS  UINT64_C(1000000000)
#define BOOT_NS	      UINT64_C(200000000) /* the same, of a booting machine */
#define FIRMWARE_NS   UINT64_C(50000000)  /* the firmware enables the timer within a few of these */
#define FIRMWARE_RUNS 100
#define TREE_MAX      (256u << 10) /* of `info mtree` */
#define LINE_MAX_     256u
#define TIMER_HZ      UINT64_C(3579545) /* ACPI specification 4.8.3.3 */
#define TIMER_BITS    24
#define TIMER_MASK    ((UINT64_C(1) << TIMER_BITS) - 1)
#define NS_PER_SEC    UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)
#define READ_NS	      NS_PER_SEC /* the timer wraps in 4.7 s */
#define BLOCK_BYTES   2048u	 /* the most that the stub reads for one packet */
#define BLOCK_BITS    8
#define BLOCKS	      (1u << BLOCK_BITS)

/* RAM that was read since the machine stopped. */
struct block {
	uint64_t number; /* gpa / BLOCK_BYTES, plus 1; 0: empty */
	uint8_t bytes[BLOCK_BYTES];
};

struct rs_live {
	struct rs_qemu qemu; /* the QEMU that was started here; or all zero */
	struct rs_gdb *gdb;
	struct rs_guard guard;
	struct rs_snapshots disk; /* overlay for its writes to the recording's disk */
	int memory;		  /* memfd */
	uint8_t *ram;
	uint64_t bytes;
	bool ended;
	bool calibrated; /* rate was measured */
	bool measures;	 /* the measurement of the distortion has begun */

	uint32_t thread;	/* the processor that caused the last stop */
	uint64_t stopped_at_ns; /* host's clock */
	uint64_t ran_ns;	/* since the measurement began, as the values below */
	uint64_t begin_ns, stops, stopped_ns;
	uint64_t hiding; /* stops that were requested while memory was watched */

	uint64_t port, last, ticks; /* of the timer, 0: none; its last value; its advance */
	uint64_t ran_since;	    /* time run since it was read */
	double rate;

	struct block *blocks; /* BLOCKS of another user's machine, by number; else NULL */
};

/* ---- connecting --------------------------------------------------------------------------- */

static struct rs_error *connect_unix(const char *path, int *fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return rs_error_create(RS_USAGE, "the path is too long for a socket");
	strcpy(address.sun_path, path);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || connect(*fd, (struct sockaddr *)&address, sizeof(address)))
		return rs_error_errno(errno, "%s", path);
	return NULL;
}

static struct rs_error *connect_tcp(const char *address, int *fd)
{
	struct addrinfo *list = NULL;
	struct rs_error *err = rs_address_resolve(address, 0, &list);
	int failed;

	if (err)
		return err;
	errno = ENOENT;
	for (const struct addrinfo *at = list; at; at = at->ai_next) {
		*fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
		if (*fd >= 0 && !connect(*fd, at->ai_addr, at->ai_addrlen))
			break;
		failed = errno;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		errno = failed;
	}
	failed = errno;
	freeaddrinfo(list);
	return *fd < 0 ? rs_error_errno(failed, "connecting") : NULL;
}

static struct rs_error *connect_to(const char *address, int *fd)
{
	struct rs_error *err;

	*fd = -1;
	if (!strncmp(address, "unix:", 5))
		err = connect_unix(address + 5, fd);
	else
		err = connect_tcp(address, fd);
	if (err && *fd >= 0)
		close(*fd);
	return rs_error_wrap(err, "%s", address);
}

static struct rs_live *live_make(void)
{
	struct rs_live *live = calloc(1, sizeof(*live));

	if (live) {
		live->memory = -1;
		live->qemu.output_fd = live->qemu.gdb_fd = -1;
		live->rate = 1;
	}
	return live;
}

struct rs_error *rs_live_attach(const char *address, struct rs_live **live)
{
	struct rs_live *made;
	struct rs_error *err;
	int fd;

	err = connect_to(address, &fd);
	if (err)
		return err;
	made = live_make();
	if (!made) {
		close(fd);
		return rs_error_no_memory();
	}
	err = rs_guard_start(&made->guard, fd);
	if (err)
		close(fd);
	else
		err = rs_error_wrap(rs_gdb_adopt(fd, &made->gdb),
				    "%s: not a GDB stub of QEMU, or another debugger is connected",
				    address);
	if (!err)
		err = rs_error_wrap(rs_gdb_order(made->gdb, "Qqemu.PhyMemMode:1"),
				    "%s: not a GDB stub of QEMU", address);
	if (err) {
		rs_live_close(made);
		return err;
	}
	made->blocks = calloc(BLOCKS, sizeof(*made->blocks));
	if (!made->blocks) {
		rs_live_close(made);
		return rs_error_no_memory();
	}
	made->stopped_at_ns = rs_now_ns(CLOCK_MONOTONIC);
	*live = made;
	return NULL;
}

/* ---- booting a machine -------------------------------------------------------------------- */

static struct rs_error *start(struct rs_live *live, const struct rs_recording *r,
			      const char *console)
{
	struct rs_qemu_command command = { 0 };
	struct rs_error *err = NULL;
	int fd = -1;

	if (console)
		err = rs_material_console(console, &fd);
	if (!err) {
		rs_recording_command(r, RS_RECORDING_LIVE, live->memory, fd, &command);
		rs_snapshots_add_to(&live->disk, &command);
		err = rs_qemu_start(&live->qemu, &command);
	}
	rs_qemu_command_deinit(&command);
	if (fd >= 0)
		close(fd);
	return err;
}

static struct rs_error *boot(struct rs_live *live, const struct rs_recording *r,
			     const char *console)
{
	struct rs_error *err;

	if (r->snapshot)
		return rs_error_create(RS_USAGE,
				       "%s begins with a snapshot of a machine that counts its "
				       "instructions: --live boots one that does not",
				       r->folder.path);
	live->bytes = (uint64_t)r->memory_mib << 20;
	err = rs_replay_ram_make(live->bytes, &live->memory, &live->ram);
	if (!err)
		err = rs_snapshots_make(&live->disk, r, NULL, false);
	if (!err)
		err = start(live, r, console);
	return err ? err : rs_qemu_gdb(&live->qemu);
}

struct rs_error *rs_live_boot(const struct rs_recording *recording, const char *console,
			      struct rs_live **live)
{
	struct rs_live *made = live_make();
	struct rs_error *err;

	if (!made)
		return rs_error_no_memory();
	err = boot(made, recording, console);
	if (err) {
		rs_live_close(made);
		return err;
	}
	made->gdb = made->qemu.gdb;
	made->stopped_at_ns = rs_now_ns(CLOCK_MONOTONIC);
	*live = made;
	return NULL;
}

void rs_live_close(struct rs_live *live)
{
	if (!live)
		return;
	if (live->qemu.output_fd >= 0) { /* started here */
		rs_qemu_end(&live->qemu);
	} else {
		/* If this fails, the guard process continues the machine. */
		struct rs_error *err = live->ended || !live->gdb
					       ? NULL
					       : rs_gdb_order(live->gdb, "Qqemu.PhyMemMode:0");

		if (!err && !live->ended && live->gdb)
			err = rs_gdb_order(live->gdb, "D");
		if (!err && (live->gdb || live->ended))
			rs_guard_dismiss(&live->guard);
		else if (live->guard.pid)
			close(live->guard.pipe);
		rs_error_free(err);
		rs_gdb_close(live->gdb);
	}
	if (live->ram)
		munmap(live->ram, live->bytes);
	if (live->memory >= 0)
		close(live->memory);
	rs_snapshots_deinit(&live->disk);
	free(live->blocks);
	free(live);
}

const uint8_t *rs_live_ram(const struct rs_live *live, uint64_t *bytes)
{
	*bytes = live->bytes;
	return live->ram;
}

static bool stub_read(struct rs_live *live, uint64_t gpa, void *buf, size_t bytes)
{
	struct rs_error *err = rs_gdb_read(live->gdb, gpa, buf, bytes);
	bool good = !err;

	rs_error_free(err);
	return good;
}

/* Returns the block at a physical address, or NULL if the stub cannot read it. A stack and its page
 * tables are many small reads of few blocks, and each packet wakes QEMU up. The multiplier spreads
 * neighbours (Knuth, The Art of Computer Programming, 6.4: multiplicative hashing). */
static const struct block *block_at(struct rs_live *live, uint64_t gpa)
{
	const uint64_t number = gpa / BLOCK_BYTES;
	const uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
	struct block *block = &live->blocks[mixed >> (64 - BLOCK_BITS)];

	if (block->number == number + 1)
		return block;
	block->number = 0;
	if (!stub_read(live, number * BLOCK_BYTES, block->bytes, BLOCK_BYTES))
		return NULL;
	block->number = number + 1;
	return block;
}

bool rs_live_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	struct rs_live *live = ctx;
	uint8_t *to = buf;

	if (!live->blocks)
		return stub_read(live, gpa, buf, bytes);
	while (bytes) {
		const size_t within = gpa % BLOCK_BYTES;
		const size_t part = bytes < BLOCK_BYTES - within ? bytes : BLOCK_BYTES - within;
		const struct block *block = block_at(live, gpa);

		if (!block)
			return false;
		memcpy(to, block->bytes + within, part);
		to += part;
		gpa += part;
		bytes -= part;
	}
	return true;
}

/* Discards what was read, before the machine runs. */
static void blocks_discard(struct rs_live *live)
{
	for (uint32_t i = 0; live->blocks && i < BLOCKS; i++)
		live->blocks[i].number = 0;
}

/* ---- running ------------------------------------------------------------------------------ */

/* Reads the timer's port from the monitor's answer, "portl[0x0608] = 0x00bd7083". */
static bool read_port(struct rs_live *live, uint64_t *value)
{
	char command[64], output[LINE_MAX_];
	struct rs_error *err;
	const char *equals;

	snprintf(command, sizeof(command), "i /w 0x%" PRIx64, live->port);
	err = rs_gdb_monitor(live->gdb, command, output, sizeof(output));
	equals = err ? NULL : strchr(output, '=');
	rs_error_free(err);
	if (!equals)
		return false;
	*value = strtoull(equals + 1, NULL, 16) & TIMER_MASK;
	return true;
}

enum timer { TIMER_NONE, TIMER_OFF, TIMER_ON };

/* Finds the timer's port in the monitor's answer: "0000000000000608-... (prio 0, i/o): acpi-tmr".
 * Before the firmware has set the port, the timer is at 8. */
static enum timer find_timer(struct rs_live *live)
{
	char *tree = calloc(1, TREE_MAX), *at, *line;
	struct rs_error *err =
		tree ? rs_gdb_monitor(live->gdb, "info mtree", tree, TREE_MAX) : NULL;
	enum timer timer = TIMER_NONE;
	uint64_t port = 0;

	at = tree && !err ? strstr(tree, ": acpi-tmr") : NULL;
	if (at) {
		timer = TIMER_OFF;
		for (line = at; line > tree && line[-1] != '\n';)
			line--;
		port = strtoull(line, NULL, 16);
	}
	rs_error_free(err);
	free(tree);
	if (port <= 8 || port >= 0x10000)
		return timer;
	live->port = port;
	if (read_port(live, &live->last))
		return TIMER_ON;
	live->port = 0;
	return TIMER_NONE;
}

/* Reads the guest's clock. The difference of two values is the time between them modulo the wrap;
 * the time that the machine ran gives the number of wraps. */
static void read_clock(struct rs_live *live)
{
	uint64_t value, went, expected;

	if (!live->port || !read_port(live, &value))
		return;
	went = (value - live->last) & TIMER_MASK;
	expected = (uint64_t)((double)live->ran_since * live->rate * (double)TIMER_HZ / 1e9);
	if (expected > went)
		went += (expected - went + TIMER_MASK / 2) >> TIMER_BITS << TIMER_BITS;
	live->ticks += went;
	live->last = value;
	live->ran_since = 0;
}

static struct rs_error *has_stopped(struct rs_live *live, uint64_t went_at,
				    struct rs_gdb_stopped *stopped)
{
	live->stopped_at_ns = rs_now_ns(CLOCK_MONOTONIC);
	live->ran_ns += live->stopped_at_ns - went_at;
	live->ran_since += live->stopped_at_ns - went_at;
	live->stops++;
	live->hiding += stopped->why == RS_GDB_STOPPED && stopped->signal == RS_GDB_INTERRUPT &&
			rs_gdb_has_watches(live->gdb);
	live->thread = stopped->thread;
	/* A machine that has shut down, or cannot continue, reports another signal. */
	if (stopped->why == RS_GDB_STOPPED && stopped->signal != RS_GDB_TRAP &&
	    stopped->signal != RS_GDB_INTERRUPT)
		stopped->why = RS_GDB_ENDED;
	if (stopped->why == RS_GDB_ENDED)
		live->ended = true;
	else if (live->ran_since > READ_NS)
		read_clock(live);
	return NULL;
}

/* If QEMU has ended before its answer, replaces the error by the machine's end, which is no
 * error. */
static struct rs_error *unless_ended(struct rs_live *live, struct rs_error *err,
				     struct rs_gdb_stopped *stopped)
{
	if (!err || rs_error_code(err) != RS_ABSENT)
		return err;
	rs_error_free(err);
	stopped->why = RS_GDB_ENDED;
	live->ended = true;
	return NULL;
}

/* Begins to run the machine. Returns the host's time. */
static uint64_t stop_end(struct rs_live *live)
{
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC);

	blocks_discard(live);
	live->stopped_ns += now - live->stopped_at_ns;
	return now;
}

/* Waits for a packet of the stub, at most ns or CHECK_MS. */
static void packet_await(const struct rs_live *live, uint64_t ns)
{
	bool pending = false;
	struct pollfd wait = { .fd = rs_gdb_fd(live->gdb, &pending), .events = POLLIN };

	if (ns > CHECK_MS * NS_PER_MS)
		ns = CHECK_MS * NS_PER_MS;
	if (!pending)
		ppoll(&wait, 1, &(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

struct rs_error *rs_live_run(struct rs_live *live, uint64_t ns, const volatile bool *stop,
			     struct rs_gdb_stopped *stopped)
{
	bool done = false, stop_requested = false;
	struct rs_error *err;
	uint64_t went_at;

	*stopped = (struct rs_gdb_stopped){ .why = RS_GDB_ENDED };
	if (live->ended)
		return NULL;
	went_at = stop_end(live);
	err = rs_gdb_continue(live->gdb);
	while (!err && !done) {
		const uint64_t past = rs_now_ns(CLOCK_MONOTONIC) - went_at;

		if (!stop_requested && (past >= ns || (stop && *stop))) {
			stop_requested = true;
			err = rs_gdb_interrupt(live->gdb);
		}
		if (!stop_requested)
			packet_await(live, ns - past);
		if (!err)
			err = rs_gdb_wait(live->gdb, stop_requested ? CHECK_MS : 0, &done, stopped);
	}
	err = unless_ended(live, err, stopped);
	return err ? err : has_stopped(live, went_at, stopped);
}

struct rs_error *rs_live_step(struct rs_live *live, struct rs_gdb_stopped *stopped)
{
	uint64_t went_at = stop_end(live);
	struct rs_error *err = rs_gdb_step_alone(live->gdb, live->thread ? live->thread : 1);
	bool done = false;

	while (!err && !done)
		err = rs_gdb_wait(live->gdb, CHECK_MS, &done, stopped);
	err = unless_ended(live, err, stopped);
	return err ? err : has_stopped(live, went_at, stopped);
}

struct rs_error *rs_live_registers(struct rs_live *live, struct rs_x86_regs *regs,
				   struct rs_gdb_stopped *stopped)
{
	return unless_ended(live, rs_gdb_registers(live->gdb, regs), stopped);
}

/* Adds the threads that the stub lists in an answer, "m1,2" or "l" at the end. */
static bool threads_parse(const char *text, uint32_t *threads, uint32_t *n)
{
	if (*text != 'm')
		return false;
	while (*text && *n < RS_LIVE_VCPUS_MAX) {
		char *end;
		uint64_t thread = strtoull(text + 1, &end, 16);

		if (end == text + 1 || !thread || thread > RS_LIVE_VCPUS_MAX)
			return false;
		threads[(*n)++] = (uint32_t)thread;
		text = end;
		if (*text != ',')
			break;
	}
	return !*text;
}

struct rs_error *rs_live_vcpus(struct rs_live *live, uint32_t threads[RS_LIVE_VCPUS_MAX],
			       uint32_t *n, struct rs_gdb_stopped *stopped)
{
	struct rs_error *err = rs_gdb_ask(live->gdb, "qfThreadInfo");

	for (*n = 0; !err && threads_parse(rs_gdb_text(live->gdb), threads, n);)
		err = rs_gdb_ask(live->gdb, "qsThreadInfo");
	if (!err && !*n)
		err = rs_error_create(RS_FAILED, "QEMU does not list its processors");
	return unless_ended(live, err, stopped);
}

struct rs_error *rs_live_vcpu_registers(struct rs_live *live, uint32_t thread,
					struct rs_x86_regs *regs, struct rs_gdb_stopped *stopped)
{
	char packet[32];
	struct rs_error *err;

	snprintf(packet, sizeof(packet), "Hg%x", thread);
	err = rs_gdb_order(live->gdb, packet);
	if (!err)
		err = rs_gdb_registers(live->gdb, regs);
	return unless_ended(live, err, stopped);
}

struct rs_error *rs_live_point(struct rs_live *live, enum rs_gdb_point kind, uint64_t address,
			       uint32_t bytes, bool set, struct rs_gdb_stopped *stopped)
{
	return unless_ended(live, rs_gdb_point(live->gdb, kind, address, bytes, set), stopped);
}

uint64_t rs_live_ran_ns(const struct rs_live *live)
{
	return live->ran_ns;
}

uint64_t rs_live_stopped_ns(const struct rs_live *live)
{
	return live->stopped_ns;
}

/* ---- distortion --------------------------------------------------------------------------- */

static uint64_t ticks_ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * NS_PER_SEC / TIMER_HZ);
}

static void counts_reset(struct rs_live *live)
{
	live->ran_ns = live->ran_since = live->ticks = live->stops = live->stopped_ns = 0;
}

struct rs_error *rs_live_calibrate(struct rs_live *live, const volatile bool *stop)
{
	const bool boots = !live->calibrated && find_timer(live) == TIMER_OFF;
	struct rs_gdb_stopped stopped;
	struct rs_error *err = NULL;

	if (live->calibrated)
		return NULL;
	/* A machine that was just started runs its firmware. */
	for (int i = 0; !err && find_timer(live) == TIMER_OFF && i < FIRMWARE_RUNS; i++)
		err = rs_live_run(live, FIRMWARE_NS, stop, &stopped);
	if (err)
		return err;
	counts_reset(live);
	err = rs_live_run(live, boots ? BOOT_NS : CALIBRATE_NS, stop, &stopped);
	if (err)
		return err;
	if (live->port && !live->ended && !(stop && *stop)) {
		read_clock(live);
		live->rate = (double)ticks_ns(live->ticks) / (double)live->ran_ns;
	}
	live->calibrated = true;
	return NULL;
}

void rs_live_measure(struct rs_live *live)
{
	if (live->port && !live->ended)
		read_clock(live);
	counts_reset(live);
	live->begin_ns = live->stopped_at_ns = rs_now_ns(CLOCK_MONOTONIC);
	live->measures = true;
}

void rs_live_distortion(struct rs_live *live, struct rs_distortion *d)
{
	double undisturbed;

	*d = (struct rs_distortion){ .ended = live->ended, .rate = live->rate, .factor = 1 };
	if (!live->measures)
		return;
	if (!live->ended)
		read_clock(live);
	d->clock = live->port;
	d->stops = live->stops;
	d->hiding = live->hiding;
	d->ran_ns = live->ran_ns;
	d->stopped_ns = live->stopped_ns;
	d->host_ns = live->stopped_at_ns - live->begin_ns;
	/* Adds the time since the last reading of the clock, for a machine that has ended. */
	d->guest_ns = live->port ? ticks_ns(live->ticks) +
					   (uint64_t)((double)live->ran_since * live->rate)
				 : live->ran_ns;
	undisturbed = (double)d->host_ns * live->rate;
	d->behind_ns = (int64_t)(undisturbed - (double)d->guest_ns);
	d->factor = d->guest_ns ? undisturbed / (double)d->guest_ns : 1;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void rs_distortion_text(const struct rs_distortion *d, char text[RS_DISTORTION_BYTES])
{
	char hidden[96] = "";

	if (d->hiding)
		snprintf(hidden, sizeof(hidden),
			 "; QEMU may have hidden an access to watched memory at each of %s",
			 RS_COUNT_OF(d->hiding, "stop"));
	snprintf(text, RS_DISTORTION_BYTES,
		 "the guest's clock advanced %.6f s in %.6f s of the host's: %.6f s behind, all "
		 "took "
		 "%.3f times as long (without probes it advanced %.6f s a second%s); %s, "
		 "%.6f s in all%s%s",
		 seconds(d->guest_ns), seconds(d->host_ns), (double)d->behind_ns / 1e9, d->factor,
		 d->rate, d->clock ? "" : ", by assumption: it has no clock that can be read",
		 RS_COUNT_OF(d->stops, "stop"), seconds(d->stopped_ns), hidden,
		 d->ended ? "; then its QEMU ended" : "");
}
