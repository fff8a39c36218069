// SPDX-License-Identifier: BSD-2-Clause
/*
 * Push-down of aggregations: a program that gets only the sums and the kept records of a filter in
 * the kernel prints the same as one that gets every event. Programs are written here, and some
 * hundred are made at random. The hash of the sums is the test's own; tests/lang/push.test uses the
 * session's.
 */
#include "push_kit.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "event/filter_sum.h"

/*
 * ---- sums, with the layout of kvm/sums.bpf.h
 * -------------------------------------------------------
 */

#define SUMS 4096u

struct kept {
	uint64_t key[RS_FILTER_KEYS];
	uint32_t number, bin;
	struct rs_filter_sum sum;
};

static struct kept sums[SUMS];
static uint32_t n_sums, room = SUMS;

static struct kept *sum_find(const struct rs_filter *filter, const uint64_t *row, bool makes)
{
	uint32_t how = (row[0] >> RS_FILTER_HOW) & 0xff, number = (row[0] & 0xffff) - 1;
	uint32_t bin = rs_filter_bin(how, row);
	const uint64_t *key = row + RS_FILTER_KEY + RS_FILTER_KEY_HEAD;
	struct kept *kept;

	for (uint32_t i = 0; i < n_sums; i++) {
		kept = &sums[i];
		if (kept->number == number && kept->bin == bin &&
		    !memcmp(kept->key, key, filter->n_keys * 8))
			return kept;
	}
	if (!makes || n_sums == room)
		return NULL;
	kept = &sums[n_sums++];
	*kept = (struct kept){ .number = number, .bin = bin };
	memcpy(kept->key, key, filter->n_keys * 8);
	return kept;
}

/* Updates all of the rows, or none, and then returns false. */
static bool sums_add(const struct rs_filter *filter, const struct stand *stand, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (stand->rows[i][0] && !sum_find(filter, stand->rows[i], true))
			return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *row = stand->rows[i];

		if (row[0])
			rs_filter_add(&sum_find(filter, row, false)->sum,
				      (row[0] >> RS_FILTER_HOW) & 0xff, row);
	}
	return true;
}

static struct rs_error *sums_give(void *ctx, struct rs_script *script, int64_t before_ns)
{
	(void)ctx, (void)before_ns;
	for (uint32_t i = 0; i < n_sums; i++) {
		const struct rs_filter_row row = { .number = sums[i].number,
						   .bin = sums[i].bin,
						   .keys = sums[i].key,
						   .sum = sums[i].sum };

		if (row.sum.n)
			rs_script_receive(script, &row);
	}
	n_sums = 0;
	return NULL;
}

static const char *const vms[] = { "", "one", "two", "three", "one", "four" };

static const char *vm_of(void *ctx, uint64_t thread)
{
	(void)ctx;
	return vms[thread < 6 ? thread : 0];
}

/*
 * ---- a program, run in two ways
 * --------------------------------------------------------------------
 */

struct run {
	struct rs_script *script;
	struct rs_sink *sink;
	struct rs_out out;
	int fd;
};

static struct rs_clock clock_ns = { .freq_hz = 1000000000 };

static struct rs_error *begin(struct run *run, const char *text, struct rs_filter *filter)
{
	const struct rs_push_options options = {
		.schema = schema, .provider = RS_IDS_KVM, .sums = sums_give, .vm = vm_of
	};
	const struct rs_script_io io = { .out = &run->out,
					 .report = drop_line,
					 .clock = &clock_ns };
	struct rs_error *err = compile(text, &run->script);

	if (err)
		return err;
	run->fd = memfd_create("out", MFD_CLOEXEC);
	err = rs_out_init(&run->out, run->fd);
	if (!err && filter)
		err = rs_script_push(run->script, &options, filter);
	return err ? err : rs_script_start(run->script, &io, &run->sink);
}

/* Returns its output, which the caller frees. */
static char *end(struct run *run)
{
	off_t bytes;
	char *said;

	CHECK_OK(run->sink->ops->end(run->sink));
	CHECK_OK(rs_out_flush(&run->out));
	bytes = lseek(run->fd, 0, SEEK_END);
	said = calloc(1, (size_t)bytes + 1);
	CHECK(pread(run->fd, said, (size_t)bytes, 0) == bytes);
	rs_out_deinit(&run->out);
	close(run->fd);
	rs_script_destroy(run->script);
	return said;
}

static bool fire_one(struct run *run, const struct rs_event *event, const struct stand *stand,
		     const struct rs_stream *stream)
{
	const struct rs_view view = { .event = event,
				      .stream = stream,
				      .payload = (const uint8_t *)(stand->words + RS_FILTER_HEAD),
				      .payload_bytes = sizeof(stand->words) - RS_FILTER_HEAD * 8,
				      .cpu = (int)stand->cpu };

	return CHECK_OK(run->sink->ops->events(run->sink, &view, 1));
}

static const struct rs_event *done_of(const struct rs_event *event)
{
	struct rs_event done = *event;

	done.id |= RS_FILTER_DONE;
	CHECK_OK(rs_schema_add(schema, &done));
	return rs_schema_find(schema, done.id);
}

struct tally {
	uint32_t programs, refused, added, kept, undone, records;
};

/* Applies the filter's decision on a record. */
static bool filtered(struct run *run, const struct rs_filter *filter, int program, int map,
		     struct stand *stand, const struct rs_stream *stream, struct tally *tally)
{
	bool keeps = true, added = false;

	if (filter->n) {
		if (!CHECK(stand_run(program, map, stand)))
			return false;
		keeps = stand->verdict & RS_FILTER_KEEP;
		if (stand->verdict & RS_FILTER_ADD) {
			added = sums_add(filter, stand, (uint32_t)(stand->verdict >> RS_FILTER_N));
			keeps |= !added;
		}
	}
	tally->records++;
	tally->added += added;
	tally->kept += keeps;
	tally->undone += keeps && !added;
	return !keeps || fire_one(run, added ? done_of(about) : about, stand, stream);
}

#define RECORDS 40

/* Events for the program, among others of the same source. */
static const struct rs_event *events[2];

/* Some records occur more than once, and so do keys. */
static bool feed(struct run runs[2], const struct rs_filter *filter, int program, int map,
		 struct tally *tally)
{
	struct rs_stream streams[RECORDS];
	struct stand stands[RECORDS];

	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t at = i < RECORDS / 2 ? i : chance(RECORDS / 2);

		about = events[at & 1];
		if (at == i) {
			streams[i] = (struct rs_stream){ .cpu = -1, .schema = schema };
			record_make(&stands[i], about, &streams[i]);
			streams[i].vm = vms[stands[i].thread];
		}
		if (!fire_one(&runs[0], about, &stands[at], &streams[at]) ||
		    !filtered(&runs[1], filter, program, map, &stands[at], &streams[at], tally))
			return false;
	}
	return true;
}

static bool try_one(const char *text, int map, struct tally *tally)
{
	struct run runs[2] = { { 0 } };
	struct rs_filter filter = { 0 };
	struct rs_error *err = begin(&runs[0], text, NULL);
	int program = -1;
	char *said[2];
	bool good;

	if (err) {
		rs_script_destroy(runs[0].script);
		rs_error_free(err);
		tally->refused++;
		return true;
	}
	tally->programs++;
	if (!CHECK_OK(begin(&runs[1], text, &filter)))
		return false;
	n_sums = 0;
	if (filter.n)
		program = stand_load(&filter, map);
	good = !filter.n || CHECK(program >= 0);
	if (!good)
		printf("# %s\n# %.3000s\n", text, verifier_says);
	good = good && feed(runs, &filter, program, map, tally);
	if (program >= 0)
		close(program);
	for (uint32_t i = 0; i < 2; i++)
		said[i] = end(&runs[i]);
	if (good && !CHECK(!strcmp(said[1], said[0]))) {
		printf("# %s\n# events: %s\n# sums: %s\n", text, said[0], said[1]);
		good = false;
	}
	free(said[0]);
	free(said[1]);
	return good;
}

/* ---- random programs ------------------------------------------------------------------------ */

static void key(char **at, const char *end)
{
	static const char *const texts[] = { "probename", "vm", "probeprov", "\"text\"", "vm" };

	switch (chance(4)) {
	case 0:
		append(at, end, "%s", texts[chance(5)]);
		break;
	case 1:
		append(at, end, "stringof(args.%s)", about->fields[chance(about->n_fields)].name);
		break;
	default:
		expression(at, end, chance(3));
	}
}

/* @a3_2[...] = sum(...): the name contains everything that must be equal in all its uses. */
static void statement(char **at, const char *end)
{
	static const char *const functions[] = { "sum(",       "avg(",	      "min(",	   "max(",
						 "stddev(",    "variance(",   "quantize(", "p(99, ",
						 "lquantize(", "llquantize(", "topk(3, " };
	static const char *const behind[] = {
		"", "", "", "", "", "", "", "", ", -100, 100, 7", ", 10, 0, 6, 20", ""
	};
	static uint32_t serial;
	uint32_t n_keys = chance(4), which = chance(40);

	append(at, end, "@a%u", serial++);
	for (uint32_t i = 0; i < n_keys; i++) {
		append(at, end, i ? ", " : "[");
		key(at, end);
	}
	append(at, end, n_keys ? "] = " : " = ");
	if (which >= 30) {
		append(at, end, "count(); ");
		return;
	}
	which = which < 28 ? which % 10 : 10; /* only the program evaluates topk() */
	append(at, end, "%s", functions[which]);
	expression(at, end, chance(4));
	append(at, end, "%s); ", behind[which]);
}

static void clause(char **at, const char *end)
{
	uint32_t n = 1 + chance(2);

	about = events[chance(2)];
	append(at, end, "%s ", about->probe);
	if (chance(2)) {
		append(at, end, "/");
		expression(at, end, chance(4));
		append(at, end, "/ ");
	}
	append(at, end, "{ ");
	if (!chance(8))
		append(at, end, "n++; ");
	for (uint32_t i = 0; i < n; i++)
		statement(at, end);
	if (!chance(8))
		append(at, end, "printf(\"%%d\\n\", cpu); ");
	append(at, end, "} ");
}

TEST(random_aggregations)
{
	static const char *const probes[] = { "kvm:io::pio", "kvm:user::exit", "kvm:vmx::exit",
					      "kvm:cpu::msr", "kvm:io::mmio" };
	struct tally tally = { 0 };
	int map;

	NEEDS();
	map = stand_map();
	for (uint32_t i = 0; i < 1500; i++) {
		char text[8192], *at = text, *last = text + sizeof(text) - 1;

		events[0] = event_of(probes[i % 5]);
		events[1] = event_of(probes[chance(5)]);
		room = chance(8) ? SUMS : 3; /* and where not all find room */
		append(&at, last, "int n; ");
		for (uint32_t j = chance(3) + 1; j; j--)
			clause(&at, last);
		if (!try_one(text, map, &tally))
			break;
	}
	room = SUMS;
	printf("# %u programs, %u refused; %u records: %u added, %u kept, %u of these undone\n",
	       tally.programs, tally.refused, tally.records, tally.added, tally.kept, tally.undone);
	CHECK(tally.programs > 700);
	CHECK(tally.added > tally.records / 3 && tally.undone > tally.records / 20);
	close(map);
	rs_schema_destroy(schema);
}

TEST(literal_aggregations)
{
	static const char *const programs[] = {
		"kvm:io::pio { @ = count(); }",
		"kvm:io::pio /args.port > 5/ { @[args.port, vm, probename] = sum(args.value); }",
		"kvm:io::pio { @[vcpu] = stddev((int64_t)args.value); @b = avg(-args.value); }",
		"kvm:io::pio { @ = quantize((int64_t)args.value, 3); @c = quantize(args.port); }",
		"kvm:io::pio { @ = lquantize((int64_t)args.value, -5, 100, 1); }",
		"kvm:io::pio { @ = lquantize((int64_t)args.value, -1000000, -999990, 1); }",
		"kvm:io::pio { @[cpu] = llquantize((int64_t)args.value, 2, 0, 10, 2); }",
		"kvm:io::pio { @ = min((int64_t)args.value); @b = max((int8_t)args.value); }",
		"kvm:io::pio { @[tid, pid] = p(50, (int64_t)args.value); }",
		"kvm:io::pio { if (args.port > 300) { @ = count(); } else { @b = sum(1); } }",
		"kvm:io::pio { @[5 / (args.port & 1)] = count(); }",
		"kvm:io::pio { @ = count(); } kvm:io::pio /args.size/ { printf(\"x\\n\"); }",
		"kvm:io::pio { @[args.port] = count(); } kvm:io::pio { @n = topk(2, cpu); }",
		"kvm:io::pio { @[stringof(args.write), stringof(args.port)] = count(); }",
	};
	struct tally tally = { 0 };
	int map;

	NEEDS();
	map = stand_map();
	events[0] = events[1] = event_of("kvm:io::pio");
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		CHECK(try_one(programs[i], map, &tally));
	CHECK_EQ_U64(tally.refused, 0);
	CHECK(tally.added > tally.records / 2);
	close(map);
	rs_schema_destroy(schema);
}

/*
 * Keys that are shown as names and in hexadecimal; variables that only the program can report as
 * unknown.
 */
TEST(keys_of_names_and_addresses)
{
	static const char *const added[] = {
		"kvm:vmx::exit { @[args.reason, args.rip, args.rip & 0xfff] = count(); }",
		"kvm:vmx::exit /args.reason != \"HLT\"/ { @[args.rip >> 60, args.info1] = count(); "
		"}",
	};
	struct tally tally = { 0 };
	int map;

	NEEDS();
	map = stand_map();
	events[0] = events[1] = event_of("kvm:vmx::exit");
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		CHECK(try_one(added[i], map, &tally));
	CHECK_EQ_U64(tally.refused, 0);
	CHECK(tally.added > tally.records / 2);
	tally = (struct tally){ 0 };
	CHECK(try_one("kvm:vmx::exit { @[dom, stackdepth] = count(); }", map, &tally));
	CHECK(tally.records && !tally.added);
	close(map);
	rs_schema_destroy(schema);
}

/* A use of an aggregation that depends on the order of events gets the events. */
TEST(order_dependent_uses_get_the_events)
{
	static const struct {
		const char *text;
		bool adds;
	} programs[] = {
		{ "kvm:io::pio { @ = count(); } END { printa(@); }", true },
		{ "kvm:io::pio { @ = count(); } tick-1s { clear(@); }", true },
		{ "kvm:io::pio { @ = count(); } kvm:io::mmio { clear(@); }", false },
		{ "kvm:io::pio { @ = count(); } ERROR { printa(@); }", false },
		{ "kvm:io::pio { @ = count(); } kvm:io::mmio { exit(0); }", false },
		{ "kvm:io::pio { @ = count(); } tick-1s { exit(0); }", true },
		{ "kvm:io::pio { @ = count(); } tick-100us { printa(@); }", false },
		{ "kvm:io::pio { @ = count(); } tick-100us { n++; }", true },
		{ "kvm:io::pio { @ = count(); @b = topk(2, cpu); }", false },
		{ "kvm:io::pio { @[timestamp] = count(); }", false },
		{ "kvm:io::pio { @ = count(); n++; }", false },
	};

	NEEDS();
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct run run = { 0 };
		struct rs_filter filter = { 0 };

		if (!CHECK_OK(begin(&run, programs[i].text, &filter)))
			break;
		if (!CHECK(filter.adds == programs[i].adds))
			printf("# %s\n", programs[i].text);
		free(end(&run));
	}
	rs_schema_destroy(schema);
}

/* Only ticks that read an aggregation divide the time of its sums. */
TEST(epochs_are_the_common_ticks)
{
	struct run run = { 0 };
	struct rs_filter filter = { 0 };

	NEEDS();
	if (CHECK_OK(begin(&run,
			   "kvm:io::pio { @ = count(); } tick-30ms { printa(@); }"
			   "tick-50ms { clear(@); } tick-7ms { n++; }",
			   &filter))) {
		CHECK_EQ_U64(filter.epoch_ns, 10000000);
		free(end(&run));
	}
	rs_schema_destroy(schema);
}
