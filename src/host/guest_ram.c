/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads the RAM of guests in a process's memory or in a file. */
#include "host/guest_ram.h"

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
#define MAPPING_MIN   (UINT64_C(1) << 20) /* smaller mappings are not a guest's RAM */
#define MAPPING_MAX   (UINT64_C(1) << 42) /* a sanitizer's shadow memory is larger */
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
		return rs_error_create(RS_ABSENT, "process %d does not exist", pid);
	if (errno == EACCES || errno == EPERM)
		return rs_error_create(
			RS_FAILED,
			"cannot open %s: %s (only the same user, root, and processes that the "
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

struct rs_error *rs_guest_ram_open_fd(int fd, const char *name, struct rs_guest_ram *ram)
{
	struct rs_error *err = NULL;

	*ram = (struct rs_guest_ram){ .memory = -1, .maps = -1, .pagemap = -1 };
	ram->path = strdup(name);
	if (!ram->path)
		return rs_error_no_memory();
	ram->memory = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (ram->memory < 0)
		err = rs_error_errno(errno, "%s", name);
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
	rs_guest_ram_set_vms(ram, NULL, 0);
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

/* ---- VMs ---------------------------------------------------------------------------------- */

static int part_order(const void *a, const void *b)
{
	const struct rs_guest_part *x = a, *y = b;

	return (x->gpa > y->gpa) - (x->gpa < y->gpa);
}

static bool is_joined(const struct rs_guest_part *part, const struct rs_guest_part *next)
{
	return next->gpa - part->gpa == part->bytes && next->at - part->at == part->bytes &&
	       next->read_only == part->read_only;
}

/* Copies the parts of a VM, in the order of their addresses. */
static bool vm_copy(const struct rs_guest_vm *from, struct rs_guest_vm *to)
{
	struct rs_guest_part *parts = calloc(from->n + 1, sizeof(*parts));
	uint32_t n = 0;

	if (!parts)
		return false;
	for (uint32_t i = 0; i < from->n; i++) {
		const struct rs_guest_part *part = &from->parts[i];

		if (part->bytes && part->gpa + part->bytes - 1 >= part->gpa &&
		    part->at + part->bytes - 1 >= part->at)
			parts[n++] = *part;
	}
	qsort(parts, n, sizeof(*parts), part_order);
	*to = (struct rs_guest_vm){ .id = from->id, .parts = parts };
	for (uint32_t i = 0; i < n; i++) {
		if (to->n && is_joined(&parts[to->n - 1], &parts[i]))
			parts[to->n - 1].bytes += parts[i].bytes;
		else
			parts[to->n++] = parts[i];
	}
	return true;
}

struct rs_error *rs_guest_ram_set_vms(struct rs_guest_ram *ram, const struct rs_guest_vm *vms,
				      uint32_t n)
{
	for (uint32_t i = 0; i < ram->n_vms; i++)
		free(ram->vms[i].parts);
	free(ram->vms);
	ram->n_vms = 0;
	ram->vms = n ? calloc(n, sizeof(*ram->vms)) : NULL;
	if (n && !ram->vms)
		return rs_error_no_memory();
	for (; ram->n_vms < n; ram->n_vms++) {
		if (!vm_copy(&vms[ram->n_vms], &ram->vms[ram->n_vms]))
			return rs_error_no_memory();
	}
	return NULL;
}

static const struct rs_guest_vm *vm_of(const struct rs_guest_ram *ram, uint64_t id)
{
	for (uint32_t i = 0; id && i < ram->n_vms; i++) {
		if (ram->vms[i].id == id)
			return &ram->vms[i];
	}
	return NULL;
}

/* ---- scan --------------------------------------------------------------------------------- */

struct scan {
	struct rs_guest_ram *ram;
	void (*found)(void *ctx, const struct rs_guest_place *place);
	void *ctx;
	uint32_t n;
	/* Of the part of a VM's RAM that is scanned. */
	uint64_t vm, to_gpa;
};

static void page_check(struct scan *s, const struct rs_guest_mapping *mapping, uint64_t at)
{
	uint64_t magic;

	if (!rs_guest_ram_read(s->ram, at, &magic, sizeof(magic)) || magic != RS_GUEST_AREA_MAGIC ||
	    s->n == RS_GUEST_PLACES_MAX)
		return;
	s->n++;
	s->found(s->ctx, &(struct rs_guest_place){ .mapping = *mapping,
						   .at = at,
						   .vm = s->vm,
						   .gpa = s->vm ? at + s->to_gpa : 0 });
}

/* Checks the pages of a process's mapping that are present. Reading another page would allocate it
 * in the process. */
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

static void vm_scan(struct scan *s, const struct rs_guest_vm *vm)
{
	s->vm = vm->id;
	for (uint32_t i = 0; i < vm->n; i++) {
		s->to_gpa = vm->parts[i].gpa - vm->parts[i].at;
		mapping_scan(s, &(struct rs_guest_mapping){ vm->parts[i].at, vm->parts[i].bytes });
	}
	s->vm = 0;
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
	for (uint32_t i = 0; !err && i < ram->n_vms; i++)
		vm_scan(&s, &ram->vms[i]);
	for (size_t i = 0; !err && !ram->n_vms && i < ram->n; i++)
		mapping_scan(&s, &ram->mappings[i]);
	return err;
}

/* ---- layout ------------------------------------------------------------------------------- */

/* The amount of a PC's RAM that QEMU places below 4 GiB, if the RAM is larger (hw/i386/pc_piix.c,
 * pc_q35.c, microvm.c). The rest follows in QEMU's memory, and has the addresses from 4 GiB on. */
static const uint64_t below_high[] = { 2 * GIB, UINT64_C(0xb0000000), 3 * GIB,
				       UINT64_C(0xe0000000) };
#define N_BELOW (sizeof(below_high) / sizeof(below_high[0]))

static void part_add(struct rs_guest_layout *layout, struct rs_guest_part part)
{
	if (RS_VECTOR_RESERVE(layout->parts, layout->room, layout->n + 1))
		layout->parts[layout->n++] = part;
}

/* Returns the part that contains an address, or NULL. */
static const struct rs_guest_part *part_at(const struct rs_guest_layout *layout, uint64_t gpa)
{
	for (uint32_t i = 0; i < layout->n; i++) {
		if (gpa - layout->parts[i].gpa < layout->parts[i].bytes)
			return &layout->parts[i];
	}
	return NULL;
}

/* Returns the part of RAM with which a mapping begins, at gpa. A part that begins at 0 ends at 4
 * GiB at the latest: the rings determine the part from 4 GiB on. */
static struct rs_guest_part part_of(const struct rs_guest_mapping *mapping, uint64_t gpa)
{
	uint64_t bytes = mapping->bytes;

	if (gpa < HIGH && gpa + bytes > HIGH)
		bytes = HIGH - gpa;
	return (struct rs_guest_part){ gpa, bytes, mapping->at, false };
}

/* Copies the slots of the VM in whose RAM an area is. */
static const char *vm_layout(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			     uint64_t self, struct rs_guest_layout *layout)
{
	const struct rs_guest_part *part;

	rs_guest_layout_update(ram, place, layout);
	part = part_at(layout, self);
	if (part && part->at + (self - part->gpa) == place->at)
		return NULL;
	return "the address that it states is not that of its place in KVM's memory "
	       "slots";
}

/* Finds where RAM begins by the address that an area states for itself. */
static const char *part_layout(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			       uint64_t self, struct rs_guest_layout *layout)
{
	uint64_t offset = place->at - place->mapping.at;

	for (size_t i = 0; i < N_BELOW; i++) {
		uint64_t below = below_high[i];

		if (self >= HIGH && place->mapping.bytes > below &&
		    offset == below + (self - HIGH)) {
			part_add(layout,
				 (struct rs_guest_part){ 0, below, place->mapping.at, false });
			part_add(layout,
				 (struct rs_guest_part){ HIGH, place->mapping.bytes - below,
							 place->mapping.at + below, false });
			return NULL;
		}
	}
	if (self < offset || (ram->pid && (self - offset) % GIB))
		return "the address that it states is not that of its place, if RAM "
		       "begins where the mapping does";
	part_add(layout, part_of(&place->mapping, self - offset));
	return NULL;
}

const char *rs_guest_layout_init(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
				 uint64_t self, struct rs_guest_layout *layout, uint64_t *gpa)
{
	const char *why;

	*layout = (struct rs_guest_layout){ 0 };
	*gpa = self ? self : place->gpa;
	if (!*gpa)
		return "its runtime does not state the area's address: build the guest with this "
		       "version";
	if (*gpa % RS_GUEST_AREA_ALIGN || *gpa + sizeof(struct rs_guest_area) < *gpa)
		return "the address that it states is invalid";
	why = (place->vm ? vm_layout : part_layout)(ram, place, *gpa, layout);
	if (!why && !rs_guest_layout_has(layout, *gpa, sizeof(struct rs_guest_area)))
		why = "the area is not within RAM";
	return why;
}

void rs_guest_layout_deinit(struct rs_guest_layout *layout)
{
	free(layout->parts);
	*layout = (struct rs_guest_layout){ 0 };
}

void rs_guest_layout_update(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			    struct rs_guest_layout *layout)
{
	const struct rs_guest_vm *vm = vm_of(ram, place->vm);

	if (!vm || !RS_VECTOR_RESERVE(layout->parts, layout->room, vm->n))
		return;
	memcpy(layout->parts, vm->parts, vm->n * sizeof(vm->parts[0]));
	layout->n = vm->n;
}

/* Returns whether a part contains a valid header for this ring. */
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

bool rs_guest_layout_add(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			 const struct rs_guest_ring *ring, struct rs_guest_layout *layout)
{
	const struct rs_guest_mapping *own = &place->mapping;
	struct rs_guest_part one = { 0 }, part;
	uint32_t agree = 0;

	if (!ring->bytes || rs_guest_layout_has(layout, ring->gpa, ring->bytes))
		return true;
	if (place->vm)
		return false;
	/* In the same mapping: after the RAM below 4 GiB, or at the address itself. */
	for (size_t i = 0; ring->gpa >= HIGH && i <= N_BELOW; i++) {
		uint64_t below = i < N_BELOW ? below_high[i] : HIGH;

		part = (struct rs_guest_part){ HIGH, own->bytes - below, own->at + below, false };
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
	return agree == 1;
}

bool rs_guest_layout_has(const struct rs_guest_layout *layout, uint64_t gpa, uint64_t bytes)
{
	while (bytes) {
		const struct rs_guest_part *part = part_at(layout, gpa);
		uint64_t there = part ? part->bytes - (gpa - part->gpa) : 0;

		if (there >= bytes)
			return true;
		if (!there)
			return false;
		gpa += there;
		bytes -= there;
	}
	return true;
}

/* Calls read or write for each part of a range. */
static bool layout_access(const struct rs_guest_ram *ram, const struct rs_guest_layout *layout,
			  uint64_t gpa, void *to, const void *from, size_t bytes)
{
	for (size_t done = 0, n; done < bytes; done += n) {
		const struct rs_guest_part *part = part_at(layout, gpa + done);
		uint64_t offset = part ? gpa + done - part->gpa : 0;

		if (!part || (from && part->read_only))
			return false;
		n = part->bytes - offset < bytes - done ? part->bytes - offset : bytes - done;
		if (from ? !rs_guest_ram_write(ram, part->at + offset, (const char *)from + done, n)
			 : !rs_guest_ram_read(ram, part->at + offset, (char *)to + done, n))
			return false;
	}
	return true;
}

bool rs_guest_layout_read(const struct rs_guest_ram *ram, const struct rs_guest_layout *layout,
			  uint64_t gpa, void *to, size_t bytes)
{
	return layout_access(ram, layout, gpa, to, NULL, bytes);
}

bool rs_guest_layout_write(const struct rs_guest_ram *ram, const struct rs_guest_layout *layout,
			   uint64_t gpa, const void *from, size_t bytes)
{
	return layout_access(ram, layout, gpa, NULL, from, bytes);
}
