/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the kernel to boot, and checks that the file is one. */
#include "replay/kernel.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_KERNEL "/boot/vmlinuz-*"
#define HEAD_BYTES    8192u /* size of the part of the file where QEMU searches for a header */

/* Offsets in the header of Linux's boot protocol, Documentation/arch/x86/boot.rst. */
#define HEADER_MAGIC   0x202u
#define HEADER_ENTRY   0x214u /* code32_start, 0x100000 in arch/x86/boot/header.S */
#define HEADER_MINIMUM 0x218u

#define MULTIBOOT_MAGIC	  0x1badb002u /* Multiboot Specification 0.6.96, section 3.1.1 */
#define NOTE_PHYS32_ENTRY 18u	      /* XEN_ELFNOTE_PHYS32_ENTRY, Xen's public/elfnote.h */

struct head {
	uint8_t bytes[HEAD_BYTES];
	size_t n;
};

static uint32_t word_at(const struct head *head, size_t at)
{
	uint32_t word;

	memcpy(&word, head->bytes + at, sizeof(word));
	return le32toh(word);
}

/* ---- kinds of kernels ----------------------------------------------------------------------- */

static bool is_multiboot(const struct head *head)
{
	for (size_t at = 0; at + 12 <= head->n; at += 4)
		if (word_at(head, at) == MULTIBOOT_MAGIC &&
		    word_at(head, at) + word_at(head, at + 4) + word_at(head, at + 8) == 0)
			return true;
	return false;
}

/* Returns whether a segment of notes has the note that names PVH's entry. */
static bool notes_have_entry(Elf *elf, const GElf_Phdr *part)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)part->p_offset, part->p_filesz,
					      part->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, value;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &value)) > 0)
		if (note.n_type == NOTE_PHYS32_ENTRY && note.n_namesz == sizeof("Xen") &&
		    !memcmp((const char *)data->d_buf + name, "Xen", sizeof("Xen")))
			return true;
	return false;
}

static const char *elf_why(int fd)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	const char *why = "an ELF file without the note that names its entry for PVH";
	GElf_Phdr part;
	GElf_Ehdr head;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
		why = "a damaged ELF file";
	else if (head.e_machine != EM_X86_64 && head.e_machine != EM_386)
		why = "an ELF file for another architecture than x86";
	else
		for (int i = 0; why && gelf_getphdr(elf, i, &part); i++)
			if (part.p_type == PT_NOTE && notes_have_entry(elf, &part))
				why = NULL;
	elf_end(elf);
	return why;
}

/* ---- other kinds of files ------------------------------------------------------------------- */

static const struct {
	size_t at, bytes;
	const char *magic, *name;
} others[] = {
	{ 0x38, 4, "ARM\x64", "a kernel of arm64" },
	{ 0, 2, "\x1f\x8b", "a file compressed by gzip, as an initramfs is" },
	{ 0, 4, "\x28\xb5\x2f\xfd", "a file compressed by zstd, as an initramfs is" },
	{ 0, 5,
	  "\xfd"
	  "7zXZ",
	  "a file compressed by xz, as an initramfs is" },
	{ 0, 4, "\x02\x21\x4c\x18", "a file compressed by lz4, as an initramfs is" },
	{ 0, 5, "07070", "an initramfs (cpio)" },
	{ 0, 2, "MZ", "a program for EFI or DOS without a kernel's header" },
	{ 0, 4, "QFI\xfb", "a disk image in the format qcow2" },
	{ 0, 2, "#!", "a script" },
	{ 510, 2, "\x55\xaa", "a disk image with a boot sector, for --disk" },
};

static const char *other_name(const struct head *head)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].at + others[i].bytes <= head->n &&
		    !memcmp(head->bytes + others[i].at, others[i].magic, others[i].bytes))
			return others[i].name;
	return head->n < HEADER_MINIMUM ? "shorter than a kernel's header"
					: "a file of unknown format";
}

/* ---- the check ------------------------------------------------------------------------------ */

/* Returns the kind of the file, or NULL if it is a kernel. */
static const char *why_not(int fd, const struct head *head)
{
	if (head->n >= HEADER_MINIMUM && !memcmp(head->bytes + HEADER_MAGIC, "HdrS", 4)) {
		if (word_at(head, HEADER_ENTRY))
			return NULL;
		return "a boot loader with a kernel's header that names no code, such as iPXE's "
		       "ipxe.lkrn, which waits for a network that the guest does not have";
	}
	if (is_multiboot(head))
		return NULL;
	if (head->n >= SELFMAG && !memcmp(head->bytes, ELFMAG, SELFMAG))
		return elf_why(fd);
	return other_name(head);
}

struct rs_error *rs_kernel_check(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct rs_error *err = NULL;
	struct head head;
	const char *why;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		err = rs_error_errno(errno, "%s", path);
	} else if (!S_ISREG(st.st_mode)) {
		err = rs_error_create(RS_USAGE, "%s is not a regular file", path);
	} else if ((n = pread(fd, head.bytes, sizeof(head.bytes), 0)) < 0) {
		err = rs_error_errno(errno, "%s", path);
	} else {
		head.n = (size_t)n;
		why = why_not(fd, &head);
		if (why)
			err = rs_error_create(
				RS_USAGE,
				"%s is not a kernel that a guest can boot: it is %s "
				"(a guest boots Linux's bzImage, a multiboot image, or "
				"an ELF file for PVH)",
				path, why);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

struct rs_error *rs_kernel_find(char **path)
{
	struct rs_error *err = NULL;
	const char *best = NULL;
	glob_t found;

	if (glob(SYSTEM_KERNEL, 0, NULL, &found))
		return rs_error_create(RS_ABSENT, "there is no " SYSTEM_KERNEL
						  ": apt-get install linux-image-cloud-amd64, or "
						  "name a kernel with --kernel");
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!best || strverscmp(found.gl_pathv[i], best) > 0)
			best = found.gl_pathv[i];
	*path = strdup(best);
	if (!*path)
		err = rs_error_no_memory();
	globfree(&found);
	return err;
}
