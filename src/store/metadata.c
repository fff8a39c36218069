/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CTF 1.8 metadata (TSDL) from a trace's description. Every integer is aligned to a byte, since
 * payloads are packed; only the event header is aligned to a slot. Field names get a leading
 * underscore, which readers remove, so that none is a keyword of TSDL.
 */
#include "store/describe.h"

#include <inttypes.h>

#include <ringside/record.h>

#define NS_PER_SEC INT64_C(1000000000)

/* Writes a quoted TSDL string; names are valid printable UTF-8. */
static void quoted(FILE *file, const char *text)
{
	putc('"', file);
	for (; text && *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', file);
		putc(*text == '\n' ? ' ' : *text, file);
	}
	putc('"', file);
}

static void integers(FILE *file)
{
	static const struct {
		const char *name;
		int bits, is_signed, base;
	} types[] = {
		{ "u8", 8, 0, 10 },   { "u16", 16, 0, 10 }, { "u32", 32, 0, 10 },
		{ "u64", 64, 0, 10 }, { "s8", 8, 1, 10 },   { "s16", 16, 1, 10 },
		{ "s32", 32, 1, 10 }, { "s64", 64, 1, 10 }, { "x8", 8, 0, 16 },
		{ "x16", 16, 0, 16 }, { "x32", 32, 0, 16 }, { "x64", 64, 0, 16 },
		{ "u48", 48, 0, 16 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		fprintf(file,
			"typealias integer { size = %d; align = 8; signed = %s; base = %d; } "
			":= %s;\n",
			types[i].bits, types[i].is_signed ? "true" : "false", types[i].base,
			types[i].name);
	fputs("typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } "
	      ":= character;\n\n",
	      file);
}

static void trace(FILE *file, const struct rs_describe *describe)
{
	fprintf(file,
		"trace {\n"
		"\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
		"\tpacket.header := struct {\n"
		"\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n"
		"\t\tu64 stream_instance_id;\n\t};\n};\n\n",
		describe->uuid);
}

static void env(FILE *file, const struct rs_describe *describe)
{
	int version[3] = { 0 };

	sscanf(RS_VERSION, "%d.%d.%d", &version[0], &version[1], &version[2]);
	fprintf(file,
		"env {\n\tdomain = \"hypervisor\";\n\ttracer_name = \"ringside\";\n"
		"\ttracer_major = %d;\n\ttracer_minor = %d;\n\ttracer_patchlevel = %d;\n"
		"\tringside_format = %d;\n",
		version[0], version[1], version[2], RS_DESCRIBE_VERSION);
	/* unknown in traces of another host's file */
	if (describe->hostname && *describe->hostname) {
		fputs("\tsysname = \"Linux\";\n\thostname = ", file);
		quoted(file, describe->hostname);
		fputs(";\n", file);
	}
	fputs("\tcommand = ", file);
	quoted(file, describe->command);
	fputs(";\n", file);
	for (uint32_t i = 0; i < describe->n_clocks; i++) {
		const struct rs_clock *clock = describe->clocks[i];

		if (i == 0)
			fprintf(file, "\tstart_tsc = %" PRIu64 ";\n", clock->origin);
		fprintf(file,
			"\tclock_%s_offset_cycles = %" PRId64 ";\n"
			"\tclock_%s_error_cycles = %" PRIu64 ";\n"
			"\tclock_%s_invariant = %d;\n",
			clock->name, clock->offset, clock->name, clock->error_cycles, clock->name,
			clock->invariant);
	}
	for (uint32_t i = 0; i < describe->n_binaries; i++) {
		const struct rs_trace_binary *binary = describe->binaries[i];

		fprintf(file, "\tbinary_%u_path = ", i);
		quoted(file, binary->path);
		if (binary->hash) {
			fprintf(file, ";\n\tbinary_%u_%s = ", i, binary->hash_name);
			quoted(file, binary->hash);
		}
		fprintf(file, ";\n\tbinary_%u_build_id = ", i);
		quoted(file, binary->build_id);
		fputs(";\n", file);
	}
	fputs("};\n\n", file);
}

/*
 * Computes the Unix time of the clock's zero: seconds, and cycles below a second. A guest's counter
 * reached zero `offset` cycles later (or earlier) than the host's. If the time of day is unknown,
 * as in xentrace's files, times count from the counter's zero.
 */
static void clock_block(FILE *file, const struct rs_clock *clock)
{
	__int128 origin = (__int128)clock->origin + clock->offset;
	__int128 zero = (__int128)clock->wall_ns * (__int128)clock->freq_hz -
			origin * NS_PER_SEC; /* in ns times Hz */
	__int128 second = (__int128)NS_PER_SEC * (__int128)clock->freq_hz;
	__int128 sec;
	uint64_t cycles;
	char description[64];

	if (zero < 0)
		zero = 0;
	sec = zero / second;
	cycles = (uint64_t)((zero - sec * second) / NS_PER_SEC);
	snprintf(description, sizeof(description),
		 clock->monotonic ? "CLOCK_MONOTONIC" : "TSC, frequency from: %s",
		 clock->freq_from);

	fprintf(file,
		"clock {\n\tname = %s;\n\tdescription = \"%s\";\n"
		"\tfreq = %" PRIu64 ";\n\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64 ";\n"
		"\tabsolute = %s;\n};\n"
		"typealias integer { size = 64; align = 8; signed = false; "
		"map = clock.%s.value; } := stamp_%s;\n\n",
		clock->name, description, clock->freq_hz, (int64_t)sec, cycles,
		clock->wall_ns ? "true" : "false", clock->name, clock->name);
}

/* Writes the names of a class as an enumeration. Without names, the fields remain numbers. */
static void names(FILE *file, const struct rs_class *class)
{
	uint32_t n = rs_schema_name_count(class->schema);

	if (!n)
		return;
	fprintf(file, "enum names_%u : u32 {\n", class->index);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id;
		const char *text = rs_schema_name_at(class->schema, i, &id);

		putc('\t', file);
		quoted(file, text);
		fprintf(file, " = %u,\n", id);
	}
	fputs("};\n\n", file);
}

static void stream(FILE *file, const struct rs_class *class)
{
	/* Readers use cpu_id as a CPU's number, so the metadata omits it if one is unknown. */
	fprintf(file,
		"stream {\n\tid = %u;\n"
		"\tpacket.context := struct {\n"
		"\t\tstamp_%s timestamp_begin;\n\t\tstamp_%s timestamp_end;\n"
		"\t\tu64 content_size;\n\t\tu64 packet_size;\n\t\tu64 events_discarded;\n"
		"\t\tu64 packet_seq_num;\n\t\t%s;\n\t\tu32 records;\n\t\tx64 check;\n\t};\n"
		"\tevent.header := struct {\n\t\tstamp_%s tsc;\n\t\tu48 id;\n\t} align(%u);\n"
		"\tevent.context := struct {\n"
		"\t\tu8 n_data;\n\t\tenum : u8 { number = 0 ... %u, unknown = %u } cpu;\n\t};\n"
		"};\n\n",
		class->index, class->clock->name, class->clock->name,
		rs_class_has_cpus(class)
			? "u32 cpu_id"
			: "enum : u32 { number = 0 ... 4294967294, unknown = 4294967295 } cpu",
		class->clock->name, RS_SLOT_BYTES * 8, RS_CPU_UNKNOWN - 1, RS_CPU_UNKNOWN);
}

static void field(FILE *file, const struct rs_class *class, const struct rs_field *f)
{
	if (rs_type_is_tail(f->type)) {
		fprintf(file, "\t\tu16 _%s_length;\n", f->name);
	} else if (f->show == RS_SHOW_NAME && rs_schema_name_count(class->schema)) {
		fprintf(file, "\t\tenum names_%u _%s;\n", class->index, f->name);
	} else if (f->show == RS_SHOW_NAME) {
		fprintf(file, "\t\tu32 _%s;\n", f->name);
	} else if (f->show == RS_SHOW_ENUM && f->values) {
		fprintf(file, "\t\tenum : %s { ", rs_field_type_text(f));
		for (const struct rs_enum *v = f->values; v->name; v++) {
			quoted(file, v->name);
			if (f->type >= RS_TYPE_S8)
				fprintf(file, " = %" PRId64 ", ", (int64_t)v->value);
			else
				fprintf(file, " = %" PRIu64 ", ", v->value);
		}
		fprintf(file, "} _%s;\n", f->name);
	} else {
		fprintf(file, "\t\t%s _%s;\n", rs_field_type_text(f), f->name);
	}
}

/* struct rs_xen_record */
static void xen_record(FILE *file)
{
	fprintf(file,
		"\t\tstruct {\n\t\t\tx32 _event;\n\t\t\tu8 _n;\n\t\t\tu8 _stamped;\n"
		"\t\t\tu16 _cpu;\n\t\t\tx32 _words[%d];\n\t\t\tu16 _dom;\n"
		"\t\t\tu16 _vcpu;\n\t\t} _xen;\n",
		RS_XEN_WORDS_MAX);
}

static void event(FILE *file, const struct rs_class *class, const struct rs_event *e)
{
	fputs("event {\n\tname = ", file);
	quoted(file, e->probe);
	fprintf(file, ";\n\tid = %" PRIu64 ";\n\tstream_id = %u;\n", e->id, class->index);
	if (e->n_fields || e->lead_bytes) /* babeltrace2 2.0.4 rejects an empty structure */
		fputs("\tfields := struct {\n", file);
	if (e->lead_bytes)
		xen_record(file);
	for (uint16_t i = 0; i < e->n_fields; i++)
		field(file, class, &e->fields[i]);
	for (uint16_t i = e->n_fields - e->n_tails; i < e->n_fields; i++)
		fprintf(file, "\t\t%s _%s[_%s_length];\n",
			e->fields[i].type == RS_TYPE_STACK ? "x64" : "character", e->fields[i].name,
			e->fields[i].name);
	if (e->n_fields || e->lead_bytes)
		fputs("\t};\n", file);
	fputs("};\n\n", file);
}

void rs_metadata_write(FILE *file, const struct rs_describe *describe)
{
	fputs("/* CTF 1.8 */\n\n", file);
	integers(file);
	trace(file, describe);
	env(file, describe);
	for (uint32_t i = 0; i < describe->n_clocks; i++)
		clock_block(file, describe->clocks[i]);
	for (uint32_t i = 0; i < describe->n_classes; i++) {
		const struct rs_class *class = describe->classes[i];
		uint32_t n = rs_schema_count(class->schema);

		names(file, class);
		stream(file, class);
		for (uint32_t j = 0; j < n; j++)
			event(file, class, rs_schema_event(class->schema, j));
	}
}
