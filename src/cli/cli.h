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
#include <sys/types.h>
#include <ringside/error.h>

#include "confine/calls.h"

enum rs_exit {
	RS_EXIT_OK = 0,
	RS_EXIT_FAILED = 1,
	RS_EXIT_USAGE = 2,
	RS_EXIT_PARTIAL = 3,	 /* a result with losses or damage, which a message reports */
	RS_EXIT_PIPE = 128 + 13, /* the reader of standard output is gone: SIGPIPE */
};

/* argv[0] is the verb. Each returns an enum rs_exit. */
int cmd_complete(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_exits(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_print(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_top(int argc, char **argv);

/* Returns a verb's name, in the order of help, or NULL past the last. */
const char *rs_cli_verb(size_t at);
/* Returns the verb's description for help. */
const char *rs_cli_verb_help(size_t at);
/* Returns the verb's function, or NULL if there is no such verb. */
int (*rs_cli_verb_find(const char *name))(int argc, char **argv);

/* Writes a text from a guest, a ring or a file. On a terminal, control characters are written as
 * \xHH. */
void rs_cli_put(FILE *to, const char *text, size_t len);

/* Writes "ringside VERB: text" and a newline to standard error, as rs_cli_put() does. */
void rs_cli_message(const char *verb, const char *text);

/* rs_cli_message() as the callback of a library. verb: a const char *. */
void rs_cli_remark(void *verb, const char *text);

/* Prints "ringside VERB: message" and frees the error. Returns the error's exit code, or RS_EXIT_OK
 * for NULL. */
int rs_cli_fail(const char *verb, struct rs_error *err);

/* Prints a line of JSON, an object whose members `put` writes. */
struct rs_json;
struct rs_error *rs_cli_json_print(void (*put)(struct rs_json *json, const void *about),
				   const void *about);

/* The number of things missing from a report, and why. */
struct rs_cli_loss {
	uint64_t n;
	const char *noun, *what;
};

/* Prints to standard error what a report lacks. Returns whether it lacks anything. */
bool rs_cli_report_losses(const char *verb, const struct rs_cli_loss *losses, size_t n);

/* Returns the command line as it was typed, or NULL if out of memory; the caller frees it. */
char *rs_cli_command(int argc, char **argv);

/* Drops the privileges that a verb no longer needs, before it reads other users' files. */
struct rs_error *rs_cli_confine(enum rs_confine_work work);

/* Returns the user who started this process, also after a reader has become an unprivileged one. */
uid_t rs_cli_user(void);

/* Calls argp_parse(), with this command's exit code for a usage error. argv[0] becomes "ringside
 * VERB". */
int rs_cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* As rs_cli_parse(), for a verb that writes files: adds --mode and --group. */
int rs_cli_parse_writer(const struct argp *argp, int argc, char **argv, void *input);
/* As rs_cli_parse_writer(), for a verb that creates a trace or a recording: adds --force. */
int rs_cli_parse_maker(const struct argp *argp, int argc, char **argv, void *input);

/* A row of a verb's table: a value that its argument accepts. */
struct rs_cli_row {
	const char *name, *alias, *help; /* alias: NULL for none */
};

/* Sets the i-th row. Returns false past the last. */
typedef bool rs_cli_row_fn(size_t i, struct rs_cli_row *row);

/* Lists the rows below a heading, before the text that follows the options; for an argp's help
 * filter. */
char *rs_cli_list_rows(int key, const char *text, const char *heading, rs_cli_row_fn *row);

/* Returns the rows that a verb's --help lists, or NULL if there are none. */
rs_cli_row_fn *rs_cli_rows_of(const struct argp *argp);

/* Returns an error if there is no process (0: none was given) or no thread with this number. */
struct rs_error *rs_cli_check_ids(int pid, const int *tids, size_t n_tids);

/*
 * Handles SIGPIPE. A closed pipe or socket makes write() fail, which is reported. If the reader of
 * standard output is gone, as in `ringside print TRACE | head`, the handler sets rs_cli_stop, and
 * the verb ends as after Ctrl-C.
 */
void rs_cli_catch_pipe(void);

/* Returns whether the reader of standard output is gone. The verb then prints no remarks. */
bool rs_cli_pipe_closed(void);

/* Returns the exit status of a verb that ended with `status`: RS_EXIT_PIPE if the reader of
 * standard output is gone. If stdio could not write all of the verb's output, reports it, and
 * returns RS_EXIT_FAILED for RS_EXIT_OK and RS_EXIT_PARTIAL. */
int rs_cli_pipe_status(int status);

/* Set by SIGINT and SIGTERM after rs_cli_catch_stop(); a signal more than a second later ends the
 * process immediately. */
extern volatile bool rs_cli_stop;
void rs_cli_catch_stop(void);

#endif
