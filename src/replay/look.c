/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays a recording to where its guest's kernel is found. */
#include "replay/look.h"

#include "replay/ram.h"

#define STEP_NS	   UINT64_C(20000000) /* between two looks, at first: */
#define STEP_PARTS 16u		      /* then so many to the time that has passed */

static struct rs_error *look_here(struct rs_replay_look *look, struct rs_guest_kernel *guest,
				  bool *found)
{
	struct rs_error *err = rs_session_registers(look->session, &look->regs);

	if (err)
		return err;
	rs_memory_at(&look->memory, &look->regs);
	*found = rs_guest_kernel_look(guest, &look->memory, &look->regs);
	return NULL;
}

/* Returns the instruction of the next look. */
static uint64_t next(const struct rs_recording *recording, uint64_t now)
{
	uint64_t step = STEP_NS >> recording->shift;

	return now + (now / STEP_PARTS > step ? now / STEP_PARTS : step);
}

static struct rs_error *look_on(const struct rs_recording *recording,
				const struct rs_replay_options *options,
				struct rs_guest_kernel *guest, struct rs_replay_look *look)
{
	uint64_t now = options->like ? options->begin : 0;
	const uint64_t most = now + (RS_LOOK_NS_MAX >> recording->shift);
	struct rs_session_run run = { .stop = options->stop };
	bool found = false;
	struct rs_error *err = look_here(look, guest, &found);

	while (!err && !found && now < most) {
		run.icount = now = next(recording, now);
		err = rs_session_run(look->session, &run);
		if (err || !run.at_target)
			break;
		err = look_here(look, guest, &found);
	}
	return err;
}

struct rs_error *rs_replay_look(const struct rs_recording *recording,
				const struct rs_replay_options *options,
				struct rs_guest_kernel *guest, struct rs_replay_look *look)
{
	const struct rs_session_options how = { .slow = options->slow, .like = options->like };
	struct rs_session_ram ram;
	struct rs_error *err = rs_session_open(recording, &how, &look->session);

	if (!err && options->like)
		err = rs_session_seek(look->session, options->begin, options->stop);
	if (!err) {
		ram = rs_session_ram(look->session);
		rs_replay_ram_set(&look->memory, ram.mem, ram.bytes);
		err = look_on(recording, options, guest, look);
	}
	if (!err && guest->kernel)
		rs_guest_kernel_stopped(guest, &look->memory, &look->regs);
	else
		rs_replay_look_end(look, guest);
	return rs_error_wrap(err, "looking for the guest's kernel");
}

void rs_replay_look_end(struct rs_replay_look *look, struct rs_guest_kernel *guest)
{
	rs_session_close(look->session);
	look->session = NULL;
	if (guest->memory == &look->memory)
		rs_guest_kernel_stopped(guest, NULL, NULL);
}
