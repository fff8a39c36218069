/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * D's variables, one row each. The compiler reads name and type from the prototype, which is in D;
 * the manual shows the same text.
 */
#include "lang/vm/guest.h"

#include <string.h>

/* Defines a getter that returns a number from the firing f. */
#define NUMBER(name, expression)                                                                   \
	static struct value get_##name(const struct firing *f)                                     \
	{                                                                                          \
		return (struct value){ .i = (uint64_t)(int64_t)(expression) };                     \
	}

NUMBER(timestamp, f->now_ns)
static bool wall_known(const struct firing *f)
{
	return f->rt->io.clock && f->rt->io.clock->wall_ns;
}

NUMBER(walltimestamp, wall_known(f) ? f->rt->io.clock->wall_ns + f->now_ns : RS_UNKNOWN)
NUMBER(cpu, f->view ? f->view->cpu : RS_UNKNOWN)
NUMBER(tid, f->view ? f->view->stream->tid : RS_UNKNOWN)
NUMBER(pid, f->view && (f->view->stream->pid || !f->view->stream->tid) /* a CPU's idle thread: 0 */
		    ? f->view->stream->pid
		    : RS_UNKNOWN)
NUMBER(vcpu, f->view ? f->view->stream->vcpu : RS_UNKNOWN)
NUMBER(id, f->probe->public.id)
NUMBER(epid, f->bound ? f->bound->epid : 0)

static struct value get_execname(const struct firing *f)
{
	return value_text(f->view && f->view->stream->thread ? f->view->stream->thread : "");
}

/*
 * Return whether the source has the value of a variable for an event; true without an event. A
 * known thread outside all VMs has no vCPU, and Xen has no domain.
 */
static bool cpu_known(const struct firing *f)
{
	return !f->view || f->view->cpu >= 0;
}

static bool tid_known(const struct firing *f)
{
	return !f->view || f->view->stream->tid >= 0;
}

static bool pid_known(const struct firing *f)
{
	return !f->view || f->view->stream->pid || !f->view->stream->tid;
}

static bool name_known(const struct firing *f)
{
	return !f->view || f->view->stream->thread;
}

static bool vm_known(const struct firing *f)
{
	const struct rs_stream *stream = f->view ? f->view->stream : NULL;

	return !stream || stream->vm || stream->xen || stream->tid >= 0 || stream->thread;
}

static bool vcpu_known(const struct firing *f)
{
	return vm_known(f) || f->view->stream->vcpu >= 0;
}

static bool dom_known(const struct firing *f)
{
	return !f->view || f->view->stream->xen;
}

static bool stack_known(const struct firing *f)
{
	uint32_t n;

	return !f->view || rs_lang_guest_depth(f, false, &n);
}

static bool curthread(const struct firing *f, uint64_t *address)
{
	const struct rs_machine *machine = f->view ? f->view->stream->machine : NULL;

	return machine && machine->thread && machine->thread(machine->ctx, address);
}

static bool curthread_known(const struct firing *f)
{
	uint64_t address;

	return !f->view || curthread(f, &address);
}

static struct value get_curthread(const struct firing *f)
{
	uint64_t address = 0;

	return (struct value){ .i = curthread(f, &address) ? address : 0 };
}

static struct value get_stackdepth(const struct firing *f)
{
	uint32_t n;

	rs_lang_guest_depth(f, false, &n);
	return (struct value){ .i = n };
}

static struct value get_ustackdepth(const struct firing *f)
{
	uint32_t n;

	rs_lang_guest_depth(f, true, &n);
	return (struct value){ .i = n };
}

static struct value get_vm(const struct firing *f)
{
	return value_text(f->view && f->view->stream->vm ? f->view->stream->vm : "");
}

static struct value get_probeprov(const struct firing *f)
{
	return value_text(f->probe->public.provider);
}

static struct value get_probemod(const struct firing *f)
{
	return value_text(f->probe->public.module);
}

static struct value get_probefunc(const struct firing *f)
{
	return value_text(f->probe->public.function);
}

static struct value get_probename(const struct firing *f)
{
	return value_text(f->probe->public.name);
}

/* The domain of Xen. */
static int64_t domain(const struct firing *f)
{
	return f->view && f->view->stream->xen ? f->view->stream->dom : RS_UNKNOWN;
}

NUMBER(dom, domain(f))

/* Variables of xdt exist in probes of xdt only. */
static bool in_xdt(const struct firing *f)
{
	if (f->view && !strcmp(f->probe->public.provider, "xdt"))
		return true;
	((struct firing *)f)->fault = FAULT_BADADDR;
	return false;
}

NUMBER(xdt_curpcpu, in_xdt(f) ? (uint32_t)f->view->cpu : 0)
NUMBER(xdt_curdom, in_xdt(f) ? domain(f) : 0)
NUMBER(xdt_curvcpu, in_xdt(f) ? f->view->stream->vcpu : 0)
NUMBER(xdt_timestamp, in_xdt(f) ? f->now_ns : 0)

const struct builtin rs_lang_builtins[] = {
	{ "uint64_t timestamp", "the time of the event, in ns from the start of the trace",
	  get_timestamp, true, true },
	{ "int64_t walltimestamp", "the time in ns since 1970, UTC; -1 if unknown",
	  get_walltimestamp, true, true, .known = wall_known },
	{ "int cpu", "the host CPU; -1 if unknown", get_cpu, true, .known = cpu_known },
	{ "int tid", "the thread on the host, in a replay the guest's; -1 if unknown", get_tid,
	  true, .known = tid_known, .thread = true },
	{ "pid_t pid", "the process of the thread; -1 if unknown", get_pid, true,
	  .known = pid_known, .thread = true },
	{ "void *curthread", "in a replay, the task_struct of the guest's thread; 0 if unknown",
	  get_curthread, true, true, .known = curthread_known, .thread = true },
	{ "uint32_t stackdepth", "the number of frames of stack(), in a stopped guest; else 0",
	  get_stackdepth, true, .known = stack_known, .thread = true },
	{ "uint32_t ustackdepth", "the number of frames of ustack(); else 0", get_ustackdepth, true,
	  .known = stack_known, .thread = true },
	{ "string execname", "the name of the thread; \"\" if unknown", get_execname, true,
	  .known = name_known, .thread = true },
	{ "string vm", "the name of the virtual machine; \"\" if unknown", get_vm, true,
	  .known = vm_known },
	{ "int vcpu", "the vCPU; -1 if unknown", get_vcpu, true, .known = vcpu_known },
	{ "int dom", "the Xen domain; -1 if unknown", get_dom, true, .known = dom_known },
	{ "string probeprov", "the provider of the probe", get_probeprov, true },
	{ "string probemod", "the class of the probe, which DTrace calls its module", get_probemod,
	  true },
	{ "string probefunc", "the function of the probe; usually \"\"", get_probefunc, true },
	{ "string probename", "the name of the probe", get_probename, true },
	{ "unsigned int id", "the number of the probe, as -l shows it", get_id, true },
	{ "unsigned int epid", "the number of this pair of clause and probe", get_epid, false },
	{ "unsigned int xdt_curpcpu", "`xdt_curpcpu: the current physical CPU of xdt",
	  get_xdt_curpcpu, false },
	{ "unsigned int xdt_curdom", "`xdt_curdom: the current domain of xdt", get_xdt_curdom,
	  false },
	{ "unsigned int xdt_curvcpu", "`xdt_curvcpu: the current vCPU of xdt", get_xdt_curvcpu,
	  false },
	{ "uint64_t xdt_timestamp", "`xdt_timestamp: the time of the event in ns",
	  get_xdt_timestamp, false },
};
const uint32_t rs_lang_n_builtins = sizeof(rs_lang_builtins) / sizeof(rs_lang_builtins[0]);
_Static_assert(sizeof(rs_lang_builtins) / sizeof(rs_lang_builtins[0]) <= 64,
	       "struct runtime has a bit for each");

/* ---- prototypes --------------------------------------------------------------------------- */

bool rs_lang_prototype_is(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *end = text;

	while (*end && *end != '(')
		end++;
	if ((size_t)(end - text) <= len || memcmp(end - len, name, len))
		return false;
	return end[-1 - (ptrdiff_t)len] == ' ' || end[-1 - (ptrdiff_t)len] == '*';
}

static const struct type nothing = { .kind = TYPE_VOID };

/* Reads the type at the start of the text, of one or two words. Returns its end. */
static const char *type_at(const char *text, struct type *type)
{
	char words[32];
	size_t len = strcspn(text, " ");

	if (!strncmp(text, "unsigned int", 12))
		len = 12;
	memcpy(words, text, len);
	words[len] = '\0';
	rs_lang_type_named(words, type);
	text += len;
	if (*text)
		text++;
	if (*text != '*')
		return text;
	*type = (struct type){ .kind = TYPE_POINTER, .bytes = 8, .to = &nothing };
	return text + 1;
}

void rs_lang_prototype_read(const char *text, struct prototype *prototype)
{
	size_t len;
	bool optional = false;

	*prototype = (struct prototype){ 0 };
	text = type_at(text, &prototype->result);
	len = strcspn(text, "(");
	memcpy(prototype->name, text, len);
	text += len;
	if (*text)
		text++;
	while (*text && *text != ')') {
		if (*text == '[') {
			optional = true;
			text++;
		}
		if (*text == ',' || *text == ' ') {
			text++;
			continue;
		}
		if (!strncmp(text, "void)", 5))
			return;
		text = type_at(text, &prototype->args[prototype->n_args++]);
		if (!optional)
			prototype->n_needed++;
		text += strcspn(text, ",[])");
		while (*text == ']')
			text++;
	}
}
