/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which system calls a process may make, by what it does (seccomp, with libseccomp). A call that it
 * may not make fails with EPERM. What is forbidden stays so in its children. A kernel without
 * seccomp forbids nothing.
 */
#ifndef RS_CONFINE_CALLS_H
#define RS_CONFINE_CALLS_H

enum rs_confine_work {
	/* Reads files and writes to what is open: `print`, `report`. It opens no file for writing
	 * but nameless ones (O_TMPFILE), starts no program, reaches no network, and does nothing to
	 * other processes but ask whether they live, and end them (SIGKILL). */
	RS_CONFINE_READER,
	/* The same, and makes files: `import`, `export`, `repair`; and runs a guest: `run`. */
	RS_CONFINE_WRITER,
	/* The same, with BPF and perf events: live verbs, once all is attached. */
	RS_CONFINE_COLLECTOR,
	/* As a collector, and reads other processes' memory: `profile`. */
	RS_CONFINE_SAMPLER,
	/* As a reader, and starts programs: a tool of the system's, as cpp. */
	RS_CONFINE_TOOL,
	/* Starts QEMU, which becomes an unprivileged user, and talks to it and to a debugger by
	 * sockets: `replay`. Otherwise as a writer, but it starts programs and signals them.
	 * What is forbidden here is forbidden to QEMU. */
	RS_CONFINE_REPLAYER,
	/* Computes: reads and writes what is open, and opens nothing. A library that parses a
	 * foreign format, in a process of its own. */
	RS_CONFINE_PARSER,
};

/* Forbids the calling thread, and those that it makes from now on, what this work does not need.
 * Not for a child of a process with threads: it allocates memory. Returns NULL, or the name of the
 * call that failed; errno says why. */
const char *rs_confine_calls(enum rs_confine_work work);

/* Confines the calling process, which has one thread, to this work: no new privileges, no
 * capabilities and no calls that the work does not need, and limits. A reader that root starts
 * becomes an unprivileged user, which can still read each file; a writer keeps its user, whose the
 * new files are to be. Returns as rs_confine_calls(). */
const char *rs_confine_process(enum rs_confine_work work);

#endif
