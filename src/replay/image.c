/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects the format of a disk image by the magic that QEMU expects, each at an offset from the
 * start or the end of the file. A disk that is encrypted with LUKS is a raw disk for a guest.
 */
#include "replay/image.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR	    512
#define HEAD	    4096u
#define BACKING_MAX 1023u /* QEMU's limit for the name of a qcow2's backing file */

static const struct form {
	uint32_t at, bytes; /* the place of the magic in the first sectors, and its length */
	const char *magic, *name;
} forms[] = {
#define FORM(at, magic, name)                                                                      \
	{                                                                                          \
		at, sizeof(magic) - 1, magic, name                                                 \
	}
	FORM(0, "QFI\xfb\0\0\0\1", "qcow"), /* block/qcow.c, of version 1 */
	FORM(0, "QFI\xfb", "qcow2"),	    /* block/qcow2.h */
	FORM(0, "QED\0", "QED"),	    /* block/qed.h, QED_MAGIC */
	FORM(0, "KDMV", "VMDK"),	    /* block/vmdk.c, VMDK4_MAGIC */
	FORM(0, "COWD", "VMDK"),	    /* VMDK3_MAGIC */
	FORM(0, "# Disk DescriptorFile", "VMDK, with its sectors in other files"),
	FORM(0, "conectix", "VPC (VHD)"),	  /* block/vpc.c, VHDFooter.creator */
	FORM(0, "vhdxfile", "VHDX"),		  /* block/vhdx.h, VHDX_FILE_SIGNATURE */
	FORM(64, "\x7f\x10\xda\xbe", "VDI"),	  /* block/vdi.c, VDI_SIGNATURE after text[0x40] */
	FORM(0, "WithoutFreeSpace", "Parallels"), /* block/parallels.c, HEADER_MAGIC */
	FORM(0, "WithouFreSpacExt", "Parallels"), /* HEADER_MAGIC2 */
	FORM(0, "Bochs Virtual HD Image", "Bochs"), /* block/bochs.c, HEADER_MAGIC */
	FORM(0, "#!/bin/sh\n#V2.0 Format\nmodprobe cloop ", "cloop"), /* block/cloop.c */
#undef FORM
};

/* The magic of the last 512 bytes: of a VPC of fixed size (block/vpc.c, vpc_open()), of a DMG
 * (block/dmg.c, dmg_find_koly_offset()). */
static const struct {
	const char *magic, *name;
} trailers[] = { { "conectix", "VPC (VHD) of a fixed size" }, { "koly", "DMG" } };

struct image {
	uint8_t head[HEAD], tail[SECTOR];
	size_t head_bytes;
	bool has_tail;
};

static const char *form_of(const struct image *image)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].at + forms[i].bytes <= image->head_bytes &&
		    !memcmp(image->head + forms[i].at, forms[i].magic, forms[i].bytes))
			return forms[i].name;
	for (size_t i = 0; image->has_tail && i < sizeof(trailers) / sizeof(trailers[0]); i++)
		if (!memcmp(image->tail, trailers[i].magic, strlen(trailers[i].magic)))
			return trailers[i].name;
	return NULL;
}

/* Returns the length of the name of the backing file of a qcow or qcow2 image, and a pointer to the
 * name in the head; 0 if it has none, or one outside the head. Both headers begin in the same way:
 * magic, version, offset and length of the name, big endian (docs/interop/qcow2.txt). */
static size_t backing(const struct image *image, const char **name)
{
	uint64_t offset;
	uint32_t bytes;

	if (image->head_bytes < 20 || memcmp(image->head, "QFI\xfb", 4) != 0)
		return 0;
	memcpy(&offset, image->head + 8, sizeof(offset));
	memcpy(&bytes, image->head + 16, sizeof(bytes));
	offset = be64toh(offset);
	bytes = be32toh(bytes);
	if (!offset || bytes > BACKING_MAX || offset > image->head_bytes - bytes)
		return 0;
	*name = (const char *)image->head + offset;
	return bytes;
}

static struct rs_error *refuse(const char *path, const struct image *image, const char *form)
{
	const char *name = "";
	size_t bytes = backing(image, &name);

	return rs_error_create(RS_USAGE,
			       "%s is an image in the form %s%s%.*s%s: qemu-img convert -O raw "
			       "creates one that a recording can use",
			       path, form, bytes ? ", with the backing file '" : "", (int)bytes,
			       name, bytes ? "'" : "");
}

static struct rs_error *read_image(int fd, const char *path, const struct stat *st,
				   struct image *image)
{
	ssize_t n = pread(fd, image->head, sizeof(image->head), 0);

	if (n < 0)
		return rs_error_errno(errno, "%s", path);
	image->head_bytes = (size_t)n;
	image->has_tail = st->st_size >= SECTOR &&
			  pread(fd, image->tail, SECTOR, st->st_size - SECTOR) == SECTOR;
	return NULL;
}

struct rs_error *rs_image_check(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct image image = { .has_tail = false };
	struct rs_error *err = NULL;
	const char *form = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		err = rs_error_errno(errno, "%s", path);
	} else if (S_ISREG(st.st_mode)) {
		err = read_image(fd, path, &st, &image);
		form = err ? NULL : form_of(&image);
	}
	if (fd >= 0)
		close(fd);
	if (!err && form)
		return refuse(path, &image, form);
	if (!err && (!S_ISREG(st.st_mode) || !st.st_size || st.st_size % SECTOR))
		err = rs_error_create(RS_USAGE,
				      "%s is not a disk image: a file of whole sectors of %d "
				      "bytes",
				      path, SECTOR);
	return err;
}
