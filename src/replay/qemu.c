/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and ends a confined QEMU. */
#include "replay/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "confine/confine.h"

#define BEFORE_MAX 8u		       /* number of words before the command's own */
#define OTHERS	   (UINT64_C(4) << 30) /* QEMU's address space, without the guest's RAM */
#define FILES_MAX  1024
#define FILE_BYTES (UINT64_C(64) << 30) /* limit of a log's size, reached after weeks */
#define CHECK_NS   5000000		/* between two checks whether it has ended */
/* 1 s, for a QEMU that has closed its channel and is about to end */
#define END_CHECKS  200
#define QUIT_CHECKS 6000 /* 30 s, for a busy machine */

/* ---- output --------------------------------------------------------------------------------- */

/* Reads what QEMU wrote, and keeps its end. */
static void output_read(struct rs_qemu *qemu)
{
	char part[512];
	ssize_t n;

	while ((n = read(qemu->output_fd, part, sizeof(part))) > 0) {
		size_t used = strlen(qemu->output), room = sizeof(qemu->output) - 1;
		size_t over = used + (size_t)n > room ? used + (size_t)n - room : 0;

		memmove(qemu->output, qemu->output + over, used - over);
		memcpy(qemu->output + used - over, part, (size_t)n);
		qemu->output[used - over + (size_t)n] = '\0';
	}
}

/* Returns the last line of QEMU's output, or the line with the reason of an abort, which the
 * processor's registers follow (cpu_abort()). */
static const char *output_reason(struct rs_qemu *qemu)
{
	size_t len;
	char *line;

	output_read(qemu);
	line = strstr(qemu->output, "fatal: ");
	if (line) {
		line[strcspn(line, "\n")] = '\0';
		return line;
	}
	len = strlen(qemu->output);
	while (len && qemu->output[len - 1] == '\n')
		qemu->output[--len] = '\0';
	line = strrchr(qemu->output, '\n');
	return line ? line + 1 : qemu->output;
}

struct rs_error *rs_qemu_version(char *version, size_t size)
{
	static const char words[] = "QEMU emulator version ";
	FILE *pipe = popen("exec " RS_QEMU " --version 2>/dev/null", "re");
	char line[256] = "";
	const char *at;

	if (pipe && !fgets(line, sizeof(line), pipe))
		line[0] = '\0';
	if (pipe)
		pclose(pipe);
	at = strstr(line, words);
	if (!at)
		return rs_error_create(RS_ABSENT,
				       "no " RS_QEMU ": apt-get install qemu-system-x86");
	at += strlen(words);
	snprintf(version, size, "%.*s", (int)strcspn(at, "\n"), at);
	return NULL;
}

/* ---- the process ---------------------------------------------------------------------------- */

bool rs_qemu_runs(struct rs_qemu *qemu)
{
	if (qemu->pid <= 0)
		return false;
	if (waitpid(qemu->pid, &qemu->status, WNOHANG) == qemu->pid)
		qemu->pid = 0;
	output_read(qemu);
	return qemu->pid > 0;
}

/* The channels to QEMU: this process's ends and QEMU's. */
struct channels {
	int ours[3], theirs[3]; /* QMP, GDB, output */
};

static struct rs_error *channels_make(struct channels *c)
{
	*c = (struct channels){ { -1, -1, -1 }, { -1, -1, -1 } };
	for (int i = 0; i < 3; i++) {
		int pair[2];

		if (i < 2 ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
			  : pipe2(pair, O_CLOEXEC))
			return rs_error_errno(errno, "a channel to QEMU");
		c->ours[i] = pair[0];
		c->theirs[i] = pair[1];
	}
	fcntl(c->ours[2], F_SETFL, O_NONBLOCK);
	return NULL;
}

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Values that a child needs, looked up before the fork. */
struct birth {
	char *words[BEFORE_MAX + RS_QEMU_WORDS + 1];
	struct rs_confine confine;
	const struct rs_qemu_command *command;
	pid_t parent;
};

/* Runs in the child: drops unwanted state of the parent, and executes the program. */
static void child_exec(const struct birth *b, const int channels[3])
{
	int nothing = open("/dev/null", O_RDWR);
	const char *failed;
	sigset_t none;

	setpgid(0, 0); /* Ctrl-C goes to this process, which then sends QEMU a quit */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (uint32_t i = 0; i < b->command->n_fds; i++)
		/* QEMU refers to descriptors by their numbers */
		fcntl(b->command->fds[i], F_SETFD, 0);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(channels[2], 2);
	failed = nothing < 0 ? "/dev/null" : rs_confine_enter(&b->confine);
	if (failed) {
		dprintf(2, "%s: %s\n", failed, strerror(errno));
		_exit(127);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears the setting */
	if (getppid() != b->parent)
		_exit(127);
	execvp(b->words[0], b->words);
	dprintf(2, "%s: %s%s\n", b->words[0], strerror(errno),
		errno == EACCES && b->confine.drops
			? ": QEMU runs as an unprivileged user, which may not execute it there"
			: "");
	_exit(127);
}

static struct rs_error *wait_for_qmp(struct rs_qemu *qemu, int fd)
{
	struct rs_error *err = rs_qmp_adopt(fd, &qemu->qmp);

	for (int i = 0; err && i < END_CHECKS && rs_qemu_runs(qemu); i++)
		rs_sleep_ns(CHECK_NS);
	if (!err || qemu->pid > 0)
		return rs_error_wrap(err, "QEMU does not answer");
	rs_error_free(err);
	return rs_error_create(RS_FAILED, "QEMU does not start: %s", output_reason(qemu));
}

/* Adds the channels and the sandbox. */
static void add_ours(struct rs_qemu_command *c, const int theirs[3])
{
	rs_qemu_command_option(c, "-chardev", "socket,id=ringside-qmp,fd=%d",
			       rs_qemu_command_inherit(c, theirs[0]));
	rs_qemu_command_option(c, "-mon", "chardev=ringside-qmp,mode=control");
	rs_qemu_command_option(c, "-chardev", "socket,id=ringside-gdb,fd=%d",
			       rs_qemu_command_inherit(c, theirs[1]));
	rs_qemu_command_option(c, "-gdb", "chardev:ringside-gdb");
	rs_qemu_command_option(c, "-sandbox",
			       "on,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
}

static struct birth prepare(const struct rs_qemu_command *c)
{
	struct birth b = { .command = c, .parent = getpid() };
	uint32_t n = 0;

	for (; c->before && c->before[n] && n < BEFORE_MAX; n++)
		b.words[n] = c->before[n];
	memcpy(b.words + n, c->words, (c->n_words + 1) * sizeof(c->words[0]));
	b.confine.descriptors = FILES_MAX;
	b.confine.file_bytes = FILE_BYTES;
	b.confine.address_bytes = c->memory_bytes ? c->memory_bytes + OTHERS : 0;
	rs_confine_prepare(&b.confine);
	return b;
}

struct rs_error *rs_qemu_start(struct rs_qemu *qemu, struct rs_qemu_command *command)
{
	struct channels channels;
	struct rs_error *err;
	struct birth birth;

	*qemu = (struct rs_qemu){ .output_fd = -1, .gdb_fd = -1 };
	err = channels_make(&channels);
	if (!err)
		add_ours(command, channels.theirs);
	if (!err)
		err = rs_qemu_command_error(command);
	if (!err) {
		birth = prepare(command);
		qemu->pid = fork();
	}
	if (!err && !qemu->pid)
		child_exec(&birth, channels.theirs);
	if (!err && qemu->pid < 0)
		err = rs_error_errno(errno, "starting %s", command->words[0]);
	close_all(channels.theirs);
	if (err) {
		qemu->pid = 0;
		close_all(channels.ours);
		return err;
	}
	qemu->gdb_fd = channels.ours[1];
	qemu->output_fd = channels.ours[2];
	return wait_for_qmp(qemu, channels.ours[0]);
}

struct rs_error *rs_qemu_monitor(struct rs_qemu *qemu, const char *command)
{
	const struct rs_qmp_argument arguments[] = { { "command-line", command }, { NULL, NULL } };
	json_t *result = NULL;
	const char *output;
	struct rs_error *err =
		rs_qmp_execute(qemu->qmp, "human-monitor-command", arguments, &result);

	output = json_string_value(result);
	if (!err && output && output[0])
		err = rs_error_create(RS_FAILED, "%s: %.*s", command, (int)strcspn(output, "\r\n"),
				      output);
	json_decref(result);
	return err;
}

struct rs_error *rs_qemu_gdb(struct rs_qemu *qemu)
{
	int fd = qemu->gdb_fd;

	qemu->gdb_fd = -1;
	return rs_gdb_adopt(fd, &qemu->gdb);
}

static struct rs_error *ending(struct rs_qemu *qemu)
{
	const char *output = output_reason(qemu), *colon = output[0] ? ": " : "";

	if (WIFSIGNALED(qemu->status))
		return rs_error_create(RS_FAILED, "QEMU was killed by signal %d%s%s",
				       WTERMSIG(qemu->status), colon, output);
	if (WEXITSTATUS(qemu->status))
		return rs_error_create(RS_FAILED, "QEMU exited with status %d%s%s",
				       WEXITSTATUS(qemu->status), colon, output);
	return NULL;
}

/*
 * Waits for an ending QEMU. A QEMU that shuts down may deadlock if a QMP command arrives meanwhile:
 * its main loop waits for the thread that answers, and that thread waits for the main loop (QEMU
 * 7.2's monitor_cleanup()). A signal, which only requests the shutdown in progress, wakes it.
 */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu)
{
	rs_gdb_close(qemu->gdb); /* a machine that the fast path holds would not end */
	qemu->gdb = NULL;
	for (int i = 1; i <= QUIT_CHECKS && rs_qemu_runs(qemu); i++) {
		rs_sleep_ns(CHECK_NS);
		if (i % END_CHECKS == 0)
			kill(qemu->pid, SIGTERM);
	}
	if (rs_qemu_runs(qemu))
		return rs_error_create(RS_FAILED, "QEMU did not quit, and was killed");
	return ending(qemu);
}

struct rs_error *rs_qemu_quit(struct rs_qemu *qemu)
{
	rs_gdb_close(qemu->gdb);
	qemu->gdb = NULL;
	if (rs_qemu_runs(qemu) && qemu->qmp)
		rs_error_free(rs_qmp_execute(qemu->qmp, "quit", NULL, NULL));
	return rs_qemu_ended(qemu);
}

void rs_qemu_end(struct rs_qemu *qemu)
{
	rs_gdb_close(qemu->gdb);
	rs_qmp_close(qemu->qmp);
	if (qemu->pid > 0) {
		kill(qemu->pid, SIGKILL);
		waitpid(qemu->pid, &qemu->status, 0);
	}
	if (qemu->gdb_fd > 0)
		close(qemu->gdb_fd);
	if (qemu->output_fd > 0)
		close(qemu->output_fd);
	*qemu = (struct rs_qemu){ .output_fd = -1, .gdb_fd = -1 };
}
