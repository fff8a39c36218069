/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a trace by its path, and finds the reader for its format. */
#include "input/open.h"

#include "base/given.h"
#include "import/acrn/trace.h"
#include "import/acrn/directory.h"
#include "import/acrn/log.h"
#include "import/acrn/log_files.h"
#include "import/hyperlight/trace.h"
#include "import/log_text.h"
#include "import/xen/xentrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_MAX 32 /* the length of the longest magic */

/* trace-cmd.dat.v6(5), trace-cmd.dat.v7(5) */
static const uint8_t tracedat_magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
/* CPU_CHANGE of a window, in xentrace.h */
static const uint8_t xentrace_magic[] = { 0x03, 0xf0, 0x01, 0x20 };
_Static_assert(sizeof(tracedat_magic) <= MAGIC_MAX, "the first bytes hold each magic");
_Static_assert(MAGIC_MAX <= RS_ACRN_HEAD_MAX, "the importer accepts the first bytes");
_Static_assert(MAGIC_MAX <= RS_HYPERLIGHT_HEAD_MAX, "the importer accepts the first bytes");

/* The first importer that recognizes a file reads it. */
static const struct rs_importer importers[] = {
	{ .name = "trace.dat",
	  .help = "of trace-cmd, versions 6 and 7",
	  .magic = tracedat_magic,
	  .magic_bytes = sizeof(tracedat_magic),
	  .open = rs_tracedat_open },
	{ .name = "xentrace",
	  .help = "of Xen's xentrace",
	  .magic = xentrace_magic,
	  .magic_bytes = sizeof(xentrace_magic),
	  .accepts_freq = true,
	  .accepts_xen_log = true,
	  .open_fd = rs_xentrace_open_fd },
	{ .name = "acrn",
	  .help = "of ACRN's acrntrace, a file or a directory of them, with its log",
	  .accepts_freq = true,
	  .open_fd = rs_acrn_open_fd,
	  .is_file = rs_acrn_is_file,
	  .is_directory = rs_acrn_is_directory,
	  .open_directory = rs_acrn_directory_open },
	{ .name = "acrnlog",
	  .help = "text of ACRN's acrnlog or of ringside log: a file, a directory, or all files "
		  "NAME.N of a log by NAME",
	  .accepts_freq = true,
	  .open_fd = rs_acrn_log_open_fd,
	  .is_file = rs_log_text_is,
	  .is_directory = rs_log_names_is_directory,
	  .open_directory = rs_acrn_log_open_directory,
	  .is_name = rs_log_names_is_name,
	  .open_name = rs_acrn_log_open_name },
	{ .name = "hyperlight",
	  .help = "of Hyperlight's host: a .trace file of a guest's messages, stacks and memory",
	  .open_fd = rs_hyperlight_open_fd,
	  .is_file = rs_hyperlight_is_file },
};
#define N_IMPORTERS (sizeof(importers) / sizeof(importers[0]))

const struct rs_importer *rs_importer(uint32_t index)
{
	return index < N_IMPORTERS ? &importers[index] : NULL;
}

static struct rs_error *by_name(const char *format, const struct rs_importer **importer)
{
	for (uint32_t i = 0; i < N_IMPORTERS; i++) {
		if (!strcmp(importers[i].name, format)) {
			*importer = &importers[i];
			return NULL;
		}
	}
	return rs_error_create(RS_USAGE, "there is no format '%s'", format);
}

/* An open file and its first bytes, because a pipe can be read only once. */
struct opened {
	int fd;
	uint8_t head[MAGIC_MAX];
	size_t bytes;
};

static struct rs_error *open_head(const char *path, struct opened *opened)
{
	struct rs_error *err = rs_given_open(path, RS_GIVEN_FILE_OR_PIPE, &opened->fd);
	ssize_t n = 1;

	opened->bytes = 0;
	while (!err && n > 0 && opened->bytes < MAGIC_MAX) {
		n = read(opened->fd, opened->head + opened->bytes, MAGIC_MAX - opened->bytes);
		opened->bytes += n > 0 ? (size_t)n : 0;
	}
	return err;
}

static struct rs_error *by_magic(const char *path, const struct opened *opened,
				 const struct rs_importer **importer)
{
	for (uint32_t i = 0; i < N_IMPORTERS; i++) {
		const struct rs_importer *one = &importers[i];
		bool is = one->magic ? opened->bytes >= one->magic_bytes &&
					       !memcmp(opened->head, one->magic, one->magic_bytes)
				     : one->is_file(opened->head, opened->bytes);

		if (is) {
			*importer = one;
			return NULL;
		}
	}
	return rs_error_create(RS_USAGE,
			       "%s: neither a trace directory nor a file of a known format", path);
}

bool rs_input_is(const char *path)
{
	const struct rs_importer *importer = NULL;
	struct opened opened;
	struct rs_error *err;
	struct stat st;

	if (stat(path, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode);
	err = open_head(path, &opened);
	if (err) {
		rs_error_free(err);
		return false;
	}
	rs_error_free(by_magic(path, &opened, &importer));
	close(opened.fd);
	return importer != NULL;
}

/* Refuses options that do not apply to a trace's format. importer: NULL for a trace directory. */
static struct rs_error *options_check(const char *path, const struct rs_importer *importer,
				      const struct rs_foreign_options *options)
{
	bool freq = options && options->freq_hz, log = options && options->xen_log;

	if ((freq || log) && !(importer && importer->accepts_freq))
		return rs_error_create(RS_USAGE,
				       "%s: the file contains its clock's frequency; --freq and "
				       "--xen-log are for files without it",
				       path);
	if (log && !importer->accepts_xen_log)
		return rs_error_create(RS_USAGE, "%s: --xen-log requires a file of xentrace", path);
	return NULL;
}

static struct rs_error *open_file(const char *path, const char *format,
				  const struct rs_foreign_options *options, struct rs_input *input)
{
	struct opened opened;
	struct rs_error *err = open_head(path, &opened);

	if (err)
		return err;
	err = format ? by_name(format, &input->importer)
		     : by_magic(path, &opened, &input->importer);
	if (!err)
		err = options_check(path, input->importer, options);
	if (!err && input->importer->open_fd)
		return input->importer->open_fd(opened.fd, path, opened.head, opened.bytes, options,
						&input->foreign);
	close(opened.fd);
	return err ? err : input->importer->open(path, &input->foreign);
}

static struct rs_error *open_directory(const char *path, struct rs_input *input)
{
	struct rs_error *err = rs_trace_open(path, &input->trace);

	if (err)
		return err;
	input->clock = rs_trace_clock(input->trace);
	err = rs_trace_source(input->trace, &input->source);
	if (err)
		rs_trace_close(input->trace);
	return err;
}

/* Opens another tool's directory. Sets *none if no importer recognizes it. */
static struct rs_error *open_foreign_directory(const char *path, const char *format,
					       const struct rs_foreign_options *options,
					       struct rs_input *input, bool *none)
{
	struct rs_error *err = format ? by_name(format, &input->importer) : NULL;

	*none = false;
	for (uint32_t i = 0; !format && !input->importer && i < N_IMPORTERS; i++) {
		if (importers[i].is_directory && importers[i].is_directory(path))
			input->importer = &importers[i];
	}
	if (!err && input->importer)
		err = options_check(path, input->importer, options);
	if (err)
		return err;
	if (input->importer && input->importer->open_directory)
		return input->importer->open_directory(path, options, &input->foreign);
	*none = !format;
	return format ? rs_error_create(RS_USAGE, "%s: is a directory, expected a file", path)
		      : NULL;
}

/* Opens files by a name that an importer recognizes and that is not the path of a file. */
static struct rs_error *open_name(const char *path, const char *format,
				  const struct rs_foreign_options *options, struct rs_input *input)
{
	struct rs_error *err = format ? by_name(format, &input->importer) : NULL;

	for (uint32_t i = 0; !format && !input->importer && i < N_IMPORTERS; i++) {
		if (importers[i].is_name && importers[i].is_name(path))
			input->importer = &importers[i];
	}
	if (!err && input->importer)
		err = options_check(path, input->importer, options);
	if (err)
		return err;
	if (!input->importer || !input->importer->open_name)
		return rs_error_create(RS_USAGE, "%s: there is no such file or directory", path);
	return input->importer->open_name(path, options, &input->foreign);
}

/* Adds a merge after the importer, to filter the events. */
static struct rs_error *open_foreign(struct rs_input *input)
{
	struct rs_source *source = &input->foreign->source;
	struct rs_error *err = rs_merge_create(&source, 1, &input->source);

	input->clock = &input->foreign->clock;
	if (err)
		rs_source_destroy(source);
	return err;
}

struct rs_error *rs_open_with(const char *path, const char *format,
			      const struct rs_foreign_options *options, struct rs_input *out)
{
	struct rs_input input = { 0 };
	struct rs_error *err;
	struct stat st;
	bool none = false, named = stat(path, &st) != 0;

	if (named && errno != ENOENT)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	if (named)
		err = open_name(path, format, options, &input);
	else if (S_ISDIR(st.st_mode))
		err = open_foreign_directory(path, format, options, &input, &none);
	else
		err = open_file(path, format, options, &input);
	if (none)
		err = options_check(path, NULL, options);
	if (none && !err)
		err = open_directory(path, &input);
	else if (!err)
		err = open_foreign(&input);
	if (!err)
		*out = input;
	return err;
}

void rs_input_close(struct rs_input *input)
{
	rs_source_destroy(input->source); /* this also destroys a foreign source */
	for (uint32_t i = 0; i < input->n_parts; i++)
		rs_input_close(&input->parts[i]);
	free(input->parts);
	free(input->parts_clock);
	if (input->trace)
		rs_trace_close(input->trace);
	*input = (struct rs_input){ 0 };
}

bool rs_input_cycles_only(const struct rs_input *input)
{
	const struct rs_input *part;

	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++) {
		if (part->foreign && !strcmp(part->clock->freq_from, RS_ACRN_FREQ_UNKNOWN))
			return true;
	}
	return false;
}

bool rs_input_is_xen(const struct rs_input *input)
{
	const struct rs_stream *stream;

	if (input->importer)
		return !strcmp(input->importer->name, "xentrace");
	for (uint32_t i = 0; i < input->n_parts; i++) {
		if (!rs_input_is_xen(&input->parts[i]))
			return false;
	}
	if (input->n_parts)
		return true;
	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		if (stream->xen)
			return true;
	}
	return false;
}

static uint32_t stream_count(const struct rs_input *input)
{
	return input->trace ? rs_trace_stream_count(input->trace) : input->foreign->n_streams;
}

const struct rs_stream *rs_input_stream(const struct rs_input *input, uint32_t index)
{
	for (uint32_t i = 0; i < input->n_parts; i++) {
		uint32_t n = stream_count(&input->parts[i]);

		if (index < n)
			return rs_input_stream(&input->parts[i], index);
		index -= n;
	}
	if (input->n_parts || index >= stream_count(input))
		return NULL;
	return input->trace ? rs_trace_stream(input->trace, index) : input->foreign->streams[index];
}

void rs_input_schema(const struct rs_stream *stream, const struct rs_schema **at, uint32_t *n)
{
	uint32_t have = 0;

	while (have < *n && at[have] != stream->schema)
		have++;
	if (have == *n)
		at[(*n)++] = stream->schema;
}
