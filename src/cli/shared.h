/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that several verbs have. Each is defined once, as a child for a verb's argp; the comment
 * names the child's input, which the verb passes at ARGP_KEY_INIT. The keys are above 0x6000, so
 * that they differ from those of the verbs.
 */
#ifndef RS_CLI_SHARED_H
#define RS_CLI_SHARED_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/moment.h"

/*
 * The key of an option that only sets a member of its argp's input: a bool to true, or a text to
 * the option's argument. A parser calls rs_cli_store() for keys that it does not know.
 *
 *	{ "core", RS_CLI_TEXT(struct arguments, core), "FILE", 0, "Write a core to FILE", 1 },
 */
#define RS_CLI_STORES_FLAG 0x100000
#define RS_CLI_STORES_TEXT 0x200000
#define RS_CLI_FLAG(type, member)                                                                  \
	_Generic(((type *)0)->member, bool: RS_CLI_STORES_FLAG | (int)offsetof(type, member))
#define RS_CLI_TEXT(type, member)                                                                  \
	_Generic(((type *)0)->member,                                                              \
		 const char *: RS_CLI_STORES_TEXT | (int)offsetof(type, member))

/* Sets the member of such a key. Returns ARGP_ERR_UNKNOWN for another key. */
error_t rs_cli_store(int key, const char *text, void *input);

/* -q, --quiet. The input is a bool, which the option sets. */
extern const struct argp rs_cli_quiet_argp;

/* -j, --json, for a verb that prints one object. The input is a bool, which the option sets. */
extern const struct argp rs_cli_json_argp;

/* --json and --csv, of a report. The input is an enum rs_table_form. */
extern const struct argp rs_cli_form_argp;

/* --vm GLOB. The input is a const char *, which the option points to the glob. */
extern const struct argp rs_cli_vm_argp;

/* --from SEC and --to SEC, of a trace. The input is a struct rs_query, initialized. A time --to
 * that is not after --from is a usage error. */
extern const struct argp rs_cli_span_argp;

/* --interval SEC. The input is a struct rs_cli_interval. A shorter interval than min_ns is a usage
 * error. */
struct rs_cli_interval {
	uint64_t ns; /* what it is without the option; 0: none */
	uint64_t min_ns;
};
extern const struct argp rs_cli_interval_argp;

/* --from TIME and --to TIME, of a replay, in the guest's time. The input is a struct rs_moments. */
extern const struct argp rs_cli_moments_argp;

#endif
