/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB remote protocol, as QEMU's stub implements it: the channel to stop, inspect and continue
 * a machine. Acknowledgements remain enabled; each is sent with the next packet. A packet has at
 * most 4 KiB, so memory is read in other ways where possible.
 *
 * Only one thread may call. The peer's data is untrusted: lengths, checksums and digits are
 * checked, and each wait has a timeout.
 */
#ifndef RS_REPLAY_GDB_H
#define RS_REPLAY_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#include "introspect/registers.h"

enum rs_gdb_point {
	RS_GDB_EXEC = 0, /* software breakpoint: QEMU's does not change memory */
	RS_GDB_WRITE = 2,
	RS_GDB_READ = 3,
	RS_GDB_ACCESS = 4,
};

enum rs_gdb_stop {
	RS_GDB_STOPPED, /* a breakpoint, a step, replay-break, or an interrupt */
	RS_GDB_WATCHED, /* a watchpoint: `address` */
	RS_GDB_ENDED,	/* the machine has ended */
};

struct rs_gdb_stopped {
	enum rs_gdb_stop why;
	/* address of the access, or the watchpoint's own if the stub sends that */
	uint64_t address;
	enum rs_gdb_point kind;
	uint32_t thread; /* the processor that caused the stop, from 1; 0: unknown */
	uint8_t signal;	 /* from the stub: RS_GDB_TRAP, RS_GDB_INTERRUPT */
};

#define RS_GDB_INTERRUPT 2 /* an interrupt was requested */
#define RS_GDB_TRAP	 5 /* a point or a step */

struct rs_gdb;

/* Creates a channel on a connected socket, and owns the socket. Stops a running machine. */
struct rs_error *rs_gdb_adopt(int fd, struct rs_gdb **gdb);
void rs_gdb_close(struct rs_gdb *gdb); /* NULL is ignored; the machine continues */

/* Runs a command of QEMU's monitor. Stores its output, at most size - 1 bytes and a NUL. */
struct rs_error *rs_gdb_monitor(struct rs_gdb *gdb, const char *command, char *output, size_t size);
/* Run a monitor command, and continue the machine or request its registers in the same write, so
 * that QEMU wakes once for both. The machine continues even if QEMU rejects the command. */
struct rs_error *rs_gdb_monitor_continue(struct rs_gdb *gdb, const char *command, char *output,
					 size_t size);
struct rs_error *rs_gdb_monitor_registers(struct rs_gdb *gdb, const char *command, char *output,
					  size_t output_size, void *raw, size_t size,
					  size_t *bytes);

struct rs_error *rs_gdb_registers(struct rs_gdb *gdb, struct rs_x86_regs *regs);
/* Parses the registers from the content of a `g` packet, or its beginning. */
struct rs_error *rs_x86_regs_parse(const void *raw, size_t bytes, struct rs_x86_regs *regs);
/* Reads all registers in the stub's own format, for a hash: at most size bytes. */
struct rs_error *rs_gdb_registers_raw(struct rs_gdb *gdb, void *raw, size_t size, size_t *bytes);

/* Reads guest memory through the stub, by virtual address. Returns RS_FAILED if it cannot be
 * read. */
struct rs_error *rs_gdb_read(struct rs_gdb *gdb, uint64_t gva, void *buf, size_t bytes);

struct rs_error *rs_gdb_point(struct rs_gdb *gdb, enum rs_gdb_point kind, uint64_t address,
			      uint32_t bytes, bool set);
/* Returns whether breakpoints, or watchpoints, are set. */
bool rs_gdb_has_breaks(const struct rs_gdb *gdb);
bool rs_gdb_has_watches(const struct rs_gdb *gdb);

/* Sends a packet to which a stopped machine answers with one packet: rs_gdb_text(). */
struct rs_error *rs_gdb_ask(struct rs_gdb *gdb, const char *packet);
/* Sends a packet whose answer is OK. */
struct rs_error *rs_gdb_order(struct rs_gdb *gdb, const char *packet);
/* Executes one instruction of one processor; the others remain stopped. Call rs_gdb_wait()
 * afterwards. */
struct rs_error *rs_gdb_step_alone(struct rs_gdb *gdb, uint32_t thread);

/* Continue the machine, or execute one instruction. Call rs_gdb_wait() afterwards. */
struct rs_error *rs_gdb_continue(struct rs_gdb *gdb);
/* Goes back to the last hit of a point, in a replay with snapshots. */
struct rs_error *rs_gdb_back(struct rs_gdb *gdb);
/* Goes back by one instruction. */
struct rs_error *rs_gdb_back_step(struct rs_gdb *gdb);
struct rs_error *rs_gdb_step(struct rs_gdb *gdb);

/* Waits until the machine stops. Sets *done to false after timeout_ms; the machine continues to
 * run, and the caller may wait again. */
struct rs_error *rs_gdb_wait(struct rs_gdb *gdb, int timeout_ms, bool *done,
			     struct rs_gdb_stopped *stopped);
/* Returns the text of the last received packet, valid until the next call. */
const char *rs_gdb_text(const struct rs_gdb *gdb);

/* Returns the descriptor to poll(). Sets *pending if a packet may have been read already. */
int rs_gdb_fd(const struct rs_gdb *gdb, bool *pending);

/* Requests that a running machine stop. Call rs_gdb_wait() afterwards. */
struct rs_error *rs_gdb_interrupt(struct rs_gdb *gdb);

#endif
