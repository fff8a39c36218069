/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps ftrace's events to the catalogue's. */
#include "import/tracedat/map.h"

#include <string.h>

#include "event/exit_reason.h"

/* Ids of provider kvm by their symbols. */
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	ID_##symbol = RS_ID(RS_IDS_KVM, n),
enum {
#include <ringside/event/kvm.def>
};
#undef RS_EVENT

/* ---- the table ---------------------------------------------------------------------------- */

/* A field of a catalogue event that has another name in the file. Other fields have the same name,
 * except that `tid` is common_pid. Several rows for one field are its names in different kernels.
 * Without a name, the field's value is `mask`. */
struct alias {
	const char *ours, *theirs;
	uint8_t shift;
	uint64_t mask;
};

#define ALIASES_MAX 10

#define MMIO_WRITE 2 /* KVM_TRACE_MMIO_WRITE, include/trace/events/kvm.h */

/*
 * Sources: arch/x86/kvm/trace.h, arch/arm64/kvm/trace_arm.h and trace_handle_exit.h,
 * arch/riscv/kvm/trace.h, include/trace/events/kvm.h, include/trace/events/sched.h of Linux; older
 * kernels' names too.
 * The state of a thread that is switched out is 0 in its low 8 bits where it was preempted.
 */
static const struct row {
	const char *system, *name;
	uint64_t id;
	const char *needs; /* the row applies only if the format has this field */
	uint32_t isa;
	bool of_scheduler, ends;
	/* For an exit: computes the code from two fields, if no field has the code. */
	uint32_t (*code)(uint64_t a, uint64_t b, uint32_t bytes);
	const char *code_a, *code_b;
	struct alias aliases[ALIASES_MAX];
} rows[] = {
#define RS_COPY(ours, theirs, shift, mask) { #ours, #theirs, shift, mask },
#define RS_COPY_OR_0(ours, theirs)	   { #ours, #theirs, 0, 0 },
#define RS_COPY_CODE(ours)
#define RS_ISA_RECORD(name, NAME, field, value, kind, a, b, copies)                                \
	{ "kvm",	"kvm_exit",   ID_kvm_##name##_exit,                                        \
	  #field,	value,	      .code = rs_isa_code_##kind,                                  \
	  .code_a = #a, .code_b = #b, .aliases = { copies } },
#include <ringside/event/isa.def>
	{ "kvm", "kvm_userspace_exit", ID_kvm_user_exit },
/* A record without vcpu_id does not name the vCPU, which becomes -1. */
#define RS_HOST_ENTRY(tracepoint, record, field, pc, vcpu)                                         \
	{ "kvm", #tracepoint, ID_kvm_entry, #field,                                                \
	  .aliases = { { "rip", #pc, 0, 0 },                                                       \
		       { "vcpu_id", "vcpu_id", 0, 0 },                                             \
		       { "vcpu_id", NULL, 0, UINT32_MAX } } },
#include <ringside/event/isa.def>
	{ "kvm", "kvm_vcpu_wakeup", ID_kvm_wakeup, .aliases = { { "halted", "ns", 0, 0 } } },
	{ "kvm", "kvm_nested_vmexit", ID_kvm_nested_exit,
	  .aliases = { { "code", "exit_reason", 0, 0 },
		       { "code", "exit_code", 0, 0 },
		       { "rip", "guest_rip", 0, 0 } } },
	{ "kvm", "kvm_pio", ID_kvm_pio,
	  .aliases = { { "write", "rw", 0, 0 }, { "value", "val", 0, 0 } } },
	{ "kvm", "kvm_mmio", ID_kvm_mmio,
	  .aliases = { { "size", "len", 0, 0 }, { "value", "val", 0, 0 } } },
	/* A write for an eventfd. KVM does not decode it, so the record has no more. */
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
	{ "kvm", "kvm_inj_exception", ID_kvm_exception,
	  .aliases = { { "vector", "exception", 0, 0 }, { "again", "reinjected", 0, 0 } } },
	{ "kvm", "kvm_page_fault", ID_kvm_page_fault,
	  .aliases = { { "rip", "guest_rip", 0, 0 }, { "address", "fault_address", 0, 0 } } },
	{ "kvm", "kvm_sys_access", ID_kvm_sysreg,
	  .aliases = { { "op0", "Op0", 0, 0 },
		       { "op1", "Op1", 0, 0 },
		       { "crn", "CRn", 0, 0 },
		       { "crm", "CRm", 0, 0 },
		       { "op2", "Op2", 0, 0 },
		       { "write", "is_write", 0, 0 },
		       { "pc", "vcpu_pc", 0, 0 } } },
	{ "kvm", "kvm_hvc_arm64", ID_kvm_hvc,
	  .aliases = { { "nr", "r0", 0, 0 }, { "pc", "vcpu_pc", 0, 0 } } },
	{ "kvm", "kvm_wfx_arm64", ID_kvm_wfx,
	  .aliases = { { "event", "is_wfe", 0, 0 }, { "pc", "vcpu_pc", 0, 0 } } },
	{ "kvm", "kvm_guest_fault", ID_kvm_guest_fault,
	  .aliases = { { "esr", "hsr", 0, 0 },
		       { "address", "hxfar", 0, 0 },
		       { "pc", "vcpu_pc", 0, 0 } } },
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

/* ---- plans -------------------------------------------------------------------------------- */

/* Returns the record's field from which an event's field is copied. */
static struct rs_ftrace_copy source_of(const struct row *row, struct tep_event *format,
				       const struct rs_field *field)
{
	struct rs_ftrace_copy copy = { 0 };
	bool named = false;

	for (uint32_t i = 0; i < ALIASES_MAX && row->aliases[i].ours && !copy.from_bytes; i++) {
		if (strcmp(row->aliases[i].ours, field->name) != 0)
			continue;
		named = true;
		if (!row->aliases[i].theirs) {
			copy.constant = row->aliases[i].mask;
			continue;
		}
		copy = rs_ftrace_copy_of(format, row->aliases[i].theirs);
		copy.shift = row->aliases[i].shift;
		copy.mask = row->aliases[i].mask;
	}
	if (!named && !strcmp(field->name, "tid"))
		copy = rs_ftrace_copy_of(format, "common_pid");
	else if (!copy.from_bytes && !copy.constant)
		copy = rs_ftrace_copy_of(format, field->name);
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
					   .isa_from = rs_ftrace_copy_of(format, "isa"),
					   .code_from = {
						   rs_ftrace_copy_of(format, row->code_a),
						   rs_ftrace_copy_of(format, row->code_b) } };
	if (row->code != rs_isa_code_plain) /* the copied fields give the code */
		plan->code = row->code;
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		if (field->type == RS_TYPE_TEXT)
			continue;
		plan->copies[plan->n] = source_of(row, format, field);
		if (!strcmp(field->name, "tid"))
			plan->tid_from = plan->copies[plan->n];
		if (plan->code && !strcmp(field->name, "reason")) {
			plan->code_to = field->offset;
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

void rs_tracedat_plan(struct rs_tracedat_event *event, struct tep_event *format,
		      const struct rs_schema *kvm)
{
	*event = (struct rs_tracedat_event){ .format = format,
					     .tid_from = rs_ftrace_copy_of(format, "common_pid") };
	plan_known(event, kvm);
	if (event->is_kvm)
		event->vcpu_from = rs_ftrace_copy_of(format, "vcpu_id");
	rs_ftrace_plan(&event->own, format);
}

/* ---- payloads ----------------------------------------------------------------------------- */

uint32_t rs_tracedat_known(const struct rs_tracedat_plan *plan, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	uint64_t a, b;
	uint32_t code;

	if (!rs_ftrace_copy_all(plan->copies, plan->n, tep, data, bytes, payload))
		return 0;
	if (plan->code) {
		if (!rs_ftrace_get(&plan->code_from[0], tep, data, bytes, &a) ||
		    !rs_ftrace_get(&plan->code_from[1], tep, data, bytes, &b))
			return 0;
		code = plan->code(a, b, plan->code_from[0].from_bytes);
		memcpy(payload + plan->code_to, &code, sizeof(code));
	}
	return plan->event->fixed_bytes;
}
