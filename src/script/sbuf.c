/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs programs on rings of ACRN's layout, which other programs own, or which are lent to them. */
#include "script/live.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/sbuf.h"
#include "ring/shared.h"

#define RING_BYTES (4u << 20) /* size of ACRN's rings, TRACE_SBUF_SIZE */

/* Returns whether a path is a device, or a file that begins with a ring's magic. */
static bool is_ring(const char *path)
{
	struct stat st;
	uint64_t magic = 0;
	bool is = false;
	int fd;

	if (rs_shared_is_name(path))
		return true;
	if (!strchr(path, '/') || stat(path, &st))
		return false;
	if (S_ISCHR(st.st_mode))
		return true;
	fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | RS_SHARED_FLAGS) : -1;
	if (fd >= 0) {
		is = read(fd, &magic, sizeof(magic)) == sizeof(magic) && magic == RS_SBUF_MAGIC;
		close(fd);
	}
	return is;
}

uint32_t rs_script_live_rings(struct rs_script_live *live, const char *const *args, uint32_t n)
{
	uint32_t i = 0;

	while (live->n_rings && !live->lend && live->n_rings < RS_SCRIPT_SBUF_MAX && i < n &&
	       is_ring(args[i]))
		live->rings[live->n_rings++] = args[i++];
	return i;
}

/* ---- the source ----------------------------------------------------------------------------- */

static bool sbuf_wanted(const struct rs_script_live *live)
{
	return live->n_rings > 0;
}

static struct rs_error *sbuf_open(struct rs_script_live *live, struct rs_source **source)
{
	const struct rs_sbuf_options o = {
		.paths = live->rings,
		.n_paths = live->n_rings,
		.create = live->lend,
		.ring_bytes = live->buffer_bytes ? live->buffer_bytes : RING_BYTES,
		.keep = live->keep,
	};
	struct rs_error *err = rs_sbuf_reading_create(&o, &live->clock, &live->sbuf);

	return err ? err : rs_sbuf_reading_source(live->sbuf, source);
}

static struct rs_error *sbuf_gate(struct rs_script_live *live, bool open)
{
	return rs_sbuf_reading_gate(live->sbuf, open);
}

static const struct rs_stream *sbuf_stream(const struct rs_script_live *live,
					   const struct rs_source *source, uint32_t index)
{
	(void)source;
	return rs_sbuf_reading_stream(live->sbuf, index);
}

static bool sbuf_report(const struct rs_script_live *live)
{
	const struct rs_sbuf_recording *rings = rs_sbuf_reading_rings(live->sbuf);
	struct rs_sbuf_result result;
	bool partial = false;

	for (uint32_t i = 0; rs_sbuf_recording_result(rings, i, &result); i++) {
		if (result.runs && !result.error)
			continue;
		partial = true;
		if (!result.error)
			rs_script_remark(&live->remarks, "%s: no ring appeared", result.path);
		else if (!strncmp(result.error, result.path, strlen(result.path)))
			rs_script_remark(&live->remarks, "%s", result.error);
		else
			rs_script_remark(&live->remarks, "%s: %s", result.path, result.error);
	}
	return partial;
}

static void sbuf_close(struct rs_script_live *live)
{
	rs_sbuf_reading_destroy(live->sbuf);
}

const struct rs_script_kind rs_script_sbuf = {
	.wanted = sbuf_wanted,
	.open = sbuf_open,
	.gate = sbuf_gate,
	.stream = sbuf_stream,
	.report = sbuf_report,
	.close = sbuf_close,
};
