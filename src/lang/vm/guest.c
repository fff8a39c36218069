/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, names and variables of a stopped guest; the first two in the form in which DTrace prints
 * them. */
#include "lang/vm/guest.h"

#include <stdio.h>
#include <string.h>

#include "introspect/symbols.h"
#include "lang/vm/memory.h"

#define STACK_BYTES 4096u /* bytes of a stack's text, which as a key is less than LANG_KEY_BYTES */
#define FRAME_BYTES 512u  /* bytes of a line, mostly the name */
#define FRAMES_MAX  20u	  /* default number of frames, as DTrace's stackframes */
#define INDENT	    14

static const struct rs_script_guest *guest_of(const struct firing *f)
{
	return f->view && f->view->stream->machine ? f->rt->io.guest : NULL;
}

/* Writes kernel`schedule+0x1f, or its known part. Returns the length. */
static size_t frame_text(char text[FRAME_BYTES], uint64_t address, const struct rs_frame *frame,
			 bool offset)
{
	const char *module = frame->module ? frame->module : frame->function ? "kernel" : "";
	int len;

	if (!frame->function)
		len = snprintf(text, FRAME_BYTES, "%s%s0x%llx", module, *module ? "`" : "",
			       (unsigned long long)address);
	else if (offset && frame->offset && !frame->inlined)
		len = snprintf(text, FRAME_BYTES, "%s`%s+0x%llx", module, frame->function,
			       (unsigned long long)frame->offset);
	else
		len = snprintf(text, FRAME_BYTES, "%s`%s", module, frame->function);
	return len < 0 ? 0 : (size_t)len < FRAME_BYTES ? (size_t)len : FRAME_BYTES - 1;
}

/* ---- stacks ------------------------------------------------------------------------------- */

struct lines {
	char *text;
	size_t len;
};

static void add_line(void *to, uint64_t address, const struct rs_frame *frame)
{
	struct lines *lines = to;
	char text[FRAME_BYTES];
	size_t len = frame_text(text, address, frame, true);

	if (lines->len + INDENT + len + 1 > STACK_BYTES)
		return;
	memset(lines->text + lines->len, ' ', INDENT);
	memcpy(lines->text + lines->len + INDENT, text, len);
	lines->len += INDENT + len;
	lines->text[lines->len++] = '\n';
}

bool rs_lang_guest_stack(struct firing *f, bool user, uint64_t most, struct value *value)
{
	const struct rs_script_guest *guest = guest_of(f);
	struct lines lines = { .len = 1 };

	*value = value_text(LANG_NO_STACK);
	if (!most || most > UINT32_MAX)
		most = FRAMES_MAX;
	if (guest && !(lines.text = scratch(f, STACK_BYTES)))
		return false;
	if (!guest || !guest->stack(guest->ctx, user, (uint32_t)most, add_line, &lines)) {
		rs_lang_report_no_stack(f);
		return true;
	}
	lines.text[0] = LANG_NO_STACK[0];
	f->rt->scratch_used -= STACK_BYTES - lines.len; /* frees the rest */
	*value = (struct value){ .s = lines.text, .len = (uint32_t)lines.len };
	return true;
}

static void count_frame(void *to, uint64_t address, const struct rs_frame *frame)
{
	(void)address, (void)frame;
	++*(uint32_t *)to;
}

bool rs_lang_guest_depth(const struct firing *f, bool user, uint32_t *n)
{
	const struct rs_script_guest *guest = guest_of(f);

	*n = 0;
	return guest && guest->stack(guest->ctx, user, UINT32_MAX, count_frame, n);
}

#define FUNCTION(name)                                                                             \
	bool rs_lang_guest_##name(struct firing *f, const struct value *args, uint32_t n,          \
				  struct value *result)

FUNCTION(kstack)
{
	return rs_lang_guest_stack(f, false, n ? args[0].i : 0, result);
}

FUNCTION(ustack)
{
	return rs_lang_guest_stack(f, true, n ? args[0].i : 0, result);
}

/* ---- names -------------------------------------------------------------------------------- */

static bool keep(struct firing *f, const char *text, size_t len, struct value *result)
{
	size_t most = f->script->options[OPT_STRSIZE] - 1;
	char *at;

	len = len < most ? len : most;
	at = scratch(f, len + 1);
	if (!at)
		return false;
	memcpy(at, text, len);
	at[len] = '\0';
	*result = (struct value){ .s = at, .len = (uint32_t)len };
	return true;
}

static struct rs_frame frame_of(const struct firing *f, uint64_t address)
{
	const struct rs_script_guest *guest = guest_of(f);
	struct rs_frame frame = { 0 };

	if (!guest || !guest->symbol(guest->ctx, address, &frame))
		frame = (struct rs_frame){ 0 };
	return frame;
}

static bool name_of(struct firing *f, uint64_t address, bool offset, struct value *result)
{
	const struct rs_frame frame = frame_of(f, address);
	char text[FRAME_BYTES];

	return keep(f, text, frame_text(text, address, &frame, offset), result);
}

FUNCTION(sym)
{
	(void)n;
	return name_of(f, args[0].i, false, result);
}

FUNCTION(place)
{
	(void)n;
	return name_of(f, args[0].i, true, result);
}

FUNCTION(mod)
{
	const struct rs_frame frame = frame_of(f, args[0].i);
	const char *module = frame.module ? frame.module : frame.function ? "kernel" : NULL;
	char text[24];

	(void)n;
	if (module)
		return keep(f, module, strlen(module), result);
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)args[0].i);
	return keep(f, text, strlen(text), result);
}

/* ---- variables ---------------------------------------------------------------------------- */

bool rs_lang_guest_variable_at(struct firing *f, uint32_t index, uint64_t *address)
{
	struct guest_variable *v = &f->script->guest_variables.at[index];
	const struct rs_script_guest *guest = guest_of(f);
	const char *why = "no guest is stopped at this event";

	if (guest && guest->variable)
		why = guest->variable(guest->ctx, v->set, &v->variable, address);
	if (!why && !memory_is_guest(*address))
		why = "its address is not an address of the guest";
	if (!why)
		return true;
	if (!v->is_reported)
		rs_lang_report(f->script, "%s: %s", v->text, why);
	v->is_reported = true;
	f->fault = FAULT_BADADDR;
	f->fault_value = v->variable.address;
	return false;
}
