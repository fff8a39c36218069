/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays a recording until its guest's kernel is found. */
#include "replay/search.h"

#include "insight/modules.h"
#include "replay/probed.h"
#include "replay/ram.h"

#define STEP_NS	   UINT64_C(20000000) /* between two attempts, at first: */
#define STEP_PARTS 16u		      /* then this multiple of the elapsed time */

static struct rs_error *find_here(struct rs_replay_search *search, struct rs_guest_kernel *guest,
				  bool *found)
{
	struct rs_error *err = rs_session_registers(search->session, &search->regs);

	if (err)
		return err;
	rs_memory_at(&search->memory, &search->regs);
	*found = rs_guest_kernel_find(guest, &search->memory, &search->regs);
	return NULL;
}

/* Returns the instruction of the next attempt. */
static uint64_t next(const struct rs_recording *recording, uint64_t now)
{
	uint64_t step = STEP_NS >> recording->shift;

	return now + (now / STEP_PARTS > step ? now / STEP_PARTS : step);
}

static struct rs_error *search_on(const struct rs_recording *recording,
				  const struct rs_replay_options *options,
				  struct rs_guest_kernel *guest, struct rs_replay_search *search)
{
	uint64_t now = options->like ? options->begin : 0;
	const uint64_t most = now + (RS_SEARCH_NS_MAX >> recording->shift);
	struct rs_session_run run = { .stop = options->stop };
	bool found = false;
	struct rs_error *err = find_here(search, guest, &found);

	while (!err && !found && now < most) {
		run.icount = now = next(recording, now);
		err = rs_session_run(search->session, &run);
		if (err || !run.at_target)
			break;
		err = find_here(search, guest, &found);
	}
	return err;
}

struct rs_error *rs_replay_search(const struct rs_recording *recording,
				  const struct rs_replay_options *options,
				  struct rs_guest_kernel *guest, struct rs_replay_search *search)
{
	const struct rs_session_options how = { .slow = options->slow, .like = options->like };
	struct rs_session_ram ram;
	struct rs_error *err = rs_session_open(recording, &how, &search->session);

	if (!err && options->like)
		err = rs_session_seek(search->session, options->begin, options->stop);
	if (!err) {
		ram = rs_session_ram(search->session);
		rs_replay_ram_set(&search->memory, ram.mem, ram.bytes);
		err = search_on(recording, options, guest, search);
	}
	if (!err && guest->kernel)
		rs_guest_kernel_stopped(guest, &search->memory, &search->regs);
	else
		rs_replay_search_end(search, guest);
	return rs_error_wrap(err, "searching the guest's kernel");
}

/* Runs to the next load of a module, whose function is at an address. */
static struct rs_error *run_to_load(struct rs_replay_search *search, struct rs_guest_kernel *guest,
				    uint64_t address, struct rs_session_run *run)
{
	struct rs_error *err = search->regs.rip == address ? rs_session_step(search->session, run)
							   : NULL;

	if (!err && run->stopped.why != RS_GDB_ENDED)
		err = rs_session_run(search->session, run);
	if (err || run->stopped.why == RS_GDB_ENDED)
		return err;
	err = rs_session_registers(search->session, &search->regs);
	if (err)
		return err;
	rs_memory_at(&search->memory, &search->regs);
	rs_guest_kernel_stopped(guest, &search->memory, &search->regs);
	return NULL;
}

static bool is_loaded(struct rs_guest_kernel *guest, const char *name)
{
	struct rs_linux *kernel = rs_guest_kernel_here(guest);

	return kernel && rs_modules_by_name(kernel, name);
}

struct rs_error *rs_replay_search_module(struct rs_replay_search *search,
					 struct rs_guest_kernel *guest, const char *name,
					 const volatile bool *stop)
{
	struct rs_session_run run = { .icount = UINT64_MAX, .stop = stop };
	struct rs_gdb *gdb;
	struct rs_ksym load;
	struct rs_error *err;

	if (!search->session || !guest->kernel || is_loaded(guest, name) ||
	    !rs_kallsyms_by_name(guest->kernel->symbols, RS_CHANGE_LOAD_NAME, &load))
		return NULL;
	gdb = rs_session_gdb(search->session);
	err = rs_gdb_point(gdb, RS_GDB_EXEC, load.address, 1, true);
	do {
		if (!err)
			err = run_to_load(search, guest, load.address, &run);
	} while (!err && run.stopped.why != RS_GDB_ENDED && !(stop && *stop) &&
		 !is_loaded(guest, name));
	if (!err && run.stopped.why != RS_GDB_ENDED)
		err = rs_gdb_point(gdb, RS_GDB_EXEC, load.address, 1, false);
	return rs_error_wrap(err, "searching the guest's module %s", name);
}

void rs_replay_search_end(struct rs_replay_search *search, struct rs_guest_kernel *guest)
{
	rs_session_close(search->session);
	search->session = NULL;
	if (guest->memory == &search->memory)
		rs_guest_kernel_stopped(guest, NULL, NULL);
}
