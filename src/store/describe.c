/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions in memory. describe_write.c writes their lines, describe_read.c reads them. */
#include "store/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vector.h"

void rs_describe_deinit(struct rs_describe *describe)
{
	for (uint32_t i = 0; describe->owns_schemas && i < describe->n_classes; i++)
		rs_schema_destroy(describe->classes[i]->schema);
	if (describe->no_class)
		rs_schema_destroy(describe->no_class->schema);
	free(describe->bad.numbers);
	free(describe->bad.mended);
	free(describe->bad.first);
	free(describe->bad.cost);
	free(describe->clocks);
	free(describe->classes);
	free(describe->streams);
	free(describe->stream_class);
	free(describe->stream_end);
	free(describe->binaries);
	free(describe->threads);
	free(describe->domains);
	free(describe->owners);
	rs_arena_deinit(&describe->arena);
	*describe = (struct rs_describe){ 0 };
}

/* Makes room for one more pointer in a list of the description. Returns false if there is no
 * memory. */
#define MORE(d, list, n) RS_VECTOR_RESERVE((d)->list, (d)->room.list, (n) + 1)

/* Stores a printable copy of a text, which may be NULL, in *keep: without control characters or
 * invalid UTF-8, and no longer than a name. Returns false if there is no memory. */
static bool text_keep(struct rs_describe *describe, const char *text, const char **kept)
{
	size_t len = text ? strnlen(text, RS_NAME_MAX) : 0;
	char *copy = text ? rs_arena_text(&describe->arena, text, len) : NULL;

	if (copy)
		rs_utf8_mend(copy, len);
	*kept = copy;
	return copy || !text;
}

struct rs_error *rs_describe_add_clock(struct rs_describe *describe, const struct rs_clock *clock)
{
	struct rs_clock *copy = rs_arena_alloc(&describe->arena, sizeof(*copy));

	if (!copy || !MORE(describe, clocks, describe->n_clocks))
		return rs_error_no_memory();
	*copy = *clock;
	describe->clocks[describe->n_clocks++] = copy;
	return NULL;
}

struct rs_error *rs_describe_add_class(struct rs_describe *describe, struct rs_schema *schema,
				       uint32_t clock_index)
{
	struct rs_class *class = rs_arena_alloc(&describe->arena, sizeof(*class));

	if (!class || !MORE(describe, classes, describe->n_classes))
		return rs_error_no_memory();
	*class = (struct rs_class){ .index = describe->n_classes,
				    .schema = schema,
				    .clock = describe->clocks[clock_index],
				    .clock_index = clock_index };
	describe->classes[describe->n_classes++] = class;
	return NULL;
}

struct rs_error *rs_describe_set_stream(struct rs_describe *describe, uint32_t index,
					struct rs_class *class, const struct rs_stream *stream)
{
	struct rs_stream copy = *stream;

	copy.index = index;
	if (!text_keep(describe, stream->vm, &copy.vm) ||
	    !text_keep(describe, stream->thread, &copy.thread))
		return rs_error_no_memory();
	copy.schema = class->schema;
	copy.clock = class->clock;
	copy.xen = rs_schema_is_xen(class->schema);
	if (copy.xen)
		copy.dom = RS_UNKNOWN;
	*describe->streams[index] = copy;
	describe->stream_class[index] = class;
	return NULL;
}

void rs_describe_uuid(const struct rs_describe *describe, uint8_t uuid[16])
{
	const char *hex = describe->uuid;

	memset(uuid, 0, 16);
	for (size_t i = 0; i < 16 && *hex; i++, hex += 2) {
		char byte[3];

		hex += *hex == '-';
		snprintf(byte, sizeof(byte), "%.2s", hex);
		uuid[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
}

struct rs_error *rs_describe_add_stream_of(struct rs_describe *describe, struct rs_class *class,
					   const struct rs_stream *stream)
{
	struct rs_stream *room = rs_arena_alloc(&describe->arena, sizeof(*room));
	struct rs_stream_end *end = rs_arena_alloc(&describe->arena, sizeof(*end));
	uint32_t index = describe->n_streams;
	struct rs_error *err;
	bool had_cpus;

	if (!room || !end || !MORE(describe, stream_end, index) ||
	    !MORE(describe, streams, index) || !MORE(describe, stream_class, index))
		return rs_error_no_memory();
	describe->stream_end[index] = end;
	describe->streams[index] = room;
	err = rs_describe_set_stream(describe, index, class, stream);
	if (err)
		return err;
	describe->n_streams++;
	had_cpus = rs_class_has_cpus(class);
	class->streams++;
	class->streams_of_a_cpu += stream->cpu >= 0;
	describe->metadata_stale |= rs_class_has_cpus(class) != had_cpus;
	return NULL;
}

struct rs_error *rs_describe_add_stream(struct rs_describe *describe, uint32_t class_index,
					const struct rs_stream *stream)
{
	return rs_describe_add_stream_of(describe, describe->classes[class_index], stream);
}

struct rs_error *rs_describe_add_thread(struct rs_describe *describe, uint32_t class_index,
					const struct rs_thread *thread)
{
	struct rs_thread_entry *entry = rs_arena_alloc(&describe->arena, sizeof(*entry));

	if (describe->n_threads >= RS_THREADS_MAX)
		return rs_error_create(RS_FAILED, "more than %u threads", RS_THREADS_MAX);
	if (!entry || !MORE(describe, threads, describe->n_threads))
		return rs_error_no_memory();
	*entry = (struct rs_thread_entry){ .thread = *thread,
					   .class = describe->classes[class_index],
					   .number = describe->n_threads };
	if (!text_keep(describe, thread->vm, &entry->thread.vm) ||
	    !text_keep(describe, thread->name, &entry->thread.name))
		return rs_error_no_memory();
	entry->class->has_threads = true;
	describe->threads[describe->n_threads++] = entry;
	return NULL;
}

struct rs_error *rs_describe_add_domain(struct rs_describe *describe, uint32_t class_index,
					uint32_t dom, const char *vm)
{
	struct rs_domain *domain = rs_arena_alloc(&describe->arena, sizeof(*domain));

	if (describe->n_domains >= RS_DOMAINS_MAX)
		return rs_error_create(RS_FAILED, "more than %u domains", RS_DOMAINS_MAX);
	if (!domain || !MORE(describe, domains, describe->n_domains))
		return rs_error_no_memory();
	*domain = (struct rs_domain){ .class = describe->classes[class_index], .dom = dom };
	if (!text_keep(describe, vm, &domain->vm))
		return rs_error_no_memory();
	describe->domains[describe->n_domains++] = domain;
	return NULL;
}

struct rs_error *rs_describe_add_owner(struct rs_describe *describe, uint32_t stream,
				       const struct rs_owner *owner)
{
	struct rs_owner_entry *entry = rs_arena_alloc(&describe->arena, sizeof(*entry));

	if (describe->n_owners >= RS_OWNERS_MAX)
		return rs_error_create(RS_DAMAGED, "more than %u owners", RS_OWNERS_MAX);
	if (!entry || !MORE(describe, owners, describe->n_owners))
		return rs_error_no_memory();
	*entry = (struct rs_owner_entry){
		.file = stream,
		.number = describe->n_owners,
		.from = owner->from,
		.stream = { .vcpu = owner->vcpu, .cpu = RS_UNKNOWN, .tid = owner->tid },
	};
	if (!text_keep(describe, owner->vm, &entry->stream.vm) ||
	    !text_keep(describe, owner->thread, &entry->stream.thread))
		return rs_error_no_memory();
	describe->owners[describe->n_owners++] = entry;
	return NULL;
}

const char *rs_describe_domain(const struct rs_describe *describe, const struct rs_class *class,
			       uint32_t dom)
{
	for (uint32_t i = describe->n_domains; i-- > 0;) {
		const struct rs_domain *domain = describe->domains[i];

		if (domain->class == class && domain->dom == dom)
			return domain->vm;
	}
	return NULL;
}

struct rs_error *rs_describe_set_flight(struct rs_describe *describe,
					const struct rs_trace_flight *flight)
{
	struct rs_trace_flight copy = *flight;

	if (!text_keep(describe, flight->why ? flight->why : "", &copy.why))
		return rs_error_no_memory();
	describe->flight = copy;
	describe->has_flight = true;
	return NULL;
}

struct rs_error *rs_describe_add_binary(struct rs_describe *describe,
					const struct rs_trace_binary *binary)
{
	struct rs_trace_binary *copy = rs_arena_alloc(&describe->arena, sizeof(*copy));

	if (!copy || !MORE(describe, binaries, describe->n_binaries))
		return rs_error_no_memory();
	if (!text_keep(describe, binary->role, &copy->role) ||
	    !text_keep(describe, binary->path, &copy->path) ||
	    !text_keep(describe, binary->hash_name, &copy->hash_name) ||
	    !text_keep(describe, binary->hash, &copy->hash) ||
	    !text_keep(describe, binary->build_id, &copy->build_id))
		return rs_error_no_memory();
	copy->load = binary->load;
	describe->binaries[describe->n_binaries++] = copy;
	return NULL;
}
