/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exporters write traces in the formats of other tools. An exporter is a sink that writes a file or
 * a directory with the events that its format can represent. A new one is a file with a create
 * function, and a row in cli/cmd_export.c.
 *
 * One thread at a time uses an exporter.
 */
#ifndef RS_EXPORT_EXPORT_H
#define RS_EXPORT_EXPORT_H

#include "input/open.h"

/* Counts of what was written; final after the sink's end(). */
struct rs_export_tally {
	uint64_t records;  /* written */
	uint64_t left_out; /* events that the format cannot represent */
	uint64_t lost;	   /* records, by losses that the format cannot express */
};

/* The first member of each exporter. */
struct rs_export {
	struct rs_sink sink;
	struct rs_export_tally tally;
	void (*destroy)(struct rs_export *);
};

/* The data from which a profile is made. */
enum rs_export_of {
	RS_EXPORT_EITHER, /* memory events if the trace has any, else samples, else spans */
	RS_EXPORT_MEMORY,
	RS_EXPORT_SPANS,
	RS_EXPORT_SAMPLES,
};

struct rs_profile_resolver;

/* The options of exporters of profiles. All must outlive the export. */
struct rs_export_options {
	enum rs_export_of of;
	const char *value;			    /* its name; NULL: the usual one */
	const char *title;			    /* of the profile */
	const struct rs_profile_resolver *resolver; /* of addresses; NULL: none */
};

struct rs_exporter {
	const char *name, *help;
	/* Returns whether an input has events that the format can represent. */
	bool (*suits)(const struct rs_input *input);
	/* Creates an exporter, which writes to path. Returns RS_USAGE if path already exists. The
	 * input must outlive the export. */
	struct rs_error *(*create)(const char *path, const struct rs_input *input,
				   const struct rs_export_options *options,
				   struct rs_export **export);
	bool is_profile; /* it uses the options */
};

/* Frees an exporter. NULL is ignored. */
void rs_export_destroy(struct rs_export *export);

/* Opens a file, a pipe or a device for writing. Returns RS_USAGE if the file exists and is not
 * empty. */
struct rs_error *rs_export_open(const char *path, int *fd);

/* Writes all n bytes, or returns RS_FAILED. */
struct rs_error *rs_export_write(int fd, const char *path, const void *bytes, size_t n);

/* Writes Chrome's Trace Event Format, a JSON file (chrome.c). */
bool rs_export_chrome_suits(const struct rs_input *input);
struct rs_error *rs_export_chrome(const char *path, const struct rs_input *input,
				  const struct rs_export_options *options,
				  struct rs_export **export);

/* Writes a file of xentrace (xentrace.c). */
bool rs_export_xentrace_suits(const struct rs_input *input);
struct rs_error *rs_export_xentrace(const char *path, const struct rs_input *input,
				    const struct rs_export_options *options,
				    struct rs_export **export);

/* Writes a directory of ACRN's raw files (acrn.c). */
bool rs_export_acrn_suits(const struct rs_input *input);
struct rs_error *rs_export_acrn(const char *path, const struct rs_input *input,
				const struct rs_export_options *options, struct rs_export **export);

/* Write profiles (profile.h, profile.c). */
bool rs_export_profile_suits(const struct rs_input *input);
struct rs_error *rs_export_folded(const char *path, const struct rs_input *input,
				  const struct rs_export_options *options,
				  struct rs_export **export);
struct rs_error *rs_export_flame(const char *path, const struct rs_input *input,
				 const struct rs_export_options *options,
				 struct rs_export **export);
struct rs_error *rs_export_pprof(const char *path, const struct rs_input *input,
				 const struct rs_export_options *options,
				 struct rs_export **export);
struct rs_error *rs_export_speedscope(const char *path, const struct rs_input *input,
				      const struct rs_export_options *options,
				      struct rs_export **export);
struct rs_error *rs_export_callgrind(const char *path, const struct rs_input *input,
				     const struct rs_export_options *options,
				     struct rs_export **export);

#endif
