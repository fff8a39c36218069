/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the variables of functions, and evaluates their location descriptions. */
#include "introspect/variable.h"

#include <string.h>

#include "introspect/dwarf_address.h"

#define FUNCTIONS_MAX 16u    /* functions that are inlined into each other */
#define DEPTH_MAX     32u    /* nesting of blocks */
#define ENTRIES_MAX   65536u /* entries of a function that are searched */
#define TYPES_MAX     16u    /* length of a chain of typedefs */
#define CODE_MAX      256u   /* size of an expression */
#define WORD	      8u

#define NOWHERE "the variable has no location at this instruction"

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_variable(Dwarf_Die *die, const char *name)
{
	const char *own;
	int tag = dwarf_tag(die);

	if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
		return false;
	own = dwarf_diename(die);
	return own && !strcmp(own, name);
}

/* Searches the entries in an entry, and in its blocks that contain the address. Of several
 * variables of the name, the innermost is used. */
static bool find_in(Dwarf_Die *die, uint64_t address, const char *name, uint32_t depth,
		    uint32_t *entries, Dwarf_Die *found)
{
	Dwarf_Die child;
	Dwarf_Off last = 0;
	bool any = false;

	if (depth == DEPTH_MAX || dwarf_child(die, &child))
		return false;
	/* Each entry must have a higher offset than the last, since a file may refer to itself. */
	while (++*entries < ENTRIES_MAX && dwarf_dieoffset(&child) > last) {
		last = dwarf_dieoffset(&child);
		if (dwarf_tag(&child) == DW_TAG_lexical_block && dwarf_haspc(&child, address) > 0 &&
		    find_in(&child, address, name, depth + 1, entries, found))
			return true;
		if (!any && is_variable(&child, name)) {
			*found = child;
			any = true;
		}
		if (dwarf_siblingof(&child, &child))
			break;
	}
	return any;
}

/* ---- locations ------------------------------------------------------------------------------ */

/* An expression that is converted to bytes for expression.h. */
struct making {
	const struct rs_variable_frame *frame;
	Dwarf_Attribute *attribute; /* file that contains it */
	const uint64_t *base;	    /* base of DW_OP_fbreg; NULL: unknown */
	uint8_t code[CODE_MAX];
	size_t n;
	bool failed;
};

static void put_byte(struct making *m, uint8_t byte)
{
	if (m->n == CODE_MAX)
		m->failed = true;
	else
		m->code[m->n++] = byte;
}

static void put_number(struct making *m, uint64_t number)
{
	put_byte(m, DW_OP_const8u);
	for (uint32_t i = 0; i < WORD; i++)
		put_byte(m, (uint8_t)(number >> 8 * i));
}

static void put_register(struct making *m, uint64_t number, int64_t offset)
{
	const struct rs_frame_registers *r = &m->frame->registers;

	if (number < 17 && r->known >> number & 1)
		put_number(m, r->value[number] + (uint64_t)offset);
	else
		m->failed = true;
}

/* Operations without operands, with the same meaning in both. */
static bool is_plain(uint8_t op)
{
	return op == DW_OP_deref || (op >= DW_OP_dup && op <= DW_OP_over) || op == DW_OP_swap ||
	       op == DW_OP_rot || (op >= DW_OP_abs && op <= DW_OP_plus) ||
	       (op >= DW_OP_shl && op <= DW_OP_xor) || (op >= DW_OP_eq && op <= DW_OP_ne) ||
	       (op >= DW_OP_lit0 && op <= DW_OP_lit31);
}

static bool entry_value(const struct rs_variable_frame *frame, uint8_t reg, uint64_t *value);

/* Pushes the value that a register had when the function was called. */
static void put_entry_value(struct making *m, const Dwarf_Op *op)
{
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	uint64_t value;
	size_t n;

	if (!dwarf_getlocation_attr(m->attribute, op, &inner) &&
	    !dwarf_getlocation(&inner, &ops, &n) && n == 1 && ops->atom >= DW_OP_reg0 &&
	    ops->atom <= DW_OP_reg31 &&
	    entry_value(m->frame, (uint8_t)(ops->atom - DW_OP_reg0), &value))
		put_number(m, value);
	else
		m->failed = true;
}

static void put_op(struct making *m, const Dwarf_Op *op)
{
	uint64_t address;

	switch (op->atom) {
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		put_entry_value(m, op);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		put_register(m, op->atom - DW_OP_breg0, (int64_t)op->number);
		break;
	case DW_OP_bregx:
		put_register(m, op->number, (int64_t)op->number2);
		break;
	case DW_OP_fbreg:
		if (m->base)
			put_number(m, *m->base + op->number);
		else
			m->failed = true;
		break;
	case DW_OP_call_frame_cfa:
		if (m->frame->has_cfa)
			put_number(m, m->frame->cfa);
		else
			m->failed = true;
		break;
	case DW_OP_addr:
	case DW_OP_addrx:
		if (rs_dwarf_address(m->attribute, op, &address))
			put_number(m, address + m->frame->load);
		else
			m->failed = true;
		break;
	case DW_OP_const1u ... DW_OP_consts:
		put_number(m, op->number);
		break;
	case DW_OP_plus_uconst:
		put_number(m, op->number);
		put_byte(m, DW_OP_plus);
		break;
	default:
		if (is_plain(op->atom))
			put_byte(m, op->atom);
		else
			m->failed = true;
	}
}

enum where { NOT_THERE, IS_VALUE, IS_ADDRESS };

/* Evaluates a location description. */
static enum where evaluate(const struct rs_variable_frame *frame, Dwarf_Attribute *attribute,
			   const uint64_t *base, const Dwarf_Op *ops, size_t n, uint64_t *value)
{
	struct making m = { .frame = frame, .attribute = attribute, .base = base };
	const struct rs_frame_registers *r = &frame->registers;
	bool is_value = n && ops[n - 1].atom == DW_OP_stack_value;
	uint64_t number;

	if (n == 1 &&
	    ((ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31) || ops->atom == DW_OP_regx)) {
		number = ops->atom == DW_OP_regx ? ops->number : ops->atom - (uint64_t)DW_OP_reg0;
		if (number >= 17 || !(r->known >> number & 1))
			return NOT_THERE;
		*value = r->value[number];
		return IS_VALUE;
	}
	for (size_t i = 0; i + is_value < n && !m.failed; i++)
		put_op(&m, &ops[i]);
	if (m.failed || !m.n || !rs_expression_evaluate(m.code, m.n, r, frame->memory, NULL, value))
		return NOT_THERE;
	return is_value ? IS_VALUE : IS_ADDRESS;
}

/* Computes the base of DW_OP_fbreg. */
static bool frame_base(const struct rs_variable_frame *frame, Dwarf_Die *function, uint64_t *base)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t n;

	/* Of a chain of inlined functions, only the last has a frame. */
	return dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) &&
	       dwarf_getlocation_addr(&attribute, frame->address, &ops, &n, 1) == 1 &&
	       evaluate(frame, &attribute, NULL, ops, n, base) != NOT_THERE;
}

/* Stores the frame base of the function that has a frame, the last of a chain of inlined
 * functions. */
static bool base_of(const struct rs_variable_frame *frame, uint64_t last, uint64_t *base)
{
	Dwarf_Die function;

	return dwarf_offdie(rs_dwarf_of(frame->dwarf), last, &function) &&
	       frame_base(frame, &function, base);
}

/* ---- values at a call ----------------------------------------------------------------------- */

/* Finds the call with a return address, in a function's entry and its blocks. */
static bool call_in(Dwarf_Die *die, uint64_t returns_to, uint32_t depth, uint32_t *entries,
		    Dwarf_Die *call)
{
	Dwarf_Die child;
	Dwarf_Off last = 0;

	if (depth == DEPTH_MAX || dwarf_child(die, &child))
		return false;
	while (++*entries < ENTRIES_MAX && dwarf_dieoffset(&child) > last) {
		Dwarf_Attribute attribute;
		Dwarf_Addr address = 0;
		int tag = dwarf_tag(&child);

		last = dwarf_dieoffset(&child);
		if (tag == DW_TAG_lexical_block && dwarf_haspc(&child, returns_to - 1) > 0 &&
		    call_in(&child, returns_to, depth + 1, entries, call))
			return true;
		if (((tag == DW_TAG_call_site &&
		      !dwarf_formaddr(dwarf_attr(&child, DW_AT_call_return_pc, &attribute),
				      &address)) ||
		     (tag == DW_TAG_GNU_call_site && !dwarf_lowpc(&child, &address))) &&
		    address == returns_to) {
			*call = child;
			return true;
		}
		if (dwarf_siblingof(&child, &child))
			break;
	}
	return false;
}

/* Returns whether a function is the target of a call. The call may have another target: a function
 * that ended with a jump to this one (a tail call) leaves no frame. */
static bool calls(Dwarf_Die *call, const struct rs_variable_frame *callee)
{
	uint64_t functions[FUNCTIONS_MAX];
	uint32_t n = rs_dwarf_functions(callee->dwarf, callee->address, functions, FUNCTIONS_MAX);
	const char *names[2] = { NULL, NULL };
	Dwarf_Attribute attribute;
	Dwarf_Die origin, function;

	if (!n || !dwarf_offdie(rs_dwarf_of(callee->dwarf), functions[n - 1], &function))
		return false;
	if (dwarf_formref_die(dwarf_attr(call, DW_AT_call_origin, &attribute), &origin) ||
	    dwarf_formref_die(dwarf_attr(call, DW_AT_abstract_origin, &attribute), &origin))
		names[0] = dwarf_diename(&origin);
	names[1] = dwarf_diename(&function);
	return names[0] && names[1] && !strcmp(names[0], names[1]);
}

/* Evaluates the value that a call passes in a register. */
static bool passed(const struct rs_variable_frame *caller, Dwarf_Die *call, const uint64_t *base,
		   uint8_t reg, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_child(call, &child))
		return false;
	for (uint32_t i = 0; i < FUNCTIONS_MAX; i++) {
		if (dwarf_attr(&child, DW_AT_location, &attribute) &&
		    !dwarf_getlocation(&attribute, &ops, &n) && n == 1 &&
		    ops->atom == DW_OP_reg0 + reg)
			return (dwarf_attr(&child, DW_AT_call_value, &attribute) ||
				dwarf_attr(&child, DW_AT_GNU_call_site_value, &attribute)) &&
			       !dwarf_getlocation(&attribute, &ops, &n) &&
			       evaluate(caller, &attribute, base, ops, n, value) != NOT_THERE;
		if (dwarf_siblingof(&child, &child))
			break;
	}
	return false;
}

/* Finds the value of a register at the call of a frame's function. */
static bool entry_value(const struct rs_variable_frame *frame, uint8_t reg, uint64_t *value)
{
	const struct rs_variable_frame *caller = frame->caller;
	uint64_t functions[FUNCTIONS_MAX], base = 0;
	uint32_t n = 0, entries = 0;
	Dwarf_Die function, call;
	bool has_base;

	if (caller && caller->dwarf)
		n = rs_dwarf_functions(caller->dwarf, caller->address, functions, FUNCTIONS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		if (!dwarf_offdie(rs_dwarf_of(caller->dwarf), functions[i], &function) ||
		    !call_in(&function, caller->address + 1, 0, &entries, &call))
			continue;
		has_base = base_of(caller, functions[n - 1], &base);
		return calls(&call, frame) &&
		       passed(caller, &call, has_base ? &base : NULL, reg, value);
	}
	return false;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Returns the size of a variable in bytes; 0: unknown, or its value is its address. */
static uint32_t bytes_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	Dwarf_Word bytes;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type))
		return 0;
	for (uint32_t i = 0; i < TYPES_MAX; i++) {
		switch (dwarf_tag(&type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attribute), &type))
				return 0;
			continue;
		case DW_TAG_pointer_type:
			return WORD;
		case DW_TAG_array_type:
			return 0;
		default:
			return !dwarf_formudata(dwarf_attr(&type, DW_AT_byte_size, &attribute),
						&bytes) &&
					       bytes <= WORD
				       ? (uint32_t)bytes
				       : 0;
		}
	}
	return 0;
}

static const char *read_value(const struct rs_variable_frame *frame, Dwarf_Die *die,
			      const uint64_t *base, uint64_t *value)
{
	Dwarf_Attribute attribute;
	uint32_t bytes = bytes_of(die);
	uint64_t at = 0;
	Dwarf_Word constant;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_formudata(dwarf_attr_integrate(die, DW_AT_const_value, &attribute), &constant)) {
		*value = constant;
		return NULL;
	}
	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, frame->address, &ops, &n, 1) != 1)
		return NOWHERE;
	switch (evaluate(frame, &attribute, base, ops, n, &at)) {
	case NOT_THERE:
		return "the variable's location is lost, or in a form that is not supported";
	case IS_VALUE:
		*value = bytes && bytes < WORD ? at & ((UINT64_C(1) << 8 * bytes) - 1) : at;
		return bytes ? NULL : NOWHERE;
	case IS_ADDRESS:
		break;
	}
	*value = bytes ? 0 : at;
	return bytes && rs_memory_read(frame->memory, at, value, bytes, NULL)
		       ? "the variable's memory cannot be read"
		       : NULL;
}

const char *rs_variable_read(const struct rs_variable_frame *frame, const char *function,
			     const char *name, uint64_t *value)
{
	uint64_t functions[FUNCTIONS_MAX], base = 0;
	uint32_t n = 0, entries = 0;
	Dwarf_Die die, found;

	if (frame->dwarf)
		n = rs_dwarf_functions(frame->dwarf, frame->address, functions, FUNCTIONS_MAX);
	if (!n)
		return "the program has no DWARF for this function";
	for (uint32_t i = 0; i < n; i++) {
		const char *own;
		bool has_base;

		if (!dwarf_offdie(rs_dwarf_of(frame->dwarf), functions[i], &die))
			continue;
		own = dwarf_diename(&die);
		if (!own || strcmp(own, function) != 0)
			continue;
		if (!find_in(&die, frame->address, name, 0, &entries, &found))
			return "the function has no variable of this name";
		has_base = base_of(frame, functions[n - 1], &base);
		return read_value(frame, &found, has_base ? &base : NULL, value);
	}
	return "the program has no DWARF for this function";
}
