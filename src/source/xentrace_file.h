/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a xentrace file, by time. Windows are read into blocks, a queue of them for each
 * physical CPU; a block is checked when it is read, so that what is taken out later makes sense:
 *
 *	file --> block (checked) --> queue of its CPU --\
 *	                             queue ...        ---> heap by TSC --> record
 *
 * At the first thing that makes no sense nothing more is read. What stands between it and the last
 * record before it that is known is not believed either.
 */
#ifndef RS_SOURCE_XENTRACE_FILE_H
#define RS_SOURCE_XENTRACE_FILE_H

#include "xen/layout.h"

#define RS_XEN_CPUS_MAX 4096u /* the most that Xen can be built for; numbers stay below */

struct rs_xen_block;

struct rs_xen_pcpu {
	uint32_t cpu;
	struct rs_xen_block *first, *last; /* what was read and not taken */
	const uint8_t *at;		   /* the next record in the first */
	uint64_t tsc;			   /* of the record taken last, corrected */
	uint64_t next_tsc;		   /* of the one at `at` */
	uint64_t read_tsc;		   /* the last stamp that was read, as it was */
	bool has_tsc, in_heap;
	int64_t skew; /* to be added to its stamps */
	void *owner;  /* what the source keeps of it */
};

struct rs_xen_file {
	char *path;
	int fd;
	bool regular, ended;
	uint8_t *buffer; /* what was read of the file and not put into blocks */
	size_t buffer_at, buffer_end;
	uint64_t offset; /* in the file, of buffer_at */
	/* The window that is being read. */
	struct rs_xen_pcpu *window;
	uint32_t window_left;
	bool window_begun;	    /* its head has been passed */
	struct rs_xen_block *block; /* that is being filled */
	uint32_t piece;		    /* bytes of it that are new */
	uint8_t carry[40];	    /* the half record at the end of the one before */
	uint32_t n_carry;
	size_t held; /* bytes in blocks */
	/* The rounds: what may be taken is what is not after the round before the last. */
	uint32_t round_cpu;    /* of the last window */
	uint64_t round_max[3]; /* of this round, the last, and all before */
	bool any_round;
	struct rs_xen_pcpu **pcpus; /* in the order of their first windows */
	uint32_t n_pcpus;
	struct rs_xen_pcpu *by_cpu[RS_XEN_CPUS_MAX];
	uint32_t *heap;
	uint32_t n_heap;
	uint64_t taken_tsc; /* of the last record taken */
	uint64_t late;	    /* records that came too late for their place */
	uint64_t records, windows;
	struct rs_error *error; /* told at the end */
};

/* Takes over fd, whether it fails or not; head: what was read of it already. */
struct rs_error *rs_xen_file_init(struct rs_xen_file *file, int fd, const char *path,
				  const void *head, size_t bytes);
void rs_xen_file_deinit(struct rs_xen_file *file);

/*
 * Reads on until there is enough to take something, or the end. False: a signal came first; ask
 * again. Errors of the file are kept in file->error, but for a lack of memory.
 */
struct rs_error *rs_xen_file_fill(struct rs_xen_file *file, bool *enough);

/* The next record, its stamp, corrected, and where it was; false: fill first, or it is the end. */
bool rs_xen_file_take(struct rs_xen_file *file, struct rs_xen_record *record, uint64_t *tsc,
		      struct rs_xen_pcpu **pcpu);

/* Whether all has been taken. */
bool rs_xen_file_done(const struct rs_xen_file *file);

/* Calls back for every record that was read and not taken, by CPU, with stamps as they are. */
void rs_xen_file_survey(const struct rs_xen_file *file,
			void (*see)(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
				    uint32_t pcpu),
			void *ctx);

/* Sets the skews after a survey: before anything is taken. */
void rs_xen_file_correct(struct rs_xen_file *file, const int64_t *skews);

#endif
