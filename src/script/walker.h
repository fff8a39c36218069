/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walkers: D programs that read the stack of an interpreter which runs in a guest. A walker has
 * clauses for functions of one program, the interpreter's: those that execute the interpreter's own
 * functions. For each frame of such a function on a stack, innermost first, its clause fires, and
 * calls frame() to name the frames that replace it.
 *
 *	walker::FUNCTION:frame
 *		args.nth	number of FUNCTION's frames inside this one
 *		args.frames	number of FUNCTION's frames on the stack
 *		args.whole	1: the stack has all its frames
 *		args.pc		the frame's instruction
 *
 * A walker that fails adds a frame with the reason, and does not run again for this stack. It
 * applies only to the build of the program for which it was compiled.
 */
#ifndef RS_SCRIPT_WALKER_H
#define RS_SCRIPT_WALKER_H

#include "insight/stack.h"
#include "script/remark.h"

#define RS_WALKERS_MAX	   8u
#define RS_WALKED_MAX	   1024u /* limit of the frames of one stack */
#define RS_WALKER_NAME_MAX 64u

/* A frame of an interpreter. Texts are valid UTF-8, and exist until the next stack. */
struct rs_walked_frame {
	const char *function, *file; /* file: NULL: unknown */
	uint32_t line;		     /* 0: unknown */
	const char *walker;	     /* its name */
};

/* The frames that replace a native frame: frames[first .. first + n), innermost first. If `keeps`
 * is set, the native frame remains, outside them. */
struct rs_walked_place {
	uint32_t first, n;
	bool keeps;
};

struct rs_walked {
	struct rs_walked_frame frames[RS_WALKED_MAX];
	uint32_t n;
	struct rs_walked_place places[RS_LINUX_FRAMES_MAX]; /* by frame of the stack */
	bool failed;					    /* a walker failed */
};

struct rs_walkers;

/* Creates an empty set of walkers. symfs, which must outlive it, is the folder for debug files of
 * programs, or NULL. */
struct rs_error *rs_walkers_create(const char *symfs, const struct rs_script_remarks *remarks,
				   struct rs_walkers **out);
void rs_walkers_destroy(struct rs_walkers *walkers); /* NULL is ignored */

/* Adds the walker in the file at path, for the program at the path `program`: an ELF file with
 * DWARF, or with a debug file that is found by its build-id. */
struct rs_error *rs_walkers_add(struct rs_walkers *walkers, const char *path, const char *program);

/* Walks a task's stack from rs_stacks_read(). *walked is valid until the next call. */
struct rs_error *rs_walkers_walk(struct rs_walkers *walkers, struct rs_stacks *stacks,
				 const struct rs_linux_stack *stack,
				 const struct rs_linux_task *task, const struct rs_walked **walked);

#endif
