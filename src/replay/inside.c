/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library in QEMU's own process (LD_PRELOAD), which stops a replay at an instruction and reports
 * that in one round trip. The GDB channel needs several, and must stop the whole machine for them.
 * The library uses symbols that QEMU's executable exports, each looked up by name; if one is
 * missing, it only reports which. The session verifies that they have the assumed meaning (QEMU
 * 7.2) by QEMU's version, and by comparing the registers with those from GDB (fast.c).
 *
 *	replay_break_icount = N		the processor gets instructions only up to N
 *	at N QEMU winds its replay_break_timer: the library's, whose list calls break_reached()
 *	async_run_on_cpu(stand_still)	the processor's thread calls it between two
 *				runs, when all its state is in memory; QEMU's lock is held
 *	the library reports the stop, and waits for an answer
 *
 * The library writes no state of the machine. QEMU's timers, its log and the guest's clocks follow
 * the count of instructions, which does not change meanwhile.
 */
#include "replay/inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- QEMU's symbols, as of 7.2 --------------------------------------------------------------- */

#define CLOCK_REALTIME_ 0   /* QEMU_CLOCK_REALTIME */
#define CLOCKS		8   /* it has 4 */
#define TIMER_BYTES	256 /* a QEMUTimer has 48 */
#define MODE_PLAY	2   /* REPLAY_MODE_PLAY */
#define STATE_PAUSED	4   /* RUN_STATE_PAUSED */
#define NO_BREAK	UINT64_MAX

struct byte_array { /* GLib's */
	uint8_t *data;
	unsigned int len;
};

typedef void list_cb(void *opaque, int clock);
typedef void timer_cb(void *opaque);
typedef void cpu_cb(void *cpu, void *data);

static struct {
	uint64_t *replay_break_icount;
	void **replay_break_timer;
	int *replay_mode;
	uint64_t (*replay_get_current_icount)(void);
	uint64_t (*cpu_get_tsc)(void *env); /* env is unused */
	void (*replay_mutex_lock)(void);
	void (*replay_mutex_unlock)(void);
	void (*qemu_mutex_lock_iothread_impl)(const char *file, int line);
	void (*qemu_mutex_unlock_iothread)(void);
	void *(*timerlist_new)(int clock, list_cb *cb, void *opaque);
	void (*timer_init_full)(void *timer, void *const *lists, int clock, int scale,
				int attributes, timer_cb *cb, void *opaque);
	void (*timer_del)(void *timer);
	void *(*qemu_get_cpu)(int index);
	void (*async_run_on_cpu)(void *cpu, cpu_cb *cb, void *data);
	int (*x86_cpu_gdb_read_register)(void *cpu, struct byte_array *to, int n);
	void (*qemu_system_vmstop_request_prepare)(void);
	void (*qemu_system_vmstop_request)(int state);
	struct byte_array *(*g_byte_array_new)(void);
	struct byte_array *(*g_byte_array_set_size)(struct byte_array *array, unsigned int size);
} qemu;

#define SYMBOL(name)                                                                               \
	{                                                                                          \
#name, (void **)&qemu.name                                                         \
	}
static const struct {
	const char *name;
	void **to;
} symbols[] = {
	SYMBOL(replay_break_icount),
	SYMBOL(replay_break_timer),
	SYMBOL(replay_mode),
	SYMBOL(replay_get_current_icount),
	SYMBOL(cpu_get_tsc),
	SYMBOL(replay_mutex_lock),
	SYMBOL(replay_mutex_unlock),
	SYMBOL(qemu_mutex_lock_iothread_impl),
	SYMBOL(qemu_mutex_unlock_iothread),
	SYMBOL(timerlist_new),
	SYMBOL(timer_init_full),
	SYMBOL(timer_del),
	SYMBOL(qemu_get_cpu),
	SYMBOL(async_run_on_cpu),
	SYMBOL(x86_cpu_gdb_read_register),
	SYMBOL(qemu_system_vmstop_request_prepare),
	SYMBOL(qemu_system_vmstop_request),
	SYMBOL(g_byte_array_new),
	SYMBOL(g_byte_array_set_size),
};
#undef SYMBOL

/* Looks up the symbols. Returns the first that is missing, or NULL. */
static const char *resolve(void)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*symbols[i].to = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (!*symbols[i].to)
			return symbols[i].name;
	}
	return NULL;
}

/* ---- state ----------------------------------------------------------------------------------
 *
 * Changed with QEMU's lock held. The thread of orders also holds the replay lock, which keeps the
 * processor from running.
 */

static struct {
	int orders, stops;
	void *lists[CLOCKS];
	uint8_t timer[TIMER_BYTES] __attribute__((aligned(16)));
	struct byte_array *registers;
	void *cpu;
	bool made;
	uint64_t target; /* NO_BREAK: none */
} inside = { .target = NO_BREAK };

static void never(void *opaque)
{
	(void)opaque; /* no code runs the timers of this list */
}

static bool message_send(int fd, const struct rs_inside_report *report)
{
	ssize_t n;

	do
		n = send(fd, report, sizeof(*report), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*report);
}

static bool order_receive(int fd, struct rs_inside_order *order)
{
	ssize_t n;

	do
		n = recv(fd, order, sizeof(*order), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*order);
}

/* Fills in the registers, the instruction count and the TSC. */
static void state_read(struct rs_inside_report *report)
{
	struct byte_array *to = inside.registers;

	qemu.g_byte_array_set_size(to, 0);
	for (int i = 0; i < (int)RS_INSIDE_REGS; i++)
		qemu.x86_cpu_gdb_read_register(inside.cpu, to, i);
	report->bytes = to->len <= sizeof(report->raw) ? to->len : 0;
	memcpy(report->raw, to->data, report->bytes);
	report->icount = qemu.replay_get_current_icount();
	report->tsc = qemu.cpu_get_tsc(NULL);
}

static void arm(uint64_t icount)
{
	inside.target = icount;
	*qemu.replay_break_timer = inside.timer;
	*qemu.replay_break_icount = icount;
}

static void disarm(void)
{
	if (*qemu.replay_break_timer == (void *)inside.timer) {
		qemu.timer_del(inside.timer); /* because QEMU would free it */
		*qemu.replay_break_timer = NULL;
		*qemu.replay_break_icount = NO_BREAK;
	}
	inside.target = NO_BREAK;
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* Holds the machine. Runs on the processor's thread, between two runs, with QEMU's lock held. */
static void stand_still(void *cpu, void *data)
{
	struct rs_inside_report report = { .what = RS_INSIDE_STANDS };
	struct rs_inside_order order;

	(void)cpu;
	(void)data;
	/* QEMU reported the break twice, or the stop was removed meanwhile. */
	if (inside.target == NO_BREAK || qemu.replay_get_current_icount() != inside.target)
		return;
	state_read(&report);
	if (!message_send(inside.stops, &report) || !order_receive(inside.stops, &order)) {
		disarm();
		return;
	}
	if (order.what == RS_INSIDE_ARM && order.icount > inside.target) {
		arm(order.icount);
	} else if (order.what == RS_INSIDE_HOLD) {
		/* The break remains set, so that the machine does not run before QEMU has stopped
		 * it. */
		inside.target = NO_BREAK;
		qemu.qemu_system_vmstop_request_prepare();
		qemu.qemu_system_vmstop_request(STATE_PAUSED);
	} else {
		disarm();
	}
}

/* Runs on the thread of QEMU that counted the last instruction. The processor may be executing
 * it. */
static void break_reached(void *opaque, int clock)
{
	(void)opaque;
	(void)clock;
	if (inside.target != NO_BREAK)
		qemu.async_run_on_cpu(inside.cpu, stand_still, NULL);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Initializes the library, once, with the locks held. Returns the reason for a failure, or NULL. */
static const char *make(void)
{
	if (inside.made)
		return NULL;
	if (*qemu.replay_mode != MODE_PLAY)
		return "replay_mode";
	inside.cpu = qemu.qemu_get_cpu(0);
	if (!inside.cpu)
		return "qemu_get_cpu";
	inside.registers = qemu.g_byte_array_new();
	inside.lists[CLOCK_REALTIME_] = qemu.timerlist_new(CLOCK_REALTIME_, break_reached, NULL);
	qemu.timer_init_full(inside.timer, inside.lists, CLOCK_REALTIME_, 1, 0, never, NULL);
	inside.made = true;
	return NULL;
}

static const char *obey(const struct rs_inside_order *order, struct rs_inside_report *report)
{
	const char *wrong = make();

	if (wrong)
		return wrong;
	state_read(report);
	disarm();
	if (order->what == RS_INSIDE_FREE)
		return NULL;
	if (*qemu.replay_break_timer || *qemu.replay_break_icount != NO_BREAK)
		return "replay_break_icount";
	if (order->what == RS_INSIDE_ARM && order->icount > report->icount)
		arm(order->icount);
	return NULL;
}

static void *receive_orders(void *unused)
{
	struct rs_inside_order order;

	(void)unused;
	while (order_receive(inside.orders, &order)) {
		struct rs_inside_report report = { .what = RS_INSIDE_DONE };
		const char *wrong;

		qemu.replay_mutex_lock(); /* before the other lock: QEMU's lock order */
		qemu.qemu_mutex_lock_iothread_impl(__FILE__, __LINE__);
		wrong = NULL;
		if (order.what == RS_INSIDE_WHERE)
			report.icount = qemu.replay_get_current_icount();
		else
			wrong = obey(&order, &report);
		qemu.qemu_mutex_unlock_iothread();
		qemu.replay_mutex_unlock();
		if (wrong) {
			report = (struct rs_inside_report){ .what = RS_INSIDE_REFUSED };
			snprintf(report.name, sizeof(report.name), "%s", wrong);
		}
		if (!message_send(inside.orders, &report))
			break;
	}
	return NULL;
}

/* Runs before QEMU's main(). Blocks signals, which other threads handle. */
__attribute__((constructor)) static void begin(void)
{
	struct rs_inside_report hello = { .what = RS_INSIDE_HELLO };
	const char *fds = getenv(RS_INSIDE_ENV), *missing;
	pthread_t thread;
	sigset_t all, before;

	if (!fds || sscanf(fds, "%d,%d", &inside.orders, &inside.stops) != 2)
		return;
	missing = resolve();
	if (missing)
		snprintf(hello.name, sizeof(hello.name), "%s", missing);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!missing && pthread_create(&thread, NULL, receive_orders, NULL))
		snprintf(hello.name, sizeof(hello.name), "a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	message_send(inside.orders, &hello);
}
