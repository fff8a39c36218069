/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the texts to which arguments of tracepoints point, by a BPF program generated for each
 * tracepoint. */
#include "live/tracepoint_text.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <event-parse.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vector.h"

#define COMMON_BYTES 8u	  /* of a record: its type, flags and thread */
#define RECORD_MAX   512u /* bytes of a record whose texts are read */
#define SLOT_BYTES   (sizeof(int64_t) + RS_TRACEPOINT_TEXT_BYTES)
#define OUTPUT_MAX   (RECORD_MAX + RS_TRACEPOINT_TEXTS_MAX * SLOT_BYTES)
#define INSNS_MAX    512u /* RECORD_MAX / 8 * 2, a few more for a shorter end, 10 for each text */

struct rs_tracepoint_reader {
	int outputs; /* map: the CPU's perf event */
	int scratch; /* map: the CPU's room for a record */
	int *programs;
	uint32_t n, room;
};

/* ---- formats ------------------------------------------------------------------------------ */

static bool is_text_pointer(const struct tep_format_field *field)
{
	const char *star = field->type ? strchr(field->type, '*') : NULL;

	return (field->flags & TEP_FIELD_IS_POINTER) && !(field->flags & TEP_FIELD_IS_ARRAY) &&
	       field->size == sizeof(uint64_t) && star && !strchr(star + 1, '*') &&
	       strstr(field->type, "char");
}

static bool field_append(struct tep_event *format, const char *name, const char *suffix,
			 struct tep_format_field shape)
{
	struct tep_format_field **end = &format->format.fields, *field;

	while (*end)
		end = &(*end)->next;
	field = malloc(sizeof(*field));
	if (!field)
		return false;
	*field = shape;
	field->event = format;
	field->type = strdup(shape.type);
	if (asprintf(&field->name, "%s%s", name, suffix) < 0)
		field->name = NULL;
	field->alias = field->name;
	if (!field->type || !field->name) {
		free(field->type);
		free(field->name);
		free(field);
		return false;
	}
	*end = field;
	format->format.nr_fields++;
	return true;
}

/* Adds the fields of the record's n-th text. libtraceevent frees them. */
static bool text_append(struct tep_event *format, const char *name, uint32_t at)
{
	char read[] = "long", text[] = "char";

	return field_append(format, name, RS_TRACEPOINT_READ,
			    (struct tep_format_field){ .type = read,
						       .offset = (int)at,
						       .size = sizeof(int64_t),
						       .flags = TEP_FIELD_IS_SIGNED }) &&
	       field_append(format, name, RS_TRACEPOINT_TEXT,
			    (struct tep_format_field){ .type = text,
						       .offset = (int)(at + sizeof(int64_t)),
						       .size = RS_TRACEPOINT_TEXT_BYTES,
						       .arraylen = RS_TRACEPOINT_TEXT_BYTES,
						       .elementsize = 1,
						       .flags = TEP_FIELD_IS_ARRAY |
								TEP_FIELD_IS_STRING });
}

static uint32_t slot_at(const struct rs_tracepoint_texts *texts, uint32_t index)
{
	return ((texts->record_bytes + 7) & ~7u) + index * (uint32_t)SLOT_BYTES;
}

struct rs_error *rs_tracepoint_texts_plan(struct tep_event *format,
					  struct rs_tracepoint_texts *texts)
{
	const struct tep_format_field *pointers[RS_TRACEPOINT_TEXTS_MAX];
	struct rs_tracepoint_texts t = { .n = 0 };

	*texts = t;
	for (const struct tep_format_field *f = format->format.fields; f; f = f->next) {
		if ((f->flags & TEP_FIELD_IS_DYNAMIC) || f->offset < (int)COMMON_BYTES ||
		    f->size < 0 || (uint32_t)f->offset + (uint32_t)f->size > RECORD_MAX)
			return NULL;
		if ((uint32_t)(f->offset + f->size) > t.record_bytes)
			t.record_bytes = (uint32_t)(f->offset + f->size);
		if (is_text_pointer(f) && t.n < RS_TRACEPOINT_TEXTS_MAX) {
			t.pointers[t.n] = (uint32_t)f->offset;
			pointers[t.n++] = f;
		}
	}
	for (uint32_t i = 0; i < t.n; i++) {
		if (!text_append(format, pointers[i]->name, slot_at(&t, i)))
			return rs_error_no_memory();
	}
	*texts = t;
	return NULL;
}

/* ---- the program -------------------------------------------------------------------------- */

struct code {
	struct bpf_insn insns[INSNS_MAX];
	uint32_t n;
};

#define PUT(c, opcode, dst, src, offset, value)                                                    \
	((c)->insns[(c)->n++] = (struct bpf_insn){ .code = (uint8_t)(opcode),                      \
						   .dst_reg = (dst),                               \
						   .src_reg = (src),                               \
						   .off = (int16_t)(offset),                       \
						   .imm = (int32_t)(value) })
#define MOVE(c, dst, src)	      PUT(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(c, dst, value)	      PUT(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD(c, dst, value)	      PUT(c, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define LOAD(c, size, dst, base, at)  PUT(c, BPF_LDX | BPF_MEM | (size), dst, base, at, 0)
#define STORE(c, size, base, at, src) PUT(c, BPF_STX | BPF_MEM | (size), base, src, at, 0)
#define CALL(c, helper)		      PUT(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper)

static void put_map(struct code *c, uint8_t reg, int fd)
{
	PUT(c, BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_FD, 0, fd);
	PUT(c, 0, 0, 0, 0, 0);
}

/* Loads the CPU's room into r7. Without room, which never happens, the program ends. */
static void put_room(struct code *c, const struct rs_tracepoint_reader *reader)
{
	PUT(c, BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0);
	MOVE(c, 2, 10);
	ADD(c, 2, -4);
	put_map(c, 1, reader->scratch);
	CALL(c, BPF_FUNC_map_lookup_elem);
	PUT(c, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0);
	SET(c, 0, 1);
	PUT(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	MOVE(c, 7, 0);
}

/* Writes the record: its type and thread, which a program's context lacks, and its fields. */
static void put_record(struct code *c, int id, uint32_t bytes)
{
	static const struct {
		uint32_t bytes, size;
	} sizes[] = { { 8, BPF_DW }, { 4, BPF_W }, { 2, BPF_H }, { 1, BPF_B } };
	uint32_t i;

	CALL(c, BPF_FUNC_get_current_pid_tgid);
	PUT(c, BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 32);
	PUT(c, BPF_ALU64 | BPF_OR | BPF_K, 0, 0, 0, id);
	STORE(c, BPF_DW, 7, 0, 0);
	for (uint32_t at = COMMON_BYTES; at < bytes; at += sizes[i].bytes) {
		for (i = 0; at % sizes[i].bytes || at + sizes[i].bytes > bytes;)
			i++;
		LOAD(c, sizes[i].size, 1, 6, at);
		STORE(c, sizes[i].size, 7, at, 1);
	}
}

/* Writes a text. An address in the upper half belongs to the kernel. */
static void put_text(struct code *c, uint32_t pointer, uint32_t slot)
{
	MOVE(c, 1, 7);
	ADD(c, 1, slot + sizeof(int64_t));
	SET(c, 2, RS_TRACEPOINT_TEXT_BYTES);
	LOAD(c, BPF_DW, 3, 6, pointer);
	PUT(c, BPF_JMP | BPF_JSLT | BPF_K, 3, 0, 2, 0);
	CALL(c, BPF_FUNC_probe_read_user_str);
	PUT(c, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	CALL(c, BPF_FUNC_probe_read_kernel_str);
	STORE(c, BPF_DW, 7, slot, 0);
}

static void program_make(struct code *c, const struct rs_tracepoint_reader *reader, int id,
			 const struct rs_tracepoint_texts *texts)
{
	c->n = 0;
	MOVE(c, 6, 1);
	put_room(c, reader);
	put_record(c, id, texts->record_bytes);
	for (uint32_t i = 0; i < texts->n; i++)
		put_text(c, texts->pointers[i], slot_at(texts, i));
	MOVE(c, 1, 6);
	put_map(c, 2, reader->outputs);
	PUT(c, BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, UINT32_MAX); /* BPF_F_CURRENT_CPU */
	MOVE(c, 4, 7);
	SET(c, 5, slot_at(texts, texts->n));
	CALL(c, BPF_FUNC_perf_event_output);
	SET(c, 0, 1);
	PUT(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* ---- the reader --------------------------------------------------------------------------- */

static struct rs_error *refusal(int error, const char *what)
{
	if (error == EPERM || error == EACCES)
		return rs_error_create(
			RS_ABSENT,
			"%s: copyinstr() of a tracepoint's argument needs BPF, which "
			"the kernel does not let user %u use: run it as root (sudo), or "
			"with CAP_BPF and CAP_PERFMON",
			what, (unsigned int)geteuid());
	return rs_error_errno(error, "%s: cannot use BPF, which copyinstr() of an argument needs",
			      what);
}

struct rs_error *rs_tracepoint_reader_create(struct rs_tracepoint_reader **out)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct rs_tracepoint_reader *reader = calloc(1, sizeof(*reader));
	struct rs_error *err;

	if (!reader)
		return rs_error_no_memory();
	reader->scratch = -1;
	reader->outputs = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "rs_outputs", 4, 4,
					 (uint32_t)(n > 0 ? n : 1), NULL);
	if (reader->outputs >= 0)
		reader->scratch = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "rs_scratch", 4,
						 OUTPUT_MAX, 1, NULL);
	if (reader->scratch >= 0) {
		*out = reader;
		return NULL;
	}
	err = refusal(errno, "a tracepoint's texts");
	rs_tracepoint_reader_destroy(reader);
	return err;
}

void rs_tracepoint_reader_destroy(struct rs_tracepoint_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; i < reader->n; i++)
		close(reader->programs[i]);
	free(reader->programs);
	if (reader->scratch >= 0)
		close(reader->scratch);
	if (reader->outputs >= 0)
		close(reader->outputs);
	free(reader);
}

struct rs_error *rs_tracepoint_reader_output(struct rs_tracepoint_reader *reader, int cpu, int fd)
{
	if (bpf_map_update_elem(reader->outputs, &cpu, &fd, BPF_ANY))
		return refusal(errno, "a CPU's output");
	return NULL;
}

struct rs_error *rs_tracepoint_reader_attach(struct rs_tracepoint_reader *reader,
					     const struct tep_event *format,
					     const struct rs_tracepoint_texts *texts, int fd)
{
	char what[256];
	struct code code;
	int program;

	if (!RS_VECTOR_RESERVE(reader->programs, reader->room, reader->n + 1))
		return rs_error_no_memory();
	snprintf(what, sizeof(what), "%s:%s", format->system, format->name);
	program_make(&code, reader, format->id, texts);
	program = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "rs_texts", "Dual BSD/GPL", code.insns,
				code.n, NULL);
	if (program < 0)
		return refusal(errno, what);
	reader->programs[reader->n++] = program;
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? refusal(errno, what) : NULL;
}

struct rs_error *rs_tracepoint_reader_missed(const struct rs_tracepoint_reader *reader,
					     uint64_t *missed)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < reader->n; i++) {
		struct bpf_prog_info info = { .type = 0 };
		uint32_t bytes = sizeof(info);

		if (bpf_obj_get_info_by_fd(reader->programs[i], &info, &bytes))
			return refusal(errno, "cannot read the programs' missed events");
		sum += info.recursion_misses;
	}
	*missed = sum;
	return NULL;
}
