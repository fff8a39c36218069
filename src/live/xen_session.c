/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and stops tracing on a running Xen, and restores its state. */
#include "live/xen_session.h"
#include "base/now.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WATCH_NS 200000000 /* twice xentrace's default interval between two polls */

struct rs_xen_session {
	struct rs_xen_ctl *ctl;
	struct rs_xen_session_options options;
	struct rs_cpu_set cpus;
	struct rs_xen_session_facts facts;
	struct rs_xen_tinfo info;
	struct rs_xen_tbuf *buffers;
	uint32_t n;
	bool made; /* this session created the buffers, which turns tracing on */
	bool tracing;
};

/* ---- opening -------------------------------------------------------------------------------- */

static uint32_t pages_of(uint32_t bytes)
{
	uint32_t pages = bytes / RS_XEN_PAGE_BYTES + (bytes % RS_XEN_PAGE_BYTES != 0);

	return pages > RS_XEN_TBUF_PAGES_MAX ? RS_XEN_TBUF_PAGES_MAX : pages;
}

static struct rs_error *info_map(struct rs_xen_session *s, const struct rs_xen_trace_info *trace)
{
	uint32_t n = pages_of(trace->info_bytes), *frames = calloc(n, sizeof(*frames));
	struct rs_error *err;
	void *mem;

	if (!frames)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n; i++)
		frames[i] = (uint32_t)trace->frame + i;
	err = rs_xen_ctl_map(s->ctl, frames, n, false, &mem);
	free(frames);
	if (err)
		return err;
	err = rs_xen_tinfo_init(&s->info, mem, trace->info_bytes);
	rs_xen_ctl_unmap(s->ctl, mem, n);
	return err;
}

/* Reads the table, and creates the buffers if they do not exist. */
static struct rs_error *info_get(struct rs_xen_session *s)
{
	struct rs_xen_trace_info trace;
	struct rs_error *err = rs_xen_ctl_info(s->ctl, &trace);

	if (err)
		return err;
	s->facts.found_mask = trace.event_mask;
	s->facts.size_found = trace.info_bytes && s->options.buffer_bytes;
	if (!trace.info_bytes) {
		uint32_t bytes =
			s->options.buffer_bytes ? s->options.buffer_bytes : RS_XEN_BUFFER_BYTES;

		err = rs_xen_ctl_make_buffers(s->ctl, pages_of(bytes));
		s->made = !err;
		if (!err) /* creating the buffers has turned tracing on */
			err = rs_xen_ctl_trace(s->ctl, false);
		if (!err)
			err = rs_xen_ctl_info(s->ctl, &trace);
		if (err)
			return err;
	}
	if (!trace.info_bytes || trace.frame > UINT32_MAX)
		return rs_error_create(RS_FAILED,
				       "Xen has no trace buffers, and did not create any");
	return info_map(s, &trace);
}

static struct rs_error *buffers_map(struct rs_xen_session *s)
{
	struct rs_error *err = NULL;

	s->buffers = calloc(s->info.cpus, sizeof(*s->buffers));
	if (!s->buffers)
		return rs_error_no_memory();
	for (uint32_t cpu = 0; !err && cpu < s->info.cpus; cpu++) {
		const uint32_t *frames = rs_xen_tinfo_frames(&s->info, cpu);
		struct rs_xen_tbuf *buf = &s->buffers[s->n];
		void *mem;

		if (!frames)
			continue;
		err = rs_xen_ctl_map(s->ctl, frames, s->info.pages, true, &mem);
		if (err)
			break;
		s->n++;
		if (rs_xen_tbuf_init(buf, cpu, mem, (size_t)s->info.pages * RS_XEN_PAGE_BYTES))
			err = rs_error_create(RS_DAMAGED,
					      "Xen's trace buffer of physical CPU %u has a read "
					      "position outside the buffer",
					      cpu);
	}
	return err;
}

/* Watches the buffers: whether Xen writes to them, and whether a reader consumes them without
 * having claimed them. */
static struct rs_error *watch(struct rs_xen_session *s)
{
	uint32_t *before = calloc(s->n, 2 * sizeof(*before)), now[2];
	struct rs_error *err = NULL;

	if (!before)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < s->n; i++)
		rs_xen_tbuf_peek(&s->buffers[i], &before[2 * i], &before[2 * i + 1]);
	rs_sleep_ns(WATCH_NS);
	for (uint32_t i = 0; !err && i < s->n; i++) {
		rs_xen_tbuf_peek(&s->buffers[i], &now[0], &now[1]);
		if (now[0] != before[2 * i])
			err = rs_error_create(
				RS_USAGE,
				"another program reads Xen's trace buffer of physical CPU "
				"%u: only one can; end it first",
				s->buffers[i].cpu);
		s->facts.was_on |= !s->made && now[1] != before[2 * i + 1];
	}
	free(before);
	return err;
}

struct rs_error *rs_xen_session_open(const struct rs_xen_session_options *options,
				     struct rs_xen_session **out)
{
	struct rs_xen_session *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->options = *options;
	if (options->cpus) {
		s->cpus = *options->cpus;
		s->options.cpus = &s->cpus;
	}
	err = rs_xen_ctl_open(&s->ctl);
	if (!err)
		err = rs_xen_ctl_claim(s->ctl);
	if (!err)
		err = info_get(s);
	if (!err)
		err = buffers_map(s);
	if (!err)
		err = watch(s);
	if (err) {
		rs_xen_session_close(s);
		return err;
	}
	s->facts.size_found &= s->info.pages != pages_of(options->buffer_bytes);
	s->facts.buffer_bytes = s->info.pages * RS_XEN_PAGE_BYTES;
	s->facts.n_buffers = s->n;
	s->facts.library = rs_xen_ctl_library(s->ctl);
	*out = s;
	return NULL;
}

void rs_xen_session_close(struct rs_xen_session *s)
{
	if (!s)
		return;
	rs_error_free(rs_xen_session_end(s));
	for (uint32_t i = 0; i < s->n; i++)
		rs_xen_ctl_unmap(s->ctl, s->buffers[i].mem, s->info.pages);
	free(s->buffers);
	rs_xen_tinfo_deinit(&s->info);
	rs_xen_ctl_close(s->ctl);
	free(s);
}

/* ---- tracing -------------------------------------------------------------------------------- */

struct rs_error *rs_xen_session_begin(struct rs_xen_session *s)
{
	struct rs_error *err = NULL;

	if (s->options.cpus)
		err = rs_xen_ctl_set_cpus(s->ctl, s->cpus.bits, RS_QUERY_CPUS_MAX);
	for (uint32_t i = 0; !err && i < s->n; i++)
		rs_xen_tbuf_skip(&s->buffers[i]);
	if (!err)
		err = rs_xen_ctl_set_events(s->ctl, s->options.event_mask);
	s->tracing = !err;
	if (!err && !s->facts.was_on)
		err = rs_xen_ctl_trace(s->ctl, true);
	return err;
}

struct rs_error *rs_xen_session_end(struct rs_xen_session *s)
{
	struct rs_error *err = NULL, *next;

	if (!s->tracing)
		return NULL;
	s->tracing = false;
	if (!s->facts.was_on)
		err = rs_xen_ctl_trace(s->ctl, false);
	next = rs_xen_ctl_set_events(s->ctl, s->facts.found_mask);
	if (!err)
		return next;
	rs_error_free(next);
	return err;
}

struct rs_xen_tbuf *rs_xen_session_buffers(struct rs_xen_session *s, uint32_t *n)
{
	*n = s->n;
	return s->buffers;
}

void rs_xen_session_facts(const struct rs_xen_session *s, struct rs_xen_session_facts *facts)
{
	*facts = s->facts;
}

void rs_xen_session_remarks(const struct rs_xen_session *s,
			    void (*report)(void *ctx, const char *text), void *ctx)
{
	const struct rs_xen_session_facts *facts = &s->facts;
	char text[192];

	if (s->options.cpus)
		report(ctx, "Xen continues to trace only these CPUs afterwards: it does not report "
			    "which they were before");
	if (facts->was_on) {
		snprintf(
			text, sizeof(text),
			"Xen was already tracing, with event mask 0x%08x, and without a reader: it "
			"continues afterwards",
			facts->found_mask);
		report(ctx, text);
	}
	if (facts->size_found) {
		snprintf(text, sizeof(text),
			 "Xen's buffers have %u bytes for each CPU, until it boots again",
			 facts->buffer_bytes);
		report(ctx, text);
	}
}
