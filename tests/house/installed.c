/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that uses the installed library: traces itself into the given directory, reads the
 * trace back and checks it.
 */
#include <stdio.h>
#include <string.h>
#include <ringside/reader.h>
#include <ringside/recorder.h>
#include <ringside/trace.h>

#define TURNS 7919

RS_TRACE_CLASS(app, 0)
RS_DEFINE_EVENT(turn, app, "turn", (u64, number));

struct count {
	struct rs_sink sink;
	uint64_t turns, wrong;
};

static struct rs_error *count_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct count *count = (struct count *)(void *)sink;

	for (size_t i = 0; i < n; i++) {
		const struct rs_event *event = views[i].event;

		if (strcmp(event->probe, "mine:app::turn"))
			continue;
		if (rs_field_value(&event->fields[0], views[i].payload) != count->turns++)
			count->wrong++;
	}
	return NULL;
}

static const struct rs_sink_ops count_ops = { .name = "count", .events = count_events };

static struct rs_error *record(const char *directory)
{
	struct rs_recorder_options options = { .directory = directory };
	struct rs_recorder_summary summary;
	struct rs_recorder *recorder;
	struct rs_error *err;

	err = rs_clock_host(&options.clock);
	if (!err)
		err = rs_trace_start(&(struct rs_trace_options){ .provider = "mine" });
	if (!err)
		err = rs_recorder_create(&options, &recorder);
	if (err)
		return err;
	err = rs_recorder_add_trace(recorder);
	for (uint64_t i = 0; !err && i < TURNS; i++) {
		RS_SPAN(app, "turning");
		RS_EMIT(turn, .number = i);
	}
	rs_trace_stop();
	if (err) {
		rs_error_free(rs_recorder_close(recorder, &summary));
		return err;
	}
	return rs_recorder_close(recorder, &summary);
}

static struct rs_error *read_back(const char *directory, struct count *count)
{
	const volatile bool stop = false;
	struct rs_source *source;
	struct rs_trace *trace;
	struct rs_error *err;

	err = rs_trace_open(directory, &trace);
	if (err)
		return err;
	err = rs_trace_source(trace, &source);
	if (!err) {
		err = rs_run(source, NULL, &count->sink, &stop);
		rs_source_destroy(source);
	}
	rs_trace_close(trace);
	return err;
}

int main(int argc, char **argv)
{
	struct count count = { .sink.ops = &count_ops };
	struct rs_error *err;

	if (argc != 2)
		return 2;
	err = record(argv[1]);
	if (!err)
		err = read_back(argv[1], &count);
	if (err) {
		fprintf(stderr, "%s\n", rs_error_text(err));
		rs_error_free(err);
		return 1;
	}
	if (count.turns != TURNS || count.wrong) {
		fprintf(stderr, "%llu turns, %llu of them wrong\n",
			(unsigned long long)count.turns, (unsigned long long)count.wrong);
		return 1;
	}
	return 0;
}
