/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes ACRN's raw files: a directory with a file for each physical CPU, named by its number, as
 * acrntrace makes it. A file has records of 32 bytes (record.h). It has no losses, and no
 * frequency.
 *
 * A trace keeps only those bytes of a record that its event's fields cover. The rest of the 16
 * bytes gets the hypervisor's values: 0, except for the third word of an exception.
 */
#include "export/export.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "import/acrn/trace.h"

#define CPUS_MAX       4096u
#define CPU_NONE       0xffu /* the most for a record's 8 bits */
#define SLOTS	       2048u /* bytes of a file's buffer */
#define BACKS	       64u
#define EXCEPTION      UINT64_C(0x10000) /* acrn_exception */
#define EXCEPTION_WORD 2		 /* TRACE_4I(..., vector, error code, 2, 0) */

struct file {
	int fd;
	char *path;
	uint32_t n;
	struct rs_slot slots[SLOTS];
};

/* The stamp that a stream's next record had before it was corrected. */
struct back {
	const struct rs_stream *stream; /* NULL: none */
	uint64_t tsc;
};

struct acrn {
	struct rs_export export;
	struct rs_folder folder;
	bool fields_alone; /* from a trace directory, which lacks the bytes after the fields */
	struct file *files[CPUS_MAX];
	struct back backs[BACKS];
};

bool rs_export_acrn_suits(const struct rs_input *input)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		if (stream->schema && !strcmp(rs_schema_provider(stream->schema), "acrn"))
			return true;
	}
	return false;
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct rs_error *file_flush(struct file *file)
{
	struct rs_error *err = rs_export_write(file->fd, file->path, file->slots,
					       file->n * sizeof(file->slots[0]));

	file->n = 0;
	return err;
}

static struct rs_error *file_open(struct acrn *a, uint32_t cpu, struct file **out)
{
	struct file *file = calloc(1, sizeof(*file));
	struct rs_error *err;
	char name[16];

	snprintf(name, sizeof(name), "%u", cpu);
	if (!file || asprintf(&file->path, "%s/%s", a->folder.path, name) < 0) {
		free(file);
		return rs_error_no_memory();
	}
	err = rs_folder_fd(&a->folder, name, O_WRONLY | O_CREAT | O_EXCL, &file->fd);
	if (err) {
		free(file->path);
		free(file);
		return err;
	}
	a->files[cpu] = *out = file;
	return NULL;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Returns a record's n_data. For an id without a catalogue entry, the first field's type determines
 * it. */
static uint64_t n_data_of(const struct rs_event *event)
{
	if (strcmp(event->class_name, "raw") != 0 || !event->n_fields)
		return rs_acrn_n_data(event);
	switch (event->fields[0].type) {
	case RS_TYPE_U64:
		return 2;
	case RS_TYPE_U32:
		return 4;
	default:
		return event->n_fields > 6 ? 16 : 8;
	}
}

static struct back *back_of(struct acrn *a, const struct rs_stream *stream)
{
	return &a->backs[((uintptr_t)stream >> 6) % BACKS];
}

static void fill(struct acrn *a, const struct rs_view *view, uint32_t cpu, struct rs_slot *slot)
{
	uint32_t bytes = view->payload_bytes < sizeof(slot->payload) ? view->payload_bytes
								     : sizeof(slot->payload);
	struct back *back = back_of(a, view->stream);
	uint32_t word = EXCEPTION_WORD;

	*slot = (struct rs_slot){ .tsc = back->stream == view->stream ? back->tsc : view->tsc,
				  .head = view->event->id |
					  n_data_of(view->event) << RS_N_DATA_SHIFT |
					  (uint64_t)(cpu & 0xff) << RS_CPU_SHIFT };
	back->stream = NULL;
	memcpy(slot->payload, view->payload, bytes);
	if (view->event->id == EXCEPTION && a->fields_alone)
		memcpy(slot->payload + 8, &word, sizeof(word));
}

static struct rs_error *put(struct acrn *a, const struct rs_view *view)
{
	uint32_t cpu = view->cpu >= 0 && view->cpu < (int)CPUS_MAX ? (uint32_t)view->cpu : CPU_NONE;
	struct file *file = a->files[cpu];
	struct rs_error *err = file ? NULL : file_open(a, cpu, &file);

	if (!err && file->n == SLOTS)
		err = file_flush(file);
	if (err)
		return err;
	fill(a, view, cpu, &file->slots[file->n++]);
	a->export.tally.records++;
	return NULL;
}

static struct rs_error *acrn_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct acrn *a = (struct acrn *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		const struct rs_event *event = views[i].event;

		if (RS_ID_PROVIDER(event->id) == RS_IDS_ACRN) {
			err = put(a, &views[i]);
		} else if (event->kind == RS_KIND_LOSS) {
			a->export.tally.lost += rs_view_loss(&views[i]).count;
		} else if (event->id == RS_ID_CLOCK_BACK) {
			struct back *back = back_of(a, views[i].stream);

			back->stream = views[i].stream;
			back->tsc = rs_field_value(&event->fields[0], views[i].payload);
		} else {
			a->export.tally.left_out++;
		}
	}
	return err;
}

static struct rs_error *acrn_end(struct rs_sink *sink)
{
	struct acrn *a = (struct acrn *)sink;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < CPUS_MAX; i++) {
		if (a->files[i])
			err = rs_error_first(err, file_flush(a->files[i]));
	}
	return err;
}

static void acrn_destroy(struct rs_export *export)
{
	struct acrn *a = (struct acrn *)export;

	for (uint32_t i = 0; i < CPUS_MAX; i++) {
		if (!a->files[i])
			continue;
		close(a->files[i]->fd);
		free(a->files[i]->path);
		free(a->files[i]);
	}
	rs_folder_close(&a->folder);
	free(a);
}

static const struct rs_sink_ops acrn_ops = {
	.name = "acrn",
	.events = acrn_events,
	.end = acrn_end,
};

struct rs_error *rs_export_acrn(const char *path, const struct rs_input *input,
				const struct rs_export_options *options, struct rs_export **export)
{
	struct acrn *a = calloc(1, sizeof(*a));
	const struct rs_input *part;
	struct rs_error *err;

	(void)options;
	if (!a)
		return rs_error_no_memory();
	err = rs_folder_make(path, &a->folder);
	if (err) {
		free(a);
		return err;
	}
	a->export.sink.ops = &acrn_ops;
	a->export.destroy = acrn_destroy;
	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++)
		a->fields_alone |= part->trace != NULL;
	*export = &a->export;
	return NULL;
}
