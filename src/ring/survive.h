/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of threads or vCPUs that trace, in memory that survives them (a half of the log's,
 * log_ring.h, or a recorder's file, trace/file.c), with what a reader needs to understand them.
 * Freestanding: guests use it, too.
 *
 *	| head | definitions, one after the other | place 0 | place 1 | ...
 *	place: | the ring's owner | a recorder's progress | sbuf |
 *
 * While no recorder collects them, a full ring of the log drops its oldest quarter.
 *
 * A recorder copies records out of a ring, and writes them to the trace later, in packets. Its
 * progress maps the records in the trace's file to a position in the ring. The records after that
 * position that the thread has not overwritten since can be recovered.
 *
 * The writer uses its own copies. A later reader checks everything.
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
	uint64_t defined_bytes;	   /* bytes written; release, after the definition */
	char provider[64];
	uint8_t trace[16];    /* for a recorder: the UUID of its trace */
	uint32_t class_index; /* likewise: the class of the records in the trace */
	uint32_t pid;	      /* likewise: the program's; 0: not known */
	uint32_t path_bytes;  /* likewise: of the trace's path, last in the definitions */
	uint32_t reserved;
};
_Static_assert(sizeof(struct rs_survive_head) == 128, "on disk");

/* The text follows, with zeros up to a multiple of 8. Ids count from 1, in this order. */
struct rs_survive_definition {
	uint32_t kind, len;
};

struct rs_survive_place {
	uint32_t used; /* 1: the place has a ring; release, after the ring */
	int32_t tid;
	int32_t vcpu;
	uint32_t ring_at; /* offset of the ring in the place; 0: directly after this */
	char thread[16];
	char vm[64];
	uint64_t padding[4];
};
_Static_assert(sizeof(struct rs_survive_place) == 128, "on disk");

/* A position in a ring, and the counts of the records drained before it. */
struct rs_survive_mark {
	uint64_t accounted;   /* records and reported losses of the stream */
	uint64_t position;    /* bytes of the ring; it never wraps */
	uint64_t lost, ahead; /* the drain's reported_lost and reported_ahead */
};

#define RS_SURVIVE_MARKS 64u

/* Follows the place's head for a recorder. Only the recorder writes it. */
struct rs_survive_progress {
	uint32_t stream;  /* index in the trace, plus 1; 0: none yet. Release, before a drain */
	uint32_t current; /* the index of the valid `now`; release, after it */
	uint64_t n_marks; /* number of all marks; the newest are kept. Release, after the mark */
	struct rs_survive_mark now[2];		       /* before the ring's room is released */
	struct rs_survive_mark mark[RS_SURVIVE_MARKS]; /* at the end of each finished packet */
};
_Static_assert(sizeof(struct rs_survive_progress) == 2128, "on disk");

/* The name of a recorder's file (ring/shared.h). */
#define RS_SURVIVE_NAME_BYTES 48u
static inline void rs_survive_name(const uint8_t trace[16], char name[RS_SURVIVE_NAME_BYTES])
{
	static const char prefix[] = "shm:rings-", hex[] = "0123456789abcdef";
	char *at = name;

	for (const char *from = prefix; *from; from++)
		*at++ = *from;
	for (uint32_t i = 0; i < 16; i++) {
		*at++ = hex[trace[i] >> 4];
		*at++ = hex[trace[i] & 15];
	}
	*at = 0;
}

/* With a ring of 64 slots. */
#define RS_SURVIVE_PLACE_BYTES_MIN 2304u

#endif
