/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the sealed memory file that holds a guest's RAM. */
#include "replay/ram.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOLE	 UINT64_C(0xa0000) /* hole for devices, up to: */
#define HOLE_END UINT64_C(0xc0000)

static struct rs_error *seal_and_map(int fd, uint64_t bytes, uint8_t **ram)
{
	void *mem;

	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return rs_error_errno(errno, "%llu MiB of guest RAM",
				      (unsigned long long)(bytes >> 20));
	mem = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return rs_error_errno(errno, "mapping guest RAM");
	*ram = mem;
	return NULL;
}

struct rs_error *rs_replay_ram_make(uint64_t bytes, int *fd, uint8_t **ram)
{
	int made = memfd_create("guest RAM", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct rs_error *err;

	if (made < 0)
		return rs_error_errno(errno, "a file in memory for guest RAM");
	err = seal_and_map(made, bytes, ram);
	if (err)
		close(made);
	else
		*fd = made;
	return err;
}

void rs_replay_ram_set(struct rs_memory *m, const uint8_t *ram, uint64_t bytes)
{
	m->n_ram = 0;
	m->ram[m->n_ram++] = (struct rs_ram){ 0, bytes < HOLE ? bytes : HOLE, ram };
	if (bytes > HOLE_END)
		m->ram[m->n_ram++] = (struct rs_ram){ HOLE_END, bytes - HOLE_END, ram + HOLE_END };
}
