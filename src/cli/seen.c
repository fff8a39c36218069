/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink that notes whether any event reached another sink. */
#include "cli/seen.h"

static bool is_selected(const struct rs_query *query, const struct rs_event *event)
{
	if (event->kind != RS_KIND_LOSS || !query->n_globs)
		return true;
	for (uint32_t i = 0; i < query->n_globs; i++) {
		if (rs_probe_match(query->globs[i], event))
			return true;
	}
	return false;
}

static struct rs_error *events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_cli_seen *seen = (struct rs_cli_seen *)sink;

	for (size_t i = 0; i < n && !seen->any; i++)
		seen->any = is_selected(seen->query, views[i].event);
	return seen->to->ops->events(seen->to, views, n);
}

static struct rs_error *counts(struct rs_sink *sink, const struct rs_counts *counts)
{
	struct rs_cli_seen *seen = (struct rs_cli_seen *)sink;

	seen->any = true;
	return seen->to->ops->counts ? seen->to->ops->counts(seen->to, counts) : NULL;
}

static struct rs_error *end(struct rs_sink *sink)
{
	struct rs_cli_seen *seen = (struct rs_cli_seen *)sink;

	return seen->to->ops->end ? seen->to->ops->end(seen->to) : NULL;
}

static const struct rs_sink_ops ops = {
	.name = "seen", .events = events, .counts = counts, .end = end
};

void rs_cli_seen_init(struct rs_cli_seen *seen, struct rs_sink *to, const struct rs_query *query)
{
	*seen = (struct rs_cli_seen){ .sink.ops = &ops, .to = to, .query = query };
}
