/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB remote protocol, as QEMU's stub speaks it: the channel on which a machine is stopped,
 * looked at and let go. Acknowledgements stay on, each sent with the packet that follows; a packet
 * is at most 4 KiB, so memory is read elsewhere where it can be.
 *
 * One thread. Nothing the other side sends is trusted: lengths, checksums and digits are checked,
 * and each wait has an end.
 */
#ifndef RS_REPLAY_GDB_H
#define RS_REPLAY_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

/* The x86-64 processor, in the order of QEMU's `g` packet. */
struct rs_x86_regs {
	uint64_t gpr[16]; /* rax rbx rcx rdx rsi rdi rbp rsp r8 ... r15 */
	uint64_t rip;
	uint32_t eflags, cs, ss, ds, es, fs, gs;
	uint64_t fs_base, gs_base, k_gs_base;
	uint64_t cr0, cr2, cr3, cr4, cr8, efer;
};

/* A register's value by its name ("rip", "eflags", "cr3"); false: there is none. */
bool rs_x86_reg(const struct rs_x86_regs *regs, const char *name, uint64_t *value);
/* Their names, in that order; NULL past the last. */
const char *rs_x86_reg_name(uint32_t index);

enum rs_gdb_point {
	RS_GDB_EXEC = 0, /* software breakpoint: QEMU's leave no trace in memory */
	RS_GDB_WRITE = 2,
	RS_GDB_READ = 3,
	RS_GDB_ACCESS = 4,
};

enum rs_gdb_stop {
	RS_GDB_STOPPED, /* a breakpoint, a step, replay-break, an interrupt from us */
	RS_GDB_WATCHED, /* a watchpoint: `address` */
	RS_GDB_ENDED,	/* the machine is gone */
};

struct rs_gdb_stopped {
	enum rs_gdb_stop why;
	uint64_t address; /* of the access; the watchpoint's own where the stub gives that */
	enum rs_gdb_point kind;
	uint32_t thread; /* of the processor that stopped it, from 1; 0: it does not say */
	uint8_t signal;	 /* as the stub says: RS_GDB_TRAP, RS_GDB_INTERRUPT */
};

#define RS_GDB_INTERRUPT 2 /* somebody asked for it */
#define RS_GDB_TRAP	 5 /* a point, a step */

struct rs_gdb;

/* On a socket that is connected, which it takes over; stops a machine that runs. */
struct rs_error *rs_gdb_adopt(int fd, struct rs_gdb **gdb);
void rs_gdb_close(struct rs_gdb *gdb); /* NULL is nothing; the machine goes its way */

/* A command of QEMU's monitor; what it says, at most size - 1 bytes, ended by a NUL. */
struct rs_error *rs_gdb_monitor(struct rs_gdb *gdb, const char *command, char *said, size_t size);
/* The same, and the machine is let go, or its registers are asked for, in the same write: QEMU is
 * woken once for both. The machine goes though the command be refused. */
struct rs_error *rs_gdb_monitor_continue(struct rs_gdb *gdb, const char *command, char *said,
					 size_t size);
struct rs_error *rs_gdb_monitor_registers(struct rs_gdb *gdb, const char *command, char *said,
					  size_t said_size, void *raw, size_t size, size_t *bytes);

struct rs_error *rs_gdb_registers(struct rs_gdb *gdb, struct rs_x86_regs *regs);
/* Of what a `g` packet has, or its beginning. */
struct rs_error *rs_x86_regs_parse(const void *raw, size_t bytes, struct rs_x86_regs *regs);
/* All registers that the stub has, as it gives them, for a hash: at most size bytes. */
struct rs_error *rs_gdb_registers_raw(struct rs_gdb *gdb, void *raw, size_t size, size_t *bytes);

/* Guest memory through the stub; virtual. RS_FAILED: it can't be read. */
struct rs_error *rs_gdb_read(struct rs_gdb *gdb, uint64_t gva, void *buf, size_t bytes);

struct rs_error *rs_gdb_point(struct rs_gdb *gdb, enum rs_gdb_point kind, uint64_t address,
			      uint32_t bytes, bool set);

/* Anything that is answered by OK. */
struct rs_error *rs_gdb_order(struct rs_gdb *gdb, const char *packet);
/* One instruction of one processor; the others stand. Then rs_gdb_wait(). */
struct rs_error *rs_gdb_step_alone(struct rs_gdb *gdb, uint32_t thread);

/* Lets the machine go, or one instruction; then rs_gdb_wait(). */
struct rs_error *rs_gdb_continue(struct rs_gdb *gdb);
/* Of a replay with snapshots: back to the last hit of a point. */
struct rs_error *rs_gdb_back(struct rs_gdb *gdb);
/* And back by one instruction. */
struct rs_error *rs_gdb_back_step(struct rs_gdb *gdb);
struct rs_error *rs_gdb_step(struct rs_gdb *gdb);

/* Until it stops; *done false after timeout_ms (it goes on; ask again). */
struct rs_error *rs_gdb_wait(struct rs_gdb *gdb, int timeout_ms, bool *done,
			     struct rs_gdb_stopped *stopped);
/* Returns the text of the last packet that came, until the next call. */
const char *rs_gdb_said(const struct rs_gdb *gdb);

/* What to poll() for, beside something else; *pending: a packet may have been read already. */
int rs_gdb_fd(const struct rs_gdb *gdb, bool *pending);

/* Asks a machine that runs to stop; then rs_gdb_wait(). */
struct rs_error *rs_gdb_interrupt(struct rs_gdb *gdb);

#endif
