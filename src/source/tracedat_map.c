/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/tracedat_map.h"

#include <stdio.h>
#include <string.h>

#include "event/exit_reason.h"

/* Ids of provider kvm by their symbols. */
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	ID_##symbol = RS_ID(RS_IDS_KVM, n),
enum {
#include <ringside/event/kvm.def>
};
#undef RS_EVENT

#define TEXT_MAX 1024 /* bytes of a record's texts together */

/* ---- the table ---------------------------------------------------------------------------- */

/* A field of ours that has another name in the file. Those not told of have the same; `tid` is
 * common_pid. Several rows for one field are names in different kernels. No name: the event says it
 * by being there, and `mask` is the value. */
struct alias {
	const char *ours, *theirs;
	uint8_t shift;
	uint64_t mask;
};

#define ALIASES_MAX 10

#define MMIO_WRITE 2 /* KVM_TRACE_MMIO_WRITE, include/trace/events/kvm.h */

/* ARM_EXCEPTION_TRAP, arch/arm64/include/asm/kvm_asm.h: esr_ec tells what trapped. */
#define ARM64_TRAP 2

static uint64_t arm64_reason(uint64_t ret, uint64_t esr_ec, uint32_t bytes)
{
	(void)bytes;
	return ret == ARM64_TRAP ? esr_ec : RS_EXIT_ARM64_OTHER | ret;
}

/* scause's interrupt bit is its uppermost (RISC-V privileged architecture, 4.1.8). */
static uint64_t riscv_reason(uint64_t scause, uint64_t other, uint32_t bytes)
{
	uint64_t interrupt = bytes ? scause >> (bytes * 8 - 1) & 1 : 0;

	(void)other;
	return (scause & 0x7fffffff) | interrupt << 31;
}

/*
 * Sources: arch/x86/kvm/trace.h, arch/arm64/kvm/trace_arm.h, arch/riscv/kvm/trace.h,
 * include/trace/events/kvm.h, include/trace/events/sched.h of Linux; older kernels' names too.
 * The state of a thread that is switched out is 0 in its low 8 bits where it was preempted.
 */
static const struct row {
	const char *system, *name;
	uint64_t id;
	const char *needs; /* only where the format has this field */
	uint32_t isa;
	bool of_scheduler, ends;
	uint64_t (*reason)(uint64_t value, uint64_t other, uint32_t bytes);
	const char *reason_of, *reason_other;
	struct alias aliases[ALIASES_MAX];
} rows[] = {
	{ "kvm", "kvm_exit", ID_kvm_vmx_exit, "isa", RS_ISA_VMX,
	  .aliases = { { "reason", "exit_reason", 0, 0xffff },
		       { "flags", "exit_reason", 16, 0 },
		       { "rip", "guest_rip", 0, 0 } } },
	{ "kvm", "kvm_exit", ID_kvm_svm_exit, "isa", RS_ISA_SVM,
	  .aliases = { { "reason", "exit_reason", 0, 0 }, { "rip", "guest_rip", 0, 0 } } },
	{ "kvm", "kvm_exit", ID_kvm_arm64_exit, "esr_ec", 0, .reason = arm64_reason,
	  .reason_of = "ret", .reason_other = "esr_ec", .aliases = { { "pc", "vcpu_pc", 0, 0 } } },
	{ "kvm", "kvm_exit", ID_kvm_riscv_exit, "scause", 0, .reason = riscv_reason,
	  .reason_of = "scause", .aliases = { { "pc", "sepc", 0, 0 } } },
	{ "kvm", "kvm_userspace_exit", ID_kvm_user_exit },
	{ "kvm", "kvm_entry", ID_kvm_entry,
	  .aliases = { { "rip", "vcpu_pc", 0, 0 }, { "rip", "pc", 0, 0 } } },
	{ "kvm", "kvm_vcpu_wakeup", ID_kvm_wakeup, .aliases = { { "halted", "ns", 0, 0 } } },
	{ "kvm", "kvm_nested_vmexit", ID_kvm_nested_exit,
	  .aliases = { { "code", "exit_reason", 0, 0 },
		       { "code", "exit_code", 0, 0 },
		       { "rip", "guest_rip", 0, 0 } } },
	{ "kvm", "kvm_pio", ID_kvm_pio,
	  .aliases = { { "write", "rw", 0, 0 }, { "value", "val", 0, 0 } } },
	{ "kvm", "kvm_mmio", ID_kvm_mmio,
	  .aliases = { { "size", "len", 0, 0 }, { "value", "val", 0, 0 } } },
	/* A write that an eventfd took: KVM neither decodes it nor says more. */
	{ "kvm", "kvm_fast_mmio", ID_kvm_mmio, .aliases = { { "type", NULL, 0, MMIO_WRITE } } },
	{ "kvm", "kvm_msr", ID_kvm_msr,
	  .aliases = { { "msr", "ecx", 0, 0 },
		       { "value", "data", 0, 0 },
		       { "fault", "exception", 0, 0 } } },
	{ "kvm", "kvm_cpuid", ID_kvm_cpuid,
	  .aliases = { { "leaf", "function", 0, 0 }, { "subleaf", "index", 0, 0 } } },
	{ "kvm", "kvm_hypercall", ID_kvm_hypercall },
	{ "kvm", "kvm_inj_virq", ID_kvm_interrupt,
	  .aliases = { { "vector", "irq", 0, 0 }, { "again", "reinjected", 0, 0 } } },
	{ "kvm", "kvm_page_fault", ID_kvm_page_fault,
	  .aliases = { { "rip", "guest_rip", 0, 0 }, { "address", "fault_address", 0, 0 } } },
	{ "sched", "sched_switch", ID_kvm_off_cpu, .of_scheduler = true,
	  .aliases = { { "tid", "prev_pid", 0, 0 },
		       { "state", "prev_state", 0, 0xff },
		       { "next", "next_pid", 0, 0 } } },
	{ "sched", "sched_switch", ID_kvm_on_cpu, .of_scheduler = true,
	  .aliases = { { "tid", "next_pid", 0, 0 }, { "prev", "prev_pid", 0, 0 } } },
	{ "sched", "sched_wakeup", ID_kvm_sched_wakeup, .of_scheduler = true,
	  .aliases = { { "tid", "pid", 0, 0 }, { "by", "common_pid", 0, 0 } } },
	{ "sched", "sched_wakeup_new", ID_kvm_sched_wakeup, .of_scheduler = true,
	  .aliases = { { "tid", "pid", 0, 0 }, { "by", "common_pid", 0, 0 } } },
	{ "sched", "sched_process_exit", ID_kvm_thread_end, .of_scheduler = true, .ends = true,
	  .aliases = { { "tid", "pid", 0, 0 } } },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- fields of the file ------------------------------------------------------------------- */

static bool is_integer(const struct tep_format_field *field)
{
	return !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	       field->offset >= 0 &&
	       (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

/* An array is told as text: of char as it is, of others its bytes in hexadecimal. */
static bool is_array(const struct tep_format_field *field)
{
	return (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) && field->offset >= 0 &&
	       field->size > 0;
}

static bool is_char(const struct tep_format_field *field)
{
	return (field->flags & TEP_FIELD_IS_STRING) && field->type && strstr(field->type, "char");
}

/* Where a field stands; nowhere, if the format has none of this name. */
static struct rs_tracedat_copy copy_of(struct tep_event *format, const char *name)
{
	const struct tep_format_field *field = name ? tep_find_any_field(format, name) : NULL;

	if (!field || !is_integer(field))
		return (struct rs_tracedat_copy){ 0 };
	return (struct rs_tracedat_copy){ .from = (uint32_t)field->offset,
					  .from_bytes = (uint32_t)field->size,
					  .is_signed = field->flags & TEP_FIELD_IS_SIGNED };
}

bool rs_tracedat_get(const struct rs_tracedat_copy *copy, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, uint64_t *value)
{
	uint64_t raw;

	*value = copy->constant;
	if (!copy->from_bytes)
		return true;
	if (copy->from > bytes || copy->from_bytes > bytes - copy->from)
		return false;
	raw = tep_read_number(tep, data + copy->from, (int)copy->from_bytes);
	if (copy->is_signed && copy->from_bytes < sizeof(raw)) {
		uint64_t sign = UINT64_C(1) << (copy->from_bytes * 8 - 1);

		raw = (raw ^ sign) - sign;
	}
	raw >>= copy->shift;
	*value = copy->mask ? raw & copy->mask : raw;
	return true;
}

/* ---- plans -------------------------------------------------------------------------------- */

/* What a field of ours is copied from. */
static struct rs_tracedat_copy source_of(const struct row *row, struct tep_event *format,
					 const struct rs_field *field)
{
	struct rs_tracedat_copy copy = { 0 };
	bool named = false;

	for (uint32_t i = 0; i < ALIASES_MAX && row->aliases[i].ours && !copy.from_bytes; i++) {
		if (strcmp(row->aliases[i].ours, field->name) != 0)
			continue;
		named = true;
		if (!row->aliases[i].theirs) {
			copy.constant = row->aliases[i].mask;
			continue;
		}
		copy = copy_of(format, row->aliases[i].theirs);
		copy.shift = row->aliases[i].shift;
		copy.mask = row->aliases[i].mask;
	}
	if (!named && !strcmp(field->name, "tid"))
		copy = copy_of(format, "common_pid");
	else if (!copy.from_bytes && !copy.constant)
		copy = copy_of(format, field->name);
	copy.to = field->offset;
	copy.to_bytes = rs_type_bytes(field->type);
	return copy;
}

static void plan_row(struct rs_tracedat_plan *plan, const struct row *row, struct tep_event *format,
		     const struct rs_event *event)
{
	*plan = (struct rs_tracedat_plan){ .event = event,
					   .of_scheduler = row->of_scheduler,
					   .ends = row->ends,
					   .isa = row->isa,
					   .isa_from = copy_of(format, "isa"),
					   .reason = row->reason,
					   .reason_from = copy_of(format, row->reason_of),
					   .other_from = copy_of(format, row->reason_other) };
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		if (field->type == RS_TYPE_TEXT)
			continue;
		plan->copies[plan->n] = source_of(row, format, field);
		if (!strcmp(field->name, "tid"))
			plan->tid_from = plan->copies[plan->n];
		if (row->reason && !strcmp(field->name, "reason")) {
			plan->reason_to = field->offset;
			plan->copies[plan->n].from_bytes = 0;
		}
		plan->n++;
	}
}

static void plan_known(struct rs_tracedat_event *event, const struct rs_schema *kvm)
{
	struct tep_event *format = event->format;

	for (uint32_t i = 0; i < N_ROWS && event->n_plans < RS_TRACEDAT_PLANS; i++) {
		const struct row *row = &rows[i];
		const struct rs_event *known = rs_schema_find(kvm, row->id);

		if (!known || strcmp(row->system, format->system) != 0 ||
		    strcmp(row->name, format->name) != 0 ||
		    (row->needs && !tep_find_field(format, row->needs)))
			continue;
		plan_row(&event->plans[event->n_plans++], row, format, known);
		event->is_kvm |= !row->of_scheduler;
	}
}

/* As an event of its own: the thread, the integers, then the texts as one. */
static void plan_own(struct rs_tracedat_event *event)
{
	struct rs_tracedat_copy *tid = &event->copies[event->n++];

	*tid = event->tid_from;
	tid->to_bytes = sizeof(uint32_t);
	event->fixed_bytes = tid->to_bytes;
	for (struct tep_format_field *f = event->format->format.fields; f; f = f->next) {
		if (is_array(f) && event->n_texts < RS_FIELDS_MAX) {
			event->texts[event->n_texts++] = f;
		} else if (is_integer(f) && event->n < RS_FIELDS_MAX - 1) { /* one for the text */
			struct rs_tracedat_copy *copy = &event->copies[event->n++];

			*copy = copy_of(event->format, f->name);
			copy->to = event->fixed_bytes;
			copy->to_bytes = (uint32_t)f->size;
			event->fixed_bytes += copy->to_bytes;
		} else {
			event->left_out++;
		}
	}
}

void rs_tracedat_plan(struct rs_tracedat_event *event, struct tep_event *format,
		      const struct rs_schema *kvm)
{
	*event = (struct rs_tracedat_event){ .format = format,
					     .tid_from = copy_of(format, "common_pid") };
	plan_known(event, kvm);
	if (event->is_kvm)
		event->vcpu_from = copy_of(format, "vcpu_id");
	plan_own(event);
}

/* ---- payloads ----------------------------------------------------------------------------- */

/* Integers into a payload. All are little endian there, whatever they were. */
static bool copy_all(const struct rs_tracedat_copy *copies, uint32_t n, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t value;

		if (!rs_tracedat_get(&copies[i], tep, data, bytes, &value))
			return false;
		memcpy(payload + copies[i].to, &value, copies[i].to_bytes);
	}
	return true;
}

uint32_t rs_tracedat_known(const struct rs_tracedat_plan *plan, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	uint64_t value, other;
	uint32_t reason;

	if (!copy_all(plan->copies, plan->n, tep, data, bytes, payload))
		return 0;
	if (plan->reason) {
		if (!rs_tracedat_get(&plan->reason_from, tep, data, bytes, &value) ||
		    !rs_tracedat_get(&plan->other_from, tep, data, bytes, &other))
			return 0;
		reason = (uint32_t)plan->reason(value, other, plan->reason_from.from_bytes);
		memcpy(payload + plan->reason_to, &reason, sizeof(reason));
	}
	return plan->event->fixed_bytes;
}

/* An array's bytes in a record: its own, or those that it says where they are. */
static bool bytes_of(const struct tep_format_field *field, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, const uint8_t **array, uint32_t *len)
{
	uint32_t at = (uint32_t)field->offset, size = (uint32_t)field->size;

	if (at > bytes || size > bytes - at)
		return false;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) { /* __data_loc: offset, and length above */
		uint32_t loc = (uint32_t)tep_read_number(tep, data + at, 4);

		if (size != sizeof(loc))
			return false;
		at = (loc & 0xffff) + (field->flags & TEP_FIELD_IS_RELATIVE ? at + size : 0);
		size = loc >> 16;
		if (at > bytes || size > bytes - at)
			return false;
	}
	*array = data + at;
	*len = size;
	return true;
}

/* The texts of a record as one; what has no room is cut. */
struct text {
	char at[TEXT_MAX];
	uint32_t len;
};

static void text_add(struct text *text, const char *more, size_t len)
{
	if (len > TEXT_MAX - text->len)
		len = TEXT_MAX - text->len;
	memcpy(text->at + text->len, more, len);
	text->len += (uint32_t)len;
}

static void text_add_array(struct text *text, const struct tep_format_field *field,
			   const uint8_t *array, uint32_t len)
{
	static const char digits[] = "0123456789abcdef";

	if (is_char(field)) {
		text_add(text, (const char *)array, strnlen((const char *)array, len));
		return;
	}
	for (uint32_t i = 0; i < len && text->len < TEXT_MAX; i++)
		text_add(text, (const char[]){ digits[array[i] >> 4], digits[array[i] & 15] }, 2);
}

uint32_t rs_tracedat_own(const struct rs_tracedat_event *event, struct tep_handle *tep,
			 const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	struct text text = { .len = 0 };
	uint16_t len16;

	if (!copy_all(event->copies, event->n, tep, data, bytes, payload))
		return 0;
	if (!event->n_texts)
		return event->fixed_bytes;
	for (uint32_t i = 0; i < event->n_texts; i++) {
		const struct tep_format_field *field = event->texts[i];
		const uint8_t *array;
		uint32_t len;

		if (!bytes_of(field, tep, data, bytes, &array, &len))
			return 0;
		if (event->n_texts > 1) {
			text_add(&text, " ", i > 0);
			text_add(&text, field->name, strlen(field->name));
			text_add(&text, "=", 1);
		}
		text_add_array(&text, field, array, len);
	}
	len16 = (uint16_t)text.len;
	memcpy(payload + event->fixed_bytes, &len16, sizeof(len16));
	memcpy(payload + event->fixed_bytes + sizeof(len16), text.at, len16);
	return event->fixed_bytes + (uint32_t)sizeof(len16) + len16;
}

/* ---- declarations ------------------------------------------------------------------------- */

/* "u32", "s64", "x64": addresses and flags in hexadecimal. */
static char letter(const struct tep_format_field *field)
{
	if (field->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_FLAG))
		return 'x';
	return field->flags & TEP_FIELD_IS_SIGNED ? 's' : 'u';
}

uint32_t rs_tracedat_declare(const struct rs_tracedat_event *event, char *text, uint32_t room)
{
	uint32_t i = 1; /* the thread comes first */
	size_t used;
	FILE *out = fmemopen(text, room, "w");

	if (!out)
		return 0;
	setvbuf(out, NULL, _IONBF, 0);
	fprintf(out, "%s::%s(u32 tid", event->format->system, event->format->name);
	for (struct tep_format_field *f = event->format->format.fields; f && i < event->n;
	     f = f->next) {
		if (!is_integer(f) || is_array(f))
			continue;
		/* An event may have a tid of its own. */
		fprintf(out, ", %c%d %s%s", letter(f), f->size * 8, f->name,
			strcmp(f->name, "tid") ? "" : "_");
		i++;
	}
	if (event->n_texts)
		fprintf(out, ", text %s", event->n_texts == 1 ? event->texts[0]->name : "texts");
	fputc(')', out);
	used = (size_t)ftell(out);
	fclose(out);
	return (uint32_t)(used < room ? used : room);
}
