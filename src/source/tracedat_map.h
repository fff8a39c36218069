/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ftrace's events are in ours: the table, and plans made of it with the formats in the file,
 * field by field and by name. The kernel's layouts differ from version to version; a field that a
 * kernel lacks is 0.
 */
#ifndef RS_SOURCE_TRACEDAT_MAP_H
#define RS_SOURCE_TRACEDAT_MAP_H

#include <event-parse.h>

#include "source/tracedat_wire.h"

/* One integer's way from a record of the file into a payload. */
struct rs_tracedat_copy {
	uint32_t from, from_bytes; /* 0 bytes: the field is not there, and its value is: */
	uint64_t constant;
	bool is_signed;
	uint8_t shift;
	uint64_t mask; /* 0: all of it */
	uint32_t to, to_bytes;
};

#define RS_TRACEDAT_PLANS 4

/* How an event of the file becomes one of ours, and when. */
struct rs_tracedat_plan {
	const struct rs_event *event;
	bool of_scheduler; /* only for threads that are vCPUs */
	bool ends;	   /* the thread */
	uint32_t isa;	   /* only where the record's field isa says so; 0: always */
	struct rs_tracedat_copy isa_from, tid_from;
	uint64_t (*reason)(uint64_t value, uint64_t other, uint32_t bytes); /* or NULL */
	struct rs_tracedat_copy reason_from, other_from;
	uint32_t reason_to;
	uint32_t n;
	struct rs_tracedat_copy copies[RS_FIELDS_MAX];
};

/* An event of the file: the known events that its records become. */
struct rs_tracedat_event {
	struct tep_event *format;
	uint32_t n_plans;
	struct rs_tracedat_plan plans[RS_TRACEDAT_PLANS];
	struct rs_tracedat_copy tid_from, vcpu_from;
	bool is_kvm; /* a known event of a vCPU's own thread */
	/* As an event of its own. */
	bool declared;
	uint32_t n;
	struct rs_tracedat_copy copies[RS_FIELDS_MAX];
	uint32_t fixed_bytes; /* of the integers */
	uint32_t left_out;    /* fields */
	uint32_t n_texts;
	struct tep_format_field *texts[RS_FIELDS_MAX];
};

/* Reads a field of a record; false: the record is too short for it. One not there is 0. */
bool rs_tracedat_get(const struct rs_tracedat_copy *copy, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, uint64_t *value);

/* Plans for an event of the file. kvm: the schema with the catalogue's events. */
void rs_tracedat_plan(struct rs_tracedat_event *event, struct tep_event *format,
		      const struct rs_schema *kvm);

/* A payload by a plan, or as an event of its own; its bytes, or 0 where the record is too short. */
uint32_t rs_tracedat_known(const struct rs_tracedat_plan *plan, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload);
uint32_t rs_tracedat_own(const struct rs_tracedat_event *event, struct tep_handle *tep,
			 const uint8_t *data, uint32_t bytes, uint8_t *payload);

/* Its declaration as an event of its own; its length, cut at room. */
uint32_t rs_tracedat_declare(const struct rs_tracedat_event *event, char *text, uint32_t room);

#endif
