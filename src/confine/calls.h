/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits the system calls of a process to those that its work needs (seccomp, with libseccomp).
 * Other calls fail with EPERM. Children inherit the limit. On a kernel without seccomp, there is no
 * limit.
 */
#ifndef RS_CONFINE_CALLS_H
#define RS_CONFINE_CALLS_H

enum rs_confine_work {
	/* Reads files and writes to open descriptors: `print`, `report`. It opens no file for
	 * writing except nameless ones (O_TMPFILE), starts no program, and uses no network. To
	 * other processes, it can only send SIGKILL, and signal 0, which tests whether they
	 * exist. */
	RS_CONFINE_READER,
	/* As a reader, and creates files: `import`, `export`, `repair`; or runs a guest: `run`. */
	RS_CONFINE_WRITER,
	/* As a writer, with BPF and perf events: live verbs, after the attachment. */
	RS_CONFINE_COLLECTOR,
	/* As a collector, and reads other processes' memory: `profile`. */
	RS_CONFINE_SAMPLER,
	/* As a reader, and starts programs: a tool of the system, such as cpp. */
	RS_CONFINE_TOOL,
	/* Starts QEMU, which becomes an unprivileged user, and uses sockets to it and to a
	 * debugger: `replay`. As a writer, but it starts programs and signals them. QEMU inherits
	 * the limits. */
	RS_CONFINE_REPLAYER,
	/* Computes: reads and writes open descriptors, and opens nothing. For a library that parses
	 * a foreign format in a separate process. */
	RS_CONFINE_PARSER,
};

/* Forbids the system calls that this work does not need to the calling thread, and to threads that
 * it creates later. Allocates memory, so a forked child of a process with threads must not call it.
 * Returns NULL, or the name of the call that failed, with errno set. */
const char *rs_confine_calls(enum rs_confine_work work);

/* Confines the calling process, which has one thread, to this work: drops the right to gain
 * privileges, and the capabilities and calls that the work does not need, and sets limits. A reader
 * that root starts becomes an unprivileged user, which can still read each file. A writer keeps its
 * user, who will own the new files. Returns the same as rs_confine_calls(). */
const char *rs_confine_process(enum rs_confine_work work);

#endif
