/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for rings, and the table of rings by purpose. */
#include "shared_kit.h"

#include <ringside/record.h>
#include <ringside/ring.h>

#include <sys/stat.h>
#include <sys/wait.h>

#define BYTES (64u + 100 * 32)

static char folder[] = "/tmp/ringside-ring-XXXXXX";
static char path[sizeof(folder) + 16];

__attribute__((constructor)) static void make_folder(void)
{
	if (mkdtemp(folder))
		snprintf(path, sizeof(path), "%s/ring", folder);
}

__attribute__((destructor)) static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

/* A child attaches and puts; the parent reads. */
static void put_from_child(const struct rs_ring_memory *memory, const char *reopen)
{
	struct rs_ring_memory childs = *memory;
	struct rs_sbuf_producer p = { 0 };
	struct rs_sbuf_consumer c;
	struct rs_slot slot = { .tsc = 7, .head = rs_record_head(0x77, 1) };
	const uint8_t *run = NULL;
	uint32_t bytes = 0;
	int status = -1;
	pid_t pid;

	REQUIRE_EQ_U64(rs_sbuf_create(memory->mem, memory->bytes, 32), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_attach(&c, memory->mem, memory->bytes), RS_SBUF_OK);
	pid = fork();
	if (!pid) {
		if (reopen && rs_ring_map_existing(reopen, 0, &childs))
			_exit(1);
		_exit(rs_sbuf_producer_init(&p, childs.mem, childs.bytes) != RS_SBUF_OK ||
		      !rs_sbuf_put(&p, &slot, 32));
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_EQ_U64(rs_sbuf_peek(&c, &run, &bytes), RS_SBUF_OK);
	REQUIRE_EQ_U64(bytes, 32);
	CHECK_MEM(run, &slot, 32);
}

TEST(anonymous_memory)
{
	struct rs_ring_memory memory;

	REQUIRE_OK(rs_ring_map_anonymous(BYTES, &memory));
	CHECK_EQ_U64(memory.bytes, BYTES);
	CHECK(memory.fd == -1 && !memory.path);
	put_from_child(&memory, NULL);
	rs_ring_unmap(&memory);
	CHECK(!memory.mem);
	rs_ring_unmap(&memory);
	CHECK_ERR(rs_ring_map_anonymous(0, &memory), RS_FAILED, "0 bytes");
}

TEST(a_new_file)
{
	struct rs_ring_memory memory, again;
	struct stat st;

	REQUIRE_OK(rs_ring_map_create(path, BYTES, &memory));
	CHECK(stat(path, &st) == 0 && st.st_size == BYTES && (st.st_mode & 0777) == 0600);
	CHECK_ERR(rs_ring_map_create(path, BYTES, &again), RS_FAILED, "File exists");
	put_from_child(&memory, path);
	rs_ring_unmap(&memory);
	CHECK(stat(path, &st) < 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &again), RS_FAILED, "No such file");
	CHECK_ERR(rs_ring_map_create(path, 0, &again), RS_USAGE, "more than 0");
	CHECK_ERR(rs_ring_map_create("/nowhere/at/all", BYTES, &again), RS_FAILED, "cannot create");
}

/* More than any disk holds: an error, and no file is left. */
TEST(a_disk_without_room)
{
	struct rs_ring_memory memory;

	CHECK_ERR(rs_ring_map_create(path, SIZE_MAX / 4, &memory), RS_FAILED, "cannot allocate");
	CHECK(access(path, F_OK) < 0);
}

/* "shm:NAME" is a file in a directory that only this user can enter. */
TEST(a_name_in_the_shared_directory)
{
	struct rs_ring_memory memory, again;
	char name[64], file[RS_SHARED_FOLDER_MAX + 64], in[RS_SHARED_FOLDER_MAX];
	bool own = shared_folders_own();
	struct stat st;

	rs_shared_folder(in);
	snprintf(name, sizeof(name), "shm:ringside-test-%d", (int)getpid());
	snprintf(file, sizeof(file), "%s/ringside-test-%d", in, (int)getpid());
	REQUIRE_OK(rs_ring_map_create(name, BYTES, &memory));
	CHECK(stat(file, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_uid == geteuid());
	CHECK(stat(in, &st) == 0 && (st.st_mode & 07777) == 0700 && st.st_uid == geteuid());
	put_from_child(&memory, name);
	rs_ring_unmap(&memory);
	CHECK(access(file, F_OK) < 0);
	CHECK(!own || !rmdir(in));
	CHECK_ERR(rs_ring_map_existing(name, 0, &again), RS_FAILED, "No such file");
	CHECK_ERR(rs_ring_map_create("shm:", BYTES, &again), RS_USAGE,
		  "expected the name of a file in /");
	CHECK_ERR(rs_ring_map_create("shm:..", BYTES, &again), RS_USAGE,
		  "expected the name of a file in /");
	CHECK_ERR(rs_ring_map_create("shm:../tmp/x", BYTES, &again), RS_USAGE,
		  "expected the name of a file in /");
}

static void make_file(off_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	REQUIRE(fd >= 0);
	CHECK(ftruncate(fd, bytes) == 0);
	close(fd);
}

/* Files that another user could truncate while they are mapped. */
TEST(a_file_that_others_can_write)
{
	struct rs_ring_memory memory;
	char other[sizeof(path) + 8];

	make_file(BYTES);
	snprintf(other, sizeof(other), "%s.other", path);
	CHECK(chmod(path, 0620) == 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_FAILED, "has mode 0620: others than");
	CHECK(chmod(path, 0602) == 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_FAILED, "chmod go-w");
	CHECK(chmod(path, 0600) == 0);
	CHECK(symlink(path, other) == 0);
	CHECK_ERR(rs_ring_map_existing(other, 0, &memory), RS_FAILED, "is a symbolic link");
	CHECK_ERR(rs_ring_map_create(other, BYTES, &memory), RS_FAILED, "File exists");
	unlink(other);
	CHECK(link(path, other) == 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_FAILED, "has other names");
	unlink(other);
	if (!geteuid()) {
		CHECK(chown(path, 65534, 65534) == 0);
		CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_FAILED,
			  "belongs to user 65534 (mode 0600)");
	}
	unlink(path);
	CHECK(mkfifo(path, 0600) == 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_USAGE, "not a regular file");
	unlink(path);
}

/* A sparse file is refused before it is mapped or scanned. */
TEST(a_file_that_is_too_long)
{
	struct rs_ring_memory memory;

	make_file((off_t)50 << 30);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_USAGE, "53687091200 bytes");
	unlink(path);
}

TEST(a_file_that_exists)
{
	struct rs_ring_memory memory;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	REQUIRE(fd >= 0);
	CHECK_ERR(rs_ring_map_existing(path, 0, &memory), RS_USAGE, "has 0 bytes");
	REQUIRE(ftruncate(fd, BYTES) == 0);
	CHECK_ERR(rs_ring_map_existing(path, BYTES + 1, &memory), RS_USAGE, "are needed");
	REQUIRE_OK(rs_ring_map_existing(path, 0, &memory));
	CHECK_EQ_U64(memory.bytes, BYTES);
	CHECK(!memory.path);
	put_from_child(&memory, path);
	rs_ring_unmap(&memory);
	CHECK(access(path, F_OK) == 0);
	close(fd);
	unlink(path);
	CHECK_ERR(rs_ring_map_existing("/dev/zero", 0, &memory), RS_USAGE, "the number of bytes");
	CHECK_ERR(rs_ring_map_existing(folder, 0, &memory), RS_FAILED, "cannot open");
}

/* ---- the table ------------------------------------------------------------------------------- */

TEST(purposes)
{
	/* ACRN's numbers and element sizes. */
	static const struct rs_ring_purpose expected[] = {
		{ 0, "trace", 32, true },    { 1, "log", 80, true },
		{ 2, "sep", 32, true },	     { 3, "socwatch", 32, true },
		{ 64, "asyncio", 8, false }, { 65, "vm-event", 32, false },
	};
	uint32_t found = 0;

	for (uint32_t id = 0; id < 1000; id++) {
		const struct rs_ring_purpose *purpose = rs_ring_purpose(id);

		if (!purpose)
			continue;
		REQUIRE(found < sizeof(expected) / sizeof(expected[0]));
		CHECK_EQ_U64(purpose->id, expected[found].id);
		CHECK_STR(purpose->name, expected[found].name);
		CHECK_EQ_U64(purpose->ele_size, expected[found].ele_size);
		CHECK(purpose->per_cpu == expected[found++].per_cpu);
	}
	CHECK_EQ_U64(found, sizeof(expected) / sizeof(expected[0]));
	CHECK(!rs_ring_purpose(UINT32_MAX));
}

TEST(a_table_of_rings)
{
	struct rs_ring_table *table = NULL;
	struct rs_sbuf slots = { .ele_size = 32 }, lines = { .ele_size = 80 };

	CHECK_ERR(rs_ring_table_create(0, &table), RS_USAGE, "0 CPUs");
	CHECK_ERR(rs_ring_table_create(UINT32_MAX, &table), RS_USAGE, "CPUs");
	REQUIRE_OK(rs_ring_table_create(3, &table));
	CHECK(!rs_ring_table_get(table, RS_PURPOSE_TRACE, 0));
	CHECK_OK(rs_ring_table_set(table, RS_PURPOSE_TRACE, 2, &slots));
	CHECK_OK(rs_ring_table_set(table, RS_PURPOSE_LOG, 0, &lines));
	CHECK(rs_ring_table_get(table, RS_PURPOSE_TRACE, 2) == &slots);
	CHECK(rs_ring_table_get(table, RS_PURPOSE_LOG, 0) == &lines);
	CHECK(!rs_ring_table_get(table, RS_PURPOSE_LOG, 2));
	CHECK(!rs_ring_table_get(table, RS_PURPOSE_TRACE, 3));
	CHECK(!rs_ring_table_get(table, 4, 0));
	CHECK_ERR(rs_ring_table_set(table, RS_PURPOSE_TRACE, 3, &slots), RS_USAGE, "CPU 3");
	CHECK_ERR(rs_ring_table_set(table, 4, 0, &slots), RS_USAGE, "purpose 4");
	CHECK_ERR(rs_ring_table_set(table, RS_PURPOSE_LOG, 0, &slots), RS_USAGE, "80 bytes");
	CHECK(rs_ring_table_get(table, RS_PURPOSE_LOG, 0) == &lines);
	CHECK_OK(rs_ring_table_set(table, RS_PURPOSE_LOG, 0, NULL));
	CHECK(!rs_ring_table_get(table, RS_PURPOSE_LOG, 0));
	rs_ring_table_destroy(table);
}
