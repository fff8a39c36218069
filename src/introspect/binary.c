/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes a binary's hash and finds its build-id. */
#include "introspect/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"

#ifdef HAVE_BLAKE3
#include <blake3.h>
#else
#include <openssl/evp.h>
#endif

#define HASH_BYTES 32

#ifdef HAVE_BLAKE3

static const char hash_name[] = "blake3";

static struct rs_error *hash(FILE *file, uint8_t digest[HASH_BYTES])
{
	char buffer[65536];
	blake3_hasher hasher;
	size_t n;

	blake3_hasher_init(&hasher);
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		blake3_hasher_update(&hasher, buffer, n);
	blake3_hasher_finalize(&hasher, digest, HASH_BYTES);
	return NULL;
}

#else

static const char hash_name[] = "sha256";

static struct rs_error *hash(FILE *file, uint8_t digest[HASH_BYTES])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	char buffer[65536];
	unsigned int len = HASH_BYTES;
	bool good;
	size_t n;

	if (!md)
		return rs_error_no_memory();
	good = EVP_DigestInit_ex(md, EVP_sha256(), NULL);
	while (good && (n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		good = EVP_DigestUpdate(md, buffer, n);
	good = good && EVP_DigestFinal_ex(md, digest, &len);
	EVP_MD_CTX_free(md);
	return good ? NULL : rs_error_create(RS_FAILED, "libcrypto cannot compute the hash");
}

#endif

struct rs_error *rs_binary_open(const char *path, FILE **file)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct rs_error *err = NULL;
	struct stat st;

	if (fd < 0)
		return rs_error_errno(errno, "%s", path);
	if (fstat(fd, &st))
		err = rs_error_errno(errno, "%s", path);
	else if (S_ISDIR(st.st_mode))
		err = rs_error_errno(EISDIR, "%s", path);
	else if (!S_ISREG(st.st_mode))
		err = rs_error_create(RS_FAILED, "%s is not a regular file", path);
	if (!err) {
		*file = fdopen(fd, "r");
		err = *file ? NULL : rs_error_no_memory();
	}
	if (err)
		close(fd);
	return err;
}

static struct rs_error *hash_file(const char *path, char hex[RS_HASH_TEXT_BYTES])
{
	uint8_t digest[HASH_BYTES];
	FILE *file = NULL;
	struct rs_error *err = rs_binary_open(path, &file);

	if (err)
		return err;
	err = hash(file, digest);
	if (!err && ferror(file))
		err = rs_error_errno(errno, "%s", path);
	else if (!err)
		rs_hex_write(hex, digest, sizeof(digest));
	fclose(file);
	return err;
}

/* Searches the notes of one program header for NT_GNU_BUILD_ID. Returns whether it was found. */
static bool note_build_id(Elf *elf, const GElf_Phdr *phdr, char hex[RS_HASH_TEXT_BYTES])
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)phdr->p_offset, phdr->p_filesz,
					      phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;

	for (; data && (next = gelf_getnote(data, at, &note, &name, &desc)) > 0; at = next) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
		    note.n_descsz * 2 >= RS_HASH_TEXT_BYTES)
			continue;
		rs_hex_write(hex, (const uint8_t *)data->d_buf + desc, note.n_descsz);
		return true;
	}
	return false;
}

/* Finds the build-id of an ELF file. Stores an empty text if there is none. */
static void build_id_of(const char *path, char hex[RS_HASH_TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t n = 0;
	GElf_Phdr phdr;
	Elf *elf;

	hex[0] = '\0';
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && !elf_getphdrnum(elf, &n)) {
		for (size_t i = 0; i < n; i++) {
			if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_NOTE &&
			    note_build_id(elf, &phdr, hex))
				break;
		}
	}
	elf_end(elf);
	close(fd);
}

const char *rs_binary_hash_name(void)
{
	return hash_name;
}

struct rs_error *rs_binary_read(struct rs_binary *binary, const char *role, const char *path)
{
	struct rs_error *err = hash_file(path, binary->hash);

	if (err)
		return err;
	build_id_of(path, binary->build_id);
	binary->trace = (struct rs_trace_binary){ .role = role,
						  .path = path,
						  .hash_name = hash_name,
						  .hash = binary->hash,
						  .build_id = binary->build_id[0] ? binary->build_id
										  : NULL };
	return NULL;
}
