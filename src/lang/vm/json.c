/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --json: what a program says as JSON Lines, an object for each clause that says something, and at
 * the end one for each aggregation that was not printed:
 *
 *	{"probe":"p:c:f:n","ts":1,"cpu":0,"output":[{"printf":"text"},{"trace":5},...]}
 *	{"aggregations":[{"name":"a","function":"count"}],"rows":[{"keys":["x"],"values":[5]}]}
 *
 * A number is always a number, whatever its value; a key that is shown in hexadecimal is a string,
 * "0x...", as an event's argument is. A distribution is
 * {"bins":[{"from":8,"to":16,"count":2}]}: to is beyond it, null is without end.
 */
#include "lang/vm/json.h"
#include "lang/vm/memory.h"

#include <string.h>

#include "base/utf8.h"

static void word(struct text *text, const char *bytes)
{
	rs_lang_text_add(text, bytes, strlen(bytes));
}

static void escaped(struct text *text, const char *bytes, size_t len)
{
	for (size_t i = 0, from = 0; i <= len; i++) {
		unsigned char c = i < len ? (unsigned char)bytes[i] : 0;

		if (i < len && c >= ' ' && c != '"' && c != '\\')
			continue;
		rs_lang_text_add(text, bytes + from, i - from);
		from = i + 1;
		if (i == len)
			break;
		if (c == '"' || c == '\\')
			rs_lang_text_print(text, "\\%c", c);
		else if (c == '\n')
			word(text, "\\n");
		else
			rs_lang_text_print(text, "\\u%04x", c);
	}
}

/* In pieces, each mended by itself, that break where no sequence does. */
void rs_lang_json_text(struct text *text, const char *bytes, size_t len)
{
	char piece[256];

	rs_lang_text_add(text, "\"", 1);
	while (len) {
		size_t some = len < sizeof(piece) ? len : sizeof(piece);

		while (some < len && some > sizeof(piece) - 4 &&
		       ((unsigned char)bytes[some] & 0xc0) == 0x80)
			some--;
		memcpy(piece, bytes, some);
		rs_utf8_mend_bytes(piece, some);
		escaped(text, piece, some);
		bytes += some;
		len -= some;
	}
	rs_lang_text_add(text, "\"", 1);
}

void rs_lang_json_number(struct text *text, struct type type, uint64_t value)
{
	if (type.is_signed)
		rs_lang_text_print(text, "%lld", (long long)value);
	else
		rs_lang_text_print(text, "%llu", (unsigned long long)value);
}

static void json_value(struct text *text, struct type type, const struct value *value)
{
	if (type.kind == TYPE_STRING)
		rs_lang_json_text(text, value->s, value->len);
	else
		rs_lang_json_number(text, type,
				    type.kind == TYPE_INT ? rs_lang_type_cut(type, value->i)
							  : value->i);
}

/* ---- print(): structs and arrays ---------------------------------------------------------- */

static void json_memory(struct firing *f, const struct type *type, uint64_t address);

static void json_record(struct firing *f, const struct type *type, uint64_t address)
{
	struct text *text = &f->rt->text;

	rs_lang_text_add(text, "{", 1);
	for (const struct member *m = type->record->members; m && !f->fault; m = m->next) {
		uint64_t value;

		if (m != type->record->members)
			rs_lang_text_add(text, ",", 1);
		rs_lang_json_text(text, m->name, strlen(m->name));
		rs_lang_text_add(text, ":", 1);
		if (!m->bits)
			json_memory(f, &m->type, address + m->offset);
		else if (rs_lang_memory_load(f, address + m->offset, m->type.bytes, &value))
			rs_lang_json_number(text, TYPE_OF_UINT64,
					    value << (64 - m->bits - m->at) >> (64 - m->bits));
	}
	rs_lang_text_add(text, "}", 1);
}

static void json_array(struct firing *f, const struct type *type, uint64_t address)
{
	uint64_t bytes = rs_lang_type_bytes(f->script, type->to);
	struct text *text = &f->rt->text;
	const char *at;

	if (type->to->kind == TYPE_INT && type->to->bytes == 1 && type->to->is_signed) {
		at = rs_lang_memory_at(f, address, type->n, false);
		if (at)
			rs_lang_json_text(text, at, strnlen(at, type->n));
		return;
	}
	rs_lang_text_add(text, "[", 1);
	for (uint32_t i = 0; i < type->n && !f->fault; i++) {
		if (i)
			rs_lang_text_add(text, ",", 1);
		json_memory(f, type->to, address + i * bytes);
	}
	rs_lang_text_add(text, "]", 1);
}

static void json_memory(struct firing *f, const struct type *type, uint64_t address)
{
	struct value value = { .i = 0 };

	if (type->kind == TYPE_RECORD)
		json_record(f, type, address);
	else if (type->kind == TYPE_ARRAY)
		json_array(f, type, address);
	else if (type->kind == TYPE_STRING ? rs_lang_memory_load_text(f, address, 0, &value)
					   : rs_lang_memory_load(f, address, type->bytes, &value.i))
		json_value(&f->rt->text, *type, &value);
}

/* ---- a clause ----------------------------------------------------------------------------- */

static void open_output(struct text *text, const char *name)
{
	if (text->len)
		rs_lang_text_add(text, ",", 1);
	rs_lang_text_add(text, "{", 1);
	rs_lang_json_text(text, name, strlen(name));
	rs_lang_text_add(text, ":", 1);
}

void rs_lang_json_trace(struct firing *f, const char *name, const struct type *type,
			const struct value *value)
{
	struct text *text = &f->rt->text;

	open_output(text, name);
	if (rs_lang_type_is_object(type))
		json_memory(f, type, value->i);
	else
		json_value(text, *type, value);
	rs_lang_text_add(text, "}", 1);
}

/* What was said since `from` as plain text becomes one of the outputs. */
void rs_lang_json_wrap(struct firing *f, const char *name, size_t from)
{
	struct text *text = &f->rt->text, plain = { .most = LANG_OUTPUT_MAX };

	rs_lang_text_add(&plain, text->at + from, text->len - from);
	text->len = from;
	open_output(text, name);
	rs_lang_json_text(text, plain.at ? plain.at : "", plain.len);
	rs_lang_text_add(text, "}", 1);
	rs_lang_text_deinit(&plain);
}

void rs_lang_json_clause(const struct firing *f, const struct text *said, struct text *line)
{
	const struct rs_script_probe *probe = &f->probe->public;

	rs_lang_text_print(line, "{\"probe\":\"%s:%s:%s:%s\",\"ts\":", probe->provider,
			   probe->module, probe->function, probe->name);
	rs_lang_json_number(line, TYPE_OF_INT64, (uint64_t)f->now_ns);
	if (f->view && f->view->cpu >= 0)
		rs_lang_text_print(line, ",\"cpu\":%d", f->view->cpu);
	else
		word(line, ",\"cpu\":null");
	word(line, ",\"output\":[");
	rs_lang_text_add(line, said->at, said->len);
	word(line, "]}\n");
}

/* ---- aggregations ------------------------------------------------------------------------- */

/* Where a bin begins and where the next one does; false: it has no beginning, or no end. */
static bool bin_from(const struct aggregation *agg, uint32_t bin, int64_t *from)
{
	if (agg->function == AGG_QUANTIZE) {
		int64_t bound = rs_agg_quantize_bound(bin);

		/* -4 is from -7 to -4: negative bins are named by their end. */
		*from = bound < 0 ? (int64_t)((uint64_t)bound * 2 + 1) : bound;
		return bin;
	}
	if (agg->function == AGG_LQUANTIZE)
		*from = agg->params[0] + ((int64_t)bin - 1) * agg->params[1];
	else if (bin)
		*from = agg->bounds[bin - 1];
	return bin;
}

static void json_bound(struct text *text, const struct aggregation *agg, uint32_t bin)
{
	int64_t from;

	if (bin < agg->n_data && bin_from(agg, bin, &from))
		rs_lang_json_number(text, TYPE_OF_INT64, (uint64_t)from);
	else
		word(text, "null");
}

static void json_bins(struct text *text, const struct agg_row *row)
{
	const struct aggregation *agg = row->agg;
	bool any = false;

	word(text, "{\"bins\":[");
	for (uint32_t i = 0; i < agg->n_data; i++) {
		if (!row->data[i])
			continue;
		word(text, any ? ",{\"from\":" : "{\"from\":");
		json_bound(text, agg, i);
		word(text, ",\"to\":");
		json_bound(text, agg, i + 1);
		word(text, ",\"count\":");
		rs_lang_json_number(text, TYPE_OF_INT64,
				    (uint64_t)(row->data[i] / (int64_t)agg->normal));
		rs_lang_text_add(text, "}", 1);
		any = true;
	}
	word(text, "]}");
}

static void json_top(struct text *text, const struct agg_row *row)
{
	int64_t pairs[2 * (LANG_TOP_MAX * 4 + 64)];
	uint32_t n = rs_agg_top(row, pairs);

	word(text, "{\"top\":[");
	for (uint32_t i = 0; i < n; i++) {
		word(text, i ? ",{\"value\":" : "{\"value\":");
		rs_lang_json_number(text, TYPE_OF_INT64, (uint64_t)pairs[i * 2]);
		word(text, ",\"count\":");
		rs_lang_json_number(text, TYPE_OF_INT64, (uint64_t)pairs[i * 2 + 1]);
		rs_lang_text_add(text, "}", 1);
	}
	word(text, "],\"of\":");
	rs_lang_json_number(text, TYPE_OF_INT64, (uint64_t)row->data[0]);
	rs_lang_text_add(text, "}", 1);
}

static void json_row_value(struct text *text, const struct agg_row *row)
{
	if (row->agg->function == AGG_TOPK)
		json_top(text, row);
	else if (row->agg->function >= AGG_QUANTIZE)
		json_bins(text, row);
	else
		rs_lang_json_number(text, TYPE_OF_INT64,
				    (uint64_t)rs_agg_value(row, row->agg->normal));
}

static void json_key(struct text *text, struct type type, const struct value *value)
{
	if (type.hex)
		rs_lang_text_print(
			text, "\"0x%llx\"",
			(unsigned long long)rs_lang_type_cut(INT_OF(type.bytes, false), value->i));
	else
		json_value(text, type, value);
}

static void json_bundle(struct text *text, const struct bundle *bundle, uint32_t n)
{
	struct value keys[LANG_KEYS_MAX];

	rs_agg_keys(bundle->any, keys);
	word(text, "{\"keys\":[");
	for (uint8_t i = 0; i < bundle->any->agg->n_keys; i++) {
		if (i)
			rs_lang_text_add(text, ",", 1);
		json_key(text, bundle->any->agg->keys[i], &keys[i]);
	}
	word(text, "],\"values\":[");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			rs_lang_text_add(text, ",", 1);
		json_row_value(text, bundle->rows[i]);
	}
	word(text, "]}");
}

void rs_lang_json_bundles(struct text *text, struct aggregation *const *aggs, uint32_t n,
			  const struct bundle *bundles, size_t n_bundles)
{
	if (text->len)
		rs_lang_text_add(text, ",", 1);
	word(text, "{\"aggregations\":[");
	for (uint32_t i = 0; i < n; i++) {
		word(text, i ? ",{\"name\":" : "{\"name\":");
		rs_lang_json_text(text, aggs[i]->name, strlen(aggs[i]->name));
		rs_lang_text_print(text, ",\"function\":\"%s\"}",
				   rs_agg_functions[aggs[i]->function].name);
	}
	word(text, "],\"rows\":[");
	for (size_t i = 0; i < n_bundles; i++) {
		if (i)
			rs_lang_text_add(text, ",", 1);
		json_bundle(text, &bundles[i], n);
	}
	word(text, "]}");
}
