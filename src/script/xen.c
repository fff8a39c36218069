/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs on the Xen that this dom0 runs on. */
#include "script/live.h"

#include "live/record_xen.h"
#include "live/xen.h"
#include "xen/classes.h"

static bool xen_wanted(const struct rs_script_live *live)
{
	return live->xen;
}

static struct rs_error *xen_open(struct rs_script_live *live, struct rs_source **source)
{
	const struct rs_xen_session_options o = {
		.event_mask = live->xen_mask ? live->xen_mask : RS_XEN_CLASSES_ALL,
		.buffer_bytes = live->buffer_bytes,
	};
	struct rs_foreign *foreign;
	struct rs_error *err;

	err = rs_xen_session_open(&o, &live->xen_session);
	if (!err)
		rs_xen_session_remarks(live->xen_session, live->remarks.report, live->remarks.ctx);
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
		rs_script_remark(&live->remarks, "Xen: %s", tally->remarks[i]);
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
