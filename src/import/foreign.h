/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces in other tools' formats, read by importers as sources. A new format is a file with an open
 * function and a row in input/open.c. */
#ifndef RS_IMPORT_FOREIGN_H
#define RS_IMPORT_FOREIGN_H

#include <ringside/source.h>

#define RS_FOREIGN_REMARKS    8
#define RS_FOREIGN_REMARK_MAX 192
#define RS_FOREIGN_HOST	      65 /* a name of a Linux task, with its NUL */

/* The counts of a file. They are complete once the source has ended. */
struct rs_foreign_tally {
	uint64_t records;  /* records in the file */
	uint64_t lost;	   /* records that the file reports as lost */
	uint64_t gaps;	   /* losses of unknown size; each counts 1 in `lost` */
	uint64_t left_out; /* records that could not be made into events */
	/* Other remarks for the user, a line each. */
	char remarks[RS_FOREIGN_REMARKS][RS_FOREIGN_REMARK_MAX];
	uint32_t n_remarks;
};

/* Adds a remark; those beyond RS_FOREIGN_REMARKS are left out. */
__attribute__((format(printf, 2, 3))) void rs_foreign_remark(struct rs_foreign_tally *tally,
							     const char *format, ...);

/* A count that becomes a remark. */
struct rs_foreign_count {
	uint64_t n;
	const char *noun, *what; /* "line", "left out: invalid" */
};

/* Adds a remark for each count that is not 0. */
void rs_foreign_remark_counts(struct rs_foreign_tally *tally, const struct rs_foreign_count *counts,
			      size_t n);

/* Destroyed by rs_source_destroy(). */
struct rs_foreign {
	struct rs_source source;
	struct rs_clock clock;	    /* the trace's, with its time zero */
	struct rs_stream **streams; /* of host CPUs, in their order; known from the start */
	uint32_t n_streams;
	char host[RS_FOREIGN_HOST]; /* the machine that was traced; "": the file does not say */
	char binary_hash[65];	    /* BLAKE3 of the guest's binary, in hex; "": not in the file */
	struct rs_foreign_tally tally;
};

struct rs_xen_decoder;

/* Facts that a file may lack. Options that a format does not accept are rejected before its
 * importer is called (struct rs_importer). */
struct rs_foreign_options {
	uint64_t freq_hz;    /* the frequency of its stamps; 0: not given */
	const char *xen_log; /* Xen's boot log, which names the frequency; or NULL */
	/* For a caller that reads many of Xen's files, one at a time: a decoder that
	 * rs_xen_decoder_init() initialized, which the sources share; or NULL. It outlives the
	 * sources. */
	struct rs_xen_decoder *decoder;
};

struct rs_importer {
	const char *name, *help;
	const uint8_t *magic;
	uint32_t magic_bytes;
	bool accepts_freq, accepts_xen_log; /* the options that the format uses */
	struct rs_error *(*open)(const char *path, struct rs_foreign **foreign);
	/* Replaces open() for formats that have options, or that can be read from a pipe. The bytes
	 * at head were already read from fd. Takes ownership of fd, also after an error. */
	struct rs_error *(*open_fd)(int fd, const char *path, const void *head, size_t bytes,
				    const struct rs_foreign_options *options,
				    struct rs_foreign **foreign);
	/* For formats without a magic: returns whether a file begins as this format does. */
	bool (*is_file)(const uint8_t *head, size_t bytes);
	/* For formats that may also be directories. */
	bool (*is_directory)(const char *path);
	struct rs_error *(*open_directory)(const char *path,
					   const struct rs_foreign_options *options,
					   struct rs_foreign **foreign);
	/* For formats whose input is several files with a common name, which is not the path of a
	 * file. */
	bool (*is_name)(const char *path);
	struct rs_error *(*open_name)(const char *path, const struct rs_foreign_options *options,
				      struct rs_foreign **foreign);
};

/* Opens trace-cmd's trace.dat (tracedat.c). Returns RS_DAMAGED if nothing of the file can be
 * read. */
struct rs_error *rs_tracedat_open(const char *path, struct rs_foreign **foreign);

#endif
