/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats the text of "ringside/state". */
#include "store/state.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

struct block {
	char *text;
	size_t len; /* length of the whole text, which may be more than fits */
};

static void add(void *ctx, const char *bytes, size_t len)
{
	struct block *block = ctx;

	if (block->len + len < RS_STATE_BYTES)
		memcpy(block->text + block->len, bytes, len);
	block->len += len;
}

void rs_state_private_json(const struct rs_state_private *private, struct rs_json *json)
{
	rs_json_open(json, '{');
	rs_json_unsigned(rs_json_key(json, "n"), private->n);
	rs_json_open(rs_json_key(json, "streams"), '[');
	for (uint32_t i = 0; i < private->n && i < RS_STATE_PRIVATE_MAX; i++)
		rs_json_unsigned(json, private->stream[i]);
	rs_json_close(json, ']');
	rs_json_text(rs_json_key(json, "why"), private->why);
	rs_json_close(json, '}');
}

static void write_members(struct rs_json *json, const struct rs_state *state, size_t error_len)
{
	char check[20];

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "state"), state->word);
	if (state->pid)
		rs_json_signed(rs_json_key(json, "pid"), state->pid);
	if (state->check) {
		snprintf(check, sizeof(check), "%016" PRIx64, *state->check);
		rs_json_text(rs_json_key(json, "describe"), check);
	}
	if (state->unsaid)
		rs_json_unsigned(rs_json_key(json, "unsaid"), state->unsaid);
	if (state->private && state->private->n)
		rs_state_private_json(state->private, rs_json_key(json, "private"));
	if (state->error)
		rs_json_bytes(rs_json_key(json, "error"), state->error, error_len);
	rs_json_close(json, '}');
}

void rs_state_format(const struct rs_state *state, struct rs_out *out, char block[RS_STATE_BYTES])
{
	struct rs_out lent = *out; /* its buffer, for another destination */
	struct block made = { .text = block };
	size_t error_len = state->error ? strlen(state->error) : 0;

	lent.put = add;
	lent.ctx = &made;
	for (;; error_len /= 2) {
		struct rs_json json = { .out = &lent };

		memset(block, ' ', RS_STATE_BYTES);
		made.len = 0;
		write_members(&json, state, error_len);
		rs_out_write(&lent);
		if (made.len < RS_STATE_BYTES)
			break;
	}
	block[RS_STATE_BYTES - 1] = '\n';
}
