/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `ringside script` for live sources. */
#include "cli/script_live.h"

#include "cli/numbers.h"
#include "cli/shared.h"
#include "cli/xen.h"
#include "live/sbuf.h"

#define BUFFER_MIN     4096u
#define BUFFER_MAX     (1u << 30)
#define RING_BYTES_MIN (sizeof(struct rs_sbuf) + RS_SBUF_ELE_NUM_MIN * RS_SLOT_BYTES)

enum { KEY_TRACEPOINT = 512, KEY_BUFFER, KEY_CLASSES, KEY_SBUF, KEY_CREATE };

static const struct argp_option options[] = {
	{ "kvm", RS_CLI_FLAG(struct rs_script_live, kvm), NULL, 0,
	  "Run the program live, on the "
	  "host's KVM",
	  3 },
	{ "tracepoint", KEY_TRACEPOINT, "SYSTEM:EVENT", 0,
	  "Run the program live, on tracepoints of the host's kernel, as in sched:sched_switch or "
	  "'block:*'; may be repeated, and combined with --kvm",
	  3 },
	{ "duration", RS_CLI_SECONDS(struct rs_script_live, duration_ns), "SEC", 0,
	  "Live: stop after this time (default: at Ctrl-C)", 3 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "Live: the size of each CPU's ring, with K or M (1M)",
	  3 },
	{ "tee", RS_CLI_TEXT(struct rs_script_live, tee), "DIR", 0,
	  "Live: keep the events that the program read in a trace directory, on which the program "
	  "prints the same",
	  3 },
	{ "xen", RS_CLI_FLAG(struct rs_script_live, xen), NULL, 0,
	  "Run the program live, on the Xen that this dom0 runs on", 3 },
	{ "classes", KEY_CLASSES, "LIST", 0,
	  "With --xen: trace only these classes of events, as in sched,hvm (all)", 3 },
	{ "sbuf", KEY_SBUF, "PATH...", 0,
	  "Run the program live, on rings of ACRN's layout that another program writes, of traces "
	  "or of logs: devices (/dev/acrn_trace_*, /dev/acrn_hvlog_*), files, shm:NAME",
	  3 },
	{ "create", KEY_CREATE, "N", 0,
	  "With --sbuf PATH: create N rings, PATH.0 and so on, and lend them until the end to "
	  "programs that request rings at PATH",
	  3 },
	{ "keep", RS_CLI_FLAG(struct rs_script_live, keep), NULL, 0,
	  "With --sbuf: also read the records that the rings hold at the start, which are skipped "
	  "by default",
	  3 },
	{ 0 },
};

static void check(const struct argp_state *state, const struct rs_script_live *live)
{
	if (live->xen_mask && !live->xen)
		argp_error(state, "--classes requires --xen");
	if (!live->n_rings && (live->keep || live->lend))
		argp_error(state, "--create and --keep require --sbuf");
	if (live->lend && live->n_rings > 1)
		argp_error(state, "--create allows only one PATH, got '%s'", live->rings[1]);
	if (live->lend && live->buffer_bytes && live->buffer_bytes < RING_BYTES_MIN)
		argp_error(state, "--buffer: a ring needs at least %zu bytes", RING_BYTES_MIN);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_live *live = state->input;
	uint64_t bytes;

	switch (key) {
	case KEY_TRACEPOINT:
		rs_cli_append(state, "--tracepoint", text, live->globs, &live->n_globs,
			      RS_TRACEPOINT_GLOBS_MAX);
		break;
	case KEY_BUFFER:
		if (!rs_cli_read_size(text, BUFFER_MIN, BUFFER_MAX, &bytes))
			argp_error(state, "--buffer '%s': expected 4K to 1G", text);
		live->buffer_bytes = (uint32_t)bytes;
		break;
	case KEY_CLASSES:
		rs_cli_xen_classes(state, text, &live->xen_mask);
		break;
	case KEY_SBUF:
		rs_cli_append(state, "--sbuf", text, live->rings, &live->n_rings,
			      RS_SCRIPT_SBUF_MAX);
		break;
	case KEY_CREATE:
		live->lend = (uint32_t)rs_cli_number(state, "--create", text, 1, RS_LEND_IDS_MAX);
		break;
	case ARGP_KEY_END:
		check(state, live);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

const struct argp rs_script_live_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

struct rs_error *rs_script_live_check(const struct rs_script_live *live)
{
	if (rs_script_live_wanted(live) ||
	    (!live->duration_ns && !live->buffer_bytes && !live->tee))
		return NULL;
	return rs_error_create(RS_USAGE,
			       "--duration, --buffer and --tee require --kvm, --tracepoint, --xen "
			       "or --sbuf, or a program with probes of the kernel's tracepoints "
			       "(ftrace:SYSTEM::EVENT)");
}
