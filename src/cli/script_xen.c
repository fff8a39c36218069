/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside script --xen: the Xen that this dom0 runs on. */
#include "cli/script_live.h"

#include <stdio.h>

#include "live/record_xen.h"
#include "live/xen.h"

enum { KEY_XEN = 576, KEY_CLASSES };

static const struct argp_option options[] = {
	{ "xen", KEY_XEN, NULL, 0, "Run it live, on the Xen that this dom0 runs on", 3 },
	{ "classes", KEY_CLASSES, "LIST", 0,
	  "With --xen: only these classes of events, as in sched,hvm (all)", 3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_live *live = state->input;

	switch (key) {
	case KEY_XEN:
		live->xen.wanted = true;
		break;
	case KEY_CLASSES:
		rs_cli_xen_classes(state, text, &live->xen.mask);
		break;
	case ARGP_KEY_END:
		if (live->xen.mask && !live->xen.wanted)
			argp_error(state, "--classes goes with --xen");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp rs_script_xen_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool xen_wanted(const struct rs_script_live *live)
{
	return live->xen.wanted;
}

static struct rs_error *xen_open(struct rs_script_live *live, struct rs_source **source)
{
	struct rs_foreign *foreign;
	struct rs_error *err;

	live->xen.buffer_bytes = live->buffer_bytes;
	err = rs_cli_xen_open(&live->xen, "script", false, &live->xen_session);
	if (!err)
		err = rs_xen_recording_create(live->xen_session, NULL, &live->clock, 0,
					      &live->xen_recording);
	if (err)
		return err;
	foreign = rs_xen_recording_source(live->xen_recording);
	live->xen_stream = (struct rs_stream){ .cpu = RS_CPU_EACH,
					       .vcpu = RS_UNKNOWN,
					       .tid = RS_UNKNOWN,
					       .dom = RS_UNKNOWN,
					       .mixed = true,
					       .xen = true,
					       .schema = rs_xen_live_schema(foreign),
					       .clock = &foreign->clock };
	*source = &foreign->source;
	return NULL;
}

static struct rs_error *xen_gate(struct rs_script_live *live, bool open)
{
	return rs_xen_recording_gate(live->xen_recording, open);
}

static const struct rs_stream *xen_stream(const struct rs_script_live *live,
					  const struct rs_source *source, uint32_t index)
{
	(void)source;
	return index ? NULL : &live->xen_stream;
}

/* Events report the losses. */
static bool xen_report(const struct rs_script_live *live)
{
	const struct rs_foreign_tally *tally = rs_xen_recording_tally(live->xen_recording);

	for (uint32_t i = 0; i < tally->n_remarks; i++)
		fprintf(stderr, "ringside script: Xen: %s\n", tally->remarks[i]);
	return tally->gaps > 0;
}

static void xen_close(struct rs_script_live *live)
{
	rs_xen_recording_destroy(live->xen_recording);
	rs_xen_session_close(live->xen_session);
}

const struct rs_script_kind rs_script_xen = {
	.wanted = xen_wanted,
	.open = xen_open,
	.gate = xen_gate,
	.stream = xen_stream,
	.report = xen_report,
	.close = xen_close,
};
