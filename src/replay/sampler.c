/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes samples of a replayed guest. */
#include "replay/sampler.h"

#include "replay/guest_kernel.h"
#include "replay/probe.h"
#include "replay/ram.h"
#include "replay/session.h"

#define LOOK_NS	   UINT64_C(20000000) /* between two looks for the kernel, at first: */
#define LOOK_PARTS 16u		      /* then so many to the time that has passed */

struct sampler {
	const struct rs_recording *recording;
	struct rs_replay_sampling *sampling;
	struct rs_session *session;
	struct rs_guest_kernel guest;
	struct rs_memory memory;
	struct rs_x86_regs regs;
	struct rs_stacks *stacks;
	struct rs_linux_stack stack;
	uint64_t look; /* the next look for the kernel is not before this instruction */
};

/* Looks for the kernel, unless it is found or was looked for just now. */
static struct rs_error *kernel_look(struct sampler *s, uint64_t icount)
{
	uint64_t step = LOOK_NS >> s->recording->shift;

	if (s->guest.kernel || icount < s->look)
		return NULL;
	s->look = icount + (icount / LOOK_PARTS > step ? icount / LOOK_PARTS : step);
	if (!rs_guest_kernel_look(&s->guest, &s->memory, &s->regs))
		return NULL;
	return rs_stacks_create(s->guest.kernel, s->sampling->symfs, &s->stacks);
}

static struct rs_error *take(struct sampler *s, uint64_t icount)
{
	struct rs_session_ram ram = rs_session_ram(s->session);
	const struct rs_linux_task *task;
	struct rs_linux_vcpu vcpu = { .tr_base = 0 };
	struct rs_error *err = rs_session_registers(s->session, &s->regs);

	if (err)
		return err;
	rs_replay_ram_set(&s->memory, ram.mem, ram.bytes);
	rs_memory_at(&s->memory, &s->regs);
	err = kernel_look(s, icount);
	if (err)
		return err;
	rs_guest_kernel_stopped(&s->guest, &s->memory, &s->regs);
	task = rs_guest_kernel_task(&s->guest);
	vcpu.regs = s->regs;
	s->stack.n = 0;
	if (task)
		err = rs_stacks_read(s->stacks, task, &vcpu, &s->stack);
	return err ? err : s->sampling->sample(s->sampling->ctx, task, s->stacks, &s->stack);
}

static struct rs_error *run(struct sampler *s)
{
	struct rs_replay_probe timer = { .kind = RS_REPLAY_TIMER,
					 .period =
						 s->sampling->interval_ns >> s->recording->shift };
	struct rs_session_run run = { .stop = s->sampling->stop };
	struct rs_error *err = NULL;

	if (!timer.period)
		timer.period = 1;
	rs_replay_timer_start(&timer, 0, false, 0);
	while (!err) {
		run.icount = timer.next;
		err = rs_session_run(s->session, &run);
		if (err || !run.at_target)
			break;
		err = take(s, run.icount);
		s->sampling->guest_ns = run.icount << s->recording->shift;
		rs_replay_timer_next(&timer, run.icount, false, 0);
	}
	return err;
}

struct rs_error *rs_replay_sample(const struct rs_recording *recording,
				  struct rs_replay_sampling *sampling)
{
	static struct sampler s;
	struct rs_error *err;

	s = (struct sampler){ .recording = recording, .sampling = sampling };
	err = rs_session_open(recording, &(struct rs_session_options){ .slow = false }, &s.session);
	if (!err)
		err = run(&s);
	rs_stacks_destroy(s.stacks);
	rs_guest_kernel_deinit(&s.guest);
	rs_session_close(s.session);
	return err;
}
