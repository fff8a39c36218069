/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that runs: a QEMU of somebody else's, by its GDB stub (-gdb, -s), or one of ours that
 * boots what was recorded. It is stopped to be looked at, and that can be seen from within: its
 * clock stands meanwhile, and the world's goes on. How far apart they are is measured.
 *
 *	host    |--------------|======================================|
 *	guest   |--------------|--- --- ------ --- ------ --- --------|
 *	         without probes  with them: it stands at each stop
 *
 * The guest's clock is one that it reads itself, ACPI's timer at 3.58 MHz, which we read through
 * the monitor while it stands; where a machine has none, it is the time that it was let run.
 *
 * Whatever happens to us, a machine of somebody else's goes on, without points (guard.h).
 */
#ifndef RS_REPLAY_LIVE_H
#define RS_REPLAY_LIVE_H

#include "replay/gdb.h"
#include "replay/recording.h"

struct rs_live;

/* address: "unix:PATH", "HOST:PORT", ":PORT". It stands then. RS_USAGE: no address; RS_FAILED,
 * RS_ABSENT: nobody is there, or it is no GDB stub of QEMU's. */
struct rs_error *rs_live_attach(const char *address, struct rs_live **live);
/* Boots the recording's machine, without its log, and without what makes it count instructions. */
struct rs_error *rs_live_boot(const struct rs_recording *recording, const char *console,
			      struct rs_live **live);
/* One of somebody else's goes on; ours ends. NULL is nothing. */
void rs_live_close(struct rs_live *live);

/* RAM where it is mapped; NULL: it is read by rs_live_read_phys(). */
const uint8_t *rs_live_ram(const struct rs_live *live, uint64_t *bytes);
/* As struct rs_guest_memory wants it; ctx: the struct rs_live. */
bool rs_live_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes);

/* What it does without probes, before any are set. Ends early when *stop becomes true. */
struct rs_error *rs_live_calibrate(struct rs_live *live, const volatile bool *stop);

/* Lets it go for so many ns at most (in steps of a ms), or to a point. */
struct rs_error *rs_live_run(struct rs_live *live, uint64_t ns, const volatile bool *stop,
			     struct rs_gdb_stopped *stopped);
/* One instruction of the processor that stopped it last. */
struct rs_error *rs_live_step(struct rs_live *live, struct rs_gdb_stopped *stopped);

/* Ask the machine while it stands. QEMU ends when its guest shuts down, which may be before it
 * answers: *stopped then says RS_GDB_ENDED, and *regs is unchanged. */
struct rs_error *rs_live_registers(struct rs_live *live, struct rs_x86_regs *regs,
				   struct rs_gdb_stopped *stopped);
struct rs_error *rs_live_point(struct rs_live *live, enum rs_gdb_point kind, uint64_t address,
			       uint32_t bytes, struct rs_gdb_stopped *stopped);

/* How long it was let run since it was calibrated. */
uint64_t rs_live_ran_ns(const struct rs_live *live);

/* And stood still since then. */
uint64_t rs_live_stopped_ns(const struct rs_live *live);

struct rs_distortion {
	bool ended;	   /* its QEMU has gone */
	bool clock;	   /* guest_ns is by the guest's clock; else by how long it was let run */
	uint64_t host_ns;  /* since it was calibrated, */
	uint64_t guest_ns; /* and how far the guest's clock went in that, */
	uint64_t ran_ns;   /* how long it was let run */
	double rate; /* guest's time in the host's, without probes; 1 where there is no clock */
	uint64_t stops, stopped_ns; /* it stood still, as seen from here */
	int64_t behind_ns;	    /* the guest's clock, against what it would be without probes */
	double factor;		    /* how much longer all took */
};
/* Up to now; while it stands, or when it has gone: up to the last stop. */
void rs_live_distortion(struct rs_live *live, struct rs_distortion *distortion);

#endif
