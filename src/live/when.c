/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses and evaluates the trigger of a flight recorder. */
#include "live/when.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "event/exit_reason.h"

#define BLANKS "\t "

static struct rs_error *expected(const char *text)
{
	return rs_error_create(RS_USAGE,
			       "'%s': expected a condition as in 'exit > 1ms' or 'exit HLT > 5ms'",
			       text);
}

static bool by_number(const char *name, uint32_t *code)
{
	unsigned long n;
	char *end;

	if (*name < '0' || *name > '9')
		return false;
	errno = 0;
	n = strtoul(name, &end, 0);
	if (*end || errno || n > UINT32_MAX)
		return false;
	*code = (uint32_t)n;
	return true;
}

/* Looks up a reason of this host. If the host is unknown, uses the first architecture that has the
 * name. */
static struct rs_error *find_reason(const char *name, uint32_t host, struct rs_when *when)
{
	for (uint32_t isa = RS_ISA_UNKNOWN + 1; isa < RS_ISA_COUNT; isa++) {
		if (isa == RS_ISA_USER || (host != RS_ISA_UNKNOWN && isa != host))
			continue;
		if (rs_exit_find(isa, name, &when->code)) {
			when->isa = isa;
			return NULL;
		}
	}
	if (host == RS_ISA_UNKNOWN)
		return rs_error_create(RS_USAGE, "there is no exit reason '%s'", name);
	if (by_number(name, &when->code)) {
		when->isa = host;
		return NULL;
	}
	return rs_error_create(RS_USAGE, "there is no exit reason '%s' on this host (%s)", name,
			       rs_isa_name(host));
}

struct rs_error *rs_when_parse(const char *text, uint32_t isa, struct rs_when *out)
{
	char copy[128], *rest = NULL, *word, *than;
	struct rs_when when = { 0 };
	struct rs_error *err = NULL;

	if (strlen(text) >= sizeof(copy))
		return expected(text);
	strcpy(copy, text);
	than = strchr(copy, '>');
	if (!than)
		return expected(text);
	*than++ = '\0';
	than += strspn(than, BLANKS);
	for (size_t len = strlen(than); len && strchr(BLANKS, than[len - 1]); len--)
		than[len - 1] = '\0';
	word = strtok_r(copy, BLANKS, &rest);
	if (!word || strcmp(word, "exit") != 0)
		return expected(text);
	word = strtok_r(NULL, BLANKS, &rest);
	if (word)
		err = find_reason(word, isa, &when);
	if (!err && word && strtok_r(NULL, BLANKS, &rest))
		err = expected(text);
	if (!err)
		err = rs_duration_parse(than, 1, &when.than_ns);
	if (!err && !when.than_ns) /* the session interprets 0 as no threshold */
		err = rs_error_create(RS_USAGE, "'%s': expected a duration above 0", text);
	if (!err)
		*out = when;
	return err;
}

uint32_t rs_when_host_isa(void)
{
	/* A module has a folder both if it is loaded and if it is built in; "" always exists. */
#define RS_HOST_ONLY
#define RS_ISA(name, NAME, number, mask, base, module)                                             \
	if (!access("/sys/module/" module, F_OK))                                                  \
		return RS_ISA_##NAME;
#include <ringside/event/isa.def>
#undef RS_HOST_ONLY
	return RS_ISA_UNKNOWN;
}
