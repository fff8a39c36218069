/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RAM of guests by a VM's memory slots: this process stands for the VMM, and its slots are set
 * by hand. The pieces of RAM are in another order than their addresses.
 */
#include "../test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "host/guest_ram.h"

#define PAGE  4096u
#define VM    77u
#define FIRST UINT64_C(0x7654321000) /* of RAM */
#define AREA  (FIRST + PAGE)	     /* in the second page of the first slot */
#define MIB   (1u << 20)
#define BYTES (4 * MIB)

/*
 *	memory | spare | slot 2 | slot 0 | slot 1 | rom |	2 pages each; rom: 1
 */
static uint8_t *memory;
static struct rs_guest_part parts[4];
static struct rs_guest_ram ram;
static struct {
	uint32_t n;
	struct rs_guest_place last;
} found;

static void on_found(void *ctx, const struct rs_guest_place *place)
{
	(void)ctx;
	if (place->at < (uintptr_t)memory || place->at >= (uintptr_t)memory + BYTES)
		return;
	found.n++;
	found.last = *place;
}

static void area_at(uint8_t *at, uint64_t self)
{
	*(struct rs_guest_area *)(void *)at = (struct rs_guest_area){
		.magic = RS_GUEST_AREA_MAGIC, .version = RS_GUEST_AREA_VERSION, .self = self
	};
}

static void begin(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	parts[0] = (struct rs_guest_part){ FIRST, 2 * PAGE, (uintptr_t)memory + 4 * PAGE, false };
	parts[1] = (struct rs_guest_part){ FIRST + 2 * PAGE, 2 * PAGE, (uintptr_t)memory + 6 * PAGE,
					   false };
	parts[2] = (struct rs_guest_part){ FIRST + 4 * PAGE, 2 * PAGE, (uintptr_t)memory + 2 * PAGE,
					   false };
	parts[3] = (struct rs_guest_part){ 0, PAGE, (uintptr_t)memory + 8 * PAGE, true };
	found.n = 0;
	REQUIRE_OK(rs_guest_ram_open(pid, &ram));
}

static void set_slots(uint32_t n)
{
	/* In another order, as KVM's hash has them. */
	struct rs_guest_part mixed[] = { parts[2], parts[3], parts[0], parts[1] };

	REQUIRE_OK(rs_guest_ram_set_vms(&ram, &(struct rs_guest_vm){ VM, mixed, n }, 1));
}

static void end(void)
{
	rs_guest_ram_close(&ram);
	munmap(memory, BYTES);
}

TEST(only_slots_are_searched)
{
	begin();
	set_slots(4);
	area_at(memory, AREA); /* a copy in the VMM's own memory */
	area_at(memory + 5 * PAGE, AREA);
	REQUIRE_OK(rs_guest_ram_scan(&ram, on_found, NULL));
	CHECK_EQ_U64(found.n, 1);
	CHECK_EQ_U64(found.last.at, (uintptr_t)memory + 5 * PAGE);
	CHECK_EQ_U64(found.last.gpa, AREA);
	CHECK_EQ_U64(found.last.vm, VM);
	end();
}

TEST(addresses_are_those_of_slots)
{
	struct rs_guest_layout layout;
	uint8_t bytes[6 * PAGE];
	uint64_t gpa = 0;

	begin();
	set_slots(4);
	area_at(memory + 5 * PAGE, AREA);
	memset(memory + 6 * PAGE, 6, 2 * PAGE);
	memset(memory + 2 * PAGE, 2, 2 * PAGE);
	REQUIRE_OK(rs_guest_ram_scan(&ram, on_found, NULL));
	CHECK(!rs_guest_layout_init(&ram, &found.last, AREA, &layout, &gpa));
	CHECK_EQ_U64(gpa, AREA);
	CHECK_EQ_U64(layout.n, 3); /* two neighbours are one */
	/* Across a boundary whose sides are not neighbours in the memory. */
	CHECK(rs_guest_layout_read(&ram, &layout, FIRST, bytes, sizeof(bytes)));
	CHECK_EQ_U64(bytes[4 * PAGE - 1], 6);
	CHECK_EQ_U64(bytes[4 * PAGE], 2);
	CHECK(rs_guest_layout_write(&ram, &layout, FIRST + 4 * PAGE - 1, "xy", 2));
	CHECK(memory[8 * PAGE - 1] == 'x' && memory[2 * PAGE] == 'y');
	/* Beyond the last slot, before the first, across its end. */
	CHECK(!rs_guest_layout_read(&ram, &layout, FIRST + 6 * PAGE, bytes, 1));
	CHECK(!rs_guest_layout_read(&ram, &layout, FIRST - 1, bytes, 2));
	CHECK(!rs_guest_layout_read(&ram, &layout, FIRST + 6 * PAGE - 1, bytes, 2));
	CHECK(!rs_guest_layout_has(&layout, FIRST + 4 * PAGE, UINT64_MAX));
	/* A ROM is read, and not written. */
	CHECK(rs_guest_layout_read(&ram, &layout, 0, bytes, PAGE));
	CHECK(!rs_guest_layout_write(&ram, &layout, 0, "x", 1));
	rs_guest_layout_deinit(&layout);
	end();
}

TEST(an_area_elsewhere_is_refused)
{
	struct rs_guest_layout layout;
	const char *why;
	uint64_t gpa = 0;

	begin();
	set_slots(4);
	area_at(memory + 5 * PAGE, AREA);
	REQUIRE_OK(rs_guest_ram_scan(&ram, on_found, NULL));
	why = rs_guest_layout_init(&ram, &found.last, AREA + PAGE, &layout, &gpa);
	CHECK(why && strstr(why, "KVM's memory slots"));
	rs_guest_layout_deinit(&layout);
	why = rs_guest_layout_init(&ram, &found.last, AREA + 1, &layout, &gpa);
	CHECK(why && strstr(why, "invalid"));
	rs_guest_layout_deinit(&layout);
	/* One that states no address has that of its place. */
	CHECK(!rs_guest_layout_init(&ram, &found.last, 0, &layout, &gpa));
	CHECK_EQ_U64(gpa, AREA);
	rs_guest_layout_deinit(&layout);
	end();
}

TEST(slots_that_come_later)
{
	struct rs_guest_ring ring = { 0, PAGE };
	struct rs_guest_layout layout;
	uint64_t gpa;

	begin();
	parts[1].bytes = 0;
	set_slots(4);
	area_at(memory + 5 * PAGE, AREA);
	REQUIRE_OK(rs_guest_ram_scan(&ram, on_found, NULL));
	/* The area has two pages, of which the second is not there yet. */
	CHECK(rs_guest_layout_init(&ram, &found.last, AREA, &layout, &gpa) != NULL);
	ring.gpa = FIRST + 2 * PAGE;
	CHECK(!rs_guest_layout_add(&ram, &found.last, &ring, &layout));
	parts[1].bytes = 2 * PAGE;
	set_slots(4);
	rs_guest_layout_update(&ram, &found.last, &layout);
	CHECK(rs_guest_layout_add(&ram, &found.last, &ring, &layout));
	/* Another VM's slots are not this one's. */
	REQUIRE_OK(rs_guest_ram_set_vms(&ram, &(struct rs_guest_vm){ VM + 1, parts, 1 }, 1));
	rs_guest_layout_update(&ram, &found.last, &layout);
	CHECK_EQ_U64(layout.n, 3);
	rs_guest_layout_deinit(&layout);
	end();
}
