/* SPDX-License-Identifier: BSD-2-Clause */
/* The modes and the group of the files that this process creates. */
#include "base/modes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	bool shared;
	mode_t file;
	gid_t group;
} modes = { .file = 0600, .group = RS_MODES_NO_GROUP };

void rs_modes_share(mode_t file, gid_t group)
{
	modes.shared = true;
	modes.file = file;
	modes.group = group;
}

mode_t rs_modes_file(void)
{
	return modes.file;
}

mode_t rs_modes_directory(void)
{
	return modes.file | 0700 | (modes.file & 0444) >> 2;
}

int rs_modes_apply(int fd, mode_t mode)
{
	if (!modes.shared)
		return 0;
	if (modes.group != RS_MODES_NO_GROUP && fchown(fd, (uid_t)-1, modes.group))
		return -1;
	return fchmod(fd, mode); /* also the bits that the umask removed */
}

int rs_modes_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CREAT | O_NOCTTY | O_CLOEXEC, modes.file), failed;
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) &&
		       (!S_ISREG(st.st_mode) || st.st_size || !rs_modes_apply(fd, modes.file))))
		return fd;
	failed = errno;
	close(fd);
	errno = failed;
	return -1;
}
