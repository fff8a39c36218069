/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of rings of programs that recorded themselves (ring_file.h): those that wait for
 * 'ringside repair', and those of programs that run. One thread.
 */
#ifndef RS_STORE_WAITING_H
#define RS_STORE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ringside/error.h>

struct rs_trace;

struct rs_waiting {
	char *path;
	char *trace; /* the directory of the trace when it was made; NULL: not known */
	char uuid[37];
	uid_t user;	/* the file's owner */
	uint32_t pid;	/* in the program's own namespace; 0: not known */
	uint64_t bytes; /* of memory */
	uint32_t rings;
	uint64_t records; /* in the rings, and in no finished packet of the trace */
	bool valid;	  /* if not, only the path, the user and the bytes are known */
	bool runs;	  /* the program, or a child that it forked, has the file */
};

/* Lists the files of a user; for root, those of all users. The caller frees the list. */
struct rs_error *rs_waiting_list(uid_t user, struct rs_waiting **list, size_t *n);
void rs_waiting_free(struct rs_waiting *list, size_t n);

/*
 * Finds the file of a trace that is not being recorded, among those of this user, who can repair
 * the trace. Returns false unless it is certain that rings wait. The caller calls
 * rs_waiting_deinit().
 */
bool rs_waiting_find(const struct rs_trace *trace, uid_t user, struct rs_waiting *waiting);

void rs_waiting_deinit(struct rs_waiting *waiting);

#endif
