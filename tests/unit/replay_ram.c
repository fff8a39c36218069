/* SPDX-License-Identifier: BSD-2-Clause */
/* Guest RAM that another process maps, too: that process cannot truncate it. */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/ram.h"

#define BYTES (UINT64_C(1) << 20)

TEST(ram_cannot_be_truncated)
{
	uint8_t *ram = NULL, byte = 17;
	int fd = -1;

	REQUIRE_OK(rs_replay_ram_make(BYTES, &fd, &ram));
	CHECK(ftruncate(fd, 0) < 0 && errno == EPERM);
	CHECK(ftruncate(fd, (off_t)BYTES - 1) < 0 && errno == EPERM);
	CHECK(ftruncate(fd, (off_t)BYTES + 1) < 0 && errno == EPERM);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	CHECK_EQ_U64(pwrite(fd, &byte, 1, BYTES - 1), 1); /* it can still be written */
	CHECK_EQ_U64(ram[BYTES - 1], 17);
	munmap(ram, BYTES);
	close(fd);
}

TEST(more_ram_than_can_be_mapped)
{
	uint8_t *ram = NULL;
	int fd = -1;

	CHECK_ERR(rs_replay_ram_make(UINT64_C(1) << 62, &fd, &ram), RS_FAILED, "guest RAM");
	CHECK(fd == -1 && !ram);
}
