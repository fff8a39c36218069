/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that logs as its input says: writer PATH [BYTES [LAST]]. Executes each line of its
 * input and answers "ok": log N, level NAME TEXT, trace, stop. Exits at the end of input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/log.h>
#include <ringside/trace.h>

static int fail(struct rs_error *err)
{
	printf("error: %s\n", rs_error_text(err));
	rs_error_free(err);
	return 1;
}

static void log_at(const char *level, const char *text)
{
	if (!strcmp(level, "error"))
		RS_LOG(ERROR, "%s", text);
	else if (!strcmp(level, "debug"))
		RS_LOG(DEBUG, "%s", text);
	else
		RS_LOG(INFO, "%s", text);
}

static struct rs_error *serve(char *line, unsigned int *n)
{
	char *word = strtok(line, " \n"), *rest = strtok(NULL, " \n");

	if (!strcmp(word, "trace"))
		return rs_trace_start(&(struct rs_trace_options){ .provider = "writer" });
	if (!strcmp(word, "stop"))
		rs_log_stop();
	else if (!strcmp(word, "log"))
		for (unsigned int end = *n + (unsigned int)atoi(rest); *n < end; (*n)++)
			RS_LOG(INFO, "line %u of %040u", *n + 1, *n);
	else
		log_at(rest, strtok(NULL, "\n"));
	return NULL;
}

int main(int argc, char **argv)
{
	struct rs_log_options options = { .path = argv[1], .lanes = 1 };
	struct rs_log_left left;
	struct rs_error *err;
	unsigned int n = 0;
	char line[1024];

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (argc > 2)
		options.bytes = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		options.last = argv[3];
	options.trace_bytes = 64 << 10;
	err = rs_log_start(&options, &left);
	if (err)
		return fail(err);
	printf("ok %u\n", left.runs);
	while (fgets(line, sizeof(line), stdin)) {
		err = serve(line, &n);
		if (err)
			return fail(err);
		puts("ok");
	}
	return 0;
}
