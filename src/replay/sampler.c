/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes samples of a guest. */
#include "replay/sampler.h"

#include <string.h>

#include "replay/guest_kernel.h"
#include "replay/probe.h"
#include "replay/ram.h"
#include "replay/session.h"

#define SEARCH_NS    UINT64_C(20000000) /* between two searches for the kernel, at first: */
#define SEARCH_PARTS 16u		/* then this multiple of the elapsed time */

struct sampler {
	struct rs_replay_sampling *sampling;
	struct rs_guest_kernel guest;
	struct rs_memory memory;
	struct rs_x86_regs regs;
	struct rs_stacks *stacks;
	struct rs_linux_stack stack;
	uint64_t period_ns; /* address space of the sample */
	uint64_t search_ns; /* no search for the kernel before this time */
};

/* ---- a sample ------------------------------------------------------------------------------- */

/* Searches for the kernel, unless it is found or the last search was too recent. */
static struct rs_error *kernel_find(struct sampler *s, uint64_t now_ns)
{
	if (s->guest.kernel || now_ns < s->search_ns)
		return NULL;
	s->search_ns =
		now_ns + (now_ns / SEARCH_PARTS > SEARCH_NS ? now_ns / SEARCH_PARTS : SEARCH_NS);
	if (!rs_guest_kernel_find(&s->guest, &s->memory, &s->regs))
		return NULL;
	return rs_stacks_create(s->guest.kernel, s->sampling->symfs, &s->stacks);
}

/* Takes a sample of the processor whose registers were read. */
static struct rs_error *take_sample(struct sampler *s, uint32_t vcpu, uint64_t now_ns)
{
	struct rs_replay_sample sample = { .now_ns = now_ns,
					   .period_ns = s->period_ns,
					   .vcpu = vcpu,
					   .regs = &s->regs,
					   .stack = &s->stack };
	const struct rs_linux_vcpu registers = { .regs = s->regs };
	struct rs_error *err;

	rs_memory_at(&s->memory, &s->regs);
	err = kernel_find(s, now_ns);
	if (err)
		return err;
	rs_guest_kernel_stopped(&s->guest, &s->memory, &s->regs);
	sample.task = rs_guest_kernel_task(&s->guest);
	sample.stacks = s->stacks;
	s->stack.n = s->stack.n_kernel = 0;
	*s->stack.kernel_why = *s->stack.user_why = '\0';
	if (sample.task && (!s->sampling->comm || !strcmp(sample.task->comm, s->sampling->comm)))
		err = rs_stacks_read(s->stacks, sample.task, &registers, &s->stack);
	return err ? err : s->sampling->sample(s->sampling->ctx, &sample);
}

static void sampler_deinit(struct sampler *s)
{
	rs_stacks_destroy(s->stacks);
	rs_guest_kernel_deinit(&s->guest);
}

/* ---- a replay ------------------------------------------------------------------------------- */

/* Returns the instruction before which samples are taken. Behind a recording's last reliable
 * instruction QEMU ends the machine, so a replay may or may not reach the next sample. */
static uint64_t replay_until(const struct rs_replay_sampling *sampling,
			     const struct rs_recording *recording)
{
	const uint64_t end = recording->icount ? recording->icount + 1 : UINT64_MAX;
	const uint64_t to = sampling->time_ns ? sampling->time_ns >> recording->shift : UINT64_MAX;

	return to < end ? to : end;
}

static struct rs_error *replay_run(struct sampler *s, struct rs_session *session,
				   const struct rs_recording *recording)
{
	struct rs_replay_sampling *sampling = s->sampling;
	const uint32_t shift = recording->shift;
	struct rs_replay_probe timer = { .kind = RS_REPLAY_TIMER,
					 .period = sampling->interval_ns >> shift };
	const uint64_t to = replay_until(sampling, recording);
	struct rs_session_run run = { .stop = sampling->stop };
	struct rs_session_ram ram = rs_session_ram(session);
	struct rs_error *err = NULL;

	rs_replay_ram_set(&s->memory, ram.mem, ram.bytes);
	s->period_ns = sampling->interval_ns;
	if (!timer.period)
		timer.period = 1;
	rs_replay_timer_start(&timer, 0, false, 0);
	while (!err && timer.next < to) {
		run.icount = timer.next;
		err = rs_session_run(session, &run);
		if (err || !run.at_target)
			break;
		sampling->guest_ns = run.icount << shift;
		err = rs_session_registers(session, &s->regs);
		if (!err)
			err = take_sample(s, 0, sampling->guest_ns);
		rs_replay_timer_next(&timer, run.icount, false, 0);
	}
	return err;
}

struct rs_error *rs_replay_sample(const struct rs_recording *recording,
				  struct rs_replay_sampling *sampling)
{
	static struct sampler s;
	struct rs_session *session = NULL;
	struct rs_error *err;

	s = (struct sampler){ .sampling = sampling };
	err = rs_session_open(recording, &(struct rs_session_options){ .slow = sampling->slow },
			      &session);
	if (!err)
		err = replay_run(&s, session, recording);
	sampler_deinit(&s);
	rs_session_close(session);
	return err;
}

/* ---- a running machine ---------------------------------------------------------------------- */

/* Reads RAM: that of a machine that was started here from its file, other RAM through the stub. */
static void live_memory_set(struct sampler *s, struct rs_live *live)
{
	uint64_t bytes = 0;
	const uint8_t *ram = rs_live_ram(live, &bytes);

	if (ram) {
		rs_replay_ram_set(&s->memory, ram, bytes);
	} else {
		s->memory.read = rs_live_read_phys;
		s->memory.ctx = live;
	}
}

static bool live_ended(const struct rs_replay_sampling *sampling,
		       const struct rs_gdb_stopped *stopped)
{
	return stopped->why == RS_GDB_ENDED || (sampling->stop && *sampling->stop);
}

/* Takes a sample of each processor. */
static struct rs_error *live_take(struct sampler *s, struct rs_live *live,
				  struct rs_gdb_stopped *stopped)
{
	uint32_t threads[RS_LIVE_VCPUS_MAX], n = 0;
	uint64_t now_ns = rs_live_ran_ns(live);
	struct rs_error *err = rs_live_vcpus(live, threads, &n, stopped);

	for (uint32_t i = 0; !err && i < n && stopped->why != RS_GDB_ENDED; i++) {
		err = rs_live_vcpu_registers(live, threads[i], &s->regs, stopped);
		if (!err && stopped->why != RS_GDB_ENDED)
			err = take_sample(s, i, now_ns);
	}
	return err;
}

static struct rs_error *live_run(struct sampler *s, struct rs_live *live)
{
	struct rs_replay_sampling *sampling = s->sampling;
	struct rs_replay_probe timer = { .kind = RS_REPLAY_TIMER, .period = sampling->interval_ns };
	struct rs_gdb_stopped stopped = { .why = RS_GDB_STOPPED };
	struct rs_error *err = rs_live_calibrate(live, sampling->stop);
	uint64_t last = 0;

	if (!err)
		rs_live_measure(live);
	rs_replay_timer_start(&timer, 0, false, 0);
	while (!err && (!sampling->time_ns || timer.next < sampling->time_ns)) {
		uint64_t now = rs_live_ran_ns(live);

		err = rs_live_run(live, timer.next > now ? timer.next - now : 0, sampling->stop,
				  &stopped);
		if (err || live_ended(sampling, &stopped))
			break;
		s->period_ns = rs_live_ran_ns(live) - last;
		last += s->period_ns;
		err = live_take(s, live, &stopped);
		/* Takes one sample, even if the machine ran for several periods. */
		rs_replay_timer_next(&timer, rs_live_ran_ns(live), false, 0);
	}
	sampling->guest_ns = rs_live_ran_ns(live);
	rs_live_distortion(live, &sampling->distortion);
	return err;
}

struct rs_error *rs_live_sample(struct rs_live *live, struct rs_replay_sampling *sampling)
{
	static struct sampler s;
	struct rs_error *err;

	s = (struct sampler){ .sampling = sampling };
	live_memory_set(&s, live);
	err = live_run(&s, live);
	sampler_deinit(&s);
	return err;
}
