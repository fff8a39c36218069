/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside script: a program in D over a trace, or by itself. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/script_live.h"
#include "lang/lang.h"

#define NS_PER_SEC	INT64_C(1000000000)
#define WAIT_NS_MAX	(NS_PER_SEC / 10) /* between two looks at Ctrl-C */
#define WORDS_MAX	64
#define PROGRAM_MAX	(2u << 20) /* bytes that are read of a program; the compiler takes less */
#define NAME_OF_PROGRAM "-n"

/* Options that may be given again. */
struct words {
	const char *at[WORDS_MAX];
	uint32_t n;
};

struct arguments {
	const char *program, *file, *output;
	struct rs_cli_input input;
	struct rs_script_live live;
	char *command;
	struct words args, options, cpp, on;
	bool list, compile, disassemble, preprocess;
};

enum { KEY_ON = 256, KEY_JSON };

static const struct argp_option options[] = {
	{ "program", 'n', "PROGRAM", 0, "The program itself", 1 },
	{ "script", 's', "FILE", 0, "The program is in this file; - is standard input", 1 },
	{ "on", KEY_ON, "TRACE", 0,
	  "Run it on this trace, or another tool's file; may be given again: they are merged by "
	  "time",
	  1 },
	{ "output", 'o', "FILE", 0, "Append to this file instead of standard output", 2 },
	{ "quiet", 'q', NULL, 0, "Only what the program itself prints, as -x quiet", 2 },
	{ "json", KEY_JSON, NULL, 0, "JSON Lines: what each clause says, and the aggregations", 2 },
	{ "option", 'x', "NAME[=VALUE]", 0, "Set an option of D; may be given again", 2 },
	{ "cpp", 'C', NULL, 0, "Run the program through the C preprocessor, cpp, first", 4 },
	{ "define", 'D', "NAME[=VALUE]", 0, "Define a macro for -C", 4 },
	{ "include", 'I', "DIR", 0, "Look for files that are included here, with -C", 4 },
	{ "list", 'l', NULL, 0, "List the probes that it matches, with their arguments", 5 },
	{ "compile", 'e', NULL, 0, "Compile it, and no more", 5 },
	{ "disassemble", 'S', NULL, 0, "Show the code it is compiled to", 5 },
	{ 0 },
};

static const char doc[] =
	"Run a program in D over a trace, or live.\v"
	"ARG are the program's $1, $2, ... Without --on, a first ARG that is a directory is the "
	"trace. A program of BEGIN, END and ticks alone needs none. ringside-d(7) is the "
	"language.\n\n"
	"Examples:\n"
	"  ringside script -n 'vmm:vcpu::exit { @[stringof(args.reason)] = count(); }' trace\n"
	"  ringside script -q -s slow.d --on trace 1000000\n"
	"  ringside script --kvm --duration 10 -n 'kvm:::exit { @[probename] = count(); }'\n"
	"  ringside script -l -n 'kvm:::exit'\n";

static void add(struct argp_state *state, struct words *words, const char *word)
{
	if (words->n == WORDS_MAX)
		argp_error(state, "'%s': more than %d of these", word, WORDS_MAX);
	words->at[words->n++] = word;
}

/* -Dname and -Iname as cpp takes them: two words. */
static void add_cpp(struct argp_state *state, struct words *words, const char *flag,
		    const char *word)
{
	add(state, words, flag);
	add(state, words, word);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->live;
		break;
	case 'n':
		a->program = text;
		break;
	case 's':
		a->file = text;
		break;
	case KEY_ON:
		if (a->on.n == RS_CLI_INPUTS_MAX)
			argp_error(state, "more than %u of --on", RS_CLI_INPUTS_MAX);
		add(state, &a->on, text);
		break;
	case 'o':
		a->output = text;
		break;
	case 'q':
		add(state, &a->options, "quiet");
		break;
	case KEY_JSON:
		add(state, &a->options, "json");
		break;
	case 'x':
		add(state, &a->options, text);
		break;
	case 'C':
		a->preprocess = true;
		break;
	case 'D':
		add_cpp(state, &a->cpp, "-D", text);
		break;
	case 'I':
		add_cpp(state, &a->cpp, "-I", text);
		break;
	case 'l':
		a->list = true;
		break;
	case 'e':
		a->compile = true;
		break;
	case 'S':
		a->disassemble = true;
		break;
	case ARGP_KEY_ARG:
		add(state, &a->args, text);
		break;
	case ARGP_KEY_END:
		if (!a->program == !a->file)
			argp_error(state, "one program, please: -n 'PROGRAM' or -s FILE");
		if (a->cpp.n && !a->preprocess)
			argp_error(state, "-D and -I go with -C");
		if (a->on.n && rs_script_live_wanted(&a->live))
			argp_error(state, "on a trace or live: not both");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
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

static struct rs_error *read_program(const struct arguments *a, char **text, size_t *len)
{
	struct rs_error *err;
	int fd;

	if (a->program) {
		*text = strdup(a->program);
		*len = strlen(a->program);
		return *text ? NULL : rs_error_no_memory();
	}
	if (!strcmp(a->file, "-"))
		return read_all(STDIN_FILENO, "standard input", text, len);
	fd = open(a->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rs_error_errno(errno, "%s", a->file);
	err = read_all(fd, a->file, text, len);
	close(fd);
	return err;
}

/* cpp with its input and output in memory; its complaints go to our standard error. */
static struct rs_error *run_cpp(const struct arguments *a, int in, int out)
{
	char *argv[WORDS_MAX + 8] = { (char[]){ "cpp" }, (char[]){ "-undef" },
				      (char[]){ "-D__ringside__" } };
	const char *slash = a->file ? strrchr(a->file, '/') : NULL;
	posix_spawn_file_actions_t actions;
	char folder[PATH_MAX], iquote[] = "-iquote";
	size_t n = 3;
	int status, error;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - a->file) + 1 : 0,
		 slash ? a->file : "");
	for (uint32_t i = 0; i < a->cpp.n; i++)
		argv[n++] = (char *)a->cpp.at[i];
	if (slash) { /* what the program includes is beside it */
		argv[n++] = iquote;
		argv[n++] = folder;
	}
	argv[n] = (char[]){ "-" };
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	error = posix_spawnp(&pid, "cpp", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == ENOENT)
		return rs_error_create(RS_ABSENT, "-C needs the C preprocessor: install cpp");
	if (error)
		return rs_error_errno(error, "cpp");
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return rs_error_errno(errno, "cpp");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return rs_error_create(RS_USAGE, "the C preprocessor refuses the program");
	return NULL;
}

static struct rs_error *preprocess(const struct arguments *a, char **text, size_t *len)
{
	int in = memfd_create("program", MFD_CLOEXEC), out = memfd_create("program", MFD_CLOEXEC);
	struct rs_error *err = NULL;
	const char *name = a->file ? a->file : NAME_OF_PROGRAM;
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

/* ---- what it runs on ---------------------------------------------------------------------- */

/* The schemas that the program is compiled against. */
struct schemas {
	const struct rs_schema **at;
	struct rs_schema **own; /* of the catalogue */
	uint32_t n, n_own;	/* n: of what the input can give */
};

/* The streams that it runs on, as far as they are known; NULL past the last. */
static const struct rs_stream *stream_at(const struct arguments *a,
					 const struct rs_cli_inputs *inputs, uint32_t index)
{
	if (!inputs->source)
		return rs_script_live_stream(&a->live, index);
	for (uint32_t i = 0; i < inputs->n; i++) {
		const struct rs_stream *stream;

		for (uint32_t j = 0; (stream = rs_input_stream(&inputs->at[i], j)); j++) {
			if (!index--)
				return stream;
		}
	}
	return NULL;
}

/* Whether all that will come is known: not of other tools' files. */
static bool knows_all(const struct arguments *a, const struct rs_cli_inputs *inputs)
{
	for (uint32_t i = 0; i < inputs->n; i++) {
		if (!inputs->at[i].trace)
			return false;
	}
	return inputs->n || rs_script_live_wanted(&a->live);
}

static void schemas_of_input(const struct arguments *a, const struct rs_cli_inputs *inputs,
			     struct schemas *schemas)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = stream_at(a, inputs, i)); i++) {
		uint32_t have = 0;

		while (have < schemas->n && schemas->at[have] != stream->schema)
			have++;
		if (have == schemas->n)
			schemas->at[schemas->n++] = stream->schema;
	}
}

static struct rs_error *schemas_of_catalogue(struct schemas *schemas, bool given)
{
	const char *provider;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; (provider = rs_catalogue_provider(i)) && !err; i++) {
		err = rs_schema_create(provider, &schemas->own[i]);
		if (err)
			break;
		schemas->n_own++;
		err = rs_schema_add_catalogue(schemas->own[i], provider);
		if (given)
			schemas->at[schemas->n++] = schemas->own[i];
	}
	return err;
}

/* A trace directory says all its events before the first, and so do live sources; another tool's
 * file may come with any of the catalogue's, and without an input that is all there is. */
static struct rs_error *schemas_find(const struct arguments *a, const struct rs_cli_inputs *inputs,
				     struct schemas *schemas)
{
	uint32_t n = 0, n_streams = 0;

	while (rs_catalogue_provider(n))
		n++;
	while (stream_at(a, inputs, n_streams))
		n_streams++;
	schemas->at = calloc(n + n_streams + 1, sizeof(*schemas->at));
	schemas->own = calloc(n + 1, sizeof(*schemas->own));
	if (!schemas->at || !schemas->own)
		return rs_error_no_memory();
	schemas_of_input(a, inputs, schemas);
	return schemas_of_catalogue(schemas, !knows_all(a, inputs));
}

static void schemas_free(struct schemas *schemas)
{
	for (uint32_t i = 0; i < schemas->n_own; i++)
		rs_schema_destroy(schemas->own[i]);
	free(schemas->own);
	free(schemas->at);
}

/* ---- running ------------------------------------------------------------------------------ */

static void told(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "ringside script: %s\n", text);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* Ticks in the machine's own time, until exit() or Ctrl-C. */
static struct rs_error *run_alone(struct rs_script *script, struct rs_sink *sink)
{
	int64_t start = now_ns(CLOCK_MONOTONIC), next;

	while (!rs_cli_stop && (next = rs_script_next_tick(script)) != INT64_MAX) {
		int64_t wait = next - (now_ns(CLOCK_MONOTONIC) - start);
		struct timespec pause = { 0 };

		if (wait > 0) {
			wait = wait < WAIT_NS_MAX ? wait : WAIT_NS_MAX;
			pause.tv_nsec = wait;
			nanosleep(&pause, NULL);
			continue;
		}
		rs_script_advance(script, next);
	}
	return sink->ops->end(sink);
}

static struct rs_error *run(struct arguments *a, struct rs_script *script,
			    const struct rs_cli_inputs *inputs, struct rs_out *out)
{
	struct rs_clock alone = { .wall_ns = now_ns(CLOCK_REALTIME) };
	bool live = rs_script_live_wanted(&a->live);
	struct rs_script_io io = { .out = out,
				   .tell = told,
				   .clock = inputs->source ? inputs->clock
					    : live	   ? &a->live.clock
							   : &alone,
				   .stop = &rs_cli_stop };
	struct rs_query query;
	struct rs_sink *sink;
	struct rs_error *err = rs_script_start(script, &io, &sink);

	if (err)
		return err;
	if (live)
		return rs_script_live_run(&a->live, script, sink, out);
	if (!inputs->source)
		return run_alone(script, sink);
	rs_query_init(&query);
	rs_script_narrow(script, &query);
	if (inputs->closed)
		rs_script_set_end(script, inputs->end_ns);
	return rs_run(inputs->source, &query, sink, &rs_cli_stop);
}

/* ---- other things to do with a program ---------------------------------------------------- */

static void list(const struct rs_script *script)
{
	struct rs_script_probe probe;

	printf("%5s %10s %17s %33s %s\n", "ID", "PROVIDER", "MODULE", "FUNCTION", "NAME");
	for (uint32_t i = 0; rs_script_probe_at(script, i, &probe); i++) {
		printf("%5u %10s %17s %33s %s", probe.id, probe.provider, probe.module,
		       probe.function, probe.name);
		for (uint16_t j = 0; probe.event && j < probe.event->n_fields; j++) {
			const struct rs_field *field = &probe.event->fields[j];

			printf("%s%s %s", j ? ", " : "(", rs_field_type_text(field), field->name);
		}
		printf("%s\n", probe.event && probe.event->n_fields ? ")" : "");
	}
}

static void notice(const struct arguments *a, const struct rs_script *script)
{
	uint32_t n = rs_script_matched(script);

	if (rs_script_is_quiet(script))
		return;
	if (a->file)
		fprintf(stderr, "ringside script: script '%s' matched %u probe%s\n", a->file, n,
			n == 1 ? "" : "s");
	else
		fprintf(stderr, "ringside script: description '%.*s' matched %u probe%s\n",
			(int)strcspn(a->program + strspn(a->program, " \t\n"), " \t\n,/{;"),
			a->program + strspn(a->program, " \t\n"), n, n == 1 ? "" : "s");
}

/* How a run that succeeded ends: by exit(), or because something is missing. */
static int status_of(const struct rs_script *script, bool missing)
{
	if (rs_script_lost(script))
		fprintf(stderr,
			"ringside script: %llu records were lost before they reached the program\n",
			(unsigned long long)rs_script_lost(script));
	if (rs_script_status(script))
		return rs_script_status(script);
	missing |= rs_script_lost(script) || rs_script_dropped(script);
	return missing ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}

static struct rs_error *perform(struct arguments *a, struct rs_script *script,
				const struct rs_cli_inputs *inputs, int *status)
{
	struct rs_error *err = NULL;
	struct rs_out out;
	int fd = STDOUT_FILENO;

	if (a->list) {
		list(script);
		return NULL;
	}
	if (a->compile && !a->disassemble)
		return NULL;
	if (!inputs->source && !rs_script_live_wanted(&a->live) && !a->disassemble &&
	    rs_script_has_events(script))
		return rs_error_create(RS_USAGE,
				       "the program asks for events: on which trace? (--on TRACE)");
	if (!a->disassemble) /* what can't be is said before anything else is */
		err = rs_script_live_prepare(&a->live, a->command);
	if (err)
		return err;
	if (a->output)
		fd = open(a->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return rs_error_errno(errno, "%s", a->output);
	err = rs_out_init(&out, fd);
	if (err)
		return err;
	if (a->disassemble) {
		rs_script_disassemble(script, &out);
		err = rs_out_flush(&out);
	} else {
		notice(a, script);
		err = run(a, script, inputs, &out);
		*status = status_of(script, rs_script_live_report(&a->live));
	}
	rs_out_deinit(&out);
	if (a->output)
		close(fd);
	return err;
}

static struct rs_error *compile_and_run(struct arguments *a, const struct rs_cli_inputs *inputs,
					const char *text, size_t len, int *status)
{
	struct schemas schemas = { 0 };
	struct rs_script *script = NULL;
	struct rs_error *err = schemas_find(a, inputs, &schemas);

	if (!err) {
		const struct rs_script_config config = {
			.name = a->file ? a->file : NAME_OF_PROGRAM,
			.text = text,
			.len = len,
			.schemas = schemas.at,
			.n_schemas = schemas.n,
			.known = (const struct rs_schema *const *)schemas.own,
			.n_known = schemas.n_own,
			.args = a->args.at,
			.n_args = a->args.n,
			.options = a->options.at,
			.n_options = a->options.n
		};

		err = rs_script_compile(&config, &script);
	}
	if (!err)
		err = perform(a, script, inputs, status);
	rs_script_destroy(script);
	schemas_free(&schemas);
	return err;
}

/* Without --on, a first argument that is a directory is the trace; behind --sbuf, those that are
 * rings are more of them. */
static void find_trace(struct arguments *a)
{
	struct stat stat_of;
	uint32_t n = 0;

	if (rs_script_live_wanted(&a->live)) {
		n = rs_script_live_rings(&a->live, a->args.at, a->args.n);
	} else if (!a->on.n && a->args.n && !stat(a->args.at[0], &stat_of) &&
		   S_ISDIR(stat_of.st_mode)) {
		a->on.at[a->on.n++] = a->args.at[0];
		n = 1;
	}
	a->args.n -= n;
	memmove(a->args.at, a->args.at + n, a->args.n * sizeof(a->args.at[0]));
}

static void remarks(const struct arguments *a, const struct rs_cli_inputs *inputs)
{
	for (uint32_t i = 0; i < inputs->n; i++)
		rs_cli_input_remarks("script", &(struct rs_cli_input){ .path = a->on.at[i] },
				     &inputs->at[i]);
}

int cmd_script(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_script_live_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "[TRACE] [ARG...]", doc, children,
					  NULL,	   NULL };
	struct arguments a = { 0 };
	struct rs_cli_inputs inputs = { 0 };
	struct rs_error *err;
	char *text = NULL;
	size_t len = 0;
	int status = RS_EXIT_OK, failed;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	a.command = rs_cli_command(argc, argv);
	find_trace(&a);
	err = read_program(&a, &text, &len);
	if (!err && a.preprocess)
		err = preprocess(&a, &text, &len);
	if (!err && a.on.n)
		err = rs_cli_inputs_open(&a.input, a.on.at, a.on.n, &inputs);
	if (!err && rs_script_live_wanted(&a.live))
		err = rs_script_live_open(&a.live);
	if (!err)
		err = compile_and_run(&a, &inputs, text, len, &status);
	if (!a.list && !a.compile && !a.disassemble)
		remarks(&a, &inputs);
	rs_cli_inputs_close(&inputs);
	rs_script_live_close(&a.live);
	free(a.command);
	free(text);
	failed = rs_cli_fail("script", err);
	return failed ? failed : status;
}
