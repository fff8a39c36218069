/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the functions of a running guest's programs. */
#include "live/guest_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "introspect/elf_file.h"

#define PROCESSES_MAX 1024u
#define BINARIES_MAX  1024u
#define AREAS_OLD_NS  UINT64_C(1000000000) /* areas older than this are read again */
#define AREAS_TRIES   3u		   /* areas may change while they are read */
#define PROBE_BYTES   16u		   /* bytes that have to be equal at an address */
#define SYMFS_MAX     4096u
#define VM_EXEC	      0x4u /* include/linux/mm.h */

/* A file of the guest, read on the host. */
struct binary {
	char *path;
	struct rs_elf_file file; /* empty if the file does not exist or cannot be read */
	struct rs_symbols *symbols;
};

struct process {
	uint64_t mm;
	int32_t tgid;
	uint64_t read_ns; /* the time at which its areas were read */
	struct rs_linux_areas areas;
	char **names; /* the binary of each area; NULL: not yet looked up */
};

struct rs_guest_functions {
	char *symfs;
	struct rs_map processes, binaries;
	char name[RS_AREA_NAME_MAX];
};

/* ---- processes ------------------------------------------------------------------------------ */

static void areas_drop(struct process *process)
{
	for (uint32_t i = 0; process->names && i < process->areas.n; i++)
		free(process->names[i]);
	free(process->names);
	process->names = NULL;
	rs_linux_areas_deinit(&process->areas);
}

void rs_guest_functions_forget(struct rs_guest_functions *f)
{
	struct process *process;
	size_t at = 0;

	while ((process = rs_map_next(&f->processes, &at))) {
		areas_drop(process);
		free(process);
	}
	rs_map_clear(&f->processes);
}

static struct rs_error *areas_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				   struct process *process)
{
	struct rs_error *err = NULL;

	areas_drop(process);
	for (uint32_t tries = 0; tries < AREAS_TRIES; tries++) {
		rs_error_free(err);
		err = rs_linux_areas_read(kernel, task, &process->areas);
		if (!err || rs_error_code(err) != RS_DAMAGED)
			break;
	}
	if (err)
		return err;
	process->names = calloc(process->areas.n ? process->areas.n : 1, sizeof(char *));
	return process->names ? NULL : rs_error_no_memory();
}

static bool process_same(const void *item, const void *key)
{
	const struct process *process = item;
	const struct rs_linux_task *task = key;

	return process->mm == task->mm && process->tgid == task->tgid;
}

/* Returns the entry of a task's process, or NULL without memory. */
static struct process *process_find(struct rs_guest_functions *f, const struct rs_linux_task *task)
{
	uint64_t hash = rs_hash_pair(task->mm, (uint64_t)task->tgid);
	struct process *process = rs_map_find(&f->processes, hash, process_same, task);

	if (process)
		return process;
	if (f->processes.used >= PROCESSES_MAX)
		rs_guest_functions_forget(f);
	process = rs_map_reserve(&f->processes) ? calloc(1, sizeof(*process)) : NULL;
	if (!process)
		return NULL;
	process->mm = task->mm;
	process->tgid = task->tgid;
	rs_map_add(&f->processes, hash, process);
	return process;
}

/* ---- binaries ------------------------------------------------------------------------------- */

static void binary_free(struct binary *binary)
{
	rs_symbols_destroy(binary->symbols);
	rs_elf_file_close(&binary->file);
	free(binary->path);
	free(binary);
}

static bool binary_same(const void *item, const void *key)
{
	return !strcmp(((const struct binary *)item)->path, key);
}

static bool path_leads_out(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

/* Opens the file of a path below symfs. A file that cannot be opened has no symbols. */
static void binary_open(const struct rs_guest_functions *f, struct binary *binary)
{
	char path[SYMFS_MAX + RS_AREA_NAME_MAX];
	struct rs_error *err;

	if (!f->symfs || binary->path[0] != '/' || path_leads_out(binary->path))
		return;
	snprintf(path, sizeof(path), "%s%s", f->symfs, binary->path);
	err = rs_elf_file_open(path, &binary->file);
	if (!err)
		err = rs_symbols_create(f->symfs, &binary->symbols);
	if (!err)
		err = rs_symbols_add(binary->symbols, binary->path, NULL, 0);
	if (!err)
		return;
	rs_error_free(err);
	rs_elf_file_close(&binary->file);
	binary->file = (struct rs_elf_file){ 0 };
}

static void binaries_drop(struct rs_guest_functions *f)
{
	struct binary *binary;
	size_t at = 0;

	while ((binary = rs_map_next(&f->binaries, &at)))
		binary_free(binary);
	rs_map_clear(&f->binaries);
}

/* Returns the binary of a path, or NULL without memory. */
static struct binary *binary_find(struct rs_guest_functions *f, const char *path)
{
	uint64_t hash = rs_hash_bytes(path, strlen(path));
	struct binary *binary = rs_map_find(&f->binaries, hash, binary_same, path);

	if (binary)
		return binary;
	if (f->binaries.used >= BINARIES_MAX)
		binaries_drop(f);
	binary = rs_map_reserve(&f->binaries) ? calloc(1, sizeof(*binary)) : NULL;
	if (binary)
		binary->path = strdup(path);
	if (!binary || !binary->path) {
		free(binary);
		return NULL;
	}
	binary_open(f, binary);
	rs_map_add(&f->binaries, hash, binary);
	return binary;
}

/* Converts an offset in a file to an address of the file. */
static bool file_address(Elf *elf, uint64_t offset, uint64_t *address)
{
	size_t n = 0;
	GElf_Phdr head;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &head) || head.p_type != PT_LOAD ||
		    offset < head.p_offset || offset - head.p_offset >= head.p_filesz)
			continue;
		*address = offset - head.p_offset + head.p_vaddr;
		return true;
	}
	return false;
}

/* ---- lookup --------------------------------------------------------------------------------- */

static const struct rs_linux_area *area_find(const struct process *process, uint64_t address,
					     uint32_t *at)
{
	const struct rs_linux_areas *areas = &process->areas;

	for (uint32_t low = 0, high = areas->n; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		const struct rs_linux_area *area = &areas->areas[middle];

		*at = middle;
		if (address >= area->start && address < area->end)
			return area;
		if (address < area->start)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Names the function at an offset of a file, if the guest has the file's bytes there. */
static void function_find(struct binary *binary, struct rs_memory *memory, uint64_t gva,
			  struct rs_guest_place *place)
{
	uint8_t theirs[PROBE_BYTES];
	const uint8_t *ours;
	uint64_t address;

	if (!binary->file.elf || !file_address(binary->file.elf, place->offset, &address))
		return;
	ours = rs_elf_loaded(&binary->file, address, sizeof(theirs));
	if (!ours || rs_memory_read(memory, gva, theirs, sizeof(theirs), NULL))
		return;
	place->is_other_file = memcmp(ours, theirs, sizeof(theirs)) != 0;
	if (!place->is_other_file)
		place->n = rs_symbols_lookup(binary->symbols, address, place->frames,
					     RS_SYMBOL_FRAMES_MAX);
}

/* Sets the file of an area. */
static struct rs_error *area_name(struct rs_guest_functions *f, struct rs_linux *kernel,
				  struct process *process, uint32_t at, const char **name)
{
	struct rs_error *err = NULL;

	if (!process->names[at]) {
		err = rs_linux_area_name(kernel, &process->areas, &process->areas.areas[at],
					 f->name);
		if (!err && !(process->names[at] = strdup(f->name)))
			err = rs_error_no_memory();
	}
	if (!err && *process->names[at])
		*name = process->names[at];
	return err;
}

struct rs_error *rs_guest_functions_lookup(struct rs_guest_functions *f, struct rs_linux *kernel,
					   const struct rs_linux_task *task, uint64_t address,
					   uint64_t now_ns, struct rs_guest_place *place)
{
	struct process *process = process_find(f, task);
	const struct rs_linux_area *area = NULL;
	struct rs_memory memory;
	struct rs_error *err = NULL;
	struct binary *binary;
	uint32_t at = 0;

	place->path = NULL;
	place->n = 0;
	place->is_other_file = false;
	if (!process)
		return rs_error_no_memory();
	if (process->names && now_ns - process->read_ns < AREAS_OLD_NS)
		area = area_find(process, address, &at);
	if (!area) {
		err = areas_read(kernel, task, process);
		process->read_ns = now_ns;
		area = err ? NULL : area_find(process, address, &at);
	}
	if (err || !area || !(area->flags & VM_EXEC))
		return err;
	err = area_name(f, kernel, process, at, &place->path);
	if (err || !place->path)
		return err;
	place->offset = address - area->start + area->offset;
	binary = binary_find(f, place->path);
	if (!binary)
		return rs_error_no_memory();
	err = rs_linux_task_memory(kernel, task, &memory);
	if (!err)
		function_find(binary, &memory, address, place);
	return err;
}

/* ---- creation
 * ------------------------------------------------------------------------------------ */

struct rs_error *rs_guest_functions_create(const char *symfs, struct rs_guest_functions **out)
{
	struct rs_guest_functions *f = calloc(1, sizeof(*f));

	if (!f)
		return rs_error_no_memory();
	if (symfs && strlen(symfs) >= SYMFS_MAX) {
		free(f);
		return rs_error_create(RS_USAGE, "the folder's path is longer than %u bytes",
				       SYMFS_MAX - 1);
	}
	f->symfs = symfs ? strdup(symfs) : NULL;
	if (symfs && !f->symfs) {
		free(f);
		return rs_error_no_memory();
	}
	*out = f;
	return NULL;
}

void rs_guest_functions_destroy(struct rs_guest_functions *f)
{
	if (!f)
		return;
	rs_guest_functions_forget(f);
	binaries_drop(f);
	rs_map_deinit(&f->processes);
	rs_map_deinit(&f->binaries);
	free(f->symfs);
	free(f);
}
