/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages beside the output of a program. */
#include <stdarg.h>
#include <stdio.h>

#include "lang/vm/runtime.h"

void rs_lang_report(struct rs_script *script, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	script->runtime->io.report(script->runtime->io.ctx, line);
}

void rs_lang_report_no_stack(struct firing *f)
{
	if (!f->rt->reported_stack)
		rs_lang_report(f->script, f->view && f->view->stream->machine
						  ? "stack(): the guest's thread is not known"
						  : "stack(): the source records no stacks");
	f->rt->reported_stack = true;
}

void rs_lang_report_unknown(const struct firing *f, uint32_t index, const struct value *value)
{
	uint64_t bit = UINT64_C(1) << index;
	struct prototype prototype;
	const char *probe;
	char text[24];

	if (!rs_lang_builtins[index].known || f->rt->reported_unknown & bit ||
	    rs_lang_builtins[index].known(f))
		return;
	if (f->view && f->view->event->kind == RS_KIND_LOSS)
		return; /* lost records belong to no thread */
	f->rt->reported_unknown |= bit;
	rs_lang_prototype_read(rs_lang_builtins[index].prototype, &prototype);
	probe = f->view ? f->view->event->probe : NULL;
	if (prototype.result.kind == TYPE_STRING)
		snprintf(text, sizeof(text), "\"\"");
	else
		snprintf(text, sizeof(text), "%lld", (long long)value->i);
	rs_lang_report(f->script, "%s is unknown%s%s: its value is %s", prototype.name,
		       probe ? " in " : "", probe ? probe : "", text);
}
