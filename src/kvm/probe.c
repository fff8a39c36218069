/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the requirements of KVM's tracepoints and BPF on this machine, the most specific first. An
 * error names the first requirement that is not met. The checks change nothing.
 */
#include "kvm/kvm.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KERNEL_MAJOR 5 /* module BTF: Linux 5.11 */
#define KERNEL_MINOR 11

/* libbpf reads the second if the first is not mounted. */
static const char *const tracing[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static const char kernel_btf[] = "/sys/kernel/btf/vmlinux", kvm_btf[] = "/sys/kernel/btf/kvm";
static const char kvm_device[] = "/dev/kvm";

/* A requirement. missing() returns NULL if it is met, else a description of what is missing, which
 * may be in `text`. */
struct requirement {
	const char *what;
	const char *(*missing)(char *text, size_t size);
	const char *remedy;
	const char *after[2]; /* requirements on which this check depends; may be NULL */
	bool of_tracepoints;  /* only what reads tracepoints needs it */
};

static bool there(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static bool capable(const uint32_t effective[2], int cap)
{
	return effective[cap / 32] >> cap % 32 & 1;
}

static const char *no_rights(char *text, size_t size)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uint32_t effective[2];

	if (syscall(SYS_capget, &header, data))
		return "capget() fails";
	effective[0] = data[0].effective;
	effective[1] = data[1].effective;
	if (capable(effective, CAP_SYS_ADMIN) ||
	    (capable(effective, CAP_BPF) && capable(effective, CAP_PERFMON)))
		return NULL;
	snprintf(text, size, "user %u has no right to load BPF programs (CAP_BPF, CAP_PERFMON)",
		 (unsigned int)geteuid());
	return text;
}

static const char *no_kvm(char *text, size_t size)
{
	if (there("/sys/module/kvm") || there(kvm_device))
		return NULL;
	snprintf(text, size, "this kernel has no KVM: neither module kvm nor %s", kvm_device);
	return text;
}

static const char *no_kernel(char *text, size_t size)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return "the kernel has no readable version";
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		return NULL;
	snprintf(text, size, "the kernel is Linux %d.%d; Linux %d.%d is needed", major, minor,
		 KERNEL_MAJOR, KERNEL_MINOR);
	return text;
}

static const char *no_btf(char *text, size_t size)
{
	if (there(kernel_btf))
		return NULL;
	snprintf(text, size, "the kernel has no BTF: no %s", kernel_btf);
	return text;
}

/* Returns the mount point of tracefs, or NULL if it is not mounted or not accessible. */
static const char *tracing_folder(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(tracing) / sizeof(tracing[0]); i++) {
		snprintf(path, sizeof(path), "%s/events", tracing[i]);
		if (there(path))
			return tracing[i];
	}
	return NULL;
}

static const char *no_tracefs(char *text, size_t size)
{
	if (tracing_folder())
		return NULL;
	if (!there(tracing[0]))
		return "this kernel has no tracefs";
	if (access(tracing[0], X_OK) && errno == EACCES)
		snprintf(text, size,
			 "user %u cannot read %s (mount -o "
			 "remount,gid=GROUP,mode=750 %s lets a group)",
			 (unsigned int)geteuid(), tracing[0], tracing[0]);
	else
		snprintf(text, size, "tracefs is not mounted at %s", tracing[0]);
	return text;
}

static const char *no_tracepoint(const char *group, const char *name, char *text, size_t size)
{
	const char *folder = tracing_folder();
	char path[128];

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", folder ? folder : tracing[0], group,
		 name);
	if (folder && !access(path, R_OK))
		return NULL;
	snprintf(text, size, "there is no tracepoint %s:%s (%s)", group, name, path);
	return text;
}

static const char *no_kvm_exit(char *text, size_t size)
{
	return no_tracepoint("kvm", "kvm_exit", text, size);
}

static const char *no_user_exit(char *text, size_t size)
{
	return no_tracepoint("kvm", "kvm_userspace_exit", text, size);
}

static const char *no_sched_switch(char *text, size_t size)
{
	return no_tracepoint("sched", "sched_switch", text, size);
}

/* Checks for BTF of KVM's records. Without it, a program can read no record, and counts nothing. */
static const char *no_kvm_btf(char *text, size_t size)
{
	struct btf *btf;
	int id;

	if (there(kvm_btf))
		return NULL;
	if (!there(kernel_btf))
		return "the kernel has no BTF";
	btf = btf__load_vmlinux_btf(); /* where KVM is built in */
	id = btf ? btf__find_by_name_kind(btf, "trace_event_raw_kvm_exit", BTF_KIND_STRUCT) : -1;
	btf__free(btf);
	if (id > 0)
		return NULL;
	snprintf(text, size, "the kernel has no BTF of KVM: no %s", kvm_btf);
	return text;
}

static const char *no_bpf(char *text, size_t size)
{
	/* Loads a program of two instructions, and unloads it. */
	int has = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACEPOINT, NULL);

	if (has == 1)
		return NULL;
	if (has < 0)
		snprintf(text, size, "cannot probe BPF: %s", strerror(-has));
	else
		snprintf(text, size, "the kernel does not load BPF programs for tracepoints");
	return text;
}

static const char rights[] = "rights", tracefs[] = "tracefs";
static const char btf[] = "kernel BTF", kvm_exit[] = "tracepoint kvm:kvm_exit";

static const struct requirement requirements[] = {
	{ rights,
	  no_rights,
	  "run it as root (sudo), or with only these two: setpriv --inh-caps +bpf,+perfmon "
	  "--ambient-caps +bpf,+perfmon",
	  { NULL },
	  false },
	{ "Linux 5.11", no_kernel, "boot a newer kernel", { NULL }, false },
	{ "KVM", no_kvm, "load the module kvm_intel or kvm_amd (modprobe)", { NULL }, false },
	{ btf, no_btf, "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF", { NULL }, false },
	{ tracefs,
	  no_tracefs,
	  "mount it: mount -t tracefs tracefs /sys/kernel/tracing",
	  { rights },
	  true },
	{ kvm_exit, no_kvm_exit, "load the module kvm (modprobe kvm)", { tracefs }, true },
	{ "tracepoint kvm:kvm_userspace_exit",
	  no_user_exit,
	  "load the module kvm (modprobe kvm)",
	  { tracefs },
	  true },
	{ "tracepoint sched:sched_switch",
	  no_sched_switch,
	  "boot a kernel that is built with CONFIG_TRACEPOINTS and CONFIG_FTRACE",
	  { tracefs },
	  true },
	{ "KVM's BTF",
	  no_kvm_btf,
	  "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF_MODULES",
	  { btf, kvm_exit },
	  false },
	{ "BPF",
	  no_bpf,
	  "boot a kernel with CONFIG_BPF_SYSCALL, and without lockdown=confidentiality",
	  { rights },
	  false },
};

/* Returns whether a requirement is among the checks made so far, and is not met. */
static bool is_unmet(const struct rs_kvm_check *checks, uint32_t n, const char *what)
{
	for (uint32_t i = 0; what && i < n; i++) {
		if (checks[i].what == what)
			return !checks[i].met;
	}
	return false;
}

/* Returns the first unmet requirement on which a check depends, or NULL. */
static const char *unmet_before(const struct requirement *r, const struct rs_kvm_check *checks,
				uint32_t n)
{
	for (size_t i = 0; i < sizeof(r->after) / sizeof(r->after[0]); i++) {
		if (is_unmet(checks, n, r->after[i]))
			return r->after[i];
	}
	return NULL;
}

uint32_t rs_kvm_checks(struct rs_kvm_check *checks, uint32_t max)
{
	uint32_t n = 0;

	for (; n < sizeof(requirements) / sizeof(requirements[0]) && n < max; n++) {
		const struct requirement *r = &requirements[n];
		struct rs_kvm_check *check = &checks[n];
		const char *missing = r->missing(check->missing, sizeof(check->missing));
		const char *before = unmet_before(r, checks, n);

		check->what = r->what;
		check->remedy = r->remedy;
		check->met = !missing;
		if (!missing) {
			check->missing[0] = '\0';
		} else if (before) {
			snprintf(check->missing, sizeof(check->missing), "cannot check without %s",
				 before);
			check->remedy = "provide that first";
		} else if (missing != check->missing) {
			snprintf(check->missing, sizeof(check->missing), "%s", missing);
		}
	}
	return n;
}

struct rs_error *rs_kvm_unmet(bool tracepoints)
{
	struct rs_kvm_check checks[sizeof(requirements) / sizeof(requirements[0])];
	uint32_t n = rs_kvm_checks(checks, sizeof(checks) / sizeof(checks[0]));

	for (uint32_t i = 0; i < n; i++) {
		if (!checks[i].met && (tracepoints || !requirements[i].of_tracepoints))
			return rs_error_create(RS_FAILED, "%s: %s", checks[i].missing,
					       checks[i].remedy);
	}
	return NULL;
}

bool rs_kvm_only_user_exits(void)
{
#if defined(__x86_64__)
	return there(kvm_device) && !there("/sys/module/kvm_intel") &&
	       !there("/sys/module/kvm_amd");
#else
	return false;
#endif
}
