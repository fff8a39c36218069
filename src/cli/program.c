/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that give a D program. */
#include "base/count.h"
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/confine.h"
#include "confine/calls.h"
#include "base/given.h"
#include "cli/cli.h"
#include "cli/includes.h"
#include "cli/shared.h"

#define PROGRAM_MAX	(2u << 20) /* bytes of a program; the compiler's limit is lower */
#define NAME_OF_PROGRAM "-n"

/* The limits of cpp: memory, output, time on the CPU and until its end, descriptors. */
#define CPP_BYTES	 (UINT64_C(1) << 30)
#define CPP_OUTPUT_BYTES (UINT64_C(16) << 20)
#define CPP_CPU_SECONDS	 10
#define CPP_SECONDS	 60
#define CPP_DESCRIPTORS	 512		     /* includes may be nested 200 levels deep */
enum { CPP_FAILED = 126, CPP_ABSENT = 127 }; /* the child's exit status if cpp is missing */

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_JSON = 768 };

static const struct argp_option options[] = {
	{ "program", 'n', "PROGRAM", 0, "Run this program text; may be repeated, to add text", 1 },
	{ "script", 's', "FILE", RS_CLI_TEXT(struct rs_cli_program, file),
	  "Run the program in this file; - is standard input", 1 },
	{ "option", 'x', "NAME[=VALUE]", 0, "Set an option of D; may be repeated", 2 },
	{ "cpp", 'C', NULL, RS_CLI_FLAG(struct rs_cli_program, preprocess),
	  "Run the program through the C preprocessor, cpp, first", 4 },
	{ "define", 'D', "NAME[=VALUE]", 0, "Define a macro for -C", 4 },
	{ "include", 'I', "DIR", 0, "Search for included files in this folder, with -C", 4 },
	{ 0 },
};

void rs_cli_word_add(struct argp_state *state, struct rs_cli_words *words, const char *word)
{
	if (words->n == RS_CLI_WORDS_MAX)
		argp_error(state, "'%s': more than %d options of this kind", word,
			   RS_CLI_WORDS_MAX);
	words->at[words->n++] = word;
}

/* Adds -Dname or -Iname for cpp, as two words. */
static void add_cpp(struct argp_state *state, struct rs_cli_program *a, const char *flag,
		    const char *word)
{
	rs_cli_word_add(state, &a->cpp, flag);
	rs_cli_word_add(state, &a->cpp, word);
}

static void check(struct argp_state *state, const struct rs_cli_program *a)
{
	if ((a->programs.n && a->file) || (!a->optional && !rs_cli_program_given(a)))
		argp_error(state, "only one program is allowed: -n 'PROGRAM' or -s FILE");
	if (a->cpp.n && !a->preprocess)
		argp_error(state, "-D and -I require -C");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_program *a = state->input;

	switch (key) {
	case 'n':
		rs_cli_word_add(state, &a->programs, text);
		break;
	case 'x':
		rs_cli_word_add(state, &a->options, text);
		break;
	case 'D':
		add_cpp(state, a, "-D", text);
		break;
	case 'I':
		add_cpp(state, a, "-I", text);
		break;
	case ARGP_KEY_END:
		check(state, a);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

const struct argp rs_cli_program_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option output_options[] = {
	{ "quiet", 'q', NULL, 0, "Print only the program's output, as -x quiet does", 2 },
	{ "json", KEY_JSON, NULL, 0,
	  "Print JSON Lines: the output of each clause, and the aggregations", 2 },
	{ 0 },
};

static error_t parse_output(int key, char *text, struct argp_state *state)
{
	struct rs_cli_program *a = state->input;

	(void)text;
	if (key != 'q' && key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	rs_cli_word_add(state, &a->options, key == 'q' ? "quiet" : "json");
	return 0;
}

const struct argp rs_cli_program_output_argp = { output_options, parse_output, NULL, NULL,
						 NULL,		 NULL,	       NULL };

const char *rs_cli_program_name(const struct rs_cli_program *a)
{
	return a->file ? a->file : NAME_OF_PROGRAM;
}

/* ---- the program's text ------------------------------------------------------------------- */

static struct rs_error *read_all(int fd, const char *name, char **text, size_t *len)
{
	char *at = malloc(PROGRAM_MAX + 1);
	ssize_t n = 1;

	if (!at)
		return rs_error_no_memory();
	for (*len = 0; n && *len < PROGRAM_MAX; *len += (size_t)n) {
		n = read(fd, at + *len, PROGRAM_MAX - *len);
		if (n < 0) {
			struct rs_error *err = rs_error_errno(errno, "reading %s", name);

			free(at);
			return err;
		}
	}
	at[*len] = '\0';
	*text = at;
	return NULL;
}

/* Returns the separator of two programs. A clause without actions needs a semicolon, or it would
 * continue in the next program. */
static const char *separator(const char *program)
{
	size_t len = strlen(program);

	while (len && strchr(" \t\n", program[len - 1]))
		len--;
	return len && program[len - 1] != '}' && program[len - 1] != ';' ? ";\n" : "\n";
}

/* Joins the programs of -n, each on separate lines. */
static struct rs_error *join(const struct rs_cli_words *programs, char **text, size_t *len)
{
	size_t room = 1;

	for (uint32_t i = 0; i < programs->n; i++)
		room += strlen(programs->at[i]) + sizeof(";\n");
	*text = malloc(room);
	if (!*text)
		return rs_error_no_memory();
	*len = 0;
	for (uint32_t i = 0; i < programs->n; i++)
		*len += (size_t)snprintf(*text + *len, room - *len, "%s%s",
					 i ? separator(programs->at[i - 1]) : "", programs->at[i]);
	return NULL;
}

static struct rs_error *read_program(const struct rs_cli_program *a, char **text, size_t *len)
{
	struct rs_error *err;
	int fd;

	if (!a->file)
		return join(&a->programs, text, len);
	if (!strcmp(a->file, "-"))
		return read_all(STDIN_FILENO, "standard input", text, len);
	err = rs_given_open(a->file, RS_GIVEN_FILE_OR_PIPE, &fd);
	if (err)
		return err;
	err = read_all(fd, a->file, text, len);
	close(fd);
	return err;
}

/*
 * Runs in the child: executes cpp with its input and output in memory, and its errors on our
 * standard error. The limits bound an included device that has no end.
 */
static void exec_cpp(char *const argv[], int in, int out)
{
	const struct rs_confine limits = { .address_bytes = CPP_BYTES,
					   .file_bytes = CPP_OUTPUT_BYTES,
					   .descriptors = CPP_DESCRIPTORS };
	const char *failed = "dup2";

	setpgid(0, 0); /* cpp starts cc1; both are killed together */
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPP_CPU_SECONDS, CPP_CPU_SECONDS });
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		failed = rs_confine_enter(&limits);
	if (!failed)
		failed = rs_confine_calls(RS_CONFINE_TOOL);
	if (!failed) {
		execvp("cpp", argv);
		_exit(errno == ENOENT ? CPP_ABSENT : CPP_FAILED);
	}
	fprintf(stderr, "cpp: %s: %s\n", failed, strerror(errno));
	_exit(CPP_FAILED);
}

/* Waits for cpp to end, for a limited time, because opening an included FIFO may wait forever. */
static struct rs_error *end_cpp(pid_t pid)
{
	struct pollfd ends = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	struct rs_error *err = NULL;
	int status = 0, n;

	do {
		n = ends.fd < 0 ? 1 : poll(&ends, 1, CPP_SECONDS * 1000);
	} while (n < 0 && errno == EINTR && !rs_cli_stop);
	if (n <= 0)
		err = rs_error_create(
			RS_USAGE,
			"the C preprocessor did not end within %d s: does the program "
			"include a FIFO or a device?",
			CPP_SECONDS);
	if (n <= 0 && kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
	if (ends.fd >= 0)
		close(ends.fd);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return rs_error_first(err, rs_error_errno(errno, "cpp"));
	}
	if (err)
		return err;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CPP_ABSENT)
		return rs_error_create(RS_ABSENT, "-C needs the C preprocessor: install cpp");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return rs_error_create(RS_USAGE, "the C preprocessor refuses the program");
	return NULL;
}

static struct rs_error *run_cpp(const struct rs_cli_program *a, int in, int out)
{
	char *argv[RS_CLI_WORDS_MAX + 8] = { (char[]){ "cpp" }, (char[]){ "-undef" },
					     (char[]){ "-D__ringside__" } };
	const char *slash = a->file ? strrchr(a->file, '/') : NULL;
	char folder[PATH_MAX], iquote[] = "-iquote";
	size_t n = 3;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - a->file) + 1 : 0,
		 slash ? a->file : "");
	for (uint32_t i = 0; i < a->cpp.n; i++)
		argv[n++] = (char *)a->cpp.at[i];
	if (slash) { /* included files are beside the program */
		argv[n++] = iquote;
		argv[n++] = folder;
	}
	argv[n] = (char[]){ "-" };
	pid = fork();
	if (pid < 0)
		return rs_error_errno(errno, "cpp");
	if (!pid)
		exec_cpp(argv, in, out);
	return end_cpp(pid);
}

static struct rs_error *preprocess(const struct rs_cli_program *a, char **text, size_t *len)
{
	int in = memfd_create("program", MFD_CLOEXEC), out = memfd_create("program", MFD_CLOEXEC);
	struct rs_error *err = NULL;
	const char *name = rs_cli_program_name(a);
	char mark[4200];
	int n = snprintf(mark, sizeof(mark), "# 1 \"%s\"\n", name);

	if (in < 0 || out < 0 || (size_t)n >= sizeof(mark) || write(in, mark, (size_t)n) != n ||
	    write(in, *text, *len) != (ssize_t)*len || lseek(in, 0, SEEK_SET))
		err = rs_error_errno(errno, "a file in memory");
	if (!err)
		err = run_cpp(a, in, out);
	if (!err) {
		free(*text);
		*text = NULL;
		lseek(out, 0, SEEK_SET);
		err = read_all(out, "the preprocessor's output", text, len);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return err;
}

struct rs_error *rs_cli_program_read(const struct rs_cli_program *a, char **text, size_t *len)
{
	struct rs_error *err = read_program(a, text, len);

	if (err || !a->preprocess)
		return err;
	err = rs_cli_includes_check(rs_cli_program_name(a), *text, &a->cpp);
	return err ? err : preprocess(a, text, len);
}

static uint32_t lines_of(const char *text)
{
	uint32_t n = 1;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

void rs_cli_program_notice(const char *verb, const struct rs_cli_program *a,
			   const struct rs_script *script)
{
	uint32_t n = rs_script_matched(script, 1, UINT32_MAX), line = 1;

	if (rs_script_is_quiet(script))
		return;
	if (a->file)
		fprintf(stderr, "ringside %s: script '%s' matched %s\n", verb, a->file,
			RS_COUNT_OF(n, "probe"));
	for (uint32_t i = 0; i < a->programs.n; i++) {
		const char *program = a->programs.at[i];
		uint32_t next = line + lines_of(program);

		program += strspn(program, " \t\n");
		if (a->programs.n > 1)
			n = rs_script_matched(script, line, next - 1);
		fprintf(stderr, "ringside %s: description '%.*s' matched %s\n", verb,
			(int)strcspn(program, " \t\n,/{;"), program, RS_COUNT_OF(n, "probe"));
		line = next;
	}
}
