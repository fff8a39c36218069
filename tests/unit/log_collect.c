/* SPDX-License-Identifier: BSD-2-Clause */
/* The collector of a log, on a ring in overwrite mode whose writer laps it. */
#include "../test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log/collect.h"
#include "log_element_kit.h"
#include "log_kit.h"

#define ELEMENTS 8u

static struct {
	uint64_t lines, last_seq, torn;
} seen;

/* Counts bytes of a message that are not its line's. */
static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	(void)ctx;
	for (uint32_t i = 0; i < line->message_bytes; i++)
		seen.torn += (uint8_t)line->message[i] != kit_letter(line->seq);
	seen.lines++;
	seen.last_seq = line->seq;
	return NULL;
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	(void)ctx;
	(void)gap;
	return NULL;
}

/* Writes two-element lines. The collector has read the first element of line 1 when the writer laps
 * it; the oldest element that is kept is the rest of another line. */
static void lap(struct rs_overwriter *w, const char *path)
{
	const struct rs_log_collect_options options = { .paths = &path,
							.n_paths = 1,
							.consume = true };
	const struct rs_log_taker taker = { .line = on_line, .gap = on_gap };
	struct rs_log_collector *c = NULL;
	bool done;

	REQUIRE_OK(rs_log_collector_create(&options, &taker, &c));
	kit_element(w, 1, true, RS_LOG_ELEMENT_BYTES);
	CHECK_OK(rs_log_collector_poll(c, 1, &done));
	kit_element(w, 1, false, 7);
	for (uint64_t seq = 2; seq <= 11; seq++) {
		kit_element(w, seq, true, RS_LOG_ELEMENT_BYTES);
		kit_element(w, seq, false, 7);
	}
	CHECK_OK(rs_log_collector_poll(c, 2, &done));
	CHECK_OK(rs_log_collector_end(c, 3));
	CHECK_EQ_U64(seen.torn, 0);
	CHECK_EQ_U64(seen.lines, (ELEMENTS - 1) / 2);
	CHECK_EQ_U64(seen.last_seq, 11);
	CHECK_EQ_U64(rs_log_collector_sum(c).damaged, 2); /* line 1, and the rest of another */
	rs_log_collector_destroy(c);
}

TEST(no_line_has_the_rest_of_another)
{
	const size_t bytes = sizeof(struct rs_sbuf) + ELEMENTS * RS_LOG_ELEMENT_BYTES;
	const char *path;
	struct rs_overwriter w;
	void *mem;
	int fd;

	kit_folder_make();
	path = kit_path("ring");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	REQUIRE(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(mem != MAP_FAILED);
	CHECK_EQ_U64(rs_overwrite_create(mem, bytes, RS_LOG_ELEMENT_BYTES, RS_SBUF_POSITIONED),
		     RS_SBUF_OK);
	CHECK_EQ_U64(rs_overwriter_init(&w, mem, bytes), RS_SBUF_OK);
	lap(&w, path);
	munmap(mem, bytes);
	close(fd);
	kit_folder_remove();
}
