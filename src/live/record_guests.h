/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records guests under VMMs that take no part, from their RAM (live/guest_ram.h): a thread looks
 * for trace areas, adds each as a guest (host.h) to the recorder, whose threads drain the rings,
 * and removes a guest that ended, began anew or whose process is gone.
 *
 *	create -> gate open -> the recorder drains -> gate shut -> the recorder is closed -> results
 *	-> destroy
 */
#ifndef RS_LIVE_RECORD_GUESTS_H
#define RS_LIVE_RECORD_GUESTS_H

#include <ringside/recorder.h>

/* The most guests that a process or a file has at once, and in sequence. */
#define RS_GUESTS_AT_ONCE_MAX 64u
#define RS_GUESTS_MAX	      4096u

struct rs_guests_recording;

/* Opens the memories: numbers of processes, and paths of files. */
struct rs_error *rs_guests_recording_create(const char *const *memories, uint32_t n,
					    struct rs_guests_recording **recording);
/* Call it after the recorder is closed. NULL is ignored. */
void rs_guests_recording_destroy(struct rs_guests_recording *recording);

/* Starts looking for guests, or stops; the recorder still drains those that were found. host: the
 * recorder's clock. */
struct rs_error *rs_guests_recording_open(struct rs_guests_recording *recording,
					  struct rs_recorder *recorder,
					  const struct rs_clock *host);
struct rs_error *rs_guests_recording_shut(struct rs_guests_recording *recording);

/* Returns whether each memory is that of a process that has ended. Any thread. */
bool rs_guests_recording_has_ended(const struct rs_guests_recording *recording);

/* The result of a memory, once the gate is shut. */
struct rs_guests_result {
	const char *memory;  /* as it was given */
	uint32_t guests;     /* found, in all */
	uint32_t left;	     /* of them, those that began anew or ended */
	bool ended;	     /* the process has ended */
	const char *refused; /* why the last area that was refused is not one; NULL: none was */
	uint64_t refused_at; /* where it is in the memory */
	bool too_many;	     /* RS_GUESTS_AT_ONCE_MAX or RS_GUESTS_MAX was reached */
	const char *error;   /* why nothing more was looked for; NULL: it was */
};

/* Returns the result of the i-th memory, or false if i is past the last. */
bool rs_guests_recording_result(const struct rs_guests_recording *recording, uint32_t i,
				struct rs_guests_result *result);

/* A guest of a memory that is recorded still. */
struct rs_guests_guest {
	const char *vm;
	uint64_t area;	       /* guest-physical */
	uint64_t error_cycles; /* of its clock; RS_CLOCK_ERROR_UNKNOWN */
};
bool rs_guests_recording_guest(const struct rs_guests_recording *recording, uint32_t memory,
			       uint32_t i, struct rs_guests_guest *guest);

#endif
