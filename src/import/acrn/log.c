/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a log's text files as events. */
#include "import/acrn/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "import/acrn/log_files.h"
#include "import/log_text.h"

#define VIEWS	    64u
#define VIEWS_ITEM  4u	/* the most views of one item: two losses, a clock-back, itself */
#define VIEWS_HELD  32u /* views that follow a loss before it is handed out; see hole */
#define HOLES	    64u /* the most holes that are remembered */
#define HANDED_OUT  UINT32_MAX
#define THREADS_MAX 256u /* threads with a separate stream; others share the log's */
#define FREQ_US	    UINT64_C(1000000)
#define ANEW_US	    INT64_C(1000000)   /* the most delay of a reader: ACRN polls each 999 ms */
#define US_MAX	    (INT64_C(1) << 50) /* 35 years */
#define TSC_MAX	    (UINT64_C(1) << 62)

struct payload {
	union {
		struct rs_lost lost;
		uint64_t stamp;
		struct {
			struct rs_log_message head;
			uint16_t bytes;
			char text[RS_LOG_TEXT_MAX];
		} __attribute__((packed)) line;
	};
};

struct thread {
	char *name, *vm;
	struct rs_stream stream;
};

/* Numbers that no line has had. Lines of other CPUs may come later and fill it, so a loss is handed
 * out only after VIEWS_HELD further views. */
struct hole {
	uint64_t first, last;
	uint64_t unmarked, lost; /* of them: in no gap that is reported, and in one */
	uint32_t view;		 /* the loss: its index, or HANDED_OUT */
};

struct log {
	struct rs_foreign foreign;
	const struct rs_clock *clock; /* own, or of the traces in the same directory */
	struct rs_schema *schema;
	struct rs_log_text *text;
	struct rs_log_item item; /* the next */
	bool has_item;
	struct rs_stream stream; /* the stream of lines without a thread, and of losses */
	uint32_t first_stream;
	struct thread *threads;
	uint32_t n_threads;
	/* Of the run: the offset that is added to its µs; the number expected next, 0 before its
	 * first line. */
	int64_t base_us;
	uint64_t due;
	int64_t last_us; /* with base_us */
	uint64_t last_tsc;
	int last_cpu;
	/* Not yet reported: gaps, by the log's own count; damage. */
	uint64_t gap, gap_from, damaged;
	bool gap_open; /* the size of one of them is unknown */
	int gap_cpu;
	uint64_t unmarked, late, backed, runs, filled;
	uint64_t last_seq; /* of the run's last line, which may be a late one */
	struct hole holes[HOLES];
	uint32_t n_holes;	/* ever */
	struct rs_error *error; /* the first damage; reported at the end */
	int64_t last_ns;
	uint32_t n, n_handed; /* the views, and those of them that the last next() handed out */
	struct rs_view views[VIEWS];
	struct payload payloads[VIEWS];
};

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Converts µs to a stamp. Returns false if the time is absurd. */
static bool stamp_of(const struct log *log, int64_t base_us, uint64_t us, uint64_t *tsc)
{
	__int128 sum = (__int128)us + base_us;
	__int128 stamp = sum * (__int128)log->clock->freq_hz / FREQ_US;

	if (sum < 0 || sum > US_MAX || stamp > (__int128)TSC_MAX)
		return false;
	*tsc = (uint64_t)stamp;
	return true;
}

/* ---- streams -------------------------------------------------------------------------------- */

/* Parses a name such as "vm0:vcpu1". *vm_bytes: the length of the VM's name. */
static bool vcpu_of(const char *name, int *vcpu, size_t *vm_bytes)
{
	int vm, number, end = 0;

	if (sscanf(name, "vm%5d:vcpu%5d%n", &vm, &number, &end) != 2 || name[end] || vm < 0 ||
	    number < 0)
		return false;
	*vcpu = number;
	*vm_bytes = strcspn(name, ":");
	return true;
}

static struct rs_stream stream_make(struct log *log, uint32_t index)
{
	return (struct rs_stream){ .index = log->first_stream + index,
				   .vcpu = RS_UNKNOWN,
				   .cpu = RS_UNKNOWN,
				   .tid = RS_UNKNOWN,
				   .dom = RS_UNKNOWN,
				   .schema = log->schema,
				   .clock = log->clock };
}

static struct rs_error *thread_add(struct log *log, const char *name)
{
	struct thread *thread = &log->threads[log->n_threads];
	size_t vm_bytes;

	*thread = (struct thread){ .name = strdup(name),
				   .stream = stream_make(log, log->n_threads + 1) };
	if (!thread->name)
		return rs_error_no_memory();
	thread->stream.thread = thread->name;
	if (vcpu_of(name, &thread->stream.vcpu, &vm_bytes)) {
		thread->stream.cpu = RS_CPU_EACH;
		thread->vm = strndup(name, vm_bytes);
		if (!thread->vm) {
			free(thread->name);
			return rs_error_no_memory();
		}
		thread->stream.vm = thread->vm;
	}
	log->n_threads++;
	return NULL;
}

static struct rs_error *stream_of(struct log *log, const struct rs_log_line *line,
				  const struct rs_stream **stream)
{
	char name[RS_LOG_TEXT_MAX + 1];

	*stream = &log->stream;
	if (!line->thread || !line->thread_bytes)
		return NULL;
	memcpy(name, line->thread, line->thread_bytes);
	name[line->thread_bytes] = '\0';
	rs_utf8_mend(name, line->thread_bytes);
	for (uint32_t i = 0; i < log->n_threads; i++) {
		if (!strcmp(log->threads[i].name, name)) {
			*stream = &log->threads[i].stream;
			return NULL;
		}
	}
	if (log->n_threads == THREADS_MAX)
		return NULL;
	*stream = &log->threads[log->n_threads].stream;
	return thread_add(log, name);
}

/* ---- views ---------------------------------------------------------------------------------- */

static struct payload *emit(struct log *log, const struct rs_stream *stream, uint64_t id, int cpu)
{
	const struct rs_event *event = rs_schema_find(log->schema, id);
	struct payload *payload = &log->payloads[log->n];
	int64_t ns = rs_clock_ns(log->clock, log->last_tsc);

	if (ns > log->last_ns)
		log->last_ns = ns;
	log->views[log->n++] = (struct rs_view){ .ts_ns = log->last_ns,
						 .tsc = log->last_tsc,
						 .event = event,
						 .stream = stream,
						 .payload = (const uint8_t *)payload,
						 .payload_bytes = event->fixed_bytes,
						 .cpu = cpu };
	return payload;
}

static void emit_lost(struct log *log, uint64_t count, uint64_t from, int cpu, uint32_t why)
{
	struct payload *payload = emit(log, &log->stream, RS_ID_LOST, cpu);

	payload->lost = (struct rs_lost){ .count = count,
					  .from = from < log->last_tsc ? from : log->last_tsc,
					  .to = log->last_tsc,
					  .why = why };
	log->foreign.tally.lost = add(log->foreign.tally.lost, count);
}

/* Removes n views from `at` on. */
static void views_remove(struct log *log, uint32_t at, uint32_t n)
{
	memmove(&log->views[at], &log->views[at + n], (log->n - at - n) * sizeof(*log->views));
	memmove(&log->payloads[at], &log->payloads[at + n],
		(log->n - at - n) * sizeof(*log->payloads));
	log->n -= n;
	for (uint32_t i = at; i < log->n; i++)
		log->views[i].payload = (const uint8_t *)&log->payloads[i];
	for (uint32_t i = 0; i < HOLES; i++) {
		struct hole *hole = &log->holes[i];

		if (hole->view != HANDED_OUT && hole->view >= at)
			hole->view = hole->view < at + n ? HANDED_OUT : hole->view - n;
	}
}

/* Returns how many views can be handed out: those before a recent loss, unless all are due. */
static uint32_t views_due(const struct log *log, bool all)
{
	uint32_t n = log->n;

	for (uint32_t i = 0; i < HOLES && !all; i++) {
		uint32_t view = log->holes[i].lost ? log->holes[i].view : HANDED_OUT;

		if (view >= VIEWS - VIEWS_HELD && view < n)
			n = view;
	}
	return n;
}

/* ---- losses --------------------------------------------------------------------------------- */

static void hole_add(struct log *log, const struct hole *hole)
{
	if (hole->unmarked || hole->lost)
		log->holes[log->n_holes++ % HOLES] = *hole;
}

/* Takes a late line back from the number of missing ones. */
static void hole_fill(struct log *log, uint64_t seq)
{
	for (uint32_t i = 0; i < HOLES; i++) {
		struct hole *hole = &log->holes[i];

		if (seq < hole->first || seq > hole->last)
			continue;
		if (hole->unmarked) {
			hole->unmarked--;
			log->unmarked--;
		} else if (hole->lost && hole->view == HANDED_OUT) {
			hole->lost--;
			log->filled++;
		} else if (hole->lost) {
			hole->lost--;
			log->foreign.tally.lost--;
			if (!--log->payloads[hole->view].lost.count)
				views_remove(log, hole->view, 1);
		}
		return;
	}
}

/* Emits the losses that were not yet reported, before line number seq at last_tsc. missing: the
 * number of line numbers before it that no line has had since the highest one. acrnlog reports a
 * gap where a number is above the last line's by more than one, even if that line came late: such a
 * gap may have no missing line. */
static void emit_losses(struct log *log, uint64_t before, uint64_t seq, uint64_t missing)
{
	struct hole hole = { .first = seq - missing, .last = seq - 1, .view = HANDED_OUT };
	bool is_explained = log->due && seq > log->last_seq + 1;

	if (log->gap_open && missing > log->gap) {
		log->gap = missing; /* the gap's size is unknown: take it from the line numbers */
	} else if (log->gap_open && !is_explained) {
		log->gap = add(log->gap, log->gap == 0);
		log->foreign.tally.gaps++;
	}
	hole.lost = missing < log->gap ? missing : log->gap;
	missing -= hole.lost;
	missing -= missing < log->damaged ? missing : log->damaged;
	hole.unmarked = missing;
	log->unmarked = add(log->unmarked, missing);
	if (log->gap) {
		hole.view = log->n;
		emit_lost(log, log->gap, log->gap_from, log->gap_cpu, RS_LOST_FULL);
	}
	hole_add(log, &hole);
	if (log->damaged)
		emit_lost(log, log->damaged, before, RS_UNKNOWN, RS_LOST_DAMAGED);
	log->gap = log->damaged = 0;
	log->gap_open = false;
}

static struct rs_error *emit_line(struct log *log, const struct rs_log_line *line, uint64_t tsc)
{
	const struct rs_stream *stream;
	struct rs_error *err = stream_of(log, line, &stream);
	struct payload *payload;

	if (err)
		return err;
	if (tsc < log->last_tsc) {
		emit(log, stream, RS_ID_CLOCK_BACK, (int)line->cpu)->stamp = tsc;
		log->backed++;
	}
	payload = emit(log, stream, RS_ID_LOG, (int)line->cpu);
	payload->line.head = (struct rs_log_message){ .seq = line->seq, .level = line->level };
	payload->line.bytes = (uint16_t)line->message_bytes;
	memcpy(payload->line.text, line->message, line->message_bytes);
	rs_utf8_mend(payload->line.text, line->message_bytes);
	log->views[log->n - 1].payload_bytes += line->message_bytes;
	log->foreign.tally.records++;
	return NULL;
}

/* ---- items ---------------------------------------------------------------------------------- */

static void keep_error(struct log *log, struct rs_error *err)
{
	if (log->error)
		rs_error_free(err);
	else
		log->error = err;
}

static void damaged(struct log *log, struct rs_error *err)
{
	keep_error(log, err);
	log->damaged++;
	log->foreign.tally.left_out++;
}

/* Begins a new run at a line whose number is not above the last one's, and whose time is too early
 * for a delayed line. */
static void run_detect(struct log *log, const struct rs_log_line *line)
{
	int64_t us = log->base_us + (int64_t)line->us;

	if (!log->due || line->seq >= log->due)
		return;
	if (line->seq != 1 && us + ANEW_US >= log->last_us)
		return;
	log->runs++;
	log->due = 0;
	memset(log->holes, 0, sizeof(log->holes));
	if (us < log->last_us)
		log->base_us += log->last_us - us;
}

static struct rs_error *add_line(struct log *log, const struct rs_log_item *item)
{
	const struct rs_log_line *line = &item->line;
	uint64_t before = log->last_tsc, missing = 0, tsc;
	struct rs_error *err;

	if (!line->seq || line->seq == UINT64_MAX || line->cpu > INT16_MAX ||
	    !stamp_of(log, 0, line->us, &tsc)) {
		damaged(log, rs_error_create(RS_DAMAGED,
					     "%s: line %llu: invalid number %llu, CPU %u "
					     "or time %lluus",
					     item->path, (unsigned long long)item->number,
					     (unsigned long long)line->seq, line->cpu,
					     (unsigned long long)line->us));
		return NULL;
	}
	run_detect(log, line);
	if (!stamp_of(log, log->base_us, line->us, &tsc))
		tsc = log->last_tsc; /* the runs together last longer than the clock can count */
	if (log->due && line->seq < log->due) {
		log->late++;
		hole_fill(log, line->seq);
	} else if (log->due) {
		missing = line->seq - log->due;
	}
	if (tsc > log->last_tsc)
		log->last_tsc = tsc;
	emit_losses(log, before ? before : log->last_tsc, line->seq, missing);
	err = emit_line(log, line, tsc);
	log->last_seq = line->seq;
	log->due = line->seq + 1 > log->due ? line->seq + 1 : log->due;
	log->last_us = log->base_us + (int64_t)line->us;
	return err;
}

/* Returns the CPU of a gap, or RS_UNKNOWN if the gap has several CPUs, or no known CPU. */
static int one_cpu(const struct rs_log_gap *gap)
{
	int cpu = RS_UNKNOWN;

	for (int i = 0; i < (int)RS_LOG_LANES_MAX; i++) {
		if (!(gap->cpus[i / 64] >> i % 64 & 1))
			continue;
		if (cpu != RS_UNKNOWN)
			return RS_UNKNOWN;
		cpu = i;
	}
	return cpu;
}

static void add_gap(struct log *log, const struct rs_log_item *item)
{
	bool first = !log->gap && !log->gap_open;
	uint64_t from = log->last_tsc;

	if (item->kind == RS_LOG_ITEM_GAP_OPEN) {
		log->gap_open = true;
	} else {
		log->gap = add(log->gap, item->gap.last - item->gap.first + 1);
		if (item->gap.from_us != UINT64_MAX)
			stamp_of(log, log->base_us, item->gap.from_us, &from);
	}
	if (first)
		log->gap_from = from;
	log->gap_cpu = first && item->kind == RS_LOG_ITEM_GAP ? one_cpu(&item->gap) : RS_UNKNOWN;
}

static struct rs_error *add_item(struct log *log, struct rs_log_item *item)
{
	if (item->error && item->kind != RS_LOG_ITEM_DAMAGE) {
		keep_error(log, item->error);
		item->error = NULL;
	}
	switch (item->kind) {
	case RS_LOG_ITEM_LINE:
		return add_line(log, item);
	case RS_LOG_ITEM_GAP:
	case RS_LOG_ITEM_GAP_OPEN:
		add_gap(log, item);
		return NULL;
	case RS_LOG_ITEM_DAMAGE:
		damaged(log, item->error);
		item->error = NULL;
		return NULL;
	case RS_LOG_ITEM_END:
		return NULL;
	}
	return NULL;
}

/* ---- as a source ---------------------------------------------------------------------------- */

static void remarks_at_end(struct log *log)
{
	const struct rs_log_text_sum sum = rs_log_text_sum(log->text);
	const struct rs_foreign_count counts[] = {
		{ log->unmarked, "line number",
		  "missing, and no gap reports them: filtered or cut out" },
		{ log->runs, "time",
		  "the line numbers restart: a later run's time continues from the run before" },
		{ log->late, "line", "after a line with a higher number" },
		{ log->filled, "line", "that a loss before counts as lost came later" },
		{ log->backed, "stamp", "earlier than the stamp before" },
		{ sum.joined, "line", "without a head, added to the message before" },
		{ sum.cut, "message", "longer than a line of a log: the rest is left out" },
		{ log->foreign.tally.left_out, "line", "left out: invalid" },
	};

	rs_foreign_remark_counts(&log->foreign.tally, counts, sizeof(counts) / sizeof(counts[0]));
}

static struct rs_error *end(struct log *log, struct rs_batch *batch)
{
	if (log->gap || log->gap_open || log->damaged)
		emit_losses(log, log->last_tsc, log->last_seq, 0);
	if (log->n) {
		batch->kind = RS_NEXT_EVENTS;
		batch->n = log->n_handed = log->n;
		return NULL;
	}
	remarks_at_end(log);
	batch->kind = RS_NEXT_END;
	return NULL;
}

static struct rs_error *log_next(struct rs_source *source, struct rs_batch *batch)
{
	struct log *log = (struct log *)source;
	struct rs_error *err = NULL;

	views_remove(log, 0, log->n_handed);
	while (!err && log->n + VIEWS_ITEM <= VIEWS) {
		if (!log->has_item)
			err = rs_log_text_next(log->text, &log->item);
		if (err) {
			keep_error(log, err);
			err = NULL;
			log->item.kind = RS_LOG_ITEM_END;
		}
		log->has_item = log->item.kind == RS_LOG_ITEM_END;
		if (log->has_item)
			break;
		err = add_item(log, &log->item);
	}
	log->n_handed = views_due(log, log->has_item);
	*batch = (struct rs_batch){ .kind = RS_NEXT_EVENTS,
				    .views = log->views,
				    .n = log->n_handed };
	if (!err && !log->n)
		err = end(log, batch);
	batch->watermark_ns =
		log->n_handed < log->n ? log->views[log->n_handed].ts_ns : log->last_ns;
	if (!err && batch->kind == RS_NEXT_END) {
		err = log->error;
		log->error = NULL;
	}
	return err;
}

static void log_destroy(struct rs_source *source)
{
	struct log *log = (struct log *)source;

	for (uint32_t i = 0; i < log->n_threads; i++) {
		free(log->threads[i].name);
		free(log->threads[i].vm);
	}
	free(log->threads);
	free(log->foreign.streams);
	rs_log_text_destroy(log->text);
	rs_error_free(log->item.error);
	rs_error_free(log->error);
	rs_schema_destroy(log->schema);
	free(log);
}

static const struct rs_source_ops log_ops = {
	.name = "acrnlog",
	.next = log_next,
	.destroy = log_destroy,
};

/* ---- making one ----------------------------------------------------------------------------- */

/* Sets the clock, which begins with the first line, and handles the items before that line. */
static struct rs_error *begin(struct log *log, const struct rs_foreign_options *options)
{
	struct rs_clock *clock = &log->foreign.clock;
	bool given = options && options->freq_hz;
	struct rs_error *err;

	*clock = (struct rs_clock){ .freq_hz = given ? options->freq_hz : FREQ_US,
				    .invariant = true };
	/* A stamp is cut to a microsecond. */
	clock->error_cycles = clock->freq_hz / FREQ_US + (clock->freq_hz % FREQ_US != 0);
	snprintf(clock->name, sizeof(clock->name), "%s", given ? "tsc" : "log_us");
	snprintf(clock->freq_from, sizeof(clock->freq_from), "%s", given ? "option" : "log");
	do {
		err = rs_log_text_next(log->text, &log->item);
		log->has_item = !err && (log->item.kind == RS_LOG_ITEM_LINE ||
					 log->item.kind == RS_LOG_ITEM_END);
		if (!err && !log->has_item)
			add_item(log, &log->item);
	} while (!err && !log->has_item);
	if (err)
		return err;
	if (log->item.kind == RS_LOG_ITEM_LINE)
		stamp_of(log, 0, log->item.line.us, &clock->origin);
	log->gap_from = log->last_tsc = clock->origin;
	return rs_clock_init(clock);
}

static struct rs_error *parts_make(struct log *log, const char *provider)
{
	struct rs_error *err = rs_schema_create(provider, &log->schema);

	log->threads = calloc(THREADS_MAX, sizeof(*log->threads));
	log->foreign.streams = calloc(1, sizeof(struct rs_stream *));
	if (err)
		return err;
	if (!log->threads || !log->foreign.streams)
		return rs_error_no_memory();
	log->clock = &log->foreign.clock;
	log->stream = stream_make(log, 0);
	log->stream.thread = "log";
	log->foreign.streams[0] = &log->stream;
	log->foreign.n_streams = 1;
	return NULL;
}

/* Takes ownership of fd, also after an error. */
static struct rs_error *log_create(const struct rs_log_names *names, int fd, const void *head,
				   size_t bytes, const struct rs_foreign_options *options,
				   struct rs_foreign **foreign)
{
	struct log *log = calloc(1, sizeof(*log));
	struct rs_error *err;

	if (!log) {
		if (fd >= 0)
			close(fd);
		return rs_error_no_memory();
	}
	err = rs_log_text_create((const char *const *)names->paths, names->n, fd, head, bytes,
				 &log->text);
	log->foreign.source.ops = &log_ops;
	log->last_ns = INT64_MIN;
	if (!err)
		err = parts_make(log, names->provider);
	if (!err)
		err = begin(log, options);
	if (err)
		log_destroy(&log->foreign.source);
	else
		*foreign = &log->foreign;
	return err;
}

void rs_acrn_log_set_clock(struct rs_foreign *foreign, const struct rs_clock *clock,
			   uint32_t first_stream)
{
	struct log *log = (struct log *)foreign;

	log->clock = clock;
	log->first_stream = first_stream;
	log->stream.clock = clock;
	log->stream.index = first_stream;
}

struct rs_error *rs_acrn_log_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign)
{
	struct rs_log_names names;
	struct rs_error *err = rs_log_names_one(path, &names);

	if (err) {
		close(fd);
		return err;
	}
	err = log_create(&names, fd, head, bytes, options, foreign);
	rs_log_names_free(&names);
	return err;
}

struct rs_error *rs_acrn_log_open_name(const char *path, const struct rs_foreign_options *options,
				       struct rs_foreign **foreign)
{
	struct rs_log_names names;
	struct rs_error *err = rs_log_names_of(path, &names);

	if (err)
		return err;
	err = log_create(&names, -1, "", 0, options, foreign);
	rs_log_names_free(&names);
	return err;
}

struct rs_error *rs_acrn_log_open_directory(const char *path,
					    const struct rs_foreign_options *options,
					    struct rs_foreign **foreign)
{
	char *log = NULL;
	bool last = false;
	struct rs_error *err = rs_log_names_in(path, &log, &last);

	if (!err)
		err = rs_acrn_log_open_name(log, options, foreign);
	if (!err && last)
		rs_foreign_remark(&(*foreign)->tally,
				  "the files that a crash left (*_last.*) are of another run, with "
				  "another clock: read them by their name, without the numbers");
	free(log);
	return err;
}
