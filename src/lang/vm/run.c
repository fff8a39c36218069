/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine. It relies on the verifier for all properties of the code. Events are untrusted:
 * their values are cut to the limits of a value.
 */
#include "lang/vm/guest.h"
#include "lang/vm/memory.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

static struct value cut_text(const struct firing *firing, const char *text, size_t len)
{
	size_t most = firing->script->options[OPT_STRSIZE] - 1;

	len = strnlen(text, len < most ? len : most);
	return (struct value){ .s = text, .len = (uint32_t)len };
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* Converts a stamp to the unit of `timestamp`: ns from the start of the trace. */
static uint64_t number_of(const struct rs_field *field, const struct rs_view *view)
{
	uint64_t value = rs_field_value(field, view->payload);

	if (field->show == RS_SHOW_TSC)
		return (uint64_t)rs_clock_ns(view->stream->clock, value);
	return value;
}

static struct value arg_int(const struct firing *firing, uint32_t ref)
{
	const struct rs_field *field = firing->binding ? firing->binding->fields[ref] : NULL;
	struct value value = { .i = 0 };

	if (field && !rs_type_is_tail(field->type))
		value.i = number_of(field, firing->view);
	return value;
}

static void value_number(const struct rs_field *field, uint64_t value, char text[VALUE_NAME_MAX])
{
	if (field->show == RS_SHOW_HEX)
		snprintf(text, VALUE_NAME_MAX, "0x%llx", (unsigned long long)value);
	else if (field->type >= RS_TYPE_S8 || field->show == RS_SHOW_TSC)
		snprintf(text, VALUE_NAME_MAX, "%lld", (long long)value);
	else
		snprintf(text, VALUE_NAME_MAX, "%llu", (unsigned long long)value);
}

const char *rs_lang_value_name(const struct rs_field *field, uint64_t value,
			       char text[VALUE_NAME_MAX])
{
	const char *name = rs_enum_name(field->values, value);

	if (name)
		return name;
	value_number(field, value, text);
	return text;
}

/* Returns a stack as a string of the addresses that fit into a value. */
static struct value stack_text(struct firing *firing, const struct rs_field *field)
{
	size_t room = firing->script->options[OPT_STRSIZE], len = 0;
	uint32_t n;
	const uint8_t *at = rs_view_stack(firing->view, field, &n);
	char *text = scratch(firing, room);
	uint64_t address;

	if (!text)
		return value_text("");
	text[0] = '\0';
	for (uint32_t i = 0; i < n && room - len > VALUE_NAME_MAX; i++) {
		memcpy(&address, at + i * sizeof(address), sizeof(address));
		len += (size_t)snprintf(text + len, VALUE_NAME_MAX, "%s0x%llx", i ? " " : "",
					(unsigned long long)address);
	}
	return (struct value){ .s = text, .len = (uint32_t)len };
}

/* Returns an argument as a string: a name or a text without a copy, a number or a stack
 * converted. */
static struct value arg_text(struct firing *firing, uint32_t ref)
{
	const struct rs_field *field = firing->binding ? firing->binding->fields[ref] : NULL;
	const char *name = NULL;
	char *text;
	uint64_t value;
	size_t len;

	if (!field)
		return value_text("");
	if (field->type == RS_TYPE_STACK)
		return stack_text(firing, field);
	if (field->type == RS_TYPE_TEXT) {
		name = rs_view_text(firing->view, field, &len);
		return cut_text(firing, name, len);
	}
	value = number_of(field, firing->view);
	if (field->show == RS_SHOW_NAME)
		name = rs_schema_name(firing->view->stream->schema, (uint32_t)value);
	else
		name = rs_enum_name(field->values, value);
	if (name)
		return cut_text(firing, name, strlen(name));
	text = scratch(firing, VALUE_NAME_MAX);
	if (!text)
		return value_text("");
	value_number(field, value, text);
	return cut_text(firing, text, VALUE_NAME_MAX);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Returns the owner of self->: the vCPU if known, even if its events are in several streams; else
 * the thread. */
static uint64_t thread_of(const struct firing *firing)
{
	const struct rs_stream *stream = firing->view ? firing->view->stream : NULL;

	if (!stream)
		return 0;
	if (stream->machine && stream->tid >= 0) /* the guest's */
		return (uint64_t)stream->tid | UINT64_C(1) << 41;
	if (stream->vm && stream->vcpu >= 0)
		return XXH3_64bits_withSeed(stream->vm, strlen(stream->vm),
					    (uint64_t)stream->vcpu + 1);
	if (stream->tid >= 0)
		return (uint64_t)stream->tid | UINT64_C(1) << 40;
	/* Streams of different traces may have the same index. */
	return (uint64_t)(uintptr_t)stream | UINT64_C(1) << 63;
}

/* Packs a tuple into bytes: a number has 8; a string has a length of 4 and its bytes. */
static bool make_key(struct firing *firing, const struct insn *insn, const struct value *parts,
		     struct value *key)
{
	uint32_t n = insn->k >> 16 & 0xff, owner = insn->k & 3u << 24, number = insn->k & 0xffff;
	size_t bytes = owner == LANG_KEY_AGGREGATION ? 0 : 4 + 8;
	uint64_t thread = 0;
	char *at;

	for (uint32_t i = 0; i < n; i++)
		bytes += insn->n >> i & 1 ? 4 + parts[i].len : 8;
	if (bytes > LANG_KEY_BYTES) {
		firing->fault = FAULT_TUPOFLOW;
		return false;
	}
	at = scratch(firing, bytes);
	if (!at)
		return false;
	key->s = at;
	key->len = (uint32_t)bytes;
	if (owner != LANG_KEY_AGGREGATION) {
		if (owner == LANG_KEY_SELF)
			thread = thread_of(firing);
		memcpy(at, &number, 4);
		memcpy(at + 4, &thread, 8);
		at += 12;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (insn->n >> i & 1) {
			memcpy(at, &parts[i].len, 4);
			memcpy(at + 4, parts[i].s, parts[i].len);
			at += 4 + parts[i].len;
		} else {
			memcpy(at, &parts[i].i, 8);
			at += 8;
		}
	}
	return true;
}

/* ---- variables ---------------------------------------------------------------------------- */

/* Copies a string, because the variable may change in this firing. */
static bool keep(struct firing *firing, struct value *value)
{
	char *copy;

	if (!value->len) {
		*value = value_text("");
		return true;
	}
	copy = scratch(firing, value->len);
	if (!copy)
		return false;
	value->s = memcpy(copy, value->s, value->len);
	return true;
}

static bool load(struct firing *firing, const struct insn *insn, struct value *value)
{
	if (insn->n == SCOPE_THIS)
		*value = firing->rt->locals[insn->k];
	else
		*value = firing->rt->globals[insn->k].value;
	if (insn->op == I_LOADI)
		return true;
	if (insn->n == SCOPE_GLOBAL)
		return keep(firing, value);
	if (!value->s)
		*value = value_text("");
	return true;
}

/* Stores a variable. A string of this-> stays in scratch memory; a global one is copied. */
static void store(struct firing *firing, const struct insn *insn, const struct value *value,
		  bool text)
{
	struct global *global = &firing->rt->globals[insn->k];

	if (insn->n == SCOPE_THIS) {
		firing->rt->locals[insn->k] = *value;
		if (text)
			scratch_keep(firing, value);
		return;
	}
	global->value = *value;
	if (!text)
		return;
	global->value.len = cut_text(firing, value->s, value->len).len;
	memmove(global->text, value->s, global->value.len);
	global->value.s = global->text;
}

static int compare(const struct value *a, const struct value *b)
{
	size_t least = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->s, b->s, least);

	if (order)
		return order < 0 ? -1 : 1;
	return a->len < b->len ? -1 : a->len > b->len;
}

static bool divide(struct firing *firing, enum opcode op, uint64_t a, uint64_t b, uint64_t *value)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	if (!b) {
		firing->fault = FAULT_DIVZERO;
		return false;
	}
	if (op == I_DIVU)
		*value = a / b;
	else if (op == I_MODU)
		*value = a % b;
	else if (y == -1) /* INT64_MIN / -1 would trap */
		*value = op == I_DIVS ? -a : 0;
	else
		*value = (uint64_t)(op == I_DIVS ? x / y : x % y);
	return true;
}

static uint64_t cut(uint8_t n, uint64_t value)
{
	return rs_lang_type_cut(INT_OF(n & 0x7f, n & 0x80), value);
}

static bool load_memory(struct firing *firing, const struct insn *insn, struct value *value)
{
	uint32_t bits = insn->k >> 8, at = insn->k & 0xff;
	uint64_t unit;

	if (!rs_lang_memory_load(firing, value->i, bits ? insn->n & 0x7f : insn->n, &unit))
		return false;
	if (bits) { /* shifts to the top of the unit, and back */
		unit <<= 64 - bits - at;
		unit = insn->n & 0x80 ? (uint64_t)((int64_t)unit >> (64 - bits))
				      : unit >> (64 - bits);
	}
	*value = (struct value){ .i = unit };
	return true;
}

/* Stores at[1] at the address at[0], and leaves the value in at[0]. */
static bool store_memory(struct firing *firing, const struct insn *insn, struct value *at)
{
	uint32_t bits = insn->k >> 8, shift = insn->k & 0xff;
	uint64_t unit = at[1].i, mask, value = unit;

	if (bits) {
		mask = (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1) << shift;
		value = insn->n & 0x80 ? (uint64_t)((int64_t)(unit << (64 - bits)) >> (64 - bits))
				       : unit << (64 - bits) >> (64 - bits);
		if (!rs_lang_memory_load(firing, at[0].i, insn->n & 0x7f, &unit))
			return false;
		unit = (unit & ~mask) | (value << shift & mask);
	}
	if (!rs_lang_memory_store(firing, at[0].i, insn->n & 0x7f, unit))
		return false;
	at[0] = (struct value){ .i = value };
	return true;
}

static bool copy_memory(struct firing *firing, uint64_t to, uint64_t from, uint64_t bytes)
{
	const char *source = rs_lang_memory_at(firing, from, bytes, false);
	char *target = source ? rs_lang_memory_at(firing, to, bytes, true) : NULL;

	if (target)
		memmove(target, source, bytes);
	return target;
}

/* Returns the address of a dynamic object. An object that does not fit is in scratch memory, which
 * is discarded. */
static uint64_t object_address(struct firing *firing, const struct insn *insn,
			       const struct value *key)
{
	uint64_t handle;

	if (rs_lang_dynamic_object_find(&firing->rt->dynamics, key, insn->k, insn->n, &handle))
		return MEMORY_DYNAMIC | handle << MEMORY_HANDLE;
	return insn->n ? rs_lang_memory_alloca(firing, insn->k) : MEMORY_ZEROS;
}

static bool call(struct firing *firing, const struct insn *insn, struct value *args)
{
	struct value result = { .i = 0 };

	if (!rs_lang_functions[insn->k].call(firing, args, insn->n, &result))
		return false;
	*args = result;
	return true;
}

struct walk {
	uint32_t left;
	size_t scratch_before;
};

/* Frees the scratch memory that a step of a walk took, so that its keys and texts do not limit the
 * steps. What a variable or strtok() still refers to stays, and all below it. */
static void step_free(struct firing *firing, const struct walk *walk)
{
	struct runtime *rt = firing->rt;
	size_t kept = rt->scratch_kept;

	rt->scratch_used = walk->scratch_before > kept ? walk->scratch_before : kept;
}

/* ---- the loop ----------------------------------------------------------------------------- */

#define BINARY(name, expression)                                                                   \
	case I_##name: {                                                                           \
		uint64_t a = at[-2].i, b = at[-1].i;                                               \
                                                                                                   \
		(void)a, (void)b;                                                                  \
		at--;                                                                              \
		at[-1].i = (expression);                                                           \
		break;                                                                             \
	}
#define S(x) ((int64_t)(x))

/* A function longer than 80 lines, because it is the machine's switch over its opcodes. */
static bool run(struct firing *firing, const struct clause *clause, uint32_t from, uint32_t to,
		uint32_t *pc)
{
	const struct rs_script *script = firing->script;
	struct value stack[LANG_STACK_MAX + 1];
	struct value *at = stack; /* above the top */
	struct walk walks[LANG_WALKS_MAX] = { 0 };

	for (uint32_t i = from; i < to; i++) {
		const struct insn *insn = &clause->code[i];

		*pc = i;
		switch ((enum opcode)insn->op) {
		case I_CONST:
			*at++ = (struct value){ .i = script->ints.at[insn->k] };
			break;
		case I_TEXT:
			*at++ = (struct value){ .s = script->texts.at[insn->k].text,
						.len = script->texts.at[insn->k].len };
			break;
		case I_ARG:
			*at++ = arg_int(firing, insn->k);
			break;
		case I_ARGTEXT:
		case I_ARGENUM:
			*at++ = arg_text(firing, insn->k);
			break;
		case I_ENUM:
			at->i = firing->binding ? firing->binding->enums[insn->k] : UINT64_MAX;
			at++;
			break;
		case I_VARI:
			*at = rs_lang_builtins[insn->k].get(firing);
			if (firing->fault)
				return false;
			if (at->i + 1 <= 1) /* -1 and 0 may mean that the value is unknown */
				rs_lang_report_unknown(firing, insn->k, at);
			at++;
			break;
		case I_VARS: {
			struct value text = rs_lang_builtins[insn->k].get(firing);

			if (!text.len)
				rs_lang_report_unknown(firing, insn->k, &text);
			*at++ = cut_text(firing, text.s, text.len);
			break;
		}
		case I_MACRO:
			*at++ = (struct value){ .i = firing->error[insn->k] };
			break;
		case I_LOADI:
		case I_LOADS:
			if (!load(firing, insn, at++))
				return false;
			break;
		case I_STOREI:
		case I_STORES:
			store(firing, insn, &at[-1], insn->op == I_STORES);
			break;
		case I_KEY: {
			uint32_t n = insn->k >> 16 & 0xff;
			struct value key;

			if (!make_key(firing, insn, at - n, &key))
				return false;
			at -= n;
			*at++ = key;
			break;
		}
		case I_DLOADI:
		case I_DLOADS:
			at[-1] = rs_lang_dynamic_load(&firing->rt->dynamics, &at[-1],
						      insn->op == I_DLOADS);
			if (insn->op == I_DLOADS && !keep(firing, &at[-1]))
				return false;
			break;
		case I_DSTOREI:
		case I_DSTORES:
			rs_lang_dynamic_store(&firing->rt->dynamics, &at[-2], &at[-1],
					      insn->op == I_DSTORES, script->options[OPT_STRSIZE]);
			at[-2] = at[-1];
			at--;
			break;
		case I_DADDR:
			at[-1].i = object_address(firing, insn, &at[-1]);
			if (firing->fault)
				return false;
			break;
		case I_DFREE:
			rs_lang_dynamic_object_free(&firing->rt->dynamics, --at);
			break;
		case I_MLOADI:
			if (!load_memory(firing, insn, &at[-1]))
				return false;
			break;
		case I_MSTOREI:
			if (!store_memory(firing, insn, &at[-2]))
				return false;
			at--;
			break;
		case I_MLOADS:
			if (!rs_lang_memory_load_text(firing, at[-1].i, insn->k, &at[-1]))
				return false;
			break;
		case I_MSTORES:
			if (!rs_lang_memory_store_text(firing, at[-2].i, insn->k, &at[-1]))
				return false;
			at[-2] = at[-1];
			at--;
			break;
		case I_COPY:
			if (!copy_memory(firing, at[-2].i, at[-1].i, insn->k))
				return false;
			at--;
			break;
		case I_BOUND:
			if (at[-1].i >= insn->k) {
				firing->fault = FAULT_BADADDR;
				firing->fault_value = at[-1].i;
				return false;
			}
			break;
		case I_GUEST: /* which may have any value there, and no memory of D */
			if (!memory_is_guest(at[-1].i)) {
				firing->fault = FAULT_BADADDR;
				firing->fault_value = at[-1].i;
				return false;
			}
			break;
		case I_VARIABLE:
			if (!rs_lang_guest_variable_at(firing, insn->k, &at->i))
				return false;
			at++;
			break;
		case I_TEXTAT:
			at[-1].i = rs_lang_memory_of_text(firing, &at[-1]);
			if (firing->fault)
				return false;
			break;
		case I_DUPI:
		case I_DUPK:
			at[0] = at[-1];
			at++;
			break;
		case I_POPI:
		case I_POPS:
			at--;
			break;
			BINARY(ADD, a + b)
			BINARY(SUB, a - b)
			BINARY(MUL, a * b)
			BINARY(AND, a & b)
			BINARY(OR, a | b)
			BINARY(XOR, a ^ b)
			BINARY(SHL, a << (b & 63))
			BINARY(SHRS, (uint64_t)(S(a) >> (b & 63)))
			BINARY(SHRU, a >> (b & 63))
			BINARY(EQ, a == b)
			BINARY(NE, a != b)
			BINARY(LTS, S(a) < S(b))
			BINARY(LES, S(a) <= S(b))
			BINARY(GTS, S(a) > S(b))
			BINARY(GES, S(a) >= S(b))
			BINARY(LTU, a < b)
			BINARY(LEU, a <= b)
			BINARY(GTU, a > b)
			BINARY(GEU, a >= b)
			BINARY(COMPARE, (uint64_t)(int64_t)compare(&at[-1], &at[0]))
		case I_DIVS:
		case I_DIVU:
		case I_MODS:
		case I_MODU:
			if (!divide(firing, insn->op, at[-2].i, at[-1].i, &at[-2].i))
				return false;
			at--;
			break;
		case I_NEG:
			at[-1].i = -at[-1].i;
			break;
		case I_INV:
			at[-1].i = ~at[-1].i;
			break;
		case I_NOT:
			at[-1].i = !at[-1].i;
			break;
		case I_CUT:
			at[-1].i = cut(insn->n, at[-1].i);
			break;
		case I_JUMP:
			i = insn->k - 1;
			break;
		case I_JZERO:
			if (!(--at)->i)
				i = insn->k - 1;
			break;
		case I_JNZERO:
			if ((--at)->i)
				i = insn->k - 1;
			break;
		case I_WALK:
			walks[insn->n] = (struct walk){ insn->k, firing->rt->scratch_used };
			break;
		case I_STEP:
			if (!walks[insn->n].left)
				i = insn->k - 1;
			else
				walks[insn->n].left--;
			break;
		case I_AGAIN:
			if (at == stack) /* no value of the step remains */
				step_free(firing, &walks[insn->n]);
			i = insn->k - 1;
			break;
		case I_CALL:
			at -= insn->n;
			if (!call(firing, insn, at))
				return false;
			at++;
			break;
		case I_DO: {
			const struct action *action = &script->actions.at[insn->k];

			at -= action->n_args + action->has_key;
			rs_lang_do_action(firing, action, at);
			if (firing->fault)
				return false;
			break;
		}
		case I_TRUTH:
			if (!(--at)->i)
				return false;
			break;
		case I_END:
		case I_COUNT:
			return true;
		}
	}
	return true;
}

bool rs_lang_run_predicate(struct firing *firing, const struct clause *clause, uint32_t *pc)
{
	return run(firing, clause, 0, clause->test_end, pc);
}

bool rs_lang_run_clause(struct firing *firing, const struct clause *clause, uint32_t *pc)
{
	return rs_lang_run_predicate(firing, clause, pc) &&
	       run(firing, clause, clause->test_end, clause->n_code, pc);
}
