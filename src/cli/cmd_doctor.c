/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside doctor: checks what each verb needs of this machine. A check is a row with a function. A
 * verb without a row in `needs` works anywhere. `also` has the needs of single sources: without
 * them, the verb works partly.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/count.h"
#include "base/json.h"
#include "cli/shared.h"
#include "kvm/kvm.h"
#include "kvm/sampler.h"
#include "replay/kernel.h"
#include "replay/qemu.h"
#include "live/tracepoint.h"
#include "live/xen_ctl.h"
#include "store/waiting.h"
#include <ringside/clock.h>

#define CHECKS_MAX  32
#define FOUND_BYTES 160

/* The needs of verbs, as bits. */
#define OF_SESSION 1u  /* KVM's tracepoints, by BPF */
#define OF_GUEST   2u  /* to run a guest in the micro-VM */
#define OF_CLOCK   4u  /* time stamps by the TSC */
#define OF_PERF	   8u  /* the kernel's tracepoints, by perf */
#define OF_XEN	   16u /* the trace of the Xen below */
#define OF_QEMU	   32u /* to record guests in QEMU */
#define OF_SAMPLES 64u /* the registers of other VMs' vCPUs */

static const struct need {
	const char *verb;
	unsigned int of, also;
} needs[] = {
	{ "exits", OF_SESSION, 0 },
	{ "top", OF_SESSION, 0 },
	{ "profile", OF_SESSION | OF_SAMPLES, 0 },
	{ "record", OF_CLOCK, OF_SESSION | OF_PERF | OF_XEN },
	{ "script", 0, OF_SESSION | OF_PERF | OF_XEN }, /* live */
	{ "replay", OF_QEMU, 0 },
	{ "run", OF_GUEST | OF_CLOCK, 0 },
};

/* A check's result. A verb cannot work without a vital check, and works partly without another. */
struct finding {
	struct rs_kvm_check check;
	unsigned int of;
	bool vital;
	char has[FOUND_BYTES]; /* what meets the need; may be empty */
};

struct doctor {
	struct finding findings[CHECKS_MAX];
	size_t n;
	bool json;
};

/* ---- this verb's own checks ----------------------------------------------------------------- */

/* Each check returns NULL if its need is met, and may write what meets it to `text`; otherwise it
 * returns what is missing, which may be in `text`. */
static const char *no_guest(char *text, size_t size)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC), error = errno, version;

	if (fd < 0 && error == ENOENT)
		return "there is no /dev/kvm";
	if (fd < 0) {
		snprintf(text, size, "user %u cannot open /dev/kvm: %s", (unsigned int)geteuid(),
			 strerror(error));
		return text;
	}
	version = ioctl(fd, KVM_GET_API_VERSION, 0);
	close(fd);
	if (version == KVM_API_VERSION)
		return NULL;
	snprintf(text, size, "/dev/kvm has version %d of KVM's API, expected %d", version,
		 KVM_API_VERSION);
	return text;
}

#if !defined(__x86_64__)
static const char *no_vm(char *text, size_t size)
{
	(void)text;
	(void)size;
	return "the reference micro-VM runs only on x86-64";
}
#endif

static const char *no_exits(char *text, size_t size)
{
	(void)text;
	(void)size;
	return rs_kvm_only_user_exits()
		       ? "kvm_exit never fires on this KVM, which uses neither VMX nor SVM"
		       : NULL;
}

static const char *no_samples(char *text, size_t size)
{
	(void)text;
	(void)size;
	return rs_kvm_can_sample() ? NULL : "this host's KVM uses neither SVM nor VMX";
}

static const char *no_debugfs(char *text, size_t size)
{
	(void)text;
	(void)size;
	return access("/sys/kernel/debug/kvm", R_OK | X_OK)
		       ? "/sys/kernel/debug/kvm is missing or not readable"
		       : NULL;
}

static const char *no_schedstat(char *text, size_t size)
{
	uint64_t run_ns, wait_ns;

	(void)text;
	(void)size;
	return rs_kvm_schedstat(getpid(), gettid(), &run_ns, &wait_ns)
		       ? NULL
		       : "the kernel does not account for threads' times (/proc/PID/schedstat)";
}

static const char *no_clock(char *text, size_t size)
{
	struct rs_clock clock;
	struct rs_error *err = rs_clock_host(&clock);

	if (err) {
		snprintf(text, size, "%s", rs_error_text(err));
		rs_error_free(err);
		return text;
	}
	return clock.invariant ? NULL : "the CPU does not report an invariant TSC";
}

static const char *no_qemu(char *text, size_t size)
{
	char version[128];
	struct rs_error *err = rs_qemu_version(version, sizeof(version));

	if (!err)
		return NULL;
	rs_error_free(err);
	snprintf(text, size, "there is no qemu-system-x86_64");
	return text;
}

/* Checks the kernel that replay boots by default, the newest in /boot. */
static const char *no_kernel(char *text, size_t size)
{
	char *path = NULL;
	struct rs_error *err = rs_kernel_find(&path);
	bool met;

	if (!err)
		err = rs_kernel_check(path);
	met = !err;
	if (met)
		snprintf(text, size, "%s", path);
	else
		snprintf(text, size, "%s",
			 path ? rs_error_text(err) : "there is no kernel in /boot");
	free(path);
	rs_error_free(err);
	return met ? NULL : text;
}

static const char *no_perf(char *text, size_t size)
{
	static const char *const any[] = { "sched:sched_switch" };
	const struct rs_tracepoint_options options = { .globs = any, .n_globs = 1 };
	struct rs_tracepoints *session = NULL;
	struct rs_error *err = rs_tracepoints_open(&options, &session);

	rs_tracepoints_close(session);
	if (!err)
		return NULL;
	snprintf(text, size, "%s", rs_error_text(err));
	rs_error_free(err);
	return text;
}

static const char *no_rings(char *text, size_t size)
{
	struct rs_waiting *list = NULL;
	size_t n = 0, waiting = 0;
	struct rs_error *err = rs_waiting_list(geteuid(), &list, &n);

	for (size_t i = 0; i < n; i++)
		waiting += list[i].valid && !list[i].runs && list[i].rings;
	rs_waiting_free(list, n);
	if (err)
		snprintf(text, size, "%s", rs_error_text(err));
	else if (waiting)
		snprintf(text, size, "%s of programs that died wait%s",
			 RS_COUNT_OF(waiting, "file"), waiting == 1 ? "s" : "");
	rs_error_free(err);
	return text[0] ? text : NULL;
}

static bool on_xen(void)
{
	return !access("/proc/xen", F_OK);
}

static const char *no_xen(char *text, size_t size)
{
	struct rs_xen_ctl *ctl = NULL;
	struct rs_error *err = rs_xen_ctl_open(&ctl);

	rs_xen_ctl_close(ctl);
	if (!err)
		return NULL;
	snprintf(text, size, "%s", rs_error_text(err));
	rs_error_free(err);
	return text;
}

static const struct own_check {
	const char *what;
	const char *(*missing)(char *text, size_t size);
	const char *remedy;
	unsigned int of;
	bool vital;
	bool (*applies)(void); /* NULL: everywhere */
} own_checks[] = {
	{ "kvm_exit events", no_exits, "use 'ringside exits --user'", OF_SESSION, false },
	{ "vCPUs' registers", no_samples,
	  "run the guest on AMD, with the module kvm_amd; BPF cannot read the VMCS of VMX",
	  OF_SAMPLES, true },
	{ "vCPUs' threads", no_debugfs,
	  "mount -t debugfs debugfs /sys/kernel/debug; until then vCPUs are found by their "
	  "threads' names",
	  OF_SESSION, false },
	{ "schedstat", no_schedstat,
	  "boot a kernel with CONFIG_SCHED_INFO; without it, times are not compared with the "
	  "kernel's",
	  OF_SESSION, false },
#if !defined(__x86_64__)
	{ "a micro-VM", no_vm, "run guests on an x86-64 machine", OF_GUEST, true },
#endif
	{ "/dev/kvm", no_guest,
	  "load kvm_intel or kvm_amd (modprobe), and be root or in the group kvm", OF_GUEST, true },
	{ "tracepoints, by perf", no_perf, "until then 'record --tracepoint' cannot work", OF_PERF,
	  false },
	{ "QEMU", no_qemu, "apt-get install qemu-system-x86", OF_QEMU, true, NULL },
	{ "a kernel for replay", no_kernel,
	  "apt-get install linux-image-cloud-amd64; until then, name one with --kernel", OF_QEMU,
	  false, NULL },
	{ "Xen's trace, by libxenctrl", no_xen,
	  "be root in dom0, with Xen's tools; until then 'record --xen' cannot work", OF_XEN, false,
	  on_xen },
	{ "no rings that wait for repair", no_rings,
	  "'ringside repair --list' shows them, and 'ringside repair TRACE' recovers their records",
	  0, false, NULL },
	{ "invariant TSC", no_clock,
	  "times may drift; 'record' and 'run' report it, and refuse with --strict-clock", OF_CLOCK,
	  false },
};

static void run_checks(struct doctor *d)
{
	struct rs_kvm_check session[CHECKS_MAX];
	uint32_t n = rs_kvm_checks(session, CHECKS_MAX / 2);

	for (uint32_t i = 0; i < n; i++)
		d->findings[d->n++] = (struct finding){ session[i], OF_SESSION, true };
	for (size_t i = 0; i < sizeof(own_checks) / sizeof(own_checks[0]); i++) {
		const struct own_check *own = &own_checks[i];
		struct finding *finding = &d->findings[d->n];
		struct rs_kvm_check *check = &finding->check;
		char text[FOUND_BYTES] = "";
		const char *missing;

		if (own->applies && !own->applies())
			continue;
		d->n++;
		missing = own->missing(text, sizeof(text));
		finding->of = own->of;
		finding->vital = own->vital;
		check->what = own->what;
		check->remedy = own->remedy;
		check->met = !missing;
		if (missing)
			snprintf(check->missing, sizeof(check->missing), "%s", missing);
		else
			snprintf(finding->has, sizeof(finding->has), "%s", text);
	}
}

/* ---- verbs ---------------------------------------------------------------------------------- */

static struct need needs_of(const char *verb)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!strcmp(needs[i].verb, verb))
			return needs[i];
	}
	return (struct need){ verb, 0, 0 };
}

static bool lacks(const struct finding *finding, unsigned int of)
{
	return !finding->check.met && (finding->of & of);
}

enum state { WORKS, PARTLY, CANNOT };

static enum state state_of(const struct doctor *d, const char *verb)
{
	struct need need = needs_of(verb);
	enum state state = WORKS;

	for (size_t i = 0; i < d->n; i++) {
		if (lacks(&d->findings[i], need.of) && d->findings[i].vital)
			return CANNOT;
		if (lacks(&d->findings[i], need.of | need.also))
			state = PARTLY;
	}
	return state;
}

static const char *const state_names[] = {
	[WORKS] = "works", [PARTLY] = "partly", [CANNOT] = "can't"
};

/* Returns the first unmet vital check of a verb, or else the first other unmet check, or NULL. */
static const struct finding *first_lack(const struct doctor *d, const char *verb)
{
	struct need need = needs_of(verb);
	const struct finding *other = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct finding *finding = &d->findings[i];

		if (lacks(finding, need.of) && finding->vital)
			return finding;
		if (lacks(finding, need.of | need.also) &&
		    (!other || (finding->vital && !other->vital)))
			other = finding;
	}
	return other;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_checks(const struct doctor *d)
{
	printf("%-36s %-7s %s\n", "CHECK", "MET", "MISSING: REMEDY");
	for (size_t i = 0; i < d->n; i++) {
		const struct finding *finding = &d->findings[i];
		const struct rs_kvm_check *check = &finding->check;

		if (check->met)
			printf("%-36s yes%s%s\n", check->what, finding->has[0] ? "     " : "",
			       finding->has);
		else
			printf("%-36s %-7s %s: %s\n", check->what, finding->vital ? "no" : "(no)",
			       check->missing, check->remedy);
	}
}

static void print_verbs(const struct doctor *d)
{
	const char *verb;

	printf("\n%-36s %s\n", "VERB", "STATE: REASON");
	for (size_t i = 0; (verb = rs_cli_verb(i)); i++) {
		const struct finding *lack = first_lack(d, verb);

		printf("%-36s %s", verb, state_names[state_of(d, verb)]);
		if (lack)
			printf(": %s", lack->check.missing);
		putchar('\n');
	}
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Writes the verbs that need this finding, or, if `also`, the verbs that have a source with this
 * need. */
static void put_verbs_of(struct rs_json *json, const struct finding *finding, bool also)
{
	const char *verb;

	rs_json_open(rs_json_key(json, also ? "used_by" : "needed_by"), '[');
	for (size_t i = 0; (verb = rs_cli_verb(i)); i++) {
		struct need need = needs_of(verb);

		if ((also ? need.also : need.of) & finding->of)
			rs_json_text(json, verb);
	}
	rs_json_close(json, ']');
}

static void put_check(struct rs_json *json, const struct finding *finding)
{
	const struct rs_kvm_check *check = &finding->check;

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "check"), check->what);
	rs_json_bool(rs_json_key(json, "met"), check->met);
	rs_json_bool(rs_json_key(json, "vital"), finding->vital);
	put_verbs_of(json, finding, false);
	put_verbs_of(json, finding, true);
	if (finding->has[0])
		rs_json_text(rs_json_key(json, "has"), finding->has);
	if (!check->met) {
		rs_json_text(rs_json_key(json, "missing"), check->missing);
		rs_json_text(rs_json_key(json, "remedy"), check->remedy);
	}
	rs_json_close(json, '}');
}

static void put_verb(struct rs_json *json, const struct doctor *d, const char *verb)
{
	struct need need = needs_of(verb);
	enum state state = state_of(d, verb);

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "verb"), verb);
	rs_json_bool(rs_json_key(json, "works"), state != CANNOT);
	rs_json_bool(rs_json_key(json, "whole"), state == WORKS);
	rs_json_open(rs_json_key(json, "missing"), '[');
	for (size_t at = 0; at < d->n; at++) {
		if (lacks(&d->findings[at], need.of | need.also))
			rs_json_text(json, d->findings[at].check.what);
	}
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void put_doctor(struct rs_json *json, const void *about)
{
	const struct doctor *d = about;
	const char *verb;

	rs_json_text(rs_json_key(json, "report"), "doctor");
	rs_json_open(rs_json_key(json, "checks"), '[');
	for (size_t i = 0; i < d->n; i++)
		put_check(json, &d->findings[i]);
	rs_json_close(json, ']');
	rs_json_open(rs_json_key(json, "rows"), '[');
	for (size_t i = 0; (verb = rs_cli_verb(i)); i++)
		put_verb(json, d, verb);
	rs_json_close(json, ']');
}

/* ---- the verb ------------------------------------------------------------------------------- */

static const char doc[] =
	"Check what each verb needs of this machine, and show what is missing and what to do.\v"
	"doctor changes nothing. Run it as the user that will run the verbs, since it checks that "
	"user's rights.\n\n"
	"Exit codes: 0 every verb can work; 3 some cannot; 1 failed; 2 usage error.\n\n"
	"Examples:\n"
	"  ringside doctor\n"
	"  sudo ringside doctor --json\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct doctor *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &d->json;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "only options are allowed, got '%s'", text);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { NULL, parse, NULL, doc, children, NULL, NULL };
	static struct doctor d;
	int code = RS_EXIT_OK;
	struct rs_error *err = NULL;
	const char *verb;

	if (rs_cli_parse(&argp, argc, argv, &d))
		return RS_EXIT_USAGE;
	run_checks(&d);
	if (d.json) {
		err = rs_cli_json_print(put_doctor, &d);
	} else {
		print_checks(&d);
		print_verbs(&d);
	}
	if (!err && fflush(stdout))
		err = rs_error_errno(errno, "standard output");
	if (err)
		return rs_cli_fail("doctor", err);
	for (size_t i = 0; (verb = rs_cli_verb(i)); i++) {
		if (state_of(&d, verb) == CANNOT)
			code = RS_EXIT_PARTIAL;
	}
	return code;
}
