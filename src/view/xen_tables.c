/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the Xen reports: what each row's cells are. */
#include "view/xen_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyze/exits.h"
#include "event/catalogue.h"
#include "xen/layout.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- cells ---------------------------------------------------------------------------------- */

static void number(struct xen_cell *cell, uint64_t value)
{
	cell->known = true;
	cell->value = value;
}

__attribute__((format(printf, 2, 3))) static void name(struct xen_cell *cell, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cell->text, sizeof(cell->text), format, args);
	va_end(args);
	cell->known = true;
}

/* DOMAIN and VCPU: the first two columns of what is a vCPU's. */
static struct xen_cell *whose(const struct rs_xen_row *row, struct xen_cell *cells)
{
	if (row->dom >= 0)
		number(&cells[0], (uint64_t)row->dom);
	if (row->vcpu >= 0)
		number(&cells[1], (uint64_t)row->vcpu);
	return cells + 2;
}

/* MEAN P5 P50 P95 MAX of what was timed. */
static void spread(const struct rs_xen_row *row, struct xen_cell *cells)
{
	static const uint32_t permille[] = { 50, 500, 950 };

	if (!row->timed || !row->hist)
		return;
	number(&cells[0], row->total_ns / row->timed);
	for (size_t i = 0; i < COUNT(permille); i++)
		number(&cells[i + 1],
		       rs_hist_percentile(row->hist, permille[i], row->min_ns, row->max_ns));
	number(&cells[4], row->max_ns);
}

#define SPREAD                                                                                     \
	{ "mean_ns", "MEAN", XEN_TIME }, { "p5_ns", "P5", XEN_TIME },                              \
		{ "p50_ns", "P50", XEN_TIME }, { "p95_ns", "P95", XEN_TIME },                      \
	{                                                                                          \
		"max_ns", "MAX", XEN_TIME                                                          \
	}
#define WHOSE                                                                                      \
	{ "domain", "DOMAIN", XEN_NUMBER },                                                        \
	{                                                                                          \
		"vcpu", "VCPU", XEN_NUMBER                                                         \
	}

static void share(const struct rs_xen_result *result, uint64_t ns, struct xen_cell *cell)
{
	uint64_t wall = (uint64_t)(result->to_ns - result->from_ns);

	number(cell, wall ? (uint64_t)(((__uint128_t)ns * 1000 + wall / 2) / wall) : 0);
}

/* COUNT TIME SHARE and the spread, of what has been timed where it ended. */
static void times(const struct rs_xen_result *result, const struct rs_xen_row *row,
		  struct xen_cell *cells)
{
	number(&cells[0], row->count);
	number(&cells[1], row->timed);
	number(&cells[2], row->total_ns);
	share(result, row->total_ns, &cells[3]);
	spread(row, &cells[4]);
}

#define TIMES                                                                                      \
	{ "count", "COUNT", XEN_NUMBER }, { "timed", NULL, XEN_NUMBER },                           \
		{ "total_ns", "TIME", XEN_TIME }, { "share_permille", "SHARE", XEN_PERMILLE },     \
		SPREAD

/* The same of a state, whose time has edges. */
static void state_times(const struct rs_xen_result *result, const struct rs_xen_row *row,
			struct xen_cell *cells)
{
	number(&cells[0], row->count);
	number(&cells[1], row->total_ns + row->edge_ns);
	number(&cells[2], row->edge_ns);
	share(result, row->total_ns + row->edge_ns, &cells[3]);
	spread(row, &cells[4]);
}

#define STATE_TIMES                                                                                \
	{ "count", "COUNT", XEN_NUMBER }, { "total_ns", "TIME", XEN_TIME },                        \
		{ "edge_ns", NULL, XEN_TIME }, { "share_permille", "SHARE", XEN_PERMILLE }, SPREAD

/* ---- volume --------------------------------------------------------------------------------- */

/* xen/include/public/trace.h: classes and their parts, by event >> 12. */
static const struct {
	uint64_t key;
	const char *name;
} classes[] = {
	{ 0x1f, "gen" },
	{ 0x21, "sched (runstates)" },
	{ 0x22, "sched (scheduler's own)" },
	{ 0x28, "sched (verbose)" },
	{ 0x2f, "sched" },
	{ 0x4f, "dom0op" },
	{ 0x81, "hvm (entry, exit)" },
	{ 0x82, "hvm (handlers)" },
	{ 0x84, "hvm (emulation)" },
	{ 0x10f, "mem" },
	{ 0x201, "pv (entry)" },
	{ 0x202, "pv (subcalls)" },
	{ 0x20f, "pv" },
	{ 0x40f, "shadow" },
	{ 0x801, "hw (power)" },
	{ 0x802, "hw (interrupts)" },
	{ 0x800, "hw" },
	{ 0x80f, "guest" },
	{ RS_XEN_VOLUME_WINDOW, "windows of xentrace" },
	{ RS_XEN_VOLUME_WRAP, "buffer's wraps" },
	{ RS_XEN_VOLUME_LOSS, "losses" },
};

static bool volume(const struct rs_xen_result *result, const struct rs_xen_row *row,
		   struct xen_cell *cells)
{
	(void)result;
	number(&cells[0], row->sub);
	name(&cells[1], "0x%" PRIx64 "000", row->key);
	for (size_t i = 0; i < COUNT(classes); i++) {
		if (classes[i].key == row->key)
			name(&cells[1], "%s", classes[i].name);
	}
	number(&cells[2], row->count);
	number(&cells[3], row->bytes);
	return true;
}

static const struct xen_column volume_columns[] = {
	{ "pcpu", "PCPU", XEN_NUMBER },
	{ "class", "CLASS", XEN_NAME },
	{ "records", "RECORDS", XEN_NUMBER },
	{ "bytes", "BYTES", XEN_NUMBER },
	{ 0 },
};

/* ---- the scheduler -------------------------------------------------------------------------- */

static bool states(const struct rs_xen_result *result, const struct rs_xen_row *row,
		   struct xen_cell *cells)
{
	static const char *const names[RS_XEN_STATES_COUNT] = {
		"running",
		"runnable (wake)",
		"runnable (preempt)",
		"runnable (other)",
		"blocked",
		"offline",
		"lost",
	};

	cells = whose(row, cells);
	name(&cells[0], "%s", names[row->key]);
	state_times(result, row, &cells[1]);
	if (row->key == RS_XEN_RUNNING)
		number(&cells[10], row->goes_on);
	return true;
}

static const struct xen_column states_columns[] = {
	WHOSE, { "state", "STATE", XEN_NAME }, STATE_TIMES, { "continued", NULL, XEN_NUMBER },
	{ 0 },
};

static bool domains(const struct rs_xen_result *result, const struct rs_xen_row *row,
		    struct xen_cell *cells)
{
	static const char *const names[RS_XEN_TOGETHER_COUNT] = {
		"blocked",
		"partial run",
		"full run",
		"partial contention",
		"concurrency hazard",
		"full contention",
		"lost",
	};

	number(&cells[0], (uint64_t)row->dom);
	name(&cells[1], "%s", names[row->key]);
	state_times(result, row, &cells[2]);
	return true;
}

static const struct xen_column domains_columns[] = {
	{ "domain", "DOMAIN", XEN_NUMBER },
	{ "state", "STATE", XEN_NAME },
	STATE_TIMES,
	{ 0 },
};

static bool pcpus(const struct rs_xen_result *result, const struct rs_xen_row *row,
		  struct xen_cell *cells)
{
	static const char *const names[RS_XEN_PCPU_STATES] = { "busy", "idle", "switching",
							       "lost" };

	number(&cells[0], row->sub);
	name(&cells[1], "%s", names[row->key]);
	state_times(result, row, &cells[2]);
	return true;
}

static const struct xen_column pcpus_columns[] = {
	{ "pcpu", "PCPU", XEN_NUMBER },
	{ "state", "STATE", XEN_NAME },
	STATE_TIMES,
	{ 0 },
};

static bool affinity(const struct rs_xen_result *result, const struct rs_xen_row *row,
		     struct xen_cell *cells)
{
	cells = whose(row, cells);
	number(&cells[0], row->key);
	state_times(result, row, &cells[1]);
	return true;
}

static const struct xen_column affinity_columns[] = {
	WHOSE,
	{ "pcpu", "PCPU", XEN_NUMBER },
	STATE_TIMES,
	{ 0 },
};

/* ---- guests --------------------------------------------------------------------------------- */

static bool exits(const struct rs_xen_result *result, const struct rs_xen_row *row,
		  struct xen_cell *cells)
{
	uint32_t isa = row->sub & ~RS_XEN_IS_NESTED, code = (uint32_t)row->key;
	char reason[RS_EXIT_TEXT_MAX];

	cells = whose(row, cells);
	name(&cells[0], "%s%s", rs_exit_text(isa, code, reason),
	     row->sub & RS_XEN_IS_NESTED ? " (nested)" : "");
	name(&cells[1], "%s", rs_isa_name(isa));
	number(&cells[2], code);
	times(result, row, &cells[3]);
	return true;
}

static const struct xen_column exits_columns[] = {
	WHOSE,
	{ "reason", "REASON", XEN_NAME },
	{ "isa", NULL, XEN_NAME },
	{ "code", NULL, XEN_NUMBER },
	TIMES,
	{ 0 },
};

static bool calls(const struct rs_xen_result *result, const struct rs_xen_row *row,
		  struct xen_cell *cells)
{
	static const char *const kinds[] = { "pv", "in multicall", "hvm" };
	const char *called = rs_enum_name(rs_catalogue_values("xen_hypercall"), row->key);

	cells = whose(row, cells);
	if (called)
		name(&cells[0], "%s", called);
	else
		name(&cells[0], "%" PRIu64, row->key);
	number(&cells[1], row->key);
	name(&cells[2], "%s", kinds[row->sub]);
	times(result, row, &cells[3]);
	if (!row->timed)
		cells[5].known = cells[6].known = false;
	return true;
}

static const struct xen_column calls_columns[] = {
	WHOSE,
	{ "hypercall", "HYPERCALL", XEN_NAME },
	{ "number", NULL, XEN_NUMBER },
	{ "from", "FROM", XEN_NAME },
	TIMES,
	{ 0 },
};

static bool pv(const struct rs_xen_result *result, const struct rs_xen_row *row,
	       struct xen_cell *cells)
{
	const struct rs_catalogue *catalogue =
		rs_catalogue_find(row->key >> 20 == RS_XEN_xdt_block >> 20 ? "xdt" : "xen");

	(void)result;
	cells = whose(row, cells);
	for (uint32_t i = 0; i < catalogue->n_rows; i++) {
		if (catalogue->rows[i].n == (row->key & 0xfffff))
			name(&cells[0], "%s", catalogue->rows[i].name);
	}
	number(&cells[1], row->count);
	return true;
}

static const struct xen_column pv_columns[] = {
	WHOSE,
	{ "event", "EVENT", XEN_NAME },
	{ "count", "COUNT", XEN_NUMBER },
	{ 0 },
};

static bool interrupts(const struct rs_xen_result *result, const struct rs_xen_row *row,
		       struct xen_cell *cells)
{
	static const char *const kinds[] = { "inject to entry", "wake to halt", "inject to halt",
					     "irq handled by Xen" };

	cells = whose(row, cells);
	number(&cells[0], row->key);
	name(&cells[1], "%s", kinds[row->sub]);
	times(result, row, &cells[2]);
	return true;
}

static const struct xen_column interrupts_columns[] = {
	WHOSE, { "vector", "VECTOR", XEN_NUMBER }, { "what", "WHAT", XEN_NAME }, TIMES, { 0 },
};

static bool io(const struct rs_xen_result *result, const struct rs_xen_row *row,
	       struct xen_cell *cells)
{
	char text[RS_CAUSE_TEXT_MAX];

	cells = whose(row, cells);
	name(&cells[0], "%s", rs_cause_kind_name(row->sub));
	name(&cells[1], "%s", rs_cause_text(row->sub, row->key, text));
	number(&cells[2], row->key);
	times(result, row, &cells[3]);
	return true;
}

static const struct xen_column io_columns[] = {
	WHOSE,
	{ "access", "ACCESS", XEN_NAME },
	{ "name", "ADDRESS", XEN_NAME },
	{ "address", NULL, XEN_NUMBER },
	TIMES,
	{ 0 },
};

static bool cr3(const struct rs_xen_result *result, const struct rs_xen_row *row,
		struct xen_cell *cells)
{
	cells = whose(row, cells);
	number(&cells[0], row->key);
	times(result, row, &cells[1]);
	return true;
}

static const struct xen_column cr3_columns[] = {
	WHOSE,
	{ "cr3", "CR3", XEN_HEXADECIMAL },
	TIMES,
	{ 0 },
};

static bool pm(const struct rs_xen_result *result, const struct rs_xen_row *row,
	       struct xen_cell *cells)
{
	number(&cells[0], row->sub);
	if (row->key & RS_XEN_PM_FREQUENCY)
		name(&cells[1], "to %u MHz", (uint32_t)row->key);
	else
		name(&cells[1], "C%u", (uint32_t)row->key);
	times(result, row, &cells[2]);
	return true;
}

static const struct xen_column pm_columns[] = {
	{ "pcpu", "PCPU", XEN_NUMBER },
	{ "state", "STATE", XEN_NAME },
	TIMES,
	{ 0 },
};

/* ---- all of them ---------------------------------------------------------------------------- */

const struct xen_table xen_tables[] = {
	{ RS_XEN_VOLUME, "volume", "Records", volume_columns, volume },
	{ RS_XEN_PCPUS, "pcpus", "Physical CPUs", pcpus_columns, pcpus },
	{ RS_XEN_DOMAINS, "domains", "Domains: what their vCPUs did together", domains_columns,
	  domains },
	{ RS_XEN_STATES, "vcpus", "vCPUs", states_columns, states },
	{ RS_XEN_AFFINITY, "affinity", "Where vCPUs ran", affinity_columns, affinity },
	{ RS_XEN_EXITS, "exits", "Exits", exits_columns, exits },
	{ RS_XEN_CALLS, "hypercalls", "Hypercalls", calls_columns, calls },
	{ RS_XEN_PV, "pv", "What PV domains needed Xen for", pv_columns, pv },
	{ RS_XEN_INTERRUPTS, "interrupts", "Interrupts", interrupts_columns, interrupts },
	{ RS_XEN_IO, "io", "Port and memory-mapped I/O", io_columns, io },
	{ RS_XEN_CR3, "cr3", "Address spaces", cr3_columns, cr3 },
	{ RS_XEN_PM, "pm", "Power", pm_columns, pm },
};
const size_t xen_tables_count = COUNT(xen_tables);

#define BIT(kind) (1u << (kind))

static const struct {
	const char *name;
	uint32_t kinds;
} reports[] = {
	{ "volume", BIT(RS_XEN_VOLUME) },
	{ "sched",
	  BIT(RS_XEN_STATES) | BIT(RS_XEN_DOMAINS) | BIT(RS_XEN_PCPUS) | BIT(RS_XEN_AFFINITY) },
	{ "exits", BIT(RS_XEN_EXITS) },
	{ "hypercalls", BIT(RS_XEN_CALLS) | BIT(RS_XEN_PV) },
	{ "interrupts", BIT(RS_XEN_INTERRUPTS) },
	{ "io", BIT(RS_XEN_IO) },
	{ "cr3", BIT(RS_XEN_CR3) },
	{ "pm", BIT(RS_XEN_PM) },
	{ "summary", RS_XEN_ALL_KINDS },
};

uint32_t rs_xen_report_kinds(const char *report)
{
	for (size_t i = 0; i < COUNT(reports); i++) {
		if (!strcmp(reports[i].name, report))
			return reports[i].kinds;
	}
	return 0;
}
