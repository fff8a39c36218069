/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX    256
#define LOOK_NS	    5000000 /* between two looks whether it is there, or gone */
#define START_LOOKS 6000    /* 30 s, for a machine that is busy */
#define QUIT_LOOKS  6000

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

/* In the child: what is not wanted of the parent goes; the program begins. */
static void become(char *const argv[], int said, pid_t parent)
{
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || nothing < 0)
		_exit(127);
	setpgid(0, 0); /* Ctrl-C is ours: we ask it to quit */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(said, 2);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static struct rs_error *spawn(struct rs_qemu *qemu, char *const argv[])
{
	pid_t parent = getpid();
	int said[2];

	if (pipe2(said, O_CLOEXEC))
		return rs_error_errno(errno, "a pipe");
	fcntl(said[0], F_SETFL, O_NONBLOCK);
	qemu->said_fd = said[0];
	qemu->pid = fork();
	if (!qemu->pid)
		become(argv, said[1], parent);
	close(said[1]);
	if (qemu->pid < 0) {
		qemu->pid = 0;
		return rs_error_errno(errno, "starting %s", argv[0]);
	}
	return NULL;
}

static void socket_path(const struct rs_qemu *qemu, const char *name, char path[96])
{
	snprintf(path, 96, "%s/%s", qemu->folder, name);
}

static struct rs_error *wait_for_qmp(struct rs_qemu *qemu)
{
	struct rs_error *err = NULL;
	char path[96];

	socket_path(qemu, "qmp", path);
	for (int i = 0; i < START_LOOKS; i++) {
		rs_error_free(err); /* it is bound, and does not listen yet */
		err = rs_qmp_connect(path, &qemu->qmp);
		if (!err)
			return NULL;
		if (!rs_qemu_runs(qemu)) {
			rs_error_free(err);
			return rs_error_create(RS_FAILED, "QEMU does not start: %s",
					       last_said(qemu));
		}
		pause_ns(LOOK_NS);
	}
	return rs_error_wrap(err, "QEMU does not answer");
}

struct rs_error *rs_qemu_start(struct rs_qemu *qemu, char *const argv[])
{
	char qmp[128], gdb[128], *all[ARGS_MAX];
	struct rs_error *err;
	size_t n = 0;

	*qemu = (struct rs_qemu){ .said_fd = -1 };
	snprintf(qemu->folder, sizeof(qemu->folder), P_tmpdir "/ringside-qemu.XXXXXX");
	if (!mkdtemp(qemu->folder)) {
		qemu->folder[0] = '\0';
		return rs_error_errno(errno, "a folder in " P_tmpdir);
	}
	while (argv[n] && n < ARGS_MAX - 5) {
		all[n] = argv[n];
		n++;
	}
	if (argv[n])
		return rs_error_create(RS_USAGE, "more than %u arguments for QEMU", ARGS_MAX - 5);
	snprintf(qmp, sizeof(qmp), "unix:%s/qmp,server=on,wait=off", qemu->folder);
	snprintf(gdb, sizeof(gdb), "unix:%s/gdb,server=on,wait=off", qemu->folder);
	all[n++] = "-qmp";
	all[n++] = qmp;
	all[n++] = "-gdb";
	all[n++] = gdb;
	all[n] = NULL;
	err = spawn(qemu, all);
	return err ? err : wait_for_qmp(qemu);
}

struct rs_error *rs_qemu_gdb(struct rs_qemu *qemu)
{
	char path[96];

	socket_path(qemu, "gdb", path);
	return rs_gdb_connect(path, &qemu->gdb);
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

struct rs_error *rs_qemu_quit(struct rs_qemu *qemu)
{
	rs_gdb_close(qemu->gdb); /* a machine that it holds would not go */
	qemu->gdb = NULL;
	if (rs_qemu_runs(qemu) && qemu->qmp)
		rs_error_free(rs_qmp_execute(qemu->qmp, "quit", NULL, NULL));
	for (int i = 0; i < QUIT_LOOKS && rs_qemu_runs(qemu); i++)
		pause_ns(LOOK_NS);
	if (rs_qemu_runs(qemu))
		return rs_error_create(RS_FAILED, "QEMU does not quit; it was killed");
	return ending(qemu);
}

void rs_qemu_end(struct rs_qemu *qemu)
{
	char path[96];

	rs_gdb_close(qemu->gdb);
	rs_qmp_close(qemu->qmp);
	if (qemu->pid > 0) {
		kill(qemu->pid, SIGKILL);
		waitpid(qemu->pid, &qemu->status, 0);
	}
	if (qemu->folder[0]) {
		socket_path(qemu, "qmp", path);
		unlink(path);
		socket_path(qemu, "gdb", path);
		unlink(path);
		rmdir(qemu->folder);
		close(qemu->said_fd);
	}
	*qemu = (struct rs_qemu){ .said_fd = -1 };
}
