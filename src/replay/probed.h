/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that is stopped where a probe fires, replayed or live: its probes, registers and
 * memory, and the stream of its events, through which programs access them (struct rs_machine).
 */
#ifndef RS_REPLAY_PROBED_H
#define RS_REPLAY_PROBED_H

#include "event/query.h"
#include "insight/stack.h"
#include "introspect/types.h"
#include "replay/guest_kernel.h"
#include "replay/program.h"
#include "replay/probe.h"
#include <ringside/clock.h>
#include <ringside/source.h>

#define RS_PROBES_MAX 4096u /* of a machine */

/* The results for the program whose probes were requested. */
struct rs_probed_program {
	const struct rs_program *of; /* NULL: there is none */
	bool wanted;		     /* one of its probes is requested */
	/* approximate number of its starts, or of the addresses at which a library was found */
	uint64_t begun;
	uint64_t reached;	     /* number of hits of its probes */
	uint64_t others;	     /* hits of its addresses in other programs */
	uint64_t found;		     /* its last base that a search found; 0: none */
	uint64_t unplaced;	     /* bases without probes, because there are too many probes */
};

/* A probe of a function of a kernel module, which the guest may load and unload. */
struct rs_module_probe {
	struct rs_module_probe *next;
	const struct rs_event *event; /* its class is the module, its function the function's */
	enum rs_replay_kind kind;
	uint64_t offset; /* in the function */
	bool wanted;
	uint64_t module;      /* the struct module that was searched last; 0: it has ended */
	uint64_t loads;	      /* number of times that its points were set in a module */
	struct rs_error *why; /* why it has no points in a module that was loaded; or NULL */
};

/* Functions of the guest's kernel at which the machine stops because places of probes change. */
enum rs_probed_change {
	RS_CHANGE_PROGRAM, /* a program begins */
	RS_CHANGE_MAP,	   /* a file is mapped */
	RS_CHANGE_LOAD,	   /* a module was loaded, and was not initialized yet */
	RS_CHANGE_UNLOAD,  /* a module ends */
	RS_CHANGES
};
#define RS_CHANGE_LOAD_NAME "do_init_module"

struct rs_probed_names;

struct rs_probed {
	struct rs_schema *schema; /* the provider "guest" */
	struct rs_clock clock;
	struct rs_machine machine;
	struct rs_stream stream;

	struct rs_replay_probe *probes;
	uint32_t n_probes, room;
	struct rs_probed_program programs[RS_PROGRAMS_MAX];
	uint32_t n_programs;
	struct rs_module_probe *module_probes; /* an owned list */
	bool awaits_modules; /* a probe may name a module that the guest has not loaded yet */
	bool randomizes;     /* the kernel may randomize addresses of programs */
	uint64_t changes[RS_CHANGES]; /* addresses of these functions; 0: not followed */

	/* State since the last stop. The caller that runs the machine sets `stopped` and `regs`. */
	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_memory memory;
	bool again; /* the present position has fired already */
	struct rs_guest_kernel guest;
	struct rs_named *named;		   /* an owned list */
	struct rs_probed_names *names;	   /* created when a stack or a symbol is first requested */
	char name[RS_TASK_COMM_BYTES + 1]; /* name of the running task: stream.thread */

	/* Views of one stop: one more than there are probes. rs_probed_begin() allocates them. */
	struct rs_view *views;
	uint8_t (*payloads)[RS_REPLAY_PAYLOAD_MAX];
};

/* Initializes *probed, which must be all zero and must not move afterwards. clock is complete
 * except for the members that rs_clock_init() computes. vm is a name, which must outlive
 * *probed. */
struct rs_error *rs_probed_init(struct rs_probed *p, const struct rs_clock *clock, const char *vm);
void rs_probed_deinit(struct rs_probed *p); /* accepts all zero */

/* Implements make() of struct rs_script_config: returns the event of a description. An instruction
 * takes 2^shift ns. */
struct rs_error *rs_probed_make(struct rs_probed *p, const char *description, uint32_t shift,
				const struct rs_event **event);
/* Adds a breakpoint. For a program's probe, adds one for each of the possible bases, which is added
 * to the address. */
struct rs_error *rs_probed_add(struct rs_probed *p, const struct rs_replay_probe *probe);
/* Adds a program, and its probes and assertions, at each of its possible bases. Both must outlive
 * *probed. */
struct rs_error *rs_probed_add_notes(struct rs_probed *p, const struct rs_notes *notes,
				     const struct rs_program *program);

/* Ends adding probes. The probes that match the query are active. */
struct rs_error *rs_probed_begin(struct rs_probed *p, const struct rs_query *query);
/* Makes room for the views of all probes, after probes were added. */
struct rs_error *rs_probed_make_room(struct rs_probed *p);
/* Returns whether places of active probes change as the guest runs: of modules, of libraries and,
 * if the kernel randomizes addresses, of programs. */
bool rs_probed_moves(const struct rs_probed *p, bool randomizes);
/*
 * Follow these places (probed_bases.c, probed_modules.c). rs_probed_follow() looks up where the
 * kernel, which must be known, changes them. The caller sets a breakpoint at each of `changes` that
 * is not 0, and rs_probed_breaks() returns true there. At each stop, rs_probed_rebase() adds and
 * removes places; with `all`, it searches all processes and modules. Then the caller sets and
 * removes points, until is_set of each probe is rs_replay_probe_needs_point().
 */
void rs_probed_follow(struct rs_probed *p, bool randomizes);
struct rs_error *rs_probed_rebase(struct rs_probed *p, bool all);

/* Adds the description of a probe of a module, unless there is one for its event, and sets *out to
 * it. */
struct rs_error *rs_probed_module_add(struct rs_probed *p, const struct rs_replay_probe *probe,
				      uint64_t offset, struct rs_module_probe **out);
/* Removes the places of all probes of modules: the machine is at another time. */
void rs_probed_modules_leave(struct rs_probed *p);
/* Removes and adds places of probes of modules, after the modules of the present stop. `loaded` and
 * `unloaded` are the struct module that was loaded, and that ends, at this stop; 0: none. */
struct rs_error *rs_probed_modules_update(struct rs_probed *p, struct rs_linux *kernel,
					  uint64_t loaded, uint64_t unloaded);
/* Returns whether the module of a probe is still there at the present stop. */
bool rs_probed_module_is_there(struct rs_probed *p, const struct rs_replay_probe *probe);
void rs_probed_modules_destroy(struct rs_module_probe *list); /* NULL is ignored */
/* Sets the guest's RAM, all of it below 4 GiB. */
void rs_probed_map(struct rs_probed *p, const uint8_t *ram, uint64_t bytes);
/* Starts a new stop, after `regs` was set: discards cached translations of page tables. */
void rs_probed_stopped(struct rs_probed *p);
/* Sets the stream's thread, which is the guest's task, for the probes that fire at the present
 * stop. */
void rs_probed_fired(struct rs_probed *p);
/* Returns whether an active breakpoint is at rip. */
bool rs_probed_breaks(const struct rs_probed *p, uint64_t rip);
/* Returns whether this probe, which must not be a timer, fires at the present position. Call it
 * once per stop. */
bool rs_probed_hit(struct rs_probed *p, const struct rs_replay_probe *probe);

/*
 * Reads the stack of the running task at the present stop (probed_names.c). Calls each() for the
 * frames of the kernel or of user mode, innermost first, with inlined functions. Returns false if
 * the task is unknown. Texts are valid during the call.
 */
typedef void rs_probed_frame_fn(void *ctx, uint64_t address, const struct rs_frame *frame);
bool rs_probed_stack(struct rs_probed *p, bool user, uint32_t most, rs_probed_frame_fn *each,
		     void *ctx);
/* Looks up the function at an address of the kernel or of the running task. The frame's texts are
 * valid until the next call. */
bool rs_probed_symbol(struct rs_probed *p, uint64_t address, struct rs_frame *frame);
/*
 * Finds the address of a variable at the present stop (probed_variables.c): of the kernel if
 * program is NULL, else of the program, which must be in the memory of the running task. Returns
 * NULL, or the reason why it is unknown.
 */
const char *rs_probed_variable(struct rs_probed *p, const struct rs_program *program,
			       const struct rs_cvariable *variable, uint64_t *address);
void rs_probed_names_stopped(struct rs_probed_names *names); /* the machine is at another stop */
/* accept NULL, as the function above does */
void rs_probed_names_destroy(struct rs_probed_names *names);

#endif
