/* SPDX-License-Identifier: BSD-2-Clause */
/* Restricts a process's system calls with a seccomp filter. */
#include "confine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine.h"
#include "base/sanitized.h"

#define READER_BYTES (UINT64_C(8) << 30) /* a small file can claim to be large */

/* ---- calls ------------------------------------------------------------------------------------
 *
 * Names of libseccomp. A call that this architecture or this libseccomp lacks is skipped.
 */

/* Calls that no confined work needs. */
static const char *const never[] = {
	/* other processes */
	"ptrace", "process_vm_writev", "process_madvise", "pidfd_getfd",
	"pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "kcmp",
	/* the system */
	"mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen",
	"fsconfig", "fsmount", "fspick", "pivot_root", "chroot", "setns", "unshare", "init_module",
	"finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon",
	"swapoff", "sethostname", "setdomainname", "acct", "quotactl", "quotactl_fd",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog", "iopl", "ioperm",
	"nfsservctl", "vhangup", "lookup_dcookie", "open_by_handle_at", "name_to_handle_at",
	"fanotify_init",
	/* keys, and ways around this filter */
	"add_key", "request_key", "keyctl", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"userfaultfd", "personality", "modify_ldt", "mknod", "mknodat", "setxattr", "lsetxattr",
	"fsetxattr", "removexattr", "lremovexattr", "fremovexattr", NULL
};

static const char *const networks[] = { "socket", "socketpair", "socketcall", "connect", "bind",
					"listen", "accept",	"accept4",    NULL };
static const char *const programs[] = { "execve", "execveat", NULL };
static const char *const memory_of_others[] = { "process_vm_readv", NULL };
static const char *const kernel_events[] = { "bpf", "perf_event_open", NULL };

/* Calls that change files that are not open. */
static const char *const changes[] = {
	"creat",     "openat2",	  "rename",   "renameat",   "renameat2", "unlink",
	"unlinkat",  "rmdir",	  "mkdir",    "mkdirat",    "link",	 "linkat",
	"symlink",   "symlinkat", "truncate", "truncate64", "chmod",	 "fchmodat",
	"chown",     "lchown",	  "fchownat", "utime",	    "utimes",	 "utimensat",
	"futimesat", "fchmodat2", "fchmod",   "fchown",	    NULL
};

/* The only calls that a parser may make. */
static const char *const parses[] = { "read",
				      "readv",
				      "pread64",
				      "pwrite64",
				      "preadv",
				      "write",
				      "writev",
				      "lseek",
				      "_llseek",
				      "mmap",
				      "mmap2",
				      "munmap",
				      "mremap",
				      "mprotect",
				      "madvise",
				      "brk",
				      "fstat",
				      "fstat64",
				      "newfstatat",
				      "statx",
				      "close",
				      "fcntl",
				      "fcntl64",
				      "dup",
				      "dup2",
				      "dup3",
				      "exit",
				      "exit_group",
				      "rt_sigaction",
				      "rt_sigprocmask",
				      "rt_sigreturn",
				      "futex",
				      "getpid",
				      "gettid",
				      "tgkill",
				      "clock_gettime",
				      "clock_nanosleep",
				      "getrandom",
				      "sched_yield",
				      "sysinfo",
				      "getrlimit",
				      "ugetrlimit",
				      "prlimit64",
				      "restart_syscall",
				      "nanosleep",
				      "poll",
				      "ppoll",
				      "readlink",
				      "readlinkat",
				      "ftruncate",
				      "ftruncate64",
				      "uname",
				      NULL };

static int rule(scmp_filter_ctx filter, uint32_t action, const char *name)
{
	int number = seccomp_syscall_resolve_name(name), status;

	if (number == __NR_SCMP_ERROR)
		return 0;
	status = seccomp_rule_add(filter, action, number, 0);
	return status == -EDOM ? 0 : status; /* not of this architecture */
}

static int rules(scmp_filter_ctx filter, uint32_t action, const char *const names[])
{
	int status = 0;

	for (; !status && *names; names++)
		status = rule(filter, action, *names);
	return status;
}

/* Denies open() and openat() that could change a file or create a named one. The flags are argument
 * `at`. */
static int no_opening_to_write(scmp_filter_ctx filter, uint32_t action, int number, unsigned int at)
{
	const uint64_t nameless = O_TMPFILE & ~(uint64_t)O_DIRECTORY;
	const struct {
		uint64_t mask, flags;
	} denied[] = { { O_ACCMODE | nameless, O_WRONLY },
		       { O_ACCMODE | nameless, O_RDWR },
		       { O_CREAT, O_CREAT },
		       { O_TRUNC, O_TRUNC } };
	int status = 0;

	for (size_t i = 0; !status && i < sizeof(denied) / sizeof(denied[0]); i++)
		status = seccomp_rule_add(filter, action, number, 1,
					  (struct scmp_arg_cmp){ at, SCMP_CMP_MASKED_EQ,
								 denied[i].mask, denied[i].flags });
	return status == -EDOM ? 0 : status;
}

/* Denies kill(), except with signals 0, which tests whether a process exists, and SIGKILL, which
 * ends a stuck child. Denies tgkill() on other processes. */
static int no_signals(scmp_filter_ctx filter, uint32_t action)
{
	int status = seccomp_rule_add(filter, action, SCMP_SYS(kill), 1,
				      SCMP_A1(SCMP_CMP_GT, SIGKILL, 0));

	for (scmp_datum_t number = 1; !status && number < SIGKILL; number++)
		status = seccomp_rule_add(filter, action, SCMP_SYS(kill), 1,
					  SCMP_A1(SCMP_CMP_EQ, number, 0));
	/* raise() and abort() call tgkill() on threads of the same process. */
	if (!status)
		status = seccomp_rule_add(filter, action, SCMP_SYS(tgkill), 1,
					  SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid(), 0));
	return status;
}

static int forbid(scmp_filter_ctx filter, enum rs_confine_work work)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);
	const bool replays = work == RS_CONFINE_REPLAYER;
	int status = rules(filter, no, never);

	/* QEMU inherits the filter, and signals threads of its own process, not of this one. */
	if (!status && !replays)
		status = no_signals(filter, no);
	if (!status && !replays)
		status = rules(filter, no, networks);
	/* TIOCSTI would inject input into the controlling terminal. */
	if (!status)
		status = seccomp_rule_add(filter, no, SCMP_SYS(ioctl), 1,
					  SCMP_A1_32(SCMP_CMP_EQ, TIOCSTI, 0));
	if (!status && work != RS_CONFINE_SAMPLER)
		status = rules(filter, no, memory_of_others);
	if (!status && work != RS_CONFINE_COLLECTOR && work != RS_CONFINE_SAMPLER)
		status = rules(filter, no, kernel_events);
	if (!status && work != RS_CONFINE_TOOL && !replays)
		status = rules(filter, no, programs);
	if (status || (work != RS_CONFINE_READER && work != RS_CONFINE_TOOL))
		return status;
	status = rules(filter, no, changes);
	if (!status)
		status = no_opening_to_write(filter, no, SCMP_SYS(open), 1);
	return status ? status : no_opening_to_write(filter, no, SCMP_SYS(openat), 2);
}

const char *rs_confine_calls(enum rs_confine_work work)
{
	bool parser = work == RS_CONFINE_PARSER;
	scmp_filter_ctx filter;
	int status;

	if (RS_SANITIZED) /* the leak check at exit needs forbidden calls */
		return NULL;
	filter = seccomp_init(parser ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	if (!filter) {
		errno = ENOMEM;
		return "seccomp_init";
	}
	status = parser ? rules(filter, SCMP_ACT_ALLOW, parses) : forbid(filter, work);
	if (!status)
		status = seccomp_load(filter);
	seccomp_release(filter);
	if (!status || status == -ENOSYS || status == -EINVAL) /* a kernel without seccomp */
		return NULL;
	errno = -status;
	return "seccomp_load";
}

/* ---- capabilities --------------------------------------------------------------------------- */

#define BIT(cap) (UINT64_C(1) << (cap))
/* To open other users' files. */
#define READS BIT(CAP_DAC_READ_SEARCH)
/* To confine a child as another user, and to end it. */
#define STARTS (BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL))
#define WRITES (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER) | BIT(CAP_FSETID))

#define COLLECTS                                                                                   \
	(READS | STARTS | WRITES | BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) |         \
	 BIT(CAP_SYS_RESOURCE) | BIT(CAP_IPC_LOCK))

/* The capabilities that each work keeps, and whether it keeps its user. A reader opens files at any
 * time but creates none, so it does not need its user; its children start as the same unprivileged
 * user. */
static const struct {
	uint64_t capabilities, data_bytes;
	bool keeps_user;
} works[] = {
	[RS_CONFINE_READER] = { READS, READER_BYTES, false },
	[RS_CONFINE_WRITER] = { READS | STARTS | WRITES, 0, true },
	/* BPF maps and perf events, whose memory is locked; /proc of VMMs of other users. */
	[RS_CONFINE_COLLECTOR] = { COLLECTS, 0, true },
	/* As a collector; CAP_SYS_PTRACE is also for the memory of VMMs. */
	[RS_CONFINE_SAMPLER] = { COLLECTS, 0, true },
	[RS_CONFINE_REPLAYER] = { READS | STARTS | WRITES, 0, true },
	[RS_CONFINE_TOOL] = { 0, 0, true },
	[RS_CONFINE_PARSER] = { 0, 0, true },
};

const char *rs_confine_process(enum rs_confine_work work)
{
	struct rs_confine confine = { .capabilities = works[work].capabilities,
				      .data_bytes = works[work].data_bytes };
	const char *failed;

	if (!works[work].keeps_user)
		rs_confine_prepare(&confine);
	failed = rs_confine_enter(&confine);
	/* The leak check attaches to the process, which is forbidden after a change of user. */
	if (!failed && RS_SANITIZED && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		failed = "prctl(PR_SET_DUMPABLE)";
	return failed ? failed : rs_confine_calls(work);
}
