/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps ftrace's events to the catalogue's, by a table and by plans that combine the table with the
 * formats in the file. Fields are matched by name, because the kernel's layouts differ from version
 * to version. A field that a kernel lacks is 0. */
#ifndef RS_IMPORT_TRACEDAT_MAP_H
#define RS_IMPORT_TRACEDAT_MAP_H

#include "import/ftrace.h"
#include "import/tracedat/wire.h"

#define RS_TRACEDAT_PLANS 4

/* How an event of the file becomes an event of the catalogue, and under which conditions. */
struct rs_tracedat_plan {
	const struct rs_event *event;
	bool of_scheduler; /* only for threads that are vCPUs */
	bool ends;	   /* the event ends the thread */
	uint32_t isa;	   /* only if the record's field isa has this value; 0: always */
	struct rs_ftrace_copy isa_from, tid_from;
	uint32_t (*code)(uint64_t a, uint64_t b, uint32_t bytes); /* an exit's code; or NULL */
	struct rs_ftrace_copy code_from[2];
	uint32_t code_to;
	uint32_t n;
	struct rs_ftrace_copy copies[RS_FIELDS_MAX];
};

/* An event of the file, with the catalogue's events that its records become. */
struct rs_tracedat_event {
	struct tep_event *format;
	uint32_t n_plans;
	struct rs_tracedat_plan plans[RS_TRACEDAT_PLANS];
	struct rs_ftrace_copy tid_from, vcpu_from;
	bool is_kvm;		       /* an event of the catalogue, of a vCPU's own thread */
	struct rs_ftrace_event own;    /* for a record that becomes no event of the catalogue */
	struct rs_ftrace_copy *buffer; /* the field with the name of the record's buffer, or NULL */
};

/* Makes the plans for an event of the file. kvm: the schema with the catalogue's events. */
void rs_tracedat_plan(struct rs_tracedat_event *event, struct tep_event *format,
		      const struct rs_schema *kvm);

/* Makes a payload by a plan. Returns its size, or 0 if the record is too short. */
uint32_t rs_tracedat_known(const struct rs_tracedat_plan *plan, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload);

#endif
