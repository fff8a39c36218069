/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guests under VMMs that do not cooperate: the port of their rings, on a guest simulated in this
 * process, and their RAM in a file and in another process. Only one byte of a ring's head may be
 * written in guest memory, and the guest's clock is known within a bound.
 */
#include "guest_fake.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/foreign.h"
#include "host/guest.h"
#include "live/record_guests.h"

#define ROOM (64u << 10)

/* ---- the port ------------------------------------------------------------------------------- */

/* One byte, and a head between its old value and the tail. */
static bool byte_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	struct fake *f = ctx;
	uint64_t head = RINGS + offsetof(struct rs_sbuf, head);
	struct rs_sbuf *ring = ring_of(f, 0);
	uint32_t before = ring->head, size = ring->size, moved, ready;

	if (!CHECK(bytes == 1 && gpa >= head && gpa < head + 4))
		return false;
	f->memory[gpa] = *(const uint8_t *)from;
	moved = (ring->head + size - before) % size;
	ready = (ring->tail + size - before) % size;
	CHECK(moved <= ready);
	CHECK_EQ_U64(ring->head % RS_SLOT_BYTES, 0);
	return true;
}

static struct fake *foreign_create(uint32_t ring_bytes, uint64_t since)
{
	struct fake *f = fake_create("vm", ring_bytes);
	struct rs_host_options options = { .vm = "vm",
					   .memory = { f, fake_read, byte_write },
					   .clock = &f->clock,
					   .vcpus = VCPUS };

	rs_host_guest_destroy(f->host);
	CHECK_OK(rs_host_guest_create(&options, &f->host));
	rs_host_guest_set_foreign(f->host, since);
	rs_host_set_area(f->host, AREA);
	return f;
}

/* Reads the available records. Returns their number; their sectors count up from *next. */
static uint32_t read_some(struct fake *f, uint32_t vcpu, uint64_t *next)
{
	static _Alignas(64) uint8_t room[ROOM];
	struct rs_host_ring ring;
	struct rs_drained got;
	uint64_t sector;

	CHECK_OK(rs_host_ring_poll(f->host, vcpu, &ring));
	if (!CHECK(ring.drain != NULL))
		return 0;
	CHECK_EQ_U64(rs_drain_read(ring.drain, room, sizeof(room), 0, &got), RS_DRAIN_OK);
	CHECK_EQ_U64(got.bytes, (uint64_t)got.records * RS_SLOT_BYTES);
	for (uint32_t i = 0; i < got.records; i++, ++*next) {
		memcpy(&sector, room + i * RS_SLOT_BYTES + RS_RECORD_HEAD, sizeof(sector));
		CHECK_EQ_U64(sector, *next);
	}
	return got.records;
}

/* Many laps, with steps of all sizes; rings whose heads differ in their second and third byte. */
TEST(the_head_moves_by_one_byte)
{
	static const uint32_t sizes[] = { 1024, 4096, RING_BYTES };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct fake *f = foreign_create(sizes[s], 0);
		uint64_t emitted = 0, next = 0, refused = 0;

		for (uint32_t i = 0; i < 3000; i++) {
			for (uint32_t n = i % 23; n; n--) {
				if (emit(f, 0, emitted))
					emitted++;
				else
					refused++;
			}
			read_some(f, 0, &next);
			CHECK_EQ_U64(next, emitted);
		}
		CHECK(emitted > 10u * sizes[s] / RS_SLOT_BYTES);
		/* At most one step of the records read is not released. */
		CHECK(refused == 0 || sizes[s] == 1024);
		fake_destroy(f);
	}
}

TEST(a_restarted_ring_is_abandoned)
{
	struct fake *f = foreign_create(RING_BYTES, 0);
	uint64_t next = 0;

	for (uint32_t i = 0; i < 20; i++)
		CHECK(emit(f, 0, i));
	CHECK_EQ_U64(read_some(f, 0, &next), 20);
	CHECK(!rs_host_guest_has_left(f->host));
	ring_make(f, 0, RING_BYTES);
	CHECK(emit(f, 0, 0));
	CHECK_EQ_U64(read_some(f, 0, &next), 0);
	CHECK(rs_host_guest_has_left(f->host));
	CHECK_EQ_U64(ring_of(f, 0)->head, 0);
	fake_destroy(f);
}

/* The area is not read at each poll for each vCPU without a ring, but only when it has changed. */
TEST(a_later_ring_is_found_when_the_area_has_changed)
{
	struct fake *f = foreign_create(RING_BYTES, 0);
	struct rs_guest_area *area = area_of(f);
	struct rs_guest_ring ring = area->ring[0];
	struct rs_host_ring found;
	uint64_t next = 0;

	area->ring[0] = (struct rs_guest_ring){ 0 };
	CHECK_OK(rs_host_ring_poll(f->host, 0, &found));
	CHECK(!found.drain);
	area->ring[0] = ring;
	CHECK_OK(rs_host_ring_poll(f->host, 0, &found));
	CHECK(!found.drain);
	rs_host_guest_search(f->host);
	CHECK(emit(f, 0, 0));
	CHECK_EQ_U64(read_some(f, 0, &next), 1);
	fake_destroy(f);
}

/* Memory behind the tail disappears: the announced records are counted. */
TEST(memory_that_disappears_is_counted)
{
	static _Alignas(64) uint8_t room[ROOM];
	struct fake *f = foreign_create(RING_BYTES, 0);
	struct rs_host_ring ring;
	struct rs_drained got;

	for (uint32_t i = 0; i < 8; i++)
		CHECK(emit(f, 0, i));
	CHECK_OK(rs_host_ring_poll(f->host, 0, &ring));
	f->visible = RINGS + sizeof(struct rs_sbuf) + 2 * RS_SLOT_BYTES;
	CHECK_EQ_U64(rs_drain_read(ring.drain, room, sizeof(room), 0, &got), RS_DRAIN_OK);
	CHECK_EQ_U64(got.records, 0);
	CHECK(rs_host_guest_has_left(f->host));
	rs_drain_end(ring.drain, room, sizeof(room), rs_tsc(), &got);
	CHECK_EQ_U64(got.lost, 8);
	fake_destroy(f);
}

/* ---- the clock ------------------------------------------------------------------------------ */

TEST(the_offset_is_within_its_bound)
{
	static const int64_t offsets[] = { 0, -1000000000000, INT64_C(1) << 50 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct fake *f = foreign_create(RING_BYTES, rs_tsc());
		struct rs_clock clock;
		uint64_t next = 0, error = UINT64_MAX;

		rs_host_guest_clock(f->host, &f->clock, &clock);
		CHECK_EQ_U64(clock.error_cycles, RS_CLOCK_ERROR_UNKNOWN);
		f->offset[0] = offsets[i];
		for (uint32_t n = 0; n < 50; n++) {
			CHECK(emit(f, 0, n));
			read_some(f, 0, &next);
			rs_host_guest_clock(f->host, &f->clock, &clock);
			CHECK((uint64_t)llabs(clock.offset - offsets[i]) <= clock.error_cycles);
			CHECK(clock.error_cycles <= error);
			error = clock.error_cycles;
		}
		CHECK_EQ_U64(next, 50);
		fake_destroy(f);
	}
}

/* Puts a record and reads it. Its stamp may be later than the present, which is corrected. */
static void step(struct fake *f)
{
	static _Alignas(64) uint8_t room[ROOM];
	struct rs_host_ring ring;
	struct rs_drained got;

	CHECK(emit(f, 0, 50));
	CHECK_OK(rs_host_ring_poll(f->host, 0, &ring));
	CHECK_EQ_U64(rs_drain_read(ring.drain, room, sizeof(room), 0, &got), RS_DRAIN_OK);
	CHECK_EQ_U64(got.records, 1);
}

/* Puts and reads records until the error of the clock is at most this. */
static void narrow(struct fake *f, uint64_t error, struct rs_clock *clock)
{
	do {
		step(f);
		rs_host_guest_clock(f->host, &f->clock, clock);
	} while (clock->error_cycles > error);
}

static bool covers(const struct rs_clock *clock, int64_t offset)
{
	return (uint64_t)llabs(clock->offset - offset) <= clock->error_cycles;
}

/* The TSC of QEMU's TCG moves ahead of the host's a little: the bound covers all its offsets, once
 * these are less than 1 % of the time apart. */
TEST(a_clock_that_moves_a_little_has_a_wider_bound)
{
	static const int64_t steps[] = { 1000000, -1500000, 2000000 };
	struct fake *f = foreign_create(RING_BYTES, rs_tsc());
	int64_t least = 0, most = 0;
	struct rs_clock clock;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		narrow(f, (uint64_t)(most - least) / 2 + 100000, &clock);
		f->offset[0] += steps[i];
		least = f->offset[0] < least ? f->offset[0] : least;
		most = f->offset[0] > most ? f->offset[0] : most;
		do
			narrow(f, RS_CLOCK_ERROR_UNKNOWN - 1, &clock);
		while (!covers(&clock, least) || !covers(&clock, most));
		CHECK(clock.error_cycles >= (uint64_t)(most - least) / 2);
	}
	fake_destroy(f);
}

/* A TSC that does not equal the host's plus an offset, because the guest writes it. */
TEST(a_clock_that_changes_is_unknown)
{
	struct fake *f = foreign_create(RING_BYTES, rs_tsc());
	struct rs_clock clock;
	uint64_t next = 0;

	for (uint32_t n = 0; n < 50; n++) {
		if (n == 25)
			f->offset[0] = INT64_C(1) << 45;
		CHECK(emit(f, 0, n));
		rs_host_guest_clock(f->host, &f->clock, &clock);
		/* Stamps later than the present are corrected, and their records kept. */
		if (n < 25)
			read_some(f, 0, &next);
		else
			CHECK_OK(rs_host_ring_poll(f->host, 0, &(struct rs_host_ring){ 0 }));
	}
	for (int i = 0; i < 3; i++) {
		static _Alignas(64) uint8_t room[ROOM];
		struct rs_host_ring ring;
		struct rs_drained got;

		CHECK_OK(rs_host_ring_poll(f->host, 0, &ring));
		rs_drain_read(ring.drain, room, sizeof(room), 0, &got);
		CHECK(emit(f, 0, 50));
	}
	rs_host_guest_clock(f->host, &f->clock, &clock);
	CHECK_EQ_U64(clock.error_cycles, RS_CLOCK_ERROR_UNKNOWN);
	fake_destroy(f);
}

/* ---- RAM in a file and in a process --------------------------------------------------------- */

#define RAM_BYTES (2u << 20)

/* Puts a guest into RAM, at address 0, with n records on each vCPU. */
static void ram_fill(uint8_t *ram, uint32_t n)
{
	struct fake *f = fake_create("vm", RING_BYTES);

	area_of(f)->self = AREA;
	for (uint32_t i = 0; i < n; i++) {
		emit(f, 0, i);
		emit(f, 1, i);
	}
	memcpy(ram, f->memory, sizeof(f->memory));
	fake_destroy(f);
}

/* Records for a moment. Returns the summary, and the result of the memory. */
static void record(const char *memory, uint64_t until, struct rs_recorder_summary *sum,
		   struct rs_guests_result *result, bool fails)
{
	struct rs_recorder_options options = { .keep_bytes = 1u << 20 };
	struct rs_guests_recording *recording;
	struct rs_recorder *recorder;
	struct rs_error *err;

	CHECK_OK(rs_clock_host(&options.clock));
	CHECK_OK(rs_recorder_create(&options, &recorder));
	CHECK_OK(rs_guests_recording_create(&memory, 1, &recording));
	CHECK_OK(rs_guests_recording_open(recording, recorder, &options.clock));
	for (int i = 0; i < 2000; i++) {
		rs_recorder_progress(recorder, sum);
		if (until && sum->records >= until)
			break;
		if (!until && i == 50)
			break;
		usleep(1000);
	}
	CHECK_OK(rs_guests_recording_shut(recording));
	err = rs_recorder_close(recorder, sum);
	CHECK_EQ_U64(err != NULL, fails);
	rs_error_free(err);
	CHECK(rs_guests_recording_result(recording, 0, result));
	result->memory = NULL; /* freed with the recording */
	rs_guests_recording_destroy(recording);
}

static uint8_t *file_create(char path[64])
{
	uint8_t *ram;
	int fd;

	snprintf(path, 64, "/tmp/ringside-unit-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0 && !ftruncate(fd, RAM_BYTES));
	ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	CHECK(ram != MAP_FAILED);
	return ram;
}

/* All bytes except those of the rings' heads are unchanged. */
static void check_unchanged(uint8_t *ram, uint8_t *before)
{
	for (uint32_t i = 0; i < VCPUS; i++) {
		uint64_t head = RINGS + i * RING_STRIDE + offsetof(struct rs_sbuf, head);

		memset(ram + head, 0, 4);
		memset(before + head, 0, 4);
	}
	CHECK(!memcmp(ram, before, RAM_BYTES));
}

TEST(a_file)
{
	static uint8_t before[RAM_BYTES];
	struct rs_guests_result result;
	struct rs_recorder_summary sum;
	char path[64];
	uint8_t *ram = file_create(path);

	ram_fill(ram, 101);
	memcpy(before, ram, RAM_BYTES);
	record(path, 202, &sum, &result, false);
	CHECK_EQ_U64(sum.records, 202);
	CHECK_EQ_U64(sum.lost, 0);
	CHECK_EQ_U64(result.guests, 1);
	check_unchanged(ram, before);
	unlink(path);
	munmap(ram, RAM_BYTES);
}

/* Invalid areas: they are not used, or the guest's trace is damaged, and only heads are written. */
TEST(hostile_areas)
{
	static const struct {
		size_t offset;
		uint64_t value;
		const char *refused; /* NULL: it is a guest, whose rings cannot be read */
	} cases[] = {
		{ offsetof(struct rs_guest_area, self), 0, "does not state" },
		{ offsetof(struct rs_guest_area, self), AREA + 8, "invalid" },
		{ offsetof(struct rs_guest_area, self), UINT64_MAX - 4095, "invalid" },
		{ offsetof(struct rs_guest_area, self), 0x10000000000, "sites are not in RAM" },
		{ offsetof(struct rs_guest_area, version), 2 | UINT64_C(4160) << 32, "version" },
		{ offsetof(struct rs_guest_area, sites), UINT64_MAX - 8, "sites are not in RAM" },
		{ offsetof(struct rs_guest_area, sites), SITES + 8, "not numbered" },
		{ offsetof(struct rs_guest_area, flags), UINT64_MAX, "too many" },
		{ offsetof(struct rs_guest_area, ring), UINT64_MAX - 8, NULL },
		{ offsetof(struct rs_guest_area, ring), RAM_BYTES - 32, NULL },
		{ offsetof(struct rs_guest_area, ring), UINT64_C(5) << 30, NULL },
		{ offsetof(struct rs_guest_area, ring) + 8, 128, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static uint8_t before[RAM_BYTES];
		struct rs_guests_result result;
		struct rs_recorder_summary sum;
		char path[64];
		uint8_t *ram = file_create(path);

		ram_fill(ram, 101);
		memcpy(ram + AREA + cases[i].offset, &cases[i].value, 8);
		memcpy(before, ram, RAM_BYTES);
		record(path, 0, &sum, &result, !cases[i].refused);
		if (cases[i].refused)
			CHECK(result.refused && strstr(result.refused, cases[i].refused));
		CHECK_EQ_U64(result.guests, cases[i].refused ? 0 : 1);
		CHECK_EQ_U64(sum.records, cases[i].refused ? 0 : 101);
		check_unchanged(ram, before);
		unlink(path);
		munmap(ram, RAM_BYTES);
	}
}

/* Two guests in one process, each in a separate mapping, between unmapped pages. */
TEST(two_guests_in_a_process)
{
	struct rs_guests_result result;
	struct rs_recorder_summary sum;
	int ready[2], done[2], status;
	char text[16], byte;
	pid_t child;

	CHECK(!pipe(ready) && !pipe(done));
	child = fork();
	if (!child) {
		uint8_t *all =
			mmap(NULL, 4 * RAM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (uint32_t i = 0; i < 2; i++) {
			uint8_t *ram = all + (2 * i + 1) * RAM_BYTES;

			mprotect(ram, RAM_BYTES, PROT_READ | PROT_WRITE);
			ram_fill(ram, 101 + 2 * i);
		}
		if (write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	CHECK_EQ_S64(read(ready[0], &byte, 1), 1);
	snprintf(text, sizeof(text), "%d", child);
	record(text, 408, &sum, &result, false);
	CHECK_EQ_U64(sum.records, 2 * 101 + 2 * 103);
	CHECK_EQ_U64(result.guests, 2);
	CHECK_EQ_U64(result.left, 0);
	CHECK_EQ_S64(write(done[1], "x", 1), 1);
	CHECK_EQ_S64(waitpid(child, &status, 0), child);
	CHECK_EQ_S64(status, 0);
}
