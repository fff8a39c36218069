/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that sinks call on a view. Its size was checked against its event when the view was
 * made. */
#include <ringside/source.h>

#include <string.h>

/* Reads the loss of an event that has more fields than RS_ID_LOST. */
static struct rs_lost loss_by_names(const struct rs_view *view)
{
	struct rs_lost lost = { 0 };

	for (uint16_t i = 0; i < view->event->n_fields; i++) {
		const struct rs_field *field = &view->event->fields[i];
		uint64_t value = rs_field_value(field, view->payload);

		if (!strcmp(field->name, "count"))
			lost.count = value;
		else if (!strcmp(field->name, "from"))
			lost.from = value;
		else if (!strcmp(field->name, "to"))
			lost.to = value;
		else if (!strcmp(field->name, "why"))
			lost.why = (uint32_t)value;
	}
	return lost;
}

struct rs_lost rs_view_loss(const struct rs_view *view)
{
	struct rs_lost lost = { 0 };
	size_t bytes = view->payload_bytes < sizeof(lost) ? view->payload_bytes : sizeof(lost);

	if (view->event->id != RS_ID_LOST)
		return loss_by_names(view);
	memcpy(&lost, view->payload, bytes);
	return lost;
}

const char *rs_view_text(const struct rs_view *view, const struct rs_field *field, size_t *len)
{
	const uint32_t fixed = view->event->fixed_bytes;
	uint32_t at = fixed, n = 0;
	uint16_t each;

	/* Skip the texts before it, then read its length. */
	for (uint32_t i = fixed - view->event->n_tails * 2u; i <= field->offset; i += 2) {
		at += n;
		memcpy(&each, view->payload + i, sizeof(each));
		n = each;
	}
	if (at > view->payload_bytes)
		at = view->payload_bytes;
	*len = n <= view->payload_bytes - at ? n : view->payload_bytes - at;
	return (const char *)view->payload + at;
}

const uint8_t *rs_view_stack(const struct rs_view *view, const struct rs_field *field, uint32_t *n)
{
	const uint32_t fixed = view->event->fixed_bytes;
	uint32_t room = (view->payload_bytes - fixed) / (uint32_t)sizeof(uint64_t);
	uint16_t said;

	memcpy(&said, view->payload + field->offset, sizeof(said));
	*n = said < room ? said : room;
	return view->payload + fixed;
}
