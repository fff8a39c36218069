/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of the Xen reports' tables. */
#include "view/xen_tables.h"

#include <inttypes.h>

#include "analyze/exits.h"
#include "event/catalogue.h"
#include "xen/layout.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- columns that several tables have ------------------------------------------------------- */

/* A domain has the name of the VM of its events. */
RS_COLUMN_GETTER(get_vm)
{
	const struct rs_xen_row *row = at;

	if (row->dom >= 0)
		rs_cell_format(cell, "d%d", row->dom);
}

/* Returns whether a row's time is known: that of a state, including its edges, or a timed
 * duration. */
static bool total_of(const struct rs_xen_row *row, uint64_t *ns)
{
	static const uint32_t states = 1u << RS_XEN_STATES | 1u << RS_XEN_DOMAINS |
				       1u << RS_XEN_PCPUS | 1u << RS_XEN_AFFINITY;

	*ns = row->total_ns + row->edge_ns;
	return row->timed || (states >> row->kind & 1);
}

RS_COLUMN_GETTER(get_total)
{
	uint64_t ns;

	if (total_of(at, &ns))
		rs_cell_number(cell, ns);
}

RS_COLUMN_GETTER(get_share)
{
	const struct rs_xen_result *result = report;
	uint64_t ns;

	if (total_of(at, &ns))
		rs_cell_share(cell, ns, (uint64_t)(result->to_ns - result->from_ns));
}

RS_COLUMN_GETTER(get_spread)
{
	const struct rs_xen_row *row = at;
	const struct rs_spread spread = { row->hist ? row->timed : 0, row->total_ns, row->min_ns,
					  row->max_ns, row->hist };

	rs_cell_spread(cell, &spread, column->arg);
}

RS_COLUMN_GETTER(get_interval)
{
	const struct rs_xen_result *result = report;

	rs_cell_number(cell, (uint64_t)(column->arg ? result->to_ns : result->from_ns));
}

#define COLUMN(key, head, type, ...)                                                               \
	{                                                                                          \
		key, head, RS_COLUMN_##type, __VA_ARGS__                                           \
	}
#define AT(member) RS_COLUMN_AT(struct rs_xen_row, member)

/* The first columns of each table. With --interval, each line of CSV has its interval. */
#define INTERVAL                                                                                   \
	COLUMN("from_ns", NULL, SIGNED, get_interval, 0, XEN_TABLE_INTERVAL),                      \
		COLUMN("to_ns", NULL, SIGNED, get_interval, 1, XEN_TABLE_INTERVAL)
#define DOMAIN                                                                                     \
	COLUMN("domain", NULL, NUMBER, rs_column_int, AT(dom)), COLUMN(NULL, "VM", TEXT, get_vm)
#define WHOSE	DOMAIN, COLUMN("vcpu", "VCPU", NUMBER, rs_column_int, AT(vcpu))
#define PCPU	COLUMN("pcpu", "PCPU", NUMBER, rs_column_u32, AT(sub))
#define TOTAL	COLUMN("total", "TOTAL", TIME, get_total)
#define SHARE	COLUMN("share", "SHARE%", SHARE, get_share), RS_COLUMN_SPREAD(get_spread, 0, 0)
#define COUNTED COLUMN("count", "COUNT", NUMBER, rs_column_u64, AT(count))
#define TIMED	COUNTED, COLUMN("timed", NULL, NUMBER, rs_column_u64, AT(timed)), TOTAL, SHARE
#define STATE	COUNTED, TOTAL, COLUMN("edge", NULL, TIME, rs_column_u64, AT(edge_ns)), SHARE

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

RS_COLUMN_GETTER(get_class)
{
	const struct rs_xen_row *row = at;

	rs_cell_format(cell, "0x%" PRIx64 "000", row->key);
	for (size_t i = 0; i < COUNT(classes); i++) {
		if (classes[i].key == row->key)
			rs_cell_text(cell, classes[i].name);
	}
}

static const struct rs_column volume_columns[] = {
	INTERVAL,
	PCPU,
	COLUMN("class", "CLASS", TEXT, get_class),
	COLUMN("records", "RECORDS", NUMBER, rs_column_u64, AT(count)),
	COLUMN("bytes", "BYTES", NUMBER, rs_column_u64, AT(bytes)),
	{ 0 },
};

/* ---- the scheduler -------------------------------------------------------------------------- */

static const char *const vcpu_states[RS_XEN_STATES_COUNT] = {
	"running",
	"runnable (wake)",
	"runnable (preempt)",
	"runnable (other)",
	"blocked",
	"offline",
	"lost",
};
static const char *const domain_states[RS_XEN_TOGETHER_COUNT] = {
	"blocked",	   "partial run", "full run", "partial contention", "concurrency hazard",
	"full contention", "lost",
};
static const char *const pcpu_states[RS_XEN_PCPU_STATES] = { "busy", "idle", "switching", "lost" };

RS_COLUMN_GETTER(get_state)
{
	static const char *const *const names[RS_XEN_KINDS] = {
		[RS_XEN_STATES] = vcpu_states,
		[RS_XEN_DOMAINS] = domain_states,
		[RS_XEN_PCPUS] = pcpu_states,
	};
	const struct rs_xen_row *row = at;

	rs_cell_text(cell, names[row->kind][row->key]);
}

RS_COLUMN_GETTER(get_continued)
{
	const struct rs_xen_row *row = at;

	if (row->key == RS_XEN_RUNNING)
		rs_cell_number(cell, row->continued);
}

static const struct rs_column vcpus_columns[] = {
	INTERVAL,
	WHOSE,
	COLUMN("state", "STATE", TEXT, get_state),
	STATE,
	COLUMN("continued", NULL, NUMBER, get_continued),
	{ 0 },
};

static const struct rs_column domains_columns[] = {
	INTERVAL, DOMAIN, COLUMN("state", "STATE", TEXT, get_state), STATE, { 0 },
};

static const struct rs_column pcpus_columns[] = {
	INTERVAL, PCPU, COLUMN("state", "STATE", TEXT, get_state), STATE, { 0 },
};

static const struct rs_column affinity_columns[] = {
	INTERVAL, WHOSE, COLUMN("pcpu", "PCPU", NUMBER, rs_column_u64, AT(key)), STATE, { 0 },
};

/* ---- guests --------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_reason)
{
	const struct rs_xen_row *row = at;
	char reason[RS_EXIT_TEXT_MAX];

	rs_cell_format(cell, "%s%s",
		       rs_exit_text(row->sub & ~RS_XEN_IS_NESTED, (uint32_t)row->key, reason),
		       row->sub & RS_XEN_IS_NESTED ? " (nested)" : "");
}

RS_COLUMN_GETTER(get_isa)
{
	rs_cell_text(cell, rs_isa_name(((const struct rs_xen_row *)at)->sub & ~RS_XEN_IS_NESTED));
}

static const struct rs_column exits_columns[] = {
	INTERVAL,
	WHOSE,
	COLUMN("reason", "REASON", TEXT, get_reason),
	COLUMN("isa", NULL, TEXT, get_isa),
	COLUMN("code", NULL, NUMBER, rs_column_u64, AT(key)),
	TIMED,
	{ 0 },
};

RS_COLUMN_GETTER(get_call)
{
	const struct rs_xen_row *row = at;
	const char *called = rs_enum_name(rs_catalogue_values("xen_hypercall"), row->key);

	if (called)
		rs_cell_text(cell, called);
	else
		rs_cell_format(cell, "%" PRIu64, row->key);
}

RS_COLUMN_GETTER(get_caller)
{
	static const char *const kinds[] = { "pv", "in multicall", "hvm" };

	rs_cell_text(cell, kinds[((const struct rs_xen_row *)at)->sub]);
}

static const struct rs_column calls_columns[] = {
	INTERVAL,
	WHOSE,
	COLUMN("hypercall", "HYPERCALL", TEXT, get_call),
	COLUMN("number", NULL, NUMBER, rs_column_u64, AT(key)),
	COLUMN("from", "FROM", TEXT, get_caller),
	TIMED,
	{ 0 },
};

RS_COLUMN_GETTER(get_event)
{
	const struct rs_xen_row *row = at;
	const struct rs_catalogue *catalogue =
		rs_catalogue_find(row->key >> 20 == RS_XEN_xdt_block >> 20 ? "xdt" : "xen");

	for (uint32_t i = 0; i < catalogue->n_rows; i++) {
		if (catalogue->rows[i].n == (row->key & 0xfffff))
			rs_cell_text(cell, catalogue->rows[i].name);
	}
}

static const struct rs_column pv_columns[] = {
	INTERVAL, WHOSE, COLUMN("event", "EVENT", TEXT, get_event), COUNTED, { 0 },
};

RS_COLUMN_GETTER(get_what)
{
	static const char *const kinds[] = { "inject to entry", "wake to halt", "inject to halt",
					     "irq handled by Xen" };

	rs_cell_text(cell, kinds[((const struct rs_xen_row *)at)->sub]);
}

static const struct rs_column interrupts_columns[] = {
	INTERVAL,
	WHOSE,
	COLUMN("vector", "VECTOR", NUMBER, rs_column_u64, AT(key)),
	COLUMN("what", "WHAT", TEXT, get_what),
	TIMED,
	{ 0 },
};

RS_COLUMN_GETTER(get_access)
{
	rs_cell_text(cell, rs_cause_kind_name(((const struct rs_xen_row *)at)->sub));
}

RS_COLUMN_GETTER(get_address)
{
	const struct rs_xen_row *row = at;

	rs_cell_text(cell, rs_cause_text(row->sub, row->key, cell->room));
}

static const struct rs_column io_columns[] = {
	INTERVAL,
	WHOSE,
	COLUMN("access", "ACCESS", TEXT, get_access),
	COLUMN("name", "ADDRESS", TEXT, get_address),
	COLUMN("address", NULL, NUMBER, rs_column_u64, AT(key)),
	TIMED,
	{ 0 },
};

static const struct rs_column cr3_columns[] = {
	INTERVAL, WHOSE, COLUMN("cr3", "CR3", HEX, rs_column_u64, AT(key)), TIMED, { 0 },
};

RS_COLUMN_GETTER(get_power)
{
	const struct rs_xen_row *row = at;

	if (row->key & RS_XEN_PM_FREQUENCY)
		rs_cell_format(cell, "to %u MHz", (uint32_t)row->key);
	else
		rs_cell_format(cell, "C%u", (uint32_t)row->key);
}

static const struct rs_column pm_columns[] = {
	INTERVAL, PCPU, COLUMN("state", "STATE", TEXT, get_power), TIMED, { 0 },
};

/* ---- all of them ---------------------------------------------------------------------------- */

const struct xen_table xen_tables[] = {
	{ RS_XEN_VOLUME, "volume", "Records", volume_columns },
	{ RS_XEN_PCPUS, "pcpus", "Physical CPUs", pcpus_columns },
	{ RS_XEN_DOMAINS, "domains", "Domains: states of their vCPUs together", domains_columns },
	{ RS_XEN_STATES, "vcpus", "vCPUs", vcpus_columns },
	{ RS_XEN_AFFINITY, "affinity", "Where vCPUs ran", affinity_columns },
	{ RS_XEN_EXITS, "exits", "Exits", exits_columns },
	{ RS_XEN_CALLS, "hypercalls", "Hypercalls", calls_columns },
	{ RS_XEN_PV, "pv", "Entries of PV domains into Xen", pv_columns },
	{ RS_XEN_INTERRUPTS, "interrupts", "Interrupts", interrupts_columns },
	{ RS_XEN_IO, "io", "Port and memory-mapped I/O", io_columns },
	{ RS_XEN_CR3, "cr3", "Address spaces", cr3_columns },
	{ RS_XEN_PM, "pm", "Power", pm_columns },
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
