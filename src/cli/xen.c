/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the verbs that trace a running Xen, and its session. */
#include "cli/xen.h"

#include "cli/cli.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "live/xen.h"
#include "xen/classes.h"

#define NS_PER_MS UINT64_C(1000000)

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_CLASSES = 1536, KEY_CPUS, KEY_BUFFER, KEY_POLL };

static const struct argp_option options[] = {
	{ "xen", RS_CLI_FLAG(struct rs_cli_xen, selected), NULL, 0,
	  "Instead of TRACE: read the Xen that this dom0 runs on, live", 5 },
	{ "classes", KEY_CLASSES, "LIST", 0,
	  "With --xen: trace only these classes of events, as in sched,hvm (all)", 5 },
	{ "cpus", KEY_CPUS, "LIST", 0,
	  "With --xen: trace only these physical CPUs, as in 0-3,7; Xen keeps this setting "
	  "afterwards",
	  5 },
	{ "buffer", KEY_BUFFER, "SIZE", 0,
	  "With --xen: set the size of Xen's buffer of each CPU, if it has none yet, with K or M "
	  "(256K)",
	  5 },
	{ "poll", KEY_POLL, "MS", 0,
	  "With --xen: poll the buffers at this interval of at least 10 ms (100)", 5 },
	{ 0 },
};

void rs_cli_xen_classes(const struct argp_state *state, const char *text, uint32_t *mask)
{
	struct rs_error *err = rs_xen_classes_parse(text, mask);

	if (err)
		argp_error(state, "--classes: %s", rs_error_text(err));
}

void rs_cli_xen_check_poll(const struct argp_state *state, uint64_t poll_ns)
{
	if (poll_ns && poll_ns < RS_XEN_POLL_MS_MIN * NS_PER_MS)
		argp_error(state, "--poll: with --xen, expected at least %u ms",
			   RS_XEN_POLL_MS_MIN);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_xen *x = state->input;

	switch (key) {
	case KEY_CLASSES:
		rs_cli_xen_classes(state, text, &x->mask);
		break;
	case KEY_CPUS:
		rs_cli_cpus(state, text, &x->cpus);
		break;
	case KEY_BUFFER:
		x->buffer_bytes = (uint32_t)rs_cli_size(state, "--buffer", text, UINT32_MAX);
		break;
	case KEY_POLL:
		x->poll_ns = rs_cli_poll(state, text, NS_PER_MS);
		break;
	case ARGP_KEY_END:
		if (!x->selected && (x->mask || x->cpus.some || x->buffer_bytes || x->poll_ns))
			argp_error(state, "--classes, --cpus, --buffer and --poll require --xen");
		rs_cli_xen_check_poll(state, x->poll_ns);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

const struct argp rs_cli_xen_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

/* ---- the session -------------------------------------------------------------------------- */

static void report(void *verb, const char *text)
{
	rs_cli_message(verb, text);
}

struct rs_error *rs_cli_xen_open(const struct rs_cli_xen *x, const char *verb, bool quiet,
				 struct rs_xen_session **session)
{
	const struct rs_xen_session_options o = {
		.event_mask = x->mask ? x->mask : RS_XEN_CLASSES_ALL,
		.cpus = x->cpus.some ? &x->cpus : NULL,
		.buffer_bytes = x->buffer_bytes,
	};
	struct rs_error *err = rs_xen_session_open(&o, session);

	if (!err && !quiet)
		rs_xen_session_remarks(*session, report, (char *)(uintptr_t)verb);
	return err;
}

uint32_t rs_cli_xen_poll_ms(const struct rs_cli_xen *x)
{
	return (uint32_t)(x->poll_ns / NS_PER_MS);
}
