/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --xen: records the trace of the Xen that this dom0 runs on. */
#include "base/count.h"
#include "cli/record.h"
#include "cli/shared.h"
#include "cli/xen.h"

#include <stdio.h>

#include "live/record_xen.h"

/* The only session of the process; zero at first. */
static struct xen {
	struct rs_cli_xen options;
	const struct rs_record_common *common;
	struct rs_xen_session *session;
	struct rs_xen_recording *recording;
} the_xen;

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_CLASSES = 1024 };

static const struct argp_option options[] = {
	{ "xen", RS_CLI_FLAG(struct xen, options.selected), NULL, 0,
	  "Record the trace of the Xen that this dom0 runs on", 1 },
	{ "classes", KEY_CLASSES, "LIST", 0,
	  "With --xen: record only these classes of events, as in sched,hvm, or a mask, as in "
	  "0x8f000 (all)",
	  3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct xen *x = state->input;

	if (key != KEY_CLASSES)
		return rs_cli_store(options, key, text, state);
	rs_cli_xen_classes(state, text, &x->options.mask);
	return 0;
}

static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_selected(const void *state)
{
	const struct xen *x = state;

	return x->options.selected;
}

static void check(const void *state, const struct argp_state *argp_state,
		  const struct rs_record_common *common)
{
	const struct xen *x = state;

	if (!x->options.selected && x->options.mask)
		argp_error(argp_state, "--classes requires --xen");
	if (x->options.selected)
		rs_cli_xen_check_poll(argp_state, common->poll_ns);
}

/* ---- the recording ------------------------------------------------------------------------ */

static struct rs_error *xen_open(void *state, const struct rs_record_common *common)
{
	struct xen *x = state;

	x->options.cpus = common->cpus;
	x->options.buffer_bytes = common->buffer_bytes;
	x->options.poll_ns = common->poll_ns;
	x->common = common;
	return rs_cli_xen_open(&x->options, "record", common->quiet, &x->session);
}

static struct rs_error *xen_attach(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host)
{
	struct xen *x = state;

	return rs_xen_recording_create(x->session, recorder, host, rs_cli_xen_poll_ms(&x->options),
				       &x->recording);
}

static struct rs_error *xen_gate(void *state, bool open)
{
	struct xen *x = state;

	return rs_xen_recording_gate(x->recording, open);
}

static void xen_sum(const void *state, char text[RS_RECORD_WHY_MAX])
{
	const struct xen *x = state;
	uint32_t domains = rs_xen_recording_domains(x->recording);
	struct rs_xen_session_facts facts;

	rs_xen_session_facts(x->session, &facts);
	snprintf(text, RS_RECORD_WHY_MAX, "Xen on %s, %s", RS_COUNT_OF(facts.n_buffers, "CPU"),
		 RS_COUNT_OF(domains, "domain"));
}

static void xen_sum_json(const void *state, struct rs_json *json)
{
	const struct xen *x = state;
	const struct rs_foreign_tally *tally = rs_xen_recording_tally(x->recording);
	struct rs_xen_session_facts facts;

	rs_xen_session_facts(x->session, &facts);
	rs_json_open(rs_json_key(json, "xen"), '{');
	rs_json_unsigned(rs_json_key(json, "records"), tally->records);
	rs_json_unsigned(rs_json_key(json, "lost"), tally->lost);
	rs_json_unsigned(rs_json_key(json, "gaps"), tally->gaps);
	rs_json_unsigned(rs_json_key(json, "domains"), rs_xen_recording_domains(x->recording));
	rs_json_unsigned(rs_json_key(json, "cpus"), facts.n_buffers);
	rs_json_unsigned(rs_json_key(json, "buffer"), facts.buffer_bytes);
	rs_json_bool(rs_json_key(json, "was_on"), facts.was_on);
	rs_json_close(json, '}');
}

static struct rs_error *xen_report(void *state, bool *partial)
{
	const struct xen *x = state;
	const struct rs_foreign_tally *tally = rs_xen_recording_tally(x->recording);

	for (uint32_t i = 0; i < tally->n_remarks; i++)
		rs_record_remark(x->common, "Xen: %s", tally->remarks[i]);
	*partial |= tally->lost || tally->gaps;
	return NULL;
}

static void xen_close(void *state)
{
	struct xen *x = state;

	rs_xen_recording_destroy(x->recording);
	rs_xen_session_close(x->session);
}

const struct rs_record_kind rs_record_xen = {
	.name = "xen",
	.state = &the_xen,
	.argp = &argp,
	.uses = RS_RECORD_BUFFER | RS_RECORD_POLL | RS_RECORD_CPUS,
	.is_selected = is_selected,
	.check = check,
	.open = xen_open,
	.attach = xen_attach,
	.gate = xen_gate,
	.sum = xen_sum,
	.sum_json = xen_sum_json,
	.report = xen_report,
	.close = xen_close,
};
