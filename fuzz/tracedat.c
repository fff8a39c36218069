/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace-cmd's files, in three ways, which the first byte selects.
 *
 *	0	the file unchanged: it may crash libtracecmd in a child, but not us
 *	1	hostile output of such a child
 *	2	records for events whose formats are known: event u8, bytes
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/tracedat/tracedat.h"
#include "import/tracedat/map.h"
#include "import/tracedat/wire.h"

#include "fuzz.h"
#include "mutate.h"

#define STUCK_MS 3000

static void read_all(struct rs_foreign *foreign)
{
	struct fuzz_sink sink = FUZZ_SINK(false);

	MUST(foreign->clock.freq_hz);
	for (uint32_t i = 0; i < foreign->n_streams; i++)
		MUST(foreign->streams[i]->schema && foreign->streams[i]->cpu >= 0);
	fuzz_drop(rs_run(&foreign->source, NULL, &sink.sink, NULL));
	MUST(foreign->tally.n_remarks <= RS_FOREIGN_REMARKS);
	rs_source_destroy(&foreign->source);
}

static int memory_file(const struct fuzz_input *in)
{
	int fd = memfd_create("tracedat", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, in->at, in->left) == (ssize_t)in->left);
	MUST(!lseek(fd, 0, SEEK_SET));
	return fd;
}

static void whole_file(const struct fuzz_input *in)
{
	struct rs_foreign *foreign;
	struct rs_error *err;
	char path[64];
	int fd = memory_file(in);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = rs_tracedat_open_within(path, STUCK_MS, &foreign);
	if (!err)
		read_all(foreign);
	fuzz_drop(err);
	close(fd);
}

static void child_messages(const struct fuzz_input *in)
{
	struct rs_foreign *foreign;
	struct rs_error *err = rs_tracedat_open_pipe(memory_file(in), STUCK_MS, &foreign);

	if (!err)
		read_all(foreign);
	fuzz_drop(err);
}

/* ---- records ------------------------------------------------------------------------------ */

#define COMMON                                                                                     \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const struct {
	const char *system, *format;
} formats[] = {
	{ "kvm", "name: kvm_exit\nID: 1\n" COMMON
		 "\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
		 "\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
		 "\tfield:u32 isa;\toffset:24;\tsize:4;\tsigned:0;\n"
		 "\tfield:u64 info1;\toffset:32;\tsize:8;\tsigned:0;\n\n"
		 "print fmt: \"%u\", REC->isa\n" },
	{ "kvm", "name: kvm_exit\nID: 2\n" COMMON
		 "\tfield:unsigned long sepc;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:unsigned long scause;\toffset:16;\tsize:8;\tsigned:0;\n\n"
		 "print fmt: \"%lu\", REC->sepc\n" },
	{ "sched", "name: sched_switch\nID: 3\n" COMMON
		   "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		   "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		   "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
		   "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
		   "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\n"
		   "print fmt: \"%d\", REC->prev_pid\n" },
	{ "any", "name: loc\nID: 4\n" COMMON
		 "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
		 "\tfield:__rel_loc char[] other;\toffset:12;\tsize:4;\tsigned:0;\n"
		 "\tfield:__data_loc u32[] list;\toffset:16;\tsize:4;\tsigned:0;\n"
		 "\tfield:u8 bytes[15];\toffset:20;\tsize:15;\tsigned:0;\n\n"
		 "print fmt: \"%s\", __get_str(name)\n" },
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static struct tep_handle *tep;
static struct rs_schema *kvm;
static struct rs_tracedat_event events[N_FORMATS];

static void formats_read(void)
{
	if (tep)
		return;
	tep = tep_alloc();
	MUST(tep && !rs_schema_create("kvm", &kvm) && !rs_schema_add_catalogue(kvm, "kvm"));
	for (uint32_t i = 0; i < N_FORMATS; i++) {
		struct tep_event *format = NULL;

		MUST(!tep_parse_format(tep, &format, formats[i].format, strlen(formats[i].format),
				       formats[i].system));
		rs_tracedat_plan(&events[i], format, kvm);
	}
	MUST(events[0].n_plans == 2 && events[1].n_plans == 1 && events[2].n_plans == 2);
	MUST(events[3].own.n_texts == 4);
}

static void record(struct fuzz_input *in)
{
	const struct rs_tracedat_event *event;
	uint8_t payload[RS_RECORD_PAYLOAD_MAX], *data;
	uint32_t bytes;
	char text[4096];

	formats_read();
	event = &events[fuzz_u8(in) % N_FORMATS];
	bytes = (uint32_t)in->left;
	data = malloc(bytes + 1); /* separate copies, so that a read beyond them is detected */
	memcpy(data, in->at, bytes);
	data = realloc(data, bytes ? bytes : 1);
	for (uint32_t i = 0; i < event->n_plans; i++) {
		uint32_t n = rs_tracedat_known(&event->plans[i], tep, data, bytes, payload);

		MUST(!n || n == event->plans[i].event->fixed_bytes);
	}
	MUST(rs_ftrace_payload(&event->own, tep, data, bytes, payload) <= sizeof(payload));
	MUST(rs_ftrace_declare(&event->own, text, sizeof(text)) < sizeof(text));
	free(data);
}

/* ---- a mutated input ------------------------------------------------------------------------- */

#define PLAIN_1_IN 4u /* mutants that libFuzzer makes of the whole input */
/* A whole file costs a process, a hundred times the cost of the others: few inputs become one. */
#define FILES_1_IN 256u

/* Chooses one of a child's messages, with equal chances. Returns whether there is any. */
static bool message_pick(struct fuzz_mutant *m, struct fuzz_part *message)
{
	const size_t head = sizeof(struct rs_tracedat_head);
	uint32_t n = 0;

	for (size_t at = 1; m->size - at >= head;) {
		size_t bytes = fuzz_get_u32(m, at);

		if (bytes < head || bytes > m->size - at || bytes > RS_TRACEDAT_MESSAGE_MAX)
			break;
		if (!fuzz_pick(m, ++n))
			*message = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/*
 * Changes a number of a message after its size, without which the rest would not be messages; or
 * repeats or removes it.
 */
static void message_mutate(struct fuzz_mutant *m, struct fuzz_part message)
{
	uint8_t copy[RS_TRACEDAT_MESSAGE_MAX];

	switch (fuzz_pick(m, 6)) {
	case 0:
		memcpy(copy, m->data + message.at, message.bytes);
		fuzz_splice(m, message.at, 0, copy, message.bytes);
		break;
	case 1:
		fuzz_splice(m, message.at, message.bytes, NULL, 0);
		break;
	default:
		fuzz_mutate_fixed(
			m, message.at + 4 + fuzz_pick(m, (uint32_t)message.bytes / 4 - 1) * 4, 4);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct fuzz_mutant m = { data, size, most, seed };
	struct fuzz_part message = { 0 };

	if (size && data[0] == 1 && fuzz_pick(&m, PLAIN_1_IN) && message_pick(&m, &message))
		message_mutate(&m, message);
	else
		m.size = LLVMFuzzerMutate(data, size, most);
	if (m.size && !data[0] && fuzz_pick(&m, FILES_1_IN))
		data[0] = (uint8_t)(1 + fuzz_pick(&m, 2));
	return m.size;
}

/* ---- an input -------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	switch (fuzz_u8(&in)) {
	case 0:
		whole_file(&in);
		break;
	case 1:
		child_messages(&in);
		break;
	default:
		record(&in);
	}
	return 0;
}
