/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats of profiles. A writer writes one profile to an output. profile.c makes an exporter of
 * each writer, and has a table of all writers for the verbs that make a profile. `report --flame`
 * calls the writer of flame graphs. A new format is a file with a writer, an exporter, and a row in
 * that table.
 */
#ifndef RS_EXPORT_PROFILE_H
#define RS_EXPORT_PROFILE_H

#include "analyze/profile.h"
#include "base/out.h"

struct rs_profile_what {
	uint32_t value;	   /* the index of the profile's value, in formats with one value */
	const char *title; /* of the profile */
};

typedef struct rs_error *rs_profile_write_fn(const struct rs_profile *profile,
					     const struct rs_profile_what *what,
					     struct rs_out *out);

/* Writes a profile to a new file. */
struct rs_error *rs_profile_write_file(const char *path, const struct rs_profile *profile,
				       const struct rs_profile_what *what,
				       rs_profile_write_fn *write);

/* Lines "outer;inner VALUE", as Brendan Gregg's flamegraph.pl reads them (folded.c). */
rs_profile_write_fn rs_profile_write_folded;
/* An SVG with its own script, which zooms and searches (flame.c). */
rs_profile_write_fn rs_profile_write_flame;
/* A gzipped profile.proto, with all values (pprof.c). */
rs_profile_write_fn rs_profile_write_pprof;
/* speedscope's JSON, with a profile for each value (speedscope.c). */
rs_profile_write_fn rs_profile_write_speedscope;
/* Callgrind's format, with the costs of functions and calls by all values (callgrind.c). */
rs_profile_write_fn rs_profile_write_callgrind;

/* The formats by name, for verbs that write a profile. The last row is zeroed. */
struct rs_profile_format {
	const char *name;
	rs_profile_write_fn *write;
};
extern const struct rs_profile_format rs_profile_formats[];
/* Finds a format by name. Returns NULL if the name is unknown. */
const struct rs_profile_format *rs_profile_format_find(const char *name);

#endif
