/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controls a running machine: another user's QEMU, by its GDB stub (-gdb, -s), or one that this
 * program boots from a recording. To inspect it, this code stops it, which the guest can observe:
 * its clock stops meanwhile, and external time goes on. The difference between them is measured.
 *
 *	host    |--------------|======================================|
 *	guest   |--------------|--- --- ------ --- ------ --- --------|
 *	         without probes  with them: it stops at each one
 *
 * The guest's clock is one that the guest reads: ACPI's timer at 3.58 MHz, which this code reads
 * through the monitor while the machine is stopped. If a machine has none, the clock is the time
 * that it was allowed to run.
 *
 * If this process is killed, another user's machine continues without points (guard.h).
 */
#ifndef RS_REPLAY_LIVE_H
#define RS_REPLAY_LIVE_H

#include "replay/gdb.h"
#include "replay/recording.h"

struct rs_live;

/* Attaches to a machine, and stops it. address is "unix:PATH", "HOST:PORT" or ":PORT". Returns
 * RS_USAGE if it is no address, and RS_FAILED or RS_ABSENT if nothing listens there, or no GDB stub
 * of QEMU does. */
struct rs_error *rs_live_attach(const char *address, struct rs_live **live);
/* Boots the recording's machine, without its log, and without counting its instructions. */
struct rs_error *rs_live_boot(const struct rs_recording *recording, const char *console,
			      struct rs_live **live);
/* Closes a machine: another user's continues, one started here ends. NULL is ignored. */
void rs_live_close(struct rs_live *live);

/* Returns the mapped RAM, or NULL if rs_live_read_phys() must read it. */
const uint8_t *rs_live_ram(const struct rs_live *live, uint64_t *bytes);
/* Implements the callback of struct rs_memory. ctx is the struct rs_live. */
bool rs_live_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes);

/* Measures the clock's rate without probes, before any are set. Ends early when *stop becomes
 * true. */
struct rs_error *rs_live_calibrate(struct rs_live *live, const volatile bool *stop);

/* Runs the machine for at most ns nanoseconds (in steps of 1 ms), or to a point. */
struct rs_error *rs_live_run(struct rs_live *live, uint64_t ns, const volatile bool *stop,
			     struct rs_gdb_stopped *stopped);
/* Executes one instruction of the processor that caused the last stop. */
struct rs_error *rs_live_step(struct rs_live *live, struct rs_gdb_stopped *stopped);

/* Reads registers while the machine is stopped. QEMU ends when its guest shuts down, which may be
 * before it answers: *stopped is then RS_GDB_ENDED, and *regs is unchanged. */
struct rs_error *rs_live_registers(struct rs_live *live, struct rs_x86_regs *regs,
				   struct rs_gdb_stopped *stopped);
struct rs_error *rs_live_point(struct rs_live *live, enum rs_gdb_point kind, uint64_t address,
			       uint32_t bytes, struct rs_gdb_stopped *stopped);

/* Returns how long it has run since the calibration. */
uint64_t rs_live_ran_ns(const struct rs_live *live);

/* Returns how long it was stopped since the calibration. */
uint64_t rs_live_stopped_ns(const struct rs_live *live);

struct rs_distortion {
	bool ended;	   /* its QEMU has ended */
	bool clock;	   /* guest_ns is from the guest's clock; else from the time that it ran */
	uint64_t host_ns;  /* host's time since the calibration */
	uint64_t guest_ns; /* advance of the guest's clock in that time */
	uint64_t ran_ns;   /* time that it ran */
	double rate;	   /* guest's time per host's, without probes; 1 without a clock */
	uint64_t stops, stopped_ns; /* stops, and the time that it was stopped */
	int64_t behind_ns; /* delay of the guest's clock relative to a run without probes */
	double factor;	   /* slowdown */
};
/* Returns the distortion up to now; for a stopped or ended machine, up to the last stop. */
void rs_live_distortion(struct rs_live *live, struct rs_distortion *distortion);

#endif
