/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peek mask|set MASK|drained|save FILE|back FILE: operations of tests on Xen's trace from dom0.
 *
 * `back` resets each buffer's reader to the writer's position at `save`, so that another reader
 * gets the records that one has read since, provided that tracing is stopped and nothing was
 * overwritten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/xen_ctl.h"
#include "live/xen_tbuf.h"

struct peek {
	struct rs_xen_ctl *ctl;
	struct rs_xen_tinfo info;
};

static void must(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "peek: %s\n", rs_error_text(err));
	exit(1);
}

static void info_get(struct peek *p)
{
	struct rs_xen_trace_info trace;
	uint32_t n, *frames;
	void *mem;

	must(rs_xen_ctl_info(p->ctl, &trace));
	n = trace.info_bytes / RS_XEN_PAGE_BYTES;
	frames = calloc(n + 1, sizeof(*frames));
	for (uint32_t i = 0; frames && i < n; i++)
		frames[i] = (uint32_t)trace.frame + i;
	must(rs_xen_ctl_map(p->ctl, frames, n, false, &mem));
	must(rs_xen_tinfo_init(&p->info, mem, trace.info_bytes));
	free(frames);
}

/* A buffer's cons, prod, data. */
static uint32_t *buffer(struct peek *p, uint32_t cpu)
{
	void *mem;

	must(rs_xen_ctl_map(p->ctl, rs_xen_tinfo_frames(&p->info, cpu), p->info.pages, true, &mem));
	return mem;
}

static void save(struct peek *p, FILE *file)
{
	for (uint32_t cpu = 0; cpu < p->info.cpus; cpu++)
		fprintf(file, "%u\n", buffer(p, cpu)[1]);
}

/* Returns whether the reader has read everything. */
static bool drained(struct peek *p)
{
	for (uint32_t cpu = 0; cpu < p->info.cpus; cpu++) {
		const uint32_t *head = buffer(p, cpu);

		if (head[0] != head[1])
			return false;
	}
	return true;
}

static int back(struct peek *p, FILE *file)
{
	uint32_t data = p->info.pages * RS_XEN_PAGE_BYTES - 8, at;

	for (uint32_t cpu = 0; cpu < p->info.cpus; cpu++) {
		uint32_t *head = buffer(p, cpu);
		uint32_t prod = head[1], n;

		if (fscanf(file, "%u", &at) != 1)
			return 1;
		n = (prod + 2 * data - at) % (2 * data);
		printf("CPU %u: %u bytes of %u\n", cpu, n, data);
		if (head[0] != prod || n > data)
			return 1;
		__atomic_store_n(&head[0], at, __ATOMIC_SEQ_CST); /* no other reader is active */
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";
	struct rs_xen_trace_info trace;
	struct peek p = { 0 };
	int status = 0;
	FILE *file;

	must(rs_xen_ctl_open(&p.ctl));
	if (!strcmp(what, "mask")) {
		must(rs_xen_ctl_info(p.ctl, &trace));
		printf("0x%08x\n", trace.event_mask);
	} else if (!strcmp(what, "set")) {
		must(rs_xen_ctl_set_events(p.ctl, (uint32_t)strtoul(arg, NULL, 0)));
	} else if (!strcmp(what, "drained")) {
		info_get(&p);
		status = !drained(&p);
	} else {
		file = fopen(arg, !strcmp(what, "save") ? "w" : "r");
		if (!file)
			return 2;
		info_get(&p);
		if (!strcmp(what, "save"))
			save(&p, file);
		else
			status = back(&p, file);
		fclose(file);
	}
	rs_xen_ctl_close(p.ctl);
	return status;
}
