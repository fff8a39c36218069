/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats of profiles. A writer writes one profile to an output; the table in profile.c makes an
 * exporter of each, and `report --flame` calls the one for flame graphs. A new format is a file
 * with a writer, and a row there.
 */
#ifndef RS_EXPORT_PROFILE_H
#define RS_EXPORT_PROFILE_H

#include "analyze/profile.h"
#include "base/out.h"

struct rs_profile_what {
	uint32_t value;	   /* which of the profile's values, in formats that hold one */
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

#endif
