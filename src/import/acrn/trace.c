/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ACRN's raw trace files. */
#include "import/acrn/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "base/given.h"
#include "event/view.h"

#define VIEWS	     256u
#define VIEWS_RECORD 3	   /* the most views of one record: a loss, a clock-back, itself */
#define KNOWN	     64u   /* cached kinds of records */
#define FILES_MAX    1024u /* of a directory, one for each physical CPU */
#define SLOTS	     2048u /* of the buffer of each file */
#define FREQ_CYCLES  UINT64_C(1000000000) /* a cycle is shown as a ns */
#define SCHED_NEXT   UINT64_C(0x20)	  /* acrn_sched_next */

enum { N_2L = 2, N_4I = 4, N_6C = 8, N_16STR = 16 };

struct file {
	char *path;
	int fd;
	struct rs_stream stream;
	int cpu;		      /* the stream's, or its first record's */
	struct rs_slot *buffer;	      /* SLOTS of them */
	uint32_t at, end;	      /* consumed bytes of the buffer; filled bytes */
	uint64_t offset;	      /* in the file, of the buffer's first byte */
	bool ended, held;	      /* held: views of this batch point into the buffer */
	const struct rs_event *event; /* of the record at `at`; NULL: not checked yet */
	uint64_t next_tsc;	      /* the record's stamp, at least that of the record before */
	uint64_t last_tsc;
	uint64_t damaged; /* records left out since the last good one */
};

struct acrn {
	struct rs_foreign foreign;
	struct rs_schema *schema;
	struct file *files;
	/* The files that have not ended, sorted by their next record. The first file's record may
	 * be consumed already. */
	struct file **order;
	uint32_t n_files, n_order, n_raw;
	uint64_t odd;		/* records whose n_data differs from their event's */
	uint64_t backed;	/* stamps earlier than their predecessor */
	uint64_t far;		/* stamps too far from the first to be a time */
	struct rs_error *error; /* the first damage; reported at the end */
	int64_t last_ns;
	/* A direct-mapped cache of valid kinds of records: the event of an id with an n_data. */
	struct {
		uint64_t head; /* without the CPU; 0: free */
		const struct rs_event *event;
	} known[KNOWN];
	size_t n;
	struct rs_view views[VIEWS];
	union {
		struct rs_lost lost;
		uint64_t stamp;
	} made[VIEWS]; /* payloads of events that are not in a file */
};

/* ---- records -------------------------------------------------------------------------------- */

uint32_t rs_acrn_n_data(const struct rs_event *event)
{
	if (event->id == SCHED_NEXT)
		return N_16STR;
	if (!event->n_fields || event->fields[0].type == RS_TYPE_U64)
		return N_2L;
	return event->fields[0].type == RS_TYPE_U32 ? N_4I : N_6C;
}

static uint32_t n_data_of(uint64_t head)
{
	return (uint8_t)(head >> RS_N_DATA_SHIFT);
}

const struct rs_event *rs_acrn_declare_raw(struct rs_schema *schema, uint64_t head)
{
	static const char *const fields[] = {
		[N_2L] = "x64 a, x64 b",
		[N_4I] = "x32 a, x32 b, x32 c, x32 d",
		[N_6C] = "x8 a, x8 b, x8 c, x8 d, x8 e, x8 f",
		[N_16STR] = "x8 a, x8 b, x8 c, x8 d, x8 e, x8 f, x8 g, x8 h, x8 i, x8 j, x8 k, "
			    "x8 l, x8 m, x8 n, x8 o, x8 p",
	};
	uint64_t id = rs_slot_id(head);
	struct rs_error *err;
	char text[256];
	int len;

	len = snprintf(text, sizeof(text), "raw::id-%llx(%s)", (unsigned long long)id,
		       fields[n_data_of(head)]);
	err = rs_schema_declare(schema, id, text, (size_t)len);
	if (err) {
		rs_error_free(err);
		return NULL;
	}
	return rs_schema_find(schema, id);
}

/* Returns an event for an id that the catalogue lacks, or NULL if there are too many such ids. */
static const struct rs_event *raw_event(struct acrn *a, uint64_t head)
{
	const struct rs_event *event =
		a->n_raw < RS_ACRN_RAW_MAX ? rs_acrn_declare_raw(a->schema, head) : NULL;

	a->n_raw += event != NULL;
	return event;
}

bool rs_acrn_is_record(uint64_t head)
{
	uint32_t n_data = n_data_of(head);
	uint64_t id = rs_slot_id(head);

	return (n_data == N_2L || n_data == N_4I || n_data == N_6C || n_data == N_16STR) &&
	       RS_ID_PROVIDER(id) == RS_IDS_ACRN && id;
}

#define HEAD_MASK ((UINT64_C(1) << RS_CPU_SHIFT) - 1) /* all but the CPU */

/* Returns an id's place in the cache. The ids of handlers differ from the others above bit 12. */
static uint32_t known_at(uint64_t head)
{
	return (uint32_t)(head ^ head >> 12) % KNOWN;
}

/* Returns the event of a record from the cache, or NULL if it is not cached. */
static const struct rs_event *known_event(const struct acrn *a, uint64_t head)
{
	uint32_t at = known_at(head);

	return a->known[at].head == (head & HEAD_MASK) ? a->known[at].event : NULL;
}

/* Returns the event of a record, or NULL if the record is invalid. */
static const struct rs_event *event_of(struct acrn *a, uint64_t head)
{
	const struct rs_event *event = known_event(a, head);

	if (event || !rs_acrn_is_record(head))
		return event;
	event = rs_schema_find(a->schema, rs_slot_id(head));
	if (!event) {
		event = raw_event(a, head);
	} else if (rs_acrn_n_data(event) != n_data_of(head) &&
		   strcmp(event->class_name, "raw") != 0) {
		a->odd++; /* and a cached entry would hide the next one */
		return event;
	}
	a->known[known_at(head)].head = head & HEAD_MASK;
	a->known[known_at(head)].event = event;
	return event;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Keeps the first error. Later ones are of the same kind, and are only counted. */
static void keep_error(struct acrn *a, struct rs_error *err)
{
	if (a->error)
		rs_error_free(err);
	else
		a->error = err;
}

static void damage(struct acrn *a, struct file *f, const struct rs_slot *slot)
{
	if (!a->error)
		a->error = rs_error_create(
			RS_DAMAGED,
			"%s: offset %llu: not a record of ACRN's (id 0x%llx, n_data %u); it "
			"and similar records are left out",
			f->path, (unsigned long long)(f->offset + f->at),
			(unsigned long long)rs_slot_id(slot->head), n_data_of(slot->head));
	f->damaged++;
	a->foreign.tally.left_out++;
	a->foreign.tally.lost++;
}

static void file_end(struct acrn *a, struct file *f)
{
	uint32_t left = f->end - f->at;

	f->ended = true;
	if (!left)
		return;
	keep_error(a, rs_error_create(RS_DAMAGED, "%s: offset %llu: the file ends %s into a record",
				      f->path, (unsigned long long)(f->offset + f->at),
				      RS_COUNT_OF(left, "byte")));
	f->damaged++;
	a->foreign.tally.left_out++;
	a->foreign.tally.lost++;
}

/* Fills the buffer after the rest that was not consumed. */
static void file_fill(struct acrn *a, struct file *f)
{
	uint8_t *bytes = (uint8_t *)f->buffer;
	ssize_t n;

	memmove(bytes, bytes + f->at, f->end - f->at);
	f->offset += f->at;
	f->end -= f->at;
	f->at = 0;
	while (f->end < RS_SLOT_BYTES) {
		n = read(f->fd, bytes + f->end, SLOTS * RS_SLOT_BYTES - f->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			keep_error(a, rs_error_errno(errno, "%s: offset %llu", f->path,
						     (unsigned long long)(f->offset + f->end)));
			f->ended = true;
			return;
		}
		if (!n) {
			file_end(a, f);
			return;
		}
		f->end += (uint32_t)n;
	}
}

static const struct rs_slot *slot_at(const struct file *f)
{
	return &f->buffer[f->at / RS_SLOT_BYTES];
}

/* Advances to the next valid record. Returns false if the views made so far must be consumed
 * first. */
static bool file_advance(struct acrn *a, struct file *f)
{
	while (!f->event && !f->ended) {
		const struct rs_slot *slot;

		if (f->end - f->at < RS_SLOT_BYTES) {
			if (f->held)
				return false;
			file_fill(a, f);
			continue;
		}
		slot = slot_at(f);
		f->event = event_of(a, slot->head);
		if (f->event) {
			f->next_tsc = slot->tsc < f->last_tsc ? f->last_tsc : slot->tsc;
			return true;
		}
		damage(a, f, slot);
		f->at += RS_SLOT_BYTES;
	}
	return true;
}

/* ---- views ---------------------------------------------------------------------------------- */

static struct rs_view *emit(struct acrn *a, const struct file *f, const struct rs_event *event,
			    uint64_t tsc)
{
	struct rs_view *view = &a->views[a->n++];
	int64_t ns = rs_clock_ns(&a->foreign.clock, tsc);

	if (ns < a->last_ns) { /* half the range of stamps after the first: not a time */
		ns = a->last_ns;
		a->far++;
	}
	*view = (struct rs_view){ .ts_ns = ns,
				  .tsc = tsc,
				  .event = event,
				  .stream = &f->stream,
				  .payload = (const uint8_t *)&a->made[a->n - 1],
				  .payload_bytes = event->fixed_bytes,
				  .cpu = f->cpu };
	a->last_ns = view->ts_ns;
	return view;
}

static void emit_lost(struct acrn *a, struct file *f, uint64_t tsc)
{
	if (!f->damaged)
		return;
	a->made[a->n].lost = (struct rs_lost){ .count = f->damaged,
					       .from = f->last_tsc ? f->last_tsc : tsc,
					       .to = tsc,
					       .why = RS_LOST_DAMAGED };
	emit(a, f, rs_schema_find(a->schema, RS_ID_LOST), tsc);
	f->damaged = 0;
}

/* Emits a file's current record, and the losses before it. */
static void emit_record(struct acrn *a, struct file *f)
{
	const struct rs_slot *slot = slot_at(f);
	uint64_t tsc = f->next_tsc;
	struct rs_view *view;

	emit_lost(a, f, tsc);
	if (slot->tsc != tsc) {
		a->made[a->n].stamp = slot->tsc;
		emit(a, f, rs_schema_find(a->schema, RS_ID_CLOCK_BACK), tsc);
		a->backed++;
	}
	view = emit(a, f, f->event, tsc);
	view->payload = slot->payload;
	view->payload_bytes = sizeof(slot->payload);
	view->cpu = rs_view_cpu(&f->stream, slot->head);
	f->last_tsc = tsc;
	f->event = NULL;
	f->at += RS_SLOT_BYTES;
	f->held = true;
	a->foreign.tally.records++;
}

/* Emits records of a file up to a record that has a loss before it, or that is later than another
 * file's next record. Returns their number. This is the fast path of most records. */
static size_t emit_run(struct acrn *a, struct file *f, uint64_t until)
{
	const struct rs_slot *slot = slot_at(f), *end;
	struct rs_view *view = &a->views[a->n];
	size_t n = (f->end - f->at) / RS_SLOT_BYTES;
	uint64_t tsc = f->last_tsc;
	int64_t ns = a->last_ns;

	for (end = slot + (n < VIEWS - a->n ? n : VIEWS - a->n); slot < end; slot++) {
		const struct rs_event *event = known_event(a, slot->head);
		int64_t then = rs_clock_ns(&a->foreign.clock, slot->tsc);

		if (!event || slot->tsc < tsc || slot->tsc >= until || then < ns)
			break;
		tsc = slot->tsc;
		ns = then;
		*view++ = (struct rs_view){ .ts_ns = ns,
					    .tsc = tsc,
					    .event = event,
					    .stream = &f->stream,
					    .payload = slot->payload,
					    .payload_bytes = sizeof(slot->payload),
					    .cpu = rs_view_cpu(&f->stream, slot->head) };
	}
	n = (size_t)(view - &a->views[a->n]);
	a->last_ns = ns;
	a->n += n;
	a->foreign.tally.records += n;
	f->last_tsc = tsc;
	f->at += (uint32_t)(n * RS_SLOT_BYTES);
	f->held = f->held || n;
	f->event = n ? NULL : f->event;
	return n;
}

/* Returns whether f's record comes before g's. Equal stamps are in the order of the files. */
static bool before(const struct file *f, const struct file *g)
{
	return f->next_tsc < g->next_tsc || (f->next_tsc == g->next_tsc && f < g);
}

static int by_record(const void *a, const void *b)
{
	struct file *const *f = a, *const *g = b;

	return before(*f, *g) ? -1 : 1;
}

/* Moves the first file to its place among the sorted others, or removes it if it has ended. */
static void place_first(struct acrn *a)
{
	struct file *f = a->order[0];
	uint32_t at = 0;

	for (; at + 1 < a->n_order && (!f->event || before(a->order[at + 1], f)); at++)
		a->order[at] = a->order[at + 1];
	a->order[at] = f;
	a->n_order -= !f->event;
}

/* Collects views of a batch. Returns whether there may be more records. */
static bool gather(struct acrn *a)
{
	while (a->n_order && a->n + VIEWS_RECORD <= VIEWS) {
		struct file *f = a->order[0];
		uint64_t until = a->n_order > 1 ? a->order[1]->next_tsc : UINT64_MAX;

		if (!f->event) {
			if (!file_advance(a, f))
				return true;
			place_first(a);
		} else if (f->damaged || !emit_run(a, f, until)) {
			emit_record(a, f);
		}
	}
	return a->n_order > 0;
}

/* Reports damage at the end, after the last valid record. */
static void flush(struct acrn *a)
{
	uint64_t tsc = 0;

	for (uint32_t i = 0; i < a->n_files; i++)
		tsc = a->files[i].last_tsc > tsc ? a->files[i].last_tsc : tsc;
	if (!tsc)
		tsc = a->foreign.clock.origin;
	for (uint32_t i = 0; i < a->n_files && a->n < VIEWS; i++)
		emit_lost(a, &a->files[i], tsc);
}

static void remarks_at_end(struct acrn *a)
{
	struct rs_foreign_tally *tally = &a->foreign.tally;
	const struct rs_foreign_count counts[] = {
		{ a->odd, "record", "whose n_data differs within their event" },
		{ a->backed, "stamp", "earlier than the stamp before" },
		{ a->far, "stamp", "too far from the first to be a time" },
		{ tally->left_out, "record", "left out: invalid" },
	};

	if (a->n_raw)
		rs_foreign_remark(tally, "%u ids are not in the catalogue: acrn:raw", a->n_raw);
	rs_foreign_remark_counts(tally, counts, sizeof(counts) / sizeof(counts[0]));
}

static struct rs_error *acrn_next(struct rs_source *source, struct rs_batch *batch)
{
	struct acrn *a = (struct acrn *)source;
	struct rs_error *err = NULL;
	bool more;

	a->n = 0;
	for (uint32_t i = 0; i < a->n_files; i++)
		a->files[i].held = false;
	more = gather(a);
	if (!more && !a->n)
		flush(a);
	*batch = (struct rs_batch){ .kind = a->n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = a->views,
				    .n = a->n,
				    .watermark_ns = a->last_ns };
	if (batch->kind == RS_NEXT_END) {
		remarks_at_end(a);
		err = a->error;
		a->error = NULL;
	}
	return err;
}

static void acrn_destroy(struct rs_source *source)
{
	struct acrn *a = (struct acrn *)source;

	for (uint32_t i = 0; i < a->n_files; i++) {
		struct file *f = &a->files[i];

		if (f->fd >= 0)
			close(f->fd);
		free(f->path);
		free(f->buffer);
	}
	free(a->files);
	free(a->order);
	free(a->foreign.streams);
	rs_schema_destroy(a->schema);
	rs_error_free(a->error);
	free(a);
}

static const struct rs_source_ops acrn_ops = {
	.name = "acrn",
	.next = acrn_next,
	.destroy = acrn_destroy,
};

/* ---- making one ----------------------------------------------------------------------------- */

/* Returns the number that a file's name consists of, or RS_UNKNOWN if the name is not a number. */
static int number_of(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	name = name ? name + 1 : path;
	digits = strspn(name, "0123456789");
	if (!digits || name[digits] || digits > 6)
		return RS_UNKNOWN;
	return atoi(name);
}

static struct rs_error *acrn_create(uint32_t n_files, struct acrn **out)
{
	struct acrn *a = calloc(1, sizeof(*a));
	struct rs_error *err;

	if (!a)
		return rs_error_no_memory();
	a->foreign.source.ops = &acrn_ops;
	a->last_ns = INT64_MIN;
	a->files = calloc(n_files + 1, sizeof(*a->files));
	a->order = calloc(n_files + 1, sizeof(*a->order));
	a->foreign.streams = calloc(n_files + 1, sizeof(struct rs_stream *));
	err = a->files && a->order && a->foreign.streams ? rs_schema_create("acrn", &a->schema)
							 : rs_error_no_memory();
	if (!err)
		err = rs_schema_add_catalogue(a->schema, "acrn");
	if (err)
		acrn_destroy(&a->foreign.source);
	else
		*out = a;
	return err;
}

/* Takes ownership of fd, also after an error. */
static struct rs_error *file_add(struct acrn *a, int fd, const char *path, const void *head,
				 size_t bytes)
{
	struct file *f = &a->files[a->n_files];

	*f = (struct file){ .fd = fd, .end = (uint32_t)bytes, .cpu = RS_UNKNOWN };
	f->stream = (struct rs_stream){ .index = a->n_files,
					.vcpu = RS_UNKNOWN,
					.cpu = number_of(path),
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = a->schema,
					.clock = &a->foreign.clock };
	a->foreign.streams[a->n_files++] = &f->stream;
	a->foreign.n_streams = a->n_files;
	f->path = strdup(path);
	f->buffer = aligned_alloc(RS_SLOT_BYTES, SLOTS * RS_SLOT_BYTES);
	if (!f->path || !f->buffer)
		return rs_error_no_memory();
	memcpy(f->buffer, head, bytes);
	return NULL;
}

/* Reads the first record of each file, to find the time zero and the file's CPU. */
static struct rs_error *begin(struct acrn *a, const struct rs_foreign_options *options)
{
	struct rs_clock *clock = &a->foreign.clock;
	bool given = options && options->freq_hz;
	bool any = false;

	*clock = (struct rs_clock){ .name = "tsc",
				    .freq_hz = given ? options->freq_hz : FREQ_CYCLES,
				    .invariant = true };
	snprintf(clock->freq_from, sizeof(clock->freq_from), "%s",
		 given ? "option" : RS_ACRN_FREQ_UNKNOWN);
	for (uint32_t i = 0; i < a->n_files; i++) {
		struct file *f = &a->files[i];
		uint32_t cpu;

		file_advance(a, f);
		if (!f->event)
			continue;
		a->order[a->n_order++] = f;
		cpu = (uint32_t)(slot_at(f)->head >> RS_CPU_SHIFT);
		/* If the file's name and the 8 bits in its records differ, the records take
		 * precedence. */
		if (f->stream.cpu != RS_UNKNOWN && (f->stream.cpu & 0xff) != (int)cpu)
			f->stream.cpu = RS_UNKNOWN;
		f->cpu = rs_view_cpu(&f->stream, slot_at(f)->head);
		if (!any || f->next_tsc < clock->origin)
			clock->origin = f->next_tsc;
		any = true;
	}
	qsort(a->order, a->n_order, sizeof(a->order[0]), by_record);
	if (!given)
		rs_foreign_remark(
			&a->foreign.tally,
			"the TSC's frequency is not in these files: times are cycles; give --freq");
	return rs_clock_init(clock);
}

struct rs_error *rs_acrn_open_fd(int fd, const char *path, const void *head, size_t bytes,
				 const struct rs_foreign_options *options,
				 struct rs_foreign **foreign)
{
	struct acrn *a;
	struct rs_error *err = acrn_create(1, &a);

	if (err) {
		close(fd);
		return err;
	}
	err = file_add(a, fd, path, head, bytes);
	if (!err)
		err = begin(a, options);
	if (err)
		acrn_destroy(&a->foreign.source);
	else
		*foreign = &a->foreign;
	return err;
}

static int is_number(const struct dirent *entry)
{
	return number_of(entry->d_name) != RS_UNKNOWN;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return number_of((*a)->d_name) - number_of((*b)->d_name);
}

static struct rs_error *open_all(struct acrn *a, const char *path, struct dirent **names,
				 uint32_t n)
{
	struct rs_error *err = NULL;
	char *full;
	int fd;

	for (uint32_t i = 0; !err && i < n; i++) {
		if (asprintf(&full, "%s/%s", path, names[i]->d_name) < 0)
			return rs_error_no_memory();
		err = rs_given_open(full, RS_GIVEN_FILE, &fd);
		if (!err)
			err = file_add(a, fd, full, "", 0);
		free(full);
	}
	return err;
}

static void names_free(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
}

struct rs_error *rs_acrn_open_directory(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign)
{
	struct dirent **names;
	struct rs_error *err;
	struct acrn *a;
	int n = scandir(path, &names, is_number, by_number);

	if (n < 0)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	if (!n || n > (int)FILES_MAX)
		err = rs_error_create(
			RS_USAGE,
			"%s: %d files in it have the number of a CPU as their name; expected "
			"1 to %u",
			path, n, FILES_MAX);
	else
		err = acrn_create((uint32_t)n, &a);
	if (!err) {
		err = open_all(a, path, names, (uint32_t)n);
		if (!err)
			err = begin(a, options);
		if (err)
			acrn_destroy(&a->foreign.source);
		else
			*foreign = &a->foreign;
	}
	names_free(names, n);
	return err;
}

/* ---- telling them from others --------------------------------------------------------------- */

bool rs_acrn_is_file(const uint8_t *head, size_t bytes)
{
	uint64_t words[2];
	struct acrn *a;
	const struct rs_event *event;
	struct rs_error *err;
	bool is;

	if (bytes < sizeof(words))
		return false;
	memcpy(words, head, sizeof(words));
	if (!words[0] || RS_ID_PROVIDER(rs_slot_id(words[1])) != RS_IDS_ACRN)
		return false;
	err = acrn_create(0, &a);
	if (err) {
		rs_error_free(err);
		return false;
	}
	event = rs_schema_find(a->schema, rs_slot_id(words[1]));
	is = event && rs_acrn_n_data(event) == n_data_of(words[1]);
	acrn_destroy(&a->foreign.source);
	return is;
}

/* Returns 1 for a file of ACRN's, 0 for an empty file, -1 for any other file. */
static int classify_file(const char *path, const char *name)
{
	uint8_t head[RS_ACRN_HEAD_MAX];
	struct stat st;
	ssize_t n = -1;
	char *full;
	int fd;

	if (asprintf(&full, "%s/%s", path, name) < 0)
		return -1;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	free(full);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		n = read(fd, head, sizeof(head));
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return (int)n;
	return rs_acrn_is_file(head, (size_t)n) ? 1 : -1;
}

bool rs_acrn_is_directory(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, is_number, by_number);
	bool any = false, other = n > (int)FILES_MAX;

	for (int i = 0; i < n && !other; i++) {
		int is = classify_file(path, names[i]->d_name);

		any = any || is > 0;
		other = is < 0;
	}
	names_free(names, n);
	return any && !other;
}
