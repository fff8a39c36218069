/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the records that are in the rings of a killed program's threads but not in its trace. */
#include "store/rest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/catalogue.h"
#include "ring/shared.h"
#include "ring/survive.h"
#include "store/ring_file.h"
#include <ringside/guest_abi.h>

#define LOCK_TRIES    5000
#define LOCK_PAUSE_US 1000

#define STAMP_END (UINT64_MAX / 2)

struct rs_rests {
	struct rs_trace *trace;
	struct rs_ring_file file;
	struct rs_class *class;
	char *path;
	/* indexed by place: 1 + the stream's index; 0: no ring */
	uint32_t stream[RS_SURVIVE_PLACES_MAX];
};

/* ---- the head ------------------------------------------------------------------------------ */

/* Finds the class of the records in the trace. */
static bool class_find(struct rs_rests *r)
{
	const struct rs_describe *describe = &r->trace->describe;

	if (r->file.head.class_index >= describe->n_classes)
		return false;
	r->class = describe->classes[r->file.head.class_index];
	return !r->class->lost && !rs_schema_is_xen(r->class->schema);
}

/* Adds the program's definitions to the schema, up to the first invalid one. */
static struct rs_error *define_all(struct rs_rests *r)
{
	struct rs_schema *schema = r->class->schema;
	uint64_t left = r->file.head.defined_bytes;
	uint8_t *text = malloc(left ? left : 1), *at = text;
	struct rs_error *err = NULL;

	if (!text)
		return rs_error_no_memory();
	if (!rs_ring_file_read(&r->file, sizeof(r->file.head), text, left))
		left = 0;
	for (uint32_t id = 1; !err && left >= sizeof(struct rs_survive_definition); id++) {
		struct rs_survive_definition d;
		const char *name = (const char *)at + sizeof(d);
		uint64_t bytes;

		memcpy(&d, at, sizeof(d));
		bytes = (sizeof(d) + d.len + UINT64_C(7)) & ~UINT64_C(7);
		if (bytes > left)
			break;
		if (d.kind == RS_GUEST_SITE_EVENT)
			err = rs_schema_declare(schema, RS_ID(RS_IDS_USER, id), name, d.len);
		else if (d.kind == RS_GUEST_SITE_SPAN)
			err = rs_schema_set_span(schema, id, name, d.len);
		else
			err = rs_schema_set_name(schema, id, name, d.len);
		if (err && rs_error_code(err) != RS_NO_MEMORY) { /* its records are damaged */
			rs_error_free(err);
			err = NULL;
		}
		at += bytes;
		left -= bytes;
	}
	free(text);
	return err;
}

/* ---- places -------------------------------------------------------------------------------- */

/* Adds a stream for a ring that the recorder had not found yet. */
static struct rs_error *stream_add(struct rs_rests *r, const struct rs_survive_place *place,
				   uint32_t *stream)
{
	struct rs_describe *describe = &r->trace->describe;
	uint32_t n = describe->n_streams;
	char thread[sizeof(place->thread) + 1] = { 0 }, vm[sizeof(place->vm) + 1] = { 0 };
	struct rs_stream identity = { .thread = thread,
				      .vm = vm[0] ? vm : NULL,
				      .vcpu = place->vcpu < 0 ? RS_UNKNOWN : place->vcpu,
				      .cpu = RS_UNKNOWN,
				      .tid = place->tid,
				      .dom = RS_UNKNOWN };
	uint8_t *mended = realloc(describe->bad.mended, n + 2);
	struct rs_error *err;

	if (!mended)
		return rs_error_no_memory();
	describe->bad.mended = mended;
	if (n >= RS_STREAMS_MAX)
		return rs_error_create(RS_FAILED, "more than %u streams", n);
	memcpy(thread, place->thread, sizeof(place->thread));
	memcpy(vm, place->vm, sizeof(place->vm));
	identity.vm = vm[0] ? vm : NULL;
	err = rs_describe_add_stream_of(describe, r->class, &identity);
	if (err)
		return err;
	mended[n] = 1; /* its line is not written yet */
	mended[n + 1] = 0;
	*stream = n;
	return NULL;
}

static struct rs_error *places_read(struct rs_rests *r)
{
	struct rs_describe *describe = &r->trace->describe;
	uint32_t known = describe->n_streams;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->file.head.places; i++) {
		struct rs_survive_place place;
		struct rs_survive_progress progress;
		uint32_t stream;

		if (!rs_ring_file_place(&r->file, i, &place, &progress))
			continue;
		stream = progress.stream - 1;
		if (!progress.stream || stream >= known)
			err = stream_add(r, &place, &stream);
		else if (describe->stream_class[stream] != r->class)
			continue;
		if (!err)
			r->stream[i] = stream + 1;
	}
	return err;
}

/* Reads the file, which is open. *r is valid for rs_rests_close() in any case. */
static struct rs_error *rests_read(struct rs_rests *r, int fd)
{
	struct rs_describe *describe = &r->trace->describe;
	uint8_t uuid[16];
	struct rs_error *err;

	rs_describe_uuid(describe, uuid);
	if (!rs_ring_file_open(fd, &r->file) || memcmp(r->file.head.trace, uuid, sizeof(uuid)) ||
	    !class_find(r))
		return rs_error_create(RS_DAMAGED,
				       "%s: these are not the rings of this trace; remove the file "
				       "to repair the trace without them",
				       r->path);
	for (uint32_t i = 0; i < describe->n_classes; i++) {
		struct rs_class *class = describe->classes[i];

		class->events_written = class->lost ? 0 : rs_schema_count(class->schema);
		class->names_written = class->lost ? 0 : rs_schema_name_count(class->schema);
	}
	err = define_all(r);
	return err ? err : places_read(r);
}

static struct rs_error *rests_create(struct rs_trace *trace, char *path, struct rs_rests **out)
{
	*out = path ? calloc(1, sizeof(**out)) : NULL;
	if (!*out) {
		free(path);
		return rs_error_no_memory();
	}
	**out = (struct rs_rests){ .trace = trace, .path = path, .file.fd = -1 };
	return NULL;
}

struct rs_error *rs_rests_open_file(struct rs_trace *trace, int fd, const char *path,
				    struct rs_rests **out)
{
	struct rs_rests *r;
	struct rs_error *err = rests_create(trace, strdup(path), &r);

	if (err) {
		close(fd);
		return err;
	}
	err = rests_read(r, fd);
	if (err)
		rs_rests_close(r);
	else
		*out = r;
	return err;
}

/* Returns whether the program died before it had rings in the file: the magic is written last. */
static bool is_unused(int fd)
{
	struct rs_survive_head head;
	ssize_t n = pread(fd, &head, sizeof(head), 0);

	return n >= 0 && ((size_t)n < sizeof(head) || !head.magic);
}

/* Locks the file. Returns false if the program, until it exits, or another repair has locked it. */
static bool lock_take(int fd)
{
	struct stat st;

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return !fstat(fd, &st) && st.st_nlink;
		/* Those who look whether the program runs have a shared lock for a moment. */
		if (flock(fd, LOCK_SH | LOCK_NB))
			return false;
		flock(fd, LOCK_UN);
		usleep(LOCK_PAUSE_US);
	}
	return false;
}

struct rs_error *rs_rests_open(struct rs_trace *trace, struct rs_rests **out)
{
	char name[RS_SURVIVE_NAME_BYTES], *path = NULL;
	uint8_t uuid[16];
	struct rs_error *err;
	int fd = -1;

	*out = NULL;
	rs_describe_uuid(&trace->describe, uuid);
	rs_survive_name(uuid, name);
	err = rs_shared_path(name, false, &path);
	/* a file in another user's directory is not from this recorder */
	if (err || access(path, F_OK)) {
		rs_error_free(err);
		free(path);
		return NULL;
	}
	err = rs_shared_open(path, O_RDONLY, RS_SHARED_FILE, &fd);
	if (!err && !lock_take(fd)) {
		close(fd);
		err = rs_error_create(RS_USAGE,
				      "%s: the program that records this trace still runs, or "
				      "another repair of the trace does",
				      path);
	}
	if (!err && is_unused(fd)) {
		close(fd);
		if (unlink(path) && errno != ENOENT)
			err = rs_error_errno(errno, "%s", path);
	} else if (!err) {
		err = rs_rests_open_file(trace, fd, path, out);
	}
	free(path);
	return err;
}

void rs_rests_close(struct rs_rests *r)
{
	if (!r)
		return;
	rs_ring_file_close(&r->file);
	free(r->path);
	free(r);
}

struct rs_error *rs_rests_remove(struct rs_rests *r)
{
	return unlink(r->path) && errno != ENOENT ? rs_error_errno(errno, "%s", r->path) : NULL;
}

/* ---- the rest of a ring --------------------------------------------------------------------- */

/* Adds the catalogue's events of the provider of an id, as a recorder does. */
static bool refresh(void *ctx, uint64_t head)
{
	struct rs_rests *r = ctx;
	uint32_t number = RS_ID_PROVIDER(rs_slot_id(head));
	const char *provider = NULL;

	if (number < 64 && number != RS_IDS_USER)
		provider = rs_catalogue_of(number);
	if (!provider)
		return false;
	rs_error_free(rs_schema_add_catalogue(r->class->schema, provider));
	return true;
}

static void rest_init(const struct rs_rests *r, const struct rs_ring_copy *ring,
		      const struct rs_survive_mark *start, uint64_t last_tsc, struct rs_rest *rest)
{
	struct rs_port port;

	rest->mem = ring->mem;
	rs_sbuf_attach(&rest->consumer, ring->mem, ring->bytes); /* was checked */
	rest->consumer.head = (uint32_t)(start->position % ring->size);
	port = rs_port_local(&rest->consumer);
	rs_drain_init(&rest->drain, &port, r->class->schema);
	rest->drain.refresh = refresh;
	rest->drain.refresh_ctx = (void *)(uintptr_t)r;
	rest->drain.last_tsc = last_tsc;
	rest->drain.reported_lost = start->lost;
	rest->drain.reported_ahead = start->ahead;
	rest->ended = false;
}

/* Counts the records in a rest, and the losses that they report. */
static uint64_t rest_count(struct rs_rest *rest)
{
	struct rs_drained got;
	uint64_t n = 0;

	while (rs_rest_next(rest, &got))
		n += got.records + got.lost;
	return n;
}

bool rs_rests_have(const struct rs_rests *r, uint32_t stream, uint64_t accounted)
{
	struct rs_error *err = NULL;
	struct rs_ring_copy ring;
	bool have = false;

	for (uint32_t i = 0; r && !have && i < r->file.head.places; i++) {
		if (r->stream[i] != stream + 1 || !rs_ring_file_copy(&r->file, i, &ring, &err))
			continue;
		have = rs_ring_copy_start(&ring, accounted).accounted == accounted;
		free(ring.mem);
	}
	rs_error_free(err);
	return have;
}

struct rs_error *rs_rest_begin(const struct rs_rests *r, uint32_t stream, uint32_t *at,
			       uint64_t accounted, uint64_t last_tsc, struct rs_rest **out)
{
	struct rs_error *err = NULL;

	*out = NULL;
	for (; r && *at < r->file.head.places; (*at)++) {
		struct rs_survive_mark start;
		struct rs_rest *rest;
		struct rs_ring_copy ring;

		if (r->stream[*at] != stream + 1)
			continue;
		if (!rs_ring_file_copy(&r->file, *at, &ring, &err)) {
			if (err)
				return err;
			continue;
		}
		rest = calloc(1, sizeof(*rest));
		if (!rest) {
			free(ring.mem);
			return rs_error_no_memory();
		}
		start = rs_ring_copy_start(&ring, accounted);
		rest_init(r, &ring, &start, last_tsc, rest);
		/* A repair that was killed has already written these records. */
		if (start.accounted < accounted &&
		    start.accounted + rest_count(rest) <= accounted) {
			rs_rest_free(rest);
			continue;
		}
		rest_init(r, &ring, &start, last_tsc, rest);
		rest->missing = start.accounted > accounted ? start.accounted - accounted : 0;
		*out = rest;
		(*at)++;
		return NULL;
	}
	return NULL;
}

void rs_rest_free(struct rs_rest *rest)
{
	free(rest->mem);
	free(rest);
}

bool rs_rest_next(struct rs_rest *rest, struct rs_drained *got)
{
	if (rest->ended)
		return false;
	if (rs_drain_read(&rest->drain, rest->content, sizeof(rest->content), STAMP_END, got) !=
	    RS_DRAIN_OK)
		rest->ended = true;
	if (got->bytes)
		return true;
	rest->ended = true;
	rs_drain_end(&rest->drain, rest->content, sizeof(rest->content), rest->drain.last_tsc, got);
	return got->bytes > 0;
}
