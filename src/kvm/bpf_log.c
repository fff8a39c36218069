/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the first warning that libbpf logs. */
#include "kvm/bpf_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WARNING_MAX 400

/* The first line of libbpf's first warning. */
static __thread char warning[WARNING_MAX];

static int warning_store(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[WARNING_MAX];
	size_t end;

	if (level != LIBBPF_WARN || warning[0])
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	end = strcspn(line, "\n");
	line[end] = 0;
	if (line[0])
		memcpy(warning, line, sizeof(warning));
	return 0;
}

libbpf_print_fn_t rs_bpf_log_begin(void)
{
	warning[0] = 0;
	return libbpf_set_print(warning_store);
}

struct rs_error *rs_bpf_log_error(int errno_value, const char *what)
{
	return rs_error_create(RS_FAILED, "%s: %s%s%s", what, strerror(errno_value),
			       warning[0] ? ": " : "", warning);
}
