/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --json: the output of a program as JSON Lines, an object for each clause that prints, and at the
 * end one for each aggregation that was not printed:
 *
 *	{"probe":"p:c:f:n","ts":1,"cpu":0,"output":[{"printf":"text"},{"trace":5},...]}
 *	{"aggregations":[{"name":"a","function":"count"}],"rows":[{"keys":["x"],"values":[5]}]}
 *
 * A number is always a JSON number, whatever its value; a key in hexadecimal is a string, "0x...",
 * as the arguments of events are. A distribution is {"bins":[{"from":8,"to":16,"count":2}]}: a bin
 * excludes `to`, and null means no bound.
 */
#include "lang/vm/json.h"
#include "lang/vm/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- the writer ----------------------------------------------------------------------------- */

static void put_text(void *ctx, const char *bytes, size_t len)
{
	rs_lang_text_add(ctx, bytes, len);
}

struct rs_error *rs_lang_json_init(struct rs_out *out)
{
	return rs_out_init_put(out, put_text);
}

/* Starts to write at the end of `text`, after a value of the same list if there is one. */
static struct rs_json begin(struct runtime *rt, struct text *text)
{
	rt->json.ctx = text;
	return (struct rs_json){ .out = &rt->json, .follows = text->len != 0 };
}

static void end(const struct rs_json *json)
{
	rs_out_write(json->out);
}

/* ---- values --------------------------------------------------------------------------------- */

static void put_number(struct rs_json *json, struct type type, uint64_t value)
{
	if (type.is_signed)
		rs_json_signed(json, (int64_t)value);
	else
		rs_json_unsigned(json, value);
}

/* A bit-field: shifts it to the top of its unit, and back. */
static void put_bits(struct rs_json *json, const struct member *m, uint64_t unit)
{
	uint32_t rest = 64u - m->bits;

	unit <<= rest - m->at;
	if (m->type.is_signed)
		rs_json_signed(json, (int64_t)unit >> rest);
	else
		rs_json_unsigned(json, unit >> rest);
}

static void put_value(struct rs_json *json, struct type type, const struct value *value)
{
	if (type.kind == TYPE_STRING)
		rs_json_bytes(json, value->s, value->len);
	else
		put_number(json, type,
			   type.kind == TYPE_INT ? rs_lang_type_cut(type, value->i) : value->i);
}

static void put_memory(struct firing *f, struct rs_json *json, const struct type *type,
		       uint64_t address);

static void put_record(struct firing *f, struct rs_json *json, const struct type *type,
		       uint64_t address)
{
	rs_json_open(json, '{');
	for (const struct member *m = type->record->members; m && !f->fault; m = m->next) {
		uint64_t value;

		rs_json_key(json, m->name);
		if (!m->bits)
			put_memory(f, json, &m->type, address + m->offset);
		else if (rs_lang_memory_load(f, address + m->offset, m->type.bytes, &value))
			put_bits(json, m, value);
	}
	rs_json_close(json, '}');
}

static void put_array(struct firing *f, struct rs_json *json, const struct type *type,
		      uint64_t address)
{
	uint64_t bytes = rs_lang_type_bytes(f->script, type->to);
	const char *at;

	if (type->to->kind == TYPE_INT && type->to->bytes == 1 && type->to->is_signed) {
		at = rs_lang_memory_at(f, address, type->n, false);
		if (at)
			rs_json_bytes(json, at, strnlen(at, type->n));
		return;
	}
	rs_json_open(json, '[');
	for (uint32_t i = 0; i < type->n && !f->fault; i++)
		put_memory(f, json, type->to, address + i * bytes);
	rs_json_close(json, ']');
}

/* Unreadable memory is a fault, which discards the output of the clause. */
static void put_memory(struct firing *f, struct rs_json *json, const struct type *type,
		       uint64_t address)
{
	struct value value = { .i = 0 };

	if (type->kind == TYPE_RECORD)
		put_record(f, json, type, address);
	else if (type->kind == TYPE_ARRAY)
		put_array(f, json, type, address);
	else if (type->kind == TYPE_VOID) /* of the guest: D has no such type */
		rs_json_null(json);
	else if (type->kind == TYPE_STRING ? rs_lang_memory_load_text(f, address, 0, &value)
					   : rs_lang_memory_load(f, address, type->bytes, &value.i))
		put_value(json, *type, &value);
}

/* ---- a clause ----------------------------------------------------------------------------- */

void rs_lang_json_trace(struct firing *f, const char *name, const struct type *type,
			const struct value *value)
{
	struct rs_json json = begin(f->rt, &f->rt->text);

	rs_json_open(&json, '{');
	rs_json_key(&json, name);
	if (rs_lang_type_is_object(type))
		put_memory(f, &json, type, value->i);
	else
		put_value(&json, *type, value);
	rs_json_close(&json, '}');
	end(&json);
}

/* Turns the plain text from `from` on into a value. */
void rs_lang_json_wrap(struct firing *f, const char *name, size_t from)
{
	struct text *text = &f->rt->text, plain = { .most = LANG_OUTPUT_MAX };
	struct rs_json json;

	rs_lang_text_add(&plain, text->at + from, text->len - from);
	text->len = from;
	json = begin(f->rt, text);
	rs_json_open(&json, '{');
	rs_json_bytes(rs_json_key(&json, name), plain.at ? plain.at : "", plain.len);
	rs_json_close(&json, '}');
	end(&json);
	rs_lang_text_deinit(&plain);
}

void rs_lang_json_clause(const struct firing *f, const struct text *printed, struct text *line)
{
	const struct rs_script_probe *probe = &f->probe->public;
	struct rs_json json = begin(f->rt, line);
	char name[4 * RS_WORD_MAX];

	json.follows = false; /* on a separate line */
	snprintf(name, sizeof(name), "%s:%s:%s:%s", probe->provider, probe->module, probe->function,
		 probe->name);
	rs_json_open(&json, '{');
	rs_json_text(rs_json_key(&json, "probe"), name);
	rs_json_signed(rs_json_key(&json, "ts"), f->now_ns);
	rs_json_known(rs_json_key(&json, "cpu"), f->view ? f->view->cpu : RS_UNKNOWN);
	rs_json_open(rs_json_key(&json, "output"), '[');
	rs_out_long(json.out, printed->at ? printed->at : "", printed->len);
	rs_json_close(&json, ']');
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
	end(&json);
}

/* ---- aggregations ------------------------------------------------------------------------- */

/* Returns whether a bin has a lower bound, and the bound. */
static bool bin_from(const struct aggregation *agg, uint32_t bin, int64_t *from)
{
	if (agg->function == AGG_QUANTIZE) {
		int64_t bound = rs_agg_quantize_bound(bin);

		/* Bin -4 is from -7 to -4: the end names a negative bin. */
		*from = bound < 0 ? (int64_t)((uint64_t)bound * 2 + 1) : bound;
		return bin;
	}
	if (agg->function == AGG_LQUANTIZE)
		*from = agg->params[0] + ((int64_t)bin - 1) * agg->params[1];
	else if (bin)
		*from = agg->bounds[bin - 1];
	return bin;
}

static void put_bound(struct rs_json *json, const struct aggregation *agg, uint32_t bin)
{
	int64_t from;

	if (bin < agg->n_data && bin_from(agg, bin, &from))
		rs_json_signed(json, from);
	else
		rs_json_null(json);
}

static void put_bins(struct rs_json *json, const struct agg_row *row)
{
	const struct aggregation *agg = row->agg;

	rs_json_open(json, '{');
	rs_json_open(rs_json_key(json, "bins"), '[');
	for (uint32_t i = 0; i < agg->n_data; i++) {
		if (!row->data[i])
			continue;
		rs_json_open(json, '{');
		put_bound(rs_json_key(json, "from"), agg, i);
		put_bound(rs_json_key(json, "to"), agg, i + 1);
		rs_json_signed(rs_json_key(json, "count"), row->data[i] / (int64_t)agg->normal);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void put_top(struct rs_json *json, const struct agg_row *row)
{
	int64_t pairs[2 * (LANG_TOP_MAX * 4 + 64)], normal = (int64_t)row->agg->normal;
	uint32_t n = rs_agg_top(row, pairs);

	rs_json_open(json, '{');
	rs_json_open(rs_json_key(json, "top"), '[');
	for (uint32_t i = 0; i < n; i++) {
		rs_json_open(json, '{');
		rs_json_signed(rs_json_key(json, "value"), pairs[i * 2]);
		rs_json_signed(rs_json_key(json, "count"), pairs[i * 2 + 1] / normal);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_signed(rs_json_key(json, "of"), row->data[0] / normal);
	rs_json_close(json, '}');
}

static void put_row(struct rs_json *json, const struct agg_row *row)
{
	if (row->agg->function == AGG_TOPK)
		put_top(json, row);
	else if (row->agg->function >= AGG_QUANTIZE)
		put_bins(json, row);
	else
		rs_json_signed(json, (int64_t)rs_agg_value(row, row->agg->normal));
}

static void put_key(struct rs_json *json, struct type type, const struct value *value)
{
	if (type.hex)
		rs_json_hex(json, rs_lang_type_cut(INT_OF(type.bytes, false), value->i));
	else
		put_value(json, type, value);
}

static void put_bundle(struct rs_json *json, const struct bundle *bundle, uint32_t n)
{
	struct value keys[LANG_KEYS_MAX];

	rs_agg_keys(bundle->any, keys);
	rs_json_open(json, '{');
	rs_json_open(rs_json_key(json, "keys"), '[');
	for (uint8_t i = 0; i < bundle->any->agg->n_keys; i++)
		put_key(json, bundle->any->agg->keys[i], &keys[i]);
	rs_json_close(json, ']');
	rs_json_open(rs_json_key(json, "values"), '[');
	for (uint32_t i = 0; i < n; i++)
		put_row(json, bundle->rows[i]);
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

void rs_lang_json_bundles(struct runtime *rt, struct text *text, struct aggregation *const *aggs,
			  uint32_t n, const struct bundle *bundles, size_t n_bundles)
{
	struct rs_json json = begin(rt, text);

	rs_json_open(&json, '{');
	rs_json_open(rs_json_key(&json, "aggregations"), '[');
	for (uint32_t i = 0; i < n; i++) {
		rs_json_open(&json, '{');
		rs_json_text(rs_json_key(&json, "name"), aggs[i]->name);
		rs_json_text(rs_json_key(&json, "function"),
			     rs_agg_functions[aggs[i]->function].name);
		rs_json_close(&json, '}');
	}
	rs_json_close(&json, ']');
	rs_json_open(rs_json_key(&json, "rows"), '[');
	for (size_t i = 0; i < n_bundles; i++)
		put_bundle(&json, &bundles[i], n);
	rs_json_close(&json, ']');
	rs_json_close(&json, '}');
	end(&json);
}
