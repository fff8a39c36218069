/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC UINT64_C(1000000000)

volatile bool rs_cli_stop;

static int exit_code(enum rs_code code)
{
	switch (code) {
	case RS_USAGE:
		return RS_EXIT_USAGE;
	case RS_DAMAGED:
		return RS_EXIT_PARTIAL;
	case RS_FAILED:
	case RS_ABSENT:
	case RS_NO_MEMORY:
		break;
	}
	return RS_EXIT_FAILED;
}

int rs_cli_fail(const char *verb, struct rs_error *err)
{
	int code;

	if (!err)
		return RS_EXIT_OK;
	fflush(stdout);
	fprintf(stderr, "ringside %s: %s\n", verb, rs_error_text(err));
	code = exit_code(rs_error_code(err));
	rs_error_free(err);
	return code;
}

bool rs_cli_print_json(json_t *json)
{
	bool good = json && !json_dumpf(json, stdout, JSON_COMPACT);

	json_decref(json);
	return good && putchar('\n') != EOF && !fflush(stdout);
}

/* argp frees what is not `text`. */
char *rs_cli_list_rows(int key, const char *text, const char *heading,
		       bool (*row)(size_t i, struct rs_cli_row *row))
{
	struct rs_cli_row at = { 0 };
	char *listed = NULL;
	size_t bytes;
	FILE *file;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	file = open_memstream(&listed, &bytes);
	if (!file)
		return (char *)text;
	fprintf(file, "%s:\n", heading);
	for (size_t i = 0; row(i, &at); i++) {
		fprintf(file, "  %-10s %s", at.name, at.help);
		if (at.alias)
			fprintf(file, " (also: %s)", at.alias);
		fputc('\n', file);
	}
	fprintf(file, "\n%s", text);
	return fclose(file) ? (char *)text : listed;
}

int rs_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	static char name[64];

	snprintf(name, sizeof(name), "ringside %s", argv[0]);
	argv[0] = name;
	argp_err_exit_status = RS_EXIT_USAGE;
	return argp_parse(argp, argc, argv, 0, NULL, input) ? RS_EXIT_USAGE : RS_EXIT_OK;
}

char *rs_cli_command(int argc, char **argv)
{
	size_t bytes = sizeof("ringside");
	char *command, *at;

	for (int i = 0; i < argc; i++)
		bytes += strlen(argv[i]) + 1;
	command = malloc(bytes);
	if (!command)
		return NULL;
	at = stpcpy(command, "ringside");
	for (int i = 0; i < argc; i++) {
		*at++ = ' ';
		at = stpcpy(at, argv[i]);
	}
	return command;
}

uint64_t rs_cli_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void on_stop(int signal_number)
{
	rs_cli_stop = true;
	signal(signal_number, SIG_DFL);
}

void rs_cli_catch_stop(void)
{
	struct sigaction action = { .sa_handler = on_stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static bool is_there(int id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", id);
	return !access(path, F_OK);
}

struct rs_error *rs_cli_check_ids(int pid, const int *tids, size_t n_tids)
{
	if (pid && !is_there(pid))
		return rs_error_create(RS_FAILED,
				       "there is no process %d: 'ringside top' lists the VMs", pid);
	for (size_t i = 0; i < n_tids; i++) {
		if (!is_there(tids[i]))
			return rs_error_create(
				RS_FAILED, "there is no thread %d: 'ringside top' lists the vCPUs",
				tids[i]);
	}
	return NULL;
}
