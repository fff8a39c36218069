/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that several verbs share. Each is defined once, as a child of a verb's argp; the comment
 * names the child's input, which the verb passes at ARGP_KEY_INIT. The keys are above 0x6000, so
 * that they differ from the verbs' keys.
 */
#ifndef RS_CLI_SHARED_H
#define RS_CLI_SHARED_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/moment.h"

/*
 * An option that only sets a member of its argp's input needs no case in the parser. These macros
 * describe the member: a bool is set to true, a text is set to the option's argument, and a
 * uint64_t is set to the time in the argument, in ns; a time without a unit is in seconds, and 0 is
 * an error. The description is the option's key. An option with a letter as its key has the
 * description in its flags, of which argp reads only the lowest bits. A parser calls rs_cli_store()
 * for keys without a case.
 *
 *	{ "core", RS_CLI_TEXT(struct arguments, core), "FILE", 0, "Write a core to FILE", 1 },
 *	{ "json", 'j', NULL, RS_CLI_FLAG(struct arguments, json), "Print JSON", 1 },
 */
#define RS_CLI_FLAG(type, member)    RS_CLI_SETS(1, bool, type, member)
#define RS_CLI_TEXT(type, member)    RS_CLI_SETS(2, const char *, type, member)
#define RS_CLI_SECONDS(type, member) RS_CLI_SETS(3, uint64_t, type, member)

/* The kind is in bits 21 and 22, and the member's offset in the 16 bits below. argp's own flags are
 * the five bits below those, and a key has 23 bits and a sign. */
#define RS_CLI_SETS(kind, is, type, member)                                                        \
	_Generic(((type *)0)->member, is : (kind) << 21 | RS_CLI_OFFSET(type, member) << 5)
#define RS_CLI_OFFSET(type, member)                                                                \
	((int)offsetof(type, member) / (int)sizeof(char[offsetof(type, member) < 65536 ? 1 : -1]))

/* Sets the member that the option with this key describes. Returns ARGP_ERR_UNKNOWN if there is no
 * such option, or if it does not describe a member. An invalid time is a usage error. */
error_t rs_cli_store(const struct argp_option *options, int key, const char *text,
		     const struct argp_state *state);

/* Appends the argument of an option that may be repeated to a list of at most max arguments. An
 * empty argument and a full list are usage errors. */
void rs_cli_append(const struct argp_state *state, const char *option, const char *text,
		   const char **list, uint32_t *n, uint32_t max);

/* -q, --quiet. The input is a bool, which the option sets. */
extern const struct argp rs_cli_quiet_argp;

/* -j, --json, for a verb that prints one object. The input is a bool, which the option sets. */
extern const struct argp rs_cli_json_argp;

/* --json and --csv, of a report. The input is an enum rs_table_form. */
extern const struct argp rs_cli_form_argp;

/* --vm GLOB. The input is a const char *, which the option sets to the glob. */
extern const struct argp rs_cli_vm_argp;

/* --from SEC and --to SEC, of a trace. The input is a struct rs_query, initialized. A --to that is
 * not after --from is a usage error. */
extern const struct argp rs_cli_span_argp;

/* --interval SEC. The input is a struct rs_cli_interval. A shorter interval than min_ns is a usage
 * error. */
struct rs_cli_interval {
	uint64_t ns; /* the default; 0: none */
	uint64_t min_ns;
};
extern const struct argp rs_cli_interval_argp;

/* --from TIME and --to TIME, of a replay, in the guest's time. The input is a struct rs_moments. */
extern const struct argp rs_cli_moments_argp;

#endif
