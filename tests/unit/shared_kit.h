/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tests of the files of ring/shared.h, whose directory other programs use, too. */
#ifndef RS_TESTS_UNIT_SHARED_KIT_H
#define RS_TESTS_UNIT_SHARED_KIT_H

#include "../test.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ring/shared.h"
#include "ring/survive.h"

/* Gives root a /run and a /dev/shm of its own, and returns whether it did. */
static inline bool shared_folders_own(void)
{
	return !geteuid() && !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", "/run", "tmpfs", 0, NULL) &&
	       !mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
}

/* Returns how many files of rings a process made, and the path of the last. */
static inline uint64_t shared_rings(pid_t pid, char path[PATH_MAX])
{
	glob_t found = { 0 };
	uint64_t n = 0;

	CHECK_OK(rs_shared_find("rings-*", &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct rs_survive_head head;
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
		    head.pid == (uint32_t)pid) {
			n++;
			snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
		}
		close(fd);
	}
	globfree(&found);
	return n;
}

#endif
