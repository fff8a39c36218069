/* SPDX-License-Identifier: BSD-2-Clause */
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

#define ARGS_MAX   256
#define OWN_ARGS   8u	   /* of these, behind the caller's; before them, as many at most */
#define LOOK_NS	   5000000 /* between two looks whether it has gone */
#define END_LOOKS  200	   /* 1 s: it has shut its channel, and is about to go */
#define QUIT_LOOKS 6000	   /* 30 s, for a machine that is busy */

static void pause_ns(long ns)
{
	const struct timespec ts = { .tv_nsec = ns };

	nanosleep(&ts, NULL);
}

/* ---- what it says --------------------------------------------------------------------------- */

/* Keeps the end of what it wrote. */
static void listen_to(struct rs_qemu *qemu)
{
	char part[512];
	ssize_t n;

	while ((n = read(qemu->said_fd, part, sizeof(part))) > 0) {
		size_t used = strlen(qemu->said), room = sizeof(qemu->said) - 1;
		size_t over = used + (size_t)n > room ? used + (size_t)n - room : 0;

		memmove(qemu->said, qemu->said + over, used - over);
		memcpy(qemu->said + used - over, part, (size_t)n);
		qemu->said[used - over + (size_t)n] = '\0';
	}
}

/* Its last line. */
static const char *last_said(struct rs_qemu *qemu)
{
	size_t len;
	char *line;

	listen_to(qemu);
	len = strlen(qemu->said);
	while (len && qemu->said[len - 1] == '\n')
		qemu->said[--len] = '\0';
	line = strrchr(qemu->said, '\n');
	return line ? line + 1 : qemu->said;
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

/* ---- its process ---------------------------------------------------------------------------- */

bool rs_qemu_runs(struct rs_qemu *qemu)
{
	if (qemu->pid <= 0)
		return false;
	if (waitpid(qemu->pid, &qemu->status, WNOHANG) == qemu->pid)
		qemu->pid = 0;
	listen_to(qemu);
	return qemu->pid > 0;
}

/* Our ends and QEMU's of what we talk through. */
struct channels {
	int ours[3], theirs[3]; /* QMP, GDB, what it says */
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

/* In the child: what is not wanted of the parent goes; the program begins. */
static void become(char *const argv[], const int channels[3], pid_t parent,
		   const struct rs_qemu_more *more)
{
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || nothing < 0)
		_exit(127);
	setpgid(0, 0); /* Ctrl-C is ours: we ask it to quit */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fcntl(channels[0], F_SETFD, 0); /* it knows them by their numbers */
	fcntl(channels[1], F_SETFD, 0);
	for (uint32_t i = 0; i < more->n_fds; i++)
		fcntl(more->fds[i], F_SETFD, 0);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(channels[2], 2);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static struct rs_error *wait_for_qmp(struct rs_qemu *qemu, int fd)
{
	struct rs_error *err = rs_qmp_adopt(fd, &qemu->qmp);

	for (int i = 0; err && i < END_LOOKS && rs_qemu_runs(qemu); i++)
		pause_ns(LOOK_NS);
	if (!err || qemu->pid > 0)
		return rs_error_wrap(err, "QEMU does not answer");
	rs_error_free(err);
	return rs_error_create(RS_FAILED, "QEMU does not start: %s", last_said(qemu));
}

/* The caller's arguments and ours. */
static struct rs_error *arguments(char *const argv[], const struct rs_qemu_more *more,
				  char texts[2][64], const int theirs[3], char *all[ARGS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; more->words && more->words[i] && n < OWN_ARGS; i++)
		all[n++] = more->words[i];
	for (; *argv && n < ARGS_MAX - OWN_ARGS - 1; argv++)
		all[n++] = *argv;
	if (*argv)
		return rs_error_create(RS_USAGE, "more than %u arguments for QEMU",
				       ARGS_MAX - OWN_ARGS - 1);
	snprintf(texts[0], 64, "socket,id=ringside-qmp,fd=%d", theirs[0]);
	snprintf(texts[1], 64, "socket,id=ringside-gdb,fd=%d", theirs[1]);
	all[n++] = "-chardev";
	all[n++] = texts[0];
	all[n++] = "-mon";
	all[n++] = "chardev=ringside-qmp,mode=control";
	all[n++] = "-chardev";
	all[n++] = texts[1];
	all[n++] = "-gdb";
	all[n++] = "chardev:ringside-gdb";
	all[n] = NULL;
	return NULL;
}

struct rs_error *rs_qemu_start(struct rs_qemu *qemu, char *const argv[])
{
	return rs_qemu_start_with(qemu, argv, &(struct rs_qemu_more){ .words = NULL });
}

struct rs_error *rs_qemu_start_with(struct rs_qemu *qemu, char *const argv[],
				    const struct rs_qemu_more *more)
{
	char texts[2][64], *all[ARGS_MAX];
	struct channels channels;
	pid_t parent = getpid();
	struct rs_error *err;

	*qemu = (struct rs_qemu){ .said_fd = -1, .gdb_fd = -1 };
	err = channels_make(&channels);
	if (!err)
		err = arguments(argv, more, texts, channels.theirs, all);
	if (!err)
		qemu->pid = fork();
	if (!err && !qemu->pid)
		become(all, channels.theirs, parent, more);
	if (!err && qemu->pid < 0)
		err = rs_error_errno(errno, "starting %s", argv[0]);
	close_all(channels.theirs);
	if (err) {
		qemu->pid = 0;
		close_all(channels.ours);
		return err;
	}
	qemu->gdb_fd = channels.ours[1];
	qemu->said_fd = channels.ours[2];
	return wait_for_qmp(qemu, channels.ours[0]);
}

struct rs_error *rs_qemu_monitor(struct rs_qemu *qemu, const char *command)
{
	json_t *result = NULL;
	const char *said;
	struct rs_error *err = rs_qmp_execute(qemu->qmp, "human-monitor-command",
					      json_pack("{s:s}", "command-line", command), &result);

	said = json_string_value(result);
	if (!err && said && said[0])
		err = rs_error_create(RS_FAILED, "%s: %.*s", command, (int)strcspn(said, "\r\n"),
				      said);
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
	const char *said = last_said(qemu), *colon = said[0] ? ": " : "";

	if (WIFSIGNALED(qemu->status))
		return rs_error_create(RS_FAILED, "QEMU was ended by signal %d%s%s",
				       WTERMSIG(qemu->status), colon, said);
	if (WEXITSTATUS(qemu->status))
		return rs_error_create(RS_FAILED, "QEMU ended with status %d%s%s",
				       WEXITSTATUS(qemu->status), colon, said);
	return NULL;
}

/*
 * A QEMU that shuts down may sleep for ever, where a command of QMP's came meanwhile: its main loop
 * waits for who answers that, and he for the main loop (QEMU 7.2's monitor_cleanup()). A signal
 * wakes it, and asks for no more than what it is doing.
 */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu)
{
	rs_gdb_close(qemu->gdb); /* a machine that it holds would not go */
	qemu->gdb = NULL;
	for (int i = 1; i <= QUIT_LOOKS && rs_qemu_runs(qemu); i++) {
		pause_ns(LOOK_NS);
		if (i % END_LOOKS == 0)
			kill(qemu->pid, SIGTERM);
	}
	if (rs_qemu_runs(qemu))
		return rs_error_create(RS_FAILED, "QEMU does not quit; it was killed");
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
	if (qemu->said_fd > 0)
		close(qemu->said_fd);
	*qemu = (struct rs_qemu){ .said_fd = -1, .gdb_fd = -1 };
}
