/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads the RAM of guests in a process's memory or in a file. */
#include "live/guest_ram.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"
#include <ringside/sbuf.h>

#define PAGE	      4096u
#define GIB	      (UINT64_C(1) << 30)
#define HIGH	      (4 * GIB)
#define MAPPING_MIN   (UINT64_C(1) << 20) /* smaller ones are no guest's RAM */
#define MAPPING_MAX   (UINT64_C(1) << 42) /* a sanitizer's shadow is larger */
#define MAPPINGS_MAX  16384u
#define MAPS_BYTES    (64u << 10)
#define PAGES_AT_ONCE 512u
#define PAGE_PRESENT  (UINT64_C(1) << 63) /* Documentation/admin-guide/mm/pagemap.rst */

/* ---- open --------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n < 10 && !text[n];
}

static struct rs_error *part_open(int pid, const char *name, int flags, int *fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	*fd = open(path, flags | O_CLOEXEC);
	if (*fd >= 0)
		return NULL;
	if (errno == ENOENT)
		return rs_error_create(RS_ABSENT, "there is no process %d", pid);
	if (errno == EACCES || errno == EPERM)
		return rs_error_create(RS_FAILED,
				       "cannot open %s: %s (only the same user, root, and what the "
				       "kernel's Yama allows to trace the process can)",
				       path, strerror(errno));
	return rs_error_errno(errno, "%s", path);
}

static struct rs_error *process_open(struct rs_guest_ram *ram)
{
	struct rs_error *err = part_open(ram->pid, "mem", O_RDWR, &ram->memory);

	if (!err)
		err = part_open(ram->pid, "maps", O_RDONLY, &ram->maps);
	if (!err)
		err = part_open(ram->pid, "pagemap", O_RDONLY, &ram->pagemap);
	return err;
}

static struct rs_error *file_open(struct rs_guest_ram *ram)
{
	struct stat stat;

	ram->memory = open(ram->path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ram->memory < 0 || fstat(ram->memory, &stat))
		return rs_error_errno(errno, "%s", ram->path);
	if (!S_ISREG(stat.st_mode))
		return rs_error_create(RS_FAILED, "%s: not a regular file", ram->path);
	return NULL;
}

struct rs_error *rs_guest_ram_open(const char *text, struct rs_guest_ram *ram)
{
	struct rs_error *err;

	*ram = (struct rs_guest_ram){ .memory = -1, .maps = -1, .pagemap = -1 };
	ram->path = strdup(text);
	if (!ram->path)
		return rs_error_no_memory();
	if (is_number(text))
		ram->pid = atoi(text);
	err = ram->pid ? process_open(ram) : file_open(ram);
	if (err)
		rs_guest_ram_close(ram);
	return err;
}

void rs_guest_ram_close(struct rs_guest_ram *ram)
{
	const int fds[] = { ram->memory, ram->maps, ram->pagemap };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free(ram->mappings);
	free(ram->path);
	*ram = (struct rs_guest_ram){ .memory = -1, .maps = -1, .pagemap = -1 };
}

bool rs_guest_ram_read(const struct rs_guest_ram *ram, uint64_t at, void *to, size_t bytes)
{
	ssize_t got;

	do
		got = pread(ram->memory, to, bytes, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got >= 0 && (size_t)got == bytes;
}

bool rs_guest_ram_write(const struct rs_guest_ram *ram, uint64_t at, const void *from, size_t bytes)
{
	ssize_t put;

	do
		put = pwrite(ram->memory, from, bytes, (off_t)at);
	while (put < 0 && errno == EINTR);
	return put >= 0 && (size_t)put == bytes;
}

/* ---- mappings ----------------------------------------------------------------------------- */

static bool mapping_add(struct rs_guest_ram *ram, uint64_t at, uint64_t bytes)
{
	if (ram->n == MAPPINGS_MAX || !RS_VECTOR_RESERVE(ram->mappings, ram->room, ram->n + 1))
		return false;
	ram->mappings[ram->n++] = (struct rs_guest_mapping){ at, bytes };
	return true;
}

/* Adds the mapping of a line of /proc/PID/maps, if it may be a guest's RAM. */
static bool line_add(struct rs_guest_ram *ram, const char *line)
{
	uint64_t from, to, offset, inode;
	char rights[5], name[2] = "";

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %1s", &from, &to,
		   rights, &offset, &inode, name) < 5)
		return true;
	if (rights[0] != 'r' || rights[1] != 'w' || name[0] == '[' || to <= from ||
	    to - from < MAPPING_MIN || to - from > MAPPING_MAX)
		return true;
	return mapping_add(ram, from, to - from);
}

static struct rs_error *maps_read(struct rs_guest_ram *ram)
{
	char text[MAPS_BYTES];
	size_t kept = 0;
	bool good = true;
	ssize_t got;

	ram->n = 0;
	if (lseek(ram->maps, 0, SEEK_SET) < 0)
		return rs_error_errno(errno, "process %d", ram->pid);
	while (good && (got = read(ram->maps, text + kept, sizeof(text) - 1 - kept)) > 0) {
		char *line = text, *end;

		kept += (size_t)got;
		text[kept] = '\0';
		for (; good && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			good = line_add(ram, line);
		}
		kept -= (size_t)(line - text);
		memmove(text, line, kept);
	}
	ram->ended = !ram->n && good;
	return good ? NULL
		    : rs_error_create(RS_FAILED, "process %d: more than %u mappings, or no memory",
				      ram->pid, MAPPINGS_MAX);
}

/* ---- scan --------------------------------------------------------------------------------- */

struct scan {
	struct rs_guest_ram *ram;
	void (*found)(void *ctx, const struct rs_guest_place *place);
	void *ctx;
	uint32_t n;
};

static void page_check(struct scan *s, const struct rs_guest_mapping *mapping, uint64_t at)
{
	uint64_t magic;

	if (!rs_guest_ram_read(s->ram, at, &magic, sizeof(magic)) || magic != RS_GUEST_AREA_MAGIC ||
	    s->n == RS_GUEST_PLACES_MAX)
		return;
	s->n++;
	s->found(s->ctx, &(struct rs_guest_place){ *mapping, at });
}

/* Checks the pages of a process's mapping that are present: to read one that is not would make the
 * process have it. */
static void mapping_scan(struct scan *s, const struct rs_guest_mapping *mapping)
{
	uint64_t entries[PAGES_AT_ONCE], pages = mapping->bytes / PAGE;

	for (uint64_t page = 0; page < pages; page += PAGES_AT_ONCE) {
		ssize_t got = pread(s->ram->pagemap, entries, sizeof(entries),
				    (off_t)((mapping->at / PAGE + page) * sizeof(entries[0])));

		if (got <= 0)
			return;
		for (uint64_t i = 0, n = (uint64_t)got / sizeof(entries[0]);
		     i < n && page + i < pages; i++) {
			if (entries[i] & PAGE_PRESENT)
				page_check(s, mapping, mapping->at + (page + i) * PAGE);
		}
	}
}

static struct rs_error *file_scan(struct scan *s)
{
	struct rs_guest_mapping whole = { 0 };
	off_t at = 0, end;
	struct stat stat;

	if (fstat(s->ram->memory, &stat))
		return rs_error_errno(errno, "%s", s->ram->path);
	whole.bytes = (uint64_t)stat.st_size;
	s->ram->n = 0;
	if (!mapping_add(s->ram, 0, whole.bytes))
		return rs_error_no_memory();
	while ((at = lseek(s->ram->memory, at, SEEK_DATA)) >= 0) {
		end = lseek(s->ram->memory, at, SEEK_HOLE);
		for (at = at / PAGE * PAGE; at < end; at += PAGE)
			page_check(s, &whole, (uint64_t)at);
	}
	return NULL;
}

struct rs_error *rs_guest_ram_scan(struct rs_guest_ram *ram,
				   void (*found)(void *ctx, const struct rs_guest_place *place),
				   void *ctx)
{
	struct scan s = { .ram = ram, .found = found, .ctx = ctx };
	struct rs_error *err;

	if (!ram->pid)
		return file_scan(&s);
	err = maps_read(ram);
	for (size_t i = 0; !err && i < ram->n; i++)
		mapping_scan(&s, &ram->mappings[i]);
	return err;
}

/* ---- layout ------------------------------------------------------------------------------- */

/* How much of a PC's RAM QEMU puts below 4 GiB, if there is more (hw/i386/pc_piix.c, pc_q35.c,
 * microvm.c): the rest follows in its memory, and has the addresses from 4 GiB on. */
static const uint64_t below_high[] = { 2 * GIB, UINT64_C(0xb0000000), 3 * GIB,
				       UINT64_C(0xe0000000) };
#define N_BELOW (sizeof(below_high) / sizeof(below_high[0]))

static void part_add(struct rs_guest_layout *layout, struct rs_guest_part part)
{
	if (layout->n == RS_GUEST_RAM_PARTS_MAX)
		return;
	layout->parts[layout->n] = part;
	/* Pairs with the acquire in rs_guest_layout_find(). */
	__atomic_store_n(&layout->n, layout->n + 1, __ATOMIC_RELEASE);
}

/* Returns the parts in which a mapping begins with RAM at gpa. One that begins at 0 ends at 4 GiB
 * at the latest: what has the addresses from there on, rings show. */
static struct rs_guest_part part_of(const struct rs_guest_mapping *mapping, uint64_t gpa)
{
	uint64_t bytes = mapping->bytes;

	if (gpa < HIGH && gpa + bytes > HIGH)
		bytes = HIGH - gpa;
	return (struct rs_guest_part){ gpa, bytes, mapping->at };
}

const char *rs_guest_layout_init(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
				 uint64_t self, struct rs_guest_layout *layout)
{
	uint64_t offset = place->at - place->mapping.at;

	layout->n = 0;
	if (!self)
		return "its runtime does not state the area's address: build the guest with this "
		       "version";
	if (self % RS_GUEST_AREA_ALIGN || self + sizeof(struct rs_guest_area) < self)
		return "the address that it states for itself is invalid";
	for (size_t i = 0; i < N_BELOW; i++) {
		uint64_t below = below_high[i];

		if (self >= HIGH && place->mapping.bytes > below &&
		    offset == below + (self - HIGH)) {
			part_add(layout, (struct rs_guest_part){ 0, below, place->mapping.at });
			part_add(layout, (struct rs_guest_part){ HIGH, place->mapping.bytes - below,
								 place->mapping.at + below });
			return NULL;
		}
	}
	if (self < offset || (ram->pid && (self - offset) % GIB))
		return "the address that it states for itself is not that of its place, if RAM "
		       "begins where the mapping does";
	part_add(layout, part_of(&place->mapping, self - offset));
	if (rs_guest_layout_find(layout, self, sizeof(struct rs_guest_area), &(uint64_t){ 0 }))
		return NULL;
	return "the area is not within RAM";
}

/* Returns whether there is a ring's header for this ring in a part. */
static bool part_agrees(const struct rs_guest_ram *ram, const struct rs_guest_part *part,
			const struct rs_guest_ring *ring)
{
	struct rs_sbuf header;

	return ring->gpa >= part->gpa && ring->gpa - part->gpa <= part->bytes &&
	       ring->bytes <= part->bytes - (ring->gpa - part->gpa) &&
	       rs_guest_ram_read(ram, part->at + (ring->gpa - part->gpa), &header,
				 sizeof(header)) &&
	       rs_sbuf_check(&header, ring->bytes) == RS_SBUF_OK &&
	       rs_sbuf_bytes(header.ele_num, header.ele_size) + header.ele_size > ring->bytes;
}

void rs_guest_layout_add(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			 const struct rs_guest_ring *ring, struct rs_guest_layout *layout)
{
	const struct rs_guest_mapping *own = &place->mapping;
	struct rs_guest_part one = { 0 }, part;
	uint32_t agree = 0;
	uint64_t at;

	if (!ring->bytes || rs_guest_layout_find(layout, ring->gpa, ring->bytes, &at))
		return;
	/* In the same mapping: behind the RAM below 4 GiB, or where the address is. */
	for (size_t i = 0; ring->gpa >= HIGH && i <= N_BELOW; i++) {
		uint64_t below = i < N_BELOW ? below_high[i] : HIGH;

		part = (struct rs_guest_part){ HIGH, own->bytes - below, own->at + below };
		if (own->bytes > below && part_agrees(ram, &part, ring)) {
			one = part;
			agree++;
		}
	}
	/* In another mapping, which begins at 4 GiB or at 0. */
	for (size_t i = 0; i < ram->n; i++) {
		part = part_of(&ram->mappings[i], ring->gpa >= HIGH ? HIGH : 0);
		if (ram->mappings[i].at != own->at && part_agrees(ram, &part, ring)) {
			one = part;
			agree++;
		}
	}
	if (agree == 1)
		part_add(layout, one);
}

bool rs_guest_layout_find(const struct rs_guest_layout *layout, uint64_t gpa, size_t bytes,
			  uint64_t *at)
{
	/* Pairs with the release in part_add(). */
	uint32_t n = __atomic_load_n(&layout->n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		const struct rs_guest_part *part = &layout->parts[i];

		if (gpa >= part->gpa && gpa - part->gpa <= part->bytes &&
		    bytes <= part->bytes - (gpa - part->gpa)) {
			*at = part->at + (gpa - part->gpa);
			return true;
		}
	}
	return false;
}
