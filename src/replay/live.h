/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controls a running machine: another user's QEMU, by its GDB stub (-gdb, -s), or one that this
 * program boots from a recording. To inspect it, this code stops it, which the guest can observe:
 * its clock stops, but external time continues. The difference between them is measured.
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
 * RS_USAGE if the address is invalid, and RS_FAILED or RS_ABSENT unless a GDB stub of QEMU listens
 * there. */
struct rs_error *rs_live_attach(const char *address, struct rs_live **live);
/* Boots the recording's machine, without its log and without counting instructions. */
struct rs_error *rs_live_boot(const struct rs_recording *recording, const char *console,
			      struct rs_live **live);
/* Closes a machine: another user's continues, one started here ends. NULL is ignored. */
void rs_live_close(struct rs_live *live);

/* Returns the mapped RAM, or NULL if rs_live_read_phys() must read it. */
const uint8_t *rs_live_ram(const struct rs_live *live, uint64_t *bytes);
/* Implements the callback of struct rs_memory. ctx is the struct rs_live. */
bool rs_live_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes);

/* Measures the clock's rate without probes, once, before any are set. It runs the machine for 1 s.
 * A machine in its firmware runs until the clock is set up, and then for 0.2 s. Ends early when
 * *stop becomes true. */
struct rs_error *rs_live_calibrate(struct rs_live *live, const volatile bool *stop);

/* Begins the measurement of the distortion, after the calibration. */
void rs_live_measure(struct rs_live *live);

/* Runs the machine for ns nanoseconds, or to a point. It stops later by QEMU's own delay. */
struct rs_error *rs_live_run(struct rs_live *live, uint64_t ns, const volatile bool *stop,
			     struct rs_gdb_stopped *stopped);
/* Executes one instruction of the processor that caused the last stop. */
struct rs_error *rs_live_step(struct rs_live *live, struct rs_gdb_stopped *stopped);

/* Reads registers while the machine is stopped. QEMU ends when its guest shuts down, possibly
 * before it answers. *stopped is then RS_GDB_ENDED, and *regs is unchanged. */
struct rs_error *rs_live_registers(struct rs_live *live, struct rs_x86_regs *regs,
				   struct rs_gdb_stopped *stopped);

/* The processors of a machine, by the stub's numbers of their threads. */
#define RS_LIVE_VCPUS_MAX 255u
struct rs_error *rs_live_vcpus(struct rs_live *live, uint32_t threads[RS_LIVE_VCPUS_MAX],
			       uint32_t *n, struct rs_gdb_stopped *stopped);
/* Reads the registers of a processor, as rs_live_registers() does for the one that caused the
 * stop. */
struct rs_error *rs_live_vcpu_registers(struct rs_live *live, uint32_t thread,
					struct rs_x86_regs *regs, struct rs_gdb_stopped *stopped);

/* Sets or removes a point. */
struct rs_error *rs_live_point(struct rs_live *live, enum rs_gdb_point kind, uint64_t address,
			       uint32_t bytes, bool set, struct rs_gdb_stopped *stopped);

/* Returns how long the machine has run since the calibration. */
uint64_t rs_live_ran_ns(const struct rs_live *live);

/* Returns how long the machine was stopped since the calibration. */
uint64_t rs_live_stopped_ns(const struct rs_live *live);

struct rs_distortion {
	bool ended; /* its QEMU has ended */
	/* guest_ns is from the guest's clock; false: from the time that the machine ran */
	bool clock;
	uint64_t host_ns;	    /* host's time since the calibration */
	uint64_t guest_ns;	    /* advance of the guest's clock in that time */
	uint64_t ran_ns;	    /* time that the machine ran */
	double rate;		    /* guest's time per host's, without probes; 1 without a clock */
	uint64_t stops, stopped_ns; /* number of stops, and the time that the machine was stopped */
	uint64_t hiding;   /* stops at which QEMU may have hidden an access to watched memory */
	int64_t behind_ns; /* delay of the guest's clock relative to a run without probes */
	double factor;	   /* slowdown */
};
/* Returns the distortion up to now; for a stopped or ended machine, up to the last stop. */
void rs_live_distortion(struct rs_live *live, struct rs_distortion *distortion);

/* Formats it as one line of text. */
#define RS_DISTORTION_BYTES 512
void rs_distortion_text(const struct rs_distortion *distortion, char text[RS_DISTORTION_BYTES]);

#endif
