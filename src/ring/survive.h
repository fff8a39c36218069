/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of threads or vCPUs that trace, in memory that survives them (a half of the log's,
 * log_ring.h), with what a reader needs to understand them. Freestanding: guests have it too.
 *
 *	| head | definitions, one after the other | place 0 | place 1 | ...
 *	place: | whose ring it is | sbuf |
 *
 * While no recorder collects them, a full ring drops its oldest quarter.
 *
 * Trust: the writer trusts its own copies. A reader after it trusts nothing.
 */
#ifndef RS_RING_SURVIVE_H
#define RS_RING_SURVIVE_H

#include <stddef.h>
#include <stdint.h>

#define RS_SURVIVE_MAGIC      UINT64_C(0x6576697672757372) /* "rsurvive" */
#define RS_SURVIVE_PLACES_MAX 1024u

struct rs_survive_head {
	uint64_t magic; /* written last */
	uint32_t place_bytes;
	uint32_t places;
	uint64_t definition_bytes; /* room for definitions */
	uint64_t defined_bytes;	   /* written; release, after the definition */
	char provider[64];
	uint64_t reserved[4];
};
_Static_assert(sizeof(struct rs_survive_head) == 128, "on disk");

/* Then its text, and zeros up to a multiple of 8. Ids count from 1 on, in this order. */
struct rs_survive_definition {
	uint32_t kind, len;
};

struct rs_survive_place {
	uint32_t used; /* 1: there is a ring; release, after it */
	int32_t tid;
	int32_t vcpu;
	uint32_t reserved;
	char thread[16];
	char vm[64];
	uint64_t padding[4];
};
_Static_assert(sizeof(struct rs_survive_place) == 128, "on disk");

/* With a ring of 64 slots. */
#define RS_SURVIVE_PLACE_BYTES_MIN 2304u

#endif
