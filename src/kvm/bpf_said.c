/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the first warning of libbpf's. */
#include "kvm/bpf_said.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAID_MAX 400

/* The first line of libbpf's log that says what went wrong, for the error. */
static __thread char said[SAID_MAX];

static int keep_said(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[SAID_MAX];
	size_t end;

	if (level != LIBBPF_WARN || said[0])
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	end = strcspn(line, "\n");
	line[end] = 0;
	if (line[0])
		memcpy(said, line, sizeof(said));
	return 0;
}

libbpf_print_fn_t rs_bpf_listen(void)
{
	said[0] = 0;
	return libbpf_set_print(keep_said);
}

struct rs_error *rs_bpf_failed(int errno_value, const char *what)
{
	return rs_error_create(RS_FAILED, "%s: %s%s%s", what, strerror(errno_value),
			       said[0] ? ": " : "", said);
}
