/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records guests under VMMs without support for Ringside, from their RAM (host/guest_ram.h). A
 * thread searches for trace areas, adds each as a guest (host.h) to the recorder, whose threads
 * drain the rings, and removes a guest that has ended or restarted, or whose process has ended.
 *
 *	create -> gate open -> the recorder drains -> gate closed -> the recorder is closed
 *	-> results -> destroy
 */
#ifndef RS_LIVE_RECORD_GUESTS_H
#define RS_LIVE_RECORD_GUESTS_H

#include <ringside/recorder.h>

/* The most guests of a process or a file at the same time, and in sequence. */
#define RS_GUESTS_AT_ONCE_MAX 64u
#define RS_GUESTS_MAX	      4096u

struct rs_guests_recording;

/* Opens the memories of processes, by number, and of files, by path. */
struct rs_error *rs_guests_recording_create(const char *const *memories, uint32_t n,
					    struct rs_guests_recording **recording);
/* Call it after the recorder is closed. NULL is ignored. */
void rs_guests_recording_destroy(struct rs_guests_recording *recording);

/* Starts or stops the search for guests. After the stop, the recorder still drains the guests that
 * were found. host: the recorder's clock. */
struct rs_error *rs_guests_recording_open(struct rs_guests_recording *recording,
					  struct rs_recorder *recorder,
					  const struct rs_clock *host);
struct rs_error *rs_guests_recording_shut(struct rs_guests_recording *recording);

/* Returns whether all memories belong to processes that have ended. Any thread may call it. */
bool rs_guests_recording_has_ended(const struct rs_guests_recording *recording);

/* How the RAM of guests was found in a memory. */
enum rs_guests_found_by {
	RS_GUESTS_FILE,	    /* the memory is a file */
	RS_GUESTS_SLOTS,    /* KVM's memory slots */
	RS_GUESTS_MAPPINGS, /* the process's mappings */
};

/* The result of a memory, once the gate is closed. */
struct rs_guests_result {
	const char *memory; /* as passed by the caller */
	enum rs_guests_found_by found_by;
	const char *no_slots; /* with RS_GUESTS_MAPPINGS: why KVM's slots were not used */
	uint32_t guests;      /* all guests that were found */
	uint32_t left;	      /* of them, guests that restarted or ended */
	bool ended;	      /* the process has ended */
	const char *refused;  /* why the last refused area was refused; NULL: none was refused */
	uint64_t refused_at;  /* the refused area's place in the memory */
	bool too_many;	      /* RS_GUESTS_AT_ONCE_MAX or RS_GUESTS_MAX was reached */
	const char *error;    /* why the search ended early; NULL: it did not */
};

/* Returns the result of the i-th memory, or false if i is past the last. */
bool rs_guests_recording_result(const struct rs_guests_recording *recording, uint32_t i,
				struct rs_guests_result *result);

/* A guest that is still recorded. */
struct rs_guests_guest {
	const char *vm;
	uint64_t area;	       /* guest-physical */
	uint64_t error_cycles; /* error of its clock; RS_CLOCK_ERROR_UNKNOWN */
};
bool rs_guests_recording_guest(const struct rs_guests_recording *recording, uint32_t memory,
			       uint32_t i, struct rs_guests_guest *guest);

#endif
