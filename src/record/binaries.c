/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names this program's own binaries in its trace, so that a reader finds the functions at the
 * addresses in its events: the program and its shared libraries, each with its build-id and its
 * load address. The build-id is read from the loaded image, so no file is opened. The first worker
 * or the closing thread calls this.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "record/inside.h"

#define BUILD_ID_MAX 64u /* bytes; the linker writes 8 to 20 */

/* Reads the build-id in an image's notes (elf(5)). Returns its size, or 0 if the image has none. */
static uint32_t build_id_find(const struct dl_phdr_info *info, uint8_t id[BUILD_ID_MAX])
{
	const ElfW(Nhdr) * note;

	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
		/* Since glibc 2.28 a segment's notes may be aligned to 8. */
		uint64_t align = segment->p_align == 8 ? 8 : 4, left = segment->p_memsz, bytes;

		if (segment->p_type != PT_NOTE)
			continue;
		for (; left >= sizeof(*note); at += bytes, left -= bytes) {
			const char *name, *text;

			note = (const void *)at;
			name = at + sizeof(*note);
			text = name + ((note->n_namesz + align - 1) & ~(align - 1));
			bytes = (uint64_t)(text - at) +
				((note->n_descsz + align - 1) & ~(align - 1));
			if (bytes > left)
				break;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != sizeof("GNU") ||
			    memcmp(name, "GNU", sizeof("GNU")) != 0 ||
			    note->n_descsz > BUILD_ID_MAX)
				continue;
			memcpy(id, text, note->n_descsz);
			return note->n_descsz;
		}
	}
	return 0;
}

/* Adds a loaded object. The first one is the program; the kernel's vDSO has no file. */
static int binary_add(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct rs_recorder *r = ctx;
	char path[4096], hex[2 * BUILD_ID_MAX + 1];
	uint8_t id[BUILD_ID_MAX];
	uint32_t bytes = build_id_find(info, id);
	struct rs_trace_binary binary = { .role = "program",
					  .path = info->dlpi_name,
					  .build_id = bytes ? hex : NULL,
					  .load = info->dlpi_addr };
	ssize_t n;

	(void)size;
	if (!*info->dlpi_name) {
		n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		if (n <= 0)
			return 0;
		path[n] = 0;
		binary.path = path;
	}
	if (!strchr(binary.path, '/'))
		return 0;
	rs_hex_write(hex, id, bytes);
	rs_recorder_keep_error(r, rs_store_add_binary(r->store, &binary));
	return 0;
}

void rs_program_name_binaries(struct rs_recorder *r)
{
	dl_iterate_phdr(binary_add, r);
}
