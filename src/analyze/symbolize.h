/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the functions at the addresses in a trace, through the binaries that the trace or the
 * caller names. A guest's addresses are looked up in binaries of the guest, a host program's in
 * those of the program.
 */
#ifndef RS_ANALYZE_SYMBOLIZE_H
#define RS_ANALYZE_SYMBOLIZE_H

#include "analyze/profile.h"
#include "input/open.h"

struct rs_symbolizer;

struct rs_symbolizer_options {
	/* Guests' binaries, which are used instead of those that the trace names: PATH or
	 * PATH@0xLOAD, where LOAD is added to the addresses of the file. */
	const char *const *binaries;
	uint32_t n_binaries;
	const char *symfs; /* a folder in which files are searched as in /; NULL: / */
};

/* Creates a symbolizer. The input must outlive it. Returns RS_USAGE if a binary that the caller
 * names is not the one that the trace names; the message has both ids. */
struct rs_error *rs_symbolizer_create(const struct rs_input *input,
				      const struct rs_symbolizer_options *options,
				      struct rs_symbolizer **symbolizer);
void rs_symbolizer_destroy(struct rs_symbolizer *symbolizer); /* NULL is ignored */

/* Reports the binaries that the trace names and that cannot be used, if a lookup failed that they
 * might have resolved. */
void rs_symbolizer_remarks(const struct rs_symbolizer *symbolizer,
			   void (*report)(void *ctx, const char *text), void *ctx);

/* Returns a resolver for profiles, which is valid as long as the symbolizer. */
struct rs_profile_resolver rs_symbolizer_resolver(struct rs_symbolizer *symbolizer);

#endif
