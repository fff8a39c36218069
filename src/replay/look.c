/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays a recording to where its guest's kernel is found. */
#include "replay/look.h"

#include "replay/ram.h"

#define STEP_NS	   UINT64_C(20000000) /* between two looks, at first: */
#define STEP_PARTS 16u		      /* then so many to the time that has passed */

static struct rs_error *look_here(struct rs_session *session, struct rs_guest_kernel *guest,
				  bool *found)
{
	const struct rs_session_ram ram = rs_session_ram(session);
	struct rs_memory memory = { .n_ram = 0 };
	struct rs_x86_regs regs;
	struct rs_error *err = rs_session_registers(session, &regs);

	if (err)
		return err;
	rs_replay_ram_set(&memory, ram.mem, ram.bytes);
	rs_memory_at(&memory, &regs);
	*found = rs_guest_kernel_look(guest, &memory, &regs);
	return NULL;
}

/* Returns the instruction of the next look. */
static uint64_t next(const struct rs_recording *recording, uint64_t now)
{
	uint64_t step = STEP_NS >> recording->shift;

	return now + (now / STEP_PARTS > step ? now / STEP_PARTS : step);
}

static struct rs_error *look_on(const struct rs_recording *recording,
				const struct rs_replay_options *options, struct rs_session *session,
				struct rs_guest_kernel *guest)
{
	uint64_t now = options->like ? options->begin : 0;
	const uint64_t most = now + (RS_LOOK_NS_MAX >> recording->shift);
	struct rs_session_run run = { .stop = options->stop };
	bool found = false;
	struct rs_error *err = look_here(session, guest, &found);

	while (!err && !found && now < most) {
		run.icount = now = next(recording, now);
		err = rs_session_run(session, &run);
		if (err || !run.at_target)
			break;
		err = look_here(session, guest, &found);
	}
	return err;
}

struct rs_error *rs_replay_look(const struct rs_recording *recording,
				const struct rs_replay_options *options,
				struct rs_guest_kernel *guest)
{
	const struct rs_session_options how = { .slow = options->slow, .like = options->like };
	struct rs_session *session = NULL;
	struct rs_error *err = rs_session_open(recording, &how, &session);

	if (!err && options->like)
		err = rs_session_seek(session, options->begin, options->stop);
	if (!err)
		err = look_on(recording, options, session, guest);
	rs_session_close(session);
	return rs_error_wrap(err, "looking for the guest's kernel");
}
