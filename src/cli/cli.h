/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line: the only layer that prints, exits or reads argv. Each verb is a file
 * cmd_<verb>.c with one function and a row in main.c.
 */
#ifndef RS_CLI_CLI_H
#define RS_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <ringside/error.h>

#include "confine/calls.h"

enum rs_exit {
	RS_EXIT_OK = 0,
	RS_EXIT_FAILED = 1,
	RS_EXIT_USAGE = 2,
	RS_EXIT_PARTIAL = 3,	 /* a result, but losses or damage, stated */
	RS_EXIT_PIPE = 128 + 13, /* nobody reads standard output any more: SIGPIPE */
};

/* argv[0] is the verb. Each returns an enum rs_exit. */
int cmd_complete(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_exits(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_print(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_top(int argc, char **argv);

/* A verb's name, in the order of help; NULL behind the last. */
const char *rs_cli_verb(size_t at);
/* What it does, as help has it. */
const char *rs_cli_verb_help(size_t at);
/* Its function; NULL: there is no such verb. */
int (*rs_cli_verb_find(const char *name))(int argc, char **argv);

/* Writes a text from a guest, a ring or a file. A terminal gets its control characters as \xHH. */
void rs_cli_put(FILE *to, const char *text, size_t len);

/* Writes "ringside VERB: text" and a newline to standard error, as rs_cli_put() does. */
void rs_cli_say(const char *verb, const char *text);

/* Prints "ringside VERB: message" and frees the error; the exit code that goes with it, or
 * RS_EXIT_OK for NULL. */
int rs_cli_fail(const char *verb, struct rs_error *err);

/* Prints a line of JSON, an object whose members `put` writes. */
struct rs_json;
struct rs_error *rs_cli_json_print(void (*put)(struct rs_json *json, const void *about),
				   const void *about);

/* What is missing from a report: how many of what, and why. */
struct rs_cli_loss {
	uint64_t n;
	const char *noun, *what;
};

/* Says on standard error what a report lacks. Returns whether it lacks anything. */
bool rs_cli_report_losses(const char *verb, const struct rs_cli_loss *losses, size_t n);

/* The command as it was typed, for a trace; the caller's to free. NULL: no memory. */
char *rs_cli_command(int argc, char **argv);

/* Gives up what a verb does not need from here on, before it reads what others made. */
struct rs_error *rs_cli_confine(enum rs_confine_work work);

/* argp_parse() with our exit code for a usage error. argv[0] becomes "ringside VERB". */
int rs_cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same of a verb that writes files: with --mode and --group, which say who may read them. */
int rs_cli_parse_writer(const struct argp *argp, int argc, char **argv, void *input);
/* The same of a verb that makes a trace or a recording: with --force, too, which replaces one. */
int rs_cli_parse_maker(const struct argp *argp, int argc, char **argv, void *input);

/* A row of a verb's table: what its argument can be. */
struct rs_cli_row {
	const char *name, *alias, *help; /* alias: NULL for none */
};

/* Gives the i-th row; false: there are no more. */
typedef bool rs_cli_row_fn(size_t i, struct rs_cli_row *row);

/* For an argp's help filter: the rows there are, below a heading, before the text behind the
 * options. */
char *rs_cli_list_rows(int key, const char *text, const char *heading, rs_cli_row_fn *row);

/* The rows that a verb's --help lists so; NULL: none. */
rs_cli_row_fn *rs_cli_rows_of(const struct argp *argp);

/* That there are a process (0: none was given) and threads of these numbers. */
struct rs_error *rs_cli_check_ids(int pid, const int *tids, size_t n_tids);

/*
 * Takes over SIGPIPE. A closed pipe or socket is an error of write(), with a message. When it is
 * standard output whose reader has gone, as in `ringside print TRACE | head`, nobody is left to
 * write for: rs_cli_stop is set, and the verb ends what it does as after Ctrl-C.
 */
void rs_cli_catch_pipe(void);

/* Whether standard output's reader has gone: what is remarked behind the output is left out. */
bool rs_cli_pipe_closed(void);

/* The exit status of a verb that ended with `status`: that of SIGPIPE, as a shell shows it, where
 * standard output's reader had gone. */
int rs_cli_pipe_status(int status);

/* Set by SIGINT and SIGTERM after rs_cli_catch_stop(); a signal a second later ends at once. */
extern volatile bool rs_cli_stop;
void rs_cli_catch_stop(void);

#endif
