/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port of a ring in the memory of a guest whose VMM does not support Ringside: another
 * process's memory or a file, read and written by system calls, at any time, while the guest runs.
 *
 * Three properties differ from a VMM that calls host.h:
 *	- The kernel may write bytes one after the other, so the guest could read a head of which
 *	  some bytes are old and some new, and overwrite unread records. So each write changes one
 *	  byte: the head moves in steps of 256^k bytes, and does not pass the read position.
 *	- The guest may restart, or its memory may vanish. Then the port returns nothing more, and
 *	  rs_foreign_has_left() returns true.
 *	- The offset of the guest's TSC is unknown. Each change of a tail bounds it:
 *
 *		host:   poll a          poll b          poll c
 *		tail:   T0              T1              T2
 *		guest:          | T1 is published  | the record at T1 gets its stamp
 *
 *	  A stamp is later than the poll before the one that found its record's place as the tail,
 *	  and earlier than the poll that found the record. All vCPUs of a guest are assumed to
 *	  share one TSC at the host's rate. If a stamp is outside the bounds, the offset has moved.
 *	  QEMU's emulated TSC does so: when one vCPU reads a smaller value of the host's TSC than
 *	  another has before, QEMU adds the difference to the offset (cpu_get_ticks()). New
 *	  bounds begin, and the offset's error covers the old ones too. An offset that moves by more
 *	  than 1 % of the time is unknown. A movement within the bounds is not seen.
 *
 * The guest is not trusted. Wrong stamps move only this guest's clock.
 */
#ifndef RS_HOST_FOREIGN_H
#define RS_HOST_FOREIGN_H

#include <pthread.h>

#include "event/drain.h"
#include <ringside/host.h>

/* error_cycles of a clock whose offset is unknown: 2^62, so that a sum with a stamp does not
 * overflow. */
#define RS_CLOCK_ERROR_UNKNOWN (UINT64_C(1) << 62)

/* The bounds of a guest's TSC minus the host's. */
struct rs_foreign {
	pthread_mutex_t lock;
	uint64_t since; /* no record has a stamp before this host stamp */
	bool left;	/* atomic: a ring was restarted, or memory vanished */
	/* The rest is under the lock. Bounds that are not known are the type's limits. */
	bool any;		     /* there are bounds */
	int64_t least, most;	     /* the bounds since the offset last moved, */
	int64_t old_least, old_most; /* all before, */
	int64_t lowest, highest;     /* and both together */
	uint64_t moved;		     /* by at least so many cycles, in the sum */
	uint64_t begin, last;	     /* host stamps of the first and the last bounds */
};

void rs_foreign_init(struct rs_foreign *guest, uint64_t since);
void rs_foreign_deinit(struct rs_foreign *guest);

bool rs_foreign_has_left(const struct rs_foreign *guest);

/* Sets the offset and the error of a guest's clock. */
void rs_foreign_clock(struct rs_foreign *guest, struct rs_clock *clock);

/* The port of a vCPU's ring. One thread at a time uses it, like its drain. */
struct rs_foreign_ring {
	struct rs_foreign *guest;
	const struct rs_guest_memory *memory;
	struct rs_clock *clock; /* the vCPU's clock; the port updates it */
	uint64_t gpa;
	struct rs_sbuf header; /* the header as found; head: as the guest has it */
	uint32_t byte;	       /* the step of head, by which it is written */
	uint32_t read;	       /* the read position */
	bool first;	       /* no record was found yet */
	/* Of the last poll. */
	uint32_t tail;
	uint64_t polled;
	/* A future record: its offset, and a stamp that is before the record's. */
	bool waits;
	uint32_t waits_at;
	uint64_t waits_after;
};

/* Initializes a ring whose header was checked, and its port. Returns false if the ring's head
 * cannot move in steps that change one byte. */
bool rs_foreign_ring_init(struct rs_foreign_ring *ring, struct rs_foreign *guest,
			  const struct rs_guest_memory *memory, uint64_t gpa,
			  const struct rs_sbuf *header, struct rs_clock *clock,
			  struct rs_port *port);

#endif
