/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile: call paths with values, which exporters write and reports print. An analysis makes the
 * profile once it has all its results.
 *
 *	rs_profile_init(&profile, values, n_values);
 *	rs_profile_frame(&profile, &frame, &index);	// each frame of a path, outermost first
 *	rs_profile_add(&profile, indexes, n, amounts);	// equal paths are added up
 *
 * Memory grows with the number of different frames and paths.
 */
#ifndef RS_ANALYZE_PROFILE_H
#define RS_ANALYZE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include <ringside/error.h>

struct rs_schema;

#define RS_PROFILE_VALUES_MAX  6u
#define RS_PROFILE_DEPTH_MAX   256u /* of a path; further outer frames are left out */
#define RS_PROFILE_INLINED_MAX 16u  /* frames at one address */

struct rs_profile_value {
	const char *name, *unit; /* as in pprof: "inuse_space", "bytes" */
};

/* A place in a program. rs_profile_frame() copies the strings. */
struct rs_profile_frame {
	const char *function; /* or a span's name, or an address in hex */
	const char *file;     /* NULL: unknown */
	const char *module;   /* the program's file; NULL: unknown */
	uint64_t address;     /* 0: unknown */
	uint32_t line;	      /* 0: unknown */
	bool inlined;	      /* it is inlined into the next outer frame */
	bool by_fp;	      /* found by frame pointers, so that it may be wrong */
};

struct rs_profile_path {
	const uint32_t *frames; /* outermost first */
	uint64_t *amounts;	/* one for each value */
	uint32_t n;
};

struct rs_profile {
	const struct rs_profile_value *values;
	uint32_t n_values;
	struct rs_profile_frame **frames;
	uint32_t n_frames, frames_room;
	struct rs_profile_path **paths; /* in the order in which they were added */
	uint32_t n_paths, paths_room;
	int64_t start_ns, duration_ns;
	struct rs_map frame_map, path_map;
	struct rs_arena arena;
};

/*
 * Finds the functions at address i of a producer's stack. The stack's first address is exact; the
 * others are return addresses. Returns the number of frames, at most max, or 0 if the address is
 * unknown. The innermost frame comes first; each is inlined into the next. The strings are valid
 * until the next call.
 */
struct rs_profile_resolver {
	void *ctx;
	uint32_t (*resolve)(void *ctx, const struct rs_schema *schema, const uint64_t *addresses,
			    uint32_t i, struct rs_profile_frame *frames, uint32_t max);
};

/* Initializes a profile. `values` must outlive the profile. */
void rs_profile_init(struct rs_profile *profile, const struct rs_profile_value *values,
		     uint32_t n_values);
void rs_profile_deinit(struct rs_profile *profile);

struct rs_error *rs_profile_frame(struct rs_profile *profile, const struct rs_profile_frame *frame,
				  uint32_t *index);
struct rs_error *rs_profile_add(struct rs_profile *profile, const uint32_t *frames, uint32_t n,
				const uint64_t *amounts);

/* Makes the path of a call stack. The stack has its innermost address first; `frames`, which has
 * room for RS_PROFILE_DEPTH_MAX, gets the outermost frame first. An address that the resolver does
 * not find becomes a frame with the address as its name. A stack without addresses becomes "[no
 * stack]". */
struct rs_error *rs_profile_stack(struct rs_profile *profile,
				  const struct rs_profile_resolver *resolver,
				  const struct rs_schema *schema, const uint64_t *addresses,
				  uint32_t n, uint64_t by_fp, uint32_t *frames, uint32_t *n_frames);

/* A path that begins with its task and continues with the frames of a stack, outermost first. */
struct rs_profile_path_made {
	uint32_t frames[RS_PROFILE_DEPTH_MAX];
	uint32_t n;
	bool is_cut; /* frames were left out */
};

/* Appends a frame. Beyond RS_PROFILE_DEPTH_MAX, leaves out the outermost frames of the stack: the
 * frame `cut` stands for them. */
struct rs_error *rs_profile_put(struct rs_profile *profile, const struct rs_profile_frame *frame,
				const char *cut, struct rs_profile_path_made *path);

/* Sorts the paths by an amount, the greatest first. */
void rs_profile_sort(struct rs_profile *profile, uint32_t value);

#endif
