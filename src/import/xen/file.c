/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the windows of a xentrace file. */
#include "import/xen/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (64u << 10)
#define PIECE_BYTES  (256u << 10) /* the most of a window that one block gets */
#define WINDOW_MAX   (1u << 30)	  /* more than Xen's buffers can have */
#define HEAD_BYTES   12u	  /* of a window's head */
#define HEAD_WORD    (RS_XEN_CPU_CHANGE | 2u << 28)
static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void keep_error(struct rs_xen_file *f, struct rs_error *err)
{
	f->of.ended = true;
	if (!f->error)
		f->error = err;
	else
		rs_error_free(err);
}

static void damage(struct rs_xen_file *f, uint64_t offset, const char *what)
{
	keep_error(f, rs_error_create(RS_DAMAGED, "%s: at 0x%llx: %s", f->path,
				      (unsigned long long)offset, what));
}

/* Reads into `to`. Returns the number of bytes, fewer at the end of the file, or -1 after a signal
 * or an error. An error is stored in f->error. */
static ssize_t read_some(struct rs_xen_file *f, void *to, size_t bytes)
{
	ssize_t n = read(f->fd, to, bytes);

	if (n < 0 && errno != EINTR)
		keep_error(f, rs_error_errno(errno, "%s", f->path));
	return n;
}

/* Fills the buffer with at least n bytes. Returns false after a signal, or at the end
 * (f->of.ended). */
static bool buffer_need(struct rs_xen_file *f, size_t n, bool *end)
{
	while (f->buffer_end - f->buffer_at < n) {
		ssize_t got;

		memmove(f->buffer, f->buffer + f->buffer_at, f->buffer_end - f->buffer_at);
		f->buffer_end -= f->buffer_at;
		f->buffer_at = 0;
		got = read_some(f, f->buffer + f->buffer_end, BUFFER_BYTES - f->buffer_end);
		if (got <= 0) {
			*end = got == 0;
			return false;
		}
		f->buffer_end += (size_t)got;
	}
	return true;
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Reads the head of the next window. Returns false after a signal, or at the end. */
static bool window_begin(struct rs_xen_file *f, struct rs_error **err)
{
	const uint8_t *head;
	uint32_t cpu, bytes;
	bool end = false;

	if (!buffer_need(f, HEAD_BYTES, &end)) {
		if (end && f->buffer_end > f->buffer_at)
			damage(f, f->offset, "the file is cut; it is valid up to here");
		f->of.ended |= end;
		return false;
	}
	head = f->buffer + f->buffer_at;
	cpu = word_at(head + 4);
	bytes = word_at(head + 8);
	if (word_at(head) != HEAD_WORD || cpu >= RS_XEN_CPUS_MAX || bytes > WINDOW_MAX ||
	    bytes % 4) {
		damage(f, f->offset, "no window begins here; the file is valid up to here");
		return false;
	}
	*err = rs_xen_records_pcpu(&f->of, cpu, &f->window);
	if (*err)
		return false;
	rs_xen_records_round(&f->of, cpu);
	f->window_left = HEAD_BYTES + bytes; /* the head is its first record */
	f->window_begun = false;
	f->windows++;
	return true;
}

/* Fills a block with the next `want` bytes of the window; fewer at the file's end. */
static bool block_read(struct rs_xen_file *f, struct rs_xen_block *block, uint32_t want)
{
	while (f->piece < want) {
		size_t n = f->buffer_end - f->buffer_at;
		ssize_t got;

		if (n) {
			n = n < want - f->piece ? n : want - f->piece;
			memcpy(block->data + block->bytes, f->buffer + f->buffer_at, n);
			f->buffer_at += n;
		} else {
			got = read_some(f, block->data + block->bytes, want - f->piece);
			if (got < 0)
				return false;
			if (!got) {
				f->of.ended = true;
				return true;
			}
			n = (size_t)got;
		}
		block->bytes += (uint32_t)n;
		f->piece += (uint32_t)n;
		f->offset += n;
	}
	return true;
}

/* Checks a block that was read, and keeps the half record at its end for the next block. */
static void check_block(struct rs_xen_file *f, struct rs_xen_block *block)
{
	bool whole = !f->window_left, cut = f->of.ended && !whole;
	uint64_t records = 0;
	uint32_t end;
	const char *what = rs_xen_block_check(f->window, block, !f->window_begun, &end, &records);
	uint32_t rest = block->bytes - end;

	if (!what && rest && whole)
		what = "a record runs out of its window";
	if (!what && cut) {
		damage(f, block->offset + end, "the file is cut; it is valid up to here");
	} else if (what) {
		end = rs_xen_block_believed(block, end);
		damage(f, block->offset + end, what);
	} else if (rest) {
		memcpy(f->carry, block->data + end, rest);
		f->n_carry = rest;
	}
	f->window_begun = true;
	f->records += records;
	block->bytes = end;
	if (end)
		rs_xen_records_add(&f->of, f->window, block);
	else
		free(block);
}

/* Reads the next piece of a window into a block. Returns false after a signal, or at the end. */
static bool piece_read(struct rs_xen_file *f, struct rs_error **err)
{
	uint32_t want = f->window_left < PIECE_BYTES ? f->window_left : PIECE_BYTES;
	struct rs_xen_block *block = f->block;

	if (!block) {
		block = rs_xen_block_create(f->offset - f->n_carry, f->n_carry + want);
		if (!block) {
			*err = rs_error_no_memory();
			return false;
		}
		block->bytes = f->n_carry;
		memcpy(block->data, f->carry, f->n_carry);
		f->n_carry = f->piece = 0;
		f->block = block;
	}
	if (!block_read(f, block, want))
		return false;
	f->window_left -= f->piece;
	f->piece = 0;
	f->block = NULL;
	check_block(f, block);
	return true;
}

static bool is_ready(const struct rs_xen_file *f)
{
	return f->of.held >= f->ahead && rs_xen_records_ready(&f->of);
}

struct rs_error *rs_xen_file_fill(struct rs_xen_file *f, bool *enough)
{
	struct rs_error *err = NULL;

	while (!f->of.ended && !is_ready(f)) {
		bool more = f->window_left ? piece_read(f, &err) : window_begin(f, &err);

		if (err)
			return err;
		if (!more && !f->of.ended) { /* a signal */
			*enough = false;
			return NULL;
		}
	}
	*enough = true;
	return NULL;
}

/* ---- making one ----------------------------------------------------------------------------- */

struct rs_error *rs_xen_file_init(struct rs_xen_file *f, int fd, const char *path, const void *head,
				  size_t bytes)
{
	struct stat st;

	*f = (struct rs_xen_file){ .fd = fd, .path = strdup(path), .ahead = RS_XEN_SURVEY_BYTES };
	f->buffer = malloc(BUFFER_BYTES);
	if (!f->buffer || !f->path) {
		rs_xen_file_deinit(f);
		return rs_error_no_memory();
	}
	f->regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
	memcpy(f->buffer, head, bytes);
	f->buffer_end = bytes;
	return NULL;
}

void rs_xen_file_deinit(struct rs_xen_file *f)
{
	rs_xen_records_deinit(&f->of);
	free(f->block);
	free(f->buffer);
	free(f->path);
	rs_error_free(f->error);
	close(f->fd);
}
