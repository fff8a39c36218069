/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --xen: the trace of the Xen that this dom0 runs on. */
#include "cli/cli.h"
#include "cli/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/xen.h"
#include "source/xen_live.h"
#include "xen/classes.h"

#define NS_PER_MS UINT64_C(1000000)

/* The one, of this command: zero at first. */
static struct xen {
	bool wanted;
	bool quiet;
	uint32_t mask; /* 0: everything */
	uint32_t poll_ms;
	struct rs_xen_session *session;
	struct rs_xen_recording *recording;
} the_xen;

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_XEN = 1024, KEY_CLASSES };

static const struct argp_option options[] = {
	{ "xen", KEY_XEN, NULL, 0, "The trace of the Xen that this dom0 runs on", 1 },
	{ "classes", KEY_CLASSES, "LIST", 0,
	  "With --xen: only these classes of events, as in sched,hvm, or a mask, as in 0x8f000; "
	  "all",
	  3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct xen *x = state->input;
	struct rs_error *err;

	switch (key) {
	case KEY_XEN:
		x->wanted = true;
		break;
	case KEY_CLASSES:
		err = rs_xen_classes_parse(text, &x->mask);
		if (err)
			argp_error(state, "--classes: %s", rs_error_text(err));
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_wanted(const void *state)
{
	const struct xen *x = state;

	return x->wanted;
}

static void check(const void *state, const struct argp_state *argp_state,
		  const struct rs_record_common *common)
{
	const struct xen *x = state;

	if (!x->wanted && x->mask)
		argp_error(argp_state, "--classes goes with --xen");
	if (x->wanted && common->poll_ns && common->poll_ns < RS_XEN_POLL_MS_MIN * NS_PER_MS)
		argp_error(argp_state, "--poll: with --xen at least %u ms", RS_XEN_POLL_MS_MIN);
}

/* ---- the recording ------------------------------------------------------------------------ */

static struct rs_error *xen_open(void *state, const struct rs_record_common *common)
{
	struct xen *x = state;
	const struct rs_xen_session_options o = {
		.event_mask = x->mask ? x->mask : RS_XEN_CLASSES_ALL,
		.cpus = common->cpus.some ? &common->cpus : NULL,
		.buffer_bytes = common->buffer_bytes,
	};

	x->poll_ms = (uint32_t)(common->poll_ns / NS_PER_MS);
	x->quiet = common->quiet;
	return rs_xen_session_open(&o, &x->session);
}

static void facts_say(const struct xen *x)
{
	struct rs_xen_session_facts facts;

	rs_xen_session_facts(x->session, &facts);
	if (x->quiet)
		return;
	if (facts.was_on)
		fprintf(stderr,
			"ringside record: Xen was tracing already, with event mask 0x%08x, and "
			"nobody read it: it goes on so afterwards\n",
			facts.found_mask);
	if (facts.size_found)
		fprintf(stderr,
			"ringside record: Xen's buffers are %u bytes for each CPU, and stay so "
			"until it boots again\n",
			facts.buffer_bytes);
}

static struct rs_error *xen_attach(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host)
{
	struct xen *x = state;

	facts_say(x);
	return rs_xen_recording_create(x->session, recorder, host, x->poll_ms, &x->recording);
}

static struct rs_error *xen_gate(void *state, bool open)
{
	struct xen *x = state;

	return rs_xen_recording_gate(x->recording, open);
}

static void xen_sum(const void *state, char text[RS_RECORD_WHY_MAX], json_t *json)
{
	const struct xen *x = state;
	const struct rs_foreign_tally *tally = rs_xen_recording_tally(x->recording);
	uint32_t domains = rs_xen_recording_domains(x->recording);
	struct rs_xen_session_facts facts;

	rs_xen_session_facts(x->session, &facts);
	snprintf(text, RS_RECORD_WHY_MAX, "Xen on %u CPU%s, %u domain%s", facts.n_buffers,
		 facts.n_buffers == 1 ? "" : "s", domains, domains == 1 ? "" : "s");
	json_object_set_new(json, "xen",
			    json_pack("{s:I, s:I, s:I, s:i, s:i, s:i, s:b}", "records",
				      (json_int_t)tally->records, "lost", (json_int_t)tally->lost,
				      "gaps", (json_int_t)tally->gaps, "domains", (int)domains,
				      "cpus", (int)facts.n_buffers, "buffer",
				      (int)facts.buffer_bytes, "was_on", (int)facts.was_on));
}

static struct rs_error *xen_report(void *state, bool *partial)
{
	const struct xen *x = state;
	const struct rs_foreign_tally *tally = rs_xen_recording_tally(x->recording);

	for (uint32_t i = 0; !x->quiet && i < tally->n_remarks; i++)
		fprintf(stderr, "ringside record: Xen: %s\n", tally->remarks[i]);
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
	.is_wanted = is_wanted,
	.check = check,
	.open = xen_open,
	.attach = xen_attach,
	.gate = xen_gate,
	.sum = xen_sum,
	.report = xen_report,
	.close = xen_close,
};
