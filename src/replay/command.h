/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a command line of QEMU: its words, and the descriptors that QEMU inherits. QEMU runs as an
 * unprivileged user (confine.h) and opens none of a recording's files by its path:
 *
 *	a disk, a console	/dev/fdset/SET		QEMU duplicates the descriptor
 *	other files		/proc/self/fd/N		QEMU opens the file behind it anew, so the
 *						file must be readable to QEMU's user (material.h)
 *
 * Calls that add keep the first error, which rs_qemu_command_error() returns.
 */
#ifndef RS_REPLAY_COMMAND_H
#define RS_REPLAY_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_QEMU_WORDS 96u
#define RS_QEMU_FDS   16u

/* QEMU is found in PATH: a recording does not choose the program. */
#define RS_QEMU "qemu-system-x86_64"

struct rs_qemu_command {
	char *words[RS_QEMU_WORDS + 1]; /* the first is the program, the last is NULL */
	char *const *before;		/* words of a command that starts QEMU; or NULL. Borrowed */
	uint32_t n_words, n_fds;
	int fds[RS_QEMU_FDS]; /* borrowed: their owner closes them after QEMU has started */
	/* size of the guest's RAM: limits QEMU's address space; 0: no limit */
	uint64_t memory_bytes;
	bool full; /* a word or a descriptor did not fit */
};

void rs_qemu_command_deinit(struct rs_qemu_command *command); /* accepts all zero */

/* Add one word; or an option and its value, formatted as by printf(). */
void rs_qemu_command_word(struct rs_qemu_command *command, const char *word);
__attribute__((format(printf, 3, 4))) void
rs_qemu_command_option(struct rs_qemu_command *command, const char *option, const char *value, ...);

/* Makes QEMU inherit the descriptor with the same number. Returns the number, for
 * /proc/self/fd/N. */
int rs_qemu_command_inherit(struct rs_qemu_command *command, int fd);
/* Makes QEMU inherit the descriptor, and duplicate it when it opens /dev/fdset/SET. Returns the
 * set's number. */
int rs_qemu_command_fdset(struct rs_qemu_command *command, int fd);

/* Returns why the command cannot be run, or NULL. */
struct rs_error *rs_qemu_command_error(const struct rs_qemu_command *command);

#endif
